//! AES-128 on an encrypted block under an encrypted key, checked against FIPS 197.
//!
//! By default one round of the ten; `--full` runs them all. The round keys are encrypted by the
//! owner of the key, or with `--schedule` computed from the encrypted key by the circuit.
//!
//! ```text
//! $ cargo run --release --example aes128 -- --full
//! 10 of 10 rounds: 5120 AND, 18864 XOR
//! 24624 gates as 17388 bootstrappings in 190 levels, 1 instance
//! ..
//! FIPS 197  69c4e0d86a7b0430d8cdb78070b4c55a
//! decrypted 69c4e0d86a7b0430d8cdb78070b4c55a
//! 1 of 1 blocks are right
//! ```

mod common;
#[path = "common/tfhe.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::circuit::{Circuit, EncryptedBits, GateKind, Netlist, generate};
use girih::device::TerminalProgress;
use parties::Parties;
use std::path::PathBuf;
use std::process::ExitCode;

/// AES-128 on an encrypted block under an encrypted key, checked against FIPS 197.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// All ten rounds instead of the first.
    #[arg(long)]
    full: bool,
    /// Blocks encrypted at once, 1 to 10000.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    blocks: u64,
    /// Compute the round keys in the circuit too.
    #[arg(long)]
    schedule: bool,
    /// Also write the netlist to FILE in Bristol Fashion.
    #[arg(long, value_name = "FILE")]
    netlist: Option<PathBuf>,
}

// FIPS 197, appendix C.1; after round 1, the state is that at the start of round 2.
const KEY: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
const BLOCK: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;
const AFTER_ROUND_1: u128 = 0x89d8_10e8_855a_ce68_2d18_43d8_cb12_8fe4;
const CIPHERTEXT: u128 = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a;

/// Bytes as FIPS 197 writes them, each lowest bit first.
fn bits(block: u128) -> Vec<bool> {
    block.to_be_bytes().iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
}

fn block(bits: &[bool]) -> u128 {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |n, &bit| n << 1 | u128::from(bit));
    bits.chunks(8).fold(0, |n, bits| n << 8 | byte(bits))
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let rounds = if arguments.full { 10 } else { 1 };
    let made = if arguments.schedule {
        generate::aes128(rounds)
    } else {
        generate::aes128_expanded(rounds)
    };
    // Through the exchange format, as any other circuit would come.
    let text = made.to_bristol();
    let netlist = Netlist::from_bristol(&text)?;
    if let Some(path) = &arguments.netlist {
        std::fs::write(path, &text).map_err(|e| format!("--netlist {}: {e}", path.display()))?;
    }
    let [and, xor] = [GateKind::And, GateKind::Xor].map(|kind| netlist.count(kind));
    println!("{rounds} of 10 rounds: {and} AND, {xor} XOR");

    let parties = Parties::start(&arguments.options, "STD128")?;
    // So rarely wrong is enough here, and leaves room for bootstrappings of three and four inputs.
    let circuit = Circuit::with_log2_failure(&netlist, parties.server.set(), -64.0)?;
    let key = if arguments.schedule {
        bits(KEY)
    } else {
        generate::aes128_key_schedule(rounds).evaluate(&bits(KEY))?
    };
    // The block of the standard, then others.
    let blocks = (0..arguments.blocks).map(|i| BLOCK ^ u128::from(i));
    let inputs: Vec<Vec<bool>> = blocks.map(|b| [key.clone(), bits(b)].concat()).collect();
    let encrypted = EncryptedBits::encrypt(&parties.client, &inputs)?;

    let (outputs, report) =
        circuit.evaluate(&parties.server, &encrypted, &TerminalProgress::new())?;

    let outputs = outputs.decrypt(&parties.client)?;
    let expected = if arguments.full { CIPHERTEXT } else { AFTER_ROUND_1 };
    let first = outputs.first().map(|bits| block(bits));
    println!("{report}");
    parties.record(&arguments.options, "aes128", &report)?;
    println!("FIPS 197  {expected:032x}");
    println!("decrypted {:032x}", first.unwrap_or_default());
    let mut plain = inputs.iter().map(|i| netlist.evaluate(i)).zip(&outputs);
    if first != Some(expected) || !plain.all(|(want, got)| want.is_ok_and(|w| w == *got)) {
        return Err("that is wrong".into());
    }
    println!("{} of {} blocks are right", outputs.len(), inputs.len());
    Ok(())
}
