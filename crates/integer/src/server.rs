//! A server key that computes on integers.

use crate::engine::{Array, Engine, Inner};
use crate::host::{Encrypted, digits};
use crate::operation::Operation;
use crate::types::{Integer, form};
use crate::{Result, error::mismatch};
use girih_backend::Progress;
use girih_rlwe::{KeyId, Mismatch};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Evaluation keys on a device, for arrays of encrypted integers.
///
/// Integers remember it: operations are theirs ([`FheUint`](crate::FheUint),
/// [`FheInt`](crate::FheInt), [`FheBool`](crate::FheBool)). It is cheap to clone and can be shared
/// between threads.
pub struct Integers<E: Engine = girih_tfhe::ServerKey>(pub(crate) Arc<Inner<E>>);

// Derived, it would ask the same of server keys.
impl<E: Engine> Clone for Integers<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E: Engine> std::fmt::Debug for Integers<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Integers({})", self.0.server.name())
    }
}

impl<E: Engine> Integers<E> {
    /// Takes a server key for integers, of TFHE or of numbers in slots. Look-ups are held to the
    /// failure probability that its `limit_failure` allows now.
    ///
    /// *Of TFHE* that limits sums to a norm of 5 (the square root of the sum of their squared
    /// weights), or to less where it asks for that. *In slots* operations follow each other without
    /// end within it.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a set of TFHE that packs several
    /// messages into a ciphertext, and for one of numbers in slots without sums modulo 16;
    /// [`girih_tfhe::Error::TooNoisy`] and [`girih_discrete::Error::Failure`] for one on which
    /// look-ups fail too often.
    pub fn new(server: E) -> Result<Self> {
        Ok(Self(Arc::new(Inner::new(server)?)))
    }

    /// The server key.
    pub fn server(&self) -> &E {
        &self.0.server
    }

    /// Name of the client key whose integers it works on.
    pub fn key_id(&self) -> KeyId {
        self.0.server.key_id()
    }

    /// Bootstrappings that its operations have asked for so far: look-ups of one sum each, and of
    /// TFHE sometimes two of the same sum.
    pub fn look_ups(&self) -> u64 {
        self.0.look_ups.load(Ordering::Relaxed)
    }

    /// Tells `listener` how many bootstrappings of an operation have been asked for, level by
    /// level; none of them with `None`. Of a device that takes them without waiting, that is ahead
    /// of what it has done.
    pub fn report_to(&self, listener: Option<Arc<dyn Progress + Send>>) {
        *self.0.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Copies an array to the device. In slots, digits with larger errors than look-ups leave, such
    /// as those that a public key encrypted, are looked up by themselves.
    ///
    /// # Errors
    /// As the upload of the server key, and for errors that are too large for look-ups.
    pub fn upload<T: Integer<Engine = E>>(&self, encrypted: &Encrypted<T>) -> Result<T> {
        let count = encrypted.len();
        let of = E::upload(&self.0, encrypted.ciphertexts(), count, form::<T>())?;
        Ok(T::wrap(Array::new(&self.0, count, of)))
    }

    /// Copies an array back to the host, waiting for the work it depends on. Carries that are still
    /// to come are propagated first.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an array of another server, and failures of
    /// the device.
    pub fn download<T: Integer<Engine = E>>(&self, array: &T) -> Result<Encrypted<T>> {
        let array = self.settled(array)?;
        Ok(Encrypted::new(E::download(&array)?, array.count))
    }

    /// Known values as an array, without secret or error.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no value or one out of range, and failures
    /// of the device.
    pub fn constants<T, P>(&self, values: &[P]) -> Result<T>
    where
        T: Integer<Engine = E>,
        P: Copy + Into<T::Known>,
    {
        let (digits, count) = (digits::<T, P>(values)?, values.len());
        let of = E::constants(&self.0, &digits, count, form::<T>())?;
        Ok(T::wrap(Array::new(&self.0, count, of)))
    }

    /// Elements of an array in any order, and as often as wanted.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an array of another server, for no element,
    /// or for one that the array does not have; and failures of the device.
    pub fn take<T: Integer<Engine = E>>(&self, array: &T, elements: &[usize]) -> Result<T> {
        Ok(T::wrap(self.own(array)?.take(elements)?))
    }

    /// An array of this server.
    pub(crate) fn own<'a, T: Integer<Engine = E>>(&self, array: &'a T) -> Result<&'a Array<E>> {
        let array = array.array();
        if !Arc::ptr_eq(&array.inner, &self.0) {
            return mismatch(Mismatch::Server { what: "these integers" });
        }
        Ok(array)
    }

    /// An array of this server with no carries to come.
    pub(crate) fn settled<T: Integer<Engine = E>>(&self, array: &T) -> Result<Array<E>> {
        let array = self.own(array)?;
        if E::is_settled(array, form::<T>()) {
            return Ok(array.clone());
        }
        array.run(Operation::Clean, false, &[])
    }

    /// Waits for all work.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn synchronize(&self) -> Result<()> {
        self.0.server.synchronize()
    }
}
