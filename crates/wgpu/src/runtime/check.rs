//! A kernel without a device: parsed, validated, translated, measured.

use crate::Profile;
use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

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

/// Parses and validates `wgsl`, translates it to SPIR-V, Metal and HLSL, and compares its workgroup
/// bytes and threads with what was planned.
///
/// # Errors
/// A sentence naming what failed. Panics of a translator are caught and reported as such.
pub(crate) fn check(
    wgsl: &str,
    profile: Profile,
    workgroup_bytes: usize,
    workgroup_threads: usize,
) -> Result<KernelCheck, String> {
    let check = std::panic::AssertUnwindSafe(|| {
        check_uncaught(wgsl, profile, workgroup_bytes, workgroup_threads)
    });
    std::panic::catch_unwind(check).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(format!("a translator panicked: {}", what.unwrap_or_else(|| "no message".into())))
    })
}

fn check_uncaught(
    wgsl: &str,
    profile: Profile,
    workgroup_bytes: usize,
    workgroup_threads: usize,
) -> Result<KernelCheck, String> {
    let (module, info) = validated(wgsl, profile)?;
    let found = KernelCheck {
        workgroup_bytes: declared_bytes(&module),
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
        ("bytes of workgroup memory", found.workgroup_bytes, workgroup_bytes),
        ("threads", found.workgroup_threads, workgroup_threads),
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

fn validated(wgsl: &str, profile: Profile) -> Result<(naga::Module, ModuleInfo), String> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|e| e.emit_to_string(wgsl))?;
    let capabilities = match profile {
        Profile::Core => Capabilities::empty(),
        Profile::Int64 => Capabilities::SHADER_INT64,
    };
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|e| format!("not valid: {}", e.emit_to_string(wgsl)))?;
    Ok((module, info))
}

/// A kernel as a driver of Vulkan 1.3 gets it.
#[derive(Clone, Debug)]
pub struct VulkanKernel {
    /// SPIR-V 1.6, without checks of bounds, as kernels run where nobody debugs them.
    pub spirv: Vec<u32>,
    /// The name of its entry point.
    pub entry: String,
    /// Each binding of group 0, and whether it is a uniform buffer; others are storage buffers.
    pub bindings: Vec<(u32, bool)>,
}

/// Translates `wgsl` with the options of `wgpu` for trusted kernels.
///
/// # Errors
/// A sentence naming what failed.
pub(crate) fn for_vulkan(wgsl: &str, profile: Profile) -> Result<VulkanKernel, String> {
    let (module, info) = validated(wgsl, profile)?;
    let options = spv::Options {
        lang_version: (1, 6),
        force_loop_bounding: false,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    let spirv =
        spv::write_vec(&module, &info, &options, None).map_err(|e| format!("SPIR-V: {e}"))?;
    let entry = module.entry_points.first().ok_or("no entry point")?.name.clone();
    let bindings = module.global_variables.iter().filter_map(|(_, variable)| {
        let uniform = variable.space == naga::AddressSpace::Uniform;
        variable.binding.as_ref().map(|at| (at.binding, uniform))
    });
    Ok(VulkanKernel { spirv, entry, bindings: bindings.collect() })
}

fn declared_bytes(module: &naga::Module) -> usize {
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
