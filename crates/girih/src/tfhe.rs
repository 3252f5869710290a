//! Boolean gates and look-up tables on encrypted bits and small messages.

use crate::device::{Device, LoadKeys, LoadOptions, Progress};

#[doc(inline)]
pub use girih_tfhe::*;

/// What a TFHE program needs, [`Device`] included.
pub mod prelude {
    pub use crate::device::prelude::*;
    pub use girih_tfhe::{
        ClientKey, DeviceCiphertexts, EvaluationKeys, Function, FunctionKind, Gate, KeyId,
        LookUpTable, LweCiphertexts, NoiseModel, ParameterSet, ServerKey,
        large::{LargeKeys, LargeOperation, LargeParameters, LargeServer},
    };
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
