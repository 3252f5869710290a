//! What the suite knows of the poly family: programs with all that they read,
//! against the interpreter.

pub mod compare;
pub mod kernels;

use girih_backend::poly::{HostPolynomials, Program};

/// A program with all that it needs to run.
#[derive(Clone, Debug)]
pub struct Work {
    /// What it is about.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Its resident polynomials, by slot.
    pub residents: HostPolynomials,
    /// Its inputs, by slot.
    pub inputs: Vec<Vec<u32>>,
}
