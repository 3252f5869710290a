//! The primal attack on LWE by lattice reduction, as the lattice estimator costs it.
//!
//! Kannan's embedding has one unusually short vector, which BKZ finds once its block is large
//! enough (the condition of Alkim, Ducas, Pöppelmann and Schwabe 2016, section 6.3, verified by
//! Albrecht, Göpfert, Virdia and Wunderer 2017), under the geometric series assumption with the
//! root Hermite factor of Chen's thesis (2013). Becker, Ducas, Gama and Laarhoven 2016 give the
//! cost of one short-vector problem; BKZ solves eight for each dimension.

use super::LweProblem;
use super::reduction::{LEAST_BLOCK, MOST_BLOCK, ln_hermite, log2_bdgl16, matzov};

impl LweProblem {
    /// log2 of the operations that the primal attack (uSVP) takes with the BDGL16 cost model, given
    /// as many samples as it likes.
    pub fn usvp_bdgl16(self) -> f64 {
        let (block, dimension) = self.smallest_block();
        log2_bdgl16(block, dimension)
    }

    /// log2 of the gates that the same attack takes with the MATZOV cost model.
    pub fn usvp_matzov(self) -> f64 {
        let (block, dimension) = self.smallest_block();
        matzov::log2_reduction(block, dimension)
    }

    /// The smallest block that finds the short vector, and the dimension of its lattice.
    fn smallest_block(self) -> (usize, usize) {
        let (mut least, mut most) = (LEAST_BLOCK, MOST_BLOCK);
        while least < most {
            let block = usize::midpoint(least, most);
            match self.lattice(block) {
                Some(_) => most = block,
                None => least = block + 1,
            }
        }
        (least, self.lattice(least).unwrap_or(2 * self.dimension))
    }

    /// The smallest dimension of a lattice in which `block` finds the short vector.
    fn lattice(self, block: usize) -> Option<usize> {
        let n = self.dimension as f64;
        let (ln_modulus, ln_error) = (self.log2_modulus * 2f64.ln(), self.error.ln());
        // The secret's part is stretched to the size of the errors, where it is smaller.
        let secret = self.secret.deviation(self.dimension);
        let ln_stretch = (self.error / secret).max(1.0).ln();
        let beta = block as f64;
        let ln_hermite = ln_hermite(beta);
        let is_found = |dimension: usize| {
            let d = dimension as f64;
            let ln_volume = (d - n - 1.0) * ln_modulus + n * ln_stretch + ln_error;
            0.5 * beta.ln() + ln_error <= (2.0 * beta - d - 1.0) * ln_hermite + ln_volume / d
        };
        // The right side rises up to here and falls beyond.
        let best = (((n + 1.0) * ln_modulus - n * ln_stretch - ln_error).max(0.0) / ln_hermite)
            .sqrt() as usize;
        let (mut least, mut most) =
            (self.dimension.max(block) + 2, best.max(self.dimension.max(block) + 2));
        is_found(most).then(|| {
            while least < most {
                let middle = usize::midpoint(least, most);
                if is_found(middle) { most = middle } else { least = middle + 1 }
            }
            least
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretDistribution;

    /// What the lattice estimator itself said, for ternary secrets and errors of deviation 3.19.
    #[test]
    fn the_estimator_agrees() {
        for (dimension, log2_modulus, bits) in [
            (503, 14.0, 128.6),
            (512, 14.0, 130.9),
            (600, 15.0, 142.5),
            (1305, 35.0, 128.2),
            (1024, 21.0, 173.0),
            (1024, 27.0, 131.6),
            (1536, 41.0, 128.5),
            (2048, 41.0, 176.0),
            (2048, 50.0, 141.0),
            (2048, 37.0, 197.5),
            (3072, 44.0, 256.5),
        ] {
            let secret = SecretDistribution::Ternary;
            let found = LweProblem { dimension, log2_modulus, error: 3.19, secret }.usvp_bdgl16();
            assert!(
                (found - bits).abs() < 0.6,
                "{dimension} 2^{log2_modulus}: {found:.2}, {bits} by the estimator"
            );
        }
    }

    /// Where no block finds the vector, the largest one that is looked at stands for all.
    #[test]
    fn what_no_block_finds_takes_the_largest_one() {
        let secret = SecretDistribution::Ternary;
        let none = LweProblem { dimension: 65_536, log2_modulus: 2.0, error: 1e9, secret };
        let wanted = log2_bdgl16(MOST_BLOCK, 2 * 65_536);
        assert_eq!(none.usvp_bdgl16(), wanted);
    }
}
