//! A slow runner of schedules on the host: what each kernel does, limb by limb, every rule checked.
//!
//! It judges lowerings, and is the plain reading of [`schedule`](super::schedule) for those who
//! write kernels.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use girih_ring::{Automorphism, BaseConversion, Formula, RnsBasis, SplitNtt};

use super::interpret::resident_limb;
use super::schedule::{
    ColumnTerm, ColumnTile, Form, Launch, Limb, Load, RowTerm, RowTile, Schedule, Source, Store,
};
use super::{Interpreted, ResidentShape, ResidentSource, RingShape, View, check};
use crate::{BackendError, Result};

type Words = Arc<Vec<u32>>;

/// What all targets of a conversion share: y of every source, limb after limb, and u.
type Scaled = (Vec<u32>, Vec<u32>);

/// Runs `schedule` on the host. `inputs` are polynomials by slot, limb after limb.
///
/// # Errors
/// When the schedule breaks a rule of [`schedule`](super::schedule): reads what was never written
/// or lies in another form, writes what the same launch reads or writes, orders slots wrongly,
/// or asks a kernel for what it cannot do. The message names launch and tile.
pub fn run_schedule(
    schedule: &Schedule,
    ring: &RingShape,
    residents: &dyn ResidentSource,
    inputs: &[Vec<u32>],
) -> Result<Interpreted> {
    check::ring(ring)?;
    let mut runner = Runner {
        ring,
        residents,
        shapes: residents.shapes(),
        inputs,
        memory: HashMap::new(),
        tables: HashMap::new(),
        arena_limbs: schedule.arena_limbs,
    };
    for (number, launch) in schedule.launches.iter().enumerate() {
        runner.launch(launch).map_err(|why| {
            BackendError::InvalidRequest(format!("launch {number}, {}: {why}", launch.kernel()))
        })?;
    }
    let mut outputs: Vec<Vec<Option<Words>>> = Vec::new();
    for (limb, stored) in &runner.memory {
        if let Limb::Output { slot, limb } = *limb {
            let (slot, limb) = (usize::from(slot), usize::from(limb));
            outputs.resize(outputs.len().max(slot + 1), Vec::new());
            let limbs = &mut outputs[slot];
            limbs.resize(limbs.len().max(limb + 1), None);
            limbs[limb] = Some(stored.words.clone());
        }
    }
    let mut out = Interpreted { outputs: Vec::new(), kept: Vec::new() };
    for (slot, limbs) in outputs.into_iter().enumerate() {
        let mut words = Vec::new();
        for (number, limb) in limbs.into_iter().enumerate() {
            let limb = limb.ok_or_else(|| {
                BackendError::InvalidRequest(format!("limb {number} of output {slot} is lacking"))
            })?;
            words.extend_from_slice(&limb);
        }
        out.outputs.push(words);
    }
    for (value, limbs) in &schedule.kept {
        let mut words = Vec::new();
        for &limb in limbs {
            let kept = runner.fetch(limb).map_err(|why| {
                BackendError::InvalidRequest(format!("kept value {}: {why}", value.index()))
            })?;
            words.extend_from_slice(&kept.words);
        }
        out.kept.push(words);
    }
    Ok(out)
}

/// A limb as it lies in memory.
#[derive(Clone)]
struct Stored {
    words: Words,
    /// The form that it was written in and whether columns wrote it; nothing for what calls bind.
    written: Option<(Form, bool)>,
}

struct Runner<'a> {
    ring: &'a RingShape,
    residents: &'a dyn ResidentSource,
    shapes: Vec<ResidentShape>,
    inputs: &'a [Vec<u32>],
    memory: HashMap<Limb, Stored>,
    tables: HashMap<u16, Arc<SplitNtt>>,
    arena_limbs: usize,
}

/// What a launch reads and writes: nothing may be both, or written twice.
#[derive(Default)]
struct Access {
    read: HashSet<Limb>,
    writes: HashMap<Limb, Stored>,
}

impl Runner<'_> {
    fn launch(&mut self, launch: &Launch) -> Result<(), String> {
        let mut access = Access::default();
        let of = |number: usize| move |why: String| format!("tile {number}: {why}");
        match launch {
            Launch::Rows(tiles) => {
                for (number, tile) in tiles.iter().enumerate() {
                    self.rows(tile, &mut access).map_err(of(number))?;
                }
            }
            Launch::Pointwise(tiles) => {
                for (number, tile) in tiles.iter().enumerate() {
                    let stores = || tile.sums.iter().flat_map(|s| &s.stores);
                    if tile.loads.iter().any(|l| l.form == Form::Half)
                        || stores().any(|s| s.form == Form::Half || s.automorphism != 1)
                    {
                        let why = "a half transform, or an automorphism at a store";
                        return Err(of(number)(why.into()));
                    }
                    self.rows(tile, &mut access).map_err(of(number))?;
                }
            }
            Launch::Columns(tiles) => {
                for (number, tile) in tiles.iter().enumerate() {
                    self.columns(tile, &mut access).map_err(of(number))?;
                }
            }
        }
        if let Some(limb) = access.writes.keys().find(|l| access.read.contains(l)) {
            return Err(format!("{limb:?} is read and written"));
        }
        self.memory.extend(access.writes);
        Ok(())
    }

    fn rows(&mut self, tile: &RowTile, access: &mut Access) -> Result<(), String> {
        let modulus = self.modulus(tile.prime)?;
        let mut slots = Vec::with_capacity(tile.loads.len() + tile.sums.len());
        for load in &tile.loads {
            slots.push(self.row_load(tile.prime, load, access)?);
        }
        let degree = self.ring.degree();
        for sum in &tile.sums {
            if sum.terms.is_empty() {
                return Err("a sum without terms".into());
            }
            let mut out = vec![0; degree];
            for RowTerm { factor, a, b } in &sum.terms {
                if factor.iter().any(|&f| f >= modulus.value()) {
                    return Err(format!("factor {factor:?} is not canonical"));
                }
                if a.is_none() && b.is_some() {
                    return Err("a second operand without a first".into());
                }
                let a = self.operand(tile.prime, a, &slots, access)?;
                let b = self.operand(tile.prime, b, &slots, access)?;
                for (k, word) in out.iter_mut().enumerate() {
                    let mut product = factor[usize::from(2 * k >= degree)];
                    for operand in [&a, &b].into_iter().flatten() {
                        product = modulus.mul(product, operand[k]);
                    }
                    *word = modulus.add(*word, product);
                }
            }
            for store in &sum.stores {
                let mut words = out.clone();
                if store.automorphism != 1 {
                    if self.ring.is_invariant(tile.prime) {
                        return Err("an automorphism of the conjugation-invariant ring".into());
                    }
                    self.automorphism(store.automorphism)?.apply(&out, &mut words);
                }
                match store.form {
                    Form::Evaluations => {}
                    Form::Half => self.table(tile.prime).inverse_rows(&mut words),
                    Form::Coefficients => return Err("rows cannot store coefficients".into()),
                }
                self.write(store, words, false, access)?;
            }
            slots.push(Arc::new(out));
        }
        Ok(())
    }

    fn operand(
        &mut self,
        prime: u16,
        source: &Option<Source>,
        slots: &[Words],
        access: &mut Access,
    ) -> Result<Option<Words>, String> {
        match source {
            None => Ok(None),
            Some(Source::Slot(slot)) => match slots.get(usize::from(*slot)) {
                Some(words) => Ok(Some(words.clone())),
                None => Err(format!("slot {slot} is read before it is filled")),
            },
            Some(Source::Stream(load)) if load.form != Form::Evaluations => {
                Err("only evaluations can be streamed".into())
            }
            Some(Source::Stream(load)) => self.row_load(prime, load, access).map(Some),
        }
    }

    fn row_load(&mut self, prime: u16, load: &Load, access: &mut Access) -> Result<Words, String> {
        let words = self.read(prime, load, false, access)?;
        match load.form {
            Form::Evaluations if load.automorphism == 1 => Ok(words),
            Form::Evaluations if View::of_code(load.automorphism).is_some() => {
                let view = View::of_code(load.automorphism).expect("it is one");
                if self.ring.is_invariant(prime) != view.lifts() {
                    return Err(format!("{view:?} leads to the other ring than prime {prime}'s"));
                }
                let from = |j| words[view.source(self.ring.log2_degree, j)];
                Ok(Arc::new((0..words.len()).map(from).collect()))
            }
            Form::Evaluations => {
                let mut out = vec![0; words.len()];
                self.automorphism(load.automorphism)?.apply(&words, &mut out);
                Ok(Arc::new(out))
            }
            Form::Half => {
                let mut words = words.to_vec();
                self.table(prime).forward_rows(&mut words);
                Ok(Arc::new(words))
            }
            Form::Coefficients => Err("rows cannot load coefficients".into()),
        }
    }

    fn columns(&mut self, tile: &ColumnTile, access: &mut Access) -> Result<(), String> {
        let mut slots: Vec<(u16, Words)> = Vec::new();
        let primes = || tile.loads.iter().map(|l| l.0).chain(tile.sums.iter().map(|s| s.prime));
        let invariant = |&p: &u16| self.ring.is_invariant(p);
        if primes().any(|p| invariant(&p)) && !primes().all(|p| invariant(&p)) {
            return Err("primes of both rings".into());
        }
        for (prime, load) in &tile.loads {
            let mut words = self.read(*prime, load, true, access)?;
            match load.form {
                Form::Coefficients => {}
                Form::Half => {
                    let table = self.table(*prime);
                    let mut limb = words.to_vec();
                    table.inverse_columns(&mut limb, table.size_inverse());
                    words = Arc::new(limb);
                }
                Form::Evaluations => return Err("columns cannot load evaluations".into()),
            }
            slots.push((*prime, words));
        }
        let mut scaled = HashMap::new();
        for sum in &tile.sums {
            let modulus = self.modulus(sum.prime)?;
            if sum.terms.is_empty() {
                return Err("a sum without terms".into());
            }
            let mut out = vec![0; self.ring.degree()];
            for term in &sum.terms {
                let (factor, words) = match *term {
                    ColumnTerm::Scaled { factor, slot } => match slots.get(usize::from(slot)) {
                        Some((prime, words)) if *prime == sum.prime => (factor, words.clone()),
                        Some((prime, _)) => {
                            return Err(format!(
                                "slot {slot} of prime {prime} in a sum of another"
                            ));
                        }
                        None => return Err(format!("slot {slot} is read before it is filled")),
                    },
                    ColumnTerm::Converted { factor, conversion } => {
                        let converted =
                            self.converted(tile, conversion, sum.prime, &slots, &mut scaled)?;
                        (factor, Arc::new(converted))
                    }
                };
                if factor >= modulus.value() {
                    return Err(format!("factor {factor} is not canonical"));
                }
                for (out, &word) in out.iter_mut().zip(words.iter()) {
                    *out = modulus.add(*out, modulus.mul(factor, word));
                }
            }
            for store in &sum.stores {
                let mut words = out.clone();
                match store.form {
                    Form::Coefficients => {}
                    Form::Half => self.table(sum.prime).forward_columns(&mut words),
                    Form::Evaluations => return Err("columns cannot store evaluations".into()),
                }
                if store.automorphism != 1 {
                    return Err("columns know no automorphism".into());
                }
                self.write(store, words, true, access)?;
            }
            slots.push((sum.prime, Arc::new(out)));
        }
        Ok(())
    }

    fn converted(
        &mut self,
        tile: &ColumnTile,
        number: u16,
        target: u16,
        slots: &[(u16, Words)],
        scaled: &mut HashMap<u16, Scaled>,
    ) -> Result<Vec<u32>, String> {
        let conversion = tile
            .conversions
            .get(usize::from(number))
            .ok_or_else(|| format!("conversion {number} of {}", tile.conversions.len()))?;
        let mut primes = Vec::new();
        let mut words = Vec::new();
        for &slot in &conversion.slots {
            let (prime, limb) = slots
                .get(usize::from(slot))
                .ok_or_else(|| format!("conversion {number} reads slot {slot} too early"))?;
            primes.push(self.modulus(*prime)?.value());
            words.extend_from_slice(limb);
        }
        let from = RnsBasis::new(&primes).map_err(|e| format!("conversion {number}: {e}"))?;
        let to = RnsBasis::new(&[self.modulus(target)?.value()]).expect("one prime is a basis");
        let converter = BaseConversion::new(&from, &to).map_err(|e| e.to_string())?;
        let (y, u) = scaled.entry(number).or_insert_with(|| {
            let formula = if conversion.corrected { Formula::Corrected } else { Formula::Plain };
            let mut y = vec![0; words.len()];
            converter.scale(&words, &mut y);
            let mut u = vec![0; self.ring.degree()];
            converter.overflow(formula, &y, &mut u);
            (y, u)
        });
        let mut out = vec![0; self.ring.degree()];
        converter.target(0, y, u, &mut out);
        Ok(out)
    }

    fn modulus(&self, prime: u16) -> Result<girih_ring::Modulus, String> {
        let count = self.ring.primes.len();
        let modulus = self.ring.primes.get(usize::from(prime)).copied();
        modulus.ok_or_else(|| format!("prime {prime} of a ring of {count}"))
    }

    fn table(&mut self, prime: u16) -> Arc<SplitNtt> {
        let new = || self.ring.transform(prime).expect("the ring was checked");
        self.tables.entry(prime).or_insert_with(|| Arc::new(new())).clone()
    }

    fn automorphism(&self, g: u32) -> Result<Automorphism, String> {
        Automorphism::new(self.ring.degree(), g as usize).map_err(|e| e.to_string())
    }

    /// A limb before any launch or after the last.
    fn fetch(&self, limb: Limb) -> Result<Stored, String> {
        let bound = |words: Vec<u32>| Stored { words: Arc::new(words), written: None };
        match limb {
            Limb::Arena(_) | Limb::Output { .. } => {
                self.memory.get(&limb).cloned().ok_or_else(|| format!("{limb:?} was never written"))
            }
            Limb::Input { slot, limb: number } => {
                let degree = self.ring.degree();
                let words = self
                    .inputs
                    .get(usize::from(slot))
                    .and_then(|words| words.chunks_exact(degree).nth(usize::from(number)))
                    .ok_or_else(|| format!("there is no {limb:?}"))?;
                Ok(bound(words.to_vec()))
            }
            Limb::Resident { slot, limb: number } => {
                let shape = self
                    .shapes
                    .get(slot as usize)
                    .filter(|s| usize::from(number) < s.basis.len())
                    .ok_or_else(|| format!("there is no {limb:?}"))?;
                let words = resident_limb(self.ring, shape, self.residents, slot, number.into());
                Ok(bound(words.map_err(|e| e.to_string())?))
            }
        }
    }

    fn read(
        &mut self,
        prime: u16,
        load: &Load,
        by_columns: bool,
        access: &mut Access,
    ) -> Result<Words, String> {
        self.modulus(prime)?;
        if load.automorphism != 1 && load.form != Form::Evaluations {
            return Err(format!("an automorphism of {:?}", load.form));
        }
        let stored = self.fetch(load.from)?;
        match (stored.written, load.from) {
            (_, Limb::Resident { .. }) if load.form != Form::Evaluations => {
                return Err("resident polynomials are evaluations".into());
            }
            (_, Limb::Input { .. }) if load.form == Form::Half => {
                return Err("inputs are not half transformed".into());
            }
            (Some((form, _)), _) if form != load.form => {
                return Err(format!("{load:?} of what was written as {form:?}"));
            }
            // After inverse rows a limb is R times what it is after forward columns.
            (Some((Form::Half, columns)), _) if columns == by_columns => {
                return Err(format!("{:?} was half transformed by the same kernel", load.from));
            }
            _ => {}
        }
        access.read.insert(load.from);
        Ok(stored.words)
    }

    fn write(
        &self,
        store: &Store,
        words: Vec<u32>,
        by_columns: bool,
        access: &mut Access,
    ) -> Result<(), String> {
        match store.to {
            Limb::Arena(number) if (number as usize) < self.arena_limbs => {}
            Limb::Output { .. } if store.form != Form::Half => {
                if self.memory.contains_key(&store.to) {
                    return Err(format!("{:?} is written again", store.to));
                }
            }
            to => return Err(format!("{to:?} cannot be written as {:?}", store.form)),
        }
        let written = Some((store.form, by_columns));
        let stored = Stored { words: Arc::new(words), written };
        match access.writes.insert(store.to, stored) {
            Some(_) => Err(format!("{:?} is written twice", store.to)),
            None => Ok(()),
        }
    }
}
