//! The secret key of one user.

use super::secret::{Entropy, Secret, system_seed};
use super::{KeyId, domain};
use crate::wire::{self, Kind};
use crate::{ErrorDistribution, LweCiphertexts, ParameterSet, Result, error};
use girih_ring::sampler::{Gaussian, RandomStream, SecretSeed, TUniform};
use std::sync::atomic::AtomicU64;
use zeroize::Zeroizing;

/// The secret key: encrypts, decrypts, and makes [`EvaluationKeys`](crate::EvaluationKeys). Never leaves its owner.
///
/// It holds r independent LWE secrets of n coefficients and r GLWE secrets of k polynomials (tfhe.md section 1); they
/// are wiped when it is dropped and never printed.
pub struct ClientKey {
    set: ParameterSet,
    id: KeyId,
    /// `[r][n]`.
    lwe: Secret,
    /// `[r][k][N]`.
    glwe: Secret,
    pub(super) entropy: Entropy,
    errors: Errors,
}

/// Where errors are drawn from.
enum Errors {
    /// Of every ciphertext.
    Gaussian(Gaussian),
    /// Of LWE ciphertexts and of GLWE ciphertexts.
    TUniform { lwe: TUniform, glwe: TUniform },
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientKey").field("set", &self.set.to_string()).finish_non_exhaustive()
    }
}

impl ClientKey {
    /// Draws a new key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy) if there is none.
    pub fn generate(set: &ParameterSet) -> Result<Self> {
        Self::from_seed(set, SecretSeed::new(system_seed()?), Entropy::System)
    }

    /// Draws a key, and everything it makes later, from one seed: for tests and benchmarks that must repeat.
    ///
    /// Whoever knows the seed knows the key, and two programs that use one seed for one key reuse its errors.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for errors out of range, which no checked set has.
    pub fn generate_seeded(set: &ParameterSet, seed: [u8; 32]) -> Result<Self> {
        let entropy = Entropy::Seeded { seed: SecretSeed::new(seed), drawn: AtomicU64::new(0) };
        Self::from_seed(set, SecretSeed::new(seed), entropy)
    }

    fn from_seed(set: &ParameterSet, seed: SecretSeed, entropy: Entropy) -> Result<Self> {
        let shape = set.shape();
        let (lwe_len, glwe_len) = secret_lens(set);
        let lwe = Secret::sample(shape.secret, lwe_len, &mut seed.stream(domain::SECRETS, 0));
        let glwe = Secret::sample(shape.secret, glwe_len, &mut seed.stream(domain::SECRETS, 1));
        Self::assemble(set, KeyId::of_seed(&seed), lwe, glwe, entropy)
    }

    fn assemble(set: &ParameterSet, id: KeyId, lwe: Secret, glwe: Secret, entropy: Entropy) -> Result<Self> {
        let out_of_range = || set.unsupported("its errors are out of range");
        let errors = match set.errors() {
            ErrorDistribution::Gaussian { sigma } => Errors::Gaussian(Gaussian::new(sigma).ok_or_else(out_of_range)?),
            ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => Errors::TUniform {
                lwe: TUniform::new(lwe_log2_bound).ok_or_else(out_of_range)?,
                glwe: TUniform::new(glwe_log2_bound).ok_or_else(out_of_range)?,
            },
        };
        Ok(Self { set: set.clone(), id, lwe, glwe, entropy, errors })
    }

    /// Takes secrets that were made elsewhere: LWE `[r][n]` and GLWE `[r][k][N]`. Equal secrets give keys of one [`KeyId`].
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming a wrong length or a coefficient that the set's secrets cannot have.
    pub fn from_secrets(set: &ParameterSet, lwe: Vec<i8>, glwe: Vec<i8>) -> Result<Self> {
        Self::checked(set, KeyId::of_secrets(&lwe, &glwe), lwe, glwe)
    }

    fn checked(set: &ParameterSet, id: KeyId, lwe: Vec<i8>, glwe: Vec<i8>) -> Result<Self> {
        let (lwe_len, glwe_len) = secret_lens(set);
        let check = |name: &str, coefficients: Vec<i8>, len: usize| {
            let given = coefficients.len();
            if given != len {
                return error::malformed("client key", format!("the {name} secret has {given} coefficients, {set} needs {len}"));
            }
            match Secret::checked(set.shape().secret, coefficients) {
                Some(secret) => Ok(secret),
                None => error::malformed("client key", format!("a coefficient of the {name} secret is not {:?}", set.shape().secret)),
            }
        };
        Self::assemble(set, id, check("LWE", lwe, lwe_len)?, check("GLWE", glwe, glwe_len)?, Entropy::System)
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Its name, which its evaluation keys and ciphertexts carry.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The same secrets, by the same name, under another set of equal dimensions, such as one with another gadget; what it makes has errors
    /// and masks of its own.
    pub(crate) fn under(&self, set: &ParameterSet) -> Result<Self> {
        let copy = |secret: &Secret| Secret::checked(set.shape().secret, secret.coefficients().to_vec());
        let (Some(lwe), Some(glwe)) = (copy(&self.lwe), copy(&self.glwe)) else {
            return error::mismatch(format!("{set} has other secrets than {}", self.set));
        };
        if (lwe.coefficients().len(), glwe.coefficients().len()) != secret_lens(set) {
            return error::mismatch(format!("{set} has other dimensions than {}", self.set));
        }
        Self::assemble(set, self.id, lwe, glwe, self.entropy.child()?)
    }

    /// LWE secret of slot `slot < r`: n coefficients.
    pub(crate) fn lwe_secret(&self, slot: usize) -> &[i8] {
        let n = self.set.shape().lwe_dimension;
        &self.lwe.coefficients()[slot * n..][..n]
    }

    /// GLWE secret of slot `slot < r`: `[k][N]`, which is also the LWE secret of extracted ciphertexts.
    pub(crate) fn glwe_secret(&self, slot: usize) -> &[i8] {
        let len = self.set.shape().ks_indices();
        &self.glwe.coefficients()[slot * len..][..len]
    }

    /// The secret that stored ciphertexts of slot `slot` are under: the LWE secret; native torus: the GLWE secret.
    pub(crate) fn stored_secret(&self, slot: usize) -> &[i8] {
        if self.set.shape().is_torus() { self.glwe_secret(slot) } else { self.lwe_secret(slot) }
    }

    /// One error of a stored ciphertext.
    pub(crate) fn stored_error(&self, stream: &mut RandomStream) -> i64 {
        if self.set.shape().is_torus() { self.glwe_error(stream) } else { self.lwe_error(stream) }
    }

    /// One error of an LWE ciphertext under the LWE secret.
    pub(crate) fn lwe_error(&self, stream: &mut RandomStream) -> i64 {
        match &self.errors {
            Errors::Gaussian(gaussian) => gaussian.sample(stream),
            Errors::TUniform { lwe, .. } => lwe.sample(stream),
        }
    }

    /// One error of a coefficient of a GLWE ciphertext, and of an LWE ciphertext under its secret.
    pub(crate) fn glwe_error(&self, stream: &mut RandomStream) -> i64 {
        match &self.errors {
            Errors::Gaussian(gaussian) => gaussian.sample(stream),
            Errors::TUniform { glwe, .. } => glwe.sample(stream),
        }
    }

    /// Encrypts messages below `modulus`: slot j of ciphertext c holds message `c r + j` as `m q / modulus`.
    ///
    /// Bits of gates have modulus 4 ([`ClientKey::encrypt_bits`]); inputs of look-up tables have one bit of padding
    /// ([`ClientKey::encrypt_messages`]).
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an empty batch, one that is not a multiple of r, a message that
    /// is not below `modulus`, or a modulus outside `2..=q`.
    pub fn encrypt(&self, messages: &[u64], modulus: u64) -> Result<LweCiphertexts> {
        self.encrypt_at(messages, modulus, self.set.shape().log2_stored_modulus())
    }

    /// Encrypts messages below `modulus` under the ciphertext modulus `2^log2_modulus` instead of q.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`], and for a ciphertext modulus below 8, above 2^30 or above Q_ks.
    pub fn encrypt_at(&self, messages: &[u64], modulus: u64, log2_modulus: u32) -> Result<LweCiphertexts> {
        LweCiphertexts::encrypt(self, messages, modulus, log2_modulus, &SecretSeed::new(self.entropy.next_seed()?))
    }

    /// Encrypts bits for gates: a bit b as `b q / 4`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_bits(&self, bits: &[bool]) -> Result<LweCiphertexts> {
        self.encrypt(&bits.iter().map(|&b| u64::from(b)).collect::<Vec<_>>(), 4)
    }

    /// Encrypts messages of `bits` bits for look-up tables, one bit of padding above them.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_messages(&self, messages: &[u64], bits: u32) -> Result<LweCiphertexts> {
        let messages_modulus = crate::ciphertext::padded_modulus(&self.set, bits)?;
        if let Some(m) = messages.iter().find(|&&m| m >= messages_modulus / 2) {
            return error::mismatch(format!("message {m} does not fit {bits} bits"));
        }
        self.encrypt(messages, messages_modulus)
    }

    /// Decrypts every slot: `round(modulus phase / q) mod modulus`, q being the ciphertexts' own modulus.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for ciphertexts of another set or under another key, or a modulus outside `2..=q`.
    pub fn decrypt(&self, ciphertexts: &LweCiphertexts, modulus: u64) -> Result<Vec<u64>> {
        ciphertexts.decrypt(self, modulus)
    }

    /// Decrypts bits of gates.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`], and if a slot decrypts to neither 0 nor 1.
    pub fn decrypt_bits(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<bool>> {
        let values = self.decrypt(ciphertexts, 4)?;
        match values.iter().position(|&v| v > 1) {
            Some(slot) => error::mismatch(format!("message {slot} decrypts to {} of 4, which is no bit", values[slot])),
            None => Ok(values.into_iter().map(|v| v == 1).collect()),
        }
    }

    /// Decrypts messages of `bits` bits.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`], and if a slot has its padding bit set.
    pub fn decrypt_messages(&self, ciphertexts: &LweCiphertexts, bits: u32) -> Result<Vec<u64>> {
        let modulus = crate::ciphertext::padded_modulus(&self.set, bits)?;
        let values = self.decrypt(ciphertexts, modulus)?;
        match values.iter().position(|&v| v >= modulus / 2) {
            Some(slot) => error::mismatch(format!("message {slot} decrypts to {}, which is more than {bits} bits", values[slot])),
            None => Ok(values),
        }
    }

    /// Phases `b_j - <a, s_j>` of every slot modulo the ciphertexts' modulus, error included: what noise is measured on.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for ciphertexts of another set or under another key.
    pub fn phases(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<u64>> {
        ciphertexts.phases(self)
    }

    /// The key as bytes, to be kept secret; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        let (lwe, glwe) = (self.lwe.coefficients(), self.glwe.coefficients());
        Ok(Zeroizing::new(wire::encode(Kind::ClientKey, &self.set, lwe.len() + glwe.len(), &(self.id.0, lwe, glwe))?))
    }

    /// Reads and checks what [`ClientKey::to_bytes`] wrote. A key read back draws its randomness from the operating system.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged, another version, a wrong length, an
    /// impossible coefficient.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (set, (id, lwe, glwe)) = wire::decode(Kind::ClientKey, bytes)?;
        Self::checked(&set, KeyId(id), lwe, glwe)
    }
}

/// Lengths of the LWE and GLWE secrets.
fn secret_lens(set: &ParameterSet) -> (usize, usize) {
    let shape = set.shape();
    (shape.packing * shape.lwe_dimension, shape.packing * shape.ks_indices())
}
