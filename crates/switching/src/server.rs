//! Both ways, on a server.

use crate::between::Between;
use crate::keys::SwitchingKeys;
use crate::noise::SwitchingNoise;
use crate::{Error, Result, SwitchingParameters, error};
use girih_ckks::noise::Noise;
use girih_ckks::program::{TransformRule, slots_to_coefficients};
use girih_ckks::server::{Bootstrapping, Ciphertexts, LinearMap, Recording, ServerKey};
use girih_ckks::{Ciphertext, CiphertextHeader, CkksParameters, Complex64, KeyKind, KeyRange};
use girih_ring::bit_reverse;
use girih_rlwe::{Counts, KeyId, Mismatch};
use girih_tfhe::LweCiphertexts;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Switches between vectors of real numbers in slots of CKKS and TFHE ciphertexts, one a number.
///
/// What CKKS computes on the way runs on the device of its server key; key switching between the
/// schemes is work of the host, on all threads (tens of milliseconds a ciphertext of CKKS, however
/// many of its slots are taken).
pub struct Switch<'s> {
    ckks: &'s ServerKey,
    between: Between,
    slots: usize,
    to_coefficients: Vec<Diagonals>,
    recordings: Mutex<HashMap<(usize, u64, u64), Arc<Recording>>>,
}

/// One map of the way to coefficients: rotations and diagonals.
type Diagonals = Vec<(i64, Vec<Complex64>)>;

impl std::fmt::Debug for Switch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Switch({}, {} slots)", self.parameters(), self.slots)
    }
}

/// The maps from `slots` slots to coefficients, a level each: five stages of the transform at most.
fn maps(slots: usize) -> Result<Vec<Diagonals>> {
    let groups = (slots.ilog2() as usize).div_ceil(5).max(1);
    let rule = TransformRule::of(groups);
    let groups = slots_to_coefficients(slots, rule).map_err(girih_ckks::Error::from)?;
    let one = |group: &girih_ckks::program::Group| {
        let diagonals = group.stored.iter().enumerate().filter_map(|(k, diagonal)| {
            let diagonal = diagonal.as_ref()?;
            let whole = (0..slots).map(|j| diagonal[j % diagonal.len()]).collect();
            Some(((group.stride * k) as i64, whole))
        });
        diagonals.collect()
    };
    Ok(groups.iter().map(one).collect())
}

fn linear_map(slots: usize, diagonals: &Diagonals, factor: f64) -> Result<LinearMap> {
    let scaled = diagonals.iter().map(|(by, d)| (*by, d.iter().map(|z| z * factor).collect()));
    Ok(LinearMap::from_diagonals(slots, scaled.collect::<Vec<(i64, Vec<Complex64>)>>())?)
}

impl<'s> Switch<'s> {
    /// The evaluation keys of CKKS that switching vectors of `slots` slots takes, each for the
    /// levels at which it is used.
    ///
    /// # Errors
    /// [`Error::Ckks`](crate::Error::Ckks) for a set without bootstrapping, or a number of slots
    /// that it does not serve.
    pub fn evaluation_keys(set: &CkksParameters, slots: usize) -> Result<Vec<KeyRange>> {
        let mut kinds = Bootstrapping::half_keys(set, slots)?;
        let maps = maps(slots)?;
        for (i, map) in maps.iter().enumerate() {
            let rotations = linear_map(slots, map, 1.0)?.rotations().into_iter();
            let kind = |by| KeyKind::rotation(set, by);
            kinds.extend(rotations.filter_map(kind).map(|kind| kind.up_to(maps.len() - i)));
        }
        Ok(kinds)
    }

    /// Makes switching keys ready for vectors of `slots` slots, beside a server key of CKKS with
    /// the keys of [`Switch::evaluation_keys`].
    ///
    /// # Errors
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for keys of another set or client,
    /// [`Error::Ckks`] for a set without bootstrapping, [`Error::Mismatch`] for numbers of slots
    /// that are no power of two from 2 to those of the set.
    pub fn new(ckks: &'s ServerKey, keys: &SwitchingKeys, slots: usize) -> Result<Self> {
        let parameters = keys.parameters();
        let set = ckks.set();
        if set != parameters.ckks() {
            let rule = "the server key is of";
            return error::wrong_set("switching keys", parameters, rule, set);
        }
        if set.bootstrapping().is_none() {
            return Err(Error::Ckks(girih_ckks::Error::Unsupported {
                set: set.to_string(),
                why: "it has no bootstrapping for vectors: numbers in slots go through a \
                      WireSwitch"
                    .into(),
            }));
        }
        if keys.ckks_key_id() != ckks.key_id() {
            let (what, rule) = ("switching keys", "the server key is of client key");
            return error::wrong_key(what, keys.ckks_key_id(), rule, ckks.key_id());
        }
        if !slots.is_power_of_two() || !(2..=set.slots()).contains(&slots) {
            let most = set.slots();
            let allowed = Counts::PowerOfTwo { least: 2, most };
            return error::mismatch(Mismatch::count("slots of vectors", slots, allowed));
        }
        Ok(Self {
            ckks,
            between: Between::new(keys)?,
            slots,
            to_coefficients: maps(slots)?,
            recordings: Mutex::default(),
        })
    }

    /// The sets, and the sizes that follow.
    pub fn parameters(&self) -> &SwitchingParameters {
        &self.between.parameters
    }

    /// The server key of CKKS.
    pub fn ckks(&self) -> &'s ServerKey {
        self.ckks
    }

    /// Name of the TFHE client key.
    pub fn tfhe_key_id(&self) -> KeyId {
        self.between.tfhe
    }

    /// The slots of vectors.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Levels that the way to TFHE takes: what ciphertexts must have left.
    pub fn levels(&self) -> usize {
        self.to_coefficients.len()
    }

    /// What switching adds to errors.
    pub fn noise(&self) -> SwitchingNoise {
        self.between.noise()
    }

    /// The exponent of X at which slot j stands among coefficients.
    fn exponent(&self, slot: usize) -> usize {
        let step = self.parameters().ckks().degree() / (2 * self.slots);
        bit_reverse(slot, self.slots.ilog2()) * step
    }

    /// The first `count` slots of every ciphertext of a batch as TFHE ciphertexts modulo
    /// 2^`log2_modulus` (native torus: 64), ciphertext after ciphertext: a slot v becomes the phase
    /// `turns v` of a turn, so that `turns` times the largest magnitude should stay below 1/2.
    /// Imaginary parts are left aside.
    ///
    /// The variance that results carry is that of the noise model, errors of the slots included
    /// but for what approximations were off by ([`Estimate::bias`]).
    ///
    /// [`Estimate::bias`]: girih_ckks::server::Estimate::bias
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of slots than [`Switch::slots`], a count or a factor
    /// out of range; [`Error::Tfhe`] for a modulus that the TFHE set does not have, and
    /// [`Error::Ckks`] for too few levels ([`Switch::levels`]) and as every operation of CKKS.
    pub fn to_tfhe(
        &self,
        x: &Ciphertexts,
        count: usize,
        turns: f64,
        log2_modulus: u32,
    ) -> Result<LweCiphertexts> {
        self.to_tfhe_at(x, count, turns, log2_modulus, 1.0)
    }

    /// The same, where slots have errors of `worst` times the mean variance.
    pub(crate) fn to_tfhe_at(
        &self,
        x: &Ciphertexts,
        count: usize,
        turns: f64,
        log2_modulus: u32,
        worst: f64,
    ) -> Result<LweCiphertexts> {
        if x.slots() != self.slots {
            let (what, allowed) = ("slots of vectors for this switch", Counts::Exactly(self.slots));
            return error::mismatch(Mismatch::count(what, x.slots(), allowed));
        }
        if !(1..=self.slots).contains(&count) {
            let what = format!("slots to take of vectors of {}", self.slots);
            let allowed = Counts::Between(1, self.slots);
            return error::mismatch(Mismatch::count(what, count, allowed));
        }
        if x.level() < self.levels() {
            return Err(Error::Ckks(girih_ckks::Error::OutOfLevels {
                operation: "a switch to TFHE".into(),
                needed: self.levels(),
                level: x.level(),
            }));
        }
        let (factor, multiple) = self.split(turns)?;
        let coefficients = self.recording(x, factor)?.run(&[x])?.remove(0);
        let own = coefficients.coefficient_deviation() * turns / factor;
        let all = worst * own * own + self.noise().there(log2_modulus);
        let variance = all * libm::exp2(2.0 * f64::from(log2_modulus));
        let exponents: Vec<usize> = (0..count).map(|slot| self.exponent(slot)).collect();
        let mut words = Vec::new();
        for ciphertext in self.ckks.download(&coefficients)? {
            self.between.extract(&ciphertext, &exponents, multiple, log2_modulus, &mut words);
        }
        Ok(LweCiphertexts::from_words_at(self.parameters().tfhe(), log2_modulus, words)?
            .with_key(self.tfhe_key_id())
            .with_variance(variance)?)
    }

    /// A factor of the last map from 1/2 to 1 and an integer that multiplies residues modulo Q_0,
    /// which together make of a coefficient at the scale of level 0 so many turns of Q_0.
    fn split(&self, turns: f64) -> Result<(f64, u64)> {
        let scale = self.parameters().ckks().scale(0).expect("level 0 has a scale");
        let q0 = self.parameters().q0() as f64;
        let wanted = turns * q0 / scale;
        if !(wanted.is_finite() && wanted > 1e-6 && wanted < q0 / 4.0) {
            let rule = "it must be positive and of moderate size";
            return error::mismatch(Mismatch::real("the turns of a slot of 1", turns, rule));
        }
        let multiple = wanted.ceil();
        Ok((wanted / multiple, multiple as u64))
    }

    /// From slots to coefficients, for inputs like `x`.
    fn recording(&self, x: &Ciphertexts, factor: f64) -> Result<Arc<Recording>> {
        let key = (x.level(), x.scale().to_bits(), factor.to_bits());
        let kept = || self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recording) = kept().get(&key) {
            return Ok(recording.clone());
        }
        let last = self.to_coefficients.len() - 1;
        let maps = self
            .to_coefficients
            .iter()
            .enumerate()
            .map(|(i, map)| linear_map(self.slots, map, if i == last { factor } else { 1.0 }));
        let maps = maps.collect::<Result<Vec<_>>>()?;
        let recording = self.ckks.record(|b| {
            b.bootstrap_when_needed(false);
            let mut y = b.input_with(x.level(), x.scale(), x.slots())?;
            if y.level() > maps.len() {
                y = b.adjust(&y, maps.len())?;
            }
            for map in &maps {
                y = b.linear_transform(&y, map)?;
            }
            Ok(vec![y])
        })?;
        let recording = Arc::new(recording);
        kept().insert(key, recording.clone());
        Ok(recording)
    }

    /// TFHE ciphertexts as slots: one CKKS ciphertext at the highest normal level for every
    /// [`Switch::slots`] of them, the last filled up with zeros. A phase of f turns becomes the
    /// slot `sin(2 pi f)`.
    ///
    /// So phases of -1/4, 0 and 1/4 become -1, 0 and 1, the outer ones with an error that is the
    /// square of that of the phase; and a look-up table gives y exactly where it gives the phase
    /// [`phase_of`]`(y)`.
    ///
    /// # Errors
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for ciphertexts of another set or under another
    /// key, and [`Error::Ckks`] as every operation of CKKS.
    pub fn to_ckks(&self, x: &LweCiphertexts) -> Result<Ciphertexts> {
        self.between.check(x)?;
        let set = self.parameters().ckks();
        let log2_modulus = x.log2_modulus();
        let pack = |words: &[u32]| -> Result<Ciphertext> {
            let [b, a] = self.between.pack(words, log2_modulus, 1, |slot| self.exponent(slot));
            let header = CiphertextHeader {
                set: set.clone(),
                key: self.ckks.key_id(),
                level: 0,
                scale: set.scale(0).expect("level 0 has a scale"),
                slots: self.slots,
                noise: Noise::exact(1.0),
            };
            Ok(Ciphertext::from_parts(header, b, a)?)
        };
        let whole = self.between.ciphertext_len() * self.slots;
        let ciphertexts = x.words().chunks(whole).map(pack).collect::<Result<Vec<_>>>()?;
        let slots = self.ckks.half_bootstrap(&self.ckks.upload(&ciphertexts)?)?;
        let turns = (x.variance() * libm::exp2(-2.0 * f64::from(log2_modulus))
            + self.noise().back(x.len().min(self.slots), log2_modulus))
        .sqrt();
        // Of full slots, as estimates are: all copies of a slot have the error of its phase.
        let share = (self.slots as f64 / set.slots() as f64).sqrt();
        let mut estimate = slots.estimate();
        let phase = 2.0 * std::f64::consts::PI * turns / share;
        estimate.deviation = estimate.deviation.hypot(phase);
        Ok(slots.with_estimate(estimate)?)
    }
}

/// The phase that [`Switch::to_ckks`] makes the slot y of, from -1/4 to 1/4 of a turn: asin(y) over
/// 2 pi, for y from -1 to 1; what lies outside counts as the nearer end.
pub fn phase_of(y: f64) -> f64 {
    y.clamp(-1.0, 1.0).asin() / (2.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maps in the clear put slot j at the coefficient whose index is j in reverse.
    #[test]
    fn slots_become_coefficients_in_reverse_order() {
        for slots in [2, 8, 64, 256] {
            let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
            let encoder = girih_ckks::Encoder::new(10).expect("a checked degree");
            let x: Vec<f64> = (0..slots).map(|j| (j as f64 * 0.37).sin()).collect();
            let mut y: Vec<Complex64> = x.iter().map(|&x| x.into()).collect();
            for map in maps(slots).expect("enough slots") {
                y = linear_map(slots, &map, 1.0).expect("a map").apply(&y);
            }
            let plaintext = encoder.encode(&y, 2f64.powi(40)).expect("finite");
            let step = set.degree() / (2 * slots);
            for (j, x) in x.iter().enumerate() {
                let at = bit_reverse(j, slots.ilog2()) * step;
                let found = plaintext.coefficients()[at] as f64 / 2f64.powi(40);
                assert!((found - x).abs() < 1e-9, "{slots} slots, slot {j}: {found}, not {x}");
            }
        }
    }
}
