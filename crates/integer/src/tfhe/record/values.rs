//! Which values a sum may take.

/// A set of integers from -64 to 63, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Values(u128);

const LEAST: i32 = -64;
const MOST: i32 = 63;

impl Values {
    /// From `least` to `most`, both included.
    ///
    /// # Panics
    /// For a value out of range: whoever records an operation sees to it that none occurs.
    pub fn range(least: i32, most: i32) -> Self {
        (least..=most).collect()
    }

    pub fn one(value: i32) -> Self {
        Self::range(value, value)
    }

    pub fn iter(self) -> impl Iterator<Item = i32> {
        (LEAST..=MOST).filter(move |&v| self.contains(v))
    }

    pub fn contains(self, value: i32) -> bool {
        (LEAST..=MOST).contains(&value) && self.0 >> (value - LEAST) & 1 == 1
    }

    pub fn least(self) -> i32 {
        LEAST + self.0.trailing_zeros() as i32
    }

    pub fn most(self) -> i32 {
        MOST - self.0.leading_zeros() as i32
    }

    /// How far the largest is above the least.
    pub fn range_length(self) -> i32 {
        self.most() - self.least()
    }

    /// Whether there is one value alone.
    pub fn is_one(self) -> bool {
        self.0.is_power_of_two()
    }

    /// All sums of a value of each.
    pub fn plus(self, other: Self) -> Self {
        let (few, many) =
            if self.0.count_ones() < other.0.count_ones() { (self, other) } else { (other, self) };
        few.iter().fold(Self(0), |all, v| Self(all.0 | many.moved(v).0))
    }

    pub fn times(self, factor: i32) -> Self {
        self.iter().map(|v| v * factor).collect()
    }

    fn moved(self, by: i32) -> Self {
        assert!(
            self.least() + by >= LEAST && self.most() + by <= MOST,
            "a sum from {} to {}: no operation records that",
            self.least() + by,
            self.most() + by
        );
        Self(if by < 0 { self.0 >> -by } else { self.0 << by })
    }
}

impl FromIterator<i32> for Values {
    fn from_iter<I: IntoIterator<Item = i32>>(values: I) -> Self {
        Self(values.into_iter().fold(0, |all, v| {
            assert!((LEAST..=MOST).contains(&v), "a value of {v}: no operation records that");
            all | 1 << (v - LEAST)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_sets() {
        let (digit, bit) = (Values::range(0, 3), Values::from_iter([0, 8]));
        assert_eq!(digit.plus(bit).iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(digit.times(-2).iter().collect::<Vec<_>>(), [-6, -4, -2, 0]);
        let sign = Values::range(-1, 1).times(8).plus(Values::range(-7, 7));
        assert_eq!((sign.least(), sign.most(), sign.is_one()), (-15, 15, false));
        assert!(Values::one(-64).is_one() && Values::one(63).contains(63));
        assert!(!Values::range(-64, 63).contains(64));
    }
}
