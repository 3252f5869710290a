//! Tables, and their polynomials in z = exp(2 pi i m/p): half-band Hermite interpolation.
//!
//! With c_m the Fourier coefficients of the table, each frequency 0 < m <= p/2 becomes a
//! combination of z^m, z^(m + p), .. whose first `order` derivatives are 0 at all p points, as a
//! function of the complex z: errors of |z| pass as little as errors of its angle. A table is real,
//! so its negative frequencies are the conjugates, and f = S + conj S. (Hermite interpolation for
//! look-ups: Alexandru, Kim and Polyakov 2025; Bae, Kim, Stehle and Suvanto 2024.)

use crate::{Error, Result};
use girih_ckks::Complex64;
use std::f64::consts::TAU;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The largest modulus of a table.
pub const MAX_MODULUS: u32 = 32;

/// Values of tables are below this in magnitude.
pub const MAX_VALUE: i64 = 1 << 20;

/// A function of numbers modulo p, ready to be looked up. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Table(Arc<Inner>);

#[derive(Debug, PartialEq)]
struct Inner {
    values: Vec<i64>,
    order: u32,
    polynomial: Vec<Complex64>,
}

/// c_k = (1/p) sum over j of f_j exp(-2 pi i j k/p).
fn fourier(values: &[i64], k: usize) -> Complex64 {
    let p = values.len();
    let term = |(j, &f): (usize, &i64)| {
        let angle = TAU * (j * k % p) as f64 / p as f64;
        Complex64::new(libm::cos(angle), -libm::sin(angle)) * f as f64
    };
    values.iter().enumerate().map(term).sum::<Complex64>() / p as f64
}

/// The coefficients of S, that of z^0 first: those below 2^-40 of the largest are 0, and trailing
/// zeros are cut.
fn half_band(values: &[i64], order: usize) -> Vec<Complex64> {
    let p = values.len();
    let mut all = vec![Complex64::default(); order * p + p / 2 + 1];
    all[0] = Complex64::new(fourier(values, 0).re / 2.0, 0.0);
    for m in 1..=p / 2 {
        let c = fourier(values, m);
        let c = if 2 * m == p { Complex64::new(c.re / 2.0, 0.0) } else { c };
        for l in 0..=order {
            // (-1)^l C(order, l) times the product over j != l of (j + m/p), over order!.
            let mut weight = 1.0;
            for j in (0..=order).filter(|&j| j != l) {
                weight *= (j as f64 + m as f64 / p as f64) / (j as f64 - l as f64);
            }
            all[m + l * p] += c * weight;
        }
    }
    let largest = all.iter().map(|c| c.norm()).fold(0.0, f64::max);
    for c in &mut all {
        if c.norm() < largest * 2f64.powi(-40) || *c == Complex64::default() {
            *c = Complex64::default();
        }
    }
    while all.len() > 1 && all[all.len() - 1] == Complex64::default() {
        all.pop();
    }
    all
}

impl Table {
    /// The table of order 1 of `function` on 0, 1, .., `modulus` - 1.
    ///
    /// # Errors
    /// [`Error::Table`] unless the modulus is in 2..=32 and values are below 2^20; for a function
    /// that panics.
    pub fn new(modulus: u32, function: impl Fn(u32) -> u32) -> Result<Self> {
        check_modulus(modulus)?;
        let values = catch_unwind(AssertUnwindSafe(|| {
            (0..modulus).map(|m| i64::from(function(m))).collect::<Vec<_>>()
        }));
        let values = values.map_err(|_| Error::Table {
            modulus,
            why: "its function panicked: it must have a value for every number below".into(),
        })?;
        Self::from_values(&values)
    }

    /// The table of order 1 of these values, of 0 first. They may be negative.
    ///
    /// # Errors
    /// [`Error::Table`] unless there are 2 to 32 values, below 2^20 in magnitude.
    pub fn from_values(values: &[i64]) -> Result<Self> {
        let modulus = u32::try_from(values.len()).unwrap_or(u32::MAX);
        check_modulus(modulus)?;
        if let Some((m, v)) = values.iter().enumerate().find(|(_, v)| v.abs() >= MAX_VALUE) {
            let why = format!("its value at {m} is {v}: values must be below 2^20 in magnitude");
            return Err(Error::Table { modulus, why });
        }
        Ok(Self::made(values.to_vec(), 1))
    }

    fn made(values: Vec<i64>, order: u32) -> Self {
        let polynomial = half_band(&values, order as usize);
        Self(Arc::new(Inner { values, order, polynomial }))
    }

    /// The same table with errors of its input passed on by their square (order 1) or by their
    /// third power (order 2), which takes a level more.
    ///
    /// # Errors
    /// [`Error::Table`] for other orders.
    pub fn order(&self, order: u32) -> Result<Self> {
        if !(1..=2).contains(&order) {
            let why = format!("there is no order {order}: take 1 or 2");
            return Err(Error::Table { modulus: self.modulus(), why });
        }
        Ok(Self::made(self.0.values.clone(), order))
    }

    /// p', the number of its values.
    pub fn modulus(&self) -> u32 {
        self.0.values.len() as u32
    }

    /// Its values, that of 0 first.
    pub fn values(&self) -> &[i64] {
        &self.0.values
    }

    /// Its order, 1 or 2.
    pub fn order_of(&self) -> u32 {
        self.0.order
    }

    /// The least and the largest value.
    pub fn range(&self) -> (i64, i64) {
        let fold = |(low, high): (i64, i64), &v: &i64| (low.min(v), high.max(v));
        self.0.values.iter().fold((i64::MAX, i64::MIN), fold)
    }

    /// The coefficients of S, that of z^0 first.
    pub fn polynomial(&self) -> &[Complex64] {
        &self.0.polynomial
    }

    /// Levels that a look-up of this modulus and order takes, whatever the values are.
    pub fn levels(&self) -> usize {
        levels(self.modulus(), self.0.order)
    }

    /// The value at a number, modulo p'.
    pub fn at(&self, number: i64) -> i64 {
        self.0.values[number.rem_euclid(self.0.values.len() as i64) as usize]
    }
}

fn check_modulus(modulus: u32) -> Result<()> {
    if (2..=MAX_MODULUS).contains(&modulus) {
        return Ok(());
    }
    Err(Error::Table { modulus, why: format!("2 to {MAX_MODULUS} values are possible") })
}

/// Levels of a polynomial of degree order p + floor(p/2).
pub fn levels(modulus: u32, order: u32) -> usize {
    let degree = order * modulus + modulus / 2;
    (degree + 1).next_power_of_two().ilog2() as usize
}
