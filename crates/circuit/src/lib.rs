//! Boolean circuits on encrypted bits.

mod bits;
mod bristol;
mod builder;
mod circuit;
mod error;
mod evaluate;
pub mod generate;
mod netlist;
mod optimise;
mod report;
mod yosys;

pub use bits::EncryptedBits;
pub use builder::Builder;
pub use circuit::{Circuit, MAX_INPUT_BITS};
pub use error::{Error, Result};
pub use netlist::{Bus, Gate, GateKind, Netlist, Wire};
pub use report::{LevelTime, Report};
