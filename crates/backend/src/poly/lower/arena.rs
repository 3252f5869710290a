//! Gives limbs of the arena to what does not live at the same time.

use std::collections::HashMap;

use crate::poly::schedule::{Launch, Limb, Load, RowTile, Schedule, Source};

/// Renumbers the arena limbs of `schedule`, each of which is written once, so that few are needed.
/// A launch writes no limb that it reads: its tiles run in any order.
pub(super) fn assign(schedule: &mut Schedule) {
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (number, launch) in schedule.launches.iter_mut().enumerate() {
        visit(launch, &mut |limb, _| {
            if let Limb::Arena(limb) = limb {
                last.insert(*limb, number);
            }
        });
    }
    for (_, limbs) in &schedule.kept {
        for limb in limbs {
            if let Limb::Arena(limb) = limb {
                last.insert(*limb, usize::MAX);
            }
        }
    }
    let mut places: HashMap<u32, u32> = HashMap::new();
    let mut free: Vec<u32> = Vec::new();
    let mut ending: Vec<Vec<u32>> = vec![Vec::new(); schedule.launches.len()];
    let mut limbs = 0;
    for (number, launch) in schedule.launches.iter_mut().enumerate() {
        visit(launch, &mut |limb, write| {
            let Limb::Arena(virtual_limb) = *limb else { return };
            if write {
                let place = free.pop().unwrap_or_else(|| {
                    limbs += 1;
                    limbs - 1
                });
                places.insert(virtual_limb, place);
                if let Some(ending) = ending.get_mut(last[&virtual_limb]) {
                    ending.push(place);
                }
            }
        });
        visit(launch, &mut |limb, _| {
            if let Limb::Arena(virtual_limb) = *limb {
                *limb = Limb::Arena(places[&virtual_limb]);
            }
        });
        // The next launch takes the lowest first: what was used before is closer by.
        free.append(&mut ending[number]);
        free.sort_unstable_by(|a, b| b.cmp(a));
    }
    for (_, kept) in &mut schedule.kept {
        for limb in kept {
            if let Limb::Arena(virtual_limb) = *limb {
                *limb = Limb::Arena(places[&virtual_limb]);
            }
        }
    }
    schedule.arena_limbs = limbs as usize;
}

/// Calls `f` with every limb that a launch reads (false) or writes (true).
fn visit(launch: &mut Launch, f: &mut impl FnMut(&mut Limb, bool)) {
    match launch {
        Launch::Rows(tiles) | Launch::Pointwise(tiles) => {
            tiles.iter_mut().for_each(|tile| visit_rows(tile, f));
        }
        Launch::Columns(tiles) => {
            for tile in tiles {
                tile.loads.iter_mut().for_each(|(_, load)| f(&mut load.from, false));
                let stores = tile.sums.iter_mut().flat_map(|s| &mut s.stores);
                stores.for_each(|store| f(&mut store.to, true));
            }
        }
    }
}

fn visit_rows(tile: &mut RowTile, f: &mut impl FnMut(&mut Limb, bool)) {
    tile.loads.iter_mut().for_each(|load| f(&mut load.from, false));
    for sum in &mut tile.sums {
        for source in sum.terms.iter_mut().flat_map(|t| [&mut t.a, &mut t.b]).flatten() {
            if let Source::Stream(Load { from, .. }) = source {
                f(from, false);
            }
        }
        sum.stores.iter_mut().for_each(|store| f(&mut store.to, true));
    }
}
