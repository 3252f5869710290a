//! `cargo xtask mutants`: which changes of one expression do a crate's tests notice?
//!
//! A copy of the workspace holds every change at once, each where a variable of the environment
//! chooses it, so that it is compiled once; each is run against the tests that reach it.

mod judge;
mod scratch;
mod sites;
mod values;
mod write;

use crate::record::{check_file, commit, today, write_json};
use anyhow::{Context, Result, bail};
use judge::Judge;
use scratch::{Scratch, words};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// The crate, such as `ring`.
    #[arg(value_name = "CRATE")]
    name: String,
    /// Only changes with one of these in their place and words, such as `noise/mod.rs:12`.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',')]
    only: Vec<String>,
    /// No changes with one of these there.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',')]
    skip: Vec<String>,
    /// Only tests with one of these in their names.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tests: Vec<String>,
    /// Only the tests in the crate's sources, not those of its folder `tests`.
    #[arg(long)]
    lib: bool,
    /// No change is begun after this many seconds [default: all are].
    #[arg(long, value_name = "SECONDS")]
    limit_s: Option<u64>,
    /// Tests that take longer are left out.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    test_limit_s: u64,
    /// Tests at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Also write every change and what became of it to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// A change to be judged.
struct Mutant {
    /// The place and what is changed to what.
    words: String,
    /// The first number of its site.
    first: usize,
    number: usize,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(path) = &arguments.json {
        check_file("--json", path)?;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let mut scratch = Scratch::new(root, &arguments.name)?;
    let has = |texts: &[String], words: &str| texts.iter().any(|text| words.contains(text));
    scratch.retain(|words| {
        let asked = arguments.only.is_empty() || has(&arguments.only, words);
        asked && !has(&arguments.skip, words)
    });
    println!("{} changes of {} files", scratch.alive(), scratch.files.len());
    let programs = scratch.build(root, arguments.lib)?;
    println!("{} build; {} programs of tests", scratch.alive(), programs.len());
    let folder = scratch.package_folder();
    let judge = Judge { programs: &programs, folder: &folder, jobs: arguments.jobs };
    let slowest = Duration::from_secs(arguments.test_limit_s);
    let (tests, left_out) = judge.tests(&arguments.tests, slowest)?;
    println!("{} tests; left out: {}", tests.len(), left_out.join(", "));
    if tests.is_empty() {
        bail!("--tests {}: no test of these names passes", arguments.tests.join(","));
    }
    let mutants = mutants(&scratch);
    let start = Instant::now();
    let outcomes = judge.each(&mutants, |mutant| {
        if arguments.limit_s.is_some_and(|limit| start.elapsed().as_secs() >= limit) {
            return Ok(("not run", ""));
        }
        let (outcome, test) = judge.judge(&tests, mutant.first, mutant.number)?;
        if outcome != "killed" {
            println!("{outcome}: {}", mutant.words);
        }
        anyhow::Ok((outcome, test))
    });
    let outcomes: Vec<(&str, &str)> = outcomes.into_iter().collect::<Result<_>>()?;
    let count = |what: &str| outcomes.iter().filter(|(o, _)| *o == what).count();
    let kinds = ["killed", "timed out", "survived", "unreached", "not run"];
    let counts: Vec<String> = kinds.iter().map(|k| format!("{} {k}", count(k))).collect();
    println!("{} changes: {}; {:.0?}", mutants.len(), counts.join(", "), start.elapsed());
    if let Some(path) = &arguments.json {
        let all = mutants.iter().zip(&outcomes).map(|(m, (o, test))| json!([m.words, o, test]));
        let record = json!({
            "crate": arguments.name, "commit": commit(), "date": today(), "tests": tests.len(),
            "left_out": left_out, "changes": all.collect::<Vec<_>>(),
        });
        write_json(path, &record)?;
    }
    Ok(count("survived") + count("unreached") == 0)
}

/// What is left of the changes, with their places in words.
fn mutants(scratch: &Scratch) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (file, site) in scratch.sites() {
        for (index, _) in site.changes.iter().enumerate().filter(|(i, _)| site.alive[*i]) {
            let words = words(file, site, index);
            all.push(Mutant { words, first: site.first, number: site.first + index });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{sites, write};
    use std::process::Command;

    const SOURCE: &str = "\
pub fn largest(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}
pub fn asked(a: bool, calls: &mut u32) -> bool {
    a && { *calls += 3; *calls != 6 }
}
pub fn kind(x: i32) -> Option<&'static str> {
    match x {
        0 => None,
        n if n < 0 => Some(\"é\"),
        _ => Some(\"girih\"),
    }
}
pub const fn masked(x: u32) -> u32 {
    !x & SIZES[2]
}
const SIZES: [u32; 1 + 2] = [4 << 1; 3];
#[cfg(test)]
fn left_out() -> u32 {
    1 + 1
}
";

    /// What is run of it; it ends with an error where one of these does not hold.
    const MAIN: &str = "
fn main() {
    assert!(largest(3, 2) == 3 && largest(2, 3) == 3 && largest(2, 2) == 2);
    let mut calls = 0;
    assert!(!asked(false, &mut calls) && calls == 0);
    assert!(asked(true, &mut calls) && calls == 3);
    assert!(!asked(true, &mut calls) && calls == 6);
    assert_eq!([0, -1, 1].map(kind), [None, Some(\"é\"), Some(\"girih\")]);
    assert_eq!([3, 8].map(masked), [8, 0]);
}
";

    #[test]
    fn changes_die_but_for_those_that_change_nothing() {
        let folder = std::env::temp_dir().join(format!("girih-mutants-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        let found = sites::find(SOURCE, 0).expect("Rust");
        let chooser = include_str!("chooser.rs.txt").replace("COUNT", &found.end().to_string());
        let text = write::write(SOURCE, &found.all).text + &chooser + MAIN;
        let (source, program) = (folder.join("small.rs"), folder.join("small"));
        std::fs::write(&source, &text).expect("writable");
        let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
        compiler.args(["--edition=2024", "--cap-lints=allow", "-o"]).arg(&program).arg(&source);
        let output = compiler.output().expect("a compiler");
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let passes = |mutant: &str| {
            let output = Command::new(&program).env("GIRIH_MUTANT", mutant).output();
            output.expect("runs").status.success()
        };
        assert!(passes("none"));
        let mut survived = Vec::new();
        for site in &found.all {
            for (index, change) in site.changes.iter().enumerate() {
                if passes(&(site.first + index).to_string()) {
                    survived.push(change.as_str());
                }
            }
        }
        std::fs::remove_dir_all(&folder).expect("ours");
        // Of equal numbers either is the largest; 0 is tried before what is below it.
        assert_eq!(survived, ["> to >=", "< to <="]);
        let all: Vec<&str> =
            found.all.iter().flat_map(|s| &s.changes).map(String::as_str).collect();
        for change in ["> to <", "if to false", "&& to ||", "+= to -=", "! left out", "& to |"] {
            assert!(all.contains(&change), "{change}: {all:?}");
        }
        assert!(!all.contains(&"<< to >>") && !all.contains(&"+ to -"), "{all:?}");
    }

    #[test]
    fn what_the_compiler_refuses_is_dropped() {
        let source = "fn f(a: u8, b: u8) -> u8 { (a + b) * 2 }";
        let mut found = sites::find(source, 0).expect("Rust");
        let written = write::write(source, &found.all);
        let at = written.text.find("girih_x - girih_y").expect("a change");
        assert!(written.drop_at(&(at..at + 7), &mut found.all));
        let text = write::write(source, &found.all).text;
        assert!(
            !text.contains("girih_x - girih_y") && text.contains("girih_x + girih_y"),
            "{text}"
        );
        // Outside of all changes nothing is dropped.
        assert!(!written.drop_at(&(0..2), &mut found.all));
    }
}
