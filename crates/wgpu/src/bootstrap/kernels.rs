//! Every kernel that a list of shapes needs, checked without a device: parsed, validated,
//! translated, measured.

use crate::Profile;
use crate::bootstrap::plan::WgpuPlan;
use crate::bootstrap::tables::Tables;
use crate::bootstrap::variant::Kernel;
use girih_backend::{
    BackendError, BootstrapShape, DeviceInfo, DeviceKind, DeviceLimits, PlanRequest, Transform,
};
use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

/// One kernel of one shape in one profile.
#[derive(Clone, Debug)]
pub struct KernelVariant {
    /// Whose shape it is, as the caller named it.
    pub set: String,
    /// The kernel.
    pub kernel: Kernel,
    /// The arithmetic.
    pub profile: Profile,
    /// Whether it is the traced form.
    pub traced: bool,
    /// Whether it is the variant for few ciphertexts.
    pub few: bool,
    /// What it was generated from.
    pub plan: WgpuPlan,
    /// Its WGSL.
    pub wgsl: String,
}

/// What the check of one kernel found.
#[derive(Clone, Debug)]
pub struct KernelCheck {
    /// Bytes of workgroup memory the module declares.
    pub workgroup_bytes: usize,
    /// Threads of a workgroup.
    pub workgroup_threads: usize,
    /// Storage buffers it binds.
    pub storage_buffers: usize,
    /// Words of SPIR-V.
    pub spirv_words: usize,
    /// Bytes of Metal source.
    pub msl_bytes: usize,
    /// Bytes of HLSL source.
    pub hlsl_bytes: usize,
}

/// A device to plan for where none is at hand.
fn imagined(id: &str, name: &str, limits: DeviceLimits) -> DeviceInfo {
    DeviceInfo {
        id: id.into(),
        name: name.into(),
        kind: DeviceKind::Wgpu,
        transforms: vec![Transform::Ntt],
        limits,
        software: false,
        notes: Vec::new(),
    }
}

/// The default limits of WebGPU: what a browser grants.
fn webgpu() -> DeviceInfo {
    let limits = wgpu::Limits::default();
    let limits = DeviceLimits {
        workgroup_memory_bytes: limits.max_compute_workgroup_storage_size as usize,
        workgroup_threads: limits.max_compute_invocations_per_workgroup as usize,
        subgroup_threads: 32,
        binding_bytes: limits.max_storage_buffer_binding_size,
        multiprocessors: 1,
    };
    imagined("wgpu:default-limits", "the default limits of WebGPU", limits)
}

/// A desktop GPU through Vulkan, for the shapes that the default limits of WebGPU do not hold.
pub fn desktop_gpu() -> DeviceInfo {
    let limits = DeviceLimits {
        workgroup_memory_bytes: 48 << 10,
        workgroup_threads: 1024,
        subgroup_threads: 32,
        binding_bytes: (1 << 31) - 4,
        multiprocessors: 1,
    };
    imagined("wgpu:desktop", "48 KiB of workgroup memory and 1,024 threads", limits)
}

/// Generates every kernel that the named `shapes` need, in both profiles, plain and traced, planned
/// for `device` or, without one, for the default limits of WebGPU. Shapes that do not fit are
/// errors with their reason.
///
/// # Errors
/// As [`WgpuPlan::new`], and [`BackendError::Unsupported`] for a shape whose bounds cannot be kept.
pub fn kernel_variants(
    shapes: &[(String, BootstrapShape)],
    device: Option<&DeviceInfo>,
) -> Result<Vec<KernelVariant>, BackendError> {
    let mut all = Vec::new();
    for (set, shape) in shapes {
        for profile in Profile::ALL {
            let info = device.cloned().unwrap_or_else(webgpu);
            let plan = WgpuPlan::new(shape, profile, &info, &PlanRequest::default(), None)?;
            let tables = Tables::new(&plan);
            let few = plan.few_plan().map(|few| (Kernel::BlindRotate, few, true));
            for (kernel, plan, few) in
                Kernel::ALL.map(|kernel| (kernel, plan.clone(), false)).into_iter().chain(few)
            {
                for traced in [false, true] {
                    // Neither profile nor trace changes a kernel without modular
                    // arithmetic or insides.
                    if kernel == Kernel::Combine && (traced || profile == Profile::Int64) {
                        continue;
                    }
                    let wgsl = kernel.wgsl(&plan, &tables, traced).map_err(|why| {
                        BackendError::Unsupported {
                            device: info.name.clone(),
                            what: format!("{set} in {}", kernel.name()),
                            why,
                        }
                    })?;
                    all.push(KernelVariant {
                        set: set.clone(),
                        kernel,
                        profile,
                        traced,
                        few,
                        plan: plan.clone(),
                        wgsl,
                    });
                }
            }
        }
    }
    Ok(all)
}

impl KernelVariant {
    /// Parses and validates the WGSL, translates it to SPIR-V, Metal and HLSL, and compares its
    /// workgroup bytes and threads with the plan.
    ///
    /// # Errors
    /// A sentence naming what failed. Panics of a translator are caught and reported as such.
    pub fn check(&self) -> Result<KernelCheck, String> {
        let check = std::panic::AssertUnwindSafe(|| self.check_uncaught());
        std::panic::catch_unwind(check).unwrap_or_else(|panic| {
            let what = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
            Err(format!("a translator panicked: {}", what.unwrap_or_else(|| "no message".into())))
        })
    }

    fn check_uncaught(&self) -> Result<KernelCheck, String> {
        let module =
            naga::front::wgsl::parse_str(&self.wgsl).map_err(|e| e.emit_to_string(&self.wgsl))?;
        let capabilities = match self.profile {
            Profile::Core => Capabilities::empty(),
            Profile::Int64 => Capabilities::SHADER_INT64,
        };
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .map_err(|e| format!("not valid: {}", e.emit_to_string(&self.wgsl)))?;
        let found = KernelCheck {
            workgroup_bytes: workgroup_bytes(&module),
            workgroup_threads: module
                .entry_points
                .first()
                .map_or(0, |e| e.workgroup_size.iter().product::<u32>() as usize),
            storage_buffers: module
                .global_variables
                .iter()
                .filter(|(_, v)| matches!(v.space, naga::AddressSpace::Storage { .. }))
                .count(),
            spirv_words: to_spirv(&module, &info)?.len(),
            msl_bytes: to_msl(&module, &info)?.len(),
            hlsl_bytes: to_hlsl(&module, &info)?.len(),
        };
        for (what, found, planned) in [
            (
                "bytes of workgroup memory",
                found.workgroup_bytes,
                self.kernel.workgroup_bytes(&self.plan),
            ),
            ("threads", found.workgroup_threads, self.kernel.workgroup_threads(&self.plan)),
        ] {
            if found != planned {
                return Err(format!("the module has {found} {what}, its plan {planned}"));
            }
        }
        let most = wgpu::Limits::default().max_storage_buffers_per_shader_stage as usize;
        if found.storage_buffers > most {
            return Err(format!(
                "{} storage buffers are more than the {most} that every device has",
                found.storage_buffers
            ));
        }
        Ok(found)
    }
}

fn workgroup_bytes(module: &naga::Module) -> usize {
    let context = module.to_ctx();
    let variables =
        module.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup);
    variables.map(|(_, v)| module.types[v.ty].inner.size(context) as usize).sum()
}

fn to_spirv(module: &naga::Module, info: &ModuleInfo) -> Result<Vec<u32>, String> {
    spv::write_vec(module, info, &spv::Options::default(), None).map_err(|e| format!("SPIR-V: {e}"))
}

fn to_msl(module: &naga::Module, info: &ModuleInfo) -> Result<String, String> {
    let options =
        msl::Options { lang_version: (2, 4), fake_missing_bindings: true, ..Default::default() };
    msl::write_string(module, info, &options, &msl::PipelineOptions::default())
        .map(|(text, _)| text)
        .map_err(|e| format!("Metal: {e}"))
}

fn to_hlsl(module: &naga::Module, info: &ModuleInfo) -> Result<String, String> {
    let mut text = String::new();
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_0,
        fake_missing_bindings: true,
        ..Default::default()
    };
    let pipeline = hlsl::PipelineOptions::default();
    hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(module, info, None)
        .map_err(|e| format!("HLSL: {e}"))?;
    Ok(text)
}
