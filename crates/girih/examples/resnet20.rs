//! Says what encrypted images show: ResNet-20 on images of 32 x 32 pixels (Lee et al. 2022,
//! "Low-complexity deep convolutional neural networks on fully homomorphic encryption using
//! multiplexed parallel convolutions").
//!
//! Several images share a ciphertext (`common/packing.rs`). A layer is
//!
//! - a convolution, a linear map of slots in one level, with the shortcut and the bias added; where
//!   it halves an image, two ciphertexts become one;
//! - a bootstrapping, of all images at once, but not in the first layer, whose input is fresh;
//! - a ReLU x (1 + sign x) / 2, the sign a composition of minimax polynomials, of real and of
//!   imaginary parts.
//!
//! Bootstrapping and ReLU are one recording each for all layers; all recordings are made before the
//! first is run, side by side. The default is a small network on
//! a small ring without any security, so that it ends in a minute anywhere; `--full` is the real
//! thing: 18 bootstrappings at CKKS_D35_30BIT_LOW, of whose 16 levels degrees 15, 15 and 27 leave
//! one.

mod common;
#[path = "common/packing.rs"]
mod packing;
#[path = "common/ckks.rs"]
mod parties;
#[path = "common/resnet.rs"]
mod resnet;
#[path = "common/steps.rs"]
mod steps;
#[path = "common/tensors.rs"]
mod tensors;

use clap::Parser;
use common::Failure;
use girih::ckks::KeyRange;
use girih::ckks::prelude::*;
use girih::ckks::server::{Estimate, Node};
use packing::{PackedBeside, PackedLayer, Plan, halves};
use parties::Parties;
use rayon::prelude::*;
use resnet::{Network, images, label};
use std::f64::consts::SQRT_2;
use std::process::ExitCode;
use steps::{Ahead, Steps};

/// Classifies encrypted images by a residual network.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// ResNet-20 on 32 x 32 pixels, at CKKS_D35_30BIT_LOW unless --set names another of 2^15 slots.
    #[arg(long)]
    full: bool,
    /// How many images; up to four share a ciphertext, and later more.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    images: u16,
    /// Another network, in the format of docs/workloads.md; resnet20_train.py writes it.
    #[arg(long, value_name = "FILE", requires = "pictures")]
    weights: Option<String>,
    /// The images to classify, in the same format, with their labels.
    #[arg(long, value_name = "FILE")]
    pictures: Option<String>,
    /// Run each step once before it is timed, so that what is done once for all runs is left out.
    #[arg(long)]
    warm: bool,
}

/// How far encrypted results may be from what the same polynomials make in the plain, of numbers a
/// class that are up to ten or so.
const SAME: f64 = 0.1;

/// The published composition for a ReLU of 13 bits.
const DEGREES: [usize; 3] = [15, 15, 27];

/// Between which levels a layer works.
#[derive(Clone, Copy, Debug)]
struct Levels {
    /// Where bootstrappings begin, and convolutions end.
    start: usize,
    /// Where ReLUs begin.
    relu: usize,
    /// Where images are encrypted.
    fresh: usize,
}

/// Levels of a layer beside those of the sign: the product's and the convolution's.
const OTHERS: usize = 2;

impl Levels {
    /// The best ReLU for the levels that a bootstrapping leaves, and where it begins.
    fn of(set: &CkksParameters) -> Result<(Self, CompositeSign), Failure> {
        let Some(own) = set.bootstrapping() else {
            return Err(format!("{set} has no bootstrapping: take a set that has one").into());
        };
        let start = own.input_level();
        let room = set.default_level().saturating_sub(start + OTHERS);
        let published = CompositeSign::with_degrees(2f64.powi(-9), &DEGREES)?;
        let mut sign = (published.levels() <= room).then_some(published);
        for bits in (5..=12).rev() {
            if sign.is_none() {
                let found = CompositeSign::for_relu(f64::exp2(-f64::from(bits)))?;
                sign = (found.levels() <= room).then_some(found);
            }
        }
        let Some(sign) = sign else {
            let why = format!("{room} levels for signs, too few for a ReLU of five bits");
            return Err(format!("{set} leaves {why}").into());
        };
        let relu = start + OTHERS + sign.levels();
        // The first layer needs no bootstrapping where there is a level above for its convolution.
        let fresh = if set.scale(relu + 1).is_some() { relu + 1 } else { start + 1 };
        Ok((Self { start, relu, fresh }, sign))
    }
}

/// Rotations of each layer at the levels where they are made, and what the rest needs.
fn keys(
    set: &CkksParameters,
    plan: &Plan<'_>,
    how: &Bootstrapping,
    levels: Levels,
) -> girih::ckks::Result<Vec<KeyRange>> {
    let (first, others) = plan.rotations()?;
    let low = levels.start + 1;
    let rotations = |by: Vec<i64>, level: usize| {
        let kinds = by.into_iter().filter_map(|by| KeyKind::rotation(set, by));
        kinds.map(move |kind| kind.up_to(level)).collect::<Vec<_>>()
    };
    let mut keys = how.keys_by_level(set, plan.slots())?;
    keys.extend(rotations(first, levels.fresh));
    keys.extend(rotations(others, low));
    keys.push(KeyKind::Multiplication.up_to(levels.relu));
    if plan.parts() == 2 {
        keys.push(KeyKind::conjugation(set).up_to(levels.relu));
    }
    Ok(keys)
}

/// Parts of the time, each the recordings that it is spent in.
const PARTS: [&str; 3] = ["convolutions", "bootstrappings", "ReLUs"];

/// Names of the steps that all layers share.
const REFRESH: &str = "bootstrapping";
const ACTIVATE: &str = "ReLU";
const HEAD: &str = "head";

fn layer_name(i: usize) -> String {
    format!("layer {i}")
}

/// Whoever computes.
struct Evaluator<'a> {
    steps: Steps<'a>,
    plan: &'a Plan<'a>,
    levels: Levels,
    bootstrappings: usize,
}

impl Evaluator<'_> {
    /// Records all that [`Evaluator::run`] runs, for `images` like these; `step` is (1 + sign) / 2.
    fn record(
        &mut self,
        images: &Ciphertexts,
        how: &Bootstrapping,
        step: &CompositeSign,
    ) -> girih::ckks::Result<()> {
        let (plan, levels, slots) = (self.plan, self.levels, self.plan.slots());
        let set = self.steps.server.set();
        let at = |level: usize| (level, set.scale(level).unwrap_or(1.0), slots);
        let image = (images.level(), images.scale(), images.slots());
        let refresh = Ahead::new(REFRESH, vec![at(levels.start)], |b, x| {
            let fresh = b.bootstrap_with(&x[0], how)?;
            Ok(vec![if fresh.level() > levels.relu {
                b.adjust(&fresh, levels.relu)?
            } else {
                fresh
            }])
        });
        let activate = Ahead::new(ACTIVATE, vec![at(levels.relu)], |b, x| {
            Ok(vec![activate(b, &x[0], step, plan.parts())?])
        });
        // What ReLUs leave has one level for the next convolution.
        let low = at(levels.start + 1);
        let layer = |i: usize| {
            let [first, beside] = plan.inputs(i);
            let shape = if i == 0 { image } else { low };
            let inputs = [vec![shape; first], vec![low; beside]].concat();
            Ahead::new(layer_name(i), inputs, move |b, x| {
                Ok(vec![convolve(b, plan.layer(i)?, x, slots)?])
            })
        };
        let layers = 0..plan.layers();
        let head = Ahead::new(HEAD, vec![low], |b, x| {
            let head = plan.head()?;
            let y = b.matrix_vector(&head, &x[0])?;
            Ok(vec![b.with_slots(&y, head.rows().next_power_of_two())?])
        });
        // Those with the most kernels first.
        let steps = [refresh, activate].into_iter().chain(layers.map(layer)).chain([head]);
        self.steps.record_ahead(steps.collect())
    }

    /// What the network's head leaves for each ciphertext of images.
    fn run(&mut self, images: &Ciphertexts) -> girih::ckks::Result<Ciphertexts> {
        let (mut before, mut x) = (images.clone(), images.clone());
        let bar = TerminalProgress::new();
        let progress = girih::device::Steps::begin(&bar, "layers", self.plan.layers());
        for i in 0..self.plan.layers() {
            let [first, beside] = self.plan.inputs(i);
            let inputs = [shared(&x, first)?, shared(&before, beside)?].concat();
            let inputs: Vec<_> = inputs.iter().collect();
            let y = self.steps.again(PARTS[0], &layer_name(i), &inputs)?.remove(0);
            let y = y.with_magnitude(1.0)?;
            let y = if y.level() < self.levels.relu { self.refresh(&y)? } else { y };
            (before, x) = (x, self.activate(&y)?);
            progress.done();
        }
        Ok(self.steps.again(PARTS[0], HEAD, &[&x])?.remove(0))
    }

    fn refresh(&mut self, x: &Ciphertexts) -> girih::ckks::Result<Ciphertexts> {
        self.bootstrappings += x.len();
        Ok(self.steps.again(PARTS[1], REFRESH, &[x])?.remove(0))
    }

    fn activate(&mut self, x: &Ciphertexts) -> girih::ckks::Result<Ciphertexts> {
        let y = self.steps.again(PARTS[2], ACTIVATE, &[x])?.remove(0);
        // The rules of single operations count with the steepest slope of each polynomial; a ReLU
        // makes errors no larger. What it is off by is that of the polynomials, with which results
        // are compared.
        let parts = self.plan.parts() as f64;
        let deviation = parts * x.estimate().deviation;
        y.with_estimate(Estimate { deviation, bias: 0.0, magnitude: parts.sqrt() })
    }
}

/// The inputs of a layer that takes these ciphertexts alone, or makes one of two, or none.
fn shared(x: &Ciphertexts, inputs: usize) -> girih::ckks::Result<Vec<Ciphertexts>> {
    match inputs {
        0 => Ok(Vec::new()),
        1 => Ok(vec![x.clone()]),
        _ => halves(x.len()).into_iter().map(|range| x.select(range)).collect(),
    }
}

/// A convolution of the first nodes, as `slots` slots, with what the others add, and the bias.
fn convolve(
    b: &mut Builder<'_>,
    layer: PackedLayer,
    x: &[Node],
    slots: usize,
) -> girih::ckks::Result<Node> {
    let (x, beside) = x.split_at(layer.maps.inputs());
    let mut y = apply(b, &layer.maps, x, slots)?;
    let beside = match &layer.beside {
        PackedBeside::Nothing => None,
        PackedBeside::Times(factor) => Some(b.mul_constant(&beside[0], *factor)?),
        PackedBeside::Mapped(maps) => Some(apply(b, maps, beside, slots)?),
    };
    if let Some(beside) = beside {
        y = b.add(&y, &beside)?;
    }
    b.add_plain(&y, &layer.bias)
}

/// The only result of these maps.
fn apply(
    b: &mut Builder<'_>,
    maps: &LinearMaps,
    x: &[Node],
    slots: usize,
) -> girih::ckks::Result<Node> {
    let of = |b: &mut Builder<'_>, x: &Node| b.with_slots(x, maps.slots());
    let x = x.iter().map(|x| of(b, x)).collect::<girih::ckks::Result<Vec<_>>>()?;
    let y = match maps.rows() {
        [row] => match row.as_slice() {
            [Some(map)] => b.linear_transform(&x[0], map)?,
            _ => b.linear_transforms(&x, maps)?.remove(0),
        },
        _ => b.linear_transforms(&x, maps)?.remove(0),
    };
    b.with_slots(&y, slots)
}

/// The ReLU of real parts, and of imaginary ones where there are two `parts`, by a step function on
/// [-1, 1]. Parts were divided by two where there are two; twice the real part is what is left.
fn activate(
    b: &mut Builder<'_>,
    x: &Node,
    step: &CompositeSign,
    parts: usize,
) -> girih::ckks::Result<Node> {
    let relu = |b: &mut Builder<'_>, x: &Node| {
        let above = b.sign(x, 1.0, step)?;
        b.mul(x, &above)
    };
    if parts == 1 {
        return relu(b, x);
    }
    let i = Complex64::i();
    let conjugate = b.conjugate(x)?;
    let real = b.add(x, &conjugate)?;
    let difference = b.sub(x, &conjugate)?;
    let imaginary = b.mul_constant(&difference, -i)?;
    let (real, imaginary) = (relu(b, &real)?, relu(b, &imaginary)?);
    let imaginary = b.mul_constant(&imaginary, i)?;
    b.add(&real, &imaginary)
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

/// For each image, what the network makes of it with the ReLU that `sign` makes, and its class by
/// true ReLUs.
fn in_the_plain(
    network: &Network,
    sign: &CompositeSign,
    pictures: &[&(Vec<f64>, usize)],
) -> Result<Vec<(Vec<f64>, usize)>, Failure> {
    let relu = |x: f64| x * (1.0 + sign.evaluate(x)) / 2.0;
    let one = |number: usize| {
        let (image, mut largest) = (&pictures[number].0, 0.0f64);
        let exact = network.logits(image, |x| {
            largest = largest.max(x.abs());
            x.max(0.0)
        });
        if largest > 1.0 {
            let why = "polynomials are of no use there; write the network with larger bounds";
            return Err(format!("image {number} exceeds a ReLU's bound {largest:.2} times: {why}"));
        }
        Ok((network.logits(image, relu), label(&exact)))
    };
    Ok((0..pictures.len()).into_par_iter().map(one).collect::<Result<_, String>>()?)
}

/// The bytes of a file, or of the one that is built in.
fn bytes(path: Option<&String>, own: &[u8]) -> Result<Vec<u8>, Failure> {
    let Some(path) = path else { return Ok(own.to_vec()) };
    std::fs::read(path).map_err(|e| format!("{path}: {e}").into())
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (own, default_set): ([&[u8]; 2], _) = if arguments.full {
        let network = include_bytes!("resnet20.safetensors");
        ([network, include_bytes!("resnet20_images.safetensors")], "CKKS_D35_30BIT_LOW")
    } else {
        let network = include_bytes!("resnet20_small.safetensors");
        (
            [network, include_bytes!("resnet20_small_images.safetensors")],
            "INSECURE_CKKS_D35_30BIT_LOW_N10",
        )
    };
    let refused = |what: &str, path: &Option<String>, why: String| -> Failure {
        format!("{}: {why}", path.as_deref().unwrap_or(what)).into()
    };
    let network = Network::read(&bytes(arguments.weights.as_ref(), own[0])?)
        .map_err(|why| refused("the network", &arguments.weights, why))?;
    let pictures = images(&bytes(arguments.pictures.as_ref(), own[1])?, &network)
        .map_err(|why| refused("the images", &arguments.pictures, why))?;
    if pictures.is_empty() {
        return Err("there are no images".into());
    }
    // Those that there are, again and again.
    let count = usize::from(arguments.images);
    let pictures: Vec<_> = pictures.iter().cycle().take(count).collect();
    let set = CkksParameters::by_name(arguments.options.set(default_set))?;
    let plan = Plan::new(&network, set.slots(), count).map_err(|why| format!("{set}: {why}"))?;
    let (levels, sign) = Levels::of(&set)?;
    let how = Bootstrapping {
        // Layers are not like random numbers: more room above the message.
        message_ratio: Some((set.message_ratios().end - 1).min(7)),
        real: plan.parts() == 1,
        ..Default::default()
    };
    let wanted = in_the_plain(&network, &sign, &pictures)?;
    let parties =
        Parties::start(&arguments.options, default_set, |set| keys(set, &plan, &how, levels))?;
    let (client, server) = (&parties.client, &parties.server);

    // The owner of the images.
    let key = client.within(SQRT_2 * network.reach());
    let encrypt = |images: &[&(Vec<f64>, usize)]| {
        let images: Vec<&[f64]> = images.iter().map(|(image, _)| image.as_slice()).collect();
        key.encrypt_at(&plan.pack(&images), levels.fresh)
    };
    let x = pictures.chunks(plan.images()).map(encrypt).collect::<Result<Vec<_>, _>>()?;
    let x = server.upload(&x)?;

    // Whoever computes.
    let steps = Steps::new(server, arguments.warm);
    let mut evaluator = Evaluator { steps, plan: &plan, levels, bootstrappings: 0 };
    evaluator.record(&x, &how, &sign.clone().affine(0.5, 0.5))?;
    let result = evaluator.run(&x)?;
    let Evaluator { steps, bootstrappings, .. } = evaluator;
    let [convolving, refreshing, activating] =
        PARTS.map(|part| steps.spent.get(part).map_or(0.0, std::time::Duration::as_secs_f64));
    let seconds = convolving + refreshing + activating;

    // The owner again.
    let results = server.download(&result)?;
    let results = results.iter().map(|x| client.decrypt(x)).collect::<Result<Vec<_>, _>>()?;
    let found = plan.unpack(&results, count);
    parties.tell_first_result();
    let (mut error, mut same, mut right, mut exact) = (0.0f64, 0, 0, 0);
    for ((found, (wanted, by_true)), (_, truth)) in found.iter().zip(&wanted).zip(&pictures) {
        let off = found.iter().zip(wanted).map(|(x, y)| (x - y).abs());
        error = off.fold(error, f64::max);
        same += usize::from(label(found) == label(wanted));
        right += usize::from(label(found) == *truth);
        exact += usize::from(label(wanted) == *by_true);
    }
    let each = 1e3 * seconds / count as f64;
    let (layers, degrees) = (plan.layers(), sign.degrees());
    println!("{layers} ReLUs, of degrees {degrees:?}, off by {:.1e}", sign.relu_error());
    println!("{count} images, {bootstrappings} bootstrappings, {seconds:.1} s");
    println!("{each:.0} ms an image");
    println!(
        "convolutions {convolving:.2} s, bootstrappings {refreshing:.2} s, ReLUs {activating:.2} s"
    );
    println!("numbers a class differ by up to {error:.1e} from the same polynomials in the plain");
    println!("{same} of {count} labels are those in the plain, {right} are right");
    println!("in the plain, {exact} are those of true ReLUs");
    let figures = [
        ("images", count as f64),
        ("seconds", seconds),
        ("milliseconds_an_image", each),
        ("seconds_convolutions", convolving),
        ("seconds_bootstrappings", refreshing),
        ("seconds_relus", activating),
        ("seconds_preparing", steps.prepared.as_secs_f64()),
        ("bootstrappings", bootstrappings as f64),
        ("device_bytes", steps.bytes as f64),
        ("relu_error", sign.relu_error()),
        ("largest_error", error),
        ("labels_as_in_the_plain", same as f64),
        ("labels_right", right as f64),
    ];
    parties.record(&arguments.options, "resnet20", &std::collections::BTreeMap::from(figures))?;
    if same < count || error > SAME {
        return Err("the results are not those of the same network in the plain".into());
    }
    Ok(())
}
