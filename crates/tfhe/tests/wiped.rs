//! Secrets leave nothing behind in memory that is given back.

#![allow(unsafe_code, reason = "an allocator that looks at what it is given back")]

use girih_backend::NoProgress;
use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A run of coefficients that only the secret of this test has, over and over.
const PATTERN: [u8; 16] = [1, 0, 255, 255, 1, 1, 0, 255, 0, 0, 1, 255, 1, 0, 0, 255];

static LOOKING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which counts freed blocks that hold the pattern.
struct Looking;

fn look(block: &[u8]) {
    if LOOKING.load(Ordering::Relaxed)
        && block.windows(PATTERN.len()).any(|window| window == PATTERN)
    {
        FOUND.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Looking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Zeroed, so that what is looked at later was always written.
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the block is alive until it is given back below, and was zeroed at first.
        look(unsafe { std::slice::from_raw_parts(pointer, layout.size()) });
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Looking = Looking;

/// Blocks given back with the secret in them while `run` ran.
fn left_behind<T>(run: impl FnOnce() -> T) -> usize {
    FOUND.store(0, Ordering::SeqCst);
    LOOKING.store(true, Ordering::SeqCst);
    drop(run());
    LOOKING.store(false, Ordering::SeqCst);
    FOUND.load(Ordering::SeqCst)
}

/// One test, since all threads share the allocator.
#[test]
fn nothing_secret_is_left_in_freed_memory() {
    let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
    let secret =
        |len: usize| PATTERN.iter().cycle().take(len).map(|&s| s as i8).collect::<Vec<_>>();
    let (n, size) = (set.shape().lwe_dimension, set.shape().ks_indices());
    assert_eq!(left_behind(|| secret(n)), 1, "a plain array is noticed");

    let client = ClientKey::from_secrets(&set, secret(n), secret(size)).expect("ternary");
    let bytes = client.to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);

    type Case<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let cases: [Case<'_>; 11] = [
        (
            "a key",
            Box::new(|| {
                drop(ClientKey::from_secrets(&set, secret(n), secret(size)).expect("ternary"))
            }),
        ),
        (
            "wrong lengths",
            Box::new(|| {
                drop(
                    ClientKey::from_secrets(&set, secret(n + 1), secret(size)).expect_err("length"),
                )
            }),
        ),
        (
            "one wrong length",
            Box::new(|| {
                drop(
                    ClientKey::from_secrets(&set, secret(n), secret(size - 1)).expect_err("length"),
                )
            }),
        ),
        (
            "a wrong coefficient",
            Box::new(|| {
                let mut wrong = secret(size);
                wrong[size - 1] = 2;
                drop(ClientKey::from_secrets(&set, secret(n), wrong).expect_err("no ternary"));
            }),
        ),
        ("writing", Box::new(|| drop(client.to_bytes().expect("serializes")))),
        ("reading", Box::new(|| drop(ClientKey::from_bytes(&bytes).expect("own output")))),
        (
            "reading what is wrong",
            Box::new(|| drop(ClientKey::from_bytes(&damaged).expect_err("no ternary"))),
        ),
        (
            "evaluation keys",
            Box::new(|| drop(EvaluationKeys::generate(&client, &NoProgress).expect("memory"))),
        ),
        (
            "a compression key",
            Box::new(|| {
                let keys = EvaluationKeys::generate(&client, &NoProgress).expect("memory");
                drop(keys.with_compression(&client).expect("memory"));
            }),
        ),
        (
            "compressed results",
            Box::new(|| {
                let batch = client.encrypt_bits(&[true, false]).expect("two");
                let results = batch.compress_bits().expect("few errors");
                client.decrypt_compressed_bits(&results).expect("bits");
            }),
        ),
        (
            "use",
            Box::new(|| {
                let batch = client.encrypt_bits(&[true, false]).expect("two");
                client.decrypt_bits(&batch).expect("bits");
            }),
        ),
    ];
    for (name, case) in &cases {
        assert_eq!(left_behind(case), 0, "{name} leaves the secret behind");
    }
}
