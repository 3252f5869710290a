//! A whole bootstrapping through `lower`: what it is made of,
//! and the same words as the interpreter's.

use std::sync::Arc;

use girih_backend::poly::{
    PolyPlan, ResidentShape, ResidentSource, RingShape, interpret, lower, run_schedule,
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
    let plan = BootstrappingPlan::new(&chain, slots, 6, Variant::Pair, &encoder).unwrap();
    let mut recorder = Recorder::new(chain.clone());
    let x = recorder.input(0, chain.scale(0).unwrap(), slots).unwrap();
    let y = recorder.bootstrap(&x, &plan).unwrap();
    recorder.output(&y);
    recorder.finish()
}

#[test]
fn a_whole_bootstrapping_is_under_a_hundred_launches_and_yields_the_same_words() {
    let RecordedProgram { program, .. } = bootstrapping("INSECURE_CKKS_D40_N10");
    let ring = program.ring().clone();
    let schedule = lower(&program, &PolyPlan::default(), &[]).unwrap();
    let launches = schedule.launches.len();
    assert!(launches <= 94, "{launches} launches");
    // At N = 2^16 a limb is 256 KiB: half a gigabyte.
    assert!(schedule.arena_limbs <= 2048, "{} limbs", schedule.arena_limbs);
    let residents = MadeUp { ring: ring.clone(), shapes: program.residents().to_vec() };
    let input = |(slot, of): (usize, &girih_backend::poly::ValueType)| {
        let mut polynomial = vec![0; of.basis.len() * ring.degree()];
        let limbs = polynomial.chunks_exact_mut(ring.degree()).zip(of.basis.primes());
        limbs.for_each(|(limb, &prime)| words(&ring, prime, slot as u64 + 1000, limb));
        polynomial
    };
    let inputs: Vec<Vec<u32>> = program.inputs().iter().enumerate().map(input).collect();
    let expected = interpret(&program, &residents, &inputs, &[]).unwrap();
    assert!(run_schedule(&schedule, &ring, &residents, &inputs).unwrap() == expected);
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
