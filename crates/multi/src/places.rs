//! Who holds which ciphertext of the store.

use std::ops::Range;

/// The members that hold the present value of each ciphertext, one bit each; never none.
#[derive(Default)]
pub(crate) struct Places {
    holders: Vec<u32>,
}

impl Places {
    /// New ones are zero everywhere.
    pub fn grow(&mut self, len: usize, members: usize) {
        self.holders.resize(len.max(self.holders.len()), u32::MAX >> (32 - members));
    }

    pub fn holders(&self, place: u32) -> u32 {
        self.holders[place as usize]
    }

    pub fn holds(&self, member: usize, place: u32) -> bool {
        self.holders(place) >> member & 1 == 1
    }

    /// A member that holds it.
    pub fn holder(&self, place: u32) -> usize {
        self.holders(place).trailing_zeros() as usize
    }

    /// `member` has a new value, and the others an old one.
    pub fn set(&mut self, member: usize, place: u32) {
        self.holders[place as usize] = 1 << member;
    }

    /// `member` has a copy.
    pub fn add(&mut self, member: usize, place: u32) {
        self.holders[place as usize] |= 1 << member;
    }

    /// `range` as runs that one member holds whole, each as long as it can be.
    pub fn runs(&self, range: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let mut runs = Vec::new();
        let mut first = range.start;
        while first < range.end {
            let (mut common, mut end) = (self.holders[first], first + 1);
            while end < range.end && common & self.holders[end] != 0 {
                common &= self.holders[end];
                end += 1;
            }
            runs.push((common.trailing_zeros() as usize, first..end));
            first = end;
        }
        runs
    }
}

/// Ascending `places` as runs of neighbours.
pub(crate) fn neighbours(places: &[u32]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for place in places.iter().map(|&p| p as usize) {
        match runs.last_mut() {
            Some(run) if run.end == place => run.end += 1,
            _ => runs.push(place..place + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_long_as_one_member_holds_them() {
        let mut places = Places::default();
        places.grow(6, 2);
        assert_eq!(places.runs(0..6), [(0, 0..6)]);
        (0..3).for_each(|p| places.set(0, p));
        (4..6).for_each(|p| places.set(1, p));
        assert_eq!(places.runs(0..6), [(0, 0..4), (1, 4..6)]);
        assert_eq!(places.runs(3..5), [(1, 3..5)]);
        places.add(1, 2);
        assert_eq!(places.runs(2..6), [(1, 2..6)]);
        assert!(places.holds(0, 2) && !places.holds(0, 4));
    }

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(neighbours(&[1, 2, 3, 7, 9, 10]), [1..4, 7..8, 9..11]);
        assert!(neighbours(&[]).is_empty());
    }
}
