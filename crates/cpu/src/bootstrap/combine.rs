//! Kernel `combine`: small integer combinations of stored ciphertexts modulo a power of two.

use girih_backend::Combination;
use girih_ring::switch::mod_switch_pow2;

/// Writes `sum weight_i * c_i + (0, constant)` modulo `2^log2_modulus` to `out` (`n + r` words, the
/// last `packing` of them bodies). Words wrap modulo 2^32, which the power-of-two modulus divides,
/// so masking once at the end is exact.
pub(crate) fn combine(store: &[u32], input: &Combination, packing: usize, out: &mut [u32]) {
    let len = out.len();
    out.fill(0);
    for operand in input.used() {
        let words = &store[operand.ciphertext as usize * len..][..len];
        for (o, &w) in out.iter_mut().zip(words) {
            *o = o.wrapping_add(w.wrapping_mul(operand.weight as u32));
        }
    }
    for body in &mut out[len - packing..] {
        *body = body.wrapping_add(input.constant);
    }
    for o in out {
        *o &= (1 << input.log2_modulus) - 1;
    }
}

/// Rescales every word from `2^log2_from` to `2^log2_to <= 2^log2_from`, rounding half up.
pub(crate) fn rescale(words: &mut [u32], log2_from: u32, log2_to: u32) {
    for w in words {
        *w = mod_switch_pow2(u64::from(*w), log2_from, log2_to) as u32;
    }
}

/// The same on the native torus: `kN + r` words modulo 2^64, the constant in units of 2^32.
pub(crate) fn combine_torus(store: &[u32], input: &Combination, packing: usize, out: &mut [u64]) {
    let len = 2 * out.len();
    out.fill(0);
    for operand in input.used() {
        let words = &store[operand.ciphertext as usize * len..][..len];
        for (o, w) in out.iter_mut().zip(words.chunks_exact(2)) {
            let word = u64::from(w[0]) | u64::from(w[1]) << 32;
            *o = o.wrapping_add(word.wrapping_mul(i64::from(operand.weight) as u64));
        }
    }
    let masks = out.len() - packing;
    for body in &mut out[masks..] {
        *body = body.wrapping_add(u64::from(input.constant) << 32);
    }
}

/// 64-bit words as the store holds them: low halves first.
pub(crate) fn to_halves(words: &[u64], out: &mut [u32]) {
    for (o, &w) in out.chunks_exact_mut(2).zip(words) {
        (o[0], o[1]) = (w as u32, (w >> 32) as u32);
    }
}
