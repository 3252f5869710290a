use super::*;

#[test]
fn a_27_bit_prime_needs_no_reduction_in_ten_forward_stages_and_a_31_bit_prime_does() {
    for (p, free) in [(134_215_681, true), (2_147_473_409, false)] {
        let mut lazy = Lazy::new(&[p], Numbers::Unsigned { coarse: false });
        lazy.set("u", i128::from(p)).expect("fits");
        lazy.set("v", i128::from(p)).expect("fits");
        let text: String = (0..10).map(|_| lazy.forward(0, "u", "v", "w").expect("kept")).collect();
        assert_eq!(!text.contains("min("), free, "p = {p}:\n{text}");
        assert!(
            lazy.get("u").expect("known") <= 1 << 32 && lazy.get("v").expect("known") <= 1 << 32
        );
    }
}

/// Runs what was emitted for reductions on the extremes of the bound and on random values.
#[test]
fn emitted_reductions_keep_values_and_reach_their_limit() {
    for p in [12_289u32, 134_215_681, 2_147_473_409] {
        for coarse in [false, true] {
            for limit in [i128::from(p), 2 * i128::from(p)] {
                let mut lazy = Lazy::new(&[p], Numbers::Unsigned { coarse });
                lazy.set("x", 1 << 32).expect("fits");
                let text = lazy.reduce(0, "x", limit).expect("reducible");
                for start in [0, 1, p - 1, p, 2 * p - 1, u32::MAX, u32::MAX / 3, 0x9e37_79b9] {
                    let x = text.lines().fold(start, |x, line| run(line, x, p, coarse));
                    assert!(i128::from(x) < limit, "p = {p}, from {start}: {x}\n{text}");
                    assert_eq!(x % p, start % p, "p = {p}, from {start}\n{text}");
                }
            }
        }
    }
}

/// The two statements that `reduce` emits.
fn run(line: &str, x: u32, p: u32, coarse: bool) -> u32 {
    if line.contains("shoup") {
        // The coarse estimate of the core profile may be up to 3 too small.
        let less = if coarse { 2 } else { 0 };
        let quotient =
            ((u64::from(x) * ((1u64 << 32) / u64::from(p))) >> 32).saturating_sub(less) as u32;
        return x - quotient * p;
    }
    let times: u32 = line
        .rsplit("- ")
        .next()
        .and_then(|t| t.strip_suffix("u * P_0);"))
        .and_then(|t| t.parse().ok())
        .expect("a subtraction");
    x.min(x.wrapping_sub(times * p))
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let mut lazy = Lazy::new(&[97], Numbers::Unsigned { coarse: false });
    assert!(lazy.set("x", (1 << 32) + 1).is_err());
    assert!(lazy.get("y").is_err());
    lazy.set("x", 500).expect("fits");
    assert!(lazy.reduce(0, "x", 96).is_err());
    assert!(lazy.reduce(1, "x", 97).is_err());
}

/// Runs what was emitted for signed reductions, in checked arithmetic.
#[test]
fn signed_reductions_keep_values_and_reach_their_limit() {
    for p in [12_289i64, 188_417, 3_425_281, 28_241_921, 134_215_681, 201_326_593] {
        for (start_bound, limit) in [
            ((1 << 31) - (1 << 27), 17 * p / 32),
            (3 * p, 17 * p / 32),
            ((1 << 31) - (1 << 27), p - 1),
            (9 * p, 2 * p),
        ] {
            let mut lazy = Lazy::new(&[p as u32], Numbers::SignedLimbs);
            let start_bound = i128::from(start_bound).min((1 << 31) - (1 << 27));
            lazy.set("x", start_bound).expect("fits");
            let text = lazy.reduce(0, "x", i128::from(limit)).expect("reducible");
            let text = with_constants(&text, &lazy.constants());
            let end_bound = lazy.get("x").expect("known");
            assert!(end_bound <= i128::from(limit));
            for i in 0..400i128 {
                let start = (start_bound * (i - 200) / 200) as i64;
                let end = text.lines().fold(start, |x, line| run_signed(line, x, p));
                assert!(i128::from(end.abs()) <= end_bound, "p = {p}, from {start}: {end}\n{text}");
                assert_eq!(end.rem_euclid(p), start.rem_euclid(p), "p = {p}, from {start}\n{text}");
            }
        }
    }
}

/// `text` with values in the place of declared constants.
fn with_constants(text: &str, constants: &str) -> String {
    let declared = constants
        .lines()
        .filter_map(|line| line.strip_prefix("const ")?.strip_suffix(';')?.split_once(" = "));
    declared.fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// What ten stages and back emit modulo `p`, with a reduction at the end.
fn stages(p: u32, numbers: Numbers) -> String {
    let mut lazy = Lazy::new(&[p], numbers);
    let reduced = numbers.least(i128::from(p));
    lazy.set("u", reduced).expect("fits");
    lazy.set("v", reduced).expect("fits");
    let mut text = String::new();
    for _ in 0..10 {
        text += &lazy.forward(0, "u", "v", "w").expect("kept");
    }
    for name in ["u", "v"] {
        text += &lazy.reduce(0, name, reduced).expect("reducible");
    }
    for _ in 0..10 {
        text += &lazy.inverse(0, "u", "v", "w").expect("kept");
    }
    text
}

#[test]
fn primes_of_one_class_share_their_text() {
    let unsigned = Numbers::Unsigned { coarse: false };
    for (numbers, one, other) in [
        // Of 31, 30 and 27 bits.
        (unsigned, 2_147_473_409, 2_147_389_441),
        (unsigned, 1_073_692_673, 1_073_668_097),
        (unsigned, 134_215_681, 134_176_769),
        (Numbers::Unsigned { coarse: true }, 1_073_692_673, 1_073_668_097),
        (Numbers::SignedWide, 134_215_681, 134_176_769),
        (Numbers::SignedLimbs, 134_215_681, 134_176_769),
    ] {
        let text = stages(one, numbers);
        assert_eq!(text, stages(other, numbers), "{one} and {other}");
        assert!(!text.contains(&one.to_string()), "{text}");
    }
    let (narrow, wide) = (stages(134_215_681, unsigned), stages(2_147_473_409, unsigned));
    assert_ne!(narrow, wide, "a 31-bit prime needs more reductions");
}

#[test]
fn a_constant_has_one_value() {
    let mut lazy = Lazy::new(&[97], Numbers::Unsigned { coarse: false });
    let root = |factor| lazy.twiddle(0, factor).expect("a word");
    let (five, six) = (root(5), root(6));
    lazy.constant("ROOT", five.clone()).expect("new");
    lazy.constant("ROOT", five).expect("the same");
    assert!(lazy.constant("ROOT", six).is_err());
    assert_eq!(lazy.constants(), format!("const ROOT = vec2<u32>(5u, {}u);\n", (5u64 << 32) / 97));
}

/// The two statements that signed reductions emit.
fn run_signed(line: &str, x: i64, p: i64) -> i64 {
    let numbers: Vec<i64> =
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let quotient = match numbers[..] {
        [half, bits, 0] => (x + half) >> bits,
        [low, factor, half, shift, 0] => {
            let sum = (x >> low) * factor + half;
            assert!(i32::try_from(sum).is_ok(), "{line}: {sum}");
            sum >> shift
        }
        _ => panic!("{line}"),
    };
    x - quotient * p
}
