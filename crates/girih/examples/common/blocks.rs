//! An encoder on vectors of slots: where tokens lie, and its linear layers as maps.
//!
//! With T tokens, a ciphertext holds a block of W = 2 T numbers of every token, those of four
//! heads:
//!
//! ```text
//!     slot t W + f        number f of the block, token t; 2 T^2 slots
//! ```
//!
//! A rotation by a multiple of W turns tokens. One by less takes numbers across the end of a token,
//! and a product with a matrix needs them around it. So vectors x are mapped as z = x + i x', where
//! x' is x one token back: rotated by k, z has number f + k in its real part, and f + k - W in its
//! imaginary one. A factor, or -i times it, chooses one of them for the real part of the product.
//!
//! *Attention.* Heads are H = T/2 numbers wide, and a token has T scores, so that the score of key
//! t + j is the real part at number j < H of a head, and that of key t + H + j the imaginary part.
//! With K''(t, j) = K(t, j) + i K(t + H, j), turned to J(t, j) = K''(t + j, j), and V' likewise
//! with a minus, sums over k from -H to H, where both places lie within a head, give
//!
//! ```text
//!     S(t, j) = sum of Q(t, j + k) J(t - k, j + k)       both are rotations: by k, by k - k W
//!     O(t, f) = real part of the sum of E(t, f + k) V'(t + k, f)
//! ```
//!
//! The sums are taken in giant steps of a few k each, so that few keys are needed. What lies beyond
//! a head is masked where Q or E is rotated.

use super::bounds::Bounds;
use super::encoder::{BLOCKS, Encoder, Gain, Shape};
use super::linear::Linear;
use girih::ckks::Complex64;
use girih::ckks::prelude::*;

/// Maps of some ciphertexts to others, and what is added to each.
#[derive(Clone, Debug, PartialEq)]
pub struct Maps {
    pub maps: LinearMaps,
    /// A period of slots for each result.
    pub biases: Vec<Vec<f64>>,
}

/// Linear layers as maps of slots.
#[derive(Debug)]
pub struct Plan<'a> {
    pub encoder: &'a Encoder,
    pub bounds: &'a Bounds,
}

/// Maps of one result after another.
type Rows = Vec<Vec<Option<LinearMap>>>;

impl Plan<'_> {
    pub fn shape(&self) -> Shape {
        self.encoder.shape
    }

    fn slots(&self) -> usize {
        self.shape().tokens * self.shape().block()
    }

    /// The map of a block by `weight(output, input)`, of z = x + i x'.
    fn dense(&self, weight: impl Fn(usize, usize) -> f64) -> girih::ckks::Result<LinearMap> {
        let block = self.shape().block();
        let diagonal = |by: usize| {
            let factor = |f: usize| {
                let here = f + by < block;
                let weight = weight(f, (f + by) % block);
                if here { Complex64::new(weight, 0.0) } else { Complex64::new(0.0, -weight) }
            };
            (by as i64, (0..block).map(factor).collect::<Vec<_>>())
        };
        LinearMap::from_diagonals(self.slots(), (0..block).map(diagonal))
    }

    /// A linear layer times `factor`, block by block.
    fn rows(&self, linear: &Linear, factor: f64) -> girih::ckks::Result<Rows> {
        let block = self.shape().block();
        let one = |o: usize, i: usize| {
            let weight = |f: usize, g: usize| factor * linear.weight(o * block + f, i * block + g);
            self.dense(weight).map(Some)
        };
        let row = |o: usize| (0..linear.inputs / block).map(|i| one(o, i)).collect();
        (0..linear.outputs / block).map(row).collect()
    }

    fn biases(&self, bias: &[f64], factor: f64) -> Vec<Vec<f64>> {
        let block = self.shape().block();
        bias.chunks(block).map(|b| b.iter().map(|b| factor * b).collect()).collect()
    }

    /// The gain of what a layer is given: none before the first.
    fn gain_before(&self, layer: usize) -> Gain {
        match layer.checked_sub(1) {
            Some(before) => self.encoder.layers[before].gains[1].clone(),
            None => {
                let width = self.shape().width();
                Gain { factors: vec![1.0; width], shift: vec![0.0; width] }
            }
        }
    }

    /// A linear layer of what comes of a normalisation, which is divided by its bound.
    fn after(&self, gain: &Gain, linear: &Linear) -> Linear {
        let factors: Vec<f64> = gain.factors.iter().map(|g| g * self.bounds.normal).collect();
        let bias = linear.apply(&gain.shift);
        Linear { weight: linear.scaled_columns(&factors), bias, ..*linear }
    }

    /// Half of queries, keys and values of a layer, whose real parts are doubled then. Products of
    /// queries and keys are scores divided by twice their bound; keys are divided by T.
    pub fn attention(&self, layer: usize) -> girih::ckks::Result<Maps> {
        let of = &self.encoder.layers[layer];
        let (gain, shape) = (self.gain_before(layer), self.shape());
        let score = 1.0 / (2.0 * self.bounds.score * (shape.head() as f64).sqrt());
        let (mut rows, mut biases) = (Rows::new(), Vec::new());
        for (linear, factor) in
            [(&of.query, 0.5 * score), (&of.key, 0.5 / shape.tokens as f64), (&of.value, 0.5)]
        {
            let linear = self.after(&gain, linear);
            rows.extend(self.rows(&linear, factor)?);
            biases.extend(self.biases(&linear.bias, factor));
        }
        Ok(Maps { maps: LinearMaps::new(rows)?, biases })
    }

    /// The sum before a normalisation, of a layer's results, `factor` of them, and of what was
    /// given to it; a quarter of it, divided by what sums are divided by.
    fn sum(
        &self,
        place: [usize; 2],
        linear: &Linear,
        factor: f64,
        gain: &Gain,
    ) -> girih::ckks::Result<Maps> {
        let block = self.shape().block();
        let unit = self.bounds.unit() * self.bounds.variance[place[0]][place[1]].sqrt();
        let mut rows = self.rows(linear, 0.25 * factor / unit)?;
        for (o, row) in rows.iter_mut().enumerate() {
            for i in 0..BLOCKS {
                let own = gain.factors[o * block..][..block].iter();
                let own = own.map(|g| 0.25 * g * self.bounds.normal / unit).collect::<Vec<_>>();
                let map = || LinearMap::from_diagonals(self.slots(), [(0, own)]);
                row.push(if i == o { Some(map()?) } else { None });
            }
        }
        let bias: Vec<f64> = linear.bias.iter().zip(&gain.shift).map(|(b, s)| b + s).collect();
        Ok(Maps { maps: LinearMaps::new(rows)?, biases: self.biases(&bias, 0.25 / unit) })
    }

    /// Of twice what attention gives, and of what was given to it.
    pub fn first_sum(&self, layer: usize) -> girih::ckks::Result<Maps> {
        self.sum([layer, 0], &self.encoder.layers[layer].output, 0.5, &self.gain_before(layer))
    }

    /// A quarter of GELU's arguments divided by their bound.
    pub fn up(&self, layer: usize) -> girih::ckks::Result<Maps> {
        let of = &self.encoder.layers[layer];
        let (up, factor) = (self.after(&of.gains[0], &of.up), 0.25 / self.bounds.gelu);
        let maps = LinearMaps::new(self.rows(&up, factor)?)?;
        Ok(Maps { maps, biases: self.biases(&up.bias, factor) })
    }

    /// Of GELU's results divided by the bound of its argument, and of what the perceptron was
    /// given.
    pub fn second_sum(&self, layer: usize) -> girih::ckks::Result<Maps> {
        let of = &self.encoder.layers[layer];
        self.sum([layer, 1], &of.down, self.bounds.gelu, &of.gains[0])
    }

    /// x(t, f) becomes x(t + j, f), j being the place of f in its head.
    pub fn turned(&self) -> girih::ckks::Result<LinearMap> {
        let (head, block) = (self.shape().head(), self.shape().block() as i64);
        let one = |j: usize| {
            let mask: Vec<f64> = (0..head).map(|f| f64::from(u8::from(f == j))).collect();
            (j as i64 * block, mask)
        };
        LinearMap::from_diagonals(self.slots(), (0..head).map(one))
    }

    /// How many k of the sums of attention a giant step takes.
    pub fn baby_steps(&self) -> usize {
        1 << (2 * self.shape().head()).ilog2().div_ceil(2)
    }

    /// Giant steps.
    pub fn giant_steps(&self) -> usize {
        2 * self.shape().head() / self.baby_steps()
    }

    /// 1 where number f + k - H lies within the head of f, k being `baby` of giant step `giant`,
    /// for what is rotated by that giant step afterwards. None where there is no such number.
    pub fn mask(&self, giant: usize, baby: usize) -> Option<Vec<f64>> {
        let (head, forward) = (self.shape().head(), giant * self.baby_steps());
        let k = forward + baby;
        let inside = |f: usize| {
            let at = (f + head * self.baby_steps() - forward) % head + k;
            f64::from(u8::from((head..2 * head).contains(&at)))
        };
        (k > 0).then(|| (0..head).map(inside).collect())
    }

    /// The first number of each head, times `factor`.
    pub fn first_of_head(&self, factor: f64) -> Vec<f64> {
        (0..self.shape().head()).map(|f| if f == 0 { factor } else { 0.0 }).collect()
    }

    /// The first number of each block, times `factor`.
    pub fn first_of_block(&self, factor: f64) -> Vec<f64> {
        (0..self.shape().block()).map(|f| if f == 0 { factor } else { 0.0 }).collect()
    }

    /// The gain of the last normalisation, a factor and a number to add for each result.
    pub fn last_gain(&self) -> [Vec<Vec<f64>>; 2] {
        let gain = self.gain_before(self.encoder.layers.len());
        [self.biases(&gain.factors, self.bounds.normal), self.biases(&gain.shift, 1.0)]
    }

    /// Tokens as vectors of slots, block by block, divided by the bound of what is normalised.
    pub fn pack(&self, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let block = self.shape().block();
        let one = |b: usize| {
            let part = x.iter().flat_map(|x| x[b * block..][..block].iter());
            part.map(|x| x / self.bounds.normal).collect()
        };
        (0..BLOCKS).map(one).collect()
    }

    /// Tokens of vectors of slots.
    pub fn unpack(&self, slots: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (tokens, block) = (self.shape().tokens, self.shape().block());
        let token =
            |t: usize| slots.iter().flat_map(|s| s[t * block..][..block].to_vec()).collect();
        (0..tokens).map(token).collect()
    }
}
