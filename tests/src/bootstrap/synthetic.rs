//! Words and keys that mean nothing, and a batch of gates on them.

use girih_backend::{BackendError, BootstrapJob, Combination, Engine, Operand};
use std::time::Instant;

pub use girih_backend::bootstrap::synthetic::{SyntheticKeys, Words};

/// A batch of two-input gates on random words: the work of a real one, to be timed.
pub struct GateBatch {
    input: Vec<u32>,
    jobs: Vec<BootstrapJob>,
    output: Vec<u32>,
}

impl GateBatch {
    /// `ciphertexts` gates, with a test polynomial and room in the store of `engine`, which must be
    /// newly loaded.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn prepare(engine: &Engine, ciphertexts: usize) -> Result<Self, BackendError> {
        let shape = engine.shape();
        let modulus = shape.accumulator_modulus();
        let mut words = Words::new(5);
        let below = modulus.unwrap_or(u64::MAX);
        let table: Vec<u64> = (0..shape.polynomial_size).map(|_| words.below(below)).collect();
        let table = engine.add_tables(&table)?;
        engine.reserve(3 * ciphertexts)?;
        engine.settle()?;
        let length = shape.ciphertext_len();
        let operand = |i: usize| Operand { ciphertext: i as u32, weight: 1 };
        let job = |i: usize| BootstrapJob {
            input: Combination::new(
                &[operand(2 * i), operand(2 * i + 1)],
                0,
                shape.log2_stored_modulus(),
            ),
            table,
            table_stride: 0,
            output_offset: modulus.map_or(1 << 61, |m| m / 8),
            log2_output_modulus: shape.log2_stored_modulus(),
            output: (2 * ciphertexts + i) as u32,
            second: None,
        };
        Ok(Self {
            input: (0..2 * ciphertexts * length)
                .map(|_| words.below(1 << shape.log2_stored_modulus().min(32)) as u32)
                .collect(),
            jobs: (0..ciphertexts).map(job).collect(),
            output: vec![0; ciphertexts * length],
        })
    }

    /// Runs it once, transfers included; returns the seconds.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn run(&mut self, engine: &Engine) -> Result<f64, BackendError> {
        self.run_calls(engine, 1)
    }

    /// The same with the bootstrappings run `calls` times over between the transfers.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn run_calls(&mut self, engine: &Engine, calls: usize) -> Result<f64, BackendError> {
        let start = Instant::now();
        engine.write(0, &self.input)?;
        for _ in 0..calls {
            engine.bootstrap(&self.jobs)?;
        }
        engine.read(2 * self.jobs.len(), &mut self.output)?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// A number that depends on every word of the last result.
    pub fn checksum(&self) -> u64 {
        self.output.iter().fold(0, |x: u64, &y| x.wrapping_mul(0x100_0000_01b3) ^ u64::from(y))
    }
}
