//! The engine over queues that are as late as their waits allow: results are the same bits.

use crate::bootstrap::engine::CudaEngine;
use crate::bootstrap::limits::{MAX_CLUSTER, limits_of};
use crate::bootstrap::plan::Planner;
use crate::bootstrap::queues::{FIRST, QUEUES, SECOND};
use crate::bootstrap::upload::Loading;
use crate::runtime::delayed::{Delay, Delayed};
use crate::runtime::emulated::Emulated;
use crate::runtime::machine::{Machine, Queue};
use girih_backend::bootstrap::synthetic::{SyntheticKeys, Words};
use girih_backend::{
    BootstrapJob, BootstrapShape, Combination, Engine, Gadget, KeyModulus, LinearJob, NoProgress,
    Operand, PlanRequest, PlanSource, Result, SecretKind, Specialise, Transform,
};
use std::sync::Arc;

/// Ciphertexts of the store, in windows so that some calls have nothing to do with each other.
const WINDOW: u64 = 12;
const STORED: usize = 3 * WINDOW as usize;

pub(super) fn shape(torus: bool) -> BootstrapShape {
    let prime = girih_ring::largest_ntt_prime(27, 128).expect("there is one");
    BootstrapShape {
        lwe_dimension: 3,
        log2_lwe_modulus: 7,
        polynomial_size: 64,
        glwe_dimension: 1,
        packing: 1,
        secret: SecretKind::Binary,
        grouping: 1,
        gadget: if torus {
            Gadget::ClosestRepresentative { log2_base: 10, levels: 2 }
        } else {
            Gadget::Decomposition { log2_base: 9, levels: 3, dropped_bits: 0 }
        },
        key_modulus: if torus { KeyModulus::Torus64 } else { KeyModulus::Words(vec![prime]) },
        log2_ks_modulus: if torus { 12 } else { 14 },
        log2_ks_base: 4,
    }
}

pub(super) fn engine(
    machine: &Arc<Emulated>,
    delay: Delay,
    careless: &'static [Queue],
    shape: &BootstrapShape,
) -> Engine {
    load(machine, delay, careless, shape).expect("it loads")
}

/// An engine over queues with this delay, of one multiprocessor's plans.
pub(super) fn load(
    machine: &Arc<Emulated>,
    delay: Delay,
    careless: &'static [Queue],
    shape: &BootstrapShape,
) -> Result<Engine> {
    load_in_tiers(machine, delay, careless, shape, Specialise::Now)
}

fn load_in_tiers(
    machine: &Arc<Emulated>,
    delay: Delay,
    careless: &'static [Queue],
    shape: &BootstrapShape,
    specialise: Specialise,
) -> Result<Engine> {
    let machine: Arc<dyn Machine> =
        Arc::new(Delayed::new(machine.clone(), delay, &QUEUES, careless));
    let transform = if shape.is_torus() { Transform::Fft } else { Transform::Ntt };
    // One multiprocessor, so that small calls have several waves and something left.
    let planner =
        Planner { device: "cuda", shape, transform, limits: &limits_of(90), cluster: MAX_CLUSTER };
    let plans = planner.candidates(&PlanRequest::default()).expect("it fits");
    let keys = SyntheticKeys::new(shape.clone(), 5);
    let loading = Loading { machine: &machine, keys: &keys, progress: &NoProgress };
    let engine = CudaEngine::load(&loading, plans, PlanSource::Model, specialise, None)?;
    Ok(Engine::new(Box::new(engine)))
}

/// Some places of a window that no other operand or result of the call has.
fn places(words: &mut Words, window: u64, count: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (window * WINDOW..(window + 1) * WINDOW).map(|p| p as u32).collect();
    (0..count).map(|_| all.swap_remove(words.next_word() as usize % all.len())).collect()
}

/// Calls by dice, the same for the same seed; returns everything that was read.
fn play(engine: &Engine, seed: u64) -> Vec<u32> {
    let shape = engine.shape().clone();
    let (log2_q, len, mut words) =
        (shape.log2_stored_modulus(), shape.ciphertext_len(), Words::new(seed));
    let mut seen = Vec::new();
    let fill = |words: &mut Words, count: usize| -> Vec<u32> {
        (0..count)
            .map(|_| words.next_word() as u32 & (u32::MAX >> 32u32.saturating_sub(log2_q)))
            .collect()
    };
    engine.reserve(STORED).expect("there is room");
    engine.write(0, &fill(&mut words, STORED * len)).expect("it is written");
    let polynomial: Vec<u64> =
        (0..shape.polynomial_size).map(|_| words.next_word() >> 38).collect();
    let mut tables = engine.add_tables(&polynomial).expect("it is added") + 1;
    for _ in 0..40 {
        let window = words.next_word() % (STORED as u64 / WINDOW);
        let input = |of: &[u32]| {
            Combination::new(
                &[0, 1].map(|i| Operand { ciphertext: of[i], weight: 1 - 2 * i as i32 }),
                3,
                log2_q,
            )
        };
        match words.next_word() % 8 {
            0..4 => {
                let jobs = 1 + words.next_word() as usize % 9;
                let of = places(&mut words, window, jobs + 2);
                let job = |&output: &u32| BootstrapJob {
                    input: input(&of),
                    table: output % tables,
                    table_stride: 0,
                    output_offset: 1000,
                    log2_output_modulus: log2_q,
                    output,
                    second: None,
                };
                engine.bootstrap(&of[2..].iter().map(job).collect::<Vec<_>>()).expect("it runs");
            }
            4 => {
                let of = places(&mut words, window, 5);
                let job = |&output: &u32| LinearJob {
                    input: input(&of),
                    log2_output_modulus: log2_q,
                    output,
                };
                engine.combine(&of[2..].iter().map(job).collect::<Vec<_>>()).expect("it runs");
            }
            5 => {
                let first = window * WINDOW + words.next_word() % (WINDOW - 3);
                let data = fill(&mut words, 3 * len);
                engine.write(first as usize, &data).expect("it is written");
            }
            6 => {
                let polynomial: Vec<u64> =
                    (0..shape.polynomial_size).map(|_| words.next_word() >> 38).collect();
                match words.next_word() % 4 {
                    0 => tables = engine.add_tables(&polynomial).expect("it is added") + 1,
                    place => engine
                        .write_tables(place as u32 % tables, &polynomial)
                        .expect("it is written"),
                }
            }
            _ => {
                let first = window * WINDOW + words.next_word() % (WINDOW - 3);
                let mut out = vec![0; 3 * len];
                engine.read(first as usize, &mut out).expect("it is read");
                seen.extend(out);
            }
        }
    }
    let mut out = vec![0; STORED * len];
    engine.read(0, &mut out).expect("it is read");
    seen.extend(out);
    seen
}

#[test]
fn results_do_not_depend_on_when_queues_run() {
    for torus in [false, true] {
        let shape = shape(torus);
        let machine = Arc::new(Emulated::new().expect("there is a compiler"));
        let at_once = engine(&machine, Delay::None, &[], &shape);
        let delays = [Delay::Most, Delay::Dice(1), Delay::Dice(2)];
        let delayed = delays.map(|delay| (delay, engine(&machine, delay, &[], &shape)));
        for seed in 0..6 {
            let expected = play(&at_once, seed);
            for (delay, engine) in &delayed {
                assert!(play(engine, seed) == expected, "torus {torus}, {delay:?}, seed {seed}");
            }
        }
    }
}

/// That the test above can fail: without waits between calls it does.
#[test]
fn without_waits_between_calls_results_are_wrong() {
    let shape = shape(false);
    let machine = Arc::new(Emulated::new().expect("there is a compiler"));
    let at_once = engine(&machine, Delay::None, &[], &shape);
    for delay in [Delay::Most, Delay::Dice(1)] {
        let engine = engine(&machine, delay, &[FIRST, SECOND], &shape);
        assert!((0..3).any(|seed| play(&engine, seed) != play(&at_once, seed)), "{delay:?}");
    }
}

#[test]
fn results_do_not_depend_on_which_rotations_are_compiled() {
    let shape = shape(false);
    let machine = Arc::new(Emulated::new().expect("there is a compiler"));
    let load = |specialise, delay| {
        load_in_tiers(&machine, delay, &[], &shape, specialise).expect("it loads")
    };
    let has_whole = |engine: &Engine| engine.plan().get("groups").is_some();
    for seed in 0..3 {
        let now = load(Specialise::Now, Delay::None);
        assert!(has_whole(&now) && now.settle().expect("nothing to do") == 0);
        let expected = play(&now, seed);
        let never = load(Specialise::Never, Delay::Most);
        assert!(!has_whole(&never) && never.settle().expect("nothing to do") == 0);
        assert!(play(&never, seed) == expected && !has_whole(&never), "seed {seed}");
        // Emulated waves count as seconds: the first large batch waits for the others.
        let background = load(Specialise::Background, Delay::Most);
        assert!(!has_whole(&background));
        assert!(play(&background, seed) == expected && has_whole(&background), "seed {seed}");
        assert_eq!(background.settle().expect("nothing to do"), 0);
        let settled = load(Specialise::Background, Delay::Dice(1));
        assert!(settled.settle().expect("they compile") > 0 && has_whole(&settled));
        assert!(play(&settled, seed) == expected, "seed {seed}");
    }
}
