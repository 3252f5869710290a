//! Tiles of `poly_rows` and `poly_pointwise` as records: `shaders/poly/row_tile.wgsl` says what
//! each word means.

use crate::poly::limbs::{Limbs, ReadyTile, Record};
use crate::poly::slots::Values;
use crate::poly::tables::Tables;
use girih_backend::poly::schedule::{Form, Load, RowSum, RowTerm, RowTile, Source, Store};
use girih_ring::Automorphism;

const LOAD: u32 = 0;
const LOAD_HALF: u32 = 1;
const SUM: u32 = 2;
const KEEP: u32 = 3;

/// Marks the first operand of a term that has a factor.
const FACTOR: u32 = 1 << 28;
const SLOT: u32 = 1 << 30;
const STREAM: u32 = 2 << 30;

/// What tiles of rows are encoded with.
pub(crate) struct RowEncoder<'a> {
    pub tables: &'a Tables,
    pub log2_degree: u32,
    /// Whether half transforms and automorphisms at stores are there: `poly_rows`.
    pub transforms: bool,
}

impl RowEncoder<'_> {
    /// Appends the records of a tile.
    ///
    /// # Errors
    /// A sentence, for a tile that breaks a rule of the schedule.
    pub fn tile(
        &self,
        tile: &RowTile,
        limbs: &mut Limbs<'_>,
        records: &mut Vec<Record>,
    ) -> Result<ReadyTile, String> {
        let prime = self.tables.prime(tile.prime)?;
        let p = prime.modulus;
        let mut values = Values::new(last_use(tile)?);
        let mut filled = vec![false; tile.loads.len()];
        let first = records.len();
        // 2^64 mod p takes away both reductions that a sum goes through.
        let square = p.to_montgomery(p.to_montgomery(1));
        records.push([0, p.value(), p.neg_inverse(), square]);
        records.push([prime.roots, 0, 0, 0]);
        let mut steps = 0;
        limbs.begin_tile();
        for (number, sum) in tile.sums.iter().enumerate() {
            if sum.terms.is_empty() {
                return Err("a sum without terms".into());
            }
            // A load is made where it is first read, so that few slots are filled at once.
            for slot in slots_of(sum) {
                if slot < tile.loads.len() && !std::mem::replace(&mut filled[slot], true) {
                    let at = values.fill(slot).unwrap_or(0);
                    records.push(self.load(&tile.loads[slot], at, limbs)?);
                    steps += 1;
                }
            }
            let at = records.len();
            records.push([0; 4]);
            records.push([0; 4]);
            let mut constants = [0; 2];
            let mut terms = 0;
            for term in &sum.terms {
                if term.factor.iter().any(|&f| f >= p.value()) {
                    return Err(format!("factor {:?} is not canonical", term.factor));
                }
                let Some(a) = &term.a else {
                    if term.b.is_some() {
                        return Err("a second operand without a first".into());
                    }
                    constants = [0, 1].map(|i| p.add(constants[i], term.factor[i]));
                    continue;
                };
                self.term(term, a, &values, limbs, records, &|f| p.to_montgomery(f))?;
                terms += 1;
            }
            for store in &sum.stores {
                records.push(self.store(store, limbs)?);
            }
            for slot in slots_of(sum) {
                values.done(slot, number);
            }
            let kept = values.fill(tile.loads.len() + number);
            let kind = if kept.is_some() { KEEP } else { SUM };
            records[at] = [kind, kept.unwrap_or(0), terms, sum.stores.len() as u32];
            records[at + 1] = [constants[0], constants[1], 0, 0];
            steps += 1;
        }
        records[first][0] = steps;
        Ok(limbs.tile(first, values.most()))
    }

    fn load(&self, load: &Load, slot: u32, limbs: &mut Limbs<'_>) -> Result<Record, String> {
        let half = load.form == Form::Half;
        if half && (load.automorphism != 1 || !self.transforms) {
            return Err(format!("{load:?} cannot be loaded here"));
        }
        if load.form == Form::Coefficients {
            return Err("rows cannot load coefficients".into());
        }
        let [code, number] = self.stream(load, limbs)?;
        Ok([if half { LOAD_HALF } else { LOAD }, slot, code, number])
    }

    /// The two words of an operand in memory.
    fn stream(&self, load: &Load, limbs: &mut Limbs<'_>) -> Result<[u32; 2], String> {
        let g = load.automorphism;
        if g.is_multiple_of(2) || g >> (self.log2_degree + 1) != 0 {
            return Err(format!("X -> X^{g}: the exponent is odd and below 2N"));
        }
        let (number, log2_run) = limbs.read(load.from)?;
        if load.form == Form::Half && log2_run > 0 {
            return Err(format!("{:?} is never half transformed", load.from));
        }
        Ok([STREAM | log2_run << 20 | g, number])
    }

    fn operand(
        &self,
        source: &Source,
        values: &Values,
        limbs: &mut Limbs<'_>,
    ) -> Result<[u32; 2], String> {
        match source {
            Source::Slot(slot) => Ok([SLOT, values.slot(usize::from(*slot))?]),
            Source::Stream(load) if load.form != Form::Evaluations => {
                Err("only evaluations can be streamed".into())
            }
            Source::Stream(load) => self.stream(load, limbs),
        }
    }

    fn term(
        &self,
        term: &RowTerm,
        a: &Source,
        values: &Values,
        limbs: &mut Limbs<'_>,
        records: &mut Vec<Record>,
        montgomery: &dyn Fn(u32) -> u32,
    ) -> Result<(), String> {
        let [a_code, a_number] = self.operand(a, values, limbs)?;
        let b = term.b.as_ref().map(|b| self.operand(b, values, limbs)).transpose()?;
        let [b_code, b_number] = b.unwrap_or_default();
        let has_factor = term.factor != [1; 2];
        let flag = if has_factor { FACTOR } else { 0 };
        records.push([a_code | flag, a_number, b_code, b_number]);
        if has_factor {
            let [low, high] = if b.is_some() { term.factor.map(montgomery) } else { term.factor };
            records.push([low, high, 0, 0]);
        }
        Ok(())
    }

    fn store(&self, store: &Store, limbs: &mut Limbs<'_>) -> Result<Record, String> {
        let half = store.form == Form::Half;
        let g = store.automorphism;
        if store.form == Form::Coefficients {
            return Err("rows cannot store coefficients".into());
        }
        if !self.transforms && (half || g != 1) {
            return Err(format!("{store:?}: words are stored as they are"));
        }
        let phi = Automorphism::new(1 << self.log2_degree, g as usize);
        let inverse = phi.map_err(|e| e.to_string())?.inverse().exponent() as u32;
        Ok([half.into(), limbs.write(store.to)?, g, inverse])
    }
}

/// The slots that a sum reads.
fn slots_of(sum: &RowSum) -> impl Iterator<Item = usize> + '_ {
    let operands = sum.terms.iter().flat_map(|term| [term.a, term.b]).flatten();
    operands.filter_map(|operand| match operand {
        Source::Slot(slot) => Some(usize::from(slot)),
        Source::Stream(_) => None,
    })
}

/// The last sum that reads each slot.
fn last_use(tile: &RowTile) -> Result<Vec<Option<usize>>, String> {
    let mut last = vec![None; tile.loads.len() + tile.sums.len()];
    for (number, sum) in tile.sums.iter().enumerate() {
        for slot in slots_of(sum) {
            if slot >= tile.loads.len() + number {
                return Err(format!("slot {slot} is read before it is filled"));
            }
            last[slot] = Some(number);
        }
    }
    Ok(last)
}
