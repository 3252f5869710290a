//! Evaluation keys on a device, and look-ups there.

mod gates;
mod lookups;
mod moves;
mod phases;
mod recordings;
mod take;
#[cfg(test)]
mod tests;
mod wires;

pub use gates::Gate;
pub use phases::{MAX_PHASES, Phases};
pub use take::TakePlan;
pub use wires::Wires;

use crate::failure::Tail;
use crate::numbers::check_range;
use crate::program::LookupPlan;
use crate::{
    DiscreteParameters, EncryptedNumbers, Error, EvaluationKeys, Expected, Forecast, Result, error,
};
use girih_backend::{Backend, Progress};
use girih_ckks::program::{Chain, ChainShape};
use girih_ckks::server::Options;
use girih_ckks::{Encoder, server};
use girih_rlwe::KeyId;
use girih_rlwe::{Counts, Mismatch};
use recordings::{Kept, Kind, locked};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// log2 of the failure probability of a look-up, all numbers of a ciphertext together, that is
/// allowed unless [`ServerKey::limit_failure`] says otherwise.
pub const DEFAULT_LIMIT: f64 = -128.0;

/// Evaluation keys loaded on one device: computes on [`Wires`] there. It can be shared between
/// threads.
///
/// # How it refuses
///
/// Every look-up is counted before it runs: what would be wrong more often than
/// [`ServerKey::limit_failure`] allows, all numbers of a ciphertext and all that its inputs have
/// been through together, is an [`Error::Failure`] that names what would do. Inputs never change,
/// and a refused operation does nothing.
pub struct ServerKey {
    set: DiscreteParameters,
    ckks: server::ServerKey,
    chain: Arc<Chain>,
    encoder: Encoder,
    plans: Mutex<HashMap<usize, Arc<LookupPlan>>>,
    kept: Mutex<Kept>,
    /// The last rotation on the way to each one, when first asked for.
    steps: Mutex<Vec<usize>>,
    forecast: Forecast,
    limit: Mutex<f64>,
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerKey({}, client key {:.8})", self.set, self.key_id())
    }
}

/// A weighted sum of wires that is about to be looked up.
struct Sum {
    weights: Vec<i64>,
    numbers: usize,
    range: (i64, i64),
    /// Of the terms, without the constant.
    terms: Expected,
}

impl ServerKey {
    /// Loads keys on a device; they may be dropped afterwards.
    ///
    /// # Errors
    /// [`Error::Ckks`] if the device runs no programs on polynomials, does not know a choice, or
    /// the set does not fit it.
    pub fn load(
        device: &dyn Backend,
        keys: &EvaluationKeys,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let set = keys.set().clone();
        let ckks = server::ServerKey::load(device, keys.ckks(), options, progress)?;
        let chain = Chain::new(ChainShape::from(set.ckks()))?;
        Ok(Self {
            encoder: Encoder::new(set.ckks().chain().log2_degree())?,
            forecast: Forecast::new(&set),
            set,
            ckks,
            chain,
            plans: Mutex::default(),
            kept: Mutex::default(),
            steps: Mutex::default(),
            limit: Mutex::new(DEFAULT_LIMIT),
        })
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Name of the client key whose numbers it works on.
    pub fn key_id(&self) -> KeyId {
        self.ckks.key_id()
    }

    /// The server key of CKKS that it is: memory, plans, its engine.
    pub fn ckks(&self) -> &server::ServerKey {
        &self.ckks
    }

    /// Waits until the device has done everything.
    ///
    /// # Errors
    /// [`Error::Ckks`] with the first failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.ckks.synchronize()?)
    }

    /// Allows look-ups to be wrong with a probability of 2^`log2_probability`, all numbers of a
    /// ciphertext together, instead of 2^-128. Whoever shows decrypted numbers to others keeps to
    /// 2^-128: a wrong one tells about the key.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless it is from -256 to 0.
    pub fn limit_failure(&self, log2_probability: f64) -> Result<()> {
        if !(-256.0..=0.0).contains(&log2_probability) {
            let what = "log2 of the largest failure probability";
            let rule = "it must be from -256 to 0";
            return error::mismatch(Mismatch::real(what, log2_probability, rule));
        }
        *locked(&self.limit) = log2_probability;
        Ok(())
    }

    /// log2 of the failure probability that is allowed.
    pub fn failure_limit(&self) -> f64 {
        *locked(&self.limit)
    }

    /// What it counts failures with, for who plans look-ups.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// The largest range of a table times the weights of the sum that its result enters, for which
    /// look-ups of any tables modulo `modulus` of `order` may follow each other without end, one
    /// result after the other, each within the failure limit; 0 where even 1 is too much. Sums of
    /// several results hold less, since the errors of each add up. [`ServerKey::lookup`] counts
    /// every look-up by its own inputs and rounds up: where a long chain is at the limit itself,
    /// [`Wires::counted_as`] keeps that count from creeping up.
    ///
    /// # Errors
    /// [`Error::Table`] for a modulus, [`Error::Levels`] and [`Error::Mismatch`] for an order that
    /// the set has not.
    pub fn reach(&self, modulus: u32, order: u32) -> Result<u32> {
        self.check_modulus(modulus)?;
        if !(1..=2).contains(&order) {
            return error::mismatch(Mismatch::range("the order of tables", order, [1u32, 2]));
        }
        let levels = crate::table::levels(modulus, order);
        if levels > self.set.table_levels() {
            return self.too_deep(modulus, order, levels);
        }
        Ok(self.forecast.failure().reach(modulus, order, self.failure_limit()))
    }

    /// Copies numbers to the device, as one batch.
    ///
    /// # Errors
    /// [`Error::Ckks`] for numbers of another set or client key.
    pub fn upload(&self, numbers: &EncryptedNumbers) -> Result<Wires> {
        if *numbers.set() != self.set {
            return error::wrong_set("numbers", numbers.set(), &self.set);
        }
        Ok(Wires {
            ciphertexts: self.ckks.upload(numbers.ciphertexts())?,
            set: self.set.clone(),
            numbers: numbers.numbers(),
            range: numbers.range(),
            deviation: numbers.deviation(),
            tail: Tail::bounded(numbers.bound()),
        })
    }

    /// Copies a batch back to the host, waiting for the work it depends on. What its errors exceed
    /// with 2^-140 only becomes a bound of them.
    ///
    /// # Errors
    /// [`Error::Ckks`] for a batch of another server key, and failures of the device.
    pub fn download(&self, wires: &Wires) -> Result<EncryptedNumbers> {
        let mut ciphertexts = self.ckks.download(&wires.ciphertexts)?;
        for x in &mut ciphertexts {
            let mut header = x.header();
            header.noise.deviation = wires.deviation;
            let (low, high) = wires.range;
            header.noise.magnitude = std::f64::consts::SQRT_2 * low.abs().max(high.abs()) as f64;
            *x = girih_ckks::Ciphertext::from_parts(header, x.b().to_vec(), x.a().to_vec())?;
        }
        let bound = wires.tail.quantile((-140f64).exp2());
        let bound = if bound.is_finite() { bound } else { 1.0 };
        EncryptedNumbers::new(&self.set, ciphertexts, wires.numbers, wires.range, bound)
    }

    fn check_modulus(&self, modulus: u32) -> Result<()> {
        let p = self.set.modulus();
        if modulus >= 2 && p.is_multiple_of(modulus) {
            return Ok(());
        }
        let all: Vec<String> =
            (2..=p).filter(|m| p.is_multiple_of(*m)).map(|m| m.to_string()).collect();
        let why = format!("sums of {} are read modulo {}", self.set, all.join(", "));
        Err(Error::Table { modulus, why })
    }

    fn too_deep<T>(&self, modulus: u32, order: u32, levels: usize) -> Result<T> {
        Err(Error::Levels {
            what: format!("tables modulo {modulus} of order {order}"),
            needed: levels,
            set: self.set.to_string(),
            found: self.set.table_levels(),
        })
    }

    fn weighted(&self, terms: &[(i64, &Wires)], constant: i64) -> Result<Sum> {
        let terms: Vec<_> = terms.iter().filter(|(weight, _)| *weight != 0).collect();
        let Some((_, first)) = terms.first() else {
            let what = "terms of a sum whose weights are not 0";
            return error::mismatch(Mismatch::empty(what));
        };
        let (mut low, mut high) = (i128::from(constant), i128::from(constant));
        for (weight, x) in &terms {
            if x.len() != first.len() {
                let what = "ciphertexts, as in the first batch of the sum";
                return error::count(what, x.len(), Counts::Exactly(first.len()));
            }
            let ends = [x.range.0, x.range.1].map(|end| i128::from(*weight) * i128::from(end));
            low += ends[0].min(ends[1]);
            high += ends[0].max(ends[1]);
        }
        let narrow = |v: i128| i64::try_from(v).unwrap_or(i64::MAX);
        let range = (narrow(low), narrow(high));
        check_range(range)?;
        let expected: Vec<(i64, Expected)> =
            terms.iter().map(|(weight, x)| (*weight, x.expected())).collect();
        let expected: Vec<(i64, &Expected)> = expected.iter().map(|(w, x)| (*w, x)).collect();
        Ok(Sum {
            weights: terms.iter().map(|(weight, _)| *weight).collect(),
            numbers: terms.iter().map(|(_, x)| x.numbers).max().unwrap_or(1),
            range,
            terms: Expected::of_sum(&expected),
        })
    }

    /// One value in every slot, as a batch like another: no look-up.
    ///
    /// # Errors
    /// As [`ServerKey::sum`].
    pub fn constant(&self, value: i64, like: &Wires) -> Result<Wires> {
        check_range((value, value))?;
        Ok(Wires { range: (value, value), ..self.sum(&[(1, like), (-1, like)], value)? })
    }

    fn used<'w>(terms: &[(i64, &'w Wires)]) -> Vec<&'w girih_ckks::server::Ciphertexts> {
        let terms = terms.iter().filter(|(weight, _)| *weight != 0);
        terms.map(|(_, x)| &x.ciphertexts).collect()
    }

    /// The sum of batches times integer weights, plus a constant: no look-up, and no level. It
    /// carries the range and the errors that follow.
    ///
    /// # Errors
    /// [`Error::Mismatch`] without terms, for batches of unequal lengths, and for numbers that may
    /// leave 2^40; [`Error::Ckks`] for batches of another server key.
    pub fn sum(&self, terms: &[(i64, &Wires)], constant: i64) -> Result<Wires> {
        let sum = self.weighted(terms, constant)?;
        let kind = Kind { weights: sum.weights.clone(), constant, ..Kind::default() };
        let ciphertexts = self.recording(kind, &[])?.run(&Self::used(terms))?.remove(0);
        Ok(Wires {
            ciphertexts,
            set: self.set.clone(),
            numbers: sum.numbers,
            range: sum.range,
            deviation: sum.terms.deviation,
            tail: sum.terms.tail,
        })
    }
}
