//! Circuits on numbers in slots: a wire is one ciphertext, with thousands of instances in its
//! slots, and a look-up does all of them at once.

mod bits;
mod evaluate;
mod library;
mod map;
mod merge;
mod plan;
mod repair;
mod report;
mod schedule;

pub use bits::WideBits;
pub use evaluate::WideOptions;
pub use report::{WideLevel, WideReport};

use crate::error::{self, Result, mismatch, unsupported, wrong_bits};
use crate::netlist::Netlist;
use crate::optimise::Graph;
use girih_discrete::{DEFAULT_LIMIT, DiscreteParameters, Expected, Forecast};
use girih_tfhe::{Counts, Mismatch};
use library::Library;
use plan::{Output, Plan};
use repair::{Counter, repaired};
use std::sync::Arc;

/// Most gates of a netlist that is compiled: wires are counted in 32 bits.
const MAX_GATES: usize = 1 << 28;

/// A netlist made ready for one set of [numbers in slots](girih_discrete): every bit is one
/// ciphertext, whose slots are as many instances as the set has numbers.
///
/// The unit of cost is a look-up, which takes about as long whether one instance is in use or all
/// of them are. Sets with sums modulo 16 (DISCRETE_4) look up any functions of four bits, several
/// of one sum at once; with sums modulo 4 (DISCRETE_1) it is gates of two bits. XORs of many bits
/// are one look-up of their sum modulo 2. How many, and what may follow what, is chosen so that
/// every look-up keeps within the failure bound, whatever the circuit.
///
/// ```
/// use girih_backend::NoProgress;
/// use girih_circuit::{WideBits, WideCircuit, WideOptions, generate};
/// use girih_discrete::{ClientKey, DiscreteParameters, EvaluationKeys, ServerKey};
///
/// # fn main() -> girih_circuit::Result<()> {
/// # let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10")?;
/// # /*
/// let set = DiscreteParameters::by_name("DISCRETE_4")?;
/// # */
/// # let client = ClientKey::generate(&set)?;
/// # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
/// # let device = girih_cpu::CpuBackend::new();
/// # let server = ServerKey::load(&device, &keys, &Default::default(), &NoProgress)?;
/// let circuit = WideCircuit::new(&generate::adder(2, false), &set)?;
/// // Instances are bits of a, then of b, lowest first: 1 + 2 and 3 + 3.
/// let bits = [[true, false, false, true], [true, true, true, true]];
/// let inputs = WideBits::encrypt(&client, &bits)?;
/// let (sums, report) =
///     circuit.evaluate(&server, &inputs, &WideOptions::default(), &NoProgress)?;
/// assert_eq!(sums.decrypt(&client)?, [[true, true, false], [false, true, true]]);
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WideCircuit {
    set: DiscreteParameters,
    plan: Plan,
    library: Arc<Library>,
    gates: usize,
    limit: f64,
    log2_failure: f64,
}

impl std::fmt::Debug for WideCircuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WideCircuit")
            .field("set", &self.set.name())
            .field("gates", &self.gates)
            .field("lookups", &self.lookups())
            .finish_non_exhaustive()
    }
}

impl WideCircuit {
    /// Optimises a netlist for a set: no look-up of fresh bits, and of what comes of them, is wrong
    /// with a probability above 2^-128, all instances together.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a netlist without inputs or of more than
    /// 2^28 gates, [`Error::Unsupported`](crate::Error::Unsupported) for a set that has no AND
    /// within that bound.
    pub fn new(netlist: &Netlist, set: &DiscreteParameters) -> Result<Self> {
        Self::with_log2_failure(netlist, set, DEFAULT_LIMIT)
    }

    /// The same with a bound of one's own on log2 of the failure probability of a look-up. The
    /// server has to allow it too ([`limit_failure`](girih_discrete::ServerKey::limit_failure)).
    ///
    /// # Errors
    /// As [`WideCircuit::new`], and for a bound that is no log2 of a probability below 1.
    pub fn with_log2_failure(
        netlist: &Netlist,
        set: &DiscreteParameters,
        log2_failure: f64,
    ) -> Result<Self> {
        if netlist.input_bits() == 0 {
            return mismatch(Mismatch::empty("input bits of a circuit"));
        }
        if netlist.gates().len() > MAX_GATES {
            let what = "gates to be scheduled";
            let (found, allowed) = (netlist.gates().len(), Counts::UpTo(MAX_GATES));
            return mismatch(Mismatch::count(what, found, allowed));
        }
        if !(-256.0..0.0).contains(&log2_failure) {
            let what = "log2 of the largest failure probability";
            let rule = "it must be below 0, and -256 at least";
            return mismatch(Mismatch::real(what, log2_failure, rule));
        }
        let (graph, inputs) = (Graph::new(netlist), netlist.input_bits());
        let mut best: Option<(Plan, f64, Arc<Library>)> = None;
        for library in &*Library::of(set, log2_failure)? {
            let [early, late] = Plan::both(&graph, library, inputs)?;
            let of = |plan| repaired(plan, library, log2_failure);
            let (early, late) = (of(&early)?, of(&late)?);
            let fewer = late.0.lookups.len() < early.0.lookups.len();
            let (plan, failure) = if fewer { late } else { early };
            if best.as_ref().is_none_or(|(best, ..)| plan.lookups.len() < best.lookups.len()) {
                best = Some((plan, failure, library.clone()));
            }
        }
        let Some((plan, failure, library)) = best else {
            return unsupported(set, "it has no gates");
        };
        Ok(Self {
            set: set.clone(),
            plan,
            library,
            gates: netlist.gate_count(),
            limit: log2_failure,
            log2_failure: failure,
        })
    }

    /// Counts every look-up of inputs with such errors; returns log2 of the probability that any
    /// is wrong.
    fn expect(&self, forecast: &Forecast, inputs: Expected, limit: f64) -> Result<f64> {
        let mut counter = Counter::new(forecast, &self.library.ladder);
        let mut errors = vec![counter.name(inputs); self.plan.wires];
        let mut all = 0f64;
        for lookup in &self.plan.lookups {
            let kind = &self.plan.kinds[lookup.kind];
            let of = lookup.operands.iter().map(|&wire| errors[wire as usize]).collect();
            let (failure, results) = counter.lookup(lookup.kind, kind, of);
            if failure > limit {
                let what = format!("a sum with weights {:?}", kind.weights);
                let advice = "make the circuit for what the server allows (with_log2_failure), and \
                              of inputs with larger errors than fresh ones look up each by itself \
                              before";
                return error::failure(what, failure, limit, advice);
            }
            all += failure.exp2();
            for (&wire, result) in lookup.results.iter().zip(results) {
                errors[wire as usize] = result;
            }
        }
        Ok(all.log2())
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Bits of all inputs together, in the order of the netlist's buses.
    pub fn input_bits(&self) -> usize {
        self.plan.inputs
    }

    /// Bits of all outputs together.
    pub fn output_bits(&self) -> usize {
        self.plan.outputs.len()
    }

    /// Gates of the netlist.
    pub fn gates(&self) -> usize {
        self.gates
    }

    /// Look-ups, each of all instances at once.
    pub fn lookups(&self) -> usize {
        self.plan.lookups.len()
    }

    /// Tables of all look-ups: several of one sum cost little more than one.
    pub fn tables(&self) -> usize {
        self.plan.lookups.iter().map(|lookup| lookup.results.len()).sum()
    }

    /// Look-ups one after another.
    pub fn depth(&self) -> usize {
        self.plan.depth as usize
    }

    /// Kinds of look-ups: each is recorded once on a device, and those of one kind run side by
    /// side.
    pub fn kinds(&self) -> usize {
        self.plan.kinds.len()
    }

    /// log2 of a bound on the probability that any bit of any instance comes out wrong: the sum
    /// over all look-ups.
    pub fn log2_failure(&self) -> f64 {
        self.log2_failure
    }

    /// Runs the look-ups on plain bits, as a device would: by sums and tables, not by the netlist.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless there are [`WideCircuit::input_bits`]
    /// bits.
    pub fn simulate(&self, inputs: &[bool]) -> Result<Vec<bool>> {
        if inputs.len() != self.input_bits() {
            return wrong_bits("input bits", inputs.len(), self.input_bits());
        }
        let mut wires: Vec<i64> = inputs.iter().map(|&bit| i64::from(bit)).collect();
        wires.resize(self.plan.wires, 0);
        for lookup in &self.plan.lookups {
            let kind = &self.plan.kinds[lookup.kind];
            let terms = kind.weights.iter().zip(&lookup.operands);
            let sum = terms.map(|(weight, &wire)| weight * wires[wire as usize]).sum::<i64>();
            for (&wire, table) in lookup.results.iter().zip(&kind.tables) {
                wires[wire as usize] = table.at(sum + kind.constant);
            }
        }
        let output = |output: &Output| match *output {
            Output::Constant(value) => value,
            Output::Wire { wire, negated } => (wires[wire as usize] == 1) != negated,
        };
        Ok(self.plan.outputs.iter().map(output).collect())
    }
}
