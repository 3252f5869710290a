//! What runs kernels: a GPU, or the host in its place. Addresses are device addresses; calls take effect in order.

use crate::source::Source;
use girih_backend::BackendError;
use std::sync::Arc;

/// A kernel ready to launch: whatever its machine knows it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel(pub usize);

/// What a compiled kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelCost {
    pub registers: i32,
    /// Bytes of local memory (stack and spills) of a thread.
    pub local_bytes: i32,
    /// Blocks that fit one multiprocessor at once.
    pub resident_blocks: i32,
    /// Clusters that the whole device runs at once, where blocks are launched in clusters.
    pub resident_clusters: Option<i32>,
}

/// A point in the order of calls, after which everything called before has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark(pub u64);

/// Blocks, threads and dynamic shared memory of one launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchSize {
    pub blocks: usize,
    pub threads: usize,
    pub shared_bytes: usize,
    /// Blocks of a cluster, which the kernel itself fixes.
    pub cluster: usize,
}

pub(crate) trait Machine: Send + Sync {
    /// The name that opens it.
    fn id(&self) -> &str;
    fn allocate(&self, bytes: usize, what: &str) -> Result<u64, BackendError>;
    fn free(&self, address: u64);
    /// Copies to the device; may return before the copy is done, but has read `bytes`.
    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), BackendError>;
    /// Copies to the device beside whatever was called after `mark`; later calls come after the copy. Has read `bytes`.
    fn upload_beside(&self, to: u64, bytes: &[u8], mark: Mark) -> Result<(), BackendError>;
    /// Marks this point of the order.
    fn mark(&self) -> Result<Mark, BackendError>;
    /// Copies from the device, beside whatever was called after `mark`; waits for the copy, and only for what it needs.
    fn download(&self, from: u64, bytes: &mut [u8], mark: Mark) -> Result<(), BackendError>;
    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), BackendError>;
    fn zero(&self, at: u64, bytes: usize) -> Result<(), BackendError>;
    /// Compiles `source`, or finds it compiled before; one kernel for each name in its file.
    fn load(&self, source: &Source) -> Result<Vec<Kernel>, BackendError>;
    /// Allows `kernel` its shared memory and tells what it costs.
    fn prepare(&self, kernel: Kernel, size: LaunchSize) -> Result<KernelCost, BackendError>;
    /// Whether durations of launches say anything about the device that is emulated or real.
    fn keeps_time(&self) -> bool;
    fn launch(&self, kernel: Kernel, size: LaunchSize, arguments: &[u8]) -> Result<(), BackendError>;
    /// Waits for all work and returns its first error.
    fn synchronize(&self) -> Result<(), BackendError>;
}

/// Device memory that frees itself.
pub(crate) struct Buffer {
    machine: Arc<dyn Machine>,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// `bytes` of device memory, contents undefined; no allocation for 0.
    pub fn new(machine: &Arc<dyn Machine>, bytes: usize, what: &str) -> Result<Self, BackendError> {
        let address = if bytes == 0 { 0 } else { machine.allocate(bytes, what)? };
        Ok(Self { machine: machine.clone(), address, bytes })
    }

    /// Device memory that holds `data`.
    pub fn holding(machine: &Arc<dyn Machine>, data: &[u8], what: &str) -> Result<Self, BackendError> {
        let buffer = Self::new(machine, data.len(), what)?;
        machine.upload(buffer.address, data)?;
        Ok(buffer)
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes it hold at least `bytes`, keeping the first `kept` and zeroing the rest.
    pub fn grow(&mut self, bytes: usize, kept: usize, what: &str) -> Result<(), BackendError> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let larger = Self::new(&self.machine, bytes, what)?;
        if kept > 0 {
            self.machine.copy(self.address, larger.address, kept)?;
        }
        self.machine.zero(larger.address + kept as u64, bytes - kept)?;
        // Freeing waits for the copy on every machine.
        *self = larger;
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.address != 0 {
            self.machine.free(self.address);
        }
    }
}
