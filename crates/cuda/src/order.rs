//! Which work a copy to or from the store has to wait for.

use crate::machine::Mark;
use std::collections::VecDeque;
use std::ops::Range;

/// Calls remembered one by one; all older ones count as one.
const REMEMBERED: usize = 32;

/// The places that one call touches, and the mark behind it.
struct Call {
    reads: Range<usize>,
    writes: Range<usize>,
    mark: Mark,
}

/// The calls of late.
pub(crate) struct Order {
    recent: VecDeque<Call>,
    /// Behind everything that is not in `recent`.
    older: Mark,
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Order {
    /// Everything before `mark` may have touched anything.
    pub fn new(mark: Mark) -> Self {
        Self { recent: VecDeque::new(), older: mark }
    }

    /// A call that ends at `mark` reads and writes these places, or only some of them.
    pub fn add(&mut self, reads: Range<usize>, writes: Range<usize>, mark: Mark) {
        if self.recent.len() == REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            self.older = oldest.mark;
        }
        self.recent.push_back(Call { reads, writes, mark });
    }

    fn last(&self, touches: impl Fn(&Call) -> bool) -> Mark {
        self.recent.iter().rev().find(|call| touches(call)).map_or(self.older, |call| call.mark)
    }

    /// What to wait for before `places` hold what all calls so far put there.
    pub fn settled(&self, places: &Range<usize>) -> Mark {
        self.last(|call| overlap(&call.writes, places))
    }

    /// What to wait for before `places` may be overwritten.
    pub fn free(&self, places: &Range<usize>) -> Mark {
        self.last(|call| overlap(&call.writes, places) || overlap(&call.reads, places))
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
        order.add(20..30, 0..10, Mark(1));
        order.add(0..0, 10..20, Mark(2));
        order.add(0..0, 5..6, Mark(3));
        for (places, mark) in [(0..5, 1), (0..10, 3), (6..10, 1), (9..11, 2), (10..20, 2), (20..30, 0), (5..6, 3), (0..40, 3)] {
            assert_eq!(order.settled(&places), Mark(mark), "{places:?}");
        }
        // What a call reads may be read beside it, but not overwritten.
        assert_eq!((order.settled(&(25..26)), order.free(&(25..26)), order.free(&(30..31))), (Mark(0), Mark(1), Mark(0)));
    }

    #[test]
    fn what_is_forgotten_counts_for_every_place() {
        let mut order = Order::new(Mark(0));
        for i in 0..REMEMBERED as u64 + 5 {
            order.add(0..0, i as usize..i as usize + 1, Mark(i + 1));
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
