//! Finding and opening adapters.

use crate::bootstrap::choices::Rolled;
use crate::bootstrap::engine::WgpuEngine;
use crate::bootstrap::plan::{Target, WgpuPlan};
use crate::options::{OpenOptions, limits_of};
use crate::poly::kernels::Kernels;
use crate::runtime::gpu::{Gpu, name_of};
use crate::runtime::instance::instance;
use crate::{Profile, Vendor};
use girih_backend::bootstrap::{BootstrapDevice, Loader, other_backend};
use girih_backend::{
    Backend, BackendError, BootstrapShape, DeviceInfo, DeviceKind, DeviceLimits, DoesNotFit,
    LoadOptions, LoadRequest, Result, Transform, Waiting, at_once, block_on, choose_plan,
};
use std::sync::Arc;

/// Software drivers: what the names of their adapters hold, and what they are called here.
const SOFTWARE: [(&str, &str); 3] =
    [("llvmpipe", "llvmpipe"), ("SwiftShader", "swiftshader"), ("Basic Render", "warp")];

/// Percent of the memory that a driver grants this process which buffers may take.
const MEMORY_PERCENT: u8 = 95;

/// What a device of DX12 says that was opened without its compiler.
const NO_DXC: &str = "compiled by FXC, slowly and with 32-bit words: put dxcompiler.dll of DXC \
                      1.8.2502 or later beside the program or on the PATH";

/// What a device without timestamps says.
const NO_TIMESTAMPS: &str = "no timestamps: timelines show the host alone";

/// One adapter, opened.
pub struct WgpuBackend {
    info: DeviceInfo,
    profile: Profile,
    vendor: Vendor,
    rolled: Option<Rolled>,
    gpu: Arc<Gpu>,
    poly_kernels: Arc<Kernels>,
}

/// An adapter found, with the name that opens it.
struct Found {
    id: String,
    adapter: wgpu::Adapter,
}

/// The name of a software driver; a second one of a kind gets a number.
fn software_id(name: &str, before: &[Found]) -> String {
    let known = SOFTWARE.iter().find(|(holds, _)| name.contains(holds));
    let id = format!("wgpu:{}", known.map_or("software", |(_, id)| id));
    match before.iter().filter(|found| found.id.starts_with(&id)).count() {
        0 => id,
        number => format!("{id}{number}"),
    }
}

/// What `wgpu:0` is taken from first, whatever order the drivers have.
fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::VirtualGpu => 1,
        wgpu::DeviceType::IntegratedGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

/// Adapters with compute shaders: GPUs of their own memory first, software last; the numbers in
/// their names count real ones only.
fn adapters() -> Vec<Found> {
    #[cfg(target_arch = "wasm32")]
    if !girih_backend::can_wait() {
        return Vec::new();
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = if cfg!(target_arch = "wasm32") {
        wgpu::Backends::BROWSER_WEBGPU
    } else {
        wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12
    };
    // A buffer beyond what the driver says is left is refused, instead of being swapped out or
    // ending the process.
    descriptor.memory_budget_thresholds.for_resource_creation = Some(MEMORY_PERCENT);
    let instance = instance(descriptor);
    let (mut real, mut software) = (Vec::new(), Vec::new());
    let mut all = block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    all.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    for adapter in all {
        if !adapter
            .get_downlevel_capabilities()
            .flags
            .contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        {
            continue;
        }
        // A browser hands out one, and does not tell what it is.
        if cfg!(target_arch = "wasm32") {
            real.push(Found { id: "wgpu:browser".into(), adapter });
        } else if adapter.get_info().device_type == wgpu::DeviceType::Cpu {
            let id = software_id(&adapter.get_info().name, &software);
            software.push(Found { id, adapter });
        } else {
            real.push(Found { id: format!("wgpu:{}", real.len()), adapter });
        }
    }
    real.extend(software);
    real
}

fn describe(
    id: &str,
    adapter: &wgpu::Adapter,
    profile: Profile,
    limits: &wgpu::Limits,
) -> DeviceInfo {
    let info = adapter.get_info();
    let limits = DeviceLimits {
        workgroup_memory_bytes: limits.max_compute_workgroup_storage_size as usize,
        workgroup_threads: limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x) as usize,
        subgroup_threads: info.subgroup_max_size.max(1) as usize,
        binding_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        // wgpu does not tell; a few hundred workgroups fill any GPU of today.
        multiprocessors: 1,
    };
    let mut notes = vec![
        format!("{} through {:?}", info.driver, info.backend),
        info.driver_info.clone(),
        format!("profile {profile}"),
        format!("subgroups of {} to {}", info.subgroup_min_size, info.subgroup_max_size),
        if adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            "timelines by timestamps".into()
        } else {
            NO_TIMESTAMPS.into()
        },
    ];
    // The compiler that stands in for it knows no 64-bit integers, so that their absence tells.
    if info.backend == wgpu::Backend::Dx12
        && !adapter.features().contains(wgpu::Features::SHADER_INT64)
    {
        notes.push(NO_DXC.into());
    }
    DeviceInfo::new(id, name_of(info.clone()), DeviceKind::Wgpu, limits)
        .with_transforms([Transform::Ntt])
        .with_software(info.device_type == wgpu::DeviceType::Cpu)
        .with_notes(notes)
}

fn profile_of(adapter: &wgpu::Adapter, asked: Option<Profile>) -> Profile {
    let has = adapter.features().contains(wgpu::Features::SHADER_INT64);
    asked.unwrap_or(if has { Profile::Int64 } else { Profile::Core })
}

/// Every adapter of this machine that can be opened.
pub fn enumerate() -> Vec<DeviceInfo> {
    adapters()
        .iter()
        .map(|f| {
            describe(
                &f.id,
                &f.adapter,
                profile_of(&f.adapter, None),
                &limits_of(&f.adapter, &OpenOptions::default()),
            )
        })
        .collect()
}

impl WgpuBackend {
    /// Opens an adapter by the name that [`enumerate`] gives it: `wgpu:0`, `wgpu:llvmpipe`. With
    /// `@core` after the name the u32-only profile runs within WebGPU's default limits, which every
    /// browser has; with `@core-full` within those of the adapter, as where it lacks 64-bit
    /// integers. `@int64` insists on these. `@mobile16` and `@mobile32` are for tests: the u32-only
    /// profile as on a small GPU, with 16 or 32 KiB of workgroup memory, 128 threads a workgroup
    /// and 128 MiB a binding.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] listing what there is.
    pub fn open(name: &str) -> Result<Self> {
        let (id, suffix) =
            name.split_once('@').map_or((name, None), |(id, suffix)| (id, Some(suffix)));
        let options = match suffix {
            None => OpenOptions::default(),
            Some("core") => OpenOptions {
                profile: Some(Profile::Core),
                webgpu_limits: true,
                ..Default::default()
            },
            Some("core-full") => OpenOptions { profile: Some(Profile::Core), ..Default::default() },
            Some("int64") => OpenOptions { profile: Some(Profile::Int64), ..Default::default() },
            Some("mobile16") => OpenOptions::mobile(16),
            Some("mobile32") => OpenOptions::mobile(32),
            Some(other) => {
                return Err(BackendError::NoDevice {
                    requested: name.into(),
                    why: format!(
                        "`@{other}` is no profile; there are @core, @core-full, @int64, @mobile16 \
                         and @mobile32"
                    ),
                });
            }
        };
        Self::open_with(id, &options)
    }

    /// Opens an adapter with everything chosen.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] listing what there is, [`BackendError::Unsupported`] for a
    /// profile that the adapter lacks, [`BackendError::DeviceFailed`] with the driver's words.
    pub fn open_with(id: &str, options: &OpenOptions) -> Result<Self> {
        let mut found = adapters();
        let Some(at) = found.iter().position(|f| f.id == id) else {
            let there: Vec<String> =
                found.iter().map(|f| format!("{} ({})", f.id, f.adapter.get_info().name)).collect();
            let why = if there.is_empty() && cfg!(target_arch = "wasm32") {
                "this browser has no adapter to hand out (WebGPU is missing or switched off), or \
                 cannot suspend a call until a device is done (JSPI is missing)"
                    .into()
            } else if there.is_empty() {
                "no adapter found; a Vulkan, Metal or DX12 driver is needed (the software one: \
                 Debian package mesa-vulkan-drivers)"
                    .into()
            } else {
                format!("there are {}", there.join(", "))
            };
            return Err(BackendError::NoDevice { requested: id.into(), why });
        };
        let adapter = found.swap_remove(at).adapter;
        let profile = profile_of(&adapter, options.profile);
        let features = match profile {
            Profile::Int64 => wgpu::Features::SHADER_INT64,
            Profile::Core => wgpu::Features::empty(),
        };
        if !adapter.features().contains(features) {
            return Err(BackendError::Unsupported {
                device: adapter.get_info().name,
                what: format!("profile {profile}"),
                why: "the adapter has no 64-bit integers; open it with profile core".into(),
            });
        }
        let useful = wgpu::Features::PIPELINE_CACHE | wgpu::Features::TIMESTAMP_QUERY;
        let features = features | (adapter.features() & useful);
        let limits = limits_of(&adapter, options);
        let info = describe(id, &adapter, profile, &limits);
        let checked = options.checked.unwrap_or(cfg!(debug_assertions));
        let gpu = Arc::new(Gpu::open(&adapter, features, limits, checked)?);
        let vendor = options.vendor.unwrap_or_else(|| Vendor::of(adapter.get_info().vendor));
        let rolled = options.rolled;
        Ok(Self { info, profile, vendor, rolled, gpu, poly_kernels: Arc::default() })
    }

    /// The arithmetic in use.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    pub(crate) fn vendor(&self) -> Vendor {
        self.vendor
    }

    fn target(&self) -> Target<'_> {
        Target { device: &self.info, vendor: self.vendor, profile: self.profile }
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(crate) fn poly_kernels(&self) -> &Arc<Kernels> {
        &self.poly_kernels
    }

    /// Loses the device, as a driver may at any time: for tests of what happens then.
    #[doc(hidden)]
    pub fn lose(&self) {
        self.gpu.device.destroy();
    }

    fn load_engine(&self, request: LoadRequest<'_>) -> Result<WgpuEngine> {
        let LoadRequest { keys, options, progress, .. } = request;
        if let Some(transform @ Transform::Fft) = options.transform {
            return Err(BackendError::DoesNotFit {
                device: self.info.name.clone(),
                reason: DoesNotFit::Transform {
                    transform,
                    why: "WGSL kernels have the ntt-u32 transform only".into(),
                },
            });
        }
        let beside = request.beside_as::<WgpuEngine>()?;
        if beside.is_some_and(|engine| !engine.is_on(&self.gpu)) {
            return Err(other_backend());
        }
        let (options, source) = choose_plan(&self.identity(), keys.shape(), options, progress)?;
        let plan = WgpuPlan::new(keys.shape(), self.target(), &options.plan, self.rolled)?;
        WgpuEngine::load(Arc::clone(&self.gpu), plan, source, beside, keys, progress)
    }
}

impl Backend for WgpuBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn identity(&self) -> String {
        // Neither the order of adapters nor subgroup sizes change with what a plan costs; driver
        // and profile do.
        format!("wgpu: {}, {}", self.info.name, self.info.notes[..3].join(", "))
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        Some(self)
    }

    fn poly(&self) -> Option<&dyn girih_backend::poly::Loader> {
        Some(self)
    }
}

impl Loader for WgpuBackend {
    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>> {
        at_once(move || Ok(Box::new(self.load_engine(request)?) as Box<dyn BootstrapDevice>))
    }

    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        let plans = WgpuPlan::alternatives(shape, self.target())?;
        let options = |plan| LoadOptions::default().with_transform(Transform::Ntt).with_plan(plan);
        Ok(plans.into_iter().map(options).collect())
    }
}
