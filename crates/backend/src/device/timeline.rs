//! When host and device did what, for looking at: off until [`start`],
//! and then one list for the process.

use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use web_time::Instant;

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeSpan {
    /// What was busy: `host`, or a queue of the device.
    pub lane: &'static str,
    /// What it was busy with.
    pub what: String,
    /// Milliseconds from [`start`] to its beginning; negative for work from before.
    pub start_ms: f64,
    /// Milliseconds from [`start`] to its end.
    pub end_ms: f64,
}

struct Recorder {
    origin: Instant,
    spans: Vec<TimeSpan>,
}

/// Read before the lock: a recorder that is off costs one load.
static ON: AtomicBool = AtomicBool::new(false);
static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

// A list of spans holds no invariant that a panic elsewhere could break.
fn recorder() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts recording, from an empty list.
pub fn start() {
    *recorder() = Some(Recorder { origin: Instant::now(), spans: Vec::new() });
    ON.store(true, Ordering::Relaxed);
}

/// Whether spans are recorded.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Stops recording; the spans since [`start`], by their beginnings.
pub fn stop() -> Vec<TimeSpan> {
    ON.store(false, Ordering::Relaxed);
    let mut spans = recorder().take().map_or_else(Vec::new, |r| r.spans);
    spans.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
    spans
}

/// Records what was measured elsewhere: seconds before and after `at`.
pub fn add(lane: &'static str, what: &str, at: Instant, start_s: f64, end_s: f64) {
    if let Some(recorder) = recorder().as_mut() {
        let at = match at.checked_duration_since(recorder.origin) {
            Some(after) => after.as_secs_f64(),
            None => -recorder.origin.duration_since(at).as_secs_f64(),
        };
        let (start_ms, end_ms) = (1e3 * (at + start_s), 1e3 * (at + end_s));
        recorder.spans.push(TimeSpan { lane, what: what.into(), start_ms, end_ms });
    }
}

/// Work of the host from its making to its drop.
#[must_use = "it ends where it is dropped"]
pub struct HostSpan(Option<(&'static str, Instant)>);

/// Begins a span of the host.
pub fn host(what: &'static str) -> HostSpan {
    HostSpan(is_on().then(|| (what, Instant::now())))
}

impl Drop for HostSpan {
    fn drop(&mut self) {
        if let Some((what, start)) = self.0 {
            add("host", what, start, 0.0, start.elapsed().as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_recorded_only_between_start_and_stop() {
        drop(host("before"));
        start();
        let outer = host("outer");
        drop(host("inner"));
        drop(outer);
        add("kernels", "early", Instant::now(), -1e3, -999.0);
        let spans = stop();
        drop(host("after"));
        assert_eq!(
            spans.iter().map(|s| (s.lane, s.what.as_str())).collect::<Vec<_>>(),
            [("kernels", "early"), ("host", "outer"), ("host", "inner")]
        );
        let [early, outer, inner] = &spans[..] else { unreachable!() };
        assert!(early.end_ms < 0.0 && (early.end_ms - early.start_ms - 1e3).abs() < 1e-6);
        assert!(outer.start_ms <= inner.start_ms && inner.end_ms <= outer.end_ms);
        assert!(stop().is_empty());
    }
}
