//! Encrypted integers on the host: what clients make and read.

use crate::engine::{Digits, EncryptionKey, Engine};
use crate::types::{Integer, form};
use crate::{Error, Result, error::mismatch};
use girih_rlwe::{KeyId, Mismatch};
use zeroize::Zeroizing;

/// An array of encrypted integers on the host, to be sent, stored or decrypted; a server computes
/// on what [`Integers::upload`](crate::Integers::upload) makes of it.
///
/// A number is digits of two bits, lowest first.
///
/// *Under a key of TFHE* each is a message of four bits (two of them for carries) under one of
/// padding; digit d of element e is ciphertext `d len() + e`. A condition is one message, 0 or 8.
///
/// *In slots* a ciphertext holds that digit of as many elements as the set has numbers. The
/// elements are taken in parts of eight ciphertexts; of each part come all ciphertexts of the
/// lowest digit, then those of the next. Slots beyond the last element hold 0.
pub struct Encrypted<T: Integer> {
    ciphertexts: <T::Engine as Engine>::Ciphertexts,
    len: usize,
}

// Derived, these would ask the same of the integers on a device.
impl<T: Integer> Clone for Encrypted<T> {
    fn clone(&self) -> Self {
        Self { ciphertexts: self.ciphertexts.clone(), ..*self }
    }
}

impl<T: Integer> PartialEq for Encrypted<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.len, &self.ciphertexts) == (other.len, &other.ciphertexts)
    }
}

impl<T: Integer> std::fmt::Debug for Encrypted<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} in {:?}", self.len, T::name(), self.ciphertexts)
    }
}

/// The digits of values, element by element.
pub(crate) fn digits<T: Integer, P: Copy + Into<T::Known>>(values: &[P]) -> Result<Digits> {
    if values.is_empty() {
        return mismatch(Mismatch::empty("integers to encrypt"));
    }
    let mut all = Zeroizing::new(Vec::with_capacity(values.len() * T::digits()));
    for &value in values {
        all.extend_from_slice(&Zeroizing::new(T::to_digits(value.into())?));
    }
    Ok(all)
}

impl<T: Integer> Encrypted<T> {
    pub(crate) fn new(ciphertexts: <T::Engine as Engine>::Ciphertexts, len: usize) -> Self {
        Self { ciphertexts, len }
    }

    /// Encrypts an array, by a client key or by a public key, which needs no secret.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no value and for one that is out of range (the error does not say
    /// which or what it is), [`Error::Unsupported`] for a set on which no server computes with
    /// integers, and as the key's own encryption.
    pub fn encrypt<P: Copy + Into<T::Known>>(
        key: &impl EncryptionKey<Engine = T::Engine>,
        values: &[P],
    ) -> Result<Self> {
        let digits = digits::<T, P>(values)?;
        Ok(Self::new(key.encrypt_digits(&digits, values.len(), form::<T>())?, values.len()))
    }

    /// Encrypts an array without the masks: [`from_ciphertexts`](Encrypted::from_ciphertexts) makes
    /// the array of what it expands to. Under a key of TFHE masks take most of the bytes, in slots
    /// half of them.
    ///
    /// # Errors
    /// As [`Encrypted::encrypt`].
    pub fn encrypt_seeded<P: Copy + Into<T::Known>>(
        client: &<T::Engine as Engine>::ClientKey,
        values: &[P],
    ) -> Result<<T::Engine as Engine>::Seeded> {
        let digits = digits::<T, P>(values)?;
        T::Engine::encrypt_seeded(client, &digits, values.len(), form::<T>())
    }

    /// Decrypts an array of numbers of at most 128 bits, or of conditions. Of wider numbers it does
    /// not compile: [`Encrypted::decrypt_wide`] reads those.
    ///
    /// # Errors
    /// As decryption by the key, and [`Error::Mismatch`] for digits that no such integer has; the
    /// error says neither which nor what.
    pub fn decrypt(&self, client: &<T::Engine as Engine>::ClientKey) -> Result<Vec<T::Plain>> {
        Ok(self.decrypt_wide(client)?.into_iter().map(T::narrow).collect())
    }

    /// Decrypts an array of any width, to [`U256`](crate::U256) or [`I256`](crate::I256).
    ///
    /// # Errors
    /// As [`Encrypted::decrypt`].
    pub fn decrypt_wide(&self, client: &<T::Engine as Engine>::ClientKey) -> Result<Vec<T::Known>> {
        let digits = T::Engine::decrypt(client, &self.ciphertexts, self.len, form::<T>())?;
        let Some(digits) = digits else {
            let (ciphertexts, expected) = (format!("{self:?}"), "digit of one".into());
            return mismatch(Mismatch::Decrypted { ciphertexts, expected });
        };
        Ok(digits.chunks_exact(T::digits()).map(T::from_digits).collect())
    }

    /// Takes ciphertexts in the order described above, of `len` integers.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless there are as many ciphertexts as so many integers have, and for
    /// ones that are known to be of another width.
    pub fn from_ciphertexts(
        ciphertexts: <T::Engine as Engine>::Ciphertexts,
        len: usize,
    ) -> Result<Self> {
        T::Engine::check(&ciphertexts, len, form::<T>(), &T::name())?;
        Ok(Self::new(ciphertexts, len))
    }

    /// The ciphertexts, in the order described above.
    pub fn ciphertexts(&self) -> &<T::Engine as Engine>::Ciphertexts {
        &self.ciphertexts
    }

    /// The parameter set.
    pub fn set(&self) -> &<T::Engine as Engine>::Set {
        T::Engine::set(&self.ciphertexts)
    }

    /// Name of the client key that they are under; none for constants.
    pub fn key_id(&self) -> Option<KeyId> {
        T::Engine::key_of(&self.ciphertexts)
    }

    /// Number of integers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The array as bytes: what it is of (in slots also how many), then the bytes of its
    /// ciphertexts, which end with a checksum over themselves.
    ///
    /// # Errors
    /// Those of ciphertexts that cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = header::<T>();
        bytes.extend(T::Engine::to_bytes(&self.ciphertexts, self.len)?);
        Ok(bytes)
    }

    /// Reads and checks what [`Encrypted::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes of anything else than integers of this kind and width, and
    /// those of their ciphertexts.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, None)
    }

    /// The same for integers of `set` and no other, and at most so many of them: whatever else
    /// these bytes may hold is refused before it is looked at.
    ///
    /// # Errors
    /// As [`Encrypted::from_bytes`], and for integers of another set or more of them.
    pub fn from_bytes_for(
        set: &<T::Engine as Engine>::Set,
        most: usize,
        bytes: &[u8],
    ) -> Result<Self> {
        Self::read(bytes, Some((set, most)))
    }

    fn read(bytes: &[u8], most: Option<(&<T::Engine as Engine>::Set, usize)>) -> Result<Self> {
        let header = header::<T>();
        let Some(rest) = bytes.strip_prefix(&header[..]) else {
            let header = String::from_utf8_lossy(&header);
            return Err(Error::Malformed(format!("these bytes do not begin with {header:?}")));
        };
        let (ciphertexts, len) = T::Engine::from_bytes(rest, most, form::<T>())?;
        let malformed = |why: Mismatch| Error::Malformed(why.to_string());
        T::Engine::check(&ciphertexts, len, form::<T>(), &T::name()).map_err(malformed)?;
        Ok(Self::new(ciphertexts, len))
    }
}

/// What bytes of such integers begin with.
fn header<T: Integer>() -> Vec<u8> {
    format!("girih 1 {}{}\n", T::name(), T::Engine::SUFFIX).into_bytes()
}
