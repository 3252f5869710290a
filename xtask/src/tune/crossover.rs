//! `cargo xtask tune --set TFHERS_...,DISCRETE_... --op add64`: from how many elements on an
//! operation on integers is faster on numbers in slots than over TFHE.

use super::Arguments;
use crate::bench::{IntegerOperation, Operation, name, seed_bytes};
use crate::record::{self, Milliseconds};
use anyhow::{Context, Result, bail, ensure};
use girih::Device;
use girih::device::TerminalProgress;
use girih::discrete::{self, DiscreteParameters};
use girih::integer::{Engine, FheBool, FheUint, Integers};
use girih::tfhe::{self, ParameterSet};
use girih_conformance::synthetic::Words;
use serde::Serialize;
use std::time::Instant;

const SEED: u64 = 1;

/// The search ends where the two lengths around the crossover are this near to each other.
const NEAR: f64 = 1.05;

/// The two sets, if that is what is asked for.
pub struct Pair {
    tfhe: ParameterSet,
    slots: DiscreteParameters,
    op: IntegerOperation,
}

/// One run of each engine: a ciphertext for each digit of each element, or one for a digit of all.
#[derive(Serialize)]
struct Measurement {
    engine: &'static str,
    set: String,
    op: String,
    elements: usize,
    ms: Milliseconds,
    wrong: usize,
}

/// What the measurements come to.
#[derive(Serialize)]
struct Crossover {
    op: String,
    tfhe: String,
    slots: String,
    /// The least number of elements that was measured to take TFHE longer than numbers in slots;
    /// none where TFHE was faster up to a full ciphertext.
    from_elements: Option<usize>,
    date: String,
    commit: String,
}

impl Pair {
    /// None where no set is one of numbers in slots.
    pub fn find(arguments: &Arguments) -> Result<Option<Self>> {
        let (slots, others): (Vec<&String>, Vec<_>) =
            arguments.set.iter().partition(|name| name.contains("DISCRETE"));
        if slots.is_empty() {
            return Ok(None);
        }
        let ([slots], [other]) = (&slots[..], &others[..]) else {
            bail!(
                "--set {}: a crossover is between two sets, one of numbers in slots and one of \
                 TFHE, such as --set TFHERS_2_2_GROUP_2,DISCRETE_4 --op add64",
                arguments.set.join(",")
            );
        };
        let Some(Operation::Integer(op)) = arguments.op else {
            bail!(
                "--op: a crossover is of an operation on integers: add64, mul64, div64, cmp64, \
                 select64 or bitand64"
            );
        };
        if op == IntegerOperation::Compress64 {
            bail!("--op compress64: is an operation of TFHE's integers only");
        }
        let (packing, batch) = (arguments.packing.is_some(), arguments.batch.is_some());
        if packing || batch || arguments.most.is_some() {
            bail!("--packing, --batch and --most are for plans; leave them out for a crossover");
        }
        Ok(Some(Self {
            tfhe: ParameterSet::by_name(other)?,
            slots: DiscreteParameters::by_name(slots)?,
            op,
        }))
    }
}

/// The operands of an operation on an engine, and what comes of them.
struct Operands<E: Engine> {
    words: [FheUint<64, E>; 2],
    flags: FheBool<E>,
    want: Vec<u128>,
}

enum Output<E: Engine> {
    Word(FheUint<64, E>),
    Flags(FheBool<E>),
}

impl<E: Engine> Operands<E> {
    fn new(side: &Side<E>, op: IntegerOperation, count: usize) -> Result<Self> {
        let mut words = Words::new(SEED);
        let mut list = || (0..count).map(|i| words.next_word() >> (7 * i % 64)).collect();
        let [a, b, c]: [Vec<u64>; 3] = [list(), list(), list()];
        let c: Vec<bool> = c.iter().map(|c| c % 2 == 1).collect();
        let want = (0..count).map(|i| op.of(a[i], b[i], c[i]).into()).collect();
        let up = |values: &[u64]| side.integers.upload(&FheUint::encrypt(&side.client, values)?);
        let words = [up(&a)?, up(&b)?];
        let flags = side.integers.upload(&FheBool::encrypt(&side.client, &c)?)?;
        Ok(Self { words, flags, want })
    }

    fn run(&self, op: IntegerOperation) -> girih::integer::Result<Output<E>> {
        let [a, b] = &self.words;
        Ok(Output::Word(match op {
            // Sums over TFHE wait for their carries, which are of the operation.
            IntegerOperation::Add64 => a.add(b)?.propagate()?,
            IntegerOperation::Mul64 => a.mul(b)?,
            IntegerOperation::Div64 => a.div(b)?,
            IntegerOperation::Cmp64 => return Ok(Output::Flags(a.less(b)?)),
            IntegerOperation::Select64 => self.flags.select(a, b)?,
            IntegerOperation::Bitand64 | IntegerOperation::Compress64 => a.and(b)?,
        }))
    }
}

/// Keys of one engine.
struct Side<E: Engine> {
    client: E::ClientKey,
    integers: Integers<E>,
    /// Waits for kernels that are compiled beside the runs.
    ready: fn(&E) -> Result<()>,
}

impl<E: Engine> Side<E> {
    /// Milliseconds of an array whose ciphertexts are on the device, and how many results are
    /// wrong.
    fn time(&self, op: IntegerOperation, count: usize, repeat: usize) -> Result<(f64, Timed)> {
        let operands = Operands::new(self, op, count)?;
        let once = || -> Result<(f64, Output<E>)> {
            self.integers.synchronize()?;
            let start = Instant::now();
            let output = operands.run(op)?;
            self.integers.synchronize()?;
            Ok((1e3 * start.elapsed().as_secs_f64(), output))
        };
        // It records the operation, and the next one may have other kernels.
        once()?;
        (self.ready)(self.integers.server())?;
        once()?;
        let mut samples = Vec::new();
        let mut wrong = 0;
        for _ in 0..repeat {
            let (ms, output) = once()?;
            samples.push(ms);
            let found: Vec<u128> = match &output {
                Output::Word(x) => self.integers.download(x)?.decrypt(&self.client)?,
                Output::Flags(x) => {
                    let flags = self.integers.download(x)?.decrypt(&self.client)?;
                    flags.into_iter().map(u128::from).collect()
                }
            };
            wrong += found.iter().zip(&operands.want).filter(|(a, b)| a != b).count();
        }
        let ms = Milliseconds::of(&samples);
        Ok((ms.median, Timed { ms, wrong }))
    }
}

struct Timed {
    ms: Milliseconds,
    wrong: usize,
}

fn over_tfhe(device: &Device, set: &ParameterSet) -> Result<Side<tfhe::ServerKey>> {
    let client = tfhe::ClientKey::generate_seeded_for_tests(set, seed_bytes(SEED))?;
    let keys = tfhe::EvaluationKeys::generate(&client, &TerminalProgress::new())?;
    let options = girih::LoadOptions::default();
    let server =
        tfhe::ServerKey::load(device.backend(), &keys, &options, &TerminalProgress::new())?;
    let integers = Integers::new(server)?;
    let ready = |server: &tfhe::ServerKey| Ok(server.engine().settle().map(drop)?);
    Ok(Side { client, integers, ready })
}

fn in_slots(device: &Device, set: &DiscreteParameters) -> Result<Side<discrete::ServerKey>> {
    let client = discrete::ClientKey::generate_seeded_for_tests(set, seed_bytes(SEED))?;
    let keys = discrete::EvaluationKeys::generate(&client, &TerminalProgress::new())?;
    let options = Default::default();
    let server =
        discrete::ServerKey::load(device.backend(), &keys, &options, &TerminalProgress::new())?;
    let integers = Integers::new(server)?;
    let ready = |server: &discrete::ServerKey| Ok(server.ckks().engine().settle().map(drop)?);
    Ok(Side { client, integers, ready })
}

/// The least number of elements, to 5 %, that takes longer than `limit`, up to `most`: lengths are
/// doubled until one does, and halved from there. None where none does.
fn first_above(
    limit: f64,
    most: usize,
    mut time: impl FnMut(usize) -> Result<f64>,
) -> Result<Option<usize>> {
    let (mut below, mut above) = (0, 1);
    while time(above)? <= limit {
        if above == most {
            return Ok(None);
        }
        (below, above) = (above, most.min(2 * above));
    }
    while above - below > 1 && above as f64 > NEAR * below as f64 {
        let middle = below + (above - below) / 2;
        if time(middle)? > limit { above = middle } else { below = middle }
    }
    Ok(Some(above))
}

/// Measures both engines; the measurements with what they come to, and whether all was right.
pub fn run(
    arguments: &Arguments,
    device: &Device,
    pair: &Pair,
    say: &dyn Fn(String),
) -> Result<(Vec<serde_json::Value>, bool)> {
    let (op, most) = (pair.op, pair.slots.numbers());
    say(format!("crossover {} of {} and {}", name(op), pair.tfhe.name(), pair.slots));
    say(format!("{:<10}{:>10}{:>14}", "engine", "elements", "median ms"));
    let mut all = Vec::new();
    let mut keep = |engine, set: String, elements, Timed { ms, wrong }| -> Result<()> {
        say(format!("{engine:<10}{elements:>10}{:>14.3}", ms.median));
        let m = Measurement { engine, set, op: name(op), elements, ms, wrong };
        all.push(serde_json::to_value(m)?);
        ensure!(wrong == 0, "{wrong} results of {engine} are wrong");
        Ok(())
    };
    // The keys of one engine make room for the other's.
    let side = in_slots(device, &pair.slots).context("numbers in slots")?;
    let (limit, timed) = side.time(op, most, arguments.repeat)?;
    keep("slots", pair.slots.to_string(), most, timed)?;
    drop(side);
    let side = over_tfhe(device, &pair.tfhe).context("TFHE")?;
    let from_elements = first_above(limit, most, |count| {
        let (ms, timed) = side.time(op, count, arguments.repeat)?;
        keep("tfhe", pair.tfhe.name().into(), count, timed)?;
        Ok(ms)
    })?;
    say(match from_elements {
        Some(count) => {
            format!("{}: numbers in slots are faster from {count} elements on", name(op))
        }
        None => format!("{}: TFHE is faster up to {most} elements", name(op)),
    });
    let (tfhe, slots) = (pair.tfhe.name().into(), pair.slots.to_string());
    let (date, commit) = (record::today(), record::commit());
    let found = Crossover { op: name(op), tfhe, slots, from_elements, date, commit };
    all.push(serde_json::to_value(found)?);
    Ok((all, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Arguments {
        crate::parsed(&[&["tune", "--device", "cpu", "--dry-run"], line].concat())
    }

    #[test]
    fn the_search_ends_beside_the_crossover() {
        let search = |limit: f64, most: usize, a_piece: f64| {
            let mut runs = 0;
            let found = first_above(limit, most, |count| {
                runs += 1;
                Ok(5.0 + a_piece * count as f64)
            });
            assert!(runs < 30, "{runs}");
            found.expect("no failures")
        };
        // 5 + 1.06 n > 100 from 90 on.
        let found = search(100.0, 32_768, 1.06).expect("there is one");
        assert!((90..=94).contains(&found), "{found}");
        assert_eq!(search(5.5, 32_768, 1.0), Some(1));
        assert_eq!(search(7.5, 32_768, 1.0), Some(3));
        assert_eq!(search(1e9, 32_768, 1.0), None);
        // The last step ends at the most.
        assert_eq!(search(1004.5, 1000, 1.0), Some(1000));
    }

    #[test]
    fn what_is_no_pair_is_refused() {
        let refused =
            |line: &[&str]| super::super::run(&parsed(line)).expect_err("refused").to_string();
        let two = ["--set", "STD128,DISCRETE_4,INSECURE_TOY", "--op", "add64"];
        assert!(refused(&two).contains("between two sets"));
        assert!(refused(&["--set", "DISCRETE_4", "--op", "add64"]).contains("between two sets"));
        let pair = ["--set", "TFHERS_2_2_GROUP_2,DISCRETE_4"];
        assert!(refused(&pair).contains("an operation on integers"));
        let with = |more: &[&str]| refused(&[&pair[..], more].concat());
        assert!(with(&["--op", "bootstrap"]).contains("an operation on integers"));
        assert!(with(&["--op", "compress64"]).contains("TFHE's integers only"));
        assert!(with(&["--op", "add64", "--batch", "3"]).contains("are for plans"));
    }

    /// Both engines on toys, each result checked.
    #[test]
    fn toys_are_measured() {
        let sets = "INSECURE_INTEGERS,INSECURE_DISCRETE_4_N10";
        let file = std::env::temp_dir().join(format!("girih-crossover-{}", std::process::id()));
        let file = file.display().to_string();
        let line = ["--set", sets, "--op", "bitand64", "--repeat", "1", "--json", &file];
        assert!(super::super::run(&parsed(&line)).expect("runs"));
        let text = std::fs::read_to_string(&file).expect("written");
        std::fs::remove_file(&file).expect("ours");
        let all: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a list");
        let (found, runs) = all.split_last().expect("not empty");
        assert_eq!((&runs[0]["engine"], &runs[0]["elements"]), (&"slots".into(), &1024.into()));
        let limit = runs[0]["ms"]["median"].as_f64().expect("a time");
        // Whatever a busy machine measures, what is found follows from it.
        let above = |m: &&serde_json::Value| m["ms"]["median"].as_f64() > Some(limit);
        let least = runs[1..].iter().filter(above).filter_map(|m| m["elements"].as_u64()).min();
        assert_eq!(found["from_elements"].as_u64(), least);
    }
}
