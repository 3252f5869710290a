//! The keys of joined digits: sums of rows that lie on the device already, made there when a
//! recording first reads them. So no key is expanded twice, and there are sums for the levels in
//! use alone.

use super::memory::{While, advised};
use crate::program::RecordError;
use crate::{Error, Result};
use girih_backend::poly::{
    Basis, Bindings, HostPolynomials, PolyEngine, Program, ProgramBuilder, ProgramError, Resident,
    ResidentShape, Term,
};
use girih_backend::{BackendError, NoProgress};

/// The sum of `rows` at the primes of `basis`, which all of them have. It goes through the host,
/// since devices keep resident polynomials in forms of their own.
pub(super) fn sum(engine: &PolyEngine, rows: &[Resident], basis: &Basis) -> Result<Resident> {
    let failed = advised(While::Computing);
    let program = program(engine, rows, basis).map_err(RecordError::from)?;
    let routine = engine.prepare(&program, rows).map_err(&failed)?;
    let buffer = engine.allocate(basis.len()).map_err(&failed)?;
    let call = Bindings { inputs: Vec::new(), outputs: vec![buffer.place(0)] };
    engine.run(&routine, std::slice::from_ref(&call)).map_err(&failed)?;
    let mut words = vec![0; basis.len() * engine.ring().degree()];
    engine.read(buffer.place(0), &mut words).map_err(&failed)?;
    drop((routine, buffer));
    let shape = ResidentShape { basis: basis.clone(), log2_run: 0 };
    let sum = HostPolynomials::new(engine.ring(), vec![(shape, words)])?;
    let loaded = engine.load(&sum, &NoProgress).map_err(&failed)?;
    let none = || Error::from(BackendError::InvalidRequest("no polynomial was loaded".into()));
    loaded.into_iter().next().ok_or_else(none)
}

fn program(
    engine: &PolyEngine,
    rows: &[Resident],
    basis: &Basis,
) -> std::result::Result<Program, ProgramError> {
    let mut builder = ProgramBuilder::new(engine.ring().clone());
    let mut terms = Vec::with_capacity(rows.len());
    for row in rows {
        let row = builder.resident(row.shape().clone())?;
        terms.push(Term::plus(builder.limbs(row, basis.clone())?));
    }
    let sum = builder.sum(terms)?;
    builder.output(sum);
    Ok(builder.finish())
}
