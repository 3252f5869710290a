//! Boolean gates and look-up tables on encrypted bits and small messages.

use crate::device::{Device, LoadKeys, LoadOptions, Progress};

#[doc(inline)]
pub use girih_tfhe::*;

/// What a program of this scheme alone needs: [`crate::prelude`], and keys and gates by their
/// short names.
pub mod prelude {
    pub use super::{ClientKey, EvaluationKeys, Gate, PublicKey, ServerKey};
    pub use crate::prelude::*;
}

impl LoadKeys for EvaluationKeys {
    type Server = ServerKey;
    type Error = Error;

    fn load_on(
        &self,
        device: &Device,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<ServerKey> {
        ServerKey::load(device.backend(), self, options, progress)
    }
}

impl LoadKeys for large::LargeKeys {
    type Server = large::LargeServer;
    type Error = Error;

    fn load_on(
        &self,
        device: &Device,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<large::LargeServer> {
        large::LargeServer::load(device.backend(), self, options, progress)
    }
}
