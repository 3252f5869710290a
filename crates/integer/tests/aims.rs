//! Programs for few elements and for many give the same, with a toy set on the CPU: all pairs of
//! four bits, and random numbers of 8 to 64.

mod toy;

use girih_integer::{Aim, FheInt, FheUint};
use girih_tfhe::ServerKey;
use toy::Toy;

/// A server that runs one aim's programs, or those that the number of elements decides on.
fn toy(aim: Option<Aim>) -> Toy<ServerKey> {
    let toy = Toy::tfhe("INSECURE_INTEGERS", 7).expect("a toy");
    toy.integers.aim_for(aim);
    toy
}

/// Every operation on pairs of `BITS` bits, against its counterpart on u128 and i128.
fn check<const BITS: u32>(toy: &Toy<ServerKey>, pairs: &[(u128, u128)]) {
    let wrap = |v: u128| v << (128 - BITS) >> (128 - BITS);
    let signed = |v: u128| (v << (128 - BITS)) as i128 >> (128 - BITS);
    let (a, b): (Vec<u128>, Vec<u128>) = pairs.iter().map(|&(a, b)| (wrap(a), wrap(b))).unzip();
    let (x, y): (FheUint<BITS>, FheUint<BITS>) = (toy.up(&a), toy.up(&b));
    let number = |got: girih_integer::Result<FheUint<BITS>>, want: &dyn Fn(u128, u128) -> u128| {
        let want: Vec<u128> = a.iter().zip(&b).map(|(&a, &b)| wrap(want(a, b))).collect();
        assert_eq!(toy.down(&got.expect("alike")), want);
    };
    number(&x + &y, &|a, b| a.wrapping_add(b));
    number(&x - &y, &|a, b| a.wrapping_sub(b));
    number(&x * &y, &|a, b| a.wrapping_mul(b));
    number(&x * &x, &|a, _| a.wrapping_mul(a));
    number(x.mul(11u8), &|a, _| a.wrapping_mul(11));
    number(x.max(&y), &|a, b| a.max(b));
    number(x.shl_by(&y), &|a, b| a << (b as u32 % BITS.next_power_of_two()));
    number(x.rotate_right_by(&y), &|a, b| {
        let by = (b % u128::from(BITS)) as u32;
        a >> by | if by == 0 { 0 } else { a << (BITS - by) }
    });
    number(FheUint::sum(&[&x, &y, &x, &y]), &|a, b| a.wrapping_add(b).wrapping_mul(2));
    let (quotient, remainder) = x.div_rem(&y).expect("alike");
    number(Ok(quotient), &|a, b| a.checked_div(b).unwrap_or(u128::MAX));
    number(Ok(remainder), &|a, b| a.checked_rem(b).unwrap_or(a));
    let flag = |got: &girih_integer::FheBool, want: &dyn Fn(u128, u128) -> bool| {
        let want: Vec<bool> = a.iter().zip(&b).map(|(&a, &b)| want(a, b)).collect();
        assert_eq!(toy.down(got), want);
    };
    flag(&x.less(&y).expect("alike"), &|a, b| a < b);
    flag(&x.equal(&y).expect("alike"), &|a, b| a == b);
    let (sum, over) = x.overflowing_add(&y).expect("alike");
    number(Ok(sum), &|a, b| a.wrapping_add(b));
    flag(&over, &|a, b| wrap(a + b) != a + b);
    let (product, over) = x.overflowing_mul(&y).expect("alike");
    number(Ok(product), &|a, b| a.wrapping_mul(b));
    flag(&over, &|a, b| a.checked_mul(b).is_none_or(|p| wrap(p) != p));
    let zeros: Vec<u128> =
        a.iter().map(|&a| u128::from(a.leading_zeros() - (128 - BITS))).collect();
    assert_eq!(toy.down(&x.leading_zeros().expect("any")), zeros);
    // The same bits with a sign.
    let (x, y): (FheInt<BITS>, FheInt<BITS>) = (x.reinterpret(), y.reinterpret());
    flag(&x.greater_or_equal(&y).expect("alike"), &|a, b| signed(a) >= signed(b));
    number(Ok(x.abs().expect("any").reinterpret()), &|a, _| signed(a).unsigned_abs());
    let (quotient, remainder) = x.div_rem(&y).expect("alike");
    let by_zero = |a: u128| if signed(a) < 0 { 1 } else { u128::MAX };
    number(Ok(quotient.reinterpret()), &|a, b| match signed(b) {
        0 => by_zero(a),
        b => signed(a).wrapping_div(b) as u128,
    });
    number(Ok(remainder.reinterpret()), &|a, b| match signed(b) {
        0 => a,
        b => signed(a).wrapping_rem(b) as u128,
    });
    let (product, over) = x.overflowing_mul(&y).expect("alike");
    number(Ok(product.reinterpret()), &|a, b| a.wrapping_mul(b));
    let fits = |p: i128| signed(p as u128) == p;
    flag(&over, &|a, b| !signed(a).checked_mul(signed(b)).is_some_and(fits));
}

#[test]
fn all_pairs_of_four_bits() {
    let pairs: Vec<(u128, u128)> = (0..256).map(|pair| (pair % 16, pair / 16)).collect();
    for aim in Aim::ALL {
        check::<4>(&toy(Some(aim)), &pairs);
    }
}

#[test]
fn random_numbers_of_8_to_64_bits() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u128::from(state)
    };
    for toy in Aim::ALL.map(|aim| toy(Some(aim))) {
        let mut pairs = |bits: u32| [(word(), word()), (word(), word() >> (64 - bits / 3))];
        check::<8>(&toy, &pairs(8));
        check::<16>(&toy, &pairs(16));
        check::<32>(&toy, &pairs(32)[1..]);
        check::<64>(&toy, &pairs(64)[..1]);
    }
}

/// The number of elements decides on how many bootstrappings each takes.
#[test]
fn many_elements_take_fewer_bootstrappings_each() {
    let taken = |aim: Option<Aim>, count: usize| {
        let toy = toy(aim);
        let x: FheUint<64> = toy.up(&vec![u64::MAX; count]);
        let before = toy.integers.look_ups();
        toy.integers.download(&(&x + &x).expect("itself")).expect("of this server");
        (toy.integers.look_ups() - before) / count as u64
    };
    assert!(taken(Some(Aim::FewLevels), 1) > 60);
    assert_eq!(taken(Some(Aim::FewBootstrappings), 1), 32);
    // Two waves of a device that has a place for each thread.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(taken(None, 2 * threads), 32);
}
