//! The seam between the engine and its two ways to run a blind rotation.

use girih_backend::PlanReport;

/// One ciphertext entering a blind rotation, already combined and scaled to exponents.
pub(crate) struct RotateInput<'a> {
    /// `n` mask exponents `a_i * f`, then `r` body exponents `b_j * f`, each in `[0, 2N)`.
    pub exponents: &'a [u32],
    /// The test polynomial of each of the `r` slots, `N` coefficients in `[0, Q)`.
    pub tables: Vec<&'a [u64]>,
}

/// Steps 2 and 3 of a bootstrapping for a few ciphertexts that share each load of the key.
pub(crate) trait BlindRotator: Send + Sync {
    /// Ciphertexts that one call serves best.
    fn group(&self) -> usize;

    /// Initialises an accumulator for each input, runs the first `steps <= n / g` steps, and writes
    /// `[input][K][N]` coefficients in `[0, Q)`.
    fn blind_rotate(&self, inputs: &[RotateInput<'_>], steps: usize, accumulators: &mut [u64]);

    /// The transformed values of one step on `accumulator`, where this rotator's transform is the
    /// exact one; `exponents` are those of the step's g indices.
    fn trace_step(
        &self,
        _step: usize,
        _exponents: &[u32],
        _accumulator: &[u64],
    ) -> Option<StepTrace> {
        None
    }

    /// What to tell about this rotator in a plan (transform, instruction set, group size).
    fn describe(&self) -> PlanReport;
}

/// What an integer rotator holds inside one step.
pub(crate) struct StepTrace {
    /// `[word][level][K][N]`, reduced.
    pub transformed: Vec<u32>,
    /// `[word][K][N]`, reduced, before the inverse transform.
    pub products: Vec<u32>,
}
