//! What a caller can get wrong, by name.

/// A refusal of this crate. Every message says what was given and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// A basis of no primes.
    #[error("a basis needs at least one prime, and none was given")]
    EmptyBasis,
    /// A modulus that is no odd prime below 2^31.
    #[error("{value} is not an odd prime below 2^31, as every modulus of a basis must be")]
    NotPrime {
        /// What was given.
        value: u32,
    },
    /// The same prime twice.
    #[error("the prime {prime} is twice in a basis; its primes must be distinct")]
    RepeatedPrime {
        /// The prime.
        prime: u32,
    },
    /// An index outside a basis.
    #[error("there is no prime {index} in a basis of {len} primes")]
    NoSuchPrime {
        /// The index asked for.
        index: usize,
        /// Primes of the basis.
        len: usize,
    },
    /// A source prime too small for the 32-bit weights of a base conversion.
    #[error("{prime} cannot be a source of a base conversion, which takes primes above 2^19")]
    SourceTooSmall {
        /// The prime.
        prime: u32,
    },
    /// More source primes than the correction of a base conversion can count.
    #[error("a base conversion takes at most {limit} source primes, not {len}")]
    TooManySources {
        /// Source primes given.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// A ring degree that is no power of two.
    #[error("{size} is no ring degree: it must be a power of two from 2 to 2^29")]
    Size {
        /// What was given.
        size: usize,
    },
    /// A row length that does not divide the ring degree, or has no pairs of columns.
    #[error(
        "rows of {row_len} words do not serve a limb of {size}: take a power of two up to it, from \
         2 in the conjugation-invariant ring"
    )]
    RowLength {
        /// What was given.
        row_len: usize,
        /// The ring degree.
        size: usize,
    },
    /// A prime without the roots of unity of a ring degree.
    #[error("{prime} has no primitive 2N-th root of unity for N = {size}: it must be 1 mod 2N")]
    NoRoots {
        /// The prime.
        prime: u32,
        /// N.
        size: usize,
    },
    /// An exponent that is no automorphism.
    #[error("X -> X^{exponent} is no automorphism of Z[X]/(X^N + 1): take an odd exponent")]
    Exponent {
        /// What was given.
        exponent: usize,
    },
}
