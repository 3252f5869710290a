//! Programs on the software adapter, where there is one, against the interpreter.

use crate::{OpenOptions, Profile, WgpuBackend, enumerate};
use girih_backend::poly::random::{self, RandomProgram, random_program};
use girih_backend::poly::{
    Basis, Bindings, HostPolynomials, Interpreted, PolyEngine, PolyPlan, ResidentShape, interpret,
};
use girih_backend::{Backend, BackendError, NoProgress};
use std::sync::Arc;

/// The software adapter in one profile; none where this machine has no such driver.
fn software(profile: Profile, binding_bytes: Option<u64>) -> Option<WgpuBackend> {
    let info = enumerate().into_iter().find(|info| info.software)?;
    let options = OpenOptions {
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

fn agree(device: &WgpuBackend, log2_degree: u32, seeds: std::ops::Range<u64>) {
    let engine = PolyEngine::open(device, random::ring(log2_degree)).expect("a ring in order");
    let own = *engine.plan();
    let plans = [
        own,
        PolyPlan { most_row_slots: 2, most_column_sums: 1, ..own },
        PolyPlan { fuse: false, ..own },
    ];
    for seed in seeds {
        let random = random_program(log2_degree, 12, seed);
        let RandomProgram { program, residents, inputs, keep } = &random;
        let want = interpret(program, residents, inputs, keep).expect("in order");
        for plan in plans {
            let have = run(&engine, &random, &plan);
            let profile = device.profile();
            assert!(have == want, "N = 2^{log2_degree}, seed {seed}, {profile}, {plan:?}");
        }
    }
}

#[test]
fn random_programs_equal_the_interpreter() {
    for profile in Profile::ALL {
        let Some(device) = software(profile, None) else { return };
        // One row of an even and of an odd number of stages; two rows and four.
        for log2_degree in [4, 7, 11, 12] {
            agree(&device, log2_degree, 0..3);
        }
    }
}

/// Limbs of 16 KiB in buffers of 64 KiB: tiles bind those that they touch.
#[test]
fn memory_in_many_buffers_changes_nothing() {
    let Some(device) = software(Profile::Core, Some(2 << 20)) else { return };
    agree(&device, 12, 0..2);
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
    ring.log2_degree = 3;
    let refusal = PolyEngine::open(&device, Arc::new(ring)).map(|_| ());
    assert!(matches!(refusal, Err(BackendError::Unsupported { .. })), "{refusal:?}");
}
