//! Arithmetic of girih: everything below the schemes, and everything a kernel's twin is written with.
//!
//! | module | what |
//! |---|---|
//! | [`word`](Modulus) | one 32-bit prime word: Shoup and Montgomery products with stated bounds |
//! | [`rns`](Rns) | one or two words, exact CRT |
//! | [`ntt`](NttTable) | negacyclic NTT, a naive oracle beside a fast one; the order that every device shares |
//! | [`fft`] | folded f64 FFT of negacyclic polynomials |
//! | [`gadget`] | balanced digits |
//! | [`switch`] | rounding between moduli |
//! | [`constant_time`] | the same and more, of secret values |
//! | [`sampler`] | secrets, errors and masks from a ChaCha20 stream |

pub mod constant_time;
pub mod fft;
pub mod gadget;
mod ntt;
mod prime;
mod rns;
pub mod sampler;
pub mod switch;
mod word;

pub use ntt::{NttTable, bit_reverse, negacyclic_product_naive};
pub use prime::{is_prime, largest_ntt_prime, largest_ntt_prime_pair, ntt_prime_pair_above};
pub use rns::Rns;
pub use word::{Modulus, Shoup};
