//! A routine's dispatches, for calls whose limbs lie where they do now. Made once, replayed until
//! something lies elsewhere.

use crate::poly::kernels::{Kernels, MOST_SEGMENTS, PolyBuild, PolyKernel};
use crate::poly::memory::{Address, Memory};
use crate::poly::routine::{Ready, ReadyTile};
use crate::runtime::gpu::{Gpu, Pipeline, STORAGE};
use girih_backend::BackendError;
use std::collections::BTreeSet;
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

struct Dispatch {
    pipeline: Arc<Pipeline>,
    bound: wgpu::BindGroup,
    groups: [u32; 3],
}

/// The dispatches, with the buffers that are theirs.
pub(crate) struct Script {
    generation: u64,
    places: Vec<[u32; 2]>,
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
    slots: usize,
    segments: BTreeSet<u32>,
    tiles: Vec<&'a ReadyTile>,
}

impl Script {
    /// Whether it still says where everything is.
    pub fn serves(&self, memory: &Memory, addresses: &[Vec<Address>]) -> bool {
        let limbs = addresses.iter().flatten().map(|a| [a.segment, a.word]);
        let first = self.places.len()
            - addresses.iter().map(Vec::len).sum::<usize>().min(self.places.len());
        self.generation == memory.generation() && limbs.eq(self.places[first..].iter().copied())
    }

    /// Appends everything to a command list.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for (number, dispatch) in self.dispatches.iter().enumerate() {
            let [x, y, z] = dispatch.groups;
            pass.set_pipeline(&dispatch.pipeline.pipeline);
            pass.set_bind_group(0, &dispatch.bound, &[(number * LAUNCH_STRIDE) as u32]);
            pass.dispatch_workgroups(x, y, z);
        }
    }
}

impl Scripter<'_> {
    /// The pipeline of a kernel, for memory of so many segments.
    pub fn pipeline(
        &self,
        kernel: PolyKernel,
        slots: usize,
        segments: usize,
    ) -> Result<Arc<Pipeline>, BackendError> {
        let segments = PolyBuild::segments_for(segments.min(MOST_SEGMENTS));
        self.kernels.pipeline(self.gpu, PolyBuild { kernel, slots, segments, ..self.build })
    }

    /// Dispatches of a routine for calls whose limbs lie at `addresses`, call by call.
    pub fn script(
        &self,
        ready: &Ready,
        records: &wgpu::Buffer,
        memory: &Memory,
        addresses: &[Vec<Address>],
    ) -> Result<Script, BackendError> {
        let calls = addresses.len();
        let mut places: Vec<[u32; 2]> = Vec::new();
        let mut planned = Vec::new();
        for launch in &ready.launches {
            for group in self.groups(launch.kernel, &launch.tiles, memory, addresses)? {
                for tiles in group.tiles.chunks(MOST_GROUPS) {
                    let first_tile = places.len() as u32;
                    places.extend(tiles.iter().map(|tile| [tile.first, 0]));
                    let groups = [launch.groups, tiles.len() as u32, calls as u32];
                    let segments: Vec<u32> = group.segments.iter().copied().collect();
                    planned.push((launch.kernel, group.slots, segments, first_tile, groups));
                }
            }
        }
        let first_limb = places.len() as u32;
        places.extend(addresses.iter().flatten().map(|a| [a.segment, a.word]));
        let place_buffer =
            self.filled(bytemuck::cast_slice(&places), STORAGE, "where limbs lie")?;

        let mut launches = vec![0u8; planned.len() * LAUNCH_STRIDE];
        for (slot, (_, _, segments, first_tile, _)) in
            launches.chunks_exact_mut(LAUNCH_STRIDE).zip(&planned)
        {
            let mut slots = [0u32; 16];
            for (binding, &segment) in segments.iter().enumerate() {
                slots[segment as usize / 4] |= (binding as u32) << (8 * (segment % 4));
            }
            let limbs = ready.limbs.len() as u32;
            let launch = Launch { first_tile: *first_tile, first_limb, limbs, unused: 0, slots };
            slot[..size_of::<Launch>()].copy_from_slice(bytemuck::bytes_of(&launch));
        }
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let launch_buffer = self.filled(&launches, uniform, "launches of a routine")?;

        let mut dispatches = Vec::with_capacity(planned.len());
        for (kernel, slots, segments, _, groups) in planned {
            let pipeline = self.pipeline(kernel, slots, segments.len())?;
            let bindings = PolyBuild::segments_for(segments.len());
            let mut buffers = vec![&launch_buffer, records, &place_buffer, self.roots];
            buffers.extend(segments.iter().map(|&segment| memory.buffer(segment)));
            buffers.extend(&self.nothing[..bindings - segments.len()]);
            let bound = self.gpu.bind(&pipeline, size_of::<Launch>() as u64, &buffers);
            dispatches.push(Dispatch { pipeline, bound, groups });
        }
        Ok(Script {
            generation: memory.generation(),
            places,
            dispatches,
            _places: place_buffer,
            _launches: launch_buffer,
        })
    }

    /// Divides the tiles of a launch among dispatches: by slots, and, where there are more segments
    /// than a kernel binds, by those that they touch.
    fn groups<'t>(
        &self,
        kernel: PolyKernel,
        tiles: &'t [ReadyTile],
        memory: &Memory,
        addresses: &[Vec<Address>],
    ) -> Result<Vec<Group<'t>>, BackendError> {
        let few = memory.segments() <= MOST_SEGMENTS;
        let mut groups: Vec<Group<'t>> = Vec::new();
        for tile in tiles {
            let slots = PolyBuild::slots_for(tile.slots);
            let touched: BTreeSet<u32> = if few {
                (0..memory.segments() as u32).collect()
            } else {
                let of = |call: &'_ Vec<Address>| -> Vec<u32> {
                    tile.limbs.iter().map(|&limb| call[limb as usize].segment).collect()
                };
                addresses.iter().flat_map(of).collect()
            };
            if touched.len() > MOST_SEGMENTS {
                return Err(BackendError::Unsupported {
                    device: self.gpu.name.clone(),
                    what: format!(
                        "a tile of {} whose limbs lie in {} buffers",
                        kernel.name(),
                        touched.len()
                    ),
                    why: format!(
                        "kernels bind {MOST_SEGMENTS} of at most {} bytes; fewer keys at once or a \
                         smaller ring take less memory",
                        self.gpu.binding_bytes()
                    ),
                });
            }
            let fits = |group: &&mut Group<'t>| {
                group.slots == slots && group.segments.union(&touched).count() <= MOST_SEGMENTS
            };
            match groups.iter_mut().find(fits) {
                Some(group) => {
                    group.segments.extend(touched);
                    group.tiles.push(tile);
                }
                None => groups.push(Group { slots, segments: touched, tiles: vec![tile] }),
            }
        }
        Ok(groups)
    }

    fn filled(
        &self,
        bytes: &[u8],
        usage: wgpu::BufferUsages,
        what: &str,
    ) -> Result<wgpu::Buffer, BackendError> {
        let buffer = self.gpu.buffer(bytes.len() as u64, usage, what)?;
        self.gpu.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }
}
