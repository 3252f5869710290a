//! Random calls from several threads, for as long as wanted, decrypted and compared with plain
//! results: `cargo xtask soak`.
//!
//! All threads share one server key of each kind; what each of them calls follows from the seed,
//! the part and its number.

mod bits;
mod large;
mod numbers;
mod vectors;

use crate::bootstrap::compare::Differences;
use girih::Device;
use girih::discrete::DiscreteParameters;
use girih::tfhe::ParameterSet;
use girih_backend::poly::random::Numbers;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a call failed that should not.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Gates in chains that stay on the device, functions of three bits, look-up tables.
    Bits,
    /// Signs, floors, digits and functions of long messages, with the toy context.
    Large,
    /// Operations on CKKS vectors, with a toy set, where the device runs programs.
    Vectors,
    /// Gates and look-ups of numbers in slots, where the device runs programs.
    Numbers,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bits, Self::Large, Self::Vectors, Self::Numbers];
}

/// One part of a run.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Where it runs.
    pub device: &'a Device,
    /// The set of gates and look-up tables.
    pub set: &'a ParameterSet,
    /// What all parts of a run share.
    pub seed: u64,
    /// Which part this is: each has keys and inputs of its own.
    pub number: u64,
    /// Threads that call at once.
    pub threads: usize,
    /// Ciphertexts of a batch of gates.
    pub ciphertexts: usize,
    /// The set of numbers in slots, and ciphertexts of a batch of them.
    pub in_slots: Option<(&'a DiscreteParameters, usize)>,
    /// What is called.
    pub kinds: &'a [Kind],
    /// When no new call begins any more, counted from when all keys are loaded.
    pub time: Duration,
}

/// Results that were compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Bits that gates, MUX and majority returned.
    pub gates: u64,
    /// Messages that look-up tables returned.
    pub look_ups: u64,
    /// Results of large-precision functions.
    pub large: u64,
    /// Slots of CKKS vectors.
    pub slots: u64,
    /// Bits in slots that gates returned.
    #[serde(default)]
    pub gates_in_slots: u64,
    /// Numbers in slots that look-up tables returned.
    #[serde(default)]
    pub look_ups_in_slots: u64,
    /// How many of all these were wrong.
    pub wrong: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.gates += other.gates;
        self.look_ups += other.look_ups;
        self.large += other.large;
        self.slots += other.slots;
        self.gates_in_slots += other.gates_in_slots;
        self.look_ups_in_slots += other.look_ups_in_slots;
        self.wrong += other.wrong;
    }
}

/// Makes calls of one kind with keys that all threads share.
trait Caller: Sync {
    /// One call, all of its results compared; a line where some are wrong.
    fn call(&self, numbers: &mut Numbers, tally: &mut Tally) -> Result<Option<String>, Failure>;
}

/// A stream of numbers of its own for each of `path`.
fn numbers(seed: u64, path: &[u64]) -> Numbers {
    let start = Numbers::new(seed).word();
    Numbers::new(path.iter().fold(start, |mixed, &step| Numbers::new(mixed ^ step).word()))
}

/// The seed of a key.
fn key_seed(part: &Part, which: u64) -> [u8; 32] {
    let mut numbers = numbers(part.seed, &[part.number, which]);
    let words = [(); 4].map(|()| numbers.word().to_le_bytes());
    std::array::from_fn(|i| words[i / 8][i % 8])
}

/// Counts what of `got` is not `want`, and says where the first is.
fn compare<T: PartialEq + std::fmt::Debug>(
    what: &str,
    want: &[T],
    got: &[T],
    tally: &mut Tally,
) -> Option<String> {
    let missing = want.len().abs_diff(got.len());
    let differ = |i: &usize| want[*i] != got[*i];
    let wrong = (0..want.len().min(got.len())).filter(differ).count() + missing;
    tally.wrong += wrong as u64;
    let first = (0..want.len().min(got.len())).find(differ);
    match first {
        Some(i) => Some(format!(
            "{what}: {wrong} of {} are wrong, first number {i}: {:?} instead of {:?}",
            want.len(),
            got[i],
            want[i]
        )),
        None if missing > 0 => {
            Some(format!("{what}: {} results instead of {}", got.len(), want.len()))
        }
        None => None,
    }
}

/// What one thread does until time is over or another thread failed.
fn thread(
    part: &Part,
    callers: &[(usize, &dyn Caller)],
    number: u64,
    end: Instant,
    stop: &AtomicBool,
) -> Result<(Tally, Differences), Failure> {
    let mut numbers = numbers(part.seed, &[part.number, 16 + number]);
    let shares: usize = callers.iter().map(|(share, _)| share).sum();
    let (mut tally, mut differences) = (Tally::default(), Differences::new());
    for call in 0.. {
        let mut draw = numbers.below(shares);
        let drawn = callers.iter().find(|(share, _)| {
            let found = draw < *share;
            draw = draw.wrapping_sub(*share);
            found
        });
        let Some((_, caller)) = drawn else { break };
        match caller.call(&mut numbers, &mut tally) {
            Ok(None) => {}
            Ok(Some(line)) => differences.push(format!(
                "seed {}, part {}, thread {number}, call {call}: {line}",
                part.seed, part.number
            )),
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                return Err(format!("thread {number}, call {call}: {error}").into());
            }
        }
        if Instant::now() >= end || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok((tally, differences))
}

/// Makes the keys, calls until the time is over, and returns what was compared and a line for each
/// call with wrong results. Each thread makes at least one call.
///
/// # Errors
/// Whatever the library refuses, with the thread and the call.
pub fn run(part: &Part) -> Result<(Tally, Differences), Failure> {
    if part.threads == 0 || part.ciphertexts == 0 || part.kinds.is_empty() {
        return Err("a run needs a thread, a ciphertext and a kind of calls".into());
    }
    // How often a kind is called beside the others.
    let mut callers: Vec<(usize, Box<dyn Caller>)> = Vec::new();
    for kind in part.kinds {
        match kind {
            Kind::Bits => callers.push((4, Box::new(bits::Bits::new(part)?))),
            Kind::Large => callers.push((1, Box::new(large::Large::new(part)?))),
            Kind::Vectors if part.device.backend().poly().is_some() => {
                callers.push((2, Box::new(vectors::Vectors::new(part)?)))
            }
            Kind::Numbers if part.device.backend().poly().is_some() => {
                callers.push((2, Box::new(numbers::InSlots::new(part)?)))
            }
            Kind::Vectors | Kind::Numbers => {}
        }
    }
    if callers.is_empty() {
        return Err(format!("{} runs none of these kinds", part.device.info().id).into());
    }
    let callers: Vec<(usize, &dyn Caller)> =
        callers.iter().map(|(share, caller)| (*share, caller.as_ref())).collect();
    let (end, stop) = (Instant::now() + part.time, AtomicBool::new(false));
    let results: Vec<_> = std::thread::scope(|scope| {
        let (callers, stop) = (&callers, &stop);
        let start = |number| scope.spawn(move || thread(part, callers, number, end, stop));
        let threads: Vec<_> = (0..part.threads as u64).map(start).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let (mut tally, mut differences) = (Tally::default(), Differences::new());
    for result in results {
        let (done, lines) = result.map_err(|_| "a thread panicked, see above")??;
        tally += done;
        differences.extend(lines);
    }
    Ok((tally, differences))
}
