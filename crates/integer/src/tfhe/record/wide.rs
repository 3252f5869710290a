//! Wide sums: of results in fine steps, read from their lowest bits on.
//!
//! The error of a result is small beside what a look-up tolerates, which key switch and modulus
//! switch of its input use up. So results may stand in finer steps, where a sum has more room, and
//! errors of many of them add up. What is read is a multiple of the sum: it goes round the circle,
//! which leaves the lowest bits, in steps of two.

use super::{Kind, Linear, Margin, Recorder, Table, Values};
use crate::tfhe::{FINE, STATES};

/// Fine steps around the circle.
const CIRCLE: i32 = FINE * STATES;

/// What is read at once of a sum: it modulo this, in steps of two.
const MODULUS: i32 = STATES / 2;

/// Beside the place of a value, so that margins to both sides are the same.
const OFFSET: i32 = FINE / 2;

/// A place on the circle, in fine steps from its middle.
pub(crate) fn around(x: i32) -> i32 {
    (x + CIRCLE / 2).rem_euclid(CIRCLE) - CIRCLE / 2
}

/// A sum of results of which each counts `step` fine steps.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    /// Values are unknown, and there is no constant.
    terms: Linear,
    constant: i32,
    /// Fine steps that one is.
    step: i32,
    least: i32,
    most: i32,
    /// A bit of the sum that is 0.
    cleared: Option<i32>,
}

impl Wide {
    pub fn most(&self) -> i32 {
        self.most
    }

    /// The most that a sum may be whose upper bits are looked up: half of the circle has room for
    /// any function, and one number more is opposite to the first.
    pub fn largest(step: i32) -> i32 {
        (CIRCLE / 2 / (MODULUS * step) + 1) * MODULUS - 1
    }

    /// The most that a sum may be for [`Recorder::about`].
    pub fn largest_about(step: i32) -> i32 {
        // The last place that it may stand at is the last of those that it may be looked up at.
        ((CIRCLE / 2 / (MODULUS * step) + 1) * MODULUS * step - FINE) / step
    }

    /// Parts of which so many leave a sum whose upper bits can be looked up.
    pub fn most_parts(step: i32) -> usize {
        (CIRCLE / 2 / (MODULUS * step)) as usize
    }

    /// The weight with which bit 3 of a sum is taken off it, where it is looked up as 2 in steps of
    /// the next column.
    pub fn bit_weight(step: i32, next: i32) -> i32 {
        let weight = MODULUS / 2 * step / (2 * next);
        assert_eq!(weight * 2 * next, MODULUS / 2 * step, "a bit in steps that are no part of it");
        weight
    }

    /// The weight with which a sum is read modulo 16.
    pub fn weight(step: i32) -> i32 {
        CIRCLE / (MODULUS * step)
    }

    /// The terms, as of no value.
    fn unknown(&self) -> Linear {
        Linear { values: Values::one(0), ..self.terms.clone() }
    }

    fn values(&self) -> impl Iterator<Item = i32> + Clone + '_ {
        (self.least..=self.most).filter(|s| self.cleared.is_none_or(|bit| s & bit == 0))
    }

    /// Values less than 16, as they are read modulo that.
    fn lowest(&self) -> impl Iterator<Item = i32> + Clone + '_ {
        let all = self.most - self.least >= MODULUS - 1;
        let (least, most) = if all { (0, MODULUS - 1) } else { (self.least, self.most) };
        (least..=most).filter(|s| self.cleared.is_none_or(|bit| s & bit == 0))
    }
}

impl Recorder {
    /// The largest norm of a wide sum, as it is read.
    pub fn wide_budget(&self) -> u32 {
        self.rules.budgets.whole
    }

    /// A function of a sum of digits, with results from 0 on that count `step` fine steps each.
    pub fn look_up_in_steps(&mut self, x: &Linear, step: i32, f: impl Fn(i32) -> i32) -> Linear {
        self.looked_up_in_steps(x, step, &f)
    }

    fn looked_up_in_steps(&mut self, x: &Linear, step: i32, f: &dyn Fn(i32) -> i32) -> Linear {
        if step == FINE {
            return self.looked_up(x, f);
        }
        let x = self.within_budget(x);
        let places: Vec<(i32, i32)> = x.values.iter().map(|v| (FINE * v, f(v))).collect();
        let values = places.iter().map(|&(x, _)| around(x)).collect();
        let x = Linear { constant: FINE * x.constant, values, ..x };
        self.wide_look_up(x, &places, step, Margin::Half)
    }

    /// A stored sum of sums in the same steps.
    pub fn wide_sum(&mut self, sums: &[Wide]) -> Wide {
        let zero = Linear::constant(0);
        let terms = sums.iter().fold(zero, |sum, x| sum.plus(&x.unknown()));
        Wide {
            terms: self.sum(&terms),
            constant: sums.iter().map(|x| x.constant).sum(),
            least: sums.iter().map(|x| x.least).sum(),
            most: sums.iter().map(|x| x.most).sum(),
            ..sums[0].clone()
        }
    }

    /// A stored sum of terms from 0 on, which count `step` fine steps each.
    pub fn wide(&mut self, terms: &[Linear], step: i32) -> Wide {
        let zero = Linear::constant(0);
        let sum = terms.iter().fold(zero.clone(), |sum, x| {
            sum.plus(&Linear { constant: 0, values: zero.values, ..x.clone() })
        });
        let total = |of: fn(&Linear) -> i32| terms.iter().map(of).sum::<i32>();
        Wide {
            terms: self.sum(&sum),
            constant: total(Linear::constant_term),
            step,
            least: total(Linear::least),
            most: total(Linear::most),
            cleared: None,
        }
    }

    /// A function of the lowest four bits, of which the highest must be 0 unless it is the
    /// function; results from 0 on count `step` fine steps each.
    pub fn lowest(&mut self, sum: &Wide, step: i32, f: impl Fn(i32) -> i32) -> Linear {
        let weight = Wide::weight(sum.step);
        let places = sum.lowest().map(|s| (CIRCLE / MODULUS * s, f(s))).collect();
        self.read(sum, weight, places, step)
    }

    /// A function of what is above the lowest four bits, of which the highest is 0.
    pub fn above(&mut self, sum: &Wide, step: i32, f: impl Fn(i32) -> i32) -> Linear {
        let places = sum.values().map(|s| (sum.step * s, f(s.div_euclid(MODULUS)))).collect();
        self.read(sum, 1, places, step)
    }

    /// The sum less bit 3, which was looked up as 2 in such steps.
    pub fn without(&self, sum: &Wide, bit: &Linear, step: i32) -> Wide {
        let weight = Wide::bit_weight(sum.step, step);
        let unknown = Linear { values: Values::one(0), ..bit.times(-weight) };
        let terms = sum.unknown().plus(&unknown);
        Wide { terms, cleared: Some(MODULUS / 2), ..sum.clone() }
    }

    /// About a sixteenth of a sum from 0 on, from below: what is left of the sum without 16 times
    /// that is from -3 to 15, or less far. Which of two it is near a multiple of 16 the error
    /// decides, so it takes no margin there. Results count `step` fine steps each.
    pub fn about(&mut self, sum: &Wide, step: i32) -> Linear {
        // Of a place, whatever stands there.
        let last = (sum.step * sum.most + FINE - 1) / FINE;
        let part = MODULUS * sum.step / FINE;
        let places: Vec<_> = (0..=last).map(|place| (FINE * place, place / part)).collect();
        let values = sum.values().map(|s| around(sum.step * s)).collect();
        let x = Linear { constant: sum.step * sum.constant, values, ..sum.unknown() };
        self.wide_look_up(x, &places, step, Margin::Half)
    }

    /// A sum, whose parts [`Recorder::about`] was asked for in such steps, without what that gave.
    pub fn without_parts(&self, sum: &Wide, abouts: &[Linear], step: i32) -> Wide {
        let weight = MODULUS * sum.step / step;
        assert_eq!(weight * step, MODULUS * sum.step, "a part in steps that are no part of it");
        let terms = abouts.iter().fold(sum.unknown(), |sum, x| {
            sum.plus(&Linear { values: Values::one(0), ..x.times(-weight) })
        });
        let (below, count) = ((FINE - 1) / sum.step, abouts.len() as i32);
        // Without bit 3, what is below 0 is less.
        let least = -(below * count + MODULUS - 1) / MODULUS * MODULUS;
        Wide { terms, least, most: (MODULUS - 1) * count, ..sum.clone() }
    }

    fn read(&mut self, sum: &Wide, weight: i32, places: Vec<(i32, i32)>, step: i32) -> Linear {
        let places: Vec<_> = places.into_iter().map(|(x, y)| (x + OFFSET, y)).collect();
        let constant = weight * sum.step * sum.constant + OFFSET;
        let values = places.iter().map(|&(x, _)| around(x)).collect();
        let x = Linear { constant, values, ..sum.unknown().times(weight) };
        self.wide_look_up(x, &places, step, Margin::Whole)
    }

    /// A look-up of a sum with values and constant in fine steps: places, and results there, which
    /// count `step` fine steps each.
    fn wide_look_up(
        &mut self,
        x: Linear,
        places: &[(i32, i32)],
        step: i32,
        margin: Margin,
    ) -> Linear {
        let results: Values = places.iter().map(|&(_, y)| y).collect();
        if results.is_one() {
            return Linear::constant(results.least());
        }
        let most = match margin {
            Margin::Half => self.rules.budgets.half,
            Margin::Whole => self.rules.budgets.whole,
        };
        self.beyond |= self.norm(&x) > most;
        let x = Linear { constant: around(x.constant), ..x };
        let x = self.few_terms(&x);
        let at = places.iter().map(|&(x, y)| (x, step * y));
        let table = Table::in_fine_steps(at, margin.fine_steps());
        let key = (x.terms.clone(), x.constant, Some(table.clone()));
        let node = self.node(key, Kind::LookUp { x, table, margin });
        Linear::node(node, results)
    }

    /// A look-up of a sum in fine steps again, with a weight in its table, if that has room.
    pub(super) fn times(
        &mut self,
        x: &Linear,
        table: &Table,
        margin: Margin,
        weight: i32,
    ) -> Option<Linear> {
        let table = table.times(weight)?;
        let key = (x.terms.clone(), x.constant, Some(table.clone()));
        let node = self.node(key, Kind::LookUp { x: x.clone(), table, margin });
        // What it may be the sum that it is a term of knows.
        Some(Linear::node(node, Values::one(0)))
    }
}
