//! What an engine hands out: room, polynomials and routines, given back when dropped.

use std::fmt;
use std::sync::Arc;

use super::Shared;
use crate::poly::program::ValueType;
use crate::poly::{BufferId, Place, ResidentId, ResidentShape, RoutineId, Schedule};

/// Room for limbs on a device, given back when dropped. What it holds is undefined until written.
pub struct Buffer {
    pub(super) shared: Arc<Shared>,
    pub(super) id: BufferId,
    pub(super) limbs: usize,
}

/// A polynomial that stays on a device. Clones are the same polynomial, which leaves with the last
/// of them and of the routines that read it.
#[derive(Clone)]
pub struct Resident {
    pub(super) inner: Arc<ResidentInner>,
}

pub(super) struct ResidentInner {
    pub(super) shared: Arc<Shared>,
    pub(super) id: ResidentId,
    pub(super) shape: ResidentShape,
}

/// A program ready to run.
pub struct Routine {
    pub(super) shared: Arc<Shared>,
    pub(super) id: RoutineId,
    pub(super) inputs: Vec<ValueType>,
    pub(super) outputs: Vec<ValueType>,
    pub(super) schedule: Arc<Schedule>,
    /// Held, lest they leave while the routine may read them.
    pub(super) _residents: Vec<Resident>,
}

impl Buffer {
    /// Where limb `first` of it is. Places outside are refused when they are used.
    pub fn place(&self, first: usize) -> Place {
        Place { buffer: self.id, first }
    }

    /// Its limbs.
    pub fn limbs(&self) -> usize {
        self.limbs
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.shared.buffers().remove(&self.id);
        self.shared.device.free(self.id);
    }
}

impl Resident {
    /// What it is.
    pub fn shape(&self) -> &ResidentShape {
        &self.inner.shape
    }
}

impl Drop for ResidentInner {
    fn drop(&mut self) {
        self.shared.device.unload(self.id);
    }
}

impl Routine {
    /// What a call must bind, by slot.
    pub fn inputs(&self) -> &[ValueType] {
        &self.inputs
    }

    /// What a call yields, by slot.
    pub fn outputs(&self) -> &[ValueType] {
        &self.outputs
    }

    /// What runs.
    pub fn schedule(&self) -> &Arc<Schedule> {
        &self.schedule
    }
}

impl Drop for Routine {
    fn drop(&mut self) {
        self.shared.device.forget(self.id);
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("limbs", &self.limbs).finish_non_exhaustive()
    }
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident").field("shape", self.shape()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routine")
            .field("launches", &self.schedule.launches.len())
            .field("arena_limbs", &self.schedule.arena_limbs)
            .finish_non_exhaustive()
    }
}
