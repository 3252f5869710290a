//! When the device did what, for [`girih_backend::timeline`]: two timestamps a dispatch, where the
//! device has them.

use crate::runtime::gpu::Gpu;
use crate::runtime::signal::Signal;
use girih_backend::{Instant, Result, timeline};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Dispatches whose timestamps one query set holds.
const SET_DISPATCHES: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;
/// Bytes of a timestamp.
const TICK_BYTES: u64 = wgpu::QUERY_SIZE as u64;

/// Submitted work whose timestamps nobody has read yet.
#[derive(Default)]
pub(crate) struct Spans(Mutex<Vec<Pending>>);

impl Spans {
    // A list of buffers holds no invariant that a panic elsewhere could break.
    fn pending(&self) -> MutexGuard<'_, Vec<Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Pending {
    kernels: Vec<String>,
    /// Begin and end of each dispatch, in ticks of the device.
    staging: wgpu::Buffer,
}

/// The dispatches of one submission, each in a pass of its own between two timestamps.
pub(crate) struct Recorder {
    sets: Vec<wgpu::QuerySet>,
    kernels: Vec<String>,
}

impl Recorder {
    /// Begins the pass of one dispatch of `kernel`.
    pub fn pass<'e>(
        &mut self,
        encoder: &'e mut wgpu::CommandEncoder,
        kernel: &str,
    ) -> wgpu::ComputePass<'e> {
        let number = self.kernels.len();
        self.kernels.push(kernel.to_owned());
        let first = 2 * (number % SET_DISPATCHES) as u32;
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(kernel),
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: &self.sets[number / SET_DISPATCHES],
                beginning_of_pass_write_index: Some(first),
                end_of_pass_write_index: Some(first + 1),
            }),
        })
    }
}

impl Gpu {
    /// Whether the device has timestamps.
    pub fn has_timestamps(&self) -> bool {
        self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// What records a submission of `dispatches`, while a timeline is on.
    pub fn recorder(&self, dispatches: usize) -> Option<Recorder> {
        let wanted = timeline::is_on() && self.has_timestamps() && dispatches > 0;
        wanted.then(|| {
            let set = || {
                self.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("timeline"),
                    ty: wgpu::QueryType::Timestamp,
                    count: wgpu::QUERY_SET_MAX_QUERIES,
                })
            };
            let sets = (0..dispatches.div_ceil(SET_DISPATCHES)).map(|_| set()).collect();
            Recorder { sets, kernels: Vec::new() }
        })
    }

    /// Submits what was encoded, with the timestamps of what was recorded.
    pub fn submit(
        &self,
        mut encoder: wgpu::CommandEncoder,
        recorder: Option<Recorder>,
    ) -> Result<()> {
        if let Some(Recorder { sets, kernels }) = recorder {
            let ticks = 2 * kernels.len();
            let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
            let bytes = ticks as u64 * TICK_BYTES;
            let resolved = self.buffer(bytes, usage, "timestamps")?;
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            let staging = self.buffer(bytes, usage, "timestamps on their way")?;
            for (number, set) in sets.iter().enumerate() {
                // A whole set is a multiple of the alignment that resolving asks for.
                let first = number * 2 * SET_DISPATCHES;
                let count = (ticks - first).min(2 * SET_DISPATCHES) as u32;
                encoder.resolve_query_set(set, 0..count, &resolved, first as u64 * TICK_BYTES);
            }
            encoder.copy_buffer_to_buffer(&resolved, 0, &staging, 0, bytes);
            self.spans.pending().push(Pending { kernels, staging });
        }
        self.queue.submit([encoder.finish()]);
        Ok(())
    }

    /// Hands all timestamps to the timeline. The device has just become idle, at `idle`: there its
    /// last dispatch is taken to have ended, since the clocks of host and device have nothing else
    /// in common.
    pub async fn hand_over_spans(&self, idle: Instant) -> Result<()> {
        let pending = std::mem::take(&mut *self.spans.pending());
        let mut all = Vec::new();
        for Pending { kernels, staging } in pending {
            let bytes = 2 * kernels.len() as u64 * TICK_BYTES;
            let signal = Signal::default();
            staging.map_async(wgpu::MapMode::Read, 0..bytes, signal.sender());
            let failed = |e: String| self.failed(format!("mapping timestamps: {e}"));
            let mapped: Result<(), wgpu::BufferAsyncError> =
                signal.driven(self, "reading timestamps").await?;
            mapped.map_err(|e| failed(e.to_string()))?;
            let ticks = staging.get_mapped_range(0..bytes).map_err(|e| failed(e.to_string()))?;
            let ticks: Vec<[u64; 2]> = bytemuck::pod_collect_to_vec(&ticks);
            all.extend(kernels.into_iter().zip(ticks));
        }
        let Some(last) = all.iter().map(|(_, [_, end])| *end).max() else { return Ok(()) };
        let seconds = 1e-9 * f64::from(self.queue.get_timestamp_period());
        for (kernel, span) in all {
            let [start, end] = span.map(|tick| -seconds * last.saturating_sub(tick) as f64);
            timeline::add("device", &kernel, idle, start, end);
        }
        Ok(())
    }
}
