//! What a comparison can tell apart.

use girih_tfhe::noise::log2_beyond;

/// How near to the boundary a number may lie and still be told from it: the error of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Deviation of the error of what is compared, in units of slots.
    pub deviation: f64,
    /// What approximations before were off by beside that, and half a unit of the modulus, in the
    /// same units.
    pub bias: f64,
    /// log2 of the probability that a bootstrapping goes wrong, whatever the number.
    pub log2_failure: f64,
}

impl Resolution {
    /// log2 of the probability that a number at `distance` from the boundary is found on the wrong
    /// side of it: an error of more than that to one side, or a bootstrapping that fails.
    pub fn log2_wrong(&self, distance: f64) -> f64 {
        let distance = distance - self.bias;
        if distance <= 0.0 {
            return 0.0;
        }
        let [more, less] = {
            let beyond = log2_beyond(distance, self.deviation) - 1.0;
            [beyond.max(self.log2_failure), beyond.min(self.log2_failure)]
        };
        // log2(2^more + 2^less); both are below 0.
        if less == f64::NEG_INFINITY { more } else { more + (less - more).exp2().ln_1p() / LN_2 }
    }

    /// The distance from which on numbers are found on the right side but for a probability of
    /// 2^`log2_probability`; none where bootstrappings fail more often.
    pub fn distance(&self, log2_probability: f64) -> Option<f64> {
        let good = |distance: f64| self.log2_wrong(distance) <= log2_probability;
        let mut high = self.bias + 40.0 * self.deviation;
        if !good(high) {
            return None;
        }
        let mut low = 0.0;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if good(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}

const LN_2: f64 = std::f64::consts::LN_2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_beyond_the_distance_and_failures_add_up() {
        let exact = Resolution { deviation: 0.01, bias: 0.0, log2_failure: f64::NEG_INFINITY };
        // One side of a normal error: 0.02275 beyond two deviations.
        assert!((exact.log2_wrong(0.02) - 0.02275f64.log2()).abs() < 1e-3);
        assert_eq!(exact.log2_wrong(0.0), 0.0);
        let biased = Resolution { bias: 0.01, ..exact };
        assert!((biased.log2_wrong(0.03) - exact.log2_wrong(0.02)).abs() < 1e-9);
        let failing = Resolution { log2_failure: -20.0, ..exact };
        assert!((failing.log2_wrong(0.2) + 20.0).abs() < 1e-6);
        assert!(failing.log2_wrong(0.02) > exact.log2_wrong(0.02));
        let distance = exact.distance(-40.0).expect("it never fails otherwise");
        assert!((0.06..0.08).contains(&distance) && exact.log2_wrong(distance) <= -40.0);
        assert_eq!(failing.distance(-30.0), None);
    }
}
