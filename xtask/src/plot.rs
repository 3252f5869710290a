//! SVG curves of throughput and latency against batch size: `bench --plot`, and `cargo xtask plot`
//! from records.

use crate::record::Record;
use crate::records;
use anyhow::{Context, Result, anyhow, bail};
use plotters::prelude::*;
use serde::Deserialize;
use std::path::{Path, PathBuf};

const SIZE: (u32, u32) = (880, 520);
const BLUE: RGBColor = RGBColor(0x1f, 0x5a, 0xa6);
const RED: RGBColor = RGBColor(0xb3, 0x3a, 0x2e);
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder of records.
    #[arg(default_value = "docs/benchmarks/h200")]
    folder: PathBuf,
    /// Where the curves go.
    #[arg(long, value_name = "DIR", default_value = "target/plots")]
    out: PathBuf,
}

/// Batches of one kind, whose sizes alone differ.
#[derive(Deserialize)]
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

#[derive(Deserialize)]
struct Median {
    median: f64,
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

/// Draws every sweep of a folder of records.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut drawn = false;
    for (name, entry) in records::read(&arguments.folder)? {
        if entry.value.as_array().is_none_or(|list| list.len() < 2) {
            continue;
        }
        let batches: Vec<Batch> = serde_json::from_value(entry.value)
            .with_context(|| format!("{name} of {}", records::wanted(&entry.path)))?;
        for path in sweep(&arguments.out, &batches)? {
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
    Ok(true)
}

/// Writes `throughput_SET_BACKEND.svg` and `latency_SET_BACKEND.svg` to `folder`, from the batches
/// of one sweep.
pub fn sweep(folder: &Path, batches: &[Batch]) -> Result<Vec<String>> {
    let first = batches.first().context("a plot needs at least one record")?;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let subject = format!(
        "{} {} r={} on {}, {}",
        first.set, first.op, first.packing, first.device, first.transform
    );
    let throughput: Vec<(f64, f64)> =
        batches.iter().map(|r| (r.batch as f64, r.bootstraps_per_s)).collect();
    let latency: Vec<(f64, f64)> = batches.iter().map(|r| (r.batch as f64, r.ms.median)).collect();
    let mut written = Vec::new();
    for (kind, points, unit, colour) in [
        ("throughput", throughput, "bootstrappings a second", BLUE),
        ("latency", latency, "milliseconds a batch (median)", RED),
    ] {
        let name = format!(
            "{kind}_{}_r{}_{}_{}.svg",
            first.set, first.packing, first.backend, first.transform
        );
        let path = folder.join(&name);
        // plotters' errors borrow the backend; keep their words only.
        curve(&path, &subject, unit, colour, &points)
            .map_err(|e| anyhow!("{}: {e}", path.display()))?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

/// The whole decades that hold all values, so that the axis has labels to read off.
fn decades(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    10f64.powf(low.log10().floor())..10f64.powf((high * 1.001).log10().ceil())
}

fn curve(
    path: &Path,
    subject: &str,
    unit: &str,
    colour: RGBColor,
    points: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let x = decades(points.iter().map(|p| p.0));
    let y = decades(points.iter().map(|p| p.1));
    let mut chart = ChartBuilder::on(&root)
        .caption(subject, ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(x.log_scale(), y.log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25))
        .x_desc("batch (messages)")
        .y_desc(unit)
        .x_label_formatter(&|v| format!("{v:.0}"))
        .y_label_formatter(&|v| if *v < 10.0 { format!("{v:.1}") } else { format!("{v:.0}") })
        .label_style(("sans-serif", 14))
        .draw()?;
    chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, colour.filled())))?;
    root.present()?;
    Ok(())
}
