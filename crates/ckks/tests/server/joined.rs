//! Servers that join digits.

use girih_backend::NoProgress;
use girih_ckks::server::{Bootstrapping, KeySwitching, Options};
use girih_ckks::{CkksParameters, ClientKey, Error, EvaluationKeys};

use crate::support::{Pair, SMALL, complex, kinds, pair_of, server_of};

const SET: &str = "INSECURE_CKKS_D40_30BIT_N10";

/// A level at which digits are joined: eight primes and three.
const LEVEL: usize = 7;

fn small(options: Options) -> Pair {
    let set = CkksParameters::by_name(SET).expect("built in");
    pair_of(SET, kinds(&set, &[1]), options)
}

/// The set says whether digits are joined, and options say otherwise.
#[test]
fn sets_and_options_say_whether() {
    let joins = |name: &str, join_digits| {
        let options = Options::default().with_join_digits(join_digits);
        pair_of(name, Vec::new(), options).server.joins_digits()
    };
    assert!(joins(SET, None) && !joins(SET, Some(false)));
    assert!(!joins(SMALL, None) && joins(SMALL, Some(true)));
}

/// Results are right by the model, and the sums of keys leave with the recordings that read them.
#[test]
fn sums_of_keys_come_and_go() {
    let p = small(Options::default());
    let x = complex(512, 1);
    let cx = p.upload_at(&x, LEVEL);
    let before = p.server.memory().device_bytes;
    let rotated: Vec<_> = (0..512).map(|j| x[(j + 1) % 512]).collect();
    p.check_exact(&p.server.rotate(&cx, 1).unwrap(), &rotated);
    let conjugate: Vec<_> = x.iter().map(|x| x.conj()).collect();
    p.check_exact(&p.server.conjugate(&cx).unwrap(), &conjugate);
    // 11 limbs and 12 of P, both polynomials of two keys.
    let sums = 2 * 2 * (11 + 12) * 4 * 1024;
    let held = p.server.memory().device_bytes;
    assert!(held >= before + sums, "{held} bytes after {before}");
    p.server.forget_recordings();
    // Rotations of another level read no sum.
    let other = p.server.rotate(&p.upload_at(&x, LEVEL + 1), 1).unwrap();
    drop(other);
    p.server.forget_recordings();
    let left = p.server.memory().device_bytes;
    assert!(left + sums <= held, "{left} bytes of {held}");
    let error = p.server.rotate(&cx, 2).unwrap_err();
    let Error::MissingKey { wanted, .. } = &error else { panic!("{error}") };
    assert_eq!(wanted, "rotations by 2");
}

/// A whole bootstrapping: the same words by sums of keys, without them, and with keys for their
/// levels; as precise as with digits apart.
#[test]
fn bootstrappings_join_digits() {
    let set = CkksParameters::by_name(SET).expect("built in");
    // Keys of two such clients have the same seeds.
    let fresh = || ClientKey::generate_seeded_for_tests(&set, [7; 32]).expect("a key");
    let client = fresh();
    let x = complex(16, 2);
    let input = client.encrypt_at(&x, 0).unwrap();
    let how = Bootstrapping { independent_slots: true, ..Bootstrapping::default() };
    let whole = how.keys(&set, 16).unwrap();
    let whole = EvaluationKeys::generate(&fresh(), whole, &NoProgress).unwrap();
    let parts = how.keys_by_level(&set, 16).unwrap();
    let parts = EvaluationKeys::generate(&fresh(), parts, &NoProgress).unwrap();
    let run = |keys: &EvaluationKeys, options: Options| {
        let server = server_of(keys, options);
        let input = server.upload(std::slice::from_ref(&input)).unwrap();
        let y = server.bootstrap_with(&input, &how).unwrap();
        let estimate = y.estimate();
        (server.download(&y).unwrap().swap_remove(0), estimate)
    };
    let (joined, estimate) = run(&whole, Options::default());
    let deviation = |y: &girih_ckks::Ciphertext| {
        let found = client.decrypt(y).unwrap();
        let squares = found.iter().zip(&x).map(|(f, w)| (f - w).norm_sqr());
        (squares.sum::<f64>() / 32.0).sqrt()
    };
    assert!(deviation(&joined) < estimate.deviation, "{}", deviation(&joined));
    let klss = Some(KeySwitching::klss(&set));
    for (what, keys, options) in [
        ("key by key", &whole, Options::default().with_sum_keys(false)),
        ("keys for their levels", &parts, Options::default()),
        ("KLSS", &parts, Options::default().with_key_switching(klss)),
    ] {
        let (other, _) = run(keys, options);
        assert!(other.b() == joined.b() && other.a() == joined.a(), "{what}");
    }
    let (apart, _) = run(&whole, Options::default().with_join_digits(false));
    assert!(apart.b() != joined.b());
    let ratio = deviation(&joined) / deviation(&apart);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// What a bootstrapping takes counts the sums of the keys that it reads.
#[test]
fn the_memory_of_sums_is_counted() {
    let bytes = |name: &str| {
        let set = CkksParameters::by_name(name).expect("built in");
        let ladder = Bootstrapping::default().memory_ladder(&set, 16, &Default::default());
        ladder.unwrap().iter().map(|rung| (rung.need.keys, rung.need.sums)).collect::<Vec<_>>()
    };
    assert!(bytes(SMALL).iter().all(|&(_, sums)| sums == 0));
    let joined = bytes(SET);
    assert!(joined.iter().all(|&(keys, sums)| 0 < sums && 2 * sums < keys), "{joined:?}");
    assert!(joined[0].1 >= joined[1].1 && joined[1].1 > joined[2].1, "{joined:?}");
}
