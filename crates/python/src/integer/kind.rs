//! What integers are: their kinds and widths, and values in the plain.

use crate::arrays;
use crate::errors::{Failure, Outcome};
use girih::integer::{FheBool, FheInt, FheUint, Integer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

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

const WIDTHS: [u32; 6] = [4, 8, 16, 32, 64, 128];

impl Kind {
    /// The kind of this name: those of NumPy, and 4 and 128 bits.
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
                "no integers {name:?}; there are bool, and int and uint of 4, 8, 16, 32, 64 and \
                 128 bits, such as uint16"
            ))
        })
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
    ($kind:expr, $type:ident => $body:expr) => {
        $crate::integer::kind::for_kind!(@ $kind, $type, $body, 4 8 16 32 64 128)
    };
    (@ $kind:expr, $type:ident, $body:expr, $($bits:literal)*) => {
        match $kind {
            $crate::integer::kind::Kind::Bool => {
                type $type = girih::integer::FheBool;
                $body
            }
            $(
                $crate::integer::kind::Kind::Uint($bits) => {
                    type $type = girih::integer::FheUint<$bits>;
                    $body
                }
                $crate::integer::kind::Kind::Int($bits) => {
                    type $type = girih::integer::FheInt<$bits>;
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
    Natural(u128),
    /// Of numbers in two's complement.
    Whole(i128),
}

/// The integers of girih, with what their values are here.
pub trait Element: Integer + Send + Sync + 'static {
    /// Their kind.
    const KIND: Kind;

    /// A value of theirs.
    fn plain(value: Self::Plain) -> Plain;

    /// The value of theirs that this is; none for one of another kind.
    fn value(plain: Plain) -> Option<Self::Plain>;
}

impl Element for FheBool {
    const KIND: Kind = Kind::Bool;

    fn plain(value: bool) -> Plain {
        Plain::Bool(value)
    }

    fn value(plain: Plain) -> Option<bool> {
        if let Plain::Bool(value) = plain { Some(value) } else { None }
    }
}

impl<const BITS: u32> Element for FheUint<BITS> {
    const KIND: Kind = Kind::Uint(BITS);

    fn plain(value: u128) -> Plain {
        Plain::Natural(value)
    }

    fn value(plain: Plain) -> Option<u128> {
        if let Plain::Natural(value) = plain { Some(value) } else { None }
    }
}

impl<const BITS: u32> Element for FheInt<BITS> {
    const KIND: Kind = Kind::Int(BITS);

    fn plain(value: i128) -> Plain {
        Plain::Whole(value)
    }

    fn value(plain: Plain) -> Option<i128> {
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
        // Also what has an index: integers of NumPy.
        let index = value.py().import("operator")?.getattr("index")?.call1((value,));
        let index = index.map_err(|_| match value.get_type().name() {
            Ok(name) => PyTypeError::new_err(format!("{self} are whole numbers, not {name}")),
            Err(error) => error,
        })?;
        let plain = match self {
            Self::Int(_) => index.extract().map(Plain::Whole),
            _ => index.extract().map(Plain::Natural),
        };
        // It may be secret: what it is is not said.
        let unfit = |_| Failure::mismatch(format!("a number does not fit {self}"));
        Ok(plain.map_err(unfit)?)
    }
}

/// Values of Python, their shape and kind; `kind` where it is given, else that of the array.
///
/// # Errors
/// `TypeError` for no integers, `MismatchError` for values that do not fit.
pub fn plains(
    values: &Bound<'_, PyAny>,
    kind: Option<Kind>,
) -> PyResult<(Vec<Plain>, Vec<usize>, Kind)> {
    let array = values.py().import("numpy")?.call_method1("asarray", (values,))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let dtype: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let kind = match (kind, dtype.as_str()) {
        (Some(kind), _) => kind,
        // Whole numbers beyond 64 bits.
        (None, "object") => {
            let why = "integers beyond 64 bits need a dtype: \"uint128\" or \"int128\"";
            return Err(PyTypeError::new_err(why));
        }
        (None, name) => Kind::parse(name).map_err(|_| {
            PyTypeError::new_err(format!("integers or booleans are encrypted here, not {name}"))
        })?,
    };
    let list = array.call_method0("ravel")?.call_method0("tolist")?;
    let entries = list.try_iter()?.map(|value| kind.plain(&value?));
    Ok((entries.collect::<PyResult<_>>()?, shape, kind))
}

/// An array of NumPy of these values, of its own type of the kind; those of 4 bits are of 8, those
/// of 128 bits are objects.
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
                    Plain::Natural(value) => list.append(*value)?,
                    Plain::Whole(value) => list.append(*value)?,
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
    /// Its lowest 64 bits.
    fn low(self) -> u64 {
        match self {
            Self::Bool(value) => u64::from(value),
            Self::Natural(value) => value as u64,
            Self::Whole(value) => value as u64,
        }
    }
}
