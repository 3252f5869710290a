//! Every kernel that a list of shapes needs, checked without a device: parsed, validated,
//! translated, measured.

use crate::bootstrap::plan::{Target, WgpuPlan};
use crate::bootstrap::tables::Tables;
use crate::bootstrap::variant::Kernel;
use crate::runtime::check::{KernelCheck, SpirvModule, VulkanKernel};
use crate::runtime::check::{all_spirv, check, for_vulkan};
use crate::{OpenOptions, Profile, Vendor};
use girih_backend::{
    BackendError, BootstrapShape, DeviceInfo, DeviceKind, DeviceLimits, PlanRequest, Result,
    Transform,
};

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

/// A device to plan for where none is at hand.
fn imagined(id: &str, name: &str, limits: DeviceLimits) -> DeviceInfo {
    DeviceInfo::new(id, name, DeviceKind::Wgpu, limits).with_transforms([Transform::Ntt])
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

/// A small GPU, as [`OpenOptions::mobile`] makes one of any adapter.
pub fn mobile_gpu(kibibytes: u32) -> DeviceInfo {
    let name = format!("{kibibytes} KiB of workgroup memory and 128 threads");
    imagined("wgpu:mobile", &name, OpenOptions::mobile_limits(kibibytes))
}

/// Generates every kernel that the named `shapes` need, in both profiles, plain and traced, planned
/// for `device` of `vendor` or, without one, for the default limits of WebGPU, with the choices of
/// `request`. Shapes that do not fit are errors with their reason.
///
/// # Errors
/// As [`WgpuPlan::new`], and [`BackendError::Unsupported`] for a shape whose bounds cannot be kept.
pub fn kernel_variants(
    shapes: &[(String, BootstrapShape)],
    device: Option<&DeviceInfo>,
    vendor: Vendor,
    request: &PlanRequest,
) -> Result<Vec<KernelVariant>> {
    let mut all = Vec::new();
    for (set, shape) in shapes {
        for profile in Profile::ALL {
            let info = device.cloned().unwrap_or_else(webgpu);
            let target = Target { device: &info, vendor, profile };
            let plan = WgpuPlan::new(shape, target, request, None)?;
            let tables = Tables::new(&plan);
            let few = plan.few_plan().map(|few| (Kernel::BlindRotate, few, true));
            for (kernel, plan, few) in
                Kernel::of(&plan).into_iter().map(|kernel| (kernel, plan.clone(), false)).chain(few)
            {
                for traced in [false, true] {
                    // Neither profile nor trace changes a kernel without modular
                    // arithmetic or insides.
                    let plain = matches!(kernel, Kernel::Combine | Kernel::KeySwitchTorus);
                    if plain && (traced || profile == Profile::Int64) {
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
        check(
            &self.wgsl,
            self.profile,
            self.kernel.workgroup_bytes(&self.plan),
            self.kernel.workgroup_threads(&self.plan),
        )
    }

    /// What a driver of Vulkan compiles.
    ///
    /// # Errors
    /// A sentence naming what failed.
    pub fn for_vulkan(&self) -> Result<VulkanKernel, String> {
        for_vulkan(&self.wgsl, self.profile)
    }

    /// What drivers of each version of Vulkan compile, with checks and without.
    ///
    /// # Errors
    /// A sentence naming what failed.
    pub fn spirv(&self) -> Result<Vec<SpirvModule>, String> {
        all_spirv(&self.wgsl, self.profile)
    }

    /// Threads of a workgroup.
    pub fn workgroup_threads(&self) -> usize {
        self.kernel.workgroup_threads(&self.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_backend::bootstrap::synthetic::small_shape;
    use girih_backend::{Gadget, KeyModulus};

    fn with(words: &[u32], gadget: Gadget) -> BootstrapShape {
        BootstrapShape { key_modulus: KeyModulus::Words(words.to_vec()), gadget, ..small_shape() }
    }

    /// What is left of a kernel without the constants that it declares.
    fn body(wgsl: &str) -> Vec<&str> {
        wgsl.lines().filter(|line| !line.starts_with("const ")).collect()
    }

    #[test]
    fn kernels_of_primes_of_one_class_differ_in_constants_alone() {
        let digits =
            |log2_base, levels| Gadget::Decomposition { log2_base, levels, dropped_bits: 0 };
        let raised = Gadget::ModulusRaising { log2_modulus: 22 };
        for (gadget, one, other) in [
            (digits(9, 3), &[134_176_769][..], &[134_111_233][..]),
            (digits(8, 4), &[2_147_377_153], &[2_147_389_441]),
            (digits(9, 6), &[134_111_233, 134_176_769], &[134_012_929, 134_025_217]),
            (raised, &[134_111_233, 134_176_769], &[134_012_929, 134_025_217]),
        ] {
            for profile in Profile::ALL {
                let wgsl = |words: &[u32]| {
                    let (shape, request) = (with(words, gadget), PlanRequest::default());
                    let device = &desktop_gpu();
                    let target = Target { device, vendor: Vendor::Nvidia, profile };
                    let plan = WgpuPlan::new(&shape, target, &request, None);
                    let plan = plan.expect("it fits");
                    Kernel::BlindRotate.wgsl(&plan, &Tables::new(&plan), false).expect("bounded")
                };
                let (a, b) = (wgsl(one), wgsl(other));
                assert!(body(&a) == body(&b), "{profile}: {one:?} is not as {other:?}");
                for (word, prime) in one.iter().enumerate() {
                    assert!(a.contains(&format!("const P_{word} = {prime}u;")), "{profile}: {a}");
                }
            }
        }
    }
}
