//! A device that runs schedules on the host by their plain reading, slowly.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use girih_backend::poly::schedule::{ColumnTerm, Launch, Limb, Load, Source};
use girih_backend::poly::{
    Bindings, BufferId, HostPolynomials, Loader, Place, PolyDevice, PolyPlan, ResidentId,
    ResidentShape, ResidentSource, RingShape, RoutineId, Schedule, run_schedule,
};
use girih_backend::{BackendError, Progress};

/// Opens rings on the host.
pub struct Host;

impl Loader for Host {
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>, BackendError> {
        Ok(Box::new(HostDevice { ring, state: Mutex::default() }))
    }

    fn plan(&self, _: &RingShape) -> PolyPlan {
        PolyPlan::default()
    }
}

struct HostDevice {
    ring: Arc<RingShape>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    buffers: HashMap<BufferId, Vec<u32>>,
    residents: HashMap<ResidentId, (ResidentShape, Vec<u32>)>,
    routines: HashMap<RoutineId, (Arc<Schedule>, Arc<HostPolynomials>)>,
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl HostDevice {
    fn range(&self, place: Place, limbs: usize) -> std::ops::Range<usize> {
        let n = self.ring.degree();
        place.first * n..(place.first + limbs) * n
    }
}

/// Limbs of each input that a schedule reads, and of each output that it writes.
fn limbs(schedule: &Schedule) -> [Vec<usize>; 2] {
    let mut counts = [Vec::new(), Vec::new()];
    let mut see = |limb: Limb| {
        let (side, slot, limb) = match limb {
            Limb::Input { slot, limb } => (0, slot, limb),
            Limb::Output { slot, limb } => (1, slot, limb),
            _ => return,
        };
        let counts: &mut Vec<usize> = &mut counts[side];
        counts.resize(counts.len().max(usize::from(slot) + 1), 0);
        let count = &mut counts[usize::from(slot)];
        *count = (*count).max(usize::from(limb) + 1);
    };
    for launch in &schedule.launches {
        match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                for tile in tiles {
                    tile.loads.iter().for_each(|load| see(load.from));
                    for sum in &tile.sums {
                        sum.stores.iter().for_each(|store| see(store.to));
                        let operands = sum.terms.iter().flat_map(|t| t.a.iter().chain(&t.b));
                        for operand in operands {
                            if let Source::Stream(Load { from, .. }) = operand {
                                see(*from);
                            }
                        }
                    }
                }
            }
            Launch::Columns(tiles) => {
                for tile in tiles {
                    tile.loads.iter().for_each(|(_, load)| see(load.from));
                    for sum in &tile.sums {
                        let known = |t: &ColumnTerm| {
                            matches!(t, ColumnTerm::Scaled { .. } | ColumnTerm::Converted { .. })
                        };
                        assert!(sum.terms.iter().all(known));
                        sum.stores.iter().for_each(|store| see(store.to));
                    }
                }
            }
        }
    }
    counts
}

impl PolyDevice for HostDevice {
    fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    fn allocate(&self, limbs: usize) -> Result<BufferId, BackendError> {
        let mut state = self.state.lock().unwrap();
        let id = state.number();
        state.buffers.insert(id, vec![0; limbs * self.ring.degree()]);
        Ok(id)
    }

    fn free(&self, buffer: BufferId) {
        self.state.lock().unwrap().buffers.remove(&buffer).expect("freed once");
    }

    fn write(&self, to: Place, words: &[u32]) -> Result<(), BackendError> {
        let range = self.range(to, words.len() / self.ring.degree());
        let mut state = self.state.lock().unwrap();
        state.buffers.get_mut(&to.buffer).expect("a buffer")[range].copy_from_slice(words);
        Ok(())
    }

    fn read(&self, from: Place, words: &mut [u32]) -> Result<(), BackendError> {
        let range = self.range(from, words.len() / self.ring.degree());
        let state = self.state.lock().unwrap();
        words.copy_from_slice(&state.buffers[&from.buffer][range]);
        Ok(())
    }

    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<(), BackendError> {
        let mut words = vec![0; limbs * self.ring.degree()];
        self.read(from, &mut words)?;
        self.write(to, &words)
    }

    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>, BackendError> {
        let shapes = source.shapes();
        let total = shapes.len();
        let mut ids = Vec::new();
        for (number, shape) in shapes.into_iter().enumerate() {
            let degree = self.ring.degree() >> shape.log2_run;
            let mut words = vec![0; degree * shape.basis.len()];
            for (limb, out) in words.chunks_exact_mut(degree).enumerate() {
                source.limb(number, limb, out);
            }
            let mut state = self.state.lock().unwrap();
            let id = state.number();
            state.residents.insert(id, (shape, words));
            ids.push(id);
            progress.report(source.what(), number + 1, total);
        }
        Ok(ids)
    }

    fn unload(&self, resident: ResidentId) {
        self.state.lock().unwrap().residents.remove(&resident).expect("unloaded once");
    }

    fn prepare(
        &self,
        schedule: &Arc<Schedule>,
        residents: &[ResidentId],
    ) -> Result<RoutineId, BackendError> {
        let mut state = self.state.lock().unwrap();
        let list = residents.iter().map(|id| state.residents[id].clone()).collect();
        let held = HostPolynomials::new(&self.ring, list)?;
        let id = state.number();
        state.routines.insert(id, (schedule.clone(), Arc::new(held)));
        Ok(id)
    }

    fn forget(&self, routine: RoutineId) {
        self.state.lock().unwrap().routines.remove(&routine).expect("forgotten once");
    }

    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<(), BackendError> {
        let (schedule, residents) = self.state.lock().unwrap().routines[&routine].clone();
        let [inputs, _] = limbs(&schedule);
        for call in calls {
            let words: Vec<Vec<u32>> = call
                .inputs
                .iter()
                .enumerate()
                .map(|(slot, &place)| {
                    let limbs = inputs.get(slot).copied().unwrap_or(0);
                    let state = self.state.lock().unwrap();
                    state.buffers[&place.buffer][self.range(place, limbs)].to_vec()
                })
                .collect();
            let results = run_schedule(&schedule, &self.ring, &*residents, &words)?;
            assert_eq!(results.outputs.len(), call.outputs.len());
            for (words, &place) in results.outputs.iter().zip(&call.outputs) {
                self.write(place, words)?;
            }
        }
        Ok(())
    }

    fn trace(&self, _: RoutineId, _: &Bindings) -> Result<Vec<Vec<u32>>, BackendError> {
        Ok(Vec::new())
    }

    fn synchronize(&self) -> Result<(), BackendError> {
        Ok(())
    }

    fn bytes_in_use(&self) -> u64 {
        let state = self.state.lock().unwrap();
        let buffers = state.buffers.values().map(Vec::len).sum::<usize>();
        let residents = state.residents.values().map(|(_, words)| words.len()).sum::<usize>();
        4 * (buffers + residents) as u64
    }
}
