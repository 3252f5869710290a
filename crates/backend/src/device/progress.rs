//! How long work says how far it has come.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Hears how far long work has come. Called from any thread.
pub trait Progress: Sync {
    /// `done` of `total` units of `what` are finished.
    fn report(&self, what: &str, done: usize, total: usize);

    /// A program of `total` units of `what` begins, each of which may take long;
    /// [`Progress::end`] tells that it is over, whether all of them are done or not.
    fn begin(&self, what: &str, total: usize) {
        self.report(what, 0, total);
    }

    /// The program of `what` is over.
    fn end(&self, what: &str) {
        let _ = what;
    }

    /// Something worth telling the user once, such as a cache that could not be used.
    fn note(&self, message: &str) {
        let _ = message;
    }
}

/// Hears nothing.
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _: &str, _: usize, _: usize) {}
}

/// Units of one kind of work that threads finish in any order, counted for whoever listens.
///
/// A report that unwinds, as that of a caller who was interrupted, ends all the work: threads ask
/// [`Units::is_over`] before they begin another unit, and whoever waits for them unwinds as well.
pub struct Units<'a> {
    progress: &'a dyn Progress,
    what: &'a str,
    total: usize,
    done: AtomicUsize,
    is_over: AtomicBool,
}

impl<'a> Units<'a> {
    /// `total` units of `what`, none of which is done.
    pub fn new(progress: &'a dyn Progress, what: &'a str, total: usize) -> Self {
        let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { progress, what, total, done, is_over }
    }

    /// Whether a report has unwound: what is made now is dropped.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Another unit is done.
    pub fn done(&self) {
        struct Unwinds<'a>(&'a AtomicBool);
        impl Drop for Unwinds<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let unwinds = Unwinds(&self.is_over);
        self.progress.report(self.what, done, self.total);
        std::mem::forget(unwinds);
    }
}

/// A program whose steps are counted before the first begins, so that whoever listens is told how
/// many there are, which are done and, by their pace, about how long the rest takes. It is over
/// when dropped.
///
/// ```
/// use girih_backend::{NoProgress, Steps};
///
/// let steps = Steps::begin(&NoProgress, "layers", 3);
/// for _ in 0..3 {
///     // .. one layer
///     steps.done();
/// }
/// ```
pub struct Steps<'a>(Units<'a>);

impl<'a> Steps<'a> {
    /// A program of `total` steps, called `what`, begins.
    pub fn begin(progress: &'a dyn Progress, what: &'a str, total: usize) -> Self {
        progress.begin(what, total);
        Self(Units::new(progress, what, total))
    }

    /// Another step is done.
    pub fn done(&self) {
        self.0.done();
    }
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        self.0.progress.end(self.0.what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Mutex;

    /// Unwinds at the third report.
    struct Enough;

    impl Progress for Enough {
        fn report(&self, what: &str, done: usize, total: usize) {
            assert_eq!((what, total), ("rows", 5));
            if done == 3 {
                resume_unwind(Box::new(()));
            }
        }
    }

    /// Writes down what it hears.
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Progress for Heard {
        fn report(&self, what: &str, done: usize, total: usize) {
            self.0.lock().expect("no panic").push(format!("{what} {done} {total}"));
        }

        fn end(&self, what: &str) {
            self.0.lock().expect("no panic").push(format!("{what} end"));
        }
    }

    #[test]
    fn programs_tell_their_length_first_and_their_end_last() {
        let heard = Heard::default();
        let steps = Steps::begin(&heard, "layers", 3);
        steps.done();
        drop(steps);
        let heard = heard.0.into_inner().expect("no panic");
        assert_eq!(heard, ["layers 0 3", "layers 1 3", "layers end"]);
    }

    #[test]
    fn work_is_over_once_a_report_unwinds() {
        let units = Units::new(&Enough, "rows", 5);
        units.done();
        units.done();
        assert!(!units.is_over());
        assert!(catch_unwind(AssertUnwindSafe(|| units.done())).is_err());
        assert!(units.is_over());
    }
}
