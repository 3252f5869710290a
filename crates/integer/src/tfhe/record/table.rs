//! Functions of a sum, as a rotation can compute them.

use super::values::Values;
use crate::tfhe::STATES;

/// Half of the circle: values of a table.
const HALF: usize = (STATES / 2) as usize;

/// As [`girih_tfhe::CentredTable`]: x of the lower half gives `(constant + values[x]) / 2`, and
/// x + 16 gives `(constant - values[x]) / 2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    pub values: [i8; HALF],
    pub constant: i32,
}

impl Table {
    /// The table of `f` on these values, which must differ modulo 32 where their results do; a
    /// value and its opposite on the circle must have the same sum of results everywhere.
    ///
    /// # Panics
    /// Where they have not: whoever records an operation sees to it.
    pub fn new(inputs: Values, f: impl Fn(i32) -> i32) -> Self {
        let mut results = [None; STATES as usize];
        for x in inputs.iter() {
            let slot = &mut results[x.rem_euclid(STATES) as usize];
            assert!(slot.is_none_or(|y| y == f(x)), "{inputs:?}: two results on one place");
            *slot = Some(f(x));
        }
        let opposite = (0..HALF).filter_map(|i| Some(results[i]? + results[i + HALF]?));
        let known: Vec<i32> = results.iter().copied().flatten().collect();
        let middle = known.iter().min().unwrap_or(&0) + known.iter().max().unwrap_or(&0);
        let constant = opposite.clone().next().unwrap_or(middle);
        assert!(opposite.clone().all(|sum| sum == constant), "{inputs:?}: no negacyclic function");
        let value = |i: usize| match (results[i], results[i + HALF]) {
            (Some(y), _) => 2 * y - constant,
            (None, Some(y)) => constant - 2 * y,
            // Never looked up: as near to 0 as values may be.
            (None, None) => constant & 1,
        };
        Self { values: std::array::from_fn(|i| value(i) as i8), constant }
    }

    /// What x is looked up as.
    pub fn result(&self, x: i32) -> i32 {
        let slot = x.rem_euclid(STATES) as usize;
        let half = if slot < HALF { self.values[slot] } else { -self.values[slot - HALF] };
        (self.constant + i32::from(half)) / 2
    }
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
}
