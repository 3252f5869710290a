//! Sums and products.

use num_complex::Complex64;

use super::super::check::{check_length, largest};
use super::super::{Ciphertexts, ServerKey};
use super::{Key, only};
use crate::Result;

impl ServerKey {
    /// x + y, pairwise. The batch of higher level is adjusted to the other's.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn add(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("add", x, y, |b, x, y| b.add(x, y))
    }

    /// x - y, pairwise. The batch of higher level is adjusted to the other's.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn sub(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("sub", x, y, |b, x, y| b.sub(x, y))
    }

    /// -x.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn neg(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("neg"), x, |b, x| b.neg(x))
    }

    /// x y, pairwise, relinearised and rescaled: one level below the lower operand.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("mul", x, y, |b, x, y| b.mul(x, y))
    }

    /// x y, relinearised but not rescaled; see [`Builder::mul_unscaled`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul_unscaled(&self, x: &Ciphertexts, y: &Ciphertexts) -> Result<Ciphertexts> {
        self.two("mul_unscaled", x, y, |b, x, y| b.mul_unscaled(x, y))
    }

    /// x^2, relinearised and rescaled.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn square(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.mul(x, x)
    }

    /// x plus a vector, the same for every ciphertext of the batch; see [`Builder::add_plain`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn add_plain<T: Copy + Into<Complex64>>(
        &self,
        x: &Ciphertexts,
        values: &[T],
    ) -> Result<Ciphertexts> {
        check_length("the vector to add", values.len(), x.slots())?;
        let plain = self.encoder().encode(values, x.scale())?;
        self.with_plain("add_plain", x, &plain, largest(values), |b, x, plain| {
            b.add_plain_node(x, plain)
        })
    }

    /// x times a vector slot by slot, the same for every ciphertext of the batch; rescaled. See
    /// [`Builder::mul_plain`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul_plain<T: Copy + Into<Complex64>>(
        &self,
        x: &Ciphertexts,
        values: &[T],
    ) -> Result<Ciphertexts> {
        check_length("the vector to multiply by", values.len(), x.slots())?;
        let bootstrapped = self.with_a_level("a product with a vector", x)?;
        let x = bootstrapped.as_ref().unwrap_or(x);
        let plain = self.encoder().encode(values, self.plain_scale(x.level(), x.scale())?)?;
        self.with_plain("mul_plain", x, &plain, largest(values), |b, x, plain| {
            b.mul_plain_node(x, plain)
        })
    }

    /// x plus a number in every slot.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn add_constant(&self, x: &Ciphertexts, c: impl Into<Complex64>) -> Result<Ciphertexts> {
        let c = c.into();
        self.one(Key::new("add_constant").complex(c), x, |b, x| b.add_constant(x, c))
    }

    /// x times a number in every slot; Gaussian integers up to 65,536 cost no level. See
    /// [`Builder::mul_constant`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn mul_constant(&self, x: &Ciphertexts, c: impl Into<Complex64>) -> Result<Ciphertexts> {
        let c = c.into();
        self.one(Key::new("mul_constant").complex(c), x, |b, x| b.mul_constant(x, c))
    }

    /// The sum of x_i y_i over batches, with one relinearisation and one rescale.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations), and
    /// [`Error::Length`](crate::Error::Length) for lists that are empty or of unequal lengths.
    pub fn inner_product(&self, x: &[&Ciphertexts], y: &[&Ciphertexts]) -> Result<Ciphertexts> {
        let key = Key::new("inner_product").integer(x.len() as i64).integer(y.len() as i64);
        let inputs: Vec<_> = x.iter().chain(y).copied().collect();
        let (left, right) = (x.len(), y.len());
        only(self.all(key, &inputs, |b, n| {
            Ok(vec![b.inner_product(&n[..left], &n[left..left + right])?])
        })?)
    }
}
