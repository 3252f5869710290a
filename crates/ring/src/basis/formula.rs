//! The formulas of base conversions.

/// Which multiple of D a conversion takes away. See [`BaseConversion`](crate::BaseConversion).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// u counts the y_i above (d_i - 1)/2: *some* representative, of magnitude at most |D|/2 D.
    Plain,
    /// u is the sum of the y_i/d_i to 19 bits, rounded: the centred representative, except that a
    /// value within |D| 1.5 2^-19 D of the tie may take the other one.
    Corrected,
}
