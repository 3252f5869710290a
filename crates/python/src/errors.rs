//! Errors of girih as the exception classes of `girih/errors.py`.

use girih::{circuit, ckks, device::BackendError, discrete, integer, tfhe};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};

/// The result of work that knows nothing of Python.
pub type Outcome<T> = Result<T, Failure>;

/// An exception that was not raised yet: it can be made on any thread, without the interpreter.
#[derive(Debug)]
pub struct Failure {
    /// Name of the class in `girih.errors`.
    class: &'static str,
    message: String,
}

impl Failure {
    /// One of the given class of `girih.errors`.
    pub fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// Things that do not fit each other.
    pub fn mismatch(message: impl Into<String>) -> Self {
        Self::new("MismatchError", message)
    }
}

/// The module that defines the exception classes.
static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let class = CLASSES
                .get_or_try_init(py, || Ok(py.import("girih.errors")?.unbind()))
                .and_then(|module| module.bind(py).getattr(failure.class))
                .and_then(|class| Ok(class.cast_into::<PyType>()?));
            match class {
                Ok(class) => Self::from_type(class, failure.message),
                Err(missing) => missing,
            }
        })
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        let class = match &error {
            BackendError::NoDevice { .. } => "NoDeviceError",
            BackendError::OutOfMemory { .. } => "OutOfMemoryError",
            BackendError::Unsupported { .. } | BackendError::DoesNotFit { .. } => {
                "UnsupportedError"
            }
            BackendError::Shape(_) => "ParameterError",
            BackendError::InvalidRequest(_) => "MismatchError",
            _ => "DeviceError",
        };
        Self::new(class, error.to_string())
    }
}

impl From<tfhe::Error> for Failure {
    fn from(error: tfhe::Error) -> Self {
        let class = match error {
            tfhe::Error::Backend(error) => return error.into(),
            tfhe::Error::Parameter(_) | tfhe::Error::ParameterFile(_) => "ParameterError",
            tfhe::Error::UnknownSet { .. } => "UnknownSetError",
            tfhe::Error::Malformed { .. } => "MalformedError",
            tfhe::Error::TooNoisy { .. } => "TooNoisyError",
            tfhe::Error::MissingKey { .. } => "MissingKeyError",
            tfhe::Error::Unsupported { .. } => "UnsupportedError",
            tfhe::Error::OutOfMemory { .. } => "OutOfMemoryError",
            tfhe::Error::Entropy(_) => "EntropyError",
            _ => "MismatchError",
        };
        Self::new(class, error.to_string())
    }
}

impl From<circuit::Error> for Failure {
    fn from(error: circuit::Error) -> Self {
        match error {
            circuit::Error::Tfhe(error) => error.into(),
            circuit::Error::Discrete(error) => error.into(),
            circuit::Error::Bristol { .. }
            | circuit::Error::Yosys { .. }
            | circuit::Error::Heir { .. } => Self::new("CircuitError", error.to_string()),
            circuit::Error::Unsupported { .. } => Self::new("UnsupportedError", error.to_string()),
            _ => Self::mismatch(error.to_string()),
        }
    }
}

impl From<integer::Error> for Failure {
    fn from(error: integer::Error) -> Self {
        match error {
            integer::Error::Tfhe(error) => error.into(),
            integer::Error::Discrete(error) => error.into(),
            integer::Error::Malformed(_) => Self::new("MalformedError", error.to_string()),
            integer::Error::Unsupported { .. } => Self::new("UnsupportedError", error.to_string()),
            _ => Self::mismatch(error.to_string()),
        }
    }
}

impl From<ckks::Error> for Failure {
    fn from(error: ckks::Error) -> Self {
        use ckks::Error as E;
        let class = match error {
            E::Backend(error) => return error.into(),
            E::Magnitude { declared } => {
                return Self::mismatch(format!(
                    "a value to encrypt exceeds the declared magnitude {declared}: \
                     encrypt(values, magnitude=m) declares one that no value exceeds. It is \
                     written on the ciphertext for all to see, so it must not depend on the values"
                ));
            }
            E::Parameter { .. } | E::ParameterFile(_) => "ParameterError",
            E::UnknownSet { .. } => "UnknownSetError",
            E::Malformed { .. } => "MalformedError",
            E::MissingKey { .. } => "MissingKeyError",
            E::OutOfLevels { .. } => "OutOfLevelsError",
            E::Approximation(_) => "ApproximationError",
            E::OutOfMemory { .. } => "OutOfMemoryError",
            E::Unsupported { .. } => "UnsupportedError",
            E::Entropy(_) => "EntropyError",
            _ => "MismatchError",
        };
        Self::new(class, error.to_string())
    }
}

impl From<discrete::Error> for Failure {
    fn from(error: discrete::Error) -> Self {
        use discrete::Error as E;
        let class = match error {
            E::Ckks(error) => return error.into(),
            E::Shared(_) => "MalformedError",
            E::Parameter { .. } | E::ParameterFile(_) => "ParameterError",
            E::UnknownSet { .. } => "UnknownSetError",
            E::Failure { .. } => "TooNoisyError",
            _ => "MismatchError",
        };
        Self::new(class, error.to_string())
    }
}

impl From<ckks::approximation::ApproximationError> for Failure {
    fn from(error: ckks::approximation::ApproximationError) -> Self {
        Self::new("ApproximationError", error.to_string())
    }
}
