//! Operations on vectors, each computed at once or recorded.

use super::matrix::widened;
use girih::ckks::approximation::{CompositeSign, Polynomial};
use girih::ckks::server::{
    Bootstrapping, Builder, Ciphertexts, LinearMap, Matrix, Node, ServerKey,
};
use girih::ckks::{Complex64, Error, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// An operation with what it takes besides ciphertexts.
#[derive(Clone)]
pub enum Operation {
    /// x + y.
    Add,
    /// x - y.
    Sub,
    /// -x.
    Neg,
    /// x y.
    Mul,
    /// x^2.
    Square,
    /// x plus a vector.
    AddPlain(Arc<Vec<Complex64>>),
    /// x times a vector.
    MulPlain(Arc<Vec<Complex64>>),
    /// x plus a number.
    AddConstant(Complex64),
    /// x times a number.
    MulConstant(Complex64),
    /// Rotation to the left.
    Rotate(i64),
    /// Complex conjugates.
    Conjugate,
    /// Sums of `width` slots, `stride` apart.
    InnerSum(usize, i64),
    /// The reverse of it.
    Spread(usize, i64),
    /// A map by its diagonals.
    LinearMap(Arc<LinearMap>),
    /// A matrix in the clear times x; whether it is padded for vectors of more slots.
    Matrix(Arc<Matrix>, bool),
    /// The product of two encrypted matrices.
    MatrixMatrix,
    /// A polynomial.
    Polynomial(Arc<Polynomial>),
    /// The sign on [-range, range].
    Sign(f64, Arc<CompositeSign>),
    /// max(x, 0) there.
    Relu(f64, Arc<CompositeSign>),
    /// 1 where x > y, 0 where x < y.
    Compare(f64, Arc<CompositeSign>),
    /// The larger.
    Max(f64, Arc<CompositeSign>),
    /// The smaller.
    Min(f64, Arc<CompositeSign>),
    /// A bootstrapping.
    Bootstrap(Bootstrapping),
    MetaBootstrap(u32, Bootstrapping),
    /// To a lower level.
    DropTo(usize),
    /// To the canonical scale of a lower level.
    Adjust(usize),
    /// The same ciphertexts with so many slots.
    WithSlots(usize),
    /// The same ciphertexts with the promise that no slot is larger.
    WithMagnitude(f64),
}

/// The call of an operation that servers and builders have by one name.
macro_rules! call {
    ($operation:expr, $on:expr, $x:expr, $with_slots:expr, $with_magnitude:expr) => {
        match $operation {
            Operation::Add => $on.add(&$x[0], &$x[1]),
            Operation::Sub => $on.sub(&$x[0], &$x[1]),
            Operation::Neg => $on.neg(&$x[0]),
            Operation::Mul => $on.mul(&$x[0], &$x[1]),
            Operation::Square => $on.square(&$x[0]),
            Operation::AddPlain(values) => {
                check_vector(values, $x[0].slots())?;
                $on.add_plain(&$x[0], values)
            }
            Operation::MulPlain(values) => {
                check_vector(values, $x[0].slots())?;
                $on.mul_plain(&$x[0], values)
            }
            Operation::AddConstant(c) => $on.add_constant(&$x[0], *c),
            Operation::MulConstant(c) => $on.mul_constant(&$x[0], *c),
            Operation::Rotate(by) => $on.rotate(&$x[0], *by),
            Operation::Conjugate => $on.conjugate(&$x[0]),
            Operation::InnerSum(width, stride) => $on.inner_sum(&$x[0], *width, *stride),
            Operation::Spread(width, stride) => $on.spread(&$x[0], *width, *stride),
            Operation::LinearMap(map) => {
                check_map(map, $x[0].slots())?;
                $on.linear_transform(&$x[0], map)
            }
            Operation::Matrix(matrix, may_pad) => {
                let slots = $x[0].slots();
                let padded = padded(matrix, slots, *may_pad)?;
                let matrix = padded.as_ref().unwrap_or(matrix);
                // A tall matrix gives more slots than the vector has, which then repeats.
                let rows = matrix.rows().next_power_of_two();
                let x = if rows > slots { $with_slots(rows)? } else { $x[0].clone() };
                $on.matrix_vector(matrix, &x)
            }
            Operation::MatrixMatrix => $on.matrix_matrix(&$x[0], &$x[1]),
            Operation::Polynomial(p) => $on.polynomial(&$x[0], p),
            Operation::Sign(range, sign) => $on.sign(&$x[0], *range, sign),
            Operation::Relu(range, sign) => $on.relu(&$x[0], *range, sign),
            Operation::Compare(range, sign) => $on.compare(&$x[0], &$x[1], *range, sign),
            Operation::Max(range, sign) => $on.max(&$x[0], &$x[1], *range, sign),
            Operation::Min(range, sign) => $on.min(&$x[0], &$x[1], *range, sign),
            Operation::Bootstrap(how) => $on.bootstrap_with(&$x[0], how),
            Operation::MetaBootstrap(bits, how) => $on.meta_bootstrap(&$x[0], *bits, how),
            Operation::DropTo(level) => $on.drop_to(&$x[0], *level),
            Operation::Adjust(level) => $on.adjust(&$x[0], *level),
            Operation::WithSlots(slots) => $with_slots(*slots),
            Operation::WithMagnitude(magnitude) => $with_magnitude(*magnitude),
        }
    };
}

/// Refuses a vector that is shorter than the encrypted one, where it would be repeated.
fn check_vector(values: &[Complex64], slots: usize) -> Result<()> {
    let found = values.len();
    if found == slots {
        return Ok(());
    }
    let rule = format!("there must be {slots}, as many as the encrypted vector has slots");
    Err(Error::Length { what: "the values of a vector", found, rule })
}

/// Refuses a map of fewer slots than a vector has: it is right for vectors that repeat, and nobody
/// has said that this one does.
fn check_map(map: &LinearMap, slots: usize) -> Result<()> {
    let own = map.slots();
    if own >= slots {
        return Ok(());
    }
    Err(Error::Shape {
        operation: format!("a linear map of {own} slots and a vector of {slots}"),
        rule: format!("where the vector repeats, x.with_slots({own}) says so"),
    })
}

/// The matrix for vectors of so many slots, if it is for fewer.
fn padded(matrix: &Matrix, slots: usize, may_pad: bool) -> Result<Option<Arc<Matrix>>> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let own = columns.next_power_of_two();
    let refuse = |rule: String| {
        let operation = format!("a matrix of {rows} x {columns} and a vector of {slots} slots");
        Err(Error::Shape { operation, rule })
    };
    match own.cmp(&slots) {
        Ordering::Equal => Ok(None),
        Ordering::Greater => refuse(format!("the vector has to have {own}")),
        Ordering::Less if may_pad => Ok(Some(Arc::new(widened(matrix, slots)?))),
        Ordering::Less => refuse(format!(
            "girih.ckks.Matrix(entries, slots={slots}) is for such vectors; where the vector \
             repeats, x.with_slots({own}) says so"
        )),
    }
}

impl Operation {
    /// Computes it; there are as many `inputs` as it has.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn compute(&self, server: &ServerKey, inputs: &[&Ciphertexts]) -> Result<Ciphertexts> {
        let x = inputs[0];
        call!(self, server, inputs, |n| x.with_slots(n), |most| x.with_magnitude(most))
    }

    /// Records it.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn record(&self, builder: &mut Builder<'_>, inputs: &[Node]) -> Result<Node> {
        let x = &inputs[0];
        call!(self, builder, inputs, |slots| builder.with_slots(x, slots), |magnitude| builder
            .with_magnitude(x, magnitude))
    }
}
