//! Sums of several numbers, and numbers looked for in lists of known ones.

use super::compare::none_or_any_at;
use super::multiply::reduce_to_digits;
use crate::tfhe::CONDITION;
use crate::tfhe::record::{Linear, Recorder};

/// The sum of numbers of equally many digits up to 15, modulo 4 to their number.
pub(super) fn sum(recorder: &mut Recorder, terms: &[Vec<Linear>]) -> Vec<Linear> {
    let columns = (0..terms[0].len())
        .map(|i| {
            let digits = terms.iter().map(|digits| digits[i].clone());
            digits.filter(|x| x.value() != Some(0)).collect()
        })
        .collect();
    reduce_to_digits(recorder, columns)
}

/// For each known number, whether this one is it: 1 or 0.
fn matches(recorder: &mut Recorder, digits: &[Linear], known: &[&[Linear]]) -> Vec<Linear> {
    known
        .iter()
        .map(|known| {
            let differ: Vec<Linear> = digits.iter().zip(*known).map(|(a, b)| a.minus(b)).collect();
            none_or_any_at(recorder, &differ, false, 1)
        })
        .collect()
}

/// A condition: whether a number of digits below 4 is one of these.
pub(super) fn is_in(recorder: &mut Recorder, digits: &[Linear], known: &[Vec<Linear>]) -> Linear {
    let known: Vec<&[Linear]> = known.iter().map(Vec::as_slice).collect();
    let flags = matches(recorder, digits, &known);
    none_or_any_at(recorder, &flags, true, CONDITION)
}

/// What stands beside the known number that this one is, 0 where it is none of them, and whether
/// it is one: `table` has numbers and what stands beside them in turn, no number twice.
pub(super) fn find(
    recorder: &mut Recorder,
    digits: &[Linear],
    table: &[Vec<Linear>],
) -> (Vec<Linear>, Linear) {
    let (known, beside): (Vec<&[Linear]>, Vec<&[Linear]>) =
        table.chunks_exact(2).map(|pair| (&pair[0][..], &pair[1][..])).unzip();
    let flags = matches(recorder, digits, &known);
    let digit = |recorder: &mut Recorder, i: usize| {
        let mut bit = |bit: i32| {
            let set: Vec<Linear> = flags
                .iter()
                .zip(&beside)
                .filter(|(_, beside)| beside[i].constant_term() >> bit & 1 == 1)
                .map(|(flag, _)| flag.clone())
                .collect();
            none_or_any_at(recorder, &set, true, 1 << bit)
        };
        bit(0).plus(&bit(1))
    };
    let result = (0..beside[0].len()).map(|i| digit(recorder, i)).collect();
    (result, none_or_any_at(recorder, &flags, true, CONDITION))
}
