//! Sums and differences: a carry goes from digit to digit, one look-up of two tables each.

use super::{Linear, MOST, RADIX};
use crate::Result;
use crate::slots::recorder::Recorder;

/// Digits of sums from 0 to 6, and the last carry.
pub(super) fn ripple(
    recorder: &mut Recorder,
    sums: &[Linear],
    carry: Linear,
) -> Result<(Vec<Linear>, Linear)> {
    let (mut digits, mut carry) = (Vec::with_capacity(sums.len()), carry);
    for sum in sums {
        let sum = sum.plus(&carry);
        let mut both = recorder.look_up(&sum, &[&|v| v % RADIX, &|v| v / RADIX])?;
        carry = both.remove(1);
        digits.push(both.remove(0));
    }
    Ok((digits, carry))
}

fn sums(a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    a.iter().zip(b).map(|(a, b)| a.plus(b)).collect()
}

/// a - b - 1 as sums of digits, modulo the range.
fn differences(a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    let three = Linear::constant(MOST);
    a.iter().zip(b).map(|(a, b)| a.plus(&three.minus(b))).collect()
}

pub(super) fn add(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Result<Vec<Linear>> {
    Ok(ripple(recorder, &sums(a, b), Linear::constant(0))?.0)
}

pub(super) fn subtract(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Result<Vec<Linear>> {
    Ok(with_borrow(recorder, a, b)?.0)
}

/// a - b, and whether b <= a.
pub(super) fn with_borrow(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
) -> Result<(Vec<Linear>, Linear)> {
    ripple(recorder, &differences(a, b), Linear::constant(1))
}

/// The sum or the difference, and whether it left the range.
pub(super) fn overflowing(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
    difference: bool,
) -> Result<Vec<Vec<Linear>>> {
    let all = if difference { differences(a, b) } else { sums(a, b) };
    let first = Linear::constant(difference.into());
    let top = a.len() - 1;
    let (mut digits, carry) = ripple(recorder, &all[..top], first)?;
    let (last, carry_out) = ripple(recorder, &all[top..], carry.clone())?;
    digits.extend(last);
    let flag = if !signed {
        if difference { Linear::constant(1).minus(&carry_out) } else { carry_out }
    } else {
        // The highest digits as numbers from -2 to 1.
        let sign = |recorder: &mut Recorder, x: &Linear| recorder.one(x, |v| v / 2);
        let (x, mut y) = (sign(recorder, &a[top])?, sign(recorder, &b[top])?);
        if difference {
            y = Linear::constant(1).minus(&y);
        }
        let sum = all[top].plus(&carry).minus(&x.plus(&y).times(RADIX)).known(-4, 3);
        recorder.one(&sum, |v| i64::from(!(-2..2).contains(&v)))?
    };
    Ok(vec![digits, vec![flag]])
}

/// Minus the number where the bit is set.
pub(super) fn negate_if(
    recorder: &mut Recorder,
    bit: &Linear,
    digits: &[Linear],
) -> Result<Vec<Linear>> {
    let mut flipped = Vec::with_capacity(digits.len());
    for x in digits {
        let sum = bit.times(RADIX).plus(x);
        flipped.push(recorder.one(&sum, |v| if v >= RADIX { 2 * RADIX - 1 - v } else { v })?);
    }
    Ok(ripple(recorder, &flipped, bit.clone())?.0)
}

pub(super) fn absolute(recorder: &mut Recorder, a: &[Linear]) -> Result<Vec<Linear>> {
    let sign = recorder.one(&a[a.len() - 1], |v| v / 2)?;
    negate_if(recorder, &sign, a)
}
