//! What each file is about, run on the device.

use super::super::read::{Field, Result};
use super::{Check, Keys, Session, host, invariant};
use girih::contract::ckks::{
    BootstrappingShape, COSINE, Chain, DOUBLE_ANGLE_CONSTANTS, DiagonalPlan, EvalModSteps,
    FirstFactor, FirstRow, KeyKind, KeyProduct, LinearTransform, Part,
};
use girih_backend::poly::{Basis, Value};
use num_bigint::BigInt;
use std::sync::Arc;

type Run = fn(&Field<'_>, &mut Session<'_>) -> Result<()>;

/// The files that are known, by name.
pub(super) const FILES: &[(&str, Run)] = &[
    ("adjust", adjust),
    ("base_change", base_change),
    ("chebyshev", chebyshev),
    ("chebyshev_rational", chebyshev),
    ("dft", host::dft),
    ("encode", host::encode),
    ("eval_mod", eval_mod),
    ("key_switch", key_switch),
    ("few_slots", few_slots),
    ("first_factor", first_factor),
    ("invariant", invariant::invariant),
    ("klss", klss),
    ("linear_transform", linear_transform),
    ("multiply", multiply),
    ("ntt", host::ntt),
    ("raise", raise),
    ("rotate", rotate),
];

fn level_of(
    root: &Field<'_>,
    chain: &Chain,
    json: &Field<'_>,
    name: &str,
) -> Result<(usize, Basis)> {
    let level = json.get(name)?.number()?;
    Ok((level, root.recorded(chain.level(level))?.clone()))
}

/// Numbers that must be equal in every bit.
fn numbers(session: &mut Session<'_>, what: &str, have: &[f64], want: &Field<'_>) -> Result<()> {
    let want = want.reals()?;
    session.expect(|| format!("{what}: {have:?}, not {want:?}"), have == want);
    Ok(())
}

/// The scales and ratios of a chain, where a file has them.
fn scales(root: &Field<'_>, session: &mut Session<'_>, chain: &Chain) -> Result<()> {
    if let Some(want) = root.find("canonical_scales") {
        let have: Vec<f64> = (0..=chain.top()).map_while(|level| chain.scale(level)).collect();
        numbers(session, "canonical scales", &have, &want)?;
    }
    let have: Vec<f64> = (1..=chain.top()).map(|level| chain.ratio(level)).collect();
    numbers(session, "rescale ratios", &have, &root.get("rescale_ratios")?)
}

fn values(chain: &Chain, basis: &Basis) -> Vec<u32> {
    basis.primes().iter().map(|&p| chain.ring().primes[usize::from(p)].value()).collect()
}

fn base_change(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    scales(root, session, &chain)?;
    for (level, json) in root.get("layouts")?.list_of(chain.top() + 1)?.iter().enumerate() {
        let base = root.recorded(chain.level(level))?;
        session.compare(&format!("primes of level {level}"), &values(&chain, base), &json.words()?);
    }
    let digits = chain.digits();
    for (digit, json) in root.get("digit_primes")?.list_of(digits.len())?.iter().enumerate() {
        let have = values(&chain, &digits[digit]);
        session.compare(&format!("primes of digit {digit}"), &have, &json.words()?);
    }
    let mut check = Check::new(session, &chain);
    for case in root.get("mod_up")?.list()? {
        let (level, base) = level_of(root, &chain, &case, "level")?;
        let x = check.polynomial(&case.get("input")?, base)?;
        let digits = case.recorded(check.r.digits(x, level))?;
        let expected = case.get("digits")?.list_of(digits.numbers().count())?;
        for ((numbers, value), json) in digits.numbers().zip(digits.values()).zip(&expected) {
            let named = json.get("digit")?.number()?;
            check.session.expect(|| format!("digit {numbers:?}, not {named}"), numbers == [named]);
            check.value(format!("digit {named} at level {level}"), value, &json.get("output")?)?;
        }
    }
    for case in root.get("divide_round")?.list()? {
        let (from, mut basis) = level_of(root, &chain, &case, "frm")?;
        let (to, base) = level_of(root, &chain, &case, "to")?;
        let kind = case.get("kind")?.text()?;
        if kind != "rescale" {
            basis = basis.union(chain.auxiliary());
        }
        let x = check.polynomial(&case.get("input")?, basis)?;
        let y = case.recorded(check.r.divide_round(x, &base))?;
        check.value(format!("{kind} from level {from} to {to}"), y, &case.get("output")?)?;
    }
    check.run(root, &Keys::default())?;
    host::conversions(root, session)
}

fn key_switch(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let keys = Keys::multiplication(&root.get("key")?)?;
    let mut check = Check::new(session, &chain);
    for case in root.get("cases")?.list()? {
        let (level, base) = level_of(root, &chain, &case, "level")?;
        let x = check.polynomial(&case.get("input")?, base)?;
        let (b, a) = case.recorded(check.r.key_switch(x, level, KeyKind::Multiplication))?;
        check.value(format!("b at level {level}"), b, &case.get("b")?)?;
        check.value(format!("a at level {level}"), a, &case.get("a")?)?;
    }
    check.run(root, &keys)
}

/// Both halves of a key product, over B_l and P.
fn whole(check: &mut Check<'_, '_>, json: &Field<'_>, product: &KeyProduct) -> Result<[Value; 2]> {
    let mut join = |part: &girih::contract::ckks::Extended| {
        let parts: Vec<Value> = [part.low].into_iter().chain(part.high).collect();
        json.built(check.r.builder().join(&parts))
    };
    Ok([join(&product.b)?, join(&product.a)?])
}

fn multiply(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let keys = Keys::multiplication(&root.get("key")?)?;
    for plan in ["hybrid", "KLSS"] {
        let mut check = Check::new(session, &chain);
        root.recorded(check.r.use_klss(plan == "KLSS"))?;
        for case in root.get("cases")?.list()? {
            let (x, y) = (check.input(&case.get("x")?)?, check.input(&case.get("y")?)?);
            let tensor = case.recorded(check.r.tensor(&x, &y))?;
            for ((i, part), json) in
                tensor.into_iter().enumerate().zip(case.get("tensor")?.list_of(3)?)
            {
                check.value(format!("{plan}, d{i}"), part, &json)?;
            }
            if let Some(expected) = case.find("key_product") {
                let digits = case.recorded(check.r.digits(tensor[2], x.level))?;
                let product = check.r.key_product(&digits, KeyKind::Multiplication, None);
                let product = case.recorded(product)?;
                let parts = whole(&mut check, &case, &product)?;
                for (name, part) in ["b", "a"].into_iter().zip(parts) {
                    check.value(
                        format!("{plan}, key product {name}"),
                        part,
                        &expected.get(name)?,
                    )?;
                }
            }
            let product = case.recorded(check.r.multiply(&x, &y))?;
            check.ciphertext(&format!("{plan}, product"), &product, &case.get("product")?)?;
            let rescaled = case.recorded(check.r.rescale(&product))?;
            check.ciphertext(&format!("{plan}, rescaled"), &rescaled, &case.get("rescaled")?)?;
        }
        check.run(root, &keys)?;
    }
    Ok(())
}

fn rotate(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let mut keys = Keys::default();
    let mut check = Check::new(session, &chain);
    let x = check.input(&root.get("input")?)?;
    let digits = root.recorded(check.r.hoist(&x))?;
    for case in root.get("cases")?.list()? {
        let g = case.get("g")?.number()? as u32;
        keys.add(KeyKind::Galois(g), &case.get("key")?)?;
        let alone = match case.get("rotation")?.integer() {
            Ok(by) => case.recorded(check.r.rotate(&x, by))?,
            // The conjugation has a text there.
            Err(_) => case.recorded(check.r.conjugate(&x))?,
        };
        let output = case.get("output")?;
        check.ciphertext(&format!("X -> X^{g}"), &alone, &output)?;
        let hoisted = case.recorded(check.r.galois_hoisted(&x, &digits, g))?;
        check.ciphertext(&format!("hoisted X -> X^{g}"), &hoisted, &output)?;
        if let Some(expected) = case.find("extended") {
            let product = check.r.key_product(&digits, KeyKind::Galois(g), Some(x.b));
            let product = case.recorded(product)?;
            let parts = whole(&mut check, &case, &product)?;
            for (name, part) in ["b", "a"].into_iter().zip(parts) {
                let turned = case.built(check.r.builder().automorphism(part, g))?;
                check.value(format!("extended {name} of {g}"), turned, &expected.get(name)?)?;
            }
        }
    }
    check.run(root, &keys)
}

fn adjust(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let mut check = Check::new(session, &chain);
    let x = check.input(&root.get("input")?)?;
    for case in root.get("cases")?.list()? {
        let to = case.get("to")?.number()?;
        let y = case.recorded(check.r.adjust(&x, to))?;
        check.ciphertext(&format!("adjust to {to}"), &y, &case.get("output")?)?;
    }
    check.run(root, &Keys::default())
}

fn klss(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let keys = Keys::multiplication(&root.get("key")?)?;
    let groups = root.get("groups")?.list_of(chain.groups().len())?;
    for (number, (have, want)) in chain.groups().iter().zip(&groups).enumerate() {
        session.compare(&format!("group {number}"), &values(&chain, have), &want.words()?);
    }
    let lifted = root.get("klss_key_digit_0")?;
    for (name, part) in [("b", Part::B), ("a", Part::A)] {
        let have = keys.klss(root, &chain, session, (KeyKind::Multiplication, 0, part))?;
        let want = lifted.get(name)?.list_of(have.len())?;
        for (group, (have, want)) in have.iter().zip(&want).enumerate() {
            session.compare(&format!("{name} of group {group}"), have, &want.polynomial()?);
        }
    }
    for plan in ["hybrid", "KLSS"] {
        let mut check = Check::new(session, &chain);
        root.recorded(check.r.use_klss(plan == "KLSS"))?;
        for case in root.get("cases")?.list()? {
            let (level, base) = level_of(root, &chain, &case, "level")?;
            let x = check.polynomial(&case.get("input")?, base)?;
            let digits = case.recorded(check.r.digits(x, level))?;
            let product = check.r.key_product(&digits, KeyKind::Multiplication, None);
            let product = case.recorded(product)?;
            let parts = whole(&mut check, &case, &product)?;
            let expected = case.get("key_product")?;
            for (name, part) in ["b", "a"].into_iter().zip(parts) {
                let what = format!("{plan}, {name} at level {level}");
                check.value(what, part, &expected.get(name)?)?;
            }
        }
        check.run(root, &keys)?;
    }
    Ok(())
}

fn linear_transform(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let mut keys = Keys::default();
    for key in root.get("keys")?.list()? {
        keys.add(KeyKind::Galois(key.get("g")?.number()? as u32), &key.get("key")?)?;
    }
    let plaintexts = root.get("plaintexts")?.list()?.into_iter().map(|json| {
        if json.is_null() {
            return Ok(None);
        }
        let coefficients = json.list_of(chain.degree())?;
        coefficients.iter().map(Field::integer).collect::<Result<Arc<[i64]>>>().map(Some)
    });
    let [stride, baby_steps] = ["stride", "baby_steps"].map(|name| {
        let field = root.get(name)?;
        match field.number()? {
            0 => Err(field.wrong("is at least 1")),
            number => Ok(number),
        }
    });
    let transform = LinearTransform {
        plan: DiagonalPlan { stride: stride?, baby_steps: baby_steps?, slots: chain.most_slots() },
        plaintexts: plaintexts.collect::<Result<_>>()?,
        plaintext_scale: root.get("plaintext_scale")?.real()?,
        scale: root.get("output")?.get("scale")?.real()?,
    };
    for plan in ["hybrid", "KLSS"] {
        let mut check = Check::new(session, &chain);
        root.recorded(check.r.use_klss(plan == "KLSS"))?;
        let x = check.input(&root.get("input")?)?;
        let y = root.recorded(check.r.linear_transform(&x, &transform))?;
        check.ciphertext(&format!("{plan}, transformed"), &y, &root.get("output")?)?;
        check.run(root, &keys)?;
    }
    Ok(())
}

fn chebyshev(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(None)?;
    let keys = Keys::multiplication(&root.get("key")?)?;
    scales(root, session, &chain)?;
    let coefficients = root.get("coefficients")?.reals()?;
    let Some(degree) = coefficients.len().checked_sub(1) else {
        return Err(root.get("coefficients")?.wrong("a polynomial has at least one"));
    };
    let mut check = Check::new(session, &chain);
    let x = check.input(&root.get("input")?)?;
    let baby = root.get("baby_log2")?.number()?.min(31) as u32;
    let basis = root.recorded(check.r.chebyshev_basis(&x, degree, baby))?;
    for (j, json) in root.get("basis")?.fields()? {
        let term = j.parse().ok().and_then(|j| basis.get(j)).copied();
        let term = term.ok_or_else(|| json.wrong("is not in the basis of this degree"))?;
        check.ciphertext(&format!("T_{j}"), &term, &json)?;
    }
    let (level, _) = level_of(root, &chain, root, "output_level")?;
    let scale = chain.scale(level).ok_or_else(|| root.wrong("has no scale at output_level"))?;
    let y = root.recorded(check.r.chebyshev_sum(&coefficients, &basis, level, scale))?;
    check.ciphertext("sum", &y, &root.get("output")?)?;
    check.run(root, &keys)
}

/// Levels of a bootstrapping whose StC is not there and whose EvalMod starts from level 0.
fn levels(double_angles: usize) -> BootstrappingShape {
    BootstrappingShape {
        double_angles,
        stc_shift: -4,
        sine_scale: 2f64.powi(58),
        ..BootstrappingShape::default()
    }
}

fn eval_mod(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = root.get("params")?.chain(Some(levels(3)))?;
    scales(root, session, &chain)?;
    let have: Vec<f64> = (0..=chain.top()).map_while(|level| chain.sine_scale(level)).collect();
    numbers(session, "scales of EvalMod", &have, &root.get("evalmod_scales")?)?;
    numbers(session, "the cosine", &COSINE, &root.get("coefficients")?)?;
    let constants = root.get("double_angle_constants")?;
    numbers(session, "constants of double angles", &DOUBLE_ANGLE_CONSTANTS, &constants)?;
    let keys = Keys::multiplication(&root.get("key")?)?;
    let mut check = Check::new(session, &chain);
    let x = check.input(&root.get("input")?)?;
    let steps: EvalModSteps = root.recorded(check.r.eval_mod(&x))?;
    let (mut nodes, mut double_angles) = (steps.nodes.iter(), steps.double_angles.iter());
    for json in root.get("steps")?.list()? {
        let name = json.get("name")?.text()?;
        let step = match name.chars().next() {
            Some('u') => Some(steps.u),
            Some('T') => name[1..].parse().ok().and_then(|j| steps.basis.get(j)).copied(),
            Some('R') => nodes.next().map(|(_, node)| *node),
            _ => double_angles.next().copied(),
        };
        let step = step.ok_or_else(|| json.wrong(format!("{name} is no step of EvalMod")))?;
        check.ciphertext(name, &step, &json)?;
    }
    let left = nodes.count() + double_angles.count();
    check.session.expect(|| format!("{left} steps more than in the file"), left == 0);
    check.run(root, &keys)
}

/// The chain of a file about the first transform by keys, of `groups` transforms.
fn chain_by_keys(root: &Field<'_>, groups: usize) -> Result<Arc<Chain>> {
    let stages = root.get("stages")?.list_of(groups)?;
    let mut cts_shifts = vec![0; groups - 1];
    cts_shifts[0] = root.get("shift")?.integer()? as i32;
    let shape = BootstrappingShape {
        cts_groups: groups,
        cts_stages: stages.iter().map(Field::number).collect::<Result<_>>()?,
        cts_shifts,
        first_by_keys: true,
        ..levels(0)
    };
    root.get("params")?.chain(Some(shape))
}

/// The first transform of `slots` slots by the rows of a file, whose keys come to `keys`.
fn first_of(
    (root, session): (&Field<'_>, &mut Session<'_>),
    chain: &Arc<Chain>,
    slots: usize,
    keys: &mut Keys,
) -> Result<FirstFactor> {
    let encoder = girih::ckks::Encoder::new(chain.degree().ilog2());
    let encoder = encoder.map_err(|e| root.wrong(e.to_string()))?;
    let first = root.recorded(FirstFactor::new(chain, slots, &encoder))?;
    let scale = root.get("plaintext_scale")?.real()?;
    session.expect(|| format!("scale {}", first.plaintext_scale()), {
        first.plaintext_scale() == scale
    });
    let have = values(chain, first.lift());
    session.compare("primes of the sum", &have, &root.get("lift_primes")?.words()?);
    let mut rows = Vec::new();
    let listed = root.get("rows")?.list_of(first.rows().len())?;
    for (kind, json) in first.kinds().zip(&listed) {
        // All coefficients, or those that a vector of so many slots has.
        let plaintext = json.get("plaintext")?.list()?;
        if ![chain.degree(), 2 * slots].contains(&plaintext.len()) {
            return Err(json.get("plaintext")?.wrong("is of another number of coefficients"));
        }
        let plaintext = plaintext.iter().map(Field::integer).collect::<Result<Arc<[i64]>>>()?;
        rows.push(FirstRow { g: json.get("g")?.number()? as u32, plaintext });
        keys.add(kind, &json.get("key")?)?;
    }
    let same = first.rows().iter().zip(&rows).all(|(have, want)| have.g == want.g);
    session.expect(|| "other automorphisms".into(), same);
    Ok(first.with_rows(rows))
}

/// Raising the modulus with the first transform to slots by keys.
fn first_factor(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = chain_by_keys(root, 2)?;
    let mut keys = Keys::default();
    keys.add(KeyKind::DenseToSparse, &root.get("dense_to_sparse_key")?)?;
    let first = first_of((root, &mut *session), &chain, chain.most_slots(), &mut keys)?;
    let mut check = Check::new(session, &chain);
    let x = check.input(&root.get("input")?)?;
    let factor = BigInt::from(root.get("factor")?.number()?);
    let steps = root.recorded(check.r.raise_by_first_factor(&x, &factor, &first))?;
    check.ciphertext("sparse", &steps.sparse, &root.get("sparse")?)?;
    check.value("the sum of M b", steps.integer, &root.get("integer")?)?;
    check.ciphertext("output", &steps.result, &root.get("output")?)?;
    check.run(root, &keys)
}

/// The same of few slots, which take fewer transforms, and what repeats added up.
fn few_slots(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    let chain = chain_by_keys(root, 3)?;
    let factor = BigInt::from(root.get("factor")?.number()?);
    for case in root.get("cases")?.list()? {
        let slots = case.get("slots")?.number()?;
        let mut keys = Keys::default();
        keys.add(KeyKind::DenseToSparse, &root.get("dense_to_sparse_key")?)?;
        for rotation in root.get("rotations")?.list()? {
            let g = chain.rotation(rotation.get("by")?.number()? as i64);
            keys.add(KeyKind::Galois(g), &rotation.get("key")?)?;
        }
        let first = first_of((&case, &mut *session), &chain, slots, &mut keys)?;
        let traced = case.get("traced")?.number()?;
        session.expect(|| format!("{} repeats", first.traced()), first.traced() == traced);
        let mut check = Check::new(session, &chain);
        let x = check.input_of(&case.get("input")?, slots)?;
        let steps = case.recorded(check.r.raise_by_first_factor(&x, &factor, &first))?;
        check.ciphertext("sparse", &steps.sparse, &case.get("sparse")?)?;
        check.value("the sum of M b", steps.integer, &case.get("integer")?)?;
        check.ciphertext("raised", &steps.result, &case.get("raised")?)?;
        let mut sums = Vec::new();
        for step in case.get("sums")?.list()? {
            let by = step.list()?.iter().map(Field::number).collect::<Result<Vec<_>>>()?;
            sums.push(by.into_iter().map(|by| chain.rotation(by as i64)).collect());
        }
        let y = case.recorded(check.r.galois_sums(&steps.result, &sums))?;
        check.ciphertext("output", &y, &case.get("output")?)?;
        check.run(&case, &keys)?;
    }
    Ok(())
}

fn raise(root: &Field<'_>, session: &mut Session<'_>) -> Result<()> {
    // Only steps 1 to 4 are run: any levels above serve that end at the top.
    let chain = root.get("params")?.chain(Some(levels(0)))?;
    let mut keys = Keys::default();
    keys.add(KeyKind::DenseToSparse, &root.get("dense_to_sparse_key")?)?;
    keys.add(KeyKind::SparseToDense, &root.get("sparse_to_dense_key")?)?;
    let mut check = Check::new(session, &chain);
    let x = check.input(&root.get("input")?)?;
    let factor = BigInt::from(root.get("factor")?.number()?);
    let output = root.get("output")?;
    let scale = output.get("scale")?.real()?;
    let steps = root.recorded(check.r.raise_modulus(&x, &factor, scale))?;
    check.ciphertext("prepared", &steps.prepared, &root.get("prepared")?)?;
    check.ciphertext("sparse", &steps.sparse, &root.get("sparse")?)?;
    check.value("raised b", steps.raised_b, &root.get("raised_b")?)?;
    let raised: Vec<Value> = [steps.raised_a.low].into_iter().chain(steps.raised_a.high).collect();
    let raised = root.built(check.r.builder().join(&raised))?;
    check.value("raised a", raised, &root.get("raised_a")?)?;
    check.value("b", steps.result.b, &output.get("b")?)?;
    check.value("a", steps.result.a, &output.get("a")?)?;
    check.run(root, &keys)
}
