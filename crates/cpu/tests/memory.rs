//! Memory that runs out between calls is an error of the call that asks for it,
//! and nothing else changes.
#![allow(unsafe_code, reason = "an allocator that refuses is the only way to run out of memory")]

use girih_backend::bootstrap::synthetic::{SyntheticKeys, Words, small_shape as shape};
use girih_backend::poly::{Loader, random};
use girih_backend::{
    Backend, BackendError, BootstrapJob, Combination, Engine, LoadOptions, LoadRequest, Operand,
    Result, Transform,
};
use girih_cpu::CpuBackend;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest block that is still handed out.
static LARGEST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, which has nothing large while it is told so.
struct Refusing;

// SAFETY: calls go to the system's allocator unchanged, or fail as any allocation may.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Runs `call` while no block above 1 MiB is to be had.
fn without_memory<T>(call: impl FnOnce() -> T) -> T {
    LARGEST.store(1 << 20, Ordering::SeqCst);
    let result = call();
    LARGEST.store(usize::MAX, Ordering::SeqCst);
    result
}

fn assert_out_of_memory(what: &str, result: Result<()>) {
    assert!(matches!(result, Err(BackendError::OutOfMemory { .. })), "{what}: {result:?}");
}

/// One test, since all threads share the allocator.
#[test]
fn what_runs_out_is_refused_and_the_next_call_works() {
    let (shape, backend) = (shape(), CpuBackend::new());
    let options = LoadOptions::default().with_transform(Transform::Ntt);
    let keys = SyntheticKeys::new(shape.clone(), 1);
    let engine: Engine =
        LoadRequest::new(&keys).options(&options).load(&backend).expect("a small shape");
    engine.reserve(64).expect("room");
    let mut words = Words::new(2);
    let len = shape.ciphertext_len();
    let stored: Vec<u32> = (0..32 * len).map(|_| words.below(512) as u32).collect();
    engine.write(0, &stored).expect("in range");
    let table: Vec<u64> = (0..256).map(|_| words.below(132_120_577)).collect();
    let table = engine.add_tables(&table).expect("in range");
    let job = |i: u32| BootstrapJob {
        input: Combination::new(&[Operand { ciphertext: i, weight: 1 }], 0, 9),
        table,
        table_stride: 0,
        output_offset: 0,
        log2_output_modulus: 9,
        output: 32 + i,
        second: None,
    };
    let jobs: Vec<BootstrapJob> = (0..32).map(job).collect();
    let run = || {
        engine.bootstrap(&jobs).expect("in order");
        let mut out = vec![0; 64 * len];
        engine.read(0, &mut out).expect("there");
        out
    };
    let before = run();
    assert_out_of_memory("the store", without_memory(|| engine.reserve(1 << 20)));
    assert_eq!((engine.stored(), run()), (64, before.clone()));
    let many = vec![1; 4096 * shape.polynomial_size];
    let refused = without_memory(|| engine.add_tables(&many).map(drop));
    assert_out_of_memory("tables", refused);
    assert_eq!(run(), before);
    // While nothing large is to be had, small calls go on.
    assert_eq!(without_memory(run), before);
    engine.reserve(1 << 14).expect("room again");
    assert_eq!(run(), before);

    let ring = random::ring(10);
    let device = Loader::open(&backend, ring).expect("a small ring");
    let held = device.bytes_in_use();
    let refused = without_memory(|| device.allocate(1 << 12).map(drop));
    assert_out_of_memory("limbs", refused);
    assert_eq!(device.bytes_in_use(), held);
    device.free(without_memory(|| device.allocate(16)).expect("64 KiB"));
    assert!(device.allocate(1 << 12).is_ok(), "room again");
    assert!(backend.poly().is_some());
}
