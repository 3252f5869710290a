//! What the command line asks for.

use crate::{Failure, OPERATIONS};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub const HELP: &str = "\
Options:
  --device NAME    girih's device: cpu (unless told), cuda:0, cuda:1, ...
  --girih-only     leave TFHE-rs's own server out
  --theirs WHICH   TFHE-rs's server: cpu (unless told), or gpu where built with feature `gpu`
  --multi-bit      keys in groups of 4 bits, the set that TFHE-rs has for GPUs; else its default
  --array N        elements of arrays, beside single numbers (16 unless told; 1: single ones alone)
  --arrays-only    leave single numbers out
  --runs N         at most so many runs, after one that is not counted (5 unless told)
  --seconds S      no further run after so many seconds of them (20 unless told)
  --taking-over    keys and 1,000 FheUint64 between TFHE-rs and girih alone: what that takes
  --json FILE      a record, written after every line
Words: 8, 32, 64 (bits) and
  add mul less select max div transfer; all of them where none is named";

pub struct Wanted {
    pub device: String,
    pub theirs: Option<Theirs>,
    pub multi_bit: bool,
    pub taking_over: bool,
    /// Lengths of arrays; 1 is a number of its own.
    pub counts: BTreeSet<usize>,
    pub runs: usize,
    pub seconds: f64,
    pub json: Option<PathBuf>,
    pub widths: BTreeSet<u32>,
    pub operations: Vec<String>,
}

/// TFHE-rs's own servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theirs {
    Cpu,
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "refused unless built for it"))]
    Gpu,
}

impl Theirs {
    fn named(name: &str) -> Result<Self, Failure> {
        match name {
            "cpu" => Ok(Self::Cpu),
            #[cfg(feature = "gpu")]
            "gpu" => Ok(Self::Gpu),
            #[cfg(not(feature = "gpu"))]
            "gpu" => Err("--theirs gpu: build with `--features gpu`, which takes CUDA".into()),
            _ => Err(format!("--theirs {name}: must be cpu or gpu").into()),
        }
    }
}

impl Wanted {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut wanted = Self {
            device: "cpu".into(),
            theirs: Some(Theirs::Cpu),
            multi_bit: false,
            taking_over: false,
            counts: BTreeSet::new(),
            runs: 5,
            seconds: 20.0,
            json: None,
            widths: BTreeSet::new(),
            operations: Vec::new(),
        };
        let (mut array, mut singles) = (16, true);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word}: a value is missing"));
            match &word[..] {
                "--device" => wanted.device = value()?,
                "--girih-only" => wanted.theirs = None,
                "--theirs" => wanted.theirs = Some(Theirs::named(&value()?)?),
                "--multi-bit" => wanted.multi_bit = true,
                "--taking-over" => wanted.taking_over = true,
                "--array" => array = number(&word, &value()?)?,
                "--arrays-only" => singles = false,
                "--runs" => wanted.runs = number(&word, &value()?)?,
                "--seconds" => wanted.seconds = number::<f64>(&word, &value()?)?,
                "--json" => wanted.json = Some(value()?.into()),
                "8" | "32" | "64" => drop(wanted.widths.insert(number(&word, &word)?)),
                _ if OPERATIONS.contains(&&word[..]) => wanted.operations.push(word),
                _ => return Err(format!("{word}: not known\n{HELP}").into()),
            }
        }
        if array == 0 || wanted.runs == 0 {
            return Err("--array and --runs: there must be one at least".into());
        }
        wanted.counts = if singles { [1, array].into() } else { [array].into() };
        if wanted.widths.is_empty() {
            wanted.widths = [8, 32, 64].into();
        }
        if wanted.operations.is_empty() {
            wanted.operations = OPERATIONS.map(String::from).into();
        }
        Ok(wanted)
    }
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|_| format!("{option} {text}: must be a number").into())
}
