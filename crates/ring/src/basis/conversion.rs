//! Conversion of residues from one basis to another, in integers alone.

use super::RnsBasis;
use crate::{Modulus, RingError, Shoup};

/// Which multiple of D a conversion takes away. See [`BaseConversion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// u counts the y_i above (d_i - 1)/2: *some* representative, of magnitude at most |D|/2 D.
    Plain,
    /// u is the sum of the y_i/d_i to 19 bits, rounded: the centred representative, except that a
    /// value within |D| 1.5 2^-19 D of the tie may take the other one.
    Corrected,
}

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
/// Bajard, Eynard, Hasan and Zucca (2016) with centred y_i; Corrected counts the overflow as Halevi,
/// Polyakov and Shoup (2019) do, in fixed point, so that every device finds the same integer.
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
        Ok(Self {
            cofactor_inverses: from.moduli().iter().enumerate().map(inverse).collect(),
            weights: from.primes().map(|d| ((1u64 << 51) / u64::from(d)) as u32).collect(),
            matrix,
            products: to.moduli().iter().map(|&m| from.product_mod(m)).collect(),
            from: from.clone(),
            to: to.clone(),
        })
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
        let size = self.coefficients(x);
        assert_eq!(x.len(), y.len(), "as many y_i as residues");
        for (i, modulus) in self.from.moduli().iter().enumerate() {
            let factor = self.cofactor_inverses[i];
            for (y, &x) in y[i * size..][..size].iter_mut().zip(&x[i * size..][..size]) {
                *y = modulus.mul_shoup(x, factor);
            }
        }
    }

    /// The multiple of D to take away, from ready y_i (one limb for each source): one word a
    /// coefficient, at most |D|.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn overflow(&self, formula: Formula, y: &[u32], u: &mut [u32]) {
        let size = self.coefficients(y);
        assert_eq!(u.len(), size, "one u for each coefficient");
        u.fill(0);
        for (i, modulus) in self.from.moduli().iter().enumerate() {
            let (y, weight) = (&y[i * size..][..size], self.weights[i]);
            let half = modulus.value() / 2;
            for (u, &y) in u.iter_mut().zip(y) {
                *u += match formula {
                    Formula::Plain => u32::from(y > half),
                    Formula::Corrected => ((u64::from(y) * u64::from(weight)) >> 32) as u32,
                };
            }
        }
        if formula == Formula::Corrected {
            for u in u {
                *u = (*u + (1 << 18)) >> 19;
            }
        }
    }

    /// One target limb from ready y_i and u: canonical residues modulo that target.
    ///
    /// # Panics
    /// If there is no such target or the lengths do not fit.
    pub fn target(&self, target: usize, y: &[u32], u: &[u32], out: &mut [u32]) {
        let size = self.coefficients(y);
        assert!(u.len() == size && out.len() == size, "one u and one word for each coefficient");
        let modulus = self.to.moduli()[target];
        let cofactors = self.cofactors(target);
        let product = modulus.neg(self.products[target]);
        for c in 0..size {
            let mut sum = modulus.mul(u[c], product);
            for (i, &cofactor) in cofactors.iter().enumerate() {
                sum = modulus.add(sum, modulus.mul(y[i * size + c], cofactor));
            }
            out[c] = sum;
        }
    }

    /// Converts canonical residues: `x` has one limb for each source, `out` one for each target.
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn convert(&self, formula: Formula, x: &[u32], out: &mut [u32]) {
        let size = self.coefficients(x);
        assert_eq!(out.len(), size * self.to.len(), "one limb for each target");
        let (mut y, mut u) = (vec![0; x.len()], vec![0; size]);
        self.scale(x, &mut y);
        self.overflow(formula, &y, &mut u);
        for target in 0..self.to.len() {
            self.target(target, &y, &u, &mut out[target * size..][..size]);
        }
    }

    fn coefficients(&self, limbs: &[u32]) -> usize {
        let sources = self.from.len();
        assert!(limbs.len().is_multiple_of(sources), "one limb for each of {sources} sources");
        limbs.len() / sources
    }
}
