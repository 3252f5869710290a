//! Netlists: read, generated, or built gate by gate.

use crate::arrays;
use crate::call::compute;
use crate::errors::{Failure, Outcome};
use girih::circuit::{self, Bus, generate};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use std::sync::{Arc, Mutex, PoisonError};

/// A combinational circuit of gates, with named inputs and outputs of several bits, lowest first.
#[pyclass(frozen, module = "girih", eq)]
#[derive(PartialEq)]
pub struct Netlist(pub circuit::Netlist);

/// Widths that generators may be asked for: products of 64-bit words are 128 bits.
const WIDEST: usize = 64;

fn width(width: usize) -> Outcome<usize> {
    if (1..=WIDEST).contains(&width) {
        return Ok(width);
    }
    Err(Failure::mismatch(format!("words of {width} bits: there must be 1 to {WIDEST}")))
}

#[pymethods]
impl Netlist {
    /// Reads the JSON that Yosys writes by `write_json`: simple gates, no clocked cells.
    #[staticmethod]
    fn from_yosys(py: Python<'_>, text: &str) -> PyResult<Self> {
        Ok(Self(compute(py, || circuit::Netlist::from_yosys(text))?))
    }

    /// Reads a program of HEIR in its dialect cggi (`heir-opt --mlir-to-cggi="data-type=Bool"`):
    /// the function of that name, or the only one on ciphertexts. Inputs are in0, in1, .., outputs
    /// out0, out1, ..
    #[staticmethod]
    #[pyo3(signature = (text, function = None))]
    fn from_heir(py: Python<'_>, text: &str, function: Option<&str>) -> PyResult<Self> {
        Ok(Self(compute(py, || circuit::Netlist::from_heir(text, function))?))
    }

    /// Reads a Bristol Fashion file.
    #[staticmethod]
    fn from_bristol(py: Python<'_>, text: &str) -> PyResult<Self> {
        Ok(Self(compute(py, || circuit::Netlist::from_bristol(text))?))
    }

    /// The netlist as a Bristol Fashion file; names of inputs and outputs are lost.
    fn to_bristol(&self, py: Python<'_>) -> PyResult<String> {
        compute(py, || Outcome::Ok(self.0.to_bristol()))
    }

    /// `sum` and `carry` of `a` and `b`; `fast` takes fewer levels and more gates.
    #[staticmethod]
    #[pyo3(signature = (width, fast = false))]
    fn adder(width: usize, fast: bool) -> PyResult<Self> {
        Ok(Self(generate::adder(self::width(width)?, fast)))
    }

    /// `less` and `equal` of `a` and `b`.
    #[staticmethod]
    fn comparator(width: usize) -> PyResult<Self> {
        Ok(Self(generate::comparator(self::width(width)?)))
    }

    /// `product` of `a` and `b`, of twice their bits.
    #[staticmethod]
    fn multiplier(width: usize) -> PyResult<Self> {
        Ok(Self(generate::multiplier(self::width(width)?)))
    }

    /// `y0`, `y1`, .. as `x0`, `x1`, .. in rising order.
    #[staticmethod]
    fn sorting_network(count: usize, width: usize) -> PyResult<Self> {
        if !(1..=256).contains(&count) {
            let why = format!("{count} words to sort: there must be 1 to 256");
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self(generate::sorting_network(count, self::width(width)?)))
    }

    /// `rounds` rounds of AES-128, 10 for the cipher, of `key` and `block`.
    #[staticmethod]
    #[pyo3(signature = (rounds = 10))]
    fn aes128(py: Python<'_>, rounds: usize) -> PyResult<Self> {
        if !(1..=10).contains(&rounds) {
            let why = format!("{rounds} rounds of AES-128: there must be 1 to 10");
            return Err(Failure::mismatch(why).into());
        }
        Ok(Self(compute(py, || Outcome::Ok(generate::aes128(rounds)))?))
    }

    /// Names and widths of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<(String, usize)> {
        ports(self.0.inputs())
    }

    /// Names and widths of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<(String, usize)> {
        ports(self.0.outputs())
    }

    /// Gates that compute.
    #[getter]
    fn gates(&self) -> usize {
        self.0.gate_count()
    }

    /// The outputs of plain inputs, by name.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rows = rows(self.0.inputs(), values)?;
        let out = compute(py, || {
            rows.iter().map(|row| self.0.evaluate(row)).collect::<circuit::Result<Vec<_>>>()
        })?;
        self::values(py, self.0.outputs(), &out)
    }

    fn __repr__(&self) -> String {
        format!("<girih.Netlist: {} gates>", self.0.gate_count())
    }
}

/// Names and widths.
pub fn ports(buses: &[Bus]) -> Vec<(String, usize)> {
    buses.iter().map(|bus| (bus.name.clone(), bus.wires.len())).collect()
}

/// Values of each input by its name (a dict, or a table with a column each) as rows of bits, one an
/// instance: integers of up to 64 bits, or bits of shape (instances, width). A single value stands
/// for all instances.
///
/// # Errors
/// For names that are missing or unknown, and values that do not fit.
pub fn rows(buses: &[Bus], values: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<bool>>> {
    for name in names(values)? {
        if !buses.iter().any(|bus| bus.name == name) {
            let known: Vec<&str> = buses.iter().map(|bus| bus.name.as_str()).collect();
            let why = format!("no input {name:?}; there are {}", known.join(", "));
            return Err(Failure::mismatch(why).into());
        }
    }
    let mut columns = Vec::new();
    for bus in buses {
        let what = format!("input {:?}", bus.name);
        let Ok(value) = values.get_item(&bus.name) else {
            return Err(Failure::mismatch(format!("{what} is missing")).into());
        };
        columns.push(column(&what, bus.wires.len(), &value)?);
    }
    let instances = columns.iter().map(|(_, bits)| bits.len()).max().unwrap_or(0);
    for (bus, (single, bits)) in buses.iter().zip(&columns) {
        if !single && bits.len() != instances {
            let (name, found) = (&bus.name, bits.len());
            let why = format!("input {name:?} has {found} values where another has {instances}");
            return Err(Failure::mismatch(why).into());
        }
    }
    let row = |i: usize| {
        let at =
            |(single, bits): &(bool, Vec<Vec<bool>>)| bits[if *single { 0 } else { i }].clone();
        columns.iter().flat_map(at).collect()
    };
    Ok((0..instances).map(row).collect())
}

/// The names of a mapping's values or of a table's columns.
fn names(values: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(values) = values.cast::<PyMapping>() {
        return values.keys()?.extract();
    }
    // Tables of Arrow have the first, those of pandas and polars the second.
    for attribute in ["column_names", "columns"] {
        if let Ok(names) = values.getattr(attribute) {
            return names.try_iter()?.map(|name| name?.extract()).collect();
        }
    }
    let found = values.get_type().name()?;
    let why = format!("inputs are a dict of values by name, or a table of columns, not {found}");
    Err(PyTypeError::new_err(why))
}

/// The bits of each instance of one input, and whether there is a single value for all.
fn column(what: &str, width: usize, value: &Bound<'_, PyAny>) -> PyResult<(bool, Vec<Vec<bool>>)> {
    if let Ok(bits) = arrays::bits(value, what)
        && let [_, own] = bits.shape[..]
    {
        if own != width {
            let why = format!("{what} has {width} bits, not {own}");
            return Err(Failure::mismatch(why).into());
        }
        return Ok((false, bits.entries.chunks_exact(width).map(<[bool]>::to_vec).collect()));
    }
    let integers = arrays::integers(value, what)?;
    if integers.shape.len() > 1 || width > 64 {
        let why = format!(
            "{what} has {width} bits: give integers (of up to 64 bits), one for each instance, or \
             bits of shape (instances, {width})"
        );
        return Err(Failure::mismatch(why).into());
    }
    if integers.entries.iter().any(|&v| width < 64 && v >> width != 0) {
        let why = format!("{what} has a number that does not fit {width} bits");
        return Err(Failure::mismatch(why).into());
    }
    let bits = |v: &u64| (0..width).map(|i| v >> i & 1 == 1).collect();
    Ok((integers.shape.is_empty(), integers.entries.iter().map(bits).collect()))
}

/// Rows of bits, one an instance, as values by the names of outputs: integers, or bits of shape
/// (instances, width) above 64 bits.
///
/// # Errors
/// Those of NumPy.
pub fn values<'py>(
    py: Python<'py>,
    buses: &[Bus],
    rows: &[Vec<bool>],
) -> PyResult<Bound<'py, PyDict>> {
    let (all, mut first) = (PyDict::new(py), 0);
    for bus in buses {
        let width = bus.wires.len();
        let bits = rows.iter().map(|row| &row[first..first + width]);
        let value = if width > 64 {
            let flat: Vec<bool> = bits.flatten().copied().collect();
            arrays::array(py, flat, &[rows.len(), width])?
        } else {
            let word = |bits: &[bool]| {
                bits.iter().rev().fold(0u64, |word, &bit| word << 1 | u64::from(bit))
            };
            arrays::array(py, bits.map(word).collect(), &[rows.len()])?
        };
        all.set_item(&bus.name, value)?;
        first += width;
    }
    Ok(all)
}

/// The builder that wires belong to, until it is finished.
type Shared = Arc<Mutex<Option<circuit::Builder>>>;

/// Builds a netlist gate by gate: wires combine by &, |, ^ and ~.
#[pyclass(frozen, module = "girih")]
pub struct NetlistBuilder(Shared);

/// A wire of a NetlistBuilder.
#[pyclass(frozen, module = "girih")]
pub struct Wire {
    builder: Shared,
    wire: circuit::Wire,
}

/// Works on a builder that is not finished.
fn building<T>(shared: &Shared, work: impl FnOnce(&mut circuit::Builder) -> T) -> Outcome<T> {
    match shared.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(builder) => Ok(work(builder)),
        None => Err(Failure::mismatch("this netlist is finished: begin another builder")),
    }
}

impl NetlistBuilder {
    fn wire(&self, wire: circuit::Wire) -> Wire {
        Wire { builder: Arc::clone(&self.0), wire }
    }

    fn own(&self, wire: &Wire) -> Outcome<circuit::Wire> {
        own(&self.0, wire)
    }
}

/// A wire of this builder.
fn own(builder: &Shared, wire: &Wire) -> Outcome<circuit::Wire> {
    if Arc::ptr_eq(builder, &wire.builder) {
        return Ok(wire.wire);
    }
    Err(Failure::mismatch("this wire belongs to another builder"))
}

#[pymethods]
impl NetlistBuilder {
    #[new]
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Some(circuit::Builder::new()))))
    }

    /// A new input of `width` bits: its wires, lowest first.
    fn input(&self, name: &str, width: usize) -> PyResult<Vec<Wire>> {
        if !(1..=circuit::MAX_INPUT_BITS).contains(&width) {
            let most = circuit::MAX_INPUT_BITS;
            let why = format!("input {name:?} of {width} bits: there must be 1 to {most}");
            return Err(Failure::mismatch(why).into());
        }
        let wires = building(&self.0, |b| b.input(name, width))?;
        Ok(wires.into_iter().map(|wire| self.wire(wire)).collect())
    }

    /// Names wires as an output, lowest bit first.
    fn output(&self, name: &str, wires: Vec<Bound<'_, Wire>>) -> PyResult<()> {
        let wires = wires.iter().map(|w| self.own(w.get())).collect::<Outcome<Vec<_>>>()?;
        if wires.is_empty() {
            return Err(Failure::mismatch(format!("output {name:?} has no wires")).into());
        }
        Ok(building(&self.0, |b| b.output(name, &wires))?)
    }

    /// A constant.
    fn constant(&self, value: bool) -> PyResult<Wire> {
        Ok(self.wire(building(&self.0, |b| b.constant(value))?))
    }

    /// `select ? on : off`.
    fn mux(
        &self,
        select: &Bound<'_, Wire>,
        on: &Bound<'_, Wire>,
        off: &Bound<'_, Wire>,
    ) -> PyResult<Wire> {
        let [select, on, off] = [select, on, off].map(|w| self.own(w.get()));
        let (select, on, off) = (select?, on?, off?);
        Ok(self.wire(building(&self.0, |b| b.mux(select, on, off))?))
    }

    /// The netlist; the builder and its wires are of no more use.
    fn finish(&self) -> PyResult<Netlist> {
        let builder = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(builder) = builder else {
            return Err(Failure::mismatch("this netlist is finished: begin another builder").into());
        };
        Ok(Netlist(builder.finish().map_err(Failure::from)?))
    }
}

impl Wire {
    fn with(
        &self,
        other: &Bound<'_, Self>,
        gate: impl FnOnce(&mut circuit::Builder, circuit::Wire, circuit::Wire) -> circuit::Wire,
    ) -> PyResult<Self> {
        let other = own(&self.builder, other.get())?;
        let wire = building(&self.builder, |b| gate(b, self.wire, other))?;
        Ok(Self { builder: Arc::clone(&self.builder), wire })
    }
}

#[pymethods]
impl Wire {
    fn __and__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        self.with(other, circuit::Builder::and)
    }

    fn __or__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        self.with(other, circuit::Builder::or)
    }

    fn __xor__(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        self.with(other, circuit::Builder::xor)
    }

    fn __invert__(&self) -> PyResult<Self> {
        let wire = building(&self.builder, |b| b.not(self.wire))?;
        Ok(Self { builder: Arc::clone(&self.builder), wire })
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("a wire has no truth value: it stands for bits to come"))
    }
}
