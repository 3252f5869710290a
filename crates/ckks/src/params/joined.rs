//! Digits of a level that are joined into one.
//!
//! Digits are fixed by the set, and a level has all primes of some and a few of others. Where two
//! of them together are no larger than a digit may be, they can be raised as one: their residues
//! are one number modulo the product of their primes, and as the gadget factor of a row of a
//! switching key is P on the primes of its digit and 0 on all others, the key of both is the sum of
//! their rows. A digit less is a ModUp less and a product less; the errors of both rows add up.

use super::{CkksParameters, ModulusChain};
use num_bigint::BigUint;

/// Digits of a level that are raised as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigitGroup {
    /// Their numbers, ascending.
    pub digits: Vec<usize>,
    /// The positions of F that they have in common with the level's base, ascending.
    pub positions: Vec<usize>,
}

/// How much more variance than the rounding of a division the keys may add where
/// slots-to-coefficients begins after the modular reduction.
///
/// Messages stand there at the scale of the reduction, 2^58, divided by the message ratio. By the
/// time they are slots, 2^15 errors at most have met in each, and what the reduction itself left is
/// 2^14 times as large (variances; N = 2^16): this much adds 2 % to it.
const BEFORE_SLOTS_TO_COEFFICIENTS: u32 = 1 << 8;

/// By how much more than its rounding the keys may disturb a key switch, where `first` says that
/// slots-to-coefficients begins after the modular reduction.
pub(crate) fn allowance(first: bool) -> u32 {
    if first { BEFORE_SLOTS_TO_COEFFICIENTS } else { 1 }
}

/// Digits in the making.
#[derive(Clone)]
struct Group {
    members: Vec<usize>,
    primes: usize,
    product: BigUint,
}

impl Group {
    fn with(&self, other: &Self) -> Self {
        let mut members = [&self.members[..], &other.members].concat();
        members.sort_unstable();
        let product = &self.product * &other.product;
        Self { members, primes: self.primes + other.primes, product }
    }

    /// The variance that its product with a key adds, times P^2, in units of a division's rounding
    /// (a little above it): 16 n |D| D^2 for n rows of a key.
    fn noise(&self) -> BigUint {
        &self.product * &self.product * (16 * self.members.len() * self.primes)
    }
}

/// Which of `parts`, the primes of a level's digits, are joined: their places in `parts`, each
/// group ascending, groups by their first.
///
/// From the largest product to the smallest, a part joins the group of least product that it fits
/// in, or begins one. It fits where together they have at most as many primes as P, and where the
/// key product's noise over all digits stays below `allowance` times the rounding of the division
/// that follows: 16 times the sum of n |D| D^2 below `allowance` P^2, for n parts with |D| primes
/// and product D. This is the bound that [`CkksParameters`] has for digits.
pub(crate) fn joined(parts: &[Vec<u32>], auxiliary: &[u32], allowance: u32) -> Vec<Vec<usize>> {
    let product =
        |primes: &[u32]| primes.iter().fold(BigUint::from(1u32), |product, &p| product * p);
    let p = product(auxiliary);
    let limit = &p * &p * allowance;
    let alone = |(place, primes): (usize, &Vec<u32>)| Group {
        members: vec![place],
        primes: primes.len(),
        product: product(primes),
    };
    let mut left: Vec<Group> = parts.iter().enumerate().map(alone).collect();
    let mut noise: BigUint = left.iter().map(Group::noise).sum();
    left.sort_by(|x, y| y.product.cmp(&x.product));
    let mut groups: Vec<Group> = Vec::new();
    for part in left {
        let fits = |(place, group): (usize, &Group)| {
            let both = group.with(&part);
            let noise = &noise + both.noise() - group.noise() - part.noise();
            let fits = both.primes <= auxiliary.len() && noise < limit;
            fits.then_some((place, both, noise))
        };
        let fitting = groups.iter().enumerate().filter_map(fits);
        let least = fitting.min_by(|(x, ..), (y, ..)| groups[*x].product.cmp(&groups[*y].product));
        match least {
            Some((place, both, after)) => (groups[place], noise) = (both, after),
            None => groups.push(part),
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_iter().map(|group| group.members).collect();
    groups.sort_unstable();
    groups
}

impl ModulusChain {
    /// Whether `other` has the same primes, levels and digits, whatever its degree.
    pub(super) fn has_primes_of(&self, other: &Self) -> bool {
        let shape = |chain: &Self| (chain.terminal_len(), chain.full_len());
        shape(self) == shape(other)
            && self.moduli() == other.moduli()
            && self.states() == other.states()
            && self.digits() == other.digits()
    }
}

impl CkksParameters {
    /// Whether a server joins digits unless it is told otherwise
    /// ([`Options::join_digits`](crate::server::Options)): it does for all sets but those whose
    /// words published runs fix, CKKS_D40 and CKKS_D35, and small rings over their primes.
    pub fn joins_digits(&self) -> bool {
        !super::builtin::published().any(|set| {
            self.chain().has_primes_of(set.chain()) && self.bootstrapping() == set.bootstrapping()
        })
    }

    /// The digits of `level` where those are joined that fit into one; `level` is at most the top
    /// one.
    ///
    /// From the largest to the smallest, a digit joins the group of least product that it fits in,
    /// or begins one. It fits where together they have at most as many primes as P, and where the
    /// noise of the key product stays below the rounding that follows ([`NoiseModel::key_product`],
    /// [`NoiseModel::rounding`]); below 2^8 times that at the level where slots-to-coefficients
    /// begins after the modular reduction, whose scale is as much larger.
    ///
    /// [`NoiseModel::key_product`]: crate::NoiseModel::key_product
    /// [`NoiseModel::rounding`]: crate::NoiseModel::rounding
    pub fn joined_digits_at(&self, level: usize) -> Vec<DigitGroup> {
        let chain = self.chain();
        let primes = |positions: std::ops::Range<usize>| -> Vec<u32> {
            positions.map(|position| chain.prime(position)).collect()
        };
        let digits = chain.digits_at(level);
        let parts: Vec<_> = digits.iter().map(|(_, part)| primes(part.clone())).collect();
        let first = self
            .bootstrapping()
            .is_some_and(|b| !b.slots_to_coefficients_first() && level == b.reduced_level());
        let groups = joined(&parts, &primes(chain.auxiliary()), allowance(first));
        let group = |members: Vec<usize>| {
            let of = members.iter().map(|&place| &digits[place]);
            DigitGroup {
                digits: of.clone().map(|(number, _)| *number).collect(),
                positions: of.flat_map(|(_, part)| part.clone()).collect(),
            }
        };
        groups.into_iter().map(group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Chain, ChainShape};

    /// Every way to divide `0..count` into groups.
    fn partitions(count: usize) -> Vec<Vec<Vec<usize>>> {
        let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
        let mut all = Vec::new();
        for smaller in partitions(last) {
            for place in 0..=smaller.len() {
                let mut larger = smaller.clone();
                match larger.get_mut(place) {
                    Some(group) => group.push(last),
                    None => larger.push(vec![last]),
                }
                all.push(larger);
            }
        }
        all
    }

    /// What holds at every level of every set; no other grouping that is allowed has fewer groups.
    #[test]
    fn groups_are_the_fewest_that_are_allowed() {
        for set in CkksParameters::all() {
            let chain = set.chain();
            let p = chain.product(chain.auxiliary());
            for level in 0..=set.top_level() {
                let digits = chain.digits_at(level);
                let groups = set.joined_digits_at(level);
                let mut all: Vec<usize> = groups.iter().flat_map(|g| g.positions.clone()).collect();
                all.sort_unstable();
                assert_eq!(all, chain.base(level).collect::<Vec<_>>(), "{set} level {level}");
                let bootstrapping = set.bootstrapping();
                let first = bootstrapping.filter(|b| !b.slots_to_coefficients_first());
                let first = first.is_some_and(|b| level == b.reduced_level());
                let limit = &p * &p * if first { 256u32 } else { 1 };
                let allowed = |groups: &[Vec<usize>]| {
                    let mut noise = BigUint::ZERO;
                    for group in groups {
                        let positions = group.iter().flat_map(|&place| digits[place].1.clone());
                        let primes = positions.clone().count();
                        if primes > chain.auxiliary_len() {
                            return false;
                        }
                        let d = chain.product(positions);
                        noise += &d * &d * (16 * group.len() * primes);
                    }
                    noise < limit
                };
                let ways = partitions(digits.len());
                let fewest = ways.iter().filter(|way| allowed(way)).map(Vec::len).min();
                assert_eq!(Some(groups.len()), fewest, "{set} level {level}");
                let place = |number: &usize| digits.iter().position(|(n, _)| n == number);
                let own = groups.iter().map(|g| g.digits.iter().filter_map(place).collect());
                assert!(allowed(&own.collect::<Vec<_>>()), "{set} level {level}");
            }
        }
    }

    #[test]
    fn recorded_digits_are_those_of_the_set() {
        for set in CkksParameters::all().iter().chain(&CkksParameters::insecure()) {
            for join_digits in [true, false] {
                let shape = ChainShape { join_digits, ..ChainShape::from(set) };
                let chain = Chain::new(shape).expect("a set's chain");
                for level in 0..=set.top_level() {
                    let found = chain.digits_at(level).expect("a level").iter();
                    let positions = |d: &crate::program::LevelDigit| {
                        d.basis.primes().iter().map(|&p| usize::from(p)).collect()
                    };
                    let found = found
                        .map(|d| DigitGroup { digits: d.numbers.clone(), positions: positions(d) });
                    let alone = || {
                        let all = set.chain().digits_at(level).into_iter();
                        let one = |(number, part): (usize, std::ops::Range<usize>)| DigitGroup {
                            digits: vec![number],
                            positions: part.collect(),
                        };
                        all.map(one).collect()
                    };
                    let wanted = if join_digits { set.joined_digits_at(level) } else { alone() };
                    assert_eq!(found.collect::<Vec<_>>(), wanted, "{set} level {level}");
                }
            }
        }
    }

    /// Levels whose digits are parts of eight primes and a few.
    #[test]
    fn some_levels_by_name() {
        let numbers = |name: &str, level| {
            let set = CkksParameters::by_name(name).expect("built in");
            set.joined_digits_at(level).into_iter().map(|g| g.digits).collect::<Vec<_>>()
        };
        // 23 limbs: 8 + 11 + 4 and 8 + 12 + 3; 35: 8 + 11 + 12 + 4.
        assert_eq!(numbers("CKKS_D40_30BIT", 16), [vec![0, 2], vec![1]]);
        assert_eq!(numbers("CKKS_D40", 16), [vec![0, 2], vec![1]]);
        assert_eq!(numbers("CKKS_D40_30BIT", 22), [vec![0, 3], vec![1], vec![2]]);
        // Eight and eleven are more than twelve.
        assert_eq!(numbers("CKKS_D40_30BIT", 12), [vec![0], vec![1]]);
        // Where slots-to-coefficients comes first, that level belongs to the modular reduction.
        assert_eq!(numbers("CKKS_D40_30BIT_STC_FIRST", 16), [[0], [1], [2]]);
    }

    #[test]
    fn published_words_stay() {
        for set in CkksParameters::all().iter().chain(&CkksParameters::insecure()) {
            let name = set.name().trim_start_matches("INSECURE_");
            let base = name.split("_N1").next().unwrap_or_default();
            let fixed = name.starts_with("CKKS_D") && ["CKKS_D40", "CKKS_D35"].contains(&base);
            assert_eq!(set.joins_digits(), !fixed, "{set}");
        }
    }
}
