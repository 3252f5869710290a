//! `cargo xtask bench --set DISCRETE_...`: look-ups of numbers in slots, timed, every one checked.

use crate::bench::{Arguments, DiscreteOperation, Operation, TransformChoice, name, seed_bytes};
use crate::ckks::bench::{digest_of, queued, settle, timed};
use crate::ckks::options::options;
use crate::record::{self, Milliseconds};
use crate::timeline::Timeline;
use anyhow::{Context, Result, bail};
use girih::Device;
use girih::ckks::PolyOptions;
use girih::device::{PlanSource, TerminalProgress};
use girih::discrete::{
    ClientKey, DiscreteParameters, EvaluationKeys, Gate, ServerKey, Table, Wires,
};
use serde::Serialize;
use std::time::Instant;

/// One run.
#[derive(Serialize)]
struct Record {
    scheme: &'static str,
    device: String,
    backend: String,
    set: String,
    op: String,
    modulus: u32,
    order: u32,
    /// Numbers of a ciphertext: of each, one result is checked.
    numbers: usize,
    batch: usize,
    repeat: usize,
    /// Of a batch, ciphertexts resident: transfers, encryption and decryption are not in it.
    ms: Milliseconds,
    ms_each: f64,
    /// Of a batch, all repeats queued one behind the other with one wait at the end.
    ms_queued: f64,
    /// Numbers looked up a second, by the queued time.
    numbers_per_s: f64,
    checked: usize,
    wrong: usize,
    /// log2 of the deviation of a result's error, and of the worst error.
    log2_deviation: f64,
    log2_worst: f64,
    /// Of the words of all results, which are the same on every device: a name, no proof.
    digest: String,
    keygen_s: f64,
    load_s: f64,
    record_s: f64,
    device_bytes: u64,
    plan: String,
    plan_from: PlanSource,
    seed: u64,
    version: &'static str,
    commit: String,
    date: String,
}

/// The set for look-ups that is asked for; none where it is of another scheme.
pub fn set(arguments: &Arguments) -> Result<Option<DiscreteParameters>> {
    if let Some(path) = &arguments.params {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        // Only these files name the modulus of numbers and stages of transforms.
        if !text.lines().any(|line| line.trim_start().starts_with("to_coefficients")) {
            return Ok(None);
        }
        let set = DiscreteParameters::from_toml(&text);
        return Ok(Some(set.with_context(|| path.display().to_string())?));
    }
    match &arguments.set {
        Some(name) if name.contains("DISCRETE") => Ok(Some(DiscreteParameters::by_name(name)?)),
        _ => Ok(None),
    }
}

/// What is run: its inputs are below `below`, and `right` is what must come out.
struct Job {
    table: Option<Table>,
    inputs: usize,
    below: u32,
    modulus: u32,
    order: u32,
}

impl Job {
    fn new(arguments: &Arguments, set: &DiscreteParameters) -> Result<Self> {
        let p = set.modulus();
        match arguments.op {
            Operation::Discrete(DiscreteOperation::Gate) => {
                Ok(Self { table: None, inputs: 2, below: 2, modulus: 4, order: 1 })
            }
            Operation::Discrete(DiscreteOperation::Lookup) => {
                let identity = Table::new(p, |m| m)?;
                let fits = |order| {
                    let levels = identity.order(order).map(|t| t.levels());
                    levels.is_ok_and(|levels| levels <= set.table_levels())
                };
                let order = arguments.order.unwrap_or(if fits(2) { 2 } else { 1 });
                // A permutation without symmetry, so that every wrong entry shows.
                let table = Table::new(p, |m| (m * m * m + 5 * m + 3) % p)?.order(order)?;
                Ok(Self { table: Some(table), inputs: 1, below: p, modulus: p, order })
            }
            other => {
                bail!(
                    "--op {}: sets for numbers take lookup, gate, aes, circuit, and operations of \
                     integers such as add64",
                    name(other)
                )
            }
        }
    }

    fn run(&self, server: &ServerKey, inputs: &[Wires]) -> Result<Wires> {
        Ok(match &self.table {
            Some(table) => server.lookup(&inputs[0], &[table])?.remove(0),
            None => server.gate(Gate::Nand, &inputs[0], &inputs[1])?,
        })
    }

    fn right(&self, numbers: &[u32]) -> i64 {
        match &self.table {
            Some(table) => table.at(numbers[0].into()),
            None => i64::from(Gate::Nand.of(numbers[0] == 1, numbers[1] == 1)),
        }
    }
}

/// Reproducible numbers below a bound.
pub fn numbers(seed: u64, count: usize, below: u32) -> Vec<u32> {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % below
    };
    (0..count).map(|_| next()).collect()
}

/// Refuses options of other schemes.
pub fn check(arguments: &Arguments, set: &DiscreteParameters) -> Result<()> {
    for (given, flag) in [
        (arguments.packing.is_some(), "--packing"),
        (arguments.message.is_some(), "--message"),
        (arguments.groups.is_some(), "--groups"),
        (arguments.transform != TransformChoice::Auto, "--transform"),
        (arguments.level.is_some(), "--level"),
        (arguments.ratio.is_some(), "--ratio"),
        (arguments.few_keys, "--few-keys"),
        (arguments.sweep.is_some(), "--sweep"),
    ] {
        if given {
            bail!("{flag}: is an option of other sets; leave it out for {set}");
        }
    }
    Ok(())
}

pub fn run(arguments: &Arguments, set: &DiscreteParameters) -> Result<bool> {
    check(arguments, set)?;
    if arguments.netlist.is_some() {
        bail!("--netlist: is an option of --op circuit");
    }
    let job = Job::new(arguments, set)?;
    let batch = arguments.batch.unwrap_or(1);
    if batch == 0 {
        bail!("--batch 0: there must be at least one ciphertext");
    }
    let device = arguments.open()?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {set}: {}", set.description()));
    for warning in set.warnings() {
        say(format!("warning   {warning}"));
    }
    let record = measure(arguments, set, &device, &job, batch, &say)?;
    say(format!(
        "{:<9} {:.3} ms a batch of {batch} (min {:.3}, max {:.3}), {:.3} ms each",
        record.op, record.ms.median, record.ms.min, record.ms.max, record.ms_each
    ));
    say(format!(
        "queued    {:.3} ms a batch of {batch}, {} with one wait: {:.0} numbers a second",
        record.ms_queued, record.repeat, record.numbers_per_s
    ));
    say(format!(
        "checked   {} numbers, {} wrong; deviation 2^{:.2}, worst 2^{:.2}",
        record.checked, record.wrong, record.log2_deviation, record.log2_worst
    ));
    say(format!("digest    {} of the words of all results", record.digest));
    let gib = record.device_bytes as f64 / (1u64 << 30) as f64;
    say(format!("memory    {gib:.2} GiB on the device"));
    if let Some(path) = &arguments.json {
        record::write_json(path, &serde_json::to_value(&record)?)?;
    }
    Ok(record.wrong == 0)
}

/// Keys on a device, and how that went.
pub struct Loaded {
    pub client: ClientKey,
    pub server: ServerKey,
    pub keygen_s: f64,
    pub load_s: f64,
    pub plan: String,
    pub plan_from: PlanSource,
}

/// Makes keys of the seed and loads them.
pub fn load(
    arguments: &Arguments,
    set: &DiscreteParameters,
    device: &Device,
    say: &dyn Fn(String),
) -> Result<Loaded> {
    let progress = TerminalProgress::new().with_lines();
    let start = Instant::now();
    let client = ClientKey::generate_seeded_for_tests(set, seed_bytes(arguments.seed))?;
    let keys = EvaluationKeys::generate(&client, &progress)?;
    let keygen_s = start.elapsed().as_secs_f64();
    let loader = device.backend().poly();
    let loader = loader.with_context(|| format!("{} runs no CKKS", device.info().id))?;
    let switching = arguments.key_switch.map_or_else(Default::default, |k| k.of(set.ckks()));
    let own = loader.plan(&*switching.ring(set.ckks())?);
    let options = options(set.ckks(), arguments.key_switch, &arguments.plan, own)?;
    let start = Instant::now();
    let server = ServerKey::load(device.backend(), &keys, &options, &progress)?;
    drop(keys);
    let load_s = start.elapsed().as_secs_f64();
    let engine = server.ckks().engine();
    let plan = PolyOptions { plan: Some(*engine.plan()), ..options.device }.to_string();
    let plan_from = engine.plan_source();
    say(format!(
        "plan      key switching {}; {plan} ({plan_from:?})",
        server.ckks().key_switching()
    ));
    say(format!("keys      made in {keygen_s:.2} s, loaded in {load_s:.2} s"));
    Ok(Loaded { client, server, keygen_s, load_s, plan, plan_from })
}

fn measure(
    arguments: &Arguments,
    set: &DiscreteParameters,
    device: &Device,
    job: &Job,
    batch: usize,
    say: &dyn Fn(String),
) -> Result<Record> {
    let Loaded { client, server, keygen_s, load_s, plan, plan_from } =
        load(arguments, set, device, say)?;

    let plain: Vec<Vec<Vec<u32>>> = (0..job.inputs)
        .map(|i| {
            let one = |k: usize| {
                numbers(arguments.seed + (i * batch + k) as u64, set.numbers(), job.below)
            };
            (0..batch).map(one).collect()
        })
        .collect();
    let inputs: Vec<Wires> = plain
        .iter()
        .map(|plain| Ok(server.upload(&client.encrypt_batch(plain, job.below)?)?))
        .collect::<Result<_>>()?;
    let start = Instant::now();
    job.run(&server, &inputs)?;
    server.synchronize()?;
    let record_s = start.elapsed().as_secs_f64();
    settle(server.ckks(), say, || job.run(&server, &inputs).map(drop))?;
    let timeline = arguments.timeline.as_deref().map(Timeline::start);
    let samples = timed(arguments.repeat, || {
        job.run(&server, &inputs)?;
        Ok(server.synchronize()?)
    })?;
    let run = || job.run(&server, &inputs).map(drop);
    let ms_queued = queued(arguments.repeat, run, || Ok(server.synchronize()?))?;
    if let Some(timeline) = timeline {
        timeline.write(say)?;
    }
    let ms = Milliseconds::of(&samples);

    let results = server.download(&job.run(&server, &inputs)?)?;
    let found = client.decrypt_integers(&results)?;
    let right = |j: usize| {
        let (k, place) = (j / set.numbers(), j % set.numbers());
        job.right(&plain.iter().map(|input| input[k][place]).collect::<Vec<_>>())
    };
    let wrong = found.iter().enumerate().filter(|(j, found)| **found != right(*j)).count();
    let mut errors = Vec::with_capacity(found.len());
    for (k, ciphertext) in results.ciphertexts().iter().enumerate() {
        let slots = client.ckks().decrypt(ciphertext)?;
        let parts = slots.iter().map(|z| z.re).chain(slots.iter().map(|z| z.im));
        errors.extend(parts.enumerate().map(|(j, v)| v - right(k * set.numbers() + j) as f64));
    }
    let squares: f64 = errors.iter().map(|e| e * e).sum();
    let worst = errors.iter().fold(0f64, |worst, e| worst.max(e.abs()));
    let numbers = batch * set.numbers();
    Ok(Record {
        scheme: "discrete",
        device: device.info().name.clone(),
        backend: device.info().id.clone(),
        set: set.to_string(),
        op: name(arguments.op),
        modulus: job.modulus,
        order: job.order,
        numbers: set.numbers(),
        batch,
        repeat: arguments.repeat,
        ms,
        ms_each: ms.median / batch as f64,
        ms_queued,
        numbers_per_s: numbers as f64 / ms_queued * 1e3,
        checked: found.len(),
        wrong,
        log2_deviation: 0.5 * (squares / errors.len() as f64).log2(),
        log2_worst: worst.log2(),
        digest: digest_of(results.ciphertexts().iter()),
        keygen_s,
        load_s,
        record_s,
        device_bytes: server.ckks().memory().device_bytes,
        plan,
        plan_from,
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    })
}
