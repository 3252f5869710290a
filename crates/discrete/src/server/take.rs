//! Elements that change places, within ciphertexts and between them: rotated, and cut out by masks.
//!
//! Elements that come from one ciphertext into another by one rotation are a *way*. A look-up of a
//! number plus a known mask keeps the elements of a way and makes the rest 0; what several ways
//! bring is added. Where elements are moved by many amounts, they go step by step instead: first
//! into their ciphertext and half, then by 1, 2, 4, .. slots, each of which moves some and leaves
//! others. Two elements that would meet in a slot on their way go in different *rounds*.

use super::{ServerKey, Wires};
use crate::{DiscreteParameters, Result, Table, error};
use girih_rlwe::{Counts, Mismatch};
use std::collections::BTreeMap;

/// Results of ways that are added before a look-up makes their errors small again.
const GROUP: usize = 4;

/// Look-ups that a device is given side by side.
const SIDE_BY_SIDE: usize = 8;

/// Ciphertexts of a batch and of a result, at most.
const MOST_CIPHERTEXTS: usize = 1024;

/// How elements come from one ciphertext into another: they move alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    from: usize,
    by: usize,
    turns: usize,
}

/// Where each number of a ciphertext comes from, if it is wanted: a number of those before, counted
/// through all ciphertexts.
type Target = Vec<Option<u32>>;

/// Ways into one ciphertext, with the numbers that come by each.
#[derive(Clone, Debug)]
struct Arrivals(BTreeMap<Way, Vec<usize>>);

impl Arrivals {
    fn of(target: &Target) -> Self {
        let (all, half) = (target.len(), target.len() / 2);
        let mut ways = BTreeMap::<Way, Vec<usize>>::new();
        let wanted = target.iter().enumerate().filter_map(|(to, from)| Some((to, (*from)?)));
        for (to, from) in wanted {
            let (from, place) = (from as usize / all, from as usize % all);
            let by = (place + half - to % half) % half;
            // One turn takes the first half to the second, three the second to the first.
            let turns = match (place < half, to < half) {
                (true, false) => 1,
                (false, true) => 3,
                _ => 0,
            };
            ways.entry(Way { from, by, turns }).or_default().push(to);
        }
        Self(ways)
    }

    /// Whether the rest has to be 0: one way alone may bring anything where nothing is wanted, but
    /// for numbers below 0, which a turn makes.
    fn is_masked(&self) -> bool {
        self.0.len() > 1 || self.0.keys().any(|way| way.turns != 0)
    }

    fn look_ups(&self) -> usize {
        if !self.is_masked() {
            return 0;
        }
        let mut count = self.0.len();
        let mut left = count;
        while left > GROUP {
            left = left.div_ceil(GROUP);
            count += left;
        }
        count
    }
}

/// How elements of batches come into other places, found without keys.
#[derive(Clone, Debug)]
pub struct TakePlan {
    numbers: usize,
    ciphertexts: usize,
    elements: usize,
    /// One after the other; arrivals for each ciphertext that a step leaves.
    steps: Vec<Vec<Arrivals>>,
}

/// Elements that are on their way together: in each ciphertext what stands where.
struct Round {
    aligned: Vec<Target>,
    steps: Vec<Vec<Target>>,
    last: Vec<Target>,
}

impl Round {
    fn new(count: usize, numbers: usize) -> Self {
        let none = || vec![vec![None; numbers]; count];
        let bits = (numbers / 2).ilog2() as usize;
        Self { aligned: none(), steps: (0..bits).map(|_| none()).collect(), last: none() }
    }

    /// Takes the element that comes from `from` to number `to` of ciphertext `of`, if it meets no
    /// other on its way.
    fn takes(&mut self, of: usize, from: u32, to: usize) -> bool {
        let numbers = self.aligned[of].len();
        let half = numbers / 2;
        let (above, target) = (to / half * half, to % half);
        let mut slot = from as usize % half;
        let by = (slot + half - target) % half;
        // Where it stands before and after each step; equal elements may go together.
        let mut path = vec![slot];
        for bit in 0..self.steps.len() {
            slot = (slot + half - (by & 1 << bit)) % half;
            path.push(slot);
        }
        let source = |at: usize| Some((of * numbers + above + path[at]) as u32);
        let stages = 1 + self.steps.len();
        let free = (0..stages).all(|stage| {
            let wanted = if stage == 0 { Some(from) } else { source(stage - 1) };
            let held = match stage {
                0 => &self.aligned,
                _ => &self.steps[stage - 1],
            };
            let held = held[of][above + path[stage]];
            held.is_none() || held == wanted
        });
        if free {
            self.aligned[of][above + path[0]] = Some(from);
            for stage in 1..stages {
                self.steps[stage - 1][of][above + path[stage]] = source(stage - 1);
            }
            self.last[of][to] = Some((of * numbers + to) as u32);
        }
        free
    }
}

impl TakePlan {
    /// A plan for batches of `ciphertexts` ciphertexts with `numbers` numbers in use each, whose
    /// numbers follow each other: element i of the result is number `elements[i]`. Any number may
    /// be taken often, or not at all.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no elements, for one beyond the last, for
    /// numbers in use that a ciphertext of the set has not, and for more than 1024 ciphertexts
    /// before or after.
    pub fn new(
        set: &DiscreteParameters,
        ciphertexts: usize,
        numbers: usize,
        elements: &[usize],
    ) -> Result<Self> {
        crate::numbers::check_numbers(set, numbers)?;
        if elements.is_empty() {
            return error::mismatch(Mismatch::empty("elements to take"));
        }
        let count = ciphertexts.saturating_mul(numbers);
        let all = set.numbers();
        if [ciphertexts, elements.len().div_ceil(all)].iter().any(|c| *c > MOST_CIPHERTEXTS) {
            let found = ciphertexts.max(elements.len().div_ceil(all));
            let what = "ciphertexts to take elements from, or into";
            return error::count(what, found, Counts::UpTo(MOST_CIPHERTEXTS));
        }
        if let Some(&wrong) = elements.iter().find(|e| **e >= count) {
            return error::mismatch(Mismatch::index("an element to take", wrong, count));
        }
        let from = |e: &usize| Some((e / numbers * all + e % numbers) as u32);
        let targets: Vec<Target> = elements
            .chunks(all)
            .map(|some| {
                let rest = std::iter::repeat_n(None, all - some.len());
                some.iter().map(from).chain(rest).collect()
            })
            .collect();
        let count = elements.len();
        let plan = |steps| Self { numbers, ciphertexts, elements: count, steps };
        let direct = plan(vec![targets.iter().map(Arrivals::of).collect()]);
        // Three ways are added without a look-up more: nothing takes less.
        if direct.look_ups() <= 3 * targets.len() {
            return Ok(direct);
        }
        let stepwise = stepwise(&targets).map(plan);
        let better = stepwise.filter(|plan| plan.look_ups() < direct.look_ups());
        Ok(better.unwrap_or(direct))
    }

    /// Look-ups of one ciphertext that it takes.
    pub fn look_ups(&self) -> usize {
        self.steps.iter().flatten().map(Arrivals::look_ups).sum()
    }

    /// Steps that make look-ups, one after the other.
    pub fn depth(&self) -> usize {
        self.steps.iter().filter(|step| step.iter().any(|to| to.look_ups() > 0)).count()
    }

    /// Ciphertexts of the result.
    pub fn ciphertexts(&self) -> usize {
        self.steps.last().map_or(0, Vec::len)
    }

    fn turns(&self) -> bool {
        let mut ways = self.steps.iter().flatten().flat_map(|to| to.0.keys());
        ways.any(|way| way.turns != 0)
    }
}

/// Rounds times ciphertexts of a stepwise plan, at most.
const MOST_ROUNDS: usize = 96;

/// Steps of all elements in as few rounds as a first-come choice makes; none where there are too
/// many.
fn stepwise(targets: &[Target]) -> Option<Vec<Vec<Arrivals>>> {
    let (count, numbers) = (targets.len(), targets[0].len());
    let mut left: Vec<(usize, u32, usize)> = Vec::new();
    for (of, target) in targets.iter().enumerate() {
        left.extend(target.iter().enumerate().filter_map(|(to, from)| Some((of, (*from)?, to))));
    }
    let mut rounds: Vec<Round> = Vec::new();
    while !left.is_empty() {
        if (rounds.len() + 1) * count > MOST_ROUNDS {
            return None;
        }
        let mut round = Round::new(count, numbers);
        left.retain(|&(of, from, to)| !round.takes(of, from, to));
        rounds.push(round);
    }
    // Ciphertext `of` of round r is number r count + of in between.
    let bits = (numbers / 2).ilog2() as usize;
    let mut steps = vec![Vec::new(); bits + 1];
    for (r, round) in rounds.iter().enumerate() {
        let first = (r * count * numbers) as u32;
        let shifted = |target: &Target| -> Target {
            target.iter().map(|from| from.map(|from| from + first)).collect()
        };
        steps[0].extend(round.aligned.iter().map(Arrivals::of));
        for (step, targets) in steps[1..].iter_mut().zip(&round.steps) {
            step.extend(targets.iter().map(|target| Arrivals::of(&shifted(target))));
        }
    }
    // What nothing moves in is no step.
    let stays = |(of, to): (usize, &Arrivals)| {
        to.0.keys().all(|way| *way == Way { from: of, by: 0, turns: 0 })
    };
    steps.retain(|step| !step.iter().enumerate().all(stays));
    if rounds.len() > 1 {
        let all = |of: usize| {
            let mut target = vec![None; numbers];
            for (r, round) in rounds.iter().enumerate() {
                let first = (r * count * numbers) as u32;
                for (to, from) in round.last[of].iter().enumerate() {
                    target[to] = target[to].or(from.map(|from| from + first));
                }
            }
            Arrivals::of(&target)
        };
        steps.push((0..count).map(all).collect());
    }
    Some(steps)
}

/// The tables that a take of numbers up to `most` looks up.
struct Tables {
    /// What stands in a mask where a number is kept.
    mark: i64,
    kept: Table,
    same: Table,
}

/// A table modulo `modulus` of the highest order that the set has levels for.
fn of_highest_order(set: &DiscreteParameters, values: &[i64]) -> Result<Table> {
    let modulus = values.len() as u32;
    let order = match crate::table::levels(modulus, 2) <= set.table_levels() {
        true => 2,
        false => 1,
    };
    Table::from_values(values)?.order(order)
}

impl Tables {
    fn new(set: &DiscreteParameters, most: i64, turns: bool) -> Result<Self> {
        // A mark and a number are told from numbers alone, which a turn may have made negative.
        let room = if turns { 4 * most } else { 2 * most };
        let p = set.modulus();
        let reads = |least: i64| (2..=p).find(|m| p.is_multiple_of(*m) && i64::from(*m) > least);
        let (Some(modulus), Some(own)) = (reads(room.max(2)), reads(most)) else {
            let (what, largest) = match turns {
                true => ("elements to take that change halves", (i64::from(p) - 1) / 4),
                false => ("elements to take", (i64::from(p) - 1) / 2),
            };
            let advice = "; take digits of larger ones";
            return error::mismatch(Mismatch::numbers(what, (0, most), (0, largest), advice));
        };
        let mark = i64::from(modulus / 2);
        let kept = |m: i64| if (mark..=mark + most).contains(&m) { m - mark } else { 0 };
        let kept: Vec<i64> = (0..i64::from(modulus)).map(kept).collect();
        let same = |m: i64| if m <= most { m } else { 0 };
        let same: Vec<i64> = (0..i64::from(own)).map(same).collect();
        let [kept, same] = [kept, same].map(|values| of_highest_order(set, &values));
        Ok(Self { mark, kept: kept?, same: same? })
    }
}

impl ServerKey {
    /// Elements of a batch in any order, as a batch: element i of the result is number
    /// `elements[i]` of all numbers in use, those of the first ciphertext first. Nothing leaves the
    /// device. Elements that all move alike, as those of a slice, take rotations alone; others
    /// look-ups, as [`TakePlan::look_ups`] says: two for each power of two by which some move and
    /// others do not, for shifts, reversals, strides and what is broadcast; at most one for each
    /// element and a third more where they have no order.
    ///
    /// # Errors
    /// As [`TakePlan::new`] and [`ServerKey::take_each`].
    pub fn take(&self, x: &Wires, elements: &[usize]) -> Result<Wires> {
        let plan = TakePlan::new(&self.set, x.len(), x.numbers, elements)?;
        Ok(self.take_each(&plan, &[vec![x]])?.remove(0))
    }

    /// The same by a plan, of several batches: each is given by parts that follow each other and
    /// have the plan's numbers in use together. All have the largest of their ranges in common, and
    /// share the plan's masks.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for batches that the plan is not for, and for
    /// numbers that may be negative, or too large to be told from those with a mark; else as
    /// [`ServerKey::lookup_sum`].
    pub fn take_each(&self, plan: &TakePlan, batches: &[Vec<&Wires>]) -> Result<Vec<Wires>> {
        let parts = || batches.iter().flatten();
        for batch in batches {
            let found = batch.iter().map(|part| part.len()).sum();
            if found != plan.ciphertexts {
                let what = "ciphertexts of a batch by this plan";
                return error::count(what, found, Counts::Exactly(plan.ciphertexts));
            }
        }
        if let Some(part) = parts().find(|part| part.numbers != plan.numbers) {
            let what = "numbers of a ciphertext by this plan";
            return error::count(what, part.numbers, Counts::Exactly(plan.numbers));
        }
        if let Some(part) = parts().find(|part| part.range.0 < 0) {
            let allowed = (0, (i64::from(self.set.modulus()) - 1) / 2);
            let advice = "; add a constant before";
            return error::mismatch(Mismatch::numbers(
                "elements to take",
                part.range,
                allowed,
                advice,
            ));
        }
        let most = parts().map(|part| part.range.1).max().unwrap_or(0);
        let tables = match plan.look_ups() {
            0 => None,
            _ => Some(Tables::new(&self.set, most, plan.turns())?),
        };
        let single = |batch: &Vec<&Wires>| -> Result<Vec<Wires>> {
            let of = |part: &&Wires| (0..part.len()).map(|i| part.select(i..i + 1)).collect();
            let all: Vec<Vec<Wires>> = batch.iter().map(of).collect::<Result<_>>()?;
            let all = all.into_iter().flatten();
            all.map(|x| x.of_numbers(self.set.numbers())).collect()
        };
        let mut now: Vec<Vec<Wires>> = batches.iter().map(single).collect::<Result<_>>()?;
        for step in &plan.steps {
            let mut next = vec![Vec::with_capacity(step.len()); now.len()];
            for arrivals in step {
                let arrived = self.arrive(&now, arrivals, tables.as_ref(), most)?;
                next.iter_mut().zip(arrived).for_each(|(all, one)| all.push(one));
            }
            now = next;
        }
        let used = plan.elements.min(self.set.numbers());
        let together = |all: Vec<Wires>| -> Result<Wires> {
            let all: Vec<&Wires> = all.iter().collect();
            Wires::join(&all)?.of_numbers(used)
        };
        now.into_iter().map(together).collect()
    }

    /// One ciphertext of each batch.
    fn arrive(
        &self,
        batches: &[Vec<Wires>],
        arrivals: &Arrivals,
        tables: Option<&Tables>,
        most: i64,
    ) -> Result<Vec<Wires>> {
        let mut terms: Vec<Vec<Wires>> = vec![Vec::new(); batches.len()];
        for (way, places) in &arrivals.0 {
            let move_one = |batch: &Vec<Wires>| self.moved(&batch[way.from], way.by, way.turns);
            let moved: Vec<Wires> = batches.iter().map(move_one).collect::<Result<_>>()?;
            let tables = match tables {
                Some(tables) if arrivals.is_masked() => tables,
                _ => return Ok(moved),
            };
            let mut mask = vec![0; self.set.numbers()];
            places.iter().for_each(|&place| mask[place] = tables.mark as u32);
            let mask = self.known(&[mask], tables.mark as u32 + 1)?;
            for (some, into) in moved.chunks(SIDE_BY_SIDE).zip(terms.chunks_mut(SIDE_BY_SIDE)) {
                let sums: Vec<Vec<&Wires>> = some.iter().map(|x| vec![&mask, x]).collect();
                let results = self.lookup_each(&[1, 1], 0, &sums, &[&tables.kept])?;
                into.iter_mut().zip(results).for_each(|(all, result)| all.extend(result));
            }
        }
        let add = |some: &[Wires]| -> Result<Wires> {
            let all: Vec<(i64, &Wires)> = some.iter().map(|x| (1, x)).collect();
            // All but one are 0 in each place.
            Ok(self.sum(&all, 0)?.within(0, most))
        };
        let one = |mut terms: Vec<Wires>| -> Result<Wires> {
            while let (Some(tables), true) = (tables, terms.len() > GROUP) {
                let clean = |some: &[Wires]| -> Result<Wires> {
                    Ok(self.lookup(&add(some)?, &[&tables.same])?.remove(0))
                };
                terms = terms.chunks(GROUP).map(clean).collect::<Result<_>>()?;
            }
            match terms.as_slice() {
                // Nothing is wanted of this ciphertext.
                [] => self.constant(0, &batches[0][0]),
                [one] => Ok(one.clone()),
                several => add(several),
            }
        };
        terms.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plan makes of numbers in the clear.
    fn run(plan: &TakePlan, all: usize, from: &[u32]) -> Vec<u32> {
        let mut now: Vec<Vec<i64>> = from
            .chunks(plan.numbers)
            .map(|some| (0..all).map(|j| some.get(j).map_or(-9, |v| i64::from(*v))).collect())
            .collect();
        for step in &plan.steps {
            let arrive = |to: &Arrivals| {
                let mut sum = vec![0; all];
                for (way, places) in &to.0 {
                    let (half, source) = (all / 2, &now[way.from]);
                    let moved = |j: usize| {
                        let at = (j % half + way.by) % half;
                        match (way.turns, j < half) {
                            (0, true) => source[at],
                            (0, false) => source[half + at],
                            (1, false) => source[at],
                            (3, true) => source[half + at],
                            (1, true) => -source[half + at],
                            _ => -source[at],
                        }
                    };
                    for (j, sum) in sum.iter_mut().enumerate() {
                        if !to.is_masked() || places.contains(&j) {
                            *sum += moved(j);
                        }
                    }
                }
                sum
            };
            now = step.iter().map(arrive).collect();
        }
        now.into_iter().flatten().take(plan.elements).map(|v| v as u32).collect()
    }

    /// Plans do what they say, and what they cost is known.
    #[test]
    fn plans_take_what_is_asked_for() {
        let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10").expect("built in");
        let (all, half) = (1024, 512);
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let no_order: Vec<usize> = (0..all).map(|_| random(3 * all)).collect();
        for (what, ciphertexts, numbers, elements, look_ups, depth) in [
            ("all", 2, all, (0..2 * all).collect::<Vec<_>>(), 0, 0),
            ("a slice of a half", 1, all, (3..half).collect(), 0, 0),
            ("a shift over halves", 1, all, (5..all).collect(), 2, 1),
            ("every second of a half", 1, all, (0..half / 2).map(|j| 2 * j).collect(), 16, 8),
            ("backwards", 1, all, (0..all).rev().collect(), 18, 9),
            ("one, everywhere", 1, all, vec![777; all], 20, 10),
            ("pairs swapped", 1, all, (0..all).map(|j| j ^ 1).collect(), 2, 1),
            ("every second", 2, all, (0..all).map(|j| 2 * j).collect(), 0, 0),
            ("of short batches", 3, 100, (0..300).rev().collect(), 0, 0),
            ("without order", 3, all, no_order, 0, 0),
        ] {
            let plan = TakePlan::new(&set, ciphertexts, numbers, &elements).expect("a plan");
            println!("{what}: {} look-ups, {} deep", plan.look_ups(), plan.depth());
            let from: Vec<u32> = (0..(ciphertexts * numbers) as u32).map(|v| v + 1).collect();
            let wanted: Vec<u32> = elements.iter().map(|&e| from[e]).collect();
            assert_eq!(run(&plan, all, &from), wanted, "{what}");
            assert_eq!(plan.ciphertexts(), elements.len().div_ceil(all), "{what}");
            if !["every second", "of short batches", "without order"].contains(&what) {
                assert_eq!((plan.look_ups(), plan.depth()), (look_ups, depth), "{what}");
            } else {
                assert!(plan.look_ups() < elements.len() / 2, "{what}: {}", plan.look_ups());
            }
        }
        for (ciphertexts, numbers, elements, expected) in [
            (1, all, vec![], "elements to take"),
            (1, 10, vec![3, 10], "is 10, and must be"),
            (1, 0, vec![0], "0"),
            (1, all + 1, vec![0], "1025"),
        ] {
            let error = TakePlan::new(&set, ciphertexts, numbers, &elements).expect_err("refused");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
