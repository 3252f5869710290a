//! A machine with less memory: what a large card needs to behave like a small one.

use crate::runtime::machine::RecordedLaunch;
use crate::runtime::machine::{Graph, Kernel, KernelCost, LaunchSize, Machine, Mark, Offer, Queue};
use crate::runtime::source::Source;
use girih_backend::{BackendError, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Another machine, on which all families together allocate so many bytes and no more. What the
/// driver itself takes (its context, the code of kernels) is not counted.
pub(crate) struct Limited {
    inner: Arc<dyn Machine>,
    limit: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: u64,
    /// By address.
    sizes: HashMap<u64, u64>,
}

impl Limited {
    pub fn new(inner: Arc<dyn Machine>, limit: u64) -> Self {
        Self { inner, limit, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine for Limited {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn allocate(&self, bytes: usize, what: &str) -> Result<u64> {
        // Held over the allocation, lest two at once both find room.
        let mut held = self.held();
        let size = bytes as u64;
        if size > self.limit.saturating_sub(held.bytes) {
            return Err(BackendError::OutOfMemory {
                device: self.id().into(),
                bytes: size,
                what: format!(
                    "{what} ({} bytes are in use, limited to {})",
                    held.bytes, self.limit
                ),
            });
        }
        let address = self.inner.allocate(bytes, what)?;
        held.bytes += size;
        held.sizes.insert(address, size);
        Ok(address)
    }

    fn free(&self, address: u64) {
        self.inner.free(address);
        let mut held = self.held();
        if let Some(size) = held.sizes.remove(&address) {
            held.bytes -= size;
        }
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<()> {
        self.inner.upload(to, bytes)
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.inner.download(from, bytes)
    }

    fn mark(&self, queue: Queue) -> Result<Mark> {
        self.inner.mark(queue)
    }

    fn wait(&self, queue: Queue, mark: Mark) -> Result<()> {
        self.inner.wait(queue, mark)
    }

    fn copy(&self, queue: Queue, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.inner.copy(queue, from, to, bytes)
    }

    fn offer(&self, queue: Queue) -> Result<Option<Offer>> {
        self.inner.offer(queue)
    }

    fn take(&self, queue: Queue, offer: &Offer, from: u64, to: u64, bytes: usize) -> Result<bool> {
        self.inner.take(queue, offer, from, to, bytes)
    }

    fn write(&self, queue: Queue, to: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write(queue, to, bytes)
    }

    fn zero(&self, queue: Queue, at: u64, bytes: usize) -> Result<()> {
        self.inner.zero(queue, at, bytes)
    }

    fn is_kept(&self, source: &Source) -> bool {
        self.inner.is_kept(source)
    }

    fn load(&self, source: &Source) -> Result<Vec<Kernel>> {
        self.inner.load(source)
    }

    fn prepare(&self, kernel: Kernel, size: LaunchSize) -> Result<KernelCost> {
        self.inner.prepare(kernel, size)
    }

    fn keeps_time(&self) -> bool {
        self.inner.keeps_time()
    }

    fn take_notes(&self) -> Vec<String> {
        self.inner.take_notes()
    }

    fn launch(&self, queue: Queue, kernel: Kernel, size: LaunchSize, bytes: &[u8]) -> Result<()> {
        self.inner.launch(queue, kernel, size, bytes)
    }

    fn record(
        &self,
        queue: Queue,
        launches: &[RecordedLaunch],
        overlaps: bool,
    ) -> Result<Option<Graph>> {
        self.inner.record(queue, launches, overlaps)
    }

    fn replay(&self, queue: Queue, graph: Graph) -> Result<()> {
        self.inner.replay(queue, graph)
    }

    fn forget(&self, graph: Graph) {
        self.inner.forget(graph);
    }

    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }
}

#[cfg(all(test, feature = "emulation"))]
mod tests {
    use super::*;
    use crate::runtime::emulated::Emulated;

    #[test]
    fn what_is_given_back_is_there_again() {
        let machine = Limited::new(Arc::new(Emulated::new().expect("a compiler")), 1000);
        let first = machine.allocate(600, "the first").expect("room");
        let error = machine.allocate(401, "the second").expect_err("no room").to_string();
        for part in ["401 bytes", "the second", "600 bytes are in use", "limited to 1000"] {
            assert!(error.contains(part), "{error}");
        }
        let second = machine.allocate(400, "the second").expect("just enough");
        machine.free(first);
        let third = machine.allocate(600, "the third").expect("room again");
        machine.free(second);
        machine.free(third);
        machine.allocate(1000, "all").expect("all of it");
    }
}
