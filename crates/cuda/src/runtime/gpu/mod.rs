//! A GPU through the CUDA driver: one context, streams for work,
//! uploads and downloads, pinned staging.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use crate::runtime::compile::{CompileError, compile};
use crate::runtime::machine::{
    Graph, Kernel, KernelCost, LaunchSize, Machine, Mark, Queue, RecordedLaunch,
};
use crate::runtime::source::Source;
use crate::runtime::spans::DeviceSpans;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use girih_backend::{BackendError, DeviceLimits, timeline};
use rayon::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CString, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pinned memory through which copies go,
/// in pieces that are filled and drained while others are in flight.
const PIECES: [usize; 2] = [16, 8]; // uploads, which wait for the work before them, and downloads
const PIECE_BYTES: usize = 4 << 20;
/// Events that the marks of a queue take in turn. One that is recorded again stands for a later
/// point, which implies the earlier.
const MARKS: usize = 64;
/// Bytes that one thread copies between staging and the caller's memory.
const COPY_BYTES: usize = 512 << 10;
/// The smallest compute capability of CUDA 13.
const LEAST_CAPABILITY: u32 = 75;

/// Facts about one GPU.
#[derive(Clone, Debug)]
pub(crate) struct GpuFacts {
    pub name: String,
    pub capability: u32,
    pub limits: DeviceLimits,
    pub memory_bytes: usize,
    pub driver_version: i32,
    /// How many times slower f64 runs than f32.
    pub f64_slowness: i32,
}

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
    spans: DeviceSpans,
}

#[derive(Default)]
struct Marks {
    events: Vec<sys::CUevent>,
    next: u64,
}

/// Pieces of pinned memory, each with the event that ends its last use.
struct Staging {
    pieces: Vec<(*mut u8, sys::CUevent)>,
    next: usize,
}

// SAFETY: contexts, streams, events and modules of the driver may be used from any thread whose
// current context is theirs, which every method sets first; pinned memory is only touched under the
// lock of its `staging`.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

fn no_device(requested: &str, why: impl Into<String>) -> BackendError {
    BackendError::NoDevice { requested: requested.into(), why: why.into() }
}

/// Starts the driver and counts its devices.
pub(crate) fn count_devices() -> Result<usize, BackendError> {
    // SAFETY: only asks the loader for a library; without it the first call of cudarc would panic.
    if !unsafe { sys::is_culib_present() } {
        return Err(no_device(
            "cuda",
            "the NVIDIA driver (libcuda) was not found; install driver 580 or newer",
        ));
    }
    result::init()
        .map_err(|e| no_device("cuda", format!("the driver did not start: {}", describe(e))))?;
    let count = result::device::get_count().map_err(|e| no_device("cuda", describe(e)))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn describe(error: DriverError) -> String {
    let text = error.error_string().ok().map(|s| s.to_string_lossy().into_owned());
    format!("{:?}{}", error.0, text.map_or_else(String::new, |t| format!(" ({t})")))
}

/// Facts about device `ordinal`; the driver is started.
pub(crate) fn facts(ordinal: usize) -> Result<GpuFacts, BackendError> {
    let id = format!("cuda:{ordinal}");
    let error = |e| no_device(&id, describe(e));
    let device = result::device::get(ordinal as i32).map_err(error)?;
    // SAFETY: `device` is a device of the driver.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map_err(error);
    use sys::CUdevice_attribute_enum as A;
    let capability = (10 * attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
        + attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?) as u32;
    let mut driver_version = 0;
    // SAFETY: writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut driver_version) };
    Ok(GpuFacts {
        name: result::device::get_name(device).map_err(error)?,
        capability,
        limits: DeviceLimits {
            workgroup_memory_bytes: attribute(
                A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )? as usize,
            workgroup_threads: attribute(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? as usize,
            subgroup_threads: attribute(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)? as usize,
            binding_bytes: u64::MAX,
            multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize,
        },
        // SAFETY: `device` is a device of the driver.
        memory_bytes: unsafe { result::device::total_mem(device) }.map_err(error)?,
        driver_version,
        f64_slowness: attribute(A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)?,
    })
}

impl Gpu {
    /// Opens device `ordinal`, which exists, with the queues of its families.
    pub fn open(ordinal: usize, queues: &[Queue]) -> Result<Self, BackendError> {
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
            spans: DeviceSpans::default(),
            streams,
        };
        gpu.make_staging()?;
        Ok(gpu)
    }

    pub fn facts(&self) -> &GpuFacts {
        &self.facts
    }

    fn make_staging(&mut self) -> Result<(), BackendError> {
        let event = || {
            result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
                .map_err(|e| self.failed("creating an event", e))
        };
        let pieces = |count| {
            (0..count)
                .map(|_| {
                    // SAFETY: the context is current. Plain pinned memory: write-combined memory
                    // would make downloads crawl.
                    let memory = unsafe { result::malloc_host(PIECE_BYTES, 0) };
                    Ok((
                        memory
                            .map_err(|_| self.out_of_memory(PIECE_BYTES, "pinned staging"))?
                            .cast::<u8>(),
                        event()?,
                    ))
                })
                .collect::<Result<Vec<_>, BackendError>>()
        };
        let staging = [pieces(PIECES[0])?, pieces(PIECES[1])?]
            .map(|pieces| Mutex::new(Staging { pieces, next: 0 }));
        for marks in &self.marks {
            marks.lock().unwrap_or_else(PoisonError::into_inner).events =
                (0..MARKS).map(|_| event()).collect::<Result<_, _>>()?;
        }
        self.staging = staging;
        Ok(())
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
    fn enter(&self) -> Result<(), BackendError> {
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

    fn marks(&self, queue: Queue) -> MutexGuard<'_, Marks> {
        self.marks[queue.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece, once the device has done with it.
    fn next_piece(&self, staging: &mut Staging) -> Result<(*mut u8, sys::CUevent), BackendError> {
        let _span = timeline::host("wait for staging");
        let (memory, event) = staging.pieces[staging.next];
        staging.next = (staging.next + 1) % staging.pieces.len();
        // SAFETY: the event is alive; one that was never recorded counts as done.
        unsafe { result::event::synchronize(event) }.map_err(|e| self.failed("earlier work", e))?;
        Ok((memory, event))
    }

    fn record(&self, event: sys::CUevent, stream: sys::CUstream) -> Result<(), BackendError> {
        // SAFETY: event and stream are alive and of this context.
        unsafe { result::event::record(event, stream) }
            .map_err(|e| self.failed("recording an event", e))
    }
}

impl Gpu {
    /// Clusters of `function` that the device runs at once; `function` has its shared memory.
    fn resident_clusters(
        &self,
        function: sys::CUfunction,
        size: LaunchSize,
    ) -> Result<i32, BackendError> {
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue {
                clusterDim: sys::CUlaunchAttributeValue_union__bindgen_ty_1 {
                    x: size.cluster as u32,
                    y: 1,
                    z: 1,
                },
            },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: size.cluster as u32,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: size.threads as u32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: size.shared_bytes as u32,
            hStream: self.stream(Queue::UPLOADS),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let mut clusters = 0;
        // SAFETY: the function is loaded; `config` and its one attribute live
        // until the call returns.
        unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, function, &config) }
            .result()
            .map_err(|e| self.failed("asking how many clusters fit", e))?;
        Ok(clusters)
    }
}

/// Copies on all host threads: one alone is slower than the bus, and first touches of fresh pages
/// slower still.
fn copy_on_all_threads(from: &[u8], to: &mut [u8]) {
    from.par_chunks(COPY_BYTES)
        .zip(to.par_chunks_mut(COPY_BYTES))
        .for_each(|(from, to)| to.copy_from_slice(from));
}

/// A piece on its way from the device, and where its bytes belong.
type Landing<'a> = (*mut u8, sys::CUevent, &'a mut [u8]);

impl Gpu {
    /// Waits for a piece and copies it out.
    fn land(&self, landing: Option<Landing<'_>>) -> Result<(), BackendError> {
        let Some((memory, event, chunk)) = landing else { return Ok(()) };
        // SAFETY: after the event the piece holds the chunk's bytes and the
        // device has done with it.
        unsafe {
            let waiting = timeline::host("wait for a download");
            result::event::synchronize(event).map_err(|e| self.failed("downloading", e))?;
            drop(waiting);
            let _span = timeline::host("copy out");
            copy_on_all_threads(std::slice::from_raw_parts(memory, chunk.len()), chunk);
        }
        Ok(())
    }
}

impl Gpu {
    /// A launch by name and size.
    fn label(&self, kernel: Kernel, size: LaunchSize) -> String {
        let name = self
            .names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&kernel.0)
            .copied()
            .unwrap_or("a kernel");
        format!("{name}, {} blocks of {}", size.blocks, size.threads)
    }

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

/// Arguments in eight-byte units, which keep them aligned:
/// the driver reads the struct during the call.
fn aligned(arguments: &[u8]) -> Vec<u64> {
    let mut copy = vec![0u64; arguments.len().div_ceil(8)];
    for (word, bytes) in copy.iter_mut().zip(arguments.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(padded);
    }
    copy
}

impl Gpu {
    /// Launches as a graph that can be called again and again. The context is current.
    fn capture(
        &self,
        queue: Queue,
        launches: &[RecordedLaunch],
        overlaps: bool,
    ) -> Result<sys::CUgraphExec, BackendError> {
        let failed = |e| self.failed("recording launches", e);
        let stream = self.stream(queue);
        // Each kernel waits for the one in front of it itself, so that it may be started before
        // that one has ended.
        let mut dependent = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let is_dependent = overlaps && self.facts.capability >= 90;
        // SAFETY: the stream is alive and not being recorded; what is launched meanwhile is
        // recorded, not run, and the kernels take the structs whose bytes the arguments are.
        unsafe {
            result::stream::begin_capture(
                stream,
                sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            )
            .map_err(failed)?;
            let mut launched = Ok(());
            for (i, launch) in launches.iter().enumerate() {
                let mut copy = aligned(&launch.arguments);
                let mut parameters = [copy.as_mut_ptr().cast::<c_void>()];
                let config = sys::CUlaunchConfig {
                    gridDimX: launch.size.blocks as u32,
                    gridDimY: 1,
                    gridDimZ: 1,
                    blockDimX: launch.size.threads as u32,
                    blockDimY: 1,
                    blockDimZ: 1,
                    sharedMemBytes: launch.size.shared_bytes as u32,
                    hStream: stream,
                    attrs: &mut dependent,
                    numAttrs: u32::from(is_dependent && i > 0),
                };
                let function = launch.kernel.0 as sys::CUfunction;
                launched = sys::cuLaunchKernelEx(
                    &config,
                    function,
                    parameters.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
                .result();
                if launched.is_err() {
                    break;
                }
            }
            let graph = result::stream::end_capture(stream);
            launched.map_err(failed)?;
            let graph = graph.map_err(failed)?;
            let exec = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = result::graph::destroy(graph);
            exec.map_err(failed)
        }
    }
}

impl Machine for Gpu {
    fn id(&self) -> &str {
        &self.id
    }

    fn allocate(&self, bytes: usize, what: &str) -> Result<u64, BackendError> {
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

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), BackendError> {
        self.enter()?;
        let stream = self.stream(Queue::UPLOADS);
        let mut staging = self.staging(0);
        for (i, chunk) in bytes.chunks(PIECE_BYTES).enumerate() {
            let (memory, event) = self.next_piece(&mut staging)?;
            // SAFETY: a piece has PIECE_BYTES bytes and no copy of it is in flight; the device
            // copies it before the event, and nobody writes it before waiting for that.
            let pinned = unsafe { std::slice::from_raw_parts_mut(memory, chunk.len()) };
            let span = timeline::host("copy in");
            copy_on_all_threads(chunk, pinned);
            drop(span);
            // SAFETY: as above; `to` lies in a live buffer with room for all bytes.
            let copy = || unsafe {
                result::memcpy_htod_async(to + (i * PIECE_BYTES) as u64, pinned, stream)
            };
            let what = || format!("{} bytes", chunk.len());
            self.spans
                .around(stream, Queue::UPLOADS, what, copy)
                .map_err(|e| self.failed("uploading", e))?;
            self.record(event, stream)?;
        }
        Ok(())
    }

    fn mark(&self, queue: Queue) -> Result<Mark, BackendError> {
        self.enter()?;
        let mut marks = self.marks(queue);
        let number = marks.next;
        self.record(marks.events[(number % MARKS as u64) as usize], self.stream(queue))?;
        marks.next += 1;
        Ok(Mark { queue, number })
    }

    fn wait(&self, queue: Queue, mark: Mark) -> Result<(), BackendError> {
        self.enter()?;
        let event = self.marks(mark.queue).events[(mark.number % MARKS as u64) as usize];
        // SAFETY: stream and event are alive and of this context.
        unsafe {
            result::stream::wait_event(
                self.stream(queue),
                event,
                sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT,
            )
        }
        .map_err(|e| self.failed("waiting for earlier work", e))
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<(), BackendError> {
        self.enter()?;
        let stream = self.stream(Queue::DOWNLOADS);
        let mut staging = self.staging(1);
        let mut flying = VecDeque::new();
        for (i, chunk) in bytes.chunks_mut(PIECE_BYTES).enumerate() {
            if flying.len() == PIECES[1] - 1 {
                self.land(flying.pop_front())?;
            }
            let (memory, event) = self.next_piece(&mut staging)?;
            let len = chunk.len();
            // SAFETY: as in `upload`, the other way round.
            let pinned = unsafe { std::slice::from_raw_parts_mut(memory, len) };
            // SAFETY: as above; `from` lies in a live buffer that holds all bytes.
            let copy = || unsafe {
                result::memcpy_dtoh_async(pinned, from + (i * PIECE_BYTES) as u64, stream)
            };
            let what = || format!("{len} bytes");
            self.spans
                .around(stream, Queue::DOWNLOADS, what, copy)
                .map_err(|e| self.failed("downloading", e))?;
            self.record(event, stream)?;
            flying.push_back((memory, event, chunk));
        }
        flying.into_iter().try_for_each(|landing| self.land(Some(landing)))
    }

    fn copy(&self, queue: Queue, from: u64, to: u64, bytes: usize) -> Result<(), BackendError> {
        self.enter()?;
        // SAFETY: both ranges lie in live buffers of this device.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream(queue)) }
            .map_err(|e| self.failed("copying", e))
    }

    fn write(&self, queue: Queue, to: u64, bytes: &[u8]) -> Result<(), BackendError> {
        self.enter()?;
        // SAFETY: the range lies in a live buffer; memory that is not pinned has been read when the
        // call returns.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream(queue)) }
            .map_err(|e| self.failed("writing", e))
    }

    fn zero(&self, queue: Queue, at: u64, bytes: usize) -> Result<(), BackendError> {
        self.enter()?;
        // SAFETY: the range lies in a live buffer of this device.
        unsafe { result::memset_d8_async(at, 0, bytes, self.stream(queue)) }
            .map_err(|e| self.failed("clearing", e))
    }

    fn load(&self, source: &Source) -> Result<Vec<Kernel>, BackendError> {
        self.enter()?;
        let cubin = compile(source, self.facts.capability).map_err(|e| match e {
            CompileError::NoCompiler => BackendError::Unsupported {
                device: self.id.clone(),
                what: "any kernel".into(),
                why: e.to_string(),
            },
            CompileError::Refused(_) => {
                BackendError::DeviceFailed { device: self.id.clone(), what: e.to_string() }
            }
        })?;
        // SAFETY: a whole cubin, alive during the call.
        let module = unsafe { result::module::load_data(cubin.as_ptr().cast()) }
            .map_err(|e| self.failed("loading a kernel", e))?;
        self.modules.lock().unwrap_or_else(PoisonError::into_inner).push(module);
        source
            .file
            .kernels
            .iter()
            .map(|name| {
                let symbol = CString::new(*name).unwrap_or_default();
                // SAFETY: the module stays loaded until `drop`.
                let function = unsafe { result::module::get_function(module, symbol) }
                    .map_err(|e| self.failed("finding a kernel", e))?;
                self.names
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(function as usize, name);
                Ok(Kernel(function as usize))
            })
            .collect()
    }

    fn prepare(&self, kernel: Kernel, size: LaunchSize) -> Result<KernelCost, BackendError> {
        self.enter()?;
        use sys::CUfunction_attribute_enum as A;
        let function = kernel.0 as sys::CUfunction;
        let failed = |e| self.failed("preparing a kernel", e);
        // SAFETY: `load` made the kernel from a function of a module that stays loaded.
        let cost = unsafe {
            result::function::set_function_attribute(
                function,
                A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                size.shared_bytes as i32,
            )
            .map_err(failed)?;
            KernelCost {
                registers: result::function::get_function_attribute(
                    function,
                    A::CU_FUNC_ATTRIBUTE_NUM_REGS,
                )
                .map_err(failed)?,
                local_bytes: result::function::get_function_attribute(
                    function,
                    A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                )
                .map_err(failed)?,
                resident_clusters: if size.cluster > 1 {
                    Some(self.resident_clusters(function, size)?)
                } else {
                    None
                },
                resident_blocks: result::occupancy::max_active_block_per_multiprocessor(
                    function,
                    size.threads as i32,
                    size.shared_bytes,
                )
                .map_err(failed)?,
            }
        };
        if cost.resident_blocks == 0 || cost.resident_clusters == Some(0) {
            return Err(BackendError::Unsupported {
                device: self.id.clone(),
                what: format!(
                    "a block of {} threads with {} bytes of shared memory",
                    size.threads, size.shared_bytes
                ),
                why: format!(
                    "the kernel's {} registers leave no room for it; plan fewer threads or \
                     ciphertexts a block",
                    cost.registers
                ),
            });
        }
        Ok(cost)
    }

    fn launch(
        &self,
        queue: Queue,
        kernel: Kernel,
        size: LaunchSize,
        arguments: &[u8],
    ) -> Result<(), BackendError> {
        self.enter()?;
        let mut copy = aligned(arguments);
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

    fn record(
        &self,
        queue: Queue,
        launches: &[RecordedLaunch],
        overlaps: bool,
    ) -> Result<Option<Graph>, BackendError> {
        // Launches that are timed one by one cannot be recorded.
        if timeline::is_on() {
            return Ok(None);
        }
        self.enter()?;
        self.capture(queue, launches, overlaps).map(|exec| Some(Graph(exec as usize)))
    }

    fn replay(&self, queue: Queue, graph: Graph) -> Result<(), BackendError> {
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

    fn synchronize(&self) -> Result<(), BackendError> {
        self.enter()?;
        self.finish().map_err(|e| self.failed("running kernels", e))?;
        self.spans
            .report(self.stream(Queue::UPLOADS))
            .map_err(|e| self.failed("timing earlier work", e))
    }
}
