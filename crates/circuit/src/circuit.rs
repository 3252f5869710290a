//! A netlist made ready for one parameter set.

use crate::error::{Result, mismatch, wrong_bits};
use crate::netlist::Netlist;
use crate::optimise::{Form, Instruction, Output, Program, Source};
use girih_backend::Transform;
use girih_tfhe::{Counts, Mismatch, NoiseModel, ParameterSet};

/// Most input bits of a netlist that is read from a file.
pub const MAX_INPUT_BITS: usize = 1 << 20;

/// Most gates of a netlist that is compiled: its graph may have four nodes a gate,
/// counted in 31 bits.
const MAX_GATES: usize = 1 << 28;

/// A circuit as levels of bootstrappings for one parameter set,
/// to be run on many instances at once.
#[derive(Clone, Debug)]
pub struct Circuit {
    pub(crate) set: ParameterSet,
    pub(crate) program: Program,
    input_bits: usize,
    gates: usize,
    log2_failure: f64,
    /// log2 of the failure probability that a bootstrapping may have.
    pub(crate) log2_bound: f64,
    pub(crate) model: NoiseModel,
}

impl Circuit {
    /// log2 of the failure probability that [`Circuit::new`] lets a bootstrapping have:
    /// [`NoiseModel::default_bound`] of the set under the transform that errs more, which is 2^-128
    /// where two-input gates reach that.
    pub fn default_log2_failure(set: &ParameterSet) -> f64 {
        model(set).default_bound()
    }

    /// Optimises and schedules a netlist.
    ///
    /// Bootstrappings of three and four inputs are used as far as each still fails with probability
    /// of at most 2^[`Circuit::default_log2_failure`]; sets without room to spare get two-input
    /// gates alone.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a netlist without inputs or of more than
    /// 2^28 gates.
    pub fn new(netlist: &Netlist, set: &ParameterSet) -> Result<Self> {
        Self::with_log2_failure(netlist, set, Self::default_log2_failure(set))
    }

    /// As [`Circuit::new`], with a bound of one's own on log2 of the failure probability of one
    /// bootstrapping, below 0. Where two-input gates exceed it already, [`Circuit::log2_failure`]
    /// says what the circuit reaches.
    ///
    /// # Errors
    /// As [`Circuit::new`], and for a bound that is no log2 of a probability below 1.
    pub fn with_log2_failure(
        netlist: &Netlist,
        set: &ParameterSet,
        max_log2_failure: f64,
    ) -> Result<Self> {
        if netlist.input_bits() == 0 {
            return mismatch(Mismatch::empty("input bits of a circuit"));
        }
        if netlist.gates().len() > MAX_GATES {
            let what = "gates to be scheduled";
            let (found, allowed) = (netlist.gates().len(), Counts::UpTo(MAX_GATES));
            return mismatch(Mismatch::count(what, found, allowed));
        }
        if max_log2_failure.is_nan() || max_log2_failure >= 0.0 {
            let what = "log2 of the largest failure probability";
            return mismatch(Mismatch::real(what, max_log2_failure, "it must be below 0"));
        }
        let model = model(set);
        let reader = Reader { set, model };
        let bit = model.variance_of_bits();
        let failure = |(variance, weight)| reader.log2_failure(f64::from(variance), weight, bit);
        let [two, others @ ..] = Form::NORMS;
        let admitted = others.into_iter().take_while(|&norms| failure(norms) <= max_log2_failure);
        let (budget, _) = admitted.last().unwrap_or(two);
        let program = Program::new(netlist, budget);
        let failures = program.levels.iter().flatten().map(|i| failure((i.variance, i.weight)));
        let log2_failure = failures.fold(f64::NEG_INFINITY, log2_sum);
        let (input_bits, gates) = (netlist.input_bits(), netlist.gate_count());
        let (set, log2_bound) = (set.clone(), max_log2_failure.max(failure(two)));
        Ok(Self { set, program, input_bits, gates, log2_failure, log2_bound, model })
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Bits of all inputs together, in the order of the netlist's buses.
    pub fn input_bits(&self) -> usize {
        self.input_bits
    }

    /// Bits of all outputs together.
    pub fn output_bits(&self) -> usize {
        self.program.outputs.len()
    }

    /// Gates of the netlist.
    pub fn gates(&self) -> usize {
        self.gates
    }

    /// Bootstrappings that one instance takes, or r instances in one ciphertext.
    pub fn bootstraps(&self) -> usize {
        self.program.levels.iter().map(Vec::len).sum()
    }

    /// Bootstrappings one after another.
    pub fn depth(&self) -> usize {
        self.program.levels.len()
    }

    /// Bootstrappings of each level.
    pub fn level_sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.program.levels.iter().map(Vec::len)
    }

    /// Ciphertexts that live at one time at most, beside inputs and outputs.
    pub fn peak_slots(&self) -> usize {
        self.program.slots as usize
    }

    /// log2 of a bound on the probability that any bit of one instance comes out wrong: the sum
    /// over its bootstrappings.
    pub fn log2_failure(&self) -> f64 {
        self.log2_failure
    }

    /// Runs the levels on plain bits, as a device would: by phases and windows, not by the netlist.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless there are [`Circuit::input_bits`] bits.
    pub fn simulate(&self, inputs: &[bool]) -> Result<Vec<bool>> {
        if inputs.len() != self.input_bits {
            return wrong_bits("input bits", inputs.len(), self.input_bits);
        }
        let mut slots = vec![false; self.peak_slots()];
        let read = |slots: &[bool], source| match source {
            Source::Input(i) => inputs[i as usize],
            Source::Slot(i) => slots[i as usize],
        };
        for level in &self.program.levels {
            let run = |i: &Instruction| {
                let terms = i
                    .operands
                    .iter()
                    .map(|&(source, weight)| weight * i32::from(read(&slots, source)));
                // In quarters of q, true are 2 and 3.
                (terms.sum::<i32>() + i.quarters as i32).rem_euclid(4) >= 2
            };
            let results: Vec<bool> = level.iter().map(run).collect();
            level.iter().zip(results).for_each(|(i, result)| slots[i.slot as usize] = result);
        }
        let outputs = self.program.outputs.iter().map(|output| match *output {
            Output::Constant(value) => value,
            Output::Bit { source, negated } => read(&slots, source) != negated,
        });
        Ok(outputs.collect())
    }
}

/// The noise of a set on whatever device: with the error of the f64 transform.
fn model(set: &ParameterSet) -> NoiseModel {
    NoiseModel::with_transform(set, Transform::Fft)
}

/// log2(2^a + 2^b).
fn log2_sum(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
    }
}

/// How often a bootstrapping reads a sum of bits wrongly.
pub(crate) struct Reader<'a> {
    pub set: &'a ParameterSet,
    pub model: NoiseModel,
}

impl Reader<'_> {
    /// log2 of it where squared weights sum up to `squares`, weights without their signs to
    /// `weight` and the error of every bit has `variance`; the margin is q/8.
    pub fn log2_failure(&self, squares: f64, weight: u32, variance: f64) -> f64 {
        let log2_q = self.set.shape().log2_stored_modulus();
        let shared = self.model.shared_at_most(log2_q, variance).powi(2).min(variance);
        let sum = squares * (variance - shared) + f64::from(weight).powi(2) * shared;
        self.model.log2_failure_input(2f64.powi(log2_q as i32 - 3), sum)
    }
}
