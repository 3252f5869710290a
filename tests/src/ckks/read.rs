//! Reading vector files: JSON with the way to where one is, so that damage is named.

use girih::contract::ckks::{BootstrappingShape, Chain, ChainShape, RecordError};
use girih_backend::BackendError;
use girih_backend::poly::ProgramError;
use serde_json::Value as Json;
use std::sync::Arc;

/// Why a file was not replayed.
#[derive(Debug, thiserror::Error)]
pub enum CkksVectorError {
    /// It could not be read.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// The system's words, part of the message.
        error: std::io::Error,
    },
    /// It is no JSON.
    #[error("{path}: not a vector file: {error}")]
    Json {
        /// The file.
        path: String,
        /// The parser's words, with line and column.
        error: serde_json::Error,
    },
    /// A field is not what it should be.
    #[error("{field}: {problem}")]
    Field {
        /// The way to it.
        field: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// What the file describes cannot be recorded.
    #[error("{field}: {error}")]
    Record {
        /// The way to what was recorded.
        field: String,
        /// Why not.
        error: RecordError,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// What reading yields.
pub type Result<T> = std::result::Result<T, CkksVectorError>;

/// A value of a file, with the way to it.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    path: String,
    json: &'a Json,
}

impl<'a> Field<'a> {
    /// The whole of a file.
    pub fn root(path: &str, json: &'a Json) -> Self {
        Self { path: path.to_owned(), json }
    }

    /// The refusal of this field.
    pub fn wrong(&self, problem: impl Into<String>) -> CkksVectorError {
        CkksVectorError::Field { field: self.path.clone(), problem: problem.into() }
    }

    /// What was recorded for this field, or why not.
    ///
    /// # Errors
    /// [`CkksVectorError::Record`].
    pub fn recorded<T>(&self, result: std::result::Result<T, RecordError>) -> Result<T> {
        result.map_err(|error| CkksVectorError::Record { field: self.path.clone(), error })
    }

    /// The same for operations on polynomials.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`].
    pub fn built<T>(&self, result: std::result::Result<T, ProgramError>) -> Result<T> {
        result.map_err(|error| self.wrong(error.to_string()))
    }

    /// A field that may be absent.
    pub fn find(&self, name: &str) -> Option<Self> {
        let json = self.json.get(name)?;
        Some(Self { path: format!("{}.{name}", self.path), json })
    }

    /// A field.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] where there is none.
    pub fn get(&self, name: &str) -> Result<Self> {
        self.find(name).ok_or_else(|| self.wrong(format!("has no field `{name}`")))
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.json.is_null()
    }

    /// The fields of an object.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn fields(&self) -> Result<Vec<(&'a str, Self)>> {
        let fields = self.json.as_object().ok_or_else(|| self.wrong("is no object"))?;
        let field = |(name, json): (&'a String, &'a Json)| {
            (name.as_str(), Self { path: format!("{}.{name}", self.path), json })
        };
        Ok(fields.iter().map(field).collect())
    }

    /// The elements of a list.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn list(&self) -> Result<Vec<Self>> {
        let list = self.json.as_array().ok_or_else(|| self.wrong("is no list"))?;
        let element =
            |(i, json): (usize, &'a Json)| Self { path: format!("{}[{i}]", self.path), json };
        Ok(list.iter().enumerate().map(element).collect())
    }

    /// The elements of a list of so many.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn list_of(&self, count: usize) -> Result<Vec<Self>> {
        let list = self.list()?;
        if list.len() == count {
            return Ok(list);
        }
        Err(self.wrong(format!("has {} elements; {count} are wanted", list.len())))
    }

    /// A text.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn text(&self) -> Result<&'a str> {
        self.json.as_str().ok_or_else(|| self.wrong("is no text"))
    }

    /// A number from 0 to 2^32 - 1.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn number(&self) -> Result<usize> {
        let number = self.json.as_u64().and_then(|n| u32::try_from(n).ok());
        number.map(|n| n as usize).ok_or_else(|| self.wrong("is no number from 0 to 2^32 - 1"))
    }

    /// A number with a sign.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn integer(&self) -> Result<i64> {
        self.json.as_i64().ok_or_else(|| self.wrong("is no integer of 64 bits"))
    }

    /// A real number.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn real(&self) -> Result<f64> {
        self.json.as_f64().ok_or_else(|| self.wrong("is no real number"))
    }

    /// A list of real numbers.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn reals(&self) -> Result<Vec<f64>> {
        self.list()?.iter().map(Self::real).collect()
    }

    /// A list of words of 32 bits.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn words(&self) -> Result<Vec<u32>> {
        self.list()?.iter().map(|word| Ok(word.number()? as u32)).collect()
    }

    /// A polynomial: a list of limbs, each a list of words; limb after limb.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] for anything else.
    pub fn polynomial(&self) -> Result<Vec<u32>> {
        let limbs: Vec<Vec<u32>> = self.list()?.iter().map(Self::words).collect::<Result<_>>()?;
        Ok(limbs.concat())
    }

    /// The chain that `params` describe. Where bootstrapping needs more levels than there are, the
    /// highest is repeated: only steps that stay on the levels of the file can then be run.
    ///
    /// # Errors
    /// [`CkksVectorError::Field`] and [`CkksVectorError::Record`] for what is no chain.
    pub fn chain(&self, bootstrapping: Option<BootstrappingShape>) -> Result<Arc<Chain>> {
        let states = self.get("states")?.list()?;
        let states = states.iter().map(|state| {
            let pair = state.list_of(2)?;
            Ok((pair[0].number()?, pair[1].number()?))
        });
        let mut states = states.collect::<Result<Vec<_>>>()?;
        if let (Some(bootstrapping), Some(&top)) = (&bootstrapping, states.last()) {
            states.resize(states.len().max(bootstrapping.top() + 1), top);
        }
        let (terminal, main) = (self.get("terminal")?.words()?, self.get("main")?.words()?);
        let (degree, alpha) = (self.get("N")?.number()?, self.get("alpha")?.number()?);
        if !degree.is_power_of_two() || !(2..=1 << 16).contains(&degree) {
            return Err(self.get("N")?.wrong("is no power of two from 2 to 2^16"));
        }
        if alpha == 0 {
            return Err(self.get("alpha")?.wrong("a digit has at least one prime"));
        }
        let all = terminal.len() + main.len();
        let shape = ChainShape {
            log2_degree: degree.ilog2(),
            terminal,
            main,
            auxiliary: self.get("auxiliary")?.words()?,
            states,
            scale: (self.get("log2_scale")?.number()?.min(1023) as f64).exp2(),
            digits: (0..all).step_by(alpha).map(|i| alpha.min(all - i)).collect(),
            join_digits: false,
            klss: self.get("klss_primes")?.words()?,
            klss_group: self.get("klss_group")?.number()?,
            bootstrapping,
            encapsulation: None,
        };
        self.recorded(Chain::new(shape))
    }
}
