//! `cargo xtask table`: the tables of README.md and docs/performance.md from records, so that no
//! figure is copied by hand. A test holds the pages to what this prints.

use crate::bench::TABLE_BATCH;
use crate::records::{self, Entry, wanted};
use crate::{peers, published, thousands::thousands};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of records.
    #[arg(default_value = "docs/benchmarks/h200")]
    folder: PathBuf,
    /// Write every table of the pages, and README.md's picture, in their places.
    #[arg(long)]
    write: bool,
}

/// Where a table stands: the page, and which one. In the page it lies between
/// `<!-- cargo xtask table: NAME -->` and `<!-- end of table -->`.
const PLACES: [(&str, &str); 8] = [
    ("README.md", "peers"),
    ("docs/performance.md", "peers"),
    ("docs/performance.md", "h200 bounds"),
    ("docs/performance.md", "h200 rates"),
    ("docs/performance.md", "h200 ckks"),
    ("docs/performance.md", "h100 ckks"),
    ("docs/performance.md", "h200 numbers"),
    ("docs/performance.md", "h200 integers"),
];

/// README.md's picture.
const PICTURE: &str = "docs/benchmarks/h200/plots/peers.svg";

/// A set as it is measured, and what bounds it on an H200: transforms, products and monomials at
/// the card's measured f64 and 32-bit rates, everything else free (messages a second).
struct Row {
    set: &'static str,
    packing: usize,
    fft_bound: f64,
    ntt_bound: Option<f64>,
}

const fn row(set: &'static str, packing: usize, fft_bound: f64, ntt_bound: f64) -> Row {
    Row { set, packing, fft_bound, ntt_bound: Some(ntt_bound) }
}

const ROWS: [Row; 12] = [
    Row { set: "STD128", packing: 1, fft_bound: 163_000.0, ntt_bound: None },
    row("G1", 1, 179_942.0, 121_600.0),
    row("G2", 1, 147_259.0, 48_360.0),
    row("G3", 1, 176_779.0, 119_463.0),
    row("G4", 1, 67_705.0, 22_234.0),
    row("G5", 1, 45_498.0, 31_072.0),
    row("M1", 3, 462_633.0, 157_559.0),
    row("M2", 2, 108_719.0, 37_080.0),
    row("M3", 5, 603_994.0, 217_236.0),
    row("M4", 4, 351_415.0, 123_334.0),
    row("M5", 5, 135_349.0, 48_609.0),
    row("M6", 2, 105_042.0, 35_206.0),
];

/// The sets on the native torus: name, what a bootstrapping is, f64 bound, what TFHE-rs reaches on
/// the same card.
const TORUS: [(&str, &str, Option<f64>, &str); 5] = [
    ("TFHERS_2_2", LOOK_UPS, Some(112_289.0), "47,900; 4.17 ms (TFHE-rs 1.8.2, H200)"),
    (
        "TFHERS_2_2_GROUP_2",
        LOOK_UPS,
        None,
        "22,400; 0.995 ms (TFHE-rs 1.8.2, its own multi-bit set, H200)",
    ),
    ("TFHERS_2_2_GROUP_3", LOOK_UPS, None, "the same"),
    ("GIRIH_2_2", LOOK_UPS, None, "the same"),
    ("GIRIH_GATE", "gates", None, ""),
];

const LOOK_UPS: &str = "look-ups of 4 bits";

/// A rate with transfers, and one of resident ciphertexts where it was measured.
fn rates(transfers: Option<f64>, resident: Option<f64>) -> String {
    let resident = resident.map(|rate| format!("; resident {}", some_thousands(Some(rate))));
    some_thousands(transfers) + &resident.unwrap_or_default()
}

/// The part of a record that tables show.
#[derive(Deserialize)]
struct Measured {
    set: String,
    packing: usize,
    backend: String,
    transform: String,
    op: String,
    batch: usize,
    bootstraps_per_s: f64,
    ms: Times,
    wrong: usize,
    transfers_included: bool,
    plan: serde_json::Value,
}

#[derive(Deserialize)]
struct Times {
    median: f64,
}

/// What an entry of a folder holds: a sweep, one record, or the record of an example, a profiler, a
/// circuit and others, which are in no table.
#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Sweep(Vec<Measured>),
    One(Box<Measured>),
    Ckks(Box<MeasuredCkks>),
    Numbers(Box<MeasuredNumbers>),
    Integers(MeasuredIntegers),
    Example {
        #[serde(rename = "example")]
        _example: String,
    },
    Profile {
        #[serde(rename = "phases")]
        _phases: serde_json::Value,
    },
    Soak {
        #[serde(rename = "parts")]
        _parts: serde_json::Value,
    },
    FirstResult {
        #[serde(rename = "rows")]
        _rows: serde_json::Value,
    },
    Circuit {
        #[serde(rename = "netlist")]
        _netlist: String,
    },
}

/// What a record of a CKKS operation says.
#[derive(Deserialize)]
struct MeasuredCkks {
    #[serde(rename = "scheme")]
    _scheme: String,
    backend: String,
    /// Of older records, none.
    #[serde(default)]
    profile: Option<String>,
    key_switching: String,
    /// Of older records, none: digits were apart.
    #[serde(default)]
    join_digits: bool,
    /// Of older records, none: a bootstrapping was one recording.
    #[serde(default)]
    divide_sines: bool,
    /// Bytes; of older records, none.
    #[serde(default)]
    memory_limit: Option<u64>,
    set: String,
    op: String,
    slots: String,
    /// Of older records, none: all slots.
    #[serde(default)]
    slot_count: Option<usize>,
    batch: usize,
    level: usize,
    limbs: usize,
    ms_each: f64,
    /// Of older records, and of work of the host, none.
    #[serde(default)]
    ms_queued: Option<f64>,
    precision_bits: Precision,
    log2_deviation: f64,
    wrong: usize,
}

/// What a record of numbers in slots says.
#[derive(Deserialize)]
struct MeasuredNumbers {
    backend: String,
    set: String,
    op: String,
    order: u32,
    batch: usize,
    ms_each: f64,
    /// Of a batch.
    ms_queued: f64,
    numbers_per_s: f64,
    log2_deviation: f64,
    log2_worst: f64,
    wrong: usize,
}

/// What a record of integers over numbers in slots says.
#[derive(Deserialize)]
struct MeasuredIntegers {
    backend: String,
    set: String,
    op: String,
    elements: usize,
    lookups: usize,
    ms: Times,
    operations_per_s: f64,
    wrong: usize,
}

#[derive(Deserialize)]
struct Precision {
    mean: f64,
    worst: f64,
}

/// All records of a folder.
struct Records {
    tfhe: Vec<Measured>,
    ckks: Vec<MeasuredCkks>,
    numbers: Vec<MeasuredNumbers>,
    integers: Vec<MeasuredIntegers>,
}

impl Records {
    fn read(folder: &Path) -> Result<Self> {
        let (tfhe, ckks, numbers, integers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut all = Self { tfhe, ckks, numbers, integers };
        // Where two records answer, the first by name does.
        for (name, Entry { value, path, .. }) in records::read(folder)? {
            let file = serde_json::from_value(value)
                .with_context(|| format!("{name} of {}", wanted(&path)))?;
            let records = match file {
                File::Sweep(records) => records,
                File::One(record) => vec![*record],
                File::Ckks(record) => {
                    if record.wrong > 0 {
                        bail!("{name} of {}: {} wrong slots", path.display(), record.wrong);
                    }
                    all.ckks.push(*record);
                    continue;
                }
                File::Numbers(record) => {
                    if record.wrong > 0 {
                        bail!("{name} of {}: {} wrong numbers", path.display(), record.wrong);
                    }
                    all.numbers.push(*record);
                    continue;
                }
                File::Integers(record) => {
                    if record.wrong > 0 {
                        bail!("{name} of {}: {} wrong integers", path.display(), record.wrong);
                    }
                    all.integers.push(record);
                    continue;
                }
                File::Example { .. }
                | File::Profile { .. }
                | File::Soak { .. }
                | File::FirstResult { .. }
                | File::Circuit { .. } => continue,
            };
            if let Some(record) = records.iter().find(|r| r.wrong > 0) {
                bail!(
                    "{name} of {}: {} wrong outputs in a batch of {}",
                    path.display(),
                    record.wrong,
                    record.batch
                );
            }
            all.tfhe.extend(records);
        }
        if all.tfhe.is_empty() && all.ckks.is_empty() {
            bail!(
                "{}: no records (.json files of `cargo xtask bench --json`) in this folder",
                folder.display()
            );
        }
        Ok(all)
    }

    /// Whole batches of `set` in the device's usual profile.
    fn bulk(
        &self,
        backend: &str,
        set: &str,
        packing: usize,
        op: &str,
    ) -> impl Iterator<Item = &Measured> {
        self.tfhe.iter().filter(move |m| {
            let core = m.plan.get("profile").is_some_and(|p| p == "core");
            (m.backend.as_str(), m.set.as_str(), m.packing, m.op.as_str())
                == (backend, set, packing, op)
                && m.batch == TABLE_BATCH.next_multiple_of(packing)
                && m.transfers_included
                && !core
        })
    }

    fn rate(&self, backend: &str, row: &Row, transform: &str) -> Option<f64> {
        self.bulk(backend, row.set, row.packing, "nand")
            .find(|m| m.transform.starts_with(transform))
            .map(|m| m.bootstraps_per_s)
    }

    /// Look-ups a second of a set on the native torus: in CUDA with transfers, and with ciphertexts
    /// on the device; in WGSL with transfers.
    fn torus(&self, set: &str) -> [Option<f64>; 3] {
        [("cuda", true), ("cuda", false), ("wgpu", true)].map(|(backend, transfers)| {
            let wanted = |m: &&Measured| {
                m.backend == backend
                    && m.set == set
                    && m.batch == TABLE_BATCH
                    && m.transfers_included == transfers
            };
            self.tfhe.iter().find(wanted).map(|m| m.bootstraps_per_s)
        })
    }

    /// Milliseconds of one ciphertext.
    fn one(&self, set: &str, packing: usize) -> Option<f64> {
        let of = |m: &&Measured| {
            m.backend == "cuda" && m.set == set && m.packing == packing && m.batch == packing
        };
        self.tfhe.iter().filter(of).map(|m| m.ms.median).reduce(f64::min)
    }
}

/// 12345.6 as 12,346; nothing for nothing.
fn some_thousands(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, thousands)
}

fn decimals(x: Option<f64>, places: usize) -> String {
    x.map_or_else(String::new, |x| format!("{x:.places$}"))
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.write {
        let root = root();
        for (path, text) in pages(&root)? {
            std::fs::write(root.join(path), text).with_context(|| path.to_owned())?;
            println!("{path}");
        }
        return Ok(true);
    }
    let records = Records::read(&arguments.folder)?;
    print!("{}\n{}\n{}", rates_of_sets(&records)?, against_bounds(&records)?, ckks(&records)?);
    Ok(true)
}

/// The folder of the repository.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Every page that has tables, and the picture, as they should be.
fn pages(root: &Path) -> Result<BTreeMap<&'static str, String>> {
    let folder = |card: &str| root.join("docs/benchmarks").join(card);
    let mut all = BTreeMap::from([(PICTURE, peers::picture(&folder("h200"))?)]);
    for (path, name) in PLACES {
        let table = match name.split_once(' ') {
            None => peers::table(&folder("h200"))?,
            Some((card, kind)) => {
                let records = Records::read(&folder(card))?;
                match kind {
                    "rates" => rates_of_sets(&records)?,
                    "bounds" => against_bounds(&records)?,
                    "numbers" => numbers(&records)?,
                    "integers" => integers(&records)?,
                    _ => ckks(&records)?,
                }
            }
        };
        let page = match all.remove(path) {
            Some(page) => page,
            None => std::fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?,
        };
        let page = placed(&page, name, &table).with_context(|| path.to_owned())?;
        all.insert(path, page);
    }
    Ok(all)
}

/// The page with this table in its place.
fn placed(page: &str, name: &str, table: &str) -> Result<String> {
    let begin = format!("<!-- cargo xtask table: {name} -->\n");
    let end = "<!-- end of table -->";
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}{begin}{table}{end}{after}"))
    });
    parts.with_context(|| format!("no line `{}` with an end", begin.trim_end()))
}

/// The rates of all sets and what is published of them.
fn rates_of_sets(records: &Records) -> Result<String> {
    let mut text =
        "| set | bits a ciphertext | CUDA | one ciphertext, ms | WGSL through Vulkan | published \
         |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for row in &ROWS {
        let best = [records.rate("cuda", row, "fft"), records.rate("cuda", row, "ntt")]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        let bolt =
            published::of(row.set).find(|p| p.packing == row.packing && p.source.contains("4090"));
        let bolt = bolt
            .map_or_else(String::new, |p| format!("{} (BOLT-FHE, RTX 4090)", thousands(p.rate)));
        let (one, wgpu) = (
            decimals(records.one(row.set, row.packing), 2),
            some_thousands(records.rate("wgpu", row, "ntt")),
        );
        writeln!(
            text,
            "| {} | {} | {} | {one} | {wgpu} | {bolt} |",
            row.set,
            row.packing,
            some_thousands(best)
        )?;
    }
    for (set, what, _, peer) in TORUS {
        let [transfers, resident, wgpu] = records.torus(set);
        let (cuda, wgpu) = (rates(transfers, resident), some_thousands(wgpu));
        let one = decimals(records.one(set, 1), 2);
        writeln!(text, "| {set}, {what} | 1 | {cuda} | {one} | {wgpu} | {peer} |")?;
    }
    Ok(text)
}

/// The table of CKKS operations.
fn ckks(records: &Records) -> Result<String> {
    let mut text =
        "| device | set | operation | limbs (level) | slots | batch | ms each | queued | bits \
         right, mean / worst | deviation |\n|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for m in &records.ckks {
        let bits = &m.precision_bits;
        let (each, mean, worst) = (m.ms_each, bits.mean, bits.worst);
        let queued = decimals(m.ms_queued.map(|ms| ms / m.batch as f64), 3);
        let op = match m.key_switching.as_str() {
            "hybrid" => m.op.clone(),
            other => format!("{}, {other}", m.op),
        };
        let op = if m.join_digits { format!("{op}, digits joined") } else { op };
        let op = if m.divide_sines { format!("{op}, sines divided") } else { op };
        let op = match m.memory_limit {
            Some(bytes) => format!("{op}, limited to {} GiB", bytes >> 30),
            None => op,
        };
        let device = match &m.profile {
            Some(profile) => format!("{}@{profile}", m.backend),
            None => m.backend.clone(),
        };
        let slots = match m.slot_count {
            Some(count) if count < 1 << 15 => format!("{}, {count}", m.slots),
            _ => m.slots.clone(),
        };
        writeln!(
            text,
            "| {device} | {} | {op} | {} ({}) | {slots} | {} | {each:.3} | {queued} | {mean:.1} / \
             {worst:.1} | 2^{:.1} |",
            m.set, m.limbs, m.level, m.batch, m.log2_deviation
        )?;
    }
    Ok(text)
}

/// The table of look-ups of numbers in slots.
fn numbers(records: &Records) -> Result<String> {
    let mut text =
        "| device | set | operation | batch | ms each, alone | queued | million numbers \
                    a second | deviation; worst |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for m in &records.numbers {
        let MeasuredNumbers { backend, set, op, order, batch, .. } = m;
        let (queued, rate) = (m.ms_queued / *batch as f64, m.numbers_per_s / 1e6);
        writeln!(
            text,
            "| {backend} | {set} | {op}, order {order} | {batch} | {:.2} | {queued:.2} | {rate:.1} \
             | 2^{:.1}; 2^{:.1} |",
            m.ms_each, m.log2_deviation, m.log2_worst
        )?;
    }
    Ok(text)
}

/// The table of integers over numbers in slots.
fn integers(records: &Records) -> Result<String> {
    let mut text = "| device | set | operation | integers at once | look-ups | ms | a second \
                    |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for m in &records.integers {
        let MeasuredIntegers { backend, set, op, lookups, .. } = m;
        let (count, rate) = (thousands(m.elements as f64), thousands(m.operations_per_s));
        let ms = m.ms.median;
        writeln!(text, "| {backend} | {set} | {op} | {count} | {lookups} | {ms:.0} | {rate} |")?;
    }
    Ok(text)
}

/// The table of docs/performance.md.
fn against_bounds(records: &Records) -> Result<String> {
    let mut text = "| set | CUDA, f64 FFT | of bound | CUDA, 32-bit NTT | of bound | WGSL, 32-bit \
                    NTT | best CUDA / BOLT-FHE on an RTX 4090 \
                    |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in &ROWS {
        let (fft, ntt) = (records.rate("cuda", row, "fft"), records.rate("cuda", row, "ntt"));
        let best = [fft, ntt].into_iter().flatten().reduce(f64::max);
        let bolt =
            published::of(row.set).find(|p| p.packing == row.packing && p.source.contains("4090"));
        let ratio = bolt.and_then(|p| Some(best? / p.rate));
        let of = |rate: Option<f64>, bound: Option<f64>| {
            decimals(rate.and_then(|r| Some(r / bound?)), 2)
        };
        writeln!(
            text,
            "| {} r={} | {} | {} | {} | {} | {} | {} |",
            row.set,
            row.packing,
            some_thousands(fft),
            of(fft, Some(row.fft_bound)),
            some_thousands(ntt),
            of(ntt, row.ntt_bound),
            some_thousands(records.rate("wgpu", row, "ntt")),
            decimals(ratio, 1)
        )?;
    }
    for (set, what, bound, _) in TORUS {
        let [transfers, resident, wgpu] = records.torus(set);
        let share = bound.map(|bound| {
            [transfers, resident].map(|rate| decimals(rate.map(|r| r / bound), 2)).join("; ")
        });
        let (cuda, wgpu) = (rates(transfers, resident), some_thousands(wgpu));
        let what = what.split_whitespace().next().unwrap_or_default();
        let share = share.unwrap_or_default();
        writeln!(text, "| {set} ({what}) | {cuda} | {share} | | | {wgpu} | |")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_that_hold_no_record_are_named() {
        let folder = std::env::temp_dir().join(format!("girih-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let refused =
            || super::Records::read(&folder).map(|_| ()).expect_err("no record").to_string();
        assert!(refused().contains("no records"), "{}", refused());
        for text in ["", "{", "[]]", "{\"set\": \"M1\"}", "[{}]"] {
            std::fs::write(folder.join("cut.json"), text).expect("writable");
            assert!(refused().contains("cut.json"), "{text}: {}", refused());
        }
        std::fs::remove_dir_all(&folder).expect("ours");
    }

    #[test]
    fn pages_show_what_the_records_say() {
        let root = super::root();
        for (path, wanted) in super::pages(&root).expect("pages with their tables") {
            let found = std::fs::read_to_string(root.join(path)).expect("readable");
            assert!(found == wanted, "{path}: run `cargo xtask table --write`");
        }
    }

    #[test]
    fn a_table_without_its_place_is_named() {
        let page = "a\n<!-- cargo xtask table: x -->\nold\n<!-- end of table -->\nb\n";
        let wanted = page.replace("old", "new");
        assert_eq!(super::placed(page, "x", "new\n").expect("a place"), wanted);
        assert!(super::placed(page, "y", "new\n").is_err());
        assert!(super::placed(&page.replace("end of", ""), "x", "new\n").is_err());
    }
}
