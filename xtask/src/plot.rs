//! SVG curves of throughput and latency against batch size.

use crate::record::Record;
use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (880, 520);
const BLUE: RGBColor = RGBColor(0x1f, 0x5a, 0xa6);
const RED: RGBColor = RGBColor(0xb3, 0x3a, 0x2e);
const GREY: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// Writes `throughput_SET_BACKEND.svg` and `latency_SET_BACKEND.svg` to `folder`, from the records
/// of one sweep.
pub fn sweep(folder: &Path, records: &[Record]) -> Result<Vec<String>> {
    let first = records.first().context("a plot needs at least one record")?;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let subject = format!(
        "{} {} r={} on {}, {}",
        first.set, first.op, first.packing, first.device, first.transform
    );
    let throughput: Vec<(f64, f64)> =
        records.iter().map(|r| (r.batch as f64, r.bootstraps_per_s)).collect();
    let latency: Vec<(f64, f64)> = records.iter().map(|r| (r.batch as f64, r.ms.median)).collect();
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
