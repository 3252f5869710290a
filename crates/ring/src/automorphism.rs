//! Automorphisms X -> X^g of Z[X]/(X^N + 1), g odd, as gathers of evaluations.
//!
//! Position j holds the value at psi^(2 brv(j) + 1), so the image has there what the polynomial has
//! at exponent g (2 brv(j) + 1): `out[j] = in[brv(((g (2 brv(j) + 1) mod 2N) - 1)/2)]`, without a
//! sign. Seen as any power of two of rows of R words, N = C R and j = r R + c, every row comes from
//! one row: with t = g (2 brv(r) + 1), of which brv counts log2 C bits,
//!
//! ```text
//! source row: brv((t mod 2C - 1)/2)
//! shift:      floor(t / 2C) mod R
//! source of c inside it: brv((g brv(c) + shift) mod R),   brv of log2 R bits
//! ```

use crate::fft::Simd;
use crate::limb::{Gather, RUN, dispatch};
use crate::{Modulus, RingError, bit_reverse};

/// The exponent, below 2N, of the automorphism that undoes X -> X^`exponent`, which is odd, for N =
/// `size`, a power of two.
pub fn inverse_exponent(exponent: usize, size: usize) -> usize {
    debug_assert!(exponent % 2 == 1 && size.is_power_of_two());
    // Newton's iteration modulo 2^64; an odd number is its own inverse to 3 bits.
    let mut inverse = exponent;
    for _ in 0..5 {
        let error = 2usize.wrapping_sub(exponent.wrapping_mul(inverse));
        inverse = inverse.wrapping_mul(error);
    }
    inverse % (2 * size)
}

/// The automorphism X -> X^g of one ring degree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automorphism {
    exponent: usize,
    size: usize,
    simd: Simd,
    /// For each run of words of an image, where it comes from; empty where N is less than a run.
    runs: Vec<u32>,
    lanes: [[u32; RUN]; RUN],
}

impl Automorphism {
    /// X -> X^`exponent` for N = `size`; only the exponent modulo 2N counts.
    ///
    /// # Errors
    /// [`RingError::Size`] unless N is a power of two, [`RingError::Exponent`] unless the exponent
    /// is odd.
    pub fn new(size: usize, exponent: usize) -> Result<Self, RingError> {
        if !size.is_power_of_two() || !(2..=1 << 29).contains(&size) {
            return Err(RingError::Size { size });
        }
        if exponent.is_multiple_of(2) {
            return Err(RingError::Exponent { exponent });
        }
        let exponent = exponent % (2 * size);
        let runs = (0..size / RUN).map(|r| {
            let (row, shift) = source_row(exponent, size, size / RUN, r);
            (row * RUN + shift) as u32
        });
        let lane = |shift| move |c| source_in_row(exponent, RUN, shift, c) as u32;
        let lanes = std::array::from_fn(|shift| std::array::from_fn(lane(shift)));
        Ok(Self { exponent, size, simd: Simd::detect(), runs: runs.collect(), lanes })
    }

    /// The same on other vectors; otherwise the widest of this processor. All give the same words.
    /// Gathers panic where the processor lacks the vectors named.
    pub fn with_simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }

    /// g, below 2N.
    pub fn exponent(&self) -> usize {
        self.exponent
    }

    /// N.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The automorphism that undoes this one.
    pub fn inverse(&self) -> Self {
        let inverse = inverse_exponent(self.exponent, self.size);
        let inverse = Self::new(self.size, inverse).expect("the inverse of an odd number is odd");
        inverse.with_simd(self.simd)
    }

    /// Where the evaluation at position `j` of the image comes from.
    ///
    /// # Panics
    /// If `j` is not below N.
    pub fn source(&self, j: usize) -> usize {
        assert!(j < self.size, "positions are 0..{}", self.size);
        self.source_row(self.size, j).0
    }

    /// The row that row `r` of the image comes from, of `rows` rows, and the shift inside it.
    ///
    /// # Panics
    /// If `rows` is no power of two up to N, or `r` not below it.
    pub fn source_row(&self, rows: usize, r: usize) -> (usize, usize) {
        assert!(rows.is_power_of_two() && rows <= self.size && r < rows, "row {r} of {rows} rows");
        source_row(self.exponent, self.size, rows, r)
    }

    /// Where word `c` of a row comes from inside the source row with this shift; `row_len` is R.
    ///
    /// # Panics
    /// If `row_len` is no power of two.
    pub fn source_in_row(&self, row_len: usize, shift: usize, c: usize) -> usize {
        assert!(row_len.is_power_of_two(), "a row has a power of two of words");
        source_in_row(self.exponent, row_len, shift, c)
    }

    /// The image of evaluations, in the order of [`NttTable`](crate::NttTable).
    ///
    /// # Panics
    /// If either limb is not of N words.
    pub fn apply(&self, input: &[u32], out: &mut [u32]) {
        assert!(input.len() == self.size && out.len() == self.size, "limbs of N words");
        self.apply_range(input, 0, out);
    }

    /// The words of the image from position `first` on, as many as `out` takes: a row, for example.
    ///
    /// # Panics
    /// If `input` is not of N words, or there are no such positions.
    pub fn apply_range(&self, input: &[u32], first: usize, out: &mut [u32]) {
        let fits = first <= self.size && out.len() <= self.size - first;
        assert!(input.len() == self.size && fits, "positions are 0..{}", self.size);
        if first.is_multiple_of(RUN) && out.len().is_multiple_of(RUN) {
            let runs = &self.runs[first / RUN..][..out.len() / RUN];
            dispatch(self.simd, Gather { input, first: 0, runs, lanes: &self.lanes, out });
            return;
        }
        for (j, word) in out.iter_mut().enumerate() {
            *word = input[self.source(first + j)];
        }
    }

    /// Row `r` of the image, of `rows` rows, from the row that [`Automorphism::source_row`] names.
    ///
    /// # Panics
    /// If `rows` is no power of two up to N, `r` not below it, or `source` or `out` is no row.
    pub fn apply_row(&self, rows: usize, r: usize, source: &[u32], out: &mut [u32]) {
        let (row, shift) = self.source_row(rows, r);
        let len = self.size / rows;
        assert!(source.len() == len && out.len() == len, "rows of {len} words");
        if len.is_multiple_of(RUN) {
            let runs = &self.runs[r * len / RUN..][..len / RUN];
            let first = row * len / RUN;
            let lanes = &self.lanes;
            dispatch(self.simd, Gather { input: source, first, runs, lanes, out });
            return;
        }
        for (c, word) in out.iter_mut().enumerate() {
            *word = source[self.source_in_row(len, shift, c)];
        }
    }

    /// Where coefficient `k` goes, and whether it changes its sign.
    ///
    /// # Panics
    /// If `k` is not below N.
    pub fn coefficient(&self, k: usize) -> (usize, bool) {
        assert!(k < self.size, "coefficients are 0..{}", self.size);
        let to = self.exponent.wrapping_mul(k) % (2 * self.size);
        (to % self.size, to >= self.size)
    }

    /// The image of coefficients.
    ///
    /// # Panics
    /// If either limb is not of N words.
    pub fn apply_to_coefficients(&self, modulus: Modulus, input: &[u32], out: &mut [u32]) {
        assert!(input.len() == self.size && out.len() == self.size, "limbs of N words");
        for (k, &x) in input.iter().enumerate() {
            let (to, negate) = self.coefficient(k);
            out[to] = if negate { modulus.neg(x) } else { x };
        }
    }
}

fn source_row(exponent: usize, size: usize, rows: usize, r: usize) -> (usize, usize) {
    let bits = rows.trailing_zeros();
    let t = exponent as u64 * (2 * bit_reverse(r, bits) as u64 + 1);
    let row = bit_reverse(t as usize % (2 * rows) / 2, bits);
    (row, (t >> (bits + 1)) as usize % (size / rows))
}

fn source_in_row(exponent: usize, row_len: usize, shift: usize, c: usize) -> usize {
    let bits = row_len.trailing_zeros();
    // Modulo a power of two, so that a word of any width may wrap around.
    let image = exponent.wrapping_mul(bit_reverse(c, bits)).wrapping_add(shift);
    bit_reverse(image % row_len, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitNtt;
    use proptest::prelude::*;

    #[test]
    fn gathers_what_the_coefficients_say() {
        for log2_size in 1..=8 {
            let size = 1 << log2_size;
            let modulus = Modulus::new(1_048_609).filter(|m| m.value() as usize % (2 * size) == 1);
            let modulus = modulus.unwrap_or(Modulus::new(2_147_352_577).expect("a prime"));
            let ntt = SplitNtt::with_row_len(modulus, size, size.min(4)).expect("1 mod 2N");
            let coefficients: Vec<u32> = (0..size as u32).map(|i| i * i * 77 + 5).collect();
            let mut evaluations = coefficients.clone();
            ntt.forward(&mut evaluations);
            for g in [1, 3, 5, 25, 2 * size - 1, size + 1].into_iter().filter(|g| *g < 2 * size) {
                let phi = Automorphism::new(size, g | 1).expect("odd");
                let (mut image, mut out) = (vec![0; size], vec![0; size]);
                phi.apply_to_coefficients(modulus, &coefficients, &mut image);
                ntt.forward(&mut image);
                for simd in Simd::available() {
                    let phi = phi.clone().with_simd(simd);
                    phi.apply(&evaluations, &mut out);
                    assert_eq!(out, image, "N = {size}, g = {g}, {}", simd.name());
                    for (first, len) in [(size / 2, size / 2), (size / 4, 1), (size, 0)] {
                        let mut part = vec![0; len];
                        phi.apply_range(&evaluations, first, &mut part);
                        assert_eq!(part, image[first..][..len]);
                    }
                    for rows in [1, 2, size / 2] {
                        let len = size / rows;
                        for r in 0..rows {
                            let source = &evaluations[phi.source_row(rows, r).0 * len..][..len];
                            let mut row = vec![0; len];
                            phi.apply_row(rows, r, source, &mut row);
                            assert_eq!(row, image[r * len..][..len]);
                        }
                    }
                }
                let mut back = vec![0; size];
                phi.inverse().apply(&out, &mut back);
                assert_eq!(back, evaluations, "N = {size}, inverse of g = {g}");
            }
        }
    }

    proptest! {
        /// The factoring into rows, of every length, is the same gather.
        #[test]
        fn rows_come_from_whole_rows(
            log2_size in 1u32..17,
            log2_rows in 0u32..17,
            g: usize,
            j: usize,
        ) {
            let size = 1 << log2_size;
            let rows = 1 << log2_rows.min(log2_size);
            let (g, j, len) = ((g % (2 * size)) | 1, j % size, size / rows);
            let phi = Automorphism::new(size, g).expect("odd");
            let point = |j| 2 * bit_reverse(j, log2_size) as u128 + 1;
            let (row, shift) = phi.source_row(rows, j / len);
            let source = row * len + phi.source_in_row(len, shift, j % len);
            prop_assert_eq!(point(source), g as u128 * point(j) % (2 * size as u128));
            prop_assert_eq!(source, phi.source(j));
        }
    }

    #[test]
    fn says_what_it_is_and_refuses_other_ranges() {
        let phi = Automorphism::new(32, 69).expect("odd");
        assert_eq!((phi.exponent(), phi.size()), (5, 32));
        for (first, len) in [(0, 33), (1, 32), (32, 1), (33, 0)] {
            let refused = std::panic::catch_unwind(|| {
                phi.apply_range(&[0; 32], first, &mut vec![0; len]);
            });
            let what = refused.expect_err("no such positions");
            let text = what.downcast_ref::<String>().expect("a text");
            assert_eq!(text, "positions are 0..32", "{len} from {first} on");
        }
    }

    #[test]
    fn refuses_even_exponents() {
        for exponent in [0, 2, 64] {
            assert_eq!(Automorphism::new(32, exponent), Err(RingError::Exponent { exponent }));
        }
        assert_eq!(Automorphism::new(32, 69), Automorphism::new(32, 5));
        assert_eq!(Automorphism::new(24, 5), Err(RingError::Size { size: 24 }));
    }
}
