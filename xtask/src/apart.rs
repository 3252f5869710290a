//! Crates that are workspaces of their own, since not everybody who builds girih should build what
//! they need: their cargo, and the line that says when they were last tested.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What the last run that passed left, one line.
const LAST: &str = "last-run.txt";

/// Such a crate.
pub struct Apart {
    /// Its folder in the tree.
    pub folder: &'static str,
    /// Why builds of the tree leave it out, and the command that tests it, in words.
    pub why: &'static str,
}

impl Apart {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.folder)
    }

    /// In the crate's folder, whose settings are its own; whether it succeeded.
    ///
    /// # Errors
    /// If cargo cannot be started.
    pub fn cargo(&self, words: &[&str]) -> Result<bool> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo).args(words).current_dir(self.folder()).status();
        Ok(status.context("cargo")?.success())
    }

    /// Prints why it is left out, and when its tests last passed.
    ///
    /// # Errors
    /// Where no run has left a note.
    pub fn print_last(&self) -> Result<()> {
        let last = std::fs::read_to_string(self.folder().join(LAST)).context(LAST)?;
        println!("{}. {}", self.why, last.trim());
        Ok(())
    }

    /// Builds by `build`, then has the rest run, and notes that all passed: `what` says what that
    /// was. Whether it did.
    ///
    /// # Errors
    /// If cargo cannot be started, or the note not be written.
    pub fn test(&self, what: &str, build: &[&str], then: &[&[&str]]) -> Result<bool> {
        let begin = Instant::now();
        if !self.cargo(build)? {
            return Ok(false);
        }
        let (built, begin) = (begin.elapsed().as_secs(), Instant::now());
        for words in then {
            if !self.cargo(words)? {
                return Ok(false);
            }
        }
        let line = format!(
            "Last passed on {}: {what}; built in {built} s (of what was not yet built), ran {} s, \
             {} threads.\n",
            today()?,
            begin.elapsed().as_secs(),
            std::thread::available_parallelism().map_or(1, usize::from),
        );
        print!("{line}");
        let note = self.folder().join(LAST);
        std::fs::write(&note, line).with_context(|| note.display().to_string())?;
        Ok(true)
    }
}

/// As 2026-11-26, in UTC.
fn today() -> Result<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock")?.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    Ok(format!("{year}-{month:02}-{day:02}"))
}

/// Year, month and day of a number of days since 1 January 1970.
fn date(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(59), (1970, 3, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_783), (2026, 11, 26));
    }
}
