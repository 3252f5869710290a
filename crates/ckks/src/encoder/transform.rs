//! The f64 transform between slots and coefficients.
//!
//! With `c_k = m_k + i m_{k+n}` the slots are `S_n .. S_4 S_2 bitrev(c)`, where `S_len` maps each
//! pair (u, v) at distance len/2 in a block of len entries to `(u + w_j v, u - w_j v)`,
//! `w_j = exp(2 pi i 5^j / (4 len))` (Cheon, Kim, Kim and Song 2017, as in HEAAN).

use girih_ring::{bit_reverse, fft};
use num_complex::Complex64;

/// Tables for up to 2^`log2_slots` slots: the same ones serve every smaller power of two.
#[derive(Clone, Debug)]
pub(super) struct Transform {
    /// `w_j` of the stage with blocks of `len = 2h` at `h + j`; entry 0 is not used.
    roots: Vec<Complex64>,
}

impl Transform {
    pub fn new(log2_slots: u32) -> Self {
        let slots = 1usize << log2_slots;
        // exp(i pi k / 2n): each the pair of doubles nearest to the true values.
        let table = fft::roots_of_unity(2 * slots);
        let mut roots = vec![Complex64::ONE; slots.max(1)];
        let mut half = 1;
        while half < slots {
            let order = 8 * half;
            let mut power = 1;
            for j in 0..half {
                let [re, im] = table[power * (4 * slots / order)];
                roots[half + j] = Complex64::new(re, im);
                power = power * 5 % order;
            }
            half *= 2;
        }
        Self { roots }
    }

    /// Slots to the `c_k`, in place; the length is a power of two up to that of the tables.
    pub fn to_coefficients(&self, z: &mut [Complex64]) {
        let mut half = z.len() / 2;
        while half > 0 {
            let roots = &self.roots[half..2 * half];
            for block in z.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((u, v), w) in low.iter_mut().zip(high).zip(roots) {
                    let difference = (*u - *v) * 0.5;
                    (*u, *v) = ((*u + *v) * 0.5, difference * w.conj());
                }
            }
            half /= 2;
        }
        reverse_bits(z);
    }

    /// The `c_k` to slots, in place.
    pub fn to_slots(&self, z: &mut [Complex64]) {
        reverse_bits(z);
        let mut half = 1;
        while half < z.len() {
            let roots = &self.roots[half..2 * half];
            for block in z.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((u, v), w) in low.iter_mut().zip(high).zip(roots) {
                    let product = *v * w;
                    (*u, *v) = (*u + product, *u - product);
                }
            }
            half *= 2;
        }
    }
}

fn reverse_bits(z: &mut [Complex64]) {
    let bits = z.len().trailing_zeros();
    for i in 0..z.len() {
        let j = bit_reverse(i, bits);
        if i < j {
            z.swap(i, j);
        }
    }
}
