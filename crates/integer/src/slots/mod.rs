//! Integers over numbers in slots: digits of two bits, a ciphertext each, which holds that digit of
//! as many elements as the set has numbers.
//!
//! The unit of cost is a look-up of one ciphertext, which takes as long for one element as for all.
//! Two digits and a carry are at most 7: one look-up modulo 8 with two tables gives digit and
//! carry, so that an addition is as many look-ups as there are digits, one after the other.
//! Functions of two digits are look-ups modulo 16 of four times one plus the other; those of a
//! product have a table for each bit, and bits are counted fifteen at a time.
//!
//! An operation is recorded once for its width and for what is known of its operands: sums, and
//! look-ups of sums, each counted by the [`Forecast`](girih_discrete::Forecast) of the set before
//! it is recorded. Digits are *clean*, with the errors that sums modulo 8 leave, or they are at
//! rest, with those of a look-up modulo 16 on top; sums take either, other operations look up what
//! is not clean by itself before. Errors of both are such that any operation of such digits leaves
//! no larger ones, so that operations follow each other without end, within the failure bound.

mod costs;
mod layout;
mod linear;
mod operations;
mod program;
mod recorder;
mod run;
mod standard;
mod take;

pub use costs::{SlotCost, slot_costs};

use crate::engine::{Array, Digits, EncryptionKey, Engine, Form, Held, Inner, Sealed};
use crate::{Error, Result, error::mismatch};
use girih_discrete::{
    ClientKey, DiscreteParameters, EncryptedNumbers, KeyId, PublicKey, SeededNumbers, ServerKey,
};
use girih_rlwe::Mismatch;
use layout::Layout;
use operations::State;
use program::Program;
use run::Part;
use standard::Standard;
use std::sync::Arc;
use take::cleaned;
use zeroize::Zeroizing;

/// The wires of an array, part by part.
pub type Parts = Vec<Part>;

impl Sealed for ServerKey {}
impl Sealed for ClientKey {}
impl Sealed for PublicKey {}

/// Digits as `batch` encrypts columns of numbers below a modulus.
fn encrypted(
    set: &DiscreteParameters,
    (digits, count, form): (&Digits, usize, Form),
    batch: impl FnOnce(&[&[u32]], u32) -> girih_discrete::Result<EncryptedNumbers>,
) -> Result<EncryptedNumbers> {
    let columns = Layout::new(count, set.numbers(), form).columns(digits);
    let columns: Vec<&[u32]> = columns.iter().map(|column| &column[..]).collect();
    Ok(batch(&columns, u32::from(form.most()) + 1)?)
}

impl EncryptionKey for ClientKey {
    type Engine = ServerKey;

    fn encrypt_digits(
        &self,
        digits: &Digits,
        count: usize,
        form: Form,
    ) -> Result<EncryptedNumbers> {
        let batch = |columns: &[&[u32]], modulus| self.encrypt_batch(columns, modulus);
        encrypted(self.set(), (digits, count, form), batch)
    }
}

impl EncryptionKey for PublicKey {
    type Engine = ServerKey;

    fn encrypt_digits(
        &self,
        digits: &Digits,
        count: usize,
        form: Form,
    ) -> Result<EncryptedNumbers> {
        let batch = |columns: &[&[u32]], modulus| self.encrypt_batch(columns, modulus);
        encrypted(self.set(), (digits, count, form), batch)
    }
}

impl Engine for ServerKey {
    type ClientKey = ClientKey;
    type Set = DiscreteParameters;
    type Ciphertexts = EncryptedNumbers;
    type Seeded = SeededNumbers;
    type Words = Parts;
    type Digit = State;
    type Program = Program;
    type Context = Arc<Standard>;
    const SUFFIX: &'static str = " in slots";
    const JOINS: bool = false;
    const MOST_TERMS: usize = usize::MAX;

    fn context(&self) -> Result<Arc<Standard>> {
        Ok(Arc::new(Standard::new(self.forecast(), self.failure_limit())?))
    }

    fn name(&self) -> String {
        self.set().to_string()
    }

    fn key_id(&self) -> KeyId {
        self.key_id()
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.synchronize()?)
    }

    fn record(&self, of: &Arc<Standard>, request: &operations::Request) -> Result<Program> {
        operations::record(request, of)
    }

    fn execute(
        inner: &Inner<Self>,
        program: &Program,
        arrays: &[Option<&Array<Self>>],
        _: usize,
    ) -> Result<Vec<Held<Self>>> {
        run::execute(inner, program, arrays)
    }

    fn encrypt_seeded(
        client: &ClientKey,
        digits: &Digits,
        count: usize,
        form: Form,
    ) -> Result<SeededNumbers> {
        let columns = Layout::new(count, client.set().numbers(), form).columns(digits);
        let columns: Vec<&[u32]> = columns.iter().map(|column| &column[..]).collect();
        Ok(client.encrypt_seeded(&columns, u32::from(form.most()) + 1)?)
    }

    fn upload(
        inner: &Inner<Self>,
        ciphertexts: &EncryptedNumbers,
        count: usize,
        form: Form,
    ) -> Result<Held<Self>> {
        let server = &inner.server;
        let all = server.upload(ciphertexts)?;
        let most = i64::from(form.most());
        let mut parts = Vec::new();
        for part in Layout::new(count, server.set().numbers(), form).parts() {
            let mut digits = Vec::with_capacity(form.digits);
            for range in part {
                let wires = cleaned(server, &inner.context, all.select(range)?, most)?;
                digits.push(Some(wires));
            }
            let like = digits[0].clone().expect("just made");
            parts.push(Part { digits, like });
        }
        Ok((parts, vec![State::Clean(most); form.digits]))
    }

    fn constants(
        inner: &Inner<Self>,
        digits: &[u8],
        count: usize,
        form: Form,
    ) -> Result<(Parts, Vec<State>)> {
        take::constants(&inner.server, digits, count, form)
    }

    fn take(array: &Array<Self>, elements: &[usize]) -> Result<(Parts, Vec<State>)> {
        take::take(array, elements)
    }

    fn download(array: &Array<Self>) -> Result<EncryptedNumbers> {
        let server = &array.inner.server;
        let mut all = Vec::new();
        for part in array.words.iter() {
            for (wires, state) in part.digits.iter().zip(&array.digits) {
                let wires = match (wires, state) {
                    (Some(wires), _) => wires.clone(),
                    (None, State::Known(value)) => server.constant(*value, &part.like)?,
                    (None, _) => return mismatch(Mismatch::empty("ciphertexts of a digit")),
                };
                all.push(server.download(&wires)?);
            }
        }
        Ok(EncryptedNumbers::join(&all)?)
    }

    fn is_settled(_: &Array<Self>, _: Form) -> bool {
        true
    }

    fn decrypt(
        client: &ClientKey,
        ciphertexts: &EncryptedNumbers,
        count: usize,
        form: Form,
    ) -> Result<Option<Digits>> {
        let numbers = Zeroizing::new(client.decrypt_integers(ciphertexts)?);
        let range = 0..=i64::from(form.most());
        // All are looked at alike, so that time does not tell which is wrong.
        let wrong = numbers.iter().fold(0, |n, v| n + usize::from(!range.contains(v)));
        let layout = Layout::new(count, ciphertexts.set().numbers(), form);
        Ok((wrong == 0).then(|| layout.elements(&numbers)))
    }

    fn set(ciphertexts: &EncryptedNumbers) -> &DiscreteParameters {
        ciphertexts.set()
    }

    fn key_of(ciphertexts: &EncryptedNumbers) -> Option<KeyId> {
        Some(ciphertexts.key_id())
    }

    fn check(
        ciphertexts: &EncryptedNumbers,
        count: usize,
        form: Form,
        of: &str,
    ) -> std::result::Result<(), Mismatch> {
        let layout = Layout::new(count, ciphertexts.set().numbers(), form);
        let found = (ciphertexts.len(), ciphertexts.numbers());
        let wanted = (layout.ciphertexts(), layout.used());
        if count == 0 || found != wanted {
            return Err(Mismatch::Form {
                what: format!("{} ciphertexts of {} numbers", found.0, found.1),
                found: format!("for {count} {of}"),
                expected: format!("so many have {} of {}, and there is one", wanted.0, wanted.1),
            });
        }
        let ((low, high), most) = (ciphertexts.range(), form.most());
        if low < 0 || high > i64::from(most) {
            return Err(Mismatch::numbers(
                format!("digits of {of}"),
                (low, high),
                (0, most.into()),
                "",
            ));
        }
        Ok(())
    }

    fn to_bytes(ciphertexts: &EncryptedNumbers, count: usize) -> Result<Vec<u8>> {
        let mut bytes = (count as u64).to_le_bytes().to_vec();
        bytes.extend(ciphertexts.to_bytes()?);
        Ok(bytes)
    }

    fn from_bytes(
        bytes: &[u8],
        most: Option<(&DiscreteParameters, usize)>,
        form: Form,
    ) -> Result<(EncryptedNumbers, usize)> {
        let Some((count, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(Error::Malformed("these bytes end before the number of integers".into()));
        };
        // More than any batch holds is no length.
        let count = usize::try_from(u64::from_le_bytes(*count)).unwrap_or(usize::MAX);
        let Some((set, most)) = most else {
            return Ok((EncryptedNumbers::from_bytes(rest)?, count));
        };
        if count > most {
            let why = format!("{count} integers, and there may be {most}");
            return Err(Error::Malformed(why));
        }
        let ciphertexts = Layout::new(count, set.numbers(), form).ciphertexts();
        Ok((EncryptedNumbers::from_bytes_for(set, ciphertexts, rest)?, count))
    }
}

#[cfg(test)]
mod tests;
