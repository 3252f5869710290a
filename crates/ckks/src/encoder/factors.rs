//! Vectors in the clear, real ones as half as many doubles.

use super::transform::Parts;
use num_complex::Complex64;

/// Numbers in slots, or a period of them.
#[derive(Clone, Copy, Debug)]
pub enum Factors<'a> {
    /// Real ones.
    Real(&'a [f64]),
    /// Complex ones.
    Complex(&'a [Complex64]),
}

impl<'a> From<&'a Vec<Complex64>> for Factors<'a> {
    fn from(of: &'a Vec<Complex64>) -> Self {
        Self::Complex(of)
    }
}

impl<'a> From<&'a Factors<'_>> for Factors<'a> {
    fn from(of: &'a Factors<'_>) -> Self {
        *of
    }
}

impl<'a> Factors<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// That of slot `j`.
    ///
    /// # Panics
    /// From [`Factors::len`] on.
    pub fn at(&self, j: usize) -> Complex64 {
        match self {
            Self::Real(values) => values[j].into(),
            Self::Complex(values) => values[j],
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Complex64> + Clone + 'a {
        let of = *self;
        (0..self.len()).map(move |j| of.at(j))
    }

    /// The shortest power of two of them that repeats, of a power of two.
    pub(crate) fn least_period(self) -> Self {
        match self {
            Self::Real(values) => Self::Real(least_period(values)),
            Self::Complex(values) => Self::Complex(least_period(values)),
        }
    }

    /// Puts them into `parts`, slot j that of slot j + `by`.
    pub(crate) fn rotate_into(self, by: i64, parts: &mut Parts) {
        let by = by.rem_euclid(self.len() as i64) as usize;
        match self {
            Self::Real(values) => {
                let (last, first) = values.split_at(by);
                parts.fill_real([first, last]);
            }
            Self::Complex(values) => {
                let (last, first) = values.split_at(by);
                parts.fill(first.iter().chain(last).copied());
            }
        }
    }
}

fn least_period<T: PartialEq>(mut x: &[T]) -> &[T] {
    while x.len() > 1 && x[..x.len() / 2] == x[x.len() / 2..] {
        x = &x[..x.len() / 2];
    }
    x
}
