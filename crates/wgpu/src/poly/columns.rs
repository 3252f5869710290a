//! Tiles of `poly_columns` as records: `shaders/poly/poly_columns.wgsl` says what each word means.
//!
//! A conversion becomes terms of sums: the y of its sources times their cofactors, and u times -D.

use crate::poly::limbs::{Limbs, ReadyTile, Record};
use crate::poly::slots::Values;
use crate::poly::tables::Tables;
use girih_backend::poly::schedule::{ColumnSum, ColumnTerm, ColumnTile, Form, Limb, Load};
use girih_ring::{BaseConversion, RnsBasis};

const LOAD: u32 = 0;
const LOAD_HALF: u32 = 1;
const PLAIN: u32 = 2;
const CORRECTED: u32 = 3;
const SUM: u32 = 4;
const KEEP: u32 = 5;

/// A step of a tile, by number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Conversion(usize),
    Sum(usize),
}

/// The values of a tile: its loads, its sums, then y of each source and u of each conversion.
struct Numbers {
    sums: usize,
    /// For each conversion its first y; u follows the last.
    conversions: Vec<usize>,
    all: usize,
}

impl Numbers {
    fn new(tile: &ColumnTile) -> Self {
        let sums = tile.loads.len();
        let mut all = sums + tile.sums.len();
        let mut conversions = Vec::with_capacity(tile.conversions.len());
        for conversion in &tile.conversions {
            conversions.push(all);
            all += conversion.slots.len() + 1;
        }
        Self { sums, conversions, all }
    }
}

/// What tiles of columns are encoded with.
pub(crate) struct ColumnEncoder<'a> {
    pub tables: &'a Tables,
}

impl ColumnEncoder<'_> {
    /// Appends the records of a tile.
    ///
    /// # Errors
    /// A sentence, for a tile that breaks a rule of the schedule.
    pub fn tile(
        &self,
        tile: &ColumnTile,
        limbs: &mut Limbs<'_>,
        records: &mut Vec<Record>,
    ) -> Result<ReadyTile, String> {
        let numbers = Numbers::new(tile);
        let steps = order(tile)?;
        let mut values = Values::new(last_use(tile, &numbers, &steps));
        let constants = self.conversions(tile)?;
        let first = records.len();
        records.push([steps.len() as u32, 0, 0, 0]);
        limbs.begin_tile();
        for (step, &what) in steps.iter().enumerate() {
            match what {
                Step::Load(number) => {
                    let (prime, load) = &tile.loads[number];
                    let slot = values.fill(number).unwrap_or(0);
                    self.load(*prime, load, slot, limbs, records)?;
                }
                Step::Conversion(number) => {
                    self.conversion(tile, number, &numbers, &constants, &mut values, step, records)?
                }
                Step::Sum(number) => {
                    let at = records.len();
                    records.push([0; 4]);
                    let terms = self.sum(
                        &tile.sums[number],
                        number,
                        &numbers,
                        &constants,
                        &values,
                        records,
                    )?;
                    let sum = &tile.sums[number];
                    for store in &sum.stores {
                        if store.form == Form::Evaluations || store.automorphism != 1 {
                            return Err(format!("{store:?}: columns store no evaluations"));
                        }
                        let half = u32::from(store.form == Form::Half);
                        records.push([half, limbs.write(store.to)?, 0, 0]);
                    }
                    for value in read_by(tile, &numbers, sum) {
                        values.done(value, step);
                    }
                    let kept = values.fill(numbers.sums + number);
                    let kind = if kept.is_some() { KEEP } else { SUM };
                    records[at] = [kind, kept.unwrap_or(0), terms, sum.stores.len() as u32];
                }
            }
        }
        Ok(limbs.tile(first, values.most()))
    }

    fn load(
        &self,
        prime: u16,
        load: &Load,
        slot: u32,
        limbs: &mut Limbs<'_>,
        records: &mut Vec<Record>,
    ) -> Result<(), String> {
        let half = load.form == Form::Half;
        let bound = matches!(load.from, Limb::Input { .. });
        if load.form == Form::Evaluations || load.automorphism != 1 || half && bound {
            return Err(format!("{load:?} cannot be loaded by columns"));
        }
        if matches!(load.from, Limb::Resident { .. }) {
            return Err("resident polynomials are evaluations".into());
        }
        let prime = self.tables.prime(prime)?;
        let p = prime.modulus.value();
        let (number, _) = limbs.read(load.from)?;
        records.push([if half { LOAD_HALF } else { LOAD }, slot, number, p]);
        if half {
            let factor = prime.size_inverse;
            let degree = self.tables.degree;
            records.push([factor.value, factor.quotient, prime.roots + degree, 0]);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // What a step is, and where it goes.
    fn conversion(
        &self,
        tile: &ColumnTile,
        number: usize,
        numbers: &Numbers,
        constants: &[BaseConversion],
        values: &mut Values,
        step: usize,
        records: &mut Vec<Record>,
    ) -> Result<(), String> {
        let (conversion, constants) = (&tile.conversions[number], &constants[number]);
        let at = records.len();
        records.push([0; 4]);
        for (i, &slot) in conversion.slots.iter().enumerate() {
            let from = values.slot(usize::from(slot))?;
            values.done(slot.into(), step);
            // Where the source was, if nothing else reads it.
            let to = values.fill(numbers.conversions[number] + i).ok_or("y that no sum reads")?;
            let (factor, d) =
                (constants.cofactor_inverses()[i], constants.from_basis().moduli()[i].value());
            let weight = if conversion.corrected { constants.weights()[i] } else { d / 2 };
            records.push([from, to, factor.value, factor.quotient]);
            records.push([d, weight, 0, 0]);
        }
        let sources = conversion.slots.len();
        let u = values.fill(numbers.conversions[number] + sources).unwrap_or(0);
        let kind = if conversion.corrected { CORRECTED } else { PLAIN };
        records[at] = [kind, u, sources as u32, 0];
        Ok(())
    }

    /// Appends what a sum adds up; how many vectors of terms.
    fn sum(
        &self,
        sum: &ColumnSum,
        number: usize,
        numbers: &Numbers,
        constants: &[BaseConversion],
        values: &Values,
        records: &mut Vec<Record>,
    ) -> Result<u32, String> {
        let prime = self.tables.prime(sum.prime)?;
        let p = prime.modulus;
        records.push([p.value(), p.neg_inverse(), prime.roots, 0]);
        let mut terms: Vec<[u32; 2]> = Vec::new();
        for term in &sum.terms {
            let (ColumnTerm::Scaled { factor, .. } | ColumnTerm::Converted { factor, .. }) = *term;
            if factor >= p.value() {
                return Err(format!("factor {factor} is not canonical"));
            }
            match *term {
                ColumnTerm::Scaled { slot, .. } => {
                    if usize::from(slot) >= numbers.sums + number {
                        return Err(format!("slot {slot} is read before it is filled"));
                    }
                    terms.push([values.slot(slot.into())?, p.to_montgomery(factor)]);
                }
                ColumnTerm::Converted { conversion, .. } => {
                    let of = &constants[usize::from(conversion)];
                    let target = of.to_basis().position(p.value());
                    let target = target.ok_or("a conversion without this prime")?;
                    let minus_product = p.neg(of.products()[target]);
                    let cofactors = of.cofactors(target).iter().copied().chain([minus_product]);
                    for (i, cofactor) in cofactors.enumerate() {
                        let slot = values.slot(numbers.conversions[usize::from(conversion)] + i)?;
                        terms.push([slot, p.to_montgomery(p.mul(factor, cofactor))]);
                    }
                }
            }
        }
        // A term of constant 0 fills the last vector; it reads a slot that there is.
        if terms.len() % 2 == 1 {
            terms.push([terms[0][0], 0]);
        }
        let vectors = terms.chunks_exact(2).map(|t| [t[0][0], t[0][1], t[1][0], t[1][1]]);
        records.extend(vectors);
        Ok(terms.len() as u32 / 2)
    }

    /// The constants of each conversion, to every prime whose sums read it.
    fn conversions(&self, tile: &ColumnTile) -> Result<Vec<BaseConversion>, String> {
        let prime_of = |slot: u16| -> Result<u16, String> {
            let slot = usize::from(slot);
            let load = tile.loads.get(slot).map(|(prime, _)| *prime);
            let sum = || tile.sums.get(slot - tile.loads.len()).map(|sum| sum.prime);
            load.or_else(sum).ok_or_else(|| format!("a conversion of slot {slot}"))
        };
        let value = |prime: u16| Ok(self.tables.prime(prime)?.modulus.value());
        let basis = |primes: Vec<u32>| RnsBasis::new(&primes).map_err(|e| e.to_string());
        let mut all = Vec::with_capacity(tile.conversions.len());
        for (number, conversion) in tile.conversions.iter().enumerate() {
            let sources = conversion.slots.iter().map(|&slot| value(prime_of(slot)?));
            let from = basis(sources.collect::<Result<_, String>>()?)?;
            let of = |term: &ColumnTerm| match *term {
                ColumnTerm::Converted { conversion, .. } => usize::from(conversion) == number,
                ColumnTerm::Scaled { .. } => false,
            };
            let reads = |sum: &&ColumnSum| sum.terms.iter().any(of);
            let targets = tile.sums.iter().filter(reads).map(|sum| value(sum.prime));
            let mut targets: Vec<u32> = targets.collect::<Result<_, String>>()?;
            targets.sort_unstable();
            targets.dedup();
            if targets.is_empty() {
                return Err(format!("conversion {number} is read by no sum"));
            }
            all.push(BaseConversion::new(&from, &basis(targets)?).map_err(|e| e.to_string())?);
        }
        Ok(all)
    }
}

/// The steps of a tile: each load and conversion stands in front of what first reads it, so that
/// few slots are filled at once.
fn order(tile: &ColumnTile) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut loaded = vec![false; tile.loads.len()];
    let mut converted = vec![false; tile.conversions.len()];
    for (number, sum) in tile.sums.iter().enumerate() {
        if sum.terms.is_empty() {
            return Err("a sum without terms".into());
        }
        let mut load = |slot: u16, steps: &mut Vec<Step>| {
            let slot = usize::from(slot);
            if slot < loaded.len() {
                if !std::mem::replace(&mut loaded[slot], true) {
                    steps.push(Step::Load(slot));
                }
            } else if slot >= loaded.len() + number {
                return Err(format!("slot {slot} is read before it is filled"));
            }
            Ok(())
        };
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { slot, .. } => load(slot, &mut steps)?,
                ColumnTerm::Converted { conversion, .. } => {
                    let at = usize::from(conversion);
                    let of = tile.conversions.get(at);
                    let of = of.ok_or_else(|| format!("conversion {at} is not there"))?;
                    if std::mem::replace(&mut converted[at], true) {
                        continue;
                    }
                    for &slot in &of.slots {
                        load(slot, &mut steps)?;
                    }
                    steps.push(Step::Conversion(at));
                }
            }
        }
        steps.push(Step::Sum(number));
    }
    Ok(steps)
}

/// The values that a sum reads.
fn read_by<'a>(
    tile: &'a ColumnTile,
    numbers: &'a Numbers,
    sum: &'a ColumnSum,
) -> impl Iterator<Item = usize> + 'a {
    sum.terms.iter().flat_map(move |term| match *term {
        ColumnTerm::Scaled { slot, .. } => usize::from(slot)..usize::from(slot) + 1,
        ColumnTerm::Converted { conversion, .. } => {
            let conversion = usize::from(conversion);
            let first = numbers.conversions[conversion];
            first..first + tile.conversions[conversion].slots.len() + 1
        }
    })
}

/// The last step that reads each value.
fn last_use(tile: &ColumnTile, numbers: &Numbers, steps: &[Step]) -> Vec<Option<usize>> {
    let mut last = vec![None; numbers.all];
    for (step, &what) in steps.iter().enumerate() {
        match what {
            Step::Load(_) => {}
            Step::Conversion(number) => {
                for &slot in &tile.conversions[number].slots {
                    last[usize::from(slot)] = Some(step);
                }
            }
            Step::Sum(number) => {
                for value in read_by(tile, numbers, &tile.sums[number]) {
                    last[value] = Some(step);
                }
            }
        }
    }
    last
}
