//! The secret key of one user.

use super::{KeyId, domain};
use crate::wire::CLIENT_KEY;
use crate::{ErrorDistribution, ParameterSet, Result, error};
use girih_backend::SecretKind;
use girih_ring::sampler::{Gaussian, RandomStream, TUniform};
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{Entropy, Mismatch, Secret, SecretDistribution, SetId};
use zeroize::Zeroizing;

/// The secret key: encrypts, decrypts, and makes [`EvaluationKeys`](crate::EvaluationKeys). Never
/// leaves its owner.
///
/// It holds r independent LWE secrets of n coefficients and r GLWE secrets of k polynomials
/// (docs/tfhe.md, "Objects"); they are wiped when it is dropped and never printed.
pub struct ClientKey {
    set: ParameterSet,
    id: KeyId,
    /// `[r][n]`.
    lwe: Secret,
    /// `[r][k][N]`.
    glwe: Secret,
    pub(crate) entropy: Entropy,
    errors: Errors,
}

/// Where errors are drawn from.
pub(super) enum Errors {
    /// Of every ciphertext.
    Gaussian(Gaussian),
    /// Of LWE ciphertexts and of GLWE ciphertexts.
    TUniform { lwe: TUniform, glwe: TUniform },
}

impl Errors {
    pub(super) fn of(set: &ParameterSet) -> Result<Self> {
        let out_of_range = || set.unsupported("its errors are out of range");
        Ok(match set.errors() {
            ErrorDistribution::Gaussian { sigma } => {
                Self::Gaussian(Gaussian::new(sigma).ok_or_else(out_of_range)?)
            }
            ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => Self::TUniform {
                lwe: TUniform::new(lwe_log2_bound).ok_or_else(out_of_range)?,
                glwe: TUniform::new(glwe_log2_bound).ok_or_else(out_of_range)?,
            },
        })
    }

    /// One of a coefficient of a GLWE ciphertext.
    pub(super) fn glwe(&self, stream: &mut RandomStream) -> i64 {
        match self {
            Self::Gaussian(gaussian) => gaussian.sample(stream),
            Self::TUniform { glwe, .. } => glwe.sample(stream),
        }
    }
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
        Self::draw(set, Entropy::system(SetId::of(set)))
    }

    /// **For tests and benchmarks only**: draws a key, and everything it makes later, from one
    /// seed, so that they repeat.
    ///
    /// Whoever knows the seed knows the key, and a seed that is typed in can be guessed: nothing
    /// made this way protects anything. Streams are bound to the set and to what they are for, so
    /// that a program that starts again with the same seed makes the same things or unrelated ones,
    /// and never two things with one mask.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for errors out of range, which no checked
    /// set has.
    pub fn generate_seeded_for_tests(set: &ParameterSet, seed: [u8; 32]) -> Result<Self> {
        Self::draw(set, Entropy::seeded_for_tests(SetId::of(set), seed))
    }

    fn draw(set: &ParameterSet, entropy: Entropy) -> Result<Self> {
        let (lwe_len, glwe_len) = secret_lens(set);
        let root = entropy.key_seed()?;
        let secrets = root.secrets();
        let sample = |distribution, len, index| {
            Secret::sample(distribution, len, &mut secrets.stream(domain::SECRETS, index))
        };
        let lwe = sample(lwe_distribution(set), lwe_len, 0);
        let glwe = sample(ring_distribution(set), glwe_len, 1);
        Self::assemble(set, root.name(), lwe, glwe, entropy)
    }

    fn assemble(
        set: &ParameterSet,
        id: KeyId,
        lwe: Secret,
        glwe: Secret,
        entropy: Entropy,
    ) -> Result<Self> {
        Ok(Self { set: set.clone(), id, lwe, glwe, entropy, errors: Errors::of(set)? })
    }

    /// Takes secrets that were made elsewhere: LWE `[r][n]` and GLWE `[r][k][N]`. Equal secrets
    /// give keys of one [`KeyId`].
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming a wrong length or a coefficient that
    /// the set's secrets cannot have.
    pub fn from_secrets(set: &ParameterSet, lwe: Vec<i8>, glwe: Vec<i8>) -> Result<Self> {
        let (lwe_len, glwe_len) = secret_lens(set);
        // Both are in hands that wipe them before either is judged.
        let lwe = Secret::checked(lwe_distribution(set), lwe_len, lwe);
        let glwe = Secret::checked(ring_distribution(set), glwe_len, glwe);
        let lwe = accept(set, ("LWE", set.shape().secret), lwe)?;
        let glwe = accept(set, ("GLWE", set.ring_secret()), glwe)?;
        let id = KeyId::of_secrets(&[lwe.coefficients(), glwe.coefficients()]);
        Self::assemble(set, id, lwe, glwe, Entropy::system(SetId::of(set)))
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Its name, which its evaluation keys and ciphertexts carry.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The same secrets, by the same name, under another set of equal dimensions, such as one with
    /// another gadget; what it makes has errors and masks of its own.
    pub(crate) fn under(&self, set: &ParameterSet) -> Result<Self> {
        let kinds = |set: &ParameterSet| (set.shape().secret, set.ring_secret());
        if kinds(set) != kinds(&self.set) {
            let rule = "the kinds of their secrets must be the same";
            return error::mismatch(Mismatch::unlike(set.to_string(), self.set.to_string(), rule));
        }
        if secret_lens(set) != secret_lens(&self.set) {
            let rule = "the dimensions of their secrets must be the same";
            return error::mismatch(Mismatch::unlike(set.to_string(), self.set.to_string(), rule));
        }
        Self::assemble(
            set,
            self.id,
            self.lwe.duplicate(),
            self.glwe.duplicate(),
            self.entropy.child(SetId::of(set)),
        )
    }

    /// The coefficients of the secret that ciphertexts of slot `slot` are under, for whoever makes
    /// keys that lead from or to another scheme: n of the LWE secret; native torus: kN of the GLWE
    /// secret.
    ///
    /// **They are the key itself**: they stay with its owner, and a copy must be wiped.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a slot that the set's packing does not have.
    pub fn secret_coefficients(&self, slot: usize) -> Result<&[i8]> {
        if slot < self.set.packing() {
            return Ok(self.stored_secret(slot));
        }
        let packing = self.set.packing();
        let what = format!("the slot of a ciphertext of {}", self.set);
        error::mismatch(Mismatch::index(what, slot, packing))
    }

    /// LWE secret of slot `slot < r`: n coefficients.
    pub(crate) fn lwe_secret(&self, slot: usize) -> &[i8] {
        let n = self.set.shape().lwe_dimension;
        &self.lwe.coefficients()[slot * n..][..n]
    }

    /// GLWE secret of slot `slot < r`: `[k][N]`,
    /// which is also the LWE secret of extracted ciphertexts.
    pub(crate) fn glwe_secret(&self, slot: usize) -> &[i8] {
        let len = self.set.shape().ks_indices();
        &self.glwe.coefficients()[slot * len..][..len]
    }

    /// The secret that stored ciphertexts of slot `slot` are under: the LWE secret; native torus:
    /// the GLWE secret.
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
        self.errors.glwe(stream)
    }

    /// The key as bytes, to be kept secret; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        let (lwe, glwe) = (self.lwe.to_bytes(), self.glwe.to_bytes());
        let payload = (Bytes(&lwe), Bytes(&glwe));
        Ok(Zeroizing::new(wire::encode(
            CLIENT_KEY,
            &self.set,
            Some(self.id),
            lwe.len() + glwe.len(),
            &payload,
        )?))
    }

    /// Reads and checks what [`ClientKey::to_bytes`] wrote. A key read back draws its randomness
    /// from the operating system.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged,
    /// another version, a wrong length, an impossible coefficient.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(wire::open(CLIENT_KEY, bytes)?)
    }

    /// The same for a key of `set` and no other: whatever else these bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`ClientKey::from_bytes`], and for a key of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        let (lwe_len, glwe_len) = secret_lens(set);
        Self::read(wire::open_for(CLIENT_KEY, set, lwe_len + glwe_len, bytes)?)
    }

    fn read(opened: Opened<'_, ParameterSet>) -> Result<Self> {
        let (id, (lwe_len, glwe_len)) = (opened.named_key()?, secret_lens(&opened.set));
        opened.check_payload(lwe_len + glwe_len)?;
        let (set, (lwe, glwe)): (_, (&[u8], &[u8])) = opened.payload()?;
        let lwe = Secret::from_bytes(lwe_distribution(&set), lwe_len, lwe);
        let lwe = accept(&set, ("LWE", set.shape().secret), lwe)?;
        let glwe = Secret::from_bytes(ring_distribution(&set), glwe_len, glwe);
        let glwe = accept(&set, ("GLWE", set.ring_secret()), glwe)?;
        Self::assemble(&set, id, lwe, glwe, Entropy::system(SetId::of(&set)))
    }
}

/// A secret, or an error that says which of a key's it is.
fn accept(
    set: &ParameterSet,
    (name, kind): (&str, SecretKind),
    secret: std::result::Result<Secret, String>,
) -> Result<Secret> {
    secret.or_else(|why| {
        error::malformed(
            "client key",
            format!("the {name} secret {why} ({kind:?} secrets of {set})"),
        )
    })
}

fn distribution(kind: SecretKind) -> SecretDistribution {
    match kind {
        SecretKind::Ternary => SecretDistribution::Ternary,
        SecretKind::Binary => SecretDistribution::Binary,
    }
}

/// The distribution of the LWE secret.
fn lwe_distribution(set: &ParameterSet) -> SecretDistribution {
    distribution(set.shape().secret)
}

/// The distribution of the GLWE secret.
pub(super) fn ring_distribution(set: &ParameterSet) -> SecretDistribution {
    distribution(set.ring_secret())
}

/// Lengths of the LWE and GLWE secrets.
fn secret_lens(set: &ParameterSet) -> (usize, usize) {
    let shape = set.shape();
    (shape.packing * shape.lwe_dimension, shape.packing * shape.ks_indices())
}
