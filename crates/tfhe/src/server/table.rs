//! Look-up tables on messages of several bits.

use super::{Batch, HeldTables, ServerKey};
use crate::ciphertext::padded_modulus;
use crate::{ParameterSet, Result, error};
use girih_backend::{BootstrapShape, Operand, SecretKind};
use girih_ring::switch::mod_switch;
use girih_rlwe::{Counts, Mismatch};

/// Any function from messages of `input_bits` bits to messages of `output_bits` bits, evaluated by
/// one bootstrapping.
///
/// A message m of p values stands as `m q / 2p`: one bit of padding keeps phases in the half where
/// the rotation is not negacyclic. Shifted by `q / 4p`, phase u of 2N looks up `f(floor(u p / N))`,
/// with room for an error of `q / 4p`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUpTable {
    input_bits: u32,
    output_bits: u32,
    values: Vec<u64>,
}

/// Refuses a table of which a value does not fit `output_bits` bits.
pub(super) fn check_values(values: &[u64], output_bits: u32) -> Result<()> {
    match values.iter().position(|v| v >> output_bits != 0) {
        Some(m) => {
            let what = format!("what the table maps {m} to");
            error::mismatch(Mismatch::range(what, values[m], [0, (1u64 << output_bits) - 1]))
        }
        None => Ok(()),
    }
}

impl LookUpTable {
    /// The table of `f`, with outputs of as many bits as inputs.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless bits are from 1 to 11 and every value
    /// fits the output bits.
    pub fn new(input_bits: u32, f: impl Fn(u64) -> u64) -> Result<Self> {
        Self::with_output_bits(input_bits, input_bits, f)
    }

    /// The table of `f`, with outputs of `output_bits` bits.
    ///
    /// # Errors
    /// As [`LookUpTable::new`].
    pub fn with_output_bits(
        input_bits: u32,
        output_bits: u32,
        f: impl Fn(u64) -> u64,
    ) -> Result<Self> {
        for (side, bits) in [("input", input_bits), ("output", output_bits)] {
            if !(1..=11).contains(&bits) {
                let what = format!("the number of {side} bits of a table");
                return error::mismatch(Mismatch::range(what, bits, [1, 11]));
            }
        }
        let values: Vec<u64> = (0..1 << input_bits).map(f).collect();
        check_values(&values, output_bits)?;
        Ok(Self { input_bits, output_bits, values })
    }

    /// Bits of an input message.
    pub fn input_bits(&self) -> u32 {
        self.input_bits
    }

    /// Bits of an output message.
    pub fn output_bits(&self) -> u32 {
        self.output_bits
    }

    /// What each input maps to.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Refuses messages that are known to be of another width.
    pub(super) fn check_inputs<B: Batch>(&self, server: &ServerKey, inputs: &[&B]) -> Result<()> {
        let what = format!("a table of {} bits", self.input_bits);
        server.check_width(&what, inputs, 2 << self.input_bits)
    }

    /// `q / 4p`, the shift of the input, if the set has room for the table's messages.
    pub(super) fn shift(&self, set: &ParameterSet) -> Result<u32> {
        padded_modulus(set, self.output_bits)?;
        // In the modulus of constants: the leading half of 2^64 holds it as well.
        Ok(((1u64 << set.shape().log2_constant_modulus())
            / (2 * padded_modulus(set, self.input_bits)?)) as u32)
    }

    /// The test polynomial: coefficient u is `f(floor(u p / N))` in steps of `Q / 2p'`,
    /// p' output values.
    pub fn test_polynomial(&self, shape: &BootstrapShape) -> Vec<u64> {
        let size = shape.polynomial_size;
        let encode = |value: u64| match shape.accumulator_modulus() {
            Some(modulus) => mod_switch(value, 2 << self.output_bits, modulus),
            None => value << (63 - self.output_bits),
        };
        (0..size).map(|u| encode(self.values[u * self.values.len() / size])).collect()
    }
}

/// The plaintext modulus of the results of tables, where it is one.
pub(super) fn plaintext_of(tables: &[LookUpTable]) -> Option<u64> {
    let (first, rest) = tables.split_first()?;
    rest.iter().all(|t| t.output_bits == first.output_bits).then_some(2 << first.output_bits)
}

/// Takes the middle of the values off test polynomials of look-ups, and says what a bootstrapping
/// must add to its result instead.
///
/// The first step of a rotation cuts digits of the test polynomial alone, and the f64 transform
/// errs most where their spectrum is large. A mean stands at the lowest frequency, where a binary
/// secret of the ring, of mean 1/2, is large too (docs/tfhe.md, "The error of the f64 transform").
/// Ternary ones have no such frequency.
/// Phases of messages keep to the half of the rotation where `v - c + c` is v.
fn take_off_the_middle(set: &ParameterSet, polynomials: &mut [u64]) -> u64 {
    if set.ring_secret() == SecretKind::Ternary {
        return 0;
    }
    let shape = set.shape();
    // Values are below Q / 2: neither sum nor difference passes Q.
    let (low, high) =
        polynomials.iter().fold((u64::MAX, 0), |(low, high), &v| (low.min(v), high.max(v)));
    let middle = low + (high - low) / 2;
    let below =
        |v: u64| shape.accumulator_modulus().map_or(v.wrapping_sub(middle), |q| q - (middle - v));
    polynomials.iter_mut().for_each(|v| *v = if *v < middle { below(*v) } else { *v - middle });
    middle
}

/// Test polynomials of look-ups on the device.
pub(super) struct LoadedTables {
    /// Added to the input.
    pub shift: u32,
    /// Those of further slots follow the first.
    pub held: HeldTables,
    /// 1 where slots have tables of their own.
    pub stride: u32,
    /// Added to the result.
    pub offset: u64,
}

impl ServerKey {
    /// Several values of one input by one bootstrapping:
    /// slot j of every ciphertext goes through `tables[j]`.
    ///
    /// A message that was encrypted r times over, once for each slot, comes back as r functions of
    /// it, and one rotation serves them all: k + r polynomials instead of the r (k + 1) of as many
    /// look-ups. What comes back is r different messages, so a further function of several of them
    /// needs them together in one slot, which takes a client.
    /// [`NoiseModel::log2_failure_table`](crate::NoiseModel::log2_failure_table) of the packed set
    /// says how likely each fails.
    ///
    /// # Errors
    /// As [`ServerKey::apply`], and unless there are r tables of as many input bits.
    pub fn apply_slots<B: Batch>(&self, a: &B, tables: &[LookUpTable]) -> Result<B> {
        if tables.len() != self.set.packing() {
            let packing = self.set.packing();
            let what = format!("tables for the {packing} slots of a ciphertext of {}", self.set);
            let allowed = Counts::Exactly(packing);
            return error::mismatch(Mismatch::count(what, tables.len(), allowed));
        }
        let loaded = self.load_slots(tables)?;
        tables.iter().try_for_each(|table| table.check_inputs(self, &[a]))?;
        B::run(self, &[a], self.log2_q(), &|inputs, _| {
            self.check_look_ups(tables, inputs[0].variance())?;
            self.table_list(inputs[0].len(), plaintext_of(tables), |c| {
                (vec![Operand { ciphertext: inputs[0].at(c), weight: 1 }], &loaded)
            })
        })
    }

    /// Refuses look-ups whose inputs, of this variance,
    /// or whose results would be read wrongly too often.
    pub(super) fn check_look_ups(&self, tables: &[LookUpTable], variance: f64) -> Result<()> {
        // The widest tables are the worst: one in, one out.
        let inputs = tables.iter().max_by_key(|t| t.input_bits);
        let outputs = tables.iter().max_by_key(|t| t.output_bits);
        inputs.into_iter().chain(outputs).try_for_each(|t| self.check_look_up(t, variance))
    }

    /// The same of one.
    pub(super) fn check_look_up(&self, table: &LookUpTable, variance: f64) -> Result<()> {
        let (bits, log2_q) = (table.input_bits, self.log2_q());
        let margin = 2f64.powi(log2_q as i32 - bits as i32 - 2);
        self.check_input(&format!("a look-up of {bits} bits"), margin, variance)?;
        // Under a bit of padding.
        let (bits, messages) = (table.output_bits, f64::from(2u32 << table.output_bits));
        self.check_output(&format!("a look-up with results of {bits} bits"), messages, log2_q)
    }

    /// Loads the tables of the slots of a ciphertext, or the one that serves them all.
    pub(super) fn load_slots(&self, tables: &[LookUpTable]) -> Result<LoadedTables> {
        let shift = tables[0].shift(&self.set)?;
        let bits = tables[0].input_bits();
        if let Some(other) = tables.iter().find(|t| t.input_bits() != bits) {
            return error::mismatch(Mismatch::unlike(
                format!("a table that takes inputs of {bits} bits"),
                format!("one of {} bits", other.input_bits()),
                "tables for slots of one ciphertext must take the same number of bits",
            ));
        }
        let mut polynomials: Vec<u64> =
            tables.iter().flat_map(|t| t.test_polynomial(self.set.shape())).collect();
        let offset = take_off_the_middle(&self.set, &mut polynomials);
        Ok(LoadedTables {
            shift,
            held: self.table(polynomials)?,
            stride: u32::from(tables.len() > 1),
            offset,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_binary_secrets_lie_about_zero() {
        for (name, ternary) in
            [("TFHERS_2_2", false), ("INSECURE_TOY_BINARY", false), ("STD128", true)]
        {
            let set = ParameterSet::by_name(name).expect("built in");
            let shape = set.shape();
            let centred = |f: fn(u64) -> u64| {
                let values =
                    LookUpTable::with_output_bits(2, 3, f).expect("fits").test_polynomial(shape);
                let mut polynomial = values.clone();
                let offset = take_off_the_middle(&set, &mut polynomial);
                (values, polynomial, offset)
            };
            let (values, polynomial, offset) = centred(|m| 2 * m + 1);
            // Back on the circle of Q, and within half of the values' range of 0.
            let add = |a: u64| {
                shape.accumulator_modulus().map_or(a.wrapping_add(offset), |q| (a + offset) % q)
            };
            assert!(polynomial.iter().zip(&values).all(|(&p, &v)| add(p) == v), "{name}");
            if ternary {
                assert_eq!((polynomial, offset), (values, 0), "{name}");
                continue;
            }
            let size = |p: u64| {
                shape.accumulator_modulus().map_or(p.min(p.wrapping_neg()), |q| p.min(q - p))
            };
            let half_range = (values[shape.polynomial_size - 1] - values[0]).div_ceil(2);
            assert_eq!(polynomial.iter().map(|&p| size(p)).max(), Some(half_range), "{name}");
            let (values, polynomial, offset) = centred(|_| 5);
            assert!(
                polynomial.iter().all(|&p| p == 0) && offset == values[0],
                "{name}: a constant needs no rotation"
            );
        }
    }
}
