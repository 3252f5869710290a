//! A small neural net in the plain: one hidden layer, trained by gradient descent,
//! rounded to integers.

use super::common::Failure;

pub const PIXELS: usize = 64;
pub const HIDDEN: usize = 16;
const CLASSES: usize = 10;

pub struct Image {
    pub label: usize,
    pub pixels: Vec<f64>,
}

pub fn image(line: &str) -> Result<Image, Failure> {
    let (label, pixels) = line.split_once(' ').ok_or("a line without pixels")?;
    let pixels = pixels
        .chars()
        .map(|c| c.to_digit(17).map(f64::from).ok_or("no pixel"))
        .collect::<Result<_, _>>()?;
    Ok(Image { label: label.parse()?, pixels })
}

/// One row of weights a unit, its bias last.
pub struct Layer(pub Vec<Vec<f64>>);

impl Layer {
    /// Small weights from a counter.
    fn new(inputs: usize, outputs: usize) -> Self {
        let weight = |i: usize| ((i * 7919 % 1009) as f64 / 504.5 - 1.0) / (inputs as f64).sqrt();
        Self(
            (0..outputs)
                .map(|o| (0..=inputs).map(|i| weight(o * 131 + i * 17 + 1)).collect())
                .collect(),
        )
    }

    pub fn sums(&self, x: &[f64]) -> Vec<f64> {
        self.0
            .iter()
            .map(|row| row[x.len()] + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
            .collect()
    }

    /// Descends along `errors` of the sums; returns those of the inputs.
    fn learn(&mut self, x: &[f64], errors: &[f64], rate: f64) -> Vec<f64> {
        let back = (0..x.len())
            .map(|i| self.0.iter().zip(errors).map(|(row, e)| row[i] * e).sum())
            .collect();
        let step = |row: &mut Vec<f64>, e: &f64| {
            row.iter_mut().zip(x.iter().chain([&1.0])).for_each(|(w, x)| *w -= rate * e * x)
        };
        self.0.iter_mut().zip(errors).for_each(|(row, e)| step(row, e));
        back
    }

    /// Integers whose largest weight is 24, where a one of the inputs has become `one`, and what a
    /// one of the sums becomes.
    pub fn rounded(&self, one: f64) -> (Self, f64) {
        let weights = self.0.iter().flat_map(|row| &row[..row.len() - 1]);
        let factor = 24.0 / weights.fold(0.0, |m: f64, w| m.max(w.abs()));
        let round =
            |(i, w): (usize, &f64), bias| (w * factor * if i == bias { one } else { 1.0 }).round();
        let row =
            |row: &Vec<f64>| row.iter().enumerate().map(|w| round(w, row.len() - 1)).collect();
        (Self(self.0.iter().map(row).collect()), factor * one)
    }
}

pub fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x.max(0.0)).collect()
}

pub fn largest(scores: &[f64]) -> usize {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}

/// Stochastic gradient descent on cross entropy.
pub fn train(images: &[Image]) -> [Layer; 2] {
    let (mut first, mut second) = (Layer::new(PIXELS, HIDDEN), Layer::new(HIDDEN, CLASSES));
    for step in 0..40 * images.len() {
        let Image { label, pixels } = &images[step % images.len()];
        let x: Vec<f64> = pixels.iter().map(|p| p / 16.0).collect();
        let hidden = relu(&first.sums(&x));
        let powers: Vec<f64> = second.sums(&hidden).iter().map(|s| s.exp()).collect();
        let total: f64 = powers.iter().sum();
        let errors: Vec<f64> =
            powers.iter().enumerate().map(|(i, p)| p / total - f64::from(i == *label)).collect();
        let back = second.learn(&hidden, &errors, 0.03);
        let back: Vec<f64> =
            back.iter().zip(&hidden).map(|(b, h)| if *h > 0.0 { *b } else { 0.0 }).collect();
        first.learn(&x, &back, 0.03);
    }
    [first, second]
}
