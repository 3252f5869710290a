//! Carries: lazily added digits become digits below 4 again, in logarithmic depth or one after
//! another.

use super::columns::resolve_columns;
use crate::tfhe::RADIX;
use crate::tfhe::record::{Linear, Recorder};

/// States that one look-up reads: 2^4 states of a carry or none fill the circle.
const GROUP: usize = 4;

/// The sum that says whether a carry comes out: it does where it is more than `most`.
struct Link {
    x: Linear,
    most: i32,
}

impl Link {
    fn carry(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        let most = self.most;
        recorder.look_up(&self.x, |x| scale * i32::from(x > most))
    }
}

/// Digits with carries to come, a chain into which none comes: the lowest is at most 7, the others
/// 6, so that a carry is at most 1.
struct Chain<'a> {
    digits: &'a [Linear],
}

impl Chain<'_> {
    /// What `len` digits from `first` on do with a carry: 2 where they make one whatever comes in,
    /// 1 where they pass on what comes in, else 0; times `scale`. They start at a multiple of the
    /// power of four that holds them.
    ///
    /// States of groups, read as digits of base 2 of which 2 is one, say the same of all of them.
    fn state(&self, recorder: &mut Recorder, first: usize, len: usize, scale: i32) -> Linear {
        let (x, most) = match len {
            1 => (self.digits[first].clone(), RADIX - 1),
            _ => {
                let (states, count) = self.states(recorder, first, len, unit(len), 1);
                (states, (1 << count) - 1)
            }
        };
        recorder.look_up(&x, |x| scale * (1 + (x - most).signum()))
    }

    /// The states of groups of `unit` digits, with weights from `weight` on, and how many they are.
    fn states(
        &self,
        recorder: &mut Recorder,
        first: usize,
        len: usize,
        unit: usize,
        weight: i32,
    ) -> (Linear, usize) {
        let groups = (0..len).step_by(unit);
        let count = groups.len();
        let states = groups.zip(0..).map(|(at, place)| {
            self.state(recorder, first + at, unit.min(len - at), weight << place)
        });
        (states.fold(Linear::constant(0), |sum, state| sum.plus(&state)), count)
    }

    /// Whether a carry comes out of the first `len` digits: of the first group, and the states of
    /// four others at most.
    fn link(&self, recorder: &mut Recorder, len: usize) -> Link {
        if len == 1 {
            return Link { x: self.digits[0].clone(), most: RADIX - 1 };
        }
        let unit = GROUP.pow(carry_level(len) as u32 - 2);
        self.link_from(recorder, unit, len, unit)
    }

    /// The same of the carry into digit `first`, and groups of `unit` digits from there on.
    fn link_from(&self, recorder: &mut Recorder, first: usize, len: usize, unit: usize) -> Link {
        let carry = self.carry_into(recorder, first);
        let (states, count) = self.states(recorder, first, len - first, unit, 1);
        Link { x: states.plus(&carry), most: (1 << count) - 1 }
    }

    fn carry_into(&self, recorder: &mut Recorder, digit: usize) -> Linear {
        match digit {
            0 => Linear::constant(0),
            _ => self.link(recorder, digit).carry(recorder, 1),
        }
    }

    /// Digits below 4.
    ///
    /// A digit adds the carry into it, where there is time for that. Elsewhere the carry into a
    /// group and what the digits between do with one are known at the same time, so one look-up
    /// reads both, and the digit modulo 4, times 4.
    fn resolve(&self, recorder: &mut Recorder) -> Vec<Linear> {
        let count = self.digits.len();
        let last = (1..).find(|&level| (0..count).all(|i| base(i, level).is_some()));
        let last = last.expect("a level that holds all of them");
        let mut result = Vec::with_capacity(count);
        for (i, x) in self.digits.iter().enumerate() {
            let from = base(i, last).expect("as chosen");
            let is_early = i - from < GROUP && carry_level(from).max(1) + 1 < last;
            let carry = match from {
                _ if from == i || from == 0 => self.carry_into(recorder, i),
                _ if is_early => self.link_from(recorder, from, i, 1).carry(recorder, 1),
                _ => self.carry_into(recorder, from),
            };
            if from == i || from == 0 || is_early {
                result.push(recorder.look_up(&x.plus(&carry), |x| x % RADIX));
                continue;
            }
            let state = self.state(recorder, from, i - from, 1);
            let digit = recorder.look_up(x, |x| RADIX * (x % RADIX));
            let carried = |x: i32| (x / RADIX + i32::from(x % RADIX > 1)) % RADIX;
            result.push(recorder.look_up(&digit.plus(&state).plus(&carry), carried));
        }
        result
    }
}

/// The largest power of four below `len`: what groups of `len` digits are made of.
fn unit(len: usize) -> usize {
    GROUP.pow((len - 1).ilog(GROUP))
}

/// Look-ups one after another to the carry into a digit: 5 4^(l - 2) digits below it take l.
fn carry_level(digit: usize) -> usize {
    match digit {
        0 | 1 => digit,
        _ => 2 + digit.div_ceil(GROUP + 1).next_power_of_two().ilog2().div_ceil(2) as usize,
    }
}

/// The same to the state of `len` digits: of 4^(l - 1) it is l.
fn state_level(len: usize) -> usize {
    1 + len.next_power_of_two().ilog2().div_ceil(2) as usize
}

/// The digit from which on the carry into digit i is found, so that the digit itself is at `level`
/// at the latest; none if there is no such digit.
fn base(i: usize, level: usize) -> Option<usize> {
    let fits = |&from: &usize| {
        let state = if from < i { state_level(i - from) } else { 0 };
        carry_level(from).max(state) < level
    };
    let group = |power: u32| i - i % GROUP.pow(power);
    [group(1), group(level.saturating_sub(2) as u32)].into_iter().find(fits)
}

/// The carry out of a whole chain, by scale: 1 for digits, 8 for conditions.
pub(super) struct CarryOut {
    link: Link,
}

impl CarryOut {
    pub fn carry(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        self.link.carry(recorder, scale)
    }

    /// The opposite, with the same look-up.
    pub fn none(&self, recorder: &mut Recorder, scale: i32) -> Linear {
        let most = self.link.most;
        recorder.look_up(&self.link.x, |x| scale * i32::from(x <= most))
    }
}

/// The carry out of `digits` and a further link above them, where that is not below `RADIX - 1`:
/// what it is for is up to the caller.
pub(super) fn carry_out(
    recorder: &mut Recorder,
    digits: &[Linear],
    above: Option<&Linear>,
) -> CarryOut {
    let digits: Vec<Linear> = digits.iter().chain(above).cloned().collect();
    if !recorder.wants_few_bootstrappings() {
        let chain = Chain { digits: &digits };
        return CarryOut { link: chain.link(recorder, digits.len()) };
    }
    let mut carry = Linear::constant(0);
    for x in &digits[..digits.len() - 1] {
        carry = recorder.look_up(&x.plus(&carry), |x| x / RADIX);
    }
    let x = digits[digits.len() - 1].plus(&carry);
    CarryOut { link: Link { x, most: RADIX - 1 } }
}

/// Digits below 4 from digits of up to 6 (the lowest up to 7), modulo 4 to their number.
pub(super) fn resolve(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    if digits.iter().all(|x| x.most() < RADIX) {
        return digits.to_vec();
    }
    if recorder.wants_few_bootstrappings() {
        // A digit with its carry takes eight places: one rotation finds both what stays and what
        // it hands on.
        let columns = digits.iter().map(|x| vec![x.clone()]).collect();
        return resolve_columns(recorder, columns);
    }
    Chain { digits }.resolve(recorder)
}

/// Digits that are ready for [`resolve`], from digits of up to 15: those that are too large are
/// split into a digit and what it hands to the next.
pub(super) fn split(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    const READY: i32 = 2 * (RADIX - 1);
    let mut handed = Linear::constant(0);
    let mut result = Vec::with_capacity(digits.len());
    for (i, x) in digits.iter().enumerate() {
        let most = READY + i32::from(i == 0);
        if x.most() + handed.most() <= most {
            result.push(x.plus(&handed));
            handed = Linear::constant(0);
        } else {
            result.push(recorder.look_up(x, |x| x % RADIX).plus(&handed));
            handed = if i + 1 < digits.len() {
                recorder.look_up(x, |x| x / RADIX)
            } else {
                Linear::constant(0)
            };
        }
    }
    result
}

/// Digits below 4 from lazily added ones.
pub(super) fn propagate(recorder: &mut Recorder, digits: &[Linear]) -> Vec<Linear> {
    if digits.iter().all(|x| x.most() < RADIX) {
        return digits.to_vec();
    }
    if recorder.wants_few_bootstrappings() {
        let columns = digits.iter().map(|x| vec![x.clone()]).collect();
        return resolve_columns(recorder, columns);
    }
    let ready = split(recorder, digits);
    resolve(recorder, &ready)
}

/// The digits of `a - b` with borrows to come, or of `a + !b + 1`: both below 4.
pub(super) fn difference(a: &[Linear], b: &[Linear]) -> Vec<Linear> {
    (0..)
        .zip(a.iter().zip(b))
        .map(|(i, (a, b))| a.minus(b).plus_constant(RADIX - 1 + i32::from(i == 0)))
        .collect()
}
