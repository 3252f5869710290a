//! `cargo xtask soak`: random calls from several threads against plain results,
//! for hours if wanted.

use crate::record::{check_file, commit, today};
use anyhow::{Context, Result, bail};
use girih::discrete::DiscreteParameters;
use girih::tfhe::ParameterSet;
use girih::{Device, DeviceKind};
use girih_backend::write_whole_file;
use girih_conformance::soak::{self, Kind, Tally};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Minutes to run for, keys not counted.
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// The device: cpu, wgpu:0, cuda:0, or auto for the fastest real one;
    /// several as one, joined by `+`.
    #[arg(long, env = "GIRIH_DEVICE", default_value = "auto")]
    device: String,
    /// The parameter set of gates and look-up tables.
    #[arg(long, default_value = "STD128")]
    set: String,
    /// Where keys and inputs come from
    /// [default: that of the record, or one of the time, which is printed].
    #[arg(long)]
    seed: Option<u64>,
    /// Threads that call at once.
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Ciphertexts of a batch of gates [default: 4096 on a GPU, 16 elsewhere].
    #[arg(long)]
    batch: Option<usize>,
    /// The set of numbers in slots.
    #[arg(long, default_value = "INSECURE_DISCRETE_4_N10")]
    numbers_set: String,
    /// Ciphertexts of a batch of numbers in slots [default: 8 on a GPU, 1 elsewhere].
    #[arg(long)]
    numbers_batch: Option<usize>,
    /// What is called.
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    #[arg(default_value = "bits,large,vectors,numbers")]
    only: Vec<Kind>,
    /// Minutes of a part: the next one has new keys, and the record is written in between.
    #[arg(long, default_value_t = 10.0)]
    part: f64,
    /// Add what was compared to FILE; a run that was broken off goes on where its last part ended.
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
}

fn kind(name: &str) -> Result<Kind, String> {
    match name {
        "bits" => Ok(Kind::Bits),
        "large" => Ok(Kind::Large),
        "vectors" => Ok(Kind::Vectors),
        "numbers" => Ok(Kind::Numbers),
        _ => Err("there are bits, large, vectors and numbers".into()),
    }
}

/// One part, as it is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
    device: String,
    threads: usize,
    batch: usize,
    /// Of numbers in slots: their set, and ciphertexts of a batch.
    #[serde(default)]
    numbers_set: String,
    #[serde(default)]
    numbers_batch: usize,
    seconds: f64,
    #[serde(flatten)]
    tally: Tally,
    date: String,
    commit: String,
}

/// All parts of one seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    set: String,
    seed: u64,
    /// Sums of all parts.
    total: Tally,
    seconds: f64,
    /// Of the longest part.
    longest_s: f64,
    parts: Vec<Part>,
}

impl Record {
    /// What `file` holds, or an empty record where there is no such file.
    fn open(file: Option<&str>, set: &str, seed: Option<u64>) -> Result<Self> {
        if let Some(file) = file.filter(|file| Path::new(file).exists()) {
            let text = std::fs::read_to_string(file).with_context(|| file.to_owned())?;
            let found: Self = serde_json::from_str(&text)
                .with_context(|| format!("--record {file}: not a record of this command"))?;
            if found.set != set || seed.is_some_and(|seed| seed != found.seed) {
                bail!(
                    "--record {file}: holds parts of {} under seed {}; name another file, or these",
                    found.set,
                    found.seed
                );
            }
            return Ok(found);
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = seed.unwrap_or_else(|| now.map_or(0, |time| time.as_secs()));
        let (total, parts) = (Tally::default(), Vec::new());
        Ok(Self { set: set.into(), seed, total, seconds: 0.0, longest_s: 0.0, parts })
    }

    fn add(&mut self, part: Part) {
        self.total += part.tally;
        self.seconds += part.seconds;
        self.longest_s = self.longest_s.max(part.seconds);
        self.parts.push(part);
    }

    /// Whole or not at all: a run may be broken off while it writes.
    fn write(&self, file: &str) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        write_whole_file(Path::new(file), text.as_bytes()).with_context(|| file.to_owned())
    }
}

fn line(tally: &Tally, seconds: f64) -> String {
    let Tally { gates, look_ups, large, slots, gates_in_slots, look_ups_in_slots, wrong } = tally;
    format!(
        "{gates} gates, {look_ups} look-ups, {large} large-precision results, {slots} slots, \
         {gates_in_slots} gates and {look_ups_in_slots} look-ups in slots in {seconds:.1} s: \
         {wrong} wrong"
    )
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    for (option, minutes) in [("--minutes", arguments.minutes), ("--part", arguments.part)] {
        if !(minutes > 0.0 && minutes <= 1e5) {
            bail!("{option} {minutes}: must be above 0 and at most 100000");
        }
    }
    let none = [arguments.batch, arguments.numbers_batch].contains(&Some(0));
    if arguments.threads == 0 || none {
        bail!("--threads, --batch and --numbers-batch must be at least 1");
    }
    let numbers_set = DiscreteParameters::by_name(&arguments.numbers_set)?;
    let set = ParameterSet::by_name(&arguments.set)?;
    let mut record = Record::open(arguments.record.as_deref(), set.name(), arguments.seed)?;
    if let Some(file) = &arguments.record {
        check_file("--record", file)?;
    }
    let device = Device::open(&arguments.device)?;
    let is_gpu = device.info().kind != DeviceKind::Cpu && !device.info().software;
    let batch = arguments.batch.unwrap_or(if is_gpu { 4096 } else { 16 });
    let numbers_batch = arguments.numbers_batch.unwrap_or(if is_gpu { 8 } else { 1 });
    println!("device    {} ({})", device.info().id, device.info().name);
    println!("set       {set}; seed {}", record.seed);
    let (mut left, mut good) = (60.0 * arguments.minutes, true);
    while left > 0.0 {
        let seconds = left.min(60.0 * arguments.part);
        let (number, start) = (record.parts.len(), Instant::now());
        let (tally, differences) = soak::run(&soak::Part {
            device: &device,
            set: &set,
            seed: record.seed,
            number: number as u64,
            threads: arguments.threads,
            ciphertexts: batch,
            in_slots: Some((&numbers_set, numbers_batch)),
            kinds: &arguments.only,
            time: Duration::from_secs_f64(seconds),
        })
        .map_err(|error| anyhow::anyhow!("part {number}: {error}"))?;
        differences.iter().for_each(|line| println!("{line}"));
        good &= tally.wrong == 0;
        let seconds_taken = start.elapsed().as_secs_f64();
        println!("part {number}    {}", line(&tally, seconds_taken));
        record.add(Part {
            device: device.info().name.clone(),
            threads: arguments.threads,
            batch,
            numbers_set: numbers_set.to_string(),
            numbers_batch,
            seconds: seconds_taken,
            tally,
            date: today(),
            commit: commit(),
        });
        if let Some(file) = &arguments.record {
            record.write(file)?;
        }
        left -= seconds;
    }
    if record.parts.len() > 1 {
        println!("all parts {}", line(&record.total, record.seconds));
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(more: &[&str]) -> Arguments {
        crate::parsed(&[&["soak", "--device", "cpu"], more].concat())
    }

    #[test]
    fn parts_add_up_and_go_on_under_their_seed() {
        let folder = std::env::temp_dir().join(format!("girih-soak-{}", std::process::id()));
        let file = folder.join("record.json").display().to_string();
        let moment = ["--minutes", "0.0001", "--set", "INSECURE_TOY", "--batch", "2"];
        let more = [&moment[..], &["--record", &file]].concat();
        let read = || -> Record {
            let text = std::fs::read_to_string(&file).expect("written");
            serde_json::from_str(&text).expect("a record")
        };
        assert!(run(&line(&[&more[..], &["--seed", "7"]].concat())).expect("runs"));
        let first = read();
        assert_eq!((first.seed, first.parts.len()), (7, 1));
        let only_bits = [&more[..], &["--only", "bits", "--threads", "1"]].concat();
        assert!(run(&line(&only_bits)).expect("goes on"));
        let both = read();
        assert_eq!((both.seed, both.parts.len()), (7, 2));
        let mut sum = both.parts[0].tally;
        sum += both.parts[1].tally;
        assert_eq!((both.total, both.total.wrong), (sum, 0));
        assert!(sum.gates > 0 && both.parts[1].tally.slots == 0);
        assert!(both.seconds > both.longest_s && both.longest_s > 0.0);
        // Another seed, another set, and what cannot be.
        let refused = |more: &[&str]| run(&line(more)).expect_err("refused").to_string();
        assert!(refused(&[&more[..], &["--seed", "8"]].concat()).contains("under seed 7"));
        let other = ["--set", "INSECURE_TOY_MR", "--record", &file];
        assert!(refused(&other).contains("parts of INSECURE_TOY under"));
        assert!(refused(&["--minutes", "0"]).contains("above 0"));
        assert!(refused(&["--threads", "0"]).contains("at least 1"));
        std::fs::write(&file, "{}").expect("writable");
        assert!(refused(&more).contains("not a record"));
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
