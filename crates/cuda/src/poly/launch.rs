//! A launch, ready but for the number of calls: which kernel, what it reads, its arguments.

use crate::poly::arguments::{ColumnsArguments, PointwiseArguments, RowsArguments};
use crate::poly::source::KernelText;
use crate::poly::tables::TableAddresses;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::LaunchSize;
use girih_backend::DeviceLimits;

/// Blocks that a multiprocessor has room for: it has a kilobyte more than a block may take, and
/// each block takes one itself.
pub(crate) fn blocks_of(limits: &DeviceLimits, shared_bytes: usize) -> usize {
    (limits.workgroup_memory_bytes + 1024) / (shared_bytes + 1024)
}

/// The arguments of a kernel, without addresses and what depends on the number of calls.
#[derive(Clone, Debug)]
pub(crate) enum Arguments {
    Rows(Box<RowsArguments>),
    Pointwise(PointwiseArguments),
    Columns(ColumnsArguments),
}

/// What arguments lack, once a run is known.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub tables: TableAddresses,
    /// Where the launch's data lie, one piece after the other.
    pub data: &'a [u64],
    /// The tables of bases of all calls.
    pub bases: u64,
    pub calls: u32,
}

impl Arguments {
    /// Their bytes for one run.
    pub fn bytes(&self, run: Bound<'_>) -> Vec<u8> {
        let Bound { tables, data, bases, calls } = run;
        match self {
            Self::Rows(own) => {
                let total = own.items * calls;
                let all = RowsArguments { records: data[0], bases, total, tables, ..**own };
                bytes_of(&[all]).to_vec()
            }
            Self::Pointwise(own) => {
                let primes = tables.primes();
                bytes_of(&[PointwiseArguments { primes, records: data[0], bases, ..*own }]).to_vec()
            }
            Self::Columns(own) => {
                let [tiles, outputs] = [data[0], data[1]];
                bytes_of(&[ColumnsArguments { tiles, outputs, bases, tables, ..*own }]).to_vec()
            }
        }
    }
}

/// A launch of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct ReadyLaunch {
    pub text: KernelText,
    pub threads: usize,
    pub shared_bytes: usize,
    /// What a call has to do, in units of which a block does `teams`.
    pub items: usize,
    pub teams: usize,
    /// What kernels read, in words; 16-byte aligned on the device.
    pub data: Vec<Vec<u32>>,
    /// What a call takes, roughly: to compile first what saves most.
    pub work: usize,
    pub arguments: Arguments,
}

impl ReadyLaunch {
    /// Its blocks for `calls` calls.
    pub fn blocks(&self, calls: usize) -> usize {
        (self.items * calls).div_ceil(self.teams)
    }

    /// One block of it with so much dynamic shared memory.
    pub fn block(&self, shared_bytes: usize) -> LaunchSize {
        LaunchSize { blocks: 1, threads: self.threads, shared_bytes, cluster: 1 }
    }
}
