//! Finding and opening devices, and loading keys on them.

use girih_cpu::CpuBackend;
#[cfg(not(target_arch = "wasm32"))]
use girih_multi::MultiBackend;
use std::sync::Arc;

#[doc(inline)]
pub use girih_backend::{
    Backend, BackendError, DeviceInfo, DeviceKind, DeviceLimits, DoesNotFit, LoadOptions,
    NoProgress, PlanReport, PlanRequest, PlanSource, PlanValue, Preparation, PreparationTime,
    Progress, ShapeError, Steps, Transform, TunedPlan, TunedPlans, preparation_times,
};

#[cfg(all(feature = "terminal", not(target_arch = "wasm32")))]
#[doc(inline)]
pub use crate::terminal::TerminalProgress;

/// The environment variable that names the device to open, where the program does not.
pub const DEVICE_VARIABLE: &str = "GIRIH_DEVICE";

/// What joins the names of several devices.
const JOINERS: [char; 2] = ['+', ','];

/// Has CUDA devices look for kernels that were compiled ahead in `folder`, where the environment
/// variable `GIRIH_KERNELS` names no other: for packages that carry some beside this library, as
/// wheels of Python do. `cargo xtask kernels --bundle` fills such folders. What is of another
/// version is left aside, and progress hears of it; a build without CUDA needs none.
pub fn kernels_in(folder: impl Into<std::path::PathBuf>) {
    #[cfg(feature = "cuda")]
    girih_cuda::look_in(folder);
    #[cfg(not(feature = "cuda"))]
    drop(folder.into());
}

/// One opened device. Cloning shares it.
#[derive(Clone)]
pub struct Device {
    backend: Arc<dyn Backend>,
}

/// What a device is opened with; the default leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Bytes that everything loaded on the device may take together, as on a smaller one: of each
    /// device, where several are one. CUDA devices alone can be limited.
    pub memory_limit: Option<u64>,
}

impl OpenOptions {
    /// The same with this limit of memory, in bytes; `None` leaves the device its own.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.memory_limit = bytes.into();
        self
    }
}

/// What enumeration found.
#[non_exhaustive]
pub struct DeviceEnumeration {
    /// Devices that can be opened, fastest kind first.
    pub devices: Vec<DeviceInfo>,
    /// One line for each kind of device that is absent, saying why.
    pub absent: Vec<String>,
}

type Opened = Result<Arc<dyn Backend>, BackendError>;

/// One kind of device: adding a device crate adds one line to [`KINDS`].
struct Kind {
    /// The part of a name before the colon.
    prefix: &'static str,
    enumerate: fn() -> Result<Vec<DeviceInfo>, BackendError>,
    /// Opens one of this kind by its whole name.
    open: fn(&str, &OpenOptions) -> Opened,
}

/// Fastest kind first: `auto` opens the first real device it meets.
const KINDS: &[Kind] = &[
    #[cfg(feature = "cuda")]
    Kind {
        prefix: "cuda",
        enumerate: girih_cuda::enumerate,
        open: |name, options| {
            let opened = girih_cuda::CudaBackend::open(name)?;
            Ok(Arc::new(match options.memory_limit {
                Some(bytes) => opened.with_memory(bytes),
                None => opened,
            }))
        },
    },
    #[cfg(feature = "wgpu")]
    Kind {
        prefix: "wgpu",
        enumerate: || Ok(girih_wgpu::enumerate()),
        open: |name, options| {
            unlimited(name, options)?;
            Ok(Arc::new(girih_wgpu::WgpuBackend::open(name)?))
        },
    },
    Kind {
        prefix: "cpu",
        enumerate: || Ok(vec![CpuBackend::new().info().clone()]),
        open: |name, options| match name {
            "cpu" => unlimited(name, options).map(|()| Arc::new(CpuBackend::new()) as Arc<_>),
            _ => Err(BackendError::NoDevice {
                requested: name.into(),
                why: "there is one CPU device, named `cpu`".into(),
            }),
        },
    },
];

/// Refuses a limit of memory on a device that has none.
fn unlimited(name: &str, options: &OpenOptions) -> Result<(), BackendError> {
    match options.memory_limit {
        None => Ok(()),
        Some(bytes) => Err(BackendError::Unsupported {
            device: name.into(),
            what: format!("with its memory limited to {bytes} bytes"),
            why: "CUDA devices alone can be limited; leave the limit out".into(),
        }),
    }
}

/// The kind of device that a name begins with.
fn find(name: &str, prefix: &str) -> Result<&'static Kind, BackendError> {
    KINDS.iter().find(|k| k.prefix == prefix).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|k| k.prefix).collect();
        BackendError::NoDevice {
            requested: name.into(),
            why: format!("this build knows auto, {}", known.join(", ")),
        }
    })
}

impl Device {
    /// Opens a device by name (`cpu`, `wgpu:0`, `wgpu:llvmpipe`, `cuda:0`), or the fastest real one
    /// for `auto`. Several are one where their names are joined by `+` or a comma (`cuda:0+cuda:1`,
    /// of one kind or not); `cuda:*` and `wgpu:*` are all real ones of a kind (name them one by one
    /// where one GPU is listed twice, as drivers of two interfaces do).
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] naming what was asked for and what there is.
    pub fn open(name: &str) -> Result<Self, BackendError> {
        Self::open_with(name, &OpenOptions::default())
    }

    /// [`Device::open`] with choices made.
    ///
    /// # Errors
    /// As [`Device::open`], and [`BackendError::Unsupported`] for a limit of memory on a device
    /// that cannot be limited.
    pub fn open_with(name: &str, options: &OpenOptions) -> Result<Self, BackendError> {
        if name.contains(JOINERS) {
            return Self::open_several(name, &name.split(JOINERS).collect::<Vec<_>>(), options);
        }
        if let Some(prefix) = name.strip_suffix(":*") {
            let kind = find(name, prefix)?;
            let real: Vec<String> =
                (kind.enumerate)()?.into_iter().filter(|d| !d.software).map(|d| d.id).collect();
            let real: Vec<&str> = real.iter().map(String::as_str).collect();
            return match real.as_slice() {
                [] => Err(BackendError::NoDevice {
                    requested: name.into(),
                    why: format!("this machine has no real {prefix} device"),
                }),
                [only] => Self::open_with(only, options),
                several => Self::open_several(name, several, options),
            };
        }
        if name == "auto" {
            let found = Self::enumerate();
            // Software stand-ins for GPUs are slower than the CPU device, which is always there.
            let best = found.devices.iter().find(|d| !d.software).map_or("cpu", |d| d.id.as_str());
            return Self::open_with(best, options);
        }
        let prefix = name.split(':').next().unwrap_or_default();
        Ok(Self { backend: (find(name, prefix)?.open)(name, options)? })
    }

    fn open_several(
        requested: &str,
        names: &[&str],
        options: &OpenOptions,
    ) -> Result<Self, BackendError> {
        let members = names
            .iter()
            .map(|name| Ok(Self::open_with(name, options)?.backend))
            .collect::<Result<Vec<_>, BackendError>>()?;
        let ids: Vec<&str> = members.iter().map(|m| m.info().id.as_str()).collect();
        if let Some(twice) = ids.iter().enumerate().find(|(i, id)| ids[..*i].contains(id)) {
            return Err(BackendError::NoDevice {
                requested: requested.into(),
                why: format!("{} is named twice", twice.1),
            });
        }
        #[cfg(target_arch = "wasm32")]
        return Err(BackendError::NoDevice {
            requested: requested.into(),
            why: "several devices need a thread each, and a page has one".into(),
        });
        #[cfg(not(target_arch = "wasm32"))]
        Ok(Self { backend: Arc::new(MultiBackend::new(members)?) })
    }

    /// A device of a kind that this crate does not know, or that was opened elsewhere.
    pub fn from_backend(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// Opens the device that the environment variable `GIRIH_DEVICE` names, or `auto` where it is
    /// not set.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn from_environment() -> Result<Self, BackendError> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(name) => Self::open(&name),
            Err(std::env::VarError::NotPresent) => Self::open("auto"),
            Err(e) => Err(BackendError::NoDevice {
                requested: DEVICE_VARIABLE.into(),
                why: e.to_string(),
            }),
        }
    }

    /// Every device of this machine that this build can drive, and why kinds of device are absent.
    pub fn enumerate() -> DeviceEnumeration {
        let mut all = DeviceEnumeration { devices: Vec::new(), absent: Vec::new() };
        for kind in KINDS {
            match (kind.enumerate)() {
                Ok(devices) if devices.is_empty() => {
                    all.absent.push(format!("{}: no such device on this machine", kind.prefix))
                }
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

    /// The same, to be kept.
    pub fn into_backend(self) -> Arc<dyn Backend> {
        self.backend
    }

    /// Loads evaluation keys, everything left to the device, in silence: what comes back depends on
    /// the keys.
    ///
    /// # Errors
    /// As [`KeyLoader::load`].
    pub fn load<K: LoadKeys>(&self, keys: &K) -> Result<K::Server, K::Error> {
        self.loader().load(keys)
    }

    /// Loads evaluation keys with choices of one's own:
    /// `device.loader().transform(..).progress(..).load(&keys)`.
    pub fn loader(&self) -> KeyLoader<'_> {
        KeyLoader { device: self, options: LoadOptions::default(), progress: &NoProgress }
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

/// Evaluation keys that a device can be given, of any scheme.
pub trait LoadKeys {
    /// What they are loaded as.
    type Server;
    /// Why they are not.
    type Error;

    /// Loads them; [`Device::load`] and [`KeyLoader::load`] are what to call.
    ///
    /// # Errors
    /// If they do not fit the device, need something that it lacks, or memory runs out.
    fn load_on(
        &self,
        device: &Device,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Self::Server, Self::Error>;
}

/// How keys are loaded: what is not said is the device's to choose.
#[derive(Clone)]
#[must_use = "nothing is loaded until `load` is called"]
pub struct KeyLoader<'a> {
    device: &'a Device,
    options: LoadOptions,
    progress: &'a dyn Progress,
}

impl<'a> KeyLoader<'a> {
    /// With this transform.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.options.transform = Some(transform);
        self
    }

    /// Under these constraints on the plan.
    pub fn plan(mut self, plan: PlanRequest) -> Self {
        self.options.plan = plan;
        self
    }

    /// As the device's model plans, even where a tuned plan is stored.
    pub fn untuned(mut self) -> Self {
        self.options.untuned = true;
        self
    }

    /// With all options at once.
    pub fn options(self, options: LoadOptions) -> Self {
        Self { options, ..self }
    }

    /// Heard by `progress`.
    pub fn progress(self, progress: &'a dyn Progress) -> Self {
        Self { progress, ..self }
    }

    /// Loads the keys.
    ///
    /// # Errors
    /// If they do not fit the device, need something that it lacks, or memory runs out.
    pub fn load<K: LoadKeys>(self, keys: &K) -> Result<K::Server, K::Error> {
        keys.load_on(self.device, &self.options, self.progress)
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
        for name in ["", "gpu", "cpu:1", "tpu:0", "tpu:*"] {
            let error = Device::open(name).expect_err("no such device").to_string();
            assert!(error.contains(&format!("`{name}`")) && error.contains("cpu"), "{error}");
        }
    }

    #[test]
    fn a_limit_is_refused_where_there_is_none() {
        let options = OpenOptions { memory_limit: Some(1 << 30) };
        let error = Device::open_with("cpu", &options).expect_err("it cannot").to_string();
        assert!(error.contains("limited to 1073741824 bytes"), "{error}");
        assert!(Device::open_with("cpu", &OpenOptions::default()).is_ok());
    }

    #[test]
    fn several_are_named_once_each() {
        assert_eq!(Device::open("cpu:*").expect("there is one").info().id, "cpu");
        for (name, why) in [
            ("cpu+cpu", "cpu is named twice"),
            ("cpu+", "no device ``"),
            ("cpu+tpu:0", "no device `tpu:0`"),
            ("cpu,cpu", "cpu is named twice"),
        ] {
            let error = Device::open(name).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
