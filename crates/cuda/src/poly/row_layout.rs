//! How rows lie in a block's memory, and who works on them.

use crate::poly::knobs::PolyKnobs;
use crate::poly::launch::blocks_of;
use crate::poly::log2_row;
use crate::poly::shape::{NormalTile, RowShape};
use girih_backend::DeviceLimits;
use girih_backend::poly::PolyPlan;

/// Bytes of a padded row, and what a team needs beside its rows.
pub(crate) const ROW_BYTES: usize = 4608;
pub(crate) const TEAM_BYTES: usize = 12 << 10;
/// Words of a prime in a team's memory.
const PRIME_WORDS: usize = 12;
/// Teams of one warp that share a block.
const LONE_TEAMS: usize = 4;

/// What `lower` should assume of a device with these limits.
pub fn plan(limits: &DeviceLimits) -> PolyPlan {
    let rows = limits.workgroup_memory_bytes.saturating_sub(TEAM_BYTES) / ROW_BYTES;
    PolyPlan {
        most_row_slots: rows.clamp(2, PolyPlan::default().most_row_slots),
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
        (self.operands * 4 + PRIME_WORDS + self.constants * 2 + factors + self.buffers * buffer)
            .next_multiple_of(4)
    }
}

/// Each warp of a team takes a row of its own where a row has one transform, and there are as many
/// rows.
pub(crate) fn is_alone(shape: &RowShape, team: usize, rows: usize) -> bool {
    shape.team() == 1 && rows >= team
}

/// How many warps share a row, what they hold, and how many blocks a multiprocessor has room for.
pub(crate) struct TeamPlan {
    pub warps: usize,
    pub teams: usize,
    pub size: TeamSize,
    pub shared_bytes: usize,
    pub blocks: usize,
}

impl TeamPlan {
    pub fn new(
        limits: &DeviceLimits,
        knobs: &PolyKnobs,
        shapes: &[(RowShape, Vec<NormalTile>)],
        log2_degree: u32,
        team: usize,
    ) -> Self {
        let most =
            |of: &dyn Fn(&RowShape) -> usize| shapes.iter().map(|(s, _)| of(s)).max().unwrap_or(0);
        let rows = 1usize << (log2_degree - log2_row(log2_degree));
        let teams = if team == 1 { LONE_TEAMS } else { 1 };
        let copies = |s: &RowShape| if is_alone(s, team, rows) { team } else { 1 };
        let size = TeamSize {
            operands: most(&RowShape::operands).max(1),
            constants: most(&RowShape::constants).next_multiple_of(2).max(2),
            buffers: most(&|s| s.buffers() * copies(s)),
            parts: most(&copies),
        };
        let shared_bytes = 4 * teams * size.words(log2_degree);
        let warps = if team == 1 { knobs.lone_warps } else { knobs.team_warps };
        let wanted = (warps / (team * teams)).max(1);
        let blocks = wanted.min(blocks_of(limits, shared_bytes)).max(1);
        Self { warps: team, teams, shared_bytes, size, blocks }
    }
}
