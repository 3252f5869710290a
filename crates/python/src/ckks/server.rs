//! Evaluation keys on a device, and recorded programs.

use super::ciphertexts::{CkksCiphertexts, Store};
use super::keys::CkksEvaluationKeys;
use super::operation::Operation;
use super::sets::CkksParameters;
use crate::call::{supervise, wait};
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::tfhe::gather::{common_shape, display};
use crate::tfhe::server::refuse_pickle;
use crate::{context, device};
use girih::ckks::server::{self, Builder, Ciphertexts, Node, Options};
use girih::ckks::{self, CkksParameters as Set};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// Keys on a device, and its name.
pub struct Loaded {
    /// The keys.
    pub key: server::ServerKey,
    /// The device's name.
    pub device: String,
}

/// Evaluation keys loaded on a device: computes there. It can be shared between threads, and is not
/// pickled: keys are.
#[pyclass(frozen, module = "girih.ckks", name = "ServerKey")]
pub struct CkksServerKey(pub Arc<Loaded>);

/// A computation that ServerKey.record recorded: call it with ciphertexts of the declared levels
/// and slots, as often as wanted.
#[pyclass(frozen, module = "girih.ckks")]
pub struct Recording {
    server: Arc<Loaded>,
    recording: Arc<server::Recording>,
    inputs: usize,
    /// Whether the function returned several results.
    several: bool,
}

/// An operation, and its operands among inputs (which count first) and earlier steps.
type Step = (Operation, Vec<usize>);

/// The steps of a computation while a Python function lists them.
pub struct Tape {
    /// The set of the server.
    pub set: Set,
    inputs: usize,
    /// None once the function returned.
    steps: Mutex<Option<Vec<Step>>>,
}

impl Tape {
    /// Adds a step.
    ///
    /// # Errors
    /// `MismatchError` once the recording is finished.
    pub fn push(&self, operation: Operation, operands: Vec<usize>) -> Outcome<usize> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(steps) = steps.as_mut() else {
            return Err(Failure::mismatch("this recording is finished: its steps are of no use"));
        };
        steps.push((operation, operands));
        Ok(self.inputs + steps.len() - 1)
    }
}

/// An input of a recording: level, scale and slots.
fn declared(set: &Set, input: &Bound<'_, PyAny>) -> PyResult<(usize, f64, usize)> {
    if let Ok(example) = input.cast::<CkksCiphertexts>() {
        return Ok(example.get().declared()?);
    }
    let (level, slots) = match input.extract::<usize>() {
        Ok(level) => (level, set.slots()),
        Err(_) => input.extract::<(usize, usize)>().map_err(|_| {
            PyTypeError::new_err(
                "inputs of a recording are given by ciphertexts like them, by their level, or by \
                 (level, slots)",
            )
        })?,
    };
    let scale = (level <= set.top_level()).then(|| set.scale(level)).flatten();
    let Some(scale) = scale else {
        let most = set.default_level();
        return Err(
            Failure::mismatch(format!("an input of level {level}: there are 0 to {most}")).into()
        );
    };
    Ok((level, scale, slots))
}

#[pymethods]
impl CkksServerKey {
    #[new]
    #[pyo3(signature = (
        keys, device = None, *, bootstrap_when_needed = false, compose_rotations = false,
        may_wrap = false, progress = None
    ))]
    fn new(
        py: Python<'_>,
        keys: The<'_, CkksEvaluationKeys>,
        device: Option<&str>,
        bootstrap_when_needed: bool,
        compose_rotations: bool,
        may_wrap: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (keys, device) = (Arc::clone(&keys.get().0), device.map(str::to_owned));
        let loaded = supervise(py, progress, move |progress| {
            let device = device::open(device.as_deref())?;
            let options = Options::default()
                .with_bootstrap_when_needed(bootstrap_when_needed)
                .with_compose_rotations(compose_rotations)
                .with_may_wrap(may_wrap);
            let key = server::ServerKey::load(device.backend(), &keys, &options, progress)?;
            Outcome::Ok(Loaded { key, device: device.info().id.clone() })
        })?;
        Ok(Self(Arc::new(loaded)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> CkksParameters {
        CkksParameters(self.0.key.set().clone())
    }

    /// Name of the client key whose ciphertexts it works on.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key.key_id().to_string()
    }

    /// The device's name.
    #[getter]
    fn device(&self) -> String {
        self.0.device.clone()
    }

    /// Bytes on the device: keys, vectors, ciphertexts, working memory.
    #[getter]
    fn device_bytes(&self) -> u64 {
        self.0.key.memory().device_bytes
    }

    /// Waits until the device has all kernels that it keeps, where it begins with others while
    /// these are compiled; how many it waited for. From the next call on it is as fast as it gets.
    fn settle(&self, py: Python<'_>) -> PyResult<usize> {
        let loaded = Arc::clone(&self.0);
        wait(py, move || loaded.key.engine().settle())
    }

    /// The vectors on this device, where they stay until nothing refers to them.
    fn upload(
        &self,
        py: Python<'_>,
        ciphertexts: The<'_, CkksCiphertexts>,
    ) -> PyResult<CkksCiphertexts> {
        let (ciphertexts, server) = (ciphertexts.get(), Arc::clone(&self.0));
        let store = ciphertexts.store.clone();
        let batch = wait(py, move || store.on_device(&server))?;
        let store = Store::Device(Arc::clone(&self.0), batch);
        Ok(CkksCiphertexts::new(ciphertexts.lead.clone(), store))
    }

    /// Records a function of encrypted vectors, to be run many times. Inputs are declared by
    /// ciphertexts like them, by levels, or by (level, slots); the function is called once, here,
    /// with stand-ins for which operators and methods work.
    #[pyo3(signature = (function, *inputs))]
    fn record(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyTuple>,
    ) -> PyResult<Recording> {
        let set = self.0.key.set();
        let inputs =
            inputs.iter().map(|input| declared(set, &input)).collect::<PyResult<Vec<_>>>()?;
        if inputs.is_empty() {
            return Err(Failure::mismatch("a recording has at least one input").into());
        }
        let tape = Arc::new(Tape {
            set: set.clone(),
            inputs: inputs.len(),
            steps: Mutex::new(Some(Vec::new())),
        });
        let stand_ins = (0..inputs.len())
            .map(|i| CkksCiphertexts::new(Vec::new(), Store::Traced(Arc::clone(&tape), i)))
            .map(|stand_in| Bound::new(py, stand_in))
            .collect::<PyResult<Vec<_>>>()?;
        let returned = function.call1(PyTuple::new(py, stand_ins)?);
        let steps = tape.steps.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (returned, steps) = (returned?, steps.unwrap_or_default());
        let several = returned.is_instance_of::<PyTuple>() || returned.is_instance_of::<PyList>();
        let results: Vec<Bound<'_, PyAny>> =
            if several { returned.extract()? } else { vec![returned] };
        let results = results
            .iter()
            .map(|result| match result.cast::<CkksCiphertexts>().map(|r| &r.get().store) {
                Ok(Store::Traced(own, node)) if Arc::ptr_eq(own, &tape) => Ok(*node),
                _ => Err(PyTypeError::new_err(
                    "the function must return what it computed from its inputs, one result or a \
                     tuple of them",
                )),
            })
            .collect::<PyResult<Vec<_>>>()?;
        if results.is_empty() {
            return Err(Failure::mismatch("a recording has at least one result").into());
        }
        let (server, count) = (Arc::clone(&self.0), inputs.len());
        let recording =
            wait(py, move || server.key.record(|b| replay(b, &inputs, &steps, &results)))?;
        let (server, recording) = (Arc::clone(&self.0), Arc::new(recording));
        Ok(Recording { server, recording, inputs: count, several })
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
        let (id, set) = (self.0.key.key_id(), self.0.key.set().name());
        format!("<girih.ckks.ServerKey {id:.8} of {set} on {}>", self.0.device)
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle().into())
    }
}

/// Records the steps of a tape.
fn replay(
    builder: &mut Builder<'_>,
    inputs: &[(usize, f64, usize)],
    steps: &[Step],
    results: &[usize],
) -> ckks::Result<Vec<Node>> {
    let mut nodes = inputs
        .iter()
        .map(|&(level, scale, slots)| builder.input_with(level, scale, slots))
        .collect::<ckks::Result<Vec<_>>>()?;
    for (operation, operands) in steps {
        let operands: Vec<Node> = operands.iter().map(|&i| nodes[i]).collect();
        nodes.push(operation.record(builder, &operands)?);
    }
    Ok(results.iter().map(|&i| nodes[i]).collect())
}

#[pymethods]
impl Recording {
    /// Runs it on vectors, or on batches of one length.
    #[pyo3(signature = (*inputs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<The<'py, CkksCiphertexts>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if inputs.len() != self.inputs {
            let why = format!("{} inputs where {} were declared", inputs.len(), self.inputs);
            return Err(Failure::mismatch(why).into());
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(|i| i.get().lead.as_slice()).collect();
        let lead = common_shape(&shapes)?;
        if let Some(other) = shapes.iter().find(|shape| ***shape != lead) {
            let (other, lead) = (display(other), display(&lead));
            let why = format!(
                "batches of shapes {other} and {lead}, slots aside: a recording takes inputs of one"
            );
            return Err(Failure::mismatch(why).into());
        }
        let stores: Vec<Store> = inputs.iter().map(|input| input.get().store.clone()).collect();
        let (server, recording) = (Arc::clone(&self.server), Arc::clone(&self.recording));
        let results = wait(py, move || {
            let inputs =
                stores.iter().map(|store| store.on_device(&server)).collect::<Outcome<Vec<_>>>()?;
            Outcome::Ok(recording.run(&inputs.iter().collect::<Vec<&Ciphertexts>>())?)
        })?;
        let made = |batch| {
            CkksCiphertexts::new(lead.clone(), Store::Device(Arc::clone(&self.server), batch))
        };
        let mut results = results
            .into_iter()
            .map(made)
            .map(|r| Bound::new(py, r))
            .collect::<PyResult<Vec<_>>>()?;
        if self.several {
            return Ok(PyTuple::new(py, results)?.into_any());
        }
        results.pop().map(Bound::into_any).ok_or_else(|| Failure::mismatch("no result").into())
    }

    fn __repr__(&self) -> String {
        format!("<girih.ckks.Recording of {} inputs>", self.inputs)
    }
}
