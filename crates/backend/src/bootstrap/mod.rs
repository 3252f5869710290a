//! The contract of the bootstrap family: lists of independent fused bootstrappings over ciphertexts
//! that live on the device.
//!
//! Callers load keys with a [`LoadRequest`] and talk to an [`Engine`]; devices implement [`Loader`]
//! and [`BootstrapDevice`].

mod device;
mod engine;
mod job;
mod load;
mod loader;
mod plan;
mod shape;
mod stages;
pub mod synthetic;
mod transform_words;

pub use device::{BootstrapDevice, Pipelining};
pub use engine::{Engine, check_beside};
pub use job::{
    BootstrapJob, Combination, LinearJob, Operand, SecondOutput, validate_jobs,
    validate_linear_jobs, validate_range, validate_table_range, validate_tables,
};
pub use loader::{KeySource, LoadOptions, LoadRequest, Loader, choose_plan, other_backend};
pub use plan::{PlanRequest, tile_of_groups, tile_of_subgroups};
pub use shape::{BootstrapShape, Gadget, KeyModulus, SecretKind};
pub use stages::{Stage, StageOutput};
