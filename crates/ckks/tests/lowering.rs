//! A whole bootstrapping through `lower`: what it is made of,
//! and the same words as the interpreter's.

use std::sync::Arc;

use girih_backend::poly::schedule::{Form, Launch};
use girih_backend::poly::{
    PolyPlan, Program, ResidentShape, ResidentSource, RingShape, Schedule, interpret, lower,
    run_schedule,
};
use girih_ckks::CkksParameters;
use girih_ckks::program::{
    BootstrappingPlan, Chain, ChainShape, RecordedProgram, Recorder, Variant,
};

/// Resident polynomials made up word by word: which they are does not matter here.
struct MadeUp {
    ring: Arc<RingShape>,
    shapes: Vec<ResidentShape>,
}

fn words(ring: &RingShape, prime: u16, seed: u64, out: &mut [u32]) {
    let p = u64::from(ring.primes[usize::from(prime)].value());
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(prime);
    for word in out {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *word = ((state >> 32) % p) as u32;
    }
}

impl ResidentSource for MadeUp {
    fn shapes(&self) -> Vec<ResidentShape> {
        self.shapes.clone()
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let prime = self.shapes[polynomial].basis.primes()[limb];
        words(&self.ring, prime, polynomial as u64, out);
    }
}

fn bootstrapping(set: &str) -> RecordedProgram {
    let set = CkksParameters::by_name(set).unwrap();
    let chain = Chain::new(ChainShape::from(&set)).unwrap();
    let slots = chain.most_slots();
    let encoder = girih_ckks::Encoder::new(chain.ring().log2_degree).unwrap();
    let ratio = set.bootstrapping().unwrap().message_ratio();
    let plan = BootstrappingPlan::new(&chain, slots, ratio, Variant::Pair, &encoder).unwrap();
    let mut recorder = Recorder::new(chain.clone());
    let start = plan.start(&chain);
    let x = recorder.input(start, chain.scale(start).unwrap(), slots).unwrap();
    let y = recorder.bootstrap(&x, &plan).unwrap();
    recorder.output(&y);
    recorder.finish()
}

#[test]
fn a_whole_bootstrapping_is_under_a_hundred_launches_and_yields_the_same_words() {
    let RecordedProgram { program, .. } = bootstrapping("INSECURE_CKKS_D40_N10");
    let schedule = lower(&program, &PolyPlan::default(), &[]).unwrap();
    assert!(schedule.launches.len() <= 94, "{} launches", schedule.launches.len());
    // At N = 2^16 a limb is 256 KiB: half a gigabyte.
    assert!(schedule.arena_limbs <= 2048, "{} limbs", schedule.arena_limbs);
    yield_the_words(&program, &[schedule]);
}

#[test]
fn rotated_inputs_are_formed_where_they_are_read() {
    let RecordedProgram { program, .. } = bootstrapping("INSECURE_CKKS_D40_30BIT_LOW_N10");
    let [stored, formed] = [false, true].map(|turn_operands| {
        lower(&program, &PolyPlan { turn_operands, ..PolyPlan::default() }, &[]).unwrap()
    });
    assert!(formed.launches.len() <= stored.launches.len());
    let [before, after] = [&stored, &formed].map(stores_of_rows);
    assert!(10 * after < 9 * before, "{after} and {before} limbs");
    yield_the_words(&program, &[stored, formed]);
}

fn yield_the_words(program: &Program, schedules: &[Schedule]) {
    let ring = program.ring();
    let residents = MadeUp { ring: ring.clone(), shapes: program.residents().to_vec() };
    let input = |(slot, of): (usize, &girih_backend::poly::ValueType)| {
        let mut polynomial = vec![0; of.basis.len() * ring.degree()];
        let limbs = polynomial.chunks_exact_mut(ring.degree()).zip(of.basis.primes());
        limbs.for_each(|(limb, &prime)| words(ring, prime, slot as u64 + 1000, limb));
        polynomial
    };
    let inputs: Vec<Vec<u32>> = program.inputs().iter().enumerate().map(input).collect();
    let expected = interpret(program, &residents, &inputs, &[]).unwrap();
    for schedule in schedules {
        assert!(run_schedule(schedule, ring, &residents, &inputs).unwrap() == expected);
    }
}

/// Evaluations that launches of rows store.
fn stores_of_rows(schedule: &Schedule) -> usize {
    let tiles = schedule.launches.iter().flat_map(|launch| match launch {
        Launch::Rows(tiles) | Launch::Pointwise(tiles) => &tiles[..],
        Launch::Columns(_) => &[],
    });
    let stores = tiles.flat_map(|t| &t.sums).flat_map(|s| &s.stores);
    stores.filter(|s| s.form == Form::Evaluations).count()
}

#[test]
fn every_stage_can_be_kept() {
    let RecordedProgram { program, .. } = bootstrapping("INSECURE_CKKS_D40_N10");
    let keep: Vec<_> =
        (0..program.ops().len()).step_by(10).filter_map(|i| program.value(i)).collect();
    let schedule = lower(&program, &PolyPlan::default(), &keep).unwrap();
    assert_eq!(schedule.kept.len(), keep.len());
    for ((value, limbs), &kept) in schedule.kept.iter().zip(&keep) {
        assert_eq!(*value, kept);
        assert_eq!(limbs.len(), program.type_of(kept).basis.len());
    }
}
