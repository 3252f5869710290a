//! Rounding from one modulus to another: `round(x * to / from)`, half up, exactly as every device
//! does it.

/// `floor((2 x to + from) / (2 from)) mod to`, for `x < from` and any moduli below 2^63.
pub fn mod_switch(x: u64, from: u64, to: u64) -> u64 {
    if from < 1 << 32 && to < 1 << 30 {
        // 2 x to + from < 2^63: one 64-bit division where a 128-bit one would be a library call.
        return (2 * x * to + from) / (2 * from) % to;
    }
    let (x, from, to) = (u128::from(x), u128::from(from), u128::from(to));
    ((2 * x * to + from) / (2 * from) % to) as u64
}

/// [`mod_switch`] between powers of two, `log2_to <= log2_from`.
pub fn mod_switch_pow2(x: u64, log2_from: u32, log2_to: u32) -> u64 {
    let shift = log2_from - log2_to;
    let half = (1u64 << shift) >> 1;
    ((x + half) >> shift) & ((1 << log2_to) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    proptest! {
        // Both sides of the bounds of the short way, together and each alone.
        #[test]
        fn exact_half_up(
            x: u64,
            from in prop_oneof![
                3u64..1 << 62, 3u64..1 << 20, (1u64 << 32) - 3..(1 << 32) + 3, 1u64 << 61..1 << 62
            ],
            to in prop_oneof![
                2u64..1 << 40, 2u64..1 << 12, (1u64 << 30) - 3..(1 << 30) + 3, 1u64 << 39..1 << 40
            ],
        ) {
            for x in [x % from, from - 1] {
                let want =
                    (BigUint::from(x) * 2u32 * to + from) / (BigUint::from(from) * 2u32) % to;
                prop_assert_eq!(BigUint::from(mod_switch(x, from, to)), want);
            }
        }

        #[test]
        fn powers_of_two_agree(x: u64, from in 1u32..40, by in 0u32..40) {
            let (x, to) = (x & ((1 << from) - 1), from - by.min(from - 1));
            prop_assert_eq!(mod_switch_pow2(x, from, to), mod_switch(x, 1 << from, 1 << to));
        }
    }
}
