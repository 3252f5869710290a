//! How many bits are set, and where the highest and the lowest one are.

use super::multiply::Columns;
use super::{Linear, MOST, RADIX};
use crate::Result;
use crate::operation::Count;
use crate::slots::recorder::Recorder;

/// Ones of a digit, zeros above the highest one, and below the lowest.
const ONES: [i64; 4] = [0, 1, 1, 2];
const LEADING: [i64; 4] = [2, 1, 0, 0];
const TRAILING: [i64; 4] = [2, 0, 1, 0];

/// The number of such bits, as so many digits.
pub(super) fn count(
    recorder: &mut Recorder,
    which: Count,
    a: &[Linear],
    digits: usize,
) -> Result<Vec<Linear>> {
    let mut from_below = recorder.cleaned(a)?;
    if matches!(which, Count::LeadingOnes | Count::TrailingOnes) {
        from_below.iter_mut().for_each(|x| *x = Linear::constant(MOST).minus(x));
    }
    let from_above: Vec<Linear> = from_below.iter().rev().cloned().collect();
    let mut each = |f: fn(i64) -> i64| -> Result<Vec<Linear>> {
        from_below.iter().map(|x| recorder.one(x, f)).collect()
    };
    let bits = match which {
        Count::Ones => each(|v| ONES[v as usize])?,
        Count::Zeros => each(|v| 2 - ONES[v as usize])?,
        Count::LeadingZeros | Count::LeadingOnes => {
            run(recorder, &from_above, |v| LEADING[v as usize], 0)?
        }
        Count::TrailingZeros | Count::TrailingOnes => {
            run(recorder, &from_below, |v| TRAILING[v as usize], 0)?
        }
        // The first digit that is not 0 has its own logarithm, those below it two bits each.
        Count::BelowHighest => run(recorder, &from_above, |v| v / 2, 2)?,
    };
    // Room for all bits.
    let room = (2 * a.len()).ilog2() as usize / 2 + 1;
    let mut columns = Columns::new(room);
    bits.into_iter().for_each(|bit| columns.add(0, bit));
    let mut result = columns.digits(recorder)?;
    result.resize(digits, Linear::constant(0));
    Ok(result)
}

/// `first` of each digit as long as all digits before it are 0, and `later` of the others.
fn run(
    recorder: &mut Recorder,
    digits: &[Linear],
    first: fn(i64) -> i64,
    later: i64,
) -> Result<Vec<Linear>> {
    let (mut zeros, mut all) = (Linear::constant(1), Vec::with_capacity(digits.len()));
    for digit in digits {
        let sum = zeros.times(RADIX).plus(digit);
        let bits = |v: i64| if v >= RADIX { first(v - RADIX) } else { later };
        let mut both = recorder.look_up(&sum, &[&bits, &|v| i64::from(v == RADIX)])?;
        zeros = both.remove(1);
        all.push(both.remove(0));
    }
    Ok(all)
}
