//! Progress of long work: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seconds between plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

struct Shown {
    what: String,
    bar: Option<ProgressBar>,
    last_line: Instant,
}

/// Shows [`girih::Progress`] on standard error.
pub struct Terminal {
    shown: Mutex<Option<Shown>>,
    interactive: bool,
}

impl Terminal {
    pub fn new() -> Self {
        Self { shown: Mutex::new(None), interactive: std::io::stderr().is_terminal() }
    }

    fn start(&self, what: &str, total: usize) -> Shown {
        let bar = self.interactive.then(|| {
            // The template is constant; the default style only loses the layout.
            let style = ProgressStyle::with_template("{msg:<40} {bar:30} {percent:>3} %  {eta}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total as u64).with_style(style).with_message(what.to_owned())
        });
        Shown { what: what.into(), bar, last_line: Instant::now() }
    }
}

impl girih::Progress for Terminal {
    fn report(&self, what: &str, done: usize, total: usize) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_none_or(|s| s.what != what) {
            *shown = Some(self.start(what, total));
        }
        let Some(current) = shown.as_mut() else { return };
        match &current.bar {
            Some(bar) if done >= total => bar.finish_and_clear(),
            Some(bar) => bar.set_position(done as u64),
            None if current.last_line.elapsed() >= LINE_INTERVAL => {
                eprintln!("{what}: {done} of {total}");
                current.last_line = Instant::now();
            }
            None => {}
        }
    }

    fn note(&self, message: &str) {
        eprintln!("note: {message}");
    }
}
