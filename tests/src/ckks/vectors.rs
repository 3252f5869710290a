//! The published bit-exact runs of each stage, replayed on a device.

use super::read::{CkksVectorError, Field, Result};
use crate::bootstrap::vectors::Replay;
use crate::poly::{Work, compare};
use files::FILES;
use girih::contract::ckks::{
    Chain, KeyKind, Part, Recorded, RecordedProgram, Recorder, ResidentRequest,
};
use girih_backend::Backend;
use girih_backend::poly::{Basis, Domain, HostPolynomials, PolyEngine, ResidentShape, Value};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

mod files;
mod host;
mod invariant;

/// The published vectors, name and text, so that test binaries carry them along.
pub const PUBLISHED: [(&str, &str); 17] = [
    ("adjust", include_str!("../../vectors/ckks/adjust.json")),
    ("base_change", include_str!("../../vectors/ckks/base_change.json")),
    ("chebyshev", include_str!("../../vectors/ckks/chebyshev.json")),
    ("chebyshev_rational", include_str!("../../vectors/ckks/chebyshev_rational.json")),
    ("dft", include_str!("../../vectors/ckks/dft.json")),
    ("encode", include_str!("../../vectors/ckks/encode.json")),
    ("eval_mod", include_str!("../../vectors/ckks/eval_mod.json")),
    ("few_slots", include_str!("../../vectors/ckks/few_slots.json")),
    ("first_factor", include_str!("../../vectors/ckks/first_factor.json")),
    ("invariant", include_str!("../../vectors/ckks/invariant.json")),
    ("key_switch", include_str!("../../vectors/ckks/key_switch.json")),
    ("klss", include_str!("../../vectors/ckks/klss.json")),
    ("linear_transform", include_str!("../../vectors/ckks/linear_transform.json")),
    ("multiply", include_str!("../../vectors/ckks/multiply.json")),
    ("ntt", include_str!("../../vectors/ckks/ntt.json")),
    ("raise", include_str!("../../vectors/ckks/raise.json")),
    ("rotate", include_str!("../../vectors/ckks/rotate.json")),
];

/// One file, its stages not yet looked at.
pub struct CkksVectorFile {
    path: String,
    name: String,
    json: Json,
}

impl CkksVectorFile {
    /// Whether a JSON text is a file of this kind: it has a name of the table, and a format.
    pub fn is_one(text: &str) -> bool {
        let Ok(json) = serde_json::from_str::<Json>(text) else { return false };
        let name = json.get("name").and_then(Json::as_str).unwrap_or_default();
        FILES.iter().any(|(known, _)| *known == name)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`CkksVectorError::Io`], and as [`CkksVectorFile::parse`].
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| CkksVectorError::Io { path: path.display().to_string(), error })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`CkksVectorError::Json`], and [`CkksVectorError::Field`] for another
    /// format or an unknown name.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| CkksVectorError::Json { path: path.into(), error })?;
        let root = Field::root(path, &json);
        if root.get("format")?.number()? != 1 {
            return Err(root.get("format")?.wrong("formats other than 1 are not known"));
        }
        let name = root.get("name")?.text()?.to_owned();
        if !FILES.iter().any(|(known, _)| *known == name) {
            let known: Vec<&str> = FILES.iter().map(|(known, _)| *known).collect();
            let known = known.join(", ");
            return Err(root.get("name")?.wrong(format!("{name} is none of {known}")));
        }
        Ok(Self { path: path.into(), name, json })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs every stage on `device`. Encoding and the matrices of bootstrapping are host work and
    /// run there.
    ///
    /// # Errors
    /// For fields that are not what they should be, and failures of the device.
    pub fn replay(&self, device: &dyn Backend) -> Result<Replay> {
        let root = Field::root(&self.path, &self.json);
        let run = FILES.iter().find(|(known, _)| *known == self.name).map(|(_, run)| run);
        let run = run.ok_or_else(|| root.wrong("is none of the known files"))?;
        let mut replay = Replay::default();
        run(&root, &mut Session { device, replay: &mut replay })?;
        Ok(replay)
    }
}

/// A device and what has been compared on it.
pub(super) struct Session<'a> {
    device: &'a dyn Backend,
    replay: &'a mut Replay,
}

impl Session<'_> {
    /// A condition that must hold.
    fn expect(&mut self, what: impl FnOnce() -> String, holds: bool) {
        if holds {
            self.replay.passed += 1;
        } else {
            self.replay.failures.push(what());
        }
    }

    /// Words that must be equal.
    fn compare(&mut self, what: &str, have: &[u32], want: &[u32]) {
        let wrong = have.iter().zip(want).filter(|(x, y)| x != y).count();
        let lengths = (have.len(), want.len());
        self.expect(
            || format!("{what}: {wrong} words differ, of {} and {}", lengths.0, lengths.1),
            wrong == 0 && lengths.0 == lengths.1,
        );
    }

    /// The outputs of `work`.
    fn run(&self, work: &Work) -> Result<Vec<Vec<u32>>> {
        let engine = PolyEngine::open(self.device, work.program.ring().clone())?;
        Ok(compare::run(&engine, work, engine.plan())?)
    }
}

/// Polynomials of switching keys.
#[derive(Default)]
struct Keys(HashMap<(KeyKind, usize, Part), Vec<u32>>);

impl Keys {
    /// Adds `key`, a list of digits.
    fn add(&mut self, kind: KeyKind, key: &Field<'_>) -> Result<()> {
        for (digit, row) in key.list()?.iter().enumerate() {
            self.0.insert((kind, digit, Part::B), row.get("b")?.polynomial()?);
            self.0.insert((kind, digit, Part::A), row.get("a")?.polynomial()?);
        }
        Ok(())
    }

    /// The key of products alone.
    fn multiplication(key: &Field<'_>) -> Result<Self> {
        let mut keys = Self::default();
        keys.add(KeyKind::Multiplication, key)?;
        Ok(keys)
    }

    fn get(&self, root: &Field<'_>, key: (KeyKind, usize, Part)) -> Result<Vec<u32>> {
        let words = self.0.get(&key).cloned();
        words.ok_or_else(|| root.wrong(format!("has no key {:?}, digit {}", key.0, key.1)))
    }

    /// The groups of the KLSS form of a key's polynomial, by a program of its own.
    fn klss(
        &self,
        root: &Field<'_>,
        chain: &Arc<Chain>,
        session: &Session<'_>,
        key: (KeyKind, usize, Part),
    ) -> Result<Vec<Vec<u32>>> {
        let mut r = Recorder::new(chain.clone());
        let x = root.built(r.builder().input(chain.key_basis(), Domain::Evaluations))?;
        for group in root.recorded(r.klss_lift(x))? {
            r.builder().output(group);
        }
        session.run(&Work {
            name: "KLSS form of a key".into(),
            program: r.finish().program,
            residents: HostPolynomials::default(),
            inputs: vec![self.get(root, key)?],
        })
    }

    /// What must be resident for a recording.
    fn residents(
        &self,
        root: &Field<'_>,
        chain: &Arc<Chain>,
        session: &Session<'_>,
        recording: &RecordedProgram,
    ) -> Result<HostPolynomials> {
        let words = |request: &ResidentRequest, shape: &ResidentShape| match request {
            ResidentRequest::Key { kind, digit, part } => self.get(root, (*kind, *digit, *part)),
            ResidentRequest::JoinedKey { .. } => Err(root.wrong("has no digits that are joined")),
            ResidentRequest::Klss { kind, digit, part, group } => {
                let mut groups = self.klss(root, chain, session, (*kind, *digit, *part))?;
                if *group < groups.len() {
                    return Ok(groups.swap_remove(*group));
                }
                Err(root.wrong(format!("has no group {group}")))
            }
            ResidentRequest::Plain(plain) => Ok(plain_words(chain, plain, shape)),
            ResidentRequest::Changing { .. } => {
                Err(root.wrong("has no plaintexts that change from run to run"))
            }
        };
        let both = recording.residents.iter().zip(recording.program.residents());
        let polynomials = both.map(|(request, shape)| Ok((shape.clone(), words(request, shape)?)));
        Ok(HostPolynomials::new(chain.ring(), polynomials.collect::<Result<_>>()?)?)
    }
}

/// The words of an encoded plaintext.
pub(crate) fn plain_words(
    chain: &Chain,
    plain: &girih::contract::ckks::PlainPolynomial,
    shape: &ResidentShape,
) -> Vec<u32> {
    let size = chain.degree() >> shape.log2_run;
    let mut words = vec![0; size * shape.basis.len()];
    for (limb, &prime) in words.chunks_exact_mut(size).zip(shape.basis.primes()) {
        plain.limb_of(chain.ring(), prime, limb);
    }
    words
}

/// A recording in the making whose outputs are compared with expected words, stage by stage.
struct Check<'s, 'd> {
    session: &'s mut Session<'d>,
    r: Recorder,
    chain: Arc<Chain>,
    inputs: Vec<Vec<u32>>,
    expected: Vec<(String, Vec<u32>)>,
}

impl<'s, 'd> Check<'s, 'd> {
    fn new(session: &'s mut Session<'d>, chain: &Arc<Chain>) -> Self {
        let r = Recorder::new(chain.clone());
        Self { session, r, chain: chain.clone(), inputs: Vec::new(), expected: Vec::new() }
    }

    /// An input ciphertext as a file has it.
    fn input(&mut self, json: &Field<'_>) -> Result<Recorded> {
        self.input_of(json, self.chain.most_slots())
    }

    /// The same, of so many slots.
    fn input_of(&mut self, json: &Field<'_>, slots: usize) -> Result<Recorded> {
        self.inputs.push(json.get("b")?.polynomial()?);
        self.inputs.push(json.get("a")?.polynomial()?);
        let (level, scale) = (json.get("level")?.number()?, json.get("scale")?.real()?);
        json.recorded(self.r.input(level, scale, slots))
    }

    /// The same, of the conjugation-invariant ring.
    fn input_there(&mut self, json: &Field<'_>) -> Result<Recorded> {
        self.inputs.push(json.get("b")?.polynomial()?);
        self.inputs.push(json.get("a")?.polynomial()?);
        let (level, scale) = (json.get("level")?.number()?, json.get("scale")?.real()?);
        let slots = self.chain.most_slots();
        json.recorded(self.r.in_invariant(|there| there.input(level, scale, slots)))
    }

    /// An input polynomial.
    fn polynomial(&mut self, json: &Field<'_>, basis: Basis) -> Result<Value> {
        self.inputs.push(json.polynomial()?);
        json.built(self.r.builder().input(basis, Domain::Evaluations))
    }

    /// A value must have these words.
    fn value(&mut self, what: impl Into<String>, value: Value, expected: &Field<'_>) -> Result<()> {
        self.expected.push((what.into(), expected.polynomial()?));
        self.r.builder().output(value);
        Ok(())
    }

    /// A ciphertext must have this level, scale and words.
    fn ciphertext(&mut self, what: &str, x: &Recorded, expected: &Field<'_>) -> Result<()> {
        let (level, scale) = (expected.get("level")?.number()?, expected.get("scale")?.real()?);
        let says =
            || format!("{what}: level {} and scale {}, not {level} and {scale}", x.level, x.scale);
        self.session.expect(says, (x.level, x.scale) == (level, scale));
        self.value(format!("{what}: b"), x.b, &expected.get("b")?)?;
        self.value(format!("{what}: a"), x.a, &expected.get("a")?)
    }

    fn run(self, root: &Field<'_>, keys: &Keys) -> Result<()> {
        let recording = self.r.finish();
        let residents = keys.residents(root, &self.chain, self.session, &recording)?;
        let program = recording.program;
        let work = Work { name: "vectors".into(), program, residents, inputs: self.inputs };
        let outputs = self.session.run(&work)?;
        for (have, (what, want)) in outputs.iter().zip(&self.expected) {
            self.session.compare(what, have, want);
        }
        Ok(())
    }
}
