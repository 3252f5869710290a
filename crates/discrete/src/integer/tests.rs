//! Programs on plain digits against Rust's integers, recorded with the errors of DISCRETE_4.

use super::operations::{Logic, Move, Operation, Order, Request, State};
use super::program::Program;
use super::standard::Standard;
use crate::{DEFAULT_LIMIT, DiscreteParameters, Forecast};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// Programs by what they were recorded for: recording counts every look-up.
static RECORDED: LazyLock<Mutex<HashMap<Request, Arc<Program>>>> = LazyLock::new(Mutex::default);

fn standard() -> &'static Arc<Standard> {
    static STANDARD: OnceLock<Arc<Standard>> = OnceLock::new();
    STANDARD.get_or_init(|| {
        let set = DiscreteParameters::by_name("DISCRETE_4").expect("built in");
        Arc::new(Standard::new(&Forecast::new(&set), DEFAULT_LIMIT).expect("it settles"))
    })
}

/// An operand of an operation.
#[derive(Clone, Copy)]
enum Given {
    /// A number of so many digits in a state.
    Number(i128, usize, State),
    Known(i128, usize),
    Bit(bool),
}

/// Results as unsigned numbers.
fn run(operation: Operation, signed: bool, operands: &[Given]) -> Vec<u128> {
    let digit = |value: i128, i: usize| (value >> (2 * i)) as i64 & 3;
    let states = |given: &Given| match *given {
        Given::Number(_, digits, state) => (vec![state; digits], false),
        Given::Known(value, digits) => {
            ((0..digits).map(|i| State::Known(digit(value, i))).collect(), false)
        }
        Given::Bit(_) => (vec![State::Clean], true),
    };
    let inputs: Vec<i64> = operands
        .iter()
        .flat_map(|given| match *given {
            Given::Number(value, digits, _) => (0..digits).map(|i| digit(value, i)).collect(),
            Given::Known(..) => Vec::new(),
            Given::Bit(bit) => vec![i64::from(bit)],
        })
        .collect();
    let request = Request { operation, signed, operands: operands.iter().map(states).collect() };
    let known = RECORDED.lock().expect("no panic inside").get(&request).cloned();
    let program = known.unwrap_or_else(|| {
        let program = Arc::new(request.record(standard()).expect("it holds"));
        RECORDED.lock().expect("no panic inside").insert(request, Arc::clone(&program));
        program
    });
    let join = |digits: Vec<i64>| {
        digits.iter().enumerate().fold(0, |n, (i, &digit)| n | (digit as u128) << (2 * i))
    };
    program.simulate(&inputs).into_iter().map(join).collect()
}

const EDGES: [u64; 8] = [0, 1, 2, 3, u64::MAX, 1 << 63, (1 << 63) - 1, 0x0123_4567_89ab_cdef];

fn pairs() -> impl Iterator<Item = (u64, u64)> {
    let state = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17);
    let random = (0..6).map(move |i| (state(2 * i), state(2 * i + 1) >> (11 * i)));
    EDGES.into_iter().flat_map(|a| EDGES.into_iter().map(move |b| (a, b))).chain(random)
}

fn number(value: u64, state: State) -> Given {
    Given::Number(value.into(), 32, state)
}

/// Runs an operation on clean digits, on digits at rest, and on a known right operand.
fn check(operation: Operation, signed: bool, right: impl Fn(u64, u64) -> Vec<u64>) {
    for (a, b) in pairs() {
        let wanted: Vec<u128> = right(a, b).into_iter().map(u128::from).collect();
        let mut forms = vec![
            [number(a, State::Clean), number(b, State::Clean)],
            [number(a, State::Rest), number(b, State::Rest)],
        ];
        // A program for each known value.
        if a == EDGES[7] && [0, 3, EDGES[5]].contains(&b) {
            forms.push([number(a, State::Clean), Given::Known(b.into(), 32)]);
            forms.push([Given::Known(b.into(), 32), number(a, State::Clean)]);
            forms.push([number(a, State::Rest), Given::Known(b.into(), 32)]);
        }
        for (i, operands) in forms.iter().enumerate() {
            let wanted = match i {
                3 => right(b, a).into_iter().map(u128::from).collect(),
                _ => wanted.clone(),
            };
            assert_eq!(run(operation, signed, operands), wanted, "{operation:?} {a} {b} {i}");
        }
    }
}

#[test]
fn sums_differences_and_products() {
    check(Operation::Add, false, |a, b| vec![a.wrapping_add(b)]);
    check(Operation::Subtract, false, |a, b| vec![a.wrapping_sub(b)]);
    check(Operation::Sum, false, |a, b| vec![a.wrapping_add(b)]);
    let flagged = |(value, flag): (u64, bool)| vec![value, u64::from(flag)];
    let of_signed = |(value, flag): (i64, bool)| vec![value as u64, u64::from(flag)];
    check(Operation::AddOverflowing, false, |a, b| flagged(a.overflowing_add(b)));
    check(Operation::SubtractOverflowing, false, |a, b| flagged(a.overflowing_sub(b)));
    let add = |a: u64, b: u64| of_signed((a as i64).overflowing_add(b as i64));
    check(Operation::AddOverflowing, true, add);
    let subtract = |a: u64, b: u64| of_signed((a as i64).overflowing_sub(b as i64));
    check(Operation::SubtractOverflowing, true, subtract);
}

#[test]
fn products() {
    check(Operation::Multiply, false, |a, b| vec![a.wrapping_mul(b)]);
    // Of narrow numbers, all of them.
    for (a, b) in (0..16).flat_map(|a| (0..16).map(move |b| (a, b))) {
        let of = |value| Given::Number(value, 2, State::Clean);
        assert_eq!(run(Operation::Multiply, false, &[of(a), of(b)]), [(a * b) as u128 & 15]);
    }
}

#[test]
fn comparisons_and_choices() {
    for (order, of) in [
        (Order::Less, (|a, b| a < b) as fn(i128, i128) -> bool),
        (Order::LessOrEqual, |a, b| a <= b),
        (Order::Greater, |a, b| a > b),
        (Order::GreaterOrEqual, |a, b| a >= b),
        (Order::Equal, |a, b| a == b),
        (Order::NotEqual, |a, b| a != b),
    ] {
        check(Operation::Compare(order), false, |a, b| vec![of(a.into(), b.into()).into()]);
        let signed = |a: u64, b: u64| vec![of((a as i64).into(), (b as i64).into()).into()];
        check(Operation::Compare(order), true, signed);
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            let narrow = |value| Given::Number(value, 1, State::Clean);
            let found = run(Operation::Compare(order), true, &[narrow(a), narrow(b)]);
            let signed = |value: i128| if value >= 2 { value - 4 } else { value };
            assert_eq!(found, [u128::from(of(signed(a), signed(b)))], "{order:?} {a} {b}");
        }
    }
    check(Operation::Minimum, false, |a, b| vec![a.min(b)]);
    check(Operation::Maximum, true, |a, b| vec![(a as i64).max(b as i64) as u64]);
    for (a, b) in pairs() {
        for (bit, right) in [(true, a), (false, b)] {
            for [x, y] in [[State::Clean; 2], [State::Clean, State::Rest], [State::Rest; 2]] {
                for operands in [[number(a, x), number(b, y)], [number(a, y), number(b, x)]] {
                    let operands = [Given::Bit(bit), operands[0], operands[1]];
                    assert_eq!(run(Operation::Select, false, &operands), [u128::from(right)]);
                }
            }
        }
    }
    for (bit, right) in [(true, EDGES[7]), (false, EDGES[5])] {
        let known = [EDGES[7], EDGES[5]].map(|value| Given::Known(value.into(), 32));
        let found = run(Operation::Select, false, &[Given::Bit(bit), known[0], known[1]]);
        assert_eq!(found, [u128::from(right)]);
    }
}

#[test]
fn bits() {
    check(Operation::Logic(Logic::And), false, |a, b| vec![a & b]);
    check(Operation::Logic(Logic::Or), false, |a, b| vec![a | b]);
    check(Operation::Logic(Logic::Xor), false, |a, b| vec![a ^ b]);
    for (a, b) in pairs() {
        let x = [number(a, State::Rest)];
        let one = |operation, signed| run(operation, signed, &x)[0] as u64;
        assert_eq!(one(Operation::Not, false), !a);
        assert_eq!(one(Operation::Negate, false), a.wrapping_neg());
        assert_eq!(one(Operation::Absolute, true), (a as i64).wrapping_abs() as u64);
        let by = [0, 1, 2, 31, 63][b as usize % 5];
        assert_eq!(one(Operation::Move(Move::ShiftLeft, by), false), a << by, "{a} {by}");
        assert_eq!(one(Operation::Move(Move::ShiftRight, by), false), a >> by, "{a} {by}");
        let right = (a as i64 >> by) as u64;
        assert_eq!(one(Operation::Move(Move::ShiftRight, by), true), right, "{a} {by}");
        assert_eq!(one(Operation::Move(Move::RotateLeft, by), false), a.rotate_left(by));
        assert_eq!(one(Operation::Move(Move::RotateRight, by), false), a.rotate_right(by));
    }
    for (a, b) in pairs().step_by(5) {
        let by = Given::Number((b % 64).into(), 3, State::Rest);
        let operands = [number(a, State::Clean), by];
        let by = b as u32 % 64;
        let one = |how, signed| run(Operation::MoveBy(how), signed, &operands)[0] as u64;
        assert_eq!(one(Move::ShiftLeft, false), a << by);
        assert_eq!(one(Move::ShiftRight, true), (a as i64 >> by) as u64);
        assert_eq!(one(Move::RotateRight, false), a.rotate_right(by));
    }
}

#[test]
fn quotients() {
    let of = |a: u64, b: u64, digits: usize, signed: bool| {
        let given = |value: u64| Given::Number(value.into(), digits, State::Rest);
        run(Operation::Divide, signed, &[given(a), given(b)])
    };
    for (a, b) in pairs().step_by(4) {
        let wanted = [a.checked_div(b).unwrap_or(u64::MAX), a.checked_rem(b).unwrap_or(a)];
        assert_eq!(of(a, b, 32, false), wanted.map(u128::from), "{a} {b}");
    }
    for (a, b) in (-8..8i8).flat_map(|a| (-8..8i8).map(move |b| (a, b))) {
        let by_zero = if a < 0 { 1 } else { -1 };
        let [quotient, rest] = match b {
            0 => [by_zero, a],
            _ => [a / b, a % b],
        };
        let wanted = [quotient as u128 & 15, rest as u128 & 15];
        assert_eq!(of(a as u64 & 15, b as u64 & 15, 2, true), wanted, "{a} {b}");
    }
}

/// Sums of many arrays, each as often as another.
#[test]
fn sums_of_many() {
    for count in [1, 2, 3, 5, 9, 40] {
        let values: Vec<u64> = pairs().map(|(a, b)| a ^ b.rotate_left(7)).take(count).collect();
        let operands: Vec<Given> = values.iter().map(|&v| number(v, State::Rest)).collect();
        let wanted = values.iter().fold(0u64, |sum, &v| sum.wrapping_add(v));
        assert_eq!(run(Operation::Sum, false, &operands), [u128::from(wanted)], "{count}");
    }
}

/// Every width holds within the bound, and a set without room is refused.
#[test]
fn every_width_holds() {
    let forecast = &standard().forecast;
    for bits in [2, 6, 128] {
        let costs = super::costs(forecast, bits, DEFAULT_LIMIT).expect("it holds");
        assert!(costs.iter().all(|cost| cost.look_ups > 0 && cost.levels <= cost.look_ups));
    }
    let small = DiscreteParameters::by_name("DISCRETE_1").expect("built in");
    let error = super::costs(&Forecast::new(&small), 8, DEFAULT_LIMIT).expect_err("no sums");
    assert!(error.to_string().contains("DISCRETE_4"), "{error}");
    let error = super::costs(forecast, 8, -250.0).expect_err("too much is asked");
    assert!(error.to_string().contains("2^-250"), "{error}");
}
