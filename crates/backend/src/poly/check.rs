//! What enters through the poly contract is checked here, once, with one wording.

use girih_ring::is_prime;

use super::program::ValueType;
use super::{PolyPlan, Program, ResidentShape, ResidentSource, RingShape, Value};
use crate::{BackendError, Result};

fn refuse(why: String) -> BackendError {
    BackendError::InvalidRequest(why)
}

/// Whether polynomials of this ring can be computed with: a degree of 2^1 to 2^17, and primes
/// between 2^19 and 2^31, distinct in each ring, that are 1 modulo 2N, or 4N.
pub(crate) fn ring(ring: &RingShape) -> Result<()> {
    if !(1..=17).contains(&ring.log2_degree) {
        return Err(refuse(format!(
            "a ring of degree 2^{}: degrees go from 2^1 to 2^17",
            ring.log2_degree
        )));
    }
    if ring.primes.is_empty() || ring.primes.len() > 1 << 12 {
        let count = ring.primes.len();
        return Err(refuse(format!("a ring of {count} primes: it has 1 to 4096 of them")));
    }
    if ring.invariant_from > ring.primes.len() {
        let (from, count) = (ring.invariant_from, ring.primes.len());
        return Err(refuse(format!(
            "primes of the conjugation-invariant ring from place {from} on, of {count}"
        )));
    }
    let values: Vec<u32> = ring.primes.iter().map(|p| p.value()).collect();
    for (place, &p) in values.iter().enumerate() {
        if p <= 1 << 19 || p >= 1 << 31 || !is_prime(u64::from(p)) {
            return Err(refuse(format!("{p} is no prime between 2^19 and 2^31")));
        }
        let (times, more) = if place < ring.invariant_from { (2, 1) } else { (4, 2) };
        if !(p - 1).is_multiple_of(times << ring.log2_degree) {
            let log2 = ring.log2_degree + more;
            return Err(refuse(format!("prime {p} is not 1 modulo {times}N = 2^{log2}")));
        }
    }
    let (usual, invariant) = values.split_at(ring.invariant_from);
    for part in [usual, invariant] {
        let mut part = part.to_vec();
        part.sort_unstable();
        if let Some(pair) = part.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(refuse(format!("prime {} occurs twice", pair[0])));
        }
    }
    Ok(())
}

/// Whether `words` are the limbs of a polynomial of type `of`, all canonical.
pub(crate) fn words(ring: &RingShape, of: &ValueType, words: &[u32], what: &str) -> Result<()> {
    let degree = ring.degree();
    let wanted = of.basis.len() * degree;
    if words.len() != wanted {
        return Err(refuse(format!(
            "{what} has {} words; {} limbs of {degree} are {wanted}",
            words.len(),
            of.basis.len()
        )));
    }
    for (limb, &prime) in words.chunks_exact(degree).zip(of.basis.primes()) {
        canonical(ring, prime, limb, what)?;
    }
    Ok(())
}

/// Whether all `words` are canonical modulo prime number `prime`.
pub(crate) fn canonical(ring: &RingShape, prime: u16, words: &[u32], what: &str) -> Result<()> {
    let p = ring.primes[usize::from(prime)].value();
    match words.iter().position(|&w| w >= p) {
        Some(k) => Err(refuse(format!(
            "{what}: word {k} of the limb modulo {p} is {}; words are canonical, below the prime",
            words[k]
        ))),
        None => Ok(()),
    }
}

/// Whether a resident polynomial fits the ring.
pub(crate) fn resident_shape(ring: &RingShape, shape: &ResidentShape, what: &str) -> Result<()> {
    if let Some(&last) = shape.basis.primes().last()
        && usize::from(last) >= ring.primes.len()
    {
        return Err(refuse(format!("{what}: prime {last} of a ring of {}", ring.primes.len())));
    }
    if shape.log2_run > ring.log2_degree {
        return Err(refuse(format!(
            "{what}: runs of 2^{} words in limbs of 2^{}",
            shape.log2_run, ring.log2_degree
        )));
    }
    Ok(())
}

/// Whether `source` has the resident polynomials that a program wants.
pub(crate) fn residents(wanted: &[ResidentShape], source: &dyn ResidentSource) -> Result<()> {
    resident_shapes(wanted, source.shapes().iter(), source.what())
}

/// Whether `shapes` are what a program wants.
pub(crate) fn resident_shapes<'a>(
    wanted: &[ResidentShape],
    shapes: impl ExactSizeIterator<Item = &'a ResidentShape>,
    what: &str,
) -> Result<()> {
    if shapes.len() != wanted.len() {
        return Err(refuse(format!(
            "{} {what} for a program that reads {}",
            shapes.len(),
            wanted.len()
        )));
    }
    for (slot, (have, want)) in shapes.zip(wanted).enumerate() {
        if have != want {
            return Err(refuse(format!(
                "{what}: number {slot} is over {:?} in runs of 2^{}; the program reads one over \
                 {:?} in runs of 2^{}",
                have.basis.primes(),
                have.log2_run,
                want.basis.primes(),
                want.log2_run
            )));
        }
    }
    Ok(())
}

/// Whether `program` has all values of `keep`.
pub(crate) fn keep(program: &Program, keep: &[Value]) -> Result<()> {
    let ops = program.ops().len();
    match keep.iter().find(|v| v.index() >= ops) {
        Some(value) => {
            Err(refuse(format!("value {} of a program of {ops} operations", value.index())))
        }
        None => Ok(()),
    }
}

/// Whether a plan leaves room for any tile at all.
pub(crate) fn plan(plan: &PolyPlan) -> Result<()> {
    if plan.most_row_slots < 2 || plan.most_row_slots > 1 << 10 {
        let slots = plan.most_row_slots;
        return Err(refuse(format!("a plan of {slots} row slots: there are 2 to 1024")));
    }
    if plan.most_column_sums == 0 {
        return Err(refuse("a plan of no column sums: there is at least one".into()));
    }
    if plan.least_column_tiles == 0 {
        return Err(refuse("a plan of no column tiles: a launch has at least one".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_without_room_for_a_tile_are_refused() {
        let of = |most_row_slots, most_column_sums, least_column_tiles| {
            let default = PolyPlan::default();
            plan(&PolyPlan { most_row_slots, most_column_sums, least_column_tiles, ..default })
        };
        assert!(of(2, 1, 1).is_ok() && of(1024, 1, 1).is_ok());
        for (plan, words) in [
            (of(1, 1, 1), "of 1 row slots"),
            (of(1025, 1, 1), "of 1025 row slots"),
            (of(2, 0, 1), "no column sums"),
            (of(2, 1, 0), "no column tiles"),
        ] {
            let refused = plan.expect_err("must be refused").to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
