//! The basis T of KLSS (docs/ckks.md, "Keys and key switching"): found for a set, and checked.

use num_bigint::BigUint;

use super::chain::Chain;
use super::chain_shape::ChainShape;
use super::error::RecordError;
use super::exact;

const OPERATION: &str = "KLSS";

fn wrong<T>(why: String) -> Result<T, RecordError> {
    Err(RecordError::Shape { operation: OPERATION, why })
}

/// What T must exceed: twice the largest sum over digits of products of a digit and a group. A
/// joined digit is multiplied by each of its rows, so that there are as many products; whether they
/// are joined does not change T.
fn needed(chain: &Chain, groups: &[BigUint]) -> BigUint {
    let digits = chain.digits().iter().chain(chain.joined_bases());
    let digit = digits.map(|d| (&*chain.product(d) >> 1u32) * d.len() as u64).max();
    let group = groups.iter().map(|product| product >> 1u32).max();
    let (digit, group) = (digit.unwrap_or_default(), group.unwrap_or_default());
    digit * group * (2 * chain.digits().len() as u64 * chain.degree() as u64)
}

/// Whether `needed < T (1 - 2^-log2_margin)`.
fn fits(needed: &BigUint, t: &BigUint, log2_margin: u32) -> bool {
    needed << log2_margin < t * ((1u32 << log2_margin) - 1)
}

/// Refuses KLSS where the products might exceed T.
pub(super) fn check(chain: &Chain) -> Result<(), RecordError> {
    if chain.groups().is_empty() {
        return wrong("the chain has no primes for its basis T".into());
    }
    let groups: Vec<_> = chain.groups().iter().map(|g| (*chain.product(g)).clone()).collect();
    let t = chain.product(chain.klss());
    if !fits(&needed(chain, &groups), &t, 13) {
        let log2 = exact::nearest(&t).log2();
        return wrong(format!("a basis T of {log2:.1} bits is too small for digits and groups"));
    }
    Ok(())
}

impl ChainShape {
    /// The same chain with a basis T for groups of `group` primes: the largest primes below 2^31
    /// that are 1 modulo 2N and not in use, as few as serve every level.
    ///
    /// # Errors
    /// For groups of no primes, or more than there are; for a chain that there cannot be, and where
    /// there are not enough primes.
    pub fn with_klss(self, group: usize) -> Result<Self, RecordError> {
        let plain = Self { klss: Vec::new(), klss_group: 0, ..self };
        let chain = Chain::new(plain.clone())?;
        let full = plain.terminal.len() + plain.main.len();
        if group == 0 || group > full {
            return wrong(format!("groups of {group} primes: of {full}, take 1 to {full}"));
        }
        let used: Vec<u32> = chain.ring().primes.iter().map(|p| p.value()).collect();
        let (low, high) = used.split_at(full);
        let runs = low.chunks(group).chain(high.chunks(group));
        let groups: Vec<_> = runs.map(|run| exact::product(run.iter().copied())).collect();
        let needed = needed(&chain, &groups);
        let order = 2 * chain.degree() as u64;
        let mut candidate = ((1u64 << 31) - 1) / order * order + 1;
        let (mut primes, mut t) = (Vec::new(), BigUint::from(1u32));
        // Corrected conversions from 42 primes err within 2^-13 of a tie:
        // this leaves as much again.
        while !fits(&needed, &t, 12) {
            candidate -= order;
            if candidate < 1 << 30 {
                return wrong(format!("there are too few primes for groups of {group}"));
            }
            let prime = candidate as u32;
            if girih_ring::is_prime(candidate) && !used.contains(&prime) {
                primes.push(prime);
                t *= prime;
            }
        }
        Ok(Self { klss: primes, klss_group: group, ..plain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CkksParameters;

    /// The bases that docs/ckks.md, "Keys and key switching", states: limbs, alpha, gamma; r'.
    /// Chains of the other rows are made of CKKS_D40's primes.
    #[test]
    fn bases_have_the_number_of_primes_that_the_bound_asks_for() {
        let d40 = ChainShape::from(&CkksParameters::by_name("CKKS_D40").unwrap());
        for (alpha, gamma, primes) in [(12, 12, 25), (6, 12, 19), (4, 8, 13)] {
            let full = d40.terminal.len() + d40.main.len();
            let mut digits = vec![alpha; full / alpha];
            digits.extend((full % alpha > 0).then_some(full % alpha));
            let auxiliary = d40.auxiliary[..alpha].to_vec();
            let shape = ChainShape { digits, auxiliary, bootstrapping: None, ..d40.clone() };
            let shape = shape.with_klss(gamma).unwrap();
            assert_eq!(shape.klss.len(), primes, "alpha {alpha}");
            let chain = Chain::new(shape.clone()).unwrap();
            check(&chain).unwrap();
            let short = ChainShape { klss: shape.klss[1..].to_vec(), ..shape };
            assert!(check(&Chain::new(short).unwrap()).is_err());
        }
    }

    #[test]
    fn impossible_groups_are_refused() {
        let shape = ChainShape::from(&CkksParameters::by_name("CKKS_N14_D40").unwrap());
        let error = shape.clone().with_klss(0).unwrap_err().to_string();
        assert!(error.contains("take 1 to"), "{error}");
        assert!(shape.clone().with_klss(1000).is_err());
        assert!(check(&Chain::new(shape).unwrap()).is_err());
    }
}
