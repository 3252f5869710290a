//! The contract of the poly family: programs of operations on polynomials in RNS.
//!
//! A scheme records a [`Program`]: what to compute on polynomials over Z\[X\]/(X^N + 1), modulo
//! many primes. One pure function, `lower`, turns it into a [`Schedule`] of launches of three fused
//! kernels (`poly_rows`, `poly_columns`, `poly_pointwise`); devices run schedules and know nothing
//! else. `interpret` runs a program operation by operation on the host and is
//! the oracle of every lowering.
//!
//! | module | what |
//! |---|---|
//! | [`program`] | values, operations, types; the builder that checks them |
//! | [`interpret()`] | a program run on the host, one operation after the other |
//! | [`schedule`] | launches of fused kernels, as data |
//! | [`run_schedule`] | a schedule run on the host, slowly, every rule checked |
//! | [`lower()`] | from a program to a schedule, by a plan |
//! | [`device`] | what a device implements |
//! | [`Loader`] | how rings are opened on it, and with which choices |
//! | [`PolyEngine`] | a ring open on a device; checks before the device is asked |
//!
//! # A polynomial in memory
//!
//! A *limb* is a polynomial modulo one prime: N words. Primes are of one of two rings, that in X or
//! the conjugation-invariant one ([`RingShape`]); no basis has primes of both. A polynomial over a
//! [`Basis`] is one limb a prime, in the order of the basis. Limbs that are stored or compared are
//! canonical, in `[0, p)`, and lie in one of three [forms](schedule::Form): coefficients,
//! evaluations (the order of `girih_ring::NttTable`), or half transformed.

mod check;
pub mod device;
mod engine;
mod flow;
mod interpret;
mod loader;
mod lower;
pub mod program;
#[cfg(any(test, feature = "testing"))]
pub mod random;
mod reference;
#[cfg(any(test, feature = "testing"))]
pub mod reference_device;
mod resident;
pub mod schedule;

pub use device::{Bindings, BufferId, Place, PolyDevice, ResidentId, ResidentSource, RoutineId};
pub use engine::{Buffer, Lowered, PolyEngine, Resident, Routine};
pub use flow::flow;
pub use interpret::{Interpreted, interpret};
pub use loader::{Choices, Loader, PolyOptions, PolyPlan, unknown_choice};
pub use lower::lower;
pub use program::{
    Basis, Domain, Factor, Op, Program, ProgramBuilder, ProgramError, ResidentShape, RingShape,
    Term, Value, ValueType, View,
};
pub use reference::run_schedule;
pub use resident::HostPolynomials;
pub use schedule::Schedule;
