//! Runs the encoder of BERT-base on encrypted tokens: twelve layers of attention and of a
//! perceptron, 768 numbers a token, 128 tokens.
//!
//! A token's numbers lie in three ciphertexts, those of the perceptron in twelve, the scores of
//! twelve heads in three (`common/blocks.rs` says where):
//!
//! - products with the matrices of the model are matrices of linear maps, which share rotations
//!   among all that they take and give;
//! - products of encrypted matrices, queries by keys and softmax by values, are sums of products
//!   of rotations, with one relinearisation for sixteen of them;
//! - softmax is exp of scores less their mean, their sum, and its inverse; layer normalisation the
//!   inverse root of the variance; these and GELU are polynomials on intervals that samples have
//!   shown (`common/bounds.rs`);
//! - a layer bootstraps thirteen ciphertexts, two vectors of real numbers in each but one.
//!
//! The default is a small ring without any security and an encoder of those proportions, so that it
//! ends in a minute anywhere. `--full` is CKKS_D40_30BIT_LOW and BERT-base. Weights are random, as
//! large as trained ones are, unless `--weights` names a file of BERT in the safetensors format and
//! `--input` one with the sum of embeddings after its normalisation, `hidden` of 128 by 768.

#[path = "common/blocks.rs"]
mod blocks;
#[path = "common/bounds.rs"]
mod bounds;
mod common;
#[path = "common/encoder.rs"]
mod encoder;
#[path = "common/linear.rs"]
mod linear;
#[path = "common/ckks.rs"]
mod parties;
#[path = "common/steps.rs"]
mod steps;
#[path = "common/tensors.rs"]
mod tensors;

use blocks::{Maps, Plan};
use bounds::{Bounds, Fitted};
use clap::Parser;
use common::Failure;
use encoder::{BLOCKS, Encoder, Exact, Shape};
use girih::ckks::prelude::*;
use girih::ckks::server::Node;
use girih::ckks::{Complex64, KeyRange, inner_sum_rotations};
use parties::Parties;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;
use steps::{Ahead, Batch, Shape as Shaped, Steps};

/// Runs the encoder of a BERT on encrypted tokens.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// BERT-base, by CKKS_D40_30BIT_LOW unless --set names another set.
    #[arg(long)]
    full: bool,
    /// How many layers; twelve with --full, else one, unless this says otherwise.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=48))]
    layers: Option<u8>,
    /// A BERT in the safetensors format; its layers' shapes must be those of the set.
    #[arg(long, value_name = "FILE", requires = "input")]
    weights: Option<String>,
    /// Its input in the same format: `hidden`, of tokens by numbers, after the normalisation of
    /// embeddings.
    #[arg(long, value_name = "FILE", requires = "weights")]
    input: Option<String>,
    /// Run each step once before it is timed, so that what is done once for all runs is left out.
    #[arg(long)]
    warm: bool,
}

/// How far numbers after the last normalisation may be from what the same polynomials make in the
/// plain; their variance is 1.
const SAME: f64 = 0.05;

/// Levels from where bootstrappings begin to what comes of a normalisation, of a bootstrapping, and
/// to powers.
const NORMAL: usize = 5;
const FRESH: usize = 13;
const POWERS: usize = FRESH - 5;

type Result<T> = girih::ckks::Result<T>;

const I: Complex64 = Complex64::new(0.0, 1.0);

/// Amounts of rotations of a plan's steps, with the levels above the last at which each is used.
fn rotations(plan: &Plan<'_>) -> Result<Vec<(i64, usize)>> {
    let (head, block) = (plan.shape().head() as i64, plan.shape().block() as i64);
    let (babies, giants) = (plan.baby_steps() as i64, plan.giant_steps() as i64);
    let sums = |count: i64| inner_sum_rotations(count as usize, 1);
    let mut all = vec![(-block, NORMAL), (head * block, NORMAL - 1), (-head, NORMAL - 1)];
    let tokens = inner_sum_rotations(plan.shape().tokens, block);
    all.extend(tokens.into_iter().map(|by| (by, NORMAL - 1)));
    all.extend(plan.turned()?.rotations().into_iter().map(|by| (by, NORMAL - 1)));
    all.extend([((block - 1) * head, NORMAL - 2), (-head * block, NORMAL - 2)]);
    for baby in 1..babies {
        all.push((baby, NORMAL - 1));
        all.extend([(-(block - 1) * baby, NORMAL - 2), (block * baby, NORMAL - 2)]);
    }
    for giant in (1..giants).map(|giant| giant * babies) {
        all.push((giant, NORMAL - 3));
        all.extend([(-block * giant, NORMAL - 2), ((block - 1) * giant, NORMAL - 2)]);
    }
    for by in sums(head) {
        all.extend([(by, POWERS), (-by, POWERS - 1)]);
    }
    for by in sums(block) {
        all.extend([(by, FRESH - 1), (-by, FRESH - 2)]);
    }
    // All layers have maps of the same places.
    all.extend(plan.attention(0)?.maps.rotations().into_iter().map(|by| (by, NORMAL)));
    for maps in [plan.first_sum(0)?, plan.up(0)?, plan.second_sum(0)?] {
        all.extend(maps.maps.rotations().into_iter().map(|by| (by, 1)));
    }
    Ok(all)
}

fn keys(set: &CkksParameters, plan: &Plan<'_>, last: usize) -> Result<Vec<KeyRange>> {
    let mut keys = Bootstrapping::default().keys_by_level(set, set.slots())?;
    for (by, level) in rotations(plan)? {
        keys.extend(KeyKind::rotation(set, by).map(|kind| kind.up_to(last + level)));
    }
    for kind in [KeyKind::Multiplication, KeyKind::conjugation(set)] {
        keys.push(kind.up_to(set.default_level()));
    }
    Ok(keys)
}

/// z = x + i x' at a level, x' being x one token back.
fn with_wrapped(
    b: &mut Builder<'_>,
    x: &[Node],
    plan: &Plan<'_>,
    level: usize,
) -> Result<Vec<Node>> {
    let one = |x: &Node| {
        let x = down(b, x, level)?;
        let back = b.rotate(&x, -(plan.shape().block() as i64))?;
        let back = b.mul_constant(&back, I)?;
        b.add(&x, &back)
    };
    x.iter().map(one).collect()
}

/// Maps of ciphertexts, and what is added.
fn apply(b: &mut Builder<'_>, x: &[Node], maps: &Maps) -> Result<Vec<Node>> {
    let y = b.linear_transforms(x, &maps.maps)?;
    y.iter().zip(&maps.biases).map(|(y, bias)| b.add_plain(y, bias)).collect()
}

/// Twice the real part.
fn twice_real(b: &mut Builder<'_>, x: &Node) -> Result<Node> {
    let conjugate = b.conjugate(x)?;
    b.add(x, &conjugate)
}

/// Twice the real part and twice the imaginary part.
fn parts(b: &mut Builder<'_>, x: &Node) -> Result<[Node; 2]> {
    let conjugate = b.conjugate(x)?;
    let (real, imaginary) = (b.add(x, &conjugate)?, b.sub(x, &conjugate)?);
    Ok([real, b.mul_constant(&imaginary, -I)?])
}

/// Twice the real parts of both, as one.
fn paired(b: &mut Builder<'_>, x: &Node, y: &Node) -> Result<Node> {
    let y = b.mul_constant(y, I)?;
    let (sum, difference) = (b.add(x, &y)?, b.sub(x, &y)?);
    let conjugate = b.conjugate(&difference)?;
    b.add(&sum, &conjugate)
}

/// Down to a level, if it is above.
fn down(b: &mut Builder<'_>, x: &Node, level: usize) -> Result<Node> {
    if x.level() > level { b.adjust(x, level) } else { Ok(*x) }
}

/// Products with matrices of a layer, each a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Matrices {
    /// Queries; keys with those H tokens later as imaginary parts, less their mean; values with
    /// the negatives of those.
    Attention,
    /// The sum before the first normalisation: two blocks of it as one vector, and the third.
    AttentionSum,
    /// Two blocks at a time of what GELU is given.
    Perceptron,
    /// The sum before the second normalisation.
    PerceptronSum,
}

impl Matrices {
    fn name(self, layer: usize) -> String {
        format!("{self:?} {layer}")
    }

    /// No slot of the results is larger.
    fn magnitude(self) -> f64 {
        if self == Self::Attention { 8.0 } else { 1.0 }
    }

    fn record(
        self,
        b: &mut Builder<'_>,
        plan: &Plan<'_>,
        layer: usize,
        last: usize,
        x: &[Node],
    ) -> Result<Vec<Node>> {
        let sum = |b: &mut Builder<'_>, maps: &Maps| {
            let (own, beside) = x.split_at(x.len() - BLOCKS);
            let mut inputs = with_wrapped(b, own, plan, last + 1)?;
            for x in beside {
                inputs.push(down(b, x, last + 1)?);
            }
            let y = apply(b, &inputs, maps)?;
            Ok(vec![paired(b, &y[0], &y[1])?, twice_real(b, &y[2])?])
        };
        match self {
            Self::Attention => {
                let z = with_wrapped(b, x, plan, last + NORMAL)?;
                let y = apply(b, &z, &plan.attention(layer)?)?;
                y.iter().enumerate().map(|(i, y)| of_attention(b, plan, y, i / BLOCKS)).collect()
            }
            Self::AttentionSum => sum(b, &plan.first_sum(layer)?),
            Self::Perceptron => {
                let z = with_wrapped(b, x, plan, last + 1)?;
                let y = apply(b, &z, &plan.up(layer)?)?;
                y.chunks(2).map(|y| paired(b, &y[0], &y[1])).collect()
            }
            Self::PerceptronSum => sum(b, &plan.second_sum(layer)?),
        }
    }
}

/// A block of queries (0), keys (1) or values (2), as attention takes it, of half of it.
fn of_attention(b: &mut Builder<'_>, plan: &Plan<'_>, y: &Node, which: usize) -> Result<Node> {
    let (tokens, block) = (plan.shape().tokens, plan.shape().block() as i64);
    let y = twice_real(b, y)?;
    if which == 0 {
        return Ok(y);
    }
    let later = b.rotate(&y, plan.shape().head() as i64 * block)?;
    let later = b.mul_constant(&later, if which == 1 { I } else { -I })?;
    let both = b.add(&y, &later)?;
    if which == 2 {
        return Ok(both);
    }
    let sum = b.inner_sum(&both, tokens, block)?;
    let times = b.mul_constant(&both, tokens as f64)?;
    b.sub(&times, &sum)
}

/// Whoever computes.
struct Evaluator<'a> {
    steps: Steps<'a>,
    /// Of what products with matrices are given.
    shapes: BTreeMap<Matrices, Vec<Shaped>>,
    plan: &'a Plan<'a>,
    functions: &'a Fitted,
    /// Where bootstrappings begin.
    last: usize,
    bootstrappings: usize,
}

impl Evaluator<'_> {
    /// What comes of the normalisations at the end of each layer, and of the last one with its
    /// gain.
    fn run(&mut self, x: &[Batch]) -> Result<(Vec<Vec<Batch>>, Vec<Batch>)> {
        let plan = self.plan;
        let (mut normal, mut all) = (x.to_vec(), Vec::new());
        let (bar, layers) = (TerminalProgress::new(), plan.encoder.layers.len());
        let progress = girih::device::Steps::begin(&bar, "layers", layers);
        for layer in 0..layers {
            normal = self.layer(layer, &normal)?;
            all.push(normal.clone());
            progress.done();
        }
        let result = self.gain(&normal)?;
        Ok((all, result))
    }

    /// The gain of the last normalisation.
    fn gain(&mut self, normal: &[Batch]) -> Result<Vec<Batch>> {
        let [factors, shift] = self.plan.last_gain();
        self.step("gain", "gain", normal, 16.0, |b, x| {
            let one = |(i, x): (usize, &Node)| {
                let y = b.mul_plain(x, &factors[i])?;
                b.add_plain(&y, &shift[i])
            };
            x.iter().enumerate().map(one).collect()
        })
    }

    fn layer(&mut self, layer: usize, x: &[Batch]) -> Result<Vec<Batch>> {
        let attended = self.attend(layer, x)?;
        let sum = self.matrices(Matrices::AttentionSum, layer, &attended, x)?;
        let normal = self.normalise(&sum)?;
        let hidden = self.perceptron(layer, &normal)?;
        let sum = self.matrices(Matrices::PerceptronSum, layer, &hidden, &normal)?;
        self.normalise(&sum)
    }

    /// A product with matrices of a layer, of `x` and of what it was made of.
    fn matrices(
        &mut self,
        which: Matrices,
        layer: usize,
        x: &[Batch],
        beside: &[Batch],
    ) -> Result<Vec<Batch>> {
        let (plan, last) = (self.plan, self.last);
        let inputs: Vec<Batch> = x.iter().chain(beside).cloned().collect();
        self.shapes.insert(which, inputs.iter().map(Batch::shape).collect());
        self.step("matrices", &which.name(layer), &inputs, which.magnitude(), |b, x| {
            which.record(b, plan, layer, last, x)
        })
    }

    /// Prepares the steps of all layers side by side, and those that are the same in each.
    fn prepare(&mut self, x: &[Batch]) -> Result<()> {
        // With shapes alone; those of the second layer are those of all that follow.
        let mut shapes: Vec<Batch> = x.iter().map(|x| Batch::Rehearsed(x.shape())).collect();
        let layers = self.plan.encoder.layers.len();
        for layer in 0..layers.min(1) {
            shapes = self.layer(layer, &shapes)?;
        }
        self.gain(&shapes)?;
        self.steps.prepare()?;
        let (plan, last) = (self.plan, self.last);
        let mut ahead = Vec::new();
        for (&which, shapes) in &self.shapes {
            for layer in 1..layers {
                let record =
                    move |b: &mut Builder<'_>, x: &[Node]| which.record(b, plan, layer, last, x);
                ahead.push(Ahead::new(which.name(layer), shapes.clone(), record));
            }
        }
        self.steps.record_ahead(ahead)?;
        self.bootstrappings = 0;
        Ok(())
    }

    /// A step; its results are promised to stay below `magnitude`.
    fn step(
        &mut self,
        part: &'static str,
        name: &str,
        inputs: &[Batch],
        magnitude: f64,
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Result<Vec<Node>>,
    ) -> Result<Vec<Batch>> {
        let inputs: Vec<&Batch> = inputs.iter().collect();
        let results = self.steps.run(part, name, &inputs, record)?;
        // Bounds say so; what the model of errors would count with is far more.
        results.iter().map(|x| x.with_magnitude(magnitude)?.summed_up()).collect()
    }

    /// All bootstrapped.
    fn refresh(&mut self, x: &[Batch]) -> Result<Vec<Batch>> {
        let to = self.last + FRESH;
        let mut all = Vec::new();
        for x in x {
            let one = std::slice::from_ref(x);
            all.extend(self.step("bootstrappings", "bootstrapping", one, 1.0, |b, x| {
                let y = b.bootstrap(&x[0])?;
                Ok(vec![down(b, &y, to)?])
            })?);
        }
        self.bootstrappings += x.len();
        Ok(all)
    }

    /// Twice what attention gives.
    fn attend(&mut self, layer: usize, x: &[Batch]) -> Result<Vec<Batch>> {
        let all = self.matrices(Matrices::Attention, layer, x, &[])?;
        let mut scores = Vec::new();
        for i in 0..BLOCKS {
            scores.push(self.scores([&all[i], &all[BLOCKS + i]])?);
        }
        let mut attended = Vec::new();
        for (i, scores) in self.refresh(&scores)?.iter().enumerate() {
            let [powers, inverses] = self.softmax(scores)?;
            attended.push(self.weighted([&powers, &inverses, &all[2 * BLOCKS + i]])?);
        }
        Ok(attended)
    }

    /// Half of scores over their bound.
    fn scores(&mut self, queries_keys: [&Batch; 2]) -> Result<Batch> {
        let (plan, last) = (self.plan, self.last);
        let (head, block) = (plan.shape().head() as i64, plan.shape().block() as i64);
        let inputs = queries_keys.map(Batch::clone);
        let mut results = self.step("attention", "scores", &inputs, 0.75, |b, x| {
            let k = b.linear_transform(&x[1], &plan.turned()?)?;
            let k = b.rotate(&k, (block - 1) * head)?;
            let q = b.rotate(&x[0], -head)?;
            let by = |giant: i64, baby: i64| (-giant * block, -baby * (block - 1));
            let scores = sum_of_products(b, plan, &q, &k, by)?;
            let scores = b.with_magnitude(&scores, 0.75)?;
            Ok(vec![down(b, &scores, last)?])
        })?;
        Ok(results.remove(0))
    }

    /// Powers of scores, and the inverses of their sums.
    fn softmax(&mut self, scores: &Batch) -> Result<[Batch; 2]> {
        let (plan, functions) = (self.plan, self.functions);
        let (head, tokens) = (plan.shape().head(), plan.shape().tokens as f64);
        let line = functions.bounds.sum_line();
        let most = functions.bounds.score.exp() / tokens;
        let inputs = [scores.clone()];
        let results = self.step("softmax", "softmax", &inputs, most.max(1.0), |b, x| {
            let [early, late] = parts(b, &x[0])?;
            let early = of_unit(b, &early, &functions.exp)?;
            let late = of_unit(b, &late, &functions.exp)?;
            let sum = b.add(&early, &late)?;
            let sum = b.inner_sum(&sum, head, 1)?;
            let sum = b.mul_plain(&sum, &plan.first_of_head(line.slope))?;
            let sum = b.spread(&sum, head, 1)?;
            let sum = b.add_constant(&sum, line.offset)?;
            let inverse = of_unit(b, &sum, &functions.inverse)?;
            let late = b.mul_constant(&late, I)?;
            Ok(vec![b.add(&early, &late)?, inverse])
        })?;
        Ok([results[0].clone(), results[1].clone()])
    }

    /// Values weighted by powers over their sum, twice that.
    fn weighted(&mut self, powers_inverses_values: [&Batch; 3]) -> Result<Batch> {
        let (plan, level) = (self.plan, self.last + NORMAL - 1);
        let (head, block) = (plan.shape().head() as i64, plan.shape().block() as i64);
        let inputs = powers_inverses_values.map(Batch::clone);
        let mut results = self.step("attention", "weighted", &inputs, 16.0, |b, x| {
            let v = b.linear_transform(&x[2], &plan.turned()?)?;
            let v = b.rotate(&v, -head * block)?;
            let e = down(b, &x[0], level)?;
            let e = b.rotate(&e, -head)?;
            let by = |giant: i64, baby: i64| (giant * (block - 1), baby * block);
            let sum = sum_of_products(b, plan, &e, &v, by)?;
            let inverse = down(b, &x[1], sum.level())?;
            let product = b.mul(&sum, &inverse)?;
            Ok(vec![twice_real(b, &product)?])
        })?;
        Ok(results.remove(0))
    }

    /// Less their mean, divided by the root of the variance, over the bound of that.
    fn normalise(&mut self, sum: &[Batch]) -> Result<Vec<Batch>> {
        let (plan, functions) = (self.plan, self.functions);
        let (bounds, block) = (&functions.bounds, plan.shape().block());
        let factor = f64::from(bounds.root_factor());
        let mask = plan.first_of_block(factor / (2.0 * plan.shape().width() as f64));
        let root = functions.root.clone().affine(bounds.unit() / (bounds.normal * factor), 0.0);
        let fresh = self.refresh(sum)?;
        self.step("normalisations", "normalisation", &fresh, 1.0, |b, x| {
            let [first, second] = parts(b, &x[0])?;
            let y = [first, second, b.mul_constant(&x[1], 2.0)?];
            let squares = b.inner_product(&y, &y)?;
            let squares = b.mul_constant(&squares, factor)?;
            let sum = b.add(&y[0], &y[1])?;
            let sum = b.add(&sum, &y[2])?;
            let sum = b.mul_constant(&sum, I)?;
            let both = b.add(&squares, &sum)?;
            let both = b.inner_sum(&both, block, 1)?;
            let both = b.mul_plain(&both, &mask)?;
            let both = b.spread(&both, block, 1)?;
            let [squares, mean] = parts(b, &both)?;
            let of_mean = b.square(&mean)?;
            let variance = b.sub(&squares, &of_mean)?;
            let variance = b.add_constant(&variance, bounds.root_line().offset)?;
            let root = of_unit(b, &variance, &root)?;
            let mut all = Vec::new();
            for y in &y {
                let y = b.mul_constant(y, factor)?;
                let y = b.sub(&y, &mean)?;
                all.push(b.mul(&y, &root)?);
            }
            Ok(all)
        })
    }

    /// GELU of the perceptron's first matrix.
    fn perceptron(&mut self, layer: usize, x: &[Batch]) -> Result<Vec<Batch>> {
        let (functions, level) = (self.functions, self.last + 1);
        let pairs = self.matrices(Matrices::Perceptron, layer, x, &[])?;
        let mut all = Vec::new();
        for fresh in self.refresh(&pairs)? {
            let results = self.step("GELU", "GELU", &[fresh], 1.0, |b, x| {
                let both = parts(b, &x[0])?;
                let one = |x: &Node| {
                    let y = of_unit(b, x, &functions.gelu)?;
                    down(b, &y, level)
                };
                both.iter().map(one).collect()
            })?;
            all.extend(results);
        }
        Ok(all)
    }
}

/// A polynomial of numbers of [-1, 1].
fn of_unit(b: &mut Builder<'_>, x: &Node, p: &Polynomial) -> Result<Node> {
    let x = b.with_magnitude(x, 1.0)?;
    b.polynomial(&x, p)
}

/// The sum over k of x rotated by k, masked, times y rotated as `by` says of giant step and baby
/// step of k.
fn sum_of_products(
    b: &mut Builder<'_>,
    plan: &Plan<'_>,
    x: &Node,
    y: &Node,
    by: impl Fn(i64, i64) -> (i64, i64),
) -> Result<Node> {
    let (babies, giants) = (plan.baby_steps() as i64, plan.giant_steps() as i64);
    let x = b.rotate_many(x, &(0..babies).collect::<Vec<_>>())?;
    let forward: Vec<i64> = (0..giants).map(|giant| by(giant * babies, 0).0).collect();
    let mut total: Option<Node> = None;
    for (giant, y) in b.rotate_many(y, &forward)?.iter().enumerate() {
        let (mut left, mut amounts) = (Vec::new(), Vec::new());
        for (baby, x) in x.iter().enumerate() {
            let Some(mask) = plan.mask(giant, baby) else { continue };
            left.push(b.mul_plain(x, &mask)?);
            amounts.push(by(0, baby as i64).1);
        }
        let right = b.rotate_many(y, &amounts)?;
        let sum = b.inner_product(&left, &right)?;
        let sum = b.rotate(&sum, giant as i64 * babies)?;
        total = Some(match total {
            None => sum,
            Some(total) => b.add(&total, &sum)?,
        });
    }
    Ok(total.expect("there are giant steps"))
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

/// Where bootstrappings of the set begin, if it has the levels that are needed.
fn last_level(set: &CkksParameters) -> std::result::Result<usize, Failure> {
    let Some(own) = set.bootstrapping() else {
        return Err(format!("{set} has no bootstrapping: take a set that has one").into());
    };
    let last = own.input_level();
    if set.default_level() < last + FRESH {
        return Err(format!("{set} has too few levels: {} are needed", last + FRESH).into());
    }
    Ok(last)
}

/// Tokens, one after another.
type Tokens = Vec<Vec<f64>>;

/// The encoder, its input, and samples that bounds are of.
struct Model {
    encoder: Encoder,
    input: Tokens,
    samples: Vec<Tokens>,
}

fn model(arguments: &Arguments, shape: Shape) -> std::result::Result<Model, Failure> {
    let count = arguments.layers.map(usize::from);
    let (Some(weights), Some(input)) = (&arguments.weights, &arguments.input) else {
        let count = count.unwrap_or(if arguments.full { 12 } else { 1 });
        let encoder = Encoder::random(shape, count, 1);
        // Bounds are those of other inputs.
        let samples = (0..2).map(|i| encoder.random_input(100 + i)).collect();
        return Ok(Model { input: encoder.random_input(2), samples, encoder });
    };
    let read = |path: &str| std::fs::read(path).map_err(|e| format!("{path}: {e}"));
    let encoder = Encoder::read(&read(weights)?, shape, count);
    let encoder = encoder.map_err(|why| format!("{weights}: {why}"))?;
    let file = tensors::Tensors::read(&read(input)?).map_err(|why| format!("{input}: {why}"))?;
    let hidden = file.shaped("hidden", &[shape.tokens, shape.width()]);
    let hidden = hidden.map_err(|why| format!("{input}: {why}"))?;
    let input: Tokens = hidden.chunks(shape.width()).map(<[f64]>::to_vec).collect();
    Ok(Model { encoder, samples: vec![input.clone()], input })
}

/// The largest difference, and the root of the mean of squares of all.
fn differences(x: &[Vec<f64>], y: &[Vec<f64>]) -> (f64, f64) {
    let both = x.iter().flatten().zip(y.iter().flatten());
    let off: Vec<f64> = both.map(|(x, y)| (x - y).abs()).collect();
    let squares: f64 = off.iter().map(|off| off * off).sum();
    (off.iter().fold(0.0, |most, x| most.max(*x)), (squares / off.len() as f64).sqrt())
}

pub(crate) fn run(arguments: &Arguments) -> std::result::Result<(), Failure> {
    let real = "CKKS_D40_30BIT_LOW";
    let default_set = if arguments.full { real } else { "INSECURE_CKKS_D40_N10" };
    let set = CkksParameters::by_name(arguments.options.set(default_set))?;
    let last = last_level(&set)?;
    let shape = Shape::of_slots(set.slots()).map_err(|why| format!("{set}: {why}"))?;
    let Model { encoder, input, samples } = model(arguments, shape)?;
    let functions = Fitted::new(Bounds::of(&encoder, &samples), shape.tokens)?;
    let plan = Plan { encoder: &encoder, bounds: &functions.bounds };
    let parties = Parties::start(&arguments.options, default_set, |set| keys(set, &plan, last))?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the tokens.
    let encrypt = |x: &Vec<f64>| -> std::result::Result<Batch, Failure> {
        Ok(Batch::Real(server.upload(&[client.encrypt_at(x, last + NORMAL)?])?))
    };
    let x: Vec<Batch> =
        plan.pack(&input).iter().map(encrypt).collect::<std::result::Result<_, _>>()?;

    // Whoever computes.
    let steps = Steps::new(server, arguments.warm);
    let mut evaluator = Evaluator {
        steps,
        shapes: BTreeMap::new(),
        plan: &plan,
        functions: &functions,
        last,
        bootstrappings: 0,
    };
    evaluator.prepare(&x)?;
    let (layers, result) = evaluator.run(&x)?;
    let bootstrappings = evaluator.bootstrappings;
    // Once more, with no wait between steps.
    evaluator.steps.waits = false;
    let start = Instant::now();
    if arguments.warm {
        evaluator.run(&x)?;
        server.synchronize()?;
    }
    let whole = start.elapsed().as_secs_f64();
    let steps = evaluator.steps;

    // The owner again.
    let decrypt = |all: &[Batch]| -> std::result::Result<Vec<Vec<f64>>, Failure> {
        let one = |x: &Batch| -> std::result::Result<Vec<f64>, Failure> {
            let found = server.download(x.real().ok_or("a result that was rehearsed")?)?;
            Ok(client.decrypt_real(&found[0])?)
        };
        Ok(plan.unpack(&all.iter().map(one).collect::<std::result::Result<Vec<_>, _>>()?))
    };
    let found = decrypt(&result)?;
    parties.tell_first_result();
    let (same, exact) = (encoder.run(&input, &functions), encoder.run(&input, &Exact));
    let mut worst = (0.0, 0.0, 0.0);
    for (number, layer) in layers.iter().enumerate() {
        let mut normal = decrypt(layer)?;
        normal.iter_mut().flatten().for_each(|x| *x *= functions.bounds.normal);
        let (most, root) = differences(&normal, &same[number]);
        let (_, of_functions) = differences(&same[number], &exact[number]);
        println!(
            "layer {number}: {most:.1e} at most, {root:.1e} in the mean from the same polynomials \
             in the plain, these {of_functions:.1e} in the mean from the functions"
        );
        worst = (most, root, of_functions);
    }
    let gain = &encoder.layers[encoder.layers.len() - 1].gains[1];
    let wanted: Vec<Vec<f64>> =
        exact[exact.len() - 1].iter().map(|normal| gain.apply(normal)).collect();
    let (result_off, _) = differences(&found, &wanted);
    let parts: f64 = steps.spent.values().map(std::time::Duration::as_secs_f64).sum();
    let seconds = if arguments.warm { whole } else { parts };
    let count = encoder.layers.len();
    println!("{count} layers, {bootstrappings} bootstrappings, {seconds:.2} s");
    println!("  step by step {parts:.2} s:");
    for (part, spent) in &steps.spent {
        println!("    {part} {:.3} s", spent.as_secs_f64());
    }
    println!("results differ by up to {result_off:.1e} from those of the functions themselves");
    let mut figures = BTreeMap::from([
        ("layers".to_owned(), count as f64),
        ("seconds".to_owned(), seconds),
        ("seconds_a_layer".to_owned(), seconds / count as f64),
        ("seconds_step_by_step".to_owned(), parts),
        ("seconds_preparing".to_owned(), steps.prepared.as_secs_f64()),
        ("bootstrappings".to_owned(), bootstrappings as f64),
        ("device_bytes".to_owned(), steps.bytes as f64),
        ("largest_error".to_owned(), worst.0),
        ("mean_error".to_owned(), worst.1),
        ("mean_error_of_polynomials".to_owned(), worst.2),
    ]);
    for (part, spent) in &steps.spent {
        figures.insert(format!("seconds_{part}"), spent.as_secs_f64());
    }
    parties.record(&arguments.options, "bert", &figures)?;
    if worst.0.is_nan() || worst.0 > SAME {
        return Err("the results are not those of the same polynomials in the plain".into());
    }
    Ok(())
}
