//! Encrypted integers on the host: what clients make and read.

use super::run::SIDE_BY_SIDE;
use super::types::Integer;
use crate::{ClientKey, DiscreteParameters, EncryptedNumbers, Error, PublicKey, Result, error};
use girih_rlwe::KeyId;
use std::marker::PhantomData;
use std::ops::Range;
use zeroize::Zeroizing;

/// An array of encrypted integers on the host, to be sent, stored or decrypted; a server computes
/// on what [`Integers::upload`](super::Integers::upload) makes of it.
///
/// A number is digits of two bits, lowest first. The elements are taken in parts of eight
/// ciphertexts; of each part come all ciphertexts of the lowest digit, then those of the next.
/// Slots beyond the last element hold 0.
pub struct Encrypted<T> {
    numbers: EncryptedNumbers,
    len: usize,
    kind: PhantomData<fn() -> T>,
}

// Derived, these would ask the same of the integers on a device.
impl<T> Clone for Encrypted<T> {
    fn clone(&self) -> Self {
        Self { numbers: self.numbers.clone(), ..*self }
    }
}

impl<T> PartialEq for Encrypted<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.len, &self.numbers) == (other.len, &other.numbers)
    }
}

impl<T: Integer> std::fmt::Debug for Encrypted<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} in {:?}", self.len, T::name(), self.numbers)
    }
}

/// Where elements and their digits are.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    len: usize,
    slots: usize,
    digits: usize,
}

impl Layout {
    pub fn new(len: usize, slots: usize, digits: usize) -> Self {
        Self { len, slots, digits }
    }

    /// Ciphertexts of a digit.
    fn chunks(&self) -> usize {
        self.len.div_ceil(self.slots)
    }

    /// Numbers in use of a ciphertext.
    fn used(&self) -> usize {
        self.len.min(self.slots)
    }

    /// The ciphertexts of each digit of each part.
    pub fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = Range<usize>>> {
        let (digits, chunks) = (self.digits, self.chunks());
        (0..chunks).step_by(SIDE_BY_SIDE).map(move |first| {
            let (from, len) = (first * digits, SIDE_BY_SIDE.min(chunks - first));
            (0..digits).map(move |d| from + d * len..from + (d + 1) * len)
        })
    }

    /// The ciphertext and the slot of a digit of an element.
    fn place(&self, element: usize, digit: usize) -> (usize, usize) {
        let (chunk, slot) = (element / self.slots, element % self.slots);
        let first = chunk / SIDE_BY_SIDE * SIDE_BY_SIDE;
        let len = SIDE_BY_SIDE.min(self.chunks() - first);
        (first * self.digits + digit * len + chunk - first, slot)
    }
}

/// The numbers of each ciphertext.
fn columns<T: Integer, P: Copy + Into<T::Plain>>(
    set: &DiscreteParameters,
    values: &[P],
) -> Result<Vec<Zeroizing<Vec<u32>>>> {
    if values.is_empty() {
        return error::mismatch("an array of no integers: there must be at least one");
    }
    let layout = Layout::new(values.len(), set.numbers(), T::digits());
    let mut columns =
        vec![Zeroizing::new(vec![0u32; layout.used()]); layout.chunks() * T::digits()];
    for (element, &value) in values.iter().enumerate() {
        let bits = T::to_bits(value.into())?;
        for digit in 0..T::digits() {
            let (column, slot) = layout.place(element, digit);
            columns[column][slot] = (bits >> (2 * digit)) as u32 & T::MOST as u32;
        }
    }
    Ok(columns)
}

impl<T: Integer> Encrypted<T> {
    pub(super) fn new(numbers: EncryptedNumbers, len: usize) -> Self {
        Self { numbers, len, kind: PhantomData }
    }

    /// Encrypts an array.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no value and for one that is out of range (the error does not say
    /// which or what it is), and as [`ClientKey::encrypt_batch`].
    pub fn encrypt<P: Copy + Into<T::Plain>>(client: &ClientKey, values: &[P]) -> Result<Self> {
        let columns = columns::<T, P>(client.set(), values)?;
        let columns: Vec<&[u32]> = columns.iter().map(|column| &column[..]).collect();
        Ok(Self::new(client.encrypt_batch(&columns, T::MOST as u32 + 1)?, values.len()))
    }

    /// Encrypts an array for the owner of a public key.
    ///
    /// # Errors
    /// As [`Encrypted::encrypt`].
    pub fn encrypt_for<P: Copy + Into<T::Plain>>(key: &PublicKey, values: &[P]) -> Result<Self> {
        let columns = columns::<T, P>(key.set(), values)?;
        let columns: Vec<&[u32]> = columns.iter().map(|column| &column[..]).collect();
        Ok(Self::new(key.encrypt_batch(&columns, T::MOST as u32 + 1)?, values.len()))
    }

    /// Decrypts the array.
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_integers`], and [`Error::Mismatch`] for digits that no such integer
    /// has; the error says neither which nor what.
    pub fn decrypt(&self, client: &ClientKey) -> Result<Vec<T::Plain>> {
        let digits = Zeroizing::new(client.decrypt_integers(&self.numbers)?);
        // All are looked at alike, so that time does not tell which is wrong.
        let wrong = digits.iter().fold(0, |n, v| n + usize::from(!(0..=T::MOST).contains(v)));
        if wrong > 0 {
            return error::mismatch(format!(
                "a digit of {self:?} decrypts to none: not made of such integers, or too noisy"
            ));
        }
        let layout = Layout::new(self.len, self.set().numbers(), T::digits());
        let element = |element: usize| {
            let digit = |digit: usize| {
                let (column, slot) = layout.place(element, digit);
                (digits[column * layout.used() + slot] as u128) << (2 * digit)
            };
            T::from_bits((0..T::digits()).map(digit).sum())
        };
        Ok((0..self.len).map(element).collect())
    }

    /// Takes numbers in the order described above, of `len` integers.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless there are as many ciphertexts and numbers as so many integers
    /// have, and for numbers that are known to be no digits.
    pub fn from_numbers(numbers: EncryptedNumbers, len: usize) -> Result<Self> {
        Self::checked(numbers, len).or_else(error::mismatch)
    }

    fn checked(numbers: EncryptedNumbers, len: usize) -> std::result::Result<Self, String> {
        let layout = Layout::new(len, numbers.set().numbers(), T::digits());
        let wanted = (layout.chunks().saturating_mul(T::digits()), layout.used());
        if len == 0 || (numbers.len(), numbers.numbers()) != wanted {
            return Err(format!(
                "{} ciphertexts of {} numbers for {len} x {}, which have {} of {}",
                numbers.len(),
                numbers.numbers(),
                T::name(),
                wanted.0,
                wanted.1
            ));
        }
        let (low, high) = numbers.range();
        if low < 0 || high > T::MOST {
            return Err(format!(
                "numbers from {low} to {high} where {} has digits from 0 to {}",
                T::name(),
                T::MOST
            ));
        }
        Ok(Self::new(numbers, len))
    }

    /// The ciphertexts, in the order described above.
    pub fn numbers(&self) -> &EncryptedNumbers {
        &self.numbers
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        self.numbers.set()
    }

    /// Name of the client key that they are under.
    pub fn key_id(&self) -> KeyId {
        self.numbers.key_id()
    }

    /// Number of integers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The array as bytes: what it is of and how many, then the bytes of its ciphertexts, which end
    /// with a checksum over themselves.
    ///
    /// # Errors
    /// [`Error::Shared`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = header::<T>();
        bytes.extend((self.len as u64).to_le_bytes());
        bytes.extend(self.numbers.to_bytes()?);
        Ok(bytes)
    }

    /// Reads and checks what [`Encrypted::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for bytes of anything else than integers of this kind and width, and as
    /// [`EncryptedNumbers::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (len, rest) = split::<T>(bytes)?;
        Self::from_numbers(EncryptedNumbers::from_bytes(rest)?, len)
    }

    /// The same for `set` and no other, and at most so many integers: whatever else these bytes may
    /// hold is refused before it is looked at.
    ///
    /// # Errors
    /// As [`Encrypted::from_bytes`], and for integers of another set or more of them.
    pub fn from_bytes_for(set: &DiscreteParameters, most: usize, bytes: &[u8]) -> Result<Self> {
        let (len, rest) = split::<T>(bytes)?;
        if len > most {
            let rule = format!("there may be {most}");
            return Err(Error::Count { what: "integers", found: len, rule });
        }
        let layout = Layout::new(len, set.numbers(), T::digits());
        let ciphertexts = layout.chunks().saturating_mul(T::digits());
        Self::from_numbers(EncryptedNumbers::from_bytes_for(set, ciphertexts, rest)?, len)
    }
}

/// How many there are, and what follows.
fn split<T: Integer>(bytes: &[u8]) -> Result<(usize, &[u8])> {
    let header = header::<T>();
    let rest = bytes.strip_prefix(&header[..]).and_then(|rest| rest.split_first_chunk::<8>());
    let Some((len, rest)) = rest else {
        let header = String::from_utf8_lossy(&header);
        return error::mismatch(format!("these bytes do not begin with {header:?} and a length"));
    };
    // More than any batch holds is no length.
    let len = usize::try_from(u64::from_le_bytes(*len)).unwrap_or(usize::MAX);
    Ok((len, rest))
}

/// What bytes of such integers begin with.
fn header<T: Integer>() -> Vec<u8> {
    format!("girih 1 {} in slots\n", T::name()).into_bytes()
}
