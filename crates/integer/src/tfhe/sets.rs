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
    use crate::operation::{Operand, Operation};
    use crate::tfhe::operations::{Request, record};
    use crate::tfhe::record::{Aim, DigitState, Rules};
    use crate::tfhe::run::{budgets, digit_values, has_pairs};
    use girih_backend::Transform;

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
    /// No look-up of a product fails more often than one of the largest norm with half a step, and
    /// sets for integers have room for wide sums.
    #[test]
    fn products_keep_to_the_budgets_of_sets() {
        let state = DigitState { values: digit_values(), norm: 1 };
        let operands = vec![Operand::Digits(vec![state; 32]); 2];
        let request = Request { operation: Operation::Multiply, signed: false, operands };
        let of_integers = |set: &ParameterSet| check_set(set).is_ok();
        for set in ParameterSet::all().into_iter().filter(of_integers) {
            for transform in [Transform::Ntt, Transform::Fft] {
                let model = NoiseModel::with_transform(&set, transform);
                let failure = |margin, norm| log2_failure(&model, &set, margin, norm);
                let budgets = budgets(&model, &set, model.default_bound());
                let bound = failure(Margin::Half, budgets.half);
                assert!(failure(Margin::Whole, budgets.whole + 1) > bound, "{set}: {budgets:?}");
                for (aim, most) in Aim::ALL.into_iter().zip([1010, 930]) {
                    let program = record(&request, Rules { budgets, pairs: true, aim });
                    let program = program.expect("within the budgets");
                    for &(margin, norm) in program.norms.keys() {
                        assert!(failure(margin, norm) <= bound, "{set}: {margin:?} {norm}");
                    }
                    assert!(program.norms.keys().any(|of| of.0 == Margin::Whole), "{set}");
                    assert!(program.bootstrappings() <= most, "{set}: {aim:?}");
                }
            }
        }
    }
}
