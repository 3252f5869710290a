//! Launches one after the other, the tasks of each on all threads.
//!
//! Threads of its own, not those of a pool: whoever waits in a pool runs other people's tasks
//! meanwhile, and one of those could ask for the device that the waiter has locked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Progress of one launch.
#[derive(Default)]
struct Counters {
    taken: AtomicUsize,
    done: AtomicUsize,
}

/// Runs `launches` (tasks of each) in order: `task(launch, number, scratch)`. A launch begins when
/// the one before has ended. One thread for each scratch memory, of which there is at least one.
///
/// False if a task panicked.
pub(super) fn run(
    launches: &[usize],
    scratch: &mut [&mut [u32]],
    task: impl Fn(usize, usize, &mut [u32]) + Sync,
) -> bool {
    let counters: Vec<Counters> = launches.iter().map(|_| Counters::default()).collect();
    let failed = AtomicBool::new(false);
    let work = |scratch: &mut [u32]| {
        for (launch, (&tasks, counters)) in launches.iter().zip(&counters).enumerate() {
            loop {
                let number = counters.taken.fetch_add(1, Ordering::Relaxed);
                if number >= tasks {
                    break;
                }
                // After a failure the rest is only counted, so that nobody waits for ever.
                if !failed.load(Ordering::Relaxed) {
                    let run = AssertUnwindSafe(|| task(launch, number, scratch));
                    if catch_unwind(run).is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                }
                counters.done.fetch_add(1, Ordering::Release);
            }
            let mut spins = 0;
            while counters.done.load(Ordering::Acquire) < tasks {
                spins += 1;
                if spins < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
    };
    let Some((own, others)) = scratch.split_first_mut() else { return false };
    // A browser has no threads.
    if cfg!(target_family = "wasm") {
        work(own);
        return !failed.into_inner();
    }
    std::thread::scope(|scope| {
        for scratch in others {
            // A thread that the system refuses is one thread less.
            let work = &work;
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || work(scratch));
        }
        work(own);
    });
    !failed.into_inner()
}
