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

mod cache;
mod device;
mod engine;
mod error;
mod job;
mod plan;
pub mod poly;
mod shape;
pub mod timeline;
mod tune;

pub use cache::{cache_folder, cache_key, write_cache_file};
pub use device::{DeviceInfo, DeviceKind, DeviceLimits, Transform};
pub use engine::{Backend, Engine, KeySource, LoadOptions, NoProgress, Progress, Stage, StageOutput, check_beside};
pub use error::BackendError;
pub use job::{
    BootstrapJob, Combination, LinearJob, Operand, validate_jobs, validate_linear_jobs, validate_range, validate_table_range,
    validate_tables,
};
pub use plan::{AccumulatorHome, DoesNotFit, PlanRequest, TileLayout, TilePlan};
pub use shape::{BootstrapShape, Gadget, KeyModulus, SecretKind, ShapeError};
pub use tune::{PlanSource, TunedPlan, TunedPlans, choose_plan};
