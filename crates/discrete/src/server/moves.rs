//! Numbers that are known, and numbers that change places: no look-up.

use super::recordings::{Kind, locked};
use super::{ServerKey, Wires};
use crate::keys::batch;
use crate::{Error, Result};
use girih_ckks::{Ciphertext, Complex64, NoiseModel};
use std::collections::VecDeque;

impl ServerKey {
    /// Known numbers below `below` as wires, without mask or error: they hide nothing.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_batch`](crate::ClientKey::encrypt_batch).
    pub fn known<V: AsRef<[u32]>>(&self, numbers: &[V], below: u32) -> Result<Wires> {
        let (key, level) = (self.key_id(), self.set.wire_level());
        let numbers = batch(&self.set, numbers, below, |vectors, magnitude| {
            let one = |slots: &Vec<Complex64>| {
                let plaintext = self.encoder.encode(slots, self.set.scale())?;
                Ciphertext::trivial(self.set.ckks(), key, &plaintext, level, magnitude)
            };
            vectors.iter().map(one).collect()
        })?;
        self.upload(&numbers)
    }

    /// The numbers of each ciphertext moved to other slots: slot j has those of slot j + `by`,
    /// modulo their number, times i^`turns`. So number j is number j + `by` of its half; by one
    /// turn those of the first half come into the second, and minus those of the second into the
    /// first; by three turns the other way round. A few key switches, no look-up.
    ///
    /// # Errors
    /// [`Error::Ckks`] where no rotations of the set make this one, and failures of the device.
    pub fn moved(&self, x: &Wires, by: usize, turns: usize) -> Result<Wires> {
        let route = self.route(by % (self.set.numbers() / 2))?;
        if route.is_empty() && turns.is_multiple_of(4) {
            return x.clone().of_numbers(self.set.numbers());
        }
        // Each switch leaves the error of a rounding.
        let model = NoiseModel::new(self.set.ckks());
        let variance = model.key_switch(self.set.wire_level());
        let switched = route.len() as f64 * model.deviation(variance, self.set.scale());
        let kind = Kind { weights: vec![1], route, turns: turns % 4, ..Kind::default() };
        let ciphertexts = self.recording(kind, &[])?.run(&[&x.ciphertexts])?.remove(0);
        let (low, high) = x.range;
        let most = low.abs().max(high.abs());
        Ok(Wires {
            ciphertexts,
            numbers: self.set.numbers(),
            range: if turns.is_multiple_of(4) { x.range } else { (-most, most) },
            deviation: x.deviation + switched,
            ..x.clone()
        })
    }

    /// Rotations that there are keys for, one after the other, as few as possible.
    fn route(&self, by: usize) -> Result<Vec<usize>> {
        let slots = self.set.numbers() / 2;
        let mut steps = locked(&self.steps);
        if steps.is_empty() {
            // The last step of the shortest route to each amount.
            *steps = vec![0; slots];
            let rotations = crate::program::rotations(&self.set)?;
            let mut reached = VecDeque::from([0]);
            while let Some(amount) = reached.pop_front() {
                for &rotation in &rotations {
                    let next = (amount + rotation) % slots;
                    if next != 0 && steps[next] == 0 {
                        steps[next] = rotation;
                        reached.push_back(next);
                    }
                }
            }
        }
        let (mut left, mut route) = (by, Vec::new());
        while left != 0 {
            let step = steps[left];
            if step == 0 {
                return Err(Error::Ckks(girih_ckks::Error::Unsupported {
                    set: self.set.to_string(),
                    why: format!("there are no rotations by {by} slots"),
                }));
            }
            route.push(step);
            left = (left + slots - step) % slots;
        }
        Ok(route)
    }
}
