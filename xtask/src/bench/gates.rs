//! Gates, look-ups and functions of slots.

use super::arguments::Arguments;
use super::batches::{batch_size, measure_all, sizes};
use super::keys::{load_options, messages, parameter_set_or, seed_bytes};
use super::operation::{GateOperation, name};
use crate::record::{self, FirstResult, Milliseconds, Noise, Record};
use crate::{published, sets};
use anyhow::{Result, bail};
use girih::device::{Device, TerminalProgress};
use girih::tfhe::{
    Batch, ClientKey, EvaluationKeys, Gate, LookUpTable, LweCiphertexts, NoiseModel, ParameterSet,
    ServerKey,
};
use girih_backend::timeline;
use std::time::Instant;

/// What an operation is made of.
enum Made {
    Gate(Gate),
    Gates,
    Majority,
    Mux,
    Lut,
}

impl GateOperation {
    fn made(self) -> Made {
        match self {
            Self::Nand => Made::Gate(Gate::Nand),
            Self::And => Made::Gate(Gate::And),
            Self::Or => Made::Gate(Gate::Or),
            Self::Nor => Made::Gate(Gate::Nor),
            Self::Xor => Made::Gate(Gate::Xor),
            Self::Xnor => Made::Gate(Gate::Xnor),
            Self::Gates => Made::Gates,
            Self::Majority => Made::Majority,
            Self::Mux => Made::Mux,
            Self::Lut => Made::Lut,
        }
    }

    fn inputs(self) -> usize {
        match self {
            Self::Lut => 1,
            Self::Majority | Self::Mux => 3,
            _ => 2,
        }
    }

    /// Bits of a message: look-ups take what the set is made for.
    pub fn message_bits(self, set: &ParameterSet) -> u32 {
        match self {
            Self::Lut if NoiseModel::new(set).looks_up_four_bits() => 4,
            Self::Lut => 2,
            _ => 1,
        }
    }

    fn bootstraps(self) -> usize {
        if self == Self::Mux { 3 } else { 1 }
    }

    /// The function of a look-up: a permutation without symmetry, so that every wrong entry shows.
    fn table(x: u64, bits: u32) -> u64 {
        const TWO: [u64; 4] = [2, 3, 1, 0];
        const FOUR: [u64; 16] = [9, 4, 14, 0, 7, 13, 2, 11, 5, 15, 1, 8, 12, 3, 10, 6];
        if bits == 2 { TWO[x as usize] } else { FOUR[x as usize] }
    }

    /// What message `index` must decrypt to.
    fn expected(self, set: &ParameterSet, index: usize, x: &[u64]) -> u64 {
        let gate = |gate: Gate| u64::from(gate.evaluate(x[0] == 1, x[1] == 1));
        match self.made() {
            Made::Gate(one) => gate(one),
            Made::Gates => gate(Gate::ALL[index / set.packing() % 6]),
            Made::Majority => u64::from(x.iter().sum::<u64>() >= 2),
            Made::Mux if x[0] == 1 => x[1],
            Made::Mux => x[2],
            Made::Lut => Self::table(x[0], self.message_bits(set)),
        }
    }

    fn run<B: Batch>(self, server: &ServerKey, x: &[B]) -> girih::tfhe::Result<B> {
        match self.made() {
            Made::Gate(gate) => server.gate(gate, &x[0], &x[1]),
            Made::Gates => {
                let gates: Vec<Gate> = (0..x[0].ciphertexts()).map(|i| Gate::ALL[i % 6]).collect();
                server.gates(&gates, &x[0], &x[1])
            }
            Made::Majority => server.majority(&x[0], &x[1], &x[2]),
            Made::Mux => server.mux(&x[0], &x[1], &x[2]),
            Made::Lut => {
                let bits = self.message_bits(server.set());
                server.apply(&x[0], &LookUpTable::new(bits, |m| Self::table(m, bits))?)
            }
        }
    }
}

/// Everything that one set of keys needs, loaded.
pub struct Loaded {
    client: ClientKey,
    server: ServerKey,
    keygen_s: f64,
    load_s: f64,
}

/// Measures an operation.
pub fn run(arguments: &Arguments, op: GateOperation) -> Result<bool> {
    if let Some(bits) = arguments.message {
        bail!("--message {bits}: only large-precision functions take messages of other sizes");
    }
    let set = parameter_set_or(arguments, "STD128")?;
    let device = arguments.open()?;
    let batch = batch_size(arguments, &set, &device, 256)?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {} r={}: {}", set.name(), set.packing(), set.description()));
    say(format!("security  {}", set.security().text));
    for warning in set.warnings() {
        say(format!("warning   {warning}"));
    }
    let loaded = load(arguments, &set, &device)?;
    say(format!("keys      made in {:.2} s, loaded in {:.2} s", loaded.keygen_s, loaded.load_s));
    let (failure, what) = sets::log2_failure(&set, loaded.server.engine().transform());
    say(format!("fails     2^{failure:.1} {what}, by the noise model"));
    measure_all(arguments, sizes(arguments, batch, set.packing()), &say, |size| {
        let record = measure(arguments, op, &set, &device, &loaded, size)?;
        // By now it has all kernels that it keeps.
        say(format!("plan      {} {}", record.transform, loaded.server.engine().plan()));
        report(&record, &say);
        Ok(record)
    })
}

/// Makes and loads the keys of a run.
pub fn load(arguments: &Arguments, set: &ParameterSet, device: &Device) -> Result<Loaded> {
    let progress = TerminalProgress::new().with_lines();
    let start = Instant::now();
    let client = ClientKey::generate_seeded_for_tests(set, seed_bytes(arguments.seed))?;
    let keys = EvaluationKeys::generate(&client, &progress)?;
    let keygen_s = start.elapsed().as_secs_f64();
    let options = load_options(arguments);
    let start = Instant::now();
    let server = ServerKey::load(device.backend(), &keys, &options, &progress)?;
    // Outputs are checked and wrong ones counted: what fails often is to be measured, too.
    server.limit_failure(0.0)?;
    Ok(Loaded { client, server, keygen_s, load_s: start.elapsed().as_secs_f64() })
}

/// Runs and checks one batch size.
pub fn measure(
    arguments: &Arguments,
    op: GateOperation,
    set: &ParameterSet,
    device: &Device,
    loaded: &Loaded,
    batch: usize,
) -> Result<Record> {
    let Loaded { client, server, .. } = loaded;
    let bits = op.message_bits(set);
    let plain: Vec<Vec<u64>> =
        (0..op.inputs()).map(|i| messages(arguments.seed + i as u64, batch, 1 << bits)).collect();
    let encrypted =
        plain.iter().map(|m| encrypt(client, m, bits)).collect::<girih::tfhe::Result<Vec<_>>>()?;
    let resident = if arguments.resident {
        Some(encrypted.iter().map(|e| server.upload(e)).collect::<girih::tfhe::Result<Vec<_>>>()?)
    } else {
        None
    };
    let mut samples = Vec::with_capacity(arguments.repeat);
    let (mut checked, mut wrong, mut squares) = (0, 0, 0.0);
    let mut first_result = None;
    for round in 0..=arguments.repeat {
        let start = Instant::now();
        let span = timeline::host("a batch");
        let output = match &resident {
            None => op.run(server, &encrypted)?,
            Some(inputs) => {
                let output = op.run(server, inputs)?;
                server.engine().synchronize()?;
                let elapsed = start.elapsed();
                if round > 0 {
                    samples.push(1e3 * elapsed.as_secs_f64());
                }
                server.download(&output)?
            }
        };
        if round > 0 && resident.is_none() {
            samples.push(1e3 * start.elapsed().as_secs_f64());
        }
        drop(span);
        first_result = first_result.or_else(FirstResult::first);
        record::settle(server.engine(), arguments.json.as_deref())?;
        if timeline::is_on() {
            // Devices hand over their spans there.
            server.engine().synchronize()?;
        }
        for (index, error) in errors(client, set, op, &plain, &output)?.into_iter().enumerate() {
            checked += 1;
            squares += error * error;
            // Beyond half the distance to the next message it decrypts to another one.
            let half = 0.5 * spacing(op, set) * set.lwe_modulus() as f64;
            if !(-half..half).contains(&error) {
                wrong += 1;
                if wrong <= 3 {
                    eprintln!(
                        "wrong output: message {index} of round {round} is off by {error} of q = \
                         {}",
                        set.lwe_modulus()
                    );
                }
            }
        }
    }
    let ms = Milliseconds::of(&samples);
    Ok(Record {
        device: device.info().name.clone(),
        backend: device.info().kind.to_string(),
        set: set.name().into(),
        packing: set.packing(),
        transform: server.engine().transform().to_string(),
        plan: server.engine().plan().to_json(),
        op: name(op),
        batch,
        repeat: arguments.repeat,
        bootstraps_per_s: (batch * op.bootstraps()) as f64 / (ms.median / 1e3),
        ms,
        transfers_included: !arguments.resident,
        checked,
        wrong,
        function: None,
        integers: None,
        noise: Noise {
            sigma_out: (squares / checked as f64).sqrt(),
            model: NoiseModel::with_transform(set, server.engine().transform()).sigma_out(),
        },
        keygen_s: loaded.keygen_s,
        load_s: loaded.load_s,
        first_result,
        peak_memory_bytes: record::peak_memory_bytes(),
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    })
}

fn encrypt(client: &ClientKey, messages: &[u64], bits: u32) -> girih::tfhe::Result<LweCiphertexts> {
    if bits == 1 {
        let bits: Vec<bool> = messages.iter().map(|&m| m == 1).collect();
        return client.encrypt_bits(&bits);
    }
    client.encrypt_messages(messages, bits)
}

/// Distance between neighbouring messages as a fraction of q: bits are q/4 apart, tables leave one
/// bit of padding.
fn spacing(op: GateOperation, set: &ParameterSet) -> f64 {
    if op == GateOperation::Lut { 1.0 / f64::from(2u32 << op.message_bits(set)) } else { 0.25 }
}

/// The error of every output: its phase less that of the message it must be, in `[-q/2, q/2)`.
fn errors(
    client: &ClientKey,
    set: &ParameterSet,
    op: GateOperation,
    plain: &[Vec<u64>],
    output: &LweCiphertexts,
) -> Result<Vec<f64>> {
    let q = set.lwe_modulus() as f64;
    let phases = client.phases(output)?;
    if phases.len() != plain[0].len() {
        bail!("{} messages came back instead of {}", phases.len(), plain[0].len());
    }
    let error = |(index, &phase): (usize, &u64)| {
        let inputs: Vec<u64> = plain.iter().map(|m| m[index]).collect();
        let want = op.expected(set, index, &inputs) as f64 * spacing(op, set) * q;
        let error = (phase as f64 - want).rem_euclid(q);
        if error >= q / 2.0 { error - q } else { error }
    };
    Ok(phases.iter().enumerate().map(error).collect())
}

fn report(record: &Record, say: &dyn Fn(String)) {
    let transfers = if record.transfers_included { "transfers included" } else { "resident" };
    say(format!(
        "batch {:>6}  {:>10.2} ms (min {:.2}, max {:.2})  {:>10.1} bootstrappings/s  {transfers}  \
         {} checked, {} wrong, noise {:.2} (model {:.2})",
        record.batch,
        record.ms.median,
        record.ms.min,
        record.ms.max,
        record.bootstraps_per_s,
        record.checked,
        record.wrong,
        record.noise.sigma_out,
        record.noise.model
    ));
    if let Some(first) = &record.first_result {
        say(format!("first       result after {first}"));
    }
    for row in published::of(&record.set) {
        let ratio = record.bootstraps_per_s / row.rate;
        say(format!(
            "  published r={}: {:>10.1}/s  ({})  ratio {ratio:.3}",
            row.packing, row.rate, row.source
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::check;
    use super::super::batches::TABLE_BATCH;
    use super::super::keys::repack;
    use super::*;
    use clap::Parser;

    /// The arguments of `cargo xtask bench` on the CPU and a toy set.
    fn arguments(more: &[&str]) -> Arguments {
        let all = [&["xtask", "bench", "--device", "cpu", "--repeat", "1"], more].concat();
        match crate::Arguments::parse_from(all).command {
            crate::Command::Bench(arguments) => arguments,
            _ => unreachable!("bench was asked for"),
        }
    }

    fn refusal<T>(result: Result<T>) -> String {
        result.map(|_| ()).expect_err("must be refused").to_string()
    }

    #[test]
    fn contradictions_are_named_before_any_work() {
        for (more, part) in [
            (&["--plan", "ring=4,ring=5"][..], "--plan ring"),
            (&["--timeline", "-"], "--timeline -"),
            (&["--json", "one.json", "--timeline", "one.json"], "a file of its own"),
            (&["--json", "src"], "--json src"),
            (&["--sweep", "level"], "--sweep level"),
        ] {
            assert!(refusal(check(&arguments(more))).contains(part), "{more:?}");
        }
        assert!(!std::path::Path::new("one.json").exists());
        let file = std::env::temp_dir().join(format!("girih-bench-{}.toml", std::process::id()));
        let toml = ParameterSet::by_name("INSECURE_TOY_R2").expect("built in").to_toml();
        let read = |text: &str| {
            std::fs::write(&file, text).expect("writable");
            parameter_set_or(&arguments(&["--params", &file.to_string_lossy()]), "STD128")
        };
        assert_eq!(read(&toml).expect("the built-in set itself").packing(), 2);
        let refused = read(&toml.replace("3.19", "3.2")).expect_err("a built-in name");
        assert!(format!("{refused:#}").contains("take another name"), "{refused:#}");
        assert!(read(&toml.replace("3.19", "3.2").replace("INSECURE_TOY", "MINE")).is_ok());
        std::fs::remove_file(&file).expect("ours");
        assert!(crate::Arguments::try_parse_from(["xtask", "bench", "--plan", "=4"]).is_err());
        assert_eq!(arguments(&["--plan", "specialise=now"]).plan, [("specialise".into(), 1)]);
        let later = ["xtask", "bench", "--plan", "specialise=later"];
        let refused = crate::Arguments::try_parse_from(later).err().expect("no such time");
        assert!(refused.to_string().contains("never, now, background"), "{refused}");
        let packed = || ParameterSet::by_name("M3_R5").expect("built in");
        assert!(refusal(repack(packed(), Some("M3_R5"), Some(3))).contains("packing 5"));
        assert_eq!(repack(packed(), Some("M3_R5"), Some(5)).expect("the same").packing(), 5);
    }

    #[test]
    fn batches_that_fit_no_memory_are_refused_with_what_does() {
        let device = Device::open("cpu").expect("always there");
        let set = ParameterSet::by_name("INSECURE_TOY_R4").expect("built in");
        let size = |batch: &str| batch_size(&arguments(&["--batch", batch]), &set, &device, 256);
        assert_eq!(size("8").expect("two ciphertexts"), 8);
        for (batch, part) in [
            ("0", "multiple"),
            ("6", "r = 4"),
            ("18446744073709551612", "GiB"),
            ("4611686018427387904", "GiB"),
        ] {
            assert!(refusal(size(batch)).contains(part), "{batch}: {}", refusal(size(batch)));
        }
        let sweep = sizes(&arguments(&["--sweep", "batch"]), usize::MAX / 4 * 4, 4);
        assert!(sweep.is_sorted() && sweep.contains(&TABLE_BATCH) && sweep[0] == 4);
    }

    #[test]
    fn what_was_measured_before_a_failure_is_kept() {
        let file = std::env::temp_dir().join(format!("girih-bench-{}.json", std::process::id()));
        let arguments = arguments(&[
            "--set",
            "INSECURE_TOY",
            "--sweep",
            "batch",
            "--json",
            &file.to_string_lossy(),
        ]);
        let (set, device) = (
            parameter_set_or(&arguments, "STD128").expect("built in"),
            Device::open("cpu").expect("always there"),
        );
        let loaded = load(&arguments, &set, &device).expect("a toy");
        let failed = measure_all(&arguments, vec![1, 4, 16], &|_| {}, |size| match size {
            1 => measure(&arguments, GateOperation::Nand, &set, &device, &loaded, size),
            _ => {
                assert!(file.exists(), "the first record is there before the second batch");
                bail!("no more memory")
            }
        });
        assert_eq!(
            format!("{:#}", failed.expect_err("the second batch")),
            "a batch of 4: no more memory"
        );
        let written: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&file).expect("written")).expect("JSON");
        std::fs::remove_file(&file).expect("ours");
        assert_eq!(
            (written.as_array().map(Vec::len), written[0]["batch"].as_u64()),
            (Some(1), Some(1))
        );
    }
}
