//! Kernel stage `sample_extract`: the constant term of an accumulator as a CM-LWE ciphertext.

use girih_backend::BootstrapShape;
use girih_ring::switch::mod_switch;

/// Writes `(a', b')` modulo Q, `kN + r` words: mask p becomes `(a_0, -a_{N-1}, .., -a_1)`, body j
/// its constant term plus `offset`. `accumulator` is `[K][N]` in `[0, Q)`, masks first.
pub(crate) fn sample_extract(
    shape: &BootstrapShape,
    accumulator: &[u64],
    modulus: u64,
    offset: u64,
    out: &mut [u64],
) {
    let (size, k) = (shape.polynomial_size, shape.glwe_dimension);
    for (mask, o) in accumulator.chunks_exact(size).zip(out.chunks_exact_mut(size)).take(k) {
        o[0] = mask[0];
        for i in 1..size {
            let a = mask[size - i];
            o[i] = if a == 0 { 0 } else { modulus - a };
        }
    }
    for j in 0..shape.packing {
        let b = accumulator[(k + j) * size] + offset;
        out[k * size + j] = if b >= modulus { b - modulus } else { b };
    }
}

/// Rounds every word from Q to `2^log2_ks` in place, half up. Q_ks may exceed Q: then the switch
/// goes up.
pub(crate) fn switch_to_ks(words: &mut [u64], modulus: u64, log2_ks: u32) {
    for w in words {
        *w = mod_switch(*w, modulus, 1 << log2_ks);
    }
}
