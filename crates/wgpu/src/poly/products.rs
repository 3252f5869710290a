//! Products that two sums of a tile of rows have in common: the two sums of a key switch multiply
//! the same digits. Both are summed at once, so that a digit is multiplied where it is loaded, and
//! no slot, which is memory, holds it in between.

use girih_backend::poly::schedule::{Load, RowSum, RowTerm, RowTile, Source};

/// Fewer are not worth a step of their own.
const LEAST: usize = 2;

/// What both sums multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// A slot that is filled.
    Slot(usize),
    /// A load of the tile, by its slot, which nothing reads before.
    Load(usize),
    /// A limb in memory.
    Limb(Load),
}

/// What a sum has in common with its neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// With the next: what both multiply, and by which limbs.
    pub with_next: Vec<(Of, [Load; 2])>,
    /// Which of two sums of products it begins with: 1, 2, or 0 for neither.
    pub begins_with: u32,
    /// By term, whether these hold it.
    taken: Vec<bool>,
}

impl Shared {
    /// The terms of `sum` that are left.
    pub fn rest<'a>(&'a self, sum: &'a RowSum) -> impl Iterator<Item = &'a RowTerm> {
        sum.terms.iter().enumerate().filter(|(i, _)| self.taken.get(*i) != Some(&true)).map(|x| x.1)
    }
}

/// The slots that terms read.
pub(crate) fn slots_of<'a>(
    terms: impl Iterator<Item = &'a RowTerm>,
) -> impl Iterator<Item = usize> {
    terms.flat_map(|term| [term.a, term.b]).flatten().filter_map(|operand| match operand {
        Source::Slot(slot) => Some(usize::from(slot)),
        Source::Stream(_) => None,
    })
}

/// What a term multiplies, and the limb that it multiplies it by: without a factor, both as they
/// lie.
fn product(term: &RowTerm, is_plain: impl Fn(&Load) -> bool) -> Option<(Source, Load)> {
    match (term.a?, term.b?) {
        (Source::Stream(a), _) if !is_plain(&a) => None,
        (a, Source::Stream(b)) if term.factor == [1; 2] && is_plain(&b) => Some((a, b)),
        _ => None,
    }
}

/// What each sum of `tile` has in common with its neighbour. `is_plain` tells loads that are read
/// word by word as they lie, `is_direct` those that may be multiplied where they are loaded.
pub(crate) fn shared(
    tile: &RowTile,
    is_plain: impl Fn(&Load) -> bool,
    is_direct: impl Fn(&Load) -> bool,
) -> Vec<Shared> {
    let mut all = vec![Shared::default(); tile.sums.len()];
    let mut is_read = vec![false; tile.loads.len()];
    let mut number = 0;
    while number < tile.sums.len() {
        let sums = &tile.sums[number..];
        let pairs = sums.get(1).map_or(Vec::new(), |next| pairs(&sums[0], next, &is_plain));
        let of_both = pairs.len() >= LEAST;
        if of_both {
            for (i, j, _, _) in &pairs {
                for (sum, term) in [(number, *i), (number + 1, *j)] {
                    all[sum].taken.resize(tile.sums[sum].terms.len(), false);
                    all[sum].taken[term] = true;
                }
            }
            all[number].begins_with = 1;
            all[number + 1].begins_with = 2;
            for (_, _, of, by) in pairs {
                let of = match of {
                    Source::Stream(load) => Of::Limb(load),
                    Source::Slot(slot) => match tile.loads.get(usize::from(slot)) {
                        Some(load) if !is_read[usize::from(slot)] && is_direct(load) => {
                            is_read[usize::from(slot)] = true;
                            Of::Load(slot.into())
                        }
                        _ => Of::Slot(slot.into()),
                    },
                };
                all[number].with_next.push((of, by));
            }
        }
        for sum in &sums[..if of_both { 2 } else { 1 }] {
            for slot in slots_of(sum.terms.iter()) {
                if let Some(is_read) = is_read.get_mut(slot) {
                    *is_read = true;
                }
            }
        }
        number += if of_both { 2 } else { 1 };
    }
    all
}

/// The terms of two sums that multiply the same, each once: their places, what, and by what.
fn pairs(
    first: &RowSum,
    second: &RowSum,
    is_plain: impl Fn(&Load) -> bool,
) -> Vec<(usize, usize, Source, [Load; 2])> {
    let is_constant = |term: &RowTerm| term.a.is_none();
    if first.terms.iter().chain(&second.terms).any(is_constant) {
        return Vec::new();
    }
    let mut taken = vec![false; second.terms.len()];
    let mut all = Vec::new();
    for (i, term) in first.terms.iter().enumerate() {
        let Some((of, by)) = product(term, &is_plain) else { continue };
        let mut others = second.terms.iter().enumerate().filter(|&(j, _)| !taken[j]);
        let other = others.find_map(|(j, term)| match product(term, &is_plain) {
            Some((same, by)) if same == of => Some((j, by)),
            _ => None,
        });
        if let Some((j, other)) = other {
            taken[j] = true;
            all.push((i, j, of, [by, other]));
        }
    }
    all
}

/// The last sum that reads each slot, but for what is multiplied where it is loaded.
///
/// # Errors
/// Where a sum reads a slot that no earlier one fills.
pub(crate) fn last_use(tile: &RowTile, shared: &[Shared]) -> Result<Vec<Option<usize>>, String> {
    let mut last = vec![None; tile.loads.len() + tile.sums.len()];
    for (number, (sum, own)) in tile.sums.iter().zip(shared).enumerate() {
        if let Some(slot) = slots_of(sum.terms.iter()).find(|s| *s >= tile.loads.len() + number) {
            return Err(format!("slot {slot} is read before it is filled"));
        }
        let multiplied = own.with_next.iter().filter_map(|(of, _)| match of {
            Of::Slot(slot) => Some(*slot),
            Of::Load(_) | Of::Limb(_) => None,
        });
        for slot in multiplied.chain(slots_of(own.rest(sum))) {
            last[slot] = Some(number);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_backend::poly::schedule::{Form, Limb, Store};

    fn load(number: u32, form: Form, automorphism: u32) -> Load {
        Load { from: Limb::Arena(number), form, automorphism }
    }

    fn limb(number: u32) -> Source {
        Source::Stream(load(number, Form::Evaluations, 1))
    }

    fn term(a: Source, b: Option<Source>) -> RowTerm {
        RowTerm { factor: [1; 2], a: Some(a), b }
    }

    /// A sum of slots times limbs of a key.
    fn products(slots: &[u16], key: u32) -> RowSum {
        let term = |(i, &slot): (usize, &u16)| term(Source::Slot(slot), Some(limb(key + i as u32)));
        let store = Store { to: Limb::Arena(key), form: Form::Evaluations, automorphism: 1 };
        RowSum { terms: slots.iter().enumerate().map(term).collect(), stores: vec![store] }
    }

    fn tile(sums: Vec<RowSum>) -> RowTile {
        RowTile { prime: 0, loads: (0..3).map(|i| load(i, Form::Half, 1)).collect(), sums }
    }

    fn of(tile: &RowTile) -> Vec<Shared> {
        let is_plain = |l: &Load| l.form == Form::Evaluations && l.automorphism == 1;
        shared(tile, is_plain, |l| l.automorphism == 1)
    }

    fn what(shared: &Shared) -> Vec<Of> {
        shared.with_next.iter().map(|x| x.0).collect()
    }

    #[test]
    fn digits_are_multiplied_where_they_are_loaded() {
        let mut tile = tile(vec![products(&[0, 1, 2], 10), products(&[0, 1, 2], 20)]);
        // A digit in memory, which is no slot; a product of its own.
        tile.sums[0].terms.push(term(limb(5), Some(limb(13))));
        tile.sums[1].terms.insert(0, term(limb(5), Some(limb(23))));
        tile.sums[1].terms.push(term(limb(6), Some(limb(24))));
        let found = of(&tile);
        let digit = load(5, Form::Evaluations, 1);
        assert_eq!(what(&found[0]), [Of::Load(0), Of::Load(1), Of::Load(2), Of::Limb(digit)]);
        let keys = |i: usize| found[0].with_next[i].1.map(|load| load.from);
        assert_eq!(keys(1), [11, 21].map(Limb::Arena));
        assert_eq!(keys(3), [13, 23].map(Limb::Arena));
        assert_eq!((found[0].begins_with, found[1].begins_with), (1, 2));
        let rest = |number: usize| found[number].rest(&tile.sums[number]).copied();
        assert_eq!(rest(0).count(), 0);
        assert_eq!(rest(1).collect::<Vec<_>>(), [term(limb(6), Some(limb(24)))]);
        // Nothing needs a slot.
        assert_eq!(last_use(&tile, &found).unwrap(), [None; 5]);
    }

    #[test]
    fn what_others_read_has_a_slot() {
        // The second pair reads the digits again, a sum in front reads the first of them.
        let mut all = vec![products(&[0], 9)];
        for key in [10, 20, 30, 40] {
            all.push(products(&[0, 1], key));
        }
        let tile = tile(all);
        let found = of(&tile);
        assert_eq!(what(&found[1]), [Of::Slot(0), Of::Load(1)]);
        assert_eq!(what(&found[3]), [Of::Slot(0), Of::Slot(1)]);
        let begin: Vec<_> = found.iter().map(|x| x.begins_with).collect();
        assert_eq!(begin, [0, 1, 2, 1, 2]);
        assert_eq!(last_use(&tile, &found).unwrap()[..3], [Some(3), Some(3), None]);
    }

    #[test]
    fn only_plain_products_are_shared() {
        let whole = tile(vec![products(&[0, 1], 10), products(&[0, 1], 20)]);
        assert_eq!(of(&whole)[0].with_next.len(), 2);
        let mut others = vec![whole.clone(); 5];
        others[0].sums[1].terms[0].factor = [2, 2];
        others[1].sums[1].terms[1].b = Some(Source::Stream(load(21, Form::Evaluations, 3)));
        others[2].sums[1].terms[1].b = None;
        others[3].sums[0].terms[0].b = Some(Source::Slot(2));
        let constant = RowTerm { factor: [7, 7], a: None, b: None };
        others[4].sums[0].terms.push(constant);
        for other in &others {
            assert!(of(other).iter().all(|x| x.with_next.is_empty()), "{other:?}");
            assert_eq!(of(other)[0].rest(&other.sums[0]).count(), other.sums[0].terms.len());
        }
        // What must be loaded by itself is loaded into a slot.
        let mut turned = whole;
        turned.loads[0].automorphism = 3;
        assert_eq!(what(&of(&turned)[0]), [Of::Slot(0), Of::Load(1)]);
    }

    #[test]
    fn slots_that_nothing_fills_are_refused() {
        let early = tile(vec![products(&[3, 1], 10), products(&[3, 1], 20)]);
        let why = last_use(&early, &of(&early)).unwrap_err();
        assert_eq!(why, "slot 3 is read before it is filled");
    }
}
