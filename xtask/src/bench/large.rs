//! `cargo xtask bench --op func|floor|sign|decomp|compare|relu|max`: functions of large-precision
//! messages.

use super::arguments::Arguments;
use super::batches::{batch_size, measure_all, sizes};
use super::keys::{load_options, messages, seed_bytes};
use super::operation::{LargeFunction, name};
use crate::published;
use crate::record::{self, FunctionFigures, Milliseconds, Noise, Record};
use anyhow::{Context, Result, bail};
use girih::device::{Device, TerminalProgress, Transform};
use girih::tfhe::large::{LargeKeys, LargeOperation, LargeParameters, LargeServer};
use girih::tfhe::{ClientKey, Function, LweCiphertexts, NoiseModel};
use girih_backend::timeline;
use std::time::Instant;

/// Bits that a floor clears.
const CLEARED: u32 = 4;

/// One function, its context and everything that is loaded for it.
struct Bench {
    operation: LargeFunction,
    client: ClientKey,
    server: LargeServer,
    bits: u32,
    log2_modulus: u32,
    keygen_s: f64,
    load_s: f64,
}

/// What came out: batches with log2 of the plaintext modulus of each.
type Outputs = Vec<(LweCiphertexts, u32)>;

pub fn run(arguments: &Arguments, operation: LargeFunction) -> Result<bool> {
    if arguments.resident || arguments.plot.is_some() || arguments.params.is_some() {
        bail!("--resident, --plot and --params do not apply to large-precision functions");
    }
    let device = arguments.open()?;
    let parameters = context(arguments)?;
    let packing = parameters.home().packing();
    let batch = batch_size(arguments, parameters.home(), &device, 16)?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    let bench = Bench::new(arguments, operation, parameters, &device)?;
    bench.describe(&say)?;
    measure_all(arguments, sizes(arguments, batch, packing), &say, |size| {
        let record = bench.measure(arguments, &device, size)?;
        report(&record, &say);
        Ok(record)
    })
}

fn context(arguments: &Arguments) -> Result<LargeParameters> {
    let parameters = match arguments.set.as_deref() {
        None | Some("G4") => LargeParameters::default(),
        Some("G5") => LargeParameters::small(),
        Some("INSECURE_LARGE") => LargeParameters::insecure(),
        Some(other) => {
            bail!("--set {other}: large-precision contexts are G4, G5 and INSECURE_LARGE")
        }
    };
    Ok(match arguments.packing {
        Some(packing) => parameters.with_packing(packing)?,
        None => parameters,
    })
}

impl Bench {
    fn new(
        arguments: &Arguments,
        operation: LargeFunction,
        parameters: LargeParameters,
        device: &Device,
    ) -> Result<Self> {
        let bits =
            arguments.message.unwrap_or(if operation == LargeFunction::Func { 3 } else { 16 });
        let log2_modulus = parameters.log2_modulus(bits);
        parameters.message_bits(log2_modulus).with_context(|| format!("--message {bits}"))?;
        check_operation(operation, bits, &parameters)?;
        let mut options = load_options(arguments);
        let Some(transform) =
            options.transform.or_else(|| device.info().transforms.first().copied())
        else {
            bail!("{} names no transform", device.info().id)
        };
        options.transform = Some(transform);
        let gadgets = match large_operation(operation) {
            None => vec![parameters.gadget(log2_modulus + 1, transform)?],
            Some(operation) => parameters.gadgets(&[operation], log2_modulus, transform)?,
        };
        let progress = TerminalProgress::new().with_lines();
        let start = Instant::now();
        let client =
            ClientKey::generate_seeded_for_tests(parameters.home(), seed_bytes(arguments.seed))?;
        let keys = LargeKeys::generate(&parameters, &client, &gadgets, &progress)?;
        let keygen_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let server = LargeServer::load(device.backend(), &keys, &options, &progress)?;
        // Outputs are checked and wrong ones counted.
        server.limit_failure(0.0)?;
        Ok(Self {
            operation,
            client,
            server,
            bits,
            log2_modulus,
            keygen_s,
            load_s: start.elapsed().as_secs_f64(),
        })
    }

    fn describe(&self, say: &dyn Fn(String)) -> Result<()> {
        let parameters = self.server.parameters();
        let sets: Vec<&str> = self.server.servers().map(|s| s.set().name()).collect();
        say(format!("set       {} with the gadgets of {}", parameters.home(), sets.join(", ")));
        say(format!(
            "messages  {} bits, modulus 2^{}, beta = {}",
            self.bits,
            self.log2_modulus,
            parameters.beta()
        ));
        say(format!("security  {}", parameters.home().security().text));
        for warning in parameters.home().warnings() {
            say(format!("warning   {warning}"));
        }
        say(format!("fails     2^{:.1} a message, by the noise model", self.log2_failure()?));
        say(format!("keys      made in {:.2} s, loaded in {:.2} s", self.keygen_s, self.load_s));
        for server in self.server.servers() {
            say(format!(
                "plan      {} {} {}",
                server.set().name(),
                server.engine().transform(),
                server.engine().plan()
            ));
        }
        Ok(())
    }

    fn function(&self) -> girih::tfhe::Result<Function> {
        function(self.bits)
    }

    fn bootstraps(&self) -> Result<usize> {
        Ok(match large_operation(self.operation) {
            None => self.function()?.bootstraps(),
            Some(operation) => self.server.parameters().bootstraps(operation, self.log2_modulus),
        })
    }

    fn log2_failure(&self) -> Result<f64> {
        let (parameters, transform) = (self.server.parameters(), self.server.transform());
        let model = self.model(transform);
        // A difference of two fresh messages has the errors of both.
        let sigma = model.sigma_fresh() * (self.inputs() as f64).sqrt();
        Ok(match large_operation(self.operation) {
            None => model.log2_failure_function(&self.function()?, self.log2_modulus, sigma),
            Some(operation) => {
                parameters.log2_failure(operation, self.log2_modulus, transform, sigma)?
            }
        })
    }

    /// The model of the gadget that gives the results.
    fn model(&self, transform: Transform) -> NoiseModel {
        let set = self.server.servers().map(|s| s.set()).next();
        NoiseModel::with_transform(
            set.unwrap_or_else(|| self.server.parameters().home()),
            transform,
        )
    }

    /// Deviation that the model predicts for the last batch of the outputs,
    /// in units of its modulus.
    fn sigma_model(&self, log2_output: u32) -> Result<f64> {
        let transform = self.server.transform();
        let result = |operation| {
            self.server.parameters().sigma_result(operation, self.log2_modulus, transform)
        };
        Ok(match (self.operation, large_operation(self.operation)) {
            (_, None) => self.model(transform).sigma_out_at(log2_output),
            // The smaller one itself is added.
            (LargeFunction::Max, Some(operation)) => {
                result(operation)?.hypot(self.model(transform).sigma_fresh())
            }
            (_, Some(operation)) => result(operation)?,
        })
    }

    fn inputs(&self) -> usize {
        if matches!(self.operation, LargeFunction::Compare | LargeFunction::Max) { 2 } else { 1 }
    }

    fn evaluate(&self, inputs: &[LweCiphertexts]) -> Result<Outputs> {
        let encrypted = &inputs[0];
        let bits = |c: &LweCiphertexts| self.server.parameters().message_bits(c.log2_modulus());
        let outputs = match self.operation {
            LargeFunction::Floor => vec![self.server.floor(encrypted, CLEARED)?],
            // Gates read two bits.
            LargeFunction::Sign => return Ok(vec![(self.server.sign(encrypted)?, 2)]),
            LargeFunction::Decomp => self.server.decompose(encrypted)?,
            LargeFunction::Compare => {
                return Ok(vec![(self.server.less(encrypted, &inputs[1])?, 2)]);
            }
            LargeFunction::Relu => vec![self.server.relu(encrypted)?],
            LargeFunction::Max => vec![self.server.max(encrypted, &inputs[1])?],
            LargeFunction::Func => vec![self.server.function(encrypted, &self.function()?)?],
        };
        let with_bits = |c: LweCiphertexts| {
            let bits = bits(&c)?;
            Ok((c, bits))
        };
        outputs.into_iter().map(with_bits).collect()
    }

    /// What message `index` of every input must give in output batch `output`.
    fn expected(&self, table: &[u64], output: usize, plain: &[Vec<u64>], index: usize) -> u64 {
        let m = plain[0][index];
        match self.operation {
            LargeFunction::Floor => m >> CLEARED << CLEARED,
            LargeFunction::Sign => m >> (self.bits - 1),
            LargeFunction::Decomp => {
                let digit = self.server.parameters().digit_bits();
                (m >> (digit * output as u32)) & ((1 << digit) - 1)
            }
            LargeFunction::Compare => u64::from(m < plain[1][index]),
            LargeFunction::Relu => m * (1 - (m >> (self.bits - 1))),
            LargeFunction::Max => m.max(plain[1][index]),
            LargeFunction::Func => table[m as usize],
        }
    }

    fn measure(&self, arguments: &Arguments, device: &Device, batch: usize) -> Result<Record> {
        let parameters = self.server.parameters();
        let table = if self.operation == LargeFunction::Func {
            self.function()?.values().to_vec()
        } else {
            Vec::new()
        };
        // Differences of two must fit: half the range each.
        let bound = (1 << self.bits) / self.inputs() as u64;
        let plain: Vec<Vec<u64>> =
            (0..self.inputs()).map(|i| messages(arguments.seed + i as u64, batch, bound)).collect();
        let encrypt = |m: &Vec<u64>| parameters.encrypt(&self.client, m, self.log2_modulus);
        let encrypted = plain.iter().map(encrypt).collect::<girih::tfhe::Result<Vec<_>>>()?;
        let mut samples = Vec::with_capacity(arguments.repeat);
        let (mut checked, mut wrong, mut squares, mut log2_output) = (0, 0, 0.0, 0);
        for round in 0..=arguments.repeat {
            let start = Instant::now();
            let span = timeline::host("a batch");
            let outputs = self.evaluate(&encrypted)?;
            drop(span);
            if round > 0 {
                samples.push(1e3 * start.elapsed().as_secs_f64());
            } else {
                let json = arguments.json.as_deref();
                self.server.servers().try_for_each(|s| record::settle(s.engine(), json))?;
            }
            if timeline::is_on() {
                // Devices hand over their spans there.
                self.server.servers().try_for_each(|s| s.engine().synchronize())?;
            }
            let last = outputs.len() - 1;
            for (index, (output, bits)) in outputs.iter().enumerate() {
                log2_output = output.log2_modulus();
                let want: Vec<u64> =
                    (0..batch).map(|m| self.expected(&table, index, &plain, m)).collect();
                let errors = errors(&self.client, output, *bits, &want)?;
                let half_step = 2f64.powi((log2_output - bits) as i32 - 1);
                for (message, error) in errors.iter().enumerate() {
                    checked += 1;
                    if !(-half_step..half_step).contains(error) {
                        wrong += 1;
                        if wrong <= 3 {
                            eprintln!(
                                "wrong output {index}: message {message} of round {round} is off \
                                 by {error} of 2^{log2_output}"
                            );
                        }
                    }
                    if index == last {
                        squares += error * error;
                    }
                }
            }
        }
        let (ms, bootstraps) = (Milliseconds::of(&samples), self.bootstraps()?);
        let functions_per_s = batch as f64 / (ms.median / 1e3);
        let plans: Vec<serde_json::Value> = self
            .server
            .servers()
            .map(|s| serde_json::json!({ "set": s.set().name(), "plan": s.engine().plan() }))
            .collect();
        Ok(Record {
            device: device.info().name.clone(),
            backend: device.info().kind.to_string(),
            set: parameters.home().name().into(),
            packing: parameters.home().packing(),
            transform: self.server.transform().to_string(),
            plan: plans.into(),
            op: name(self.operation),
            batch,
            repeat: arguments.repeat,
            bootstraps_per_s: functions_per_s * bootstraps as f64,
            ms,
            transfers_included: true,
            checked,
            wrong,
            noise: Noise {
                sigma_out: (squares / (batch * (arguments.repeat + 1)) as f64).sqrt(),
                model: self.sigma_model(log2_output)?,
            },
            integers: None,
            function: Some(FunctionFigures {
                message_bits: self.bits,
                log2_modulus: self.log2_modulus,
                bootstraps_per_function: bootstraps,
                functions_per_s,
                log2_failure: self.log2_failure()?,
            }),
            keygen_s: self.keygen_s,
            load_s: self.load_s,
            first_result: None,
            peak_memory_bytes: record::peak_memory_bytes(),
            seed: arguments.seed,
            version: env!("CARGO_PKG_VERSION"),
            commit: record::commit(),
            date: record::today(),
        })
    }
}

/// A permutation without symmetry, so arbitrary.
fn function(bits: u32) -> girih::tfhe::Result<Function> {
    let last = 1u64.checked_shl(bits).map_or(u64::MAX, |range| range - 1);
    Function::new(bits, bits, move |m| (m * (m + 1) / 2 + 3) & last)
}

/// Refuses messages that an operation cannot take, before keys are made for them.
fn check_operation(
    operation: LargeFunction,
    bits: u32,
    parameters: &LargeParameters,
) -> Result<()> {
    match operation {
        LargeFunction::Func => {
            let log2_modulus = parameters.log2_modulus(bits);
            let checked =
                function(bits).and_then(|f| f.check(parameters.home(), log2_modulus, log2_modulus));
            checked.with_context(|| format!("--message {bits}"))
        }
        LargeFunction::Floor if bits < CLEARED => {
            bail!(
                "--message {bits}: floor clears the {CLEARED} lowest bits, so it takes messages of \
                 at least {CLEARED}"
            )
        }
        _ => Ok(()),
    }
}

/// The operation as costs and failures are asked for; none for a function.
fn large_operation(operation: LargeFunction) -> Option<LargeOperation> {
    match operation {
        LargeFunction::Floor => Some(LargeOperation::Floor),
        LargeFunction::Sign | LargeFunction::Compare => Some(LargeOperation::Sign),
        LargeFunction::Decomp => Some(LargeOperation::Decompose),
        LargeFunction::Relu | LargeFunction::Max => Some(LargeOperation::Relu),
        LargeFunction::Func => None,
    }
}

/// The error of every output: its phase less that of the message it must be, centred.
fn errors(
    client: &ClientKey,
    output: &LweCiphertexts,
    bits: u32,
    want: &[u64],
) -> Result<Vec<f64>> {
    let log2_modulus = output.log2_modulus();
    let phases = client.phases(output)?;
    if phases.len() != want.len() {
        bail!("{} messages came back instead of {}", phases.len(), want.len());
    }
    let error = |(&phase, &want): (&u64, &u64)| {
        let modulus = 1i64 << log2_modulus;
        let error = (phase as i64 - ((want as i64) << (log2_modulus - bits))).rem_euclid(modulus);
        (if error >= modulus / 2 { error - modulus } else { error }) as f64
    };
    Ok(phases.iter().zip(want).map(error).collect())
}

fn report(record: &Record, say: &dyn Fn(String)) {
    let Some(function) = record.function else { return };
    say(format!(
        "batch {:>6}  {:>10.2} ms (min {:.2}, max {:.2})  {:>10.1} {}/s of {} bootstrappings \
         ({:.1}/s)  {} checked, {} wrong, noise {:.2} (model {:.2})",
        record.batch,
        record.ms.median,
        record.ms.min,
        record.ms.max,
        function.functions_per_s,
        record.op,
        function.bootstraps_per_function,
        record.bootstraps_per_s,
        record.checked,
        record.wrong,
        record.noise.sigma_out,
        record.noise.model
    ));
    if let Some(rate) = published::of_function(&record.op).filter(|_| record.set == "G4") {
        let ratio = function.functions_per_s / rate;
        say(format!(
            "  published: {rate:>10.1}/s  (Xiao et al. 2025, RTX 4090, batch 16,384)  ratio \
             {ratio:.3}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_an_operation_cannot_take_are_named_before_keys_are_made() {
        let g4 = LargeParameters::default();
        for (parameters, operation, bits, part) in [
            (LargeParameters::small(), LargeFunction::Func, 3, "from 2^3 to 2^10"),
            (g4.clone(), LargeFunction::Func, 8, "--message 8"),
            (g4.clone(), LargeFunction::Func, 20, "from 1 to 14"),
            (g4.clone(), LargeFunction::Floor, 3, "at least 4"),
        ] {
            let refused =
                format!("{:#}", check_operation(operation, bits, &parameters).expect_err(part));
            assert!(refused.contains(part), "{refused}");
        }
        for (operation, bits) in
            [(LargeFunction::Func, 3), (LargeFunction::Floor, 4), (LargeFunction::Sign, 1)]
        {
            check_operation(operation, bits, &g4).expect("fits");
        }
    }
}
