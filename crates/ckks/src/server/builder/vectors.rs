//! Vectors that each run of a recording brings along: what changes from run to run and is no
//! secret, such as the rates of a descent.

use std::f64::consts::SQRT_2;

use super::parts::{PlainNode, VectorShape, VectorUse};
use super::{Builder, Node, Rule};
use crate::server::check::check_length;
use crate::server::ciphertexts::check_magnitude;
use crate::server::tracked::salt;
use crate::{Error, Result};

/// A vector of a recording that each run brings along ([`Builder::vector_input`]). It can be used
/// any number of times, with its own [`Builder`] only.
#[derive(Clone, Copy, Debug)]
pub struct VectorNode {
    number: usize,
    slots: usize,
    builder: u64,
}

impl VectorNode {
    /// The most numbers that it has.
    pub fn slots(&self) -> usize {
        self.slots
    }
}

impl Builder<'_> {
    /// Declares the next vector that each run brings along
    /// ([`Recording::run_with`](crate::server::Recording::run_with)): real or complex numbers, a
    /// power of two of them up to `slots`, none above `magnitude`. One number for all slots is a
    /// vector of one.
    ///
    /// A recording whose constants change from run to run is made once: it costs what one with the
    /// vectors in it costs, but for encoding them.
    ///
    /// # Errors
    /// [`Error::Length`] unless `slots` is a power of two up to N/2, [`Error::Value`] for a
    /// magnitude that is not finite.
    pub fn vector_input(&mut self, slots: usize, magnitude: f64) -> Result<VectorNode> {
        check_length("a vector that runs bring along", slots, self.set().slots())?;
        check_magnitude(magnitude)?;
        self.vectors.push(VectorShape { slots, magnitude });
        Ok(VectorNode { number: self.vectors.len() - 1, slots, builder: self.number })
    }

    /// x plus such a vector, which is repeated where `x` has more slots.
    ///
    /// # Errors
    /// [`Error::Length`] for a vector of more slots than `x` has, [`Error::Order`] for one of
    /// another recording.
    pub fn add_vector(&mut self, x: &Node, vector: &VectorNode) -> Result<Node> {
        self.check(&[x])?;
        let plain = self.used(vector, x, x.at.scale)?;
        if vector.slots > 1 {
            return self.add_plain_node(x, &plain);
        }
        let at = self.recorder.add_plaintext(&x.at, plain.value)?;
        // Of one number each slot is off by the same.
        let rounding = 0.5 / plain.scale * SQRT_2;
        let (x, plain) = (x.estimate, plain.estimate);
        Ok(self.noted("a sum with a vector", at, move |e| {
            e[x].plus_plain(&e[plain], 0.0).with_bias(rounding)
        }))
    }

    /// x times such a vector slot by slot, which is repeated where `x` has more slots; rescaled.
    /// Every product costs a level, whatever the numbers are.
    ///
    /// # Errors
    /// As [`Builder::add_vector`], and [`Error::OutOfLevels`] at level 0.
    pub fn mul_vector(&mut self, x: &Node, vector: &VectorNode) -> Result<Node> {
        self.check(&[x])?;
        let x = self.with_levels("a product with a vector", x, 1)?;
        let scale = self.product_scale(&x)? / x.at.scale;
        let plain = self.used(vector, &x, scale)?;
        if vector.slots > 1 {
            return self.mul_plain_node(&x, &plain);
        }
        let at = self.recorder.multiply_plaintext(&x.at, plain.value, plain.scale)?;
        let rounding = 0.5 / plain.scale * SQRT_2;
        let (x, plain, salt) = (x.estimate, plain.estimate, salt("vector", &[]));
        let product = self.noted("a product with a vector", at, move |e| {
            let bias = e[x].magnitude() * rounding;
            e[x].product_with_plain(&e[plain], salt, 0.0).with_bias(bias)
        });
        self.rescale(&product)
    }

    /// The plaintext of a vector for `x`, encoded at `scale`; one for all that read it so.
    fn used(&mut self, vector: &VectorNode, x: &Node, scale: f64) -> Result<PlainNode> {
        if vector.builder != self.number {
            return Err(Error::Order { what: "a vector", rule: "in the recording that made it" });
        }
        if vector.slots > x.at.slots {
            let rule = format!("the ciphertext has {}: vectors have as many or fewer", x.at.slots);
            return Err(Error::Length { what: "a vector", found: vector.slots, rule });
        }
        let level = x.at.level;
        let same = |u: &&VectorUse| (u.vector, u.level, u.scale) == (vector.number, level, scale);
        if let Some(known) = self.uses.iter().find(same) {
            return Ok(known.plain);
        }
        let number = self.uses.len();
        let value = self.recorder.changing_plaintext(number, 2 * vector.slots, level)?;
        let estimate = self.pushed(Rule::Vector(number), None);
        let plain = PlainNode { value, level, scale, estimate };
        self.uses.push(VectorUse { vector: vector.number, level, scale, plain });
        Ok(plain)
    }
}
