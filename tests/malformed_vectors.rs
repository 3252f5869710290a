//! Damaged vector files are refused with an error that names the damage: a thousand of them, and
//! never a panic. Those as published have the test polynomials of the library's gates.

use girih::contract::KeySource;
use girih::tfhe::Gate;
use girih_conformance::ckks::vectors::{self as ckks_vectors, CkksVectorFile};
use girih_conformance::synthetic::Words;
use girih_conformance::vectors::{PUBLISHED, VectorError, VectorFile};
use serde_json::Value;

const CASES: u64 = 400;

fn smallest() -> (&'static str, &'static str) {
    *PUBLISHED.iter().min_by_key(|(_, text)| text.len()).expect("there are vectors")
}

#[test]
fn test_polynomials_of_gates_are_those_of_the_vectors() {
    let mut gates = std::collections::HashSet::new();
    for (name, text) in PUBLISHED {
        let file = VectorFile::parse(name, text).expect("as published");
        for (gate, wanted) in file.test_polynomials() {
            let gate: Gate = gate.parse().expect("a gate");
            assert_eq!(gate.test_polynomial(file.shape()), wanted, "{name}, {gate}");
            gates.insert(gate);
        }
    }
    assert!(gates.len() >= 4, "the vectors cover {gates:?}");
}

/// A random path to a leaf or an array of numbers, as the keys and indices along it.
fn walk<'a>(
    mut value: &'a mut Value,
    words: &mut Words,
    path: &mut String,
    stop_at_array: bool,
) -> &'a mut Value {
    loop {
        let stop = match value {
            Value::Array(items) => items.is_empty() || (stop_at_array && items[0].is_number()),
            Value::Object(_) => false,
            _ => true,
        };
        if stop {
            return value;
        }
        value = match value {
            Value::Array(items) => {
                let index = words.next_word() as usize % items.len();
                path.push_str(&format!("[{index}]"));
                &mut items[index]
            }
            other => {
                let fields = other.as_object_mut().expect("neither a leaf nor an array");
                let keys: Vec<String> = fields
                    .keys()
                    .filter(|k| !matches!(k.as_str(), "sigma" | "name" | "format"))
                    .cloned()
                    .collect();
                let key = &keys[words.next_word() as usize % keys.len()];
                path.push_str(&format!(".{key}"));
                fields.get_mut(key).expect("one of its own keys")
            }
        };
    }
}

fn refusal(text: &str, what: &str) -> String {
    match VectorFile::parse("damaged.json", text) {
        Ok(_) => panic!("{what}: was accepted"),
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("damaged.json: "), "{what}: {message}");
            message
        }
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    let document: Value = serde_json::from_str(smallest().1).expect("published");
    let mut words = Words::new(1);
    for case in 0..CASES {
        let (mut damaged, mut path) = (document.clone(), String::new());
        let leaf = walk(&mut damaged, &mut words, &mut path, false);
        if !leaf.is_number() {
            continue;
        }
        // The least number has no absolute value.
        *leaf = if case % 2 == 0 { Value::from(1u64 << 62) } else { Value::from(i64::MIN) };
        refusal(&damaged.to_string(), &path);
    }
}

#[test]
fn arrays_of_the_wrong_length_are_refused() {
    let document: Value = serde_json::from_str(smallest().1).expect("published");
    let mut words = Words::new(2);
    for case in 0..CASES {
        let (mut damaged, mut path) = (document.clone(), String::new());
        let Value::Array(items) = walk(&mut damaged, &mut words, &mut path, true) else { continue };
        if case % 2 == 0 {
            items.pop();
        } else {
            items.push(Value::from(0));
        }
        let message = refusal(&damaged.to_string(), &path);
        assert!(
            message.contains("must") || message.contains("give"),
            "{path}: {message} does not say what would be right"
        );
    }
}

#[test]
fn truncated_files_are_refused_with_the_place() {
    let (_, text) = smallest();
    let mut words = Words::new(3);
    for _ in 0..CASES {
        let end = words.next_word() as usize % text.trim_end().len();
        let message = refusal(&text[..end], "truncated");
        assert!(message.contains("line") && message.contains("column"), "{message}");
    }
}

#[test]
fn missing_fields_are_named() {
    let document: Value = serde_json::from_str(smallest().1).expect("published");
    for (pointer, field) in [
        "/params/q",
        "/params/N",
        "/params/modulus_words",
        "/runs/0/acc_final",
        "/runs/0/c1/a",
        "/glwe_secrets",
    ]
    .map(|p| (p, p.rsplit('/').next().unwrap_or_default()))
    {
        let mut damaged = document.clone();
        let (parent, _) = pointer.rsplit_once('/').expect("has a parent");
        damaged
            .pointer_mut(parent)
            .and_then(Value::as_object_mut)
            .expect("an object")
            .remove(field);
        let message = refusal(&damaged.to_string(), pointer);
        assert!(message.contains(&format!("`{field}`")), "{message}");
    }
}

#[test]
fn a_wrong_truth_is_noticed() {
    let mut document: Value = serde_json::from_str(smallest().1).expect("published");
    let bit = &mut document["runs"][0]["decrypted"][0];
    *bit = Value::from(1 - bit.as_u64().expect("a bit"));
    assert!(refusal(&document.to_string(), "decrypted").contains("decrypted"));
}

#[test]
fn a_missing_file_is_named() {
    let error =
        VectorFile::read(std::path::Path::new("no/such/file.json")).err().expect("is not there");
    assert!(
        matches!(&error, VectorError::Io { path, .. } if path == "no/such/file.json"),
        "{error}"
    );
}

/// Fields that no stage reads: secrets and what the files tell beside.
const UNREAD: [&str; 11] = [
    "secret",
    "sparse_secret",
    "distance_to_tie",
    "diagonals",
    "gather",
    "kept_primes",
    "constant",
    "max_integer",
    "tolerance",
    "digits_in_use",
    "sizes",
];

/// Files of the stages of CKKS that were changed in one place are refused, or found to differ:
/// never a panic. Few are neither, as some fields are told for readers alone.
#[test]
fn damaged_stages_are_refused_or_differ() {
    let device = girih_cpu::CpuBackend::new();
    let mut words = Words::new(11);
    let (mut found, mut unnoticed) = (0, Vec::new());
    for (name, text) in ckks_vectors::PUBLISHED {
        let document: Value = serde_json::from_str(text).expect("published");
        for round in 0..24 {
            let (mut damaged, mut path) = (document.clone(), String::new());
            let value = walk(&mut damaged, &mut words, &mut path, round % 3 == 0);
            if UNREAD.iter().any(|field| path.contains(field)) {
                continue;
            }
            *value = match (round % 6, &*value) {
                (0, Value::Array(list)) => Value::Array(list.iter().skip(1).cloned().collect()),
                (1, Value::Number(n)) => n.as_u64().map_or(Value::Null, |n| Value::from(n ^ 1)),
                (2, _) => Value::from(u64::MAX),
                (4, _) => Value::from(-1),
                (5, _) => Value::from("a text"),
                _ => Value::Null,
            };
            let text = damaged.to_string();
            let replay =
                CkksVectorFile::parse("damaged.json", &text).and_then(|file| file.replay(&device));
            match replay {
                Err(error) => {
                    assert!(!error.to_string().is_empty(), "{name}{path}");
                    found += 1;
                }
                Ok(replay) if !replay.failures.is_empty() => found += 1,
                Ok(_) => unnoticed.push(format!("{name}{path}")),
            }
        }
    }
    assert!(found > 8 * unnoticed.len(), "{found} were found, but not {unnoticed:?}");
}
