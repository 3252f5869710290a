//! What lattice reduction reaches and what it takes, as the lattice estimator models it.

use std::f64::consts::{E, LN_2, PI};

/// Smallest block: below it the Hermite factor is not that of its formula, and a set has no
/// security to speak of.
pub(super) const LEAST_BLOCK: usize = 60;

/// Largest block that is looked at: over 1,000 bits.
pub(super) const MOST_BLOCK: usize = 4000;

/// ln of the root Hermite factor that a block reaches (Chen 2013).
pub(super) fn ln_hermite(block: f64) -> f64 {
    (block / (2.0 * PI * E) * (PI * block).powf(1.0 / block)).ln() / (2.0 * (block - 1.0))
}

/// log2 of the operations of BKZ with BDGL16: Becker, Ducas, Gama and Laarhoven 2016 give the cost
/// of one short-vector problem; BKZ solves eight for each dimension.
pub(super) fn log2_bdgl16(block: usize, dimension: usize) -> f64 {
    0.292 * block as f64 + 16.4 + (8.0 * dimension as f64).log2()
}

/// The cost model of MATZOV (2022, "Report on the security of LWE: improved dual lattice attack"):
/// gates of a classical sieve with list decoding (Albrecht, Gheorghiu, Postlethwaite and Schanck
/// 2020), as the line that the lattice estimator fits through them.
pub(super) mod matzov {
    use super::*;

    /// log2 of the gates of one sieve: `GROWTH * dimension + START`.
    const GROWTH: f64 = 0.296_135_003_082_053_65;
    const START: f64 = 20.387_885_985_467_914;

    /// log2 of the vectors that a sieve leaves behind, for each dimension: (4/3)^(1/2).
    pub const LOG2_LIST: f64 = 0.2075;

    /// log2 of the sum over all smaller sieves that go before one, as a multiple of that one.
    fn log2_progressive() -> f64 {
        -(1.0 - (-GROWTH).exp2()).log2()
    }

    /// Dimensions that a sieve need not look at (Ducas 2018).
    fn for_free(block: f64) -> f64 {
        (block * (4.0f64 / 3.0).ln() / (block / (2.0 * PI * E)).ln()).max(0.0)
    }

    /// log2 of the gates of one sieve, those that prepare it included.
    pub fn log2_sieve(dimension: f64) -> f64 {
        GROWTH * dimension + START + log2_progressive()
    }

    /// log2 of the gates of BKZ in a lattice of `dimension`, LLL at first.
    pub fn log2_reduction(block: usize, dimension: usize) -> f64 {
        let calls = dimension.saturating_sub(block).max(1) as f64;
        let beta = block as f64;
        let bkz = log2_progressive() + calls.log2() + log2_sieve(beta - for_free(beta));
        log2_sum(3.0 * (dimension as f64).log2(), bkz)
    }

    /// The dimension in which one sieve takes as long as the reduction before
    /// it (Guo and Johansson 2021).
    pub fn balanced_sieve(block: usize, dimension: usize) -> f64 {
        let sieved = block as f64 - for_free(block as f64).floor();
        if block >= dimension {
            return sieved;
        }
        let calls = ((dimension - block) as f64).log2() + log2_progressive();
        (sieved + calls / GROWTH).floor().min(dimension as f64)
    }
}

/// log2(2^a + 2^b).
pub(super) fn log2_sum(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY || large == f64::INFINITY {
        return large;
    }
    large + (small - large).exp2().ln_1p() / LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_reductions_are_those_of_their_formulas() {
        let infinite = f64::INFINITY;
        assert_eq!(log2_sum(3.0, 3.0), 4.0);
        assert_eq!(log2_sum(-infinite, 3.0), 3.0);
        assert_eq!(log2_sum(-infinite, -infinite), -infinite);
        assert_eq!(log2_sum(infinite, infinite), infinite);
        // LLL counts in a large lattice, reduced little: 3 log2(2^18) of these.
        let found = matzov::log2_reduction(60, 1 << 18);
        assert!((found - 57.123268).abs() < 1e-6, "{found}");
    }
}
