//! What of this scheme is serialized, and the canonical form of its sets; the form itself is that
//! of [`girih_rlwe::wire`].

use crate::{Mode, ParameterLiteral, ParameterSet};
use girih_rlwe::Scheme;
use girih_rlwe::wire::Kind;

pub(crate) const CLIENT_KEY: Kind = Kind::new(1, "client key");
pub(crate) const EVALUATION_KEYS: Kind = Kind::new(2, "evaluation keys");
pub(crate) const CIPHERTEXTS: Kind = Kind::new(3, "ciphertexts");
pub(crate) const SEEDED_CIPHERTEXTS: Kind = Kind::new(4, "seeded ciphertexts");
pub(crate) const PUBLIC_KEY: Kind = Kind::new(5, "public key");
pub(crate) const COMPRESSED_RESULTS: Kind = Kind::new(6, "compressed results");

impl girih_rlwe::ParameterSet for ParameterSet {
    const SCHEME: Scheme = Scheme::Tfhe;
    const KINDS: &'static [Kind] = &[
        CLIENT_KEY,
        EVALUATION_KEYS,
        CIPHERTEXTS,
        SEEDED_CIPHERTEXTS,
        PUBLIC_KEY,
        COMPRESSED_RESULTS,
    ];

    /// The set as a parameter file with all of its fields, primes included.
    fn to_canonical(&self) -> Vec<u8> {
        self.to_toml().into_bytes()
    }

    fn from_canonical(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "is no text".to_owned())?;
        let literal = ParameterLiteral::from_toml(text).map_err(|e| e.to_string())?;
        // Whoever is to find the primes can be made to search for long.
        if literal.words.is_none() && literal.mode != Mode::Torus {
            return Err("words = missing: a serialized set names its primes".to_owned());
        }
        Self::new(&literal).map_err(|e| e.to_string())
    }
}
