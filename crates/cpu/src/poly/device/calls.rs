//! Calls of a routine: where their limbs lie, and its launches on all threads.

use std::collections::HashMap;

use girih_backend::poly::schedule::Limb;
use girih_backend::poly::{Bindings, BufferId, Place, ResidentId, RoutineId};
use girih_backend::{BackendError, Result};

use super::{CpuPoly, Memory32, Resident, State, grow, refuse};
use crate::poly::launches;
use crate::poly::memory::{Memory, Words};
use crate::poly::routine::{Routine, Work};

/// Words that a call must touch to be worth a second thread.
const WORDS_WORTH_A_THREAD: usize = 1 << 16;

impl CpuPoly {
    pub(super) fn run_call(&self, routine: RoutineId, call: &Bindings) -> Result<()> {
        let mut state = self.state();
        self.execute(&mut state, routine, call).map(|_| ())
    }

    /// Runs a call; its kept limbs.
    pub(super) fn execute(
        &self,
        state: &mut State,
        routine: RoutineId,
        call: &Bindings,
    ) -> Result<Vec<Vec<u32>>> {
        let State { buffers, residents, routines, arena, scratch, .. } = state;
        let prepared =
            routines.get(&routine).ok_or_else(|| refuse(format!("no routine {routine}")))?;
        let routine = &*prepared.routine;
        let degree = self.ring.degree();
        grow(arena, routine.arena_limbs * degree, "what a call computes on its way")?;

        let tasks: Vec<usize> = routine.launches.iter().map(|w| w.tasks(self.layout)).collect();
        let row_words = tasks.iter().sum::<usize>() * self.layout.row_len;
        let threads = self.threads.min(row_words / WORDS_WORTH_A_THREAD + 1);
        scratch.resize_with(scratch.len().max(threads), || None);
        for words in &mut scratch[..threads] {
            grow(words, routine.scratch_words, "scratch memory of threads")?;
        }

        let arena = arena.as_deref_mut().unwrap_or_default();
        let mut memory =
            self.bind(routine, call, buffers, residents, &prepared.residents, arena)?;
        let task = |launch: usize, number: usize, scratch: &mut [u32]| {
            self.task(&routine.launches[launch], number, &memory, scratch);
        };
        let mut scratch: Vec<&mut [u32]> = scratch[..threads]
            .iter_mut()
            .map(|words| words.as_deref_mut().unwrap_or_default())
            .collect();
        if !launches::run(&tasks, &mut scratch, task) {
            return Err(BackendError::DeviceFailed {
                device: "cpu".into(),
                what: "a thread panicked in a routine".into(),
            });
        }
        let mut all = Vec::with_capacity(routine.kept.len());
        for limbs in &routine.kept {
            let mut words = Vec::with_capacity(limbs.len() * degree);
            for &limb in limbs {
                let limb = memory.limb(limb);
                // Resident polynomials may be stored in runs.
                let run = degree / limb.len();
                words.extend(limb.iter().flat_map(|&word| std::iter::repeat_n(word, run)));
            }
            all.push(words);
        }
        Ok(all)
    }

    /// Where the limbs of a call lie. Refuses places that do not exist, and outputs that share
    /// words with anything else.
    fn bind<'a>(
        &self,
        routine: &Routine,
        call: &Bindings,
        buffers: &'a mut HashMap<BufferId, Memory32>,
        residents: &'a HashMap<ResidentId, Resident>,
        bound: &[ResidentId],
        arena: &'a mut [u32],
    ) -> Result<Memory<'a>> {
        let degree = self.ring.degree();
        let arena = Words::new(arena);
        let buffers: HashMap<BufferId, Words<'a>> =
            buffers.iter_mut().map(|(&id, words)| (id, Words::new(words))).collect();
        let mut limbs = Vec::with_capacity(routine.limbs.len());
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for &limb in &routine.limbs {
            let missing = || refuse(format!("a call binds no {limb:?}"));
            let place = |places: &[Place], slot: u16, number: u16| {
                let place = places.get(usize::from(slot))?;
                let first = place.first.checked_add(number.into())?;
                let words = buffers.get(&place.buffer)?.part(first.checked_mul(degree)?, degree)?;
                Some(((place.buffer, first), words))
            };
            limbs.push(match limb {
                Limb::Arena(number) => {
                    arena.part(number as usize * degree, degree).ok_or_else(missing)?
                }
                Limb::Input { slot, limb } => {
                    let (at, words) = place(&call.inputs, slot, limb).ok_or_else(missing)?;
                    read.push(at);
                    words
                }
                Limb::Output { slot, limb } => {
                    let (at, words) = place(&call.outputs, slot, limb).ok_or_else(missing)?;
                    written.push(at);
                    words
                }
                Limb::Resident { slot, limb } => {
                    let resident = bound.get(slot as usize).and_then(|id| residents.get(id));
                    let resident = resident.ok_or_else(missing)?;
                    let len = degree >> resident.shape.log2_run;
                    let words = Words::read_only(&resident.words);
                    words.part(usize::from(limb) * len, len).ok_or_else(missing)?
                }
            });
        }
        read.extend_from_slice(&written);
        read.sort_unstable();
        written.sort_unstable();
        for at in written {
            let first = read.partition_point(|other| *other < at);
            if read.get(first + 1) == Some(&at) {
                let (buffer, limb) = at;
                return Err(refuse(format!(
                    "limb {limb} of buffer {buffer} is an output and bound once more"
                )));
            }
        }
        Ok(Memory::new(limbs))
    }

    #[allow(unsafe_code)] // The promise that the kernels ask for.
    fn task(&self, work: &Work, number: usize, memory: &Memory<'_>, scratch: &mut [u32]) {
        let (layout, rows) = (self.layout, self.layout.rows);
        // What the kernels ask for: a launch writes no limb that it reads and none twice, as was
        // checked when the routine was prepared; limbs of different numbers share no word that is
        // written, as was checked when the call was bound; and tasks of a tile have rows, or
        // columns, of their own.
        match work {
            Work::Rows(tiles) => {
                // SAFETY: as above.
                unsafe { tiles[number / rows].poly_rows(layout, number % rows, memory, scratch) };
            }
            Work::Pointwise(tiles) => {
                // SAFETY: as above.
                unsafe {
                    tiles[number / rows].poly_pointwise(layout, number % rows, memory, scratch)
                };
            }
            Work::Columns(tiles) => {
                let mut group = number;
                for tile in tiles {
                    let groups = layout.row_len / tile.width;
                    if group < groups {
                        // SAFETY: as above.
                        unsafe { tile.poly_columns(layout, group, memory, scratch) };
                        return;
                    }
                    group -= groups;
                }
            }
        }
    }
}
