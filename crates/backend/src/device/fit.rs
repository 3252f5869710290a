//! What devices refuse: work that does not fit them, and shapes that no device could run.

use super::Transform;

/// The bound that a plan breaks. `tile` describes in words what was planned, with the numbers that
/// decide its size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DoesNotFit {
    /// Too many bytes of workgroup memory.
    #[error("{tile} needs {needed} bytes of workgroup memory, the device has {available}")]
    Memory {
        /// What was planned.
        tile: String,
        /// Bytes needed.
        needed: usize,
        /// Bytes there are.
        available: usize,
    },
    /// Too many threads.
    #[error("{tile} needs {needed} threads a workgroup, the device has {available}")]
    Threads {
        /// What was planned.
        tile: String,
        /// Threads needed.
        needed: usize,
        /// Threads there are.
        available: usize,
    },
    /// The transform cannot serve this shape.
    #[error("{transform} cannot run this shape: {why}")]
    Transform {
        /// The transform.
        transform: Transform,
        /// Why not.
        why: String,
    },
}

/// A field of a shape that no device could run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {rule}")]
pub struct ShapeError {
    /// The field, under the name parameter files give it.
    pub field: &'static str,
    /// The value it has.
    pub value: String,
    /// What is allowed.
    pub rule: String,
}

impl ShapeError {
    /// Names `field`, its `value` and the `rule` it breaks.
    pub fn new(field: &'static str, value: impl ToString, rule: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), rule: rule.into() }
    }
}
