//! The poly family on CUDA: schedules of three fused kernels, `cuda/poly/*.cu`.
//!
//! Modules import only what stands above them here, a test (`tests/house.rs`) sees to it:
//!
//! | module | what |
//! |---|---|
//! | `knobs` | what is measured, not derived |
//! | `memory` | device memory that is handed out again |
//! | `tables` | primes and factors of transforms, in the order in which kernels read them |
//! | `limbs` | where the limbs of a schedule lie, as places in a call's table of bases |
//! | `arguments` | the structs that kernels take, the records that they read, opcodes |
//! | `source` | what kernels include, and the constants that fix them |
//! | `launch` | a launch, ready but for the number of calls |
//! | `shape` | what tiles of rows have in common, as text of a kernel; the rest as records |
//! | `row_layout` | how rows lie in a block's memory, and who works on them |
//! | `row_records` | tiles of rows by shape, and their records |
//! | `column_analysis` | when sums and conversions of a tile of columns are ready |
//! | `column_factors` | what columns are transformed by, for each prime |
//! | `column_plan` | what a tile of columns computes: places, phases, matrices |
//! | `column_layout` | how tiles of columns lie in a block's memory |
//! | `column_records` | tiles of columns as records |
//! | `rows`, `pointwise`, `columns`, `masks` | launch the kernels of that name |
//! | `routine` | a schedule as launches |
//! | `kernels` | what was compiled, once for all threads |
//! | `background` | kernels that are compiled while routines run by others |
//! | `device` | [`girih_backend::poly::PolyDevice`]: buffers, residents, routines, graphs |
//! | `loader` | rings opened on a GPU, or on the host in its place |
//!
//! A kernel is compiled for what its tiles do: how many transforms, which products of what. Where
//! operands lie, primes and constants are data. Kernels are therefore few, and any schedule runs.
//! Where a text would have too many products, these are data, too: `shape/steps.rs`.
//!
//! Tiles of columns of the conjugation-invariant ring have launches of their own: columns go in
//! pairs there (`place_of_slot` of `cuda/poly/column_tile.cuh`), and the constant `INVARIANT` says
//! so to both kernels. Rows differ in their factors alone; limbs of the other ring are reads of
//! their own form (`ReadForm::Viewed`). Texts for other rings compile to what they would without.
//!
//! There are two tiers of kernels (`routine::Tier`). In the general one all sums are lists of steps
//! of any kinds, groups of columns have room for whatever there is, and one text of rows and one of
//! columns serve every schedule of a degree. A routine begins with these, and changes over to those
//! of its own shapes when `background` has compiled them (`device/tiers.rs`).

pub(crate) mod arguments;
pub(crate) mod background;
pub(crate) mod column_analysis;
pub(crate) mod column_factors;
pub(crate) mod column_layout;
pub(crate) mod column_plan;
pub(crate) mod column_records;
pub(crate) mod columns;
pub(crate) mod device;
pub(crate) mod kernels;
pub(crate) mod knobs;
pub(crate) mod launch;
pub(crate) mod limbs;
pub(crate) mod loader;
pub(crate) mod masks;
pub(crate) mod memory;
pub(crate) mod pointwise;
pub(crate) mod routine;
pub(crate) mod row_layout;
pub(crate) mod row_records;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod source;
pub(crate) mod tables;

pub use knobs::PolyKnobs;
pub use routine::{general_sources, general_sources_of, kernel_sources};
pub use row_layout::plan;

use crate::runtime::machine::Queue;

/// The number of the family.
const FAMILY: u8 = 1;

/// Everything of this family runs in one queue, in the order in which it is called.
pub(crate) const PROGRAMS: Queue = Queue::new(FAMILY, 0, "programs", 0);

/// log2 of the smallest degree.
pub(crate) const LEAST_LOG2_DEGREE: u32 = 3;
/// log2 of the words of a row.
pub(crate) fn log2_row(log2_degree: u32) -> u32 {
    log2_degree.min(10)
}
