//! Evaluation keys.

use super::matrix::{LinearMap, matrix_of};
use super::sets::CkksParameters;
use crate::errors::Failure;
use crate::wire::{self, Digest};
use girih::ckks::keys::SwitchingKeySource;
use girih::ckks::{self, KeyKind, KeyRange, server::Bootstrapping};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The public keys of one client, for what a server is to do. They are pickled as their bytes.
#[pyclass(frozen, module = "girih.ckks", name = "EvaluationKeys")]
pub struct CkksEvaluationKeys(pub Arc<ckks::EvaluationKeys>, pub Digest);

/// What keys are to be for.
pub struct Wanted {
    /// Products.
    pub multiplication: bool,
    /// Rotations.
    pub rotations: Vec<i64>,
    /// Rotations, each with the highest level that it is for.
    pub rotations_up_to: Vec<(i64, usize)>,
    /// Sums over powers of two of slots.
    pub sums: Vec<usize>,
    /// Conjugation.
    pub conjugation: bool,
    /// Bootstrappings of so many slots.
    pub bootstrapping: Option<usize>,
    /// The highest level of what is computed besides bootstrappings; all if none.
    pub level: Option<usize>,
}

impl Wanted {
    /// The kinds of keys that this takes.
    ///
    /// # Errors
    /// For sums over no power of two, maps that are none, and what the set cannot do.
    pub fn kinds(
        &self,
        set: &ckks::CkksParameters,
        maps: &[Bound<'_, PyAny>],
    ) -> PyResult<Vec<KeyRange>> {
        let mut rotations = self.rotations.clone();
        for &width in &self.sums {
            if !width.is_power_of_two() || width > set.slots() {
                let why = format!(
                    "sums over {width} slots: there must be a power of two of them, up to {}",
                    set.slots()
                );
                return Err(Failure::mismatch(why).into());
            }
            rotations.extend((0..width.ilog2()).map(|i| 1 << i));
        }
        for map in maps {
            if let Ok(map) = map.cast::<LinearMap>() {
                rotations.extend(map.get().0.rotations());
            } else {
                let matrix = matrix_of(map)?;
                rotations.extend(matrix.rotations().map_err(Failure::from)?);
            }
        }
        let mut kinds: Vec<KeyKind> =
            rotations.iter().filter_map(|&by| KeyKind::rotation(set, by)).collect();
        kinds.extend(self.multiplication.then_some(KeyKind::Multiplication));
        kinds.extend(self.conjugation.then(|| KeyKind::conjugation(set)));
        let level = self.level.unwrap_or(usize::MAX);
        let mut ranges: Vec<KeyRange> = kinds.into_iter().map(|kind| kind.up_to(level)).collect();
        ranges.extend(self.rotations_up_to.iter().filter_map(|&(by, own)| {
            KeyKind::rotation(set, by).map(|kind| kind.up_to(own.min(level)))
        }));
        if let Some(slots) = self.bootstrapping {
            let how = Bootstrapping::default();
            ranges.extend(
                match self.level {
                    None => how
                        .keys(set, slots)
                        .map(|kinds| kinds.into_iter().map(Into::into).collect()),
                    Some(_) => how.keys_by_level(set, slots),
                }
                .map_err(Failure::from)?,
            );
        }
        if ranges.is_empty() {
            return Err(Failure::mismatch("there is nothing to make keys for").into());
        }
        Ok(ranges)
    }
}

#[pymethods]
impl CkksEvaluationKeys {
    /// The parameter set.
    #[getter]
    fn parameters(&self) -> CkksParameters {
        CkksParameters(self.0.set().clone())
    }

    /// Name of the client key that they were made from.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// What there are keys for, in words; with key_id it says which keys these are.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        let set = self.0.set().name();
        let kinds = self.0.kinds().into_iter();
        kinds.map(|kind| format!("{set}, {kind}, {:?}", self.0.range(kind))).collect()
    }

    /// Bytes in memory, which is also about the size of to_bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// 32 hexadecimal digits that depend on every byte of to_bytes. A key_id is a name that anyone
    /// can write; this says which keys these are.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.1.of(py, String::new(), &self.0, |keys| vec![keys])
    }

    /// The keys as bytes that end with a checksum.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        wire::write(py, &self.0)
    }

    /// Reads what to_bytes wrote; with `parameters`, for that set alone.
    #[staticmethod]
    #[pyo3(signature = (data, parameters = None))]
    fn from_bytes(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Arc::new(wire::read(py, data, parameters)?), Digest::default()))
    }

    fn __repr__(&self) -> String {
        let (id, set) = (self.0.key_id(), self.0.set().name());
        format!("<girih.ckks.EvaluationKeys {id:.8} of {set}: {} bytes>", self.0.bytes())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("CkksEvaluationKeys", data))
    }
}
