//! Linear layers and GELU, in the plain.
#![allow(dead_code)] // Not all networks need all of it.

use super::tensors::{Refusal, Tensors};
use std::ops::Range;

/// y = W x + b.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    pub outputs: usize,
    pub inputs: usize,
    /// Row after row.
    pub weight: Vec<f64>,
    pub bias: Vec<f64>,
}

impl Linear {
    pub fn read(
        file: &Tensors,
        name: &str,
        shape: [usize; 2],
        biased: bool,
    ) -> Result<Self, Refusal> {
        let weight = file.shaped(&format!("{name}.weight"), &shape)?;
        let bias = if biased {
            file.shaped(&format!("{name}.bias"), &shape[..1])?
        } else {
            vec![0.0; shape[0]]
        };
        Ok(Self { outputs: shape[0], inputs: shape[1], weight, bias })
    }

    /// The factor of an input for an output; 0 outside the matrix.
    pub fn weight(&self, output: usize, input: usize) -> f64 {
        let inside = output < self.outputs && input < self.inputs;
        if inside { self.weight[output * self.inputs + input] } else { 0.0 }
    }

    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        self.weight.chunks(self.inputs).zip(&self.bias).map(|(w, b)| b + row(w)).collect()
    }

    /// What `first` and then this one do.
    pub fn after(&self, first: &Self) -> Self {
        let entry = |i: usize| -> f64 {
            let (output, input) = (i / first.inputs, i % first.inputs);
            (0..self.inputs).map(|m| self.weight(output, m) * first.weight(m, input)).sum()
        };
        Self {
            weight: (0..self.outputs * first.inputs).map(entry).collect(),
            bias: self.apply(&first.bias),
            outputs: self.outputs,
            inputs: first.inputs,
        }
    }

    /// Takes the mean of `count` numbers off each.
    pub fn centring(count: usize) -> Self {
        let mean = 1.0 / count as f64;
        let one = |i: usize| if i / count == i % count { 1.0 - mean } else { -mean };
        let weight = (0..count * count).map(one).collect();
        Self { outputs: count, inputs: count, weight, bias: vec![0.0; count] }
    }

    /// Its results times `factor`.
    pub fn times(&self, factor: f64) -> Self {
        let bias = self.bias.iter().map(|v| factor * v).collect();
        Self { bias, ..self.of_inputs_over(factor) }
    }

    /// The same of inputs that were divided by `unit`.
    pub fn of_inputs_over(&self, unit: f64) -> Self {
        Self { weight: self.weight.iter().map(|v| unit * v).collect(), ..self.clone() }
    }

    /// Its weights, those of each input times a factor of its own.
    pub fn scaled_columns(&self, factors: &[f64]) -> Vec<f64> {
        let rows = self.weight.chunks(self.inputs);
        rows.flat_map(|row| row.iter().zip(factors).map(|(w, factor)| w * factor)).collect()
    }

    /// Some of its results.
    pub fn rows(&self, range: Range<usize>) -> Self {
        let weight = self.weight[range.start * self.inputs..range.end * self.inputs].to_vec();
        let (outputs, bias) = (range.len(), self.bias[range].to_vec());
        Self { outputs, inputs: self.inputs, weight, bias }
    }

    /// What some of its inputs add to its results, without the bias.
    pub fn columns(&self, range: Range<usize>) -> Self {
        let rows = self.weight.chunks(self.inputs).flat_map(|row| &row[range.clone()]);
        let weight = rows.copied().collect();
        Self { outputs: self.outputs, inputs: range.len(), weight, bias: vec![0.0; self.outputs] }
    }

    /// A factor and a number to add for each input.
    pub fn diagonal(factors: &[f64], bias: Vec<f64>) -> Self {
        let count = factors.len();
        let mut weight = vec![0.0; count * count];
        factors.iter().enumerate().for_each(|(i, factor)| weight[i * count + i] = *factor);
        Self { outputs: count, inputs: count, weight, bias }
    }
}

/// GELU in the form with tanh (Hendrycks and Gimpel 2016).
pub fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

/// The sum of two vectors.
pub fn added(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}
