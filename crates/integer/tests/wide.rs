//! Numbers beyond 128 bits and random ones, encrypted, with a toy set on the CPU.

mod toy;

use girih_backend::NoProgress;
use girih_integer::{FheBool, FheInt, FheUint, I256, Result, U256};
use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use toy::Toy;

fn toy() -> &'static Toy<ServerKey> {
    static TOY: OnceLock<Toy<ServerKey>> = OnceLock::new();
    TOY.get_or_init(|| make().expect("a toy"))
}

fn make() -> Result<Toy<ServerKey>> {
    let set = ParameterSet::by_name("INSECURE_INTEGERS")?;
    let client = ClientKey::generate_seeded_for_tests(&set, [5; 32])?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?.with_compression(&client)?;
    Toy::with_keys(client, &keys)
}

#[test]
fn amounts_and_accounts() {
    let t = toy();
    let amount = U256::from_words([u64::MAX, u64::MAX, 0, 1 << 63]);
    let x: FheUint<256> = t.up(&[amount, U256::from(5u8)]);
    let sum = (&x + 1u8).expect("fits");
    let want = [U256::from_words([0, 0, 1, 1 << 63]), U256::from(6u8)];
    assert_eq!(t.down_wide(&sum), want);
    let compressed = t.integers.download_compressed(&sum).expect("with a key for it");
    assert_eq!(compressed.decrypt_wide(&t.client).expect("of this client"), want);
    let (less, out) = x.overflowing_sub(U256::from(6u8)).expect("fits");
    assert_eq!(t.down_wide(&out), [false, true]);
    assert_eq!(t.down_wide(&less)[1], U256::MAX);
    let larger = x.greater(U256::from_words([0, 0, 0, 1])).expect("fits");
    let chosen = larger.select::<FheUint<256>>(0u8, &x).expect("alike");
    assert_eq!(t.down_wide(&chosen), [U256::ZERO, U256::from(5u8)]);
    assert_eq!(t.down_wide(&x.resize::<160>().expect("a width"))[0], U256::from(u128::MAX));

    let account: U256 = "0xdeadbeef00112233445566778899aabbccddeeff".parse().expect("160 bits");
    let accounts: FheUint<160> = t.up(&[account, U256::from(1u8)]);
    assert_eq!(t.down_wide(&accounts.equal(account).expect("fits")), [true, false]);
    let table = [(account, U256::MAX), (U256::from(2u8), U256::ZERO)];
    let (beside, found) = accounts.match_value_wide::<256>(&table).expect("no number twice");
    assert_eq!(t.down_wide(&beside), [U256::MAX, U256::ZERO]);
    assert_eq!(t.down_wide(&found), [true, false]);
    let known = t.integers.constants::<FheUint<160>, _>(&[account, account]).expect("fit");
    assert_eq!(t.down_wide(&accounts.xor(&known).expect("alike"))[0], U256::ZERO);

    let signed: FheInt<160> = t.up(&[I256::from(-3i8), I256::from(i128::MAX)]);
    assert_eq!(t.down_wide(&signed.neg().expect("works")), [3, -i128::MAX].map(I256::from));
    assert_eq!(t.down_wide(&signed.abs().expect("works"))[0], I256::from(3i8));
    let moved = signed.shl(20).expect("works");
    assert_eq!(
        t.down_wide(&moved)[1],
        "178405961588244985132285746181186892046794752".parse().expect("fits")
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let t = toy();
    let x: FheUint<160> = t.up(&[1u8]);
    let refused = |result: Result<()>, part: &str| {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    let beyond = U256::from_words([0, 0, 1 << 32, 0]);
    let most = "1461501637330902918203684832716283019655932542975";
    refused(x.add(beyond).map(drop), most);
    let unfit = FheInt::<160>::encrypt(&t.client, &[I256::MIN]).map(drop);
    refused(unfit, "-730750818665451459101842416358141509827966271488");
    refused(x.match_value_wide::<160>(&[]).map(drop), "at least one");
}

/// Every value comes about as often as any other, the same for the same seed, and within bounds.
#[test]
fn random_numbers() {
    let t = toy();
    let draw = |seed: u8, bits: u32| {
        let drawn = FheUint::<6>::generate_oblivious_pseudo_random_bounded(
            &t.integers,
            &[seed; 32],
            512,
            bits,
        );
        t.down_wide(&drawn.expect("some"))
    };
    for bits in [1, 3, 6] {
        let values = draw(1, bits);
        let mut counts = BTreeMap::new();
        values.iter().for_each(|&v| *counts.entry(v).or_insert(0u32) += 1);
        let cells = 1u32 << bits;
        assert!(counts.keys().all(|v| *v < U256::from(cells)), "{bits} bits: {counts:?}");
        let expected = 512.0 / f64::from(cells);
        let missing = f64::from(cells) - counts.len() as f64;
        let squares: f64 =
            counts.values().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        // Chi squared, of one degree of freedom less than cells: a deviation of sqrt(2 cells). The
        // seed is fixed.
        let bound = f64::from(cells) + 5.0 * (2.0 * f64::from(cells)).sqrt();
        assert!(squares + missing * expected < bound, "{bits} bits: {counts:?}");
    }
    assert!(draw(1, 0).iter().all(|v| *v == U256::ZERO));
    assert_eq!(draw(2, 6), draw(2, 6));
    assert_ne!(draw(2, 6), draw(3, 6));

    // Of another width the same lower digits; computed on as any other.
    let draw = |integers| FheUint::<8>::generate_oblivious_pseudo_random(integers, &[2; 32], 4);
    let wide = draw(&t.integers).expect("some");
    let low = t.down_wide(&wide.and(63u8).expect("fits"));
    let narrow = FheUint::<6>::generate_oblivious_pseudo_random(&t.integers, &[2; 32], 4);
    assert_eq!(t.down_wide(&narrow.expect("some")), low);
    let twice = wide.add(&wide).expect("alike").sub(&wide).expect("alike");
    assert_eq!(t.down_wide(&twice), t.down_wide(&wide));

    let flags = FheBool::generate_oblivious_pseudo_random(&t.integers, &[4; 32], 64);
    let held = t.down_wide(&flags.expect("some")).into_iter().filter(|f| *f).count();
    assert!((12..52).contains(&held), "{held} of 64");
    let signed = FheInt::<8>::generate_oblivious_pseudo_random(&t.integers, &[5; 32], 64);
    let below = t.down_wide(&signed.expect("some")).into_iter().filter(|v| *v < I256::ZERO).count();
    assert!((12..52).contains(&below), "{below} of 64");

    // Those of a range are the upper part of a product with the bound.
    let range = |bound: u128, log2_distance: u32| {
        FheUint::<8>::generate_oblivious_pseudo_random_custom_range(
            &t.integers,
            &[6; 32],
            96,
            bound,
            log2_distance,
        )
    };
    let below_ten = t.down_wide(&range(10, 12).expect("some"));
    let bits = FheUint::<14>::generate_oblivious_pseudo_random(&t.integers, &[6; 32], 96);
    let whole = t.down_wide(&bits.expect("some"));
    let product = |x: &U256| U256::from((u128::try_from(*x).expect("small") * 10) >> 14);
    assert_eq!(below_ten, whole.iter().map(product).collect::<Vec<_>>());
    let found: std::collections::BTreeSet<_> = below_ten.iter().collect();
    assert_eq!(found.len(), 10, "{found:?}");
    let eight =
        FheUint::<8>::generate_oblivious_pseudo_random_bounded(&t.integers, &[6; 32], 96, 3);
    assert_eq!(t.down_wide(&range(8, 128).expect("some")), t.down_wide(&eight.expect("some")));
    assert!(t.down_wide(&range(1, 128).expect("some")).iter().all(|v| *v == U256::ZERO));

    let refused = |result: Result<()>, part: &str| {
        let error = result.expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(range(0, 128).map(drop), "takes 1 to 256");
    refused(range(257, 128).map(drop), "a bound of random numbers does not fit FheUint8");
    refused(range(10, 257).map(drop), "is 257, and must be from 0 to 256");
    let bounded = FheInt::<8>::generate_oblivious_pseudo_random_bounded;
    refused(bounded(&t.integers, &[0; 32], 1, 8).map(drop), "is 8, and must be from 0 to 7");
    let bounded = FheUint::<8>::generate_oblivious_pseudo_random_bounded;
    refused(bounded(&t.integers, &[0; 32], 1, 9).map(drop), "is 9, and must be from 0 to 8");
    refused(bounded(&t.integers, &[0; 32], 0, 8).map(drop), "no random numbers");
    refused(
        bounded(&t.integers, &[0; 32], usize::MAX, 8).map(drop),
        "random numbers at once: there must be 1 to",
    );
}
