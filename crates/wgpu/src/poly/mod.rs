//! The poly family in WGSL: schedules of three fused kernels, `shaders/poly/*.wgsl`.
//!
//! Modules import only what stands above them here, a test (`tests/house.rs`) sees to it:
//!
//! | module | what |
//! |---|---|
//! | `records` | what records say: the codes that encoders and kernels share |
//! | `kernels` | the kernels of a ring, generated, compiled once a device |
//! | `check` | the same without a device: validated and translated |
//! | `tables` | roots of unity and constants of every prime |
//! | `memory` | device memory in few buffers, handed out in pieces |
//! | `slots` | which of a thread's slots holds what, by lifetime |
//! | `limbs` | limbs by number, and the tiles that name them |
//! | `products` | what two sums of a tile of rows have in common |
//! | `row_records` | tiles of `poly_rows` and `poly_pointwise` as records |
//! | `column_steps` | the steps of a tile of `poly_columns`, in order |
//! | `column_records` | the same as records |
//! | `routine` | a schedule as records |
//! | `segments` | which tiles run as one dispatch |
//! | `script` | a routine's dispatches for the memory that there is |
//! | `device` | [`girih_backend::poly::PolyDevice`]: buffers, residents, routines |
//! | `loader` | rings opened on an adapter |
//!
//! What a tile does is data: a workgroup runs its list of loads, conversions, sums and stores, each
//! thread on four words. Drivers compile a kernel for a degree, not for a shape of tile, so that
//! any schedule runs on a handful of pipelines.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod check;
pub(crate) mod column_records;
pub(crate) mod column_steps;
pub(crate) mod device;
pub(crate) mod kernels;
pub(crate) mod limbs;
pub(crate) mod loader;
pub(crate) mod memory;
pub(crate) mod products;
pub(crate) mod records;
pub(crate) mod routine;
pub(crate) mod row_records;
pub(crate) mod script;
pub(crate) mod segments;
pub(crate) mod slots;
pub(crate) mod tables;
#[cfg(test)]
mod tests;

/// log2 of the smallest degree, of which two threads have a half each, and of the largest.
pub(crate) const LOG2_DEGREES: std::ops::RangeInclusive<u32> = 3..=17;

/// log2 of the words of a row.
pub(crate) fn log2_row(log2_degree: u32) -> u32 {
    log2_degree.min(10)
}
