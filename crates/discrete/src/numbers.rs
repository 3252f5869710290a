//! Encrypted numbers on the host.

use crate::{DiscreteParameters, Result, error, wire};
use girih_ckks::Ciphertext;
use girih_rlwe::wire::{Bytes, Kind, LONGEST_SET, Opened, SMALL, encode, open, open_for};
use girih_rlwe::{Counts, KeyId, Mismatch};
use serde::Serialize;

/// Ciphertexts of one set, level and key, each of up to N numbers.
#[derive(Clone, PartialEq)]
pub struct EncryptedNumbers {
    set: DiscreteParameters,
    ciphertexts: Vec<Ciphertext>,
    numbers: usize,
    range: (i64, i64),
    bound: f64,
}

impl std::fmt::Debug for EncryptedNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (count, numbers) = (self.ciphertexts.len(), self.numbers);
        write!(f, "EncryptedNumbers({}, {count} of {numbers} numbers)", self.set)
    }
}

/// Numbers stay below this in magnitude.
pub(crate) const LARGEST: i64 = 1 << 40;

/// Ciphertexts of one batch at most.
const MOST_CIPHERTEXTS: usize = 1 << 16;

/// What the rounding of an encoding is off by at most in a number, whatever the numbers are: half a
/// unit in each coefficient, times magnitudes of a cosine, whose mean is 2/pi.
pub(crate) fn encoding(set: &DiscreteParameters) -> f64 {
    1.01 * set.numbers() as f64 / (std::f64::consts::PI * set.scale())
}

/// Refuses a range that no sums of numbers have.
pub(crate) fn check_range((low, high): (i64, i64)) -> Result<()> {
    if low <= high && low > -LARGEST && high < LARGEST {
        return Ok(());
    }
    let (most, advice) = (LARGEST - 1, ", below 2^40 in magnitude");
    error::mismatch(Mismatch::numbers("they", (low, high), (-most, most), advice))
}

impl EncryptedNumbers {
    /// Puts together what was checked elsewhere.
    pub(crate) fn new(
        set: &DiscreteParameters,
        ciphertexts: Vec<Ciphertext>,
        numbers: usize,
        range: (i64, i64),
        bound: f64,
    ) -> Result<Self> {
        let found = Self { set: set.clone(), ciphertexts, numbers, range, bound };
        found.check()?;
        Ok(found)
    }

    /// Ciphertexts of several batches as one, in their order.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) without any, for more than a batch may have, and
    /// for batches of unequal numbers of numbers or several client keys;
    /// [`Error::WrongSet`](crate::Error::WrongSet) for several sets.
    pub fn join<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else {
            return error::mismatch(Mismatch::empty("batches to join"));
        };
        let mut all = first.clone();
        for part in parts {
            if part.set != all.set {
                return error::wrong_set("numbers", &part.set, &all.set);
            }
            if part.numbers != all.numbers {
                let what = "numbers of a ciphertext, as in the first batch";
                return error::count(what, part.numbers, Counts::Exactly(all.numbers));
            }
            all.ciphertexts.extend(part.ciphertexts.iter().cloned());
            all.range = (all.range.0.min(part.range.0), all.range.1.max(part.range.1));
            all.bound = all.bound.max(part.bound);
        }
        all.check()?;
        Ok(all)
    }

    /// The same with a bound of errors that follows from their deviation.
    pub(crate) fn with_bound(self, bound: impl Fn(f64) -> f64) -> Self {
        Self { bound: bound(self.deviation()), ..self }
    }

    fn check(&self) -> Result<()> {
        let set = &self.set;
        let count = self.ciphertexts.len();
        if !(1..=MOST_CIPHERTEXTS).contains(&count) {
            let allowed = Counts::Between(1, MOST_CIPHERTEXTS);
            return error::count("ciphertexts of a batch", count, allowed);
        }
        check_numbers(set, self.numbers)?;
        check_range(self.range)?;
        if !(0.0..1e9).contains(&self.bound) {
            let (what, rule) = ("what numbers may be off by", "it must be from 0 to below 10^9");
            return error::mismatch(Mismatch::real(what, self.bound, rule));
        }
        let key = self.key_id();
        for x in &self.ciphertexts {
            let place = (x.level(), x.scale(), x.slots());
            let wanted = (set.wire_level(), set.scale(), set.ckks().slots());
            if x.set() != set.ckks() || place != wanted || x.key_id() != key {
                return error::mismatch(Mismatch::Form {
                    what: format!("a ciphertext of {} under client key {:.8}", x.set(), x.key_id()),
                    found: format!("{}, {} slots", stands(place.0, place.1), place.2),
                    expected: format!(
                        "{set} needs client key {key:.8}, {}, all slots",
                        stands(wanted.0, wanted.1)
                    ),
                });
            }
        }
        Ok(())
    }

    /// The parameter set.
    pub fn set(&self) -> &DiscreteParameters {
        &self.set
    }

    /// Name of the client key.
    pub fn key_id(&self) -> KeyId {
        self.ciphertexts[0].key_id()
    }

    /// How many ciphertexts there are, at least 1.
    pub fn len(&self) -> usize {
        self.ciphertexts.len()
    }

    /// Never: there is at least one ciphertext.
    pub fn is_empty(&self) -> bool {
        self.ciphertexts.is_empty()
    }

    /// Numbers in use of each ciphertext, 1 to N.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// The least and the largest number that there may be.
    pub fn range(&self) -> (i64, i64) {
        self.range
    }

    /// The deviation of a number's error, a mean over slots: the worst of the batch.
    pub fn deviation(&self) -> f64 {
        self.ciphertexts.iter().map(|x| x.noise().deviation).fold(0.0, f64::max)
    }

    /// What errors may be beside that: a bound, not a deviation.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The ciphertexts of CKKS.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// The ciphertexts as bytes, which end with a checksum: it finds accidents on the way, and is
    /// no authentication.
    ///
    /// # Errors
    /// [`Error::Shared`](crate::Error::Shared) if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let parts = self.ciphertexts.iter().map(Ciphertext::to_bytes);
        let head = (self.numbers as u32, self.range.0, self.range.1, self.bound);
        framed(wire::NUMBERS, &self.set, self.key_id(), head, parts)
    }

    /// Reads and checks what [`EncryptedNumbers::to_bytes`] wrote, of whatever set.
    ///
    /// Range and errors are what the bytes say: of numbers from strangers they may be anything.
    ///
    /// # Errors
    /// [`Error::Shared`](crate::Error::Shared), [`Error::Ckks`](crate::Error::Ckks) and
    /// [`Error::Mismatch`](crate::Error::Mismatch) naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::NUMBERS, bytes)?)
    }

    /// The same for one set, and at most `ciphertexts` ciphertexts.
    ///
    /// # Errors
    /// As [`EncryptedNumbers::from_bytes`], and for another set.
    pub fn from_bytes_for(
        set: &DiscreteParameters,
        ciphertexts: usize,
        bytes: &[u8],
    ) -> Result<Self> {
        let most = ciphertexts.saturating_mul(most_bytes(set, 2));
        Self::read(open_for(wire::NUMBERS, set, most, bytes)?)
    }

    fn read(opened: Opened<'_, DiscreteParameters>) -> Result<Self> {
        let key = opened.named_key()?;
        let (set, (head, parts)): (_, Payload<'_>) = opened.payload()?;
        let (numbers, low, high, bound) = head;
        let read = |bytes: &&[u8]| Ciphertext::from_bytes_for(set.ckks(), bytes);
        let ciphertexts = parts.iter().map(read).collect::<girih_ckks::Result<Vec<_>>>()?;
        let found = Self::new(&set, ciphertexts, numbers as usize, (low, high), bound)?;
        if found.key_id() != key {
            let why = format!(
                "they name client key {key:.8}, and their ciphertexts {:.8}",
                found.key_id()
            );
            return error::malformed("numbers in slots", why);
        }
        Ok(found)
    }
}

/// Numbers in use, range, bound; then the bytes of each ciphertext.
type Payload<'a> = ((u32, i64, i64, f64), Vec<&'a [u8]>);

/// Ciphertexts under one key: what is said of all of them, then the bytes of each.
///
/// # Errors
/// If they cannot be serialized.
pub(crate) fn framed(
    kind: Kind,
    set: &DiscreteParameters,
    key: KeyId,
    head: impl Serialize,
    parts: impl Iterator<Item = girih_ckks::Result<Vec<u8>>>,
) -> Result<Vec<u8>> {
    let parts = parts.collect::<girih_ckks::Result<Vec<_>>>()?;
    let room = parts.iter().map(|part| part.len() + 8).sum();
    let parts: Vec<Bytes<'_>> = parts.iter().map(|part| Bytes(part)).collect();
    Ok(encode(kind, set, Some(key), room, &(head, parts))?)
}

/// Bytes at most of a ciphertext of so many polynomials.
pub(crate) fn most_bytes(set: &DiscreteParameters, polynomials: usize) -> usize {
    4 * polynomials * (set.wire_level() + 1) * set.numbers() + LONGEST_SET + 2 * SMALL
}

/// Where a ciphertext stands, in words.
pub(crate) fn stands(level: usize, scale: f64) -> String {
    format!("at level {level}, scale 2^{:.4}", scale.log2())
}

/// Refuses numbers of the wrong count.
pub(crate) fn check_numbers(set: &DiscreteParameters, count: usize) -> Result<()> {
    let most = set.numbers();
    if (1..=most).contains(&count) {
        return Ok(());
    }
    let what = format!("numbers in a ciphertext of {set}");
    error::count(what, count, Counts::Between(1, most))
}
