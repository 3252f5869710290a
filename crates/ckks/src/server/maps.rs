//! Matrices of linear maps: several vectors in, several out.

use std::collections::BTreeSet;

use num_complex::Complex64;

use super::matrix::{LinearMap, plan_of};
use crate::program::DiagonalPlan;
use crate::{Error, Result};

/// A matrix of linear maps of n slots: output `o` is the sum over inputs `i` of what map `[o][i]`
/// makes of vector `i`. It serves products with matrices that are wider or taller than a ciphertext
/// has slots.
///
/// It costs one level, as a [`LinearMap`] does, and fewer key switches than its maps would by
/// themselves: baby steps of an input serve all outputs, giant steps of an output all inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearMaps {
    slots: usize,
    inputs: usize,
    /// A row an output.
    rows: Vec<Vec<Option<LinearMap>>>,
}

impl LinearMaps {
    /// These maps, a row an output and in each as many as there are inputs; none where an input
    /// does not matter for an output.
    ///
    /// # Errors
    /// [`Error::Length`] without rows or inputs, for rows of several lengths and maps of several
    /// numbers of slots; [`Error::Shape`] for a row without a map, whose output would be zero.
    pub fn new(rows: Vec<Vec<Option<LinearMap>>>) -> Result<Self> {
        let inputs = rows.first().map_or(0, Vec::len);
        if let Some(wrong) = rows.iter().find(|row| row.len() != inputs || inputs == 0) {
            return Err(Error::Length {
                what: "a row of linear maps",
                found: wrong.len(),
                rule: format!("each has one map an input, as the first has {inputs}, at least 1"),
            });
        }
        let Some(slots) = rows.iter().flatten().flatten().next().map(LinearMap::slots) else {
            return Err(Error::Length {
                what: "a matrix of linear maps",
                found: 0,
                rule: "there is at least one map".into(),
            });
        };
        if let Some(other) = rows.iter().flatten().flatten().find(|map| map.slots() != slots) {
            return Err(Error::Length {
                what: "a linear map",
                found: other.slots(),
                rule: format!("the first of the matrix has {slots} slots, and all need as many"),
            });
        }
        if let Some(zero) = rows.iter().position(|row| row.iter().all(Option::is_none)) {
            return Err(Error::Shape {
                operation: "a matrix of linear maps".into(),
                rule: format!("output {zero} has no map: multiply by the constant 0 instead"),
            });
        }
        Ok(Self { slots, inputs, rows })
    }

    /// n.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How many vectors it takes.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many vectors it gives.
    pub fn outputs(&self) -> usize {
        self.rows.len()
    }

    /// The maps, a row an output.
    pub fn rows(&self) -> &[Vec<Option<LinearMap>>] {
        &self.rows
    }

    fn maps(&self) -> impl Iterator<Item = &LinearMap> {
        self.rows.iter().flatten().flatten()
    }

    /// The rotations whose keys it needs.
    pub fn rotations(&self) -> Vec<i64> {
        let plan = self.plan();
        let mut all = BTreeSet::new();
        for map in self.maps() {
            let places: BTreeSet<usize> = map.diagonals().map(|(by, _)| by / plan.stride).collect();
            let count = places.last().map_or(0, |last| last + 1);
            all.extend(plan.rotations(count, |k| places.contains(&k)));
        }
        all.into_iter().map(|by| by as i64).collect()
    }

    /// What it does to vectors, in the clear.
    ///
    /// # Panics
    /// When there are not as many vectors as inputs, or of several lengths.
    pub fn apply<T: Copy + Into<Complex64>>(&self, x: &[Vec<T>]) -> Vec<Vec<Complex64>> {
        assert_eq!(x.len(), self.inputs, "a vector for each input");
        let output = |row: &Vec<Option<LinearMap>>| {
            let mut sum = vec![Complex64::default(); x[0].len()];
            for (map, x) in row.iter().zip(x) {
                let Some(map) = map else { continue };
                sum.iter_mut().zip(map.apply(x)).for_each(|(sum, y)| *sum += y);
            }
            sum
        };
        self.rows.iter().map(output).collect()
    }

    pub(super) fn plan(&self) -> DiagonalPlan {
        let places = self.maps().flat_map(|map| map.diagonals().map(|(by, _)| by)).collect();
        plan_of(self.slots, &places, [self.inputs, self.outputs()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(slots: usize, by: &[i64]) -> Option<LinearMap> {
        let diagonals = by.iter().map(|&by| (by, vec![1.0]));
        Some(LinearMap::from_diagonals(slots, diagonals).expect("a map"))
    }

    #[test]
    fn baby_steps_are_for_all_outputs() {
        let full: Vec<i64> = (0..256).collect();
        let of = |inputs: usize, outputs: usize| {
            let rows = vec![vec![map(1024, &full); inputs]; outputs];
            LinearMaps::new(rows).expect("maps").plan().baby_steps
        };
        assert_eq!((of(1, 1), of(3, 12), of(12, 3)), (16, 32, 8));
        let sparse = LinearMaps::new(vec![vec![map(64, &[0, 8]), None, map(64, &[-16])]]);
        let sparse = sparse.expect("maps");
        assert_eq!((sparse.inputs(), sparse.outputs(), sparse.plan().stride), (3, 1, 8));
        let y = sparse.apply(&[vec![1.0; 64], vec![5.0; 64], vec![0.5; 64]]);
        assert!(y[0].iter().all(|&y| y == Complex64::from(2.5)));
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let one = || map(8, &[1]);
        for wrong in [
            vec![],
            vec![vec![]],
            vec![vec![one()], vec![one(), one()]],
            vec![vec![one(), map(16, &[1])]],
            vec![vec![None]],
        ] {
            assert!(matches!(LinearMaps::new(wrong), Err(Error::Length { .. })));
        }
        let zero = LinearMaps::new(vec![vec![one()], vec![None]]);
        assert!(matches!(zero, Err(Error::Shape { .. })));
    }
}
