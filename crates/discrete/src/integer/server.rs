//! A server key that computes on integers.

use super::host::{Encrypted, Layout};
use super::operations::State;
use super::run::{Array, Inner, Part};
use super::standard::Standard;
use super::types::Integer;
use crate::server::ServerKey;
use crate::{EncryptedNumbers, KeyId, Result, error};
use girih_backend::Progress;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Evaluation keys on a device, for arrays of encrypted integers.
///
/// Integers remember it: operations are theirs ([`FheUint`](super::FheUint),
/// [`FheInt`](super::FheInt), [`FheBool`](super::FheBool)). It is cheap to clone and can be shared
/// between threads.
#[derive(Clone)]
pub struct Integers(Arc<Inner>);

impl std::fmt::Debug for Integers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Integers({})", self.0.server.set())
    }
}

impl Integers {
    /// Takes a server key for integers. Look-ups are held to the failure probability that
    /// [`ServerKey::limit_failure`] allows now.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a set without sums modulo 16, or on which
    /// operations on digits cannot follow each other without end within that bound.
    pub fn new(server: ServerKey) -> Result<Self> {
        let standard = Standard::new(server.forecast(), server.failure_limit())?;
        Ok(Self(Arc::new(Inner::new(server, standard))))
    }

    /// The server key.
    pub fn server(&self) -> &ServerKey {
        &self.0.server
    }

    /// Name of the client key whose integers it works on.
    pub fn key_id(&self) -> KeyId {
        self.0.server.key_id()
    }

    /// Look-ups that its operations have asked for so far, each of one ciphertext.
    pub fn look_ups(&self) -> u64 {
        self.0.look_ups.load(Ordering::Relaxed)
    }

    /// Tells `listener` how many look-ups of an operation have been asked for; none of them with
    /// `None`.
    pub fn report_to(&self, listener: Option<Arc<dyn Progress + Send>>) {
        *self.0.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Copies an array to the device. Digits with larger errors than look-ups leave, such as those
    /// that a public key encrypted, are looked up by themselves.
    ///
    /// # Errors
    /// As [`ServerKey::upload`], and [`Error::Failure`](crate::Error::Failure) for errors that are
    /// too large for that.
    pub fn upload<T: Integer>(&self, encrypted: &Encrypted<T>) -> Result<T> {
        let server = &self.0.server;
        let all = server.upload(encrypted.numbers())?;
        let (most, clean) = (T::MOST, self.0.standard.clean(T::MOST));
        let identity = self.0.standard.identity(most)?;
        let mut parts = Vec::new();
        for part in Layout::new(encrypted.len(), server.set().numbers(), T::digits()).parts() {
            let mut digits = Vec::with_capacity(T::digits());
            for range in part {
                let mut wires = all.select(range)?;
                // Of a look-up that barely holds it takes two.
                for _ in 0..2 {
                    if !wires.expected().is_within(clean) {
                        wires = server.lookup(&wires, &[&identity])?.remove(0);
                    }
                }
                if !wires.expected().is_within(clean) {
                    return error::mismatch(format!(
                        "{encrypted:?} with errors that look-ups do not remove: fresh ones have \
                         smaller errors"
                    ));
                }
                digits.push(Some(wires));
            }
            let like = digits[0].clone().expect("just made");
            parts.push(Part { digits, like });
        }
        Ok(T::wrap(Array {
            inner: Arc::clone(&self.0),
            parts: Arc::new(parts),
            count: encrypted.len(),
            digits: vec![State::Clean; T::digits()],
            is_bit: most == 1,
        }))
    }

    /// Copies an array back to the host, waiting for the work it depends on.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an array of another server, and failures of
    /// the device.
    pub fn download<T: Integer>(&self, array: &T) -> Result<Encrypted<T>> {
        let array = array.array();
        if !Arc::ptr_eq(&array.inner, &self.0) {
            return error::mismatch("these integers live with another server");
        }
        let server = &self.0.server;
        let mut all = Vec::new();
        for part in array.parts.iter() {
            for (wires, state) in part.digits.iter().zip(&array.digits) {
                let wires = match (wires, state) {
                    (Some(wires), _) => wires.clone(),
                    (None, State::Known(value)) => server.constant(*value, &part.like)?,
                    (None, _) => return error::mismatch("a digit that is nowhere"),
                };
                all.push(server.download(&wires)?);
            }
        }
        Ok(Encrypted::new(EncryptedNumbers::join(&all)?, array.count))
    }

    /// Waits for all work.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn synchronize(&self) -> Result<()> {
        self.0.server.synchronize()
    }
}
