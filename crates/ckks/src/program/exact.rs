//! Exact arithmetic behind scales and constants.

use num_bigint::{BigInt, BigUint, Sign};

/// The product of `primes`.
pub(crate) fn product(primes: impl IntoIterator<Item = u32>) -> BigUint {
    primes.into_iter().fold(BigUint::from(1u32), |product, p| product * p)
}

/// The f64 nearest to `numerator / denominator`, ties to even.
/// The quotient must be in f64's normal range.
pub(crate) fn quotient(numerator: &BigUint, denominator: &BigUint) -> f64 {
    if *numerator == BigUint::ZERO {
        return 0.0;
    }
    // A quotient of 65 or 66 bits with its lowest set if anything is left over
    // rounds as the exact one.
    let shift = 65 + denominator.bits() as i64 - numerator.bits() as i64;
    let (n, d) = if shift >= 0 {
        (numerator << shift as u64, denominator.clone())
    } else {
        (numerator.clone(), denominator << (-shift) as u64)
    };
    let whole = &n / &d;
    let sticky = &whole * &d != n;
    let digits = whole.to_u64_digits();
    let mut word = u128::from(digits[0]);
    if let Some(&high) = digits.get(1) {
        word |= u128::from(high) << 64;
    }
    (word | u128::from(sticky)) as f64 * 2f64.powi(-shift as i32)
}

/// The f64 nearest to `x`.
pub(crate) fn nearest(x: &BigUint) -> f64 {
    quotient(x, &BigUint::from(1u32))
}

/// `x = mantissa * 2^exponent`, for a finite positive `x`.
fn parts(x: f64) -> (u64, i64) {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) }
}

/// The integer nearest to the f64 value `x`, ties to even, exactly (it may exceed 2^64). `x` must
/// be finite.
pub(crate) fn round(x: f64) -> BigInt {
    let x = x.round_ties_even();
    let (mantissa, exponent) = parts(x.abs());
    let magnitude = if exponent >= 0 {
        BigUint::from(mantissa) << exponent as u64
    } else {
        BigUint::from(mantissa) >> (-exponent) as u64
    };
    BigInt::from_biguint(if x < 0.0 { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// The integer nearest to `a * numerator / (denominator * b)`, ties to even, with the exact values
/// of the positive f64 `a` and `b`.
pub(crate) fn round_ratio(a: f64, numerator: &BigUint, denominator: &BigUint, b: f64) -> BigUint {
    let (ma, ea) = parts(a);
    let (mb, eb) = parts(b);
    let mut n = numerator * ma;
    let mut d = denominator * mb;
    if ea >= eb {
        n <<= (ea - eb) as u64;
    } else {
        d <<= (eb - ea) as u64;
    }
    let whole = &n / &d;
    let twice = (n - &whole * &d) << 1u32;
    let odd = whole.bit(0);
    if twice > d || (twice == d && odd) { whole + 1u32 } else { whole }
}

/// `k` modulo `p`, in `[0, p)`.
pub(crate) fn residue(k: &BigInt, p: u32) -> u32 {
    let r = (k.magnitude() % p).to_u32_digits().first().copied().unwrap_or(0);
    if k.sign() == Sign::Minus && r != 0 { p - r } else { r }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_round_once() {
        let big = |x: u128| BigUint::from(x);
        assert_eq!(quotient(&big(1), &big(3)), 1.0 / 3.0);
        assert_eq!(quotient(&big(1 << 53 | 1), &big(1)), 2f64.powi(53)); // a tie, to even
        assert_eq!(quotient(&big((1 << 53 | 1) * 3 + 1), &big(3)), 2f64.powi(53) + 2.0);
        assert_eq!(nearest(&(big(5) << 200u32)), 5.0 * 2f64.powi(200));
        assert_eq!(quotient(&big(7), &(big(1) << 300u32)), 7.0 * 2f64.powi(-300));
    }

    #[test]
    fn integers_are_exact_at_any_size() {
        assert_eq!(round(2.5), BigInt::from(2));
        assert_eq!(round(-3.5), BigInt::from(-4));
        assert_eq!(round(0.25), BigInt::from(0));
        assert_eq!(round(-(2f64.powi(116))), -(BigInt::from(1) << 116u32));
        assert_eq!(residue(&round(-1.0), 17), 16);
        assert_eq!(residue(&round(2f64.powi(116)), 97), {
            (0..116).fold(1u64, |x, _| x * 2 % 97) as u32
        });
    }

    #[test]
    fn ratios_round_to_nearest_even() {
        let one = BigUint::from(1u32);
        let three = BigUint::from(3u32);
        assert_eq!(round_ratio(0.5, &three, &one, 1.0), BigUint::from(2u32));
        assert_eq!(round_ratio(0.5, &one, &one, 1.0), BigUint::ZERO);
        assert_eq!(round_ratio(2f64.powi(100), &three, &one, 2f64.powi(98)), BigUint::from(12u32));
        assert_eq!(round_ratio(1.0, &one, &three, 0.125), BigUint::from(3u32));
    }
}
