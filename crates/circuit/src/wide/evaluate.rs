//! Running a circuit on a device: look-ups of one kind side by side, wires that stay there.

use super::plan::Output;
use super::schedule::{Schedule, Step};
use super::{WideBits, WideCircuit, WideLevel, WideReport};
use crate::error::{Error, Result, mismatch, wrong_bits};
use girih_backend::{Instant, Progress};
use girih_discrete::{EncryptedNumbers, Expected, ServerKey, Table, Wires};
use girih_tfhe::Mismatch;

/// Waits of a run at most where its order is not that of levels.
const WAITS: usize = 100;

/// How to run a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WideOptions {
    /// Look-ups side by side at most: a device shares keys and launches among them, and needs
    /// working memory for each.
    pub batch: usize,
    /// Bytes that wires may take on the device at one time, inputs included; none for no limit.
    /// Where it is short, look-ups run in another order and fewer side by side.
    pub most_bytes: Option<u64>,
}

impl Default for WideOptions {
    /// Eight side by side, no limit.
    fn default() -> Self {
        Self { batch: 8, most_bytes: None }
    }
}

impl WideOptions {
    /// These, with at most so many look-ups side by side.
    #[must_use]
    pub fn with_batch(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// These, with a limit of what wires may take on the device.
    #[must_use]
    pub fn with_most_bytes(self, bytes: u64) -> Self {
        Self { most_bytes: Some(bytes), ..self }
    }
}

/// One run: the wires that are there.
struct Run<'a> {
    circuit: &'a WideCircuit,
    server: &'a ServerKey,
    wires: Vec<Option<Wires>>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<()> {
        let plan = &self.circuit.plan;
        let kind = &plan.kinds[plan.lookups[step.lookups[0]].kind];
        let there = |&wire: &u32| self.wires[wire as usize].as_ref().expect("operands come first");
        let sums: Vec<Vec<&Wires>> = step
            .lookups
            .iter()
            .map(|&lookup| plan.lookups[lookup].operands.iter().map(there).collect())
            .collect();
        let tables: Vec<&Table> = kind.tables.iter().collect();
        let results = self.server.lookup_each(&kind.weights, kind.constant, &sums, &tables)?;
        // Errors count as one of the few that the circuit was planned with.
        let ladder = &self.circuit.library.ladder;
        let counted = |result: Wires| {
            let errors = result.expected();
            let of = ladder.iter().find(|of| errors.is_within(of));
            of.map_or(result.clone(), |of| result.counted_as(of))
        };
        for (&lookup, results) in step.lookups.iter().zip(results) {
            for (&wire, result) in plan.lookups[lookup].results.iter().zip(results) {
                self.wires[wire as usize] = Some(counted(result));
            }
        }
        // Work that was called before may still read them: memory is reused in the same order.
        step.last_reads.iter().for_each(|&wire| self.wires[wire as usize] = None);
        Ok(())
    }

    fn output(&self, output: &Output, inputs: &Wires) -> Result<Wires> {
        match *output {
            Output::Constant(value) => {
                Ok(self.server.constant(i64::from(value), &inputs.select(0..1)?)?)
            }
            Output::Wire { wire, negated } => {
                let of = self.wires[wire as usize].as_ref().expect("outputs stay");
                Ok(if negated { self.server.not(of)? } else { of.clone() })
            }
        }
    }
}

impl WideCircuit {
    /// Runs the circuit on every instance; inputs and outputs are bits of the netlist's buses in
    /// order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of bits and a batch of 0, [`Error::WrongSet`] for
    /// keys of another set, [`Error::Memory`] for a limit of memory that is too small;
    /// [`Error::Discrete`] for another client's numbers, and failures of the device.
    pub fn evaluate(
        &self,
        server: &ServerKey,
        inputs: &WideBits,
        options: &WideOptions,
        progress: &dyn Progress,
    ) -> Result<(WideBits, WideReport)> {
        self.check(server, inputs.bits())?;
        let resident = server.upload(inputs.numbers())?;
        let (outputs, report) = self.evaluate_resident(server, &resident, options, progress)?;
        let parts: Vec<EncryptedNumbers> =
            outputs.iter().map(|x| server.download(x)).collect::<girih_discrete::Result<_>>()?;
        Ok((WideBits::new(EncryptedNumbers::join(&parts)?)?, report))
    }

    /// The same on a batch that lives on the device, a ciphertext each bit; the results stay there,
    /// one for each output bit.
    ///
    /// # Errors
    /// As [`WideCircuit::evaluate`], and for numbers that may be no bits.
    pub fn evaluate_resident(
        &self,
        server: &ServerKey,
        inputs: &Wires,
        options: &WideOptions,
        progress: &dyn Progress,
    ) -> Result<(Vec<Wires>, WideReport)> {
        self.check(server, inputs.len())?;
        if inputs.range().0 < 0 || inputs.range().1 > 1 {
            let (low, high) = inputs.range();
            return mismatch(Mismatch::numbers("bits", (low, high), (0, 1), ""));
        }
        let schedule = self.schedule(options)?;
        let log2_failure = self.check_errors(server, &inputs.expected())?;
        let mut wires = vec![None; self.plan.wires];
        for (i, wire) in wires.iter_mut().enumerate().take(self.plan.inputs) {
            let input = inputs.select(i..i + 1)?;
            *wire = Some(input.counted_as(&self.library.ladder[0]));
        }
        let mut run = Run { circuit: self, server, wires };
        let start = Instant::now();
        let levels = self.steps(&mut run, &schedule, progress)?;
        let outputs: Vec<Wires> = self
            .plan
            .outputs
            .iter()
            .map(|output| run.output(output, inputs))
            .collect::<Result<_>>()?;
        server.synchronize()?;
        let seconds = start.elapsed().as_secs_f64();
        let instances = inputs.numbers();
        let report = WideReport {
            gates: self.gates,
            instances,
            lookups: self.lookups(),
            tables: self.tables(),
            depth: self.depth(),
            peak_ciphertexts: schedule.peak,
            log2_failure,
            seconds,
            instances_per_s: instances as f64 / seconds,
            gates_per_s: (self.gates * instances) as f64 / seconds,
            levels,
        };
        Ok((outputs, report))
    }

    fn steps(
        &self,
        run: &mut Run<'_>,
        schedule: &Schedule,
        progress: &dyn Progress,
    ) -> Result<Vec<WideLevel>> {
        let (total, mut done) = (self.lookups(), 0);
        let by_levels = schedule.steps.windows(2).all(|two| {
            let [a, b] = [&two[0], &two[1]].map(|s| self.plan.lookups[s.lookups[0]].level);
            a <= b
        });
        let every = schedule.steps.len().div_ceil(WAITS);
        let mut levels = Vec::new();
        let (mut start, mut lookups) = (Instant::now(), 0);
        for (number, step) in schedule.steps.iter().enumerate() {
            run.step(step)?;
            lookups += step.lookups.len();
            done += step.lookups.len();
            let level = |step: &Step| self.plan.lookups[step.lookups[0]].level;
            let ends = match schedule.steps.get(number + 1) {
                None => true,
                Some(next) if by_levels => level(next) != level(step),
                Some(_) => (number + 1).is_multiple_of(every),
            };
            if ends {
                // So that levels can be timed, and not too much lies in a queue.
                run.server.synchronize()?;
                levels.push(WideLevel { lookups, seconds: start.elapsed().as_secs_f64() });
                (start, lookups) = (Instant::now(), 0);
            }
            progress.report("look-ups of the circuit", done, total);
        }
        Ok(levels)
    }

    /// Ciphertexts that lie on a device at most at one time, inputs and outputs included.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a batch of 0, and [`Error::Memory`] for a limit that is too small.
    pub fn peak_ciphertexts(&self, options: &WideOptions) -> Result<usize> {
        Ok(self.schedule(options)?.peak)
    }

    fn schedule(&self, options: &WideOptions) -> Result<Schedule> {
        if options.batch == 0 {
            return mismatch(Mismatch::empty("look-ups of a batch"));
        }
        let bytes = 8 * (self.set.wire_level() as u64 + 1) * self.set.numbers() as u64;
        let wires = options.most_bytes.map_or(u64::MAX, |most| most / bytes);
        let wires = usize::try_from(wires).unwrap_or(usize::MAX);
        Schedule::within(&self.plan, options.batch, wires, bytes)
    }

    fn check(&self, server: &ServerKey, bits: usize) -> Result<()> {
        if *server.set() != self.set {
            let (expected, found) = (self.set.to_string(), server.set().to_string());
            return Err(Error::WrongSet { what: "keys", expected, found });
        }
        if bits != self.input_bits() {
            return wrong_bits("encrypted bits", bits, self.input_bits());
        }
        Ok(())
    }

    /// Counts all look-ups before any runs, where inputs or the limit are not those that the
    /// circuit was made for.
    fn check_errors(&self, server: &ServerKey, inputs: &Expected) -> Result<f64> {
        let limit = server.failure_limit();
        if inputs.is_within(&self.library.ladder[0]) && limit >= self.limit {
            return Ok(self.log2_failure);
        }
        self.expect(server.forecast(), inputs.clone(), limit)
    }
}
