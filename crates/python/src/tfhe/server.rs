//! Evaluation keys on a device.

use super::ciphertexts::{Ciphertexts, Encoding, Resident, Words};
use super::circuit::{Circuit, EncryptedBits};
use super::gather::{broadcast, common_shape, take};
use super::keys::EvaluationKeys;
use super::sets::ParameterSet;
use super::table::{LookUpTable, gate};
use crate::call::{supervise, supervise_whole, wait};
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::{context, device};
use girih::device::Progress;
use girih::tfhe::{self, Batch, DeviceCiphertexts, LweCiphertexts};
use girih::{LoadOptions, Transform};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Keys on a device, and its name.
pub struct Loaded {
    /// The keys.
    pub key: tfhe::ServerKey,
    /// The device's name.
    pub device: String,
}

/// Evaluation keys loaded on a device: computes there. Ciphertexts of the host are carried to the
/// device and back; those of `upload` stay there. It can be shared between threads, which work at
/// once, and is not pickled: keys are.
#[pyclass(frozen, module = "girih")]
pub struct ServerKey(pub Arc<Loaded>);

/// What is done with each message of some batches.
pub enum Operation {
    /// A gate of two bits.
    Gate(tfhe::Gate),
    /// `select ? a : b`.
    Mux,
    /// At least two of three.
    Majority,
    /// A table of a weighted sum.
    Table(tfhe::LookUpTable, Vec<i32>),
    /// A table for each message.
    Tables(Vec<tfhe::LookUpTable>),
}

impl Operation {
    /// Runs it on ciphertexts from the `first` of the whole batch on.
    fn run<B: Batch>(
        &self,
        server: &tfhe::ServerKey,
        inputs: &[&B],
        first: usize,
    ) -> tfhe::Result<B> {
        match self {
            Self::Gate(gate) => server.gate(*gate, inputs[0], inputs[1]),
            Self::Mux => server.mux(inputs[0], inputs[1], inputs[2]),
            Self::Majority => server.majority(inputs[0], inputs[1], inputs[2]),
            Self::Table(table, weights) => server.apply_weighted(inputs, weights, table),
            Self::Tables(tables) => {
                let packing = server.set().packing();
                let own = (tables.len() / packing).min(inputs[0].ciphertexts());
                server.apply_each_slot(inputs[0], &tables[first * packing..][..own * packing])
            }
        }
    }

    /// What inputs must be, and what results are.
    fn encodings(&self) -> (Encoding, Encoding) {
        match self {
            Self::Gate(_) | Self::Mux | Self::Majority => (Encoding::Bits, Encoding::Bits),
            Self::Table(table, _) => of_table(table),
            Self::Tables(tables) => of_table(&tables[0]),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Gate(_) => "a gate",
            Self::Mux => "a mux",
            Self::Majority => "a majority",
            Self::Table(..) | Self::Tables(_) => "this table",
        }
    }
}

fn of_table(table: &tfhe::LookUpTable) -> (Encoding, Encoding) {
    (Encoding::Messages(table.input_bits()), Encoding::Messages(table.output_bits()))
}

/// The ciphertexts of the first part of a long batch, which tells how long later parts may be: few
/// enough for a second on one core, many enough to fill any device.
const FIRST_PART: usize = 256;
/// The same on a GPU.
const FIRST_PART_OF_GPU: usize = 1 << 14;
/// About how long a part takes, after which signals are looked at.
const PART: Duration = Duration::from_millis(500);

/// Runs an operation on operands that may be on the host or on the device, whose shapes broadcast.
/// Long batches of the host run in parts, so that what an interrupt leaves behind ends soon.
///
/// # Errors
/// Those of the operation, and for operands that do not go together.
pub fn perform(
    py: Python<'_>,
    server: &Arc<Loaded>,
    operands: &[&Ciphertexts],
    operation: Operation,
) -> PyResult<Ciphertexts> {
    let (wanted, result) = operation.encodings();
    for operand in operands {
        operand.check(operation.name(), wanted)?;
    }
    let shapes: Vec<&[usize]> = operands.iter().map(|o| o.shape.as_slice()).collect();
    let shape = common_shape(&shapes)?;
    if operands.iter().any(|o| matches!(o.words, Words::Device(_))) {
        return resident(py, server, operands, operation, shape, result);
    }
    let inputs = operands
        .iter()
        .map(|operand| match &operand.words {
            Words::Host(batch) => placed(batch, &operand.shape, &shape)
                .map(|placed| placed.map_or_else(|| Arc::clone(batch), Arc::new)),
            Words::Device(_) => unreachable!("ciphertexts of devices went the other way"),
        })
        .collect::<Outcome<Vec<Arc<LweCiphertexts>>>>()?;
    let count = inputs.iter().map(|i| i.len()).min().unwrap_or(0);
    let gpu = server.device.as_str() != "cpu";
    let mut part = if gpu { FIRST_PART_OF_GPU } else { FIRST_PART };
    let (server, operation) = (Arc::clone(server), Arc::new(operation));
    if count <= part || !inputs.iter().all(|operand| operand.len() == count) {
        let batch = wait(py, move || {
            let inputs: Vec<&LweCiphertexts> = inputs.iter().map(AsRef::as_ref).collect();
            operation.run(&server.key, &inputs, 0)
        })?;
        return Ok(Ciphertexts::new(shape, result, Words::Host(Arc::new(batch))));
    }
    let (mut parts, mut first) = (Vec::new(), 0);
    while first < count {
        let (end, start) = ((first + part).min(count), Instant::now());
        let (server, operation) = (Arc::clone(&server), Arc::clone(&operation));
        let inputs = inputs.clone();
        parts.push(wait(py, move || {
            let slices = inputs
                .iter()
                .map(|input| input.slice(first..end))
                .collect::<tfhe::Result<Vec<_>>>()?;
            // Slices of one batch are one batch: a gate of a bit with itself is known by that.
            let slices: Vec<_> = inputs
                .iter()
                .map(|input| inputs.iter().position(|i| Arc::ptr_eq(i, input)).unwrap_or(0))
                .map(|at| &slices[at])
                .collect();
            operation.run(&server.key, &slices, first)
        })?);
        let pace = PART.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-6);
        part = ((part as f64 * pace.clamp(0.25, 4.0)) as usize).max(FIRST_PART);
        first = end;
    }
    let batch = wait(py, move || LweCiphertexts::concatenate(&parts.iter().collect::<Vec<_>>()))?;
    Ok(Ciphertexts::new(shape, result, Words::Host(Arc::new(batch))))
}

/// A batch of shape `from` broadcast to `to`; none where it has that shape.
fn placed(batch: &LweCiphertexts, from: &[usize], to: &[usize]) -> Outcome<Option<LweCiphertexts>> {
    if from == to {
        return Ok(None);
    }
    if batch.set().packing() > 1 {
        let why = "arrays of several messages to a ciphertext take part as they are: their shapes \
                   must be equal";
        return Err(Failure::mismatch(why));
    }
    take(batch, &broadcast(from, to)).map(Some)
}

/// The same on the device, where the other operands are brought.
fn resident(
    py: Python<'_>,
    server: &Arc<Loaded>,
    operands: &[&Ciphertexts],
    operation: Operation,
    shape: Vec<usize>,
    result: Encoding,
) -> PyResult<Ciphertexts> {
    let (to, loaded) = (shape.clone(), Arc::clone(server));
    let operands: Vec<(Words, Vec<usize>)> =
        operands.iter().map(|o| (o.words.clone(), o.shape.clone())).collect();
    let batch = wait(py, move || {
        let inputs = operands
            .iter()
            .map(|(words, from)| match words {
                _ if *from == to => on_device(&loaded, words),
                Words::Host(batch) => {
                    let placed = placed(batch, from, &to)?.map(Arc::new);
                    let placed = placed.unwrap_or_else(|| Arc::clone(batch));
                    on_device(&loaded, &Words::Host(placed))
                }
                Words::Device(at) => {
                    let batch = at.server.key.download(&at.batch)?;
                    let placed = placed(&batch, from, &to)?.unwrap_or(batch);
                    on_device(&loaded, &Words::Host(Arc::new(placed)))
                }
            })
            .collect::<Outcome<Vec<_>>>()?;
        let inputs: Vec<&DeviceCiphertexts> = inputs.iter().map(|i| &i.batch).collect();
        Outcome::Ok(operation.run(&loaded.key, &inputs, 0)?)
    })?;
    let resident = Resident { server: Arc::clone(server), batch };
    Ok(Ciphertexts::new(shape, result, Words::Device(Arc::new(resident))))
}

/// Ciphertexts on the device of `server`.
///
/// # Errors
/// For ciphertexts of other keys, and failures of the device.
pub fn upload(
    py: Python<'_>,
    server: &Arc<Loaded>,
    ciphertexts: &Ciphertexts,
) -> PyResult<Ciphertexts> {
    let (loaded, words) = (Arc::clone(server), ciphertexts.words.clone());
    let resident = wait(py, move || on_device(&loaded, &words))?;
    let (shape, encoding) = (ciphertexts.shape.clone(), ciphertexts.encoding);
    Ok(Ciphertexts::new(shape, encoding, Words::Device(resident)))
}

/// Ciphertexts beside the keys of `server`.
fn on_device(server: &Arc<Loaded>, words: &Words) -> Outcome<Arc<Resident>> {
    match words {
        Words::Device(resident) => Ok(Arc::clone(resident)),
        Words::Host(batch) => {
            let batch = server.key.upload(batch)?;
            Ok(Arc::new(Resident { server: Arc::clone(server), batch }))
        }
    }
}

impl ServerKey {
    /// Ciphertexts beside these keys.
    ///
    /// # Errors
    /// For ciphertexts of other keys or on another device, and failures of the device.
    pub fn upload_words(&self, py: Python<'_>, ciphertexts: &Ciphertexts) -> PyResult<Ciphertexts> {
        if let Words::Device(at) = &ciphertexts.words
            && !Arc::ptr_eq(&at.server, &self.0)
        {
            let why = format!("these ciphertexts are on {} already: to_host() first", {
                &at.server.device
            });
            return Err(Failure::mismatch(why).into());
        }
        upload(py, &self.0, ciphertexts)
    }
}

/// The transform of this name: `ntt` or `fft`, or as devices list them.
///
/// # Errors
/// `MismatchError` for others.
pub fn transform(name: &str) -> Outcome<Transform> {
    let known = [("ntt", Transform::Ntt), ("fft", Transform::Fft)];
    let found = known.iter().find(|(short, t)| *short == name || t.to_string() == name);
    found.map(|(_, transform)| *transform).ok_or_else(|| {
        Failure::mismatch(format!(
            "no transform {name:?}; there are {}",
            known.map(|k| k.0).join(", ")
        ))
    })
}

#[pymethods]
impl ServerKey {
    #[new]
    #[pyo3(signature = (keys, device = None, *, transform = None, progress = None))]
    fn new(
        py: Python<'_>,
        keys: The<'_, EvaluationKeys>,
        device: Option<&str>,
        transform: Option<&str>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let transform = transform.map(self::transform).transpose()?;
        let (keys, device) = (Arc::clone(&keys.get().0), device.map(str::to_owned));
        let loaded = supervise(py, progress, move |progress| {
            let device = device::open(device.as_deref())?;
            let options = LoadOptions::default().with_transform(transform);
            let key = device.loader().options(options).progress(progress).load(keys.as_ref())?;
            Outcome::Ok(Loaded { key, device: device.info().id.clone() })
        })?;
        Ok(Self(Arc::new(loaded)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.0.key.set().clone())
    }

    /// Bytes on the device: keys with all their masks, 8 a word, and tables.
    #[getter]
    fn device_bytes(&self) -> u64 {
        let key = &self.0.key;
        tfhe::EvaluationKeys::expanded_bytes(key.set()) + key.table_bytes() as u64
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

    /// How it works there: transform and plan, in words.
    #[getter]
    fn plan(&self) -> String {
        format!("{}, {}", self.0.key.engine().transform(), self.0.key.engine().plan())
    }

    /// log2 of the failure probability of one message above which operations are refused.
    #[getter]
    fn failure_limit(&self) -> f64 {
        self.0.key.failure_limit()
    }

    /// Refuses, from now on, what fails with a probability above 2**log2_failure a message.
    fn limit_failure(&self, log2_failure: f64) -> PyResult<()> {
        Ok(self.0.key.limit_failure(log2_failure).map_err(Failure::from)?)
    }

    /// Waits until the device has all kernels that it keeps, where it begins with others while
    /// these are compiled; how many it waited for. From the next call on it is as fast as it gets.
    fn settle(&self, py: Python<'_>) -> PyResult<usize> {
        let loaded = Arc::clone(&self.0);
        wait(py, move || loaded.key.engine().settle())
    }

    /// The ciphertexts on this device, where they stay until nothing refers to them.
    fn upload(&self, py: Python<'_>, ciphertexts: The<'_, Ciphertexts>) -> PyResult<Ciphertexts> {
        self.upload_words(py, ciphertexts.get())
    }

    /// A gate of two arrays of bits: "nand", "and", "or", "nor", "xor", "xnor".
    fn gate(
        &self,
        py: Python<'_>,
        name: &str,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
    ) -> PyResult<Ciphertexts> {
        let operation = Operation::Gate(gate(name)?);
        self.with_bits(py, [a, b], operation)
    }

    /// `select ? a : b` for every bit: three bootstrappings.
    fn mux(
        &self,
        py: Python<'_>,
        select: &Bound<'_, PyAny>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
    ) -> PyResult<Ciphertexts> {
        self.with_bits(py, [select, a, b], Operation::Mux)
    }

    /// Whether at least two of three bits are set: one bootstrapping.
    fn majority(
        &self,
        py: Python<'_>,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        c: &Bound<'_, PyAny>,
    ) -> PyResult<Ciphertexts> {
        self.with_bits(py, [a, b, c], Operation::Majority)
    }

    /// A look-up table of every message.
    fn apply(
        &self,
        py: Python<'_>,
        messages: The<'_, Ciphertexts>,
        table: &Bound<'_, LookUpTable>,
    ) -> PyResult<Ciphertexts> {
        let operation = Operation::Table(table.get().0.clone(), vec![1]);
        perform(py, &self.0, &[messages.get()], operation)
    }

    /// A look-up table of the sum of weight * array over up to four arrays.
    fn apply_weighted(
        &self,
        py: Python<'_>,
        arrays: Vec<The<'_, Ciphertexts>>,
        weights: Vec<i32>,
        table: &Bound<'_, LookUpTable>,
    ) -> PyResult<Ciphertexts> {
        let operands: Vec<&Ciphertexts> = arrays.iter().map(|array| array.get()).collect();
        perform(py, &self.0, &operands, Operation::Table(table.get().0.clone(), weights))
    }

    /// A look-up table of its own for each message, in the order of rows.
    fn apply_each(
        &self,
        py: Python<'_>,
        messages: The<'_, Ciphertexts>,
        tables: Vec<Bound<'_, LookUpTable>>,
    ) -> PyResult<Ciphertexts> {
        let (messages, wanted) = (messages.get(), messages.get().shape.iter().product::<usize>());
        if tables.len() != wanted {
            let why = format!("{} tables for {wanted} messages: as many of each", tables.len());
            return Err(Failure::mismatch(why).into());
        }
        let tables: Vec<_> = tables.iter().map(|table| table.get().0.clone()).collect();
        if tables.iter().any(|t| of_table(t) != of_table(&tables[0])) {
            let why = "the tables of one array must have equal bits and output bits";
            return Err(Failure::mismatch(why).into());
        }
        perform(py, &self.0, &[messages], Operation::Tables(tables))
    }

    /// Runs a circuit on all instances at once: outputs, and a report as a dict.
    #[pyo3(signature = (circuit, inputs, *, progress = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        circuit: &Bound<'py, Circuit>,
        inputs: &Bound<'py, EncryptedBits>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(EncryptedBits, Bound<'py, PyDict>)> {
        let (circuit, inputs) = (&circuit.get().circuit, &inputs.get().0);
        let run = |progress: &dyn Progress| circuit.evaluate(&self.0.key, inputs, progress);
        let (outputs, report) = supervise_whole(py, progress, run)?;
        let facts = PyDict::new(py);
        facts.set_item("gates", report.gates)?;
        facts.set_item("instances", report.instances)?;
        facts.set_item("bootstraps", report.bootstraps)?;
        facts.set_item("depth", report.depth)?;
        facts.set_item("seconds", report.seconds)?;
        facts.set_item("gates_per_s", report.gates_per_s)?;
        facts.set_item("log2_failure", report.log2_failure)?;
        Ok((EncryptedBits(Arc::new(outputs)), facts))
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
        let (id, set) = (self.0.key.key_id(), self.0.key.set());
        format!("<girih.ServerKey {id:.8} of {set} on {}>", self.0.device)
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle().into())
    }
}

impl ServerKey {
    /// An operation on arrays of bits, encrypted or plain.
    fn with_bits<const N: usize>(
        &self,
        py: Python<'_>,
        operands: [&Bound<'_, PyAny>; N],
        operation: Operation,
    ) -> PyResult<Ciphertexts> {
        let constants = operands
            .iter()
            .map(|operand| match operand.cast::<Ciphertexts>() {
                Ok(_) => Ok(None),
                Err(_) => Ciphertexts::constant(py, self.0.key.set(), operand, None).map(Some),
            })
            .collect::<PyResult<Vec<_>>>()?;
        let operands: Vec<&Ciphertexts> = operands
            .iter()
            .zip(&constants)
            .map(|(operand, constant)| match (constant, operand.cast::<Ciphertexts>()) {
                (Some(constant), _) => Ok(constant),
                (None, Ok(ciphertexts)) => Ok(ciphertexts.get()),
                (None, Err(wrong)) => Err(wrong.into()),
            })
            .collect::<PyResult<_>>()?;
        perform(py, &self.0, &operands, operation)
    }
}

/// The words with which loaded keys refuse to be pickled.
pub fn refuse_pickle() -> Failure {
    Failure::new(
        "PickleError",
        "loaded keys belong to a device of this process and are not pickled: pickle the \
         evaluation keys and load them where they are to run (girih.worker.server does so once a \
         process)",
    )
}
