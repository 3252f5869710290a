//! Arrays of digits on a device, and programs run on them.

use super::operations::{Operation, Request, State};
use super::program::{Output, Program};
use super::standard::Standard;
use crate::server::{ServerKey, Wires};
use crate::{Result, Table, error};
use girih_backend::Progress;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ciphertexts of a digit that are computed together, and look-ups side by side at most: a device
/// shares keys and launches among them.
pub(super) const SIDE_BY_SIDE: usize = 8;

/// Look-ups that lie in a device's queue before it is waited for.
const QUEUED: usize = 64;

/// Programs that are kept.
const MOST_PROGRAMS: usize = 256;

/// Some elements of an array: a batch of up to eight ciphertexts for each digit that is not known.
#[derive(Clone)]
pub(super) struct Part {
    pub digits: Vec<Option<Wires>>,
    /// Any wires of so many ciphertexts, for constants to be made of.
    pub like: Wires,
}

#[derive(Clone)]
pub(super) struct Array {
    pub inner: Arc<Inner>,
    pub parts: Arc<Vec<Part>>,
    pub count: usize,
    pub digits: Vec<State>,
    /// Whether its one digit is a bit.
    pub is_bit: bool,
}

/// An operand of [`Inner::run`].
#[derive(Clone, Copy)]
pub(super) enum Argument<'a> {
    Array(&'a Array),
    Plain { bits: u128, digits: usize, is_bit: bool },
}

impl Argument<'_> {
    fn states(&self) -> (Vec<State>, bool) {
        match self {
            Self::Array(array) => (array.digits.clone(), array.is_bit),
            Self::Plain { bits, digits, is_bit } => {
                let digit = |i: usize| State::Known((bits >> (2 * i) & 3) as i64);
                ((0..*digits).map(digit).collect(), *is_bit)
            }
        }
    }
}

/// What [`Integers`](super::Integers) share.
pub(super) struct Inner {
    pub server: ServerKey,
    pub standard: Arc<Standard>,
    programs: Mutex<HashMap<Request, Arc<Program>>>,
    pub look_ups: AtomicU64,
    pub listener: Mutex<Option<Arc<dyn Progress + Send>>>,
}

impl Array {
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
}

impl Inner {
    pub fn new(server: ServerKey, standard: Standard) -> Self {
        let (programs, look_ups, listener) = Default::default();
        Self { server, standard: Arc::new(standard), programs, look_ups, listener }
    }

    /// Runs an operation on operands of which the first is an array.
    pub fn run(
        self: &Arc<Self>,
        operation: Operation,
        signed: bool,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Array>> {
        let arrays: Vec<&Array> = arguments
            .iter()
            .filter_map(|argument| match argument {
                Argument::Array(array) => Some(*array),
                Argument::Plain { .. } => None,
            })
            .collect();
        if arrays.iter().any(|array| !Arc::ptr_eq(&array.inner, self)) {
            return error::mismatch(
                "integers of two servers: upload both to the one that computes",
            );
        }
        let Some(first) = arrays.first() else {
            return error::mismatch("an operation on known numbers alone: one must be an array");
        };
        if arrays.iter().any(|array| array.count != first.count) {
            let lengths: Vec<usize> = arrays.iter().map(|array| array.count).collect();
            return error::mismatch(format!(
                "arrays of {lengths:?} integers: they must be equally long"
            ));
        }
        let operands = arguments.iter().map(Argument::states).collect();
        let program = self.program(Request { operation, signed, operands })?;
        let total = program.lookups.len() * first.parts.len();
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); program.outputs.len()];
        for number in 0..first.parts.len() {
            let of = |array: &&Array| array.parts[number].digits.clone();
            let inputs: Vec<Wires> = arrays.iter().flat_map(of).flatten().collect();
            let like = &first.parts[number].like;
            let done = program.lookups.len() * number;
            let run = Run { inner: self, program: &program, like, done, total };
            for (all, digits) in parts.iter_mut().zip(run.all(inputs)?) {
                all.push(Part { digits, like: like.clone() });
            }
        }
        let array = |(parts, outputs): (Vec<Part>, &Vec<Output>)| Array {
            inner: Arc::clone(self),
            parts: Arc::new(parts),
            count: first.count,
            digits: outputs.iter().map(Output::state).collect(),
            is_bit: outputs.iter().all(|o| o.sum.high <= 1) && outputs.len() == 1,
        };
        Ok(parts.into_iter().zip(&program.outputs).map(array).collect())
    }

    fn program(&self, request: Request) -> Result<Arc<Program>> {
        let locked = || self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(&request) {
            return Ok(Arc::clone(known));
        }
        let program = Arc::new(request.record(&self.standard)?);
        let mut programs = locked();
        if programs.len() >= MOST_PROGRAMS {
            programs.clear();
        }
        programs.insert(request, Arc::clone(&program));
        Ok(program)
    }
}

impl Output {
    fn state(&self) -> State {
        match self.sum.value() {
            Some(value) => State::Known(value),
            None if self.clean => State::Clean,
            None => State::Rest,
        }
    }
}

/// A program on some elements.
struct Run<'a> {
    inner: &'a Inner,
    program: &'a Program,
    like: &'a Wires,
    /// Look-ups of elements before these.
    done: usize,
    total: usize,
}

impl Run<'_> {
    fn all(&self, inputs: Vec<Wires>) -> Result<Vec<Vec<Option<Wires>>>> {
        let (server, program) = (&self.inner.server, self.program);
        let mut wires: Vec<Option<Wires>> = inputs.into_iter().map(Some).collect();
        debug_assert_eq!(wires.len(), program.inputs);
        wires.resize(program.wires, None);
        let listener = self.inner.listener.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let side_by_side = (SIDE_BY_SIDE / self.like.len()).max(1);
        let (mut done, mut queued) = (0, 0);
        for level in &program.levels {
            for (&kind, lookups) in &level.kinds {
                for lookups in lookups.chunks(side_by_side) {
                    self.look_up(kind, lookups, &mut wires)?;
                    (done, queued) = (done + lookups.len(), queued + lookups.len());
                    if queued >= QUEUED {
                        server.synchronize()?;
                        queued = 0;
                    }
                    if let Some(listener) = &listener {
                        listener.report("look-ups", self.done + done, self.total);
                    }
                }
            }
            // Work that was called before may still read them: memory is reused in that order.
            level.last_reads.iter().for_each(|&wire| wires[wire as usize] = None);
        }
        let count = (program.lookups.len() * self.like.len()) as u64;
        self.inner.look_ups.fetch_add(count, Ordering::Relaxed);
        let output = |output: &Output| -> Result<Option<Wires>> {
            let Output { sum, .. } = output;
            let of = |&(weight, wire): &(i64, u32)| {
                (weight, wires[wire as usize].as_ref().expect("outputs stay"))
            };
            let result = match sum.terms.as_slice() {
                [] => return Ok(None),
                [(1, wire)] if sum.constant == 0 => of(&(1, *wire)).1.clone(),
                terms => {
                    let terms: Vec<(i64, &Wires)> = terms.iter().map(of).collect();
                    server.sum(&terms, sum.constant)?
                }
            };
            Ok(Some(result.within(sum.low, sum.high)))
        };
        program.outputs.iter().map(|o| o.iter().map(output).collect()).collect()
    }

    fn look_up(&self, kind: usize, lookups: &[usize], wires: &mut [Option<Wires>]) -> Result<()> {
        let of = &self.program.kinds[kind];
        let there = |&wire: &u32| wires[wire as usize].as_ref().expect("operands come first");
        let lookups = || lookups.iter().map(|&i| &self.program.lookups[i]);
        let sums: Vec<Vec<&Wires>> =
            lookups().map(|lookup| lookup.operands.iter().map(there).collect()).collect();
        let tables: Vec<&Table> = of.tables.iter().collect();
        let results = self.inner.server.lookup_each(&of.weights, of.constant, &sums, &tables)?;
        for (lookup, results) in lookups().zip(results) {
            for (&wire, result) in lookup.results.iter().zip(results) {
                wires[wire as usize] = Some(result);
            }
        }
        Ok(())
    }
}
