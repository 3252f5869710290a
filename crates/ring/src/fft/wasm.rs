//! Four doubles in two vectors of WebAssembly, since its compilers seldom make vectors of arrays.
//! Every result has the bits that arrays have.
#![allow(unsafe_code)] // Loads and stores of vectors.

use super::lanes::{Lanes, Portable};
use std::arch::wasm32::{
    f64x2_add, f64x2_mul, f64x2_nearest, f64x2_splat, f64x2_sub, i64x2_shuffle, v128, v128_load,
    v128_store,
};

type F = [v128; 2];

#[inline(always)]
fn map2(a: F, b: F, f: impl Fn(v128, v128) -> v128) -> F {
    [f(a[0], b[0]), f(a[1], b[1])]
}

/// A double as a sum of two of 26 bits (Veltkamp).
#[inline(always)]
fn split(x: v128) -> (v128, v128) {
    let t = f64x2_mul(x, f64x2_splat(134_217_729.0)); // 2^27 + 1
    let high = f64x2_sub(t, f64x2_sub(t, x));
    (high, f64x2_sub(x, high))
}

/// `z - q m` with one rounding, as arrays compute it.
#[inline(always)]
fn remainder(z: v128, q: v128, m: v128) -> v128 {
    let product = f64x2_mul(q, m);
    let ((q1, q0), (m1, m0)) = (split(q), split(m));
    let rest = f64x2_sub(product, f64x2_mul(q1, m1));
    let rest = f64x2_sub(rest, f64x2_mul(q0, m1));
    let rest = f64x2_sub(rest, f64x2_mul(q1, m0));
    let error = f64x2_sub(f64x2_mul(q0, m0), rest);
    f64x2_sub(f64x2_sub(z, product), error)
}

impl Lanes for Portable {
    type F = F;
    const WIDTH: usize = 4;

    #[inline(always)]
    fn load(self, data: &[f64]) -> F {
        let data = &data[..Self::WIDTH];
        // SAFETY: the slice has two vectors, and loads ask for no alignment.
        unsafe { [v128_load(data.as_ptr().cast()), v128_load(data.as_ptr().add(2).cast())] }
    }
    #[inline(always)]
    fn store(self, a: F, out: &mut [f64]) {
        let out = &mut out[..Self::WIDTH];
        // SAFETY: as for `load`.
        unsafe {
            v128_store(out.as_mut_ptr().cast(), a[0]);
            v128_store(out.as_mut_ptr().add(2).cast(), a[1]);
        }
    }
    #[inline(always)]
    fn splat(self, x: f64) -> F {
        [f64x2_splat(x); 2]
    }
    #[inline(always)]
    fn add(self, a: F, b: F) -> F {
        map2(a, b, |a, b| f64x2_add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: F, b: F) -> F {
        map2(a, b, |a, b| f64x2_sub(a, b))
    }
    #[inline(always)]
    fn mul(self, a: F, b: F) -> F {
        map2(a, b, |a, b| f64x2_mul(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: F, b: F, c: F) -> F {
        self.add(self.mul(a, b), c)
    }
    #[inline(always)]
    fn neg_mul_add(self, a: F, b: F, c: F) -> F {
        self.sub(c, self.mul(a, b))
    }
    #[inline(always)]
    fn remainder(self, z: F, q: F, m: F) -> F {
        [remainder(z[0], q[0], m[0]), remainder(z[1], q[1], m[1])]
    }
    #[inline(always)]
    fn round(self, a: F) -> F {
        [f64x2_nearest(a[0]), f64x2_nearest(a[1])]
    }
    #[inline(always)]
    fn transpose(self, rows: &mut [F]) {
        let r: &mut [F; 4] = rows.try_into().expect("four rows");
        let low = |a: v128, b: v128| i64x2_shuffle::<0, 2>(a, b);
        let high = |a: v128, b: v128| i64x2_shuffle::<1, 3>(a, b);
        *r = [
            [low(r[0][0], r[1][0]), low(r[2][0], r[3][0])],
            [high(r[0][0], r[1][0]), high(r[2][0], r[3][0])],
            [low(r[0][1], r[1][1]), low(r[2][1], r[3][1])],
            [high(r[0][1], r[1][1]), high(r[2][1], r[3][1])],
        ];
    }
    #[inline(always)]
    fn prefetch(self, _: &[f64], _: usize) {}
}
