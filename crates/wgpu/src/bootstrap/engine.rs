//! The engine: one loaded shape, its store, its tables.

use crate::bootstrap::job::{GpuJob, Script};
use crate::bootstrap::keys::{Segment, upload_bootstrapping_key, upload_key_switching_key};
use crate::bootstrap::pass::{Kernels, NO_STEP, Pass, Words, Workspace};
use crate::bootstrap::plan::WgpuPlan;
use crate::bootstrap::store::Store;
use crate::bootstrap::tables::Tables;
use crate::bootstrap::variant::Kernel;
use crate::runtime::gpu::{Binding, Gpu, Pipeline, STORAGE};
use crate::runtime::script::ScriptBuffers;
use crate::runtime::upload::Uploads;
use girih_backend::bootstrap::BootstrapDevice;
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, KeySource, LinearJob, PlanReport, PlanSource,
    Progress, Stage, StageOutput, Transform, Waiting,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What changes between calls.
pub(crate) struct State {
    pub store: Store,
    tables: Option<wgpu::Buffer>,
    workspace: Workspace,
    pub scripts: ScriptBuffers,
    staging: Option<wgpu::Buffer>,
    uploads: Uploads,
}

impl State {
    fn new(gpu: &Gpu, shape: &BootstrapShape) -> Self {
        Self {
            store: Store::new(gpu, shape.ciphertext_len()),
            tables: None,
            workspace: Workspace::default(),
            scripts: ScriptBuffers::default(),
            staging: None,
            uploads: Uploads::default(),
        }
    }
}

/// A [`BootstrapDevice`] on a wgpu device.
pub(crate) struct WgpuEngine {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) plan: WgpuPlan,
    source: PlanSource,
    pub(crate) constant: Tables,
    pub(crate) combine: Pipeline,
    pub(crate) kernels: Kernels,
    traced: OnceLock<Kernels>,
    pub(crate) key: Vec<Segment>,
    /// This and `state` are shared with engines loaded beside this one.
    pub(crate) table: Arc<Vec<Segment>>,
    pub(crate) roots: wgpu::Buffer,
    state: Arc<Mutex<State>>,
}

/// What each kernel binds, in order: its launch, the jobs, and its own.
fn bindings(kernel: Kernel) -> &'static [Binding] {
    use Binding::{Read, ReadWrite, Uniform};
    match kernel {
        Kernel::Combine => &[Uniform, Read, Read, ReadWrite],
        Kernel::BlindRotate => &[Uniform, Read, Read, Read, Read, Read, ReadWrite, ReadWrite],
        Kernel::KeySwitch => &[Uniform, Read, ReadWrite, Read, ReadWrite, Read],
        Kernel::KeySwitchFinish => &[Uniform, Read, ReadWrite, Read, ReadWrite],
    }
}

impl WgpuEngine {
    pub fn load(
        gpu: Arc<Gpu>,
        plan: WgpuPlan,
        source: PlanSource,
        beside: Option<&Self>,
        keys: &dyn KeySource,
        progress: &dyn Progress,
    ) -> Result<Self, BackendError> {
        let constant = Tables::new(&plan);
        let kernels = Self::compile(&gpu, &plan, &constant, false)?;
        let combine = Self::pipeline(&gpu, Kernel::Combine, &plan, &constant, false)?;
        gpu.take_notes().iter().for_each(|note| progress.note(note));
        let roots = constant.roots();
        let roots_buffer = gpu.buffer(8 * roots.len() as u64, STORAGE, "twiddles")?;
        gpu.queue.write_buffer(&roots_buffer, 0, bytemuck::cast_slice(&roots));
        let key = upload_bootstrapping_key(&gpu, &plan, &constant, keys, progress)?;
        let (table, state) = match beside {
            Some(engine) => (Arc::clone(&engine.table), Arc::clone(&engine.state)),
            None => {
                let table = upload_key_switching_key(&gpu, &plan, keys, progress)?;
                (Arc::new(table), Arc::new(Mutex::new(State::new(&gpu, &plan.shape))))
            }
        };
        let mut engine = Self {
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
            state,
        };
        engine.kernels.few = engine.few()?;
        Ok(engine)
    }

    /// The variant of `blind_rotate` for few ciphertexts, and up to how many it is taken; none
    /// where it never is.
    fn few(&self) -> Result<Option<(Pipeline, usize)>, BackendError> {
        let (Some((_, most)), Some(plan)) = (self.plan.few, self.plan.few_plan()) else {
            return Ok(None);
        };
        let few = Self::pipeline(&self.gpu, Kernel::BlindRotate, &plan, &self.constant, false)?;
        let most = most.map_or_else(|| self.measure_few(&few), Ok)?;
        Ok((most > 0).then_some((few, most)))
    }

    /// Whether it runs on `gpu`.
    pub fn is_on(&self, gpu: &Arc<Gpu>) -> bool {
        Arc::ptr_eq(&self.gpu, gpu)
    }

    fn pipeline(
        gpu: &Gpu,
        kernel: Kernel,
        plan: &WgpuPlan,
        tables: &Tables,
        trace: bool,
    ) -> Result<Pipeline, BackendError> {
        let source = kernel.wgsl(plan, tables, trace).map_err(|why| BackendError::Unsupported {
            device: gpu.name.clone(),
            what: format!("this shape in {}", kernel.name()),
            why,
        })?;
        gpu.pipeline(kernel.name(), &source, bindings(kernel))
    }

    fn compile(
        gpu: &Gpu,
        plan: &WgpuPlan,
        tables: &Tables,
        trace: bool,
    ) -> Result<Kernels, BackendError> {
        let pipeline = |kernel| Self::pipeline(gpu, kernel, plan, tables, trace);
        Ok(Kernels {
            blind_rotate: pipeline(Kernel::BlindRotate)?,
            few: None,
            key_switch: pipeline(Kernel::KeySwitch)?,
            key_switch_finish: pipeline(Kernel::KeySwitchFinish)?,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The traced kernels, compiled at the first trace: those that a batch of one is run by.
    pub(crate) fn traced(&self) -> Result<&Kernels, BackendError> {
        if let Some(kernels) = self.traced.get() {
            return Ok(kernels);
        }
        let few = self.kernels.few.as_ref().and_then(|_| self.plan.few_plan());
        let kernels =
            Self::compile(&self.gpu, few.as_ref().unwrap_or(&self.plan), &self.constant, true)?;
        Ok(self.traced.get_or_init(|| kernels))
    }

    /// `job` as kernels read it.
    pub(crate) fn gpu_job(&self, job: &BootstrapJob) -> GpuJob {
        let offsets = match (self.plan.modulus_raising(), self.constant.rns().words()) {
            (false, [a, b]) => [a.reduce(job.output_offset), b.reduce(job.output_offset)],
            // Below Q < 2^31.
            _ => [job.output_offset as u32, 0],
        };
        GpuJob {
            table: job.table,
            table_stride: job.table_stride,
            offsets,
            ..GpuJob::new(&job.input, job.log2_output_modulus, job.output)
        }
    }

    /// Bytes of `count` test polynomials on the device.
    fn table_bytes(&self, count: usize) -> u64 {
        4 * (count * self.plan.shape.polynomial_size * self.plan.accumulator_words()) as u64
    }

    /// Writes checked test polynomials to the places from `first` on, as kernels read them.
    fn upload_tables(&self, tables: &wgpu::Buffer, first: usize, polynomials: &[u64]) {
        let words: Vec<u32> = match (self.plan.accumulator_words(), self.constant.rns().words()) {
            (2, [a, b]) => polynomials.iter().flat_map(|&x| [a.reduce(x), b.reduce(x)]).collect(),
            _ => polynomials.iter().map(|&x| x as u32).collect(),
        };
        self.gpu.queue.write_buffer(tables, self.table_bytes(first), bytemuck::cast_slice(&words));
    }

    /// The buffer of test polynomials with room for `bytes`, its first `keep` bytes kept.
    fn grown_tables<'s>(
        &self,
        state: &'s mut State,
        keep: u64,
        bytes: u64,
    ) -> Result<&'s wgpu::Buffer, BackendError> {
        let old = state.tables.take_if(|b| b.size() < bytes);
        if state.tables.is_none() {
            let roomy = bytes.next_power_of_two().min(self.gpu.binding_bytes()).max(bytes);
            let new = self
                .gpu
                .buffer(roomy, STORAGE, "test polynomials")
                .inspect_err(|_| state.tables.clone_from(&old))?;
            if let Some(old) = old {
                self.gpu.copy(&old, &new, keep);
            }
            state.tables = Some(new);
        }
        tables(&state.tables)
    }

    /// Calls `use_state` with the store and the tables.
    pub(crate) fn with_state<R>(
        &self,
        use_state: impl FnOnce(&Store, &wgpu::Buffer) -> Result<R, BackendError>,
    ) -> Result<R, BackendError> {
        let state = self.state();
        use_state(&state.store, tables(&state.tables)?)
    }
}

/// What of `plan` exceeds the default limits of WebGPU, with both numbers; buffers never do, they
/// are split.
fn beyond_webgpu(plan: &WgpuPlan) -> Vec<String> {
    let limits = wgpu::Limits::default();
    let (memory, threads) = (
        limits.max_compute_workgroup_storage_size as usize,
        limits.max_compute_invocations_per_workgroup as usize,
    );
    let staged = plan.few_plan().map_or(0, |few| few.tile.workgroup_bytes);
    [
        ("bytes of workgroup memory", plan.tile.workgroup_bytes, memory),
        ("bytes of workgroup memory for few ciphertexts", staged, memory),
        ("threads a workgroup", plan.tile.workgroup_threads, threads),
    ]
    .into_iter()
    .filter(|(_, needed, most)| needed > most)
    .map(|(what, needed, most)| format!("{needed} {what} (WebGPU grants {most})"))
    .collect()
}

/// The tables that checked jobs look up.
fn tables(slot: &Option<wgpu::Buffer>) -> Result<&wgpu::Buffer, BackendError> {
    slot.as_ref()
        .ok_or_else(|| BackendError::InvalidRequest("there is no test polynomial yet".into()))
}

impl BootstrapDevice for WgpuEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.plan.shape
    }

    fn transform(&self) -> Transform {
        Transform::Ntt
    }

    fn report(&self) -> PlanReport {
        let tile = &self.plan.tile;
        let (lanes, slices) = self.plan.ks_workgroup();
        let bytes = |segments: &[Segment]| segments.iter().map(|s| s.buffer.size()).sum::<u64>();
        let few = self.kernels.few.as_ref();
        PlanReport::new(Transform::Ntt, self.source)
            .with("profile", self.plan.profile.to_string())
            .with("checked", self.gpu.checked())
            .with("items_per_thread", tile.items_per_thread)
            .with("workgroup_threads", tile.workgroup_threads)
            .with("workgroup_bytes", tile.workgroup_bytes)
            .with("staged_polynomials", tile.layout.staged)
            .with("signed", self.plan.signed)
            .with("rolled", format!("{:?}", self.plan.rolled))
            .with("barriers_per_step", self.plan.barriers_per_step())
            .with("launches_per_batch", self.ranges(self.plan.shape.lwe_dimension).len())
            .with("steps_per_launch", tile.steps_per_launch)
            .with("key_bytes", bytes(&self.key))
            .with("key_switch_bytes", bytes(&self.table))
            .with("key_switch_launches", self.table.len())
            .with("key_switch_threads", lanes * slices)
            .with("few_staged_polynomials", few.and(self.plan.few.map(|(staged, _)| staged)))
            .with("few_up_to_batch", few.map(|(_, most)| *most))
            .with("beyond_webgpu_limits", beyond_webgpu(&self.plan))
            .with("key_switch_parts_of_one", self.key_switch_parts(1).max(1))
            .with("jobs_per_chunk", self.chunk_jobs(1))
            .with("ciphertexts_per_buffer", self.state().store.per_segment())
    }

    fn grow(&self, from: usize, to: usize) -> Result<(), BackendError> {
        self.state().store.grow(&self.gpu, from, to)
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError> {
        let state = &mut *self.state();
        state.store.write(&self.gpu, &mut state.uploads, first, words)?;
        self.gpu.check("write")
    }

    fn read<'a>(
        &'a self,
        first: usize,
        words: &'a mut [u32],
    ) -> Waiting<'a, Result<(), BackendError>> {
        Box::pin(async move {
            if words.is_empty() {
                return self.gpu.finished("read").await;
            }
            let pieces = self.state().store.pieces(first, words.len());
            let mut rest = words;
            for piece in pieces {
                let (now, later) = rest.split_at_mut(piece.words);
                // Nobody holds the state while the device works.
                let download = {
                    let state = &mut *self.state();
                    state.store.begin_read(&self.gpu, &mut state.staging, &piece)?
                };
                let staging = self.gpu.finish_read(download, now).await?;
                self.state().staging = Some(staging);
                rest = later;
            }
            Ok(())
        })
    }

    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<(), BackendError> {
        let state = &mut *self.state();
        let count = held + polynomials.len() / self.plan.shape.polynomial_size;
        let tables = self.grown_tables(state, self.table_bytes(held), self.table_bytes(count))?;
        self.upload_tables(tables, held, polynomials);
        self.gpu.check("add_tables")
    }

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<(), BackendError> {
        let state = self.state();
        // Behind everything submitted so far, as all writes of a queue are.
        self.upload_tables(tables(&state.tables)?, first, polynomials);
        self.gpu.check("write_tables")
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError> {
        let state = &mut *self.state();
        let segments = state.store.segments();
        for jobs in jobs.chunks(self.chunk_jobs(segments)) {
            let work = state.workspace.work(&self.gpu, self.words(jobs.len(), segments))?;
            let mut script = Script::default();
            let pass = Pass {
                kernels: &self.kernels,
                store: &state.store,
                tables: tables(&state.tables)?,
                work: &work,
                jobs,
                results: None,
                steps: self.plan.shape.lwe_dimension,
                trace_step: NO_STEP,
            };
            self.push_bootstrap(&mut script, &pass);
            script.submit(&self.gpu, &mut state.scripts, "bootstrap")?;
        }
        Ok(())
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError> {
        let state = &mut *self.state();
        // Through a buffer in between, however many segments: kernels may not write what they bind
        // for reading.
        for jobs in jobs.chunks(self.chunk_jobs(2)) {
            let work = state.workspace.work(
                &self.gpu,
                Words {
                    gathered: jobs.len() * self.plan.shape.ciphertext_len(),
                    ..Words::default()
                },
            )?;
            let mut script = Script::default();
            state.store.gather(
                &mut script,
                &self.combine,
                jobs.iter().map(|j| &j.input),
                &work.gathered,
            );
            let outputs =
                jobs.iter().map(|j| (j.input.log2_modulus, j.log2_output_modulus, j.output));
            state.store.scatter(&mut script, &self.combine, outputs, &work.gathered);
            script.submit(&self.gpu, &mut state.scripts, "combine")?;
        }
        Ok(())
    }

    fn synchronize(&self) -> Waiting<'_, Result<(), BackendError>> {
        Box::pin(self.gpu.finished("synchronize"))
    }

    fn trace(
        &self,
        job: &BootstrapJob,
        stages: &[Stage],
    ) -> Result<Vec<StageOutput>, BackendError> {
        crate::bootstrap::trace::trace(self, job, stages)
    }
}
