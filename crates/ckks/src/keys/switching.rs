//! Switching keys: made limb by limb, stored without their masks.

use super::kind::{KeyKind, sparse_positions};
use super::{KeyPart, KeyRange, domain};
use crate::host::HostRing;
use crate::params::ERROR_DEVIATION;
use crate::program::FirstRow;
use crate::{CkksParameters, Error, Result, error};
use girih_backend::BackendError;
use girih_ring::Automorphism;
use girih_ring::limb::{LimbKernels, ProductTerm};
use girih_ring::sampler::{Gaussian, PublicStream};
use girih_rlwe::{Fresh, MaskSeed, SetId};
use rayon::prelude::*;
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
    degree: usize,
}

impl SecretLimbs {
    pub fn new(host: &HostRing, dense: &[i8], sparse: Option<&[i8]>) -> Self {
        let all = 0..host.set().chain().moduli().len();
        Self {
            dense: host.secret_evaluations(all.clone(), dense),
            sparse: sparse.map(|sparse| host.secret_evaluations(all, sparse)),
            degree: host.set().degree(),
        }
    }

    /// The dense secret modulo the prime at `position`.
    pub fn dense(&self, position: usize) -> &[u32] {
        &self.dense[position * self.degree..][..self.degree]
    }

    fn limb(limbs: &[u32], degree: usize, position: usize) -> Zeroizing<Vec<u32>> {
        Zeroizing::new(limbs[position * degree..][..degree].to_vec())
    }

    /// The secret switched from, and the target's, at one position.
    ///
    /// `diagonal` is what a key of the first transform multiplies the sparse secret by.
    fn pair(
        &self,
        host: &HostRing,
        kind: KeyKind,
        diagonal: &[i64],
        position: usize,
    ) -> [Zeroizing<Vec<u32>>; 2] {
        let dense = Self::limb(&self.dense, self.degree, position);
        let sparse = || {
            let limbs = self.sparse.as_ref().expect("sets with a bootstrapping have one");
            Self::limb(limbs, self.degree, position)
        };
        let modulus = host.set().chain().moduli()[position];
        match kind {
            KeyKind::Multiplication => {
                let square = dense.iter().map(|&x| modulus.mul(x, x)).collect();
                [Zeroizing::new(square), dense]
            }
            KeyKind::DenseToSparse => [dense, sparse()],
            KeyKind::SparseToDense => [sparse(), dense],
            KeyKind::First { g, .. } => {
                let (mut from, mut public) = (sparse(), vec![0; self.degree]);
                host.evaluations(position, diagonal, &mut public);
                from.iter_mut().zip(&public).for_each(|(s, &m)| *s = modulus.mul(*s, m));
                [from, self.moved_back(dense, g)]
            }
            KeyKind::Galois(g) => [dense.clone(), self.moved_back(dense, g)],
        }
    }

    /// What X -> X^g takes to the secret with the evaluations `limb`.
    fn moved_back(&self, limb: Zeroizing<Vec<u32>>, g: u32) -> Zeroizing<Vec<u32>> {
        if g == 1 {
            return limb;
        }
        let phi = Automorphism::new(self.degree, g as usize).expect("a checked exponent");
        let mut target = Zeroizing::new(vec![0; self.degree]);
        phi.inverse().apply(&limb, &mut target);
        target
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

impl SwitchingKey {
    /// Makes the key with limbs at `positions`, which are those of its range, on all threads;
    /// `done` hears how many limbs were finished. `diagonal` is that of a key of the first
    /// transform.
    pub(super) fn generate(
        host: &HostRing,
        (range, diagonal): (KeyRange, &[i64]),
        positions: &[usize],
        secrets: &SecretLimbs,
        fresh: &Fresh,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Self> {
        let (set, kind) = (host.set(), range.kind);
        kind.check(set)?;
        check_base(set, kind, positions)?;
        let (degree, chain, digits) = (set.degree(), set.chain(), range.digits(set));
        let gaussian = Gaussian::new(ERROR_DEVIATION).expect("in the sampler's range");
        // One error integer a coefficient, reduced into all limbs.
        let errors: Vec<_> = digits
            .clone()
            .into_par_iter()
            .map(|digit| {
                let index = kind.number() << 8 | digit as u64;
                let mut stream = fresh.errors.stream(domain::ERRORS, index);
                let mut error = Zeroizing::new(vec![0i64; degree]);
                error.fill_with(|| gaussian.sample(&mut stream));
                error
            })
            .collect();
        let auxiliary = match kind {
            KeyKind::DenseToSparse => set.sparse_auxiliary(),
            // Its diagonal has the factor in its scale.
            KeyKind::First { .. } => 0,
            _ => chain.auxiliary_len(),
        };
        let mut bodies = zeroed(digits.len() * positions.len() * degree)?;
        let streams = fresh.masks.streams(&SetId::of(set));
        // All rows of one prime go together: they share the secrets' limbs.
        let mut limbs: Vec<Vec<&mut [u32]>> = positions.iter().map(|_| Vec::new()).collect();
        for (index, limb) in bodies.chunks_exact_mut(degree).enumerate() {
            limbs[index % positions.len()].push(limb);
        }
        limbs.into_par_iter().zip(positions).for_each(|(rows, &position)| {
            let modulus = chain.moduli()[position];
            let [from, target] = secrets.pair(host, kind, diagonal, position);
            let product = chain.auxiliary().take(auxiliary);
            let product = product.fold(1, |product, i| modulus.mul(product, chain.prime(i)));
            let kernels = LimbKernels::new(modulus);
            let [one, minus, factor] = [1, modulus.value() - 1, product].map(|f| modulus.shoup(f));
            let mut error = Zeroizing::new(vec![0; degree]);
            let mut mask = vec![0; degree];
            for ((digit, errors), body) in digits.clone().zip(&errors).zip(rows) {
                host.evaluations(position, errors, &mut error);
                let mut stream = streams.stream(domain::MASKS, mask_index(kind, digit, position));
                stream.fill_public_below(modulus.value(), &mut mask);
                // e - a s, and with it the secret of before where this digit carries it.
                let terms = [
                    ProductTerm { factor: one, a: &error, b: None },
                    ProductTerm { factor: minus, a: &mask, b: Some(&target) },
                    ProductTerm { factor, a: &from, b: None },
                ];
                let carries = kind.carrying(set, digit).contains(&position);
                kernels.sum_of_products(0, &terms[..2 + usize::from(carries)], body);
                done(1);
            }
        });
        Ok(Self { range, seed: fresh.masks, bodies })
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
        let index = mask_index(self.range.kind, digit, position);
        self.seed.streams(id).public_stream(domain::MASKS, index)
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
            KeyPart::Mask => {
                let mut stream = self.mask_stream(id, digit, position).expand();
                stream.fill_public_below(set.chain().prime(position), out);
            }
        }
        Ok(())
    }
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
