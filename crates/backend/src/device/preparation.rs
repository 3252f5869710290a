//! What a process spends before its first result: host time by kind of preparation, counted always.
//!
//! A preparation begins where its work is done, on whichever thread; within it another may begin,
//! which then counts instead. So no time counts twice on one thread, and the time of a kind by the
//! clock is that in which at least one thread was at it.

use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// What is done before a first result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Preparation {
    /// Keys are made.
    Keys,
    /// Words of keys are expanded, or brought into the order of a device, by the host.
    Expansion,
    /// Keys, vectors and tables are copied to a device.
    Upload,
    /// Values are encrypted.
    Encryption,
    /// Operations are recorded.
    Recording,
    /// Vectors are encoded: their coefficients, and the words that a device multiplies by.
    Encoding,
    /// Programs become schedules, and schedules launches.
    Lowering,
    /// Kernels are compiled, or read from where they are kept, and loaded.
    Compilation,
    /// Kernels for one program alone are compiled behind what runs: nobody waits for it.
    Specialisation,
    /// Plans are measured.
    Tuning,
}

impl Preparation {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Expansion => "expansion",
            Self::Upload => "upload",
            Self::Encryption => "encryption",
            Self::Recording => "recording",
            Self::Encoding => "encoding",
            Self::Lowering => "lowering",
            Self::Compilation => "compilation",
            Self::Specialisation => "specialisation",
            Self::Tuning => "tuning",
        }
    }
}

/// How long preparations of a kind took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PreparationTime {
    /// Seconds by the clock in which at least one thread was at it.
    pub wall_s: f64,
    /// Seconds of all threads that began one; those that only lend a hand are not counted.
    pub threads_s: f64,
    /// How many were begun.
    pub count: u64,
}

#[derive(Default)]
struct Running {
    time: PreparationTime,
    threads: usize,
    since: Option<Instant>,
}

static ALL: Mutex<BTreeMap<Preparation, Running>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// What this thread is at, the innermost last, and since when that counts.
    static OWN: RefCell<Vec<(Preparation, Instant)>> = const { RefCell::new(Vec::new()) };
}

// Sums of times hold no invariant that a panic elsewhere could break.
fn all() -> MutexGuard<'static, BTreeMap<Preparation, Running>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(what: Preparation, now: Instant) {
    let mut all = all();
    let running = all.entry(what).or_default();
    if running.threads == 0 {
        running.since = Some(now);
    }
    running.threads += 1;
}

fn end(what: Preparation, since: Instant, now: Instant) {
    let mut all = all();
    let running = all.entry(what).or_default();
    running.time.threads_s += now.duration_since(since).as_secs_f64();
    running.threads = running.threads.saturating_sub(1);
    if running.threads == 0
        && let Some(since) = running.since.take()
    {
        running.time.wall_s += now.duration_since(since).as_secs_f64();
    }
}

/// A preparation from [`preparing`] to its drop, on the thread that began it.
#[must_use = "it ends where it is dropped"]
pub struct Preparing(PhantomData<*const ()>);

/// Begins a preparation: this thread's time counts for it until the guard is dropped, but for what
/// it spends on those that begin meanwhile.
pub fn preparing(what: Preparation) -> Preparing {
    let now = Instant::now();
    OWN.with_borrow_mut(|own| {
        // What nobody waits for is one kind, whatever it is made of.
        let behind = own.first().is_some_and(|(first, _)| *first == Preparation::Specialisation);
        let what = if behind { Preparation::Specialisation } else { what };
        if let Some((outer, since)) = own.last() {
            end(*outer, *since, now);
        }
        begin(what, now);
        all().entry(what).or_default().time.count += 1;
        own.push((what, now));
    });
    Preparing(PhantomData)
}

impl Drop for Preparing {
    fn drop(&mut self) {
        let now = Instant::now();
        OWN.with_borrow_mut(|own| {
            if let Some((what, since)) = own.pop() {
                end(what, since, now);
            }
            if let Some((outer, since)) = own.last_mut() {
                begin(*outer, now);
                *since = now;
            }
        });
    }
}

/// What preparations of each kind took in this process until now; kinds that never began are left
/// out.
pub fn preparation_times() -> BTreeMap<Preparation, PreparationTime> {
    let now = Instant::now();
    let time = |running: &Running| {
        let open = running.since.map_or(0.0, |since| now.duration_since(since).as_secs_f64());
        PreparationTime { wall_s: running.time.wall_s + open, ..running.time }
    };
    all().iter().map(|(&what, running)| (what, time(running))).collect()
}

/// Kinds that threads are at now and that something waits for: since how long without a pause, and
/// how many were begun in this process.
pub fn preparations_running() -> Vec<(Preparation, Duration, u64)> {
    let now = Instant::now();
    let one = |(&what, running): (&Preparation, &Running)| {
        let since = running.since.filter(|_| what != Preparation::Specialisation)?;
        Some((what, now.duration_since(since), running.time.count))
    };
    all().iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No other test of this crate begins preparations of these kinds.
    #[test]
    fn what_begins_within_counts_instead_and_threads_at_once_count_once_by_the_clock() {
        let nap = || std::thread::sleep(Duration::from_millis(30));
        {
            let _outer = preparing(Preparation::Tuning);
            nap();
            let running = preparations_running();
            let tuning = running.iter().find(|(what, ..)| *what == Preparation::Tuning);
            let &(_, took, count) = tuning.expect("this thread is at it");
            assert!(took >= Duration::from_millis(30) && count == 1, "{took:?}");
            std::thread::scope(|scope| {
                let _waits = preparing(Preparation::Keys);
                for _ in 0..2 {
                    scope.spawn(|| {
                        let _inner = preparing(Preparation::Keys);
                        nap();
                    });
                }
            });
            nap();
        }
        nap();
        assert!(preparations_running().iter().all(|(what, ..)| *what != Preparation::Tuning));
        let times = preparation_times();
        let (tuning, keys) = (times[&Preparation::Tuning], times[&Preparation::Keys]);
        assert_eq!((tuning.count, keys.count), (1, 3));
        assert!(tuning.wall_s >= 0.06 && tuning.wall_s == tuning.threads_s, "{tuning:?}");
        // Two that sleep at once, each for itself.
        assert!(keys.threads_s >= 0.06 && keys.wall_s <= keys.threads_s - 0.02, "{keys:?}");
    }
}
