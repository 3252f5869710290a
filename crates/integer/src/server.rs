//! A server key that computes on integers, and how it runs programs.

use crate::array::Array;
use crate::host::Encrypted;
use crate::operations::{Operand, Operation, Request, record};
use crate::program::{Instruction, Place, Program};
use crate::record::{DigitState, Values};
use crate::types::Integer;
use crate::{Error, MESSAGE_BITS, Result, error::mismatch};
use girih_backend::{BootstrapJob, Combination, LinearJob, Operand as Term, Progress};
use girih_tfhe::{
    CentredTable, DeviceCiphertexts, KeyId, LoadedTable, LweCiphertexts, NoiseModel, ParameterSet,
    ServerKey,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest norm of a sum that is looked up: the square of 5, which sets for two bits of message
/// and two of carry are made for.
pub(crate) const LARGEST_NORM: u32 = 25;

/// The smallest budget that every operation can do with.
const LEAST_NORM: u32 = 9;

/// Programs that are kept: each is some hundred look-ups, a division some ten thousand.
const MOST_PROGRAMS: usize = 256;

/// The most jobs of a list.
const MOST_JOBS: usize = 1 << 16;

/// Evaluation keys on a device, for arrays of encrypted integers.
///
/// Integers remember it: operations are theirs ([`FheUint`](crate::FheUint),
/// [`FheInt`](crate::FheInt), [`FheBool`](crate::FheBool)). It is cheap to clone and can be shared
/// between threads.
#[derive(Clone)]
pub struct Integers(Arc<Inner>);

pub(crate) struct Inner {
    server: ServerKey,
    budget: u32,
    programs: Mutex<HashMap<Request, Arc<Loaded>>>,
    scratch_bytes: AtomicUsize,
    look_ups: AtomicU64,
    listener: Mutex<Option<Arc<dyn Progress + Send>>>,
}

/// A program whose tables are on the device.
struct Loaded {
    program: Program,
    tables: Vec<LoadedTable>,
}

impl std::fmt::Debug for Integers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Integers({:?})", self.0.server)
    }
}

/// Variance of what operations read: bootstrapped messages, or fresh ones where these have larger
/// errors.
fn unit(model: &NoiseModel) -> f64 {
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

fn check_packing(set: &ParameterSet) -> Result<()> {
    if set.packing() == 1 {
        return Ok(());
    }
    mismatch(format!(
        "integers with {set}: digits that share a ciphertext cannot be moved; take a set with \
         packing 1, as GIRIH_2_2"
    ))
}

/// Refuses to encrypt integers with a set that no server computes on, wherever its bound is.
pub(crate) fn check_set(set: &ParameterSet) -> Result<()> {
    check_packing(set)?;
    let model = NoiseModel::new(set);
    let room = set.shape().log2_stored_modulus() > MESSAGE_BITS + 2;
    let log2_failure = if room { log2_failure(&model, set, LEAST_NORM) } else { 0.0 };
    if log2_failure > WORST_LOG2_FAILURE {
        return mismatch(format!(
            "integers with {set}: their sums of digits would be read wrongly with probability \
             2^{log2_failure:.1}, so no server takes them; GIRIH_2_2 and TFHERS_2_2 are sets for \
             integers"
        ));
    }
    Ok(())
}

/// log2 of the failure probability of a look-up beyond which results are no results.
const WORST_LOG2_FAILURE: f64 = -4.0;

impl Integers {
    /// Takes a server key for integers.
    ///
    /// Sums are held to a norm of 5 (the square root of the sum of their squared weights), or to
    /// less where [`ServerKey::limit_failure`] as it is now asks for that.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a set that packs several messages into a ciphertext or has no room
    /// for four bits a message, and
    /// [`girih_tfhe::Error::TooNoisy`] for one on which look-ups of four bits fail too often.
    pub fn new(server: ServerKey) -> Result<Self> {
        let set = server.set();
        check_packing(set)?;
        let (model, bound) = (server.noise_model(), server.failure_limit());
        // Says what is wrong with a set without room.
        server.load_centred(&CentredTable::new(vec![0; 1 << MESSAGE_BITS], 0)?)?;
        let budget = budget(&model, set, bound);
        if budget < LEAST_NORM {
            return Err(Error::Tfhe(girih_tfhe::Error::TooNoisy {
                what: format!(
                    "a look-up of four bits in a sum of norm 3 with {set}, where GIRIH_2_2 and \
                     TFHERS_2_2 have room for it,"
                ),
                log2_failure: log2_failure(&model, set, LEAST_NORM),
                log2_bound: bound,
            }));
        }
        Ok(Self(Arc::new(Inner {
            server,
            budget,
            programs: Mutex::default(),
            scratch_bytes: AtomicUsize::new(Self::SCRATCH_BYTES),
            look_ups: AtomicU64::new(0),
            listener: Mutex::default(),
        })))
    }

    /// The limit of [`Integers::limit_scratch`] until another is set.
    pub const SCRATCH_BYTES: usize = if usize::BITS > 32 { 4 << 30 } else { 1 << 30 };

    /// Limits what operations store on the device beside their operands and results: arrays are
    /// computed in parts that keep below it, of one element at least.
    pub fn limit_scratch(&self, bytes: usize) {
        self.0.scratch_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The server key.
    pub fn server(&self) -> &ServerKey {
        &self.0.server
    }

    /// Name of the client key whose integers it works on.
    pub fn key_id(&self) -> KeyId {
        self.0.server.key_id()
    }

    /// Bootstrappings that its operations have asked for so far.
    pub fn look_ups(&self) -> u64 {
        self.0.look_ups.load(Ordering::Relaxed)
    }

    /// Tells `listener` how many look-ups of an operation have been asked for, level by level; none
    /// of them with `None`. Of a device that takes them without waiting, that is ahead of what it
    /// has done.
    pub fn report_to(&self, listener: Option<Arc<dyn Progress + Send>>) {
        *self.0.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Copies an array to the device.
    ///
    /// # Errors
    /// As [`ServerKey::upload`].
    pub fn upload<T: Integer>(&self, encrypted: &Encrypted<T>) -> Result<T> {
        let (words, count) = (encrypted.ciphertexts(), encrypted.len());
        let norm = (words.variance() / unit(&self.0.server.noise_model()) - 1e-9).ceil();
        let state =
            DigitState { values: T::values(), norm: norm.clamp(1.0, f64::from(u32::MAX)) as u32 };
        let words = Arc::new(self.0.server.upload(words)?);
        let (inner, digits) = (Arc::clone(&self.0), vec![state; T::digits()]);
        Ok(T::wrap(Array { inner, words, count, digits }))
    }

    /// Known values as an array, without secret or error.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for no value or one out of range, and failures of the device.
    pub fn constants<T: Integer, P: Copy + Into<T::Plain>>(&self, values: &[P]) -> Result<T> {
        let messages = crate::host::messages::<T, P>(values)?;
        let words = LweCiphertexts::trivial(self.0.server.set(), &messages, 2 << MESSAGE_BITS)?;
        self.upload(&Encrypted::new(words, values.len()))
    }

    /// Copies an array back to the host, waiting for the work it depends on. Carries that are still
    /// to come are propagated first.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an array of another server, and failures of the device.
    pub fn download<T: Integer>(&self, array: &T) -> Result<Encrypted<T>> {
        let array = self.clean(array)?;
        Ok(Encrypted::new(self.0.server.download(&array.words)?, array.count))
    }

    /// An array of this server with no carries to come.
    pub(crate) fn clean<T: Integer>(&self, array: &T) -> Result<Array> {
        let array = array.array();
        if !Arc::ptr_eq(&array.inner, &self.0) {
            return mismatch("these integers live with another server");
        }
        Ok(array.resolved(T::values())?.unwrap_or_else(|| array.clone()))
    }

    /// Waits for all work.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.0.server.engine().synchronize()?)
    }
}

/// An operand of [`Inner::run`].
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    Array(&'a Array),
    Plain { value: u128, digits: usize },
}

impl Inner {
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
            let jobs: &[BootstrapJob] = &jobs;
            jobs.chunks(MOST_JOBS).try_for_each(|jobs| server.engine().bootstrap(jobs))?;
            server.engine().combine(&sums)?;
            if !jobs.is_empty() {
                self.told.add(jobs.len());
            }
        }
        Ok(())
    }
}

/// The values of digits without carries to come.
pub(crate) fn digit_values() -> Values {
    Values::range(0, crate::RADIX - 1)
}
