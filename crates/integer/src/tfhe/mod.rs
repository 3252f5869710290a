//! Integers over TFHE: digits of two bits, each a message of four bits under one of padding.
//!
//! An operation is recorded once for its width and for what is known of its operands: sums, and
//! look-ups of sums. What nobody reads is left out, equal look-ups are made once, two of one sum
//! share a rotation where they can, look-ups whose inputs are ready form a level. Running it is a
//! list of jobs a level, over all elements of the arrays and all digits.

mod compressed;
mod costs;
mod operations;
mod program;
mod random;
mod record;
mod run;
mod sets;

pub use compressed::CompressedIntegers;
pub use costs::{Cost, costs};
pub use record::Aim;

use crate::engine::{Array, Digits, EncryptionKey, Engine, Form, Held, Inner, Sealed};
use crate::{Error, Integers, Result};
use girih_rlwe::{Counts, Mismatch};
use girih_tfhe::{
    CentredTable, ClientKey, DeviceCiphertexts, KeyId, LweCiphertexts, ParameterSet, PublicKey,
    SeededCiphertexts, ServerKey,
};
use record::{DigitState, Margin, Values};
use run::{Context, Loaded, MOST_JOBS, budgets, digit_values, has_pairs, log2_failure, unit};
use sets::{LEAST_NORM, check_packing, check_set};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use zeroize::Zeroizing;

/// Bits of a message of the look-ups: two of a digit, two for carries.
const MESSAGE_BITS: u32 = 4;
/// log2 of the fine steps in a step, in which wide sums are made.
const FINE_BITS: u32 = 2;
/// Fine steps in a step.
const FINE: i32 = 1 << FINE_BITS;
/// Steps of messages around the circle, padding included.
const STATES: i32 = 2 << MESSAGE_BITS;

/// The same, as ciphertexts carry it.
const PLAINTEXT: u64 = STATES as u64;
/// Values of a digit.
const RADIX: i32 = 4;
/// What a condition that holds stands at.
const CONDITION: i32 = 8;

/// log2 of what a digit of 1 stands at.
fn log2_scale(form: Form) -> u32 {
    if form.is_condition { CONDITION.ilog2() } else { 0 }
}

/// What a digit may be where no carry is to come.
fn values(form: Form) -> Values {
    if form.is_condition { Values::from_iter([0, CONDITION]) } else { digit_values() }
}

/// Messages of digits: digit d of element e is message `d count + e`.
fn messages(digits: &[u8], count: usize, form: Form) -> Zeroizing<Vec<u64>> {
    let of = |i: usize| {
        let (digit, element) = (i / count, i % count);
        u64::from(digits[element * form.digits + digit]) << log2_scale(form)
    };
    Zeroizing::new((0..digits.len()).map(of).collect())
}

impl Sealed for ServerKey {}
impl Sealed for ClientKey {}
impl Sealed for PublicKey {}

impl EncryptionKey for ClientKey {
    type Engine = ServerKey;

    fn encrypt_digits(&self, digits: &Digits, count: usize, form: Form) -> Result<LweCiphertexts> {
        check_set(self.set())?;
        Ok(self.encrypt_messages(&messages(digits, count, form), MESSAGE_BITS)?)
    }
}

impl EncryptionKey for PublicKey {
    type Engine = ServerKey;

    fn encrypt_digits(&self, digits: &Digits, count: usize, form: Form) -> Result<LweCiphertexts> {
        check_set(self.set())?;
        Ok(self.encrypt_messages(&messages(digits, count, form), MESSAGE_BITS)?)
    }
}

impl Engine for ServerKey {
    type ClientKey = ClientKey;
    type Set = ParameterSet;
    type Ciphertexts = LweCiphertexts;
    type Seeded = SeededCiphertexts;
    type Words = DeviceCiphertexts;
    type Digit = DigitState;
    type Program = Loaded;
    type Context = Context;
    const SUFFIX: &'static str = "";
    const JOINS: bool = true;
    const MOST_TERMS: usize = 32;

    fn context(&self) -> Result<Context> {
        let set = self.set();
        check_packing(set)?;
        let (model, bound) = (self.noise_model(), self.failure_limit());
        // Says what is wrong with a set without room.
        self.load_centred(&CentredTable::new(vec![0; 1 << MESSAGE_BITS], 0)?)?;
        let budgets = budgets(&model, set, bound);
        if budgets.half < LEAST_NORM {
            return Err(Error::Tfhe(girih_tfhe::Error::TooNoisy {
                what: format!(
                    "a look-up of four bits in a sum of norm 3 with {set}, where GIRIH_2_2 and \
                     TFHERS_2_2 have room for it,"
                ),
                log2_failure: log2_failure(&model, set, Margin::Half, LEAST_NORM),
                log2_bound: bound,
            }));
        }
        let scratch_bytes = AtomicUsize::new(Integers::<Self>::SCRATCH_BYTES);
        Ok(Context {
            budgets,
            pairs: has_pairs(set),
            scratch_bytes,
            report_every: AtomicUsize::new(MOST_JOBS),
            aim: Default::default(),
        })
    }

    fn name(&self) -> String {
        format!("{self:?}")
    }

    fn key_id(&self) -> KeyId {
        self.key_id()
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.engine().synchronize()?)
    }

    fn record(&self, of: &Context, request: &operations::Request) -> Result<Loaded> {
        run::load(self, of, request)
    }

    fn execute(
        inner: &Inner<Self>,
        program: &Loaded,
        arrays: &[Option<&Array<Self>>],
        count: usize,
    ) -> Result<Vec<Held<Self>>> {
        run::execute(inner, program, arrays, count)
    }

    fn encrypt_seeded(
        client: &ClientKey,
        digits: &Digits,
        count: usize,
        form: Form,
    ) -> Result<SeededCiphertexts> {
        check_set(client.set())?;
        Ok(client.encrypt_seeded(&messages(digits, count, form), PLAINTEXT)?)
    }

    fn upload(
        inner: &Inner<Self>,
        ciphertexts: &LweCiphertexts,
        _: usize,
        form: Form,
    ) -> Result<Held<Self>> {
        let unit = unit(&inner.server.noise_model());
        let norm = (ciphertexts.variance() / unit - 1e-9).ceil();
        let norm = norm.clamp(1.0, f64::from(u32::MAX)) as u32;
        let state = DigitState { values: values(form), norm };
        Ok((inner.server.upload(ciphertexts)?, vec![state; form.digits]))
    }

    fn constants(
        inner: &Inner<Self>,
        digits: &[u8],
        count: usize,
        form: Form,
    ) -> Result<Held<Self>> {
        let messages = messages(digits, count, form);
        let words = LweCiphertexts::trivial(inner.server.set(), &messages, PLAINTEXT)?;
        <Self as Engine>::upload(inner, &words, count, form)
    }

    fn take(array: &Array<Self>, elements: &[usize]) -> Result<Held<Self>> {
        Ok((run::take(array, elements)?, array.digits.clone()))
    }

    fn download(array: &Array<Self>) -> Result<LweCiphertexts> {
        Ok(array.inner.server.download(&array.words)?)
    }

    fn is_settled(array: &Array<Self>, form: Form) -> bool {
        let values = values(form);
        array.digits.iter().all(|d| d.values.iter().all(|v| values.contains(v)))
    }

    fn decrypt(
        client: &ClientKey,
        ciphertexts: &LweCiphertexts,
        count: usize,
        form: Form,
    ) -> Result<Option<Digits>> {
        let messages = Zeroizing::new(client.decrypt_messages(ciphertexts, MESSAGE_BITS)?);
        let values = values(form);
        // All are looked at alike, so that time does not tell which is wrong.
        let wrong = messages.iter().fold(0, |n, &m| n + usize::from(!values.contains(m as i32)));
        let of = |i: usize| {
            let (element, digit) = (i / form.digits, i % form.digits);
            (messages[digit * count + element] >> log2_scale(form)) as u8
        };
        Ok((wrong == 0).then(|| Zeroizing::new((0..messages.len()).map(of).collect())))
    }

    fn set(ciphertexts: &LweCiphertexts) -> &ParameterSet {
        ciphertexts.set()
    }

    fn key_of(ciphertexts: &LweCiphertexts) -> Option<KeyId> {
        ciphertexts.key_id()
    }

    fn check(
        ciphertexts: &LweCiphertexts,
        count: usize,
        form: Form,
        of: &str,
    ) -> std::result::Result<(), Mismatch> {
        let messages = ciphertexts.messages();
        if count == 0 || Some(messages) != count.checked_mul(form.digits) {
            let (digits, wanted) = (form.digits, count.saturating_mul(form.digits));
            let what = format!("messages for {count} {of} of {digits} each");
            let allowed =
                if count == 0 { Counts::MultipleOf(digits) } else { Counts::Exactly(wanted) };
            return Err(Mismatch::count(what, messages, allowed));
        }
        match ciphertexts.plaintext_modulus() {
            Some(found) if found != PLAINTEXT => {
                Err(Mismatch::PlaintextModulus { what: of.into(), found, expected: PLAINTEXT })
            }
            _ => Ok(()),
        }
    }

    fn to_bytes(ciphertexts: &LweCiphertexts, _: usize) -> Result<Vec<u8>> {
        Ok(ciphertexts.to_bytes()?)
    }

    fn from_bytes(
        bytes: &[u8],
        most: Option<(&ParameterSet, usize)>,
        form: Form,
    ) -> Result<(LweCiphertexts, usize)> {
        let ciphertexts = match most {
            Some((set, _)) => LweCiphertexts::from_bytes_for(set, bytes)?,
            None => LweCiphertexts::from_bytes(bytes)?,
        };
        let (messages, digits) = (ciphertexts.messages(), form.digits);
        if !messages.is_multiple_of(digits) {
            return Err(Error::Malformed(format!(
                "{messages} messages are no whole number of integers of {digits}"
            )));
        }
        let len = messages / digits;
        match most {
            Some((_, most)) if len > most => {
                Err(Error::Malformed(format!("{len} integers, and there may be {most}")))
            }
            _ => Ok((ciphertexts, len)),
        }
    }
}

impl Integers<ServerKey> {
    /// The limit of [`Integers::limit_scratch`] until another is set.
    pub const SCRATCH_BYTES: usize = if usize::BITS > 32 { 4 << 30 } else { 1 << 30 };

    /// Limits what operations store on the device beside their operands and results: arrays are
    /// computed in parts that keep below it, of one element at least.
    pub fn limit_scratch(&self, bytes: usize) {
        self.0.context.scratch_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Runs operations with this aim from now on; with none, as at first, the number of elements
    /// and the device decide. Results decrypt to the same values.
    pub fn aim_for(&self, aim: Option<Aim>) {
        *self.0.context.aim.lock().unwrap_or_else(PoisonError::into_inner) = aim;
    }

    /// Lets the listener hear after so many bootstrappings at the latest, 65,536 unless another
    /// number is set: fewer let it end work sooner, and leave a device idle that works on more at
    /// once.
    pub fn report_every(&self, bootstrappings: usize) {
        self.0.context.report_every.store(bootstrappings.clamp(1, MOST_JOBS), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wide_tests;
