//! What a schedule reads and writes of that which its calls bind.

use girih_backend::poly::schedule::{Launch, Limb, Schedule, Source};

/// Limbs of each input and output slot, up to the last that the schedule names.
pub(super) fn bound_limbs(schedule: &Schedule) -> (Vec<usize>, Vec<usize>) {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let mut see = |limb: Limb| {
        let (slots, slot, limb) = match limb {
            Limb::Input { slot, limb } => (&mut inputs, slot, limb),
            Limb::Output { slot, limb } => (&mut outputs, slot, limb),
            Limb::Arena(_) | Limb::Resident { .. } => return,
        };
        let (slot, end) = (usize::from(slot), usize::from(limb) + 1);
        slots.resize(slots.len().max(slot + 1), 0);
        slots[slot] = end.max(slots[slot]);
    };
    for launch in &schedule.launches {
        match launch {
            Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
                for tile in tiles {
                    tile.loads.iter().for_each(|load| see(load.from));
                    for sum in &tile.sums {
                        sum.stores.iter().for_each(|store| see(store.to));
                        for source in sum.terms.iter().flat_map(|t| [t.a, t.b]).flatten() {
                            if let Source::Stream(load) = source {
                                see(load.from);
                            }
                        }
                    }
                }
            }
            Launch::Columns(tiles) => {
                for tile in tiles {
                    tile.loads.iter().for_each(|(_, load)| see(load.from));
                    tile.sums.iter().flat_map(|s| &s.stores).for_each(|store| see(store.to));
                }
            }
        }
    }
    schedule.kept.iter().flat_map(|(_, limbs)| limbs).for_each(|&limb| see(limb));
    (inputs, outputs)
}
