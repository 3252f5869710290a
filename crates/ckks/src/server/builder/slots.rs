//! Movement of slots: rotations, conjugation, sums over slots.

use super::{Builder, Node};
use crate::program::Recorded;
use crate::server::check::check_length;
use crate::server::tracked::salt;
use crate::{Error, Result};

impl Builder<'_> {
    /// Rotation left: slot j of the result is slot j + `by`, modulo the slots in use; negative
    /// amounts go right.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the recording is finished, without the key of that rotation, or
    /// of others that it may be composed of
    /// ([`Options::compose_rotations`](crate::server::Options::compose_rotations)).
    pub fn rotate(&mut self, x: &Node, by: i64) -> Result<Node> {
        self.check(&[x])?;
        if by.rem_euclid(x.at.slots as i64) == 0 {
            return Ok(*x);
        }
        let mut y = *x;
        for by in self.amounts(x, by) {
            let g = self.recorder.chain().rotation(by);
            let at = self.recorder.galois(&y.at, g)?;
            y = self.noted_key_switch(at, &y, "a rotation", by);
        }
        Ok(y)
    }

    /// The rotations that make up one by `by`: one, unless they are to be composed.
    fn amounts(&self, x: &Node, by: i64) -> Vec<i64> {
        let (library, slots, level) = (&self.server.shared().library, x.at.slots, x.at.level);
        let composed = self.server.options().compose_rotations;
        let path = composed.then(|| library.rotations(slots, by, level)).flatten();
        path.unwrap_or_else(|| vec![library.rotation(slots, by, level)])
    }

    /// Several rotations of one ciphertext, for which its decomposition is computed once.
    ///
    /// # Errors
    /// As [`Builder::rotate`].
    pub fn rotate_many(&mut self, x: &Node, by: &[i64]) -> Result<Vec<Node>> {
        self.check(&[x])?;
        let digits = self.recorder.hoist(&x.at)?;
        by.iter()
            .map(|&by| {
                if by.rem_euclid(x.at.slots as i64) == 0 {
                    return Ok(*x);
                }
                let amounts = self.amounts(x, by);
                let g = self.recorder.chain().rotation(amounts[0]);
                let at = self.recorder.galois_hoisted(&x.at, &digits, g)?;
                let mut y = self.noted_key_switch(at, x, "a rotation", amounts[0]);
                for &by in &amounts[1..] {
                    let at = self.recorder.galois(&y.at, self.recorder.chain().rotation(by))?;
                    y = self.noted_key_switch(at, &y, "a rotation", by);
                }
                Ok(y)
            })
            .collect()
    }

    /// Every slot's complex conjugate.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the recording is finished, without the
    /// key of conjugation.
    pub fn conjugate(&mut self, x: &Node) -> Result<Node> {
        self.check(&[x])?;
        let at = self.recorder.conjugate(&x.at)?;
        Ok(self.noted_key_switch(at, x, "a conjugate", 0))
    }

    fn noted_key_switch(&mut self, at: Recorded, x: &Node, what: &'static str, by: i64) -> Node {
        let noise = self.model().key_switch(at.level, at.scale);
        let by = by.rem_euclid(self.set().slots() as i64) as usize;
        let (x, salt) = (x.estimate, salt(what, &[by as u64, at.level as u64]));
        self.noted(what, at, move |e| e[x].clone().rotated(by).renewed(salt).with_noise(noise))
    }

    /// The same ciphertext as a vector of `slots` slots, at no cost: see
    /// [`Ciphertexts::with_slots`](crate::server::Ciphertexts::with_slots).
    ///
    /// # Errors
    /// [`Error::Length`] unless it is a power of two up to those of the set.
    pub fn with_slots(&mut self, x: &Node, slots: usize) -> Result<Node> {
        self.check(&[x])?;
        check_length("the slots of a vector", slots, self.set().slots())?;
        let of = x.estimate;
        Ok(self.noted("a number of slots", Recorded { slots, ..x.at }, move |e| {
            e[of].clone().with_slots(slots)
        }))
    }

    /// Slot j of the result is the sum of slots j, j + stride, .., j + (width - 1) stride; `width`
    /// is a power of two. Rotations by stride, 2 stride, .., stride width / 2. Where the keys of
    /// rotations by 3 stride, 12 stride, 48 stride, .. are there too, four terms are added at a
    /// time, with half as many decompositions
    /// ([`inner_sum_rotations`](crate::inner_sum_rotations) names them all).
    ///
    /// # Errors
    /// [`Error::Shape`] for another width, else as [`Builder::rotate`].
    pub fn inner_sum(&mut self, x: &Node, width: usize, stride: i64) -> Result<Node> {
        self.check(&[x])?;
        let most = x.at.slots;
        if !width.is_power_of_two() || width > most {
            return Err(Error::Shape {
                operation: "an inner sum".into(),
                rule: format!("a width of {width}: it must be a power of two up to {most}"),
            });
        }
        // Amounts count modulo the slots, so that multiples of any stride have room.
        let (mut sum, mut terms, stride) = (*x, 1, stride % most as i64);
        while terms < width {
            let by = stride * terms as i64;
            let four = if 4 * terms <= width { self.three(&sum, by) } else { None };
            if let Some(amounts) = four {
                sum = self.rotated_sum(&sum, &amounts)?;
                terms *= 4;
            } else {
                let rotated = self.rotate(&sum, by)?;
                sum = self.add(&sum, &rotated)?;
                terms *= 2;
            }
        }
        Ok(sum)
    }

    /// Rotations by one, two and three times `by`, if all change something and have their keys.
    fn three(&self, x: &Node, by: i64) -> Option<[i64; 3]> {
        let (library, slots, level) = (&self.server.shared().library, x.at.slots, x.at.level);
        let serves = |by: &i64| {
            by.rem_euclid(slots as i64) != 0
                && library.serves(library.rotation(slots, *by, level), level)
        };
        let amounts = [by, 2 * by, 3 * by];
        amounts.iter().all(serves).then(|| amounts.map(|by| library.rotation(slots, by, level)))
    }

    /// x plus its rotations by `amounts`, whose keys are there.
    fn rotated_sum(&mut self, x: &Node, amounts: &[i64]) -> Result<Node> {
        let exponents: Vec<u32> =
            amounts.iter().map(|&by| self.recorder.chain().rotation(by)).collect();
        let at = self.recorder.galois_sum(&x.at, &exponents)?;
        let noise = self.model().key_switch(at.level, at.scale);
        let slots = self.set().slots() as i64;
        let rotations: Vec<(usize, u64)> = amounts
            .iter()
            .map(|by| by.rem_euclid(slots))
            .map(|by| (by as usize, salt("a rotation", &[by as u64, at.level as u64])))
            .collect();
        let x = x.estimate;
        // Each product with a key has its own error; their sum is rounded once, not each.
        Ok(self.noted("a sum of rotations", at, move |e| {
            rotations.iter().fold(e[x].clone(), |sum, &(by, salt)| {
                sum.plus(&e[x].clone().rotated(by).renewed(salt).with_noise(noise))
            })
        }))
    }

    /// The reverse of [`Builder::inner_sum`]: slot j of the result is the sum of slots j, j -
    /// stride, .., so that a vector with one slot in `width` fills the others with it.
    ///
    /// # Errors
    /// As [`Builder::inner_sum`].
    pub fn spread(&mut self, x: &Node, width: usize, stride: i64) -> Result<Node> {
        self.inner_sum(x, width, -stride)
    }
}
