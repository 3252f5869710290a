//! Bootstrapping and its variants.

use std::sync::Arc;

use super::{Builder, Node};
use crate::program::{BootstrappingPlan, RecordError};
use crate::server::Bootstrapping;
use crate::server::room::Room;
use crate::server::tracked::{Tracked, salt};
use crate::{Error, Result};

impl Builder<'_> {
    /// A bootstrapping with the set's own message ratio; see [`Builder::bootstrap_with`].
    ///
    /// # Errors
    /// As [`Builder::bootstrap_with`].
    pub fn bootstrap(&mut self, x: &Node) -> Result<Node> {
        self.bootstrap_with(x, &Bootstrapping::default())
    }

    /// A bootstrapping as `how` says: from any level up to
    /// [`CkksParameters::default_level`](crate::CkksParameters::default_level). Slots must not
    /// exceed 1 in magnitude.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set without bootstrapping, [`Error::Value`] for an impossible
    /// message ratio, [`Error::Scale`] at level 0 with another
    /// scale than the canonical one; without [`Bootstrapping::keys`],
    /// [`Error::MissingKey`] when the recording is finished.
    pub fn bootstrap_with(&mut self, x: &Node, how: &Bootstrapping) -> Result<Node> {
        self.check(&[x])?;
        let x = &self.bootstrappable(x, how)?;
        let plan = self.bootstrapping(x.at.slots, how)?;
        let noise = self.refreshed(how, x)?;
        let (at, switching) = if how.real {
            let at = self.recorder.bootstrap_real(&x.at, &plan);
            let at = self.with_keys_named(at, &plan)?;
            (at, self.model().key_switch(at.level, at.scale))
        } else {
            let at = self.recorder.bootstrap(&x.at, &plan);
            (self.with_keys_named(at, &plan)?, 0.0)
        };
        let x = x.estimate;
        Ok(self.noted("a bootstrapping", at, move |e| noise(&e[x], switching)))
    }

    /// The first of three parts of [`Builder::bootstrap_with`]: the halves of its coefficients,
    /// with the estimate that the input has where the bootstrapping starts.
    pub(in crate::server) fn bootstrap_halves(
        &mut self,
        x: &Node,
        how: &Bootstrapping,
    ) -> Result<[Node; 2]> {
        self.check(&[x])?;
        let x = &self.bootstrappable(x, how)?;
        let plan = self.bootstrapping(x.at.slots, how)?;
        let adjust = self.adjustment(how, x)?;
        let halves = self.recorder.bootstrap_halves(&x.at, &plan);
        let halves = self.with_keys_named(halves, &plan)?;
        let (x, salt) = (x.estimate, salt("bootstrapping", &[]));
        let rule = move |e: &[Tracked]| e[x].clone().averaged().renewed(salt).with_noise(adjust);
        Ok(halves.map(|at| self.noted_within(None, at, rule)))
    }

    /// The second part, of each half on its own.
    pub(in crate::server) fn bootstrapped_half(
        &mut self,
        half: &Node,
        how: &Bootstrapping,
    ) -> Result<Node> {
        self.check(&[half])?;
        let plan = self.bootstrapping(half.at.slots, how)?;
        let at = self.recorder.bootstrapped_half(&half.at, &plan)?;
        let half = half.estimate;
        Ok(self.noted_within(None, at, move |e| e[half].clone()))
    }

    /// The third part, of both.
    pub(in crate::server) fn bootstrapped(
        &mut self,
        [re, im]: [&Node; 2],
        how: &Bootstrapping,
    ) -> Result<Node> {
        self.check(&[re, im])?;
        let plan = self.bootstrapping(re.at.slots, how)?;
        let noise = self.server.refresh_noise(re.at.slots, how)?;
        let at = self.recorder.bootstrapped([&re.at, &im.at], &plan)?;
        let (at, switching) = if how.real {
            let at = self.recorder.real_part(&at)?;
            (at, self.model().key_switch(at.level, at.scale))
        } else {
            (at, 0.0)
        };
        let re = re.estimate;
        Ok(self.noted("a bootstrapping", at, move |e| {
            noise.after(&e[re], e[re].magnitude(), switching)
        }))
    }

    /// The first half of a bootstrapping: from coefficients at level 0 to slots at
    /// [`CkksParameters::default_level`](crate::CkksParameters::default_level). Slot j of the
    /// result is sin(2 pi m / Q_0), m the coefficient of the input's polynomial at exponent
    /// bitrev(j) N / 2n for n slots; the other n coefficients of the vector are ignored. It is what
    /// a ciphertext needs whose coefficients were put together elsewhere.
    ///
    /// The estimate of the result counts the errors of this step alone, not those of the input,
    /// whose slots are none.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set without bootstrapping, [`Error::Shape`] for a set that
    /// corrects its sine by an arcsine after it, [`Error::Level`] and [`Error::Scale`] unless the
    /// input stands at level 0 with the canonical scale; without [`Bootstrapping::half_keys`],
    /// [`Error::MissingKey`] when the recording is finished.
    pub fn half_bootstrap(&mut self, x: &Node) -> Result<Node> {
        self.check(&[x])?;
        let plan = self.server.half_plan(x.at.slots)?;
        let at = self.recorder.half_bootstrap(&x.at, &plan)?;
        let noise = self.model().half_bootstrapping()?.hypot(self.model().rounding(at.scale));
        let (x, salt) = (x.estimate, salt("half-bootstrapping", &[]));
        Ok(self.noted("a bootstrapping", at, move |e| {
            e[x].without_errors().renewed(salt).with_noise(noise)
        }))
    }

    /// What a bootstrapping makes of what is known of `x`, by the model, the adjust before it
    /// included, and the key switch after it.
    fn refreshed(
        &self,
        how: &Bootstrapping,
        x: &Node,
    ) -> Result<impl Fn(&Tracked, f64) -> Tracked + Copy + Send + Sync + 'static> {
        let noise = self.server.refresh_noise(x.at.slots, how)?;
        let adjust = self.adjustment(how, x)?;
        let salt = salt("bootstrapping", &[]);
        Ok(move |of: &Tracked, switching| {
            let start = of.clone().averaged().renewed(salt).with_noise(adjust);
            noise.after(&start, of.magnitude(), switching)
        })
    }

    /// The plan of a bootstrapping that becomes part of the recording.
    fn bootstrapping(
        &mut self,
        slots: usize,
        how: &Bootstrapping,
    ) -> Result<Arc<BootstrappingPlan>> {
        self.bootstrapped.get_or_insert(slots);
        self.server.plan(slots, how)
    }

    /// What was recorded. Rotation keys may be there, but for lower levels, from a bootstrapping of
    /// another number of slots: then it is that of this number that is named as missing.
    fn with_keys_named<T>(
        &self,
        recorded: std::result::Result<T, RecordError>,
        plan: &BootstrappingPlan,
    ) -> Result<T> {
        if let (Err(RecordError::Level { .. }), Some(first)) = (&recorded, plan.first()) {
            self.server.shared().library.check_kinds(first.kinds())?;
        }
        Ok(recorded?)
    }

    /// `x` as the operand of a bootstrapping. The modular reduction takes slots that stay below
    /// half of Q_0, a quarter where an arcsine follows the sine.
    fn bootstrappable(&mut self, x: &Node, how: &Bootstrapping) -> Result<Node> {
        let set = self.set();
        let corrects = set.bootstrapping().is_some_and(|b| b.arcsine_levels() > 0);
        let ratio = libm::exp2(f64::from(how.ratio(set)?));
        let most = ratio / if corrects { 4.0 } else { 2.0 };
        Ok(self.held_to(Room::bootstrapping(most, how.worst_case()), x))
    }

    /// The deviation that is added on the way of `x` to where a bootstrapping starts.
    fn adjustment(&self, how: &Bootstrapping, x: &Node) -> Result<f64> {
        let start = self.server.plan(x.at.slots, how)?.start(self.server.chain());
        let scale = self.canonical("a bootstrapping", start)?;
        let mut adjust = if x.at.level > start { self.model().rounding(scale) } else { 0.0 };
        if how.phases.is_some() {
            adjust = adjust.hypot(self.model().rounding(self.canonical("a bootstrapping", 0)?));
        }
        Ok(adjust)
    }

    /// Two ciphertexts of real slots bootstrapped as u + i v, at the cost of one. The results have
    /// twice the canonical scale; a product or a sum brings that in order.
    ///
    /// # Errors
    /// As [`Builder::bootstrap_with`], and [`Error::Length`] for unequal numbers of slots.
    pub fn bootstrap_two_real(
        &mut self,
        u: &Node,
        v: &Node,
        how: &Bootstrapping,
    ) -> Result<(Node, Node)> {
        // Both together are complex.
        let how = &Bootstrapping { real: false, ..*how };
        self.check(&[u, v])?;
        if u.at.slots != v.at.slots {
            return Err(Error::Length {
                what: "the second ciphertext",
                found: v.at.slots,
                rule: format!("the first has {} slots, and both need as many", u.at.slots),
            });
        }
        let [u, v] = [&self.bootstrappable(u, how)?, &self.bootstrappable(v, how)?];
        let plan = self.bootstrapping(u.at.slots, how)?;
        let noise = [self.refreshed(how, u)?, self.refreshed(how, v)?];
        let both = self.recorder.bootstrap_real_pair([&u.at, &v.at], &plan);
        let [re, im] = self.with_keys_named(both, &plan)?;
        let switching = self.model().key_switch(re.level, re.scale);
        // Each meets the magnitude of both, and its own error alone.
        let (u, v) = (u.estimate, v.estimate);
        let salts = [salt("real half", &[]), salt("imaginary half", &[])];
        let part = move |own: &Tracked, other: &Tracked, i: usize| {
            let both = own.magnitude().hypot(other.magnitude() + other.reach());
            let pair = own.clone().with_mask_of(&own.plus(other)).renewed(salts[i]);
            noise[i](&pair.reaching(both), switching).sized_like(own)
        };
        let re = self.noted("a bootstrapping", re, move |e| part(&e[u], &e[v], 0));
        let im = self.noted("a bootstrapping", im, move |e| part(&e[v], &e[u], 1));
        Ok((re, im))
    }

    /// Meta-BTS (Bae et al. 2022): the difference between x and its bootstrapping, times 2^bits, is
    /// bootstrapped too and taken off. The error of the modular reduction vanishes, for vectors of
    /// equal slots too, and about `bits` bits are gained as far as three roundings allow. The
    /// result is one level below that of [`Builder::bootstrap`], and it costs two of them.
    ///
    /// The first one's error times 2^bits must stay below 1: 14 bits serve random slots at message
    /// ratio 8, 8 bits constant ones.
    ///
    /// # Errors
    /// As [`Builder::bootstrap_with`], and [`Error::Value`] for bits that are not 1 to 40.
    pub fn meta_bootstrap(&mut self, x: &Node, bits: u32, how: &Bootstrapping) -> Result<Node> {
        if !(1..=40).contains(&bits) {
            return Err(Error::Value {
                what: "bits to gain".into(),
                value: bits.to_string(),
                rule: "1 to 40".into(),
            });
        }
        self.check(&[x])?;
        let x = &self.bootstrappable(x, how)?;
        let plan = self.bootstrapping(x.at.slots, how)?;
        let noise = self.server.refresh_noise(x.at.slots, how)?;
        let at = self.recorder.bootstrap_twice(&x.at, &plan, bits);
        let at = self.with_keys_named(at, &plan)?;
        let bottom = self.model().rounding(self.canonical("a bootstrapping", 0)?);
        let rounding = self.model().rounding(at.scale) * std::f64::consts::SQRT_2;
        let adjusts = 2.0f64.sqrt() * bottom;
        let power = f64::from(bits).exp2();
        let (x, salt) = (x.estimate, salt("two bootstrappings", &[]));
        Ok(self.noted("a bootstrapping", at, move |e| {
            // The second one meets what the first got wrong, times 2^bits, and is divided by that.
            let none = e[x].without_errors();
            let slots = e[x].magnitude() + e[x].reach();
            let first = noise.after(&none, slots, 0.0).estimate();
            let rest = first.largest_error() * power;
            let second = noise.after(&none, rest, 0.0).times(1.0 / power).estimate();
            let noise = second.deviation.hypot(adjusts).hypot(rounding);
            let of = e[x].clone().averaged().renewed(salt);
            of.with_bias(second.bias).with_noise(noise)
        }))
    }
}
