//! What the scheme computes on ciphertexts, recorded as programs of polynomial operations.
//!
//! A [`Recorder`] turns each operation of the scheme into operations on polynomials of a
//! [`girih_backend::poly::Program`]; nothing is computed while it records, except scales, constants
//! and the coefficients of plaintexts, which are host work. The polynomials that must lie on the
//! device when the program runs (parts of keys, encoded diagonals) are listed beside it as
//! [`ResidentRequest`]s.
//!
//! | file | what |
//! |---|---|
//! | `chain` | primes, levels, digits and scales, as numbers of the ring's primes |
//! | `digits` | the digits of each level, alone and joined |
//! | `recorder` | the recorder, ciphertexts as it sees them, what must be resident |
//! | `division` | ModUp and the one rounded division: rescale, ModDown, both at once |
//! | `keys` | key products, key switches, relinearisation; by digits, or by KLSS |
//! | `klss` | the basis of KLSS |
//! | `linear` | sums, plaintexts, constants |
//! | `multiply` | tensor products, products, squares |
//! | `level` | rescale, level adjust, drop |
//! | `galois` | rotations, conjugation, hoisting, inner sums |
//! | `transform` | linear transforms with double hoisting, chains of them |
//! | `dft` | the matrices of bootstrapping, by diagonals |
//! | `polynomial` | Chebyshev polynomials with exact scales |
//! | `eval_mod` | the scaled sine, and its correction by an arcsine |
//! | `bootstrap` | from level 0 back up, whole |
//!
//! Every residue is fixed: two recordings of one operation over one chain, by any plan, give the
//! same words.

mod bootstrap;
mod chain;
mod chain_shape;
mod dft;
mod digits;
mod division;
mod error;
mod eval_mod;
mod exact;
mod galois;
mod keys;
mod klss;
mod level;
mod linear;
mod multiply;
mod polynomial;
mod recorder;
mod transform;
mod transform_rule;

pub use bootstrap::{
    BootstrappingPlan, FirstFactor, FirstFactorSteps, FirstRow, RaiseSteps, TwoValues, Variant,
};
pub use chain::Chain;
pub use chain_shape::{BootstrappingShape, ChainShape, EncapsulationShape};
pub use dft::{Diagonals, Group, coefficients_to_slots, slots_to_coefficients, transform_groups};
pub use digits::LevelDigit;
pub use error::RecordError;
pub use eval_mod::{COSINE, DOUBLE_ANGLE_CONSTANTS, EvalModSteps};
pub use keys::{Digits, Extended, KeyProduct};
pub use polynomial::Basis as PolynomialBasis;
pub(crate) use recorder::join_halves;
pub use recorder::{
    KeyKind, OddPart, Part, PlainPolynomial, Recorded, RecordedProgram, Recorder, ResidentRequest,
};
pub use transform::{DiagonalPlan, LinearTransform};
pub use transform_rule::TransformRule;
