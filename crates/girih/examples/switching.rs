//! Exact signs, the largest slot and look-ups of encrypted real numbers: from CKKS to TFHE and
//! back. And messages of TFHE as numbers in slots and back.
//!
//! ```text
//! $ cargo run --release --example switching
//! $ cargo run --release --example switching -- --set CKKS_D40 --tfhe-set G4 --values 256
//! $ cargo run --release --example switching -- --task lookup --tfhe-set INSECURE_TOY_TORUS
//! $ cargo run --release --example switching -- --task numbers --tfhe-set INSECURE_TOY_TORUS
//! ```

mod common;

use clap::{Parser, ValueEnum};
use common::Failure;
use girih::ckks::prelude::*;
use girih::switching::SwitchingParameters;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Task {
    /// The sign of every slot.
    Sign,
    /// Which slot is the largest.
    Argmax,
    /// A table of eight points.
    Lookup,
    /// Messages of TFHE to numbers in slots, by a table of 8, and back.
    Numbers,
}

/// Exact comparisons of encrypted real numbers by way of TFHE.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// The TFHE set: G4 and INSECURE_LARGE compare; any look up.
    #[arg(long, default_value = "INSECURE_LARGE")]
    tfhe_set: String,
    #[arg(long, value_enum, default_value = "sign")]
    task: Task,
    /// Numbers, of magnitude up to 1: a power of two.
    #[arg(long, default_value_t = 32)]
    values: usize,
    /// log2 of the modulus in which numbers are compared: more tells nearer ones apart.
    #[arg(long, default_value_t = 20)]
    log2_modulus: u32,
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

/// The function that is looked up.
fn function(x: f64) -> f64 {
    (3.0 * x).tanh()
}

/// Messages of three bits to numbers in slots, their squares modulo 8, and back.
fn numbers(arguments: &Arguments) -> Result<(), Failure> {
    let device = arguments.options.open()?;
    let set = DiscreteParameters::by_name(arguments.options.set("INSECURE_DISCRETE_4_N10"))?;
    let tfhe_set = girih::tfhe::ParameterSet::by_name(&arguments.tfhe_set)?;
    println!("{} ({}), {set} and {tfhe_set}", device.info().id, device.info().name);
    let (count, bar) = (arguments.values, TerminalProgress::new());

    // The owner of the numbers.
    let client = discrete::ClientKey::generate(&set)?;
    let tfhe = girih::tfhe::ClientKey::generate(&tfhe_set)?;
    let between = SwitchingKeys::generate(client.ckks(), &tfhe, &bar)?;
    let keys = discrete::EvaluationKeys::generate(&client, &bar)?;
    let messages: Vec<u64> = (0..count as u64).map(|i| i * i / 3 % 8).collect();
    let x = tfhe.encrypt_messages(&messages, 3)?;

    // Whoever computes: once to make recordings, and once more to measure.
    let server = device.loader().progress(&bar).load(&keys)?;
    let switch = WireSwitch::new(&server, &between)?;
    let square = Table::new(8, |m| m * m % 8)?;
    let mut figures = (0.0, 0.0, x.clone());
    for _ in 0..2 {
        let start = Instant::now();
        let numbers = switch.to_wires(&x, &[&square])?.remove(0);
        server.synchronize()?;
        let there = start.elapsed().as_secs_f64();
        let back = switch.to_tfhe(&numbers, 3, x.log2_modulus())?;
        figures = (there, start.elapsed().as_secs_f64() - there, back);
    }
    let (there, back, found) = figures;

    // The owner again.
    let wanted: Vec<u64> = messages.iter().map(|m| m * m % 8).collect();
    if tfhe.decrypt_messages(&found, 3)? != wanted {
        return Err("wrong results".into());
    }
    println!("{count} messages: {there:.3} s to numbers and through a table, {back:.3} s back");
    arguments.options.write(serde_json::json!({
        "example": "switching",
        "device": device.info().name,
        "set": set.to_string(),
        "tfhe_set": tfhe_set.to_string(),
        "figures": { "task": "Numbers", "values": count, "there": there, "back": back },
    }))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.task == Task::Numbers {
        return numbers(arguments);
    }
    let device = arguments.options.open()?;
    let set = CkksParameters::by_name(arguments.options.set("INSECURE_CKKS_D40_N10"))?;
    let tfhe_set = girih::tfhe::ParameterSet::by_name(&arguments.tfhe_set)?;
    let parameters = SwitchingParameters::new(&set, &tfhe_set)?;
    println!("{} ({}), {parameters}", device.info().id, device.info().name);
    let security = parameters.security();
    println!("switching keys: {:.1} bits (uSVP, BDGL16)", security.usvp_bdgl16);
    parameters.warnings().iter().for_each(|warning| println!("warning: {warning}"));
    let (count, bar) = (arguments.values, TerminalProgress::new());

    // The owner of the numbers.
    let client = ClientKey::generate(&set)?;
    let tfhe = girih::tfhe::ClientKey::generate(&tfhe_set)?;
    let between = SwitchingKeys::generate(&client, &tfhe, &bar)?;
    let slots = count.max(16).next_power_of_two();
    let kinds = Switch::evaluation_keys(&set, slots)?;
    let keys = EvaluationKeys::generate(&client, kinds, &bar)?;
    let mut values: Vec<f64> = (0..slots).map(|i| (0.4 + 1.7 * i as f64).sin()).collect();
    if arguments.task == Task::Lookup {
        // The points of the table.
        values.iter_mut().for_each(|x| *x = ((*x * 4.0).floor() / 4.0).clamp(-1.0, 0.75));
    }

    // Whoever computes.
    let server = device.loader().progress(&bar).load(&keys)?;
    let x = server.upload(&[client.encrypt(&values)?])?;
    let switch = Switch::new(&server, &between, slots)?;
    // Once to make recordings, and once more to measure.
    let timed = |task: &dyn Fn() -> Result<Ciphertexts, Failure>| -> Result<_, Failure> {
        task()?;
        let start = Instant::now();
        let result = task()?;
        server.synchronize()?;
        Ok((result, start.elapsed().as_secs_f64()))
    };
    let (result, seconds) = if arguments.task == Task::Lookup {
        let keys = girih::tfhe::EvaluationKeys::generate(&tfhe, &bar)?;
        let server = device.loader().progress(&bar).load(&keys)?;
        server.limit_failure(0.0)?;
        timed(&|| Ok(switch.lookup(&server, &x, count, -1.0..1.0, 3, function)?))?
    } else {
        let all = [LargeParameters::default(), LargeParameters::insecure()];
        let known = all.into_iter().find(|large| *large.home() == tfhe_set);
        let large = known.ok_or("numbers are compared by G4 and INSECURE_LARGE")?;
        let bits = arguments.log2_modulus;
        let transform = *device.info().transforms.first().ok_or("the device has no transform")?;
        let gadgets = Comparator::gadgets(&parameters, &large, bits, transform)?;
        let keys = LargeKeys::generate(&large, &tfhe, &gadgets, &bar)?;
        let large = device.loader().transform(transform).progress(&bar).load(&keys)?;
        let comparator = Comparator::new(&switch, &large, bits)?;
        let resolution = comparator.sign(&x, 1, 1.0)?.resolution;
        if let Some(near) = resolution.distance(-40.0) {
            println!("signs of numbers beyond 2^{:.1} are wrong below 2^-40", near.log2());
        }
        match arguments.task {
            Task::Argmax => timed(&|| Ok(comparator.argmax(&x, count, 1.0)?.slots))?,
            _ => timed(&|| Ok(comparator.sign(&x, count, 1.0)?.slots))?,
        }
    };

    // The owner again.
    let found = client.decrypt_real(&server.download(&result)?[0])?;
    let values = &values[..count];
    let largest = (0..count).max_by(|&i, &j| values[i].total_cmp(&values[j]));
    let wanted = |j: usize| match arguments.task {
        Task::Sign => values[j].signum(),
        Task::Argmax => f64::from(u8::from(Some(j) == largest)),
        Task::Lookup | Task::Numbers => function(values[j]),
    };
    let error = (0..count).map(|j| (found[j] - wanted(j)).abs()).fold(0.0, f64::max);
    let each = 1e3 * seconds / count as f64;
    println!("{count} values, {seconds:.3} s, {each:.3} ms each; error at most {error:.1e}");
    arguments.options.write(serde_json::json!({
        "example": "switching",
        "device": device.info().name,
        "set": set.to_string(),
        "tfhe_set": tfhe_set.to_string(),
        "figures": {
            "task": format!("{:?}", arguments.task),
            "values": count,
            "seconds": seconds,
            "ms_a_value": each,
            "error": error,
        },
    }))?;
    let most = if arguments.task == Task::Lookup { 0.05 } else { 0.01 };
    if error <= most { Ok(()) } else { Err("wrong results".into()) }
}
