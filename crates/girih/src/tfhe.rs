//! Boolean gates and look-up tables on encrypted bits and small messages.

use crate::device::{Device, LoadKeys, LoadOptions, Progress};

#[doc(inline)]
pub use girih_tfhe::*;

/// What computes on a client's bits and messages, with that client's evaluation keys.
///
/// ```
/// use girih::tfhe::prelude::*;
///
/// # fn main() -> girih::Result<()> {
/// # let client = ClientKey::generate(&ParameterSet::by_name("INSECURE_TOY")?)?;
/// # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
/// let server = Device::open("cpu")?.load(&keys)?;
///
/// // On the host: carried to the device and back.
/// let a = client.encrypt_bits(&[true, true, false])?;
/// let b = client.encrypt_bits(&[true, false, false])?;
/// let both = server.gate(Gate::And, &a, &b)?;
///
/// // On the device: what stays there between calls.
/// let (a, b) = (server.upload(&a)?, server.upload(&b)?);
/// let differ = server.gate(Gate::Xor, &a, &b)?;
/// let neither = server.gate(Gate::Nor, &differ, &server.upload(&both)?)?;
/// assert_eq!(client.decrypt_bits(&server.download(&neither)?)?, [false, false, true]);
/// # Ok(())
/// # }
/// ```
#[doc(inline)]
pub use girih_tfhe::ServerKey;

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
