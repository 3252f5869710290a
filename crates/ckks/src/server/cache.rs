//! Recordings of single operations, kept for later calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::eager::OperationKey;
use super::recording::Recording;

/// The recordings used last, up to a number of them.
pub(super) struct Kept {
    most: usize,
    clock: u64,
    recordings: HashMap<OperationKey, (Arc<Recording>, u64)>,
}

impl Kept {
    pub fn new(most: usize) -> Self {
        Self { most, clock: 0, recordings: HashMap::new() }
    }

    pub fn get(&mut self, key: &OperationKey) -> Option<Arc<Recording>> {
        self.clock += 1;
        let (recording, used) = self.recordings.get_mut(key)?;
        *used = self.clock;
        Some(recording.clone())
    }

    /// Keeps a recording, in the place of the one unused for longest if there are too many.
    pub fn insert(&mut self, key: OperationKey, recording: Arc<Recording>) {
        self.clock += 1;
        self.recordings.insert(key, (recording, self.clock));
        while self.recordings.len() > self.most {
            let oldest = self.recordings.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            self.recordings.remove(&oldest);
        }
    }

    pub fn len(&self) -> usize {
        self.recordings.len()
    }

    pub fn clear(&mut self) {
        self.recordings.clear();
    }
}
