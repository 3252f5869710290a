//! A routine's dispatches, for calls whose limbs lie where they do now. Made once, and replayed
//! whenever everything lies there again.
//!
//! A kernel binds a few segments of memory. Where there are more, tiles are dispatched by those
//! that they touch; and what a tile reads of still more is copied together first.

use crate::poly::kernels::{Kernels, MOST_SEGMENTS, PolyBuild, PolyKernel};
use crate::poly::limbs::ReadyTile;
use crate::poly::memory::{Address, Memory};
use crate::poly::routine::Ready;
use crate::runtime::gpu::{Gpu, Pipeline, STORAGE};
use crate::runtime::spans::Recorder;
use girih_backend::{BackendError, Result};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Distance between launches in their buffer: WebGPU's alignment of dynamic uniform offsets.
const LAUNCH_STRIDE: usize = 256;
/// Most workgroups of one dimension of a dispatch.
const MOST_GROUPS: usize = 65_535;

/// What kernels bind first.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Launch {
    first_tile: u32,
    first_limb: u32,
    limbs: u32,
    unused: u32,
    slots: [u32; 16],
}

/// A copy between segments.
struct Copy {
    source: (wgpu::Buffer, u64),
    target: (wgpu::Buffer, u64),
    bytes: u64,
}

struct Dispatch {
    /// What is copied before.
    copies: Vec<Copy>,
    pipeline: Arc<Pipeline>,
    bound: wgpu::BindGroup,
    groups: [u32; 3],
}

/// The dispatches, with the buffers that are theirs.
pub(crate) struct Script {
    generation: u64,
    addresses: Vec<Vec<Address>>,
    gathered: Option<Address>,
    dispatches: Vec<Dispatch>,
    _places: wgpu::Buffer,
    _launches: wgpu::Buffer,
}

/// What scripts of one ring are made with.
pub(crate) struct Scripter<'a> {
    pub gpu: &'a Gpu,
    pub kernels: &'a Kernels,
    /// Without kernel and slots.
    pub build: PolyBuild,
    pub roots: &'a wgpu::Buffer,
    /// Bound where a kernel has more bindings than there are segments.
    pub nothing: &'a [wgpu::Buffer],
}

/// Tiles of one launch that run as one dispatch.
struct Group<'a> {
    segments: BTreeSet<u32>,
    tiles: Vec<&'a ReadyTile>,
    calls: Calls,
}

/// Which calls, and how their limbs are found.
enum Calls {
    All,
    /// One, with limbs that are copied to places of their own.
    One {
        number: usize,
        copied: Vec<(u32, Address)>,
    },
}

/// The places of one call's limbs for tiles that have some of them copied: several tiles share a
/// table where none looks up a limb that another has elsewhere.
struct Table {
    call: usize,
    first: usize,
    /// Where tiles look up a limb; others may be anywhere.
    fixed: HashMap<u32, Address>,
}

impl Table {
    fn serves(&self, call: usize, wanted: &HashMap<u32, Address>) -> bool {
        let agrees = |(limb, at)| self.fixed.get(limb).is_none_or(|fixed| fixed == at);
        self.call == call && wanted.iter().all(agrees)
    }
}

impl Script {
    /// Whether the buffers of memory are still those that it binds.
    pub fn is_of(&self, memory: &Memory) -> bool {
        self.generation == memory.generation()
    }

    /// Whether it says where everything lies.
    pub fn serves(&self, addresses: &[Vec<Address>], gathered: Option<Address>) -> bool {
        self.gathered == gathered && self.addresses == addresses
    }

    /// Dispatches of a run.
    pub fn dispatches(&self) -> usize {
        self.dispatches.len()
    }

    /// Appends everything to a command list; recorded, each dispatch in a pass of its own.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder, mut recorder: Option<&mut Recorder>) {
        let mut first = 0;
        while first < self.dispatches.len() {
            for Copy { source, target, bytes } in &self.dispatches[first].copies {
                encoder.copy_buffer_to_buffer(&source.0, source.1, &target.0, target.1, *bytes);
            }
            let rest = &self.dispatches[first + 1..];
            let (more, mut pass) = match &mut recorder {
                Some(recorder) => {
                    let kernel = &self.dispatches[first].pipeline.name;
                    (0, recorder.pass(encoder, kernel))
                }
                None => {
                    let copies = rest.iter().position(|d| !d.copies.is_empty());
                    let descriptor = wgpu::ComputePassDescriptor::default();
                    (copies.unwrap_or(rest.len()), encoder.begin_compute_pass(&descriptor))
                }
            };
            for number in first..=first + more {
                let dispatch = &self.dispatches[number];
                let [x, y, z] = dispatch.groups;
                pass.set_pipeline(&dispatch.pipeline.pipeline);
                pass.set_bind_group(0, &dispatch.bound, &[(number * LAUNCH_STRIDE) as u32]);
                pass.dispatch_workgroups(x, y, z);
            }
            first += 1 + more;
        }
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

impl Scripter<'_> {
    /// The pipeline of a kernel, for memory of so many segments.
    pub fn pipeline(
        &self,
        kernel: PolyKernel,
        slots: usize,
        segments: usize,
    ) -> Result<Arc<Pipeline>> {
        let segments = PolyBuild::segments_for(segments.min(MOST_SEGMENTS));
        self.kernels.pipeline(self.gpu, PolyBuild { kernel, slots, segments, ..self.build })
    }

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

    /// Dispatches of a routine for calls whose limbs lie at `addresses`, call by call; `gathered`
    /// is room for what has to be copied together.
    pub fn script(
        &self,
        ready: &Ready,
        records: &wgpu::Buffer,
        memory: &Memory,
        addresses: Vec<Vec<Address>>,
        gathered: Option<Address>,
    ) -> Result<Script> {
        let calls = addresses.len();
        let mut groups = Vec::new();
        for launch in &ready.launches {
            for group in self.groups(&launch.tiles, memory, &addresses, gathered)? {
                groups.push((launch, group));
            }
        }
        // Places: the limbs of all calls, then those of single calls with copies, then tiles.
        let mut tables: Vec<Table> = Vec::new();
        let entry = |a: &Address| [a.segment, a.word];
        let mut places: Vec<[u32; 2]> = addresses.iter().flatten().map(entry).collect();
        let mut planned = Vec::with_capacity(groups.len());
        for (launch, group) in groups {
            let (first_limb, calls, copies) = match &group.calls {
                Calls::All => (0, calls, Vec::new()),
                Calls::One { number, copied } => {
                    let call = &addresses[*number];
                    let mut wanted: HashMap<u32, Address> = HashMap::new();
                    for &limb in group.tiles.iter().flat_map(|tile| &tile.limbs) {
                        wanted.insert(limb, call[limb as usize]);
                    }
                    wanted.extend(copied.iter().copied());
                    let known = tables.iter().position(|table| table.serves(*number, &wanted));
                    let table = known.unwrap_or_else(|| {
                        tables.push(Table {
                            call: *number,
                            first: places.len(),
                            fixed: HashMap::new(),
                        });
                        places.extend(call.iter().map(entry));
                        tables.len() - 1
                    });
                    let table = &mut tables[table];
                    let first = table.first;
                    for (&limb, address) in &wanted {
                        places[first + limb as usize] = entry(address);
                    }
                    table.fixed.extend(wanted);
                    let copies = copied.iter().map(|&(limb, to)| {
                        let at =
                            |a: Address| (memory.buffer(a.segment).clone(), 4 * u64::from(a.word));
                        let bytes = 4 * u64::from(ready.limb_words[limb as usize]);
                        Copy { source: at(call[limb as usize]), target: at(to), bytes }
                    });
                    let copies = copies.collect();
                    (first, 1, copies)
                }
            };
            let mut copies = Some(copies);
            for tiles in group.tiles.chunks(MOST_GROUPS) {
                let first_tile = places.len() as u32;
                places.extend(tiles.iter().map(|tile| [tile.first, 0]));
                let size = [launch.groups, tiles.len() as u32, calls as u32];
                let segments: Vec<u32> = group.segments.iter().copied().collect();
                let mut slots = [0u32; 16];
                for (binding, &segment) in segments.iter().enumerate() {
                    slots[segment as usize / 4] |= (binding as u32) << (8 * (segment % 4));
                }
                let (first_limb, limbs) = (first_limb as u32, ready.limbs.len() as u32);
                let launched = Launch { first_tile, first_limb, limbs, unused: 0, slots };
                let pipeline = self.pipeline(launch.kernel, launch.slots, segments.len())?;
                let copies = copies.take().unwrap_or_default();
                planned.push((launched, pipeline, segments, size, copies));
            }
        }
        let place_buffer =
            self.filled(bytemuck::cast_slice(&places), STORAGE, "where limbs lie")?;
        let mut launches = vec![0u8; planned.len() * LAUNCH_STRIDE];
        for (slot, (launch, ..)) in launches.chunks_exact_mut(LAUNCH_STRIDE).zip(&planned) {
            slot[..size_of::<Launch>()].copy_from_slice(bytemuck::bytes_of(launch));
        }
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let launch_buffer = self.filled(&launches, uniform, "launches of a routine")?;
        let mut dispatches = Vec::with_capacity(planned.len());
        for (_, pipeline, segments, groups, copies) in planned {
            let bindings = PolyBuild::segments_for(segments.len());
            let mut buffers = vec![&launch_buffer, records, &place_buffer, self.roots];
            buffers.extend(segments.iter().map(|&segment| memory.buffer(segment)));
            buffers.extend(&self.nothing[..bindings - segments.len()]);
            let bound = self.gpu.bind(&pipeline, size_of::<Launch>() as u64, &buffers);
            dispatches.push(Dispatch { copies, pipeline, bound, groups });
        }
        Ok(Script {
            generation: memory.generation(),
            addresses,
            gathered,
            dispatches,
            _places: place_buffer,
            _launches: launch_buffer,
        })
    }

    /// Divides the tiles of a launch among dispatches: where there are more segments than a kernel
    /// binds, by those that they touch.
    fn groups<'t>(
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
            let degree = 1 << self.build.log2_degree;
            let place = |i: usize| Address { word: room.word + i as u32 * degree, ..room };
            to = limbs.iter().enumerate().map(|(i, &limb)| (limb, place(i))).collect();
            let far: BTreeSet<u32> = limbs.into_iter().collect();
            let near = tile.limbs.iter().filter(|limb| !far.contains(limb));
            segments = near.map(|&limb| call[limb as usize].segment).collect();
            segments.insert(room.segment);
        }
        let calls = Calls::One { number, copied: to };
        Ok(Group { segments, tiles: vec![tile], calls })
    }

    fn filled(&self, bytes: &[u8], usage: wgpu::BufferUsages, what: &str) -> Result<wgpu::Buffer> {
        let buffer = self.gpu.buffer(bytes.len() as u64, usage, what)?;
        self.gpu.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }
}
