//! The seam between the engine and the two orders of a bootstrapping.

use crate::bootstrap::key_switch::KeySwitcher;
use girih_backend::{
    BootstrapJob, BootstrapShape, LinearJob, PlanReport, Result, Stage, StageOutput,
};
use std::sync::Arc;

/// Ciphertexts that share one pass over the key-switching key: enough to reuse a block of it while
/// it is in cache, few enough that their sums stay there too.
pub(crate) const MAX_JOBS_PER_TASK: usize = 32;

/// What an engine holds besides keys.
#[derive(Default)]
pub(crate) struct Memory {
    /// `[ciphertext][ciphertext_len]`.
    pub store: Vec<u32>,
    /// `[table][N]`.
    pub tables: Vec<u64>,
}

impl Memory {
    /// The test polynomial of each slot.
    pub fn tables_of(&self, shape: &BootstrapShape, job: &BootstrapJob) -> Vec<&[u64]> {
        let size = shape.polynomial_size;
        (0..shape.packing)
            .map(|j| {
                &self.tables[(job.table as usize + j * job.table_stride as usize) * size..][..size]
            })
            .collect()
    }
}

/// Steps of a whole bootstrapping over checked jobs.
pub(crate) trait Pipeline: Send + Sync {
    /// Ciphertexts that one call serves best.
    fn group(&self) -> usize;

    /// Whole bootstrappings of a few jobs: the ciphertexts of one job after those of another.
    fn bootstrap(&self, memory: &Memory, jobs: &[BootstrapJob]) -> Vec<u32>;

    /// One linear job: its result, `ciphertext_len` words.
    fn combine(&self, memory: &Memory, job: &LinearJob, out: &mut [u32]);

    /// What one job holds at each of `stages`.
    fn trace(
        &self,
        memory: &Memory,
        job: &BootstrapJob,
        stages: &[Stage],
    ) -> Result<Vec<StageOutput>>;

    /// The key switch after the rotation, for pipelines that share it; none where it comes first.
    fn switcher(&self) -> Option<Arc<KeySwitcher>> {
        None
    }

    /// What to tell about this pipeline in a plan.
    fn describe(&self) -> PlanReport;
}
