//! `cargo xtask bench`: the main job.

pub mod arguments;
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
pub use operation::{
    CkksOperation, DiscreteOperation, GateOperation, IntegerOperation, Operation, name,
};

use crate::{ckks, discrete, slot_integers, wide};
use anyhow::{Result, bail};

/// The bench of the scheme and the kind of operation that are asked for.
pub fn run(arguments: &Arguments) -> Result<bool> {
    arguments::check(arguments)?;
    if let Some(set) = discrete::set(arguments)? {
        return match arguments.op {
            Operation::Discrete(op @ (DiscreteOperation::Aes | DiscreteOperation::Circuit)) => {
                wide::run(arguments, &set, op)
            }
            Operation::Integer(op) => slot_integers::run(arguments, &set, op),
            _ => discrete::run(arguments, &set),
        };
    }
    if arguments.netlist.is_some() {
        bail!("--netlist is an option of --op circuit and a set such as DISCRETE_4");
    }
    if arguments.order.is_some() {
        bail!("--order is an option of sets for numbers in slots; name one, such as DISCRETE_4");
    }
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
        Operation::Discrete(op) => bail!(
            "--op {}: is an operation on numbers in slots; name a set such as DISCRETE_4",
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
