//! Quotients and remainders: a digit of the quotient at a time, from three differences at once.

use super::bits::{is_negative_digit, more, move_bits, of_two, select};
use super::carry::{CarryOut, carry_out, difference, propagate, resolve};
use super::compare::any_from;
use super::negate::{Condition, negate_if};
use crate::operation::Move;
use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{CONDITION, RADIX};

/// Quotient and remainder.
pub(super) struct Quotient {
    pub quotient: Vec<Linear>,
    pub remainder: Vec<Linear>,
}

/// A divisor and what is taken of it for all rounds.
struct Divisor {
    /// With a digit above, as its multiples have.
    wide: Vec<Linear>,
    double: Vec<Linear>,
    /// Whether it has anything from each digit on.
    above: Vec<Linear>,
}

impl Divisor {
    fn new(recorder: &mut Recorder, b: &[Linear]) -> Self {
        let wide = [b, &[Linear::constant(0)]].concat();
        let double = move_bits(recorder, &wide, Move::ShiftLeft, 1, false);
        Self { wide, double, above: any_from(recorder, b) }
    }

    /// The remainder less this multiple: whether it fits, and the digits where it does.
    fn subtracted(
        &self,
        recorder: &mut Recorder,
        remainder: &[Linear],
        times: i32,
        multiple: &[Linear],
    ) -> (CarryOut, Vec<Linear>) {
        let count = remainder.len();
        let digits = difference(remainder, &multiple[..count]);
        // Three where the multiple has nothing above, which lets a carry through, else less.
        let mut rest = Linear::constant(RADIX - 1);
        if times > 1 {
            rest = rest.minus(&multiple[count]);
        }
        if let Some(above) = self.above.get(count) {
            rest = rest.minus(above);
        }
        let fits = carry_out(recorder, &digits, Some(&rest));
        (fits, resolve(recorder, &digits))
    }
}

/// Quotient and remainder of digits below 4. By 0 they are all ones and the dividend.
///
/// The remainder so far, with the next digit of the dividend below it, less one, two and three
/// times the divisor: the number of differences that are not negative is the next digit of the
/// quotient, and the last of them the next remainder. It has a digit more in each round, so that
/// differences are taken of so many digits only, with a flag for what the divisor has above.
pub(super) fn divide(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Quotient {
    if recorder.wants_few_bootstrappings() {
        return divide_in_turn(recorder, a, b);
    }
    let divisor = Divisor::new(recorder, b);
    let Divisor { wide, double, .. } = &divisor;
    let sum: Vec<Linear> = wide.iter().zip(double).map(|(x, y)| x.plus(y)).collect();
    let triple = propagate(recorder, &sum);
    let mut quotient = vec![Linear::constant(0); a.len()];
    let mut remainder: Vec<Linear> = Vec::new();
    for i in (0..a.len()).rev() {
        remainder.insert(0, a[i].clone());
        let (mut last, mut next) = (remainder.clone(), remainder.clone());
        for (times, multiple) in (1..).zip([wide, double, &triple]) {
            let (fits, digits) = divisor.subtracted(recorder, &remainder, times, multiple);
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

/// The same with few bootstrappings: a bit of the quotient at a time, two of each digit, from the
/// difference to twice the divisor and to the divisor itself. A digit of a difference and its
/// carry are one rotation, and what the remainder is without it, where it is negative, another.
fn divide_in_turn(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Quotient {
    let divisor = Divisor::new(recorder, b);
    let mut quotient = vec![Linear::constant(0); a.len()];
    let mut remainder: Vec<Linear> = Vec::new();
    for i in (0..a.len()).rev() {
        remainder.insert(0, a[i].clone());
        for (times, multiple) in [(2, &divisor.double), (1, &divisor.wide)] {
            let (fits, digits) = divisor.subtracted(recorder, &remainder, times, multiple);
            quotient[i] = quotient[i].plus(&fits.carry(recorder, times));
            let is_negative = fits.none(recorder, CONDITION);
            // Of both, the difference has the smaller error.
            remainder = select(recorder, &is_negative, &remainder, &digits);
        }
        quotient[i] = quotient[i].clone().known(0, RADIX - 1);
    }
    Quotient { quotient, remainder }
}

/// The same of numbers in two's complement, towards 0: the remainder has the sign of the dividend.
pub(super) fn divide_signed(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Quotient {
    let (top_a, top_b) = (a[a.len() - 1].clone(), b[b.len() - 1].clone());
    let differ = of_two(recorder, &top_a, &top_b, |a, b| {
        i32::from(is_negative_digit(a) != is_negative_digit(b))
    });
    let [is_a, is_b] = [&top_a, &top_b].map(|top| Condition::new(top, is_negative_digit));
    let (a, b) = (negate_if(recorder, &is_a, a), negate_if(recorder, &is_b, b));
    let Quotient { quotient, remainder } = divide(recorder, &a, &b);
    Quotient {
        quotient: negate_if(recorder, &Condition::new(&differ, |x| x == 1), &quotient),
        remainder: negate_if(recorder, &is_a, &remainder),
    }
}
