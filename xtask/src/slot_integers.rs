//! `cargo xtask bench --set DISCRETE_... --op add64|mul64|div64|cmp64|select64|bitand64`: arrays of
//! 64-bit integers over numbers in slots, timed, every result checked.

use crate::bench::{Arguments, IntegerOperation, name};
use crate::ckks::bench::{digest_of, settle};
use crate::discrete::{Loaded, check, load};
use crate::record::{self, Milliseconds};
use anyhow::{Context, Result, bail, ensure};
use girih::device::PlanSource;
use girih::discrete::{ClientKey, DiscreteParameters, FheBool, FheUint, Integers, ServerKey};
use girih::integer::{Encrypted, Integer, slot_costs};
use serde::Serialize;
use std::time::Instant;

type Word = FheUint<64>;

/// One run.
#[derive(Serialize)]
struct Record {
    scheme: &'static str,
    device: String,
    backend: String,
    set: String,
    op: String,
    /// Elements of the arrays.
    elements: usize,
    /// Ciphertexts of a digit: look-ups of so many elements run side by side.
    batch: usize,
    repeat: usize,
    /// Look-ups of the operation on as many elements as fit a ciphertext; their tables, how many
    /// are one after another, and how many kinds there are.
    lookups: usize,
    tables: usize,
    depth: usize,
    kinds: usize,
    /// Of the arrays, ciphertexts resident: transfers, encryption and decryption are not in it.
    ms: Milliseconds,
    ms_a_lookup: f64,
    operations_per_s: f64,
    checked: usize,
    wrong: usize,
    digest: String,
    keygen_s: f64,
    load_s: f64,
    /// Encryption and upload of the operands.
    encrypt_s: f64,
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

/// Reproducible numbers of all sizes.
fn words(seed: u64, count: usize) -> Vec<u64> {
    let mut state = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|i| next() >> (7 * i % 64)).collect()
}

/// The operands, in the plain and on the device.
struct Operands {
    a: Vec<u64>,
    b: Vec<u64>,
    condition: Vec<bool>,
    words: [Word; 2],
    flags: FheBool,
}

/// A result, of either kind.
enum Output {
    Word(Word),
    Flags(FheBool),
}

impl Operands {
    fn new(client: &ClientKey, integers: &Integers, count: usize, seed: u64) -> Result<Self> {
        let [mut a, mut b] = [1, 2].map(|i| words(2 * seed + i, count));
        // Values at the edges, in all pairs.
        let edges = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1];
        let pairs = edges.into_iter().flat_map(|a| edges.map(|b| (a, b)));
        for ((x, y), place) in pairs.zip(0..count) {
            (a[place], b[place]) = (x, y);
        }
        let condition: Vec<bool> = words(2 * seed + 3, count).iter().map(|c| c % 2 == 1).collect();
        let up = |values: &[u64]| integers.upload(&Word::encrypt(client, values)?);
        let words = [up(&a)?, up(&b)?];
        let flags = integers.upload(&FheBool::encrypt(client, &condition)?)?;
        Ok(Self { a, b, condition, words, flags })
    }

    fn run(&self, op: IntegerOperation) -> Result<Output> {
        let [a, b] = &self.words;
        Ok(Output::Word(match op {
            IntegerOperation::Add64 => a.add(b)?,
            IntegerOperation::Mul64 => a.mul(b)?,
            IntegerOperation::Div64 => a.div(b)?,
            IntegerOperation::Cmp64 => return Ok(Output::Flags(a.less(b)?)),
            IntegerOperation::Select64 => self.flags.select(a, b)?,
            IntegerOperation::Bitand64 => a.and(b)?,
            IntegerOperation::Compress64 => bail!(
                "--op compress64: is an operation of TFHE's integers, such as those of \
                 TFHERS_2_2_GROUP_2"
            ),
        }))
    }

    fn right(&self, op: IntegerOperation) -> Vec<u128> {
        let of = |i: usize| op.of(self.a[i], self.b[i], self.condition[i]);
        (0..self.a.len()).map(of).map(u128::from).collect()
    }
}

impl Output {
    /// What it decrypts to, and the digest of its words.
    fn read(&self, client: &ClientKey, integers: &Integers) -> Result<(Vec<u128>, String)> {
        fn digest<T: Integer<Engine = ServerKey>>(of: &Encrypted<T>) -> String {
            digest_of(of.ciphertexts().ciphertexts().iter())
        }
        Ok(match self {
            Self::Word(word) => {
                let output = integers.download(word)?;
                (output.decrypt(client)?, digest(&output))
            }
            Self::Flags(flags) => {
                let output = integers.download(flags)?;
                let values = output.decrypt(client)?.into_iter().map(u128::from).collect();
                (values, digest(&output))
            }
        })
    }
}

/// How the table of costs names an operation.
fn title(op: IntegerOperation) -> &'static str {
    match op {
        IntegerOperation::Add64 => "a + b, a - b",
        IntegerOperation::Mul64 => "a * b",
        IntegerOperation::Div64 => "a / b, a % b",
        IntegerOperation::Cmp64 => "a < b and the like",
        IntegerOperation::Select64 => "condition ? a : b",
        IntegerOperation::Bitand64 | IntegerOperation::Compress64 => "a & b, a \\| b, a ^ b",
    }
}

pub fn run(arguments: &Arguments, set: &DiscreteParameters, op: IntegerOperation) -> Result<bool> {
    check(arguments, set)?;
    ensure!(arguments.order.is_none(), "--order: is an option of --op lookup");
    ensure!(arguments.netlist.is_none(), "--netlist: is an option of --op circuit");
    let batch = arguments.batch.unwrap_or(1);
    ensure!(batch > 0, "--batch 0: there must be at least one ciphertext a digit");
    let device = arguments.open()?;
    let say = record::speaker(arguments.json.as_deref());
    say(format!("device    {} ({})", device.info().id, device.info().name));
    say(format!("set       {set}: {}", set.description()));
    for warning in set.warnings() {
        say(format!("warning   {warning}"));
    }
    let Loaded { client, server, keygen_s, load_s, plan, plan_from } =
        load(arguments, set, &device, &say)?;
    let cost = slot_costs(server.forecast(), 64, server.failure_limit())?;
    let cost = cost.into_iter().find(|cost| cost.operation == title(op));
    let cost = cost.context("an operation of the table of costs")?;
    let integers = Integers::new(server)?;
    let count = batch * set.numbers();
    let start = Instant::now();
    let operands = Operands::new(&client, &integers, count, arguments.seed)?;
    integers.synchronize()?;
    let encrypt_s = start.elapsed().as_secs_f64();
    let before = integers.look_ups();
    let mut output = None;
    let mut once = || -> Result<f64> {
        // The result of the run before goes first: memory for one run is enough.
        output = None;
        let start = Instant::now();
        output = Some(operands.run(op)?);
        integers.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    let first_s = once()? / 1e3;
    let lookups = (integers.look_ups() - before) as usize / batch;
    settle(integers.server().ckks(), &say, || once().map(drop))?;
    let samples = (0..arguments.repeat).map(|_| once()).collect::<Result<Vec<f64>>>()?;
    let ms = Milliseconds::of(&samples);
    let (found, digest) = output.context("at least one run")?.read(&client, &integers)?;
    let right = operands.right(op);
    let wrong = found.iter().zip(&right).filter(|(found, right)| found != right).count();
    let record = Record {
        scheme: "discrete",
        device: device.info().name.clone(),
        backend: device.info().id.clone(),
        set: set.to_string(),
        op: name(op),
        elements: count,
        batch,
        repeat: arguments.repeat,
        lookups,
        tables: cost.tables,
        depth: cost.levels,
        kinds: cost.kinds,
        ms,
        ms_a_lookup: ms.median / (lookups * batch).max(1) as f64,
        operations_per_s: count as f64 / ms.median * 1e3,
        checked: found.len(),
        wrong: wrong + right.len().abs_diff(found.len()),
        digest,
        keygen_s,
        load_s,
        encrypt_s,
        first_s,
        device_bytes: integers.server().ckks().memory().device_bytes,
        plan,
        plan_from,
        seed: arguments.seed,
        version: env!("CARGO_PKG_VERSION"),
        commit: record::commit(),
        date: record::today(),
    };
    report(&record, &say);
    if let Some(path) = &arguments.json {
        record::write_json(path, &serde_json::to_value(&record)?)?;
    }
    Ok(record.wrong == 0)
}

fn report(record: &Record, say: &dyn Fn(String)) {
    say(format!(
        "{:<9} {:.1} ms for {} integers (min {:.1}, max {:.1}): {:.0} a second",
        record.op,
        record.ms.median,
        record.elements,
        record.ms.min,
        record.ms.max,
        record.operations_per_s
    ));
    say(format!(
        "look-ups  {} of {} tables, {} one after another, {} kinds; {:.3} ms each; the first run \
         {:.2} s",
        record.lookups,
        record.tables,
        record.depth,
        record.kinds,
        record.ms_a_lookup,
        record.first_s
    ));
    say(format!("checked   {} integers, {} wrong", record.checked, record.wrong));
    say(format!("digest    {} of the words of all results", record.digest));
    let gib = record.device_bytes as f64 / (1u64 << 30) as f64;
    say(format!("memory    {gib:.2} GiB on the device"));
}
