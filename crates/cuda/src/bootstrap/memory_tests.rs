//! Memory that runs out is an error of the call that asks for it, and the next call works: every
//! allocation of every call is refused once, the queues beneath being as late as their waits allow.

use crate::bootstrap::delayed_tests::{engine, load, shape};
use crate::runtime::delayed::Delay;
use crate::runtime::emulated::Emulated;
use girih_backend::bootstrap::synthetic::Words;
use girih_backend::{
    BackendError, BootstrapJob, Combination, Engine, LinearJob, Operand, Result, Stage,
};
use std::sync::Arc;

/// A call that the device has no memory for, and nothing else that may be wrong.
fn assert_out_of_memory(error: &BackendError) {
    let BackendError::OutOfMemory { bytes, what, .. } = error else { panic!("{error}") };
    assert!(*bytes > 0 && !what.is_empty(), "{error}");
}

/// Runs `call` with no allocation granted, then with one, and so on until it works; returns how
/// often it was refused. `after` runs behind each refusal.
fn with_more_and_more<T>(
    machine: &Emulated,
    mut call: impl FnMut() -> Result<T>,
    mut after: impl FnMut(),
) -> (usize, T) {
    for granted in 0.. {
        machine.grant(Some(granted));
        let result = call();
        machine.grant(None);
        match result {
            Ok(done) => return (granted, done),
            Err(error) => assert_out_of_memory(&error),
        }
        after();
    }
    unreachable!("some number of allocations is enough")
}

fn what_does_not_load_leaves_nothing_behind(machine: &Arc<Emulated>, torus: bool) {
    let (refused, engine) = with_more_and_more(
        machine,
        || load(machine, Delay::None, &[], &shape(torus)),
        || assert_eq!(machine.bytes_in_use(), 0),
    );
    // Two keys and two tables of roots.
    assert!(refused >= 4, "{refused} allocations");
    assert!(machine.bytes_in_use() > 0);
    drop(engine);
    assert_eq!(machine.bytes_in_use(), 0);
}

/// Two engines with the same keys, one of which runs out of memory.
struct Twins {
    machine: Arc<Emulated>,
    short: Engine,
    rich: Engine,
    words: Words,
}

impl Twins {
    fn new(machine: &Arc<Emulated>, torus: bool, delay: Delay) -> Self {
        let shape = shape(torus);
        let [short, rich] = [delay, Delay::None].map(|delay| engine(machine, delay, &[], &shape));
        Self { machine: Arc::clone(machine), short, rich, words: Words::new(8) }
    }

    /// `call` on both, on one with all its allocations refused in turn; between refusals small
    /// calls go on. Returns how many there were.
    fn call(&mut self, what: &str, call: impl Fn(&Engine) -> Result<()>) -> usize {
        let Self { machine, short, rich, .. } = self;
        let (refused, ()) =
            with_more_and_more(machine, || call(short), || small_calls(machine, short, rich, what));
        call(rich).unwrap_or_else(|e| panic!("{what}: {e}"));
        small_calls(machine, short, rich, what);
        refused
    }

    fn write(&mut self, first: usize, count: usize) {
        let len = self.short.shape().ciphertext_len();
        let mask = u32::MAX >> 32u32.saturating_sub(self.short.shape().log2_stored_modulus());
        let data: Vec<u32> =
            (0..count * len).map(|_| self.words.next_word() as u32 & mask).collect();
        for engine in [&self.short, &self.rich] {
            engine.write(first, &data).expect("it is written");
        }
    }

    fn polynomials(&mut self, count: usize) -> Vec<u64> {
        let size = self.short.shape().polynomial_size;
        (0..count * size).map(|_| self.words.next_word() >> 38).collect()
    }
}

fn combination(engine: &Engine, first: usize) -> Combination {
    let operands = [0, 1].map(|i| Operand { ciphertext: (first + i) as u32, weight: 1 });
    Combination::new(&operands, 3, engine.shape().log2_stored_modulus())
}

/// A job for each of `outputs`, of the first few ciphertexts.
fn jobs(engine: &Engine, outputs: std::ops::Range<usize>) -> Vec<BootstrapJob> {
    let job = |output: usize| BootstrapJob {
        input: combination(engine, output % SMALL),
        table: 0,
        table_stride: 0,
        output_offset: 1000,
        log2_output_modulus: engine.shape().log2_stored_modulus(),
        output: output as u32,
        second: None,
    };
    outputs.map(job).collect()
}

fn sums(engine: &Engine, outputs: std::ops::Range<usize>) -> Vec<LinearJob> {
    let job = |output: usize| LinearJob {
        input: combination(engine, output % SMALL),
        log2_output_modulus: engine.shape().log2_stored_modulus(),
        output: output as u32,
    };
    outputs.map(job).collect()
}

/// Ciphertexts that are read by jobs, and then those that small calls write.
const SMALL: usize = 4;
const FIRST: usize = 12;

/// Calls for which there is room already, while nothing more is to be had; all that both engines
/// store is the same afterwards but for what the refused call may have done in part.
fn small_calls(machine: &Emulated, short: &Engine, rich: &Engine, what: &str) {
    let len = short.shape().ciphertext_len();
    let [short, rich] = [short, rich].map(|engine| {
        machine.grant(Some(0));
        // Once in each lane.
        for _ in 0..2 {
            let (one, other) = (SMALL + 1..SMALL + 3, SMALL + 3..SMALL + 5);
            engine.bootstrap(&jobs(engine, one)).unwrap_or_else(|e| panic!("{what}: {e}"));
            engine.combine(&sums(engine, other)).unwrap_or_else(|e| panic!("{what}: {e}"));
        }
        let mut out = vec![0; FIRST * len];
        engine.read(0, &mut out).unwrap_or_else(|e| panic!("{what}: {e}"));
        machine.grant(None);
        out
    });
    assert!(short == rich, "{what}");
}

fn what_is_refused_changes_nothing(machine: &Arc<Emulated>, torus: bool) {
    let mut twins = Twins::new(machine, torus, Delay::Most);
    for engine in [&twins.short, &twins.rich] {
        engine.reserve(FIRST).expect("there is room");
    }
    twins.write(0, FIRST);
    let table = twins.polynomials(1);
    for engine in [&twins.short, &twins.rich] {
        engine.add_tables(&table).expect("there is room");
        // Independent calls take turns: both lanes get what small calls need.
        for outputs in [6..8, 8..10] {
            engine.bootstrap(&jobs(engine, outputs)).expect("there is room");
        }
        for outputs in [6..8, 8..10] {
            engine.combine(&sums(engine, outputs)).expect("there is room");
        }
    }
    let stored = 160;
    assert_eq!(twins.call("reserve", |engine| engine.reserve(stored)), 1);
    assert_eq!((twins.short.stored(), twins.rich.stored()), (stored, stored));
    let tables = twins.polynomials(9);
    let added = |engine: &Engine| engine.add_tables(&tables).map(|at| assert_eq!(at, 1));
    assert_eq!(twins.call("tables", added), 1);
    let run = |engine: &Engine| engine.bootstrap(&jobs(engine, FIRST..80));
    // Jobs and what lies between the kernels; on the torus digits and sums.
    let (refused, least) = (twins.call("bootstrap", run), if torus { 3 } else { 2 });
    assert!(refused >= least, "{refused} refusals of a bootstrap");
    let combined = |engine: &Engine| engine.combine(&sums(engine, 80..stored));
    assert!(twins.call("combine", combined) >= 1);
    let traced = |engine: &Engine| {
        let job = &jobs(engine, FIRST..FIRST + 1)[0];
        engine.trace(job, &[Stage::Combined, Stage::Output]).map(drop)
    };
    assert!(twins.call("trace", traced) >= 1);
    let len = twins.short.shape().ciphertext_len();
    let [short, rich] = [&twins.short, &twins.rich].map(|engine| {
        let mut out = vec![0; stored * len];
        engine.read(0, &mut out).expect("it is read");
        out
    });
    assert!(short == rich);
}

fn memory_that_runs_out_is_an_error_and_the_next_call_works(torus: bool) {
    let machine = Arc::new(Emulated::new().expect("there is a compiler"));
    what_does_not_load_leaves_nothing_behind(&machine, torus);
    what_is_refused_changes_nothing(&machine, torus);
}

#[test]
fn memory_runs_out_on_prime_words() {
    memory_that_runs_out_is_an_error_and_the_next_call_works(false);
}

#[test]
fn memory_runs_out_on_the_native_torus() {
    memory_that_runs_out_is_an_error_and_the_next_call_works(true);
}
