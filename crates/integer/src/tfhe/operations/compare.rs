//! Order and equality: the sign of the highest digit that differs.

use super::bits::of_two;
use crate::operation::Order;
use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{CONDITION, RADIX};

/// Signs that one look-up reads: their sum, with weights 1 to 8, has the sign of the highest that
/// is not 0, and fills the circle.
const GROUP: usize = 4;

/// The norm of the sign of lower digits and twice the difference of two operands' digits, whose
/// errors may be the same.
const CHAINED_NORM: u32 = 17;

/// A condition: whether `order` holds between two numbers of digits below 4, the highest of which
/// has a sign where they are `signed`.
pub(super) fn compare(
    recorder: &mut Recorder,
    order: Order,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
) -> Linear {
    if matches!(order, Order::Equal | Order::NotEqual) {
        let differ: Vec<Linear> = a.iter().zip(b).map(|(a, b)| a.minus(b)).collect();
        return none_or_any(recorder, &differ, order == Order::NotEqual);
    }
    let mut signs = if recorder.wants_few_bootstrappings() && recorder.budget() >= CHAINED_NORM {
        chained_signs(recorder, a, b, signed)
    } else {
        let digits = (0..).zip(a.iter().zip(b));
        digits
            .map(|(i, (x, y))| {
                let scale = 1 << (i as usize % GROUP);
                let is_top = i as usize == a.len() - 1;
                sign(recorder, x, y, signed && is_top, scale)
            })
            .collect()
    };
    while signs.len() > GROUP {
        signs = (0..)
            .zip(signs.chunks(GROUP))
            .map(|(i, signs)| {
                recorder.look_up(&Linear::sum(signs), |x| (1 << (i % GROUP)) * x.signum())
            })
            .collect();
    }
    recorder.look_up(&Linear::sum(&signs), |x| CONDITION * i32::from(order.holds(x.signum())))
}

/// The sign of a - b of two digits below 4, times `scale`: of the highest ones of signed numbers
/// where they are `signed`.
fn sign(recorder: &mut Recorder, a: &Linear, b: &Linear, signed: bool, scale: i32) -> Linear {
    if signed {
        // In order of size: 2, 3, 0, 1.
        let rank = |x: i32| (x + RADIX / 2) % RADIX;
        return of_two(recorder, a, b, |a, b| scale * (rank(a) - rank(b)).signum());
    }
    recorder.look_up(&a.minus(b), |x| scale * x.signum())
}

/// Signs of four parts of numbers at most, for [`GROUP`]: a look-up a digit, which reads its
/// difference and the sign of the digits below it in its part.
fn chained_signs(recorder: &mut Recorder, a: &[Linear], b: &[Linear], signed: bool) -> Vec<Linear> {
    // The top digit of signed numbers leaves no room for a sign.
    let top = a.len() - usize::from(signed);
    let part = top.div_ceil(GROUP - usize::from(signed)).max(1);
    let mut signs = Vec::with_capacity(GROUP);
    for start in (0..top).step_by(part) {
        let scale = 1 << signs.len();
        let end = top.min(start + part);
        let mut below = Linear::constant(0);
        for i in start..end {
            let scale = if i + 1 == end { scale } else { 1 };
            let x = a[i].minus(&b[i]).times(2).plus(&below);
            below = recorder.look_up(&x, |x| scale * x.signum());
        }
        signs.push(below);
    }
    if signed {
        signs.push(sign(recorder, &a[top], &b[top], true, 1 << signs.len()));
    }
    signs
}

/// A condition: whether any of these sums is not 0, or none.
pub(super) fn none_or_any(recorder: &mut Recorder, sums: &[Linear], any: bool) -> Linear {
    none_or_any_at(recorder, sums, any, CONDITION)
}

/// The same as 0 or `scale`.
pub(super) fn none_or_any_at(
    recorder: &mut Recorder,
    sums: &[Linear],
    any: bool,
    scale: i32,
) -> Linear {
    // Sixteen ones are opposite to none on the circle, which suits the function.
    let group = recorder.budget().min(16) as usize;
    let mut flags = flags(recorder, sums, group, 1);
    while flags.len() > group {
        flags = flags
            .chunks(group)
            .map(|flags| recorder.look_up(&Linear::sum(flags), |x| i32::from(x != 0)))
            .collect();
    }
    recorder.look_up(&Linear::sum(&flags), |x| scale * i32::from((x != 0) == any))
}

/// Flags, of which none is set where all sums are 0: `most` at most, if sums can absorb flags.
///
/// A difference of digits is from -3 to 3. Its look-up reads two flags of others besides, as 4
/// each, which saves look-ups that only read flags.
fn flags(recorder: &mut Recorder, sums: &[Linear], most: usize, scale: i32) -> Vec<Linear> {
    let is_difference = |x: &Linear| x.least() > -RADIX && x.most() < RADIX && x.range() > 1;
    // With two layers there are as few levels as without.
    let may_absorb = recorder.wants_few_bootstrappings() || sums.len() <= 3 * most;
    let set = move |x: i32| scale * i32::from(x != 0);
    if sums.len() <= most || !may_absorb || !sums.iter().all(is_difference) {
        return sums.iter().map(|x| recorder.look_up(x, set)).collect();
    }
    let (early, late) = sums.split_at(sums.len() - most);
    let mut early = flags(recorder, early, 2 * most, RADIX);
    // Each has its share, so that none reads two where one would do.
    let absorb = |(left, x): (usize, &Linear)| {
        let rest = early.split_off(early.len() - early.len().div_ceil(left));
        recorder.look_up(&rest.iter().fold(x.clone(), |x, flag| x.plus(flag)), set)
    };
    (1..=most).rev().zip(late).map(absorb).collect()
}

/// Whether any digit from each on is not 0, as 0 or 1.
pub(super) fn any_from(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    if !recorder.wants_few_bootstrappings() {
        let flags: Vec<Linear> =
            digits.iter().map(|x| recorder.look_up(x, |x| i32::from(x != 0))).collect();
        return any_flag_from(recorder, &flags);
    }
    let mut result = vec![Linear::constant(0); digits.len()];
    let mut later = Linear::constant(0);
    for (i, digit) in digits.iter().enumerate().rev() {
        let x = digit.plus(&later);
        result[i] = recorder.look_up(&x, |x| i32::from(x > 0));
        later = recorder.look_up(&x, |x| RADIX * i32::from(x > 0));
    }
    result
}

/// Whether any of the flags from each on is set.
fn any_flag_from(recorder: &mut Recorder, flags: &[Linear]) -> Vec<Linear> {
    let block = (recorder.budget() as usize - 1).min(8);
    let any = |recorder: &mut Recorder, x: &Linear| recorder.look_up(x, |x| i32::from(x > 0));
    let blocks: Vec<Linear> = match flags.len() > block {
        true => flags.chunks(block).map(|f| any(recorder, &Linear::sum(f))).collect(),
        false => Vec::new(),
    };
    let later = if blocks.is_empty() { Vec::new() } else { any_flag_from(recorder, &blocks) };
    let none = Linear::constant(0);
    let from = |recorder: &mut Recorder, i: usize| {
        let end = flags.len().min((i / block + 1) * block);
        let later = later.get(i / block + 1).unwrap_or(&none);
        any(recorder, &Linear::sum(&flags[i..end]).plus(later))
    };
    (0..flags.len()).map(|i| from(recorder, i)).collect()
}
