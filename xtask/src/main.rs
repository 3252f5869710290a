//! The command line of girih, `cargo xtask`: one file a command.

mod apart;
mod bench;
mod book;
mod bundle;
mod bytes;
mod ckks;
mod cuda_check;
mod devices;
mod discrete;
mod drivers;
mod example;
mod first_result;
mod fold;
mod fuzz;
mod kernel_sources;
mod kernels;
mod mutants;
mod nvcc;
mod nvrtc;
mod package;
mod peers;
mod plot;
mod poly_check;
mod poly_kernels;
mod probe;
mod published;
mod python;
mod rates;
mod record;
mod records;
mod report;
mod search;
mod service;
mod sets;
mod slot_integers;
mod soak;
mod table;
mod targets;
mod test;
mod tfhe_rs;
mod thousands;
mod timeline;
mod tune;
mod vectors;
mod wasm;
mod web;
mod wide;

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
    /// How long a newcomer waits for a first result, with empty caches and with kept ones: each row
    /// is a command in a process of its own.
    FirstResult(first_result::Arguments),
    /// Run one of the examples that take long, for machines without cargo.
    Example(example::Arguments),
    /// Run all tests: unit, property, vectors, and the conformance suite on every device found.
    Test(test::Arguments),
    /// Build and test the crate for clients of TFHE-rs, which is no part of the workspace.
    TfheRs(tfhe_rs::Arguments),
    /// Build and test the example of a web service, which is no part of the workspace.
    Service(service::Arguments),
    /// Compile or translate every GPU kernel in use, without a GPU, and print what it takes.
    Kernels(kernels::Arguments),
    /// Run girih on drivers that need no GPU: a second software driver, drivers whose device does
    /// nothing, under the layer that checks calls of Vulkan, and within small limits.
    Drivers(drivers::runs::Arguments),
    /// Check that everything but CUDA compiles for a browser, where the toolchain has the target.
    Wasm(wasm::Arguments),
    /// Check that girih and these commands compile for Windows and macOS, where the toolchain has
    /// them.
    Targets(targets::Arguments),
    /// Build the web page and the package for npm below `target/web`; test or serve them.
    Web(web::Arguments),
    /// Build the Python package, install it below `target`, run its tests and examples.
    Python(python::Arguments),
    /// Archive every crate that is published, as `cargo publish` would, and build and run a program
    /// of the archives alone.
    Package(package::Arguments),
    /// Build the book over docs/ with mdBook and follow every link in it.
    Book(book::Arguments),
    /// Measure the plans that a device lists for a set, and keep the fastest for later loads.
    Tune(tune::Arguments),
    /// Print tables from a folder of records, or write those of README.md and docs/performance.md.
    Table(table::Arguments),
    /// Fold single records (of `bench --json` and examples) into one file a device and kind, with
    /// each plan stored once.
    Fold(fold::Arguments),
    /// Draw the curves of every sweep in a folder of records.
    Plot(plot::Arguments),
    /// Read changed inputs with every decoder, parser and file format; none may panic, take long,
    /// or accept what is not so.
    Fuzz(fuzz::Arguments),
    /// Change one expression of a crate at a time and run the tests that reach it: which changes do
    /// none of them notice?
    Mutants(mutants::Arguments),
    /// Make random calls from several threads and compare every result with the plain one, for
    /// minutes or days.
    Soak(soak::Arguments),
    /// Replay all vectors and measure a few rates on a device, and write what came of it to one
    /// file, to be sent with an issue.
    Report(report::Arguments),
    /// Tell what can run here.
    Devices(devices::Arguments),
    /// Tell what a CKKS bootstrapping takes on a device, by which keys, and on which cards it fits.
    Memory(ckks::memory::Arguments),
    /// List the built-in parameter sets, or print one as a parameter file.
    Sets(sets::Arguments),
    /// Search for parameter sets by message size, failure probability and security, and measure the
    /// cheapest.
    Search(search::Arguments),
    /// Make a folder of binaries that run on a machine without Rust: bench, conformance, examples.
    Bundle(bundle::Arguments),
    /// Replay vector files stage by stage, bit for bit.
    Vectors(vectors::Arguments),
    /// For work on kernels: check and time a CUDA device.
    CudaCheck(Rest),
    /// For work on kernels: write the CUDA sources of every set to a folder, ready for nvcc.
    KernelSources(Rest),
    /// For work on kernels: check and time the poly kernels on a CUDA device.
    PolyCheck(Rest),
    /// For work on kernels: check and time an adapter of wgpu.
    Probe(Rest),
    /// For work on kernels: measure what an adapter's arithmetic and exchanges cost.
    Rates(Rest),
}

/// Rest that a command reads by itself; without any, or with wrong ones, it says which it takes.
#[derive(clap::Args)]
struct Rest {
    /// What the command takes: the first lines of its file in xtask/src list it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
    words: Vec<String>,
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
    record::start();
    let result = match arguments().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::FirstResult(arguments) => first_result::run(&arguments),
        Command::Example(arguments) => example::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::TfheRs(arguments) => tfhe_rs::run(&arguments),
        Command::Service(arguments) => service::run(&arguments),
        Command::Drivers(arguments) => drivers::runs::run(&arguments),
        Command::Wasm(arguments) => wasm::run(&arguments),
        Command::Targets(arguments) => targets::run(&arguments),
        Command::Web(arguments) => web::run(&arguments),
        Command::Python(arguments) => python::run(&arguments),
        Command::Package(arguments) => package::run(&arguments),
        Command::Book(arguments) => book::run(&arguments),
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Table(arguments) => table::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Memory(arguments) => ckks::memory::run(&arguments),
        Command::Sets(arguments) => sets::run(&arguments),
        Command::Search(arguments) => search::run(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Vectors(arguments) => vectors::run(&arguments),
        Command::Fold(arguments) => fold::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::CudaCheck(words) => cuda_check::run(&words),
        Command::KernelSources(words) => kernel_sources::run(&words),
        Command::PolyCheck(words) => poly_check::run(&words),
        Command::Probe(words) => probe::run(&words),
        Command::Rates(words) => rates::run(&words),
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

/// The arguments of a command as the command line would read them; `words` begins with its name.
fn parsed<A: clap::Args>(words: &[&str]) -> A {
    let command = A::augment_args(clap::Command::new("xtask"));
    A::from_arg_matches(&command.get_matches_from(words)).expect("arguments of this command")
}
