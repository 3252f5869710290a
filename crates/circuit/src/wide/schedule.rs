//! The order in which look-ups run: side by side where a device can do them so, and none so early
//! that its result waits for long where memory is short.

use super::plan::{Output, Plan};
use crate::error::{Error, Result};

/// How far ahead a step looks for look-ups of its kind.
const AHEAD: usize = 256;

/// Look-ups of one kind that run side by side, and wires that nothing reads after them.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub lookups: Vec<usize>,
    pub last_reads: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub steps: Vec<Step>,
    /// Wires that lie on the device at most at one time, inputs included.
    pub peak: usize,
}

impl Schedule {
    /// Level by level, `batch` look-ups at most in a step.
    pub fn by_levels(plan: &Plan, batch: usize) -> Self {
        let mut order: Vec<usize> = (0..plan.lookups.len()).collect();
        let key = |&i: &usize| (plan.lookups[i].level, plan.lookups[i].kind);
        order.sort_by_key(key);
        let mut steps = Vec::new();
        for alike in order.chunk_by(|a, b| key(a) == key(b)) {
            // Of nearly equal lengths: a device makes a graph for each length.
            let parts = alike.len().div_ceil(batch);
            steps.extend(alike.chunks(alike.len().div_ceil(parts)).map(<[usize]>::to_vec));
        }
        Self::of(plan, steps)
    }

    /// What the first output needs, then what the second needs in addition, and so on: fewer
    /// wires at one time, smaller steps.
    pub fn by_outputs(plan: &Plan, batch: usize) -> Self {
        let mut maker = vec![None; plan.wires];
        for (i, lookup) in plan.lookups.iter().enumerate() {
            lookup.results.iter().for_each(|&wire| maker[wire as usize] = Some(i));
        }
        let mut seen = vec![false; plan.lookups.len()];
        let mut order = Vec::with_capacity(plan.lookups.len());
        for output in &plan.outputs {
            let Output::Wire { wire, .. } = *output else { continue };
            let mut stack: Vec<(usize, usize)> =
                maker[wire as usize].filter(|&i| !seen[i]).map(|i| (i, 0)).into_iter().collect();
            while let Some((lookup, next)) = stack.pop() {
                seen[lookup] = true;
                match plan.lookups[lookup].operands.get(next) {
                    None => order.push(lookup),
                    Some(&operand) => {
                        stack.push((lookup, next + 1));
                        let before = maker[operand as usize].filter(|&i| !seen[i]);
                        stack.extend(before.map(|i| (i, 0)));
                    }
                }
            }
        }
        Self::of(plan, gathered(plan, &order, batch))
    }

    fn of(plan: &Plan, order: Vec<Vec<usize>>) -> Self {
        // A wire goes after the step that reads it last; outputs stay, and so do inputs, which are
        // the caller's.
        let mut last = vec![usize::MAX; plan.wires];
        for (step, lookups) in order.iter().enumerate() {
            for &lookup in lookups {
                let lookup = &plan.lookups[lookup];
                // A result that nothing reads goes with its own step.
                lookup.results.iter().for_each(|&wire| last[wire as usize] = step);
                lookup.operands.iter().for_each(|&wire| last[wire as usize] = step);
            }
        }
        for output in &plan.outputs {
            if let Output::Wire { wire, .. } = *output {
                last[wire as usize] = usize::MAX;
            }
        }
        let mut steps: Vec<Step> =
            order.into_iter().map(|lookups| Step { lookups, last_reads: Vec::new() }).collect();
        for (wire, &step) in last.iter().enumerate().skip(plan.inputs) {
            if let Some(step) = steps.get_mut(step) {
                step.last_reads.push(wire as u32);
            }
        }
        let (mut held, mut peak) = (plan.inputs, plan.inputs);
        for step in &steps {
            held += step.lookups.iter().map(|&i| plan.lookups[i].results.len()).sum::<usize>();
            peak = peak.max(held);
            held -= step.last_reads.len();
        }
        Self { steps, peak }
    }

    /// The first of several orders that keeps within `wires` at one time.
    ///
    /// # Errors
    /// [`Error::Memory`] with what the smallest takes.
    pub fn within(plan: &Plan, batch: usize, wires: usize, bytes: u64) -> Result<Self> {
        let schedule = Self::by_levels(plan, batch);
        if schedule.peak <= wires {
            return Ok(schedule);
        }
        let mut least = schedule.peak;
        let halves = std::iter::successors(Some(batch), |b| (*b > 1).then(|| b / 2));
        for batch in halves {
            let schedule = Self::by_outputs(plan, batch);
            if schedule.peak <= wires {
                return Ok(schedule);
            }
            least = least.min(schedule.peak);
        }
        Err(Error::Memory {
            allowed: wires as u64 * bytes,
            wires,
            needed: least,
            inputs: plan.inputs,
            least: least as u64 * bytes,
        })
    }
}

/// Steps in an order: each takes the first look-up left and those like it that are ready, not far
/// behind.
fn gathered(plan: &Plan, order: &[usize], batch: usize) -> Vec<Vec<usize>> {
    let mut is_there = vec![false; plan.wires];
    is_there[..plan.inputs].fill(true);
    let mut done = vec![false; order.len()];
    let mut steps = Vec::new();
    for first in 0..order.len() {
        if done[first] {
            continue;
        }
        let kind = plan.lookups[order[first]].kind;
        let mut step = Vec::new();
        for (place, &lookup) in order.iter().enumerate().skip(first).take(AHEAD) {
            let of = &plan.lookups[lookup];
            let ready = || of.operands.iter().all(|&wire| is_there[wire as usize]);
            if !done[place] && of.kind == kind && ready() {
                done[place] = true;
                step.push(lookup);
                if step.len() == batch {
                    break;
                }
            }
        }
        for &lookup in &step {
            plan.lookups[lookup].results.iter().for_each(|&w| is_there[w as usize] = true);
        }
        steps.push(step);
    }
    steps
}
