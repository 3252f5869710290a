//! Secret coefficients and where their randomness comes from.

use super::domain;
use crate::{Error, Result};
use girih_backend::SecretKind;
use girih_ring::sampler::{RandomStream, SecretSeed};
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Small secret coefficients in one array; wiped when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Secret(Vec<i8>);

impl Secret {
    pub fn sample(kind: SecretKind, len: usize, stream: &mut RandomStream) -> Self {
        Self(
            (0..len)
                .map(|_| match kind {
                    SecretKind::Ternary => stream.ternary(),
                    SecretKind::Binary => stream.binary(),
                })
                .collect(),
        )
    }

    /// Takes coefficients from outside; `None` if one cannot be of this kind.
    pub fn checked(kind: SecretKind, coefficients: Vec<i8>) -> Option<Self> {
        let low = if kind == SecretKind::Ternary { -1 } else { 0 };
        let secret = Self(coefficients);
        secret.0.iter().all(|s| (low..=1).contains(s)).then_some(secret)
    }

    pub fn coefficients(&self) -> &[i8] {
        &self.0
    }
}

/// 32 bytes from the operating system.
pub(super) fn system_seed() -> Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Error::Entropy(error.to_string()))?;
    Ok(seed)
}

/// Where a client key takes further randomness from.
pub(super) enum Entropy {
    /// The operating system, afresh each time.
    System,
    /// A seed, so that tests and benchmarks repeat; one child seed after the other.
    Seeded { seed: SecretSeed, drawn: AtomicU64 },
}

impl Entropy {
    /// Entropy of the same kind that shares nothing with this one.
    pub fn child(&self) -> Result<Self> {
        match self {
            Self::System => Ok(Self::System),
            Self::Seeded { .. } => Ok(Self::Seeded { seed: SecretSeed::new(self.next_seed()?), drawn: AtomicU64::new(0) }),
        }
    }

    /// The next seed, of secrets or masks.
    pub fn next_seed(&self) -> Result<[u8; 32]> {
        match self {
            Self::System => system_seed(),
            Self::Seeded { seed, drawn } => Ok(seed.stream(domain::CHILDREN, drawn.fetch_add(1, Ordering::Relaxed)).next_seed()),
        }
    }
}
