//! Calls of a routine: where their limbs lie, and the one list of commands that runs them.

use super::{Routine, State, WgpuPoly, refuse, unknown};
use crate::poly::memory::{Address, Block};
use crate::poly::script::Script;
use girih_backend::Result;
use girih_backend::poly::schedule::Limb;
use girih_backend::poly::{Bindings, Place, RoutineId};

/// Scripts that a routine has at once: a loop whose results take turns in two places makes none
/// after its first turns.
const MOST_SCRIPTS: usize = 4;

impl WgpuPoly {
    /// Where every limb of a call lies.
    fn addresses(
        &self,
        state: &State,
        routine: &Routine,
        call: &Bindings,
        number: usize,
    ) -> Result<Vec<Address>> {
        let bound = |places: &[Place], slot: u16, limb: u16| {
            let place = places.get(usize::from(slot))?;
            state.buffers.get(&place.buffer)?.address(place.first + usize::from(limb))
        };
        let of = |&limb: &Limb| {
            let address = match limb {
                Limb::Arena(limb) => state
                    .arena
                    .as_ref()
                    .and_then(|a| a.address(number * routine.ready.arena_limbs + limb as usize)),
                Limb::Input { slot, limb } => bound(&call.inputs, slot, limb),
                Limb::Output { slot, limb } => bound(&call.outputs, slot, limb),
                Limb::Resident { slot, limb } => routine
                    .residents
                    .get(slot as usize)
                    .and_then(|id| state.residents.get(id))
                    .and_then(|resident| resident.block.address(limb.into())),
            };
            address.ok_or_else(|| refuse(format!("a call binds no {limb:?}")))
        };
        routine.ready.limbs.iter().map(of).collect()
    }

    /// Runs calls that share a run; the last call's kept limbs lie at what comes back.
    pub(super) fn run_together(
        &self,
        routine: RoutineId,
        calls: &[Bindings],
    ) -> Result<Vec<Address>> {
        let mut guard = self.state();
        let state = &mut *guard;
        let of = state.routines.get(&routine).ok_or_else(|| unknown("routine", routine))?;
        let needed = (of.ready.arena_limbs * calls.len()).max(1);
        if state.arena.as_ref().is_none_or(|arena| arena.limbs() < needed) {
            // The old one first: both together may not fit, and nothing in it outlives a run.
            if let Some(old) = state.arena.take() {
                state.memory.free(&old);
            }
            let what = format!("the intermediate polynomials of {} calls", calls.len());
            let arena = state.memory.allocate(&self.gpu, needed, self.ring.degree(), &what)?;
            state.arena = Some(arena);
        }
        let of = state.routines.get(&routine).ok_or_else(|| unknown("routine", routine))?;
        let addresses = calls
            .iter()
            .enumerate()
            .map(|(number, call)| self.addresses(state, of, call, number))
            .collect::<Result<Vec<_>, _>>()?;
        let last = addresses.last().map_or(&[][..], Vec::as_slice);
        let kept = of.ready.kept.iter().map(|&limb| last[limb as usize]).collect();
        let State { memory, routines, gathered, .. } = state;
        let of = routines.get_mut(&routine).ok_or_else(|| unknown("routine", routine))?;
        let scripter = self.scripter();
        let room = scripter.divider().gathered_limbs(&of.ready, memory, &addresses)?;
        if room > gathered.as_ref().map_or(0, Block::limbs) {
            if let Some(old) = gathered.take() {
                memory.free(&old);
            }
            let what = "polynomials that are copied together";
            *gathered = Some(memory.allocate(&self.gpu, room, self.ring.degree(), what)?);
        }
        let gathered = gathered.as_ref().and_then(Block::whole);
        // One of memory that is gone would hold on to it.
        of.scripts.retain(|script| script.is_of(memory));
        let ours = |script: &Script| script.serves(&addresses, gathered);
        let script = match of.scripts.iter().position(ours) {
            Some(known) => of.scripts.remove(known),
            None => {
                #[cfg(test)]
                {
                    state.scripts_made += 1;
                }
                scripter.script(&of.ready, &of.records, memory, addresses, gathered)?
            }
        };
        let mut encoder =
            self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut recorder = self.gpu.recorder(script.dispatches());
        script.encode(&mut encoder, recorder.as_mut());
        self.gpu.submit(encoder, recorder)?;
        of.scripts.insert(0, script);
        of.scripts.truncate(MOST_SCRIPTS);
        self.gpu.check("running a routine")?;
        Ok(kept)
    }
}
