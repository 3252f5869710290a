//! Launches `key_switch_torus` and `key_switch_torus_finish`: the key switch before the rotation,
//! on the native torus.

use crate::bootstrap::job::{GpuLaunch, Script};
use crate::bootstrap::loaded::Loaded;
use crate::bootstrap::pass::{Pass, key_switch_launch};
use crate::runtime::script::Dispatch;

impl Loaded {
    /// Adds the dispatches that switch the combined ciphertexts of a chunk and round them to
    /// exponents: one a segment of the key, and one that finishes the sums.
    pub(crate) fn push_key_switch_torus<'a>(
        &'a self,
        script: &mut Script<'a>,
        pass: &Pass<'a>,
        base: GpuLaunch,
    ) {
        let (work, jobs, shape) = (pass.work, pass.jobs.len(), &self.plan.shape);
        let tile = self.plan.torus_tile();
        let parts = self.key_switch_parts(jobs).max(1);
        for (at, segment) in self.table.iter().enumerate() {
            script.dispatches.push(Dispatch {
                kernel: &pass.kernels.key_switch,
                buffers: vec![&work.gathered, &work.partial, &segment.buffer],
                launch: key_switch_launch(base, segment, at, parts),
                groups: [jobs.div_ceil(tile.ciphertexts), tile.column_groups(shape), parts],
            });
        }
        script.dispatches.push(Dispatch {
            kernel: &pass.kernels.key_switch_finish,
            buffers: vec![&work.gathered, &work.partial, &work.switched],
            launch: GpuLaunch { parts: parts as u32, ..base },
            groups: [jobs, 1, 1],
        });
    }
}
