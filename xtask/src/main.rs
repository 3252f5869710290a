//! The command line of girih, `cargo xtask`: one file a command.

mod bench;
mod bundle;
mod ckks;
mod devices;
mod fuzz;
mod kernels;
mod large;
mod nvcc;
mod plot;
mod poly_kernels;
mod progress;
mod published;
mod record;
mod sets;
mod soak;
mod table;
mod test;
mod timeline;
mod tune;
mod vectors;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Everything that girih's developers and users run from the command line.
#[derive(Parser)]
#[command(name = "cargo xtask", version, max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The main job: make keys, encrypt random inputs, run a batch, decrypt and check every output,
    /// print the rates.
    Bench(bench::Arguments),
    /// Run all tests: unit, property, vectors, and the conformance suite on every device found.
    Test(test::Arguments),
    /// Compile or translate every GPU kernel in use, without a GPU, and print what it takes.
    Kernels(kernels::Arguments),
    /// Measure the plans that a device lists for a set, and keep the fastest for later loads.
    Tune(tune::Arguments),
    /// Print the tables of README.md and docs/performance.md from a folder of records.
    Table(table::Arguments),
    /// Read changed inputs with every decoder, parser and file format; none may panic, take long,
    /// or accept what is not so.
    Fuzz(fuzz::Arguments),
    /// Make random calls from several threads and compare every result with the plain one, for
    /// minutes or days.
    Soak(soak::Arguments),
    /// Tell what can run here.
    Devices(devices::Arguments),
    /// List the built-in parameter sets, or print one as a parameter file.
    Sets(sets::Arguments),
    /// Make a folder of binaries that run on a machine without Rust: bench, conformance, examples.
    Bundle(bundle::Arguments),
    /// Replay vector files stage by stage, bit for bit.
    Vectors(vectors::Arguments),
}

/// What was asked for, with usage lines that can be typed: cargo runs the binary under its alias, a
/// bundle under its file's name.
fn arguments() -> Arguments {
    let name = if std::env::var_os("CARGO").is_some() { "cargo xtask" } else { "xtask" };
    let matches = Arguments::command().bin_name(name).get_matches();
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

fn main() -> ExitCode {
    // A reader that has seen enough (`| head`) ends the command quietly, where printing would
    // panic.
    sigpipe::reset();
    let result = match arguments().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Table(arguments) => table::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Sets(arguments) => sets::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Vectors(arguments) => vectors::run(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
