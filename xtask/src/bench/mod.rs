//! `cargo xtask bench`: the main job.

mod arguments;
mod batches;
mod gates;
mod integers;
mod keys;
mod large;
mod operation;

pub use arguments::{Arguments, Slots, Sweep, TransformChoice};
pub use batches::{TABLE_BATCH, batch_size};
pub use gates::{load, measure};
pub use keys::{repack, seed_bytes};
pub use operation::{CkksOperation, GateOperation, Operation, name};

use crate::ckks;
use anyhow::{Result, bail};

/// The bench of the scheme and the kind of operation that are asked for.
pub fn run(arguments: &Arguments) -> Result<bool> {
    arguments::check(arguments)?;
    if let Some(set) = ckks::bench::set(arguments)? {
        return ckks::bench::run(arguments, &set);
    }
    let level = arguments.level.is_some() || arguments.ratio.is_some();
    let of_ckks = level || arguments.key_switch.is_some() || arguments.few_keys;
    match arguments.op {
        Operation::Ckks(op) => bail!(
            "--op {}: is an operation of CKKS sets; name one with --set, such as CKKS_D40",
            name(op)
        ),
        _ if of_ckks => bail!(
            "--level, --ratio, --key-switch and --few-keys are options of CKKS sets; name one with \
             --set, such as CKKS_D40"
        ),
        Operation::Gate(op) => gates::run(arguments, op),
        Operation::Large(op) => large::run(arguments, op),
        Operation::Integer(op) => integers::run(arguments, op),
    }
}
