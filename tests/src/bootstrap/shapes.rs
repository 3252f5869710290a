//! The shapes that the conformance suite runs: every feature of the kernels at least once, every
//! published family.

use girih_backend::{BootstrapShape, Gadget, KeyModulus, SecretKind};
use girih_ring::{largest_ntt_prime, largest_ntt_prime_pair, ntt_prime_pair_above};

/// A named shape.
pub struct NamedShape {
    /// Says what is special about it.
    pub name: &'static str,
    /// The shape.
    pub shape: BootstrapShape,
}

/// Steps of a synthetic run: enough that every step's output feeds another's input, few enough to
/// run everywhere.
const STEPS: usize = 5;

struct Row {
    name: &'static str,
    size: usize,
    k: usize,
    r: usize,
    /// log2 of q.
    log2_q: u32,
    modulus: Modulus,
    /// log2 Q_ks, log2 B_ks.
    ks: (u32, u32),
}

#[derive(Clone, Copy)]
enum Modulus {
    /// log2 Q, log2 base, lowest digits dropped.
    Gd(u32, u32, u32),
    /// log2 Q, log2 base, lowest bits dropped.
    Cut(u32, u32, u32),
    /// log2 Q, log2 T.
    Mr(u32, u32),
}
use Modulus::{Cut, Gd, Mr};

const fn row(
    name: &'static str,
    size: usize,
    k: usize,
    r: usize,
    log2_q: u32,
    modulus: Modulus,
    ks: (u32, u32),
) -> Row {
    Row { name, size, k, r, log2_q, modulus, ks }
}

/// One line a shape.
const ROWS: &[Row] = &[
    row("gd_std128", 1024, 1, 1, 11, Gd(27, 7, 1), (15, 5)),
    row("gd_n256_r16", 256, 1, 16, 9, Gd(27, 9, 1), (14, 5)),
    row("gd_n512_k2_r3", 512, 2, 3, 10, Gd(27, 8, 1), (14, 7)),
    row("gd_n256_k4_r1", 256, 4, 1, 8, Gd(27, 7, 0), (14, 4)),
    row("gd_n4096", 4096, 1, 1, 11, Gd(27, 7, 1), (15, 5)),
    row("gd_n8192", 8192, 1, 1, 11, Gd(27, 7, 1), (15, 5)),
    row("gd_31_bits", 512, 1, 1, 10, Gd(31, 8, 1), (16, 8)),
    row("gd_25_bits_6_digits", 1024, 1, 1, 11, Gd(25, 4, 1), (15, 5)),
    row("gd_g1_q_below_2n", 1024, 1, 1, 10, Gd(27, 8, 1), (14, 5)),
    row("gd_g5_ks_above_q", 1024, 1, 1, 11, Gd(27, 5, 1), (35, 5)),
    row("gd_std256_29_bits", 2048, 1, 1, 11, Gd(29, 10, 1), (18, 6)),
    row("gd2_g2", 2048, 1, 1, 11, Gd(50, 25, 1), (15, 5)),
    row("gd2_g4", 2048, 1, 1, 11, Gd(54, 27, 1), (35, 5)),
    row("gd2_base18", 2048, 1, 1, 11, Gd(54, 18, 1), (35, 5)),
    row("gd2_one_digit_of_23_bits", 2048, 1, 1, 11, Cut(54, 23, 31), (35, 5)),
    row("gd2_digits_of_16_and_15_bits", 2048, 1, 1, 11, Cut(54, 16, 23), (35, 5)),
    row("gd_cut_within_a_digit", 512, 1, 2, 10, Cut(27, 6, 10), (14, 5)),
    row("gd2_base14_r2", 1024, 1, 2, 11, Gd(54, 14, 1), (20, 5)),
    row("gd2_std192", 2048, 1, 1, 11, Gd(37, 13, 1), (15, 5)),
    row("gd2_all_digits", 512, 2, 1, 10, Gd(50, 13, 0), (15, 5)),
    row("mr_m1_r3", 1024, 1, 3, 9, Mr(16, 36), (14, 9)),
    row("mr_m2_r2", 2048, 1, 2, 10, Mr(22, 50), (21, 5)),
    row("mr_m3_r1", 512, 3, 1, 10, Mr(18, 41), (14, 7)),
    row("mr_m3_r5", 512, 3, 5, 10, Mr(18, 41), (14, 7)),
    row("mr_m4_r4", 1024, 2, 4, 11, Mr(18, 41), (14, 7)),
    row("mr_m5_r5", 1024, 3, 5, 11, Mr(19, 44), (15, 5)),
    row("mr_m6_r2", 2048, 1, 2, 10, Mr(17, 37), (16, 8)),
];

fn gd(bits: u32, log2_base: u32, dropped_bits: u32, order: u32) -> Option<(Gadget, Vec<u32>)> {
    let words = if bits <= 31 {
        vec![largest_ntt_prime(bits, order)?]
    } else {
        largest_ntt_prime_pair(bits, order)?.to_vec()
    };
    let levels = (bits - dropped_bits).div_ceil(log2_base) as usize;
    Some((Gadget::Decomposition { log2_base, levels, dropped_bits }, words))
}

impl Row {
    fn shape(&self) -> Option<BootstrapShape> {
        let order = 2 * self.size as u32;
        let (gadget, words) = match self.modulus {
            Gd(bits, log2_base, dropped) => gd(bits, log2_base, dropped * log2_base, order)?,
            Cut(bits, log2_base, dropped_bits) => gd(bits, log2_base, dropped_bits, order)?,
            Mr(log2_modulus, bits) => (
                Gadget::ModulusRaising { log2_modulus },
                ntt_prime_pair_above(bits, order)?.to_vec(),
            ),
        };
        Some(BootstrapShape {
            lwe_dimension: STEPS,
            log2_lwe_modulus: self.log2_q,
            polynomial_size: self.size,
            glwe_dimension: self.k,
            packing: self.r,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget,
            key_modulus: KeyModulus::Words(words),
            log2_ks_modulus: self.ks.0,
            log2_ks_base: self.ks.1,
        })
    }
}

/// All shapes, each also with a binary secret where it is the first of its family.
pub fn all() -> Vec<NamedShape> {
    let mut shapes: Vec<NamedShape> = ROWS
        .iter()
        .map(|row| {
            let shape = row.shape().unwrap_or_else(|| panic!("{}: no such primes", row.name));
            NamedShape { name: row.name, shape }
        })
        .collect();
    for (name, of) in [("gd_binary", "gd_n512_k2_r3"), ("mr_binary", "mr_m3_r1")] {
        let shape = shapes
            .iter()
            .find(|s| s.name == of)
            .map(|s| BootstrapShape { secret: SecretKind::Binary, ..s.shape.clone() });
        shapes.extend(shape.map(|shape| NamedShape { name, shape }));
    }
    // A mask longer than the extracted one, as in G5: n above kN.
    let short = shapes.iter().find(|s| s.name == "gd_n256_r16").map(|s| BootstrapShape {
        lwe_dimension: 300,
        packing: 1,
        ..s.shape.clone()
    });
    shapes.extend(short.map(|shape| NamedShape { name: "gd_n_above_kn", shape }));
    shapes
}

/// Shapes whose steps take several LWE indices, of binary secrets.
pub fn grouped() -> Vec<NamedShape> {
    let from = |name, of: &str, grouping| {
        let shape = all().into_iter().find(|s| s.name == of).map(|s| s.shape);
        let shape = shape.unwrap_or_else(|| panic!("{of} is among all shapes"));
        NamedShape {
            name,
            shape: BootstrapShape {
                secret: SecretKind::Binary,
                grouping,
                lwe_dimension: STEPS * grouping,
                ..shape
            },
        }
    };
    vec![
        from("gd_std128_group_2", "gd_std128", 2),
        from("gd_n512_k2_r3_group_3", "gd_n512_k2_r3", 3),
        from("gd_31_bits_group_4", "gd_31_bits", 4),
        from("gd2_g4_group_2", "gd2_g4", 2),
        from("mr_m3_r5_group_2", "mr_m3_r5", 2),
    ]
}

/// One shape on the native torus: N, k, r; digits of the gadget and of the key switch, log2 of the
/// base and how many.
fn on_torus(
    name: &'static str,
    [size, k, r]: [usize; 3],
    secret: SecretKind,
    (log2_base, levels): (u32, usize),
    (log2_ks_base, ks_digits): (u32, u32),
) -> NamedShape {
    let shape = BootstrapShape {
        lwe_dimension: STEPS,
        log2_lwe_modulus: size.ilog2() + 1,
        polynomial_size: size,
        glwe_dimension: k,
        packing: r,
        secret,
        grouping: 1,
        gadget: Gadget::ClosestRepresentative { log2_base, levels },
        key_modulus: KeyModulus::Torus64,
        log2_ks_modulus: log2_ks_base * ks_digits,
        log2_ks_base,
    };
    NamedShape { name, shape }
}

/// `of` with `grouping` indices a step.
fn in_groups(name: &'static str, grouping: usize, of: NamedShape) -> NamedShape {
    let shape = BootstrapShape { grouping, lwe_dimension: STEPS * grouping, ..of.shape };
    NamedShape { name, shape }
}

/// Shapes on the native torus.
pub fn torus() -> Vec<NamedShape> {
    use SecretKind::{Binary, Ternary};
    let shape = on_torus;
    let tfhers = || shape("torus_tfhers_2_2", [2048, 1, 1], Binary, (23, 1), (4, 4));
    vec![
        in_groups("torus_tfhers_2_2_group_2", 2, tfhers()),
        in_groups("torus_tfhers_2_2_group_3", 3, tfhers()),
        in_groups("torus_n512_k2_r2_group_2", 2, shape("", [512, 2, 2], Binary, (15, 2), (7, 2))),
        in_groups("torus_n256_group_2", 2, shape("", [256, 1, 1], Binary, (6, 5), (2, 9))),
        tfhers(),
        shape("torus_n1024_2_digits", [1024, 1, 1], Binary, (10, 2), (3, 5)),
        shape("torus_n512_k2_r2", [512, 2, 2], Binary, (15, 2), (7, 2)),
        shape("torus_ternary", [256, 1, 1], Ternary, (6, 5), (2, 9)),
    ]
}

/// Shapes on the native torus for the integer transform alone: one with the single digit of the
/// set in use, for which the key is rounded, and digits that only integers hold, of more than 32
/// bits together, which take the key as it is, and so large that their sums take primes of 31 bits.
pub fn torus_in_integers() -> Vec<NamedShape> {
    use SecretKind::Binary;
    vec![
        on_torus("torus_n256_23_bits", [256, 1, 1], Binary, (23, 1), (4, 4)),
        on_torus("torus_n256_40_bits", [256, 1, 1], Binary, (20, 2), (1, 20)),
        in_groups(
            "torus_n256_31_bits_group_4",
            4,
            on_torus("", [256, 1, 1], Binary, (31, 1), (12, 3)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_shape_is_valid() {
        let torus = super::torus().into_iter().chain(super::torus_in_integers());
        for s in super::all().into_iter().chain(super::grouped()).chain(torus) {
            s.shape.validate().unwrap_or_else(|e| panic!("{}: {e}", s.name));
        }
    }
}
