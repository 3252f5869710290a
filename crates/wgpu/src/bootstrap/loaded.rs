//! What one shape has loaded on a device: compiled kernels, keys and twiddles. Nothing here changes
//! after loading.

use crate::bootstrap::job::{GpuJob, has_second};
use crate::bootstrap::keys::{Segment, upload_bootstrapping_key};
use crate::bootstrap::plan::WgpuPlan;
use crate::bootstrap::tables::Tables;
use crate::bootstrap::variant::Kernel;
use crate::runtime::gpu::{Binding, Gpu, Pipeline, STORAGE};
use girih_backend::{BackendError, BootstrapJob, KeySource, Progress, Result};
use std::sync::{Arc, OnceLock};

/// Blind rotation and key switch, plain or traced.
pub(crate) struct Kernels {
    pub blind_rotate: Pipeline,
    /// The variant for few ciphertexts, and up to how many it is taken.
    pub few: Option<(Pipeline, usize)>,
    /// The variant for second results, compiled for the first batch that has one.
    second: OnceLock<Pipeline>,
    pub key_switch: Pipeline,
    pub key_switch_finish: Pipeline,
}

/// Kernels and keys of one shape.
pub(crate) struct Loaded {
    pub gpu: Arc<Gpu>,
    pub plan: WgpuPlan,
    pub constant: Tables,
    pub combine: Pipeline,
    pub kernels: Kernels,
    traced: OnceLock<Kernels>,
    pub key: Vec<Segment>,
    /// The key-switching key, shared with engines loaded beside this one.
    pub table: Arc<Vec<Segment>>,
    pub roots: wgpu::Buffer,
}

/// What each kernel binds, in order: its launch, the jobs, and its own.
fn bindings(kernel: Kernel) -> &'static [Binding] {
    use Binding::{Read, ReadWrite, Uniform};
    match kernel {
        Kernel::Combine => &[Uniform, Read, Read, ReadWrite],
        Kernel::BlindRotate | Kernel::BlindRotateSecond => {
            &[Uniform, Read, Read, Read, Read, Read, ReadWrite, ReadWrite]
        }
        Kernel::KeySwitch => &[Uniform, Read, ReadWrite, Read, ReadWrite, Read],
        Kernel::KeySwitchFinish => &[Uniform, Read, ReadWrite, Read, ReadWrite],
        Kernel::KeySwitchTorus => &[Uniform, Read, Read, ReadWrite, Read],
        Kernel::KeySwitchTorusFinish => &[Uniform, Read, Read, ReadWrite, ReadWrite],
    }
}

impl Loaded {
    /// Compiles the kernels of `plan` and pulls the bootstrapping key, then the key-switching key
    /// by `table`.
    pub fn new(
        gpu: Arc<Gpu>,
        plan: WgpuPlan,
        keys: &dyn KeySource,
        progress: &dyn Progress,
        table: impl FnOnce(&Arc<Gpu>, &WgpuPlan) -> Result<Arc<Vec<Segment>>>,
    ) -> Result<Self> {
        let constant = Tables::new(&plan);
        let kernels = Self::compile(&gpu, &plan, &constant, false)?;
        let combine = Self::pipeline(&gpu, Kernel::Combine, &plan, &constant, false)?;
        gpu.take_notes().iter().for_each(|note| progress.note(note));
        let roots = constant.roots();
        let roots_buffer = gpu.buffer(8 * roots.len() as u64, STORAGE, "twiddles")?;
        gpu.queue.write_buffer(&roots_buffer, 0, bytemuck::cast_slice(&roots));
        let key = upload_bootstrapping_key(&gpu, &plan, &constant, keys, progress)?;
        let table = table(&gpu, &plan)?;
        Ok(Self {
            gpu,
            plan,
            constant,
            combine,
            kernels,
            traced: OnceLock::new(),
            key,
            table,
            roots: roots_buffer,
        })
    }

    pub fn pipeline(
        gpu: &Gpu,
        kernel: Kernel,
        plan: &WgpuPlan,
        tables: &Tables,
        trace: bool,
    ) -> Result<Pipeline> {
        let source = kernel.wgsl(plan, tables, trace).map_err(|why| BackendError::Unsupported {
            device: gpu.name.clone(),
            what: format!("this shape in {}", kernel.name()),
            why,
        })?;
        gpu.pipeline(kernel.name(), &source, bindings(kernel))
    }

    fn compile(gpu: &Gpu, plan: &WgpuPlan, tables: &Tables, trace: bool) -> Result<Kernels> {
        let pipeline = |kernel| Self::pipeline(gpu, kernel, plan, tables, trace);
        Ok(Kernels {
            blind_rotate: pipeline(Kernel::BlindRotate)?,
            few: None,
            second: OnceLock::new(),
            key_switch: pipeline(plan.key_switch_kernel())?,
            key_switch_finish: pipeline(plan.key_switch_finish_kernel())?,
        })
    }

    /// What rotates the ciphertexts of `jobs`.
    pub fn rotation<'a>(
        &'a self,
        kernels: &'a Kernels,
        jobs: &[BootstrapJob],
    ) -> Result<&'a Pipeline> {
        if has_second(jobs) {
            if let Some(second) = kernels.second.get() {
                return Ok(second);
            }
            let kernel = Kernel::BlindRotateSecond;
            let second = Self::pipeline(&self.gpu, kernel, &self.plan, &self.constant, false)?;
            return Ok(kernels.second.get_or_init(|| second));
        }
        Ok(match &kernels.few {
            Some((few, most)) if jobs.len() <= *most => few,
            _ => &kernels.blind_rotate,
        })
    }

    /// The traced kernels, compiled at the first trace: those that a batch of one is run by.
    pub fn traced(&self) -> Result<&Kernels> {
        if let Some(kernels) = self.traced.get() {
            return Ok(kernels);
        }
        let few = self.kernels.few.as_ref().and_then(|_| self.plan.few_plan());
        let kernels =
            Self::compile(&self.gpu, few.as_ref().unwrap_or(&self.plan), &self.constant, true)?;
        Ok(self.traced.get_or_init(|| kernels))
    }

    /// `job` as kernels read it.
    pub fn gpu_job(&self, job: &BootstrapJob) -> GpuJob {
        let offsets = |x| self.constant.accumulator(self.plan.accumulator_words(), x);
        let [second_coefficient, second_output] =
            job.second.map_or([0; 2], |second| [second.coefficient, second.output]);
        GpuJob {
            table: job.table,
            table_stride: job.table_stride,
            offsets: offsets(job.output_offset),
            second_offsets: job.second.map_or([0; 2], |second| offsets(second.output_offset)),
            second_coefficient,
            second_output,
            ..GpuJob::new(&job.input, job.log2_output_modulus, job.output)
        }
    }
}
