//! Balanced gadget digits.

/// Writes the digits, base `2^log2_base` and least significant first, of the multiple of
/// `2^dropped_bits` that is closest to a centred `x` (ties round up), each in `[-B/2, B/2)` except
/// the top one, which takes what is left unwrapped.
///
/// `out.len()` is the number of levels. With `x` in `[-Q/2, Q/2)` and `2^dropped_bits B^levels >=
/// Q`, the top digit is in `[-B/2, B/2]`, and `x - sum out_l 2^dropped_bits B^l` is in
/// `[-2^dropped_bits/2, 2^dropped_bits/2]`.
pub fn balanced_digits(x: i64, log2_base: u32, dropped_bits: u32, out: &mut [i32]) {
    let half = 1i64 << (log2_base - 1);
    let mut rest = (x + ((1i64 << dropped_bits) >> 1)) >> dropped_bits;
    let top = out.len() - 1;
    for (level, out) in out.iter_mut().enumerate() {
        let digit = if level == top { rest } else { ((rest + half) & (2 * half - 1)) - half };
        *out = digit as i32;
        rest = (rest - digit) >> log2_base;
    }
}

/// Writes the balanced digits, base `2^log2_base`, of the multiple of `2^(64 - b L)` closest to the
/// centred `x` modulo 2^64, most significant first; `out.len()` is L, `b L <= 63`. Ties round up.
///
/// Every digit is in `[-B/2, B/2)` except the most significant one, which takes what is left and
/// may be B/2. The sum of `out_l 2^(64 - b (l + 1))` is x modulo 2^64 up to
/// `2^(63 - b L)` either way.
pub fn closest_representative_digits(x: u64, log2_base: u32, out: &mut [i32]) {
    let dropped = 64 - log2_base * out.len() as u32;
    let x = x as i64;
    let rounded = (x >> dropped) + ((x >> (dropped - 1)) & 1);
    balanced_digits(rounded, log2_base, 0, out);
    out.reverse();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn closest_representatives_are_closest(
            x: u64,
            shape in prop_oneof![
                Just((23u32, 1usize)), Just((4, 4)), Just((15, 2)), Just((21, 3)), Just((1, 63))
            ],
        ) {
            let (log2_base, levels) = shape;
            let mut digits = vec![0; levels];
            let half = 1i64 << (log2_base - 1);
            for x in [x, 0, u64::MAX, 1 << 63, (1 << 63) - 1] {
                closest_representative_digits(x, log2_base, &mut digits);
                let sum = digits.iter().enumerate().fold(0u64, |sum, (l, &d)| {
                    let d = i64::from(d);
                    assert!((-half..half).contains(&d) || (l == 0 && d == half));
                    sum.wrapping_add((d as u64) << (64 - log2_base * (l as u32 + 1)))
                });
                let off = x.wrapping_sub(sum) as i64;
                let most = 1i128 << (63 - log2_base * levels as u32);
                prop_assert!((-most..=most).contains(&i128::from(off)), "{x}: off by {off}");
            }
        }

        #[test]
        fn recompose(x: i64, shape in prop_oneof![
            Just((27u32, 7u32, 3usize, 7u32)), Just((27, 9, 2, 9)), Just((27, 9, 3, 0)),
            Just((27, 5, 5, 5)), Just((50, 25, 1, 25)), Just((54, 27, 1, 27)),
            Just((54, 18, 2, 18)), Just((37, 13, 2, 13)), Just((54, 23, 1, 31)),
            Just((54, 16, 2, 23)), Just((54, 12, 3, 19)),
        ]) {
            let (bits, log2_base, levels, dropped_bits) = shape;
            let modulus = (1i64 << bits) - 2047;
            let mut digits = vec![0; levels];
            let half = 1i64 << (log2_base - 1);
            // The ends, too: at the upper one the top digit may be B/2.
            for x in [x.rem_euclid(modulus) - modulus / 2, -(modulus / 2), modulus / 2] {
                balanced_digits(x, log2_base, dropped_bits, &mut digits);
                let mut sum = 0i64;
                for (l, &d) in digits.iter().enumerate() {
                    let d = i64::from(d);
                    prop_assert!(d >= -half && (d < half || (l == levels - 1 && d == half)));
                    sum += d << (dropped_bits as usize + log2_base as usize * l);
                }
                let left = 1i64 << dropped_bits;
                prop_assert!(2 * (x - sum).abs() <= left, "{x} - {sum}");
                if dropped_bits == 0 {
                    prop_assert_eq!(x, sum);
                }
            }
        }
    }
}
