//! `bench --timeline`: what host and device did and when, as trace events and in short.

use anyhow::{Context, Result};
use girih_backend::timeline::{self, TimeSpan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A timeline in the making.
pub struct Timeline {
    path: PathBuf,
}

impl Timeline {
    /// Starts recording; what is recorded goes to `path`.
    pub fn start(path: &Path) -> Self {
        timeline::start();
        Self { path: path.to_owned() }
    }

    /// Ends recording, writes the file, and tells how long each lane was busy with what.
    pub fn write(self, say: &dyn Fn(String)) -> Result<()> {
        let spans = timeline::stop();
        let text = serde_json::to_string(&trace_events(&spans))?;
        std::fs::write(&self.path, text).with_context(|| self.path.display().to_string())?;
        say(format!("timeline  {} spans in {}", spans.len(), self.path.display()));
        for ((lane, what), (count, ms)) in totals(&spans) {
            say(format!("          {lane:>10}  {ms:>10.2} ms in {count:>5} x {what}"));
        }
        Ok(())
    }
}

/// Complete events in microseconds, one thread a lane: the format of Chrome's tracing, which
/// Perfetto reads.
fn trace_events(spans: &[TimeSpan]) -> serde_json::Value {
    let event = |s: &TimeSpan| {
        let (start, end) = (1e3 * s.start_ms, 1e3 * s.end_ms);
        let (lane, name, length) = (s.lane, &s.what, end - start);
        serde_json::json!({
            "ph": "X", "pid": "girih", "tid": lane, "name": name, "ts": start, "dur": length
        })
    };
    spans.iter().map(event).collect()
}

/// How often and how long in all each lane did each kind of thing; sizes of copies and launches are
/// left aside.
fn totals(spans: &[TimeSpan]) -> BTreeMap<(&str, &str), (usize, f64)> {
    let mut totals = BTreeMap::new();
    for span in spans {
        let numbered = span.what.starts_with(|c: char| c.is_ascii_digit());
        let what =
            if numbered { "copies" } else { span.what.split(", ").next().unwrap_or_default() };
        let (count, ms) = totals.entry((span.lane, what)).or_insert((0, 0.0));
        *count += 1;
        *ms += span.end_ms - span.start_ms;
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lane: &'static str, what: &str, start_ms: f64, end_ms: f64) -> TimeSpan {
        TimeSpan { lane, what: what.into(), start_ms, end_ms }
    }

    #[test]
    fn kinds_add_up_whatever_their_sizes() {
        let spans = [
            span("kernels", "rotate, 4 blocks of 32", 0.0, 2.0),
            span("kernels", "rotate, 8 blocks of 32", 2.0, 5.0),
            span("uploads", "4096 bytes", 0.0, 1.0),
        ];
        let totals = totals(&spans);
        assert_eq!(totals[&("kernels", "rotate")], (2, 5.0));
        assert_eq!(totals[&("uploads", "copies")], (1, 1.0));
        let events = trace_events(&spans);
        assert_eq!(events[1]["ts"], 2e3);
        assert_eq!(events[1]["dur"], 3e3);
    }
}
