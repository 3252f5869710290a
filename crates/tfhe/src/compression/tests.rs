use super::form::{BitReader, BitWriter, Form, Rounding, Wanted};
use super::*;
use crate::compression::merge::Merged;
use crate::keys::CompressionKey;
use crate::wire::COMPRESSED_RESULTS;
use crate::{ClientKey, Error, LweCiphertexts, NoiseModel, ParameterSet};
use girih_backend::Transform;
use girih_ring::constant_time::switch_from_power;
use girih_ring::gadget::balanced_digits;
use girih_ring::{Automorphism, Rns};
use girih_rlwe::wire;
use proptest::prelude::*;

fn set(name: &str) -> ParameterSet {
    ParameterSet::by_name(name).expect("built in")
}

fn client(set: &ParameterSet) -> ClientKey {
    ClientKey::generate_seeded_for_tests(set, [8; 32]).expect("a toy")
}

fn merger(client: &ClientKey) -> Merger {
    let key = CompressionKey::generate(client).expect("memory");
    Merger::new(client.set(), &key).expect("has a transform")
}

/// Word i of ciphertext c.
fn word(batch: &LweCiphertexts, c: usize, i: usize) -> u64 {
    let (len, torus) = (batch.set().shape().ciphertext_len(), batch.set().shape().is_torus());
    let words = &batch.words()[c * len..][..len];
    match torus {
        true => u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32,
        false => words[i].into(),
    }
}

/// A compressed batch, merged unless it takes fewer bytes without.
fn compressed(
    batch: &LweCiphertexts,
    reading: Reading,
    merger: Option<&Merger>,
    log2_bound: f64,
) -> crate::Result<CompressedResults> {
    let len = batch.set().shape().ciphertext_len();
    let source = Source {
        set: batch.set(),
        key: batch.key_id(),
        log2_modulus: batch.log2_modulus(),
        variance: batch.variance(),
        len: batch.len(),
        words: &|range| Ok(batch.words()[range.start * len..range.end * len].into()),
    };
    compress(&source, reading, merger, log2_bound)
}

/// Merging by its definition: schoolbook products of coefficients, one level after the other.
struct Naive<'a> {
    set: &'a ParameterSet,
    modulus: Rns,
    gadget: Gadget,
    /// `[block][digit][K]`.
    rows: Vec<Vec<u64>>,
}

type Polynomials = Vec<Vec<u64>>;

impl Naive<'_> {
    fn add(&self, a: u64, b: i128) -> u64 {
        (i128::from(a) + b).rem_euclid(self.modulus.value().into()) as u64
    }

    fn switch(&self, block: usize, masks: &[Vec<u64>], base: &mut Polynomials) {
        let (size, columns) = (masks[0].len(), base.len());
        let Gadget { log2_base, digits, dropped_bits } = self.gadget;
        let mut one = vec![0; digits];
        for (p, mask) in masks.iter().enumerate() {
            for (i, &x) in mask.iter().enumerate() {
                balanced_digits(self.modulus.centre(x), log2_base, dropped_bits, &mut one);
                for (digit, column) in (0..digits).flat_map(|d| (0..columns).map(move |c| (d, c))) {
                    let row = &self.rows[((block + p) * digits + digit) * columns + column];
                    for (j, &r) in row.iter().enumerate() {
                        let sign = if i + j < size { 1 } else { -1 };
                        let product = sign * i128::from(one[digit]) * i128::from(r);
                        let x = &mut base[column][(i + j) % size];
                        *x = self.add(*x, product);
                    }
                }
            }
        }
    }

    fn merge(&self, leaves: Vec<Polynomials>, level: u32) -> Polynomials {
        if level == 0 {
            return leaves.into_iter().next().expect("one");
        }
        let shape = self.set.shape();
        let (size, k) = (shape.polynomial_size, shape.glwe_dimension);
        let part = |first| leaves.iter().skip(first).step_by(2).cloned().collect::<Vec<_>>();
        let even = self.merge(part(0), level - 1);
        let odd = (leaves.len() > 1).then(|| self.merge(part(1), level - 1));
        let shifted = |c: usize, i: usize| {
            let Some(odd) = &odd else { return 0 };
            let by = size >> level;
            let x = i128::from(odd[c][(i + size - by) % size]);
            if i < by { -x } else { x }
        };
        let turn = Automorphism::new(size, (1 << level) + 1).expect("odd");
        let (mut sum, mut turned) = (even.clone(), even.clone());
        for c in 0..even.len() {
            for i in 0..size {
                sum[c][i] = self.add(even[c][i], shifted(c, i));
                let difference = self.add(even[c][i], -shifted(c, i));
                let (to, negate) = turn.coefficient(i);
                let x = i128::from(difference);
                turned[c][to] = self.add(0, if negate { -x } else { x });
            }
        }
        for c in k..even.len() {
            for i in 0..size {
                sum[c][i] = self.add(sum[c][i], turned[c][i].into());
            }
        }
        let entry = if shape.is_torus() { 0 } else { shape.lwe_dimension.div_ceil(size) };
        self.switch(entry + (level as usize - 1) * k, &turned[..k], &mut sum);
        sum
    }
}

#[test]
fn merging_is_what_its_definition_says() {
    for name in ["INSECURE_TOY", "INSECURE_TOY_MR_K3", "INSECURE_INTEGERS_R2"] {
        let set = set(name);
        let (shape, client) = (set.shape(), client(&set));
        let key = CompressionKey::generate(&client).expect("memory");
        let merger = Merger::new(&set, &key).expect("has a transform");
        let mut rows = Vec::new();
        key.for_each_polynomial(&set, |p| rows.push(p.to_vec()));
        let modulus = modulus(&set).expect("has one");
        let naive = Naive { set: &set, modulus, gadget: key.gadget(), rows };
        let messages: Vec<u64> = (0..3 * shape.packing as u64).map(|m| m % 4).collect();
        let batch = client.encrypt(&messages, 4).expect("below 4");
        let log2 = batch.log2_modulus();
        let (size, k, len) = (shape.polynomial_size, shape.glwe_dimension, shape.stored_mask_len());
        // M + 1 is even: 2^-1 twice.
        let whole = u128::from(naive.modulus.value());
        let quarter = whole.div_ceil(2) * whole.div_ceil(2) % whole;
        let leaves = (0..batch.len())
            .map(|c| {
                let lift = |i| switch_from_power(word(&batch, c, i), log2, whole as u64);
                let mut masks = vec![vec![0; size]; len.div_ceil(size)];
                for i in 0..len {
                    let at = (size - i % size) % size;
                    let x = i128::from(lift(i));
                    masks[i / size][at] = naive.add(0, if at == 0 { x } else { -x });
                }
                let mut leaf = vec![vec![0; size]; shape.columns()];
                for slot in 0..shape.packing {
                    leaf[k + slot][0] = lift(len + slot);
                }
                match shape.is_torus() {
                    true => leaf[..k].clone_from_slice(&masks),
                    false => naive.switch(0, &masks, &mut leaf),
                }
                let times = |x: &mut u64| *x = (u128::from(*x) * quarter % whole) as u64;
                leaf.iter_mut().flatten().for_each(times);
                leaf
            })
            .collect();
        let want = naive.merge(leaves, 2);
        let Merged { masks, bodies } =
            merger.merge(batch.len(), 2, log2, &|c, i| word(&batch, c, i));
        assert_eq!([masks, bodies].concat(), want.concat(), "{name}");
    }
}

/// Names of toys of every kind: one and two words, k and r above 1, both secrets, both orders.
const TOYS: [&str; 8] = [
    "INSECURE_TOY",
    "INSECURE_TOY_R4",
    "INSECURE_TOY_K2",
    "INSECURE_TOY_MR",
    "INSECURE_TOY_WORDS2",
    "INSECURE_TOY_BINARY",
    "INSECURE_TOY_TORUS",
    "INSECURE_INTEGERS_R2",
];

#[test]
fn messages_come_back_with_the_errors_that_are_stated() {
    for name in TOYS {
        let set = set(name);
        let (client, r) = (client(&set), set.packing());
        let merger = merger(&client);
        let messages: Vec<u64> = (0..600 * r as u64).map(|i| i * i % 7 % 2).collect();
        let batch = client.encrypt(&messages, 4).expect("bits");
        for (merger, bound) in
            [(None, -20.0), (None, -6.0), (Some(&merger), -20.0), (Some(&merger), -3.0)]
        {
            let results = compressed(&batch, Reading::bits(), merger, bound).expect("so few bits");
            assert_eq!(results.log2_group().is_some(), merger.is_some(), "{name}");
            assert_eq!((results.messages(), results.modulus()), (600 * r, 2));
            assert!(results.log2_failure() <= bound + 1e-6, "{name}");
            let got = client.decrypt_compressed(&results).expect("its key");
            let wrong = got.iter().zip(&messages).filter(|(a, b)| a != b).count();
            let expected = 2f64.powf(results.log2_failure()) * messages.len() as f64;
            assert!(wrong as f64 <= 3.0 * expected + 3.0 * expected.sqrt(), "{name}: {wrong}");
            if bound > -10.0 {
                continue;
            }
            let errors = client.compressed_errors(&results).expect("its key");
            let measured = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            let ratio = measured / results.variance();
            println!("{name}: {:?}, measured over model {ratio:.3}", results);
            assert!((0.75..1.3).contains(&ratio), "{name}, {results:?}: {ratio}");
        }
    }
}

/// Errors of merging by themselves, in ciphertexts without any: of each kind of toy, over all
/// places of a full group.
#[test]
fn merging_adds_what_the_model_says() {
    for name in TOYS {
        let set = set(name);
        let (client, shape) = (client(&set), set.shape());
        let merger = merger(&client);
        let levels = shape.polynomial_size.trailing_zeros();
        let count = shape.polynomial_size * shape.packing;
        let batch = client.encrypt(&vec![0; count], 4).expect("zeros");
        let log2 = batch.log2_modulus();
        // Bodies of the phases themselves have no error.
        let exact = client.phases(&batch).expect("its key");
        let len = shape.stored_mask_len();
        let of = |c: usize, i: usize| match i.checked_sub(len) {
            Some(slot) => {
                let error = exact[c * shape.packing + slot];
                word(&batch, c, i).wrapping_sub(error) & (u64::MAX >> (64 - log2))
            }
            None => word(&batch, c, i),
        };
        let Merged { masks, bodies } = merger.merge(batch.len(), levels, log2, &of);
        let modulus = i128::from(merger.modulus());
        let (size, mut squares) = (shape.polynomial_size, 0.0);
        for slot in 0..shape.packing {
            let secret = client.glwe_secret(slot);
            for i in 0..size {
                let product = |(at, &s): (usize, &i8)| {
                    let (p, j) = (at / size, at % size);
                    let sign = if j <= i { 1 } else { -1 };
                    sign * i128::from(s) * i128::from(masks[p * size + (size + i - j) % size])
                };
                let sum: i128 = secret.iter().enumerate().map(product).sum();
                let phase = (i128::from(bodies[slot * size + i]) - sum).rem_euclid(modulus);
                let centred = if 2 * phase > modulus { phase - modulus } else { phase };
                squares += (centred as f64 / modulus as f64).powi(2);
            }
        }
        let ratio = squares / count as f64 / merger.noise().after(levels);
        println!("{name}: measured over model {ratio:.3}");
        assert!((0.7..1.35).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn groups_end_where_they_end() {
    let set = set("INSECURE_INTEGERS");
    let client = client(&set);
    let merger = merger(&client);
    let size = set.shape().polynomial_size;
    for count in [1, 2, 3, 63, size - 1, size, size + 1, 2 * size + 5] {
        let messages: Vec<u64> = (0..count as u64).map(|m| m * 5 % 16).collect();
        let batch = client.encrypt_messages(&messages, 4).expect("four bits");
        let reading = Reading::messages(&set, 4).expect("room");
        let results = compressed(&batch, reading, Some(&merger), -40.0).expect("few errors");
        assert_eq!(client.decrypt_compressed(&results).expect("its key"), messages, "{count}");
        let bytes = results.to_bytes().expect("small");
        let read = CompressedResults::from_bytes_for(&set, &bytes).expect("what was written");
        assert!(read == results);
        let again = read.decompress().expect("of the torus");
        assert_eq!((again.len(), again.key_id()), (count, Some(client.key_id())));
        assert_eq!(client.decrypt(&again, 16).expect("its key"), messages, "{count}");
        let step = 2f64.powi(60);
        let stated = again.variance() / step.powi(2) / results.variance();
        assert!((0.999..1.001).contains(&stated), "{stated}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let set = set("INSECURE_TOY");
    let client = client(&set);
    let batch = client.encrypt_bits(&[true, false, true]).expect("bits");
    let why = |result: crate::Result<CompressedResults>| result.expect_err("refused").to_string();
    for modulus in [0, 1, 1 << 10, u64::MAX] {
        assert!(why(batch.compress(modulus)).contains("from 2 to 512"), "{modulus}");
    }
    assert!(why(batch.compress_messages(9)).contains("bits of messages of INSECURE_TOY is 9"));
    let noisy = batch.clone().with_variance(1e4).expect("a number");
    let error = noisy.compress_bits().expect_err("too noisy");
    assert!(matches!(error, Error::TooNoisy { .. }), "{error}");
    let results = compressed(&batch, Reading::bits(), None, -10.0).expect("few errors");
    let other = ClientKey::generate_seeded_for_tests(&set, [9; 32]).expect("a toy");
    let error = other.decrypt_compressed(&results).expect_err("another key").to_string();
    assert!(error.contains("a client key decrypts what is under it"), "{error}");
    let torus = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let stranger = ClientKey::generate_seeded_for_tests(&torus, [9; 32]).expect("a toy");
    let error = stranger.decrypt_compressed(&results).expect_err("another set").to_string();
    assert!(error.contains("where INSECURE_INTEGERS is in use"), "{error}");
    let merger = merger(&client);
    let many = client.encrypt_bits(&[true; 600]).expect("bits");
    let merged = compressed(&many, Reading::bits(), Some(&merger), -10.0).expect("few errors");
    assert!(merged.log2_group().is_some());
    let error = merged.decompress().expect_err("under the ring's secret").to_string();
    assert!(error.contains("under the ring's secret"), "{error}");
    let whole = compressed(&many, Reading::whole(4, 9).expect("room"), None, -10.0);
    let whole = whole.expect("few errors");
    let error = client.decrypt_compressed_bits(&whole).expect_err("modulo 4").to_string();
    assert!(error.contains("is 4, and must be 2"), "{error}");
    assert_eq!(
        client.decrypt_bits(&whole.decompress().expect("plain")).expect("bits"),
        [true; 600]
    );
    assert_eq!((whole.len(), whole.is_empty()), (600, false));
}

/// What another program may write, its checksum right.
#[test]
fn every_field_is_checked() {
    type Payload<'a> = (u64, f64, (Option<u32>, u32, u32), u64, &'a [u8]);
    let set = set("INSECURE_TOY");
    let read = |payload: Payload<'_>| {
        let bytes = wire::encode(COMPRESSED_RESULTS, &set, None, 4000, &payload).expect("small");
        CompressedResults::from_bytes(&bytes)
    };
    // Masks of 64 words of 9 bits and a body of 5: 581 bits, of which the last byte has five.
    let zeros = [0; 146];
    let good: Payload<'_> = (2, 0.5, (None, 9, 5), 2, &zeros);
    assert_eq!(read(good).expect("whole bytes").len(), 2);
    let mut padded = zeros;
    padded[145] = 1 << 4;
    read((2, 0.5, (None, 9, 5), 2, &padded)).expect("the body's top bit");
    padded[145] = 1 << 5;
    let form = |form| (2, 0.5, form, 2, &zeros[..]);
    // In a group there are 256 words of masks.
    let group = [0; 256 * 9 / 8 + 2];
    read((2, 0.5, (Some(8), 9, 5), 2, &group)).expect("two of a group of 256");
    for (payload, part) in [
        (form((Some(9), 9, 5)), "room for 2^8"),
        (form((None, 0, 0)), "mask words of 0 bits"),
        (form((None, 33, 5)), "mask words of 33 bits"),
        (form((None, 9, 0)), "bodies of 0 bits"),
        (form((None, 9, 10)), "they have 1 to 9"),
        ((1, 0.5, (None, 9, 5), 2, &zeros), "messages modulo 1"),
        ((513, 0.5, (None, 9, 5), 2, &zeros), "2^9"),
        ((2, -0.5, (None, 9, 5), 2, &zeros), "variance"),
        ((2, 0.5, (None, 9, 5), 1, &zeros), "146 bytes of 1 ciphertexts"),
        ((2, 0.5, (None, 9, 5), 2, &zeros[1..]), "145 bytes of 2 ciphertexts"),
        ((2, 0.5, (None, 9, 5), 0, &[]), "0 bytes of 0 ciphertexts"),
        ((2, 0.5, (None, 9, 5), u64::MAX, &zeros), "146 bytes of"),
        ((2, 0.5, (None, 9, 5), 2, &padded), "between groups must be 0"),
    ] {
        let error = read(payload).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// What is written has the errors of its messages, of merging, and of rounding to its bits; and
/// where the set's own bound is out of reach, twice the probability that cannot be avoided.
#[test]
fn forms_count_every_error() {
    let set = set("INSECURE_TOY");
    let merger = merger(&client(&set));
    let noise = merger.noise();
    let wanted = |merge, variance, log2_bound| Wanted {
        set: &set,
        count: 300,
        log2_modulus: 9,
        variance,
        modulus: 2,
        merge,
        log2_bound,
    };
    let (mut merged, mut whole) = (0, 0);
    for log2_bound in [-4.0, -12.0, -24.0, -48.0, -145.0] {
        for merge in [None, Some(noise)] {
            let Ok((form, variance)) = wanted(merge, 3e-4, log2_bound).form() else { continue };
            let (masks, from_bits, added) = match form.log2_group {
                None => (64.0, 9, 0.0),
                Some(levels) => (256.0, 64, noise.after(levels)),
            };
            let unit = |bits| if bits == from_bits { 0.0 } else { 4f64.powi(-(bits as i32)) };
            let rounding = masks * 2.0 / 3.0 * unit(form.mask_bits) + unit(form.body_bits);
            let by_hand = 3e-4 + added + rounding / 12.0;
            assert!((variance / by_hand - 1.0).abs() < 1e-12, "{form:?}: {variance}, {by_hand}");
            merged += usize::from(form.log2_group.is_some());
            whole += usize::from(unit(form.mask_bits) == 0.0);
        }
    }
    assert!(merged > 0 && whole > 0, "{merged} merged, {whole} with all of their bits");
    let Err(Error::TooNoisy { log2_failure, .. }) = wanted(None, 0.02, -1000.0).form() else {
        panic!("within 2^-1000");
    };
    assert!((-10.0..-1.0).contains(&log2_failure), "{log2_failure}");
    let unbounded = wanted(None, 0.02, 0.0).form().expect("twice that");
    let same = wanted(None, 0.02, log2_failure + 1.0).form().expect("twice that");
    assert_eq!(
        (unbounded.0.mask_bits, unbounded.0.body_bits),
        (same.0.mask_bits, same.0.body_bits)
    );
    assert!(unbounded.1 > wanted(None, 0.02, log2_failure + 0.01).form().expect("more bits").1);
}

/// Masks of two polynomials, of which every ciphertext of a group reads its own rotation.
#[test]
fn groups_of_longer_masks_come_back() {
    let text = set("INSECURE_INTEGERS").to_toml();
    let text = text.replace("INSECURE_INTEGERS", "LONGER").replace("\nk = 1\n", "\nk = 2\n");
    let set = ParameterSet::from_toml(&text).expect("a set");
    let client = client(&set);
    let merger = merger(&client);
    let messages: Vec<u64> = (0..300).map(|m| m * 5 % 16).collect();
    let batch = client.encrypt_messages(&messages, 4).expect("four bits");
    let reading = Reading::messages(&set, 4).expect("room");
    let results = compressed(&batch, reading, Some(&merger), -40.0).expect("few errors");
    assert!(results.log2_group().is_some() && set.shape().glwe_dimension == 2);
    let again = results.decompress().expect("of the torus");
    assert_eq!(client.decrypt(&again, 16).expect("its key"), messages);
}

#[test]
fn gadgets_keep_to_their_moduli() {
    let rns = Rns::new(&[134_215_681]).expect("a prime");
    for (log2_base, digits, part) in [
        (0, 1, "0 bits"),
        (28, 1, "28 bits"),
        (5, 0, "0 digits"),
        (7, 4, "4 digits"),
        (3, u32::MAX, "digits"),
    ] {
        let why = Gadget::new(&rns, log2_base, digits).expect_err(part);
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(Gadget::new(&rns, 9, 3).expect("27 bits").dropped_bits, 0);
    // Every built-in set has one, and it adds no more than a bootstrapping leaves.
    for set in ParameterSet::all() {
        let modulus = modulus(&set).expect("has a transform");
        let gadget = Gadget::of(&set, &modulus);
        let levels = set.shape().polynomial_size.trailing_zeros();
        let added = gadget.noise(&set, &modulus).after(levels);
        let log2 = set.shape().log2_stored_modulus();
        let model = NoiseModel::with_transform(&set, Transform::Fft);
        let left = model.variance_out_at(log2) / 4f64.powi(log2 as i32);
        println!("{set}: {gadget:?}, merging N adds 2^{:.1} of 2^{:.1}", added.log2(), left.log2());
        assert!(added <= left, "{set}: {gadget:?}");
    }
}

/// Figures of a program that was written from the formulas and shares no code with this one. Errors
/// of the native torus shrink with the modulus, by 2^4, and no further than to one bit.
#[test]
fn merging_adds_what_its_terms_say() {
    for (bound, scaled) in [(17, 13), (6, 2), (5, 1), (4, 1), (0, 1)] {
        assert_eq!(super::gadget::scaled_bound(bound), scaled, "2^{bound}");
    }
    for (name, log2_base, digits, entry, level) in [
        ("TFHERS_2_2", 15, 3, 6.427506775525526e-35, 9.25327059585217e-18),
        ("STD128", 9, 2, 1.4172063568065061e-8, 2.6101063548701296e-8),
    ] {
        let set = set(name);
        let modulus = modulus(&set).expect("has a transform");
        let gadget = Gadget::new(&modulus, log2_base, digits).expect("fits");
        let noise = gadget.noise(&set, &modulus);
        let near = |have: f64, want: f64| (have / want - 1.0).abs() < 1e-9;
        assert!(near(noise.after(0), entry), "{name}: {}", noise.after(0));
        assert!(near(noise.after(1) - noise.after(0), level), "{name}: {}", noise.after(1));
        assert!(near(noise.after(2) - noise.after(0), 5.0 * level), "{name}");
    }
}

/// Results of the main sets, a whole group of each: they are read, and docs/tfhe.md says in how
/// many bytes they come.
#[test]
fn the_documented_bytes_are_those_of_the_main_sets() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tfhe.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let mut missing = Vec::new();
    for (name, what, bits) in [
        ("STD128", "bits", 1),
        ("GIRIH_GATE", "bits", 1),
        ("TFHERS_2_2", "four bits", 4),
        ("TFHERS_2_2_GROUP_2", "four bits", 4),
        ("GIRIH_2_2", "four bits", 4),
    ] {
        let set = set(name);
        let (client, shape) = (client(&set), set.shape());
        let key = CompressionKey::generate(&client).expect("memory");
        let merger = Merger::new(&set, &key).expect("has a transform");
        let messages: Vec<u64> =
            (0..shape.polynomial_size as u64).map(|m| m * m % 23 % (1 << bits)).collect();
        let padded = if bits == 1 { 4 } else { 2 << bits };
        let model = NoiseModel::with_transform(&set, Transform::Fft);
        let batch = client.encrypt(&messages, padded).expect("in range");
        let batch = batch.with_variance(model.variance_out_at(shape.log2_stored_modulus()));
        let batch = batch.expect("a number");
        let reading = match bits {
            1 => Reading::bits(),
            _ => Reading::messages(&set, bits).expect("room"),
        };
        let of = |batch: &LweCiphertexts, merger| {
            let results = compressed(batch, reading, merger, model.default_bound());
            let results = results.expect("what the set is made for");
            let [mask, body] = results.word_bits();
            (format!("{mask}, {body}"), results)
        };
        let (bits_of, results) = of(&batch, Some(&merger));
        assert_eq!(client.decrypt_compressed(&results).expect("its key"), messages, "{name}");
        let (bits_alone, alone) = of(&batch.slice(0..1).expect("one"), None);
        assert_eq!(client.decrypt_compressed(&alone).expect("its key"), messages[..1], "{name}");
        let group = 1 << results.log2_group().expect("a group");
        let each = results.bytes() as f64 / messages.len() as f64;
        let words = shape.stored_mask_len() + shape.packing;
        let whole = (words * shape.log2_stored_modulus() as usize).div_ceil(8);
        let (one, key) = (alone.bytes(), key.bytes());
        let merged = format!("{group} | {bits_of} | {each:.3}");
        let row = format!("| {name}, {what} | {merged} | {bits_alone}; {one} | {whole} | {key} |");
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/tfhe.md should have:\n{}", missing.join("\n"));
}

/// Integers of 64 bits: 16 messages of two digits, 2 and 8 times ciphertexts that may be alike.
#[test]
fn the_documented_bytes_are_those_of_integers() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/integers.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let mut missing = Vec::new();
    for name in ["TFHERS_2_2", "TFHERS_2_2_GROUP_2", "TFHERS_2_2_GROUP_3", "GIRIH_2_2"] {
        let set = set(name);
        let model = NoiseModel::with_transform(&set, Transform::Fft);
        let modulus = modulus(&set).expect("has a transform");
        let merge = Some(Gadget::of(&set, &modulus).noise(&set, &modulus));
        let bytes = |integers: usize| {
            let wanted = Wanted {
                set: &set,
                count: 16 * integers,
                log2_modulus: 64,
                variance: 100.0 * model.variance_out_at(64) / 4f64.powi(64),
                modulus: 16,
                merge,
                log2_bound: model.default_bound(),
            };
            let (form, _) = wanted.form().expect("room");
            form.bytes(&set, 16 * integers).expect("few") as f64 / integers as f64
        };
        let whole = 32 * 4 * set.shape().ciphertext_len();
        let [one, some, group, many] = [1, 32, 128, 1000].map(bytes);
        let row = format!("| {name} | {whole} | {one:.0} | {some:.1} | {group:.1} | {many:.1} |");
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/integers.md should have:\n{}", missing.join("\n"));
}

proptest! {
    #[test]
    fn bits_come_back(words in prop::collection::vec((any::<u32>(), 1u32..=32), 1..200)) {
        let cut = |&(word, bits): &(u32, u32)| u64::from(word) & ((1 << bits) - 1);
        let all: u32 = words.iter().map(|w| w.1).sum();
        let mut bytes = vec![0; all.div_ceil(8) as usize];
        let mut writer = BitWriter::new(&mut bytes);
        words.iter().for_each(|w| writer.push(cut(w), w.1));
        writer.finish();
        let mut reader = BitReader::new(&bytes);
        for w in &words {
            prop_assert_eq!(u64::from(reader.next(w.1)), cut(w));
        }
        prop_assert_eq!(reader.next(32), 0);
    }

    /// Rounding errs by half a unit at most, and bodies by what masks were rounded by, too.
    #[test]
    fn rounding_is_to_the_nearest(x: u64, mask_bits in 1u32..=32, less in 0u32..32, odd: bool) {
        let set = set(if odd { "INSECURE_TOY" } else { "INSECURE_TOY_BINARY" });
        let modulus = odd.then_some(134_215_681u64);
        let body_bits = mask_bits.saturating_sub(less).max(1);
        let form = Form { log2_group: None, mask_bits, body_bits };
        let x = modulus.map_or(x, |m| x % m);
        let mut bytes = vec![0; 8];
        let mut writer = BitWriter::new(&mut bytes);
        Rounding::new(&set, form, modulus).write(&[x], 1, 1, &[x], &mut writer);
        writer.finish();
        let mut reader = BitReader::new(&bytes);
        let circle = modulus.map_or(2f64.powi(64), |m| m as f64);
        let part = |word: u32, bits: u32| f64::from(word) / 2f64.powi(bits as i32);
        let off = |part: f64| {
            let off = part - x as f64 / circle;
            off - off.round()
        };
        let mask = off(part(reader.next(mask_bits), mask_bits));
        prop_assert!(mask.abs() <= 0.5001 / 2f64.powi(mask_bits as i32), "{}", mask);
        // Binary secrets: half of the mask's error goes into the body.
        let centred = if odd { 0.0 } else { mask / 2.0 };
        let body = off(part(reader.next(body_bits), body_bits)) - centred;
        let body = body - body.round();
        prop_assert!(body.abs() <= 0.5001 / 2f64.powi(body_bits as i32), "{}", body);
    }

    /// Whatever is compressed is read, for any number of messages, form and key.
    #[test]
    fn any_batch_comes_back(
        toy in 0..TOYS.len(),
        messages in prop::collection::vec(0u64..2, 1..40),
        with_key: bool,
        log2_bound in -30.0f64..-12.0,
    ) {
        let set = set(TOYS[toy]);
        let client = client(&set);
        let merger = with_key.then(|| merger(&client));
        let messages: Vec<u64> =
            messages.iter().flat_map(|&m| vec![m; set.packing()]).collect();
        let batch = client.encrypt(&messages, 4).expect("bits");
        let results = compressed(&batch, Reading::bits(), merger.as_ref(), log2_bound);
        let results = results.expect("few errors");
        let bytes = results.to_bytes().expect("small");
        let read = CompressedResults::from_bytes(&bytes).expect("what was written");
        prop_assert!(read == results);
        let wrong = client.decrypt_compressed(&read).expect("its key");
        let wrong = wrong.iter().zip(&messages).filter(|(a, b)| a != b).count();
        prop_assert!(wrong <= usize::from(log2_bound > -16.0));
    }
}
