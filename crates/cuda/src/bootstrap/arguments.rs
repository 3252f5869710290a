//! The structs that kernels take, field for field those of `cuda/bootstrap/jobs.cuh`.
#![allow(unsafe_code)] // Declares them to be plain.

use crate::runtime::bytes::plain;
use girih_backend::{BootstrapJob, Combination, LinearJob};

plain!(
    Job,
    Linear,
    BlindRotateArguments,
    KeySwitchArguments,
    TorusKeySwitchArguments,
    CombineArguments
);

/// Bytes of each struct, under the names by which `jobs.cuh` asserts them.
pub(crate) const ARGUMENT_BYTES: [(&str, usize); 6] = [
    ("BOOTSTRAP_JOB_BYTES", size_of::<Job>()),
    ("LINEAR_JOB_BYTES", size_of::<Linear>()),
    ("BLIND_ROTATE_ARGUMENTS_BYTES", size_of::<BlindRotateArguments>()),
    ("KEY_SWITCH_ARGUMENTS_BYTES", size_of::<KeySwitchArguments>()),
    ("TORUS_KEY_SWITCH_ARGUMENTS_BYTES", size_of::<TorusKeySwitchArguments>()),
    ("COMBINE_ARGUMENTS_BYTES", size_of::<CombineArguments>()),
];

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Input {
    operands: [(u32, i32); 4],
    constant: u32,
    log2_modulus: u32,
}

impl From<&Combination> for Input {
    fn from(c: &Combination) -> Self {
        Self {
            operands: c.operands.map(|o| (o.ciphertext, o.weight)),
            constant: c.constant,
            log2_modulus: c.log2_modulus,
        }
    }
}

/// `BootstrapJob` of `jobs.cuh`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Job {
    input: Input,
    table: u32,
    table_stride: u32,
    log2_output_modulus: u32,
    output: u32,
    output_offset: u64,
    second_coefficient: u32,
    second_output: u32,
    second_offset: u64,
}

impl From<&BootstrapJob> for Job {
    fn from(j: &BootstrapJob) -> Self {
        let [second_coefficient, second_output] =
            j.second.map_or([0; 2], |second| [second.coefficient, second.output]);
        Self {
            input: (&j.input).into(),
            table: j.table,
            table_stride: j.table_stride,
            log2_output_modulus: j.log2_output_modulus,
            output: j.output,
            output_offset: j.output_offset,
            second_coefficient,
            second_output,
            second_offset: j.second.map_or(0, |second| second.output_offset),
        }
    }
}

/// `LinearJob` of `jobs.cuh`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Linear {
    input: Input,
    log2_output_modulus: u32,
    output: u32,
}

impl From<&LinearJob> for Linear {
    fn from(j: &LinearJob) -> Self {
        Self {
            input: (&j.input).into(),
            log2_output_modulus: j.log2_output_modulus,
            output: j.output,
        }
    }
}

/// Device addresses and counts of one `blind_rotate` launch.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct BlindRotateArguments {
    pub store: u64,
    pub jobs: u64,
    pub key: u64,
    pub roots: u64,
    pub powers: u64,
    pub tables: u64,
    pub switched: u64,
    pub dump: u64,
    pub job_count: u32,
    pub steps: u32,
    pub dump_stage: u32,
    pub dump_step: u32,
}

/// Of one `key_switch` launch.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct KeySwitchArguments {
    pub jobs: u64,
    pub switched: u64,
    pub key: u64,
    pub store: u64,
    pub dump: u64,
    pub partial: u64,
    pub job_count: u32,
    pub parts: u32,
}

/// Of one `torus_digits`, `key_switch_torus` or `round_torus` launch.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct TorusKeySwitchArguments {
    pub jobs: u64,
    pub store: u64,
    pub key: u64,
    pub digits: u64,
    pub sums: u64,
    pub exponents: u64,
    pub dump: u64,
    pub job_count: u32,
    pub splits: u32,
}

/// Of one `combine` or `combine_scatter` launch.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct CombineArguments {
    pub jobs: u64,
    pub store: u64,
    pub results: u64,
    pub job_count: u32,
    pub padding: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_sizes_of_their_fields() {
        assert_eq!(size_of::<Input>(), 10 * 4);
        assert_eq!(size_of::<Job>(), 10 * 4 + 4 * 4 + 8 + 2 * 4 + 8);
        assert_eq!(size_of::<Linear>(), 12 * 4);
        assert_eq!(size_of::<BlindRotateArguments>(), 8 * 8 + 4 * 4);
        assert_eq!(size_of::<KeySwitchArguments>(), 6 * 8 + 2 * 4);
        assert_eq!(size_of::<TorusKeySwitchArguments>(), 7 * 8 + 2 * 4);
        assert_eq!(size_of::<CombineArguments>(), 3 * 8 + 2 * 4);
    }
}
