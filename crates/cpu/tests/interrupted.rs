//! Loading that nobody waits for any more ends where it is.

use girih_backend::bootstrap::synthetic::{SyntheticKeys, small_shape, torus_shape};
use girih_backend::{BootstrapShape, KeySource, LoadOptions, LoadRequest, Progress, Transform};
use girih_cpu::CpuBackend;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Unwinds at every report of one kind of work, as a caller who was interrupted does.
struct Enough(&'static str);

impl Progress for Enough {
    fn report(&self, what: &str, _: usize, _: usize) {
        if what.contains(self.0) {
            resume_unwind(Box::new("enough"));
        }
    }
}

/// Keys that count what is asked of them.
struct Counted {
    keys: SyntheticKeys,
    bootstrapping: AtomicUsize,
    key_switching: AtomicUsize,
}

impl KeySource for Counted {
    fn shape(&self) -> &BootstrapShape {
        self.keys.shape()
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        self.bootstrapping.fetch_add(1, Ordering::Relaxed);
        self.keys.bootstrapping_block(index, out);
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        self.key_switching.fetch_add(1, Ordering::Relaxed);
        self.keys.key_switching_block(index, out);
    }
}

/// No thread begins another block than the one that it is at.
#[test]
fn blocks_that_nobody_waits_for_are_not_made() {
    let many = BootstrapShape { lwe_dimension: 512, ..small_shape() };
    let torus = BootstrapShape { lwe_dimension: 512, ..torus_shape(256, 8, 2, 1) };
    let threads = girih_backend::parallel::current_num_threads();
    for (shape, transform) in
        [(&many, Transform::Ntt), (&many, Transform::Fft), (&torus, Transform::Ntt)]
    {
        let options = LoadOptions::default().with_transform(transform);
        for what in ["bootstrapping key", "key-switching key"] {
            let keys = Counted {
                keys: SyntheticKeys::new(shape.clone(), 1),
                bootstrapping: AtomicUsize::new(0),
                key_switching: AtomicUsize::new(0),
            };
            let progress = Enough(what);
            let load = || {
                LoadRequest::new(&keys)
                    .options(&options)
                    .progress(&progress)
                    .load(&CpuBackend::new())
                    .map(drop)
            };
            assert!(catch_unwind(AssertUnwindSafe(load)).is_err(), "{what}: it unwinds");
            let asked = match what {
                "bootstrapping key" => keys.bootstrapping.into_inner(),
                _ => keys.key_switching.into_inner(),
            };
            assert!((1..=threads).contains(&asked), "{what}: {asked} blocks by {threads} threads");
        }
    }
}
