//! Tiles of `poly_rows` and `poly_pointwise` as records: `shaders/poly/row_tile.wgsl` says what
//! each word means.

use crate::poly::limbs::{Limbs, ReadyTile, Record};
use crate::poly::products::{Of, Shared, last_use, shared, slots_of};
use crate::poly::records::rows::{
    KEEP, LOAD, LOAD_HALF, LOG2_FACTOR, LOG2_KEPT, LOG2_KIND, LOG2_RUN, OF_HALF, OF_LIMB, OF_SLOT,
    PRODUCTS, SLOT, STREAM, SUM,
};
use crate::poly::slots::Values;
use crate::poly::tables::Primes;
use girih_backend::poly::View;
use girih_backend::poly::schedule::{Form, Limb, Load, RowSum, RowTerm, RowTile, Source, Store};
use girih_ring::{Automorphism, Modulus};

/// Marks the first operand of a term that has a factor.
const FACTOR: u32 = 1 << LOG2_FACTOR;

/// All that a tile loads, into slots and where it is multiplied.
fn loads(tile: &RowTile) -> impl Iterator<Item = Load> + '_ {
    let terms = tile.sums.iter().flat_map(|sum| &sum.terms);
    let streamed = terms.flat_map(|term| [term.a, term.b]).filter_map(|operand| match operand {
        Some(Source::Stream(load)) => Some(load),
        _ => None,
    });
    streamed.chain(tile.loads.iter().copied())
}

/// Whether a tile reads limbs of the other ring.
pub(crate) fn has_views(tile: &RowTile) -> bool {
    loads(tile).any(|load| load.automorphism.is_multiple_of(2))
}

/// Refuses views that lead to another ring than that of the tile, and automorphisms of the
/// conjugation-invariant ring.
fn check_ring(tile: &RowTile, invariant: bool) -> Result<(), String> {
    for load in loads(tile) {
        let g = load.automorphism;
        match View::of_code(g) {
            Some(view) if view.lifts() != invariant => {
                return Err(format!(
                    "{view:?} leads to the other ring than prime {}'s",
                    tile.prime
                ));
            }
            None if g != 1 && invariant => {
                return Err(format!("X -> X^{g} in the conjugation-invariant ring"));
            }
            _ => {}
        }
    }
    let stores = tile.sums.iter().flat_map(|sum| &sum.stores);
    match stores.map(|store| store.automorphism).find(|&g| g != 1 && invariant) {
        Some(g) => Err(format!("X -> X^{g} in the conjugation-invariant ring")),
        None => Ok(()),
    }
}

/// What tiles of rows are encoded with.
pub(crate) struct RowEncoder<'a> {
    pub primes: &'a Primes,
    pub log2_degree: u32,
    /// Whether half transforms and automorphisms at stores are there: `poly_rows`.
    pub transforms: bool,
}

/// A tile on its way into records.
struct Encoding<'a, 'b> {
    tile: &'a RowTile,
    limbs: &'a mut Limbs<'b>,
    records: &'a mut Vec<Record>,
    values: Values,
    /// Which loads are made.
    filled: Vec<bool>,
    steps: u32,
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
        let prime = self.primes.prime(tile.prime)?;
        let p = prime.modulus;
        let is_plain = |load: &Load| self.is_plain(load, limbs);
        let shared = shared(tile, is_plain, |load| self.is_half(load) || is_plain(load));
        let values = Values::new(last_use(tile, &shared)?);
        check_ring(tile, prime.unit.is_some())?;
        let first = records.len();
        // 2^64 mod p takes away both reductions that a sum goes through.
        let square = p.to_montgomery(p.to_montgomery(1));
        records.push([0, p.value(), p.neg_inverse(), square]);
        records.push([prime.roots, 0, 0, 0]);
        limbs.begin_tile();
        let filled = vec![false; tile.loads.len()];
        let mut to = Encoding { tile, limbs, records, values, filled, steps: 0 };
        for (number, (sum, shared)) in tile.sums.iter().zip(&shared).enumerate() {
            self.products(&shared.with_next, &mut to)?;
            self.sum(number, sum, shared, p, &mut to)?;
        }
        let Encoding { values, steps, .. } = to;
        records[first][0] = steps;
        Ok(limbs.tile(first, values.most()))
    }

    /// Appends the loads that fill `slots`, each where it is first read, so that few are filled at
    /// once.
    fn fill(
        &self,
        slots: impl Iterator<Item = usize>,
        to: &mut Encoding<'_, '_>,
    ) -> Result<(), String> {
        for slot in slots {
            if slot < to.filled.len() && !std::mem::replace(&mut to.filled[slot], true) {
                let at = to.values.fill(slot).unwrap_or(0);
                to.records.push(self.load(&to.tile.loads[slot], at, to.limbs)?);
                to.steps += 1;
            }
        }
        Ok(())
    }

    /// Appends what a sum and the next one have in common, if that is anything.
    fn products(
        &self,
        products: &[(Of, [Load; 2])],
        to: &mut Encoding<'_, '_>,
    ) -> Result<(), String> {
        if products.is_empty() {
            return Ok(());
        }
        let slots = products.iter().filter_map(|(of, _)| match of {
            Of::Slot(slot) => Some(*slot),
            Of::Load(_) | Of::Limb(_) => None,
        });
        self.fill(slots, to)?;
        to.records.push([PRODUCTS, products.len() as u32, 0, 0]);
        for (of, [left, right]) in products {
            let (kind, number) = match *of {
                Of::Slot(slot) => (OF_SLOT, to.values.slot(slot)?),
                Of::Limb(load) => (OF_LIMB, to.limbs.read(load.from)?.0),
                Of::Load(slot) => {
                    to.filled[slot] = true;
                    let load = &to.tile.loads[slot];
                    let kind = if load.form == Form::Half { OF_HALF } else { OF_LIMB };
                    let kept = to.values.fill(slot).map_or(0, |slot| slot + 1);
                    (kind | kept << LOG2_KEPT, to.limbs.read(load.from)?.0)
                }
            };
            let [left, right] = [to.limbs.read(left.from)?.0, to.limbs.read(right.from)?.0];
            to.records.push([kind, number, left, right]);
        }
        to.steps += 1;
        Ok(())
    }

    /// Appends a sum, behind the loads that it reads first.
    fn sum(
        &self,
        number: usize,
        sum: &RowSum,
        shared: &Shared,
        p: Modulus,
        to: &mut Encoding<'_, '_>,
    ) -> Result<(), String> {
        if sum.terms.is_empty() {
            return Err("a sum without terms".into());
        }
        self.fill(slots_of(shared.rest(sum)), to)?;
        let at = to.records.len();
        to.records.extend([[0; 4]; 2]);
        let mut constants = [0; 2];
        let mut terms = 0;
        for term in shared.rest(sum) {
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
            self.term(term, a, &to.values, to.limbs, to.records, &|f| p.to_montgomery(f))?;
            terms += 1;
        }
        for store in &sum.stores {
            to.records.push(self.store(store, to.limbs)?);
        }
        to.values.end(number);
        let kept = to.values.fill(to.tile.loads.len() + number);
        let kind = if kept.is_some() { KEEP } else { SUM };
        to.records[at] = [kind, kept.unwrap_or(0), terms, sum.stores.len() as u32];
        to.records[at + 1] = [constants[0], constants[1], shared.begins_with, 0];
        to.steps += 1;
        Ok(())
    }

    /// Whether a load is read word by word as it lies.
    fn is_plain(&self, load: &Load, limbs: &Limbs<'_>) -> bool {
        load.form == Form::Evaluations && load.automorphism == 1 && limbs.is_whole(load.from)
    }

    /// Whether a load is transformed and no more.
    fn is_half(&self, load: &Load) -> bool {
        load.form == Form::Half
            && load.automorphism == 1
            && self.transforms
            && !matches!(load.from, Limb::Resident { .. })
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
        match View::of_code(g) {
            Some(_) if load.form == Form::Evaluations => {}
            None if !g.is_multiple_of(2) && g >> (self.log2_degree + 1) == 0 => {}
            _ => return Err(format!("X -> X^{g}: the exponent is odd and below 2N")),
        }
        let (number, log2_run) = limbs.read(load.from)?;
        if load.form == Form::Half && log2_run > 0 {
            return Err(format!("{:?} is never half transformed", load.from));
        }
        Ok([STREAM << LOG2_KIND | log2_run << LOG2_RUN | g, number])
    }

    fn operand(
        &self,
        source: &Source,
        values: &Values,
        limbs: &mut Limbs<'_>,
    ) -> Result<[u32; 2], String> {
        match source {
            Source::Slot(slot) => Ok([SLOT << LOG2_KIND, values.slot(usize::from(*slot))?]),
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
