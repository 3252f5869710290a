//! Linear maps of slots and matrices, as users give them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use girih_backend::parallel::prelude::*;
use num_complex::Complex64;

use super::diagonal::{Diagonal, magnitude};
use super::tracked::{MapNorms, short};
use crate::encoder::Factors;
use crate::program::DiagonalPlan;
use crate::{Error, Result};

/// Rows of products of diagonals that a thread sums at once.
const ROWS_AT_ONCE: usize = 4096;

/// A linear map of n slots by its diagonals: slot j of the result is the sum over d of
/// `diagonal_d[j] x[j + d]`, indices modulo n.
///
/// It costs one level, and about as many key switches as the root of the number of its diagonals
/// (baby steps and giant steps, with one decomposition for all baby steps). A ciphertext of more
/// slots is served too if its vector repeats with period n.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearMap {
    slots: usize,
    diagonals: BTreeMap<usize, Diagonal>,
}

impl LinearMap {
    /// The map of `slots` slots with these diagonals: the amount by which the vector is rotated
    /// left (negative: right), and `slots` factors, or a power of two of them that repeat. Several
    /// of one amount are added; zeros go.
    ///
    /// # Errors
    /// [`Error::Length`] unless `slots` is a power of two and each diagonal that long, or a shorter
    /// power of two;
    /// [`Error::Value`] for a number that is not finite, [`Error::Shape`] when nothing is left.
    pub fn from_diagonals<T: Copy + Into<Complex64>>(
        slots: usize,
        diagonals: impl IntoIterator<Item = (i64, Vec<T>)>,
    ) -> Result<Self> {
        if !slots.is_power_of_two() {
            return Err(Error::Length {
                what: "a linear map",
                found: slots,
                rule: "its number of slots must be a power of two".into(),
            });
        }
        let mut sums: BTreeMap<usize, Diagonal> = BTreeMap::new();
        for (by, diagonal) in diagonals {
            if !diagonal.len().is_power_of_two() || diagonal.len() > slots {
                return Err(Error::Length {
                    what: "a diagonal",
                    found: diagonal.len(),
                    rule: format!("the map has {slots} slots; fewer repeat, a power of two"),
                });
            }
            check_finite(&diagonal, |j| format!("entry {j} of diagonal {by}"))?;
            let diagonal = Diagonal::new(&diagonal);
            match sums.entry(by.rem_euclid(slots as i64) as usize) {
                Entry::Vacant(new) => _ = new.insert(diagonal),
                Entry::Occupied(mut sum) => *sum.get_mut() = sum.get().plus(&diagonal),
            }
        }
        sums.retain(|_, diagonal| !diagonal.is_zero());
        if sums.is_empty() {
            return Err(Error::Shape {
                operation: "a linear map".into(),
                rule: "all of its diagonals are zero: multiply by the constant 0 instead".into(),
            });
        }
        Ok(Self { slots, diagonals: sums })
    }

    /// n.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Its diagonals that are not zero, by rotation to the left: all factors, or a period of them.
    pub fn diagonals(&self) -> impl Iterator<Item = (usize, Factors<'_>)> {
        self.diagonals.iter().map(|(&by, diagonal)| (by, diagonal.factors()))
    }

    /// The rotations whose keys it needs.
    pub fn rotations(&self) -> Vec<i64> {
        let plan = self.plan();
        let count = self.diagonals.keys().last().map_or(0, |last| last / plan.stride + 1);
        let used = |k: usize| self.diagonals.contains_key(&(k * plan.stride));
        plan.rotations(count, used).into_iter().map(|by| by as i64).collect()
    }

    /// What the map does to a vector of a multiple of n slots, in the clear.
    pub fn apply<T: Copy + Into<Complex64>>(&self, x: &[T]) -> Vec<Complex64> {
        let at = |j: usize| -> Complex64 { x[j % x.len()].into() };
        let row = |j: usize| self.diagonals().map(|(d, v)| v.at(j % v.len()) * at(j + d)).sum();
        (0..x.len()).map(row).collect()
    }

    /// Stride and baby steps with the fewest key switches: a giant step takes a whole one, a baby
    /// step about half, as it shares its decomposition.
    pub(super) fn plan(&self) -> DiagonalPlan {
        plan_of(self.slots, &self.diagonals.keys().copied().collect(), [1, 1])
    }

    /// How many rows differ at most: all others are these again, rotated.
    fn period(&self) -> usize {
        self.diagonals().map(|(_, v)| v.len()).max().unwrap_or(1)
    }

    /// What it does to errors.
    pub(super) fn norms(&self) -> MapNorms {
        let n = self.period();
        // Of each row, and of each column; diagonal by diagonal, as they lie in memory.
        let [mut sums, mut squares, mut columns] = [(); 3].map(|()| vec![0.0; n]);
        let mut sizes = vec![0.0; n];
        for (d, v) in &self.diagonals {
            let (own, copies) = sizes.split_at_mut(v.factors().len());
            v.magnitudes(own);
            copies.chunks_mut(own.len()).for_each(|copy| copy.copy_from_slice(own));
            sums.iter_mut().zip(&sizes).for_each(|(sum, size)| *sum += size);
            squares.iter_mut().zip(&sizes).for_each(|(sum, size)| *sum += size * size);
            let (before, after) = columns.split_at_mut(d % n);
            let columns = after.iter_mut().chain(before);
            columns.zip(&sizes).for_each(|(sum, size)| *sum += size);
        }
        let largest = |of: Vec<f64>| of.into_iter().fold(0.0, f64::max);
        let (row_sum, row_norm) = (largest(sums), largest(squares).sqrt());
        // The norm is at most the root of the largest sums of a row and of a column.
        let columns = largest(columns);
        let norm = (row_sum * columns).sqrt().min(self.norm_by_products());
        let ends = (self.diagonals.keys().next(), self.diagonals.keys().next_back());
        let reach = match ends {
            (Some(first), Some(last)) => (*first, last - first),
            _ => (0, 0),
        };
        MapNorms { row_sum, row_norm, norm, reach }
    }

    /// A bound of the norm by the products of rows: exact where these are orthogonal, as those of
    /// a Fourier transform are. Infinite where it would take long.
    fn norm_by_products(&self) -> f64 {
        const MOST: usize = 1 << 25;
        let (n, rows, count) = (self.slots, self.period(), self.diagonals.len());
        if count * count * rows > MOST {
            return f64::INFINITY;
        }
        // Rows of a product lie so far apart as their diagonals do.
        let all: Vec<(usize, Vec<Complex64>)> =
            self.diagonals().map(|(d, v)| (d, v.iter().collect())).collect();
        let mut pairs: BTreeMap<usize, Vec<[&[Complex64]; 2]>> = BTreeMap::new();
        for (d, v) in &all {
            for (e, w) in &all {
                pairs.entry((d + n - e) % n).or_default().push([v, w]);
            }
        }
        // Some rows at a time, on all threads.
        let some = |first: usize| {
            let mut products = vec![Complex64::default(); ROWS_AT_ONCE.min(rows - first)];
            let mut sums = vec![0.0; products.len()];
            for (apart, pairs) in &pairs {
                products.fill(Complex64::default());
                for [v, w] in pairs {
                    // Lengths are powers of two.
                    let (v_last, w_last) = (v.len() - 1, w.len() - 1);
                    for (j, product) in (first..).zip(&mut products) {
                        *product += v[j & v_last] * w[(j + apart) & w_last].conj();
                    }
                }
                sums.iter_mut().zip(&products).for_each(|(sum, p)| *sum += magnitude(*p));
            }
            sums.into_iter().fold(0.0, f64::max)
        };
        let firsts = (0..rows).into_par_iter().step_by(ROWS_AT_ONCE);
        let largest: Vec<f64> = firsts.map(some).collect();
        largest.into_iter().fold(0.0, f64::max).sqrt()
    }

    /// A digest of its entries.
    pub(super) fn digest(&self) -> u64 {
        let of_one = |(d, v): (&usize, &Diagonal)| {
            let mut hasher = blake3::Hasher::new();
            v.hash(&mut hasher);
            hasher.update(&(*d as u64).to_le_bytes());
            hasher.finalize()
        };
        let mut all = blake3::Hasher::new();
        for digest in self.diagonals.par_iter().map(of_one).collect::<Vec<_>>() {
            all.update(digest.as_bytes());
        }
        short(&all)
    }
}

/// Stride and baby steps with the fewest key switches for diagonals at `places`, of a matrix of
/// maps with so many inputs and outputs: a baby step is one of each input, a giant step of each
/// output.
pub(super) fn plan_of(
    slots: usize,
    places: &BTreeSet<usize>,
    [inputs, outputs]: [usize; 2],
) -> DiagonalPlan {
    let stride = places.iter().fold(slots, |a, &b| gcd(a, b));
    let cost = |baby_steps: usize| {
        let count = |step: fn(usize, usize) -> usize| {
            let steps = places.iter().map(|d| step(d / stride, baby_steps));
            steps.filter(|&step| step > 0).collect::<BTreeSet<_>>().len()
        };
        inputs * count(|k, bs| k % bs) + 2 * outputs * count(|k, bs| k / bs)
    };
    let candidates = (0..=(slots / stride).ilog2()).map(|i| 1usize << i);
    let baby_steps = candidates.min_by_key(|&bs| cost(bs)).unwrap_or(1);
    DiagonalPlan { stride, baby_steps, slots }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Refuses numbers that are not finite; `what` says which number it is.
fn check_finite<T: Copy + Into<Complex64>>(
    values: &[T],
    what: impl Fn(usize) -> String,
) -> Result<()> {
    let is_wrong = |&value: &T| !value.into().is_finite();
    let Some(wrong) = values.iter().position(is_wrong) else { return Ok(()) };
    let (value, rule) = (values[wrong].into().to_string(), "only finite numbers can be encoded");
    Err(Error::Value { what: what(wrong), value, rule: rule.into() })
}

/// A matrix in the clear, to be multiplied by encrypted vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<Complex64>,
}

impl Matrix {
    /// The matrix with these entries, row after row.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are `rows` times `columns` entries, at least one;
    /// [`Error::Value`] for one that is not finite.
    pub fn new<T: Copy + Into<Complex64>>(
        rows: usize,
        columns: usize,
        entries: &[T],
    ) -> Result<Self> {
        if entries.is_empty() || rows.checked_mul(columns) != Some(entries.len()) {
            return Err(Error::Length {
                what: "the entries of a matrix",
                found: entries.len(),
                rule: format!("{rows} rows of {columns} columns need rows times columns, not 0"),
            });
        }
        let entries: Vec<Complex64> = entries.iter().map(|&value| value.into()).collect();
        check_finite(&entries, |i| format!("row {}, column {}", i / columns, i % columns))?;
        Ok(Self { rows, columns, entries })
    }

    /// Number of rows, the length of products.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, the length of vectors.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row after row.
    pub fn entries(&self) -> &[Complex64] {
        &self.entries
    }

    /// The rotations whose keys a product with an encrypted vector needs: none where all entries
    /// are 0.
    ///
    /// # Errors
    /// None that is known of.
    pub fn rotations(&self) -> Result<Vec<i64>> {
        let Some((map, sum)) = self.by_diagonals()? else { return Ok(Vec::new()) };
        let mut rotations = map.rotations();
        rotations.extend((0..sum.width.ilog2()).map(|i| (sum.stride << i) as i64));
        rotations.sort_unstable();
        rotations.dedup();
        Ok(rotations)
    }

    /// The rotations whose keys the product of two encrypted `size` x `size` matrices needs.
    ///
    /// # Errors
    /// [`Error::Length`] unless `size` is a power of two.
    pub fn product_rotations(size: usize) -> Result<Vec<i64>> {
        let maps = ProductMaps::new(size)?;
        let all = [&maps.rows, &maps.columns].into_iter().chain(&maps.shifts);
        let mut rotations: Vec<i64> = all.flat_map(LinearMap::rotations).collect();
        rotations.extend((1..size).map(|k| (k * size) as i64));
        rotations.sort_unstable();
        rotations.dedup();
        Ok(rotations)
    }

    /// Rows and columns, padded with zeros to powers of two.
    pub(super) fn padded(&self) -> [usize; 2] {
        [self.rows, self.columns].map(usize::next_power_of_two)
    }

    /// Padded to a x b, as a map of max(a, b) slots; none of a matrix of zeros. For a < b, every
    /// diagonal holds what a whole row needs only after b/a slots at stride a are added up.
    pub(super) fn by_diagonals(&self) -> Result<Option<(LinearMap, InnerSum)>> {
        if self.entries.iter().all(|entry| *entry == Complex64::default()) {
            return Ok(None);
        }
        let [a, b] = self.padded();
        let entry = |r: usize, c: usize| {
            let inside = r < self.rows && c < self.columns;
            if inside { self.entries[r * self.columns + c] } else { Complex64::default() }
        };
        let slots = a.max(b);
        let diagonal = |k: usize| (0..slots).map(|j| entry(j % a, (j + k) % b)).collect();
        let diagonals = (0..a.min(b)).map(|k| (k as i64, diagonal(k)));
        let map = LinearMap::from_diagonals(slots, diagonals.collect::<Vec<(i64, Vec<_>)>>())?;
        Ok(Some((map, InnerSum { width: (b / a).max(1), stride: a })))
    }
}

/// A sum over slots that follows a map.
pub(super) struct InnerSum {
    pub width: usize,
    pub stride: usize,
}

/// The maps of a product of two d x d matrices, row after row in d^2 slots each (Jiang, Kim,
/// Lauter, Song: "Secure outsourced matrix computation and application to neural networks", 2018).
pub(super) struct ProductMaps {
    /// Row r turned left by r, of the first matrix.
    pub rows: LinearMap,
    /// Column c turned up by c, of the second.
    pub columns: LinearMap,
    /// All rows turned left by k, for k from 1 on.
    pub shifts: Vec<LinearMap>,
}

impl ProductMaps {
    pub fn new(size: usize) -> Result<Self> {
        if !size.is_power_of_two() {
            return Err(Error::Length {
                what: "a matrix",
                found: size,
                rule: "a power of two of rows is needed; pad it with zeros".into(),
            });
        }
        let n = size * size;
        // A map that takes slot j of the result from slot `from(j)`.
        let map = |from: &dyn Fn(usize, usize) -> usize| {
            let one = |j: usize| {
                let mut diagonal = vec![0.0; n];
                diagonal[j] = 1.0;
                (from(j / size, j % size) as i64 - j as i64, diagonal)
            };
            LinearMap::from_diagonals(n, (0..n).map(one).collect::<Vec<_>>())
        };
        Ok(Self {
            rows: map(&|r, c| r * size + (r + c) % size)?,
            columns: map(&|r, c| (r + c) % size * size + c)?,
            shifts: (1..size)
                .map(|k| map(&|r, c| r * size + (c + k) % size))
                .collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(m: &Matrix, x: &[f64]) -> Vec<f64> {
        let row = |r: usize| &m.entries()[r * m.columns()..(r + 1) * m.columns()];
        (0..m.rows()).map(|r| row(r).iter().zip(x).map(|(m, x)| m.re * x).sum()).collect()
    }

    #[test]
    fn matrices_of_any_shape_become_diagonals() {
        for (rows, columns) in [(4, 4), (2, 8), (8, 2), (3, 5), (1, 8), (8, 1), (1, 1), (7, 7)] {
            let entries: Vec<f64> =
                (0..rows * columns).map(|i| (i * i % 11) as f64 - 4.5).collect();
            let m = Matrix::new(rows, columns, &entries).unwrap();
            let x: Vec<f64> = (0..columns).map(|i| 1.0 + (i * 7 % 5) as f64).collect();
            let mut padded = x.clone();
            padded.resize(columns.next_power_of_two(), 0.0);
            let (map, sum) = m.by_diagonals().unwrap().unwrap();
            let repeated: Vec<f64> = padded.iter().copied().cycle().take(map.slots()).collect();
            let y = map.apply(&repeated);
            for (r, wanted) in product(&m, &x).into_iter().enumerate() {
                let parts = (0..sum.width).map(|i| y[(r + i * sum.stride) % y.len()]);
                let found: Complex64 = parts.sum();
                assert!((found - wanted).norm() < 1e-12, "{rows} x {columns}, row {r}");
            }
        }
    }

    #[test]
    fn products_of_matrices_are_sums_of_turned_ones() {
        let size = 4;
        let maps = ProductMaps::new(size).unwrap();
        let x: Vec<f64> = (0..16).map(|i| (i * 5 % 7) as f64).collect();
        let y: Vec<f64> = (0..16).map(|i| (i * 3 % 11) as f64 - 5.0).collect();
        let (x0, y0) = (maps.rows.apply(&x), maps.columns.apply(&y));
        let mut sum: Vec<Complex64> = x0.iter().zip(&y0).map(|(x, y)| x * y).collect();
        for (k, shift) in maps.shifts.iter().enumerate() {
            let xk = shift.apply(&x0);
            for (j, sum) in sum.iter_mut().enumerate() {
                *sum += xk[j] * y0[(j + (k + 1) * size) % 16];
            }
        }
        for r in 0..size {
            for c in 0..size {
                let wanted: f64 = (0..size).map(|i| x[r * size + i] * y[i * size + c]).sum();
                assert_eq!(sum[r * size + c], Complex64::from(wanted));
            }
        }
    }

    #[test]
    fn plans_have_few_rotations() {
        let full = |n: usize| {
            let diagonals = (0..n as i64).map(|d| (d, vec![1.0; n]));
            LinearMap::from_diagonals(n, diagonals.collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(full(64).plan().baby_steps, 8);
        assert_eq!(full(64).rotations().len(), 14);
        assert_eq!(full(16).plan().baby_steps, 4);
        // A stride, and a diagonal that wraps around.
        let map =
            LinearMap::from_diagonals(64, [(-8, vec![1.0; 64]), (16, vec![1.0; 64])]).unwrap();
        assert_eq!(map.plan().stride, 8);
        assert!(map.rotations().iter().all(|by| by % 8 == 0));
    }

    /// Diagonals that repeat mean the same as all of their factors.
    #[test]
    fn diagonals_may_be_periods() {
        let (slots, short) = (16, [(0, vec![1.0, -2.0]), (3, vec![0.5; 4]), (3, vec![0.0, 1.0])]);
        let long = short.clone().map(|(by, v)| (by, v.into_iter().cycle().take(slots).collect()));
        let [short, long] = [
            LinearMap::from_diagonals(slots, short).unwrap(),
            LinearMap::from_diagonals::<f64>(slots, long).unwrap(),
        ];
        let x: Vec<f64> = (0..slots).map(|j| (j * j % 7) as f64).collect();
        assert_eq!(short.apply(&x), long.apply(&x));
        assert_eq!(short.diagonals().map(|(_, v)| v.len()).collect::<Vec<_>>(), [2, 4]);
        let [a, b] = [short.norms(), long.norms()];
        assert_eq!((a.row_sum, a.row_norm, a.reach), (b.row_sum, b.row_norm, b.reach));
        assert!((a.norm - b.norm).abs() < 1e-12, "{} {}", a.norm, b.norm);
    }

    /// What has no imaginary parts is one map, however it was given.
    #[test]
    fn real_maps_are_complex_ones_without_imaginary_parts() {
        let real: Vec<f64> = (0..8).map(|j| f64::from(j) - 2.5).collect();
        let complex: Vec<Complex64> = real.iter().map(|&re| re.into()).collect();
        let i = Complex64::i();
        let [one, two] = [i, -i].map(|i| complex.iter().map(|v| v / 2.0 + i).collect::<Vec<_>>());
        let of_real = LinearMap::from_diagonals(8, [(3, real)]).unwrap();
        let of_complex = LinearMap::from_diagonals(8, [(3, complex)]).unwrap();
        let sum = LinearMap::from_diagonals(8, [(3, one.clone()), (3, two)]).unwrap();
        let other = LinearMap::from_diagonals(8, [(3, one)]).unwrap();
        assert_eq!((&of_real, &of_real), (&of_complex, &sum));
        assert_eq!([of_complex.digest(), sum.digest()], [of_real.digest(); 2]);
        assert_ne!(of_real.digest(), other.digest());
        assert!(of_real.diagonals().all(|(_, v)| matches!(v, Factors::Real(_))));
        assert!(other.diagonals().all(|(_, v)| matches!(v, Factors::Complex(_))));
    }

    #[test]
    fn bad_input_is_refused() {
        for wrong in [0, 3, 16] {
            let length = LinearMap::from_diagonals(8, [(0, vec![1.0; wrong])]);
            assert!(matches!(length, Err(Error::Length { .. })), "{wrong}");
        }
        assert!(matches!(
            LinearMap::from_diagonals(6, [(0, vec![1.0; 6])]),
            Err(Error::Length { .. })
        ));
        assert!(matches!(
            LinearMap::from_diagonals(4, [(0, vec![0.0; 4])]),
            Err(Error::Shape { .. })
        ));
        let nan = LinearMap::from_diagonals(2, [(0, vec![f64::NAN; 2])]);
        assert!(matches!(nan, Err(Error::Value { .. })));
        assert!(matches!(Matrix::new(2, 2, &[1.0; 3]), Err(Error::Length { .. })));
        assert!(matches!(Matrix::new(1, 1, &[f64::INFINITY]), Err(Error::Value { .. })));
        assert!(matches!(Matrix::product_rotations(3), Err(Error::Length { .. })));
    }
}
