//! Mean and variance of a column that stays encrypted: the petal lengths of Fisher's irises.
//!
//! ```text
//! $ cargo run --release --example mean_variance
//! ..
//! mean     37.5800 mm encrypted, 37.5800 in the plain
//! variance 309.5503 mm^2 encrypted, 309.5503 in the plain
//! ```

mod common;
#[path = "common/ckks.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::ckks::inner_sum_rotations;
use girih::ckks::prelude::*;
use parties::Parties;
use std::process::ExitCode;

/// Mean and variance of an encrypted column.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// The column: 1 sepal length, 2 sepal width, 3 petal length, 4 petal width.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=4))]
    column: u8,
}

/// Slots hold numbers of magnitude 1 at most; lengths are in millimetres.
const LARGEST: f64 = 100.0;

fn column(number: usize) -> Result<Vec<f64>, Failure> {
    let rows = include_str!("iris.csv").lines().filter(|line| !line.starts_with('#'));
    let cell = |row: &str| Ok(row.split(',').nth(number - 1).ok_or("a short row")?.parse()?);
    rows.map(cell).collect()
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lengths = column(usize::from(arguments.column))?;
    let count = lengths.len() as f64;
    // Slots are a power of two; zeros add nothing to sums.
    let width = lengths.len().next_power_of_two();
    let parties = Parties::start(&arguments.options, "CKKS_N14_D40", |set| {
        let steps = inner_sum_rotations(width, 1).into_iter();
        let rotations = steps.filter_map(|by| KeyKind::rotation(set, by));
        Ok(rotations.chain([KeyKind::Multiplication]).collect())
    })?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the column.
    let mut slots: Vec<f64> = lengths.iter().map(|x| x / LARGEST).collect();
    slots.resize(width, 0.0);
    let encrypted = server.upload(&[client.encrypt(&slots)?])?;

    // Whoever computes: E(x) and E(x^2) - E(x)^2, in every slot.
    let recording = server.record(|b| {
        let x = b.input_with(encrypted.level(), encrypted.scale(), width)?;
        let sum = b.inner_sum(&x, width, 1)?;
        let mean = b.mul_constant(&sum, 1.0 / count)?;
        let square = b.square(&x)?;
        let squares = b.inner_sum(&square, width, 1)?;
        let mean_square = b.mul_constant(&squares, 1.0 / count)?;
        let square_of_mean = b.square(&mean)?;
        let variance = b.sub(&mean_square, &square_of_mean)?;
        Ok(vec![mean, variance])
    })?;
    let start = std::time::Instant::now();
    let outputs = recording.run(&[&encrypted])?;
    server.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();

    // The owner again.
    let one = |batch| -> Result<f64, Failure> {
        Ok(client.decrypt_real(&server.download(batch)?[0])?[0])
    };
    let mean = one(&outputs[0])? * LARGEST;
    let variance = one(&outputs[1])? * LARGEST * LARGEST;
    let plain_mean = lengths.iter().sum::<f64>() / count;
    let plain_variance = lengths.iter().map(|x| (x - plain_mean).powi(2)).sum::<f64>() / count;
    println!("{} numbers, {seconds:.3} s", lengths.len());
    println!("mean     {mean:.4} mm encrypted, {plain_mean:.4} in the plain");
    println!("variance {variance:.4} mm^2 encrypted, {plain_variance:.4} in the plain");
    let figures = [("seconds", seconds), ("mean", mean), ("variance", variance)];
    parties.record(
        &arguments.options,
        "mean_variance",
        &std::collections::BTreeMap::from(figures),
    )?;
    let near = |have: f64, want: f64| (have - want).abs() <= 1e-3 * want;
    if near(mean, plain_mean) && near(variance, plain_variance) {
        Ok(())
    } else {
        Err("they differ".into())
    }
}
