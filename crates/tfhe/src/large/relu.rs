//! Products of a message with its own sign: what is kept where the message is not negative.
//!
//! No function reads a whole long message and its sign at once, but the digits can: a digit's
//! ciphertext plus half of its modulus where the sign s is set reads the negative of a negacyclic
//! table, that is `(-1)^s` times what it would have read. With d the digit, `(1 + (-1)^s) d` is 2d
//! or nothing, so tables of half a digit give the digit itself or nothing.

use super::rounds::{Rotation, combine, extract_sign, operand, phase_table, rotate};
use super::{LargeOperation, LargeParameters, LargeServer};
use crate::server::{HeldTables, Words};
use crate::{DeviceCiphertexts, Function, LweCiphertexts, Result, ServerKey};

impl LargeServer {
    /// `max(a, 0)` of every message in two's complement: the message where its top bit is clear, 0
    /// where it is set.
    ///
    /// One function of two bootstrappings below the modulus of a rotation; from there on the sign
    /// and then, for each digit, four products ([`LargeParameters::bootstraps`]).
    ///
    /// # Errors
    /// As [`LargeServer::sign`], and where the modulus leaves no room to sum
    /// the products exactly enough.
    pub fn relu(&self, a: &LweCiphertexts) -> Result<LweCiphertexts> {
        let (bits, log2_modulus) = (self.check(a)?, a.log2_modulus());
        let rotation = self.parameters().log2_rotation();
        if log2_modulus < rotation {
            let half = 1 << (bits - 1);
            return self.function(a, &Function::new(bits, bits, |m| if m < half { m } else { 0 })?);
        }
        let plan = self.gadget_plan(LargeOperation::Relu, log2_modulus)?;
        let (server, last_server) = (self.product_server(log2_modulus)?, self.last(&plan)?);
        self.check_failure("a product with the sign", LargeOperation::Relu, a)?;
        let variance = self.variance_of(LargeOperation::Relu, log2_modulus)?;
        let words = server.run_words(&[Words::of(a)], &|inputs, _| {
            let mut digits = Vec::new();
            let last =
                self.shorten(&plan, inputs[0], |before, halfway| digits.push((before, halfway)))?;
            let last = last.as_ref().unwrap_or(inputs[0]);
            // Half of a rotation, or nothing.
            let sign = extract_sign(last_server, last, self.parameters().beta(), 4, rotation)?;
            let products = Products::new(self.parameters(), server, sign, log2_modulus);
            Ok(products.all(inputs[0], &digits, last)?.noisy(variance))
        })?;
        self.result(words)
    }

    /// The larger of every pair, `b + max(a - b, 0)`. Right where [`LargeServer::less`] is: for
    /// unsigned messages below half their range.
    ///
    /// # Errors
    /// As [`LargeServer::relu`], and for batches that differ in length or modulus.
    pub fn max(&self, a: &LweCiphertexts, b: &LweCiphertexts) -> Result<LweCiphertexts> {
        let over = self.relu(&self.difference(a, b)?)?;
        LweCiphertexts::weighted_sum(&[(b, 1), (&over, 1)], 0)
    }

    /// The smaller of every pair, `a - max(a - b, 0)`. Right where [`LargeServer::less`] is: for
    /// unsigned messages below half their range.
    ///
    /// # Errors
    /// As [`LargeServer::max`].
    pub fn min(&self, a: &LweCiphertexts, b: &LweCiphertexts) -> Result<LweCiphertexts> {
        let over = self.relu(&self.difference(a, b)?)?;
        LweCiphertexts::weighted_sum(&[(a, 1), (&over, -1)], 0)
    }
}

/// Sums of products with one sign.
struct Products<'s> {
    server: &'s ServerKey,
    /// 0 or half of a rotation.
    sign: DeviceCiphertexts,
    beta: i64,
    digit_bits: u32,
    log2_rotation: u32,
    log2_modulus: u32,
    /// log2 of the modulus of the sum.
    log2_wide: u32,
}

impl<'s> Products<'s> {
    fn new(
        parameters: &LargeParameters,
        server: &'s ServerKey,
        sign: DeviceCiphertexts,
        log2_modulus: u32,
    ) -> Self {
        Self {
            server,
            sign,
            beta: parameters.beta() as i64,
            digit_bits: parameters.digit_bits(),
            log2_rotation: parameters.log2_rotation(),
            log2_modulus,
            log2_wide: LargeParameters::log2_product(log2_modulus),
        }
    }

    /// Half of what a one in digit `round` stands for, in the sum's modulus.
    fn half_unit(&self, round: usize) -> i64 {
        self.beta << (self.log2_wide - self.log2_modulus + self.digit_bits * round as u32)
    }

    /// The sum over all digits: those with a round, given as they were before it (none: `input`)
    /// and between its bootstrappings, and the last, whose top bit is the sign.
    fn all(
        &self,
        input: &DeviceCiphertexts,
        digits: &[(Option<DeviceCiphertexts>, DeviceCiphertexts)],
        last: &DeviceCiphertexts,
    ) -> Result<DeviceCiphertexts> {
        let half_digit = 1i64 << (self.digit_bits - 1);
        let mut terms = Vec::new();
        let mut constant = 0;
        for (round, (before, halfway)) in digits.iter().enumerate() {
            let unit = self.half_unit(round);
            // The top bit of the digit, h in all if set: h/2 + h/2 t with t = -1 or 1.
            let top = self.table(|_| -half_digit / 2 * unit)?;
            terms.extend(self.twice(
                before.as_ref().unwrap_or(input),
                (1, self.beta as u32),
                &top,
            )?);
            constant += half_digit / 2 * unit;
            // The rest, which stands in the middle half: h/2 to 3h/2.
            let cell = |x: i64| x / (2 * self.beta);
            let rest = |x| {
                if cell(x) < half_digit / 2 {
                    -(cell(x) + half_digit / 2)
                } else {
                    cell(x) - half_digit / 2
                }
            };
            terms.extend(self.twice(halfway, (1, 0), &self.table(|x| rest(x) * unit)?)?);
        }
        if constant > 0 {
            // h/2 times the sign itself, for all digits together.
            terms.push(self.rotate(&self.table(|_| constant)?, |c| {
                (vec![operand(self.sign.at(c), 1)], 1 << (self.log2_rotation - 2))
            })?);
        }
        // Spread over a whole rotation.
        let spread = 1i64 << (self.log2_rotation - last.log2_modulus());
        let (unit, step) = (self.half_unit(digits.len()), 2 * self.beta * spread);
        let table = self.table(|x| x / step * unit)?;
        terms.extend(self.twice(last, (spread as i32, (self.beta * spread) as u32), &table)?);
        self.sum(terms, constant as u32)
    }

    fn table(&self, f: impl Fn(i64) -> i64) -> Result<HeldTables> {
        phase_table(self.server, self.log2_rotation, self.log2_wide, f)
    }

    fn rotate(
        &self,
        table: &HeldTables,
        input: impl Fn(usize) -> (Vec<girih_backend::Operand>, u32),
    ) -> Result<DeviceCiphertexts> {
        let rotation = Rotation {
            log2_input: self.log2_rotation,
            table,
            offset: 0,
            log2_output: self.log2_wide,
        };
        rotate(self.server, &rotation, self.sign.len(), input)
    }

    /// `weight input + constant` through a table, without the sign and with it.
    fn twice(
        &self,
        input: &DeviceCiphertexts,
        (weight, constant): (i32, u32),
        table: &HeldTables,
    ) -> Result<[DeviceCiphertexts; 2]> {
        let plain = self.rotate(table, |c| (vec![operand(input.at(c), weight)], constant))?;
        let signed = self.rotate(table, |c| {
            (vec![operand(input.at(c), weight), operand(self.sign.at(c), 1)], constant)
        })?;
        Ok([plain, signed])
    }

    /// Adds all terms up, and the constant, and rounds to the message's modulus.
    fn sum(&self, mut terms: Vec<DeviceCiphertexts>, constant: u32) -> Result<DeviceCiphertexts> {
        let (len, wide) = (self.sign.len(), self.log2_wide);
        while terms.len() > 4 {
            let group: Vec<DeviceCiphertexts> = terms.drain(..4).collect();
            terms.push(combine(self.server, (wide, wide), len, |c| {
                (group.iter().map(|t| operand(t.at(c), 1)).collect(), 0)
            })?);
        }
        let input =
            |c| (terms.iter().map(|t: &DeviceCiphertexts| operand(t.at(c), 1)).collect(), constant);
        combine(self.server, (wide, self.log2_modulus), len, input)
    }
}
