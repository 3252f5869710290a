//! A transformer block in the plain: attention with softmax, GELU, layer normalisation after each
//! sum (as in BERT), the mean over tokens, and a linear classifier.
//!
//! The file of a network is in the safetensors format and has these arrays, D being the width, M
//! the hidden width of the multilayer perceptron:
//!
//! | name | shape |
//! |---|---|
//! | `embedding.weight` | D, features of a token |
//! | `embedding.position` | tokens, D; the embedding's bias is part of it |
//! | `attention.query.weight`, `.bias`, `attention.value...`, `attention.output...` | D, D |
//! | `attention.key.weight` | D, D; a bias would change no softmax |
//! | `norm1.weight`, `.bias`, `norm2...` | D |
//! | `mlp.up.weight`, `.bias` | M, D |
//! | `mlp.down.weight`, `.bias` | D, M |
//! | `head.weight`, `.bias` | classes, D |
//! | `bounds.score` | 1: no score, less the mean of its row, has a larger magnitude |
//! | `bounds.sum` | 1: no mean of exp(score) over a row is larger; none is below 1 |
//! | `bounds.variance`, `bounds.least` | 2: no variance that is divided by is larger, or less |
//! | `bounds.gelu` | 1: nothing that GELU is given has a larger magnitude |
//!
//! and the notes `heads`, into which D is divided evenly, and `reach`, by which inputs are divided.
//! Biases have as many numbers as weights have rows. Normalisations add nothing to variances.

pub use super::linear::{Linear, added, gelu};
use super::tensors::{Refusal, Tensors};

/// What is no polynomial. Each is given a number of [-1, 1] if bounds hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// A share of a softmax before its division: exp(score) of the score divided by its bound,
    /// divided by the largest sum there can be.
    Power,
    /// The inverse of a sum of powers, which lies between 1 / `bounds.sum` and 1.
    Inverse,
    /// The inverse root of a variance divided by its bound.
    Root,
    /// GELU, its argument and value divided by the bound of the argument.
    Gelu,
}

/// All of them.
pub const FUNCTIONS: [Function; 4] =
    [Function::Power, Function::Inverse, Function::Root, Function::Gelu];

/// Where functions are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    tokens: usize,
    pub score: f64,
    sum: f64,
    /// Largest variances.
    pub variance: [f64; 2],
    /// The least variance over the largest, of both normalisations.
    ratio: f64,
    pub gelu: f64,
}

impl Bounds {
    fn read(file: &Tensors, tokens: usize) -> Result<Self, Refusal> {
        let one = |name: &str, count: usize| {
            let name = format!("bounds.{name}");
            let values = file.shaped(&name, &[count])?;
            if values.iter().all(|&v| v > 0.0) {
                return Ok(values);
            }
            Err(format!("{name}: all numbers must be positive"))
        };
        let (variance, least) = (one("variance", 2)?, one("least", 2)?);
        let ratio = (0..2).map(|i| least[i] / variance[i]).fold(f64::INFINITY, f64::min);
        let sum = one("sum", 1)?[0];
        if sum <= 1.0 || ratio >= 1.0 {
            return Err("bounds: sum must be above 1, and variance above least".into());
        }
        let variance = [variance[0], variance[1]];
        let (score, gelu) = (one("score", 1)?[0], one("gelu", 1)?[0]);
        Ok(Self { tokens, score, sum, variance, ratio, gelu })
    }

    /// The interval of a function, and its line to [-1, 1]: slope and offset.
    pub fn line(&self, function: Function) -> (f64, f64) {
        let least = match function {
            Function::Power | Function::Gelu => -1.0,
            Function::Inverse => 1.0 / self.sum,
            Function::Root => self.ratio,
        };
        (2.0 / (1.0 - least), -(1.0 + least) / (1.0 - least))
    }

    /// The function itself.
    pub fn exact(&self, function: Function, u: f64) -> f64 {
        let (slope, offset) = self.line(function);
        let x = (u - offset) / slope;
        match function {
            Function::Power => (self.score * x).exp() / (self.tokens as f64 * self.sum),
            Function::Inverse => 1.0 / x,
            Function::Root => 1.0 / x.sqrt(),
            Function::Gelu => gelu(self.gelu * x) / self.gelu,
        }
    }
}

/// A transformer block with its embedding and classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub tokens: usize,
    pub features: usize,
    pub width: usize,
    pub heads: usize,
    pub classes: usize,
    reach: f64,
    /// Without bias, which is that of its position.
    pub embedding: Linear,
    /// A vector a token.
    pub position: Vec<Vec<f64>>,
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub output: Linear,
    /// What follows each normalisation.
    pub norms: [Linear; 2],
    pub up: Linear,
    pub down: Linear,
    pub head: Linear,
    pub bounds: Bounds,
}

impl Network {
    /// Reads a network from the bytes of a file.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let file = &Tensors::read(bytes)?;
        let (heads, reach) = (file.note("heads")?, file.note("reach")?);
        let heads = heads.parse().ok().filter(|n: &usize| *n > 0);
        let heads = heads.ok_or("heads: a whole number above 0 is needed")?;
        let reach = reach.parse().ok().filter(|v: &f64| *v > 0.0 && v.is_finite());
        let reach = reach.ok_or("reach: a positive number is needed")?;
        let shape = |name: &str| -> Result<[usize; 2], Refusal> {
            let tensor = file.get(name)?;
            let found = tensor.shape.as_slice().try_into().ok();
            let found = found.filter(|_| !tensor.values.is_empty());
            found.ok_or_else(|| format!("{name} is no matrix: its shape is {:?}", tensor.shape))
        };
        let [width, features] = shape("embedding.weight")?;
        let [tokens, _] = shape("embedding.position")?;
        let [hidden, _] = shape("mlp.up.weight")?;
        let [classes, _] = shape("head.weight")?;
        if !width.is_multiple_of(heads) {
            return Err(format!("heads: {width} numbers a token are no multiple of {heads}"));
        }
        let position = file.shaped("embedding.position", &[tokens, width])?;
        let square = |name: &str, biased: bool| {
            Linear::read(file, &format!("attention.{name}"), [width, width], biased)
        };
        let norm = |name: &str| -> Result<Linear, Refusal> {
            let numbers = |part: &str| file.shaped(&format!("{name}.{part}"), &[width]);
            Ok(Linear::diagonal(&numbers("weight")?, numbers("bias")?))
        };
        Ok(Self {
            tokens,
            features,
            width,
            heads,
            classes,
            reach,
            embedding: Linear::read(file, "embedding", [width, features], false)?,
            position: position.chunks(width).map(<[f64]>::to_vec).collect(),
            query: square("query", true)?,
            key: square("key", false)?,
            value: square("value", true)?,
            output: square("output", true)?,
            norms: [norm("norm1")?, norm("norm2")?],
            up: Linear::read(file, "mlp.up", [hidden, width], true)?,
            down: Linear::read(file, "mlp.down", [width, hidden], true)?,
            head: Linear::read(file, "head", [classes, width], true)?,
            bounds: Bounds::read(file, tokens)?,
        })
    }

    /// What the network makes of `[token][feature]` divided by the reach: a number a class, with
    /// `function` for what is no polynomial.
    pub fn logits(&self, x: &[f64], mut function: impl FnMut(Function, f64) -> f64) -> Vec<f64> {
        let at = &mut |which: Function, x: f64| {
            let (slope, offset) = self.bounds.line(which);
            function(which, slope * x + offset)
        };
        let h = x.chunks(self.features).zip(&self.position);
        let h: Vec<_> = h.map(|(x, place)| added(&self.embedding.apply(x), place)).collect();
        let mut sum = vec![0.0; self.width];
        for (h, o) in h.iter().zip(self.attended(&h, at)) {
            let h = self.normalised(0, &added(h, &self.output.apply(&o)), at);
            let bound = self.bounds.gelu;
            let gelu = |v: f64| bound * at(Function::Gelu, v / bound);
            let hidden: Vec<f64> = self.up.apply(&h).into_iter().map(gelu).collect();
            let h = self.normalised(1, &added(&h, &self.down.apply(&hidden)), at);
            sum = added(&sum, &h);
        }
        let mean: Vec<f64> = sum.iter().map(|v| v / self.tokens as f64).collect();
        self.head.apply(&mean)
    }

    /// Attention of all tokens to all, up to its last product.
    fn attended(&self, h: &[Vec<f64>], at: &mut impl FnMut(Function, f64) -> f64) -> Vec<Vec<f64>> {
        let of = |linear: &Linear| h.iter().map(|h| linear.apply(h)).collect::<Vec<_>>();
        let (q, k, v) = (of(&self.query), of(&self.key), of(&self.value));
        let size = self.width / self.heads;
        let mut all = vec![vec![0.0; self.width]; self.tokens];
        for (q, o) in q.iter().zip(&mut all) {
            for start in (0..self.width).step_by(size) {
                let part = start..start + size;
                let dot = |k: &Vec<f64>| -> f64 {
                    q[part.clone()].iter().zip(&k[part.clone()]).map(|(q, k)| q * k).sum()
                };
                let scores: Vec<f64> = k.iter().map(|k| dot(k) / (size as f64).sqrt()).collect();
                let mean = scores.iter().sum::<f64>() / self.tokens as f64;
                let power = |s: &f64| at(Function::Power, (s - mean) / self.bounds.score);
                let powers: Vec<f64> = scores.iter().map(power).collect();
                let inverse = at(Function::Inverse, powers.iter().sum());
                for (power, v) in powers.iter().zip(&v) {
                    part.clone().for_each(|i| o[i] += power * inverse * v[i]);
                }
            }
        }
        all
    }

    /// Layer normalisation `i`.
    fn normalised(
        &self,
        i: usize,
        y: &[f64],
        at: &mut impl FnMut(Function, f64) -> f64,
    ) -> Vec<f64> {
        let (count, largest) = (y.len() as f64, self.bounds.variance[i]);
        let mean = y.iter().sum::<f64>() / count;
        let variance = y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / count;
        let root = at(Function::Root, variance / largest) / largest.sqrt();
        self.norms[i].apply(&y.iter().map(|y| (y - mean) * root).collect::<Vec<_>>())
    }

    /// Sequences with their classes: arrays `inputs` (count, tokens, features) and `labels` (count)
    /// of a file. Inputs are divided by the reach.
    pub fn sequences(&self, bytes: &[u8]) -> Result<Vec<(Vec<f64>, usize)>, Refusal> {
        let file = Tensors::read(bytes)?;
        let count = file.get("labels")?.values.len();
        let labels = file.shaped("labels", &[count])?;
        let inputs = file.shaped("inputs", &[count, self.tokens, self.features])?;
        let one = |(x, &label): (&[f64], &f64)| {
            (x.iter().map(|v| v / self.reach).collect(), label as usize)
        };
        let size = self.tokens * self.features;
        let all: Vec<(Vec<f64>, usize)> = inputs.chunks(size).zip(&labels).map(one).collect();
        match all.iter().position(|(x, _)| x.iter().any(|v| v.abs() > 1.0)) {
            None => Ok(all),
            Some(i) => Err(format!("inputs: sequence {i} exceeds {}, the reach", self.reach)),
        }
    }
}

/// The class of the largest number.
pub fn label(logits: &[f64]) -> usize {
    (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap_or(0)
}
