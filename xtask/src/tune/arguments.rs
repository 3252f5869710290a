//! What `cargo xtask tune` is asked for, and how it tells what it measured.

use crate::bench;

#[derive(clap::Args)]
pub struct Arguments {
    /// The device: cpu, wgpu:0, wgpu:llvmpipe, cuda:0, or auto for the fastest real one.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    pub device: String,
    /// The parameter sets, of TFHE or CKKS, by name, commas between them; or one of TFHE and one of
    /// numbers in slots, such as TFHERS_2_2_GROUP_2,DISCRETE_4: from how many elements on the
    /// second is faster.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "STD128")]
    pub set: Vec<String>,
    /// What plans of CKKS sets are measured by: multiply, bootstrap and others of `bench --help`
    /// [default: multiply]; of two engines of integers add64, mul64, div64, cmp64, select64 or
    /// bitand64.
    #[arg(long)]
    pub op: Option<bench::Operation>,
    /// Messages that share a ciphertext (r), 1 to 16 [default: the set's own].
    #[arg(long, value_name = "R")]
    pub packing: Option<usize>,
    /// Ciphertexts in a batch
    /// [default: 4096 on a GPU, 4 on a software driver or the CPU; of CKKS 1].
    #[arg(long)]
    pub batch: Option<usize>,
    /// Timed runs of each plan, after one that warms up.
    #[arg(long, default_value_t = 3)]
    pub repeat: usize,
    /// At most this many plans a set (of CKKS: a key switching), in the device's order of promise.
    #[arg(long, value_name = "COUNT")]
    pub most: Option<std::num::NonZeroUsize>,
    /// Measure only; store nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Write the measurements as JSON to FILE (`-` for standard output).
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

/// Says behind `plan` what its measurement brought, or why it was skipped.
pub fn told<M, E: std::fmt::Display>(
    say: &dyn Fn(String),
    plan: &str,
    measured: Result<M, E>,
    figures: impl FnOnce(&M) -> String,
) -> Option<M> {
    match measured {
        Ok(m) => {
            say(format!("{plan}{}", figures(&m)));
            Some(m)
        }
        Err(error) => {
            say(format!("{plan} skipped: {error:#}"));
            None
        }
    }
}
