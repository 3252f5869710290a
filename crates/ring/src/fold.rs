//! The fold that makes a transform of the conjugation-invariant ring out of the usual butterflies.
//!
//! The ring (Kim and Song 2018) has the polynomials f_0 + sum of f_j (Y^j + Y^-j), 0 < j < N, with
//! Y^(2N) = -1: N coefficients, and N real slots. Modulo a prime that is 1 modulo 4N let psi be of
//! order 4N and i = psi^N. At a point with Y^N = i such a polynomial has the value of the sum of
//! g_j Y^j, where g_0 = f_0 and g_j = f_j - i f_(N-j). Back, f_j = (g_j + i g_(N-j)) / 2.
//!
//! A limb is C rows of R words, word j in column j mod R. So column c is folded with column R - c,
//! its rows in the other order, and what works on some columns at a time works on pairs of them.

use crate::{Modulus, Shoup};

/// Columns of a limb, W at a time: W/2 of the lower half of a row, then those that they are folded
/// with.
///
/// With w = W/2, group g has columns g w to g w + w - 1, then R - (g + 1) w + 1 to R - g w, in this
/// order. Column R, which would be the last of group 0, is R/2 instead. Slot s is folded with slot
/// W - 1 - s, rows r and C - 1 - r. Slots 0 and W - 1 of group 0 are columns 0 and R/2, each folded
/// with itself: column 0 rows r and C - r, but for word 0, which is folded with none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnPairs {
    rows: usize,
    row_len: usize,
    width: usize,
}

impl ColumnPairs {
    /// W = `width` columns at a time of `rows` rows of `row_len` words. None unless `width` is even
    /// and divides `row_len`.
    pub fn new(rows: usize, row_len: usize, width: usize) -> Option<Self> {
        let fits = width > 0 && width.is_multiple_of(2) && row_len.is_multiple_of(width);
        fits.then_some(Self { rows, row_len, width })
    }

    /// Number of groups: R/W.
    pub fn groups(self) -> usize {
        self.row_len / self.width
    }

    /// The column that slot `slot` of `group` is.
    pub fn column(self, group: usize, slot: usize) -> usize {
        let half = self.width / 2;
        match slot.checked_sub(half) {
            None => group * half + slot,
            Some(above) if group == 0 && above + 1 == half => self.row_len / 2,
            Some(above) => self.row_len - (group + 1) * half + 1 + above,
        }
    }

    /// Columns side by side that are slots side by side: (first column, first slot, how many).
    pub fn runs(self, group: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let (half, last) = (self.width / 2, usize::from(group == 0));
        let above = self.row_len + 1 - (group + 1) * half;
        let runs = [
            (group * half, 0, half),
            (above, half, half - last),
            (self.row_len / 2, self.width - 1, last),
        ];
        runs.into_iter().filter(|run| run.2 > 0)
    }

    /// The row and slot that a word of `group` is folded with; none for word 0.
    pub fn mirrored(self, group: usize, row: usize, slot: usize) -> Option<(usize, usize)> {
        match (group, slot) {
            (0, 0) if row == 0 => None,
            (0, 0) => Some((self.rows - row, 0)),
            (0, s) if s + 1 == self.width => Some((self.rows - 1 - row, s)),
            _ => Some((self.rows - 1 - row, self.width - 1 - slot)),
        }
    }
}

/// The fold modulo one prime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    pub modulus: Modulus,
    /// i = psi^N.
    pub unit: Shoup,
}

impl Fold {
    /// Folds a tile of `pairs`, rows of W words.
    pub fn fold(self, pairs: ColumnPairs, group: usize, tile: &mut [u32]) {
        let m = self.modulus;
        let by = |x: u32, y: u32| {
            (m.sub(x, m.mul_shoup(y, self.unit)), m.sub(y, m.mul_shoup(x, self.unit)))
        };
        each_pair(pairs, group, tile, by);
    }

    /// Undoes [`Fold::fold`], but leaves half of each word.
    pub fn unfold(self, pairs: ColumnPairs, group: usize, tile: &mut [u32]) {
        let m = self.modulus;
        let by = |x: u32, y: u32| {
            (m.add(x, m.mul_shoup(y, self.unit)), m.add(y, m.mul_shoup(x, self.unit)))
        };
        each_pair(pairs, group, tile, by);
        if group == 0 {
            tile[0] = m.add(tile[0], tile[0]);
        }
    }

    /// Folds a limb, its words in order.
    pub fn fold_limb(self, limb: &mut [u32]) {
        let m = self.modulus;
        for j in 1..=limb.len() / 2 {
            let (x, y) = (limb[j], limb[limb.len() - j]);
            limb[j] = m.sub(x, m.mul_shoup(y, self.unit));
            let last = limb.len() - j;
            limb[last] = m.sub(y, m.mul_shoup(x, self.unit));
        }
    }

    /// Undoes [`Fold::fold_limb`], but leaves half of each word.
    pub fn unfold_limb(self, limb: &mut [u32]) {
        let m = self.modulus;
        limb[0] = m.add(limb[0], limb[0]);
        for j in 1..=limb.len() / 2 {
            let (x, y) = (limb[j], limb[limb.len() - j]);
            limb[j] = m.add(x, m.mul_shoup(y, self.unit));
            let last = limb.len() - j;
            limb[last] = m.add(y, m.mul_shoup(x, self.unit));
        }
    }
}

/// Replaces the words of each pair of a tile by what `by` makes of both; where a word is folded
/// with itself, by the first.
fn each_pair(
    pairs: ColumnPairs,
    group: usize,
    tile: &mut [u32],
    by: impl Fn(u32, u32) -> (u32, u32),
) {
    let ColumnPairs { rows, width, .. } = pairs;
    assert_eq!(tile.len(), rows * width, "a tile is a row of {width} words for each point");
    let mut pair = |at: usize, other: usize| {
        let (x, y) = by(tile[at], tile[other]);
        tile[other] = y;
        tile[at] = x;
    };
    let first = usize::from(group == 0);
    for row in 0..rows {
        let other = rows - 1 - row;
        for slot in first..width / 2 {
            pair(row * width + slot, other * width + width - 1 - slot);
        }
    }
    if group > 0 {
        return;
    }
    for row in 1..=rows / 2 {
        pair(row * width, (rows - row) * width);
    }
    for row in 0..rows.div_ceil(2) {
        pair(row * width + width - 1, (rows - 1 - row) * width + width - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every column stands in one slot of one group, and a word's mirror is where N - j stands.
    #[test]
    fn pairs_are_all_columns_once() {
        for (rows, row_len) in [(1, 2), (1, 16), (2, 16), (8, 32)] {
            for width in [2, 4, 8, 16, 32] {
                let Some(pairs) = ColumnPairs::new(rows, row_len, width) else { continue };
                let mut seen = vec![false; row_len];
                for group in 0..pairs.groups() {
                    let side = |(column, slot, len)| (0..len).map(move |i| (slot + i, column + i));
                    let runs = pairs.runs(group).flat_map(side);
                    let columns = (0..width).map(|slot| (slot, pairs.column(group, slot)));
                    assert!(runs.eq(columns), "{rows} {row_len} {width} {group}");
                    assert!(pairs.runs(group).all(|(_, _, len)| len > 0), "a run of nothing");
                    for slot in 0..width {
                        let column = pairs.column(group, slot);
                        assert!(!std::mem::replace(&mut seen[column], true), "{column} twice");
                        for row in 0..rows {
                            let j = row * row_len + column;
                            let mirror = pairs.mirrored(group, row, slot);
                            let word = mirror.map(|(r, s)| r * row_len + pairs.column(group, s));
                            assert_eq!(word, (j > 0).then(|| rows * row_len - j));
                        }
                    }
                }
                assert!(seen.into_iter().all(|s| s));
            }
        }
        // Odd, wider than a row, and of no columns at all.
        for (row_len, width) in [(32, 1), (32, 3), (33, 3), (32, 64), (32, 0), (0, 0)] {
            assert_eq!(ColumnPairs::new(8, row_len, width), None, "{width} of {row_len}");
        }
    }
}
