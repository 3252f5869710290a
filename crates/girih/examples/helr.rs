//! Trains a logistic regression on data that stays encrypted (Han, Song, Cheon, Park 2019): is a
//! handwritten digit a 3 or an 8?
//!
//! HELR's algorithm: Nesterov gradient descent on z = (2 y - 1) (x, 1), 196 pixels and a constant
//! padded to 256 features, with 0.5 - 0.0843 x + 0.0002 x^3 for the sigmoid of -x and rates that
//! change. An iteration takes four levels, so that a bootstrapping serves three at CKKS_D40:
//!
//! - a slot holds two rows, as real and imaginary part: rotations serve both;
//! - the mask that keeps one margin a row is in the coefficients of the polynomial, as are the
//!   rates and whatever factor weights have just then: vectors that each run brings along, so that
//!   iterations that begin at one level share a recording;
//! - weights, and the point that looks ahead, are 256 slots that repeat: they are bootstrapped as
//!   such, both in one.
//!
//! The default set is a small ring without any security, so that it ends in minutes anywhere;
//! `--set CKKS_D40 --batch 1024 --batches 12` is the size of the papers.

mod common;
#[path = "common/ckks.rs"]
mod parties;
#[path = "common/regression.rs"]
mod regression;

use clap::Parser;
use common::Failure;
use girih::ckks::inner_sum_rotations;
use girih::ckks::prelude::*;
use girih::ckks::server::{Node, Recording, VectorNode};
use parties::Parties;
use regression::{FEATURES, Rate, Row, SIGMOID, rates, rows, score, sigmoid, train};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::f64::consts::SQRT_2;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Trains a logistic regression on encrypted images.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Rows a minibatch: images, and from 160 in all on the same images moved a little.
    #[arg(long, default_value_t = 160, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Minibatches, which take turns.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    batches: u16,
    /// Iterations, one minibatch each.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=60))]
    iterations: u16,
    /// Wait for all kernels before an iteration is timed, so that what is done once for all runs is
    /// left out.
    #[arg(long)]
    warm: bool,
}

/// Weights are kept divided by this, so that they and margins stay in [-1, 1].
const SHRINK: f64 = 16.0;

/// No number among the constants of iterations is larger.
const LARGEST: f64 = 1e3;

/// Levels of an iteration.
const LEVELS: usize = 4;

/// The square root of -1, a product with which takes no level.
const I: Complex64 = Complex64::new(0.0, 1.0);

/// What one iteration multiplies and adds, with what that makes good.
struct Constants {
    rate: Rate,
    /// `v` is divided by this: 1 - eta of the iteration before.
    behind: f64,
    /// `w` and `v` are multiplied by this: 2 after a bootstrapping.
    factor: f64,
    /// Rows of the minibatch.
    rows: usize,
}

impl Constants {
    /// The vectors of a run, in the order of [`Iteration::declare`].
    fn vectors(&self) -> Vec<Vec<f64>> {
        // Margins are this times what slopes are computed from, which is doubled.
        let unit = SHRINK * self.behind / (2.0 * self.factor);
        // gamma / sqrt(rows), what steps are multiplied by before their sum.
        let gain = self.rate.gamma / (self.rows as f64).sqrt();
        let first = |c: f64| -> Vec<f64> {
            (0..FEATURES).map(|i| if i == 0 { gain * c } else { 0.0 }).collect()
        };
        let [c0, c1, c3] = SIGMOID;
        let eta = self.rate.eta;
        vec![
            first(c3 * unit.powi(3)),
            vec![c1 / (c3 * unit * unit)],
            first(c0),
            vec![self.behind / self.factor],
            vec![eta / (1.0 - eta) / self.factor],
        ]
    }
}

/// An iteration whose constants each run brings along.
struct Iteration {
    cubic: VectorNode,
    linear: VectorNode,
    constant: VectorNode,
    before: VectorNode,
    momentum: VectorNode,
}

impl Iteration {
    fn declare(b: &mut Builder<'_>) -> girih::ckks::Result<Self> {
        Ok(Self {
            cubic: b.vector_input(FEATURES, LARGEST)?,
            linear: b.vector_input(1, LARGEST)?,
            constant: b.vector_input(FEATURES, LARGEST)?,
            before: b.vector_input(1, LARGEST)?,
            momentum: b.vector_input(1, LARGEST)?,
        })
    }

    /// The next `w` and `v`, each divided by [`SHRINK`], and `v` by 1 - eta too, which saves the
    /// level of a product: v = (1 - eta) w' + eta w becomes w' + eta / (1 - eta) w.
    ///
    /// A ciphertext of `z` has one pair of rows after the other, `mirrored` their conjugates
    /// divided by 2 SHRINK sqrt(rows); `w` and `v` repeat for each. What steps are divided by is
    /// shared between slopes and rows, so that neither is lost in noise.
    fn run(
        &self,
        b: &mut Builder<'_>,
        [z, mirrored]: [&[Node]; 2],
        w: &Node,
        v: &Node,
    ) -> girih::ckks::Result<Vec<Node>> {
        let mut slopes = Vec::new();
        for z in z {
            let products = b.mul(z, v)?;
            // Right in the first slot of each pair, from where slopes are spread over the others.
            let sums = b.inner_sum(&products, FEATURES, 1)?;
            // Twice the real part, and twice the imaginary one.
            let conjugate = b.conjugate(&sums)?;
            let re = b.add(&sums, &conjugate)?;
            let im = b.sub(&conjugate, &sums)?;
            let im = b.mul_constant(&im, I)?;
            let (re, im) = (self.slope(b, &re)?, self.slope(b, &im)?);
            let im = b.mul_constant(&im, I)?;
            let both = b.add(&re, &im)?;
            slopes.push(b.spread(&both, FEATURES, 1)?);
        }
        // (s + i t) (x - i y) has the real part s x + t y.
        let steps = b.inner_product(&slopes, mirrored)?;
        let steps = b.inner_sum(&steps, steps.slots() / FEATURES, FEATURES as i64)?;
        let conjugate = b.conjugate(&steps)?;
        let steps = b.add(&steps, &conjugate)?;
        let from = b.mul_vector(v, &self.before)?;
        let next = b.add(&from, &steps)?;
        let momentum = b.mul_vector(w, &self.momentum)?;
        let ahead = b.add(&next, &momentum)?;
        Ok(vec![b.with_slots(&next, FEATURES)?, b.with_slots(&ahead, FEATURES)?])
    }

    /// gamma / sqrt(rows) times the slope at margins of which `x` holds a multiple, where rows
    /// begin, and 0 elsewhere; two levels.
    fn slope(&self, b: &mut Builder<'_>, x: &Node) -> girih::ckks::Result<Node> {
        let masked = b.mul_vector(x, &self.cubic)?;
        let square = b.square(x)?;
        let square = b.add_vector(&square, &self.linear)?;
        let slope = b.mul(&masked, &square)?;
        b.add_vector(&slope, &self.constant)
    }
}

/// Pairs of rows side by side, in as many ciphertexts as that takes.
fn encrypted(
    client: &ClientKey,
    server: &ServerKey,
    rows: &[Row],
) -> Result<Vec<Ciphertexts>, Failure> {
    let slots = server.set().slots();
    let pair = |pair: &[Row]| -> Vec<Complex64> {
        let other = |i: usize| pair.get(1).map_or(0.0, |row| row[i]);
        (0..FEATURES).map(|i| Complex64::new(pair[0][i], other(i))).collect()
    };
    let one = |rows: &[Row]| {
        let mut values: Vec<Complex64> = rows.chunks(2).flat_map(pair).collect();
        values.resize(slots, Complex64::default());
        values
    };
    let vectors: Vec<_> = rows.chunks(2 * slots / FEATURES).map(one).collect();
    let encrypted = client.within(SQRT_2).encrypt_many(&vectors)?;
    encrypted.iter().map(|x| Ok(server.upload(std::slice::from_ref(x))?)).collect()
}

/// Level, scale and slots of each input.
type Shapes = Vec<(usize, u64, usize)>;

/// The recording for inputs like these, made when they are first met.
fn recorded<'a>(
    known: &'a mut HashMap<Shapes, Recording>,
    server: &ServerKey,
    inputs: &[&Ciphertexts],
    record: impl FnOnce(&mut Builder<'_>, &[Node]) -> girih::ckks::Result<Vec<Node>>,
) -> girih::ckks::Result<&'a Recording> {
    let shapes = inputs.iter().map(|x| (x.level(), x.scale().to_bits(), x.slots())).collect();
    Ok(match known.entry(shapes) {
        Entry::Occupied(recording) => recording.into_mut(),
        Entry::Vacant(place) => place.insert(server.record(|b| {
            let nodes = inputs.iter().map(|x| b.input_with(x.level(), x.scale(), x.slots()));
            let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
            record(b, &nodes)
        })?),
    })
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (batch, iterations) = (usize::from(arguments.batch), arguments.iterations);
    let (known, others) = rows(batch * usize::from(arguments.batches))?;
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
    let set = server.set();

    // The owner of the images.
    let z = known.chunks(batch).map(|rows| encrypted(client, server, rows));
    let z = z.collect::<Result<Vec<_>, _>>()?;
    let zeros = server.upload(&[client.encrypt(&[0.0; FEATURES])?])?;

    // Whoever computes.
    let share = 1.0 / (2.0 * SHRINK * (batch as f64).sqrt());
    let conjugate = |z: &Ciphertexts| server.mul_constant(&server.conjugate(z)?, share);
    let conjugates = |z: &Vec<Ciphertexts>| z.iter().map(conjugate).collect();
    let mirrored = z.iter().map(conjugates).collect::<Result<Vec<Vec<_>>, _>>()?;
    let least = LEVELS + set.bootstrap_level();
    let (mut w, mut v) = (zeros.clone(), zeros);
    let (mut spent, mut rounds, mut behind) = (Duration::ZERO, 0, 1.0);
    // One recording for all inputs of a shape.
    let (mut refreshes, mut iterates) = (HashMap::new(), HashMap::new());
    // What is recorded once for all trainings of a size does not count as time of this one.
    let mut timed = |recording: &Recording, inputs: &[&Ciphertexts], vectors: &[&[f64]]| {
        if arguments.warm {
            server.engine().settle()?;
        }
        let start = Instant::now();
        let outputs = recording.run_with(inputs, vectors)?;
        server.synchronize()?;
        spent += start.elapsed();
        // What the model cannot know: weights stay small.
        outputs.iter().map(|x| x.with_magnitude(1.0)).collect::<girih::ckks::Result<Vec<_>>>()
    };
    let bar = TerminalProgress::new();
    let progress = girih::device::Steps::begin(&bar, "iterations", iterations.into());
    for (t, rate) in rates(iterations).into_iter().enumerate() {
        let (z, mirrored) = (&z[t % z.len()], &mirrored[t % z.len()]);
        let mut factor = 1.0;
        if v.level() < least {
            let inputs = [&w, &v];
            let refresh = recorded(&mut refreshes, server, &inputs, |b, nodes| {
                let v = b.mul_constant(&nodes[1], I)?;
                let both = b.add(&nodes[0], &v)?;
                let both = b.bootstrap_with(&both, &how)?;
                let conjugate = b.conjugate(&both)?;
                let v = b.sub(&conjugate, &both)?;
                Ok(vec![b.add(&both, &conjugate)?, b.mul_constant(&v, I)?])
            })?;
            let both = timed(refresh, &inputs, &[])?;
            (w, v) = (both[0].clone(), both[1].clone());
            (rounds, factor) = (rounds + 1, 2.0);
        }
        let vectors = Constants { rate, behind, factor, rows: batch }.vectors();
        let inputs: Vec<_> = [&w, &v].into_iter().chain(z).chain(mirrored).collect();
        let iterate = recorded(&mut iterates, server, &inputs, |b, nodes| {
            let data = nodes[2..].split_at(z.len()).into();
            Iteration::declare(b)?.run(b, data, &nodes[0], &nodes[1])
        })?;
        let vectors: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
        let both = timed(iterate, &inputs, &vectors)?;
        (w, v) = (both[0].clone(), both[1].clone());
        behind = 1.0 - rate.eta;
        progress.done();
    }
    drop(progress);
    let seconds = spent.as_secs_f64();

    // The owner again.
    let weights = client.decrypt_real(&server.download(&w)?[0])?;
    parties.tell_first_result();
    let weights: Vec<f64> = weights.iter().map(|w| w * SHRINK).collect();
    let same = train(&known, batch, iterations, sigmoid);
    let plain = train(&known, batch, iterations, |x| 1.0 / (1.0 + x.exp()));
    let recordings = refreshes.len() + iterates.len();
    let error = weights.iter().zip(&same).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    let each = 1e3 * seconds / f64::from(iterations);
    println!("{iterations} iterations of {batch} rows, {rounds} bootstrappings, {seconds:.1} s");
    println!("{each:.1} ms an iteration");
    println!("weights differ by up to {error:.1e} from the same descent in the plain");
    let [encrypted, plain] = [&weights, &plain].map(|w| score(&others, w));
    for (what, score) in [("encrypted", encrypted), ("in the plain, true sigmoid", plain)] {
        let (accuracy, auroc) = (score.accuracy, score.auroc);
        println!("of {} others {accuracy:.1} % right, AUROC {auroc:.4}: {what}", others.len());
    }
    let figures = [
        ("rows", batch as f64),
        ("iterations", f64::from(iterations)),
        ("seconds", seconds),
        ("milliseconds_an_iteration", each),
        ("bootstrappings", f64::from(rounds)),
        ("recordings", recordings as f64),
        ("largest_error", error),
        ("accuracy", encrypted.accuracy),
        ("auroc", encrypted.auroc),
        ("accuracy_plain", plain.accuracy),
        ("auroc_plain", plain.auroc),
    ];
    parties.record(&arguments.options, "helr", &std::collections::BTreeMap::from(figures))?;
    if error < 1e-2 {
        Ok(())
    } else {
        Err("the weights are not those of the same descent in the plain".into())
    }
}
