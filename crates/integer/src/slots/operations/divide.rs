//! Quotients and remainders: a bit of the quotient at a time, two to a digit of the dividend.

use super::add::{negate_if, with_borrow};
use super::bits::{moved, resized};
use super::order::select;
use super::{Linear, Move, RADIX};
use crate::Result;
use crate::slots::recorder::Recorder;

/// What is subtracted, and whether it has anything from each digit on.
struct Multiple {
    times: i64,
    digits: Vec<Linear>,
    above: Vec<Linear>,
}

impl Multiple {
    fn new(recorder: &mut Recorder, times: i64, digits: Vec<Linear>) -> Result<Self> {
        let mut above = vec![Linear::constant(0); digits.len() + 1];
        for k in (0..digits.len()).rev() {
            let sum = above[k + 1].times(RADIX).plus(&digits[k]);
            above[k] = recorder.one(&sum, |v| i64::from(v != 0))?;
        }
        Ok(Self { times, digits, above })
    }
}

/// Quotient and remainder, rounded towards 0. By 0 the quotient is all ones (of a negative
/// dividend: 1), and the remainder the dividend.
pub(super) fn divide(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
) -> Result<Vec<Vec<Linear>>> {
    let (a, b) = (recorder.cleaned(a)?, recorder.cleaned(b)?);
    if !signed {
        let (quotient, remainder) = unsigned(recorder, &a, &b)?;
        return Ok(vec![quotient, remainder]);
    }
    let top = a.len() - 1;
    let sign_a = recorder.one(&a[top], |v| v / 2)?;
    let sign_b = recorder.one(&b[top], |v| v / 2)?;
    let differ = recorder.one(&sign_a.times(2).plus(&sign_b), |v| (v >> 1) ^ (v & 1))?;
    let a = negate_if(recorder, &sign_a, &a)?;
    let b = negate_if(recorder, &sign_b, &b)?;
    let (quotient, remainder) = unsigned(recorder, &a, &b)?;
    let quotient = negate_if(recorder, &differ, &quotient)?;
    Ok(vec![quotient, negate_if(recorder, &sign_a, &remainder)?])
}

/// The remainder so far, with the next digit of the dividend below it, less twice the divisor
/// where that fits, then less the divisor.
fn unsigned(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
) -> Result<(Vec<Linear>, Vec<Linear>)> {
    let wide = resized(recorder, b, b.len() + 1, false)?;
    let double = moved(recorder, &wide, Move::ShiftLeft, 1, false)?;
    let double = recorder.cleaned(&double)?;
    let multiples =
        [Multiple::new(recorder, 2, double)?, Multiple::new(recorder, 1, wide.clone())?];
    let mut quotient = vec![Linear::constant(0); a.len()];
    let mut remainder: Vec<Linear> = Vec::new();
    for i in (0..a.len()).rev() {
        remainder.insert(0, a[i].clone());
        let len = remainder.len();
        for multiple in &multiples {
            let (less, reaches) = with_borrow(recorder, &remainder, &multiple.digits[..len])?;
            let sum = multiple.above[len].times(2).plus(&reaches);
            let fits = recorder.one(&sum, |v| i64::from(v == 1))?;
            remainder = select(recorder, &fits, &less, &remainder)?;
            quotient[i] = quotient[i].plus(&fits.times(multiple.times));
        }
    }
    Ok((quotient, remainder))
}
