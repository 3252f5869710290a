//! Primes, levels, digits and scales of a set, in terms of the ring's prime numbers (ckks.md
//! section 3).
//!
//! The ring's primes are F = [t_{nT-1}, .., t_0, q_0, .., q_{nM-1}], then the auxiliary primes P,
//! then those of the basis T of KLSS. So the base of every level is a contiguous range, and a limb
//! array over a level and P is in ascending order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use girih_backend::poly::{Basis, Factor, RingShape};
use girih_ring::Modulus;
use num_bigint::{BigInt, BigUint};

use super::dft::TransformRule;
use super::digits::LevelDigits;
use super::error::RecordError;
use super::exact;
use crate::CkksParameters;
use crate::params::SPARSE_AUXILIARY;

/// What a [`Chain`] is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainShape {
    /// log2 of the ring degree.
    pub log2_degree: u32,
    /// Terminal primes t_0, t_1, ..
    pub terminal: Vec<u32>,
    /// Main primes q_0, q_1, ..
    pub main: Vec<u32>,
    /// Auxiliary primes p_0, p_1, ..
    pub auxiliary: Vec<u32>,
    /// (main, terminal) primes of each level, level 0 first.
    pub states: Vec<(usize, usize)>,
    /// S_0, the canonical scale of level 0.
    pub scale: f64,
    /// Positions of F in each digit of key switching; they sum to those of F.
    pub digits: Vec<usize>,
    /// Whether digits of a level are joined where they fit into one: other words, less work.
    pub join_digits: bool,
    /// The basis T of KLSS; empty if that plan is not wanted.
    pub klss: Vec<u32>,
    /// Primes in a group of KLSS.
    pub klss_group: usize,
    /// How bootstrapping uses the levels, if it does.
    pub bootstrapping: Option<BootstrappingShape>,
}

/// How bootstrapping uses the levels of a chain (ckks.md section 8). From the top: one level for
/// each group of CtS, then those of EvalMod, one for each group of StC,
/// and the levels that users have.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrappingShape {
    /// L_eff, the level at which results stand.
    pub effective_level: usize,
    /// Groups of coefficients-to-slots.
    pub cts_groups: usize,
    /// Groups of slots-to-coefficients.
    pub stc_groups: usize,
    /// log2 by which labels grow after each group of coefficients-to-slots but the last.
    pub cts_shifts: Vec<i32>,
    /// The same for slots-to-coefficients, equal for all of them.
    pub stc_shift: i32,
    /// Stages of each group of coefficients-to-slots where all slots are in use; none: equal
    /// shares.
    pub cts_stages: Vec<usize>,
    /// Whether the first group of coefficients-to-slots is done by keys while the modulus is
    /// raised, and takes no level.
    pub first_by_keys: bool,
    /// Pairs of a number of diagonals and its baby steps; others follow a fixed rule.
    pub baby_steps: Vec<(usize, usize)>,
    /// K: the interval of the sine is [-K, K]; its fit is for 16.
    pub interval: u32,
    /// r, double angles; the fit is for 3.
    pub double_angles: usize,
    /// E_out, the scale of the lowest level of EvalMod.
    pub sine_scale: f64,
    /// Auxiliary primes of the dense-to-sparse key.
    pub sparse_auxiliary: usize,
    /// Levels for the arcsine correction after the double angles: 0 (none), 2 (degree 3) or 3
    /// (degree 5).
    ///
    /// With slots-to-coefficients at the end they are levels of the size of EvalMod's, as every
    /// slot is a coefficient still, whose error grows on the way to slots. With it first they are
    /// normal levels.
    pub arcsine_levels: usize,
    /// Slots-to-coefficients before the modulus is raised, on levels `stc_groups` to 1, instead of
    /// at the end.
    pub stc_first: bool,
}

impl Default for BootstrappingShape {
    /// No groups and no normal levels: EvalMod alone, with the scale 2^58.
    fn default() -> Self {
        Self {
            effective_level: 0,
            cts_groups: 0,
            stc_groups: 0,
            cts_shifts: Vec::new(),
            stc_shift: 0,
            cts_stages: Vec::new(),
            first_by_keys: false,
            baby_steps: Vec::new(),
            interval: 16,
            double_angles: 3,
            sine_scale: 2f64.powi(58),
            sparse_auxiliary: SPARSE_AUXILIARY,
            arcsine_levels: 0,
            stc_first: false,
        }
    }
}

impl BootstrappingShape {
    /// The level at which the corrected sine arrives.
    pub fn out(&self) -> usize {
        match (self.stc_first, self.arcsine_levels) {
            (false, _) => self.effective_level + self.stc_groups,
            // Nothing sets the scale but an adjust, which takes a level.
            (true, 0) => self.effective_level + 1,
            (true, _) => self.effective_level,
        }
    }

    /// The level after the double angles.
    pub fn sine_output(&self) -> usize {
        self.out() + self.arcsine_levels
    }

    /// The highest level with the scale S_l, which is the lowest with E_l.
    pub fn scale_change(&self) -> usize {
        if self.stc_first { self.sine_output() } else { self.out() }
    }

    /// The level at which EvalMod starts.
    pub fn sine_input(&self) -> usize {
        self.sine_output() + 5 + self.double_angles
    }

    /// The top level, at which coefficients-to-slots starts.
    pub fn top(&self) -> usize {
        self.sine_input() + self.cts_groups - usize::from(self.first_by_keys)
    }

    /// How coefficients-to-slots is divided into transforms.
    pub fn to_slots(&self) -> TransformRule<'_> {
        TransformRule {
            groups: self.cts_groups,
            stages: &self.cts_stages,
            first_by_keys: self.first_by_keys,
            baby_steps: &self.baby_steps,
        }
    }

    /// How slots-to-coefficients is.
    pub fn to_coefficients(&self) -> TransformRule<'_> {
        TransformRule {
            stages: &[],
            first_by_keys: false,
            groups: self.stc_groups,
            ..self.to_slots()
        }
    }
}

impl From<&CkksParameters> for ChainShape {
    /// Everything but KLSS, which is a plan and no part of a set: [`ChainShape::with_klss`] adds
    /// it. Digits are joined where servers do so unasked.
    fn from(set: &CkksParameters) -> Self {
        let chain = set.chain();
        let primes = |range: std::ops::Range<usize>| range.map(|i| chain.prime(i)).collect();
        let mut terminal: Vec<u32> = primes(0..chain.terminal_len());
        terminal.reverse();
        Self {
            log2_degree: chain.log2_degree(),
            terminal,
            main: primes(chain.terminal_len()..chain.full_len()),
            auxiliary: primes(chain.auxiliary()),
            states: chain.states().iter().map(|s| (s.main, s.terminal)).collect(),
            scale: set.scale(0).expect("level 0 has a scale"),
            digits: chain.digits().iter().map(|digit| digit.len()).collect(),
            join_digits: set.joins_digits(),
            klss: Vec::new(),
            klss_group: 0,
            bootstrapping: set.bootstrapping().map(|b| BootstrappingShape {
                effective_level: b.output_level(),
                cts_groups: b.coefficients_to_slots(),
                stc_groups: b.slots_to_coefficients(),
                cts_shifts: b.coefficients_to_slots_shifts(),
                stc_shift: b.slots_to_coefficients_shift(),
                cts_stages: b.stages_listed().to_vec(),
                first_by_keys: b.first_transform_by_keys(),
                baby_steps: b.baby_steps().to_vec(),
                interval: b.interval(),
                double_angles: b.double_angles(),
                sine_scale: b.eval_mod_scale(),
                sparse_auxiliary: SPARSE_AUXILIARY,
                arcsine_levels: b.arcsine_levels(),
                stc_first: b.slots_to_coefficients_first(),
            }),
        }
    }
}

/// Primes, levels, digits and scales.
#[derive(Debug)]
pub struct Chain {
    shape: ChainShape,
    ring: Arc<RingShape>,
    levels: Vec<Basis>,
    auxiliary: Basis,
    klss: Basis,
    digits: Vec<Basis>,
    pub(super) level_digits: Vec<LevelDigits>,
    groups: Vec<Basis>,
    ratios: Vec<f64>,
    scales: Vec<f64>,
    sine_scales: Vec<f64>,
    imaginary: OnceLock<Vec<[u32; 2]>>,
    products: Mutex<HashMap<Basis, Arc<BigUint>>>,
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
        let ring = Arc::new(RingShape { log2_degree: shape.log2_degree, primes });
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
        let mut scales = vec![shape.scale];
        for level in 1..=normal {
            scales.push((scales[level - 1] * ratios[level]).sqrt());
        }
        let mut sine_scales = Vec::new();
        if let Some(b) = &shape.bootstrapping {
            sine_scales.push(b.sine_scale);
            for level in normal + 1..=b.sine_input() {
                sine_scales.push((sine_scales[level - normal - 1] * ratios[level]).sqrt());
            }
        }
        Ok(Arc::new(Self {
            auxiliary: ring.basis(all..auxiliary),
            klss: ring.basis(auxiliary..ring.primes.len()),
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
        }))
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
        self.shape.bootstrapping.as_ref().map_or(self.top(), |b| b.effective_level)
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
        self.ring.basis(0..self.klss.primes().first().map_or(self.ring.primes.len(), |&p| p.into()))
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

    /// B_0 and the auxiliary primes of the dense-to-sparse key, and these alone.
    pub fn sparse_auxiliary(&self) -> Option<Basis> {
        let few = self.shape.bootstrapping.as_ref()?.sparse_auxiliary;
        Some(Basis::new(self.auxiliary.primes().iter().copied().take(few)))
    }

    /// pp_l = Q_l / Q_(l-1), for l >= 1.
    pub fn ratio(&self, level: usize) -> f64 {
        self.ratios[level]
    }

    /// S_l, the canonical scale of a normal or StC level.
    pub fn scale(&self, level: usize) -> Option<f64> {
        self.scales.get(level).copied()
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
}

fn values_of<'a>(ring: &'a RingShape, basis: &'a Basis) -> impl Iterator<Item = u32> + 'a {
    basis.primes().iter().map(|&p| ring.primes[usize::from(p)].value())
}
