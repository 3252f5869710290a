//! The system's allocator, which looks at what it is given back.

#![allow(unsafe_code, reason = "an allocator that looks at what it is given back")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run of coefficients that only the secrets of these tests have, over and over.
pub const PATTERN: [u8; 16] = [1, 0, 255, 255, 1, 1, 0, 255, 0, 0, 1, 255, 1, 0, 0, 255];

/// The same of sparse secrets, whose other coefficients are 0.
pub const SPARSE: [u8; 16] = [1, 255, 1, 1, 255, 255, 1, 255, 255, 255, 1, 1, 1, 1, 255, 1];

/// `len` coefficients of the pattern.
pub fn secret(len: usize) -> Vec<i8> {
    PATTERN.iter().cycle().take(len).map(|&s| s as i8).collect()
}

/// What a test runs, and what it says of it.
pub type Case<'a> = (&'a str, Box<dyn Fn() + 'a>);

/// Runs each case, none of which may leave a secret behind.
pub fn check(cases: &[Case<'_>]) {
    for (name, case) in cases {
        assert_eq!(left_behind(case), 0, "{name} leaves a secret behind");
    }
}

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

/// Held by a test from beginning to end: all threads share the allocator.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks given back with a secret in them while `run` ran.
pub fn left_behind<T>(run: impl FnOnce() -> T) -> usize {
    FOUND.store(0, Ordering::SeqCst);
    LOOKING.store(true, Ordering::SeqCst);
    drop(run());
    LOOKING.store(false, Ordering::SeqCst);
    FOUND.load(Ordering::SeqCst)
}
