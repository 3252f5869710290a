//! The engine: one loaded shape, its store, its tables; the contract of the family, call by call.

use crate::bootstrap::job::Script;
use crate::bootstrap::keys::{Segment, upload_key_switching_key};
use crate::bootstrap::loaded::Loaded;
use crate::bootstrap::pass::{NO_STEP, Pass, Words, Workspace};
use crate::bootstrap::plan::WgpuPlan;
use crate::bootstrap::store::Store;
use crate::bootstrap::trace::trace;
use crate::runtime::gpu::{Gpu, STORAGE};
use crate::runtime::script::ScriptBuffers;
use crate::runtime::upload::Uploads;
use girih_backend::bootstrap::{BootstrapDevice, Pipelining};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, KeySource, LinearJob, PlanReport, PlanSource,
    Progress, Result, Stage, StageOutput, Transform, Waiting,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What changes between calls.
struct State {
    store: Store,
    tables: Option<wgpu::Buffer>,
    workspace: Workspace,
    scripts: ScriptBuffers,
    staging: Option<wgpu::Buffer>,
    uploads: Uploads,
}

impl State {
    fn new(gpu: &Gpu, shape: &BootstrapShape) -> Self {
        Self {
            store: Store::new(gpu, shape),
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
    loaded: Loaded,
    source: PlanSource,
    /// Shared with engines loaded beside this one.
    state: Arc<Mutex<State>>,
}

impl WgpuEngine {
    pub fn load(
        gpu: Arc<Gpu>,
        plan: WgpuPlan,
        source: PlanSource,
        beside: Option<&Self>,
        keys: &dyn KeySource,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let mut loaded = Loaded::new(gpu, plan, keys, progress, |gpu, plan| match beside {
            Some(engine) => Ok(Arc::clone(&engine.loaded.table)),
            None => upload_key_switching_key(gpu, plan, keys, progress).map(Arc::new),
        })?;
        let state = match beside {
            Some(engine) => Arc::clone(&engine.state),
            None => Arc::new(Mutex::new(State::new(&loaded.gpu, &loaded.plan.shape))),
        };
        loaded.kernels.few = loaded.few()?;
        Ok(Self { loaded, source, state })
    }

    /// Whether it runs on `gpu`.
    pub fn is_on(&self, gpu: &Arc<Gpu>) -> bool {
        Arc::ptr_eq(&self.loaded.gpu, gpu)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of `count` test polynomials on the device.
    fn table_bytes(&self, count: usize) -> u64 {
        4 * (count * self.loaded.plan.shape.polynomial_size * self.loaded.plan.accumulator_words())
            as u64
    }

    /// Writes checked test polynomials to the places from `first` on, as kernels read them.
    fn upload_tables(&self, tables: &wgpu::Buffer, first: usize, polynomials: &[u64]) {
        let count = self.loaded.plan.accumulator_words();
        let words: Vec<u32> = polynomials
            .iter()
            .flat_map(|&x| self.loaded.constant.accumulator(count, x).into_iter().take(count))
            .collect();
        self.loaded.gpu.queue.write_buffer(
            tables,
            self.table_bytes(first),
            bytemuck::cast_slice(&words),
        );
    }

    /// The buffer of test polynomials with room for `bytes`, its first `keep` bytes kept.
    fn grown_tables<'s>(
        &self,
        state: &'s mut State,
        keep: u64,
        bytes: u64,
    ) -> Result<&'s wgpu::Buffer> {
        let old = state.tables.take_if(|b| b.size() < bytes);
        if state.tables.is_none() {
            let roomy = bytes.next_power_of_two().min(self.loaded.gpu.binding_bytes()).max(bytes);
            let new = self
                .loaded
                .gpu
                .buffer(roomy, STORAGE, "test polynomials")
                .inspect_err(|_| state.tables.clone_from(&old))?;
            if let Some(old) = old {
                self.loaded.gpu.copy(&old, &new, keep);
            }
            state.tables = Some(new);
        }
        tables(&state.tables)
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
fn tables(slot: &Option<wgpu::Buffer>) -> Result<&wgpu::Buffer> {
    slot.as_ref()
        .ok_or_else(|| BackendError::InvalidRequest("there is no test polynomial yet".into()))
}

impl BootstrapDevice for WgpuEngine {
    fn shape(&self) -> &BootstrapShape {
        &self.loaded.plan.shape
    }

    fn transform(&self) -> Transform {
        Transform::Ntt
    }

    /// Adapters do not say how many workgroups run at once: a guess between small GPUs, of 16
    /// multiprocessors, and large ones, of 132.
    fn pipelining(&self) -> Pipelining {
        Pipelining { wave: 64, ..Pipelining::default() }
    }

    fn report(&self) -> PlanReport {
        let tile = &self.loaded.plan.tile;
        let bytes = |segments: &[Segment]| segments.iter().map(|s| s.buffer.size()).sum::<u64>();
        let few = self.loaded.kernels.few.as_ref();
        PlanReport::new(Transform::Ntt, self.source)
            .with("profile", self.loaded.plan.profile.to_string())
            .with("checked", self.loaded.gpu.checked())
            .with("items_per_thread", tile.items_per_thread)
            .with("workgroup_threads", tile.workgroup_threads)
            .with("workgroup_bytes", tile.workgroup_bytes)
            .with("staged_polynomials", tile.staged)
            .with("signed", self.loaded.plan.signed)
            .with("looped", self.loaded.plan.looped)
            .with("rolled", format!("{:?}", self.loaded.plan.rolled))
            .with("barriers_per_step", self.loaded.plan.barriers_per_step())
            .with("launches_per_batch", self.loaded.ranges(self.loaded.plan.shape.steps()).len())
            .with("steps_per_launch", tile.steps_per_launch)
            .with("key_bytes", bytes(&self.loaded.key))
            .with("key_switch_bytes", bytes(&self.loaded.table))
            .with("key_switch_launches", self.loaded.table.len())
            .with(
                "key_switch_threads",
                self.loaded.plan.key_switch_kernel().workgroup_threads(&self.loaded.plan),
            )
            .with("few_staged_polynomials", few.and(self.loaded.plan.few.map(|(staged, _)| staged)))
            .with("few_up_to_batch", few.map(|(_, most)| *most))
            .with("beyond_webgpu_limits", beyond_webgpu(&self.loaded.plan))
            .with("key_switch_parts_of_one", self.loaded.key_switch_parts(1).max(1))
            .with("jobs_per_chunk", self.loaded.chunk_jobs(1, 1))
            .with("ciphertexts_per_buffer", self.state().store.per_segment())
    }

    fn grow(&self, from: usize, to: usize) -> Result<()> {
        self.state().store.grow(&self.loaded.gpu, from, to)
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<()> {
        let state = &mut *self.state();
        state.store.write(&self.loaded.gpu, &mut state.uploads, first, words)?;
        self.loaded.gpu.check("write")
    }

    fn read<'a>(&'a self, first: usize, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        Box::pin(async move {
            if words.is_empty() {
                return self.loaded.gpu.finished("read").await;
            }
            let pieces = self.state().store.pieces(first, words.len());
            let mut rest = words;
            for piece in pieces {
                let (now, later) = rest.split_at_mut(piece.words);
                // Nobody holds the state while the device works.
                let download = {
                    let state = &mut *self.state();
                    state.store.begin_read(&self.loaded.gpu, &mut state.staging, &piece)?
                };
                let staging = self.loaded.gpu.finish_read(download, now).await?;
                self.state().staging = Some(staging);
                rest = later;
            }
            Ok(())
        })
    }

    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<()> {
        let state = &mut *self.state();
        let count = held + polynomials.len() / self.loaded.plan.shape.polynomial_size;
        let tables = self.grown_tables(state, self.table_bytes(held), self.table_bytes(count))?;
        self.upload_tables(tables, held, polynomials);
        self.loaded.gpu.check("add_tables")
    }

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<()> {
        let state = self.state();
        // Behind everything submitted so far, as all writes of a queue are.
        self.upload_tables(tables(&state.tables)?, first, polynomials);
        self.loaded.gpu.check("write_tables")
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()> {
        // What is not compiled yet, before the state is held: in a browser that suspends the call.
        self.loaded.rotation(&self.loaded.kernels, jobs)?;
        let state = &mut *self.state();
        let segments = state.store.segments();
        for jobs in self.loaded.chunks(jobs, segments) {
            let results = jobs.iter().flat_map(BootstrapJob::outputs).count();
            let words = self.loaded.words(jobs.len(), results, segments);
            let work = state.workspace.work(&self.loaded.gpu, words)?;
            let mut script = Script::default();
            let pass = Pass {
                kernels: &self.loaded.kernels,
                store: &state.store,
                tables: tables(&state.tables)?,
                work: &work,
                jobs,
                results: None,
                steps: self.loaded.plan.shape.steps(),
                trace_step: NO_STEP,
            };
            self.loaded.push_bootstrap(&mut script, &pass)?;
            script.submit(&self.loaded.gpu, &mut state.scripts, "bootstrap")?;
        }
        Ok(())
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<()> {
        let state = &mut *self.state();
        // Through a buffer in between, however many segments: kernels may not write what they bind
        // for reading.
        for jobs in jobs.chunks(self.loaded.chunk_jobs(1, 2)) {
            let work = state.workspace.work(
                &self.loaded.gpu,
                Words {
                    gathered: jobs.len() * self.loaded.plan.shape.ciphertext_len(),
                    ..Words::default()
                },
            )?;
            let mut script = Script::default();
            state.store.gather(
                &mut script,
                &self.loaded.combine,
                jobs.iter().map(|j| &j.input),
                &work.gathered,
            );
            let outputs =
                jobs.iter().map(|j| (j.input.log2_modulus, j.log2_output_modulus, j.output));
            state.store.scatter(&mut script, &self.loaded.combine, outputs, &work.gathered);
            script.submit(&self.loaded.gpu, &mut state.scripts, "combine")?;
        }
        Ok(())
    }

    fn synchronize(&self) -> Waiting<'_, Result<()>> {
        Box::pin(self.loaded.gpu.finished("synchronize"))
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>> {
        let state = self.state();
        trace(&self.loaded, (&state.store, tables(&state.tables)?), job, stages)
    }
}
