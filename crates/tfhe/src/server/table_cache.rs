//! Which test polynomials lie where on the device, and which of them may give way to others.

use super::store::Places;
use crate::Result;
use girih_backend::Engine;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a coefficient on the host, and at most on a device.
const COEFFICIENT_BYTES: usize = size_of::<u64>();

/// The test polynomials on a device, each list of them once.
///
/// Up to a limit every new list gets room of its own; from there on it takes that of the lists that
/// have gone unused for longest. What somebody holds stays where it is, and so does what is kept
/// for good: where nothing may give way, the room grows beyond the limit.
pub(super) struct TableCache {
    polynomial_size: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In test polynomials.
    limit: usize,
    places: Places,
    /// Place of the first of the polynomials with this content.
    by_content: HashMap<Arc<[u64]>, u32>,
    by_place: HashMap<u32, Entry>,
    /// Places of those that nobody holds, by the time of their last use.
    idle: BTreeMap<u64, u32>,
    clock: u64,
}

struct Entry {
    content: Arc<[u64]>,
    /// Places that it takes.
    count: u32,
    holders: usize,
    kept: bool,
    /// When it was last given back.
    used: u64,
}

impl State {
    fn hold(&mut self, first: u32) {
        if let Some(entry) = self.by_place.get_mut(&first) {
            entry.holders += 1;
            self.idle.remove(&entry.used);
        }
    }

    fn keep(&mut self, first: u32) {
        if let Some(entry) = self.by_place.get_mut(&first) {
            entry.kept = true;
            self.idle.remove(&entry.used);
        }
    }

    fn give_back(&mut self, first: u32) {
        let Some(entry) = self.by_place.get_mut(&first) else { return };
        entry.holders -= 1;
        if entry.holders == 0 && !entry.kept {
            self.clock += 1;
            entry.used = self.clock;
            self.idle.insert(self.clock, first);
        }
    }

    /// Free places for `count` polynomials; none where the device has to make room for more.
    fn take(&mut self, count: u32) -> Option<u32> {
        loop {
            if let Some(first) = self.places.take(count) {
                return Some(first);
            }
            if self.places.capacity as usize + count as usize <= self.limit {
                return None;
            }
            let (_, oldest) = self.idle.pop_first()?;
            if let Some(entry) = self.by_place.remove(&oldest) {
                self.by_content.remove(&entry.content);
                self.places.give_back(oldest, entry.count);
            }
        }
    }

    /// Notes that `content` lies at `first` and has no holder yet.
    fn insert(&mut self, first: u32, count: u32, content: Vec<u64>) {
        let content: Arc<[u64]> = content.into();
        self.clock += 1;
        self.by_content.insert(Arc::clone(&content), first);
        self.by_place
            .insert(first, Entry { content, count, holders: 0, kept: false, used: self.clock });
        self.idle.insert(self.clock, first);
    }
}

impl TableCache {
    pub fn new(polynomial_size: usize, limit_bytes: usize) -> Self {
        let tables = Self { polynomial_size, state: Mutex::default() };
        tables.limit(limit_bytes);
        tables
    }

    // Only an engine can panic while the lock is held: what it was to write is not in the cache
    // yet, its place stays unused.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn limit(&self, bytes: usize) {
        self.state().limit = bytes / (COEFFICIENT_BYTES * self.polynomial_size);
    }

    /// What all places take.
    pub fn bytes(&self) -> usize {
        self.state().places.capacity as usize * COEFFICIENT_BYTES * self.polynomial_size
    }

    /// Whole test polynomials, on the device for as long as they are held.
    pub fn hold(self: &Arc<Self>, engine: &Engine, polynomials: Vec<u64>) -> Result<HeldTables> {
        let mut state = self.state();
        let first = self.load(&mut state, engine, polynomials)?;
        state.hold(first);
        Ok(HeldTables { tables: Arc::clone(self), first })
    }

    /// Whole test polynomials, on the device for good: the place of the first.
    pub fn keep(&self, engine: &Engine, polynomials: Vec<u64>) -> Result<u32> {
        let mut state = self.state();
        let first = self.load(&mut state, engine, polynomials)?;
        state.keep(first);
        Ok(first)
    }

    fn load(&self, state: &mut State, engine: &Engine, polynomials: Vec<u64>) -> Result<u32> {
        if let Some(&first) = state.by_content.get(polynomials.as_slice()) {
            return Ok(first);
        }
        let count = (polynomials.len() / self.polynomial_size) as u32;
        let first = match state.take(count) {
            // Whoever held what was there has made its last call: engines take calls in order, so
            // that call still finds it.
            Some(first) => {
                engine
                    .write_tables(first, &polynomials)
                    .inspect_err(|_| state.places.give_back(first, count))?;
                first
            }
            None => {
                let first = engine.add_tables(&polynomials)?;
                state.places.capacity += count;
                first
            }
        };
        state.insert(first, count, polynomials);
        Ok(first)
    }
}

/// Test polynomials that stay where they are on the device until this is dropped: not before the
/// call that names them has returned.
pub(crate) struct HeldTables {
    tables: Arc<TableCache>,
    first: u32,
}

impl HeldTables {
    /// Place of the first.
    pub fn first(&self) -> u32 {
        self.first
    }
}

impl Drop for HeldTables {
    fn drop(&mut self) {
        self.tables.state().give_back(self.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As [`TableCache::load`], on a device that is a list of what lies where.
    fn load(state: &mut State, device: &mut Vec<u64>, content: Vec<u64>) -> u32 {
        if let Some(&first) = state.by_content.get(content.as_slice()) {
            return first;
        }
        let count = content.len() as u32;
        let first = state.take(count).unwrap_or_else(|| {
            assert!(
                state.idle.is_empty()
                    || state.places.capacity as usize + content.len() <= state.limit,
                "nothing gave way"
            );
            state.places.capacity += count;
            device.resize(state.places.capacity as usize, 0);
            state.places.capacity - count
        });
        device[first as usize..][..content.len()].copy_from_slice(&content);
        state.insert(first, count, content);
        first
    }

    proptest! {
        /// Whatever is held or kept stays where it is, what is loaded is found again, and room
        /// grows no further than it must.
        #[test]
        fn what_is_held_stays(
            limit in 0usize..12,
            longest in 1u64..4,
            calls in prop::collection::vec((0u64..30, 0u64..12, 0usize..8), 1..300),
        ) {
            let mut state = State { limit, ..State::default() };
            let (mut device, mut held, mut most) = (Vec::new(), Vec::<(u32, Vec<u64>)>::new(), 0);
            for (content, count, act) in calls {
                if act < 4 && !held.is_empty() {
                    let (first, _) = held.swap_remove(act % held.len());
                    state.give_back(first);
                } else {
                    let count = 1 + count % longest;
                    let content: Vec<u64> =
                        (1..=count).map(|i| 100 * content + 10 * count + i).collect();
                    let first = load(&mut state, &mut device, content.clone());
                    if act == 7 && state.by_place.values().filter(|e| e.kept).count() < 3 {
                        state.keep(first);
                    } else {
                        state.hold(first);
                        held.push((first, content));
                    }
                }
                let kept = state.by_place.iter().filter(|(_, e)| e.kept);
                let kept = kept.map(|(&first, e)| (first, e.content.to_vec()));
                let fixed: HashMap<u32, Vec<u64>> = held.iter().cloned().chain(kept).collect();
                for (&first, content) in &fixed {
                    prop_assert_eq!(&device[first as usize..][..content.len()], &content[..]);
                }
                for (content, &first) in &state.by_content {
                    prop_assert_eq!(&device[first as usize..][..content.len()], &content[..]);
                }
                most = most.max(fixed.values().map(Vec::len).sum());
                prop_assert!(longest > 1 || device.len() <= limit.max(most), "{} places for \
                    {most}", device.len());
                prop_assert_eq!(state.idle.len() + fixed.len(), state.by_place.len());
            }
        }
    }

    #[test]
    fn the_longest_unused_gives_way() {
        let (mut state, mut device) = (State { limit: 3, ..State::default() }, Vec::new());
        let mut used = |content: u64| {
            let first = load(&mut state, &mut device, vec![content]);
            state.hold(first);
            state.give_back(first);
            first
        };
        assert_eq!([1, 2, 3].map(&mut used), [0, 1, 2]);
        assert_eq!([1, 4, 5].map(&mut used), [0, 1, 2], "1 was used again, and 2 and 3 were not");
        assert_eq!([1, 2, 4].map(&mut used), [0, 1, 2], "1 was still there");
    }
}
