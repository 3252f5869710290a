//! Switching keys: made limb by limb, stored without their masks.

use super::kind::{KeyKind, sparse_positions};
use super::{KeyPart, KeyRange, domain};
use crate::host::HostRing;
use crate::params::ERROR_DEVIATION;
use crate::program::FirstRow;
use crate::{CkksParameters, Error, Result, error};
use girih_backend::parallel::prelude::*;
use girih_backend::poly::View;
use girih_backend::{BackendError, Units};
use girih_ring::Automorphism;
use girih_ring::limb::{LimbKernels, ProductTerm};
use girih_ring::sampler::{Gaussian, PublicStream};
use girih_rlwe::{Fresh, MaskSeed, MaskStreams, SetId};
use zeroize::Zeroizing;

/// A key from one secret, s', to another, s: row i is `(b_i, a_i)` with
/// `b_i = -a_i s + e_i + g_i s'`, in evaluation form over F and P (Han and Ki 2020). Only the b_i
/// are stored; masks are expanded from a seed, limb by limb.
pub struct SwitchingKey {
    range: KeyRange,
    seed: MaskSeed,
    /// `[digit][limb][N]`.
    bodies: Vec<u32>,
}

impl std::fmt::Debug for SwitchingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SwitchingKey({}, {} bytes)", self.range.kind, self.bytes())
    }
}

/// Evaluations of the client's secrets at every position, wiped when dropped.
pub(super) struct SecretLimbs {
    dense: Zeroizing<Vec<u32>>,
    sparse: Option<Zeroizing<Vec<u32>>>,
    /// In the conjugation-invariant ring.
    invariant: Option<Zeroizing<Vec<u32>>>,
    degree: usize,
}

/// The limb of a secret of one ring at the points of a view.
fn seen(set: &CkksParameters, view: View, from: &[u32]) -> SecretLimb<'static> {
    let log2_degree = set.chain().log2_degree();
    let at = |j| from[view.source(log2_degree, j)];
    SecretLimb::Made(Zeroizing::new((0..from.len()).map(at).collect()))
}

impl SecretLimbs {
    pub fn new(
        host: &HostRing,
        dense: &[i8],
        sparse: Option<&[i8]>,
        invariant: Option<&[i8]>,
    ) -> Self {
        let all = 0..host.set().chain().moduli().len();
        Self {
            dense: host.secret_evaluations(all.clone(), dense),
            sparse: sparse.map(|sparse| host.secret_evaluations(all.clone(), sparse)),
            invariant: invariant.map(|secret| host.invariant_evaluations(all, secret)),
            degree: host.set().degree(),
        }
    }

    /// The dense secret modulo the prime at `position`.
    pub fn dense(&self, position: usize) -> &[u32] {
        &self.dense[position * self.degree..][..self.degree]
    }

    fn invariant(&self, position: usize) -> &[u32] {
        let limbs = self.invariant.as_ref().expect("sets with both sines in one have it");
        &limbs[position * self.degree..][..self.degree]
    }

    fn sparse(&self, position: usize) -> &[u32] {
        let limbs = self.sparse.as_ref().expect("sets with a bootstrapping have one");
        &limbs[position * self.degree..][..self.degree]
    }
}

/// A limb of a secret: one of those that the client has, or made of them and wiped when dropped.
pub(super) enum SecretLimb<'a> {
    Held(&'a [u32]),
    Made(Zeroizing<Vec<u32>>),
}

impl std::ops::Deref for SecretLimb<'_> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::Held(limb) => limb,
            Self::Made(limb) => limb,
        }
    }
}

/// All N coefficients of the diagonal that a row of the first transform multiplies by.
pub(super) fn diagonal(set: &CkksParameters, row: &FirstRow) -> Vec<i64> {
    let mut whole = vec![0; set.degree()];
    let gap = set.degree() / row.plaintext.len();
    whole.iter_mut().step_by(gap).zip(row.plaintext.iter()).for_each(|(to, &c)| *to = c);
    whole
}

/// Refuses to put the sparse secret under anything but level 0 and few auxiliary primes: its small
/// weight is safe only under a small modulus (Bossuat, Troncoso-Pastoriza and Hubaux 2022). And a
/// key of the first transform with other auxiliary primes than those that its diagonal counts with.
fn check_base(set: &CkksParameters, kind: KeyKind, positions: &[usize]) -> Result<()> {
    let (allowed, otherwise) = match kind {
        KeyKind::DenseToSparse => {
            (sparse_positions(set), "under a larger modulus the sparse secret can be found")
        }
        KeyKind::First { .. } => {
            (kind.positions(set), "its diagonal is made for a division by their product")
        }
        _ => return Ok(()),
    };
    if positions == allowed {
        return Ok(());
    }
    Err(Error::Unsupported {
        set: set.name().into(),
        why: format!(
            "{kind} may have limbs at the positions {allowed:?} and nowhere else, not at \
             {positions:?}: {otherwise}"
        ),
    })
}

/// What the limbs of one key are made of, each for itself, in any order.
pub(super) struct Recipe<'a> {
    host: &'a HostRing,
    secrets: &'a SecretLimbs,
    range: KeyRange,
    /// Of a key of the first transform; none of others.
    diagonal: Vec<i64>,
    /// The inverse of what takes the secret to that of the target, where it is another.
    back: Option<Automorphism>,
    /// Auxiliary primes whose product the secret of before is times.
    auxiliary: usize,
    fresh: Fresh,
    masks: MaskStreams,
}

/// Words that one limb needs while it is made: the error's are wiped when dropped.
pub(super) struct Scratch {
    error: Zeroizing<Vec<u32>>,
    mask: Vec<u32>,
}

impl Scratch {
    pub fn new(degree: usize) -> Self {
        Self { error: Zeroizing::new(vec![0; degree]), mask: vec![0; degree] }
    }
}

impl<'a> Recipe<'a> {
    /// The recipe of the key of a range, `diagonal` being that of a key of the first transform, its
    /// randomness `fresh`. It refuses limbs at other `positions` than the key may have.
    pub fn new(
        host: &'a HostRing,
        secrets: &'a SecretLimbs,
        (range, diagonal): (KeyRange, Vec<i64>),
        positions: &[usize],
        fresh: Fresh,
    ) -> Result<Self> {
        let (set, kind) = (host.set(), range.kind);
        kind.check(set)?;
        check_base(set, kind, positions)?;
        let auxiliary = match kind {
            KeyKind::DenseToSparse => set.sparse_auxiliary(),
            // Its diagonal has the factor in its scale.
            KeyKind::First { .. } => 0,
            _ => set.chain().auxiliary_len(),
        };
        let back = match kind {
            KeyKind::Galois(g) | KeyKind::First { g, .. } if g != 1 => {
                let phi = Automorphism::new(set.degree(), g as usize);
                Some(phi.expect("a checked exponent").inverse())
            }
            _ => None,
        };
        let masks = fresh.masks.streams(&SetId::of(set));
        Ok(Self { host, secrets, range, diagonal, back, auxiliary, fresh, masks })
    }

    /// The levels that the key serves.
    pub fn range(&self) -> KeyRange {
        self.range
    }

    /// The seed of the key's masks.
    pub fn seed(&self) -> &MaskSeed {
        &self.fresh.masks
    }

    /// The errors of a row: one integer a coefficient, which is reduced into all limbs. Both rows
    /// of a digit of the ring of degree 2N have the same.
    pub fn errors(&self, digit: usize) -> Zeroizing<Vec<i8>> {
        let gaussian = Gaussian::new(ERROR_DEVIATION).expect("in the sampler's range");
        // Both rows of a digit have one error, of 2N coefficients: even ones, then odd ones.
        let rows = self.range.kind.rows_of_a_digit();
        let index = self.range.kind.number() << 8 | (digit / rows) as u64;
        let mut stream = self.fresh.errors.stream(domain::ERRORS, index);
        let mut error = Zeroizing::new(vec![0i8; rows * self.host.set().degree()]);
        // None is above 9.1 deviations, which are 29.
        error.fill_with(|| gaussian.sample(&mut stream) as i8);
        error
    }

    /// The secret that is switched to, as the key takes it, modulo one prime.
    pub fn target(&self, position: usize) -> SecretLimb<'a> {
        let dense = self.secrets.dense(position);
        match (&self.back, self.range.kind) {
            (_, KeyKind::DenseToSparse) => SecretLimb::Held(self.secrets.sparse(position)),
            // At a point and at its inverse it has one value.
            (_, KeyKind::InvariantMultiplication | KeyKind::ToInvariant) => {
                SecretLimb::Held(self.secrets.invariant(position))
            }
            (None, _) => SecretLimb::Held(dense),
            (Some(back), _) => {
                let mut target = Zeroizing::new(vec![0; dense.len()]);
                back.apply(dense, &mut target);
                SecretLimb::Made(target)
            }
        }
    }

    /// The secret that is switched from, modulo one prime.
    fn switched(&self, digit: usize, position: usize) -> SecretLimb<'a> {
        let modulus = self.host.set().chain().moduli()[position];
        let (secrets, dense) = (self.secrets, self.secrets.dense(position));
        let kind = self.range.kind;
        match kind {
            KeyKind::Multiplication => {
                let square = dense.iter().map(|&x| modulus.mul(x, x)).collect();
                SecretLimb::Made(Zeroizing::new(square))
            }
            KeyKind::SparseToDense => SecretLimb::Held(secrets.sparse(position)),
            KeyKind::First { .. } => {
                let mut public = vec![0; dense.len()];
                self.host.evaluations(position, &self.diagonal, &mut public);
                let mut from = Zeroizing::new(secrets.sparse(position).to_vec());
                from.iter_mut().zip(&public).for_each(|(s, &m)| *s = modulus.mul(*s, m));
                SecretLimb::Made(from)
            }
            KeyKind::DenseToSparse | KeyKind::Galois(_) => SecretLimb::Held(dense),
            KeyKind::InvariantMultiplication => {
                let secret = secrets.invariant(position);
                let square = secret.iter().map(|&x| modulus.mul(x, x)).collect();
                SecretLimb::Made(Zeroizing::new(square))
            }
            KeyKind::ToInvariant | KeyKind::FromInvariant => {
                let view = kind.view(digit).expect("two rows a digit");
                let from = match kind {
                    KeyKind::ToInvariant => dense,
                    _ => secrets.invariant(position),
                };
                seen(self.host.set(), view, from)
            }
        }
    }

    /// Writes one limb of row `digit`, of its errors and of what [`Recipe::target`] gave:
    /// e - a s, and with it the secret of before where this row carries it.
    pub fn body(
        &self,
        (digit, position): (usize, usize),
        errors: &[i8],
        target: &[u32],
        scratch: &mut Scratch,
        out: &mut [u32],
    ) {
        let (set, kind) = (self.host.set(), self.range.kind);
        let chain = set.chain();
        let modulus = chain.moduli()[position];
        let Scratch { error, mask } = scratch;
        match kind {
            KeyKind::InvariantMultiplication => {
                self.host.small_invariant_evaluations(position, errors, error);
            }
            KeyKind::ToInvariant | KeyKind::FromInvariant => {
                let view = kind.view(digit).expect("two rows a digit");
                self.host.small_evaluations_at(position, view, errors, error);
            }
            _ => self.host.small_evaluations(position, errors, error),
        }
        let mut stream = self.masks.stream(domain::MASKS, mask_index(kind, digit, position));
        stream.fill_public_below(modulus.value(), mask);
        let [one, minus] = [1, modulus.value() - 1].map(|f| modulus.shoup(f));
        let mut terms = vec![
            ProductTerm { factor: one, a: error, b: None },
            ProductTerm { factor: minus, a: mask, b: Some(target) },
        ];
        let carries = kind.carrying(set, digit).contains(&position);
        let from = carries.then(|| self.switched(digit, position));
        if let Some(from) = &from {
            let product = chain.auxiliary().take(self.auxiliary);
            let product = product.fold(1, |product, i| modulus.mul(product, chain.prime(i)));
            terms.push(ProductTerm { factor: modulus.shoup(product), a: from, b: None });
        }
        LimbKernels::new(modulus).sum_of_products(0, &terms, out);
    }
}

impl SwitchingKey {
    /// Makes the key of a recipe with limbs at `positions`, on all threads; `made` hears of each
    /// limb.
    pub(super) fn generate(
        recipe: &Recipe<'_>,
        positions: &[usize],
        made: &Units<'_>,
    ) -> Result<Self> {
        let (set, range) = (recipe.host.set(), recipe.range);
        let (degree, digits) = (set.degree(), range.digits(set));
        if made.is_over() {
            return Ok(Self { range, seed: recipe.fresh.masks, bodies: Vec::new() });
        }
        let errors: Vec<_> =
            digits.clone().into_par_iter().map(|digit| recipe.errors(digit)).collect();
        let mut bodies = zeroed(digits.len() * positions.len() * degree)?;
        // All rows of one prime go together: they share the secrets' limbs.
        let mut limbs: Vec<Vec<&mut [u32]>> = positions.iter().map(|_| Vec::new()).collect();
        for (index, limb) in bodies.chunks_exact_mut(degree).enumerate() {
            limbs[index % positions.len()].push(limb);
        }
        limbs.into_par_iter().zip(positions).for_each(|(rows, &position)| {
            if made.is_over() {
                return;
            }
            let target = recipe.target(position);
            let mut scratch = Scratch::new(degree);
            for ((digit, errors), body) in digits.clone().zip(&errors).zip(rows) {
                if made.is_over() {
                    break;
                }
                recipe.body((digit, position), errors, &target, &mut scratch, body);
                made.done();
            }
        });
        Ok(Self { range, seed: recipe.fresh.masks, bodies })
    }

    /// What it is for.
    pub fn kind(&self) -> KeyKind {
        self.range.kind
    }

    /// The levels that it serves.
    pub fn range(&self) -> KeyRange {
        self.range
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        4 * self.bodies.len()
    }

    pub(super) fn bodies(&self) -> &[u32] {
        &self.bodies
    }

    pub(super) fn seed(&self) -> &MaskSeed {
        &self.seed
    }

    pub(super) fn from_parts(range: KeyRange, seed: MaskSeed, bodies: Vec<u32>) -> Self {
        Self { range, seed, bodies }
    }

    /// What the mask of one limb is expanded from.
    pub(super) fn mask_stream(&self, id: &SetId, digit: usize, position: usize) -> PublicStream {
        mask_stream(&self.seed, id, (self.range.kind, digit, position))
    }

    /// Writes one limb.
    pub(super) fn limb(
        &self,
        set: &CkksParameters,
        id: &SetId,
        (digit, part, position): (usize, KeyPart, usize),
        out: &mut [u32],
    ) -> Result<()> {
        let start = limb_start(set, self.range, digit, position, out)?;
        match part {
            KeyPart::Body => out.copy_from_slice(&self.bodies[start..start + out.len()]),
            KeyPart::Mask => expand(&self.mask_stream(id, digit, position), set, position, out),
        }
        Ok(())
    }
}

/// Writes the limb that a mask's stream stands for.
pub(super) fn expand(
    stream: &PublicStream,
    set: &CkksParameters,
    position: usize,
    out: &mut [u32],
) {
    stream.expand().fill_public_below(set.chain().prime(position), out);
}

/// Where a limb begins within `[digit][limb][N]`; refuses one that the key does not have.
pub(super) fn limb_start(
    set: &CkksParameters,
    range: KeyRange,
    digit: usize,
    position: usize,
    out: &[u32],
) -> Result<usize> {
    let (positions, digits, degree) = (range.positions(set), range.digits(set), set.degree());
    if out.len() != degree {
        let rule = format!("a limb has {degree} words");
        return Err(Error::Length { what: "the buffer for a limb", found: out.len(), rule });
    }
    match positions.iter().position(|&p| p == position) {
        Some(index) if digits.contains(&digit) => {
            Ok(((digit - digits.start) * positions.len() + index) * degree)
        }
        _ => {
            let why = format!(
                "{} has {} digits with {} limbs each, and no limb of digit {digit} at position \
                 {position}",
                range.kind,
                digits.len(),
                positions.len()
            );
            error::malformed("switching key", why)
        }
    }
}

/// What the mask of one limb is expanded from.
pub(super) fn mask_stream(
    seed: &MaskSeed,
    id: &SetId,
    (kind, digit, position): (KeyKind, usize, usize),
) -> PublicStream {
    seed.streams(id).public_stream(domain::MASKS, mask_index(kind, digit, position))
}

/// The index of a mask's stream: one for each limb of each row of each key.
fn mask_index(kind: KeyKind, digit: usize, position: usize) -> u64 {
    (kind.number() << 8 | digit as u64) << 8 | position as u64
}

/// Zeros, or an error where this machine has no room for them.
fn zeroed(len: usize) -> Result<Vec<u32>> {
    let mut words = Vec::new();
    words.try_reserve_exact(len).map_err(|_| BackendError::OutOfMemory {
        device: "this machine".into(),
        bytes: 4 * len as u64,
        what: "a switching key".into(),
    })?;
    words.resize(len, 0);
    Ok(words)
}
