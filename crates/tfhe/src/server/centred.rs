//! Look-ups that use the whole circle: what arithmetic on digits is made of.

use super::{HeldTables, ServerKey, centred};
use crate::ciphertext::padded_modulus;
use crate::{ParameterSet, Result, error};
use girih_backend::{BootstrapJob, BootstrapShape, Combination, Operand, SecondOutput};
use girih_ring::switch::mod_switch;
use girih_rlwe::{Counts, Mismatch};

/// A look-up of one of 2p values around the circle, p = 2^bits, of which the upper half follows
/// from the lower: m below p goes to `(constant + values[m]) / 2`, and m + p to
/// `(constant - values[m]) / 2`.
///
/// Input and result stand in steps of q / 2p, modulo 2p, or in finer ones
/// ([`CentredTable::in_finer_steps`]). A [`LookUpTable`](crate::LookUpTable)
/// keeps to the lower half, with any function; a sum that uses both has twice the room, and
/// functions that a rotation, which is negacyclic, can compute: signs and thresholds, among others.
/// What the constant takes off the values is added after the rotation, so that a constant in the
/// middle of the results leaves the least error of the transform (docs/tfhe.md, "The error of
/// the f64 transform").
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CentredTable {
    bits: u32,
    /// log2 of the steps in a place.
    finer: u32,
    values: Vec<i32>,
    constant: i32,
}

impl CentredTable {
    /// The table of p = `values.len()` values.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless p is a power of two from 2 to 2^11, and
    /// constant and values are from -4p to 4p and all even or all odd.
    pub fn new(values: Vec<i32>, constant: i32) -> Result<Self> {
        Self::checked(values, constant, 0, |value| (value - constant) % 2 == 0)
    }

    /// The table that two look-ups of one rotation share ([`ServerKey::message_pair_job`]). The
    /// other one has a constant of its own, so values may be even or odd: whoever makes the table
    /// sees to it that an input is looked up as a whole number of steps, both times.
    ///
    /// # Errors
    /// As for [`CentredTable::new`], but for what is even.
    pub fn of_pair(values: Vec<i32>, constant: i32) -> Result<Self> {
        Self::checked(values, constant, 0, |_| true)
    }

    /// The table of one look-up, whose place is 2^`finer` steps wide: the steps of inputs and
    /// results, of values and the constant are q / (2p 2^finer).
    ///
    /// A place is around the multiple of 2^`finer` that it is looked up at. A result's error has
    /// the same variance in finer steps, so it is large beside them: many results can be summed up
    /// in fine steps, and a multiple of the sum read, modulo what goes round the circle.
    ///
    /// # Errors
    /// As for [`CentredTable::new`], with steps of the place for p, and unless p 2^`finer` is at
    /// most 2^11.
    pub fn in_finer_steps(values: Vec<i32>, constant: i32, finer: u32) -> Result<Self> {
        Self::checked(values, constant, finer, |value| (value - constant) % 2 == 0)
    }

    fn checked(
        values: Vec<i32>,
        constant: i32,
        finer: u32,
        fits: impl Fn(i32) -> bool,
    ) -> Result<Self> {
        let bits = values.len().max(1).ilog2();
        if !values.len().is_power_of_two() || !(1..=MOST_BITS).contains(&bits) {
            let allowed = Counts::PowerOfTwo { least: 2, most: 1 << MOST_BITS };
            let what = "values of a centred table";
            return error::mismatch(Mismatch::count(what, values.len(), allowed));
        }
        if finer > MOST_BITS - bits {
            let (found, most) = (i64::from(finer), i64::from(MOST_BITS - bits));
            let what = format!("log2 of the steps in a place, with {} values,", values.len());
            return error::mismatch(Mismatch::numbers(what, (found, found), (0, most), ""));
        }
        let most = 4i32 << (bits + finer);
        if constant.abs() > most {
            return out_of_range("constants of a centred table", constant, most);
        }
        if let Some(value) = values.iter().find(|v| v.abs() > most) {
            return out_of_range("values of a centred table", *value, most);
        }
        if let Some(value) = values.iter().find(|v| !fits(**v)) {
            return error::mismatch(Mismatch::unlike(
                format!("a centred table with the value {value}"),
                format!("the constant {constant}"),
                "of one look-up, both must be even or both odd",
            ));
        }
        Ok(Self { bits, finer, values, constant })
    }

    /// log2 of p.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// log2 of the steps in a place: 0, or what [`CentredTable::in_finer_steps`] was given.
    pub fn finer(&self) -> u32 {
        self.finer
    }

    /// What `input`, which is taken modulo the steps of the circle, is looked up as; not reduced.
    pub fn result(&self, input: i32) -> i32 {
        let p = self.values.len() as i32;
        // Places are around their multiples; half a place belongs to the upper one.
        let around = (1 << self.finer) / 2;
        let input = input.rem_euclid((2 * p) << self.finer);
        let slot = ((input + around) >> self.finer) % (2 * p);
        let half =
            if slot < p { self.values[slot as usize] } else { -self.values[(slot - p) as usize] };
        (self.constant + half) / 2
    }

    /// Coefficient u holds `values[floor(u p / N)]` in half steps.
    fn test_polynomial(&self, shape: &BootstrapShape) -> Vec<u64> {
        let size = shape.polynomial_size;
        let value = |u: usize| self.values[u * self.values.len() / size];
        (0..size).map(|u| half_steps(shape, self.bits + self.finer, value(u))).collect()
    }

    /// Half a place of the input, so that errors of either sign are as likely to be read rightly.
    fn shift(&self, set: &ParameterSet) -> Result<u32> {
        let modulus = padded_modulus(set, self.bits + self.finer)? >> self.finer;
        Ok(((1u64 << set.shape().log2_constant_modulus()) / (2 * modulus)) as u32)
    }
}

/// log2 of the most values of a table, and of its steps in half a circle.
const MOST_BITS: u32 = 11;

/// `count Q / 4p` modulo Q, p = 2^bits.
fn half_steps(shape: &BootstrapShape, bits: u32, count: i32) -> u64 {
    let steps = 4u64 << bits;
    match shape.accumulator_modulus() {
        Some(modulus) => {
            mod_switch(i64::from(count).rem_euclid(steps as i64) as u64, steps, modulus)
        }
        None => (i64::from(count) as u64) << (62 - bits),
    }
}

/// The second result of [`ServerKey::message_pair_job`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondMessage {
    /// How many places further on it is looked up, from 1 to p - 1.
    pub steps: u32,
    /// Its constant, as that of a [`CentredTable`].
    pub constant: i32,
    /// Index at which it is stored.
    pub output: u32,
}

/// A [`CentredTable`] on the device, which stays there until this is dropped.
pub struct LoadedTable {
    held: HeldTables,
    /// log2 of the places in half a circle, and of the steps there.
    bits: u32,
    step_bits: u32,
    shift: u32,
    offset: u64,
}

impl std::fmt::Debug for LoadedTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LoadedTable({} bits at {})", self.bits, self.held.first())
    }
}

impl ServerKey {
    /// Loads a table for [`ServerKey::message_job`], or finds it where it is loaded already.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if q has no room for its messages, and
    /// [`Error::Backend`](crate::Error::Backend) if memory runs out.
    pub fn load_centred(&self, table: &CentredTable) -> Result<LoadedTable> {
        let shift = table.shift(&self.set)?;
        let shape = self.set.shape();
        Ok(LoadedTable {
            held: self.table(table.test_polynomial(shape))?,
            bits: table.bits,
            step_bits: table.bits + table.finer,
            shift,
            offset: half_steps(shape, table.bits + table.finer, table.constant),
        })
    }

    /// A job that looks a weighted sum of messages and `constant`, in steps, up in `table`: as
    /// [`ServerKey::bit_job`], for messages. Nobody checks what it does to the noise.
    ///
    /// # Panics
    /// For more than [`Combination::MAX_OPERANDS`] operands.
    pub fn message_job(
        &self,
        operands: &[Operand],
        constant: i32,
        table: &LoadedTable,
        output: u32,
    ) -> BootstrapJob {
        let log2_q = self.log2_q();
        // Steps and half a place, below the modulus.
        let sum = u64::from(self.message_steps(constant, table.step_bits)) + u64::from(table.shift);
        let constant = (sum & ((1 << self.set.shape().log2_constant_modulus()) - 1)) as u32;
        BootstrapJob {
            input: Combination::new(operands, constant, log2_q),
            table: table.held.first(),
            table_stride: 0,
            output_offset: centred(&self.set, table.offset, log2_q),
            log2_output_modulus: log2_q,
            output,
            second: None,
        }
    }

    /// The same job with a second result: what the table holds `second.steps` steps further on,
    /// with a constant of its own. A table of 2p places whose inputs take fewer than p of them has
    /// room for two functions, and one rotation looks up both. On the native torus only.
    ///
    /// Both results have the error of a look-up; the two errors come from one rotation, so they
    /// are not independent.
    ///
    /// # Panics
    /// As [`ServerKey::message_job`], for `second.steps` that are not from 1 to p - 1, and for a
    /// constant out of the range of a table's.
    pub fn message_pair_job(
        &self,
        operands: &[Operand],
        constant: i32,
        table: &LoadedTable,
        output: u32,
        second: SecondMessage,
    ) -> BootstrapJob {
        let shape = self.set.shape();
        let steps = 1u32 << table.bits;
        assert!((1..steps).contains(&second.steps), "a second result at {} steps", second.steps);
        let most = 4u32 << table.step_bits;
        assert!(second.constant.unsigned_abs() <= most, "a constant of {}", second.constant);
        let size = shape.polynomial_size as u32;
        let offset = half_steps(shape, table.step_bits, second.constant);
        BootstrapJob {
            second: Some(SecondOutput {
                coefficient: second.steps * (size / steps),
                output_offset: centred(&self.set, offset, self.log2_q()),
                output: second.output,
            }),
            ..self.message_job(operands, constant, table, output)
        }
    }

    /// `count q / 2^(bits + 1)` modulo q: that many steps of messages of `bits` bits under one of
    /// padding, as a constant of a combination.
    pub fn message_steps(&self, count: i32, bits: u32) -> u32 {
        let log2_step = self.set.shape().log2_constant_modulus() - bits - 1;
        (count.rem_euclid(2 << bits) as u32) << log2_step
    }
}

/// `found` is larger than `most` in magnitude.
fn out_of_range<T>(what: &str, found: i32, most: i32) -> Result<T> {
    let (found, most) = (i64::from(found), i64::from(most));
    error::mismatch(Mismatch::numbers(what, (found, found), (-most, most), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, EvaluationKeys};
    use girih_backend::{LinearJob, LoadOptions, NoProgress};

    #[test]
    fn a_table_that_is_none_is_refused() {
        for (values, constant, part) in [
            (vec![], 0, "no values"),
            (vec![0; 3], 0, "3 values"),
            (vec![0; 4096], 0, "4096 values"),
            (vec![0, 18], 0, "-8 to 8"),
            (vec![0, 2], 10, "constants of a centred table must be from -8 to 8"),
            (vec![0, 1], 0, "both must be even"),
        ] {
            let error = CentredTable::new(values, constant).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
        for (values, constant, finer, part) in [
            (vec![0; 16], 0, 8, "0 to 7"),
            (vec![0, 2], 34, 2, "must be from -32 to 32"),
            (vec![0, 1], 0, 2, "both must be even"),
        ] {
            let error = CentredTable::in_finer_steps(values, constant, finer).expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
        }
        for constant in [-8, 8] {
            let table = CentredTable::new(vec![-8, 8], constant).expect("the largest there are");
            assert_eq!(table.bits(), 1);
        }
    }

    /// A step of messages of two bits under one of padding is an eighth of the circle.
    #[test]
    fn inputs_are_shifted_by_half_a_step() {
        for name in ["INSECURE_INTEGERS", "INSECURE_TOY"] {
            let set = ParameterSet::by_name(name).expect("built in");
            let table = CentredTable::new(vec![0; 4], 0).expect("fits");
            assert_eq!(table.bits(), 2);
            let circle = 1u64 << set.shape().log2_constant_modulus();
            assert_eq!(u64::from(table.shift(&set).expect("room")), circle / 16, "{name}");
        }
    }

    /// All 2p inputs, signs among them, on a set of the native torus and on one of prime words.
    #[test]
    fn both_halves_of_the_circle_are_looked_up() {
        // Two bits a message: what the toy of prime words bears.
        let values = vec![3, -1, 1, 5];
        let table = CentredTable::new(values, 3).expect("fits");
        for name in ["INSECURE_INTEGERS", "INSECURE_TOY"] {
            let set = ParameterSet::by_name(name).expect("built in");
            let client = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("a toy");
            let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a toy");
            let device = girih_cpu::CpuBackend::new();
            let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)
                .expect("fits");
            let inputs = server
                .upload(&client.encrypt(&[0, 1, 2, 3, 4, 5, 6, 7], 8).expect("below 8"))
                .expect("of this set");
            let loaded = server.load_centred(&table).expect("room for two bits");
            let out = server.allocate(8).expect("memory");
            let job = |c: usize| {
                let operand = Operand { ciphertext: inputs.at(c), weight: -1 };
                server.message_job(&[operand], 1, &loaded, out.at(c))
            };
            server.engine().bootstrap(&(0..8).map(job).collect::<Vec<_>>()).expect("valid");
            let got = client.decrypt(&server.download(&out).expect("it"), 8).expect("this key's");
            let want: Vec<u64> = (0..8).map(|m| table.result(1 - m).rem_euclid(8) as u64).collect();
            assert_eq!(got, want, "{name}");
            // The same constant without a bootstrapping.
            let input = Combination::new(&[], server.message_steps(-3, 2), server.log2_q());
            let log2_output_modulus = server.log2_q();
            let job = LinearJob { input, log2_output_modulus, output: out.at(0) };
            server.engine().combine(&[job]).expect("valid");
            let got = client.decrypt(&server.download(&out).expect("it"), 8).expect("this key's");
            assert_eq!(got[0], 5, "{name}");
        }
    }

    /// Four results in quarter steps are summed up, and twice the sum is read modulo 16.
    #[test]
    fn sums_in_finer_steps() {
        let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("a toy");
        let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a toy");
        let device = girih_cpu::CpuBackend::new();
        let server =
            ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress).expect("fits");
        // m goes to m quarter steps, for m from 0 to 7.
        let values: Vec<i32> = (0..8).map(|m| 2 * m - 7).collect();
        let fine = CentredTable::in_finer_steps(values, 7, 2).expect("in range");
        assert_eq!((fine.bits(), fine.finer()), (3, 2));
        // Eight times the sum goes round a circle of 64 quarter steps every eight: two places each,
        // around which margins are alike after half a place. Whole steps say whether bit 2 is set.
        let upper = CentredTable::in_finer_steps(vec![-4; 8], 4, 2).expect("in range");
        for (sum, bit) in (0..28).map(|sum| (sum, sum / 4 % 2)) {
            assert_eq!(upper.result(8 * sum + 2), 4 * bit, "{sum}");
            assert_eq!(upper.result(8 * sum - 2), 4 * bit, "{sum}");
            assert_eq!(upper.result(8 * sum + 5), 4 * bit, "{sum}");
        }
        let [fine, upper] =
            [fine, upper].map(|table| server.load_centred(&table).expect("room for five bits"));
        let inputs: Vec<u64> = (0..8).collect();
        let inputs = server.upload(&client.encrypt(&inputs, 16).expect("below 16"));
        let (inputs, out) = (inputs.expect("of this set"), server.allocate(16).expect("memory"));
        let job = |m: usize| {
            let operand = Operand { ciphertext: inputs.at(m), weight: 1 };
            server.message_job(&[operand], 0, &fine, out.at(m))
        };
        server.engine().bootstrap(&(0..8).map(job).collect::<Vec<_>>()).expect("valid");
        let terms = |m: usize| [7, m, m, m / 2];
        let job = |m: usize| {
            let operands = terms(m).map(|c| Operand { ciphertext: out.at(c), weight: 8 });
            server.message_job(&operands, 2, &upper, out.at(8 + m))
        };
        server.engine().bootstrap(&(0..8).map(job).collect::<Vec<_>>()).expect("valid");
        let got = client.decrypt(&server.download(&out).expect("it"), 16).expect("this key's");
        let want: Vec<u64> =
            (0..8).map(|m| terms(m).iter().sum::<usize>() as u64 / 4 % 2).collect();
        assert_eq!(got[8..], want);
    }

    /// Inputs of 0 to 3 in eight places: the remainder by 2, and four places on the quotient.
    #[test]
    fn one_rotation_looks_up_two_functions() {
        let set = ParameterSet::by_name("INSECURE_INTEGERS").expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [4; 32]).expect("a toy");
        let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a toy");
        let device = girih_cpu::CpuBackend::new();
        let server =
            ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress).expect("fits");
        // Remainders are 2 y - 1 with the constant 1, quotients 2 y with the constant 0; the last
        // places, that no input reaches, hold what is odd beside even ones.
        let table = CentredTable::of_pair(vec![-1, 1, -1, 1, 0, 0, 2, 2], 1).expect("in range");
        assert!(CentredTable::new(vec![-1, 1, -1, 1, 0, 0, 2, 2], 1).is_err());
        let loaded = server.load_centred(&table).expect("room for three bits");
        let inputs = server.upload(&client.encrypt(&[0, 1, 2, 3], 16).expect("below 16"));
        let (inputs, out) = (inputs.expect("of this set"), server.allocate(8).expect("memory"));
        let job = |m: usize| {
            let operand = Operand { ciphertext: inputs.at(m), weight: 1 };
            let second = SecondMessage { steps: 4, constant: 0, output: out.at(4 + m) };
            server.message_pair_job(&[operand], 0, &loaded, out.at(m), second)
        };
        server.engine().bootstrap(&(0..4).map(job).collect::<Vec<_>>()).expect("valid");
        let got = client.decrypt(&server.download(&out).expect("it"), 16).expect("this key's");
        assert_eq!(got, [0, 1, 0, 1, 0, 0, 1, 1]);
    }
}
