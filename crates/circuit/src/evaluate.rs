//! Running a circuit on a device: a level is one list of jobs over ciphertexts that stay there.

use crate::bits::EncryptedBits;
use crate::circuit::Circuit;
use crate::error::{Result, mismatch};
use crate::optimise::{Instruction, Output, Source};
use crate::report::{LevelTime, Report};
use girih_backend::{BootstrapJob, Combination, LinearJob, Operand, Progress};
use girih_tfhe::{DeviceCiphertexts, Gate, ServerKey};
use std::time::Instant;

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
        Ok(results)
    }
}

impl Circuit {
    /// Runs the circuit on every instance;
    /// inputs and outputs are bits of the netlist's buses in order.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for another number of bits, another set or
    /// another client's ciphertexts, and failures of the device.
    pub fn evaluate(
        &self,
        server: &ServerKey,
        inputs: &EncryptedBits,
        progress: &dyn Progress,
    ) -> Result<(EncryptedBits, Report)> {
        if inputs.bits() != self.input_bits() {
            return mismatch(format!(
                "{} encrypted bits for a circuit of {}",
                inputs.bits(),
                self.input_bits()
            ));
        }
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
            return mismatch(format!(
                "{} ciphertexts are no multiple of the {} input bits",
                inputs.len(),
                self.input_bits()
            ));
        }
        self.run(server, inputs, inputs.len() / self.input_bits() * self.set.packing(), progress)
    }

    fn run(
        &self,
        server: &ServerKey,
        inputs: &DeviceCiphertexts,
        instances: usize,
        progress: &dyn Progress,
    ) -> Result<(DeviceCiphertexts, Report)> {
        if *server.set() != self.set {
            return mismatch(format!("a circuit for {} and keys of {}", self.set, server.set()));
        }
        server.check_owner(inputs)?;
        let log2_modulus = self.set.shape().log2_stored_modulus();
        if inputs.log2_modulus() != log2_modulus {
            return mismatch(format!(
                "ciphertexts modulo 2^{}: bits of a circuit are modulo 2^{log2_modulus}",
                inputs.log2_modulus()
            ));
        }
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
