//! Results in few bytes, for the way home.
//!
//! What travels of a ciphertext can be rounded ([`LweCiphertexts::compress`]): its words then have
//! the bits that reading needs. And many ciphertexts can share one mask, which is most of their
//! bytes: with a compression key
//! ([`EvaluationKeys::with_compression`](crate::EvaluationKeys::with_compression)) a server merges
//! up to N results into one GLWE ciphertext and rounds that
//! ([`ServerKey::compress`](crate::ServerKey::compress)). Both are work of the host, on all
//! threads, on every device.

mod compressed;
mod form;
mod gadget;
mod merge;
#[cfg(test)]
mod tests;

pub use compressed::CompressedResults;
pub(crate) use compressed::{Reading, Source, compress};
pub(crate) use gadget::{Gadget, modulus, scaled_bound};
pub(crate) use merge::Merger;

#[allow(unused_imports, reason = "the documentation names it")]
use crate::LweCiphertexts;
