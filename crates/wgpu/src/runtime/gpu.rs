//! One wgpu device and queue: buffers, pipelines and errors.
#![allow(
    unsafe_code,
    reason = "trusted shader modules leave out the checks that the generated kernels do not need; \
              compiled kernels come from files"
)]

use crate::runtime::pipeline_cache;
use crate::runtime::spans::Spans;
use girih_backend::{BackendError, Result, block_on};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{Buffer, BufferUsages};

/// An open device.
pub(crate) struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub name: String,
    pub limits: wgpu::Limits,
    /// Bytes of memory, where they are known: a software driver has those of the host, and hands
    /// out more than there are.
    pub memory_bytes: Option<u64>,
    checked: bool,
    /// Adapter and driver, as compiled kernels depend on them; none where the driver hands out no
    /// compiled kernels.
    cache_identity: Option<String>,
    /// What users should hear of caches.
    notes: Mutex<Vec<String>>,
    /// What a timeline has not been told yet.
    pub spans: Spans,
    failures: Arc<Mutex<Failures>>,
}

/// What went wrong outside of calls.
#[derive(Default)]
struct Failures {
    /// The first that no call has reported yet.
    first: Option<String>,
    /// The loss of the device, which every later call reports.
    lost: Option<String>,
}

/// What an adapter is called; browsers may not say.
pub(crate) fn name_of(info: wgpu::AdapterInfo) -> String {
    if info.name.is_empty() { "an adapter without a name".into() } else { info.name }
}

/// What kernels read and write, and what is copied in and out of it.
pub(crate) const STORAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_DST).union(BufferUsages::COPY_SRC);

/// Bytes of the host's memory, where the system tells.
fn host_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes: u64 = text
        .lines()
        .find_map(|l| l.strip_prefix("MemTotal:"))?
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    kilobytes.checked_mul(1024)
}

/// What one binding of a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Uniform,
    Read,
    ReadWrite,
}

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub name: String,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

impl Gpu {
    pub fn open(
        adapter: &wgpu::Adapter,
        features: wgpu::Features,
        limits: wgpu::Limits,
        checked: bool,
    ) -> Result<Self> {
        let info = adapter.get_info();
        let caching = features.contains(wgpu::Features::PIPELINE_CACHE);
        let cache_identity = wgpu::util::pipeline_cache_key(&info)
            .filter(|_| caching)
            .map(|key| format!("{key} {} {} {}", info.name, info.driver, info.driver_info));
        let memory_bytes =
            if info.device_type == wgpu::DeviceType::Cpu { host_memory() } else { None };
        let name = name_of(info);
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("girih"),
            required_features: features,
            required_limits: limits.clone(),
            ..Default::default()
        };
        let (device, queue) = block_on(adapter.request_device(&descriptor)).map_err(|e| {
            BackendError::DeviceFailed { device: name.clone(), what: format!("opening it: {e}") }
        })?;
        let failures = Arc::new(Mutex::new(Failures::default()));
        let keep = |record: fn(&mut Failures, String)| {
            let failures = Arc::clone(&failures);
            move |what: String| {
                record(&mut failures.lock().unwrap_or_else(PoisonError::into_inner), what)
            }
        };
        let first = keep(|failures, what| _ = failures.first.get_or_insert(what));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| first(error.to_string())));
        let lost = keep(|failures, what| _ = failures.lost.get_or_insert(what));
        device.set_device_lost_callback(move |reason, message| {
            lost(format!("the device was lost ({reason:?}): {message}"))
        });
        Ok(Self {
            device,
            queue,
            name,
            limits,
            memory_bytes,
            checked,
            cache_identity,
            notes: Mutex::default(),
            spans: Spans::default(),
            failures,
        })
    }

    pub fn checked(&self) -> bool {
        self.checked
    }

    pub fn failed(&self, what: String) -> BackendError {
        BackendError::DeviceFailed { device: self.name.clone(), what }
    }

    /// Reports the loss of the device, or the first failure since the last report.
    pub fn check(&self, running: &str) -> Result<()> {
        // A loss is told in a poll only; a call that waits for nothing (a write)
        // must hear of it too.
        _ = self.device.poll(wgpu::PollType::Poll);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.lost.clone().or_else(|| failures.first.take()) {
            Some(what) => Err(self.failed(format!("{running}: {what}"))),
            None => Ok(()),
        }
    }

    /// Most bytes that one binding can have.
    pub fn binding_bytes(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// A zeroed buffer of at least `bytes`, for `what`.
    pub fn buffer(&self, bytes: u64, usage: BufferUsages, what: &str) -> Result<Buffer> {
        self.make_buffer(bytes, usage, what, false)
    }

    /// The same, mapped for the host to write.
    pub fn mapped_buffer(&self, bytes: u64, usage: BufferUsages, what: &str) -> Result<Buffer> {
        self.make_buffer(bytes, usage, what, true)
    }

    fn make_buffer(
        &self,
        bytes: u64,
        usage: BufferUsages,
        what: &str,
        mapped_at_creation: bool,
    ) -> Result<Buffer> {
        let bytes = bytes.max(16).next_multiple_of(16);
        let refuse = |why: String| BackendError::OutOfMemory {
            device: self.name.clone(),
            bytes,
            what: format!("{what}{why}"),
        };
        let most = if usage.contains(BufferUsages::STORAGE) {
            self.binding_bytes()
        } else {
            self.limits.max_buffer_size
        };
        if bytes > most {
            return Err(refuse(format!(" (one buffer of this device holds at most {most} bytes)")));
        }
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(what),
            size: bytes,
            usage,
            mapped_at_creation,
        });
        match block_on(memory.pop()) {
            Some(_) => Err(refuse(String::new())),
            None => Ok(buffer),
        }
    }

    /// The buffer in `slot` if it has `bytes`, else a new one there; what the old one held is lost.
    pub fn at_least<'s>(
        &self,
        slot: &'s mut Option<Buffer>,
        bytes: u64,
        usage: BufferUsages,
        what: &str,
    ) -> Result<&'s Buffer> {
        // The old one goes first, so that both need not fit at once.
        slot.take_if(|b| b.size() < bytes);
        match slot {
            Some(buffer) => Ok(buffer),
            None => Ok(slot.insert(self.buffer(bytes, usage, what)?)),
        }
    }

    /// Copies the first `bytes` of one buffer to another.
    pub fn copy(&self, from: &Buffer, to: &Buffer, bytes: u64) {
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(from, 0, to, 0, bytes);
        self.queue.submit([encoder.finish()]);
    }

    /// What users should hear since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note<T>(&self, result: Result<T, String>) -> Option<T> {
        result
            .map_err(|why| self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(why))
            .ok()
    }

    /// The driver's cache for one kernel, filled from its file where there is one; whether it was;
    /// and the file.
    fn pipeline_cache(
        &self,
        name: &str,
        source: &str,
    ) -> Option<(wgpu::PipelineCache, bool, PathBuf)> {
        let identity = self.cache_identity.as_ref()?;
        let checks = [u8::from(self.checked)];
        let path = pipeline_cache::path(&[
            identity.as_bytes(),
            name.as_bytes(),
            source.as_bytes(),
            &checks,
        ])?;
        let data = self.note(pipeline_cache::read(&path)).flatten();
        let descriptor = wgpu::PipelineCacheDescriptor {
            label: Some(name),
            data: data.as_deref(),
            fallback: true,
        };
        // SAFETY: the data is what `get_data` returned for the same adapter, driver and source: its
        // file carries their names and a checksum. wgpu and the driver check their own headers too,
        // and start empty where those differ.
        let cache = unsafe { self.device.create_pipeline_cache(&descriptor) };
        Some((cache, data.is_some(), path))
    }

    /// Compiles `source`, or takes it from the cache of compiled kernels. It binds `bindings` in
    /// their order.
    pub fn pipeline(&self, name: &str, source: &str, bindings: &[Binding]) -> Result<Pipeline> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let checks = if self.checked {
            wgpu::ShaderRuntimeChecks::checked()
        } else {
            wgpu::ShaderRuntimeChecks::unchecked()
        };
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        };
        // SAFETY: the WGSL is generated from our own templates for one validated plan. Its indices
        // are bounded by the plan (buffers are sized from the same plan, what callers index is
        // checked before it gets here), its loops end, and the same text runs with all checks on in
        // the tests.
        let module = unsafe { self.device.create_shader_module_trusted(descriptor, checks) };
        let entries: Vec<wgpu::BindGroupLayoutEntry> = bindings
            .iter()
            .enumerate()
            .map(|(i, binding)| wgpu::BindGroupLayoutEntry {
                binding: i as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: match binding {
                        Binding::Uniform => wgpu::BufferBindingType::Uniform,
                        _ => wgpu::BufferBindingType::Storage {
                            read_only: *binding == Binding::Read,
                        },
                    },
                    has_dynamic_offset: *binding == Binding::Uniform,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(name),
            entries: &entries,
        });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let cache = self.pipeline_cache(name, source);
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Every word of workgroup memory is written before it is read.
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: cache.as_ref().map(|(cache, ..)| cache),
        });
        let errors = [block_on(internal.pop()), block_on(scope.pop())];
        match errors.into_iter().flatten().next() {
            Some(error) => Err(self.failed(format!("compiling {name}: {error}"))),
            None => {
                if let Some((cache, false, path)) = &cache
                    && let Some(data) = cache.get_data()
                {
                    self.note(pipeline_cache::write(path, &data));
                }
                Ok(Pipeline { name: name.to_owned(), pipeline, layout })
            }
        }
    }

    /// Binds `buffers` in order to the kernel's bindings;
    /// a uniform binds its first `uniform_bytes`.
    pub fn bind(
        &self,
        pipeline: &Pipeline,
        uniform_bytes: u64,
        buffers: &[&Buffer],
    ) -> wgpu::BindGroup {
        let entries: Vec<wgpu::BindGroupEntry> = buffers
            .iter()
            .enumerate()
            .map(|(i, buffer)| wgpu::BindGroupEntry {
                binding: i as u32,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer,
                    offset: 0,
                    size: if i == 0 { std::num::NonZeroU64::new(uniform_bytes) } else { None },
                }),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        })
    }
}
