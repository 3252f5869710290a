//! Look-ups of slots by one bootstrapping of any TFHE set.

use crate::{Error, Result, Switch, error, phase_of};
use girih_ckks::server::Ciphertexts;
use girih_rlwe::{Counts, Mismatch};
use girih_tfhe::{LookUpTable, LweCiphertexts, ServerKey};
use std::ops::Range;

/// The distance between the 2^bits points of an interval.
pub(crate) fn step(interval: &Range<f64>, bits: u32) -> Result<f64> {
    let width = interval.end - interval.start;
    if bits >= 32 {
        return error::mismatch(Mismatch::range("log2 of the number of points", bits, [0, 31]));
    }
    if width.is_finite() && width > 0.0 {
        return Ok(width * libm::exp2(-f64::from(bits)));
    }
    let what = format!("the width of the interval {interval:?}");
    error::mismatch(Mismatch::real(what, width, "it must be positive and finite"))
}

/// Of several ciphertexts all slots must be taken, as only whole vectors stay in their places.
pub(crate) fn not_whole(ciphertexts: usize, count: usize, slots: usize) -> Mismatch {
    let what = format!("slots of each of {ciphertexts} ciphertexts, where one may have fewer");
    Mismatch::count(what, count, Counts::Exactly(slots))
}

/// Refuses slots that were declared to be larger than `range`, for which a comparison or a look-up
/// is made.
pub(crate) fn check_declared(x: &Ciphertexts, range: f64) -> Result<()> {
    match x.declared_magnitude() {
        Some(declared) if declared > range * (1.0 + 2f64.powi(-20)) => {
            Err(Error::Magnitude { declared, range })
        }
        _ => Ok(()),
    }
}

/// Refuses a function that is no number at one of these points: its table would have one all the
/// same.
pub(crate) fn check_numbers(
    mut points: impl Iterator<Item = f64>,
    f: &impl Fn(f64) -> f64,
) -> Result<()> {
    match points.find(|&x| f(x).is_nan()) {
        Some(x) => {
            let what = format!("the value of a function at {x}");
            error::mismatch(Mismatch::real(what, f64::NAN, "it must be a number"))
        }
        None => Ok(()),
    }
}

impl Switch<'_> {
    /// f of the first `count` slots, which lie in `low..high`, at 2^bits points, by one
    /// bootstrapping each: a slot is taken to the nearest of low, low + step, .., high - step.
    /// Slots beyond by more than half a step give no sense. Values of f are from -1 to 1; others
    /// count as the nearer of both.
    ///
    /// Results are exact to 2^-(log2 q - 2) of half a turn only, and the bound of
    /// [`ServerKey::limit_failure`], which counts with results that are read exactly, must be set
    /// to 0 for them: they are numbers with an error.
    ///
    /// # Errors
    /// As [`Switch::to_tfhe`] and [`ServerKey::apply`]; [`Error::Mismatch`] for an empty interval,
    /// [`Error::Magnitude`] for slots that were declared to leave it, [`Error::WrongSet`] and
    /// [`Error::WrongKey`] for a server of another set or key.
    pub fn lookup(
        &self,
        server: &ServerKey,
        x: &Ciphertexts,
        count: usize,
        interval: Range<f64>,
        bits: u32,
        f: impl Fn(f64) -> f64,
    ) -> Result<Ciphertexts> {
        if x.len() != 1 && count != self.slots() {
            return error::mismatch(not_whole(x.len(), count, self.slots()));
        }
        let step = step(&interval, bits)?;
        check_declared(x, interval.start.abs().max(interval.end.abs()))?;
        let point = |m: u64| interval.start + m as f64 * step;
        let set = server.set();
        if set != self.parameters().tfhe() {
            let own = self.parameters().tfhe();
            return error::wrong_set("a TFHE server", set, "this switch is for", own);
        }
        if server.key_id() != self.tfhe_key_id() {
            let (what, rule) = ("a TFHE server", "this switch is for");
            return error::wrong_key(what, server.key_id(), rule, self.tfhe_key_id());
        }
        let log2_modulus = set.shape().log2_stored_modulus();
        let output_bits = (set.shape().log2_lwe_modulus - 2).min(11);
        if bits <= set.shape().log2_lwe_modulus {
            check_numbers((0..1u64 << bits).map(point), &f)?;
        }
        // Messages leave one bit of padding: half a turn is the interval.
        let turns = 0.5 / (interval.end - interval.start);
        let lwe = self.to_tfhe(x, count, turns, log2_modulus)?;
        let whole = libm::exp2(f64::from(log2_modulus));
        let offset = (-interval.start * turns * whole).round() as i128 as i64;
        let shifted = LweCiphertexts::weighted_sum(&[(&lwe, 1)], offset)?;
        // Tables give phases of the first half of a turn; a quarter less is what stands for y.
        let points = 1u64 << output_bits;
        let value = |m: u64| {
            let phase = phase_of(f(point(m))) + 0.25;
            ((phase * 2.0 * points as f64).round() as u64).min(points - 1)
        };
        let table = LookUpTable::with_output_bits(bits, output_bits, value)?;
        let results = server.apply(&shifted, &table)?;
        let quarter = -((whole / 4.0) as i128) as i64;
        self.to_ckks(&LweCiphertexts::weighted_sum(&[(&results, 1)], quarter)?)
    }
}
