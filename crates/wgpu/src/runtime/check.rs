//! A kernel without a device: parsed, validated, translated, measured.

use crate::Profile;
use naga::back::{hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

/// The versions of SPIR-V that `wgpu` writes, for Vulkan 1.0 to 1.3.
const SPIRV: [((u8, u8), &str); 4] =
    [((1, 0), "vulkan1.0"), ((1, 3), "vulkan1.1"), ((1, 5), "vulkan1.2"), ((1, 6), "vulkan1.3")];
/// The shader models that DXC compiles and that differ for compute kernels; later ones are as 6.6.
const SHADER_MODELS: [hlsl::ShaderModel; 7] = [
    hlsl::ShaderModel::V6_0,
    hlsl::ShaderModel::V6_1,
    hlsl::ShaderModel::V6_2,
    hlsl::ShaderModel::V6_3,
    hlsl::ShaderModel::V6_4,
    hlsl::ShaderModel::V6_5,
    hlsl::ShaderModel::V6_6,
];
/// Metal 2.4: the oldest that `wgpu` finds on macOS 12 and iOS 15.
const METAL: (u8, u8) = (2, 4);
/// What Apple's feature set tables grant every GPU of theirs since the A11: threads, bytes of
/// threadgroup memory, buffers of a function.
const METAL_THREADS: usize = 1024;
const METAL_WORKGROUP_BYTES: usize = 32 << 10;
const METAL_BUFFERS: usize = 31;
/// What Metal 2.4 does not have and a translator could reach for: 64-bit atomics other than least
/// and greatest, 16-bit brain floats.
const METAL_LATER: [&str; 3] = ["atomic_ulong", "atomic<ulong>", "bfloat"];

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
    /// Whether it needs no more workgroup memory and threads than every GPU of Apple has.
    pub fits_metal: bool,
    /// Bytes of HLSL source.
    pub hlsl_bytes: usize,
}

/// Parses and validates `wgsl`, translates it as `wgpu` does, to SPIR-V for Vulkan 1.0 to 1.3 with
/// checks and without, to Metal 2.4 and to HLSL of every shader model that has its integers, and
/// compares its workgroup bytes and threads with what was planned.
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
    let storage = |v: &naga::GlobalVariable| matches!(v.space, naga::AddressSpace::Storage { .. });
    let bytes = declared_bytes(&module);
    let threads = module
        .entry_points
        .first()
        .map_or(0, |e| e.workgroup_size.iter().product::<u32>() as usize);
    let mut spirv_words = 0;
    for one in spirv_modules(&module, &info, profile) {
        spirv_words = one?.words.len();
    }
    let found = KernelCheck {
        workgroup_bytes: bytes,
        workgroup_threads: threads,
        storage_buffers: module.global_variables.iter().filter(|(_, v)| storage(v)).count(),
        spirv_words,
        msl_bytes: to_msl(&module, &info)?.len(),
        fits_metal: bytes <= METAL_WORKGROUP_BYTES && threads <= METAL_THREADS,
        hlsl_bytes: to_hlsl(&module, &info, profile)?,
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

/// A kernel as one version of Vulkan gets it.
#[derive(Clone, Debug)]
pub struct SpirvModule {
    /// The version, as `spirv-val --target-env` names it.
    pub environment: &'static str,
    /// Whether it has the checks that debug builds have.
    pub checked: bool,
    /// The module.
    pub words: Vec<u32>,
}

/// Translates `wgsl` for every version of Vulkan, with checks and without.
///
/// # Errors
/// A sentence naming what failed.
pub(crate) fn all_spirv(wgsl: &str, profile: Profile) -> Result<Vec<SpirvModule>, String> {
    let (module, info) = validated(wgsl, profile)?;
    spirv_modules(&module, &info, profile).collect()
}

fn spirv_modules(
    module: &naga::Module,
    info: &ModuleInfo,
    profile: Profile,
) -> impl Iterator<Item = Result<SpirvModule, String>> {
    let all = SPIRV.into_iter().flat_map(|of| [(of, true), (of, false)]);
    all.map(move |((version, environment), checked)| {
        let words = to_spirv(module, info, &spirv(version, profile, checked))?;
        Ok(SpirvModule { environment, checked, words })
    })
}

/// Translates `wgsl` with the options of `wgpu` for trusted kernels.
///
/// # Errors
/// A sentence naming what failed.
pub(crate) fn for_vulkan(wgsl: &str, profile: Profile) -> Result<VulkanKernel, String> {
    let (module, info) = validated(wgsl, profile)?;
    let spirv = to_spirv(&module, &info, &spirv((1, 6), profile, false))?;
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

/// The options by which `wgpu` (`wgpu-hal`, `vulkan/adapter.rs` and `device.rs`) has a kernel
/// translated that asks for no zeros in its workgroup memory: checked modules as where a driver has
/// no robust access of buffers, trusted ones without any check.
fn spirv(version: (u8, u8), profile: Profile, checked: bool) -> spv::Options<'static> {
    let policy = if checked { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    let mut capabilities = vec![
        spv::Capability::Shader,
        spv::Capability::Matrix,
        spv::Capability::Sampled1D,
        spv::Capability::Image1D,
        spv::Capability::ImageQuery,
        spv::Capability::DerivativeControl,
        spv::Capability::StorageImageExtendedFormats,
    ];
    if profile == Profile::Int64 {
        capabilities.push(spv::Capability::Int64);
    }
    spv::Options {
        lang_version: version,
        flags: spv::WriterFlags::LABEL_VARYINGS | spv::WriterFlags::FORCE_POINT_SIZE,
        capabilities: Some(capabilities.into_iter().collect()),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: checked,
        ..Default::default()
    }
}

fn to_spirv(
    module: &naga::Module,
    info: &ModuleInfo,
    options: &spv::Options<'_>,
) -> Result<Vec<u32>, String> {
    let entry = module.entry_points.first().ok_or("no entry point")?;
    let pipeline = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: entry.name.clone(),
    };
    let (major, minor) = options.lang_version;
    spv::write_vec(module, info, options, Some(&pipeline))
        .map_err(|e| format!("SPIR-V {major}.{minor}: {e}"))
}

fn to_msl(module: &naga::Module, info: &ModuleInfo) -> Result<String, String> {
    let options =
        msl::Options { lang_version: METAL, fake_missing_bindings: true, ..Default::default() };
    let (text, _) = msl::write_string(module, info, &options, &msl::PipelineOptions::default())
        .map_err(|e| format!("Metal: {e}"))?;
    if let Some(later) = METAL_LATER.iter().find(|later| text.contains(**later)) {
        return Err(format!("Metal: {later} is not of version {}.{}", METAL.0, METAL.1));
    }
    // One more tells the lengths of the others.
    let buffers = 1 + module.global_variables.iter().filter(|(_, v)| v.binding.is_some()).count();
    if buffers > METAL_BUFFERS {
        return Err(format!("Metal: {buffers} buffers, a function has {METAL_BUFFERS}"));
    }
    Ok(text)
}

/// Bytes of the longest text. FXC, which stands in where DXC is absent, has shader model 5.1 and no
/// 64-bit integers.
fn to_hlsl(module: &naga::Module, info: &ModuleInfo, profile: Profile) -> Result<usize, String> {
    let fxc = (profile == Profile::Core).then_some(hlsl::ShaderModel::V5_1);
    let mut most = 0;
    for model in fxc.into_iter().chain(SHADER_MODELS) {
        let mut text = String::new();
        let options = hlsl::Options {
            shader_model: model,
            fake_missing_bindings: true,
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        };
        let pipeline = hlsl::PipelineOptions::default();
        hlsl::Writer::new(&mut text, &options, &pipeline)
            .write(module, info, None)
            .map_err(|e| format!("HLSL {}: {e}", model.to_str()))?;
        most = most.max(text.len());
    }
    Ok(most)
}
