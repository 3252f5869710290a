//! The secret key, and the public one.

use super::ciphertexts::{CkksCiphertexts, Store};
use super::keys::{CkksEvaluationKeys, Wanted};
use super::server::{CkksServerKey, Loaded};
use super::sets::{CkksParameters, set_of};
use crate::arrays::{self, Values};
use crate::call::{compute, supervise, wait};
use crate::classes::The;
use crate::errors::{Failure, Outcome};
use crate::tfhe::client::{refuse_pickle, seed};
use crate::tfhe::gather::display;
use crate::{device, wire};
use girih::ckks::server::{Options, ServerKey};
use girih::ckks::{self, Ciphertext, Complex64, StreamedKeys};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The secret key: encrypts, decrypts, and makes evaluation and public keys. It stays with the
/// data's owner, and is not pickled.
#[pyclass(frozen, module = "girih.ckks", name = "ClientKey")]
pub struct CkksClientKey(pub Arc<ckks::ClientKey>);

/// A public key, with which anyone can encrypt.
#[pyclass(frozen, module = "girih.ckks", name = "PublicKey")]
pub struct CkksPublicKey(Arc<ckks::PublicKey>);

/// Amounts of rotations, or a dict from amounts to the highest level of each.
#[derive(FromPyObject)]
enum Rotations {
    UpTo(BTreeMap<i64, usize>),
    All(Vec<i64>),
}

impl Rotations {
    /// What keys are to be for: these rotations, and the rest as it was said.
    fn wanted(
        self,
        multiplication: bool,
        sums: Vec<usize>,
        conjugation: bool,
        (bootstrapping, level): (Option<usize>, Option<usize>),
    ) -> Wanted {
        let (rotations, rotations_up_to) = match self {
            Self::All(rotations) => (rotations, Vec::new()),
            Self::UpTo(levels) => (Vec::new(), levels.into_iter().collect()),
        };
        Wanted {
            multiplication,
            rotations,
            rotations_up_to,
            sums,
            conjugation,
            bootstrapping,
            level,
        }
    }
}

/// The vectors along the last axis of an array, padded with zeros to `slots` where that is given;
/// and the other lengths of its shape.
fn vectors(
    values: &Bound<'_, PyAny>,
    slots: Option<usize>,
) -> PyResult<(Vec<Vec<Complex64>>, Vec<usize>)> {
    let Values { entries, shape } = arrays::numbers(values, "values")?;
    let [ref lead @ .., length] = shape[..] else {
        let why = "one number: give a vector (slots,), such as [x], or a batch (vectors, slots)";
        return Err(Failure::mismatch(why).into());
    };
    if entries.is_empty() {
        let why = format!("values of shape {}: there are none", display(&shape));
        return Err(Failure::mismatch(why).into());
    }
    if let Some(slots) = slots
        && slots < length
    {
        return Err(Failure::mismatch(format!("{length} values do not fit {slots} slots")).into());
    }
    let slots = slots.unwrap_or(length);
    if !slots.is_power_of_two() {
        let why = format!(
            "vectors of {length} values: slots are a power of two; slots={} pads with zeros",
            length.checked_next_power_of_two().unwrap_or(1)
        );
        return Err(Failure::mismatch(why).into());
    }
    // Bounds what padding takes: no set has as many.
    if slots > 1 << 20 {
        return Err(Failure::mismatch(format!("{slots} slots are more than any set has")).into());
    }
    let padded = |vector: &[Complex64]| {
        let mut vector = vector.to_vec();
        vector.resize(slots, Complex64::from(0.0));
        vector
    };
    Ok((entries.chunks_exact(length).map(padded).collect(), lead.to_vec()))
}

/// Encrypts vectors, all that there are at once.
fn encrypted(
    py: Python<'_>,
    values: &Bound<'_, PyAny>,
    slots: Option<usize>,
    encrypt: impl FnOnce(&[Vec<Complex64>]) -> ckks::Result<Vec<Ciphertext>> + Send + 'static,
) -> PyResult<CkksCiphertexts> {
    let (vectors, lead) = vectors(values, slots)?;
    let batch = wait(py, move || encrypt(&vectors))?;
    Ok(CkksCiphertexts::new(lead, Store::Host(Arc::new(batch))))
}

#[pymethods]
impl CkksClientKey {
    /// Draws a new key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, parameters: &Bound<'_, PyAny>) -> PyResult<Self> {
        let set = set_of(parameters)?;
        Ok(Self(Arc::new(wait(py, move || ckks::ClientKey::generate(&set))?)))
    }

    /// For tests only: a key, and all that it makes, from 32 bytes. Who knows them knows the key.
    #[staticmethod]
    fn generate_seeded_for_tests(
        py: Python<'_>,
        parameters: &Bound<'_, PyAny>,
        seed_bytes: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (set, seed) = (set_of(parameters)?, seed(seed_bytes)?);
        let key = compute(py, || ckks::ClientKey::generate_seeded_for_tests(&set, seed))?;
        Ok(Self(Arc::new(key)))
    }

    /// The parameter set.
    #[getter]
    fn parameters(&self) -> CkksParameters {
        CkksParameters(self.0.set().clone())
    }

    /// The key's public name, which its other keys and its ciphertexts carry.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// A public key.
    fn public_key(&self, py: Python<'_>) -> PyResult<CkksPublicKey> {
        let key = Arc::clone(&self.0);
        Ok(CkksPublicKey(Arc::new(wait(py, move || key.public_key())?)))
    }

    /// Makes evaluation keys, which are public, for what the server is to do: products, rotations
    /// by these amounts (left; negative: right), sums over so many slots, conjugation, products
    /// with these matrices and maps, bootstrappings of so many slots. With `level` they serve
    /// ciphertexts of at most that level, bootstrappings aside, and are smaller; rotations may have
    /// levels of their own, as a dict.
    #[pyo3(signature = (
        *, multiplication = true, rotations = Rotations::All(Vec::new()), sums = Vec::new(),
        conjugation = false, maps = Vec::new(), bootstrapping = None, level = None, progress = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        multiplication: bool,
        rotations: Rotations,
        sums: Vec<usize>,
        conjugation: bool,
        maps: Vec<Bound<'_, PyAny>>,
        bootstrapping: Option<usize>,
        level: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<CkksEvaluationKeys> {
        let wanted = rotations.wanted(multiplication, sums, conjugation, (bootstrapping, level));
        let kinds = wanted.kinds(self.0.set(), &maps)?;
        let client = Arc::clone(&self.0);
        let keys = supervise(py, progress, move |progress| {
            ckks::EvaluationKeys::generate(&client, kinds, progress)
        })?;
        Ok(CkksEvaluationKeys(Arc::new(keys), wire::Digest::default()))
    }

    /// Makes evaluation keys and loads them on a device, for who computes with keys of their own:
    /// each part is made when the device asks for it, which is sooner than evaluation_keys and
    /// ServerKey one after the other, and leaves no copy in the host's memory. They are the same
    /// keys; arguments are those of both.
    #[pyo3(signature = (
        device = None, *, multiplication = true, rotations = Rotations::All(Vec::new()),
        sums = Vec::new(), conjugation = false, maps = Vec::new(), bootstrapping = None,
        level = None, bootstrap_when_needed = false, compose_rotations = false, may_wrap = false,
        progress = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn server_key(
        &self,
        py: Python<'_>,
        device: Option<&str>,
        multiplication: bool,
        rotations: Rotations,
        sums: Vec<usize>,
        conjugation: bool,
        maps: Vec<Bound<'_, PyAny>>,
        bootstrapping: Option<usize>,
        level: Option<usize>,
        bootstrap_when_needed: bool,
        compose_rotations: bool,
        may_wrap: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<CkksServerKey> {
        let wanted = rotations.wanted(multiplication, sums, conjugation, (bootstrapping, level));
        let kinds = wanted.kinds(self.0.set(), &maps)?;
        let options = Options::default()
            .with_bootstrap_when_needed(bootstrap_when_needed)
            .with_compose_rotations(compose_rotations)
            .with_may_wrap(may_wrap);
        let (client, device) = (Arc::clone(&self.0), device.map(str::to_owned));
        let loaded = supervise(py, progress, move |progress| {
            let device = device::open(device.as_deref())?;
            let keys = StreamedKeys::new(&client, kinds)?;
            let key = ServerKey::load_streamed(device.backend(), &keys, &options, progress)?;
            Outcome::Ok(Loaded { key, device: device.info().id.clone() })
        })?;
        Ok(CkksServerKey(Arc::new(loaded)))
    }

    /// Encrypts a vector (slots,) or a batch (vectors, slots) of real or complex numbers. Slots are
    /// a power of two; `slots` pads with zeros. At the highest level unless `level` is given.
    ///
    /// No value may exceed `magnitude`, of complex ones the absolute value. It is public: everyone
    /// who sees the ciphertext may know it.
    #[pyo3(signature = (values, *, slots = None, level = None, magnitude = 1.0))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        slots: Option<usize>,
        level: Option<usize>,
        magnitude: f64,
    ) -> PyResult<CkksCiphertexts> {
        let key = Arc::clone(&self.0);
        encrypted(py, values, slots, move |vectors| match level {
            None => key.within(magnitude).encrypt_many(vectors),
            Some(level) => key.within(magnitude).encrypt_many_at(vectors, level),
        })
    }

    /// Decrypts to an array of real numbers, or of complex ones with `complex`, of shape (slots,)
    /// or (vectors, slots). The result is for the owner of the key alone: its error tells about the
    /// key. Others get decrypt_to_share.
    #[pyo3(signature = (ciphertexts, *, complex = false))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertexts: The<'py, CkksCiphertexts>,
        complex: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (ciphertexts, batch) = (ciphertexts.get(), ciphertexts.get().on_host(py)?);
        let key = Arc::clone(&self.0);
        let values = wait(py, move || {
            batch.iter().map(|c| key.decrypt(c)).collect::<ckks::Result<Vec<_>>>()
        })?;
        shaped(py, values, &ciphertexts.lead, complex)
    }

    /// Decrypts for others: errors are flooded, which costs about (bits + log2 slots)/2 + 4 bits of
    /// precision. Returns the values and how many bits after the binary point are left.
    ///
    /// `error` is what no result errs by, as its owner knows it from the circuit: what ciphertexts
    /// say of themselves (`largest_error`) will do where whoever computed them is trusted to have
    /// done as told.
    #[pyo3(signature = (ciphertexts, bits, *, error, complex = false))]
    fn decrypt_to_share<'py>(
        &self,
        py: Python<'py>,
        ciphertexts: The<'py, CkksCiphertexts>,
        bits: u32,
        error: f64,
        complex: bool,
    ) -> PyResult<(Bound<'py, PyAny>, f64)> {
        let (ciphertexts, batch) = (ciphertexts.get(), ciphertexts.get().on_host(py)?);
        let key = Arc::clone(&self.0);
        let all = wait(py, move || {
            let shared = batch.iter().map(|c| key.decrypt_to_share(c, bits, error));
            shared.collect::<ckks::Result<Vec<_>>>()
        })?;
        let precision = all.iter().fold(f64::INFINITY, |least, d| least.min(d.precision_bits));
        let values = all.into_iter().map(|decryption| decryption.values).collect();
        Ok((shaped(py, values, &ciphertexts.lead, complex)?, precision))
    }

    /// The key as bytes: who has them can decrypt everything.
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
        Ok(Self(Arc::new(wire::read(py, data, parameters)?)))
    }

    fn __repr__(&self) -> String {
        format!("<girih.ckks.ClientKey {:.8} of {}>", self.0.key_id(), self.0.set().name())
    }

    fn __reduce_ex__(&self, _protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(refuse_pickle())
    }
}

/// Decrypted vectors as an array.
fn shaped<'py>(
    py: Python<'py>,
    values: Vec<Vec<Complex64>>,
    lead: &[usize],
    complex: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let slots = values.first().map_or(0, Vec::len);
    let shape: Vec<usize> = lead.iter().copied().chain([slots]).collect();
    let flat = values.concat();
    if complex {
        return arrays::array(py, flat, &shape);
    }
    arrays::array(py, flat.into_iter().map(|z| z.re).collect(), &shape)
}

#[pymethods]
impl CkksPublicKey {
    /// The parameter set.
    #[getter]
    fn parameters(&self) -> CkksParameters {
        CkksParameters(self.0.set().clone())
    }

    /// Name of the client key that can decrypt.
    #[getter]
    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }

    /// Encrypts as ClientKey.encrypt does, at the highest level.
    #[pyo3(signature = (values, *, slots = None, magnitude = 1.0))]
    fn encrypt(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        slots: Option<usize>,
        magnitude: f64,
    ) -> PyResult<CkksCiphertexts> {
        let key = Arc::clone(&self.0);
        encrypted(py, values, slots, move |vectors| key.within(magnitude).encrypt_many(vectors))
    }

    /// The key as bytes that end with a checksum.
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
        Ok(Self(Arc::new(wire::read(py, data, parameters)?)))
    }

    fn __repr__(&self) -> String {
        format!("<girih.ckks.PublicKey {:.8} of {}>", self.0.key_id(), self.0.set().name())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyAny>> {
        let data = wire::buffer(py, self.to_bytes(py)?, protocol)?;
        wire::reduce(py, ("CkksPublicKey", data))
    }
}
