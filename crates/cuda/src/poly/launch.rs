//! A launch, ready but for the number of calls: which kernel, what it reads, its arguments.

use crate::poly::tables::TableAddresses;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::LaunchSize;
use crate::runtime::source::Source;
use girih_backend::DeviceLimits;

/// Blocks that a multiprocessor has room for: it has a kilobyte more than a block may take, and
/// each block takes one itself.
pub(crate) fn blocks_of(limits: &DeviceLimits, shared_bytes: usize) -> usize {
    (limits.workgroup_memory_bytes + 1024) / (shared_bytes + 1024)
}

/// One field of a kernel's arguments.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Tables,
    Primes,
    /// The address of data number `_` of the launch.
    Data(usize),
    /// The tables of bases of all calls.
    Bases,
    Word(u32),
    /// So much for each call.
    TimesCalls(u32),
}

/// A launch of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct ReadyLaunch {
    pub source: Source,
    pub threads: usize,
    pub shared_bytes: usize,
    /// What a call has to do, in units of which a block does `teams`.
    pub items: usize,
    pub teams: usize,
    /// What kernels read, in words; 16-byte aligned on the device.
    pub data: Vec<Vec<u32>>,
    pub arguments: Vec<Argument>,
}

/// What precedes the number of blocks that should share a multiprocessor, in a kernel's constants.
const MIN_BLOCKS: &str = "constexpr int MIN_BLOCKS = ";

impl ReadyLaunch {
    /// The same kernel with more registers a thread: half as many blocks share a multiprocessor.
    /// `None` if it has one alone.
    pub fn roomier(&self, source: &Source) -> Option<Source> {
        let (before, rest) = source.constants.split_once(MIN_BLOCKS)?;
        let (number, after) = rest.split_once(';')?;
        let blocks: usize = number.parse().ok().filter(|&n| n > 1)?;
        // Two thirds of four blocks are as much as a thread can address.
        let fewer = if blocks == 4 { 3 } else { blocks / 2 };
        Some(Source { constants: format!("{before}{MIN_BLOCKS}{fewer};{after}"), ..source.clone() })
    }

    /// Its blocks for `calls` calls.
    pub fn blocks(&self, calls: usize) -> usize {
        (self.items * calls).div_ceil(self.teams)
    }

    /// One block of it with so much dynamic shared memory.
    pub fn block(&self, shared_bytes: usize) -> LaunchSize {
        LaunchSize { blocks: 1, threads: self.threads, shared_bytes, cluster: 1 }
    }

    /// The bytes of its arguments for `calls` calls.
    pub fn argument_bytes(
        &self,
        tables: &TableAddresses,
        data: &[u64],
        bases: u64,
        calls: u32,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        for argument in &self.arguments {
            match *argument {
                Argument::Tables => bytes.extend_from_slice(bytes_of(&[*tables])),
                Argument::Primes => bytes.extend_from_slice(bytes_of(&[tables.primes()])),
                Argument::Data(i) => bytes.extend_from_slice(bytes_of(&[data[i]])),
                Argument::Bases => bytes.extend_from_slice(bytes_of(&[bases])),
                Argument::Word(word) => bytes.extend_from_slice(bytes_of(&[word])),
                Argument::TimesCalls(word) => bytes.extend_from_slice(bytes_of(&[word * calls])),
            }
        }
        bytes
    }
}
