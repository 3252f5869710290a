//! Every row of every key, opened with the secrets it was made from.

use super::{ClientKey, EvaluationKeys, ExplicitKeys};
use crate::{ErrorDistribution, ParameterSet};
use girih_backend::{KeySource, NoProgress, Progress, SecretKind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Insecure sets, one packing each, so that GD, MR and the torus, one and two words, k 1..3, both
/// kinds of secret are all opened.
fn clients() -> Vec<ClientKey> {
    let packings = [1, 3, 2, 2, 1, 5, 1, 2, 2];
    let (sets, grouped) = (
        ParameterSet::insecure(),
        ["INSECURE_TOY_GROUP_2_R2", "INSECURE_TOY_GROUP_4", "INSECURE_TOY_TORUS_GROUP_2"],
    );
    let packed = sets.iter().zip(packings).map(|(set, r)| set.with_packing(r).expect("1 to 16"));
    let grouped = grouped.iter().map(|name| ParameterSet::by_name(name).expect("built in"));
    packed
        .chain(grouped)
        .map(|set| ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("valid"))
        .collect()
}

/// Collects errors and judges them as samples of one deviation.
struct Errors {
    deviation: f64,
    largest: i128,
    count: f64,
    squares: f64,
}

impl Errors {
    /// Of ciphertexts under the LWE secret, or of GLWE ciphertexts.
    fn new(set: &ParameterSet, glwe: bool) -> Self {
        let (deviation, largest) = match set.errors() {
            ErrorDistribution::Gaussian { sigma } => (sigma, 30),
            ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => {
                let bound = 1i128 << if glwe { glwe_log2_bound } else { lwe_log2_bound };
                (bound as f64 / 3f64.sqrt(), bound)
            }
        };
        Self { deviation, largest, count: 0.0, squares: 0.0 }
    }

    /// Takes the centred representative of `x` modulo `modulus`.
    fn add(&mut self, x: i128, modulus: u128, what: &str) {
        let modulus = modulus as i128;
        let x = x.rem_euclid(modulus);
        let error = if 2 * x >= modulus { x - modulus } else { x };
        assert!(error.abs() <= self.largest, "{what}: {error} is no error");
        self.count += 1.0;
        self.squares += (error as f64).powi(2);
    }

    fn judge(&self, what: &str) {
        let deviation = (self.squares / self.count).sqrt();
        assert!(
            (deviation / self.deviation - 1.0).abs() < 4.0 / (2.0 * self.count).sqrt(),
            "{what}: deviation {deviation}"
        );
    }
}

/// `sum_p a_p S_{slot,p}` in Z[X]/(X^N + 1), by the definition.
fn product(masks: &[u64], secret: &[i8], size: usize) -> Vec<i128> {
    let mut out = vec![0i128; size];
    for (mask, secret) in masks.chunks_exact(size).zip(secret.chunks_exact(size)) {
        for (shift, &s) in secret.iter().enumerate().filter(|(_, s)| **s != 0) {
            for (i, &a) in mask.iter().enumerate() {
                let sign = if i + shift < size { i128::from(s) } else { -i128::from(s) };
                out[(i + shift) % size] += sign * i128::from(a);
            }
        }
    }
    out
}

#[test]
fn bootstrapping_rows_carry_what_the_scheme_says() {
    for client in clients() {
        let set = client.set();
        let (shape, keys) =
            (set.shape(), EvaluationKeys::generate(&client, &NoProgress).expect("valid"));
        let (size, k, columns) = (shape.polynomial_size, shape.glwe_dimension, shape.columns());
        let modulus = shape.key_modulus_value().map_or(1 << 64, u128::from);
        let mut errors = Errors::new(set, true);
        let mut block = vec![0; shape.bootstrapping_block_len()];
        // The last index last, so that blocks are asked for out of order.
        for index in [3, 0, shape.steps() - 1] {
            keys.bootstrapping_block(index, &mut block);
            for (i, row) in block.chunks_exact(columns * size).enumerate() {
                let (ggsw, level, p) =
                    (i / columns / shape.levels(), i / columns % shape.levels(), i % columns);
                let (masks, bodies) = row.split_at(k * size);
                for (slot, body) in bodies.chunks_exact(size).enumerate() {
                    let secrets =
                        &client.lwe_secret(slot)[index * shape.grouping..][..shape.grouping];
                    let bit = i128::from(match shape.secret {
                        SecretKind::Ternary => secrets == [[1, -1][ggsw]],
                        SecretKind::Binary => {
                            secrets.iter().rev().fold(0, |set, &s| 2 * set + s as usize) == ggsw + 1
                        }
                    });
                    let payload = bit * i128::from(shape.gadget_weights()[level]);
                    let (secret, hidden) =
                        (client.glwe_secret(slot), product(masks, client.glwe_secret(slot), size));
                    for c in 0..size {
                        let carried = match p {
                            p if p < k => -i128::from(secret[p * size + c]) * payload,
                            p if p == k + slot && c == 0 => payload,
                            _ => 0,
                        };
                        errors.add(
                            i128::from(body[c]) - hidden[c] - carried,
                            modulus,
                            &format!("{set}: index {index}, row {i}"),
                        );
                    }
                }
            }
        }
        errors.judge(&format!("bootstrapping key of {set}"));
    }
}

#[test]
fn key_switching_entries_carry_multiples_of_the_secret() {
    for client in clients() {
        let set = client.set();
        let (shape, keys) =
            (set.shape(), EvaluationKeys::generate(&client, &NoProgress).expect("valid"));
        let (modulus, len) = (
            if shape.is_torus() { 1u128 << 64 } else { 1 << shape.log2_ks_modulus },
            shape.switched_len(),
        );
        let mut errors = Errors::new(set, false);
        let mut block = vec![0; shape.key_switching_block_len()];
        for index in [shape.ks_indices() - 1, 0, 7] {
            keys.key_switching_block(index, &mut block);
            for (i, entry) in block.chunks_exact(len).enumerate() {
                let (digit, value, weight) = if shape.is_torus() {
                    (i, 1, 1i128 << (64 - shape.log2_ks_base * (i as u32 + 1)))
                } else {
                    let (digit, value) = (i / shape.ks_base(), i % shape.ks_base());
                    (digit, value, (value as i128) << (digit as u32 * shape.log2_ks_base))
                };
                if value == 0 {
                    assert!(entry.iter().all(|&w| w == 0), "{set}: value 0 is the zero vector");
                    continue;
                }
                for slot in 0..shape.packing {
                    let masks = entry.iter().zip(client.lwe_secret(slot));
                    let hidden: i128 = masks.map(|(&a, &s)| i128::from(a) * i128::from(s)).sum();
                    let carried = i128::from(client.glwe_secret(slot)[index]) * weight;
                    let error = i128::from(entry[shape.lwe_dimension + slot]) - hidden - carried;
                    errors.add(
                        error,
                        modulus,
                        &format!("{set}: index {index}, digit {digit}, value {value}"),
                    );
                }
            }
        }
        errors.judge(&format!("key-switching key of {set}"));
    }
}

#[test]
fn fresh_ciphertexts_hide_and_carry_their_message() {
    for client in clients() {
        let (set, q) = (client.set(), client.set().lwe_modulus());
        for modulus in [2, 3, 4, 7, 16] {
            let messages: Vec<u64> =
                (0..set.packing() as u64 * 200).map(|i| i * i % modulus).collect();
            let batch = client.encrypt(&messages, modulus).expect("whole ciphertexts");
            let mut errors = Errors::new(set, set.shape().is_torus());
            for (phase, &m) in client.phases(&batch).expect("same set").iter().zip(&messages) {
                let carried =
                    (2 * u128::from(m) * q + u128::from(modulus)) / (2 * u128::from(modulus));
                errors.add(
                    i128::from(*phase) - carried as i128,
                    q,
                    &format!("{set}, modulus {modulus}"),
                );
            }
            errors.judge(&format!("ciphertexts of {set}"));
            if q / u128::from(modulus) > 60 {
                assert_eq!(
                    client.decrypt(&batch, modulus).expect("same set"),
                    messages,
                    "{set}, modulus {modulus}"
                );
            }
            // Masks fill their range: the mean is q/2 within five deviations.
            let masks: Vec<u32> = batch
                .words()
                .chunks_exact(set.shape().ciphertext_len())
                .flat_map(|c| c[..set.shape().lwe_dimension].to_vec())
                .collect();
            let mean = masks.iter().map(|&a| f64::from(a)).sum::<f64>() / masks.len() as f64;
            // Of the torus these are halves of words.
            assert!(
                (mean / q.min(1 << 32) as f64 - 0.5).abs()
                    < 5.0 * 0.289 / (masks.len() as f64).sqrt(),
                "{set}: mean {mean}"
            );
        }
    }
}

#[test]
fn slots_have_independent_secrets_and_seeds_decide_everything() {
    let set = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in");
    let make = |seed| ClientKey::generate_seeded_for_tests(&set, [seed; 32]).expect("valid");
    let client = make(1);
    assert_ne!(client.lwe_secret(0), client.lwe_secret(1));
    assert_ne!(client.glwe_secret(0), client.glwe_secret(1));
    let bytes = |client: &ClientKey| {
        EvaluationKeys::generate(client, &NoProgress).expect("valid").to_bytes().expect("valid")
    };
    let first = bytes(&client);
    assert_eq!(first, bytes(&make(1)), "the same seed, whatever the threads do");
    assert_ne!(
        first,
        bytes(&client),
        "a second key from one client has errors and masks of its own"
    );
    assert_ne!(make(1).lwe_secret(0), make(2).lwe_secret(0));
    let [a, b] = [1, 2].map(|_| ClientKey::generate(&set).expect("randomness"));
    assert_ne!(a.lwe_secret(0), b.lwe_secret(0));
    let encrypted = [1, 2].map(|_| a.encrypt_bits(&[true, false]).expect("one ciphertext"));
    assert_ne!(encrypted[0], encrypted[1]);
}

/// Errors of the bodies of one step of a bootstrapping key, slot 0, rows without a payload in the
/// first coefficient left in: what the rows carry is taken off by the definition.
fn step_errors(client: &ClientKey, keys: &EvaluationKeys, index: usize) -> Vec<i128> {
    let shape = client.set().shape();
    let (size, k, columns) = (shape.polynomial_size, shape.glwe_dimension, shape.columns());
    let modulus = i128::from(shape.key_modulus_value().expect("prime words"));
    let mut block = vec![0; shape.bootstrapping_block_len()];
    keys.bootstrapping_block(index, &mut block);
    let (secret, mut errors) = (client.glwe_secret(0), Vec::new());
    for (i, row) in block.chunks_exact(columns * size).enumerate() {
        let (ggsw, level, p) =
            (i / columns / shape.levels(), i / columns % shape.levels(), i % columns);
        let bit = i128::from(client.lwe_secret(0)[index] == [1, -1][ggsw])
            * i128::from(shape.gadget_weights()[level]);
        let hidden = product(&row[..k * size], secret, size);
        for c in 0..size {
            let carried = match p {
                p if p < k => -i128::from(secret[p * size + c]) * bit,
                p if p == k && c == 0 => bit,
                _ => 0,
            };
            let x = (i128::from(row[k * size + c]) - hidden[c] - carried).rem_euclid(modulus);
            errors.push(if 2 * x >= modulus { x - modulus } else { x });
        }
    }
    errors
}

/// Errors of the entries of one index of a key-switching key, slot 0, value 0 left out.
fn entry_errors(client: &ClientKey, keys: &EvaluationKeys, index: usize) -> Vec<i128> {
    let shape = client.set().shape();
    let (base, modulus) = (shape.ks_base(), 1i128 << shape.log2_ks_modulus);
    let mut block = vec![0; shape.key_switching_block_len()];
    keys.key_switching_block(index, &mut block);
    let entries = block.chunks_exact(shape.switched_len()).enumerate();
    let error = |(i, entry): (usize, &[u64])| {
        let weight = ((i % base) as i128) << ((i / base) as u32 * shape.log2_ks_base);
        let masks = entry.iter().zip(client.lwe_secret(0));
        let hidden: i128 = masks.map(|(&a, &s)| i128::from(a) * i128::from(s)).sum();
        let carried = i128::from(client.glwe_secret(0)[index]) * weight;
        let x = (i128::from(entry[shape.lwe_dimension]) - hidden - carried).rem_euclid(modulus);
        if 2 * x >= modulus { x - modulus } else { x }
    };
    entries.filter(|(i, _)| i % base != 0).map(error).collect()
}

/// Whoever finds two things made of one stream can subtract them: errors and masks of all steps, of
/// both kinds of key and of two keys of one client are their own, and no error comes from the
/// stream of a mask, which is public.
#[test]
fn no_two_parts_of_keys_share_a_stream() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("valid");
    let keys = [1, 2].map(|_| EvaluationKeys::generate(&client, &NoProgress).expect("memory"));
    let mut streams: Vec<(String, Vec<i128>)> = Vec::new();
    for (which, key) in keys.iter().enumerate() {
        for index in [0, 1, 2, 63] {
            let errors = step_errors(&client, key, index);
            assert!(errors.iter().all(|e| e.abs() < 40));
            streams.push((format!("errors of step {index} of key {which}"), errors));
            let errors = entry_errors(&client, key, index);
            assert!(errors.iter().all(|e| e.abs() < 40));
            streams.push((format!("errors of index {index} of key switch {which}"), errors));
            let gaussian = girih_ring::sampler::Gaussian::new(3.19).expect("in range");
            for domain in 0..9 {
                let mut mask = key.mask_streams().stream(domain, index as u64);
                let drawn = (0..4000).map(|_| i128::from(gaussian.sample(&mut mask))).collect();
                streams.push((
                    format!("masks {domain} of step {index} of key {which}, drawn as errors"),
                    drawn,
                ));
            }
        }
    }
    let alike = |a: &[i128], b: &[i128]| {
        a.iter().zip(b).filter(|(x, y)| x == y).count() as f64 / a.len().min(b.len()) as f64
    };
    for (i, (a, x)) in streams.iter().enumerate() {
        for (b, y) in &streams[..i] {
            // Two draws of deviation 3.19 agree once in 11; an index of the key switch has 93.
            let share = alike(x, y);
            let most = if x.len().min(y.len()) < 100 { 0.3 } else { 0.15 };
            assert!(share < most, "{a} and {b}: {share:.2} agree");
        }
    }
}

/// Every bit of every mask is fair, in keys and in ciphertexts:
/// a bit that is not tells of what it hides.
#[test]
fn bits_of_masks_are_fair() {
    for client in clients() {
        let set = client.set();
        let (shape, keys) =
            (set.shape(), EvaluationKeys::generate(&client, &NoProgress).expect("memory"));
        let fair = |what: &str, masks: &[u64], log2_modulus: u32| {
            for bit in 0..log2_modulus {
                let ones = masks.iter().filter(|&&word| word >> bit & 1 == 1).count() as f64;
                let (mean, deviation) =
                    (masks.len() as f64 / 2.0, (masks.len() as f64).sqrt() / 2.0);
                assert!(
                    (ones - mean).abs() < 5.5 * deviation,
                    "{set}, {what}, bit {bit}: {ones} of {}",
                    masks.len()
                );
            }
        };
        let mut block = vec![0; shape.key_switching_block_len()];
        let log2_modulus = if shape.is_torus() { 64 } else { shape.log2_ks_modulus };
        let masks: Vec<u64> = (0..8)
            .flat_map(|index| {
                keys.key_switching_block(index, &mut block);
                let entries = block
                    .chunks_exact(shape.switched_len())
                    .filter(|entry| entry.iter().any(|&w| w != 0));
                entries.flat_map(|entry| entry[..shape.lwe_dimension].to_vec()).collect::<Vec<_>>()
            })
            .collect();
        fair("key-switching key", &masks, log2_modulus);
        let batch = client.encrypt(&vec![0; 200 * set.packing()], 4).expect("whole ciphertexts");
        let len = shape.ciphertext_len();
        let width = if shape.is_torus() { 2 } else { 1 };
        let words = batch
            .words()
            .chunks_exact(len)
            .flat_map(|c| c[..shape.stored_mask_len() * width].to_vec());
        fair(
            "ciphertexts",
            &words.map(u64::from).collect::<Vec<_>>(),
            shape.log2_stored_modulus().min(32),
        );
        // Modulo a prime the low bits are fair up to 1/p.
        let mut block = vec![0; shape.bootstrapping_block_len()];
        keys.bootstrapping_block(0, &mut block);
        let row = shape.columns() * shape.polynomial_size;
        let masks: Vec<u64> =
            block.chunks_exact(row).flat_map(|row| row[..shape.ks_indices()].to_vec()).collect();
        fair("bootstrapping key", &masks, 16);
    }
}

/// One seed, two sets of the same dimensions: subtracting what one publishes from what the other
/// does must tell nothing.
#[test]
fn one_seed_under_two_sets_makes_unrelated_keys() {
    let mut literal = ParameterSet::by_name("INSECURE_TOY").expect("built in").literal();
    let one = ParameterSet::new(&literal).expect("built in");
    (literal.name, literal.base_ks) = ("INSECURE_OTHER".into(), 64);
    let other = ParameterSet::new(&literal).expect("valid");
    let [a, b] = [&one, &other]
        .map(|set| ClientKey::generate_seeded_for_tests(set, [5; 32]).expect("valid"));
    assert_ne!(a.key_id(), b.key_id());
    assert_ne!(a.lwe_secret(0), b.lwe_secret(0));
    assert_ne!(a.glwe_secret(0), b.glwe_secret(0));
    // The same secrets under the other set: masks of their own,
    // even against a key that was drawn there.
    let moved = a.under(&other).expect("same dimensions");
    assert_eq!(moved.glwe_secret(0), a.glwe_secret(0));
    let first_block = |client: &ClientKey| {
        let keys = EvaluationKeys::generate(client, &NoProgress).expect("memory");
        let mut block = vec![0; keys.shape().bootstrapping_block_len()];
        keys.bootstrapping_block(0, &mut block);
        block
    };
    let blocks = [&a, &b, &moved].map(first_block);
    for (i, x) in blocks.iter().enumerate() {
        for y in &blocks[..i] {
            let equal = x.iter().zip(y).filter(|(x, y)| x == y).count();
            assert!(equal < 5, "{equal} of {} words agree", x.len());
        }
    }
}

/// A program that starts again with its seed makes the same things or unrelated ones, whatever
/// order it makes them in.
#[test]
fn no_mask_serves_two_messages_after_a_restart() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let start = || ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("valid");
    let n = set.shape().lwe_dimension;
    let masks = |batch: &crate::LweCiphertexts| batch.words()[..n].to_vec();
    let first = start().encrypt_bits(&[true]).expect("one");
    assert!(first == start().encrypt_bits(&[true]).expect("one"), "it repeats");
    let client = start();
    EvaluationKeys::generate(&client, &NoProgress).expect("memory");
    let others = [
        start().encrypt_bits(&[false]).expect("one"),
        start().encrypt(&[1], 8).expect("one"),
        start().encrypt_at(&[1], 4, 10).expect("one"),
        client.encrypt_bits(&[true]).expect("one"),
        client.encrypt_bits(&[true]).expect("one"),
    ];
    let mut all = vec![masks(&first)];
    all.extend(others.iter().map(masks));
    for (i, x) in all.iter().enumerate() {
        for y in &all[..i] {
            // Words below 512: one in 512 agrees by chance.
            assert!(x.iter().zip(y).filter(|(x, y)| x == y).count() < 8);
        }
    }
}

/// Masks, errors and secrets of a seeded key come from four domains: no published seed opens
/// anything else.
#[test]
fn a_published_seed_is_no_seed_of_secrets() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("valid");
    let bytes = EvaluationKeys::generate(&client, &NoProgress)
        .expect("memory")
        .to_bytes()
        .expect("serializes");
    // Right behind the set.
    let set_len = usize::from(u16::from_le_bytes([bytes[32], bytes[33]]));
    let seed: [u8; 32] = bytes[34 + set_len..][..32].try_into().expect("32 bytes");
    let thief = ClientKey::generate_seeded_for_tests(&set, seed).expect("valid");
    assert_ne!(thief.lwe_secret(0), client.lwe_secret(0));
    for _ in 0..4 {
        let (own, guess) =
            (client.encrypt_bits(&[true]).expect("one"), thief.encrypt_bits(&[true]).expect("one"));
        let equal = own.words().iter().zip(guess.words()).filter(|(a, b)| a == b).count();
        assert!(equal < 8, "{equal} words agree");
    }
}

#[test]
fn explicit_keys_are_the_same_keys() {
    let client = &clients()[0];
    let keys = EvaluationKeys::generate(client, &NoProgress).expect("valid");
    let explicit = ExplicitKeys::expand(&keys).expect("good keys");
    let mut blocks = [
        vec![0; keys.shape().bootstrapping_block_len()],
        vec![0; keys.shape().bootstrapping_block_len()],
    ];
    keys.bootstrapping_block(5, &mut blocks[0]);
    explicit.bootstrapping_block(5, &mut blocks[1]);
    assert_eq!(blocks[0], blocks[1]);
    let mut blocks = [
        vec![0; keys.shape().key_switching_block_len()],
        vec![0; keys.shape().key_switching_block_len()],
    ];
    keys.key_switching_block(5, &mut blocks[0]);
    explicit.key_switching_block(5, &mut blocks[1]);
    assert_eq!(blocks[0], blocks[1]);
    let words = explicit.bootstrapping().len() + explicit.key_switching().len();
    assert_eq!(EvaluationKeys::expanded_bytes(client.set()), 8 * words as u64);
    // What stands for a digit of 0 is 0.
    let shape = client.set().shape();
    let (digits, table) = (shape.ks_digits(), shape.ks_base() * shape.switched_len());
    let mut key = explicit.key_switching().to_vec();
    key[(7 * digits + 1) * table] = 1;
    let refused = ExplicitKeys::new(shape.clone(), explicit.bootstrapping().to_vec(), key);
    let error = refused.expect_err("not 0").to_string();
    assert!(error.contains("key_switching_key[7][1][0] must be zero"), "{error}");
}

/// On the native torus every digit has its body, and none need be 0.
#[test]
fn explicit_keys_of_the_torus_hold_any_words() {
    let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("a toy");
    let keys = EvaluationKeys::generate(&client, &NoProgress).expect("valid");
    let explicit = ExplicitKeys::expand(&keys).expect("good keys");
    let mut blocks = [(); 2].map(|()| vec![0; set.shape().key_switching_block_len()]);
    keys.key_switching_block(3, &mut blocks[0]);
    explicit.key_switching_block(3, &mut blocks[1]);
    assert_eq!(blocks[0], blocks[1]);
    let mut longer = explicit.key_switching().to_vec();
    longer.push(0);
    let bootstrapping = explicit.bootstrapping().to_vec();
    let error = ExplicitKeys::new(set.shape().clone(), bootstrapping, longer).expect_err("longer");
    assert!(error.to_string().contains("key_switching_key"), "{error}");
}

/// The same secrets serve another gadget; not other kinds of secrets, nor other lengths.
#[test]
fn secrets_go_to_sets_like_theirs_and_are_told_by_slot() {
    let set = |name| ParameterSet::by_name(name).expect("built in");
    let client = |name| ClientKey::generate_seeded_for_tests(&set(name), [5; 32]).expect("a toy");
    let large = client("INSECURE_LARGE");
    let under = large.under(&set("INSECURE_LARGE_2P18")).expect("another gadget");
    assert_eq!(under.lwe_secret(0), large.lwe_secret(0));
    assert_eq!(under.glwe_secret(0), large.glwe_secret(0));
    let toy = client("INSECURE_TOY");
    for (name, part) in [
        ("INSECURE_TOY_BINARY", "the kinds of their secrets"),
        ("INSECURE_TOY_ALL", "the dimensions of their secrets"),
        ("INSECURE_TOY_R2", "the dimensions of their secrets"),
    ] {
        let error = toy.under(&set(name)).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    let packed = client("INSECURE_TOY_R2");
    for slot in 0..2 {
        assert_eq!(packed.secret_coefficients(slot).expect("two slots"), packed.lwe_secret(slot));
    }
    assert_eq!(packed.secret_coefficients(0).expect("two slots").len(), 64);
    let error = packed.secret_coefficients(2).expect_err("two slots").to_string();
    assert!(error.contains("is 2, and must be from 0 to 1"), "{error}");
    let torus = client("INSECURE_INTEGERS");
    assert_eq!(torus.secret_coefficients(0).expect("one slot"), torus.glwe_secret(0));
}

/// Once a report has unwound, no thread makes another block than the one it is at.
#[test]
fn keys_that_nobody_waits_for_are_not_made() {
    /// Unwinds at every report of one kind of work.
    struct Enough(&'static str, AtomicUsize);
    impl Progress for Enough {
        fn report(&self, what: &str, _: usize, _: usize) {
            if what == self.0 {
                self.1.fetch_add(1, Ordering::Relaxed);
                std::panic::resume_unwind(Box::new("enough"));
            }
        }
    }
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("a toy");
    let threads = girih_backend::parallel::current_num_threads();
    for what in ["bootstrapping key", "key-switching key"] {
        let enough = Enough(what, AtomicUsize::new(0));
        let work = || EvaluationKeys::generate(&client, &enough).map(drop);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        let reports = enough.1.into_inner();
        assert!((1..=threads).contains(&reports), "{what}: {reports} reports by {threads} threads");
    }
}
