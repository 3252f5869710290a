//! Fresh ciphertexts as they travel: b, and the seed of a.

use super::{Ciphertext, CiphertextHeader};
use crate::keys::mask_limbs;
use crate::noise::Noise;
use crate::{CkksParameters, Result, error, wire};
use girih_rlwe::wire::{Bytes, Opened, encode, open, open_for};
use girih_rlwe::{KeyId, MaskSeed};

/// A fresh ciphertext without its mask a, which is uniform and public: 32 bytes of seed stand for
/// it, so that it takes half the bytes.
///
/// A client makes it ([`ClientKey::encrypt_seeded`](crate::ClientKey::encrypt_seeded)); whoever
/// computes expands it ([`SeededCiphertext::expand`]). It is as secure as the ciphertext: the seed
/// says nothing of the secret or the errors.
#[derive(Clone, PartialEq)]
pub struct SeededCiphertext {
    header: CiphertextHeader,
    seed: MaskSeed,
    b: Vec<u32>,
}

impl std::fmt::Debug for SeededCiphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededCiphertext({}, level {})", self.header.set, self.header.level)
    }
}

impl SeededCiphertext {
    /// Of a ciphertext whose mask is that of a seed.
    pub(crate) fn new(whole: Ciphertext, seed: MaskSeed) -> Self {
        Self { header: whole.header(), seed, b: whole.b }
    }

    /// The whole ciphertext: word for word what was encrypted.
    pub fn expand(&self) -> Ciphertext {
        let CiphertextHeader { set, key, level, scale, slots, noise } = self.header.clone();
        let a = mask_limbs(&set, &self.seed, level);
        Ciphertext { set, key, level, scale, slots, noise, b: self.b.clone(), a }
    }

    /// Everything but the limbs.
    pub fn header(&self) -> CiphertextHeader {
        self.header.clone()
    }

    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        &self.header.set
    }

    /// Name of the client key that it is under.
    pub fn key_id(&self) -> KeyId {
        self.header.key
    }

    /// The level.
    pub fn level(&self) -> usize {
        self.header.level
    }

    /// By how much slots are scaled.
    pub fn scale(&self) -> f64 {
        self.header.scale
    }

    /// n, the length of the vector.
    pub fn slots(&self) -> usize {
        self.header.slots
    }

    /// What is expected of its errors and values.
    pub fn noise(&self) -> Noise {
        self.header.noise
    }

    /// Bytes held in memory, which is also about the serialized size.
    pub fn bytes(&self) -> usize {
        4 * self.b.len() + 32
    }

    /// The ciphertext as bytes, which end with a checksum: it finds accidents on the way, and is no
    /// authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let own = &self.header;
        let b = wire::bytes_of(&self.b);
        let head = (own.level as u32, own.slots as u32, own.scale, own.noise);
        let payload = (head, self.seed.as_bytes(), Bytes(&b));
        Ok(encode(wire::SEEDED_CIPHERTEXT, &own.set, Some(own.key), self.bytes(), &payload)?)
    }

    /// Reads and checks what [`SeededCiphertext::to_bytes`] wrote, of whatever set.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) naming what is wrong: truncated, damaged,
    /// another version, a wrong length, a word out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::SEEDED_CIPHERTEXT, bytes)?)
    }

    /// The same for one set: refuses larger bytes before it looks at them.
    ///
    /// # Errors
    /// As [`SeededCiphertext::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &CkksParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::SEEDED_CIPHERTEXT, set, most_bytes(set), bytes)?)
    }

    fn read(opened: Opened<'_, CkksParameters>) -> Result<Self> {
        opened.check_payload(most_bytes(&opened.set))?;
        let key = opened.named_key()?;
        let (set, (head, seed, b)): (_, Payload<'_>) = opened.payload()?;
        let (level, slots, scale, noise) = head;
        let (level, slots) = (level as usize, slots as usize);
        let header = CiphertextHeader { set, key, level, scale, slots, noise };
        if let Err(why) = header.check() {
            return error::malformed("seeded ciphertext", why.to_string());
        }
        let positions = header.set.chain().base(header.level);
        let b = wire::limbs("seeded ciphertext", &header.set, positions, b)?;
        Ok(Self { header, seed: MaskSeed::from_bytes(seed), b })
    }
}

/// Level, slots, scale and noise; the seed; then the bytes of b.
type Payload<'a> = ((u32, u32, f64, Noise), [u8; 32], &'a [u8]);

/// Bytes that limbs of any level take at most.
fn most_bytes(set: &CkksParameters) -> usize {
    4 * set.chain().full_len() * set.degree()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientKey;

    #[test]
    fn a_seed_expands_to_what_was_encrypted() {
        let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
        let client = || ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a key");
        let values = [0.5, -0.25, 1.0, 0.0];
        let seeded = client().encrypt_seeded(&values).expect("slots");
        // The same client, having made nothing yet, makes the same ciphertext.
        let whole = client().encrypt(&values).expect("slots");
        assert!(seeded.expand() == whole && seeded.header() == whole.header());
        let bytes = seeded.to_bytes().expect("small");
        let all = whole.to_bytes().expect("small").len();
        assert!(2 * bytes.len() < all + 1000, "{} of {all} bytes", bytes.len());
        let read = SeededCiphertext::from_bytes_for(&set, &bytes).expect("what was written");
        assert!(read == seeded && read.key_id() == client().key_id());
        let found = client().decrypt_real(&read.expand()).expect("its key");
        assert!(found.iter().zip(values).all(|(y, x)| (y - x).abs() < 1e-6), "{found:?}");
        let low = client().within(8.0).encrypt_seeded_at(&[7.0, 3.0], 2).expect("slots");
        assert_eq!((low.level(), low.slots(), low.noise().magnitude), (2, 2, 8.0));
        assert!(client().encrypt_seeded(&[1.5]).is_err());
    }

    #[test]
    fn bytes_that_hold_something_else_are_refused() {
        let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("a key");
        let seeded = client.encrypt_seeded(&[0.5]).expect("a slot");
        let bytes = seeded.to_bytes().expect("small");
        for length in [0, 20, bytes.len() - 40, bytes.len() - 1] {
            assert!(SeededCiphertext::from_bytes(&bytes[..length]).is_err());
        }
        let whole = seeded.expand().to_bytes().expect("small");
        let error = SeededCiphertext::from_bytes(&whole).expect_err("a whole one").to_string();
        assert!(error.contains("ciphertext"), "{error}");
        // What another program may write, its checksum right: a word too large, a limb too few.
        let read = |b: &[u32]| {
            let b = wire::bytes_of(b);
            let head = (seeded.level() as u32, 1u32, seeded.scale(), seeded.noise());
            let payload = (head, [0u8; 32], Bytes(&b));
            let key = Some(seeded.key_id());
            let bytes = encode(wire::SEEDED_CIPHERTEXT, &set, key, b.len(), &payload);
            SeededCiphertext::from_bytes(&bytes.expect("small"))
        };
        assert!(read(&seeded.b).is_ok());
        let mut large = seeded.b.clone();
        large[3] = u32::MAX;
        let error = read(&large).expect_err("a large word").to_string();
        assert!(error.contains("word 3 of the limb") && error.contains("4294967295"), "{error}");
        assert!(read(&seeded.b[1024..]).is_err());
    }
}
