//! Products of matrices of which one or both are encrypted.
//!
//! ```text
//! $ cargo run --release --example matrix
//! ```

mod common;
#[path = "common/ckks.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::ckks::prelude::*;
use parties::Parties;
use std::process::ExitCode;

/// Products of matrices of which one or both are encrypted.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Rows and columns, a power of two from 2 to 32.
    #[arg(long, default_value_t = 8, value_parser = size)]
    size: usize,
}

fn size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size @ (2 | 4 | 8 | 16 | 32)) => Ok(size),
        _ => Err("it must be 2, 4, 8, 16 or 32".into()),
    }
}

/// Entries between -1 and 1, row after row.
fn entries(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i + seed) * 7919 % 1009) as f64 / 504.5 - 1.0).collect()
}

/// The product of two d x d matrices in the plain.
fn product(x: &[f64], y: &[f64], d: usize) -> Vec<f64> {
    let entry = |i: usize| (0..d).map(|k| x[i / d * d + k] * y[k * d + i % d]).sum();
    (0..d * d).map(entry).collect()
}

fn largest_difference(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let d = arguments.size;
    let (x, y, v) = (entries(d * d, 1), entries(d * d, 500), entries(d, 77));
    let public = Matrix::new(d, d, &x)?;
    let parties = Parties::start(&arguments.options, "CKKS_N14_D40", |set| {
        let mut rotations = Matrix::product_rotations(d)?;
        rotations.extend(public.rotations()?);
        let kinds = rotations.iter().filter_map(|&by| KeyKind::rotation(set, by));
        Ok(kinds.chain([KeyKind::Multiplication]).collect())
    })?;
    let (client, server) = (&parties.client, &parties.server);
    let upload = |values: &[f64]| server.upload(&[client.encrypt(values)?]);
    let download = |batch| -> girih::ckks::Result<Vec<f64>> {
        client.decrypt_real(&server.download(batch)?[0])
    };

    // A matrix that whoever computes knows, times an encrypted vector.
    let start = std::time::Instant::now();
    let times_vector = server.matrix_vector(&public, &upload(&v)?)?;
    let times_vector = download(&times_vector)?;
    let vector_seconds = start.elapsed().as_secs_f64();
    let row = |r: usize| (0..d).map(|c| x[r * d + c] * v[c]).sum();
    let vector_error = largest_difference(&times_vector, &(0..d).map(row).collect::<Vec<f64>>());

    // Two encrypted matrices, each row after row in d^2 slots.
    let start = std::time::Instant::now();
    let times_matrix = server.matrix_matrix(&upload(&x)?, &upload(&y)?)?;
    let times_matrix = download(&times_matrix)?;
    let matrix_seconds = start.elapsed().as_secs_f64();
    let matrix_error = largest_difference(&times_matrix, &product(&x, &y, d));

    println!(
        "matrix of {d} x {d} times an encrypted vector: {vector_seconds:.3} s, largest error \
         {vector_error:.1e}"
    );
    println!(
        "two encrypted matrices of {d} x {d}: {matrix_seconds:.3} s, largest error \
         {matrix_error:.1e}"
    );
    println!(
        "times include encryption, decryption and what is made when an operation is first met"
    );
    let figures = [
        ("vector_seconds", vector_seconds),
        ("vector_error", vector_error),
        ("matrix_seconds", matrix_seconds),
        ("matrix_error", matrix_error),
    ];
    parties.record(&arguments.options, "matrix", &std::collections::BTreeMap::from(figures))?;
    if vector_error.max(matrix_error) < 1e-4 {
        Ok(())
    } else {
        Err("the products differ from those in the plain".into())
    }
}
