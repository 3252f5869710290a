//! What columns are transformed by, for each prime.

use crate::poly::log2_row;
use girih_backend::BackendError;
use girih_backend::poly::RingShape;
use girih_ring::SplitNtt;
use rayon::prelude::*;

/// Forward factors of columns and the last inverse one, by prime. The first of the forward ones,
/// which no stage has, is [`fold_unit`].
pub(crate) struct Factors {
    pub forward: Vec<[u32; 2]>,
    pub last_inverse: u32,
    pub size_inverse: u32,
}

/// What columns are folded with: i and its quotient in the conjugation-invariant ring; in the usual
/// one 1 and its quotient, which nothing reads.
pub(crate) fn fold_unit(ntt: &SplitNtt) -> [u32; 2] {
    let (values, quotients) = ntt.roots();
    ntt.fold_unit().map_or([values[0], quotients[0]], |unit| [unit.value, unit.quotient])
}

impl Factors {
    fn of(ntt: &SplitNtt) -> Self {
        let log2_degree = ntt.size().ilog2();
        let points = 1usize << (log2_degree - log2_row(log2_degree));
        let (values, quotients) = ntt.roots();
        let stages = (1..points).map(|i| [values[i], quotients[i]]);
        Self {
            forward: std::iter::once(fold_unit(ntt)).chain(stages).collect(),
            last_inverse: ntt.inverse_roots().0[1],
            size_inverse: ntt.size_inverse().value,
        }
    }
}

/// What columns are transformed by, for each prime of a ring: made once for all its routines.
pub(crate) struct ColumnFactors(Vec<Factors>);

impl ColumnFactors {
    /// From the transforms modulo all primes, in their order.
    pub fn of<'a>(transforms: impl Iterator<Item = &'a SplitNtt>) -> Self {
        Self(transforms.map(Factors::of).collect())
    }

    /// Those of a ring that is open nowhere.
    pub fn new(ring: &RingShape) -> Result<Self, BackendError> {
        let one = |p: usize| ring.transform(p as u16).map(|ntt| Factors::of(&ntt));
        let factors = (0..ring.primes.len()).into_par_iter().map(one).collect::<Result<_, _>>();
        Ok(Self(factors.map_err(|e| BackendError::InvalidRequest(e.to_string()))?))
    }

    /// Those of one prime.
    pub fn of_prime(&self, prime: u16) -> &Factors {
        &self.0[usize::from(prime)]
    }
}
