//! Programs on arrays of digits on a device.

use crate::Result;
use crate::engine::{Array, Held, Inner};
use crate::operation::Request;
use crate::tfhe::operations::record;
use crate::tfhe::program::{Instruction, Place, Program};
use crate::tfhe::record::{Aim, Budgets, DigitState, Margin, Rules, Table, Values};
use crate::tfhe::{FINE_BITS, MESSAGE_BITS, PLAINTEXT, RADIX};
use girih_backend::bootstrap::Engine;
use girih_backend::{BootstrapJob, Combination, LinearJob, Operand as Term, Progress};
use girih_tfhe::{
    CentredTable, DeviceCiphertexts, LoadedTable, NoiseModel, ParameterSet, SecondMessage,
    ServerKey,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest norm of a sum that is looked up: the square of 5, which sets for two bits of message
/// and two of carry are made for.
pub(crate) const LARGEST_NORM: u32 = 25;

/// The same with a whole step of margin: what is beyond it no sum makes use of.
const LARGEST_WIDE_NORM: u32 = 1 << 14;

/// The most jobs of a list.
pub(crate) const MOST_JOBS: usize = 1 << 16;

/// What sums keep to, and how much is asked of a device at once.
#[derive(Debug)]
pub struct Context {
    pub(crate) budgets: Budgets,
    /// Whether rotations may have two results.
    pub(crate) pairs: bool,
    pub(crate) scratch_bytes: AtomicUsize,
    /// The most bootstrappings between two reports.
    pub(crate) report_every: AtomicUsize,
    /// Which programs run, unless the number of elements is to decide.
    pub(crate) aim: Mutex<Option<Aim>>,
}

/// An operation as programs for few elements and for many.
#[derive(Debug)]
pub struct Loaded {
    /// One, or two where they differ.
    programs: Vec<LoadedProgram>,
}

/// A program whose tables are on the device.
#[derive(Debug)]
struct LoadedProgram {
    aim: Aim,
    program: Program,
    tables: Vec<LoadedTable>,
}

impl Loaded {
    /// The program for an aim, or else the one that ends soonest on so many elements, with scratch
    /// for so many ciphertexts.
    fn choose(
        &self,
        aim: Option<Aim>,
        count: usize,
        scratch: usize,
        engine: &Engine,
    ) -> &LoadedProgram {
        let time = |loaded: &LoadedProgram| -> f64 {
            let part = loaded.part(count, scratch);
            let parts = [(count / part, part), (1, count % part)];
            let of = |part: usize| -> f64 {
                loaded.program.widths().map(|width| engine.time_of(width * part)).sum()
            };
            parts.iter().map(|&(times, part)| times as f64 * of(part)).sum()
        };
        let suits = |loaded: &&LoadedProgram| Some(loaded.aim) == aim;
        let suitable = self.programs.iter().find(suits);
        // Of one that suits either aim there is no second.
        let soonest = || self.programs.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
        suitable.or_else(soonest).expect("at least one")
    }
}

/// Variance of what operations read: bootstrapped messages, or fresh ones where these have larger
/// errors.
pub(crate) fn unit(model: &NoiseModel) -> f64 {
    model.variance_of_bits()
}

/// log2 of the probability that a look-up of a sum of this norm goes wrong.
pub(crate) fn log2_failure(
    model: &NoiseModel,
    set: &ParameterSet,
    margin: Margin,
    norm: u32,
) -> f64 {
    let log2_fine =
        set.shape().log2_stored_modulus() as i32 - (MESSAGE_BITS + 1 + FINE_BITS) as i32;
    let margin = f64::from(margin.fine_steps()) * 2f64.powi(log2_fine);
    model.log2_failure_input(margin, f64::from(norm) * unit(model))
}

/// The largest norms of sums that are looked up, 0 where there is none: with half a step of margin
/// within the bound, with more of it no more likely to fail than that.
pub(crate) fn budgets(model: &NoiseModel, set: &ParameterSet, log2_bound: f64) -> Budgets {
    let failure = |margin, norm| log2_failure(model, set, margin, norm);
    let half = (1..=LARGEST_NORM).rev().find(|&n| failure(Margin::Half, n) <= log2_bound);
    let Some(half) = half else { return Budgets { half: 0, whole: 0 } };
    let bound = failure(Margin::Half, half);
    let (mut fits, mut fails) = (half, LARGEST_WIDE_NORM + 1);
    while fits + 1 < fails {
        let norm = fits.midpoint(fails);
        let ends = if failure(Margin::Whole, norm) <= bound { &mut fits } else { &mut fails };
        *ends = norm;
    }
    Budgets { half, whole: fits }
}

/// Whether rotations with a set have two results.
pub(crate) fn has_pairs(set: &ParameterSet) -> bool {
    set.shape().accumulator_modulus().is_none()
}

/// Records an operation, and loads its tables.
pub(crate) fn load(
    server: &ServerKey,
    context: &Context,
    request: &Request<DigitState>,
) -> Result<Loaded> {
    let mut programs: Vec<LoadedProgram> = Vec::with_capacity(Aim::ALL.len());
    for aim in Aim::ALL {
        let rules = Rules { budgets: context.budgets, pairs: context.pairs, aim };
        let Some(program) = record(request, rules) else {
            let (model, set) = (server.noise_model(), server.set());
            return Err(girih_tfhe::Error::TooNoisy {
                what: format!("{:?} of integers with such errors", request.operation),
                log2_failure: log2_failure(&model, set, Margin::Half, LARGEST_NORM + 1),
                log2_bound: server.failure_limit(),
            }
            .into());
        };
        let fewest = programs.iter().map(|p| p.program.bootstrappings()).min();
        // Without fewer bootstrappings there is nothing to say for more levels.
        if fewest.is_none_or(|fewest| program.bootstrappings() < fewest) {
            programs.push(LoadedProgram::new(server, aim, program)?);
        }
    }
    Ok(Loaded { programs })
}

impl LoadedProgram {
    fn new(server: &ServerKey, aim: Aim, program: Program) -> Result<Self> {
        let load = |t: &Table| {
            let values = t.values.iter().map(|&v| i32::from(v)).collect();
            server.load_centred(&match t.finer {
                0 => CentredTable::of_pair(values, t.constant)?,
                finer => CentredTable::in_finer_steps(values, t.constant, finer)?,
            })
        };
        let tables = program.tables.iter().map(load).collect::<girih_tfhe::Result<Vec<_>>>()?;
        Ok(Self { aim, program, tables })
    }

    /// How many elements run at once, with scratch for so many ciphertexts: as many parts as that
    /// takes, of about equal length.
    fn part(&self, count: usize, scratch: usize) -> usize {
        let most = scratch.checked_div(self.program.slots as usize).unwrap_or(count);
        count.div_ceil(count.div_ceil(most.clamp(1, count)))
    }
}

/// Runs a program: the results, and what is known of their digits.
pub(crate) fn execute(
    inner: &Inner<ServerKey>,
    loaded: &Loaded,
    arrays: &[Option<&Array<ServerKey>>],
    count: usize,
) -> Result<Vec<Held<ServerKey>>> {
    let server = &inner.server;
    let aim = *inner.context.aim.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = inner.context.scratch_bytes.load(Ordering::Relaxed);
    let ciphertexts = limit / (4 * server.set().shape().ciphertext_len());
    let loaded = loaded.choose(aim, count, ciphertexts, server.engine());
    let program = &loaded.program;
    let unit = unit(&server.noise_model());
    let results = program
        .outputs
        .iter()
        .map(|digits| {
            let norm = digits.iter().map(|d| d.norm).max().unwrap_or(1);
            let words = server.allocate(digits.len() * count)?;
            let words = words.with_plaintext_modulus(Some(PLAINTEXT));
            words.with_variance(f64::from(norm) * unit)
        })
        .collect::<girih_tfhe::Result<Vec<_>>>()?;
    let part = loaded.part(count, ciphertexts);
    let scratch = match program.slots as usize {
        0 => None,
        slots => Some(server.allocate(slots * part)?),
    };
    let told = Told {
        listener: inner.listener(),
        done: Cell::new(0),
        total: program.bootstrappings() * count,
        every: inner.context.report_every.load(Ordering::Relaxed),
    };
    let scratch = scratch.as_ref();
    let run = Run { loaded, arrays, results: &results, scratch, count, part, told: &told };
    for first in (0..count).step_by(part) {
        run.part(server, first..count.min(first + part))?;
    }
    inner.count_look_ups(program.bootstrappings() * count);
    Ok(results.into_iter().zip(program.outputs.iter().cloned()).collect())
}

/// Look-ups asked for so far, and who hears of them.
struct Told {
    listener: Option<Arc<dyn Progress + Send>>,
    done: Cell<usize>,
    total: usize,
    every: usize,
}

impl Told {
    fn add(&self, look_ups: usize) {
        self.done.set(self.done.get() + look_ups);
        if let Some(listener) = &self.listener {
            listener.report("look-ups", self.done.get(), self.total);
        }
    }
}

/// One run of a program: where everything is in the device's store.
struct Run<'a> {
    loaded: &'a LoadedProgram,
    arrays: &'a [Option<&'a Array<ServerKey>>],
    results: &'a [DeviceCiphertexts],
    scratch: Option<&'a DeviceCiphertexts>,
    count: usize,
    /// Elements that scratch has room for.
    part: usize,
    told: &'a Told,
}

impl Run<'_> {
    fn place(&self, place: Place, element: usize) -> u32 {
        match (place, self.scratch) {
            (Place::Input { operand, digit }, _) => {
                let array = self.arrays[operand].expect("plain operands are no inputs");
                array.words.at(digit * self.count + element)
            }
            (Place::Output { output, digit }, _) => {
                self.results[output].at(digit * self.count + element)
            }
            (Place::Slot(slot), Some(scratch)) => {
                scratch.at(slot as usize * self.part + element % self.part)
            }
            (Place::Slot(_), None) => unreachable!("a program with slots has scratch"),
        }
    }

    fn part(&self, server: &ServerKey, elements: std::ops::Range<usize>) -> Result<()> {
        let log2_modulus = server.set().shape().log2_stored_modulus();
        let terms = |i: &Instruction, element: usize| {
            let mut terms = [Term { ciphertext: 0, weight: 0 }; Combination::MAX_OPERANDS];
            for (term, &(place, weight)) in terms.iter_mut().zip(&i.operands) {
                *term = Term { ciphertext: self.place(place, element), weight };
            }
            terms
        };
        for step in &self.loaded.program.steps {
            let (mut jobs, mut sums) = (Vec::new(), Vec::new());
            for (i, element) in
                step.iter().flat_map(|i| elements.clone().map(move |element| (i, element)))
            {
                let (terms, output) = (terms(i, element), self.place(i.place, element));
                match i.table {
                    Some(table) => {
                        let table = &self.loaded.tables[table];
                        jobs.push(match &i.second {
                            None => server.message_job(&terms, i.constant, table, output),
                            Some(second) => {
                                let second = SecondMessage {
                                    steps: second.steps,
                                    constant: second.constant,
                                    output: self.place(second.place, element),
                                };
                                server.message_pair_job(&terms, i.constant, table, output, second)
                            }
                        });
                    }
                    None => {
                        let constant = server.message_steps(i.constant, MESSAGE_BITS);
                        let input = Combination::new(&terms, constant, log2_modulus);
                        sums.push(LinearJob { input, log2_output_modulus: log2_modulus, output });
                    }
                }
            }
            for jobs in jobs.chunks(self.told.every) {
                let jobs: &[BootstrapJob] = jobs;
                server.engine().bootstrap(jobs)?;
                self.told.add(jobs.len());
            }
            server.engine().combine(&sums)?;
        }
        Ok(())
    }
}

/// The values of digits without carries to come.
pub(crate) fn digit_values() -> Values {
    Values::range(0, RADIX - 1)
}

/// Elements in any order: copies on the device.
pub(crate) fn take(array: &Array<ServerKey>, elements: &[usize]) -> Result<DeviceCiphertexts> {
    let server = &array.inner.server;
    let log2_modulus = server.set().shape().log2_stored_modulus();
    let words = server.allocate(array.digits.len() * elements.len())?;
    let places = (0..array.digits.len())
        .flat_map(|digit| elements.iter().map(move |&element| digit * array.count + element));
    let copies: Vec<LinearJob> = places
        .enumerate()
        .map(|(to, from)| {
            let term = Term { ciphertext: array.words.at(from), weight: 1 };
            let input = Combination::new(&[term], 0, log2_modulus);
            LinearJob { input, log2_output_modulus: log2_modulus, output: words.at(to) }
        })
        .collect();
    server.engine().combine(&copies)?;
    let words = words.with_plaintext_modulus(array.words.plaintext_modulus());
    Ok(words.with_variance(array.words.variance())?)
}
