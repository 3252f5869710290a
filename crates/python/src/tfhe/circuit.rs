//! Circuits: netlists as levels of bootstrappings.

use super::client::ClientKey;
use super::netlist::{Netlist, ports, rows, values};
use super::sets::{ParameterSet, set_of};
use crate::call::wait;
use crate::classes::The;
use crate::errors::Failure;
use crate::{arrays, wire};
use girih::circuit::{self, Bus};
use girih::tfhe::{self, LweCiphertexts};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// A netlist optimised and scheduled for a parameter set, to be run on many instances at once.
#[pyclass(frozen, module = "girih")]
pub struct Circuit {
    /// The schedule.
    pub circuit: Arc<circuit::Circuit>,
    inputs: Vec<Bus>,
    outputs: Vec<Bus>,
}

/// The bits of many instances of a circuit's inputs or outputs, encrypted.
#[pyclass(frozen, module = "girih")]
pub struct EncryptedBits(pub Arc<circuit::EncryptedBits>);

#[pymethods]
impl Circuit {
    #[new]
    #[pyo3(signature = (netlist, parameters = None, *, log2_failure = None))]
    fn new(
        py: Python<'_>,
        netlist: &Bound<'_, Netlist>,
        parameters: Option<&Bound<'_, PyAny>>,
        log2_failure: Option<f64>,
    ) -> PyResult<Self> {
        let set = parameters.map_or_else(|| Ok(tfhe::ParameterSet::default()), set_of)?;
        let netlist = Arc::clone(&netlist.get().0);
        let own = Arc::clone(&netlist);
        let circuit = wait(py, move || match log2_failure {
            None => circuit::Circuit::new(&own, &set),
            Some(most) => circuit::Circuit::with_log2_failure(&own, &set, most),
        })?;
        let circuit = Arc::new(circuit);
        let (inputs, outputs) = (netlist.inputs().to_vec(), netlist.outputs().to_vec());
        Ok(Self { circuit, inputs, outputs })
    }

    /// The circuit of a program of HEIR: that of `Netlist.from_heir(text, function)`.
    #[staticmethod]
    #[pyo3(signature = (text, parameters = None, *, function = None, log2_failure = None))]
    fn from_heir(
        py: Python<'_>,
        text: String,
        parameters: Option<&Bound<'_, PyAny>>,
        function: Option<String>,
        log2_failure: Option<f64>,
    ) -> PyResult<Self> {
        let read = move || circuit::Netlist::from_heir(&text, function.as_deref());
        Self::new(py, &Bound::new(py, Netlist::made(py, read)?)?, parameters, log2_failure)
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> ParameterSet {
        ParameterSet(self.circuit.set().clone())
    }

    /// Names and widths of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<(String, usize)> {
        ports(&self.inputs)
    }

    /// Names and widths of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<(String, usize)> {
        ports(&self.outputs)
    }

    /// Gates of the netlist.
    #[getter]
    fn gates(&self) -> usize {
        self.circuit.gates()
    }

    /// Bootstrappings of one instance.
    #[getter]
    fn bootstraps(&self) -> usize {
        self.circuit.bootstraps()
    }

    /// Bootstrappings one after another.
    #[getter]
    fn depth(&self) -> usize {
        self.circuit.depth()
    }

    /// log2 of a bound on the probability that any bit of one instance comes out wrong.
    #[getter]
    fn log2_failure(&self) -> f64 {
        self.circuit.log2_failure()
    }

    /// Encrypts the inputs of one or many instances, by name: integers (one for each instance), or
    /// bits of shape (instances, width).
    fn encrypt(
        &self,
        py: Python<'_>,
        client: The<'_, ClientKey>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<EncryptedBits> {
        let (rows, client) = (rows(&self.inputs, values)?, Arc::clone(&client.get().0));
        EncryptedBits::made(py, move || circuit::EncryptedBits::encrypt(&client, &rows))
    }

    /// Decrypts the outputs, by name: integers, one for each instance; above 64 bits, bits of shape
    /// (instances, width).
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        client: The<'py, ClientKey>,
        outputs: &Bound<'py, EncryptedBits>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (outputs, client) = (Arc::clone(&outputs.get().0), Arc::clone(&client.get().0));
        if outputs.bits() != self.circuit.output_bits() {
            let (found, wanted) = (outputs.bits(), self.circuit.output_bits());
            let why = format!("{found} bits an instance where the circuit gives {wanted}");
            return Err(Failure::mismatch(why).into());
        }
        values(py, &self.outputs, &wait(py, move || outputs.decrypt(&client))?)
    }

    /// The outputs of plain inputs, computed level by level as a device would.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rows = rows(&self.inputs, values)?;
        let circuit = Arc::clone(&self.circuit);
        let out = wait(py, move || {
            rows.iter().map(|row| circuit.simulate(row)).collect::<circuit::Result<Vec<_>>>()
        })?;
        self::values(py, &self.outputs, &out)
    }

    fn __repr__(&self) -> String {
        let (gates, bootstraps) = (self.circuit.gates(), self.circuit.bootstraps());
        let (depth, set) = (self.circuit.depth(), self.circuit.set());
        format!(
            "<girih.Circuit for {set}: {gates} gates as {bootstraps} bootstrappings in {depth} \
             levels>"
        )
    }
}

impl EncryptedBits {
    /// Bits of work that may be long.
    fn made(
        py: Python<'_>,
        work: impl FnOnce() -> circuit::Result<circuit::EncryptedBits> + Send + 'static,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(wait(py, work)?)))
    }
}

#[pymethods]
impl EncryptedBits {
    /// Encrypts bits of shape (instances, bits).
    #[staticmethod]
    fn encrypt(
        py: Python<'_>,
        client: The<'_, ClientKey>,
        rows: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let bits = arrays::bits(rows, "bits")?;
        let (&[_, width], false) = (&bits.shape[..], bits.entries.is_empty()) else {
            let why = "bits of instances have shape (instances, bits), neither of them 0";
            return Err(Failure::mismatch(why).into());
        };
        let client = Arc::clone(&client.get().0);
        Self::made(py, move || {
            let rows: Vec<&[bool]> = bits.entries.chunks_exact(width).collect();
            circuit::EncryptedBits::encrypt(&client, &rows)
        })
    }

    /// Decrypts to bits of shape (instances, bits).
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        client: The<'py, ClientKey>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (client, bits) = (Arc::clone(&client.get().0), Arc::clone(&self.0));
        let rows = wait(py, move || bits.decrypt(&client))?;
        let shape = [self.0.instances(), self.0.bits()];
        arrays::array(py, rows.concat(), &shape)
    }

    /// Number of instances.
    #[getter]
    fn instances(&self) -> usize {
        self.0.instances()
    }

    /// Bits of an instance.
    #[getter]
    fn bits(&self) -> usize {
        self.0.bits()
    }

    /// Name of the client key that they are under; None for constants.
    #[getter]
    fn key_id(&self) -> Option<String> {
        self.0.ciphertexts().key_id().map(|id| id.to_string())
    }

    /// Reads the bytes of ciphertexts as bits of so many instances.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &Bound<'_, PyAny>, instances: usize) -> PyResult<Self> {
        let bits: LweCiphertexts = wire::read(py, data, None)?;
        Self::made(py, move || circuit::EncryptedBits::new(bits, instances))
    }

    #[pyo3(signature = (*_arguments, **_keywords))]
    fn __array__(
        &self,
        _arguments: &Bound<'_, PyAny>,
        _keywords: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Err(arrays::no_array("encrypted bits of a circuit"))
    }

    /// The ciphertexts as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut all = wire::write_all(py, &self.0, |bits| vec![bits.ciphertexts()])?;
        Ok(all.swap_remove(0))
    }

    fn __repr__(&self) -> String {
        format!("<girih.EncryptedBits: {} of {} instances>", self.0.bits(), self.0.instances())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("EncryptedBits", data, self.0.instances()))
    }
}
