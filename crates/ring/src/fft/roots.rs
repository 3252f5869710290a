//! Roots of unity, each coordinate the double nearest to the true value.
//!
//! The angle is brought into the first octant exactly, on integers; cosine and sine there are
//! Taylor sums in 124-bit fixed point. Their error is below 2^-118, so the rounding to 53 bits is
//! the right one unless the true value lies within 2^-118 of the middle between two doubles; the
//! tests find none such for the sizes in use.

/// Fraction bits of the fixed point.
const FRACTION: u32 = 124;
/// floor(pi * 2^124).
const PI: u128 = 0x3243_F6A8_885A_308D_3131_98A2_E037_0734;

/// `exp(i pi j / size)` for `j < 2 size`, as `[cosine, sine]`;
/// `size` is a power of two from 4 to 2^17.
pub fn roots_of_unity(size: usize) -> Vec<[f64; 2]> {
    assert!(
        size.is_power_of_two() && (4..=1 << 17).contains(&size),
        "sizes are powers of two in 4..=2^17"
    );
    let log2_size = size.trailing_zeros();
    let octant: Vec<[f64; 2]> =
        (0..=size / 4).map(|j| first_octant(j as u128, log2_size)).collect();
    (0..2 * size)
        .map(|j| {
            let (quadrant, within) = (j / (size / 2), j % (size / 2));
            let [c, s] = if within <= size / 4 {
                octant[within]
            } else {
                let [c, s] = octant[size / 2 - within];
                [s, c]
            };
            match quadrant {
                0 => [c, s],
                1 => [-s, c],
                2 => [-c, -s],
                _ => [s, -c],
            }
        })
        .collect()
}

/// Cosine and sine of `pi j / 2^log2_size` for an angle of at most pi/4.
fn first_octant(j: u128, log2_size: u32) -> [f64; 2] {
    if 4 * j == 1 << log2_size {
        // The two are equal, and the series could round them differently.
        return [std::f64::consts::FRAC_1_SQRT_2; 2];
    }
    // pi j / 2^log2_size without overflow: j < 2^15, so each half of pi times j has 79 bits.
    let (high, low) = ((PI >> 64) * j, (PI & u128::from(u64::MAX)) * j);
    let carry = high & ((1 << log2_size) - 1);
    let x = ((high >> log2_size) << 64) + (((carry << 64) + low) >> log2_size);
    let square = multiply(x, x);
    [series(1 << FRACTION, square, 0), series(x, square, 1)]
}

/// `first - first x^2/((d+1)(d+2)) + ..`, rounded to the nearest double.
fn series(first: u128, square: u128, mut degree: u128) -> f64 {
    let (mut sums, mut term, mut sign) = ([0u128; 2], first, 0);
    while term > 0 {
        sums[sign] += term;
        term = multiply(term, square) / ((degree + 1) * (degree + 2));
        degree += 2;
        sign ^= 1;
    }
    // The conversion rounds to nearest; the scaling by a power of two is exact.
    (sums[0] - sums[1]) as f64 * (0.5f64).powi(FRACTION as i32)
}

/// `floor(a b / 2^124)` for fixed-point factors below 2 (so that the product fits).
fn multiply(a: u128, b: u128) -> u128 {
    const MASK: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & MASK, b >> 64, b & MASK);
    let middle = a1 * b0 + ((a0 * b0) >> 64);
    let middle2 = a0 * b1 + (middle & MASK);
    let high = a1 * b1 + (middle >> 64) + (middle2 >> 64);
    let low = (middle2 << 64) | ((a0 * b0) & MASK);
    (high << (128 - FRACTION)) | (low >> FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;

    /// Fraction bits of the reference.
    const BITS: u32 = 300;

    /// atan(1/m) scaled by 2^BITS.
    fn inverse_tangent(m: u32) -> BigInt {
        let mut power = (BigInt::from(1) << BITS) / m;
        let (mut sum, mut odd) = (BigInt::ZERO, 1u32);
        while power != BigInt::ZERO {
            if odd % 4 == 1 {
                sum += &power / odd
            } else {
                sum -= &power / odd
            }
            power /= m * m;
            odd += 2;
        }
        sum
    }

    /// Cosine and sine of pi j / size by angle addition from the series of the smallest angle:
    /// another way than the code's.
    fn reference(size: usize) -> Vec<[BigInt; 2]> {
        let pi = inverse_tangent(5) * 16 - inverse_tangent(239) * 4;
        let x = pi / size;
        let scale = |v: BigInt| v >> BITS;
        let square = scale(&x * &x);
        let series = |first: BigInt, mut d: u32| {
            let (mut sum, mut term) = (BigInt::ZERO, first);
            while term.magnitude().bits() > 1 {
                sum += &term;
                term = -scale(&term * &square) / ((d + 1) * (d + 2));
                d += 2;
            }
            sum
        };
        let (c1, s1) = (series(BigInt::from(1) << BITS, 0), series(x, 1));
        let mut all = vec![[BigInt::from(1) << BITS, BigInt::ZERO]];
        for j in 1..2 * size {
            let [c, s] = &all[j - 1];
            all.push([scale(c * &c1 - s * &s1), scale(s * &c1 + c * &s1)]);
        }
        all
    }

    /// `x` scaled by 2^BITS, exactly.
    fn exact(x: f64) -> BigInt {
        let bits = x.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i64;
        let mantissa = BigInt::from(bits & ((1 << 52) - 1) | 1 << 52);
        let shift = exponent - 1075 + i64::from(BITS);
        let magnitude = if x == 0.0 {
            BigInt::ZERO
        } else {
            mantissa << u32::try_from(shift).expect("large enough")
        };
        if x < 0.0 { -magnitude } else { magnitude }
    }

    #[test]
    fn every_coordinate_is_the_nearest_double() {
        for log2_size in (2..=13).chain([15, 16, 17]) {
            let size = 1usize << log2_size;
            let exact_roots = reference(size);
            for (j, (root, want)) in roots_of_unity(size).iter().zip(&exact_roots).enumerate() {
                for (&x, want) in root.iter().zip(want) {
                    let error = (exact(x) - want).magnitude().clone();
                    if x.abs() < 1e-300 {
                        // The reference itself is off by about 2^-280 after so many additions.
                        assert!(error.bits() < 40, "root {j} of {size}");
                        continue;
                    }
                    let ulp = exact(x.abs().next_up()) - exact(x.abs());
                    // Strictly nearest: half a unit less the reference's own error.
                    assert!(
                        &error * 2u32 + (num_bigint::BigUint::from(1u32) << 40) < *ulp.magnitude(),
                        "root {j} of {size}: {x}"
                    );
                }
            }
        }
    }
}
