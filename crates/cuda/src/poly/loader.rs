//! Rings opened on a GPU, or on the host in its place.

use crate::device::CudaBackend;
#[cfg(feature = "emulation")]
use crate::emulated_backend::EmulatedBackend;
use crate::poly::device::CudaPoly;
use crate::poly::knobs::{PolyKnobs, alternatives};
use girih_backend::poly::{Loader, PolyDevice, PolyOptions, PolyPlan, RingShape};
use girih_backend::{BackendError, DeviceLimits};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a padded row, and what a team needs beside its rows.
pub(crate) const ROW_BYTES: usize = 4608;
pub(crate) const TEAM_BYTES: usize = 12 << 10;

/// What `lower` should assume of a device with these limits.
pub fn plan(limits: &DeviceLimits) -> PolyPlan {
    let rows = limits.workgroup_memory_bytes.saturating_sub(TEAM_BYTES) / ROW_BYTES;
    PolyPlan {
        most_row_slots: rows.clamp(2, PolyPlan::default().most_row_slots),
        ..PolyPlan::default()
    }
}

impl CudaBackend {
    /// Plans kernels of rings that are opened from now on by these numbers.
    pub fn set_poly_knobs(&mut self, knobs: PolyKnobs) {
        self.poly_knobs = knobs;
    }
}

impl Loader for CudaBackend {
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>, BackendError> {
        self.open_by(ring, &BTreeMap::new())
    }

    /// The choices are the names of [`PolyKnobs`].
    fn open_by(
        &self,
        ring: Arc<RingShape>,
        choices: &BTreeMap<String, u32>,
    ) -> Result<Box<dyn PolyDevice>, BackendError> {
        Ok(Box::new(CudaPoly::open(
            self.machine.clone(),
            self.info.limits.clone(),
            self.poly_knobs.with_choices(choices)?,
            ring,
        )?))
    }

    fn plan(&self, _: &RingShape) -> PolyPlan {
        plan(&self.info.limits)
    }

    fn alternatives(&self, ring: &RingShape) -> Vec<PolyOptions> {
        alternatives(Loader::plan(self, ring))
    }

    fn memory_bytes(&self) -> Option<u64> {
        let all = self.gpu.facts().memory_bytes as u64;
        Some(self.memory_limit.map_or(all, |limit| limit.min(all)))
    }
}

#[cfg(feature = "emulation")]
impl Loader for EmulatedBackend {
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>, BackendError> {
        self.open_by(ring, &BTreeMap::new())
    }

    fn open_by(
        &self,
        ring: Arc<RingShape>,
        choices: &BTreeMap<String, u32>,
    ) -> Result<Box<dyn PolyDevice>, BackendError> {
        Ok(Box::new(CudaPoly::open(
            self.machine.clone(),
            self.info.limits.clone(),
            PolyKnobs::default().with_choices(choices)?,
            ring,
        )?))
    }

    fn plan(&self, _: &RingShape) -> PolyPlan {
        plan(&self.info.limits)
    }

    fn alternatives(&self, ring: &RingShape) -> Vec<PolyOptions> {
        alternatives(Loader::plan(self, ring))
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.memory_limit
    }
}
