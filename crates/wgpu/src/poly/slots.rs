//! Which slot of a thread holds what, by lifetime: a slot is given away again behind the last step
//! that reads it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots that are handed out, the lowest free one first.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    free: BinaryHeap<Reverse<u32>>,
    used: u32,
}

impl Slots {
    pub fn take(&mut self) -> u32 {
        match self.free.pop() {
            Some(Reverse(slot)) => slot,
            None => {
                self.used += 1;
                self.used - 1
            }
        }
    }

    pub fn give_back(&mut self, slot: u32) {
        self.free.push(Reverse(slot));
    }

    /// Most that were out at once.
    pub fn most(&self) -> usize {
        self.used as usize
    }
}

/// The values of a tile: what fills slots, when each is read last, where it is now.
#[derive(Debug)]
pub(crate) struct Values {
    slots: Slots,
    last_use: Vec<Option<usize>>,
    at: Vec<Option<u32>>,
}

impl Values {
    /// So many values; `last_use` is the step that reads each last, if one does.
    pub fn new(last_use: Vec<Option<usize>>) -> Self {
        Self { slots: Slots::default(), at: vec![None; last_use.len()], last_use }
    }

    /// Gives a value a slot, if a step reads it.
    pub fn fill(&mut self, value: usize) -> Option<u32> {
        self.last_use[value]?;
        let slot = self.slots.take();
        self.at[value] = Some(slot);
        Some(slot)
    }

    /// Where a value is.
    pub fn slot(&self, value: usize) -> Result<u32, String> {
        let slot = self.at.get(value).copied().flatten();
        slot.ok_or_else(|| format!("slot {value} is read before it is filled"))
    }

    /// Gives the value's slot back if `step` is the last to read it.
    pub fn done(&mut self, value: usize, step: usize) {
        if self.last_use[value] == Some(step)
            && let Some(slot) = self.at[value].take()
        {
            self.slots.give_back(slot);
        }
    }

    /// Gives back the slots of all values that `step` is the last to read.
    pub fn end(&mut self, step: usize) {
        (0..self.at.len()).for_each(|value| self.done(value, step));
    }

    /// Most slots that were filled at once.
    pub fn most(&self) -> usize {
        self.slots.most()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_given_away_behind_the_last_reader() {
        let mut values = Values::new(vec![Some(0), Some(1), None, Some(2)]);
        assert_eq!(values.fill(0), Some(0));
        assert_eq!(values.fill(1), Some(1));
        assert_eq!(values.fill(2), None);
        values.done(1, 0);
        values.done(0, 0);
        assert!(values.slot(0).is_err());
        assert_eq!(values.slot(1), Ok(1));
        assert_eq!(values.fill(3), Some(0));
        assert_eq!(values.most(), 2);
    }
}
