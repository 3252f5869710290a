//! SVG curves of throughput and latency against batch size, and of CKKS precision against levels:
//! `bench --plot`, and `cargo xtask plot` from records, which also draws the rates of several sets
//! in one picture and their noise against the model.

use crate::record::Record;
use crate::records;
use anyhow::{Context, Result, anyhow, bail};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SIZE: (u32, u32) = (880, 520);
const BLUE: RGBColor = RGBColor(0x1f, 0x5a, 0xa6);
const RED: RGBColor = RGBColor(0xb3, 0x3a, 0x2e);
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);
/// Of lines that share a picture, from the first on; told apart without red against green.
const COLOURS: [RGBColor; 8] = [
    BLUE,
    RED,
    RGBColor(0xd8, 0x8c, 0x1e),
    RGBColor(0x1b, 0x1b, 0x1b),
    RGBColor(0x4f, 0xa8, 0xd8),
    RGBColor(0x7b, 0x3f, 0x98),
    RGBColor(0x8a, 0x6d, 0x4b),
    GREY,
];

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of records.
    #[arg(default_value = "docs/benchmarks/h200")]
    folder: PathBuf,
    /// Where the curves go.
    #[arg(long, value_name = "DIR", default_value = "target/plots")]
    out: PathBuf,
    /// Whose rates share a picture; all sets that were swept, if none are named.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    sets: Vec<String>,
}

/// Batches of one kind, whose sizes alone differ.
#[derive(Clone, Deserialize)]
pub struct Batch {
    device: String,
    backend: String,
    set: String,
    packing: usize,
    transform: String,
    op: String,
    batch: usize,
    bootstraps_per_s: f64,
    ms: Median,
}

#[derive(Clone, Deserialize)]
pub struct Median {
    pub median: f64,
}

/// The same of CKKS: runs of one operation, whose batches or levels differ.
#[derive(Deserialize)]
pub struct CkksRun {
    pub device: String,
    pub backend: String,
    pub set: String,
    pub op: String,
    pub batch: usize,
    pub level: usize,
    pub limbs: usize,
    pub per_s: f64,
    pub ms: Median,
    /// log2 of the deviation of slots.
    pub log2_deviation: f64,
    /// The same by the noise model.
    pub log2_model: f64,
}

impl From<&Record> for Batch {
    fn from(record: &Record) -> Self {
        Self {
            device: record.device.clone(),
            backend: record.backend.clone(),
            set: record.set.clone(),
            packing: record.packing,
            transform: record.transform.clone(),
            op: record.op.clone(),
            batch: record.batch,
            bootstraps_per_s: record.bootstraps_per_s,
            ms: Median { median: record.ms.median },
        }
    }
}

/// Outputs that tell a deviation within about one in a hundred.
const ENOUGH: u64 = 4096;

/// The deviation of a set's results, measured and by the noise model, in units of their modulus.
#[derive(Deserialize)]
struct Noise {
    model: f64,
    sigma_out: f64,
}

/// Draws every sweep of a folder of records, and what sets have in common.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut drawn = false;
    let (mut sweeps, mut noise) = (Vec::new(), BTreeMap::<String, Vec<f64>>::new());
    for (name, entry) in records::read(&arguments.folder)? {
        let all = entry.value.as_array().map_or(std::slice::from_ref(&entry.value), Vec::as_slice);
        for record in all {
            if let (Some(set), Ok(Noise { model, sigma_out })) =
                (record["set"].as_str(), Noise::deserialize(&record["noise"]))
                && model > 0.0
                && record["checked"].as_u64().is_some_and(|checked| checked >= ENOUGH)
            {
                noise.entry(set.into()).or_default().push(sigma_out / model);
            }
        }
        if entry.value.as_array().is_none_or(|list| list.len() < 2) {
            continue;
        }
        let of = || format!("{name} of {}", records::wanted(&entry.path));
        let paths = if entry.value[0]["scheme"] == "ckks" {
            let runs: Vec<CkksRun> = serde_json::from_value(entry.value).with_context(of)?;
            ckks_sweep(&arguments.out, &runs)?
        } else {
            let batches: Vec<Batch> = serde_json::from_value(entry.value).with_context(of)?;
            let paths = sweep(&arguments.out, &batches)?;
            sweeps.push(batches);
            paths
        };
        for path in paths {
            println!("{path}");
        }
        drawn = true;
    }
    if !drawn {
        bail!(
            "{}: no sweeps (`cargo xtask bench --batch 1,16,.. --json FILE`) in this folder",
            arguments.folder.display()
        );
    }
    let swept = |set: &String| sweeps.iter().flatten().any(|batch| batch.set == *set);
    if let Some(set) = arguments.sets.iter().find(|set| !swept(set)) {
        bail!("{}: no sweep of the set {set}", arguments.folder.display());
    }
    sweeps.retain(|batches| arguments.sets.is_empty() || arguments.sets.contains(&batches[0].set));
    for path in rates(&arguments.out, &sweeps)?.into_iter().chain(noises(&arguments.out, &noise)?) {
        println!("{path}");
    }
    Ok(true)
}

/// Places on both axes.
type Points = Vec<(f64, f64)>;

/// The rates of several sets by batch, for each backend a picture, of each set the transform whose
/// largest rate is higher.
fn rates(folder: &Path, sweeps: &[Vec<Batch>]) -> Result<Vec<String>> {
    let top = |batches: &[Batch]| batches.iter().map(|b| b.bootstraps_per_s).fold(0.0, f64::max);
    let mut best = BTreeMap::<(&str, &str, usize), &Vec<Batch>>::new();
    for batches in sweeps {
        let Batch { backend, set, packing, .. } = &batches[0];
        let kept = best.entry((backend, set, *packing)).or_insert(batches);
        if top(batches) > top(kept) {
            *kept = batches;
        }
    }
    let mut backends: Vec<&str> = best.keys().map(|(backend, ..)| *backend).collect();
    backends.dedup();
    let mut written = Vec::new();
    for backend in backends {
        let mut of: Vec<_> = best.iter().filter(|((of, ..), _)| *of == backend).collect();
        of.sort_by(|a, b| top(b.1).total_cmp(&top(a.1)));
        if of.len() < 2 {
            continue;
        }
        let device = &of[0].1[0].device;
        let lines = of.iter().enumerate().map(|(i, ((_, set, packing), batches))| {
            let label = if *packing > 1 { format!("{set} r={packing}") } else { (*set).into() };
            let points = batches.iter().map(|b| (b.batch as f64, b.bootstraps_per_s)).collect();
            Line { label, colour: COLOURS[i % COLOURS.len()], points }
        });
        let lines: Vec<Line> = lines.collect();
        let path = folder.join(format!("rates_{backend}.svg"));
        let names = ["batch (messages)", "messages a second"];
        let axes = axes(&lines).map(|axis| axis.log_scale());
        line_chart(&path, &format!("Bootstrappings on {device}"), names, axes, &lines)
            .map_err(|e| anyhow!("{}: {e}", path.display()))?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

/// What was measured of each set's noise, in units of what the noise model says.
fn noises(folder: &Path, noise: &BTreeMap<String, Vec<f64>>) -> Result<Option<String>> {
    if noise.len() < 2 {
        return Ok(None);
    }
    let path = folder.join("noise.svg");
    noise_chart(&path, noise).map_err(|e| anyhow!("{}: {e}", path.display()))?;
    Ok(Some(path.display().to_string()))
}

fn noise_chart(
    path: &Path,
    noise: &BTreeMap<String, Vec<f64>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<&String> = noise.keys().rev().collect();
    let ratios = || noise.values().flatten().copied();
    let tenths = |v: f64, round: fn(f64) -> f64| round(10.0 * v) / 10.0;
    let low = tenths(ratios().fold(0.95, f64::min), f64::floor);
    let high = tenths(ratios().fold(1.05, f64::max), f64::ceil);
    let height = 110 + 26 * names.len() as u32;
    let longest = names.iter().map(|name| name.len() as u32).max().unwrap_or(0);
    let root = SVGBackend::new(path, (SIZE.0, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let rows = (0..names.len() - 1).into_segmented();
    let mut chart = ChartBuilder::on(&root)
        .caption("Noise of results: measured / noise model", ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(20 + 8 * longest)
        .build_cartesian_2d(low..high, rows)?;
    let name = |row: &SegmentValue<usize>| match row {
        SegmentValue::Exact(i) | SegmentValue::CenterOf(i) => {
            names.get(*i).map_or(String::new(), |name| (*name).clone())
        }
        SegmentValue::Last => String::new(),
    };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25))
        .x_desc("above 1: more noise than the model says (runs of 4,096 outputs and more)")
        .x_label_formatter(&|v| format!("{v:.2}"))
        .y_labels(names.len())
        .y_label_formatter(&name)
        .label_style(("sans-serif", 14))
        .draw()?;
    let one = [(1.0, SegmentValue::Exact(0)), (1.0, SegmentValue::Last)];
    chart.draw_series(LineSeries::new(one, RED.stroke_width(2)))?;
    for (row, name) in names.iter().enumerate() {
        let at = |ratio: &f64| Circle::new((*ratio, SegmentValue::CenterOf(row)), 4, BLUE.mix(0.5));
        chart.draw_series(noise[*name].iter().map(at))?;
    }
    root.present()?;
    Ok(())
}

/// Two curves over one axis.
struct Curves {
    /// What is measured, over both.
    subject: String,
    /// The end of the names of both files.
    name: String,
    x: &'static str,
    /// What is counted a second.
    what: &'static str,
    /// The place on the axis, how many a second, milliseconds.
    points: Vec<(f64, f64, f64)>,
}

impl Curves {
    /// Writes `throughput_NAME.svg` and `latency_NAME.svg` to `folder`.
    fn write(&self, folder: &Path) -> Result<Vec<String>> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let throughput: Vec<_> = self.points.iter().map(|&(x, per_s, _)| (x, per_s)).collect();
        let latency: Vec<_> = self.points.iter().map(|&(x, _, ms)| (x, ms)).collect();
        let a_second = format!("{} a second", self.what);
        let mut written = Vec::new();
        for (kind, points, unit, colour) in [
            ("throughput", throughput, a_second.as_str(), BLUE),
            ("latency", latency, "milliseconds a batch (median)", RED),
        ] {
            let path = folder.join(format!("{kind}_{}.svg", self.name));
            // plotters' errors borrow the backend; keep their words only.
            let line = [Line { label: String::new(), colour, points }];
            let axes = axes(&line).map(|axis| axis.log_scale());
            line_chart(&path, &self.subject, [self.x, unit], axes, &line)
                .map_err(|e| anyhow!("{}: {e}", path.display()))?;
            written.push(path.display().to_string());
        }
        Ok(written)
    }
}

/// Writes the curves of one sweep to `folder`.
pub fn sweep(folder: &Path, batches: &[Batch]) -> Result<Vec<String>> {
    let first = batches.first().context("a plot needs at least one record")?;
    let Batch { device, backend, set, packing, transform, op, .. } = first;
    let curves = Curves {
        subject: format!("{set} {op} r={packing} on {device}, {transform}"),
        name: format!("{set}_r{packing}_{backend}_{transform}"),
        x: "batch (messages)",
        what: "bootstrappings",
        points: batches.iter().map(|r| (r.batch as f64, r.bootstraps_per_s, r.ms.median)).collect(),
    };
    curves.write(folder)
}

/// The same of a CKKS operation: over batches, or, where levels differ, over the limbs they have,
/// and then precision over levels, too.
pub fn ckks_sweep(folder: &Path, runs: &[CkksRun]) -> Result<Vec<String>> {
    let first = runs.first().context("a plot needs at least one record")?;
    let CkksRun { device, backend, set, op, batch, level, .. } = first;
    let over_levels = runs.iter().any(|run| run.level != *level);
    let (of, x, suffix) = match over_levels {
        true => (format!("batches of {batch}"), "limbs", "_levels"),
        false => (format!("level {level}"), "batch (ciphertexts)", ""),
    };
    let place = |run: &CkksRun| if over_levels { run.limbs } else { run.batch };
    let curves = Curves {
        subject: format!("{set} {op} on {device}, {of}"),
        name: format!("{set}_{op}_{backend}{suffix}"),
        x,
        what: "ciphertexts",
        points: runs.iter().map(|run| (place(run) as f64, run.per_s, run.ms.median)).collect(),
    };
    let mut written = curves.write(folder)?;
    if over_levels {
        let bits = |of: fn(&CkksRun) -> f64| {
            runs.iter().map(|run| (run.level as f64, -of(run))).collect::<Vec<_>>()
        };
        let line = |label: &str, colour, of| Line { label: label.into(), colour, points: bits(of) };
        let lines = [
            line("measured", BLUE, |run| run.log2_deviation),
            line("noise model", RED, |run| run.log2_model),
        ];
        let whole = |of: fn(&(f64, f64)) -> f64, margin: f64| {
            let all = || lines.iter().flat_map(|l| &l.points).map(of);
            let low = all().fold(f64::INFINITY, f64::min).floor();
            low - margin..all().fold(f64::NEG_INFINITY, f64::max).ceil() + margin
        };
        let axes = [whole(|p| p.0, 0.0), whole(|p| p.1, 1.0)];
        let names = ["level of the operands", "bits after the point (-log2 of the deviation)"];
        let path = folder.join(format!("precision_{}.svg", curves.name));
        line_chart(&path, &curves.subject, names, axes, &lines)
            .map_err(|e| anyhow!("{}: {e}", path.display()))?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

/// One of the lines of a picture.
struct Line {
    label: String,
    colour: RGBColor,
    points: Points,
}

/// Lines over two axes, and, of several, what each is.
fn line_chart<Axis>(
    path: &Path,
    subject: &str,
    [x_name, y_name]: [&str; 2],
    [x, y]: [Axis; 2],
    lines: &[Line],
) -> Result<(), Box<dyn std::error::Error>>
where
    Axis: AsRangedCoord<Value = f64>,
    Axis::CoordDescType: ValueFormatter<f64>,
{
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(subject, ("sans-serif", 18))
        .margin(16)
        .margin_right(36)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25))
        .x_desc(x_name)
        .y_desc(y_name)
        .x_label_formatter(&|v| format!("{v:.0}"))
        .y_label_formatter(&|v| if *v < 100.0 { format!("{v:.1}") } else { format!("{v:.0}") })
        .label_style(("sans-serif", 14))
        .draw()?;
    for Line { label, colour, points } in lines {
        let stroke = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), stroke))?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], stroke));
        chart.draw_series(points.iter().map(|&p| Circle::new(p, 2, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .label_font(("sans-serif", 14))
        .draw()?;
    root.present()?;
    Ok(())
}

/// The ends of both axes: whole decades.
fn axes(lines: &[Line]) -> [std::ops::Range<f64>; 2] {
    let all = |of: fn(&(f64, f64)) -> f64| lines.iter().flat_map(|l| &l.points).map(of);
    [decades(all(|p| p.0)), decades(all(|p| p.1))]
}

/// The whole decades that hold all values, so that the axis has labels to read off.
fn decades(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    10f64.powf(low.log10().floor())..10f64.powf((high * 1.001).log10().ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_share_a_picture_of_rates_and_one_of_noise() {
        let folder = std::env::temp_dir().join(format!("girih-sets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let sweep = |set: &str, transform: &str, rate: f64| {
            let record = |batch: usize| {
                serde_json::json!({"device": "a device", "backend": "cuda", "set": set,
                    "packing": 1, "transform": transform, "op": "nand", "batch": batch,
                    "bootstraps_per_s": rate * batch as f64, "ms": {"median": 1.0},
                    "checked": 4096 * batch,
                    "noise": {"model": 8.0, "sigma_out": 8.4}})
            };
            let text = serde_json::Value::from(vec![record(1), record(16)]).to_string();
            std::fs::write(folder.join(format!("{set}_{transform}.json")), text).expect("written");
        };
        sweep("FIRST", "ntt-u32", 7.0);
        sweep("FIRST", "fft-f64", 80.0);
        sweep("SECOND", "ntt-u32", 9.0);
        let out = folder.join("out");
        let arguments = |sets: &[&str]| Arguments {
            folder: folder.clone(),
            out: out.clone(),
            sets: sets.iter().map(|set| (*set).into()).collect(),
        };
        assert!(run(&arguments(&[])).expect("it draws"));
        for (name, words) in [
            ("rates_cuda.svg", ["FIRST", "SECOND", "messages a second"]),
            ("noise.svg", ["FIRST", "SECOND", "1.06"]),
        ] {
            let svg = std::fs::read_to_string(out.join(name)).expect("written");
            assert!(words.iter().all(|word| svg.contains(word)), "{name}: {svg}");
        }
        // The faster transform's line: 1,280 a second are above the axis of the other's 112.
        let svg = std::fs::read_to_string(out.join("rates_cuda.svg")).expect("written");
        assert!(svg.contains("10000"), "{svg}");
        let absent = run(&arguments(&["THIRD"])).expect_err("no such set");
        assert!(absent.to_string().contains("no sweep of the set THIRD"), "{absent}");
        std::fs::remove_dir_all(&folder).expect("ours");
    }

    #[test]
    fn sweeps_of_ckks_are_drawn_over_batches_and_over_limbs() {
        let folder = std::env::temp_dir().join(format!("girih-plots-{}", std::process::id()));
        let run = |batch: usize, level: usize| CkksRun {
            device: "a device".into(),
            backend: "cpu".into(),
            set: "SET".into(),
            op: "rotate".into(),
            batch,
            level,
            limbs: 2 * level + 1,
            per_s: 10.0 / (level + 1) as f64,
            ms: Median { median: (100 * batch * (level + 1)) as f64 },
            log2_deviation: -27.6,
            log2_model: -27.5,
        };
        for (runs, name, axis) in [
            ([run(1, 3), run(4, 3)], "SET_rotate_cpu", "batch (ciphertexts)"),
            // Level 0 has no place on a logarithmic axis; its limbs have.
            ([run(1, 0), run(1, 3)], "SET_rotate_cpu_levels", "limbs"),
        ] {
            let written = ckks_sweep(&folder, &runs).expect("it draws");
            let wanted = ["throughput", "latency"].map(|kind| format!("{kind}_{name}.svg"));
            assert!(written.iter().zip(&wanted).all(|(path, name)| path.ends_with(name.as_str())));
            let svg = std::fs::read_to_string(folder.join(&wanted[0])).expect("written");
            assert!(svg.contains(axis) && svg.contains("ciphertexts a second"), "{name}");
            let precision = folder.join(format!("precision_{name}.svg"));
            assert_eq!(precision.exists(), name.ends_with("_levels"));
            let bits = std::fs::read_to_string(precision).unwrap_or_default();
            assert!(bits.is_empty() || bits.contains("noise model"), "{name}");
        }
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
