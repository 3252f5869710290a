//! The samples of the book (docs/guide), a chapter each:
//! `cargo run --release --example guide -- first-gate`.

mod bootstrapping;
mod circuits;
mod devices;
mod first_gate;
mod functions;
mod integers;
mod keys;
mod large_messages;
mod look_ups;
mod matrices;
mod numbers;
mod vectors;

use clap::Parser;

type Failure = Box<dyn std::error::Error>;

/// Runs the sample of a chapter of the book; silence and `right` mean that every result was right.
#[derive(Parser)]
pub(crate) struct Arguments {
    /// The chapter, by its file in docs/guide.
    pub(crate) chapter: Chapter,
    /// Small parameters without any security, for a quick look.
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Chapter {
    FirstGate,
    Keys,
    LookUps,
    LargeMessages,
    Integers,
    Circuits,
    Vectors,
    Matrices,
    Functions,
    Bootstrapping,
    Numbers,
    Devices,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let set = |secure, insecure| if arguments.insecure { insecure } else { secure };
    let bits = set("STD128", "INSECURE_TOY");
    let vectors = set("CKKS_N15_D40", "INSECURE_CKKS_D40_N10");
    match arguments.chapter {
        // A set of its own: it is the text that a reader types.
        Chapter::FirstGate => first_gate::main(),
        Chapter::Keys => keys::run(bits),
        Chapter::LookUps => look_ups::run(set("TFHERS_2_2", "INSECURE_INTEGERS")),
        Chapter::LargeMessages => large_messages::run(arguments.insecure),
        Chapter::Integers => integers::run(set("TFHERS_2_2_GROUP_2", "INSECURE_INTEGERS")),
        Chapter::Circuits => circuits::run(bits),
        Chapter::Vectors => vectors::run(vectors),
        Chapter::Matrices => matrices::run(vectors),
        Chapter::Functions => functions::run(vectors),
        Chapter::Bootstrapping => {
            let small = "INSECURE_CKKS_D40_30BIT_LOW_STC_FIRST_N10";
            bootstrapping::run(set("CKKS_D40_30BIT_LOW_STC_FIRST", small))
        }
        Chapter::Numbers => {
            let set = set("DISCRETE_4", "INSECURE_DISCRETE_4_N10");
            numbers::run(set)?;
            numbers::circuit(set)?;
            let tfhe = if arguments.insecure { "INSECURE_TOY_TORUS" } else { "TFHERS_2_2" };
            numbers::from_tfhe(set, tfhe)
        }
        Chapter::Devices => devices::run(bits),
    }
}

fn main() -> Result<(), Failure> {
    run(&Arguments::parse())?;
    println!("right");
    Ok(())
}
