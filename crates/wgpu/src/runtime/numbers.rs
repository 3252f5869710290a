//! How kernels hold lazily reduced words, and the bounds that follow: `shaders/lib/arithmetic.wgsl`
//! in numbers.
//!
//! A *bound* of an unsigned word is exclusive, `x < bound`; of a signed word it is symmetric, `|x|
//! <= bound`.

/// 2^32.
const WORD: i128 = 1 << 32;
/// Bits of the low limb of a factor in a sum of products ([`Numbers::SignedLimbs`]).
const LIMB: i128 = 1 << 14;
/// Products of limbs that a 32-bit sum takes beside one reduction's: 15 * 2^28 + 2^28 = 2^32.
const MOST_LIMB_ROWS: i128 = 15;
/// Magnitude that signed words keep to. The upper half of a rounded word is then at most 2^15 -
/// 2^11, and both crossed products of a quotient, together below (2^15 - 2^11) 2^15 + 2^30 + 2^15,
/// fit 31 bits.
const SIGNED_CAP: i128 = (1 << 31) - (1 << 27);

/// The representation of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// `u32` in `[0, bound)`, for any prime below 2^31. `coarse` leaves the product of low halves
    /// out of quotients.
    Unsigned { coarse: bool },
    /// `i32`, with 64-bit products.
    SignedWide,
    /// `i32`, with products of 16-bit halves, and sums of products in three sums of 14-bit limbs.
    SignedLimbs,
}

/// `ceil(a / b)` for positive b.
fn ceil(a: i128, b: i128) -> i128 {
    (a + b - 1).div_euclid(b)
}

impl Numbers {
    pub fn signed(self) -> bool {
        !matches!(self, Self::Unsigned { .. })
    }

    /// The largest bound that a word may have.
    pub fn cap(self) -> i128 {
        if self.signed() { SIGNED_CAP } else { WORD }
    }

    /// The bound of `x w mod p`, for `|x| <= bound` and any twiddle w: as lazy products leave it.
    ///
    /// Unsigned: below 2p, or 4p with the coarse quotient. Signed, with `|w| <= (p + 1)/2` and its
    /// quotient rounded: `|x|/2^33` of p from the quotient's rounding, and 1 (64 bits, rounded
    /// down) or 1/2 (rounded) + 1/4 (the product of the low halves left out)
    /// of p from the product's.
    pub fn product_bound(self, p: i128, bound: i128) -> i128 {
        match self {
            Self::Unsigned { coarse } => p * if coarse { 4 } else { 2 },
            Self::SignedWide => p + ceil(p * bound, 1 << 33) + 1,
            Self::SignedLimbs => ceil(3 * p, 4) + ceil(p * bound, 1 << 33) + 1,
        }
    }

    /// Whether a quotient may be taken from the factor's upper half alone: the lower then adds less
    /// than a quarter.
    pub fn is_small(self, bound: i128) -> bool {
        self == Self::SignedLimbs && bound < 1 << 15
    }

    /// The power of two that a Montgomery reduction divides by.
    pub fn montgomery_bits(self) -> u32 {
        if self == Self::SignedLimbs { 28 } else { 32 }
    }

    /// The smallest bound that every reduction reaches.
    pub fn least(self, p: i128) -> i128 {
        if self.signed() { 17 * p / 32 } else { p }
    }

    /// Bound of the keys and monomials that a sum multiplies: keys are residues, monomials as
    /// reductions leave them.
    fn key_bound(self, p: i128) -> i128 {
        self.least(p) + i128::from(self.signed())
    }

    /// The largest bound of factors of which `rows` products may be summed before a reduction.
    pub fn sum_limit(self, p: i128, rows: i128) -> i128 {
        match self {
            Self::Unsigned { .. } => WORD.min(WORD * (WORD - p) / (p * rows)),
            Self::SignedWide => SIGNED_CAP.min((1 << 62) / (self.key_bound(p) * rows)),
            // The middle sum, rows (2^14 (K + 1) + F + 2^14) with K the key's upper limb, leaves
            // 2^28 for the reduction.
            Self::SignedLimbs => {
                let key = self.key_bound(p) / LIMB + 1;
                SIGNED_CAP.min(((1 << 31) - (1 << 28) - (1 << 19)) / rows - LIMB * (key + 1))
            }
        }
    }

    /// The bound after the reduction of a sum of `rows` products,
    /// of factors whose bounds add up to `total`.
    pub fn reduced_bound(self, p: i128, rows: i128, total: i128) -> i128 {
        match self {
            Self::Unsigned { .. } => total * p / WORD + p + 1,
            Self::SignedWide => total * self.key_bound(p) / WORD + p / 2 + 2,
            // Upper products, the carry of the middle sum, and m_1 times p's upper limb.
            Self::SignedLimbs => {
                let key = self.key_bound(p) / LIMB + 1;
                let middle =
                    LIMB * rows * (key + 1) + total + (1 << 19) + (1 << 28) + LIMB * (p / LIMB);
                (total / LIMB + rows) * key + middle / LIMB + 1 + LIMB * (p / LIMB)
            }
        }
    }

    /// Whether `rows` products of factors below `bound` make one sum.
    pub fn fits(self, p: i128, rows: i128, bound: i128) -> bool {
        (self != Self::SignedLimbs || rows < MOST_LIMB_ROWS)
            && bound <= self.sum_limit(p, rows)
            && self.reduced_bound(p, rows, rows * bound) <= self.cap()
    }

    /// How many of `rows` products of factors below `bound` make one sum.
    pub fn chunk_rows(self, p: i128, rows: i128, bound: i128) -> i128 {
        (1..=rows).rev().find(|&c| self.fits(p, c, bound)).unwrap_or(1)
    }

    /// The factor `w` and its quotient as kernels hold them: (w, quotient)
    /// or (w, upper half, lower half).
    pub fn twiddle(self, p: i128, w: i128) -> [i128; 3] {
        if !self.signed() {
            return [w, (w << 32) / p, 0];
        }
        let mut factor = if w > p / 2 { w - p } else { w };
        let mut quotient = (2 * (factor << 32) + p).div_euclid(2 * p);
        if self == Self::SignedWide {
            return [factor, quotient, 0];
        }
        // The upper half must fit 16 bits.
        if quotient >= (1 << 31) - (1 << 15) {
            (factor, quotient) = (factor - p, quotient - WORD);
        }
        let low = (quotient + (1 << 15)).rem_euclid(1 << 16) - (1 << 15);
        [factor, (quotient - low) >> 16, low]
    }

    /// The same as a value of WGSL.
    pub fn twiddle_text(self, p: i128, w: i128) -> String {
        let [factor, quotient, low] = self.twiddle(p, w);
        match self {
            Self::Unsigned { .. } => format!("vec2<u32>({factor}u, {quotient}u)"),
            Self::SignedWide => format!("vec2<i32>({factor}, {quotient})"),
            Self::SignedLimbs => format!("vec3<i32>({factor}, {quotient}, {low})"),
        }
    }

    /// The same as two words of a table.
    pub fn twiddle_words(self, p: u32, w: u32) -> [u32; 2] {
        let [factor, quotient, low] = self.twiddle(i128::from(p), i128::from(w));
        let second = if self == Self::SignedLimbs {
            (quotient as u32) << 16 | (low as u32 & 0xffff)
        } else {
            quotient as u32
        };
        [factor as u32, second]
    }

    /// A residue as a sum's factor: centred for signed words.
    pub fn factor(self, p: u32, x: u32) -> u32 {
        if self.signed() && x > p / 2 { x.wrapping_sub(p) } else { x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIMES: [i128; 4] = [12_289, 188_417, 28_241_921, 134_215_681];

    /// Deterministic words with extremes among them.
    fn words(bound: i128) -> impl Iterator<Item = i128> {
        let near = [
            0,
            1,
            -1,
            0x7fff,
            -0x8000,
            0x8000,
            0xffff,
            -0x1_0000,
            bound - 1,
            1 - bound,
            bound,
            -bound,
        ];
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let random = std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            i128::from(state >> 32) * (2 * bound + 1) / WORD - bound
        });
        near.into_iter().filter(move |x| x.abs() <= bound).chain(random.take(200))
    }

    /// `quotient` of arithmetic.wgsl, for both signed forms, in checked 32-bit arithmetic where
    /// that matters.
    fn product(numbers: Numbers, p: i128, x: i128, w: [i128; 3], small: bool) -> i128 {
        let fits = |x: i128| {
            assert!(i32::try_from(x).is_ok(), "{x} leaves 32 bits");
            x
        };
        let quotient = if numbers == Numbers::SignedWide {
            (x * w[1]) >> 32
        } else if small {
            fits(x * w[1] + 0x8000) >> 16
        } else {
            let low = i128::from(x as i32 as i16);
            let high = fits(x + 0x8000) >> 16;
            fits(high * w[1]) + (fits(high * w[2] + fits(low * w[1] + 0x8000)) >> 16)
        };
        x * w[0] - quotient * p
    }

    #[test]
    fn lazy_products_keep_their_bound() {
        for numbers in [Numbers::SignedWide, Numbers::SignedLimbs] {
            for p in PRIMES {
                let edges = [1, 2, p / 2 - 1, p / 2, p / 2 + 1, p - 1, p / 2 - p / 65_536];
                for w in edges.into_iter().chain(words(p / 2).map(|x| x + p / 2)) {
                    let twiddle = numbers.twiddle(p, w);
                    assert_eq!(twiddle[0].rem_euclid(p), w % p);
                    for bound in [100, 0x7fff, p, 5 * p, SIGNED_CAP] {
                        for x in words(bound) {
                            let y = product(numbers, p, x, twiddle, numbers.is_small(bound));
                            assert!(
                                y.abs() <= numbers.product_bound(p, bound),
                                "{numbers:?} p = {p}: {x} {w} -> {y}"
                            );
                            assert_eq!(y.rem_euclid(p), (x * w).rem_euclid(p));
                        }
                    }
                }
            }
        }
    }

    /// `sum_mac` and `montgomery` of arithmetic.wgsl for limbs, in checked arithmetic.
    #[test]
    fn sums_of_limbs_keep_their_bounds() {
        let numbers = Numbers::SignedLimbs;
        let signed = |x: i128| assert!(i32::try_from(x).is_ok(), "{x} leaves 32 bits");
        for p in PRIMES {
            let inverse = (0..LIMB).find(|n| (n * p + 1) % LIMB == 0).expect("p is odd");
            for rows in [1, 2, 6, 13] {
                let bound = numbers.sum_limit(p, rows).min(3 * p);
                assert!(bound >= numbers.least(p), "p = {p}, {rows} rows");
                for extreme in 0..4 {
                    let (mut low, mut middle, mut high, mut want) = (0, 0, 0, 0);
                    for (i, (f, k)) in
                        words(bound).zip(words(p / 2)).skip(8).take(rows as usize).enumerate()
                    {
                        let (f, k) = match extreme {
                            0 => (f, k),
                            1 => (bound, p / 2),
                            2 => (-bound, p / 2),
                            _ => (bound - i as i128 % LIMB, -(p / 2)),
                        };
                        let ([f0, f1], [k0, k1]) =
                            ([f & (LIMB - 1), f >> 14], [k & (LIMB - 1), k >> 14]);
                        (low, middle, high, want) = (
                            low + f0 * k0,
                            middle + f0 * k1 + f1 * k0,
                            high + f1 * k1,
                            want + f * k,
                        );
                        signed(middle);
                        signed(high);
                    }
                    let m0 = low * inverse % LIMB;
                    let first = low + m0 * (p % LIMB);
                    assert!((0..WORD).contains(&first) && first % LIMB == 0);
                    let y = middle + (first >> 14) + m0 * (p >> 14);
                    signed(y);
                    let m1 = (y * inverse).rem_euclid(LIMB);
                    signed(y + m1 * (p % LIMB));
                    let reduced = high + ((y + m1 * (p % LIMB)) >> 14) + m1 * (p >> 14);
                    assert_eq!((reduced << 28).rem_euclid(p), want.rem_euclid(p));
                    assert!(
                        reduced.abs() <= numbers.reduced_bound(p, rows, rows * bound),
                        "p = {p}, {rows} rows: {reduced}"
                    );
                }
            }
        }
    }

    #[test]
    fn thirteen_rows_of_a_27_bit_prime_make_one_sum_of_limbs() {
        let p = 134_215_681;
        for rows in [6, 10, 13] {
            assert_eq!(
                Numbers::SignedLimbs.chunk_rows(p, rows, Numbers::SignedLimbs.least(p)),
                rows
            );
        }
        assert_eq!(Numbers::SignedWide.chunk_rows(p, 6, 13 * p), 6);
        assert_eq!(Numbers::Unsigned { coarse: false }.chunk_rows(p, 6, 21 * p), 6);
    }
}
