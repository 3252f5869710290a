//! Errors by where they came from.

use std::sync::Arc;

/// So many sources are kept apart, and so many groups of others.
const APART: usize = 64;
const GROUPS: usize = 4;
/// So many sources a group names.
const NAMED: usize = 1024;

/// Zero times anything is zero, unknown sizes included.
pub(in crate::server) fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// How much a source moves the slots.
///
/// A source is a vector of N/2 slots of independent errors of deviation 1, alike in all
/// directions; a ciphertext has a linear map of it as a part of its error. Nobody knows the map,
/// which depends on the data, but for these bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::server) struct Size {
    /// The largest deviation of a slot: of the norms of the map's rows.
    pub slot: f64,
    /// The norm of the map: what all slots together can be moved by.
    pub all: f64,
}

impl Size {
    /// One deviation in every slot, each slot on its own.
    pub fn white(deviation: f64) -> Self {
        Self { slot: deviation, all: deviation }
    }

    /// Errors that are one: they add by magnitude.
    pub fn plus(self, other: Self) -> Self {
        Self { slot: self.slot + other.slot, all: self.all + other.all }
    }

    /// Errors that are independent.
    pub fn hypot(self, other: Self) -> Self {
        Self { slot: self.slot.hypot(other.slot), all: self.all.hypot(other.all) }
    }

    pub fn times(self, factor: f64) -> Self {
        Self { slot: times(self.slot, factor), all: times(self.all, factor) }
    }

    /// Through a linear map of slots.
    fn through(self, map: &MapNorms) -> Self {
        let slot = times(map.row_sum, self.slot).min(times(map.row_norm, self.all));
        Self { slot, all: times(map.norm, self.all) }
    }

    /// The deviation of a mean of so many slots, with whatever phases.
    fn mean(self, count: f64) -> f64 {
        self.slot.min(self.all / count.sqrt())
    }
}

/// What is known of a linear map of slots.
#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct MapNorms {
    /// The largest sum of magnitudes in a row.
    pub row_sum: f64,
    /// The largest root of a sum of squares in a row.
    pub row_norm: f64,
    /// A bound of the norm of the whole map.
    pub norm: f64,
    /// The first rotation of a diagonal, and from it to the last.
    pub reach: (usize, usize),
}

/// Rotations of a source that a ciphertext may hold: from `start` on `len` of them, around the
/// circle of all slots.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rotations {
    start: u32,
    len: u32,
}

impl Rotations {
    fn apart(self, other: Self, circle: u32) -> bool {
        let after = |from: u32, to: u32| (to + circle - from) % circle;
        after(self.start, other.start) >= self.len && after(other.start, self.start) >= other.len
    }

    fn hull(self, other: Self, circle: u32) -> Self {
        let from = |a: Self, b: Self| {
            let reach = (b.start + circle - a.start) % circle + b.len;
            Self { start: a.start, len: a.len.max(reach).min(circle) }
        };
        let (one, two) = (from(self, other), from(other, self));
        if one.len <= two.len { one } else { two }
    }
}

/// One source in one ciphertext.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    id: u64,
    size: Size,
    rotations: Rotations,
}

/// Independent sources that are no longer kept apart: their names, in order.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    ids: Arc<[u64]>,
    size: Size,
}

impl Group {
    fn meets(&self, other: &Self) -> bool {
        let mut others = other.ids.iter().peekable();
        self.ids.iter().any(|id| {
            while others.next_if(|other| *other < id).is_some() {}
            others.peek() == Some(&id)
        })
    }

    fn union(&self, other: &Self, size: Size) -> Self {
        let mut ids = [&self.ids[..], &other.ids[..]].concat();
        ids.sort_unstable();
        ids.dedup();
        Self { ids: ids.into(), size }
    }
}

/// All sources of the error of one ciphertext, in deviations of slots.
///
/// No source stands in two places, but for the rest: that may hold any, and adds by magnitude to
/// everything.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::server) struct Sources {
    /// N/2.
    circle: u32,
    /// By their names, ascending.
    terms: Vec<Term>,
    groups: Vec<Group>,
    rest: Size,
}

impl Sources {
    pub fn none(slots: usize) -> Self {
        Self { circle: slots as u32, terms: Vec::new(), groups: Vec::new(), rest: Size::default() }
    }

    /// One source.
    pub fn of(slots: usize, id: u64, size: Size) -> Self {
        let term = Term { id, size, rotations: Rotations { start: 0, len: 1 } };
        let terms = if size.slot == 0.0 { Vec::new() } else { vec![term] };
        Self { terms, ..Self::none(slots) }
    }

    /// With an error that may be one with any other.
    pub fn with_rest(mut self, size: Size) -> Self {
        self.rest = self.rest.plus(size);
        self
    }

    /// The deviation of a slot.
    pub fn slot(&self) -> f64 {
        self.deviation(|size| size.slot)
    }

    /// The deviation of a mean of `count` slots, with whatever phases.
    pub fn mean(&self, count: f64) -> f64 {
        self.deviation(|size| size.mean(count))
    }

    fn deviation(&self, of: impl Fn(Size) -> f64) -> f64 {
        let sizes = self.terms.iter().map(|t| t.size).chain(self.groups.iter().map(|g| g.size));
        let squares: f64 = sizes.map(|size| of(size).powi(2)).sum();
        squares.sqrt() + of(self.rest)
    }

    fn each(mut self, change: impl Fn(&mut Size)) -> Self {
        self.terms.iter_mut().for_each(|term| change(&mut term.size));
        self.groups.iter_mut().for_each(|group| change(&mut group.size));
        change(&mut self.rest);
        self
    }

    /// Every slot times a number of at most this magnitude, of its own.
    pub fn times(self, factor: f64) -> Self {
        self.each(|size| *size = size.times(factor))
    }

    /// Slot j becomes slot j + `by`.
    pub fn rotated(mut self, by: usize) -> Self {
        for term in &mut self.terms {
            term.rotations.start = (term.rotations.start + by as u32 % self.circle) % self.circle;
        }
        self
    }

    /// Through a linear map of slots.
    pub fn through(mut self, map: &MapNorms) -> Self {
        let circle = self.circle;
        let (first, length) = (map.reach.0 as u32 % circle, (map.reach.1 as u32).min(circle));
        for Term { rotations, .. } in &mut self.terms {
            rotations.start = (rotations.start + first) % circle;
            rotations.len = (rotations.len + length).min(circle);
        }
        self.each(|size| *size = size.through(map))
    }

    /// The errors of a sum or a difference.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = Self::none(self.circle as usize).with_rest(self.rest.plus(other.rest));
        sum.terms.reserve(self.terms.len() + other.terms.len());
        let mut right = other.terms.iter().copied().peekable();
        for &x in &self.terms {
            while let Some(y) = right.next_if(|y| y.id < x.id) {
                sum.terms.push(y);
            }
            let same = right.next_if(|y| y.id == x.id);
            sum.terms.push(same.map_or(x, |y| self.met(x, y)));
        }
        sum.terms.extend(right);
        sum.groups.clone_from(&self.groups);
        other.groups.iter().for_each(|group| sum.insert(group.clone()));
        sum.absorb();
        sum.fold();
        sum
    }

    /// One source from both sides: by squares where no rotation of it can stand on both.
    fn met(&self, x: Term, y: Term) -> Term {
        let apart = x.rotations.apart(y.rotations, self.circle);
        let both = x.size.plus(y.size);
        let slot = if apart { x.size.slot.hypot(y.size.slot) } else { both.slot };
        let rotations = x.rotations.hull(y.rotations, self.circle);
        Term { id: x.id, size: Size { slot, ..both }, rotations }
    }

    /// Adds a group: by magnitude to those that hold one of its sources.
    fn insert(&mut self, mut group: Group) {
        if let Some(same) = self.groups.iter_mut().find(|g| Arc::ptr_eq(&g.ids, &group.ids)) {
            same.size = same.size.plus(group.size);
            return;
        }
        while let Some(at) = self.groups.iter().position(|other| other.meets(&group)) {
            let other = self.groups.swap_remove(at);
            group = other.union(&group, other.size.plus(group.size));
        }
        self.groups.push(group);
    }

    /// Moves terms into the groups that name them.
    fn absorb(&mut self) {
        if self.groups.is_empty() {
            return;
        }
        let groups = &mut self.groups;
        self.terms.retain(|term| {
            let named = groups.iter_mut().find(|group| group.ids.binary_search(&term.id).is_ok());
            if let Some(group) = named {
                group.size = group.size.plus(term.size);
                return false;
            }
            true
        });
    }

    /// Keeps the largest terms apart, and groups few.
    fn fold(&mut self) {
        if self.terms.len() > APART {
            self.terms.sort_unstable_by(|x, y| y.size.slot.total_cmp(&x.size.slot));
            let small = self.terms.split_off(APART / 2);
            self.terms.sort_unstable_by_key(|term| term.id);
            let mut ids: Vec<u64> = small.iter().map(|term| term.id).collect();
            ids.sort_unstable();
            let size = small.iter().map(|term| term.size).fold(Size::default(), Size::hypot);
            self.groups.push(Group { ids: ids.into(), size });
        }
        while self.groups.len() > GROUPS {
            self.groups.sort_by_key(|group| group.ids.len());
            let (one, two) = (self.groups.swap_remove(1), self.groups.swap_remove(0));
            self.groups.push(one.union(&two, one.size.hypot(two.size)));
        }
        for group in self.groups.extract_if(.., |group| group.ids.len() > NAMED) {
            self.rest = self.rest.plus(group.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(id: u64) -> Sources {
        Sources::of(512, id, Size::white(1.0))
    }

    fn sum(ids: std::ops::Range<u64>) -> Sources {
        ids.map(source).reduce(|x, y| x.plus(&y)).unwrap()
    }

    fn near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found}, not {wanted}");
    }

    #[test]
    fn groups_remember_whom_they_hold() {
        let many = sum(0..700);
        assert!(many.terms.len() <= APART && many.groups.len() <= GROUPS);
        near(many.slot(), 700f64.sqrt());
        near(many.plus(&many).slot(), 2.0 * 700f64.sqrt());
        near(many.plus(&sum(700..1000)).slot(), 1000f64.sqrt());
        near(many.clone().times(0.5).slot(), 175f64.sqrt());
        // One that it holds: at least what is true, at most what adds by magnitude.
        for id in [0, 500, 699] {
            let more = many.plus(&source(id)).slot();
            assert!((703f64.sqrt()..=700f64.sqrt() + 1.0 + 1e-9).contains(&more), "{more}");
        }
        // Too many to be named are a bound still.
        let bound = sum(0..10_000);
        assert!(bound.rest.slot > 0.0);
        assert!((10_000f64.sqrt()..1000.0).contains(&bound.slot()), "{}", bound.slot());
    }

    #[test]
    fn rotations_apart_add_by_squares() {
        let x = source(1);
        near(x.plus(&x.clone().rotated(511)).slot(), 2f64.sqrt());
        near(x.plus(&x.clone().rotated(512)).slot(), 2.0);
        let two = x.plus(&x.clone().rotated(1));
        near(two.plus(&two.clone().rotated(1)).slot(), 2.0 * 2f64.sqrt());
        near(two.plus(&two.clone().rotated(2)).slot(), 2.0);
        // Over all slots: one error in each of them, whose mean is no smaller.
        let all = (0..9).fold(x.clone(), |x, i| x.plus(&x.clone().rotated(1 << i)));
        near(all.slot(), 512f64.sqrt());
        near(all.mean(512.0), 512f64.sqrt());
        near(x.mean(512.0), 512f64.sqrt().recip());
        // What nobody knows is one with everything, and unknown norms times zero are zero.
        let foreign = Sources::none(512).with_rest(Size { slot: 3.0, all: f64::INFINITY });
        near(foreign.plus(&x).plus(&foreign).slot(), 7.0);
        assert_eq!(foreign.times(0.0).mean(4.0), 0.0);
    }

    #[test]
    fn maps_grow_by_rows_or_by_norms() {
        let ones = MapNorms { row_sum: 16.0, row_norm: 4.0, norm: 16.0, reach: (0, 15) };
        let once = source(1).through(&ones);
        near(once.slot(), 4.0);
        near(once.clone().through(&ones).slot(), 64.0);
        // Orthogonal rows: no more than the root each time.
        let fourier = MapNorms { norm: 4.0, ..ones };
        near(source(1).through(&fourier).through(&fourier).slot(), 16.0);
        near(once.plus(&source(1).rotated(16)).slot(), 17f64.sqrt());
        near(once.plus(&source(1).rotated(15)).slot(), 5.0);
    }
}
