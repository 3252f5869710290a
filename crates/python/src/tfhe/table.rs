//! Look-up tables and functions, made of callables or of values.

use crate::errors::{Failure, Outcome};
use girih::tfhe;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Any function from messages of `bits` bits to messages of `output_bits` bits (as many unless
/// given), evaluated by one bootstrapping. A callable is called here, once for each message, and
/// never later; a sequence lists the values.
#[pyclass(frozen, module = "girih", eq)]
#[derive(PartialEq)]
pub struct LookUpTable(pub tfhe::LookUpTable);

/// A function from all messages of `bits` bits, without padding, for LargeServerKey.function.
#[pyclass(frozen, module = "girih", eq)]
#[derive(PartialEq)]
pub struct Function(pub tfhe::Function);

/// The values of a callable, or of a sequence, for messages of `bits` bits.
fn values(function: &Bound<'_, PyAny>, bits: u32) -> PyResult<Vec<u64>> {
    let value = |m: u64, value: Bound<'_, PyAny>| {
        value.extract::<u64>().map_err(|_| {
            PyTypeError::new_err(format!(
                "the value for message {m} is {value}: it must be an integer from 0 on"
            ))
        })
    };
    if function.is_callable() {
        return (0..1 << bits).map(|m| value(m, function.call1((m,))?)).collect();
    }
    let Ok(listed) = function.try_iter() else {
        return Err(PyTypeError::new_err(format!(
            "a table is made of a callable or a sequence of values, not of {}",
            function.get_type().name()?
        )));
    };
    let all =
        listed.enumerate().map(|(m, item)| value(m as u64, item?)).collect::<PyResult<Vec<_>>>()?;
    if all.len() != 1 << bits {
        let why = format!("{} values for messages of {bits} bits: there must be {}", all.len(), {
            1u64 << bits
        });
        return Err(Failure::mismatch(why).into());
    }
    Ok(all)
}

#[pymethods]
impl LookUpTable {
    #[new]
    #[pyo3(signature = (bits, function, output_bits = None))]
    fn new(bits: u32, function: &Bound<'_, PyAny>, output_bits: Option<u32>) -> PyResult<Self> {
        let output_bits = output_bits.unwrap_or(bits);
        // Bits out of range are refused before anything is called 2^bits times.
        tfhe::LookUpTable::with_output_bits(bits, output_bits, |_| 0).map_err(Failure::from)?;
        let values = values(function, bits)?;
        let table = tfhe::LookUpTable::with_output_bits(bits, output_bits, |m| values[m as usize]);
        Ok(Self(table.map_err(Failure::from)?))
    }

    /// Bits of an input message.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.input_bits()
    }

    /// Bits of an output message.
    #[getter]
    fn output_bits(&self) -> u32 {
        self.0.output_bits()
    }

    /// What each message maps to.
    #[getter]
    fn values(&self) -> Vec<u64> {
        self.0.values().to_vec()
    }

    fn __repr__(&self) -> String {
        let (bits, out, values) =
            (self.0.input_bits(), self.0.output_bits(), shortened(self.0.values()));
        format!("girih.LookUpTable({bits}, {values}, {out})")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (self.bits(), self.values(), self.output_bits());
        Ok((py.get_type::<Self>(), arguments).into_pyobject(py)?.into_any())
    }
}

#[pymethods]
impl Function {
    #[new]
    #[pyo3(signature = (bits, function, output_bits = None))]
    fn new(bits: u32, function: &Bound<'_, PyAny>, output_bits: Option<u32>) -> PyResult<Self> {
        let output_bits = output_bits.unwrap_or(bits);
        tfhe::Function::new(bits, output_bits, |_| 0).map_err(Failure::from)?;
        let made = tfhe::Function::from_values(output_bits, values(function, bits)?);
        Ok(Self(made.map_err(Failure::from)?))
    }

    /// Bits of an input message.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.input_bits()
    }

    /// Bits of an output message.
    #[getter]
    fn output_bits(&self) -> u32 {
        self.0.output_bits()
    }

    /// What each message maps to.
    #[getter]
    fn values(&self) -> Vec<u64> {
        self.0.values().to_vec()
    }

    /// Bootstrappings of one evaluation: 1 or 2.
    #[getter]
    fn bootstraps(&self) -> usize {
        self.0.bootstraps()
    }

    fn __repr__(&self) -> String {
        let (bits, out, values) =
            (self.0.input_bits(), self.0.output_bits(), shortened(self.0.values()));
        format!("girih.Function({bits}, {values}, {out})")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (self.bits(), self.values(), self.output_bits());
        Ok((py.get_type::<Self>(), arguments).into_pyobject(py)?.into_any())
    }
}

/// A list of values for people.
fn shortened(values: &[u64]) -> String {
    match values {
        values if values.len() <= 16 => format!("{values:?}"),
        [first, second, third, ..] => format!("[{first}, {second}, {third}, ...]"),
        _ => unreachable!("more than 16 values have a third"),
    }
}

/// The gate of this name.
///
/// # Errors
/// `MismatchError` listing the names that there are.
pub fn gate(name: &str) -> Outcome<tfhe::Gate> {
    Ok(name.parse()?)
}
