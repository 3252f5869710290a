//! What lies on a device, freed when nobody needs it any more.

use std::sync::Arc;

use girih_backend::poly::{
    Bindings, BufferId, Loader, Place, PolyDevice, PolyPlan, Program, ResidentId, ResidentSource,
    RingShape, RoutineId, lower,
};
use girih_backend::{BackendError, Progress};

/// A device with a ring's tables, and how programs are lowered for it.
#[derive(Clone)]
pub(super) struct Engine {
    device: Arc<dyn PolyDevice>,
    plan: PolyPlan,
}

/// Limbs on the device.
pub(super) struct Buffer {
    device: Arc<dyn PolyDevice>,
    id: BufferId,
}

impl Buffer {
    pub fn id(&self) -> BufferId {
        self.id
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.device.free(self.id);
    }
}

/// Resident polynomials.
pub(super) struct Residents {
    device: Arc<dyn PolyDevice>,
    ids: Vec<ResidentId>,
}

impl Residents {
    pub fn ids(&self) -> &[ResidentId] {
        &self.ids
    }
}

impl Drop for Residents {
    fn drop(&mut self) {
        for &id in &self.ids {
            self.device.unload(id);
        }
    }
}

/// A program, ready to run.
pub(super) struct Routine {
    device: Arc<dyn PolyDevice>,
    id: RoutineId,
}

impl Drop for Routine {
    fn drop(&mut self) {
        self.device.forget(self.id);
    }
}

impl Engine {
    pub fn open(loader: &dyn Loader, ring: Arc<RingShape>) -> Result<Self, BackendError> {
        let plan = loader.plan(&ring);
        Ok(Self { device: loader.open(ring)?.into(), plan })
    }

    pub fn allocate(&self, limbs: usize) -> Result<Buffer, BackendError> {
        Ok(Buffer { id: self.device.allocate(limbs)?, device: self.device.clone() })
    }

    pub fn write(&self, to: Place, words: &[u32]) -> Result<(), BackendError> {
        self.device.write(to, words)
    }

    pub fn read(&self, from: Place, words: &mut [u32]) -> Result<(), BackendError> {
        self.device.read(from, words)
    }

    pub fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Residents, BackendError> {
        Ok(Residents { ids: self.device.load(source, progress)?, device: self.device.clone() })
    }

    pub fn prepare(
        &self,
        program: &Program,
        residents: &[ResidentId],
    ) -> Result<Routine, BackendError> {
        let schedule = Arc::new(lower(program, &self.plan, &[])?);
        let id = self.device.prepare(&schedule, residents)?;
        Ok(Routine { id, device: self.device.clone() })
    }

    pub fn run(&self, routine: &Routine, calls: &[Bindings]) -> Result<(), BackendError> {
        self.device.run(routine.id, calls)
    }

    pub fn synchronize(&self) -> Result<(), BackendError> {
        self.device.synchronize()
    }

    pub fn bytes_in_use(&self) -> u64 {
        self.device.bytes_in_use()
    }
}
