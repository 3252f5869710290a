//! How tiles of columns lie in a block's memory, and which outputs `poly_columns` computes at once.

use crate::poly::arguments::{
    ConversionRecord, IN_PADDING, LoadRecord, OutputRecord, PhaseRecord, SourceRecord, TileHeader,
    words,
};
use crate::poly::column_plan::{CORRECTIONS, ColumnPlan, Output, Phase, PreparedConversion};
use crate::poly::launch::blocks_of;
use crate::poly::log2_row;
use girih_backend::DeviceLimits;
use std::collections::BTreeSet;

/// Outputs that matrix units compute together.
pub const GROUP: usize = 8;
/// Sources of one step of matrix units, and most of a group.
pub const STEP_SOURCES: usize = 8;
pub const MOST_SOURCES: usize = 32;

/// Sizes that the fast kernel's text derives from the degree.
#[derive(Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Points of a column.
    pub points: usize,
    /// Words of a limb's tile.
    pub tile: usize,
    /// Whether columns go in pairs, which the conjugation-invariant ring folds.
    pub invariant: bool,
}

/// How the tiles of a launch lie in a block's memory.
pub struct Layout {
    /// Steps of matrix units that a group takes at most.
    pub steps: usize,
    /// Words of the longest record of a tile, and where it lies.
    pub record_words: usize,
    pub record_at: usize,
    pub shared_bytes: usize,
}

/// Words of a conversion's record.
pub fn conversion_words(conversion: &PreparedConversion) -> usize {
    words::<ConversionRecord>() + words::<SourceRecord>() * conversion.sources.len()
}

/// Words of a tile's record.
pub fn record_words(plan: &ColumnPlan) -> usize {
    let conversions = plan.phases.iter().flat_map(|p| &p.conversions);
    words::<TileHeader>()
        + words::<LoadRecord>() * plan.loads.len()
        + words::<PhaseRecord>() * plan.phases.len()
        + conversions.map(conversion_words).sum::<usize>()
}

/// Words of a row of a tile that is narrowed though a wider one would fit: a sector of memory.
const LEAST_WIDTH: usize = 8;
/// Words of a limb's tile, the best first: narrower tiles reach memory in shorter pieces.
pub const TILES: [usize; 3] = [1024, 512, 256];
/// Those of the kernel for any plan, and the steps that every group fits.
const GENERAL_TILES: [usize; 2] = [512, 256];
/// Columns in pairs are wider: those of the longest fit the first tile only.
const GENERAL_PAIR_TILES: [usize; 3] = [512, 256, 1024];
pub const GENERAL_STEPS: usize = MOST_SOURCES / STEP_SOURCES;

/// Words of a limb's tile of the kernel for any plan, the best first.
pub fn general_tiles(invariant: bool) -> &'static [usize] {
    if invariant { &GENERAL_PAIR_TILES } else { &GENERAL_TILES }
}

impl Geometry {
    pub fn new(log2_degree: u32, tile: usize, invariant: bool) -> Option<Self> {
        let points = 1usize << (log2_degree - log2_row(log2_degree));
        // Units of four words, and those that they are folded with.
        let least = if invariant { 8 } else { 4 };
        let fits = (16..=128).contains(&points) && tile >= least * points;
        fits.then_some(Self { points, tile, invariant })
    }

    /// The widest tile of which a plan's limbs fit a block.
    pub fn fitting(log2_degree: u32, plan: &ColumnPlan, limits: &DeviceLimits) -> Option<Self> {
        Self::first_fitting(&TILES, log2_degree, plan, limits, 1)
    }

    /// The tile of the kernel for any plan: one of few, that nearly all fit.
    pub fn general(log2_degree: u32, plan: &ColumnPlan, limits: &DeviceLimits) -> Option<Self> {
        let tiles = general_tiles(plan.invariant);
        Self::first_fitting(tiles, log2_degree, plan, limits, GENERAL_STEPS)
    }

    fn first_fitting(
        tiles: &[usize],
        log2_degree: u32,
        plan: &ColumnPlan,
        limits: &DeviceLimits,
        least_steps: usize,
    ) -> Option<Self> {
        let fits = |g: &Self| {
            let bytes = g.layout(std::iter::once(plan), least_steps).shared_bytes;
            g.holds_factors(plan) && blocks_of(limits, bytes) > 0
        };
        let new = |&tile: &usize| Self::new(log2_degree, tile, plan.invariant);
        tiles.iter().filter_map(new).find(fits)
    }

    /// Half as wide, if that reaches memory in pieces of at least [`LEAST_WIDTH`] words.
    pub fn narrower(self) -> Option<Self> {
        let half = Self { tile: self.tile / 2, ..self };
        (half.width() >= LEAST_WIDTH).then_some(half)
    }

    /// Tiles of a limb.
    pub fn parts(&self) -> usize {
        1024 / self.width()
    }

    /// Words of a place.
    pub fn slot_words(&self) -> usize {
        self.points * (self.width() + 4) + 4
    }

    /// Words of a row of a tile.
    pub fn width(&self) -> usize {
        self.tile / self.points
    }

    pub fn factor_words(&self) -> usize {
        2 * self.points
    }

    pub fn group_words(&self, steps: usize) -> usize {
        let each = self.factor_words() + words::<OutputRecord>();
        steps * 256 + steps * STEP_SOURCES + GROUP * each + 4
    }

    /// Corrections that find room in the padding of places.
    pub fn padded_corrections(&self, plan: &ColumnPlan) -> u32 {
        plan.places / (self.width() / 4) as u32
    }

    /// Places of a plan, those of corrections that find no other room included.
    pub fn places(&self, plan: &ColumnPlan) -> usize {
        (plan.places + plan.corrections.saturating_sub(self.padded_corrections(plan))) as usize
    }

    /// The place of a correction for kernels: marked and in words where it lies in padding.
    pub fn correction(&self, plan: &ColumnPlan, place: u32) -> u32 {
        let number = place - CORRECTIONS;
        match number.checked_sub(self.padded_corrections(plan)) {
            None => {
                IN_PADDING
                    | (number as usize * (self.width() / 4) * self.slot_words() + self.width())
                        as u32
            }
            Some(over) => plan.places + over,
        }
    }

    /// The offset of a source.
    pub fn source(&self, plan: &ColumnPlan, place: u32) -> u32 {
        let place = if place < CORRECTIONS { place } else { self.correction(plan, place) };
        if place & IN_PADDING != 0 { place } else { place * self.slot_words() as u32 }
    }

    /// How tiles of these plans lie in a block's memory: outputs that are staged, two groups,
    /// places, and the record, which takes no room of its own where it is read before the first
    /// output is staged. Groups have room for `least_steps` at least.
    pub fn layout<'a>(
        &self,
        plans: impl Iterator<Item = &'a ColumnPlan> + Clone,
        least_steps: usize,
    ) -> Layout {
        let most = |of: &dyn Fn(&ColumnPlan) -> usize| plans.clone().map(of).max().unwrap_or(0);
        let steps = most(&|p| p.phases.iter().map(|p| steps_of(&groups(p))).max().unwrap_or(1));
        let steps = steps.max(least_steps);
        let record_words = most(&record_words);
        let staged = GROUP * self.slot_words();
        let factors = most(&|p| p.loads.len() * self.factor_words());
        let end =
            staged + most(&|p| self.places(p)) * self.slot_words() + 2 * self.group_words(steps);
        let has_room = most(&|p| p.phases.len()) <= 1 && factors + record_words <= staged;
        let (record_at, end) = if has_room { (factors, end) } else { (end, end + record_words) };
        Layout { steps, record_words, record_at, shared_bytes: 4 * end }
    }

    /// Whether the factors of a plan's loads find room where its outputs are staged later.
    pub fn holds_factors(&self, plan: &ColumnPlan) -> bool {
        plan.loads.len() * self.factor_words() <= GROUP * self.slot_words()
    }
}

/// The outputs of a phase in groups of eight or fewer: half transformed ones apart, no more sources
/// than fit, and last what may take the place of a source.
pub fn groups(phase: &Phase) -> Vec<Vec<&Output>> {
    let mut groups: Vec<Vec<&Output>> = Vec::new();
    for half in [true, false] {
        let mut group: Vec<&Output> = Vec::new();
        let mut sources = BTreeSet::new();
        let stored = phase.outputs.iter().filter(|o| o.is_half() == half && o.kept.is_none());
        let kept = phase.outputs.iter().filter(|o| o.is_half() == half && o.kept.is_some());
        for output in stored.chain(kept) {
            let own: BTreeSet<u32> = output.sources.iter().map(|s| s.0).collect();
            let union: BTreeSet<u32> = sources.union(&own).copied().collect();
            if !group.is_empty() && (group.len() == GROUP || union.len() > MOST_SOURCES) {
                groups.push(std::mem::take(&mut group));
                sources = own;
            } else {
                sources = union;
            }
            group.push(output);
        }
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

pub fn steps_of(groups: &[Vec<&Output>]) -> usize {
    let sources = |g: &Vec<&Output>| {
        g.iter().flat_map(|o| o.sources.iter().map(|s| s.0)).collect::<BTreeSet<_>>().len()
    };
    groups.iter().map(|g| sources(g).div_ceil(STEP_SOURCES)).max().unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In pairs columns of every length find a tile, which has both columns of each pair.
    #[test]
    fn columns_in_pairs_fit_tiles_of_every_length() {
        for log2_degree in 14..=17 {
            for tiles in [&TILES[..], general_tiles(true)] {
                let new = |&tile: &usize| Geometry::new(log2_degree, tile, true);
                let widths: Vec<usize> = tiles.iter().filter_map(new).map(|g| g.width()).collect();
                assert!(widths.first().is_some_and(|&width| width >= 8), "2^{log2_degree}");
                assert!(widths.iter().all(|width| width.is_multiple_of(8)), "{widths:?}");
            }
        }
        // Narrower ones only without pairs.
        let narrow = |invariant| Geometry::new(17, 512, invariant).map(|g| g.width());
        assert_eq!([narrow(false), narrow(true)], [Some(4), None]);
    }
}
