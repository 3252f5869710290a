//! Cuts: ways to see a node as a function of at most four earlier ones.

use super::form::{Form, MAX_LEAVES, VARIABLES};

/// A node as a function of its leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    leaves: [u32; MAX_LEAVES],
    len: u8,
    /// Bit m is the value where leaf i is bit i of m; variables beyond the leaves do not matter.
    pub table: u16,
    /// How one bootstrapping computes it, if it can.
    pub form: Option<Form>,
}

impl Cut {
    /// The node itself.
    pub fn of_node(node: u32) -> Self {
        Self { leaves: [node, 0, 0, 0], len: 1, table: VARIABLES[0], form: None }
    }

    /// The function that is 0.
    pub fn zero() -> Self {
        Self { leaves: [0; MAX_LEAVES], len: 0, table: 0, form: None }
    }

    /// Strictly rising.
    pub fn leaves(&self) -> &[u32] {
        &self.leaves[..self.len as usize]
    }

    #[must_use]
    pub fn not_if(self, condition: bool) -> Self {
        Self { table: if condition { !self.table } else { self.table }, ..self }
    }

    /// `operation(self, other)` on the leaves of both that it depends on, unless these are more
    /// than four.
    pub fn join(&self, other: &Self, operation: impl Fn(u16, u16) -> u16) -> Option<Self> {
        let mut all = [0; 2 * MAX_LEAVES];
        let mut len = 0;
        let (mut a, mut b) = (self.leaves(), other.leaves());
        while let Some(next) = [a.first(), b.first()].into_iter().flatten().min().copied() {
            all[len] = next;
            len += 1;
            a = if a.first() == Some(&next) { &a[1..] } else { a };
            b = if b.first() == Some(&next) { &b[1..] } else { b };
        }
        if len > MAX_LEAVES {
            return None;
        }
        let leaves = [all[0], all[1], all[2], all[3]];
        let table = operation(self.table_over(&leaves[..len]), other.table_over(&leaves[..len]));
        let cut = Self { leaves, len: len as u8, table, form: None };
        Some(cut.without_idle_leaves())
    }

    /// The same function of more variables.
    fn table_over(&self, leaves: &[u32]) -> u16 {
        let mut positions = [0; MAX_LEAVES];
        for (position, leaf) in positions.iter_mut().zip(self.leaves()) {
            *position = leaves.iter().position(|l| l == leaf).unwrap_or_default();
        }
        let positions = &positions[..self.len as usize];
        self.rearranged(positions)
    }

    /// The table whose variable `positions[i]` is our variable i.
    fn rearranged(&self, positions: &[usize]) -> u16 {
        (0..16).fold(0, |table, minterm: u16| {
            let index = positions
                .iter()
                .enumerate()
                .fold(0, |index, (i, &p)| index | (minterm >> p & 1) << i);
            table | (self.table >> index & 1) << minterm
        })
    }

    fn depends_on(&self, variable: usize) -> bool {
        let (mask, shift) = (VARIABLES[variable], 1 << variable);
        (self.table & mask) >> shift != self.table & !mask
    }

    fn without_idle_leaves(self) -> Self {
        let mut cut = Self { leaves: [0; MAX_LEAVES], len: 0, ..self };
        // Variables that are read now: those not named do not matter, so 0 does for them.
        let mut sources = [0; MAX_LEAVES];
        for variable in (0..self.len as usize).filter(|&v| self.depends_on(v)) {
            cut.leaves[cut.len as usize] = self.leaves[variable];
            sources[variable] = cut.len as usize;
            cut.len += 1;
        }
        if cut.len != self.len {
            cut.table = self.rearranged(&sources[..self.len as usize]);
        }
        cut.form = Form::of(cut.table);
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_keeps_only_what_matters() {
        let [a, b, c] = [3, 5, 9].map(Cut::of_node);
        let ab = a.join(&b, |x, y| x ^ y).expect("two leaves");
        assert_eq!((ab.leaves(), ab.table), (&[3, 5][..], 0x6666));
        let again = ab.join(&b, |x, y| x ^ y).expect("one leaf is left");
        assert_eq!((again.leaves(), again.table), (&[3][..], VARIABLES[0]));
        let nothing = ab.join(&ab, |x, y| x & !y).expect("no leaf is left");
        assert_eq!((nothing.leaves(), nothing.table), (&[][..], 0));
        // (b AND c) XOR b: variables move.
        let bc = b.join(&c, |x, y| x & y).expect("two leaves");
        let masked = bc.join(&b, |x, y| x ^ y).expect("two leaves");
        assert_eq!((masked.leaves(), masked.table), (&[5, 9][..], VARIABLES[0] & !VARIABLES[1]));
        let other = Cut::of_node(1).join(&Cut::of_node(2), |x, y| x & y).expect("two leaves");
        assert!(
            other.join(&ab, |x, y| x & y).is_some()
                && other
                    .join(&ab, |x, y| x & y)
                    .is_some_and(|c| c.join(&Cut::of_node(7), |x, y| x & y).is_none())
        );
    }
}
