//! `cargo xtask example`: the examples that take long, in this binary, for machines without cargo.

#![allow(clippy::duplicate_mod, reason = "each example brings examples/common along")]

use anyhow::{Result, anyhow};

#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../../crates/girih/examples/bert.rs"]
mod bert;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../../crates/girih/examples/helr.rs"]
mod helr;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../../crates/girih/examples/resnet20.rs"]
mod resnet20;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../../crates/girih/examples/sort.rs"]
mod sort;
#[allow(dead_code, reason = "an example's main is not called here")]
#[path = "../../crates/girih/examples/transformer.rs"]
mod transformer;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    example: Example,
}

#[derive(clap::Subcommand)]
enum Example {
    /// Run the encoder of a BERT on encrypted tokens.
    Bert(bert::Arguments),
    /// Train a logistic regression on encrypted images.
    Helr(helr::Arguments),
    /// Classify encrypted images by a residual network.
    Resnet20(resnet20::Arguments),
    /// Sort encrypted numbers.
    Sort(sort::Arguments),
    /// Classify encrypted sequences by a transformer block.
    Transformer(transformer::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let ran = match &arguments.example {
        Example::Bert(arguments) => bert::run(arguments),
        Example::Helr(arguments) => helr::run(arguments),
        Example::Resnet20(arguments) => resnet20::run(arguments),
        Example::Sort(arguments) => sort::run(arguments),
        Example::Transformer(arguments) => transformer::run(arguments),
    };
    ran.map(|()| true).map_err(|error| anyhow!("{error}"))
}
