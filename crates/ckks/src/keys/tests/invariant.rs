//! Keys of the conjugation-invariant ring, and of the ways there and back: all looked at in the
//! ring of degree 2N, of which both rings are parts.

use super::secrets::Secrets;
use super::*;
use girih_ring::{NttTable, bit_reverse};

const NAME: &str = "INSECURE_CKKS_D40_30BIT_INVARIANT_STC_FIRST_N10";
const KINDS: [KeyKind; 3] =
    [KeyKind::InvariantMultiplication, KeyKind::ToInvariant, KeyKind::FromInvariant];

/// The dense secret, the sparse one, and that of the conjugation-invariant ring.
fn three_secrets(set: &CkksParameters) -> [Vec<i8>; 3] {
    let (dense, sparse) = secrets();
    let step = set.degree() / set.invariant_weight().expect("it has one");
    let mut invariant = vec![0i8; set.degree()];
    for (i, f) in invariant.iter_mut().step_by(step).enumerate() {
        *f = if i % 3 == 0 { -1 } else { 1 };
    }
    // Places of both parities, and not a polynomial in Y^16.
    invariant[1..].rotate_left(5);
    [dense, sparse, invariant]
}

fn client_of(set: &CkksParameters, [dense, sparse, invariant]: &[Vec<i8>; 3]) -> ClientKey {
    super::client_of(set, dense, Some(sparse), Some(invariant)).expect("valid secrets")
}

/// The exponent of psi, of order 4N, of the point that word j of a row stands for, in half h of
/// two: as the documentation of the keys says it.
fn exponent(kind: KeyKind, h: usize, j: usize, n: usize) -> usize {
    let brv = bit_reverse(j, n.ilog2());
    let first = match kind {
        KeyKind::FromInvariant => 2 * brv + 1 + brv % 2 * 2 * n,
        _ => 4 * brv + 1,
    };
    match (kind, h) {
        (_, 0) => first,
        (KeyKind::FromInvariant, _) => (first + 2 * n) % (4 * n),
        _ => 4 * n - first,
    }
}

/// Centred `b + a s - g s'` of each digit, in the ring of degree 2N: the same small integers in
/// every limb, and all of them for a digit of each key.
fn check_two_ring_rows(
    set: &CkksParameters,
    source: &dyn SwitchingKeySource,
    kind: KeyKind,
    [dense, _, invariant]: &[Vec<i8>; 3],
) {
    let (chain, n) = (set.chain(), set.degree());
    let wide = |secret: &[i8]| -> Vec<i64> {
        let mut all = vec![0; 2 * n];
        secret.iter().enumerate().for_each(|(j, &s)| all[2 * j] = s.into());
        all
    };
    // f_0 + sum of f_j (Y^j + Y^-j), Y^-j = -Y^(2N - j).
    let unfolded = |secret: &[i8]| -> Vec<i64> {
        let mut all: Vec<i64> = secret.iter().map(|&s| s.into()).chain(vec![0; n]).collect();
        (1..n).for_each(|j| all[2 * n - j] = -all[j]);
        all
    };
    let (from, to) = match kind {
        KeyKind::InvariantMultiplication => (unfolded(invariant), unfolded(invariant)),
        KeyKind::ToInvariant => (wide(dense), unfolded(invariant)),
        _ => (unfolded(invariant), wide(dense)),
    };
    let range = source.range(kind);
    let rows = range.digits(set);
    // A row of the conjugation-invariant ring has one value at a point and at its inverse.
    let halves = if kind == KeyKind::InvariantMultiplication { 1 } else { 2 };
    assert_eq!((rows.start % halves, rows.len() % halves), (0, 0));
    let mut all = Vec::new();
    for digit in rows.start / halves..rows.end / halves {
        let mut first: Option<Vec<i32>> = None;
        for position in range.positions(set) {
            let modulus = chain.moduli()[position];
            let table = NttTable::new(modulus, 2 * n).expect("1 modulo 4N");
            let values = |coefficients: &[i64]| -> Vec<u32> {
                let mut words: Vec<u32> =
                    coefficients.iter().map(|&c| modulus.reduce_signed(c)).collect();
                table.forward(&mut words);
                words
            };
            let (from, to) = (values(&from), values(&to));
            let product = chain.product(chain.auxiliary()) % modulus.value();
            let product = product.to_u32_digits().first().copied().unwrap_or(0);
            let g = if chain.digits()[digit].contains(&position) { product } else { 0 };
            let mut phase = vec![0; 2 * n];
            for h in 0..2 {
                let row = halves * digit + h % halves;
                let [mut b, mut a] = [vec![0; n], vec![0; n]];
                source.limb(kind, row, KeyPart::Body, position, &mut b).expect("it is there");
                source.limb(kind, row, KeyPart::Mask, position, &mut a).expect("it is there");
                for j in 0..n {
                    let at = bit_reverse((exponent(kind, h, j, n) - 1) / 2, (2 * n).ilog2());
                    let from = match kind {
                        KeyKind::InvariantMultiplication => modulus.mul(from[at], from[at]),
                        _ => from[at],
                    };
                    let sum = modulus.add(b[j], modulus.mul(a[j], to[at]));
                    phase[at] = modulus.sub(sum, modulus.mul(g, from));
                }
            }
            table.inverse(&mut phase);
            let error: Vec<_> = phase.iter().map(|&x| modulus.centre(x)).collect();
            assert!(error.iter().all(|e| e.abs() < 32), "{kind} digit {digit} at {position}");
            match &first {
                None => first = Some(error),
                Some(first) => assert_eq!(*first, error, "{kind} digit {digit} at {position}"),
            }
        }
        let error = first.expect("a limb");
        if halves == 1 {
            assert!((1..n).all(|j| error[j] == -error[2 * n - j]) && error[n] == 0, "{kind}");
        }
        // Those that were drawn: N of the conjugation-invariant ring, or 2N.
        all.push(error[..halves * n].iter().copied().map(f64::from).collect::<Vec<_>>());
    }
    for (i, one) in all.iter().enumerate() {
        for (j, other) in all[..i].iter().enumerate() {
            let same = one.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!(same < one.len() / 5, "{kind}: digits {i} and {j} share {same} errors");
        }
        let few = 5.0 * ERROR_DEVIATION / (2.0 * n as f64).sqrt();
        for half in one.chunks_exact(n) {
            let found = rms(half.iter().copied());
            assert!((found - ERROR_DEVIATION).abs() < few, "{kind}, digit {i}: {found}");
        }
        // Even and odd coefficients are drawn each for itself.
        let same = (0..one.len() / 2).filter(|&j| one[j] == one[one.len() / 2 + j]).count();
        assert!(same < one.len() / 10, "{kind}, digit {i}: halves share {same} errors");
    }
}

#[test]
fn keys_between_both_rings_hide_what_they_should() {
    let set = set(NAME);
    let secrets = three_secrets(&set);
    let client = client_of(&set, &secrets);
    let b = set.bootstrapping().expect("it has one");
    let ranges = [
        KeyKind::InvariantMultiplication.up_to(b.eval_mod_level()),
        KeyKind::ToInvariant.up_to(b.to_slots_output_level()),
        KeyKind::FromInvariant.up_to(b.eval_mod_output_level()),
    ];
    for keys in [
        EvaluationKeys::generate(&client, KINDS, &NoProgress).expect("they are made"),
        EvaluationKeys::generate(&client, ranges, &NoProgress).expect("they are made"),
    ] {
        assert_eq!(keys.kinds(), KINDS);
        for kind in KINDS {
            check_two_ring_rows(&set, &keys, kind, &secrets);
        }
    }
    for (kind, rows) in KINDS.into_iter().zip([1, 2, 2]) {
        assert_eq!(kind.digits(&set), rows * set.chain().digits().len(), "{kind}");
        assert_eq!(KeyKind::of_number(kind.number()), Some(kind));
        assert_eq!(kind.words(&set), kind.digits(&set) * set.chain().moduli().len() * 1024);
    }
}

/// Every row has masks of its own, and bytes give back the words.
#[test]
fn keys_between_both_rings_are_read_back() {
    let set = set(NAME);
    let secrets = three_secrets(&set);
    let client = client_of(&set, &secrets);
    let level = set.bootstrapping().expect("it has one").eval_mod_output_level();
    let ranges = KINDS.map(|kind| kind.up_to(level));
    let keys = EvaluationKeys::generate(&client, ranges, &NoProgress).expect("they are made");
    let bytes = keys.to_bytes().expect("small");
    let read = EvaluationKeys::from_bytes_for(&set, &bytes).expect("its own bytes");
    assert!(read.to_bytes().expect("small") == bytes);
    let mut seen = Vec::new();
    for kind in KINDS {
        let range = read.range(kind);
        assert_eq!(range.positions(&set), ranges[0].positions(&set));
        assert!(range.level >= level && range.words(&set) < kind.words(&set), "{kind}");
        check_two_ring_rows(&set, &read, kind, &secrets);
        for row in range.digits(&set) {
            let mut mask = vec![0; 1024];
            read.limb(kind, row, KeyPart::Mask, range.positions(&set)[0], &mut mask)
                .expect("it is there");
            assert!(!seen.contains(&mask), "{kind}: row {row} has the mask of another");
            seen.push(mask);
        }
    }
    let streamed = StreamedKeys::new(&client, ranges).expect("drawn");
    assert_eq!(streamed.kinds(), KINDS);
    check_two_ring_rows(&set, &streamed, KINDS[1], &secrets);
    let mut explicit = ExplicitKeys::new(&set);
    let whole = EvaluationKeys::generate(&client, KINDS, &NoProgress).expect("they are made");
    for kind in KINDS {
        let words = |part| -> Vec<u32> {
            let mut words = vec![0; kind.words(&set)];
            let mut limbs = words.chunks_exact_mut(1024);
            for row in 0..kind.digits(&set) {
                for position in kind.positions(&set) {
                    let limb = limbs.next().expect("as many");
                    whole.limb(kind, row, part, position, limb).expect("it is there");
                }
            }
            words
        };
        let (bodies, masks) = (words(KeyPart::Body), words(KeyPart::Mask));
        explicit.insert(kind, bodies.clone(), masks.clone()).expect("they fit");
        let half = bodies.len() / 2;
        assert!(explicit.insert(kind, bodies[half..].to_vec(), masks[half..].to_vec()).is_err());
        check_two_ring_rows(&set, &explicit, kind, &secrets);
    }
}

/// Sets without the ring have neither its keys nor its secret, and keep their bytes.
#[test]
fn the_third_secret_belongs_to_sets_that_use_it() {
    let set = set(NAME);
    let [dense, sparse, invariant] = three_secrets(&set);
    let own = client_of(&set, &[dense.clone(), sparse.clone(), invariant.clone()]);
    let bytes = own.to_bytes().expect("small");
    let again = ClientKey::from_bytes_for(&set, &bytes).expect("its own bytes");
    assert_eq!(again.key_id(), own.key_id());
    assert!(again.to_bytes().expect("small") == bytes);
    let keys = EvaluationKeys::generate(&again, KINDS, &NoProgress).expect("they are made");
    check_two_ring_rows(&set, &keys, KINDS[1], &[dense.clone(), sparse.clone(), invariant.clone()]);
    // Another one gives another name.
    let mut other = invariant.clone();
    let place = other.iter().position(|&f| f != 0).expect("one is not");
    other[place] = -other[place];
    let other = client_of(&set, &[dense.clone(), sparse.clone(), other]);
    assert_ne!(other.key_id(), own.key_id());
    // What is drawn has the weight, and is not a part of the others.
    let drawn = client(&set);
    let drawn_bytes = drawn.to_bytes().expect("small");
    assert_eq!(drawn_bytes.len(), bytes.len());
    assert!(ClientKey::from_bytes(&drawn_bytes).is_ok());
    // A seed gives the first two secrets of any other set: their streams are their own.
    let plain = self::set("INSECURE_CKKS_D40_30BIT_LOW_STC_FIRST_N10");
    let short = client(&plain).to_bytes().expect("small");
    let secrets = |bytes: &[u8], count: usize| bytes[bytes.len() - 16 - count * 1024..].to_vec();
    assert_eq!(drawn.secret_coefficients().len(), 1024);
    assert_ne!(secrets(&short, 1)[..1024], secrets(&drawn_bytes, 1)[..1024]);
    let long = [&invariant[..], &[0]].concat();
    let (some_sparse, some_invariant) = (Some(&sparse[..]), Some(&invariant[..]));
    let third = "the conjugation-invariant secret";
    for (set, sparse, invariant, words) in [
        (&set, None, some_invariant, "the sparse secret is missing: ".into()),
        (&set, some_sparse, None, format!("{third} is missing: ")),
        (&plain, some_sparse, some_invariant, format!("{third} is one too many: ")),
        (&set, some_sparse, Some(&long[..]), format!("{third} has 1025 coefficients, 1024 are")),
        // Each in the other's place.
        (&set, some_sparse, some_sparse, third.into()),
        (&set, some_invariant, some_sparse, "the sparse secret".into()),
    ] {
        let refused =
            super::client_of(set, &dense, sparse, invariant).expect_err("must be refused");
        assert!(refused.to_string().contains(&words), "{refused}");
    }
    // Bytes that end within the third secret, or say that there is none.
    let parts = own.secrets.others().expect("two");
    for (others, words) in [
        (Some(&parts[..1536]), format!("{third} has 512 coefficients, 1024 are needed")),
        (Some(&parts[..512]), "the sparse secret has 512 coefficients, 1024 are needed".into()),
        (None, "the sparse secret is missing: ".into()),
    ] {
        let read = Secrets::read(&set, &own.secrets.dense.to_bytes(), others);
        let refused = read.err().expect("must be refused").to_string();
        assert!(refused.contains(&words), "{refused}");
    }
    for kind in KINDS {
        let made = EvaluationKeys::generate(&client(&plain), [kind], &NoProgress);
        let text = made.expect_err("must be refused").to_string();
        assert!(text.contains("`invariant_sine`") && text.contains(&kind.to_string()), "{text}");
    }
}
