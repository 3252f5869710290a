//! What a thread's registers are worth: how many key entries it has in flight, and which forms of
//! the transform leave room for them. Models, fitted to what compilers did.

use crate::bootstrap::layout::{
    Geometry, ITEMS, holds_digits, in_registers, ntt_key_chunks, run_entries, unpacked_step_bytes,
};
use girih_backend::{BootstrapShape, Transform};

/// 32-bit registers that the product phase holds for digits and sums: more ciphertexts a block cost
/// more of them.
pub(crate) fn product_registers(
    shape: &BootstrapShape,
    transform: Transform,
    groups: usize,
) -> usize {
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

/// Entries of the key that a thread of the FFT has in flight: what digits, sums and accumulators
/// leave of its registers.
pub(crate) fn key_ring(
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
        // decides, and swings by a quarter with changes elsewhere.
        // Four entries ran faster than six.
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
pub(crate) fn ring_fits(geometry: &Geometry, threads: usize, packed: bool) -> bool {
    let groups = geometry.points / geometry.tail;
    if packed { groups == threads } else { groups.is_multiple_of(threads) }
}

/// Key chunks that a thread of the NTT has in flight, at most half of a run:
/// longer ones were slower.
pub(crate) fn ntt_key_ring(
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

/// Where it was faster: long tails, and accumulators that leave registers, but not short tails.
pub(crate) fn defers_cosines(
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
    geometry.tail == 4 && groups > 1 && unpacked_step_bytes(shape) * shape.steps() > 128 << 20
}

/// Where it was faster, but not where accumulators leave registers. Groups of indices were measured
/// with levels apart; triples would spill.
pub(crate) fn joins_levels(
    shape: &BootstrapShape,
    geometry: &Geometry,
    groups: usize,
    threads: usize,
) -> bool {
    shape.grouping == 1
        && in_registers(shape, geometry, groups, threads)
        && !wants_registers(shape, geometry, groups)
}

/// Key entries in flight: as many as registers allow beside accumulators and a pass, and a divisor
/// of those of a step. Blocks have so many threads, and registers for so many of them on a
/// multiprocessor.
pub(crate) fn spread_key_ring(
    shape: &BootstrapShape,
    transform: Transform,
    blocks: usize,
    [threads, resident]: [usize; 2],
    packed: bool,
) -> usize {
    let geometry = &Geometry::new(shape, transform);
    let part = geometry.points / blocks;
    let (items, entries, coefficients, working) = match transform {
        Transform::Fft => (
            shape.columns() * part,
            shape.levels() * shape.columns() * shape.ggsw_per_step(),
            2 * blocks,
            80,
        ),
        Transform::Ntt => {
            let quad = geometry.tail.min(4);
            let chunks = (shape.levels() * shape.columns() * shape.ggsw_per_step() * geometry.tail)
                .div_ceil(4);
            (
                geometry.words * shape.columns() * part / quad,
                chunks / (geometry.tail / quad),
                blocks,
                80,
            )
        }
    };
    let turn = items.div_ceil(threads) * entries;
    // ORBIT_ROUNDS of cuda/bootstrap/spread.cuh.
    let orbits = shape.columns() * part / blocks;
    let accumulators = orbits.div_ceil(threads) * coefficients * geometry.held_bytes / 4;
    let registers = (65_536 / (threads * resident)).min(255);
    let most = (registers.saturating_sub(accumulators + working) / 4).clamp(2, 24);
    (1..=most).rev().find(|r| turn.is_multiple_of(*r) && !(packed && r % 2 == 1)).unwrap_or(1)
}
