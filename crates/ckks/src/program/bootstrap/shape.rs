//! What a chain says of its bootstrapping.

use super::super::chain::Chain;
use super::super::chain_shape::BootstrappingShape;
use super::super::error::RecordError;
use super::super::exact;
use super::OPERATION;

pub(super) fn shape_of(chain: &Chain) -> Result<&BootstrappingShape, RecordError> {
    chain.shape().bootstrapping.as_ref().ok_or_else(|| RecordError::Shape {
        operation: OPERATION,
        why: "the parameter set has no levels for it: take one that does".into(),
    })
}

/// K Q_0 N/2n: the scale at which a coefficient of n slots reads t/K after the modulus was raised
/// and what repeats was added up.
pub(super) fn raised_scale(chain: &Chain, slots: usize) -> Result<f64, RecordError> {
    let interval = u64::from(shape_of(chain)?.interval);
    let repeats = (chain.most_slots() / slots) as u64;
    Ok(exact::nearest(&(&*chain.product(chain.level(0)?) * interval * repeats)))
}
