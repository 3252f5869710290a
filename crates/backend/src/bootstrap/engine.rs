//! The two traits that a device implements, and the key stream it loads from.

use serde::{Deserialize, Serialize};

use crate::{BackendError, BootstrapJob, BootstrapShape, DeviceInfo, LinearJob, PlanRequest, Progress, Stage, StageOutput, Transform};

/// Supplies the public keys of one shape block by block, so that no device ever needs a second whole copy on the host.
///
/// Blocks may be asked for in any order and from several threads at once.
pub trait KeySource: Sync {
    /// The shape these keys are of.
    fn shape(&self) -> &BootstrapShape;

    /// Writes the bootstrapping-key block of step `index <` [`BootstrapShape::steps`]: `[GGSW][level][row K][column K][N]` with
    /// [`BootstrapShape::ggsw_per_step`] GGSW ciphertexts, coefficients in `[0, M)` for the key modulus M. `out` has [`BootstrapShape::bootstrapping_block_len`] words.
    fn bootstrapping_block(&self, index: usize, out: &mut [u64]);

    /// Writes the key-switching block of `index < kN`: `[digit][value][n + r]`, words in `[0, Q_ks)`; native torus:
    /// `[digit][n + r]`, 64-bit words.
    /// `out` has [`BootstrapShape::key_switching_block_len`] words.
    fn key_switching_block(&self, index: usize, out: &mut [u64]);
}

/// Choices made when keys are loaded; everything left open is the device's to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadOptions {
    /// The transform to use.
    pub transform: Option<Transform>,
    /// Constraints on the tile plan.
    pub plan: PlanRequest,
    /// Ask the device's model even where a tuned plan is stored.
    #[serde(default)]
    pub untuned: bool,
}

/// One device, opened.
pub trait Backend: Send + Sync {
    /// What this device is.
    fn info(&self) -> &DeviceInfo;

    /// What tuned plans are stored under: everything of the device and its driver that a measurement depends on.
    fn identity(&self) -> String {
        let info = self.info();
        format!("{}: {}, {}", info.kind, info.name, info.notes.join(", "))
    }

    /// The plans of `shape` worth measuring on this device, the model's own first, each with its transform given: what
    /// `cargo xtask tune` runs. One that turns out not to load is skipped with its reason.
    ///
    /// # Errors
    /// As `load`, for a shape that this device cannot run at all.
    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>, BackendError> {
        let _ = shape;
        Ok(vec![LoadOptions { transform: self.info().transforms.first().copied(), ..Default::default() }])
    }

    /// Loads the keys of one shape and makes them ready: transforms them, plans the tile, compiles kernels. What
    /// `options` leave open comes from a tuned plan where one is stored ([`crate::choose_plan`]).
    ///
    /// # Errors
    /// When the shape is impossible, does not fit, needs something this device lacks, or memory runs out.
    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError>;

    /// Loads a further bootstrapping key beside an engine of this backend: the new engine shares its store, its test polynomials and
    /// its key-switching table, which do not depend on the gadget. What one engine puts into the store the other finds there, and
    /// calls to either take effect in the order in which they are made. Only the bootstrapping blocks of `keys` are read: they
    /// must be of the same secrets, which no device can check.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] for an engine of another backend and as [`check_beside`]; else as `load`.
    fn load_beside(
        &self,
        engine: &(dyn Engine + 'static),
        keys: &dyn KeySource,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Engine>, BackendError>;
}

/// Refuses keys that cannot share store, test polynomials and key-switching table with a loaded shape: whose shape differs in
/// more than the gadget, or whose accumulator modulus does.
///
/// # Errors
/// [`BackendError::InvalidRequest`].
pub fn check_beside(loaded: &BootstrapShape, further: &BootstrapShape) -> Result<(), BackendError> {
    if *loaded != (BootstrapShape { gadget: loaded.gadget, ..further.clone() }) || further.is_torus() {
        return Err(BackendError::InvalidRequest(
            "keys loaded beside others must have a shape that differs from theirs in the gadget alone, on prime words".into(),
        ));
    }
    // Test polynomials hold values modulo it.
    if loaded.accumulator_modulus() != further.accumulator_modulus() {
        return Err(BackendError::InvalidRequest("keys loaded beside others must have their accumulator modulus".into()));
    }
    Ok(())
}

/// A device with the keys of one shape loaded, and a store of ciphertexts that live there.
///
/// The store is an array of CM-LWE ciphertexts of [`BootstrapShape::ciphertext_len`] 32-bit words each (mask first, then
/// bodies), addressed by index. Calls take effect in the order in which they are made; `write`, `write_tables`, `combine` and `bootstrap` may return before
/// the device has finished, and an error of theirs may then surface at the next `read` or `synchronize`.
pub trait Engine: std::any::Any + Send + Sync {
    /// The shape of the loaded keys.
    fn shape(&self) -> &BootstrapShape;

    /// The transform in use.
    fn transform(&self) -> Transform;

    /// What was planned for this shape on this device, as one flat JSON object for records; `plan_from` is the
    /// [`crate::PlanSource`].
    fn plan(&self) -> serde_json::Value;

    /// Ciphertexts the store holds now.
    fn stored(&self) -> usize;

    /// Makes the store hold at least `ciphertexts`, keeping what it has; new ones are zero.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] or [`BackendError::DoesNotFit`] with the bytes asked for.
    fn reserve(&self, ciphertexts: usize) -> Result<(), BackendError>;

    /// Copies whole ciphertexts into the store from index `first` on.
    ///
    /// # Errors
    /// When `words` is not a whole number of ciphertexts, or they do not fit the store.
    fn write(&self, first: usize, words: &[u32]) -> Result<(), BackendError>;

    /// Copies whole ciphertexts out of the store from index `first` on, waiting for all work before.
    ///
    /// # Errors
    /// As for `write`, and any error of earlier work.
    fn read(&self, first: usize, words: &mut [u32]) -> Result<(), BackendError>;

    /// Adds test polynomials (`N` coefficients in `[0, Q)` each) and returns the index of the first.
    ///
    /// # Errors
    /// When `polynomials` is not a whole number of polynomials or a coefficient is out of range.
    fn add_tables(&self, polynomials: &[u64]) -> Result<u32, BackendError>;

    /// Puts test polynomials in the place of added ones, from index `first` on. Bootstrappings asked for before look up what was
    /// there, those asked for later what is there now, whenever the device gets to them: a caller that keeps a place only until its
    /// `bootstrap` returns never needs more places than are in use at one time.
    ///
    /// # Errors
    /// As for `add_tables`, and when the places are not among those added.
    fn write_tables(&self, first: u32, polynomials: &[u64]) -> Result<(), BackendError>;

    /// Runs independent bootstrappings.
    ///
    /// # Errors
    /// What [`crate::validate_jobs`] refuses, and failures of the device.
    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<(), BackendError>;

    /// Runs independent linear combinations.
    ///
    /// # Errors
    /// What [`crate::validate_linear_jobs`] refuses, and failures of the device.
    fn combine(&self, jobs: &[LinearJob]) -> Result<(), BackendError>;

    /// Waits for all work and returns its first error, if any.
    ///
    /// # Errors
    /// Failures of the device.
    fn synchronize(&self) -> Result<(), BackendError>;

    /// Whether transfers run beside bootstrappings that do not touch their ciphertexts: batches from the host are then worked
    /// through in more and smaller parts. Without it each part waits for the one before.
    fn overlaps_transfers(&self) -> bool {
        false
    }

    /// Ciphertexts that the device works on at once: parts of a batch that are multiples of it leave nothing idle.
    fn wave(&self) -> usize {
        1
    }

    /// Devices that share the work of one call: the parts of a batch are as many times as large.
    fn devices(&self) -> usize {
        1
    }

    /// Runs one job and returns what the device held at each of `stages`; the store does not change.
    ///
    /// # Errors
    /// As `bootstrap`, and [`BackendError::Unsupported`] for a stage that the transform in use does not have.
    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>, BackendError>;
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
        let error = check_beside(&with(raised(16)), &with(raised(15))).expect_err("another modulus").to_string();
        assert!(error.contains("accumulator modulus"), "{error}");
        let wider = BootstrapShape { lwe_dimension: 5, ..with(digits(3)) };
        let error = check_beside(&with(digits(3)), &wider).expect_err("another dimension").to_string();
        assert!(error.contains("gadget alone"), "{error}");
    }
}
