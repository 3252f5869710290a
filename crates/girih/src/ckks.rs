//! Approximate arithmetic on encrypted vectors of real and complex numbers.
//!
//! ```
//! use girih::ckks::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10")?;
//! # /*
//! let set = CkksParameters::by_name("CKKS_D40")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let kinds = [Some(KeyKind::Multiplication), KeyKind::rotation(&set, 1)];
//! let keys = EvaluationKeys::generate(&client, kinds.into_iter().flatten(), &NoProgress)?;
//!
//! let device = Device::open("cpu")?;
//! let server = device.load(&keys)?;
//!
//! let x = server.upload(&[client.encrypt(&[0.5, -0.25, 0.125, 1.0])?])?;
//! let y = server.mul(&x, &server.rotate(&x, 1)?)?;
//! let y = client.decrypt_real(&server.download(&y)?[0])?;
//! for (got, want) in y.iter().zip([-0.125, -0.03125, 0.125, 0.5]) {
//!     assert!((got - want).abs() < 1e-6);
//! }
//! # Ok(())
//! # }
//! ```

use crate::device::{BackendError, Device, LoadKeys, LoadOptions, Progress};

#[doc(inline)]
pub use girih_ckks::*;

/// What a CKKS program needs, [`Device`] included.
pub mod prelude {
    pub use crate::device::prelude::*;
    pub use girih_ckks::{
        CkksParameters, ClientKey, Complex64, EvaluationKeys, KeyKind, PublicKey,
        approximation::{CompositeSign, Polynomial},
        server::{Bootstrapping, Builder, Ciphertexts, LinearMap, Matrix, Options, ServerKey},
    };
}

impl LoadKeys for EvaluationKeys {
    type Server = server::ServerKey;
    type Error = Error;

    /// Transforms and tiles are choices of other schemes: options that name one are refused.
    fn load_on(&self, device: &Device, options: &LoadOptions, progress: &dyn Progress) -> Result<server::ServerKey> {
        if *options != LoadOptions::default() {
            let why = "transforms and tile plans are options of TFHE keys: leave them out";
            return Err(Error::Backend(BackendError::InvalidRequest(why.into())));
        }
        server::ServerKey::load(device.backend(), self, &server::Options::default(), progress)
    }
}
