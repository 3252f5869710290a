//! Numbers that change their sign where a condition holds.

use super::carry::resolve;
use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{CONDITION, RADIX};

/// A condition as what has it, to be looked up at any scale.
pub(super) struct Condition<'a> {
    x: &'a Linear,
    holds: fn(i32) -> bool,
}

impl<'a> Condition<'a> {
    /// That `holds` says yes to a digit.
    pub fn new(x: &'a Linear, holds: fn(i32) -> bool) -> Self {
        Self { x, holds }
    }

    pub fn at(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        recorder.look_up(self.x, |x| scale * i32::from((self.holds)(x)))
    }
}

/// Minus the digits where a condition holds.
pub(super) fn negate_if(
    recorder: &mut Recorder,
    condition: &Condition<'_>,
    digits: &[Linear],
) -> Vec<Linear> {
    if recorder.wants_few_bootstrappings() {
        return negate_in_turn(recorder, condition, digits);
    }
    let [one, eight] = [1, CONDITION].map(|scale| condition.at(recorder, scale));
    let flip = |x: i32| if x >= CONDITION { RADIX - 1 - (x - CONDITION) } else { x };
    let mut flipped: Vec<Linear> =
        digits.iter().map(|x| recorder.look_up(&x.plus(&eight), flip)).collect();
    flipped[0] = flipped[0].plus(&one);
    resolve(recorder, &flipped)
}

/// The same one digit after another. A digit of a number that is negated stands from 5 on, and one
/// lower with a carry, which only such numbers have: 8 less that is 3 less the digit, with the
/// carry. At 4 it has one for the next. These nine places are looked up for both by one rotation.
fn negate_in_turn(
    recorder: &mut Recorder,
    condition: &Condition<'_>,
    digits: &[Linear],
) -> Vec<Linear> {
    let at = condition.at(recorder, RADIX + 1);
    // With the one that is added to flipped bits.
    let mut offset = condition.at(recorder, RADIX);
    let mut result = Vec::with_capacity(digits.len());
    for digit in digits {
        let x = digit.plus(&offset).known(0, 2 * RADIX);
        let negated = |x: i32| if x < RADIX { x } else { (2 * RADIX - x) % RADIX };
        result.push(recorder.look_up(&x, negated));
        let carry = recorder.look_up(&x, |x| i32::from(x == RADIX));
        offset = at.minus(&carry).known(0, RADIX + 1);
    }
    result
}
