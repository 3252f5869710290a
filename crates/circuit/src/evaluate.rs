//! Running a circuit on a device: a level is one list of jobs over ciphertexts that stay there.

use crate::bits::EncryptedBits;
use crate::circuit::{Circuit, Reader};
use crate::error::{Error, Result, mismatch, wrong_bits};
use crate::optimise::{Instruction, Output, Source};
use crate::report::{LevelTime, Report};
use girih_backend::{BootstrapJob, Combination, Instant, LinearJob, Operand, Progress};
use girih_tfhe::{Counts, DeviceCiphertexts, Gate, Mismatch, ServerKey};

/// One run: where everything is in the device's store.
struct Run<'a> {
    server: &'a ServerKey,
    inputs: &'a DeviceCiphertexts,
    /// None for a circuit without bootstrappings.
    slots: Option<DeviceCiphertexts>,
    /// Ciphertexts of one bit.
    groups: usize,
    and_table: u32,
    xor_table: u32,
}

impl Run<'_> {
    fn place(&self, source: Source, group: usize) -> u32 {
        match (source, &self.slots) {
            (Source::Input(bit), _) => self.inputs.at(bit as usize * self.groups + group),
            (Source::Slot(slot), Some(slots)) => slots.at(slot as usize * self.groups + group),
            (Source::Slot(_), None) => unreachable!("a program with instructions has slots"),
        }
    }

    fn job(&self, instruction: &Instruction, group: usize) -> BootstrapJob {
        let used = instruction.operands.iter().filter(|(_, weight)| *weight != 0);
        let mut operands = [Operand { ciphertext: 0, weight: 0 }; Combination::MAX_OPERANDS];
        for (operand, &(source, weight)) in operands.iter_mut().zip(used) {
            *operand = Operand { ciphertext: self.place(source, group), weight };
        }
        let table = if instruction.xor { self.xor_table } else { self.and_table };
        let output = self.place(Source::Slot(instruction.slot), group);
        self.server.bit_job(&operands, self.server.quarters(instruction.quarters), table, output)
    }

    fn level(&self, instructions: &[Instruction]) -> Result<()> {
        let jobs: Vec<BootstrapJob> = instructions
            .iter()
            .flat_map(|i| (0..self.groups).map(move |group| self.job(i, group)))
            .collect();
        let engine = self.server.engine();
        engine.bootstrap(&jobs)?;
        Ok(engine.synchronize()?)
    }

    /// Copies, negates or makes up every output bit: linear, so free.
    fn outputs(&self, outputs: &[Output]) -> Result<DeviceCiphertexts> {
        let results = self.server.allocate(outputs.len() * self.groups)?;
        let log2_modulus = self.server.set().shape().log2_stored_modulus();
        let job = |index: usize| {
            let input = match outputs[index / self.groups] {
                Output::Constant(value) => {
                    Combination::new(&[], self.server.quarters(u32::from(value)), log2_modulus)
                }
                Output::Bit { source, negated } => {
                    let weight = if negated { -1 } else { 1 };
                    let operand =
                        Operand { ciphertext: self.place(source, index % self.groups), weight };
                    Combination::new(
                        &[operand],
                        self.server.quarters(u32::from(negated)),
                        log2_modulus,
                    )
                }
            };
            LinearJob { input, log2_output_modulus: log2_modulus, output: results.at(index) }
        };
        self.server.engine().combine(&(0..results.len()).map(job).collect::<Vec<_>>())?;
        // Inputs may be outputs as they are.
        let variance = results.variance().max(self.inputs.variance());
        Ok(results.with_variance(variance)?.with_plaintext_modulus(Some(4)))
    }
}

impl Circuit {
    /// Runs the circuit on every instance;
    /// inputs and outputs are bits of the netlist's buses in order.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of bits or another width of them,
    /// [`Error::WrongSet`] for keys of another set, [`girih_tfhe::Error::WrongKey`] for another
    /// client's ciphertexts, and failures of the device.
    pub fn evaluate(
        &self,
        server: &ServerKey,
        inputs: &EncryptedBits,
        progress: &dyn Progress,
    ) -> Result<(EncryptedBits, Report)> {
        if inputs.bits() != self.input_bits() {
            return wrong_bits("encrypted bits", inputs.bits(), self.input_bits());
        }
        self.check_repeated(inputs)?;
        let resident = server.upload(inputs.ciphertexts())?;
        let (outputs, report) = self.run(server, &resident, inputs.instances(), progress)?;
        Ok((EncryptedBits::new(server.download(&outputs)?, inputs.instances())?, report))
    }

    /// The same on ciphertexts that live on the device, in the order of [`EncryptedBits`]: all
    /// slots are instances.
    ///
    /// # Errors
    /// As [`Circuit::evaluate`], and for ciphertexts of another server key.
    pub fn evaluate_resident(
        &self,
        server: &ServerKey,
        inputs: &DeviceCiphertexts,
        progress: &dyn Progress,
    ) -> Result<(DeviceCiphertexts, Report)> {
        if !inputs.len().is_multiple_of(self.input_bits()) {
            let (what, bits) = ("ciphertexts for the input bits", self.input_bits());
            return mismatch(Mismatch::count(what, inputs.len(), Counts::MultipleOf(bits)));
        }
        self.run(server, inputs, inputs.len() / self.input_bits() * self.set.packing(), progress)
    }

    fn reader(&self) -> Reader<'_> {
        Reader { set: &self.set, model: self.model }
    }

    /// Refuses inputs of which some bootstrapping would be wrong too often: those with larger
    /// errors
    /// than fresh or bootstrapped bits have.
    fn check_inputs(&self, variance: f64) -> Result<()> {
        if variance <= self.model.variance_of_bits() {
            return Ok(());
        }
        let norms = self.program.levels.iter().flatten().map(|i| (i.variance, i.weight)).max();
        let Some((squares, weight)) = norms else { return Ok(()) };
        let log2_failure = self.reader().log2_failure(f64::from(squares), weight, variance);
        if log2_failure > self.log2_bound {
            let what =
                "a circuit on inputs with larger errors than fresh or bootstrapped bits have"
                    .into();
            let log2_bound = self.log2_bound;
            return Err(girih_tfhe::Error::TooNoisy { what, log2_failure, log2_bound }.into());
        }
        Ok(())
    }

    /// Refuses one ciphertext as two inputs that a bootstrapping adds up, whose error would count
    /// twice over. Those without a mask have none.
    fn check_repeated(&self, inputs: &EncryptedBits) -> Result<()> {
        let (ciphertexts, groups) = (inputs.ciphertexts(), inputs.groups());
        let len = ciphertexts.words().len() / ciphertexts.len();
        let words = |bit: u32, group: usize| {
            &ciphertexts.words()[(bit as usize * groups + group) * len..][..len]
        };
        // Masks are random: their first words tell ciphertexts apart or say where to look closer.
        let masked = |c: &[u32]| c[..len.min(8)].iter().any(|&word| word != 0);
        let reader = self.reader();
        let bit = self.model.variance_of_bits().max(ciphertexts.variance());
        let mut log2_failure = f64::NEG_INFINITY;
        for instruction in self.program.levels.iter().flatten() {
            let read: Vec<(u32, f64)> = instruction
                .operands
                .iter()
                .filter_map(|&(source, weight)| match source {
                    // Without a core weights and margin are twice as large.
                    Source::Input(bit) if weight != 0 && instruction.xor => {
                        Some((bit, f64::from(weight) / 2.0))
                    }
                    Source::Input(bit) if weight != 0 => Some((bit, f64::from(weight))),
                    _ => None,
                })
                .collect();
            for group in (0..groups).filter(|_| read.len() > 1) {
                let mut added = 0.0;
                for (i, &(a, weight_a)) in read.iter().enumerate() {
                    for &(b, weight_b) in &read[..i] {
                        let (a, b) = (words(a, group), words(b, group));
                        if a == b && masked(a) {
                            added += 2.0 * weight_a * weight_b;
                        }
                    }
                }
                if added > 0.0 {
                    let squares = f64::from(instruction.variance) + added;
                    let found = reader.log2_failure(squares, instruction.weight, bit);
                    log2_failure = log2_failure.max(found);
                }
            }
        }
        if log2_failure > self.log2_bound {
            let what =
                "a circuit that adds up two inputs which are one ciphertext (encrypt it twice)";
            let (what, log2_bound) = (what.into(), self.log2_bound);
            return Err(girih_tfhe::Error::TooNoisy { what, log2_failure, log2_bound }.into());
        }
        Ok(())
    }

    fn run(
        &self,
        server: &ServerKey,
        inputs: &DeviceCiphertexts,
        instances: usize,
        progress: &dyn Progress,
    ) -> Result<(DeviceCiphertexts, Report)> {
        if *server.set() != self.set {
            let (expected, found) = (self.set.to_string(), server.set().to_string());
            return Err(Error::WrongSet { what: "keys", expected, found });
        }
        server.check_owner(inputs)?;
        let log2_modulus = self.set.shape().log2_stored_modulus();
        if inputs.log2_modulus() != log2_modulus {
            let what = "bits of a circuit";
            return mismatch(Mismatch::modulus(what, inputs.log2_modulus(), [log2_modulus; 2]));
        }
        if let Some(found) = inputs.plaintext_modulus().filter(|&modulus| modulus != 4) {
            let what = "a circuit".into();
            return mismatch(Mismatch::PlaintextModulus { what, found, expected: 4 });
        }
        self.check_inputs(inputs.variance())?;
        let groups = inputs.len() / self.input_bits();
        let slots = match self.peak_slots() {
            0 => None,
            slots => Some(server.allocate(slots * groups)?),
        };
        let (and_table, xor_table) = (server.gate_table(Gate::And)?, server.gate_table(Gate::Xor)?);
        let run = Run { server, inputs, slots, groups, and_table, xor_table };
        let (total, mut done) = (self.bootstraps() * groups, 0);
        let start = Instant::now();
        let mut levels = Vec::with_capacity(self.depth());
        for level in &self.program.levels {
            let start = Instant::now();
            run.level(level)?;
            let bootstraps = level.len() * groups;
            levels.push(LevelTime { bootstraps, seconds: start.elapsed().as_secs_f64() });
            done += bootstraps;
            progress.report("bootstrappings of the circuit", done, total);
        }
        let outputs = run.outputs(&self.program.outputs)?;
        server.engine().synchronize()?;
        Ok((outputs, Report::new(self, instances, groups, start.elapsed().as_secs_f64(), levels)))
    }
}
