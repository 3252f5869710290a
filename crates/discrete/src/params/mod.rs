//! Parameter sets: a set of CKKS, the modulus of numbers, and how a look-up uses the levels.

mod builtin;
mod literal;
mod primes;
#[cfg(test)]
mod tests;

pub use literal::DiscreteLiteral;
pub use primes::nearest_primes;

use crate::exponential::{DEGREES, series_error};
use crate::wire;
use crate::{Error, Result};
use girih_ckks::CkksParameters;
use girih_ckks::params::{EncapsulationLiteral, ParameterLiteral, Security};
use girih_ring::bit_reverse;
use girih_rlwe::wire::Kind;
use girih_rlwe::{ParameterSet, Scheme};
use std::sync::Arc;

/// A set whose every relation has been checked. Cheap to clone.
///
/// Its levels, from below: level 0; one for each transform from slots to coefficients, whose
/// highest is the *wire level*, where ciphertexts live; those of tables; squarings of the
/// exponential, its polynomial; one for each transform from coefficients to slots.
#[derive(Clone)]
pub struct DiscreteParameters(Arc<Inner>);

#[derive(PartialEq)]
struct Inner {
    ckks: CkksParameters,
    modulus: u32,
    to_coefficients: Vec<usize>,
    to_slots: Vec<usize>,
    squarings: usize,
    degree: usize,
    table_levels: usize,
}

impl PartialEq for DiscreteParameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl std::fmt::Debug for DiscreteParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiscreteParameters")
            .field("name", &self.name())
            .field("modulus", &self.modulus())
            .field("numbers", &self.numbers())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Display for DiscreteParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Default for DiscreteParameters {
    /// DISCRETE_4: sums modulo 16, 32,768 numbers a ciphertext.
    fn default() -> Self {
        Self::by_name("DISCRETE_4").expect("the default set is in the table")
    }
}

/// A field in a range.
fn within(field: &'static str, value: i64, low: i64, high: i64) -> Result<usize> {
    if (low..=high).contains(&value) {
        return Ok(value as usize);
    }
    let rule = format!("must be in {low}..={high}");
    Err(Error::Parameter { field, value: value.to_string(), rule })
}

/// Stages of transforms, which take all log2 N - 1.
fn stages(field: &'static str, values: &[i64], log2_degree: i64) -> Result<Vec<usize>> {
    let all = log2_degree - 1;
    let sum = values.iter().try_fold(0i64, |sum, &v| sum.checked_add(v));
    if values.is_empty() || values.iter().any(|&v| v < 1) || sum != Some(all) {
        let rule = format!("must be positive numbers of stages that sum to log2 N - 1 = {all}");
        return Err(Error::Parameter { field, value: format!("{values:?}"), rule });
    }
    Ok(values.iter().map(|&v| v as usize).collect())
}

impl DiscreteParameters {
    /// Checks every field of `literal` and every relation between them.
    ///
    /// A literal equal to a built-in set becomes that set; a different one may not take its name.
    ///
    /// # Errors
    /// [`Error::Parameter`] or [`Error::Ckks`] with the first field that is impossible, its value
    /// and the rule it breaks.
    pub fn new(literal: &DiscreteLiteral) -> Result<Self> {
        let set = Self::checked(literal)?;
        match builtin::find(set.name()) {
            Some(known) if known == set => Ok(known),
            Some(_) => {
                let rule = "a built-in set of other numbers has this name: take another name";
                let value = set.name().into();
                Err(Error::Parameter { field: "name", value, rule: rule.into() })
            }
            None => Ok(set),
        }
    }

    fn checked(literal: &DiscreteLiteral) -> Result<Self> {
        let log2_degree = within("log2_degree", literal.log2_degree, 4, 17)? as i64;
        let modulus = within("modulus", literal.modulus, 2, 32)? as u32;
        let to_coefficients = stages("to_coefficients", &literal.to_coefficients, log2_degree)?;
        let to_slots = stages("to_slots", &literal.to_slots, log2_degree)?;
        let squarings = within("squarings", literal.squarings, 1, 8)?;
        let degree = within("degree", literal.degree, 3, 63)?;
        if !DEGREES.contains(&degree) {
            let rule = "must be 15 or 31, whose noise is known".into();
            return Err(Error::Parameter { field: "degree", value: degree.to_string(), rule });
        }
        if literal.sparse_weight % 2 != 0 {
            let (field, value) = ("sparse_weight", literal.sparse_weight.to_string());
            return Err(Error::Parameter { field, value, rule: "must be even".into() });
        }
        let fixed =
            to_coefficients.len() + squarings + (degree + 1).ilog2() as usize + to_slots.len();
        let levels = literal.main.len().saturating_sub(1);
        let table_levels = levels.saturating_sub(fixed);
        if !(2..=8).contains(&table_levels) {
            let (field, value) = ("main", format!("{} primes", literal.main.len()));
            let rule = format!(
                "level 0 and what surrounds a table take {} of them, and tables 2 to 8 more",
                fixed + 1
            );
            return Err(Error::Parameter { field, value, rule });
        }
        let ckks = CkksParameters::new(&ParameterLiteral {
            name: literal.name.clone(),
            description: literal.description.clone(),
            log2_degree,
            scale: literal.scale,
            secret_weight: literal.secret_weight,
            terminal: Vec::new(),
            main: literal.main.clone(),
            auxiliary: literal.auxiliary.clone(),
            digits: literal.digits.clone(),
            states: (1..=literal.main.len() as i64).map(|main| [main, 0]).collect(),
            bootstrapping: None,
            encapsulation: Some(EncapsulationLiteral {
                sparse_weight: literal.sparse_weight,
                auxiliary: 1,
                data_level: to_coefficients.len() as i64,
                flatness: literal.flatness,
            }),
        })?;
        let set = Self(Arc::new(Inner {
            ckks,
            modulus,
            to_coefficients,
            to_slots,
            squarings,
            degree,
            table_levels,
        }));
        let error = series_error(set.interval(), set.squarings(), set.degree());
        if error > 1.0 / 64.0 {
            let rule = format!(
                "the exponential would be off by {error:.2e} at the ends of [-{0}, {0}], and 1/64 \
                 is allowed: take a larger degree or more squarings",
                set.interval()
            );
            return Err(Error::Parameter { field: "degree", value: degree.to_string(), rule });
        }
        Ok(set)
    }

    /// Reads and checks a parameter file.
    ///
    /// # Errors
    /// [`Error::ParameterFile`] for a file of the wrong form, else as [`DiscreteParameters::new`].
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::new(&DiscreteLiteral::from_toml(text)?)
    }

    /// Writes the set as a parameter file.
    pub fn to_toml(&self) -> String {
        self.literal().to_toml()
    }

    /// The built-in set of that name.
    ///
    /// # Errors
    /// [`Error::UnknownSet`] listing the names there are.
    pub fn by_name(name: &str) -> Result<Self> {
        builtin::find(name).ok_or_else(|| Error::UnknownSet {
            name: name.chars().take(64).collect(),
            known: builtin::names(),
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

    /// The set of CKKS: primes, levels, secrets.
    pub fn ckks(&self) -> &CkksParameters {
        &self.0.ckks
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.ckks().name()
    }

    /// What the set is for, in one sentence.
    pub fn description(&self) -> &str {
        self.ckks().description()
    }

    /// p: look-ups read sums modulo it or a divisor.
    pub fn modulus(&self) -> u32 {
        self.0.modulus
    }

    /// N, the numbers of a ciphertext: number j < N/2 is the real part of slot j, number N/2 + j
    /// its imaginary part.
    pub fn numbers(&self) -> usize {
        self.ckks().degree()
    }

    /// The level where ciphertexts live.
    pub fn wire_level(&self) -> usize {
        self.0.to_coefficients.len()
    }

    /// The scale of numbers, at the wire level.
    pub fn scale(&self) -> f64 {
        self.ckks().scale(self.wire_level()).expect("the data level has a scale")
    }

    /// Q_0, one prime: what a whole turn of a phase is at level 0.
    pub fn turn(&self) -> f64 {
        let chain = self.ckks().chain();
        chain.base(0).map(|position| f64::from(chain.prime(position))).product()
    }

    /// The exponent of X at which number j of a ciphertext stands, where numbers are coefficients.
    pub fn exponent(&self, number: usize) -> usize {
        let half = self.numbers() / 2;
        bit_reverse(number % half, half.ilog2()) + number / half * half
    }

    /// Levels that a table may take: a polynomial of degree below 2^levels.
    pub fn table_levels(&self) -> usize {
        self.0.table_levels
    }

    /// The level at which the exponential starts, for tables of `levels` levels.
    pub fn exponential_level(&self, levels: usize) -> usize {
        self.wire_level() + levels + self.0.squarings + (self.0.degree + 1).ilog2() as usize
    }

    /// The level that a look-up raises to, for tables of `levels` levels.
    pub fn raised_level(&self, levels: usize) -> usize {
        self.exponential_level(levels) + self.0.to_slots.len()
    }

    /// Stages of each transform from slots to coefficients.
    pub fn to_coefficients(&self) -> &[usize] {
        &self.0.to_coefficients
    }

    /// Stages of each transform from coefficients to slots.
    pub fn to_slots(&self) -> &[usize] {
        &self.0.to_slots
    }

    /// r, squarings after the polynomial of the exponential.
    pub fn squarings(&self) -> usize {
        self.0.squarings
    }

    /// The degree of that polynomial.
    pub fn degree(&self) -> usize {
        self.0.degree
    }

    /// K = (h + 1)/2. What stands beside the message after raising the modulus is a sum of h + 1
    /// numbers of magnitude at most 1/2, so it never leaves [-K, K].
    pub fn interval(&self) -> f64 {
        let weight = self.ckks().sparse_weight().expect("every set has a sparse secret");
        (weight as f64 + 1.0) / 2.0
    }

    /// The largest square of a slot of the dense secret, in units of the mean.
    pub fn flatness(&self) -> f64 {
        self.ckks().encapsulation().expect("every set has one").flatness()
    }

    /// What is known about the security of this set, both secrets included.
    pub fn security(&self) -> Security {
        self.ckks().security()
    }

    /// What a user must be told before relying on this set.
    pub fn warnings(&self) -> Vec<String> {
        self.ckks().warnings()
    }

    /// Whether the name says that the set has no security.
    pub fn is_insecure(&self) -> bool {
        self.ckks().is_insecure()
    }

    /// The fields of this set, as a parameter file has them.
    pub fn literal(&self) -> DiscreteLiteral {
        let ckks = self.ckks().literal();
        let counts = |counts: &[usize]| counts.iter().map(|&c| c as i64).collect();
        DiscreteLiteral {
            name: ckks.name,
            description: ckks.description,
            log2_degree: ckks.log2_degree,
            scale: ckks.scale,
            secret_weight: ckks.secret_weight,
            main: ckks.main,
            auxiliary: ckks.auxiliary,
            digits: ckks.digits,
            modulus: i64::from(self.modulus()),
            to_coefficients: counts(self.to_coefficients()),
            to_slots: counts(self.to_slots()),
            squarings: self.squarings() as i64,
            degree: self.degree() as i64,
            sparse_weight: ckks.encapsulation.as_ref().map_or(0, |own| own.sparse_weight),
            flatness: self.flatness(),
        }
    }
}

/// What [`DiscreteParameters`] adds to the canonical form of its set of CKKS.
type Canonical<'a> = (u8, Vec<u8>, Vec<u8>, u8, u8, &'a [u8]);

impl ParameterSet for DiscreteParameters {
    const SCHEME: Scheme = Scheme::Discrete;
    const KINDS: &'static [Kind] =
        &[wire::CLIENT_KEY, wire::PUBLIC_KEY, wire::EVALUATION_KEYS, wire::NUMBERS, wire::SEEDED];

    fn to_canonical(&self) -> Vec<u8> {
        let small = |counts: &[usize]| counts.iter().map(|&c| c as u8).collect::<Vec<u8>>();
        let ckks = self.ckks().to_canonical();
        let own: Canonical<'_> = (
            self.modulus() as u8,
            small(self.to_coefficients()),
            small(self.to_slots()),
            self.squarings() as u8,
            self.degree() as u8,
            &ckks,
        );
        postcard::to_extend(&own, Vec::new()).expect("plain fields can be serialized")
    }

    fn from_canonical(bytes: &[u8]) -> std::result::Result<Self, String> {
        let (own, rest): (Canonical<'_>, &[u8]) =
            postcard::take_from_bytes(bytes).map_err(|e| e.to_string())?;
        if !rest.is_empty() {
            return Err("bytes follow the set".into());
        }
        let (modulus, to_coefficients, to_slots, squarings, degree, ckks) = own;
        let ckks = CkksParameters::from_canonical(ckks)?;
        let counts = |counts: Vec<u8>| counts.into_iter().map(i64::from).collect::<Vec<_>>();
        let known = ckks.literal();
        let Some(encapsulation) = known.encapsulation else {
            return Err(format!("{ckks} has no sparse secret for look-ups"));
        };
        let set = Self::new(&DiscreteLiteral {
            name: known.name,
            description: known.description,
            log2_degree: known.log2_degree,
            scale: known.scale,
            secret_weight: known.secret_weight,
            main: known.main,
            auxiliary: known.auxiliary,
            digits: known.digits,
            modulus: modulus.into(),
            to_coefficients: counts(to_coefficients),
            to_slots: counts(to_slots),
            squarings: squarings.into(),
            degree: degree.into(),
            sparse_weight: encapsulation.sparse_weight,
            flatness: encapsulation.flatness,
        })
        .map_err(|e| e.to_string())?;
        if *set.ckks() != ckks {
            return Err(format!("the levels of {ckks} are not those of a set for look-ups"));
        }
        Ok(set)
    }
}
