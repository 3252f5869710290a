//! Operations of girih on a TFHE-rs client's ciphertexts mean what TFHE-rs's own server means: the
//! client decrypts both and finds the same.

mod common;

use common::both;
use girih_integer::{FheBool, FheInt, FheUint};
use girih_tfhe_rs::{Foreign, ShiftsOut};
use tfhe::prelude::*;
use tfhe::set_server_key;

/// A sequence of numbers without a pattern (splitmix64), the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

/// Puts TFHE-rs's own server key where its operations look for it.
fn use_their_server() {
    set_server_key(both().keys.decompress());
}

/// Holds each operation on all pairs to TFHE-rs's: `name: ours, theirs, type of the result`.
macro_rules! compare {
    ($pairs:ident $a:ident $b:ident; $($name:literal $ours:expr, $theirs:expr,
     $result:ty as $plain:ty;)*) => {$({
        let both = both();
        let begin = std::time::Instant::now();
        let ours = both.server.download(&$ours.expect($name)).expect("of this server");
        let middle = std::time::Instant::now();
        let ours: Vec<$plain> = ours.iter().map(|x| x.decrypt(&both.client)).collect();
        for (i, (theirs_a, theirs_b)) in $a.iter().zip(&$b).enumerate() {
            let theirs: $result = $theirs(theirs_a, theirs_b);
            let theirs: $plain = theirs.decrypt(&both.client);
            assert_eq!(ours[i], theirs, "{} of {:?}", $name, $pairs[i]);
        }
        println!("{}: {:?}, theirs {:?}", $name, middle - begin, middle.elapsed());
    })*};
}

/// What TFHE-rs's server computes on.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// The ciphertexts that girih has too.
    Same,
    /// The same numbers in trivial ciphertexts, whose look-ups TFHE-rs makes in the clear: its own
    /// code and its own results, thousands of times faster.
    Trivial,
}

/// All operations of unsigned numbers on given pairs.
macro_rules! unsigned {
    ($theirs:ident $bits:literal $plain:ident, $pairs:expr, $side:expr) => {{
        type Theirs = tfhe::$theirs;
        type Bit = tfhe::FheBool;
        type Count = tfhe::FheUint32;
        let (both, pairs) = (both(), $pairs);
        // As `match_value` of TFHE-rs takes it.
        let matched = || {
            let table: [($plain, $plain); 3] = [(0, 200), (11, 7), (13, 9)];
            tfhe::MatchValues::new(table.to_vec()).expect("no number twice")
        };
        let encrypt = |x: $plain| Theirs::encrypt(x, &both.client);
        let a: Vec<Theirs> = pairs.iter().map(|p: &($plain, $plain)| encrypt(p.0)).collect();
        let b: Vec<Theirs> = pairs.iter().map(|p| encrypt(p.1)).collect();
        let x: FheUint<$bits> = both.server.upload(a.clone()).expect("fresh");
        let y: FheUint<$bits> = both.server.upload(b.clone()).expect("fresh");
        use_their_server();
        let (a, b): (Vec<Theirs>, Vec<Theirs>) = match $side {
            Side::Same => (a, b),
            Side::Trivial => {
                let trivial = |x: $plain| Theirs::encrypt_trivial(x);
                let a = pairs.iter().map(|p| trivial(p.0)).collect();
                (a, pairs.iter().map(|p| trivial(p.1)).collect())
            }
        };
        compare!(pairs a b;
            "sum" x.add(&y), |a: &Theirs, b: &Theirs| a + b, Theirs as $plain;
            "difference" x.sub(&y), |a: &Theirs, b: &Theirs| a - b, Theirs as $plain;
            "product" x.mul(&y), |a: &Theirs, b: &Theirs| a * b, Theirs as $plain;
            "quotient" x.div(&y), |a: &Theirs, b: &Theirs| a / b, Theirs as $plain;
            "remainder" x.rem(&y), |a: &Theirs, b: &Theirs| a % b, Theirs as $plain;
            "and" x.and(&y), |a: &Theirs, b: &Theirs| a & b, Theirs as $plain;
            "or" x.or(&y), |a: &Theirs, b: &Theirs| a | b, Theirs as $plain;
            "xor" x.xor(&y), |a: &Theirs, b: &Theirs| a ^ b, Theirs as $plain;
            "not" x.not(), |a: &Theirs, _| !a, Theirs as $plain;
            "neg" x.neg(), |a: &Theirs, _| -a, Theirs as $plain;
            "shl" x.shl_out(&y), |a: &Theirs, b: &Theirs| a << b, Theirs as $plain;
            "shr" x.shr_out(&y), |a: &Theirs, b: &Theirs| a >> b, Theirs as $plain;
            "rotate_left" x.rotate_left_by(&y), |a: &Theirs, b: &Theirs| a.rotate_left(b),
                Theirs as $plain;
            "rotate_right" x.rotate_right_by(&y), |a: &Theirs, b: &Theirs| a.rotate_right(b),
                Theirs as $plain;
            "min" x.min(&y), |a: &Theirs, b: &Theirs| a.min(b), Theirs as $plain;
            "max" x.max(&y), |a: &Theirs, b: &Theirs| a.max(b), Theirs as $plain;
            "less" x.less(&y), |a: &Theirs, b: &Theirs| a.lt(b), Bit as bool;
            "less_or_equal" x.less_or_equal(&y), |a: &Theirs, b: &Theirs| a.le(b), Bit as bool;
            "greater" x.greater(&y), |a: &Theirs, b: &Theirs| a.gt(b), Bit as bool;
            "greater_or_equal" x.greater_or_equal(&y), |a: &Theirs, b: &Theirs| a.ge(b),
                Bit as bool;
            "equal" x.equal(&y), |a: &Theirs, b: &Theirs| a.eq(b), Bit as bool;
            "not_equal" x.not_equal(&y), |a: &Theirs, b: &Theirs| a.ne(b), Bit as bool;
            "choice" x.greater(&y).and_then(|c: FheBool| c.select::<FheUint<$bits>>(&y, &x)),
                |a: &Theirs, b: &Theirs| a.gt(b).if_then_else(b, a), Theirs as $plain;
            "sum's flag" x.overflowing_add(&y).map(|r| r.1),
                |a: &Theirs, b: &Theirs| a.overflowing_add(b).1, Bit as bool;
            "difference's flag" x.overflowing_sub(&y).map(|r| r.1),
                |a: &Theirs, b: &Theirs| a.overflowing_sub(b).1, Bit as bool;
            "product's flag" x.overflowing_mul(&y).map(|r| r.1),
                |a: &Theirs, b: &Theirs| a.overflowing_mul(b).1, Bit as bool;
            "known less a" x.sub_from(13u8), |a: &Theirs, _| (13 as $plain) - a, Theirs as $plain;
            "a by known" x.div(3u8), |a: &Theirs, _| a / (3 as $plain), Theirs as $plain;
            "a times known" x.mul(5u8), |a: &Theirs, _| a * (5 as $plain), Theirs as $plain;
            "count_ones" x.count_ones(), |a: &Theirs, _| a.count_ones(), Count as u32;
            "count_zeros" x.count_zeros(), |a: &Theirs, _| a.count_zeros(), Count as u32;
            "leading_zeros" x.leading_zeros(), |a: &Theirs, _| a.leading_zeros(), Count as u32;
            "leading_ones" x.leading_ones(), |a: &Theirs, _| a.leading_ones(), Count as u32;
            "trailing_zeros" x.trailing_zeros(), |a: &Theirs, _| a.trailing_zeros(), Count as u32;
            "trailing_ones" x.trailing_ones(), |a: &Theirs, _| a.trailing_ones(), Count as u32;
            // TFHE-rs gives the logarithm of 0 no meaning.
            "ilog2" x.or(1u8).and_then(|x| x.ilog2()),
                |a: &Theirs, _| (a | (1 as $plain)).ilog2(), Count as u32;
            "ilog2's flag" x.checked_ilog2().map(|r| r.1),
                |a: &Theirs, _| a.checked_ilog2().1, Bit as bool;
            "sum of four" FheUint::sum(&[&x, &y, &y, &x]),
                |a: &Theirs, b: &Theirs| [a, b, b, a].into_iter().sum::<Theirs>(),
                Theirs as $plain;
            "match_value" x.match_value::<8>(&[(0, 200), (11, 7), (13, 9)]).map(|r| r.0),
                |a: &Theirs, _| a.match_value(&matched()).expect("of both types").0,
                tfhe::FheUint8 as u8;
            "match_value's flag" x.match_value::<8>(&[(0, 200), (11, 7), (13, 9)]).map(|r| r.1),
                |a: &Theirs, _| {
                    let found: (tfhe::FheUint8, _) = a.match_value(&matched()).expect("of both");
                    found.1
                }, Bit as bool;
        );
    }};
}

/// The same of signed ones, amounts of shifts taken for unsigned.
macro_rules! signed {
    ($theirs:ident $amount:ident $bits:literal $plain:ident $unsigned:ident, $pairs:expr,
     $side:expr) => {{
        type Theirs = tfhe::$theirs;
        type Amount = tfhe::$amount;
        type Bit = tfhe::FheBool;
        let (both, pairs) = (both(), $pairs);
        let encrypt = |x: $plain| Theirs::encrypt(x, &both.client);
        let a: Vec<Theirs> = pairs.iter().map(|p: &($plain, $plain)| encrypt(p.0)).collect();
        let b: Vec<Theirs> = pairs.iter().map(|p| encrypt(p.1)).collect();
        let x: FheInt<$bits> = both.server.upload(a.clone()).expect("fresh");
        let y: FheInt<$bits> = both.server.upload(b.clone()).expect("fresh");
        use_their_server();
        let (a, b): (Vec<Theirs>, Vec<Theirs>) = match $side {
            Side::Same => (a, b),
            Side::Trivial => {
                let trivial = |x: $plain| Theirs::encrypt_trivial(x);
                let a = pairs.iter().map(|p| trivial(p.0)).collect();
                (a, pairs.iter().map(|p| trivial(p.1)).collect())
            }
        };
        {
                compare!(pairs a b;
                "sum" x.add(&y), |a: &Theirs, b: &Theirs| a + b, Theirs as $plain;
                "product" x.mul(&y), |a: &Theirs, b: &Theirs| a * b, Theirs as $plain;
                "quotient" x.div(&y), |a: &Theirs, b: &Theirs| a / b, Theirs as $plain;
                "remainder" x.rem(&y), |a: &Theirs, b: &Theirs| a % b, Theirs as $plain;
                "abs" x.abs(), |a: &Theirs, _| a.abs(), Theirs as $plain;
                "neg" x.neg(), |a: &Theirs, _| -a, Theirs as $plain;
                "min" x.min(&y), |a: &Theirs, b: &Theirs| a.min(b), Theirs as $plain;
                "less" x.less(&y), |a: &Theirs, b: &Theirs| a.lt(b), Bit as bool;
                "sum's flag" x.overflowing_add(&y).map(|r| r.1),
                    |a: &Theirs, b: &Theirs| a.overflowing_add(b).1, Bit as bool;
                "difference's flag" x.overflowing_sub(&y).map(|r| r.1),
                    |a: &Theirs, b: &Theirs| a.overflowing_sub(b).1, Bit as bool;
                "product's flag" x.overflowing_mul(&y).map(|r| r.1),
                    |a: &Theirs, b: &Theirs| a.overflowing_mul(b).1, Bit as bool;
            );
        }
        let mask = u128::MAX >> (128 - $bits);
        let amount = |x: $plain| (x as i128 as u128 & mask) as $unsigned;
        let encrypt = |x: $plain| Amount::encrypt(amount(x), &both.client);
        let b: Vec<Amount> = pairs.iter().map(|p| encrypt(p.1)).collect();
        let y: FheUint<$bits> = both.server.upload(b.clone()).expect("fresh");
        let b: Vec<Amount> = match $side {
            Side::Same => b,
            Side::Trivial => pairs.iter().map(|p| Amount::encrypt_trivial(amount(p.1))).collect(),
        };
        compare!(pairs a b;
            "shl" x.shl_out(&y), |a: &Theirs, b: &Amount| a << b, Theirs as $plain;
            "shr" x.shr_out(&y), |a: &Theirs, b: &Amount| a >> b, Theirs as $plain;
            "rotate_left" x.rotate_left_by(&y), |a: &Theirs, b: &Amount| a.rotate_left(b),
                Theirs as $plain;
        );
    }};
}

#[test]
fn unsigned_numbers_of_four_bits() {
    // Both edges, division by 0, shifts by less than, by as much as and by more than the width.
    unsigned!(FheUint4 4 u8, [(13, 0), (15, 15), (9, 4), (7, 13)], Side::Same);
}

#[test]
fn signed_numbers_of_four_bits() {
    signed!(FheInt4 FheUint4 4 i8 u8, [(-8, -1), (-8, 0), (5, 0), (-3, 2), (-1, 4)], Side::Same);
}

#[test]
fn wider_sums_and_comparisons() {
    let both = both();
    let mut numbers = Numbers(64);
    let pairs: Vec<(u64, u64)> = (0..2).map(|_| (numbers.next(), numbers.next())).collect();
    let encrypt = |x: u64| tfhe::FheUint64::encrypt(x, &both.client);
    let a = both.server.upload(pairs.iter().map(|p| encrypt(p.0)).collect()).expect("fresh");
    let b = both.server.upload(pairs.iter().map(|p| encrypt(p.1)).collect()).expect("fresh");
    let (sum, less) = (a.add(&b).expect("works"), a.less(&b).expect("works"));
    let sum: Vec<tfhe::FheUint64> = both.server.download(&sum).expect("of it");
    let less: Vec<tfhe::FheBool> = both.server.download(&less).expect("of it");
    for (i, &(a, b)) in pairs.iter().enumerate() {
        let sum: u64 = sum[i].decrypt(&both.client);
        assert_eq!(sum, a.wrapping_add(b));
        assert_eq!(less[i].decrypt(&both.client), a < b);
    }
    // What girih hands back, TFHE-rs's server computes on.
    use_their_server();
    let twice: u64 = (&sum[0] + &sum[1]).decrypt(&both.client);
    let want = pairs.iter().fold(0u64, |s, p| s.wrapping_add(p.0).wrapping_add(p.1));
    assert_eq!(twice, want);
}

/// A hundred operations, each on what the one before gave, without going back to the client.
#[test]
fn a_chain_of_a_hundred_operations() {
    let both = both();
    let mut numbers = Numbers(100);
    let start = [3u8, 250];
    let encrypt = |x: u8| tfhe::FheUint8::encrypt(x, &both.client);
    let mut x = both.server.upload(start.map(encrypt).to_vec()).expect("fresh");
    let mut plain = start;
    for step in 0..100 {
        let value = numbers.next() as u8;
        let result = match numbers.next() % 6 {
            0 => (x.add(value), plain.map(|p| p.wrapping_add(value))),
            1 => (x.sub(value), plain.map(|p| p.wrapping_sub(value))),
            2 => (x.mul(value | 1), plain.map(|p| p.wrapping_mul(value | 1))),
            3 => (x.xor(value), plain.map(|p| p ^ value)),
            4 => (x.rotate_left(3), plain.map(|p| p.rotate_left(3))),
            _ => (x.max(value), plain.map(|p| p.max(value))),
        };
        x = result.0.unwrap_or_else(|why| panic!("step {step}: {why}"));
        plain = result.1;
    }
    let back: Vec<tfhe::FheUint8> = both.server.download(&x).expect("of it");
    let back: Vec<u8> = back.iter().map(|x| x.decrypt(&both.client)).collect();
    assert_eq!(back, plain);
}

#[test]
#[ignore = "ten minutes, last run on 27 November 2026: cargo xtask tfhe-rs --exhaustive"]
fn all_pairs_of_four_bits() {
    let all: Vec<(u8, u8)> = (0..256).map(|i| (i as u8 & 15, (i >> 4) as u8)).collect();
    unsigned!(FheUint4 4 u8, all, Side::Trivial);
}

#[test]
#[ignore = "ten minutes, last run on 27 November 2026: cargo xtask tfhe-rs --exhaustive"]
fn all_signed_pairs_of_four_bits() {
    let all: Vec<(i8, i8)> = (0..256).map(|i| ((i & 15) as i8 - 8, (i >> 4) as i8 - 8)).collect();
    signed!(FheInt4 FheUint4 4 i8 u8, all, Side::Trivial);
}

#[test]
#[ignore = "some minutes, last run on 27 November 2026: cargo xtask tfhe-rs --exhaustive"]
fn random_pairs_of_8_and_16_bits() {
    let mut n = Numbers(16);
    let mut pair = || (n.next() as u8, n.next() as u8 >> 4);
    unsigned!(FheUint8 8 u8, [pair(), pair(), pair(), (255, 8), (128, 0)], Side::Trivial);
    let mut pair = |by: u32| (n.next() as u16, (n.next() as u16) >> by);
    unsigned!(FheUint16 16 u16, [pair(0), pair(8), (pair(0).0, 16)], Side::Trivial);
    let signed = [(n.next() as i8, n.next() as i8), (-128, -1), (-77, 9), (5, 0)];
    signed!(FheInt8 FheUint8 8 i8 u8, signed, Side::Trivial);
    let signed = [(n.next() as i16, n.next() as i16 >> 7), (i16::MIN, -1)];
    signed!(FheInt16 FheUint16 16 i16 u16, signed, Side::Trivial);
}

#[test]
#[ignore = "two minutes, last run on 27 November 2026: cargo xtask tfhe-rs --exhaustive"]
fn random_pairs_of_32_bits() {
    let mut n = Numbers(32);
    let mut pair = |by: u32| (n.next() as u32, n.next() as u32 >> by);
    unsigned!(FheUint32 32 u32, [pair(20), (pair(0).0, 33)], Side::Trivial);
    let pair = [(n.next() as i32, n.next() as i32 >> 9)];
    signed!(FheInt32 FheUint32 32 i32 u32, pair, Side::Trivial);
}

#[test]
#[ignore = "two minutes, last run on 27 November 2026: cargo xtask tfhe-rs --exhaustive"]
fn random_pairs_of_64_bits() {
    let mut n = Numbers(64);
    unsigned!(FheUint64 64 u64, [(n.next(), n.next() >> 40)], Side::Trivial);
}

#[test]
#[ignore = "four minutes, last run on 27 November 2026: cargo xtask tfhe-rs --exhaustive"]
fn random_pairs_of_128_bits() {
    let mut n = Numbers(128);
    let wide = u128::from(n.next()) << 64 | u128::from(n.next());
    unsigned!(FheUint128 128 u128, [(wide, u128::from(n.next()))], Side::Trivial);
}

/// Not used by name: that every type converts is checked by the compiler.
#[allow(dead_code)]
fn all_widths_convert() {
    fn converts<T: Foreign>() {}
    converts::<tfhe::FheUint128>();
    converts::<tfhe::FheInt128>();
    converts::<tfhe::FheBool>();
}
