//! Keys and jobs that mean nothing and exercise everything: uniform words from a counter, so that a device can be
//! compared with the twin on any shape without making real keys.

use girih_backend::{BackendError, BootstrapJob, BootstrapShape, Combination, Engine, KeySource, Operand};
use std::time::Instant;

/// A stream of 64-bit words from a seed (SplitMix64, Steele et al. 2014): reproducible, and not for secrets.
#[derive(Clone)]
pub struct Words(u64);

impl Words {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next word.
    pub fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A word below `bound`, with the extremes 0 and `bound - 1` once in 32 draws each: that is where kernels break.
    pub fn below(&mut self, bound: u64) -> u64 {
        match self.next_word() % 32 {
            0 => 0,
            1 => bound - 1,
            _ => self.next_word() % bound,
        }
    }
}

/// Uniform words in the place of keys.
pub struct SyntheticKeys {
    shape: BootstrapShape,
    seed: u64,
}

impl SyntheticKeys {
    /// Keys of `shape`, which must be valid.
    pub fn new(shape: BootstrapShape, seed: u64) -> Self {
        Self { shape, seed }
    }

    fn words(&self, domain: u64, index: usize) -> Words {
        Words::new(self.seed ^ (domain << 56) ^ ((index as u64) << 24))
    }
}

impl KeySource for SyntheticKeys {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        let modulus = self.shape.key_modulus_value().unwrap_or(u64::MAX);
        let mut words = self.words(1, index);
        out.fill_with(|| words.below(modulus));
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        let row = self.shape.switched_len();
        let mut words = self.words(2, index);
        if self.shape.is_torus() {
            return out.fill_with(|| words.next_word());
        }
        for rows in out.chunks_exact_mut(self.shape.ks_base() * row) {
            rows[..row].fill(0);
            rows[row..].fill_with(|| words.below(1 << self.shape.log2_ks_modulus));
        }
    }
}

/// A batch of two-input gates on random words: the work of a real one, to be timed.
pub struct GateBatch {
    input: Vec<u32>,
    jobs: Vec<BootstrapJob>,
    output: Vec<u32>,
}

impl GateBatch {
    /// `ciphertexts` gates, with a test polynomial and room in the store of `engine`, which must be newly loaded.
    ///
    /// # Errors
    /// Failures of the device, and [`BackendError::InvalidRequest`] on the native torus.
    pub fn prepare(engine: &dyn Engine, ciphertexts: usize) -> Result<Self, BackendError> {
        let shape = engine.shape();
        let modulus = shape.accumulator_modulus().ok_or(BackendError::InvalidRequest("random gates need a modulus of words".into()))?;
        let mut words = Words::new(5);
        let table: Vec<u64> = (0..shape.polynomial_size).map(|_| words.below(modulus)).collect();
        let table = engine.add_tables(&table)?;
        engine.reserve(3 * ciphertexts)?;
        let length = shape.ciphertext_len();
        let operand = |i: usize| Operand { ciphertext: i as u32, weight: 1 };
        let job = |i: usize| BootstrapJob {
            input: Combination::new(&[operand(2 * i), operand(2 * i + 1)], 0, shape.log2_lwe_modulus),
            table,
            table_stride: 0,
            output_offset: modulus / 8,
            log2_output_modulus: shape.log2_lwe_modulus,
            output: (2 * ciphertexts + i) as u32,
        };
        Ok(Self {
            input: (0..2 * ciphertexts * length).map(|_| words.below(1 << shape.log2_lwe_modulus) as u32).collect(),
            jobs: (0..ciphertexts).map(job).collect(),
            output: vec![0; ciphertexts * length],
        })
    }

    /// Runs it once, transfers included; returns the seconds.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn run(&mut self, engine: &dyn Engine) -> Result<f64, BackendError> {
        self.run_calls(engine, 1)
    }

    /// The same with the bootstrappings run `calls` times over between the transfers.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn run_calls(&mut self, engine: &dyn Engine, calls: usize) -> Result<f64, BackendError> {
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
