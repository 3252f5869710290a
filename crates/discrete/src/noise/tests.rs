//! The matrix of what rounded diagonals add to numbers, row by row, against what is counted.

use super::*;
use crate::DiscreteLiteral;
use crate::program::{LookupPlan, weights_of_rounding};
use girih_ckks::program::{Chain, ChainShape, transform_groups};
use girih_ckks::{Complex64, Encoder};

/// A map of slots: diagonals as they should be, and what rounding adds to them.
struct Map {
    stride: usize,
    exact: Vec<Option<Vec<Complex64>>>,
    error: Vec<Option<Vec<Complex64>>>,
}

type Diagonals = [Option<Vec<Complex64>>];

impl Map {
    /// sum over k of diagonal k times x, rotated by stride k.
    fn of(&self, diagonals: &Diagonals, x: &[Complex64]) -> Vec<Complex64> {
        let mut y = vec![Complex64::default(); x.len()];
        for (k, diagonal) in diagonals.iter().enumerate() {
            let Some(diagonal) = diagonal else { continue };
            for (j, y) in y.iter_mut().enumerate() {
                *y += diagonal[j % diagonal.len()] * x[(j + self.stride * k) % x.len()];
            }
        }
        y
    }

    /// The same from the left: a row times the matrix.
    fn row(&self, diagonals: &Diagonals, row: &[Complex64]) -> Vec<Complex64> {
        let mut y = vec![Complex64::default(); row.len()];
        for (k, diagonal) in diagonals.iter().enumerate() {
            let Some(diagonal) = diagonal else { continue };
            for (j, &r) in row.iter().enumerate() {
                y[(j + self.stride * k) % row.len()] += r * diagonal[j % diagonal.len()];
            }
        }
        y
    }
}

/// All maps from slots to coefficients, and what their rounding adds.
pub(crate) struct Rounded {
    set: DiscreteParameters,
    encoder: Encoder,
    maps: Vec<Map>,
}

impl Rounded {
    pub fn new(set: &DiscreteParameters, modulus: u32) -> Self {
        let chain = Chain::new(ChainShape::from(set.ckks())).expect("a chain");
        let encoder = Encoder::new(set.ckks().chain().log2_degree()).expect("a degree");
        let slots = set.ckks().slots();
        let groups = transform_groups(slots, set.to_coefficients(), false).expect("all stages");
        let plan = LookupPlan::to_coefficients(set, modulus, &chain, &encoder).expect("maps");
        let maps = groups.into_iter().zip(&*plan).map(|(group, map)| {
            assert_eq!(group.stride, map.plan.stride);
            let error = |(k, plain): (usize, &Option<_>)| {
                let plain: &[i64] = plain.as_deref()?;
                let mut all = vec![0.0; set.numbers()];
                let gap = set.numbers() / plain.len();
                all.iter_mut().step_by(gap).zip(plain).for_each(|(to, &c)| *to = c as f64);
                let period = plain.len() / 2;
                let found = encoder.decode(&all, period, map.plaintext_scale).expect("all of them");
                let right = map.plan.stride * (k - k % map.plan.baby_steps);
                let wanted = group.stored[k].as_ref().expect("the same diagonals");
                let at = |j: usize| found[(j + right) % period] - wanted[j % wanted.len()];
                Some((0..period).map(at).collect())
            };
            let error = map.plaintexts.iter().enumerate().map(error).collect();
            Map { stride: group.stride, exact: group.stored, error }
        });
        let maps = maps.collect();
        Self { set: set.clone(), encoder, maps }
    }

    fn slots(numbers: &[f64]) -> Vec<Complex64> {
        let half = numbers.len() / 2;
        (0..half).map(|j| Complex64::new(numbers[j], numbers[half + j])).collect()
    }

    /// What slots at the end are as coefficients, by number.
    fn numbers(&self, slots: &[Complex64]) -> Vec<f64> {
        let scale = libm::exp2(50.0);
        let plain = self.encoder.encode(slots, scale).expect("small numbers");
        let at = |j| plain.coefficients()[self.set.exponent(j)] as f64 / scale;
        (0..self.set.numbers()).map(at).collect()
    }

    /// Numbers through the maps as they should be.
    fn exact(&self, numbers: &[f64]) -> Vec<f64> {
        let x = Self::slots(numbers);
        self.numbers(&self.maps.iter().fold(x, |x, map| map.of(&map.exact, &x)))
    }

    /// What rounding adds to each number.
    pub fn errors(&self, numbers: &[f64]) -> Vec<f64> {
        let mut x = Self::slots(numbers);
        let mut off = vec![Complex64::default(); x.len()];
        for map in &self.maps {
            let both: Vec<_> = x.iter().zip(&off).map(|(x, off)| x + off).collect();
            let own = map.of(&map.error, &both);
            off = map.of(&map.exact, &off).iter().zip(own).map(|(off, own)| off + own).collect();
            x = map.of(&map.exact, &x);
        }
        self.numbers(&off)
    }

    /// What each number adds to the error of number `j`: by maps, but for what two of them make.
    fn rows(&self, j: usize) -> Vec<Vec<f64>> {
        let half = self.set.numbers() / 2;
        let mut unit = vec![0.0; self.set.numbers()];
        unit[self.set.exponent(j % half)] = 1.0;
        let slots = self.encoder.decode(&unit, half, 1.0).expect("all of them");
        let last: Vec<Complex64> = slots.iter().map(|z| z.conj() / half as f64).collect();
        let of_map = |i: usize| {
            let after = self.maps[i + 1..].iter().rev();
            let row = after.fold(last.clone(), |row, map| map.row(&map.exact, &row));
            let row = self.maps[i].row(&self.maps[i].error, &row);
            let before = self.maps[..i].iter().rev();
            let row = before.fold(row, |row, map| map.row(&map.exact, &row));
            let parts = |re: fn(&Complex64) -> f64, im: fn(&Complex64) -> f64| {
                row.iter().map(re).chain(row.iter().map(im)).collect()
            };
            if j < half { parts(|z| z.re, |z| -z.im) } else { parts(|z| z.im, |z| z.re) }
        };
        (0..self.maps.len()).map(of_map).collect()
    }

    /// The numbers from 0 to `most` that move number `j` most, and by how much.
    pub fn worst(&self, j: usize, most: f64) -> (Vec<f64>, f64) {
        let rows = self.rows(j);
        let all: Vec<f64> =
            (0..self.set.numbers()).map(|l| rows.iter().map(|row| row[l]).sum()).collect();
        let sign = all.iter().sum::<f64>().signum();
        let numbers = all.iter().map(|a| if a * sign > 0.0 { most } else { 0.0 }).collect();
        let error = all.iter().map(|a| (a * sign).max(0.0)).sum::<f64>() * most;
        (numbers, error)
    }
}

/// What was counted of it once: a deviation for numbers that are independent of constants.
pub(crate) fn as_of_independent(set: &DiscreteParameters, modulus: u32, most: f64) -> f64 {
    let labels = coefficient_labels(set, modulus);
    let one = |i: usize| {
        let encoded = labels[i + 1] * set.ckks().chain().ratio(set.wire_level() - i) / labels[i];
        set.numbers() as f64 / 12.0 * (most / encoded).powi(2)
    };
    (0..labels.len() - 1).map(one).sum::<f64>().sqrt()
}

fn named(name: &str) -> DiscreteParameters {
    DiscreteParameters::by_name(name).expect("built in")
}

/// Sums of rows of a set against what is counted, for so many numbers.
fn rows_are_within(set: &DiscreteParameters, modulus: u32, numbers: impl Iterator<Item = usize>) {
    let rounded = Rounded::new(set, modulus);
    let counted = Constants::new(set, modulus);
    let labels = coefficient_labels(set, modulus);
    let weights = weights_of_rounding(set);
    let encoded =
        |i: usize| labels[i + 1] * set.ckks().chain().ratio(set.wire_level() - i) / labels[i];
    let (mut sums, mut shares) = (0f64, vec![0f64; weights.len()]);
    for j in numbers {
        let mut all = 0.0;
        for (i, row) in rounded.rows(j).iter().enumerate() {
            let sum = row.iter().map(|a| a.abs()).sum::<f64>();
            shares[i] = shares[i].max(sum * encoded(i) / weights[i]);
            all += sum;
        }
        sums = sums.max(all);
    }
    let alike = rounded.errors(&vec![1.0; set.numbers()]);
    let alike = alike.iter().fold(0f64, |all, e| all.max(e.abs()));
    println!(
        "{set} modulo {modulus}: 2^{:.2} counted, rows {:.3} of it, of maps {shares:.3?}; of a \
         middle 2^{:.2}, {:.3}",
        counted.span.log2(),
        sums / counted.span,
        counted.middle.log2(),
        alike / counted.middle
    );
    // Rows that were left out differ by less than what is left here.
    assert!(sums < 0.97 * counted.span, "{set} {modulus}: {sums}");
    assert!(shares.iter().all(|share| *share < 1.0), "{set} {modulus}: {shares:?}");
    assert!(alike < counted.middle, "{set} {modulus}: {alike}");
}

#[test]
fn rounded_constants_are_within_what_is_counted() {
    // A small ring whose maps are as uneven as those of large ones.
    let uneven = DiscreteParameters::new(&DiscreteLiteral {
        name: "INSECURE_UNEVEN".into(),
        to_coefficients: vec![2, 7],
        ..named("INSECURE_DISCRETE_4_FINE_N10").literal()
    });
    let uneven = uneven.expect("a valid set");
    let equal = |set: &DiscreteParameters| {
        let labels = coefficient_labels(set, set.modulus());
        (labels[1] * labels[1] / labels[0] / labels[2]).log2().abs() < 1.1
    };
    assert!(!equal(&uneven));
    for set in DiscreteParameters::insecure().into_iter().chain([uneven]) {
        // Published runs have equal steps.
        assert!(equal(&set) || set.name() == "INSECURE_UNEVEN", "{set}");
        for modulus in [set.modulus(), 2048] {
            rows_are_within(&set, modulus, (0..set.numbers()).step_by(3));
        }
        // The maps are those to coefficients.
        let rounded = Rounded::new(&set, set.modulus());
        let numbers: Vec<f64> = (0..set.numbers()).map(|j| (j * j % 16) as f64).collect();
        let found = rounded.exact(&numbers);
        assert!(found.iter().zip(&numbers).all(|(a, b)| (a - b).abs() < 1e-6), "{set}");
    }
}

/// Some rows of the sets in use.
#[test]
fn rounded_constants_of_the_real_sets_are_within_what_is_counted() {
    for set in DiscreteParameters::all() {
        rows_are_within(&set, set.modulus(), (0..8).map(|t| 16 * 129 * t));
        println!(
            "{set}: of z 2^{:.1}, of results 2^{:.1}, of encodings 2^{:.1}",
            exponential_rounding(&set).log2(),
            polynomial_rounding(&set, 41).log2(),
            crate::numbers::encoding(&set).log2()
        );
    }
}

/// More of them. Diagonals of the first map repeat after 2^7 slots, so that of it these are all
/// rows that there are.
#[test]
#[ignore = "takes half a minute"]
fn many_rows_of_the_real_sets_are_within_what_is_counted() {
    for set in DiscreteParameters::all() {
        rows_are_within(&set, set.modulus(), (0..128).map(|t| 129 * t));
    }
}

/// Numbers that are chosen against the constants: what was counted once does not hold, what is
/// counted now does.
#[test]
fn numbers_against_the_constants_are_counted() {
    for name in ["INSECURE_DISCRETE_1_N11", "INSECURE_DISCRETE_4_N10"] {
        let set = named(name);
        let (p, most) = (set.modulus(), f64::from(set.modulus() - 1));
        let rounded = Rounded::new(&set, p);
        let before = as_of_independent(&set, p, most);
        let counted = Constants::new(&set, p).error((0, most as i64), 0.0);
        for j in [0, 77, set.numbers() - 1] {
            let (numbers, expected) = rounded.worst(j, most);
            let found = rounded.errors(&numbers)[j].abs();
            println!(
                "{set} {j}: {:.1} deviations, {:.3} of the bound",
                found / before,
                found / counted
            );
            assert!((found / expected - 1.0).abs() < 1e-3, "{set} {j}: {found} {expected}");
            assert!(found > 9.0 * before && found < counted, "{set} {j}: {found}");
            // Numbers without a pattern are far from it.
            let any: Vec<f64> = (0..set.numbers()).map(|l| (l * l % p as usize) as f64).collect();
            assert!(rounded.errors(&any)[j].abs() < 0.3 * counted, "{set} {j}");
        }
    }
}

/// Messages of so many bits go to TFHE, as docs/switching.md says: twice the bound is a deviation
/// of which half a step has 14.
#[test]
fn messages_of_eight_bits_become_phases() {
    for name in ["DISCRETE_4", "DISCRETE_4_FINE"] {
        let deviation = |bits: u32| {
            2.0 * Constants::new(&named(name), 2 << bits).error((0, (1 << bits) - 1), 0.0)
        };
        let found: Vec<f64> = (4..=10).map(deviation).collect();
        println!("{name}, from 4 bits on: {found:.5?}");
        assert!(deviation(8) < 0.5 / 14.0 && deviation(9) > 0.5 / 14.0, "{name}");
    }
}
