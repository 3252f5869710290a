//! Adds encrypted 32-bit numbers, all pairs at once.
//!
//! ```text
//! $ cargo run --release --example adder
//! 2654435761 + 1298034552 = 3952470313
//! 1013904226 +  224292728 = 1238196954
//! 3668339987 + 3493240019 = 7161580006
//! 2027808452 +  897170914 = 2924979366
//! 96 gates as 256 bootstrappings in 32 levels, 4 instances
//! ..
//! ```

mod common;
#[path = "common/tfhe.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::circuit::{Circuit, EncryptedBits, generate};
use girih::device::TerminalProgress;
use parties::Parties;
use std::process::ExitCode;

/// Adds encrypted 32-bit numbers, all pairs at once.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Pairs of numbers to add, 1 to 10000.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// A parallel-prefix adder: 7 levels instead of 32, three times the gates.
    #[arg(long)]
    fast: bool,
}

fn bits(number: u32) -> impl Iterator<Item = bool> {
    (0..32).map(move |i| number >> i & 1 == 1)
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let parties = Parties::start(&arguments.options, "STD128")?;

    // Sums that run over and sums that do not.
    let pairs: Vec<(u32, u32)> = (1..=arguments.pairs)
        .map(|i| (i.wrapping_mul(2_654_435_761), i.wrapping_mul(0x9ABC_DEF1) >> (i % 3)))
        .collect();
    let inputs: Vec<Vec<bool>> =
        pairs.iter().map(|&(a, b)| bits(a).chain(bits(b)).collect()).collect();
    let encrypted = EncryptedBits::encrypt(&parties.client, &inputs)?;

    // Whoever computes sees the circuit and ciphertexts alone.
    let netlist = generate::adder(32, arguments.fast);
    // So rarely wrong is enough here, and leaves room for bootstrappings of three and four inputs.
    let circuit = Circuit::with_log2_failure(&netlist, parties.server.set(), -64.0)?;
    let (encrypted_sums, report) =
        circuit.evaluate(&parties.server, &encrypted, &TerminalProgress::new())?;

    for (&(a, b), sum) in pairs.iter().zip(encrypted_sums.decrypt(&parties.client)?) {
        let sum = sum.iter().rev().fold(0u64, |n, &bit| n << 1 | u64::from(bit));
        println!("{a:>10} + {b:>10} = {sum:>10}");
        if sum != u64::from(a) + u64::from(b) {
            return Err("that is wrong".into());
        }
    }
    println!("{report}");
    parties.record(&arguments.options, "adder", &report)?;
    Ok(())
}
