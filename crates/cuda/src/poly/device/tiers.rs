//! By which kernels a routine runs: those for any schedule at first, its own once they are there.

use super::{CudaPoly, Routine, State, Step};
use crate::poly::background::Order;
use crate::poly::launch::ReadyLaunch;
use crate::poly::limbs::Places;
use crate::poly::memory::Block;
use crate::poly::routine::{Tier, ready};
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::Kernel;
use girih_backend::poly::RoutineId;
use girih_backend::poly::schedule::Schedule;
use girih_backend::{BackendError, Preparation, Specialise, preparing};
use std::sync::Arc;

impl CudaPoly {
    /// The launches that a schedule runs by at first, and those that it changes over to.
    pub(super) fn launches(
        &self,
        schedule: &Schedule,
        places: &Places,
    ) -> Result<(Vec<ReadyLaunch>, Option<Arc<Order>>), BackendError> {
        let _lowering = preparing(Preparation::Lowering);
        let of_ring = (places, &self.tables.column_factors);
        let of = |tier| ready(&self.ring, &self.limits, &self.knobs, of_ring, schedule, tier);
        match self.knobs.specialise {
            Specialise::Never => Ok((of(Tier::General)?, None)),
            Specialise::Now => Ok((of(Tier::Own)?, None)),
            Specialise::Background => {
                let own = of(Tier::Own)?;
                if self.kernels.are_kept(&own) {
                    return Ok((own, None));
                }
                Ok((of(Tier::General)?, Some(Arc::new(Order::new(own)))))
            }
        }
    }

    /// Launches with their kernels and data on the device.
    pub(super) fn lay_out(
        &self,
        state: &mut State,
        launches: Vec<ReadyLaunch>,
        kernels: Vec<Kernel>,
    ) -> Result<(Vec<Step>, Block), BackendError> {
        // All data in one piece, each part on a unit of 16 bytes.
        let mut words: Vec<u32> = Vec::new();
        let mut offsets = Vec::new();
        for launch in &launches {
            let mut own = Vec::new();
            for part in &launch.data {
                words.resize(words.len().next_multiple_of(4), 0);
                own.push(4 * words.len() as u64);
                words.extend(part);
            }
            offsets.push(own);
        }
        let data = state.memory.allocate(4 * words.len(), "the tables of a routine")?;
        let uploading = preparing(Preparation::Upload);
        let uploaded = self.upload(data.address, bytes_of(&words));
        drop(uploading);
        let made = uploaded.and_then(|()| {
            let step = |((mut launch, kernel), own): ((ReadyLaunch, Kernel), Vec<u64>)| {
                self.machine.prepare(kernel, launch.block(launch.shared_bytes))?;
                // What is allowed to a kernel is allowed to all its launches: the largest counts.
                let most_bytes = state.shared_bytes.entry(kernel).or_default();
                *most_bytes = launch.shared_bytes.max(*most_bytes);
                if *most_bytes > launch.shared_bytes {
                    self.machine.prepare(kernel, launch.block(*most_bytes))?;
                }
                launch.data.clear();
                Ok(Step {
                    launch,
                    kernel,
                    data: own.into_iter().map(|offset| data.address + offset).collect(),
                })
            };
            launches
                .into_iter()
                .zip(kernels)
                .zip(offsets)
                .map(step)
                .collect::<Result<Vec<_>, BackendError>>()
        });
        match made {
            Ok(steps) => Ok((steps, data)),
            Err(error) => {
                state.memory.free(data);
                Err(error)
            }
        }
    }

    /// Lets a routine run by its own kernels from now on, if they are there. Graphs keep the
    /// kernels that they were captured with: the next call captures new ones.
    fn change_over(&self, state: &mut State, routine: &mut Routine) -> Result<(), BackendError> {
        let Some(order) = routine.own.take_if(|order| order.is_ready()) else { return Ok(()) };
        let kernels = order.kernels(&self.kernels)?;
        match self.lay_out(state, order.launches.clone(), kernels) {
            Ok((steps, data)) => {
                let old = std::mem::replace(&mut routine.data, data);
                state.memory.free(old);
                routine.steps = steps;
                for bases in routine.bases.drain(..) {
                    self.free_bases(&mut state.memory, bases);
                }
                Ok(())
            }
            // It goes on as it is, and tries again when it runs next.
            Err(BackendError::OutOfMemory { .. }) => {
                routine.own = Some(order);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Before calls of a routine: it changes over where it can, and else notes what it missed.
    pub(super) fn turn(
        &self,
        state: &mut State,
        id: RoutineId,
        calls: usize,
    ) -> Result<(), BackendError> {
        let Some(order) = state.routines.get(&id).and_then(|routine| routine.own.as_ref()) else {
            return Ok(());
        };
        if !order.is_ready() {
            self.background.ran(order, calls);
            return Ok(());
        }
        self.change(state, id)
    }

    fn change(&self, state: &mut State, id: RoutineId) -> Result<(), BackendError> {
        // Out of the map while it changes, so that the rest of the state can be used.
        let Some(mut routine) = state.routines.remove(&id) else { return Ok(()) };
        let changed = self.change_over(state, &mut routine);
        state.routines.insert(id, routine);
        changed
    }

    /// Waits for the kernels that were ordered, and lets all routines change over.
    pub(super) fn settle(&self) -> Result<usize, BackendError> {
        let orders: Vec<Arc<Order>> =
            self.state().routines.values().filter_map(|routine| routine.own.clone()).collect();
        self.background.finish(&orders)?;
        let mut guard = self.state();
        let state = &mut *guard;
        let ids: Vec<_> = state.routines.keys().copied().collect();
        ids.into_iter().try_for_each(|id| self.change(state, id))?;
        Ok(orders.len())
    }
}
