//! Rotations, sums over slots, linear maps, matrices.

use super::super::{Ciphertexts, LinearMap, Matrix, ServerKey};
use super::Key;
use crate::Result;

impl ServerKey {
    /// Rotation left: slot j of the result is slot j + `by`; negative amounts go right.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn rotate(&self, x: &Ciphertexts, by: i64) -> Result<Ciphertexts> {
        let by = by % x.slots() as i64;
        self.one(Key::new("rotate").integer(by), x, |b, x| b.rotate(x, by))
    }

    /// Several rotations of one batch, whose decomposition is computed once.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn rotate_many(&self, x: &Ciphertexts, by: &[i64]) -> Result<Vec<Ciphertexts>> {
        let key = by.iter().fold(Key::new("rotate_many"), |key, &by| key.integer(by));
        self.all(key, &[x], |b, nodes| b.rotate_many(&nodes[0], by))
    }

    /// Every slot's complex conjugate.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn conjugate(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("conjugate"), x, |b, x| b.conjugate(x))
    }

    /// Slot j of the result is the sum of slots j, j + stride, .., j + (width - 1) stride; `width`
    /// is a power of two. Needs rotations by stride, 2 stride, .., stride width / 2.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn inner_sum(&self, x: &Ciphertexts, width: usize, stride: i64) -> Result<Ciphertexts> {
        let key = Key::new("inner_sum").integer(width as i64).integer(stride);
        self.one(key, x, |b, x| b.inner_sum(x, width, stride))
    }

    /// The reverse of [`ServerKey::inner_sum`]; see [`Builder::spread`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn spread(&self, x: &Ciphertexts, width: usize, stride: i64) -> Result<Ciphertexts> {
        self.inner_sum(x, width, -stride)
    }

    /// A linear map of slots; see [`LinearMap`]. One level.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn linear_transform(&self, x: &Ciphertexts, map: &LinearMap) -> Result<Ciphertexts> {
        let mut key = Key::new("linear_transform").integer(map.slots() as i64);
        for (by, diagonal) in map.diagonals() {
            key = key.integer(by as i64);
            key = diagonal.iter().fold(key, Key::complex);
        }
        self.one(key, x, |b, x| b.linear_transform(x, map))
    }

    /// A matrix times the vector in each ciphertext; see [`Builder::matrix_vector`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn matrix_vector(&self, matrix: &Matrix, x: &Ciphertexts) -> Result<Ciphertexts> {
        let key = Key::new("matrix_vector").integer(matrix.rows() as i64);
        let key = key.integer(matrix.columns() as i64);
        let key = matrix.entries().iter().fold(key, |key, &value| key.complex(value));
        self.one(key, x, |b, x| b.matrix_vector(matrix, x))
    }

    /// The product of two encrypted square matrices; see [`Builder::matrix_matrix`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn matrix_matrix(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("matrix_matrix", x, y, |b, x, y| b.matrix_matrix(x, y))
    }
}
