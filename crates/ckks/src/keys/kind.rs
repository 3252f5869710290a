//! Which switching keys there are, and which limbs each has.

use crate::params::BootstrappingParameters;
use crate::{CkksParameters, Error, Result};
use girih_backend::poly::View;
use std::ops::Range;

/// What a switching key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KeyKind {
    /// From s^2 to s: after a product.
    Multiplication,
    /// From the dense secret to the sparse one, under the primes of level 0 and few auxiliary ones
    /// alone: two, or as many as an encapsulation says.
    DenseToSparse,
    /// From the sparse secret to the dense one.
    SparseToDense,
    /// For a row of the first transform of a bootstrapping of 2^`log2_slots` slots, in sets that
    /// do it by keys: from a diagonal times the sparse secret to what X -> X^g takes to s, under
    /// the primes of the level that the modulus is raised to and the first two auxiliary ones. g is
    /// 1 for one of them.
    First {
        /// log2 of the slots: keys of one number do not serve another.
        log2_slots: u8,
        /// The exponent.
        g: u32,
    },
    /// From s'^2 to s', the secret of the conjugation-invariant ring: after a product there. Rows
    /// are of that ring.
    InvariantMultiplication,
    /// From s(Y^2) to s'(Y): on the way to the conjugation-invariant ring. It is of the ring of
    /// degree 2N: rows 2d and 2d + 1 have the evaluations of digit d at the points y_j =
    /// psi^(4 brv(j) + 1) and 1 / y_j.
    ToInvariant,
    /// From s'(Y) to s(Y^2): on the way back. Rows 2d and 2d + 1 have the evaluations of digit d at
    /// a square root of each point of the usual ring and at minus that root.
    FromInvariant,
    /// For the automorphism X -> X^g: from s to what the automorphism takes to s.
    Galois(u32),
}

/// The rotations of an inner sum of `width` terms (a power of two) that are `stride` slots apart,
/// or, for a negative stride, of spreading: by `stride` times 1, 2, 3, 4, 8, 12, 16, .. Keys of
/// those by powers of two alone do as well; with all of them four terms are added at a time, with
/// half as many decompositions.
pub fn inner_sum_rotations(width: usize, stride: i64) -> Vec<i64> {
    // Modulo a power of two, as slots are, whatever the stride.
    let amount = |by: usize| stride.wrapping_mul(by as i64);
    sum_steps(width, 4).into_iter().flatten().map(amount).collect()
}

/// Rotations, in units of the stride, that step after step add up `width` terms: `at_once`, 2 or 4,
/// a step, and 2 in the last where no more are left.
pub(crate) fn sum_steps(width: usize, at_once: usize) -> Vec<Vec<usize>> {
    let (mut steps, mut terms) = (Vec::new(), 1);
    while terms < width {
        let times = if terms <= width / at_once { at_once } else { 2 };
        steps.push((1..times).map(|i| i * terms).collect());
        terms *= times;
    }
    steps
}

impl KeyKind {
    /// The key that rotates slots to the left by `steps` (to the right where negative); `None` for
    /// a rotation that changes nothing. Amounts count modulo N/2.
    pub fn rotation(set: &CkksParameters, steps: i64) -> Option<Self> {
        match galois_element(set.degree(), steps) {
            1 => None,
            g => Some(Self::Galois(g)),
        }
    }

    /// Whether its limbs are of the conjugation-invariant ring.
    pub fn is_invariant(self) -> bool {
        matches!(self, Self::InvariantMultiplication | Self::ToInvariant)
    }

    /// The key that conjugates slots.
    pub fn conjugation(set: &CkksParameters) -> Self {
        Self::Galois(2 * set.degree() as u32 - 1)
    }

    /// The number of the key in the index of its mask streams, and in its serialized form.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Multiplication => 0,
            Self::DenseToSparse => 1,
            Self::SparseToDense => 2,
            Self::InvariantMultiplication => 3,
            Self::ToInvariant => 4,
            Self::FromInvariant => 5,
            Self::Galois(g) => (1 << 16) + u64::from(g),
            Self::First { log2_slots, g } => (1 + u64::from(log2_slots)) << 20 | u64::from(g),
        }
    }

    /// Undoes [`KeyKind::number`].
    pub(super) fn of_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Multiplication),
            1 => Some(Self::DenseToSparse),
            2 => Some(Self::SparseToDense),
            3 => Some(Self::InvariantMultiplication),
            4 => Some(Self::ToInvariant),
            5 => Some(Self::FromInvariant),
            _ if number >= 1 << 20 => {
                let log2_slots = u8::try_from((number >> 20) - 1).ok()?;
                Some(Self::First { log2_slots, g: (number & ((1 << 20) - 1)) as u32 })
            }
            _ => u32::try_from(number.checked_sub(1 << 16)?).ok().map(Self::Galois),
        }
    }

    /// Checks that the set can have this key.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a key of bootstrapping where the set has none, and for an
    /// exponent that is even, 1, or not below 2N.
    pub fn check(self, set: &CkksParameters) -> Result<()> {
        let unsupported = |why: String| Err(Error::Unsupported { set: set.name().into(), why });
        match self {
            Self::InvariantMultiplication | Self::ToInvariant | Self::FromInvariant
                if set.invariant_weight().is_none() =>
            {
                unsupported(format!(
                    "{self} belongs to sets whose bootstrapping does both sines in one \
                     (`invariant_sine`)"
                ))
            }
            Self::DenseToSparse | Self::SparseToDense if set.sparse_weight().is_none() => {
                unsupported(format!("{self} belongs to a bootstrapping, which the set has not"))
            }
            Self::SparseToDense | Self::First { .. }
                if set.bootstrapping().is_some_and(|b| {
                    b.first_transform_by_keys() != matches!(self, Self::First { .. })
                }) =>
            {
                unsupported(format!("{self} is not how the set's bootstrapping raises the modulus"))
            }
            Self::First { .. } if set.bootstrapping().is_none() => {
                unsupported(format!("{self} belongs to a bootstrapping, which the set has not"))
            }
            Self::First { log2_slots, g }
                if 1 << log2_slots > set.slots()
                    || g % 2 == 0
                    || g as usize >= 2 * set.degree() =>
            {
                unsupported(format!(
                    "{self} belongs to no row: slots are up to {}, exponents odd and below {}",
                    set.slots(),
                    2 * set.degree()
                ))
            }
            Self::Galois(g) if g % 2 == 0 || g == 1 || g as usize >= 2 * set.degree() => {
                unsupported(format!(
                    "X -> X^{g} needs no key or is no automorphism: take an odd exponent from 3 to \
                     {}",
                    2 * set.degree() - 1
                ))
            }
            _ => Ok(()),
        }
    }

    /// Number of digits of this key under `set`.
    pub fn digits(self, set: &CkksParameters) -> usize {
        match self {
            Self::DenseToSparse | Self::SparseToDense | Self::First { .. } => 1,
            _ => self.rows_of_a_digit() * set.chain().digits().len(),
        }
    }

    /// Rows of a digit: two of keys of the ring of degree 2N.
    pub(crate) fn rows_of_a_digit(self) -> usize {
        match self {
            Self::ToInvariant | Self::FromInvariant => 2,
            _ => 1,
        }
    }

    /// Where row `row` of a key of two rows a digit is evaluated; none of other keys.
    pub(crate) fn view(self, row: usize) -> Option<View> {
        match (self, row % 2) {
            (Self::ToInvariant, 0) => Some(View::Lifted),
            (Self::ToInvariant, _) => Some(View::LiftedConjugate),
            (Self::FromInvariant, 0) => Some(View::Restricted),
            (Self::FromInvariant, _) => Some(View::RestrictedMinus),
            _ => None,
        }
    }

    /// Positions of F and P at which the key has limbs, in order.
    pub fn positions(self, set: &CkksParameters) -> Vec<usize> {
        let chain = set.chain();
        match self {
            Self::DenseToSparse => sparse_positions(set),
            Self::First { log2_slots, .. } => {
                let most = set.slots().ilog2();
                let raised = |b: &BootstrappingParameters| {
                    b.raised_level(most, u32::from(log2_slots).min(most))
                };
                let level = set.bootstrapping().map_or(chain.top_level(), raised);
                let few = chain.auxiliary().take(set.sparse_auxiliary());
                chain.base(level).chain(few).collect()
            }
            _ => (0..chain.moduli().len()).collect(),
        }
    }

    /// Positions at which row `digit` carries the secret that it switches from.
    pub(super) fn carrying(self, set: &CkksParameters, digit: usize) -> Range<usize> {
        let chain = set.chain();
        match self {
            // The diagonal has the factor P' in its scale.
            Self::First { .. } => 0..chain.moduli().len(),
            Self::DenseToSparse => chain.base(0),
            Self::SparseToDense => 0..chain.full_len(),
            _ => chain.digits()[digit / self.rows_of_a_digit()].clone(),
        }
    }

    /// Words of one part, b or a, of the whole key: `[digit][limb][N]`.
    pub fn words(self, set: &CkksParameters) -> usize {
        self.digits(set) * self.positions(set).len() * set.degree()
    }
}

/// Positions of level 0 and of few auxiliary primes: all that the sparse secret may be under.
pub(super) fn sparse_positions(set: &CkksParameters) -> Vec<usize> {
    let chain = set.chain();
    chain.base(0).chain(chain.auxiliary().take(set.sparse_auxiliary())).collect()
}

impl std::fmt::Display for KeyKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Multiplication => f.write_str("the relinearisation key"),
            Self::DenseToSparse => f.write_str("the key from the dense to the sparse secret"),
            Self::InvariantMultiplication => {
                f.write_str("the relinearisation key of the conjugation-invariant ring")
            }
            Self::ToInvariant => f.write_str("the key to the conjugation-invariant ring"),
            Self::FromInvariant => f.write_str("the key from the conjugation-invariant ring"),
            Self::SparseToDense => f.write_str("the key from the sparse to the dense secret"),
            Self::First { log2_slots, g } => write!(
                f,
                "the key of X -> X^{g} of a bootstrapping's first transform of 2^{log2_slots} slots"
            ),
            Self::Galois(g) => write!(f, "the Galois key of X -> X^{g}"),
        }
    }
}

/// `5^steps mod 2N`: the exponent that rotates slots to the left by `steps`, modulo N/2.
pub fn galois_element(degree: usize, steps: i64) -> u32 {
    let order = 2 * degree as u64;
    let mut exponent = steps.rem_euclid(degree as i64 / 2);
    let (mut base, mut result) = (5 % order, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % order;
        }
        base = base * base % order;
        exponent >>= 1;
    }
    result as u32
}

/// The rotation in `0..N/2` that X -> X^g makes, if it is one.
pub fn rotation_of(degree: usize, g: u32) -> Option<usize> {
    let order = 2 * degree as u64;
    let mut power = 1;
    for steps in 0..degree / 2 {
        if power == u64::from(g) {
            return Some(steps);
        }
        power = power * 5 % order;
    }
    None
}
