//! Devices: what there are, and opening them once a process.

use crate::call::compute;
use crate::errors::Outcome;
use girih::device as dev;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Devices that were opened, by the names that they were asked for: opening one again would take
/// its time again.
static OPENED: LazyLock<Mutex<HashMap<String, dev::Device>>> = LazyLock::new(Mutex::default);

/// A device that girih can compute on.
#[pyclass(frozen, module = "girih", get_all)]
pub struct Device {
    /// The name that opens it: "cpu", "wgpu:0", "cuda:0".
    id: String,
    /// What its maker calls it.
    name: String,
    /// "cpu", "wgpu" or "cuda".
    kind: String,
    /// The transforms that it can run, best first: "ntt", "fft".
    transforms: Vec<String>,
    /// Whether it is a software stand-in for a GPU, which "auto" never takes.
    software: bool,
    /// Further facts, such as driver versions and instruction sets.
    notes: Vec<String>,
}

#[pymethods]
impl Device {
    fn __repr__(&self) -> String {
        format!("<girih.Device {:?}: {}>", self.id, self.name)
    }
}

/// The devices of this machine, fastest kind first.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<Device>> {
    let found = compute(py, || Outcome::Ok(dev::Device::enumerate()))?;
    Ok(found
        .devices
        .into_iter()
        .map(|info| Device {
            id: info.id,
            name: info.name,
            kind: info.kind.to_string(),
            transforms: info.transforms.iter().map(ToString::to_string).collect(),
            software: info.software,
            notes: info.notes,
        })
        .collect())
}

/// Why kinds of devices are absent: one line each.
#[pyfunction]
pub fn absent_devices(py: Python<'_>) -> PyResult<Vec<String>> {
    Ok(compute(py, || Outcome::Ok(dev::Device::enumerate()))?.absent)
}

/// Has CUDA devices look for kernels in a folder of the package.
#[pyfunction]
#[pyo3(name = "_kernels_in")]
pub fn kernels_in(folder: PathBuf) {
    dev::kernels_in(folder);
}

/// The device of this name; without one that of the environment (`GIRIH_DEVICE`), or `auto`.
///
/// # Errors
/// `NoDeviceError` naming what there is.
pub fn open(name: Option<&str>) -> Outcome<dev::Device> {
    let from_environment = match name {
        None => std::env::var(dev::DEVICE_VARIABLE).ok(),
        Some(_) => None,
    };
    let name = name.or(from_environment.as_deref()).unwrap_or("auto");
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = opened.get(name) {
        return Ok(device.clone());
    }
    let device = dev::Device::open(name)?;
    opened.insert(name.to_owned(), device.clone());
    Ok(device)
}
