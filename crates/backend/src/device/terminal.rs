//! Progress on a terminal: one line, from the moment on that work takes long.

use super::preparation::{Preparation, preparations_running};
use super::progress::Progress;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use web_time::Instant;

/// Work that ends sooner is not shown.
const LONG: Duration = Duration::from_secs(2);
/// Between two lines on a terminal.
const GLANCE: Duration = Duration::from_millis(200);
/// Between two lines in a file.
const LINES: Duration = Duration::from_secs(5);
/// Work that was silent for so long has ended, or begun anew under the same name.
const SILENCE: Duration = Duration::from_secs(5);
/// Longer lines would break on a narrow terminal, and could not be wiped.
const COLUMNS: usize = 79;

/// Shows on standard error how far work has come once it has taken two seconds: what is done, how
/// much of it there is, and about how long the rest takes. The line goes when the work is done.
///
/// Stages that report nothing, such as recording and compilation, are named with how many of them
/// were begun. Where standard error is no terminal, nothing is shown, but by
/// [`TerminalProgress::with_lines`].
#[derive(Debug, Default)]
pub struct TerminalProgress {
    lines: bool,
}

impl TerminalProgress {
    /// Shows progress on a terminal alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also writes a line every five seconds where standard error is a file or a pipe.
    #[must_use]
    pub fn with_lines(self) -> Self {
        Self { lines: true }
    }
}

impl Progress for TerminalProgress {
    fn report(&self, what: &str, done: usize, total: usize) {
        let interactive = std::io::stderr().is_terminal();
        if !interactive && !self.lines {
            return;
        }
        if interactive {
            watch();
        }
        let mut screen = screen();
        let every = if interactive { GLANCE } else { LINES };
        let line = screen.heard(what, (done, total), every, Instant::now());
        show(line, interactive);
    }

    fn note(&self, message: &str) {
        let interactive = std::io::stderr().is_terminal();
        if interactive || self.lines {
            let line = screen().wiped();
            show(line, interactive);
            eprintln!("note: {message}");
        }
    }
}

/// A line that replaces the one before, of which an empty one leaves nothing.
fn show(line: Option<String>, interactive: bool) {
    let Some(line) = line else { return };
    // Whoever closed standard error does not look.
    let _ = match interactive {
        true => write!(std::io::stderr(), "\r\x1b[2K{line}"),
        false if line.is_empty() => Ok(()),
        false => writeln!(std::io::stderr(), "{line}"),
    };
}

/// Looks from time to time at what reports nothing, until the process ends.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let look = || {
            loop {
                std::thread::sleep(GLANCE);
                let running = preparations_running();
                let mut screen = screen();
                show(screen.looked(&running, Instant::now()), true);
            }
        };
        // Without a thread to spare, what reports is shown all the same.
        let _ = std::thread::Builder::new().name("progress".into()).spawn(look);
    });
}

/// Work that reports.
#[derive(Debug)]
struct Work {
    what: String,
    /// When it was first heard of, and how much was done then.
    since: Instant,
    from: usize,
    done: usize,
    last: Instant,
}

/// What the one line of a terminal shows.
#[derive(Debug, Default)]
struct Screen {
    works: Vec<Work>,
    drawn: Option<Instant>,
}

// A line half drawn holds no invariant that a panic elsewhere could break.
fn screen() -> MutexGuard<'static, Screen> {
    static SCREEN: Mutex<Screen> = Mutex::new(Screen { works: Vec::new(), drawn: None });
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// The line after a report, if it changes; empty where it is wiped.
    fn heard(
        &mut self,
        what: &str,
        (done, total): (usize, usize),
        every: Duration,
        now: Instant,
    ) -> Option<String> {
        self.works.retain(|work| now.duration_since(work.last) < SILENCE);
        let known = self.works.iter().position(|work| work.what == what);
        if done >= total {
            known.map(|at| self.works.remove(at));
            return if self.works.is_empty() { self.wiped() } else { None };
        }
        let at = known.unwrap_or_else(|| {
            let what = what.to_owned();
            self.works.push(Work { what, since: now, from: done, done, last: now });
            self.works.len() - 1
        });
        let work = &mut self.works[at];
        // Threads may overtake each other between counting and reporting.
        work.done = work.done.max(done);
        work.last = now;
        let drawn = self.drawn.is_none_or(|drawn| now.duration_since(drawn) >= every);
        if now.duration_since(work.since) < LONG || !drawn {
            return None;
        }
        let mut line = format!("{what}: {} of {total}", work.done);
        let made = work.done - work.from;
        if made > 0 {
            let each = now.duration_since(work.since).as_secs_f64() / made as f64;
            let rest = total.saturating_sub(work.done);
            line += &format!(", about {} left", clock(each * rest as f64));
        }
        self.drawn = Some(now);
        Some(line.chars().take(COLUMNS).collect())
    }

    /// The line after a look at stages that report nothing.
    fn looked(&mut self, running: &[(Preparation, Duration, u64)], now: Instant) -> Option<String> {
        if self.works.iter().any(|work| now.duration_since(work.last) < SILENCE) {
            return None;
        }
        let long = running.iter().filter(|(_, took, _)| *took >= LONG);
        let one = |(what, took, count): &(Preparation, Duration, u64)| {
            format!("{} ({count} begun, {})", what.name(), clock(took.as_secs_f64()))
        };
        let line = long.map(one).collect::<Vec<_>>().join(", ");
        if line.is_empty() {
            return self.wiped();
        }
        self.drawn = Some(now);
        Some(line.chars().take(COLUMNS).collect())
    }

    /// An empty line, where there is one.
    fn wiped(&mut self) -> Option<String> {
        self.drawn.take().map(|_| String::new())
    }
}

/// Seconds as people read them.
fn clock(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_shown_with_what_is_left_and_wiped_when_done() {
        let (mut screen, begin) = (Screen::default(), Instant::now());
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut heard = |done, ms| screen.heard("keys", (done, 100), GLANCE, at(ms));
        // Nothing of the first two seconds; then 40 more in 2 s are 60 in 3.
        assert_eq!(heard(0, 0), None);
        assert_eq!(heard(39, 1999), None);
        assert_eq!(heard(40, 2000).as_deref(), Some("keys: 40 of 100, about 3 s left"));
        // Not more often than anyone looks, and never backwards.
        assert_eq!(heard(41, 2100), None);
        assert_eq!(heard(30, 2200).as_deref(), Some("keys: 41 of 100, about 4 s left"));
        assert_eq!(heard(100, 2250).as_deref(), Some(""));
        assert_eq!(heard(100, 2260), None);
        // Work of the same name begins anew, also where the one before was given up.
        assert_eq!(heard(10, 4400), None);
        assert_eq!(heard(11, 9500), None);
        assert_eq!(heard(13, 11_500).as_deref(), Some("keys: 13 of 100, about 87 s left"));
    }

    #[test]
    fn one_line_shows_several_works_in_turn() {
        let (mut screen, begin) = (Screen::default(), Instant::now());
        let at = |ms: u64| begin + Duration::from_millis(ms);
        for what in ["one", "two"] {
            assert_eq!(screen.heard(what, (0, 4), GLANCE, at(0)), None);
        }
        let line = screen.heard("one", (1, 4), GLANCE, at(2000));
        assert_eq!(line.as_deref(), Some("one: 1 of 4, about 6 s left"));
        let line = screen.heard("two", (2, 4), GLANCE, at(3000));
        assert_eq!(line.as_deref(), Some("two: 2 of 4, about 3 s left"));
        // The line goes with the last of them.
        assert_eq!(screen.heard("two", (4, 4), GLANCE, at(3100)), None);
        assert_eq!(screen.heard("one", (4, 4), GLANCE, at(3200)).as_deref(), Some(""));
        let long = "w".repeat(100);
        assert_eq!(screen.heard(&long, (0, 9), LINES, at(4000)), None);
        let line = screen.heard(&long, (1, 9), LINES, at(6000)).expect("it takes long");
        assert_eq!(line.len(), COLUMNS);
        assert_eq!(screen.heard(&long, (2, 9), LINES, at(10_999)), None);
    }

    #[test]
    fn stages_that_report_nothing_are_named() {
        let (mut screen, begin) = (Screen::default(), Instant::now());
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let running = |seconds| {
            let lasts = Duration::from_secs(seconds);
            [(Preparation::Recording, lasts, 12), (Preparation::Encoding, Duration::ZERO, 7)]
        };
        assert_eq!(screen.looked(&running(1), at(0)), None);
        let line = screen.looked(&running(3), at(2000));
        assert_eq!(line.as_deref(), Some("recording (12 begun, 3 s)"));
        assert_eq!(screen.looked(&running(0), at(2200)).as_deref(), Some(""));
        assert_eq!(screen.looked(&running(0), at(2400)), None);
        // What reports goes before.
        assert_eq!(screen.heard("keys", (1, 9), GLANCE, at(3000)), None);
        assert_eq!(screen.looked(&running(9), at(3200)), None);
    }

    #[test]
    fn times_are_rounded_up() {
        let found = [0.0, 0.2, 99.0, 99.5, 121.0, 7200.0].map(clock);
        assert_eq!(found, ["0 s", "1 s", "99 s", "2 min", "3 min", "2 h"]);
    }
}
