//! Where the limbs of a schedule lie: an entry of a call's table of bases,
//! and an offset from there.
//!
//! Entry 0 is address 0, so that resident limbs, which no call moves, are addressed outright; then
//! come the call's arena, its inputs and its outputs.

use crate::poly::memory::Block;
use girih_backend::BackendError;
use girih_backend::poly::schedule::{Launch, Limb, Load, Schedule, Source, Store};

const ARENA: u32 = 1;

/// A resident polynomial: where it lies, and how many equal words a stored one stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidentPlace {
    pub address: u64,
    pub log2_run: u32,
}

/// An operand of a tile, as kernels find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Entry of the table of bases.
    pub base: u32,
    /// Bytes from there.
    pub offset: u64,
    /// log2 of the equal words that a stored one stands for.
    pub log2_run: u32,
    /// Words are 2^32 times what they mean, modulo the prime.
    pub montgomery: bool,
}

/// The tables of bases of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    log2_degree: u32,
    residents: Vec<ResidentPlace>,
    inputs: usize,
    outputs: usize,
}

impl Places {
    /// For `schedule`, with its residents by slot.
    pub fn new(log2_degree: u32, schedule: &Schedule, residents: Vec<ResidentPlace>) -> Self {
        let (mut inputs, mut outputs) = (0, 0);
        for limb in limbs_of(schedule) {
            match limb {
                Limb::Input { slot, .. } => inputs = inputs.max(usize::from(slot) + 1),
                Limb::Output { slot, .. } => outputs = outputs.max(usize::from(slot) + 1),
                Limb::Arena(_) | Limb::Resident { .. } => {}
            }
        }
        Self { log2_degree, residents, inputs, outputs }
    }

    /// Entries of a call's table.
    pub fn stride(&self) -> usize {
        2 + self.inputs + self.outputs
    }

    /// Bytes of a limb that is not stored in runs.
    pub fn limb_bytes(&self) -> u64 {
        4 << self.log2_degree
    }

    /// The table of a call with its arena at `arena`.
    pub fn bases(
        &self,
        arena: u64,
        inputs: &[u64],
        outputs: &[u64],
    ) -> Result<Vec<u64>, BackendError> {
        if inputs.len() < self.inputs || outputs.len() < self.outputs {
            return Err(BackendError::InvalidRequest(format!(
                "a call binds {} inputs and {} outputs; its routine has {} and {}",
                inputs.len(),
                outputs.len(),
                self.inputs,
                self.outputs
            )));
        }
        Ok([&[0, arena], &inputs[..self.inputs], &outputs[..self.outputs]].concat())
    }

    /// Where `limb` lies.
    pub fn place(&self, limb: Limb) -> Result<Place, BackendError> {
        let in_base = |base: u32, limb: u64| Place {
            base,
            offset: limb * self.limb_bytes(),
            log2_run: 0,
            montgomery: false,
        };
        Ok(match limb {
            Limb::Arena(i) => in_base(ARENA, i.into()),
            Limb::Input { slot, limb } => in_base(ARENA + 1 + u32::from(slot), limb.into()),
            Limb::Output { slot, limb } => {
                in_base(ARENA + 1 + self.inputs as u32 + u32::from(slot), limb.into())
            }
            Limb::Resident { slot, limb } => {
                let of = self.residents.get(slot as usize).ok_or_else(|| {
                    BackendError::InvalidRequest(format!(
                        "resident slot {slot} of a routine that binds {}",
                        self.residents.len()
                    ))
                })?;
                let offset = of.address + u64::from(limb) * (self.limb_bytes() >> of.log2_run);
                Place { base: 0, offset, log2_run: of.log2_run, montgomery: true }
            }
        })
    }
}

/// Every limb that a schedule names.
fn limbs_of(schedule: &Schedule) -> Vec<Limb> {
    let mut all = Vec::new();
    let load = |l: &Load| l.from;
    let store = |s: &Store| s.to;
    for launch in &schedule.launches {
        match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                for tile in tiles {
                    all.extend(tile.loads.iter().map(load));
                    for sum in &tile.sums {
                        all.extend(sum.stores.iter().map(store));
                        for source in sum.terms.iter().flat_map(|t| [t.a, t.b]).flatten() {
                            if let Source::Stream(l) = source {
                                all.push(l.from);
                            }
                        }
                    }
                }
            }
            Launch::Columns(tiles) => {
                for tile in tiles {
                    all.extend(tile.loads.iter().map(|(_, l)| l.from));
                    all.extend(tile.sums.iter().flat_map(|s| s.stores.iter().map(store)));
                }
            }
        }
    }
    all.extend(schedule.kept.iter().flat_map(|(_, limbs)| limbs.iter().copied()));
    all
}

/// A resident polynomial on the device.
#[derive(Debug)]
pub(crate) struct Resident {
    pub block: Block,
    pub log2_run: u32,
    /// Its primes, by number.
    pub primes: Vec<u16>,
}
