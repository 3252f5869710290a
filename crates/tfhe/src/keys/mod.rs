//! Secret and public keys.

mod bootstrapping;
mod client;
mod compression;
mod encryption;
mod evaluation;
mod explicit;
mod key_switching;
pub(crate) mod packed;
mod public;
#[cfg(test)]
mod tests;

pub use client::ClientKey;
pub(crate) use compression::{CompressionKey, entry_blocks};
pub use evaluation::EvaluationKeys;
pub use explicit::ExplicitKeys;
pub use girih_rlwe::KeyId;
pub use public::PublicKey;

/// Numbers of the random streams; with the seed they say what every mask and error of a key is.
pub(crate) mod domain {
    /// Secrets of the client key; index 0: LWE, 1: GLWE.
    pub const SECRETS: u16 = 1;
    /// Bootstrapping key, one stream for each LWE index.
    pub const BOOTSTRAPPING: u16 = 2;
    /// Key-switching key, one stream for each coefficient of the GLWE secret.
    pub const KEY_SWITCHING: u16 = 3;
    /// Fresh ciphertexts, one stream for each ciphertext of a batch.
    pub const ENCRYPTION: u16 = 4;
    /// A public key; errors of index 0 are its own.
    pub const PUBLIC_KEY: u16 = 5;
    /// What public keys encrypt, one stream for each N messages of a batch.
    pub const PUBLIC_ENCRYPTION: u16 = 6;
    /// Compression key, one stream for each polynomial that it switches from.
    pub const COMPRESSION: u16 = 7;
    /// Random numbers, one stream for each of their ciphertexts.
    pub const RANDOM_NUMBERS: u16 = 8;
}
