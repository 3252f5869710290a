//! The ring of a program, and sets of its primes.

use std::sync::Arc;

use super::View;
use girih_ring::{Modulus, RingError, SplitNtt};

/// The rings of a program: their degree and every prime that their polynomials may use.
///
/// Limbs modulo most primes are polynomials in X with X^N = -1. Those modulo the last primes may be
/// of the *conjugation-invariant ring* (Kim and Song 2018): f_0 + sum of f_j (Y^j + Y^-j), 0 < j <
/// N, with Y^(2N) = -1. Such a polynomial has N coefficients, too, and N real slots. With X = Y^2
/// both are parts of one ring of degree 2N, and a [`View`](super::View) leads from one to the
/// other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingShape {
    /// log2 of the degree N, from 1 to 17.
    pub log2_degree: u32,
    /// Primes between 2^19 and 2^31, each 1 modulo 2N. A prime is named by its place in this list.
    pub primes: Vec<Modulus>,
    /// From this place on primes are of the conjugation-invariant ring, and 1 modulo 4N. Below and
    /// from it on they are distinct; a prime may be one of either part.
    pub invariant_from: usize,
}

/// As its degree and the values of its primes: what measured plans are stored under. Where there
/// are primes of the conjugation-invariant ring, where they begin.
impl serde::Serialize for RingShape {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let both = self.has_invariant();
        let mut fields = serializer.serialize_struct("RingShape", 2 + usize::from(both))?;
        fields.serialize_field("log2_degree", &self.log2_degree)?;
        let primes: Vec<u32> = self.primes.iter().map(|p| p.value()).collect();
        fields.serialize_field("primes", &primes)?;
        if both {
            fields.serialize_field("invariant_from", &self.invariant_from)?;
        }
        fields.end()
    }
}

impl RingShape {
    /// The ring of degree 2^`log2_degree` with these primes, none of the conjugation-invariant one.
    pub fn new(log2_degree: u32, primes: Vec<Modulus>) -> Self {
        Self { log2_degree, invariant_from: primes.len(), primes }
    }

    /// Whether any of its primes are of the conjugation-invariant ring.
    pub fn has_invariant(&self) -> bool {
        self.invariant_from < self.primes.len()
    }

    /// Whether limbs modulo prime number `prime` are of the conjugation-invariant ring.
    pub fn is_invariant(&self, prime: u16) -> bool {
        usize::from(prime) >= self.invariant_from
    }

    /// The transform of limbs modulo prime number `prime`.
    ///
    /// # Errors
    /// For a prime that is not 1 modulo 2N, or 4N in the conjugation-invariant ring.
    pub fn transform(&self, prime: u16) -> Result<SplitNtt, RingError> {
        let modulus = self.primes[usize::from(prime)];
        match self.is_invariant(prime) {
            true => SplitNtt::invariant(modulus, self.degree()),
            false => SplitNtt::new(modulus, self.degree()),
        }
    }

    /// N, the words of a limb.
    pub fn degree(&self) -> usize {
        1 << self.log2_degree
    }

    /// The basis of all primes whose numbers lie in `range`.
    pub fn basis(&self, range: std::ops::Range<usize>) -> Basis {
        Basis::new(range.map(|i| i as u16))
    }

    /// The points, as values of Y, that the words of a view stand for, modulo prime number `prime`
    /// of either ring: y_j and 1 / y_j for a lift, and square roots of the usual ring's points, or
    /// minus these, for a restriction.
    pub fn points(&self, prime: u16, view: View) -> Vec<u32> {
        let modulus = self.primes[usize::from(prime)];
        let (n, log2) = (self.degree(), self.log2_degree);
        let psi = psi(modulus, log2 + 1);
        // Word brv(i) is `first` times the i-th power of `step`: psi^(4i + 1), its inverse, and the
        // roots of psi^(4i + 2), psi^(2i + 1) for even i and minus that for odd i.
        let (first, step) = match view {
            View::Lifted => (psi, modulus.pow(psi, 4)),
            View::LiftedConjugate => {
                let inverse = modulus.inverse(psi);
                (inverse, modulus.pow(inverse, 4))
            }
            View::Restricted => (psi, modulus.neg(modulus.mul(psi, psi))),
            View::RestrictedMinus => (modulus.neg(psi), modulus.neg(modulus.mul(psi, psi))),
        };
        let (mut points, mut power, step) = (vec![0; n], first, modulus.shoup(step));
        for i in 0..n {
            points[girih_ring::bit_reverse(i, log2)] = power;
            power = modulus.mul_shoup(power, step);
        }
        points
    }

    /// What multiplying by X^(N/2) does to the evaluations modulo prime `prime`: the word at place
    /// j is multiplied by the first number for j < N/2, by the second above.
    ///
    /// Place j holds the value at psi^(2 brv(j) + 1), and psi^(N/2) to an odd power is i or -i: the
    /// sign is that of the lowest bit of brv(j), which is the highest of j.
    pub fn imaginary_unit(&self, prime: u16) -> [u32; 2] {
        let modulus = self.primes[usize::from(prime)];
        let i = modulus.pow(psi(modulus, self.log2_degree), 1 << (self.log2_degree - 1));
        [i, modulus.neg(i)]
    }
}

/// The root of unity of order 2N that evaluation order is defined by: x^((p - 1) / 2N) for the
/// least x >= 2 for which that has order exactly 2N.
fn psi(modulus: Modulus, log2_degree: u32) -> u32 {
    let p = modulus.value();
    (2..p)
        .map(|x| modulus.pow(x, u64::from(p - 1) >> (log2_degree + 1)))
        .find(|&psi| modulus.pow(psi, 1 << log2_degree) == p - 1)
        .expect("a prime that is 1 modulo 2N has a root of that order")
}

/// A set of primes of a ring, by number, in ascending order: one limb each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Basis(Arc<[u16]>);

impl Basis {
    /// The basis of these primes; order and repetition of `primes` do not matter.
    pub fn new(primes: impl IntoIterator<Item = u16>) -> Self {
        let mut primes: Vec<u16> = primes.into_iter().collect();
        primes.sort_unstable();
        primes.dedup();
        Self(primes.into())
    }

    /// Number of primes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no prime at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The primes, ascending.
    pub fn primes(&self) -> &[u16] {
        &self.0
    }

    /// The place of `prime` in this basis.
    pub fn position(&self, prime: u16) -> Option<usize> {
        self.0.binary_search(&prime).ok()
    }

    /// Whether `prime` belongs to it.
    pub fn contains(&self, prime: u16) -> bool {
        self.position(prime).is_some()
    }

    /// Whether every prime of `other` belongs to it.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.0.iter().all(|&p| self.contains(p))
    }

    /// The primes of both.
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(other.0.iter()).copied())
    }

    /// The primes that both have.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::new(self.0.iter().copied().filter(|&p| other.contains(p)))
    }

    /// The primes that `other` has not.
    pub fn difference(&self, other: &Self) -> Self {
        Self::new(self.0.iter().copied().filter(|&p| !other.contains(p)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans that were measured for the usual ring are found under the same key as before.
    #[test]
    fn rings_are_told_apart_by_where_the_second_begins() {
        let primes: Vec<Modulus> = [998244353, 30539777].map(|p| Modulus::new(p).unwrap()).into();
        let usual = RingShape::new(4, primes);
        let both = RingShape { invariant_from: 1, ..usual.clone() };
        let text = |ring: &RingShape| serde_json::to_string(ring).unwrap();
        let key = r#"{"log2_degree":4,"primes":[998244353,30539777]"#;
        assert_eq!(text(&usual), format!("{key}}}"));
        assert_eq!(text(&both), format!(r#"{key},"invariant_from":1}}"#));
        assert!(both.has_invariant() && !usual.has_invariant());
        assert_eq!([0, 1].map(|prime| both.is_invariant(prime)), [false, true]);
    }

    #[test]
    fn a_basis_holds_all_of_another_or_not() {
        let (small, large) = (Basis::new([1, 3]), Basis::new([1, 2, 3]));
        assert!(large.contains_all(&small) && !small.contains_all(&large));
    }
}
