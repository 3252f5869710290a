//! Work of many like parts on all processors.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What `one` makes of each number below `count`, in their order.
pub fn at_once<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|&i| i < count).map(|i| (i, one(i))).collect::<Vec<_>>()
    };
    let mut made: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let done = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    made.sort_unstable_by_key(|&(number, _)| number);
    made.into_iter().map(|(_, made)| made).collect()
}
