//! Arrays of numbers of digits on a device, whatever they stand for, and programs run on them.

use crate::operations::{Operand, Operation, Request, record};
use crate::program::{Instruction, Place, Program};
use crate::record::{DigitState, Values};
use crate::{Error, MESSAGE_BITS, PLAINTEXT, Result, error::mismatch};
use girih_backend::{BootstrapJob, Combination, LinearJob, Operand as Term, Progress};
use girih_tfhe::{
    CentredTable, DeviceCiphertexts, LoadedTable, NoiseModel, ParameterSet, ServerKey,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest norm of a sum that is looked up: the square of 5, which sets for two bits of message
/// and two of carry are made for.
pub(crate) const LARGEST_NORM: u32 = 25;

/// Programs that are kept: each is some hundred look-ups, a division some ten thousand.
const MOST_PROGRAMS: usize = 256;

/// The most jobs of a list.
pub(crate) const MOST_JOBS: usize = 1 << 16;

/// Digit d of element e is ciphertext `d count + e`.
#[derive(Clone)]
pub(crate) struct Array {
    pub inner: Arc<Inner>,
    pub words: Arc<DeviceCiphertexts>,
    pub count: usize,
    pub digits: Vec<DigitState>,
}

impl Array {
    /// An operation with one result.
    pub fn run(&self, operation: Operation, signed: bool, more: &[Argument<'_>]) -> Result<Self> {
        Ok(self.run_all(operation, signed, more)?.swap_remove(0))
    }

    pub fn run_all(
        &self,
        operation: Operation,
        signed: bool,
        more: &[Argument<'_>],
    ) -> Result<Vec<Self>> {
        let arguments: Vec<Argument<'_>> =
            [Argument::Array(self)].into_iter().chain(more.iter().copied()).collect();
        self.inner.run(operation, signed, &arguments)
    }

    /// Whether each digit has one of these values.
    pub fn is_resolved(&self, values: Values) -> bool {
        self.digits.iter().all(|d| d.values.iter().all(|v| values.contains(v)))
    }

    /// The same with no carries to come; none where there are none.
    pub fn resolved(&self, values: Values) -> Result<Option<Self>> {
        if self.is_resolved(values) {
            return Ok(None);
        }
        Ok(Some(self.run(Operation::Clean, false, &[])?))
    }

    /// Elements in any order, and as often as wanted: copies on the device.
    pub fn take(&self, elements: &[usize]) -> Result<Self> {
        if let Some(&beyond) = elements.iter().find(|&&e| e >= self.count) {
            return mismatch(format!("element {beyond} of an array of {}", self.count));
        }
        if elements.is_empty() {
            return mismatch("no element: an array has at least one");
        }
        let server = &self.inner.server;
        let log2_modulus = server.set().shape().log2_stored_modulus();
        let words = server.allocate(self.digits.len() * elements.len())?;
        let places = (0..self.digits.len())
            .flat_map(|digit| elements.iter().map(move |&element| digit * self.count + element));
        let copies: Vec<LinearJob> = places
            .enumerate()
            .map(|(to, from)| {
                let term = Term { ciphertext: self.words.at(from), weight: 1 };
                let input = Combination::new(&[term], 0, log2_modulus);
                LinearJob { input, log2_output_modulus: log2_modulus, output: words.at(to) }
            })
            .collect();
        server.engine().combine(&copies)?;
        let words = words.with_plaintext_modulus(self.words.plaintext_modulus());
        let words = Arc::new(words.with_variance(self.words.variance())?);
        let (inner, digits) = (Arc::clone(&self.inner), self.digits.clone());
        Ok(Self { inner, words, count: elements.len(), digits })
    }
}

/// What [`Integers`](crate::Integers) share: the server key, and the programs that are loaded.
pub(crate) struct Inner {
    pub server: ServerKey,
    pub budget: u32,
    programs: Mutex<HashMap<Request, Arc<Loaded>>>,
    pub scratch_bytes: AtomicUsize,
    pub look_ups: AtomicU64,
    pub listener: Mutex<Option<Arc<dyn Progress + Send>>>,
    /// The most look-ups between two reports.
    pub report_every: AtomicUsize,
}

/// A program whose tables are on the device.
struct Loaded {
    program: Program,
    tables: Vec<LoadedTable>,
}

/// Variance of what operations read: bootstrapped messages, or fresh ones where these have larger
/// errors.
pub(crate) fn unit(model: &NoiseModel) -> f64 {
    model.variance_of_bits()
}

/// log2 of the probability that a look-up of a sum of this norm goes wrong.
pub(crate) fn log2_failure(model: &NoiseModel, set: &ParameterSet, norm: u32) -> f64 {
    let margin = 2f64.powi(set.shape().log2_stored_modulus() as i32 - MESSAGE_BITS as i32 - 2);
    model.log2_failure_input(margin, f64::from(norm) * unit(model))
}

/// The largest norm of a sum that is looked up, 0 if there is none.
pub(crate) fn budget(model: &NoiseModel, set: &ParameterSet, log2_bound: f64) -> u32 {
    (1..=LARGEST_NORM).rev().find(|&n| log2_failure(model, set, n) <= log2_bound).unwrap_or(0)
}

/// An operand of [`Inner::run`].
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    Array(&'a Array),
    Plain { value: u128, digits: usize },
}

impl Inner {
    /// Runs programs by `server`, whose sums keep to `budget`.
    pub fn new(server: ServerKey, budget: u32, scratch_bytes: usize) -> Self {
        Self {
            server,
            budget,
            programs: Mutex::default(),
            scratch_bytes: AtomicUsize::new(scratch_bytes),
            look_ups: AtomicU64::new(0),
            listener: Mutex::default(),
            report_every: AtomicUsize::new(MOST_JOBS),
        }
    }

    /// Runs an operation on arrays, of which there is at least one.
    pub fn run(
        self: &Arc<Self>,
        operation: Operation,
        signed: bool,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Array>> {
        let mut arrays: Vec<Option<&Array>> = Vec::with_capacity(arguments.len());
        let mut operands = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            match argument {
                Argument::Plain { value, digits } => {
                    operands.push(Operand::Plain { value, digits });
                    arrays.push(None);
                }
                Argument::Array(array) => {
                    if !Arc::ptr_eq(&array.inner, self) {
                        return mismatch(
                            "integers of two servers: upload both to the one that computes",
                        );
                    }
                    let same = arrays
                        .iter()
                        .position(|a| a.is_some_and(|a| a.words.first() == array.words.first()));
                    operands.push(match same {
                        Some(earlier) => Operand::Same(earlier),
                        None => Operand::Digits(array.digits.clone()),
                    });
                    arrays.push(Some(array));
                }
            }
        }
        let lengths: Vec<usize> = arrays.iter().flatten().map(|a| a.count).collect();
        let count = lengths.first().copied().unwrap_or(0);
        if lengths.iter().any(|&l| l != count) {
            return mismatch(format!("arrays of {lengths:?} integers: they must be equally long"));
        }
        let loaded = self.load(Request { operation, signed, operands })?;
        self.execute(&loaded, &arrays, count)
    }

    fn load(&self, request: Request) -> Result<Arc<Loaded>> {
        let known =
            self.programs.lock().unwrap_or_else(PoisonError::into_inner).get(&request).cloned();
        if let Some(loaded) = known {
            return Ok(loaded);
        }
        let Some(program) = record(&request, self.budget) else {
            return Err(Error::Tfhe(girih_tfhe::Error::TooNoisy {
                what: format!("{:?} of integers with such errors", request.operation),
                log2_failure: log2_failure(
                    &self.server.noise_model(),
                    self.server.set(),
                    LARGEST_NORM + 1,
                ),
                log2_bound: self.server.failure_limit(),
            }));
        };
        let load = |t: &crate::record::Table| {
            let values = t.values.iter().map(|&v| i32::from(v)).collect();
            self.server.load_centred(&CentredTable::new(values, t.constant)?)
        };
        let tables = program.tables.iter().map(load).collect::<girih_tfhe::Result<Vec<_>>>()?;
        let loaded = Arc::new(Loaded { program, tables });
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() >= MOST_PROGRAMS {
            programs.clear();
        }
        programs.insert(request, Arc::clone(&loaded));
        Ok(loaded)
    }

    fn execute(
        self: &Arc<Self>,
        loaded: &Loaded,
        arrays: &[Option<&Array>],
        count: usize,
    ) -> Result<Vec<Array>> {
        let (program, unit) = (&loaded.program, unit(&self.server.noise_model()));
        let results = program
            .outputs
            .iter()
            .map(|digits| {
                let norm = digits.iter().map(|d| d.norm).max().unwrap_or(1);
                let words = self.server.allocate(digits.len() * count)?;
                let words = words.with_plaintext_modulus(Some(PLAINTEXT));
                words.with_variance(f64::from(norm) * unit)
            })
            .collect::<girih_tfhe::Result<Vec<_>>>()?;
        let element = 4 * self.server.set().shape().ciphertext_len() * program.slots as usize;
        let limit = self.scratch_bytes.load(Ordering::Relaxed);
        // As many parts as that takes, of about equal length.
        let most = limit.checked_div(element).unwrap_or(count).clamp(1, count);
        let part = count.div_ceil(count.div_ceil(most));
        let scratch = match program.slots as usize {
            0 => None,
            slots => Some(self.server.allocate(slots * part)?),
        };
        let told = Told {
            listener: self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            done: Cell::new(0),
            total: program.look_ups() * count,
            every: self.report_every.load(Ordering::Relaxed),
        };
        for first in (0..count).step_by(part) {
            let elements = first..count.min(first + part);
            let run = Run {
                loaded,
                arrays,
                results: &results,
                scratch: scratch.as_ref(),
                count,
                part,
                told: &told,
            };
            run.part(&self.server, elements)?;
        }
        self.look_ups.fetch_add((program.look_ups() * count) as u64, Ordering::Relaxed);
        Ok(results
            .into_iter()
            .zip(&program.outputs)
            .map(|(words, digits)| Array {
                inner: Arc::clone(self),
                words: Arc::new(words),
                count,
                digits: digits.clone(),
            })
            .collect())
    }
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
    loaded: &'a Loaded,
    arrays: &'a [Option<&'a Array>],
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
                        jobs.push(server.message_job(&terms, i.constant, table, output));
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
    Values::range(0, crate::RADIX - 1)
}
