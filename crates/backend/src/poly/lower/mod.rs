//! From a program to a schedule.
//!
//! | step | what |
//! |---|---|
//! | `expand` | the program as a graph of limbs; views are gone, automorphisms are references |
//! | `simplify` | work moved between evaluations and coefficients, so that phases are few |
//! | `turn` | where the plan says so: which sums are formed under an automorphism |
//! | `place` | the phase, or phases, that compute each limb; which limbs go through memory |
//! | `rows`, `columns` | the tiles of each phase |
//! | `arena` | memory by lifetime |
//!
//! Row and column phases alternate, and whatever is ready shares a launch, so independent
//! computations of equal depth cost the launches of one. `separate` is the other road, for tests
//! and for finding faults: each operation by itself.

use super::{PolyPlan, Program, Schedule, Value, check};
use crate::Result;
use graph::Id;

mod arena;
mod columns;
mod expand;
mod graph;
mod place;
mod rows;
mod separate;
mod simplify;
mod turn;

/// The schedule of `program` by `plan`. Values of `keep` are there after the last launch, too.
///
/// Results do not depend on `plan`: any two schedules of a program yield the same bits.
///
/// # Errors
/// For a ring that cannot be computed with, values that the program does not have, and plans
/// whose numbers are too small.
pub fn lower(program: &Program, plan: &PolyPlan, keep: &[Value]) -> Result<Schedule> {
    check::ring(program.ring())?;
    check::keep(program, keep)?;
    check::plan(plan)?;
    if !plan.fuse {
        return Ok(separate::schedule(program, keep));
    }
    let (raw, mut demands) = expand::expand(program, keep);
    // A sum that is stored half transformed needs one more.
    let most_halves = plan.most_row_slots as u32 - 1;
    let mut graph = simplify::simplify(&raw, &mut demands, most_halves, &program.ring().primes);
    drop(raw);
    if plan.turn_operands {
        graph = turn::turn(&graph, &mut demands, most_halves);
    }
    let kept: Vec<usize> = keep.iter().map(|&v| program.type_of(v).basis.len()).collect();
    let placed = place::place(&graph, &demands, &kept, program.residents());
    let mut levels: Vec<(Vec<Id>, Vec<Id>)> = Vec::new();
    for (id, computed) in placed.computed.iter().enumerate() {
        for &level in computed {
            let at = level as usize / 2;
            levels.resize(levels.len().max(at + 1), Default::default());
            let (rows, columns) = &mut levels[at];
            if level % 2 == 0 { rows } else { columns }.push(id as Id);
        }
    }
    let mut schedule = Schedule::default();
    for (at, (rows, columns)) in levels.iter().enumerate() {
        let level = 2 * at as u32;
        if !rows.is_empty() {
            schedule.launches.push(rows::launch(&graph, &placed, plan, level, rows));
        }
        if columns.iter().any(|&id| stores(&placed, id, level + 1)) {
            let at = (level + 1, &**program.ring());
            schedule.launches.push(columns::launch(&graph, &placed, plan, at, columns));
        }
    }
    schedule.kept = keep.iter().copied().zip(placed.kept).collect();
    arena::assign(&mut schedule);
    Ok(schedule)
}

fn stores(placed: &place::Placed, id: Id, level: u32) -> bool {
    placed.stores[id as usize].iter().any(|s| s.level == level)
}

#[cfg(test)]
mod tests;
