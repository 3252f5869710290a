//! Rings opened on a machine.

use crate::poly::device::CudaPoly;
use crate::poly::knobs::{PolyKnobs, alternatives};
use crate::poly::row_layout::plan;
use crate::runtime::machine::Machine;
use girih_backend::poly::{Loader, PolyDevice, PolyOptions, PolyPlan, RingShape};
use girih_backend::{BackendError, DeviceLimits};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What rings are opened on.
pub(crate) struct PolyLoader {
    pub machine: Arc<dyn Machine>,
    pub limits: DeviceLimits,
    pub knobs: PolyKnobs,
    /// Bytes that all rings together can take, where they are known.
    pub memory_bytes: Option<u64>,
}

impl Loader for PolyLoader {
    /// The choices are the names of [`PolyKnobs`].
    fn open_by(
        &self,
        ring: Arc<RingShape>,
        choices: &BTreeMap<String, u32>,
    ) -> Result<Box<dyn PolyDevice>, BackendError> {
        Ok(Box::new(CudaPoly::open(
            self.machine.clone(),
            self.limits.clone(),
            self.knobs.with_choices(choices)?,
            ring,
        )?))
    }

    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>, BackendError> {
        self.open_by(ring, &BTreeMap::new())
    }

    fn plan(&self, ring: &RingShape) -> PolyPlan {
        plan(&self.limits, ring.log2_degree)
    }

    fn alternatives(&self, ring: &RingShape) -> Vec<PolyOptions> {
        alternatives(self.plan(ring))
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.memory_bytes
    }
}
