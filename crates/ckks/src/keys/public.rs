//! Encryption by anyone.

use super::client::{check_degree, header};
use super::{ClientKey, domain};
use crate::host::HostRing;
use crate::noise::NoiseModel;
use crate::params::ERROR_DEVIATION;
use crate::{Ciphertext, CkksParameters, Plaintext, Result, wire};
use girih_backend::parallel::prelude::*;
use girih_ring::sampler::Gaussian;
use girih_rlwe::wire::{Bytes, Opened, encode, open, open_for};
use girih_rlwe::{Entropy, Fresh, KeyId, MaskSeed, SetId};
use num_complex::Complex64;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A public key: an encryption (pb, pa) of zero at the highest normal level, with which anyone can
/// encrypt there. Of pa only the seed is stored.
pub struct PublicKey {
    id: KeyId,
    seed: MaskSeed,
    b: Vec<u32>,
    host: Arc<HostRing>,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({}, {:.8})", self.set(), self.id)
    }
}

impl ClientKey {
    /// A public key, for encryption at the highest normal level by anyone.
    ///
    /// # Errors
    /// [`Error::Entropy`](crate::Error::Entropy).
    pub fn public_key(&self) -> Result<PublicKey> {
        PublicKey::generate(self)
    }
}

impl PublicKey {
    pub(super) fn generate(client: &ClientKey) -> Result<Self> {
        let (set, host) = (client.set(), client.host());
        let fresh = client.entropy().fresh("a public key", &[])?;
        let gaussian = Gaussian::new(ERROR_DEVIATION).expect("in the sampler's range");
        let mut stream = fresh.errors.stream(domain::ERRORS, 0);
        let mut error = Zeroizing::new(vec![0i64; set.degree()]);
        error.fill_with(|| gaussian.sample(&mut stream));
        let (chain, degree) = (set.chain(), set.degree());
        let base = chain.base(set.default_level());
        let masks = fresh.masks.streams(&SetId::of(set));
        let secrets = client.secret_limbs();
        let mut b = vec![0; base.len() * degree];
        b.par_chunks_exact_mut(degree).zip(base).for_each(|(b, position)| {
            let modulus = chain.moduli()[position];
            host.evaluations(position, &error, b);
            let mut stream = masks.stream(domain::MASKS, position as u64);
            for (b, s) in b.iter_mut().zip(secrets.dense(position)) {
                let a = stream.uniform_below(u64::from(modulus.value())) as u32;
                *b = modulus.sub(*b, modulus.mul(a, *s));
            }
        });
        Ok(Self { id: client.key_id(), seed: fresh.masks, b, host: host.clone() })
    }

    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        self.host.set()
    }

    pub(super) fn host(&self) -> &Arc<HostRing> {
        &self.host
    }

    /// Name of the client key that can decrypt.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Encrypts real or complex values, a power of two of them up to N/2, at the highest normal
    /// level and its scale. None may exceed 1 in magnitude: [`PublicKey::within`] declares another
    /// bound. Errors are larger than under the secret key, by a factor of about `sqrt(4N/3)`.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt<T: Copy + Into<Complex64>>(&self, values: &[T]) -> Result<Ciphertext> {
        self.within(1.0).encrypt(values)
    }

    /// [`PublicKey::encrypt`] of many vectors on all cores: a ciphertext for each, in their order.
    ///
    /// # Errors
    /// As [`PublicKey::encrypt`]: those of the first vector that is refused.
    pub fn encrypt_many<T, V>(&self, vectors: &[V]) -> Result<Vec<Ciphertext>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        self.within(1.0).encrypt_many(vectors)
    }

    /// Encrypts an encoded vector at the highest normal level.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_plaintext`].
    pub fn encrypt_plaintext(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        self.within(1.0).encrypt_plaintext(plaintext)
    }

    /// Encrypts slots that were checked against `magnitude`.
    pub(super) fn encrypt_encoded(
        &self,
        plaintext: &Plaintext,
        magnitude: f64,
    ) -> Result<Ciphertext> {
        let entropy = Entropy::system(SetId::of(self.set()));
        self.encrypt_with(plaintext, magnitude, &entropy.fresh("a public encryption", &[])?)
    }

    /// `(v pb + e0 + m, v pa + e1)` with v uniform ternary.
    pub(super) fn encrypt_with(
        &self,
        plaintext: &Plaintext,
        magnitude: f64,
        fresh: &Fresh,
    ) -> Result<Ciphertext> {
        let set = self.set();
        let message = plaintext.coefficients();
        check_degree(set, message)?;
        let (chain, degree, level) = (set.chain(), set.degree(), set.default_level());
        let gaussian = Gaussian::new(ERROR_DEVIATION).expect("in the sampler's range");
        let error = |index, offset: &dyn Fn(usize) -> i64| {
            let mut stream = fresh.errors.stream(domain::ERRORS, index);
            let draw = |i| offset(i) + gaussian.sample(&mut stream);
            Zeroizing::new((0..degree).map(draw).collect::<Vec<i64>>())
        };
        let (hidden, other) = (error(0, &|i| message[i]), error(1, &|_| 0));
        let mut stream = fresh.errors.stream(domain::EPHEMERAL, 0);
        let mut ephemeral = Zeroizing::new(vec![0i8; degree]);
        ephemeral.fill_with(|| stream.ternary());
        let masks = self.seed.streams(&SetId::of(set));
        let base = chain.base(level);
        let mut b = vec![0; base.len() * degree];
        let mut a = b.clone();
        let limbs = b.par_chunks_exact_mut(degree).zip(a.par_chunks_exact_mut(degree));
        limbs.zip(self.b.par_chunks_exact(degree)).zip(base).for_each(
            |(((b, a), key), position)| {
                let modulus = chain.moduli()[position];
                let mut v = Zeroizing::new(vec![0; degree]);
                self.host.small_evaluations(position, &ephemeral, &mut v);
                self.host.evaluations(position, &hidden, b);
                self.host.evaluations(position, &other, a);
                let mut stream = masks.stream(domain::MASKS, position as u64);
                for j in 0..degree {
                    let mask = stream.uniform_below(u64::from(modulus.value())) as u32;
                    b[j] = modulus.add(b[j], modulus.mul(v[j], key[j]));
                    a[j] = modulus.add(a[j], modulus.mul(v[j], mask));
                }
            },
        );
        let shape = (level, plaintext.scale(), plaintext.slots());
        let header = header(set, self.id, shape, (NoiseModel::new(set).fresh_public(), magnitude));
        Ciphertext::from_parts(header, b, a)
    }

    /// The key as bytes, which end with a checksum.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let b = wire::bytes_of(&self.b);
        let payload = (self.seed.as_bytes(), Bytes(&b));
        Ok(encode(wire::PUBLIC_KEY, self.set(), Some(self.id), b.len(), &payload)?)
    }

    /// Reads and checks what [`PublicKey::to_bytes`] wrote, of whatever set.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::PUBLIC_KEY, bytes)?)
    }

    /// The same for one set.
    ///
    /// # Errors
    /// As [`PublicKey::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &CkksParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::PUBLIC_KEY, set, most_bytes(set), bytes)?)
    }

    fn read(opened: Opened<'_, CkksParameters>) -> Result<Self> {
        opened.check_payload(most_bytes(&opened.set))?;
        let id = opened.named_key()?;
        let (set, (seed, b)): (_, ([u8; 32], &[u8])) = opened.payload()?;
        let base = set.chain().base(set.default_level());
        let b = wire::limbs("public key", &set, base, b)?;
        Ok(Self { id, seed: MaskSeed::from_bytes(seed), b, host: HostRing::new(&set) })
    }
}

fn most_bytes(set: &CkksParameters) -> usize {
    4 * set.chain().base(set.default_level()).len() * set.degree()
}
