//! Comparisons, and choices by a bit.
//!
//! The sign of a difference of digits, from -3 to 3, joins that of lower digits in one look-up of
//! twice the one plus the other. Digits are taken in blocks, which run side by side.

use super::{Linear, MOST, Order, RADIX};
use crate::Result;
use crate::slots::recorder::Recorder;

/// Blocks of digits: as many look-ups as a device does well side by side.
const BLOCKS: usize = 8;

/// A digit of two's complement that holds the sign.
fn signed(digit: i64) -> i64 {
    if digit >= RADIX / 2 { digit - RADIX } else { digit }
}

fn blocks(differences: &[Linear]) -> impl Iterator<Item = &[Linear]> {
    differences.chunks(differences.len().div_ceil(BLOCKS).max(1))
}

/// A sum of which one function says what a comparison asks.
enum Compared {
    /// Negative, 0 or positive as the first number is smaller, equal or larger.
    Sign(Linear),
    /// 0 where both are equal.
    Differs(Linear),
}

/// Signs one above the other as one sum: its sign is that of the highest that is not 0.
fn joined(signs: &[Linear]) -> Linear {
    signs.iter().rev().fold(Linear::constant(0), |sum, sign| sum.times(2).plus(sign))
}

fn sign(recorder: &mut Recorder, a: &[Linear], b: &[Linear], is_signed: bool) -> Result<Linear> {
    let (rest, top) = a.split_at(if is_signed { a.len() - 1 } else { a.len() });
    let differences: Vec<Linear> = rest.iter().zip(b).map(|(a, b)| a.minus(b)).collect();
    let mut signs = Vec::new();
    for block in blocks(&differences) {
        let mut sign = recorder.one(&block[0], i64::signum)?;
        for difference in &block[1..] {
            sign = recorder.one(&difference.times(2).plus(&sign), i64::signum)?;
        }
        signs.push(sign);
    }
    if let [top] = top {
        let both = top.times(RADIX).plus(&b[b.len() - 1]);
        signs.push(recorder.one(&both, |v| (signed(v >> 2) - signed(v & MOST)).signum())?);
    }
    while signs.len() > 3 {
        let mut next = Vec::new();
        for three in signs.chunks(3) {
            next.push(match three {
                [one] => one.clone(),
                more => recorder.one(&joined(more), i64::signum)?,
            });
        }
        signs = next;
    }
    Ok(joined(&signs))
}

fn differs(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Result<Linear> {
    let differences: Vec<Linear> = a.iter().zip(b).map(|(a, b)| a.minus(b)).collect();
    let mut flags = Vec::new();
    for block in blocks(&differences) {
        let is = |v: i64| i64::from(v != 0);
        let mut flag = recorder.one(&block[0], is)?;
        for difference in &block[1..] {
            flag = recorder.one(&difference.times(2).plus(&flag), is)?;
        }
        flags.push(flag);
    }
    Ok(Linear::sum(&flags))
}

/// A bit that says whether the order holds.
pub(super) fn compare(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    order: Order,
    signed: bool,
) -> Result<Linear> {
    let (a, b) = (recorder.cleaned(a)?, recorder.cleaned(b)?);
    let compared = match order {
        Order::Equal | Order::NotEqual => Compared::Differs(differs(recorder, &a, &b)?),
        _ => Compared::Sign(sign(recorder, &a, &b, signed)?),
    };
    let (Compared::Sign(sum) | Compared::Differs(sum)) = compared;
    let bit = recorder.one(&sum, |v| i64::from(order.holds(v.signum() as i32)))?;
    recorder.clean(&bit)
}

/// The smaller or the larger of both.
pub(super) fn extreme(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    order: Order,
    signed: bool,
) -> Result<Vec<Linear>> {
    let (a, b) = (recorder.cleaned(a)?, recorder.cleaned(b)?);
    let first = compare(recorder, &a, &b, order, signed)?;
    select(recorder, &first, &a, &b)
}

/// Digits of `on` where the bit is set, else of `off`: one of both, which has to be clean, and the
/// difference to the other where that is the choice.
pub(super) fn select(
    recorder: &mut Recorder,
    bit: &Linear,
    on: &[Linear],
    off: &[Linear],
) -> Result<Vec<Linear>> {
    let mut chosen = Vec::with_capacity(on.len());
    if let Some(bit) = bit.value() {
        return Ok(if bit == 1 { on.to_vec() } else { off.to_vec() });
    }
    for (on, off) in on.iter().zip(off) {
        chosen.push(match (on.value(), off.value()) {
            (Some(on), Some(off)) => recorder.one(bit, |v| if v == 1 { on } else { off })?,
            _ => choice(recorder, bit, on, off)?,
        });
    }
    Ok(chosen)
}

fn choice(recorder: &mut Recorder, bit: &Linear, on: &Linear, off: &Linear) -> Result<Linear> {
    if recorder.is_clean(on) && !recorder.is_clean(off) {
        // From 5 on the bit is set: differences are from -3 to 3.
        let sum = bit.times(8).plus(&off.minus(on));
        let other = recorder.one(&sum, |v| if v < 5 { v } else { 0 })?;
        return Ok(on.plus(&other).known(0, MOST));
    }
    let off = recorder.clean(off)?;
    let sum = bit.times(8).plus(&on.minus(&off));
    let other = recorder.one(&sum, |v| if v < 5 { 0 } else { v - 8 })?;
    Ok(off.plus(&other).known(0, MOST))
}
