//! Trains a logistic regression on data that stays encrypted (Han, Song, Cheon, Park 2019): is a
//! handwritten digit a 3 or an 8? The training as one writes it down; `helr` is the same, arranged
//! to be fast.
//!
//! Nesterov gradient descent on z = (2 y - 1) (x, 1), padded to 256 features, with 0.5 - 0.0843 x +
//! 0.0002 x^3 for the sigmoid of -x and rates that change. Weights and the point that looks ahead
//! are real, and are bootstrapped together as u + i v before every second iteration.
//!
//! The default set is a small ring without any security, so that it ends in minutes anywhere;
//! `--set CKKS_D40` is the real thing.

mod common;
#[path = "common/ckks.rs"]
mod parties;
#[path = "common/regression.rs"]
mod regression;

use clap::Parser;
use common::Failure;
use girih::ckks::inner_sum_rotations;
use girih::ckks::prelude::*;
use girih::ckks::server::Node;
use parties::Parties;
use regression::{FEATURES, rates, rows, score, sigmoid, train};
use std::process::ExitCode;

/// Trains a logistic regression on encrypted images.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Images to train on; from 160 on the same images moved a little.
    #[arg(long, default_value_t = 160, value_parser = clap::value_parser!(u16).range(1..))]
    images: u16,
    /// Iterations, two to each bootstrapping.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=60))]
    iterations: u16,
}

/// Weights are kept divided by this, so that they and margins stay in [-1, 1].
const SHRINK: f64 = 16.0;

/// The gradient at `v`, summed over images, in five levels. A ciphertext of `z` has one image after
/// the other; `v` repeats for each.
fn gradient(
    b: &mut Builder<'_>,
    z: &[Node],
    v: &Node,
    slope: &Polynomial,
) -> girih::ckks::Result<Node> {
    let first = [&[1.0][..], &[0.0; FEATURES - 1]].concat();
    let mut slopes = Vec::new();
    for z in z {
        let products = b.mul(z, v)?;
        // Right in the first slot of each image, from where it is spread over the others.
        let sums = b.inner_sum(&products, FEATURES, 1)?;
        let margins = b.mul_plain(&sums, &first)?;
        let margins = b.spread(&margins, FEATURES, 1)?;
        slopes.push(b.polynomial(&margins, slope)?);
    }
    let steps = b.inner_product(&slopes, z)?;
    let steps = b.inner_sum(&steps, steps.slots() / FEATURES, FEATURES as i64)?;
    b.with_slots(&steps, FEATURES)
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (images, iterations) = (usize::from(arguments.images), arguments.iterations);
    let (known, others) = rows(images)?;
    let how = Bootstrapping::default();
    let parties = Parties::start(&arguments.options, "INSECURE_CKKS_D40_N13", |set| {
        // Keys for the levels at which they are used are a third as large as those for all.
        let mut keys = how.keys_by_level(set, FEATURES)?;
        let features = FEATURES as i64;
        let sums = [(FEATURES, 1), (FEATURES, -1), (set.slots() / FEATURES, features)];
        let amounts = sums.map(|(width, stride)| inner_sum_rotations(width, stride)).concat();
        let rotations = amounts.into_iter().filter_map(|by| KeyKind::rotation(set, by));
        keys.extend(rotations.map(|kind| kind.up_to(set.default_level())));
        Ok(keys)
    })?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the images.
    let slots = server.set().slots();
    let encrypt = |images: &[Vec<f64>]| {
        let mut values = images.concat();
        values.resize(slots, 0.0);
        server.upload(&[client.encrypt(&values)?])
    };
    let z = known.chunks(slots / FEATURES).map(encrypt).collect::<Result<Vec<_>, _>>()?;
    let zeros = server.upload(&[client.encrypt_at(&[0.0; FEATURES], 0)?])?;

    // Whoever computes; gradients at the two levels that there are become recordings.
    let slope = Polynomial::interpolate(|x| sigmoid(SHRINK * x) / SHRINK, -1.0..=1.0, 3)?;
    let record = |v: &Ciphertexts| {
        server.record(|b| {
            let v = b.input_with(v.level(), v.scale(), v.slots())?;
            let z = z.iter().map(|z| b.input(z.level())).collect::<Result<Vec<_>, _>>()?;
            Ok(vec![gradient(b, &z, &v, &slope)?])
        })
    };
    let start = std::time::Instant::now();
    let (mut w, mut v) = (zeros.clone(), zeros);
    let mut gradients = Vec::new();
    for (t, rate) in rates(iterations).into_iter().enumerate() {
        if t % 2 == 0 {
            (w, v) = server.bootstrap_two_real(&w, &v, &how)?;
        }
        if t < 2 {
            gradients.push(record(&v)?);
        }
        let inputs: Vec<_> = std::iter::once(&v).chain(&z).collect();
        let step = gradients[t % 2].run(&inputs)?.remove(0);
        // next = v + gamma step, and v becomes (1 - eta) next + eta w, each in one level.
        let (gamma, eta) = (rate.gamma / images as f64, rate.eta);
        let next = server.add(&v, &server.mul_constant(&step, gamma)?)?;
        let ahead = server.mul_constant(&step, (1.0 - eta) * gamma)?;
        let ahead = server.add(&ahead, &server.mul_constant(&v, 1.0 - eta)?)?;
        let ahead = server.add(&ahead, &server.mul_constant(&w, eta)?)?;
        // What the model cannot know: weights stay small.
        (w, v) = (next.with_magnitude(1.0)?, ahead.with_magnitude(1.0)?);
    }
    server.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();

    // The owner again.
    let weights = client.decrypt_real(&server.download(&w)?[0])?;
    let weights: Vec<f64> = weights.iter().map(|w| w * SHRINK).collect();
    let same = train(&known, images, iterations, sigmoid);
    let plain = train(&known, images, iterations, |x| 1.0 / (1.0 + x.exp()));
    let error = weights.iter().zip(&same).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    println!("{images} images, {iterations} iterations: {seconds:.1} s");
    println!("weights differ by up to {error:.1e} from the same descent in the plain");
    let [encrypted, plain] = [&weights, &plain].map(|w| score(&others, w));
    for (what, score) in [("encrypted", encrypted), ("in the plain", plain)] {
        let (accuracy, auroc) = (score.accuracy, score.auroc);
        println!("of {} others {accuracy:.1} % right, AUROC {auroc:.4}: {what}", others.len());
    }
    let figures =
        [("seconds", seconds), ("largest_error", error), ("accuracy", encrypted.accuracy)];
    parties.record(&arguments.options, "logistic", &std::collections::BTreeMap::from(figures))?;
    if error < 1e-2 {
        Ok(())
    } else {
        Err("the weights are not those of the same descent in the plain".into())
    }
}
