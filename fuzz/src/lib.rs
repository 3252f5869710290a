//! Every decoder, parser and file format under changed inputs: none may panic, take long, or accept
//! what it would write otherwise.
//!
//! A [`Target`] is what reads bytes and some good inputs of it. [`run`] changes those
//! ([`Mutator`]), computes length and checksum of serialized things anew, so that what lies behind
//! them is reached, and judges each reading. All of it follows from one seed: a finding is repeated
//! by its seed, or by the bytes that it comes with.
//!
//! `cargo xtask fuzz --minutes N` runs it, with parsers of its own; a new decoder is one entry in
//! [`targets`].

mod mutate;
mod targets;
#[allow(dead_code, reason = "examples read more of a file than whether it is one")]
#[path = "../../crates/girih/examples/common/tensors.rs"]
mod tensors;

pub use mutate::Mutator;
pub use targets::{Outcome, Target, targets, text};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest that any reading of less than [`LARGE`] bytes may take.
pub const LIMIT: Duration = Duration::from_millis(50);

/// Inputs from here on may take longer.
pub const LARGE: usize = 1 << 20;

/// An input that was not read as it must be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Name of the target.
    pub target: &'static str,
    /// What went wrong, in one line.
    pub what: String,
    /// The input.
    pub input: Vec<u8>,
}

/// What was done to one target.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Inputs read.
    pub read: u64,
    /// Inputs accepted: changed, and still good.
    pub accepted: u64,
    /// The longest time that an input took.
    pub slowest: Duration,
}

/// Reads `input` and judges how.
///
/// # Errors
/// What went wrong: a panic, too long a time (the least of three), or a complaint of the target.
pub fn judge(target: &Target, input: &[u8]) -> Result<(Outcome, Duration), String> {
    let (outcome, mut took) = timed(target, input)?;
    if input.len() < LARGE {
        // Only what takes long again and again is slow.
        for _ in 0..2 {
            if took > LIMIT {
                took = took.min(timed(target, input)?.1);
            }
        }
        if took > LIMIT {
            return Err(format!("took {took:?} for {} bytes", input.len()));
        }
    }
    Ok((outcome, took))
}

fn timed(target: &Target, input: &[u8]) -> Result<(Outcome, Duration), String> {
    match catch_unwind(AssertUnwindSafe(|| target.read(input))) {
        Ok(outcome) => outcome,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(format!("panicked: {}", text.unwrap_or_default().replace('\n', " ")))
        }
    }
}

/// Reads changed inputs of all `targets` in turn until `is_over`; one target stops at its first
/// finding. Gives a count for each target, in their order, and what was found.
pub fn run(
    targets: &[Target],
    seed: u64,
    mut is_over: impl FnMut() -> bool,
) -> (Vec<Count>, Vec<Finding>) {
    let quiet = Quiet::new();
    let mut mutator = Mutator::new(seed);
    let mut counts = vec![Count::default(); targets.len()];
    let mut findings: Vec<Finding> = Vec::new();
    'all: loop {
        for (target, count) in targets.iter().zip(&mut counts) {
            if is_over() || findings.len() == targets.len() {
                break 'all;
            }
            if findings.iter().any(|finding| finding.target == target.name) {
                continue;
            }
            let input = mutator.change(target);
            count.read += 1;
            match judge(target, &input) {
                Ok((outcome, took)) => {
                    count.accepted += u64::from(outcome == Outcome::Accepted);
                    count.slowest = count.slowest.max(took);
                }
                Err(what) => findings.push(Finding { target: target.name, what, input }),
            }
        }
    }
    drop(quiet);
    (counts, findings)
}

/// While it lives, panics of this thread print nothing: they are caught and reported.
struct Quiet(Arc<Mutex<Option<Hook>>>);

type Hook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync>;

impl Quiet {
    fn new() -> Self {
        let before = Arc::new(Mutex::new(Some(std::panic::take_hook())));
        let (others, this) = (before.clone(), std::thread::current().id());
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() != this
                && let Some(hook) = &*others.lock().unwrap_or_else(PoisonError::into_inner)
            {
                hook(info);
            }
        }));
        Self(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(hook) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            std::panic::set_hook(hook);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// A reader with a fault that `is_hit` describes.
    fn faulty(is_hit: fn(&[u8]) -> bool, fault: fn() -> Result<Outcome, String>) -> Target {
        Target::new("faulty", vec![b"length = 12, name = \"x\"".to_vec()], move |bytes| {
            if is_hit(bytes) { fault() } else { Ok(Outcome::Refused) }
        })
    }

    fn finds(target: Target) -> Option<String> {
        let start = Instant::now();
        let (_, findings) = run(&[target], 1, || start.elapsed() > Duration::from_secs(20));
        findings.into_iter().next().map(|finding| finding.what)
    }

    #[test]
    fn planted_faults_are_found() {
        let negative = |bytes: &[u8]| bytes.windows(4).any(|w| w == b"= -1");
        let panics = faulty(negative, || panic!("a planted fault"));
        assert_eq!(finds(panics), Some("panicked: a planted fault".into()));
        let long = |bytes: &[u8]| bytes.len() > 10_000;
        let slow = faulty(long, || {
            let start = cpu_time::ProcessTime::now();
            while start.elapsed() < Duration::from_millis(60) {}
            Ok(Outcome::Refused)
        });
        assert!(finds(slow).is_some_and(|what| what.starts_with("took")));
        let short = |bytes: &[u8]| bytes.is_empty();
        assert_eq!(finds(faulty(short, || Err("differs".into()))), Some("differs".into()));
    }

    #[test]
    fn one_seed_makes_one_run() {
        let inputs = |seed| {
            let targets = targets();
            let mut mutator = Mutator::new(seed);
            (0..40).map(|i| mutator.change(&targets[i % 3])).collect::<Vec<_>>()
        };
        assert_eq!(inputs(3), inputs(3));
        assert_ne!(inputs(3), inputs(4));
    }

    /// Some of what CI runs for a minute, and that good inputs are accepted as they are.
    #[test]
    fn every_target_stands_some_changes() {
        let all = targets();
        for target in &all {
            for seed in target.seeds() {
                let (outcome, _) =
                    judge(target, seed).unwrap_or_else(|e| panic!("{}: {e}", target.name));
                assert_eq!(outcome, Outcome::Accepted, "{}", target.name);
            }
        }
        let mut left = 100 * all.len();
        let (counts, findings) = run(&all, 7, || {
            left -= 1;
            left == 0
        });
        let shown: Vec<_> = findings.iter().map(|f| format!("{}: {}", f.target, f.what)).collect();
        assert!(shown.is_empty(), "{shown:#?}");
        assert!(counts.iter().all(|count| count.read > 50));
    }
}
