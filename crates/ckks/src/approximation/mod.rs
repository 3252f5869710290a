//! Functions made of additions and products alone: what an evaluator can compute.
//!
//! Pure mathematics in f64, without a ciphertext anywhere. Everything that girih approximates is
//! approximated here, and every approximation tells its error, measured on a dense grid.
//!
//! | type | what |
//! |---|---|
//! | [`Polynomial`] | in the Chebyshev basis of an interval, from coefficients or a closure |
//! | [`CompositeSign`] | the sign function as minimax polynomials one after the other |
//! | [`GoldschmidtInverse`] | 1/x by iteration, on intervals of any width |
//! | [`NewtonInverseSqrt`] | 1/sqrt(x), likewise |
//!
//! A polynomial holds on its interval only. Outside it grows like |x|^degree, and an encrypted
//! value cannot be looked at, so intervals are the caller's promise.

mod error;
mod fit;
mod iteration;
mod minimax;
mod polynomial;
mod sign;

pub use error::ApproximationError;
pub use iteration::{GoldschmidtInverse, NewtonInverseSqrt};
pub use polynomial::{Polynomial, levels_of_degree};
pub use sign::CompositeSign;

/// The largest degree of any polynomial here: ten levels, and more than any set has use for.
pub const MAX_DEGREE: usize = 1023;
