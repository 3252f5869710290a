//! Both sines of a bootstrapping as one: the transform of the conjugation-invariant ring, words of
//! one ring seen from the other, products there, and the ways there and back.

use super::super::read::{Field, Result};
use super::{Check, Keys, Session, host};
use girih::ckks::{Complex64, Encoder};
use girih::contract::ckks::{BootstrappingShape, Chain, KeyKind, TwoValues};
use girih_backend::poly::{Basis, Domain, ProgramBuilder, RingShape, View};
use girih_ring::NttTable;
use std::sync::Arc;

const VIEWS: [(View, &str); 4] = [
    (View::Lifted, "lifted"),
    (View::LiftedConjugate, "lifted_conjugate"),
    (View::Restricted, "restricted"),
    (View::RestrictedMinus, "restricted_minus"),
];

/// The whole file.
pub(super) fn invariant(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    for case in root.get("transforms")?.list()? {
        transforms(&case, session)?;
    }
    // Wherever the sine would be: only steps that stay on the levels of the file are run.
    let shape = BootstrappingShape {
        double_angles: 0,
        invariant_sine: true,
        ..BootstrappingShape::default()
    };
    let chain = root.get("params")?.chain(Some(shape))?;
    let mut keys = Keys::default();
    keys.add(KeyKind::InvariantMultiplication, &root.get("key")?)?;
    keys.add(KeyKind::ToInvariant, &root.get("to_invariant_key")?)?;
    keys.add(KeyKind::FromInvariant, &root.get("from_invariant_key")?)?;
    let mut check = Check::new(session, &chain);
    for json in root.get("views")?.list()? {
        views(&json, &chain, &mut check)?;
    }
    for case in root.get("products")?.list()? {
        products(&case, &mut check)?;
    }
    for (way, second) in [("enter", -Complex64::i()), ("leave", Complex64::i())] {
        for case in root.get(way)?.list()? {
            change(&case, &chain, &mut check, way == "enter", second)?;
        }
    }
    check.run(root, &keys)
}

/// Both directions of the transform, and the roots.
fn transforms(case: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let usual = host::ring(&case.get("N")?, &case.get("primes")?)?;
    let size = usual.degree();
    for (&modulus, psi) in usual.primes.iter().zip(&case.get("psi")?.list_of(usual.primes.len())?) {
        // That of the usual ring of degree 2N.
        let table = NttTable::new(modulus, 2 * size);
        let have = table.and_then(|t| t.powers().get(1).copied()).map(|p| p as usize);
        let want = psi.number()?;
        session.expect(|| format!("psi modulo {}", modulus.value()), have == Some(want));
    }
    let ring = RingShape { invariant_from: 0, ..RingShape::clone(&usual) };
    let whole = ring.basis(0..ring.primes.len());
    let mut builder = ProgramBuilder::new(Arc::new(ring));
    let x = case.built(builder.input(whole.clone(), Domain::Coefficients))?;
    let y = case.built(builder.input(whole, Domain::Evaluations))?;
    for (value, domain) in [(x, Domain::Evaluations), (y, Domain::Coefficients)] {
        let transformed = builder.transform(value, domain);
        builder.output(transformed);
    }
    let coefficients = case.get("coefficients")?.polynomial()?;
    let evaluations = case.get("transformed")?.polynomial()?;
    let expected = [
        (format!("invariant forward of {size}"), evaluations.clone()),
        (format!("invariant inverse of {size}"), coefficients.clone()),
    ];
    host::run(session, builder, vec![coefficients, evaluations], &expected)
}

/// A limb of one ring at the points of the other.
fn views(json: &Field<'_>, chain: &Arc<Chain>, check: &mut Check<'_, '_>) -> Result<()> {
    let ring = chain.ring();
    let value = json.get("prime")?.number()?;
    let here = ring.primes.iter().position(|p| p.value() as usize == value);
    let here = here.ok_or_else(|| json.wrong(format!("{value} is no prime of the file")))? as u16;
    let there = here + ring.invariant_from as u16;
    let known = VIEWS.iter().filter_map(|&(view, name)| Some((view, name, json.find(name)?)));
    let known: Vec<_> = known.collect();
    if known.len() != 2 {
        return Err(json.wrong("has not two views"));
    }
    for (view, name, expected) in known {
        let (from, to) = if view.lifts() { (here, there) } else { (there, here) };
        let x = check.polynomial(&json.get("input")?, Basis::new([from]))?;
        let seen = json.built(check.r.builder().view(x, view, Basis::new([to])))?;
        check.value(name, seen, &expected)?;
    }
    Ok(())
}

/// A product in the conjugation-invariant ring.
fn products(case: &Field<'_>, check: &mut Check<'_, '_>) -> Result<()> {
    let x = check.input_there(&case.get("x")?)?;
    let y = check.input_there(&case.get("y")?)?;
    let tensor = case.recorded(check.r.in_invariant(|there| there.tensor(&x, &y)))?;
    for ((i, part), json) in tensor.into_iter().enumerate().zip(case.get("tensor")?.list_of(3)?) {
        check.value(format!("invariant d{i}"), part, &json)?;
    }
    let product = case.recorded(check.r.in_invariant(|there| there.multiply(&x, &y)))?;
    check.ciphertext("invariant product", &product, &case.get("product")?)?;
    let rescaled = case.recorded(check.r.in_invariant(|there| there.rescale(&product)))?;
    check.ciphertext("invariant product, rescaled", &rescaled, &case.get("rescaled")?)
}

/// A way, and its plaintext. The scales are such that f64 gives the integers of exact arithmetic.
fn change(
    case: &Field<'_>,
    chain: &Arc<Chain>,
    check: &mut Check<'_, '_>,
    enters: bool,
    second: Complex64,
) -> Result<()> {
    let wrong = |error: girih::ckks::Error| case.wrong(error.to_string());
    let encoder = Encoder::new(chain.degree().ilog2()).map_err(wrong)?;
    let one = Complex64::new(1.0, 0.0);
    let values = case.recorded(TwoValues::new(one, second, &encoder, chain.degree()))?;
    let times = case.get("times")?.real()?;
    let made = case.recorded(values.coefficients(times))?;
    let plaintext = case.get("plaintext")?;
    for (name, have) in ["even", "odd"].into_iter().zip(made) {
        let want = plaintext.get(name)?.list()?;
        let want = want.iter().map(Field::integer).collect::<Result<Vec<i64>>>()?;
        check.session.expect(|| format!("{name} coefficients of a plaintext"), *have == want[..]);
    }
    let (input, output) = (case.get("input")?, case.get("output")?);
    let x = if enters { check.input(&input)? } else { check.input_there(&input)? };
    let scale = output.get("scale")?.real()?;
    let result = match enters {
        true => check.r.enter_invariant(&x, &values, scale),
        false => check.r.leave_invariant(&x, &values, scale),
    };
    let y = case.recorded(result)?;
    let have = scale * chain.ratio(x.level) / x.scale;
    check.session.expect(|| format!("a plaintext times {have}, not {times}"), have == times);
    check.ciphertext(if enters { "there" } else { "back" }, &y, &output)
}
