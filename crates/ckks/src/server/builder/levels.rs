//! Levels and scales: by hand, and what operations do with them by themselves.

use super::{Builder, Node};
use crate::server::error::out_of_levels;
use crate::server::tracked::salt;
use crate::{Error, Result};

impl Builder<'_> {
    /// Divides by the ratio of the level and goes down one: for products made by
    /// [`Builder::mul_unscaled`].
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] at level 0.
    pub fn rescale(&mut self, x: &Node) -> Result<Node> {
        self.check(&[x])?;
        if x.at.level == 0 {
            return Err(out_of_levels("rescale", 1, 0));
        }
        let at = self.recorder.rescale(&x.at)?;
        let noise = self.model().rounding(at.scale);
        let (x, salt) = (x.estimate, salt("rescale", &[at.level as u64]));
        Ok(self.noted("a rescale", at, move |e| e[x].clone().renewed(salt).with_noise(noise)))
    }

    /// Brings a ciphertext to the canonical scale of the lower level `to`, by one rounding.
    ///
    /// # Errors
    /// [`Error::Level`] unless `to` is a lower level with a canonical scale.
    pub fn adjust(&mut self, x: &Node, to: usize) -> Result<Node> {
        self.check(&[x])?;
        self.canonical("adjust", to)?;
        let at = self.recorder.adjust(&x.at, to)?;
        let noise = self.model().rounding(at.scale);
        let (x, salt) = (x.estimate, salt("adjust", &[to as u64]));
        Ok(self.noted("an adjust", at, move |e| e[x].clone().renewed(salt).with_noise(noise)))
    }

    /// Goes down to level `to` at whatever scale that gives: limbs are forgotten where the bases
    /// are nested, and the scale stays; elsewhere it is [`Builder::adjust`].
    ///
    /// # Errors
    /// [`Error::Level`] when `to` is above the ciphertext's level.
    pub fn drop_to(&mut self, x: &Node, to: usize) -> Result<Node> {
        self.check(&[x])?;
        if to > x.at.level {
            return Err(Error::Level {
                operation: format!("drop to {to}"),
                level: x.at.level,
                rule: "it only goes to lower levels; a bootstrapping goes up".into(),
            });
        }
        let nested = to == x.at.level || {
            let chain = self.set().chain();
            let (low, high) = (chain.base(to), chain.base(x.at.level));
            high.start <= low.start && low.end <= high.end
        };
        if !nested {
            return self.adjust(x, to);
        }
        let at = self.recorder.drop_to(&x.at, to)?;
        let x = x.estimate;
        Ok(self.noted("a drop", at, move |e| e[x].clone()))
    }

    /// `x` with at least `levels` levels below it: itself, or bootstrapped where that is wanted.
    pub(super) fn with_levels(&mut self, operation: &str, x: &Node, levels: usize) -> Result<Node> {
        // A bootstrapping that begins with slots-to-coefficients needs levels itself.
        let reserve = match self.set().bootstrapping() {
            Some(b) if self.bootstraps => b.input_level(),
            _ => 0,
        };
        if x.at.level >= levels + reserve {
            return Ok(*x);
        }
        let after = self.set().default_level();
        let can = x.at.level >= reserve && after >= levels + reserve;
        if self.bootstraps && self.set().bootstrapping().is_some() && can {
            return self.bootstrap(x);
        }
        if x.at.level >= levels {
            return Ok(*x);
        }
        Err(out_of_levels(operation, levels, x.at.level))
    }

    /// Both ready to be added: at the lower of their levels, and where scales differ there, both at
    /// the canonical scale of the level below.
    pub(super) fn at_one_scale(&mut self, x: &Node, y: &Node) -> Result<(Node, Node)> {
        let (x, y) = self.at_one_level(x, y)?;
        if x.at.level == 0 || self.set().scales_agree(x.at.scale, y.at.scale) {
            return Ok((x, y));
        }
        let below = x.at.level - 1;
        Ok((self.adjust(&x, below)?, self.adjust(&y, below)?))
    }

    /// Both at the lower of their levels: the higher one is adjusted.
    pub(super) fn at_one_level(&mut self, x: &Node, y: &Node) -> Result<(Node, Node)> {
        Ok(match x.at.level.cmp(&y.at.level) {
            std::cmp::Ordering::Less => (*x, self.adjust(y, x.at.level)?),
            std::cmp::Ordering::Equal => (*x, *y),
            std::cmp::Ordering::Greater => (self.adjust(x, y.at.level)?, *y),
        })
    }

    /// The scale that a product at `x`'s level should have so that a rescale leaves the canonical
    /// one: S_(l-1) pp_l.
    pub(super) fn product_scale(&self, x: &Node) -> Result<f64> {
        let below = self.canonical("a product", x.at.level - 1)?;
        Ok(below * self.set().rescale_ratio(x.at.level))
    }
}
