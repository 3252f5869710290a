//! Kernels of a GPU: loaded, given their shared memory, named, and recorded as graphs.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use super::Gpu;
use crate::runtime::compile::{CompileError, compile};
use crate::runtime::machine::{Kernel, KernelCost, LaunchSize, Queue, RecordedLaunch};
use crate::runtime::source::Source;
use cudarc::driver::{result, sys};
use girih_backend::{BackendError, Result};
use std::ffi::{CString, c_void};
use std::sync::PoisonError;

/// What `cuLaunchKernelEx` and its like are told of a launch; `attributes` holds the first `count`.
fn config(
    size: LaunchSize,
    blocks: usize,
    stream: sys::CUstream,
    attributes: &mut sys::CUlaunchAttribute,
    count: u32,
) -> sys::CUlaunchConfig {
    sys::CUlaunchConfig {
        gridDimX: blocks as u32,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: size.threads as u32,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: size.shared_bytes as u32,
        hStream: stream,
        attrs: attributes,
        numAttrs: count,
    }
}

/// Arguments in eight-byte units, which keep them aligned:
/// the driver reads the struct during the call.
pub(super) fn aligned(arguments: &[u8]) -> Vec<u64> {
    let mut copy = vec![0u64; arguments.len().div_ceil(8)];
    for (word, bytes) in copy.iter_mut().zip(arguments.chunks(8)) {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(padded);
    }
    copy
}

impl Gpu {
    /// Compiles and loads a file's kernels. The context is current.
    pub(super) fn load_kernels(&self, source: &Source) -> Result<Vec<Kernel>> {
        let note = |text| self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        let cubin = compile(source, self.facts.capability, note).map_err(|e| match e {
            CompileError::NoCompiler(_) => BackendError::Unsupported {
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

    /// What [`Machine::prepare`](crate::runtime::machine::Machine::prepare) does. The context is
    /// current.
    pub(super) fn prepare_kernel(&self, kernel: Kernel, size: LaunchSize) -> Result<KernelCost> {
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

    /// Clusters of `function` that the device runs at once; `function` has its shared memory.
    fn resident_clusters(&self, function: sys::CUfunction, size: LaunchSize) -> Result<i32> {
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
        let config = config(size, size.cluster, self.stream(Queue::UPLOADS), &mut attribute, 1);
        let mut clusters = 0;
        // SAFETY: the function is loaded; `config` and its one attribute live
        // until the call returns.
        unsafe { sys::cuOccupancyMaxActiveClusters(&mut clusters, function, &config) }
            .result()
            .map_err(|e| self.failed("asking how many clusters fit", e))?;
        Ok(clusters)
    }

    /// A launch by name and size.
    pub(super) fn label(&self, kernel: Kernel, size: LaunchSize) -> String {
        let name = self
            .names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&kernel.0)
            .copied()
            .unwrap_or("a kernel");
        format!("{name}, {} blocks of {}", size.blocks, size.threads)
    }

    /// Launches as a graph that can be called again and again. The context is current.
    pub(super) fn capture(
        &self,
        queue: Queue,
        launches: &[RecordedLaunch],
        overlaps: bool,
    ) -> Result<sys::CUgraphExec> {
        let failed = |e| self.failed("recording launches", e);
        // On a stream of its own: what other threads ask of the queue meanwhile must run, and not
        // become part of this graph.
        let stream = result::stream::create_with_priority(
            result::stream::StreamKind::NonBlocking,
            queue.priority,
        )
        .map_err(failed)?;
        // Each kernel waits for the one in front of it itself, so that it may be started before
        // that one has ended.
        let mut dependent = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let is_dependent = overlaps && self.facts.capability >= 90;
        // SAFETY: the stream was made here, is used here alone and destroyed once; what is launched
        // in between is recorded, not run, and the kernels take the structs whose bytes the
        // arguments are.
        unsafe {
            let mut launched = result::stream::begin_capture(
                stream,
                sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
            );
            for (i, launch) in launches.iter().enumerate() {
                if launched.is_err() {
                    break;
                }
                let mut copy = aligned(&launch.arguments);
                let mut parameters = [copy.as_mut_ptr().cast::<c_void>()];
                let count = u32::from(is_dependent && i > 0);
                let config = config(launch.size, launch.size.blocks, stream, &mut dependent, count);
                let function = launch.kernel.0 as sys::CUfunction;
                launched = sys::cuLaunchKernelEx(
                    &config,
                    function,
                    parameters.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
                .result();
            }
            let graph = result::stream::end_capture(stream);
            let _ = result::stream::destroy(stream);
            launched.map_err(failed)?;
            let graph = graph.map_err(failed)?;
            let exec = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = result::graph::destroy(graph);
            exec.map_err(failed)
        }
    }
}
