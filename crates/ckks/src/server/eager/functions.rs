//! Polynomials and functions of slots, comparisons.

use std::ops::RangeInclusive;

use super::super::{Ciphertexts, ServerKey};
use super::Key;
use crate::Result;
use crate::approximation::{CompositeSign, GoldschmidtInverse, NewtonInverseSqrt, Polynomial};

impl ServerKey {
    /// A polynomial of every slot, whose slots lie in its interval. It takes
    /// [`Polynomial::levels`] levels.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn polynomial(&self, x: &Ciphertexts, p: &Polynomial) -> Result<Ciphertexts> {
        let key = Key::new("polynomial").polynomial(p).number(p.error().unwrap_or(0.0));
        self.one(key, x, |b, x| b.polynomial(x, p))
    }

    /// Any function of every slot, on an interval in which all slots lie: fitted to within `error`
    /// by the polynomial of least degree, which is handed out beside the result and tells its
    /// degree and error.
    ///
    /// Slots outside the interval yield garbage, which nobody can see without the key; it is
    /// refused where their declared magnitude allows it ([`Error::Room`](crate::Error::Room)).
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations), and
    /// [`Error::Approximation`](crate::Error::Approximation) when no polynomial that the levels
    /// allow is good enough.
    pub fn function(
        &self,
        x: &Ciphertexts,
        f: impl Fn(f64) -> f64,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let p =
            Polynomial::fit(f, interval.clone(), error, self.most_degree(x.level(), &interval))?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// 1/x in every slot, on an interval without 0; see [`ServerKey::function`].
    ///
    /// # Errors
    /// As [`ServerKey::function`].
    pub fn inverse(
        &self,
        x: &Ciphertexts,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let most = self.most_degree(x.level(), &interval);
        let p = Polynomial::inverse(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// 1/x in every slot, on an interval without 0, to a relative error: for slots of 1,000 to
    /// 100,000 an absolute one says little. See [`Polynomial::relative_inverse`].
    ///
    /// # Errors
    /// As [`ServerKey::function`].
    pub fn relative_inverse(
        &self,
        x: &Ciphertexts,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let most = self.most_degree(x.level(), &interval);
        let p = Polynomial::relative_inverse(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// The square root of every slot; see [`ServerKey::function`].
    ///
    /// # Errors
    /// As [`ServerKey::function`].
    pub fn sqrt(
        &self,
        x: &Ciphertexts,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Ciphertexts, Polynomial)> {
        let most = self.most_degree(x.level(), &interval);
        let p = Polynomial::sqrt(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// 1/x in every slot by Goldschmidt's iteration, for slots in the interval of `inverse`: more
    /// levels than [`ServerKey::inverse`], and intervals too wide for a polynomial. Imaginary parts
    /// must be zero.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn goldschmidt_inverse(
        &self,
        x: &Ciphertexts,
        inverse: &GoldschmidtInverse,
    ) -> Result<Ciphertexts> {
        let interval = inverse.interval();
        let key = Key::new("goldschmidt_inverse").number(*interval.start());
        let key = key.number(*interval.end()).integer(inverse.steps() as i64);
        self.one(key, x, |b, x| b.goldschmidt_inverse(x, inverse))
    }

    /// 1/sqrt(x) in every slot by Newton's iteration, for slots in the interval of `root`; times x
    /// it is the square root. Imaginary parts must be zero.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn newton_inverse_sqrt(
        &self,
        x: &Ciphertexts,
        root: &NewtonInverseSqrt,
    ) -> Result<Ciphertexts> {
        let interval = root.interval();
        let key = Key::new("newton_inverse_sqrt").number(*interval.start());
        let key = key.number(*interval.end()).integer(root.steps().len() as i64);
        self.one(key, x, |b, x| b.newton_inverse_sqrt(x, root))
    }

    /// The sign of every slot of [-range, range]: within the error of `sign` from 1 or -1 where
    /// the slot's magnitude is at least `range` times its gap. Imaginary parts must be zero.
    ///
    /// It takes the levels of `sign`, and one more unless `range` is 1.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn sign(&self, x: &Ciphertexts, range: f64, sign: &CompositeSign) -> Result<Ciphertexts> {
        let key = Key::new("sign").number(range).sign(sign);
        self.one(key, x, |b, x| b.sign(x, range, sign))
    }

    /// 1 where x > y, 0 where x < y, for slots that are at most `apart` from one
    /// another: as exact as the sign of x - y on [-apart, apart] ([`ServerKey::sign`]).
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn compare(
        &self,
        x: &Ciphertexts,
        y: &Ciphertexts,
        apart: f64,
        sign: &CompositeSign,
    ) -> Result<Ciphertexts> {
        self.one_of_difference("compare", x, y, apart, sign, |b, x, y| b.compare(x, y, apart, sign))
    }

    /// The larger of x and y in every slot, for slots that are at most `apart` from one another; see
    /// [`ServerKey::relu`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn max(
        &self,
        x: &Ciphertexts,
        y: &Ciphertexts,
        apart: f64,
        sign: &CompositeSign,
    ) -> Result<Ciphertexts> {
        self.one_of_difference("max", x, y, apart, sign, |b, x, y| b.max(x, y, apart, sign))
    }

    /// The smaller of x and y in every slot, for slots that are at most `apart` from one another; see
    /// [`ServerKey::relu`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn min(
        &self,
        x: &Ciphertexts,
        y: &Ciphertexts,
        apart: f64,
        sign: &CompositeSign,
    ) -> Result<Ciphertexts> {
        self.one_of_difference("min", x, y, apart, sign, |b, x, y| b.min(x, y, apart, sign))
    }

    /// max(x, 0) of every slot of [-range, range], within `range` times
    /// [`CompositeSign::relu_error`]. Imaginary parts must be zero. One level more than
    /// [`ServerKey::sign`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn relu(&self, x: &Ciphertexts, range: f64, sign: &CompositeSign) -> Result<Ciphertexts> {
        let key = Key::new("relu").number(range).sign(sign);
        self.one(key, x, |b, x| b.relu(x, range, sign))
    }
}
