//! What is known of rounding errors, taken off beforehand.
//!
//! Where words are multiples of 1/D of what they are rounded to, rounding half up adds 1/2D to each
//! on average. A phase gets the body's share less the mask's times the secret: nothing to speak of
//! with a ternary secret, whose mean is 0, and `(1 - n/2) / 2D` with a binary one of n
//! coefficients, whichever of a set's two secrets the words are under.
//! That is public and the same for every ciphertext, so it is added to bodies beforehand, with what
//! a bootstrapping adds to its result anyway: kernels know nothing of it. (The native torus, which
//! rounds before the rotation, takes off each word's own error.) See docs/tfhe.md,
//! "Noise model".

use crate::ParameterSet;
use girih_backend::{Gadget, SecretKind};

/// What words lose on average when they are rounded under a secret, in fourths of a unit: `n - 2`
/// of a binary one, whose ones are `n / 2` on average.
fn mean(secret: SecretKind, coefficients: usize) -> usize {
    match secret {
        SecretKind::Ternary => 0,
        SecretKind::Binary => coefficients.saturating_sub(2),
    }
}

/// What ciphertexts under the LWE secret lose on average when their words are rounded to multiples
/// of any power of two, in units of the words: to be added to bodies.
pub(crate) fn before_rounding(set: &ParameterSet) -> u32 {
    let shape = set.shape();
    // The native torus takes off each word's own error.
    if shape.is_torus() { 0 } else { mean(shape.secret, shape.lwe_dimension) as u32 / 4 }
}

/// `offset` modulo Q, and what rounding from Q to Q_ks and from there to `2^log2_output` takes off
/// results on average.
pub(crate) fn centred(set: &ParameterSet, offset: u64, log2_output: u32) -> u64 {
    let shape = set.shape();
    let Some(modulus) = shape.accumulator_modulus() else { return offset };
    // Four times what is to be added, times Q_ks: of the last switch in units of Q_ks, of the first
    // in units of Q. An odd Q leaves no multiples, so nothing to add.
    let last = match log2_output < shape.log2_ks_modulus {
        true => mean(shape.secret, shape.lwe_dimension) as u128,
        false => 0,
    };
    let first = match shape.gadget {
        Gadget::ModulusRaising { log2_modulus } if log2_modulus > shape.log2_ks_modulus => {
            mean(set.ring_secret(), shape.ks_indices()) as u128
        }
        _ => 0,
    };
    if (first, last) == (0, 0) {
        return offset;
    }
    let sum = last * u128::from(modulus) + (first << shape.log2_ks_modulus);
    let added = (sum + (2 << shape.log2_ks_modulus)) >> (2 + shape.log2_ks_modulus);
    ((u128::from(offset) + added) % u128::from(modulus)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_secrets_of_prime_words_alone_have_something_to_add() {
        for set in ParameterSet::all().iter().chain(&ParameterSet::insecure()) {
            let (shape, binary) = (set.shape(), set.shape().secret == SecretKind::Binary);
            let expected = binary && !shape.is_torus();
            let log2_output = shape.log2_stored_modulus();
            assert_eq!(centred(set, 5, log2_output) != 5, expected, "{set}");
            assert_eq!(before_rounding(set) != 0, expected, "{set}");
            if expected {
                // Without a last switch there is nothing to add, whatever Q is.
                assert_eq!(centred(set, 5, shape.log2_ks_modulus), 5, "{set}");
                // (n/2 - 1)/2 units of Q_ks.
                let units = (shape.lwe_dimension as f64 / 2.0 - 1.0) / 2.0;
                let q = shape.accumulator_modulus().expect("prime words") as f64;
                let want = units * q / 2f64.powi(shape.log2_ks_modulus as i32);
                let got = centred(set, 0, log2_output) as f64;
                assert!((got - want).abs() <= 0.5, "{set}: {got} and not {want}");
            }
        }
    }

    /// Where MR's Q is above Q_ks, its words gain half a unit of their own, too.
    #[test]
    fn raised_moduli_have_a_switch_more() {
        let with = |secrets: &str, q_ks: u32| {
            let text = format!(
                "name = \"RAISED\"\nmode = \"MR\"\n{secrets}n = 256\nq = 512\nN = 256\nk = 3\n\
                 r = 1\nlog2_Q = 18\nlog2_T = 41\nq_ks = {q_ks}\nbase_ks = 128\nsigma = 3.19\n"
            );
            let set = ParameterSet::from_toml(&text).expect("a set");
            [9, 14].map(|log2_output| centred(&set, 0, log2_output))
        };
        let of = |secrets: &str| with(secrets, 1 << 14);
        // (n/2 - 1)/2 sixteen-fold, and (kN/2 - 1)/2.
        let (last, first) = (16 * 127 / 2, 383 / 2 + 1);
        assert_eq!(of("secret = \"binary\"\n"), [last + first, first]);
        // Each of the two secrets has its own part.
        assert_eq!(of("secret = \"binary\"\nring_secret = \"ternary\"\n"), [last, 0]);
        assert_eq!(of("secret = \"ternary\"\nring_secret = \"binary\"\n"), [first, first]);
        // Nothing is rounded on the way to a Q_ks that is no smaller.
        for q_ks in [1 << 18, 1 << 19] {
            assert_eq!(with("secret = \"ternary\"\nring_secret = \"binary\"\n", q_ks), [0, 0]);
        }
    }

    /// By count: the mean of what rounding every residue of 2^14 half up to multiples of 8 adds.
    #[test]
    fn the_mean_is_that_of_rounding_half_up() {
        let added: i64 = (0..1 << 14)
            .map(|x| {
                let rounded = girih_ring::switch::mod_switch_pow2(x, 14, 11) as i64 * 8;
                (rounded - x as i64 + (1 << 13)).rem_euclid(1 << 14) - (1 << 13)
            })
            .sum();
        assert_eq!(added, (1 << 14) / 2);
    }
}
