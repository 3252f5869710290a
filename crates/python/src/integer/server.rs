//! Evaluation keys on a device, for integers.

use super::ciphertexts::IntegerCiphertexts;
use super::kind::Kind;
use super::number::{Range, random};
use crate::call::{Supervisors, listener, supervise, supervise_whole, wait};
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::tfhe::client::seed;
use crate::tfhe::keys::EvaluationKeys;
use crate::tfhe::server::{refuse_pickle, transform};
use crate::tfhe::sets::ParameterSet;
use crate::{context, device};
use girih::LoadOptions;
use girih::integer::Integers;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, PoisonError};

/// Keys on a device, and its name.
pub struct Loaded {
    /// The keys.
    pub integers: Integers,
    /// The device's name.
    pub device: String,
    /// Who hears of operations.
    listener: Mutex<Option<Py<PyAny>>>,
}

impl Loaded {
    /// Runs an operation, which its listener hears of and signals end at its next report.
    ///
    /// # Errors
    /// Those of the operation, and what signals and the listener raise.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Outcome<T> + Send,
    ) -> PyResult<T> {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let own = listener.as_ref().map(|listener| listener.clone_ref(py));
        drop(listener);
        supervise_whole(py, own.as_ref().map(|listener| listener.bind(py)), |_| work())
    }
}

/// Look-ups between two reports of a CPU, for each of its threads: tenths of a second.
const LOOK_UPS_OF_A_THREAD: usize = 16;

/// Evaluation keys loaded on a device, for integers: TFHERS_2_2 and the sets that group its key
/// have room for them. It can be shared between threads, and is not pickled: keys are.
#[pyclass(frozen, module = "girih.integer", name = "ServerKey")]
pub struct IntegerServerKey(pub Arc<Loaded>);

#[pymethods]
impl IntegerServerKey {
    /// Loads keys; look-ups that fail with a probability above 2**log2_failure are refused.
    #[new]
    #[pyo3(signature = (keys, device = None, *, transform = None, log2_failure = None,
                        progress = None))]
    fn new(
        py: Python<'_>,
        keys: The<'_, EvaluationKeys>,
        device: Option<&str>,
        transform: Option<&str>,
        log2_failure: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let transform = transform.map(self::transform).transpose()?;
        let (keys, device) = (Arc::clone(&keys.get().0), device.map(str::to_owned));
        let loaded = supervise(py, progress, move |progress| {
            let device = device::open(device.as_deref())?;
            let options = LoadOptions::default().with_transform(transform);
            let key = device.loader().options(options).progress(progress).load(keys.as_ref())?;
            if let Some(bound) = log2_failure {
                key.limit_failure(bound)?;
            }
            let (integers, device) = (Integers::new(key)?, device.info().id.clone());
            integers.report_to(Some(Arc::new(Supervisors)));
            if device == "cpu" {
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                integers.report_every(LOOK_UPS_OF_A_THREAD * threads);
            }
            Outcome::Ok(Loaded { integers, device, listener: Mutex::default() })
        })?;
        Ok(Self(Arc::new(loaded)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.0.integers.server().set().clone())
    }

    /// Bytes on the device: keys with all their masks, 8 a word, and tables.
    #[getter]
    fn device_bytes(&self) -> u64 {
        let key = self.0.integers.server();
        girih::tfhe::EvaluationKeys::expanded_bytes(key.set()) + key.table_bytes() as u64
    }

    /// Name of the client key whose integers it works on.
    #[getter]
    fn key_id(&self) -> String {
        self.0.integers.key_id().to_string()
    }

    /// The device's name.
    #[getter]
    fn device(&self) -> String {
        self.0.device.clone()
    }

    /// Bootstrappings that operations have asked for so far.
    #[getter]
    fn look_ups(&self) -> u64 {
        self.0.integers.look_ups()
    }

    /// Lets `progress` hear of operations from now on: called with ("look-ups", done, total). True
    /// shows how far it is, None ends it. What it raises ends the operation.
    #[pyo3(signature = (progress = None))]
    fn report_to(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let progress = listener(py, progress)?.map(Bound::unbind);
        let mut own = self.0.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *own, progress);
        // Not dropped under the lock: its end may run Python.
        drop(own);
        drop(earlier);
        Ok(())
    }

    /// Lets operations store so many bytes on the device beside operands and results.
    fn limit_scratch(&self, nbytes: usize) {
        self.0.integers.limit_scratch(nbytes);
    }

    /// The integers on this device, where they stay until nothing refers to them.
    fn upload(
        &self,
        py: Python<'_>,
        integers: The<'_, IntegerCiphertexts>,
    ) -> PyResult<IntegerCiphertexts> {
        integers.get().on_device(py, &self.0)
    }

    /// An array of random numbers that nobody without the client key learns, uniform in the range
    /// of `dtype`, or from 0 to 2**bits - 1: the same for the same 32 bytes of `seed`, which may be
    /// public, under the same key. `shape` is a tuple or a length. With `below` unsigned numbers
    /// are below that bound, within a statistical distance of 2**-`log2_distance` of uniform ones.
    /// TFHE-rs calls it so too, and draws other numbers.
    #[pyo3(signature = (shape, dtype, seed, bits = None, *, below = None, log2_distance = 128))]
    #[allow(clippy::too_many_arguments)]
    fn generate_oblivious_pseudo_random(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        bits: Option<u32>,
        below: Option<u128>,
        log2_distance: u32,
    ) -> PyResult<IntegerCiphertexts> {
        let range = match (bits, below) {
            (Some(_), Some(_)) => {
                let both = "bits and below: a range is given by one of them";
                return Err(Failure::mismatch(both).into());
            }
            (None, Some(bound)) => Range::Below { bound, log2_distance },
            (bits, None) => Range::Bits(bits),
        };
        let shape: Vec<usize> = match shape.extract::<usize>() {
            Ok(length) => vec![length],
            Err(_) => shape.extract()?,
        };
        let (kind, seed) = (Kind::of(dtype)?, self::seed(seed)?);
        let size = shape.iter().try_fold(1usize, |product, &d| product.checked_mul(d));
        let Some(count) = size else {
            return Err(Failure::mismatch("a shape of more elements than there are numbers").into());
        };
        let held = self.0.run(py, || random(kind, &self.0.integers, &seed, count, range))?;
        Ok(IntegerCiphertexts::placed(shape, &self.0, held))
    }

    /// Waits until the device has all kernels that it keeps, where it begins with others while
    /// these are compiled; how many it waited for. From the next call on it is as fast as it gets.
    fn settle(&self, py: Python<'_>) -> PyResult<usize> {
        let loaded = Arc::clone(&self.0);
        wait(py, move || loaded.integers.server().engine().settle())
    }

    /// Waits until all work on the device is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let loaded = Arc::clone(&self.0);
        wait(py, move || loaded.integers.synchronize())
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        context::enter(slf.as_any())?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        context::exit(py)
    }

    fn __repr__(&self) -> String {
        let (id, set) = (self.0.integers.key_id(), self.0.integers.server().set());
        format!("<girih.integer.ServerKey {id:.8} of {set} on {}>", self.0.device)
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle().into())
    }
}
