//! Look-up tables on messages of several bits.

use crate::ciphertext::padded_modulus;
use crate::{ParameterSet, Result, error};
use girih_backend::BootstrapShape;
use girih_ring::switch::mod_switch;

/// Any function from messages of `input_bits` bits to messages of `output_bits` bits, evaluated by one bootstrapping.
///
/// A message m of p values stands as `m q / 2p`: one bit of padding keeps phases in the half where the rotation is
/// not negacyclic. Shifted by `q / 4p`, phase u of 2N looks up `f(floor(u p / N))`, with room for an error of `q / 4p`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUpTable {
    input_bits: u32,
    output_bits: u32,
    values: Vec<u64>,
}

impl LookUpTable {
    /// The table of `f`, with outputs of as many bits as inputs.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless bits are from 1 to 11 and every value fits the output bits.
    pub fn new(input_bits: u32, f: impl Fn(u64) -> u64) -> Result<Self> {
        Self::with_output_bits(input_bits, input_bits, f)
    }

    /// The table of `f`, with outputs of `output_bits` bits.
    ///
    /// # Errors
    /// As [`LookUpTable::new`].
    pub fn with_output_bits(input_bits: u32, output_bits: u32, f: impl Fn(u64) -> u64) -> Result<Self> {
        for bits in [input_bits, output_bits] {
            if !(1..=11).contains(&bits) {
                return error::mismatch(format!("a table of {input_bits} to {output_bits} bits: both must be from 1 to 11"));
            }
        }
        let values: Vec<u64> = (0..1 << input_bits).map(f).collect();
        if let Some(m) = values.iter().position(|&v| v >= 1 << output_bits) {
            return error::mismatch(format!("the table maps {m} to {}, which does not fit {output_bits} bits", values[m]));
        }
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

    /// `q / 4p`, the shift of the input, if the set has room for the table's messages.
    pub(super) fn shift(&self, set: &ParameterSet) -> Result<u32> {
        padded_modulus(set, self.output_bits)?;
        // In the modulus of constants: the leading half of 2^64 holds it as well.
        Ok(((1u64 << set.shape().log2_constant_modulus()) / (2 * padded_modulus(set, self.input_bits)?)) as u32)
    }

    /// The test polynomial: coefficient u is `f(floor(u p / N))` in steps of `Q / 2p'`, p' output values.
    pub fn test_polynomial(&self, shape: &BootstrapShape) -> Vec<u64> {
        let size = shape.polynomial_size;
        let encode = |value: u64| match shape.accumulator_modulus() {
            Some(modulus) => mod_switch(value, 2 << self.output_bits, modulus),
            None => value << (63 - self.output_bits),
        };
        (0..size).map(|u| encode(self.values[u * self.values.len() / size])).collect()
    }
}
