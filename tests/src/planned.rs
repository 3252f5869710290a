//! A device that loads every key with a plan of the caller's choice.

use girih_backend::{Backend, BackendError, DeviceInfo, Engine, KeySource, LoadOptions, PlanRequest, Progress};

/// `device`, with `plan` in place of what callers ask for.
pub struct Planned<'a> {
    /// The device.
    pub device: &'a dyn Backend,
    /// The plan.
    pub plan: PlanRequest,
}

impl Backend for Planned<'_> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError> {
        self.device.load(keys, &LoadOptions { plan: self.plan.clone(), ..options.clone() }, progress)
    }
}
