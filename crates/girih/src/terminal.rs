//! Progress on a terminal, from the moment on that work takes long.

use girih_backend::{Preparation, Progress, preparations_running};
use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use std::io::{IsTerminal, Write as _, stderr};
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Work that ends sooner is not shown.
const LONG: Duration = Duration::from_secs(2);
/// Between two looks at stages that report nothing.
const GLANCE: Duration = Duration::from_millis(200);
/// Between two lines in a file.
const LINES: Duration = Duration::from_secs(5);
/// Work that was silent for so long has ended, or begun anew under the same name; not programs,
/// which say when they end.
const SILENCE: Duration = Duration::from_secs(5);

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
        let interactive = stderr().is_terminal();
        if interactive {
            watch();
        } else if !self.lines {
            return;
        }
        let line = screen().heard(what, (done, total), Instant::now());
        if let Some(line) = line.filter(|_| !interactive) {
            // Whoever closed standard error does not look.
            let _ = writeln!(stderr(), "{line}");
        }
    }

    fn begin(&self, what: &str, total: usize) {
        if stderr().is_terminal() || self.lines {
            screen().begin(what, total, Instant::now());
            self.report(what, 0, total);
        }
    }

    fn end(&self, what: &str) {
        screen().end(what);
    }

    fn note(&self, message: &str) {
        if stderr().is_terminal() || self.lines {
            let _ = screen().bars.suspend(|| writeln!(stderr(), "note: {message}"));
        }
    }
}

/// Looks from time to time at what reports nothing, until the process ends.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let look = || {
            loop {
                std::thread::sleep(GLANCE);
                screen().looked(&preparations_running(), Instant::now());
            }
        };
        // Without a thread to spare, what reports is shown all the same.
        let _ = std::thread::Builder::new().name("progress".into()).spawn(look);
    });
}

/// Work that reports.
struct Work {
    what: String,
    bar: ProgressBar,
    since: Instant,
    last: Instant,
    /// It may be silent for long.
    lasts: bool,
    shown: bool,
    /// When it was last put into words for a file.
    said: Option<Instant>,
}

/// What a terminal shows: a bar for each work, or one for all stages that report nothing.
struct Screen {
    bars: MultiProgress,
    works: Vec<Work>,
    stages: Option<ProgressBar>,
}

// What is on the screen holds no invariant that a panic elsewhere could break.
fn screen() -> MutexGuard<'static, Screen> {
    static SCREEN: LazyLock<Mutex<Screen>> =
        LazyLock::new(|| Mutex::new(Screen::on(MultiProgress::new())));
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    fn on(bars: MultiProgress) -> Self {
        Self { bars, works: Vec::new(), stages: None }
    }

    /// Shows a report of work that takes long. Every five seconds it is also a line for a file.
    fn heard(&mut self, what: &str, (done, total): (usize, usize), now: Instant) -> Option<String> {
        self.forget(now);
        let known = self.works.iter().position(|work| work.what == what);
        if done >= total {
            if let Some(at) = known {
                wipe(&self.bars, &self.works.remove(at).bar);
            }
            return None;
        }
        let at = known.unwrap_or_else(|| self.add(what, (done, total), now));
        let work = &mut self.works[at];
        work.last = now;
        // Threads may overtake each other between counting and reporting.
        work.bar.set_position(work.bar.position().max(done as u64));
        if now.duration_since(work.since) < LONG {
            return None;
        }
        if !work.shown {
            // What is not on a terminal yet hears how fast work is, too.
            self.bars.add(work.bar.clone()).tick();
            work.shown = true;
        }
        if work.said.is_some_and(|said| now.duration_since(said) < LINES) {
            return None;
        }
        work.said = Some(now);
        let rest = left(work.bar.per_sec(), work.bar.eta());
        Some(format!("{what}: {} of {total}{rest}", work.bar.position()))
    }

    /// Another work; its place.
    fn add(&mut self, what: &str, (done, total): (usize, usize), now: Instant) -> usize {
        let (what, bar) = (what.to_owned(), bar(what, (done, total)));
        let (since, last) = (now, now);
        self.works.push(Work { what, bar, since, last, lasts: false, shown: false, said: None });
        self.works.len() - 1
    }

    /// A program begins, anew where one of this name was there.
    fn begin(&mut self, what: &str, total: usize, now: Instant) {
        self.end(what);
        let at = self.add(what, (0, total), now);
        self.works[at].lasts = true;
    }

    /// Wipes a program.
    fn end(&mut self, what: &str) {
        let own = |work: &mut Work| work.what == what;
        self.works.extract_if(.., own).for_each(|work| wipe(&self.bars, &work.bar));
    }

    /// Shows stages that report nothing, where nothing but programs does, and programs that take
    /// long.
    fn looked(&mut self, running: &[(Preparation, Duration, u64)], now: Instant) {
        self.forget(now);
        for work in self.works.iter_mut().filter(|work| work.lasts) {
            if !work.shown && now.duration_since(work.since) >= LONG {
                self.bars.add(work.bar.clone());
                work.shown = true;
            }
            if work.shown {
                work.bar.tick();
            }
        }
        let alone = self.works.iter().all(|work| work.lasts);
        let long = running.iter().filter(|(_, took, _)| *took >= LONG && alone);
        let one = |(what, took, count): &(Preparation, Duration, u64)| {
            format!("{} ({count} begun, {:#})", what.name(), HumanDuration(*took))
        };
        let line = long.map(one).collect::<Vec<_>>().join(", ");
        if line.is_empty() {
            self.stages.take().inspect(|bar| wipe(&self.bars, bar));
            return;
        }
        let style = || ProgressStyle::with_template("{msg}").expect("it is a template");
        let made = || self.bars.add(ProgressBar::no_length().with_style(style()));
        self.stages.get_or_insert_with(made).set_message(line);
    }

    /// Wipes work that was given up.
    fn forget(&mut self, now: Instant) {
        let silent = |work: &mut Work| !work.lasts && now.duration_since(work.last) >= SILENCE;
        self.works.extract_if(.., silent).for_each(|work| wipe(&self.bars, &work.bar));
    }
}

/// A bar that is on no terminal yet, for work of which `done` was done before anyone listened.
fn bar(what: &str, (done, total): (usize, usize)) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}: {pos} of {len}{left}")
        .expect("it is a template")
        .with_key("left", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // A line that cannot be written lacks its end.
            let _ = out.write_str(&left(state.per_sec(), state.eta()));
        });
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden())
        .with_style(style)
        .with_message(what.to_owned());
    bar.set_position(done as u64);
    bar.reset_eta();
    bar
}

/// About how long the rest takes, where that is known.
fn left(per_second: f64, rest: Duration) -> String {
    match per_second > 0.0 {
        true => format!(", about {:#} left", HumanDuration(rest)),
        false => String::new(),
    }
}

fn wipe(bars: &MultiProgress, bar: &ProgressBar) {
    bar.finish_and_clear();
    bars.remove(bar);
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;

    /// A screen that begins now, and what is on it.
    fn screen() -> (Screen, InMemoryTerm, impl Fn(u64) -> Instant) {
        let (terminal, begin) = (InMemoryTerm::new(10, 60), Instant::now());
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let screen = Screen::on(MultiProgress::with_draw_target(target));
        (screen, terminal, move |ms| begin + Duration::from_millis(ms))
    }

    /// So that something is known of how fast work is, by the clock.
    fn nap() {
        std::thread::sleep(Duration::from_millis(20));
    }

    #[test]
    fn long_work_is_shown_with_what_is_left_and_wiped_when_done() {
        let (mut screen, terminal, at) = screen();
        let total = 1_000_000;
        let mut shown = |done, ms| {
            nap();
            screen.heard("keys", (done, total), at(ms));
            terminal.contents()
        };
        // Nothing of the first two seconds, but what is left is known at once: most of it.
        assert_eq!(shown(30, 0), "");
        assert_eq!(shown(39, 1999), "");
        let line = shown(40, 2000);
        assert!(line.starts_with("keys: 40 of 1000000, about "), "{line}");
        assert!(line.ends_with("m left") || line.ends_with("h left"), "{line}");
        // Never backwards.
        let line = shown(30, 2200);
        assert!(line.starts_with("keys: 40 of 1000000"), "{line}");
        assert_eq!(shown(total, 2250), "");
        assert_eq!(shown(total, 2260), "");
        // Work of the same name begins anew, also where the one before was given up.
        assert_eq!(shown(10, 4400), "");
        assert_eq!(shown(11, 9500), "");
        let line = shown(13, 11_500);
        assert!(line.starts_with("keys: 13 of 1000000, about "), "{line}");
    }

    #[test]
    fn several_works_have_a_line_each_and_files_one_every_five_seconds() {
        let (mut screen, terminal, at) = screen();
        let mut heard = |what, done, ms| {
            nap();
            screen.heard(what, (done, 4), at(ms))
        };
        assert_eq!(heard("one", 0, 0), None);
        assert_eq!(heard("two", 0, 0), None);
        assert_eq!(heard("one", 0, 2000).as_deref(), Some("one: 0 of 4"));
        assert_eq!(terminal.contents(), "one: 0 of 4");
        let line = heard("two", 1, 3000).expect("it takes long");
        assert!(line.starts_with("two: 1 of 4, about "), "{line}");
        assert_eq!(terminal.contents().lines().count(), 2);
        assert_eq!(heard("one", 0, 6999), None);
        assert!(heard("one", 1, 7000).is_some());
        assert_eq!(heard("two", 4, 7100), None);
        assert_eq!(terminal.contents().lines().count(), 1);
        // What was given up goes, too.
        screen.looked(&[], at(12_000));
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn stages_that_report_nothing_are_named() {
        let (mut screen, terminal, at) = screen();
        let looked = |screen: &mut Screen, seconds, ms| {
            let lasts = Duration::from_secs(seconds);
            let encoding = (Preparation::Encoding, Duration::ZERO, 7);
            screen.looked(&[(Preparation::Recording, lasts, 12), encoding], at(ms));
            terminal.contents()
        };
        assert_eq!(looked(&mut screen, 1, 0), "");
        assert_eq!(looked(&mut screen, 3, 2000), "recording (12 begun, 3s)");
        assert_eq!(looked(&mut screen, 4, 3000), "recording (12 begun, 4s)");
        assert_eq!(looked(&mut screen, 0, 3200), "");
        // What reports goes before.
        screen.heard("keys", (1, 9), at(4000));
        assert_eq!(looked(&mut screen, 9, 4200), "");
        assert_eq!(looked(&mut screen, 14, 9000), "recording (12 begun, 14s)");
    }

    #[test]
    fn programs_stay_until_they_end_and_have_stages_beside_them() {
        let (mut screen, terminal, at) = screen();
        let recording = [(Preparation::Recording, Duration::from_secs(3), 12)];
        screen.begin("layers", 20, at(0));
        screen.looked(&[], at(1900));
        assert_eq!(terminal.contents(), "");
        // Before the first step is done nobody knows its pace.
        screen.looked(&[], at(2100));
        assert_eq!(terminal.contents(), "layers: 0 of 20");
        screen.looked(&recording, at(9000));
        assert_eq!(terminal.contents(), "layers: 0 of 20\nrecording (12 begun, 3s)");
        nap();
        screen.heard("layers", (1, 20), at(9100));
        screen.looked(&[], at(9200));
        let line = terminal.contents();
        assert!(line.starts_with("layers: 1 of 20, about ") && line.lines().count() == 1, "{line}");
        // However long a step takes.
        screen.looked(&[], at(60_000));
        assert!(terminal.contents().starts_with("layers: 1 of 20"));
        screen.end("layers");
        assert_eq!(terminal.contents(), "");
        // What ended early begins anew from nothing.
        screen.begin("layers", 20, at(61_000));
        screen.looked(&[], at(63_100));
        assert_eq!(terminal.contents(), "layers: 0 of 20");
        screen.heard("layers", (20, 20), at(63_200));
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn names_wider_than_the_terminal_are_wiped_whole() {
        let (mut screen, terminal, at) = screen();
        let long = "w".repeat(100);
        for ms in [0, 2000] {
            screen.heard(&long, (1, 9), at(ms));
        }
        assert!(terminal.contents().lines().count() > 1, "{}", terminal.contents());
        screen.heard(&long, (9, 9), at(2100));
        assert_eq!(terminal.contents(), "");
    }
}
