//! Numbers in slots from TFHE ciphertexts, from vectors, and back to both.

use crate::between::Between;
use crate::keys::SwitchingKeys;
use crate::noise::SwitchingNoise;
use crate::{Error, Result, Switch, SwitchingParameters, error};
use girih_ckks::noise::Noise;
use girih_ckks::server::Ciphertexts;
use girih_ckks::{Ciphertext, CiphertextHeader};
use girih_discrete::{Phases, ServerKey, Table, Wires, table_levels};
use girih_rlwe::{KeyId, Mismatch};
use girih_tfhe::LweCiphertexts;

/// Errors of CKKS are as the secret's square in each slot, which is exponentially distributed: it
/// exceeds so much of its mean in none of 2^16 slots, but for one key in 2^150.
const WORST_SLOT: f64 = 120.0;

/// Switches between numbers in slots ([`girih_discrete`]) and TFHE ciphertexts, one a number; and,
/// beside a [`Switch`], between numbers and vectors of CKKS under whatever key.
///
/// What comes to numbers is looked up on the way by one bootstrapping of all numbers of a
/// ciphertext: it is exact from there on, and counted like any look-up. What would be wrong with
/// more than 2^-128 ([`ServerKey::limit_failure`]) is refused. Key switching between the schemes is
/// work of the host, on all threads; the rest runs on the device of the server key.
pub struct WireSwitch<'s> {
    numbers: &'s ServerKey,
    between: Between,
    exponents: Vec<usize>,
}

impl std::fmt::Debug for WireSwitch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WireSwitch({}, {})", self.numbers.set(), self.parameters().tfhe())
    }
}

impl<'s> WireSwitch<'s> {
    /// Makes switching keys ready beside a server key for numbers in slots. They are those between
    /// the CKKS key that the client key of numbers is
    /// ([`ClientKey::ckks`](girih_discrete::ClientKey::ckks)) and a TFHE client key.
    ///
    /// # Errors
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for keys of another set or client.
    pub fn new(numbers: &'s ServerKey, keys: &SwitchingKeys) -> Result<Self> {
        let (set, parameters) = (numbers.set(), keys.parameters());
        if set.ckks() != parameters.ckks() {
            let rule = "the server key is of";
            return error::wrong_set("switching keys", parameters, rule, set);
        }
        if keys.ckks_key_id() != numbers.key_id() {
            let (what, rule) = ("switching keys", "the server key is of client key");
            return error::wrong_key(what, keys.ckks_key_id(), rule, numbers.key_id());
        }
        let exponents = (0..set.numbers()).map(|j| set.exponent(j)).collect();
        Ok(Self { numbers, between: Between::new(keys)?, exponents })
    }

    /// The sets, and the sizes that follow.
    pub fn parameters(&self) -> &SwitchingParameters {
        &self.between.parameters
    }

    /// The server key of numbers in slots.
    pub fn numbers(&self) -> &'s ServerKey {
        self.numbers
    }

    /// Name of the TFHE client key.
    pub fn tfhe_key_id(&self) -> KeyId {
        self.between.tfhe
    }

    /// What switching adds to errors.
    pub fn noise(&self) -> SwitchingNoise {
        self.between.noise()
    }

    /// TFHE ciphertexts as wires: f(m) of each message m, for each table f. N messages share a
    /// ciphertext, the last of which is filled up with 0.
    ///
    /// A table modulo p' reads messages modulo p'. So messages of b bits, m/2^(b + 1) of a turn
    /// ([`LweCiphertexts::plaintext_modulus`]), take tables modulo 2^b, and bits tables modulo 2:
    /// the padding that TFHE needs is not needed here. Sums that use the padding take tables modulo
    /// 2^(b + 1). The variance that ciphertexts carry, what packing adds and the look-up's own
    /// errors are counted.
    ///
    /// # Errors
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for ciphertexts of another set or under another
    /// key, [`Error::Undeclared`] for those of unknown width, [`Error::Tables`] for tables whose
    /// modulus does not divide the plaintext modulus; [`Error::Discrete`] as
    /// [`ServerKey::lookup_phases`], for what would be wrong too often above all.
    pub fn to_wires(&self, x: &LweCiphertexts, tables: &[&Table]) -> Result<Vec<Wires>> {
        self.to_wires_within(x, 0.0, tables)
    }

    /// The same of messages that are not in the middle of their steps: by `within` steps between
    /// them they may be off, on top of the errors that ciphertexts carry.
    ///
    /// # Errors
    /// As [`WireSwitch::to_wires`], and for a distance that is no number from 0 to 1/2.
    pub fn to_wires_within(
        &self,
        x: &LweCiphertexts,
        within: f64,
        tables: &[&Table],
    ) -> Result<Vec<Wires>> {
        if !(0.0..0.5).contains(&within) {
            let what = "what messages are off by, in steps,";
            let rule = "it must be from 0 on, and below 1/2, where the next step begins";
            return error::mismatch(Mismatch::real(what, within, rule));
        }
        let multiple = self.multiple(x, tables)?;
        let modulus = x.plaintext_modulus().unwrap_or(1) as f64;
        let phases = self.packed(x, multiple, within / modulus)?;
        Ok(self.numbers.lookup_phases(&phases, tables)?)
    }

    /// How many times its phase a message is read as.
    fn multiple(&self, x: &LweCiphertexts, tables: &[&Table]) -> Result<u64> {
        let Some(first) = tables.first() else { return Ok(1) };
        let read = u64::from(first.modulus());
        match x.plaintext_modulus() {
            Some(all) if all.is_multiple_of(read) => Ok(all / read),
            Some(all) => Err(Error::Tables {
                found: read,
                messages: all,
                advice: match all {
                    0..=3 => "take tables of that modulus".to_owned(),
                    _ => format!("messages of TFHE leave half of it free: take {}", all / 2),
                },
            }),
            None => Err(Error::Undeclared {
                what: "ciphertexts",
                missing: "how many messages fill a turn",
                by: "with_plaintext_modulus",
            }),
        }
    }

    /// Phases of messages, `multiple` times as large, with their errors.
    fn packed(&self, x: &LweCiphertexts, multiple: u64, bound: f64) -> Result<Phases> {
        self.between.check(x)?;
        let set = self.numbers.set();
        let log2_modulus = x.log2_modulus();
        let whole = self.between.ciphertext_len() * set.numbers();
        let pack = |words: &[u32]| -> Result<Ciphertext> {
            let [b, a] =
                self.between.pack(words, log2_modulus, multiple, |number| self.exponents[number]);
            let header = CiphertextHeader {
                set: set.ckks().clone(),
                key: self.numbers.key_id(),
                level: 0,
                scale: set.turn(),
                slots: set.ckks().slots(),
                noise: Noise::exact(1.0),
            };
            Ok(Ciphertext::from_parts(header, b, a)?)
        };
        let ciphertexts = x.words().chunks(whole).map(pack).collect::<Result<Vec<_>>>()?;
        let count = x.len().min(set.numbers());
        let times = multiple as f64;
        let own = x.variance() * libm::exp2(-2.0 * f64::from(log2_modulus)) * times * times;
        let deviation = (own + self.noise().back(count, log2_modulus)).sqrt();
        Ok(self.numbers.upload_phases(&ciphertexts, count, deviation, times * bound)?)
    }

    /// Wires as TFHE ciphertexts modulo 2^`log2_modulus` (native torus: 64), one a number in use,
    /// ciphertext after ciphertext: messages of `bits` bits, m/2^(bits + 1) of a turn. One bit
    /// makes bits for gates. No look-up: a few levels below wires are there for it.
    ///
    /// The variance that results carry is that of a normal error that is at least as large as
    /// theirs, of the worst slot, so that TFHE's own bound counts with it.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for numbers that may not fit the bits, or 12
    /// bits and more; [`Error::Discrete`](crate::Error::Discrete) where numbers would be read from
    /// their phases wrongly too often; [`Error::Tfhe`](crate::Error::Tfhe) for a modulus that the
    /// TFHE set does not have.
    pub fn to_tfhe(&self, x: &Wires, bits: u32, log2_modulus: u32) -> Result<LweCiphertexts> {
        let (low, high) = x.range();
        if !(1..=11).contains(&bits) {
            let what = "the number of bits of messages";
            return error::mismatch(Mismatch::range(what, bits, [1u32, 11]));
        }
        if low < 0 || high >= 1 << bits {
            let (what, allowed) = (format!("messages of {bits} bits"), (0, (1 << bits) - 1));
            let advice = "; look up what they are, or say so (`Wires::within`)";
            return error::mismatch(Mismatch::numbers(what, (low, high), allowed, advice));
        }
        let modulus = 2u32 << bits;
        let phases = self.numbers.phases(x, modulus)?;
        let exponents = &self.exponents[..phases.numbers()];
        let mut words = Vec::new();
        for ciphertext in self.numbers.ckks().download(phases.ciphertexts())? {
            self.between.extract(&ciphertext, exponents, 1, log2_modulus, &mut words);
        }
        let all = phases.normal().powi(2) + self.noise().there(log2_modulus);
        let variance = all * libm::exp2(2.0 * f64::from(log2_modulus));
        let result = LweCiphertexts::from_words_at(self.parameters().tfhe(), log2_modulus, words)?
            .with_key(self.tfhe_key_id())
            .with_variance(variance)?
            .with_plaintext_modulus(Some(modulus.into()))?;
        self.check_read(&result, modulus)?;
        Ok(result)
    }

    /// Refuses messages that decryption would misread too often.
    fn check_read(&self, x: &LweCiphertexts, modulus: u32) -> Result<()> {
        let set = self.numbers.set();
        let each = x.log2_failure(modulus.into())?;
        let (all, limit) = (each + (set.numbers() as f64).log2(), self.numbers.failure_limit());
        if all <= limit {
            return Ok(());
        }
        Err(Error::Discrete(girih_discrete::Error::Failure {
            what: format!(
                "messages modulo {modulus} of {} modulo 2^{}",
                self.parameters().tfhe(),
                x.log2_modulus()
            ),
            log2_failure: all,
            limit,
            advice: "take fewer bits, a larger modulus, or another TFHE set".into(),
        }))
    }

    fn check_switch(&self, other: &Switch<'_>) -> Result<()> {
        let (own, found) = (self.parameters().tfhe(), other.parameters().tfhe());
        let what = "a switch for vectors";
        if own != found {
            return error::wrong_set(what, found, "numbers go through a TFHE key of", own);
        }
        let [found, own] = [other.tfhe_key_id(), self.tfhe_key_id()];
        if own != found {
            return error::wrong_key(what, found, "numbers go through client key", own);
        }
        Ok(())
    }

    /// The first `count` slots of every ciphertext of a batch of CKKS as wires: f(m) where a slot
    /// is `step` m, for each table f modulo p'; its numbers stand in the order of slots, ciphertext
    /// after ciphertext. No bootstrapping of TFHE: its key is only passed through.
    ///
    /// A slot lies within `within` steps of `step` m, by the word of the caller. Errors that the
    /// ciphertexts carry ([`Ciphertexts::estimate`]) and those of both ways are counted on top,
    /// with the worst slot. Slots farther from a step give no number at all, but something between
    /// two: where values lie anywhere, a bootstrapping of TFHE decides first ([`Switch::to_tfhe`],
    /// then [`WireSwitch::to_wires`] of what a table of TFHE gives).
    ///
    /// # Errors
    /// As [`Switch::to_tfhe`] and [`WireSwitch::to_wires_within`];
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for a switch of another TFHE key,
    /// [`Error::Undeclared`] for slots of unknown errors, [`Error::Mismatch`] for a step that is no
    /// positive number.
    pub fn round(
        &self,
        from: &Switch<'_>,
        x: &Ciphertexts,
        (count, step): (usize, f64),
        within: f64,
        tables: &[&Table],
    ) -> Result<Vec<Wires>> {
        self.check_switch(from)?;
        if !(step.is_finite() && step > 0.0) {
            return error::mismatch(Mismatch::real("a step", step, "it must be positive"));
        }
        let bias = x.estimate().bias;
        if !bias.is_finite() {
            return Err(Error::Undeclared {
                what: "slots",
                missing: "how far approximations are off at most",
                by: "with_estimate",
            });
        }
        let modulus = tables.first().map_or(2, |table| table.modulus());
        let turns = 1.0 / (step * f64::from(modulus));
        let log2_modulus = match self.parameters().tfhe().shape().is_torus() {
            true => 64,
            false => self.parameters().log2_key_modulus().min(30),
        };
        let phases = from.to_tfhe_at(x, count, turns, log2_modulus, WORST_SLOT)?;
        let phases = phases.with_plaintext_modulus(Some(modulus.into()))?;
        self.to_wires_within(&phases, within + bias / step, tables)
    }

    /// Wires as slots of CKKS ciphertexts, one for every [`Switch::slots`] of the numbers in use,
    /// at the highest normal level: each number as it is. Their bits are looked up at once and go
    /// one by one, as phases of a quarter of a turn, at which [`Switch::to_ckks`] leaves squares of
    /// errors; what results err by is their estimate.
    ///
    /// # Errors
    /// As [`ServerKey::lookup`], [`WireSwitch::to_tfhe`] and [`Switch::to_ckks`];
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for a switch of another TFHE key,
    /// [`Error::Mismatch`] for numbers that are not from 0 to below the set's modulus.
    pub fn to_ckks(&self, x: &Wires, to: &Switch<'_>) -> Result<Ciphertexts> {
        self.check_switch(to)?;
        let (low, high) = x.range();
        let p = self.numbers.set().modulus();
        if low < 0 || high >= i64::from(p) {
            let allowed = (0, i64::from(p) - 1);
            return error::mismatch(Mismatch::numbers("slots", (low, high), allowed, ""));
        }
        let bits = (64 - high.leading_zeros()).max(1);
        // Numbers are read in as small a modulus as holds them.
        let modulus = (2..=p).find(|m| p.is_multiple_of(*m) && high < i64::from(*m)).unwrap_or(p);
        // Of the order that leaves least of errors, as results are no longer looked up.
        let levels = self.numbers.set().table_levels();
        let order = if table_levels(modulus, 2) <= levels { 2 } else { 1 };
        let bit = |i: u32| Table::new(modulus, |m| m >> i & 1)?.order(order);
        let tables = (0..bits).map(bit).collect::<girih_discrete::Result<Vec<_>>>()?;
        let tables: Vec<&Table> = tables.iter().collect();
        let log2_modulus = self.parameters().tfhe().shape().log2_stored_modulus();
        let mut sum: Option<Ciphertexts> = None;
        for bit in self.numbers.lookup(x, &tables)?.iter().rev() {
            let slots = to.to_ckks(&self.to_tfhe(bit, 1, log2_modulus)?)?;
            sum = Some(match sum {
                None => slots,
                Some(sum) => to.ckks().add(&to.ckks().add(&sum, &sum)?, &slots)?,
            });
        }
        let sum = sum.expect("numbers have a bit at least");
        Ok(sum.with_magnitude(high as f64)?)
    }
}
