//! Operations on numbers beyond 128 bits, on plain digits, against integers without a limit.

use crate::operation::{Count, Logic, Move, Operand, Operation, Order};
use crate::tfhe::CONDITION;
use crate::tfhe::operations::{Request, record};
use crate::tfhe::program::Program;
use crate::tfhe::record::{Aim, Budgets, DigitState, Rules};
use crate::tfhe::run::digit_values;
use num_bigint::{BigInt, Sign};

/// A number of so many bits, reduced, in two's complement where it is signed.
struct Model {
    bits: u32,
    signed: bool,
}

impl Model {
    fn wrap(&self, value: &BigInt) -> BigInt {
        let modulus = BigInt::from(1) << self.bits;
        let least: BigInt = ((value % &modulus) + &modulus) % &modulus;
        let half = &modulus >> 1;
        if self.signed && least >= half { least - modulus } else { least }
    }

    fn digits(&self, value: &BigInt) -> Vec<i32> {
        let natural = Model { signed: false, ..*self }.wrap(value);
        let digit = |i: u32| (&natural >> (2 * i)) % 4u32;
        (0..self.bits / 2).map(|i| i32::try_from(digit(i)).expect("below 4")).collect()
    }

    fn of(&self, digits: &[i32]) -> BigInt {
        let natural = digits.iter().rev().fold(BigInt::ZERO, |n, &d| (n << 2) + d);
        self.wrap(&natural)
    }

    fn flag(holds: bool) -> Vec<i32> {
        vec![CONDITION * i32::from(holds)]
    }

    /// The digits of all results.
    fn expected(&self, operation: Operation, a: &BigInt, b: &BigInt) -> Vec<Vec<i32>> {
        let number = |value: BigInt| self.digits(&value);
        let over = |value: BigInt| {
            let left = self.wrap(&value) != value;
            vec![self.digits(&value), Self::flag(left)]
        };
        let natural = |value: &BigInt| Model { signed: false, ..*self }.wrap(value);
        let moved = |how: Move, by: u32| {
            let (x, rest) = (natural(a), self.bits - by);
            number(match how {
                Move::ShiftLeft => x << by,
                Move::ShiftRight => a >> by,
                Move::RotateLeft => (&x << by) + (&x >> rest),
                Move::RotateRight => (&x >> by) + (&x << rest),
            })
        };
        match operation {
            Operation::Add => vec![number(a + b)],
            Operation::Subtract => vec![number(a - b)],
            Operation::Multiply => vec![number(a * b)],
            Operation::Divide if b.sign() == Sign::NoSign => {
                let one = if a.sign() == Sign::Minus { 1 } else { -1 };
                vec![number(one.into()), number(a.clone())]
            }
            Operation::Divide => vec![number(a / b), number(a % b)],
            Operation::Logic(logic) => vec![number(logic.of(natural(a), natural(b)))],
            Operation::Compare(order) => vec![Self::flag(order.of(a, b))],
            Operation::Minimum => vec![number(a.min(b).clone())],
            Operation::Maximum => vec![number(a.max(b).clone())],
            Operation::MoveBy(how) => {
                let modulus = if how.turns() { self.bits } else { self.bits.next_power_of_two() };
                let by = u32::try_from(natural(b) % modulus).expect("below the modulus");
                vec![if by >= self.bits { moved(how, self.bits) } else { moved(how, by) }]
            }
            Operation::AddOverflowing => over(a + b),
            Operation::SubtractOverflowing => over(a - b),
            Operation::MultiplyOverflowing => over(a * b),
            Operation::Negate => vec![number(-a)],
            Operation::Not => vec![number(-a - 1)],
            Operation::Absolute if a.sign() == Sign::Minus => vec![number(-a)],
            Operation::Absolute => vec![number(a.clone())],
            Operation::Count(which, digits) => {
                let bits: Vec<bool> = (0..self.bits).map(|i| natural(a).bit(i.into())).collect();
                let run = |bit: bool, rev: bool| {
                    let same = |x: &&bool| **x == bit;
                    match rev {
                        true => bits.iter().rev().take_while(same).count(),
                        false => bits.iter().take_while(same).count(),
                    }
                };
                let ones = bits.iter().filter(|b| **b).count();
                let count = match which {
                    Count::Ones => ones,
                    Count::Zeros => bits.len() - ones,
                    Count::LeadingOnes => run(true, true),
                    Count::LeadingZeros => run(false, true),
                    Count::TrailingOnes => run(true, false),
                    Count::TrailingZeros => run(false, false),
                    Count::BelowHighest => (bits.len() - run(false, true)).saturating_sub(1),
                };
                let count = Model { bits: 2 * digits as u32, signed: false }.digits(&count.into());
                vec![count]
            }
            _ => unreachable!("an operation of this test"),
        }
    }
}

/// Numbers where carries run far, and others.
fn numbers(model: &Model) -> Vec<(BigInt, BigInt)> {
    let one = BigInt::from(1);
    let top = &one << (model.bits - 1);
    let mixed = |seed: u64| {
        (0..5u64).fold(BigInt::ZERO, |n, i| {
            (n << 64) + seed.wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    };
    let pairs = [
        (mixed(1), mixed(7) >> 180u32),
        (-&one, one.clone()),
        (top.clone(), -&one),
        (mixed(3), BigInt::ZERO),
        (mixed(4), BigInt::from(model.bits - 3)),
    ];
    pairs.map(|(a, b)| (model.wrap(&a), model.wrap(&b))).to_vec()
}

fn program(model: &Model, operation: Operation, operands: usize, aim: Aim) -> Program {
    let state = DigitState { values: digit_values(), norm: 1 };
    let number = Operand::Digits(vec![state; model.bits as usize / 2]);
    let request = Request { operation, signed: model.signed, operands: vec![number; operands] };
    let budgets = Budgets { half: 25, whole: 913 };
    record(&request, Rules { budgets, pairs: true, aim }).expect("within the budget")
}

fn check(bits: u32, signed: bool, operations: &[(Operation, usize)]) {
    let model = Model { bits, signed };
    for (&(operation, operands), aim) in
        operations.iter().flat_map(|of| Aim::ALL.map(|aim| (of, aim)))
    {
        let program = program(&model, operation, operands, aim);
        for (a, b) in numbers(&model) {
            let inputs = [model.digits(&a), model.digits(&b)];
            let got = program.simulate(&inputs[..operands]);
            let want = model.expected(operation, &a, &b);
            // Sums wait for their carries.
            let is_lazy =
                matches!(operation, Operation::Add | Operation::Subtract | Operation::Negate);
            let got = if is_lazy { vec![model.digits(&model.of(&got[0]))] } else { got };
            assert_eq!(got, want, "{operation:?} of {a} and {b}, {bits} bits, signed: {signed}");
        }
    }
}

fn cheap() -> Vec<(Operation, usize)> {
    use Operation as Op;
    let two = [Op::Add, Op::Subtract, Op::Minimum, Op::Maximum]
        .into_iter()
        .chain(Logic::ALL.map(Op::Logic))
        .chain(Order::ALL.map(Op::Compare))
        .chain([Op::AddOverflowing, Op::SubtractOverflowing]);
    let one = [Op::Negate, Op::Absolute, Op::Not]
        .into_iter()
        .chain(Count::ALL.map(|which| Op::Count(which, 16)));
    two.map(|operation| (operation, 2)).chain(one.map(|operation| (operation, 1))).collect()
}

#[test]
fn sums_comparisons_and_bits() {
    for (bits, signed) in [(130, true), (160, false), (160, true), (256, false), (256, true)] {
        check(bits, signed, &cheap());
    }
}

#[test]
fn moves() {
    let shifts = [Move::ShiftLeft, Move::ShiftRight].map(|how| (Operation::MoveBy(how), 2));
    let turns = [Move::RotateLeft, Move::RotateRight].map(|how| (Operation::MoveBy(how), 2));
    check(160, true, &shifts);
    check(256, false, &shifts);
    check(160, false, &turns);
    check(256, true, &turns[..1]);
}

#[test]
fn products() {
    check(160, false, &[(Operation::Multiply, 2)]);
    check(256, true, &[(Operation::Multiply, 2)]);
    check(130, true, &[(Operation::MultiplyOverflowing, 2)]);
}

#[test]
fn quotients() {
    check(160, false, &[(Operation::Divide, 2)]);
    check(132, true, &[(Operation::Divide, 2)]);
}
