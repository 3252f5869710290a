//! Calls of a routine: where their polynomials lie, and the launches that run them.

use super::{Bases, CudaPoly, MOST_TABLES, Routine, Step, unknown};
use crate::poly::PROGRAMS;
use crate::poly::launch::Bound;
use crate::poly::memory::Memory;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{LaunchSize, RecordedLaunch};
use girih_backend::poly::{Bindings, RoutineId};
use girih_backend::{BackendError, timeline};

impl CudaPoly {
    /// Runs calls; returns the tables of bases.
    pub(super) fn run_calls(
        &self,
        routine: RoutineId,
        calls: &[Bindings],
    ) -> Result<Vec<Vec<u64>>, BackendError> {
        let mut guard = self.state();
        let state = &mut *guard;
        let limb_bytes = self.limb_bytes();
        self.turn(state, routine, calls.len())?;
        let of = state.routines.get(&routine).ok_or_else(|| unknown("routine", routine))?;
        let arena_bytes = (of.schedule.arena_limbs * limb_bytes).max(256);
        let needed = arena_bytes * calls.len();
        if state.arena.is_none_or(|arena| arena.bytes < needed) {
            // The old one first: both together may not fit, and nothing in it outlives a call.
            if let Some(old) = state.arena.take() {
                state.memory.free(old);
            }
            state.arena = Some(
                state
                    .memory
                    .allocate(needed, "the intermediate polynomials of a routine's calls")?,
            );
        }
        let arena = state.arena.map_or(0, |a| a.address);
        let mut tables = Vec::with_capacity(calls.len());
        for (i, call) in calls.iter().enumerate() {
            let address = |place: &girih_backend::poly::Place| {
                let block = state
                    .buffers
                    .get(&place.buffer)
                    .ok_or_else(|| unknown("buffer", place.buffer))?;
                Ok(block.address + (place.first * limb_bytes) as u64)
            };
            let inputs =
                call.inputs.iter().map(address).collect::<Result<Vec<_>, BackendError>>()?;
            let outputs =
                call.outputs.iter().map(address).collect::<Result<Vec<_>, BackendError>>()?;
            tables.push(of.places.bases(arena + (i * arena_bytes) as u64, &inputs, &outputs)?);
        }
        let stride = of.places.stride();
        let Routine { steps, bases, .. } =
            state.routines.get_mut(&routine).ok_or_else(|| unknown("routine", routine))?;
        let written = tables.concat();
        let same = |b: &Bases| b.calls == calls.len();
        match bases.iter().position(|b| same(b) && b.written == written) {
            Some(known) => bases[known..].rotate_left(1),
            None => {
                let own = match bases.iter().position(same) {
                    Some(oldest) if bases.len() >= MOST_TABLES => bases.remove(oldest),
                    _ => {
                        if bases.len() >= MOST_TABLES {
                            self.free_bases(&mut state.memory, bases.remove(0));
                        }
                        self.new_bases(&mut state.memory, steps, stride, calls.len())?
                    }
                };
                let address = own.block.address;
                bases.push(Bases { written: Vec::new(), ..own });
                self.machine.write(PROGRAMS, address, bytes_of(&written))?;
            }
        }
        let Some(own) = bases.last_mut() else { return Err(unknown("table of", 0)) };
        own.written = written;
        // A timeline wants to see each launch.
        match own.graph.filter(|_| !timeline::is_on()) {
            Some(graph) => self.machine.replay(PROGRAMS, graph)?,
            None => {
                for launch in self.recorded(steps, own.block.address, calls.len()) {
                    self.machine.launch(PROGRAMS, launch.kernel, launch.size, &launch.arguments)?;
                }
            }
        }
        Ok(tables)
    }

    fn recorded(&self, steps: &[Step], bases: u64, calls: usize) -> Vec<RecordedLaunch> {
        let recorded = |step: &Step| {
            let blocks = step.launch.blocks(calls);
            RecordedLaunch {
                kernel: step.kernel,
                size: LaunchSize {
                    blocks,
                    threads: step.launch.threads,
                    shared_bytes: step.launch.shared_bytes,
                    cluster: 1,
                },
                arguments: step.launch.arguments.bytes(Bound {
                    tables: self.tables.addresses,
                    data: &step.data,
                    bases,
                    calls: calls as u32,
                }),
            }
        };
        steps.iter().map(recorded).collect()
    }

    /// A table of bases for `calls` calls, with the launches that read it.
    fn new_bases(
        &self,
        memory: &mut Memory,
        steps: &[Step],
        stride: usize,
        calls: usize,
    ) -> Result<Bases, BackendError> {
        let what = "where a routine's calls find their polynomials";
        let block = memory.allocate(8 * stride * calls, what)?;
        let launches = self.recorded(steps, block.address, calls);
        match self.machine.record(PROGRAMS, &launches, self.knobs.overlaps_launches) {
            Ok(graph) => Ok(Bases { block, calls, written: Vec::new(), graph }),
            Err(error) => {
                memory.free(block);
                Err(error)
            }
        }
    }

    pub(super) fn free_bases(&self, memory: &mut Memory, bases: Bases) {
        memory.free(bases.block);
        if let Some(graph) = bases.graph {
            self.machine.forget(graph);
        }
    }
}
