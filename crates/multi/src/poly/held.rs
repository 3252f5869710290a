//! Who holds which limbs of a buffer.

use girih_backend::poly::BufferId;
use std::collections::BTreeMap;
use std::ops::Range;

/// A buffer of the common store. It is allocated on a member when first needed there.
pub(super) struct Held {
    /// Its number on each member that has it.
    pub on: Vec<Option<BufferId>>,
    /// The members that hold the present words of each limb, one bit each; none where the words are
    /// on the host or were never written.
    holders: Vec<u32>,
    /// Limbs that were written and that no member has taken yet: who works on them is known when
    /// they are worked on.
    host: BTreeMap<usize, Vec<u32>>,
}

/// Where some neighbouring limbs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Member(usize),
    Host,
    /// They were never written: any words are right.
    Nowhere,
}

impl Held {
    pub fn new(limbs: usize, members: usize) -> Self {
        Self { on: vec![None; members], holders: vec![0; limbs], host: BTreeMap::new() }
    }

    pub fn limbs(&self) -> usize {
        self.holders.len()
    }

    /// The members that hold all of `range`, one bit each.
    pub fn holders(&self, range: Range<usize>) -> u32 {
        self.holders[range].iter().fold(u32::MAX, |all, holders| all & holders)
    }

    /// `words` are the present ones from limb `first` on.
    pub fn write(&mut self, first: usize, words: &[u32], degree: usize) {
        for (limb, words) in (first..).zip(words.chunks_exact(degree)) {
            self.holders[limb] = 0;
            self.host.insert(limb, words.to_vec());
        }
    }

    /// `member` has new words, and the others old ones.
    pub fn set(&mut self, member: usize, range: Range<usize>) {
        for limb in range {
            self.holders[limb] = 1 << member;
            self.host.remove(&limb);
        }
    }

    /// `member` has the present words too.
    pub fn add(&mut self, member: usize, range: Range<usize>) {
        self.holders[range].iter_mut().for_each(|holders| *holders |= 1 << member);
    }

    /// Members have taken what they want of `range`.
    pub fn taken(&mut self, range: Range<usize>) {
        for limb in range {
            if self.holders[limb] != 0 {
                self.host.remove(&limb);
            }
        }
    }

    /// `range` as runs that are in one place each. What `preferred` holds is taken from there.
    pub fn runs(&self, range: Range<usize>, preferred: usize) -> Vec<(At, Range<usize>)> {
        let at = |limb: usize| match self.holders[limb] {
            holders if holders >> preferred & 1 == 1 => At::Member(preferred),
            _ if self.host.contains_key(&limb) => At::Host,
            0 => At::Nowhere,
            holders => At::Member(holders.trailing_zeros() as usize),
        };
        let mut runs: Vec<(At, Range<usize>)> = Vec::new();
        for limb in range {
            match runs.last_mut() {
                Some((last, run)) if *last == at(limb) => run.end = limb + 1,
                _ => runs.push((at(limb), limb..limb + 1)),
            }
        }
        runs
    }

    /// The words of limbs that are on the host.
    pub fn on_host(&self, range: Range<usize>) -> Vec<u32> {
        self.host.range(range).flat_map(|(_, words)| words.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs_are_where_they_were_written_last() {
        let mut held = Held::new(6, 2);
        assert_eq!(held.runs(0..6, 0), [(At::Nowhere, 0..6)]);
        held.write(1, &[1, 2, 3, 4, 5, 6], 2);
        assert_eq!(
            held.runs(0..6, 1),
            [(At::Nowhere, 0..1), (At::Host, 1..4), (At::Nowhere, 4..6)]
        );
        assert_eq!(held.on_host(2..4), [3, 4, 5, 6]);
        held.add(1, 1..3);
        // Still on the host for others until all have taken theirs.
        assert_eq!(held.runs(1..4, 0), [(At::Host, 1..4)]);
        held.taken(1..4);
        assert_eq!(held.runs(1..4, 0), [(At::Member(1), 1..3), (At::Host, 3..4)]);
        held.set(0, 2..6);
        assert_eq!(held.runs(1..6, 1), [(At::Member(1), 1..2), (At::Member(0), 2..6)]);
        assert_eq!((held.holders(2..6), held.holders(1..3)), (1, 0));
        held.add(1, 2..3);
        assert_eq!(held.holders(1..3), 2);
    }
}
