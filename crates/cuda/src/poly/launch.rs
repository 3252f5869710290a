//! Launches of a schedule, ready but for the number of calls: which kernel, what it reads, its arguments.

use crate::poly::limbs::{Places, ResidentPlace};
use crate::poly::tables::TableAddresses;
use crate::poly::{column_records, pointwise, rows};
use crate::runtime::bytes::bytes_of;
use crate::runtime::source::Source;
use girih_backend::poly::schedule::{Launch, Schedule};
use girih_backend::poly::{ResidentShape, RingShape};
use girih_backend::{BackendError, DeviceLimits};
use std::collections::BTreeSet;

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

/// How many blocks a launch has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blocks {
    /// So many for each call.
    PerCall(usize),
    /// Blocks of so many teams that take items in turns, of which a call has so many: no more than run at once.
    Resident { teams: usize, items: usize },
}

/// A launch of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct ReadyLaunch {
    pub source: Source,
    pub threads: usize,
    pub shared_bytes: usize,
    pub blocks: Blocks,
    /// What kernels read, in words; 16-byte aligned on the device.
    pub data: Vec<Vec<u32>>,
    pub arguments: Vec<Argument>,
    /// It does not read what the launch before it writes.
    pub beside: bool,
}

impl ReadyLaunch {
    /// The bytes of its arguments for `calls` calls.
    pub fn argument_bytes(&self, tables: &TableAddresses, data: &[u64], bases: u64, calls: u32) -> Vec<u8> {
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

/// The kernel launches of a schedule, in order.
///
/// # Errors
/// For schedules that break the contract, and tiles that do not fit the device.
pub(crate) fn ready(ring: &RingShape, limits: &DeviceLimits, places: &Places, schedule: &Schedule) -> Result<Vec<ReadyLaunch>, BackendError> {
    let mut all = Vec::new();
    for launch in &schedule.launches {
        let from = all.len();
        match launch {
            Launch::Rows(tiles) => all.extend(rows::ready(ring, limits, places, tiles)?),
            Launch::Columns(tiles) => all.extend(column_records::ready(ring, limits, places, tiles)?),
            Launch::Pointwise(tiles) => all.extend(pointwise::ready(ring, places, tiles)?),
        }
        for later in all.iter_mut().skip(from + 1) {
            later.beside = true;
        }
    }
    Ok(all)
}

/// The kernels that a schedule needs on a device with these limits: for checks of what compilers make of them.
///
/// # Errors
/// For schedules that break the contract, and tiles that do not fit the device.
pub fn kernel_sources(
    ring: &RingShape,
    limits: &DeviceLimits,
    schedule: &Schedule,
    residents: &[ResidentShape],
) -> Result<Vec<(Source, usize)>, BackendError> {
    let residents = residents.iter().map(|r| ResidentPlace { address: 0, log2_run: r.log2_run }).collect();
    let places = Places::new(ring.log2_degree, schedule, residents);
    let mut seen = BTreeSet::new();
    let launches = ready(ring, limits, &places, schedule)?;
    let new = launches.into_iter().filter(|l| seen.insert((l.source.file.name, l.source.constants.clone())));
    Ok(new.map(|l| (l.source, l.shared_bytes)).collect())
}
