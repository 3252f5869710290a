//! When the device did what, for [`girih_backend::timeline`]: two timestamps a dispatch, where the
//! device has them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Dispatches whose timestamps one query set holds.
pub(crate) const SET_DISPATCHES: usize = wgpu::QUERY_SET_MAX_QUERIES as usize / 2;
/// Bytes of a timestamp.
pub(crate) const TICK_BYTES: u64 = wgpu::QUERY_SIZE as u64;

/// Submitted work whose timestamps nobody has read yet.
#[derive(Default)]
pub(crate) struct Spans(Mutex<Vec<Pending>>);

impl Spans {
    // A list of buffers holds no invariant that a panic elsewhere could break.
    pub fn pending(&self) -> MutexGuard<'_, Vec<Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Pending {
    pub kernels: Vec<String>,
    /// Begin and end of each dispatch, in ticks of the device.
    pub staging: wgpu::Buffer,
}

/// The dispatches of one submission, each in a pass of its own between two timestamps.
pub(crate) struct Recorder {
    pub sets: Vec<wgpu::QuerySet>,
    pub kernels: Vec<String>,
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
