//! How rows lie in a block's memory, and who works on them.

use crate::poly::arguments::{OperandRecord, words};
use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::blocks_of;
use crate::poly::log2_row;
use crate::poly::shape::{NormalTile, RowShape};
use crate::poly::tables::Prime;
use girih_backend::poly::PolyPlan;
use girih_backend::{BackendError, DeviceLimits};

/// Bytes of a padded row, and what a team needs beside its rows.
pub(crate) const ROW_BYTES: usize = 4608;
pub(crate) const TEAM_BYTES: usize = 12 << 10;
/// Teams of one warp that share a block.
const LONE_TEAMS: usize = 4;

/// Warps that share a row in the kernel for any tiles, blocks of it that a multiprocessor should
/// hold, and operands that it has room for at least.
const GENERAL_WARPS: usize = 8;
const GENERAL_BLOCKS: usize = 3;
const LEAST_OPERANDS: usize = 64;

/// The least log2 N at which sums that rows read under automorphisms are formed there. In smaller
/// rings it is faster to store them (docs/experiments.md).
const LEAST_TURNED: u32 = 16;

/// What `lower` should assume of a device with these limits, for polynomials of this degree.
pub fn plan(limits: &DeviceLimits, log2_degree: u32) -> PolyPlan {
    let rows = limits.workgroup_memory_bytes.saturating_sub(TEAM_BYTES) / ROW_BYTES;
    PolyPlan {
        most_row_slots: rows.clamp(2, PolyPlan::default().most_row_slots),
        turn_operands: log2_degree >= LEAST_TURNED,
        ..PolyPlan::default()
    }
}

/// Bytes of shared memory of a team, as `TeamMemory` of the kernel.
pub(crate) struct TeamSize {
    pub operands: usize,
    pub constants: usize,
    pub buffers: usize,
    pub parts: usize,
}

impl TeamSize {
    pub fn words(&self, log2_degree: u32) -> usize {
        let row = 1usize << log2_row(log2_degree);
        let buffer = (row - 4) / 32 * 36 + (row - 4) % 32 + 4;
        let factors = if row < 1024 { 0 } else { self.parts * 224 };
        let held = words::<OperandRecord>() * self.operands + words::<Prime>() + self.constants * 2;
        (held + factors + self.buffers * buffer).next_multiple_of(4)
    }
}

/// How many warps share a row, what they hold, and how many blocks a multiprocessor has room for.
pub(crate) struct TeamPlan {
    pub warps: usize,
    pub teams: usize,
    pub size: TeamSize,
    pub shared_bytes: usize,
    pub blocks: usize,
    /// Rows of a limb.
    pub rows: usize,
}

/// Each warp of a team takes a row of its own where a row has one transform, and there are as many
/// rows.
fn is_alone(shape: &RowShape, warps: usize, rows: usize) -> bool {
    shape.team() == 1 && rows >= warps
}

impl TeamPlan {
    /// The plan of tiles of these shapes.
    ///
    /// # Errors
    /// Where a block has no memory for their rows.
    pub fn fitting(
        limits: &DeviceLimits,
        knobs: &PolyKnobs,
        shapes: &[(RowShape, Vec<NormalTile>)],
        log2_degree: u32,
    ) -> Result<Self, BackendError> {
        let most =
            |of: &dyn Fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
        let mut team = Self::new(limits, knobs, shapes, log2_degree, most(&RowShape::team));
        let widens = most(&RowShape::transforms) > 4 && knobs.wide_teams;
        if widens && team.blocks * team.warps < knobs.team_warps {
            team = Self::new(limits, knobs, shapes, log2_degree, 2 * team.warps);
        }
        if team.shared_bytes > limits.workgroup_memory_bytes {
            return Err(BackendError::InvalidRequest(format!(
                "a tile of rows with {} rows in memory needs {} bytes of a block, which has {}: \
                 lower with fewer row slots",
                team.size.buffers, team.shared_bytes, limits.workgroup_memory_bytes
            )));
        }
        Ok(team)
    }

    fn new(
        limits: &DeviceLimits,
        knobs: &PolyKnobs,
        shapes: &[(RowShape, Vec<NormalTile>)],
        log2_degree: u32,
        warps: usize,
    ) -> Self {
        let most =
            |of: &dyn Fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
        let rows = 1usize << (log2_degree - log2_row(log2_degree));
        let teams = if warps == 1 { LONE_TEAMS } else { 1 };
        let copies = |s: &RowShape| if is_alone(s, warps, rows) { warps } else { 1 };
        let size = TeamSize {
            operands: most(&RowShape::operands).max(1),
            constants: most(&RowShape::constants).next_multiple_of(2).max(2),
            buffers: most(&|s| s.buffers() * copies(s)),
            parts: most(&copies),
        };
        let shared_bytes = 4 * teams * size.words(log2_degree);
        let wanted = if warps == 1 { knobs.lone_warps } else { knobs.team_warps };
        let wanted = (wanted / (warps * teams)).max(1);
        let blocks = wanted.min(blocks_of(limits, shared_bytes)).max(1);
        Self { warps, teams, size, shared_bytes, blocks, rows }
    }

    /// The plan of the kernel for any tiles. Where its rows lie is no part of its text.
    pub fn general(shapes: &[(RowShape, Vec<NormalTile>)], log2_degree: u32) -> Self {
        let most =
            |of: &dyn Fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
        let operands = most(&RowShape::operands).next_power_of_two().max(LEAST_OPERANDS);
        let size = |buffers| TeamSize { operands, constants: 2, buffers, parts: 1 };
        Self {
            warps: GENERAL_WARPS,
            teams: 1,
            size: size(1),
            shared_bytes: 4 * size(most(&RowShape::buffers).max(1)).words(log2_degree),
            blocks: GENERAL_BLOCKS,
            rows: 1usize << (log2_degree - log2_row(log2_degree)),
        }
    }

    /// Whether each warp of the team has a row of such a shape to itself.
    pub fn is_alone(&self, shape: &RowShape) -> bool {
        is_alone(shape, self.warps, self.rows)
    }

    /// Rows of such a shape that a team has at once.
    pub fn copies(&self, shape: &RowShape) -> usize {
        if self.is_alone(shape) { self.warps } else { 1 }
    }
}
