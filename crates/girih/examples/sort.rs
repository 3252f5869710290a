//! Sorts numbers that stay encrypted, and finds the largest of them and their median.
//!
//! The numbers lie in one ciphertext. A layer of a sorting network compares all pairs of slots at
//! one distance at once: the sign of their difference, as a composition of minimax polynomials
//! (Lee et al. 2021), says who takes the larger. A sign takes about all levels that a bootstrapping
//! leaves, so that a layer begins with one; a sign that takes more bootstraps in between.
//!
//! Numbers that lie closer together than the sign can tell are mixed rather than exchanged, which
//! moves them by less than the error that `--bits` asks for. Errors of layers add up at worst.
//!
//! The default set is a small ring without any security, so that it ends in minutes anywhere;
//! `--set CKKS_D40_30BIT_LOW --numbers 16384` is the real thing.

mod common;
#[path = "common/network.rs"]
mod network;
#[path = "common/ckks.rs"]
mod parties;

use clap::{Parser, ValueEnum};
use common::Failure;
use girih::ckks::prelude::*;
use girih::ckks::server::{Estimate, Node, Recording};
use network::Layer;
use parties::Parties;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Sorts encrypted numbers.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// How many numbers; a power of two, at most as many as the set has slots.
    #[arg(long, default_value_t = 256)]
    numbers: usize,
    /// All of them in order, the largest alone, or the median alone.
    #[arg(long, value_enum, default_value_t = Task::Sort)]
    task: Task,
    /// How many of the largest; a power of two.
    #[arg(long, default_value_t = 8)]
    largest: usize,
    /// A layer may move a number by 2^-bits of the range.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u8).range(5..=20))]
    bits: u8,
    /// Wait for all kernels before a layer is timed, so that what is done once for all runs is left
    /// out.
    #[arg(long)]
    warm: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Task {
    Sort,
    Top,
    Median,
}

/// Numbers lie between this and its negative. Differences stay below 1, where signs are defined,
/// with room for errors.
const LARGEST: f64 = 0.47;

/// How far results may be from what the same polynomials make of the numbers in the plain.
const SAME: f64 = 1e-3;

/// Numbers of a fixed sequence, spread evenly over [-LARGEST, LARGEST].
fn numbers(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| LARGEST * (2.0 * next() - 1.0)).collect()
}

/// Whoever computes.
struct Sorter<'a> {
    server: &'a ServerKey,
    how: Bootstrapping,
    sign: &'a CompositeSign,
    /// By how much an exchange may move numbers wrongly.
    off: f64,
    /// The large steps, the same for all layers: recorded when they are first wanted.
    refreshing: Option<Recording>,
    signing: Option<Recording>,
    /// Whether kernels of recordings' own are waited for before these are timed.
    warm: bool,
    /// How long recordings ran; what making them takes is not in it.
    spent: Duration,
}

impl<'a> Sorter<'a> {
    fn new(server: &'a ServerKey, how: Bootstrapping, sign: &'a CompositeSign) -> Self {
        let (off, spent) = (sign.relu_error(), Duration::ZERO);
        Self { server, how, sign, off, refreshing: None, signing: None, warm: false, spent }
    }

    /// One layer. Two of its steps depend on the layer, and these are small.
    fn layer(&mut self, x: &Ciphertexts, layer: &Layer) -> girih::ckks::Result<Ciphertexts> {
        let Self { server, how, sign, .. } = *self;
        let refreshing = match self.refreshing.take() {
            Some(recording) => recording,
            None => recorded(server, &[x], |b, x| b.bootstrap_with(&x[0], &how))?,
        };
        let fresh = self.timed(&refreshing, &[x])?;
        self.refreshing = Some(refreshing);
        let difference = recorded(server, &[&fresh], |b, x| {
            // What differences are in upper slots means nothing; an exchange masks it.
            let beside = b.rotate(&x[0], layer.distance as i64)?;
            b.sub(&x[0], &beside)
        })?;
        let difference = self.timed(&difference, &[&fresh])?;
        let signing = match self.signing.take() {
            Some(recording) => recording,
            None => recorded(server, &[&difference], |b, x| {
                b.bootstrap_when_needed(true);
                let sign = b.sign(&x[0], 1.0, sign)?;
                if sign.level() == 0 { b.bootstrap(&sign) } else { Ok(sign) }
            })?,
        };
        let signs = self.timed(&signing, &[&difference])?;
        self.signing = Some(signing);
        let inputs = [&fresh, &difference, &signs];
        let exchange = recorded(server, &inputs, |b, x| {
            let next = exchange(b, layer, &x[0], &x[1], &x[2])?;
            // Every layer begins at the level that bootstrappings start from.
            let to = b.set().bootstrap_level();
            if next.level() > to { b.adjust(&next, to) } else { Ok(next) }
        })?;
        let next = self.timed(&exchange, &inputs)?;
        // The rules of single operations cannot know that an exchange makes errors no larger: to
        // those of the numbers it adds what the sign is off by, and roundings far below those of
        // the bootstrapping.
        let Estimate { deviation, bias, .. } = fresh.estimate();
        let bias = bias + self.off;
        next.with_estimate(Estimate { deviation, bias, magnitude: 0.5 })
    }

    /// The result of a recording that has one; the time is noted.
    fn timed(
        &mut self,
        recording: &Recording,
        inputs: &[&Ciphertexts],
    ) -> girih::ckks::Result<Ciphertexts> {
        if self.warm {
            self.server.engine().settle()?;
        }
        let start = Instant::now();
        let result = recording.run(inputs)?.remove(0);
        self.server.synchronize()?;
        self.spent += start.elapsed();
        Ok(result)
    }
}

/// A recording of one result, for inputs like these.
fn recorded(
    server: &ServerKey,
    inputs: &[&Ciphertexts],
    record: impl FnOnce(&mut Builder<'_>, &[Node]) -> girih::ckks::Result<Node>,
) -> girih::ckks::Result<Recording> {
    server.record(|b| {
        let nodes = inputs.iter().map(|x| b.input_with(x.level(), x.scale(), x.slots()));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        Ok(vec![record(b, &nodes)?])
    })
}

/// The lower slot of a pair, x, becomes (x + y + s |x - y|) / 2, s being 1 where it takes the
/// larger; the upper slot, y, loses what the lower one gains. So x gains
/// (s (x - y) sign(x - y) - (x - y)) / 2, masked before the product, where that takes no level of
/// the sign's.
fn exchange(
    b: &mut Builder<'_>,
    layer: &Layer,
    x: &Node,
    difference: &Node,
    sign: &Node,
) -> girih::ckks::Result<Node> {
    let signs = layer.signs(x.slots());
    let halves = |f: fn(f64) -> f64| signs.iter().map(|&s| f(s) / 2.0).collect::<Vec<_>>();
    let to = (sign.level() + 1).min(difference.level());
    let difference = if to < difference.level() { b.adjust(difference, to)? } else { *difference };
    let signed = b.mul_plain(&difference, &halves(|s| s))?;
    let moved = b.mul(&signed, sign)?;
    let masked = b.mul_plain(&difference, &halves(f64::abs))?;
    let gain = b.sub(&moved, &masked)?;
    let loss = b.rotate(&gain, -(layer.distance as i64))?;
    let x = b.add(x, &gain)?;
    b.sub(&x, &loss)
}

/// The slots that the task asks for; all others become 0 where some are to stay hidden.
fn answer(
    server: &ServerKey,
    x: &Ciphertexts,
    how: &Bootstrapping,
    arguments: &Arguments,
) -> girih::ckks::Result<Ciphertexts> {
    if arguments.task == Task::Sort {
        return Ok(x.clone());
    }
    let x = server.bootstrap_with(x, how)?;
    let only = |slots: std::ops::Range<usize>, by: f64| -> Vec<f64> {
        (0..x.slots()).map(|j| if slots.contains(&j) { by } else { 0.0 }).collect()
    };
    if arguments.task == Task::Top {
        return server.mul_plain(&x, &only(0..arguments.largest, 1.0));
    }
    // Between the two in the middle.
    let sum = server.add(&x, &server.rotate(&x, 1)?)?;
    let middle = x.slots() / 2 - 1;
    server.mul_plain(&sum, &only(middle..middle + 1, 0.5))
}

/// The same of a vector that `network` has been through in the plain.
fn plain_answer(x: &[f64], arguments: &Arguments) -> Vec<f64> {
    let middle = x.len() / 2;
    match arguments.task {
        Task::Sort => x.to_vec(),
        Task::Top => x[..arguments.largest].to_vec(),
        Task::Median => vec![(x[middle - 1] + x[middle]) / 2.0],
    }
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (count, largest) = (arguments.numbers, arguments.largest);
    if count < 2 || !count.is_power_of_two() {
        return Err(format!("--numbers {count}: a power of two from 2 on is needed").into());
    }
    if arguments.task == Task::Top && !(largest.is_power_of_two() && largest <= count) {
        let rule = format!("a power of two up to the {count} numbers is needed");
        return Err(format!("--largest {largest}: {rule}").into());
    }
    let layers = match arguments.task {
        Task::Top => network::top(count, largest),
        Task::Sort | Task::Median => network::sort(count),
    };
    let sign = CompositeSign::for_relu((-f64::from(arguments.bits)).exp2())?;
    let parties = Parties::start(&arguments.options, "INSECURE_CKKS_D40_N11", |set| {
        if count > set.slots() {
            return Err(girih::ckks::Error::Length {
                what: "the list of numbers",
                found: count,
                rule: format!("{set} has {} slots", set.slots()),
            });
        }
        let steps = (0..count.ilog2()).flat_map(|i| [1 << i, -1 << i]);
        let mut kinds = bootstrapping(set).keys(set, count)?;
        kinds.extend(steps.filter_map(|by| KeyKind::rotation(set, by)));
        Ok(kinds)
    })?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the numbers.
    let values = numbers(count);
    let encrypted = client.within(0.5).encrypt_at(&values, server.set().bootstrap_level())?;
    let mut x = server.upload(&[encrypted])?;

    // Whoever computes.
    let how = bootstrapping(server.set());
    let mut sorter = Sorter::new(server, how, &sign);
    sorter.warm = arguments.warm;
    for layer in &layers {
        x = sorter.layer(&x, layer)?;
    }
    let result = answer(server, &x, &how, arguments)?;
    let seconds = sorter.spent.as_secs_f64();

    // The owner again, who compares: with what signs that are exact make of the numbers, and with
    // what the same polynomials make of them.
    let found = client.decrypt_real(&server.download(&result)?[0])?;
    let first = if arguments.task == Task::Median { count / 2 - 1 } else { 0 };
    let plain = |sign: &dyn Fn(f64) -> f64| {
        let mut x = values.clone();
        layers.iter().for_each(|layer| layer.apply(&mut x, sign));
        plain_answer(&x, arguments)
    };
    let (exact, same) = (plain(&f64::signum), plain(&|x| sign.evaluate(x)));
    let found = &found[first..first + exact.len()];
    let distances = |x: &[f64]| found.iter().zip(x).map(|(x, y)| (x - y).abs()).collect::<Vec<_>>();
    let largest_of = |x: &[f64]| x.iter().copied().fold(0.0, f64::max);
    let errors = distances(&exact);
    let (error, mean) = (largest_of(&errors), errors.iter().sum::<f64>() / errors.len() as f64);
    let beside = largest_of(&distances(&same));
    let (depth, levels) = (layers.len(), sign.levels());
    println!("{count} numbers, {depth} layers of signs of {levels} levels, {seconds:.1} s");
    println!("{:.0} ms a layer", 1e3 * seconds / depth as f64);
    for (place, (found, exact)) in found.iter().zip(&exact).enumerate().take(4) {
        println!("{:>6}  {found:+.6} encrypted, {exact:+.6} in the plain", first + place);
    }
    println!("off by {error:.1e} at most and {mean:.1e} in the mean, for numbers up to {LARGEST}");
    println!("off by {beside:.1e} at most from the same polynomials in the plain");
    let figures = [
        ("numbers", count as f64),
        ("layers", depth as f64),
        ("seconds", seconds),
        ("largest_error", error),
        ("mean_error", mean),
        ("largest_difference_from_polynomials", beside),
    ];
    parties.record(&arguments.options, "sort", &std::collections::BTreeMap::from(figures))?;
    // What a layer moves wrongly adds up at worst, as exchanges make no error larger.
    let bound = result.estimate().largest_error();
    for (what, error, bound) in [("order", error, bound), ("polynomials", beside, SAME)] {
        if error > bound {
            let allowed = format!("{error:.1e}, and {bound:.1e} is allowed");
            return Err(format!("off from the {what} in the plain by {allowed}").into());
        }
    }
    Ok(())
}

/// Sorted numbers are not like random ones: as much room above the message as the set allows.
fn bootstrapping(set: &CkksParameters) -> Bootstrapping {
    let most = set.message_ratios().end - 1;
    Bootstrapping { message_ratio: Some(most.min(8)), ..Default::default() }
}
