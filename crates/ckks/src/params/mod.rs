//! Parameter sets: primes, levels, scales, digits, bootstrapping data; all checked before use.

mod adjust;
pub(crate) mod bootstrapping;
mod builtin;
mod chain;
mod check;
mod encapsulation;
pub(crate) mod exact;
mod generate;
pub(crate) mod joined;
mod literal;
mod scales;
mod security;
#[cfg(test)]
mod tests;

pub use adjust::LevelAdjust;
pub use bootstrapping::{BootstrappingParameters, SPARSE_AUXILIARY};
pub use chain::{ChainParts, ModulusChain, State};
pub use encapsulation::{Encapsulation, EncapsulationLiteral};
pub use generate::{BootstrappingRequest, GeneratorRequest};
pub use joined::DigitGroup;
pub use literal::{BootstrappingLiteral, ParameterLiteral};
pub use scales::LevelKind;
pub use security::{Security, SecurityEstimate, SparseEstimate, largest_log2_modulus};

use crate::{Error, Result};
use num_bigint::BigUint;
use scales::Scales;
use std::ops::Range;
use std::sync::Arc;

/// A parameter set whose every relation has been checked. Cheap to clone.
///
/// Two sets are equal if they have the same name and the same numbers; keys and ciphertexts of
/// unequal sets do not mix.
#[derive(Clone)]
pub struct CkksParameters(Arc<Inner>);

#[derive(PartialEq)]
struct Inner {
    name: String,
    description: String,
    chain: ModulusChain,
    scale: f64,
    secret_weight: Option<usize>,
    bootstrapping: Option<BootstrappingParameters>,
    encapsulation: Option<Encapsulation>,
    scales: Scales,
}

/// Standard deviation of all errors.
pub const ERROR_DEVIATION: f64 = 3.19;

impl PartialEq for CkksParameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl std::fmt::Debug for CkksParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let chain = self.chain();
        f.debug_struct("CkksParameters")
            .field("name", &self.name())
            .field("log2_degree", &chain.log2_degree())
            .field("levels", &chain.top_level())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Display for CkksParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Default for CkksParameters {
    /// CKKS_D40_30BIT_LOW_STC_FIRST: N = 2^16, scale 2^39.85, 14 levels after a bootstrapping. That
    /// begins at level 3 or above, and promises every vector as much as a random one.
    fn default() -> Self {
        Self::by_name("CKKS_D40_30BIT_LOW_STC_FIRST").expect("the default set is in the table")
    }
}

impl CkksParameters {
    /// Checks every field of `literal` and every relation between them.
    ///
    /// A literal equal to a built-in set becomes that set; a different one may not take its name.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the first field that is impossible,
    /// its value and the rule it breaks.
    pub fn new(literal: &ParameterLiteral) -> Result<Self> {
        let set = check::checked(literal)?;
        match builtin::find(set.name()) {
            Some(known) if known == set => Ok(known),
            Some(_) => {
                let rule = "a built-in set of other numbers has this name: take another name";
                Err(Error::parameter("name", set.name(), rule))
            }
            None => Ok(set),
        }
    }

    /// Reads and checks a parameter file.
    ///
    /// # Errors
    /// [`Error::ParameterFile`] for a file of the wrong form, else as [`CkksParameters::new`].
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::new(&ParameterLiteral::from_toml(text)?)
    }

    /// Writes the set as a parameter file.
    pub fn to_toml(&self) -> String {
        self.literal().to_toml()
    }

    /// The built-in set of that name.
    ///
    /// # Errors
    /// [`Error::UnknownSet`] with the nearest names there are.
    pub fn by_name(name: &str) -> Result<Self> {
        builtin::find(name).ok_or_else(|| Error::UnknownSet {
            name: name.chars().take(64).collect(),
            nearest: girih_rlwe::nearest(name, builtin::names()),
            elsewhere: match name.contains("CKKS") {
                true => "",
                false => "; names without CKKS are sets of `girih::tfhe` (`ParameterSet::by_name`)",
            },
        })
    }

    /// Every set for use, the default one first.
    pub fn all() -> Vec<Self> {
        builtin::real()
    }

    /// Small sets without any security, for tests; their names say so.
    pub fn insecure() -> Vec<Self> {
        builtin::insecure()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Where the set comes from and what it is for, in one sentence.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// Primes, bases of the levels, digits.
    pub fn chain(&self) -> &ModulusChain {
        &self.0.chain
    }

    /// N, coefficients of a polynomial.
    pub fn degree(&self) -> usize {
        self.chain().degree()
    }

    /// N/2, the most slots of a ciphertext.
    pub fn slots(&self) -> usize {
        self.degree() / 2
    }

    /// The top level. Bootstrapping uses the levels above [`CkksParameters::default_level`].
    pub fn top_level(&self) -> usize {
        self.chain().top_level()
    }

    /// L_eff, the level of fresh ciphertexts: the highest normal level, or the set's data level.
    pub fn default_level(&self) -> usize {
        match (self.bootstrapping(), self.encapsulation()) {
            (Some(own), _) => own.output_level(),
            (None, Some(own)) => own.data_level(),
            (None, None) => self.top_level(),
        }
    }

    /// The lowest level that a bootstrapping can begin at: 0, or where slots go to coefficients
    /// first, the levels which that takes. 0 for a set without bootstrapping.
    pub fn bootstrap_level(&self) -> usize {
        self.bootstrapping().map_or(0, BootstrappingParameters::input_level)
    }

    /// What `level` is for; `level` is at most the top one.
    pub fn level_kind(&self, level: usize) -> LevelKind {
        self.bootstrapping().map_or(LevelKind::Normal, |b| b.kind(level))
    }

    /// What the set says of its bootstrapping, if it has one.
    pub fn bootstrapping(&self) -> Option<&BootstrappingParameters> {
        self.0.bootstrapping.as_ref()
    }

    /// What the set says of a sparse secret for programs of other crates, if it has one.
    pub fn encapsulation(&self) -> Option<&Encapsulation> {
        self.0.encapsulation.as_ref()
    }

    /// Non-zero coefficients of the sparse secret, if the set has one.
    pub fn sparse_weight(&self) -> Option<usize> {
        let other = || self.encapsulation().map(Encapsulation::sparse_weight);
        self.bootstrapping().map(BootstrappingParameters::sparse_weight).or_else(other)
    }

    /// Non-zero coefficients of the secret of the conjugation-invariant ring, N/16, if the set's
    /// bootstrapping does both sines in one there.
    pub fn invariant_weight(&self) -> Option<usize> {
        let b = self.bootstrapping().filter(|b| b.invariant_sine());
        b.map(|_| security::invariant_weight(self.degree()))
    }

    /// Auxiliary primes of the key to the sparse secret, beside the primes of level 0.
    pub fn sparse_auxiliary(&self) -> usize {
        self.encapsulation().map_or(SPARSE_AUXILIARY, Encapsulation::auxiliary)
    }

    /// The canonical scale of the lowest level that has one.
    pub(crate) fn base_scale(&self) -> f64 {
        self.0.scale
    }

    /// Non-zero coefficients of the dense secret; `None`: it is uniform ternary.
    pub fn secret_weight(&self) -> Option<usize> {
        self.0.secret_weight
    }

    /// Mean squared norm of the dense secret: 2N/3, or its weight.
    pub fn secret_norm(&self) -> f64 {
        self.secret_weight().map_or(2.0 * self.degree() as f64 / 3.0, |weight| weight as f64)
    }

    /// S_l, the canonical scale of a normal or slots-to-coefficients level.
    pub fn scale(&self, level: usize) -> Option<f64> {
        self.0.scales.canonical(level)
    }

    /// E_l, the canonical scale within the modular reduction, from its output level on.
    pub fn eval_mod_scale(&self, level: usize) -> Option<f64> {
        self.0.scales.eval_mod(level)
    }

    /// pp_l, the f64 nearest to `Q_l / Q_{l-1}`; `1 <= level <= top`.
    pub fn rescale_ratio(&self, level: usize) -> f64 {
        self.chain().ratio(level)
    }

    /// The scale after a rescale from `level >= 1` to the level below: `scale / pp_level`, or the
    /// canonical scale of the level below where that is within 2^-44 of it.
    pub fn rescaled(&self, level: usize, scale: f64) -> f64 {
        self.0.scales.settled(level - 1, scale / self.rescale_ratio(level))
    }

    /// Whether two scales are close enough to be added: to 2^-40.
    pub fn scales_agree(&self, a: f64, b: f64) -> bool {
        (a - b).abs() <= scales::AGREEMENT * a.abs().max(b.abs())
    }

    /// k0 = RNE(Q_0 / (2^rho S_0)), the integer that prepares a message for bootstrapping with the
    /// message ratio 2^rho.
    pub fn message_factor(&self, rho: u32) -> BigUint {
        let chain = self.chain();
        let (top, bottom) = exact::fraction(self.0.scale);
        exact::rounded(&(chain.product(chain.base(0)) * bottom), &(top << rho))
    }

    /// The message ratios, as log2, that a bootstrapping of this set can take: 5 up to where
    /// 2^rho times the scale of level 0 exceeds its modulus by a third.
    pub fn message_ratios(&self) -> Range<u32> {
        let chain = self.chain();
        let room = chain.log2_product(chain.base(0)) - self.0.scale.log2();
        let last = (room + (4.0f64 / 3.0).log2()).floor() as u32;
        5..(last + 1).max(5)
    }

    /// log2 of Q P, what security rests on.
    pub fn log2_modulus(&self) -> f64 {
        let chain = self.chain();
        chain.log2_product(0..chain.moduli().len())
    }

    /// What is known about the security of this set, the sparse secret's included.
    pub fn security(&self) -> Security {
        security::judge(self)
    }

    /// What a user must be told before relying on this set.
    pub fn warnings(&self) -> Vec<String> {
        self.security().warning.into_iter().collect()
    }

    /// Whether the name says that the set has no security.
    pub fn is_insecure(&self) -> bool {
        self.name().starts_with(INSECURE)
    }

    /// The fields of this set, as a parameter file has them.
    pub fn literal(&self) -> ParameterLiteral {
        let chain = self.chain();
        let primes = |range: Range<usize>| {
            range.map(|position| i64::from(chain.prime(position))).collect::<Vec<_>>()
        };
        let lens: Vec<_> = chain.digits().iter().map(|digit| digit.len() as i64).collect();
        let by_auxiliary = |(i, len): (usize, &i64)| {
            let most = chain.auxiliary_len() as i64;
            if i + 1 < lens.len() { *len == most } else { *len <= most }
        };
        let is_default = lens.iter().enumerate().all(by_auxiliary);
        ParameterLiteral {
            name: self.name().to_owned(),
            description: Some(self.description().to_owned()),
            log2_degree: i64::from(chain.log2_degree()),
            scale: self.0.scale,
            secret_weight: self.secret_weight().map(|weight| weight as i64),
            terminal: primes(0..chain.terminal_len()).into_iter().rev().collect(),
            main: primes(chain.terminal_len()..chain.full_len()),
            auxiliary: primes(chain.auxiliary()),
            digits: (!is_default).then_some(lens),
            states: chain.states().iter().map(|s| [s.main as i64, s.terminal as i64]).collect(),
            bootstrapping: self.bootstrapping().map(|b| BootstrappingLiteral {
                message_ratio: i64::from(b.message_ratio),
                normal_levels: b.normal as i64,
                slots_to_coefficients: b.to_coefficients as i64,
                coefficients_to_slots: b.to_slots as i64,
                coefficients_to_slots_shift: i64::from(b.to_slots_shift),
                slots_to_coefficients_shift: i64::from(b.to_coefficients_shift),
                eval_mod_scale: b.eval_mod_scale,
                interval: i64::from(b.interval),
                double_angles: b.double_angles as i64,
                sparse_weight: b.sparse_weight as i64,
                arcsine_levels: (b.arcsine_levels > 0).then_some(b.arcsine_levels as i64),
                slots_to_coefficients_first: b.slots_first.then_some(true),
                coefficients_to_slots_stages: listed(b.to_slots_stages.iter().map(|&s| s as i64)),
                coefficients_to_slots_shifts: listed(b.to_slots_shifts.iter().map(|&s| s.into())),
                first_transform_by_keys: b.first_by_keys.then_some(true),
                invariant_sine: b.invariant_sine.then_some(true),
                baby_steps: listed(b.baby_steps.iter().map(|&(k, s)| [k as i64, s as i64])),
            }),
            encapsulation: self.encapsulation().map(Encapsulation::literal),
        }
    }

    /// The magnitude from which on slots at this level and scale wrap around: no coefficient is
    /// larger than the largest slot times the scale, and coefficients must stay below half the
    /// modulus.
    pub(crate) fn room(&self, level: usize, scale: f64) -> f64 {
        let chain = self.chain();
        libm::exp2(chain.log2_product(chain.base(level)) - 1.0 - scale.log2())
    }

    /// Refuses a level that the set does not have.
    pub(crate) fn check_level(&self, operation: &str, level: usize) -> Result<()> {
        let top = self.top_level();
        if level <= top {
            return Ok(());
        }
        let rule = format!("{self} has levels 0 to {top}");
        Err(Error::Level { operation: operation.into(), level, rule })
    }
}

/// The items of a list, as a field of a file: none where there are none.
fn listed<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let items: Vec<_> = items.collect();
    (!items.is_empty()).then_some(items)
}

/// What the names of sets without security begin with.
const INSECURE: &str = "INSECURE_";
