//! Functions of messages that fill their whole modulus,
//! without a bit of padding (LMP22's EvalFunc).

use super::table::check_values;
use super::{Batch, DeviceCiphertexts, HeldTables, ServerKey, Words, centred};
use crate::{NoiseModel, ParameterSet, Result, error, noise};
use girih_backend::{BootstrapJob, BootstrapShape, Combination, Operand};
use girih_ring::switch::mod_switch;
use girih_rlwe::{Counts, Mismatch};

/// Any function from messages of `input_bits` bits to messages of `output_bits` bits.
///
/// Input m of p values stands as `m 2^l / p` under a ciphertext modulus `2^l`, and all p values may
/// occur: unlike a [`LookUpTable`](crate::LookUpTable), which keeps one bit of padding. A rotation
/// is negacyclic, so what a function costs depends on its [`kind`](Function::kind).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    input_bits: u32,
    output_bits: u32,
    values: Vec<u64>,
    kind: FunctionKind,
}

/// What a [`Function`] of p inputs and p' outputs has in common with a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `f(m + p/2) = constant - f(m)` modulo p': one bootstrapping, input modulus up to 2N.
    Negacyclic {
        /// The constant; 0 for the negacyclic functions of the papers.
        constant: u64,
    },
    /// `f(m + p/2) = f(m)`: two bootstrappings, input modulus up to 2N.
    Periodic,
    /// Anything else: two bootstrappings, input modulus up to N.
    Arbitrary,
}

impl FunctionKind {
    fn of(values: &[u64], output_bits: u32) -> Self {
        let (low, high) = values.split_at(values.len() / 2);
        let mask = (1u64 << output_bits) - 1;
        let constant = (low[0] + high[0]) & mask;
        let mut pairs = low.iter().zip(high);
        if pairs.clone().all(|(a, b)| (a + b) & mask == constant) {
            Self::Negacyclic { constant }
        } else if pairs.all(|(a, b)| a == b) {
            Self::Periodic
        } else {
            Self::Arbitrary
        }
    }

    /// Bootstrappings of one evaluation.
    pub fn bootstraps(self) -> usize {
        if matches!(self, Self::Negacyclic { .. }) { 1 } else { 2 }
    }
}

impl Function {
    /// The table of `f`.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless inputs have 1 to 14 bits, outputs 1 to
    /// 29, and every value fits.
    pub fn new(input_bits: u32, output_bits: u32, f: impl Fn(u64) -> u64) -> Result<Self> {
        check_bits(input_bits, output_bits)?;
        Self::from_values(output_bits, (0..1 << input_bits).map(f).collect())
    }

    /// The function that maps m to `values[m]`.
    ///
    /// # Errors
    /// As [`Function::new`]; the number of values must be a power of two.
    pub fn from_values(output_bits: u32, values: Vec<u64>) -> Result<Self> {
        if !values.len().is_power_of_two() {
            let allowed = Counts::PowerOfTwo { least: 2, most: 1 << 14 };
            let what = "values of a function";
            return error::mismatch(Mismatch::count(what, values.len(), allowed));
        }
        let input_bits = values.len().ilog2();
        check_bits(input_bits, output_bits)?;
        check_values(&values, output_bits)?;
        let kind = FunctionKind::of(&values, output_bits);
        Ok(Self { input_bits, output_bits, values, kind })
    }

    /// log2 of p, the number of input messages.
    pub fn input_bits(&self) -> u32 {
        self.input_bits
    }

    /// log2 of p', the number of output messages.
    pub fn output_bits(&self) -> u32 {
        self.output_bits
    }

    /// What each input maps to.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Which kind it is, and so what it costs.
    pub fn kind(&self) -> FunctionKind {
        self.kind
    }

    /// Bootstrappings of one evaluation: 1 or 2.
    pub fn bootstraps(&self) -> usize {
        self.kind.bootstraps()
    }

    /// The test polynomial of the last bootstrapping: coefficient u holds `f(floor(u p / 2N))` in
    /// steps of Q/p', with p in the place of p/2 for an arbitrary function, whose modulus is
    /// doubled first; less half the constant of a negacyclic one.
    fn test_polynomial(&self, shape: &BootstrapShape, modulus: u64) -> Vec<u64> {
        let (half, constant) = match self.kind {
            FunctionKind::Negacyclic { constant } => (self.values.len() / 2, constant),
            FunctionKind::Periodic => (self.values.len() / 2, 0),
            FunctionKind::Arbitrary => (self.values.len(), 0),
        };
        // In half steps, so that half of an odd constant is exact.
        let steps = 2u64 << self.output_bits;
        let encode =
            |value: u64| mod_switch((2 * value + steps - constant) % steps, steps, modulus);
        (0..shape.polynomial_size)
            .map(|u| encode(self.values[u * half / shape.polynomial_size]))
            .collect()
    }

    /// What the last bootstrapping adds modulo Q: half the constant.
    fn output_offset(&self, modulus: u64) -> u64 {
        match self.kind {
            FunctionKind::Negacyclic { constant } => {
                mod_switch(constant, 2 << self.output_bits, modulus)
            }
            _ => 0,
        }
    }

    /// log2 of the modulus of the rotations, for inputs modulo `2^log2_input`.
    pub(crate) fn log2_rotation(&self, log2_input: u32) -> u32 {
        log2_input.saturating_add(u32::from(self.kind == FunctionKind::Arbitrary))
    }

    /// Whether [`ServerKey::evaluate`] takes ciphertexts of `set` modulo `2^log2_input` through
    /// this function to results modulo `2^log2_output`: for asking before keys are made.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) naming the moduli that would do.
    pub fn check(&self, set: &ParameterSet, log2_input: u32, log2_output: u32) -> Result<()> {
        let shape = set.shape();
        let most = shape.log2_monomials() - u32::from(self.kind == FunctionKind::Arbitrary);
        let kind = match self.kind {
            FunctionKind::Negacyclic { .. } => "a negacyclic",
            FunctionKind::Periodic => "a periodic",
            FunctionKind::Arbitrary => "an arbitrary",
        };
        if log2_input > most || log2_input < self.input_bits {
            let (bits, size) = (self.input_bits, shape.polynomial_size);
            let what = format!("with N = {size}, inputs of {kind} function of {bits} bits");
            return error::mismatch(Mismatch::modulus(what, log2_input, [bits, most]));
        }
        let most = shape.log2_ks_modulus.min(30);
        if !(self.output_bits.max(3)..=most).contains(&log2_output) {
            let what = format!("results of {} bits", self.output_bits);
            let allowed = [self.output_bits.max(3), most];
            return error::mismatch(Mismatch::modulus(what, log2_output, allowed));
        }
        Ok(())
    }
}

fn check_bits(input_bits: u32, output_bits: u32) -> Result<()> {
    for (side, bits, most) in [("input", input_bits, 14), ("output", output_bits, 29)] {
        if !(1..=most).contains(&bits) {
            let what = format!("the number of {side} bits of a function");
            return error::mismatch(Mismatch::range(what, bits, [1, most]));
        }
    }
    Ok(())
}

impl NoiseModel {
    /// log2 of the probability that `function` reads another message than it was given, on
    /// ciphertexts modulo `2^log2_input` whose error has deviation `sigma_input`: an error beyond
    /// half a step, that of the first of two bootstrappings included.
    pub fn log2_failure_function(
        &self,
        function: &Function,
        log2_input: u32,
        sigma_input: f64,
    ) -> f64 {
        let half_step = 2f64.powi(log2_input as i32 - function.input_bits as i32 - 1);
        let first = if function.bootstraps() == 2 {
            self.sigma_out_at(function.log2_rotation(log2_input))
        } else {
            0.0
        };
        noise::log2_beyond(half_step, sigma_input.hypot(first))
    }
}

/// One function on the device: its last test polynomial and what goes with it.
struct Loaded {
    table: HeldTables,
    offset: u64,
    /// Half a step of the input.
    shift: u32,
    log2_rotation: u32,
    twice: bool,
}

impl ServerKey {
    /// One function on every message of a batch; results are modulo `2^log2_output`.
    ///
    /// The input's modulus is that of the ciphertexts, which the message fills: p messages stand
    /// `2^l / p` apart. What was encrypted in finer steps, or in coarser ones, is read in these.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) naming the moduli that would do, or for a batch
    /// of another set or key, and failures of the device.
    pub fn evaluate<B: Batch>(&self, a: &B, function: &Function, log2_output: u32) -> Result<B> {
        let loaded = self.load_function(function, a.log2_modulus(), log2_output)?;
        B::run(self, &[a], a.log2_modulus(), &|inputs, _| {
            self.check_function(function, inputs[0], log2_output)?;
            let out = self.function_list(inputs[0], log2_output, |_| &loaded)?;
            Ok(out.with_plaintext_modulus(Some(1 << function.output_bits)))
        })
    }

    /// The same on words of ciphertexts that may name another set of these secrets as theirs.
    pub(crate) fn evaluate_words(
        &self,
        words: Words<&[u32]>,
        function: &Function,
        log2_output: u32,
    ) -> Result<Words<Vec<u32>>> {
        let loaded = self.load_function(function, words.log2_modulus, log2_output)?;
        let operation = |inputs: &[&DeviceCiphertexts], _: usize| {
            self.check_function(function, inputs[0], log2_output)?;
            self.function_list(inputs[0], log2_output, |_| &loaded)
        };
        self.run_words(&[words], &operation)
    }

    /// Refuses a function that would read its inputs, or whose results would be read,
    /// wrongly too often.
    fn check_function(
        &self,
        function: &Function,
        inputs: &DeviceCiphertexts,
        log2_output: u32,
    ) -> Result<()> {
        let (bits, sigma) = (function.input_bits, inputs.variance().sqrt());
        let failure = self.model.log2_failure_function(function, inputs.log2_modulus(), sigma);
        let what = format!("a function of {bits} bits modulo 2^{}", inputs.log2_modulus());
        noise::refuse(&what, failure, self.failure_limit())?;
        let bits = function.output_bits;
        let what = format!("a function with results of {bits} bits modulo 2^{log2_output}");
        self.check_output(&what, 2f64.powi(bits as i32), log2_output)
    }

    /// A function of its own for each ciphertext of the batch (it acts on all r slots), all in one
    /// or two launches.
    ///
    /// # Errors
    /// As [`ServerKey::evaluate`], and if there is not exactly one function for each ciphertext.
    pub fn evaluate_each<B: Batch>(
        &self,
        a: &B,
        functions: &[Function],
        log2_output: u32,
    ) -> Result<B> {
        if functions.len() != a.ciphertexts() {
            let count = a.ciphertexts();
            let (what, allowed) =
                (format!("functions for {count} ciphertexts"), Counts::Exactly(count));
            return error::mismatch(Mismatch::count(what, functions.len(), allowed));
        }
        let load = |f| self.load_function(f, a.log2_modulus(), log2_output);
        let loaded = functions.iter().map(load).collect::<Result<Vec<_>>>()?;
        let bits = functions[0].output_bits;
        let results = functions.iter().all(|f| f.output_bits == bits).then_some(1 << bits);
        B::run(self, &[a], a.log2_modulus(), &|inputs, offset| {
            functions.iter().try_for_each(|f| self.check_function(f, inputs[0], log2_output))?;
            let out = self.function_list(inputs[0], log2_output, |c| &loaded[offset + c])?;
            Ok(out.with_plaintext_modulus(results))
        })
    }

    fn load_function(
        &self,
        function: &Function,
        log2_input: u32,
        log2_output: u32,
    ) -> Result<Loaded> {
        let (shape, modulus) = (self.set.shape(), self.accumulator_modulus()?);
        function.check(&self.set, log2_input, log2_output)?;
        Ok(Loaded {
            table: self.table(function.test_polynomial(shape, modulus))?,
            offset: function.output_offset(modulus),
            shift: ((1u64 << log2_input) >> (function.input_bits + 1)) as u32,
            log2_rotation: function.log2_rotation(log2_input),
            twice: function.bootstraps() == 2,
        })
    }

    /// Q, which every set has but those on the native torus.
    pub(crate) fn accumulator_modulus(&self) -> Result<u64> {
        match self.set.shape().accumulator_modulus() {
            Some(modulus) => Ok(modulus),
            None => Err(self
                .set
                .unsupported("functions on the native torus have no modulus Q to scale to")),
        }
    }

    /// Phase x of modulus D becomes x mod D/2 in `[0, D/2)` by subtracting a first bootstrapping,
    /// -D/4 below D/2 and D/4 from there on, less D/4; the function then reads half a rotation. A
    /// ciphertext modulo q relabelled modulo D = 2q has an unknown top bit, which is what goes
    /// away, so an arbitrary function is a periodic one of twice the modulus.
    fn function_list<'t>(
        &self,
        input: &DeviceCiphertexts,
        log2_output: u32,
        loaded: impl Fn(usize) -> &'t Loaded,
    ) -> Result<DeviceCiphertexts> {
        let all: Vec<&Loaded> = (0..input.len()).map(loaded).collect();
        let twice: Vec<usize> = (0..input.len()).filter(|&c| all[c].twice).collect();
        let operand = |ciphertext, weight| Operand { ciphertext, weight };
        let mut half = None;
        if !twice.is_empty() {
            let modulus = self.accumulator_modulus()?;
            let table = self.constant_table(modulus - mod_switch(1, 4, modulus))?;
            let places = self.allocate(twice.len())?;
            let job = |(place, &c): (usize, &usize)| {
                let (f, output) = (all[c], places.at(place));
                let input = Combination::new(&[operand(input.at(c), 1)], f.shift, f.log2_rotation);
                BootstrapJob {
                    input,
                    table: table.first(),
                    table_stride: 0,
                    output_offset: centred(&self.set, 0, f.log2_rotation),
                    log2_output_modulus: f.log2_rotation,
                    output,
                    second: None,
                }
            };
            self.engine.bootstrap(&twice.iter().enumerate().map(job).collect::<Vec<_>>())?;
            half = Some(places);
        }
        let out = self.allocate_at(input.len(), log2_output)?;
        let mut next = 0;
        let mut job = |c: usize| {
            let f = all[c];
            let (mut operands, mut constant) = (vec![operand(input.at(c), 1)], f.shift);
            if let (true, Some(half)) = (f.twice, &half) {
                operands.push(operand(half.at(next), -1));
                // A quarter of the rotation's modulus, modulo 2^32, which it divides.
                constant = constant.wrapping_sub(1 << (f.log2_rotation - 2));
                next += 1;
            }
            let input = Combination::new(&operands, constant, f.log2_rotation);
            BootstrapJob {
                input,
                table: f.table.first(),
                table_stride: 0,
                output_offset: centred(&self.set, f.offset, log2_output),
                log2_output_modulus: log2_output,
                output: out.at(c),
                second: None,
            }
        };
        self.engine.bootstrap(&(0..input.len()).map(&mut job).collect::<Vec<_>>())?;
        Ok(out)
    }

    /// A test polynomial of one value: that value below half the modulus,
    /// its negative from there on.
    pub(crate) fn constant_table(&self, value: u64) -> Result<HeldTables> {
        self.table(vec![value; self.set.shape().polynomial_size])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_classified_by_what_they_cost() {
        let kind = |bits, f: fn(u64) -> u64| Function::new(3, bits, f).expect("fits").kind();
        assert_eq!(
            kind(3, |m| if m < 4 { m } else { (12 - m) % 8 }),
            FunctionKind::Negacyclic { constant: 0 }
        );
        assert_eq!(kind(1, |m| m >> 2), FunctionKind::Negacyclic { constant: 1 });
        assert_eq!(kind(4, |_| 9), FunctionKind::Negacyclic { constant: 2 });
        assert_eq!(kind(3, |m| m % 4), FunctionKind::Periodic);
        assert_eq!(kind(3, |m| m), FunctionKind::Arbitrary);
        // Adding half the range is a negation where it is the output's range,
        // too: m + 4 = 8 - (4 - m).
        assert_eq!(
            Function::new(1, 1, |m| m).expect("fits").kind(),
            FunctionKind::Negacyclic { constant: 1 }
        );
        for (function, text) in [
            (Function::new(0, 1, |m| m), "input bits of a function is 0"),
            (Function::new(3, 2, |m| m), "what the table maps 4 to is 4"),
            (Function::from_values(2, vec![1, 2, 3]), "3 values"),
            (Function::from_values(30, vec![1, 2]), "output bits of a function is 30"),
        ] {
            let message = function.expect_err("must be refused").to_string();
            assert!(message.contains(text), "{message}");
        }
    }
}
