//! The secret key of one user.

use super::secrets::{ClientSecrets, Secrets};
use super::switching::SecretLimbs;
use super::{domain, mask_limbs};
use crate::host::HostRing;
use crate::noise::{Noise, NoiseModel};
use crate::params::ERROR_DEVIATION;
use crate::{
    Ciphertext, CiphertextHeader, CkksParameters, Error, Plaintext, Result, SeededCiphertext, wire,
};
use girih_backend::parallel::prelude::*;
use girih_backend::{Preparation, preparing};
use girih_ring::sampler::Gaussian;
use girih_rlwe::wire::{Bytes, Opened, encode, open, open_for};
use girih_rlwe::{Entropy, Fresh, KeyId, MaskSeed, Secret, SetId};
use num_complex::Complex64;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// The secret key: encrypts, decrypts, and makes [`EvaluationKeys`](crate::EvaluationKeys) and
/// [`PublicKey`](crate::PublicKey)s. Never leaves its owner.
///
/// It holds the dense secret and, in sets with a bootstrapping, the sparse one, and one of the
/// conjugation-invariant ring where both sines are one there. All are wiped when it is dropped and
/// never printed.
pub struct ClientKey {
    id: KeyId,
    pub(super) secrets: Secrets,
    entropy: Entropy,
    host: Arc<HostRing>,
    limbs: OnceLock<SecretLimbs>,
}

/// A decrypted vector and what can be trusted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decryption {
    /// The slots.
    pub values: Vec<Complex64>,
    /// Expected errors, those of flooding included.
    pub noise: Noise,
    /// Bits after the binary point that can be trusted, by the noise model.
    pub precision_bits: f64,
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientKey").field("set", &self.set().to_string()).finish_non_exhaustive()
    }
}

impl ClientKey {
    /// Draws a new key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Entropy`] if there is none.
    pub fn generate(set: &CkksParameters) -> Result<Self> {
        Self::draw(set, Entropy::system(SetId::of(set)))
    }

    /// **For tests and benchmarks only**: a key, and everything it makes later, from one seed, so
    /// that they repeat. Whoever knows the seed knows the key.
    ///
    /// # Errors
    /// None that is known of; the type is that of [`ClientKey::generate`].
    pub fn generate_seeded_for_tests(set: &CkksParameters, seed: [u8; 32]) -> Result<Self> {
        Self::draw(set, Entropy::seeded_for_tests(SetId::of(set), seed))
    }

    fn draw(set: &CkksParameters, entropy: Entropy) -> Result<Self> {
        let (root, host) = (entropy.key_seed()?, HostRing::new(set));
        let secrets = Secrets::draw(&host, &root)?;
        let (id, limbs) = (root.name(), OnceLock::new());
        Ok(Self { id, secrets, entropy, host, limbs })
    }

    fn assemble(set: &CkksParameters, id: KeyId, secrets: Secrets) -> Self {
        let (host, limbs) = (HostRing::new(set), OnceLock::new());
        Self { id, secrets, entropy: Entropy::system(SetId::of(set)), host, limbs }
    }

    /// Takes secrets that were made elsewhere: those that the set has, and no others. Equal secrets
    /// give keys of one [`KeyId`]. What is refused is wiped.
    ///
    /// ```
    /// # use girih_ckks::{CkksParameters, ClientKey, ClientSecrets};
    /// # fn main() -> girih_ckks::Result<()> {
    /// let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
    /// let dense: Vec<i8> = (0..1024).map(|i| [1, 0, -1][i % 3]).collect();
    /// let sparse = (0..1024).map(|i| i8::from(i % 32 == 0)).collect();
    /// let secrets = ClientSecrets { dense, sparse: Some(sparse), invariant: None };
    /// let client = ClientKey::from_secrets(&set, secrets)?;
    /// # assert_eq!(client.secret_coefficients().len(), 1024);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] naming the secret that has a wrong length, is missing or one too many,
    /// or that its distribution cannot give.
    pub fn from_secrets(set: &CkksParameters, secrets: ClientSecrets) -> Result<Self> {
        let secrets = Secrets::checked(set, secrets)?;
        Ok(Self::assemble(set, secrets.id(), secrets))
    }

    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        self.host.set()
    }

    /// Its name, which its public and evaluation keys and its ciphertexts carry.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The N coefficients of the dense secret, for whoever makes keys that lead from or to another
    /// scheme.
    ///
    /// **They are the key itself**: they stay with its owner, and a copy must be wiped.
    pub fn secret_coefficients(&self) -> &[i8] {
        self.secrets.dense.coefficients()
    }

    pub(super) fn host(&self) -> &Arc<HostRing> {
        &self.host
    }

    pub(super) fn entropy(&self) -> &Entropy {
        &self.entropy
    }

    /// Evaluations of the secrets, computed once.
    pub(super) fn secret_limbs(&self) -> &SecretLimbs {
        if let Some(limbs) = self.limbs.get() {
            return limbs;
        }
        // Made before others are kept waiting: a thread of rayon that makes them may take up
        // another task which wants them.
        let Secrets { dense, sparse, invariant } = &self.secrets;
        let [sparse, invariant] =
            [sparse, invariant].map(|other| other.as_ref().map(Secret::coefficients));
        let made = SecretLimbs::new(&self.host, dense.coefficients(), sparse, invariant);
        self.limbs.get_or_init(|| made)
    }

    /// Encrypts real or complex values, a power of two of them up to N/2, at the highest normal
    /// level and its scale. None may exceed 1 in magnitude, of complex ones `|z|`:
    /// [`ClientKey::within`] declares another bound.
    ///
    /// # Errors
    /// [`Error::Magnitude`] for values above 1, and as
    /// [`Encoder::encode`](crate::Encoder::encode): wrong lengths, values that are not finite or
    /// too large. Errors say nothing of the values but that one breaks the rule.
    pub fn encrypt<T: Copy + Into<Complex64>>(&self, values: &[T]) -> Result<Ciphertext> {
        self.within(1.0).encrypt(values)
    }

    /// [`ClientKey::encrypt`] of many vectors on all cores: a ciphertext for each, in their order.
    ///
    /// ```
    /// # use girih_ckks::{CkksParameters, ClientKey};
    /// # fn main() -> girih_ckks::Result<()> {
    /// let client = ClientKey::generate(&CkksParameters::by_name("INSECURE_CKKS_D40_N10")?)?;
    /// let rows = client.encrypt_many(&[[0.5, -0.25], [0.125, 1.0], [0.0, -1.0]])?;
    /// assert_eq!(rows.len(), 3);
    /// assert!((client.decrypt_real(&rows[1])?[0] - 0.125).abs() < 1e-6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`]; if one vector is refused, nothing is encrypted.
    pub fn encrypt_many<T, V>(&self, vectors: &[V]) -> Result<Vec<Ciphertext>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        self.within(1.0).encrypt_many(vectors)
    }

    /// Encrypts at a level of choice, which must have a canonical scale.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`]; [`Error::Level`].
    pub fn encrypt_at<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
        level: usize,
    ) -> Result<Ciphertext> {
        self.within(1.0).encrypt_at(values, level)
    }

    /// [`ClientKey::encrypt`] to a ciphertext without its mask, of half the bytes: for the way to
    /// whoever computes.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_seeded<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
    ) -> Result<SeededCiphertext> {
        self.within(1.0).encrypt_seeded(values)
    }

    /// Encrypts an encoded vector at any level. No slot may exceed 1 in magnitude:
    /// [`ClientKey::within`] declares another bound.
    ///
    /// # Errors
    /// [`Error::Length`] for a plaintext of another degree, [`Error::Level`],
    /// [`Error::Magnitude`], [`Error::Entropy`].
    pub fn encrypt_plaintext(&self, plaintext: &Plaintext, level: usize) -> Result<Ciphertext> {
        self.within(1.0).encrypt_plaintext(plaintext, level)
    }

    /// Encrypts slots that were checked against `magnitude`; the seed is that of the mask.
    pub(super) fn encrypt_encoded(
        &self,
        plaintext: &Plaintext,
        level: usize,
        magnitude: f64,
    ) -> Result<(Ciphertext, MaskSeed)> {
        let fresh = self.drawn(plaintext, level)?;
        self.encrypt_with(plaintext, level, magnitude, &fresh)
    }

    /// Entropy for one encryption of a plaintext of this key's degree. A key for tests draws in
    /// turn, so that what is encrypted side by side draws before it is divided among threads.
    pub(super) fn drawn(&self, plaintext: &Plaintext, level: usize) -> Result<Fresh> {
        let message = plaintext.coefficients();
        self.set().check_level("encryption", level)?;
        check_degree(self.set(), message)?;
        let inputs: [&[u8]; 2] = [bytemuck::cast_slice(message), &(level as u64).to_le_bytes()];
        Ok(self.entropy.fresh("a ciphertext", &inputs)?)
    }

    /// Encrypts slots that were checked against `magnitude` with entropy drawn for them.
    pub(super) fn encrypt_with(
        &self,
        plaintext: &Plaintext,
        level: usize,
        magnitude: f64,
        fresh: &Fresh,
    ) -> Result<(Ciphertext, MaskSeed)> {
        let _encrypting = preparing(Preparation::Encryption);
        let (set, message) = (self.set(), plaintext.coefficients());
        let (degree, chain) = (set.degree(), set.chain());
        let gaussian = Gaussian::new(ERROR_DEVIATION).expect("in the sampler's range");
        let mut stream = fresh.errors.stream(domain::ERRORS, 0);
        let hidden: Zeroizing<Vec<i64>> =
            Zeroizing::new(message.iter().map(|m| m + gaussian.sample(&mut stream)).collect());
        let secrets = self.secret_limbs();
        let base = chain.base(level);
        let a = mask_limbs(set, &fresh.masks, level);
        let mut b = vec![0; base.len() * degree];
        let limbs = b.par_chunks_exact_mut(degree).zip(a.par_chunks_exact(degree));
        limbs.zip(base).for_each(|((b, a), position)| {
            let modulus = chain.moduli()[position];
            self.host.evaluations(position, &hidden, b);
            for ((b, a), s) in b.iter_mut().zip(a).zip(secrets.dense(position)) {
                *b = modulus.sub(*b, modulus.mul(*a, *s));
            }
        });
        let shape = (level, plaintext.scale(), plaintext.slots());
        let header = header(set, self.id, shape, (NoiseModel::new(set).fresh(), magnitude));
        Ok((Ciphertext::from_parts(header, b, a)?, fresh.masks))
    }

    /// Decrypts: all slots as complex numbers.
    ///
    /// **The result is for the owner of the key alone.** Its error tells about the secret key:
    /// shown to others, who have the ciphertext, a few decryptions can give the key away (Li and
    /// Micciancio 2021). For others use [`ClientKey::decrypt_to_share`].
    ///
    /// # Errors
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for a ciphertext that is not under this key.
    pub fn decrypt(&self, ciphertext: &Ciphertext) -> Result<Vec<Complex64>> {
        Ok(self.decrypt_with_precision(ciphertext)?.values)
    }

    /// Decrypts real values: the real parts of the slots.
    /// The warning of [`ClientKey::decrypt`] holds.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_real(&self, ciphertext: &Ciphertext) -> Result<Vec<f64>> {
        Ok(self.decrypt(ciphertext)?.into_iter().map(|z| z.re).collect())
    }

    /// Decrypts and says how many bits can be trusted. The warning of [`ClientKey::decrypt`] holds.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_with_precision(&self, ciphertext: &Ciphertext) -> Result<Decryption> {
        let residues = self.phase_residues(ciphertext)?;
        let values = self.decode(ciphertext, &residues)?;
        let noise = ciphertext.decrypted();
        Ok(Decryption { values, noise, precision_bits: noise.precision_bits() })
    }

    /// The phase `b + a s`, error included: N centred integers, rounded to f64. What noise is
    /// measured on; the warning of [`ClientKey::decrypt`] holds.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn phase(&self, ciphertext: &Ciphertext) -> Result<Vec<f64>> {
        let residues = self.phase_residues(ciphertext)?;
        let mut phase = vec![0.0; self.set().degree()];
        self.host.basis(ciphertext.level()).compose_f64(&residues, &mut phase);
        Ok(phase)
    }

    /// The phase in coefficient form, limb by limb.
    pub(super) fn phase_residues(&self, ciphertext: &Ciphertext) -> Result<Zeroizing<Vec<u32>>> {
        let (set, what) = (self.set(), "a ciphertext");
        if ciphertext.set() != set {
            let (expected, found) = (set.to_string(), ciphertext.set().to_string());
            return Err(Error::WrongSet { what, expected, found });
        }
        if ciphertext.key_id() != self.id {
            let (expected, found) =
                (format!("{:.8}", self.id), format!("{:.8}", ciphertext.key_id()));
            return Err(Error::WrongKey { what, expected, found });
        }
        let (degree, chain) = (set.degree(), set.chain());
        let secrets = self.secret_limbs();
        let mut limbs = Zeroizing::new(ciphertext.b().to_vec());
        limbs
            .par_chunks_exact_mut(degree)
            .zip(ciphertext.a().par_chunks_exact(degree))
            .zip(chain.base(ciphertext.level()))
            .for_each(|((limb, a), position)| {
                let modulus = chain.moduli()[position];
                for ((x, a), s) in limb.iter_mut().zip(a).zip(secrets.dense(position)) {
                    *x = modulus.add(*x, modulus.mul(*a, *s));
                }
                self.host.transform(position).inverse(limb);
            });
        Ok(limbs)
    }

    /// The slots of a phase.
    pub(super) fn decode(
        &self,
        ciphertext: &Ciphertext,
        residues: &[u32],
    ) -> Result<Vec<Complex64>> {
        let mut coefficients = Zeroizing::new(vec![0.0; self.set().degree()]);
        self.host.basis(ciphertext.level()).compose_f64(residues, &mut coefficients);
        self.host.encoder().decode(&coefficients, ciphertext.slots(), ciphertext.scale())
    }

    /// The key as bytes, to be kept secret; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        let (dense, others) = (self.secrets.dense.to_bytes(), self.secrets.others());
        let payload = (Bytes(&dense), others.as_ref().map(|others| Bytes(others)));
        let room = 3 * self.set().degree();
        let bytes = encode(wire::CLIENT_KEY, self.set(), Some(self.id), room, &payload)?;
        Ok(Zeroizing::new(bytes))
    }

    /// Reads and checks what [`ClientKey::to_bytes`] wrote. A key read back draws its randomness
    /// from the operating system.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming what is wrong: truncated, damaged, another version, a wrong
    /// length, an impossible secret.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::CLIENT_KEY, bytes)?)
    }

    /// The same for one set.
    ///
    /// # Errors
    /// As [`ClientKey::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &CkksParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::CLIENT_KEY, set, 3 * set.degree(), bytes)?)
    }

    fn read(opened: Opened<'_, CkksParameters>) -> Result<Self> {
        opened.check_payload(3 * opened.set.degree())?;
        let id = opened.named_key()?;
        let (set, (dense, others)): (_, (&[u8], Option<&[u8]>)) = opened.payload()?;
        let secrets = Secrets::read(&set, dense, others)?;
        Ok(Self::assemble(&set, id, secrets))
    }
}

pub(super) fn check_degree(set: &CkksParameters, message: &[i64]) -> Result<()> {
    let (found, degree) = (message.len(), set.degree());
    if found == degree {
        return Ok(());
    }
    let rule = format!("{set} needs {degree} coefficients: encode with its degree");
    Err(Error::Length { what: "the plaintext", found, rule })
}

/// The header of a fresh ciphertext. Everything in it is public: nothing of it may come from
/// the values of slots.
pub(super) fn header(
    set: &CkksParameters,
    key: KeyId,
    (level, scale, slots): (usize, f64, usize),
    (variance, magnitude): (f64, f64),
) -> CiphertextHeader {
    let deviation = NoiseModel::new(set).deviation(variance, scale);
    let noise = Noise { deviation, magnitude };
    CiphertextHeader { set: set.clone(), key, level, scale, slots, noise }
}
