//! Waiting for the device: what it was asked for, read back, with the timestamps of when.

use crate::runtime::gpu::Gpu;
use crate::runtime::signal::Signal;
use crate::runtime::spans::{Pending, Recorder, SET_DISPATCHES, TICK_BYTES};
use girih_backend::{Instant, Result, block_on, timeline};
use wgpu::{Buffer, BufferUsages};

/// Words copied out at a time, so that reading a large store needs little memory.
pub(crate) const PIECE: usize = 16 << 20;

/// Words on their way to the host.
pub(crate) struct Download {
    staging: Buffer,
    signal: Signal<Result<(), wgpu::BufferAsyncError>>,
    bytes: u64,
}

impl Gpu {
    /// What a callback says, and failures of the device meanwhile.
    async fn answer<T: Send + 'static>(&self, signal: Signal<T>, running: &str) -> Result<T> {
        let answer = signal.driven(&self.device).await;
        self.check(running)?;
        answer.map_err(|why| self.failed(format!("{running}: {why}")))
    }

    /// Waits for everything submitted.
    pub fn wait(&self, running: &str) -> Result<()> {
        // A browser says on its own when it is done: polling it waits for nothing.
        if cfg!(target_arch = "wasm32") {
            return block_on(self.idle(running));
        }
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check(running)?;
        polled.map(|_| ()).map_err(|e| self.failed(format!("{running}: {e}")))
    }

    /// Begins to copy words out of `buffer` from word `first` on, behind all work before; at most
    /// [`PIECE`] of them. `staging` may hold a buffer from last time.
    pub fn begin_read(
        &self,
        buffer: &Buffer,
        first: u64,
        words: usize,
        staging: &mut Option<Buffer>,
    ) -> Result<Download> {
        let bytes = 4 * words as u64;
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let staging = match staging.take().filter(|s| s.size() >= bytes) {
            Some(s) => s,
            None => self.buffer(bytes.next_power_of_two(), usage, "reading results back")?,
        };
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 4 * first, &staging, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let signal = Signal::default();
        staging.map_async(wgpu::MapMode::Read, 0..bytes, signal.sender());
        Ok(Download { staging, signal, bytes })
    }

    /// Ends what `begin_read` began, into as many words; returns the staging buffer for next time.
    pub async fn finish_read(&self, download: Download, words: &mut [u32]) -> Result<Buffer> {
        let Download { staging, signal, bytes } = download;
        let mapped = self.answer(signal, "reading results back").await?;
        mapped.map_err(|e| self.failed(format!("mapping results: {e}")))?;
        {
            let mapped = staging
                .get_mapped_range(0..bytes)
                .map_err(|e| self.failed(format!("mapping results: {e}")))?;
            bytemuck::cast_slice_mut::<u32, u8>(words).copy_from_slice(&mapped);
        }
        staging.unmap();
        Ok(staging)
    }

    /// Copies words out of `buffer` from word `first` on, waiting for all work before. `staging` is
    /// kept for next time.
    pub fn read(
        &self,
        buffer: &Buffer,
        first: u64,
        words: &mut [u32],
        staging: &mut Option<Buffer>,
    ) -> Result<()> {
        for (piece, words) in words.chunks_mut(PIECE).enumerate() {
            let download =
                self.begin_read(buffer, first + (piece * PIECE) as u64, words.len(), staging)?;
            *staging = Some(block_on(self.finish_read(download, words))?);
        }
        Ok(())
    }

    async fn idle(&self, running: &str) -> Result<()> {
        let signal = Signal::default();
        self.queue.on_submitted_work_done({
            let done = signal.sender();
            move || done(())
        });
        self.answer(signal, running).await
    }

    /// Waits for everything submitted, then tells a timeline when it ran.
    pub async fn finished(&self, running: &str) -> Result<()> {
        self.idle(running).await?;
        self.hand_over_spans(Instant::now()).await
    }

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
                self.answer(signal, "reading timestamps").await?;
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
