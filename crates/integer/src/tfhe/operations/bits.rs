//! Bit by bit: logic, choices and shifts.

use crate::operation::{Logic, Move};
use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{CONDITION, RADIX};

/// Whether the highest digit is that of a number below 0.
pub(super) fn is_negative_digit(digit: i32) -> bool {
    digit >= RADIX / 2
}

/// Any function of two digits below 4.
pub(super) fn of_two(
    recorder: &mut Recorder,
    a: &Linear,
    b: &Linear,
    f: impl Fn(i32, i32) -> i32,
) -> Linear {
    // One that is known needs no room, and adds no error.
    match (a.value(), b.value()) {
        (Some(a), _) => recorder.look_up(b, |b| f(a, b)),
        (_, Some(b)) => recorder.look_up(a, |a| f(a, b)),
        _ => recorder.look_up(&a.times(RADIX).plus(b), |x| f(x / RADIX, x % RADIX)),
    }
}

pub(super) fn logic(
    recorder: &mut Recorder,
    logic: Logic,
    a: &[Linear],
    b: &[Linear],
) -> Vec<Linear> {
    a.iter().zip(b).map(|(a, b)| of_two(recorder, a, b, |a, b| logic.of(a, b))).collect()
}

/// NOT of every bit: no look-up.
pub(super) fn not(digits: &[Linear]) -> Vec<Linear> {
    digits.iter().map(|x| Linear::constant(RADIX - 1).minus(x)).collect()
}

/// Logic of conditions, which stand at 0 and 8: both make 16, opposite to none.
pub(super) fn condition(recorder: &mut Recorder, logic: Logic, a: &Linear, b: &Linear) -> Linear {
    let (x, known) = if a.value().is_some() { (b, a) } else { (a, b) };
    match (logic, known.value()) {
        // What a known one leaves of a condition: itself, its opposite, or nothing.
        (Logic::And, Some(CONDITION)) | (Logic::Or | Logic::Xor, Some(0)) => x.clone(),
        (Logic::And, Some(_)) => Linear::constant(0),
        (Logic::Or, Some(_)) => Linear::constant(CONDITION),
        (Logic::Xor, Some(_)) => not_condition(x),
        (Logic::And, None) => {
            recorder.look_up(&a.plus(b), |x| CONDITION * i32::from(x == 2 * CONDITION))
        }
        (Logic::Or, None) => recorder.look_up(&a.plus(b), |x| CONDITION * i32::from(x > 0)),
        // The difference is -8, 0 or 8, in a half of the circle.
        (Logic::Xor, None) => recorder.look_up(&a.minus(b), |x| CONDITION * i32::from(x != 0)),
    }
}

pub(super) fn not_condition(x: &Linear) -> Linear {
    Linear::constant(CONDITION).minus(x)
}

/// `condition ? a : b` of digits below 4: b, and what a is more than that where the condition
/// holds. The difference is from -3 to 3, and 8 away from that with the condition, so that one
/// look-up sees both.
pub(super) fn select(
    recorder: &mut Recorder,
    condition: &Linear,
    a: &[Linear],
    b: &[Linear],
) -> Vec<Linear> {
    match condition.value() {
        Some(0) => return b.to_vec(),
        Some(_) => return a.to_vec(),
        None => {}
    }
    a.iter().zip(b).map(|(a, b)| select_digit(recorder, condition, a, b)).collect()
}

fn select_digit(recorder: &mut Recorder, condition: &Linear, a: &Linear, b: &Linear) -> Linear {
    if a == b {
        return a.clone();
    }
    let more = more(recorder, condition, a, b);
    b.plus(&more).known(a.values().least().min(b.values().least()), a.most().max(b.most()))
}

/// `condition ? a - b : 0` of digits below 4.
pub(super) fn more(recorder: &mut Recorder, condition: &Linear, a: &Linear, b: &Linear) -> Linear {
    let x = a.minus(b).plus(condition);
    recorder.look_up(&x, |x| if x >= RADIX { x - CONDITION } else { 0 })
}

/// `condition ? a : b` of conditions: two look-ups, of which one is 0; of known ones, less.
pub(super) fn select_condition(
    recorder: &mut Recorder,
    condition: &Linear,
    a: &Linear,
    b: &Linear,
) -> Linear {
    let logic = self::condition;
    match (a.value(), b.value()) {
        (Some(0), _) => logic(recorder, Logic::And, &not_condition(condition), b),
        (Some(_), _) => logic(recorder, Logic::Or, condition, b),
        (None, Some(0)) => logic(recorder, Logic::And, condition, a),
        (None, Some(_)) => logic(recorder, Logic::Or, &not_condition(condition), a),
        (None, None) => {
            let a = logic(recorder, Logic::And, condition, a);
            let b = logic(recorder, Logic::And, &not_condition(condition), b);
            a.plus(&b).known(0, CONDITION)
        }
    }
}

/// What comes in from the left where bits move right: a digit of signs, or 0.
fn fill(recorder: &mut Recorder, digits: &[Linear], signed: bool) -> Linear {
    if !signed {
        return Linear::constant(0);
    }
    let top = &digits[digits.len() - 1];
    recorder.look_up(top, |x| (RADIX - 1) * i32::from(is_negative_digit(x)))
}

/// Digits moved by a number of digits below theirs: no look-up.
fn move_digits(digits: &[Linear], how: Move, by: usize, fill: &Linear) -> Vec<Linear> {
    let len = digits.len();
    let zero = Linear::constant(0);
    let outside = if how.is_left() { &zero } else { fill };
    let digit = |i: usize| source(len, how, by, i).map_or(outside, |i| &digits[i]);
    (0..len).map(|i| digit(i).clone()).collect()
}

/// Which of `len` digits comes to the place of another; none where it is one from outside.
fn source(len: usize, how: Move, by: usize, to: usize) -> Option<usize> {
    match how {
        Move::RotateLeft => Some((to + len - by % len) % len),
        Move::RotateRight => Some((to + by) % len),
        Move::ShiftLeft => to.checked_sub(by),
        Move::ShiftRight => Some(to + by).filter(|&i| i < len),
    }
}

/// Digits moved by one bit: each from itself and its neighbour.
fn move_bit(recorder: &mut Recorder, digits: &[Linear], how: Move, fill: &Linear) -> Vec<Linear> {
    let neighbours = move_digits(digits, how, 1, fill);
    let bit = |digit: i32, neighbour: i32| match how.is_left() {
        true => 2 * digit % RADIX + neighbour / 2,
        false => digit / 2 + RADIX / 2 * (neighbour % 2),
    };
    digits.iter().zip(&neighbours).map(|(x, y)| of_two(recorder, x, y, bit)).collect()
}

/// Digits moved by one bit where a condition holds, which stands at 0 or 4. Eight places are what
/// is left of a digit and what its neighbour gets, by one rotation.
fn move_bit_if(
    recorder: &mut Recorder,
    condition: &Linear,
    digits: &[Linear],
    how: Move,
    fill: &Linear,
) -> Vec<Linear> {
    if condition.value() == Some(0) {
        return digits.to_vec();
    }
    let halves = move |x: i32| (x % RADIX / 2, 2 * (x % 2));
    let (left, is_moved) = (how.is_left(), |x: i32| x >= RADIX);
    let stays = move |x: i32| match is_moved(x) {
        true if left => halves(x).1,
        true => halves(x).0,
        false => x,
    };
    let leaves = move |x: i32| match is_moved(x) {
        true if left => halves(x).0,
        true => halves(x).1,
        false => 0,
    };
    let mut part = |x: &Linear, f: &dyn Fn(i32) -> i32| recorder.look_up(&x.plus(condition), f);
    let kept: Vec<Linear> = digits.iter().map(|x| part(x, &stays)).collect();
    let handed: Vec<Linear> = digits.iter().map(|x| part(x, &leaves)).collect();
    let handed = move_digits(&handed, how, 1, &part(fill, &leaves));
    kept.iter().zip(&handed).map(|(x, y)| x.plus(y).known(0, RADIX - 1)).collect()
}

/// The norm of a digit that two stages have moved, and four times one of an operand.
const BY_DIGIT_NORM: u32 = 20;

/// Digits moved by one of four numbers of digits, as a digit says. Each is looked up with it, once
/// for every place that it may come to: there it is 0 unless it does. A rotation serves two places,
/// as zeros of one are those of the other.
fn move_by_digit(
    recorder: &mut Recorder,
    amount: &Linear,
    digits: &[Linear],
    how: Move,
    by: [usize; 4],
    fill: &Linear,
) -> Vec<Linear> {
    let len = digits.len();
    let times = amount.times(RADIX);
    let mut come = |x: &Linear, is_by: &[bool; 4]| {
        recorder
            .look_up(&x.plus(&times), |x| if is_by[(x / RADIX) as usize] { x % RADIX } else { 0 })
    };
    let mut digit = |to: usize| {
        let from = by.map(|by| source(len, how, by, to));
        let inside = (0..len).filter(|i| from.contains(&Some(*i)));
        let inside = inside.map(|i| come(&digits[i], &from.map(|from| from == Some(i))));
        let sum = inside.fold(Linear::constant(0), |sum, x| sum.plus(&x));
        let outside = if how.is_left() || how.turns() {
            Linear::constant(0)
        } else {
            come(fill, &from.map(|from| from.is_none()))
        };
        sum.plus(&outside).known(0, RADIX - 1)
    };
    (0..len).map(&mut digit).collect()
}

/// Digits below 4 moved by a number of bits below theirs.
pub(super) fn move_bits(
    recorder: &mut Recorder,
    digits: &[Linear],
    how: Move,
    bits: usize,
    signed: bool,
) -> Vec<Linear> {
    let fill = fill(recorder, digits, signed && how == Move::ShiftRight);
    let moved = move_digits(digits, how, bits / 2, &fill);
    if bits.is_multiple_of(2) { moved } else { move_bit(recorder, &moved, how, &fill) }
}

/// Digits below 4 moved by an encrypted number of bits, a choice a bit: modulo the width, or, of
/// shifts and widths that are no power of two, modulo the next power of two.
pub(super) fn move_by(
    recorder: &mut Recorder,
    digits: &[Linear],
    how: Move,
    amount: &[Linear],
    signed: bool,
) -> Vec<Linear> {
    let fill = fill(recorder, digits, signed && how == Move::ShiftRight);
    let mut result = digits.to_vec();
    let width = 2 * digits.len();
    let bits = match how.turns() && !width.is_power_of_two() {
        // Every bit turns by something else.
        true => 2 * amount.len(),
        false => width.next_power_of_two().ilog2() as usize,
    };
    // 2^bit modulo the width.
    let mut places = 1 % width;
    let (mut bit, by_digits) = (0, recorder.budget() >= BY_DIGIT_NORM);
    while bit < bits {
        let Some(digit) = amount.get(bit / 2) else { break };
        let mut condition = |scale: i32| recorder.look_up(digit, |x| scale * (x >> (bit % 2) & 1));
        if bit == 0 {
            let condition = condition(RADIX);
            result = move_bit_if(recorder, &condition, &result, how, &fill);
        } else if bit % 2 == 0 && bit + 1 < bits && by_digits {
            let next = 2 * places % width;
            let by = [0, places, next, places + next].map(|bits| bits / 2);
            result = move_by_digit(recorder, digit, &result, how, by, &fill);
            (bit, places) = (bit + 1, next);
        } else {
            let condition = condition(CONDITION);
            // An even number of bits, also of what is left of it by the width.
            let moved = move_digits(&result, how, places / 2, &fill);
            result = select(recorder, &condition, &moved, &result);
        }
        places = 2 * places % width;
        bit += 1;
        // A stage reads two digits of the one before, whose inputs may be one, and a condition.
        if result.iter().any(|x| 2 * recorder.norm(x) + 3 > recorder.budget()) {
            result = result.iter().map(|x| recorder.refresh(x)).collect();
        }
    }
    result
}
