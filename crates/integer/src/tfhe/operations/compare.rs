//! Order and equality: the sign of the highest digit that differs.

use super::bits::of_two;
use crate::operation::Order;
use crate::tfhe::record::{Linear, Recorder};
use crate::tfhe::{CONDITION, RADIX};

/// Signs that one look-up reads: their sum, with weights 1 to 8, has the sign of the highest that
/// is not 0, and fills the circle.
const GROUP: usize = 4;

/// A condition: whether `order` holds between two numbers of digits below 4, the highest of which
/// has a sign where they are `signed`.
pub(super) fn compare(
    recorder: &mut Recorder,
    order: Order,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
) -> Linear {
    if matches!(order, Order::Equal | Order::NotEqual) {
        let differ: Vec<Linear> = a.iter().zip(b).map(|(a, b)| a.minus(b)).collect();
        return none_or_any(recorder, &differ, order == Order::NotEqual);
    }
    let last = a.len() - 1;
    let mut signs = Vec::with_capacity(a.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let weight = 1 << (i % GROUP);
        signs.push(if signed && i == last {
            // In order of size: 2, 3, 0, 1.
            let rank = |x: i32| (x + RADIX / 2) % RADIX;
            of_two(recorder, a, b, |a, b| weight * (rank(a) - rank(b)).signum())
        } else {
            recorder.look_up(&a.minus(b), |x| weight * x.signum())
        });
    }
    while signs.len() > GROUP {
        signs = (0..)
            .zip(signs.chunks(GROUP))
            .map(|(i, signs)| {
                recorder.look_up(&Linear::sum(signs), |x| (1 << (i % GROUP)) * x.signum())
            })
            .collect();
    }
    recorder.look_up(&Linear::sum(&signs), |x| CONDITION * i32::from(order.holds(x.signum())))
}

/// A condition: whether any of these sums is not 0, or none.
pub(super) fn none_or_any(recorder: &mut Recorder, sums: &[Linear], any: bool) -> Linear {
    none_or_any_at(recorder, sums, any, CONDITION)
}

/// The same as 0 or `scale`.
pub(super) fn none_or_any_at(
    recorder: &mut Recorder,
    sums: &[Linear],
    any: bool,
    scale: i32,
) -> Linear {
    // Sixteen ones are opposite to none on the circle, which suits the function.
    let group = recorder.budget().min(16) as usize;
    let mut flags: Vec<Linear> =
        sums.iter().map(|x| recorder.look_up(x, |x| i32::from(x != 0))).collect();
    while flags.len() > group {
        flags = flags
            .chunks(group)
            .map(|flags| recorder.look_up(&Linear::sum(flags), |x| i32::from(x != 0)))
            .collect();
    }
    recorder.look_up(&Linear::sum(&flags), |x| scale * i32::from((x != 0) == any))
}
