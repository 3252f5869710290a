//! Quotients and remainders: a digit of the quotient at a time, from three differences at once.

use super::bits::{more, move_bits, of_two};
use super::carry::{carry_out, difference, propagate, resolve};
use crate::operation::Move;
use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{CONDITION, RADIX};

/// Quotient and remainder.
pub(super) struct Quotient {
    pub quotient: Vec<Linear>,
    pub remainder: Vec<Linear>,
}

/// Quotient and remainder of digits below 4. By 0 they are all ones and the dividend.
///
/// The remainder so far, with the next digit of the dividend below it, less one, two and three
/// times the divisor: the number of differences that are not negative is the next digit of the
/// quotient, and the last of them the next remainder. It has a digit more in each round, so that
/// differences are taken of so many digits only, with a flag for what the divisor has above.
pub(super) fn divide(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Quotient {
    let len = a.len();
    let wide = [b, &[Linear::constant(0)]].concat();
    let double = move_bits(recorder, &wide, Move::ShiftLeft, 1, false);
    let sum: Vec<Linear> = wide.iter().zip(&double).map(|(x, y)| x.plus(y)).collect();
    let triple = propagate(recorder, &sum);
    let flags: Vec<Linear> = b.iter().map(|x| recorder.look_up(x, |x| i32::from(x != 0))).collect();
    let above = any_from(recorder, &flags);
    let mut quotient = vec![Linear::constant(0); len];
    let mut remainder: Vec<Linear> = Vec::new();
    for i in (0..len).rev() {
        remainder.insert(0, a[i].clone());
        let count = remainder.len();
        let (mut last, mut next) = (remainder.clone(), remainder.clone());
        for (times, multiple) in (1..).zip([&wide, &double, &triple]) {
            let digits = difference(&remainder, &multiple[..count]);
            // Three where the multiple has nothing above, which lets a carry through, else less.
            let mut rest = Linear::constant(RADIX - 1);
            if times > 1 {
                rest = rest.minus(&multiple[count]);
            }
            if let Some(above) = above.get(count) {
                rest = rest.minus(above);
            }
            let fits = carry_out(recorder, &digits, Some(&rest));
            let digits = resolve(recorder, &digits);
            quotient[i] = quotient[i].plus(&fits.carry(recorder, 1));
            let condition = fits.carry(recorder, CONDITION);
            for ((next, last), digit) in next.iter_mut().zip(&last).zip(&digits) {
                *next = next.plus(&more(recorder, &condition, digit, last));
            }
            last = digits;
        }
        quotient[i] = quotient[i].clone().known(0, RADIX - 1);
        remainder = next.into_iter().map(|x| x.known(0, RADIX - 1)).collect();
        // The next round reads a digit with two further terms, one of which may be an operand's, as
        // a part of this one is.
        let reads = |recorder: &Recorder, x: &Linear| recorder.norm(x) + 5;
        if remainder.iter().any(|x| reads(recorder, x) > recorder.budget()) {
            remainder = remainder.iter().map(|x| recorder.refresh(x)).collect();
        } else {
            remainder = remainder.iter().map(|x| recorder.sum(x)).collect();
        }
    }
    Quotient { quotient, remainder }
}

/// Whether any of the flags from each on is set.
fn any_from(recorder: &mut Recorder, flags: &[Linear]) -> Vec<Linear> {
    let block = (recorder.budget() as usize - 1).min(8);
    let any = |recorder: &mut Recorder, x: &Linear| recorder.look_up(x, |x| i32::from(x > 0));
    let blocks: Vec<Linear> = match flags.len() > block {
        true => flags.chunks(block).map(|f| any(recorder, &Linear::sum(f))).collect(),
        false => Vec::new(),
    };
    let later = if blocks.is_empty() { Vec::new() } else { any_from(recorder, &blocks) };
    let none = Linear::constant(0);
    let from = |recorder: &mut Recorder, i: usize| {
        let end = flags.len().min((i / block + 1) * block);
        let later = later.get(i / block + 1).unwrap_or(&none);
        any(recorder, &Linear::sum(&flags[i..end]).plus(later))
    };
    (0..flags.len()).map(|i| from(recorder, i)).collect()
}

/// The same of numbers in two's complement, towards 0: the remainder has the sign of the dividend.
pub(super) fn divide_signed(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Quotient {
    let (top_a, top_b) = (a[a.len() - 1].clone(), b[b.len() - 1].clone());
    let negative = |x: i32| i32::from(x >= RADIX / 2);
    let signs = |recorder: &mut Recorder, top: &Linear| {
        [1, CONDITION].map(|scale| recorder.look_up(top, |x| scale * negative(x)))
    };
    let (sign_a, sign_b) = (signs(recorder, &top_a), signs(recorder, &top_b));
    let differ = [1, CONDITION]
        .map(|scale| of_two(recorder, &top_a, &top_b, |a, b| scale * (negative(a) ^ negative(b))));
    let (a, b) = (negate_if(recorder, &sign_a, a), negate_if(recorder, &sign_b, b));
    let Quotient { quotient, remainder } = divide(recorder, &a, &b);
    Quotient {
        quotient: negate_if(recorder, &differ, &quotient),
        remainder: negate_if(recorder, &sign_a, &remainder),
    }
}

/// Minus the digits where a condition holds, which is given as 0 or 1 and as 0 or 8.
pub(super) fn negate_if(
    recorder: &mut Recorder,
    [one, condition]: &[Linear; 2],
    digits: &[Linear],
) -> Vec<Linear> {
    let flip = |x: i32| if x >= CONDITION { RADIX - 1 - (x - CONDITION) } else { x };
    let mut flipped: Vec<Linear> =
        digits.iter().map(|x| recorder.look_up(&x.plus(condition), flip)).collect();
    flipped[0] = flipped[0].plus(one);
    resolve(recorder, &flipped)
}
