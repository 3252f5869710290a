//! Products: of all pairs of digits, summed up column by column.

use super::bits::{is_negative_digit, of_two};
use super::carry::{resolve, split};
use super::columns::{halve_columns, resolve_columns};
use super::compare::{any_from, none_or_any, none_or_any_at};
use super::negate::{Condition, negate_if};
use super::wide::{Pair, Sums, has_room, pairs, wide_products};
use crate::tfhe::record::{Linear, Recorder, Way};
use crate::tfhe::{CONDITION, RADIX};

/// The most that a look-up of any function reads.
const MOST: i32 = RADIX * RADIX - 1;

/// The product of digits below 4, modulo 4 to the number of those of `a`.
pub(super) fn multiply(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    // Thresholds take sums of whole products apart: a level more than by their digits, and fewer
    // bootstrappings.
    let halved = |recorder: &mut Recorder| {
        let columns = whole_products(recorder, a, b);
        let columns = halve_columns(recorder, &columns);
        reduce_to_digits(recorder, columns)
    };
    let by_digits = |recorder: &mut Recorder| {
        let columns = products(recorder, a, b, a.len());
        reduce_to_digits(recorder, columns)
    };
    let balanced = |recorder: &mut Recorder| {
        let columns = balanced_products(recorder, a, b);
        resolve_columns(recorder, columns)
    };
    let wide = wide_ways(recorder, a, b, a.len());
    let mut ways: Vec<&Way> = vec![&halved, &by_digits];
    if recorder.wants_few_bootstrappings() {
        ways.push(&balanced);
    }
    ways.extend(wide.iter().map(|way| &**way));
    recorder.best(&ways)
}

/// By wide sums, where there is room for them.
fn wide_ways<'a>(
    recorder: &Recorder,
    a: &'a [Linear],
    b: &'a [Linear],
    columns: usize,
) -> Vec<Box<Way<'a>>> {
    let way = |how: Sums| -> Box<Way<'a>> {
        Box::new(move |recorder| {
            let columns = wide_products(recorder, a, b, columns, how);
            reduce_to_digits(recorder, columns)
        })
    };
    if has_room(recorder) { Sums::ALL.map(way).into() } else { Vec::new() }
}

/// The product, and whether it leaves the range.
pub(super) fn multiply_overflowing(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
) -> [Vec<Linear>; 2] {
    if !signed {
        let (product, excess) = product_and_excess(recorder, a, b);
        return [product, vec![none_or_any(recorder, &excess, true)]];
    }
    let [top_a, top_b] = [a, b].map(|x| x[x.len() - 1].clone());
    let differ = of_two(recorder, &top_a, &top_b, |a, b| {
        i32::from(is_negative_digit(a) != is_negative_digit(b))
    });
    let a = negate_if(recorder, &Condition::new(&top_a, is_negative_digit), a);
    let b = negate_if(recorder, &Condition::new(&top_b, is_negative_digit), b);
    let (product, excess) = product_and_excess(recorder, &a, &b);
    let differ = Condition::new(&differ, |x| x == 1);
    let result = negate_if(recorder, &differ, &product);
    // From the middle of the range on there is the least number alone, which is its own opposite.
    let top = |recorder: &mut Recorder, x: &[Linear], scale: i32| {
        Condition::new(&x[x.len() - 1], is_negative_digit).at(recorder, scale)
    };
    let (is_large, is_negative) = (top(recorder, &product, 1), top(recorder, &result, 4));
    let beyond = none_or_any_at(recorder, &excess, true, 8);
    let all = is_large.plus(&differ.at(recorder, 2)).plus(&is_negative).plus(&beyond);
    let overflow = |x: i32| x >= 8 || x % 2 == 1 && x != 7;
    [result, vec![recorder.look_up(&all, |x| CONDITION * i32::from(overflow(x)))]]
}

/// The product of numbers that are not negative, and sums of which one is not 0 where there is more
/// of it: of pairs of digits beyond the range, and carries out of it.
fn product_and_excess(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
) -> (Vec<Linear>, Vec<Linear>) {
    let len = a.len();
    // Each column is less than 9 times its number of pairs, all of them 3 len times the range.
    let count = len + (3 * len).ilog(RADIX as usize) as usize + 1;
    let of_digits = |recorder: &mut Recorder| {
        let mut columns = match recorder.wants_few_bootstrappings() {
            true => whole_products(recorder, a, b),
            false => products(recorder, a, b, len + 1),
        };
        columns.resize(count, Vec::new());
        reduce_to_digits(recorder, columns)
    };
    let wide = wide_ways(recorder, a, b, count);
    let mut ways: Vec<&Way> = vec![&of_digits];
    ways.extend(wide.iter().map(|way| &**way));
    let mut product = recorder.best(&ways);
    let mut excess = product.split_off(len);
    let any = any_from(recorder, b);
    for (i, a) in a.iter().enumerate().skip(1) {
        let pair = a.plus(&any[len - i].times(RADIX));
        excess.push(recorder.look_up(&pair, |x| i32::from(x > RADIX)));
    }
    (product, excess)
}

/// Products of digits by what they count, one look-up each.
fn whole_products(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Vec<Linear>> {
    let len = a.len();
    let mut columns = vec![Vec::new(); len];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate().take(len - i) {
            columns[i + j].push(of_two(recorder, a, b, |a, b| a * b));
        }
    }
    columns
}

/// The sum of columns of terms up to 15, by what they count, as digits below 4, modulo 4 to the
/// number of columns.
pub(super) fn reduce_to_digits(recorder: &mut Recorder, columns: Vec<Vec<Linear>>) -> Vec<Linear> {
    if recorder.wants_few_bootstrappings() {
        return resolve_columns(recorder, columns);
    }
    let way = |how: Rounds| {
        let columns = &columns;
        move |recorder: &mut Recorder| {
            let digits = reduce(recorder, columns.clone(), how);
            resolve(recorder, &digits)
        }
    };
    let ways = Rounds::ALL.map(way);
    recorder.best(&ways.each_ref().map(|way| way as &Way))
}

/// How columns become small in rounds.
#[derive(Clone, Copy)]
struct Rounds {
    /// Whether the last round takes all columns at once, so that none has to wait for another.
    ends_at_once: bool,
    /// What some terms are at least that do not wait for what others hand over.
    least: i32,
}

impl Rounds {
    const ALL: [Self; 3] = [
        Self { ends_at_once: false, least: MOST - RADIX },
        Self { ends_at_once: true, least: MOST - RADIX },
        Self { ends_at_once: true, least: 2 * RADIX - 1 },
    ];
}

/// Products of digits from -1 to 2, from -2 to 4, by what they count: one look-up each, and sums of
/// five fit the circle.
fn balanced_products(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Vec<Linear>> {
    let (a, b) = (balanced(recorder, a), balanced(recorder, b));
    let mut columns = vec![Vec::new(); a.len()];
    for Pair { a, b, column, times } in pairs(&a, &b) {
        // What is known is a weight.
        let product = match (a.value(), b.value()) {
            (Some(a), _) => b.times(a * times),
            (_, Some(b)) => a.times(b * times),
            _ => recorder.look_up(&a.times(RADIX).plus(b), |x| {
                let high = (x + 1).div_euclid(RADIX);
                times * high * (x - RADIX * high)
            }),
        };
        columns[column].push(product);
    }
    columns
}

/// The same number modulo 4 to the number of digits, in digits from -1 to 2: a one is added to all
/// of them, with carries, and taken off again.
fn balanced(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    let columns = digits.iter().map(|x| vec![x.plus_constant(1)]).collect();
    resolve_columns(recorder, columns).iter().map(|x| x.plus_constant(-1)).collect()
}

/// Lower and upper digits of the products of digits, by what they count: of pairs that count less
/// than the length, up to so many columns.
fn products(recorder: &mut Recorder, a: &[Linear], b: &[Linear], most: usize) -> Vec<Vec<Linear>> {
    let len = a.len();
    let mut columns = vec![Vec::new(); most];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate().take(len - i) {
            let low = of_two(recorder, a, b, |a, b| a * b % RADIX);
            columns[i + j].push(low);
            if i + j + 1 < most {
                let high = of_two(recorder, a, b, |a, b| a * b / RADIX);
                columns[i + j + 1].push(high);
            }
        }
    }
    columns.iter_mut().for_each(|c| c.retain(|x| x.value() != Some(0)));
    columns
}

/// Sums the columns up to digits that are ready for [`resolve`]: in each round, terms that
/// together are at most 15 become a digit and what it hands to the next column.
fn reduce(recorder: &mut Recorder, mut columns: Vec<Vec<Linear>>, how: Rounds) -> Vec<Linear> {
    let total = |terms: &Vec<Linear>| terms.iter().map(Linear::most).sum::<i32>();
    let ready = |k: usize| 2 * (RADIX - 1) + i32::from(k == 0);
    loop {
        let is_ready = |(k, terms): (usize, &Vec<Linear>)| total(terms) <= ready(k);
        if columns.iter().enumerate().all(is_ready) {
            return columns.iter().map(Linear::sum).collect();
        }
        if how.ends_at_once && columns.iter().all(|terms| total(terms) <= MOST) {
            let sums: Vec<Linear> = columns.iter().map(Linear::sum).collect();
            if sums.iter().all(|x| recorder.norm(x) <= recorder.budget()) {
                return split(recorder, &sums);
            }
        }
        let mut next = vec![Vec::new(); columns.len()];
        for (k, terms) in columns.iter().enumerate() {
            if total(terms) <= ready(k) {
                next[k].extend_from_slice(terms);
                continue;
            }
            for (i, bundle) in bundles(recorder, terms).into_iter().enumerate() {
                let sum = Linear::sum(&bundle);
                // What is not full waits for what others hand over, but for one of each column, so
                // that every round leaves less.
                if i > 0 && (bundle.len() == 1 || sum.most() < how.least) {
                    next[k].extend(bundle);
                    continue;
                }
                next[k].push(recorder.look_up(&sum, |x| x % RADIX));
                if k + 1 < columns.len() {
                    next[k + 1].push(recorder.look_up(&sum, |x| x / RADIX));
                }
            }
        }
        columns = next;
    }
}

/// Terms in bundles that a look-up reads: at most 15, and within the budget.
fn bundles(recorder: &Recorder, terms: &[Linear]) -> Vec<Vec<Linear>> {
    let mut terms = terms.to_vec();
    terms.sort_by_key(|x| std::cmp::Reverse(x.most()));
    let mut bundles: Vec<(i32, Vec<Linear>)> = Vec::new();
    for x in terms {
        let fits = |(sum, bundle): &&mut (i32, Vec<Linear>)| {
            sum + x.most() <= MOST && bundle.len() < recorder.budget() as usize
        };
        match bundles.iter_mut().find(fits) {
            Some((sum, bundle)) => {
                *sum += x.most();
                bundle.push(x);
            }
            None => bundles.push((x.most(), vec![x])),
        }
    }
    bundles.into_iter().map(|(_, bundle)| bundle).collect()
}
