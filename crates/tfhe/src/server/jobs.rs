//! Job lists on bits: what a circuit needs to run its own levels on ciphertexts
//! that stay on the device.

use super::{DeviceCiphertexts, Gate, ServerKey, centred, gate};
use crate::{Result, error};
use girih_backend::{BootstrapJob, Combination, Operand};
use girih_rlwe::Mismatch;

impl ServerKey {
    /// Index of a gate's test polynomial on the device, for [`ServerKey::bit_job`];
    /// once loaded it stays.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) if memory runs out.
    pub fn gate_table(&self, gate: Gate) -> Result<u32> {
        self.tables.keep(&self.engine, gate.test_polynomial(self.set.shape()))
    }

    /// A job whose result is a bit: table values are +-Q/8, and Q/8 is added. Operands are places
    /// in the engine's store (see [`DeviceCiphertexts::at`]); `constant` is in units of 1, see
    /// [`ServerKey::quarters`].
    ///
    /// # Panics
    /// For more than [`Combination::MAX_OPERANDS`] operands.
    pub fn bit_job(
        &self,
        operands: &[Operand],
        constant: u32,
        table: u32,
        output: u32,
    ) -> BootstrapJob {
        let shape = self.set.shape();
        BootstrapJob {
            input: Combination::new(operands, constant, shape.log2_stored_modulus()),
            table,
            table_stride: 0,
            output_offset: centred(&self.set, gate::eighth(shape), shape.log2_stored_modulus()),
            log2_output_modulus: shape.log2_stored_modulus(),
            output,
            second: None,
        }
    }

    /// `count q/4` modulo q: `count` ones, as a constant of a combination.
    pub fn quarters(&self, count: u32) -> u32 {
        (count & 3) << (self.set.shape().log2_constant_modulus() - 2)
    }

    /// Refuses ciphertexts that live with another server key, whose places mean nothing here.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch).
    pub fn check_owner(&self, ciphertexts: &DeviceCiphertexts) -> Result<()> {
        if !ciphertexts.is_in(&self.store) {
            return error::mismatch(Mismatch::Server { what: "these ciphertexts" });
        }
        Ok(())
    }
}
