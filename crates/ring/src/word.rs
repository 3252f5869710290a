//! One 32-bit modular word.

use crate::constant_time;

/// An odd modulus `p` with `2 < p < 2^31`.
///
/// Values are *reduced* (in `[0, p)`) unless a function says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    value: u32,
    /// `-p^-1 mod 2^32`.
    neg_inverse: u32,
    /// `2^64 mod p`.
    r_squared: u32,
}

/// A constant factor prepared for [`Modulus::mul_shoup`] (Shoup's trick):
/// `w` and `floor(w * 2^32 / p)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shoup {
    /// The factor, reduced.
    pub value: u32,
    /// `floor(value * 2^32 / p)`.
    pub quotient: u32,
}

impl Modulus {
    /// The modulus `value`, or `None` if it is even, below 3, or not below 2^31.
    pub fn new(value: u32) -> Option<Self> {
        if value < 3 || value.is_multiple_of(2) || value >= 1 << 31 {
            return None;
        }
        // Newton's iteration doubles the correct low bits;
        // an odd number is its own inverse to 3 bits.
        let mut inverse = value;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(value.wrapping_mul(inverse)));
        }
        let r = (1u64 << 32) % u64::from(value);
        let r_squared = (r * r % u64::from(value)) as u32;
        Some(Self { value, neg_inverse: inverse.wrapping_neg(), r_squared })
    }

    /// p.
    pub fn value(&self) -> u32 {
        self.value
    }

    /// `-p^-1 mod 2^32`, the constant of Montgomery reduction.
    pub fn neg_inverse(&self) -> u32 {
        self.neg_inverse
    }

    /// `x mod p` for any `x`.
    pub fn reduce(&self, x: u64) -> u32 {
        (x % u64::from(self.value)) as u32
    }

    /// `x mod p` in `[0, p)` for any signed `x`, in constant time: no division.
    pub fn reduce_signed(&self, x: i64) -> u32 {
        let negative = x >> 63;
        // At most 2^63, which is below 2^64 - p 2^32:
        // two reductions by 2^32 and one product with 2^64.
        let magnitude = ((x ^ negative) as u64).wrapping_sub(negative as u64);
        let residue = self.mul_montgomery(self.montgomery_reduce_lazy(magnitude), self.r_squared);
        let negative = negative as u32;
        self.reduce_small((residue ^ negative).wrapping_sub(negative) as i32)
    }

    /// [`Modulus::reduce_signed`] for integers of up to 127 bits.
    pub fn reduce_i128(&self, x: i128) -> u32 {
        let (high, low) = ((x >> 64) as i64, x as u64);
        // The lower half is not negative: 2 (low / 2) and its last bit.
        let half = self.reduce_signed((low >> 1) as i64);
        let low = self.add(self.add(half, half), low as u32 & 1);
        self.add(self.mul(self.reduce_signed(high), self.r_squared), low)
    }

    /// `x mod p` in `[0, p)` for `-p <= x < p`, in constant time.
    #[inline]
    pub fn reduce_small(&self, x: i32) -> u32 {
        constant_time::reduce_small(x, self.value)
    }

    /// The representative of a reduced `x` in `[-p/2, p/2)`.
    pub fn centre(&self, x: u32) -> i32 {
        constant_time::centre(u64::from(x), u64::from(self.value)) as i32
    }

    /// `a + b`.
    pub fn add(&self, a: u32, b: u32) -> u32 {
        // a + b < 2p < 2^32.
        constant_time::subtract_once(a + b, self.value)
    }

    /// `a - b`.
    pub fn sub(&self, a: u32, b: u32) -> u32 {
        self.reduce_small(a.wrapping_sub(b) as i32)
    }

    /// `-a`.
    pub fn neg(&self, a: u32) -> u32 {
        // Hidden, since a compiler jumped over the sum where a is 0.
        self.reduce_small(constant_time::hide(a.wrapping_neg()) as i32)
    }

    /// `a * b`; any 32-bit inputs. In constant time: no division.
    #[inline]
    pub fn mul(&self, a: u32, b: u32) -> u32 {
        constant_time::multiply(a, b, self.value, self.neg_inverse, self.r_squared)
    }

    /// `a^exponent`.
    pub fn pow(&self, a: u32, mut exponent: u64) -> u32 {
        let (mut base, mut result) = (a % self.value, 1);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, base);
            }
            base = self.mul(base, base);
            exponent >>= 1;
        }
        result
    }

    /// `a^-1` by Fermat: `p` must be prime and `a` not zero.
    pub fn inverse(&self, a: u32) -> u32 {
        self.pow(a, u64::from(self.value) - 2)
    }

    /// Prepares a reduced constant factor.
    pub fn shoup(&self, value: u32) -> Shoup {
        debug_assert!(value < self.value);
        Shoup { value, quotient: ((u64::from(value) << 32) / u64::from(self.value)) as u32 }
    }

    /// `x * w` in `[0, 2p)`, for *any* 32-bit `x`.
    ///
    /// With `w' = floor(w 2^32 / p)`, the estimate `floor(x w' / 2^32)` is the true quotient or one
    /// less, whatever `x`.
    #[inline]
    pub fn mul_shoup_lazy(&self, x: u32, w: Shoup) -> u32 {
        let quotient = ((u64::from(x) * u64::from(w.quotient)) >> 32) as u32;
        x.wrapping_mul(w.value).wrapping_sub(quotient.wrapping_mul(self.value))
    }

    /// `x * w`, reduced, for any 32-bit `x`.
    #[inline]
    pub fn mul_shoup(&self, x: u32, w: Shoup) -> u32 {
        let lazy = self.mul_shoup_lazy(x, w);
        constant_time::subtract_once(lazy, self.value)
    }

    /// Montgomery reduction: `x * 2^-32` in `[0, 2p)` for `x < p * 2^32`; in `[0, p + x/2^32 + 1)`
    /// for any `x < 2^64 - p * 2^32`.
    #[inline]
    pub fn montgomery_reduce_lazy(&self, x: u64) -> u32 {
        let m = (x as u32).wrapping_mul(self.neg_inverse);
        ((x + u64::from(m) * u64::from(self.value)) >> 32) as u32
    }

    /// `a * b * 2^-32`, reduced, for reduced inputs.
    #[inline]
    pub fn mul_montgomery(&self, a: u32, b: u32) -> u32 {
        let lazy = self.montgomery_reduce_lazy(u64::from(a) * u64::from(b));
        constant_time::subtract_once(lazy, self.value)
    }

    /// `a * 2^32 mod p`, the Montgomery form of a reduced `a`.
    pub fn to_montgomery(&self, a: u32) -> u32 {
        self.mul_montgomery(a, self.r_squared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Odd moduli over the whole range, extremes included.
    fn moduli() -> impl Strategy<Value = Modulus> {
        prop_oneof![
            Just(3u32),
            Just(134_215_681),
            Just((1 << 31) - 1),
            (1u32..1 << 30).prop_map(|x| 2 * x + 1)
        ]
        .prop_map(|p| Modulus::new(p).expect("odd and in range"))
    }

    #[test]
    fn refuses_even_small_and_large() {
        for bad in [0, 1, 2, 4, 1 << 31, (1 << 31) + 1, u32::MAX] {
            assert_eq!(Modulus::new(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn products_agree(m in moduli(), a: u32, b: u32) {
            let p = m.value();
            let want = (u64::from(a % p) * u64::from(b % p) % u64::from(p)) as u32;
            prop_assert_eq!(m.mul(a % p, b % p), want);
            let w = m.shoup(b % p);
            // Any u32 on the left, as the lazy transforms rely on.
            let lazy = m.mul_shoup_lazy(a, w);
            prop_assert!(u64::from(lazy) < 2 * u64::from(p));
            prop_assert_eq!(lazy % p, want);
            prop_assert_eq!(m.mul_shoup(a, w), want);
            prop_assert_eq!(m.mul_montgomery(a % p, m.to_montgomery(b % p)), want);
        }

        #[test]
        fn sums_agree(m in moduli(), a: u32, b: u32) {
            let p = m.value();
            let (a, b) = (a % p, b % p);
            prop_assert_eq!(u64::from(m.add(a, b)), (u64::from(a) + u64::from(b)) % u64::from(p));
            prop_assert_eq!(m.add(m.sub(a, b), b), a);
            prop_assert_eq!(m.add(m.neg(a), a), 0);
            let c = m.centre(a);
            prop_assert!(2 * i64::from(c) >= -i64::from(p) && 2 * i64::from(c) < i64::from(p));
            prop_assert_eq!(m.reduce_signed(i64::from(c)), a);
        }

        /// Numbers of every length, where either half counts.
        #[test]
        fn any_long_signed_number_is_reduced(m in moduli(), x: i128, shift in 1u32..127) {
            let p = i128::from(m.value());
            let ends = [-(1 << 126), (1 << 126) - 1, -(1 << 64), (1 << 64) - 1, 1 << 63, -1, 0];
            for x in ends.into_iter().chain([x >> shift]) {
                prop_assert_eq!(i128::from(m.reduce_i128(x)), x.rem_euclid(p), "{} mod {}", x, p);
            }
        }

        #[test]
        fn any_signed_number_is_reduced(m in moduli(), x: i64, small: i16) {
            let p = i64::from(m.value());
            let ends = [i64::MIN, i64::MIN + 1, i64::MAX, 0, p, -p, 2 * p];
            for x in ends.into_iter().chain([x, small.into(), x / p * p]) {
                prop_assert_eq!(i64::from(m.reduce_signed(x)), x.rem_euclid(p), "{} mod {}", x, p);
            }
        }
    }
}
