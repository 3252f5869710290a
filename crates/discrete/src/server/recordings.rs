//! Recordings of sums and look-ups, made when first met, and plans.

use super::ServerKey;
use crate::program::LookupPlan;
use crate::{Result, Table};
use girih_ckks::program::{Chain, LinearTransform, Recorded};
use girih_ckks::server::{Estimate, Recording};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a recording computes: weights of its inputs, a constant, and tables of the sum, if any,
/// with the factor that brings the sum to the modulus of the set; or how the sum moves.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub weights: Vec<i64>,
    pub constant: i64,
    pub tables: Vec<(Vec<i64>, u32)>,
    /// Rotations, one after the other.
    pub route: Vec<usize>,
    /// Products with i after that.
    pub turns: usize,
    /// Whether the one input is phases.
    pub from_phases: bool,
    /// Where results are phases, the numbers that fill a turn; else 0.
    pub to_phases: u32,
}

/// The recordings used last.
#[derive(Default)]
pub(super) struct Kept {
    clock: u64,
    recordings: HashMap<Kind, (Arc<Recording>, u64)>,
}

/// Recordings that are kept, but those unused for longest.
const MOST: usize = 256;

pub(super) fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerKey {
    fn to_coefficients(&self, modulus: u32) -> Result<Arc<[LinearTransform]>> {
        LookupPlan::to_coefficients(self.set(), modulus, &self.chain, &self.encoder)
    }

    /// The plan of look-ups of tables of `levels` levels.
    fn plan(&self, chain: &Arc<Chain>, levels: usize) -> Result<Arc<LookupPlan>> {
        let mut plans = locked(&self.plans);
        if let Some(plan) = plans.get(&levels) {
            return Ok(plan.clone());
        }
        let back = match plans.values().next() {
            Some(plan) => plan.to_coefficients.clone(),
            None => self.to_coefficients(self.set().modulus())?,
        };
        let plan = LookupPlan::new(self.set(), chain, back, levels, &self.encoder)?;
        let plan = Arc::new(plan);
        plans.insert(levels, plan.clone());
        Ok(plan)
    }

    /// The recording of a sum, or of tables of it.
    pub(super) fn recording(&self, kind: Kind, tables: &[Table]) -> Result<Arc<Recording>> {
        {
            let mut kept = locked(&self.kept);
            kept.clock += 1;
            let now = kept.clock;
            if let Some((recording, used)) = kept.recordings.get_mut(&kind) {
                *used = now;
                return Ok(recording.clone());
            }
        }
        let turn = self.set().turn();
        let input = match kind.from_phases {
            true => (0, turn),
            false => (self.set().wire_level(), self.set().scale()),
        };
        let to_phases = match kind.to_phases {
            0 => None,
            modulus => Some(self.to_coefficients(modulus)?),
        };
        let inputs = vec![input; kind.weights.len()];
        let levels = tables.iter().map(Table::levels).max();
        let plan = match levels {
            Some(levels) => Some(self.plan(&self.chain, levels)?),
            None => None,
        };
        let recording = self.ckks.record_program(&inputs, |recorder, inputs| {
            let terms: Vec<_> =
                kind.weights.iter().zip(inputs).map(|(&weight, &x)| (weight, x)).collect();
            let mut sum = LookupPlan::sum(recorder, &terms, kind.constant)?;
            for &by in &kind.route {
                sum = recorder.rotate(&sum, by as i64)?;
            }
            for _ in 0..kind.turns {
                sum = recorder.multiply_i(&sum)?;
            }
            let results = match (&plan, &to_phases) {
                (None, None) => vec![sum],
                (None, Some(maps)) => {
                    let phases = recorder.transform_chain(&sum, maps, false)?;
                    vec![Recorded { scale: turn, ..phases }]
                }
                (Some(plan), _) if kind.from_phases => {
                    plan.lookup_phases(recorder, &sum, tables)?
                }
                (Some(plan), _) => plan.lookup(recorder, &sum, tables)?,
            };
            // What is known of errors is carried beside the ciphertexts.
            Ok(results.into_iter().map(|x| (x, Estimate::new(0.0, 1.0))).collect())
        })?;
        let recording = Arc::new(recording);
        let mut kept = locked(&self.kept);
        let now = kept.clock;
        kept.recordings.insert(kind, (recording.clone(), now));
        while kept.recordings.len() > MOST {
            let oldest = kept.recordings.iter().min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(kind, _)| kind.clone()) else { break };
            kept.recordings.remove(&oldest);
        }
        Ok(recording)
    }

    /// Recordings that are kept on the device.
    pub fn recordings(&self) -> usize {
        locked(&self.kept).recordings.len()
    }

    /// Forgets the recordings that are kept, and with them what only they read.
    pub fn forget_recordings(&self) {
        locked(&self.kept).recordings.clear();
    }
}
