//! Fully homomorphic encryption on any GPU: compute on data that stays encrypted.
//!
//! The owner of the data makes a [`ClientKey`] and [`EvaluationKeys`]; whoever computes loads the latter on a [`Device`]
//! as a [`ServerKey`] and runs gates and look-up tables on batches of ciphertexts, on the host or resident on the device.
//!
//! ```
//! use girih::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let set = ParameterSet::by_name("INSECURE_TOY")?;
//! # /*
//! let set = ParameterSet::by_name("STD128")?;
//! # */
//! let client = ClientKey::generate(&set)?;
//! let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//!
//! let device = Device::open("auto")?;
//! let server = ServerKey::load(device.backend(), &keys, &LoadOptions::default(), &NoProgress)?;
//!
//! let a = client.encrypt_bits(&[false, false, true, true])?;
//! let b = client.encrypt_bits(&[false, true, false, true])?;
//! let c = server.gate(Gate::Nand, &a, &b)?;
//! assert_eq!(client.decrypt_bits(&c)?, [true, true, true, false]);
//! # Ok(())
//! # }
//! ```
//!
//! Messages of several bits go through look-up tables ([`LookUpTable`], [`Function`]); messages of up to 21 bits are compared,
//! rounded, taken apart and rectified by the functions of [`large`].
//!
//! A gate refreshes the noise of its result, so gates may be chained without end. [`ParameterSet::security`] says how
//! secure a set is and by which estimate; [`NoiseModel`] says how likely a wrong output is.

mod device;

pub use device::{DEVICE_VARIABLE, Device, DeviceEnumeration};
pub use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, DeviceInfo, DeviceKind, DeviceLimits, Engine, KeySource, LinearJob,
    LoadOptions, NoProgress, Operand, PlanRequest, PlanSource, Progress, Stage, Transform, TunedPlan, TunedPlans,
};
pub use girih_circuit as circuit;
pub use girih_tfhe::{
    Batch, ClientKey, DeviceCiphertexts, Error, EvaluationKeys, Function, FunctionKind, Gate, LookUpTable, LweCiphertexts, NoiseModel,
    ParameterLiteral, ParameterSet, Result, Security, ServerKey, large, noise,
};

/// What most programs need.
pub mod prelude {
    pub use crate::{
        ClientKey, Device, DeviceCiphertexts, EvaluationKeys, Function, FunctionKind, Gate, LoadOptions, LookUpTable, LweCiphertexts,
        NoProgress, NoiseModel, ParameterSet, Progress, ServerKey, Transform,
        large::{LargeKeys, LargeOperation, LargeParameters, LargeServer},
    };
}
