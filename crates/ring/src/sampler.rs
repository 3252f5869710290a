//! Secrets, errors and masks from ChaCha20 streams.
//!
//! One 32-byte seed gives 2^64 independent streams, numbered by a domain and an index inside it, so
//! that keys can be made and expanded block by block, in any order and from many threads, with one
//! result. A [`SecretSeed`] feeds secrets and errors and is wiped when dropped; a [`MaskSeed`] is
//! public and stands for every uniform mask of a key.
//!
//! **The words drawn from a mask stream are a wire format**: a stored key keeps its mask seed and
//! expands it again elsewhere. The tests of this module pin it.

mod error;
#[cfg(any(test, target_feature = "simd128"))]
mod four_blocks;
mod stream;
mod wide;

pub use error::{Gaussian, TUniform};
pub use stream::{MaskSeed, PublicStream, RandomStream, SecretSeed};
pub use wide::WideGaussian;
