//! The encoder of BERT in the plain: layers of attention and of a perceptron, each followed by a
//! sum with what it was given and a layer normalisation (Devlin and others 2019).
//!
//! Shapes are those of BERT-base in proportion: with T tokens, heads are T/2 wide, there are
//! twelve, and the perceptron is four times as wide as a token. T = 128 is BERT-base itself.

use super::linear::{Linear, added};
use super::tensors::{Refusal, Tensors};
use rayon::prelude::*;

/// Widths of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub tokens: usize,
}

/// Heads of a layer.
pub const HEADS: usize = 12;

/// Heads whose numbers share a vector of slots.
pub const HEADS_A_BLOCK: usize = 4;

/// Blocks of a token's numbers, and of the perceptron's.
pub const BLOCKS: usize = HEADS / HEADS_A_BLOCK;
pub const HIDDEN_BLOCKS: usize = 4 * BLOCKS;

impl Shape {
    /// That for which a block of all tokens fills so many slots.
    pub fn of_slots(slots: usize) -> Result<Self, Refusal> {
        let tokens = 1usize << (slots.ilog2() / 2);
        if slots != 2 * tokens * tokens || tokens < 8 {
            return Err(format!("{slots} slots: 2^7, 2^9, .. or 2^15 are needed"));
        }
        Ok(Self { tokens })
    }

    /// Numbers of a head.
    pub fn head(&self) -> usize {
        self.tokens / 2
    }

    /// Numbers of a block.
    pub fn block(&self) -> usize {
        HEADS_A_BLOCK * self.head()
    }

    /// Numbers of a token.
    pub fn width(&self) -> usize {
        BLOCKS * self.block()
    }

    /// Numbers of a token in the perceptron.
    pub fn hidden(&self) -> usize {
        HIDDEN_BLOCKS * self.block()
    }
}

/// What follows a normalisation: a factor and a number to add for each of a token's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    pub factors: Vec<f64>,
    pub shift: Vec<f64>,
}

impl Gain {
    pub fn apply(&self, normal: &[f64]) -> Vec<f64> {
        let both = self.factors.iter().zip(&self.shift);
        normal.iter().zip(both).map(|(x, (factor, shift))| factor * x + shift).collect()
    }
}

/// A layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub output: Linear,
    pub up: Linear,
    pub down: Linear,
    /// Of the normalisations after attention and after the perceptron.
    pub gains: [Gain; 2],
}

/// What is no polynomial, and who is told what numbers there are. A place is a layer and one of its
/// two normalisations.
pub trait Functions: Sync {
    /// Of a score less the mean over its row.
    fn exp(&self, score: f64) -> f64;
    /// Of the mean of a row of these.
    fn inverse(&self, mean: f64) -> f64;
    /// 1 / sqrt(variance).
    fn inverse_root(&self, place: [usize; 2], variance: f64) -> f64;
    fn gelu(&self, x: f64) -> f64;
    /// A token before and after a normalisation.
    fn told(&self, _place: [usize; 2], _sum: &[f64], _normal: &[f64]) {}
}

/// The functions themselves.
pub struct Exact;

impl Functions for Exact {
    fn exp(&self, score: f64) -> f64 {
        score.exp()
    }

    fn inverse(&self, mean: f64) -> f64 {
        mean.recip()
    }

    fn inverse_root(&self, _: [usize; 2], variance: f64) -> f64 {
        variance.sqrt().recip()
    }

    fn gelu(&self, x: f64) -> f64 {
        gelu(x)
    }
}

/// x times the probability that a normal variable is below x; off by 1e-7 at most relative to x
/// (the error function by formula 7.1.26 of Abramowitz and Stegun).
pub fn gelu(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let factors = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum = factors.iter().rev().fold(0.0, |sum, c| (sum + c) * t);
    let erf = 1.0 - sum * (-z * z).exp();
    0.5 * x * (1.0 + erf.copysign(x))
}

/// Normal numbers, the same for the same seed.
pub struct Normal(u64);

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// In (0, 1): steps of a Weyl sequence, mixed (Steele and others 2014).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64 + 0.5 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), self.uniform());
        radius * (std::f64::consts::TAU * angle).cos()
    }

    fn vector(&mut self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| mean + deviation * self.next()).collect()
    }

    /// Weights that make of normal numbers those of `deviation`.
    fn linear(&mut self, outputs: usize, inputs: usize, deviation: f64) -> Linear {
        let weight = self.vector(outputs * inputs, 0.0, deviation / (inputs as f64).sqrt());
        Linear { outputs, inputs, weight, bias: self.vector(outputs, 0.0, 0.05) }
    }
}

/// An encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    pub shape: Shape,
    pub layers: Vec<Layer>,
}

impl Encoder {
    /// One whose weights are drawn as large as those of a trained BERT: weights of deviation 0.04
    /// for 768 inputs make of normal numbers those of deviation 1.1.
    pub fn random(shape: Shape, layers: usize, seed: u64) -> Self {
        const DEVIATION: f64 = 1.1;
        let (mut normal, width, hidden) = (Normal::new(seed), shape.width(), shape.hidden());
        let mut layer = || {
            let mut square = || normal.linear(width, width, DEVIATION);
            let [query, key, value, output] = [square(), square(), square(), square()];
            let (up, down) = (
                normal.linear(hidden, width, DEVIATION),
                normal.linear(width, hidden, 2.0 * DEVIATION),
            );
            let gains = [(); 2].map(|()| Gain {
                factors: normal.vector(width, 0.85, 0.05),
                shift: normal.vector(width, 0.0, 0.05),
            });
            Layer { query, key, value, output, up, down, gains }
        };
        Self { shape, layers: (0..layers).map(|_| layer()).collect() }
    }

    /// Numbers as those of a sum of embeddings, normalised.
    pub fn random_input(&self, seed: u64) -> Vec<Vec<f64>> {
        let mut normal = Normal::new(seed);
        let Shape { tokens } = self.shape;
        (0..tokens).map(|_| normalised(&normal.vector(self.shape.width(), 0.0, 1.0))).collect()
    }

    /// Reads layers of a BERT by the names that its checkpoints have, from
    /// `encoder.layer.0.attention.self.query.weight` on, with `bert.` before them or not.
    pub fn read(bytes: &[u8], shape: Shape, layers: Option<usize>) -> Result<Self, Refusal> {
        let file = &Tensors::read(bytes)?;
        let prefix = ["bert.", ""].into_iter().find(|prefix| {
            file.get(&format!("{prefix}encoder.layer.0.attention.self.query.weight")).is_ok()
        });
        let prefix =
            prefix.ok_or("it has no array `encoder.layer.0.attention.self.query.weight`")?;
        let name = |layer: usize, part: &str| format!("{prefix}encoder.layer.{layer}.{part}");
        let there = |layer: &usize| file.get(&name(*layer, "output.dense.weight")).is_ok();
        let count = layers.unwrap_or_else(|| (0..).take_while(there).count());
        let (width, hidden) = (shape.width(), shape.hidden());
        let layer = |layer: usize| -> Result<Layer, Refusal> {
            let linear = |part: &str, outputs: usize, inputs: usize| {
                Linear::read(file, &name(layer, part), [outputs, inputs], true)
            };
            let square = |part: &str| linear(&format!("attention.{part}"), width, width);
            let gain = |part: &str| -> Result<Gain, Refusal> {
                let either = |names: [&str; 2]| {
                    let [first, second] = names.map(|n| name(layer, &format!("{part}.{n}")));
                    file.shaped(&first, &[width])
                        .or_else(|why| file.shaped(&second, &[width]).map_err(|_| why))
                };
                Ok(Gain {
                    factors: either(["LayerNorm.weight", "LayerNorm.gamma"])?,
                    shift: either(["LayerNorm.bias", "LayerNorm.beta"])?,
                })
            };
            Ok(Layer {
                query: square("self.query")?,
                key: square("self.key")?,
                value: square("self.value")?,
                output: square("output.dense")?,
                up: linear("intermediate.dense", hidden, width)?,
                down: linear("output.dense", width, hidden)?,
                gains: [gain("attention.output")?, gain("output")?],
            })
        };
        let layers: Vec<Layer> = (0..count).map(layer).collect::<Result<_, _>>()?;
        if layers.is_empty() {
            return Err("it has no layer".into());
        }
        Ok(Self { shape, layers })
    }

    /// What normalisations give, before their gains: for each layer, of all tokens, the one after
    /// the perceptron.
    pub fn run(&self, x: &[Vec<f64>], functions: &impl Functions) -> Vec<Vec<Vec<f64>>> {
        let (mut x, mut all) = (x.to_vec(), Vec::new());
        for (number, layer) in self.layers.iter().enumerate() {
            let attended = self.attended(layer, &x, functions);
            let normal = |(t, o): (usize, &Vec<f64>)| {
                let y = added(&x[t], &layer.output.apply(o));
                let h = layer.gains[0].apply(&normal_of([number, 0], &y, functions));
                let hidden: Vec<f64> =
                    layer.up.apply(&h).into_iter().map(|u| functions.gelu(u)).collect();
                normal_of([number, 1], &added(&h, &layer.down.apply(&hidden)), functions)
            };
            let normal: Vec<_> = attended.par_iter().enumerate().map(normal).collect();
            x = normal.iter().map(|n| layer.gains[1].apply(n)).collect();
            all.push(normal);
        }
        all
    }

    /// Attention of all tokens to all, up to its last product.
    fn attended(&self, layer: &Layer, x: &[Vec<f64>], functions: &impl Functions) -> Vec<Vec<f64>> {
        let of = |linear: &Linear| -> Vec<_> { x.par_iter().map(|x| linear.apply(x)).collect() };
        let (q, k, v) = (of(&layer.query), of(&layer.key), of(&layer.value));
        let (size, tokens) = (self.shape.head(), self.shape.tokens as f64);
        let one = |q: &Vec<f64>| {
            let mut all = vec![0.0; q.len()];
            for start in (0..q.len()).step_by(size) {
                let part = start..start + size;
                let dot = |k: &Vec<f64>| -> f64 {
                    q[part.clone()].iter().zip(&k[part.clone()]).map(|(q, k)| q * k).sum()
                };
                let scores: Vec<f64> = k.iter().map(|k| dot(k) / (size as f64).sqrt()).collect();
                let mean = scores.iter().sum::<f64>() / tokens;
                let powers: Vec<f64> = scores.iter().map(|s| functions.exp(s - mean)).collect();
                let inverse = functions.inverse(powers.iter().sum::<f64>() / tokens) / tokens;
                for (power, v) in powers.iter().zip(&v) {
                    part.clone().for_each(|i| all[i] += power * inverse * v[i]);
                }
            }
            all
        };
        q.par_iter().map(one).collect()
    }
}

/// A layer normalisation, without its gain.
fn normal_of(place: [usize; 2], y: &[f64], functions: &impl Functions) -> Vec<f64> {
    let (mean, variance) = moments(y);
    let root = functions.inverse_root(place, variance);
    let normal: Vec<f64> = y.iter().map(|y| (y - mean) * root).collect();
    functions.told(place, y, &normal);
    normal
}

/// Mean and variance.
pub fn moments(y: &[f64]) -> (f64, f64) {
    let count = y.len() as f64;
    let mean = y.iter().sum::<f64>() / count;
    (mean, y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / count)
}

fn normalised(y: &[f64]) -> Vec<f64> {
    let (mean, variance) = moments(y);
    y.iter().map(|y| (y - mean) / variance.sqrt()).collect()
}
