//! A device that runs schedules by [`run_schedule`]: slow, exact, every rule checked. For tests of
//! what stands on the contract.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::schedule::Limb;
use super::{
    Bindings, BufferId, Loader, Place, PolyDevice, PolyPlan, ResidentId, ResidentShape,
    ResidentSource, RingShape, RoutineId, Schedule, run_schedule,
};
use crate::{Progress, Result};

/// Opens rings on the host.
#[derive(Clone, Debug, Default)]
pub struct ReferenceLoader {
    /// How programs are lowered.
    pub plan: PolyPlan,
}

impl Loader for ReferenceLoader {
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>> {
        Ok(Box::new(ReferenceDevice { ring, state: Mutex::default() }))
    }

    fn plan(&self, _: &RingShape) -> PolyPlan {
        self.plan
    }
}

/// A ring open on the host.
#[derive(Debug)]
pub struct ReferenceDevice {
    ring: Arc<RingShape>,
    state: Mutex<State>,
}

type Polynomial = Arc<(ResidentShape, Mutex<Vec<u32>>)>;

#[derive(Debug, Default)]
struct State {
    last: u64,
    buffers: HashMap<BufferId, Vec<u32>>,
    residents: HashMap<ResidentId, Polynomial>,
    routines: HashMap<RoutineId, (Arc<Schedule>, Vec<Polynomial>)>,
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

/// The resident polynomials of a routine.
struct Bound<'a>(&'a [Polynomial], usize);

impl ResidentSource for Bound<'_> {
    fn shapes(&self) -> Vec<ResidentShape> {
        self.0.iter().map(|p| p.0.clone()).collect()
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let (shape, words) = &*self.0[polynomial];
        let len = self.1 >> shape.log2_run;
        out.copy_from_slice(&held(words)[limb * len..(limb + 1) * len]);
    }
}

fn held(words: &Mutex<Vec<u32>>) -> MutexGuard<'_, Vec<u32>> {
    words.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReferenceDevice {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn words(&self, place: Place, limbs: usize) -> std::ops::Range<usize> {
        let degree = self.ring.degree();
        place.first * degree..(place.first + limbs) * degree
    }

    fn call(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>> {
        let mut state = self.state();
        let (schedule, residents) = state.routines[&routine].clone();
        // What an input holds beyond its limbs no schedule reads.
        let inputs: Vec<Vec<u32>> = call
            .inputs
            .iter()
            .map(|place| state.buffers[&place.buffer][self.words(*place, 0).start..].to_vec())
            .collect();
        let bound = Bound(&residents, self.ring.degree());
        let ran = run_schedule(&schedule, &self.ring, &bound, &inputs)?;
        for (place, words) in call.outputs.iter().zip(&ran.outputs) {
            let limbs = words.len() / self.ring.degree();
            let at = self.words(*place, limbs);
            let buffer = state.buffers.get_mut(&place.buffer).expect("a buffer that there is");
            buffer[at].copy_from_slice(words);
        }
        let limbs = ran.kept.iter().flat_map(|words| words.chunks_exact(self.ring.degree()));
        Ok(limbs.map(<[u32]>::to_vec).collect())
    }
}

impl PolyDevice for ReferenceDevice {
    fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    fn allocate(&self, limbs: usize) -> Result<BufferId> {
        let mut state = self.state();
        let id = state.next();
        // Words that are canonical modulo no prime: nobody may count on them.
        state.buffers.insert(id, vec![u32::MAX; limbs * self.ring.degree()]);
        Ok(id)
    }

    fn free(&self, buffer: BufferId) {
        self.state().buffers.remove(&buffer);
    }

    fn write(&self, to: Place, words: &[u32]) -> Result<()> {
        let at = self.words(to, words.len() / self.ring.degree());
        let mut state = self.state();
        let buffer = state.buffers.get_mut(&to.buffer).expect("a buffer that there is");
        buffer[at].copy_from_slice(words);
        Ok(())
    }

    fn read(&self, from: Place, words: &mut [u32]) -> Result<()> {
        let at = self.words(from, words.len() / self.ring.degree());
        words.copy_from_slice(&self.state().buffers[&from.buffer][at]);
        Ok(())
    }

    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()> {
        let words = self.state().buffers[&from.buffer][self.words(from, limbs)].to_vec();
        self.write(to, &words)
    }

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        let mut ids = Vec::new();
        let shapes = source.shapes();
        let total = shapes.len();
        for (number, shape) in shapes.into_iter().enumerate() {
            let len = self.ring.degree() >> shape.log2_run;
            let mut words = vec![0; shape.basis.len() * len];
            for (limb, out) in words.chunks_exact_mut(len).enumerate() {
                source.limb(number, limb, out);
            }
            let mut state = self.state();
            let id = state.next();
            state.residents.insert(id, Arc::new((shape, Mutex::new(words))));
            ids.push(id);
            progress.report(source.what(), number + 1, total);
        }
        Ok(ids)
    }

    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<()> {
        held(&self.state().residents[&resident].1).copy_from_slice(words);
        Ok(())
    }

    fn unload(&self, resident: ResidentId) {
        self.state().residents.remove(&resident);
    }

    fn prepare(&self, schedule: &Arc<Schedule>, residents: &[ResidentId]) -> Result<RoutineId> {
        let mut state = self.state();
        let id = state.next();
        let residents = residents.iter().map(|id| state.residents[id].clone()).collect();
        state.routines.insert(id, (schedule.clone(), residents));
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        self.state().routines.remove(&routine);
    }

    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<()> {
        calls.iter().try_for_each(|call| self.call(routine, call).map(drop))
    }

    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>> {
        let kept = self.state().routines[&routine].0.kept.clone();
        let resident = |l: &Limb| matches!(l, Limb::Resident { .. });
        debug_assert!(!kept.iter().any(|(_, limbs)| limbs.iter().any(resident)));
        self.call(routine, call)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn bytes_in_use(&self) -> u64 {
        let state = self.state();
        let buffers: usize = state.buffers.values().map(Vec::len).sum();
        let residents: usize = state.residents.values().map(|p| held(&p.1).len()).sum();
        4 * (buffers + residents) as u64
    }
}
