//! Exact rationals and the f64 numbers nearest to them.

use num_bigint::BigUint;

/// The f64 nearest to `numerator / denominator`, ties to even; `denominator` is not 0, and the
/// result must be a normal number.
pub(crate) fn ratio(numerator: &BigUint, denominator: &BigUint) -> f64 {
    if numerator.bits() == 0 {
        return 0.0;
    }
    // A quotient of 65 or 66 bits: 53 for the result, the others and the remainder for rounding.
    let shift = 65 - (numerator.bits() as i64 - denominator.bits() as i64);
    let (quotient, rest) = divided(numerator, denominator, shift);
    let sticky = u128::from(rest.bits() > 0);
    let quotient = u128::try_from(quotient).expect("66 bits") << 1 | sticky;
    // The conversion rounds to nearest with ties to even; scaling by a power of two is exact.
    libm::ldexp(quotient as f64, -(shift + 1) as i32)
}

/// Quotient and remainder of `numerator 2^shift / denominator`.
fn divided(numerator: &BigUint, denominator: &BigUint, shift: i64) -> (BigUint, BigUint) {
    let (top, bottom) = if shift >= 0 {
        (numerator << shift as u64, denominator.clone())
    } else {
        (numerator.clone(), denominator << (-shift) as u64)
    };
    let quotient = &top / &bottom;
    let rest = top - &quotient * &bottom;
    (quotient, rest)
}

/// The nearest integer to `numerator / denominator`, ties to even.
pub(crate) fn rounded(numerator: &BigUint, denominator: &BigUint) -> BigUint {
    let (quotient, rest) = divided(numerator, denominator, 0);
    let up = match (rest << 1u32).cmp(denominator) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => quotient.bit(0),
        std::cmp::Ordering::Greater => true,
    };
    quotient + u32::from(up)
}

/// A positive, finite f64 as an exact fraction.
pub(crate) fn fraction(x: f64) -> (BigUint, BigUint) {
    let bits = x.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1) | if field > 0 { 1 << 52 } else { 0 };
    let exponent = field.max(1) - 1075;
    let power = BigUint::from(1u32) << exponent.unsigned_abs();
    if exponent >= 0 {
        (BigUint::from(mantissa) * power, BigUint::from(1u32))
    } else {
        (BigUint::from(mantissa), power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ratios_are_the_nearest_ones() {
        let big = |x: u128| BigUint::from(x);
        assert_eq!(ratio(&big(1), &big(3)), 1.0 / 3.0);
        assert_eq!(ratio(&big(0), &big(3)), 0.0);
        // Half a unit above 2^53: a tie, to even; and just beyond it.
        assert_eq!(ratio(&big((1 << 53) + 1), &big(1)), 2f64.powi(53));
        assert_eq!(ratio(&big((1 << 54) + 3), &big(2)), 2f64.powi(53) + 2.0);
        assert_eq!(ratio(&((big(1) << 200u32) + 1u32), &big(1)), 2f64.powi(200));
        let tie = (big((1 << 53) + 1) << 200u32) + 1u32;
        assert_eq!(ratio(&tie, &(big(1) << 200u32)), 2f64.powi(53) + 2.0);
    }

    #[test]
    fn ties_go_to_even() {
        let big = |x: u32| BigUint::from(x);
        for (n, d, want) in [(1, 2, 0), (3, 2, 2), (5, 2, 2), (7, 3, 2), (8, 3, 3), (0, 5, 0)] {
            assert_eq!(rounded(&big(n), &big(d)), big(want), "{n}/{d}");
        }
    }

    proptest! {
        #[test]
        fn quotients_of_doubles_round_once(a in 1e-30f64..1e30, b in 1e-30f64..1e30) {
            let ((an, ad), (bn, bd)) = (fraction(a), fraction(b));
            prop_assert_eq!(ratio(&an, &ad), a);
            prop_assert_eq!(ratio(&(an * bd), &(ad * bn)), a / b);
        }
    }
}
