//! A request of keys, on a device.

use super::{Engine, LoadRequest, check_beside};
use crate::device::block_on;
use crate::{Backend, BackendError, Result};

impl LoadRequest<'_> {
    /// Loads the keys on `device` and makes them ready: transforms them, plans the tile, compiles
    /// kernels. What the options leave open comes from a tuned plan where one
    /// is stored ([`choose_plan`](super::choose_plan)).
    ///
    /// # Errors
    /// When the shape is impossible, does not fit, needs something this device lacks, or memory
    /// runs out; [`BackendError::InvalidRequest`] as [`check_beside`] and beside an engine
    /// of another device.
    pub fn load(self, device: &dyn Backend) -> Result<Engine> {
        block_on(self.load_async(device))
    }

    /// [`LoadRequest::load`] for callers that must not block where the device can do without.
    ///
    /// # Errors
    /// As [`LoadRequest::load`].
    pub async fn load_async(self, device: &dyn Backend) -> Result<Engine> {
        let loader = device.bootstrap().ok_or_else(|| BackendError::Unsupported {
            device: device.info().id.clone(),
            what: "bootstrappings".into(),
            why: "it has no kernels for them; open another device".into(),
        })?;
        let shape = self.keys.shape();
        shape.validate()?;
        if let Some(engine) = self.beside {
            check_beside(engine.shape(), shape)?;
        }
        Ok(Engine::beside(loader.load(self).await?, self.beside))
    }
}
