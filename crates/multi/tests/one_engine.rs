//! Several devices are one: whatever is asked of them, in whatever order, the store holds what it
//! holds on a single one.

mod members;

use girih_backend::bootstrap::synthetic::{
    SyntheticKeys, Words, small_shape as shape, torus_shape,
};
use girih_backend::{
    Backend, BootstrapJob, BootstrapShape, Combination, Engine, Gadget, LinearJob, LoadOptions,
    LoadRequest, Operand, Result, SecondOutput, Stage, Transform,
};
use girih_cpu::CpuBackend;
use girih_multi::MultiBackend;
use members::{Refusing, Renamed};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn exact() -> LoadOptions {
    LoadOptions::default().with_transform(Transform::Ntt)
}

/// As many CPUs, alike or each of a name of its own.
fn several(members: usize, alike: bool) -> MultiBackend {
    let member = |i| -> Arc<dyn Backend> {
        if alike { Arc::new(CpuBackend::new()) } else { Arc::new(Renamed::new(&format!("cpu{i}"))) }
    };
    MultiBackend::new((0..members).map(member).collect()).expect("2 to 32").with_least_share(1)
}

fn load(backend: &dyn Backend, keys: &SyntheticKeys) -> Engine {
    LoadRequest::new(keys).options(&exact()).load(backend).expect("it loads")
}

fn random(words: &mut Words, count: usize, log2: u32) -> Vec<u32> {
    (0..count).map(|_| words.below(1 << log2) as u32).collect()
}

fn combination(words: &mut Words, places: &[u32], log2_modulus: u32) -> Combination {
    let operand = |ciphertext: &u32| Operand {
        ciphertext: *ciphertext,
        weight: [1, -1, 2, 3][*ciphertext as usize % 4],
    };
    Combination::new(
        &places.iter().map(operand).collect::<Vec<_>>(),
        words.below(16) as u32,
        log2_modulus,
    )
}

/// Distinct places in random order.
fn shuffled(words: &mut Words, stored: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..stored as u32).collect();
    for i in (1..all.len()).rev() {
        all.swap(i, words.below(i as u64 + 1) as usize);
    }
    all
}

/// A random list in which no job reads what another writes: outputs from one part of a shuffled
/// store, operands from the rest, and some that replace their own operand.
fn independent<J>(
    words: &mut Words,
    stored: usize,
    most: usize,
    job: impl Fn(&mut Words, &[u32], u32) -> J,
) -> Vec<J> {
    let places = shuffled(words, stored);
    let (outputs, inputs) = places.split_at(1 + words.below(most.min(stored / 2) as u64) as usize);
    outputs
        .iter()
        .map(|&output| {
            let count = words.below(4) as usize;
            let mut operands: Vec<u32> =
                (0..count).map(|_| inputs[words.below(inputs.len() as u64) as usize]).collect();
            if words.below(3) == 0 {
                operands.push(output);
            }
            job(words, &operands, output)
        })
        .collect()
}

fn same(engine: &Engine, reference: &Engine, first: usize, count: usize, step: usize) {
    let len = engine.shape().ciphertext_len();
    let (mut found, mut wanted) = (vec![0; count * len], vec![0; count * len]);
    engine.read(first, &mut found).expect("in range");
    reference.read(first, &mut wanted).expect("in range");
    assert_eq!(found, wanted, "ciphertexts {first}..{} after step {step}", first + count);
}

/// Random calls, the same to both; every few of them the whole stores are compared.
fn run(members: usize, alike: bool, seed: u64) {
    let (shape, mut words) = (shape(), Words::new(seed));
    let keys = SyntheticKeys::new(shape.clone(), seed);
    let (backend, cpu) = (several(members, alike), CpuBackend::new());
    let (mut engines, mut references) = (vec![load(&backend, &keys)], vec![load(&cpu, &keys)]);
    // A further key with another gadget, on the same store.
    let coarser = BootstrapShape {
        gadget: Gadget::Decomposition { log2_base: 14, levels: 2, dropped_bits: 0 },
        ..shape.clone()
    };
    let coarser = SyntheticKeys::new(coarser, seed + 1);
    fn beside(engine: &Engine, keys: &SyntheticKeys, backend: &dyn Backend) -> Engine {
        LoadRequest::new(keys).options(&exact()).beside(engine).load(backend).expect("beside")
    }
    let second = beside(&engines[0], &coarser, &backend);
    engines.push(second);
    let second = beside(&references[0], &coarser, &cpu);
    references.push(second);
    let modulus = shape.accumulator_modulus().expect("prime words");
    let table = |words: &mut Words| {
        (0..shape.polynomial_size).map(|_| words.below(modulus)).collect::<Vec<u64>>()
    };

    let mut stored = 40;
    let mut tables = 0;
    let both = |call: &dyn Fn(&Engine) -> Result<()>, which: usize| {
        for engine in [&engines[which], &references[which]] {
            call(engine).unwrap_or_else(|e| panic!("{e}"));
        }
    };
    both(&|e| e.reserve(stored), 0);
    assert_eq!(engines[1].stored(), stored);
    for step in 0..60 {
        let which = words.below(2) as usize;
        match words.below(8) {
            _ if tables < 3 => {
                // Two polynomials, one for each slot.
                let polynomials = [table(&mut words), table(&mut words)].concat();
                let added = |e: &Engine| e.add_tables(&polynomials).expect("valid");
                // Devices that were timed have a table of their own first, which nobody sees.
                let (first, reference) = (added(&engines[which]), added(&references[which]));
                assert_eq!(first, reference);
                tables += 2;
            }
            0 | 1 => {
                let first = words.below(stored as u64) as usize;
                let count = 1 + words.below((stored - first) as u64) as usize;
                let text = random(&mut words, count * shape.ciphertext_len(), 9);
                both(&|e| e.write(first, &text), which);
            }
            2 => {
                stored += words.below(30) as usize;
                both(&|e| e.reserve(stored), which);
            }
            3 => {
                let jobs =
                    independent(&mut words, stored, 30, |words, operands, output| LinearJob {
                        input: combination(words, operands, 9),
                        log2_output_modulus: 5 + words.below(5) as u32,
                        output,
                    });
                both(&|e| e.combine(&jobs), which);
            }
            4 => {
                let first = words.below(tables as u64 - 1) as u32;
                let polynomials = [table(&mut words), table(&mut words)].concat();
                both(&|e| e.write_tables(first, &polynomials), which);
            }
            _ => {
                let jobs =
                    independent(&mut words, stored, 25, |words, operands, output| BootstrapJob {
                        input: combination(words, operands, 9),
                        table: words.below(tables as u64 - 1) as u32,
                        table_stride: words.below(2) as u32,
                        output_offset: words.below(modulus),
                        log2_output_modulus: 9,
                        output,
                        second: None,
                    });
                both(&|e| e.bootstrap(&jobs), which);
            }
        }
        let first = words.below(stored as u64) as usize;
        same(
            &engines[which],
            &references[which],
            first,
            1 + words.below((stored - first) as u64) as usize,
            step,
        );
        if step % 5 == 0 {
            same(&engines[0], &references[0], 0, stored, step);
        }
    }
    both(&|e| e.synchronize(), 0);
    same(&engines[1], &references[1], 0, stored, 60);
}

#[test]
fn two_are_one() {
    (0..4).for_each(|seed| run(2, true, seed));
}

#[test]
fn five_are_one() {
    (10..13).for_each(|seed| run(5, true, seed));
}

#[test]
fn devices_of_other_names_are_timed_and_are_one() {
    run(3, false, 20);
}

/// Threads that work on places of their own, with lists so short that each goes to one member, and
/// with lists that are divided.
#[test]
fn threads_call_at_once() {
    const PLACES: usize = 30;
    let (shape, keys) = (shape(), SyntheticKeys::new(shape(), 5));
    for least in [1, 16, 1000] {
        let members = (0..3).map(|_| Arc::new(CpuBackend::new()) as Arc<dyn Backend>).collect();
        let several = MultiBackend::new(members).expect("2 to 32").with_least_share(least);
        let (engine, reference) = (load(&several, &keys), load(&CpuBackend::new(), &keys));
        let table: Vec<u64> = (0..shape.polynomial_size as u64).map(|i| i * 500_000).collect();
        for engine in [&engine, &reference] {
            engine.reserve(4 * PLACES).expect("memory");
            engine.add_tables(&table).expect("valid");
        }
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (engine, reference, shape) = (&engine, &reference, &shape);
                scope.spawn(move || {
                    let mut words = Words::new(100 + thread as u64);
                    let first = thread * PLACES;
                    for step in 0..12 {
                        let text = random(&mut words, PLACES * shape.ciphertext_len(), 9);
                        let jobs =
                            independent(&mut words, PLACES, 20, |words, operands, output| {
                                let operands: Vec<u32> =
                                    operands.iter().map(|o| o + first as u32).collect();
                                let input = combination(words, &operands, 9);
                                let output = output + first as u32;
                                BootstrapJob {
                                    input,
                                    table: 0,
                                    table_stride: 0,
                                    output_offset: 1,
                                    log2_output_modulus: 9,
                                    output,
                                    second: None,
                                }
                            });
                        for engine in [engine, reference] {
                            engine.write(first, &text).expect("in range");
                            engine.bootstrap(&jobs).expect("valid");
                        }
                        same(engine, reference, first, PLACES, step);
                    }
                });
            }
        });
        same(&engine, &reference, 0, 4 * PLACES, 12);
    }
}

/// More scattered ciphertexts than pass at once.
#[test]
fn thousands_move() {
    let (shape, mut words) = (shape(), Words::new(7));
    let keys = SyntheticKeys::new(shape.clone(), 7);
    let (engine, reference) = (load(&several(2, true), &keys), load(&CpuBackend::new(), &keys));
    let stored = 6000;
    let text = random(&mut words, stored * shape.ciphertext_len(), 9);
    // Every second ciphertext is computed where its operand is, at the other end of the store; then
    // all are added up crosswise.
    let copy = |from: u32, output| LinearJob {
        input: Combination::new(&[Operand { ciphertext: from, weight: 1 }], 1, 9),
        log2_output_modulus: 9,
        output,
    };
    let first: Vec<LinearJob> = (0..1500).map(|i| copy(4 * i, 5999 - 2 * i)).collect();
    let crossed: Vec<LinearJob> = (0..2000)
        .map(|i| {
            let operands = [2 * i + 1, 5998 - 2 * (i % 900), 3001]
                .map(|ciphertext| Operand { ciphertext, weight: 1 });
            LinearJob {
                input: Combination::new(&operands, 0, 9),
                log2_output_modulus: 9,
                output: 2 * i,
            }
        })
        .filter(|j| j.output < 4000)
        .collect();
    for engine in [&engine, &reference] {
        engine.reserve(stored).expect("memory");
        engine.write(0, &text).expect("in range");
        engine.combine(&first).expect("independent");
        engine.combine(&crossed).expect("independent");
    }
    same(&engine, &reference, 0, stored, 0);
}

/// What a copy that failed should have brought is brought by the next call.
#[test]
fn a_copy_that_failed_is_none() {
    let (shape, keys, refuses) =
        (shape(), SyntheticKeys::new(shape(), 3), Arc::new(AtomicBool::new(false)));
    let member = || Arc::new(Refusing(CpuBackend::new(), Arc::clone(&refuses))) as Arc<dyn Backend>;
    let several = MultiBackend::new(vec![member(), member()]).expect("2 to 32").with_least_share(1);
    let (engine, reference) = (load(&several, &keys), load(&CpuBackend::new(), &keys));
    let text = random(&mut Words::new(4), 4 * shape.ciphertext_len(), 9);
    for engine in [&engine, &reference] {
        engine.reserve(4).expect("memory");
        engine.write(0, &text).expect("in range");
    }
    let operands = [0, 3].map(|ciphertext| Operand { ciphertext, weight: 1 });
    let sum =
        [LinearJob { input: Combination::new(&operands, 0, 9), log2_output_modulus: 9, output: 1 }];
    refuses.store(true, Ordering::SeqCst);
    assert!(engine.combine(&sum).expect_err("it refuses").to_string().contains("out of memory"));
    refuses.store(false, Ordering::SeqCst);
    for engine in [&engine, &reference] {
        engine.combine(&sum).expect("valid");
    }
    same(&engine, &reference, 0, 4, 0);
}

#[test]
fn a_trace_shows_what_one_device_shows() {
    let (shape, mut words) = (shape(), Words::new(9));
    let keys = SyntheticKeys::new(shape.clone(), 9);
    let (engine, reference) = (load(&several(3, true), &keys), load(&CpuBackend::new(), &keys));
    let text = random(&mut words, 9 * shape.ciphertext_len(), 9);
    let table: Vec<u64> = (0..shape.polynomial_size as u64).collect();
    let stages = [Stage::Combined, Stage::Accumulator { steps: 2 }, Stage::Output];
    let traces = [&engine, &reference].map(|engine| {
        engine.reserve(9).expect("memory");
        engine.write(0, &text).expect("in range");
        let table = engine.add_tables(&table).expect("valid");
        let input =
            Combination::new(&[8, 1, 4].map(|ciphertext| Operand { ciphertext, weight: 1 }), 0, 9);
        let job = BootstrapJob {
            input,
            table,
            table_stride: 0,
            output_offset: 5,
            log2_output_modulus: 9,
            output: 0,
            second: None,
        };
        engine.trace(&job, &stages).expect("valid")
    });
    assert_eq!(traces[0], traces[1]);
}

/// Two results of one rotation lie on the member that made them, wherever they are read next.
#[test]
fn second_results_are_where_they_are_looked_for() {
    let (shape, mut words) = (torus_shape(256, 15, 2, 1), Words::new(11));
    let keys = SyntheticKeys::new(shape.clone(), 11);
    let (engine, reference) = (load(&several(3, true), &keys), load(&CpuBackend::new(), &keys));
    let stored = 30;
    let text = random(&mut words, stored * shape.ciphertext_len(), 32);
    let table: Vec<u64> = (0..shape.polynomial_size).map(|_| words.below(u64::MAX)).collect();
    for engine in [&engine, &reference] {
        engine.reserve(stored).expect("memory");
        engine.write(0, &text).expect("in range");
        engine.add_tables(&table).expect("valid");
    }
    for step in 0..6 {
        let places = shuffled(&mut words, stored);
        let (outputs, inputs) = places.split_at(20);
        let jobs: Vec<BootstrapJob> = outputs
            .chunks_exact(2)
            .zip(inputs)
            .map(|(outputs, &input)| BootstrapJob {
                input: combination(&mut words, &[input, inputs[0]], 64),
                table: 0,
                table_stride: 0,
                output_offset: words.below(u64::MAX),
                log2_output_modulus: 64,
                output: outputs[0],
                second: Some(SecondOutput {
                    coefficient: 1 + words.below(shape.polynomial_size as u64 - 1) as u32,
                    output_offset: words.below(u64::MAX),
                    output: outputs[1],
                }),
            })
            .collect();
        for engine in [&engine, &reference] {
            engine.bootstrap(&jobs).expect("valid");
        }
        same(&engine, &reference, 0, stored, step);
    }
}

#[test]
fn bad_calls_are_refused_in_words_and_change_nothing() {
    let keys = SyntheticKeys::new(shape(), 1);
    let engine = load(&several(2, true), &keys);
    engine.reserve(4).expect("memory");
    let input = |ciphertext| Combination::new(&[Operand { ciphertext, weight: 1 }], 0, 9);
    // The scratch places of the members are behind what callers see.
    let copy = LinearJob { input: input(4), log2_output_modulus: 9, output: 0 };
    for (error, why) in [
        (engine.combine(&[copy]), "outside the store of 4"),
        (
            engine.combine(&[LinearJob { input: input(0), log2_output_modulus: 9, output: 4 }]),
            "outside the store of 4",
        ),
        (
            engine.write(3, &vec![0; 2 * shape().ciphertext_len()]),
            "3..5 are outside the store of 4",
        ),
        (engine.read(0, &mut [0; 3]), "not a whole number"),
        (engine.add_tables(&[0; 3]).map(drop), "not a whole number"),
        (engine.write_tables(0, &vec![0; 256]), "not among the 0 loaded"),
        (
            engine.bootstrap(&[BootstrapJob {
                input: input(0),
                table: 0,
                table_stride: 0,
                output_offset: 0,
                log2_output_modulus: 9,
                output: 0,
                second: None,
            }]),
            "not among the 0 loaded",
        ),
    ] {
        let error = error.expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut words = vec![1; 4 * shape().ciphertext_len()];
    engine.read(0, &mut words).expect("in range");
    assert!(words.iter().all(|&w| w == 0));
    let one = load(&CpuBackend::new(), &keys);
    let error = LoadRequest::new(&keys)
        .beside(&one)
        .load(&several(2, true))
        .expect_err("another backend")
        .to_string();
    assert!(error.contains("another backend"), "{error}");
    for count in [0, 1, 33] {
        let error = MultiBackend::new(
            (0..count).map(|_| Arc::new(CpuBackend::new()) as Arc<dyn Backend>).collect(),
        );
        let error = error.err().expect("2 to 32").to_string();
        assert!(error.contains(&format!("not {count}")), "{error}");
    }
}
