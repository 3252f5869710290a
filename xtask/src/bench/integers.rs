//! `cargo xtask bench --op add64` and the like: operations on arrays of encrypted integers.

use super::arguments::Arguments;
use super::batches::measure_all;
use super::keys::{load_options, messages, parameter_set_or, seed_bytes};
use super::operation::{IntegerOperation, name};
use crate::record::{self, IntegerFigures, Milliseconds, Noise, Record};
use anyhow::{Result, bail};
use girih::device::{Device, TerminalProgress};
use girih::integer::{CompressedIntegers, Encrypted, FheBool, FheUint, Integers};
use girih::tfhe::{ClientKey, EvaluationKeys, ParameterSet};
use girih_backend::timeline;
use std::time::Instant;

/// The most integers of an array unless told.
const BATCH: usize = 1000;

/// How long one run of an array takes unless told how many integers it has: minutes, of some
/// operations on a thousand.
const RUN_MS: f64 = 2000.0;

/// The set that the figures of issue and documentation are of.
const SET: &str = "TFHERS_2_2_GROUP_2";

type Word = FheUint<64>;

/// The operands of all operations, on the device, and what they are.
struct Operands {
    a: Vec<u64>,
    b: Vec<u64>,
    condition: Vec<bool>,
    words: [Word; 2],
    flags: FheBool,
}

impl Operands {
    fn new(
        client: &ClientKey,
        integers: &Integers,
        (op, seed): (IntegerOperation, u64),
        count: usize,
    ) -> Result<Self> {
        let all = messages(seed, 3 * count, u64::MAX);
        // Divisors of all sizes.
        let b: Vec<u64> =
            all[count..2 * count].iter().zip(0..).map(|(&b, i)| b >> (7 * i % 64)).collect();
        let condition: Vec<bool> = all[2 * count..].iter().map(|c| c % 2 == 1).collect();
        let a = all[..count].to_vec();
        let words = [&a, &b].map(|values| integers.upload(&Word::encrypt(client, values)?));
        let [x, y] = words;
        let (mut x, y) = (x?, y?);
        if op == IntegerOperation::Compress64 {
            // What is compressed has the errors of results.
            x = x.and(&y)?;
        }
        let flags = integers.upload(&FheBool::encrypt(client, &condition)?)?;
        Ok(Self { a, b, condition, words: [x, y], flags })
    }

    fn want(&self, op: IntegerOperation) -> Vec<u128> {
        let of = |i: usize| op.of(self.a[i], self.b[i], self.condition[i]);
        (0..self.a.len()).map(of).map(u128::from).collect()
    }
}

/// A result, of either kind.
enum Output {
    Word(Word),
    Flags(FheBool),
    Compressed(CompressedIntegers<Word>),
}

impl Output {
    fn of(op: IntegerOperation, integers: &Integers, x: &Operands) -> girih::integer::Result<Self> {
        let [a, b] = &x.words;
        Ok(Self::Word(match op {
            IntegerOperation::Compress64 => {
                return Ok(Self::Compressed(integers.download_compressed(a)?));
            }
            // Sums wait for their carries: they are propagated here, as others' are.
            IntegerOperation::Add64 => a.add(b)?.propagate()?,
            IntegerOperation::Mul64 => a.mul(b)?,
            IntegerOperation::Div64 => a.div(b)?,
            IntegerOperation::Cmp64 => return Ok(Self::Flags(a.less(b)?)),
            IntegerOperation::Select64 => x.flags.select(a, b)?,
            IntegerOperation::Bitand64 => a.and(b)?,
        }))
    }

    /// What it decrypts to, and the sum of the squared errors of its messages with their number
    /// and their variance by the noise model.
    fn read(
        &self,
        client: &ClientKey,
        integers: &Integers,
    ) -> Result<(Vec<u128>, (f64, usize, f64))> {
        match self {
            Self::Word(word) => {
                let output = integers.download(word)?;
                Ok((output.decrypt(client)?, errors(client, &output)?))
            }
            Self::Flags(flags) => {
                let output = integers.download(flags)?;
                let values = output.decrypt(client)?.into_iter().map(u128::from).collect();
                Ok((values, errors(client, &output)?))
            }
            Self::Compressed(output) => {
                let results = output.results();
                let errors = client.compressed_errors(results)?;
                let squares = errors.iter().map(|e| e * e).sum();
                Ok((output.decrypt(client)?, (squares, errors.len(), results.variance())))
            }
        }
    }

    /// Bytes of an integer that was compressed.
    fn bytes_each(&self) -> Option<f64> {
        match self {
            Self::Compressed(output) => Some(output.results().bytes() as f64 / output.len() as f64),
            _ => None,
        }
    }
}

/// How far phases are from the nearest message, squared and summed up; how many they are; the
/// variance that ciphertexts state. In units of q; of compressed results, in steps between two
/// messages.
fn errors<T: girih::integer::Integer<Engine = girih::tfhe::ServerKey>>(
    client: &ClientKey,
    output: &Encrypted<T>,
) -> Result<(f64, usize, f64)> {
    let ciphertexts = output.ciphertexts();
    let step = 2f64.powi(ciphertexts.log2_modulus() as i32 - 5);
    let phases = client.phases(ciphertexts)?;
    let square = |&phase: &u64| {
        let steps = phase as f64 / step;
        ((steps - steps.round()) * step).powi(2)
    };
    Ok((phases.iter().map(square).sum(), phases.len(), ciphertexts.variance()))
}

/// Operations on arrays that live on the device.
pub fn run(arguments: &Arguments, op: IntegerOperation) -> Result<bool> {
    if arguments.message.is_some() || arguments.packing.is_some() || arguments.sweep.is_some() {
        bail!(
            "--message, --packing and --sweep do not go with --op {}: integers have 64 bits, one \
             digit a ciphertext; run it once for each --batch",
            name(op)
        );
    }
    let set = parameter_set_or(arguments, SET)?;
    let device = arguments.open()?;
    if arguments.batch == Some(0) {
        bail!("--batch 0: there must be at least one integer");
    }
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {}: {}", set.name(), set.description()));
    let start = Instant::now();
    let client = ClientKey::generate_seeded_for_tests(&set, seed_bytes(arguments.seed))?;
    let progress = TerminalProgress::new().with_lines();
    let mut keys = EvaluationKeys::generate(&client, &progress)?;
    if op == IntegerOperation::Compress64 {
        keys = keys.with_compression(&client)?;
    }
    let keygen_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let options = load_options(arguments);
    let server = girih::tfhe::ServerKey::load(device.backend(), &keys, &options, &progress)?;
    drop(keys);
    let integers = Integers::new(server)?;
    let load_s = start.elapsed().as_secs_f64();
    say(format!("keys      made in {keygen_s:.2} s, loaded in {load_s:.2} s"));
    let run =
        Run { arguments, op, set: &set, device: &device, client: &client, integers: &integers };
    let batch = match arguments.batch {
        Some(batch) => batch,
        None => run.batch()?,
    };
    measure_all(arguments, vec![batch], &say, |batch| {
        let record = run.measure(batch, (keygen_s, load_s))?;
        report(&record, &say);
        Ok(record)
    })
}

struct Run<'a> {
    arguments: &'a Arguments,
    op: IntegerOperation,
    set: &'a ParameterSet,
    device: &'a Device,
    client: &'a ClientKey,
    integers: &'a Integers,
}

/// What runs of one array gave.
struct Measured {
    ms: Milliseconds,
    checked: usize,
    wrong: usize,
    /// Sum of squared errors of messages, and how many they are.
    squares: (f64, usize),
    variance: f64,
    /// Bootstrappings of an element.
    look_ups: u64,
    bytes_each: Option<f64>,
}

impl Run<'_> {
    /// As many integers as a run of [`RUN_MS`] takes, by runs of eight times as many each.
    fn batch(&self) -> Result<usize> {
        let (mut batch, mut ms) = (1, self.array(1, 1)?.ms.median);
        while batch < BATCH && 8.0 * ms <= RUN_MS {
            batch = BATCH.min(8 * batch);
            ms = self.array(batch, 1)?.ms.median;
        }
        Ok(((batch as f64 * RUN_MS / ms) as usize).clamp(1, BATCH))
    }

    fn array(&self, batch: usize, repeat: usize) -> Result<Measured> {
        let op = self.op;
        let x = Operands::new(self.client, self.integers, (op, self.arguments.seed), batch)?;
        self.integers.synchronize()?;
        let want = x.want(op);
        let (mut samples, mut checked, mut wrong) = (Vec::new(), 0, 0);
        let (mut squares, mut variance, mut look_ups) = ((0.0, 0), 0.0, 0);
        let mut bytes_each = None;
        // One that warms up: it also records the operation and loads its tables.
        for round in 0..=repeat {
            let before = self.integers.look_ups();
            let start = Instant::now();
            let span = timeline::host("a batch");
            let output = Output::of(op, self.integers, &x)?;
            self.integers.synchronize()?;
            if round == 0 {
                let engine = self.integers.server().engine();
                record::settle(engine, self.arguments.json.as_deref())?;
            }
            if round > 0 {
                samples.push(1e3 * start.elapsed().as_secs_f64());
            }
            drop(span);
            look_ups = (self.integers.look_ups() - before) / batch as u64;
            let (got, errors) = output.read(self.client, self.integers)?;
            checked += got.len();
            wrong += got.iter().zip(&want).filter(|(got, want)| got != want).count();
            squares = (squares.0 + errors.0, squares.1 + errors.1);
            variance = errors.2;
            bytes_each = output.bytes_each();
        }
        let ms = Milliseconds::of(&samples);
        Ok(Measured { ms, checked, wrong, squares, variance, look_ups, bytes_each })
    }

    fn measure(&self, batch: usize, (keygen_s, load_s): (f64, f64)) -> Result<Record> {
        let (op, repeat) = (self.op, self.arguments.repeat);
        let one = self.array(1, repeat)?;
        let all = if batch == 1 { self.array(1, repeat)? } else { self.array(batch, repeat)? };
        let per_s = |count: f64| count / (all.ms.median / 1e3);
        let engine = self.integers.server().engine();
        Ok(Record {
            device: self.device.info().name.clone(),
            backend: self.device.info().kind.to_string(),
            set: self.set.name().into(),
            packing: self.set.packing(),
            transform: engine.transform().to_string(),
            plan: engine.plan().to_json(),
            op: name(op),
            batch,
            repeat,
            bootstraps_per_s: per_s((batch as u64 * all.look_ups) as f64),
            ms: all.ms,
            transfers_included: op == IntegerOperation::Compress64,
            checked: one.checked + all.checked,
            wrong: one.wrong + all.wrong,
            function: None,
            integers: Some(IntegerFigures {
                look_ups_each: all.look_ups,
                operations_per_s: per_s(batch as f64),
                one_ms: one.ms,
                bytes_each: all.bytes_each.zip(one.bytes_each).map(|(all, one)| [all, one]),
            }),
            noise: Noise {
                sigma_out: (all.squares.0 / all.squares.1 as f64).sqrt(),
                model: all.variance.sqrt(),
            },
            keygen_s,
            load_s,
            first_result: None,
            peak_memory_bytes: record::peak_memory_bytes(),
            seed: self.arguments.seed,
            version: env!("CARGO_PKG_VERSION"),
            commit: record::commit(),
            date: record::today(),
        })
    }
}

fn report(record: &Record, say: &dyn Fn(String)) {
    let Some(integers) = &record.integers else { return };
    say(format!(
        "{} of {}: {:.1} a second, one in {:.2} ms; {} look-ups each, {:.0} a second; {} checked, \
         {} wrong, noise {:.3e} (model {:.3e})",
        record.op,
        record.batch,
        integers.operations_per_s,
        integers.one_ms.median,
        integers.look_ups_each,
        record.bootstraps_per_s,
        record.checked,
        record.wrong,
        record.noise.sigma_out,
        record.noise.model
    ));
    if let Some([all, one]) = integers.bytes_each {
        say(format!("{all:.1} bytes each, {one:.0} alone"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn arguments(more: &[&str]) -> Arguments {
        let all = [&["xtask", "bench", "--device", "cpu", "--repeat", "1"], more].concat();
        match crate::Arguments::parse_from(all).command {
            crate::Command::Bench(arguments) => arguments,
            _ => unreachable!("bench was asked for"),
        }
    }

    #[test]
    fn every_operation_is_measured_and_checked() {
        let file = std::env::temp_dir().join(format!("girih-integers-{}.json", std::process::id()));
        let json = file.to_string_lossy().into_owned();
        // On how many threads there are it depends whether few levels are better than few in all.
        for (op, look_ups, batch) in [
            ("add64", [32, 102], 2),
            ("mul64", [852, 957], 1),
            ("div64", [2240, 6798], 1),
            ("cmp64", [33, 43], 2),
            ("bitand64", [32; 2], 2),
            ("select64", [32; 2], 2),
            ("compress64", [0; 2], 2),
        ] {
            let batch_text = batch.to_string();
            let set =
                ["--set", "INSECURE_INTEGERS", "--json", &json, "--batch", &batch_text, "--op", op];
            assert!(crate::bench::run(&arguments(&set)).expect("a toy"), "{op}");
            let text = std::fs::read_to_string(&file).expect("written");
            let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let each = &record["look_ups_each"];
            assert!(look_ups.iter().any(|n| each == n), "{op}: {each} and not {look_ups:?}");
            assert_eq!(
                (&record["checked"], &record["wrong"]),
                (&(2 + 2 * batch).into(), &0.into()),
                "{op}"
            );
            assert!(record["operations_per_s"].as_f64().is_some_and(|rate| rate > 0.0));
        }
        // Without --batch, as many as a run of two seconds takes.
        assert!(
            crate::bench::run(&arguments(&[
                "--set",
                "INSECURE_INTEGERS",
                "--json",
                &json,
                "--op",
                "cmp64"
            ]))
            .expect("a toy")
        );
        let text = std::fs::read_to_string(&file).expect("written");
        let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let (batch, ms) = (record["batch"].as_u64(), record["ms"]["median"].as_f64());
        assert!(batch.is_some_and(|batch| (2..=1000).contains(&batch)), "{record}");
        assert!(ms.is_some_and(|ms| ms < 5.0 * RUN_MS), "{record}");
        std::fs::remove_file(&file).expect("ours");
        let refused = crate::bench::run(&arguments(&["--op", "add64", "--packing", "2"]))
            .expect_err("no packing");
        assert!(refused.to_string().contains("one digit a ciphertext"), "{refused}");
    }
}
