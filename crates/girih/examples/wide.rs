//! Numbers in slots: a table of 32,768 encrypted records by one look-up, and AES-128 of as many
//! encrypted blocks at once, checked against FIPS 197.
//!
//! A ciphertext holds one digit or bit of all records. The round keys of AES are encrypted by the
//! owner of the key; every block is another one.
//!
//! The default set is a small ring without any security and `--rounds 1`, so that it ends soon
//! anywhere; `--set DISCRETE_4 --rounds 10` on a GPU is the real thing.

mod common;

use clap::Parser;
use common::Failure;
use girih::circuit::generate;
use girih::discrete::prelude::*;
use std::process::ExitCode;
use std::time::Instant;

/// A table and AES-128 on all slots of ciphertexts.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Rounds of AES, of ten; 0 for the table alone.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=10))]
    rounds: u8,
    /// Look-ups side by side at most.
    #[arg(long, default_value_t = 8)]
    batch: usize,
}

// FIPS 197, appendix C.1.
const KEY: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
const BLOCK: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;
const CIPHERTEXT: u128 = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a;

/// Bytes as FIPS 197 writes them, each lowest bit first.
fn bits(block: u128) -> Vec<bool> {
    block.to_be_bytes().iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect()
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

/// The share of a price, in per cent, that a customer pays: by the class of the customer (0 to 3)
/// and that of the goods.
fn share(customer: u32, goods: u32) -> u32 {
    [[100, 100, 95, 90], [100, 95, 90, 85], [95, 90, 85, 80], [90, 85, 80, 70]][customer as usize]
        [goods as usize]
}

/// Every record's share by one look-up; returns its seconds.
fn table(client: &ClientKey, server: &ServerKey) -> Result<f64, Failure> {
    let count = client.set().numbers();
    let class = |of: usize| (0..count).map(|i| ((i * of) >> 7) as u32 % 4).collect::<Vec<_>>();
    let (customers, goods) = (class(389), class(577));
    let [x, y] = [&customers, &goods].map(|plain| client.encrypt_batch(&[plain], 4));
    let [x, y] = [server.upload(&x?)?, server.upload(&y?)?];
    let both = server.sum(&[(4, &x), (1, &y)], 0)?;
    let shares = Table::new(16, |m| share(m >> 2, m & 3))?.order(2)?;
    // The first look-up records what the second runs.
    server.lookup(&both, &[&shares])?;
    server.synchronize()?;
    let start = Instant::now();
    let result = server.lookup(&both, &[&shares])?.remove(0);
    server.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();
    let found = client.decrypt_integers(&server.download(&result)?)?;
    let right = |i: usize| i64::from(share(customers[i], goods[i]));
    if let Some(i) = (0..count).find(|&i| found[i] != right(i)) {
        return Err(format!("record {i}: {} per cent, and {} is right", found[i], right(i)).into());
    }
    println!(
        "table     {count} records in {:.2} ms, {:.0} a second, all right",
        1e3 * seconds,
        count as f64 / seconds
    );
    Ok(seconds)
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let device = arguments.options.open()?;
    let set = DiscreteParameters::by_name(arguments.options.set("INSECURE_DISCRETE_4_N10"))?;
    println!("{} ({}), {set}", device.info().id, device.info().name);
    for warning in set.warnings() {
        println!("warning: {warning}");
    }
    let client = ClientKey::generate(&set)?;
    let keys = EvaluationKeys::generate(&client, &TerminalProgress::new())?;
    let server = device.loader().progress(&TerminalProgress::new()).load(&keys)?;
    let table_seconds = if set.modulus() == 16 { Some(table(&client, &server)?) } else { None };
    let rounds = usize::from(arguments.rounds);
    let report = match rounds {
        0 => None,
        _ => Some(aes(arguments, &client, &server)?),
    };
    arguments.options.write(serde_json::json!({
        "example": "wide",
        "device": device.info().name,
        "set": set.to_string(),
        "figures": { "table_seconds": table_seconds, "rounds": rounds, "aes": report },
    }))
}

fn aes(
    arguments: &Arguments,
    client: &ClientKey,
    server: &ServerKey,
) -> Result<girih::circuit::WideReport, Failure> {
    let rounds = usize::from(arguments.rounds);
    let netlist = generate::aes128_expanded(rounds);
    let circuit = WideCircuit::new(&netlist, client.set())?;
    println!(
        "aes       {rounds} of 10 rounds: {} gates as {} look-ups of {} tables, {} kinds",
        circuit.gates(),
        circuit.lookups(),
        circuit.tables(),
        circuit.kinds()
    );
    // The block of the standard, then others.
    let key = generate::aes128_key_schedule(rounds).evaluate(&bits(KEY))?;
    let blocks = (0..client.set().numbers()).map(|i| BLOCK ^ i as u128);
    let inputs: Vec<Vec<bool>> = blocks.map(|b| [key.clone(), bits(b)].concat()).collect();
    let encrypted = WideBits::encrypt(client, &inputs)?;
    let options = WideOptions::default().with_batch(arguments.batch);
    let (outputs, report) =
        circuit.evaluate(server, &encrypted, &options, &TerminalProgress::new())?;
    println!("{report}");
    let outputs = outputs.decrypt(client)?;
    for (i, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
        if netlist.evaluate(input)? != *output {
            return Err(format!("block {i} is wrong").into());
        }
    }
    if rounds == 10 && outputs[0] != bits(CIPHERTEXT) {
        return Err("the block of FIPS 197 is wrong".into());
    }
    println!("{} of {} blocks are right", outputs.len(), inputs.len());
    Ok(report)
}
