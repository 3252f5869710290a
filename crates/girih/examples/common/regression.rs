//! Logistic regression in the plain: the images, and Nesterov gradient descent.

use super::common::Failure;

/// 64 pixels and a constant, padded.
pub const FEATURES: usize = 128;
pub const RATE: f64 = 0.5;
pub const MOMENTUM: f64 = 0.5;

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
    for _ in 0..iterations {
        let mut next = v.clone();
        for z in images {
            let g = RATE / images.len() as f64 * slope(margin(z, &v));
            next.iter_mut().zip(z).for_each(|(w, z)| *w += g * z);
        }
        v = next.iter().zip(&w).map(|(next, w)| next + MOMENTUM * (next - w)).collect();
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
