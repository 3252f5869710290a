//! The contract between the schemes and the devices of girih.
//!
//! [`device`] is what every device has, whatever it computes. A *family* of work has a contract of
//! its own, [`bootstrap`]: a scheme crate describes *what* to compute in its nouns: a
//! [`BootstrapShape`] (the numbers that fix a kernel), a [`KeySource`] (the public keys of that
//! shape, block by block) and lists of [`BootstrapJob`]s over ciphertexts that live on the device.
//! A device crate implements [`Backend`] and the families it runs, and knows nothing of gates,
//! parameter sets or secrets.
//!
//! The seam is coarse on purpose: one call runs a whole list of bootstrappings with mixed
//! functions, so a level of a circuit is one launch on every device.
//!
//! # Invariants
//!
//! - No type of this crate can hold a secret key.
//! - Everything that enters through this contract is checked once, by [`Engine`], before a device
//!   sees it.
//! - Nothing here falls back: a device that cannot do what it is asked returns a [`BackendError`]
//!   naming the limit.
//! - Only loading, reading back and synchronizing wait; each has a form that is awaited, and the
//!   other blocks on that.

mod backend;
pub mod bootstrap;
pub mod device;
pub mod parallel;
pub mod poly;

pub use backend::Backend;
pub use bootstrap::*;
pub use device::*;
