//! Conversion of residues from one basis to another, in integers alone.

use super::{Formula, RnsBasis};
use crate::fft::Simd;
use crate::limb::{Overflow, Sources, Target, Targets, dispatch};
use crate::{Modulus, RingError, Shoup};
use std::ops::Range;

/// Constants of the conversion from the primes D = {d_i} to the primes E = {e}; D also stands for
/// their product.
///
/// Of a coefficient with residues x_i, with y_i = x_i (D/d_i)^-1 mod d_i:
///
/// ```text
/// result = (sum_i y_i (D/d_i) - u D) mod e
/// Plain:     u = #{ i : y_i > (d_i - 1)/2 }
/// Corrected: u = (sum_i floor(y_i w_i / 2^32) + 2^18) >> 19,   w_i = floor(2^51/d_i)
/// ```
///
/// Both give a target prime that is also in D its own residue back. Plain is the fast conversion of
/// Bajard, Eynard, Hasan and Zucca (2016) with centred y_i; Corrected counts the overflow as
/// Halevi, Polyakov and Shoup (2019) do, in fixed point,
/// so that every device finds the same integer.
///
/// Arrays are limb-major and of any number of coefficients: a whole limb or a tile of one.
#[derive(Clone, Debug)]
pub struct BaseConversion {
    from: RnsBasis,
    to: RnsBasis,
    cofactor_inverses: Vec<Shoup>,
    weights: Vec<u32>,
    matrix: Vec<u32>,
    products: Vec<u32>,
    /// The same for the loops.
    targets: Vec<Target>,
    simd: Simd,
}

/// Source primes at most; the correction's sum of 19-bit terms then stays far below 2^32.
const MAX_SOURCES: usize = 1024;

impl BaseConversion {
    /// Constants from the primes of `from` to those of `to`, which may share primes.
    ///
    /// # Errors
    /// [`RingError::SourceTooSmall`] for a source prime below 2^19, [`RingError::TooManySources`].
    pub fn new(from: &RnsBasis, to: &RnsBasis) -> Result<Self, RingError> {
        if from.len() > MAX_SOURCES {
            return Err(RingError::TooManySources { len: from.len(), limit: MAX_SOURCES });
        }
        if let Some(prime) = from.primes().find(|&p| p < 1 << 19) {
            return Err(RingError::SourceTooSmall { prime });
        }
        // D/d_i mod m.
        let cofactor = |i: usize, m: &Modulus| {
            let others = from.primes().enumerate().filter(|&(j, _)| j != i);
            others.fold(1, |product, (_, d)| m.mul(product, d))
        };
        let inverse = |(i, m): (usize, &Modulus)| m.shoup(m.inverse(cofactor(i, m)));
        let mut matrix = Vec::with_capacity(from.len() * to.len());
        for target in to.moduli() {
            matrix.extend((0..from.len()).map(|i| cofactor(i, target)));
        }
        let products: Vec<u32> = to.moduli().iter().map(|&m| from.product_mod(m)).collect();
        let target = |(t, &modulus): (usize, &Modulus)| {
            let factors = matrix[t * from.len()..][..from.len()].iter().copied();
            let factors = factors.chain([modulus.neg(products[t])]);
            Target { modulus, factors: factors.map(|x| modulus.to_montgomery(x)).collect() }
        };
        Ok(Self {
            targets: to.moduli().iter().enumerate().map(target).collect(),
            simd: Simd::detect(),
            cofactor_inverses: from.moduli().iter().enumerate().map(inverse).collect(),
            weights: from.primes().map(|d| ((1u64 << 51) / u64::from(d)) as u32).collect(),
            matrix,
            products,
            from: from.clone(),
            to: to.clone(),
        })
    }

    /// The same on other vectors; otherwise the widest of this processor. All give the same words.
    /// Conversions panic where the processor lacks the vectors named.
    pub fn with_simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }

    /// The same conversion with every residue modulo target t multiplied by `factors[t]`, at no
    /// further cost. The constants that can be read stay those of the conversion itself.
    ///
    /// # Panics
    /// If there is not one canonical factor for each target.
    pub fn with_factors(mut self, factors: &[u32]) -> Self {
        assert_eq!(factors.len(), self.targets.len(), "one factor for each target");
        for (target, &factor) in self.targets.iter_mut().zip(factors) {
            assert!(factor < target.modulus.value(), "{factor} is not canonical");
            for word in &mut target.factors {
                *word = target.modulus.mul(*word, factor);
            }
        }
        self
    }

    /// D.
    pub fn from_basis(&self) -> &RnsBasis {
        &self.from
    }

    /// E.
    pub fn to_basis(&self) -> &RnsBasis {
        &self.to
    }

    /// `(D/d_i)^-1 mod d_i`, one for each source.
    pub fn cofactor_inverses(&self) -> &[Shoup] {
        &self.cofactor_inverses
    }

    /// `w_i = floor(2^51/d_i)`, one for each source.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// `(D/d_i) mod e` for all sources i of one target.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn cofactors(&self, target: usize) -> &[u32] {
        &self.matrix[target * self.from.len()..][..self.from.len()]
    }

    /// `D mod e`, one for each target.
    pub fn products(&self) -> &[u32] {
        &self.products
    }

    /// The y_i of canonical residues: `x` and `y` have one limb for each source.
    ///
    /// # Panics
    /// If the lengths differ or are no whole number of coefficients.
    pub fn scale(&self, x: &[u32], y: &mut [u32]) {
        self.coefficients(x);
        assert_eq!(x.len(), y.len(), "as many y_i as residues");
        let (moduli, factors) = (self.from.moduli(), &self.cofactor_inverses[..]);
        dispatch(self.simd, Sources { moduli, factors, x, y });
    }

    /// The multiple of D to take away, from ready y_i (one limb for each source): one word a
    /// coefficient, at most |D|.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn overflow(&self, formula: Formula, y: &[u32], u: &mut [u32]) {
        assert_eq!(u.len(), self.coefficients(y), "one u for each coefficient");
        let (moduli, weights) = (self.from.moduli(), &self.weights[..]);
        dispatch(self.simd, Overflow { formula, moduli, weights, y, u });
    }

    /// One target limb from ready y_i and u: canonical residues modulo that target.
    ///
    /// # Panics
    /// If there is no such target or the lengths do not fit.
    pub fn target(&self, target: usize, y: &[u32], u: &[u32], out: &mut [u32]) {
        self.targets(target..target + 1, y, u, out);
    }

    /// Several target limbs that follow each other, from ready y_i and u: faster than one by one.
    ///
    /// # Panics
    /// If there are no such targets or the lengths do not fit.
    pub fn targets(&self, targets: Range<usize>, y: &[u32], u: &[u32], out: &mut [u32]) {
        let size = self.coefficients(y);
        assert_eq!(u.len(), size, "one u for each coefficient");
        let targets = &self.targets[targets];
        assert_eq!(out.len(), size * targets.len(), "one limb for each target");
        dispatch(self.simd, Targets { bound: self.bound(), targets, y, u, out });
    }

    /// Converts canonical residues: `x` has one limb for each source, `out` one for each target.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn convert(&self, formula: Formula, x: &[u32], out: &mut [u32]) {
        let (mut y, mut u) = (vec![0; x.len()], vec![0; self.coefficients(x)]);
        self.scale(x, &mut y);
        self.overflow(formula, &y, &mut u);
        self.targets(0..self.to.len(), &y, &u, out);
    }

    /// Above every source prime and every u.
    fn bound(&self) -> u32 {
        self.from.primes().max().map_or(0, |d| d + 1)
    }

    fn coefficients(&self, limbs: &[u32]) -> usize {
        let sources = self.from.len();
        assert!(limbs.len().is_multiple_of(sources), "one limb for each of {sources} sources");
        limbs.len() / sources
    }
}
