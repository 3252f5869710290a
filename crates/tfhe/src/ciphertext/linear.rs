//! What needs no keys: sums, negation, other moduli.

use super::{LweCiphertexts, MIN_LOG2_MODULUS, common_plaintext, get, noise, put, width};
#[allow(unused_imports, reason = "the documentation names it")]
use crate::Error;
use crate::noise::{log2_misread, refuse};
use crate::{KeyId, Result, error};
use girih_backend::SecretKind;
use girih_ring::switch::mod_switch_pow2;
use girih_rlwe::Mismatch;

impl LweCiphertexts {
    /// NOT of every bit, without bootstrapping and without new noise:
    /// a quarter of the modulus less c.
    #[must_use]
    pub fn not(&self) -> Self {
        let quarter = 1i64 << (self.log2_modulus - 2);
        self.combine(&[(self, -1)], quarter, self.key)
    }

    /// `sum weight_i c_i + constant`, ciphertext by ciphertext, without bootstrapping: the constant
    /// is a phase, in units of one, and errors grow with the weights. A ciphertext that comes in
    /// several terms counts with their sum.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no terms, or batches that differ in set, key, modulus or length;
    /// [`Error::TooNoisy`] for a sum of which not even one bit could be read with what the set is
    /// held to ([`NoiseModel::default_bound`](crate::NoiseModel::default_bound)).
    pub fn weighted_sum(terms: &[(&Self, i64)], constant: i64) -> Result<Self> {
        let Some((first, _)) = terms.first() else {
            return error::mismatch(Mismatch::empty("terms of a weighted sum"));
        };
        terms.iter().try_for_each(|(c, _)| first.check_alike(c))?;
        let key = KeyId::common(terms.iter().map(|(c, _)| c.key))?;
        let variance = noise::of_sum(terms);
        let bound = noise::default_bound(&first.set);
        let bit = log2_misread(2.0, first.log2_modulus, variance);
        refuse("a weighted sum, even of single bits,", bit, bound)?;
        // Of sums of different widths nobody knows what they stand for.
        let plaintexts = terms.iter().map(|(c, _)| c.plaintext_modulus);
        let plaintext = common_plaintext(plaintexts).unwrap_or(None);
        Ok(first.combine(terms, constant, key).noisy(variance).encoding(plaintext))
    }

    /// Refuses a batch of another set, modulus or length.
    fn check_alike(&self, other: &Self) -> Result<()> {
        if (&self.set, self.log2_modulus, self.words.len())
            != (&other.set, other.log2_modulus, other.words.len())
        {
            let rule = "set, number and modulus must be the same";
            return error::mismatch(Mismatch::unlike(
                format!("{self:?}"),
                format!("{other:?}"),
                rule,
            ));
        }
        Ok(())
    }

    /// [`LweCiphertexts::weighted_sum`] of batches that are known to be alike.
    fn combine(&self, terms: &[(&Self, i64)], constant: i64, key: Option<KeyId>) -> Self {
        let (shape, width, mask) = (self.set.shape(), width(self.set.shape()), self.mask());
        let mut sums = vec![0u64; self.words.len() / width];
        for (batch, weight) in terms {
            // Modulo 2^64, which every power-of-two modulus divides.
            let words = batch.words.chunks_exact(width).map(get);
            sums.iter_mut()
                .zip(words)
                .for_each(|(sum, w)| *sum = sum.wrapping_add(w.wrapping_mul(*weight as u64)));
        }
        for ciphertext in sums.chunks_exact_mut(shape.ciphertext_len() / width) {
            ciphertext[shape.stored_mask_len()..]
                .iter_mut()
                .for_each(|b| *b = b.wrapping_add(constant as u64));
        }
        let mut words = vec![0u32; self.words.len()];
        words.chunks_exact_mut(width).zip(sums).for_each(|(word, sum)| put(word, sum & mask));
        self.with_words(self.log2_modulus, words).under(key)
    }

    /// The same messages modulo the smaller `2^log2_modulus`, every word rounded: adds the rounding
    /// error of n + 1 words. Of a binary secret, half of what its mask words were rounded by is
    /// taken off again, as on the native torus.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless the modulus is from 8 to that of these ciphertexts.
    pub fn rescale(&self, log2_modulus: u32) -> Result<Self> {
        self.check_smaller(log2_modulus)?;
        let shape = self.set.shape();
        let centred = shape.secret == SecretKind::Binary;
        let (len, masks, from) =
            (shape.ciphertext_len(), shape.stored_mask_len(), self.log2_modulus);
        let round = |w: u64| mod_switch_pow2(w, from, log2_modulus) as u32;
        let mut words = Vec::with_capacity(self.words.len());
        for ciphertext in self.words.chunks_exact(len) {
            let mut errors = 0i64;
            for &a in &ciphertext[..masks] {
                let rounded = round(u64::from(a));
                // Modulo 2^from, the one of them that is small.
                let error = (u64::from(rounded) << (from - log2_modulus)) as i64 - i64::from(a);
                errors += if error < -(1 << (from - 1)) { error + (1 << from) } else { error };
                words.push(rounded);
            }
            let half = if centred { errors.div_euclid(2) as u64 & self.mask() } else { 0 };
            let body = |&b: &u32| round((u64::from(b) + half) & self.mask());
            words.extend(ciphertext[masks..].iter().map(body));
        }
        let factor = 4f64.powi(log2_modulus as i32 - from as i32);
        let rounding = if log2_modulus < from { noise::rounding(&self.set) } else { 0.0 };
        let plaintext = self.plaintext_modulus.filter(|p| p >> log2_modulus <= 1);
        let variance = self.variance * factor + rounding;
        Ok(self.with_words(log2_modulus, words).noisy(variance).encoding(plaintext))
    }

    /// The lowest part of every message: phases modulo `2^log2_modulus`, exactly.
    ///
    /// # Errors
    /// As [`LweCiphertexts::rescale`].
    pub fn reduce(&self, log2_modulus: u32) -> Result<Self> {
        self.check_smaller(log2_modulus)?;
        let words = self.words.iter().map(|&w| w & ((1 << log2_modulus) - 1)).collect();
        let log2_lost = self.log2_modulus - log2_modulus;
        let plaintext = self.plaintext_modulus.filter(|p| p.is_power_of_two());
        let plaintext = plaintext.map(|p| p >> log2_lost).filter(|&p| p >= 2);
        Ok(self.with_words(log2_modulus, words).encoding(plaintext))
    }

    fn check_smaller(&self, log2_modulus: u32) -> Result<()> {
        if self.set.shape().is_torus() {
            return Err(self
                .set
                .unsupported("ciphertexts of the native torus have the one modulus 2^64"));
        }
        if !(MIN_LOG2_MODULUS..=self.log2_modulus).contains(&log2_modulus) {
            let what = format!("results of ciphertexts modulo 2^{},", self.log2_modulus);
            let allowed = [MIN_LOG2_MODULUS, self.log2_modulus];
            return error::mismatch(Mismatch::modulus(what, log2_modulus, allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParameterSet;

    /// Words in steps of eight, half up; the last of them wrap around to 0. Half of what a binary
    /// secret's masks gained comes off, that is, goes to the bodies.
    #[test]
    fn words_are_rounded_and_means_taken_off() {
        for (name, square, binary) in
            [("INSECURE_TOY_R3", 2.0 / 3.0, false), ("INSECURE_TOY_BINARY_R3", 0.25, true)]
        {
            let set = ParameterSet::by_name(name).expect("built in");
            assert_eq!((set.shape().stored_mask_len(), set.shape().ciphertext_len()), (64, 67));
            // More words are rounded up than down, and an odd number to the end of the circle: half
            // of an even number of circles would be none.
            let mut words: Vec<u32> = (0..64).map(|i| i * 77 % 512).collect();
            words[..12].copy_from_slice(&[511, 510, 509, 507, 507, 4, 3, 0, 5, 5, 6, 6]);
            words.extend([0, 506, 509]);
            let batch = LweCiphertexts::from_words(&set, words.clone()).expect("below 512");
            let batch = batch.with_variance(5.0).expect("a variance");
            let rounded = batch.rescale(6).expect("from 8 on");
            let gained: i64 =
                words[..64].iter().map(|a| i64::from((a + 4) / 8 * 8) - i64::from(*a)).sum();
            assert!(gained > 8, "{gained}");
            let half = if binary { gained / 2 } else { 0 };
            for (i, (&to, &from)) in rounded.words().iter().zip(&words).enumerate() {
                let from = i64::from(from) + if i < 64 { 0 } else { half };
                assert_eq!(i64::from(to), (from + 4) / 8 % 64, "{name}, word {i}");
            }
            let variance = 5.0 / 64.0 + (1.0 + 64.0 * square) / 12.0;
            assert!((rounded.variance() / variance - 1.0).abs() < 1e-12, "{name}");
            // Nothing is rounded to the modulus that they have.
            assert_eq!(batch.rescale(9).expect("theirs"), batch);
            assert_eq!(batch.rescale(9).expect("theirs").variance(), 5.0);
        }
    }

    #[test]
    fn what_has_one_modulus_is_not_rounded() {
        let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
        let words = vec![0; set.shape().ciphertext_len()];
        let batch = LweCiphertexts::from_words(&set, words).expect("of the torus");
        for refused in [batch.rescale(32), batch.rescale(64), batch.reduce(32)] {
            let error = refused.expect_err("has one").to_string();
            assert!(error.contains("have the one modulus 2^64"), "{error}");
        }
    }

    /// Two bits are half of the circle apart: an error of a ninth of a quarter is within 2^-64 of
    /// it, and the set is held to 2^-128.
    #[test]
    fn sums_are_held_to_what_the_set_is_held_to() {
        let set = ParameterSet::by_name("STD128").expect("built in");
        let words = vec![0; set.shape().ciphertext_len()];
        let batch = LweCiphertexts::from_words(&set, words).expect("one");
        let of = |sigma: f64| {
            let batch = batch.clone().with_variance(sigma * sigma).expect("a variance");
            LweCiphertexts::weighted_sum(&[(&batch, 1)], 0)
        };
        let error = of(512.0 / 10.5).expect_err("2^-83").to_string();
        assert!(error.contains("2^-128"), "{error}");
        of(512.0 / 14.0).expect("2^-145");
    }
}
