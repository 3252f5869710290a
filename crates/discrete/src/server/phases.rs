//! Numbers as phases: what they are in coefficients, where other schemes can take and bring them.

use super::lookups::Tables;
use super::recordings::Kind;
use super::{ServerKey, Wires};
use crate::failure::Outcome;
use crate::noise::{self, Constants};
use crate::numbers::{check_numbers, stands};
use crate::{Error, Result, Table, error};
use girih_ckks::Ciphertext;
use girih_ckks::server::Ciphertexts;
use girih_rlwe::{KeyId, Mismatch};

/// So many numbers fill a turn at most.
pub const MAX_PHASES: u32 = 4096;

/// A batch of ciphertexts at level 0 whose coefficients are phases: number j of a ciphertext is a
/// part of a turn, which is Q_0, in the coefficient that [`DiscreteParameters::exponent`] says.
/// Their scale is Q_0, so that a coefficient of CKKS reads in turns.
///
/// [`DiscreteParameters::exponent`]: crate::DiscreteParameters::exponent
/// [`ServerKey::phases`] makes them of wires, [`ServerKey::lookup_phases`] makes wires of them.
#[derive(Clone, Debug)]
pub struct Phases {
    ciphertexts: Ciphertexts,
    numbers: usize,
    deviation: f64,
    bound: f64,
}

impl Phases {
    /// The ciphertexts of CKKS.
    pub fn ciphertexts(&self) -> &Ciphertexts {
        &self.ciphertexts
    }

    /// Name of the client key that they are under.
    pub fn key_id(&self) -> KeyId {
        self.ciphertexts.key_id()
    }

    /// Numbers in use of each ciphertext.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Deviation of the error of any phase, in turns: of a normal one that is at least as large.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// What phases may be off by beside that, in turns: a bound.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The deviation of a normal error that stands for both, for who counts with no bounds. With
    /// other normal errors on top it exceeds whatever they hardly exceed at least as often; so
    /// would one whose deviation is the bound itself, and twice that holds for sums of four, too.
    pub fn normal(&self) -> f64 {
        self.deviation.hypot(2.0 * self.bound)
    }
}

/// log2 of the probability that any of `numbers` normal errors exceeds half a step, on top of
/// others of `bound` steps at most.
fn misread(deviation: f64, bound: f64, numbers: usize) -> f64 {
    let room = (0.5 - bound).max(0.0);
    libm::log2(libm::erfc(room / (std::f64::consts::SQRT_2 * deviation)) * numbers as f64)
}

impl ServerKey {
    /// Copies phases that were put together elsewhere to the device: ciphertexts at level 0 with
    /// scale Q_0 and all slots, of so many numbers each. Errors are normal ones of `deviation`
    /// turns, on top of what is `bound` at most.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for too many numbers, for another level, scale or
    /// number of slots and for errors that are no numbers from 0 on, [`Error::Ckks`] for
    /// ciphertexts of another set or client key.
    pub fn upload_phases(
        &self,
        ciphertexts: &[Ciphertext],
        numbers: usize,
        deviation: f64,
        bound: f64,
    ) -> Result<Phases> {
        check_numbers(&self.set, numbers)?;
        if let Some(wrong) = [deviation, bound].iter().find(|x| !(0.0..f64::INFINITY).contains(*x))
        {
            let (what, rule) = ("an error, in turns,", "it must be a number from 0 on");
            return error::mismatch(Mismatch::real(what, *wrong, rule));
        }
        let wanted = (0, self.set.turn(), self.set.ckks().slots());
        let place = |x: &Ciphertext| (x.level(), x.scale(), x.slots());
        if let Some(x) = ciphertexts.iter().find(|x| place(x) != wanted) {
            return error::mismatch(Mismatch::Form {
                what: "phases".into(),
                found: format!("{}, {} slots", stands(x.level(), x.scale()), x.slots()),
                expected: format!(
                    "they stand {} (Q_0), and all {} slots",
                    stands(wanted.0, wanted.1),
                    wanted.2
                ),
            });
        }
        Ok(Phases { ciphertexts: self.ckks.upload(ciphertexts)?, numbers, deviation, bound })
    }

    /// Numbers as phases: m becomes m/`modulus` of a turn. No look-up; a few levels lie below wires
    /// for it. Phases carry the errors of their numbers, and what comes on top.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a modulus that is not from 2 to [`MAX_PHASES`]; [`Error::Failure`]
    /// where numbers would be read from their phases wrongly too often.
    pub fn phases(&self, x: &Wires, modulus: u32) -> Result<Phases> {
        if !(2..=MAX_PHASES).contains(&modulus) {
            let what = "the modulus of numbers as phases";
            return error::mismatch(Mismatch::range(what, modulus, [2, MAX_PHASES]));
        }
        let own = noise::to_coefficients(&self.set, modulus);
        let roundings = self.set.flatness() * (x.deviation.powi(2) + own);
        let deviation = roundings.sqrt().hypot(x.tail.normal_above());
        let bound = Constants::new(&self.set, modulus).error(x.range, 0.0);
        let log2_failure = misread(deviation, bound, self.set.numbers());
        let limit = self.failure_limit();
        if log2_failure > limit {
            return Err(Error::Failure {
                what: format!("numbers from {} to {} as phases", x.range.0, x.range.1),
                log2_failure,
                limit,
                advice: format!(
                    "the deviation of their errors is {deviation:.4} of a step beside a bound of \
                     {bound:.4}, and 0.036 beside none is enough: look them up before, by tables \
                     of order 2 or of a smaller range"
                ),
            });
        }
        let kind = Kind { weights: vec![1], to_phases: modulus, ..Kind::default() };
        let ciphertexts = self.recording(kind, &[])?.run(&[&x.ciphertexts])?.remove(0);
        let [deviation, bound] = [deviation, bound].map(|steps| steps / f64::from(modulus));
        Ok(Phases { ciphertexts, numbers: x.numbers, deviation, bound })
    }

    /// Wires of phases, by a look-up: f(m) where a phase is m/p' of a turn, for each table modulo
    /// p'. Any modulus will do that tables of the set have levels for, divisor of its own or not.
    ///
    /// # Errors
    /// [`Error::Mismatch`] without tables and for tables of several moduli, [`Error::Levels`] for
    /// more levels than the set has for tables; [`Error::Failure`] for what would be wrong too
    /// often; [`Error::Ckks`] for phases of another server key.
    pub fn lookup_phases(&self, x: &Phases, tables: &[&Table]) -> Result<Vec<Wires>> {
        let tables = self.check_tables(tables)?;
        let outcome = self.count_phases(x, &tables)?;
        let kind =
            Kind { weights: vec![1], tables: tables.kinds(), from_phases: true, ..Kind::default() };
        let results = self.recording(kind, &tables.all)?.run(&[&x.ciphertexts])?;
        Ok(self.looked_up(results, x.numbers, &tables, outcome))
    }

    /// What a look-up of phases makes of their errors, if that is allowed.
    fn count_phases(&self, x: &Phases, tables: &Tables) -> Result<Outcome> {
        let limit = self.failure_limit();
        let outcome = |deviation, bound| self.forecast.of_phases(deviation, bound, &tables.all);
        let found = outcome(x.deviation, x.bound);
        if found.log2_failure <= limit {
            return Ok(found);
        }
        let holds = |deviation, bound| outcome(deviation, bound).log2_failure <= limit;
        let advice = match allowed(|share| holds(share * x.deviation, share * x.bound)) {
            Some(share) => format!(
                "errors of {share:.3} of that are enough; take fresh or bootstrapped numbers, \
                 tables of order 2, or a set of smaller errors"
            ),
            None => "no errors are small enough for it: take tables of order 2, of a smaller \
                     range or a smaller modulus"
                .into(),
        };
        let mut what = format!(
            "phases m/{} of a turn with errors of deviation 2^{:.1}",
            tables.modulus,
            x.deviation.log2()
        );
        if x.bound > 0.0 {
            what += &format!(" on top of 2^{:.1}", x.bound.log2());
        }
        Err(Error::Failure { what, log2_failure: found.log2_failure, limit, advice })
    }
}

/// The largest share for which something holds, to a hundredth; none where none does.
fn allowed(holds: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..8 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    (low > 0.0).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiscreteParameters;

    #[test]
    fn misreadings_are_counted() {
        // erfc(13.2 / sqrt 2) = 2^-129.
        let one = misread(0.5 / 13.2, 0.0, 1);
        assert!((misread(0.4 / 13.2, 0.1, 1) - one).abs() < 1e-6 && misread(0.01, 0.6, 1) == 0.0);
        assert!((one + 129.2).abs() < 1.0, "{one}");
        assert!((misread(0.5 / 13.2, 0.0, 1024) - one - 10.0).abs() < 1e-9);
        assert_eq!(allowed(|share| share < 0.3).map(|s| (s * 100.0).round()), Some(30.0));
        assert_eq!(allowed(|_| false), None);
    }

    /// A normal error stands for a bound, with a normal error on top, where it is read; and for the
    /// bounds of four that add up.
    #[test]
    fn normal_errors_stand_for_bounds() {
        let exceeds =
            |x: f64, deviation: f64| libm::erfc(x / (std::f64::consts::SQRT_2 * deviation));
        for step in -40..=40 {
            let bound = libm::exp2(f64::from(step) / 4.0);
            for (count, deviations) in [(1.0, 8.0), (1.0, 13.0), (4.0, 8.0), (4.0, 13.0)] {
                let (all, stands) = (count * bound, f64::sqrt(count) * 2.0 * bound);
                let stands = stands.hypot(1.0);
                let x = deviations * stands;
                let found = 0.5 * (exceeds(x - all, 1.0) + exceeds(x + all, 1.0));
                let counted = exceeds(x, stands);
                assert!(found <= 1.001 * counted, "{bound} {count} {x}: {found:e} {counted:e}");
            }
        }
    }

    #[test]
    fn numbers_stand_in_coefficients_by_halves() {
        let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10").expect("built in");
        let found = [0, 1, 2, 511, 512, 513, 1023].map(|j| set.exponent(j));
        assert_eq!(found, [0, 256, 128, 511, 512, 768, 1023]);
    }
}
