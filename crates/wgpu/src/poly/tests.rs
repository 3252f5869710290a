//! Programs on the software adapter, where there is one, against the interpreter.

use crate::poly::device::WgpuPoly;
use crate::{OpenOptions, Profile, Vendor, WgpuBackend, enumerate};
use girih_backend::poly::random::{self, Numbers, RandomProgram, random_program_over};
use girih_backend::poly::{
    Basis, Bindings, Domain, HostPolynomials, Interpreted, PolyEngine, PolyPlan, ProgramBuilder,
    ResidentShape, Term, interpret,
};
use girih_backend::{Backend, BackendError, NoProgress};
use std::sync::Arc;

/// The software adapter in one profile; none where this machine has no such driver.
fn software(profile: Profile, binding_bytes: Option<u64>) -> Option<WgpuBackend> {
    software_for(None, profile, binding_bytes)
}

/// The same with the kernels of a vendor.
fn software_for(
    vendor: Option<Vendor>,
    profile: Profile,
    binding_bytes: Option<u64>,
) -> Option<WgpuBackend> {
    let info = enumerate().into_iter().find(|info| info.software)?;
    let options = OpenOptions {
        vendor,
        profile: Some(profile),
        webgpu_limits: profile == Profile::Core,
        binding_bytes,
        checked: Some(true),
        ..Default::default()
    };
    Some(WgpuBackend::open_with(&info.id, &options).expect("an adapter that was found"))
}

/// What two calls at once make of a program, by `plan`; all calls must agree.
fn run(engine: &PolyEngine, random: &RandomProgram, plan: &PolyPlan) -> Interpreted {
    let RandomProgram { program, residents, inputs, keep } = random;
    let degree = program.ring().degree();
    let residents = engine.load(residents, &NoProgress).expect("they fit");
    let routine = engine.prepare_by(program, &residents, plan).expect("in order");
    let mut buffers = Vec::new();
    let mut call = Bindings::default();
    for (words, of) in inputs.iter().zip(program.inputs()) {
        let buffer = engine.allocate(of.basis.len()).expect("small");
        engine.write(buffer.place(0), &of.basis, words).expect("canonical");
        call.inputs.push(buffer.place(0));
        buffers.push(buffer);
    }
    let calls = [(); 2].map(|()| {
        let mut call = call.clone();
        for &value in program.outputs() {
            let buffer = engine.allocate(program.type_of(value).basis.len()).expect("small");
            call.outputs.push(buffer.place(0));
            buffers.push(buffer);
        }
        call
    });
    engine.run(&routine, &calls).expect("it runs");
    // Once more, over what the first run left.
    engine.run(&routine, &calls).expect("it runs");
    let kept = engine.trace(program, &residents, &calls[0], keep).expect("it runs");
    let outputs = |call: &Bindings| -> Vec<Vec<u32>> {
        let all = program.outputs().iter().zip(&call.outputs);
        all.map(|(&value, &place)| {
            let mut words = vec![0; program.type_of(value).basis.len() * degree];
            engine.read(place, &mut words).expect("it is there");
            words
        })
        .collect()
    };
    let [first, second] = calls.each_ref().map(outputs);
    assert_eq!(first, second, "two calls of one run");
    Interpreted { outputs: first, kept }
}

fn agree(engine: &PolyEngine, seeds: std::ops::Range<u64>) {
    let log2_degree = engine.ring().log2_degree;
    let own = *engine.plan();
    let plans = [
        own,
        PolyPlan { most_row_slots: 2, most_column_sums: 1, ..own },
        PolyPlan { fuse: false, ..own },
        PolyPlan { turn_operands: true, ..own },
    ];
    for seed in seeds {
        let random = random_program_over(engine.ring().clone(), 12, seed);
        let RandomProgram { program, residents, inputs, keep } = &random;
        let want = interpret(program, residents, inputs, keep).expect("in order");
        for plan in plans {
            let have = run(engine, &random, &plan);
            assert!(have == want, "N = 2^{log2_degree}, seed {seed}, {plan:?}");
        }
    }
}

#[test]
fn random_programs_equal_the_interpreter() {
    for profile in Profile::ALL {
        let Some(device) = software(profile, None) else { return };
        // One row of an odd and of an even number of stages; two rows and four.
        for log2_degree in [3, 4, 7, 11, 12] {
            let ring = random::ring(log2_degree);
            agree(&PolyEngine::open(&device, ring).expect("a ring in order"), 0..2);
        }
    }
}

#[test]
fn random_programs_in_both_rings_equal_the_interpreter() {
    for profile in Profile::ALL {
        let Some(device) = software(profile, None) else { return };
        // One row, of which two threads have a half each; one of the most words; two and eight.
        for log2_degree in [3, 10, 11, 13] {
            let ring = random::both_rings(log2_degree);
            agree(&PolyEngine::open(&device, ring).expect("a ring in order"), 0..2);
        }
    }
}

/// By the kernels for Intel, whose slots are single words where they are more than a few.
#[test]
fn slots_word_by_word_change_nothing() {
    for profile in Profile::ALL {
        let Some(device) = software_for(Some(Vendor::Intel), profile, None) else { return };
        for log2_degree in [4, 11] {
            let ring = random::ring(log2_degree);
            agree(&PolyEngine::open(&device, ring).expect("a ring in order"), 0..3);
            let both = random::both_rings(log2_degree);
            agree(&PolyEngine::open(&device, both).expect("a ring in order"), 3..4);
        }
        assert!(device.poly_kernels().have_slot_words(), "{profile}: no tile has so many slots");
    }
}

/// Buffers of 64 limbs, more of them than kernels bind: tiles are dispatched by what they touch.
#[test]
fn memory_in_many_buffers_changes_nothing() {
    for profile in Profile::ALL {
        let Some(device) = software(profile, Some(1 << 20)) else { return };
        let engine = PolyEngine::open(&device, random::ring(12)).expect("a ring in order");
        // Leaves the last four limbs of each of eight buffers to what follows.
        let _taken: Vec<_> = (0..8).map(|_| engine.allocate(60).expect("small")).collect();
        agree(&engine, 20..22);
        // The roots of so many primes fill most of a buffer; of 128 limbs these leave four.
        let engine = PolyEngine::open(&device, random::both_rings(11)).expect("a ring in order");
        let _taken: Vec<_> = (0..8).map(|_| engine.allocate(124).expect("small")).collect();
        agree(&engine, 22..24);
    }
}

/// Keys of one limb in nine buffers, which one tile reads.
#[test]
fn limbs_in_more_buffers_than_a_kernel_binds_are_copied_together() {
    assert!(sums_of_keys(9, 3..4, false), "no tile touched that many buffers");
}

/// Keys of 400 limbs in seven buffers: those of each prime side by side.
#[test]
fn keys_loaded_together_lie_by_their_primes() {
    assert!(!sums_of_keys(100, 0..4, true), "limbs of one prime lie in too many buffers");
}

/// Computes a sum of products with `count` keys modulo these primes, loaded at once or each into a
/// buffer of its own; whether limbs had to be copied together for it.
fn sums_of_keys(count: usize, primes: std::ops::Range<usize>, at_once: bool) -> bool {
    let Some(device) = software(Profile::Core, Some(1 << 20)) else { return !at_once };
    let ring = random::ring(12);
    let engine = PolyEngine::open(&device, ring.clone()).expect("a ring in order");
    let (basis, mut numbers) = (ring.basis(primes), Numbers::new(1));
    let shape = ResidentShape { basis: basis.clone(), log2_run: 0 };
    let mut words = || numbers.limbs(&ring, &basis, ring.degree());
    let keys: Vec<_> = (0..count).map(|_| (shape.clone(), words())).collect();
    let (mut taken, mut residents) = (Vec::new(), Vec::new());
    if at_once {
        let all = HostPolynomials::new(&ring, keys.clone()).expect("canonical");
        residents = engine.load(&all, &NoProgress).expect("small");
    } else {
        for key in &keys {
            // All but one limb of a buffer.
            taken.push(engine.allocate(63).expect("small"));
            let one = HostPolynomials::new(&ring, vec![key.clone()]).expect("canonical");
            residents.extend(engine.load(&one, &NoProgress).expect("small"));
        }
    }
    let mut builder = ProgramBuilder::new(ring.clone());
    let x = builder.input(basis.clone(), Domain::Coefficients).expect("a prime of the ring");
    let y = builder.transform(x, Domain::Evaluations);
    let key = |_| builder.resident(shape.clone()).expect("a prime of the ring");
    let values: Vec<_> = (0..count).map(key).collect();
    let terms = values.into_iter().map(|key| Term::product(y, key)).collect();
    let sum = builder.sum(terms).expect("one basis");
    builder.output(sum);
    let program = builder.finish();
    let input = words();
    let all = HostPolynomials::new(&ring, keys).expect("canonical");
    let want = interpret(&program, &all, std::slice::from_ref(&input), &[]).expect("in order");

    let routine = engine.prepare(&program, &residents).expect("in order");
    let buffers = [(); 3].map(|()| engine.allocate(basis.len()).expect("small"));
    let [input_at, first, second] = buffers.each_ref().map(|buffer| buffer.place(0));
    engine.write(input_at, &basis, &input).expect("canonical");
    let call = |output| Bindings { inputs: vec![input_at], outputs: vec![output] };
    engine.run(&routine, &[call(first), call(second)]).expect("it runs");
    for output in [first, second] {
        let mut words = vec![0; basis.len() * ring.degree()];
        engine.read(output, &mut words).expect("it is there");
        assert!(want.outputs[0] == words);
    }
    let device: &dyn std::any::Any = engine.device();
    device.downcast_ref::<WgpuPoly>().expect("it is what was opened").gathers()
}

/// A loop whose results take turns makes a script for each place once.
#[test]
fn places_that_take_turns_keep_their_scripts() {
    let Some(device) = software(Profile::Core, None) else { return };
    let ring = random::ring(6);
    let engine = PolyEngine::open(&device, ring.clone()).expect("a ring in order");
    let basis = ring.basis(0..1);
    let mut builder = ProgramBuilder::new(ring.clone());
    let x = builder.input(basis.clone(), Domain::Evaluations).expect("a prime of the ring");
    let y = builder.sum(vec![Term::product(x, x)]).expect("one basis");
    builder.output(y);
    let routine = engine.prepare(&builder.finish(), &[]).expect("in order");
    let buffer = engine.allocate(8).expect("small");
    let own: &dyn std::any::Any = engine.device();
    let own = own.downcast_ref::<WgpuPoly>().expect("it is what was opened");
    for turn in 0..6 {
        let input = vec![turn + 2; ring.degree()];
        engine.write(buffer.place(0), &basis, &input).expect("canonical");
        let output = buffer.place(1 + turn as usize % 2);
        let call = Bindings { inputs: vec![buffer.place(0)], outputs: vec![output] };
        engine.run(&routine, &[call]).expect("it runs");
        let mut words = vec![0; ring.degree()];
        engine.read(output, &mut words).expect("it is there");
        assert_eq!(words, vec![(turn + 2).pow(2); ring.degree()], "turn {turn}");
    }
    assert_eq!(own.scripts_made(), 2);
}

#[test]
fn memory_is_counted_and_given_back() {
    let Some(device) = software(Profile::Core, Some(1 << 20)) else { return };
    let ring = random::ring(6);
    let engine = PolyEngine::open(&device, ring.clone()).expect("a ring in order");
    let before = engine.bytes_in_use();
    let shape = ResidentShape { basis: Basis::new([0, 1]), log2_run: 2 };
    let polynomial = HostPolynomials::new(&ring, vec![(shape, vec![5; 32])]).expect("canonical");
    let resident = engine.load(&polynomial, &NoProgress).expect("small");
    assert_eq!(engine.bytes_in_use(), before + 128);
    // More than one buffer holds.
    let buffer = engine.allocate(5000).expect("small");
    assert_eq!(engine.bytes_in_use(), before + 128 + 5000 * 256);
    let words: Vec<u32> = (0..64 * 12).collect();
    engine.write(buffer.place(4090), &ring.basis(0..12), &words).expect("canonical");
    engine.copy(buffer.place(4090), buffer.place(4), 12).expect("there is room");
    let mut copied = vec![0; words.len()];
    engine.read(buffer.place(4), &mut copied).expect("it is there");
    assert_eq!(copied, words);
    drop((resident, buffer));
    assert_eq!(engine.bytes_in_use(), before);
}

#[test]
fn more_memory_than_there_is_is_an_error_with_figures() {
    let Some(device) = software(Profile::Core, None) else { return };
    let engine = PolyEngine::open(&device, random::ring(10)).expect("a ring in order");
    let before = engine.bytes_in_use();
    match engine.allocate(1 << 34) {
        Err(BackendError::OutOfMemory { bytes, what, .. }) => {
            assert_eq!(bytes, 1 << 46);
            assert!(what.contains("bytes are taken"), "{what}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("2^46 bytes were taken"),
    }
    assert_eq!(engine.bytes_in_use(), before);
    assert!(device.poly().is_some());
}

#[test]
fn degrees_that_no_kernel_serves_are_refused() {
    let Some(device) = software(Profile::Core, None) else { return };
    let mut ring = (*random::ring(4)).clone();
    ring.log2_degree = 2;
    let refusal = PolyEngine::open(&device, Arc::new(ring)).map(|_| ());
    assert!(matches!(refusal, Err(BackendError::Unsupported { .. })), "{refusal:?}");
}
