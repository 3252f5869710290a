//! Every operation against Rust's own integers, on plain digits: all numbers of four bits, random
//! ones of up to 128. `tests/` has the same on encrypted ones.

use crate::operation::{Count, Logic, Move, Operation, Order};
use crate::tfhe::operations::{Request, record};
use crate::tfhe::program::Program;
use crate::tfhe::record::{Aim, Budgets, DigitState, Margin, Rules, Values};
use crate::tfhe::run::digit_values;
use crate::tfhe::{CONDITION, RADIX};

type Operand = crate::operation::Operand<DigitState>;
use proptest::prelude::*;

/// Budgets of noise: that of TFHE-rs's sets, and less.
const BUDGETS: [u32; 3] = [25, 16, 9];

/// With the larger margin: as of TFHERS_2_2_GROUP_2 with the f64 transform, a smaller one that has
/// room for wide sums, and one that has none.
fn whole(half: u32) -> u32 {
    match half {
        25 => 1263,
        16 => 600,
        _ => 36,
    }
}

/// A number of so many bits in two's complement.
#[derive(Clone, Copy)]
struct Number {
    value: u128,
    bits: u32,
}

impl Number {
    fn new(value: u128, bits: u32) -> Self {
        Self { value: value << (128 - bits) >> (128 - bits), bits }
    }

    fn signed(self) -> i128 {
        (self.value << (128 - self.bits)) as i128 >> (128 - self.bits)
    }

    fn digits(self) -> Vec<i32> {
        (0..self.bits / 2).map(|i| (self.value >> (2 * i)) as i32 & 3).collect()
    }

    fn of(digits: &[i32]) -> u128 {
        digits.iter().rev().fold(0u128, |n, &d| (n << 2).wrapping_add(d as u128))
    }
}

fn state(values: Values, norm: u32) -> DigitState {
    DigitState { values, norm }
}

fn number(bits: u32) -> Operand {
    Operand::Digits(vec![state(digit_values(), 1); bits as usize / 2])
}

fn plain(value: u128, bits: u32) -> Operand {
    Operand::Plain((0..bits).step_by(2).map(|i| (value >> i) as u8 & 3).collect())
}

fn condition() -> Operand {
    Operand::Digits(vec![state(Values::from_iter([0, CONDITION]), 1)])
}

/// One operation, recorded for either aim, on sets whose rotations have two results and on others.
struct Programs(Vec<Program>);

impl std::ops::Deref for Programs {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0[0]
    }
}

impl Programs {
    /// What all of them give.
    fn simulate(&self, inputs: &[Vec<i32>]) -> Vec<Vec<i32>> {
        let mut results = self.0.iter().map(|program| program.simulate(inputs));
        let first = results.next().expect("one at least");
        results.for_each(|result| assert_eq!(result, first));
        first
    }
}

fn program(operation: Operation, signed: bool, operands: &[Operand], budget: u32) -> Programs {
    let request = Request { operation, signed, operands: operands.to_vec() };
    let budgets = Budgets { half: budget, whole: whole(budget) };
    let rules = [true, false].map(|pairs| Aim::ALL.map(|aim| Rules { budgets, pairs, aim }));
    let programs = rules.iter().flatten().map(|&rules| {
        let program = record(&request, rules).expect("within the budget");
        let within = |&(margin, norm): &(Margin, u32)| match margin {
            Margin::Half => norm <= budgets.half,
            Margin::Whole => norm <= budgets.whole,
        };
        assert!(program.norms.keys().all(within), "{request:?}");
        program
    });
    Programs(programs.collect())
}

/// What an operation of two numbers must give, in the order of its results.
fn expected(operation: Operation, signed: bool, a: Number, b: Number) -> Vec<u128> {
    let bits = a.bits;
    let (x, y) = (a.value, b.value);
    let (s, t) = (a.signed(), b.signed());
    let wrap = |v: u128| Number::new(v, bits).value;
    let flag = |f: bool| u128::from(f) * CONDITION as u128;
    let fits = |v: Option<i128>| v.is_some_and(|v| Number::new(v as u128, bits).signed() == v);
    let fits_unsigned = |v: Option<u128>| v.is_some_and(|v| wrap(v) == v);
    let moved = |how: Move, by: u32| match how {
        Move::ShiftLeft => wrap(x << by),
        Move::ShiftRight if signed => wrap((s >> by) as u128),
        Move::ShiftRight => x >> by,
        _ if by == 0 => x,
        Move::RotateLeft => wrap(x << by | x >> (bits - by)),
        Move::RotateRight => wrap(x >> by | x << (bits - by)),
    };
    match operation {
        Operation::Add => vec![wrap(x.wrapping_add(y))],
        Operation::Subtract => vec![wrap(x.wrapping_sub(y))],
        Operation::Multiply => vec![wrap(x.wrapping_mul(y))],
        Operation::Divide if signed && t == 0 => {
            vec![if s < 0 { 1 } else { wrap(u128::MAX) }, x]
        }
        Operation::Divide if signed => {
            vec![wrap(s.wrapping_div(t) as u128), wrap(s.wrapping_rem(t) as u128)]
        }
        Operation::Divide if y == 0 => vec![wrap(u128::MAX), x],
        Operation::Divide => vec![x / y, x % y],
        Operation::Logic(logic) => vec![logic.of(x, y)],
        Operation::Compare(order) => {
            vec![flag(if signed { order.of(&s, &t) } else { order.of(&x, &y) })]
        }
        Operation::Minimum if signed => vec![wrap(s.min(t) as u128)],
        Operation::Maximum if signed => vec![wrap(s.max(t) as u128)],
        Operation::Minimum => vec![x.min(y)],
        Operation::Maximum => vec![x.max(y)],
        Operation::Move(how, by) => vec![moved(how, by)],
        Operation::MoveBy(how) => {
            let modulus = match how {
                Move::ShiftLeft | Move::ShiftRight => bits.next_power_of_two(),
                Move::RotateLeft | Move::RotateRight => bits,
            };
            vec![moved(how, (y % u128::from(modulus)) as u32)]
        }
        Operation::AddOverflowing => {
            let fits =
                if signed { fits(s.checked_add(t)) } else { fits_unsigned(x.checked_add(y)) };
            vec![wrap(x.wrapping_add(y)), flag(!fits)]
        }
        Operation::SubtractOverflowing => {
            let fits = if signed { fits(s.checked_sub(t)) } else { x >= y };
            vec![wrap(x.wrapping_sub(y)), flag(!fits)]
        }
        Operation::MultiplyOverflowing => {
            let fits =
                if signed { fits(s.checked_mul(t)) } else { fits_unsigned(x.checked_mul(y)) };
            vec![wrap(x.wrapping_mul(y)), flag(!fits)]
        }
        Operation::Negate => vec![wrap(x.wrapping_neg())],
        Operation::Absolute => vec![wrap(if signed { s.wrapping_abs() as u128 } else { x })],
        Operation::Not => vec![wrap(!x)],
        Operation::Clean => vec![x],
        _ => unreachable!("an operation of two numbers"),
    }
}

/// All operations on one or two numbers.
fn operations() -> Vec<Operation> {
    use Operation as Op;
    let two = [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::Minimum, Op::Maximum]
        .into_iter()
        .chain(Logic::ALL.map(Op::Logic))
        .chain(Order::ALL.map(Op::Compare))
        .chain(Move::ALL.map(Op::MoveBy))
        .chain([Op::AddOverflowing, Op::SubtractOverflowing, Op::MultiplyOverflowing]);
    two.chain([Op::Negate, Op::Absolute, Op::Not, Op::Clean]).collect()
}

fn is_of_one(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Negate
            | Operation::Absolute
            | Operation::Not
            | Operation::Clean
            | Operation::Move(..)
    )
}

/// The results of a program as numbers of `bits` bits, and flags as they are.
fn results(program: &Programs, inputs: &[Vec<i32>], bits: u32) -> Vec<u128> {
    let result = |(digits, states): (&Vec<i32>, &Vec<DigitState>)| match &states[..] {
        [state] if state.values.iter().all(|v| v == 0 || v == CONDITION) => digits[0] as u128,
        _ => Number::new(Number::of(digits), bits).value,
    };
    program.simulate(inputs).iter().zip(&program.outputs).map(result).collect()
}

fn check(program: &Programs, operation: Operation, signed: bool, a: Number, b: Number) {
    let mut inputs = vec![a.digits()];
    if !is_of_one(operation) {
        inputs.push(b.digits());
    }
    let got = results(program, &inputs, a.bits);
    let want = expected(operation, signed, a, b);
    assert_eq!(got, want, "{operation:?} of {} and {}, signed: {signed}", a.value, b.value);
}

#[test]
fn all_numbers_of_two_bits() {
    all_numbers_of(2);
}

#[test]
fn all_numbers_of_four_bits() {
    all_numbers_of(4);
}

fn all_numbers_of(bits: u32) {
    let moves =
        Move::ALL.into_iter().flat_map(|how| (0..bits).map(move |by| Operation::Move(how, by)));
    for operation in operations().into_iter().chain(moves) {
        for (signed, budget) in [false, true].into_iter().flat_map(|s| BUDGETS.map(|b| (s, b))) {
            let operands = [number(bits), number(bits)];
            let count = if is_of_one(operation) { 1 } else { 2 };
            let program = program(operation, signed, &operands[..count], budget);
            for pair in 0..1 << (2 * bits) {
                let (a, b) = (Number::new(pair >> bits, bits), Number::new(pair, bits));
                check(&program, operation, signed, a, b);
            }
        }
    }
}

/// One operand known, or both the same.
#[test]
fn known_numbers_and_the_same_number_twice() {
    let bits = 4;
    for operation in operations().into_iter().filter(|o| !is_of_one(*o)) {
        for signed in [false, true] {
            let same = program(operation, signed, &[number(bits), Operand::Same(0)], 25);
            for a in 0..16 {
                let a = Number::new(a, bits);
                let got = results(&same, &[a.digits()], bits);
                assert_eq!(got, expected(operation, signed, a, a), "{operation:?} of {}", a.value);
            }
            for b in 0..16 {
                let plain = plain(b, 4);
                let known = program(operation, signed, &[number(bits), plain], 25);
                for a in 0..16 {
                    check(&known, operation, signed, Number::new(a, bits), Number::new(b, bits));
                }
            }
        }
    }
}

/// Digits that wait for their carries, as large as they may get, with all the errors they may
/// have: whatever reads them propagates first.
#[test]
fn digits_that_wait_for_carries() {
    let bits = 6;
    for (most, norm) in [(3, 2), (6, 4), (7, 9), (12, 16), (15, 16)] {
        let waiting = Operand::Digits(vec![state(Values::range(0, most), norm); bits as usize / 2]);
        for operation in operations() {
            if matches!(operation, Operation::MoveBy(_)) {
                continue;
            }
            let operands = [waiting.clone(), number(bits)];
            let count = if is_of_one(operation) { 1 } else { 2 };
            let program = program(operation, false, &operands[..count], 25);
            for seed in 0..200u32 {
                let digit = |i: u32| (seed.wrapping_mul(2_654_435_761) >> (5 * i)) as i32;
                let lazy: Vec<i32> =
                    (0..3).map(|i| digit(i) & 0xFFF).map(|d| d % (most + 1)).collect();
                let a = Number::new(Number::of(&lazy), bits);
                let b = Number::new(u128::from(seed / 3), bits);
                let inputs = [lazy, b.digits()];
                let got = results(&program, &inputs[..count], bits);
                assert_eq!(got, expected(operation, false, a, b), "{operation:?} {inputs:?}");
            }
        }
    }
}

/// Sums of up to five numbers take no look-up, and sums of more only what they must.
#[test]
fn sums_wait_for_carries() {
    let mut operand = number(64);
    let mut look_ups = Vec::new();
    for _ in 0..6 {
        let program = program(Operation::Add, false, &[operand, number(64)], 25);
        look_ups.push(program.bootstrappings());
        operand = Operand::Digits(program.outputs[0].clone());
    }
    assert_eq!(look_ups[..3], [0, 0, 0]);
    assert!(look_ups[3] > 0 && look_ups[3] < 200, "{look_ups:?}");
    assert_eq!(look_ups[4..], [0, 0]);
}

#[test]
fn conditions() {
    let logic = Logic::ALL.map(Operation::ConditionLogic);
    for operation in logic {
        let program = program(operation, false, &[condition(), condition()], 25);
        let Operation::ConditionLogic(which) = operation else { unreachable!("as made") };
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let got = program.simulate(&[vec![CONDITION * a], vec![CONDITION * b]]);
            assert_eq!(got, [[CONDITION * which.of(a, b)]], "{operation:?} {a} {b}");
        }
    }
    let not = program(Operation::ConditionNot, false, &[condition()], 25);
    let select =
        program(Operation::ConditionSelect, false, &[condition(), condition(), condition()], 25);
    let number_of = program(Operation::FromCondition(4), false, &[condition()], 25);
    for bits in 0..8 {
        let [c, a, b] = [bits & 1, bits >> 1 & 1, bits >> 2];
        let want = if c == 1 { a } else { b };
        let inputs = [c, a, b].map(|x| vec![CONDITION * x]);
        assert_eq!(select.simulate(&inputs), [[CONDITION * want]]);
        assert_eq!(not.simulate(&inputs[..1]), [[CONDITION * (1 - c)]]);
        assert_eq!(number_of.simulate(&inputs[..1]), [[c, 0, 0, 0]]);
    }
    for budget in BUDGETS {
        let operands = [condition(), number(4), number(4)];
        let select = program(Operation::Select, false, &operands, budget);
        for all in 0..512u128 {
            let [a, b] = [all >> 4, all].map(|x| Number::new(x, 4));
            let c = (all >> 8) as i32;
            let got = select.simulate(&[vec![CONDITION * c], a.digits(), b.digits()]);
            assert_eq!(got, [if c == 1 { a.digits() } else { b.digits() }]);
        }
    }
}

/// The result of counting bits, as Rust counts them.
fn counted(which: Count, x: Number) -> u128 {
    let (value, unused) = (x.value, 128 - x.bits);
    let top = value << unused;
    u128::from(match which {
        Count::Ones => value.count_ones(),
        Count::Zeros => x.bits - value.count_ones(),
        Count::LeadingOnes => top.leading_ones(),
        Count::LeadingZeros => top.leading_zeros().min(x.bits),
        Count::TrailingOnes => value.trailing_ones(),
        Count::TrailingZeros => value.trailing_zeros().min(x.bits),
        Count::BelowHighest => value.checked_ilog2().unwrap_or(0),
    })
}

#[test]
fn bits_are_counted() {
    for (which, budget) in Count::ALL.into_iter().flat_map(|c| BUDGETS.map(|b| (c, b))) {
        let check = |program: &Programs, x: Number| {
            let got = program.simulate(&[x.digits()]);
            assert_eq!(Number::of(&got[0]), counted(which, x), "{which:?} of {:#x}", x.value);
        };
        for bits in [4, 8] {
            let program = program(Operation::Count(which, 16), false, &[number(bits)], budget);
            (0..1 << bits).for_each(|value| check(&program, Number::new(value, bits)));
        }
        for bits in [64, 128] {
            let program = program(Operation::Count(which, 16), false, &[number(bits)], budget);
            for at in 0..bits {
                for value in [0, 1u128 << at, !(1u128 << at), u128::MAX << at, 0x1234_5678 << at] {
                    check(&program, Number::new(value, bits));
                }
            }
        }
    }
}

#[test]
fn sums_of_many_numbers() {
    for (bits, terms, budget) in [(4, 3, 9), (8, 7, 16), (16, 32, 25), (64, 20, 9)] {
        let waiting = Operand::Digits(vec![state(Values::range(0, 15), 9); bits as usize / 2]);
        let mut operands = vec![number(bits); terms];
        operands[1] = waiting;
        operands[2] = Operand::Same(0);
        let program = program(Operation::Sum, false, &operands, budget);
        for seed in 0..50u128 {
            let mut values: Vec<Vec<i32>> = (0..terms as u128)
                .map(|i| Number::new((seed + 1) * (i + 3) * 0x9e37_79b9_7f4a_7c15, bits).digits())
                .collect();
            values[1].iter_mut().for_each(|digit| *digit = *digit * 4 + 3);
            values[2] = values[0].clone();
            let sum = values.iter().fold(0u128, |sum, x| sum.wrapping_add(Number::of(x)));
            let got = results(&program, &values, bits);
            assert_eq!(got, [Number::new(sum, bits).value], "{terms} of {bits} bits");
        }
    }
}

#[test]
fn numbers_in_lists() {
    let known = |value: u128, bits: u32| plain(value, bits);
    for (budget, len) in BUDGETS.into_iter().flat_map(|b| [1, 2, 40, 200].map(|len| (b, len))) {
        // Every fifth number from 7 on, and what stands beside it.
        let table: Vec<(u128, u128)> =
            (0..len).map(|i| ((7 + 5 * i) % 256, i * 0x1357 % 65_536)).collect();
        let numbers = table.iter().map(|&(x, _)| known(x, 8));
        let list: Vec<Operand> = [number(8)].into_iter().chain(numbers).collect();
        let is_in = program(Operation::IsIn, false, &list, budget);
        let entries = table.iter().flat_map(|&(x, y)| [known(x, 8), known(y, 16)]);
        let entries: Vec<Operand> = [number(8)].into_iter().chain(entries).collect();
        let find = program(Operation::Find, false, &entries, budget);
        for x in 0..256 {
            let digits = [Number::new(x, 8).digits()];
            let found = table.iter().find(|entry| entry.0 == x);
            let flag = CONDITION as u128 * u128::from(found.is_some());
            assert_eq!(results(&is_in, &digits, 8), [flag], "{x} of {len}");
            let beside = found.map_or(0, |entry| entry.1);
            assert_eq!(results(&find, &digits, 16), [beside, flag], "{x} of {len}");
        }
    }
}

#[test]
fn casts() {
    for (from, to, signed) in [(4, 8, false), (4, 8, true), (8, 4, false), (8, 16, true)] {
        let program = program(Operation::Cast(to as usize / 2), signed, &[number(from)], 25);
        for value in 0..1 << from {
            let a = Number::new(value, from);
            let want = if signed { a.signed() as u128 } else { a.value };
            assert_eq!(program.simulate(&[a.digits()]), [Number::new(want, to).digits()]);
        }
    }
}

/// Values where carries run far, among random ones.
fn any_number() -> impl Strategy<Value = u128> {
    let edge = (0u32..128, any::<bool>(), -1i32..2).prop_map(|(bit, not, more)| {
        let value = (1u128 << bit).wrapping_add(more as u128);
        if not { !value } else { value }
    });
    prop_oneof![any::<u128>(), edge, (0u128..4)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn numbers_of_all_widths(
        a in any_number(),
        b in any_number(),
        digits in 3u32..65,
        operation in prop::sample::select(operations()),
        signed: bool,
        budget in prop::sample::select(&BUDGETS[..]),
        small: bool,
    ) {
        let bits = 2 * digits;
        // Division by numbers of few digits, too.
        let b = if small { b >> (128 - bits / 3) } else { b };
        let count = if is_of_one(operation) { 1 } else { 2 };
        let program = program(operation, signed, &[number(bits), number(bits)][..count], budget);
        check(&program, operation, signed, Number::new(a, bits), Number::new(b, bits));
    }

    #[test]
    fn known_numbers_of_all_widths(
        a in any_number(),
        b in any_number(),
        digits in 3u32..65,
        operation in prop::sample::select(operations()),
        signed: bool,
        by in 0u32..128,
        how in prop::sample::select(&Move::ALL[..]),
    ) {
        let bits = 2 * digits;
        let a = Number::new(a, bits);
        let moved = Operation::Move(how, by % bits);
        check(&program(moved, signed, &[number(bits)], 25), moved, signed, a, a);
        if !is_of_one(operation) {
            let b = Number::new(b, bits);
            let plain = plain(b.value, bits);
            check(&program(operation, signed, &[number(bits), plain], 25), operation, signed, a, b);
            let same = program(operation, signed, &[number(bits), Operand::Same(0)], 25);
            let got = results(&same, &[a.digits()], bits);
            assert_eq!(got, expected(operation, signed, a, a), "{operation:?} of {}", a.value);
        }
    }
}

/// Every width reads and writes what it says; no program reads a place before it is written.
#[test]
fn programs_are_lists_of_independent_instructions() {
    use crate::tfhe::program::{Instruction, Place};
    for operation in [Operation::Divide, Operation::Multiply, Operation::MoveBy(Move::RotateLeft)] {
        let program = program(operation, true, &[number(16), number(16)], 25);
        let mut written = std::collections::HashSet::new();
        for step in program.0.iter().flat_map(|program| &program.steps) {
            let places = |i: &Instruction| [Some(i.place), i.second.map(|second| second.place)];
            let here: Vec<Place> = step.iter().flat_map(places).flatten().collect();
            for i in step {
                assert!(i.operands.len() <= 4);
                for (place, _) in &i.operands {
                    assert!(!here.contains(place), "a step reads what it writes");
                    let is_input = matches!(place, Place::Input { .. });
                    assert!(is_input || written.contains(&format!("{place:?}")));
                }
            }
            written.extend(here.iter().map(|place| format!("{place:?}")));
        }
    }
    assert_eq!(RADIX, 4);
}
