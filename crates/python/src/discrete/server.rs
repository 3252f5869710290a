//! Evaluation keys on a device.

use super::integers::DiscreteIntegers;
use super::keys::DiscreteEvaluationKeys;
use super::numbers::DiscreteNumbers;
use super::sets::DiscreteParameters;
use crate::call::{Supervisors, supervise, supervise_whole, wait};
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::tfhe::server::refuse_pickle;
use crate::{context, device};
use girih::discrete::Integers;
use girih::discrete::ServerKey;
use girih::integer::slot_costs;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// Keys on a device.
enum Keys {
    /// With room for integers.
    Integers(Integers),
    Numbers(Box<ServerKey>),
}

/// Keys on a device, and its name.
pub struct Loaded {
    keys: Keys,
    /// The device's name.
    pub device: String,
}

impl Loaded {
    /// The server key.
    pub fn key(&self) -> &ServerKey {
        match &self.keys {
            Keys::Integers(integers) => integers.server(),
            Keys::Numbers(key) => key,
        }
    }

    /// Integers over the keys.
    ///
    /// # Errors
    /// For a set that has no room for them.
    pub fn integers(&self) -> Outcome<&Integers> {
        match &self.keys {
            Keys::Integers(integers) => Ok(integers),
            Keys::Numbers(key) => Err(Failure::mismatch(format!(
                "integers over {}: digits take sums modulo 16, any of which follow each other \
                 within the failure bound; take DISCRETE_4",
                key.set()
            ))),
        }
    }

    /// Runs an operation, which signals end at its next report.
    ///
    /// # Errors
    /// Those of the operation, and what signals raise.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Outcome<T> + Send,
    ) -> PyResult<T> {
        supervise_whole(py, None, |_| work())
    }
}

/// The server that operators use: where an operand is, else that of the innermost `with server:`.
///
/// # Errors
/// `MismatchError` where there is none, and for operands of two servers.
pub fn serving<'a>(
    py: Python<'_>,
    own: impl IntoIterator<Item = &'a Arc<Loaded>>,
) -> PyResult<Arc<Loaded>> {
    let mut own = own.into_iter();
    if let Some(first) = own.next() {
        if own.any(|other| !Arc::ptr_eq(first, other)) {
            return Err(Failure::mismatch("operands are with two servers").into());
        }
        return Ok(Arc::clone(first));
    }
    match context::innermost::<DiscreteServerKey>(py)? {
        Some(server) => Ok(Arc::clone(&server.get().0)),
        None => Err(Failure::mismatch(
            "no server to compute on: write `with server:` around it, or server.upload(x)",
        )
        .into()),
    }
}

/// Evaluation keys loaded on a device: computes there on numbers and integers. It can be shared
/// between threads, and is not pickled: keys are.
#[pyclass(frozen, module = "girih.discrete", name = "ServerKey")]
pub struct DiscreteServerKey(pub Arc<Loaded>);

#[pymethods]
impl DiscreteServerKey {
    /// Loads keys; look-ups that are wrong with a probability above 2**log2_failure, all numbers
    /// of a ciphertext together, are refused.
    #[new]
    #[pyo3(signature = (keys, device = None, *, log2_failure = None, progress = None))]
    fn new(
        py: Python<'_>,
        keys: The<'_, DiscreteEvaluationKeys>,
        device: Option<&str>,
        log2_failure: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (keys, device) = (Arc::clone(&keys.get().0), device.map(str::to_owned));
        let loaded = supervise(py, progress, move |progress| {
            let device = device::open(device.as_deref())?;
            let key = device.loader().progress(progress).load(keys.as_ref())?;
            if let Some(bound) = log2_failure {
                key.limit_failure(bound)?;
            }
            let device = device.info().id.clone();
            // Of a set without room for integers, numbers are left.
            let keys = match slot_costs(key.forecast(), 2, key.failure_limit()) {
                Ok(_) => {
                    let integers = Integers::new(key)?;
                    // Signals are heard where look-ups are reported.
                    integers.report_to(Some(Arc::new(Supervisors)));
                    Keys::Integers(integers)
                }
                Err(_) => Keys::Numbers(Box::new(key)),
            };
            Outcome::Ok(Loaded { keys, device })
        })?;
        Ok(Self(Arc::new(loaded)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> DiscreteParameters {
        DiscreteParameters(self.0.key().set().clone())
    }

    /// Name of the client key whose numbers it works on.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key().key_id().to_string()
    }

    /// The device's name.
    #[getter]
    fn device(&self) -> String {
        self.0.device.clone()
    }

    /// Bytes on the device: keys, ciphertexts, working memory.
    #[getter]
    fn device_bytes(&self) -> u64 {
        self.0.key().ckks().memory().device_bytes
    }

    /// Look-ups that operations on integers have asked for so far, each of one ciphertext.
    #[getter]
    fn look_ups(&self) -> u64 {
        self.0.integers().map_or(0, Integers::look_ups)
    }

    /// Numbers or integers on this device, where they stay until nothing refers to them.
    fn upload<'py>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(numbers) = array.cast::<DiscreteNumbers>() {
            return Ok(Bound::new(py, numbers.get().on_device(py, &self.0)?)?.into_any());
        }
        if let Ok(integers) = array.cast::<DiscreteIntegers>() {
            return Ok(Bound::new(py, integers.get().on_device(py, &self.0)?)?.into_any());
        }
        Err(PyTypeError::new_err(format!(
            "girih.discrete.Numbers or Integers are wanted, not {}",
            array.get_type().fully_qualified_name()?
        )))
    }

    /// Waits until the device has all kernels that it keeps, where it begins with others while
    /// these are compiled; how many it waited for. From the next call on it is as fast as it gets.
    fn settle(&self, py: Python<'_>) -> PyResult<usize> {
        let loaded = Arc::clone(&self.0);
        wait(py, move || loaded.key().ckks().engine().settle())
    }

    /// Waits until all work on the device is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let loaded = Arc::clone(&self.0);
        wait(py, move || loaded.key().synchronize())
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
        let (id, set) = (self.0.key().key_id(), self.0.key().set());
        format!("<girih.discrete.ServerKey {id:.8} of {set} on {}>", self.0.device)
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle().into())
    }
}
