//! Exact comparisons of slots by large-precision TFHE.

use crate::lookup::{check_declared, not_whole};
use crate::{Resolution, Result, Switch, SwitchingParameters, error, phase_of};
use girih_backend::Transform;
use girih_ckks::server::Ciphertexts;
use girih_rlwe::{Counts, Mismatch};
use girih_tfhe::large::{LargeOperation, LargeParameters, LargeServer};
use girih_tfhe::{Function, Gate, LweCiphertexts};

/// Comparisons and look-ups of slots: to TFHE, through bootstrappings of large precision, and back.
///
/// A sign is exact but for the error of the number that it is of ([`Resolution`]): no polynomial
/// approximates it, and 0 is no special case. Results are -1, 0 and 1 within the errors of the way
/// back, at the highest normal level.
#[derive(Debug)]
pub struct Comparator<'s> {
    switch: &'s Switch<'s>,
    large: &'s LargeServer,
    log2_modulus: u32,
}

/// What a comparison gives.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The results, in slots.
    pub slots: Ciphertexts,
    /// How near to the boundary numbers may have been.
    pub resolution: Resolution,
}

impl<'s> Comparator<'s> {
    /// The gadgets that comparisons modulo 2^`log2_modulus` take, for
    /// [`LargeKeys::generate`](girih_tfhe::large::LargeKeys::generate).
    ///
    /// # Errors
    /// [`Error::Tfhe`](crate::Error::Tfhe) for a modulus out of range, or one that no gadget is
    /// fine enough for.
    pub fn gadgets(
        parameters: &SwitchingParameters,
        large: &LargeParameters,
        log2_modulus: u32,
        transform: Transform,
    ) -> Result<Vec<usize>> {
        let mut gadgets = large.gadgets(&[LargeOperation::Sign], log2_modulus, transform)?;
        gadgets.push(large.gadget(log2_result(parameters), transform)?);
        gadgets.sort_unstable();
        gadgets.dedup();
        Ok(gadgets)
    }

    /// Comparisons modulo 2^`log2_modulus`: each four bits more take two bootstrappings more and
    /// make what can be told apart 16 times finer, as far as the errors of switching allow.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) for servers of different sets,
    /// [`Error::WrongKey`](crate::Error::WrongKey) for those of different clients,
    /// [`Error::Tfhe`](crate::Error::Tfhe) for a modulus out of range.
    pub fn new(switch: &'s Switch<'s>, large: &'s LargeServer, log2_modulus: u32) -> Result<Self> {
        let (home, own) = (large.parameters().home(), switch.parameters().tfhe());
        if home != own {
            let (what, rule) = ("a large-precision context", "this switch is for");
            return error::wrong_set(what, home, rule, own);
        }
        if large.key_id() != switch.tfhe_key_id() {
            let (what, rule) = ("a large-precision server", "this switch is for");
            return error::wrong_key(what, large.key_id(), rule, switch.tfhe_key_id());
        }
        large.parameters().message_bits(log2_modulus)?;
        Ok(Self { switch, large, log2_modulus })
    }

    /// The signs of the first `count` slots, which are at most `range` in magnitude: 1 from 0 on,
    /// -1 below.
    ///
    /// # Errors
    /// As [`Switch::to_tfhe`]; [`Error::Mismatch`](crate::Error::Mismatch) for fewer than all slots
    /// of several ciphertexts; [`Error::Tfhe`](crate::Error::Tfhe) where errors are too large for
    /// the modulus, or a key of some gadget is not loaded.
    pub fn sign(&self, x: &Ciphertexts, count: usize, range: f64) -> Result<Compared> {
        check_declared(x, range)?;
        let (negative, resolution) = self.negative(x, count, range)?;
        Ok(Compared { slots: self.bits_to_slots(&negative, [1.0, -1.0])?, resolution })
    }

    /// a < b, slot by slot: 1 where it is so, 0 elsewhere. Slots are at most `apart` from one
    /// another.
    ///
    /// # Errors
    /// As [`Comparator::sign`], and as every operation of CKKS on two batches.
    pub fn less(
        &self,
        a: &Ciphertexts,
        b: &Ciphertexts,
        count: usize,
        apart: f64,
    ) -> Result<Compared> {
        let difference = self.switch.ckks().sub(a, b)?;
        let (negative, resolution) = self.negative(&difference, count, apart)?;
        Ok(Compared { slots: self.bits_to_slots(&negative, [0.0, 1.0])?, resolution })
    }

    /// Which of the first `count` slots, of magnitude at most `range`, is the largest: 1 in that
    /// slot and 0 in all others.
    ///
    /// All pairs are compared in one batch, and a tree of OR finds the slot that loses to none:
    /// count (count - 1) / 2 signs and as many gates. Of two slots nearer to each other than the
    /// resolution either may win. Of slots beyond `range` differences wrap around: several may win,
    /// or none, and those that were declared to be larger are refused.
    ///
    /// # Errors
    /// As [`Comparator::sign`]; [`Error::Mismatch`](crate::Error::Mismatch) for fewer than 2 or
    /// more than 256 slots, or several ciphertexts.
    pub fn argmax(&self, x: &Ciphertexts, count: usize, range: f64) -> Result<Compared> {
        self.extreme(x, count, range, 1)
    }

    /// Which of the first `count` slots is the smallest: 1 in that slot and 0 in all others, as
    /// [`Comparator::argmax`].
    ///
    /// # Errors
    /// As [`Comparator::argmax`].
    pub fn argmin(&self, x: &Ciphertexts, count: usize, range: f64) -> Result<Compared> {
        self.extreme(x, count, range, -1)
    }

    /// Which of the first `count` slots, times `sign`, is the largest.
    fn extreme(&self, x: &Ciphertexts, count: usize, range: f64, sign: i64) -> Result<Compared> {
        check_declared(x, range)?;
        let which = if sign > 0 { "largest" } else { "smallest" };
        if x.len() != 1 {
            let what = format!("ciphertexts of which slots are compared for the {which}");
            return error::mismatch(Mismatch::count(what, x.len(), Counts::Exactly(1)));
        }
        if !(2..=256).contains(&count) {
            let what = format!("slots of which the {which} is wanted");
            return error::mismatch(Mismatch::count(what, count, Counts::Between(2, 256)));
        }
        // Differences are twice as large as numbers.
        let turns = self.turns(2.0 * range)?;
        let all = self.switch.to_tfhe(x, count, turns, self.log2_modulus)?;
        let one = |i: usize| all.slice(i..i + 1);
        let numbers = (0..count).map(one).collect::<girih_tfhe::Result<Vec<_>>>()?;
        let pairs: Vec<(usize, usize)> =
            (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j))).collect();
        let difference = |&(i, j): &(usize, usize)| {
            let terms = [(&numbers[i], sign), (&numbers[j], -sign)];
            LweCiphertexts::weighted_sum(&terms, self.shift())
        };
        let differences = pairs.iter().map(difference).collect::<girih_tfhe::Result<Vec<_>>>()?;
        let differences = LweCiphertexts::concatenate(&differences.iter().collect::<Vec<_>>())?;
        let resolution = self.resolution(x, &differences, turns)?;
        let less = self.large.sign(&differences)?;
        // A bit for each rival; of equals the first wins.
        let mut losses = vec![Vec::with_capacity(count - 1); count];
        for (at, &(i, j)) in pairs.iter().enumerate() {
            let bit = less.slice(at..at + 1)?;
            losses[j].push(bit.not());
            losses[i].push(bit);
        }
        while losses[0].len() > 1 {
            losses = self.or_pairs(losses)?;
        }
        let lost = losses.iter().map(|bits| &bits[0]).collect::<Vec<_>>();
        let lost = LweCiphertexts::concatenate(&lost)?;
        Ok(Compared { slots: self.bits_to_slots(&lost, [1.0, 0.0])?, resolution })
    }

    /// f of the first `count` slots, which lie in `low..high`, at 2^bits points: a slot is taken to
    /// the nearest of low, low + step, .., high - step, so that one within half a step of high
    /// counts as low. Values of f are from -1 to 1; others count as the nearer of both.
    ///
    /// [`Compared::resolution`] is of a slot against the middle between two points.
    ///
    /// # Errors
    /// As [`Comparator::sign`]; [`Error::Tfhe`](crate::Error::Tfhe) for more bits than a digit has
    /// (three for the default context), [`Error::Mismatch`](crate::Error::Mismatch) for an empty
    /// interval.
    pub fn lookup(
        &self,
        x: &Ciphertexts,
        count: usize,
        interval: std::ops::Range<f64>,
        bits: u32,
        f: impl Fn(f64) -> f64,
    ) -> Result<Compared> {
        self.check_whole(x, count)?;
        let step = crate::lookup::step(&interval, bits)?;
        check_declared(x, interval.start.abs().max(interval.end.abs()))?;
        let log2_modulus = self.large.parameters().log2_modulus(bits);
        let turns = 1.0 / (interval.end - interval.start);
        let lwe = self.switch.to_tfhe(x, count, turns, log2_modulus)?;
        let offset = -interval.start * turns * libm::exp2(f64::from(log2_modulus));
        let shifted = LweCiphertexts::weighted_sum(&[(&lwe, 1)], offset.round() as i64)?;
        let resolution = Resolution {
            deviation: lwe.variance().sqrt() / libm::exp2(f64::from(log2_modulus)) / turns,
            bias: x.estimate().bias,
            // What is refused above its bound by the function itself.
            log2_failure: self.large.failure_limit(),
        };
        let point = |m: u64| interval.start + m as f64 * step;
        crate::lookup::check_numbers((0..1u64 << bits).map(point), &f)?;
        let value = |m: u64| self.coded(f(point(m)));
        let function = Function::new(bits, self.result_bits()?, value)?;
        let results = self.large.function(&shifted, &function)?;
        Ok(Compared { slots: self.switch.to_ckks(&results)?, resolution })
    }

    /// Turns of a slot of 1, for slots up to `range` in magnitude.
    fn turns(&self, range: f64) -> Result<f64> {
        if !(range.is_finite() && range > 0.0) {
            let (what, rule) = ("the magnitude of numbers", "it must be positive and finite");
            return error::mismatch(Mismatch::real(what, range, rule));
        }
        let beta = self.large.parameters().beta() as f64;
        let margin = 2.0 * beta * libm::exp2(-f64::from(self.log2_modulus));
        Ok((0.5 - margin) / range)
    }

    /// Signs are read as if all numbers were whole multiples of 2 beta and errors less than beta;
    /// so that what decides is 0, not -beta, beta is taken off.
    fn shift(&self) -> i64 {
        -(self.large.parameters().beta() as i64)
    }

    /// Only whole vectors stay in their places where there are several.
    fn check_whole(&self, x: &Ciphertexts, count: usize) -> Result<()> {
        if x.len() == 1 || count == self.switch.slots() {
            return Ok(());
        }
        error::mismatch(not_whole(x.len(), count, self.switch.slots()))
    }

    /// Bits for gates that say which slots are negative.
    fn negative(
        &self,
        x: &Ciphertexts,
        count: usize,
        range: f64,
    ) -> Result<(LweCiphertexts, Resolution)> {
        self.check_whole(x, count)?;
        let turns = self.turns(range)?;
        let lwe = self.switch.to_tfhe(x, count, turns, self.log2_modulus)?;
        let shifted = LweCiphertexts::weighted_sum(&[(&lwe, 1)], self.shift())?;
        let resolution = self.resolution(x, &shifted, turns)?;
        Ok((self.large.sign(&shifted)?, resolution))
    }

    fn resolution(
        &self,
        x: &Ciphertexts,
        compared: &LweCiphertexts,
        turns: f64,
    ) -> Result<Resolution> {
        let sigma = compared.variance().sqrt();
        let log2_failure = self.large.parameters().log2_failure(
            LargeOperation::Sign,
            self.log2_modulus,
            self.large.transform(),
            sigma,
        )?;
        let unit = libm::exp2(-f64::from(self.log2_modulus)) / turns;
        // Phases are whole: those from 0 on are told from those from -1 down.
        let bias = x.estimate().bias + 0.5 * unit;
        Ok(Resolution { deviation: sigma * unit, bias, log2_failure })
    }

    /// Output bits of the functions that end every operation.
    fn result_bits(&self) -> Result<u32> {
        Ok(self.large.parameters().message_bits(log2_result(self.switch.parameters()))?)
    }

    /// The slot y as a value of a table.
    fn coded(&self, y: f64) -> u64 {
        let bits = log2_result(self.switch.parameters()) - self.large.parameters().log2_modulus(0);
        let steps = libm::exp2(f64::from(bits));
        ((phase_of(y) * steps).round() as i64).rem_euclid(1 << bits) as u64
    }

    /// Bits of gates as slots: one bootstrapping each, which gives a fine result in the place of a
    /// coarse one.
    fn bits_to_slots(&self, bits: &LweCiphertexts, values: [f64; 2]) -> Result<Ciphertexts> {
        let input_bits = self.large.parameters().message_bits(bits.log2_modulus())?;
        let inputs = 1u64 << input_bits;
        let [clear, set] = values.map(|y| self.coded(y));
        // A bit is an eighth of the messages from the next one; the other half of them stands for
        // phases just below 0 and follows from this one.
        let low = |m: u64| if m >= inputs.div_ceil(8) { set } else { clear };
        let mask = (1u64 << self.result_bits()?) - 1;
        let value = |m: u64| match m.checked_sub(inputs / 2) {
            None => low(m),
            Some(m) => (clear + set).wrapping_sub(low(m)) & mask,
        };
        let function = Function::new(input_bits, self.result_bits()?, value)?;
        // Read in the function's own steps.
        let bits = bits.clone().with_plaintext_modulus(None)?;
        self.switch.to_ckks(&self.large.function(&bits, &function)?)
    }

    /// Halves each list of bits by OR, all in one batch.
    fn or_pairs(&self, lists: Vec<Vec<LweCiphertexts>>) -> Result<Vec<Vec<LweCiphertexts>>> {
        let side = |side: usize| {
            let bits = lists.iter().flat_map(|list| list.chunks_exact(2));
            LweCiphertexts::concatenate(&bits.map(|pair| &pair[side]).collect::<Vec<_>>())
        };
        let ors = self.large.gate(Gate::Or, &side(0)?, &side(1)?)?;
        let mut next = 0;
        let mut halve = |list: Vec<LweCiphertexts>| -> Result<Vec<LweCiphertexts>> {
            let pairs = list.len() / 2;
            let mut out = (next..next + pairs)
                .map(|at| ors.slice(at..at + 1))
                .collect::<girih_tfhe::Result<Vec<_>>>()?;
            next += pairs;
            if list.len() % 2 == 1 {
                out.extend(list.into_iter().last());
            }
            Ok(out)
        };
        lists.into_iter().map(&mut halve).collect()
    }
}

/// log2 of the modulus of results on their way back.
fn log2_result(parameters: &SwitchingParameters) -> u32 {
    parameters.log2_packing_modulus()
}
