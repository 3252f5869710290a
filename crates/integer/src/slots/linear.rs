//! Weighted sums of wires, as they are recorded.

/// Values of a digit.
pub(super) const RADIX: i64 = 4;

/// The largest digit.
pub(super) const MOST: i64 = RADIX - 1;

/// A weighted sum of wires plus a constant, and the least and the largest value that it may have.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub terms: Vec<(i64, u32)>,
    pub constant: i64,
    pub low: i64,
    pub high: i64,
}

impl Linear {
    pub fn constant(value: i64) -> Self {
        Self { terms: Vec::new(), constant: value, low: value, high: value }
    }

    /// One wire, of numbers in a range.
    pub fn wire(wire: u32, low: i64, high: i64) -> Self {
        Self { terms: vec![(1, wire)], constant: 0, low, high }
    }

    /// What it is where no wire is in it.
    pub fn value(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub fn plus(&self, other: &Self) -> Self {
        self.combined(1, other)
    }

    pub fn minus(&self, other: &Self) -> Self {
        self.combined(-1, other)
    }

    pub fn times(&self, factor: i64) -> Self {
        Self::constant(0).combined(factor, self)
    }

    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(Self::constant(0), |sum, x| sum.plus(x))
    }

    /// The same, of which more is known than its terms say.
    pub fn known(mut self, low: i64, high: i64) -> Self {
        (self.low, self.high) = (self.low.max(low), self.high.min(high));
        self
    }

    fn combined(&self, weight: i64, other: &Self) -> Self {
        let mut terms = self.terms.clone();
        for &(w, wire) in &other.terms {
            match terms.iter_mut().find(|(_, own)| *own == wire) {
                Some((own, _)) => *own += weight * w,
                None => terms.push((weight * w, wire)),
            }
        }
        terms.retain(|(w, _)| *w != 0);
        let constant = self.constant + weight * other.constant;
        if terms.is_empty() {
            return Self::constant(constant);
        }
        let ends = [weight * other.low, weight * other.high];
        let low = self.low + ends[0].min(ends[1]);
        Self { terms, constant, low, high: self.high + ends[0].max(ends[1]) }
    }
}
