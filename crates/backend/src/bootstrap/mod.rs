//! The contract of the bootstrap family: lists of independent fused bootstrappings over ciphertexts that live on the device.

mod engine;
mod job;
mod plan;
mod shape;
mod stages;

pub use engine::{Backend, Engine, KeySource, LoadOptions, check_beside};
pub use job::{
    BootstrapJob, Combination, LinearJob, Operand, validate_jobs, validate_linear_jobs, validate_range, validate_table_range,
    validate_tables,
};
pub use plan::{AccumulatorHome, DoesNotFit, PlanRequest, TileLayout, TilePlan};
pub use shape::{BootstrapShape, Gadget, KeyModulus, SecretKind, ShapeError};
pub use stages::{Stage, StageOutput};
