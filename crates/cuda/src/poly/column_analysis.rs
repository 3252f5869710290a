//! When the sums and the conversions of a tile of columns are ready, and who reads what.

use girih_backend::BackendError;
use girih_backend::poly::schedule::{ColumnTerm, ColumnTile};

pub(crate) fn refused(why: impl Into<String>) -> BackendError {
    BackendError::InvalidRequest(format!("a schedule that kernels cannot run: {}", why.into()))
}

/// What is known of a tile's slots and conversions before places are handed out.
pub(crate) struct Analysis {
    /// Prime of each slot.
    pub primes: Vec<u16>,
    /// The phase in which each sum is computed.
    pub sum_phase: Vec<usize>,
    /// The phase at whose beginning each conversion is prepared; `None` if nothing reads it.
    pub conversion_phase: Vec<Option<usize>>,
    /// The last phase that reads each conversion.
    pub conversion_end: Vec<usize>,
    /// Conversions that read each slot, and sums that read it.
    pub converted_by: Vec<Vec<usize>>,
    pub summed_by: Vec<Vec<usize>>,
}

pub(crate) fn analyse(tile: &ColumnTile) -> Result<Analysis, BackendError> {
    let loads = tile.loads.len();
    let slots = loads + tile.sums.len();
    let mut a = Analysis {
        primes: tile
            .loads
            .iter()
            .map(|&(p, _)| p)
            .chain(tile.sums.iter().map(|s| s.prime))
            .collect(),
        sum_phase: Vec::new(),
        conversion_phase: vec![None; tile.conversions.len()],
        conversion_end: vec![0; tile.conversions.len()],
        converted_by: vec![Vec::new(); slots],
        summed_by: vec![Vec::new(); slots],
    };
    for (number, sum) in tile.sums.iter().enumerate() {
        let ready = |phases: &[usize], slot: u16| -> Result<usize, BackendError> {
            match usize::from(slot) {
                slot if slot < loads => Ok(0),
                slot if slot < loads + number => Ok(phases[slot - loads] + 1),
                slot => Err(refused(format!("a sum of columns reads slot {slot} too early"))),
            }
        };
        let mut phase = 0;
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { slot, .. } => {
                    phase = phase.max(ready(&a.sum_phase, slot)?);
                    a.summed_by[usize::from(slot)].push(number);
                }
                ColumnTerm::Converted { conversion, .. } => {
                    let c = usize::from(conversion);
                    let of = tile
                        .conversions
                        .get(c)
                        .ok_or_else(|| refused(format!("conversion {c} is missing")))?;
                    if a.conversion_phase[c].is_none() {
                        let mut first = 0;
                        for &slot in &of.slots {
                            first = first.max(ready(&a.sum_phase, slot)?);
                            a.converted_by[usize::from(slot)].push(c);
                        }
                        a.conversion_phase[c] = Some(first);
                    }
                    phase = phase.max(a.conversion_phase[c].unwrap_or(0));
                }
            }
        }
        for term in &sum.terms {
            if let ColumnTerm::Converted { conversion, .. } = term {
                let end = &mut a.conversion_end[usize::from(*conversion)];
                *end = phase.max(*end);
            }
        }
        a.sum_phase.push(phase);
    }
    Ok(a)
}

impl Analysis {
    /// The one conversion that a slot exists for: it is then stored scaled.
    pub fn folded(&self, slot: usize) -> Option<usize> {
        match (&self.converted_by[slot][..], self.summed_by[slot].is_empty()) {
            (&[c], true) => Some(c),
            _ => None,
        }
    }

    /// The last phase that reads a slot's place.
    pub fn last_read(&self, slot: usize) -> usize {
        let sums = self.summed_by[slot].iter().map(|&s| self.sum_phase[s]);
        let folded = self.folded(slot);
        let conversions = self.converted_by[slot].iter().map(|&c| match folded {
            Some(_) => self.conversion_end[c],
            None => self.conversion_phase[c].unwrap_or(0),
        });
        sums.chain(conversions).max().unwrap_or(0)
    }
}
