//! Programs on plain digits against Rust's integers, recorded with the errors of DISCRETE_4.

use super::operations::{Request, State, record};
use super::program::Program;
use super::standard::Standard;
use crate::operation::{Count, Logic, Move, Operand, Operation, Order};
use girih_discrete::{DEFAULT_LIMIT, DiscreteParameters, Forecast};
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

const CLEAN: State = State::Clean(3);
const REST: State = State::Rest(3);

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
        Given::Number(_, digits, state) => Operand::Digits(vec![state; digits]),
        Given::Known(value, digits) => {
            Operand::Plain((0..digits).map(|i| digit(value, i) as u8).collect())
        }
        Given::Bit(_) => Operand::Digits(vec![State::Clean(1)]),
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
        let program = Arc::new(record(&request, standard()).expect("it holds"));
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
        let mut forms =
            vec![[number(a, CLEAN), number(b, CLEAN)], [number(a, REST), number(b, REST)]];
        // A program for each known value.
        if a == EDGES[7] && [0, 3, EDGES[5]].contains(&b) {
            forms.push([number(a, CLEAN), Given::Known(b.into(), 32)]);
            forms.push([Given::Known(b.into(), 32), number(a, CLEAN)]);
            forms.push([number(a, REST), Given::Known(b.into(), 32)]);
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
        let of = |value| Given::Number(value, 2, CLEAN);
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
            let narrow = |value| Given::Number(value, 1, CLEAN);
            let found = run(Operation::Compare(order), true, &[narrow(a), narrow(b)]);
            let signed = |value: i128| if value >= 2 { value - 4 } else { value };
            assert_eq!(found, [u128::from(of(signed(a), signed(b)))], "{order:?} {a} {b}");
        }
    }
    check(Operation::Minimum, false, |a, b| vec![a.min(b)]);
    check(Operation::Maximum, true, |a, b| vec![(a as i64).max(b as i64) as u64]);
    for (a, b) in pairs() {
        for (bit, right) in [(true, a), (false, b)] {
            for [x, y] in [[CLEAN; 2], [CLEAN, REST], [REST; 2]] {
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
        let x = [number(a, REST)];
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
        let by = Given::Number((b % 64).into(), 3, REST);
        let operands = [number(a, CLEAN), by];
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
        let given = |value: u64| Given::Number(value.into(), digits, REST);
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
        let operands: Vec<Given> = values.iter().map(|&v| number(v, REST)).collect();
        let wanted = values.iter().fold(0u64, |sum, &v| sum.wrapping_add(v));
        assert_eq!(run(Operation::Sum, false, &operands), [u128::from(wanted)], "{count}");
    }
}

/// Every width holds within the bound, and a set without room is refused.
#[test]
fn every_width_holds() {
    let forecast = &standard().forecast;
    for bits in [2, 6, 128] {
        let costs = super::slot_costs(forecast, bits, DEFAULT_LIMIT).expect("it holds");
        assert!(costs.iter().all(|cost| cost.look_ups > 0 && cost.levels <= cost.look_ups));
    }
    let small = DiscreteParameters::by_name("DISCRETE_1").expect("built in");
    let error = super::slot_costs(&Forecast::new(&small), 8, DEFAULT_LIMIT).expect_err("no sums");
    assert!(error.to_string().contains("DISCRETE_4"), "{error}");
    let error = super::slot_costs(forecast, 8, -250.0).expect_err("too much is asked");
    assert!(error.to_string().contains("2^-250"), "{error}");
}

/// All pairs of numbers of four bits, as unsigned and signed ones.
fn all_pairs() -> impl Iterator<Item = (u8, u8)> {
    (0..16u8).flat_map(|a| (0..16).map(move |b| (a, b)))
}

/// A number of two digits as one in two's complement.
fn signed(value: u8) -> i32 {
    (i32::from(value) ^ 8) - 8
}

#[test]
fn products_that_leave_the_range() {
    for state in [CLEAN, REST] {
        let of = |value: u8| Given::Number(value.into(), 2, state);
        let known = |value: u8| Given::Known(value.into(), 2);
        for (a, b) in all_pairs() {
            let product = u32::from(a) * u32::from(b);
            let wanted = [u128::from(product % 16), u128::from(product > 15)];
            let operation = Operation::MultiplyOverflowing;
            assert_eq!(run(operation, false, &[of(a), of(b)]), wanted, "{a} {b}");
            assert_eq!(run(operation, false, &[of(a), known(b)]), wanted, "{a} {b}");
            let exact = signed(a) * signed(b);
            let left = !(-8..8).contains(&exact);
            let wanted = [u128::from(product % 16), u128::from(left)];
            assert_eq!(run(operation, true, &[of(a), of(b)]), wanted, "{a} {b}, signed");
            assert_eq!(run(operation, true, &[known(a), of(b)]), wanted, "{a} {b}, signed");
        }
    }
    let wide =
        [(0u32, 5u32), (1 << 31, 2), (1 << 31, 1), (0xffff_ffff, 0xffff_ffff), (65_536, 65_535)];
    for (a, b) in wide {
        let of = |value: u32| Given::Number(value.into(), 16, CLEAN);
        let (product, left) = a.overflowing_mul(b);
        let found = run(Operation::MultiplyOverflowing, false, &[of(a), of(b)]);
        assert_eq!(found, [u128::from(product), u128::from(left)], "{a} {b}");
        let (product, left) = (a as i32).overflowing_mul(b as i32);
        let found = run(Operation::MultiplyOverflowing, true, &[of(a), of(b)]);
        assert_eq!(found, [u128::from(product as u32), u128::from(left)], "{a} {b}, signed");
    }
}

/// What a count gives of a number of so many bits.
fn counted(which: Count, value: u64, bits: u32) -> u32 {
    let high = value << (64 - bits);
    match which {
        Count::Ones => value.count_ones(),
        Count::Zeros => bits - value.count_ones(),
        Count::LeadingZeros => high.leading_zeros().min(bits),
        Count::LeadingOnes => high.leading_ones().min(bits),
        Count::TrailingZeros => value.trailing_zeros().min(bits),
        Count::TrailingOnes => value.trailing_ones().min(bits),
        Count::BelowHighest => value.checked_ilog2().unwrap_or(0),
    }
}

#[test]
fn counts_of_bits() {
    for which in Count::ALL {
        for (value, state) in (0..16).flat_map(|v| [(v, CLEAN), (v, REST)]) {
            let x = [Given::Number(value.into(), 2, state)];
            let found = run(Operation::Count(which, 16), false, &x);
            assert_eq!(found, [u128::from(counted(which, value, 4))], "{which:?} {value}");
        }
        for (a, b) in pairs().step_by(3) {
            for value in [a, b, a >> (b % 64), !(a >> (b % 64))] {
                let found = run(Operation::Count(which, 16), false, &[number(value, CLEAN)]);
                assert_eq!(found, [u128::from(counted(which, value, 64))], "{which:?} {value}");
            }
        }
    }
}

#[test]
fn numbers_in_lists_and_tables() {
    let known = |value: u8| Given::Known(value.into(), 2);
    // Lists of all lengths, one number twice.
    for len in [1, 2, 5, 15, 16] {
        let list: Vec<u8> = (0..len).map(|i| i * 7 % 16).collect();
        let mut operands: Vec<Given> = list.iter().map(|&v| known(v)).collect();
        operands.push(known(list[0]));
        for value in 0..16u8 {
            let mut all = vec![Given::Number(value.into(), 2, REST)];
            all.extend(&operands);
            let wanted = [u128::from(list.contains(&value))];
            assert_eq!(run(Operation::IsIn, false, &all), wanted, "{value} in {list:?}");
            // Beside each stands a number of three digits.
            let beside = |v: u8| Given::Known(i128::from(v) * 37 % 64, 3);
            let mut all = vec![Given::Number(value.into(), 2, CLEAN)];
            all.extend(list.iter().flat_map(|&v| [known(v), beside(v)]));
            let wanted = match list.contains(&value) {
                true => [u128::from(value) * 37 % 64, 1],
                false => [0, 0],
            };
            assert_eq!(run(Operation::Find, false, &all), wanted, "{value} in {list:?}");
        }
    }
    // Of more digits than one look-up counts.
    let table = EDGES.map(|v| [Given::Known(v.into(), 32), Given::Known((v >> 7).into(), 32)]);
    for value in EDGES {
        let mut all = vec![number(value, REST)];
        all.extend(table.iter().flatten());
        let wanted = [u128::from(value >> 7), 1];
        assert_eq!(run(Operation::Find, false, &all), wanted, "{value}");
    }
}

/// Arrays without masks are the arrays that were encrypted.
#[test]
fn seeded_arrays_expand_to_arrays() {
    type Bytes = crate::FheUint<8, girih_discrete::ServerKey>;
    let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10").expect("built in");
    let client = girih_discrete::ClientKey::generate_seeded_for_tests(&set, [5; 32]);
    let client = client.expect("a key");
    let values: Vec<u8> = (0..1100).map(|i| (i * 37 % 251) as u8).collect();
    let seeded = crate::Encrypted::<Bytes>::encrypt_seeded(&client, &values).expect("numbers");
    let whole = crate::Encrypted::<Bytes>::encrypt(&client, &values).expect("numbers");
    let size = |bytes: Vec<u8>| bytes.len();
    let sizes = [size(seeded.to_bytes().expect("small")), size(whole.to_bytes().expect("small"))];
    assert!(2 * sizes[0] < sizes[1] + 500 * seeded.len(), "{sizes:?}");
    let made = crate::Encrypted::<Bytes>::from_ciphertexts(seeded.expand().expect("fresh"), 1100);
    let found = made.expect("their digits").decrypt(&client).expect("its key");
    assert!(found.into_iter().eq(values.iter().map(|&v| u128::from(v))));
}

/// Rotations by encrypted numbers turn modulo the width, whatever it is.
#[test]
fn rotations_of_any_width() {
    for (value, by) in (0..64u32).step_by(5).flat_map(|v| (0..16).map(move |by| (v, by))) {
        let x = [Given::Number(value.into(), 3, CLEAN), Given::Number(by.into(), 2, CLEAN)];
        let left = by % 6;
        let wanted = (value << left | value >> (6 - left)) & 63;
        let found = run(Operation::MoveBy(Move::RotateLeft), false, &x);
        assert_eq!(found, [u128::from(wanted)], "{value} {by}");
        let wanted = if by % 8 < 6 { value << (by % 8) & 63 } else { 0 };
        let found = run(Operation::MoveBy(Move::ShiftLeft), false, &x);
        assert_eq!(found, [u128::from(wanted)], "{value} << {by}");
    }
}

/// Sums, products and comparisons of 160 bits, against digits by hand.
#[test]
fn numbers_beyond_128_bits() {
    const DIGITS: usize = 80;
    let number = |seed: u64| -> Vec<i64> {
        let digit = |i: u64| (seed + i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62;
        (0..DIGITS as u64).map(|i| digit(i) as i64).collect()
    };
    let carried = |columns: Vec<i64>| -> Vec<i64> {
        let mut carry = 0;
        let digit = |column: i64| {
            carry += column;
            let digit = carry & 3;
            carry >>= 2;
            digit
        };
        columns.into_iter().map(digit).collect()
    };
    let recorded = |operation| {
        let operands = vec![Operand::Digits(vec![CLEAN; DIGITS]); 2];
        record(&Request { operation, signed: false, operands }, standard()).expect("it holds")
    };
    let [add, multiply, less] =
        [Operation::Add, Operation::Multiply, Operation::Compare(Order::Less)].map(recorded);
    for (a, b) in [(number(3), number(700)), (vec![3; DIGITS], number(9)), (number(5), number(5))] {
        let run = |program: &Program| program.simulate(&[&a[..], &b[..]].concat()).swap_remove(0);
        assert_eq!(run(&add), carried(a.iter().zip(&b).map(|(a, b)| a + b).collect()));
        let column = |k: usize| (0..=k).map(|i| a[i] * b[k - i]).sum();
        assert_eq!(run(&multiply), carried((0..DIGITS).map(column).collect()));
        assert_eq!(run(&less), [i64::from(a.iter().rev().lt(b.iter().rev()))]);
    }
}
