//! Which work a read of the store has to wait for.

use crate::machine::Mark;
use std::collections::VecDeque;
use std::ops::Range;

/// Calls remembered one by one; all older ones count as one.
const REMEMBERED: usize = 32;

/// The places that recent calls write, each with the mark behind the call.
pub(crate) struct Order {
    recent: VecDeque<(Range<usize>, Mark)>,
    /// Behind everything that is not in `recent`.
    older: Mark,
}

impl Order {
    /// Everything before `mark` may have written anywhere.
    pub fn new(mark: Mark) -> Self {
        Self { recent: VecDeque::new(), older: mark }
    }

    /// A call that ends at `mark` writes these places (or only some of them).
    pub fn wrote(&mut self, places: Range<usize>, mark: Mark) {
        if self.recent.len() == REMEMBERED
            && let Some((_, oldest)) = self.recent.pop_front()
        {
            self.older = oldest;
        }
        self.recent.push_back((places, mark));
    }

    /// What to wait for before `places` hold what all calls so far put there.
    pub fn settled(&self, places: &Range<usize>) -> Mark {
        let overlaps = |written: &Range<usize>| written.start < places.end && places.start < written.end;
        self.recent.iter().rev().find(|(written, _)| overlaps(written)).map_or(self.older, |(_, mark)| *mark)
    }
}

/// The smallest range that holds all of `places`.
pub(crate) fn span(places: impl Iterator<Item = u32>) -> Range<usize> {
    let (first, last) = places.fold((u32::MAX, 0), |(first, last), p| (first.min(p), last.max(p)));
    if first > last { 0..0 } else { first as usize..last as usize + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_waits_for_the_last_call_that_wrote_there() {
        let mut order = Order::new(Mark(0));
        order.wrote(0..10, Mark(1));
        order.wrote(10..20, Mark(2));
        order.wrote(5..6, Mark(3));
        for (places, mark) in [(0..5, 1), (0..10, 3), (6..10, 1), (9..11, 2), (10..20, 2), (20..30, 0), (5..6, 3), (0..40, 3)] {
            assert_eq!(order.settled(&places), Mark(mark), "{places:?}");
        }
    }

    #[test]
    fn what_is_forgotten_counts_for_every_place() {
        let mut order = Order::new(Mark(0));
        for i in 0..REMEMBERED as u64 + 5 {
            order.wrote(i as usize..i as usize + 1, Mark(i + 1));
        }
        assert_eq!(order.settled(&(0..1)), Mark(5));
        assert_eq!(order.settled(&(1000..1001)), Mark(5));
        assert_eq!(order.settled(&(5..6)), Mark(6));
    }

    #[test]
    fn a_span_holds_all_places() {
        assert_eq!(span([7, 3, 5].into_iter()), 3..8);
        assert_eq!(span([].into_iter()), 0..0);
        assert_eq!(span([u32::MAX].into_iter()), u32::MAX as usize..u32::MAX as usize + 1);
    }
}
