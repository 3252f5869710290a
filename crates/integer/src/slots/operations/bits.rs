//! Logic on digits, and bits that move.

use super::order::select;
use super::{Linear, Logic, MOST, Move, RADIX};
use crate::Result;
use crate::slots::recorder::Recorder;

pub(super) fn logic(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    logic: Logic,
) -> Result<Vec<Linear>> {
    let mut all = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(b) {
        let (x, known) = if a.value().is_some() { (b, a) } else { (a, b) };
        let digit = match known.value() {
            Some(value) if (0..RADIX).all(|v| logic.of(v, value) == v) => x.clone(),
            Some(value) => recorder.one(x, |v| logic.of(v, value))?,
            None => {
                let (a, b) = (recorder.clean(a)?, recorder.clean(b)?);
                recorder.one(&a.times(RADIX).plus(&b), |v| logic.of(v >> 2, v & MOST))?
            }
        };
        all.push(digit);
    }
    Ok(all)
}

/// What comes in above the highest digit.
fn sign_digit(recorder: &mut Recorder, a: &[Linear], signed: bool) -> Result<Linear> {
    if !signed {
        return Ok(Linear::constant(0));
    }
    recorder.one(&a[a.len() - 1], |v| if v >= RADIX / 2 { MOST } else { 0 })
}

/// Bits moved by a known number of places. Digits that move by an odd one are taken apart.
pub(super) fn moved(
    recorder: &mut Recorder,
    a: &[Linear],
    how: Move,
    by: u32,
    signed: bool,
) -> Result<Vec<Linear>> {
    let (len, by) = (a.len() as i64, i64::from(by));
    let (left, around) = match how {
        Move::ShiftLeft => (by, false),
        Move::ShiftRight => (-by, false),
        Move::RotateLeft => (by, true),
        Move::RotateRight => (-by, true),
    };
    let above = sign_digit(recorder, a, signed && how == Move::ShiftRight)?;
    let place = |at: i64| if around { at.rem_euclid(len) } else { at };
    let take = |digits: &[Linear], above: &Linear, at: i64| match usize::try_from(place(at)) {
        Err(_) => Linear::constant(0),
        Ok(at) => digits.get(at).unwrap_or(above).clone(),
    };
    if left % 2 == 0 {
        return Ok((0..len).map(|k| take(a, &above, k - left / 2)).collect());
    }
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for x in a.iter().chain([&above]) {
        let mut halves = recorder.look_up(x, &[&|v| 2 * (v & 1), &|v| v >> 1])?;
        high.push(halves.remove(1));
        low.push(halves.remove(0));
    }
    let above = [low.pop(), high.pop()].map(|x| x.expect("that of the sign"));
    let digit = |k: i64| {
        let low = take(&low, &above[0], k - (left - 1).div_euclid(2));
        low.plus(&take(&high, &above[1], k - (left + 1).div_euclid(2)))
    };
    Ok((0..len).map(digit).collect())
}

/// Bits moved by an encrypted number of places, a choice for each of its bits: modulo the width,
/// or, of shifts and widths that are no power of two, modulo the next power of two.
pub(super) fn moved_by(
    recorder: &mut Recorder,
    a: &[Linear],
    by: &[Linear],
    how: Move,
    signed: bool,
) -> Result<Vec<Linear>> {
    let bits = 2 * a.len() as u32;
    // Of rotations every bit turns by something, but for what is left of it by the width.
    let places = |bit: u32| match how.turns() {
        true => (0..bit).fold(1 % bits, |places, _| 2 * places % bits),
        false => 1u32.checked_shl(bit).filter(|places| *places < bits).unwrap_or(0),
    };
    let mut number = recorder.cleaned(a)?;
    for (i, digit) in by.iter().enumerate() {
        let halves = recorder.look_up(digit, &[&|v| v & 1, &|v| v >> 1])?;
        for (j, bit) in halves.iter().enumerate() {
            let places = places(2 * i as u32 + j as u32);
            if places > 0 {
                let other = moved(recorder, &number, how, places, signed)?;
                number = select(recorder, bit, &other, &number)?;
                number = recorder.cleaned(&number)?;
            }
        }
    }
    Ok(number)
}

/// The same number with another number of digits.
pub(super) fn resized(
    recorder: &mut Recorder,
    a: &[Linear],
    digits: usize,
    signed: bool,
) -> Result<Vec<Linear>> {
    let above = sign_digit(recorder, a, signed)?;
    Ok((0..digits).map(|k| a.get(k).unwrap_or(&above).clone()).collect())
}
