//! Gates, adders, digits and selections: look-ups of sums.

use super::{ServerKey, Wires};
use crate::{Result, Table, error};
use girih_rlwe::Mismatch;

/// A gate of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Both.
    And,
    /// At least one.
    Or,
    /// Not both.
    Nand,
    /// Neither.
    Nor,
    /// One of them.
    Xor,
    /// Both or neither.
    Xnor,
}

impl Gate {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::And, Self::Or, Self::Nand, Self::Nor, Self::Xor, Self::Xnor];

    /// What it makes of two bits.
    pub fn of(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Nand => !(a & b),
            Self::Nor => !(a | b),
            Self::Xor => a ^ b,
            Self::Xnor => a == b,
        }
    }

    /// The table of a + b: modulo 2 where that says all.
    fn table(self) -> Result<Table> {
        match self {
            Self::Xor => Table::from_values(&[0, 1]),
            Self::Xnor => Table::from_values(&[1, 0]),
            other => {
                let at = |sum: u32| i64::from(other.of(sum >= 1, sum >= 2));
                // Sums of two bits never reach 3; the value there keeps the polynomial small.
                Table::from_values(&[at(0), at(1), at(2), at(0)])
            }
        }
    }
}

/// Refuses what may be no bit.
fn check_bits(wires: &[&Wires]) -> Result<()> {
    match wires.iter().find(|x| x.range.0 < 0 || x.range.1 > 1) {
        None => Ok(()),
        Some(x) => {
            let advice = "; look up what they are first";
            error::mismatch(Mismatch::numbers("bits", x.range, (0, 1), advice))
        }
    }
}

impl ServerKey {
    /// 1 - a, of bits: no look-up.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for numbers that may be no bits.
    pub fn not(&self, a: &Wires) -> Result<Wires> {
        check_bits(&[a])?;
        self.sum(&[(-1, a)], 1)
    }

    /// A gate of two bits, by one look-up of their sum modulo 4, or 2.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for numbers that may be no bits, else as
    /// [`ServerKey::lookup_sum`].
    pub fn gate(&self, gate: Gate, a: &Wires, b: &Wires) -> Result<Wires> {
        check_bits(&[a, b])?;
        Ok(self.lookup_sum(&[(1, a), (1, b)], 0, &[&gate.table()?])?.remove(0))
    }

    /// The sum of three bits: its two digits, XOR and majority, by one look-up. In chains that is
    /// for sets with p = 16: with DISCRETE_1 sums of three results are refused, and XOR modulo 2
    /// and majority modulo 4 are look-ups of their own.
    ///
    /// # Errors
    /// As [`ServerKey::gate`].
    pub fn full_adder(&self, a: &Wires, b: &Wires, c: &Wires) -> Result<(Wires, Wires)> {
        check_bits(&[a, b, c])?;
        let (low, high) = (Table::from_values(&[0, 1, 0, 1])?, Table::from_values(&[0, 0, 1, 1])?);
        let mut both = self.lookup_sum(&[(1, a), (1, b), (1, c)], 0, &[&low, &high])?;
        let high = both.remove(1);
        Ok((both.remove(0), high))
    }

    /// s modulo `base`, and what is left, divided by it: two tables of one look-up, of numbers that
    /// are not negative and below the set's modulus.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a base from 2 to p - 1 that it is not, and
    /// numbers out of range; else as [`ServerKey::lookup_sum`].
    pub fn digits(&self, s: &Wires, base: u32, order: u32) -> Result<(Wires, Wires)> {
        let p = self.set.modulus();
        if !(2..p).contains(&base) {
            return error::mismatch(Mismatch::range("the base of digits", base, [2, p - 1]));
        }
        if s.range.0 < 0 || s.range.1 >= i64::from(p) {
            let (what, allowed) = ("numbers to take digits of", (0, i64::from(p) - 1));
            return error::mismatch(Mismatch::numbers(what, s.range, allowed, ""));
        }
        let low = Table::new(p, |m| m % base)?.order(order)?;
        let high = Table::new(p, |m| m / base)?.order(order)?;
        let mut both = self.lookup(s, &[&low, &high])?;
        let high = both.remove(1);
        Ok((both.remove(0), high))
    }

    /// a where the bit `choice` is 1, b where it is 0: two look-ups, of m c + a and m c + b for
    /// numbers below m, and their sum.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for a choice that may be no bit, and numbers for
    /// which the set's modulus is too small; else as [`ServerKey::lookup_sum`].
    pub fn select(&self, choice: &Wires, a: &Wires, b: &Wires, order: u32) -> Result<Wires> {
        check_bits(&[choice])?;
        let low = a.range.0.min(b.range.0);
        let high = a.range.1.max(b.range.1);
        let p = self.set.modulus();
        let fits = |m: &u32| p.is_multiple_of(2 * m) && i64::from(*m) > high;
        let Some(m) = (1..=p / 2).find(fits).filter(|_| low >= 0) else {
            let (what, allowed) = ("numbers to select of", (0, i64::from(p) / 2 - 1));
            return error::mismatch(Mismatch::numbers(what, (low, high), allowed, ""));
        };
        let when = |chosen: bool| {
            Table::new(2 * m, |s| if (s >= m) == chosen { s % m } else { 0 })?.order(order)
        };
        let weight = i64::from(m);
        let from = |x: &Wires, chosen: bool| -> Result<Wires> {
            let terms = [(weight, choice), (1, x)];
            Ok(self.lookup_sum(&terms, 0, &[&when(chosen)?])?.remove(0))
        };
        let (a, b) = (from(a, true)?, from(b, false)?);
        let mut sum = self.sum(&[(1, &a), (1, &b)], 0)?;
        // One of them is 0.
        sum.range = (0, high);
        Ok(sum)
    }
}
