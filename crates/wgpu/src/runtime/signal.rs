//! What a callback of the driver says, as a future.

use girih_backend::may_block;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// One answer that a callback brings.
pub(crate) struct Signal<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    answer: Option<T>,
    /// What the driver said to whoever waited for it, where it refused.
    refusal: Option<String>,
    waker: Option<Waker>,
    /// A thread waits for the driver.
    waited_for: bool,
}

impl<T> Default for Signal<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State {
            answer: None,
            refusal: None,
            waker: None,
            waited_for: false,
        })))
    }
}

/// The state holds no invariant that a panic elsewhere could break.
fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake<T>(state: &Mutex<State<T>>, change: impl FnOnce(&mut State<T>)) {
    let waker = {
        let mut state = lock(state);
        change(&mut state);
        state.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<T: Send + 'static> Signal<T> {
    /// What a callback calls with the answer.
    pub fn sender(&self) -> impl Fn(T) + Send + 'static + use<T> {
        let state = Arc::clone(&self.0);
        move |answer| wake(&state, |state| state.answer = Some(answer))
    }

    /// The answer, once the driver gives it. Callbacks come only while somebody waits for the
    /// driver: this thread, where it may block; else, on a native system, a thread for as long as
    /// it takes; a browser calls on its own.
    ///
    /// # Errors
    /// What the driver said where it refused.
    pub async fn driven(self, device: &wgpu::Device) -> Result<T, String> {
        poll_fn(|context| {
            lock(&self.0).waker = Some(context.waker().clone());
            self.drive(device);
            let mut state = lock(&self.0);
            match (state.answer.take(), state.refusal.take()) {
                (Some(answer), _) => Poll::Ready(Ok(answer)),
                (None, Some(refusal)) => Poll::Ready(Err(refusal)),
                // Another thread's wait may be the one that brings the answer, a little after ours
                // has returned.
                (None, None) => Poll::Pending,
            }
        })
        .await
    }

    fn drive(&self, device: &wgpu::Device) {
        let wait = |device: &wgpu::Device| {
            device.poll(wgpu::PollType::wait_indefinitely()).err().map(|e| e.to_string())
        };
        if lock(&self.0).answer.is_some() || cfg!(target_arch = "wasm32") {
            return;
        }
        if may_block() {
            if let Some(refusal) = wait(device) {
                lock(&self.0).refusal = Some(refusal);
            }
        } else if !std::mem::replace(&mut lock(&self.0).waited_for, true) {
            let (state, device) = (Arc::clone(&self.0), device.clone());
            std::thread::spawn(move || {
                if let Some(refusal) = wait(&device) {
                    wake(&state, |state| state.refusal = Some(refusal));
                }
            });
        }
    }
}
