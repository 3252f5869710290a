//! Levels, and bootstrapping.

use super::super::recording::Operand;
use super::super::{Bootstrapping, Ciphertexts, ServerKey};
use super::{Key, only};
use crate::Result;
use crate::program::Variant;

impl ServerKey {
    /// Divides by the ratio of the level and goes down one.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn rescale(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("rescale"), x, |b, x| b.rescale(x))
    }

    /// To the canonical scale of the lower level `to`, by one rounding.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn adjust(&self, x: &Ciphertexts, to: usize) -> Result<Ciphertexts> {
        self.one(Key::new("adjust").integer(to as i64), x, |b, x| b.adjust(x, to))
    }

    /// To level `to` at whatever scale that gives; see [`Builder::drop_to`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn drop_to(&self, x: &Ciphertexts, to: usize) -> Result<Ciphertexts> {
        self.one(Key::new("drop_to").integer(to as i64), x, |b, x| b.drop_to(x, to))
    }

    /// A bootstrapping with the set's own message ratio: from any level up to
    /// [`CkksParameters::default_level`](crate::CkksParameters::default_level). Slots must not
    /// exceed 1 in magnitude.
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn bootstrap(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.bootstrap_with(x, &Bootstrapping::default())
    }

    /// A bootstrapping as `how` says; see [`Bootstrapping`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn bootstrap_with(&self, x: &Ciphertexts, how: &Bootstrapping) -> Result<Ciphertexts> {
        if self.options().divide_sines && self.plan(x.slots(), how)?.variant() == Variant::Pair {
            return self.bootstrap_divided(x, how);
        }
        self.one(how.key(Key::new("bootstrap")), x, |b, x| b.bootstrap_with(x, how))
    }

    /// The same in three parts, of which the second runs twice for each ciphertext: calls that
    /// several devices share.
    fn bootstrap_divided(&self, x: &Ciphertexts, how: &Bootstrapping) -> Result<Ciphertexts> {
        let key = how.key(Key::new("bootstrap, halves"));
        let halves = self.all(key, &[x], |b, n| Ok(b.bootstrap_halves(&n[0], how)?.to_vec()))?;
        let key = how.key(Key::new("bootstrap, one half"));
        let sine = self
            .recording_of(key, &[&halves[0]], |b, n| Ok(vec![b.bootstrapped_half(&n[0], how)?]))?;
        let calls: Vec<_> = halves.iter().map(|half| [Operand::Ciphertexts(half)]).collect();
        let calls: Vec<&[Operand<'_>]> = calls.iter().map(|call| &call[..]).collect();
        let sines = sine.run_all(&calls)?;
        let [re, im] = [&sines[0][0], &sines[1][0]];
        let key = how.key(Key::new("bootstrap, both halves"));
        only(self.all(key, &[re, im], |b, n| Ok(vec![b.bootstrapped([&n[0], &n[1]], how)?]))?)
    }

    /// From coefficients at level 0 to slots, the first half of a bootstrapping; see
    /// [`Builder::half_bootstrap`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn half_bootstrap(&self, x: &Ciphertexts) -> Result<Ciphertexts> {
        self.one(Key::new("half_bootstrap"), x, |b, x| b.half_bootstrap(x))
    }

    /// Two batches of real vectors bootstrapped at the cost of one; see
    /// [`Builder::bootstrap_two_real`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn bootstrap_two_real(
        &self,
        u: &Ciphertexts,
        v: &Ciphertexts,
        how: &Bootstrapping,
    ) -> Result<(Ciphertexts, Ciphertexts)> {
        let key = how.key(Key::new("bootstrap_two_real"));
        let mut both = self.all(key, &[u, v], |b, n| {
            let (u, v) = b.bootstrap_two_real(&n[0], &n[1], how)?;
            Ok(vec![u, v])
        })?;
        let v = both.pop();
        Ok((only(both)?, only(v.into_iter().collect())?))
    }

    /// Two bootstrappings, the second of the first one's error: about `bits` bits more; see
    /// [`Builder::meta_bootstrap`].
    ///
    /// # Errors
    /// As for [every operation](ServerKey#errors-of-operations).
    pub fn meta_bootstrap(
        &self,
        x: &Ciphertexts,
        bits: u32,
        how: &Bootstrapping,
    ) -> Result<Ciphertexts> {
        let key = how.key(Key::new("meta_bootstrap").integer(i64::from(bits)));
        self.one(key, x, |b, x| b.meta_bootstrap(x, bits, how))
    }
}

impl Bootstrapping {
    fn key(&self, key: Key) -> Key {
        let ratio = self.message_ratio.map_or(-1, i64::from);
        key.integer(ratio)
            .integer(i64::from(self.real))
            .integer(i64::from(self.independent_slots))
            .integer(i64::from(self.phases.is_some()))
            .integer(self.phases.unwrap_or(0) as i64)
            .integer(i64::from(self.few_keys))
    }
}
