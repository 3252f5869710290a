//! Products back to coefficients, rounded, reduced and added to the accumulator.
//!
//! `z = y s + acc`, `z' = round(z)`, `acc = z' - Q round(z'/Q + t)`: five operations for every
//! mode. GD: `s = 1/M` (the transform's own factor). MR: `s = Q / (T M)`, so that rounding T -> Q
//! is the rounding of z, and no reduction modulo T is needed: a multiple of T becomes one of Q. `t
//! = 1/2Q` for even Q sends +Q/2 to -Q/2 as centring wants; for odd Q, t = 0.
//!
//! Bounds: `|y| <= 4 L K N (B/2) (M/2)`, so the quotient is below `L K N B < 2^50` and its product
//! with Q, taken away by a fused operation, leaves the exact remainder. For Q of one word `|z'/Q| <
//! 2^26` is computed to 2^-27, and z'/Q of an integer z' is at least `1/2Q` from half way: the
//! result is centred exactly. For two words the quotient may be one off at the very boundary, and
//! the accumulator then exceeds Q/2 by a part in 2^20: still the right residue. An odd Q above 2^53
//! is no double: it is taken away as a double and the one or two units that are left.

use super::{Ahead, Layout};
use girih_backend::BootstrapShape;
use girih_ring::fft::{Complex, Fft, Kernel, Lanes, Sink};

/// The constants of one shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    scale: f64,
    /// The double nearest to Q.
    modulus: f64,
    /// Q less that double.
    modulus_rest: f64,
    modulus_inverse: f64,
    tie: f64,
}

impl Reduction {
    pub(super) fn new(shape: &BootstrapShape, modulus: u64, points: usize) -> Self {
        // On the native torus key and accumulator are held alike.
        let key_modulus = shape.key_modulus_value().unwrap_or(modulus) as f64;
        let modulus_inverse = 1.0 / modulus as f64;
        Self {
            // M is a power of two; Q / T is 1 for GD.
            scale: modulus as f64 / key_modulus / points as f64,
            modulus: modulus as f64,
            modulus_rest: (modulus as i64 - modulus as f64 as i64) as f64,
            modulus_inverse,
            tie: if modulus.is_multiple_of(2) { modulus_inverse / 2.0 } else { 0.0 },
        }
    }

    #[inline(always)]
    fn apply<L: Lanes>(self, l: L, y: L::F, accumulator: L::F) -> L::F {
        let z = l.round(l.mul_add(y, l.splat(self.scale), accumulator));
        let quotient = l.round(l.mul_add(z, l.splat(self.modulus_inverse), l.splat(self.tie)));
        let remainder = l.remainder(z, quotient, l.splat(self.modulus));
        if self.modulus_rest == 0.0 {
            remainder
        } else {
            l.neg_mul_add(quotient, l.splat(self.modulus_rest), remainder)
        }
    }
}

struct AddTo<'a, F, const PREFETCH: bool>(&'a mut [Complex<F>], Reduction, Ahead<'a, PREFETCH>);

impl<L: Lanes, const PREFETCH: bool> Sink<L> for AddTo<'_, L::F, PREFETCH> {
    #[inline(always)]
    fn store(&mut self, l: L, index: usize, y: Complex<L::F>) {
        let x = self.0[index];
        self.0[index] =
            Complex { re: self.1.apply(l, y.re, x.re), im: self.1.apply(l, y.im, x.im) };
    }

    #[inline(always)]
    fn between(&mut self, l: L) {
        self.2.advance(l);
    }
}

/// Adds the products of one step to one accumulator.
pub(super) struct Accumulate<'a, const PREFETCH: bool> {
    pub fft: &'a Fft,
    pub layout: Layout,
    pub reduction: Reduction,
    /// `[column]` of stride `layout.stride`; overwritten.
    pub products: &'a mut [f64],
    /// `[column]`, the same stride.
    pub accumulator: &'a mut [f64],
    /// Key of the next step, to be prefetched.
    pub ahead: &'a [f64],
}

impl<const PREFETCH: bool> Kernel for Accumulate<'_, PREFETCH> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Layout { stride, size, .. } = self.layout;
        let polynomials =
            self.products.chunks_exact_mut(stride).zip(self.accumulator.chunks_exact_mut(stride));
        for (column, (product, polynomial)) in polynomials.enumerate() {
            let ahead = Ahead::<PREFETCH>::of(self.ahead, self.fft, self.layout.rows + column);
            let polynomial = l.view_mut(&mut polynomial[..size]);
            self.fft.inverse_into(
                l,
                l.view_mut(&mut product[..size]),
                &mut AddTo(polynomial, self.reduction, ahead),
            );
        }
    }
}
