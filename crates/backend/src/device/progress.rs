//! How long work says how far it has come.

/// Hears how far long work has come. Called from any thread.
pub trait Progress: Sync {
    /// `done` of `total` units of `what` are finished.
    fn report(&self, what: &str, done: usize, total: usize);

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
