//! Keys of a large-precision context on one device, and the functions of LMP22.

use super::rounds::{Resident, extract_sign, floor};
use super::{LargeKeys, LargeParameters};
use crate::server::CHUNK;
use crate::{Function, LweCiphertexts, Result, ServerKey, error};
use girih_backend::{Backend, LoadOptions, Progress, Transform};

/// Keys loaded on a device, one engine for each gadget base: runs large-precision functions on batches of any size.
///
/// Messages fill the modulus of their ciphertexts: `2^l / 2 beta` values, 2 beta apart. Inside a function ciphertexts stay on the
/// device, but for the way from one gadget's engine to the next, which goes through the host.
#[derive(Debug)]
pub struct LargeServer {
    parameters: LargeParameters,
    transform: Transform,
    /// By position of the gadget; none where no key was loaded.
    servers: Vec<Option<ServerKey>>,
}

impl LargeServer {
    /// Loads keys on a device, all under one transform: the one asked for, or the first that the device names.
    ///
    /// # Errors
    /// As [`ServerKey::load`].
    pub fn load(backend: &dyn Backend, keys: &LargeKeys, options: &LoadOptions, progress: &dyn Progress) -> Result<Self> {
        let parameters = keys.parameters().clone();
        let Some(transform) = options.transform.or_else(|| backend.info().transforms.first().copied()) else {
            return error::mismatch(format!("{} names no transform", backend.info().id));
        };
        let options = LoadOptions { transform: Some(transform), ..options.clone() };
        let load = |set| match keys.keys().iter().find(|k| k.set() == set) {
            Some(key) => ServerKey::load(backend, key, &options, progress).map(Some),
            None => Ok(None),
        };
        let servers = parameters.sets().iter().map(load).collect::<Result<_>>()?;
        Ok(Self { parameters, transform, servers })
    }

    /// The context.
    pub fn parameters(&self) -> &LargeParameters {
        &self.parameters
    }

    /// The transform in use.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// The server keys that are loaded, from the coarsest gadget base to the finest.
    pub fn servers(&self) -> impl Iterator<Item = &ServerKey> {
        self.servers.iter().flatten()
    }

    /// The loaded key with the coarsest gadget whose results modulo `2^log2_output` are good enough.
    pub(super) fn server(&self, log2_output: u32) -> Result<&ServerKey> {
        self.loaded(self.parameters.gadget_among(log2_output, self.transform, |g| self.servers[g].is_some())?)
    }

    /// The same for products with a sign.
    pub(super) fn product_server(&self, log2_modulus: u32) -> Result<&ServerKey> {
        self.loaded(self.parameters.product_gadget(log2_modulus, self.transform, |g| self.servers[g].is_some())?)
    }

    fn loaded(&self, gadget: usize) -> Result<&ServerKey> {
        match &self.servers[gadget] {
            Some(server) => Ok(server),
            None => error::mismatch(format!("no key of {} is loaded", self.parameters.sets()[gadget])),
        }
    }

    /// EvalFunc: any function of messages of up to a digit, at one or two bootstrappings. Its outputs choose the modulus of the
    /// result: `2 beta` times their number. See [`Function`] for what moduli inputs may have.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the function's inputs are not as many as the ciphertexts' messages, for moduli out
    /// of range or without a loaded key, for ciphertexts of another context, and failures of the device.
    pub fn function(&self, a: &LweCiphertexts, function: &Function) -> Result<LweCiphertexts> {
        let bits = self.check(a)?;
        if function.input_bits() != bits {
            let inputs = function.input_bits();
            return error::mismatch(format!("a function of {inputs}-bit messages on messages of {bits} bits"));
        }
        let log2_output = self.parameters.log2_modulus(function.output_bits());
        self.parameters.message_bits(log2_output)?;
        let log2_widest = log2_output.max(function.log2_rotation(a.log2_modulus()).min(self.parameters.log2_rotation()));
        let server = self.server(log2_widest)?;
        let moved = LweCiphertexts::from_words_at(server.set(), a.log2_modulus(), a.words().to_vec())?;
        let result = server.evaluate(&moved, function, log2_output)?;
        LweCiphertexts::from_words_at(self.parameters.home(), log2_output, result.words().to_vec())
    }

    /// EvalFloor: clears the `bits` lowest bits of every message, by two bootstrappings.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no bits or more than a digit or the message has, and as [`LargeServer::sign`].
    pub fn floor(&self, a: &LweCiphertexts, bits: u32) -> Result<LweCiphertexts> {
        let most = self.check(a)?.min(self.parameters.digit_bits());
        if !(1..=most).contains(&bits) {
            return error::mismatch(format!("{bits} bits to clear: there may be 1 to {most} at a time"));
        }
        let log2_modulus = a.log2_modulus();
        let log2_digit = self.parameters.log2_modulus(bits);
        let server = self.server(log2_modulus)?;
        let words = server.run_words(&[a.words()], log2_modulus, &|inputs, _| {
            Ok(floor(server, inputs[0], self.parameters.beta(), log2_digit, log2_modulus)?.result)
        })?;
        LweCiphertexts::from_words_at(self.parameters.home(), words.1, words.0)
    }

    /// EvalSign: the top bit of every message, which is the sign of a message in two's complement, as bits for gates.
    ///
    /// Floors take digits off from the low end until a rotation sees the top one: 2 bootstrappings a digit and 1 more.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for ciphertexts of another context or a modulus out of range or without a loaded key,
    /// and failures of the device.
    pub fn sign(&self, a: &LweCiphertexts) -> Result<LweCiphertexts> {
        self.check(a)?;
        let log2_q = self.parameters.home().shape().log2_lwe_modulus;
        let words = self.chunks(a, |chunk| {
            let last = self.shorten(chunk, a.log2_modulus(), |_, _, _| Ok(()))?;
            let last = last.on(self.server(self.parameters.log2_rotation())?)?;
            // A bit of a gate: a quarter of q or nothing.
            extract_sign(&last, self.parameters.beta(), 8, log2_q)?.words()
        })?;
        LweCiphertexts::from_words(self.parameters.home(), words)
    }

    /// EvalDecomp: the digits of every message, least significant first, each under the modulus of a rotation but the last,
    /// whose modulus is what is left: 2 bootstrappings a digit but the last.
    ///
    /// # Errors
    /// As [`LargeServer::sign`].
    pub fn decompose(&self, a: &LweCiphertexts) -> Result<Vec<LweCiphertexts>> {
        self.check(a)?;
        let (rounds, rotation) = (self.parameters.rounds(a.log2_modulus()).len(), self.parameters.log2_rotation());
        let mut digits = vec![Vec::with_capacity(a.words().len()); rounds];
        let last = self.chunks(a, |chunk| {
            let last = self.shorten(chunk, a.log2_modulus(), |round, before, _| {
                let mask = (1 << rotation) - 1;
                digits[round].extend(before.words()?.iter().map(|w| w & mask));
                Ok(())
            })?;
            last.words()
        })?;
        let home = self.parameters.home();
        let mut all = digits.into_iter().map(|words| LweCiphertexts::from_words_at(home, rotation, words)).collect::<Result<Vec<_>>>()?;
        all.push(LweCiphertexts::from_words_at(home, self.parameters.log2_last(a.log2_modulus()), last)?);
        Ok(all)
    }

    /// Takes digits off until a rotation sees the whole message. `each` is told the round, the ciphertexts before it and,
    /// under the modulus of a rotation, those between its two bootstrappings.
    pub(super) fn shorten<'s>(
        &'s self,
        words: &[u32],
        log2_modulus: u32,
        mut each: impl FnMut(usize, &Resident<'s>, &Resident<'s>) -> Result<()>,
    ) -> Result<Resident<'s>> {
        let (bits, beta) = (self.parameters.digit_bits(), self.parameters.beta());
        let rounds = self.parameters.rounds(log2_modulus);
        let first = self.server(log2_modulus.max(self.parameters.log2_rotation()))?;
        let mut current = Resident::new(first, words, log2_modulus)?;
        for (round, log2_modulus) in rounds.into_iter().enumerate() {
            current = current.on(self.server(log2_modulus)?)?;
            let floor = floor(current.server, &current.ciphertexts, beta, self.parameters.log2_rotation(), log2_modulus - bits)?;
            let halfway = Resident { server: current.server, ciphertexts: floor.halfway };
            each(round, &current, &halfway)?;
            current = Resident { server: current.server, ciphertexts: floor.result };
        }
        Ok(current)
    }

    /// Words of the results of `f` on chunks of bounded size.
    pub(super) fn chunks(&self, a: &LweCiphertexts, mut f: impl FnMut(&[u32]) -> Result<Vec<u32>>) -> Result<Vec<u32>> {
        let len = self.parameters.home().shape().ciphertext_len();
        let mut words = Vec::with_capacity(a.words().len());
        for chunk in a.words().chunks(CHUNK * len) {
            words.extend(f(chunk)?);
        }
        Ok(words)
    }

    /// Bits of the messages of a batch of this context.
    pub(super) fn check(&self, a: &LweCiphertexts) -> Result<u32> {
        self.parameters.check_home(a.set())?;
        self.parameters.message_bits(a.log2_modulus())
    }
}
