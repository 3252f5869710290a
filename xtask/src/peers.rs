//! girih beside its peers: one row a kind of work, from records; as README.md's table and picture.

use crate::records;
use crate::thousands::thousands;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// A work that a peer has a figure for.
struct Work {
    /// What is done.
    what: &'static str,
    /// Which record says it, and the field there (a JSON pointer).
    record: &'static str,
    field: &'static str,
    unit: Unit,
    /// The peer's figure, in the same unit.
    peer: f64,
    /// Who, and on what.
    source: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// How many a second: more is better.
    PerSecond,
    /// Milliseconds: less is better.
    Milliseconds,
    /// Seconds: less is better.
    Seconds,
}

/// Records are of one H200. Peers that could be run beside us were, on such a card; the others'
/// figures are their authors' own.
const WORKS: [Work; 10] = [
    Work {
        what: "gates, five bits to a ciphertext (M3)",
        record: "cuda_M3_r5_fft",
        field: "/bootstraps_per_s",
        unit: Unit::PerSecond,
        peer: 40_166.0,
        source: "BOLT-FHE, RTX 4090, published",
    },
    Work {
        what: "look-ups of 4 bits, TFHE-rs's own parameters",
        record: "cuda_TFHERS_2_2_r1_fft",
        field: "/bootstraps_per_s",
        unit: Unit::PerSecond,
        peer: 47_900.0,
        source: "TFHE-rs 1.8.2, H200, run by us",
    },
    Work {
        what: "one product of 32,768 numbers, 45 limbs",
        record: "ckks_d40_30bit_multiply_level_27",
        field: "/ms_queued",
        unit: Unit::Milliseconds,
        peer: 0.411,
        source: "Cheddar 8df8b26, H200, run by us",
    },
    Work {
        what: "gates on bits in CKKS slots, 262,144 at once (DISCRETE_1)",
        record: "discrete_1_gate_batch_8",
        field: "/numbers_per_s",
        unit: Unit::PerSecond,
        peer: 213_813.0,
        source: "girih's own TFHE, GIRIH_GATE, H200",
    },
    Work {
        what: "sums of 64-bit integers, 262,144 at once (DISCRETE_4)",
        record: "discrete_4_add64_8",
        field: "/operations_per_s",
        unit: Unit::PerSecond,
        peer: 510.0,
        source: "TFHE-rs, eight H100, published",
    },
    Work {
        what: "one CKKS bootstrapping of 32,768 numbers",
        record: "ckks_d40_30bit_low_stc_first_bootstrap",
        field: "/ms_each",
        unit: Unit::Milliseconds,
        peer: 16.1,
        source: "Theodosian, H200, published",
    },
    Work {
        what: "training a regression (HELR), an iteration of 1,024 rows",
        record: "example_helr_1024",
        field: "/figures/milliseconds_an_iteration",
        unit: Unit::Milliseconds,
        peer: 19.8,
        source: "Theodosian, H200, published",
    },
    Work {
        what: "ResNet-20, eight images at once, an image",
        record: "example_resnet20_full",
        field: "/figures/milliseconds_an_image",
        unit: Unit::Milliseconds,
        peer: 528.0,
        source: "Theodosian, H200, published",
    },
    Work {
        what: "the encoder of BERT-base, 128 tokens, twelve layers",
        record: "example_bert",
        field: "/figures/seconds",
        unit: Unit::Seconds,
        peer: 12.2,
        source: "Perseus, RTX PRO 6000, published",
    },
    Work {
        what: "sorting 16,384 numbers",
        record: "example_sort_16384",
        field: "/figures/seconds",
        unit: Unit::Seconds,
        peer: 10.2,
        source: "Cheddar, H100, published",
    },
];

impl Unit {
    fn figure(self, value: f64) -> String {
        let digits = match value {
            v if v < 1.0 => 3,
            v if v < 10.0 => 2,
            v if v < 100.0 => 1,
            _ => 0,
        };
        match self {
            Unit::PerSecond => format!("{} a second", thousands(value)),
            Unit::Milliseconds => format!("{value:.digits$} ms"),
            Unit::Seconds => format!("{value:.digits$} s"),
        }
    }
}

/// A row: the work, our figure, and how many times the peer's it is.
struct Row {
    work: &'static Work,
    value: f64,
    times: f64,
}

/// The record of a whole batch where it is a sweep, else the record.
fn value(entry: &Value, field: &str) -> Option<f64> {
    let record = match entry.as_array() {
        Some(list) => list.iter().find(|record| {
            let packing = record["packing"].as_u64().unwrap_or(1);
            record["batch"].as_u64() == Some(16_384u64.next_multiple_of(packing))
        })?,
        None => entry,
    };
    record.pointer(field)?.as_f64()
}

fn rows(folder: &Path) -> Result<Vec<Row>> {
    let entries = records::read(folder)?;
    let row = |work: &'static Work| {
        let entry = entries
            .get(work.record)
            .with_context(|| format!("{}: there is no record {}", folder.display(), work.record))?;
        let value = value(&entry.value, work.field)
            .with_context(|| format!("{}: it has no number {}", work.record, work.field))?;
        if value.is_nan() || value <= 0.0 {
            bail!("{}: {} is {value}", work.record, work.field);
        }
        let times =
            if work.unit == Unit::PerSecond { value / work.peer } else { work.peer / value };
        Ok(Row { work, value, times })
    };
    WORKS.iter().map(row).collect()
}

/// README.md's table.
///
/// # Errors
/// For a record that is missing or lacks its figure.
pub fn table(folder: &Path) -> Result<String> {
    let mut text = "| work | girih | peer | times as fast |\n|---|---|---|---|\n".to_owned();
    for Row { work, value, times } in rows(folder)? {
        let (ours, peer) = (work.unit.figure(value), work.unit.figure(work.peer));
        let Work { what, source, .. } = work;
        writeln!(text, "| {what} | **{ours}** | {peer} ({source}) | {times:.1} |")?;
    }
    Ok(text)
}

/// The same as a picture: a bar a work, by the logarithm of how many times as fast it is; the
/// dashed line at 1 is the peer, thin ones are at powers of ten.
///
/// # Errors
/// As [`table`].
pub fn picture(folder: &Path) -> Result<String> {
    let rows = rows(folder)?;
    // Ten at least, so that there is a scale.
    let longest = rows.iter().map(|row| row.times).fold(10.0, f64::max);
    let (width, left, line, top) = (880.0, 16.0, 52.0, 64.0);
    let bars = width - 2.0 * left - 70.0;
    // Where the peer is, from the left.
    let one = 24.0;
    let length = |times: f64| (one + (bars - one) * times.ln() / longest.ln()).max(2.0);
    let height = top + line * rows.len() as f64 + 16.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" role=\"img\" aria-label=\"girih beside its peers\">\n<rect \
         width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n<text x=\"{left}\" y=\"30\" \
         font-size=\"19\" font-weight=\"bold\">girih on one H200: times as fast as its \
         peers</text>\n<text x=\"{left}\" y=\"50\" font-size=\"13\" fill=\"#555555\">dashed: the \
         peer named on the right of each line; thin: 10, 100, .. times as fast</text>\n"
    );
    let mut power = 10.0;
    while power < longest {
        let (x, below) = (left + length(power), height - 10.0);
        writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{below:.0}\" \
             stroke=\"#dddddd\"/>"
        )?;
        power *= 10.0;
    }
    for (i, Row { work, value, times }) in rows.iter().enumerate() {
        let y = top + line * i as f64;
        let (bar, x) = (length(*times), left + length(1.0));
        let (ours, peer) = (work.unit.figure(*value), work.unit.figure(work.peer));
        let Work { what, source, .. } = work;
        writeln!(
            svg,
            "<text x=\"{left}\" y=\"{:.0}\" font-size=\"14\">{what}: {ours}</text>\n<text \
             x=\"{:.0}\" y=\"{:.0}\" font-size=\"12\" fill=\"#555555\" \
             text-anchor=\"end\">{source}: {peer}</text>\n<rect x=\"{left}\" y=\"{:.0}\" \
             width=\"{bar:.1}\" height=\"16\" rx=\"2\" fill=\"#1f5aa6\"/>\n<text x=\"{:.1}\" \
             y=\"{:.0}\" font-size=\"14\" font-weight=\"bold\">{times:.1}</text>\n<line \
             x1=\"{x:.1}\" y1=\"{:.0}\" x2=\"{x:.1}\" y2=\"{:.0}\" stroke=\"#d88c1e\" \
             stroke-width=\"2\" stroke-dasharray=\"3 2\"/>",
            y + 18.0,
            width - left,
            y + 18.0,
            y + 25.0,
            left + bar + 6.0,
            y + 38.0,
            y + 23.0,
            y + 43.0,
        )?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_or_more() {
        assert_eq!(Unit::PerSecond.figure(342_790.4), "342,790 a second");
        assert_eq!(Unit::Milliseconds.figure(0.2027), "0.203 ms");
        assert_eq!(Unit::Seconds.figure(10.2), "10.2 s");
        assert_eq!(Unit::Milliseconds.figure(143.7), "144 ms");
    }

    #[test]
    fn a_sweep_answers_with_its_whole_batch() {
        let sweep = serde_json::json!([
            { "packing": 5, "batch": 5, "bootstraps_per_s": 1.0 },
            { "packing": 5, "batch": 16_385, "bootstraps_per_s": 2.0 },
        ]);
        assert_eq!(value(&sweep, "/bootstraps_per_s"), Some(2.0));
        assert_eq!(value(&sweep[0], "/bootstraps_per_s"), Some(1.0));
        assert_eq!(value(&sweep[0], "/ms_each"), None);
    }
}
