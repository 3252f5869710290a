//! Polynomials and what is made of them: functions on intervals, signs, comparisons.

use std::ops::RangeInclusive;

use super::arithmetic::is_free;
use super::rounding::{Rounding, baby_bits};
use super::{Builder, Node};
use crate::approximation::{CompositeSign, Polynomial, levels_of_degree};
use crate::server::tracked::salt;
use crate::{Error, Result};

impl Builder<'_> {
    /// A polynomial of every slot; slots must be real and lie in its interval. It takes
    /// [`Polynomial::levels`] levels.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] with too few levels, [`Error::MissingKey`] when the recording is
    /// finished, without the multiplication key.
    pub fn polynomial(&mut self, x: &Node, p: &Polynomial) -> Result<Node> {
        self.check(&[x])?;
        let (lo, hi) = (*p.interval().start(), *p.interval().end());
        let x = self.made_for("a polynomial", x, lo.abs().max(hi.abs()));
        let x = self.with_levels("a polynomial", &x, p.levels())?;
        let (slope, offset) = p.to_unit();
        let error = p.error().unwrap_or(0.0);
        let result = match p.degree() {
            0 => {
                let zero = self.mul_constant(&x, 0.0)?;
                self.add_constant(&zero, p.coefficients()[0])?
            }
            1 => {
                let line = self.mul_constant(&x, p.coefficients()[1] * slope)?;
                let offset = p.coefficients()[0] + p.coefficients()[1] * offset;
                self.add_constant(&line, offset)?
            }
            _ => {
                let u = if p.is_on_unit_interval() {
                    x
                } else {
                    let line = self.mul_constant(&x, slope)?;
                    self.add_constant(&line, offset)?
                };
                let (magnitude, _) = p.bounds();
                self.chebyshev(&u, p, -1.0, magnitude)?
            }
        };
        let at = result.estimate;
        Ok(self.noted("a polynomial", result.at, move |e| e[at].clone().with_bias(error)))
    }

    /// The polynomial of a ciphertext whose slots lie in [least, 1] or its negative, where values
    /// stay below `magnitude`.
    fn chebyshev(&mut self, u: &Node, p: &Polynomial, least: f64, magnitude: f64) -> Result<Node> {
        let degree = p.degree();
        let log2_baby = baby_bits(degree);
        let level = u.at.level - levels_of_degree(degree);
        let scale = self.canonical("a polynomial", level)?;
        let basis = self.recorder.chebyshev_basis(&u.at, degree, log2_baby)?;
        let at = self.recorder.chebyshev_sum(p.coefficients(), &basis, level, scale)?;
        let rounding = Rounding::of(p.coefficients(), log2_baby, least);
        let noise = rounding.internal * self.model().rounding(scale);
        // Polynomials of one input have their roundings in common, whatever their coefficients.
        let common = salt("polynomial", &[u.at.level as u64]);
        let own: Vec<u64> = p.coefficients().iter().map(|c| c.to_bits()).collect();
        let (u, own) = (u.estimate, salt("polynomial", &own));
        Ok(self.noted("a polynomial", at, move |e| {
            let value = e[u].clone().through(rounding.slope, magnitude);
            value.renewed(common).with_noise(noise).renewed(own)
        }))
    }

    /// Any function on an interval in which all slots lie, fitted to within `error`; the
    /// polynomial is handed out too.
    ///
    /// # Errors
    /// [`Error::Approximation`] when no polynomial that the levels allow is good enough, else as
    /// [`Builder::polynomial`].
    pub fn function(
        &mut self,
        x: &Node,
        f: impl Fn(f64) -> f64,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Node, Polynomial)> {
        let most = self.server.most_degree(x.at.level, &interval);
        let p = Polynomial::fit(f, interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// 1/x on an interval without 0; see [`Builder::function`].
    ///
    /// # Errors
    /// As [`Builder::function`].
    pub fn inverse(
        &mut self,
        x: &Node,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Node, Polynomial)> {
        let most = self.server.most_degree(x.at.level, &interval);
        let p = Polynomial::inverse(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// 1/x on an interval without 0, to a relative error: see [`Polynomial::relative_inverse`].
    ///
    /// # Errors
    /// As [`Builder::function`].
    pub fn relative_inverse(
        &mut self,
        x: &Node,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Node, Polynomial)> {
        let most = self.server.most_degree(x.at.level, &interval);
        let p = Polynomial::relative_inverse(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// The square root, on an interval from 0 or above; see [`Builder::function`].
    ///
    /// # Errors
    /// As [`Builder::function`].
    pub fn sqrt(
        &mut self,
        x: &Node,
        interval: RangeInclusive<f64>,
        error: f64,
    ) -> Result<(Node, Polynomial)> {
        let most = self.server.most_degree(x.at.level, &interval);
        let p = Polynomial::sqrt(interval, error, most)?;
        Ok((self.polynomial(x, &p)?, p))
    }

    /// The sign of every slot of [-range, range]; slots must be real.
    ///
    /// Its estimate counts with slots outside the gap of `sign`:
    /// inside it there is no right answer.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] with too few levels, [`Error::Value`] for a range that is not
    /// positive and finite.
    pub fn sign(&mut self, x: &Node, range: f64, sign: &CompositeSign) -> Result<Node> {
        self.check(&[x])?;
        if !(range > 0.0 && range.is_finite()) {
            return Err(Error::Value {
                what: "the range of a sign".into(),
                value: range.to_string(),
                rule: "it must be positive and finite".into(),
            });
        }
        // Without bootstrappings in between, the whole composition must fit.
        let line = usize::from(!is_free((1.0 / range).into()));
        let levels = sign.levels() + line;
        if !self.bootstraps && x.at.level < levels {
            return Err(crate::server::error::out_of_levels("a sign", levels, x.at.level));
        }
        let mut x = self.made_for("a sign", x, range);
        if range != 1.0 {
            x = self.mul_constant(&x, 1.0 / range)?;
        }
        let mut least = sign.gap();
        for p in sign.polynomials() {
            x = self.with_levels("a sign", &x, p.levels())?;
            let (magnitude, _) = p.bounds();
            x = self.chebyshev(&x, p, least, magnitude)?;
            least = Rounding::least_value(p.coefficients(), least);
        }
        let (at, bias) = (x.estimate, sign.error());
        // What values were off from 1 is part of the sign's own error.
        Ok(self.noted("a sign", x.at, move |e| e[at].clone().with_bias(bias)))
    }

    /// 1 where x > y and 0 where x < y, for |x - y| up to `apart`.
    ///
    /// # Errors
    /// As [`Builder::sign`].
    pub fn compare(
        &mut self,
        x: &Node,
        y: &Node,
        apart: f64,
        sign: &CompositeSign,
    ) -> Result<Node> {
        let difference = self.sub(x, y)?;
        self.sign(&difference, apart, &sign.clone().affine(0.5, 0.5))
    }

    /// max(x, 0) of every slot of [-range, range], within `range` times
    /// [`CompositeSign::relu_error`].
    ///
    /// # Errors
    /// As [`Builder::sign`].
    pub fn relu(&mut self, x: &Node, range: f64, sign: &CompositeSign) -> Result<Node> {
        self.relu_of("a ReLU", x, range, sign)
    }

    /// The same as a part of `operation`, which errors name.
    fn relu_of(
        &mut self,
        operation: &str,
        x: &Node,
        range: f64,
        sign: &CompositeSign,
    ) -> Result<Node> {
        // The sign, its line, and the product with it.
        let levels = sign.levels() + usize::from(!is_free((1.0 / range).into())) + 1;
        if !self.bootstraps && x.at.level < levels {
            return Err(crate::server::error::out_of_levels(operation, levels, x.at.level));
        }
        let step = self.sign(x, range, &sign.clone().affine(0.5, 0.5))?;
        let product = self.mul(x, &step)?;
        let bias = range * sign.relu_error();
        let (of, x) = (product.estimate, x.estimate);
        Ok(self.noted("a maximum with 0", product.at, move |e| {
            e[of].clone().off_by(e[x].bias() + bias)
        }))
    }

    /// The larger of x and y in every slot, for |x - y| up to `apart`.
    ///
    /// # Errors
    /// As [`Builder::sign`].
    pub fn max(&mut self, x: &Node, y: &Node, apart: f64, sign: &CompositeSign) -> Result<Node> {
        let difference = self.sub(x, y)?;
        let above = self.relu_of("a maximum", &difference, apart, sign)?;
        self.add(&above, y)
    }

    /// The smaller of x and y in every slot, for |x - y| up to `apart`.
    ///
    /// # Errors
    /// As [`Builder::sign`].
    pub fn min(&mut self, x: &Node, y: &Node, apart: f64, sign: &CompositeSign) -> Result<Node> {
        let difference = self.sub(x, y)?;
        let above = self.relu_of("a minimum", &difference, apart, sign)?;
        self.sub(x, &above)
    }
}
