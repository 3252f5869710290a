//! The diagonals that a linear map keeps.

use num_complex::Complex64;

use crate::encoder::Factors;

/// Numbers that repeat with a power of two: without imaginary parts where all of these are 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Diagonal {
    Real(Vec<f64>),
    Complex(Vec<Complex64>),
}

impl Diagonal {
    /// These numbers.
    pub fn new<T: Copy + Into<Complex64>>(values: &[T]) -> Self {
        let values = values.iter().map(|&value| Complex64::default() + value.into());
        if values.clone().all(|value| value.im == 0.0) {
            return Self::Real(values.map(|value| value.re).collect());
        }
        Self::Complex(values.collect())
    }

    pub fn factors(&self) -> Factors<'_> {
        match self {
            Self::Real(values) => Factors::Real(values),
            Self::Complex(values) => Factors::Complex(values),
        }
    }

    /// The sum, which repeats with the longer of both periods.
    pub fn plus(&self, other: &Self) -> Self {
        let (one, two) = (self.factors(), other.factors());
        let of = |j: usize| one.at(j % one.len()) + two.at(j % two.len());
        Self::new(&(0..one.len().max(two.len())).map(of).collect::<Vec<Complex64>>())
    }

    /// Whether nothing is left of it.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Real(values) => values.iter().all(|&value| value == 0.0),
            Self::Complex(values) => values.iter().all(|&value| value == Complex64::default()),
        }
    }

    /// Magnitudes, as many as `to` has room for.
    pub fn magnitudes(&self, to: &mut [f64]) {
        match self {
            Self::Real(values) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = value.abs());
            }
            Self::Complex(values) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = magnitude(*value));
            }
        }
    }

    /// Adds it to a digest.
    pub fn hash(&self, hasher: &mut blake3::Hasher) {
        match self {
            Self::Real(values) => hasher.update(bytemuck::cast_slice(values)),
            Self::Complex(values) => hasher.update(bytemuck::cast_slice(values)),
        };
        // Not at the beginning, so that what is hashed is aligned.
        let is_real = matches!(self, Self::Real(_));
        hasher.update(&[u8::from(is_real)]);
    }
}

/// The magnitude of a number; that of a real one takes no root.
pub(super) fn magnitude(value: Complex64) -> f64 {
    if value.im == 0.0 { value.re.abs() } else { value.norm() }
}
