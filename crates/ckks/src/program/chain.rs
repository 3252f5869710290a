//! Primes, levels, digits and scales of a set, in terms of the ring's prime numbers
//! (docs/ckks.md, "Levels and scales").
//!
//! The ring's primes are F = [t_{nT-1}, .., t_0, q_0, .., q_{nM-1}], then the auxiliary primes P,
//! then those of the basis T of KLSS; where both sines of a bootstrapping can be one, F and P once
//! more, in the conjugation-invariant ring. So the base of every level is a contiguous range, and a
//! limb array over a level and P is in ascending order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use girih_backend::poly::{Basis, Factor, RingShape};
use girih_ring::Modulus;
use num_bigint::{BigInt, BigUint};

use super::chain_shape::ChainShape;
use super::digits::{LevelDigit, LevelDigits};
use super::error::RecordError;
use super::exact;

/// Primes, levels, digits and scales.
#[derive(Debug)]
pub struct Chain {
    shape: ChainShape,
    ring: Arc<RingShape>,
    levels: Vec<Basis>,
    auxiliary: Basis,
    klss: Basis,
    digits: Vec<Basis>,
    level_digits: Vec<LevelDigits>,
    groups: Vec<Basis>,
    ratios: Vec<f64>,
    scales: Vec<Option<f64>>,
    sine_scales: Vec<f64>,
    imaginary: OnceLock<Vec<[u32; 2]>>,
    products: Mutex<HashMap<Basis, Arc<BigUint>>>,
    in_invariant: InInvariant,
}

/// The same chain in the conjugation-invariant ring.
#[derive(Debug)]
enum InInvariant {
    /// The set has no use for it.
    None,
    /// It.
    Other(Arc<Chain>),
    /// This is it.
    This,
}

impl Chain {
    /// The chain of `shape`.
    ///
    /// # Errors
    /// When a prime is not 1 modulo 2N or not below 2^31, primes repeat, a state has more primes
    /// than there are, or the levels of bootstrapping do not fit.
    pub fn new(shape: ChainShape) -> Result<Arc<Self>, RecordError> {
        let wrong = |why: String| RecordError::Shape { operation: "chain", why };
        let order = 2u64 << shape.log2_degree;
        let values = shape.terminal.iter().rev();
        let values = values.chain(&shape.main).chain(&shape.auxiliary).chain(&shape.klss);
        let mut primes = Vec::new();
        for &p in values {
            let modulus = Modulus::new(p).filter(|_| girih_ring::is_prime(u64::from(p)));
            let modulus = modulus.filter(|_| u64::from(p) % order == 1);
            let modulus = modulus.ok_or_else(|| {
                wrong(format!("{p} is not a prime below 2^31 that is 1 modulo {order}"))
            })?;
            if primes.contains(&modulus) {
                return Err(wrong(format!("prime {p} occurs twice")));
            }
            primes.push(modulus);
        }
        let (terminal, main) = (shape.terminal.len(), shape.main.len());
        let all = terminal + main;
        let auxiliary = all + shape.auxiliary.len();
        if shape.states.is_empty() || shape.auxiliary.is_empty() {
            return Err(wrong("needs a level and an auxiliary prime".into()));
        }
        if shape.digits.contains(&0) || shape.digits.iter().sum::<usize>() != all {
            return Err(wrong(format!("digits of {:?} primes do not cut {all}", shape.digits)));
        }
        for (level, &(m, k)) in shape.states.iter().enumerate() {
            if m > main || k > terminal || m + k == 0 {
                return Err(wrong(format!(
                    "level {level} has {m} main and {k} terminal primes of {main} and {terminal}"
                )));
            }
        }
        let invariant_from = primes.len();
        if shape.bootstrapping.as_ref().is_some_and(|b| b.invariant_sine) {
            if let Some(p) = primes.iter().find(|p| u64::from(p.value()) % (2 * order) != 1) {
                let (p, order) = (p.value(), 2 * order);
                return Err(wrong(format!("{p} is not 1 modulo {order}, for both sines in one")));
            }
            primes.extend_from_within(..auxiliary);
        }
        let ring = Arc::new(RingShape { log2_degree: shape.log2_degree, primes, invariant_from });
        let levels: Vec<Basis> =
            shape.states.iter().map(|&(m, k)| ring.basis(terminal - k..terminal + m)).collect();
        let cut = |range: std::ops::Range<usize>, step: usize| -> Vec<Basis> {
            let end = range.end;
            range.step_by(step).map(|i| ring.basis(i..(i + step).min(end))).collect()
        };
        let ends = shape.digits.iter().scan(0, |end, &len| {
            *end += len;
            Some((*end - len, *end))
        });
        let digits: Vec<Basis> = ends.map(|(start, end)| ring.basis(start..end)).collect();
        let level_digits = LevelDigits::of(&shape, &ring, &levels, &digits);
        let groups = if shape.klss.is_empty() || shape.klss_group == 0 {
            Vec::new()
        } else {
            let mut groups = cut(all..auxiliary, shape.klss_group);
            groups.extend(cut(0..all, shape.klss_group));
            groups
        };
        let whole: Vec<BigUint> =
            levels.iter().map(|b| exact::product(values_of(&ring, b))).collect();
        let mut ratios = vec![f64::NAN];
        ratios.extend(whole.windows(2).map(|q| exact::quotient(&q[1], &q[0])));
        let top = shape.states.len() - 1;
        let normal = match &shape.bootstrapping {
            Some(b) if b.top() != top => {
                return Err(wrong(format!(
                    "bootstrapping needs levels up to {}, and there are levels up to {top}",
                    b.top()
                )));
            }
            Some(b) => b.scale_change(),
            None => top,
        };
        let first = shape.encapsulation.map_or(0, |own| own.data_level);
        if first > normal {
            return Err(wrong(format!("a data level of {first} above the top, {normal}")));
        }
        let mut scales = vec![None; first];
        let mut scale = shape.scale;
        scales.push(Some(scale));
        for &ratio in &ratios[first + 1..=normal] {
            scale = (scale * ratio).sqrt();
            scales.push(Some(scale));
        }
        let mut sine_scales = Vec::new();
        if let Some(b) = &shape.bootstrapping {
            sine_scales.push(b.sine_scale);
            for level in normal + 1..=b.sine_input() {
                sine_scales.push((sine_scales[level - normal - 1] * ratios[level]).sqrt());
            }
        }
        let usual = Self {
            auxiliary: ring.basis(all..auxiliary),
            klss: ring.basis(auxiliary..invariant_from),
            shape,
            ring,
            levels,
            digits,
            level_digits,
            groups,
            ratios,
            scales,
            sine_scales,
            imaginary: OnceLock::new(),
            products: Mutex::default(),
            in_invariant: InInvariant::None,
        };
        let in_invariant = match usual.ring.has_invariant() {
            true => InInvariant::Other(Arc::new(usual.over_invariant())),
            false => InInvariant::None,
        };
        Ok(Arc::new(Self { in_invariant, ..usual }))
    }

    /// The same over the primes of the conjugation-invariant ring.
    fn over_invariant(&self) -> Self {
        let from = self.ring.invariant_from as u16;
        let there = |basis: &Basis| Basis::new(basis.primes().iter().map(|&p| p + from));
        let all = |bases: &[Basis]| bases.iter().map(there).collect::<Vec<_>>();
        Self {
            shape: self.shape.clone(),
            ring: self.ring.clone(),
            levels: all(&self.levels),
            auxiliary: there(&self.auxiliary),
            klss: Basis::new([]),
            digits: all(&self.digits),
            level_digits: self.level_digits.iter().map(|of| of.over(&there)).collect(),
            groups: Vec::new(),
            ratios: self.ratios.clone(),
            scales: self.scales.clone(),
            sine_scales: self.sine_scales.clone(),
            imaginary: OnceLock::new(),
            products: Mutex::default(),
            in_invariant: InInvariant::This,
        }
    }

    /// This chain in the conjugation-invariant ring, where the set can do both sines in one there.
    pub fn in_invariant(self: &Arc<Self>) -> Option<&Arc<Self>> {
        match &self.in_invariant {
            InInvariant::None => None,
            InInvariant::Other(chain) => Some(chain),
            InInvariant::This => Some(self),
        }
    }

    /// Whether it is that of the conjugation-invariant ring.
    pub fn is_invariant(&self) -> bool {
        matches!(self.in_invariant, InInvariant::This)
    }

    /// What it was made from.
    pub fn shape(&self) -> &ChainShape {
        &self.shape
    }

    /// The ring of its programs.
    pub fn ring(&self) -> &Arc<RingShape> {
        &self.ring
    }

    /// N.
    pub fn degree(&self) -> usize {
        self.ring.degree()
    }

    /// N/2, the slots of a full ciphertext.
    pub fn most_slots(&self) -> usize {
        self.degree() / 2
    }

    /// The highest level.
    pub fn top(&self) -> usize {
        self.levels.len() - 1
    }

    /// The highest level that ciphertexts of users have: L_eff, or the top without bootstrapping.
    pub fn highest_normal(&self) -> usize {
        let own = self.shape.bootstrapping.as_ref().map(|b| b.effective_level);
        let data = self.shape.encapsulation.map(|own| own.data_level);
        own.or(data).unwrap_or(self.top())
    }

    /// B_l.
    ///
    /// # Errors
    /// When there is no such level.
    pub fn level(&self, level: usize) -> Result<&Basis, RecordError> {
        self.levels.get(level).ok_or_else(|| RecordError::Level {
            operation: "level",
            level,
            why: format!("levels are 0 to {}", self.top()),
        })
    }

    /// P, the auxiliary primes.
    pub fn auxiliary(&self) -> &Basis {
        &self.auxiliary
    }

    /// T, the primes of KLSS.
    pub fn klss(&self) -> &Basis {
        &self.klss
    }

    /// Digits D_i of F.
    pub fn digits(&self) -> &[Basis] {
        &self.digits
    }

    /// Groups G_j of F and P, for KLSS: those of P first.
    pub fn groups(&self) -> &[Basis] {
        &self.groups
    }

    /// F and P: the primes of a key.
    pub fn key_basis(&self) -> Basis {
        self.digits.iter().fold(self.auxiliary.clone(), |all, digit| all.union(digit))
    }

    /// The primes of a key that is used up to `level`: those of its levels, which need not be
    /// nested, and P.
    pub fn key_basis_up_to(&self, level: usize) -> Basis {
        if level >= self.top() {
            return self.key_basis();
        }
        let levels = self.levels[..=level].iter();
        levels.fold(self.auxiliary.clone(), |all, base| all.union(base))
    }

    /// The primes of the keys of a first transform of `slots` slots: those of the level that the
    /// modulus is raised to, and the auxiliary primes that its diagonals count with.
    pub(crate) fn first_key_basis(&self, slots: usize) -> Result<Basis, RecordError> {
        let few = self.sparse_auxiliary().unwrap_or_else(|| Basis::new([]));
        let shape = self.shape.bootstrapping.as_ref();
        let level = shape.map_or(self.top(), |b| b.raised_level(self.most_slots(), slots));
        Ok(self.level(level)?.union(&few))
    }

    /// B_0 and the auxiliary primes of the dense-to-sparse key, and these alone.
    pub fn sparse_auxiliary(&self) -> Option<Basis> {
        let other = || self.shape.encapsulation.map(|own| own.auxiliary);
        let own = self.shape.bootstrapping.as_ref().map(|b| b.sparse_auxiliary);
        let few = own.or_else(other)?;
        Some(Basis::new(self.auxiliary.primes().iter().copied().take(few)))
    }

    /// pp_l = Q_l / Q_(l-1), for l >= 1.
    pub fn ratio(&self, level: usize) -> f64 {
        self.ratios[level]
    }

    /// S_l, the canonical scale of a normal or StC level.
    pub fn scale(&self, level: usize) -> Option<f64> {
        self.scales.get(level).copied().flatten()
    }

    /// E_l, the canonical scale of an EvalMod level, its lowest included.
    pub fn sine_scale(&self, level: usize) -> Option<f64> {
        let lowest = self.shape.bootstrapping.as_ref()?.scale_change();
        self.sine_scales.get(level.checked_sub(lowest)?).copied()
    }

    /// The product of the primes of `basis`.
    pub fn product(&self, basis: &Basis) -> Arc<BigUint> {
        let mut products = self.products.lock().unwrap_or_else(|e| e.into_inner());
        let make = || Arc::new(exact::product(values_of(&self.ring, basis)));
        products.entry(basis.clone()).or_insert_with(make).clone()
    }

    /// The integer `k` as a factor over `basis`.
    pub fn integer(&self, basis: &Basis, k: &BigInt) -> Factor {
        if *k == BigInt::from(1) {
            return Factor::One;
        }
        if *k == BigInt::from(-1) {
            return Factor::MinusOne;
        }
        let pairs = values_of(&self.ring, basis).map(|p| [exact::residue(k, p); 2]);
        Factor::Residues(pairs.collect())
    }

    /// `re + im X^(N/2)` as a factor over `basis`.
    pub fn gaussian(&self, basis: &Basis, re: &BigInt, im: &BigInt) -> Factor {
        if *im == BigInt::ZERO {
            return self.integer(basis, re);
        }
        let units = self.imaginary.get_or_init(|| {
            (0..self.ring.primes.len()).map(|p| self.ring.imaginary_unit(p as u16)).collect()
        });
        let pair = |&prime: &u16| {
            let q = self.ring.primes[usize::from(prime)];
            let (re, im) = (exact::residue(re, q.value()), exact::residue(im, q.value()));
            units[usize::from(prime)].map(|i| q.add(re, q.mul(im, i)))
        };
        Factor::Residues(basis.primes().iter().map(pair).collect())
    }

    /// `sign * numerator / denominator` modulo each prime of `basis`, where it exists.
    pub(crate) fn fraction(
        &self,
        basis: &Basis,
        numerator: &BigUint,
        denominator: &BigUint,
        negative: bool,
    ) -> Factor {
        let pair = |&prime: &u16| {
            let q = self.ring.primes[usize::from(prime)];
            let part = |x: &BigUint| exact::residue(&BigInt::from(x.clone()), q.value());
            let x = q.mul(part(numerator), q.inverse(part(denominator)));
            [if negative { q.neg(x) } else { x }; 2]
        };
        Factor::Residues(basis.primes().iter().map(pair).collect())
    }

    /// The exponent of the automorphism that rotates left by `by`: 5^by modulo 2N.
    pub fn rotation(&self, by: i64) -> u32 {
        let mask = (2u64 << self.ring.log2_degree) - 1;
        let mut exponent = by.rem_euclid(self.most_slots() as i64) as u64;
        let (mut result, mut power) = (1u64, 5u64);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = (result * power) & mask;
            }
            power = (power * power) & mask;
            exponent >>= 1;
        }
        result as u32
    }

    /// The exponent of conjugation, 2N - 1.
    pub fn conjugation(&self) -> u32 {
        (2u32 << self.ring.log2_degree) - 1
    }

    /// What a scale becomes that was computed for `level`: the canonical value if it lies within
    /// 2^-44 of one.
    pub(crate) fn settle(&self, level: usize, scale: f64) -> f64 {
        let near = |c: &f64| (scale / c - 1.0).abs() < 2f64.powi(-44);
        let canonical = [self.scale(level), self.sine_scale(level)];
        canonical.into_iter().flatten().find(near).unwrap_or(scale)
    }

    /// What a key switch at `level` raises, each as one.
    ///
    /// # Errors
    /// When there is no such level.
    pub fn digits_at(&self, level: usize) -> Result<&[LevelDigit], RecordError> {
        self.level(level)?;
        let of = &self.level_digits[level];
        Ok(if self.shape().join_digits { &of.joined } else { &of.alone })
    }

    /// The primes of all joined digits of all levels, whether they are joined or not.
    pub(super) fn joined_bases(&self) -> impl Iterator<Item = &Basis> {
        self.level_digits.iter().flat_map(|of| &of.joined).map(|digit| &digit.basis)
    }

    /// The primes at which the sum of a key's rows `numbers` is read: those of all levels up to
    /// `most` at which these digits are joined, and P.
    pub(super) fn sum_basis(&self, numbers: &[usize], most: usize) -> Basis {
        let levels = self.level_digits.iter().enumerate().take(most.saturating_add(1));
        let joins = levels.filter(|(_, of)| of.joined.iter().any(|d| d.numbers == numbers));
        let bases = joins.filter_map(|(level, _)| self.level(level).ok());
        bases.fold(self.auxiliary().clone(), |all, base| all.union(base))
    }
}

fn values_of<'a>(ring: &'a RingShape, basis: &'a Basis) -> impl Iterator<Item = u32> + 'a {
    basis.primes().iter().map(|&p| ring.primes[usize::from(p)].value())
}
