//! A machine with both families on it: what the GPU and the host in its place have in common.

use crate::bootstrap::loader::BootstrapLoader;
use crate::poly::PolyKnobs;
use crate::poly::loader::PolyLoader;
use crate::runtime::limited::Limited;
use crate::runtime::machine::Machine;
use girih_backend::DeviceInfo;
use std::sync::Arc;

/// An opened machine.
pub(crate) struct Opened {
    pub info: DeviceInfo,
    pub bootstrap: BootstrapLoader,
    pub poly: PolyLoader,
}

impl Opened {
    /// `machine` with blocks in clusters of at most `cluster`.
    pub fn new(info: DeviceInfo, machine: Arc<dyn Machine>, cluster: usize) -> Self {
        let bootstrap = BootstrapLoader {
            machine: machine.clone(),
            device: info.id.clone(),
            limits: info.limits.clone(),
            transforms: info.transforms.clone(),
            cluster,
            identity: None,
        };
        let poly = PolyLoader {
            machine,
            limits: info.limits.clone(),
            knobs: PolyKnobs::default(),
            memory_bytes: None,
        };
        Self { info, bootstrap, poly }
    }

    /// Lets both families together allocate so many bytes and no more.
    pub fn limit_memory(&mut self, bytes: u64) {
        let machine: Arc<dyn Machine> =
            Arc::new(Limited::new(self.bootstrap.machine.clone(), bytes));
        self.bootstrap.machine = machine.clone();
        self.poly.machine = machine;
        self.poly.memory_bytes = Some(self.poly.memory_bytes.map_or(bytes, |all| all.min(bytes)));
    }
}
