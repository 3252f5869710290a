//! How far a switching key reaches.

use super::KeyKind;
use crate::CkksParameters;
use std::ops::Range;

/// A switching key for ciphertexts up to a level: it has the digits and the limbs that these have,
/// and no others. A key that serves levels up to half of the chain is a quarter as large as one
/// that serves all.
///
/// Its words are those that the key for all levels has there, and so are results. Keys from or to
/// the sparse secret have one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyRange {
    /// What it is for.
    pub kind: KeyKind,
    /// The highest level at which it is to be used; above the top of the chain counts as the top.
    pub level: usize,
}

impl From<KeyKind> for KeyRange {
    /// For all levels.
    fn from(kind: KeyKind) -> Self {
        Self { kind, level: usize::MAX }
    }
}

impl KeyKind {
    /// This key for levels up to `level` alone.
    pub fn up_to(self, level: usize) -> KeyRange {
        KeyRange { kind: self, level }
    }
}

impl KeyRange {
    /// Whether the level says anything: keys of the sparse secret have one size.
    pub(crate) fn has_levels(self) -> bool {
        !matches!(
            self.kind,
            KeyKind::DenseToSparse | KeyKind::SparseToDense | KeyKind::First { .. }
        )
    }

    /// The same with a level that `set` has: the top one where that is all the same.
    pub fn within(self, set: &CkksParameters) -> Self {
        let top = set.chain().top_level();
        Self { level: if self.has_levels() { self.level.min(top) } else { top }, ..self }
    }

    /// Positions of F in use at its levels, which need not be nested.
    fn full(self, set: &CkksParameters) -> Range<usize> {
        let chain = set.chain();
        let top = chain.top_level();
        // Keys for all levels have all primes, those of no level too.
        if self.level >= top {
            return 0..chain.full_len();
        }
        let bases = (0..=self.level).map(|level| chain.base(level));
        bases.fold(chain.base(0), |all, base| all.start.min(base.start)..all.end.max(base.end))
    }

    /// The numbers of its digits.
    pub fn digits(self, set: &CkksParameters) -> Range<usize> {
        if !self.has_levels() {
            return 0..1;
        }
        let full = self.full(set);
        let digits = set.chain().digits();
        let meets = |digit: &Range<usize>| digit.start < full.end && full.start < digit.end;
        let first = digits.iter().position(meets).unwrap_or(0);
        let rows = self.kind.rows_of_a_digit();
        let count = digits.iter().filter(|digit| meets(digit)).count();
        rows * first..rows * (first + count)
    }

    /// Positions of F and P at which it has limbs, in order.
    pub fn positions(self, set: &CkksParameters) -> Vec<usize> {
        if self.has_levels() {
            self.full(set).chain(set.chain().auxiliary()).collect()
        } else {
            self.kind.positions(set)
        }
    }

    /// Words of one part, b or a, of the whole key: `[digit][limb][N]`.
    pub fn words(self, set: &CkksParameters) -> usize {
        self.digits(set).len() * self.positions(set).len() * set.degree()
    }

    /// Bytes of the whole key on a device.
    pub fn bytes(self, set: &CkksParameters) -> u64 {
        2 * 4 * self.words(set) as u64
    }

    /// The highest level of those whose keys of this kind have so many words in a part.
    pub(super) fn of_words(kind: KeyKind, set: &CkksParameters, words: usize) -> Option<Self> {
        let levels = (0..=set.chain().top_level()).rev();
        levels.map(|level| kind.up_to(level).within(set)).find(|key| key.words(set) == words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_levels_take_fewer_digits_and_limbs() {
        let set = CkksParameters::by_name("CKKS_D40").expect("built in");
        let chain = set.chain();
        let kind = KeyKind::Multiplication;
        let all = KeyRange::from(kind).within(&set);
        assert_eq!(all.words(&set), kind.words(&set));
        assert_eq!(all.positions(&set), kind.positions(&set));
        let mut last = 0;
        for level in 0..=chain.top_level() {
            let key = kind.up_to(level);
            let positions = key.positions(&set);
            // Every base below, with P, and every digit that meets one.
            for below in 0..=level {
                assert!(chain.base(below).all(|p| positions.contains(&p)), "{level} {below}");
                for (digit, _) in chain.digits_at(below) {
                    assert!(key.digits(&set).contains(&digit), "{level} {below}");
                }
            }
            assert!(key.words(&set) >= last, "{level}");
            last = key.words(&set);
            let found = KeyRange::of_words(kind, &set, last).expect("it was made so");
            assert!(found.level >= level && found.words(&set) == last);
        }
        assert_eq!(last, kind.words(&set));
        let middle = kind.up_to(chain.top_level() / 2).words(&set);
        assert!(3 * middle < last, "{middle} of {last}");
        let sparse = KeyKind::DenseToSparse.up_to(0).within(&set);
        assert_eq!(sparse.words(&set), KeyKind::DenseToSparse.words(&set));
        assert_eq!(KeyRange::of_words(kind, &set, 1), None);
    }
}
