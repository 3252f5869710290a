//! `cargo xtask bench --set DISCRETE_... --op aes|circuit`: circuits on numbers in slots, timed,
//! every output of every instance checked.

use crate::bench::{Arguments, DiscreteOperation, name};
use crate::ckks::bench::{digest_of, settle};
use crate::discrete::{Loaded, load, numbers};
use crate::record::{self, Milliseconds};
use anyhow::{Context, Result, bail, ensure};
use girih::circuit::{Netlist, WideBits, WideCircuit, WideOptions, WideReport, generate};
use girih::device::{PlanSource, TerminalProgress};
use girih::discrete::{DiscreteParameters, EncryptedNumbers};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Look-ups side by side unless `--batch` says otherwise.
const BATCH: usize = 8;

/// One run.
#[derive(Serialize)]
struct Record {
    scheme: &'static str,
    device: String,
    backend: String,
    set: String,
    op: String,
    netlist: String,
    gates: usize,
    instances: usize,
    /// Look-ups side by side.
    batch: usize,
    repeat: usize,
    lookups: usize,
    tables: usize,
    kinds: usize,
    depth: usize,
    /// Of all instances, ciphertexts resident: transfers, encryption and decryption are not in it.
    ms: Milliseconds,
    ms_a_lookup: f64,
    instances_per_s: f64,
    gates_per_s: f64,
    log2_failure: f64,
    peak_ciphertexts: usize,
    checked: usize,
    wrong: usize,
    digest: String,
    compile_s: f64,
    keygen_s: f64,
    load_s: f64,
    /// The first run, which records what others run.
    first_s: f64,
    device_bytes: u64,
    plan: String,
    plan_from: PlanSource,
    seed: u64,
    version: &'static str,
    commit: String,
    date: String,
}

/// What is run, with its inputs of every instance: bit i of `columns[b]` is bit b of instance i.
struct Job {
    name: String,
    netlist: Netlist,
    columns: Vec<Vec<u32>>,
    /// What must come out of instance 0, where a standard says it.
    first: Option<Vec<bool>>,
}

fn bits(block: u128) -> Vec<bool> {
    block.to_be_bytes().iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
}

/// AES-128 under the key of FIPS 197, appendix C.1: its block, then others.
fn aes(instances: usize, seed: u64) -> Result<Job> {
    let key = bits(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f);
    let block = bits(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
    let keys = generate::aes128_key_schedule(10).evaluate(&key)?;
    let mut columns: Vec<Vec<u32>> =
        keys.iter().map(|&bit| vec![u32::from(bit); instances]).collect();
    for (i, &bit) in block.iter().enumerate() {
        let mut column = numbers(seed + i as u64, instances, 2);
        column[0] = u32::from(bit);
        columns.push(column);
    }
    Ok(Job {
        name: "aes128".into(),
        netlist: generate::aes128_expanded(10),
        columns,
        first: Some(bits(0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a)),
    })
}

fn read(path: &Path) -> Result<Netlist> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let netlist = match path.extension().and_then(|e| e.to_str()) {
        Some("json") => Netlist::from_yosys(&text),
        Some("mlir") => Netlist::from_heir(&text, None),
        _ => Netlist::from_bristol(&text),
    };
    netlist.with_context(|| path.display().to_string())
}

impl Job {
    fn new(arguments: &Arguments, op: DiscreteOperation, instances: usize) -> Result<Self> {
        let path = match (op, &arguments.netlist) {
            (DiscreteOperation::Aes, None) => return aes(instances, arguments.seed),
            (DiscreteOperation::Aes, Some(_)) => bail!("--netlist: is an option of --op circuit"),
            (_, None) => bail!("--op circuit: name the circuit by --netlist FILE"),
            (_, Some(path)) => path,
        };
        let netlist = read(path)?;
        let column = |i: usize| numbers(arguments.seed + i as u64, instances, 2);
        let columns = (0..netlist.input_bits()).map(column).collect();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Self { name: name.unwrap_or_default(), netlist, columns, first: None })
    }

    /// Instances of which any output is wrong.
    fn wrong(&self, found: &[Vec<bool>]) -> Result<usize> {
        let mut wrong = 0;
        for (k, part) in found.chunks(64).enumerate() {
            let word = |column: &Vec<u32>| {
                let of = column.iter().skip(64 * k).take(part.len()).enumerate();
                of.fold(0u64, |word, (i, &bit)| word | u64::from(bit) << i)
            };
            let inputs: Vec<u64> = self.columns.iter().map(word).collect();
            let right = self.netlist.evaluate_words(&inputs)?;
            for (i, instance) in part.iter().enumerate() {
                let same =
                    instance.iter().zip(&right).all(|(&bit, word)| bit == (word >> i & 1 == 1));
                wrong += usize::from(!same);
            }
        }
        if self.first.as_ref().is_some_and(|first| found.first() != Some(first)) {
            wrong = wrong.max(1);
        }
        Ok(wrong)
    }
}

pub fn run(arguments: &Arguments, set: &DiscreteParameters, op: DiscreteOperation) -> Result<bool> {
    ensure!(arguments.order.is_none(), "--order: is an option of --op lookup");
    let batch = arguments.batch.unwrap_or(BATCH);
    let job = Job::new(arguments, op, set.numbers())?;
    let device = arguments.open()?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {set}: {}", set.description()));
    for warning in set.warnings() {
        say(format!("warning   {warning}"));
    }
    let start = Instant::now();
    let circuit = WideCircuit::new(&job.netlist, set)?;
    let compile_s = start.elapsed().as_secs_f64();
    say(format!(
        "circuit   {}: {} gates as {} look-ups of {} tables, {} kinds, {} levels; {compile_s:.2} s",
        job.name,
        circuit.gates(),
        circuit.lookups(),
        circuit.tables(),
        circuit.kinds(),
        circuit.depth()
    ));
    let Loaded { client, server, keygen_s, load_s, plan, plan_from } =
        load(arguments, set, &device, &say)?;
    let inputs = server.upload(&client.encrypt_batch(&job.columns, 2)?)?;
    let options = WideOptions::default().with_batch(batch);
    let progress = TerminalProgress::new().with_lines();
    let mut last: Option<(Vec<_>, WideReport)> = None;
    let mut once = || -> Result<()> {
        // The results of the run before go first: memory for one run is enough.
        last = None;
        last = Some(circuit.evaluate_resident(&server, &inputs, &options, &progress)?);
        Ok(())
    };
    let start = Instant::now();
    once()?;
    let first_s = start.elapsed().as_secs_f64();
    settle(server.ckks(), &say, &mut once)?;
    let mut samples = Vec::with_capacity(arguments.repeat);
    for _ in 0..arguments.repeat {
        let start = Instant::now();
        once()?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let ms = Milliseconds::of(&samples);
    let (outputs, report) = last.context("at least one run")?;
    let parts: Vec<EncryptedNumbers> =
        outputs.iter().map(|x| server.download(x)).collect::<girih::discrete::Result<_>>()?;
    let results = EncryptedNumbers::join(&parts)?;
    let digest = digest_of(results.ciphertexts().iter());
    let wrong = job.wrong(&WideBits::new(results)?.decrypt(&client)?)?;
    let seconds = ms.median / 1e3;
    let record = Record {
        scheme: "discrete",
        device: device.info().name.clone(),
        backend: device.info().id.clone(),
        set: set.to_string(),
        op: name(op),
        netlist: job.name,
        gates: circuit.gates(),
        instances: report.instances,
        batch,
        repeat: arguments.repeat,
        lookups: report.lookups,
        tables: report.tables,
        kinds: circuit.kinds(),
        depth: report.depth,
        ms,
        ms_a_lookup: ms.median / report.lookups.max(1) as f64,
        instances_per_s: report.instances as f64 / seconds,
        gates_per_s: (report.gates * report.instances) as f64 / seconds,
        log2_failure: report.log2_failure,
        peak_ciphertexts: report.peak_ciphertexts,
        checked: report.instances,
        wrong,
        digest,
        compile_s,
        keygen_s,
        load_s,
        first_s,
        device_bytes: server.ckks().memory().device_bytes,
        plan,
        plan_from,
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    };
    say(format!(
        "{:<9} {:.3} s of {} instances (min {:.3}, max {:.3}): {:.0} a second, {:.0} gates a \
         second",
        record.op,
        seconds,
        record.instances,
        ms.min / 1e3,
        ms.max / 1e3,
        record.instances_per_s,
        record.gates_per_s
    ));
    say(format!(
        "look-ups  {:.3} ms each, {batch} side by side; the first run {first_s:.2} s",
        record.ms_a_lookup
    ));
    say(format!(
        "checked   {} instances, {wrong} wrong; a wrong bit has probability below 2^{:.1}",
        record.checked, record.log2_failure
    ));
    say(format!("digest    {} of the words of all results", record.digest));
    let gib = record.device_bytes as f64 / (1u64 << 30) as f64;
    say(format!(
        "memory    {gib:.2} GiB on the device, at most {} ciphertexts",
        record.peak_ciphertexts
    ));
    if let Some(path) = &arguments.json {
        record::write_json(path, &serde_json::to_value(&record)?)?;
    }
    Ok(wrong == 0)
}
