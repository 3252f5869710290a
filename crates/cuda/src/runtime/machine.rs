//! What runs kernels: a GPU, or the host in its place. Addresses are device addresses. Work goes
//! into queues: calls of one queue take effect in order, those of different queues in any, except
//! where one waits for a mark of the other.

use crate::runtime::source::Source;
use girih_backend::Result;
use std::sync::Arc;

/// A kernel ready to launch: whatever its machine knows it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Where work waits for the device. A family names its queues, and a device is opened with those of
/// all its families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// From 0 on.
    number: u8,
    /// What a timeline calls it.
    pub name: &'static str,
    /// Of waiting blocks those of the smallest number go first; where a device knows fewer, it
    /// takes the nearest.
    pub priority: i32,
}

impl Queue {
    /// Most queues that a device is opened with.
    pub const MOST: usize = 16;
    /// Copies to the device: every device has it.
    pub const UPLOADS: Self = Self { number: 0, name: "uploads", priority: -2 };
    /// Copies from the device: every device has it.
    pub const DOWNLOADS: Self = Self { number: 1, name: "downloads", priority: -2 };

    /// Queues that a family can have.
    const OF_FAMILY: u8 = 4;

    /// Queue number `index` of family number `family`, both from 0 on. Families number themselves,
    /// and know nothing of each other's queues.
    pub const fn new(family: u8, index: u8, name: &'static str, priority: i32) -> Self {
        assert!(index < Self::OF_FAMILY, "a family has four queues");
        Self { number: 2 + Self::OF_FAMILY * family + index, name, priority }
    }

    pub const fn index(self) -> usize {
        self.number as usize
    }

    /// All queues of a device whose families have these, in the order of their numbers; what no
    /// family has is never called.
    pub fn with(families: &[Self]) -> Vec<Self> {
        let own = [&[Self::UPLOADS, Self::DOWNLOADS], families].concat();
        let last = own.iter().map(|queue| queue.number).max().unwrap_or(0);
        debug_assert!(usize::from(last) < Self::MOST);
        let named = |number| own.iter().copied().find(|queue| queue.number == number);
        let unused = |number| Self { number, name: "unused", priority: 0 };
        (0..=last).map(|number| named(number).unwrap_or(unused(number))).collect()
    }
}

/// A point in a queue, after which everything called there before has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub queue: Queue,
    pub number: u64,
}

/// Blocks, threads and dynamic shared memory of one launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchSize {
    pub blocks: usize,
    pub threads: usize,
    pub shared_bytes: usize,
    /// Blocks of a cluster, which the kernel itself fixes.
    pub cluster: usize,
}

/// A launch that is recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordedLaunch {
    pub kernel: Kernel,
    pub size: LaunchSize,
    pub arguments: Vec<u8>,
}

/// Launches that were recorded, to be called as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Graph(pub usize);

/// A point in a queue of one machine, for another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// Of a GPU, as the driver's handles: its context, the queue's stream, an event at that point.
    Gpu { context: usize, stream: usize, event: usize },
    /// Of a machine whose memory is the host's and whose calls are over when they return.
    #[cfg(feature = "emulation")]
    Host,
}

pub(crate) trait Machine: Send + Sync {
    /// The name that opens it.
    fn id(&self) -> &str;
    fn allocate(&self, bytes: usize, what: &str) -> Result<u64>;
    /// Waits for all work first.
    fn free(&self, address: u64);
    /// Copies to the device, in [`Queue::UPLOADS`]; may return before the copy is done, but has
    /// read `bytes`.
    fn upload(&self, to: u64, bytes: &[u8]) -> Result<()>;
    /// Copies from the device, in [`Queue::DOWNLOADS`], and waits for the copy.
    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<()>;
    /// Marks this point of a queue.
    fn mark(&self, queue: Queue) -> Result<Mark>;
    /// Lets what is called in `queue` from now on come after `mark`.
    fn wait(&self, queue: Queue, mark: Mark) -> Result<()>;
    fn copy(&self, queue: Queue, from: u64, to: u64, bytes: usize) -> Result<()>;
    /// This point of a queue, as other machines know it; `None` where they cannot.
    fn offer(&self, _queue: Queue) -> Result<Option<Offer>> {
        Ok(None)
    }
    /// Copies from the memory of the machine that made `offer`, in `queue`: after that point of its
    /// queue, and before whatever is called there next. `false`, and nothing is done, where this
    /// machine cannot.
    fn take(
        &self,
        _queue: Queue,
        _offer: &Offer,
        _from: u64,
        _to: u64,
        _bytes: usize,
    ) -> Result<bool> {
        Ok(false)
    }
    /// Writes a little, such as a table of addresses, in `queue` itself;
    /// has read `bytes` when it returns.
    fn write(&self, queue: Queue, to: u64, bytes: &[u8]) -> Result<()>;
    fn zero(&self, queue: Queue, at: u64, bytes: usize) -> Result<()>;
    /// Whether `source` was compiled before, for this machine, and is kept.
    fn is_kept(&self, _source: &Source) -> bool {
        false
    }
    /// Compiles `source`, or finds it compiled before; one kernel for each name in its file.
    fn load(&self, source: &Source) -> Result<Vec<Kernel>>;
    /// Allows `kernel` its shared memory and tells what it costs.
    fn prepare(&self, kernel: Kernel, size: LaunchSize) -> Result<KernelCost>;
    /// Whether durations of launches say anything about the device that is emulated or real.
    fn keeps_time(&self) -> bool;
    /// What users should hear since the last call.
    fn take_notes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Launches `kernel` with the struct of these bytes as its arguments.
    fn launch(&self, queue: Queue, kernel: Kernel, size: LaunchSize, bytes: &[u8]) -> Result<()>;
    /// Records launches that run one after the other, or nothing where launches cannot be recorded:
    /// then they are to be called one by one. With `overlaps` each kernel waits for the one in
    /// front of it itself, and may be started before that one has ended.
    fn record(
        &self,
        _queue: Queue,
        _launches: &[RecordedLaunch],
        _overlaps: bool,
    ) -> Result<Option<Graph>> {
        Ok(None)
    }
    /// Calls what was recorded, in `queue`.
    fn replay(&self, _: Queue, _: Graph) -> Result<()> {
        Ok(())
    }
    /// Drops a recording when it has run.
    fn forget(&self, _: Graph) {}
    /// Waits for all work of all queues and returns its first error.
    fn synchronize(&self) -> Result<()>;
}

/// Device memory that frees itself.
pub(crate) struct Buffer {
    machine: Arc<dyn Machine>,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// `bytes` of device memory, contents undefined; no allocation for 0.
    pub fn new(machine: &Arc<dyn Machine>, bytes: usize, what: &str) -> Result<Self> {
        let address = if bytes == 0 { 0 } else { machine.allocate(bytes, what)? };
        Ok(Self { machine: machine.clone(), address, bytes })
    }

    /// Device memory that holds `data`.
    pub fn holding(machine: &Arc<dyn Machine>, data: &[u8], what: &str) -> Result<Self> {
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

    /// Makes it hold at least `bytes`, keeping the first `kept` and zeroing the rest, in `queue`.
    pub fn grow(&mut self, queue: Queue, bytes: usize, kept: usize, what: &str) -> Result<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        let larger = Self::new(&self.machine, bytes, what)?;
        if kept > 0 {
            self.machine.copy(queue, self.address, larger.address, kept)?;
        }
        self.machine.zero(queue, larger.address + kept as u64, bytes - kept)?;
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
