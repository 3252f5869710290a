//! The secrets of a client key: how each is drawn, checked and written.

use super::domain;
use crate::host::HostRing;
use crate::{CkksParameters, Error, Result};
use girih_rlwe::{KeyId, KeySeed, Secret, SecretDistribution};
use num_complex::Complex64;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Secrets that were made elsewhere, for [`ClientKey::from_secrets`](crate::ClientKey): N
/// coefficients each, -1, 0 or 1. They are wiped when they are dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct ClientSecrets {
    /// That of ciphertexts, as coefficients of X^0 to X^(N-1): ternary, or of
    /// [`CkksParameters::secret_weight`] non-zero ones.
    pub dense: Vec<i8>,
    /// That of ciphertexts whose modulus is raised, likewise: of [`CkksParameters::sparse_weight`]
    /// non-zero ones, for the sets that have it.
    pub sparse: Option<Vec<i8>>,
    /// That of the conjugation-invariant ring, f_0 + sum of f_j (Y^j + Y^-j), as f_0 to f_(N-1): of
    /// [`CkksParameters::invariant_weight`] non-zero ones, for the sets that have it.
    pub invariant: Option<Vec<i8>>,
}

/// What the secrets of a set are drawn from.
struct Kinds {
    dense: SecretDistribution,
    sparse: Option<SecretDistribution>,
    invariant: Option<SecretDistribution>,
}

impl Kinds {
    fn of(set: &CkksParameters) -> Self {
        let weighted = SecretDistribution::FixedWeight;
        Self {
            dense: set.secret_weight().map_or(SecretDistribution::Ternary, weighted),
            sparse: set.sparse_weight().map(weighted),
            invariant: set.invariant_weight().map(weighted),
        }
    }
}

/// Secrets as their set wants them.
pub(super) struct Secrets {
    pub dense: Secret,
    pub sparse: Option<Secret>,
    pub invariant: Option<Secret>,
}

/// How often a secret is drawn before a set's flatness counts as out of reach. Sets of which less
/// than one in 2^7 is flat are refused; of one in 2^7 so many draws fail with 2^-45.
const MOST_DRAWS: usize = 4000;

/// The largest square of a slot of a secret, in units of the mean.
fn flatness(host: &HostRing, secret: &[i8]) -> f64 {
    let coefficients: Zeroizing<Vec<f64>> =
        Zeroizing::new(secret.iter().map(|&s| f64::from(s)).collect());
    let norm: f64 = coefficients.iter().map(|s| s * s).sum();
    let slots = host.encoder().decode(&coefficients, secret.len() / 2, 1.0);
    let mut slots = slots.expect("N coefficients are N/2 slots");
    let largest = slots.iter().map(Complex64::norm_sqr).fold(0.0, f64::max);
    slots.iter_mut().for_each(|slot| *slot = Complex64::default());
    std::hint::black_box(&slots);
    largest / norm.max(1.0)
}

/// Refuses a dense secret that is less flat than its set wants.
fn check_flat(host: &HostRing, secret: &Secret) -> std::result::Result<(), String> {
    let Some(own) = host.set().encapsulation() else { return Ok(()) };
    if flatness(host, secret.coefficients()) <= own.flatness() {
        return Ok(());
    }
    Err(format!(
        "has a slot whose square is more than {} times the mean, so that errors of that slot would \
         exceed what the set counts with: draw another",
        own.flatness()
    ))
}

fn refuse(name: &str, why: &str) -> Error {
    Error::Malformed { what: "client key", why: format!("the {name} secret {why}") }
}

/// A secret that some sets have.
fn optional<S>(
    set: &CkksParameters,
    name: &str,
    (kind, secret): (Option<SecretDistribution>, Option<S>),
    check: impl Fn(SecretDistribution, S) -> std::result::Result<Secret, String>,
) -> Result<Option<Secret>> {
    match (kind, secret) {
        (Some(kind), Some(secret)) => {
            check(kind, secret).map(Some).map_err(|why| refuse(name, &why))
        }
        (None, None) => Ok(None),
        (Some(_), None) => Err(refuse(name, &format!("is missing: {set} has one"))),
        (None, Some(_)) => Err(refuse(name, &format!("is one too many: {set} has none"))),
    }
}

impl Secrets {
    /// New ones, of the streams of `root`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if none of many dense ones is as flat as the set wants.
    pub fn draw(host: &HostRing, root: &KeySeed) -> Result<Self> {
        let (set, streams) = (host.set(), root.secrets());
        let kinds = Kinds::of(set);
        let mut stream = streams.stream(domain::SECRETS, 0);
        let mut draw = || Secret::sample(kinds.dense, set.degree(), &mut stream);
        let first = draw();
        let dense = match set.encapsulation() {
            None => first,
            Some(own) => {
                let others = std::iter::repeat_with(draw).take(MOST_DRAWS);
                let mut secrets = std::iter::once(first).chain(others);
                let is_flat = |s: &Secret| flatness(host, s.coefficients()) <= own.flatness();
                secrets.find(is_flat).ok_or_else(|| Error::Unsupported {
                    set: set.name().into(),
                    why: format!(
                        "none of {MOST_DRAWS} secrets was as flat as {}: take a larger flatness",
                        own.flatness()
                    ),
                })?
            }
        };
        let other = |kind: Option<SecretDistribution>, number: u64| {
            let stream = || streams.stream(domain::SECRETS, number);
            kind.map(|kind| Secret::sample(kind, set.degree(), &mut stream()))
        };
        Ok(Self { dense, sparse: other(kinds.sparse, 1), invariant: other(kinds.invariant, 2) })
    }

    /// Takes those that were made elsewhere.
    ///
    /// # Errors
    /// [`Error::Malformed`] naming the secret and what is wrong with it.
    pub fn checked(set: &CkksParameters, mut from: ClientSecrets) -> Result<Self> {
        let (kinds, degree) = (Kinds::of(set), set.degree());
        // Whoever leaves early drops, and so wipes, what it did not come to.
        let take =
            |kind, secret: &mut Vec<i8>| Secret::checked(kind, degree, std::mem::take(secret));
        let dense = take(kinds.dense, &mut from.dense).map_err(|why| refuse("dense", &why))?;
        check_flat(&HostRing::new(set), &dense).map_err(|why| refuse("dense", &why))?;
        let sparse = optional(set, "sparse", (kinds.sparse, from.sparse.as_mut()), take)?;
        let invariant = (kinds.invariant, from.invariant.as_mut());
        let invariant = optional(set, "conjugation-invariant", invariant, take)?;
        Ok(Self { dense, sparse, invariant })
    }

    /// Reads the dense one, and what [`Secrets::others`] made of the others.
    ///
    /// # Errors
    /// As [`Secrets::checked`].
    pub fn read(set: &CkksParameters, dense: &[u8], others: Option<&[u8]>) -> Result<Self> {
        let (kinds, degree) = (Kinds::of(set), set.degree());
        let read = |kind, bytes: &[u8]| Secret::from_bytes(kind, degree, bytes);
        let dense = read(kinds.dense, dense).map_err(|why| refuse("dense", &why))?;
        check_flat(&HostRing::new(set), &dense).map_err(|why| refuse("dense", &why))?;
        let (sparse, invariant) = match (kinds.invariant, others) {
            (Some(_), Some(bytes)) => {
                let (sparse, invariant) = bytes.split_at(bytes.len().min(degree));
                (Some(sparse), Some(invariant))
            }
            (_, others) => (others, None),
        };
        let sparse = optional(set, "sparse", (kinds.sparse, sparse), read)?;
        let invariant = optional(set, "conjugation-invariant", (kinds.invariant, invariant), read)?;
        Ok(Self { dense, sparse, invariant })
    }

    /// The secrets beside the dense one as one string, the sparse one first, if there are any.
    pub fn others(&self) -> Option<Zeroizing<Vec<u8>>> {
        let sparse = self.sparse.as_ref()?.to_bytes();
        let invariant = self.invariant.as_ref().map(Secret::to_bytes);
        let invariant = invariant.as_ref().map_or(&[][..], |bytes| bytes);
        Some(Zeroizing::new([&sparse[..], invariant].concat()))
    }

    /// The name of a key of these secrets.
    pub fn id(&self) -> KeyId {
        let parts = [&self.dense].into_iter().chain(&self.sparse).chain(&self.invariant);
        KeyId::of_secrets(&parts.map(Secret::coefficients).collect::<Vec<_>>())
    }
}
