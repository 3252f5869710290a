//! How a browser's one thread waits: not at all, so a call that must is suspended while the page
//! goes on.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

/// Two functions of the program that JavaScript runs: [`block_on`](crate::block_on) waits by them.
#[derive(Clone, Copy, Debug)]
pub struct Suspension {
    /// Suspends the call that it is part of until `resume` is called, which may have happened
    /// before: since the last suspension.
    pub suspend: fn(),
    /// Lets the suspended call go on.
    pub resume: fn(),
}

static SUSPENSION: OnceLock<Suspension> = OnceLock::new();

/// Waits by `suspension` from now on; the first one given stays.
pub fn suspend_by(suspension: Suspension) {
    _ = SUSPENSION.set(suspension);
}

/// Whether calls can wait: without a [`Suspension`] only what is ready at once can run.
pub fn can_wait() -> bool {
    SUSPENSION.get().is_some()
}

struct Resume(Suspension);

impl Wake for Resume {
    fn wake(self: Arc<Self>) {
        (self.0.resume)();
    }
}

/// Runs `future` to its end; the calling function is suspended meanwhile.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let suspension = SUSPENSION.get().copied();
    let waker = match suspension {
        Some(suspension) => Waker::from(Arc::new(Resume(suspension))),
        None => Waker::noop().clone(),
    };
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        // No device that waits can be opened without.
        (suspension.expect("what waits in a browser needs `suspend_by` first").suspend)();
    }
}
