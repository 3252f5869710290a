//! What can be computed, and how it is recorded.

mod bits;
mod carry;
mod columns;
mod compare;
mod count;
mod divide;
mod lists;
mod multiply;
mod negate;
mod wide;

use crate::operation::{Operand, Operation, Order};
use crate::tfhe::program::Program;
use crate::tfhe::record::{DigitState, Linear, Recorder, Rules};
use crate::tfhe::{CONDITION, RADIX};
use bits::{condition, is_negative_digit, logic, move_bits, move_by, not, not_condition};
use bits::{select, select_condition};
use carry::{carry_out, difference, propagate, resolve};
use compare::compare;
use count::count;
use divide::{divide, divide_signed};
use lists::{find, is_in, sum};
use multiply::{multiply, multiply_overflowing};
use negate::{Condition, negate_if};

/// Lazily added digits leave room for the next look-up: their deviation is at most four times
/// that of a look-up's result.
const LAZY_NORM: u32 = 16;

/// All that decides what is recorded.
pub(crate) type Request = crate::operation::Request<DigitState>;

/// A program, or none where the budget of noise is too small for it.
pub(crate) fn record(request: &Request, rules: Rules) -> Option<Program> {
    let mut recorder = Recorder::new(rules);
    let mut operands: Vec<Vec<Linear>> = Vec::new();
    for (index, operand) in request.operands.iter().enumerate() {
        let digits = match operand {
            Operand::Digits(states) => (0..)
                .zip(states)
                .map(|(digit, &state)| recorder.input(index, digit, state))
                .collect(),
            Operand::Same(earlier) => operands[*earlier].clone(),
            Operand::Plain(digits) => constants(request.operation, digits),
        };
        operands.push(digits);
    }
    let outputs = outputs(&mut recorder, request, &operands);
    let within = recorder.is_within_budget();
    within.then(|| Program::new(recorder, &outputs))
}

fn constants(operation: Operation, digits: &[u8]) -> Vec<Linear> {
    let of_conditions =
        matches!(operation, Operation::ConditionLogic(_) | Operation::ConditionSelect);
    let scale = if of_conditions { CONDITION } else { 1 };
    digits.iter().map(|&digit| Linear::constant(scale * i32::from(digit))).collect()
}

/// Whether digits can wait for their carries.
fn may_wait(recorder: &Recorder, digits: &[Linear]) -> bool {
    let most = LAZY_NORM.min(recorder.budget());
    digits.iter().all(|x| x.most() < RADIX * RADIX && recorder.norm(x) <= most)
}

/// `a + b` digit by digit, or `a + b` less what operands have to hand over first.
fn add(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    let sum = |a: &[Linear], b: &[Linear]| -> Vec<Linear> {
        a.iter().zip(b).map(|(a, b)| a.plus(b)).collect()
    };
    let lazy = |a: &[Linear], b: &[Linear]| {
        a.iter().zip(b).all(|(a, b)| a.most() + b.most() < RADIX * RADIX)
    };
    if lazy(a, b) {
        let digits = sum(a, b);
        if may_wait(recorder, &digits) {
            return digits;
        }
    }
    let (a, b) = (clean(recorder, a), clean(recorder, b));
    sum(&a, &b)
}

/// Digits below 4 with the error of a look-up.
fn clean(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    let digits = propagate(recorder, digits);
    digits.iter().map(|x| recorder.refresh(x)).collect()
}

/// `a - b`, lazily: digits of b are taken off 3, and the 1 that is missing then is added.
fn subtract(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    let b = propagate(recorder, b);
    let digits = difference(a, &b);
    if digits.iter().all(|x| x.most() < RADIX * RADIX) && may_wait(recorder, &digits) {
        return digits;
    }
    let (a, b) = (clean(recorder, a), clean(recorder, &b));
    difference(&a, &b)
}

fn outputs(
    recorder: &mut Recorder,
    request: &Request,
    operands: &[Vec<Linear>],
) -> Vec<Vec<Linear>> {
    let signed = request.signed;
    let r = recorder;
    // Everything but sums reads digits below 4; conditions are left as they are.
    let read: Vec<Vec<Linear>> = match request.operation {
        Operation::Clean | Operation::Add | Operation::Subtract | Operation::Sum => Vec::new(),
        _ => operands
            .iter()
            .map(|x| if is_condition(x) { x.clone() } else { propagate(r, x) })
            .collect(),
    };
    let zero = |digits: usize| vec![Linear::constant(0); digits];
    match request.operation {
        Operation::Clean => vec![clean(r, &operands[0])],
        Operation::Add => vec![add(r, &operands[0], &operands[1])],
        Operation::Subtract => vec![subtract(r, &operands[0], &operands[1])],
        Operation::Negate => vec![subtract(r, &zero(read[0].len()), &read[0])],
        Operation::Absolute => {
            let is_negative = Condition::new(&read[0][read[0].len() - 1], is_negative_digit);
            vec![if signed { negate_if(r, &is_negative, &read[0]) } else { read[0].clone() }]
        }
        Operation::Multiply => vec![multiply(r, &read[0], &read[1])],
        Operation::Divide => {
            let divide = if signed { divide_signed } else { divide };
            let result = divide(r, &read[0], &read[1]);
            vec![result.quotient, result.remainder]
        }
        Operation::Logic(which) => vec![logic(r, which, &read[0], &read[1])],
        Operation::Not => vec![not(&read[0])],
        Operation::Compare(order) => vec![vec![compare(r, order, &read[0], &read[1], signed)]],
        Operation::Minimum | Operation::Maximum => {
            let order =
                if request.operation == Operation::Minimum { Order::Less } else { Order::Greater };
            let condition = compare(r, order, &read[0], &read[1], signed);
            vec![select(r, &condition, &read[0], &read[1])]
        }
        Operation::Select => vec![select(r, &operands[0][0], &read[1], &read[2])],
        Operation::Move(how, bits) => vec![move_bits(r, &read[0], how, bits as usize, signed)],
        Operation::MoveBy(how) => vec![move_by(r, &read[0], how, &read[1], signed)],
        Operation::Cast(digits) => vec![cast(r, &read[0], digits, signed)],
        Operation::AddOverflowing => add_overflowing(r, &read[0], &read[1], signed),
        Operation::SubtractOverflowing => subtract_overflowing(r, &read[0], &read[1], signed),
        Operation::MultiplyOverflowing => {
            multiply_overflowing(r, &read[0], &read[1], signed).into()
        }
        Operation::Count(which, digits) => {
            let mut result = count(r, which, &read[0]);
            result.resize(digits, Linear::constant(0));
            vec![result]
        }
        Operation::Sum => vec![sum(r, operands)],
        Operation::IsIn => vec![vec![is_in(r, &read[0], &read[1..])]],
        Operation::Find => {
            let (result, found) = find(r, &read[0], &read[1..]);
            vec![result, vec![found]]
        }
        Operation::ConditionLogic(which) => {
            vec![vec![condition(r, which, &operands[0][0], &operands[1][0])]]
        }
        Operation::ConditionNot => vec![vec![not_condition(&operands[0][0])]],
        Operation::ConditionSelect => {
            let [c, a, b] = [0, 1, 2].map(|i| operands[i][0].clone());
            vec![vec![select_condition(r, &c, &a, &b)]]
        }
        Operation::FromCondition(digits) => {
            let mut result = zero(digits);
            result[0] = r.look_up(&operands[0][0], |x| x / CONDITION);
            vec![result]
        }
    }
}

fn is_condition(x: &[Linear]) -> bool {
    x.len() == 1 && x[0].values().iter().all(|v| v == 0 || v == CONDITION)
}

/// More digits of the same number, or its lowest ones.
fn cast(r: &mut Recorder, digits: &[Linear], count: usize, signed: bool) -> Vec<Linear> {
    let mut result = digits[..digits.len().min(count)].to_vec();
    if count > digits.len() {
        let top = &digits[digits.len() - 1];
        let fill = match signed {
            true => r.look_up(top, |x| (RADIX - 1) * i32::from(is_negative_digit(x))),
            false => Linear::constant(0),
        };
        result.resize(count, fill);
    }
    result
}

/// A sum of digits below 4 with carries to come, and whether it leaves the range: of unsigned
/// numbers where a carry comes out of it, of signed ones where both terms have a sign that the sum
/// has not.
fn with_overflow(
    r: &mut Recorder,
    sum: &[Linear],
    [top_a, top_b]: [Linear; 2],
    signed: bool,
    carry_is_overflow: bool,
) -> Vec<Vec<Linear>> {
    let digits = resolve(r, sum);
    let overflow = if signed {
        let sign = |r: &mut Recorder, x: &Linear, scale: i32| {
            r.look_up(x, |x| scale * i32::from(is_negative_digit(x)))
        };
        let top = &digits[digits.len() - 1];
        let signs = sign(r, &top_a, 1).plus(&sign(r, &top_b, 1)).plus(&sign(r, top, 4));
        r.look_up(&signs, |x| CONDITION * i32::from(x == 2 || x == 4))
    } else {
        let carry = carry_out(r, sum, None);
        if carry_is_overflow { carry.carry(r, CONDITION) } else { carry.none(r, CONDITION) }
    };
    vec![digits, vec![overflow]]
}

fn add_overflowing(r: &mut Recorder, a: &[Linear], b: &[Linear], signed: bool) -> Vec<Vec<Linear>> {
    let sum: Vec<Linear> = a.iter().zip(b).map(|(a, b)| a.plus(b)).collect();
    let tops = [a, b].map(|x| x[x.len() - 1].clone());
    with_overflow(r, &sum, tops, signed, true)
}

/// As the sum of a, all bits of b flipped, and 1: no carry comes out where b is larger.
fn subtract_overflowing(
    r: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
) -> Vec<Vec<Linear>> {
    let sum = difference(a, b);
    let tops = [a[a.len() - 1].clone(), not(&b[b.len() - 1..])[0].clone()];
    with_overflow(r, &sum, tops, signed, false)
}
