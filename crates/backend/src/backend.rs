//! One device, opened, whatever families of work it runs.

use crate::device::DeviceInfo;
use crate::{bootstrap, poly};

/// One device, opened. A family that it does not run is `None`.
pub trait Backend: Send + Sync {
    /// What this device is.
    fn info(&self) -> &DeviceInfo;

    /// What tuned plans are stored under: everything of the device and its driver that a
    /// measurement depends on.
    fn identity(&self) -> String {
        let info = self.info();
        format!("{}: {}, {}", info.kind, info.name, info.notes.join(", "))
    }

    /// Loads keys for lists of bootstrappings ([`bootstrap::LoadRequest::load`] is what calls it).
    fn bootstrap(&self) -> Option<&dyn bootstrap::Loader> {
        None
    }

    /// Opens rings for programs on polynomials ([`poly::PolyEngine::open`] is what calls it).
    fn poly(&self) -> Option<&dyn poly::Loader> {
        None
    }
}
