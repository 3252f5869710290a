//! Encrypted integers on the host: what clients make and read.

use crate::sets::check_set;
use crate::types::Integer;
use crate::{Error, MESSAGE_BITS, PLAINTEXT, Result, error::mismatch};
use girih_tfhe::{ClientKey, KeyId, LweCiphertexts, ParameterSet, PublicKey, SeededCiphertexts};
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// An array of encrypted integers on the host, to be sent, stored or decrypted; a server computes
/// on what [`Integers::upload`](crate::Integers::upload) makes of it.
///
/// A number is digits of two bits, lowest first, each a message of four bits (two of them for
/// carries) under one of padding; digit d of element e is ciphertext `d len() + e`. A condition is
/// one message, 0 or 8.
pub struct Encrypted<T> {
    ciphertexts: LweCiphertexts,
    len: usize,
    kind: PhantomData<fn() -> T>,
}

// Derived, these would ask the same of the integers on a device.
impl<T> Clone for Encrypted<T> {
    fn clone(&self) -> Self {
        Self { ciphertexts: self.ciphertexts.clone(), ..*self }
    }
}

impl<T> PartialEq for Encrypted<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.len, &self.ciphertexts) == (other.len, &other.ciphertexts)
    }
}

impl<T: Integer> std::fmt::Debug for Encrypted<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} in {:?}", self.len, T::NAME, self.ciphertexts)
    }
}

/// Messages of values, in the order of [`Encrypted`].
pub(crate) fn messages<T: Integer, P: Copy + Into<T::Plain>>(values: &[P]) -> Result<Vec<u64>> {
    if values.is_empty() {
        return mismatch("an array of no integers: there must be at least one");
    }
    let encoded = values.iter().map(|&v| T::encode(v.into())).collect::<Result<Vec<Vec<u64>>>>()?;
    Ok((0..T::digits()).flat_map(|d| encoded.iter().map(move |digits| digits[d])).collect())
}

impl<T: Integer> Encrypted<T> {
    pub(crate) fn new(ciphertexts: LweCiphertexts, len: usize) -> Self {
        Self { ciphertexts, len, kind: PhantomData }
    }

    /// Encrypts an array.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no value, for one that is out of range (the error does not say which
    /// or what it is), for a set on which no server computes with integers, and as
    /// [`ClientKey::encrypt_messages`].
    pub fn encrypt<P: Copy + Into<T::Plain>>(client: &ClientKey, values: &[P]) -> Result<Self> {
        check_set(client.set())?;
        let messages = Zeroizing::new(messages::<T, P>(values)?);
        let ciphertexts = client.encrypt_messages(&messages, MESSAGE_BITS)?;
        Ok(Self::new(ciphertexts, values.len()))
    }

    /// Encrypts an array without the masks, which take most of its bytes:
    /// [`SeededCiphertexts::expand`] and [`Encrypted::from_ciphertexts`] make the array of it.
    ///
    /// # Errors
    /// As [`Encrypted::encrypt`].
    pub fn encrypt_seeded<P: Copy + Into<T::Plain>>(
        client: &ClientKey,
        values: &[P],
    ) -> Result<SeededCiphertexts> {
        check_set(client.set())?;
        let messages = Zeroizing::new(messages::<T, P>(values)?);
        Ok(client.encrypt_seeded(&messages, PLAINTEXT)?)
    }

    /// Encrypts an array for the owner of a public key.
    ///
    /// # Errors
    /// As [`Encrypted::encrypt`].
    pub fn encrypt_for<P: Copy + Into<T::Plain>>(key: &PublicKey, values: &[P]) -> Result<Self> {
        check_set(key.set())?;
        let messages = Zeroizing::new(messages::<T, P>(values)?);
        let ciphertexts = key.encrypt_messages(&messages, MESSAGE_BITS)?;
        Ok(Self::new(ciphertexts, values.len()))
    }

    /// Decrypts the array.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_messages`], and [`Error::Mismatch`] for messages that no such
    /// integer has; the error says neither which nor what.
    pub fn decrypt(&self, client: &ClientKey) -> Result<Vec<T::Plain>> {
        let messages = Zeroizing::new(client.decrypt_messages(&self.ciphertexts, MESSAGE_BITS)?);
        let values = T::values();
        // All are looked at alike, so that time does not tell which is wrong.
        let wrong = messages.iter().fold(0, |n, &m| n + usize::from(!values.contains(m as i32)));
        if wrong > 0 {
            return mismatch(format!(
                "a digit of {:?} decrypts to none: not made of such integers, or too noisy",
                self.ciphertexts
            ));
        }
        let digits = |e: usize| (0..T::digits()).map(move |d| d * self.len + e);
        Ok((0..self.len)
            .map(|e| T::decode(&digits(e).map(|i| messages[i]).collect::<Vec<_>>()))
            .collect())
    }

    /// Takes ciphertexts in the order described above, of `len` integers.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless there are as many ciphertexts as so many integers have, and for
    /// messages that are known to be of another width.
    pub fn from_ciphertexts(ciphertexts: LweCiphertexts, len: usize) -> Result<Self> {
        if len == 0 || Some(ciphertexts.messages()) != len.checked_mul(T::digits()) {
            return mismatch(format!(
                "{} messages for {len} integers of {}",
                ciphertexts.messages(),
                T::digits()
            ));
        }
        check_width(&ciphertexts).or_else(mismatch)?;
        Ok(Self::new(ciphertexts, len))
    }

    /// The ciphertexts, in the order described above.
    pub fn ciphertexts(&self) -> &LweCiphertexts {
        &self.ciphertexts
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        self.ciphertexts.set()
    }

    /// Name of the client key that they are under; none for constants.
    pub fn key_id(&self) -> Option<KeyId> {
        self.ciphertexts.key_id()
    }

    /// Number of integers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The array as bytes: what it is of, then the bytes of its ciphertexts, which end with a
    /// checksum over themselves.
    ///
    /// # Errors
    /// [`Error::Tfhe`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = header::<T>();
        bytes.extend(self.ciphertexts.to_bytes()?);
        Ok(bytes)
    }

    /// Reads and checks what [`Encrypted::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes of anything else than integers of this kind and width, and as
    /// [`LweCiphertexts::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of(LweCiphertexts::from_bytes(without_header::<T>(bytes)?)?)
    }

    /// The same for integers of `set` and no other: whatever else these bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`Encrypted::from_bytes`], and for integers of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        Self::of(LweCiphertexts::from_bytes_for(set, without_header::<T>(bytes)?)?)
    }

    fn of(ciphertexts: LweCiphertexts) -> Result<Self> {
        let messages = ciphertexts.messages();
        if !messages.is_multiple_of(T::digits()) {
            return Err(Error::Malformed(format!(
                "{messages} messages are no whole number of integers of {}",
                T::digits()
            )));
        }
        check_width(&ciphertexts).map_err(Error::Malformed)?;
        Ok(Self::new(ciphertexts, messages / T::digits()))
    }
}

/// Refuses messages that are known to be no digits.
fn check_width(ciphertexts: &LweCiphertexts) -> std::result::Result<(), String> {
    match ciphertexts.plaintext_modulus() {
        Some(found) if found != PLAINTEXT => Err(format!(
            "messages of which {found} fill the circle: digits of integers are messages of \
             {MESSAGE_BITS} bits, of which {PLAINTEXT} do"
        )),
        _ => Ok(()),
    }
}

fn without_header<T: Integer>(bytes: &[u8]) -> Result<&[u8]> {
    let header = header::<T>();
    bytes.strip_prefix(&header[..]).ok_or_else(|| {
        let header = String::from_utf8_lossy(&header);
        Error::Malformed(format!("these bytes do not begin with {header:?}"))
    })
}

/// What bytes of such integers begin with.
fn header<T: Integer>() -> Vec<u8> {
    format!("girih 1 {}\n", T::NAME).into_bytes()
}
