//! The steps of a tile of columns, in order, and what each reads.

use girih_backend::poly::schedule::{ColumnSum, ColumnTerm, ColumnTile, Form, Store};

/// Sums that take the terms of conversions together.
pub(crate) const TOGETHER: usize = 4;

/// A step of a tile, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Load(usize),
    Conversion(usize),
    /// What conversions add to this sum and those behind it, [`TOGETHER`] in all.
    Parts(usize),
    /// This sum and those behind it, [`TOGETHER`] in all, which are that alone and leave the tile.
    Outputs(usize),
    /// A sum, without the terms that were taken together with those of others.
    Sum {
        number: usize,
        has_part: bool,
    },
}

/// The values of a tile: its loads, its sums, their parts, then y of each source and u of each
/// conversion.
pub(crate) struct Numbers {
    pub sums: usize,
    pub parts: usize,
    /// For each conversion its first y; u follows the last.
    pub conversions: Vec<usize>,
    all: usize,
}

impl Numbers {
    pub fn new(tile: &ColumnTile) -> Self {
        let sums = tile.loads.len();
        let parts = sums + tile.sums.len();
        let mut all = parts + tile.sums.len();
        let mut conversions = Vec::with_capacity(tile.conversions.len());
        for conversion in &tile.conversions {
            conversions.push(all);
            all += conversion.slots.len() + 1;
        }
        Self { sums, parts, conversions, all }
    }
}

/// The steps of a tile: each load and conversion stands in front of what first reads it, so that
/// few slots are filled at once.
pub(crate) fn order(tile: &ColumnTile) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    // The first sum whose part is not known.
    let mut parted = 0;
    // The first sum that is not among outputs.
    let mut put_out = 0;
    let mut loaded = vec![false; tile.loads.len()];
    let mut converted = vec![false; tile.conversions.len()];
    for (number, sum) in tile.sums.iter().enumerate() {
        if sum.terms.is_empty() {
            return Err("a sum without terms".into());
        }
        let mut load = |slot: u16, steps: &mut Vec<Step>| {
            let slot = usize::from(slot);
            if slot < loaded.len() {
                if !std::mem::replace(&mut loaded[slot], true) {
                    steps.push(Step::Load(slot));
                }
            } else if slot >= loaded.len() + number {
                return Err(format!("slot {slot} is read before it is filled"));
            }
            Ok(())
        };
        for term in &sum.terms {
            match *term {
                ColumnTerm::Scaled { slot, .. } => load(slot, &mut steps)?,
                ColumnTerm::Converted { conversion, .. } => {
                    let at = usize::from(conversion);
                    let of = tile.conversions.get(at);
                    let of = of.ok_or_else(|| format!("conversion {at} is not there"))?;
                    if std::mem::replace(&mut converted[at], true) {
                        continue;
                    }
                    for &slot in &of.slots {
                        load(slot, &mut steps)?;
                    }
                    steps.push(Step::Conversion(at));
                }
            }
        }
        if parted == number && are_together(&tile.sums[number..]) {
            parted = number + TOGETHER;
            if (number..parted).all(|number| is_output(tile, number)) {
                put_out = parted;
                steps.push(Step::Outputs(number));
            } else {
                steps.push(Step::Parts(number));
            }
        }
        if number >= put_out {
            steps.push(Step::Sum { number, has_part: number < parted });
        }
        parted = parted.max(number + 1);
    }
    Ok(steps)
}

/// The conversions that a sum reads.
fn conversions_of(sum: &ColumnSum) -> impl Iterator<Item = u16> + '_ {
    sum.terms.iter().filter_map(|term| match *term {
        ColumnTerm::Converted { conversion, .. } => Some(conversion),
        ColumnTerm::Scaled { .. } => None,
    })
}

/// Whether the first [`TOGETHER`] sums read the same conversions.
fn are_together(sums: &[ColumnSum]) -> bool {
    sums.get(..TOGETHER).is_some_and(|sums| {
        conversions_of(&sums[0]).next().is_some()
            && sums[1..].iter().all(|sum| conversions_of(sum).eq(conversions_of(&sums[0])))
    })
}

/// Whether a sum adds up conversions alone, is stored half transformed, and read by nobody.
fn is_output(tile: &ColumnTile, number: usize) -> bool {
    let (sum, slot) = (&tile.sums[number], tile.loads.len() + number);
    let is_conversion = |term: &ColumnTerm| matches!(term, ColumnTerm::Converted { .. });
    let reads = |term: &ColumnTerm| match *term {
        ColumnTerm::Scaled { slot: read, .. } => usize::from(read) == slot,
        ColumnTerm::Converted { .. } => false,
    };
    let is_half = |store: &Store| store.form == Form::Half && store.automorphism == 1;
    sum.terms.iter().all(is_conversion)
        && matches!(&sum.stores[..], [store] if is_half(store))
        && !tile.sums.iter().flat_map(|other| &other.terms).any(reads)
        && !tile.conversions.iter().any(|c| c.slots.iter().any(|&s| usize::from(s) == slot))
}

/// The values of conversions that a sum reads.
pub(crate) fn converted<'a>(
    numbers: &'a Numbers,
    tile: &'a ColumnTile,
    sum: &'a ColumnSum,
) -> impl Iterator<Item = usize> + 'a {
    conversions_of(sum).flat_map(move |conversion| {
        let conversion = usize::from(conversion);
        let first = numbers.conversions[conversion];
        first..first + tile.conversions[conversion].slots.len() + 1
    })
}

/// The values that a sum reads.
pub(crate) fn read_by<'a>(
    tile: &'a ColumnTile,
    numbers: &'a Numbers,
    number: usize,
    has_part: bool,
) -> impl Iterator<Item = usize> + 'a {
    let sum = &tile.sums[number];
    let scaled = sum.terms.iter().filter_map(|term| match *term {
        ColumnTerm::Scaled { slot, .. } => Some(usize::from(slot)),
        ColumnTerm::Converted { .. } => None,
    });
    let own = converted(numbers, tile, sum).filter(move |_| !has_part);
    scaled.chain(own).chain(has_part.then_some(numbers.parts + number))
}

/// The last step that reads each value.
pub(crate) fn last_use(tile: &ColumnTile, numbers: &Numbers, steps: &[Step]) -> Vec<Option<usize>> {
    let mut last = vec![None; numbers.all];
    for (step, &what) in steps.iter().enumerate() {
        match what {
            Step::Load(_) => {}
            Step::Conversion(number) => {
                for &slot in &tile.conversions[number].slots {
                    last[usize::from(slot)] = Some(step);
                }
            }
            Step::Parts(first) | Step::Outputs(first) => {
                for value in converted(numbers, tile, &tile.sums[first]) {
                    last[value] = Some(step);
                }
            }
            Step::Sum { number, has_part } => {
                for value in read_by(tile, numbers, number, has_part) {
                    last[value] = Some(step);
                }
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_backend::poly::schedule::{Conversion, Limb, Load};

    #[test]
    fn four_sums_in_a_row_take_their_conversions_together() {
        let from = |number| Load { from: Limb::Arena(number), form: Form::Half, automorphism: 1 };
        let sum = |prime: u16, conversions: &[u16], slot: Option<u16>| {
            let converted = |&conversion| ColumnTerm::Converted { conversion, factor: 1 };
            let scaled = slot.map(|slot| ColumnTerm::Scaled { factor: 1, slot });
            ColumnSum {
                prime,
                terms: conversions.iter().map(converted).chain(scaled).collect(),
                stores: Vec::new(),
            }
        };
        let conversion = |slots: &[u16]| Conversion { slots: slots.to_vec(), corrected: true };
        let tile = ColumnTile {
            loads: (0..3).map(|number| (number as u16, from(number))).collect(),
            conversions: vec![conversion(&[0, 1]), conversion(&[2])],
            sums: vec![
                sum(3, &[0], None),
                sum(4, &[0, 1], None),
                sum(5, &[0, 1], Some(3)),
                sum(6, &[0, 1], None),
                sum(7, &[0, 1], None),
                sum(8, &[0, 1], None),
            ],
        };
        let steps = order(&tile).expect("in order");
        let shown: Vec<_> = steps.iter().map(|step| format!("{step:?}")).collect();
        let plain = |number| format!("Sum {{ number: {number}, has_part: false }}");
        let part = |number| format!("Sum {{ number: {number}, has_part: true }}");
        let loads = ["Load(0)", "Load(1)", "Conversion(0)"].map(String::from);
        let more = ["Load(2)", "Conversion(1)", "Parts(1)"].map(String::from);
        let sums = [part(1), part(2), part(3), part(4), plain(5)];
        let want: Vec<_> = loads.into_iter().chain([plain(0)]).chain(more).chain(sums).collect();
        assert_eq!(shown, want);
        // The sums read their parts, and that of the fourth its slot.
        let numbers = Numbers::new(&tile);
        let last = last_use(&tile, &numbers, &steps);
        let end = |value: usize| last[value].map(|step| shown[step].clone());
        assert_eq!(end(numbers.sums), Some(part(2)));
        assert_eq!(end(numbers.parts + 4), Some(part(4)));
        assert_eq!((end(numbers.parts), end(numbers.parts + 5)), (None, None));
        assert_eq!(end(numbers.conversions[0]), Some(plain(5)));
    }

    #[test]
    fn four_sums_that_only_leave_the_tile_do_so_at_once() {
        let half = |number, form| Store { to: Limb::Arena(number), form, automorphism: 1 };
        let sum = |prime: u16, form| ColumnSum {
            prime,
            terms: vec![ColumnTerm::Converted { conversion: 0, factor: 1 }],
            stores: vec![half(u32::from(prime), form)],
        };
        let from = Load { from: Limb::Arena(0), form: Form::Half, automorphism: 1 };
        let whole = ColumnTile {
            loads: vec![(0, from)],
            conversions: vec![Conversion { slots: vec![0], corrected: true }],
            sums: (1..5).map(|prime| sum(prime, Form::Half)).collect(),
        };
        let shown = |tile: &ColumnTile| -> Vec<String> {
            let steps = order(tile).expect("in order");
            steps.iter().map(|step| format!("{step:?}")).collect()
        };
        assert_eq!(shown(&whole), ["Load(0)", "Conversion(0)", "Outputs(0)"]);
        // Coefficients, two stores, a further term, and a reader behind them.
        let mut others = vec![whole.clone(); 4];
        others[0].sums[2].stores[0].form = Form::Coefficients;
        others[1].sums[3].stores.push(half(9, Form::Half));
        others[2].sums[0].terms.push(ColumnTerm::Scaled { slot: 0, factor: 1 });
        others[3].sums.push(sum(5, Form::Half));
        others[3].sums[4].terms = vec![ColumnTerm::Scaled { slot: 2, factor: 1 }];
        for other in &others {
            assert!(shown(other)[2].starts_with("Parts"), "{other:?}");
        }
    }
}
