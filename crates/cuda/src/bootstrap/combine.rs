//! Launches `cuda/bootstrap/combine.cu`.

use crate::bootstrap::arguments::CombineArguments;
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::source::{kernel_file, source};
use crate::bootstrap::upload::kernels;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{Kernel, LaunchSize, Machine, Queue};
use crate::runtime::source::KernelFile;
use girih_backend::{BootstrapShape, Result};

/// `cuda/bootstrap/combine.cu`.
pub const COMBINE: KernelFile =
    kernel_file("combine", girih_kernels::bootstrap::COMBINE, &["combine", "combine_scatter"]);

/// Threads of a block.
const THREADS: usize = 256;

/// The kernels: combinations into scratch, and from there to their places.
pub(crate) struct Combine {
    combine: Kernel,
    scatter: Kernel,
}

impl Combine {
    pub fn load(machine: &dyn Machine, shape: &BootstrapShape, plan: &CudaPlan) -> Result<Self> {
        let [combine, scatter] = kernels(machine, &source(COMBINE, shape, plan, false))?;
        Ok(Self { combine, scatter })
    }

    /// `words` words of results, of all jobs together; `scatter` copies them to the store.
    pub fn launch(
        &self,
        machine: &dyn Machine,
        queue: Queue,
        arguments: CombineArguments,
        words: usize,
        scatter: bool,
    ) -> Result<()> {
        let size = LaunchSize {
            blocks: words.div_ceil(THREADS),
            threads: THREADS,
            shared_bytes: 0,
            cluster: 1,
        };
        let arguments = [arguments];
        machine.launch(queue, self.combine, size, bytes_of(&arguments))?;
        if scatter {
            machine.launch(queue, self.scatter, size, bytes_of(&arguments))?;
        }
        Ok(())
    }
}
