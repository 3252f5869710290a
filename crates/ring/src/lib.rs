//! Arithmetic of girih: everything below the schemes,
//! and everything a kernel's twin is written with.
//!
//! | module | what |
//! |---|---|
//! | [`word`](Modulus) | one 32-bit prime word: Shoup and Montgomery products with stated bounds |
//! | [`rns`](Rns) | one or two words, exact CRT |
//! | [`torus`](TorusCrt) | exact sums modulo 2^64 from residues modulo a few primes |
//! | [`basis`](RnsBasis) | many words: exact CRT, conversion from one basis to another |
//! | [`ntt`](NttTable) | negacyclic NTT: naive and fast, in the order that every device shares |
//! | [`split_ntt`](SplitNtt) | the same transform as columns and rows, from 2^11 coefficients on |
//! | [`fold`](ColumnPairs) | transforms of the conjugation-invariant ring, by pairs of columns |
//! | [`automorphism`](Automorphism) | X -> X^g as a gather of evaluations |
//! | [`limb`] | loops over limbs on the vectors of the processor |
//! | [`fft`] | folded f64 FFT of negacyclic polynomials |
//! | [`gadget`] | balanced digits |
//! | [`switch`] | rounding between moduli |
//! | [`constant_time`] | the same and more, of secret values |
//! | [`sampler`] | secrets, errors and masks from a ChaCha20 stream |

mod automorphism;
mod basis;
mod buffer;
pub mod constant_time;
mod error;
pub mod fft;
mod fold;
pub mod gadget;
pub mod limb;
mod ntt;
mod prime;
mod rns;
pub mod sampler;
mod split_ntt;
pub mod switch;
mod torus;
mod word;

pub use automorphism::{Automorphism, inverse_exponent};
pub use basis::{BaseConversion, Formula, RnsBasis};
pub use buffer::AlignedBuffer;
pub use error::RingError;
pub use fold::ColumnPairs;
pub use ntt::{NttTable, bit_reverse, negacyclic_product_naive};
pub use prime::{
    is_prime, largest_ntt_prime, largest_ntt_prime_pair, largest_ntt_primes, ntt_prime_pair_above,
};
pub use rns::Rns;
pub use split_ntt::SplitNtt;
pub use torus::{TorusCrt, round_torus};
pub use word::{Modulus, Shoup};
