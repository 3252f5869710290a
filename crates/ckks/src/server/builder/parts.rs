//! What a builder leaves for a recording.

use super::{Node, Tape};
use crate::program;

/// What a program reads by one or two of its input slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::server) enum InputShape {
    /// Ciphertexts: two slots, b and a. The scale as bits.
    Ciphertexts { level: usize, scale: u64, slots: usize },
    /// A plaintext in coefficients: one slot.
    Plaintext { level: usize },
}

/// What a [`Builder`](super::Builder) leaves.
pub(in crate::server) struct Parts {
    pub recording: program::RecordedProgram,
    pub tape: Tape,
    pub inputs: Vec<InputShape>,
    pub outputs: Vec<Node>,
    /// Slots of the first bootstrapping.
    pub bootstrapped: Option<usize>,
}
