//! The digits of each level: as the set cuts them, or joined where they fit into one
//! ([`CkksParameters::joined_digits_at`](crate::CkksParameters::joined_digits_at) says when).

use girih_backend::poly::{Basis, RingShape};

use super::chain_shape::ChainShape;
use crate::params::joined;

/// What a key switch at a level raises as one: a digit's primes of that level, or those of several
/// digits joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelDigit {
    /// The numbers of the digits, ascending.
    pub numbers: Vec<usize>,
    /// Their primes of the level.
    pub basis: Basis,
}

/// The digits of one level, both ways.
#[derive(Clone, Debug)]
pub(super) struct LevelDigits {
    pub alone: Vec<LevelDigit>,
    pub joined: Vec<LevelDigit>,
}

impl LevelDigits {
    /// The same digits over other primes.
    pub fn over(&self, there: &impl Fn(&Basis) -> Basis) -> Self {
        let one =
            |d: &LevelDigit| LevelDigit { numbers: d.numbers.clone(), basis: there(&d.basis) };
        Self {
            alone: self.alone.iter().map(one).collect(),
            joined: self.joined.iter().map(one).collect(),
        }
    }

    /// Those of every level.
    pub fn of(
        shape: &ChainShape,
        ring: &RingShape,
        levels: &[Basis],
        digits: &[Basis],
    ) -> Vec<Self> {
        let primes = |basis: &Basis| -> Vec<u32> {
            basis.primes().iter().map(|&p| ring.primes[usize::from(p)].value()).collect()
        };
        let first = shape.bootstrapping.as_ref().filter(|b| !b.stc_first).map(|b| b.out());
        let one = |(level, base): (usize, &Basis)| {
            let part = |(number, digit): (usize, &Basis)| LevelDigit {
                numbers: vec![number],
                basis: digit.intersection(base),
            };
            let alone = digits.iter().enumerate().map(part);
            let alone: Vec<_> = alone.filter(|digit| !digit.basis.is_empty()).collect();
            let parts: Vec<_> = alone.iter().map(|digit| primes(&digit.basis)).collect();
            let allowance = joined::allowance(first == Some(level));
            let group = |members: Vec<usize>| {
                let of = members.iter().map(|&place| &alone[place]);
                LevelDigit {
                    numbers: of.clone().flat_map(|digit| digit.numbers.clone()).collect(),
                    basis: of.fold(Basis::new([]), |all, digit| all.union(&digit.basis)),
                }
            };
            let groups = joined::joined(&parts, &shape.auxiliary, allowance);
            Self { joined: groups.into_iter().map(group).collect(), alone }
        };
        levels.iter().enumerate().map(one).collect()
    }
}
