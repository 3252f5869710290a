//! Weighted sums of what a program has computed.

use super::values::Values;

/// `sum weight_i node_i + constant`, and the values that it may take.
///
/// The values are those of independent terms, which may be more than there are: an operation that
/// knows better says so ([`Linear::known`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    /// By node, each once, no weight 0.
    pub(super) terms: Vec<(u32, i32)>,
    pub(super) constant: i32,
    pub(super) values: Values,
}

impl Linear {
    pub fn constant(value: i32) -> Self {
        Self { terms: Vec::new(), constant: value, values: Values::one(value) }
    }

    pub(super) fn node(node: u32, values: Values) -> Self {
        Self { terms: vec![(node, 1)], constant: 0, values }
    }

    /// The value, if it is known.
    pub fn value(&self) -> Option<i32> {
        self.values.is_one().then(|| self.values.least())
    }

    pub fn values(&self) -> Values {
        self.values
    }

    pub fn terms(&self) -> &[(u32, i32)] {
        &self.terms
    }

    pub fn constant_term(&self) -> i32 {
        self.constant
    }

    pub fn least(&self) -> i32 {
        self.values.least()
    }

    pub fn most(&self) -> i32 {
        self.values.most()
    }

    /// How far the largest value is above the least: places on the circle that a sum needs beside
    /// those of others.
    pub fn range(&self) -> i32 {
        self.values.range_length()
    }

    /// The same, known to take no value but these.
    pub fn known(mut self, least: i32, most: i32) -> Self {
        self.values = self.values.iter().filter(|v| (least..=most).contains(v)).collect();
        self
    }

    pub fn plus(&self, other: &Self) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(&&(i, v)), Some(&&(j, w))) if i == j => {
                    a.next();
                    b.next();
                    (i, v + w)
                }
                (Some(&&(i, v)), Some(&&(j, _))) if i < j => {
                    a.next();
                    (i, v)
                }
                (Some(&&term), None) => {
                    a.next();
                    term
                }
                (_, Some(&&term)) => {
                    b.next();
                    term
                }
                (None, None) => break,
            };
            if next.1 != 0 {
                terms.push(next);
            }
        }
        let constant = self.constant + other.constant;
        if terms.is_empty() {
            return Self::constant(constant);
        }
        Self { terms, constant, values: self.values.plus(other.values) }
    }

    pub fn plus_constant(&self, value: i32) -> Self {
        self.plus(&Self::constant(value))
    }

    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.times(-1))
    }

    pub fn times(&self, factor: i32) -> Self {
        if factor == 0 {
            return Self::constant(0);
        }
        Self {
            terms: self.terms.iter().map(|&(node, weight)| (node, weight * factor)).collect(),
            constant: self.constant * factor,
            values: self.values.times(factor),
        }
    }

    /// The same sum, `other` in the place of a term; its values stay.
    pub(super) fn with_term(&self, node: u32, other: &Self) -> Self {
        let rest = self.terms.iter().copied().filter(|&(i, _)| i != node).collect();
        // What it may be is known already.
        let of = |terms, constant| Self { terms, constant, values: Values::one(0) };
        let sum = of(rest, self.constant).plus(&of(other.terms.clone(), other.constant));
        Self { values: self.values, ..sum }
    }

    pub fn sum<'a>(terms: impl IntoIterator<Item = &'a Self>) -> Self {
        terms.into_iter().fold(Self::constant(0), |sum, term| sum.plus(term))
    }
}
