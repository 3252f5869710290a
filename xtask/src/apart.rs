//! Crates that are workspaces of their own, since not everybody who builds girih should build what
//! they need: their cargo, and the line that says when they were last tested.

use crate::record::today;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

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
            today(),
            begin.elapsed().as_secs(),
            std::thread::available_parallelism().map_or(1, usize::from),
        );
        print!("{line}");
        let note = self.folder().join(LAST);
        std::fs::write(&note, line).with_context(|| note.display().to_string())?;
        Ok(true)
    }
}
