//! Dispatches of one submission as data: which kernel, which buffers, which part of the work.

use crate::runtime::gpu::{Gpu, Pipeline, STORAGE};
use bytemuck::Pod;
use girih_backend::Result;

/// Distance between launches in their buffer: WebGPU's alignment of dynamic uniform offsets, and
/// the most that a launch may take.
const LAUNCH_STRIDE: usize = 256;

/// One dispatch; a launch `L` is the uniform that its kernel binds first.
pub(crate) struct Dispatch<'a, L> {
    pub kernel: &'a Pipeline,
    /// What the kernel binds after its launch and the jobs.
    pub buffers: Vec<&'a wgpu::Buffer>,
    pub launch: L,
    pub groups: [usize; 3],
}

/// Jobs, and dispatches that run them in order. Kernels bind the jobs behind their launch, except
/// where a job `J` has no size.
pub(crate) struct Script<'a, J, L> {
    pub jobs: Vec<J>,
    pub dispatches: Vec<Dispatch<'a, L>>,
    /// A buffer to fill with zeros before anything runs.
    pub clear: Option<&'a wgpu::Buffer>,
}

impl<J, L> Default for Script<'_, J, L> {
    fn default() -> Self {
        Self { jobs: Vec::new(), dispatches: Vec::new(), clear: None }
    }
}

/// The buffers through which scripts reach the device, kept between them.
#[derive(Default)]
pub(crate) struct ScriptBuffers {
    jobs: Option<wgpu::Buffer>,
    launches: Option<wgpu::Buffer>,
}

impl<J: Pod, L: Pod> Script<'_, J, L> {
    const LAUNCH_BYTES: usize = {
        assert!(size_of::<L>() <= LAUNCH_STRIDE, "launches lie this far apart");
        size_of::<L>()
    };

    /// Uploads jobs and launches and submits everything; returns before it has run.
    pub fn submit(&self, gpu: &Gpu, buffers: &mut ScriptBuffers, running: &str) -> Result<()> {
        let mut launches = vec![0u8; self.dispatches.len() * LAUNCH_STRIDE];
        for (slot, dispatch) in launches.chunks_exact_mut(LAUNCH_STRIDE).zip(&self.dispatches) {
            slot[..Self::LAUNCH_BYTES].copy_from_slice(bytemuck::bytes_of(&dispatch.launch));
        }
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let launch_buffer =
            filled(gpu, &mut buffers.launches, &launches, uniform, "launch parameters")?;
        let job_buffer = match size_of::<J>() {
            0 => None,
            _ => Some(filled(
                gpu,
                &mut buffers.jobs,
                bytemuck::cast_slice(&self.jobs),
                STORAGE,
                "jobs",
            )?),
        };
        let mut encoder =
            gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        if let Some(buffer) = self.clear {
            encoder.clear_buffer(buffer, 0, None);
        }
        let encode = |pass: &mut wgpu::ComputePass<'_>, at: usize, dispatch: &Dispatch<'_, L>| {
            let bound: Vec<&wgpu::Buffer> = [launch_buffer]
                .into_iter()
                .chain(job_buffer)
                .chain(dispatch.buffers.iter().copied())
                .collect();
            let [x, y, z] = dispatch.groups.map(|g| g as u32);
            pass.set_pipeline(&dispatch.kernel.pipeline);
            pass.set_bind_group(
                0,
                &gpu.bind(dispatch.kernel, Self::LAUNCH_BYTES as u64, &bound),
                &[(at * LAUNCH_STRIDE) as u32],
            );
            pass.dispatch_workgroups(x, y, z);
        };
        let mut recorder = gpu.recorder(self.dispatches.len());
        let dispatches = self.dispatches.iter().enumerate();
        match &mut recorder {
            None => {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                dispatches.for_each(|(at, dispatch)| encode(&mut pass, at, dispatch));
            }
            Some(recorder) => {
                for (at, dispatch) in dispatches {
                    let mut pass = recorder.pass(&mut encoder, &dispatch.kernel.name);
                    encode(&mut pass, at, dispatch);
                }
            }
        }
        gpu.submit(encoder, recorder)?;
        gpu.check(running)
    }
}

/// The buffer in `slot`, grown where it is too small, with `bytes` on their way to it.
fn filled<'b>(
    gpu: &Gpu,
    slot: &'b mut Option<wgpu::Buffer>,
    bytes: &[u8],
    usage: wgpu::BufferUsages,
    what: &str,
) -> Result<&'b wgpu::Buffer> {
    let buffer = gpu.at_least(slot, bytes.len() as u64, usage, what)?;
    gpu.queue.write_buffer(buffer, 0, bytes);
    Ok(buffer)
}
