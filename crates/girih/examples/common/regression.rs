//! Logistic regression in the plain: the images, and Nesterov gradient descent.

use super::common::Failure;

/// 64 pixels and a constant, padded.
pub const FEATURES: usize = 256;

/// gamma_t, the step along the mean gradient, and eta_t, the momentum, of each iteration: steps
/// shrink as 1/t, momentum follows Nesterov's lambda_(t+1) = (1 + sqrt(1 + 4 lambda_t^2)) / 2.
pub fn rates(iterations: u16) -> Vec<(f64, f64)> {
    let mut lambda = 1.0f64;
    let rate = |t| {
        let next = (1.0 + (1.0 + 4.0 * lambda * lambda).sqrt()) / 2.0;
        let eta = (1.0 - lambda) / next;
        lambda = next;
        (4.0 / f64::from(t), eta)
    };
    (1..=iterations).map(rate).collect()
}

/// What stands for the sigmoid of -x.
pub fn sigmoid(x: f64) -> f64 {
    0.5 - 0.0843 * x + 0.0002 * x.powi(3)
}

/// z of every 3 and 8.
pub fn images() -> Result<Vec<Vec<f64>>, Failure> {
    let lines = include_str!("../digits.txt").lines().filter(|line| line.starts_with(['3', '8']));
    let image = |line: &str| -> Result<Vec<f64>, Failure> {
        let (label, pixels) = line.split_once(' ').ok_or("a line without pixels")?;
        let sign = if label == "8" { 1.0 } else { -1.0 };
        let pixel = |c: char| Ok(sign * f64::from(c.to_digit(17).ok_or("no pixel")?) / 16.0);
        let mut z = pixels.chars().map(pixel).collect::<Result<Vec<_>, Failure>>()?;
        z.push(sign);
        z.resize(FEATURES, 0.0);
        Ok(z)
    };
    lines.map(image).collect()
}

/// The same descent in the plain, by any function in the place of the sigmoid.
pub fn train(images: &[Vec<f64>], iterations: u16, slope: impl Fn(f64) -> f64) -> Vec<f64> {
    let (mut w, mut v) = (vec![0.0; FEATURES], vec![0.0; FEATURES]);
    for (gamma, eta) in rates(iterations) {
        let mut next = v.clone();
        for z in images {
            let g = gamma / images.len() as f64 * slope(margin(z, &v));
            next.iter_mut().zip(z).for_each(|(w, z)| *w += g * z);
        }
        v = next.iter().zip(&w).map(|(next, w)| (1.0 - eta) * next + eta * w).collect();
        w = next;
    }
    w
}

fn margin(z: &[f64], w: &[f64]) -> f64 {
    z.iter().zip(w).map(|(z, w)| z * w).sum()
}

pub fn accuracy(images: &[Vec<f64>], w: &[f64]) -> f64 {
    100.0 * images.iter().filter(|z| margin(z, w) > 0.0).count() as f64 / images.len() as f64
}
