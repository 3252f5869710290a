//! A GPU through the CUDA driver: one context, streams for work,
//! uploads and downloads, pinned staging.
#![allow(unsafe_code)] // Calls the C interface of the driver.

mod facts;
mod kernels;
mod marks;
mod staging;
mod transfers;

use crate::runtime::compile::is_kept;
use crate::runtime::machine::{
    Graph, Kernel, KernelCost, LaunchSize, Machine, Mark, Offer, Queue, RecordedLaunch,
};
use crate::runtime::source::Source;
use crate::runtime::spans::DeviceSpans;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
pub(crate) use facts::{GpuFacts, count_devices, facts};
use facts::{describe, no_device};
use girih_backend::{BackendError, Preparation, Result, preparing, timeline};
use kernels::aligned;
use marks::Marks;
use staging::Staging;
use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The smallest compute capability of CUDA 13.
const LEAST_CAPABILITY: u32 = 75;

pub(crate) struct Gpu {
    id: String,
    device: sys::CUdevice,
    context: sys::CUcontext,
    /// One for each queue.
    streams: Vec<sys::CUstream>,
    facts: GpuFacts,
    /// For uploads, and for downloads.
    staging: [Mutex<Staging>; 2],
    /// One for each queue.
    marks: Vec<Mutex<Marks>>,
    modules: Mutex<Vec<sys::CUmodule>>,
    /// What kernels are called, for the timeline.
    names: Mutex<HashMap<usize, &'static str>>,
    /// What users should hear of the cache of compiled kernels.
    notes: Mutex<Vec<String>>,
    /// Contexts of others whose memory this one was allowed to reach, or cannot reach directly.
    peers: Mutex<BTreeSet<usize>>,
    spans: DeviceSpans,
}

// SAFETY: contexts, streams, events and modules of the driver may be used from any thread whose
// current context is theirs, which every method sets first; pinned memory is only touched under the
// lock of its `staging`.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Opens device `ordinal`, which exists, with the queues of its families.
    pub fn open(ordinal: usize, queues: &[Queue]) -> Result<Self> {
        let id = format!("cuda:{ordinal}");
        let facts = facts(ordinal)?;
        if facts.capability < LEAST_CAPABILITY {
            return Err(no_device(
                &id,
                format!(
                    "{} has compute capability {}, CUDA 13 starts at {LEAST_CAPABILITY}",
                    facts.name, facts.capability
                ),
            ));
        }
        let error = |e| no_device(&id, describe(e));
        let device = result::device::get(ordinal as i32).map_err(error)?;
        // SAFETY: `device` exists; the context is released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(error)?;
        // SAFETY: `context` was just retained.
        unsafe { result::ctx::set_current(context) }.map_err(error)?;
        let stream = |queue: &Queue| {
            let stream = result::stream::create_with_priority(
                result::stream::StreamKind::NonBlocking,
                queue.priority,
            );
            stream.map_err(error)
        };
        let streams = Queue::with(queues).iter().map(stream).collect::<Result<Vec<_>, _>>()?;
        let mut gpu = Self {
            id,
            device,
            context,
            facts,
            staging: [(); 2].map(|()| Mutex::new(Staging { pieces: Vec::new(), next: 0 })),
            marks: (0..streams.len()).map(|_| Mutex::default()).collect(),
            modules: Mutex::default(),
            names: Mutex::default(),
            notes: Mutex::default(),
            peers: Mutex::default(),
            spans: DeviceSpans::default(),
            streams,
        };
        gpu.make_staging()?;
        gpu.make_marks()?;
        Ok(gpu)
    }

    fn event(&self) -> Result<sys::CUevent> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
            .map_err(|e| self.failed("creating an event", e))
    }

    pub fn facts(&self) -> &GpuFacts {
        &self.facts
    }

    fn failed(&self, doing: &str, error: DriverError) -> BackendError {
        let driver = self.facts.driver_version;
        BackendError::DeviceFailed {
            device: self.id.clone(),
            what: format!(
                "{doing}: {} (driver for CUDA {}.{})",
                describe(error),
                driver / 1000,
                driver % 1000 / 10
            ),
        }
    }

    fn out_of_memory(&self, bytes: usize, what: &str) -> BackendError {
        BackendError::OutOfMemory {
            device: self.id.clone(),
            bytes: bytes as u64,
            what: what.into(),
        }
    }

    /// Makes the context current on this thread, as every call of the driver needs.
    fn enter(&self) -> Result<()> {
        // SAFETY: the context is retained until `drop`.
        unsafe { result::ctx::set_current(self.context) }
            .map_err(|e| self.failed("entering the context", e))
    }

    fn staging(&self, which: usize) -> MutexGuard<'_, Staging> {
        self.staging[which].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stream(&self, queue: Queue) -> sys::CUstream {
        self.streams[queue.index()]
    }

    fn record(&self, event: sys::CUevent, stream: sys::CUstream) -> Result<()> {
        // SAFETY: event and stream are alive and of this context.
        unsafe { result::event::record(event, stream) }
            .map_err(|e| self.failed("recording an event", e))
    }
}

impl Gpu {
    /// Waits for all queues. The context is current.
    fn finish(&self) -> Result<(), DriverError> {
        // SAFETY: the streams are alive.
        self.streams.iter().try_for_each(|&stream| unsafe { result::stream::synchronize(stream) })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        // What fails here fails because the device is gone, and its memory with it.
        // SAFETY: everything below was created by this value and is destroyed once, after the
        // stream has finished.
        unsafe {
            let _ = self.finish();
            for staging in &mut self.staging {
                for (memory, event) in
                    staging.get_mut().unwrap_or_else(PoisonError::into_inner).pieces.drain(..)
                {
                    let _ = result::free_host(memory.cast::<c_void>());
                    let _ = result::event::destroy(event);
                }
            }
            for marks in &mut self.marks {
                for event in
                    marks.get_mut().unwrap_or_else(PoisonError::into_inner).events.drain(..)
                {
                    let _ = result::event::destroy(event);
                }
            }
            for module in self.modules.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
                let _ = result::module::unload(module);
            }
            for &stream in &self.streams {
                let _ = result::stream::destroy(stream);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

impl Machine for Gpu {
    fn id(&self) -> &str {
        &self.id
    }

    fn allocate(&self, bytes: usize, what: &str) -> Result<u64> {
        self.enter()?;
        // SAFETY: the context is current; the address is only handed to kernels
        // and copies until `free`.
        unsafe { result::malloc_sync(bytes) }.map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => self.out_of_memory(bytes, what),
            _ => self.failed("allocating", e),
        })
    }

    fn free(&self, address: u64) {
        if self.enter().is_ok() {
            // Freeing fails only where the device is gone.
            // SAFETY: allocated by `allocate`, freed once; work that uses it is waited for first.
            unsafe {
                let _ = self.finish();
                let _ = result::free_sync(address);
            }
        }
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<()> {
        self.enter()?;
        self.copy_in(to, bytes)
    }

    fn mark(&self, queue: Queue) -> Result<Mark> {
        self.enter()?;
        self.next_mark(queue)
    }

    fn wait(&self, queue: Queue, mark: Mark) -> Result<()> {
        self.enter()?;
        self.wait_for(self.stream(queue), self.event_of(mark))
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.enter()?;
        self.copy_out(from, bytes)
    }

    fn copy(&self, queue: Queue, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        // SAFETY: both ranges lie in live buffers of this device.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream(queue)) }
            .map_err(|e| self.failed("copying", e))
    }

    fn offer(&self, queue: Queue) -> Result<Option<Offer>> {
        let event = self.event_of(self.mark(queue)?) as usize;
        let (context, stream) = (self.context as usize, self.stream(queue) as usize);
        Ok(Some(Offer::Gpu { context, stream, event }))
    }

    fn take(&self, queue: Queue, offer: &Offer, from: u64, to: u64, bytes: usize) -> Result<bool> {
        let (context, stream, event) = match *offer {
            Offer::Gpu { context, stream, event } => (context, stream, event),
            #[cfg(feature = "emulation")]
            Offer::Host => return Ok(false),
        };
        self.enter()?;
        let event = event as sys::CUevent;
        let (context, stream) = (context as sys::CUcontext, stream as sys::CUstream);
        self.copy_from_peer(queue, (context, stream, event), (from, to, bytes))?;
        Ok(true)
    }

    fn write(&self, queue: Queue, to: u64, bytes: &[u8]) -> Result<()> {
        self.enter()?;
        // SAFETY: the range lies in a live buffer; memory that is not pinned has been read when the
        // call returns.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream(queue)) }
            .map_err(|e| self.failed("writing", e))
    }

    fn zero(&self, queue: Queue, at: u64, bytes: usize) -> Result<()> {
        self.enter()?;
        // SAFETY: the range lies in a live buffer of this device.
        unsafe { result::memset_d8_async(at, 0, bytes, self.stream(queue)) }
            .map_err(|e| self.failed("clearing", e))
    }

    fn is_kept(&self, source: &Source) -> bool {
        is_kept(source, self.facts.capability)
    }

    fn load(&self, source: &Source) -> Result<Vec<Kernel>> {
        let _compiling = preparing(Preparation::Compilation);
        self.enter()?;
        self.load_kernels(source)
    }

    fn prepare(&self, kernel: Kernel, size: LaunchSize) -> Result<KernelCost> {
        self.enter()?;
        self.prepare_kernel(kernel, size)
    }

    fn launch(&self, queue: Queue, kernel: Kernel, size: LaunchSize, bytes: &[u8]) -> Result<()> {
        self.enter()?;
        let mut copy = aligned(bytes);
        let mut parameters = [copy.as_mut_ptr().cast::<c_void>()];
        let stream = self.stream(queue);
        // SAFETY: the kernel takes exactly one struct, the one whose bytes these are; its addresses
        // are live buffers.
        let launch = || unsafe {
            result::launch_kernel(
                kernel.0 as sys::CUfunction,
                (size.blocks as u32, 1, 1),
                (size.threads as u32, 1, 1),
                size.shared_bytes as u32,
                stream,
                &mut parameters,
            )
        };
        self.spans
            .around(stream, queue, || self.label(kernel, size), launch)
            .map_err(|e| self.failed("launching a kernel", e))
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn record(
        &self,
        queue: Queue,
        launches: &[RecordedLaunch],
        overlaps: bool,
    ) -> Result<Option<Graph>> {
        // Launches that are timed one by one cannot be recorded.
        if timeline::is_on() {
            return Ok(None);
        }
        self.enter()?;
        self.capture(queue, launches, overlaps).map(|exec| Some(Graph(exec as usize)))
    }

    fn replay(&self, queue: Queue, graph: Graph) -> Result<()> {
        self.enter()?;
        // SAFETY: `record` made it, `forget` was not called.
        unsafe { result::graph::launch(graph.0 as sys::CUgraphExec, self.stream(queue)) }
            .map_err(|e| self.failed("launching a graph", e))
    }

    fn forget(&self, graph: Graph) {
        if self.enter().is_ok() {
            // What fails here fails because the device is gone.
            // SAFETY: made by `record`, forgotten once; the driver lets what runs finish.
            let _ = unsafe { result::graph::exec_destroy(graph.0 as sys::CUgraphExec) };
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.enter()?;
        self.finish().map_err(|e| self.failed("running kernels", e))?;
        self.spans
            .report(self.stream(Queue::UPLOADS))
            .map_err(|e| self.failed("timing earlier work", e))
    }
}
