//! Secret and public keys.

mod bootstrapping;
mod client;
mod evaluation;
mod explicit;
mod id;
mod key_switching;
mod packed;
mod secret;
#[cfg(test)]
mod tests;

pub use client::ClientKey;
pub use evaluation::EvaluationKeys;
pub use explicit::ExplicitKeys;
pub use id::KeyId;

/// Numbers of the random streams; with the seed they say what every mask and error of a key is.
mod domain {
    /// Secrets of the client key; index 0: LWE, 1: GLWE.
    pub const SECRETS: u16 = 1;
    /// Bootstrapping key, one stream for each LWE index.
    pub const BOOTSTRAPPING: u16 = 2;
    /// Key-switching key, one stream for each coefficient of the GLWE secret.
    pub const KEY_SWITCHING: u16 = 3;
    /// Seeds drawn from a seeded client key.
    pub const CHILDREN: u16 = 5;
    /// Name of a client key; index 0.
    pub const NAME: u16 = 7;
}
