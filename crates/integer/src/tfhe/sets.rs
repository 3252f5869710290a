//! Which parameter sets integers take.

use crate::tfhe::MESSAGE_BITS;
use crate::tfhe::record::Margin;
use crate::tfhe::run::log2_failure;
use crate::{Result, error::unsupported};
use girih_tfhe::{NoiseModel, ParameterSet};

/// The smallest budget that every operation can do with.
pub(crate) const LEAST_NORM: u32 = 9;

/// log2 of the failure probability of a look-up beyond which results are no results.
const WORST_LOG2_FAILURE: f64 = -4.0;

/// Refuses digits that share a ciphertext.
pub(crate) fn check_packing(set: &ParameterSet) -> Result<()> {
    if set.packing() == 1 {
        return Ok(());
    }
    let why = "digits that share a ciphertext cannot be moved; take a set with packing 1, as \
               GIRIH_2_2";
    unsupported(set, why)
}

/// Refuses to encrypt integers with a set that no server computes on, wherever its bound is.
pub(crate) fn check_set(set: &ParameterSet) -> Result<()> {
    check_packing(set)?;
    let model = NoiseModel::new(set);
    let room = set.shape().log2_stored_modulus() > MESSAGE_BITS + 2;
    let log2_failure = if room { log2_failure(&model, set, Margin::Half, LEAST_NORM) } else { 0.0 };
    if log2_failure > WORST_LOG2_FAILURE {
        let why = format!(
            "sums of digits would be read wrongly with probability 2^{log2_failure:.1}, so no \
             server takes them; GIRIH_2_2 and TFHERS_2_2 are sets for integers"
        );
        return unsupported(set, why);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::run::has_pairs;

    /// Every set that has room for integers has two results a rotation.
    #[test]
    fn sets_of_prime_words_have_no_room() {
        let of_integers = |set: &ParameterSet| check_set(set).is_ok();
        let sets: Vec<ParameterSet> = ParameterSet::all().into_iter().filter(of_integers).collect();
        assert!(sets.len() > 2);
        for set in sets {
            assert!(has_pairs(&set), "{set}: docs/integers.md says that there is none");
        }
    }
}
