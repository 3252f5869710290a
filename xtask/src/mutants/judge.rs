//! Tests that reach a change, and what they say of it.

use super::scratch::Program;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A test that passes as long as nothing is changed.
pub struct Test {
    program: usize,
    name: String,
    took: Duration,
    /// First numbers of the sites that it reaches.
    reaches: BTreeSet<usize>,
}

/// How a test ended.
enum End {
    Passed,
    Failed,
    TimedOut,
}

/// Where and how tests are run.
pub struct Judge<'a> {
    pub programs: &'a [Program],
    /// Of the crate.
    pub folder: &'a Path,
    /// At once.
    pub jobs: usize,
}

/// Virtual memory of a test in KiB: a change may ask for any.
const MEMORY_KIB: u64 = 8 << 20;

/// What a test may take besides ten times its own time.
const LEAST: Duration = Duration::from_secs(5);

impl Judge<'_> {
    /// The tests with `names` in theirs, all for none, and lines about those that are left out:
    /// what does not pass without a change, or takes longer than `limit`.
    ///
    /// # Errors
    /// If a program cannot be run.
    pub fn tests(&self, names: &[String], limit: Duration) -> Result<(Vec<Test>, Vec<String>)> {
        let mut all = Vec::new();
        for (index, program) in self.programs.iter().enumerate() {
            let mut command = Command::new(&program.path);
            command.args(["--list", "--format", "terse"]).current_dir(self.folder);
            let text = String::from_utf8(command.output().context(program.name.clone())?.stdout)?;
            let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
            all.extend(tests.map(|test| (index, test.to_owned())));
        }
        all.retain(|(_, test)| names.is_empty() || names.iter().any(|n| test.contains(n.as_str())));
        let found = self.each(&all, |(program, name)| {
            let list = self.folder.join(format!("reached-{program}-{}", name.replace(':', "-")));
            let _ = std::fs::remove_file(&list);
            let start = Instant::now();
            let end = self.run(*program, name, "list", Some(&list), limit);
            let took = start.elapsed();
            let text = std::fs::read_to_string(&list).unwrap_or_default();
            let _ = std::fs::remove_file(&list);
            let reaches = text.lines().filter_map(|line| line.parse().ok()).collect();
            end.map(|end| (end, Test { program: *program, name: name.clone(), took, reaches }))
        });
        let (mut tests, mut left_out) = (Vec::new(), Vec::new());
        for found in found {
            match found? {
                (End::Passed, test) => tests.push(test),
                (End::Failed, test) => left_out.push(format!("{}: fails unchanged", test.name)),
                (End::TimedOut, test) => left_out.push(format!("{}: too slow", test.name)),
            }
        }
        tests.sort_by_key(|test| test.took);
        Ok((tests, left_out))
    }

    /// What the tests that reach the site from `first` on say of a change of it, and which one says
    /// so.
    ///
    /// # Errors
    /// If a program cannot be run.
    pub fn judge<'a>(
        &self,
        tests: &'a [Test],
        first: usize,
        change: usize,
    ) -> Result<(&'static str, &'a str)> {
        let mut outcome = "unreached";
        for test in tests.iter().filter(|test| test.reaches.contains(&first)) {
            let limit = LEAST.max(test.took * 10);
            let end = self.run(test.program, &test.name, &change.to_string(), None, limit)?;
            match end {
                End::Passed => outcome = "survived",
                End::Failed => return Ok(("killed", &test.name)),
                End::TimedOut => return Ok(("timed out", &test.name)),
            }
        }
        Ok((outcome, ""))
    }

    fn run(
        &self,
        program: usize,
        test: &str,
        mutant: &str,
        list: Option<&Path>,
        limit: Duration,
    ) -> Result<End> {
        let path = &self.programs[program].path;
        let mut command = if cfg!(unix) {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\"")]).arg(path);
            shell
        } else {
            Command::new(path)
        };
        command.args(["--exact", test]).current_dir(self.folder).env("GIRIH_MUTANT", mutant);
        // A failure is no news: neither shrunk nor kept; and every change meets the same cases.
        command.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_RNG_SEED", "1");
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1").env("RUST_BACKTRACE", "0");
        // Functions with all their choices have larger frames.
        command.env("RUST_MIN_STACK", "16777216");
        if let Some(list) = list {
            command.env("GIRIH_MUTANT_LIST", list);
        }
        let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = silent.spawn().with_context(|| path.display().to_string())?;
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(if status.success() { End::Passed } else { End::Failed });
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(End::TimedOut);
            }
            // Most tests end within milliseconds.
            let step =
                (start.elapsed() / 10).clamp(Duration::from_millis(1), Duration::from_millis(50));
            std::thread::sleep(step);
        }
    }

    /// `work` of every item, `jobs` at once, in the order of the items.
    pub fn each<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed))
                        && let Some(item) = items.get(index)
                    {
                        let result = work(item);
                        done.lock().unwrap_or_else(|e| e.into_inner()).push((index, result));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}
