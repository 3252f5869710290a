//! The key switch of the native torus, which stands before the rotation.

use crate::arguments::{TorusKeySwitchArguments, bytes_of};
use crate::engine::{kernels, upload_blocks};
use crate::keys;
use crate::machine::{Buffer, Kernel, LaunchSize, Machine, Queue};
use crate::plan::CudaPlan;
use crate::source::{KEY_SWITCH_TORUS, Source, ks_row};
use girih_backend::{BackendError, BootstrapShape, KeySource, Progress};
use std::sync::{Arc, Mutex, PoisonError};

/// `CIPHERTEXTS` and `COLUMNS_A_THREAD` of cuda/key_switch_torus.cu.
const CIPHERTEXTS: usize = 8;
const COLUMNS_A_THREAD: usize = 4;
/// Blocks that a multiprocessor is given before a launch stops splitting the index range.
const BLOCKS_PER_MULTIPROCESSOR: usize = 4;
/// A part of the index range is not worth a block below this many indices.
const LEAST_INDICES: usize = 32;

/// Kernels and key of the switch.
pub(crate) struct SwitchFirst {
    kernels: [Kernel; 2],
    key: Buffer,
    row: usize,
    indices: usize,
    threads: usize,
    multiprocessors: usize,
}

impl SwitchFirst {
    /// Pulls the key and puts the sum of all rows behind it.
    pub fn load(
        machine: &Arc<dyn Machine>,
        keys: &dyn KeySource,
        plan: &CudaPlan,
        multiprocessors: usize,
        progress: &dyn Progress,
    ) -> Result<Self, BackendError> {
        let shape = keys.shape();
        let kernels = kernels(machine.as_ref(), &Source::new(KEY_SWITCH_TORUS, shape, plan, false))?;
        let (row, block_bytes) = (ks_row(shape), keys::key_switching_bytes(shape));
        let sums = Mutex::new(vec![0u64; row]);
        let key = upload_blocks(machine, "key-switching key", shape.ks_indices(), block_bytes, progress, |index| {
            let words = keys::torus_rows(shape, keys, index);
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            for words in words.chunks_exact(row) {
                sums.iter_mut().zip(words).for_each(|(sum, &word)| *sum = sum.wrapping_add(word));
            }
            bytes_of(&words).to_vec()
        })?;
        let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        machine.upload(key.address() + (shape.ks_indices() * block_bytes) as u64, bytes_of(&sums))?;
        Ok(Self { kernels, key, row, indices: shape.ks_indices(), threads: plan.key_switch_threads, multiprocessors })
    }

    pub fn key_bytes(&self) -> usize {
        self.key.bytes()
    }

    /// Bytes of the sums of `jobs` ciphertexts.
    pub fn sums_bytes(&self, jobs: usize) -> usize {
        jobs * self.row * 8
    }

    /// Bytes of the exponents of `jobs` ciphertexts.
    pub fn exponents_bytes(shape: &BootstrapShape, jobs: usize) -> usize {
        jobs * shape.switched_len() * 2
    }

    /// Switches the staged jobs and rounds to exponents; `arguments` lacks key and splits.
    pub fn launch(&self, machine: &dyn Machine, queue: Queue, arguments: TorusKeySwitchArguments) -> Result<(), BackendError> {
        let jobs = arguments.job_count as usize;
        let blocks = jobs.div_ceil(CIPHERTEXTS) * self.row.div_ceil(self.threads * COLUMNS_A_THREAD);
        let wanted = (BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors).div_ceil(blocks);
        let splits = wanted.clamp(1, (self.indices / LEAST_INDICES).max(1));
        let arguments = TorusKeySwitchArguments { key: self.key.address(), splits: splits as u32, ..arguments };
        if splits > 1 {
            machine.zero(queue, arguments.sums, self.sums_bytes(jobs))?;
        }
        let size = |blocks| LaunchSize { blocks, threads: self.threads, shared_bytes: 0, cluster: 1 };
        machine.launch(queue, self.kernels[0], size(blocks * splits), bytes_of(&[arguments]))?;
        machine.launch(queue, self.kernels[1], size(jobs), bytes_of(&[arguments]))
    }
}
