//! Functions of a sum, as a rotation can compute them.

use super::values::Values;
use crate::tfhe::{FINE_BITS, STATES};

/// Half of the circle: values of a table.
const HALF: usize = (STATES / 2) as usize;

/// The largest value and constant of a table ([`girih_tfhe::CentredTable`]).
const MOST: i32 = 4 * HALF as i32;

/// What a function gives at each place of the circle, where anything is looked up there.
pub(crate) type Places = [Option<i32>; STATES as usize];

/// As [`girih_tfhe::CentredTable`]: x of the lower half gives `(constant + values[x]) / 2`, and
/// x + 16 gives `(constant - values[x]) / 2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    pub values: [i8; HALF],
    pub constant: i32,
    /// log2 of the steps in a place: 0, or all but places count in fine steps.
    pub finer: u32,
}

impl Table {
    /// The table of `f` on these values, which must differ modulo 32 where their results do; a
    /// value and its opposite on the circle must have the same sum of results everywhere.
    ///
    /// # Panics
    /// Where they have not: whoever records an operation sees to it.
    pub fn new(inputs: Values, f: impl Fn(i32) -> i32) -> Self {
        Self::of_places(&places(inputs, 0, f), 0)
    }

    /// The table of a sum in fine steps: of results in fine steps and the places on the circle
    /// where they must be given, with all that is nearer to such a place than the margin.
    ///
    /// # Panics
    /// Where that is no table: whoever records an operation sees to it.
    pub fn in_fine_steps(results: impl IntoIterator<Item = (i32, i32)>, margin: i32) -> Self {
        let mut places = [None; STATES as usize];
        for (x, y) in results {
            for near in x - margin..x + margin {
                let place: &mut Option<i32> = &mut places[place(near, FINE_BITS)];
                assert!(place.is_none_or(|other| other == y), "two results within a margin");
                *place = Some(y);
            }
        }
        Self::of_places(&places, FINE_BITS)
    }

    /// # Panics
    /// Where a result at a place and at its opposite do not have the same sum everywhere, or are
    /// out of the range of a table.
    fn of_places(results: &Places, finer: u32) -> Self {
        let opposite = (0..HALF).filter_map(|i| Some(results[i]? + results[i + HALF]?));
        let constant = opposite.clone().next().unwrap_or(middle(results));
        assert!(opposite.clone().all(|sum| sum == constant), "{results:?}: no negacyclic function");
        let value = |i: usize| match (results[i], results[i + HALF]) {
            (Some(y), _) => 2 * y - constant,
            (None, Some(y)) => constant - 2 * y,
            // Never looked up: as near to 0 as values may be.
            (None, None) => constant & 1,
        };
        let value = |i: usize| i8::try_from(value(i)).expect("a result in the range of a table");
        Self { values: std::array::from_fn(value), constant, finer }
    }

    /// The table of so many times the results, if that has room.
    pub fn times(&self, weight: i32) -> Option<Self> {
        let mut values = [0; HALF];
        for (to, &from) in values.iter_mut().zip(&self.values) {
            *to = i8::try_from(i32::from(from) * weight).ok()?;
        }
        let constant = self.constant * weight;
        let most = MOST << self.finer;
        (constant.abs() <= most).then_some(Self { values, constant, ..*self })
    }

    /// What x is looked up as.
    pub fn result(&self, x: i32) -> i32 {
        self.result_with(x, self.constant)
    }

    /// The same with another constant, as a second result has.
    pub fn result_with(&self, x: i32, constant: i32) -> i32 {
        let slot = place(x, self.finer);
        let half = if slot < HALF { self.values[slot] } else { -self.values[slot - HALF] };
        (constant + i32::from(half)) / 2
    }
}

/// Where something is looked up on the circle, in steps of which a place has 2^`finer`: places are
/// around their multiples.
fn place(x: i32, finer: u32) -> usize {
    ((x + (1 << finer) / 2) >> finer).rem_euclid(STATES) as usize
}

/// What `f` gives at the places of these values, `by` further on.
///
/// # Panics
/// Where two values that share a place have different results.
pub(crate) fn places(inputs: Values, by: i32, f: impl Fn(i32) -> i32) -> Places {
    let mut results = [None; STATES as usize];
    for x in inputs.iter() {
        let slot = &mut results[(x + by).rem_euclid(STATES) as usize];
        assert!(slot.is_none_or(|y| y == f(x)), "{inputs:?}: two results on one place");
        *slot = Some(f(x));
    }
    results
}

/// The sum of the least and the largest result: a constant that keeps values near 0.
fn middle(results: &Places) -> i32 {
    let known = || results.iter().copied().flatten();
    known().min().unwrap_or(0) + known().max().unwrap_or(0)
}

/// Two functions of one sum by one rotation: x gives the table's result, and besides what the table
/// holds at x + `steps`, with a constant of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub table: Table,
    pub steps: u32,
    pub constant: i32,
}

impl Pair {
    /// Both functions in one table, if they fit; of several ways the one with the smallest values,
    /// which leave the least error of a transform.
    pub fn new(first: &Places, second: &Places) -> Option<Self> {
        let most = |pair: &Self| pair.table.values.iter().map(|v| v.unsigned_abs()).max();
        (1..HALF as u32).filter_map(|steps| Self::at(first, second, steps)).min_by_key(most)
    }

    fn at(first: &Places, second: &Places, steps: u32) -> Option<Self> {
        let moved: Places =
            std::array::from_fn(|i| second[(i + STATES as usize - steps as usize) % first.len()]);
        let [own, other] = constants(first, &moved);
        if own.abs() > MOST || other.abs() > MOST {
            return None;
        }
        let mut values = [None; HALF];
        for (results, constant) in [(first, own), (&moved, other)] {
            for (i, y) in results.iter().enumerate().filter_map(|(i, y)| Some((i, (*y)?))) {
                let value = if i < HALF { 2 * y - constant } else { constant - 2 * y };
                let slot = &mut values[i % HALF];
                if value.abs() > MOST || slot.is_some_and(|v| v != value) {
                    return None;
                }
                *slot = Some(value);
            }
        }
        let values = values.map(|v| v.unwrap_or(0) as i8);
        let table = Table { values, constant: own, finer: 0 };
        Some(Self { table, steps, constant: other })
    }

    /// What x is looked up as besides.
    #[cfg(test)]
    pub fn second(&self, x: i32) -> i32 {
        self.table.result_with(x + self.steps as i32, self.constant)
    }
}

/// The constants of two functions that share a table, if any suit both: whoever fills the table
/// sees whether all places agree. What nothing decides is the middle of the results.
fn constants(first: &Places, second: &Places) -> [i32; 2] {
    let opposite =
        |results: &Places| (0..HALF).find_map(|i| Some(results[i]? + results[i + HALF]?));
    // Of places that both have: the difference of the constants, of opposite ones their sum.
    let (mut difference, mut sum) = (None, None);
    for (i, y) in first.iter().enumerate().filter_map(|(i, y)| Some((i, (*y)?))) {
        difference = difference.or(second[i].map(|z| 2 * (z - y)));
        sum = sum.or(second[(i + HALF) % second.len()].map(|z| 2 * (z + y)));
    }
    let middles = [middle(first), middle(second)];
    let own = match (opposite(first), opposite(second), difference, sum) {
        (Some(own), ..) => own,
        (None, _, Some(difference), Some(sum)) => (sum - difference) / 2,
        (None, Some(other), Some(difference), None) => other - difference,
        (None, Some(other), None, Some(sum)) => sum - other,
        (None, None, Some(difference), None) => (middles[0] + middles[1] - difference) / 2,
        (None, None, None, Some(sum)) => (middles[0] + sum - middles[1]) / 2,
        (None, _, None, None) => middles[0],
    };
    let other = match (opposite(second), difference, sum) {
        (Some(other), ..) => other,
        (None, Some(difference), _) => own + difference,
        (None, None, Some(sum)) => sum - own,
        (None, None, None) => middles[1],
    };
    [own, other]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_both_halves() {
        for (inputs, f) in [
            (Values::range(0, 15), (|x| x * 7 % 16) as fn(i32) -> i32),
            (Values::range(-15, 15), i32::signum),
            (Values::range(0, 30), |x| 4 * if x == 15 { 1 } else { x / 16 * 2 }),
            (Values::range(0, 16), |x| i32::from(x > 0)),
            (Values::from_iter([0, 8, 16]), |x| 8 * i32::from(x == 16)),
        ] {
            let table = Table::new(inputs, f);
            assert!(inputs.iter().all(|x| table.result(x) == f(x)), "{inputs:?}");
        }
    }

    #[test]
    #[should_panic(expected = "negacyclic")]
    fn what_no_rotation_computes() {
        Table::new(Values::range(0, 17), |x| x);
    }

    type Function = fn(i32) -> i32;

    /// Eight places leave room for anything, more only for what agrees.
    #[test]
    fn two_functions_of_one_rotation() {
        let digit: Function = |x| x.rem_euclid(4);
        let carry: Function = |x| x.div_euclid(4);
        let any: Function = |x| x * 13 % 16;
        // Minus a digit and a carry, where a condition at 5 holds.
        let negated: Function = |x| if x < 4 { x } else { (8 - x) % 4 };
        let borrowed: Function = |x| i32::from(x == 4);
        // A sign on both halves, a quarter of the circle apart.
        let (upper, inner): (Function, Function) =
            (|x| i32::from(x >= 16), |x| i32::from((8..24).contains(&x)));
        for (inputs, first, second, fits) in [
            (Values::range(0, 7), digit, carry, true),
            (Values::range(-3, 4), digit, any, true),
            (Values::range(0, 8), negated, borrowed, true),
            (Values::range(0, 31), upper, inner, true),
            (Values::range(0, 15), |x| i32::from(x > 3), |x| i32::from(x > 11), true),
            (Values::range(0, 15), digit, carry, false),
            (Values::range(0, 9), any, digit, false),
        ] {
            let [a, b] = [first, second].map(|f| places(inputs, 0, f));
            let pair = Pair::new(&a, &b).or_else(|| Pair::new(&b, &a));
            assert_eq!(pair.is_some(), fits, "{inputs:?}");
            let Some(pair) = Pair::new(&a, &b) else { continue };
            assert!((1..16).contains(&pair.steps));
            for x in inputs.iter() {
                assert_eq!((pair.table.result(x), pair.second(x)), (first(x), second(x)), "{x}");
            }
        }
    }
}
