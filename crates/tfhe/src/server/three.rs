//! Functions of three bits.

use super::{Batch, Gate, ServerKey, gate};
use crate::Result;
use crate::ciphertext::BITS;
use girih_backend::{BootstrapJob, Combination, LinearJob, Operand};

impl ServerKey {
    /// `select ? a : b` for every bit: three bootstrappings in two levels.
    ///
    /// Where a bit selects itself, it is that bit, without its error twice over.
    ///
    /// # Errors
    /// As [`ServerKey::gate`].
    pub fn mux<B: Batch>(&self, select: &B, a: &B, b: &B) -> Result<B> {
        self.check_width("a mux", &[select, a, b], BITS)?;
        B::run(self, &[select, a, b], self.log2_q(), &|inputs, offset| {
            let [selects, on, off] = inputs else { unreachable!("three inputs were given") };
            let (len, table) = (on.len(), self.gate_table(Gate::And)?);
            let chosen = self.allocate(2 * len)?;
            // select AND a, then NOT select AND b with the NOT folded into the combination.
            let same = |c: usize| select.same(if c < len { a } else { b }, offset + c % len);
            let (alike, pairs): (Vec<usize>, Vec<usize>) = (0..2 * len).partition(|&c| same(c));
            let job = |&c: &usize| {
                let (weight, constant, other) = if c < len {
                    (1, 0, on.at(c))
                } else {
                    (-1, self.quarters(1), off.at(c - len))
                };
                let operands = [
                    Operand { ciphertext: selects.at(c % len), weight },
                    Operand { ciphertext: other, weight: 1 },
                ];
                self.bit_job(&operands, constant, table, chosen.at(c))
            };
            if !pairs.is_empty() {
                let other = on.variance().max(off.variance());
                let variance = self.variance_together(&[selects.variance(), other]);
                self.check_input("a mux", self.eighth_of_q(), variance)?;
                self.engine.bootstrap(&pairs.iter().map(job).collect::<Vec<_>>())?;
            }
            // The bit, or nothing.
            let copies: Vec<LinearJob> = alike
                .iter()
                .map(|&c| match c < len {
                    true => self.copy_job(Some(selects.at(c)), chosen.at(c)),
                    false => self.copy_job(None, chosen.at(c)),
                })
                .collect();
            let bit = self.model.variance_out_at(self.log2_q());
            let mut other = bit;
            if !copies.is_empty() {
                self.engine.combine(&copies)?;
                other = bit.max(selects.variance());
            }
            let second = self.variance_together(&[bit, other]);
            self.check_input("a mux", self.eighth_of_q(), second)?;
            let (out, table) = (self.allocate(len)?, self.gate_table(Gate::Or)?);
            let job = |c: usize| {
                let operands =
                    [c, c + len].map(|i| Operand { ciphertext: chosen.at(i), weight: 1 });
                self.bit_job(&operands, 0, table, out.at(c))
            };
            self.engine.bootstrap(&(0..len).map(job).collect::<Vec<_>>())?;
            Ok(out.with_plaintext_modulus(Some(BITS)))
        })
    }

    /// Whether at least two of three bits are set: one bootstrapping.
    ///
    /// Where two of them are the same ciphertext, the majority is that bit and takes none. Else the
    /// errors of three inputs add up:
    /// [`NoiseModel::log2_failure_majority`](crate::NoiseModel::log2_failure_majority) says how
    /// likely it fails.
    ///
    /// # Errors
    /// As [`ServerKey::gate`].
    pub fn majority<B: Batch>(&self, a: &B, b: &B, c: &B) -> Result<B> {
        self.check_width("a majority", &[a, b, c], BITS)?;
        B::run(self, &[a, b, c], self.log2_q(), &|inputs, offset| {
            let out = self.allocate(inputs[0].len())?.with_plaintext_modulus(Some(BITS));
            // The sum is 0 to 3 quarters; two and three lie in [3q/8, 7q/8).
            let table = self.table(gate::bit_polynomial(self.set.shape(), 3))?;
            let (mut jobs, mut copies): (Vec<BootstrapJob>, Vec<LinearJob>) = Default::default();
            let mut variance = self.model.variance_out_at(self.log2_q());
            for i in 0..out.len() {
                let twice = if a.same(b, offset + i) || a.same(c, offset + i) {
                    Some(0)
                } else {
                    b.same(c, offset + i).then_some(1)
                };
                if let Some(input) = twice {
                    copies.push(self.copy_job(Some(inputs[input].at(i)), out.at(i)));
                    variance = variance.max(inputs[input].variance());
                    continue;
                }
                let operands: Vec<_> =
                    inputs.iter().map(|x| Operand { ciphertext: x.at(i), weight: 1 }).collect();
                jobs.push(self.bit_job(&operands, 0, table.first(), out.at(i)));
            }
            if !jobs.is_empty() {
                let variances: Vec<f64> = inputs.iter().map(|x| x.variance()).collect();
                let variance = self.variance_together(&variances);
                self.check_input("a majority", self.eighth_of_q(), variance)?;
                self.engine.bootstrap(&jobs)?;
            }
            if !copies.is_empty() {
                self.engine.combine(&copies)?;
            }
            Ok(out.noisy(variance))
        })
    }

    /// A copy of a ciphertext, or the constant 0.
    fn copy_job(&self, from: Option<u32>, output: u32) -> LinearJob {
        let log2_output_modulus = self.log2_q();
        let operand = from.map(|ciphertext| Operand { ciphertext, weight: 1 });
        let input = Combination::new(operand.as_slice(), 0, log2_output_modulus);
        LinearJob { input, log2_output_modulus, output }
    }
}
