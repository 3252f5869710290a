//! Which work a call that touches the store has to wait for.

use crate::runtime::machine::{Machine, Mark, Queue};
use girih_backend::Result;
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
#[derive(Default)]
pub(crate) struct Order {
    recent: VecDeque<Call>,
    /// Behind everything that is not in `recent`.
    older: Marks,
}

/// The last mark of each queue, where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Marks([Option<(Queue, u64)>; Queue::MOST]);

impl Marks {
    /// Adds a mark later than those of its queue that are in.
    pub fn add(&mut self, mark: Mark) {
        self.0[mark.queue.index()] = Some((mark.queue, mark.number));
    }

    pub fn contains(&self, mark: Mark) -> bool {
        self.0[mark.queue.index()] == Some((mark.queue, mark.number))
    }

    /// Lets what is called in `queue` from now on come after all of these.
    pub fn wait(&self, machine: &dyn Machine, queue: Queue) -> Result<()> {
        let others = self.0.iter().flatten().filter(|(of, _)| *of != queue);
        others
            .map(|&(queue, number)| Mark { queue, number })
            .try_for_each(|mark| machine.wait(queue, mark))
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl Order {
    /// A call that ends at `mark` reads and writes these places, or only some of them.
    pub fn add(&mut self, reads: Range<usize>, writes: Range<usize>, mark: Mark) {
        if self.recent.len() == REMEMBERED
            && let Some(oldest) = self.recent.pop_front()
        {
            self.older.add(oldest.mark);
        }
        self.recent.push_back(Call { reads, writes, mark });
    }

    fn last(&self, touches: impl Fn(&Call) -> bool) -> Marks {
        let mut marks = self.older;
        self.recent.iter().filter(|call| touches(call)).for_each(|call| marks.add(call.mark));
        marks
    }

    /// What to wait for before `places` hold what all calls so far put there.
    pub fn settled(&self, places: &Range<usize>) -> Marks {
        self.last(|call| overlap(&call.writes, places))
    }

    /// What to wait for before `places` may be overwritten.
    pub fn free(&self, places: &Range<usize>) -> Marks {
        self.last(|call| overlap(&call.writes, places) || overlap(&call.reads, places))
    }

    /// What to wait for before a call that reads and writes these places.
    pub fn before(&self, reads: &Range<usize>, writes: &Range<usize>) -> Marks {
        self.last(|call| {
            overlap(&call.writes, reads)
                || overlap(&call.writes, writes)
                || overlap(&call.reads, writes)
        })
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

    const QUEUES: [Queue; 2] = [Queue::new(0, 0, "first", 0), Queue::new(0, 1, "second", 0)];

    fn mark(queue: Queue, number: u64) -> Mark {
        Mark { queue, number }
    }

    fn marks<const COUNT: usize>(of: [(Queue, u64); COUNT]) -> Marks {
        let mut marks = Marks::default();
        of.into_iter().for_each(|(queue, number)| marks.add(mark(queue, number)));
        marks
    }

    #[test]
    fn a_read_waits_for_the_last_call_that_wrote_there() {
        let [first, second] = QUEUES;
        let mut order = Order::default();
        order.add(20..30, 0..10, mark(first, 1));
        order.add(0..0, 10..20, mark(first, 2));
        order.add(0..0, 5..6, mark(first, 3));
        for (places, last) in
            [(0..5, 1), (0..10, 3), (6..10, 1), (9..11, 2), (10..20, 2), (5..6, 3), (0..40, 3)]
        {
            assert_eq!(order.settled(&places), marks([(first, last)]), "{places:?}");
        }
        // What a call reads may be read beside it, but not overwritten.
        assert_eq!(
            (order.settled(&(25..26)), order.free(&(25..26))),
            (marks([]), marks([(first, 1)]))
        );
        assert_eq!(
            (order.before(&(25..26), &(40..41)), order.before(&(40..41), &(25..26))),
            (marks([]), marks([(first, 1)]))
        );
        assert_eq!(order.before(&(9..12), &(40..41)), marks([(first, 2)]));
        // Queues know nothing of each other: each has a mark to wait for.
        order.add(0..5, 30..31, mark(second, 7));
        assert_eq!(order.free(&(0..40)), marks([(first, 3), (second, 7)]));
        assert_eq!(order.settled(&(0..10)), marks([(first, 3)]));
    }

    #[test]
    fn what_is_forgotten_counts_for_every_place() {
        let mut order = Order::default();
        for i in 0..REMEMBERED as u64 + 5 {
            let queue = if i % 2 == 0 { QUEUES[0] } else { QUEUES[1] };
            order.add(0..0, i as usize..i as usize + 1, mark(queue, i));
        }
        assert_eq!(order.settled(&(0..1)), marks([(QUEUES[0], 4), (QUEUES[1], 3)]));
        assert_eq!(order.settled(&(1000..1001)), marks([(QUEUES[0], 4), (QUEUES[1], 3)]));
        assert_eq!(order.settled(&(5..6)), marks([(QUEUES[0], 4), (QUEUES[1], 5)]));
    }

    #[test]
    fn a_span_holds_all_places() {
        assert_eq!(span([7, 3, 5].into_iter()), 3..8);
        assert_eq!(span([].into_iter()), 0..0);
        assert_eq!(span([u32::MAX].into_iter()), u32::MAX as usize..u32::MAX as usize + 1);
    }
}
