//! The secret key of one user.

use super::{KeyId, domain};
use crate::wire::CLIENT_KEY;
use crate::{
    CompressedResults, ErrorDistribution, LweCiphertexts, ParameterSet, Result, SeededCiphertexts,
    error,
};
use girih_backend::SecretKind;
use girih_ring::sampler::{Gaussian, RandomStream, TUniform};
use girih_rlwe::wire::{self, Bytes, Opened};
use girih_rlwe::{Entropy, Secret, SecretDistribution, SetId};
use zeroize::Zeroizing;

/// The secret key: encrypts, decrypts, and makes [`EvaluationKeys`](crate::EvaluationKeys). Never
/// leaves its owner.
///
/// It holds r independent LWE secrets of n coefficients and r GLWE secrets of k polynomials
/// (tfhe.md section 1); they are wiped when it is dropped and never printed.
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
            return error::mismatch(format!("{set} has other secrets than {}", self.set));
        }
        if secret_lens(set) != secret_lens(&self.set) {
            return error::mismatch(format!("{set} has other dimensions than {}", self.set));
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
        error::mismatch(format!("slot {slot} of {}: it has {packing}", self.set))
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

    /// Encrypts messages below `modulus`: slot j of ciphertext c holds message
    /// `c r + j` as `m q / modulus`.
    ///
    /// Bits of gates have modulus 4 ([`ClientKey::encrypt_bits`]); inputs of look-up tables have
    /// one bit of padding ([`ClientKey::encrypt_messages`]).
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an empty batch, one that is not a multiple
    /// of r, a message that is not below `modulus`, or a modulus outside `2..=q`.
    pub fn encrypt(&self, messages: &[u64], modulus: u64) -> Result<LweCiphertexts> {
        self.encrypt_at(messages, modulus, self.set.shape().log2_stored_modulus())
    }

    /// Encrypts messages below `modulus` under the ciphertext modulus
    /// `2^log2_modulus` instead of q.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`], and for a ciphertext modulus below 8, above 2^30 or above Q_ks.
    pub fn encrypt_at(
        &self,
        messages: &[u64],
        modulus: u64,
        log2_modulus: u32,
    ) -> Result<LweCiphertexts> {
        Ok(LweCiphertexts::encrypt(self, messages, modulus, log2_modulus)?.0)
    }

    /// [`ClientKey::encrypt`] to ciphertexts without masks, which take 2 bytes a message with most
    /// sets and 8 on the native torus: for the way to whoever computes.
    ///
    /// Bits of gates have modulus 4; messages of look-up tables of b bits `2^(b + 1)`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_seeded(&self, messages: &[u64], modulus: u64) -> Result<SeededCiphertexts> {
        let log2_modulus = self.set.shape().log2_stored_modulus();
        SeededCiphertexts::encrypt(self, messages, modulus, log2_modulus)
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
        if messages.iter().any(|&m| m >= messages_modulus / 2) {
            return error::mismatch(format!("a message does not fit {bits} bits"));
        }
        self.encrypt(messages, messages_modulus)
    }

    /// Decrypts every slot: `round(modulus phase / q) mod modulus`,
    /// q being the ciphertexts' own modulus.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for ciphertexts of another set or under another
    /// key, or a modulus outside `2..=q`.
    pub fn decrypt(&self, ciphertexts: &LweCiphertexts, modulus: u64) -> Result<Vec<u64>> {
        ciphertexts.decrypt(self, modulus)
    }

    /// Decrypts every slot, and says how near the nearest was to being read as another message.
    ///
    /// **The room is as secret as the key**, as [`ClientKey::phases`] are: it tells of errors,
    /// which
    /// give secrets away to whoever knows ciphertexts. It serves to see on one's own machine
    /// whether
    /// a computation has the room that it should. What may be shown is
    /// [`LweCiphertexts::log2_failure`], which looks at no secret.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_checked(
        &self,
        ciphertexts: &LweCiphertexts,
        modulus: u64,
    ) -> Result<crate::Decryption> {
        ciphertexts.decrypt_checked(self, modulus)
    }

    /// Decrypts bits of gates.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`], and if a slot decrypts to neither 0 nor 1; the error says neither
    /// which nor to what. Even that there was one says something of the secrets to whoever chose
    /// the ciphertexts: see SECURITY.md.
    pub fn decrypt_bits(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<bool>> {
        let values = self.decrypt(ciphertexts, 4)?;
        if any_above(&values, 1) {
            return error::mismatch(format!(
                "a message of {ciphertexts:?} decrypts to no bit: not made of bits, or too noisy"
            ));
        }
        Ok(values.into_iter().map(|v| v == 1).collect())
    }

    /// Decrypts messages of `bits` bits.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`], and as [`ClientKey::decrypt_bits`] if a slot
    /// has its padding bit set.
    pub fn decrypt_messages(&self, ciphertexts: &LweCiphertexts, bits: u32) -> Result<Vec<u64>> {
        let modulus = crate::ciphertext::padded_modulus(&self.set, bits)?;
        let values = self.decrypt(ciphertexts, modulus)?;
        if any_above(&values, modulus / 2 - 1) {
            return error::mismatch(format!(
                "a message of {ciphertexts:?} decrypts to more than {bits} bits"
            ));
        }
        Ok(values)
    }

    /// Decrypts compressed results: messages modulo [`CompressedResults::modulus`].
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for results of another set or under another key.
    pub fn decrypt_compressed(&self, results: &CompressedResults) -> Result<Vec<u64>> {
        results.decrypt(self)
    }

    /// Decrypts compressed bits.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_compressed`], and for results that are not modulo 2.
    pub fn decrypt_compressed_bits(&self, results: &CompressedResults) -> Result<Vec<bool>> {
        if results.modulus() != 2 {
            return error::mismatch(format!(
                "{results:?} has messages modulo {}, and bits are modulo 2: compress them by \
                 compress_bits",
                results.modulus()
            ));
        }
        Ok(results.decrypt(self)?.into_iter().map(|v| v == 1).collect())
    }

    /// How far every compressed message is from what it is read as, in steps between two messages:
    /// what noise is measured on ([`CompressedResults::variance`]).
    ///
    /// **They are as secret as the key**, as [`ClientKey::phases`] are.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_compressed`].
    pub fn compressed_errors(&self, results: &CompressedResults) -> Result<Vec<f64>> {
        results.errors(self)
    }

    /// Phases `b_j - <a, s_j>` of every slot modulo the ciphertexts' modulus, error included: what
    /// noise is measured on.
    ///
    /// **They are as secret as the key**: masks are public, so n of them give the secret by linear
    /// algebra. They serve measurements on one's own machine, and are shown to nobody.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch)
    /// for ciphertexts of another set or under another key.
    pub fn phases(&self, ciphertexts: &LweCiphertexts) -> Result<Vec<u64>> {
        ciphertexts.phases(self)
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

/// Whether any of the decrypted values (below 2^63) is above `most`: all are looked at alike, so
/// that time does not tell which.
fn any_above(values: &[u64], most: u64) -> bool {
    values.iter().fold(0, |above, &v| above | most.wrapping_sub(v) >> 63) != 0
}

/// Lengths of the LWE and GLWE secrets.
fn secret_lens(set: &ParameterSet) -> (usize, usize) {
    let shape = set.shape();
    (shape.packing * shape.lwe_dimension, shape.packing * shape.ks_indices())
}
