//! The poly kernels on the host, thread by thread, against the interpreter of programs.
#![cfg(feature = "emulation")]

use girih_backend::poly::random::{
    self, Numbers, RandomProgram, both_rings, random_program, random_program_over, ring,
};
use girih_backend::poly::{
    Basis, Bindings, Domain, Factor, HostPolynomials, Place, PolyOptions, PolyPlan, ProgramBuilder,
    ResidentShape, RingShape, Term, View, interpret, lower,
};
use girih_backend::{Backend, BackendError, NoProgress, SPECIALISE, Specialise};
use girih_cuda::EmulatedBackend;
use girih_ring::{Modulus, is_prime};
use std::sync::Arc;

/// Runs a program, kept values first, then as two calls at once.
fn check(backend: &EmulatedBackend, random: &RandomProgram, plan: &PolyPlan, what: &str) {
    check_by(backend, random, &PolyOptions::of(*plan), what);
}

fn check_by(backend: &EmulatedBackend, random: &RandomProgram, options: &PolyOptions, what: &str) {
    let plan = &options.plan.unwrap_or_default();
    let RandomProgram { program, residents, inputs, keep } = random;
    let ring = program.ring();
    let degree = ring.degree();
    let wanted = interpret(program, residents, inputs, keep).unwrap();
    let device = backend.poly().unwrap().open_by(ring.clone(), &options.choices).unwrap();
    let loaded = device.load(residents, &NoProgress).unwrap();
    let mut call = Bindings::default();
    for input in inputs {
        let buffer = device.allocate(input.len() / degree + 1).unwrap();
        let place = Place { buffer, first: 1 };
        device.write(place, input).unwrap();
        call.inputs.push(place);
    }
    let limbs = |value| program.type_of(value).basis.len();
    let bind_outputs = |call: &Bindings| {
        let place = |&value| Place { buffer: device.allocate(limbs(value)).unwrap(), first: 0 };
        Bindings { outputs: program.outputs().iter().map(place).collect(), ..call.clone() }
    };
    let schedule = Arc::new(lower(program, plan, keep).unwrap());
    let routine = device.prepare(&schedule, &loaded).unwrap_or_else(|e| panic!("{what}: {e}"));
    let calls = [bind_outputs(&call), bind_outputs(&call)];
    let kept = device.trace(routine, &calls[0]).unwrap();
    let flat: Vec<&[u32]> = wanted.kept.iter().flat_map(|v| v.chunks(degree)).collect();
    assert_eq!(kept.len(), flat.len(), "{what}: kept limbs");
    for (i, (limb, wanted)) in kept.iter().zip(&flat).enumerate() {
        assert_eq!(first_difference(limb, wanted), None, "{what}: kept limb {i}");
    }
    let run = |what: &str| {
        for (place, wanted) in calls.iter().flat_map(|c| c.outputs.iter().zip(&wanted.outputs)) {
            device.write(*place, &vec![0; wanted.len()]).unwrap();
        }
        device.run(routine, &calls).unwrap_or_else(|e| panic!("{what}: {e}"));
        device.synchronize().unwrap();
        for (number, call) in calls.iter().enumerate() {
            for (slot, (place, wanted)) in call.outputs.iter().zip(&wanted.outputs).enumerate() {
                let mut words = vec![0; wanted.len()];
                device.read(*place, &mut words).unwrap();
                let difference = first_difference(&words, wanted);
                assert_eq!(difference, None, "{what}: call {number}, output {slot}");
            }
        }
    };
    run(what);
    // Of kernels that are compiled behind this come the same words.
    if options.choices.get(SPECIALISE) == Some(&Specialise::Background.number()) {
        assert_eq!(device.settle().unwrap(), 1, "{what}: routines that waited");
        run(&format!("{what}, settled"));
    }
    assert_eq!(device.settle().unwrap(), 0, "{what}: all have settled");
    let before = device.bytes_in_use();
    device.forget(routine);
    assert!(device.bytes_in_use() < before);
}

/// Place, found and wanted word.
fn first_difference(found: &[u32], wanted: &[u32]) -> Option<(usize, u32, u32)> {
    assert_eq!(found.len(), wanted.len());
    (0..found.len()).find(|&i| found[i] != wanted[i]).map(|i| (i, found[i], wanted[i]))
}

fn random(log2_degree: u32, steps: usize, seeds: std::ops::Range<u64>) {
    let backend = EmulatedBackend::new().unwrap();
    for seed in seeds {
        let program = random_program(log2_degree, steps, seed);
        let plan = PolyPlan {
            fuse: seed % 4 != 3,
            ..backend.poly().unwrap().plan(program.program.ring())
        };
        check(&backend, &program, &plan, &format!("2^{log2_degree}, seed {seed}"));
    }
}

/// Seeds of random programs: with `GIRIH_LONG` set (`cargo xtask test --long`) all of them, else
/// about half, the one without fusion among them.
fn seeds(all: u64) -> std::ops::Range<u64> {
    match std::env::var_os("GIRIH_LONG") {
        Some(_) => 0..all,
        None if all > 4 => 1..4,
        None => 2..4,
    }
}

#[test]
fn short_rows() {
    random(3, 8, seeds(6));
    random(4, 8, seeds(6));
    random(6, 8, seeds(4));
}

#[test]
fn one_row() {
    random(10, 6, seeds(4));
}

#[test]
fn two_rows() {
    random(11, 8, seeds(6));
}

#[test]
fn matrix_units() {
    random(14, 6, seeds(4));
}

/// Programs in the usual and the conjugation-invariant ring, with views from one to the other.
fn random_in_both(log2_degree: u32, steps: usize, seeds: std::ops::Range<u64>) {
    let backend = EmulatedBackend::new().unwrap();
    for seed in seeds {
        let program = random_program_over(both_rings(log2_degree), steps, seed);
        let plan = PolyPlan {
            fuse: seed % 4 != 3,
            ..backend.poly().unwrap().plan(program.program.ring())
        };
        check(&backend, &program, &plan, &format!("2^{log2_degree}, both rings, seed {seed}"));
    }
}

#[test]
fn both_rings_in_short_rows() {
    random_in_both(3, 10, seeds(6));
    random_in_both(5, 10, seeds(6));
}

#[test]
fn both_rings_in_one_row() {
    random_in_both(10, 8, seeds(4));
}

#[test]
fn both_rings_in_few_rows() {
    random_in_both(11, 8, seeds(6));
    random_in_both(13, 8, seeds(4));
}

#[test]
fn both_rings_on_matrix_units() {
    random_in_both(14, 8, seeds(4));
}

/// Limbs of the usual ring seen from the conjugation-invariant one, where resident ones may lie in
/// runs, and coefficients there, converted to more primes, times a resident polynomial.
fn lifted(log2_degree: u32, wide: bool) -> RandomProgram {
    let below: u64 = if wide { 1 << 31 } else { 1 << 30 };
    let candidates = (1..below >> (log2_degree + 2)).rev().map(|k| (k << (log2_degree + 2)) + 1);
    let fits = candidates.filter(|&p| p < below && is_prime(p));
    let primes: Vec<Modulus> = fits.filter_map(|p| Modulus::new(p as u32)).take(4).collect();
    let primes = [primes.as_slice(), &primes].concat();
    let ring = Arc::new(RingShape { log2_degree, primes, invariant_from: 4 });
    let (low, high) = (ring.basis(4..6), ring.basis(6..8));
    let mut numbers = Numbers::new(3);
    let mut builder = ProgramBuilder::new(ring.clone());
    let x = builder.input(ring.basis(0..2), Domain::Evaluations).unwrap();
    let y = builder.input(low.clone(), Domain::Coefficients).unwrap();
    let mut residents = Vec::new();
    let mut resident = |builder: &mut ProgramBuilder, basis: &Basis, log2_run: u32| {
        let shape = ResidentShape { basis: basis.clone(), log2_run };
        residents.push((shape.clone(), numbers.limbs(&ring, basis, ring.degree() >> log2_run)));
        builder.resident(shape).unwrap()
    };
    let key = resident(&mut builder, &high, 0);
    let runs = [0, 1, 2].map(|log2_run| resident(&mut builder, &ring.basis(0..2), log2_run));
    let lifted = builder.view(x, View::Lifted, low.clone()).unwrap();
    let views = [View::Lifted, View::LiftedConjugate, View::LiftedConjugate];
    let mut terms = Vec::new();
    for (view, run) in views.into_iter().zip(runs) {
        let seen = builder.view(run, view, low.clone()).unwrap();
        terms.push(Term::product(lifted, seen));
        terms.push(Term::scaled(Factor::One, seen));
    }
    let lifted = builder.sum(terms).unwrap();
    let coefficients = builder.transform(lifted, Domain::Coefficients);
    let (one, two) = (Factor::One, Factor::Residues([[2; 2]; 2].into()));
    let sum = vec![Term::scaled(one, y), Term::scaled(two, coefficients)];
    let sum = builder.sum(sum).unwrap();
    let raised = builder.convert(sum, high, true).unwrap();
    let back = builder.transform(sum, Domain::Evaluations);
    let raised = builder.transform(raised, Domain::Evaluations);
    let product = builder.sum(vec![Term::product(raised, key)]).unwrap();
    let restricted = builder.view(back, View::RestrictedMinus, ring.basis(0..2)).unwrap();
    for value in [sum, product, back, restricted] {
        builder.output(value);
    }
    let program = builder.finish();
    let residents = HostPolynomials::new(&ring, residents).unwrap();
    let inputs = program.inputs().iter().map(|of| numbers.limbs(&ring, &of.basis, ring.degree()));
    RandomProgram { inputs: inputs.collect(), program, residents, keep: vec![coefficients] }
}

/// Columns in pairs, of every length, in the kernels of either class of primes, in the tier for any
/// schedule, and in blocks with little memory.
#[test]
fn pairs_of_columns() {
    let backend = EmulatedBackend::new().unwrap();
    let all = [(14, false), (15, true), (16, false), (17, true)];
    let long = [(15, false), (16, true), (17, false)];
    let wanted = if std::env::var_os("GIRIH_LONG").is_some() { &long[..] } else { &[] };
    for (log2_degree, wide) in all.into_iter().chain(wanted.iter().copied()) {
        let program = lifted(log2_degree, wide);
        let plan = backend.poly().unwrap().plan(program.program.ring());
        let what = format!("2^{log2_degree}, wide: {wide}");
        check(&backend, &program, &plan, &what);
        if log2_degree > 14 && wanted.is_empty() {
            continue;
        }
        let options = PolyOptions::of(plan).with_specialise(Specialise::Never);
        check_by(&backend, &program, &options, &format!("{what}, never"));
        // Narrower ones, and pairs that poly_columns has no room for.
        for kilobytes in [40, 24] {
            let backend = EmulatedBackend::new().unwrap().with_block_memory(kilobytes << 10);
            check(&backend, &program, &plan, &format!("{what}, {kilobytes} KiB"));
        }
    }
}

/// What plans choose only where it was measured to pay computes the same.
#[test]
fn other_knobs() {
    let backend = EmulatedBackend::new().unwrap();
    for (log2_degree, fetched) in [(11, 3), (12, 0)] {
        let program = random_program(log2_degree, 8, 5);
        let plan = backend.poly().unwrap().plan(program.program.ring());
        let options = PolyOptions::of(plan)
            .with("most_fetched", fetched)
            .with("wide_teams", 0)
            .with("column_blocks", 1)
            .with("small_blocks", 0);
        check_by(&backend, &program, &options, &format!("2^{log2_degree}, {options}"));
    }
}

/// Products of a few limbs with resident ones, which later rows read under many automorphisms: they
/// are formed there, of operands under them.
#[test]
fn products_under_automorphisms() {
    let backend = EmulatedBackend::new().unwrap();
    for log2_degree in [3, 10, 12] {
        let program = hoisted(log2_degree);
        let own = backend.poly().unwrap().plan(program.program.ring());
        // As text, and as lists of steps.
        for (turn_operands, products) in [(true, 400), (true, 0), (false, 400)] {
            let options = PolyOptions::of(PolyPlan { turn_operands, ..own });
            let options = options.with("most_products", products);
            check_by(&backend, &program, &options, &format!("2^{log2_degree}, {options}"));
        }
    }
}

/// Sums of products of two raised polynomials and one that is not raised under three automorphisms,
/// of which one exchanges halves; each times two resident polynomials.
fn hoisted(log2_degree: u32) -> RandomProgram {
    let ring = random::ring(log2_degree);
    let mut numbers = Numbers::new(7);
    let (low, all) = (ring.basis(0..2), ring.basis(0..6));
    let mut builder = ProgramBuilder::new(ring.clone());
    let mut residents = Vec::new();
    let mut resident = |builder: &mut ProgramBuilder, log2_run: u32| {
        let shape = ResidentShape { basis: all.clone(), log2_run };
        let words = numbers.limbs(&ring, &all, ring.degree() >> log2_run);
        residents.push((shape.clone(), words));
        builder.resident(shape).unwrap()
    };
    let x = builder.input(low.clone(), Domain::Coefficients).unwrap();
    let plain = builder.input(all.clone(), Domain::Evaluations).unwrap();
    let mut raise = |primes| {
        let limbs = builder.limbs(x, primes).unwrap();
        let raised = builder.convert(limbs, all.clone(), false).unwrap();
        builder.transform(raised, Domain::Evaluations)
    };
    let raised = [raise(ring.basis(0..1)), raise(low.clone())];
    let scale = |&p: &u16| [ring.primes[usize::from(p)].value() - 2, 5];
    let factor = Factor::Residues(all.primes().iter().map(scale).collect());
    let mut sums = [Vec::new(), Vec::new()];
    for g in [5, 3, 9] {
        for part in 0..2 {
            let mut terms = Vec::new();
            for r in raised {
                terms.push(Term::product(r, resident(&mut builder, 0)));
            }
            terms.extend((part == 0).then(|| Term::scaled(factor.clone(), plain)));
            let sum = builder.sum(terms).unwrap();
            let moved = builder.automorphism(sum, g).unwrap();
            for (sum, log2_run) in sums.iter_mut().zip([1, 2]) {
                sum.push(Term::product(moved, resident(&mut builder, log2_run)));
            }
        }
    }
    for terms in sums {
        let sum = builder.sum(terms).unwrap();
        builder.output(sum);
    }
    finished(builder, residents, &mut numbers)
}

/// Long sums of products, the factors of each under one automorphism: kernels add them in loops.
#[test]
fn long_sums_under_automorphisms() {
    let backend = EmulatedBackend::new().unwrap();
    for log2_degree in [4, 11] {
        let program = moved_products(log2_degree);
        let own = backend.poly().unwrap().plan(program.program.ring());
        for products in [450, 0] {
            let options = PolyOptions::of(own).with("most_products", products);
            check_by(&backend, &program, &options, &format!("2^{log2_degree}, {options}"));
        }
    }
}

/// A polynomial under 14 automorphisms (not whole rounds of a loop), each product with resident
/// ones under the same: a sum that is transformed back, one that is not, and one of short ones.
fn moved_products(log2_degree: u32) -> RandomProgram {
    let ring = random::ring(log2_degree);
    let mut numbers = Numbers::new(11);
    let basis = ring.basis(0..6);
    let mut builder = ProgramBuilder::new(ring.clone());
    let mut residents = Vec::new();
    let x = builder.input(basis.clone(), Domain::Coefficients).unwrap();
    let x = builder.transform(x, Domain::Evaluations);
    let mut sums = [Vec::new(), Vec::new(), Vec::new()];
    for i in 0..14 {
        let g = 2 * i + 1;
        let moved = builder.automorphism(x, g).unwrap();
        for (sum, log2_run) in sums.iter_mut().zip([0, 0, 2]) {
            let shape = ResidentShape { basis: basis.clone(), log2_run };
            let words = numbers.limbs(&ring, &basis, ring.degree() >> log2_run);
            residents.push((shape.clone(), words));
            let key = builder.resident(shape).unwrap();
            sum.push(Term::product(moved, builder.automorphism(key, g).unwrap()));
        }
    }
    let [a, b, short] = sums.map(|terms| builder.sum(terms).unwrap());
    let a = builder.transform(a, Domain::Coefficients);
    for sum in [a, b, short] {
        builder.output(sum);
    }
    finished(builder, residents, &mut numbers)
}

/// What was built, with random inputs.
fn finished(
    builder: ProgramBuilder,
    residents: Vec<(ResidentShape, Vec<u32>)>,
    numbers: &mut Numbers,
) -> RandomProgram {
    let program = builder.finish();
    let ring = program.ring().clone();
    let inputs = program.inputs().iter().map(|of| numbers.limbs(&ring, &of.basis, ring.degree()));
    let inputs = inputs.collect();
    let residents = HostPolynomials::new(&ring, residents).unwrap();
    RandomProgram { program, residents, inputs, keep: Vec::new() }
}

/// The kernels that serve any program, and the change from these to a program's own.
#[test]
fn tiers() {
    let backend = EmulatedBackend::new().unwrap();
    for (ring, seed) in [(ring(4), 2), (ring(11), 5), (both_rings(4), 3), (both_rings(11), 4)] {
        let log2_degree = ring.log2_degree;
        let program = random_program_over(ring, 7, seed);
        let plan = backend.poly().unwrap().plan(program.program.ring());
        let options = PolyOptions::of(plan).with_specialise(Specialise::Never);
        check_by(&backend, &program, &options, &format!("2^{log2_degree}, seed {seed}, never"));
    }
}

/// A routine that is forgotten, and a device that is closed, before kernels of their own are there.
#[test]
fn kernels_that_nobody_wants_any_more() {
    let backend = EmulatedBackend::new().unwrap();
    let RandomProgram { program, residents, keep, .. } = random_program(4, 7, 2);
    let choices = PolyOptions::default().with_specialise(Specialise::Background).choices;
    let device = backend.poly().unwrap().open_by(program.ring().clone(), &choices).unwrap();
    let loaded = device.load(&residents, &NoProgress).unwrap();
    let plan = backend.poly().unwrap().plan(program.ring());
    let schedule = Arc::new(lower(&program, &plan, &keep).unwrap());
    let [forgotten, _closed] = [(); 2].map(|()| device.prepare(&schedule, &loaded).unwrap());
    device.forget(forgotten);
}

/// A division in front of a conversion to more primes: both in one tile, whose sums take the places
/// of what they are made of.
#[test]
fn chained_conversions() {
    let ring = random::ring(14);
    let (low, dropped) = (ring.basis(0..4), ring.basis(4..7));
    let mut builder = ProgramBuilder::new(ring.clone());
    let whole = low.union(&dropped);
    let x = builder.input(whole.clone(), Domain::Evaluations).unwrap();
    let rest = builder.limbs(x, dropped.clone()).unwrap();
    let rest = builder.transform(rest, Domain::Coefficients);
    let rest = builder.convert(rest, low.clone(), true).unwrap();
    let rest = builder.transform(rest, Domain::Evaluations);
    let kept = builder.limbs(x, low.clone()).unwrap();
    let factor = |negative: bool| {
        let of = |&p: &u16| {
            let q = ring.primes[usize::from(p)];
            let product = dropped
                .primes()
                .iter()
                .fold(1, |all, &d| q.mul(all, ring.primes[usize::from(d)].value() % q.value()));
            let inverse = q.inverse(product);
            [if negative { q.neg(inverse) } else { inverse }; 2]
        };
        Factor::Residues(low.primes().iter().map(of).collect())
    };
    let quotient = builder
        .sum(vec![Term::scaled(factor(false), kept), Term::scaled(factor(true), rest)])
        .unwrap();
    let coefficients = builder.transform(quotient, Domain::Coefficients);
    let raised = builder.convert(coefficients, dropped.clone(), false).unwrap();
    let raised = builder.transform(raised, Domain::Evaluations);
    builder.output(raised);
    builder.output(quotient);
    let inputs = vec![Numbers::new(7).limbs(&ring, &whole, ring.degree())];
    let residents = HostPolynomials::new(&ring, Vec::new()).unwrap();
    let program = RandomProgram { program: builder.finish(), residents, inputs, keep: Vec::new() };
    let backend = EmulatedBackend::new().unwrap();
    let plan = backend.poly().unwrap().plan(&ring);
    // Kernels that were compiled before would be used at once: this first.
    let options = PolyOptions::of(plan).with_specialise(Specialise::Background);
    check_by(&backend, &program, &options, "chained conversions, changing over");
    check(&backend, &program, &plan, "chained conversions");
    // Narrower tiles where blocks have less memory.
    for kilobytes in [64, 48] {
        let backend = EmulatedBackend::new().unwrap().with_block_memory(kilobytes << 10);
        check(
            &backend,
            &program,
            &backend.poly().unwrap().plan(&ring),
            &format!("chained conversions in {kilobytes} KiB"),
        );
    }
}

/// Memory that runs out between calls is an error of the call that asks for it; what was there goes
/// on, and what is given back is there again.
#[test]
fn memory_runs_out_between_calls() {
    let backend = EmulatedBackend::new().unwrap().with_memory(8 << 20);
    let random = random_program(10, 6, 1);
    let RandomProgram { program, residents, inputs, keep } = &random;
    let degree = program.ring().degree();
    let wanted = interpret(program, residents, inputs, keep).unwrap();
    let device = backend.poly().unwrap().open(program.ring().clone()).unwrap();
    let loaded = device.load(residents, &NoProgress).unwrap();
    let mut call = Bindings::default();
    for input in inputs {
        let place = Place { buffer: device.allocate(input.len() / degree).unwrap(), first: 0 };
        device.write(place, input).unwrap();
        call.inputs.push(place);
    }
    for words in &wanted.outputs {
        let buffer = device.allocate(words.len() / degree).unwrap();
        call.outputs.push(Place { buffer, first: 0 });
    }
    let plan = backend.poly().unwrap().plan(program.ring());
    let schedule = Arc::new(lower(program, &plan, keep).unwrap());
    let routine = device.prepare(&schedule, &loaded).unwrap();
    let run = |what: &str| {
        device.run(routine, std::slice::from_ref(&call)).unwrap_or_else(|e| panic!("{what}: {e}"));
        device.synchronize().unwrap();
        for (place, wanted) in call.outputs.iter().zip(&wanted.outputs) {
            let mut words = vec![0; wanted.len()];
            device.read(*place, &mut words).unwrap();
            assert_eq!(first_difference(&words, wanted), None, "{what}");
        }
    };
    run("with room");
    let before = device.bytes_in_use();
    for limbs in [1 << 20, 64] {
        let mut taken = Vec::new();
        let error = loop {
            match device.allocate(limbs) {
                Ok(buffer) => taken.push(buffer),
                Err(error) => break error,
            }
        };
        let BackendError::OutOfMemory { bytes, what, .. } = &error else { panic!("{error}") };
        assert!(*bytes >= (limbs * degree * 4) as u64 && what.contains("limited to"), "{error}");
        assert_eq!(taken.is_empty(), limbs > 64);
        run("while memory is full");
        let refused = device.load(residents, &NoProgress);
        if let Ok(loaded) = refused {
            loaded.into_iter().for_each(|resident| device.unload(resident));
        }
        taken.into_iter().for_each(|buffer| device.free(buffer));
        assert_eq!(device.bytes_in_use(), before);
        run("with room again");
    }
}
