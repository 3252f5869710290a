//! Fresh numbers as they travel: ciphertexts without their masks.

use crate::numbers::{check_numbers, encoding, framed, most_bytes, stands};
use crate::{DiscreteParameters, EncryptedNumbers, Error, Result, error, wire};
use girih_ckks::SeededCiphertext;
use girih_rlwe::wire::{Opened, open, open_for};
use girih_rlwe::{KeyId, Mismatch};

/// Fresh ciphertexts without their masks, of half the bytes: each has a seed of 32 bytes that
/// stands for its mask.
///
/// A client makes them ([`ClientKey::encrypt_seeded`](crate::ClientKey::encrypt_seeded)); whoever
/// computes expands them ([`SeededNumbers::expand`]). They are as secure as whole ones.
#[derive(Clone, PartialEq)]
pub struct SeededNumbers {
    set: DiscreteParameters,
    ciphertexts: Vec<SeededCiphertext>,
    numbers: usize,
    below: u32,
}

impl std::fmt::Debug for SeededNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (count, numbers) = (self.ciphertexts.len(), self.numbers);
        write!(f, "SeededNumbers({}, {count} of {numbers} numbers)", self.set)
    }
}

impl SeededNumbers {
    /// Of fresh ciphertexts, which there is at least one of.
    pub(crate) fn new(
        set: &DiscreteParameters,
        ciphertexts: Vec<SeededCiphertext>,
        numbers: usize,
        below: u32,
    ) -> Self {
        Self { set: set.clone(), ciphertexts, numbers, below }
    }

    /// The whole ciphertexts: word for word what was encrypted.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for more ciphertexts than a batch may have.
    pub fn expand(&self) -> Result<EncryptedNumbers> {
        let whole = self.ciphertexts.iter().map(SeededCiphertext::expand).collect();
        let range = (0, i64::from(self.below) - 1);
        EncryptedNumbers::new(&self.set, whole, self.numbers, range, encoding(&self.set))
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

    /// What all numbers are below, by the word of who encrypted them.
    pub fn below(&self) -> u32 {
        self.below
    }

    /// The ciphertexts as bytes, which end with a checksum: it finds accidents on the way, and is
    /// no authentication.
    ///
    /// # Errors
    /// [`Error::Shared`] if they cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let parts = self.ciphertexts.iter().map(SeededCiphertext::to_bytes);
        let head = (self.numbers as u32, self.below);
        framed(wire::SEEDED, &self.set, self.key_id(), head, parts)
    }

    /// Reads and checks what [`SeededNumbers::to_bytes`] wrote, of whatever set.
    ///
    /// # Errors
    /// [`Error::Shared`], [`Error::Ckks`] and [`Error::Mismatch`] naming what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::SEEDED, bytes)?)
    }

    /// The same for one set, and at most `ciphertexts` ciphertexts.
    ///
    /// # Errors
    /// As [`SeededNumbers::from_bytes`], and for another set.
    pub fn from_bytes_for(
        set: &DiscreteParameters,
        ciphertexts: usize,
        bytes: &[u8],
    ) -> Result<Self> {
        let most = ciphertexts.saturating_mul(most_bytes(set, 1));
        Self::read(open_for(wire::SEEDED, set, most, bytes)?)
    }

    fn read(opened: Opened<'_, DiscreteParameters>) -> Result<Self> {
        let key = opened.named_key()?;
        let (set, ((numbers, below), parts)): (_, Payload<'_>) = opened.payload()?;
        check_numbers(&set, numbers as usize)?;
        if !(2..=set.modulus()).contains(&below) {
            let rule = format!("numbers of {set} are below 2 to {}", set.modulus());
            return Err(Error::Number { place: 0, value: below.into(), rule });
        }
        if parts.is_empty() {
            return error::mismatch(Mismatch::empty("seeded ciphertexts"));
        }
        let read = |bytes: &&[u8]| SeededCiphertext::from_bytes_for(set.ckks(), bytes);
        let ciphertexts = parts.iter().map(read).collect::<girih_ckks::Result<Vec<_>>>()?;
        let wanted = (set.wire_level(), set.scale(), set.ckks().slots());
        let place = |x: &SeededCiphertext| (x.level(), x.scale(), x.slots());
        if ciphertexts.iter().any(|x| place(x) != wanted || x.key_id() != key) {
            let why = format!(
                "of client key {key:.8}, and their ciphertexts are not all under it, {} and all \
                 slots",
                stands(wanted.0, wanted.1)
            );
            return error::malformed("seeded numbers in slots", why);
        }
        Ok(Self { set, ciphertexts, numbers: numbers as usize, below })
    }
}

/// Numbers in use and what they are below; then the bytes of each ciphertext.
type Payload<'a> = ((u32, u32), Vec<&'a [u8]>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientKey;

    #[test]
    fn seeds_expand_to_what_was_encrypted() {
        let set = DiscreteParameters::by_name("INSECURE_DISCRETE_4_N10").expect("built in");
        let client = || ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("a key");
        let numbers = [[1u32, 0, 3], [2, 2, 1]];
        let seeded = client().encrypt_seeded(&numbers, 4).expect("below 4");
        // The same client, having made nothing yet, makes the same ciphertexts.
        let whole = client().encrypt_batch(&numbers, 4).expect("below 4");
        assert!(seeded.expand().expect("fresh") == whole);
        assert_eq!((seeded.len(), seeded.numbers(), seeded.below()), (2, 3, 4));
        let bytes = seeded.to_bytes().expect("small");
        let all = whole.to_bytes().expect("small").len();
        assert!(2 * bytes.len() < all + 3000, "{} of {all} bytes", bytes.len());
        let read = SeededNumbers::from_bytes_for(&set, 2, &bytes).expect("what was written");
        assert!(read == seeded);
        let found = client().decrypt(&read.expand().expect("fresh")).expect("its key");
        assert_eq!(found, [1, 0, 3, 2, 2, 1]);

        for length in [0, 20, bytes.len() - 40, bytes.len() - 1] {
            assert!(SeededNumbers::from_bytes(&bytes[..length]).is_err());
        }
        assert!(SeededNumbers::from_bytes_for(&set, 1, &bytes).is_err());
        let error = client().encrypt_seeded(&[[4u32]], 4).expect_err("4").to_string();
        assert!(error.contains("below 4"), "{error}");
        let none: [[u32; 1]; 0] = [];
        assert!(client().encrypt_seeded(&none, 4).is_err());
        // What another program may write, its checksum right.
        let parts: Vec<Vec<u8>> =
            seeded.ciphertexts.iter().map(|x| x.to_bytes().expect("small")).collect();
        let write = |numbers: u32, below: u32, parts: &[Vec<u8>]| {
            let (key, parts) = (seeded.key_id(), parts.iter().cloned().map(Ok));
            let bytes = framed(wire::SEEDED, &set, key, (numbers, below), parts);
            SeededNumbers::from_bytes(&bytes.expect("small"))
        };
        assert!(write(3, 4, &parts).is_ok());
        let stranger = ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a key");
        let other = stranger.encrypt_seeded(&[[1u32]], 4).expect("below 4");
        let other = other.ciphertexts[0].to_bytes().expect("small");
        for (found, words) in [
            (write(1025, 4, &parts), "1025 numbers in a ciphertext"),
            (write(3, 17, &parts), "17"),
            (write(3, 4, &[]), "no seeded ciphertexts"),
            (write(3, 4, &[other]), "are not all under it"),
        ] {
            let error = found.expect_err("refused").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
