//! Files about transforms of polynomials alone, and about what the host does.

use super::super::read::{Field, Result};
use super::Session;
use crate::poly::Work;
use girih::ckks::Complex64;
use girih::ckks::Encoder;
use girih::contract::ckks::{Group, TransformRule, coefficients_to_slots, slots_to_coefficients};
use girih_backend::poly::{
    Basis, Domain, Factor, HostPolynomials, Op, ProgramBuilder, RingShape, Term, Value,
};
use girih_ring::{Modulus, NttTable};
use std::sync::Arc;

/// A ring of a file, degree and primes.
pub(super) fn ring(degree: &Field<'_>, primes: &Field<'_>) -> Result<Arc<RingShape>> {
    let size = degree.number()?;
    if !size.is_power_of_two() || !(2..=1 << 16).contains(&size) {
        return Err(degree.wrong("is no power of two from 2 to 2^16"));
    }
    ring_of(size, primes, primes.words()?)
}

fn ring_of(size: usize, at: &Field<'_>, primes: Vec<u32>) -> Result<Arc<RingShape>> {
    let modulus = |p| Modulus::new(p).ok_or_else(|| at.wrong(format!("{p} is no modulus")));
    let primes = primes.into_iter().map(modulus).collect::<Result<_>>()?;
    Ok(Arc::new(RingShape::new(size.ilog2(), primes)))
}

/// Transforms, automorphisms and the product with X^(N/2).
pub(super) fn ntt(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    for case in root.get("cases")?.list()? {
        let ring = ring(&case.get("N")?, &case.get("primes")?)?;
        let size = ring.degree();
        let psi = case.get("psi")?.list_of(ring.primes.len())?;
        for (&modulus, psi) in ring.primes.iter().zip(&psi) {
            let table = NttTable::new(modulus, size);
            let have = table.and_then(|t| t.powers().get(1).copied()).map(|p| p as usize);
            let want = psi.number()?;
            session.expect(|| format!("psi modulo {}", modulus.value()), have == Some(want));
        }
        let whole = ring.basis(0..ring.primes.len());
        let mut builder = ProgramBuilder::new(ring.clone());
        let x = case.built(builder.input(whole.clone(), Domain::Coefficients))?;
        let transformed = builder.transform(x, Domain::Evaluations);
        let mut expected =
            vec![(format!("forward of {size}"), case.get("transformed")?.polynomial()?)];
        let mut outputs: Vec<Value> = vec![transformed];
        let y = case.built(builder.input(whole.clone(), Domain::Evaluations))?;
        outputs.push(builder.transform(y, Domain::Coefficients));
        expected.push((format!("inverse of {size}"), case.get("coefficients")?.polynomial()?));
        let first = case.built(builder.limbs(transformed, Basis::new([0])))?;
        for json in case.get("automorphisms")?.list()? {
            // Files name exponents of any size; X^2N is 1.
            let g = json.get("g")?.number()? as u32;
            outputs.push(json.built(builder.automorphism(first, g % (2 * size as u32)))?);
            expected.push((format!("X -> X^{g} of {size}"), json.get("output")?.polynomial()?));
        }
        let halves = (0..ring.primes.len() as u16).map(|p| ring.imaginary_unit(p));
        let imaginary = Factor::Residues(halves.collect());
        outputs.push(case.built(builder.sum(vec![Term::scaled(imaginary, transformed)]))?);
        let times = case.get("times_x_to_half_n")?.polynomial()?;
        expected.push((format!("times X^{}", size / 2), times));
        for value in outputs {
            builder.output(value);
        }
        let inputs =
            vec![case.get("coefficients")?.polynomial()?, case.get("transformed")?.polynomial()?];
        run(session, builder, inputs, &expected)?;
    }
    Ok(())
}

/// Base conversions by both formulas.
pub(super) fn conversions(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let degree = root.get("params")?.get("N")?.number()?;
    for (number, case) in root.get("conversions")?.list()?.iter().enumerate() {
        let (from, to) = (case.get("from_primes")?.words()?, case.get("to_primes")?.words()?);
        let mut primes = from.clone();
        primes.extend(to.iter().filter(|p| !from.contains(p)));
        let ring = ring_of(degree, case, primes.clone())?;
        let basis = |of: &[u32]| {
            let numbers = of.iter().filter_map(|p| primes.iter().position(|q| q == p));
            Basis::new(numbers.map(|n| n as u16))
        };
        // The limbs of a basis lie in the order of the ring's primes.
        let order = |json: Field<'_>, of: &[u32]| -> Result<Vec<u32>> {
            let limbs = json.list_of(of.len())?;
            let mut limbs: Vec<(usize, Vec<u32>)> = limbs
                .iter()
                .zip(of)
                .map(|(limb, p)| {
                    let place = primes.iter().position(|q| q == p).unwrap_or_default();
                    Ok((place, limb.words()?))
                })
                .collect::<Result<_>>()?;
            limbs.sort_by_key(|(place, _)| *place);
            Ok(limbs.into_iter().flat_map(|(_, words)| words).collect())
        };
        let mut builder = ProgramBuilder::new(ring.clone());
        let x = case.built(builder.input(basis(&from), Domain::Coefficients))?;
        let mut expected = Vec::new();
        for (name, corrected) in [("plain", false), ("corrected", true)] {
            let converted = case.built(builder.convert(x, basis(&to), corrected))?;
            builder.output(converted);
            expected.push((format!("conversion {number}, {name}"), order(case.get(name)?, &to)?));
        }
        let inputs = vec![order(case.get("coefficients")?, &from)?];
        run(session, builder, inputs, &expected)?;
    }
    Ok(())
}

pub(super) fn run(
    session: &mut Session<'_>,
    builder: ProgramBuilder,
    inputs: Vec<Vec<u32>>,
    expected: &[(String, Vec<u32>)],
) -> Result<()> {
    let program = builder.finish();
    debug_assert!(!program.ops().iter().any(|op| matches!(op, Op::Resident(_))));
    let residents = HostPolynomials::default();
    let outputs = session.run(&Work { name: "vectors".into(), program, residents, inputs })?;
    for (have, (what, want)) in outputs.iter().zip(expected) {
        session.compare(what, have, want);
    }
    Ok(())
}

fn complex(re: &Field<'_>, im: &Field<'_>) -> Result<Vec<Complex64>> {
    let (re, imaginary) = (re.reals()?, im.reals()?);
    if re.len() != imaginary.len() {
        return Err(im.wrong(format!("has {} numbers, not {}", imaginary.len(), re.len())));
    }
    Ok(re.into_iter().zip(imaginary).map(|(re, im)| Complex64::new(re, im)).collect())
}

fn near(x: &[Complex64], y: &[Complex64], tolerance: f64) -> bool {
    let close = |x: &Complex64, y: &Complex64| {
        (x.re - y.re).abs() <= tolerance && (x.im - y.im).abs() <= tolerance
    };
    x.len() == y.len() && x.iter().zip(y).all(|(x, y)| close(x, y))
}

/// Slots to integer coefficients and back.
pub(super) fn encode(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let tolerance = root.get("tolerance")?.real()?;
    for case in root.get("cases")?.list()? {
        let ring = ring(&case.get("N")?, &case.get("primes")?)?;
        let wrong = |error: girih::ckks::Error| case.wrong(error.to_string());
        let encoder = Encoder::new(ring.log2_degree).map_err(wrong)?;
        let (slots, scale) = (case.get("slots")?.number()?, case.get("scale")?.real()?);
        let z = complex(&case.get("re")?, &case.get("im")?)?;
        let plaintext = encoder.encode(&z, scale).map_err(wrong)?;
        let coefficients = plaintext.coefficients();
        let want = case.get("coefficients")?.list()?;
        let want = want.iter().map(Field::integer).collect::<Result<Vec<i64>>>()?;
        session.expect(|| format!("coefficients of {slots} slots"), coefficients == want);
        let residues = ring
            .primes
            .iter()
            .flat_map(|p| coefficients.iter().map(|&c| p.reduce_signed(c)).collect::<Vec<u32>>());
        let residues: Vec<u32> = residues.collect();
        session.compare(
            &format!("residues of {slots} slots"),
            &residues,
            &case.get("residues")?.polynomial()?,
        );
        let rounded: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
        let decoded = encoder.decode(&rounded, slots, scale).map_err(wrong)?;
        let want = complex(&case.get("decoded_re")?, &case.get("decoded_im")?)?;
        session.expect(|| format!("decoding {slots} slots"), near(&decoded, &want, tolerance));
    }
    Ok(())
}

/// The matrices of bootstrapping.
pub(super) fn dft(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let tolerance = root.get("tolerance")?.real()?;
    for case in root.get("cases")?.list()? {
        let (n, name) = (case.get("slots")?.number()?, case.get("transform")?.text()?);
        let count = case.get("sizes")?.list()?.len();
        let made: Vec<Group> = case.recorded(match name {
            "coefficients_to_slots" => coefficients_to_slots(n, n, TransformRule::of(count)),
            _ => slots_to_coefficients(n, TransformRule::of(count)),
        })?;
        let mut x = complex(&case.get("input_re")?, &case.get("input_im")?)?;
        if x.len() != n {
            return Err(case.get("input_re")?.wrong(format!("has {} numbers, not {n}", x.len())));
        }
        for (number, json) in case.get("groups")?.list_of(made.len())?.iter().enumerate() {
            let (group, what) = (&made[number], format!("{name} of {n}, group {number}"));
            let field = |name: &str| json.get(name)?.integer();
            let same = group.stride as i64 == field("stride")?
                && group.offset == field("offset")?
                && group.stored.len() as i64 == field("count")?
                && group.rotated_by == field("rotated_by")?
                && group.baby_steps as i64 == field("baby_steps")?;
            session.expect(|| format!("{what}: another plan"), same);
            let mut y = vec![Complex64::default(); n];
            let stored = json.get("stored")?.list_of(group.stored.len())?;
            for (k, (ours, theirs)) in group.stored.iter().zip(&stored).enumerate() {
                let Some(ours) = ours else {
                    session.expect(|| format!("{what}: diagonal {k} is absent"), theirs.is_null());
                    continue;
                };
                let whole: Vec<_> = (0..n).map(|j| ours[j % ours.len()]).collect();
                let want = complex(&theirs.get("re")?, &theirs.get("im")?)?;
                let agrees = near(&whole, &want, tolerance);
                session.expect(|| format!("{what}: diagonal {k}"), agrees);
                for (j, (y, d)) in y.iter_mut().zip(&whole).enumerate() {
                    *y += d * x[(j + group.stride * k) % n];
                }
            }
            x = y;
        }
        let want = complex(&case.get("output_re")?, &case.get("output_im")?)?;
        session.expect(|| format!("{name} of {n}: output"), near(&x, &want, tolerance));
    }
    Ok(())
}
