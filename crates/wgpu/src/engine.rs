//! The engine: one loaded shape, its store, its launches.

use crate::gpu::{Binding, Gpu, Pipeline};
use crate::keys::{Segment, upload_bootstrapping_key, upload_key_switching_key};
use crate::plan::WgpuPlan;
use crate::tables::Tables;
use crate::upload::Uploads;
use crate::variant::{COMBINE_THREADS, Kernel};
use bytemuck::{Pod, Zeroable};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Combination, Engine, KeySource, LinearJob, PlanSource, Progress, Stage, StageOutput,
    Transform, validate_jobs, validate_linear_jobs, validate_range, validate_tables,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A job as `shaders/lib/job.wgsl` reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct GpuJob {
    operands: [u32; 4],
    weights: [i32; 4],
    constant: u32,
    log2_modulus: u32,
    table: u32,
    table_stride: u32,
    offsets: [u32; 2],
    log2_output: u32,
    pub output: u32,
}

impl GpuJob {
    fn new(input: &Combination, log2_output: u32, output: u32) -> Self {
        // Kernels read operands of weight 0 too; index 0 is always there.
        let index = |i: usize| if input.operands[i].weight == 0 { 0 } else { input.operands[i].ciphertext };
        Self {
            operands: std::array::from_fn(index),
            weights: input.operands.map(|o| o.weight),
            constant: input.constant,
            log2_modulus: input.log2_modulus,
            log2_output,
            output,
            ..Default::default()
        }
    }
}

/// A dispatch as `shaders/lib/job.wgsl` reads it, in a slot of its own for dynamic offsets.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct GpuLaunch {
    pub first_step: u32,
    pub last_step: u32,
    pub first_block: u32,
    pub trace_step: u32,
    pub first_job: u32,
    pub jobs: u32,
    pub unused: [u32; 2],
}

/// Distance between launches in their buffer: WebGPU's alignment of dynamic uniform offsets.
const LAUNCH_STRIDE: usize = 256;
/// Bytes of one launch.
pub(crate) const LAUNCH_BYTES: u64 = size_of::<GpuLaunch>() as u64;
/// Most workgroups of one dispatch, below WebGPU's 65,535.
const CHUNK_JOBS: usize = 32_768;
/// Bytes that one chunk of a batch may take for extracted ciphertexts, and for parked accumulators.
const CHUNK_BYTES: usize = 256 << 20;

/// The bindings of each kernel, in order.
const BLIND_ROTATE_BINDINGS: [Binding; 8] =
    [Binding::Uniform, Binding::Read, Binding::Read, Binding::Read, Binding::Read, Binding::Read, Binding::ReadWrite, Binding::ReadWrite];
const KEY_SWITCH_BINDINGS: [Binding; 6] =
    [Binding::Uniform, Binding::ReadWrite, Binding::Read, Binding::Read, Binding::Read, Binding::ReadWrite];
const COMBINE_BINDINGS: [Binding; 3] = [Binding::Uniform, Binding::ReadWrite, Binding::Read];

/// Blind rotation and key switch, plain or traced.
pub(crate) struct Kernels {
    pub blind_rotate: Pipeline,
    pub key_switch: Pipeline,
}

/// Buffers that one chunk of jobs works in.
pub(crate) struct Workspace {
    pub switched: wgpu::Buffer,
    pub scratch: wgpu::Buffer,
    pub partial: wgpu::Buffer,
    jobs: usize,
}

/// What changes between calls.
struct State {
    store: Option<wgpu::Buffer>,
    stored: usize,
    tables: Option<wgpu::Buffer>,
    table_count: usize,
    jobs: Option<wgpu::Buffer>,
    launches: Option<wgpu::Buffer>,
    workspace: Option<Workspace>,
    staging: Option<wgpu::Buffer>,
    uploads: Uploads,
}

/// A [`girih_backend::Engine`] on a wgpu device.
pub(crate) struct WgpuEngine {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) plan: WgpuPlan,
    source: PlanSource,
    pub(crate) constant: Tables,
    combine: Pipeline,
    kernels: Kernels,
    traced: OnceLock<Kernels>,
    key: Vec<Segment>,
    table: Vec<Segment>,
    roots: wgpu::Buffer,
    state: Mutex<State>,
}

/// One bootstrapping chunk as data: which buffers, which part of the work.
pub(crate) struct Pass<'a> {
    pub kernels: &'a Kernels,
    pub store: &'a wgpu::Buffer,
    /// Where results go: the store, or a trace's own.
    pub results: &'a wgpu::Buffer,
    pub jobs: &'a wgpu::Buffer,
    pub tables: &'a wgpu::Buffer,
    pub workspace: &'a Workspace,
    pub first_job: usize,
    pub count: usize,
    /// Steps to run; below n the accumulator is parked and nothing is switched.
    pub steps: usize,
    pub trace_step: usize,
}

/// A dispatch to record.
struct Dispatch {
    bind_group: wgpu::BindGroup,
    launch: GpuLaunch,
    groups: (u32, u32),
    blind_rotate: bool,
}

const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);

impl WgpuEngine {
    pub fn load(
        gpu: Arc<Gpu>,
        plan: WgpuPlan,
        source: PlanSource,
        keys: &dyn KeySource,
        progress: &dyn Progress,
    ) -> Result<Self, BackendError> {
        let constant = Tables::new(&plan);
        let kernels = Self::compile(&gpu, &plan, &constant, false)?;
        let combine =
            gpu.pipeline(Kernel::Combine.name(), &Self::source(&gpu, Kernel::Combine, &plan, &constant, false)?, &COMBINE_BINDINGS)?;
        gpu.take_notes().iter().for_each(|note| progress.note(note));
        let roots = constant.roots();
        let roots_buffer = gpu.buffer(8 * roots.len() as u64, STORAGE, "twiddles")?;
        gpu.queue.write_buffer(&roots_buffer, 0, bytemuck::cast_slice(&roots));
        let key = upload_bootstrapping_key(&gpu, &plan, &constant, keys, progress)?;
        let table = upload_key_switching_key(&gpu, &plan, keys, progress)?;
        let state = State {
            store: None,
            stored: 0,
            tables: None,
            table_count: 0,
            jobs: None,
            launches: None,
            workspace: None,
            staging: None,
            uploads: Uploads::default(),
        };
        Ok(Self {
            gpu,
            plan,
            source,
            constant,
            combine,
            kernels,
            traced: OnceLock::new(),
            key,
            table,
            roots: roots_buffer,
            state: Mutex::new(state),
        })
    }

    fn source(gpu: &Gpu, kernel: Kernel, plan: &WgpuPlan, tables: &Tables, trace: bool) -> Result<String, BackendError> {
        kernel.wgsl(plan, tables, trace).map_err(|why| BackendError::Unsupported {
            device: gpu.name.clone(),
            what: format!("this shape in {}", kernel.name()),
            why,
        })
    }

    fn compile(gpu: &Gpu, plan: &WgpuPlan, tables: &Tables, trace: bool) -> Result<Kernels, BackendError> {
        let pipeline =
            |kernel: Kernel, bindings: &[Binding]| gpu.pipeline(kernel.name(), &Self::source(gpu, kernel, plan, tables, trace)?, bindings);
        Ok(Kernels {
            blind_rotate: pipeline(Kernel::BlindRotate, &BLIND_ROTATE_BINDINGS)?,
            key_switch: pipeline(Kernel::KeySwitch, &KEY_SWITCH_BINDINGS)?,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The traced kernels, compiled at the first trace.
    pub(crate) fn traced(&self) -> Result<&Kernels, BackendError> {
        if let Some(kernels) = self.traced.get() {
            return Ok(kernels);
        }
        let kernels = Self::compile(&self.gpu, &self.plan, &self.constant, true)?;
        Ok(self.traced.get_or_init(|| kernels))
    }

    /// `slot` with at least `bytes`, keeping the first `keep` bytes.
    fn grow(&self, slot: &mut Option<wgpu::Buffer>, bytes: u64, keep: u64, what: &str) -> Result<(), BackendError> {
        if slot.as_ref().is_some_and(|b| b.size() >= bytes) {
            return Ok(());
        }
        let new = self.gpu.buffer(bytes, STORAGE, what)?;
        if let Some(old) = slot.as_ref().filter(|_| keep > 0) {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(old, 0, &new, 0, keep);
            self.gpu.queue.submit([encoder.finish()]);
        }
        *slot = Some(new);
        Ok(())
    }

    /// Words of one job's extracted ciphertext, parked accumulator and parked key-switching sum.
    fn workspace_words(&self) -> (usize, usize, usize) {
        let (plan, shape) = (&self.plan, &self.plan.shape);
        (
            (shape.ks_indices() + shape.packing) * plan.ks_words(),
            shape.columns() * plan.accumulator_words() * shape.polynomial_size,
            shape.ciphertext_len() * plan.ks_words(),
        )
    }

    /// A workspace for `jobs` at once; `scratch_words` beyond parked accumulators serve traces.
    pub(crate) fn workspace(&self, jobs: usize, scratch_words: usize, park_sums: bool) -> Result<Workspace, BackendError> {
        let (switched, _, partial) = self.workspace_words();
        let bytes = |words: usize| 4 * words as u64;
        Ok(Workspace {
            switched: self.gpu.buffer(bytes(jobs * switched), STORAGE, "extracted ciphertexts")?,
            scratch: self.gpu.buffer(bytes(scratch_words), STORAGE, "parked accumulators")?,
            partial: self.gpu.buffer(bytes(if park_sums { jobs * partial } else { 0 }), STORAGE, "parked key-switching sums")?,
            jobs,
        })
    }

    /// The step ranges of a blind rotation up to `steps`: cut at key segments and at the plan's steps a launch.
    fn ranges(&self, steps: usize) -> Vec<(usize, usize, usize)> {
        let mut ranges = Vec::new();
        for (at, segment) in self.key.iter().enumerate() {
            let end = segment.last.min(steps);
            let mut first = segment.first;
            while first < end {
                let last = end.min(first + self.plan.tile.steps_per_launch);
                ranges.push((at, first, last));
                first = last;
            }
        }
        // A trace of no steps still initialises and parks.
        if ranges.is_empty() { vec![(0, 0, 0)] } else { ranges }
    }

    /// Jobs that one chunk takes.
    fn chunk_jobs(&self) -> usize {
        let (switched, parked, _) = self.workspace_words();
        let bytes = 4 * if self.ranges(self.plan.shape.lwe_dimension).len() > 1 { switched.max(parked) } else { switched };
        (CHUNK_BYTES.min(self.gpu.binding_bytes() as usize) / bytes).clamp(1, CHUNK_JOBS)
    }

    fn dispatches(&self, launches: &wgpu::Buffer, pass: &Pass<'_>) -> Vec<Dispatch> {
        let mut all = Vec::new();
        let work = pass.workspace;
        let base = GpuLaunch {
            trace_step: pass.trace_step as u32,
            first_job: pass.first_job as u32,
            jobs: pass.count as u32,
            ..Default::default()
        };
        for (segment, first, last) in self.ranges(pass.steps) {
            let key = &self.key[segment];
            let buffers = [launches, pass.store, pass.jobs, pass.tables, &key.buffer, &self.roots, &work.switched, &work.scratch];
            all.push(Dispatch {
                bind_group: self.gpu.bind(&pass.kernels.blind_rotate, LAUNCH_BYTES, &buffers),
                launch: GpuLaunch { first_step: first as u32, last_step: last as u32, first_block: key.first as u32, ..base },
                groups: (pass.count as u32, 1),
                blind_rotate: true,
            });
        }
        if pass.steps < self.plan.shape.lwe_dimension {
            return all;
        }
        let columns = self.plan.ks_row_vectors().div_ceil(self.plan.ks_workgroup().0) as u32;
        for segment in &self.table {
            let buffers = [launches, pass.results, pass.jobs, &segment.buffer, &work.switched, &work.partial];
            let launch =
                GpuLaunch { first_step: segment.first as u32, last_step: segment.last as u32, first_block: segment.first as u32, ..base };
            all.push(Dispatch {
                bind_group: self.gpu.bind(&pass.kernels.key_switch, LAUNCH_BYTES, &buffers),
                launch,
                groups: (pass.count as u32, columns),
                blind_rotate: false,
            });
        }
        all
    }

    /// Uploads launches and records all dispatches of `passes`' chunks in order.
    pub(crate) fn run(&self, launches: &mut Option<wgpu::Buffer>, pass: &Pass<'_>) -> Result<(), BackendError> {
        let count = self.ranges(pass.steps).len() + self.table.len();
        self.launch_buffer(launches, count)?;
        let buffer = launches.as_ref().expect("just made");
        let dispatches = self.dispatches(buffer, pass);
        let mut words = vec![0u8; dispatches.len() * LAUNCH_STRIDE];
        for (slot, dispatch) in words.chunks_exact_mut(LAUNCH_STRIDE).zip(&dispatches) {
            slot[..LAUNCH_BYTES as usize].copy_from_slice(bytemuck::bytes_of(&dispatch.launch));
        }
        self.gpu.queue.write_buffer(buffer, 0, &words);
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for (at, dispatch) in dispatches.iter().enumerate() {
                let kernel = if dispatch.blind_rotate { &pass.kernels.blind_rotate } else { &pass.kernels.key_switch };
                compute.set_pipeline(&kernel.pipeline);
                compute.set_bind_group(0, &dispatch.bind_group, &[(at * LAUNCH_STRIDE) as u32]);
                compute.dispatch_workgroups(dispatch.groups.0, dispatch.groups.1, 1);
            }
        }
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.check("bootstrap")
    }

    fn launch_buffer(&self, slot: &mut Option<wgpu::Buffer>, count: usize) -> Result<(), BackendError> {
        let bytes = (count.max(1) * LAUNCH_STRIDE) as u64;
        if slot.as_ref().is_none_or(|b| b.size() < bytes) {
            *slot = Some(self.gpu.buffer(bytes, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST, "launch parameters")?);
        }
        Ok(())
    }

    fn gpu_job(&self, job: &BootstrapJob) -> GpuJob {
        let offsets = match (self.plan.modulus_raising(), self.constant.rns().words()) {
            (false, [a, b]) => [a.reduce(job.output_offset), b.reduce(job.output_offset)],
            // Below Q < 2^31.
            _ => [job.output_offset as u32, 0],
        };
        GpuJob { table: job.table, table_stride: job.table_stride, offsets, ..GpuJob::new(&job.input, job.log2_output_modulus, job.output) }
    }

    /// Calls `use_buffers(store, tables)` for a validated job list of one, with the job uploaded for a trace.
    pub(crate) fn with_job<R>(
        &self,
        job: &BootstrapJob,
        use_buffers: impl FnOnce(&wgpu::Buffer, &wgpu::Buffer, &wgpu::Buffer) -> Result<R, BackendError>,
    ) -> Result<R, BackendError> {
        let state = self.state();
        validate_jobs(&self.plan.shape, state.stored, state.table_count, &[*job])?;
        let (Some(store), Some(tables)) = (&state.store, &state.tables) else {
            return Err(BackendError::InvalidRequest("the store or the tables are empty".into()));
        };
        // A trace's result goes to place 0 of a store of its own.
        let job = GpuJob { output: 0, ..self.gpu_job(job) };
        let jobs = self.gpu.buffer(size_of::<GpuJob>() as u64, STORAGE, "jobs")?;
        self.gpu.queue.write_buffer(&jobs, 0, bytemuck::bytes_of(&job));
        use_buffers(store, tables, &jobs)
    }

    /// Checks a range of the store; words of one ciphertext.
    fn check_range(&self, stored: usize, first: usize, words: usize) -> Result<usize, BackendError> {
        validate_range(&self.plan.shape, stored, first, words)?;
        Ok(self.plan.shape.ciphertext_len())
    }
}

impl Engine for WgpuEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.plan.shape
    }

    fn transform(&self) -> Transform {
        Transform::Ntt
    }

    fn plan(&self) -> serde_json::Value {
        let tile = &self.plan.tile;
        let (lanes, slices) = self.plan.ks_workgroup();
        let bytes = |segments: &[Segment]| segments.iter().map(|s| s.buffer.size()).sum::<u64>();
        serde_json::json!({
            "transform": Transform::Ntt.to_string(),
            "plan_from": self.source,
            "profile": self.plan.profile.to_string(),
            "checked": self.gpu.checked(),
            "items_per_thread": tile.items_per_thread,
            "workgroup_threads": tile.workgroup_threads,
            "workgroup_bytes": tile.workgroup_bytes,
            "staged_polynomials": tile.layout.staged,
            "signed": self.plan.signed,
            "rolled": format!("{:?}", self.plan.rolled),
            "barriers_per_step": self.plan.barriers_per_step(),
            "launches_per_batch": self.ranges(self.plan.shape.lwe_dimension).len(),
            "steps_per_launch": tile.steps_per_launch,
            "key_bytes": bytes(&self.key),
            "key_switch_bytes": bytes(&self.table),
            "key_switch_launches": self.table.len(),
            "key_switch_threads": lanes * slices,
            "jobs_per_chunk": self.chunk_jobs(),
        })
    }

    fn stored(&self) -> usize {
        self.state().stored
    }

    fn reserve(&self, ciphertexts: usize) -> Result<(), BackendError> {
        let mut state = self.state();
        if ciphertexts <= state.stored {
            return Ok(());
        }
        let bytes = |n: usize| 4 * n as u64 * self.plan.shape.ciphertext_len() as u64;
        // Kernels address the store as one binding, wherever the operands of a job lie.
        if bytes(ciphertexts) > self.gpu.binding_bytes() {
            let most = self.gpu.binding_bytes() / bytes(1);
            return Err(BackendError::OutOfMemory {
                device: self.gpu.name.clone(),
                bytes: bytes(ciphertexts),
                what: format!(
                    "a store of {ciphertexts} ciphertexts: a buffer of this device holds {most} of them ({} bytes); run the batch in parts",
                    self.gpu.binding_bytes()
                ),
            });
        }
        let keep = bytes(state.stored);
        let mut store = state.store.take();
        // Growing by half again keeps a store that grows by one from copying itself each time.
        let roomy = bytes(ciphertexts).max(keep + keep / 2).min(self.gpu.binding_bytes().max(bytes(ciphertexts)));
        let grown = self.grow(&mut store, if keep == 0 { bytes(ciphertexts) } else { roomy }, keep, "the ciphertext store");
        state.store = store;
        grown?;
        state.stored = ciphertexts;
        Ok(())
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError> {
        let mut state = self.state();
        let length = self.check_range(state.stored, first, words.len())?;
        let state = &mut *state;
        if let (Some(store), false) = (&state.store, words.is_empty()) {
            state.uploads.write(&self.gpu, store, 4 * (first * length) as u64, words)?;
        }
        self.gpu.check("write")
    }

    fn read(&self, first: usize, words: &mut [u32]) -> Result<(), BackendError> {
        let mut state = self.state();
        let length = self.check_range(state.stored, first, words.len())?;
        let state = &mut *state;
        match &state.store {
            Some(store) if !words.is_empty() => self.gpu.read(store, (first * length) as u64, words, &mut state.staging),
            _ => self.gpu.wait("read"),
        }
    }

    fn add_tables(&self, polynomials: &[u64]) -> Result<u32, BackendError> {
        let size = self.plan.shape.polynomial_size;
        validate_tables(&self.plan.shape, polynomials)?;
        let words: Vec<u32> = match (self.plan.accumulator_words(), self.constant.rns().words()) {
            (2, [a, b]) => polynomials.iter().flat_map(|&x| [a.reduce(x), b.reduce(x)]).collect(),
            _ => polynomials.iter().map(|&x| x as u32).collect(),
        };
        let mut state = self.state();
        let bytes = |count: usize| 4 * (count * size * self.plan.accumulator_words()) as u64;
        let first = state.table_count;
        let count = first + polynomials.len() / size;
        let mut tables = state.tables.take();
        let grown = self.grow(&mut tables, bytes(count.next_power_of_two()), bytes(first), "test polynomials");
        state.tables = tables;
        grown?;
        if let Some(tables) = &state.tables {
            self.gpu.queue.write_buffer(tables, bytes(first), bytemuck::cast_slice(&words));
        }
        state.table_count = count;
        self.gpu.check("add_tables")?;
        Ok(first as u32)
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        let mut state = self.state();
        validate_jobs(&self.plan.shape, state.stored, state.table_count, jobs)?;
        if jobs.is_empty() {
            return Ok(());
        }
        let state = &mut *state;
        let uploaded: Vec<GpuJob> = jobs.iter().map(|j| self.gpu_job(j)).collect();
        self.grow(&mut state.jobs, size_of_val(&uploaded[..]) as u64, 0, "jobs")?;
        let chunk = jobs.len().min(self.chunk_jobs());
        if state.workspace.as_ref().is_none_or(|w| w.jobs < chunk) {
            state.workspace = None;
            let parked = self.ranges(self.plan.shape.lwe_dimension).len() > 1;
            let scratch = if parked { chunk * self.workspace_words().1 } else { 0 };
            state.workspace = Some(self.workspace(chunk, scratch, self.table.len() > 1)?);
        }
        let (Some(store), Some(tables), Some(jobs_buffer), Some(workspace)) = (&state.store, &state.tables, &state.jobs, &state.workspace)
        else {
            return Err(BackendError::InvalidRequest("the store or the tables are empty".into()));
        };
        self.gpu.queue.write_buffer(jobs_buffer, 0, bytemuck::cast_slice(&uploaded));
        for first_job in (0..jobs.len()).step_by(chunk) {
            let pass = Pass {
                kernels: &self.kernels,
                store,
                results: store,
                jobs: jobs_buffer,
                tables,
                workspace,
                first_job,
                count: chunk.min(jobs.len() - first_job),
                steps: self.plan.shape.lwe_dimension,
                trace_step: u32::MAX as usize,
            };
            self.run(&mut state.launches, &pass)?;
        }
        Ok(())
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError> {
        let mut state = self.state();
        validate_linear_jobs(&self.plan.shape, state.stored, jobs)?;
        if jobs.is_empty() {
            return Ok(());
        }
        let state = &mut *state;
        let uploaded: Vec<GpuJob> = jobs.iter().map(|j| GpuJob::new(&j.input, j.log2_output_modulus, j.output)).collect();
        self.grow(&mut state.jobs, size_of_val(&uploaded[..]) as u64, 0, "jobs")?;
        let starts: Vec<usize> = (0..jobs.len()).step_by(CHUNK_JOBS).collect();
        self.launch_buffer(&mut state.launches, starts.len())?;
        let (Some(store), Some(jobs_buffer), Some(launches)) = (&state.store, &state.jobs, &state.launches) else {
            return Err(BackendError::InvalidRequest("the store is empty".into()));
        };
        self.gpu.queue.write_buffer(jobs_buffer, 0, bytemuck::cast_slice(&uploaded));
        let mut words = vec![0u8; starts.len() * LAUNCH_STRIDE];
        for (slot, &first_job) in words.chunks_exact_mut(LAUNCH_STRIDE).zip(&starts) {
            let launch = GpuLaunch { first_job: first_job as u32, ..Default::default() };
            slot[..LAUNCH_BYTES as usize].copy_from_slice(bytemuck::bytes_of(&launch));
        }
        self.gpu.queue.write_buffer(launches, 0, &words);
        let bind_group = self.gpu.bind(&self.combine, LAUNCH_BYTES, &[launches, store, jobs_buffer]);
        let rows = self.plan.shape.ciphertext_len().div_ceil(COMBINE_THREADS) as u32;
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut compute = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            compute.set_pipeline(&self.combine.pipeline);
            for (at, &first) in starts.iter().enumerate() {
                compute.set_bind_group(0, &bind_group, &[(at * LAUNCH_STRIDE) as u32]);
                compute.dispatch_workgroups(CHUNK_JOBS.min(jobs.len() - first) as u32, rows, 1);
            }
        }
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.check("combine")
    }

    fn synchronize(&self) -> Result<(), BackendError> {
        self.gpu.wait("synchronize")
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>, BackendError> {
        crate::trace::trace(self, job, stages)
    }
}
