//! The key from the dense secret of CKKS to the secret of TFHE ciphertexts.

use super::{check_len, domain};
use crate::ring::{HostRing, add_product, centred, impossible, mask, spread};
use crate::{Error, Result, SwitchingParameters};
use girih_backend::parallel::prelude::*;
use girih_ring::largest_ntt_primes;
use girih_ring::sampler::{Gaussian, RandomStream, TUniform};
use girih_rlwe::{MaskStreams, SecretStreams};
use girih_tfhe::ErrorDistribution;

/// For each digit j a pair (b_j, a_j) of polynomials modulo 2^w with
/// `b_j + a_j z = s 2^(dropped + g j) + e_j`.
///
/// s is the dense secret of CKKS; z is that of TFHE, its coefficients at multiples of N / N', N'
/// the power of two that holds them. A sample under z in the large ring is N / N' samples in the
/// ring of degree N' (with zeros behind the secret where N' exceeds it).
pub(crate) struct ThereKey {
    /// b: `[digit][N]`.
    words: Vec<u64>,
}

/// Exact products modulo 2^64: three primes, whose product is 2^92.
pub(crate) fn exact_ring(degree: usize) -> Result<HostRing> {
    match largest_ntt_primes(31, 2 * degree as u32, 3) {
        Some(primes) => HostRing::new(&primes, degree),
        None => Err(impossible(degree, "there are no three primes for it")),
    }
}

/// The mask a_j: N words modulo 2^w.
pub(crate) fn mask_words(
    parameters: &SwitchingParameters,
    masks: MaskStreams,
    digit: usize,
) -> Vec<u64> {
    let mut words = vec![0; parameters.ckks().degree()];
    let mut stream = masks.stream(domain::THERE, digit as u64);
    let most = mask(parameters.log2_key_modulus());
    words.fill_with(|| stream.next_u64() & most);
    words
}

/// Errors as of the TFHE set's own ciphertexts under that secret.
enum Errors {
    Gaussian(Gaussian),
    Uniform(TUniform),
}

impl Errors {
    fn new(parameters: &SwitchingParameters) -> Result<Self> {
        let errors = match parameters.tfhe().errors() {
            ErrorDistribution::Gaussian { sigma } => Gaussian::new(sigma).map(Self::Gaussian),
            ErrorDistribution::TUniform { glwe_log2_bound, .. } => {
                TUniform::new(glwe_log2_bound).map(Self::Uniform)
            }
        };
        errors.ok_or_else(|| Error::Unsupported {
            ckks: parameters.ckks().to_string(),
            tfhe: parameters.tfhe().to_string(),
            why: "errors of the TFHE set are out of range".into(),
        })
    }

    fn sample(&self, stream: &mut RandomStream) -> i64 {
        match self {
            Self::Gaussian(gaussian) => gaussian.sample(stream),
            Self::Uniform(uniform) => uniform.sample(stream),
        }
    }
}

impl ThereKey {
    pub fn generate(
        parameters: &SwitchingParameters,
        from: &[i8],
        to: &[i8],
        masks: MaskStreams,
        secrets: &SecretStreams,
    ) -> Result<Self> {
        let degree = parameters.ckks().degree();
        let ring = exact_ring(degree)?;
        let (log2_base, digits) = parameters.digits();
        let bits = parameters.log2_key_modulus();
        let step = degree / to.len().next_power_of_two();
        let z = ring.secret_evaluations(&spread(to, step, degree));
        let errors = Errors::new(parameters)?;
        let mut words = vec![0; digits * degree];
        for (digit, row) in words.chunks_exact_mut(degree).enumerate() {
            let a: Vec<i64> = mask_words(parameters, masks, digit)
                .into_iter()
                .map(|word| centred(word, bits))
                .collect();
            let product = |word: usize| {
                let mut limb = ring.evaluations(word, &a);
                let modulus = ring.modulus(word);
                for (x, z) in limb.iter_mut().zip(z[word].iter()) {
                    *x = modulus.mul(*x, *z);
                }
                ring.inverse(word, &mut limb);
                zeroize::Zeroizing::new(limb)
            };
            let limbs: Vec<_> = (0..ring.len()).into_par_iter().map(product).collect();
            let shift = parameters.dropped_bits() + log2_base * digit as u32;
            let mut stream = secrets.stream(domain::THERE, digit as u64);
            for (k, (out, &s)) in row.iter_mut().zip(from).enumerate() {
                let message = (i64::from(s) << shift) as u64;
                *out = message
                    .wrapping_add(errors.sample(&mut stream) as u64)
                    .wrapping_sub(ring.compose(|word| limbs[word][k]))
                    & mask(bits);
            }
        }
        Ok(Self { words })
    }

    pub fn bytes_of(parameters: &SwitchingParameters) -> usize {
        8 * parameters.digits().1 * parameters.ckks().degree()
    }

    pub fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn from_bytes(parameters: &SwitchingParameters, bytes: &[u8]) -> Result<Self> {
        check_len("the key to TFHE", bytes.len(), Self::bytes_of(parameters))?;
        let most = mask(parameters.log2_key_modulus());
        let word = |b: &[u8]| b.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
        if let Some(word) = words.iter().find(|&&word| word > most) {
            let bits = parameters.log2_key_modulus();
            let why = format!("a word of the key to TFHE is {word}, its modulus is 2^{bits}");
            return Err(girih_rlwe::Error::Malformed { what: "switching keys", why }.into());
        }
        Ok(Self { words })
    }
}

/// The key as it is multiplied with: evaluations of both halves.
pub(crate) struct LoadedThere {
    ring: HostRing,
    bits: u32,
    log2_base: u32,
    dropped: u32,
    /// `[digit][prime]`: b and a.
    rows: Vec<Vec<[Vec<u32>; 2]>>,
}

impl ThereKey {
    pub fn load(
        &self,
        parameters: &SwitchingParameters,
        masks: MaskStreams,
    ) -> Result<LoadedThere> {
        let degree = parameters.ckks().degree();
        let ring = exact_ring(degree)?;
        let bits = parameters.log2_key_modulus();
        let row = |(digit, b): (usize, &[u64])| {
            let a = mask_words(parameters, masks, digit);
            let [b, a] = [b, &a].map(|words| -> Vec<i64> {
                words.iter().map(|&word| centred(word, bits)).collect()
            });
            (0..ring.len())
                .map(|word| [ring.evaluations(word, &b), ring.evaluations(word, &a)])
                .collect()
        };
        let rows = self.words.par_chunks_exact(degree).enumerate().map(row).collect();
        let (log2_base, dropped) = (parameters.digits().0, parameters.dropped_bits());
        Ok(LoadedThere { ring, bits, log2_base, dropped, rows })
    }
}

impl LoadedThere {
    /// Balanced digits of each word, least significant first, after the dropped bits are rounded
    /// off; what is carried out of the last one is a multiple of 2^w.
    fn digits(&self, a: &[u64]) -> Vec<Vec<i64>> {
        let base = 1i64 << self.log2_base;
        let mut digits = vec![vec![0; a.len()]; self.rows.len()];
        for (k, &word) in a.iter().enumerate() {
            let half = if self.dropped > 0 { 1u64 << (self.dropped - 1) } else { 0 };
            let mut rest = (word.wrapping_add(half) & mask(self.bits)) >> self.dropped;
            for digit in &mut digits {
                let low = (rest & (base as u64 - 1)) as i64;
                let d = if low >= base / 2 { low - base } else { low };
                digit[k] = d;
                rest = rest.wrapping_sub(d as u64) >> self.log2_base;
            }
        }
        digits
    }

    /// From a ciphertext `b + a s` modulo 2^w to (b', a') with `b' + a' z` the same but for an
    /// error: N words each.
    pub fn switch(&self, b: &[u64], a: &[u64]) -> [Vec<u64>; 2] {
        let digits = self.digits(a);
        let sums = |word: usize| {
            let modulus = self.ring.modulus(word);
            let mut sums = [vec![0; a.len()], vec![0; a.len()]];
            for (digit, row) in digits.iter().zip(&self.rows) {
                let evaluations = self.ring.evaluations(word, digit);
                for (sum, key) in sums.iter_mut().zip(&row[word]) {
                    add_product(modulus, sum, &evaluations, key);
                }
            }
            sums.iter_mut().for_each(|sum| self.ring.inverse(word, sum));
            sums
        };
        let limbs: Vec<[Vec<u32>; 2]> = (0..self.ring.len()).into_par_iter().map(sums).collect();
        let whole = |part: usize, k: usize| self.ring.compose(|word| limbs[word][part][k]);
        let sum = |k: usize| b[k].wrapping_add(whole(0, k)) & mask(self.bits);
        [
            (0..a.len()).into_par_iter().map(sum).collect(),
            (0..a.len()).into_par_iter().map(|k| whole(1, k) & mask(self.bits)).collect(),
        ]
    }
}
