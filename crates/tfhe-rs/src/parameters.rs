//! Which parameter set the keys of a client are of.
//!
//! A compressed server key holds dimensions and digits, but not how large the errors of its client
//! are. These come from the tables that TFHE-rs publishes, or from whoever knows the client's
//! parameters.

use crate::{Error, Result, error};
use girih_backend::SecretKind;
use girih_tfhe::{Mode, ParameterLiteral, ParameterSet};
use tfhe::core_crypto::prelude::DynamicDistribution;
use tfhe::shortint::parameters::{self as published, EncryptionKeyChoice};
use tfhe::shortint::{ClassicPBSParameters, MultiBitPBSParameters};

/// What keys show of their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimensions {
    /// n.
    pub lwe: usize,
    /// k.
    pub glwe: usize,
    /// N.
    pub polynomial: usize,
    /// LWE indices of a step: 1, or the grouping factor of a multi-bit key.
    pub grouping: usize,
    /// log2 of the base and number of the bootstrapping digits.
    pub bootstrapping: (usize, usize),
    /// The same of the key switch.
    pub key_switching: (usize, usize),
    /// Values of the message and of the carry.
    pub moduli: (u64, u64),
}

impl std::fmt::Display for Dimensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lwe, glwe, polynomial, grouping, bootstrapping, key_switching, .. } = self;
        write!(
            f,
            "n = {lwe}, k = {glwe}, N = {polynomial}, groups of {grouping}, bootstrapping digits \
             2^{} x {}, key-switching digits 2^{} x {}",
            bootstrapping.0, bootstrapping.1, key_switching.0, key_switching.1
        )
    }
}

/// Parameters of a client: its name in TFHE-rs, what keys show, and errors of LWE and GLWE
/// ciphertexts as log2 of the bound of a uniform distribution that has at least their variance.
struct Known {
    name: String,
    dimensions: Dimensions,
    order: EncryptionKeyChoice,
    errors: (u32, u32),
}

/// The fields that both kinds of parameters have under one name.
macro_rules! known {
    ($parameters:expr, $name:expr, $grouping:expr) => {{
        let p = $parameters;
        Known {
            name: $name,
            dimensions: Dimensions {
                lwe: p.lwe_dimension.0,
                glwe: p.glwe_dimension.0,
                polynomial: p.polynomial_size.0,
                grouping: $grouping,
                bootstrapping: (p.pbs_base_log.0, p.pbs_level.0),
                key_switching: (p.ks_base_log.0, p.ks_level.0),
                moduli: (p.message_modulus.0, p.carry_modulus.0),
            },
            order: p.encryption_key_choice,
            errors: (log2_bound(p.lwe_noise_distribution), log2_bound(p.glwe_noise_distribution)),
        }
    }};
}

/// The smallest b whose uniform distribution on [-2^b, 2^b], half weight at both ends, has at least
/// this variance: `(2^(2b + 1) + 1) / 6`.
fn log2_bound(errors: DynamicDistribution<u64>) -> u32 {
    match errors {
        DynamicDistribution::TUniform(uniform) => uniform.bound_log2(),
        DynamicDistribution::Gaussian(gaussian) => {
            let variance = (gaussian.std * 2f64.powi(64)).powi(2);
            (0..61).find(|&b| (2f64.powi(2 * b + 1) + 1.0) / 6.0 >= variance).unwrap_or(61) as u32
        }
    }
}

impl Known {
    fn classic(parameters: &ClassicPBSParameters, name: &str) -> Self {
        known!(parameters, name.to_owned(), 1)
    }

    fn multi_bit(parameters: &MultiBitPBSParameters, name: &str) -> Self {
        known!(parameters, name.to_owned(), parameters.grouping_factor.0)
    }

    /// As a parameter set of girih: its own where all numbers are those of a set that it has.
    fn set(&self) -> Result<ParameterSet> {
        let d = &self.dimensions;
        let power = |(log2_base, digits): (usize, usize)| {
            1i64.checked_shl((log2_base * digits) as u32).unwrap_or(0)
        };
        let literal = |name: &str| ParameterLiteral {
            name: name.into(),
            mode: Mode::Torus,
            secret: SecretKind::Binary,
            ring_secret: None,
            n: d.lwe as i64,
            q: 2 * d.polynomial as i64,
            polynomial_size: d.polynomial as i64,
            k: d.glwe as i64,
            r: 1,
            grouping: (d.grouping > 1).then_some(d.grouping as i64),
            log2_accumulator_modulus: 64,
            log2_key_modulus: None,
            base_g: Some(power((d.bootstrapping.0, 1))),
            dropped: None,
            dropped_bits: None,
            digits: Some(d.bootstrapping.1 as i64),
            q_ks: power(d.key_switching),
            base_ks: power((d.key_switching.0, 1)),
            sigma: None,
            tuniform_lwe: Some(self.errors.0.into()),
            tuniform_glwe: Some(self.errors.1.into()),
            words: None,
        };
        let own = ["TFHERS_2_2"].into_iter().find_map(|name| {
            let set = ParameterSet::by_name(name).ok()?;
            (set.literal() == literal(name)).then_some(set)
        });
        match own {
            Some(set) => Ok(set),
            None => ParameterSet::new(&literal(&short(&self.name))).map_err(|why| {
                Error::Keys(format!("{} ({d}) is a set that girih cannot run: {why}", self.name))
            }),
        }
    }
}

/// At most 64 characters, which names of sets have; the version and what tells sets apart stay.
fn short(name: &str) -> String {
    let shorter = name.replace("PARAM_", "").replace("MESSAGE_", "M").replace("_CARRY_", "_C");
    shorter.replace("MULTI_BIT_", "").chars().take(64).collect()
}

/// All tables that TFHE-rs publishes for versions from 1.0 on, newest first.
fn tables() -> Vec<Known> {
    macro_rules! tables {
        ($($version:ident)*) => {
            [$((
                &published::$version::VEC_ALL_CLASSIC_PBS_PARAMETERS[..],
                &published::$version::VEC_ALL_MULTI_BIT_PBS_PARAMETERS[..],
            )),*]
        };
    }
    tables!(v1_8 v1_7 v1_6 v1_5 v1_4 v1_3 v1_2 v1_1 v1_0)
        .into_iter()
        .flat_map(|(classic, multi_bit)| {
            let classic = classic.iter().map(|(p, name)| Known::classic(p, name));
            classic.chain(multi_bit.iter().map(|(p, name)| Known::multi_bit(p, name)))
        })
        .collect()
}

/// The set of keys with these dimensions. Where TFHE-rs publishes several that differ in nothing
/// that keys show, it is the one with the largest errors: what girih says of failures then holds
/// for each of them.
pub(crate) fn find(dimensions: &Dimensions) -> Result<ParameterSet> {
    let mut found: Option<Known> = None;
    for known in tables() {
        let key_switch_first = known.order == EncryptionKeyChoice::Big;
        if known.dimensions != *dimensions || !key_switch_first {
            continue;
        }
        match &mut found {
            None => found = Some(known),
            Some(first) => {
                let (a, b) = (first.errors, known.errors);
                first.errors = (a.0.max(b.0), a.1.max(b.1));
            }
        }
    }
    match found {
        Some(known) => known.set(),
        None => error::keys(format!(
            "{dimensions}: no set of TFHE-rs 1.0 to 1.8 has these numbers; name the client's \
             parameters with `Keys::with_parameters`"
        )),
    }
}

/// The set of given parameters, if keys of these dimensions can be of it.
pub(crate) fn given(
    parameters: impl Into<tfhe::shortint::PBSParameters>,
    dimensions: &Dimensions,
) -> Result<ParameterSet> {
    let name = "TFHERS_CLIENT";
    let known = match parameters.into() {
        tfhe::shortint::PBSParameters::PBS(classic) => Known::classic(&classic, name),
        tfhe::shortint::PBSParameters::MultiBitPBS(grouped) => Known::multi_bit(&grouped, name),
    };
    if known.dimensions != *dimensions {
        return error::keys(format!(
            "its numbers are {dimensions}, those of the parameters {}: they must be the same",
            known.dimensions
        ));
    }
    known.set()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Known {
        tables().into_iter().find(|known| known.name == name).expect("a published set")
    }

    /// Field for field: what girih says of TFHERS_2_2 holds for clients of the default.
    #[test]
    fn the_default_is_a_set_of_girih() {
        for version in ["V1_4", "V1_8"] {
            let name = format!("{version}_PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128");
            let default = known(&name);
            assert_eq!(default.set().expect("runs").name(), "TFHERS_2_2");
            assert_eq!(find(&default.dimensions).expect("published").name(), "TFHERS_2_2");
        }
    }

    #[test]
    fn other_sets_are_sets_of_their_own_or_refused_by_name() {
        let grouped =
            known("V1_4_PARAM_GPU_MULTI_BIT_GROUP_4_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128");
        let set = grouped.set().expect("runs");
        assert_eq!(set.shape().grouping, 4);
        assert_eq!(set.shape().lwe_dimension, grouped.dimensions.lwe);
        let large = known("V1_4_PARAM_MESSAGE_4_CARRY_4_KS_PBS_TUNIFORM_2M128");
        let error = large.set().expect_err("N = 65536").to_string();
        assert!(error.contains("V1_4_PARAM_MESSAGE_4") && error.contains("65536"), "{error}");
        let nobody = Dimensions { lwe: 7, ..large.dimensions };
        let error = find(&nobody).expect_err("no set").to_string();
        assert!(error.contains("n = 7"), "{error}");
    }

    /// A uniform distribution of at least the variance, and of less than four times that.
    #[test]
    fn gaussian_errors_are_covered() {
        for std in [1e-6f64, 3.4e-16, 2.2e-18] {
            let std_dev = tfhe::core_crypto::prelude::StandardDev(std);
            let b = log2_bound(DynamicDistribution::new_gaussian_from_std_dev(std_dev));
            let (ours, theirs) = ((2f64.powi(2 * b as i32 + 1) + 1.0) / 6.0, std * 2f64.powi(64));
            assert!(ours >= theirs * theirs && ours <= 4.01 * theirs * theirs, "{std}: {b}");
        }
        assert_eq!(log2_bound(DynamicDistribution::new_t_uniform(17)), 17);
    }
}
