//! Reads handwritten digits that stay encrypted: 64 pixels, 16 hidden units with ReLU, 10 scores.
//!
//! The net is trained here on 800 images and rounded to integers; the others are then classified
//! encrypted. Sums are linear and free. ReLU is one arbitrary function of two bootstrappings, on
//! sums rounded to 11 bits.
//!
//! ```text
//! $ cargo run --release --example digits
//! trained on 800; in the plain 194 of 200 others are right
//! cpu (AMD EPYC), G4_BASE2P18
//! 32 bootstrappings an image, 1.342 s an image
//! right: 8 of 8 encrypted, 8 in the plain; 8 labels are the same
//! ```

mod common;
#[path = "common/net.rs"]
mod net;
#[path = "common/tfhe.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::tfhe::prelude::*;
use net::{HIDDEN, Image, Layer, PIXELS, image, largest, relu, train};
use parties::Parties;
use std::process::ExitCode;

/// Reads handwritten digits that stay encrypted, by a small neural net.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Classify the first so many of the 200 images that the net was not trained on.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    images: u16,
    /// Classify all of them.
    #[arg(long, conflicts_with = "images")]
    full: bool,
}

const TRAINED_ON: usize = 800;
const LOG2_INPUT: u32 = 24; // moduli of encrypted pixels and of hidden units
const LOG2_HIDDEN: u32 = 26;

/// The sums of a layer on ciphertexts; a one in a sum is `step` of the phase.
fn encrypted(
    layer: &Layer,
    x: &[LweCiphertexts],
    step: f64,
) -> girih::tfhe::Result<Vec<LweCiphertexts>> {
    let sum = |row: &Vec<f64>| {
        let terms: Vec<_> = x.iter().zip(row).map(|(x, w)| (x, *w as i64)).collect();
        LweCiphertexts::weighted_sum(&terms, (row[x.len()] * step) as i64)
    };
    layer.0.iter().map(sum).collect()
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let lines = include_str!("digits.txt").lines().filter(|line| !line.starts_with('#'));
    let images = lines.map(image).collect::<Result<Vec<_>, _>>()?;
    let (known, unknown) = images.split_at(TRAINED_ON);
    let [first, second] = train(known);
    let scores = |i: &Image| {
        second.sums(&relu(&first.sums(&i.pixels.iter().map(|p| p / 16.0).collect::<Vec<_>>())))
    };
    let right = |batch: &[Image], of: &dyn Fn(&Image) -> usize| {
        batch.iter().filter(|i| of(i) == i.label).count()
    };
    let plain = |i: &Image| largest(&scores(i));
    println!(
        "trained on {}; in the plain {} of {} others are right",
        known.len(),
        right(unknown, &plain),
        unknown.len()
    );
    let batch =
        &unknown[..if arguments.full { unknown.len() } else { usize::from(arguments.images) }];
    let parties = Parties::start(&arguments.options, "G4_BASE2P18")?;
    let (client, server) = (&parties.client, &parties.server);
    // Sums may be off by a few of 2,048 steps, which no bound on exact results allows.
    server.limit_failure(0.0)?;

    // Integers, and plaintext moduli with room for sums that training did not see.
    let room = |sums: &dyn Fn(&Image) -> Vec<f64>| {
        2.6 * known.iter().flat_map(sums).fold(0.0, |m: f64, s| m.max(s.abs()))
    };
    let log2_sum = server.set().shape().polynomial_size.ilog2();
    let (first, one) = first.rounded(16.0);
    let pixel_modulus = room(&|i| first.sums(&i.pixels)).ceil();
    let scale = f64::from(1 << log2_sum) / pixel_modulus;
    let (second, _) = second.rounded(one * scale);
    let hidden =
        |i: &Image| relu(&first.sums(&i.pixels)).iter().map(|h| h * scale).collect::<Vec<_>>();
    let score_bits = room(&|i| second.sums(&hidden(i))).log2().ceil() as u32;

    // The owner of the images.
    let pixel = |p: usize| batch.iter().map(|i| i.pixels[p] as u64).collect::<Vec<_>>();
    let pixels =
        (0..PIXELS).map(|p| client.encrypt_at(&pixel(p), pixel_modulus as u64, LOG2_INPUT));
    let pixels = pixels.collect::<girih::tfhe::Result<Vec<_>>>()?;

    // Whoever computes.
    let start = std::time::Instant::now();
    let sums = encrypted(&first, &pixels, f64::from(1 << LOG2_INPUT) / pixel_modulus)?;
    let sums = LweCiphertexts::concatenate(&sums.iter().collect::<Vec<_>>())?.rescale(log2_sum)?;
    let relu =
        Function::new(log2_sum, score_bits, |m| if m >> (log2_sum - 1) == 0 { m } else { 0 })?;
    let hidden = server.evaluate(&sums, &relu, LOG2_HIDDEN)?;
    let len = pixels[0].len();
    let hidden = (0..HIDDEN)
        .map(|h| hidden.slice(h * len..(h + 1) * len))
        .collect::<girih::tfhe::Result<Vec<_>>>()?;
    let scores = encrypted(&second, &hidden, f64::from(1 << (LOG2_HIDDEN - score_bits)))?;
    let seconds = start.elapsed().as_secs_f64();

    // The owner again: scores in two's complement.
    let signed = |m: u64| ((m as i64) << (64 - score_bits) >> (64 - score_bits)) as f64;
    let decrypt = |s| Ok(client.decrypt(s, 1 << score_bits)?.into_iter().map(signed).collect());
    let scores = scores.iter().map(decrypt).collect::<girih::tfhe::Result<Vec<Vec<f64>>>>()?;
    let labels: Vec<usize> = (0..batch.len())
        .map(|i| largest(&scores.iter().map(|s| s[i]).collect::<Vec<_>>()))
        .collect();
    let encrypted_right = labels.iter().zip(batch).filter(|(l, i)| **l == i.label).count();
    let same = labels.iter().zip(batch).filter(|(l, i)| **l == plain(i)).count();
    let bootstraps = HIDDEN * relu.bootstraps();
    let (count, plain_right) = (batch.len(), right(batch, &plain));
    println!("{bootstraps} bootstrappings an image, {:.3} s an image", seconds / count as f64);
    println!(
        "right: {encrypted_right} of {count} encrypted, {plain_right} in the plain; {same} labels \
         are the same"
    );
    let figures = [
        ("images", count as f64),
        ("seconds", seconds),
        ("right", encrypted_right as f64),
        ("right_plain", plain_right as f64),
    ];
    parties.record(&arguments.options, "digits", &std::collections::BTreeMap::from(figures))?;
    // Sums are rounded: an image on the border between two labels may fall on either side.
    if same * 20 < count * 19 {
        Err("encrypted labels are not those of the plain net".into())
    } else {
        Ok(())
    }
}
