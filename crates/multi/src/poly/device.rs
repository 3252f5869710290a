//! The members' devices behind one store.

use super::bound::bound_limbs;
use super::held::{At, Held};
use crate::backend::Named;
use crate::schedule::Shares;
use crate::threads::{MemberThreads, Task};
use girih_backend::poly::schedule::Schedule;
use girih_backend::poly::{
    Bindings, BufferId, Place, PolyDevice, ResidentId, ResidentSource, RingShape, RoutineId,
};
use girih_backend::{BackendError, Progress, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A ring open on several devices.
pub(super) struct MultiPoly {
    ring: Arc<RingShape>,
    members: Vec<Box<dyn PolyDevice>>,
    ids: Vec<String>,
    shares: Shares,
    threads: MemberThreads,
    /// Held over whole calls: they take effect in the order in which they are made.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    buffers: HashMap<BufferId, Held>,
    /// Their numbers on the members.
    residents: HashMap<ResidentId, Vec<ResidentId>>,
    routines: HashMap<RoutineId, Routine>,
    /// Who gets the next work that nobody holds operands of.
    home: usize,
}

#[derive(Clone)]
struct Routine {
    /// Its number on each member.
    on: Vec<RoutineId>,
    /// Limbs of each input that it reads, and of each output that it writes.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn routine(&self, routine: RoutineId) -> Result<Routine> {
        self.routines.get(&routine).cloned().ok_or_else(|| unknown("routine", routine))
    }

    fn buffer(&mut self, buffer: BufferId) -> Result<&mut Held> {
        self.buffers.get_mut(&buffer).ok_or_else(|| unknown("buffer", buffer))
    }
}

fn unknown(what: &str, id: u64) -> BackendError {
    BackendError::InvalidRequest(format!("{what} {id} is not on these devices"))
}

fn range(place: Place, limbs: usize) -> Range<usize> {
    place.first..place.first + limbs
}

impl MultiPoly {
    /// Over members with nothing allocated on them, which do work as `shares` says.
    pub fn new(
        ring: Arc<RingShape>,
        members: Vec<Box<dyn PolyDevice>>,
        ids: Vec<String>,
        shares: Shares,
        threads: MemberThreads,
    ) -> Self {
        Self { ring, members, ids, shares, threads, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has members work at the same time; what each came to, in their order.
    fn together<R: Send>(&self, work: impl Fn(usize, &dyn PolyDevice) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = self.members.iter().map(|_| None).collect();
        let tasks = self.members.iter().zip(&mut results).enumerate();
        let tasks = tasks.map(|(member, (device, result))| {
            let work = &work;
            (member, Box::new(move || *result = Some(work(member, device.as_ref()))) as Task<'_>)
        });
        self.threads.run(tasks.collect());
        // Each was done, or `run` would not have returned.
        results.into_iter().flatten().collect()
    }

    /// The number of `buffer` on `member`, allocated there now if it is not yet.
    fn on(&self, held: &mut Held, member: usize) -> Result<BufferId> {
        if let Some(id) = held.on[member] {
            return Ok(id);
        }
        let id = self.members[member].allocate(held.limbs())?;
        held.on[member] = Some(id);
        Ok(id)
    }

    /// Copies to `member` what it lacks of `range` of a buffer.
    fn bring(&self, held: &mut Held, range: Range<usize>, member: usize) -> Result<()> {
        let degree = self.ring.degree();
        let to = self.on(held, member)?;
        for (at, run) in held.runs(range, member) {
            let words = match at {
                At::Nowhere => continue,
                At::Member(from) if from == member => continue,
                At::Host => held.on_host(run.clone()),
                At::Member(from) => {
                    let source = Place { buffer: self.on(held, from)?, first: run.start };
                    let place = Place { buffer: to, first: run.start };
                    let peer = self.members[from].as_ref();
                    if self.members[member].copy_from(peer, source, place, run.len())? {
                        held.add(member, run);
                        continue;
                    }
                    let mut words = vec![0; run.len() * degree];
                    peer.read(source, &mut words)?;
                    words
                }
            };
            self.members[member].write(Place { buffer: to, first: run.start }, &words)?;
            held.add(member, run);
        }
        Ok(())
    }

    /// Makes calls ready on their members: what they read is there, and what they write has a
    /// place. Returns the calls as each member knows them.
    fn ready(
        &self,
        state: &mut State,
        routine: &Routine,
        calls: &[Bindings],
        members: &[usize],
    ) -> Result<Vec<Vec<Bindings>>> {
        let mut all = vec![Vec::new(); self.members.len()];
        for (call, &member) in calls.iter().zip(members) {
            let mut own = Bindings::default();
            for (slot, place) in call.inputs.iter().enumerate() {
                let held = state.buffer(place.buffer)?;
                let limbs = routine.inputs.get(slot).copied().unwrap_or(0);
                self.bring(held, range(*place, limbs), member)?;
                own.inputs.push(Place { buffer: self.on(held, member)?, ..*place });
            }
            for place in &call.outputs {
                let buffer = self.on(state.buffer(place.buffer)?, member)?;
                own.outputs.push(Place { buffer, ..*place });
            }
            all[member].push(own);
        }
        for call in calls {
            for (place, &limbs) in call.inputs.iter().zip(&routine.inputs) {
                state.buffer(place.buffer)?.taken(range(*place, limbs));
            }
        }
        Ok(all)
    }

    /// What calls write is where they ran.
    fn written(
        &self,
        state: &mut State,
        routine: &Routine,
        calls: &[Bindings],
        members: &[usize],
    ) -> Result<()> {
        for (call, &member) in calls.iter().zip(members) {
            for (place, &limbs) in call.outputs.iter().zip(&routine.outputs) {
                state.buffer(place.buffer)?.set(member, range(*place, limbs));
            }
        }
        Ok(())
    }

    /// A member for each call.
    fn assign(
        &self,
        state: &mut State,
        routine: &Routine,
        calls: &[Bindings],
    ) -> Result<Vec<usize>> {
        let mut jobs = Vec::with_capacity(calls.len());
        for call in calls {
            let mut holders = Vec::new();
            for (place, &limbs) in call.inputs.iter().zip(&routine.inputs) {
                holders.push(state.buffer(place.buffer)?.holders(range(*place, limbs)));
            }
            jobs.push(holders);
        }
        let members = self.shares.assign(&jobs, state.home);
        if jobs.iter().flatten().all(|&holders| holders == 0) {
            state.home = (state.home + calls.len()) % self.members.len();
        }
        Ok(members)
    }
}

/// What every member came to, or the first failure, once `undo` has taken back what others did.
fn all_or_none<R>(results: Vec<Result<R>>, undo: impl Fn(usize, R)) -> Result<Vec<R>> {
    if results.iter().all(Result::is_ok) {
        return results.into_iter().collect();
    }
    let mut first = None;
    for (member, result) in results.into_iter().enumerate() {
        match result {
            Ok(done) => undo(member, done),
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or_else(|| Ok(Vec::new()), Err)
}

impl PolyDevice for MultiPoly {
    fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    fn allocate(&self, limbs: usize) -> Result<BufferId> {
        let mut state = self.state();
        let id = state.next();
        state.buffers.insert(id, Held::new(limbs, self.members.len()));
        Ok(id)
    }

    fn free(&self, buffer: BufferId) {
        let Some(held) = self.state().buffers.remove(&buffer) else { return };
        for (device, id) in self.members.iter().zip(held.on) {
            if let Some(id) = id {
                device.free(id);
            }
        }
    }

    fn write(&self, to: Place, words: &[u32]) -> Result<()> {
        self.state().buffer(to.buffer)?.write(to.first, words, self.ring.degree());
        Ok(())
    }

    fn read(&self, from: Place, words: &mut [u32]) -> Result<()> {
        let degree = self.ring.degree();
        let mut state = self.state();
        let held = state.buffer(from.buffer)?;
        for (at, run) in held.runs(range(from, words.len() / degree), 0) {
            let out =
                &mut words[(run.start - from.first) * degree..(run.end - from.first) * degree];
            match at {
                At::Nowhere => {}
                At::Host => out.copy_from_slice(&held.on_host(run)),
                At::Member(member) => {
                    let buffer = self.on(held, member)?;
                    self.members[member].read(Place { buffer, first: run.start }, out)?;
                }
            }
        }
        Ok(())
    }

    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()> {
        let mut state = self.state();
        let runs = state.buffer(from.buffer)?.runs(range(from, limbs), 0);
        for (at, run) in runs {
            let target = Place { first: to.first + run.start - from.first, ..to };
            match at {
                At::Nowhere => {}
                At::Host => {
                    let words = state.buffer(from.buffer)?.on_host(run);
                    state.buffer(to.buffer)?.write(target.first, &words, self.ring.degree());
                }
                At::Member(member) => {
                    let source = self.on(state.buffer(from.buffer)?, member)?;
                    let held = state.buffer(to.buffer)?;
                    let target = Place { buffer: self.on(held, member)?, ..target };
                    let source = Place { buffer: source, first: run.start };
                    self.members[member].copy(source, target, run.len())?;
                    held.set(member, range(target, run.len()));
                }
            }
        }
        Ok(())
    }

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        let loaded = self.together(|member, device| {
            device.load(source, &Named { progress, device: &self.ids[member] })
        });
        let loaded = all_or_none(loaded, |member, ids| {
            ids.into_iter().for_each(|id| self.members[member].unload(id));
        })?;
        let mut state = self.state();
        let count = loaded.first().map_or(0, Vec::len);
        let one = |number: usize| {
            let id = state.next();
            state.residents.insert(id, loaded.iter().map(|ids| ids[number]).collect());
            id
        };
        Ok((0..count).map(one).collect())
    }

    fn copies(&self) -> usize {
        self.members.iter().map(|member| member.copies()).sum()
    }

    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<()> {
        let on = self.state().residents.get(&resident).cloned();
        let on = on.ok_or_else(|| unknown("resident polynomial", resident))?;
        self.members.iter().zip(on).try_for_each(|(device, id)| device.rewrite(id, words))
    }

    fn unload(&self, resident: ResidentId) {
        let Some(ids) = self.state().residents.remove(&resident) else { return };
        self.members.iter().zip(ids).for_each(|(device, id)| device.unload(id));
    }

    fn prepare(&self, schedule: &Arc<Schedule>, residents: &[ResidentId]) -> Result<RoutineId> {
        let mut state = self.state();
        let mut own = vec![Vec::with_capacity(residents.len()); self.members.len()];
        for id in residents {
            let on = state.residents.get(id).ok_or_else(|| unknown("resident polynomial", *id))?;
            own.iter_mut().zip(on).for_each(|(own, id)| own.push(*id));
        }
        let prepared = self.together(|member, device| device.prepare(schedule, &own[member]));
        let on = all_or_none(prepared, |member, id| self.members[member].forget(id))?;
        let (inputs, outputs) = bound_limbs(schedule);
        let id = state.next();
        state.routines.insert(id, Routine { on, inputs, outputs });
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        let Some(routine) = self.state().routines.remove(&routine) else { return };
        self.members.iter().zip(routine.on).for_each(|(device, id)| device.forget(id));
    }

    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<()> {
        let mut state = self.state();
        let routine = state.routine(routine)?;
        let members = self.assign(&mut state, &routine, calls)?;
        let own = self.ready(&mut state, &routine, calls, &members)?;
        let done = self.together(|member, device| match own[member].as_slice() {
            [] => Ok(()),
            calls => device.run(routine.on[member], calls),
        });
        self.written(&mut state, &routine, calls, &members)?;
        done.into_iter().collect()
    }

    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>> {
        let mut state = self.state();
        let routine = state.routine(routine)?;
        let calls = std::slice::from_ref(call);
        let members = self.assign(&mut state, &routine, calls)?;
        let own = self.ready(&mut state, &routine, calls, &members)?;
        let member = members[0];
        let limbs = self.members[member].trace(routine.on[member], &own[member][0]);
        self.written(&mut state, &routine, calls, &members)?;
        limbs
    }

    fn settle(&self) -> Result<usize> {
        self.together(|_, device| device.settle()).into_iter().sum()
    }

    fn synchronize(&self) -> Result<()> {
        self.together(|_, device| device.synchronize()).into_iter().collect()
    }

    fn bytes_in_use(&self) -> u64 {
        self.members.iter().map(|device| device.bytes_in_use()).sum()
    }
}
