//! What a bootstrapping takes, roughly: what candidates are ordered by before any is measured.
//!
//! Two constants for work and one for traffic, fitted to the rates of one H200 with the f64
//! transform (docs/performance.md). They give the rates of the built-in sets with up to four
//! polynomials within 10 %, of more polynomials within 15 %, G5 far too fast; the order is what
//! they are for.

use girih::contract::{BootstrapShape, Gadget};

/// ns of the whole card for a point of a transform and a stage of it.
const POINT: f64 = 1.78e-4;

/// ns for a coefficient of a product of a polynomial by one of the key, and likewise for one of the
/// key by a monomial.
const PRODUCT: f64 = 2.36e-4;

/// Bytes of key that all multiprocessors together read in a ns, each through its own port.
const KEY_BYTES: f64 = 132.0 * 84.0;

/// Ciphertexts that share what a block reads of the key: two, but for steps of seven ciphertexts
/// of the key or more, which leave no registers for a second.
fn sharing(shape: &BootstrapShape) -> f64 {
    if shape.ggsw_per_step() >= 7 { 1.0 } else { 2.0 }
}

/// ns for a sum of words of 32 bits in a key switch by tables, and for a product of a digit and a
/// word of 64 bits on tensor cores.
const SUM: f64 = 1.46e-4;
const TORUS_PRODUCT: f64 = 2.4e-5;

/// Microseconds of a step that one ciphertext takes alone, over the blocks of a cluster: what
/// exchanges between them take, and for each ns of the above.
const STEP_ALONE: f64 = 1.4;
const WORK_ALONE: f64 = 0.03;

/// ms that a batch of one waits for transfers and launches.
const LAUNCHES: f64 = 0.05;

/// What one ciphertext takes.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// ns of the card in a large batch.
    pub throughput_ns: f64,
    /// ms by itself.
    pub latency_ms: f64,
    /// Bytes of both keys on a device with the f64 transform.
    pub key_bytes: f64,
}

impl Cost {
    pub fn of(shape: &BootstrapShape) -> Self {
        let (columns, levels) = (shape.columns() as f64, shape.levels() as f64);
        let (size, steps) = (shape.polynomial_size as f64, shape.steps() as f64);
        let points = columns * (levels + 1.0) * size * size.log2();
        // A lone ciphertext of a step's key is multiplied by digits, two by digits that they share;
        // more are multiplied by monomials, summed, and multiplied once.
        let passes = match shape.ggsw_per_step() {
            few @ 1..=2 => few as f64,
            many => many as f64 + 1.0,
        };
        let polynomials = columns * columns * levels * size;
        let work = POINT * points + PRODUCT * passes * polynomials;
        // N / 2 complex numbers.
        let step_bytes = shape.ggsw_per_step() as f64 * polynomials * 8.0;
        let traffic = step_bytes / (KEY_BYTES * sharing(shape));
        let words = (shape.ks_indices() * shape.ks_digits() * shape.switched_len()) as f64;
        let wide = if shape.log2_ks_modulus > 32 { 2.0 } else { 1.0 };
        let (switch_ns, switch_bytes) = match shape.gadget {
            Gadget::ClosestRepresentative { .. } => (TORUS_PRODUCT * words, 8.0 * words),
            _ => (SUM * wide * words, 4.0 * wide * words * shape.ks_base() as f64),
        };
        Self {
            throughput_ns: steps * work.max(traffic) + switch_ns,
            latency_ms: LAUNCHES + steps * (STEP_ALONE + WORK_ALONE * work) / 1e3,
            key_bytes: steps * step_bytes + switch_bytes,
        }
    }

    /// Messages a second.
    pub fn rate(&self, packing: usize) -> f64 {
        packing as f64 * 1e9 / self.throughput_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih::tfhe::ParameterSet;

    /// Rates and latencies (ms) of docs/performance.md, CUDA, f64, with transfers.
    #[test]
    fn rates_of_one_h200_within_a_sixth() {
        for (name, rate, latency) in [
            ("STD128", 88_257.0, 1.02),
            ("G1", 97_769.0, 0.93),
            ("G2", 81_294.0, 1.36),
            ("G3", 95_746.0, 0.94),
            ("M1_R3", 252_941.0, 1.00),
            ("M2_R2", 52_343.0, 2.38),
            ("M3_R5", 342_790.0, 1.05),
            ("M4_R4", 182_232.0, 1.13),
            ("M5_R5", 67_724.0, 3.23),
            ("M6_R2", 53_486.0, 2.37),
            ("TFHERS_2_2", 63_787.0, 1.86),
            ("TFHERS_2_2_GROUP_2", 92_334.0, 1.11),
            ("TFHERS_2_2_GROUP_3", 79_647.0, 0.93),
        ] {
            let set = ParameterSet::by_name(name).expect("built in");
            let cost = Cost::of(set.shape());
            let ratio = cost.rate(set.packing()) / rate;
            assert!((0.84..1.17).contains(&ratio), "{name}: {ratio:.3} of its rate");
            let ratio = cost.latency_ms / latency;
            assert!((0.75..1.3).contains(&ratio), "{name}: {ratio:.3} of its latency");
        }
    }

    #[test]
    fn keys_are_those_of_a_device() {
        // docs/parameters.md: 90 and 140 MB of bootstrapping key in f64.
        for (name, least, most) in
            [("TFHERS_2_2_GROUP_2", 80e6, 160e6), ("TFHERS_2_2_GROUP_3", 130e6, 210e6)]
        {
            let set = ParameterSet::by_name(name).expect("built in");
            let bytes = Cost::of(set.shape()).key_bytes;
            assert!((least..most).contains(&bytes), "{name}: {bytes}");
        }
    }
}
