//! Trains a logistic regression on data that stays encrypted (Han, Song, Cheon, Park 2019): is a
//! handwritten digit a 3 or an 8?
//!
//! Nesterov gradient descent on z = (2 y - 1) (1, x), with 0.5 - 0.0843 x + 0.0002 x^3 for the
//! sigmoid of -x. Weights and the point that looks ahead are real, and are bootstrapped together as
//! u + i v, before every second iteration.
//!
//! ```text
//! $ cargo run --release --example logistic -- --device cpu --set INSECURE_CKKS_D40_N13
//! 160 images, 30 iterations, 15 bootstrappings, ..
//! weights differ by up to 1.4e-5 from the same descent in the plain
//! right of 42 others: 100.0 % encrypted, 100.0 % by the plain training
//! ```

mod common;
#[path = "common/ckks.rs"]
mod parties;
#[path = "common/regression.rs"]
mod regression;

use clap::Parser;
use common::Failure;
use girih::ckks::prelude::*;
use girih::ckks::server::Node;
use parties::Parties;
use regression::{FEATURES, MOMENTUM, RATE, accuracy, images, sigmoid, train};
use std::process::ExitCode;

/// Trains a logistic regression on encrypted images.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Images to train on, of 202; the others tell how good the result is.
    #[arg(long, default_value_t = 160, value_parser = clap::value_parser!(u16).range(1..=200))]
    images: u16,
    /// Iterations, two to each bootstrapping.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=60))]
    iterations: u16,
}

/// Weights are kept divided by this, so that margins, at most 11 here, stay in [-1, 1].
const SHRINK: f64 = 16.0;

/// One iteration. A ciphertext of `z` has one image after the other; those of `w` and `v` repeat
/// the weights for each.
fn iterate(
    b: &mut Builder<'_>,
    z: &[Node],
    [w, v]: [Node; 2],
    slope: &Polynomial,
) -> girih::ckks::Result<[Node; 2]> {
    let mut first = vec![0.0; FEATURES];
    first[0] = 1.0;
    let mut slopes = Vec::new();
    for z in z {
        let products = b.mul(z, &v)?;
        // Right in the first slot of each image, from where it is spread over the others.
        let sums = b.inner_sum(&products, FEATURES, 1)?;
        let margins = b.mul_plain(&sums, &first)?;
        let margins = b.spread(&margins, FEATURES, 1)?;
        slopes.push(b.polynomial(&margins, slope)?);
    }
    let steps = b.inner_product(&slopes, z)?;
    let step = b.inner_sum(&steps, steps.slots() / FEATURES, FEATURES as i64)?;
    let next = b.add(&v, &step)?;
    let (ahead, behind) = (b.mul_constant(&next, 1.0 + MOMENTUM)?, b.mul_constant(&w, MOMENTUM)?);
    Ok([next, b.sub(&ahead, &behind)?])
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let images = images()?;
    let (known, unknown) = images.split_at(usize::from(arguments.images));
    let rounds = arguments.iterations.div_ceil(2);
    let how = Bootstrapping::default();
    let parties = Parties::start(&arguments.options, "CKKS_D40", |set| {
        let powers = (0..set.slots().ilog2()).map(|i| 1 << i);
        let back = (0..FEATURES.ilog2()).map(|i| -1 << i);
        let mut kinds = how.keys(set, set.slots())?;
        kinds.extend(powers.chain(back).filter_map(|by| KeyKind::rotation(set, by)));
        Ok(kinds)
    })?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the images.
    let slots = server.set().slots();
    let encrypt = |batch: &[Vec<f64>]| {
        let mut values = batch.concat();
        values.resize(slots, 0.0);
        server.upload(&[client.encrypt(&values)?])
    };
    let z = known.chunks(slots / FEATURES).map(encrypt).collect::<Result<Vec<_>, _>>()?;
    let zeros = server.upload(&[client.encrypt_at(&vec![0.0; slots], 0)?])?;

    // Whoever computes: one recording, run for every two iterations.
    let rate = RATE / (SHRINK * known.len() as f64);
    let slope = Polynomial::interpolate(|x| rate * sigmoid(SHRINK * x), -1.0..=1.0, 3)?;
    let recording = server.record(|b| {
        let state = [b.input(0)?, b.input(0)?];
        let z = z.iter().map(|z| b.input(z.level())).collect::<Result<Vec<_>, _>>()?;
        let (w, v) = b.bootstrap_two_real(&state[0], &state[1], &how)?;
        let state = iterate(b, &z, [w, v], &slope)?;
        let [w, v] = iterate(b, &z, state, &slope)?;
        Ok(vec![b.adjust(&w, 0)?, b.adjust(&v, 0)?])
    })?;
    let start = std::time::Instant::now();
    let mut state = vec![zeros.clone(), zeros];
    for _ in 0..rounds {
        let inputs: Vec<_> = state.iter().chain(&z).collect();
        let outputs = recording.run(&inputs)?;
        // What the model cannot know: weights stay small.
        state = outputs.iter().map(|x| x.with_magnitude(1.0)).collect::<Result<_, _>>()?;
    }
    server.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();

    // The owner again.
    let weights = client.decrypt_real(&server.download(&state[0])?[0])?;
    let weights: Vec<f64> = weights[..FEATURES].iter().map(|w| w * SHRINK).collect();
    let same = train(known, 2 * rounds, sigmoid);
    let plain = train(known, 2 * rounds, |x| 1.0 / (1.0 + x.exp()));
    let error = weights.iter().zip(&same).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    println!(
        "{} images, {} iterations, {rounds} bootstrappings, {seconds:.1} s",
        known.len(),
        2 * rounds
    );
    println!("weights differ by up to {error:.1e} from the same descent in the plain");
    let [encrypted, exact] = [&weights, &plain].map(|w| accuracy(unknown, w));
    println!(
        "right of {} others: {encrypted:.1} % encrypted, {exact:.1} % by the plain training",
        unknown.len()
    );
    let figures = [
        ("seconds", seconds),
        ("largest_error", error),
        ("accuracy", encrypted),
        ("accuracy_plain", exact),
    ];
    parties.record(&arguments.options, "logistic", &std::collections::BTreeMap::from(figures))?;
    if error < 1e-2 {
        Ok(())
    } else {
        Err("the weights are not those of the same descent in the plain".into())
    }
}
