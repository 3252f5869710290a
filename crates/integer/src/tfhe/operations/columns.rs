//! Columns of terms become digits, one column after another, with few bootstrappings.
//!
//! A rotation reads a sum on the circle of 32 places. What it takes to make a digit of one, and
//! what goes to the next column:
//!
//! - *8 places*: one rotation finds digit and carry, as two functions of it.
//! - *16 places*: two, since each of both needs all of a table.
//! - *32 places*: a threshold halves them. Whether the sum is in the upper half is 0 or 4, which
//!   the next column takes as it is and this one with the weight 4; 16 places are left.
//!
//! For each place that it takes off a column, the last is the cheapest.

use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{RADIX, STATES};

/// How far values of a sum may be apart for a rotation that finds digit and carry.
const EIGHT: i32 = STATES / 4 - 1;
/// The same for two.
const SIXTEEN: i32 = STATES / 2 - 1;
/// The same for a threshold.
const ALL: i32 = STATES - 1;
/// Half of the circle.
const HALF: i32 = STATES / 2;
/// What a threshold adds to the norm of a sum that keeps its weight of 4.
const THRESHOLD_NORM: u32 = (RADIX * RADIX) as u32;

/// Columns in the order of what they count, with constants beside their terms.
struct Columns {
    /// Terms with the least value 0.
    terms: Vec<Vec<Linear>>,
    constants: Vec<i32>,
}

/// The sum of columns of terms by what they count, as digits below 4, modulo 4 to the number of
/// columns. Terms may be below 0.
pub(super) fn resolve_columns(recorder: &mut Recorder, columns: Vec<Vec<Linear>>) -> Vec<Linear> {
    let count = columns.len();
    let mut all = Columns { terms: vec![Vec::new(); count], constants: vec![0; count] };
    for (k, terms) in columns.iter().enumerate() {
        terms.iter().for_each(|x| all.push(k, x));
    }
    (0..count).map(|k| all.resolve(recorder, k)).collect()
}

/// One round of thresholds: in each column, sums that fill the circle become a digit and two
/// carries each, all at once, in two levels. What is left over stays.
pub(super) fn halve_columns(recorder: &mut Recorder, columns: &[Vec<Linear>]) -> Vec<Vec<Linear>> {
    let count = columns.len();
    let mut next = Columns { terms: vec![Vec::new(); count], constants: vec![0; count] };
    let norm = recorder.budget().saturating_sub(THRESHOLD_NORM);
    for (k, terms) in columns.iter().enumerate() {
        let mut left = terms.clone();
        loop {
            let taken = take(recorder, &left, ALL, norm);
            if taken.sum.range() <= SIXTEEN + RADIX {
                next.terms[k].extend(left);
                break;
            }
            let sum = recorder.sum(&taken.sum);
            let rest = next.threshold(recorder, k, &sum, true);
            let digit = next.digit(recorder, k, &rest);
            next.push(k, &digit);
            left = taken.rest;
        }
    }
    next.terms
}

impl Columns {
    fn push(&mut self, k: usize, x: &Linear) {
        // What is beyond the last column is dropped.
        let Some(terms) = self.terms.get_mut(k) else { return };
        let least = x.least();
        self.constants[k] += least;
        if x.range() > 0 {
            terms.push(x.plus_constant(-least));
        }
    }

    /// The digit of a column whose carries are all there.
    fn resolve(&mut self, recorder: &mut Recorder, k: usize) -> Linear {
        let constant = self.constants[k].rem_euclid(RADIX);
        let handed = (self.constants[k] - constant) / RADIX;
        if let Some(next) = self.constants.get_mut(k + 1) {
            *next += handed;
        }
        loop {
            let terms = std::mem::take(&mut self.terms[k]);
            let total: i32 = terms.iter().map(Linear::range).sum();
            if total <= SIXTEEN {
                let sum = Linear::sum(&terms).plus_constant(constant);
                if recorder.norm(&sum) <= recorder.budget() {
                    return self.digit(recorder, k, &sum);
                }
            }
            if let Some(sum) = self.reduce(recorder, k, terms, total) {
                return self.digit(recorder, k, &sum.plus_constant(constant));
            }
        }
    }

    /// The digit of a sum of 16 places at most, and its carry to the next column.
    fn digit(&mut self, recorder: &mut Recorder, k: usize, sum: &Linear) -> Linear {
        let digit = recorder.look_up(sum, |x| x.rem_euclid(RADIX));
        if k + 1 < self.terms.len() {
            let carry = recorder.look_up(sum, |x| x.div_euclid(RADIX));
            self.push(k + 1, &carry);
        }
        digit
    }

    /// Takes some terms together, so that the column becomes smaller; gives a sum of 16 places that
    /// is all that is left of it.
    fn reduce(
        &mut self,
        recorder: &mut Recorder,
        k: usize,
        terms: Vec<Linear>,
        total: i32,
    ) -> Option<Linear> {
        let beyond = self.terms.len() - k;
        // A threshold as 16 leaves the sum in this column with hardly more error. In the last two
        // columns nobody asks for its carry, which is one of the column after the next.
        let carry_counts = beyond > 2;
        let noise = if carry_counts { THRESHOLD_NORM } else { 1 };
        let large = take(recorder, &terms, ALL, recorder.budget().saturating_sub(noise));
        // A few places more than 16 take two small steps as many, which hand on less.
        let few = if carry_counts { SIXTEEN + RADIX } else { SIXTEEN };
        if large.sum.range() > few {
            let sum = recorder.sum(&large.sum);
            let rest = self.threshold(recorder, k, &sum, carry_counts);
            if large.rest.is_empty() {
                return Some(rest);
            }
            self.terms[k] = large.rest;
            let rest = if carry_counts { self.digit(recorder, k, &rest) } else { rest };
            self.push(k, &rest);
            return None;
        }
        let most = if total - SIXTEEN <= RADIX { total - RADIX } else { SIXTEEN };
        let mut small = take(recorder, &terms, most.max(EIGHT), recorder.budget());
        if small.sum.range() < RADIX {
            small = take(recorder, &terms, SIXTEEN, recorder.budget());
        }
        // A digit that would stay as it is: what keeps others from joining it is their error.
        if small.sum.range() < RADIX && recorder.norm(&small.sum) <= 1 {
            let worst = (0..terms.len()).max_by_key(|&i| recorder.norm(&terms[i]));
            let mut rest = terms;
            let sum = worst.map(|i| rest.swap_remove(i)).unwrap_or(small.sum);
            small = Taken { sum, rest };
        }
        self.terms[k] = small.rest;
        let digit = self.digit(recorder, k, &small.sum);
        self.push(k, &digit);
        None
    }

    /// A sum from 0 to 31 less 16 where it is as much.
    fn threshold(
        &mut self,
        recorder: &mut Recorder,
        k: usize,
        sum: &Linear,
        carry_counts: bool,
    ) -> Linear {
        let (scale, weight) = if carry_counts { (HALF / RADIX, RADIX) } else { (HALF, 1) };
        let upper = recorder.look_up(sum, |x| scale * i32::from(x >= HALF));
        if carry_counts {
            self.push(k + 1, &upper);
        }
        sum.minus(&upper.times(weight)).known(0, SIXTEEN)
    }
}

/// Terms that are taken together, and the others.
struct Taken {
    sum: Linear,
    rest: Vec<Linear>,
}

/// As many terms as keep to a range and to a norm: those first that are there first, and of these
/// the larger ones.
fn take(recorder: &Recorder, terms: &[Linear], most: i32, norm: u32) -> Taken {
    let mut order: Vec<&Linear> = terms.iter().collect();
    order.sort_by_key(|x| (recorder.depth(x), -x.range()));
    let mut taken = Taken { sum: Linear::constant(0), rest: Vec::new() };
    for x in order {
        let sum = taken.sum.plus(x);
        if sum.range() <= most && recorder.norm(&sum) <= norm {
            taken.sum = sum;
        } else {
            taken.rest.push(x.clone());
        }
    }
    taken
}
