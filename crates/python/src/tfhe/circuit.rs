//! Circuits: netlists as levels of bootstrappings.

use super::client::ClientKey;
use super::netlist::{Netlist, ports, rows, values};
use super::sets::{ParameterSet, set_of};
use crate::call::compute;
use crate::errors::Failure;
use crate::{arrays, wire};
use girih::circuit::{self, Bus};
use girih::tfhe::{self, LweCiphertexts};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A netlist optimised and scheduled for a parameter set, to be run on many instances at once.
#[pyclass(frozen, module = "girih")]
pub struct Circuit {
    /// The schedule.
    pub circuit: circuit::Circuit,
    inputs: Vec<Bus>,
    outputs: Vec<Bus>,
}

/// The bits of many instances of a circuit's inputs or outputs, encrypted.
#[pyclass(frozen, module = "girih")]
pub struct EncryptedBits(pub circuit::EncryptedBits);

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
        let netlist = &netlist.get().0;
        let circuit = compute(py, || match log2_failure {
            None => circuit::Circuit::new(netlist, &set),
            Some(most) => circuit::Circuit::with_log2_failure(netlist, &set, most),
        })?;
        let (inputs, outputs) = (netlist.inputs().to_vec(), netlist.outputs().to_vec());
        Ok(Self { circuit, inputs, outputs })
    }

    /// The circuit of a program of HEIR: that of `Netlist.from_heir(text, function)`.
    #[staticmethod]
    #[pyo3(signature = (text, parameters = None, *, function = None, log2_failure = None))]
    fn from_heir(
        py: Python<'_>,
        text: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        function: Option<&str>,
        log2_failure: Option<f64>,
    ) -> PyResult<Self> {
        let netlist = compute(py, || circuit::Netlist::from_heir(text, function))?;
        Self::new(py, &Bound::new(py, Netlist(netlist))?, parameters, log2_failure)
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
        client: &Bound<'_, ClientKey>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<EncryptedBits> {
        let (rows, client) = (rows(&self.inputs, values)?, &client.get().0);
        Ok(EncryptedBits(compute(py, || circuit::EncryptedBits::encrypt(client, &rows))?))
    }

    /// Decrypts the outputs, by name: integers, one for each instance; above 64 bits, bits of shape
    /// (instances, width).
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        client: &Bound<'py, ClientKey>,
        outputs: &Bound<'py, EncryptedBits>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (outputs, client) = (&outputs.get().0, &client.get().0);
        if outputs.bits() != self.circuit.output_bits() {
            let (found, wanted) = (outputs.bits(), self.circuit.output_bits());
            let why = format!("{found} bits an instance where the circuit gives {wanted}");
            return Err(Failure::mismatch(why).into());
        }
        values(py, &self.outputs, &compute(py, || outputs.decrypt(client))?)
    }

    /// The outputs of plain inputs, computed level by level as a device would.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rows = rows(&self.inputs, values)?;
        let out = compute(py, || {
            rows.iter().map(|row| self.circuit.simulate(row)).collect::<circuit::Result<Vec<_>>>()
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

#[pymethods]
impl EncryptedBits {
    /// Encrypts bits of shape (instances, bits).
    #[staticmethod]
    fn encrypt(
        py: Python<'_>,
        client: &Bound<'_, ClientKey>,
        rows: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let bits = arrays::bits(rows, "bits")?;
        let (&[_, width], false) = (&bits.shape[..], bits.entries.is_empty()) else {
            let why = "bits of instances have shape (instances, bits), neither of them 0";
            return Err(Failure::mismatch(why).into());
        };
        let rows: Vec<&[bool]> = bits.entries.chunks_exact(width).collect();
        let client = &client.get().0;
        Ok(Self(compute(py, || circuit::EncryptedBits::encrypt(client, &rows))?))
    }

    /// Decrypts to bits of shape (instances, bits).
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        client: &Bound<'py, ClientKey>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = &client.get().0;
        let rows = compute(py, || self.0.decrypt(client))?;
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
        Ok(Self(compute(py, || circuit::EncryptedBits::new(bits, instances))?))
    }

    /// The ciphertexts as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        wire::write(py, self.0.ciphertexts())
    }

    fn __repr__(&self) -> String {
        format!("<girih.EncryptedBits: {} of {} instances>", self.0.bits(), self.0.instances())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("EncryptedBits", data, self.0.instances()))
    }
}
