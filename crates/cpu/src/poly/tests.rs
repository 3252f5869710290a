use std::sync::Arc;

use girih_backend::poly::random::{RandomProgram, random_program_over};
use girih_backend::poly::schedule::{
    ColumnSum, ColumnTerm, ColumnTile, Form, Launch, Limb, Load, RowSum, RowTerm, RowTile, Source,
    Store,
};
use girih_backend::poly::{
    Basis, Bindings, HostPolynomials, Interpreted, Loader, Place, PolyDevice, PolyPlan,
    ResidentShape, RingShape, Schedule, View, interpret, lower, random, run_schedule,
};
use girih_backend::{BackendError, NoProgress, Result};
use girih_ring::fft::Simd;

use super::device::CpuPoly;
use crate::CpuBackend;

fn plans() -> [PolyPlan; 5] {
    let plan = |most_row_slots, most_column_sums| PolyPlan {
        most_row_slots,
        most_column_sums,
        ..PolyPlan::default()
    };
    [
        PolyPlan { fuse: false, ..PolyPlan::default() },
        plan(2, 1),
        PolyPlan::default(),
        PolyPlan { turn_operands: true, ..PolyPlan::default() },
        CpuBackend::new().plan(&random::ring(4)),
    ]
}

/// What the device makes of a program: its inputs side by side in one buffer, outputs in another.
fn run(device: &dyn PolyDevice, random: &RandomProgram, plan: &PolyPlan) -> Interpreted {
    let RandomProgram { program, residents, inputs, keep } = random;
    let degree = program.ring().degree();
    let schedule = Arc::new(lower(program, plan, keep).expect("a program that is in order"));
    let residents = device.load(residents, &NoProgress).expect("they fit");
    let buffer = |words: usize| device.allocate(words / degree).expect("they fit");
    let input = buffer(inputs.iter().map(Vec::len).sum());
    let outputs: Vec<usize> =
        program.outputs().iter().map(|&v| program.type_of(v).basis.len()).collect();
    let output = buffer(outputs.iter().sum::<usize>() * degree);
    let mut call = Bindings::default();
    let mut first = 0;
    for words in inputs {
        let place = Place { buffer: input, first };
        device.write(place, words).expect("they fit");
        call.inputs.push(place);
        first += words.len() / degree;
    }
    first = 0;
    for limbs in &outputs {
        call.outputs.push(Place { buffer: output, first });
        first += limbs;
    }
    let routine = device.prepare(&schedule, &residents).expect("a schedule that is in order");
    let kept = device.trace(routine, &call).expect("it runs");
    // Once more, over what the first run left.
    device.run(routine, &[call.clone(), call.clone()]).expect("it runs");
    device.forget(routine);
    let outputs = call.outputs.iter().zip(&outputs).map(|(&place, limbs)| {
        let mut words = vec![0; limbs * degree];
        device.read(place, &mut words).expect("it is there");
        words
    });
    Interpreted { outputs: outputs.collect(), kept }
}

fn agree(ring: Arc<RingShape>, steps: usize, seeds: std::ops::Range<u64>) {
    let log2_degree = ring.log2_degree;
    for simd in Simd::available() {
        for threads in [1, 3] {
            let device = CpuPoly::new(ring.clone(), simd, threads).expect("a ring in order");
            for seed in seeds.clone() {
                let random = random_program_over(ring.clone(), steps, seed);
                let RandomProgram { program, residents, inputs, keep } = &random;
                let want = interpret(program, residents, inputs, keep).expect("in order");
                for plan in plans() {
                    let have = run(&device, &random, &plan);
                    let name = simd.name();
                    assert_eq!(have, want, "N = 2^{log2_degree}, seed {seed}, {name}, {plan:?}");
                }
            }
        }
    }
}

#[test]
fn random_programs_equal_the_interpreter() {
    for log2_degree in [1, 2, 3, 4, 6] {
        agree(random::ring(log2_degree), 12, 0..12);
    }
}

#[test]
fn random_programs_equal_the_interpreter_on_limbs_of_two_and_more_rows() {
    agree(random::ring(11), 14, 100..103);
    agree(random::ring(12), 10, 200..202);
}

#[test]
fn random_programs_in_both_rings_equal_the_interpreter() {
    for log2_degree in [1, 2, 3, 4, 6] {
        agree(random::both_rings(log2_degree), 16, 300..312);
    }
    agree(random::both_rings(11), 14, 400..403);
    agree(random::both_rings(12), 10, 500..502);
}

fn device() -> CpuPoly {
    CpuPoly::new(random::ring(4), Simd::detect(), 2).expect("a ring in order")
}

fn load(from: Limb) -> Load {
    Load { from, form: Form::Evaluations, automorphism: 1 }
}

/// output 0 = input 0, by way of the arena.
fn schedule(launches: Vec<Launch>) -> Arc<Schedule> {
    Arc::new(Schedule { launches, arena_limbs: 1, kept: Vec::new() })
}

fn copy(from: Limb, to: Limb) -> RowTile {
    let term = RowTerm { factor: [1, 1], a: Some(Source::Stream(load(from))), b: None };
    let store = Store { to, form: Form::Evaluations, automorphism: 1 };
    let sums = vec![RowSum { terms: vec![term], stores: vec![store] }];
    RowTile { prime: 0, loads: Vec::new(), sums }
}

const INPUT: Limb = Limb::Input { slot: 0, limb: 0 };
const OUTPUT: Limb = Limb::Output { slot: 0, limb: 0 };

fn refused<T>(result: Result<T>, words: &str) {
    match result {
        Err(BackendError::InvalidRequest(why)) => assert!(why.contains(words), "{why}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("`{words}` was expected"),
    }
}

#[test]
fn launches_that_would_race_are_refused() {
    let device = device();
    let arena = Limb::Arena(0);
    let twice = vec![copy(INPUT, OUTPUT), copy(INPUT, OUTPUT)];
    refused(device.prepare(&schedule(vec![Launch::Rows(twice)]), &[]), "written twice");
    let both = vec![copy(INPUT, arena), copy(arena, OUTPUT)];
    refused(device.prepare(&schedule(vec![Launch::Pointwise(both)]), &[]), "read and written");
    let beyond = vec![copy(INPUT, Limb::Arena(1))];
    refused(device.prepare(&schedule(vec![Launch::Rows(beyond)]), &[]), "an arena of 1");
    let resident = vec![copy(Limb::Resident { slot: 0, limb: 0 }, OUTPUT)];
    refused(device.prepare(&schedule(vec![Launch::Rows(resident)]), &[]), "there is no");
    refused(device.prepare(&schedule(Vec::new()), &[7]), "no resident polynomial 7");
    let bound = vec![copy(OUTPUT, INPUT)];
    refused(device.prepare(&schedule(vec![Launch::Rows(bound)]), &[]), "cannot be written");
}

#[test]
fn rows_and_columns_load_and_store_what_they_can() {
    let ring = random::both_rings(4);
    let device = CpuPoly::new(ring.clone(), Simd::detect(), 2).expect("a ring in order");
    let arena = Limb::Arena(0);
    let of = |form, automorphism, from| Load { from, form, automorphism };
    let row = |load: Load, form, automorphism| {
        let term = RowTerm { factor: [1, 1], a: Some(Source::Slot(0)), b: None };
        let stores = vec![Store { to: OUTPUT, form, automorphism }];
        RowTile { prime: 0, loads: vec![load], sums: vec![RowSum { terms: vec![term], stores }] }
    };
    let plain = |load| row(load, Form::Evaluations, 1);
    let half = of(Form::Half, 1, arena);
    for (load, words) in [
        (of(Form::Coefficients, 1, INPUT), "rows cannot load coefficients"),
        (of(Form::Half, 1, INPUT), "is never half transformed"),
        (of(Form::Half, 3, arena), "an automorphism of what is half transformed"),
        (of(Form::Half, View::Restricted.code(), arena), "an automorphism of what is half"),
    ] {
        let rows = schedule(vec![Launch::Rows(vec![plain(load)])]);
        refused(device.prepare(&rows, &[]), words);
    }
    for (tile, words) in [
        (plain(half), "a load that is half transformed"),
        (row(load(INPUT), Form::Half, 1), "words are stored as they are"),
        (row(load(INPUT), Form::Evaluations, View::Lifted.code()), "words are stored as they are"),
    ] {
        refused(device.prepare(&schedule(vec![Launch::Pointwise(vec![tile])]), &[]), words);
    }
    // A sum of the last slot, modulo `prime`.
    let columns = |loads: Vec<(u16, Load)>, prime| {
        let slot = loads.len() as u16 - 1;
        let terms = vec![ColumnTerm::Scaled { factor: 1, slot }];
        let stores = vec![Store { to: OUTPUT, form: Form::Coefficients, automorphism: 1 }];
        let sums = vec![ColumnSum { prime, terms, stores }];
        let tile = ColumnTile { loads, conversions: Vec::new(), sums };
        schedule(vec![Launch::Columns(vec![tile])])
    };
    let (coefficients, first) = (of(Form::Coefficients, 1, INPUT), ring.invariant_from as u16);
    for prime in [0, first] {
        assert!(device.prepare(&columns(vec![(prime, coefficients)], prime), &[]).is_ok());
        let both = vec![(first - prime, half), (prime, coefficients)];
        refused(device.prepare(&columns(both, prime), &[]), "primes of both rings");
        let bound = columns(vec![(prime, of(Form::Half, 1, INPUT))], prime);
        refused(device.prepare(&bound, &[]), "cannot be loaded as Half");
        for load in [load(INPUT), of(Form::Half, View::Lifted.code(), arena)] {
            let moved = columns(vec![(prime, load)], prime);
            refused(device.prepare(&moved, &[]), "neither evaluations nor their images");
        }
    }
}

#[test]
fn calls_are_bound_to_places_that_exist_and_do_not_overlap() {
    let device = device();
    let rows = |tile| Launch::Rows(vec![tile]);
    let arena = Limb::Arena(0);
    let launches = vec![rows(copy(INPUT, arena)), rows(copy(arena, OUTPUT))];
    let routine = device.prepare(&schedule(launches), &[]).expect("in order");
    let buffer = device.allocate(2).expect("small");
    let place = |first| Place { buffer, first };
    let words: Vec<u32> = (0..32).collect();
    device.write(place(0), &words).expect("two limbs");
    let call = |input, output| Bindings { inputs: vec![input], outputs: vec![output] };
    refused(device.run(routine, &[call(place(0), place(0))]), "bound once more");
    refused(device.run(routine, &[call(place(0), place(2))]), "binds no");
    refused(device.run(routine, &[Bindings::default()]), "binds no");
    refused(
        device.run(routine + 100, &[]).and(device.run(routine + 100, &[Bindings::default()])),
        "no routine",
    );
    device.run(routine, &[call(place(0), place(1))]).expect("in order");
    let mut out = vec![0; 16];
    device.read(place(1), &mut out).expect("a limb");
    assert_eq!(out, words[..16]);

    let other = device.allocate(1).expect("small");
    let there = Place { buffer: other, first: 0 };
    device.copy(place(0), there, 1).expect("one limb");
    device.copy(place(0), place(1), 1).expect("one limb");
    device.read(there, &mut out).expect("a limb");
    assert_eq!(out, words[..16]);
    refused(device.copy(place(1), there, 2), "2 limbs");
    refused(device.read(place(0), &mut out[..3]), "3 words");
    refused(device.write(place(2), &out), "from limb 2 on");
    device.free(other);
    refused(device.read(there, &mut out), "no buffer");
}

/// A sum of one limb is transformed from where it lies if it is that limb, word for word, and
/// computed otherwise.
#[test]
fn sums_of_one_limb_are_copies_or_not() {
    let device = device();
    let ring = device.ring().clone();
    let shape = |log2_run| ResidentShape { basis: Basis::new([0]), log2_run };
    let residents = vec![(shape(0), (50..66).collect()), (shape(2), vec![7, 8, 9, 10])];
    let residents = HostPolynomials::new(&ring, residents).expect("canonical");
    let resident = |slot| load(Limb::Resident { slot, limb: 0 });
    let moved = Load { automorphism: 5, ..load(INPUT) };
    let one = |factor, load| RowTerm { factor, a: Some(Source::Stream(load)), b: None };
    let constant = |factor| RowTerm { factor, a: None, b: None };
    let sums = [
        vec![one([1, 1], load(INPUT))],
        vec![one([1, 5], load(INPUT))],
        vec![one([5, 1], load(INPUT))],
        vec![one([1, 1], load(INPUT)), constant([0, 3])],
        vec![one([1, 1], load(INPUT)), constant([3, 0])],
        vec![one([1, 1], moved)],
        vec![one([1, 1], resident(0))],
        vec![one([1, 1], resident(1))],
        vec![one([1, 1], load(INPUT)), one([1, 1], resident(0))],
    ];
    let row = |(slot, terms): (usize, &Vec<RowTerm>)| {
        let to = Limb::Arena(slot as u32);
        let stores = vec![Store { to, form: Form::Half, automorphism: 1 }];
        let sums = vec![RowSum { terms: terms.clone(), stores }];
        RowTile { prime: 0, loads: Vec::new(), sums }
    };
    let column = |slot: usize| {
        let half = Load { form: Form::Half, ..load(Limb::Arena(slot as u32)) };
        let to = Limb::Output { slot: slot as u16, limb: 0 };
        let stores = vec![Store { to, form: Form::Coefficients, automorphism: 1 }];
        let terms = vec![ColumnTerm::Scaled { factor: 1, slot: 0 }];
        let sums = vec![ColumnSum { prime: 0, terms, stores }];
        ColumnTile { loads: vec![(0, half)], conversions: Vec::new(), sums }
    };
    let rows = Launch::Rows(sums.iter().enumerate().map(row).collect());
    let columns = Launch::Columns((0..sums.len()).map(column).collect());
    let arena_limbs = sums.len();
    let schedule = Arc::new(Schedule { launches: vec![rows, columns], arena_limbs, kept: vec![] });
    let input: Vec<u32> = (100..116).collect();
    let inputs = std::slice::from_ref(&input);
    let want = run_schedule(&schedule, &ring, &residents, inputs).expect("in order");
    let loaded = device.load(&residents, &NoProgress).expect("small");
    let buffer = device.allocate(1 + sums.len()).expect("small");
    let place = |first| Place { buffer, first };
    device.write(place(0), &input).expect("one limb");
    let outputs = (1..=sums.len()).map(place).collect();
    let call = Bindings { inputs: vec![place(0)], outputs };
    let routine = device.prepare(&schedule, &loaded).expect("in order");
    device.run(routine, &[call]).expect("in order");
    for (slot, want) in want.outputs.iter().enumerate() {
        let mut have = vec![0; 16];
        device.read(place(1 + slot), &mut have).expect("a limb");
        assert_eq!(&have, want, "sum {slot}");
    }
}

#[test]
fn memory_is_counted_and_given_back() {
    let device = device();
    let before = device.bytes_in_use();
    let ring = device.ring().clone();
    let shape = ResidentShape { basis: Basis::new([0, 1]), log2_run: 2 };
    let polynomial = HostPolynomials::new(&ring, vec![(shape, vec![5; 8])]).expect("canonical");
    let resident = device.load(&polynomial, &NoProgress).expect("small")[0];
    assert_eq!(device.bytes_in_use(), before + 32);
    let buffer = device.allocate(3).expect("small");
    assert_eq!(device.bytes_in_use(), before + 32 + 3 * 64);
    let tile = copy(Limb::Resident { slot: 0, limb: 0 }, Limb::Arena(0));
    let schedule =
        schedule(vec![Launch::Rows(vec![tile]), Launch::Rows(vec![copy(Limb::Arena(0), OUTPUT)])]);
    let routine = device.prepare(&schedule, &[resident]).expect("in order");
    let place = Place { buffer, first: 2 };
    let call = Bindings { inputs: Vec::new(), outputs: vec![place] };
    device.run(routine, std::slice::from_ref(&call)).expect("in order");
    assert!(device.bytes_in_use() > before + 32 + 3 * 64);
    let mut out = vec![0; 16];
    device.read(place, &mut out).expect("a limb");
    assert_eq!(out, [5; 16]);
    device.synchronize().expect("nothing runs");
    device.unload(resident);
    refused(device.run(routine, &[call]), "binds no");
    // Memory of a freed buffer serves the next of its size.
    let held = device.bytes_in_use();
    device.free(buffer);
    let again = device.allocate(3).expect("small");
    assert_eq!(device.bytes_in_use(), held);
    device.free(again);
    device.forget(routine);
    assert_eq!(device.bytes_in_use(), before);
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    let huge = device().allocate(usize::MAX / 8);
    assert!(matches!(huge, Err(BackendError::OutOfMemory { .. })), "{huge:?}");
}
