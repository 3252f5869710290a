//! Roots and powers, in the orders in which kernels read them.

use girih_backend::{BootstrapShape, KeyModulus};
use girih_ring::{Modulus, NttTable, bit_reverse, fft::roots_of_unity};

/// The transform of each word of a valid shape.
pub(crate) fn transforms(shape: &BootstrapShape) -> Vec<NttTable> {
    match &shape.key_modulus {
        KeyModulus::Words(words) => words
            .iter()
            .filter_map(|&w| NttTable::new(Modulus::new(w)?, shape.polynomial_size))
            .collect(),
        KeyModulus::Torus64 => Vec::new(),
    }
}

/// `[word][N]` Shoup pairs. The inverse has none of its own: its root of block i of a level is
/// minus that of the block as far from the level's end, since psi^-i = -psi^(N - i).
pub(crate) fn ntt_roots(transforms: &[NttTable]) -> Vec<[u32; 2]> {
    transforms.iter().flat_map(|t| t.roots()).map(|r| [r.value, r.quotient]).collect()
}

/// `[word][2N]`: psi^i in Montgomery form.
pub(crate) fn ntt_powers(transforms: &[NttTable]) -> Vec<u32> {
    transforms
        .iter()
        .flat_map(|t| t.powers().iter().map(|&x| t.modulus().to_montgomery(x)))
        .collect()
}

/// Roots of the tree of `X^(N/2) - i`: entry `m + i` splits block i of the level with m blocks.
pub(crate) fn fft_roots(size: usize) -> Vec<[f64; 2]> {
    let powers = roots_of_unity(size);
    let mut roots = vec![[1.0, 0.0]; size / 2];
    let mut blocks = 1;
    while blocks < size / 2 {
        for block in 0..blocks {
            // The block is modulo X^h - exp(2 i t) with t = pi/N * N/(4m) * (1 + 4 brv(i)).
            let angle = size / (4 * blocks) * (1 + 4 * bit_reverse(block, blocks.trailing_zeros()));
            roots[blocks + block] = powers[angle % (2 * size)];
        }
        blocks *= 2;
    }
    roots
}

/// The forward transform of folded coefficients by the definition of the tree;
/// for keys, on the host.
pub(crate) fn fft_forward(values: &mut [[f64; 2]], roots: &[[f64; 2]]) {
    let (mut blocks, mut half) = (1, values.len() / 2);
    while half > 0 {
        for (block, chunk) in values.chunks_exact_mut(2 * half).enumerate() {
            let c = roots[blocks + block];
            let (low, high) = chunk.split_at_mut(half);
            for (u, v) in low.iter_mut().zip(high) {
                let product = [c[0] * v[0] - c[1] * v[1], c[0] * v[1] + c[1] * v[0]];
                *v = [u[0] - product[0], u[1] - product[1]];
                *u = [u[0] + product[0], u[1] + product[1]];
            }
        }
        blocks *= 2;
        half /= 2;
    }
}

/// Constants of the inverse of the first pass, sixteen values by four levels, with cosines left out
/// of its turns until the end.
pub(crate) struct InverseFirstPass {
    /// By level and butterfly: what the second value is worth in units of the first.
    pub ratios: [[f64; 8]; 4],
    /// By level and pair of blocks: of the angle of the pair's root.
    pub tangents: [[f64; 4]; 4],
    /// What the results are worth.
    pub scales: [f64; 16],
}

/// The constants for `roots` of [`fft_roots`]. All angles lie below a right one,
/// so no cosine is zero.
pub(crate) fn inverse_first_pass(roots: &[[f64; 2]]) -> InverseFirstPass {
    let mut pass =
        InverseFirstPass { ratios: [[1.0; 8]; 4], tangents: [[0.0; 4]; 4], scales: [1.0; 16] };
    for level in (0..4).rev() {
        let half = 8 >> level;
        for block in 0..1 << level {
            // Block 2 pair + 1 has i times the root of block 2 pair, and shares its cosine.
            let [cosine, sine] = roots[(1 << level) + block / 2 * 2];
            pass.tangents[level][block / 2] = sine / cosine;
            for i in 0..half {
                let (u, v) = (2 * half * block + i, 2 * half * block + i + half);
                pass.ratios[level][half * block + i] = pass.scales[v] / pass.scales[u];
                pass.scales[v] = pass.scales[u] * cosine;
            }
        }
    }
    pass
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_evaluates_at_the_stated_points() {
        let size = 64;
        let (roots, powers) = (fft_roots(size), roots_of_unity(size));
        let a: Vec<f64> = (0..size).map(|i| ((i * 37 + 11) % 64) as f64 - 31.0).collect();
        let mut values: Vec<[f64; 2]> = (0..size / 2).map(|j| [a[j], a[j + size / 2]]).collect();
        fft_forward(&mut values, &roots);
        for (position, value) in values.iter().enumerate() {
            let point = 4 * bit_reverse(position, 5) + 1;
            let mut want = [0.0; 2];
            for (i, &c) in a.iter().enumerate() {
                let w = powers[point * i % (2 * size)];
                want = [want[0] + c * w[0], want[1] + c * w[1]];
            }
            assert!(
                (want[0] - value[0]).abs() < 1e-10 && (want[1] - value[1]).abs() < 1e-10,
                "{position}: {want:?} {value:?}"
            );
        }
    }
}
