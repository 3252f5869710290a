//! Keys on their way to the device: transformed, scaled, put into reading order,
//! split over bindings.

use crate::bootstrap::plan::WgpuPlan;
use crate::bootstrap::tables::{Recomposition, Tables};
use crate::runtime::gpu::Gpu;
use girih_backend::parallel::prelude::*;
use girih_backend::{BackendError, KeySource, Progress, Result};
use girih_ring::round_torus;

/// A run of steps (or table indices) whose key lives in one buffer.
pub(crate) struct Segment {
    pub first: usize,
    pub last: usize,
    pub buffer: wgpu::Buffer,
}

/// Bytes handed to the driver between waits: bounds the memory of uploads.
const UPLOAD_BYTES: u64 = 128 << 20;

/// Makes `count` blocks of `block_words` 32-bit words each with `fill` and uploads them, as few
/// segments as bindings allow.
fn upload(
    gpu: &Gpu,
    what: &str,
    count: usize,
    block_words: usize,
    progress: &dyn Progress,
    fill: impl Fn(usize, &mut [u32]) + Sync,
) -> Result<Vec<Segment>> {
    let block_bytes = 4 * block_words as u64;
    let per_segment = (gpu.binding_bytes() / block_bytes) as usize;
    if per_segment == 0 {
        return Err(BackendError::OutOfMemory {
            device: gpu.name.clone(),
            bytes: block_bytes,
            what: format!(
                "one block of the {what} (one buffer of this device holds at most {} bytes)",
                gpu.binding_bytes()
            ),
        });
    }
    let batch = (8usize << 20)
        .div_ceil(block_words)
        .clamp(1, 4 * girih_backend::parallel::current_num_threads());
    let mut words = vec![0u32; batch * block_words];
    let mut segments = Vec::new();
    let mut pending = 0;
    for first in (0..count).step_by(per_segment) {
        let last = count.min(first + per_segment);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let buffer = gpu.buffer((last - first) as u64 * block_bytes, usage, what)?;
        for start in (first..last).step_by(batch) {
            let end = last.min(start + batch);
            let words = &mut words[..(end - start) * block_words];
            words
                .par_chunks_exact_mut(block_words)
                .enumerate()
                .for_each(|(i, block)| fill(start + i, block));
            gpu.queue.write_buffer(
                &buffer,
                (start - first) as u64 * block_bytes,
                bytemuck::cast_slice(words),
            );
            pending += 4 * words.len() as u64;
            if pending > UPLOAD_BYTES {
                gpu.queue.submit([]);
                gpu.wait(what)?;
                pending = 0;
            }
            progress.report(what, end, count);
        }
        segments.push(Segment { first, last, buffer });
    }
    gpu.queue.submit([]);
    gpu.wait(what)?;
    Ok(segments)
}

/// The bootstrapping key: each polynomial transformed, times `R / N` (times Q for MR), in the order
/// in which `blind_rotate` reads it: `[word][column][quarter of the items][row][C0|C1][thread]`,
/// four items a vector.
pub(crate) fn upload_bootstrapping_key(
    gpu: &Gpu,
    plan: &WgpuPlan,
    tables: &Tables,
    keys: &dyn KeySource,
    progress: &dyn Progress,
) -> Result<Vec<Segment>> {
    let shape = &plan.shape;
    upload(
        gpu,
        "bootstrapping key",
        shape.steps(),
        plan.key_step_words(),
        progress,
        |index, out| {
            let mut block = vec![0u64; shape.bootstrapping_block_len()];
            keys.bootstrapping_block(index, &mut block);
            arrange_block(plan, tables, &block, out);
        },
    )
}

/// One step: `block` is `[GGSW][level][row][column][N]` modulo M.
fn arrange_block(plan: &WgpuPlan, tables: &Tables, block: &[u64], out: &mut [u32]) {
    let shape = &plan.shape;
    let layout = tables.layout();
    let (size, columns, rows, ggsw) =
        (shape.polynomial_size, shape.columns(), plan.rows(), shape.ggsw_per_step());
    let (items, threads) = (layout.items(), layout.threads());
    let positions: Vec<usize> =
        (0..threads * items).map(|i| layout.position(i / items, i % items)).collect();
    let mut polynomial = vec![0u32; size];
    for (word, table) in tables.transforms().iter().enumerate() {
        let m = table.modulus();
        let scale = m.shoup(key_scale(plan, tables, word));
        for (at, coefficients) in block.chunks_exact(size).enumerate() {
            let (g, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
            for (to, &from) in polynomial.iter_mut().zip(coefficients) {
                // Of the native torus the centred word: half as large.
                *to = match tables.recomposition() {
                    Recomposition::Torus { rounding, .. } => {
                        m.reduce_signed(round_torus(from, *rounding))
                    }
                    Recomposition::Words(_) => m.reduce(from),
                };
            }
            table.forward(&mut polynomial);
            for t in 0..threads {
                for j in 0..items {
                    let vector =
                        (((word * columns + column) * (items / 4) + j / 4) * rows + row) * ggsw + g;
                    out[(vector * threads + t) * 4 + j % 4] = plan.numbers().factor(
                        m.value(),
                        m.mul_shoup(polynomial[positions[t * items + j]], scale),
                    );
                }
            }
        }
    }
}

/// The factor of the keys of one word: `R / N` undoes one Montgomery reduction (by R) and the
/// inverse transform's N; Q turns a product y into the y Q that MR's rounding starts from; on the
/// native torus `(M / p)^-1` makes it what a CRT multiplies by `M / p`.
pub(crate) fn key_scale(plan: &WgpuPlan, tables: &Tables, word: usize) -> u32 {
    let table = &tables.transforms()[word];
    let m = table.modulus();
    let scale = m.mul(m.reduce(1 << plan.numbers().montgomery_bits()), table.size_inverse().value);
    match (plan.shape.accumulator_modulus(), tables.recomposition()) {
        (Some(q), _) if plan.modulus_raising() => m.mul(scale, m.reduce(q)),
        (_, Recomposition::Torus { crt, .. }) => m.mul(scale, crt.inverse(word)),
        _ => scale,
    }
}

/// The key-switching table: `[index][digit][value]` rows packed 8, 4 or 2 entries to 16 bytes;
/// native torus: `[index][digit]` rows, 2 words to 16 bytes.
pub(crate) fn upload_key_switching_key(
    gpu: &Gpu,
    plan: &WgpuPlan,
    keys: &dyn KeySource,
    progress: &dyn Progress,
) -> Result<Vec<Segment>> {
    let shape = &plan.shape;
    let (length, row_words, entries) =
        (shape.switched_len(), 4 * plan.ks_row_vectors(), plan.ks_entries());
    upload(
        gpu,
        "key-switching key",
        shape.ks_indices(),
        4 * plan.ks_block_vectors(),
        progress,
        |index, out| {
            let mut block = vec![0u64; shape.key_switching_block_len()];
            keys.key_switching_block(index, &mut block);
            for (to, from) in out.chunks_exact_mut(row_words).zip(block.chunks_exact(length)) {
                to.fill(0);
                for (i, &x) in from.iter().enumerate() {
                    match entries {
                        8 => to[i / 2] |= (x as u32) << (16 * (i % 2)),
                        4 => to[i] = x as u32,
                        _ => (to[2 * i], to[2 * i + 1]) = (x as u32, (x >> 32) as u32),
                    }
                }
            }
        },
    )
}
