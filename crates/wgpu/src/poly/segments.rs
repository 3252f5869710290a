//! Which tiles run as one dispatch. A kernel binds a few segments of memory. Where there are more,
//! tiles are divided by those that they touch; and what a tile reads of still more is copied
//! together first.

use crate::poly::kernels::MOST_SEGMENTS;
use crate::poly::limbs::ReadyTile;
use crate::poly::memory::{Address, Memory};
use crate::poly::routine::Ready;
use crate::runtime::gpu::Gpu;
use girih_backend::{BackendError, Result};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Tiles of one launch that run as one dispatch.
pub(crate) struct Group<'a> {
    pub segments: BTreeSet<u32>,
    pub tiles: Vec<&'a ReadyTile>,
    pub calls: Calls,
}

/// Which calls, and how their limbs are found.
pub(crate) enum Calls {
    All,
    /// One, with limbs that are copied to places of their own.
    One {
        number: usize,
        copied: Vec<(u32, Address)>,
    },
}

/// The places of one call's limbs for tiles that have some of them copied: several tiles share a
/// table where none looks up a limb that another has elsewhere.
pub(crate) struct Table {
    pub call: usize,
    pub first: usize,
    /// Where tiles look up a limb; others may be anywhere.
    pub fixed: HashMap<u32, Address>,
}

impl Table {
    pub fn serves(&self, call: usize, wanted: &HashMap<u32, Address>) -> bool {
        let agrees = |(limb, at)| self.fixed.get(limb).is_none_or(|fixed| fixed == at);
        self.call == call && wanted.iter().all(agrees)
    }
}

/// The segments that a tile touches in one call: the limbs that it only reads there, and whether it
/// writes any.
fn touched(tile: &ReadyTile, call: &[Address]) -> BTreeMap<u32, (Vec<u32>, bool)> {
    let mut segments: BTreeMap<u32, (Vec<u32>, bool)> = BTreeMap::new();
    for &limb in &tile.limbs {
        let (reads, writes) = segments.entry(call[limb as usize].segment).or_default();
        if tile.writes(limb) { *writes = true } else { reads.push(limb) }
    }
    segments
}

/// The limbs that must be copied so that a tile touches few segments, beside one that copies go to;
/// none where it writes to too many.
fn copied(tile: &ReadyTile, call: &[Address], beside: Option<u32>) -> Option<Vec<u32>> {
    let mut segments: Vec<_> = touched(tile, call).into_iter().collect();
    // What is written stays, then what most is read from.
    segments.sort_by_key(|(number, (reads, writes))| {
        (Some(*number) != beside, !writes, Reverse(reads.len()))
    });
    let room = MOST_SEGMENTS - usize::from(segments.first().map(|s| s.0) != beside);
    let far = segments.split_off(room.min(segments.len()));
    if far.iter().any(|(_, (_, writes))| *writes) {
        return None;
    }
    Some(far.into_iter().flat_map(|(_, (reads, _))| reads).collect())
}

/// What divides tiles.
pub(crate) struct Divider<'a> {
    pub gpu: &'a Gpu,
    /// Words of a limb.
    pub degree: u32,
}

impl Divider<'_> {
    /// Limbs of room that tiles need which touch more segments than a kernel binds.
    pub fn gathered_limbs(
        &self,
        ready: &Ready,
        memory: &Memory,
        addresses: &[Vec<Address>],
    ) -> Result<usize> {
        if memory.segments() <= MOST_SEGMENTS {
            return Ok(0);
        }
        let mut most = 0;
        for call in addresses {
            for tile in ready.launches.iter().flat_map(|launch| &launch.tiles) {
                if touched(tile, call).len() > MOST_SEGMENTS {
                    let limbs = copied(tile, call, None).ok_or_else(|| self.scattered(tile))?;
                    most = most.max(limbs.len());
                }
            }
        }
        Ok(most)
    }

    fn scattered(&self, tile: &ReadyTile) -> BackendError {
        BackendError::Unsupported {
            device: self.gpu.name.clone(),
            what: format!("a tile whose {} results lie in too many buffers", tile.written.len()),
            why: format!(
                "kernels bind {MOST_SEGMENTS} of at most {} bytes; a smaller ring or fewer keys \
                 at once take less memory",
                self.gpu.binding_bytes()
            ),
        }
    }

    /// Divides the tiles of a launch among dispatches: where there are more segments than a kernel
    /// binds, by those that they touch.
    pub fn groups<'t>(
        &self,
        tiles: &'t [ReadyTile],
        memory: &Memory,
        addresses: &[Vec<Address>],
        gathered: Option<Address>,
    ) -> Result<Vec<Group<'t>>> {
        let few = memory.segments() <= MOST_SEGMENTS;
        let mut groups: Vec<Group<'t>> = Vec::new();
        let mut single = Vec::new();
        for tile in tiles {
            let segments: BTreeSet<u32> = if few {
                (0..memory.segments() as u32).collect()
            } else {
                addresses.iter().flat_map(|call| touched(tile, call).into_keys()).collect()
            };
            if segments.len() > MOST_SEGMENTS {
                for (number, call) in addresses.iter().enumerate() {
                    single.push(self.single(tile, number, call, gathered)?);
                }
                continue;
            }
            let fits =
                |group: &&mut Group<'t>| group.segments.union(&segments).count() <= MOST_SEGMENTS;
            match groups.iter_mut().find(fits) {
                Some(group) => {
                    group.segments.extend(segments);
                    group.tiles.push(tile);
                }
                None => groups.push(Group { segments, tiles: vec![tile], calls: Calls::All }),
            }
        }
        groups.extend(single);
        Ok(groups)
    }

    /// One tile of one call, by itself, with what it reads from too many segments copied together.
    fn single<'t>(
        &self,
        tile: &'t ReadyTile,
        number: usize,
        call: &[Address],
        gathered: Option<Address>,
    ) -> Result<Group<'t>> {
        let mut segments: BTreeSet<u32> = touched(tile, call).into_keys().collect();
        let mut to = Vec::new();
        if segments.len() > MOST_SEGMENTS {
            let room = gathered.ok_or_else(|| self.scattered(tile))?;
            let limbs = copied(tile, call, Some(room.segment));
            let limbs = limbs.ok_or_else(|| self.scattered(tile))?;
            let place = |i: usize| Address { word: room.word + i as u32 * self.degree, ..room };
            to = limbs.iter().enumerate().map(|(i, &limb)| (limb, place(i))).collect();
            let far: BTreeSet<u32> = limbs.into_iter().collect();
            let near = tile.limbs.iter().filter(|limb| !far.contains(limb));
            segments = near.map(|&limb| call[limb as usize].segment).collect();
            segments.insert(room.segment);
        }
        let calls = Calls::One { number, copied: to };
        Ok(Group { segments, tiles: vec![tile], calls })
    }
}
