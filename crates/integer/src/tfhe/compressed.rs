//! Results in few bytes, for the way home.

use crate::engine::Array;
use crate::tfhe::sets::check_packing;
use crate::tfhe::{CONDITION, RADIX, STATES};
use crate::types::Integer;
use crate::{Error, Integers, Result, error::mismatch};
use girih_backend::{Combination, LinearJob, Operand as Term};
use girih_rlwe::{Counts, Mismatch};
use girih_tfhe::{ClientKey, CompressedResults, DeviceCiphertexts, KeyId, ParameterSet, ServerKey};
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// An array of encrypted integers in few bytes, to be sent to whoever decrypts it
/// ([`Integers::download_compressed`]).
///
/// Two digits are one message, lowest first, which together fill the circle; message j of element e
/// is number `j len() + e`. Where the errors of an array leave no room for that, a digit is a
/// message. A condition is one message, 0 or 1 of two.
pub struct CompressedIntegers<T> {
    results: CompressedResults,
    len: usize,
    /// Digits of a message.
    joined: usize,
    kind: PhantomData<fn() -> T>,
}

// Derived, these would ask the same of the integers on a device.
impl<T> Clone for CompressedIntegers<T> {
    fn clone(&self) -> Self {
        Self { results: self.results.clone(), ..*self }
    }
}

impl<T> PartialEq for CompressedIntegers<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.len, self.joined, &self.results) == (other.len, other.joined, &other.results)
    }
}

impl<T: Integer> std::fmt::Debug for CompressedIntegers<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} in {:?}", self.len, T::name(), self.results)
    }
}

/// Values of a message of so many digits, or of a condition.
fn modulus<T: Integer>(joined: usize) -> u64 {
    if T::IS_CONDITION { 2 } else { (RADIX as u64).pow(joined as u32) }
}

impl Integers<ServerKey> {
    /// Copies an array to the host in few bytes, for whoever decrypts it: a `FheUint<64>` takes 38
    /// bytes in arrays of some hundreds with TFHERS_2_2, where [`Integers::download`] takes
    /// 524,544. Carries that are still to come are propagated first, digits are joined to messages
    /// on the device; the rest is work of the host ([`girih_tfhe::ServerKey::compress`]).
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an array of another server,
    /// [`girih_tfhe::Error::MissingKey`] where the evaluation keys have no compression key
    /// ([`girih_tfhe::EvaluationKeys::with_compression`]), [`girih_tfhe::Error::TooNoisy`] where
    /// not even single digits would be read within the bound, and failures of the device.
    pub fn download_compressed<T>(&self, array: &T) -> Result<CompressedIntegers<T>>
    where
        T: Integer<Engine = ServerKey>,
    {
        let array = self.settled(array)?;
        let most = if T::digits().is_multiple_of(2) { 2 } else { 1 };
        let of = |joined: usize| {
            let modulus = modulus::<T>(joined);
            // What a digit of 1 (a condition that holds) is to be, in steps around the circle.
            let unit = STATES / modulus as i32 / if T::IS_CONDITION { CONDITION } else { 1 };
            let messages = self.join(&array, joined, unit)?;
            let results = self.server().compress(&messages, modulus)?;
            Ok(CompressedIntegers { results, len: array.count, joined, kind: PhantomData })
        };
        match of(most) {
            Err(Error::Tfhe(girih_tfhe::Error::TooNoisy { .. })) if most > 1 => of(1),
            result => result,
        }
    }

    /// Sums of `joined` digits each, with weights `unit RADIX^i`.
    fn join(
        &self,
        array: &Array<ServerKey>,
        joined: usize,
        unit: i32,
    ) -> Result<DeviceCiphertexts> {
        let server = self.server();
        let log2_modulus = server.set().shape().log2_stored_modulus();
        let messages = array.digits.len() / joined * array.count;
        let out = server.allocate(messages)?;
        let weights: Vec<i32> = (0..joined as u32).map(|i| unit * RADIX.pow(i)).collect();
        let job = |m: usize| {
            let (j, e) = (m / array.count, m % array.count);
            let terms: Vec<Term> = weights
                .iter()
                .enumerate()
                .map(|(i, &weight)| {
                    let digit = j * joined + i;
                    Term { ciphertext: array.words.at(digit * array.count + e), weight }
                })
                .collect();
            let input = Combination::new(&terms, 0, log2_modulus);
            LinearJob { input, log2_output_modulus: log2_modulus, output: out.at(m) }
        };
        server.engine().combine(&(0..messages).map(job).collect::<Vec<_>>())?;
        // Digits of one number may be made of the same ciphertexts.
        let weight = f64::from(weights.iter().sum::<i32>());
        Ok(out.with_variance(array.words.variance() * weight * weight)?)
    }
}

impl<T: Integer> CompressedIntegers<T> {
    /// Decrypts an array of numbers of at most 128 bits, or of conditions; as
    /// [`Encrypted::decrypt`].
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_compressed`].
    pub fn decrypt(&self, client: &ClientKey) -> Result<Vec<T::Plain>> {
        Ok(self.decrypt_wide(client)?.into_iter().map(T::narrow).collect())
    }

    /// Decrypts an array of any width, as [`Encrypted::decrypt_wide`].
    ///
    /// # Errors
    /// As [`ClientKey::decrypt_compressed`].
    pub fn decrypt_wide(&self, client: &ClientKey) -> Result<Vec<T::Known>> {
        let messages = Zeroizing::new(client.decrypt_compressed(&self.results)?);
        let digits = Zeroizing::new(
            (0..T::digits() * self.len)
                .map(|i| {
                    let (d, e) = (i % T::digits(), i / T::digits());
                    let message = messages[d / self.joined * self.len + e];
                    (message >> (2 * (d % self.joined))) as u8 & (RADIX as u8 - 1)
                })
                .collect::<Vec<_>>(),
        );
        Ok(digits.chunks_exact(T::digits()).map(T::from_digits).collect())
    }

    /// The messages, in the order described above.
    pub fn results(&self) -> &CompressedResults {
        &self.results
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        self.results.set()
    }

    /// Name of the client key that they are under; none for constants.
    pub fn key_id(&self) -> Option<KeyId> {
        self.results.key_id()
    }

    /// Number of integers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The array as bytes: what it is of, then the bytes of its messages, which end with a checksum
    /// over themselves.
    ///
    /// # Errors
    /// [`Error::Tfhe`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = header::<T>();
        bytes.extend(self.results.to_bytes()?);
        Ok(bytes)
    }

    /// Reads and checks what [`CompressedIntegers::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes of anything else than compressed integers of this kind and
    /// width, and as [`CompressedResults::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of(CompressedResults::from_bytes(without_header::<T>(bytes)?)?)
    }

    /// The same for integers of `set` and no other: whatever else these bytes may hold is refused
    /// before it is looked at.
    ///
    /// # Errors
    /// As [`CompressedIntegers::from_bytes`], and for integers of another set.
    pub fn from_bytes_for(set: &ParameterSet, bytes: &[u8]) -> Result<Self> {
        Self::of(CompressedResults::from_bytes_for(set, without_header::<T>(bytes)?)?)
    }

    fn of(results: CompressedResults) -> Result<Self> {
        let of = |&joined: &usize| {
            T::digits().is_multiple_of(joined) && modulus::<T>(joined) == results.modulus()
        };
        let Some(joined) = [1, 2].into_iter().find(of) else {
            let [one, two] = [1, 2].map(modulus::<T>);
            return mismatch(Mismatch::Form {
                what: format!("{results:?}"),
                found: format!("has messages modulo {}", results.modulus()),
                expected: format!("{} has messages modulo {one} or {two}", T::name()),
            });
        };
        let (messages, each) = (results.messages(), T::digits() / joined);
        check_packing(results.set())?;
        if !messages.is_multiple_of(each) {
            let what = format!("messages of integers of {each}");
            return mismatch(Mismatch::count(what, messages, Counts::MultipleOf(each)));
        }
        Ok(Self { results, len: messages / each, joined, kind: PhantomData })
    }
}

/// What bytes of such integers begin with.
fn header<T: Integer>() -> Vec<u8> {
    format!("girih 1 compressed {}\n", T::name()).into_bytes()
}

fn without_header<T: Integer>(bytes: &[u8]) -> Result<&[u8]> {
    let header = header::<T>();
    bytes.strip_prefix(&header[..]).ok_or_else(|| {
        let header = String::from_utf8_lossy(&header).into_owned();
        Error::Malformed(format!("these bytes do not begin with {header:?}"))
    })
}
