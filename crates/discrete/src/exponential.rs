//! The polynomial of exp(2 pi i t) before its squarings, in Chebyshev polynomials of t/K.
//!
//! exp(i w x) = J_0(w) + 2 sum over k >= 1 of i^k J_k(w) T_k(x), J_k the Bessel functions. Its
//! error is as large at the ends of [-1, 1] as in the middle: a fit weighted by where t is likely
//! to be would be smaller there and larger at the ends, which t does reach, with 2^-62.

use girih_ckks::Complex64;
use std::f64::consts::TAU;

/// Degrees of the polynomial whose roundings are known.
pub(crate) const DEGREES: [usize; 2] = [15, 31];

/// w = 2 pi K / 2^r.
fn frequency(interval: f64, squarings: usize) -> f64 {
    TAU * interval / (1u64 << squarings) as f64
}

/// The coefficients of T_0 .. T_degree of exp(2 pi i K x / 2^`squarings`) on [-1, 1].
pub fn exponential(interval: f64, squarings: usize, degree: usize) -> Vec<Complex64> {
    let w = frequency(interval, squarings);
    let one = |k: usize| {
        let j = libm::jn(k as i32, w) * if k == 0 { 1.0 } else { 2.0 };
        match k % 4 {
            0 => Complex64::new(j, 0.0),
            1 => Complex64::new(0.0, j),
            2 => Complex64::new(-j, 0.0),
            _ => Complex64::new(0.0, -j),
        }
    };
    (0..=degree).map(one).collect()
}

/// The relative error of an exponential at t = K x: its part along the circle is imaginary.
pub(crate) fn error_at(
    interval: f64,
    squarings: usize,
    coefficients: &[Complex64],
    x: f64,
) -> Complex64 {
    let w = frequency(interval, squarings);
    // Clenshaw's recurrence for sums of Chebyshev polynomials.
    let (mut b1, mut b2) = (Complex64::default(), Complex64::default());
    for c in coefficients[1..].iter().rev() {
        (b1, b2) = (c + b1 * (2.0 * x) - b2, b1);
    }
    let mut z = coefficients[0] + b1 * x - b2;
    z *= Complex64::new(libm::cos(w * x), -libm::sin(w * x));
    for _ in 0..squarings {
        z *= z;
    }
    z - 1.0
}

/// Points of [-K, K] at which the series is compared with the exponential.
const SAMPLES: usize = 1 << 14;

/// The largest size of the error of an exponential: its part along the circle, and that across
/// divided by `ratio`, at the worst t in [-K, K].
pub fn series_size(interval: f64, squarings: usize, degree: usize, ratio: f64) -> f64 {
    let coefficients = exponential(interval, squarings, degree);
    let one = |i: usize| {
        let error =
            error_at(interval, squarings, &coefficients, 2.0 * i as f64 / SAMPLES as f64 - 1.0);
        libm::hypot(error.im, error.re / ratio)
    };
    // The error has degree + 1 waves: between two samples it grows by less than this.
    1.01 * (0..=SAMPLES).map(one).fold(0.0, f64::max)
}

/// How far such an exponential is from exp(2 pi i t) at most, for every |t| <= K: squarings
/// double the error of the polynomial each.
pub fn series_error(interval: f64, squarings: usize, degree: usize) -> f64 {
    let w = frequency(interval, squarings);
    // Beyond k = w the functions fall faster than any power.
    let rest = (degree + 1..degree + 64).map(|k| libm::jn(k as i32, w).abs());
    2.0 * rest.sum::<f64>() * (1u64 << squarings) as f64
}
