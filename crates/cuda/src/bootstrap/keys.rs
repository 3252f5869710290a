//! Keys in transform domain, in exactly the order in which kernels read them.

use crate::bootstrap::layout::{
    Geometry, PRODUCT_INDICES, fft_scale, holds_digits, ks_row, ks_word_bytes, packed_exponent,
    product_chunk_bytes, step_bytes,
};
use crate::bootstrap::roots;
use crate::runtime::bytes::bytes_of;
use girih_backend::{BackendError, BootstrapShape, KeySource, Result, SecretKind, Transform};
use girih_ring::NttTable;
use std::sync::atomic::{AtomicBool, Ordering};

/// Turns blocks of coefficients into the bytes that a kernel streams.
pub(crate) struct KeyLayout {
    shape: BootstrapShape,
    geometry: Geometry,
    transform: Transform,
    ntt: Vec<NttTable>,
    fft_roots: Vec<[f64; 2]>,
    /// log2 of the unit of packed entries (f64 FFT).
    packed: Option<i32>,
    /// Set when a value did not fit a packed entry.
    overflowed: AtomicBool,
}

impl KeyLayout {
    /// Of `shape`, with packed entries or plain ones.
    pub fn new(shape: &BootstrapShape, transform: Transform, packed: bool) -> Self {
        Self {
            shape: shape.clone(),
            geometry: Geometry::new(shape, transform),
            transform,
            ntt: if transform == Transform::Ntt { roots::transforms(shape) } else { Vec::new() },
            fft_roots: if transform == Transform::Fft {
                roots::fft_roots(shape.polynomial_size)
            } else {
                Vec::new()
            },
            packed: packed_exponent(shape, transform).filter(|_| packed),
            overflowed: AtomicBool::new(false),
        }
    }

    /// Bytes of one step's slice.
    pub fn step_bytes(&self) -> usize {
        step_bytes(&self.shape, self.transform, self.packed.is_some())
    }

    fn rows(&self) -> usize {
        self.shape.levels() * self.shape.columns()
    }

    /// The slice of step `step`.
    pub fn step(&self, keys: &dyn KeySource, step: usize) -> Vec<u8> {
        let mut block = vec![0; self.shape.bootstrapping_block_len()];
        keys.bootstrapping_block(step, &mut block);
        match self.transform {
            Transform::Ntt => bytes_of(&self.ntt_step(&block)).to_vec(),
            Transform::Fft => match self.packed {
                Some(exponent) => self.pack(&self.fft_step(&block), exponent),
                None => bytes_of(&self.fft_step(&block)).to_vec(),
            },
        }
    }

    /// `block[x][row][column]`.
    fn polynomial<'a>(&self, block: &'a [u64], x: usize, row: usize, column: usize) -> &'a [u64] {
        let size = self.shape.polynomial_size;
        &block[((x * self.rows() + row) * self.shape.columns() + column) * size..][..size]
    }

    /// `[word][column][chunk][f][4]`, chunks over (row, x, j): values times 2^32 / N.
    fn ntt_step(&self, block: &[u64]) -> Vec<u32> {
        let (ggsw, columns, tail) =
            (self.shape.ggsw_per_step(), self.shape.columns(), self.geometry.tail);
        let groups = self.geometry.points / tail;
        let chunks = (self.rows() * ggsw * tail).div_ceil(4);
        let mut out = vec![0u32; self.step_bytes() / 4];
        let mut values = vec![0u32; self.shape.polynomial_size];
        for (w, table) in self.ntt.iter().enumerate() {
            let m = table.modulus();
            let factor = m.shoup(m.to_montgomery(table.size_inverse().value));
            for x in 0..ggsw {
                for row in 0..self.rows() {
                    for column in 0..columns {
                        let polynomial = self.polynomial(block, x, row, column);
                        values.iter_mut().zip(polynomial).for_each(|(v, &c)| *v = m.reduce(c));
                        table.forward(&mut values);
                        for (position, &v) in values.iter().enumerate() {
                            let (f, j) = (position / tail, position % tail);
                            let index = (row * ggsw + x) * tail + j;
                            out[(((w * columns + column) * chunks + index / 4) * groups + f) * 4
                                + index % 4] = m.mul_shoup(v, factor);
                        }
                    }
                }
            }
        }
        out
    }

    /// `[column][row][j]`, then for all f the low 32 bits of the parts of C0 + C1 and C0 - C1, then
    /// for all f their other 16: as integers, with an offset of 2^47, in units of 2^`exponent`.
    fn pack(&self, entries: &[[f64; 2]], exponent: i32) -> Vec<u8> {
        let tail = self.geometry.tail;
        let groups = self.geometry.points / tail;
        let unit = f64::from(exponent).exp2();
        let word = |x: f64| {
            let word = (x / unit).round_ties_even() as i64 + (1 << 47);
            if !(0..1 << 48).contains(&word) {
                self.overflowed.store(true, Ordering::Relaxed);
            }
            word as u64
        };
        let mut out = Vec::with_capacity(self.step_bytes());
        for pair in entries.chunks_exact(2 * tail * groups) {
            let (sums, differences) = pair.split_at(tail * groups);
            for (sums, differences) in
                sums.chunks_exact(groups).zip(differences.chunks_exact(groups))
            {
                let words: Vec<[u64; 4]> = sums
                    .iter()
                    .zip(differences)
                    .map(|(&[a, b], &[c, d])| [a, b, c, d].map(word))
                    .collect();
                out.extend(words.iter().flatten().flat_map(|&w| (w as u32).to_le_bytes()));
                out.extend(words.iter().flatten().flat_map(|&w| ((w >> 32) as u16).to_le_bytes()));
            }
        }
        out
    }

    /// Fails where packed entries met a key that does not look uniform.
    pub fn check(&self, device: &str) -> Result<()> {
        if !self.overflowed.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(BackendError::Unsupported {
            device: device.into(),
            what: "this bootstrapping key in packed entries".into(),
            why: "a coefficient of a transform lies more than nine deviations from those of a \
                  uniform key; load it with packed = 0"
                .into(),
        })
    }

    /// Which entry of a step is that of plane `x` (`key_entry` of cuda/bootstrap/fft_key.cuh).
    fn fft_entry(&self, column: usize, row: usize, x: usize, j: usize) -> usize {
        let (rows, columns, ggsw, tail) =
            (self.rows(), self.shape.columns(), self.shape.ggsw_per_step(), self.geometry.tail);
        match (self.shape.grouping, holds_digits(&self.shape)) {
            (1, true) => ((column * rows + row) * ggsw + x) * tail + j,
            (1, false) => ((row * columns + column) * ggsw + x) * tail + j,
            (_, true) => ((j * columns + column) * rows + row) * ggsw + x,
            (_, false) => ((row * tail + j) * columns + column) * ggsw + x,
        }
    }

    /// `[entry][f]` with the planes C0 + C1 and C0 - C1, or one for each GGSW ciphertext of binary
    /// secrets: centred values times 2/N, and Q/T where the modulus is raised.
    fn fft_step(&self, block: &[u64]) -> Vec<[f64; 2]> {
        let (columns, tail, size) =
            (self.shape.columns(), self.geometry.tail, self.shape.polynomial_size);
        let groups = self.geometry.points / tail;
        let modulus = self.shape.key_modulus_value();
        let scale = fft_scale(&self.shape);
        let centred = |c: u64| match modulus {
            Some(modulus) if c > modulus / 2 => c as i64 - modulus as i64,
            // Modulo 2^64 the cast centres.
            _ => c as i64,
        };
        let centre = |c: u64| centred(c) as f64 * scale;
        let transformed = |x, row, column| {
            let p = self.polynomial(block, x, row, column);
            let mut values: Vec<[f64; 2]> =
                (0..size / 2).map(|j| [centre(p[j]), centre(p[j + size / 2])]).collect();
            roots::fft_forward(&mut values, &self.fft_roots);
            values
        };
        let mut out = vec![[0.0; 2]; columns * self.rows() * self.shape.ggsw_per_step() * size / 2];
        for column in 0..columns {
            for row in 0..self.rows() {
                let mut put = |x: usize, position: usize, value: [f64; 2]| {
                    let (f, j) = (position / tail, position % tail);
                    out[self.fft_entry(column, row, x, j) * groups + f] = value;
                };
                match self.shape.secret {
                    SecretKind::Binary => {
                        for x in 0..self.shape.ggsw_per_step() {
                            transformed(x, row, column)
                                .iter()
                                .enumerate()
                                .for_each(|(p, &c)| put(x, p, c));
                        }
                    }
                    SecretKind::Ternary => {
                        let (first, second) =
                            (transformed(0, row, column), transformed(1, row, column));
                        for (p, (c0, c1)) in first.iter().zip(&second).enumerate() {
                            put(0, p, [c0[0] + c1[0], c0[1] + c1[1]]);
                            put(1, p, [c0[0] - c1[0], c0[1] - c1[1]]);
                        }
                    }
                }
            }
        }
        out
    }
}

/// The rows of `index`.
pub(crate) fn key_switching_rows(
    shape: &BootstrapShape,
    keys: &dyn KeySource,
    index: usize,
) -> Vec<u8> {
    let mut block = vec![0; shape.key_switching_block_len()];
    keys.key_switching_block(index, &mut block);
    let (length, row) = (shape.switched_len(), ks_row(shape));
    let mut words = vec![0u64; shape.ks_digits() * (shape.ks_base() - 1) * row];
    let mut targets = words.chunks_exact_mut(row);
    for values in block.chunks_exact(shape.ks_base() * length) {
        for source in values[length..].chunks_exact(length) {
            if let Some(target) = targets.next() {
                target[..length].copy_from_slice(source);
            }
        }
    }
    match ks_word_bytes(shape) {
        2 => words.iter().flat_map(|&w| (w as u16).to_le_bytes()).collect(),
        4 => words.iter().flat_map(|&w| (w as u32).to_le_bytes()).collect(),
        // Each row: the low four bytes of all words, then the fifths.
        _ => words
            .chunks_exact(row)
            .flat_map(|row| {
                row.iter()
                    .flat_map(|&w| (w as u32).to_le_bytes())
                    .chain(row.iter().map(|&w| (w >> 32) as u8))
            })
            .collect(),
    }
}

/// Columns of a fragment of the key of `key_switch_torus`.
const PRODUCT_GROUP: usize = 8;

/// The key for one chunk of indices, as `key_switch_torus` reads it: `[digit][8 columns][2 bytes of
/// a word][thread of a warp]`, each 16 bytes of 8 indices; zeros beyond the last index and column.
pub(crate) fn product_chunk(keys: &dyn KeySource, chunk: usize) -> Vec<u8> {
    let shape = keys.shape();
    let (length, groups) = (shape.switched_len(), ks_row(shape) / PRODUCT_GROUP);
    let mut block = vec![0; shape.key_switching_block_len()];
    let mut out = vec![0; product_chunk_bytes(shape)];
    for local in 0..PRODUCT_INDICES.min(shape.ks_indices() - chunk * PRODUCT_INDICES) {
        keys.key_switching_block(chunk * PRODUCT_INDICES + local, &mut block);
        for (digit, row) in block.chunks_exact(length).enumerate() {
            for (column, word) in row.iter().enumerate() {
                let thread = column % PRODUCT_GROUP * 4 + local % 16 / 4;
                let first = (digit * groups + column / PRODUCT_GROUP) * 8 / 2;
                for (byte, value) in word.to_le_bytes().into_iter().enumerate() {
                    out[((first + byte / 2) * 32 + thread) * 16
                        + byte % 2 * 8
                        + local / 16 * 4
                        + local % 4] = value;
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::layout::PACKED_BYTES;
    use crate::bootstrap::test_shapes::shape;

    /// Words of a key all alike.
    struct Constant(BootstrapShape, u64);

    impl KeySource for Constant {
        fn shape(&self) -> &BootstrapShape {
            &self.0
        }

        fn bootstrapping_block(&self, _: usize, out: &mut [u64]) {
            out.fill(self.1);
        }

        fn key_switching_block(&self, _: usize, out: &mut [u64]) {
            out.fill(0);
        }
    }

    fn layout(packed: bool) -> (BootstrapShape, KeyLayout) {
        let shape = shape("raised_19_k3", 5);
        let layout = KeyLayout::new(&shape, Transform::Fft, packed);
        (shape, layout)
    }

    #[test]
    fn packed_entries_are_the_entries_to_half_a_unit() {
        let ((shape, layout), (_, plain)) = (layout(true), layout(false));
        let exponent = layout.packed.expect("it packs");
        let keys = girih_backend::bootstrap::synthetic::SyntheticKeys::new(shape, 3);
        let packed = layout.step(&keys, 0);
        let entries: Vec<f64> = plain
            .step(&keys, 0)
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect();
        assert_eq!((packed.len(), layout.check("cuda").is_ok()), (entries.len() * 6, true));
        let (tail, groups) = (layout.geometry.tail, layout.geometry.points / layout.geometry.tail);
        for (index, unit) in packed.chunks_exact(PACKED_BYTES * groups).enumerate() {
            let (pair, j) = (index / tail, index % tail);
            for f in 0..groups {
                for part in 0..4 {
                    let (low, high) = (f * 16 + part * 4, groups * 16 + f * 8 + part * 2);
                    let word = [&unit[low..low + 4], &unit[high..high + 2], &[0, 0]].concat();
                    let word =
                        i64::from_le_bytes(word.try_into().expect("eight bytes")) - (1 << 47);
                    let entry =
                        entries[(((pair * 2 + part / 2) * tail + j) * groups + f) * 2 + part % 2];
                    let error = word as f64 * f64::from(exponent).exp2() - entry;
                    assert!(
                        error.abs() <= 0.501 * f64::from(exponent).exp2(),
                        "pair {pair}, j {j}, f {f}, part {part}: off by {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_key_that_is_not_uniform_is_refused() {
        let (shape, layout) = layout(true);
        layout.step(
            &Constant(shape.clone(), shape.key_modulus_value().expect("of two words") / 2),
            0,
        );
        let error = layout.check("cuda").expect_err("half of T everywhere").to_string();
        assert!(error.contains("packed = 0"), "{error}");
    }

    #[test]
    fn keys_are_packed_where_their_own_errors_hide_it() {
        for (name, packs) in [
            ("raised_16", true),
            ("raised_22", false),
            ("raised_18_k3", true),
            ("raised_18_k2", true),
            ("raised_19_k3", true),
            ("raised_17", true),
            ("words_1x27", false),
            ("word_3x7", false),
        ] {
            assert_eq!(packed_exponent(&shape(name, 1), Transform::Fft).is_some(), packs, "{name}");
        }
    }
}
