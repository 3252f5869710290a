//! Inverses and inverse square roots by iteration.

use super::{Builder, Node};
use crate::Result;
use crate::approximation::{GoldschmidtInverse, NewtonInverseSqrt};
use crate::server::error::out_of_levels;

impl Builder<'_> {
    /// 1/x of every slot; slots must be real and lie in the interval of `inverse`. It takes
    /// [`GoldschmidtInverse::levels`] levels and two products a step.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`](crate::Error::OutOfLevels) with too few levels,
    /// [`Error::MissingKey`](crate::Error::MissingKey) when the recording is finished, without the
    /// multiplication key.
    pub fn goldschmidt_inverse(&mut self, x: &Node, inverse: &GoldschmidtInverse) -> Result<Node> {
        self.check(&[x])?;
        self.check_levels("an inverse", x, inverse.levels())?;
        let (lo, hi) = (*inverse.interval().start(), *inverse.interval().end());
        let x = self.made_for("an inverse", x, lo.abs().max(hi.abs()));
        let x = self.with_levels("an inverse", &x, 1)?;
        let (constant, slope) = inverse.guess();
        let line = self.mul_constant(&x, slope)?;
        let mut y = self.add_constant(&line, constant)?;
        let mut residual = inverse.residual();
        // |y_k| = (1 - e_k) / |x|.
        let least = lo.abs().min(hi.abs());
        let largest = (1.0 + residual) / least;
        y = self.at_most(&y, largest);
        if inverse.steps() > 0 {
            let product = self.mul_at_most(&x, &y, 1.0 + residual)?;
            let negative = self.neg(&product)?;
            let e = self.add_constant(&negative, 1.0)?;
            let mut e = self.at_most(&e, residual);
            for step in 0..inverse.steps() {
                let factor = self.add_constant(&e, 1.0)?;
                let factor = self.at_most(&factor, 1.0 + residual);
                y = self.mul_at_most(&y, &factor, largest)?;
                residual *= residual;
                if step + 1 < inverse.steps() {
                    e = self.mul_at_most(&e, &e, residual)?;
                }
            }
        }
        Ok(self.iterated(&y, inverse.error()))
    }

    /// 1/sqrt(x) of every slot; slots must be real and lie in the interval of `root`. It takes
    /// [`NewtonInverseSqrt::levels`] levels and three products a step.
    ///
    /// # Errors
    /// As [`Builder::goldschmidt_inverse`].
    pub fn newton_inverse_sqrt(&mut self, x: &Node, root: &NewtonInverseSqrt) -> Result<Node> {
        self.check(&[x])?;
        self.check_levels("an inverse square root", x, root.levels())?;
        let x = self.made_for("an inverse square root", x, *root.interval().end());
        let x = self.with_levels("an inverse square root", &x, 1)?;
        let (constant, slope) = root.guess();
        let line = self.mul_constant(&x, slope)?;
        let mut y = self.add_constant(&line, constant)?;
        // y sqrt(x) stays below the root of 3, from where on a step would change its sign.
        let (lo, hi) = (*root.interval().start(), *root.interval().end());
        let largest = (3.0 / lo).sqrt();
        y = self.at_most(&y, largest);
        for &(a, b) in root.steps() {
            let bx = self.mul_constant(&x, b)?;
            let linear = self.mul_constant(&y, a)?;
            let square = self.mul_at_most(&y, &y, largest * largest)?;
            let bxy = self.mul_at_most(&bx, &y, b * (3.0 * hi).sqrt())?;
            // b x y^2 stays below a.
            let cubic = self.mul_at_most(&bxy, &square, a * largest)?;
            let next = self.sub(&linear, &cubic)?;
            // Each of the factors is large for one x or another, their product for none; what the
            // steps say of themselves would be far too much. Its slopes: |a - 3 b x y^2| < 2 a, as
            // b x y^2 stays below a, and b y^3.
            let rounding = 2.0 * self.model().rounding(next.at.scale);
            let (of_y, of_x) = (2.0 * a, b * largest.powi(3));
            let products = largest * largest + b * (3.0 * hi).sqrt() + 1.0;
            let noise = products * rounding;
            let (x, bx, old, linear) = (x.estimate, bx.estimate, y.estimate, linear.estimate);
            let of = next.estimate;
            y = self.noted("an inverse square root", next.at, move |e| {
                // The constants are rounded, too.
                let constants = (e[linear].bias() - a * e[old].bias()).abs()
                    + (e[bx].bias() - b * e[x].bias()).abs() * largest.powi(3);
                let (of_y, of_x) = (e[old].clone().times(of_y), e[x].clone().times(of_x));
                let sum = of_y.plus(&of_x).with_mask_of(&e[of]).with_noise(noise);
                sum.with_bias(constants).reaching(largest)
            });
        }
        Ok(self.iterated(&y, root.error()))
    }

    /// Refuses what has too few levels where nothing bootstraps in between.
    fn check_levels(&self, operation: &str, x: &Node, levels: usize) -> Result<()> {
        if !self.bootstraps && x.at.level < levels {
            return Err(out_of_levels(operation, levels, x.at.level));
        }
        Ok(())
    }

    /// The same node, whose slots are known to stay below `magnitude`.
    fn at_most(&mut self, x: &Node, magnitude: f64) -> Node {
        let (at, of) = (x.at, x.estimate);
        self.noted("an iteration", at, move |e| e[of].clone().at_most(magnitude))
    }

    /// The end of an iteration to y, with what it leaves.
    fn iterated(&mut self, y: &Node, error: f64) -> Node {
        let (at, of) = (y.at, y.estimate);
        self.noted("an iteration", at, move |e| e[of].clone().with_bias(error))
    }
}
