//! What of the kernels' plans is measured, not derived: one table a device.

use std::collections::BTreeMap;

use girih_backend::BackendError;
use girih_backend::poly::{PolyOptions, PolyPlan, unknown_choice};
use girih_backend::{SPECIALISE, Specialise};

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
    /// Whether eight warps share a row, not four, where its memory leaves room for fewer warps than
    /// a multiprocessor should hold.
    pub wide_teams: bool,
    /// Products that the text of a kernel of rows spells out, so that compiling takes no longer.
    /// Tiles beyond have a kernel of their own, and what is beyond that too is lists of steps.
    pub most_products: usize,
    /// Blocks of columns that should share a multiprocessor.
    pub column_blocks: usize,
    /// The same in a launch so small that all its blocks then run at once; 0 takes none as small.
    pub small_blocks: usize,
    /// Whether the kernels of a graph may start before the one in front has ended, and wait for it
    /// themselves; from compute capability 9.0 on.
    pub overlaps_launches: bool,
    /// When kernels of the shapes of one schedule are compiled.
    pub specialise: Specialise,
    /// Words of resident polynomials that the host makes at once: enough for every thread, however
    /// short limbs are, few enough for its memory.
    pub resident_words: usize,
}

impl Default for PolyKnobs {
    fn default() -> Self {
        Self {
            lone_warps: 20,
            team_warps: 16,
            most_fetched: 10,
            wide_teams: true,
            most_products: 450,
            column_blocks: 2,
            small_blocks: 1,
            overlaps_launches: true,
            specialise: Specialise::default(),
            resident_words: 16 << 20,
        }
    }
}

/// Names of the knobs as choices of [`PolyOptions`], their ranges, and where they lie.
type Knob = (&'static str, std::ops::RangeInclusive<u32>, fn(&mut PolyKnobs, u32));

const KNOBS: [Knob; 10] = [
    ("lone_warps", 1..=64, |knobs, value| knobs.lone_warps = value as usize),
    ("team_warps", 1..=64, |knobs, value| knobs.team_warps = value as usize),
    ("most_fetched", 0..=32, |knobs, value| knobs.most_fetched = value as usize),
    ("wide_teams", 0..=1, |knobs, value| knobs.wide_teams = value == 1),
    ("most_products", 0..=1 << 20, |knobs, value| knobs.most_products = value as usize),
    ("column_blocks", 1..=8, |knobs, value| knobs.column_blocks = value as usize),
    ("small_blocks", 0..=8, |knobs, value| knobs.small_blocks = value as usize),
    ("overlaps_launches", 0..=1, |knobs, value| knobs.overlaps_launches = value == 1),
    // The range is that of its numbers.
    (SPECIALISE, 0..=2, |knobs, value| {
        knobs.specialise = Specialise::of_number(value).unwrap_or_default();
    }),
    ("resident_words", 1..=1 << 30, |knobs, value| knobs.resident_words = value as usize),
];

impl PolyKnobs {
    /// These, but for what `choices` name.
    ///
    /// # Errors
    /// [`BackendError::InvalidRequest`] for other names, with those that there are, and for values
    /// out of range.
    pub fn with_choices(mut self, choices: &BTreeMap<String, u32>) -> Result<Self, BackendError> {
        for (name, &value) in choices {
            let Some((_, range, set)) = KNOBS.iter().find(|(known, ..)| known == name) else {
                return Err(unknown_choice(name, &KNOBS.map(|(known, ..)| known)));
            };
            if !range.contains(&value) {
                return Err(BackendError::InvalidRequest(format!(
                    "{name}={value}: it must be from {} to {}",
                    range.start(),
                    range.end()
                )));
            }
            set(&mut self, value);
        }
        Ok(self)
    }
}

/// What is worth measuring beside `plan` with the knobs as they are: one knob, or one number of the
/// plan, at a time.
pub(crate) fn alternatives(plan: PolyPlan) -> Vec<PolyOptions> {
    let own = PolyOptions::of(plan);
    let mut all = vec![own.clone()];
    for (name, values) in [
        ("most_fetched", &[4, 8][..]),
        ("wide_teams", &[0]),
        ("team_warps", &[12, 20]),
        ("lone_warps", &[16, 24]),
        ("column_blocks", &[1, 3]),
        ("small_blocks", &[0]),
        ("overlaps_launches", &[0]),
    ] {
        all.extend(values.iter().map(|&value| own.clone().with(name, value)));
    }
    for most_row_slots in [8, 12, 16] {
        all.push(PolyOptions::of(PolyPlan { most_row_slots, ..plan }));
    }
    all.push(PolyOptions::of(PolyPlan { turn_operands: !plan.turn_operands, ..plan }));
    for most_column_sums in [32, 128] {
        all.push(PolyOptions::of(PolyPlan { most_column_sums, ..plan }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alternative_is_known_and_others_are_refused() {
        let mut seen = Vec::new();
        for options in alternatives(PolyPlan::default()) {
            let knobs = PolyKnobs::default().with_choices(&options.choices).expect("listed");
            assert!(!seen.contains(&(knobs, options.plan)), "{options} is listed twice");
            seen.push((knobs, options.plan));
        }
        assert_eq!(seen[0].0, PolyKnobs::default());
        for (name, value, why) in
            [("warps", 4, "it knows lone_warps"), ("lone_warps", 0, "from 1 to 64")]
        {
            let choices = PolyOptions::default().with(name, value).choices;
            let error = PolyKnobs::default().with_choices(&choices).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
