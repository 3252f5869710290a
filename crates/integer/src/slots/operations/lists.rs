//! Numbers looked for in lists of known ones.

use super::{Linear, RADIX};
use crate::Result;
use crate::slots::recorder::Recorder;

/// Bits that one look-up counts.
const GROUP: usize = 15;

/// The largest sum of weights with which a look-up reads numbers of which one is not 0.
const WEIGHT: i64 = 12;

/// For each known number, whether this one is it: for each digit a bit for each value, of which
/// those of the known digits are counted.
fn matches(recorder: &mut Recorder, digits: &[Linear], known: &[&[Linear]]) -> Result<Vec<Linear>> {
    let mut values = Vec::with_capacity(digits.len());
    for digit in recorder.cleaned(digits)? {
        let is = |value: i64| move |v: i64| i64::from(v == value);
        let all: Vec<_> = (0..RADIX).map(is).collect();
        let all: Vec<&dyn Fn(i64) -> i64> = all.iter().map(|f| f as _).collect();
        values.push(recorder.look_up(&digit, &all)?);
    }
    let mut flags = Vec::with_capacity(known.len());
    for known in known {
        let bit = |(values, digit): (&Vec<Linear>, &Linear)| {
            let value = digit.value().expect("a known number");
            values[value as usize].clone()
        };
        let mut bits: Vec<Linear> = values.iter().zip(*known).map(bit).collect();
        while bits.len() > 1 {
            let all = |bits: &[Linear]| {
                let count = bits.len() as i64;
                recorder.one(&Linear::sum(bits), |v| i64::from(v == count))
            };
            bits = bits.chunks(GROUP).map(all).collect::<Result<_>>()?;
        }
        flags.extend(bits.pop());
    }
    Ok(flags)
}

/// The sum of numbers of which one at most is not 0, none above `most`.
fn only(recorder: &mut Recorder, mut terms: Vec<Linear>, most: i64) -> Result<Linear> {
    terms.retain(|x| x.high > 0);
    while terms.len() > 1 {
        let count = (WEIGHT / most).max(2) as usize;
        let one = |terms: &[Linear]| recorder.one(&Linear::sum(terms).known(0, most), |v| v);
        terms = terms.chunks(count).map(one).collect::<Result<_>>()?;
    }
    Ok(terms.pop().unwrap_or_else(|| Linear::constant(0)))
}

/// A bit: whether a number is one of these.
pub(super) fn is_in(
    recorder: &mut Recorder,
    digits: &[Linear],
    known: &[Vec<Linear>],
) -> Result<Linear> {
    let values = |known: &Vec<Linear>| known.iter().map(Linear::value).collect::<Vec<_>>();
    let mut once: Vec<&[Linear]> = Vec::with_capacity(known.len());
    let mut seen = std::collections::HashSet::new();
    for known in known {
        if seen.insert(values(known)) {
            once.push(known);
        }
    }
    let flags = matches(recorder, digits, &once)?;
    let flag = only(recorder, flags, 1)?;
    recorder.clean(&flag)
}

/// What stands beside the known number that this one is, 0 where it is none of them, and whether
/// it is one: `table` has numbers and what stands beside them in turn, no number twice.
pub(super) fn find(
    recorder: &mut Recorder,
    digits: &[Linear],
    table: &[Vec<Linear>],
) -> Result<Vec<Vec<Linear>>> {
    let (known, beside): (Vec<&[Linear]>, Vec<&[Linear]>) =
        table.chunks_exact(2).map(|pair| (&pair[0][..], &pair[1][..])).unzip();
    let flags = matches(recorder, digits, &known)?;
    let mut result = Vec::with_capacity(beside[0].len());
    for i in 0..beside[0].len() {
        let term = |(flag, beside): (&Linear, &&[Linear])| {
            flag.times(beside[i].value().expect("a known number"))
        };
        let terms: Vec<Linear> = flags.iter().zip(&beside).map(term).collect();
        result.push(only(recorder, terms, RADIX - 1)?);
    }
    let found = only(recorder, flags, 1)?;
    Ok(vec![result, vec![recorder.clean(&found)?]])
}
