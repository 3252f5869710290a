//! The negacyclic transform in two halves, for sizes that do not fit where a row does.
//!
//! A limb of N words lies as rows of R contiguous words, N = C R; a *column* is the C words at the
//! same place of all rows. The forward transform is a C-point transform of every column, then an
//! R-point transform of every row; the inverse goes back in the other order. Positions and values
//! are those of [`NttTable`](crate::NttTable): position j holds the value at psi^(2 brv(j) + 1).
//!
//! Each half reads and leaves canonical residues in place, so that what lies between the halves is
//! one definite array. Where N <= R there is one row, and the columns have one point: their
//! forward half changes nothing and their inverse half is the constant factor alone.

use crate::fft::Simd;
use crate::fold::{ColumnPairs, Fold};
use crate::limb::{Ahead, Columns, ColumnsIn, ColumnsOut, RootsView, Rows, dispatch};
use crate::{Modulus, RingError, Shoup, ntt};

/// Words of a row, where there are as many: 4 KiB.
const ROW: usize = 1024;

/// Tables of one (p, N, R).
#[derive(Clone, Debug)]
pub struct SplitNtt {
    modulus: Modulus,
    size: usize,
    row_len: usize,
    size_inverse: Shoup,
    psi: u32,
    simd: Simd,
    roots: Roots,
    inverse_roots: Roots,
    /// Of the conjugation-invariant ring.
    fold: Option<Fold>,
}

/// `psi^(+-brv(i))` for i < N and the quotients of Shoup, as two arrays: entry `k` of a pass with m
/// blocks, block i, is `m + i`.
#[derive(Clone, Debug)]
struct Roots {
    values: Vec<u32>,
    quotients: Vec<u32>,
}

impl Roots {
    fn new(modulus: Modulus, size: usize, root: u32) -> Self {
        let mut values = vec![0; size];
        let mut power = 1;
        for i in 0..size {
            values[ntt::bit_reverse(i, size.trailing_zeros())] = power;
            power = modulus.mul(power, root);
        }
        Self::of(modulus, values)
    }

    /// Those of Y^N = psi^N, psi = `root` of order 4N: block `i` of m divides by Y^(N/m) less
    /// psi^((N/m) e), e = 4 brv(i) + 1 with log2 m bits, and so has psi^((N/2m) e).
    fn invariant(modulus: Modulus, size: usize, root: u32) -> Self {
        let mut values = vec![1; size];
        for log2_blocks in 0..size.trailing_zeros() {
            let power = modulus.pow(root, (size as u64 / 2) >> log2_blocks);
            for i in 0..1 << log2_blocks {
                let e = 4 * ntt::bit_reverse(i, log2_blocks) as u64 + 1;
                values[(1 << log2_blocks) + i] = modulus.pow(power, e);
            }
        }
        Self::of(modulus, values)
    }

    fn of(modulus: Modulus, values: Vec<u32>) -> Self {
        let quotients = values.iter().map(|&value| modulus.shoup(value).quotient).collect();
        Self { values, quotients }
    }

    fn view(&self) -> RootsView<'_> {
        RootsView { values: &self.values, quotients: &self.quotients }
    }
}

impl SplitNtt {
    /// Tables for N = `size` coefficients modulo `modulus`, with R = min(N, 1024).
    ///
    /// # Errors
    /// [`RingError::Size`], [`RingError::NoRoots`].
    pub fn new(modulus: Modulus, size: usize) -> Result<Self, RingError> {
        Self::with_row_len(modulus, size, size.min(ROW))
    }

    /// Tables with rows of another length: a power of two, at most N.
    ///
    /// # Errors
    /// [`RingError::Size`], [`RingError::RowLength`], [`RingError::NoRoots`].
    pub fn with_row_len(modulus: Modulus, size: usize, row_len: usize) -> Result<Self, RingError> {
        if !size.is_power_of_two() || !(2..=1 << 29).contains(&size) {
            return Err(RingError::Size { size });
        }
        if !row_len.is_power_of_two() || row_len > size {
            return Err(RingError::RowLength { row_len, size });
        }
        let prime = modulus.value();
        let psi = ntt::primitive_root(modulus, size).ok_or(RingError::NoRoots { prime, size })?;
        Ok(Self {
            modulus,
            size,
            row_len,
            size_inverse: modulus.shoup(modulus.inverse(size as u32)),
            psi,
            simd: Simd::detect(),
            roots: Roots::new(modulus, size, psi),
            inverse_roots: Roots::new(modulus, size, modulus.inverse(psi)),
            fold: None,
        })
    }

    /// Tables of the conjugation-invariant ring, modulo a prime that is 1 modulo 4N, with R =
    /// min(N, 1024): N = `size` coefficients f_j, those of Y^j + Y^-j for 0 < j < N. Position j of
    /// the evaluations holds the value at Y = psi^(4 brv(j) + 1). Columns of whole limbs are folded
    /// and unfolded; tiles of columns by [`SplitNtt::fold_columns`] and
    /// [`SplitNtt::unfold_columns`].
    ///
    /// # Errors
    /// [`RingError::Size`], [`RingError::NoRoots`].
    pub fn invariant(modulus: Modulus, size: usize) -> Result<Self, RingError> {
        Self::invariant_with_row_len(modulus, size, size.min(ROW))
    }

    /// The same with rows of another length: a power of two from 2, at most N.
    ///
    /// # Errors
    /// [`RingError::Size`], [`RingError::RowLength`], [`RingError::NoRoots`].
    pub fn invariant_with_row_len(
        modulus: Modulus,
        size: usize,
        row_len: usize,
    ) -> Result<Self, RingError> {
        let usual = Self::with_row_len(modulus, size, row_len)?;
        if row_len < 2 {
            return Err(RingError::RowLength { row_len, size });
        }
        let (prime, order) = (modulus.value(), 2 * size);
        let psi =
            ntt::primitive_root(modulus, order).ok_or(RingError::NoRoots { prime, size: order })?;
        let unit = modulus.shoup(modulus.pow(psi, size as u64));
        let half = modulus.mul(usual.size_inverse.value, modulus.inverse(2));
        Ok(Self {
            psi,
            size_inverse: modulus.shoup(half),
            roots: Roots::invariant(modulus, size, psi),
            inverse_roots: Roots::invariant(modulus, size, modulus.inverse(psi)),
            fold: Some(Fold { modulus, unit }),
            ..usual
        })
    }

    /// i = psi^N, which the fold of the conjugation-invariant ring multiplies by; none otherwise.
    pub fn fold_unit(&self) -> Option<Shoup> {
        self.fold.map(|fold| fold.unit)
    }

    /// Folds the columns of `group` of [`ColumnPairs`], which lie as C rows of W words: what comes
    /// before [`SplitNtt::forward_column_tile`] in the conjugation-invariant ring. Nothing in the
    /// usual one.
    pub fn fold_columns(&self, group: usize, tile: &mut [u32]) {
        if let Some(fold) = self.fold {
            fold.fold(self.pairs(tile.len()), group, tile);
        }
    }

    /// Unfolds the columns of `group`: what comes after [`SplitNtt::inverse_column_tile`] in the
    /// conjugation-invariant ring. The halving is in [`SplitNtt::size_inverse`].
    pub fn unfold_columns(&self, group: usize, tile: &mut [u32]) {
        if let Some(fold) = self.fold {
            fold.unfold(self.pairs(tile.len()), group, tile);
        }
    }

    fn pairs(&self, words: usize) -> ColumnPairs {
        let width = words / self.rows();
        let pairs = ColumnPairs::new(self.rows(), self.row_len, width);
        pairs.unwrap_or_else(|| panic!("{width} columns are no pairs of rows of {}", self.row_len))
    }

    /// The same on other vectors; otherwise the widest of this processor. All give the same words.
    /// Transforms panic where the processor lacks the vectors named.
    pub fn with_simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }

    /// p.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// N.
    pub fn size(&self) -> usize {
        self.size
    }

    /// R, the words of a row, which is also the number of columns.
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// C, the number of rows, which is also the number of points of a column.
    pub fn rows(&self) -> usize {
        self.size / self.row_len
    }

    /// The primitive 2N-th root of unity: `x^((p-1)/2N)` for the least x >= 2 that gives one. Of
    /// the conjugation-invariant ring a 4N-th one, whose square is that of the usual ring.
    pub fn psi(&self) -> u32 {
        self.psi
    }

    /// `psi^brv(i)` and its Shoup quotients, i < N: in a pass with m blocks over the whole limb,
    /// block i has entry m + i. Columns read the first C entries. In row r, block i of the k blocks
    /// of a pass inside the row has entry `(C + r) k + i`.
    pub fn roots(&self) -> (&[u32], &[u32]) {
        (&self.roots.values, &self.roots.quotients)
    }

    /// Inverses of [`SplitNtt::roots`], entry by entry, with their quotients.
    pub fn inverse_roots(&self) -> (&[u32], &[u32]) {
        (&self.inverse_roots.values, &self.inverse_roots.quotients)
    }

    /// `N^-1`, the factor of [`SplitNtt::inverse_columns`] for the inverse itself. Of the
    /// conjugation-invariant ring `(2N)^-1`, as unfolding doubles.
    pub fn size_inverse(&self) -> Shoup {
        self.size_inverse
    }

    /// `N^-1 constant`: the factor that leaves `constant` times the inverse transform.
    pub fn inverse_factor(&self, constant: u32) -> Shoup {
        self.modulus.shoup(self.modulus.mul(constant, self.size_inverse.value))
    }

    /// The forward transform of a limb: coefficients in, evaluations out.
    ///
    /// # Panics
    /// If `limb` is not of N words. So do all functions below for what they name.
    pub fn forward(&self, limb: &mut [u32]) {
        self.forward_columns(limb);
        self.forward_rows(limb);
    }

    /// The inverse transform of a limb, `N^-1` included.
    pub fn inverse(&self, limb: &mut [u32]) {
        self.inverse_rows(limb);
        self.inverse_columns(limb, self.size_inverse);
    }

    /// The first half of the forward transform, of all columns of a limb.
    pub fn forward_columns(&self, limb: &mut [u32]) {
        self.check_limb(limb);
        if let Some(fold) = self.fold {
            fold.fold_limb(limb);
        }
        self.forward_column_tile(limb, self.row_len);
    }

    /// The first half of the forward transform of `width` columns, which lie as C rows of `width`
    /// words. All columns use the same roots.
    pub fn forward_column_tile(&self, tile: &mut [u32], width: usize) {
        self.check_tile(tile, width);
        self.columns(tile, None, None, None, &mut Ahead::none());
    }

    /// The second half of the forward transform, of all rows of a limb.
    pub fn forward_rows(&self, limb: &mut [u32]) {
        self.check_limb(limb);
        self.run_rows(0, None, limb, false, &mut Ahead::none());
    }

    /// The second half of the forward transform, of row `r`.
    pub fn forward_row(&self, r: usize, row: &mut [u32]) {
        self.check_row(r, row);
        self.run_rows(r, None, row, false, &mut Ahead::none());
    }

    /// [`SplitNtt::forward_row`] of the row `from`, left in `row`. Lines of `ahead` are asked for
    /// meanwhile.
    pub fn forward_row_from(&self, r: usize, from: &[u32], row: &mut [u32], ahead: &mut Ahead<'_>) {
        self.check_row(r, from);
        self.check_row(r, row);
        self.run_rows(r, Some(from), row, false, ahead);
    }

    /// The first half of the inverse transform, of all rows of a limb.
    pub fn inverse_rows(&self, limb: &mut [u32]) {
        self.check_limb(limb);
        self.run_rows(0, None, limb, true, &mut Ahead::none());
    }

    /// The first half of the inverse transform, of row `r`.
    pub fn inverse_row(&self, r: usize, row: &mut [u32]) {
        self.check_row(r, row);
        self.run_rows(r, None, row, true, &mut Ahead::none());
    }

    /// [`SplitNtt::inverse_row`] of the row `from`, left in `row`. Lines of `ahead` are asked for
    /// meanwhile.
    pub fn inverse_row_from(&self, r: usize, from: &[u32], row: &mut [u32], ahead: &mut Ahead<'_>) {
        self.check_row(r, from);
        self.check_row(r, row);
        self.run_rows(r, Some(from), row, true, ahead);
    }

    /// The second half of the inverse transform, of all columns of a limb, then times `factor`
    /// ([`SplitNtt::size_inverse`] or [`SplitNtt::inverse_factor`]).
    pub fn inverse_columns(&self, limb: &mut [u32], factor: Shoup) {
        self.check_limb(limb);
        self.inverse_column_tile(limb, self.row_len, factor);
        if let Some(fold) = self.fold {
            fold.unfold_limb(limb);
        }
    }

    /// The second half of the inverse transform of `width` columns, which lie as C rows of `width`
    /// words, then times `factor`.
    pub fn inverse_column_tile(&self, tile: &mut [u32], width: usize, factor: Shoup) {
        self.check_tile(tile, width);
        self.columns(tile, None, None, Some(factor), &mut Ahead::none());
    }

    /// [`SplitNtt::forward_column_tile`] with the words left at `to`; those of `tile` mean nothing
    /// then. Lines of `ahead` are asked for meanwhile.
    pub fn forward_columns_to(&self, tile: &mut [u32], to: ColumnsOut<'_>, ahead: &mut Ahead<'_>) {
        let width = tile.len() / self.rows();
        self.check_tile(tile, width);
        assert!(to.is(self.rows(), width), "columns as many and as wide as those of the tile");
        self.columns(tile, None, Some(to), None, ahead);
    }

    /// [`SplitNtt::inverse_column_tile`] of the words at `from`, left in `tile`. Lines of `ahead`
    /// are asked for meanwhile.
    pub fn inverse_columns_from(
        &self,
        from: ColumnsIn<'_>,
        tile: &mut [u32],
        factor: Shoup,
        ahead: &mut Ahead<'_>,
    ) {
        let width = tile.len() / self.rows();
        self.check_tile(tile, width);
        assert!(from.is(self.rows(), width), "columns as many and as wide as those of the tile");
        self.columns(tile, Some(from), None, Some(factor), ahead);
    }

    fn run_rows(
        &self,
        r: usize,
        from: Option<&[u32]>,
        data: &mut [u32],
        inverse: bool,
        ahead: &mut Ahead<'_>,
    ) {
        let roots = if inverse { self.inverse_roots.view() } else { self.roots.view() };
        let (modulus, row_len, head) = (self.modulus, self.row_len, self.rows() + r);
        dispatch(self.simd, Rows { modulus, roots, from, data, row_len, head, inverse, ahead });
    }

    fn columns(
        &self,
        data: &mut [u32],
        from: Option<ColumnsIn<'_>>,
        to: Option<ColumnsOut<'_>>,
        inverse: Option<Shoup>,
        ahead: &mut Ahead<'_>,
    ) {
        let roots = if inverse.is_some() { self.inverse_roots.view() } else { self.roots.view() };
        let (modulus, points) = (self.modulus, self.rows());
        dispatch(self.simd, Columns { modulus, roots, from, data, to, points, inverse, ahead });
    }

    fn check_limb(&self, limb: &[u32]) {
        assert_eq!(limb.len(), self.size, "the transform is of N words");
    }

    fn check_tile(&self, tile: &[u32], width: usize) {
        assert_eq!(
            tile.len(),
            self.rows() * width,
            "a tile is a row of {width} words for each point"
        );
    }

    fn check_row(&self, r: usize, row: &[u32]) {
        let (rows, len) = (self.rows(), self.row_len);
        assert!(r < rows && row.len() == len, "rows 0..{rows} of {len} words");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NttTable;

    fn words(modulus: Modulus, size: usize) -> Vec<u32> {
        let mut x = 88_172_645_463_325_252_u64;
        let mut next = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            modulus.reduce(x)
        };
        let mut all: Vec<u32> = (0..size).map(|_| next()).collect();
        all[0] = modulus.value() - 1;
        all[size - 1] = 0;
        all
    }

    /// Every class of primes: small, below 2^30, above it and the largest.
    fn moduli(size: usize) -> Vec<Modulus> {
        let prime = |bits| crate::largest_ntt_prime(bits, 2 * size as u32);
        [20, 25, 30, 31]
            .into_iter()
            .filter_map(prime)
            .map(|p| Modulus::new(p).expect("a prime"))
            .collect()
    }

    #[test]
    fn is_the_transform_of_the_table_whatever_the_rows() {
        for log2_size in 1..=12 {
            let size = 1 << log2_size;
            for modulus in moduli(size) {
                let table = NttTable::new(modulus, size).expect("a prime that serves N");
                let input = words(modulus, size);
                let mut want = input.clone();
                table.forward(&mut want);
                for log2_row in 0..=log2_size {
                    let ntt = SplitNtt::with_row_len(modulus, size, 1 << log2_row).expect("same");
                    for simd in Simd::available() {
                        let ntt = ntt.clone().with_simd(simd);
                        let name = (simd.name(), size, ntt.row_len(), modulus.value());
                        let mut data = input.clone();
                        ntt.forward(&mut data);
                        assert_eq!(data, want, "(path, N, R, p) = {name:?}");
                        ntt.inverse(&mut data);
                        assert_eq!(data, input, "(path, N, R, p) = {name:?}");
                    }
                }
            }
        }
    }

    #[test]
    #[allow(unsafe_code)] // Columns where they lie.
    fn transforms_from_and_to_where_words_lie_are_those_in_place() {
        use crate::limb::Area;
        let paths = |m| Simd::available().into_iter().map(move |simd| (m, simd));
        for (modulus, simd) in moduli(1 << 11).into_iter().flat_map(paths) {
            // C of one word, of two, four and more: no pass, one, and several.
            for row_len in [1 << 11, 1 << 10, 1 << 7, 1 << 6] {
                let ntt = SplitNtt::with_row_len(modulus, 1 << 11, row_len).expect("a prime for N");
                let ntt = ntt.with_simd(simd);
                let input = words(modulus, 1 << 11);
                let rows = ntt.rows();
                let areas = [Area::strided(input.as_ptr(), 64, row_len, rows), Area::of(&input)];
                let factor = ntt.inverse_factor(3);
                for (first, width) in [(0, 64), (32, 16), (5, 3)] {
                    let cut = |limb: &[u32]| -> Vec<u32> {
                        let rows = limb.chunks_exact(row_len);
                        rows.flat_map(|row| row[first..][..width].to_vec()).collect()
                    };
                    let ahead = &mut Ahead::over(&areas, rows * width);
                    let mut want = cut(&input);
                    let mut tile = want.clone();
                    ntt.forward_column_tile(&mut want, width);
                    let before: Vec<u32> = input.iter().rev().copied().collect();
                    let mut limb = before.clone();
                    // SAFETY: these columns of a limb that nothing else uses.
                    let to = unsafe {
                        ColumnsOut::new(limb.as_mut_ptr().add(first), row_len, rows, width)
                    };
                    ntt.forward_columns_to(&mut tile, to, ahead);
                    assert_eq!(cut(&limb), want, "{} {row_len} {width}", simd.name());
                    let others = limb
                        .iter()
                        .zip(&before)
                        .enumerate()
                        .filter(|(i, _)| !(first..first + width).contains(&(i % row_len)));
                    assert!(others.into_iter().all(|(_, (a, b))| a == b), "other columns");

                    let mut want = cut(&input);
                    ntt.inverse_column_tile(&mut want, width, factor);
                    // SAFETY: as above, only read.
                    let from =
                        unsafe { ColumnsIn::new(input.as_ptr().add(first), row_len, rows, width) };
                    ntt.inverse_columns_from(from, &mut tile, factor, ahead);
                    assert_eq!(tile, want, "{} {row_len} {width}", simd.name());
                }
                let r = rows.min(2) - 1;
                let row = &input[r * row_len..][..row_len];
                let (mut want, mut have) = (row.to_vec(), vec![0; row_len]);
                ntt.forward_row(r, &mut want);
                ntt.forward_row_from(r, row, &mut have, &mut Ahead::over(&areas, row_len));
                assert_eq!(have, want);
                let mut want = row.to_vec();
                ntt.inverse_row(r, &mut want);
                ntt.inverse_row_from(r, row, &mut have, &mut Ahead::none());
                assert_eq!(have, want);
            }
        }
    }

    #[test]
    fn halves_of_tiles_and_rows_are_those_of_the_limb() {
        let paths = |m| Simd::available().into_iter().map(move |simd| (m, simd));
        for (modulus, simd) in moduli(1 << 8).into_iter().flat_map(paths) {
            let ntt = SplitNtt::with_row_len(modulus, 1 << 8, 1 << 5).expect("a prime for N");
            let ntt = ntt.with_simd(simd);
            let input = words(modulus, 1 << 8);
            let (rows, len) = (ntt.rows(), ntt.row_len());
            let factor = ntt.inverse_factor(modulus.value() - 2);
            let mut columns = input.clone();
            ntt.forward_columns(&mut columns);
            let mut back = columns.clone();
            ntt.inverse_columns(&mut back, factor);
            for (first, width) in [(0, 16), (7, 3), (len - 8, 8)] {
                let cut = |limb: &[u32]| -> Vec<u32> {
                    limb.chunks_exact(len).flat_map(|row| row[first..][..width].to_vec()).collect()
                };
                let mut tile = cut(&input);
                ntt.forward_column_tile(&mut tile, width);
                assert_eq!(tile, cut(&columns));
                ntt.inverse_column_tile(&mut tile, width, factor);
                assert_eq!(tile, cut(&back));
            }
            // C points a column, and the factor N^-1 times -2.
            let m = modulus;
            let inverse = m.inverse(len as u32);
            for (&x, &y) in input.iter().zip(&back) {
                assert_eq!(y, m.neg(m.mul(m.mul(2, x), inverse)));
            }
            let mut whole = columns.clone();
            ntt.forward_rows(&mut whole);
            for r in 0..rows {
                let mut row = columns[r * len..][..len].to_vec();
                ntt.forward_row(r, &mut row);
                assert_eq!(row, whole[r * len..][..len]);
                ntt.inverse_row(r, &mut row);
                assert!(
                    row.iter().zip(&columns[r * len..]).all(|(&a, &b)| a == m.mul(len as u32, b))
                );
            }
        }
    }

    /// By the definition: values at psi^(4 brv(j) + 1), a transform there and back, and products.
    #[test]
    fn the_conjugation_invariant_ring_is_transformed_by_a_fold() {
        for (log2_size, log2_row) in [(1, 1), (3, 3), (4, 2), (6, 6), (6, 3), (7, 1)] {
            let size = 1usize << log2_size;
            for modulus in moduli(2 * size) {
                let m = modulus;
                let row_len = 1 << log2_row;
                let ntt = SplitNtt::invariant_with_row_len(m, size, row_len).expect("1 mod 4N");
                let usual = SplitNtt::with_row_len(m, size, row_len).expect("1 mod 2N");
                assert_eq!(m.mul(ntt.psi(), ntt.psi()), usual.psi());
                let unit = m.pow(ntt.psi(), size as u64);
                assert_eq!(ntt.fold_unit(), Some(m.shoup(unit)));
                assert_eq!((usual.fold_unit(), m.mul(unit, unit)), (None, m.value() - 1));
                // f_0 + sum of f_j (Y^j + Y^-j), as words of Y^0 to Y^(2N-1).
                let whole = |f: &[u32]| {
                    let mut all = [f, &vec![0; size]].concat();
                    (1..size).for_each(|j| all[2 * size - j] = m.neg(f[j]));
                    all
                };
                let value = |f: &[u32], j: usize| {
                    let e = 4 * ntt::bit_reverse(j, log2_size) as u64 + 1;
                    let y = m.pow(ntt.psi(), e);
                    let words = whole(f).into_iter().rev();
                    words.fold(0, |sum, c| m.add(m.mul(sum, y), c))
                };
                let (f, h) = (words(m, size), words(m, size).into_iter().rev().collect::<Vec<_>>());
                let (mut at_f, mut at_h) = (f.clone(), h.clone());
                ntt.forward(&mut at_f);
                ntt.forward(&mut at_h);
                for j in 0..size {
                    assert_eq!(at_f[j], value(&f, j), "N = {size}, place {j}");
                }
                let mut product: Vec<u32> =
                    at_f.iter().zip(&at_h).map(|(&x, &y)| m.mul(x, y)).collect();
                ntt.inverse(&mut product);
                let naive = ntt::negacyclic_product_naive(m, &whole(&f), &whole(&h));
                assert_eq!(product, naive[..size], "N = {size}");
                assert_eq!(naive, whole(&product), "the ring is closed");
                ntt.inverse(&mut at_f);
                assert_eq!(at_f, f);
            }
        }
    }

    /// Column 0 is folded with itself, column R/2 too: there is none of either in a row of one.
    #[test]
    fn rows_of_one_word_have_no_pairs() {
        for modulus in moduli(1 << 4) {
            let refused = SplitNtt::invariant_with_row_len(modulus, 8, 1).expect_err("no pairs");
            assert_eq!(refused, RingError::RowLength { row_len: 1, size: 8 });
            assert!(SplitNtt::with_row_len(modulus, 8, 1).is_ok());
        }
    }

    #[test]
    fn pairs_of_columns_fold_as_the_limb_does() {
        for modulus in moduli(1 << 9) {
            let ntt = SplitNtt::invariant_with_row_len(modulus, 1 << 8, 1 << 5).expect("1 mod 4N");
            let input = words(modulus, 1 << 8);
            let (mut forward, mut back) = (input.clone(), input.clone());
            let factor = ntt.inverse_factor(5);
            ntt.forward_columns(&mut forward);
            ntt.inverse_columns(&mut back, factor);
            for width in [2, 8, 32] {
                let pairs = ColumnPairs::new(8, 32, width).expect("it divides a row");
                for group in 0..pairs.groups() {
                    let cut = |limb: &[u32]| -> Vec<u32> {
                        let at = |k: usize| k / width * 32 + pairs.column(group, k % width);
                        (0..8 * width).map(|k| limb[at(k)]).collect()
                    };
                    let mut tile = cut(&input);
                    ntt.fold_columns(group, &mut tile);
                    ntt.forward_column_tile(&mut tile, width);
                    assert_eq!(tile, cut(&forward), "W = {width}, group {group}");
                    let mut tile = cut(&input);
                    ntt.inverse_column_tile(&mut tile, width, factor);
                    ntt.unfold_columns(group, &mut tile);
                    assert_eq!(tile, cut(&back), "W = {width}, group {group}");
                }
            }
        }
    }

    #[test]
    fn one_row_needs_no_columns() {
        let modulus = Modulus::new(2_147_352_577).expect("a prime");
        let ntt = SplitNtt::new(modulus, 64).expect("1 mod 2^17");
        assert_eq!((ntt.rows(), ntt.row_len()), (1, 64));
        let input = words(modulus, 64);
        let mut data = input.clone();
        ntt.forward_columns(&mut data);
        assert_eq!(data, input);
        let large = SplitNtt::new(modulus, 1 << 16).expect("1 mod 2^17");
        assert_eq!((large.rows(), large.row_len()), (64, 1024));
    }

    #[test]
    #[allow(unsafe_code)] // Columns where they lie.
    fn columns_of_another_shape_are_refused() {
        let modulus = Modulus::new(2_147_352_577).expect("a prime");
        let ntt = SplitNtt::with_row_len(modulus, 512, 64).expect("1 mod 2^17");
        // Narrower than vectors, and of whole ones, which go where they lie without another look.
        for own in [4, 16] {
            // As many rows and as wide, then one of both not.
            let others = [(8, own - 1), (8, own + 16), (4, own), (4, 2 * own), (16, own / 2)];
            for (rows, width) in [(8, own)].into_iter().chain(others) {
                let fits = (rows, width) == (8, own);
                let (mut tile, mut limb) = (vec![0; 8 * own], vec![0; 1024]);
                let call = std::panic::AssertUnwindSafe(|| {
                    // SAFETY: runs of at most 32 words in each row of 64, which are there.
                    let to = unsafe { ColumnsOut::new(limb.as_mut_ptr(), 64, rows, width) };
                    ntt.forward_columns_to(&mut tile, to, &mut Ahead::none());
                });
                assert_eq!(std::panic::catch_unwind(call).is_ok(), fits, "to {rows} x {width}");
                let (mut tile, limb) = (vec![0; 8 * own], vec![0; 1024]);
                let call = std::panic::AssertUnwindSafe(|| {
                    // SAFETY: as above.
                    let from = unsafe { ColumnsIn::new(limb.as_ptr(), 64, rows, width) };
                    let factor = ntt.size_inverse();
                    ntt.inverse_columns_from(from, &mut tile, factor, &mut Ahead::none());
                });
                assert_eq!(std::panic::catch_unwind(call).is_ok(), fits, "from {rows} x {width}");
            }
        }
    }

    #[test]
    fn limbs_tiles_and_rows_of_another_length_are_refused() {
        let modulus = Modulus::new(2_147_352_577).expect("a prime");
        let ntt = &SplitNtt::with_row_len(modulus, 64, 8).expect("1 mod 2^17");
        type Call<'a> = &'a dyn Fn(&SplitNtt, &mut [u32]);
        let factor = ntt.size_inverse();
        let calls: [(&str, Call<'_>, usize); 8] = [
            ("forward_columns", &|ntt, data| ntt.forward_columns(data), 64),
            ("forward_rows", &|ntt, data| ntt.forward_rows(data), 64),
            ("inverse_rows", &|ntt, data| ntt.inverse_rows(data), 64),
            ("inverse_columns", &|ntt, data| ntt.inverse_columns(data, factor), 64),
            ("forward_column_tile", &|ntt, data| ntt.forward_column_tile(data, 4), 32),
            ("inverse_column_tile", &|ntt, data| ntt.inverse_column_tile(data, 4, factor), 32),
            ("forward_row", &|ntt, data| ntt.forward_row(7, data), 8),
            ("inverse_row", &|ntt, data| ntt.inverse_row(7, data), 8),
        ];
        let panics = |call: Call<'_>, len: usize| {
            let call = std::panic::AssertUnwindSafe(|| call(ntt, &mut vec![0; len]));
            std::panic::catch_unwind(call).is_err()
        };
        for (name, call, len) in calls {
            assert!(!panics(call, len), "{name}");
            // Whole rows, too, and whole vectors.
            for wrong in [0, len / 2, len - 8, len + 8, 2 * len] {
                assert!(panics(call, wrong), "{name} of {wrong} words");
            }
        }
        assert!(panics(&|ntt, data| ntt.forward_row(8, data), 8));
    }

    /// Kernels read these: powers of a primitive root in the order of its bits, their inverses, and
    /// Shoup's quotients.
    #[test]
    fn tables_are_the_powers_of_the_root() {
        for modulus in moduli(64) {
            let ntt = SplitNtt::new(modulus, 64).expect("a prime for N");
            let p = u64::from(modulus.value());
            assert_eq!(ntt.size(), 64);
            assert_eq!(modulus.pow(ntt.psi(), 64), modulus.value() - 1);
            let ((roots, quotients), (inverses, inverse_quotients)) =
                (ntt.roots(), ntt.inverse_roots());
            assert_eq!([roots.len(), inverses.len()], [64; 2]);
            for i in 0..64u32 {
                let root = modulus.pow(ntt.psi(), u64::from(i.reverse_bits() >> 26));
                assert_eq!(roots[i as usize], root);
                assert_eq!(modulus.mul(root, inverses[i as usize]), 1);
            }
            for (w, quotient) in [(roots, quotients), (inverses, inverse_quotients)]
                .into_iter()
                .flat_map(|(w, q)| w.iter().zip(q))
            {
                assert_eq!(u64::from(*quotient), (u64::from(*w) << 32) / p);
            }
        }
    }

    #[test]
    fn refuses_by_name() {
        let modulus = Modulus::new(1_048_609).expect("a prime");
        let refused = |size, row| SplitNtt::with_row_len(modulus, size, row).map(|_| ());
        assert_eq!(refused(24, 8), Err(RingError::Size { size: 24 }));
        assert_eq!(refused(8, 16), Err(RingError::RowLength { row_len: 16, size: 8 }));
        assert_eq!(refused(64, 8), Err(RingError::NoRoots { prime: 1_048_609, size: 64 }));
    }
}
