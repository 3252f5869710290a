//! What a device does, unchecked.

use super::{BootstrapJob, BootstrapShape, LinearJob, Stage, StageOutput};
use crate::device::{PlanReport, Waiting};
use crate::{Result, Transform};

/// What helps to work through a batch from the host in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipelining {
    /// Whether transfers run beside bootstrappings that do not touch their ciphertexts: batches are
    /// then worked through in more and smaller parts.
    /// Without it each part waits for the one before.
    pub overlaps_transfers: bool,
    /// Ciphertexts that the device works on at once:
    /// parts that are multiples of it leave nothing idle.
    pub wave: usize,
    /// The most ciphertexts of a part: a bound keeps memory small whatever the size of a batch.
    pub part: usize,
}

/// Ciphertexts of a part where the device knows no better. Each part may end with a wave that is
/// not full where nothing overlaps, so parts are as long as buffers of bounded size allow: eight
/// waves of 132 multiprocessors with four ciphertexts each.
const PART: usize = 4224;

impl Default for Pipelining {
    fn default() -> Self {
        Self { overlaps_transfers: false, wave: 1, part: PART }
    }
}

/// A device with the keys of one shape loaded, beneath an [`Engine`](super::Engine), which has
/// checked every argument: ranges lie within what has been grown to, jobs are valid and
/// independent, coefficients are in range. Calls come from several threads.
///
/// Calls take effect in the order in which they are made; all but `read` and `synchronize` may
/// return before the device has finished, and an error of theirs may then surface at the next
/// `read` or `synchronize`.
pub trait BootstrapDevice: std::any::Any + Send + Sync {
    /// The shape of the loaded keys.
    fn shape(&self) -> &BootstrapShape;

    /// The transform in use.
    fn transform(&self) -> Transform;

    /// What was planned for this shape on this device.
    fn report(&self) -> PlanReport;

    /// Makes the store, which holds `from` ciphertexts, hold `to > from`; new ones are zero.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::BackendError::OutOfMemory) or
    /// [`DoesNotFit`](crate::BackendError::DoesNotFit) with the bytes asked for; the store is then
    /// as it was.
    fn grow(&self, from: usize, to: usize) -> Result<()>;

    /// Copies whole ciphertexts into the store from index `first` on.
    ///
    /// # Errors
    /// Failures of the device.
    fn write(&self, first: usize, words: &[u32]) -> Result<()>;

    /// Copies whole ciphertexts out of the store from index `first` on, after all work before.
    ///
    /// # Errors
    /// Failures of the device, those of earlier work among them.
    fn read<'a>(&'a self, first: usize, words: &'a mut [u32]) -> Waiting<'a, Result<()>>;

    /// Adds test polynomials behind the `held` that there are.
    ///
    /// # Errors
    /// As for `grow`.
    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<()>;

    /// Puts test polynomials in the place of those from index `first` on, for bootstrappings asked
    /// for later.
    ///
    /// # Errors
    /// Failures of the device.
    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<()>;

    /// Runs bootstrappings.
    ///
    /// # Errors
    /// Failures of the device.
    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()>;

    /// Runs linear combinations.
    ///
    /// # Errors
    /// Failures of the device.
    fn combine(&self, jobs: &[LinearJob]) -> Result<()>;

    /// Waits for all work.
    ///
    /// # Errors
    /// The first failure of the device.
    fn synchronize(&self) -> Waiting<'_, Result<()>>;

    /// Waits until all kernels are there that batches may choose from, and says how many were
    /// waited for. Devices that begin without some ([`Specialise`]) implement it.
    ///
    /// # Errors
    /// When a kernel cannot be compiled, or memory runs out.
    ///
    /// [`Specialise`]: crate::Specialise
    fn settle(&self) -> Result<usize> {
        Ok(0)
    }

    /// How batches from the host are best cut.
    fn pipelining(&self) -> Pipelining {
        Pipelining::default()
    }

    /// About how long a list of so many bootstrappings takes, in a unit of the device's own: waves
    /// where it does not know better.
    fn time_of(&self, bootstrappings: usize) -> f64 {
        bootstrappings.div_ceil(self.pipelining().wave.max(1)) as f64
    }

    /// Runs one job and returns what it holds at each of `stages`; nothing is stored.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::BackendError::InvalidRequest) for a step that the rotation does
    /// not have, [`Unsupported`](crate::BackendError::Unsupported) for a stage that does not exist
    /// under this transform, and failures of the device.
    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>>;
}
