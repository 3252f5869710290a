//! Kernels that are compiled while routines run by others, those first that save most. A routine
//! that runs a few times is done before its kernels would be there: nothing is compiled for it
//! before it has run [`CALLS_BEFORE`] times, unless somebody waits.
//!
//! Threads of their own do it, half as many as the host has cores, so that what the caller does
//! meanwhile has the other half; all cores once somebody waits.

use crate::poly::kernels::Kernels;
use crate::poly::launch::ReadyLaunch;
use crate::runtime::machine::Kernel;
use girih_backend::{BackendError, Preparation, preparing};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Calls of a routine before its own kernels are compiled. They take a core seconds, and save
/// milliseconds a call.
const CALLS_BEFORE: usize = 32;

/// The kernels that launches need, one of each that is to be compiled.
pub(crate) struct Order {
    pub launches: Vec<ReadyLaunch>,
    /// Which of the launches have kernels of their own, the first of each.
    first: Vec<usize>,
    /// How many of these were taken, and how many are done.
    taken: AtomicUsize,
    done: AtomicUsize,
    /// Calls that ran without them.
    calls: AtomicUsize,
    /// Nobody wants them any more.
    given_up: AtomicBool,
    /// One could not be compiled.
    failed: AtomicBool,
}

impl Order {
    pub fn new(launches: Vec<ReadyLaunch>) -> Self {
        let mut first: Vec<usize> = Vec::new();
        for (i, launch) in launches.iter().enumerate() {
            if !first.iter().any(|&k| launches[k].text == launch.text) {
                first.push(i);
            }
        }
        Self {
            launches,
            first,
            taken: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            given_up: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Kernels that are needed now.
    pub fn at_once(launches: Vec<ReadyLaunch>) -> Self {
        let order = Self::new(launches);
        order.ran(CALLS_BEFORE);
        order
    }

    /// Notes calls that ran without its kernels; whether they are worth their while from now on.
    fn ran(&self, calls: usize) -> bool {
        let before = self.calls.fetch_add(calls, Ordering::Relaxed);
        before < CALLS_BEFORE && before + calls >= CALLS_BEFORE
    }

    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    fn is_worth_it(&self) -> bool {
        self.calls.load(Ordering::Relaxed) >= CALLS_BEFORE
    }

    /// Lets no more of its kernels be compiled.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }

    /// Whether nothing of it is to be done any more.
    fn is_over(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.first.len()
    }

    /// Whether all its kernels are there.
    pub fn is_ready(&self) -> bool {
        self.is_over() && !self.has_failed() && !self.is_given_up()
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Its kernels, once it is ready, in the order of its launches: they are known by now.
    pub fn kernels(&self, kernels: &Kernels) -> Result<Vec<Kernel>, BackendError> {
        self.launches.iter().map(|launch| kernels.one(launch)).collect()
    }

    /// What its kernels save for each that is left to be compiled, in units of work: what ran will
    /// run again.
    fn saving(&self) -> f64 {
        let work: usize = self.launches.iter().map(|launch| launch.work).sum();
        let left = self.first.len() - self.taken.load(Ordering::Relaxed).min(self.first.len());
        (work * (1 + self.calls.load(Ordering::Relaxed))) as f64 / left.max(1) as f64
    }

    /// The next launch whose kernel is to be compiled.
    fn take(&self) -> Option<&ReadyLaunch> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        self.first.get(number).map(|&i| &self.launches[i])
    }
}

#[derive(Default)]
struct State {
    orders: Vec<Arc<Order>>,
    /// Those that wait for everything.
    waiting: usize,
    closed: bool,
}

struct Shared {
    kernels: Arc<Kernels>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// What thread `number` of `threads` does until this is closed.
    fn work(&self, number: usize, threads: usize) {
        let mut state = self.state();
        while !state.closed {
            let helps = 2 * number < threads || state.waiting > 0;
            let left =
                |order: &&Arc<Order>| order.taken.load(Ordering::Relaxed) < order.first.len();
            let wanted = |order: &&Arc<Order>| {
                // What nobody wants any more is over at once.
                state.waiting > 0 || order.is_worth_it() || order.is_given_up()
            };
            let orders = state.orders.iter().filter(left).filter(wanted);
            let best = orders.max_by(|a, b| a.saving().total_cmp(&b.saving())).cloned();
            match best.filter(|_| helps) {
                None => state = self.wait(state),
                Some(order) => {
                    // Taken under the lock, so that each is taken once.
                    let launch = order.take();
                    drop(state);
                    if let Some(launch) = launch {
                        self.compile(&order, launch);
                    }
                    state = self.state();
                    if order.is_over() {
                        state.orders.retain(|other| !Arc::ptr_eq(other, &order));
                    }
                    self.changed.notify_all();
                }
            }
        }
    }

    fn compile(&self, order: &Order, launch: &ReadyLaunch) {
        // It counts as done whatever happens: somebody may wait for it.
        let _done = Done(order);
        if order.is_given_up() || order.has_failed() {
            return;
        }
        let _behind = preparing(Preparation::Specialisation);
        // Why is told to whoever waits for it: compiled again then, it fails again.
        if self.kernels.one(launch).is_err() {
            order.failed.store(true, Ordering::Release);
        }
    }
}

struct Done<'a>(&'a Order);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.done.fetch_add(1, Ordering::Release);
    }
}

/// Threads that compile, from the first order on.
pub(crate) struct Background {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    pub fn new(kernels: Arc<Kernels>) -> Self {
        let shared = Shared { kernels, state: Mutex::default(), changed: Condvar::new() };
        Self { shared: Arc::new(shared), threads: Mutex::default() }
    }

    /// Notes calls of a routine that ran without the kernels of `order`.
    pub fn ran(&self, order: &Order, calls: usize) {
        if order.ran(calls) {
            // Under the lock, so that no thread that has just looked sleeps over it.
            let _state = self.shared.state();
            self.shared.changed.notify_all();
        }
    }

    /// Has the kernels of `order` compiled, once it is worth it.
    pub fn push(&self, order: Arc<Order>) -> Result<(), BackendError> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_empty() {
            let count = std::thread::available_parallelism().map_or(1, usize::from);
            for number in 0..count {
                let shared = self.shared.clone();
                let name = format!("girih kernels {number}");
                let thread = std::thread::Builder::new().name(name);
                let failed = |e| {
                    BackendError::InvalidRequest(format!(
                        "no thread can be started that compiles kernels ({e}): open with \
                         specialise=now or specialise=never"
                    ))
                };
                threads.push(thread.spawn(move || shared.work(number, count)).map_err(failed)?);
            }
        }
        self.shared.state().orders.push(order);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits until all kernels of these orders are compiled.
    ///
    /// # Errors
    /// Where one cannot be.
    pub fn finish(&self, orders: &[Arc<Order>]) -> Result<(), BackendError> {
        let mut state = self.shared.state();
        state.waiting += 1;
        self.shared.changed.notify_all();
        while !orders.iter().all(|order| order.is_over()) {
            state = self.shared.wait(state);
        }
        state.waiting -= 1;
        drop(state);
        for order in orders.iter().filter(|order| order.has_failed()) {
            self.shared.kernels.of(&order.launches)?;
            order.failed.store(false, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for Background {
    /// Waits for compilers that are running: a process that ended under them would take what they
    /// use away.
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic was told by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::rows;

    #[test]
    fn what_saves_most_is_first() {
        let launch = |work| ReadyLaunch { work, ..rows::general_launch(11, false) };
        let order = |launches, calls| {
            let order = Order::new(launches);
            order.ran(calls);
            order
        };
        // Launches of one text have one kernel.
        let (twice, often) = (order(vec![launch(30), launch(30)], 0), order(vec![launch(20)], 3));
        assert_eq!((twice.first.len(), twice.saving(), often.saving()), (1, 60.0, 80.0));
        let other = ReadyLaunch { work: 60, ..rows::general_launch(12, false) };
        let two = order(vec![launch(40), other], 0);
        assert_eq!((two.first.len(), two.saving()), (2, 50.0));
        assert!(two.take().is_some() && two.saving() == 100.0 && !two.is_ready());
        two.give_up();
        assert!(two.take().is_some() && two.take().is_none() && !two.is_ready());
    }
}
