//! A routine's dispatches, for calls whose limbs lie where they do now. Made once, and replayed
//! whenever everything lies there again.
//!
//! Tiles that cannot share a dispatch are divided by `segments`.

use crate::poly::kernels::{Kernels, MOST_SEGMENTS, PolyBuild, PolyKernel};
use crate::poly::limbs::ReadyTile;
use crate::poly::memory::{Address, Memory};
use crate::poly::routine::{Ready, ReadyLaunch};
use crate::poly::segments::{Calls, Divider, Group, Table};
use crate::runtime::gpu::{Gpu, Pipeline, STORAGE};
use crate::runtime::spans::Recorder;
use girih_backend::Result;
use std::collections::HashMap;
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
    /// Without kernel, ring and slots.
    pub build: PolyBuild,
    pub roots: &'a wgpu::Buffer,
    /// Bound where a kernel has more bindings than there are segments.
    pub nothing: &'a [wgpu::Buffer],
}

/// A dispatch, before its buffers are there.
struct Planned {
    launch: Launch,
    pipeline: Arc<Pipeline>,
    segments: Vec<u32>,
    groups: [u32; 3],
    copies: Vec<Copy>,
}

/// Where limbs lie, and which tiles are dispatched: the limbs of all calls, then those of single
/// calls with copies, between lists of tiles.
struct Places {
    entries: Vec<[u32; 2]>,
    tables: Vec<Table>,
}

fn entry(address: &Address) -> [u32; 2] {
    [address.segment, address.word]
}

impl Places {
    fn new(addresses: &[Vec<Address>]) -> Self {
        Self { entries: addresses.iter().flatten().map(entry).collect(), tables: Vec::new() }
    }

    /// Where the limbs of one call begin for tiles that read some of them where they are copied to.
    fn of_one(
        &mut self,
        number: usize,
        call: &[Address],
        tiles: &[&ReadyTile],
        copied: &[(u32, Address)],
    ) -> usize {
        let mut wanted: HashMap<u32, Address> = HashMap::new();
        for &limb in tiles.iter().flat_map(|tile| &tile.limbs) {
            wanted.insert(limb, call[limb as usize]);
        }
        wanted.extend(copied.iter().copied());
        let known = self.tables.iter().position(|table| table.serves(number, &wanted));
        let table = known.unwrap_or_else(|| {
            let first = self.entries.len();
            self.tables.push(Table { call: number, first, fixed: HashMap::new() });
            self.entries.extend(call.iter().map(entry));
            self.tables.len() - 1
        });
        let table = &mut self.tables[table];
        for (&limb, address) in &wanted {
            self.entries[table.first + limb as usize] = entry(address);
        }
        table.fixed.extend(wanted);
        table.first
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

impl Scripter<'_> {
    /// What divides the tiles of a launch among dispatches.
    pub fn divider(&self) -> Divider<'_> {
        Divider { gpu: self.gpu, degree: 1 << self.build.log2_degree }
    }

    /// The pipeline of a kernel, for memory of so many segments.
    pub fn pipeline(
        &self,
        kernel: PolyKernel,
        invariant: bool,
        slots: usize,
        segments: usize,
    ) -> Result<Arc<Pipeline>> {
        let segments = PolyBuild::segments_for(segments.min(MOST_SEGMENTS));
        let build = PolyBuild { kernel, invariant, slots, segments, ..self.build };
        self.kernels.pipeline(self.gpu, build)
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
        let mut places = Places::new(&addresses);
        let mut planned = Vec::new();
        for launch in &ready.launches {
            for group in self.divider().groups(&launch.tiles, memory, &addresses, gathered)? {
                self.plan(ready, launch, &group, memory, &addresses, &mut places, &mut planned)?;
            }
        }
        let places =
            self.filled(bytemuck::cast_slice(&places.entries), STORAGE, "where limbs lie")?;
        let mut bytes = vec![0u8; planned.len() * LAUNCH_STRIDE];
        for (slot, planned) in bytes.chunks_exact_mut(LAUNCH_STRIDE).zip(&planned) {
            slot[..size_of::<Launch>()].copy_from_slice(bytemuck::bytes_of(&planned.launch));
        }
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let launches = self.filled(&bytes, uniform, "launches of a routine")?;
        let dispatches = planned.into_iter().map(|planned| {
            let Planned { pipeline, segments, groups, copies, .. } = planned;
            let bindings = PolyBuild::segments_for(segments.len());
            let mut buffers = vec![&launches, records, &places, self.roots];
            buffers.extend(segments.iter().map(|&segment| memory.buffer(segment)));
            buffers.extend(&self.nothing[..bindings - segments.len()]);
            let bound = self.gpu.bind(&pipeline, size_of::<Launch>() as u64, &buffers);
            Dispatch { copies, pipeline, bound, groups }
        });
        let dispatches = dispatches.collect();
        let generation = memory.generation();
        let (_places, _launches) = (places, launches);
        Ok(Script { generation, addresses, gathered, dispatches, _places, _launches })
    }

    /// Plans the dispatches of a group of tiles, behind what has to be copied for them.
    #[allow(clippy::too_many_arguments)] // What is dispatched, and where everything lies.
    fn plan(
        &self,
        ready: &Ready,
        launch: &ReadyLaunch,
        group: &Group<'_>,
        memory: &Memory,
        addresses: &[Vec<Address>],
        places: &mut Places,
        planned: &mut Vec<Planned>,
    ) -> Result<()> {
        let (first_limb, calls, mut copies) = match &group.calls {
            Calls::All => (0, addresses.len(), Vec::new()),
            Calls::One { number, copied } => {
                let call = &addresses[*number];
                let at = |a: Address| (memory.buffer(a.segment).clone(), 4 * u64::from(a.word));
                let copies = copied.iter().map(|&(limb, to)| {
                    let bytes = 4 * u64::from(ready.limb_words[limb as usize]);
                    Copy { source: at(call[limb as usize]), target: at(to), bytes }
                });
                (places.of_one(*number, call, &group.tiles, copied), 1, copies.collect())
            }
        };
        let segments: Vec<u32> = group.segments.iter().copied().collect();
        let mut slots = [0u32; 16];
        for (binding, &segment) in segments.iter().enumerate() {
            slots[segment as usize / 4] |= (binding as u32) << (8 * (segment % 4));
        }
        for tiles in group.tiles.chunks(MOST_GROUPS) {
            let first_tile = places.entries.len() as u32;
            places.entries.extend(tiles.iter().map(|tile| [tile.first, 0]));
            let (first_limb, limbs) = (first_limb as u32, ready.limbs.len() as u32);
            let ReadyLaunch { kernel, invariant, slots: held, .. } = *launch;
            planned.push(Planned {
                launch: Launch { first_tile, first_limb, limbs, unused: 0, slots },
                pipeline: self.pipeline(kernel, invariant, held, segments.len())?,
                segments: segments.clone(),
                groups: [launch.groups, tiles.len() as u32, calls as u32],
                copies: std::mem::take(&mut copies),
            });
        }
        Ok(())
    }

    fn filled(&self, bytes: &[u8], usage: wgpu::BufferUsages, what: &str) -> Result<wgpu::Buffer> {
        let buffer = self.gpu.buffer(bytes.len() as u64, usage, what)?;
        self.gpu.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }
}
