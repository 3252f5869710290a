//! Finding and opening devices.

use girih_backend::{Backend, BackendError, DeviceInfo};
use girih_cpu::CpuBackend;
use std::sync::Arc;

/// The environment variable that names the device to open, where the program does not.
pub const DEVICE_VARIABLE: &str = "GIRIH_DEVICE";

/// One opened device. Cloning shares it.
#[derive(Clone)]
pub struct Device {
    backend: Arc<dyn Backend>,
}

/// What enumeration found: the devices, and why a kind of device has none.
pub struct DeviceEnumeration {
    /// Devices that can be opened.
    pub devices: Vec<DeviceInfo>,
    /// One line for each kind of device that is absent, saying why.
    pub absent: Vec<String>,
}

impl Device {
    /// Opens `cpu`, `wgpu:0`, `wgpu:llvmpipe`, `cuda:0`, or `auto`: the fastest real device.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] naming what was asked for and what there is.
    pub fn open(name: &str) -> Result<Self, BackendError> {
        match name {
            "cpu" | "auto" => Ok(Self { backend: Arc::new(CpuBackend::new()) }),
            other => Err(BackendError::NoDevice { requested: other.into(), why: "this build knows `cpu` and `auto`".into() }),
        }
    }

    /// Opens the device that the environment variable `GIRIH_DEVICE` names, or `auto` where it is not set.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn from_environment() -> Result<Self, BackendError> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(name) => Self::open(&name),
            Err(std::env::VarError::NotPresent) => Self::open("auto"),
            Err(e) => Err(BackendError::NoDevice { requested: DEVICE_VARIABLE.into(), why: e.to_string() }),
        }
    }

    /// Every device of this machine that this build can drive.
    pub fn enumerate() -> DeviceEnumeration {
        DeviceEnumeration { devices: vec![CpuBackend::new().info().clone()], absent: Vec::new() }
    }

    /// What this device is.
    pub fn info(&self) -> &DeviceInfo {
        self.backend.info()
    }

    /// The contract beneath, for [`girih_tfhe::ServerKey::load`] and for tests.
    pub fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Device").field(&self.info().id).finish()
    }
}
