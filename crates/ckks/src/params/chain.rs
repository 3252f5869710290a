//! The primes of a set, their order, and the base of each level: everything that fixes integers.

use super::exact;
use crate::{Error, Result};
use girih_ring::Modulus;
use num_bigint::BigUint;
use std::ops::Range;

/// The primes in use at a level: `main` main primes and `terminal` terminal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// m, main primes.
    pub main: usize,
    /// k, terminal primes.
    pub terminal: usize,
}

/// The primes of a set in their one fixed order, the base of each level, and the digits.
///
/// *Positions* number all primes: first F, which is `t_{nT-1}, .., t_1, t_0, q_0, q_1, ..`, then
/// the auxiliary primes `p_0, p_1, ..` (the inverted-terminal layout of Cheddar, ASPLOS 2026). The
/// base of a level with m main and k terminal primes is the contiguous range `nT - k .. nT + m` of
/// positions; bases of different levels need not be nested. Limb arrays are in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct ModulusChain {
    log2_degree: u32,
    terminal: usize,
    full: usize,
    moduli: Vec<Modulus>,
    states: Vec<State>,
    digits: Vec<Range<usize>>,
    ratios: Vec<f64>,
}

/// Primes lie above this, so that an error of a few units is small beside them.
pub(super) const LEAST_PRIME: u32 = 1 << 19;

/// Primes lie below this: sums of two residues fit 32 bits.
pub(super) const PRIME_LIMIT: u32 = 1 << 31;

/// What a chain is made of; the arguments of [`ModulusChain::new`].
#[derive(Clone, Copy, Debug)]
pub struct ChainParts<'a> {
    /// log2 N.
    pub log2_degree: u32,
    /// Terminal primes `t_0, t_1, ..`.
    pub terminal: &'a [u32],
    /// Main primes `q_0, q_1, ..`.
    pub main: &'a [u32],
    /// Auxiliary primes `p_0, p_1, ..`.
    pub auxiliary: &'a [u32],
    /// States of the levels, level 0 first.
    pub states: &'a [State],
    /// Positions of F in each digit; empty: as many as there are auxiliary primes,
    /// fewer in the last.
    pub digits: &'a [usize],
}

impl ModulusChain {
    /// Checks primes, states and digits. It does *not* ask whether the key noise is small, nor for
    /// security: [`CkksParameters`](crate::CkksParameters) does.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming the field and the rule: degree out of range, a prime out of
    /// range, composite, repeated or not 1 modulo 2N; a state with no prime, with primes that there
    /// are not, or whose product does not grow; digits that are not F.
    pub fn new(parts: ChainParts<'_>) -> Result<Self> {
        let ChainParts { log2_degree, terminal, main, auxiliary, states, digits } = parts;
        if !(4..=17).contains(&log2_degree) {
            return Err(Error::parameter("log2_degree", log2_degree, "must be in 4..=17"));
        }
        let order = 2u32 << log2_degree;
        let lists = [("terminal", terminal), ("main", main), ("auxiliary", auxiliary)];
        let mut seen = std::collections::BTreeSet::new();
        for (field, primes) in lists {
            for &p in primes {
                let refuse = |rule: String| Err(Error::parameter(field, p, rule));
                if p <= LEAST_PRIME || p >= PRIME_LIMIT {
                    return refuse("primes must lie between 2^19 and 2^31".into());
                }
                if p % order != 1 {
                    return refuse(format!("primes must be 1 modulo 2N = {order}"));
                }
                if !girih_ring::is_prime(u64::from(p)) {
                    return refuse("is not prime".into());
                }
                if !seen.insert(p) {
                    return refuse("stands twice among the primes of the set".into());
                }
            }
        }
        if auxiliary.is_empty() {
            return Err(Error::parameter("auxiliary", "[]", "at least one prime is needed"));
        }
        let full = terminal.len() + main.len();
        if full + auxiliary.len() > 256 {
            let count = full + auxiliary.len();
            return Err(Error::parameter("main", count, "a set has at most 256 primes in all"));
        }
        let primes = terminal.iter().rev().chain(main).chain(auxiliary);
        let moduli = primes.map(|&p| Modulus::new(p).expect("odd and below 2^31")).collect();
        let mut chain = Self {
            log2_degree,
            terminal: terminal.len(),
            full,
            moduli,
            states: states.to_vec(),
            digits: Self::digit_ranges(digits, full, auxiliary.len())?,
            ratios: Vec::new(),
        };
        chain.check_states(main.len())?;
        chain.ratios = (1..states.len())
            .map(|l| {
                let (dropped, added) = chain.exchanged(l, l - 1);
                exact::ratio(&chain.product(dropped), &chain.product(added))
            })
            .collect();
        Ok(chain)
    }

    fn check_states(&self, main: usize) -> Result<()> {
        if !(1..=256).contains(&self.states.len()) {
            return Err(Error::parameter(
                "states",
                self.states.len(),
                "1 to 256 levels are needed",
            ));
        }
        for (level, state) in self.states.iter().enumerate() {
            let shown = format!("[{}, {}] at level {level}", state.main, state.terminal);
            let refuse = |rule: String| Err(Error::parameter("states", &shown, rule));
            if state.main > main || state.terminal > self.terminal {
                let (m, k) = (main, self.terminal);
                return refuse(format!("the set has {m} main and {k} terminal primes"));
            }
            if state.main + state.terminal == 0 {
                return refuse("a level needs a prime".into());
            }
            if level > 0 && self.product(self.base(level)) <= self.product(self.base(level - 1)) {
                return refuse("the modulus must grow from level to level".into());
            }
        }
        Ok(())
    }

    fn digit_ranges(lens: &[usize], full: usize, auxiliary: usize) -> Result<Vec<Range<usize>>> {
        let starts = |lens: &[usize]| {
            let mut start = 0;
            let range = |&len: &usize| {
                start += len;
                start - len..start
            };
            lens.iter().map(range).collect::<Vec<_>>()
        };
        if lens.is_empty() {
            let lens: Vec<_> =
                (0..full).step_by(auxiliary).map(|i| auxiliary.min(full - i)).collect();
            return Ok(starts(&lens));
        }
        // The largest digit number fits the byte that a mask stream's index has for it.
        let sum = lens.iter().try_fold(0usize, |sum, &len| sum.checked_add(len));
        if sum != Some(full) || lens.contains(&0) || lens.len() > 256 {
            let rule =
                format!("must be positive lengths that sum to the {full} terminal and main primes");
            return Err(Error::parameter("digits", format!("{lens:?}"), rule));
        }
        Ok(starts(lens))
    }

    /// log2 N.
    pub fn log2_degree(&self) -> u32 {
        self.log2_degree
    }

    /// N, coefficients of a polynomial.
    pub fn degree(&self) -> usize {
        1 << self.log2_degree
    }

    /// Number of terminal primes nT.
    pub fn terminal_len(&self) -> usize {
        self.terminal
    }

    /// Number of main primes nM.
    pub fn main_len(&self) -> usize {
        self.full - self.terminal
    }

    /// |F|, the number of terminal and main primes; positions from here on are auxiliary.
    pub fn full_len(&self) -> usize {
        self.full
    }

    /// Number of auxiliary primes nA.
    pub fn auxiliary_len(&self) -> usize {
        self.moduli.len() - self.full
    }

    /// All primes by position: F, then the auxiliary ones.
    pub fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// The prime at `position`, which must be below the number of primes.
    pub fn prime(&self, position: usize) -> u32 {
        self.moduli[position].value()
    }

    /// The highest level. Its base is F in every set with a bootstrapping.
    pub fn top_level(&self) -> usize {
        self.states.len() - 1
    }

    /// The state of every level.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// B_l: the positions of `level`'s base, a range within F. `level` is at most the top one.
    pub fn base(&self, level: usize) -> Range<usize> {
        let State { main, terminal } = self.states[level];
        self.terminal - terminal..self.terminal + main
    }

    /// The positions of the auxiliary primes P.
    pub fn auxiliary(&self) -> Range<usize> {
        self.full..self.moduli.len()
    }

    /// Positions of `B_l` and P, in the order of limbs.
    pub fn extended(&self, level: usize) -> Vec<usize> {
        self.base(level).chain(self.auxiliary()).collect()
    }

    /// D_i: the positions of each digit, fixed by the set.
    pub fn digits(&self) -> &[Range<usize>] {
        &self.digits
    }

    /// D_i': digits that meet the base of `level`, each by its number and restricted to that base.
    pub fn digits_at(&self, level: usize) -> Vec<(usize, Range<usize>)> {
        let base = self.base(level);
        let meets = |(i, digit): (usize, &Range<usize>)| {
            let part = digit.start.max(base.start)..digit.end.min(base.end);
            (!part.is_empty()).then_some((i, part))
        };
        self.digits.iter().enumerate().filter_map(meets).collect()
    }

    /// What a division from the base of level `from` to that of `to` drops and adds, each in
    /// the order of positions.
    pub fn exchanged(&self, from: usize, to: usize) -> (Vec<usize>, Vec<usize>) {
        let (x, y) = (self.base(from), self.base(to));
        let without = |a: &Range<usize>, b: &Range<usize>| {
            a.clone().filter(|i| !b.contains(i)).collect::<Vec<_>>()
        };
        (without(&x, &y), without(&y, &x))
    }

    /// The product of the primes at `positions`.
    pub fn product(&self, positions: impl IntoIterator<Item = usize>) -> BigUint {
        positions
            .into_iter()
            .fold(BigUint::from(1u32), |product, position| product * self.prime(position))
    }

    /// log2 of the product of the primes at `positions`, in f64.
    pub fn log2_product(&self, positions: impl IntoIterator<Item = usize>) -> f64 {
        positions.into_iter().map(|position| f64::from(self.prime(position)).log2()).sum()
    }

    /// pp_l, the f64 nearest to `Q_l / Q_{l-1}`, for `1 <= level <= top`.
    pub fn ratio(&self, level: usize) -> f64 {
        self.ratios[level - 1]
    }
}
