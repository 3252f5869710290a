//! A device with the keys of one shape loaded: what every device has in common, checked once.

use super::{
    BootstrapDevice, BootstrapJob, BootstrapShape, LinearJob, Pipelining, Stage, StageOutput,
    validate_jobs, validate_linear_jobs, validate_range, validate_table_range, validate_tables,
};
use crate::device::{PlanReport, block_on};
use crate::{BackendError, Result, Transform};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Refuses keys that cannot share store, test polynomials and key-switching table with a loaded
/// shape: whose shape differs in more than the gadget, or whose accumulator modulus does.
///
/// # Errors
/// [`BackendError::InvalidRequest`].
pub fn check_beside(loaded: &BootstrapShape, further: &BootstrapShape) -> Result<()> {
    if *loaded != (BootstrapShape { gadget: loaded.gadget, ..further.clone() })
        || further.is_torus()
    {
        return Err(BackendError::InvalidRequest(
            "keys loaded beside others must have a shape that differs from theirs in the gadget \
             alone, on prime words"
                .into(),
        ));
    }
    // Test polynomials hold values modulo it.
    if loaded.accumulator_modulus() != further.accumulator_modulus() {
        return Err(BackendError::InvalidRequest(
            "keys loaded beside others must have their accumulator modulus".into(),
        ));
    }
    Ok(())
}

/// What engines beside each other have in common.
#[derive(Default)]
struct Counts {
    /// Ciphertexts in the store, and test polynomials. They only grow, and are raised when the
    /// device has room: a call checked against an older count is a valid one.
    stored: AtomicUsize,
    tables: AtomicUsize,
    /// Held while the device makes room.
    growing: Mutex<()>,
}

/// A device with the keys of one shape loaded, and a store of ciphertexts that live there.
///
/// The store is an array of CM-LWE ciphertexts of [`BootstrapShape::ciphertext_len`] 32-bit words
/// each (mask first, then bodies), addressed by index. Calls take effect in the order in which they
/// are made; `write`, `write_tables`, `combine` and `bootstrap` may return before the device has
/// finished, and an error of theirs may then surface at the next `read` or `synchronize`.
/// Everything is checked here, once: the [`BootstrapDevice`] beneath sees valid calls only.
pub struct Engine {
    device: Box<dyn BootstrapDevice>,
    counts: Arc<Counts>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("shape", self.shape())
            .field("transform", &self.transform())
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine over a device that shares its store and its tables with that of `beside`, where
    /// there is one.
    pub(super) fn beside(device: Box<dyn BootstrapDevice>, beside: Option<&Self>) -> Self {
        Self { device, counts: beside.map_or_else(Arc::default, |other| Arc::clone(&other.counts)) }
    }

    /// An engine over a device whose store and tables are empty.
    pub fn new(device: Box<dyn BootstrapDevice>) -> Self {
        Self { device, counts: Arc::default() }
    }

    /// What it runs on, which checks nothing: for devices that load beside it.
    pub fn device(&self) -> &dyn BootstrapDevice {
        self.device.as_ref()
    }

    /// The shape of the loaded keys.
    pub fn shape(&self) -> &BootstrapShape {
        self.device.shape()
    }

    /// The transform in use.
    pub fn transform(&self) -> Transform {
        self.device.transform()
    }

    /// What was planned for this shape on this device.
    pub fn plan(&self) -> PlanReport {
        self.device.report()
    }

    /// How batches from the host are best cut.
    pub fn pipelining(&self) -> Pipelining {
        self.device.pipelining()
    }

    /// About how long a list of so many bootstrappings takes, in a unit of the device's own, so
    /// that lists can be compared.
    pub fn time_of(&self, bootstrappings: usize) -> f64 {
        self.device.time_of(bootstrappings)
    }

    /// Ciphertexts the store holds now.
    pub fn stored(&self) -> usize {
        self.counts.stored.load(Ordering::Acquire)
    }

    fn tables(&self) -> usize {
        self.counts.tables.load(Ordering::Acquire)
    }

    /// Makes the store hold at least `ciphertexts`, keeping what it has; new ones are zero.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] or [`BackendError::DoesNotFit`] with the bytes asked for.
    pub fn reserve(&self, ciphertexts: usize) -> Result<()> {
        let _growing = self.counts.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = self.stored();
        if ciphertexts > stored {
            self.device.grow(stored, ciphertexts)?;
            self.counts.stored.store(ciphertexts, Ordering::Release);
        }
        Ok(())
    }

    /// Copies whole ciphertexts into the store from index `first` on.
    ///
    /// # Errors
    /// When `words` is not a whole number of ciphertexts, or they do not fit the store.
    pub fn write(&self, first: usize, words: &[u32]) -> Result<()> {
        validate_range(self.shape(), self.stored(), first, words.len())?;
        self.device.write(first, words)
    }

    /// Copies whole ciphertexts out of the store from index `first` on,
    /// waiting for all work before.
    ///
    /// # Errors
    /// As for `write`, and any error of earlier work.
    pub fn read(&self, first: usize, words: &mut [u32]) -> Result<()> {
        block_on(self.read_async(first, words))
    }

    /// [`Engine::read`] for callers that must not block where the device can do without.
    ///
    /// # Errors
    /// As for `read`.
    pub async fn read_async(&self, first: usize, words: &mut [u32]) -> Result<()> {
        validate_range(self.shape(), self.stored(), first, words.len())?;
        self.device.read(first, words).await
    }

    /// Adds test polynomials (`N` coefficients in
    /// `[0, Q)` each) and returns the index of the first.
    ///
    /// # Errors
    /// When `polynomials` is not a whole number of polynomials or a coefficient is out of range.
    pub fn add_tables(&self, polynomials: &[u64]) -> Result<u32> {
        validate_tables(self.shape(), polynomials)?;
        let _growing = self.counts.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.tables();
        self.device.add_tables(held, polynomials)?;
        self.counts
            .tables
            .store(held + polynomials.len() / self.shape().polynomial_size, Ordering::Release);
        Ok(held as u32)
    }

    /// Puts test polynomials in the place of added ones, from index `first` on. Bootstrappings
    /// asked for before look up what was there, those asked for later what is there now, whenever
    /// the device gets to them: a caller that keeps a place only until its `bootstrap` returns
    /// never needs more places than are in use at one time.
    ///
    /// # Errors
    /// As for `add_tables`, and when the places are not among those added.
    pub fn write_tables(&self, first: u32, polynomials: &[u64]) -> Result<()> {
        validate_table_range(self.shape(), self.tables(), first, polynomials)?;
        self.device.write_tables(first as usize, polynomials)
    }

    /// Runs independent bootstrappings.
    ///
    /// # Errors
    /// What [`validate_jobs`] refuses, and failures of the device.
    pub fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()> {
        validate_jobs(self.shape(), self.stored(), self.tables(), jobs)?;
        if jobs.is_empty() { Ok(()) } else { self.device.bootstrap(jobs) }
    }

    /// Runs independent linear combinations.
    ///
    /// # Errors
    /// What [`validate_linear_jobs`] refuses, and failures of the device.
    pub fn combine(&self, jobs: &[LinearJob]) -> Result<()> {
        validate_linear_jobs(self.shape(), self.stored(), jobs)?;
        if jobs.is_empty() { Ok(()) } else { self.device.combine(jobs) }
    }

    /// Waits for all work and returns its first error, if any.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn synchronize(&self) -> Result<()> {
        block_on(self.synchronize_async())
    }

    /// [`Engine::synchronize`] for callers that must not block where the device can do without.
    ///
    /// # Errors
    /// As for `synchronize`.
    pub async fn synchronize_async(&self) -> Result<()> {
        self.device.synchronize().await
    }

    /// Waits until the device has all kernels that batches may choose from
    /// ([`Specialise`](crate::Specialise)), and says how many were waited for: from the next batch
    /// on it is as fast as it gets.
    ///
    /// # Errors
    /// When a kernel cannot be compiled, or memory runs out.
    pub fn settle(&self) -> Result<usize> {
        self.device.settle()
    }

    /// Runs one job and returns what the device held at each of `stages`;
    /// the store does not change.
    ///
    /// # Errors
    /// As `bootstrap`, and [`BackendError::Unsupported`] for a stage that the transform in use does
    /// not have.
    pub fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>> {
        validate_jobs(self.shape(), self.stored(), self.tables(), std::slice::from_ref(job))?;
        // Stages are those of the first result.
        self.device.trace(&BootstrapJob { second: None, ..*job }, stages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gadget, KeyModulus, SecretKind};

    #[test]
    fn keys_beside_others_share_their_modulus() {
        let with = |gadget| BootstrapShape {
            lwe_dimension: 4,
            log2_lwe_modulus: 9,
            polynomial_size: 256,
            glwe_dimension: 1,
            packing: 1,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget,
            key_modulus: KeyModulus::Words(vec![132_120_577]),
            log2_ks_modulus: 14,
            log2_ks_base: 4,
        };
        let raised = |log2_modulus| Gadget::ModulusRaising { log2_modulus };
        let digits = |levels| Gadget::Decomposition { log2_base: 9, levels, dropped_bits: 0 };
        assert!(check_beside(&with(digits(3)), &with(digits(2))).is_ok());
        let error = check_beside(&with(raised(16)), &with(raised(15)))
            .expect_err("another modulus")
            .to_string();
        assert!(error.contains("accumulator modulus"), "{error}");
        let wider = BootstrapShape { lwe_dimension: 5, ..with(digits(3)) };
        let error =
            check_beside(&with(digits(3)), &wider).expect_err("another dimension").to_string();
        assert!(error.contains("gadget alone"), "{error}");
    }
}
