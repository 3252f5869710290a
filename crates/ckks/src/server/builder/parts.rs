//! What a builder leaves for a recording.

use super::{Node, Tape};
use crate::program;
use girih_backend::poly::Value;

/// A plaintext of a recording: part of the program, or brought along by each call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlainNode {
    pub(super) value: Value,
    pub(super) level: usize,
    pub(super) scale: f64,
    /// Its place on the tape: only the magnitude counts.
    pub(super) estimate: usize,
}

/// What is declared of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::server) struct VectorShape {
    pub slots: usize,
    pub magnitude: f64,
}

/// A vector where it is read: encoded at this scale, for ciphertexts at this level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::server) struct VectorUse {
    /// Its number among the vectors.
    pub vector: usize,
    pub level: usize,
    pub scale: f64,
    /// Its node, as the first use made it.
    pub plain: PlainNode,
}

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
    /// The vectors that runs bring along, and where they are read.
    pub vectors: Vec<VectorShape>,
    pub uses: Vec<VectorUse>,
    pub outputs: Vec<Node>,
    /// Slots of the first bootstrapping.
    pub bootstrapped: Option<usize>,
}
