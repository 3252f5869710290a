//! A device that loads everything with one plan, so that a suite can be run on a plan that nobody
//! gets by default.

use girih_backend::bootstrap::{BootstrapDevice, Loader};
use girih_backend::{
    Backend, BackendError, BootstrapShape, DeviceInfo, LoadOptions, LoadRequest, PlanRequest,
    Waiting,
};

/// `device`, with `plan` in the place of every request.
pub struct Planned<'a> {
    /// The device.
    pub device: &'a dyn Backend,
    /// Its plan.
    pub plan: PlanRequest,
}

impl Backend for Planned<'_> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        self.device.bootstrap().map(|_| self as &dyn Loader)
    }
}

impl Planned<'_> {
    fn loader(&self) -> Result<&dyn Loader, BackendError> {
        self.device.bootstrap().ok_or_else(|| BackendError::Unsupported {
            device: self.device.info().id.clone(),
            what: "bootstrappings".into(),
            why: "it has no kernels for them".into(),
        })
    }
}

impl Loader for Planned<'_> {
    fn alternatives(&self, shape: &BootstrapShape) -> Result<Vec<LoadOptions>, BackendError> {
        self.loader()?.alternatives(shape)
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>, BackendError>> {
        Box::pin(async move {
            let options = request.options.clone().with_plan(self.plan.clone()).by_model();
            self.loader()?.load(LoadRequest { options: &options, ..request }).await
        })
    }
}
