//! How one shape is laid over a block: ciphertexts, threads, shared memory. A pure function of shape and limits.

use crate::source::TORUS_BITS;
use crate::spread::SpreadPlan;
use girih_backend::{BackendError, BootstrapShape, DeviceLimits, DoesNotFit, KeyModulus, PlanRequest, TilePlan, Transform};

/// Values of a polynomial that one thread holds in every pass of the transform.
const ITEMS: usize = 16;
/// Barriers that teams can have for themselves.
const NAMED_BARRIERS: usize = 15;
/// Largest N whose transform one block runs.
const MAX_POLYNOMIAL_SIZE: usize = 2048;
/// Shared memory that the driver keeps of each block.
const RESERVED_BYTES: usize = 1024;

/// A plan that fits, in the terms of `cuda/lib/tile.cuh`.
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
    /// Threads of a block of `key_switch`.
    pub key_switch_threads: usize,
    /// LWE indices by which the key is asked into L2 ahead of use.
    pub prefetch_steps: usize,
    /// Key entries that a thread has in flight, also during the transforms (f64 FFT; 0: as the compiler likes).
    pub key_ring: usize,
    /// Whether the product phase has registers for the monomials of all ciphertexts.
    pub hold_monomials: bool,
    /// Set where blocks share a ciphertext (`cuda/blind_rotate_spread.cu`), not ciphertexts a block.
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
    pub accumulator_bytes: usize,
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
        Self { points, team, second_radix, tail: team / second_radix, words, accumulator_bytes: if wide { 8 } else { 4 } }
    }

    /// Threads that find work in the product phase.
    fn frequency_items(&self, transform: Transform) -> usize {
        self.points / self.tail * if transform == Transform::Ntt { self.words } else { 1 }
    }
}

/// Whether each team keeps its one polynomial in registers.
fn in_registers(shape: &BootstrapShape, geometry: &Geometry, groups: usize, threads: usize) -> bool {
    (groups * shape.columns()).div_ceil(threads / geometry.team) == 1
}

/// Bytes of `Tile` (cuda/lib/ntt.cuh, cuda/lib/fft.cuh).
fn shared_bytes(shape: &BootstrapShape, transform: Transform, groups: usize, threads: usize) -> usize {
    let g = Geometry::new(shape, transform);
    let polynomials = groups * shape.columns();
    let accumulators = if in_registers(shape, &g, groups, threads) { 0 } else { polynomials * shape.polynomial_size * g.accumulator_bytes };
    let rotations = (groups * shape.switched_len()).next_multiple_of(8) * 2;
    let slots = polynomials * shape.levels() * g.points;
    let (slots, tables) = match transform {
        Transform::Ntt => (slots * 4 * g.words, g.words * (2 * g.second_radix * 16 * 8 + 2 * shape.polynomial_size * 4)),
        Transform::Fft => (slots * 16, (8 * 16 + 32 * g.tail) * 16),
    };
    (slots + tables + accumulators + rotations).next_multiple_of(16)
}

/// Whether the product phase of the FFT holds all digits (`HOLD_DIGITS` of cuda/lib/fft.cuh).
pub(crate) fn holds_digits(shape: &BootstrapShape) -> bool {
    shape.levels() * shape.columns() <= 2 * shape.columns()
}

/// 32-bit registers that the product phase holds for digits and sums: more ciphertexts a block cost more of them.
fn product_registers(shape: &BootstrapShape, transform: Transform, groups: usize) -> usize {
    let g = Geometry::new(shape, transform);
    let (rows, columns, x) = (shape.levels() * shape.columns(), shape.columns(), shape.ggsw_per_index());
    match transform {
        Transform::Ntt => groups * g.tail * (rows + 2 * x),
        Transform::Fft if holds_digits(shape) => 4 * groups * g.tail * (rows + x),
        Transform::Fft => 4 * groups * g.tail * (columns * x + 1),
    }
}

/// How the product phase of the FFT spends the registers that digits, sums and accumulators leave: entries of the key in
/// flight, and whether monomials are held.
fn key_ring_and_monomials(shape: &BootstrapShape, geometry: &Geometry, groups: usize, threads: usize) -> (usize, bool) {
    // Where sums outlive the digits few registers are left, and a short ring costs more in spills than it hides (an H200
    // ran STD128 at 79,900 a second with four entries and at 80,600 with none).
    if geometry.points / geometry.tail != threads || !holds_digits(shape) {
        return (0, true);
    }
    let entries = shape.levels() * shape.columns() * shape.ggsw_per_index() * geometry.tail;
    let accumulators = if in_registers(shape, geometry, groups, threads) { 2 * ITEMS * geometry.accumulator_bytes / 4 } else { 0 };
    let taken = product_registers(shape, Transform::Fft, groups) + accumulators + 27 + 2 * geometry.tail;
    let free = 255usize.saturating_sub(taken);
    let monomials = 4 * groups * geometry.tail;
    // An entry is used once for each ciphertext: 32 uses cover the latency of L2, and what is beyond that keeps monomials,
    // which else wait in the digits' place.
    let hold_monomials = free >= monomials + 4 * (32 / groups);
    let most = (free.saturating_sub(if hold_monomials { monomials } else { 0 }) / 4).min(16);
    if most < 4 {
        return (0, true);
    }
    ((1..=most).rev().find(|r| entries.is_multiple_of(*r)).unwrap_or(0), hold_monomials)
}

impl CudaPlan {
    /// Plans `shape` within `limits`, keeping what `request` fixes.
    ///
    /// # Errors
    /// [`BackendError::DoesNotFit`] with the bound that is exceeded; [`BackendError::Unsupported`] for shapes and requests
    /// that these kernels do not know.
    pub fn new(
        device: &str,
        shape: &BootstrapShape,
        transform: Transform,
        limits: &DeviceLimits,
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
        TilePlan::new(shape, transform, limits, &PlanRequest { groups: None, subgroups_per_polynomial: None, ..request.clone() })
            .map_err(fits)?;
        // Two words keep the integer pipes busy with one ciphertext a block, and several such blocks hide each other's waits.
        // The torus' key is light (one GGSW ciphertext an index): sharing it gains less than such blocks do (an H200 ran TFHERS_2_2
        // at 50,300 a second with one ciphertext a block and at 42,900 with two).
        let alone = shape.is_torus() || transform == Transform::Ntt && Geometry::new(shape, transform).words > 1;
        let all = if alone { vec![1] } else { vec![4, 3, 2, 1] };
        let candidates: Vec<usize> = request.groups.map_or(all, |g| vec![g]);
        let mut refused = None;
        let mut best: Option<(usize, Self)> = None;
        for groups in candidates {
            match Self::with_groups(shape, transform, limits, request, groups) {
                Ok(plan) => {
                    // Rounds of transforms a ciphertext, in twelfths; of equals the first, which shares keys among more.
                    let teams = plan.threads / Geometry::new(shape, transform).team;
                    let cost = 12 * (groups * shape.columns()).div_ceil(teams) / groups.max(1);
                    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, plan));
                    }
                }
                Err(reason) => refused = Some(reason),
            }
        }
        if let Some((_, plan)) = best {
            return Ok(plan);
        }
        Err(fits(refused.unwrap_or(DoesNotFit::Transform { transform, why: "a block serves at least one ciphertext".into() })))
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
        let bytes = shared_bytes(shape, transform, groups, threads);
        if bytes > limits.workgroup_memory_bytes {
            return Err(DoesNotFit::Memory {
                polynomial_size: shape.polynomial_size,
                columns: shape.columns(),
                groups,
                needed: bytes,
                available: limits.workgroup_memory_bytes,
            });
        }
        let registers = product_registers(shape, transform, groups);
        // A request is taken as it is; the model only chooses among what it may.
        let most = if transform == Transform::Fft { 180 } else { 80 };
        if request.groups.is_none() && groups > 1 && registers > most {
            return Err(DoesNotFit::Transform { transform, why: format!("{groups} ciphertexts a block need {registers} registers") });
        }
        let by_memory = (limits.workgroup_memory_bytes + RESERVED_BYTES) / (bytes + RESERVED_BYTES);
        let (key_ring, hold_monomials) = match transform {
            Transform::Ntt => (0, true),
            Transform::Fft => key_ring_and_monomials(shape, &geometry, groups, threads),
        };
        let transform_registers = if transform == Transform::Fft { 96 } else { 48 };
        let by_registers = 65_536 / (threads * (registers.max(transform_registers) + 48).next_multiple_of(8).min(255));
        Ok(Self {
            transform,
            groups,
            threads,
            blocks_per_multiprocessor: by_memory.min(by_registers).clamp(1, 4),
            shared_bytes: bytes,
            key_switch_threads: key_switch_threads(shape),
            prefetch_steps: 3,
            key_ring,
            hold_monomials,
            spread: None,
        })
    }
}

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
    let useful = (groups * shape.columns() * geometry.team).min(geometry.frequency_items(transform)).min(256);
    let wanted = request.subgroups_per_polynomial.map_or(useful, |warps| groups * shape.columns() * warps * 32);
    let most = if geometry.team > 32 { NAMED_BARRIERS * geometry.team } else { limits.workgroup_threads };
    wanted.next_multiple_of(step).min(most).min(limits.workgroup_threads / step * step)
}

/// Refuses what no variant of these kernels runs.
pub(crate) fn refuse_unsupported(
    device: &str,
    shape: &BootstrapShape,
    transform: Transform,
    request: &PlanRequest,
) -> Result<(), BackendError> {
    let unsupported = |what: String, why: &str| Err(BackendError::Unsupported { device: device.into(), what, why: why.into() });
    if shape.is_torus() {
        if transform == Transform::Ntt {
            return unsupported("the native torus with the integer transform".into(), "2^64 has no roots of unity; use the f64 transform");
        }
        let digits = u64::from(shape.gadget_bits());
        if digits >= u64::from(TORUS_BITS) || shape.log2_ks_base > 7 {
            return unsupported(
                format!("digits of {digits} bits in all, key-switching base 2^{}", shape.log2_ks_base),
                "accumulators hold 32 bits of the torus, so digits take 31 at most; key-switching digits take 7 bits at most",
            );
        }
    }
    if request.steps_per_launch.is_some_and(|s| s < shape.lwe_dimension) {
        return unsupported(
            format!("{} steps a launch", request.steps_per_launch.unwrap_or(0)),
            "a launch runs all n steps; leave steps_per_launch open",
        );
    }
    if transform == Transform::Fft && shape.key_modulus_value().is_some_and(|m| m >= 1 << 53) && shape.levels() > 8 {
        return unsupported("more than 8 digits of a modulus above 2^53".into(), "use the integer transform");
    }
    Ok(())
}
