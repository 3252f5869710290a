//! The numbers of a large-precision context and what follows from them.

use crate::{ClientKey, Error, LweCiphertexts, NoiseModel, ParameterSet, Result, error, noise};
use girih_backend::{BootstrapShape, Gadget, Transform};
use girih_rlwe::Mismatch;

/// Largest log2 of a message's modulus.
pub(super) const MAX_LOG2_MODULUS: u32 = 29;

/// A bound on the error and parameter sets that differ in their gadget alone.
///
/// Ciphertexts name the first set as theirs (*home*). Which of them a bootstrapping uses follows
/// from the noise model: of those whose error it bears, one with the fewest digits, and of these
/// the one with the least error under the transform in use.
#[derive(Clone, Debug, PartialEq)]
pub struct LargeParameters {
    sets: Vec<ParameterSet>,
    /// Of each set under the exact transform, then under the f64 transform.
    models: [Vec<NoiseModel>; 2],
    log2_beta: u32,
    /// log2 of the failure probability that one bootstrapping may have.
    log2_target: f64,
}

/// A large-precision function, as costs and failures are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LargeOperation {
    /// [`LargeServer::floor`](super::LargeServer::floor).
    Floor,
    /// [`LargeServer::sign`](super::LargeServer::sign); comparisons are signs of differences.
    Sign,
    /// [`LargeServer::decompose`](super::LargeServer::decompose).
    Decompose,
    /// [`LargeServer::relu`](super::LargeServer::relu), and the largest or smallest of two.
    Relu,
}

impl Default for LargeParameters {
    /// LMP22 and OpenFHE: n = 1305, N = 2048, Q of 54 bits, beta = 128; gadget bases 2^27, 2^18 and
    /// 2^14 for exact transforms, and one to four digits that drop more bits for the f64 transform.
    /// Reading a refreshed message fails with probability below 2^-56, a fresh one below 2^-70.
    fn default() -> Self {
        let names = ["G4", "G4_1X23", "G4_BASE2P18", "G4_2X15", "G4_BASE2P14", "G4_3X12", "G4_4X9"];
        let sets = names.map(|name| ParameterSet::by_name(name).expect("built in"));
        Self::new(sets.to_vec(), 7, -56.0).expect("the built-in sets differ in their gadget alone")
    }
}

fn check_target(log2_target: f64) -> Result<()> {
    if log2_target.is_nan() || log2_target >= 0.0 {
        let what = "log2 of the largest failure probability";
        return error::mismatch(Mismatch::real(what, log2_target, "it must be below 0"));
    }
    Ok(())
}

impl LargeParameters {
    /// A context of one's own: sets that share everything but the gadget, those with fewer digits
    /// first; log2 of beta; log2 of the largest failure probability that one bootstrapping may
    /// have, below 0.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) naming the sets that do not belong together, or
    /// what beta or the probability may be; [`Error::Unsupported`](crate::Error::Unsupported) for
    /// sets without gadget decomposition.
    pub fn new(sets: Vec<ParameterSet>, log2_beta: u32, log2_target: f64) -> Result<Self> {
        let Some(home) = sets.first() else {
            return error::mismatch(Mismatch::empty("parameter sets of a large-precision context"));
        };
        let common = |set: &ParameterSet| BootstrapShape {
            gadget: home.shape().gadget,
            ..set.shape().clone()
        };
        for pair in sets.windows(2) {
            let more_digits = pair[0].shape().levels() <= pair[1].shape().levels()
                && pair[0].shape().gadget != pair[1].shape().gadget;
            if common(&pair[1]) != *home.shape()
                || pair[1].errors() != home.errors()
                || !more_digits
            {
                let rule = "sets must differ in their gadget alone, those with fewer digits first";
                let [first, second] = [0, 1].map(|i| pair[i].to_string());
                return error::mismatch(Mismatch::unlike(first, second, rule));
            }
        }
        if let Some(set) =
            sets.iter().find(|s| !matches!(s.shape().gadget, Gadget::Decomposition { .. }))
        {
            return Err(set.unsupported("large precision needs sets with gadget decomposition"));
        }
        let most = home.shape().log2_monomials() - 2;
        if !(1..=most).contains(&log2_beta) {
            let what = format!("log2 of beta of {home}");
            return error::mismatch(Mismatch::range(what, log2_beta, [1, most]));
        }
        check_target(log2_target)?;
        let models = [Transform::Ntt, Transform::Fft]
            .map(|t| sets.iter().map(|s| NoiseModel::with_transform(s, t)).collect());
        Ok(Self { sets, models, log2_beta, log2_target })
    }

    /// OpenFHE's context for an 11-bit modulus: N = 1024 and Q of 27 bits. Half the time, but only
    /// for moduli up to 2^11 and functions that are not arbitrary.
    pub fn small() -> Self {
        let set = ParameterSet::by_name("G5").expect("built in");
        Self::new(vec![set], 7, -60.0).expect("a single set with gadget decomposition")
    }

    /// A toy without any security, for tests: n = 32, N = 256, beta = 16, so that digits have 4
    /// bits as they should.
    pub fn insecure() -> Self {
        let names =
            ["INSECURE_LARGE", "INSECURE_LARGE_2P18", "INSECURE_LARGE_2X15", "INSECURE_LARGE_2P9"];
        let sets = names.map(|n| ParameterSet::by_name(n).expect("built in"));
        Self::new(sets.to_vec(), 4, -40.0).expect("the built-in sets differ in their gadget alone")
    }

    /// The same context with `packing` messages to a ciphertext.
    ///
    /// # Errors
    /// As [`ParameterSet::with_packing`].
    pub fn with_packing(&self, packing: usize) -> Result<Self> {
        let sets = self.sets.iter().map(|s| s.with_packing(packing)).collect::<Result<_>>()?;
        Self::new(sets, self.log2_beta, self.log2_target)
    }

    /// The same context, in which one bootstrapping fails on a refreshed message with a probability
    /// of at most `2^log2_target`: less takes more digits.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an exponent that is not below 0.
    pub fn with_target(self, log2_target: f64) -> Result<Self> {
        check_target(log2_target)?;
        Ok(Self { log2_target, ..self })
    }

    /// The set that ciphertexts and the client key name as theirs.
    pub fn home(&self) -> &ParameterSet {
        &self.sets[0]
    }

    /// All sets, those with fewer digits first.
    pub fn sets(&self) -> &[ParameterSet] {
        &self.sets
    }

    /// beta, the bound on errors.
    pub fn beta(&self) -> u64 {
        1 << self.log2_beta
    }

    /// Bits of the digits that [`LargeServer::decompose`](super::LargeServer::decompose) gives, all
    /// of a rotation: log2 of `2N / 2 beta`.
    pub fn digit_bits(&self) -> u32 {
        self.log2_rotation() - self.log2_beta - 1
    }

    /// log2 of 2N, the modulus of rotations.
    pub(super) fn log2_rotation(&self) -> u32 {
        self.home().shape().log2_monomials()
    }

    /// Bits of messages modulo `2^log2_modulus`.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) naming the moduli there are.
    pub fn message_bits(&self, log2_modulus: u32) -> Result<u32> {
        let least = self.log2_beta + 2;
        if !(least..=MAX_LOG2_MODULUS).contains(&log2_modulus) {
            let beta = self.beta();
            let what = format!("large messages with beta = {beta}");
            let allowed = [least, MAX_LOG2_MODULUS];
            return error::mismatch(Mismatch::modulus(what, log2_modulus, allowed));
        }
        Ok(log2_modulus - self.log2_beta - 1)
    }

    /// log2 of the modulus that messages of `bits` bits take; [`LargeParameters::message_bits`]
    /// says whether there is one.
    pub fn log2_modulus(&self, bits: u32) -> u32 {
        bits.saturating_add(self.log2_beta + 1)
    }

    /// Encrypts messages under the modulus `2^log2_modulus`; see [`LargeParameters::message_bits`]
    /// for their size.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) for a client key that is not of the home set,
    /// and [`Error::Mismatch`](crate::Error::Mismatch) for a modulus out of range, an empty batch,
    /// or a message that does not fit.
    pub fn encrypt(
        &self,
        client: &ClientKey,
        messages: &[u64],
        log2_modulus: u32,
    ) -> Result<LweCiphertexts> {
        self.check_home(client.set())?;
        client.encrypt_at(messages, 1 << self.message_bits(log2_modulus)?, log2_modulus)
    }

    /// Decrypts messages under whatever modulus the ciphertexts have.
    ///
    /// # Errors
    /// As [`LargeParameters::encrypt`].
    pub fn decrypt(&self, client: &ClientKey, ciphertexts: &LweCiphertexts) -> Result<Vec<u64>> {
        self.check_home(client.set())?;
        client.decrypt(ciphertexts, 1 << self.message_bits(ciphertexts.log2_modulus())?)
    }

    pub(super) fn check_home(&self, set: &ParameterSet) -> Result<()> {
        if set != self.home() {
            let what = "keys or ciphertexts of a large-precision context";
            return error::wrong_set(what, set, self.home());
        }
        Ok(())
    }

    /// Digits of a gadget, which its time grows with.
    pub(super) fn digits(&self, gadget: usize) -> usize {
        self.sets[gadget].shape().levels()
    }

    /// The gadgets that `usable` names, of those with as many digits only the one with the least
    /// error; fewest digits first.
    pub(super) fn ladder(
        &self,
        transform: Transform,
        usable: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.sets.len()).filter(|&g| usable(g)).collect();
        let key = |g: usize| (self.digits(g), self.model(g, transform).sigma_acc());
        all.sort_by(|&a, &b| key(a).partial_cmp(&key(b)).expect("deviations are numbers"));
        all.dedup_by_key(|g| self.digits(*g));
        all
    }

    /// Position of the cheapest gadget, of those that `usable` names, whose results modulo
    /// `2^log2_output` can be read and read from: errors of a refreshed input and of one
    /// bootstrapping together stay below beta.
    pub(super) fn gadget_among(
        &self,
        log2_output: u32,
        transform: Transform,
        usable: impl Fn(usize) -> bool,
    ) -> Result<usize> {
        let good = |g| {
            self.log2_misread(
                self.sigma_switched(g, log2_output, transform),
                g,
                log2_output,
                transform,
            ) <= self.log2_target
        };
        self.chosen(&format!("results modulo 2^{log2_output}"), transform, usable, good)
    }

    /// Position in [`LargeParameters::sets`] of the cheapest gadget whose results modulo
    /// `2^log2_output` are good enough: what a [`Function`](crate::Function) with such results, or
    /// a floor under such a modulus, needs a key of.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) where no gadget is fine enough.
    pub fn gadget(&self, log2_output: u32, transform: Transform) -> Result<usize> {
        self.gadget_among(log2_output, transform, |_| true)
    }

    /// Gadgets that some operations meet, from messages modulo `2^log2_modulus` on as that modulus
    /// shrinks, as positions in [`LargeParameters::sets`]: what
    /// [`LargeKeys::generate`](super::LargeKeys::generate) takes.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus out of range,
    /// [`Error::Unsupported`](crate::Error::Unsupported) for one that no gadget is fine enough for.
    pub fn gadgets(
        &self,
        operations: &[LargeOperation],
        log2_modulus: u32,
        transform: Transform,
    ) -> Result<Vec<usize>> {
        self.message_bits(log2_modulus)?;
        let mut gadgets = Vec::new();
        for &operation in operations {
            let plan = self.gadget_plan(operation, log2_modulus, transform, &|_| true)?;
            gadgets.extend(plan.rounds.iter().flat_map(|r| [r.decide, r.read]));
            gadgets.extend(plan.last);
            if plan.rounds.is_empty() && plan.last.is_none() {
                // Nothing to do, but there must be a key.
                gadgets.push(self.gadget(self.log2_rotation(), transform)?);
            }
            if operation == LargeOperation::Relu && log2_modulus >= self.log2_rotation() {
                gadgets.push(self.product_gadget(log2_modulus, transform, |_| true)?);
            }
        }
        gadgets.sort_unstable();
        gadgets.dedup();
        Ok(gadgets)
    }

    /// log2 of the modulus that products with a sign are summed in, before the sum is rounded to
    /// `2^log2_modulus`: so many bootstrapped terms would leave too much error in a sum under that
    /// modulus itself.
    pub(super) fn log2_product(log2_modulus: u32) -> u32 {
        (log2_modulus + 4).min(MAX_LOG2_MODULUS + 1)
    }

    /// As [`LargeParameters::gadget_among`], for the terms of a product with a sign.
    pub(super) fn product_gadget(
        &self,
        log2_modulus: u32,
        transform: Transform,
        usable: impl Fn(usize) -> bool,
    ) -> Result<usize> {
        let good = |g: usize| {
            noise::log2_beyond(self.beta() as f64, self.sigma_product(g, log2_modulus, transform))
                <= self.log2_target
        };
        self.chosen(
            &format!("products with a sign modulo 2^{log2_modulus}"),
            transform,
            usable,
            good,
        )
    }

    /// Deviation of a sum of products with a sign, rounded to `2^log2_modulus`.
    fn sigma_product(&self, gadget: usize, log2_modulus: u32, transform: Transform) -> f64 {
        let (wide, terms) =
            (Self::log2_product(log2_modulus), 4.0 * self.rounds(log2_modulus).len() as f64 + 3.0);
        let model = self.model(gadget, transform);
        // All are results of one key with weight 1: what they share adds up.
        let shared = model.covariance_out_at(wide);
        let variance = terms * (model.variance_out_at(wide) - shared) + terms * terms * shared;
        let sigma = variance.sqrt() / f64::from(1u32 << (wide - log2_modulus));
        sigma.hypot(model.sigma_rounding())
    }

    /// Deviation of the error of an operation's results on messages modulo `2^log2_modulus`, of the
    /// last digit for [`LargeOperation::Decompose`], in units of their modulus.
    ///
    /// # Errors
    /// As [`LargeParameters::gadgets`].
    pub fn sigma_result(
        &self,
        operation: LargeOperation,
        log2_modulus: u32,
        transform: Transform,
    ) -> Result<f64> {
        self.sigma_result_among(operation, log2_modulus, transform, &|_| true)
    }

    /// The same with the gadgets that `usable` names.
    pub(super) fn sigma_result_among(
        &self,
        operation: LargeOperation,
        log2_modulus: u32,
        transform: Transform,
        usable: &dyn Fn(usize) -> bool,
    ) -> Result<f64> {
        self.message_bits(log2_modulus)?;
        let plan = self.gadget_plan(operation, log2_modulus, transform, usable)?;
        let log2_q = self.home().shape().log2_lwe_modulus;
        Ok(match (operation, plan.rounds.last(), plan.last) {
            (LargeOperation::Floor, Some(round), _) => {
                self.model(round.read, transform).sigma_out_at(log2_modulus)
            }
            (LargeOperation::Sign, _, Some(last)) => {
                self.model(last, transform).sigma_out_at(log2_q)
            }
            (LargeOperation::Relu, ..) if log2_modulus < self.log2_rotation() => self
                .model(self.gadget_among(log2_modulus + 1, transform, usable)?, transform)
                .sigma_out_at(log2_modulus),
            (LargeOperation::Relu, ..) => self.sigma_product(
                self.product_gadget(log2_modulus, transform, usable)?,
                log2_modulus,
                transform,
            ),
            (_, Some(round), _) => self.sigma_switched(round.read, round.log2_modulus, transform),
            // Nothing was done.
            _ => self.model(0, transform).sigma_fresh(),
        })
    }

    /// The cheapest gadget, or an error that names the key to make and load.
    pub(super) fn chosen(
        &self,
        what: &str,
        transform: Transform,
        usable: impl Fn(usize) -> bool,
        good: impl Fn(usize) -> bool,
    ) -> Result<usize> {
        if let Some(gadget) = self.ladder(transform, usable).into_iter().find(|&g| good(g)) {
            return Ok(gadget);
        }
        match self.ladder(transform, |_| true).into_iter().find(|&g| good(g)) {
            Some(g) => Err(Error::MissingKey {
                what: what.into(),
                wanted: format!("the key of {}", self.sets[g]),
                advice: "no loaded key is fine enough, so make and load it",
            }),
            None => Err(self.home().unsupported(&format!(
                "{what}: no gadget of this context is fine enough under {transform}"
            ))),
        }
    }

    /// log2 of the modulus before each round that takes a digit off.
    pub(super) fn rounds(&self, mut log2_modulus: u32) -> Vec<u32> {
        let mut rounds = Vec::new();
        while log2_modulus > self.log2_rotation() {
            rounds.push(log2_modulus);
            log2_modulus -= self.digit_bits();
        }
        rounds
    }

    /// Bootstrappings that an operation takes for each ciphertext modulo `2^log2_modulus`.
    pub fn bootstraps(&self, operation: LargeOperation, log2_modulus: u32) -> usize {
        let rounds = self.rounds(log2_modulus).len();
        match operation {
            LargeOperation::Floor => 2,
            LargeOperation::Sign => 2 * rounds + 1,
            LargeOperation::Decompose => 2 * rounds,
            LargeOperation::Relu if log2_modulus < self.log2_rotation() => 2,
            LargeOperation::Relu if rounds == 0 => 3,
            LargeOperation::Relu => 6 * rounds + 4,
        }
    }

    /// log2 of the probability that an operation goes wrong on one message modulo `2^log2_modulus`
    /// whose error has deviation `sigma_input` ([`NoiseModel::sigma_fresh`] of a fresh ciphertext),
    /// by the noise model, all rounds together.
    ///
    /// A floor errs where the input's error and that of its first bootstrapping together exceed
    /// beta; a sign, where any of its floors or the last reading does. Rounds after the first see
    /// the error that rounding to a smaller modulus leaves.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus out of range,
    /// [`Error::Unsupported`](crate::Error::Unsupported) for one that no gadget is fine enough for.
    pub fn log2_failure(
        &self,
        operation: LargeOperation,
        log2_modulus: u32,
        transform: Transform,
        sigma_input: f64,
    ) -> Result<f64> {
        self.log2_failure_among(operation, log2_modulus, transform, sigma_input, &|_| true)
    }

    /// The same with the gadgets that `usable` names.
    pub(super) fn log2_failure_among(
        &self,
        operation: LargeOperation,
        log2_modulus: u32,
        transform: Transform,
        sigma_input: f64,
        usable: &dyn Fn(usize) -> bool,
    ) -> Result<f64> {
        self.message_bits(log2_modulus)?;
        let gadget = |l: u32| self.gadget_among(l, transform, usable);
        if operation == LargeOperation::Relu && log2_modulus < self.log2_rotation() {
            // Two bootstrappings, under the modulus of a rotation.
            let first =
                self.model(gadget(log2_modulus + 1)?, transform).sigma_out_at(log2_modulus + 1);
            return Ok(self.log2_beyond_beta(&[sigma_input, first], log2_modulus + 1, transform));
        }
        let plan = self.gadget_plan(operation, log2_modulus, transform, usable)?;
        // A product with the sign sees the sign's own error beside that of
        // the part it is applied to.
        let sign_sigma = self.sigma_sign(operation, transform);
        let (mut sigma, mut failure) = (sigma_input, f64::NEG_INFINITY);
        for round in &plan.rounds {
            let first = self.model(round.decide, transform).sigma_out_at(round.log2_modulus);
            let seen = [sigma, sign_sigma, first];
            failure =
                log2_sum(failure, self.log2_beyond_beta(&seen, round.log2_modulus, transform));
            sigma = self.sigma_switched(round.read, round.log2_modulus, transform);
        }
        // What is left is read by a bootstrapping of this operation, or is itself handed out where
        // nothing was taken off.
        let reads_last = matches!(operation, LargeOperation::Sign | LargeOperation::Relu)
            || plan.rounds.is_empty();
        if reads_last {
            let seen = [sigma, sign_sigma];
            failure =
                log2_sum(failure, self.log2_beyond_beta(&seen, self.log2_rotation(), transform));
        }
        Ok(failure)
    }

    /// log2 of the probability that errors of these deviations modulo `2^log2_modulus` are beyond
    /// beta together, with what results of one key share.
    fn log2_beyond_beta(&self, sigmas: &[f64], log2_modulus: u32, transform: Transform) -> f64 {
        let variance = self.variance_of_sum(sigmas, log2_modulus, transform);
        noise::log2_beyond(self.beta() as f64, variance.sqrt())
    }

    /// [`NoiseModel::variance_of_sum`] of ciphertexts with errors of these deviations, each with
    /// weight 1 or -1: by the finest gadget, whose results share most of their errors.
    pub(super) fn variance_of_sum(
        &self,
        sigmas: &[f64],
        log2_modulus: u32,
        transform: Transform,
    ) -> f64 {
        let terms = sigmas.iter().map(|sigma| (1.0, sigma * sigma));
        self.model(self.sets.len() - 1, transform).variance_of_sum(log2_modulus, terms)
    }

    /// The noise of one gadget.
    pub(super) fn model(&self, gadget: usize, transform: Transform) -> NoiseModel {
        self.models[usize::from(transform == Transform::Fft)][gadget]
    }

    /// Deviation that the sign adds to what a product with it reads; nothing for other operations.
    pub(super) fn sigma_sign(&self, operation: LargeOperation, transform: Transform) -> f64 {
        if operation != LargeOperation::Relu {
            return 0.0;
        }
        let gadget = self.gadget(self.log2_rotation(), transform).unwrap_or(0);
        self.model(gadget, transform).sigma_out_at(self.log2_rotation())
    }

    /// Deviation of the error after a floor modulo `2^log2_modulus` whose digit was read with
    /// `gadget`, and the switch to the next round's modulus.
    pub(super) fn sigma_switched(
        &self,
        gadget: usize,
        log2_modulus: u32,
        transform: Transform,
    ) -> f64 {
        let model = self.model(gadget, transform);
        (model.sigma_out_at(log2_modulus) / f64::from(1u32 << self.digit_bits()))
            .hypot(model.sigma_rounding())
    }

    /// log2 of the probability that a floor modulo `2^log2_modulus` errs: that errors of deviation
    /// `sigma_input` and of its first bootstrapping, with gadget `decide`, are beyond beta
    /// together. Its second bootstrapping only hands its error on.
    pub(super) fn log2_misread(
        &self,
        sigma_input: f64,
        decide: usize,
        log2_modulus: u32,
        transform: Transform,
    ) -> f64 {
        noise::log2_beyond(
            self.beta() as f64,
            sigma_input.hypot(self.model(decide, transform).sigma_out_at(log2_modulus)),
        )
    }

    /// log2 of the failure probability that one bootstrapping may have.
    pub(super) fn log2_target(&self) -> f64 {
        self.log2_target
    }

    /// log2 of the failure probability that operations are held to unless
    /// [`LargeServer::limit_failure`](super::LargeServer::limit_failure) says otherwise: 16 above
    /// the target of one bootstrapping on a refreshed message, which leaves room for the rounds of
    /// an operation together and for differences of two refreshed messages; where beta is so small
    /// that differences of fresh ones are worse, what reading them reaches.
    pub fn default_bound(&self) -> f64 {
        let model = self.models[1][self.sets.len() - 1];
        let rotation = model.sigma_out_at(self.log2_rotation());
        let each = model.sigma_fresh().max(rotation);
        let read = [each, each, rotation];
        let own = self.log2_beyond_beta(&read, self.log2_rotation(), Transform::Fft);
        // Twice as often: all rounds together.
        (self.log2_target + 16.0).min(self.log2_target / 2.0).max(own + 1.0)
    }
}

/// `log2(2^a + 2^b)` where neither power may be a number that f64 has.
fn log2_sum(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
}
