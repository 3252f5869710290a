//! A device that loads everything with one plan, so that a suite can be run on a plan that nobody gets by default.

use girih_backend::{Backend, BackendError, DeviceInfo, Engine, KeySource, LoadOptions, PlanRequest, Progress};

/// `device`, with `plan` in the place of every request.
pub struct Planned<'a> {
    /// The device.
    pub device: &'a dyn Backend,
    /// Its plan.
    pub plan: PlanRequest,
}

impl Planned<'_> {
    fn options(&self, options: &LoadOptions) -> LoadOptions {
        LoadOptions { plan: self.plan.clone(), untuned: true, ..options.clone() }
    }
}

impl Backend for Planned<'_> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn load(&self, keys: &dyn KeySource, options: &LoadOptions, progress: &dyn Progress) -> Result<Box<dyn Engine>, BackendError> {
        self.device.load(keys, &self.options(options), progress)
    }

    fn load_beside(
        &self,
        engine: &(dyn Engine + 'static),
        keys: &dyn KeySource,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Engine>, BackendError> {
        self.device.load_beside(engine, keys, &self.options(options), progress)
    }
}
