//! Tiles of `poly_columns` as records: `shaders/poly/poly_columns.wgsl` says what each word means.
//!
//! A conversion becomes terms of sums: the y of its sources times their cofactors, and u times -D.
//! Four sums in a row that read the same conversions take those terms together: a thread's slots
//! lie in memory, and each is then read once for four products.

use crate::poly::column_steps::{Numbers, Step, TOGETHER, converted, last_use, order, read_by};
use crate::poly::limbs::{Limbs, ReadyTile, Record};
use crate::poly::records::columns::{CORRECTED, KEEP, LOAD, LOAD_HALF, OUTPUTS, PARTS, PLAIN, SUM};
use crate::poly::slots::Values;
use crate::poly::tables::{Prime, Primes};
use girih_backend::poly::schedule::{ColumnSum, ColumnTerm, ColumnTile, Form, Limb, Load};
use girih_ring::{BaseConversion, RnsBasis};

/// What a prime of the conjugation-invariant ring has more.
fn unit(prime: &Prime) -> Option<Record> {
    prime.unit.map(|unit| [unit.value, unit.quotient, 0, 0])
}

/// What tiles of columns are encoded with.
pub(crate) struct ColumnEncoder<'a> {
    pub primes: &'a Primes,
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
        self.check_ring(tile)?;
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
                Step::Parts(first) | Step::Outputs(first) => {
                    let outputs = matches!(what, Step::Outputs(_)).then_some(&mut *limbs);
                    self.parts(tile, first, &numbers, &constants, &mut values, outputs, records)?;
                    for value in converted(&numbers, tile, &tile.sums[first]) {
                        values.done(value, step);
                    }
                }
                Step::Sum { number, has_part } => {
                    let at = records.len();
                    records.push([0; 4]);
                    let sum = &tile.sums[number];
                    let terms =
                        self.sum(sum, number, has_part, &numbers, &constants, &values, records)?;
                    for store in &sum.stores {
                        if store.form == Form::Evaluations || store.automorphism != 1 {
                            return Err(format!("{store:?}: columns store no evaluations"));
                        }
                        let half = u32::from(store.form == Form::Half);
                        records.push([half, limbs.write(store.to)?, 0, 0]);
                    }
                    for value in read_by(tile, &numbers, number, has_part) {
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

    /// All primes of a tile are of one ring.
    fn check_ring(&self, tile: &ColumnTile) -> Result<(), String> {
        let primes = tile.loads.iter().map(|load| load.0).chain(tile.sums.iter().map(|s| s.prime));
        let kinds = primes.map(|prime| Ok(self.primes.prime(prime)?.unit.is_some()));
        let kinds = kinds.collect::<Result<Vec<bool>, String>>()?;
        if kinds.iter().any(|kind| *kind != kinds[0]) {
            return Err("primes of both rings".into());
        }
        Ok(())
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
        let prime = self.primes.prime(prime)?;
        let p = prime.modulus.value();
        let (number, _) = limbs.read(load.from)?;
        records.push([if half { LOAD_HALF } else { LOAD }, slot, number, p]);
        if half {
            let factor = prime.size_inverse;
            let degree = self.primes.degree;
            records.push([factor.value, factor.quotient, prime.roots + degree, 0]);
            records.extend(unit(prime));
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

    /// Appends the terms that [`TOGETHER`] sums have of conversions, and where their parts go; or
    /// their one store each, given `outputs`.
    #[allow(clippy::too_many_arguments)] // What the sums are, and what they read.
    fn parts(
        &self,
        tile: &ColumnTile,
        first: usize,
        numbers: &Numbers,
        constants: &[BaseConversion],
        values: &mut Values,
        mut outputs: Option<&mut Limbs<'_>>,
        records: &mut Vec<Record>,
    ) -> Result<(), String> {
        let sums = &tile.sums[first..first + TOGETHER];
        let mut of_sums = Vec::with_capacity(TOGETHER);
        for sum in sums {
            let mut terms = Vec::new();
            for term in &sum.terms {
                if let ColumnTerm::Converted { conversion, factor } = *term {
                    let conversion = usize::from(conversion);
                    self.converted(conversion, factor, sum.prime, numbers, constants, &mut terms)?;
                }
            }
            of_sums.push(terms);
        }
        let count = of_sums[0].len();
        let at = records.len();
        records.push([0; 4]);
        for (i, sum) in sums.iter().enumerate() {
            let prime = self.primes.prime(sum.prime)?;
            let p = prime.modulus;
            let part = numbers.parts + first + i;
            let to = match (&mut outputs, sum.stores.first()) {
                (Some(limbs), Some(store)) => [limbs.write(store.to)?, prime.roots],
                _ => [values.fill(part).ok_or("a part that no sum reads")?, 0],
            };
            records.push([p.value(), p.neg_inverse(), to[0], to[1]]);
        }
        for pair in (0..count).step_by(2) {
            let term = |sum: usize, i: usize| of_sums[sum].get(i).copied();
            let slot = |i: usize| term(0, i).map(|(value, _)| values.slot(value)).transpose();
            let left = slot(pair)?.ok_or("a part without terms")?;
            // A constant of 0 fills the last pair; it reads a slot that there is.
            records.push([left, slot(pair + 1)?.unwrap_or(left), 0, 0]);
            for i in [pair, pair + 1] {
                records.push(std::array::from_fn(|sum| term(sum, i).map_or(0, |(_, x)| x)));
            }
        }
        if outputs.is_some() {
            for sum in sums {
                records.extend(unit(self.primes.prime(sum.prime)?));
            }
        }
        let kind = if outputs.is_some() { OUTPUTS } else { PARTS };
        records[at] = [kind, count.div_ceil(2) as u32, 0, 0];
        Ok(())
    }

    /// Appends what a conversion adds to a sum: values, and constants times 2^32.
    fn converted(
        &self,
        conversion: usize,
        factor: u32,
        prime: u16,
        numbers: &Numbers,
        constants: &[BaseConversion],
        terms: &mut Vec<(usize, u32)>,
    ) -> Result<(), String> {
        let p = self.primes.prime(prime)?.modulus;
        if factor >= p.value() {
            return Err(format!("factor {factor} is not canonical"));
        }
        let of = &constants[conversion];
        let target = of.to_basis().position(p.value());
        let target = target.ok_or("a conversion without this prime")?;
        let minus_product = p.neg(of.products()[target]);
        let cofactors = of.cofactors(target).iter().copied().chain([minus_product]);
        let first = numbers.conversions[conversion];
        terms.extend(
            cofactors.enumerate().map(|(i, x)| (first + i, p.to_montgomery(p.mul(factor, x)))),
        );
        Ok(())
    }

    /// Appends what a sum adds up; how many vectors of terms.
    #[allow(clippy::too_many_arguments)] // What a sum is, and what it reads.
    fn sum(
        &self,
        sum: &ColumnSum,
        number: usize,
        has_part: bool,
        numbers: &Numbers,
        constants: &[BaseConversion],
        values: &Values,
        records: &mut Vec<Record>,
    ) -> Result<u32, String> {
        let prime = self.primes.prime(sum.prime)?;
        let p = prime.modulus;
        let part = if has_part { values.slot(numbers.parts + number)? + 1 } else { 0 };
        records.push([p.value(), p.neg_inverse(), prime.roots, part]);
        records.extend(unit(prime));
        let mut read: Vec<(usize, u32)> = Vec::new();
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { slot, factor } => {
                    if factor >= p.value() {
                        return Err(format!("factor {factor} is not canonical"));
                    }
                    if usize::from(slot) >= numbers.sums + number {
                        return Err(format!("slot {slot} is read before it is filled"));
                    }
                    read.push((slot.into(), p.to_montgomery(factor)));
                }
                ColumnTerm::Converted { conversion, factor } if !has_part => {
                    let conversion = usize::from(conversion);
                    self.converted(conversion, factor, sum.prime, numbers, constants, &mut read)?;
                }
                ColumnTerm::Converted { .. } => {}
            }
        }
        let term = |(value, constant)| Ok::<_, String>([values.slot(value)?, constant]);
        let mut terms = read.into_iter().map(term).collect::<Result<Vec<_>, _>>()?;
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
        let value = |prime: u16| Ok(self.primes.prime(prime)?.modulus.value());
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
