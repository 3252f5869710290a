//! The numbers of a large-precision context and what follows from them.

use crate::{ClientKey, LweCiphertexts, NoiseModel, ParameterSet, Result, error, noise};
use girih_backend::{BootstrapShape, Gadget, Transform};

/// Largest log2 of a message's modulus.
const MAX_LOG2_MODULUS: u32 = 29;

/// A bound on the error and parameter sets that differ in their gadget alone.
///
/// The first set has the coarsest digits, the fastest; ciphertexts name it as theirs (*home*).
#[derive(Clone, Debug, PartialEq)]
pub struct LargeParameters {
    sets: Vec<ParameterSet>,
    log2_beta: u32,
    /// log2 of the failure probability that one round may have.
    log2_target: f64,
}

/// A large-precision function, as costs and failures are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// LMP22 and OpenFHE: n = 1305, N = 2048, Q of 54 bits, beta = 128; gadget bases 2^27, 2^18, 2^14, and 2^9 for the
    /// largest moduli under the f64 transform. A round fails with probability below 2^-60.
    fn default() -> Self {
        let sets = ["G4", "G4_BASE2P18", "G4_BASE2P14", "G4_BASE2P9"].map(|name| ParameterSet::by_name(name).expect("built in"));
        Self::new(sets.to_vec(), 7, -60.0).expect("the built-in sets differ in their gadget alone")
    }
}

impl LargeParameters {
    /// A context of one's own: sets that share everything but the gadget, from the coarsest base to the finest; log2 of
    /// beta; log2 of the largest failure probability that a round may have.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) naming the sets that do not belong together, or what beta may be.
    pub fn new(sets: Vec<ParameterSet>, log2_beta: u32, log2_target: f64) -> Result<Self> {
        let Some(home) = sets.first() else { return error::mismatch("a large-precision context needs at least one parameter set") };
        let common = |set: &ParameterSet| BootstrapShape { gadget: home.shape().gadget, ..set.shape().clone() };
        for pair in sets.windows(2) {
            let bases = [log2_base(&pair[0]), log2_base(&pair[1])];
            if common(&pair[1]) != *home.shape() || pair[1].errors() != home.errors() || bases[0] <= bases[1] {
                return error::mismatch(format!(
                    "{} and {}: sets must differ in their gadget alone, coarsest base first",
                    pair[0], pair[1]
                ));
            }
        }
        if log2_base(home).is_none() {
            return error::mismatch(format!("{home}: large precision needs a set with gadget decomposition"));
        }
        let most = home.shape().log2_monomials() - 2;
        if !(1..=most).contains(&log2_beta) {
            return error::mismatch(format!("beta = 2^{log2_beta}: {home} has room for 2^1 to 2^{most}"));
        }
        Ok(Self { sets, log2_beta, log2_target })
    }

    /// OpenFHE's context for an 11-bit modulus: N = 1024 and Q of 27 bits. Half the time, but only for moduli up to 2^11
    /// and functions that are not arbitrary.
    pub fn small() -> Self {
        let set = ParameterSet::by_name("G5").expect("built in");
        Self::new(vec![set], 7, -60.0).expect("a single set with gadget decomposition")
    }

    /// A toy without any security, for tests: n = 32, N = 256, beta = 16, so that digits have 4 bits as they should.
    pub fn insecure() -> Self {
        let sets = ["INSECURE_LARGE", "INSECURE_LARGE_2P18", "INSECURE_LARGE_2P9"].map(|n| ParameterSet::by_name(n).expect("built in"));
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

    /// The set that ciphertexts and the client key name as theirs.
    pub fn home(&self) -> &ParameterSet {
        &self.sets[0]
    }

    /// All sets, from the coarsest gadget base to the finest.
    pub fn sets(&self) -> &[ParameterSet] {
        &self.sets
    }

    /// beta, the bound on errors.
    pub fn beta(&self) -> u64 {
        1 << self.log2_beta
    }

    /// Bits of the digits that [`LargeServer::decompose`](super::LargeServer::decompose) gives, all of a rotation: log2 of `2N / 2 beta`.
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
            return error::mismatch(format!(
                "modulus 2^{log2_modulus}: with beta = {beta} it must be from 2^{least} to 2^{MAX_LOG2_MODULUS}"
            ));
        }
        Ok(log2_modulus - self.log2_beta - 1)
    }

    /// log2 of the modulus that messages of `bits` bits take.
    pub fn log2_modulus(&self, bits: u32) -> u32 {
        bits + self.log2_beta + 1
    }

    /// Encrypts messages under the modulus `2^log2_modulus`; see [`LargeParameters::message_bits`] for their size.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a client key that is not of the home set, a modulus out of range, an empty
    /// batch, or a message that does not fit.
    pub fn encrypt(&self, client: &ClientKey, messages: &[u64], log2_modulus: u32) -> Result<LweCiphertexts> {
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
            return error::mismatch(format!("keys or ciphertexts of {set} in a large-precision context of {}", self.home()));
        }
        Ok(())
    }

    /// Position of the coarsest gadget, of those that `usable` names, whose results modulo `2^log2_output` are good enough.
    pub(super) fn gadget_among(&self, log2_output: u32, transform: Transform, usable: impl Fn(usize) -> bool) -> Result<usize> {
        let good = |g: &usize| self.log2_round_failure(*g, log2_output, transform, None) <= self.log2_target;
        match (0..self.sets.len()).filter(|g| usable(*g)).find(good) {
            Some(gadget) => Ok(gadget),
            None => error::mismatch(self.no_gadget(&format!("results modulo 2^{log2_output}"), transform, good)),
        }
    }

    /// Position in [`LargeParameters::sets`] of the coarsest gadget whose results modulo `2^log2_output` are good enough: what
    /// a [`Function`](crate::Function) with such results, or a floor under such a modulus, needs a key of.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) where no gadget is fine enough.
    pub fn gadget(&self, log2_output: u32, transform: Transform) -> Result<usize> {
        self.gadget_among(log2_output, transform, |_| true)
    }

    /// Gadgets that some operations meet, from messages modulo `2^log2_modulus` on as that modulus shrinks, as positions in
    /// [`LargeParameters::sets`]: what [`LargeKeys::generate`](super::LargeKeys::generate) takes.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus out of range, or one that no gadget is fine enough for.
    pub fn gadgets(&self, operations: &[LargeOperation], log2_modulus: u32, transform: Transform) -> Result<Vec<usize>> {
        self.message_bits(log2_modulus)?;
        let mut gadgets = Vec::new();
        for operation in operations {
            let moduli = match operation {
                LargeOperation::Floor => vec![log2_modulus],
                LargeOperation::Decompose if log2_modulus > self.log2_rotation() => self.rounds(log2_modulus),
                LargeOperation::Decompose => vec![self.log2_rotation()],
                LargeOperation::Sign | LargeOperation::Relu => [self.rounds(log2_modulus), vec![self.log2_rotation()]].concat(),
            };
            for log2_output in moduli {
                gadgets.push(self.gadget(log2_output, transform)?);
            }
            if *operation == LargeOperation::Relu && log2_modulus >= self.log2_rotation() {
                gadgets.push(self.product_gadget(log2_modulus, transform, |_| true)?);
            }
        }
        gadgets.sort_unstable();
        gadgets.dedup();
        Ok(gadgets)
    }

    /// log2 of the modulus that products with a sign are summed in, before the sum is rounded to `2^log2_modulus`: so many
    /// bootstrapped terms would leave too much error in a sum under that modulus itself.
    pub(super) fn log2_product(log2_modulus: u32) -> u32 {
        (log2_modulus + 4).min(MAX_LOG2_MODULUS + 1)
    }

    /// As [`LargeParameters::gadget_among`], for the terms of a product with a sign.
    pub(super) fn product_gadget(&self, log2_modulus: u32, transform: Transform, usable: impl Fn(usize) -> bool) -> Result<usize> {
        let (wide, terms) = (Self::log2_product(log2_modulus), 4.0 * self.rounds(log2_modulus).len() as f64 + 3.0);
        let good = |g: &usize| {
            let model = self.model(*g, transform);
            let sigma = model.sigma_out_at(wide) * terms.sqrt() / f64::from(1u32 << (wide - log2_modulus));
            noise::log2_beyond(self.beta() as f64, sigma.hypot(model.sigma_rounding())) <= self.log2_target
        };
        match (0..self.sets.len()).filter(|g| usable(*g)).find(good) {
            Some(gadget) => Ok(gadget),
            None => error::mismatch(self.no_gadget(&format!("products with a sign modulo 2^{log2_modulus}"), transform, good)),
        }
    }

    fn no_gadget(&self, what: &str, transform: Transform, good: impl Fn(&usize) -> bool) -> String {
        match (0..self.sets.len()).find(good) {
            Some(g) => format!("{what}: no loaded key is fine enough; make and load the key of {}", self.sets[g]),
            None => format!("{what}: no gadget of this context is fine enough under {transform}"),
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

    /// log2 of the modulus that is left when all rounds are done.
    pub(super) fn log2_last(&self, log2_modulus: u32) -> u32 {
        log2_modulus - self.rounds(log2_modulus).len() as u32 * self.digit_bits()
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

    /// log2 of the probability that an operation goes wrong on one message modulo `2^log2_modulus` whose error has
    /// deviation `sigma_input` ([`NoiseModel::sigma_fresh`] of a fresh ciphertext), by the noise model, all rounds together.
    ///
    /// A floor errs where the input's error and that of its first bootstrapping together exceed beta; a sign, where any of
    /// its floors or the last reading does. Rounds after the first see the error that rounding to a smaller modulus leaves.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a modulus out of range, or one that no gadget is fine enough for.
    pub fn log2_failure(&self, operation: LargeOperation, log2_modulus: u32, transform: Transform, sigma_input: f64) -> Result<f64> {
        self.message_bits(log2_modulus)?;
        let gadget = |l: u32| self.gadget(l, transform);
        if operation == LargeOperation::Floor {
            return Ok(self.log2_round_failure(gadget(log2_modulus)?, log2_modulus, transform, Some(sigma_input)));
        }
        if operation == LargeOperation::Relu && log2_modulus < self.log2_rotation() {
            // Two bootstrappings, under the modulus of a rotation.
            let first = self.model(gadget(log2_modulus + 1)?, transform).sigma_out_at(log2_modulus + 1);
            return Ok(noise::log2_beyond(self.beta() as f64, sigma_input.hypot(first)));
        }
        let (mut sigma, mut failure) = (sigma_input, f64::NEG_INFINITY);
        // A product with the sign sees the sign's own error beside that of the part it is applied to.
        let masked = operation == LargeOperation::Relu;
        let sign_sigma = if masked { self.model(0, transform).sigma_out_at(self.log2_rotation()) } else { 0.0 };
        for l in self.rounds(log2_modulus) {
            let gadget = gadget(l)?;
            failure = log2_sum(failure, self.log2_round_failure(gadget, l, transform, Some(sigma.hypot(sign_sigma))));
            sigma = self.sigma_switched(gadget, l, transform);
        }
        if operation != LargeOperation::Decompose || self.rounds(log2_modulus).is_empty() {
            failure = log2_sum(failure, noise::log2_beyond(self.beta() as f64, sigma.hypot(sign_sigma)));
        }
        Ok(failure)
    }

    fn model(&self, gadget: usize, transform: Transform) -> NoiseModel {
        NoiseModel::with_transform(&self.sets[gadget], transform)
    }

    /// Deviation of the error after a floor modulo `2^log2_modulus` and the switch to the next round's modulus.
    fn sigma_switched(&self, gadget: usize, log2_modulus: u32, transform: Transform) -> f64 {
        let model = self.model(gadget, transform);
        (model.sigma_out_at(log2_modulus) / f64::from(1u32 << self.digit_bits())).hypot(model.sigma_rounding())
    }

    /// log2 of the probability that one floor with `gadget` errs; its input, unless told, comes from a round before.
    fn log2_round_failure(&self, gadget: usize, log2_modulus: u32, transform: Transform, sigma_input: Option<f64>) -> f64 {
        let sigma_input = sigma_input.unwrap_or_else(|| self.sigma_switched(gadget, log2_modulus, transform));
        noise::log2_beyond(self.beta() as f64, sigma_input.hypot(self.model(gadget, transform).sigma_out_at(log2_modulus)))
    }
}

/// `log2(2^a + 2^b)` where neither power may be a number that f64 has.
fn log2_sum(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    high + (low - high).exp2().ln_1p() * std::f64::consts::LOG2_E
}

/// log2 of the digit base of a set with gadget decomposition.
fn log2_base(set: &ParameterSet) -> Option<u32> {
    match set.shape().gadget {
        Gadget::Decomposition { log2_base, .. } => Some(log2_base),
        _ => None,
    }
}
