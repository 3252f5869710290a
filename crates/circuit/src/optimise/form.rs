//! What one bootstrapping of a bit can compute, as truth tables.
//!
//! A bit b is stored as `b q/4`. A combination adds *core* bits with weight 1 (-1 and q/4 for a
//! negated one) and *parity* bits with weight 2, and a bootstrapping tells the half circle `[3q/8,
//! 7q/8)` from the other. In quarters the sum is `core + 2 parity` modulo 4, and 2 and 3 are true:
//!
//! - core of two: their AND; of three: their majority. Negated operands and results make OR, NOR, a
//!   AND NOT b, ..
//! - each parity bit moves the sum by a half circle, so it inverts the result: `core XOR parity
//!   bits`.
//! - no core: the sum is even, the window `[q/4, 3q/4)` tells 0 from 2, and errors may be twice as
//!   large: XOR of all.
//!
//! A negated parity bit, like a negated result, inverts the function; that is left to whoever reads
//! it, so inverters never cost anything.
//!
//! What limits this is noise. In units in which the window's margin is q/8, a core bit has weight
//! 1, a parity bit beside a core weight 2, and without a core weight 1; the sum of squares is the
//! form's [`Form::variance`] in units of that of one bootstrapped ciphertext. A two-input gate has
//! 2, a majority 3, `a XOR b XOR c XOR d` 4, `a XOR (b AND c)` 6. What all results of one key share
//! comes with the square of the sum of the weights instead ([`Form::weight`]).

use std::collections::HashMap;
use std::sync::LazyLock;

/// Most bits that one bootstrapping reads: a combination takes four operands.
pub(crate) const MAX_LEAVES: usize = 4;

/// The truth table of variable i of four: bit m is bit i of m.
pub(crate) const VARIABLES: [u16; MAX_LEAVES] = [0xAAAA, 0xCCCC, 0xF0F0, 0xFF00];

/// How one bootstrapping computes a function of up to four bits; masks have a bit for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Two or three bits of weight 1, or none.
    pub core: u8,
    /// Those of the core that are negated.
    pub negated: u8,
    /// Bits of weight 2.
    pub parity: u8,
    /// The function is the inverse of what is stored.
    pub inverted: bool,
}

impl Form {
    /// Variance and weight of all forms, the quietest first.
    pub const NORMS: [(u32, u32); 6] = [(2, 2), (3, 3), (4, 4), (6, 4), (7, 5), (10, 6)];

    /// Sum of the weights without their signs, where the margin is q/8.
    pub fn weight(self) -> u32 {
        match self.core {
            0 => self.parity.count_ones(),
            core => core.count_ones() + 2 * self.parity.count_ones(),
        }
    }

    /// Sum of squared weights, where the margin is q/8.
    pub fn variance(self) -> u32 {
        match self.core {
            0 => self.parity.count_ones(),
            core => core.count_ones() + 4 * self.parity.count_ones(),
        }
    }

    /// The form that computes `table`, if there is one.
    pub fn of(table: u16) -> Option<Self> {
        FORMS.get(&table).copied()
    }

    fn table(self) -> u16 {
        let bits = |mask: u8| (0..MAX_LEAVES).filter(move |i| mask >> i & 1 == 1);
        let parity = bits(self.parity).fold(0, |sum, i| sum ^ VARIABLES[i]);
        let core: Vec<u16> = bits(self.core)
            .map(|i| if self.negated >> i & 1 == 1 { !VARIABLES[i] } else { VARIABLES[i] })
            .collect();
        let core = match core[..] {
            [a, b] => a & b,
            [a, b, c] => (a & b) | (a & c) | (b & c),
            _ => 0,
        };
        core ^ parity ^ if self.inverted { u16::MAX } else { 0 }
    }
}

/// Every function of two to four bits that one bootstrapping computes, by its truth table.
static FORMS: LazyLock<HashMap<u16, Form>> = LazyLock::new(|| {
    let mut forms = HashMap::new();
    for core in (0u8..16).filter(|c| [0, 2, 3].contains(&c.count_ones())) {
        for parity in (0u8..16).filter(|p| p & core == 0 && (p | core).count_ones() >= 2) {
            for negated in (0u8..16).filter(|n| n & !core == 0) {
                for inverted in [false, true] {
                    let form = Form { core, negated, parity, inverted };
                    forms.entry(form.table()).or_insert(form);
                }
            }
        }
    }
    forms
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum in quarters and the window, as the device sees them.
    fn by_phase(form: Form, minterm: u16) -> bool {
        let bit = |i: usize| u32::from(minterm >> i & 1);
        let selected = |mask: u8, i: usize| mask >> i & 1 == 1;
        let core: u32 = (0..4)
            .filter(|&i| selected(form.core, i))
            .map(|i| if selected(form.negated, i) { 1 - bit(i) } else { bit(i) })
            .sum();
        let parity: u32 = (0..4).filter(|&i| selected(form.parity, i)).map(bit).sum();
        ((core + 2 * parity) % 4 >= 2) != form.inverted
    }

    #[test]
    fn tables_are_what_the_windows_compute() {
        for (&table, &form) in FORMS.iter() {
            for minterm in 0..16 {
                assert_eq!(
                    table >> minterm & 1 == 1,
                    by_phase(form, minterm),
                    "{form:?} at {minterm:04b}"
                );
            }
        }
        // XOR: 6 + 4 + 1 sets of variables; AND: 6 pairs, 4 negations, 0 to 2 parity bits;
        // majority: 4 triples, 8 negations of which half are inverses, without or with the fourth.
        // Each with its inverse.
        assert_eq!(FORMS.len(), 2 * (11 + 6 * 4 * 4 + 4 * 4 * 2));
        let norms: std::collections::BTreeSet<_> =
            FORMS.values().map(|form| (form.variance(), form.weight())).collect();
        assert_eq!(norms.into_iter().collect::<Vec<_>>(), Form::NORMS);
    }

    #[test]
    fn well_known_gates() {
        let [a, b, c, d] = VARIABLES;
        let variance = |table| Form::of(table).map(Form::variance);
        assert_eq!(variance(a & b), Some(2));
        assert_eq!(variance(!(a | !b)), Some(2));
        assert_eq!(variance(a ^ b ^ c ^ d), Some(4));
        assert_eq!(variance(a & b | a & c | b & c), Some(3));
        assert_eq!(variance(c ^ (a | b)), Some(6));
        assert_eq!(variance(a & b & c), None);
        assert_eq!(variance((a & b) | (!a & c)), None);
    }
}
