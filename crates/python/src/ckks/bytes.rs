//! Several vectors as one run of bytes.

use crate::errors::{Failure, Outcome};
use girih::ckks::Ciphertext;

/// What such bytes begin with.
const MAGIC: &[u8] = b"girih vectors 1\n";
/// Dimensions at most, as of NumPy.
const MOST_DIMENSIONS: usize = 63;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 8;

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let hash = blake3::hash(bytes);
    std::array::from_fn(|i| hash.as_bytes()[i])
}

/// The vectors of an array whose shape, without slots, is `lead`: the number of its lengths and
/// these, then of each vector the length and its bytes, then a checksum; numbers of 8 bytes, the
/// lowest first.
///
/// # Errors
/// As `Ciphertext::to_bytes`.
pub fn write(lead: &[usize], vectors: &[Ciphertext]) -> Outcome<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    for number in [lead.len()].iter().chain(lead) {
        bytes.extend((*number as u64).to_le_bytes());
    }
    for vector in vectors {
        let own = vector.to_bytes()?;
        let own: &[u8] = own.as_ref();
        bytes.extend((own.len() as u64).to_le_bytes());
        bytes.extend(own);
    }
    bytes.extend(checksum(&bytes));
    Ok(bytes)
}

/// What is left to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, count: usize) -> Outcome<&'a [u8]> {
        let Some((own, rest)) = self.0.split_at_checked(count) else {
            return Err(malformed("they end early"));
        };
        self.0 = rest;
        Ok(own)
    }

    fn number(&mut self) -> Outcome<usize> {
        let bytes = self.bytes(8)?;
        let number = u64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        usize::try_from(number).map_err(|_| malformed("a length is none"))
    }
}

fn malformed(why: &str) -> Failure {
    Failure::new("MalformedError", format!("bytes of encrypted vectors: {why}"))
}

/// What [`write`] wrote.
///
/// # Errors
/// `MalformedError` for anything else, `MismatchError` for vectors that make no batch.
pub fn read(bytes: &[u8]) -> Outcome<(Vec<usize>, Vec<Ciphertext>)> {
    let Some((body, end)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(malformed("they end early"));
    };
    let Some(body) = body.strip_prefix(MAGIC) else {
        return Err(malformed("they do not begin as such bytes do"));
    };
    if checksum(&bytes[..bytes.len() - CHECKSUM]) != *end {
        return Err(malformed("they were changed or cut on the way: the checksum is another"));
    }
    let mut rest = Rest(body);
    let dimensions = rest.number()?;
    if dimensions > MOST_DIMENSIONS {
        return Err(malformed("a shape of too many lengths"));
    }
    let lead = (0..dimensions).map(|_| rest.number()).collect::<Outcome<Vec<usize>>>()?;
    let count = lead.iter().try_fold(1usize, |product, &length| product.checked_mul(length));
    // Each vector has bytes, so this bounds what is allocated.
    let count = count.filter(|count| (1..=body.len()).contains(count));
    let Some(count) = count else { return Err(malformed("a shape of no vectors, or of too many")) };
    let mut vectors: Vec<Ciphertext> = Vec::new();
    for _ in 0..count {
        let length = rest.number()?;
        vectors.push(Ciphertext::from_bytes(rest.bytes(length)?)?);
    }
    if !rest.0.is_empty() {
        return Err(malformed("there are more than their lengths say"));
    }
    check_alike(&vectors)?;
    Ok((lead, vectors))
}

/// Refuses vectors that make no batch.
///
/// # Errors
/// `MismatchError` naming two.
pub fn check_alike(vectors: &[Ciphertext]) -> Outcome<()> {
    let facts = |c: &Ciphertext| (c.set().clone(), c.key_id(), c.level(), c.slots());
    let Some((first, others)) = vectors.split_first() else { return Ok(()) };
    let wanted = facts(first);
    match others.iter().find(|other| facts(other) != wanted) {
        None => Ok(()),
        Some(other) => {
            Err(Failure::mismatch(format!("{first:?} and {other:?} make no batch: they differ")))
        }
    }
}
