//! Calls that wait for a device, as futures.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;

/// A call that waits. It may move between threads, except where there is only one.
#[cfg(not(target_arch = "wasm32"))]
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A call that waits. It may move between threads, except where there is only one.
#[cfg(target_arch = "wasm32")]
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

thread_local!(static MAY_BLOCK: Cell<bool> = const { Cell::new(false) });

/// Runs `future` to its end on this thread, which may block meanwhile; in a browser the calling
/// function is suspended (`suspend_by`).
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    /// Restores what was there, also where the future panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            MAY_BLOCK.set(self.0);
        }
    }
    let _restore = Restore(MAY_BLOCK.replace(true));
    #[cfg(target_arch = "wasm32")]
    return super::suspension::block_on(future);
    #[cfg(not(target_arch = "wasm32"))]
    pollster::block_on(future)
}

/// Whether this thread is inside [`block_on`]: a future that a device can only drive by waiting
/// then waits where it is polled, and needs no thread of its own.
pub fn may_block() -> bool {
    MAY_BLOCK.get()
}

/// A call that is done when it is first polled, and blocks until then: what devices without
/// anything to wait on have.
pub fn at_once<'a, T>(call: impl FnOnce() -> T + Send + 'a) -> Waiting<'a, T> {
    Box::pin(async move { call() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_blocked_thread_may_block() {
        assert!(!may_block());
        let inner = async {
            block_on(async {});
            may_block()
        };
        assert!(block_on(inner));
        assert!(!may_block());
        assert!(std::panic::catch_unwind(|| block_on(async { panic!("as asked") })).is_err());
        assert!(!may_block());
    }
}
