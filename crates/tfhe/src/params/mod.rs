//! Parameter sets: checked data, from the built-in table, from TOML, or from a literal.

mod builtin;
mod judged;
mod literal;
mod security;

pub use girih_rlwe::security::SecurityEstimate;
pub use literal::{Mode, ParameterLiteral};
pub use security::Security;

use crate::{Error, Result};
use girih_backend::{BootstrapShape, Gadget, KeyModulus, SecretKind, ShapeError};
use literal::{log2, unsigned};
use std::sync::Arc;

/// The distribution that errors are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorDistribution {
    /// A rounded Gaussian of this standard deviation, in units of each ciphertext's own modulus.
    Gaussian {
        /// Standard deviation.
        sigma: f64,
    },
    /// Uniform on `[-2^b, 2^b]` with half weight at both ends, on the native torus.
    TUniform {
        /// b of LWE ciphertexts.
        lwe_log2_bound: u32,
        /// b of GLWE ciphertexts.
        glwe_log2_bound: u32,
    },
}

/// A parameter set whose every relation has been checked. Cheap to clone.
///
/// Two sets are equal if they have the same name and the same numbers; keys and ciphertexts of
/// unequal sets do not mix.
#[derive(Clone)]
pub struct ParameterSet(Arc<Inner>);

#[derive(PartialEq)]
struct Inner {
    name: String,
    shape: BootstrapShape,
    /// Of the GLWE secret; the shape has that of the LWE secret, which devices must know.
    ring_secret: SecretKind,
    errors: ErrorDistribution,
    origin: Origin,
}

/// Where a set comes from and what its source says of it.
#[derive(Clone, Copy, PartialEq)]
struct Origin {
    /// One sentence for people.
    description: &'static str,
    /// Security that the source claims, in bits.
    claim: Option<u32>,
    /// log2 of the failure probability of a gate that the source states.
    log2_failure: Option<f64>,
}

const CUSTOM: Origin = Origin { description: "a custom set", claim: None, log2_failure: None };

impl PartialEq for ParameterSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl std::fmt::Debug for ParameterSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParameterSet")
            .field("name", &self.name())
            .field("shape", self.shape())
            .field("errors", &self.errors())
            .finish()
    }
}

impl std::fmt::Display for ParameterSet {
    /// The name, with the packing where it is not 1: `M3_R5`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.packing() {
            1 => f.write_str(self.name()),
            r => write!(f, "{}_R{r}", self.name()),
        }
    }
}

impl Default for ParameterSet {
    /// STD128: current, 128-bit, one 32-bit word on every device.
    fn default() -> Self {
        Self::by_name("STD128").expect("the default set is in the table")
    }
}

impl ParameterSet {
    /// Checks every field of `literal` and every relation between them.
    ///
    /// A literal equal to a built-in set, packing aside, becomes that set with what is known about
    /// it. Any other takes a name that no built-in set has, with or without a packing or a prefix:
    /// nobody is to mistake it for one that was judged.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the first field that is impossible,
    /// its value and the rule it breaks.
    pub fn new(literal: &ParameterLiteral) -> Result<Self> {
        let size = unsigned("N", literal.polynomial_size, 256, 8192)?;
        if !size.is_power_of_two() {
            return Err(ShapeError::new("N", size, "must be a power of two in 256..=8192").into());
        }
        let set = Self::checked(literal, size, CUSTOM)?;
        if let Some(known) = builtin::find(set.name())
            && let Ok(known) = known.with_packing(set.packing())
            && known.shape() == set.shape()
            && known.ring_secret() == set.ring_secret()
            && known.errors() == set.errors()
        {
            return Ok(known);
        }
        if let Some(known) = Self::built_in(set.name()) {
            let rule = format!("the built-in set {known} has other numbers; take another name");
            return Err(ShapeError::new("name", set.name(), rule).into());
        }
        Ok(set)
    }

    /// The built-in set, packing aside, that `name` could be taken for.
    fn built_in(name: &str) -> Option<Self> {
        let bare = name.strip_prefix("BOLT_").unwrap_or(name);
        let of_packing = || {
            let (base, packing) = bare.rsplit_once("_R")?;
            (!packing.is_empty() && packing.bytes().all(|c| c.is_ascii_digit()))
                .then(|| builtin::find(base))?
        };
        builtin::find(bare).or_else(of_packing)
    }

    fn checked(literal: &ParameterLiteral, size: usize, origin: Origin) -> Result<Self> {
        let valid_name = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        if literal.name.is_empty()
            || literal.name.len() > 64
            || !literal.name.chars().all(valid_name)
        {
            let shown: String = literal.name.chars().take(64).collect();
            return Err(ShapeError::new(
                "name",
                format!("{shown:?}"),
                "must be 1 to 64 letters, digits and `_`, `-`, `+`, `.`",
            )
            .into());
        }
        let double = 2 * size as u64;
        let q_rule = || format!("must be a power of two that divides 2N = {double}");
        let log2_q = log2("q", literal.q, q_rule)?;
        if log2_q > double.trailing_zeros() || log2_q < 3 {
            return Err(ShapeError::new("q", literal.q, format!("{}, at least 8", q_rule())).into());
        }
        let (gadget, key_modulus) = match literal.mode {
            Mode::Gd => gd(literal, size)?,
            Mode::Mr => mr(literal, size)?,
            Mode::Torus => torus(literal, size)?,
        };
        let errors = errors(literal)?;
        let shape = BootstrapShape {
            lwe_dimension: unsigned("n", literal.n, 1, 8192)?,
            log2_lwe_modulus: log2_q,
            polynomial_size: size,
            glwe_dimension: unsigned("k", literal.k, 1, 4)?,
            packing: unsigned("r", literal.r, 1, 16)?,
            secret: literal.secret,
            grouping: unsigned(
                "grouping",
                literal.grouping.unwrap_or(1),
                1,
                BootstrapShape::MAX_GROUPING as u64,
            )?,
            gadget,
            key_modulus,
            log2_ks_modulus: log2("q_ks", literal.q_ks, || {
                format!("must be a power of two from q = {} to 2^40", literal.q)
            })?,
            log2_ks_base: log2("base_ks", literal.base_ks, || {
                "must be a power of two from 2 to 4096".into()
            })?,
        };
        shape.validate()?;
        Self(Arc::new(Inner {
            name: literal.name.clone(),
            shape,
            ring_secret: literal.ring_secret.unwrap_or(literal.secret),
            errors,
            origin,
        }))
        .if_it_computes()
    }

    /// Reads and checks a parameter file.
    ///
    /// # Errors
    /// [`Error::ParameterFile`] for a file of the wrong form, else as [`ParameterSet::new`].
    pub fn from_toml(text: &str) -> Result<Self> {
        Self::new(&ParameterLiteral::from_toml(text)?)
    }

    /// Writes the set as a parameter file, primes included.
    pub fn to_toml(&self) -> String {
        self.literal().to_toml()
    }

    /// The fields of this set, primes included.
    pub fn literal(&self) -> ParameterLiteral {
        let shape = self.shape();
        let mut literal = ParameterLiteral {
            name: self.name().to_owned(),
            mode: Mode::Gd,
            secret: shape.secret,
            ring_secret: (self.ring_secret() != shape.secret).then_some(self.ring_secret()),
            n: shape.lwe_dimension as i64,
            q: 1 << shape.log2_lwe_modulus,
            polynomial_size: shape.polynomial_size as i64,
            k: shape.glwe_dimension as i64,
            r: shape.packing as i64,
            grouping: (shape.grouping > 1).then_some(shape.grouping as i64),
            log2_accumulator_modulus: shape
                .key_modulus_value()
                .map_or(64, |modulus| i64::from((modulus - 1).ilog2()) + 1),
            log2_key_modulus: None,
            base_g: None,
            dropped: None,
            dropped_bits: None,
            digits: None,
            q_ks: 1 << shape.log2_ks_modulus,
            base_ks: 1 << shape.log2_ks_base,
            sigma: None,
            tuniform_lwe: None,
            tuniform_glwe: None,
            words: match &shape.key_modulus {
                KeyModulus::Words(words) => Some(words.iter().map(|&w| i64::from(w)).collect()),
                KeyModulus::Torus64 => None,
            },
        };
        match self.errors() {
            ErrorDistribution::Gaussian { sigma } => literal.sigma = Some(sigma),
            ErrorDistribution::TUniform { lwe_log2_bound, glwe_log2_bound } => {
                literal.tuniform_lwe = Some(i64::from(lwe_log2_bound));
                literal.tuniform_glwe = Some(i64::from(glwe_log2_bound));
            }
        }
        match shape.gadget {
            Gadget::Decomposition { log2_base, dropped_bits, .. } => {
                literal.base_g = Some(1 << log2_base);
                if dropped_bits.is_multiple_of(log2_base) {
                    literal.dropped = Some(i64::from(dropped_bits / log2_base));
                } else {
                    literal.dropped_bits = Some(i64::from(dropped_bits));
                }
            }
            Gadget::ModulusRaising { log2_modulus } => {
                literal.mode = Mode::Mr;
                literal.log2_accumulator_modulus = i64::from(log2_modulus);
                literal.log2_key_modulus =
                    shape.key_modulus_value().map(|modulus| i64::from(modulus.ilog2()));
            }
            Gadget::ClosestRepresentative { log2_base, levels } => {
                literal.mode = Mode::Torus;
                literal.base_g = Some(1 << log2_base);
                literal.digits = Some(levels as i64);
            }
        }
        literal
    }

    /// The built-in set of that name; `M3_R5` is M3 with packing 5, and `BOLT_M3_R5` the same.
    ///
    /// # Errors
    /// [`Error::UnknownSet`] with the nearest names there are.
    pub fn by_name(name: &str) -> Result<Self> {
        let bare = name.strip_prefix("BOLT_").unwrap_or(name);
        if let Some(set) = builtin::find(bare) {
            return Ok(set);
        }
        if let Some((base, packing)) = bare.rsplit_once("_R")
            && packing.bytes().all(|digit| digit.is_ascii_digit())
            && let (Some(set), Ok(packing)) = (builtin::find(base), packing.parse())
        {
            return set.with_packing(packing);
        }
        let (real, toys) = (Self::all(), Self::insecure());
        let nearest = girih_rlwe::nearest(bare, real.iter().chain(&toys).map(Self::name));
        let elsewhere = match name.contains("CKKS") {
            true => "; names with CKKS are sets of `girih::ckks` (`CkksParameters::by_name`)",
            false => "",
        };
        Err(Error::UnknownSet { name: name.chars().take(64).collect(), nearest, elsewhere })
    }

    /// Every published set and this library's own, with packing 1.
    pub fn all() -> Vec<Self> {
        builtin::published()
    }

    /// Small sets without any security, for tests; their names say so.
    pub fn insecure() -> Vec<Self> {
        builtin::insecure()
    }

    /// The same set with `packing` bodies that share one mask.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `packing` is in 1..=16 and gates still work: noise grows with r.
    pub fn with_packing(&self, packing: usize) -> Result<Self> {
        let shape = BootstrapShape { packing, ..self.shape().clone() };
        shape.validate()?;
        Self(Arc::new(Inner {
            name: self.0.name.clone(),
            shape,
            ring_secret: self.ring_secret(),
            errors: self.0.errors,
            origin: self.0.origin,
        }))
        .if_it_computes()
    }

    /// The name, without the packing.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Where the set comes from, in one sentence.
    pub fn description(&self) -> &str {
        self.0.origin.description
    }

    /// The numbers that fix a device's kernels.
    pub fn shape(&self) -> &BootstrapShape {
        &self.0.shape
    }

    /// Distribution of the GLWE secret; [`BootstrapShape::secret`] is that of the LWE secret.
    pub fn ring_secret(&self) -> SecretKind {
        self.0.ring_secret
    }

    /// Distribution of the secret that stored ciphertexts are under: the LWE secret, on the native
    /// torus the GLWE secret.
    pub fn stored_secret(&self) -> SecretKind {
        if self.shape().is_torus() { self.ring_secret() } else { self.shape().secret }
    }

    /// The distribution of errors.
    pub fn errors(&self) -> ErrorDistribution {
        self.0.errors
    }

    /// r, messages of one ciphertext.
    pub fn packing(&self) -> usize {
        self.shape().packing
    }

    /// q, modulus of LWE ciphertexts between bootstrappings: 2^64 on the native torus.
    pub fn lwe_modulus(&self) -> u128 {
        1 << self.shape().log2_stored_modulus()
    }

    /// log2 of the failure probability of a two-input gate that the source of the set states,
    /// if it does.
    pub fn published_log2_failure(&self) -> Option<f64> {
        self.0.origin.log2_failure
    }

    /// What is known about the security of this set.
    pub fn security(&self) -> Security {
        security::judge(self)
    }

    pub(crate) fn unsupported(&self, why: &str) -> Error {
        Error::Unsupported { set: self.name().to_owned(), why: why.to_owned() }
    }
}

fn missing(field: &'static str, mode: Mode, what: &str) -> Error {
    ShapeError::new(field, "missing", format!("mode {mode} needs {what}")).into()
}

fn foreign(field: &'static str, value: i64, mode: Mode) -> Error {
    ShapeError::new(field, value, format!("does not belong to mode {mode}; leave it out")).into()
}

/// Refuses fields that belong to other modes.
fn refuse_foreign(
    literal: &ParameterLiteral,
    fields: &[(&'static str, Option<i64>)],
) -> Result<()> {
    match fields.iter().find_map(|&(field, value)| Some((field, value?))) {
        Some((field, value)) => Err(foreign(field, value, literal.mode)),
        None => Ok(()),
    }
}

/// The distribution of errors: sigma, or the two bounds of the native torus.
fn errors(literal: &ParameterLiteral) -> Result<ErrorDistribution> {
    let (bounds, mode) = (
        [("tuniform_lwe", literal.tuniform_lwe), ("tuniform_glwe", literal.tuniform_glwe)],
        literal.mode,
    );
    if mode != Mode::Torus {
        refuse_foreign(literal, &bounds)?;
        let sigma = literal.sigma.ok_or_else(|| {
            missing(
                "sigma",
                mode,
                "the standard deviation of its errors (3.19 in all published sets)",
            )
        })?;
        if !(0.25..=64.0).contains(&sigma) {
            return Err(ShapeError::new("sigma", sigma, "must be in 0.25..=64").into());
        }
        return Ok(ErrorDistribution::Gaussian { sigma });
    }
    if let Some(sigma) = literal.sigma {
        return Err(ShapeError::new(
            "sigma",
            sigma,
            "does not belong to mode TORUS; give tuniform_lwe and tuniform_glwe instead",
        )
        .into());
    }
    let [lwe_log2_bound, glwe_log2_bound] = bounds.map(|(field, bound)| {
        let bound =
            bound.ok_or_else(|| missing(field, mode, "the log2 of the bound of its errors"))?;
        unsigned(field, bound, 0, 61).map(|b| b as u32)
    });
    Ok(ErrorDistribution::TUniform {
        lwe_log2_bound: lwe_log2_bound?,
        glwe_log2_bound: glwe_log2_bound?,
    })
}

/// Digits of the native torus.
fn torus(literal: &ParameterLiteral, size: usize) -> Result<(Gadget, KeyModulus)> {
    refuse_foreign(
        literal,
        &[
            ("log2_T", literal.log2_key_modulus),
            ("dropped", literal.dropped),
            ("dropped_bits", literal.dropped_bits),
        ],
    )?;
    if let Some(words) = &literal.words {
        return Err(ShapeError::new(
            "words",
            format!("{words:?}"),
            "does not belong to mode TORUS; leave it out",
        )
        .into());
    }
    if literal.log2_accumulator_modulus != 64 {
        return Err(ShapeError::new(
            "log2_Q",
            literal.log2_accumulator_modulus,
            "must be 64 in mode TORUS",
        )
        .into());
    }
    if literal.q != 2 * size as i64 {
        return Err(ShapeError::new(
            "q",
            literal.q,
            format!("must be 2N = {} in mode TORUS", 2 * size),
        )
        .into());
    }
    let log2_base = log2_base(literal)?;
    let digits = literal.digits.ok_or_else(|| {
        missing("digits", Mode::Torus, "the number of its digits, from the most significant on")
    })?;
    let levels = unsigned("digits", digits, 1, u64::from(63 / log2_base))?;
    Ok((Gadget::ClosestRepresentative { log2_base, levels }, KeyModulus::Torus64))
}

/// log2 of the base of a gadget's digits.
fn log2_base(literal: &ParameterLiteral) -> Result<u32> {
    let base = literal
        .base_g
        .ok_or_else(|| missing("base_g", literal.mode, "the base of its digits, a power of two"))?;
    let range = "must be a power of two from 2 to 2^31";
    match log2("base_g", base, || range.into())? {
        log2_base @ 1..=31 => Ok(log2_base),
        _ => Err(ShapeError::new("base_g", base, range).into()),
    }
}

/// The primes a literal names, or `None` for the library's choice.
fn given_words(literal: &ParameterLiteral) -> Result<Option<Vec<u32>>> {
    let Some(given) = &literal.words else { return Ok(None) };
    if !(1..=2).contains(&given.len()) {
        return Err(ShapeError::new(
            "words",
            format!("{} numbers", given.len()),
            "must be one or two primes",
        )
        .into());
    }
    let words: Option<Vec<u32>> = given.iter().map(|&w| u32::try_from(w).ok()).collect();
    words.map(Some).ok_or_else(|| {
        ShapeError::new("words", format!("{given:?}"), "must be primes below 2^31").into()
    })
}

/// Digits and primes of gadget decomposition.
fn gd(literal: &ParameterLiteral, size: usize) -> Result<(Gadget, KeyModulus)> {
    refuse_foreign(literal, &[("log2_T", literal.log2_key_modulus), ("digits", literal.digits)])?;
    let order = 2 * size as u32;
    let bits = unsigned("log2_Q", literal.log2_accumulator_modulus, 13, 60)? as u32;
    let found = match given_words(literal)? {
        Some(words) => Some(words),
        None if bits <= 31 => girih_ring::largest_ntt_prime(bits, order).map(|w| vec![w]),
        None => girih_ring::largest_ntt_prime_pair(bits, order).map(|w| w.to_vec()),
    };
    let words = found.ok_or_else(|| {
        ShapeError::new(
            "log2_Q",
            bits,
            format!("there are no primes of that size that are 1 modulo 2N = {order}"),
        )
    })?;
    let modulus = words.iter().fold(1u128, |product, &w| product * u128::from(w));
    let actual = 128 - modulus.saturating_sub(1).leading_zeros();
    if actual != bits {
        return Err(ShapeError::new(
            "log2_Q",
            bits,
            format!("the product of words {words:?} has {actual} bits"),
        )
        .into());
    }
    let log2_base = log2_base(literal)?;
    let dropped_bits = match (literal.dropped, literal.dropped_bits) {
        (Some(dropped), None) => {
            unsigned("dropped", dropped, 0, u64::from(bits.div_ceil(log2_base)) - 1)? as u32
                * log2_base
        }
        (None, Some(dropped_bits)) => {
            unsigned("dropped_bits", dropped_bits, 0, u64::from(bits) - 1)? as u32
        }
        (None, None) => {
            return Err(missing(
                "dropped",
                Mode::Gd,
                "the number of lowest digits left out (usually 1)",
            ));
        }
        (Some(_), Some(both)) => {
            return Err(ShapeError::new(
                "dropped_bits",
                both,
                "is given with dropped; give one of them",
            )
            .into());
        }
    };
    let levels = (bits - dropped_bits).div_ceil(log2_base) as usize;
    Ok((Gadget::Decomposition { log2_base, levels, dropped_bits }, KeyModulus::Words(words)))
}

/// Moduli of modulus raising.
fn mr(literal: &ParameterLiteral, size: usize) -> Result<(Gadget, KeyModulus)> {
    refuse_foreign(
        literal,
        &[
            ("base_g", literal.base_g),
            ("dropped", literal.dropped),
            ("dropped_bits", literal.dropped_bits),
            ("digits", literal.digits),
        ],
    )?;
    let order = 2 * size as u32;
    let log2_modulus = unsigned("log2_Q", literal.log2_accumulator_modulus, 8, 30)? as u32;
    let bits = literal
        .log2_key_modulus
        .ok_or_else(|| missing("log2_T", Mode::Mr, "the size of the key modulus T"))?;
    let bits = unsigned("log2_T", bits, u64::from(log2_modulus) + 1, 60)? as u32;
    let words = match given_words(literal)? {
        Some(words) => words,
        None => girih_ring::ntt_prime_pair_above(bits, order)
            .ok_or_else(|| {
                ShapeError::new(
                    "log2_T",
                    bits,
                    format!("there is no pair of primes 1 modulo 2N = {order} just above 2^{bits}"),
                )
            })?
            .to_vec(),
    };
    let modulus = words.iter().fold(1u128, |product, &w| product * u128::from(w));
    if modulus >> bits != 1 {
        return Err(ShapeError::new(
            "log2_T",
            bits,
            format!("the product of words {words:?} must lie between 2^{bits} and twice that"),
        )
        .into());
    }
    Ok((Gadget::ModulusRaising { log2_modulus }, KeyModulus::Words(words)))
}
