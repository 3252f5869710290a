//! What integers are: their kinds and widths, and values in the plain.

use crate::arrays;
use crate::errors::{Failure, Outcome};
use girih::integer::{Engine, FheBool, FheInt, FheUint, I256, Integer, U256};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList};
use std::cmp::Ordering;

/// What an element of an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A condition.
    Bool,
    /// A natural number of so many bits.
    Uint(u32),
    /// A number of so many bits in two's complement.
    Int(u32),
}

const WIDTHS: [u32; 8] = [4, 8, 16, 32, 64, 128, 160, 256];

impl Kind {
    /// The kind of this name: those of NumPy, and 4, 128, 160 and 256 bits.
    ///
    /// # Errors
    /// `MismatchError` for any other, naming what there is.
    pub fn parse(name: &str) -> Outcome<Self> {
        let width = |bits: &str| WIDTHS.into_iter().find(|width| width.to_string() == bits);
        let found = match (name.strip_prefix("uint"), name.strip_prefix("int")) {
            _ if name == "bool" => Some(Self::Bool),
            (Some(bits), _) => width(bits).map(Self::Uint),
            (None, Some(bits)) => width(bits).map(Self::Int),
            _ => None,
        };
        found.ok_or_else(|| {
            Failure::mismatch(format!(
                "no integers {name:?}; there are bool, and int and uint of 4, 8, 16, 32, 64, \
                 128, 160 and 256 bits, such as uint16"
            ))
        })
    }
}

impl Kind {
    /// The kind that a dtype is, by its name or as NumPy has it.
    ///
    /// # Errors
    /// As [`Kind::parse`], and `TypeError` for no dtype.
    pub fn of(dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = dtype.extract::<String>() {
            return Ok(Self::parse(&name)?);
        }
        let dtype = dtype.py().import("numpy")?.call_method1("dtype", (dtype,))?;
        Ok(Self::parse(&dtype.getattr("name")?.extract::<String>()?)?)
    }

    /// Bits of an element; of conditions 1.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Uint(bits) | Self::Int(bits) => bits,
        }
    }

    /// The narrowest kind that sums of `terms` elements fit; none where no integers are as wide.
    pub fn of_sums(self, terms: usize) -> Option<Self> {
        let carries = usize::BITS - terms.saturating_sub(1).leading_zeros();
        let (bits, made): (u32, fn(u32) -> Self) = match self {
            Self::Bool => (usize::BITS - terms.leading_zeros(), Self::Uint),
            Self::Uint(bits) => (bits + carries, Self::Uint),
            Self::Int(bits) => (bits + carries, Self::Int),
        };
        WIDTHS.into_iter().find(|width| *width >= bits).map(made)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Uint(bits) => write!(f, "uint{bits}"),
            Self::Int(bits) => write!(f, "int{bits}"),
        }
    }
}

/// Something for the type of a kind.
macro_rules! for_kind {
    ($kind:expr, $($family:ident)::+, $type:ident => $body:expr) => {{
        use $($family)::+ as family;
        $crate::integer::kind::for_kind!(@ $kind, $type, $body, 4 8 16 32 64 128 160 256)
    }};
    (@ $kind:expr, $type:ident, $body:expr, $($bits:literal)*) => {
        match $kind {
            $crate::integer::kind::Kind::Bool => {
                type $type = family::FheBool;
                $body
            }
            $(
                $crate::integer::kind::Kind::Uint($bits) => {
                    type $type = family::FheUint<$bits>;
                    $body
                }
                $crate::integer::kind::Kind::Int($bits) => {
                    type $type = family::FheInt<$bits>;
                    $body
                }
            )*
            kind => Err($crate::errors::Failure::mismatch(format!("there are no {kind}"))),
        }
    };
}
pub(crate) use for_kind;

/// A value in the plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// Of conditions.
    Bool(bool),
    /// Of natural numbers.
    Natural(U256),
    /// Of numbers in two's complement.
    Whole(I256),
}

/// The integers of girih, with what their values are here.
pub trait Element: Integer + Send + Sync + 'static {
    /// Their kind.
    const KIND: Kind;

    /// A value of theirs.
    fn plain(value: Self::Known) -> Plain;

    /// The value of theirs that this is; none for one of another kind.
    fn value(plain: Plain) -> Option<Self::Known>;
}

impl<E: Engine> Element for FheBool<E>
where
    Self: Send + Sync + 'static,
{
    const KIND: Kind = Kind::Bool;

    fn plain(value: bool) -> Plain {
        Plain::Bool(value)
    }

    fn value(plain: Plain) -> Option<bool> {
        if let Plain::Bool(value) = plain { Some(value) } else { None }
    }
}

impl<const BITS: u32, E: Engine> Element for FheUint<BITS, E>
where
    Self: Send + Sync + 'static,
{
    const KIND: Kind = Kind::Uint(BITS);

    fn plain(value: U256) -> Plain {
        Plain::Natural(value)
    }

    fn value(plain: Plain) -> Option<U256> {
        if let Plain::Natural(value) = plain { Some(value) } else { None }
    }
}

impl<const BITS: u32, E: Engine> Element for FheInt<BITS, E>
where
    Self: Send + Sync + 'static,
{
    const KIND: Kind = Kind::Int(BITS);

    fn plain(value: I256) -> Plain {
        Plain::Whole(value)
    }

    fn value(plain: Plain) -> Option<I256> {
        if let Plain::Whole(value) = plain { Some(value) } else { None }
    }
}

impl Kind {
    /// A number of Python as a value of this kind.
    ///
    /// # Errors
    /// `TypeError` for no number, `MismatchError` for one that has no such value.
    pub fn plain(self, value: &Bound<'_, PyAny>) -> PyResult<Plain> {
        if self == Self::Bool {
            return match value.extract() {
                Ok(condition) => Ok(Plain::Bool(condition)),
                Err(_) => Err(PyTypeError::new_err(format!(
                    "a condition is True or False, not {}",
                    value.get_type().name()?
                ))),
            };
        }
        let index = self.index(value)?;
        let plain = match self {
            Self::Int(_) => whole(&index)?.map(Plain::Whole),
            _ => natural(&index)?.map(Plain::Natural),
        };
        // It may be secret: what it is is not said.
        Ok(plain.ok_or_else(|| Failure::mismatch(format!("a number does not fit {self}")))?)
    }
}

impl Kind {
    /// A whole number of Python as the nearest value of this kind, and on which side of that it is.
    ///
    /// # Errors
    /// As [`Kind::plain`], but for numbers out of range.
    pub fn nearest(self, value: &Bound<'_, PyAny>) -> PyResult<(Plain, Ordering)> {
        if self == Self::Bool {
            return Ok((self.plain(value)?, Ordering::Equal));
        }
        let value = self.index(value)?;
        let (least, most) = match self {
            Self::Int(bits) => {
                let most = extreme(bits - 1);
                (Plain::Whole(flipped(most).as_signed()), Plain::Whole(most.as_signed()))
            }
            _ => (Plain::Natural(U256::ZERO), Plain::Natural(extreme(self.bits()))),
        };
        let below = value.lt(0)?;
        let inside = match (least, most) {
            (Plain::Whole(least), Plain::Whole(most)) => {
                whole(&value)?.filter(|v| (least..=most).contains(v)).map(Plain::Whole)
            }
            (_, Plain::Natural(most)) => {
                natural(&value)?.filter(|v| *v <= most).map(Plain::Natural)
            }
            _ => None,
        };
        Ok(match inside {
            Some(plain) => (plain, Ordering::Equal),
            None if below => (least, Ordering::Less),
            None => (most, Ordering::Greater),
        })
    }

    /// A number of Python, or what has an index, such as integers of NumPy.
    fn index<'py>(self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let index = value.py().import("operator")?.getattr("index")?.call1((value,));
        index.map_err(|_| match value.get_type().name() {
            Ok(name) => PyTypeError::new_err(format!("{self} are whole numbers, not {name}")),
            Err(error) => error,
        })
    }
}

/// The largest number of so many bits.
fn extreme(bits: u32) -> U256 {
    let kept = |i: u32| bits.saturating_sub(64 * i).min(64);
    let word = |i: u32| u64::MAX.checked_shr(64 - kept(i)).unwrap_or(0);
    U256::from_words([0, 1, 2, 3].map(word))
}

/// All bits the other way round.
fn flipped(value: U256) -> U256 {
    U256::from_words(value.words().map(|word| !word))
}

/// An int of Python of at most 256 bits.
fn natural(value: &Bound<'_, PyAny>) -> PyResult<Option<U256>> {
    if let Ok(small) = value.extract::<u128>() {
        return Ok(Some(U256::from(small)));
    }
    Ok(bytes_of(value, false)?.map(U256::from_le_bytes))
}

/// The same in two's complement.
fn whole(value: &Bound<'_, PyAny>) -> PyResult<Option<I256>> {
    if let Ok(small) = value.extract::<i128>() {
        return Ok(Some(I256::from(small)));
    }
    Ok(bytes_of(value, true)?.map(I256::from_le_bytes))
}

/// The 32 bytes of an int, lowest first; none where it takes more.
fn bytes_of(value: &Bound<'_, PyAny>, signed: bool) -> PyResult<Option<[u8; 32]>> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("signed", signed)?;
    match value.call_method("to_bytes", (32, "little"), Some(&options)) {
        Ok(bytes) => Ok(bytes.extract::<Vec<u8>>()?.try_into().ok()),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An int of Python of these bytes, lowest first.
fn int<'py>(py: Python<'py>, bytes: [u8; 32], signed: bool) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item("signed", signed)?;
    let arguments = (PyBytes::new(py, &bytes), "little");
    py.get_type::<PyInt>().call_method("from_bytes", arguments, Some(&options))
}

/// The entries of an array of whole numbers or booleans, as objects of Python, and its shape.
///
/// # Errors
/// As [`arrays::as_array`].
pub fn objects<'py>(values: &Bound<'py, PyAny>) -> PyResult<(Vec<Bound<'py, PyAny>>, Vec<usize>)> {
    let array = arrays::as_array(values)?;
    let shape = array.getattr("shape")?.extract()?;
    let list = array.call_method0("ravel")?.call_method0("tolist")?;
    Ok((list.try_iter()?.collect::<PyResult<_>>()?, shape))
}

/// Values of Python, their shape and kind; `kind` where it is given, else that of the array.
///
/// # Errors
/// `TypeError` for no integers, `MismatchError` for values that do not fit.
pub fn plains(
    values: &Bound<'_, PyAny>,
    kind: Option<Kind>,
) -> PyResult<(Vec<Plain>, Vec<usize>, Kind)> {
    let array = arrays::as_array(values)?;
    let dtype: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let kind = match (kind, dtype.as_str()) {
        (Some(kind), _) => kind,
        // Whole numbers beyond 64 bits.
        (None, "object") => {
            let why = "integers beyond 64 bits need a dtype: \"uint128\", \"int128\", or such a \
                       one of 160 or 256 bits";
            return Err(PyTypeError::new_err(why));
        }
        // What lists of numbers and most columns are, without a thought of anyone's.
        (None, "int64") => {
            let why = "int64 is what NumPy takes where nobody names a type, and 64 bits take \
                       longest: name the narrowest that fits, such as dtype=\"uint8\", or \
                       dtype=\"int64\"";
            return Err(PyTypeError::new_err(why));
        }
        (None, name) => Kind::parse(name).map_err(|_| {
            PyTypeError::new_err(format!("integers or booleans are encrypted here, not {name}"))
        })?,
    };
    let (entries, shape) = objects(&array)?;
    let entries = entries.iter().map(|value| kind.plain(value));
    Ok((entries.collect::<PyResult<_>>()?, shape, kind))
}

/// An array of NumPy of these values, of its own type of the kind; those of 4 bits are of 8, those
/// of 128 bits and more are objects.
///
/// # Errors
/// If NumPy refuses, as where memory runs out.
pub fn array<'py>(
    py: Python<'py>,
    values: &[Plain],
    kind: Kind,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let flags = || values.iter().map(|v| *v == Plain::Bool(true)).collect();
    macro_rules! of {
        ($type:ty) => {
            // Values fit their kind, whichever way they are held.
            arrays::array(py, values.iter().map(|v| v.low() as $type).collect(), shape)
        };
    }
    match kind {
        Kind::Bool => arrays::array::<bool>(py, flags(), shape),
        Kind::Uint(4 | 8) => of!(u8),
        Kind::Uint(16) => of!(u16),
        Kind::Uint(32) => of!(u32),
        Kind::Uint(64) => of!(u64),
        Kind::Int(4 | 8) => of!(i8),
        Kind::Int(16) => of!(i16),
        Kind::Int(32) => of!(i32),
        Kind::Int(64) => of!(i64),
        Kind::Uint(_) | Kind::Int(_) => {
            let list = PyList::empty(py);
            for value in values {
                match value {
                    Plain::Bool(value) => list.append(*value)?,
                    Plain::Natural(value) => list.append(int(py, value.to_le_bytes(), false)?)?,
                    Plain::Whole(value) => list.append(int(py, value.to_le_bytes(), true)?)?,
                }
            }
            let array = py.import("numpy")?.call_method1("array", (list, "object"))?;
            match shape {
                [] => array.get_item(0),
                _ => array.call_method1("reshape", (shape.to_vec(),)),
            }
        }
    }
}

impl Plain {
    /// 0, of this kind.
    pub fn zero(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bool(false),
            Kind::Uint(_) => Self::Natural(U256::ZERO),
            Kind::Int(_) => Self::Whole(I256::ZERO),
        }
    }

    /// Its lowest 64 bits.
    fn low(self) -> u64 {
        match self {
            Self::Bool(value) => u64::from(value),
            Self::Natural(value) => value.words()[0],
            Self::Whole(value) => value.words()[0],
        }
    }
}
