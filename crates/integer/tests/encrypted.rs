//! Operations on encrypted arrays against Rust's integers, with a toy set on the CPU; and what is
//! refused.

mod toy;

use girih_backend::{LoadOptions, NoProgress, Progress};
use girih_integer::{
    CompressedIntegers, Encrypted, Error, FheBool, FheInt, FheUint, Integers, Result,
};
use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet, PublicKey, ServerKey};
use proptest::prelude::*;
use std::sync::{Arc, Mutex, OnceLock};
use toy::Toy;

fn toy() -> &'static Toy<ServerKey> {
    static TOY: OnceLock<Toy<ServerKey>> = OnceLock::new();
    TOY.get_or_init(|| Toy::tfhe("INSECURE_INTEGERS", 1).expect("a toy"))
}

/// The plain counterpart of every pair.
fn map<P: Copy, R>(a: &[P], b: &[P], f: impl Fn(P, P) -> R) -> Vec<R> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn wide<P: Copy + Into<u128>>(values: Vec<P>) -> Vec<u128> {
    values.into_iter().map(Into::into).collect()
}

fn wide_signed<P: Copy + Into<i128>>(values: Vec<P>) -> Vec<i128> {
    values.into_iter().map(Into::into).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn unsigned_numbers(a: [u32; 3], mut b: [u32; 3], plain: u32, by in 0u32..64) {
        b[1] >>= 19;
        b[2] = a[2];
        let t = toy();
        let (x, y): (FheUint<32>, FheUint<32>) = (t.up(&a), t.up(&b));
        let sum = (&x + &y).expect("alike");
        prop_assert_eq!(t.down(&sum), wide(map(&a, &b, u32::wrapping_add)));
        // A sum that waits for its carries, read by a difference and a product.
        let both = (&(&sum - plain).expect("fits") * &y).expect("alike");
        let want = |a: u32, b: u32| a.wrapping_add(b).wrapping_sub(plain).wrapping_mul(b);
        prop_assert_eq!(t.down(&both), wide(map(&a, &b, want)));
        let (quotient, remainder) = x.div_rem(&y).expect("alike");
        let want = map(&a, &b, |a, b| a.checked_div(b).unwrap_or(u32::MAX));
        prop_assert_eq!(t.down(&quotient), wide(want));
        let want = map(&a, &b, |a, b| a.checked_rem(b).unwrap_or(a));
        prop_assert_eq!(t.down(&remainder), wide(want));
        let less = x.less(&y).expect("alike");
        prop_assert_eq!(t.down(&less), map(&a, &b, |a, b| a < b));
        prop_assert_eq!(t.down(&x.equal(&y).expect("alike")), map(&a, &b, |a, b| a == b));
        let chosen = less.select(&x, plain).expect("alike");
        prop_assert_eq!(t.down(&chosen), wide(map(&a, &b, |a, b| if a < b { a } else { plain })));
        prop_assert_eq!(t.down(&x.max(&y).expect("alike")), wide(map(&a, &b, u32::max)));
        prop_assert_eq!(t.down(&x.xor(&y).expect("alike")), wide(map(&a, &b, |a, b| a ^ b)));
        let moved = x.shl_by(&y).expect("alike");
        prop_assert_eq!(t.down(&moved), wide(map(&a, &b, u32::wrapping_shl)));
        let moved = x.rotate_right(by).expect("any amount");
        prop_assert_eq!(t.down(&moved), wide(map(&a, &b, |a, _| a.rotate_right(by))));
        let (product, over) = x.overflowing_mul(&y).expect("alike");
        let want = map(&a, &b, u32::overflowing_mul);
        prop_assert_eq!(t.down(&product), wide(want.iter().map(|w| w.0).collect()));
        prop_assert_eq!(t.down(&over), want.iter().map(|w| w.1).collect::<Vec<_>>());
        let cast = x.resize::<8>().expect("a width");
        prop_assert_eq!(t.down(&cast), wide(map(&a, &b, |a, _| a as u8)));
    }

    #[test]
    fn signed_numbers(a: [i16; 3], b: [i16; 3], plain: i16) {
        let t = toy();
        let (x, y): (FheInt<16>, FheInt<16>) = (t.up(&a), t.up(&b));
        let want = wide_signed(map(&a, &b, |a, b| a.wrapping_sub(b)));
        prop_assert_eq!(t.down(&(&x - &y).expect("alike")), want);
        let (quotient, remainder) = x.div_rem(&y).expect("alike");
        let by_zero = |a: i16| if a < 0 { 1 } else { -1 };
        let want = map(&a, &b, |a, b| if b == 0 { by_zero(a) } else { a.wrapping_div(b) });
        prop_assert_eq!(t.down(&quotient), wide_signed(want));
        let want = map(&a, &b, |a, b| if b == 0 { a } else { a.wrapping_rem(b) });
        prop_assert_eq!(t.down(&remainder), wide_signed(want));
        let least = x.min(plain).expect("fits");
        prop_assert_eq!(t.down(&least), wide_signed(map(&a, &b, |a, _| a.min(plain))));
        let (sum, over) = x.overflowing_add(&y).expect("alike");
        let want = map(&a, &b, i16::overflowing_add);
        prop_assert_eq!(t.down(&sum), wide_signed(want.iter().map(|w| w.0).collect()));
        prop_assert_eq!(t.down(&over), want.iter().map(|w| w.1).collect::<Vec<_>>());
        let want = wide_signed(map(&a, &b, |a, _| a.wrapping_abs()));
        prop_assert_eq!(t.down(&x.abs().expect("any")), want);
        let wider = x.resize::<64>().expect("a width");
        prop_assert_eq!(t.down(&wider), wide_signed(a.to_vec()));
        prop_assert_eq!(t.down(&x.reinterpret()), wide(a.iter().map(|&a| a as u16).collect()));
        prop_assert_eq!(t.down(&x.shr(5).expect("any")), wide_signed(map(&a, &b, |a, _| a >> 5)));
    }
}

#[test]
fn bits_are_counted() {
    let t = toy();
    let a = [0u16, 1, 0x0F40, u16::MAX];
    let x: FheUint<16> = t.up(&a);
    let check = |counted: Result<FheUint<32>>, count: fn(u16) -> u32| {
        let counted = t.down(&counted.expect("any"));
        assert_eq!(counted, wide(a.map(count).to_vec()));
    };
    check(x.count_ones(), u16::count_ones);
    check(x.count_zeros(), u16::count_zeros);
    check(x.leading_zeros(), u16::leading_zeros);
    check(x.leading_ones(), u16::leading_ones);
    check(x.trailing_zeros(), u16::trailing_zeros);
    check(x.trailing_ones(), u16::trailing_ones);
    check(x.ilog2(), |a| a.checked_ilog2().unwrap_or(0));
    let (_, good) = x.checked_ilog2().expect("any");
    assert_eq!(t.down(&good), [false, true, true, true]);
    let (log, good) = x.reinterpret().checked_ilog2().expect("any");
    assert_eq!(t.down(&log), [0, 0, 11, 15]);
    assert_eq!(t.down(&good), [false, true, true, false]);
}

/// Widths that are no power of two, and numbers of one digit.
#[test]
fn numbers_of_other_widths() {
    let t = toy();
    let (a, b) = ([4000u16, 9, 77], [33u16, 11, 0]);
    let (x, y): (FheUint<12>, FheUint<12>) = (t.up(&a), t.up(&b));
    let modulo = |f: fn(u16, u16) -> u16| map(&a, &b, |a, b| u128::from(f(a, b) % 4096));
    assert_eq!(t.down(&(&x * &y).expect("alike")), modulo(u16::wrapping_mul));
    assert_eq!(t.down(&x.rem(&y).expect("alike")), modulo(|a, b| a.checked_rem(b).unwrap_or(a)));
    // Modulo 16: 33 is 1, 11 is 11.
    assert_eq!(t.down(&x.shl_by(&y).expect("alike")), modulo(|a, b| a << (b % 16)));
    assert_eq!(t.down(&x.shl(14).expect("any")), [0, 0, 0]);
    let turned = modulo(|a, b| (a << (b % 12) | a >> ((12 - b % 12) % 12)) % 4096);
    assert_eq!(t.down(&x.rotate_left_by(&y).expect("alike")), turned);
    assert_eq!(t.down(&x.resize::<128>().expect("a width")), wide(a.to_vec()));
    let bytes = t.integers.download(&x).expect("of it").to_bytes().expect("bytes");
    assert!(bytes.starts_with(b"girih 1 FheUint12\n"));
    assert!(Encrypted::<FheUint<14>>::from_bytes(&bytes).is_err(), "another width");

    let (x, y): (FheInt<2>, FheInt<2>) = (t.up(&[-2i8, 1, -1, 0]), t.up(&[-1i8, 1, 1, 0]));
    assert_eq!(t.down(&(&x + &y).expect("alike")), [1, -2, 0, 0]);
    let less = x.less(&y).expect("alike");
    assert_eq!(t.down(&less), [true, false, true, false]);
    let chosen: FheInt<2> = less.select(&x, &y).expect("alike");
    assert_eq!(t.down(&chosen), [-2, 1, -1, 0]);
    let chosen: FheInt<2> = less.select(1i8, &y).expect("alike");
    assert_eq!(t.down(&chosen), [1, 1, 1, 0]);
    assert!(Encrypted::<FheInt<2>>::encrypt(&t.client, &[2i8]).is_err());
}

#[test]
fn results_that_say_whether_they_are_right() {
    let t = toy();
    let (a, b) = ([200u8, 7, 16], [56u8, 0, 16]);
    let (x, y): (FheUint<8>, FheUint<8>) = (t.up(&a), t.up(&b));
    let good = |flag: &FheBool| t.down(flag);
    let (sum, fits) = x.checked_add(&y).expect("alike");
    assert_eq!((t.down(&sum), good(&fits)), (vec![0, 7, 32], vec![false, true, true]));
    let (difference, fits) = x.checked_sub(20u8).expect("fits");
    assert_eq!((t.down(&difference), good(&fits)), (vec![180, 243, 252], vec![true, false, false]));
    let (product, fits) = x.checked_mul(&y).expect("alike");
    assert_eq!((t.down(&product), good(&fits)), (vec![192, 0, 0], vec![false, true, false]));
    let (quotient, remainder, fits) = x.checked_div_rem(&y).expect("alike");
    assert_eq!((t.down(&quotient), t.down(&remainder)), (vec![3, 255, 1], vec![32, 7, 0]));
    assert_eq!(good(&fits), [true, false, true]);
    assert_eq!(good(&x.checked_div_rem(3u8).expect("fits").2), [true; 3]);
    let error = x.checked_div_rem(0u8).expect_err("by 0").to_string();
    assert!(error.contains("known number 0"), "{error}");
    let (x, y): (FheInt<8>, FheInt<8>) = (t.up(&[-128i8, -128, 5, 5]), t.up(&[-1i8, 2, -1, 0]));
    let (quotient, _, fits) = x.checked_div_rem(&y).expect("alike");
    assert_eq!(t.down(&quotient), [-128, -64, -5, -1]);
    assert_eq!(good(&fits), [false, true, true, false]);
    assert_eq!(good(&x.checked_div_rem(-1i8).expect("fits").2), [false, false, true, true]);
}

#[test]
fn known_numbers_on_the_left() {
    let t = toy();
    let x: FheUint<8> = t.up(&[30u8, 7, 0]);
    assert_eq!(t.down(&(100u8 - &x).expect("fits")), [70, 93, 100]);
    assert_eq!(t.down(&(3u8 * &x).expect("fits")), [90, 21, 0]);
    assert_eq!(t.down(&(250u8 + &x).expect("fits")), [24, 1, 250]);
    let (quotient, remainder) = x.div_rem_from(100u8).expect("fits");
    assert_eq!((t.down(&quotient), t.down(&remainder)), (vec![3, 14, 255], vec![10, 2, 100]));
    assert!((300u16 - &x).is_err(), "out of range");
    let x: FheInt<8> = t.up(&[30i8, -7]);
    assert_eq!(t.down(&(-100i8 - &x).expect("fits")), [126, -93]);
}

#[test]
fn lists_and_sums() {
    let t = toy();
    let x: FheUint<8> = t.up(&[0u8, 7, 200, 201]);
    assert_eq!(t.down(&x.is_in(&[7u8, 201]).expect("fits")), [false, true, false, true]);
    assert!(x.is_in::<u8>(&[]).is_err() && x.is_in(&[256u16]).is_err());
    let table = [(7, 40_000), (200, 0), (0, 3)];
    let (beside, found) = x.match_value::<16>(&table).expect("fits");
    assert_eq!(t.down(&beside), [3, 40_000, 0, 0]);
    assert_eq!(t.down(&found), [true, true, true, false]);
    let beside = x.match_value_or::<16>(&table, 9).expect("fits");
    assert_eq!(t.down(&beside), [3, 40_000, 0, 9]);
    let error = x.match_value::<16>(&[(7, 1), (7, 2)]).expect_err("twice").to_string();
    assert!(error.contains("2 entries for the number 7 of a table"), "{error}");

    let y = x.add(1u8).expect("fits");
    let sum = FheUint::sum(&[&x, &y, &x, &y, &x]).expect("alike");
    assert_eq!(t.down(&sum), [2, 37, 1002 % 256, 1007 % 256]);
    assert_eq!(t.down(&x.sum_elements().expect("any")), [408 % 256]);
    assert!(FheUint::<8>::sum(&[]).is_err());
    let many: Vec<i16> = (0..71).map(|i| 37 * i - 900).collect();
    let many_up: FheInt<16> = t.up(&many);
    let want: i16 = many.iter().fold(0, |sum, &x| sum.wrapping_add(x));
    assert_eq!(t.down(&many_up.sum_elements().expect("any")), [i128::from(want)]);
}

#[test]
fn conditions() {
    let t = toy();
    let (a, b) = ([false, false, true, true], [false, true, false, true]);
    let (x, y): (FheBool, FheBool) = (t.up(&a), t.up(&b));
    assert_eq!(t.down(&x.and(&y).expect("alike")), map(&a, &b, |a, b| a & b));
    assert_eq!(t.down(&x.or(&y).expect("alike")), map(&a, &b, |a, b| a | b));
    assert_eq!(t.down(&x.xor(&y).expect("alike")), map(&a, &b, |a, b| a ^ b));
    assert_eq!(t.down(&x.not().expect("alike")), map(&a, &b, |a, _| !a));
    for known in [false, true] {
        assert_eq!(t.down(&x.and(known).expect("any")), map(&a, &b, |a, _| a & known));
        assert_eq!(t.down(&x.or(known).expect("any")), map(&a, &b, |a, _| a | known));
        assert_eq!(t.down(&x.xor(known).expect("any")), map(&a, &b, |a, _| a ^ known));
    }
    // Of conditions that are known a choice leaves less.
    type Choice = fn(bool, bool) -> bool;
    let choices: [(FheBool, Choice); 8] = [
        (x.select(&y, true).expect("alike"), |x, y| !x || y),
        (x.select(&y, false).expect("alike"), |x, y| x && y),
        (x.select(true, &y).expect("alike"), |x, y| x || y),
        (x.select(false, &y).expect("alike"), |x, y| !x && y),
        (x.select(true, false).expect("known"), |x, _| x),
        (x.select(false, true).expect("known"), |x, _| !x),
        (x.select(true, true).expect("known"), |_, _| true),
        (x.select(false, false).expect("known"), |_, _| false),
    ];
    for (index, (chosen, want)) in choices.iter().enumerate() {
        assert_eq!(t.down(chosen), map(&a, &b, want), "choice {index}");
    }
    let chosen: FheBool = x.select(&y, &x).expect("alike");
    assert_eq!(t.down(&chosen), map(&a, &b, |a, b| if a { b } else { a }));
    assert_eq!(t.down(&y.to_uint::<8>().expect("any")), [0, 1, 0, 1]);
    assert_eq!(t.down(&y.to_int::<4>().expect("any")), [0, 1, 0, 1]);
    let constants: FheUint<4> = t.integers.constants(&[3u8, 9, 0, 15]).expect("in range");
    let sum = constants.add(&y.to_uint().expect("any")).expect("alike");
    assert_eq!(t.down(&sum), [3, 10, 0, 0]);
}

/// Parts of an array one after another give what the whole gives.
#[test]
fn arrays_in_parts() {
    let t = Toy::tfhe("INSECURE_INTEGERS", 2).expect("a toy");
    t.integers.limit_scratch(0);
    let a: Vec<u16> = (0..5u16).map(|i| i.wrapping_mul(40_503) + 9).collect();
    let x: FheUint<16> = t.up(&a);
    let before = t.integers.look_ups();
    let square = x.mul(&x).expect("itself");
    assert!(t.integers.look_ups() > before && t.integers.look_ups().is_multiple_of(5));
    assert_eq!(t.down(&square), wide(map(&a, &a, |a, b| a.wrapping_mul(b))));
}

#[test]
fn elements_are_taken_on_the_device() {
    let t = Toy::tfhe("INSECURE_INTEGERS", 9).expect("a toy");
    let x: FheUint<16> = t.up(&[1u16, 500, 65_535]);
    // Of a sum whose carries wait: copies wait for them, too.
    let sum = (&x + 1u16).expect("fits");
    let taken = t.integers.take(&sum, &[2, 0, 0, 1]).expect("elements of it");
    assert_eq!(t.down(&taken), [0, 2, 2, 501]);
    // One error twice counts as one that is twice as large.
    let again = t.integers.take(&sum, &[2, 0, 0, 1]).expect("elements of it");
    assert_eq!(t.down(&(&taken + &again).expect("alike")), [0, 4, 4, 1002]);
    assert!(matches!(t.integers.take(&x, &[]), Err(Error::Mismatch(_))));
    assert!(matches!(t.integers.take(&x, &[3]), Err(Error::Mismatch(_))));
    let other = Toy::tfhe("INSECURE_INTEGERS", 10).expect("a toy");
    assert!(matches!(other.integers.take(&x, &[0]), Err(Error::Mismatch(_))));
}

/// What a listener hears: how many look-ups are done, of how many.
#[derive(Default)]
struct Heard(Mutex<Vec<(usize, usize)>>);

impl Progress for Heard {
    fn report(&self, _: &str, done: usize, total: usize) {
        self.0.lock().expect("no panic").push((done, total));
    }
}

#[test]
fn listeners_hear_as_often_as_they_ask() {
    let t = Toy::tfhe("INSECURE_INTEGERS", 11).expect("a toy");
    let x: FheUint<8> = t.up(&[7u8; 5]);
    let often = |every| {
        let heard = Arc::new(Heard::default());
        t.integers.report_every(every);
        t.integers.report_to(Some(heard.clone()));
        assert_eq!(t.down(&(&x * &x).expect("alike")), [49; 5]);
        t.integers.report_to(None);
        let steps = heard.0.lock().expect("no panic").clone();
        // Of the product, then of what the download propagates.
        let product: Vec<_> = steps.iter().filter(|step| step.1 == steps[0].1).collect();
        assert_eq!(product.last().map(|step| step.0), Some(steps[0].1));
        product.len()
    };
    let levels = often(usize::MAX);
    assert!(often(4) > 2 * levels && levels > 1);
}

#[test]
fn arrays_travel_as_bytes() {
    let t = toy();
    let sent = FheInt::<8>::encrypt(&t.client, &[-128i8, 5]).expect("in range");
    assert_eq!((sent.len(), sent.key_id()), (2, Some(t.client.key_id())));
    let bytes = sent.to_bytes().expect("small");
    let read = Encrypted::<FheInt<8>>::from_bytes(&bytes).expect("what was written");
    assert_eq!(read, sent);
    assert_eq!(read.decrypt(&t.client).expect("its key"), [-128, 5]);
    // Without masks, and for the owner of a public key.
    let seeded = Encrypted::<FheInt<8>>::encrypt_seeded(&t.client, &[-128i8, 5]).expect("in range");
    let expanded = Encrypted::<FheInt<8>>::from_ciphertexts(seeded.expand(), 2).expect("two");
    let public = PublicKey::generate(&t.client).expect("of the torus");
    let sent = Encrypted::<FheInt<8>>::encrypt(&public, &[-128i8, 5]).expect("in range");
    for encrypted in [expanded, sent] {
        let sum = t.integers.upload(&encrypted).expect("its key").add(3i8).expect("fits");
        assert_eq!(t.down(&sum), [-125, 8]);
    }
    let ciphertexts = read.ciphertexts().clone();
    assert!(Encrypted::<FheInt<8>>::from_ciphertexts(ciphertexts.clone(), 2).is_ok());
    for (what, part) in [
        (Encrypted::<FheInt<8>>::from_ciphertexts(ciphertexts, 3).map(drop), "8 messages"),
        (Encrypted::<FheUint<8>>::from_bytes(&bytes).map(drop), "FheUint8"),
        (Encrypted::<FheInt<8>>::from_bytes(&bytes[..bytes.len() - 1]).map(drop), "ciphertexts"),
        (Encrypted::<FheInt<8>>::from_bytes(&[]).map(drop), "begin with"),
    ] {
        let error = what.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    fn refused<T: std::fmt::Debug>(result: Result<T>, part: &str) {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    let t = toy();
    let x: FheUint<8> = t.up(&[1u8, 2]);
    let longer: FheUint<8> = t.up(&[1u8, 2, 3]);
    let other = Toy::tfhe("INSECURE_INTEGERS", 3).expect("a toy");
    let stranger: FheUint<8> = other.up(&[1u8, 2]);
    refused(x.add(&longer), "equally long");
    refused(x.add(&stranger), "another server");
    refused(x.add(256u32), "a number does not fit FheUint8");
    refused(t.up::<FheInt<8>, _>(&[1i8]).add(-129i16), "does not fit FheInt8");
    refused(FheUint::<4>::encrypt(&t.client, &[16u8]), "a number does not fit FheUint4");
    refused(FheUint::<4>::encrypt::<u8>(&t.client, &[]), "at least one");
    // Sets that no server takes: digits that share a ciphertext, and too much noise.
    for (name, why) in [("STD128", "GIRIH_2_2 and TFHERS_2_2 are sets"), ("M3_R5", "as GIRIH_2_2")]
    {
        let set = ParameterSet::by_name(name).expect("built in");
        let client = ClientKey::generate(&set).expect("a key");
        refused(FheUint::<4>::encrypt(&client, &[1u8]), why);
        refused(girih_integer::Encrypted::<FheUint<4>>::encrypt_seeded(&client, &[1u8]), why);
    }
    refused(t.integers.download(&stranger), "another server");
    let sent = FheUint::<8>::encrypt(&other.client, &[1u8]).expect("in range");
    refused(t.integers.upload(&sent), "client key");
    refused(sent.decrypt(&t.client), "client key");
    // Messages that are no digits.
    let messages = t.client.encrypt_messages(&[5, 0], 4).expect("of four bits");
    let wrong = Encrypted::<FheUint<4>>::from_ciphertexts(messages, 1).expect("as many");
    refused(wrong.decrypt(&t.client), "decrypts to no digit of these integers");
    // Messages of another width.
    let narrow = t.client.encrypt_messages(&[1, 0], 2).expect("of two bits");
    let taken = Encrypted::<FheUint<4>>::from_ciphertexts(narrow.clone(), 1);
    refused(taken, "these ciphertexts are messages of 2 bits");
    let digits = Encrypted::<FheUint<4>>::encrypt(&t.client, &[1u8]).expect("in range");
    let (mut bytes, own) = (digits.to_bytes().expect("small"), digits.ciphertexts().to_bytes());
    bytes.truncate(bytes.len() - own.expect("small").len());
    bytes.extend(narrow.to_bytes().expect("small"));
    refused(
        Encrypted::<FheUint<4>>::from_bytes(&bytes),
        "these ciphertexts are messages of 2 bits",
    );
    let down = t.integers.download(&x.add(&x).expect("alike")).expect("its own");
    assert_eq!(down.ciphertexts().plaintext_modulus(), Some(32));
    for (set, part) in [("INSECURE_TOY", "norm 3"), ("INSECURE_INTEGERS_R2", "packing 1")] {
        let error = Toy::tfhe(set, 1).map(|_| ()).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
    }
    // A bound that no look-up of the toy reaches.
    let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let keys = EvaluationKeys::generate(&t.client, &NoProgress).expect("a toy");
    let device = girih_cpu::CpuBackend::new();
    let server =
        ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress).expect("fits");
    assert_eq!(*server.set(), set);
    server.limit_failure(-1000.0).expect("a bound");
    let error = Integers::new(server).map(|_| ()).expect_err("too strict");
    assert!(matches!(error, Error::Tfhe(girih_tfhe::Error::TooNoisy { .. })), "{error}");
}

#[test]
fn compressed_arrays_come_back() -> Result<()> {
    let set = ParameterSet::by_name("INSECURE_INTEGERS")?;
    let client = ClientKey::generate_seeded_for_tests(&set, [5; 32])?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?.with_compression(&client)?;
    let keys = EvaluationKeys::from_bytes_for(&set, &keys.to_bytes()?)?;
    let t = Toy::with_keys(client, &keys)?;
    let (a, b): (Vec<u64>, Vec<u64>) = (0..40).map(|i| (u64::MAX / (i + 1), i * i * i)).unzip();
    let (x, y): (FheUint<64>, FheUint<64>) = (t.up(&a), t.up(&b));
    // Carries are to come.
    let sum = (&x + &y)?;
    let results = t.integers.download_compressed(&sum)?;
    assert_eq!(results.decrypt(&t.client)?, wide(map(&a, &b, u64::wrapping_add)));
    assert_eq!((results.len(), results.results().messages()), (40, 40 * 16));
    assert_eq!(results.key_id(), Some(t.client.key_id()));
    let (bytes, whole) = (results.to_bytes()?, t.integers.download(&sum)?.to_bytes()?);
    assert!(bytes.len() < whole.len() / 500, "{} of {}", bytes.len(), whole.len());
    for read in [
        CompressedIntegers::<FheUint<64>>::from_bytes(&bytes)?,
        CompressedIntegers::<FheUint<64>>::from_bytes_for(&set, &bytes)?,
    ] {
        assert!(read == results);
    }
    let signed: FheInt<8> = t.up(&[-128i8, -1, 0, 127]);
    let results = t.integers.download_compressed(&signed)?;
    assert_eq!(results.decrypt(&t.client)?, [-128, -1, 0, 127]);
    let less = t.integers.download_compressed(&x.less(&y)?)?;
    assert_eq!(less.decrypt(&t.client)?, map(&a, &b, |a, b| a < b));
    assert_eq!(less.results().modulus(), 2);
    let read = CompressedIntegers::<FheBool>::from_bytes(&less.to_bytes()?)?;
    assert!(read == less);
    // Noisy ones have a message for each digit.
    let noisy = Encrypted::<FheUint<8>>::encrypt(&t.client, &[7u8, 200])?;
    let stated = t.integers.server().noise_model().variance_of_bits() * 3e9;
    let noisy = noisy.ciphertexts().clone().with_variance(stated)?;
    let noisy = t.integers.upload(&Encrypted::<FheUint<8>>::from_ciphertexts(noisy, 2)?)?;
    let results = t.integers.download_compressed(&noisy)?;
    assert_eq!((results.results().modulus(), results.results().messages()), (4, 8));
    assert_eq!(results.decrypt(&t.client)?, [7, 200]);
    // What is none of these.
    let error = CompressedIntegers::<FheInt<64>>::from_bytes(&bytes).expect_err("another kind");
    assert!(matches!(error, Error::Malformed(_)), "{error}");
    let bits = t.integers.server().compress_bits(&t.client.encrypt_bits(&[true])?)?;
    let bytes = [&b"girih 1 compressed FheUint64\n"[..], &bits.to_bytes()?].concat();
    let error = CompressedIntegers::<FheUint<64>>::from_bytes(&bytes).expect_err("bits");
    assert!(error.to_string().contains("modulo 2"), "{error}");
    let three = t.integers.server().compress(&t.client.encrypt(&[1, 2, 3], 16)?, 16)?;
    let bytes = [&b"girih 1 compressed FheUint64\n"[..], &three.to_bytes()?].concat();
    let error = CompressedIntegers::<FheUint<64>>::from_bytes(&bytes).expect_err("three");
    assert!(error.to_string().contains("a multiple of 16"), "{error}");
    let without = toy().integers.download_compressed(&toy().up::<FheUint<8>, u8>(&[1]));
    let error = without.expect_err("no compression key").to_string();
    assert!(error.contains("with_compression"), "{error}");
    let error = t.integers.download_compressed(&toy().up::<FheUint<8>, u8>(&[1]));
    assert!(error.expect_err("elsewhere").to_string().contains("another server"));
    Ok(())
}
