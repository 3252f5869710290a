//! What kernels are told: jobs and launches,
//! field for field the structs of `shaders/bootstrap/job.wgsl`.

use bytemuck::{Pod, Zeroable};
use girih_backend::{BootstrapJob, Combination};

/// A job.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct GpuJob {
    pub operands: [u32; 4],
    pub weights: [i32; 4],
    pub constant: u32,
    pub log2_modulus: u32,
    pub table: u32,
    pub table_stride: u32,
    pub offsets: [u32; 2],
    pub log2_output: u32,
    pub output: u32,
    pub second_offsets: [u32; 2],
    pub second_coefficient: u32,
    pub second_output: u32,
}

/// Whether a ciphertext of `jobs` has a second result.
pub(crate) fn has_second(jobs: &[BootstrapJob]) -> bool {
    jobs.iter().any(|job| job.second.is_some())
}

impl GpuJob {
    pub fn new(input: &Combination, log2_output: u32, output: u32) -> Self {
        // Kernels read operands of weight 0 too; index 0 is always there.
        let index =
            |i: usize| if input.operands[i].weight == 0 { 0 } else { input.operands[i].ciphertext };
        Self {
            operands: std::array::from_fn(index),
            weights: input.operands.map(|o| o.weight),
            constant: input.constant,
            log2_modulus: input.log2_modulus,
            log2_output,
            output,
            ..Default::default()
        }
    }

    /// The same job on a combination that lies ready at `place`, with its result there as well,
    /// and a second one at `second`.
    pub fn at(self, place: u32, second: u32) -> Self {
        Self {
            operands: [place, 0, 0, 0],
            weights: [1, 0, 0, 0],
            constant: 0,
            output: place,
            second_output: second,
            ..self
        }
    }
}

/// A dispatch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct GpuLaunch {
    pub first_step: u32,
    pub last_step: u32,
    pub first_block: u32,
    pub trace_step: u32,
    pub first_job: u32,
    pub jobs: u32,
    /// Parts that each ciphertext's indices of this dispatch are divided into,
    /// and the indices of a part.
    pub parts: u32,
    pub share: u32,
    /// 1: results are added to what is there.
    pub add: u32,
    pub unused: [u32; 3],
}

/// Dispatches of this family.
pub(crate) type Script<'a> = crate::runtime::script::Script<'a, GpuJob, GpuLaunch>;
