//! Four doubles in an array.

use super::lanes::{Lanes, Portable};

/// Whether `f64::mul_add` is an instruction on every processor of this target,
/// not a call into libm.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

#[inline(always)]
fn map2(a: [f64; 4], b: [f64; 4], f: impl Fn(f64, f64) -> f64) -> [f64; 4] {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}

#[inline(always)]
fn map3(a: [f64; 4], b: [f64; 4], c: [f64; 4], f: impl Fn(f64, f64, f64) -> f64) -> [f64; 4] {
    [f(a[0], b[0], c[0]), f(a[1], b[1], c[1]), f(a[2], b[2], c[2]), f(a[3], b[3], c[3])]
}

/// `z - q m` with one rounding: the exact product as a sum of two doubles (Dekker 1971), whose
/// first cancels exactly.
#[inline(always)]
fn remainder_unfused(z: f64, q: f64, m: f64) -> f64 {
    let split = |x: f64| {
        let t = x * 134_217_729.0; // 2^27 + 1 (Veltkamp)
        let high = t - (t - x);
        (high, x - high)
    };
    let product = q * m;
    let ((q1, q0), (m1, m0)) = (split(q), split(m));
    let error = q0 * m0 - (((product - q1 * m1) - q0 * m1) - q1 * m0);
    (z - product) - error
}

impl Lanes for Portable {
    type F = [f64; 4];
    const WIDTH: usize = 4;

    #[inline(always)]
    fn load(self, data: &[f64]) -> [f64; 4] {
        [data[0], data[1], data[2], data[3]]
    }
    #[inline(always)]
    fn store(self, a: [f64; 4], out: &mut [f64]) {
        out[..4].copy_from_slice(&a);
    }
    #[inline(always)]
    fn splat(self, x: f64) -> [f64; 4] {
        [x; 4]
    }
    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        map2(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        map3(a, b, c, |a, b, c| if FUSED { a.mul_add(b, c) } else { a * b + c })
    }
    #[inline(always)]
    fn neg_mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        map3(a, b, c, |a, b, c| if FUSED { (-a).mul_add(b, c) } else { c - a * b })
    }
    #[inline(always)]
    fn remainder(self, z: [f64; 4], q: [f64; 4], m: [f64; 4]) -> [f64; 4] {
        map3(z, q, m, |z, q, m| if FUSED { (-q).mul_add(m, z) } else { remainder_unfused(z, q, m) })
    }
    #[inline(always)]
    fn round(self, a: [f64; 4]) -> [f64; 4] {
        // Adding and taking away 2^52 rounds what is smaller;
        // anything larger is an integer already.
        const LARGE: f64 = 4_503_599_627_370_496.0;
        a.map(|x| {
            let shift = LARGE.copysign(x);
            if x.abs() < LARGE { (x + shift) - shift } else { x }
        })
    }
    #[inline(always)]
    fn transpose(self, rows: &mut [[f64; 4]]) {
        for i in 0..4 {
            for j in i + 1..4 {
                let swapped = (rows[j][i], rows[i][j]);
                (rows[i][j], rows[j][i]) = swapped;
            }
        }
    }
    #[inline(always)]
    fn prefetch(self, _: &[f64], _: usize) {}
}
