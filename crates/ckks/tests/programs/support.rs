//! Reading the published stage vectors, and running recorded programs on the host.

use super::reader::{array, number, polynomial, real, words};
use std::collections::HashMap;
use std::sync::Arc;

use girih_backend::poly::{
    HostPolynomials, PolyPlan, Program, ResidentShape, Value, interpret, lower, run_schedule,
};
use girih_ckks::program::{
    BootstrappingShape, Chain, ChainShape, KeyKind, Part, Recorded, RecordedProgram, Recorder,
    ResidentRequest,
};
use serde_json::Value as Json;

/// b and a of a ciphertext.
pub fn ciphertext(json: &Json) -> Vec<Vec<u32>> {
    vec![polynomial(&json["b"]), polynomial(&json["a"])]
}

/// The chain of a file's `params`.
pub fn chain(params: &Json, bootstrapping: Option<BootstrappingShape>) -> Arc<Chain> {
    let list = |name: &str| words(&params[name]);
    let states: Vec<(usize, usize)> =
        array(&params["states"]).iter().map(|s| (number(&s[0]), number(&s[1]))).collect();
    let (terminal, main) = (list("terminal"), list("main"));
    let (all, alpha) = (terminal.len() + main.len(), number(&params["alpha"]));
    let shape = ChainShape {
        log2_degree: number(&params["N"]).ilog2(),
        terminal,
        main,
        auxiliary: list("auxiliary"),
        states,
        scale: 2f64.powi(number(&params["log2_scale"]) as i32),
        digits: (0..all).step_by(alpha).map(|i| alpha.min(all - i)).collect(),
        join_digits: false,
        klss: list("klss_primes"),
        klss_group: number(&params["klss_group"]),
        bootstrapping,
        encapsulation: None,
    };
    Chain::new(shape).expect("a chain")
}

/// Polynomials of switching keys.
#[derive(Default)]
pub struct Keys(HashMap<(KeyKind, usize, Part), Vec<u32>>);

impl Keys {
    /// With `key`, a list of digits, as the key `kind`.
    pub fn with(mut self, kind: KeyKind, key: &Json) -> Self {
        for (digit, row) in array(key).iter().enumerate() {
            self.0.insert((kind, digit, Part::B), polynomial(&row["b"]));
            self.0.insert((kind, digit, Part::A), polynomial(&row["a"]));
        }
        self
    }

    /// Takes one polynomial.
    pub fn insert(&mut self, kind: KeyKind, digit: usize, part: Part, words: Vec<u32>) {
        self.0.insert((kind, digit, part), words);
    }

    /// The groups of the KLSS form of a key's polynomial, by a program of its own.
    pub fn klss(&self, chain: &Arc<Chain>, key: (KeyKind, usize, Part)) -> Vec<Vec<u32>> {
        let mut r = Recorder::new(chain.clone());
        let basis = chain.key_basis();
        let x = r.builder().input(basis, girih_backend::poly::Domain::Evaluations).unwrap();
        for group in r.klss_lift(x).unwrap() {
            r.builder().output(group);
        }
        self.run(chain, &r.finish(), &[self.0[&key].clone()])
    }

    fn words(
        &self,
        chain: &Arc<Chain>,
        request: &ResidentRequest,
        shape: &ResidentShape,
    ) -> Vec<u32> {
        match request {
            ResidentRequest::Key { kind, digit, part } => self.0[&(*kind, *digit, *part)].clone(),
            ResidentRequest::JoinedKey { kind, digits, part, basis } => {
                let n = chain.degree();
                let whole = match (chain.in_invariant(), kind.is_invariant()) {
                    (Some(chain), true) => chain.key_basis(),
                    _ => chain.key_basis(),
                };
                let mut sum = vec![0; n * basis.len()];
                for digit in digits {
                    let row = &self.0[&(*kind, *digit, *part)];
                    for (limb, &prime) in sum.chunks_exact_mut(n).zip(basis.primes()) {
                        let q = chain.ring().primes[usize::from(prime)];
                        let at = whole.position(prime).expect("a prime of keys") * n;
                        limb.iter_mut().zip(&row[at..at + n]).for_each(|(s, &w)| *s = q.add(*s, w));
                    }
                }
                sum
            }
            ResidentRequest::Klss { kind, digit, part, group } => {
                self.klss(chain, (*kind, *digit, *part)).swap_remove(*group)
            }
            ResidentRequest::Changing { .. } => unreachable!("no run brings plaintexts along"),
            ResidentRequest::Plain(plain) => {
                let size = chain.degree() >> shape.log2_run;
                let mut words = vec![0; size * shape.basis.len()];
                for (limb, &prime) in words.chunks_exact_mut(size).zip(shape.basis.primes()) {
                    plain.limb_of(chain.ring(), prime, limb);
                }
                words
            }
        }
    }

    /// What must be resident for a recording.
    pub fn residents(&self, chain: &Arc<Chain>, recording: &RecordedProgram) -> HostPolynomials {
        let shapes = recording.program.residents();
        let polynomials = recording
            .residents
            .iter()
            .zip(shapes)
            .map(|(request, shape)| (shape.clone(), self.words(chain, request, shape)))
            .collect();
        HostPolynomials::new(chain.ring(), polynomials).expect("resident polynomials")
    }

    /// The outputs of a recording.
    pub fn run(
        &self,
        chain: &Arc<Chain>,
        recording: &RecordedProgram,
        inputs: &[Vec<u32>],
    ) -> Vec<Vec<u32>> {
        let residents = self.residents(chain, recording);
        interpret(&recording.program, &residents, inputs, &[]).expect("a run").outputs
    }
}

/// A recording in the making whose outputs are compared with expected words.
pub struct Check {
    pub r: Recorder,
    chain: Arc<Chain>,
    inputs: Vec<Vec<u32>>,
    expected: Vec<(String, Vec<u32>)>,
}

impl Check {
    pub fn new(chain: &Arc<Chain>) -> Self {
        let r = Recorder::new(chain.clone());
        Self { r, chain: chain.clone(), inputs: Vec::new(), expected: Vec::new() }
    }

    /// An input ciphertext as a file has it.
    pub fn input(&mut self, json: &Json) -> Recorded {
        self.input_of(json, self.chain.most_slots())
    }

    /// The same, of so many slots.
    pub fn input_of(&mut self, json: &Json, slots: usize) -> Recorded {
        self.inputs.extend(ciphertext(json));
        self.r.input(number(&json["level"]), real(&json["scale"]), slots).unwrap()
    }

    /// The same, of the conjugation-invariant ring.
    pub fn input_there(&mut self, json: &Json) -> Recorded {
        self.inputs.extend(ciphertext(json));
        let slots = self.chain.most_slots();
        let (level, scale) = (number(&json["level"]), real(&json["scale"]));
        self.r.in_invariant(|there| there.input(level, scale, slots)).unwrap()
    }

    /// An input polynomial over the base of `level`.
    pub fn polynomial(&mut self, json: &Json, basis: girih_backend::poly::Basis) -> Value {
        self.inputs.push(polynomial(json));
        self.r.builder().input(basis, girih_backend::poly::Domain::Evaluations).unwrap()
    }

    /// A value must have these words.
    pub fn value(&mut self, what: impl Into<String>, value: Value, expected: &Json) {
        self.r.builder().output(value);
        self.expected.push((what.into(), polynomial(expected)));
    }

    /// A ciphertext must have this level, scale and words.
    pub fn ciphertext(&mut self, what: &str, x: &Recorded, expected: &Json) {
        assert_eq!(x.level, number(&expected["level"]), "level of {what}");
        assert_eq!(x.scale, real(&expected["scale"]), "scale of {what}");
        self.value(format!("{what}: b"), x.b, &expected["b"]);
        self.value(format!("{what}: a"), x.a, &expected["a"]);
    }

    /// Runs it on all roads: they must give the expected words.
    pub fn run(self, keys: &Keys) {
        let recording = self.r.finish();
        let residents = keys.residents(&self.chain, &recording);
        run_all(&recording.program, &residents, &self.inputs, &self.expected);
    }
}

/// Runs operation by operation, and as schedules with and without fusion: all must give the
/// expected words.
pub fn run_all(
    program: &Program,
    residents: &HostPolynomials,
    inputs: &[Vec<u32>],
    expected: &[(String, Vec<u32>)],
) {
    let interpreted = interpret(program, residents, inputs, &[]).expect("a run");
    let scheduled = [true, false].map(|fuse| {
        let plan = PolyPlan { fuse, ..PolyPlan::default() };
        let schedule = lower(program, &plan, &[]).expect("a schedule");
        run_schedule(&schedule, program.ring(), residents, inputs).expect("a run of it")
    });
    let [fused, separate] = scheduled;
    for (road, run) in [("interpreted", interpreted), ("fused", fused), ("unfused", separate)] {
        assert_eq!(run.outputs.len(), expected.len());
        for (words, (what, expected)) in run.outputs.iter().zip(expected) {
            let wrong = words.iter().zip(expected).filter(|(x, y)| x != y).count();
            assert_eq!(words.len(), expected.len(), "length of {what}");
            assert_eq!(wrong, 0, "{road}, {what}: {wrong} of {} words differ", words.len());
        }
    }
}
