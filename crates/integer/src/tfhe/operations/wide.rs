//! Columns of products as wide sums: results in fine steps, added up many at a time.
//!
//! A sum of up to eight products, in quarters of a step, goes once around the circle where it is
//! read modulo 16. Its four lowest bits and what is above them take four look-ups in two levels:
//! bit 3 first, which a rotation finds on a whole circle; then, without it, the lowest digit, bit
//! 2, and all above (`record/wide.rs`). Where there is room for the errors of more products,
//! several such sums share the look-ups of their lowest bits.
//!
//! Results are in whole steps, and are summed up as other digits are; or they are in half steps,
//! for one more sum of each column.

use crate::tfhe::record::{Linear, Recorder, Wide};
use crate::tfhe::{FINE, RADIX};

/// Fine steps of a product.
const PRODUCT: i32 = 1;
/// Of a digit that is added up once more.
const DIGIT: i32 = FINE / 2;
/// Of a product that only the last two columns have: all of them fill the circle modulo 16.
const LAST: i32 = 2 * FINE;

/// Terms of a sum that are worth its look-ups.
const LEAST: usize = 5;

/// How columns are summed up; which way is best depends on how many there are.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    /// The most that a column's terms may be for digits to be made of them as they are; what is
    /// more is a wide sum once more.
    ready: i32,
    /// Whether several sums share the look-ups of their lowest bits.
    joint: bool,
    /// Products of a column of which so many are not worth a sum of their own.
    few: usize,
    /// Whether so few that are left over are spread over the other sums of the column.
    even: bool,
}

impl Sums {
    /// All that some width or budget is best served by.
    pub const ALL: [Self; 4] = [
        Self { ready: 24, joint: true, few: 2, even: false },
        Self { ready: i32::MAX, joint: true, few: 3, even: true },
        Self { ready: 18, joint: false, few: 2, even: false },
        Self { ready: 24, joint: false, few: 2, even: false },
    ];
}

/// The product of two digits, from 0 on once its least value is taken off.
#[derive(Clone)]
struct Product<'a> {
    a: &'a Linear,
    b: &'a Linear,
    times: i32,
    least: i32,
    range: i32,
}

impl<'a> Product<'a> {
    fn new(a: &'a Linear, b: &'a Linear, times: i32) -> Self {
        let ends = |x: &Linear| [x.least(), x.most()];
        let all = ends(a).into_iter().flat_map(|a| ends(b).map(|b| times * a * b));
        let least = all.clone().min().expect("four products");
        let range = all.max().expect("four products") - least;
        Self { a, b, times, least, range }
    }

    /// A function of it, with results that count `step` fine steps.
    fn look_up(&self, recorder: &mut Recorder, step: i32, f: impl Fn(i32) -> i32) -> Linear {
        let f = |a: i32, b: i32| f(self.times * a * b - self.least);
        match (self.a.value(), self.b.value()) {
            (Some(a), _) => recorder.look_up_in_steps(self.b, step, |b| f(a, b)),
            (_, Some(b)) => recorder.look_up_in_steps(self.a, step, |a| f(a, b)),
            _ => {
                let (x, least) = (self.a.times(RADIX).plus(self.b), self.b.least());
                recorder.look_up_in_steps(&x, step, |x| {
                    let a = (x - least).div_euclid(RADIX);
                    f(a, x - RADIX * a)
                })
            }
        }
    }
}

/// Two digits, the column of their product, and how often it occurs there.
pub(super) struct Pair<'a> {
    pub a: &'a Linear,
    pub b: &'a Linear,
    pub column: usize,
    pub times: i32,
}

/// The pairs of digits whose products count less than the length. Of a square, products of two
/// digits occur twice.
pub(super) fn pairs<'a>(a: &'a [Linear], b: &'a [Linear]) -> impl Iterator<Item = Pair<'a>> {
    let (len, is_square) = (a.len(), a == b);
    (0..len).flat_map(move |i| {
        let js = if is_square { i } else { 0 }..len - i;
        js.map(move |j| {
            let times = if is_square && i < j { 2 } else { 1 };
            Pair { a: &a[i], b: &b[j], column: i + j, times }
        })
    })
}

/// Whether the budget has room for sums that are worth their look-ups.
pub(super) fn has_room(recorder: &Recorder) -> bool {
    [PRODUCT, DIGIT, LAST]
        .iter()
        .all(|&step| Limits::new(recorder, step, 3, Sums::ALL[0]).terms >= LEAST)
}

/// Terms in whole steps of each column, from the products of digits, by what they count: of pairs
/// that count less than the length, up to so many columns.
pub(super) fn wide_products(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    columns: usize,
    how: Sums,
) -> Vec<Vec<Linear>> {
    let mut products: Vec<Vec<Product>> = vec![Vec::new(); columns];
    for pair in pairs(a, b) {
        products[pair.column].push(Product::new(pair.a, pair.b, pair.times));
    }
    let constants: Vec<i32> = products.iter().map(|of| of.iter().map(|x| x.least).sum()).collect();
    let (mut wide, mut few) = (Vec::new(), Vec::new());
    // What each column gets of all sums.
    let mut totals = Totals(vec![0; columns]);
    for (k, products) in products.iter().enumerate() {
        let step = if columns - k <= 2 { LAST } else { PRODUCT };
        let limits = Limits::new(recorder, step, columns - k, how);
        let products = products.iter().filter(|x| x.range > 0);
        for parts in limits.bundles(products, |x| x.range) {
            let terms: Vec<&Product> = parts.iter().flatten().collect();
            if terms.len() <= how.few {
                few.extend(terms.into_iter().map(|x| (k, x.clone())));
            } else {
                totals.add(k, terms.iter().map(|x| x.range).sum());
                wide.push((k, step, parts));
            }
        }
    }
    // Of few products each is one term more, where that has room, else two digits.
    let most = Wide::largest(DIGIT);
    let few: Vec<(usize, Product, bool)> = few
        .into_iter()
        .map(|(k, x)| {
            let is_whole = totals.0[k] > how.ready && totals.0[k] + x.range <= most;
            if is_whole {
                totals.0[k] += x.range;
            } else {
                totals.add(k, x.range);
            }
            (k, x, is_whole)
        })
        .collect();
    let step = |&total: &i32| if total <= how.ready { FINE } else { DIGIT };
    let steps = totals.0.iter().map(step).collect();
    let mut next = Columns { terms: vec![Vec::new(); columns], steps };
    for (k, x, is_whole) in few {
        if is_whole {
            let whole = x.look_up(recorder, next.steps[k], |x| x);
            next.push(k, whole);
            continue;
        }
        // The level of products has the most to do: digits are found in the next.
        let whole = match recorder.wants_few_bootstrappings() {
            true => None,
            false => Some(x.look_up(recorder, FINE, |x| x)),
        };
        let mut digit = |step: i32, f: fn(i32) -> i32| match &whole {
            None => x.look_up(recorder, step, f),
            Some(whole) => recorder.look_up_in_steps(whole, step, f),
        };
        let low = digit(next.steps[k], |x| x % RADIX);
        let high = next.steps.get(k + 1).map(|&step| digit(step, |x| x / RADIX));
        next.push(k, low);
        if let Some(high) = high {
            next.push(k + 1, high);
        }
    }
    for (k, step, parts) in wide {
        let mut of = |part: &Vec<Product>| -> Vec<Linear> {
            // The last two columns have room for their lowest bits alone.
            let value = |x: i32| if step == LAST { x % (RADIX * RADIX) } else { x };
            part.iter().map(|x| x.look_up(recorder, step, value)).collect()
        };
        let parts: Vec<Vec<Linear>> = parts.iter().map(&mut of).collect();
        next.read(recorder, k, &parts, step);
    }
    let mut terms = next.into_steps(recorder, how);
    for (terms, constant) in terms.iter_mut().zip(constants).filter(|(_, c)| *c != 0) {
        terms.push(Linear::constant(constant));
    }
    terms
}

/// What sums of a column may be.
struct Limits {
    /// The most that a sum of one part is, and of each of several.
    whole: i32,
    part: i32,
    /// Parts of a sum, and terms.
    parts: usize,
    terms: usize,
    how: Sums,
}

impl Limits {
    /// Of sums in such steps, with so many columns from their own on.
    fn new(recorder: &Recorder, step: i32, columns: usize, how: Sums) -> Self {
        let weight = Wide::weight(step) as u32;
        // Bit 3 is taken off, with the weight that it needs at worst.
        let bit = Wide::bit_weight(step, if columns > 1 { DIGIT } else { step }) as u32;
        let terms = (recorder.wide_budget() / weight.pow(2)).saturating_sub(bit.pow(2)) as usize;
        let parts = Wide::most_parts(step);
        if columns <= 2 {
            let how = Sums { joint: false, ..how };
            return Self { whole: i32::MAX, part: i32::MAX, parts, terms, how };
        }
        let (whole, part) = (Wide::largest(step), Wide::largest_about(step));
        Self { whole, part, parts, terms, how }
    }

    /// Terms in bundles for a sum each, by parts of it.
    fn bundles<'a, T: Clone + 'a>(
        &self,
        terms: impl IntoIterator<Item = &'a T>,
        most: impl Fn(&T) -> i32,
    ) -> Vec<Vec<Vec<T>>> {
        let terms: Vec<T> = terms.into_iter().cloned().collect();
        if !self.how.joint {
            let all = bundles(terms, &most, self.whole, self.terms);
            return all.into_iter().map(|bundle| vec![bundle]).collect();
        }
        let of_parts = |bundle: Vec<T>| -> Vec<Vec<Vec<T>>> {
            if bundle.iter().map(&most).sum::<i32>() <= self.whole {
                return vec![vec![bundle]];
            }
            let parts = bundles(bundle, &most, self.part, self.terms);
            parts.chunks(self.parts).map(<[_]>::to_vec).collect()
        };
        let of = |count| bundles(terms.clone(), &most, self.whole + self.part, count);
        let mut all = of(self.terms);
        let is_few = |bundle: &Vec<T>| bundle.len() <= self.how.few;
        if self.how.even && all.len() > 1 && all.iter().any(is_few) {
            all = of(terms.len().div_ceil(all.len()));
        }
        all.into_iter().flat_map(of_parts).collect()
    }
}

/// Terms in bundles of so many that together are at most `largest`.
fn bundles<T>(terms: Vec<T>, most: impl Fn(&T) -> i32, largest: i32, count: usize) -> Vec<Vec<T>> {
    let mut all: Vec<(i32, Vec<T>)> = Vec::new();
    for term in terms {
        let own = most(&term);
        let fits = |(sum, of): &&mut (i32, Vec<T>)| sum + own <= largest && of.len() < count;
        match all.iter_mut().find(fits) {
            Some((sum, of)) => {
                *sum += own;
                of.push(term);
            }
            None => all.push((own, vec![term])),
        }
    }
    all.into_iter().map(|(_, bundle)| bundle).collect()
}

/// What columns may be at most.
struct Totals(Vec<i32>);

impl Totals {
    /// The digits of a sum, as [`Columns::read`] gives them.
    fn add(&mut self, k: usize, most: i32) {
        let digits = [most, most / RADIX].map(|x| x.min(RADIX - 1));
        let digits = digits.into_iter().chain([most / (RADIX * RADIX)]);
        self.0[k..].iter_mut().zip(digits).for_each(|(total, digit)| *total += digit);
    }
}

/// Columns of terms, each with the fine steps that one of it is.
struct Columns {
    terms: Vec<Vec<Linear>>,
    steps: Vec<i32>,
}

impl Columns {
    fn push(&mut self, k: usize, x: Linear) {
        if x.value() != Some(0) {
            self.terms[k].push(x);
        }
    }

    /// The digits of a sum, given by its parts.
    fn read(&mut self, recorder: &mut Recorder, k: usize, parts: &[Vec<Linear>], step: i32) {
        let parts: Vec<Wide> = parts.iter().map(|terms| recorder.wide(terms, step)).collect();
        let mut sum = match &parts[..] {
            [sum] => sum.clone(),
            parts => recorder.wide_sum(parts),
        };
        let has = |columns: usize| k + columns < self.steps.len();
        let (has_next, has_above) = (has(1), has(2));
        let most = sum.most();
        if most >= 2 * RADIX {
            // A two of the next column.
            let next = if has_next { self.steps[k + 1] } else { step };
            let bit = recorder.lowest(&sum, next, |s| s / (2 * RADIX) * 2);
            sum = recorder.without(&sum, &bit, next);
            if has_next {
                self.push(k + 1, bit);
            }
        }
        let digit = recorder.lowest(&sum, self.steps[k], |s| s % RADIX);
        self.push(k, digit);
        if has_next {
            let bit = recorder.lowest(&sum, self.steps[k + 1], |s| s / RADIX);
            self.push(k + 1, bit);
        }
        if has_above && most >= RADIX * RADIX {
            // Of several parts what is above is found in part, which leaves less of the sum.
            let next = self.steps[k + 2];
            let mut above = Vec::new();
            if parts.len() > 1 {
                above = parts.iter().map(|part| recorder.about(part, next)).collect();
                sum = recorder.without_parts(&sum, &above, next);
            }
            above.push(recorder.above(&sum, next, |above| above));
            self.push(k + 2, Linear::sum(&above).known(0, most / (RADIX * RADIX)));
        }
    }

    /// The same number with all columns in whole steps.
    fn into_steps(self, recorder: &mut Recorder, how: Sums) -> Vec<Vec<Linear>> {
        let columns = self.steps.len();
        let mut next = Self { terms: vec![Vec::new(); columns], steps: vec![FINE; columns] };
        for (k, (terms, &step)) in self.terms.iter().zip(&self.steps).enumerate() {
            if step == FINE {
                next.terms[k].extend_from_slice(terms);
                continue;
            }
            let limits = Limits::new(recorder, step, columns - k, how);
            for parts in limits.bundles(terms, Linear::most) {
                next.read(recorder, k, &parts, step);
            }
        }
        next.terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::program::Program;
    use crate::tfhe::record::{Aim, Budgets, DigitState, Rules, Values};

    /// The digits of sums of so many terms up to 9, read in parts; terms count `step` fine steps.
    fn program(parts: &[usize], step: i32) -> Program {
        let budgets = Budgets { half: 25, whole: 1600 };
        let rules = Rules { budgets, pairs: true, aim: Aim::FewLevels };
        let mut recorder = Recorder::new(rules);
        let state = DigitState { values: Values::range(0, 9), norm: 1 };
        let mut next = 0..;
        let mut term = |recorder: &mut Recorder| {
            let x = recorder.input(0, next.next().expect("no end"), state);
            recorder.look_up_in_steps(&x, step, |x| x)
        };
        let parts: Vec<Vec<Linear>> =
            parts.iter().map(|&n| (0..n).map(|_| term(&mut recorder)).collect()).collect();
        let mut columns = Columns { terms: vec![Vec::new(); 3], steps: vec![FINE; 3] };
        columns.read(&mut recorder, 0, &parts, step);
        let digits: Vec<Linear> = columns.terms.iter().map(Linear::sum).collect();
        assert!(recorder.is_within_budget());
        Program::new(recorder, &[digits])
    }

    /// Terms up to 9 with this sum.
    fn terms(count: usize, sum: i32, last: bool) -> Vec<i32> {
        let mut left = sum;
        let mut take = || {
            let x = left.min(9);
            left -= x;
            x
        };
        let mut terms: Vec<i32> = (0..count).map(|_| take()).collect();
        if last {
            terms.reverse();
        }
        terms
    }

    fn number(digits: &[i32]) -> i32 {
        digits.iter().rev().fold(0, |n, d| 4 * n + d)
    }

    #[test]
    fn every_sum_is_read() {
        for (count, step) in [(8, 1), (5, 2), (3, 4)] {
            assert!(9 * count as i32 <= Wide::largest(step) && 9 * count as i32 + 9 > 16);
            let program = program(&[count], step);
            // Terms in whole steps are what is given.
            let (levels, own) = if step == FINE { (2, 0) } else { (3, count) };
            assert_eq!((program.levels, program.bootstrappings()), (levels, own + 4));
            for (sum, last) in (0..=9 * count as i32).flat_map(|s| [(s, false), (s, true)]) {
                let digits = program.simulate(&[terms(count, sum, last)]);
                assert_eq!(number(&digits[0]), sum, "{step}");
            }
        }
    }

    /// Whatever errors make of parts near multiples of 16.
    #[test]
    fn every_pair_of_sums_is_read_in_parts() {
        for (counts, step) in [([8, 8], 1), ([5, 5], 2)] {
            assert!(9 * counts[0] as i32 <= Wide::largest_about(step));
            let program = program(&counts, step);
            let count: usize = counts.iter().sum();
            assert_eq!((program.levels, program.bootstrappings()), (3, count + 6));
            let most = counts.map(|count| 9 * count as i32);
            for (a, b) in (0..=most[0]).flat_map(|a| (0..=most[1]).map(move |b| (a, b))) {
                for last in [false, true] {
                    let inputs = [terms(counts[0], a, last), terms(counts[1], b, last)].concat();
                    let digits = program.simulate(&[inputs]);
                    assert_eq!(number(&digits[0]), a + b, "{a} and {b}, {step}");
                }
            }
        }
    }

    #[test]
    fn as_many_parts_as_there_may_be() {
        let counts = [8; 4];
        assert_eq!(counts.len(), Wide::most_parts(1));
        let recorder = Recorder::new(Rules {
            budgets: Budgets { half: 25, whole: 64 * 40 },
            pairs: true,
            aim: Aim::FewLevels,
        });
        let limits = Limits::new(&recorder, 1, 3, Sums::ALL[0]);
        let terms = [9; 40];
        for parts in limits.bundles(&terms, |&x| x) {
            assert!(parts.len() <= 4 && parts.iter().all(|part| part.len() <= 8), "{parts:?}");
        }
        let program = program(&[5; 4], 1);
        for seed in 0..20_000i32 {
            let of = |i: i32| seed.wrapping_mul(0x9e37_79b1_u32 as i32).rotate_left(i as u32) & 15;
            let inputs: Vec<i32> = (0..20).map(|i| of(i).min(9)).collect();
            let sum = inputs.iter().sum::<i32>();
            let digits = program.simulate(&[inputs]);
            assert_eq!(number(&digits[0]), sum, "{seed}");
        }
    }

    /// A part more leaves a sum that half of the circle has no room for.
    #[test]
    #[should_panic(expected = "margin")]
    fn more_parts_than_there_may_be() {
        program(&[3; 6], 2);
    }
}
