//! The primes of the integer transform, and what it rounds away.

use super::{BootstrapShape, Gadget, KeyModulus};
use crate::{SecretKind, ShapeError};
use girih_ring::largest_ntt_primes;

/// On the native torus, how the integer transform may be taken: how many primes, below which power
/// of two, and most bits of the key that may be rounded away. The first that holds a step's sums is
/// taken.
const TORUS_TRANSFORMS: [(usize, u32, u32); 3] = [(3, 30, 16), (4, 27, 0), (4, 31, 0)];

/// Rounding the key adds at most this share of the variance that digits leave out.
const ROUNDING_SHARE: f64 = 0.125;

impl BootstrapShape {
    /// The primes that the integer transform of this shape works by, ascending: those of the key
    /// modulus; on the native torus, which has none, primes `1 mod 2N` by whose residues what a
    /// step adds to an accumulator is known exactly, for keys rounded by
    /// [`BootstrapShape::transform_rounding`].
    ///
    /// These are three primes below 2^30 where such a key serves, four below 2^27 where these
    /// suffice for the key as it is, four below 2^31 elsewhere.
    ///
    /// A step adds up K L N products of a digit (at most `2^(b - 1)`) and a centred key word (at
    /// most `2^(63 - rounding)`) for each of its GGSW ciphertexts, times `X^e - 1`. The product M
    /// of the primes is above twice the largest such sum by 2^-7 of it, so that a quotient by M
    /// may be estimated.
    ///
    /// # Errors
    /// The gadget, where its digits are too large for four primes.
    pub fn transform_words(&self) -> Result<Vec<u32>, ShapeError> {
        match &self.key_modulus {
            KeyModulus::Words(words) => Ok(words.clone()),
            KeyModulus::Torus64 => Ok(self.torus_transform()?.0),
        }
    }

    /// How many of the lowest bits of the key's words the integer transform rounds away: none where
    /// it has primes enough for all. On the native torus that is exact for the rounded key, and
    /// what rounding adds to errors, at most an eighth of the variance that the digits leave out,
    /// is for a noise model to count.
    ///
    /// # Errors
    /// As [`BootstrapShape::transform_words`].
    pub fn transform_rounding(&self) -> Result<u32, ShapeError> {
        match &self.key_modulus {
            KeyModulus::Words(_) => Ok(0),
            KeyModulus::Torus64 => Ok(self.torus_transform()?.1),
        }
    }

    /// The primes of the native torus and the bits of the key that they make round.
    fn torus_transform(&self) -> Result<(Vec<u32>, u32), ShapeError> {
        let refused = || {
            let rule = "sums of such digits are too large for the four primes of the integer \
                        transform; use the f64 transform";
            Err(ShapeError::new("base_g", format!("{:?}", self.gadget), rule))
        };
        let Gadget::ClosestRepresentative { log2_base, levels } = self.gadget else {
            return refused();
        };
        if log2_base > 31 {
            return refused();
        }
        let products = (self.ggsw_per_step() * self.levels() * self.columns()) as u128
            * self.polynomial_size as u128;
        // Of products 2^(b - 1) 2^63 2.
        let largest = products << (log2_base + 63);
        let enough = |product: u128, rounding: u32| {
            let most = largest >> rounding;
            product >= 2 * most + (most >> 7)
        };
        let most_rounding = self.most_rounding(products as f64, log2_base, levels);
        let order = 2 * self.polynomial_size as u32;
        for (count, bits, most) in TORUS_TRANSFORMS {
            let Some(primes) = largest_ntt_primes(bits, order, count) else { continue };
            let product = primes.iter().map(|&p| u128::from(p)).product();
            let allowed = most.min(most_rounding);
            if let Some(rounding) = (0..=allowed).find(|&bits| enough(product, bits)) {
                return Ok((primes, rounding));
            }
        }
        refused()
    }

    /// The most bits of the key that may be rounded away for [`ROUNDING_SHARE`].
    ///
    /// With s the mean square of a coefficient of the ring's secret, a rounded row errs by `4^bits
    /// / 12 (1 + k N s)`, and a step adds `products` of them times digits of `4^b / 12`, twice for
    /// `X^e - 1`; digits leave out `2 t 4^(64 - b L) / 12 (1 + k N s)` in it, t the share of steps
    /// that turn the accumulator.
    fn most_rounding(&self, products: f64, log2_base: u32, levels: usize) -> u32 {
        let stays = match self.secret {
            SecretKind::Binary => 0.5f64,
            SecretKind::Ternary => 1.0 / 3.0,
        };
        let turning = 1.0 - stays.powi(self.grouping as i32);
        let left_out = 64 - (log2_base as i32 * levels as i32).min(64);
        let ratio = ROUNDING_SHARE * 12.0 * turning / products;
        let bits = f64::from(left_out) - f64::from(log2_base) + 0.5 * ratio.log2();
        bits.max(0.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use crate::bootstrap::synthetic::torus_shape as torus;

    #[test]
    fn three_primes_take_a_rounded_key_and_four_the_key_as_it_is() {
        for (shape, count, bits, rounding) in [
            (torus(2048, 23, 1, 1), 3, 30, 10),
            (torus(2048, 23, 1, 2), 3, 30, 11),
            // Twelve bits would add more than an eighth of what the digit leaves out.
            (torus(2048, 23, 1, 3), 4, 27, 0),
            (torus(2048, 23, 1, 4), 4, 27, 0),
            (torus(256, 15, 2, 1), 3, 30, 0),
            (torus(2048, 31, 2, 1), 4, 31, 0),
        ] {
            let words = shape.transform_words().expect("enough primes");
            assert_eq!(words.len(), count, "{shape:?}");
            assert_eq!(shape.transform_rounding(), Ok(rounding), "{shape:?}");
            let order = 2 * shape.polynomial_size as u32;
            for w in words {
                assert!(w < 1 << bits && w > 1 << (bits - 1) && w % order == 1, "{w}");
            }
        }
        let refused = torus(2048, 40, 1, 1).transform_words().expect_err("too large");
        assert!(refused.to_string().contains("f64 transform"), "{refused}");
    }
}
