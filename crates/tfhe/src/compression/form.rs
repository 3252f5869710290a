//! How results are written: how many share a mask, and in how many bits its words and the bodies
//! stand. Rounding to them, and reading them.

use super::gadget::MergeNoise;
use crate::noise::{log2_misread, refuse};
use crate::{Error, NoiseModel, ParameterSet, Result};
use girih_backend::{SecretKind, Transform};

/// Bits of a mask word at most.
const MOST_BITS: u32 = 32;

/// What results are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// log2 of the ciphertexts that were merged into one mask of kN words; none where each has its
    /// own mask, that of stored ciphertexts.
    pub log2_group: Option<u32>,
    /// Bits of a mask word: phases are modulo 2^mask_bits.
    pub mask_bits: u32,
    /// Leading bits of a body.
    pub body_bits: u32,
}

impl Form {
    /// # Errors
    /// What is wrong with these numbers.
    pub fn check(&self, set: &ParameterSet) -> std::result::Result<(), String> {
        let Self { log2_group, mask_bits, body_bits } = *self;
        let most = set.shape().polynomial_size.trailing_zeros();
        if let Some(levels) = log2_group.filter(|&levels| levels > most) {
            return Err(format!(
                "2^{levels} ciphertexts with one mask: {set} has room for 2^{most}"
            ));
        }
        if !(1..=MOST_BITS).contains(&mask_bits) {
            return Err(format!("mask words of {mask_bits} bits: they have 1 to {MOST_BITS}"));
        }
        if !(1..=mask_bits).contains(&body_bits) {
            return Err(format!("bodies of {body_bits} bits: they have 1 to {mask_bits}"));
        }
        Ok(())
    }

    /// Ciphertexts that share a mask.
    pub fn group(&self) -> usize {
        1 << self.log2_group.unwrap_or(0)
    }

    /// Words of a mask.
    pub fn mask_len(&self, set: &ParameterSet) -> usize {
        match self.log2_group {
            Some(_) => set.shape().ks_indices(),
            None => set.shape().stored_mask_len(),
        }
    }

    /// Distribution of the secret that masks meet.
    pub fn secret(&self, set: &ParameterSet) -> SecretKind {
        match self.log2_group {
            None => set.stored_secret(),
            Some(_) => set.ring_secret(),
        }
    }

    /// Bytes of a mask with the bodies of `count` ciphertexts; none where that is beyond counting.
    pub fn group_bytes(&self, set: &ParameterSet, count: usize) -> Option<usize> {
        let masks = self.mask_len(set) * self.mask_bits as usize;
        let bodies = count.checked_mul(set.packing())?.checked_mul(self.body_bits as usize)?;
        Some(masks.checked_add(bodies)?.div_ceil(8))
    }

    /// Bytes of `count` ciphertexts: every group begins with a byte.
    pub fn bytes(&self, set: &ParameterSet, count: usize) -> Option<usize> {
        let (whole, rest) = (count / self.group(), count % self.group());
        let whole = self.group_bytes(set, self.group())?.checked_mul(whole)?;
        let rest = if rest == 0 { 0 } else { self.group_bytes(set, rest)? };
        whole.checked_add(rest)
    }

    /// Variance of rounding to these bits, in squares of the circle, from words of a modulus with
    /// `from_bits` bits: `(masks V + 1) / 12` units of masks, V the variance of a secret
    /// coefficient where half of the masks' errors is taken off the bodies (binary secrets), else
    /// its mean square; bodies in units of their own.
    fn rounding(&self, set: &ParameterSet, from_bits: u32) -> f64 {
        let square = match self.secret(set) {
            SecretKind::Ternary => 2.0 / 3.0,
            SecretKind::Binary => 0.25,
        };
        let unit = |bits: u32| if bits == from_bits { 0.0 } else { 4f64.powi(-(bits as i32)) };
        let masks = self.mask_len(set) as f64 * square;
        (masks * unit(self.mask_bits) + unit(self.body_bits)) / 12.0
    }
}

/// What is to be written.
pub(super) struct Wanted<'a> {
    pub set: &'a ParameterSet,
    /// Ciphertexts.
    pub count: usize,
    /// log2 of their modulus.
    pub log2_modulus: u32,
    /// Variance of their errors, in squares of the circle.
    pub variance: f64,
    /// Messages that fill the circle.
    pub modulus: u64,
    /// What merging adds, where there is a key for it.
    pub merge: Option<MergeNoise>,
    /// log2 of the failure probability that messages are held to, 0 for none.
    pub log2_bound: f64,
}

impl Wanted<'_> {
    /// log2 of the probability that a message is misread with an error of this variance.
    fn log2_failure(&self, variance: f64) -> f64 {
        log2_misread(self.modulus as f64, 0, variance)
    }

    /// The form of the fewest bytes in which messages are read within the bound, and the variance
    /// that errors then have, in squares of the circle. Without a bound it is that of the set, or,
    /// where errors do not keep to that, twice the probability that they have by themselves.
    ///
    /// # Errors
    /// [`Error::TooNoisy`] if there is none.
    pub fn form(&self) -> Result<(Form, f64)> {
        if self.log2_bound < 0.0 {
            return self.form_within(self.log2_bound);
        }
        let own = NoiseModel::with_transform(self.set, Transform::Fft).default_bound();
        self.form_within(own).or_else(|error| match error {
            Error::TooNoisy { log2_failure, .. } => self.form_within((log2_failure + 1.0).min(0.0)),
            other => Err(other),
        })
    }

    fn form_within(&self, log2_bound: f64) -> Result<(Form, f64)> {
        let levels = self.set.shape().polynomial_size.trailing_zeros();
        let merged = self.merge.map(|_| 0..=levels).into_iter().flatten().map(Some);
        let mut best: Option<(usize, Form, f64)> = None;
        // What cannot be met is told as it would be at best.
        let mut least = f64::INFINITY;
        for log2_group in std::iter::once(None).chain(merged) {
            let added = match (self.merge, log2_group) {
                (Some(noise), Some(levels)) => noise.after(levels),
                _ => 0.0,
            };
            // Words of a power of two are exact from its own bits on.
            let (from_bits, most) = match log2_group {
                None => (self.log2_modulus, self.log2_modulus.min(MOST_BITS)),
                Some(_) => (64, MOST_BITS),
            };
            for mask_bits in 1..=most {
                for body_bits in 1..=mask_bits {
                    let form = Form { log2_group, mask_bits, body_bits };
                    let bytes = form.bytes(self.set, self.count).unwrap_or(usize::MAX);
                    if best.is_some_and(|(fewest, ..)| bytes >= fewest) {
                        break;
                    }
                    let variance = self.variance + added + form.rounding(self.set, from_bits);
                    let log2_failure = self.log2_failure(variance);
                    least = least.min(log2_failure);
                    if refuse("", log2_failure, log2_bound).is_ok() {
                        best = Some((bytes, form, variance));
                        break;
                    }
                }
            }
        }
        match best {
            Some((_, form, variance)) => Ok((form, variance)),
            None => {
                let what = format!("reading compressed messages modulo {}", self.modulus);
                Err(crate::Error::TooNoisy { what, log2_failure: least, log2_bound })
            }
        }
    }
}

/// Rounds words modulo M to bits.
pub(super) struct Rounding {
    /// M; none for 2^64.
    modulus: Option<u64>,
    form: Form,
    /// Whether half of what masks were rounded by is taken off the bodies.
    centred: bool,
}

/// Bits of a fraction of a unit that rounding looks at.
const FRACTION: u32 = 20;

impl Rounding {
    pub fn new(set: &ParameterSet, form: Form, modulus: Option<u64>) -> Self {
        Self { modulus, form, centred: form.secret(set) == SecretKind::Binary }
    }

    /// `x 2^mask_bits / M` with a fraction of [`FRACTION`] bits, rounded down.
    fn scaled(&self, x: u64) -> u64 {
        let wide = u128::from(x) << (self.form.mask_bits + FRACTION);
        let scaled = match self.modulus {
            Some(modulus) => wide / u128::from(modulus),
            None => wide >> 64,
        };
        scaled as u64
    }

    /// A mask word in its bits, and what rounding added to it, with the fraction of
    /// [`Rounding::scaled`].
    fn mask(&self, x: u64) -> (u64, i64) {
        let scaled = self.scaled(x);
        let rounded = (scaled + (1 << (FRACTION - 1))) >> FRACTION;
        let error = (rounded << FRACTION) as i64 - scaled as i64;
        (rounded & ((1 << self.form.mask_bits) - 1), error)
    }

    /// A body in its bits; `errors` is the sum of the errors of the mask words that it meets.
    fn body(&self, x: u64, errors: i64) -> u64 {
        let half = if self.centred { errors.div_euclid(2) } else { 0 };
        let dropped = FRACTION + self.form.mask_bits - self.form.body_bits;
        let rounded = self.scaled(x) as i64 + half + (1 << (dropped - 1));
        (rounded >> dropped) as u64 & ((1 << self.form.body_bits) - 1)
    }

    /// Writes one group: `masks`, polynomials of `size` words (a mask of a stored ciphertext is one
    /// of its own length), and the bodies `[ciphertext][r]`.
    pub fn write(
        &self,
        masks: &[u64],
        size: usize,
        packing: usize,
        bodies: &[u64],
        out: &mut BitWriter<'_>,
    ) {
        let mut errors = Vec::with_capacity(masks.len());
        for &x in masks {
            let (word, error) = self.mask(x);
            out.push(word, self.form.mask_bits);
            errors.push(error);
        }
        let met = match self.form.log2_group {
            None => vec![errors.iter().sum()],
            Some(levels) => met(&errors, size, size >> levels),
        };
        for (bodies, &errors) in bodies.chunks(packing).zip(&met) {
            for &body in bodies {
                out.push(self.body(body, errors), self.form.body_bits);
            }
        }
    }
}

/// Of polynomials of `size` coefficients, their sum times 1 + X + X^2 + .., at every `stride`th
/// place: coefficients up to there less those above.
fn met(polynomials: &[i64], size: usize, stride: usize) -> Vec<i64> {
    let mut met = vec![0; size];
    for polynomial in polynomials.chunks(size) {
        let all: i64 = polynomial.iter().sum();
        let mut below = 0;
        for (met, x) in met.iter_mut().zip(polynomial) {
            below += x;
            *met += 2 * below - all;
        }
    }
    met.into_iter().step_by(stride).collect()
}

/// Words of some bits, one after the other, lowest bit first.
pub(super) struct BitWriter<'a> {
    bytes: &'a mut [u8],
    at: usize,
    held: u64,
    bits: u32,
}

impl<'a> BitWriter<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0, held: 0, bits: 0 }
    }

    /// Appends the `bits <= 32` bits of a word.
    pub fn push(&mut self, word: u64, bits: u32) {
        self.held |= word << self.bits;
        self.bits += bits;
        while self.bits >= 8 {
            self.byte();
        }
    }

    fn byte(&mut self) {
        self.bytes[self.at] = self.held as u8;
        self.at += 1;
        self.held >>= 8;
        self.bits = self.bits.saturating_sub(8);
    }

    /// Writes what is left, and zeros to the end of the byte.
    pub fn finish(mut self) {
        if self.bits > 0 {
            self.byte();
        }
    }
}

/// Reads what [`BitWriter`] wrote.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    held: u64,
    bits: u32,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, held: 0, bits: 0 }
    }

    /// The next `bits <= 32` bits; zeros beyond the end.
    pub fn next(&mut self, bits: u32) -> u32 {
        while self.bits < bits {
            let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
            self.held |= u64::from(*first) << self.bits;
            self.bytes = rest;
            self.bits += 8;
        }
        let word = self.held & ((1 << bits) - 1);
        self.held >>= bits;
        self.bits -= bits;
        word as u32
    }
}
