//! Keys on their way to the device, and kernels on theirs.

use crate::runtime::machine::{Buffer, Kernel, Machine, Queue};
use crate::runtime::source::Source;
use girih_backend::{BackendError, KeySource, Preparation, Progress, Result, preparing};
use rayon::prelude::*;
use std::sync::Arc;

/// Host memory that one chunk of transformed keys may take while it is uploaded.
const CHUNK_BYTES: usize = 256 << 20;
/// Zeros behind each key: kernels ask for entries ahead of use,
/// and a digit of 0 reads a row of zeros.
const SLACK_BYTES: usize = 72 << 10;

/// The kernels of a file, which has exactly as many as the caller names.
pub(crate) fn kernels<const COUNT: usize>(
    machine: &dyn Machine,
    source: &Source,
) -> Result<[Kernel; COUNT]> {
    let found = machine.load(source)?;
    found.try_into().map_err(|found: Vec<Kernel>| BackendError::DeviceFailed {
        device: machine.id().into(),
        what: format!("{}.cu has {} kernels, {COUNT} were expected", source.file.name, found.len()),
    })
}

/// Keys on their way to a machine.
#[derive(Clone, Copy)]
pub(crate) struct Loading<'a> {
    pub machine: &'a Arc<dyn Machine>,
    pub keys: &'a dyn KeySource,
    pub progress: &'a dyn Progress,
}

impl Loading<'_> {
    /// Fills one device buffer with `count` blocks of `block_bytes`,
    /// made on all host threads chunk by chunk.
    pub fn upload_blocks(
        &self,
        what: &str,
        count: usize,
        block_bytes: usize,
        make: impl Fn(usize) -> Vec<u8> + Sync,
    ) -> Result<Buffer> {
        let Self { machine, progress, .. } = *self;
        let buffer = Buffer::new(machine, count * block_bytes + SLACK_BYTES, what)?;
        machine.zero(
            Queue::UPLOADS,
            buffer.address() + (count * block_bytes) as u64,
            SLACK_BYTES,
        )?;
        let per_chunk = (CHUNK_BYTES / block_bytes.max(1)).clamp(1, count.max(1));
        for first in (0..count).step_by(per_chunk) {
            let last = (first + per_chunk).min(count);
            let expanding = preparing(Preparation::Expansion);
            let blocks: Vec<Vec<u8>> = (first..last).into_par_iter().map(&make).collect();
            drop(expanding);
            let _uploading = preparing(Preparation::Upload);
            for (i, block) in blocks.iter().enumerate() {
                machine.upload(buffer.address() + ((first + i) * block_bytes) as u64, block)?;
            }
            progress.report(what, last, count);
        }
        Ok(buffer)
    }
}
