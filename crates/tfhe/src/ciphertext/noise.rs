//! The errors of a batch, as the noise model has them.

use super::{LweCiphertexts, check_modulus};
use crate::noise::{log2_misread, variance_of};
use crate::{ClientKey, NoiseModel, ParameterSet, Result, error};
use girih_backend::{SecretKind, Transform};
use girih_ring::constant_time::switch_from_power;

/// What a [`ClientKey::decrypt_checked`] gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Decryption {
    /// The messages, as of [`ClientKey::decrypt`].
    pub messages: Vec<u64>,
    /// How far the error of the message nearest to being read as another one was from that, as a
    /// share of half a step between messages: 1 without any error, 0 at the boundary.
    pub room: f64,
}

/// Variance of a bootstrapped ciphertext of `set` modulo `2^log2_modulus`, under the transform that
/// leaves more.
pub(super) fn bootstrapped(set: &ParameterSet, log2_modulus: u32) -> f64 {
    NoiseModel::with_transform(set, Transform::Fft).variance_out_at(log2_modulus).max(fresh(set))
}

/// Variance of a fresh ciphertext, in units of whatever modulus it has.
pub(super) fn fresh(set: &ParameterSet) -> f64 {
    variance_of(set.errors()).1
}

/// Variance of the rounding of a message to a ciphertext's modulus:
/// steps of a power of two are whole.
pub(super) fn encoding(modulus: u64) -> f64 {
    if modulus.is_power_of_two() { 0.0 } else { 1.0 / 12.0 }
}

/// Variance of rounding a mask and a body, in units of what they are rounded to: `(1 + n V) / 12`,
/// V that of a secret coefficient where half of the masks' errors is taken off,
/// else its mean square.
pub(super) fn rounding(set: &ParameterSet) -> f64 {
    let shape = set.shape();
    let square = match shape.secret {
        SecretKind::Ternary => 2.0 / 3.0,
        SecretKind::Binary => 0.25,
    };
    (1.0 + shape.lwe_dimension as f64 * square) / 12.0
}

/// What results are held to where no server says otherwise.
pub(super) fn default_bound(set: &ParameterSet) -> f64 {
    NoiseModel::with_transform(set, Transform::Fft).default_bound()
}

/// Variance of a weighted sum: what errors of different ciphertexts have for themselves is
/// independent, and what results of one key share adds up; a ciphertext that comes several times
/// counts with the sum of its weights. The largest over the batch.
pub(super) fn of_sum(terms: &[(&LweCiphertexts, i64)]) -> f64 {
    let inputs: Vec<&LweCiphertexts> = terms.iter().map(|(c, _)| *c).collect();
    let weights: Vec<f64> = terms.iter().map(|(_, w)| *w as f64).collect();
    let variances: Vec<f64> = inputs.iter().map(|c| c.variance).collect();
    let same = |i: usize, j: usize, c: usize| inputs[i].same(inputs[j], c);
    let model = NoiseModel::new(&inputs[0].set);
    let of =
        |terms: &[(f64, f64)]| model.variance_of_sum(inputs[0].log2_modulus, terms.iter().copied());
    largest_variance(inputs[0].len(), &variances, &weights, &same, &of)
}

/// The variance of a sum of different ciphertexts, given as weights and variances.
pub(crate) type VarianceOfSum<'a> = &'a dyn Fn(&[(f64, f64)]) -> f64;

/// The largest variance over a batch of `len` weighted sums; `same(i, j, c)` says whether terms i
/// and j of sum c are one ciphertext.
pub(crate) fn largest_variance(
    len: usize,
    variances: &[f64],
    weights: &[f64],
    same: &dyn Fn(usize, usize, usize) -> bool,
    of: VarianceOfSum<'_>,
) -> f64 {
    let terms: Vec<(f64, f64)> = weights.iter().copied().zip(variances.iter().copied()).collect();
    let plain = of(&terms);
    let mut largest: f64 = if len == 0 { plain } else { 0.0 };
    for c in 0..len {
        let first = |i: usize| (0..i).find(|&j| same(j, i, c)).unwrap_or(i);
        let firsts: Vec<usize> = (0..terms.len()).map(first).collect();
        if firsts.iter().enumerate().all(|(i, &f)| i == f) {
            largest = largest.max(plain);
            continue;
        }
        let weight =
            |i: usize| (i..terms.len()).filter(|&j| firsts[j] == i).map(|j| weights[j]).sum();
        let merged: Vec<(f64, f64)> = (0..terms.len())
            .filter(|&i| firsts[i] == i)
            .map(|i| (weight(i), variances[i]))
            .collect();
        largest = largest.max(of(&merged));
    }
    largest
}

/// Refuses what is no variance.
pub(crate) fn check_variance(what: &'static str, variance: f64) -> Result<()> {
    if variance.is_finite() && variance >= 0.0 {
        return Ok(());
    }
    error::malformed(
        what,
        format!("the variance of their errors is {variance}, and must be a number from 0 on"),
    )
}

impl LweCiphertexts {
    /// Variance of the error of any message of the batch, in units of its modulus, as the noise
    /// model has it: 3.19 squared when fresh, what a bootstrapping leaves after one, and in sums
    /// weights squared times as much, with what results of one key share
    /// ([`NoiseModel::variance_of_sum`]). All else in errors of different ciphertexts is taken for
    /// independent.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The same ciphertexts with another variance, for whoever knows better.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) unless it is a number from 0 on.
    pub fn with_variance(self, variance: f64) -> Result<Self> {
        check_variance("ciphertexts", variance)?;
        Ok(self.noisy(variance))
    }

    /// The same with a variance that is known to be one.
    pub(crate) fn noisy(self, variance: f64) -> Self {
        Self { variance, ..self }
    }

    /// log2 of the probability that a message of the batch, one of `modulus` that fill it, is read
    /// as another one, by [`LweCiphertexts::variance`].
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus that
    /// [`ClientKey::decrypt`] refuses.
    pub fn log2_failure(&self, modulus: u64) -> Result<f64> {
        check_modulus(modulus, self.log2_modulus)?;
        Ok(log2_misread(modulus as f64, self.log2_modulus, self.variance))
    }

    /// Whether ciphertext `index` of both is the same one, word for word: its error then is, too.
    pub(crate) fn same(&self, other: &Self, index: usize) -> bool {
        let len = self.set.shape().ciphertext_len();
        let of = |batch: &Self| (index * len, (index + 1) * len, batch.words.len());
        let (from, to, own) = of(self);
        to <= own.min(other.words.len()) && self.words[from..to] == other.words[from..to]
    }

    pub(crate) fn decrypt_checked(&self, client: &ClientKey, modulus: u64) -> Result<Decryption> {
        check_modulus(modulus, self.log2_modulus)?;
        let phases = zeroize::Zeroizing::new(self.phases(client)?);
        let log2 = self.log2_modulus;
        let mask = u128::from(self.mask());
        let nearest = phases.iter().fold(u128::from(u64::MAX), |nearest, &phase| {
            // Where in its step the phase lies, and how far from the nearer end: no branch and no
            // division looks at it.
            let place = (u128::from(phase) * u128::from(modulus) + (1 << (log2 - 1))) & mask;
            let upper = (place >> (log2 - 1)).wrapping_neg();
            let distance = ((place ^ upper).wrapping_add(upper & 1)) & mask;
            let less = ((distance.wrapping_sub(nearest)) >> 127).wrapping_neg();
            nearest ^ ((nearest ^ distance) & less)
        });
        let messages =
            phases.iter().map(|&phase| switch_from_power(phase, log2, modulus)).collect();
        Ok(Decryption { messages, room: nearest as f64 / 2f64.powi(log2 as i32 - 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_rounded_where_steps_are_no_power_of_two() {
        assert_eq!([2, 64, 1 << 40].map(encoding), [0.0; 3]);
        assert_eq!([3, 7, 100].map(encoding), [1.0 / 12.0; 3]);
    }

    #[test]
    fn variances_are_numbers_from_0_on() {
        for variance in [0.0, 1e-300, 1e300] {
            check_variance("ciphertexts", variance).expect("a variance");
        }
        for variance in [-1e-300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            check_variance("ciphertexts", variance).expect_err("no variance");
        }
    }

    #[test]
    fn what_comes_twice_counts_with_the_sum_of_its_weights() {
        let independent = |terms: &[(f64, f64)]| terms.iter().map(|(w, v)| w * w * v).sum();
        let variance = |weights: &[f64], pairs: &[(usize, usize)]| {
            let variances = vec![1.0; weights.len()];
            let same = |i, j, c| c == 1 && pairs.contains(&(i, j));
            largest_variance(3, &variances, weights, &same, &independent)
        };
        assert_eq!(variance(&[1.0, 1.0], &[]), 2.0);
        assert_eq!(variance(&[1.0, 1.0], &[(0, 1)]), 4.0);
        assert_eq!(variance(&[2.0, 1.0, 3.0], &[(0, 2)]), 26.0);
        assert_eq!(variance(&[1.0, 1.0, 1.0], &[(0, 1), (0, 2), (1, 2)]), 9.0);
        // Where they cancel, the other sums of the batch have the largest error.
        assert_eq!(variance(&[1.0, -1.0], &[(0, 1)]), 2.0);
        let all = |len, weights: &[f64]| {
            largest_variance(len, &[1.0, 1.0], weights, &|_, _, _| true, &independent)
        };
        assert_eq!([all(1, &[1.0, -1.0]), all(0, &[1.0, -3.0])], [0.0, 10.0]);
    }
}
