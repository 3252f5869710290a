//! Reading a netlist takes memory in proportion to its text: claims alone allocate nothing.
#![allow(
    unsafe_code,
    reason = "an allocator that counts is the only way to see what was allocated"
)]

use girih_circuit::{Netlist, generate};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counters do not touch memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's layout, as it promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes held while `text` is read, beyond what was held before.
fn peak(text: &str, read: impl Fn(&str) -> bool) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    assert!(!read(text), "a lie was believed");
    PEAK.load(Ordering::Relaxed) - before
}

/// One test, so that no other thread allocates meanwhile.
#[test]
fn huge_claims_allocate_nothing() {
    let bristol = |text: &str| Netlist::from_bristol(text).is_ok();
    let max = u32::MAX;
    for text in [
        format!("{max} {max}\n1 1\n1 1\n1 1 0 1 INV\n"),
        format!("1 {max}\n1 1048576\n1 1\n1 1 0 1 INV\n"),
        format!("1 {max}\n1 {max}\n1 1\n1 1 0 1 INV\n"),
        format!("1 {max}\n{max} 1\n1 1\n1 1 0 1 INV\n"),
        format!("1 {max}\n1 1\n1 {max}\n1 1 0 1 INV\n"),
        format!("1 4\n1 1\n1 1\n{max} {} 0 1 MAND\n", max / 2),
    ] {
        let bytes = peak(&text, bristol);
        assert!(bytes < 4096, "{bytes} bytes for {text:?}");
    }
    // A whole file that lies only at its end.
    let mut text = generate::multiplier(16).to_bristol();
    text.push_str("1 1 0 1 INV\n");
    let bytes = peak(&text, bristol);
    assert!(bytes < 16 * text.len(), "{bytes} bytes for a text of {}", text.len());
    let nested = "[".repeat(100_000);
    let bytes = peak(&nested, |text| Netlist::from_yosys(text).is_ok());
    assert!(bytes < nested.len(), "{bytes} bytes for nested arrays");
}
