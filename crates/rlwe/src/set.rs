//! What a parameter set of any scheme shows of itself.

use crate::kind::Kind;

/// The schemes that share the serialized form; the number is their byte in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Scheme {
    /// Fast bootstrapping of small messages.
    Tfhe = 1,
    /// Approximate arithmetic on vectors.
    Ckks = 2,
    /// From one of them to the other.
    Switching = 3,
}

impl Scheme {
    /// The scheme of a byte, if there is one.
    pub fn of_byte(byte: u8) -> Option<Self> {
        [Self::Tfhe, Self::Ckks, Self::Switching].into_iter().find(|scheme| *scheme as u8 == byte)
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tfhe => "TFHE",
            Self::Ckks => "CKKS",
            Self::Switching => "scheme switching",
        })
    }
}

/// A checked parameter set of some scheme; as text it is its name.
pub trait ParameterSet: Clone + PartialEq + std::fmt::Display {
    /// The scheme it belongs to.
    const SCHEME: Scheme;

    /// Everything of this scheme that is ever serialized.
    const KINDS: &'static [Kind];

    /// The set as bytes, at most [`wire::LONGEST_SET`](crate::wire::LONGEST_SET): equal for equal
    /// sets and for no others, and complete,
    /// so that reading them takes no search (primes included).
    fn to_canonical(&self) -> Vec<u8>;

    /// Reads and checks what [`ParameterSet::to_canonical`] wrote.
    ///
    /// The bytes may come from anyone: whatever they are, this takes milliseconds at most.
    ///
    /// # Errors
    /// What is wrong with them, in one line.
    fn from_canonical(bytes: &[u8]) -> Result<Self, String>;
}

/// The name of a parameter set: a hash of its scheme and its canonical bytes.
///
/// Every random stream is bound to it, so that one seed under two sets gives streams that have
/// nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetId([u8; 32]);

impl SetId {
    /// The name of `set`.
    pub fn of<S: ParameterSet>(set: &S) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("girih 2026-11-22 name of a parameter set");
        hasher.update(&[S::SCHEME as u8]);
        hasher.update(&set.to_canonical());
        Self(*hasher.finalize().as_bytes())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}
