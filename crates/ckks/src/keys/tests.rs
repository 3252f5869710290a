mod invariant;

use super::*;
use crate::host::HostRing;
use crate::params::{CkksParameters, ERROR_DEVIATION};
use crate::program::FirstFactor;
use crate::{Ciphertext, Complex64, SeededCiphertext, published};
use girih_backend::parallel::prelude::*;
use girih_backend::{NoProgress, Progress};
use std::sync::atomic::{AtomicUsize, Ordering};
use switching::{Recipe, SecretLimbs};

fn set(name: &str) -> CkksParameters {
    CkksParameters::by_name(name).expect("built in")
}

fn toy() -> CkksParameters {
    set("INSECURE_CKKS_D40_N10")
}

fn client(set: &CkksParameters) -> ClientKey {
    ClientKey::generate_seeded_for_tests(set, [7; 32]).expect("it is made")
}

/// Complex numbers of magnitude at most 1, the same each time.
fn values(count: usize) -> Vec<Complex64> {
    let mut x = 1u64;
    let mut next = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| Complex64::new(next(), next()) / 2f64.sqrt()).collect()
}

fn worst(found: &[Complex64], want: &[Complex64]) -> f64 {
    let parts = found.iter().zip(want).flat_map(|(f, w)| [(f - w).re.abs(), (f - w).im.abs()]);
    parts.fold(0.0, f64::max)
}

fn rms(xs: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = xs.fold((0.0, 0.0), |(sum, count), x| (sum + x * x, count + 1.0));
    (sum / count).sqrt()
}

#[test]
fn what_is_encrypted_is_decrypted_with_the_errors_of_the_model() {
    for name in ["INSECURE_CKKS_D40_N10", "INSECURE_CKKS_D30_N10", "INSECURE_CKKS_D50_N10"] {
        let set = set(name);
        let client = client(&set);
        let public = client.public_key().expect("it is made");
        let z = values(512);
        let plain = client.host().encoder();
        for level in [0, 3, set.default_level(), set.default_level() + 3] {
            let found = client.encrypt_at(&z, level).expect("it encrypts");
            assert_eq!((found.level(), found.slots()), (level, 512));
            assert_eq!(Some(found.scale()), set.scale(level));
            let decrypted = client.decrypt_with_precision(&found).expect("it decrypts");
            let deviation = found.noise().deviation;
            assert!(worst(&decrypted.values, &z) < 6.0 * deviation, "{name} {level}");
            let errors =
                decrypted.values.iter().zip(&z).flat_map(|(f, w)| [(f - w).re, (f - w).im]);
            assert!((rms(errors) / deviation - 1.0).abs() < 0.15, "{name} {level}");
            assert_eq!(decrypted.precision_bits, found.precision_bits());
            assert!(worst(&decrypted.values, &z) < 2f64.powf(-decrypted.precision_bits));
        }
        let found = public.encrypt(&z).expect("it encrypts");
        let decrypted = client.decrypt(&found).expect("it decrypts");
        let errors = decrypted.iter().zip(&z).flat_map(|(f, w)| [(f - w).re, (f - w).im]);
        assert!((rms(errors) / found.noise().deviation - 1.0).abs() < 0.15, "{name}");
        // The error polynomial itself, without the encoding.
        let scale = set.scale(2).expect("canonical");
        let encoded = plain.encode(&z, scale).expect("it encodes");
        let found = client.encrypt_plaintext(&encoded, 2).expect("it encrypts");
        let phase = client.phase(&found).expect("it decrypts");
        let errors: Vec<_> =
            phase.iter().zip(encoded.coefficients()).map(|(x, &m)| x - m as f64).collect();
        assert!((rms(errors.iter().copied()) / ERROR_DEVIATION - 1.0).abs() < 0.12);
        assert!((errors.iter().sum::<f64>() / 1024.0).abs() < 0.5);
    }
}

/// Many at once are the words of one after the other, and what is wrong of the first that is wrong.
#[test]
fn many_vectors_encrypt_as_one_by_one() {
    let set = toy();
    let vectors: Vec<Vec<f64>> =
        (0..9).map(|i| (0..64).map(|j| f64::from(i * j) / 512.0).collect()).collect();
    let (one, many) = (client(&set), client(&set));
    for level in [2, set.default_level()] {
        let by_one = |vector: &Vec<f64>| one.within(1.5).encrypt_at(vector, level);
        let wanted = vectors.iter().map(by_one).collect::<Result<Vec<_>>>().expect("they encrypt");
        let found = many.within(1.5).encrypt_many_at(&vectors, level).expect("they encrypt");
        assert!(found == wanted, "other words at level {level}");
        let by_one = |vector: &Vec<f64>| one.within(1.5).encrypt_seeded_at(vector, level);
        let wanted = vectors.iter().map(by_one).collect::<Result<Vec<_>>>().expect("they encrypt");
        let found = many.within(1.5).encrypt_seeded_many_at(&vectors, level).expect("they encrypt");
        let expand = |x: &SeededCiphertext| x.expand();
        assert!(found.iter().map(expand).eq(wanted.iter().map(expand)), "seeded, level {level}");
    }
    assert!(many.encrypt_many::<f64, Vec<f64>>(&[]).expect("none is none").is_empty());
    let public = client(&set).public_key().expect("it is made");
    let found = public.within(1.5).encrypt_many(&vectors).expect("they encrypt");
    for (found, wanted) in found.iter().zip(&vectors) {
        let slots = many.decrypt_real(found).expect("its key");
        assert!(slots.iter().zip(wanted).all(|(s, w)| (s - w).abs() < 1e-4));
    }
    let mut wrong = vectors;
    wrong[3].pop();
    wrong[5][0] = 2.0;
    let text = |found: Result<Vec<Ciphertext>>| found.expect_err("must be refused").to_string();
    let first = many.encrypt(&wrong[3]).expect_err("must be refused").to_string();
    assert_eq!(text(many.encrypt_many(&wrong)), first);
    assert_eq!(text(public.encrypt_many(&wrong)), first);
    // What is refused draws nothing: both keys are where they were.
    assert!(many.encrypt(&wrong[0]).expect("fits") == one.encrypt(&wrong[0]).expect("fits"));
}

#[test]
fn sparse_and_real_vectors_come_back() {
    let set = toy();
    let client = client(&set);
    for slots in [1, 8, 64, 512] {
        let z = values(slots);
        let found = client.encrypt(&z).expect("it encrypts");
        let decrypted = client.decrypt_with_precision(&found).expect("it decrypts");
        assert!(worst(&decrypted.values, &z) < 6.0 * decrypted.noise.deviation, "{slots}");
        assert!(decrypted.noise.deviation <= found.noise().deviation);
        let real: Vec<_> = z.iter().map(|z| 3.0 * z.re).collect();
        let found = client.within(3.0).encrypt(&real).expect("it encrypts");
        assert_eq!(found.noise().magnitude, 3.0);
        let decrypted = client.decrypt_real(&found).expect("it decrypts");
        assert!(decrypted.iter().zip(&real).all(|(f, w)| (f - w).abs() < 1e-7), "{slots}");
    }
}

/// The secret that X -> X^g takes to `d`: the automorphism of the coefficients, by another way than
/// the code's.
fn moved_back(d: &[i8], g: u32) -> Vec<i8> {
    let mut image = vec![0i8; d.len()];
    for (k, at) in (0..d.len()).map(|k| k * g as usize % (2 * d.len())).enumerate() {
        image[k] = if at < d.len() { d[at] } else { -d[at - d.len()] };
    }
    image
}

/// Rows of a key: centred `b + a s - g s'`, which must be the same small integer in every limb.
fn check_rows(
    set: &CkksParameters,
    source: &dyn SwitchingKeySource,
    kind: KeyKind,
    d: &[i8],
    s: &[i8],
) {
    let (chain, degree) = (set.chain(), set.degree());
    let host = HostRing::new(set);
    let mut all = Vec::new();
    for digit in 0..kind.digits(set) {
        let mut first: Option<Vec<i32>> = None;
        for position in kind.positions(set) {
            let modulus = chain.moduli()[position];
            let evaluations = |secret: &[i8]| {
                let mut out = vec![0; degree];
                host.small_evaluations(position, secret, &mut out);
                out
            };
            let (dense, sparse) = (evaluations(d), evaluations(s));
            let square: Vec<_> = dense.iter().map(|&x| modulus.mul(x, x)).collect();
            let (from, target) = match kind {
                KeyKind::Multiplication => (square, dense),
                KeyKind::DenseToSparse => (dense, sparse),
                KeyKind::SparseToDense => (sparse, dense),
                KeyKind::First { log2_slots, g } => {
                    let shape = crate::program::ChainShape::from(set);
                    let of = crate::program::Chain::new(shape).expect("a chain");
                    let made = FirstFactor::new(&of, 1 << log2_slots, host.encoder());
                    let made = made.expect("it has one");
                    let row = made.rows().iter().find(|row| row.g == g).expect("a row");
                    let gap = degree / row.plaintext.len();
                    // M times the sparse secret, term by term in integers.
                    let mut product = vec![0i128; degree];
                    for (i, &m) in row.plaintext.iter().enumerate() {
                        for (j, &s) in s.iter().enumerate().filter(|(_, s)| **s != 0) {
                            let (at, term) = (i * gap + j, i128::from(m) * i128::from(s));
                            product[at % degree] += if at < degree { term } else { -term };
                        }
                    }
                    let mut from: Vec<_> =
                        product.iter().map(|&c| modulus.reduce_i128(c)).collect();
                    host.transform(position).forward(&mut from);
                    (from, evaluations(&moved_back(d, g)))
                }
                KeyKind::Galois(g) => (dense, evaluations(&moved_back(d, g))),
                _ => unreachable!("{kind} is looked at in the ring of degree 2N"),
            };
            // P on the digit's primes, 0 elsewhere.
            let carries = match kind {
                KeyKind::DenseToSparse => chain.base(0).contains(&position),
                KeyKind::SparseToDense => position < chain.full_len(),
                KeyKind::First { .. } => true,
                _ => chain.digits()[digit].contains(&position),
            };
            let count = match kind {
                KeyKind::DenseToSparse => 2,
                KeyKind::First { .. } => 0,
                _ => chain.auxiliary_len(),
            };
            let product = chain.product(chain.auxiliary().take(count)) % modulus.value();
            let product = product.to_u32_digits().first().copied().unwrap_or(0);
            let g = if carries { product } else { 0 };
            let mut b = vec![0; degree];
            let mut a = vec![0; degree];
            source.limb(kind, digit, KeyPart::Body, position, &mut b).expect("it is there");
            source.limb(kind, digit, KeyPart::Mask, position, &mut a).expect("it is there");
            for j in 0..degree {
                let sum = modulus.add(b[j], modulus.mul(a[j], target[j]));
                b[j] = modulus.sub(sum, modulus.mul(g, from[j]));
            }
            host.transform(position).inverse(&mut b);
            let error: Vec<_> = b.iter().map(|&x| modulus.centre(x)).collect();
            assert!(error.iter().all(|e| e.abs() < 32), "{kind} digit {digit} at {position}");
            match &first {
                None => first = Some(error),
                Some(first) => assert_eq!(*first, error, "{kind} digit {digit} at {position}"),
            }
        }
        all.extend(first.expect("a limb").into_iter().map(f64::from));
    }
    // Errors of two digits agree by chance, in one of eleven coefficients.
    let digits: Vec<_> = all.chunks_exact(degree).collect();
    for (i, one) in digits.iter().enumerate() {
        for (j, other) in digits[..i].iter().enumerate() {
            let same = one.iter().zip(*other).filter(|(a, b)| a == b).count();
            assert!(same < degree / 5, "{kind}: digits {i} and {j} share {same} errors");
        }
    }
    let few = 5.0 * ERROR_DEVIATION / (2.0 * all.len() as f64).sqrt();
    assert!((rms(all.into_iter()) - ERROR_DEVIATION).abs() < few, "{kind}");
}

/// A key of these secrets.
fn client_of(
    set: &CkksParameters,
    dense: &[i8],
    sparse: Option<&[i8]>,
    invariant: Option<&[i8]>,
) -> Result<ClientKey> {
    let [sparse, invariant] = [sparse, invariant].map(|other| other.map(<[i8]>::to_vec));
    ClientKey::from_secrets(set, ClientSecrets { dense: dense.to_vec(), sparse, invariant })
}

/// A ternary secret, and one of weight 32.
fn secrets() -> (Vec<i8>, Vec<i8>) {
    let dense = values(1024).into_iter().map(|z| (z.re * 1.5).round() as i8).take(1024);
    (dense.collect(), (0..1024).map(|i| [0i8, 1, 0, -1][i % 4] * i8::from(i < 64)).collect())
}

#[test]
fn every_row_of_every_key_hides_what_it_should() {
    let set = toy();
    let (dense, sparse) = secrets();
    let client = client_of(&set, &dense, Some(&sparse), None).expect("valid secrets");
    let kinds = [
        KeyKind::Multiplication,
        KeyKind::DenseToSparse,
        KeyKind::SparseToDense,
        KeyKind::conjugation(&set),
        KeyKind::rotation(&set, 3).expect("a rotation"),
        KeyKind::rotation(&set, -1).expect("a rotation"),
    ];
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("they are made");
    for kind in kinds {
        check_rows(&set, &keys, kind, &dense, &sparse);
    }
    let read = EvaluationKeys::from_bytes(&keys.to_bytes().expect("small")).expect("its own bytes");
    assert_eq!(read.kinds(), keys.kinds());
    check_rows(&set, &read, kinds[0], &dense, &sparse);
}

/// Keys of the first transform: rows are e + M s, under masks of their own, and the key maker
/// refuses other bases, other rows, and other sets.
#[test]
fn keys_of_the_first_transform_hide_diagonals_times_the_sparse_secret() {
    let set = self::set("INSECURE_CKKS_D40_30BIT_LOW_N10");
    let shape = crate::program::ChainShape::from(&set);
    let chain = crate::program::Chain::new(shape).expect("a chain");
    let (dense, sparse) = secrets();
    let client = client_of(&set, &dense, Some(&sparse), None).expect("valid secrets");
    // Rows, repeats that they add up, and limbs: few slots take fewer transforms.
    for (slots, rows, traced, limbs) in [(512, 32, 1, 47), (64, 64, 1, 43), (4, 64, 16, 43)] {
        let first = FirstFactor::new(&chain, slots, client.host().encoder()).expect("it has one");
        assert_eq!((first.rows().len(), first.traced()), (rows, traced));
        let all: Vec<_> = first.kinds().collect();
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), rows);
        let kinds = [all[0], all[1], all[rows - 1]];
        assert!(matches!(kinds[0], KeyKind::First { g: 1, .. }));
        let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("they are made");
        let mut masks: Vec<Vec<u32>> = Vec::new();
        for kind in kinds {
            assert_eq!(KeyKind::of_number(kind.number()), Some(kind));
            assert_eq!(kind.positions(&set).len(), limbs);
            check_rows(&set, &keys, kind, &dense, &sparse);
            let mut mask = vec![0; 1024];
            keys.limb(kind, 0, KeyPart::Mask, kind.positions(&set)[0], &mut mask)
                .expect("it is there");
            assert!(!masks.contains(&mask), "{kind} shares its mask");
            masks.push(mask);
        }
        assert_eq!(copy(&keys).kinds(), keys.kinds());
    }
    let log2_slots = 9;
    let kind = KeyKind::First { log2_slots, g: 1 };
    let secrets: &SecretLimbs = client.secret_limbs();
    let right = kind.positions(&set);
    let make = |positions: &[usize]| {
        let fresh = client.entropy().fresh("a test", &[]).expect("seeded");
        let what = (kind.into(), vec![1; 1024]);
        Recipe::new(client.host(), secrets, what, positions, fresh).map(drop)
    };
    assert!(make(&right).is_ok());
    let all: Vec<_> = (0..set.chain().moduli().len()).collect();
    for wrong in [&all[..], &right[..46], &right[1..]] {
        let text = make(wrong).expect_err("must be refused").to_string();
        assert!(text.contains("made for a division by their product"), "{text}");
    }
    let refused = |client: &ClientKey, kind: KeyKind| {
        let made = EvaluationKeys::generate(client, [kind], &NoProgress);
        made.expect_err("must be refused").to_string()
    };
    assert!(refused(&client, KeyKind::First { log2_slots, g: 3 }).contains("belongs to no row"));
    assert!(refused(&client, KeyKind::First { log2_slots: 10, g: 1 }).contains("up to 512"));
    assert!(refused(&client, KeyKind::SparseToDense).contains("not how the set's bootstrapping"));
    let text = refused(&self::client(&toy()), kind);
    assert!(text.contains("not how the set's bootstrapping"), "{text}");
    let plain = self::client(&self::set("INSECURE_CKKS_N14_D40_N10"));
    assert!(refused(&plain, kind).contains("which the set has not"));
}

#[test]
fn keys_are_made_limb_by_limb_and_say_how_far_they_are() {
    #[derive(Default)]
    struct Heard {
        calls: AtomicUsize,
        last: AtomicUsize,
        total: AtomicUsize,
    }
    impl Progress for Heard {
        fn report(&self, _: &str, done: usize, total: usize) {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.last.fetch_max(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
        }
    }
    let set = toy();
    let heard = Heard::default();
    let kinds = [KeyKind::Multiplication, KeyKind::DenseToSparse, KeyKind::Multiplication];
    let keys = EvaluationKeys::generate(&client(&set), kinds, &heard).expect("they are made");
    // 59 limbs in each of 4 digits, and 4 limbs.
    let total = 4 * 59 + 4;
    for count in [heard.calls, heard.last, heard.total] {
        assert_eq!(count.into_inner(), total);
    }
    assert_eq!(keys.bytes(), total * 4096);
    assert_eq!(keys.kinds(), [KeyKind::Multiplication, KeyKind::DenseToSparse]);
}

/// Once a report has unwound, no thread makes another limb than the one it is at.
#[test]
fn keys_that_nobody_waits_for_are_not_made() {
    struct Enough(AtomicUsize);
    impl Progress for Enough {
        fn report(&self, _: &str, _: usize, _: usize) {
            self.0.fetch_add(1, Ordering::Relaxed);
            std::panic::resume_unwind(Box::new("enough"));
        }
    }
    let set = toy();
    let client = client(&set);
    let kinds = (1..20).filter_map(|by| KeyKind::rotation(&set, by));
    let (kinds, enough) = (kinds.collect::<Vec<_>>(), Enough(AtomicUsize::new(0)));
    let work = || EvaluationKeys::generate(&client, kinds, &enough).map(drop);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    let (reports, threads) =
        (enough.0.into_inner(), girih_backend::parallel::current_num_threads());
    assert!((1..=threads).contains(&reports), "{reports} reports by {threads} threads");
}

/// A key for lower levels has the words that the key for all has there.
#[test]
fn keys_for_lower_levels_are_parts_of_whole_ones() {
    let set = toy();
    let rotation = KeyKind::rotation(&set, 3).expect("a rotation");
    // The seeds of a seeded client's first key are the same each time.
    let generate = |wanted: &[KeyRange]| {
        EvaluationKeys::generate(&client(&set), wanted.iter().copied(), &NoProgress).expect("made")
    };
    let whole = generate(&[rotation.into()]);
    let some = generate(&[rotation.up_to(9), rotation.up_to(4)]);
    assert_eq!(some.range(rotation), rotation.up_to(9));
    let range = some.range(rotation);
    let positions = range.positions(&set);
    assert!(positions.len() < 59 && range.digits(&set).len() < 4);
    for digit in range.digits(&set) {
        for &position in &positions {
            for part in [KeyPart::Body, KeyPart::Mask] {
                let (mut one, mut other) = (vec![0; 1024], vec![1; 1024]);
                some.limb(rotation, digit, part, position, &mut one).expect("it is there");
                whole.limb(rotation, digit, part, position, &mut other).expect("it is there");
                assert!(one == other, "digit {digit}, position {position}");
            }
        }
    }
    let mut word = vec![0; 1024];
    let missing = set.chain().full_len() - 1;
    assert!(some.limb(rotation, 0, KeyPart::Body, missing, &mut word).is_err());
    assert!(some.limb(rotation, range.digits(&set).end, KeyPart::Body, 2, &mut word).is_err());
    // Their bytes say how far they reach; a length of none is refused.
    let bytes = some.to_bytes().expect("small");
    let read = EvaluationKeys::from_bytes(&bytes).expect("its own bytes");
    let range = read.range(rotation);
    assert!(range.level >= 9 && range.positions(&set) == positions);
    assert_eq!(read.to_bytes().expect("small"), bytes);
    // The one for more levels stays, whichever comes first.
    for (mut first, second) in [(read, &whole), (copy(&whole), &some)] {
        first.extend(copy(second)).expect("the same client key");
        assert_eq!(first.range(rotation).words(&set), rotation.words(&set));
    }
}

fn copy(keys: &EvaluationKeys) -> EvaluationKeys {
    EvaluationKeys::from_bytes(&keys.to_bytes().expect("small")).expect("its own bytes")
}

#[test]
fn the_sparse_secret_meets_no_other_base() {
    let set = toy();
    let client = client(&set);
    let kind = KeyKind::DenseToSparse;
    let secrets: &SecretLimbs = client.secret_limbs();
    let all: Vec<_> = (0..set.chain().moduli().len()).collect();
    let right = kind.positions(&set);
    assert_eq!(right, [2, 3, 47, 48]);
    let make = |positions: &[usize]| {
        let fresh = client.entropy().fresh("a test", &[]).expect("seeded");
        let what = (kind.into(), Vec::new());
        Recipe::new(client.host(), secrets, what, positions, fresh).map(drop)
    };
    for wrong in [&all[..], &[2, 3, 47], &[2, 3, 48, 49], &[1, 2, 3, 47, 48]] {
        let text = make(wrong).expect_err("must be refused").to_string();
        assert!(text.contains("the sparse secret can be found"), "{text}");
    }
    assert!(make(&right).is_ok());
}

/// Limbs made one at a time, in any order and by several threads, are those of the keys that are
/// made whole.
#[test]
fn streamed_keys_are_the_words_of_whole_ones() {
    for name in ["INSECURE_CKKS_D40_N10", "INSECURE_CKKS_D40_30BIT_LOW_N10"] {
        let set = self::set(name);
        let rotation = KeyKind::rotation(&set, 3).expect("a rotation");
        let shape = crate::program::ChainShape::from(&set);
        let chain = crate::program::Chain::new(shape).expect("a chain");
        let mut kinds: Vec<KeyRange> = vec![
            KeyKind::Multiplication.into(),
            KeyKind::DenseToSparse.into(),
            KeyKind::conjugation(&set).into(),
            rotation.up_to(9),
        ];
        let drawer = self::client(&set);
        match FirstFactor::new(&chain, 64, drawer.host().encoder()) {
            Ok(first) => kinds.extend(first.kinds().take(2).map(KeyRange::from)),
            // The other way to raise the modulus.
            Err(_) => kinds.push(KeyKind::SparseToDense.into()),
        }
        let seeded = || client(&set);
        let whole =
            EvaluationKeys::generate(&seeded(), kinds.iter().copied(), &NoProgress).expect("made");
        let client = seeded();
        let streamed = StreamedKeys::new(&client, kinds.iter().copied()).expect("drawn");
        assert_eq!(streamed.key_id(), whole.key_id());
        assert_eq!(streamed.kinds(), whole.kinds());
        let mut limbs: Vec<(KeyKind, usize, KeyPart, usize)> = Vec::new();
        for kind in whole.kinds() {
            assert_eq!(streamed.range(kind), whole.range(kind));
            let range = whole.range(kind);
            for digit in range.digits(&set) {
                for position in range.positions(&set) {
                    limbs.extend(
                        [KeyPart::Body, KeyPart::Mask].map(|part| (kind, digit, part, position)),
                    );
                }
            }
        }
        // Twice, since what limbs share is gone after the first time; backwards by threads.
        for round in 0..2 {
            limbs.par_iter().rev().for_each(|&(kind, digit, part, position)| {
                let [mut one, mut other] = [0, 1].map(|word| vec![word; 1024]);
                streamed.limb(kind, digit, part, position, &mut one).expect("it is there");
                whole.limb(kind, digit, part, position, &mut other).expect("it is there");
                assert!(one == other, "{round}: {kind}, row {digit}, {part:?}, {position}");
                let [one, other] = [streamed.stream(kind, digit, part, position), {
                    whole.stream(kind, digit, part, position)
                }];
                assert_eq!(one, other);
            });
        }
        let [one, other] = [&streamed.whole(&NoProgress).expect("room"), &whole]
            .map(|keys| keys.to_bytes().expect("small"));
        assert!(one == other);
        let missing = KeyKind::rotation(&set, 5).expect("a rotation");
        let text = streamed.limb(missing, 0, KeyPart::Body, 2, &mut [0; 1024]);
        let text = text.expect_err("it is not there").to_string();
        assert!(text.contains("rotation by 5") && text.contains("rotations by 3"), "{text}");
        assert!(streamed.limb(rotation, 99, KeyPart::Body, 2, &mut [0; 1024]).is_err());
    }
}

#[test]
fn keys_that_are_missing_or_impossible_are_named() {
    let set = toy();
    let client = client(&set);
    let rotations = [1, 2, -1].map(|r| KeyKind::rotation(&set, r).expect("a rotation"));
    let kinds = rotations.into_iter().chain([KeyKind::conjugation(&set)]);
    let mut keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("they are made");
    let five = KeyKind::rotation(&set, 5).expect("a rotation");
    let text = keys.require(five).expect_err("it is not there").to_string();
    assert!(
        text.contains("rotation by 5 is not among") && text.contains("rotations by 1, 2, 511"),
        "{text}"
    );
    assert!(text.contains("conjugation"), "{text}");
    let more = EvaluationKeys::generate(&client, [five], &NoProgress).expect("it is made");
    keys.extend(more).expect("the same client key");
    assert!(keys.contains(five) && keys.require(five).is_ok());
    assert!(!keys.contains(KeyKind::Multiplication));
    let three = KeyKind::rotation(&set, 3).expect("a rotation");
    let odd = [KeyKind::Galois(3), KeyKind::Multiplication];
    let only = EvaluationKeys::generate(&client, odd, &NoProgress).expect("they are made");
    let text = only.require(three).expect_err("it is not there").to_string();
    assert!(text.contains("the relinearisation key, the Galois key of X -> X^3"), "{text}");
    assert!(!text.contains("rotations by"), "{text}");
    let text = only.require(KeyKind::conjugation(&set)).expect_err("it is not there").to_string();
    assert!(text.contains("conjugation is not among"), "{text}");
    let elsewhere = self::client(&self::set("INSECURE_CKKS_D30_N10"));
    let elsewhere = EvaluationKeys::generate(&elsewhere, [KeyKind::Multiplication], &NoProgress);
    let error = keys.extend(elsewhere.expect("it is made"));
    assert!(matches!(error, Err(Error::WrongSet { .. })));
    let mut word = vec![0; 1024];
    assert!(keys.limb(five, 4, KeyPart::Body, 0, &mut word).is_err());
    assert!(keys.limb(five, 0, KeyPart::Mask, 59, &mut word).is_err());
    assert!(keys.limb(five, 0, KeyPart::Mask, 0, &mut word[1..]).is_err());
    assert!(keys.limb(KeyKind::Multiplication, 0, KeyPart::Mask, 0, &mut word).is_err());
    let other = ClientKey::generate(&set).expect("entropy");
    let foreign = EvaluationKeys::generate(&other, [five], &NoProgress).expect("it is made");
    assert!(matches!(keys.extend(foreign), Err(Error::WrongKey { .. })));
    assert_eq!(KeyKind::rotation(&set, 0), None);
    assert_eq!(KeyKind::rotation(&set, 512), None);
    for bad in [KeyKind::Galois(4), KeyKind::Galois(1), KeyKind::Galois(2049)] {
        assert!(EvaluationKeys::generate(&client, [bad], &NoProgress).is_err(), "{bad}");
    }
    let plain = self::set("INSECURE_CKKS_N14_D40_N10");
    let plain = ClientKey::generate_seeded_for_tests(&plain, [1; 32]).expect("it is made");
    for kind in [KeyKind::DenseToSparse, KeyKind::SparseToDense] {
        let text = EvaluationKeys::generate(&plain, [kind], &NoProgress).expect_err("no");
        assert!(text.to_string().contains("which the set has not"), "{text}");
    }
}

#[test]
fn rotations_are_powers_of_five() {
    assert_eq!(galois_element(1024, 0), 1);
    assert_eq!(galois_element(1024, 1), 5);
    assert_eq!(galois_element(1024, -1), galois_element(1024, 511));
    assert_eq!(galois_element(1 << 16, 3), 125);
    let forth = u64::from(galois_element(1024, 7));
    assert_eq!(forth * u64::from(galois_element(1024, -7)) % 2048, 1);
    for steps in [0, 1, 77, 511] {
        assert_eq!(rotation_of(1024, galois_element(1024, steps)), Some(steps as usize));
    }
    assert_eq!(rotation_of(1024, 2047), None);
}

#[test]
fn seeds_repeat_and_keys_differ() {
    let (a, b) = (client(&toy()), client(&toy()));
    assert_eq!(a.key_id(), b.key_id());
    let z = values(8);
    assert_eq!(a.encrypt(&z).ok(), b.encrypt(&z).ok());
    let (x, y) = (a.encrypt(&z).expect("it encrypts"), a.encrypt(&z).expect("it encrypts"));
    assert!(x.a() != y.a() && x.b() != y.b());
    let other = client(&set("INSECURE_CKKS_D35_N10"));
    assert_ne!(a.key_id(), other.key_id());
    let fresh = ClientKey::generate(&toy()).expect("entropy");
    assert_ne!(a.key_id(), fresh.key_id());
    assert!(matches!(fresh.decrypt(&x), Err(Error::WrongKey { .. })));
    assert!(matches!(other.decrypt(&x), Err(Error::WrongSet { .. })));
    assert!(!format!("{a:?} {:?}", a.public_key()).contains("Secret"));
}

#[test]
fn secrets_have_their_distributions() {
    let set = set("INSECURE_CKKS_D40_N13");
    let client = client(&set);
    let bytes = client.to_bytes().expect("small");
    let again = ClientKey::from_bytes_for(&set, &bytes).expect("its own bytes");
    assert_eq!(again.key_id(), client.key_id());
    let z = values(16);
    let found = client.encrypt(&z).expect("it encrypts");
    assert!(worst(&again.decrypt(&found).expect("the same key"), &z) < 1e-7);
    // Mean squared norms: the phase of (0, 1) is the secret.
    let base = set.chain().base(0);
    let header = crate::CiphertextHeader { level: 0, ..found.header() };
    let ones = vec![1; base.len() * set.degree()];
    let unit = Ciphertext::from_parts(header, vec![0; ones.len()], ones).expect("canonical");
    let secret = client.phase(&unit).expect("the same key");
    let counts = [-1.0, 0.0, 1.0].map(|v| secret.iter().filter(|&&s| s == v).count());
    assert_eq!(counts.iter().sum::<usize>(), 8192);
    assert!(counts.iter().all(|&c| (c as f64 - 8192.0 / 3.0).abs() < 5.0 * 43.0), "{counts:?}");
}

#[test]
fn wrong_inputs_are_named() {
    let set = toy();
    let client = client(&set);
    assert!(matches!(client.encrypt(&[1.0; 3]), Err(Error::Length { .. })));
    assert!(matches!(client.encrypt(&[1.0; 1024]), Err(Error::Length { .. })));
    assert!(matches!(client.encrypt(&[f64::NAN; 4]), Err(Error::Value { .. })));
    assert!(matches!(client.encrypt(&[1e9; 4]), Err(Error::Value { .. })));
    assert!(matches!(client.encrypt_at(&[1.0; 4], 20), Err(Error::Level { .. })));
    assert!(matches!(client.encrypt_at(&[1.0; 4], 29), Err(Error::Level { .. })));
    let foreign = crate::Encoder::new(9).expect("in range").encode(&[1.0; 4], 1e12).expect("fits");
    assert!(matches!(client.encrypt_plaintext(&foreign, 0), Err(Error::Length { .. })));
    let public = client.public_key().expect("it is made");
    assert!(matches!(public.encrypt_plaintext(&foreign), Err(Error::Length { .. })));
    let good = client.encrypt(&[1.0; 4]).expect("it encrypts");
    let refused = |change: &dyn Fn(&mut crate::CiphertextHeader)| {
        let mut header = good.header();
        change(&mut header);
        Ciphertext::from_parts(header, good.b().to_vec(), good.a().to_vec()).is_err()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|h| h.level = 29));
    assert!(refused(&|h| h.level = 3));
    assert!(refused(&|h| h.slots = 3));
    assert!(refused(&|h| h.slots = 0));
    assert!(refused(&|h| h.scale = 0.0));
    assert!(refused(&|h| h.scale = f64::NAN));
    assert!(refused(&|h| h.noise.deviation = -1.0));
    assert!(refused(&|h| h.noise.magnitude = f64::NAN));
    let mut b = good.b().to_vec();
    b[5] = u32::MAX;
    let text = Ciphertext::from_parts(good.header(), b, good.a().to_vec());
    assert!(text.expect_err("not canonical").to_string().contains("word 5 of the limb"));
    let (zero, plain) = (&[0; 1024][..], self::set("CKKS_N14_D40"));
    for (set, dense, sparse, invariant, words) in [
        (&set, &zero[..5], Some(zero), None, "the dense secret has 5 coefficients"),
        (&set, zero, Some(zero), None, "the sparse secret"),
        (&set, zero, None, None, "the sparse secret is missing: "),
        (&set, zero, Some(&secrets().1[..]), Some(zero), "the conjugation-invariant secret is one"),
        (&plain, &[0; 1 << 14][..], Some(zero), None, "the sparse secret is one too many: "),
    ] {
        let refused = client_of(set, dense, sparse, invariant).expect_err("must be refused");
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

#[test]
fn shared_decryptions_are_flooded_as_stated() {
    let set = set("INSECURE_CKKS_D50_N10");
    let client = client(&set);
    for slots in [512, 16] {
        let z = values(slots);
        let found = client.encrypt(&z).expect("it encrypts");
        let model = crate::NoiseModel::new(&set);
        let floor = 12.0 * model.deviation(model.rounding(), found.scale());
        for (bits, error) in [(10, 1e-9), (24, 1e-9), (10, 0.0)] {
            let shared = client.decrypt_to_share(&found, bits, error).expect("it decrypts");
            // sqrt(n) 2^(bits/2) times the error, which is no less than a rounding.
            let root = (slots as f64).sqrt();
            let want = root * 2f64.powf(0.5 * f64::from(bits)) * f64::max(error, floor);
            let errors = shared.values.iter().zip(&z).flat_map(|(f, w)| [(f - w).re, (f - w).im]);
            // Of 2n normal numbers.
            let slack = 5.0 / (4.0 * slots as f64).sqrt();
            assert!((rms(errors) / want - 1.0).abs() < slack.max(0.15), "{slots}, {bits}");
            assert!(worst(&shared.values, &z) < 6.0 * shared.noise.deviation);
            let again = client.decrypt_to_share(&found, bits, error).expect("it decrypts");
            assert_ne!(again.values, shared.values);
        }
    }
    let found = client.encrypt(&values(512)).expect("it encrypts");
    for bits in [0, 129] {
        let refused = client.decrypt_to_share(&found, bits, 1e-9);
        assert!(matches!(refused, Err(Error::Value { .. })));
    }
    for error in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = client.decrypt_to_share(&found, 10, error).expect_err("no bound");
        assert!(refused.to_string().contains("finite and not negative"), "{refused}");
    }
    let text = client.decrypt_to_share(&found, 128, 1e-9).expect_err("nothing is left").to_string();
    assert!(text.contains("ask for fewer bits"), "{text}");
}

/// A ciphertext added to itself so often has errors that many times as large, and not the root of
/// it: the divergence is what was asked for, by the norm that errors really have.
#[test]
fn flooding_covers_errors_that_are_one_and_the_same() {
    let set = set("INSECURE_CKKS_D50_N10");
    let client = client(&set);
    let (chain, times, bits) = (set.chain(), 1u32 << 13, 12);
    let z: Vec<_> = values(512).iter().map(|z| z / f64::from(times)).collect();
    let level = set.default_level();
    let scale = set.scale(level).expect("canonical");
    let encoded = client.host().encoder().encode(&z, scale).expect("it encodes");
    let one = client.encrypt_plaintext(&encoded, level).expect("it encrypts");
    let sum = |words: &[u32]| -> Vec<u32> {
        let limbs = words.chunks_exact(set.degree()).zip(chain.base(level));
        let added = |(limb, position): (&[u32], usize)| {
            let modulus = chain.moduli()[position];
            limb.iter().map(|&x| modulus.mul(x, times)).collect::<Vec<_>>()
        };
        limbs.flat_map(added).collect()
    };
    let all = Ciphertext::from_parts(one.header(), sum(one.b()), sum(one.a())).expect("whole");
    let exact = encoded.coefficients().iter().map(|&m| f64::from(times) * m as f64);
    let phase = client.phase(&all).expect("its own");
    let norm: f64 = phase.iter().zip(exact).map(|(x, m)| (x - m).powi(2)).sum();
    // As the owner knows it from the circuit.
    let error = f64::from(times) * one.largest_error();
    let shared = client.decrypt_to_share(&all, bits, error).expect("it decrypts");
    let flooding = (shared.noise.deviation.powi(2) - (error / 12.0).powi(2)).sqrt();
    let sigma = flooding * scale / 512f64.sqrt();
    let divergence = norm / (2.0 * sigma * sigma);
    assert!(divergence <= 2f64.powi(-(bits as i32)), "2^{}", divergence.log2());
    // And is no more than the bound of errors costs: 12 deviations in the place of one.
    assert!(divergence > 2f64.powi(-(bits as i32) - 9), "2^{}", divergence.log2());
    let wanted: Vec<_> = z.iter().map(|z| z * f64::from(times)).collect();
    assert!(worst(&shared.values, &wanted) < 2f64.powf(-shared.precision_bits));
}

/// What is shown of a ciphertext from elsewhere does not rest on what its bytes claim: a key that
/// a claimed deviation of 0, with limbs and scale multiplied, would give away (Guo and others 2024
/// start from estimates that are too small).
#[test]
fn claims_of_a_header_do_not_narrow_the_flooding() {
    let set = set("INSECURE_CKKS_D50_N10");
    let client = client(&set);
    let z = values(512);
    let honest = client.encrypt(&z).expect("it encrypts");
    let claimed = |deviation: f64| {
        let noise = crate::Noise { deviation, ..honest.noise() };
        let header = crate::CiphertextHeader { noise, ..honest.header() };
        Ciphertext::from_parts(header, honest.b().to_vec(), honest.a().to_vec()).expect("whole")
    };
    let flooded = |x: &Ciphertext| {
        let shared = client.decrypt_to_share(x, 20, 1e-9).expect("it decrypts");
        let errors = shared.values.iter().zip(&z).flat_map(|(f, w)| [(f - w).re, (f - w).im]);
        (rms(errors), shared.precision_bits)
    };
    let (want, bits) = flooded(&honest);
    for deviation in [0.0, 1e-30, 1.0, f64::INFINITY] {
        let (found, left) = flooded(&claimed(deviation));
        assert!((found / want - 1.0).abs() < 0.2, "{deviation}: {found:e}, not {want:e}");
        assert_eq!(left, bits);
    }
    // Limbs and scale times 2^30: a decryption has the same values.
    let chain = set.chain();
    let times = |words: &[u32]| -> Vec<u32> {
        let limbs = words.chunks_exact(set.degree()).zip(chain.base(honest.level()));
        let scaled = |(limb, position): (&[u32], usize)| {
            let modulus = chain.moduli()[position];
            let factor = modulus.reduce_signed(1 << 30);
            limb.iter().map(|&x| modulus.mul(x, factor)).collect::<Vec<_>>()
        };
        limbs.flat_map(scaled).collect()
    };
    let noise = crate::Noise { deviation: 0.0, magnitude: 1.0 };
    let scale = honest.scale() * 2f64.powi(30);
    let header = crate::CiphertextHeader { noise, scale, ..honest.header() };
    let made = Ciphertext::from_parts(header, times(honest.b()), times(honest.a())).expect("whole");
    assert!(worst(&client.decrypt(&made).expect("its own"), &z) < 1e-6);
    let refused = client.decrypt_to_share(&made, 20, 1e-9).expect_err("a scale of its own");
    assert!(refused.to_string().contains("far from"), "{refused}");
}

/// Rows of the published key of s^2 under s, taken as they are.
#[test]
fn published_keys_are_of_this_form() {
    let file = published::file("ckks/multiply");
    let set = published::set(&file["params"]);
    let secret: Vec<i8> = published::value(&file["secret"]);
    let (mut bodies, mut masks) = (Vec::new(), Vec::new());
    for digit in file["key"].as_array().expect("a list") {
        bodies.extend(published::polynomial(&digit["b"]));
        masks.extend(published::polynomial(&digit["a"]));
    }
    let mut keys = ExplicitKeys::new(&set);
    keys.insert(KeyKind::Multiplication, bodies.clone(), masks.clone()).expect("they fit");
    check_rows(&set, &keys, KeyKind::Multiplication, &secret, &[]);
    assert_eq!(keys.kinds(), [KeyKind::Multiplication]);
    bodies[3] = u32::MAX;
    assert!(keys.insert(KeyKind::Multiplication, bodies, masks.clone()).is_err());
    assert!(keys.insert(KeyKind::Galois(2), masks.clone(), masks).is_err());
}

/// A device may draw masks itself: from the stream of their limb, and of no other.
#[test]
fn masks_come_from_the_streams_that_keys_name() {
    let set = toy();
    let client = client(&set);
    let kind = KeyKind::Multiplication;
    let keys = EvaluationKeys::generate(&client, [kind], &NoProgress).expect("it is made");
    let (mut limb, mut seen) = (vec![0; set.degree()], Vec::new());
    for digit in 0..kind.digits(&set) {
        for position in kind.positions(&set) {
            keys.limb(kind, digit, KeyPart::Mask, position, &mut limb).expect("it has one");
            let stream = keys.stream(kind, digit, KeyPart::Mask, position).expect("it is seeded");
            let modulus = set.chain().moduli()[position].value();
            let mut stream = stream.expand();
            let drawn: Vec<u32> =
                (0..set.degree()).map(|_| stream.uniform_below(modulus.into()) as u32).collect();
            assert!(drawn == limb, "digit {digit}, position {position}");
            seen.push(limb[..8].to_vec());
            assert!(keys.stream(kind, digit, KeyPart::Body, position).is_none());
        }
    }
    assert!(keys.stream(KeyKind::conjugation(&set), 0, KeyPart::Mask, 0).is_none());
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "two limbs have one mask");
}

#[test]
fn secrets_can_be_had_and_ciphertexts_say_their_size() {
    let set = toy();
    let dense: Vec<i8> = (0..1024).map(|i| [1, 0, -1][i % 3]).collect();
    let sparse: Vec<i8> = (0..1024).map(|i| i8::from(i % 32 == 0)).collect();
    let client = client_of(&set, &dense, Some(&sparse), None).expect("valid secrets");
    assert_eq!(client.secret_coefficients(), dense);
    let ciphertext = client.encrypt_at(&values(8), 2).expect("it encrypts");
    assert_eq!(ciphertext.bytes(), 4 * 2 * 1024 * set.chain().base(2).len());
}

#[test]
fn keys_in_another_order_or_twice_are_refused() {
    let set = toy();
    let client = client(&set);
    let kinds = [1, 2].map(|steps| KeyKind::rotation(&set, steps).expect("a rotation").up_to(0));
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("they are made");
    let parts: Vec<_> = kinds
        .iter()
        .map(|range| {
            let key = keys.require(range.kind).expect("it is there");
            (
                range.kind.number(),
                *key.seed().as_bytes(),
                crate::wire::bytes_of(key.bodies()).to_vec(),
            )
        })
        .collect();
    let read = |order: &[usize]| {
        let list: Vec<_> = order
            .iter()
            .map(|&i| (parts[i].0, parts[i].1, girih_rlwe::wire::Bytes(&parts[i].2)))
            .collect();
        let kind = crate::wire::EVALUATION_KEYS;
        let bytes = girih_rlwe::wire::encode(kind, &set, Some(client.key_id()), 1 << 20, &list);
        EvaluationKeys::from_bytes(&bytes.expect("they are written"))
    };
    assert_eq!(read(&[0, 1]).expect("in order").kinds().len(), 2);
    for order in [&[1, 0][..], &[0, 0], &[0, 1, 1]] {
        let error = read(order).expect_err("not in order").to_string();
        assert!(error.contains("is not in its place"), "{order:?}: {error}");
    }
}
