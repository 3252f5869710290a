//! Ciphertexts on the host.

mod seeded;

pub use seeded::SeededCiphertext;

use crate::encoder::Plaintext;
use crate::host::HostRing;
use crate::noise::{DEVIATIONS, Noise, NoiseModel};
use crate::{CkksParameters, Error, Result, error, wire};
use girih_rlwe::KeyId;
use girih_rlwe::wire::{Bytes, Opened, encode, open, open_for};

/// An encrypted vector: `b + a s = m + e`, both polynomials in evaluation form over the base of
/// the level.
///
/// Scale, number of slots and an estimate of the noise belong to it and are public. So is
/// [`Noise::magnitude`], which no value exceeds: of a fresh ciphertext what its maker declared.
#[derive(Clone, PartialEq)]
pub struct Ciphertext {
    set: CkksParameters,
    key: KeyId,
    level: usize,
    scale: f64,
    slots: usize,
    noise: Noise,
    b: Vec<u32>,
    a: Vec<u32>,
}

/// Everything of a ciphertext but its limbs.
#[derive(Clone, Debug, PartialEq)]
pub struct CiphertextHeader {
    /// The parameter set.
    pub set: CkksParameters,
    /// Name of the client key.
    pub key: KeyId,
    /// The level, at most the set's top one.
    pub level: usize,
    /// By how much slots are scaled.
    pub scale: f64,
    /// n, a power of two up to N/2.
    pub slots: usize,
    /// What is expected of errors and values.
    pub noise: Noise,
}

impl std::fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Ciphertext({}, level {}, scale 2^{:.3}, {} slots)",
            self.set,
            self.level,
            self.scale.log2(),
            self.slots
        )
    }
}

impl CiphertextHeader {
    fn check(&self) -> Result<()> {
        self.set.check_level("a ciphertext", self.level)?;
        let most = self.set.slots();
        if !self.slots.is_power_of_two() || self.slots > most {
            let rule = format!("a power of two up to {most} is needed");
            return Err(Error::Length { what: "a ciphertext", found: self.slots, rule });
        }
        let is_positive = |x: f64| x.is_finite() && x >= f64::MIN_POSITIVE;
        if !is_positive(self.scale) {
            let rule = format!("its scale {} must be a finite, positive number", self.scale);
            return Err(Error::Scale { operation: "a ciphertext".into(), rule });
        }
        for (what, x) in [
            ("the deviation of its error", self.noise.deviation),
            ("the magnitude of its values", self.noise.magnitude),
        ] {
            // An unknown magnitude may be infinite.
            if x.is_nan() || x < 0.0 {
                let rule = "must be 0 or a positive number".into();
                return Err(Error::Value { what: what.into(), value: x.to_string(), rule });
            }
        }
        Ok(())
    }
}

impl Ciphertext {
    /// Assembles a ciphertext from limbs that were made elsewhere: `b` and `a`, each one limb of N
    /// canonical residues for each prime of the level's base.
    ///
    /// # Errors
    /// Named errors for a level, scale, number of slots or noise that is impossible, and for limbs
    /// of the wrong length or with residues that are not canonical.
    pub fn from_parts(header: CiphertextHeader, b: Vec<u32>, a: Vec<u32>) -> Result<Self> {
        header.check()?;
        for part in [&b, &a] {
            let positions = header.set.chain().base(header.level);
            wire::check_limbs("ciphertext", &header.set, positions, part)?;
        }
        let CiphertextHeader { set, key, level, scale, slots, noise } = header;
        Ok(Self { set, key, level, scale, slots, noise, b, a })
    }

    /// An encoded vector as a ciphertext at a level, without mask or error: whoever sees it reads
    /// it, and any key decrypts it, although it goes by the name of one. No slot may exceed
    /// `magnitude`.
    ///
    /// # Errors
    /// [`Error::Length`] for a plaintext of another degree, [`Error::Level`], and
    /// [`Error::Magnitude`].
    pub fn trivial(
        set: &CkksParameters,
        key: KeyId,
        plaintext: &Plaintext,
        level: usize,
        magnitude: f64,
    ) -> Result<Self> {
        set.check_level("a known vector", level)?;
        plaintext.check_within(magnitude)?;
        let (degree, found) = (set.degree(), plaintext.coefficients().len());
        if found != degree {
            let rule = format!("the set has {degree}");
            return Err(Error::Length { what: "coefficients of a plaintext", found, rule });
        }
        let host = HostRing::new(set);
        let base = set.chain().base(level);
        let mut b = vec![0; base.len() * degree];
        for (limb, position) in b.chunks_exact_mut(degree).zip(base) {
            host.evaluations(position, plaintext.coefficients(), limb);
        }
        let a = vec![0; b.len()];
        let (scale, slots, noise) = (plaintext.scale(), plaintext.slots(), Noise::exact(magnitude));
        let header = CiphertextHeader { set: set.clone(), key, level, scale, slots, noise };
        Self::from_parts(header, b, a)
    }

    /// Everything but the limbs.
    pub fn header(&self) -> CiphertextHeader {
        CiphertextHeader {
            set: self.set.clone(),
            key: self.key,
            level: self.level,
            scale: self.scale,
            slots: self.slots,
            noise: self.noise,
        }
    }

    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        &self.set
    }

    /// Name of the client key that it is under.
    pub fn key_id(&self) -> KeyId {
        self.key
    }

    /// The level.
    pub fn level(&self) -> usize {
        self.level
    }

    /// By how much slots are scaled.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// n, the length of the vector.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// What is expected of its errors and values.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// Bits after the binary point that a decryption can be trusted for, by the noise model.
    pub fn precision_bits(&self) -> f64 {
        self.decrypted().precision_bits()
    }

    /// What is expected of decrypted slots. Of those that may wrap around modulo the modulus of the
    /// level nothing is.
    pub(crate) fn decrypted(&self) -> Noise {
        let noise = NoiseModel::new(&self.set).decrypted(self.noise, self.slots);
        if noise.magnitude < self.set.room(self.level, self.scale) {
            return noise;
        }
        Noise { deviation: f64::INFINITY, ..noise }
    }

    /// The largest error to expect in a component of a decrypted slot, by what the ciphertext says
    /// of itself: [`DEVIATIONS`] deviations. Of a ciphertext from elsewhere it is the sender's
    /// claim.
    pub fn largest_error(&self) -> f64 {
        DEVIATIONS * self.decrypted().deviation
    }

    /// b: limbs of N words, in the order of the level's base.
    pub fn b(&self) -> &[u32] {
        &self.b
    }

    /// a: limbs of N words, in the order of the level's base.
    pub fn a(&self) -> &[u32] {
        &self.a
    }

    /// Bytes held in memory, which is also about the serialized size.
    pub fn bytes(&self) -> usize {
        4 * (self.b.len() + self.a.len())
    }

    /// The ciphertext as bytes, which end with a checksum: it finds accidents on the way,
    /// and is no authentication.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (b, a) = (wire::bytes_of(&self.b), wire::bytes_of(&self.a));
        let head = (self.level as u32, self.slots as u32, self.scale, self.noise);
        let payload = (head, Bytes(&b), Bytes(&a));
        Ok(encode(wire::CIPHERTEXT, &self.set, Some(self.key), self.bytes(), &payload)?)
    }

    /// Reads and checks what [`Ciphertext::to_bytes`] wrote, of whatever set.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming what is wrong: truncated, damaged, another version, a wrong
    /// length, a word out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(open(wire::CIPHERTEXT, bytes)?)
    }

    /// The same for one set: refuses larger bytes before it looks at them.
    ///
    /// # Errors
    /// As [`Ciphertext::from_bytes`], and for another set.
    pub fn from_bytes_for(set: &CkksParameters, bytes: &[u8]) -> Result<Self> {
        Self::read(open_for(wire::CIPHERTEXT, set, most_bytes(set), bytes)?)
    }

    fn read(opened: Opened<'_, CkksParameters>) -> Result<Self> {
        opened.check_payload(most_bytes(&opened.set))?;
        let key = opened.named_key()?;
        let (set, (head, b, a)): (_, Payload<'_>) = opened.payload()?;
        let (level, slots, scale, noise) = head;
        let header = CiphertextHeader {
            set,
            key,
            level: level as usize,
            scale,
            slots: slots as usize,
            noise,
        };
        if let Err(why) = header.check() {
            return error::malformed("ciphertext", why.to_string());
        }
        let limbs = |bytes| {
            let positions = header.set.chain().base(header.level);
            wire::limbs("ciphertext", &header.set, positions, bytes)
        };
        let (b, a) = (limbs(b)?, limbs(a)?);
        let CiphertextHeader { set, key, level, scale, slots, noise } = header;
        Ok(Self { set, key, level, scale, slots, noise, b, a })
    }
}

/// Level, slots, scale and noise, then the bytes of b and of a.
type Payload<'a> = ((u32, u32, f64, Noise), &'a [u8], &'a [u8]);

/// Bytes that limbs of any level take at most.
fn most_bytes(set: &CkksParameters) -> usize {
    8 * set.chain().full_len() * set.degree()
}
