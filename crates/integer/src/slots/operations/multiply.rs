//! Products and sums of many numbers: bits in columns, counted fifteen at a time.
//!
//! A product of two digits is a look-up of 4 a + b, with a table for each bit of a b. A column of
//! bits of one weight is reduced by look-ups of sums to 15, whose four bits go to four columns;
//! then digits (two columns) by look-ups of sums to 15, whose digit stays and whose carry moves on;
//! then a carry goes through sums to 6.

use super::add::ripple;
use super::bits::resized;
use super::order::compare;
use super::{Linear, MOST, Order, RADIX};
use crate::Result;
use crate::slots::recorder::Recorder;

/// The largest sum that a look-up reads.
const LARGEST: i64 = 15;

/// The least sum for which bits of one column are worth a look-up of their own.
const LEAST: i64 = 15;

/// The largest sum of a digit to which a carry may be added.
const DIGIT: i64 = 2 * MOST;

/// Summands by weight: column c has those that count 2^c. None is negative.
pub(super) struct Columns(Vec<Vec<Linear>>);

fn units<'a>(items: impl IntoIterator<Item = &'a Linear>) -> i64 {
    items.into_iter().map(|x| x.high).sum()
}

/// Takes out a part of the items whose sum is at most 15, largest first.
fn group(items: &mut Vec<Linear>) -> Linear {
    items.sort_by_key(|x| x.high);
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    let mut sum = 0;
    while let Some(x) = items.pop() {
        if sum + x.high <= LARGEST {
            sum += x.high;
            taken.push(x);
        } else {
            left.push(x);
        }
    }
    left.reverse();
    *items = left;
    Linear::sum(&taken)
}

impl Columns {
    pub fn new(digits: usize) -> Self {
        Self(vec![Vec::new(); 2 * digits])
    }

    pub fn add(&mut self, column: usize, item: Linear) {
        if let Some(items) = self.0.get_mut(column).filter(|_| item.high > 0) {
            items.push(item);
        }
    }

    /// One round over all columns; whether there was anything to do.
    fn count_bits(&mut self, recorder: &mut Recorder) -> Result<bool> {
        let mut next = Self(vec![Vec::new(); self.0.len()]);
        let mut any = false;
        for (column, items) in self.0.iter_mut().enumerate() {
            while units(&*items) >= LEAST {
                let sum = group(items);
                let bits: [&dyn Fn(i64) -> i64; 4] =
                    [&|v| bit(v, 0), &|v| bit(v, 1), &|v| bit(v, 2), &|v| bit(v, 3)];
                let results = recorder.look_up(&sum, &bits)?;
                results.into_iter().enumerate().for_each(|(i, bit)| next.add(column + i, bit));
                any = true;
            }
            items.drain(..).for_each(|x| next.add(column, x));
        }
        *self = next;
        Ok(any)
    }

    /// The digits of the sum.
    pub fn digits(mut self, recorder: &mut Recorder) -> Result<Vec<Linear>> {
        while self.count_bits(recorder)? {}
        let pair = |two: &[Vec<Linear>]| -> Vec<Linear> {
            two[0].iter().cloned().chain(two[1].iter().map(|x| x.times(2))).collect()
        };
        let mut all: Vec<Vec<Linear>> = self.0.chunks(2).map(pair).collect();
        while all.iter().any(|items| units(items) > DIGIT) {
            let mut next: Vec<Vec<Linear>> = vec![Vec::new(); all.len() + 1];
            for (k, mut items) in all.into_iter().enumerate() {
                while units(&items) > DIGIT {
                    let sum = group(&mut items);
                    let both = recorder.look_up(&sum, &[&|v| v % RADIX, &|v| v / RADIX])?;
                    both.into_iter().enumerate().for_each(|(i, x)| next[k + i].push(x));
                }
                next[k].append(&mut items);
            }
            next.pop();
            all = next;
        }
        let sums: Vec<Linear> = all.iter().map(Linear::sum).collect();
        Ok(ripple(recorder, &sums, Linear::constant(0))?.0)
    }
}

fn bit(number: i64, place: u32) -> i64 {
    number >> place & 1
}

/// Bits of a digit times 1, and times 3.
fn multiples(recorder: &mut Recorder, x: &Linear) -> Result<Vec<Linear>> {
    let functions: [&dyn Fn(i64) -> i64; 6] = [
        &|v| bit(v, 0),
        &|v| bit(v, 1),
        &|v| bit(3 * v, 0),
        &|v| bit(3 * v, 1),
        &|v| bit(3 * v, 2),
        &|v| bit(3 * v, 3),
    ];
    recorder.look_up(x, &functions)
}

pub(super) fn multiply(recorder: &mut Recorder, a: &[Linear], b: &[Linear]) -> Result<Vec<Linear>> {
    products(recorder, a, b, a.len())?.digits(recorder)
}

/// The product, and whether it left the range: by one of twice the digits, whose upper half is to
/// be the sign of the lower, or 0.
///
/// Of signed numbers that is the product of unsigned ones less, in its upper half, the one where
/// the other has a sign.
pub(super) fn overflowing(
    recorder: &mut Recorder,
    a: &[Linear],
    b: &[Linear],
    signed: bool,
) -> Result<Vec<Vec<Linear>>> {
    let len = a.len();
    let mut columns = products(recorder, a, b, 2 * len)?;
    if signed {
        for (number, other) in [(a, b), (b, a)] {
            let sign = recorder.one(&number[len - 1], |v| v / 2)?;
            for (i, x) in other.iter().enumerate() {
                // Minus the other, as its opposite bits and 1.
                let sum = sign.times(RADIX).plus(x);
                let flipped = |v| if v >= RADIX { RADIX + MOST - v } else { 0 };
                columns.add(2 * (len + i), recorder.one(&sum, flipped)?);
            }
            columns.add(2 * len, sign);
        }
    }
    let product = columns.digits(recorder)?;
    let (lower, upper) = product.split_at(len);
    let fill = resized(recorder, lower, len + 1, signed)?.remove(len);
    let flag = compare(recorder, upper, &vec![fill; len], Order::NotEqual, false)?;
    Ok(vec![lower.to_vec(), vec![flag]])
}

/// Bits of the products of all digits that count in a number of so many digits.
fn products(recorder: &mut Recorder, a: &[Linear], b: &[Linear], digits: usize) -> Result<Columns> {
    let (a, b) = (recorder.cleaned(a)?, recorder.cleaned(b)?);
    // Known digits stand on the right.
    let known = |x: &[Linear]| x.iter().all(|x| x.value().is_some());
    let (a, b) = if known(&a) { (b, a) } else { (a, b) };
    let mut columns = Columns::new(digits);
    for (i, x) in a.iter().enumerate() {
        let bits = if known(&b) { multiples(recorder, x)? } else { Vec::new() };
        for (j, y) in b.iter().enumerate().take(digits - i) {
            let column = 2 * (i + j);
            let (shift, bits) = match (y.value(), &bits[..]) {
                (Some(0), _) => continue,
                (Some(1), [one @ .., _, _, _, _]) => (0, one.to_vec()),
                (Some(2), [one @ .., _, _, _, _]) => (1, one.to_vec()),
                (Some(_), [_, _, three @ ..]) => (0, three.to_vec()),
                _ => (0, product(recorder, x, y)?),
            };
            bits.into_iter().enumerate().for_each(|(k, bit)| columns.add(column + shift + k, bit));
        }
    }
    Ok(columns)
}

/// Bits of the product of two digits.
fn product(recorder: &mut Recorder, x: &Linear, y: &Linear) -> Result<Vec<Linear>> {
    let of = |v: i64| (v >> 2) * (v & MOST);
    let sum = x.times(RADIX).plus(y);
    let bits: [&dyn Fn(i64) -> i64; 4] =
        [&|v| bit(of(v), 0), &|v| bit(of(v), 1), &|v| bit(of(v), 2), &|v| bit(of(v), 3)];
    recorder.look_up(&sum, &bits)
}

/// The sum of numbers of equally many digits.
pub(super) fn sum(recorder: &mut Recorder, numbers: &[Vec<Linear>]) -> Result<Vec<Linear>> {
    let mut columns = Columns::new(numbers[0].len());
    for number in numbers {
        number.iter().enumerate().for_each(|(i, x)| columns.add(2 * i, x.clone()));
    }
    columns.digits(recorder)
}
