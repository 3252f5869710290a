//! Odd polynomials closest to 1 on [gap, 1], by Remez' algorithm.
//!
//! On [gap, 1] the odd Chebyshev polynomials T_1, T_3, .. form a Haar system: the best combination
//! is the one whose error takes its largest magnitude, with alternating signs, at one point more
//! than there are coefficients. Chebyshev polynomials of [-1, 1] keep the linear systems well
//! conditioned, so that f64 suffices for gaps down to 2^-30 and degrees up to 63.

use std::f64::consts::PI;

use super::polynomial::clenshaw;

/// An odd polynomial and its largest distance from 1 on [gap, 1].
pub(super) struct Minimax {
    /// Coefficients of T_0 to T_degree, those of even index 0.
    pub coefficients: Vec<f64>,
    /// The largest |p - 1|.
    pub error: f64,
}

/// The odd polynomial of (odd) `degree` closest to 1 on [gap, 1].
pub(super) fn minimax(gap: f64, degree: usize) -> Minimax {
    let unknowns = degree.div_ceil(2);
    let mut points = initial(gap, unknowns + 1);
    let mut best: Option<Minimax> = None;
    // Each round that improves at all at least halves the distance to the best: few are needed.
    for _ in 0..60 {
        let (coefficients, levelled) = solve(&points, degree);
        let extrema = extrema(&coefficients, gap, &points);
        let error = extrema.iter().map(|&x| distance(&coefficients, x).abs()).fold(0.0, f64::max);
        if best.as_ref().is_none_or(|b| error < b.error) {
            best = Some(Minimax { coefficients, error });
        }
        // The best error lies between the levelled one and the largest.
        if error - levelled.abs() <= 1e-11 * error {
            break;
        }
        points = extrema;
    }
    best.expect("the first round always yields one")
}

/// Where a first guess alternates: Chebyshev points of odd polynomials, squeezed into [gap, 1].
fn initial(gap: f64, count: usize) -> Vec<f64> {
    (0..count)
        .map(|i| {
            let angle = PI * i as f64 / (2 * count - 1) as f64;
            if i + 1 == count { gap } else { gap + (1.0 - gap) * angle.cos() }
        })
        .rev()
        .collect()
}

/// `p(x) - 1`.
fn distance(coefficients: &[f64], x: f64) -> f64 {
    clenshaw(coefficients, x) - 1.0
}

/// The combination of odd Chebyshev polynomials whose error is E, -E, E, .. at `points`, and E.
fn solve(points: &[f64], degree: usize) -> (Vec<f64>, f64) {
    let size = points.len();
    let mut rows: Vec<Vec<f64>> = points
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            let mut row = vec![0.0; size + 1];
            // T_(j+2) = 2 T_2 T_j - T_(j-2), with T_(-1) = T_1 = x.
            let double = 2.0 * x.mul_add(2.0 * x, -1.0);
            let (mut before, mut now) = (x, x);
            for cell in &mut row[..size - 1] {
                *cell = now;
                (before, now) = (now, double.mul_add(now, -before));
            }
            row[size - 1] = if i % 2 == 0 { -1.0 } else { 1.0 };
            row[size] = 1.0;
            row
        })
        .collect();
    let solution = eliminate(&mut rows);
    let mut coefficients = vec![0.0; degree + 1];
    for (j, &c) in solution[..size - 1].iter().enumerate() {
        coefficients[2 * j + 1] = c;
    }
    (coefficients, solution[size - 1])
}

/// Gauss elimination with row pivots of a square system, its right side in the last column.
fn eliminate(rows: &mut [Vec<f64>]) -> Vec<f64> {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
            .unwrap_or(column);
        rows.swap(column, pivot);
        let (upper, lower) = rows.split_at_mut(column + 1);
        let pivot = &upper[column];
        for row in lower {
            let factor = row[column] / pivot[column];
            for (cell, p) in row[column..].iter_mut().zip(&pivot[column..]) {
                *cell = factor.mul_add(-p, *cell);
            }
        }
    }
    let mut solution = vec![0.0; size];
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| rows[i][j] * solution[j]).sum();
        solution[i] = (rows[i][size] - known) / rows[i][i];
    }
    solution
}

/// Where the error is largest between each two of its sign changes: as many points as before.
fn extrema(coefficients: &[f64], gap: f64, points: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(points.len());
    let last = points.len() - 1;
    // The error alternates at `points`, so it changes its sign between neighbours, and one largest
    // magnitude of the right sign lies between the sign changes around each point.
    for (i, &at) in points.iter().enumerate() {
        let lo = if i == 0 { gap } else { zero(coefficients, points[i - 1], at) };
        let hi = if i == last { 1.0 } else { zero(coefficients, at, points[i + 1]) };
        found.push(largest(coefficients, lo, hi, distance(coefficients, at).signum()));
    }
    found
}

/// A sign change of the error between `lo` and `hi`, by bisection.
fn zero(coefficients: &[f64], mut lo: f64, mut hi: f64) -> f64 {
    let sign = distance(coefficients, lo) > 0.0;
    for _ in 0..24 {
        let middle = lo + (hi - lo) / 2.0;
        if (distance(coefficients, middle) > 0.0) == sign {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    lo + (hi - lo) / 2.0
}

/// Where `sign` times the error is largest in [lo, hi]: on a grid, then by trisection beside it.
fn largest(coefficients: &[f64], lo: f64, hi: f64, sign: f64) -> f64 {
    const STEPS: usize = 32;
    let value = |x: f64| sign * distance(coefficients, x);
    let at = |i: usize| lo + (hi - lo) * i as f64 / STEPS as f64;
    let best = (0..=STEPS).max_by(|&a, &b| value(at(a)).total_cmp(&value(at(b)))).unwrap_or(0);
    let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(STEPS)));
    for _ in 0..32 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if value(a) < value(b) {
            low = a;
        } else {
            high = b;
        }
    }
    // Ends of the interval are found by the grid exactly.
    [low, at(best)].into_iter().max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap_or(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line closest to 1 on [gap, 1] is 2 x / (1 + gap).
    #[test]
    fn degree_1_is_known() {
        for gap in [0.5, 0.01, 1e-6] {
            let found = minimax(gap, 1);
            assert!((found.coefficients[1] - 2.0 / (1.0 + gap)).abs() < 1e-12);
            assert!((found.error - (1.0 - gap) / (1.0 + gap)).abs() < 1e-12);
        }
    }

    /// The error alternates in sign, with the same magnitude at all of (degree + 3) / 2 extrema,
    /// which proves that no polynomial is better.
    #[test]
    fn errors_alternate() {
        for (gap, degree) in [(0.5, 7), (1e-2, 15), (1e-4, 27), (0.9, 5), (1e-8, 31), (0.2, 63)] {
            let found = minimax(gap, degree);
            let (mut alternations, mut sign) = (0, 0.0);
            for i in 0..=200_000 {
                // Denser near the gap, where the first extremum lies.
                let x = gap + (1.0 - gap) * (f64::from(i) / 200_000.0).powi(3);
                let error = distance(&found.coefficients, x);
                assert!(error.abs() <= found.error * (1.0 + 1e-9) + 4e-15, "{gap} {degree} {x}");
                if error.abs() >= found.error * (1.0 - 1e-4) - 1e-15 && error.signum() != sign {
                    sign = error.signum();
                    alternations += 1;
                }
            }
            assert_eq!(alternations, degree.div_ceil(2) + 1, "{gap} {degree} {}", found.error);
        }
    }
}
