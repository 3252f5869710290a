//! What was measured, on the terminal and as JSON.

use crate::Failure;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Serialize)]
pub struct Record {
    /// girih's device, as it calls itself.
    pub device: String,
    pub set: String,
    /// Threads of the host.
    pub threads: usize,
    /// Seconds since 1970.
    pub begun: u64,
    pub keys: Vec<Loaded>,
    pub rows: Vec<Row>,
    #[serde(skip)]
    path: Option<PathBuf>,
}

/// A server key taken over.
#[derive(Serialize)]
pub struct Loaded {
    pub server: &'static str,
    pub seconds: f64,
}

/// An operation on an array, every result of the last run decrypted and right.
#[derive(Serialize)]
pub struct Row {
    pub server: &'static str,
    pub operation: String,
    pub bits: u32,
    pub count: usize,
    pub runs: usize,
    /// What was run before the others: girih records and compiles.
    pub first_ms: f64,
    pub best_ms: f64,
    pub median_ms: f64,
    /// Operations a second, of the median.
    pub per_second: f64,
}

impl Record {
    pub fn new(device: String, set: String, path: Option<PathBuf>) -> Self {
        let begun = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            device,
            set,
            threads: rayon::current_num_threads(),
            begun: begun.unwrap_or_default().as_secs(),
            keys: Vec::new(),
            rows: Vec::new(),
            path,
        }
    }

    pub fn loaded(&mut self, server: &'static str, time: Duration) -> Result<(), Failure> {
        println!("{server:>12}: keys loaded in {:.2} s", time.as_secs_f64());
        self.keys.push(Loaded { server, seconds: time.as_secs_f64() });
        self.write()
    }

    pub fn add(&mut self, row: Row) -> Result<(), Failure> {
        println!(
            "{:>12}: {:>8} {:>2} bits x {:<5} median {:>10.2} ms, best {:>10.2} ms, first \
             {:>10.2} ms, {:>10.2} a second",
            row.server,
            row.operation,
            row.bits,
            row.count,
            row.median_ms,
            row.best_ms,
            row.first_ms,
            row.per_second
        );
        self.rows.push(row);
        self.write()
    }

    fn write(&self) -> Result<(), Failure> {
        if let Some(path) = &self.path {
            std::fs::write(path, serde_json::to_string_pretty(self)? + "\n")?;
        }
        Ok(())
    }
}

/// Times of some runs.
pub struct Times {
    first: Duration,
    /// In order.
    others: Vec<Duration>,
}

impl Times {
    pub fn row(&self, server: &'static str, operation: &str, bits: u32, count: usize) -> Row {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let median = ms(self.others[self.others.len() / 2]);
        Row {
            server,
            operation: operation.into(),
            bits,
            count,
            runs: self.others.len(),
            first_ms: ms(self.first),
            best_ms: ms(self.others[0]),
            median_ms: median,
            per_second: count as f64 / median * 1e3,
        }
    }
}

/// One run, then up to `runs` more, and what the last gave.
pub fn measure<T>(
    runs: usize,
    seconds: f64,
    run: impl Fn() -> Result<T, Failure>,
) -> Result<(Times, T), Failure> {
    let once = || -> Result<(Duration, T), Failure> {
        let begin = Instant::now();
        let result = run()?;
        Ok((begin.elapsed(), result))
    };
    let (first, mut result) = once()?;
    // Where one run takes all the time, it counts.
    let mut others = if first.as_secs_f64() > seconds { vec![first] } else { Vec::new() };
    let begin = Instant::now();
    while others.is_empty() || others.len() < runs && begin.elapsed().as_secs_f64() < seconds {
        if first.as_secs_f64() > seconds {
            break;
        }
        let (time, next) = once()?;
        others.push(time);
        result = next;
    }
    others.sort();
    Ok((Times { first, others }, result))
}
