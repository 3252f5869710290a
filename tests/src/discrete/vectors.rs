//! The published bit-exact runs of look-ups, replayed on a device.

use super::seeded::Seeded;
use super::sha;
use crate::bootstrap::vectors::Replay;
use crate::ckks::read::{CkksVectorError, Field, Result};
use crate::ckks::vectors::plain_words;
use crate::poly::{Work, compare};
use girih::ckks::{Complex64, Encoder};
use girih::contract::ckks::{
    Chain, ChainShape, EncapsulationShape, KeyKind, LinearTransform, Part, PlainPolynomial,
    Recorded, RecordedProgram, Recorder, ResidentRequest,
};
use girih::contract::discrete::{Evaluator, LookupPlan, Terms, exponential, powers};
use girih::discrete::{DiscreteParameters, Table};
use girih_backend::Backend;
use girih_backend::poly::{HostPolynomials, PolyEngine, ResidentShape};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// The published vectors, name and text, so that test binaries carry them along.
pub const PUBLISHED: [(&str, &str); 5] = [
    ("tables", include_str!("../../vectors/discrete/tables.json")),
    ("look_up_polynomial_4", include_str!("../../vectors/discrete/look_up_polynomial_4.json")),
    ("look_up_polynomial_16", include_str!("../../vectors/discrete/look_up_polynomial_16.json")),
    ("bits_n10", include_str!("../../vectors/discrete/bits_n10.json")),
    ("lut4_n10", include_str!("../../vectors/discrete/lut4_n10.json")),
];

type Run = fn(&Field<'_>, &dyn Backend, &mut Replay) -> Result<()>;

const FILES: [(&str, Run); 5] = [
    ("tables", tables),
    ("look_up_polynomial_4", polynomial),
    ("look_up_polynomial_16", polynomial),
    ("bits_n10", lookup),
    ("lut4_n10", lookup),
];

/// One file, its stages not yet looked at.
pub struct DiscreteVectorFile {
    path: String,
    name: String,
    json: Json,
}

impl DiscreteVectorFile {
    /// Whether a JSON text is a file of this kind: it has a name of the table.
    pub fn is_one(text: &str) -> bool {
        let Ok(json) = serde_json::from_str::<Json>(text) else { return false };
        let name = json.get("name").and_then(Json::as_str).unwrap_or_default();
        FILES.iter().any(|(known, _)| *known == name)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`CkksVectorError::Json`], and [`CkksVectorError::Field`] for another format or an unknown
    /// name.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| CkksVectorError::Json { path: path.into(), error })?;
        let root = Field::root(path, &json);
        if root.get("format")?.number()? != 1 {
            return Err(root.get("format")?.wrong("formats other than 1 are not known"));
        }
        let name = root.get("name")?.text()?.to_owned();
        if !FILES.iter().any(|(known, _)| *known == name) {
            let known = FILES.map(|(known, _)| known).join(", ");
            return Err(root.get("name")?.wrong(format!("{name} is none of {known}")));
        }
        Ok(Self { path: path.into(), name, json })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs every stage on `device`. Tables, keys and encodings are host work and run there.
    ///
    /// # Errors
    /// For fields that are not what they should be, and failures of the device.
    pub fn replay(&self, device: &dyn Backend) -> Result<Replay> {
        let root = Field::root(&self.path, &self.json);
        let run = FILES.iter().find(|(known, _)| *known == self.name).map(|(_, run)| run);
        let run = run.ok_or_else(|| root.wrong("is none of the known files"))?;
        let mut replay = Replay::default();
        run(&root, device, &mut replay)?;
        Ok(replay)
    }
}

fn expect(replay: &mut Replay, what: impl FnOnce() -> String, holds: bool) {
    if holds {
        replay.passed += 1;
    } else {
        replay.failures.push(what());
    }
}

fn complex(json: &Field<'_>) -> Result<Vec<Complex64>> {
    let (re, im) = (json.get("re")?.reals()?, json.get("im")?.reals()?);
    if re.len() != im.len() || re.is_empty() {
        return Err(json.wrong("needs as many real as imaginary parts, and at least one"));
    }
    Ok(re.into_iter().zip(im).map(|(re, im)| Complex64::new(re, im)).collect())
}

fn table(json: &Field<'_>, modulus: usize) -> Result<Table> {
    let values = json.list_of(modulus)?;
    let values: Vec<i64> = values.iter().map(Field::integer).collect::<Result<_>>()?;
    Table::from_values(&values).map_err(|e| json.wrong(e.to_string()))
}

/// Lists that are equal within a tolerance, beyond the end of the shorter one zeros.
fn close(replay: &mut Replay, what: &str, have: &[Complex64], want: &[Complex64], bound: f64) {
    let at = |list: &[Complex64], j: usize| list.get(j).copied().unwrap_or_default();
    let count = have.len().max(want.len());
    let worst = (0..count).map(|j| (at(have, j) - at(want, j)).norm()).fold(0.0, f64::max);
    expect(replay, || format!("{what}: coefficients differ by {worst:e}"), worst <= bound);
}

/// Coefficients of tables and of exponentials: work of the host.
fn tables(root: &Field<'_>, _: &dyn Backend, replay: &mut Replay) -> Result<()> {
    let bound = root.get("tolerance")?.real()?;
    for (number, case) in root.get("cases")?.list()?.iter().enumerate() {
        let first = table(&case.get("table")?, case.get("modulus")?.number()?)?;
        for (order, name) in [(1, "half_band"), (2, "half_band_order_2")] {
            let have = first.order(order).map_err(|e| case.wrong(e.to_string()))?;
            let want = complex(&case.get(name)?)?;
            let largest = want.iter().map(|c| c.norm()).fold(1.0, f64::max);
            let what = format!("case {number}, order {order}");
            close(replay, &what, have.polynomial(), &want, bound * largest);
        }
    }
    for case in root.get("exponentials")?.list()? {
        let (degree, squarings) = (case.get("degree")?.number()?, case.get("squarings")?.number()?);
        if degree > 255 || squarings > 16 {
            return Err(case.wrong("degrees are below 256, and squarings below 17"));
        }
        let have = exponential(case.get("interval")?.real()?, squarings, degree);
        close(replay, "exponential", &have, &complex(&case.get("coefficients")?)?, bound);
    }
    Ok(())
}

/// The chain of `params`.
fn chain(root: &Field<'_>, params: &Field<'_>) -> Result<Arc<Chain>> {
    let main = params.get("main")?.words()?;
    let (degree, alpha) = (params.get("N")?.number()?, params.get("alpha")?.number()?);
    if !degree.is_power_of_two() || !(2..=1 << 16).contains(&degree) || alpha == 0 {
        return Err(params.wrong("needs a degree N from 2 to 2^16, and digits of some primes"));
    }
    let scales = params.get("canonical_scales")?.reals()?;
    let Some(&scale) = scales.first() else {
        return Err(params.get("canonical_scales")?.wrong("is empty"));
    };
    let shape = ChainShape {
        log2_degree: degree.ilog2(),
        terminal: Vec::new(),
        states: (1..=main.len()).map(|m| (m, 0)).collect(),
        digits: (0..main.len()).step_by(alpha).map(|i| alpha.min(main.len() - i)).collect(),
        main,
        auxiliary: params.get("auxiliary")?.words()?,
        scale,
        join_digits: false,
        klss: Vec::new(),
        klss_group: 0,
        bootstrapping: None,
        encapsulation: Some(EncapsulationShape {
            data_level: params.get("wire_level")?.number()?,
            auxiliary: params.get("sparse_auxiliary")?.number()?,
        }),
    };
    root.recorded(Chain::new(shape))
}

/// What an output must be: a ciphertext in full, or its digest.
enum Expected {
    Words(Vec<u32>),
    Digest(String),
}

/// A recording in the making whose outputs are compared, stage by stage.
struct Check<'a> {
    r: Recorder,
    inputs: Vec<Vec<u32>>,
    expected: Vec<(String, Expected)>,
    replay: &'a mut Replay,
}

impl Check<'_> {
    fn stage(&mut self, what: &str, x: &Recorded, json: &Field<'_>) -> Result<()> {
        let (level, scale) = (json.get("level")?.number()?, json.get("scale")?.real()?);
        let says =
            || format!("{what}: level {} and scale {}, not {level} and {scale}", x.level, x.scale);
        expect(self.replay, says, (x.level, x.scale) == (level, scale));
        let expected = match json.find("sha256") {
            Some(digest) => Expected::Digest(digest.text()?.to_owned()),
            None => {
                let parts = [json.get("b")?.polynomial()?, json.get("a")?.polynomial()?];
                Expected::Words(parts.concat())
            }
        };
        self.r.output(x);
        self.expected.push((what.to_owned(), expected));
        Ok(())
    }

    fn run(
        self,
        device: &dyn Backend,
        residents: impl FnOnce(&RecordedProgram) -> Result<HostPolynomials>,
    ) -> Result<()> {
        let recording = self.r.finish();
        let residents = residents(&recording)?;
        let work = Work {
            name: "vectors".into(),
            program: recording.program,
            residents,
            inputs: self.inputs,
        };
        let engine = PolyEngine::open(device, work.program.ring().clone())?;
        let outputs = compare::run(&engine, &work, engine.plan())?;
        for (parts, (what, want)) in outputs.chunks(2).zip(self.expected) {
            let have = parts.concat();
            let same = match want {
                Expected::Words(words) => have == words,
                Expected::Digest(digest) => sha::of_words(&have) == digest,
            };
            expect(self.replay, || format!("{what}: words differ"), same);
        }
        Ok(())
    }
}

/// Exponential and table at N = 16, with keys in the file.
fn polynomial(root: &Field<'_>, device: &dyn Backend, replay: &mut Replay) -> Result<()> {
    let params = root.get("params")?;
    let chain = chain(root, &params)?;
    let (wire, squarings) = (params.get("wire_level")?.number()?, params.get("squarings")?);
    let squarings = squarings.number()?.min(16);
    let exponential = complex(&root.get("exponential")?)?;
    let coefficients = complex(&root.get("coefficients")?)?;
    let input = root.get("input")?;
    let mut check = Check {
        r: Recorder::new(chain.clone()),
        inputs: vec![input.get("b")?.polynomial()?, input.get("a")?.polynomial()?],
        expected: Vec::new(),
        replay,
    };
    let start = input.get("level")?.number()?;
    let x = check.r.input(start, input.get("scale")?.real()?, chain.most_slots());
    let x = root.recorded(x)?;
    let basis = root.recorded(check.r.chebyshev_basis(&x, exponential.len() - 1, 2))?;
    let basis: Terms = basis.terms().map(|(j, t)| (j, *t)).collect();
    for (j, json) in root.get("basis")?.fields()? {
        let term = j.parse().ok().and_then(|j: usize| basis.get(&j).copied());
        let term = term.ok_or_else(|| json.wrong("is no term of the basis"))?;
        check.stage(&format!("T_{j}"), &term, &json)?;
    }
    let depth = exponential.len().next_power_of_two().ilog2() as usize;
    let level = start.saturating_sub(depth);
    let scale = |level| {
        chain.scale(level).ok_or_else(|| params.wrong(format!("level {level} has no scale")))
    };
    let mut evaluator = Evaluator { recorder: &mut check.r, terms: &basis, chebyshev: true };
    let mut y = root.recorded(evaluator.evaluate(&exponential, level, scale(level)?))?;
    check.stage("polynomial", &y, &root.get("polynomial")?)?;
    for (i, json) in root.get("squarings")?.list_of(squarings)?.iter().enumerate() {
        let square = root.recorded(check.r.square(&y))?;
        y = root.recorded(check.r.rescale(&square))?;
        check.stage(&format!("squaring {i}"), &y, json)?;
    }
    check.stage("z", &y, &root.get("z")?)?;
    let terms = root.recorded(powers(&mut check.r, &y, &[&coefficients], wire))?;
    for (j, json) in root.get("powers")?.fields()? {
        let term = j.parse().ok().and_then(|j: usize| terms.get(&j).copied());
        let term = term.ok_or_else(|| json.wrong("is no power that the table takes"))?;
        check.stage(&format!("z^{j}"), &term, &json)?;
    }
    let mut evaluator = Evaluator { recorder: &mut check.r, terms: &terms, chebyshev: false };
    let half = root.recorded(evaluator.evaluate(&coefficients, wire, scale(wire)?))?;
    check.stage("half", &half, &root.get("half")?)?;
    let conjugate = root.recorded(check.r.conjugate(&half))?;
    let real = root.recorded(check.r.add(&half, &conjugate))?;
    check.stage("real", &real, &root.get("real")?)?;
    let conjugation = KeyKind::Galois(chain.conjugation());
    let mut keys: HashMap<(KeyKind, usize, Part), Vec<u32>> = HashMap::new();
    for (kind, name) in
        [(KeyKind::Multiplication, "multiplication_key"), (conjugation, "conjugation_key")]
    {
        for (digit, row) in root.get(name)?.list()?.iter().enumerate() {
            keys.insert((kind, digit, Part::B), row.get("b")?.polynomial()?);
            keys.insert((kind, digit, Part::A), row.get("a")?.polynomial()?);
        }
    }
    check.run(device, |recording| {
        residents(root, &chain, recording, |kind, digit, part, _| {
            keys.get(&(kind, digit, part)).cloned()
        })
    })
}

/// What must be resident for a recording.
fn residents(
    root: &Field<'_>,
    chain: &Chain,
    recording: &RecordedProgram,
    mut key: impl FnMut(KeyKind, usize, Part, &[u16]) -> Option<Vec<u32>>,
) -> Result<HostPolynomials> {
    let mut polynomials = Vec::new();
    for (request, shape) in recording.residents.iter().zip(recording.program.residents()) {
        let words = match request {
            ResidentRequest::Plain(plain) => plain_words(chain, plain, shape),
            ResidentRequest::Key { kind, digit, part } => {
                let words = key(*kind, *digit, *part, shape.basis.primes());
                words.ok_or_else(|| root.wrong(format!("has no row {digit} of {kind}")))?
            }
            _ => return Err(root.wrong("takes keys by digits alone")),
        };
        polynomials.push((shape.clone(), words));
    }
    Ok(HostPolynomials::new(chain.ring(), polynomials)?)
}

/// The transforms of a file: labels, strides, baby steps, and digests of the encoded diagonals.
fn plans(
    replay: &mut Replay,
    chain: &Chain,
    top: usize,
    have: &[LinearTransform],
    want: &Field<'_>,
) -> Result<()> {
    for (i, (have, json)) in have.iter().zip(want.list_of(have.len())?).enumerate() {
        let label = json.get("label")?.real()?;
        expect(replay, || format!("label {i}: {}, not {label}", have.scale), have.scale == label);
        let steps = (json.get("stride")?.number()?, json.get("baby_steps")?.number()?);
        let own = (have.plan.stride, have.plan.baby_steps);
        expect(replay, || format!("steps {i}: {own:?}, not {steps:?}"), own == steps);
        let level = json.recorded(chain.level(top - i))?;
        let basis = level.union(chain.auxiliary());
        let digests = json.get("plaintexts")?.list_of(have.plaintexts.len())?;
        for (k, (plaintext, digest)) in have.plaintexts.iter().zip(digests).enumerate() {
            let found = plaintext.as_ref().map(|coefficients| {
                let log2_run = (chain.degree() / coefficients.len()).ilog2();
                let plain = PlainPolynomial {
                    coefficients: coefficients.clone(),
                    log2_run,
                    basis: basis.clone(),
                    odd: None,
                };
                let shape = ResidentShape { basis: basis.clone(), log2_run };
                let words = plain_words(chain, &plain, &shape);
                let run = 1usize << log2_run;
                let whole: Vec<u32> =
                    words.iter().flat_map(|&word| std::iter::repeat_n(word, run)).collect();
                sha::of_words(&whole)
            });
            let wanted = if digest.is_null() { None } else { Some(digest.text()?.to_owned()) };
            expect(replay, || format!("diagonal {k} of transform {i} differs"), found == wanted);
        }
    }
    Ok(())
}

/// A whole look-up at N = 2^10, with keys from a seed.
fn lookup(root: &Field<'_>, device: &dyn Backend, replay: &mut Replay) -> Result<()> {
    let params = root.get("params")?;
    let chain = chain(root, &params)?;
    let modulus = params.get("modulus")?.number()?;
    let name = if modulus == 4 { "INSECURE_DISCRETE_1_N10" } else { "INSECURE_DISCRETE_4_N10" };
    let set = DiscreteParameters::by_name(name).map_err(|e| root.wrong(e.to_string()))?;
    let own = ChainShape { join_digits: false, ..ChainShape::from(set.ckks()) };
    let same = *chain.shape() == own && set.modulus() as usize == modulus;
    expect(replay, || format!("{set} is not the set of the file"), same);
    let order = params_order(root)?;
    let tables: Vec<Table> = root
        .get("tables")?
        .list()?
        .iter()
        .map(|json| {
            let of = table(json, modulus)?;
            of.order(order).map_err(|e| json.wrong(e.to_string()))
        })
        .collect::<Result<_>>()?;
    let levels = tables.iter().map(Table::levels).max().unwrap_or(0);
    let recorded = |e: girih::discrete::Error| root.wrong(e.to_string());
    let encoder = Encoder::new(chain.ring().log2_degree).map_err(|e| root.wrong(e.to_string()))?;
    let back = LookupPlan::to_coefficients(&set, set.modulus(), &chain, &encoder);
    let back = back.map_err(recorded)?;
    let plan = LookupPlan::new(&set, &chain, back, levels, &encoder).map_err(recorded)?;
    let (wire, top) = (set.wire_level(), set.raised_level(levels));
    plans(replay, &chain, wire, &plan.to_coefficients, &root.get("slots_to_coefficients")?)?;
    plans(replay, &chain, top, &plan.to_slots, &root.get("coefficients_to_slots")?)?;
    let bound = 2f64.powi(-40);
    close(replay, "exponential", &plan.exponential, &complex(&root.get("exponential")?)?, bound);

    let weight = params.get("dense_weight")?;
    let weight = if weight.is_null() { None } else { Some(weight.number()?) };
    let seed = root.get("seed")?.number()? as u64;
    let mut seeded = Seeded::new(&chain, seed, weight, params.get("sparse_weight")?.number()?);
    for (name, secret) in [("secret_sha256", &seeded.dense), ("sparse_sha256", &seeded.sparse)] {
        let bytes: Vec<u8> = secret.iter().map(|&s| s as i8 as u8).collect();
        let want = root.get(name)?.text()?;
        expect(replay, || format!("{name} differs"), sha::sha256(&bytes) == want);
    }
    let inputs = root.get("inputs")?.list()?;
    let mut check =
        Check { r: Recorder::new(chain.clone()), inputs: Vec::new(), expected: Vec::new(), replay };
    let mut terms = Vec::new();
    for (i, json) in inputs.iter().enumerate() {
        let message = encoded(&encoder, &set, i, modulus, inputs.len());
        let [b, a] = seeded.encrypt(i as u64, &message, wire);
        let words = sha::of_words(b.iter().chain(&a));
        let digest = json.get("sha256")?.text()?;
        expect(check.replay, || format!("input {i} differs"), words == digest);
        check.inputs.extend([b, a]);
        let x = check.r.input(wire, set.scale(), chain.most_slots());
        terms.push((1, root.recorded(x)?));
    }
    let x = root.recorded(LookupPlan::sum(&mut check.r, &terms, 0))?;
    check.stage("sum", &x, &root.get("sum")?)?;
    let slots = root.recorded(plan.slots(&mut check.r, &x))?;
    check.stage("stc", &slots.coefficients, &root.get("stc")?)?;
    check.stage("raised", &slots.raised, &root.get("raised")?)?;
    check.stage("re", &slots.halves[0], &root.get("re")?)?;
    check.stage("im", &slots.halves[1], &root.get("im")?)?;
    let mut halves = Vec::new();
    for (i, half) in slots.halves.iter().enumerate() {
        let steps = root.recorded(plan.exponential(&mut check.r, half))?;
        let z = *steps.squarings.last().expect("every set squares");
        check.stage(&format!("poly{i}"), &steps.polynomial, &root.get(&format!("poly{i}"))?)?;
        check.stage(&format!("z{i}"), &z, &root.get(&format!("z{i}"))?)?;
        halves.push(root.recorded(plan.tables(&mut check.r, &z, &tables))?);
    }
    for (i, json) in root.get("outputs")?.list_of(tables.len())?.iter().enumerate() {
        let parts = [&halves[0][i], &halves[1][i]];
        let y = root.recorded(LookupPlan::join(&mut check.r, parts))?;
        check.stage(&format!("output {i}"), &y, json)?;
        if i == 0 {
            check.stage("first output", &y, &root.get("first_output")?)?;
        }
    }
    keys_agree(root, &chain, check.replay, &mut seeded)?;
    check.run(device, |recording| {
        residents(root, &chain, recording, |kind, digit, part, primes| {
            Some(seeded.key(kind, digit, part, primes))
        })
    })
}

fn params_order(root: &Field<'_>) -> Result<u32> {
    Ok(root.get("order")?.number()? as u32)
}

/// The digests of all keys that a file names.
fn keys_agree(
    root: &Field<'_>,
    chain: &Chain,
    replay: &mut Replay,
    seeded: &mut Seeded,
) -> Result<()> {
    for (name, digest) in root.get("keys")?.fields()? {
        let kind = match name {
            "mult" => KeyKind::Multiplication,
            "d2s" => KeyKind::DenseToSparse,
            "s2d" => KeyKind::SparseToDense,
            other => {
                let g = other.strip_prefix("g=").and_then(|g| g.parse::<u32>().ok());
                let g = g.filter(|g| g % 2 == 1 && (*g as usize) < 2 * chain.degree());
                KeyKind::Galois(g.ok_or_else(|| digest.wrong("is the digest of no key"))?)
            }
        };
        let have = seeded.digest(kind);
        let want = digest.text()?;
        expect(replay, || format!("key {name} differs"), have == want);
    }
    Ok(())
}

/// The numbers of input `i` of a file, encoded.
fn encoded(
    encoder: &Encoder,
    set: &DiscreteParameters,
    i: usize,
    modulus: usize,
    count: usize,
) -> Vec<i64> {
    let k = if count == 1 { 1 } else { [1, 3, 5][i % 3] };
    let below = if modulus == 4 { 2 } else { 16 };
    let number = |j: usize| ((j * k + j / (7 + k)) % below) as f64;
    let half = set.numbers() / 2;
    let slots: Vec<Complex64> =
        (0..half).map(|j| Complex64::new(number(j), number(half + j))).collect();
    let plaintext = encoder.encode(&slots, set.scale()).expect("small numbers");
    plaintext.coefficients().to_vec()
}
