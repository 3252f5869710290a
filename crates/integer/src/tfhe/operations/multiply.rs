//! Products: of all pairs of digits, summed up column by column.

use super::bits::of_two;
use super::carry::resolve;
use crate::tfhe::RADIX;
use crate::tfhe::record::{Linear, Recorder};

/// The most that a look-up of any function reads.
const MOST: i32 = RADIX * RADIX - 1;

/// The product of digits below 4, modulo 4 to the number of those of `a`.
pub(super) fn multiply(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    let columns = products(recorder, a, b);
    reduce_to_digits(recorder, columns)
}

/// The sum of columns of terms up to 15, by what they count, as digits below 4, modulo 4 to the
/// number of columns.
pub(super) fn reduce_to_digits(recorder: &mut Recorder, columns: Vec<Vec<Linear>>) -> Vec<Linear> {
    let digits = reduce(recorder, columns);
    resolve(recorder, &digits)
}

/// Lower and upper digits of the products of digits, by what they count.
fn products(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Vec<Linear>> {
    let len = a.len();
    let mut columns = vec![Vec::new(); len];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate().take(len - i) {
            let low = of_two(recorder, a, b, |a, b| a * b % RADIX);
            columns[i + j].push(low);
            if i + j + 1 < len {
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
fn reduce(recorder: &mut Recorder, mut columns: Vec<Vec<Linear>>) -> Vec<Linear> {
    loop {
        let mut next = vec![Vec::new(); columns.len()];
        let mut is_done = true;
        for (k, terms) in columns.iter().enumerate() {
            let ready = 2 * (RADIX - 1) + i32::from(k == 0);
            if terms.iter().map(Linear::most).sum::<i32>() <= ready {
                next[k].extend_from_slice(terms);
                continue;
            }
            is_done = false;
            for (i, bundle) in bundles(recorder, terms).into_iter().enumerate() {
                let sum = Linear::sum(&bundle);
                // What is not full waits for what others hand over, but for one of each column, so
                // that every round leaves less.
                if i > 0 && (bundle.len() == 1 || sum.most() < MOST - RADIX) {
                    next[k].extend(bundle);
                    continue;
                }
                next[k].push(recorder.look_up(&sum, |x| x % RADIX));
                if k + 1 < columns.len() {
                    next[k + 1].push(recorder.look_up(&sum, |x| x / RADIX));
                }
            }
        }
        if is_done {
            return next.iter().map(Linear::sum).collect();
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
