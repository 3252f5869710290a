use super::*;

use crate::poly::random::{RandomProgram, both_rings, random_program, random_program_over};
use crate::poly::{interpret, run_schedule};

mod shapes;

fn plans() -> Vec<PolyPlan> {
    let fused = PolyPlan::default();
    vec![
        fused,
        PolyPlan { fuse: false, ..fused },
        PolyPlan { most_row_slots: 2, most_column_sums: 1, ..fused },
        PolyPlan { most_row_slots: 3, most_column_sums: 4, ..fused },
        PolyPlan { least_column_tiles: 5, ..fused },
        PolyPlan { turn_operands: true, ..fused },
        PolyPlan { turn_operands: true, most_row_slots: 2, most_column_sums: 1, ..fused },
    ]
}

/// Every lowering of a random program yields what the interpreter yields.
fn agree(log2_degree: u32, steps: usize, seed: u64) {
    equal_the_interpreter(&random_program(log2_degree, steps, seed), seed);
}

fn equal_the_interpreter(random: &RandomProgram, seed: u64) {
    let RandomProgram { program, residents, inputs, keep } = random;
    let (log2_degree, steps) = (program.ring().log2_degree, program.ops().len());
    let expected = interpret(program, residents, inputs, keep).unwrap();
    for plan in plans() {
        let schedule = lower(program, &plan, keep).unwrap();
        let ran = run_schedule(&schedule, program.ring(), residents, inputs)
            .unwrap_or_else(|why| panic!("2^{log2_degree}, seed {seed}, {plan:?}: {why}"));
        let same = ran == expected;
        assert!(same, "2^{log2_degree}, {steps} steps, seed {seed}, {plan:?}: other words");
    }
}

#[test]
fn every_lowering_equals_the_interpreter() {
    for seed in 0..500 {
        agree(3 + seed as u32 % 3, 3 + seed as usize % 50, seed);
    }
}

#[test]
fn every_lowering_equals_the_interpreter_in_both_rings() {
    for seed in 0..300 {
        let ring = both_rings(1 + seed as u32 % 5);
        let random = random_program_over(ring, 3 + seed as usize % 50, 4000 + seed);
        equal_the_interpreter(&random, seed);
    }
    for seed in 0..4 {
        equal_the_interpreter(&random_program_over(both_rings(11), 12, 5000 + seed), seed);
    }
}

#[test]
fn every_lowering_equals_the_interpreter_on_limbs_of_two_rows() {
    for seed in 0..6 {
        agree(11, 12, 2000 + seed);
    }
}
