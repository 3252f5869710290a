//! The contract between the schemes and the devices of girih.
//!
//! A scheme crate describes *what* to compute in the nouns of this crate: a [`BootstrapShape`] (the numbers that
//! fix a kernel), a [`KeySource`] (the public keys of that shape, block by block) and lists of [`BootstrapJob`]s
//! over ciphertexts that live on the device. A device crate implements [`Backend`] and [`Engine`] and knows nothing
//! of gates, parameter sets or secrets.
//!
//! The seam is coarse on purpose: one call runs a whole list of bootstrappings with mixed functions, so a level of a
//! circuit is one launch on every device.
//!
//! # Invariants
//!
//! - No type of this crate can hold a secret key.
//! - Everything that enters through this contract is checked by [`BootstrapShape::validate`], [`validate_jobs`] and
//!   [`validate_linear_jobs`] before a device sees it; engines call these and do not check again.
//! - Nothing here falls back: a device that cannot do what it is asked returns a [`BackendError`] naming the limit.

pub mod bootstrap;
pub mod device;
pub mod poly;

pub use bootstrap::*;
pub use device::*;
