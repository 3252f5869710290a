//! What two sets have to do with each other.

use crate::{Error, Result};
use girih_ckks::CkksParameters;
use girih_rlwe::security::{LweProblem, SecurityEstimate};
use girih_rlwe::wire::Kind;
use girih_rlwe::{Scheme, SecretDistribution};
use girih_tfhe::{ErrorDistribution, ParameterSet};

pub(crate) const KEYS: Kind = Kind::new(1, "switching keys");

/// Deviation of errors under secrets of CKKS and of the packing ring.
pub(crate) const DEVIATION: f64 = 3.19;

/// log2 of N, and of the largest modulus that has 128 bits of security there for ternary secrets
/// (OpenFHE's tables, as for the sets of CKKS).
const LARGEST: [(u32, f64); 4] = [(11, 54.0), (12, 109.0), (13, 218.0), (14, 438.0)];

/// A CKKS set and a TFHE set to switch between, and the sizes of the keys for it.
///
/// The numbers go through keys under three secrets: that of the TFHE ciphertexts (to TFHE), one of
/// a ring of its own in which ciphertexts are packed, and the dense secret of CKKS (both back).
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchingParameters {
    ckks: CkksParameters,
    tfhe: ParameterSet,
    log2_packing: u32,
}

impl std::fmt::Display for SwitchingParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} and {}", self.ckks, self.tfhe)
    }
}

impl SwitchingParameters {
    /// Switching between these sets.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a CKKS set with neither bootstrapping nor a sparse secret for
    /// numbers in slots, or one whose lowest modulus is 2^60 or more; for a TFHE set that packs
    /// several messages into a ciphertext, or whose secrets have more than half as many
    /// coefficients as those of CKKS.
    pub fn new(ckks: &CkksParameters, tfhe: &ParameterSet) -> Result<Self> {
        let unsupported = |why: String| {
            Err(Error::Unsupported { ckks: ckks.to_string(), tfhe: tfhe.to_string(), why })
        };
        // A set for numbers in slots has a bootstrapping of its own kind.
        let for_numbers = ckks.bootstrapping().is_none() && ckks.encapsulation().is_some();
        if ckks.bootstrapping().is_none() && !for_numbers {
            return unsupported("the way back needs a CKKS set with bootstrapping".into());
        }
        if ckks.bootstrapping().is_some_and(|own| own.arcsine_levels() > 0) {
            return unsupported(
                "the CKKS set turns its sine into an arcsine: take one that does not, such as \
                 CKKS_D40"
                    .into(),
            );
        }
        if tfhe.packing() != 1 {
            let packing = tfhe.packing();
            return unsupported(format!("{packing} messages a TFHE ciphertext: take packing 1"));
        }
        let log2_q0 = log2_q0(ckks);
        if log2_q0 > 60.0 || ckks.chain().base(0).len() > 4 {
            return unsupported(format!("level 0 has a modulus of {log2_q0:.0} bits: at most 60"));
        }
        let least = if for_numbers { 24.0 } else { 36.0 };
        if log2_q0 < least || ckks.chain().auxiliary_len() < 2 {
            return unsupported(format!(
                "packing needs {least} bits at level 0, which has {log2_q0:.0}, and two auxiliary \
                 primes"
            ));
        }
        let log2_packing_modulus = log2_of(ckks, &packing_positions(ckks));
        let degree = tfhe.shape().stored_mask_len().next_power_of_two();
        if 2 * degree > ckks.degree() {
            let n = ckks.degree();
            return unsupported(format!("TFHE secrets for a ring of {degree}, and CKKS has {n}"));
        }
        // Toys are too small for a secure ring inside theirs.
        let most = ckks.chain().log2_degree() - 1;
        let secure = LARGEST
            .iter()
            .find(|(_, bits)| log2_packing_modulus <= *bits)
            .map_or(most, |(n, _)| *n);
        Ok(Self { ckks: ckks.clone(), tfhe: tfhe.clone(), log2_packing: secure.min(most) })
    }

    /// The CKKS set.
    pub fn ckks(&self) -> &CkksParameters {
        &self.ckks
    }

    /// The TFHE set.
    pub fn tfhe(&self) -> &ParameterSet {
        &self.tfhe
    }

    /// log2 of the modulus of the key to TFHE: that of the TFHE set's own keys under that secret,
    /// Q_ks, or 2^64 on the native torus.
    pub fn log2_key_modulus(&self) -> u32 {
        let shape = self.tfhe.shape();
        if shape.is_torus() { 64 } else { shape.log2_ks_modulus }
    }

    /// log2 of the base, and number, of the digits of the key to TFHE.
    pub(crate) fn digits(&self) -> (u32, usize) {
        // On the torus the errors of keys are 2^-47 of the modulus: 32 leading bits are enough.
        if self.tfhe.shape().is_torus() {
            (8, 4)
        } else {
            (2, self.log2_key_modulus().div_ceil(2) as usize)
        }
    }

    /// Lowest bits that the digits leave out.
    pub(crate) fn dropped_bits(&self) -> u32 {
        let (log2_base, digits) = self.digits();
        self.log2_key_modulus().saturating_sub(log2_base * digits as u32)
    }

    /// Coefficients of the secret that TFHE ciphertexts are under.
    pub(crate) fn mask_len(&self) -> usize {
        self.tfhe.shape().stored_mask_len()
    }

    /// N'', the degree of the ring in which ciphertexts are packed.
    pub fn packing_degree(&self) -> usize {
        1 << self.log2_packing
    }

    /// log2 of the largest modulus in which TFHE ciphertexts are packed; larger ones are rounded.
    pub fn log2_packing_modulus(&self) -> u32 {
        let log2 = log2_of(&self.ckks, &packing_positions(&self.ckks));
        (log2 as u32).saturating_sub(28).min(24)
    }

    /// The primes of the packing ring: those of level 0, and one that is divided by afterwards
    /// where they are few.
    pub(crate) fn packing_primes(&self) -> Vec<u32> {
        let chain = self.ckks.chain();
        packing_positions(&self.ckks).into_iter().map(|at| chain.prime(at)).collect()
    }

    /// The primes of level 0.
    pub(crate) fn bottom_primes(&self) -> Vec<u32> {
        let chain = self.ckks.chain();
        chain.base(0).map(|position| chain.prime(position)).collect()
    }

    /// The auxiliary primes of the key back to the dense secret.
    pub(crate) fn auxiliary_primes(&self) -> Vec<u32> {
        let chain = self.ckks.chain();
        chain.auxiliary().take(2).map(|position| chain.prime(position)).collect()
    }

    /// Q_0.
    pub(crate) fn q0(&self) -> u64 {
        self.bottom_primes().iter().map(|&p| u64::from(p)).product()
    }

    /// The product of the primes of the packing ring.
    pub(crate) fn packing_modulus(&self) -> u64 {
        self.packing_primes().iter().map(|&p| u64::from(p)).product()
    }

    /// Deviation of the errors of the key to TFHE, in units of its modulus: as of the TFHE set's
    /// own ciphertexts.
    pub(crate) fn error_deviation(&self) -> f64 {
        match self.tfhe.errors() {
            ErrorDistribution::Gaussian { sigma } => sigma,
            ErrorDistribution::TUniform { glwe_log2_bound, .. } => {
                ((libm::exp2(f64::from(2 * glwe_log2_bound + 1)) + 1.0) / 6.0).sqrt()
            }
        }
    }

    /// The problems of learning with errors that switching keys publish samples of: under the
    /// secret of TFHE, under that of the packing ring, under the dense secret of CKKS.
    pub fn problems(&self) -> [LweProblem; 3] {
        let secret = match self.tfhe.stored_secret() {
            girih_backend::SecretKind::Ternary => SecretDistribution::Ternary,
            girih_backend::SecretKind::Binary => SecretDistribution::Binary,
        };
        let log2_q0 = log2_q0(&self.ckks);
        let auxiliary: f64 = self.auxiliary_primes().iter().map(|&p| f64::from(p).log2()).sum();
        let dense = self.ckks.secret_weight();
        let ring = |dimension, log2_modulus, secret| LweProblem {
            dimension,
            log2_modulus,
            error: DEVIATION,
            secret,
        };
        [
            LweProblem {
                dimension: self.mask_len(),
                log2_modulus: f64::from(self.log2_key_modulus()),
                error: self.error_deviation(),
                secret,
            },
            ring(
                self.packing_degree(),
                log2_of(&self.ckks, &packing_positions(&self.ckks)),
                SecretDistribution::Ternary,
            ),
            ring(
                self.ckks.degree(),
                log2_q0 + auxiliary,
                dense.map_or(SecretDistribution::Ternary, SecretDistribution::FixedWeight),
            ),
        ]
    }

    /// Bits of security of the switching keys, by the project's own estimator; those of both sets
    /// stand beside them and are what their own `security` says.
    pub fn security(&self) -> SecurityEstimate {
        SecurityEstimate::of(&self.problems())
    }

    /// What a user must be told before relying on this pair: the warnings of both sets, and keys
    /// below 128 bits.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.ckks.warnings();
        all.extend(self.tfhe.warnings());
        let bits = self.security().usvp_bdgl16;
        if bits < 128.0 {
            all.push(format!("switching keys of {self} have {bits:.0} bits of security"));
        }
        all
    }
}

/// Positions of the primes of the packing ring.
fn packing_positions(ckks: &CkksParameters) -> Vec<usize> {
    let chain = ckks.chain();
    let extra = if log2_q0(ckks) < 36.0 { 1 } else { 0 };
    chain.base(0).chain(chain.auxiliary().take(extra)).collect()
}

fn log2_of(ckks: &CkksParameters, positions: &[usize]) -> f64 {
    ckks.chain().log2_product(positions.iter().copied())
}

fn log2_q0(ckks: &CkksParameters) -> f64 {
    let chain = ckks.chain();
    chain.log2_product(chain.base(0))
}

impl girih_rlwe::ParameterSet for SwitchingParameters {
    const SCHEME: Scheme = Scheme::Switching;
    const KINDS: &'static [Kind] = &[KEYS];

    /// The length of the CKKS set, two bytes, then both sets.
    fn to_canonical(&self) -> Vec<u8> {
        let (ckks, tfhe) = (self.ckks.to_canonical(), self.tfhe.to_canonical());
        let mut bytes = (ckks.len() as u16).to_le_bytes().to_vec();
        bytes.extend(ckks);
        bytes.extend(tfhe);
        bytes
    }

    fn from_canonical(bytes: &[u8]) -> std::result::Result<Self, String> {
        let short = || "is too short".to_owned();
        let (len, rest) = bytes.split_first_chunk::<2>().ok_or_else(short)?;
        let (ckks, tfhe) =
            rest.split_at_checked(usize::from(u16::from_le_bytes(*len))).ok_or_else(short)?;
        let ckks = CkksParameters::from_canonical(ckks)?;
        let tfhe = ParameterSet::from_canonical(tfhe)?;
        Self::new(&ckks, &tfhe).map_err(|e| e.to_string())
    }
}
