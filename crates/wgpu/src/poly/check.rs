//! Every build of the kernels that rings of a degree need, checked without a device.

use crate::poly::LOG2_DEGREES;
use crate::poly::kernels::{MOST_SEGMENTS, PolyBuild, PolyKernel};
use crate::poly::loader::gpu_plan;
use crate::poly::routine::ready;
use crate::poly::tables::Primes;
use crate::runtime::check::{KernelCheck, SpirvModule, VulkanKernel};
use crate::runtime::check::{all_spirv, check, for_vulkan};
use crate::{Profile, Vendor};
use girih_backend::Result;
use girih_backend::poly::{Program, lower};

/// The builds for rings of degree 2^`log2_degree`, none where no kernel serves it: each kernel in
/// both profiles, for memory in one and in several buffers, with few and with many slots, and for
/// both rings.
pub fn poly_builds(log2_degree: u32, vendor: Vendor) -> Vec<PolyBuild> {
    let mut all = Vec::new();
    for kernel in PolyKernel::ALL.into_iter().filter(|_| LOG2_DEGREES.contains(&log2_degree)) {
        for profile in Profile::ALL {
            for (segments, slots, invariant) in
                [(1, 1, false), (MOST_SEGMENTS, 9, false), (1, 1, true), (MOST_SEGMENTS, 9, true)]
            {
                let segments = PolyBuild::segments_for(segments);
                let build =
                    PolyBuild { kernel, log2_degree, invariant, slots, segments, profile, vendor };
                all.push(PolyBuild { slots: build.slots_for(slots), ..build });
            }
        }
    }
    all
}

/// The builds that `program` runs with on a GPU of `vendor`, by its plan, with memory in
/// `segments`.
///
/// # Errors
/// Where the program cannot be lowered, or its schedule breaks a rule.
pub fn poly_builds_of(
    program: &Program,
    vendor: Vendor,
    profile: Profile,
    segments: usize,
) -> Result<Vec<PolyBuild>> {
    let ring = program.ring();
    let log2_degree = ring.log2_degree;
    let schedule = lower(program, &gpu_plan(log2_degree), &[])?;
    let segments = PolyBuild::segments_for(segments);
    let kernel = PolyKernel::Rows;
    let invariant = false;
    let build = PolyBuild { kernel, log2_degree, invariant, slots: 0, segments, profile, vendor };
    let ready = ready(ring, &build, &Primes::new(ring), &schedule, program.residents())?;
    let builds = ready.builds().into_iter();
    let build = |(kernel, invariant, slots)| PolyBuild { kernel, invariant, slots, ..build };
    Ok(builds.map(build).collect())
}

impl PolyBuild {
    /// Parses and validates the WGSL, translates it to SPIR-V, Metal and HLSL, and compares its
    /// workgroup bytes and threads with what was planned.
    ///
    /// # Errors
    /// A sentence naming what failed. Panics of a translator are caught and reported as such.
    pub fn check(&self) -> Result<KernelCheck, String> {
        check(&self.wgsl()?, self.profile, self.workgroup_bytes(), self.threads())
    }

    /// What a driver of Vulkan compiles.
    ///
    /// # Errors
    /// A sentence naming what failed.
    pub fn for_vulkan(&self) -> Result<VulkanKernel, String> {
        for_vulkan(&self.wgsl()?, self.profile)
    }

    /// What drivers of each version of Vulkan compile, with checks and without.
    ///
    /// # Errors
    /// A sentence naming what failed.
    pub fn spirv(&self) -> Result<Vec<SpirvModule>, String> {
        all_spirv(&self.wgsl()?, self.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_build_translates_and_keeps_to_the_limits_of_webgpu() {
        let vendors = [Vendor::Nvidia, Vendor::Intel];
        for (log2_degree, vendor) in
            [3, 4, 9, 10, 11, 16, 17].map(|d| vendors.map(|v| (d, v))).concat()
        {
            for build in poly_builds(log2_degree, vendor) {
                let found = build.check().unwrap_or_else(|e| panic!("{build:?}: {e}"));
                let within = found.workgroup_bytes <= 16 << 10
                    && found.workgroup_threads <= 256
                    && found.storage_buffers <= 8;
                assert!(within && found.spirv_words > 0, "{build:?}: {found:?}");
            }
        }
        assert!([2, 18].into_iter().all(|degree| poly_builds(degree, Vendor::Other).is_empty()));
    }
}
