//! How one shape is laid over a block: ciphertexts, threads, shared memory. A pure function of
//! shape and limits.

use crate::bootstrap::source::{TORUS_BITS, ks_word_bytes};
use crate::bootstrap::spread::{SPREAD, SPREAD_ITEMS, SpreadPlan, choice};
use girih_backend::bootstrap::tile_of_groups;
use girih_backend::{
    BackendError, BootstrapShape, DeviceLimits, DoesNotFit, Gadget, KeyModulus, PlanRequest,
    TilePlan, Transform,
};

/// The choice of [`PlanRequest::choices`] that fixes the ciphertexts of a block of the throughput
/// variant.
pub(crate) const GROUPS: &str = "groups";

/// Values of a polynomial that one thread holds in every pass of the transform.
const ITEMS: usize = 16;
/// Barriers that teams can have for themselves.
const NAMED_BARRIERS: usize = 15;
/// Largest N whose transform one block runs.
const MAX_POLYNOMIAL_SIZE: usize = 2048;
/// Threads of a block of `key_switch_tiled`.
pub(crate) const KEY_SWITCH_TILE_THREADS: usize = 512;
/// Columns of a tile: four words for each lane of a warp.
const KEY_SWITCH_TILE_COLUMNS: usize = 128;
/// Indices whose digits `key_switch_tiled` takes apart at once.
const KEY_SWITCH_TILE_CHUNK: usize = 8;
/// Largest base whose rows a tile of ciphertexts shares by default: all of a digit's rows are read
/// for each tile.
const KEY_SWITCH_TILE_BASE: usize = 64;
/// Shared memory that the driver keeps of each block.
const RESERVED_BYTES: usize = 1024;

/// A plan that fits, in the terms of `cuda/bootstrap/tile.cuh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaPlan {
    /// How polynomials are multiplied.
    pub transform: Transform,
    /// Ciphertexts of one block, which share each key load.
    pub groups: usize,
    /// Threads of a block of `blind_rotate`.
    pub threads: usize,
    /// Blocks that one multiprocessor runs at once: what bounds the registers of a thread.
    pub blocks_per_multiprocessor: usize,
    /// Bytes of shared memory of a block.
    pub shared_bytes: usize,
    /// Threads of a block of `key_switch`, on the torus of `round_torus`.
    pub key_switch_threads: usize,
    /// Stages of `key_switch_tiled` in shared memory at once (0: never launched).
    pub key_switch_stages: usize,
    /// Digits whose rows make one stage.
    pub key_switch_stage_pairs: usize,
    /// Ciphertexts from which `key_switch_tiled` is launched.
    pub key_switch_tiled_from: usize,
    /// Multiprocessors of the device.
    pub multiprocessors: usize,
    /// Blocks of a cluster that begin each step together (1: blocks run as they may).
    pub pace: usize,
    /// LWE indices by which the key is asked into L2 ahead of use.
    pub prefetch_steps: usize,
    /// Blocks that divide the asking among them.
    pub prefetch_blocks: usize,
    /// Key entries of 16 bytes that a thread has in flight, also during the transforms (0: as the
    /// compiler likes).
    pub key_ring: usize,
    /// Whether key entries take 12 bytes instead of 16 (f64 FFT; [`packed_exponent`]).
    pub packed: bool,
    /// Whether slots of complex numbers have gaps instead of a swizzle (cuda/bootstrap/tile.cuh).
    pub gaps: bool,
    /// Whether the last pass of an inverse transform leaves its cosines to the rounding: fewer
    /// operations, more registers.
    pub defer_cosines: bool,
    /// Whether the last two levels of an inverse pass are one step: fewer operations, one more root
    /// (f64 FFT).
    pub join_levels: bool,
    /// Set where a multiprocessor has one ciphertext: for what is left of a batch after whole
    /// waves.
    pub tail: bool,
    /// Set where blocks share a ciphertext (`cuda/bootstrap/blind_rotate_spread.cu`), not
    /// ciphertexts a block.
    pub spread: Option<SpreadPlan>,
}

/// Derived numbers that plan and sources share.
pub(crate) struct Geometry {
    /// Values of a transformed polynomial.
    pub points: usize,
    /// Threads of one polynomial.
    pub team: usize,
    pub second_radix: usize,
    pub tail: usize,
    pub words: usize,
    /// Of a coefficient of a test polynomial.
    pub accumulator_bytes: usize,
    /// Of a coefficient on the chip.
    pub held_bytes: usize,
}

/// Whether the f64 transform holds accumulators of a Q of two words as multiples of Q / 2^32: half
/// the registers, and sums that wrap. Rounding to them adds at most 1/256 of the variance that the
/// bits left out bring.
pub(crate) fn scaled(shape: &BootstrapShape) -> bool {
    let Gadget::Decomposition { dropped_bits, .. } = shape.gadget else { return false };
    let wide = shape.accumulator_modulus().filter(|&q| q >= 1 << 31);
    wide.is_some_and(|q| {
        q as f64 / f64::from(TORUS_BITS).exp2() * 16.0 <= f64::from(dropped_bits).exp2()
    })
}

impl Geometry {
    pub fn new(shape: &BootstrapShape, transform: Transform) -> Self {
        let points = match transform {
            Transform::Ntt => shape.polynomial_size,
            Transform::Fft => shape.polynomial_size / 2,
        };
        let team = (points / ITEMS).max(1);
        let second_radix = team.min(16);
        let words = match &shape.key_modulus {
            KeyModulus::Words(words) => words.len(),
            // Nobody reads it: the f64 transform knows no words.
            KeyModulus::Torus64 => 1,
        };
        let wide = shape.accumulator_modulus().is_some_and(|q| q >= 1 << 31);
        let accumulator_bytes = if wide { 8 } else { 4 };
        let held_bytes =
            if transform == Transform::Fft && scaled(shape) { 4 } else { accumulator_bytes };
        Self {
            points,
            team,
            second_radix,
            tail: team / second_radix,
            words,
            accumulator_bytes,
            held_bytes,
        }
    }

    /// Threads that find work in the product phase.
    fn frequency_items(&self, transform: Transform) -> usize {
        self.points / self.tail * if transform == Transform::Ntt { self.words } else { 1 }
    }
}

/// Whether each team keeps its one polynomial in registers.
fn in_registers(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
) -> bool {
    (groups * shape.columns()).div_ceil(threads / geometry.team) == 1
}

/// Bytes of `Tile` (cuda/bootstrap/ntt.cuh, cuda/bootstrap/fft.cuh).
fn shared_bytes(
    shape: &BootstrapShape,
    transform: Transform,
    groups: usize,
    threads: usize,
    gaps: bool,
) -> usize {
    let g = Geometry::new(shape, transform);
    // `STORED_GROUPS`: teams inside a warp stay with it through rounds without a polynomial, on one
    // that nobody reads.
    let teams = threads / g.team;
    let rounds = (groups * shape.columns()).div_ceil(teams);
    let stored_groups =
        if g.team < 32 { (rounds * teams).div_ceil(shape.columns()) } else { groups };
    let polynomials = stored_groups * shape.columns();
    let accumulators = if in_registers(shape, &g, groups, threads) {
        0
    } else {
        polynomials * shape.polynomial_size * g.held_bytes
    };
    let rotations = (groups * shape.switched_len()).next_multiple_of(8) * 2;
    let slots = polynomials * shape.levels() * g.points;
    let (slots, tables) = match transform {
        Transform::Ntt => {
            (slots * 4 * g.words, g.words * (g.second_radix * 16 * 8 + shape.polynomial_size * 4))
        }
        Transform::Fft => {
            let groups_of_frequencies = g.points / g.tail;
            let bases = 2 * groups * shape.grouping * groups_of_frequencies / 32;
            // Sixteen complex numbers are followed by a gap (`LINE` of cuda/bootstrap/tile.cuh).
            let slots = if gaps { slots / 16 * 17 } else { slots };
            (slots * 16, (8 * 16 + 32 * g.tail + g.tail / 2 * groups_of_frequencies + bases) * 16)
        }
    };
    (slots + tables + accumulators + rotations).next_multiple_of(16)
}

/// Whether the product phase of the FFT holds all digits (`HOLD_DIGITS` of cuda/bootstrap/fft.cuh).
pub(crate) fn holds_digits(shape: &BootstrapShape) -> bool {
    shape.levels() * shape.columns() <= 2 * shape.columns()
}

/// 32-bit registers that the product phase holds for digits and sums: more ciphertexts a block cost
/// more of them.
fn product_registers(shape: &BootstrapShape, transform: Transform, groups: usize) -> usize {
    let g = Geometry::new(shape, transform);
    let (rows, columns, x) =
        (shape.levels() * shape.columns(), shape.columns(), shape.ggsw_per_step());
    match transform {
        Transform::Ntt => groups * g.tail * (rows + 2 * x),
        // Sums take the place of digits; a monomial and its power for each ciphertext, and the key
        // entry they make.
        Transform::Fft if shape.grouping > 1 && holds_digits(shape) => {
            4 * groups * (g.tail * rows.max(columns) + 2 * x + 1)
        }
        Transform::Fft if shape.grouping > 1 => 4 * groups * (g.tail * (columns + 1) + 2 * x + 1),
        Transform::Fft if holds_digits(shape) => 4 * groups * g.tail * (rows + x),
        Transform::Fft => 4 * groups * g.tail * (columns * x + 1),
    }
}

/// log2 of the unit in which packed key entries are integers of 48 bits, where the key bears it:
/// rounding to them adds an error of at most 0.2 to a coefficient of a key whose own errors deviate
/// by 3.19, 1/256 of their variance.
pub(crate) fn packed_exponent(shape: &BootstrapShape, transform: Transform) -> Option<i32> {
    let (size, scale) = (shape.polynomial_size as f64, crate::bootstrap::keys::fft_scale(shape));
    let modulus = shape.key_modulus_value()? as f64;
    if transform == Transform::Ntt || !holds_digits(shape) || shape.ggsw_per_step() != 2 {
        return None;
    }
    // Entries are sums and differences of two transforms of N/2 complex numbers with parts uniform
    // modulo T: each of their parts deviates by sqrt(N) T / sqrt(12). One in 10^19 lies beyond nine
    // deviations.
    let deviation = (size / 12.0).sqrt() * modulus * scale;
    let exponent = (9.0 * deviation).log2().ceil() - 47.0;
    // Rounding leaves a variance of unit^2/12 in sum and difference, half of that in each of the
    // two keys, spread over N/2.
    let error = exponent.exp2() / scale / (12.0 * size).sqrt();
    (error <= 0.2).then_some(exponent as i32)
}

/// Bytes of one step's key under the f64 FFT, before packing.
pub(crate) fn step_bytes(shape: &BootstrapShape) -> usize {
    16 * shape.levels() * shape.columns().pow(2) * shape.ggsw_per_step() * shape.polynomial_size / 2
}

/// Whether a plan packs the key: as asked, else where a step has so much of it that reading it
/// bounds the product phase, whatever the order in which blocks read. Below, packing has nothing to
/// win, and batches that do not fill the device wait for it.
pub(crate) fn packs(shape: &BootstrapShape, transform: Transform, request: &PlanRequest) -> bool {
    // `CudaPlan::choose` refuses what is impossible.
    let wanted =
        choice(request, "packed").map_or(step_bytes(shape) >= 640 << 10, |packed| packed == 1);
    wanted && packed_exponent(shape, transform).is_some()
}

/// Blocks that begin each step together, where clusters exist: what blocks that share much of a key
/// gain by staying together. Lighter keys lose what waiting costs, and so do packed ones and blocks
/// of one ciphertext. Four together were slower wherever tried.
fn model_pace(shape: &BootstrapShape, transform: Transform, groups: usize, packed: bool) -> usize {
    let heavy = transform == Transform::Fft && step_bytes(shape) > 512 << 10;
    if heavy && groups > 1 && !packed { 2 } else { 1 }
}

/// Blocks that divide the asking for keys among them: fewer of packed ones.
fn prefetch_blocks(packed: bool) -> usize {
    if packed { 32 } else { 128 }
}

/// Entries of the key that a thread of the FFT takes in a run (`RUN_ENTRIES` of
/// cuda/bootstrap/fft.cuh).
fn run_entries(shape: &BootstrapShape, geometry: &Geometry) -> usize {
    let column = shape.levels() * shape.columns() * shape.ggsw_per_step() * geometry.tail;
    if holds_digits(shape) && shape.grouping == 1 { column } else { column * shape.columns() }
}

/// Entries of the key that a thread of the FFT has in flight: what digits, sums and accumulators
/// leave of its registers.
fn key_ring(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
    packed: bool,
) -> usize {
    if !ring_fits(geometry, threads, packed) {
        return 0;
    }
    let entries = run_entries(shape, geometry);
    if !holds_digits(shape) {
        // Few registers are left where sums outlive the digits. Without a ring the compiler's order
        // decides, and swings by a quarter with changes elsewhere. Four entries ran faster than
        // six.
        return (4..=6).find(|r| entries.is_multiple_of(*r)).unwrap_or(0);
    }
    let accumulators = if in_registers(shape, geometry, groups, threads) {
        2 * ITEMS * geometry.held_bytes / 4
    } else {
        0
    };
    let monomials = 4 * groups;
    let taken = product_registers(shape, Transform::Fft, groups)
        + accumulators
        + monomials
        + 27
        + 2 * geometry.tail;
    // The estimate is cautious: the compiler fitted four entries more wherever it was tried.
    let room = 255usize.saturating_sub(taken) / 4 + 4;
    if room < 8 {
        return 0;
    }
    // Accumulators in registers leave room for a shorter one.
    let most = match accumulators {
        0 => 16,
        // Groups ask for more entries a step.
        _ if shape.grouping > 1 => 16,
        _ if wants_registers(shape, geometry, groups) => 4,
        _ => 8,
    };
    let most = room.min(most);
    (1..=most).rev().find(|r| entries.is_multiple_of(*r) && !(packed && r % 2 == 1)).unwrap_or(0)
}

/// Whether threads have as many frequencies each, and of a packed key one.
fn ring_fits(geometry: &Geometry, threads: usize, packed: bool) -> bool {
    let groups = geometry.points / geometry.tail;
    if packed { groups == threads } else { groups.is_multiple_of(threads) }
}

/// Key chunks that a thread of the NTT has in flight, at most half of a run: longer ones were
/// slower.
fn ntt_key_ring(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
    blocks: usize,
) -> usize {
    if !(geometry.points / geometry.tail).is_multiple_of(threads) {
        return 0;
    }
    let chunks = ntt_key_chunks(shape, geometry);
    let accumulators = if in_registers(shape, geometry, groups, threads) {
        ITEMS * geometry.held_bytes / 4
    } else {
        0
    };
    let monomials = if groups == 1 { geometry.tail * shape.ggsw_per_step() } else { 0 };
    let taken = product_registers(shape, Transform::Ntt, groups) + accumulators + monomials + 48;
    let free = (65_536 / (threads * blocks)).min(255).saturating_sub(taken);
    (4..=(free / 4).min(chunks / 2).min(10)).rev().find(|r| chunks.is_multiple_of(*r)).unwrap_or(0)
}

/// Chunks of 16 bytes of one column at one group of frequencies (`KEY_CHUNKS` of
/// cuda/bootstrap/ntt.cuh).
fn ntt_key_chunks(shape: &BootstrapShape, geometry: &Geometry) -> usize {
    (shape.levels() * shape.columns() * shape.ggsw_per_step() * geometry.tail).div_ceil(4)
}

/// Where it was faster: long tails, and accumulators that leave registers, but not short tails.
fn defers_cosines(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
) -> bool {
    geometry.tail == 4 || (geometry.tail == 2 && !in_registers(shape, geometry, groups, threads))
}

/// Two ciphertexts in tails of four under a long key: a ring of four entries and levels apart were
/// faster under 171 MB of key, eight and levels joined under 79 MB.
fn wants_registers(shape: &BootstrapShape, geometry: &Geometry, groups: usize) -> bool {
    geometry.tail == 4 && groups > 1 && step_bytes(shape) * shape.steps() > 128 << 20
}

/// Where it was faster, but not where accumulators leave registers. Groups of indices were measured
/// with levels apart; triples would spill.
fn joins_levels(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
) -> bool {
    shape.grouping == 1
        && in_registers(shape, geometry, groups, threads)
        && !wants_registers(shape, geometry, groups)
}

/// Ciphertexts of one tile of `key_switch_tiled`: `OWN` for each warp.
pub(crate) fn key_switch_tile(shape: &BootstrapShape) -> usize {
    KEY_SWITCH_TILE_THREADS / 32 * if ks_word_bytes(shape) == 5 { 8 } else { 16 }
}

/// Tiles of `key_switch_tiled` for so many ciphertexts: the last columns of a row share tiles of
/// more of them where half or a quarter of the lanes of a warp holds these (`LAST_LANES`).
fn key_switch_tiles(shape: &BootstrapShape, jobs: usize) -> usize {
    let (whole, last) = (
        shape.switched_len() / KEY_SWITCH_TILE_COLUMNS,
        shape.switched_len() % KEY_SWITCH_TILE_COLUMNS,
    );
    let tile = key_switch_tile(shape);
    let of_last = match last {
        0 => 0,
        _ if last <= KEY_SWITCH_TILE_COLUMNS / 4 => jobs.div_ceil(4 * tile),
        _ if last <= KEY_SWITCH_TILE_COLUMNS / 2 => jobs.div_ceil(2 * tile),
        _ => jobs.div_ceil(tile),
    };
    jobs.div_ceil(tile) * whole + of_last
}

/// Bytes of shared memory of `key_switch_tiled` that holds the rows of so many digits.
fn key_switch_tile_bytes(shape: &BootstrapShape, pairs: usize) -> usize {
    let digits = KEY_SWITCH_TILE_CHUNK * shape.ks_digits() * key_switch_tile(shape) * 4;
    pairs * shape.ks_base() * KEY_SWITCH_TILE_COLUMNS * ks_word_bytes(shape) + digits
}

/// Stages of `key_switch_tiled` and digits a stage: three or four of two digits, which are added in
/// fewer instructions, else three or more of one. No stage where fewer fit, and none on the torus,
/// which has a key switch of its own.
pub(crate) fn key_switch_stages(shape: &BootstrapShape, limits: &DeviceLimits) -> (usize, usize) {
    if shape.is_torus() {
        return (0, 1);
    }
    let fits = |&(stages, pairs): &(usize, usize)| {
        key_switch_tile_bytes(shape, stages * pairs) <= limits.workgroup_memory_bytes
    };
    [(4, 2), (3, 2), (5, 1), (4, 1), (3, 1)].into_iter().find(fits).unwrap_or((0, 1))
}

/// Least ciphertexts that go by tiles: a tile costs the same however few it has.
pub(crate) fn key_switch_tiled_from(shape: &BootstrapShape) -> usize {
    if shape.ks_base() > KEY_SWITCH_TILE_BASE { usize::MAX } else { key_switch_tile(shape) / 2 }
}

/// How one key switch of some ciphertexts is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeySwitchLaunch {
    /// `key_switch_tiled` instead of `key_switch`.
    pub tiled: bool,
    /// Blocks among which the indices of a ciphertext, or of a tile, are divided.
    pub parts: usize,
    pub blocks: usize,
    pub threads: usize,
    pub shared_bytes: usize,
}

impl KeySwitchLaunch {
    pub fn new(shape: &BootstrapShape, plan: &CudaPlan, jobs: usize) -> Self {
        if plan.key_switch_stages > 0 && jobs >= plan.key_switch_tiled_from {
            let tiles = key_switch_tiles(shape, jobs);
            let parts =
                (1..=8).min_by_key(|&p| waves(tiles * p, plan) * 840 / p + 4 * p).unwrap_or(1);
            let shared_bytes =
                key_switch_tile_bytes(shape, plan.key_switch_stages * plan.key_switch_stage_pairs);
            return Self {
                tiled: true,
                parts,
                blocks: tiles * parts,
                threads: KEY_SWITCH_TILE_THREADS,
                shared_bytes,
            };
        }
        // Four blocks a multiprocessor, each with at least two rounds of rows.
        let most = shape.ks_indices() * shape.ks_digits() / 32;
        let parts = (4 * plan.multiprocessors / jobs.max(1)).clamp(1, most.max(1));
        Self {
            tiled: false,
            parts,
            blocks: jobs * parts,
            threads: plan.key_switch_threads,
            shared_bytes: 0,
        }
    }
}

fn waves(blocks: usize, plan: &CudaPlan) -> usize {
    blocks.div_ceil(plan.multiprocessors)
}

impl CudaPlan {
    /// Plans `shape` within `limits`, keeping what `request` fixes; `cluster` is what the device
    /// allows in a cluster (1: no clusters).
    ///
    /// # Errors
    /// [`BackendError::DoesNotFit`] with the bound that is exceeded; [`BackendError::Unsupported`]
    /// for shapes and requests that these kernels do not know.
    pub fn new(
        device: &str,
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        cluster: usize,
        request: &PlanRequest,
    ) -> Result<Self, BackendError> {
        shape.validate()?;
        refuse_unsupported(device, shape, transform, request)?;
        if shape.polynomial_size > MAX_POLYNOMIAL_SIZE {
            return Err(BackendError::Unsupported {
                device: device.into(),
                what: format!("N = {} in one block", shape.polynomial_size),
                why: "one block runs N up to 2048; larger rings are spread over the blocks of a cluster, which needs sm_90 or above".into(),
            });
        }
        // The shared plan refuses what no tile of this device could hold.
        let fits = |reason: DoesNotFit| BackendError::DoesNotFit { device: device.into(), reason };
        TilePlan::new(
            shape,
            transform,
            limits,
            &PlanRequest { groups: None, subgroups_per_polynomial: None, ..request.clone() },
        )
        .map_err(fits)?;
        let geometry = Geometry::new(shape, transform);
        // 64-bit accumulators and tails of four leave no registers for a second ciphertext; three
        // blocks take turns instead. So they do on the torus, whose key is light.
        let wide_tails =
            transform == Transform::Fft && geometry.held_bytes == 8 && geometry.tail == 4;
        let all = match transform {
            // Several small blocks hide each other's waits better than a large one, unless the key
            // of many columns weighs more than its transforms.
            Transform::Ntt if shape.columns() >= 8 => vec![2, 1],
            Transform::Ntt => vec![1, 2, 3, 4],
            // Keys of pairs are not light, and two share them. Triples have no registers for that.
            Transform::Fft if shape.grouping == 2 => vec![2, 1],
            Transform::Fft if shape.grouping > 2 || wide_tails || shape.is_torus() => vec![1],
            Transform::Fft => vec![4, 3, 2, 1],
        };
        let candidates: Vec<usize> =
            request.groups.or(choice(request, GROUPS)).map_or(all, |g| vec![g]);
        // Of the fewest ciphertexts: no other plan needs less.
        let mut refused: Option<(usize, DoesNotFit)> = None;
        let mut best: Option<(usize, Self)> = None;
        for groups in candidates {
            match Self::with_groups(shape, transform, limits, request, groups) {
                Ok(plan) => {
                    let teams = plan.threads / geometry.team;
                    let cost = match transform {
                        // The most ciphertexts on a multiprocessor; of equals the first.
                        Transform::Ntt => usize::MAX - groups * plan.blocks_per_multiprocessor,
                        // Rounds of transforms a ciphertext, in twelfths; of equals the first,
                        // which shares keys among more.
                        Transform::Fft => {
                            12 * (groups * shape.columns()).div_ceil(teams) / groups.max(1)
                        }
                    };
                    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, plan));
                    }
                }
                Err(_) if refused.as_ref().is_some_and(|(least, _)| *least < groups) => {}
                Err(reason) => refused = Some((groups, reason)),
            }
        }
        if let Some((_, mut plan)) = best {
            // Without clusters no block can wait for another.
            plan.pace = plan.pace.min(cluster);
            if let Some(pace) = choice(request, "pace").filter(|&pace| pace > cluster) {
                return Err(BackendError::Unsupported {
                    device: device.into(),
                    what: format!("a plan with pace = {pace}"),
                    why: format!(
                        "clusters have at most {cluster} blocks there (several need sm_90 or above)"
                    ),
                });
            }
            // Whether and how ciphertexts are spread, and how many a block serves, was decided
            // before.
            for (name, &value) in request
                .choices
                .iter()
                .filter(|(name, _)| ![SPREAD, SPREAD_ITEMS, GROUPS].contains(&name.as_str()))
            {
                plan.choose(device, shape, name, value as usize)?;
            }
            return Ok(plan);
        }
        let none = || DoesNotFit::Transform {
            transform,
            why: "a block serves at least one ciphertext".into(),
        };
        Err(fits(refused.map_or_else(none, |(_, reason)| reason)))
    }

    /// The plans of `shape` worth measuring with `transform`, the model's own first: ciphertexts a
    /// block, blocks a multiprocessor, key entries in flight, and, for the f64 FFT, where cosines
    /// are multiplied, whether keys are packed, and how blocks read them.
    pub(crate) fn alternatives(
        device: &str,
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        cluster: usize,
    ) -> Vec<PlanRequest> {
        let plan = |choices: &[(&str, usize)]| {
            let choices =
                choices.iter().map(|&(name, value)| (name.to_owned(), value as u32)).collect();
            let request = PlanRequest { choices, ..Default::default() };
            Self::new(device, shape, transform, limits, cluster, &request)
                .ok()
                .map(|plan| (request, plan))
        };
        // What the model would choose is asked for by name, so that a stored plan outlives a change
        // of the model.
        let mut all: Vec<(PlanRequest, Self)> = Vec::new();
        let mut add = |choices: &[(&str, usize)]| match plan(choices) {
            Some(found) if all.iter().all(|(_, plan)| *plan != found.1) => all.push(found),
            _ => {}
        };
        let named = |p: &Self| {
            let mut choices = vec![(GROUPS, p.groups), ("blocks", p.blocks_per_multiprocessor)];
            choices.push(("ring", p.key_ring));
            if packed_exponent(shape, transform).is_some() {
                choices.push(("packed", usize::from(p.packed)));
            }
            if transform == Transform::Fft {
                choices.extend([
                    ("cosines", usize::from(p.defer_cosines)),
                    ("prefetchers", p.prefetch_blocks),
                ]);
            }
            if transform == Transform::Fft && cluster > 1 {
                choices.push(("pace", p.pace));
            }
            choices
        };
        let models = [None, Some(4), Some(3), Some(2), Some(1)]
            .map(|g| plan(&g.map_or(vec![], |g| vec![(GROUPS, g)])));
        for (_, model) in models.into_iter().flatten() {
            let choices = named(&model);
            add(&choices);
            let variation = |name: &str, value: usize| -> Vec<(&str, usize)> {
                choices.iter().map(|&(n, v)| (n, if n == name { value } else { v })).collect()
            };
            for blocks in [
                model.blocks_per_multiprocessor + 1,
                model.blocks_per_multiprocessor.saturating_sub(1),
            ] {
                add(&variation("blocks", blocks));
            }
            for ring in [0, 4, 6, 8, 10, 12, 16] {
                add(&variation("ring", ring));
            }
            add(&variation("cosines", usize::from(!model.defer_cosines)));
            let others = [
                ("packed", usize::from(!model.packed)),
                ("prefetchers", if model.prefetch_blocks > 32 { 32 } else { 128 }),
                ("pace", if model.pace > 1 { 1 } else { 2 }),
            ];
            for (name, value) in others
                .into_iter()
                .filter(|(name, _)| choices.iter().any(|(known, _)| known == name))
            {
                add(&variation(name, value));
            }
        }
        all.into_iter().map(|(request, _)| request).collect()
    }

    /// A plan with `groups` ciphertexts on a multiprocessor, for what is left of a batch after
    /// whole waves of `whole`, where that serves more.
    pub(crate) fn tail(
        device: &str,
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        cluster: usize,
        whole: &Self,
        groups: usize,
    ) -> Option<Self> {
        // All variants read one key.
        let choices = [("blocks".into(), 1)].into_iter().chain(whole.packed_choice()).collect();
        let request = PlanRequest { groups: Some(groups), choices, ..Default::default() };
        let plan = Self::new(device, shape, transform, limits, cluster, &request)
            .ok()
            .filter(|_| whole.groups > groups)?;
        Some(Self { tail: true, ..plan })
    }

    /// The choice that makes another variant read the same key as this one, where there is one to
    /// make.
    fn packed_choice(&self) -> Option<(String, u32)> {
        (self.transform == Transform::Fft).then(|| ("packed".to_owned(), u32::from(self.packed)))
    }

    /// Takes one named choice of a [`PlanRequest`]:
    ///
    /// | name | value |
    /// |---|---|
    /// | `groups` | ciphertexts of a block, as [`PlanRequest::groups`]; the variants for small batches stay |
    /// | `blocks` | blocks a multiprocessor that the compiler leaves registers for |
    /// | `packed` | 1: key entries of 48 bits a part, where the key bears it (f64 FFT) |
    /// | `ring` | key entries that a thread has in flight |
    /// | `cosines` | 1: inverse transforms leave those of their last pass to the rounding (f64 FFT) |
    /// | `joined` | 1: the last two levels of an inverse pass are one step (f64 FFT) |
    /// | `gaps` | 0: slots are swizzled even where memory has room for gaps (f64 FFT) |
    /// | `pace` | blocks of a cluster that begin each step together: 1, 2, 4 or 8 (sm_90 and above) |
    /// | `prefetch` | LWE indices by which the key is asked into L2 ahead of use |
    /// | `prefetchers` | blocks that divide the asking among them |
    /// | `tiled` | 1: key switches always by tiles, 0: never |
    /// | `spread`, `spread_items` | see [`crate::SPREAD`], [`crate::SPREAD_ITEMS`] |
    pub(crate) fn choose(
        &mut self,
        device: &str,
        shape: &BootstrapShape,
        name: &str,
        value: usize,
    ) -> Result<(), BackendError> {
        let refuse = |why: String| {
            Err(BackendError::Unsupported {
                device: device.into(),
                what: format!("a plan with {name} = {value}"),
                why,
            })
        };
        let geometry = Geometry::new(shape, self.transform);
        let most = match name {
            "blocks" | "pace" => 8,
            "tiled" | "cosines" | "joined" | "gaps" | "packed" => 1,
            "prefetch" => 64,
            "prefetchers" => 128,
            // What a ring reads behind the key stays inside its slack.
            "ring" => {
                if self.packed {
                    24
                } else {
                    16
                }
            }
            _ => {
                return refuse(
                    "the choices are groups, blocks, packed, ring, cosines, joined, gaps, pace, prefetch, prefetchers, tiled, spread and spread_items"
                        .into(),
                );
            }
        };
        let least = usize::from(["blocks", "pace", "prefetchers"].contains(&name));
        if !(least..=most).contains(&value) {
            return refuse(format!("it may be {least} to {most}"));
        }
        match name {
            "blocks" => self.blocks_per_multiprocessor = value,
            "cosines" | "joined" if value == 1 && self.transform == Transform::Ntt => {
                return refuse("the integer transform has none".into());
            }
            "cosines" => self.defer_cosines = value == 1,
            "joined" => self.join_levels = value == 1,
            "gaps" if value == 1 && !self.gaps => {
                return refuse("gaps need the f64 FFT, N of 512 or more, and memory".into());
            }
            "gaps" => {
                self.gaps = value == 1;
                self.shared_bytes =
                    shared_bytes(shape, self.transform, self.groups, self.threads, self.gaps);
            }
            "packed" if value == 1 && packed_exponent(shape, self.transform).is_none() => {
                return refuse("a key of that size, in that order or without sums and differences needs all bits of an f64".into());
            }
            // It was taken before the rest was planned (`packs`).
            "packed" => {}
            "pace" if !value.is_power_of_two() => {
                return refuse("a cluster has 1, 2, 4 or 8 blocks".into());
            }
            "pace" => self.pace = value,
            "prefetch" => self.prefetch_steps = value,
            "prefetchers" => self.prefetch_blocks = value,
            "tiled" if value == 1 && self.key_switch_stages == 0 => {
                return refuse(format!(
                    "the rows of a digit, {} of them, are too many for a tile",
                    shape.ks_base() - 1
                ));
            }
            "tiled" => self.key_switch_tiled_from = if value == 1 { 1 } else { usize::MAX },
            _ => {
                let run = match self.transform {
                    Transform::Ntt => ntt_key_chunks(shape, &geometry),
                    Transform::Fft => run_entries(shape, &geometry),
                };
                let fits = ring_fits(&geometry, self.threads, self.packed);
                if value > 0
                    && !(fits && run.is_multiple_of(value) && !(self.packed && value % 2 == 1))
                {
                    return refuse(format!(
                        "a ring needs as many frequencies for each thread, and a divisor of its {run} entries"
                    ));
                }
                self.key_ring = value;
            }
        }
        Ok(())
    }

    fn with_groups(
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
        request: &PlanRequest,
        groups: usize,
    ) -> Result<Self, DoesNotFit> {
        let geometry = Geometry::new(shape, transform);
        let threads = threads_of_block(shape, transform, limits, request, groups, &geometry);
        // As many frequencies for each thread, so that keys can be in flight: for one ciphertext
        // that is worth teams without a polynomial, and the slots that these have.
        let even = threads.next_power_of_two();
        let is_open = transform == Transform::Fft
            && groups == 1
            && request.subgroups_per_polynomial.is_none();
        let fits =
            shared_bytes(shape, transform, groups, even, false) <= limits.workgroup_memory_bytes;
        let threads = if is_open && fits { even } else { threads };
        let registers = product_registers(shape, transform, groups);
        let transform_registers = if transform == Transform::Fft { 96 } else { 48 };
        // Many rows keep more in flight: three blocks of 164 registers beat four of 128.
        let many_rows = transform == Transform::Ntt && shape.levels() * shape.columns() > 6;
        let others = if many_rows || shape.grouping > 1 { 80 } else { 48 };
        let by_registers = 65_536
            / (threads
                * (registers.max(transform_registers) + others).next_multiple_of(8).min(255));
        // Blocks that one multiprocessor runs at once.
        let resident = |bytes: usize| {
            ((limits.workgroup_memory_bytes + RESERVED_BYTES) / (bytes + RESERVED_BYTES))
                .min(by_registers)
                .min(4)
        };
        let bytes = |gaps| shared_bytes(shape, transform, groups, threads, gaps);
        // Gaps save addresses; they are not worth a block.
        let gaps = transform == Transform::Fft
            && geometry.second_radix == 16
            && resident(bytes(true)) == resident(bytes(false));
        let bytes = bytes(gaps);
        if bytes > limits.workgroup_memory_bytes {
            return Err(DoesNotFit::Memory {
                tile: tile_of_groups(shape, groups),
                needed: bytes,
                available: limits.workgroup_memory_bytes,
            });
        }
        // A request is taken as it is; the model only chooses among what it may.
        let most = if transform == Transform::Fft { 180 } else { 96 };
        if request.groups.is_none() && groups > 1 && registers > most {
            return Err(DoesNotFit::Transform {
                transform,
                why: format!("{groups} ciphertexts a block need {registers} registers"),
            });
        }
        let (stages, stage_pairs) = key_switch_stages(shape, limits);
        let packed = packs(shape, transform, request);
        let key_ring = match transform {
            Transform::Ntt => {
                ntt_key_ring(shape, &geometry, groups, threads, resident(bytes).max(1))
            }
            Transform::Fft => key_ring(shape, &geometry, groups, threads, packed),
        };
        Ok(Self {
            transform,
            groups,
            threads,
            blocks_per_multiprocessor: resident(bytes).max(1),
            shared_bytes: bytes,
            key_switch_threads: key_switch_threads(shape),
            key_switch_stages: stages,
            key_switch_stage_pairs: stage_pairs,
            key_switch_tiled_from: key_switch_tiled_from(shape),
            multiprocessors: limits.multiprocessors,
            pace: model_pace(shape, transform, groups, packed),
            prefetch_steps: 3,
            prefetch_blocks: prefetch_blocks(packed),
            key_ring,
            packed,
            gaps,
            defer_cosines: defers_cosines(shape, &geometry, groups, threads),
            join_levels: transform == Transform::Fft
                && joins_levels(shape, &geometry, groups, threads),
            tail: false,
            spread: None,
        })
    }
}

/// Threads of a block of the key switch, on the torus of its rounding: four words each.
pub(crate) fn key_switch_threads(shape: &BootstrapShape) -> usize {
    let most = if shape.is_torus() { 256 } else { 384 };
    shape.switched_len().div_ceil(4).next_multiple_of(32).clamp(64, most)
}

fn threads_of_block(
    shape: &BootstrapShape,
    transform: Transform,
    limits: &DeviceLimits,
    request: &PlanRequest,
    groups: usize,
    geometry: &Geometry,
) -> usize {
    let step = geometry.team.max(32);
    // Enough for the product phase, no more than there are polynomials to transform.
    let useful = (groups * shape.columns() * geometry.team)
        .min(geometry.frequency_items(transform))
        .min(256);
    let wanted = request
        .subgroups_per_polynomial
        .map_or(useful, |warps| groups * shape.columns() * warps * 32);
    let most =
        if geometry.team > 32 { NAMED_BARRIERS * geometry.team } else { limits.workgroup_threads };
    wanted.next_multiple_of(step).min(most).min(limits.workgroup_threads / step * step)
}

/// Refuses what no variant of these kernels runs.
pub(crate) fn refuse_unsupported(
    device: &str,
    shape: &BootstrapShape,
    transform: Transform,
    request: &PlanRequest,
) -> Result<(), BackendError> {
    let unsupported = |what: String, why: &str| {
        Err(BackendError::Unsupported { device: device.into(), what, why: why.into() })
    };
    if shape.is_torus() {
        if transform == Transform::Ntt {
            return unsupported(
                "the native torus with the integer transform".into(),
                "2^64 has no roots of unity; use the f64 transform",
            );
        }
        let digits = u64::from(shape.gadget_bits());
        if digits >= u64::from(TORUS_BITS) || shape.log2_ks_base > 7 {
            return unsupported(
                format!(
                    "digits of {digits} bits in all, key-switching base 2^{}",
                    shape.log2_ks_base
                ),
                "accumulators hold 32 bits of the torus, so digits take 31 at most; key-switching digits take 7 bits at most",
            );
        }
    }
    if shape.grouping > 1 && transform == Transform::Ntt {
        return unsupported(
            format!("{} LWE indices a step with the integer transform", shape.grouping),
            "its kernels take one index a step; use the f64 transform, or grouping = 1",
        );
    }
    if request.steps_per_launch.is_some_and(|s| s < shape.steps()) {
        return unsupported(
            format!("{} steps a launch", request.steps_per_launch.unwrap_or(0)),
            "a launch runs all steps; leave steps_per_launch open",
        );
    }
    let rows = shape.ks_indices() * shape.ks_digits();
    if ks_word_bytes(shape) == 5 && rows >= 1 << 16 {
        return unsupported(
            format!("a key switch of {rows} rows modulo 2^{}", shape.log2_ks_modulus),
            "above 2^32 its sums have room for 65,535 rows; choose a larger base",
        );
    }
    if transform == Transform::Fft
        && shape.key_modulus_value().is_some_and(|m| m >= 1 << 53)
        && shape.levels() > 8
    {
        return unsupported(
            "more than 8 digits of a modulus above 2^53".into(),
            "use the integer transform",
        );
    }
    Ok(())
}

/// The one transform that kernels run a shape with, where there is only one.
pub(crate) fn only_transform(shape: &BootstrapShape) -> Option<Transform> {
    // 2^64 has no roots of unity, and integer kernels take one LWE index a step.
    (shape.is_torus() || shape.grouping > 1).then_some(Transform::Fft)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::rotation::plans;
    use crate::bootstrap::spread::MAX_CLUSTER;
    use crate::bootstrap::test_shapes::shape;
    use crate::bootstrap::variants::limits_of;
    use girih_backend::SecretKind;

    /// What a device would take of its own accord must be what its kernels run.
    #[test]
    fn shapes_that_one_transform_runs_have_only_that() {
        let limits = limits_of(90);
        let runs = |shape: &BootstrapShape, transform| {
            let request = PlanRequest::default();
            plans("cuda", shape, transform, &limits, MAX_CLUSTER, &request).is_ok()
        };
        for name in ["word_3x7", "words_1x25", "raised_16", "torus"] {
            for grouping in [1, 2, 3, 4] {
                let secret = SecretKind::Binary;
                let mut shape = BootstrapShape { grouping, secret, ..shape(name, 1) };
                shape.lwe_dimension = shape.lwe_dimension.next_multiple_of(12);
                let both = [Transform::Ntt, Transform::Fft].map(|t| runs(&shape, t));
                let expected = match only_transform(&shape) {
                    Some(Transform::Fft) => [false, true],
                    Some(Transform::Ntt) => [true, false],
                    None => [true, true],
                };
                assert_eq!(both, expected, "{name}, {grouping} indices a step");
            }
        }
    }

    #[test]
    fn alternatives_begin_with_the_model_and_keep_every_variant() {
        let limits = limits_of(90);
        for (name, packing) in [
            ("word_3x7", 1),
            ("words_1x25", 1),
            ("word_5x5", 1),
            ("raised_18_k3", 5),
            ("raised_16", 3),
            ("torus", 1),
        ] {
            let shape = shape(name, packing);
            for transform in [Transform::Fft, Transform::Ntt] {
                let plan = |request: &PlanRequest| {
                    CudaPlan::new("cuda", &shape, transform, &limits, MAX_CLUSTER, request)
                };
                let Ok(model) = plan(&PlanRequest::default()) else {
                    assert!(
                        CudaPlan::alternatives("cuda", &shape, transform, &limits, MAX_CLUSTER)
                            .is_empty()
                    );
                    continue;
                };
                let all = CudaPlan::alternatives("cuda", &shape, transform, &limits, MAX_CLUSTER);
                assert!(all.len() >= 3, "{name} {transform}: {all:?}");
                assert_eq!(plan(&all[0]).expect("it was planned"), model, "{name} {transform}");
                let found: Vec<CudaPlan> =
                    all.iter().map(|request| plan(request).expect("it was planned")).collect();
                assert!(
                    found.iter().enumerate().all(|(i, p)| !found[..i].contains(p)),
                    "{name} {transform}: one plan twice"
                );
                let variants = |request: &PlanRequest| {
                    plans("cuda", &shape, transform, &limits, MAX_CLUSTER, request)
                        .expect("it was planned")
                };
                for request in &all {
                    let spread = |p: &CudaPlan| p.spread.is_some();
                    assert!(
                        variants(request).iter().any(spread),
                        "{name} {transform} {request}: no variant for small batches"
                    );
                }
            }
        }
    }

    #[test]
    fn blocks_keep_step_only_under_heavy_keys_and_in_clusters() {
        for (name, r, paces) in [
            ("raised_18_k2", 4, [2, 1]),
            ("word_3x7", 3, [2, 1]),
            ("raised_18_k3", 5, [1, 1]),
            ("raised_19_k3", 5, [1, 1]),
            ("word_3x8", 4, [1, 1]),
        ] {
            let shape = shape(name, r);
            for (cluster, pace) in [MAX_CLUSTER, 1].into_iter().zip(paces) {
                let plan = |choices: &[(&str, u32)]| {
                    let choices = choices.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
                    let request = PlanRequest { choices, ..Default::default() };
                    CudaPlan::new("cuda", &shape, Transform::Fft, &limits_of(90), cluster, &request)
                };
                assert_eq!(
                    plan(&[]).expect("it fits").pace,
                    pace,
                    "{name} r={r}, clusters of {cluster}"
                );
                let asked = plan(&[("pace", 4)]);
                match cluster {
                    1 => assert!(
                        asked.expect_err("no clusters").to_string().contains("sm_90"),
                        "{name}"
                    ),
                    _ => assert_eq!(asked.expect("it fits").pace, 4, "{name}"),
                }
            }
        }
    }

    #[test]
    fn a_choice_that_no_kernel_honours_is_refused_by_name() {
        let shape = shape("word_3x7", 1);
        for (name, value) in
            [("ring", 7), ("blocks", 0), ("rings", 4), ("pace", 3), ("spread_items", 3)]
        {
            let request =
                PlanRequest { choices: [(name.to_owned(), value)].into(), ..Default::default() };
            let error =
                plans("cuda", &shape, Transform::Fft, &limits_of(90), MAX_CLUSTER, &request)
                    .expect_err(name)
                    .to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
