//! Keys: those of CKKS for a set, and numbers in and out of slots.

use crate::numbers::{check_numbers, encoding};
use crate::program::key_ranges;
use crate::{DiscreteParameters, EncryptedNumbers, Error, Result, SeededNumbers, error, wire};
use girih_backend::Progress;
use girih_ckks::{Ciphertext, Complex64};
use girih_rlwe::wire::{Bytes, LONGEST_SET, Opened, SMALL, encode, open, open_for};
use girih_rlwe::{Counts, KeyId, Mismatch};
use zeroize::Zeroizing;

/// The secret key: encrypts and decrypts numbers. Never leaves its owner.
///
/// Its dense secret is drawn until it is flat ([`DiscreteParameters::flatness`]).
pub struct ClientKey {
    set: DiscreteParameters,
    ckks: girih_ckks::ClientKey,
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientKey").field("set", &self.set.to_string()).finish_non_exhaustive()
    }
}

/// Numbers of one ciphertext as slots: the first half real parts, the second imaginary ones.
fn slots(set: &DiscreteParameters, numbers: &[u32], below: u32) -> Result<Vec<Complex64>> {
    check_numbers(set, numbers.len())?;
    if let Some((place, &value)) = numbers.iter().enumerate().find(|(_, v)| **v >= below) {
        let rule = format!("numbers must be below {below}");
        return Err(Error::Number { place, value: value.into(), rule });
    }
    let half = set.numbers() / 2;
    let at = |j: usize| numbers.get(j).map_or(0.0, |&v| f64::from(v));
    Ok((0..half).map(|j| Complex64::new(at(j), at(half + j))).collect())
}

/// Encrypts each vector of a batch, which are of one length. What is published of the numbers is
/// what the caller says of them, `below`.
pub(crate) fn batch<V: AsRef<[u32]>>(
    set: &DiscreteParameters,
    numbers: &[V],
    below: u32,
    encrypt: impl FnOnce(&[Vec<Complex64>], f64) -> girih_ckks::Result<Vec<Ciphertext>>,
) -> Result<EncryptedNumbers> {
    let (ciphertexts, count) = each(set, numbers, below, encrypt)?;
    EncryptedNumbers::new(set, ciphertexts, count, (0, i64::from(below) - 1), encoding(set))
}

/// What `encrypt` makes of the vectors of a batch, and the numbers of one.
fn each<V: AsRef<[u32]>, C>(
    set: &DiscreteParameters,
    numbers: &[V],
    below: u32,
    encrypt: impl FnOnce(&[Vec<Complex64>], f64) -> girih_ckks::Result<Vec<C>>,
) -> Result<(Vec<C>, usize)> {
    let Some(first) = numbers.first() else {
        return error::mismatch(Mismatch::empty("vectors of numbers"));
    };
    if !(2..=set.modulus()).contains(&below) {
        let rule = format!("numbers of {set} are below 2 at least, and below {}", set.modulus());
        return Err(Error::Number { place: 0, value: below.into(), rule });
    }
    let count = first.as_ref().len();
    let one = |vector: &V| {
        let vector = vector.as_ref();
        if vector.len() != count {
            let what = "numbers, as in the first vector of the batch";
            return error::count(what, vector.len(), Counts::Exactly(count));
        }
        slots(set, vector, below)
    };
    let vectors = numbers.iter().map(one).collect::<Result<Vec<_>>>()?;
    // Both parts of a slot may be as large; the transforms of an encoding round a little.
    let magnitude = 1.001 * std::f64::consts::SQRT_2 * f64::from(below - 1);
    Ok((encrypt(&vectors, magnitude)?, count))
}

impl ClientKey {
    /// Draws a new key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Ckks`] if there is none.
    pub fn generate(set: &DiscreteParameters) -> Result<Self> {
        Ok(Self { set: set.clone(), ckks: girih_ckks::ClientKey::generate(set.ckks())? })
    }

    /// **For tests and benchmarks only**: a key, and everything it makes later, from one seed, so
    /// that they repeat. Whoever knows the seed knows the key.
    ///
    /// # Errors
    /// As [`ClientKey::generate`].
    pub fn generate_seeded_for_tests(set: &DiscreteParameters, seed: [u8; 32]) -> Result<Self> {
        let ckks = girih_ckks::ClientKey::generate_seeded_for_tests(set.ckks(), seed)?;
        Ok(Self { set: set.clone(), ckks })
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Its name, which all that it makes carries.
    pub fn key_id(&self) -> KeyId {
        self.ckks.key_id()
    }

    /// The client key of CKKS that it is. **Slots that it decrypts are not rounded**: their errors
    /// tell about the key, and are for its owner alone.
    pub fn ckks(&self) -> &girih_ckks::ClientKey {
        &self.ckks
    }

    /// A public key, for encryption by anyone.
    ///
    /// # Errors
    /// [`Error::Ckks`] without randomness.
    pub fn public_key(&self) -> Result<PublicKey> {
        Ok(PublicKey { set: self.set.clone(), ckks: self.ckks.public_key()? })
    }

    /// Encrypts 1 to N numbers below p in one ciphertext; the rest are 0.
    ///
    /// # Errors
    /// [`Error::Mismatch`] and [`Error::Number`].
    pub fn encrypt(&self, numbers: &[u32]) -> Result<EncryptedNumbers> {
        self.encrypt_batch(&[numbers], self.set.modulus())
    }

    /// Encrypts several vectors of one length, a ciphertext each, of numbers below `below`, which
    /// is published: the smaller it is, the larger weights they may have in sums.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_batch<V: AsRef<[u32]>>(
        &self,
        numbers: &[V],
        below: u32,
    ) -> Result<EncryptedNumbers> {
        batch(&self.set, numbers, below, |slots, most| self.ckks.within(most).encrypt_many(slots))
    }

    /// [`ClientKey::encrypt_batch`] to ciphertexts without masks, of half the bytes: for the way to
    /// whoever computes.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_seeded<V: AsRef<[u32]>>(
        &self,
        numbers: &[V],
        below: u32,
    ) -> Result<SeededNumbers> {
        let level = self.set.wire_level();
        let (ciphertexts, count) = each(&self.set, numbers, below, |slots, most| {
            self.ckks.within(most).encrypt_seeded_many_at(slots, level)
        })?;
        Ok(SeededNumbers::new(&self.set, ciphertexts, count, below))
    }

    /// Encrypts bits as numbers 0 and 1.
    ///
    /// # Errors
    /// [`Error::Mismatch`].
    pub fn encrypt_bits(&self, bits: &[bool]) -> Result<EncryptedNumbers> {
        let bits: Vec<u32> = bits.iter().map(|&bit| u32::from(bit)).collect();
        self.encrypt_batch(&[bits], 2)
    }

    /// Decrypts: the numbers in use of every ciphertext, one after the other, modulo p. They are
    /// rounded, so that nothing of their errors leaves.
    ///
    /// # Errors
    /// [`Error::Ckks`] for ciphertexts that are not under this key.
    pub fn decrypt(&self, numbers: &EncryptedNumbers) -> Result<Vec<u32>> {
        let p = i64::from(self.set.modulus());
        let integers = self.decrypt_integers(numbers)?;
        Ok(integers.into_iter().map(|v| v.rem_euclid(p) as u32).collect())
    }

    /// Decrypts without the modulus: sums of numbers as integers.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`].
    pub fn decrypt_integers(&self, numbers: &EncryptedNumbers) -> Result<Vec<i64>> {
        let mut all = Vec::with_capacity(numbers.len() * numbers.numbers());
        for ciphertext in numbers.ciphertexts() {
            let slots = self.ckks.decrypt(ciphertext)?;
            let parts = slots.iter().map(|z| z.re).chain(slots.iter().map(|z| z.im));
            let rounded = parts.map(|v| v.round_ties_even() as i64);
            all.extend(rounded.take(numbers.numbers()));
        }
        Ok(all)
    }

    /// Decrypts bits.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt`]; [`Error::Number`] for one that is neither 0 nor 1.
    pub fn decrypt_bits(&self, numbers: &EncryptedNumbers) -> Result<Vec<bool>> {
        let one = |(place, value)| match value {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::Number { place, value, rule: "a bit is 0 or 1".into() }),
        };
        self.decrypt_integers(numbers)?.into_iter().enumerate().map(one).collect()
    }

    /// The key as bytes, to be kept secret; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::Shared`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        let ckks = self.ckks.to_bytes()?;
        let (set, room) = (&self.set, ckks.len());
        let bytes = encode(wire::CLIENT_KEY, set, Some(self.key_id()), room, &Bytes(&ckks))?;
        Ok(Zeroizing::new(bytes))
    }

    /// Reads and checks what [`ClientKey::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Shared`] and [`Error::Ckks`] naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::CLIENT_KEY, bytes)?)
    }

    /// The same for one set.
    ///
    /// # Errors
    /// As [`ClientKey::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &DiscreteParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::CLIENT_KEY, set, 2 * set.numbers() + NESTED, bytes)?)
    }

    fn read(opened: Opened<'_, DiscreteParameters>) -> Result<Self> {
        opened.check_payload(2 * opened.set.numbers() + NESTED)?;
        let key = opened.named_key()?;
        let (set, bytes): (_, &[u8]) = opened.payload()?;
        let ckks = girih_ckks::ClientKey::from_bytes_for(set.ckks(), bytes)?;
        same_key(key, ckks.key_id())?;
        Ok(Self { set, ckks })
    }
}

/// Bytes of what is nested beside its large parts.
const NESTED: usize = LONGEST_SET + 2 * SMALL;

/// Refuses what names two client keys.
fn same_key(outer: KeyId, inner: KeyId) -> Result<()> {
    if outer == inner {
        return Ok(());
    }
    let why = format!("they name client keys {outer:.8} and {inner:.8}");
    error::malformed("keys of numbers in slots", why)
}

/// A public key: anyone can encrypt with it. Errors are larger than under the secret key.
pub struct PublicKey {
    set: DiscreteParameters,
    ckks: girih_ckks::PublicKey,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({}, {:.8})", self.set, self.key_id())
    }
}

/// The error of an encryption under a public key is a product of two numbers that look normal in
/// each slot: beyond so many deviations it is with 2^-140.
const PRODUCT_DEVIATIONS: f64 = 64.0;

impl PublicKey {
    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Name of the client key that can decrypt.
    pub fn key_id(&self) -> KeyId {
        self.ckks.key_id()
    }

    /// Encrypts 1 to N numbers below p in one ciphertext.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt(&self, numbers: &[u32]) -> Result<EncryptedNumbers> {
        self.encrypt_batch(&[numbers], self.set.modulus())
    }

    /// As [`ClientKey::encrypt_batch`].
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`].
    pub fn encrypt_batch<V: AsRef<[u32]>>(
        &self,
        numbers: &[V],
        below: u32,
    ) -> Result<EncryptedNumbers> {
        let made = batch(&self.set, numbers, below, |slots, most| {
            self.ckks.within(most).encrypt_many(slots)
        })?;
        Ok(made.with_bound(|deviation| PRODUCT_DEVIATIONS * deviation + encoding(&self.set)))
    }

    /// The key as bytes, which end with a checksum.
    ///
    /// # Errors
    /// [`Error::Shared`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let ckks = self.ckks.to_bytes()?;
        let (set, room) = (&self.set, ckks.len());
        Ok(encode(wire::PUBLIC_KEY, set, Some(self.key_id()), room, &Bytes(&ckks))?)
    }

    /// Reads and checks what [`PublicKey::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Shared`] and [`Error::Ckks`] naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::PUBLIC_KEY, bytes)?)
    }

    /// The same for one set.
    ///
    /// # Errors
    /// As [`PublicKey::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &DiscreteParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::PUBLIC_KEY, set, most_public_bytes(set), bytes)?)
    }

    fn read(opened: Opened<'_, DiscreteParameters>) -> Result<Self> {
        opened.check_payload(most_public_bytes(&opened.set))?;
        let key = opened.named_key()?;
        let (set, bytes): (_, &[u8]) = opened.payload()?;
        let ckks = girih_ckks::PublicKey::from_bytes_for(set.ckks(), bytes)?;
        same_key(key, ckks.key_id())?;
        Ok(Self { set, ckks })
    }
}

fn most_public_bytes(set: &DiscreteParameters) -> usize {
    4 * (set.wire_level() + 1) * set.numbers() + NESTED
}

/// What a server needs for look-ups: public.
pub struct EvaluationKeys {
    set: DiscreteParameters,
    ckks: girih_ckks::EvaluationKeys,
}

impl std::fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EvaluationKeys({}, {} bytes)", self.set, self.bytes())
    }
}

impl EvaluationKeys {
    /// Makes them, on all threads.
    ///
    /// # Errors
    /// [`Error::Ckks`] without randomness, and where this machine has no room for them.
    pub fn generate(client: &ClientKey, progress: &dyn Progress) -> Result<Self> {
        let kinds = key_ranges(client.set())?;
        let ckks = girih_ckks::EvaluationKeys::generate(client.ckks(), kinds, progress)?;
        Ok(Self { set: client.set().clone(), ckks })
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Name of the client key that they were made from.
    pub fn key_id(&self) -> KeyId {
        self.ckks.key_id()
    }

    /// The keys of CKKS that they are.
    pub fn ckks(&self) -> &girih_ckks::EvaluationKeys {
        &self.ckks
    }

    /// Bytes held in memory, which is also about the serialized size.
    pub fn bytes(&self) -> usize {
        self.ckks.bytes()
    }

    /// The keys as bytes, which end with a checksum.
    ///
    /// # Errors
    /// [`Error::Shared`] if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let ckks = self.ckks.to_bytes()?;
        let (set, room) = (&self.set, ckks.len());
        Ok(encode(wire::EVALUATION_KEYS, set, Some(self.key_id()), room, &Bytes(&ckks))?)
    }

    /// Reads and checks what [`EvaluationKeys::to_bytes`] wrote, of whatever set.
    ///
    /// # Errors
    /// [`Error::Shared`] and [`Error::Ckks`] naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::EVALUATION_KEYS, bytes)?)
    }

    /// The same for one set.
    ///
    /// # Errors
    /// As [`EvaluationKeys::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &DiscreteParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::EVALUATION_KEYS, set, most_key_bytes(set), bytes)?)
    }

    fn read(opened: Opened<'_, DiscreteParameters>) -> Result<Self> {
        opened.check_payload(most_key_bytes(&opened.set))?;
        let key = opened.named_key()?;
        let (set, bytes): (_, &[u8]) = opened.payload()?;
        let ckks = girih_ckks::EvaluationKeys::from_bytes_for(set.ckks(), bytes)?;
        same_key(key, ckks.key_id())?;
        Ok(Self { set, ckks })
    }
}

/// Bytes of all keys that a set can have at most: one for each rotation that a diagonal makes, and
/// four more.
fn most_key_bytes(set: &DiscreteParameters) -> usize {
    let chain = set.ckks().chain();
    let words = chain.digits().len() * chain.moduli().len() * set.numbers();
    let stages = set.to_slots().iter().chain(set.to_coefficients());
    let keys = stages.map(|&stages| 2usize << stages).sum::<usize>() + 4;
    keys.saturating_mul(4 * words + SMALL).saturating_add(NESTED)
}
