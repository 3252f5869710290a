//! Loops over whole limbs, or rows and tiles of them, on the vectors of the processor at hand.
//!
//! Every loop is written once for vectors of any width and compiled for AVX-512, for AVX2 and for
//! what every processor has; all words that come out are canonical, so that the three agree in
//! every bit. Transforms, conversions and automorphisms run on the same vectors:
//! [`SplitNtt`](crate::SplitNtt), [`BaseConversion`](crate::BaseConversion),
//! [`Automorphism`](crate::Automorphism).

mod ahead;
#[cfg(not(target_feature = "simd128"))]
mod arrays;
mod convert;
mod dispatch;
mod gather;
mod grid;
mod lanes;
mod passes;
mod products;
mod roots;
mod strided;
#[cfg(test)]
mod tests;
mod transform;
#[cfg(target_feature = "simd128")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::fft::Simd;
use crate::{Modulus, Shoup};

pub use ahead::{Ahead, Area};
pub(crate) use convert::{Overflow, Sources, Target, Targets};
pub(crate) use dispatch::dispatch;
pub(crate) use gather::{Gather, RUN};
pub use products::ProductTerm;
use products::{Addition, Residues, ScaledDifference, ShoupProducts, SumOfProducts};
pub(crate) use roots::RootsView;
pub use strided::{ColumnsIn, ColumnsOut};
pub(crate) use transform::{Columns, Rows};

/// Word-by-word arithmetic of limbs modulo one prime.
///
/// All words that go in are canonical (below p), and so are all that come out. Slices that meet in
/// one call have one length, any; other lengths panic.
#[derive(Clone, Copy, Debug)]
pub struct LimbKernels {
    modulus: Modulus,
    /// 2^32 mod p.
    restore: Shoup,
    simd: Simd,
}

impl LimbKernels {
    /// On the widest vectors of this processor.
    pub fn new(modulus: Modulus) -> Self {
        Self::with_simd(modulus, Simd::detect())
    }

    /// On the vectors named. Its functions panic where the processor lacks them.
    pub fn with_simd(modulus: Modulus, simd: Simd) -> Self {
        Self { modulus, restore: modulus.shoup(modulus.to_montgomery(1)), simd }
    }

    /// p.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// `out = constant + sum of factor a b` over all terms; the constant and the factors canonical.
    pub fn sum_of_products(&self, constant: u32, terms: &[ProductTerm<'_>], out: &mut [u32]) {
        for term in terms {
            same(out, term.a);
            term.b.into_iter().for_each(|b| same(out, b));
        }
        let (modulus, restore) = (self.modulus, self.restore);
        dispatch(self.simd, SumOfProducts { modulus, constant, restore, terms, out });
    }

    /// `out = factor a`.
    pub fn scale(&self, factor: Shoup, a: &[u32], out: &mut [u32]) {
        same(out, a);
        dispatch(self.simd, products::Scale { modulus: self.modulus, factor, a, out });
    }

    /// `out = a w`, the words of w given with their Shoup quotients.
    pub fn mul_shoup(&self, values: &[u32], quotients: &[u32], a: &[u32], out: &mut [u32]) {
        same(out, a);
        same(out, values);
        same(out, quotients);
        dispatch(self.simd, ShoupProducts { modulus: self.modulus, values, quotients, a, out });
    }

    /// `out = factor (a - b)`.
    pub fn scaled_difference(&self, factor: Shoup, a: &[u32], b: &[u32], out: &mut [u32]) {
        same(out, a);
        same(out, b);
        dispatch(self.simd, ScaledDifference { modulus: self.modulus, factor, a, b, out });
    }

    /// `out = x mod p`, in constant time; x need not be canonical.
    pub fn residues(&self, x: &[i64], out: &mut [u32]) {
        assert_eq!(out.len(), x.len(), "operands and result have one length");
        dispatch(self.simd, Residues { modulus: self.modulus, x, out });
    }

    /// `out = a + b`.
    pub fn add(&self, a: &[u32], b: &[u32], out: &mut [u32]) {
        same(out, a);
        same(out, b);
        dispatch(self.simd, Addition { modulus: self.modulus, negate: false, a, b, out });
    }

    /// `out = a - b`.
    pub fn sub(&self, a: &[u32], b: &[u32], out: &mut [u32]) {
        same(out, a);
        same(out, b);
        dispatch(self.simd, Addition { modulus: self.modulus, negate: true, a, b, out });
    }
}

fn same(out: &[u32], operand: &[u32]) {
    assert_eq!(out.len(), operand.len(), "operands and result have one length");
}
