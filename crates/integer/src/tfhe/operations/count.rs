//! How many bits are set, and where the highest and the lowest one are.

use super::bits::not;
use super::multiply::reduce_to_digits;
use crate::operation::Count;
use crate::tfhe::RADIX;
use crate::tfhe::record::{Linear, Recorder};

/// Zeros above the highest one of a digit, and below the lowest.
const LEADING: [i32; 4] = [2, 1, 0, 0];
const TRAILING: [i32; 4] = [2, 0, 1, 0];
const ONES: [i32; 4] = [0, 1, 1, 2];

/// The number of such bits of digits below 4, as digits below 4.
pub(super) fn count(recorder: &mut Recorder, which: Count, digits: &[Linear]) -> Vec<Linear> {
    let from_below = digits.to_vec();
    let from_above: Vec<Linear> = digits.iter().rev().cloned().collect();
    let bits = match which {
        Count::Ones => each(recorder, digits, |x| ONES[x as usize]),
        Count::Zeros => each(recorder, digits, |x| 2 - ONES[x as usize]),
        Count::LeadingZeros => run(recorder, &from_above, |x| LEADING[x as usize], 0),
        Count::LeadingOnes => run(recorder, &not(&from_above), |x| LEADING[x as usize], 0),
        Count::TrailingZeros => run(recorder, &from_below, |x| TRAILING[x as usize], 0),
        Count::TrailingOnes => run(recorder, &not(&from_below), |x| TRAILING[x as usize], 0),
        // The first digit that is not 0 has its own logarithm, those below it two bits each.
        Count::BelowHighest => run(recorder, &from_above, |x| x / 2, 2),
    };
    let mut columns = vec![Vec::new(); digits_of(2 * digits.len())];
    columns[0] = bits.into_iter().filter(|x| x.value() != Some(0)).collect();
    reduce_to_digits(recorder, columns)
}

/// Digits of the numbers up to `most`.
fn digits_of(most: usize) -> usize {
    (most.ilog2() / RADIX.ilog2()) as usize + 1
}

fn each(recorder: &mut Recorder, digits: &[Linear], f: impl Fn(i32) -> i32) -> Vec<Linear> {
    digits.iter().map(|x| recorder.look_up(x, &f)).collect()
}

/// `first` of each digit as long as all digits before it are 0, and `later` of the others.
fn run(
    recorder: &mut Recorder,
    digits: &[Linear],
    first: impl Fn(i32) -> i32,
    later: i32,
) -> Vec<Linear> {
    if recorder.wants_few_bootstrappings() {
        return run_in_turn(recorder, digits, first, later);
    }
    let flags = each(recorder, digits, |x| i32::from(x != 0));
    let before = any_before(recorder, &flags, RADIX);
    digits
        .iter()
        .zip(&before)
        .map(|(digit, before)| {
            recorder.look_up(&digit.plus(before), |x| if x < RADIX { first(x) } else { later })
        })
        .collect()
}

/// The same one digit after another: what one gives, and whether any up to it was not 0, are two
/// functions of eight places.
fn run_in_turn(
    recorder: &mut Recorder,
    digits: &[Linear],
    first: impl Fn(i32) -> i32,
    later: i32,
) -> Vec<Linear> {
    let mut before = Linear::constant(0);
    let mut next = |digit: &Linear| {
        let x = digit.plus(&before);
        before = recorder.look_up(&x, |x| RADIX * i32::from(x != 0));
        recorder.look_up(&x, |x| if x < RADIX { first(x) } else { later })
    };
    digits.iter().map(&mut next).collect()
}

/// Whether any flag before this one is set, times `scale`, for each of them: flags are 0 or 1.
fn any_before(recorder: &mut Recorder, flags: &[Linear], scale: i32) -> Vec<Linear> {
    // As many ones as any function may read, each with the error of a look-up.
    let most = recorder.budget().min((RADIX * RADIX - 1) as u32) as usize;
    let groups: Vec<&[Linear]> = flags.chunks(most).collect();
    let into = match groups.len() {
        1 => vec![Linear::constant(0)],
        _ => {
            let any: Vec<Linear> = groups
                .iter()
                .map(|&flags| recorder.look_up(&Linear::sum(flags), |x| i32::from(x != 0)))
                .collect();
            any_before(recorder, &any, 1)
        }
    };
    let mut result = Vec::with_capacity(flags.len());
    for (group, into) in groups.iter().zip(into) {
        for i in 0..group.len() {
            let before = Linear::sum(&group[..i]).plus(&into);
            result.push(recorder.look_up(&before, |x| scale * i32::from(x != 0)));
        }
    }
    result
}
