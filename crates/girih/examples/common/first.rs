//! How long a program took until its first result, and at what.

use girih::device::{Preparation, PreparationTime, preparation_times};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

static START: OnceLock<Instant> = OnceLock::new();

/// The time from which on is counted: the first call.
pub fn start() -> Instant {
    *START.get_or_init(Instant::now)
}

/// What a first result took.
#[derive(Clone, Debug, Serialize)]
pub struct FirstResult {
    /// From the start of the program, by the clock.
    pub seconds: f64,
    /// What of it went into preparations, by kind.
    pub preparations: BTreeMap<Preparation, PreparationTime>,
}

impl FirstResult {
    /// Until now.
    pub fn now() -> Self {
        let preparations = preparation_times();
        Self { seconds: start().elapsed().as_secs_f64(), preparations }
    }

    /// The same of the program's first result; none for those that come later.
    #[allow(dead_code)] // Examples have one.
    pub fn first() -> Option<Self> {
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        (!IS_OVER.swap(true, Ordering::Relaxed)).then(Self::now)
    }
}

impl std::fmt::Display for FirstResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s", self.seconds)?;
        let mut before = " of which";
        for (what, time) in &self.preparations {
            write!(f, "{before} {} {:.2} s", what.name(), time.wall_s)?;
            before = ",";
        }
        Ok(())
    }
}
