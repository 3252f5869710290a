//! A server key that computes on integers.

use crate::host::Encrypted;
use crate::record::DigitState;
use crate::run::{Array, Inner, MOST_JOBS, budget, log2_failure, unit};
use crate::sets::{LEAST_NORM, check_packing};
use crate::types::Integer;
use crate::{Error, MESSAGE_BITS, PLAINTEXT, Result, error::mismatch};
use girih_backend::Progress;
use girih_tfhe::{CentredTable, KeyId, LweCiphertexts, ServerKey};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Evaluation keys on a device, for arrays of encrypted integers.
///
/// Integers remember it: operations are theirs ([`FheUint`](crate::FheUint),
/// [`FheInt`](crate::FheInt), [`FheBool`](crate::FheBool)). It is cheap to clone and can be shared
/// between threads.
#[derive(Clone)]
pub struct Integers(Arc<Inner>);

impl std::fmt::Debug for Integers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Integers({:?})", self.0.server)
    }
}

impl Integers {
    /// Takes a server key for integers.
    ///
    /// Sums are held to a norm of 5 (the square root of the sum of their squared weights), or to
    /// less where [`ServerKey::limit_failure`] as it is now asks for that.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a set that packs several messages into a ciphertext or has no room
    /// for four bits a message, and
    /// [`girih_tfhe::Error::TooNoisy`] for one on which look-ups of four bits fail too often.
    pub fn new(server: ServerKey) -> Result<Self> {
        let set = server.set();
        check_packing(set)?;
        let (model, bound) = (server.noise_model(), server.failure_limit());
        // Says what is wrong with a set without room.
        server.load_centred(&CentredTable::new(vec![0; 1 << MESSAGE_BITS], 0)?)?;
        let budget = budget(&model, set, bound);
        if budget < LEAST_NORM {
            return Err(Error::Tfhe(girih_tfhe::Error::TooNoisy {
                what: format!(
                    "a look-up of four bits in a sum of norm 3 with {set}, where GIRIH_2_2 and \
                     TFHERS_2_2 have room for it,"
                ),
                log2_failure: log2_failure(&model, set, LEAST_NORM),
                log2_bound: bound,
            }));
        }
        Ok(Self(Arc::new(Inner::new(server, budget, Self::SCRATCH_BYTES))))
    }

    /// The limit of [`Integers::limit_scratch`] until another is set.
    pub const SCRATCH_BYTES: usize = if usize::BITS > 32 { 4 << 30 } else { 1 << 30 };

    /// Limits what operations store on the device beside their operands and results: arrays are
    /// computed in parts that keep below it, of one element at least.
    pub fn limit_scratch(&self, bytes: usize) {
        self.0.scratch_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The server key.
    pub fn server(&self) -> &ServerKey {
        &self.0.server
    }

    /// Name of the client key whose integers it works on.
    pub fn key_id(&self) -> KeyId {
        self.0.server.key_id()
    }

    /// Bootstrappings that its operations have asked for so far.
    pub fn look_ups(&self) -> u64 {
        self.0.look_ups.load(Ordering::Relaxed)
    }

    /// Tells `listener` how many look-ups of an operation have been asked for, level by level; none
    /// of them with `None`. Of a device that takes them without waiting, that is ahead of what it
    /// has done.
    pub fn report_to(&self, listener: Option<Arc<dyn Progress + Send>>) {
        *self.0.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Lets the listener hear after so many look-ups at the latest, 65,536 unless another number is
    /// set: fewer let it end work sooner, and leave a device idle that works on more at once.
    pub fn report_every(&self, look_ups: usize) {
        self.0.report_every.store(look_ups.clamp(1, MOST_JOBS), Ordering::Relaxed);
    }

    /// Copies an array to the device.
    ///
    /// # Errors
    /// As [`ServerKey::upload`].
    pub fn upload<T: Integer>(&self, encrypted: &Encrypted<T>) -> Result<T> {
        let (words, count) = (encrypted.ciphertexts(), encrypted.len());
        let norm = (words.variance() / unit(&self.0.server.noise_model()) - 1e-9).ceil();
        let state =
            DigitState { values: T::values(), norm: norm.clamp(1.0, f64::from(u32::MAX)) as u32 };
        let words = Arc::new(self.0.server.upload(words)?);
        let (inner, digits) = (Arc::clone(&self.0), vec![state; T::digits()]);
        Ok(T::wrap(Array { inner, words, count, digits }))
    }

    /// Known values as an array, without secret or error.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no value or one out of range, and failures of the device.
    pub fn constants<T: Integer, P: Copy + Into<T::Plain>>(&self, values: &[P]) -> Result<T> {
        let messages = crate::host::messages::<T, P>(values)?;
        let words = LweCiphertexts::trivial(self.0.server.set(), &messages, PLAINTEXT)?;
        self.upload(&Encrypted::new(words, values.len()))
    }

    /// Copies an array back to the host, waiting for the work it depends on. Carries that are still
    /// to come are propagated first.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an array of another server, and failures of the device.
    pub fn download<T: Integer>(&self, array: &T) -> Result<Encrypted<T>> {
        let array = self.clean(array)?;
        Ok(Encrypted::new(self.0.server.download(&array.words)?, array.count))
    }

    /// Elements of an array in any order, and as often as wanted: copies on the device.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an array of another server, for no element, or for one that the
    /// array does not have; and failures of the device.
    pub fn take<T: Integer>(&self, array: &T, elements: &[usize]) -> Result<T> {
        let array = array.array();
        if !Arc::ptr_eq(&array.inner, &self.0) {
            return mismatch("these integers live with another server");
        }
        Ok(T::wrap(array.take(elements)?))
    }

    /// An array of this server with no carries to come.
    pub(crate) fn clean<T: Integer>(&self, array: &T) -> Result<Array> {
        let array = array.array();
        if !Arc::ptr_eq(&array.inner, &self.0) {
            return mismatch("these integers live with another server");
        }
        Ok(array.resolved(T::values())?.unwrap_or_else(|| array.clone()))
    }

    /// Waits for all work.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.0.server.engine().synchronize()?)
    }
}
