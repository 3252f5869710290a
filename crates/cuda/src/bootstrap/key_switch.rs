//! Launches `cuda/bootstrap/key_switch.cu`, which stands behind the rotation.

use crate::bootstrap::arguments::KeySwitchArguments;
use crate::bootstrap::keys::key_switching_rows;
use crate::bootstrap::layout::key_switching_bytes;
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::plan::key_switch::{KeySwitchLaunch, KeySwitchPlan};
use crate::bootstrap::source::{kernel_file, source};
use crate::bootstrap::upload::{Loading, kernels};
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{Buffer, Kernel, LaunchSize, Machine, Queue};
use crate::runtime::source::KernelFile;
use girih_backend::{BootstrapShape, Result};

/// `cuda/bootstrap/key_switch.cu`.
pub const KEY_SWITCH: KernelFile = kernel_file(
    "key_switch",
    girih_kernels::bootstrap::KEY_SWITCH,
    &["key_switch", "key_switch_finish", "key_switch_tiled"],
);

/// Threads of a block of `key_switch_finish`.
const FINISH_THREADS: usize = 256;

/// Kernels and key of the switch.
pub(crate) struct KeySwitch {
    gather: Kernel,
    finish: Kernel,
    tiled: Kernel,
    key: Buffer,
    shape: BootstrapShape,
    plan: KeySwitchPlan,
    multiprocessors: usize,
}

impl KeySwitch {
    /// Compiles the kernels and pulls the key.
    pub fn load(loading: &Loading<'_>, plan: &CudaPlan) -> Result<Self> {
        let Loading { machine, keys, .. } = *loading;
        let shape = keys.shape();
        let [gather, finish, tiled] =
            kernels(machine.as_ref(), &source(KEY_SWITCH, shape, plan, false))?;
        let largest =
            KeySwitchLaunch::new(shape, &plan.key_switch, plan.multiprocessors, usize::MAX >> 32);
        if largest.tiled {
            machine.prepare(tiled, LaunchSize { blocks: 1, ..size(&largest) })?;
        }
        let rows = |index| key_switching_rows(shape, keys, index);
        let key = loading.upload_blocks(
            "key-switching key",
            shape.ks_indices(),
            key_switching_bytes(shape),
            rows,
        )?;
        Ok(Self {
            gather,
            finish,
            tiled,
            key,
            shape: shape.clone(),
            plan: plan.key_switch,
            multiprocessors: plan.multiprocessors,
        })
    }

    pub fn key_bytes(&self) -> usize {
        self.key.bytes()
    }

    fn plan(&self, jobs: usize) -> KeySwitchLaunch {
        KeySwitchLaunch::new(&self.shape, &self.plan, self.multiprocessors, jobs)
    }

    /// Bytes of the sums that blocks add up in memory for `jobs` ciphertexts.
    pub fn partial_bytes(&self, jobs: usize) -> usize {
        self.plan(jobs).sums_bytes
    }

    /// Switches rotated ciphertexts; `arguments` lacks key and parts.
    pub fn launch(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        arguments: KeySwitchArguments,
    ) -> Result<()> {
        let jobs = arguments.job_count as usize;
        let launch = self.plan(jobs);
        let kernel = if launch.tiled { self.tiled } else { self.gather };
        let arguments = [KeySwitchArguments {
            key: self.key.address(),
            parts: launch.parts as u32,
            ..arguments
        }];
        machine.launch(queue, kernel, size(&launch), bytes_of(&arguments))?;
        if launch.sums_bytes > 0 {
            let words = jobs * self.shape.ciphertext_len();
            let size = LaunchSize {
                blocks: words.div_ceil(FINISH_THREADS),
                threads: FINISH_THREADS,
                shared_bytes: 0,
                cluster: 1,
            };
            machine.launch(queue, self.finish, size, bytes_of(&arguments))?;
        }
        Ok(())
    }
}

fn size(launch: &KeySwitchLaunch) -> LaunchSize {
    LaunchSize {
        blocks: launch.blocks,
        threads: launch.threads,
        shared_bytes: launch.shared_bytes,
        cluster: 1,
    }
}
