//! Secrets leave nothing behind in memory that is given back.

#![allow(unsafe_code, reason = "an allocator that looks at what it is given back")]

use girih_backend::NoProgress;
use girih_ckks::{CkksParameters, ClientKey, EvaluationKeys, KeyKind};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A run of coefficients that only the dense secret of this test has, over and over.
const PATTERN: [u8; 16] = [1, 0, 255, 255, 1, 1, 0, 255, 0, 0, 1, 255, 1, 0, 0, 255];

/// The same of the sparse secret, whose other coefficients are 0.
const SPARSE: [u8; 16] = [1, 255, 1, 1, 255, 255, 1, 255, 255, 255, 1, 1, 1, 1, 255, 1];

static LOOKING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which counts freed blocks that hold a pattern: of coefficients as bytes,
/// or of their residues modulo any prime, by which of them are 0 and 1.
struct Looking;

fn look(block: &[u8]) {
    if !LOOKING.load(Ordering::Relaxed) {
        return;
    }
    let found = block.windows(16).any(|window| window == PATTERN || window == SPARSE);
    let words = || block.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    // -1 modulo a prime, or as an integer of 32 bits: all such words are the same large one.
    let as_words = || {
        let words: [u32; 16] = {
            let mut all = words();
            match all.next() {
                Some(first) if block.len() >= 64 => {
                    std::array::from_fn(|i| if i == 0 { first } else { all.next().unwrap_or(0) })
                }
                _ => return false,
            }
        };
        let large = words[2];
        large > 1
            && [PATTERN, SPARSE].iter().any(|pattern| {
                let wanted = |s: &u8| if *s == 255 { large } else { u32::from(*s) };
                pattern.iter().map(wanted).eq(words)
            })
    };
    if found || as_words() {
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

/// Blocks given back with a secret in them while `run` ran.
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
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let weight = set.bootstrapping().expect("it has one").sparse_weight();
    let dense = |len: usize| PATTERN.iter().cycle().take(len).map(|&s| s as i8).collect::<Vec<_>>();
    let sparse = |len: usize| -> Vec<i8> {
        let full = SPARSE.iter().cycle().take(weight).map(|&s| s as i8);
        full.chain(std::iter::repeat(0)).take(len).collect()
    };
    let degree = set.degree();
    assert_eq!(left_behind(|| dense(degree)), 1, "a plain array is noticed");
    assert_eq!(left_behind(|| sparse(degree)), 1, "a plain array is noticed");
    let residues = || dense(degree).iter().map(|&s| i32::from(s)).collect::<Vec<_>>();
    assert_eq!(left_behind(residues), 2, "words are noticed");

    let make = || ClientKey::from_secrets(&set, dense(degree), Some(sparse(degree)));
    let client = make().expect("of the set's distributions");
    let bytes = client.to_bytes().expect("serializes");
    let mut damaged = bytes.to_vec();
    let end = damaged.len();
    damaged[end - 17] = 2;
    girih_rlwe::wire::reseal(&mut damaged);

    type Case<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let refused = |dense, sparse| {
        drop(ClientKey::from_secrets(&set, dense, sparse).expect_err("impossible secrets"));
    };
    let plain = CkksParameters::by_name("CKKS_N14_D40").expect("built in");
    let cases: [Case<'_>; 12] = [
        ("a key", Box::new(|| drop(make().expect("valid")))),
        ("a wrong length", Box::new(|| refused(dense(degree + 1), Some(sparse(degree))))),
        ("another one", Box::new(|| refused(dense(degree), Some(sparse(degree - 1))))),
        ("no sparse secret", Box::new(|| refused(dense(degree), None))),
        (
            "a wrong coefficient",
            Box::new(|| {
                let mut wrong = dense(degree);
                wrong[degree - 1] = 2;
                refused(wrong, Some(sparse(degree)));
            }),
        ),
        ("a wrong weight", Box::new(|| refused(dense(degree), Some(dense(degree))))),
        (
            "a sparse secret where there is none",
            Box::new(|| {
                let secrets = (dense(plain.degree()), Some(sparse(plain.degree())));
                drop(ClientKey::from_secrets(&plain, secrets.0, secrets.1).expect_err("one more"));
            }),
        ),
        ("writing", Box::new(|| drop(client.to_bytes().expect("serializes")))),
        ("reading", Box::new(|| drop(ClientKey::from_bytes(&bytes).expect("own output")))),
        (
            "reading what is wrong",
            Box::new(|| drop(ClientKey::from_bytes(&damaged).expect_err("impossible secrets"))),
        ),
        (
            "evaluation keys",
            Box::new(|| {
                let client = make().expect("valid");
                let kinds = [
                    KeyKind::Multiplication,
                    KeyKind::DenseToSparse,
                    KeyKind::SparseToDense,
                    KeyKind::conjugation(&set),
                ];
                drop(EvaluationKeys::generate(&client, kinds, &NoProgress).expect("memory"));
            }),
        ),
        (
            "use",
            Box::new(|| {
                let client = make().expect("valid");
                let sent = client.public_key().expect("made").encrypt(&[0.5]).expect("a number");
                client.decrypt(&sent).expect("its own");
                client
                    .decrypt_to_share(&client.encrypt(&[0.5]).expect("a number"), 4, 0.0)
                    .expect("few");
            }),
        ),
    ];
    for (name, case) in &cases {
        assert_eq!(left_behind(case), 0, "{name} leaves a secret behind");
    }
}
