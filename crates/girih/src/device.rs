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

/// What enumeration found.
pub struct DeviceEnumeration {
    /// Devices that can be opened, fastest kind first.
    pub devices: Vec<DeviceInfo>,
    /// One line for each kind of device that is absent, saying why.
    pub absent: Vec<String>,
}

/// One kind of device: adding a device crate adds one line to [`KINDS`].
struct Kind {
    /// The part of a name before the colon.
    prefix: &'static str,
    enumerate: fn() -> Result<Vec<DeviceInfo>, BackendError>,
    /// Opens one of this kind by its whole name.
    open: fn(&str) -> Result<Arc<dyn Backend>, BackendError>,
}

/// Fastest kind first: `auto` opens the first real device it meets.
const KINDS: &[Kind] = &[
    #[cfg(feature = "cuda")]
    Kind { prefix: "cuda", enumerate: girih_cuda::enumerate, open: |name| Ok(Arc::new(girih_cuda::CudaBackend::open(name)?)) },
    #[cfg(feature = "wgpu")]
    Kind { prefix: "wgpu", enumerate: || Ok(girih_wgpu::enumerate()), open: |name| Ok(Arc::new(girih_wgpu::WgpuBackend::open(name)?)) },
    Kind {
        prefix: "cpu",
        enumerate: || Ok(vec![CpuBackend::new().info().clone()]),
        open: |name| match name {
            "cpu" => Ok(Arc::new(CpuBackend::new())),
            _ => Err(BackendError::NoDevice { requested: name.into(), why: "there is one CPU device, named `cpu`".into() }),
        },
    },
];

impl Device {
    /// Opens a device by name (`cpu`, `wgpu:0`, `wgpu:llvmpipe`, `cuda:0`), or the fastest real one for `auto`.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] naming what was asked for and what there is.
    pub fn open(name: &str) -> Result<Self, BackendError> {
        if name == "auto" {
            let found = Self::enumerate();
            // Software stand-ins for GPUs are slower than the CPU device, which is always there.
            let best = found.devices.iter().find(|d| !d.software).map_or("cpu", |d| d.id.as_str());
            return Self::open(best);
        }
        let prefix = name.split(':').next().unwrap_or_default();
        let Some(kind) = KINDS.iter().find(|k| k.prefix == prefix) else {
            let known: Vec<&str> = KINDS.iter().map(|k| k.prefix).collect();
            return Err(BackendError::NoDevice { requested: name.into(), why: format!("this build knows auto, {}", known.join(", ")) });
        };
        Ok(Self { backend: (kind.open)(name)? })
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

    /// Every device of this machine that this build can drive, and why kinds of device are absent.
    pub fn enumerate() -> DeviceEnumeration {
        let mut all = DeviceEnumeration { devices: Vec::new(), absent: Vec::new() };
        for kind in KINDS {
            match (kind.enumerate)() {
                Ok(devices) if devices.is_empty() => all.absent.push(format!("{}: no such device on this machine", kind.prefix)),
                Ok(devices) => all.devices.extend(devices),
                Err(error) => all.absent.push(format!("{}: {error}", kind.prefix)),
            }
        }
        all
    }

    /// What this device is.
    pub fn info(&self) -> &DeviceInfo {
        self.backend.info()
    }

    /// The contract beneath, which server keys are loaded through.
    pub fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Device").field(&self.info().id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_the_cpu_by_name_and_something_real_by_auto() {
        assert_eq!(Device::open("cpu").expect("always there").info().id, "cpu");
        assert!(!Device::open("auto").expect("at least the cpu").info().software);
    }

    #[test]
    fn unknown_names_are_refused_with_what_there_is() {
        for name in ["", "gpu", "cpu:1", "tpu:0"] {
            let error = Device::open(name).expect_err("no such device").to_string();
            assert!(error.contains(&format!("`{name}`")) && error.contains("cpu"), "{error}");
        }
    }
}
