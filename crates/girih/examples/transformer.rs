//! Runs a transformer block on sequences that stay encrypted: attention with softmax, a multilayer
//! perceptron with GELU, layer normalisations, a classifier.
//!
//! Hundreds of sequences share a ciphertext, and two ciphertexts every bootstrapping, as real and
//! imaginary part (`common/tokens.rs` says where numbers lie):
//!
//! - products of encrypted matrices, queries by keys and softmax by values, are rotations of tokens
//!   and a sum of products each;
//! - softmax is exp, sums and their inverse; scores less their mean need no maximum;
//! - exp, inverse, inverse root and GELU are polynomials of degree 15, fitted to what they are
//!   given: bounds in the file of the network say between which numbers that lies;
//! - attention takes 15 levels, for which fresh ciphertexts have room. What follows takes 13, and
//!   there are two bootstrappings.
//!
//! The default is a small ring without any security, so that it ends in a minute anywhere; `--full`
//! is CKKS_D40_30BIT_LOW, 512 sequences at once.

mod common;
#[path = "common/linear.rs"]
mod linear;
#[path = "common/transformer.rs"]
mod network;
#[path = "common/ckks.rs"]
mod parties;
#[path = "common/steps.rs"]
mod steps;
#[path = "common/tensors.rs"]
mod tensors;
#[path = "common/tokens.rs"]
mod tokens;

use clap::Parser;
use common::Failure;
use girih::ckks::KeyRange;
use girih::ckks::prelude::*;
use girih::ckks::server::Node;
use network::{FUNCTIONS, Function, Network, label};
use parties::Parties;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::process::ExitCode;
use steps::{Batch, Steps};
use tokens::{Layer, Plan};

/// Classifies encrypted sequences by a transformer block.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// CKKS_D40_30BIT_LOW unless --set names another set.
    #[arg(long)]
    full: bool,
    /// How many sequences; as many as two ciphertexts hold unless this says otherwise.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=8192))]
    sequences: Option<u16>,
    /// Another network, in the format of docs/workloads.md; transformer_train.py writes it.
    #[arg(long, value_name = "FILE", requires = "data")]
    weights: Option<String>,
    /// The sequences to classify, in the same format, with their labels.
    #[arg(long, value_name = "FILE")]
    data: Option<String>,
    /// Run each step once before it is timed, so that what is done once for all runs is left out.
    #[arg(long)]
    warm: bool,
}

/// How far encrypted results may be from what the same polynomials make in the plain, of numbers a
/// class that are up to ten or so.
const SAME: f64 = 0.1;

/// The degree of all polynomials.
const DEGREE: usize = 15;

/// Levels that attention takes, and what is between bootstrappings.
const ATTENTION: usize = 15;
const BLOCK: usize = 13;

/// Ciphertexts whose bootstrappings are shared: one in the real parts, one in the imaginary ones.
type Pair = [Batch; 2];

/// Levels that rotations are used at, counted from where bootstrappings begin.
fn keys(set: &CkksParameters, plan: &Plan<'_>, last: usize) -> girih::ckks::Result<Vec<KeyRange>> {
    let packing = plan.packing;
    let tokens = |by: i64| by * packing.token() as i64;
    let mut rotations = Vec::new();
    for layer in plan.attention()? {
        rotations.push((layer.map.rotations(), ATTENTION));
    }
    for centred in [true, false] {
        rotations.push((plan.ahead(centred)?.rotations(), ATTENTION - 1));
    }
    let turns = (1..packing.tokens as i64).map(tokens).collect::<Vec<_>>();
    rotations.push((turns, ATTENTION - 2));
    for by in 1..packing.tokens {
        rotations.push((plan.turned(by)?.rotations(), ATTENTION - 3));
    }
    rotations.push((plan.sums()?.0.rotations(), ATTENTION - 8));
    rotations.push((plan.variances()?.0.rotations(), BLOCK - 1));
    for layer in plan.up()? {
        rotations.push((layer.map.rotations(), BLOCK - 7));
    }
    for layer in plan.first_sum()?.into_iter().chain(plan.second_sum()?).chain([plan.head()?]) {
        rotations.push((layer.map.rotations(), 1));
    }
    let slots = packing.slots();
    let mut keys = Bootstrapping::default().keys_by_level(set, slots)?;
    for (by, level) in rotations {
        let kinds = by.into_iter().filter_map(|by| KeyKind::rotation(set, by));
        keys.extend(kinds.map(|kind| kind.up_to(last + level)));
    }
    keys.push(KeyKind::Multiplication.up_to(last + ATTENTION));
    keys.push(KeyKind::conjugation(set).up_to(set.default_level()));
    Ok(keys)
}

/// Whoever computes.
struct Evaluator<'a> {
    steps: Steps<'a>,
    plan: &'a Plan<'a>,
    polynomials: &'a [Polynomial],
    /// Where bootstrappings begin.
    last: usize,
    bootstrappings: usize,
}

impl Evaluator<'_> {
    /// A number a class of every sequence.
    fn run(&mut self, x: &Pair) -> girih::ckks::Result<Pair> {
        let y = self.attend(x)?;
        let y = self.refresh(&y)?;
        let n = self.normalise(&y)?;
        let y = self.perceptron(&n)?;
        let y = self.refresh(&y)?;
        let n = self.normalise(&y)?;
        let head = self.plan.head()?;
        let (last, token) = (self.last, self.plan.packing.token());
        let tokens = self.plan.packing.tokens;
        self.one("head", "head", &[&n], |b, x| {
            let x = b.adjust(&x[0], last + 1)?;
            let sum = b.inner_sum(&x, tokens, token as i64)?;
            let sum = b.with_slots(&sum, token)?;
            apply(b, &sum, &head)
        })
    }

    /// From inputs to the sum before the first normalisation.
    fn attend(&mut self, x: &Pair) -> girih::ckks::Result<Pair> {
        const PART: &str = "attention";
        let plan = self.plan;
        let token = plan.packing.token() as i64;
        let [query, key, value] = plan.attention()?;
        let [q, k, v] = [("queries", query), ("keys", key), ("values", value)]
            .map(|(name, layer)| self.one(PART, name, &[x], |b, x| apply(b, &x[0], &layer)));
        let (q, mut ahead) = (q?, [k?, v?]);
        for (i, name) in ["keys ahead", "values ahead"].into_iter().enumerate() {
            let map = plan.ahead(i == 0)?;
            ahead[i] =
                self.one(PART, name, &[&ahead[i]], |b, x| b.linear_transform(&x[0], &map))?;
        }
        let [k, v] = ahead;
        let size = plan.packing.tokens;
        let turns = (1..size).map(|by| plan.turned(by)).collect::<Result<Vec<_>, _>>()?;
        let scores = self.one(PART, "scores", &[&q, &k], |b, x| {
            let back: Vec<i64> = (0..size as i64).map(|j| -j * token).collect();
            let q = b.adjust(&x[0], x[1].level())?;
            let k = b.rotate_many(&x[1], &back)?;
            let mut sum = b.mul(&q, &k[0])?;
            for (k, turn) in k[1..].iter().zip(&turns) {
                let product = b.mul(&q, k)?;
                let turned = b.linear_transform(&product, turn)?;
                sum = b.add(&sum, &turned)?;
            }
            Ok(sum)
        })?;
        let powers = self.function(PART, "powers", &scores, Function::Power)?;
        let weighted = self.one(PART, "weighted", &[&powers, &v], |b, x| {
            let ahead: Vec<i64> = (0..size as i64).map(|j| j * token).collect();
            let mut left = vec![b.adjust(&x[0], x[0].level() - 1)?];
            for turn in &turns {
                left.push(b.linear_transform(&x[0], turn)?);
            }
            let v = b.adjust(&x[1], left[0].level())?;
            let v = b.rotate_many(&v, &ahead)?;
            b.inner_product(&left, &v)
        })?;
        let sums = plan.sums()?;
        let sums = self.one(PART, "sums", &[&powers], |b, x| line(b, &x[0], &sums))?;
        let inverse = self.function(PART, "inverses", &sums, Function::Inverse)?;
        let [output, input] = plan.first_sum()?;
        self.one(PART, "first sum", &[&weighted, &inverse, x], |b, x| {
            let attended = b.mul(&x[0], &x[1])?;
            let beside = b.adjust(&x[2], attended.level())?;
            let (y, beside) = (apply(b, &attended, &output)?, apply(b, &beside, &input)?);
            b.add(&y, &beside)
        })
    }

    /// Divides by the root of the variance over each token.
    fn normalise(&mut self, y: &Pair) -> girih::ckks::Result<Pair> {
        const PART: &str = "normalisations";
        let map = self.plan.variances()?;
        let variance = self.one(PART, "variances", &[y], |b, x| {
            let square = b.square(&x[0])?;
            line(b, &square, &map)
        })?;
        let root = self.function(PART, "roots", &variance, Function::Root)?;
        self.one(PART, "normalised", &[y, &root], |b, x| b.mul(&x[0], &x[1]))
    }

    /// From the first normalisation to the sum before the second.
    fn perceptron(&mut self, n: &Pair) -> girih::ckks::Result<Pair> {
        const PART: &str = "perceptron";
        let mut parts = Vec::new();
        for (i, layer) in self.plan.up()?.into_iter().enumerate() {
            let up = self.one(PART, &format!("up {i}"), &[n], |b, x| apply(b, &x[0], &layer))?;
            parts.push(self.function(PART, "GELU", &up, Function::Gelu)?);
        }
        parts.push(n.clone());
        let layers = self.plan.second_sum()?;
        self.one(PART, "second sum", &parts.iter().collect::<Vec<_>>(), |b, x| {
            let level = x[0].level();
            let mut sum: Option<Node> = None;
            for (x, layer) in x.iter().zip(&layers) {
                let x = if x.level() > level { b.adjust(x, level)? } else { *x };
                let y = apply(b, &x, layer)?;
                sum = Some(match sum {
                    None => y,
                    Some(sum) => b.add(&sum, &y)?,
                });
            }
            Ok(sum.expect("there are layers"))
        })
    }

    /// A polynomial, which needs no line before it.
    fn function(
        &mut self,
        part: &'static str,
        name: &str,
        x: &Pair,
        function: Function,
    ) -> girih::ckks::Result<Pair> {
        let p = &self.polynomials[function as usize];
        self.one(part, name, &[x], |b, x| b.polynomial(&x[0], p))
    }

    /// Both bootstrapped, as one.
    fn refresh(&mut self, y: &Pair) -> girih::ckks::Result<Pair> {
        let to = self.last + BLOCK;
        let [u, v] = [y[0].with_magnitude(1.0)?, y[1].with_magnitude(1.0)?];
        let both = self.steps.run("bootstrappings", "bootstrapping", &[&u, &v], |b, x| {
            let (u, v) = b.bootstrap_two_real(&x[0], &x[1], &Bootstrapping::default())?;
            let down = |b: &mut Builder<'_>, x: Node| {
                if x.level() > to { b.adjust(&x, to) } else { Ok(x) }
            };
            Ok(vec![down(b, u)?, down(b, v)?])
        })?;
        self.bootstrappings += u.len();
        Ok([both[0].clone(), both[1].clone()])
    }

    /// A step with one result, of both of each input.
    fn one(
        &mut self,
        part: &'static str,
        name: &str,
        inputs: &[&Pair],
        record: impl Fn(&mut Builder<'_>, &[Node]) -> girih::ckks::Result<Node>,
    ) -> girih::ckks::Result<Pair> {
        let mut half = |i: usize| {
            let inputs: Vec<&Batch> = inputs.iter().map(|pair| &pair[i]).collect();
            let mut results =
                self.steps.run(part, name, &inputs, |b, x| Ok(vec![record(b, x)?]))?;
            // Bounds say so; what the model of errors would count with is far more.
            results.remove(0).with_magnitude(1.0)
        };
        Ok([half(0)?, half(1)?])
    }
}

/// A map and its bias.
fn apply(b: &mut Builder<'_>, x: &Node, layer: &Layer) -> girih::ckks::Result<Node> {
    let y = b.linear_transform(x, &layer.map)?;
    b.add_plain(&y, &layer.bias)
}

/// A map and a number.
fn line(
    b: &mut Builder<'_>,
    x: &Node,
    (map, offset): &(LinearMap, f64),
) -> girih::ckks::Result<Node> {
    let y = b.linear_transform(x, map)?;
    b.add_constant(&y, *offset)
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

/// What a sequence is, in the plain.
struct Plain {
    /// A number a class, by the polynomials.
    logits: Vec<f64>,
    /// Its class by the functions themselves.
    exact: usize,
    /// The largest argument of a function; polynomials are right up to 1.
    reach: f64,
}

impl Plain {
    fn new(network: &Network, polynomials: &[Polynomial], x: &[f64]) -> Self {
        let exact = label(&network.logits(x, |f, u| network.bounds.exact(f, u)));
        let mut reach = 0.0f64;
        let logits = network.logits(x, |f, u| {
            reach = reach.max(u.abs());
            polynomials[f as usize].evaluate(u)
        });
        Self { logits, exact, reach }
    }
}

/// The bytes of a file, or of the one that is built in.
fn bytes(path: Option<&String>, own: &[u8]) -> Result<Vec<u8>, Failure> {
    let Some(path) = path else { return Ok(own.to_vec()) };
    std::fs::read(path).map_err(|e| format!("{path}: {e}").into())
}

/// Where bootstrappings of the set begin, if it has the levels that are needed.
fn last_level(set: &CkksParameters) -> Result<usize, Failure> {
    let Some(own) = set.bootstrapping() else {
        return Err(format!("{set} has no bootstrapping: take a set that has one").into());
    };
    let last = own.input_level();
    if set.default_level() < last + BLOCK || set.scale(last + ATTENTION).is_none() {
        let needed = format!("{} and at first {}", last + BLOCK, last + ATTENTION);
        return Err(format!("{set} has too few levels: {needed} are needed").into());
    }
    Ok(last)
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let real = "CKKS_D40_30BIT_LOW";
    let default_set = if arguments.full { real } else { "INSECURE_CKKS_D40_N13" };
    let refused = |what: &str, path: &Option<String>, why: String| -> Failure {
        format!("{}: {why}", path.as_deref().unwrap_or(what)).into()
    };
    let own = include_bytes!("transformer.safetensors");
    let network = Network::read(&bytes(arguments.weights.as_ref(), own)?)
        .map_err(|why| refused("the network", &arguments.weights, why))?;
    let own = include_bytes!("transformer_data.safetensors");
    let data = network
        .sequences(&bytes(arguments.data.as_ref(), own)?)
        .map_err(|why| refused("the sequences", &arguments.data, why))?;
    if data.is_empty() {
        return Err("there are no sequences".into());
    }
    let set = CkksParameters::by_name(arguments.options.set(default_set))?;
    let last = last_level(&set)?;
    let plan = Plan::new(&network, set.slots())
        .map_err(|why| refused("the network", &arguments.weights, why))?;
    let polynomials: Vec<Polynomial> = FUNCTIONS
        .iter()
        .map(|&f| Polynomial::interpolate(|u| network.bounds.exact(f, u), -1.0..=1.0, DEGREE))
        .collect::<Result<_, _>>()?;

    let plain = data.par_iter().map(|(sequence, ..)| Plain::new(&network, &polynomials, sequence));
    let plain: Vec<Plain> = plain.collect();
    // Those that there are, again and again.
    let samples = plan.packing.samples;
    let count = arguments.sequences.map_or(2 * samples, usize::from);
    let chosen: Vec<usize> = (0..count).map(|i| i % data.len()).collect();
    if let Some(i) = chosen.iter().find(|&&i| plain[i].reach > 1.0) {
        let by = plain[*i].reach;
        let why = "polynomials are of no use there; write the network with larger bounds";
        return Err(format!("sequence {i} exceeds a bound {by:.2} times: {why}").into());
    }
    let parties = Parties::start(&arguments.options, default_set, |set| keys(set, &plan, last))?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the sequences.
    // Slots that are left over hold sequences again: others might exceed bounds.
    let mut halves = [Vec::new(), Vec::new()];
    for (number, start) in (0..count).step_by(samples).enumerate() {
        let one = |b: usize| &data[chosen[(start + b) % count]].0[..];
        let part: Vec<&[f64]> = (0..samples).map(one).collect();
        halves[number % 2].push(client.encrypt_at(&plan.pack(&part), last + ATTENTION)?);
    }
    if halves[1].len() < halves[0].len() {
        let again = halves[0][0].clone();
        halves[1].push(again);
    }
    let x = [server.upload(&halves[0])?, server.upload(&halves[1])?].map(Batch::Real);

    // Whoever computes.
    let bar = TerminalProgress::new();
    let steps = Steps::new(server, arguments.warm);
    let mut evaluator =
        Evaluator { steps, plan: &plan, polynomials: &polynomials, last, bootstrappings: 0 };
    // Once with shapes alone, so that all steps are prepared side by side.
    evaluator.run(&x.each_ref().map(|x| Batch::Rehearsed(x.shape())))?;
    evaluator.steps.prepare()?;
    evaluator.steps.announce(&bar);
    let result = evaluator.run(&x)?;
    evaluator.steps.announced();
    let Evaluator { steps, bootstrappings, .. } = evaluator;

    // The owner again.
    let mut found = Vec::new();
    let [first, second] = result.each_ref().map(|x| {
        let real = x.real().ok_or("a result that was rehearsed")?;
        Ok::<_, Failure>(server.download(real)?)
    });
    let (first, second) = (first?, second?);
    for half in first.iter().zip(&second).flat_map(|(u, v)| [u, v]) {
        found.extend(plan.unpack(&client.decrypt_real(half)?, samples));
    }
    parties.tell_first_result();
    let (mut error, mut same, mut right) = (0.0f64, 0, 0);
    for (found, &i) in found.iter().zip(&chosen) {
        let off = found.iter().zip(&plain[i].logits).map(|(x, y)| (x - y).abs());
        error = off.fold(error, f64::max);
        same += usize::from(label(found) == label(&plain[i].logits));
        right += usize::from(label(found) == data[i].1);
    }
    let share = |label: &dyn Fn(&Plain) -> usize| {
        let right = data.iter().zip(&plain).filter(|((_, truth), plain)| label(plain) == *truth);
        100.0 * right.count() as f64 / data.len() as f64
    };
    let by_functions = share(&|plain| plain.exact);
    let by_polynomials = share(&|plain| label(&plain.logits));
    let seconds: f64 = steps.spent.values().map(std::time::Duration::as_secs_f64).sum();
    let each = 1e3 * seconds / count as f64;
    for (function, p) in FUNCTIONS.iter().zip(&polynomials) {
        let (error, most) = (p.error().unwrap_or(0.0), p.bounds().0);
        println!("{function:?}: off by {error:.1e} of {most:.2}");
    }
    println!("{count} sequences, {bootstrappings} bootstrappings, {seconds:.2} s");
    println!("{each:.2} ms a sequence");
    for (part, spent) in &steps.spent {
        println!("    {part} {:.2} s", spent.as_secs_f64());
    }
    println!("numbers a class differ by up to {error:.1e} from the same polynomials in the plain");
    println!("{same} of {count} labels are those in the plain, {right} are right");
    println!(
        "in the plain, of {} sequences {by_functions:.1} % are right, {by_polynomials:.1} % with \
         the polynomials",
        data.len()
    );
    let mut figures = BTreeMap::from([
        ("sequences".to_owned(), count as f64),
        ("seconds".to_owned(), seconds),
        ("milliseconds_a_sequence".to_owned(), each),
        ("seconds_preparing".to_owned(), steps.prepared.as_secs_f64()),
        ("bootstrappings".to_owned(), bootstrappings as f64),
        ("device_bytes".to_owned(), steps.bytes as f64),
        ("largest_error".to_owned(), error),
        ("labels_as_in_the_plain".to_owned(), same as f64),
        ("labels_right".to_owned(), right as f64),
        ("accuracy_plain".to_owned(), by_functions),
        ("accuracy_polynomials".to_owned(), by_polynomials),
    ]);
    for (part, spent) in &steps.spent {
        figures.insert(format!("seconds_{part}"), spent.as_secs_f64());
    }
    parties.record(&arguments.options, "transformer", &figures)?;
    if same < count || error > SAME {
        return Err("the results are not those of the same network in the plain".into());
    }
    Ok(())
}
