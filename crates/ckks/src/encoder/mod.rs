//! Vectors of complex numbers to integer polynomials and back: the canonical embedding of CKKS.
//!
//! Slot j of a polynomial m is `m(zeta^(5^j mod 2N))`, `zeta = exp(i pi / N)`, j < N/2. A vector of
//! n < N/2 slots (a power of two) is repeated; its polynomial lives in `X^(N/2n)`.

mod factors;
mod plaintext;
#[cfg(test)]
mod tests;
mod transform;

pub use factors::Factors;
pub use plaintext::Plaintext;
pub(crate) use transform::Parts;

use crate::{Error, Result};
use num_complex::Complex64;
use std::f64::consts::SQRT_2;
use std::sync::Arc;
use transform::{SMALL, Transform};

/// Encodes and decodes for one ring degree. It holds tables of 3N/2 complex roots at most, so one
/// is shared by all who need it.
///
/// The f64 transform errs by about 2^-52 sqrt(log2 N) relative to the root mean square of the
/// coefficients: at scales up to 2^45 an encoding is the exact rounding,
/// except within 2^-4 of a tie.
#[derive(Clone, Debug)]
pub struct Encoder {
    degree: usize,
    transform: Transform,
}

/// Scaled coefficients stay below 2^62.
const LARGEST_COEFFICIENT: f64 = (1u64 << 62) as f64;

impl Encoder {
    /// The encoder of degree N = 2^`log2_degree`.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `log2_degree` is in 4..=17.
    pub fn new(log2_degree: u32) -> Result<Self> {
        if !(4..=17).contains(&log2_degree) {
            return Err(Error::parameter("log2_degree", log2_degree, "must be in 4..=17"));
        }
        Ok(Self { degree: 1 << log2_degree, transform: Transform::new(log2_degree - 1) })
    }

    /// N.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The polynomial whose slots are nearest to `scale` times `values`, real or complex:
    /// `m_k = RNE(scale (2/N) Re sum_j z_j zeta^(-k 5^j))`.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are a power of two of values, at most N/2; [`Error::Value`]
    /// for a value that is not finite, or so large that a coefficient would reach 2^62;
    /// [`Error::Scale`] unless the scale is finite and positive.
    pub fn encode<T: Copy + Into<Complex64>>(&self, values: &[T], scale: f64) -> Result<Plaintext> {
        let slots = values.len();
        let (few, largest) = self.coefficients(values, scale)?;
        let gap = self.degree / (2 * slots);
        let mut coefficients = vec![0; self.degree];
        coefficients.iter_mut().step_by(gap).zip(few).for_each(|(to, c)| *to = c);
        Ok(Plaintext::new(coefficients, scale, slots, largest))
    }

    /// The coefficients of [`Encoder::encode`] that need not be 0: two a value, those of X^0,
    /// X^(N/2n), .. for n values; and the largest magnitude of these.
    pub(crate) fn coefficients<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
        scale: f64,
    ) -> Result<(Vec<i64>, f64)> {
        let slots = values.len();
        self.check_slots("the vector to encode", slots)?;
        check_scale("encoding", scale)?;
        let mut z = Parts::default();
        z.fill(values.iter().map(|&value| value.into()));
        check_finite(&z)?;
        let norms = z.re.iter().zip(&z.im).map(|(re, im)| re.hypot(*im));
        let largest = norms.fold(0.0, f64::max);
        let mut coefficients = vec![0; 2 * slots];
        self.integers(&mut z, scale, &mut coefficients)?;
        Ok((coefficients, largest))
    }

    /// The coefficients of [`Encoder::coefficients`] of what is in `z`, which is of no use then.
    /// It is quicker, by an amount that depends on how large values are: not for secrets.
    pub(crate) fn coefficients_of(&self, z: &mut Parts, scale: f64) -> Result<Arc<[i64]>> {
        let slots = z.len();
        self.check_slots("the vector to encode", slots)?;
        check_scale("encoding", scale)?;
        check_finite(z)?;
        let larger = |most: f64, part: &f64| if part.abs() > most { part.abs() } else { most };
        let largest = z.re.iter().chain(&z.im).fold(0.0, larger);
        let mut coefficients: Arc<[i64]> = std::iter::repeat_n(0, 2 * slots).collect();
        let own = Arc::get_mut(&mut coefficients).expect("nobody else has it");
        // No coefficient exceeds the largest magnitude, but for roundings.
        let is_small = SQRT_2 * largest * scale < SMALL;
        if !is_small || self.transform.to_small_integers(z, scale, own).is_none() {
            self.integers(z, scale, own)?;
        }
        Ok(coefficients)
    }

    /// Coefficients of finite numbers.
    fn integers(&self, z: &mut Parts, scale: f64, out: &mut [i64]) -> Result<()> {
        self.transform.to_coefficients(z);
        for (out, part) in out.iter_mut().zip(z.re.iter().chain(&z.im)) {
            let scaled = (part * scale).round_ties_even();
            // Also refuses what overflowed on the way: a comparison with NaN is false.
            if scaled.abs() < LARGEST_COEFFICIENT {
                *out = scaled as i64;
            } else {
                let rule = format!(
                    "values times the scale 2^{:.2} must stay below 2^62: divide them",
                    scale.log2()
                );
                return refuse("a coefficient of the encoding", "too large", rule);
            }
        }
        Ok(())
    }

    /// The slots of a polynomial of N real coefficients, divided by `scale`: `slots` of them.
    ///
    /// Coefficients outside `X^(N/2 slots)` are dropped: of a repeated vector they hold only noise.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are N coefficients, and a power of two of slots up to N/2;
    /// [`Error::Scale`] unless the scale is finite and positive.
    pub fn decode(&self, coefficients: &[f64], slots: usize, scale: f64) -> Result<Vec<Complex64>> {
        if coefficients.len() != self.degree {
            return Err(Error::Length {
                what: "the polynomial to decode",
                found: coefficients.len(),
                rule: format!("{} coefficients are needed", self.degree),
            });
        }
        self.check_slots("the vector to decode", slots)?;
        check_scale("decoding", scale)?;
        let gap = self.degree / (2 * slots);
        let part = |k: usize| coefficients[k * gap] / scale;
        let mut z: Vec<_> = (0..slots).map(|k| Complex64::new(part(k), part(k + slots))).collect();
        self.transform.to_slots(&mut z);
        Ok(z)
    }

    fn check_slots(&self, what: &'static str, slots: usize) -> Result<()> {
        if slots.is_power_of_two() && slots <= self.degree / 2 {
            return Ok(());
        }
        let rule = format!("a power of two up to {} is needed; pad it with zeros", self.degree / 2);
        Err(Error::Length { what, found: slots, rule })
    }
}

/// Values may be secret: errors say neither which is wrong nor what it is.
fn refuse<T>(what: &str, value: &str, rule: String) -> Result<T> {
    Err(Error::Value { what: what.into(), value: value.into(), rule })
}

fn check_finite(z: &Parts) -> Result<()> {
    // All of them are looked at: that is quicker than to stop at the first.
    let are_finite = |all: &[f64]| all.iter().fold(true, |is, part| is & part.is_finite());
    if are_finite(&z.re) & are_finite(&z.im) {
        return Ok(());
    }
    refuse(
        "a value to encode",
        "infinite or no number",
        "only finite numbers can be encoded".into(),
    )
}

fn check_scale(operation: &str, scale: f64) -> Result<()> {
    if scale.is_finite() && scale >= f64::MIN_POSITIVE {
        return Ok(());
    }
    let rule = format!("the scale {scale} must be a finite, positive number");
    Err(Error::Scale { operation: operation.into(), rule })
}
