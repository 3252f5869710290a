//! Integers mean the same over TFHE and over numbers in slots: one suite of tests, both engines,
//! against Rust's integers.

use girih::integer::{Engine, FheUint, Result};

// ANCHOR: engine
/// What a user writes once for any engine.
fn clamped<E: Engine>(
    x: &FheUint<8, E>,
    low: &FheUint<8, E>,
    most: u8,
) -> Result<(FheUint<8, E>, FheUint<32, E>)> {
    let inside = x.max(low)?.min(most)?;
    let doubled = (&inside + &inside)?;
    Ok((inside.equal(most)?.select(&doubled, &inside)?, x.count_ones()?))
}
// ANCHOR_END: engine

macro_rules! suite {
    ($name:ident, $scheme:ident, $set_of:path, $set:expr) => {
        mod $name {
            use girih::$scheme::prelude::*;
            use std::sync::OnceLock;

            struct Toy {
                client: ClientKey,
                integers: Integers,
            }

            fn toy() -> &'static Toy {
                static TOY: OnceLock<Toy> = OnceLock::new();
                TOY.get_or_init(|| {
                    let set = <$set_of>::by_name($set).expect("built in");
                    let client = ClientKey::generate_seeded_for_tests(&set, [7; 32]);
                    let client = client.expect("a key");
                    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("keys");
                    let server = Device::open("cpu").expect("there").load(&keys).expect("fits");
                    Toy { client, integers: Integers::new(server).expect("for integers") }
                })
            }

            fn down<T: Integer<Engine = ServerKey>>(array: &T) -> Vec<T::Plain> {
                let encrypted = toy().integers.download(array).expect("of this server");
                encrypted.decrypt(&toy().client).expect("such integers")
            }

            fn unsigned(values: &[u8]) -> FheUint<8> {
                let encrypted = FheUint::encrypt(&toy().client, values).expect("in range");
                toy().integers.upload(&encrypted).expect("of this key")
            }

            fn signed(values: &[i8]) -> FheInt<4> {
                let encrypted = FheInt::encrypt(&toy().client, values).expect("in range");
                toy().integers.upload(&encrypted).expect("of this key")
            }

            fn flags(values: &[bool]) -> FheBool {
                let encrypted = FheBool::encrypt(&toy().client, values).expect("in range");
                toy().integers.upload(&encrypted).expect("of this key")
            }

            const A: [u8; 6] = [0, 1, 255, 128, 86, 201];
            const B: [u8; 6] = [0, 255, 255, 127, 86, 7];
            const C: [i8; 6] = [0, -1, -8, 7, 5, -7];
            const D: [i8; 6] = [-8, -1, 1, 0, 5, 3];

            /// A number modulo 16, from -8 to 7.
            fn four(value: i8) -> i8 {
                value << 4 >> 4
            }

            fn of<P: Copy, R>(a: &[P], b: &[P], f: impl Fn(P, P) -> R) -> Vec<R> {
                a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
            }

            fn wide(values: Vec<u8>) -> Vec<u128> {
                values.into_iter().map(u128::from).collect()
            }

            fn wide_signed(values: Vec<i8>) -> Vec<i128> {
                values.into_iter().map(i128::from).collect()
            }

            #[test]
            fn arithmetic() -> girih::Result<()> {
                let (x, y) = (unsigned(&A), unsigned(&B));
                assert_eq!(down(&(&x + &y)?), wide(of(&A, &B, u8::wrapping_add)));
                assert_eq!(down(&(&x - &y)?), wide(of(&A, &B, u8::wrapping_sub)));
                assert_eq!(down(&(&x * &y)?), wide(of(&A, &B, u8::wrapping_mul)));
                assert_eq!(down(&x.neg()?), wide(A.map(u8::wrapping_neg).to_vec()));
                assert_eq!(down(&(&x + 99u8)?), wide(of(&A, &B, |a, _| a.wrapping_add(99))));
                assert_eq!(down(&(&x * 27u8)?), wide(of(&A, &B, |a, _| a.wrapping_mul(27))));
                let (sum, over) = x.overflowing_add(&y)?;
                let right = of(&A, &B, u8::overflowing_add);
                assert_eq!(down(&sum), wide(right.iter().map(|r| r.0).collect()));
                assert_eq!(down(&over), right.iter().map(|r| r.1).collect::<Vec<_>>());
                // One operation after the other.
                let all = x.add(&y)?.mul(&x)?.sub(&y)?.add(5u8)?.propagate()?;
                let right = |a: u8, b: u8| {
                    a.wrapping_add(b).wrapping_mul(a).wrapping_sub(b).wrapping_add(5)
                };
                assert_eq!(down(&all), wide(of(&A, &B, right)));
                Ok(())
            }

            #[test]
            fn signed_arithmetic() -> girih::Result<()> {
                let (x, y) = (signed(&C), signed(&D));
                assert_eq!(down(&(&x * &y)?), wide_signed(of(&C, &D, |c, d| four(c * d))));
                assert_eq!(down(&x.abs()?), wide_signed(C.map(|c| four(c.abs())).to_vec()));
                let (difference, over) = x.overflowing_sub(&y)?;
                let right = of(&C, &D, |c, d| (four(c - d), four(c - d) != c - d));
                assert_eq!(down(&difference), wide_signed(right.iter().map(|r| r.0).collect()));
                assert_eq!(down(&over), right.iter().map(|r| r.1).collect::<Vec<_>>());
                let (quotient, rest) = x.div_rem(&y)?;
                let by_zero = |a: i8| if a < 0 { 1 } else { -1 };
                let right = |a: i8, b: i8| if b == 0 { by_zero(a) } else { four(a / b) };
                assert_eq!(down(&quotient), wide_signed(of(&C, &D, right)));
                let right = |a: i8, b: i8| if b == 0 { a } else { a % b };
                assert_eq!(down(&rest), wide_signed(of(&C, &D, right)));
                Ok(())
            }

            #[test]
            fn functions_over_any_engine() -> girih::Result<()> {
                let (x, y) = (unsigned(&A), unsigned(&B));
                let (clamped, ones) = super::clamped(&x, &y, 200)?;
                let right = |a: u8, b: u8| match a.max(b).min(200) {
                    200 => 144,
                    inside => inside,
                };
                assert_eq!(down(&clamped), wide(of(&A, &B, right)));
                assert_eq!(down(&ones), A.map(|a| u128::from(a.count_ones())));
                Ok(())
            }

            #[test]
            fn products_that_leave_the_range() -> girih::Result<()> {
                // All pairs of numbers of four bits.
                let pairs: Vec<(u8, u8)> =
                    (0..16).flat_map(|a| (0..16).map(move |b| (a, b))).collect();
                let [a, b] = [0, 1]
                    .map(|i| -> Vec<u8> { pairs.iter().map(|pair| [pair.0, pair.1][i]).collect() });
                // Over TFHE every element costs.
                let few: usize = if stringify!($scheme) == "tfhe" { 7 } else { 1 };
                let thin = |v: &[u8]| v.iter().copied().step_by(few).collect::<Vec<u8>>();
                let (a, b) = (thin(&a), thin(&b));
                let up = |v: &[u8]| toy().integers.upload(&FheUint::encrypt(&toy().client, v)?);
                let (x, y): (FheUint<4>, FheUint<4>) = (up(&a)?, up(&b)?);
                let (product, over) = x.overflowing_mul(&y)?;
                assert_eq!(down(&product), wide(of(&a, &b, |a, b| a * b % 16)));
                assert_eq!(down(&over), of(&a, &b, |a, b| a * b > 15));
                let (z, w) = (x.reinterpret(), y.reinterpret());
                let (_, good) = z.checked_mul(&w)?;
                let value = |v: u8| i32::from(four(v as i8));
                let fits = |a, b| (-8..8).contains(&(value(a) * value(b)));
                assert_eq!(down(&good), of(&a, &b, fits));
                Ok(())
            }

            #[test]
            fn counts_and_lists() -> girih::Result<()> {
                let a: Vec<u8> = (0..16).collect();
                let x: FheUint<4> = toy().integers.upload(&FheUint::encrypt(&toy().client, &a)?)?;
                let shown =
                    |f: fn(u8) -> u32| -> Vec<u128> { a.iter().map(|&a| f(a).into()).collect() };
                assert_eq!(down(&x.count_zeros()?), shown(|a| 4 - a.count_ones()));
                assert_eq!(down(&x.leading_zeros()?), shown(|a| (a << 4).leading_zeros().min(4)));
                assert_eq!(down(&x.trailing_zeros()?), shown(|a| a.trailing_zeros().min(4)));
                assert_eq!(down(&x.leading_ones()?), shown(|a| (a << 4).leading_ones()));
                assert_eq!(down(&x.trailing_ones()?), shown(u8::trailing_ones));
                let (log, some) = x.checked_ilog2()?;
                assert_eq!(down(&log), shown(|a| a.checked_ilog2().unwrap_or(0)));
                assert_eq!(down(&some), a.iter().map(|&a| a > 0).collect::<Vec<_>>());
                let list = [3u8, 9, 14, 9];
                let right: Vec<bool> = a.iter().map(|a| list.contains(a)).collect();
                assert_eq!(down(&x.is_in(&list)?), right);
                let table = [(0, 200), (5, 17), (15, 255)];
                let (beside, found) = x.match_value::<8>(&table)?;
                let entry = |a: u8| table.iter().find(|e| e.0 == u128::from(a)).map(|e| e.1);
                let right: Vec<u128> = a.iter().map(|&a| entry(a).unwrap_or(0)).collect();
                assert_eq!(down(&beside), right);
                assert_eq!(down(&found), a.iter().map(|&a| entry(a).is_some()).collect::<Vec<_>>());
                let either = x.match_value_or::<8>(&table, 99)?;
                let right: Vec<u128> = a.iter().map(|&a| entry(a).unwrap_or(99)).collect();
                assert_eq!(down(&either), right);
                Ok(())
            }

            #[test]
            fn elements_and_known_numbers() -> girih::Result<()> {
                let (x, z) = (unsigned(&A), signed(&C));
                // Forwards, backwards, twice, and more than there were.
                for elements in
                    [&[0usize][..], &[2, 3, 4], &[5, 4, 3, 2, 1, 0], &[1, 1, 5, 0, 1, 5, 5]]
                {
                    let taken = toy().integers.take(&x, elements)?;
                    let right = elements.iter().map(|&e| A[e]).collect();
                    assert_eq!(down(&taken), wide(right), "{elements:?}");
                }
                let flags = toy().integers.take(&z.less(0i8)?, &[5, 1, 4])?;
                assert_eq!(down(&flags), [true, true, false]);
                let error = toy().integers.take(&x, &[6]).expect_err("six elements").to_string();
                assert!(error.contains("is 6, and must be from 0 to 5"), "{error}");
                let error = toy().integers.take(&x, &[]).expect_err("none").to_string();
                assert!(error.contains("at least one"), "{error}");
                let known: FheUint<8> = toy().integers.constants(&B)?;
                assert_eq!(down(&known), wide(B.to_vec()));
                assert_eq!(down(&(&x * &known)?), wide(of(&A, &B, u8::wrapping_mul)));
                let all: FheBool = toy().integers.constants(&[true, false])?;
                assert_eq!(down(&all.not()?), [false, true]);
                assert_eq!(down(&all.xor(&all)?), [false, false]);
                let sum = A.iter().fold(0, |sum: u8, &a| sum.wrapping_add(a));
                assert_eq!(down(&x.sum_elements()?), [u128::from(sum)]);
                assert_eq!(down(&toy().integers.take(&x.and(0u8)?, &[0, 3])?), [0, 0]);
                Ok(())
            }

            #[test]
            fn order_and_choice() -> girih::Result<()> {
                let (x, y) = (unsigned(&A), unsigned(&B));
                assert_eq!(down(&x.less(&y)?), of(&A, &B, |a, b| a < b));
                assert_eq!(down(&x.less_or_equal(&y)?), of(&A, &B, |a, b| a <= b));
                assert_eq!(down(&x.greater(&y)?), of(&A, &B, |a, b| a > b));
                assert_eq!(down(&x.greater_or_equal(86u8)?), A.map(|a| a >= 86).to_vec());
                assert_eq!(down(&x.equal(&y)?), of(&A, &B, |a, b| a == b));
                assert_eq!(down(&x.not_equal(&y)?), of(&A, &B, |a, b| a != b));
                assert_eq!(down(&x.min(&y)?), wide(of(&A, &B, u8::min)));
                assert_eq!(down(&x.max(&y)?), wide(of(&A, &B, u8::max)));
                let (z, w) = (signed(&C), signed(&D));
                assert_eq!(down(&z.less(&w)?), of(&C, &D, |c, d| c < d));
                assert_eq!(down(&z.max(&w)?), wide_signed(of(&C, &D, i8::max)));
                let chosen = x.less(&y)?.select(&x, 77u8)?;
                let right = of(&A, &B, |a, b| if a < b { a } else { 77 });
                assert_eq!(down(&chosen), wide(right));
                // What was chosen goes on.
                assert_eq!(down(&chosen.equal(77u8)?), of(&A, &B, |a, b| a >= b || a == 77));
                Ok(())
            }

            #[test]
            fn bits() -> girih::Result<()> {
                let (x, y) = (unsigned(&A), unsigned(&B));
                assert_eq!(down(&x.and(&y)?), wide(of(&A, &B, |a, b| a & b)));
                assert_eq!(down(&x.or(0x3cu8)?), wide(of(&A, &B, |a, _| a | 0x3c)));
                assert_eq!(down(&x.xor(&y)?.and(&x)?), wide(of(&A, &B, |a, b| (a ^ b) & a)));
                assert_eq!(down(&x.not()?), wide(A.map(|a| !a).to_vec()));
                for by in [0, 3, 6, 9] {
                    assert_eq!(down(&x.shl(by)?), wide(A.map(|a| a.wrapping_shl(by)).to_vec()));
                    let right = A.map(|a| a.rotate_right(by));
                    assert_eq!(down(&x.rotate_right(by)?), wide(right.to_vec()));
                }
                let right = wide_signed(C.map(|c| c >> 1).to_vec());
                assert_eq!(down(&signed(&C).shr(1)?), right);
                let moved = x.shl_by(&y)?;
                let right = of(&A, &B, |a, b| a.wrapping_shl(u32::from(b)));
                assert_eq!(down(&moved), wide(right));
                assert_eq!(down(&x.resize::<4>()?), A.map(|a| u128::from(a % 16)).to_vec());
                assert_eq!(down(&signed(&C).resize::<32>()?), wide_signed(C.to_vec()));
                Ok(())
            }

            #[test]
            fn conditions() -> girih::Result<()> {
                let (a, b) = ([false, false, true, true], [false, true, false, true]);
                let (x, y) = (flags(&a), flags(&b));
                assert_eq!(down(&x.and(&y)?), of(&a, &b, |a, b| a & b));
                assert_eq!(down(&x.or(&y)?), of(&a, &b, |a, b| a | b));
                assert_eq!(down(&x.xor(&y)?.not()?), of(&a, &b, |a, b| a == b));
                assert_eq!(down(&x.and(false)?), [false; 4]);
                assert_eq!(down(&x.select::<FheBool>(&y, true)?), of(&a, &b, |a, b| !a || b));
                assert_eq!(down(&y.to_uint::<8>()?), [0, 1, 0, 1]);
                assert_eq!(down(&y.to_int::<4>()?), [0, 1, 0, 1]);
                Ok(())
            }

            #[test]
            fn refusals() -> girih::Result<()> {
                let x = unsigned(&A);
                let error = x.add(&unsigned(&A[..2])).expect_err("two lengths").to_string();
                assert!(error.contains("equally long"), "{error}");
                let error = x.add(256u32).expect_err("too large").to_string();
                assert!(error.contains("does not fit FheUint8"), "{error}");
                let none: [u8; 0] = [];
                let error = FheUint::<8>::encrypt(&toy().client, &none).expect_err("none");
                assert!(error.to_string().contains("at least one"), "{error}");
                Ok(())
            }
        }
    };
}

suite!(over_tfhe, tfhe, girih::tfhe::ParameterSet, "INSECURE_INTEGERS");
suite!(in_slots, discrete, girih::discrete::DiscreteParameters, "INSECURE_DISCRETE_4_N10");
