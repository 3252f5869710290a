//! What calls of a routine bind.

use std::sync::Arc;

use super::{PolyEngine, Routine, refuse};
use crate::Result;
use crate::poly::{Bindings, Place};

impl PolyEngine {
    pub(super) fn check_calls(&self, routine: &Routine, calls: &[Bindings]) -> Result<()> {
        if !Arc::ptr_eq(&routine.shared, &self.shared) {
            return Err(refuse("the routine was prepared by another engine".into()));
        }
        let mut written: Vec<(Place, usize)> = Vec::new();
        let mut read: Vec<(Place, usize)> = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            for (places, types, what, all) in [
                (&call.inputs, &routine.inputs, "input", &mut read),
                (&call.outputs, &routine.outputs, "output", &mut written),
            ] {
                if places.len() != types.len() {
                    return Err(refuse(format!(
                        "call {number} binds {} {what}s of {}",
                        places.len(),
                        types.len()
                    )));
                }
                for (slot, (&place, of)) in places.iter().zip(types).enumerate() {
                    let what = format!("call {number}, {what} {slot}");
                    self.shared.check_place(place, of.basis.len(), &what)?;
                    all.push((place, of.basis.len()));
                }
            }
        }
        // Sorted, whatever overlaps an output is beside it.
        let mut all: Vec<(Place, usize, bool)> =
            written.iter().map(|&(p, n)| (p, n, true)).collect();
        all.extend(read.iter().map(|&(p, n)| (p, n, false)));
        all.retain(|&(_, limbs, _)| limbs > 0);
        all.sort_unstable_by_key(|&(place, limbs, _)| (place.buffer, place.first, limbs));
        // The furthest ends so far in the buffer, of everything and of outputs.
        let (mut buffer, mut any, mut outputs) = (None, 0, 0);
        for (place, limbs, output) in all {
            if buffer != Some(place.buffer) {
                (buffer, any, outputs) = (Some(place.buffer), 0, 0);
            }
            if place.first < outputs || (output && place.first < any) {
                return Err(refuse(format!(
                    "limb {} of buffer {} is bound to an output and to something else",
                    place.first, place.buffer
                )));
            }
            any = any.max(place.first + limbs);
            if output {
                outputs = outputs.max(place.first + limbs);
            }
        }
        Ok(())
    }
}
