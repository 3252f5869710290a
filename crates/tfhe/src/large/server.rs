//! Keys of a large-precision context on one device, and the functions of LMP22.

use super::gadget_plan::GadgetPlan;
use super::rounds::{Floor, extract_sign, floor};
use super::{LargeKeys, LargeOperation, LargeParameters};
use crate::ciphertext::BITS;
use crate::noise::refuse;
use crate::server::Words;
use crate::{DeviceCiphertexts, Error, Function, KeyId, LweCiphertexts, Result, ServerKey, error};
use girih_backend::{Backend, BackendError, LoadOptions, Progress, Transform};
use girih_rlwe::Mismatch;

/// Keys loaded on a device, one engine for each gadget: runs large-precision functions on batches
/// of any size.
///
/// Messages fill the modulus of their ciphertexts: `2^l / 2 beta` values, 2 beta apart. All engines
/// work on one store and with one key-switching table, so a function uploads its input and
/// downloads its result, and nothing between.
#[derive(Debug)]
pub struct LargeServer {
    parameters: LargeParameters,
    transform: Transform,
    id: KeyId,
    /// By position of the gadget; none where no key was loaded.
    servers: Vec<Option<ServerKey>>,
}

impl LargeServer {
    /// Loads keys on a device, all under one transform: the one asked for, or the first that the
    /// device names.
    ///
    /// # Errors
    /// As [`ServerKey::load`].
    pub fn load(
        backend: &dyn Backend,
        keys: &LargeKeys,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parameters = keys.parameters().clone();
        let Some(transform) =
            options.transform.or_else(|| backend.info().transforms.first().copied())
        else {
            return Err(Error::Backend(BackendError::Unsupported {
                device: backend.info().id.clone(),
                what: "large precision".into(),
                why: "it names no transform".into(),
            }));
        };
        let options = options.clone().with_transform(transform);
        let mut servers: Vec<Option<ServerKey>> = Vec::with_capacity(parameters.sets().len());
        for set in parameters.sets() {
            let load = |key| match servers.iter().flatten().next() {
                Some(server) => server.load_beside(backend, key, &options, progress),
                None => ServerKey::load(backend, key, &options, progress),
            };
            servers.push(keys.keys().iter().find(|k| k.set() == set).map(load).transpose()?);
        }
        let server = Self { parameters, transform, id: keys.key_id(), servers };
        server.limit_failure(server.parameters.default_bound())?;
        Ok(server)
    }

    /// Refuses, from now on, operations that go wrong on one message with a probability above
    /// `2^log2_failure`, by the noise model; 0 refuses nothing. Until it is set the bound is
    /// [`LargeParameters::default_bound`].
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for an exponent above 0.
    pub fn limit_failure(&self, log2_failure: f64) -> Result<()> {
        self.servers().try_for_each(|server| server.limit_failure(log2_failure))
    }

    /// The bound of [`LargeServer::limit_failure`], as log2.
    pub fn failure_limit(&self) -> f64 {
        self.servers().next().map_or(0.0, ServerKey::failure_limit)
    }

    /// Refuses an operation that goes wrong too often on messages with the errors of `a`.
    pub(super) fn check_failure(
        &self,
        what: &str,
        operation: LargeOperation,
        a: &LweCiphertexts,
    ) -> Result<()> {
        let failure = self.parameters.log2_failure_among(
            operation,
            a.log2_modulus(),
            self.transform,
            a.variance().sqrt(),
            &|g| self.servers[g].is_some(),
        )?;
        let what = format!("{what} of messages modulo 2^{}", a.log2_modulus());
        refuse(&what, failure, self.failure_limit())
    }

    /// Variance of the results of an operation, by the model.
    pub(super) fn variance_of(&self, operation: LargeOperation, log2_modulus: u32) -> Result<f64> {
        let loaded = |g: usize| self.servers[g].is_some();
        let sigma =
            self.parameters.sigma_result_among(operation, log2_modulus, self.transform, &loaded)?;
        Ok(sigma.powi(2))
    }

    /// The context.
    pub fn parameters(&self) -> &LargeParameters {
        &self.parameters
    }

    /// The transform in use.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// Name of the client key whose ciphertexts it works on.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The server keys that are loaded, those with fewer digits first.
    pub fn servers(&self) -> impl Iterator<Item = &ServerKey> {
        self.servers.iter().flatten()
    }

    /// The loaded key with the cheapest gadget whose results modulo
    /// `2^log2_output` are good enough.
    pub(super) fn server(&self, log2_output: u32) -> Result<&ServerKey> {
        self.loaded(
            self.parameters
                .gadget_among(log2_output, self.transform, |g| self.servers[g].is_some())?,
        )
    }

    /// The same for products with a sign.
    pub(super) fn product_server(&self, log2_modulus: u32) -> Result<&ServerKey> {
        self.loaded(
            self.parameters
                .product_gadget(log2_modulus, self.transform, |g| self.servers[g].is_some())?,
        )
    }

    /// The gadgets of `operation` with the keys that are loaded.
    pub(super) fn gadget_plan(
        &self,
        operation: LargeOperation,
        log2_modulus: u32,
    ) -> Result<GadgetPlan> {
        self.parameters
            .gadget_plan(operation, log2_modulus, self.transform, &|g| self.servers[g].is_some())
    }

    pub(super) fn loaded(&self, gadget: usize) -> Result<&ServerKey> {
        match &self.servers[gadget] {
            Some(server) => Ok(server),
            None => Err(Error::MissingKey {
                what: "this operation".into(),
                wanted: format!("the key of {}", self.parameters.sets()[gadget]),
                advice: "make and load it",
            }),
        }
    }

    /// EvalFunc: any function of messages of up to a digit, at one or two bootstrappings. Its
    /// outputs choose the modulus of the result: `2 beta` times their number. See [`Function`] for
    /// what moduli inputs may have.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the function's inputs are not as many as the
    /// ciphertexts' messages and for moduli out of range,
    /// [`Error::MissingKey`](crate::Error::MissingKey) for those without a loaded key,
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for ciphertexts of another context or key, and failures of the device.
    pub fn function(&self, a: &LweCiphertexts, function: &Function) -> Result<LweCiphertexts> {
        let bits = self.check(a)?;
        if function.input_bits() != bits {
            let inputs = function.input_bits();
            let what =
                format!("the number of bits that a function of messages of {bits} bits reads");
            return error::mismatch(Mismatch::range(what, inputs, [bits; 2]));
        }
        let log2_output = self.parameters.log2_modulus(function.output_bits());
        self.parameters.message_bits(log2_output)?;
        let log2_widest = log2_output
            .max(function.log2_rotation(a.log2_modulus()).min(self.parameters.log2_rotation()));
        let words =
            self.server(log2_widest)?.evaluate_words(Words::of(a), function, log2_output)?;
        self.result(words)
    }

    /// EvalFloor: clears the `bits` lowest bits of every message, by two bootstrappings.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no bits or more than a digit or the message
    /// has, and as [`LargeServer::sign`].
    pub fn floor(&self, a: &LweCiphertexts, bits: u32) -> Result<LweCiphertexts> {
        let most = self.check(a)?.min(self.parameters.digit_bits());
        if !(1..=most).contains(&bits) {
            let what = "the number of bits to clear at a time";
            return error::mismatch(Mismatch::range(what, bits, [1, most]));
        }
        let log2_modulus = a.log2_modulus();
        let log2_digit = self.parameters.log2_modulus(bits);
        let keys = [self.server(log2_modulus)?; 2];
        self.check_failure("a floor", LargeOperation::Floor, a)?;
        // What the digit is read with is all that is left of errors.
        let variance = keys[0].noise_model().variance_out_at(log2_modulus);
        let words = keys[0].run_words(&[Words::of(a)], &|inputs, _| {
            let floor = floor(keys, inputs[0], self.parameters.beta(), log2_digit, log2_modulus)?;
            Ok(floor.result.noisy(variance))
        })?;
        self.result(words)
    }

    /// EvalSign: the top bit of every message, which is the sign of a message in two's complement,
    /// as bits for gates.
    ///
    /// Floors take digits off from the low end until a rotation sees the top one: 2 bootstrappings
    /// a digit and 1 more.
    ///
    /// # Errors
    /// [`Error::WrongSet`](crate::Error::WrongSet) and [`Error::WrongKey`](crate::Error::WrongKey)
    /// for ciphertexts of another context or key, [`Error::Mismatch`](crate::Error::Mismatch) for a
    /// modulus out of range, [`Error::MissingKey`](crate::Error::MissingKey) for one without a
    /// loaded key, and failures of the device.
    pub fn sign(&self, a: &LweCiphertexts) -> Result<LweCiphertexts> {
        self.check(a)?;
        let log2_q = self.parameters.home().shape().log2_lwe_modulus;
        let plan = self.gadget_plan(LargeOperation::Sign, a.log2_modulus())?;
        let server = self.last(&plan)?;
        self.check_failure("a sign", LargeOperation::Sign, a)?;
        let words = server.run_words(&[Words::of(a)], &|inputs, _| {
            let shortened = self.shorten(&plan, inputs[0], |_, _| {})?;
            // A bit of a gate: a quarter of q or nothing.
            extract_sign(
                server,
                shortened.as_ref().unwrap_or(inputs[0]),
                self.parameters.beta(),
                8,
                log2_q,
            )
        })?;
        Ok(self.result(words)?.encoding(Some(BITS)))
    }

    /// EvalDecomp: the digits of every message, least significant first, each under the modulus of
    /// a rotation but the last, whose modulus is what is left:
    /// 2 bootstrappings a digit but the last.
    ///
    /// # Errors
    /// As [`LargeServer::sign`].
    pub fn decompose(&self, a: &LweCiphertexts) -> Result<Vec<LweCiphertexts>> {
        self.check(a)?;
        let rotation = self.parameters.log2_rotation();
        let plan = self.gadget_plan(LargeOperation::Decompose, a.log2_modulus())?;
        let Some(first) = plan.rounds.first() else { return Ok(vec![a.clone()]) };
        self.check_failure("digits", LargeOperation::Decompose, a)?;
        // The first digit is the input itself; the others are what each round leaves.
        let results = self.loaded(first.decide)?.run_words_to(
            &[Words::of(a)],
            plan.rounds.len(),
            &|inputs, _| {
                let mut left = Vec::with_capacity(plan.rounds.len());
                let last = self.shorten(&plan, inputs[0], |before, _| left.extend(before))?;
                Ok(left.into_iter().chain(last).collect())
            },
        )?;
        let mut digits = vec![a.reduce(rotation)?.under(Some(self.id))];
        for words in results {
            let digit = self.result(words)?;
            digits.push(digit.reduce(digit.log2_modulus().min(rotation))?);
        }
        Ok(digits)
    }

    /// The key that reads what the rounds leave.
    pub(super) fn last(&self, plan: &GadgetPlan) -> Result<&ServerKey> {
        match plan.last {
            Some(gadget) => self.loaded(gadget),
            None => {
                let home = self.parameters.home();
                Err(home.unsupported("this large-precision operation reads nothing last"))
            }
        }
    }

    /// Takes digits off until a rotation sees the whole message; `None` where it sees the input's.
    /// `each` is told what every round was given, where that is not the input, and the ciphertexts
    /// between its two bootstrappings.
    pub(super) fn shorten(
        &self,
        plan: &GadgetPlan,
        input: &DeviceCiphertexts,
        mut each: impl FnMut(Option<DeviceCiphertexts>, DeviceCiphertexts),
    ) -> Result<Option<DeviceCiphertexts>> {
        let (bits, beta) = (self.parameters.digit_bits(), self.parameters.beta());
        let mut left: Option<DeviceCiphertexts> = None;
        for round in &plan.rounds {
            let keys = [self.loaded(round.decide)?, self.loaded(round.read)?];
            let before = left.as_ref().unwrap_or(input);
            let Floor { result, halfway } = floor(
                keys,
                before,
                beta,
                self.parameters.log2_rotation(),
                round.log2_modulus - bits,
            )?;
            let sigma =
                self.parameters.sigma_switched(round.read, round.log2_modulus, self.transform);
            each(left.replace(result.noisy(sigma.powi(2))), halfway);
        }
        Ok(left)
    }

    /// What this server computed: messages that fill the modulus.
    pub(super) fn result(&self, words: Words<Vec<u32>>) -> Result<LweCiphertexts> {
        let Words { words, log2_modulus, variance, .. } = words;
        let plaintext = self.parameters.message_bits(log2_modulus).ok().map(|bits| 1 << bits);
        Ok(LweCiphertexts::from_words_at(self.parameters.home(), log2_modulus, words)?
            .under(Some(self.id))
            .noisy(variance)
            .encoding(plaintext))
    }

    /// Bits of the messages of a batch of this context and key.
    pub(super) fn check(&self, a: &LweCiphertexts) -> Result<u32> {
        self.parameters.check_home(a.set())?;
        a.check_key(self.id, ServerKey::ONE_CLIENT)?;
        let bits = self.parameters.message_bits(a.log2_modulus())?;
        if let Some(found) = a.plaintext_modulus().filter(|&found| found != 1 << bits) {
            let log2_modulus = a.log2_modulus();
            let what = format!(
                "the plaintext modulus of ciphertexts modulo 2^{log2_modulus}, which are as \
                 LargeParameters::encrypt makes them,"
            );
            return error::mismatch(Mismatch::range(what, found, [1u64 << bits; 2]));
        }
        Ok(bits)
    }

    /// a - b of every pair.
    pub(super) fn difference(
        &self,
        a: &LweCiphertexts,
        b: &LweCiphertexts,
    ) -> Result<LweCiphertexts> {
        self.check(a)?;
        self.check(b)?;
        let difference = LweCiphertexts::weighted_sum(&[(a, 1), (b, -1)], 0)?;
        // By the gadget whose results share most, as either may be a result of it.
        let sigmas = [a, b].map(|batch| batch.variance().sqrt());
        let log2_modulus = a.log2_modulus();
        let variance = self.parameters.variance_of_sum(&sigmas, log2_modulus, self.transform);
        let stated = difference.variance();
        Ok(difference.noisy(stated.max(variance)))
    }
}
