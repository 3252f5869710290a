//! From coefficients of a CKKS ciphertext at level 0 to TFHE ciphertexts and back: what all
//! switches have in common.

use crate::keys::{LoadedBack, LoadedThere, Placed, SwitchingKeys};
use crate::noise::SwitchingNoise;
use crate::ring::mask;
use crate::{Result, SwitchingParameters, error};
use girih_backend::parallel::prelude::*;
use girih_ckks::Ciphertext;
use girih_rlwe::KeyId;
use girih_tfhe::LweCiphertexts;

/// Switching keys, ready for use.
pub(crate) struct Between {
    pub parameters: SwitchingParameters,
    pub tfhe: KeyId,
    there: LoadedThere,
    back: LoadedBack,
}

impl Between {
    pub fn new(keys: &SwitchingKeys) -> Result<Self> {
        let parameters = keys.parameters().clone();
        let masks = keys.masks();
        Ok(Self {
            tfhe: keys.tfhe_key_id(),
            there: keys.there.load(&parameters, masks)?,
            back: keys.back.load(&parameters, masks)?,
            parameters,
        })
    }

    pub fn noise(&self) -> SwitchingNoise {
        SwitchingNoise::new(&self.parameters)
    }

    /// Refuses TFHE ciphertexts of another set or under another key.
    pub fn check(&self, x: &LweCiphertexts) -> Result<()> {
        if x.set() != self.parameters.tfhe() {
            let (what, rule) = ("TFHE ciphertexts", "this switch is for");
            return error::wrong_set(what, x.set(), rule, self.parameters.tfhe());
        }
        if let Some(key) = x.key_id().filter(|key| *key != self.tfhe) {
            return error::wrong_key("TFHE ciphertexts", key, "this switch is for", self.tfhe);
        }
        Ok(())
    }

    /// Samples of coefficients at these exponents, times `multiple`, as words of TFHE ciphertexts
    /// modulo 2^`log2_modulus`.
    pub fn extract(
        &self,
        ciphertext: &Ciphertext,
        exponents: &[usize],
        multiple: u64,
        log2_modulus: u32,
        out: &mut Vec<u32>,
    ) {
        let (degree, q0) = (self.parameters.ckks().degree(), u128::from(self.parameters.q0()));
        let bits = self.parameters.log2_key_modulus();
        let switched = |x: &i64| {
            // Q_0 is below 2^60, so that the product with 2^64 has room.
            let x = (i128::from(*x) * i128::from(multiple)).rem_euclid(q0 as i128) as u128;
            ((x << bits) + q0 / 2).wrapping_div(q0) as u64 & mask(bits)
        };
        let [b, a] = [ciphertext.b(), ciphertext.a()].map(|limbs| -> Vec<u64> {
            self.back.coefficients(limbs).par_iter().map(switched).collect()
        });
        let [b, a] = self.there.switch(&b, &a);
        let len = self.parameters.mask_len();
        let step = degree / len.next_power_of_two();
        // The mask words of X^k: TFHE subtracts what CKKS adds.
        let sample = |&k: &usize| {
            let word = |i: usize| match k.checked_sub(i * step) {
                Some(at) => a[at].wrapping_neg(),
                None => a[k + degree - i * step],
            };
            let words = (0..len).map(word).chain([b[k]]);
            let round = |word: u64| rounded(word & mask(bits), bits, log2_modulus);
            words.map(round).collect::<Vec<u64>>()
        };
        let is_torus = self.parameters.tfhe().shape().is_torus();
        let samples: Vec<Vec<u64>> = exponents.par_iter().map(sample).collect();
        for word in samples.into_iter().flatten() {
            out.push(word as u32);
            if is_torus {
                out.push((word >> 32) as u32);
            }
        }
    }

    /// Words of one TFHE ciphertext.
    pub fn ciphertext_len(&self) -> usize {
        self.parameters.tfhe().shape().ciphertext_len()
    }

    /// TFHE ciphertexts modulo 2^`log2_modulus`, given by their words, times `multiple`, as
    /// coefficients of (b, a) at level 0: each phase where `exponent` says, in turns of Q_0.
    pub fn pack(
        &self,
        words: &[u32],
        log2_modulus: u32,
        multiple: u64,
        exponent: impl Fn(usize) -> usize,
    ) -> [Vec<u32>; 2] {
        let packed = self.parameters.log2_packing_modulus();
        let width = if self.parameters.tfhe().shape().is_torus() { 2 } else { 1 };
        let place = |(number, words): (usize, &[u32])| {
            let word = |halves: &[u32]| {
                let word = halves.iter().rev().fold(0, |word, &half| word << 32 | u64::from(half));
                rounded(word.wrapping_mul(multiple) & mask(log2_modulus), log2_modulus, packed)
            };
            let mut mask: Vec<u64> = words.chunks_exact(width).map(word).collect();
            let body = mask.pop().expect("a ciphertext ends with its body");
            Placed { mask, body, exponent: exponent(number) }
        };
        let placed: Vec<Placed> =
            words.chunks_exact(self.ciphertext_len()).enumerate().map(place).collect();
        self.back.pack(&placed)
    }
}

/// A word modulo 2^from as one modulo 2^to, half up where bits go.
fn rounded(word: u64, from: u32, to: u32) -> u64 {
    if to >= from {
        return word << (to - from);
    }
    ((word >> (from - to - 1)).wrapping_add(1) >> 1) & mask(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_rounded_half_up_and_wrap() {
        assert_eq!(rounded(7, 4, 3), 4);
        assert_eq!(rounded(15, 4, 3), 0);
        assert_eq!(rounded(u64::MAX, 64, 24), 0);
        assert_eq!(rounded(1 << 39, 64, 24), 1);
        assert_eq!(rounded(3, 4, 6), 12);
    }
}
