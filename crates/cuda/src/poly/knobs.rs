//! What of the kernels' plans is measured, not derived: one table a device.

/// Choices that change how fast kernels run, never what they compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolyKnobs {
    /// Warps that a multiprocessor should hold where a warp has a row to itself: registers are
    /// divided among them.
    pub lone_warps: usize,
    /// The same where a team shares a row.
    pub team_warps: usize,
    /// Operands that are asked for before the transforms of their row are done;
    /// each takes eight registers.
    pub most_fetched: usize,
    /// Whether rows are copied ahead of their transforms.
    pub stages_rows: bool,
    /// Blocks of columns that should share a multiprocessor.
    pub column_blocks: usize,
}

impl Default for PolyKnobs {
    fn default() -> Self {
        Self {
            lone_warps: 20,
            team_warps: 16,
            most_fetched: 10,
            stages_rows: true,
            column_blocks: 2,
        }
    }
}
