//! The primes of the integer transform.

use super::{BootstrapShape, Gadget, KeyModulus};
use crate::ShapeError;
use girih_ring::largest_ntt_primes;

/// Primes of the integer transform on the native torus.
const TORUS_WORDS: usize = 4;

impl BootstrapShape {
    /// The primes that the integer transform of this shape works by, ascending: those of the key
    /// modulus; on the native torus, which has none, four primes `1 mod 2N` by whose residues what
    /// a step adds to an accumulator is known exactly, below 2^27 where these suffice and below
    /// 2^31 elsewhere.
    ///
    /// A step adds up K L N products of a digit (at most `2^(b - 1)`) and a centred key word (at
    /// most 2^63) for each of its GGSW ciphertexts, times `X^e - 1`. The product M of the primes is
    /// at least four times the largest such sum, so that a quotient by M may be estimated.
    ///
    /// # Errors
    /// The gadget, where its digits are too large for four primes.
    pub fn transform_words(&self) -> Result<Vec<u32>, ShapeError> {
        if let KeyModulus::Words(words) = &self.key_modulus {
            return Ok(words.clone());
        }
        let refused = || {
            let rule = "sums of such digits are too large for the four primes of the integer \
                        transform; use the f64 transform";
            Err(ShapeError::new("base_g", format!("{:?}", self.gadget), rule))
        };
        let log2_base = match self.gadget {
            Gadget::ClosestRepresentative { log2_base, .. } if log2_base <= 31 => log2_base,
            _ => return refused(),
        };
        let products = (self.ggsw_per_step() * self.levels() * self.columns()) as u128
            * self.polynomial_size as u128;
        // Four times products 2^(b - 1) 2^63 2.
        let least = products << (log2_base + 65);
        let order = 2 * self.polynomial_size as u32;
        let enough = |bits| {
            largest_ntt_primes(bits, order, TORUS_WORDS)
                .filter(|p| p.iter().map(|&p| u128::from(p)).product::<u128>() >= least)
        };
        enough(27).or_else(|| enough(31)).map_or_else(refused, Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretKind;

    fn torus(size: usize, log2_base: u32, levels: usize, grouping: usize) -> BootstrapShape {
        BootstrapShape {
            lwe_dimension: 12,
            log2_lwe_modulus: size.ilog2() + 1,
            polynomial_size: size,
            glwe_dimension: 1,
            packing: 1,
            secret: SecretKind::Binary,
            grouping,
            gadget: Gadget::ClosestRepresentative { log2_base, levels },
            key_modulus: KeyModulus::Torus64,
            log2_ks_modulus: 16,
            log2_ks_base: 4,
        }
    }

    #[test]
    fn four_small_primes_hold_a_digit_of_23_bits_and_larger_ones_more() {
        for (shape, bits) in [
            (torus(2048, 23, 1, 1), 27),
            (torus(2048, 23, 1, 4), 27),
            (torus(256, 15, 2, 1), 27),
            (torus(2048, 31, 2, 1), 31),
        ] {
            let words = shape.transform_words().expect("four primes");
            assert_eq!(words.len(), 4);
            let order = 2 * shape.polynomial_size as u32;
            for w in words {
                assert!(w < 1 << bits && w > 1 << (bits - 1) && w % order == 1, "{w}");
            }
        }
        let refused = torus(2048, 40, 1, 1).transform_words().expect_err("too large");
        assert!(refused.to_string().contains("f64 transform"), "{refused}");
    }
}
