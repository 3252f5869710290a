//! The matrices between coefficients and slots, as few diagonals each (docs/ckks.md,
//! "Bootstrapping").
//!
//! With n slots in use, z = S_n .. S_4 S_2 bitrev(c), c_k = m_k + i m_(k+n): stages of butterflies,
//! of which some at a time are multiplied out to one transform. Bit reversal is never undone:
//! coefficients stand in slots in bit-reversed order between the two transforms.

use std::collections::BTreeMap;

use num_complex::Complex64;

use super::error::RecordError;
use super::transform_rule::TransformRule;
use crate::params::bootstrapping::{baby_steps, shares};

/// exp(2 pi i numerator / denominator).
fn root(numerator: i64, denominator: i64) -> Complex64 {
    let turn = numerator.rem_euclid(denominator) as f64 / denominator as f64;
    Complex64::cis(2.0 * std::f64::consts::PI * turn)
}

fn is_zero(x: &Complex64) -> bool {
    x.re.abs().max(x.im.abs()) <= 1e-12
}

/// A matrix of n slots by rotation: (M x)_j = sum over d of `[d]_j` x_(j+d),
/// each diagonal by its period.
pub type Diagonals = BTreeMap<usize, Vec<Complex64>>;

/// One transform of a chain without stray rotations (docs/ckks.md, "Linear transforms").
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The rotation between two diagonals next to each other.
    pub stride: usize,
    /// o_i: diagonal k of the matrix itself stands at rotation stride (k + o_i).
    pub offset: i64,
    /// R_i: how far right the result is rotated.
    pub rotated_by: i64,
    /// Diagonals of a giant step.
    pub baby_steps: usize,
    /// Diagonal k at rotation stride k, already rotated by -R_i; by its period;
    /// none where it is zero.
    pub stored: Vec<Option<Vec<Complex64>>>,
}

impl Group {
    /// A transform without a stage: its one diagonal is 1.
    fn identity(n: usize, rotated_by: i64) -> Self {
        let stored = vec![Some(vec![Complex64::new(1.0, 0.0)])];
        Self { stride: n, offset: 0, rotated_by, baby_steps: 1, stored }
    }
}

/// The stage S_len of n slots, or its inverse.
fn stage(n: usize, len: usize, inverse: bool) -> Diagonals {
    let half = len / 2;
    let zero = Complex64::default();
    let mut same = vec![zero; len];
    let mut right = vec![zero; len];
    let mut left = vec![zero; len];
    let mut power = 1i64;
    for j in 0..half {
        let w = root(if inverse { -power } else { power }, 4 * len as i64);
        let scale = if inverse { 0.5 } else { 1.0 };
        same[j] = Complex64::new(scale, 0.0);
        // Forward, v is multiplied before the butterfly; inversely, the difference after it.
        right[j] = if inverse { same[j] } else { w };
        same[half + j] = w * -scale;
        left[half + j] = if inverse { w * scale } else { same[j] };
        power = power * 5 % (4 * len as i64);
    }
    let mut diagonals = Diagonals::from([(0, same)]);
    add_to(&mut diagonals, half % n, right);
    add_to(&mut diagonals, n - half, left);
    diagonals
}

fn add_to(diagonals: &mut Diagonals, at: usize, diagonal: Vec<Complex64>) {
    match diagonals.get_mut(&at) {
        Some(there) => {
            let period = there.len().max(diagonal.len());
            let sum = |j: usize| there[j % there.len()] + diagonal[j % diagonal.len()];
            *there = (0..period).map(sum).collect();
        }
        None => {
            diagonals.insert(at, diagonal);
        }
    }
}

/// The matrix `second first`.
fn compose(second: &Diagonals, first: &Diagonals, n: usize) -> Diagonals {
    let mut product = Diagonals::new();
    for (&e, b) in second {
        for (&d, a) in first {
            let period = a.len().max(b.len());
            let entry = |j: usize| b[j % b.len()] * a[(j + e) % a.len()];
            add_to(&mut product, (e + d) % n, (0..period).map(entry).collect());
        }
    }
    product
}

/// The transforms that take coefficients of n slots, of `most` that there could be, to slots, in
/// the order of application. One without a stage is the identity.
///
/// # Errors
/// When the slots are no powers of two, or there is no transform.
pub fn coefficients_to_slots(
    n: usize,
    most: usize,
    rule: TransformRule<'_>,
) -> Result<Vec<Group>, RecordError> {
    rule.check(n, most)?;
    Ok(chain(n, &rule.stages_of(n, most), true, rule.baby_steps))
}

/// The transforms back, in the order of application, in equal shares.
///
/// # Errors
/// As [`coefficients_to_slots`].
pub fn slots_to_coefficients(n: usize, rule: TransformRule<'_>) -> Result<Vec<Group>, RecordError> {
    rule.check(n, n)?;
    let order: Vec<usize> = (0..rule.groups).collect();
    Ok(chain(n, &shares(n.ilog2() as usize, &order), false, rule.baby_steps))
}

/// The transforms between slots and coefficients by groups of `stages` stages, in the order of
/// application: to slots where `inverse`, back otherwise.
///
/// # Errors
/// Unless every group has a stage, and all together log2 n.
pub fn transform_groups(
    n: usize,
    stages: &[usize],
    inverse: bool,
) -> Result<Vec<Group>, RecordError> {
    let all = n.ilog2() as usize;
    if !n.is_power_of_two() || stages.contains(&0) || stages.iter().sum::<usize>() != all {
        let why = format!("groups of {stages:?} stages do not cut the {all} of {n} slots");
        return Err(RecordError::Shape { operation: "transforms", why });
    }
    Ok(chain(n, stages, inverse, &[]))
}

fn chain(n: usize, sizes: &[usize], inverse: bool, steps: &[(usize, usize)]) -> Vec<Group> {
    let log2 = n.ilog2() as usize;
    // log2 of len / 2, in the order of application.
    let halves: Vec<usize> = if inverse { (0..log2).rev().collect() } else { (0..log2).collect() };
    let mut done = 0;
    let mut rotated_by = 0i64;
    let mut groups = Vec::new();
    let full = sizes.iter().filter(|size| **size > 0).count();
    for &size in sizes {
        if size == 0 {
            groups.push(Group::identity(n, rotated_by));
            continue;
        }
        let ours = &halves[done..done + size];
        done += size;
        let mut matrix = stage(n, 2 << ours[0], inverse);
        for &half in &ours[1..] {
            matrix = compose(&stage(n, 2 << half, inverse), &matrix, n);
        }
        let stride = 1usize << ours.iter().min().expect("a group has a stage");
        let wide = ours.contains(&(log2 - 1));
        let outer = if inverse { done == log2 } else { done == size };
        let (offset, count) = match () {
            _ if full == 1 => (0, 1 << size),
            _ if wide => (1, 1 << size),
            _ if outer => (-(1i64 << size), 2 << size),
            _ => (-((1i64 << size) - 1), (2 << size) - 1),
        };
        rotated_by += stride as i64 * offset;
        let stored = (0..count as i64).map(|k| {
            let at = (stride as i64 * (k + offset)).rem_euclid(n as i64) as usize;
            let diagonal = matrix.get(&at)?;
            let used = diagonal.iter().any(|x| !is_zero(x));
            used.then(|| super::transform::rotate(diagonal, -rotated_by))
        });
        let (stored, baby_steps) = (stored.collect(), baby_steps(count, steps));
        groups.push(Group { stride, offset, rotated_by, baby_steps, stored });
    }
    groups
}
