//! The serialized form of a set, and what else is serialized.

use crate::params::{BootstrappingLiteral, EncapsulationLiteral, ParameterLiteral};
use crate::{CkksParameters, Error, Result, error};
use girih_rlwe::wire::Kind;
use girih_rlwe::{ParameterSet, Scheme};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

pub(crate) const CLIENT_KEY: Kind = Kind::new(1, "client key");
pub(crate) const PUBLIC_KEY: Kind = Kind::new(2, "public key");
pub(crate) const EVALUATION_KEYS: Kind = Kind::new(3, "evaluation keys");
pub(crate) const CIPHERTEXT: Kind = Kind::new(4, "ciphertext");
pub(crate) const SEEDED_CIPHERTEXT: Kind = Kind::new(5, "seeded ciphertext");

/// A [`ParameterLiteral`] with every field in its place: the canonical form has no optional ones
/// that are left out.
#[derive(Serialize, Deserialize)]
struct Canonical {
    name: String,
    description: String,
    log2_degree: u8,
    scale: f64,
    secret_weight: Option<u32>,
    terminal: Vec<u32>,
    main: Vec<u32>,
    auxiliary: Vec<u32>,
    digits: Option<Vec<u16>>,
    states: Vec<[u16; 2]>,
    bootstrapping: Option<CanonicalBootstrapping>,
}

#[derive(Serialize, Deserialize)]
struct CanonicalBootstrapping {
    message_ratio: u8,
    levels: [u8; 3],
    shifts: [i8; 2],
    eval_mod_scale: f64,
    interval: u8,
    double_angles: u8,
    sparse_weight: u32,
    arcsine_levels: u32,
    slots_to_coefficients_first: bool,
}

/// What follows in sets that have it, and in no others.
#[derive(Serialize, Deserialize)]
struct CanonicalEncapsulation {
    sparse_weight: u32,
    auxiliary: u8,
    data_level: u8,
    flatness: f64,
}

/// What follows [`Canonical`] where a bootstrapping says more of its transforms; the bytes of a
/// set that does not are those of the fields above alone.
#[derive(Default, PartialEq, Serialize, Deserialize)]
struct CanonicalTransforms {
    stages: Option<Vec<u8>>,
    shifts: Option<Vec<i8>>,
    first_by_keys: bool,
    baby_steps: Option<Vec<[u16; 2]>>,
}

/// Follows the transforms of a set whose bootstrapping does both sines in one.
const INVARIANT_SINE: u8 = 1;

impl CanonicalTransforms {
    fn of(literal: &BootstrappingLiteral) -> Self {
        let list = |list: &Vec<i64>| list.iter().map(|&item| small(item)).collect();
        let shifts = |list: &Vec<i64>| list.iter().map(|&item| small(item)).collect();
        let steps = |list: &Vec<[i64; 2]>| list.iter().map(|pair| pair.map(small)).collect();
        Self {
            stages: literal.coefficients_to_slots_stages.as_ref().map(list),
            shifts: literal.coefficients_to_slots_shifts.as_ref().map(shifts),
            first_by_keys: literal.first_transform_by_keys.unwrap_or(false),
            baby_steps: literal.baby_steps.as_ref().map(steps),
        }
    }

    fn write_to(self, literal: &mut BootstrappingLiteral) {
        let list = |list: Vec<u8>| list.into_iter().map(i64::from).collect();
        let shifts = |list: Vec<i8>| list.into_iter().map(i64::from).collect();
        let steps = |list: Vec<[u16; 2]>| list.into_iter().map(|p| p.map(i64::from)).collect();
        literal.coefficients_to_slots_stages = self.stages.map(list);
        literal.coefficients_to_slots_shifts = self.shifts.map(shifts);
        literal.first_transform_by_keys = self.first_by_keys.then_some(true);
        literal.baby_steps = self.baby_steps.map(steps);
    }
}

/// A checked field fits the canonical form's.
fn small<T: TryFrom<i64>>(value: i64) -> T
where
    T::Error: std::fmt::Debug,
{
    T::try_from(value).expect("fields of a checked set are small")
}

impl ParameterSet for CkksParameters {
    const SCHEME: Scheme = Scheme::Ckks;
    const KINDS: &'static [Kind] =
        &[CLIENT_KEY, PUBLIC_KEY, EVALUATION_KEYS, CIPHERTEXT, SEEDED_CIPHERTEXT];

    fn to_canonical(&self) -> Vec<u8> {
        let literal = self.literal();
        let transforms = literal.bootstrapping.as_ref().map(CanonicalTransforms::of);
        let invariant =
            literal.bootstrapping.as_ref().is_some_and(|b| b.invariant_sine == Some(true));
        let transforms = transforms.filter(|of| invariant || *of != CanonicalTransforms::default());
        let primes = |primes: Vec<i64>| primes.into_iter().map(small).collect();
        let canonical = Canonical {
            name: literal.name,
            description: literal.description.unwrap_or_default(),
            log2_degree: small(literal.log2_degree),
            scale: literal.scale,
            secret_weight: literal.secret_weight.map(small),
            terminal: primes(literal.terminal),
            main: primes(literal.main),
            auxiliary: primes(literal.auxiliary),
            digits: literal.digits.map(|digits| digits.into_iter().map(small).collect()),
            states: literal.states.into_iter().map(|state| state.map(small)).collect(),
            bootstrapping: literal.bootstrapping.map(|b| CanonicalBootstrapping {
                message_ratio: small(b.message_ratio),
                levels: [b.normal_levels, b.slots_to_coefficients, b.coefficients_to_slots]
                    .map(small),
                shifts: [b.coefficients_to_slots_shift, b.slots_to_coefficients_shift].map(small),
                eval_mod_scale: b.eval_mod_scale,
                interval: small(b.interval),
                double_angles: small(b.double_angles),
                sparse_weight: small(b.sparse_weight),
                arcsine_levels: small(b.arcsine_levels.unwrap_or(0)),
                slots_to_coefficients_first: b.slots_to_coefficients_first.unwrap_or(false),
            }),
        };
        let plain = "plain fields can be serialized";
        let bytes = postcard::to_extend(&canonical, Vec::new()).expect(plain);
        match (transforms, literal.encapsulation) {
            (Some(of), _) => {
                let mut bytes = postcard::to_extend(&of, bytes).expect(plain);
                bytes.extend(invariant.then_some(INVARIANT_SINE));
                bytes
            }
            (None, Some(own)) => {
                let own = CanonicalEncapsulation {
                    sparse_weight: small(own.sparse_weight),
                    auxiliary: small(own.auxiliary),
                    data_level: small(own.data_level),
                    flatness: own.flatness,
                };
                postcard::to_extend(&own, bytes).expect(plain)
            }
            (None, None) => bytes,
        }
    }

    fn from_canonical(bytes: &[u8]) -> std::result::Result<Self, String> {
        let (canonical, rest): (Canonical, _) =
            postcard::take_from_bytes(bytes).map_err(|e| e.to_string())?;
        let primes = |primes: Vec<u32>| primes.into_iter().map(i64::from).collect();
        let mut literal = ParameterLiteral {
            name: canonical.name,
            description: Some(canonical.description),
            log2_degree: canonical.log2_degree.into(),
            scale: canonical.scale,
            secret_weight: canonical.secret_weight.map(i64::from),
            terminal: primes(canonical.terminal),
            main: primes(canonical.main),
            auxiliary: primes(canonical.auxiliary),
            digits: canonical.digits.map(|d| d.into_iter().map(i64::from).collect()),
            states: canonical.states.into_iter().map(|state| state.map(i64::from)).collect(),
            bootstrapping: canonical.bootstrapping.map(|b| {
                let [normal_levels, slots_to_coefficients, coefficients_to_slots] =
                    b.levels.map(i64::from);
                let [coefficients_to_slots_shift, slots_to_coefficients_shift] =
                    b.shifts.map(i64::from);
                BootstrappingLiteral {
                    message_ratio: b.message_ratio.into(),
                    normal_levels,
                    slots_to_coefficients,
                    coefficients_to_slots,
                    coefficients_to_slots_shift,
                    slots_to_coefficients_shift,
                    eval_mod_scale: b.eval_mod_scale,
                    interval: b.interval.into(),
                    double_angles: b.double_angles.into(),
                    sparse_weight: b.sparse_weight.into(),
                    arcsine_levels: (b.arcsine_levels > 0).then_some(b.arcsine_levels.into()),
                    slots_to_coefficients_first: b.slots_to_coefficients_first.then_some(true),
                    coefficients_to_slots_stages: None,
                    coefficients_to_slots_shifts: None,
                    first_transform_by_keys: None,
                    invariant_sine: None,
                    baby_steps: None,
                }
            }),
            encapsulation: None,
        };
        match (&mut literal.bootstrapping, rest) {
            (_, []) => {}
            (None, rest) => {
                let (own, rest): (CanonicalEncapsulation, _) =
                    postcard::take_from_bytes(rest).map_err(|e| e.to_string())?;
                if !rest.is_empty() {
                    return Err("bytes follow the set".into());
                }
                literal.encapsulation = Some(EncapsulationLiteral {
                    sparse_weight: own.sparse_weight.into(),
                    auxiliary: own.auxiliary.into(),
                    data_level: own.data_level.into(),
                    flatness: own.flatness,
                });
            }
            (Some(b), rest) => {
                let (of, rest): (CanonicalTransforms, _) =
                    postcard::take_from_bytes(rest).map_err(|e| e.to_string())?;
                // Left out is the one way to say nothing.
                let invariant = rest == [INVARIANT_SINE];
                let says_nothing = of == CanonicalTransforms::default() && !invariant;
                if says_nothing || !(invariant || rest.is_empty()) {
                    return Err("what follows the set is none of it".into());
                }
                of.write_to(b);
                b.invariant_sine = invariant.then_some(true);
            }
        }
        CkksParameters::new(&literal).map_err(|e| e.to_string())
    }
}

/// Words as bytes, little-endian; without a copy where the machine is.
pub(crate) fn bytes_of(words: &[u32]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(words))
    } else {
        Cow::Owned(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// Limbs from bytes: canonical residues modulo the primes at `positions`, N each.
pub(crate) fn limbs(
    what: &'static str,
    set: &CkksParameters,
    positions: impl ExactSizeIterator<Item = usize>,
    bytes: &[u8],
) -> Result<Vec<u32>> {
    let wanted = positions.len() * set.degree() * 4;
    if bytes.len() != wanted {
        let why = format!("{} bytes of limbs where {set} needs {wanted}", bytes.len());
        return error::malformed(what, why);
    }
    let words: Vec<_> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    check_limbs(what, set, positions, &words)?;
    Ok(words)
}

/// Refuses limbs of the wrong length, and residues that are not canonical.
pub(crate) fn check_limbs(
    what: &'static str,
    set: &CkksParameters,
    positions: impl ExactSizeIterator<Item = usize>,
    words: &[u32],
) -> Result<()> {
    let degree = set.degree();
    if words.len() != positions.len() * degree {
        let rule = format!("{} limbs of {degree} words are needed", positions.len());
        return Err(Error::Length { what: "an array of limbs", found: words.len(), rule });
    }
    for (limb, position) in words.chunks_exact(degree).zip(positions) {
        let p = set.chain().prime(position);
        if let Some(place) = limb.iter().position(|&word| word >= p) {
            let why = format!("word {place} of the limb modulo {p} is {}", limb[place]);
            return error::malformed(what, why);
        }
    }
    Ok(())
}
