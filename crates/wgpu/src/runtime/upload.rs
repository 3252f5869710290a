//! Uploads through buffers that stay mapped between calls: a fresh staging buffer for each would
//! cost its pages anew.

use crate::runtime::gpu::Gpu;
use girih_backend::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Below this, `Queue::write_buffer` is cheaper than a submission of its own.
const LEAST_BYTES: u64 = 64 << 10;
/// Above this a copy is cut, so that the buffers kept are bounded: four of them.
const MOST_BYTES: u64 = 32 << 20;
const MOST_BUFFERS: usize = 4;

/// A buffer that the host writes and the device copies from.
struct Staging {
    buffer: wgpu::Buffer,
    /// Mapped again, which the driver says once the copy from it is done.
    ready: Arc<AtomicBool>,
}

/// The buffers of one engine.
#[derive(Default)]
pub(crate) struct Uploads(Vec<Staging>);

impl Uploads {
    /// Copies `words` to byte `offset` of `target`, in the order of submissions; returns before the
    /// copy is done.
    pub fn write(
        &mut self,
        gpu: &Gpu,
        target: &wgpu::Buffer,
        offset: u64,
        words: &[u32],
    ) -> Result<()> {
        let mut offset = offset;
        for piece in words.chunks(MOST_BYTES as usize / 4) {
            let bytes = 4 * piece.len() as u64;
            match self.free(gpu, bytes)? {
                Some(staging) => staging.copy(gpu, target, offset, piece)?,
                None => gpu.queue.write_buffer(target, offset, bytemuck::cast_slice(piece)),
            }
            offset += bytes;
        }
        Ok(())
    }

    /// A mapped buffer of at least `bytes`, if one is free or may still be made.
    fn free(&mut self, gpu: &Gpu, bytes: u64) -> Result<Option<&Staging>> {
        if bytes < LEAST_BYTES {
            return Ok(None);
        }
        let fits = |s: &Staging| s.buffer.size() >= bytes && s.ready.load(Ordering::Acquire);
        if let Some(at) = self.0.iter().position(fits) {
            return Ok(Some(&self.0[at]));
        }
        // One that has become too small makes room for a larger one.
        if self.0.len() == MOST_BUFFERS {
            let Some(small) = self.0.iter().position(|s| s.buffer.size() < bytes) else {
                return Ok(None);
            };
            self.0.remove(small);
        }
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        let buffer = gpu.mapped_buffer(bytes.next_power_of_two(), usage, "uploads")?;
        self.0.push(Staging { buffer, ready: Arc::new(AtomicBool::new(true)) });
        Ok(self.0.last())
    }
}

impl Staging {
    fn copy(&self, gpu: &Gpu, target: &wgpu::Buffer, offset: u64, words: &[u32]) -> Result<()> {
        let bytes = 4 * words.len() as u64;
        self.buffer
            .get_mapped_range_mut(0..bytes)
            .map_err(|e| gpu.failed(format!("mapping uploads: {e}")))?
            .copy_from_slice(bytemuck::cast_slice(words));
        self.buffer.unmap();
        self.ready.store(false, Ordering::Release);
        let mut encoder =
            gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&self.buffer, 0, target, offset, bytes);
        gpu.queue.submit([encoder.finish()]);
        let ready = Arc::clone(&self.ready);
        // A buffer that fails to map is never ready again: it is only not used any more.
        self.buffer.map_async(wgpu::MapMode::Write, .., move |mapped| {
            ready.store(mapped.is_ok(), Ordering::Release)
        });
        Ok(())
    }
}
