//! Programs run on digits on a device.

use super::operations::State;
use super::program::{Output, Program};
use crate::Result;
use crate::engine::{Array, Held, Inner};
use girih_backend::Progress;
use girih_discrete::{ServerKey, Table, Wires};
use std::sync::Arc;

/// Ciphertexts of a digit that are computed together, and look-ups side by side at most: a device
/// shares keys and launches among them.
pub(super) const SIDE_BY_SIDE: usize = 8;

/// Look-ups that lie in a device's queue before it is waited for.
const QUEUED: usize = 64;

/// Some elements of an array: a batch of up to eight ciphertexts for each digit that is not known.
#[derive(Clone, Debug)]
pub struct Part {
    pub(super) digits: Vec<Option<Wires>>,
    /// Any wires of so many ciphertexts, for constants to be made of.
    pub(super) like: Wires,
}

/// Runs a program, part by part: the results, and what is known of their digits.
pub(super) fn execute(
    inner: &Inner<ServerKey>,
    program: &Program,
    arrays: &[Option<&Array<ServerKey>>],
) -> Result<Vec<Held<ServerKey>>> {
    let arrays: Vec<&Vec<Part>> = arrays.iter().flatten().map(|array| &*array.words).collect();
    let count = arrays[0].len();
    let listener = inner.listener();
    let mut parts: Vec<Vec<Part>> = vec![Vec::new(); program.outputs.len()];
    for number in 0..count {
        let of = |array: &&Vec<Part>| array[number].digits.clone();
        let inputs: Vec<Wires> = arrays.iter().flat_map(of).flatten().collect();
        let (like, lookups) = (&arrays[0][number].like, program.lookups.len());
        let told = (listener.as_ref(), lookups * number, lookups * count);
        let run = Run { inner, program, like, told };
        for (all, digits) in parts.iter_mut().zip(run.all(inputs)?) {
            all.push(Part { digits, like: like.clone() });
        }
    }
    let states = program.outputs.iter().map(|outputs| {
        // One digit of one bit is a condition.
        let is_bit = outputs.len() == 1 && outputs[0].sum.high <= 1;
        outputs.iter().map(|output| output.state(if is_bit { 1 } else { 3 })).collect()
    });
    Ok(parts.into_iter().zip(states).collect())
}

impl Output {
    fn state(&self, most: i64) -> State {
        match self.sum.value() {
            Some(value) => State::Known(value),
            None if self.clean => State::Clean(most),
            None => State::Rest(most),
        }
    }
}

/// A program on some elements.
struct Run<'a> {
    inner: &'a Inner<ServerKey>,
    program: &'a Program,
    like: &'a Wires,
    /// Who hears of look-ups, how many elements before these took, and how many all take.
    told: (Option<&'a Arc<dyn Progress + Send>>, usize, usize),
}

impl Run<'_> {
    fn all(&self, inputs: Vec<Wires>) -> Result<Vec<Vec<Option<Wires>>>> {
        let (server, program) = (&self.inner.server, self.program);
        // Errors count as they did when the program was recorded, so that they do not creep up from
        // operation to operation.
        let counted = |(wires, errors): (Wires, _)| Some(wires.counted_as(errors));
        debug_assert_eq!(inputs.len(), program.inputs);
        let mut wires: Vec<Option<Wires>> =
            inputs.into_iter().zip(&program.wires).map(counted).collect();
        wires.resize(program.wires.len(), None);
        let side_by_side = (SIDE_BY_SIDE / self.like.len()).max(1);
        let (mut done, mut queued) = (0, 0);
        for level in &program.levels {
            for (&kind, lookups) in &level.kinds {
                for lookups in lookups.chunks(side_by_side) {
                    self.look_up(kind, lookups, &mut wires)?;
                    (done, queued) = (done + lookups.len(), queued + lookups.len());
                    if queued >= QUEUED {
                        server.synchronize()?;
                        queued = 0;
                    }
                    if let (Some(listener), before, all) = self.told {
                        listener.report("look-ups", before + done, all);
                    }
                }
            }
            // Work that was called before may still read them: memory is reused in that order.
            level.last_reads.iter().for_each(|&wire| wires[wire as usize] = None);
        }
        self.inner.count_look_ups(program.lookups.len() * self.like.len());
        let output = |output: &Output| -> Result<Option<Wires>> {
            let Output { sum, .. } = output;
            let of = |&(weight, wire): &(i64, u32)| {
                (weight, wires[wire as usize].as_ref().expect("outputs stay"))
            };
            let result = match sum.terms.as_slice() {
                [] => return Ok(None),
                [(1, wire)] if sum.constant == 0 => of(&(1, *wire)).1.clone(),
                terms => {
                    let terms: Vec<(i64, &Wires)> = terms.iter().map(of).collect();
                    server.sum(&terms, sum.constant)?
                }
            };
            Ok(Some(result.within(sum.low, sum.high)))
        };
        program.outputs.iter().map(|o| o.iter().map(output).collect()).collect()
    }

    fn look_up(&self, kind: usize, lookups: &[usize], wires: &mut [Option<Wires>]) -> Result<()> {
        let of = &self.program.kinds[kind];
        let there = |&wire: &u32| wires[wire as usize].as_ref().expect("operands come first");
        let lookups = || lookups.iter().map(|&i| &self.program.lookups[i]);
        let sums: Vec<Vec<&Wires>> =
            lookups().map(|lookup| lookup.operands.iter().map(there).collect()).collect();
        let tables: Vec<&Table> = of.tables.iter().collect();
        let results = self.inner.server.lookup_each(&of.weights, of.constant, &sums, &tables)?;
        for (lookup, results) in lookups().zip(results) {
            for (&wire, result) in lookup.results.iter().zip(results) {
                wires[wire as usize] = Some(result.counted_as(&self.program.wires[wire as usize]));
            }
        }
        Ok(())
    }
}
