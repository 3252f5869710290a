//! Random numbers that the server does not learn, as TFHE-rs names them.
//!
//! A ciphertext whose words are all drawn from a seed decrypts to a phase that is uniform on the
//! circle. A look-up of where it stands, in quarters for a digit and in halves for a bit, makes a
//! message of it with the error of any other look-up. The upper half of the circle follows from the
//! lower by its sign, which suits: the results 0 to 3 lie evenly around 3/2.

use crate::engine::{Argument, Array, Form, Inner};
use crate::error::mismatch;
use crate::operation::{Move, Operation};
use crate::tfhe::record::{DigitState, Values};
use crate::tfhe::run::{MOST_JOBS, unit};
use crate::tfhe::{CONDITION, MESSAGE_BITS, PLAINTEXT, RADIX, STATES};
use crate::types::form;
use crate::{DIGIT_BITS, FheBool, FheInt, FheUint, Integer, Integers, Result};
use girih_backend::{Combination, LinearJob, Operand as Term};
use girih_rlwe::{Counts, Mismatch};
use girih_tfhe::{CentredTable, LweCiphertexts, ServerKey};
use std::sync::Arc;

/// Ciphertexts that are drawn at once: 16 KiB each with TFHE-rs's sets.
const AT_ONCE: usize = 4096;

/// Bits of the number of a digit in that of a ciphertext.
const LOG2_DIGITS: u32 = 8;

/// -log2 of the least distance from uniform numbers: that of the largest bound, 2^128, then takes
/// all digits that there are.
const MOST_DISTANCE: u32 = 256;

/// The table that makes one of `count` messages, `step` apart and all equally likely, of where a
/// phase stands: `count` is 2 or 4.
fn table(count: i32, step: i32) -> Result<CentredTable> {
    let half = STATES / 2;
    let value = |at: i32| {
        // Which of the parts of half a circle, and so which odd number of half steps.
        let part = at * (count / 2) / half;
        step * (2 * part + 1)
    };
    Ok(CentredTable::new((0..half).map(value).collect(), step * (count - 1))?)
}

/// The largest value of digit `d` of numbers below `2^bits`.
fn most(d: usize, bits: u32) -> i32 {
    match bits.saturating_sub(DIGIT_BITS * d as u32) {
        0 => 0,
        1 => 1,
        _ => RADIX - 1,
    }
}

/// Numbers uniform below `2^bits`; conditions with one bit.
fn numbers(
    inner: &Arc<Inner<ServerKey>>,
    seed: &[u8; 32],
    count: usize,
    bits: u32,
    form: Form,
) -> Result<Array<ServerKey>> {
    let server = &inner.server;
    // Where an address has 32 bits, that is less.
    let largest = usize::try_from((1u64 << (48 - LOG2_DIGITS)) - 1).unwrap_or(usize::MAX);
    let largest = largest.min(usize::MAX / form.digits);
    if !(1..=largest).contains(&count) {
        let what = "random numbers at once";
        return mismatch(Mismatch::count(what, count, Counts::Between(1, largest)));
    }
    let total = count * form.digits;
    let step = if form.is_condition { CONDITION } else { 1 };
    let tables =
        [2, 4].map(|values| Ok::<_, crate::Error>(server.load_centred(&table(values, step)?)?));
    let [bit, digit] = tables;
    let (bit, digit) = (bit?, digit?);
    let out = server.allocate(total)?.with_plaintext_modulus(Some(PLAINTEXT));
    let out = out.with_variance(unit(&server.noise_model()))?;
    let log2_modulus = server.set().shape().log2_stored_modulus();
    // Digit by digit, those that are drawn first.
    let drawn = (0..form.digits).take_while(|&d| most(d, bits) > 0).count() * count;
    let listener = inner.listener();
    let chunk = AT_ONCE.min(inner.context.report_every.load(std::sync::atomic::Ordering::Relaxed));
    for first in (0..drawn).step_by(chunk.clamp(1, MOST_JOBS)) {
        let places = first..drawn.min(first + chunk);
        let index = |place: usize| (((place % count) << LOG2_DIGITS) + place / count) as u64;
        let indices: Vec<u64> = places.clone().map(index).collect();
        let words = LweCiphertexts::uniform(server.set(), server.key_id(), seed, &indices)?;
        let words = server.upload(&words)?;
        let job = |(i, place): (usize, usize)| {
            let table = if most(place / count, bits) == 1 { &bit } else { &digit };
            let term = Term { ciphertext: words.at(i), weight: 1 };
            server.message_job(&[term], 0, table, out.at(place))
        };
        let end = places.end;
        let jobs: Vec<_> = places.enumerate().map(job).collect();
        server.engine().bootstrap(&jobs)?;
        if let Some(listener) = &listener {
            listener.report("look-ups", end, drawn);
        }
    }
    let zero = |place: usize| {
        let input = Combination::new(&[], server.message_steps(0, MESSAGE_BITS), log2_modulus);
        LinearJob { input, log2_output_modulus: log2_modulus, output: out.at(place) }
    };
    let zeros: Vec<LinearJob> = (drawn..total).map(zero).collect();
    if !zeros.is_empty() {
        server.engine().combine(&zeros)?;
    }
    inner.count_look_ups(drawn);
    let state = |d: usize| {
        let values = match form.is_condition {
            true => Values::from_iter([0, CONDITION]),
            false => Values::range(0, most(d, bits)),
        };
        DigitState { values, norm: 1 }
    };
    Ok(Array::new(inner, count, (out, (0..form.digits).map(state).collect())))
}

/// Digits of base 4 of a number.
fn digits_of(mut number: u128) -> Vec<u8> {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push((number % 4) as u8);
        number /= 4;
    }
    digits
}

/// Random bits to be drawn for numbers below `bound`: floor(r bound / 2^bits) of a uniform r below
/// 2^bits is each number with floor(2^bits / bound) or one more of the r. So its distribution is at
/// most bound / 2^(bits + 2) from the uniform one (half of the sum of all differences).
fn bits_below(bound: u128, log2_distance: u32) -> u32 {
    let log2_bound = u128::BITS - (bound - 1).leading_zeros();
    (log2_bound + log2_distance).saturating_sub(2).next_multiple_of(DIGIT_BITS).max(DIGIT_BITS)
}

/// Numbers below `bound`, uniform but for a distance of 2^-`log2_distance`.
fn numbers_below(
    inner: &Arc<Inner<ServerKey>>,
    seed: &[u8; 32],
    count: usize,
    (bound, log2_distance): (u128, u32),
    form: Form,
) -> Result<Array<ServerKey>> {
    if bound.is_power_of_two() {
        return numbers(inner, seed, count, bound.ilog2(), form);
    }
    let bits = bits_below(bound, log2_distance);
    let bound = digits_of(bound);
    let digits = (bits / DIGIT_BITS) as usize + bound.len();
    let drawn = numbers(inner, seed, count, bits, Form { digits, is_condition: false })?;
    let mut factor = bound;
    factor.resize(digits, 0);
    let product = drawn.run(Operation::Multiply, false, &[Argument::Plain(factor)])?;
    // Whole digits: they are taken as they are.
    let upper = product.run(Operation::Move(Move::ShiftRight, bits), false, &[])?;
    upper.run(Operation::Cast(form.digits), false, &[])
}

impl Integers<ServerKey> {
    fn random<T: Integer<Engine = ServerKey>>(
        &self,
        seed: &[u8; 32],
        count: usize,
        bits: u32,
    ) -> Result<T> {
        Ok(T::wrap(numbers(&self.0, seed, count, bits, form::<T>())?))
    }
}

impl<const BITS: u32> FheInt<BITS> {
    /// An array of `count` random numbers, uniform in the whole range:
    /// [`FheUint::generate_oblivious_pseudo_random`] says what of that is secret.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no number, and failures of the device.
    pub fn generate_oblivious_pseudo_random(
        integers: &Integers,
        seed: &[u8; 32],
        count: usize,
    ) -> Result<Self> {
        integers.random(seed, count, BITS)
    }

    /// The same, uniform from 0 to 2^bits - 1; of 0 bits all are 0.
    ///
    /// # Errors
    /// As [`FheInt::generate_oblivious_pseudo_random`], and
    /// [`Error::Mismatch`](crate::Error::Mismatch) for more bits than there are below the sign.
    pub fn generate_oblivious_pseudo_random_bounded(
        integers: &Integers,
        seed: &[u8; 32],
        count: usize,
        bits: u32,
    ) -> Result<Self> {
        if bits >= BITS {
            let (name, most) = (Self::name(), BITS - 1);
            let what = format!("the number of bits below the sign of a random {name}");
            return mismatch(Mismatch::range(what, bits, [0, most]));
        }
        integers.random(seed, count, bits)
    }
}

impl<const BITS: u32> FheUint<BITS> {
    /// An array of `count` random numbers, uniform in the whole range, that the server does not
    /// learn: a look-up a digit.
    ///
    /// Each digit is a function of the client's secret and of a mask that is drawn from `seed`, the
    /// name of the key and the place of the digit. The seed may be known to everybody: numbers are
    /// then known to whoever has the client key, and pseudo-random to anyone else if learning with
    /// rounding is hard for the set's n, 2N and two bits. Over the choice of the mask every digit
    /// is equally likely, exactly and whatever the errors of keys are; what is wrong with the
    /// probability of a look-up is what reads a digit later.
    ///
    /// *Repeats*: the same seed under the same key gives the same numbers again, of another width
    /// the same lower digits. A seed that its chooser can try out many of lets whoever has the
    /// client key choose among the numbers: agree on it first, or draw it together.
    ///
    /// *TFHE-rs* has the same operation under this name. From one seed the two draw different
    /// numbers, and only girih draws these again.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for no number, and failures of the device.
    pub fn generate_oblivious_pseudo_random(
        integers: &Integers,
        seed: &[u8; 32],
        count: usize,
    ) -> Result<Self> {
        integers.random(seed, count, BITS)
    }

    /// The same, uniform from 0 to 2^bits - 1; of 0 bits all are 0.
    ///
    /// # Errors
    /// As [`FheUint::generate_oblivious_pseudo_random`], and
    /// [`Error::Mismatch`](crate::Error::Mismatch) for more bits than the numbers have.
    pub fn generate_oblivious_pseudo_random_bounded(
        integers: &Integers,
        seed: &[u8; 32],
        count: usize,
        bits: u32,
    ) -> Result<Self> {
        if bits > BITS {
            let what = format!("the number of bits of a random {}", Self::name());
            return mismatch(Mismatch::range(what, bits, [0, BITS]));
        }
        integers.random(seed, count, bits)
    }

    /// The same, from 0 to `bound` - 1, as TFHE-rs does for any range: each number with a
    /// probability so near to 1 / bound that the numbers cannot be told from uniform ones with an
    /// advantage above 2^-`log2_distance` (the statistical distance, of each; TFHE-rs takes 128
    /// where nothing is said). Of a power of two they are uniform.
    ///
    /// About `log2_distance` bits more than `bound` has are drawn for each number, the same as its
    /// lower digits under this seed, and multiplied by `bound`: numbers of one seed and different
    /// bounds depend on each other.
    ///
    /// # Errors
    /// As [`FheUint::generate_oblivious_pseudo_random`], and
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a bound of 0 or beyond 2^`BITS`, and for a
    /// distance below 2^-256.
    pub fn generate_oblivious_pseudo_random_custom_range(
        integers: &Integers,
        seed: &[u8; 32],
        count: usize,
        bound: u128,
        log2_distance: u32,
    ) -> Result<Self> {
        if bound == 0 || u128::BITS - (bound - 1).leading_zeros() > BITS {
            let most = 1u128.checked_shl(BITS).unwrap_or(u128::MAX);
            let what = "bound of random numbers";
            return mismatch(Mismatch::value(what, Self::name(), [1, most]));
        }
        if log2_distance > MOST_DISTANCE {
            let what = "-log2 of the distance of random numbers from uniform ones";
            return mismatch(Mismatch::range(what, log2_distance, [0, MOST_DISTANCE]));
        }
        let range = (bound, log2_distance);
        Ok(Self::wrap(numbers_below(&integers.0, seed, count, range, form::<Self>())?))
    }
}

impl FheBool {
    /// An array of `count` random conditions, of which each holds with probability 1/2:
    /// [`FheUint::generate_oblivious_pseudo_random`] says what of that is secret.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for none, and failures of the device.
    pub fn generate_oblivious_pseudo_random(
        integers: &Integers,
        seed: &[u8; 32],
        count: usize,
    ) -> Result<Self> {
        integers.random(seed, count, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exactly counted for small numbers of bits.
    #[test]
    fn numbers_below_a_bound_are_as_even_as_is_said() {
        for bound in [3u128, 5, 6, 7, 10, 11, 100] {
            for log2_distance in [1, 3, 6, 9] {
                let bits = bits_below(bound, log2_distance);
                assert!(bits.is_multiple_of(2) && bits <= 18, "{bound}");
                let mut times = vec![0u64; bound as usize];
                for r in 0..1u128 << bits {
                    times[((r * bound) >> bits) as usize] += 1;
                }
                let all = f64::from(1u32 << bits);
                let difference = |&t: &u64| (t as f64 / all - 1.0 / bound as f64).abs();
                let distance = times.iter().map(difference).sum::<f64>() / 2.0;
                assert!(distance <= 0.5f64.powi(log2_distance as i32), "{bound}: {distance}");
            }
        }
        // All that may be asked for fits the digits that a number is drawn in.
        let digits = bits_below(u128::MAX, MOST_DISTANCE) / 2 + 64;
        assert!(digits <= 1 << LOG2_DIGITS, "{digits}");
    }

    /// Every message is that of equally many places around the circle.
    #[test]
    fn tables_are_even() {
        for (count, step) in [(2, 1), (4, 1), (2, CONDITION)] {
            let table = table(count, step).expect("odd half steps");
            let mut times = vec![0; count as usize];
            for at in 0..STATES {
                let result = table.result(at);
                assert!(result % step == 0 && (0..count).contains(&(result / step)), "{result}");
                times[(result / step) as usize] += 1;
            }
            assert!(times.iter().all(|&t| t == STATES / count), "{count}, {step}: {times:?}");
        }
    }
}
