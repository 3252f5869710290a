//! Bit-exact bootstrapping vectors: reading, checking and replaying them.

use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, Engine, Gadget, KeyModulus,
    KeySource, LoadOptions, LoadRequest, Operand, SecretKind, Stage, Transform,
};
use serde::Deserialize;
use std::path::Path;

/// The published vectors, name and text, so that test binaries carry them along.
pub const PUBLISHED: [(&str, &str); 6] = [
    ("gd_k1", include_str!("../../vectors/gd_k1.json")),
    ("gd_k1_all_digits", include_str!("../../vectors/gd_k1_all_digits.json")),
    ("gd_k2_r2", include_str!("../../vectors/gd_k2_r2.json")),
    ("gd_two_words", include_str!("../../vectors/gd_two_words.json")),
    ("mr_k1", include_str!("../../vectors/mr_k1.json")),
    ("mr_k3_r5", include_str!("../../vectors/mr_k3_r5.json")),
];

/// Why a vector file was refused.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// It could not be read.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// The system's words, part of the message: no source of its own,
        /// which would be told twice.
        error: std::io::Error,
    },
    /// It is not the JSON that a vector file is.
    #[error("{path}: not a vector file: {error}")]
    Json {
        /// The file.
        path: String,
        /// The parser's words, with line and column.
        error: serde_json::Error,
    },
    /// A field does not fit the others.
    #[error("{path}: {field}: {problem}")]
    Field {
        /// The file.
        path: String,
        /// The field.
        field: String,
        /// What is wrong and what would be right.
        problem: String,
    },
}

#[derive(Deserialize)]
struct Params {
    mode: String,
    modulus_words: Vec<u32>,
    n: usize,
    q: u64,
    #[serde(rename = "N")]
    size: usize,
    k: usize,
    r: usize,
    #[serde(rename = "Q")]
    modulus: u64,
    #[serde(rename = "T")]
    raised_modulus: Option<u64>,
    q_ks: u64,
    base_ks: u64,
    digits_ks: usize,
    base_g: Option<u64>,
    digits_g: Option<usize>,
    dropped_digits: usize,
    gadget: Vec<u64>,
}

#[derive(Deserialize)]
struct Lwe {
    a: Vec<u64>,
    b: Vec<u64>,
}

impl Lwe {
    fn words(&self) -> Vec<u64> {
        [&self.a[..], &self.b].concat()
    }
}

#[derive(Deserialize)]
struct KeySwitchingArrays {
    /// `[kN][digit][value][n]`
    a: Vec<Vec<Vec<Vec<u64>>>>,
    /// `[kN][digit][value][r]`
    b: Vec<Vec<Vec<Vec<u64>>>>,
}

#[derive(Deserialize)]
struct RunRecord {
    gate: String,
    m1: Vec<u8>,
    m2: Vec<u8>,
    c1: Lwe,
    c2: Lwe,
    combined: Lwe,
    test_polynomial: Vec<u64>,
    acc_initial: Vec<Vec<u64>>,
    acc_after_1: Vec<Vec<u64>>,
    acc_final: Vec<Vec<u64>>,
    extracted: Lwe,
    switched_to_q_ks: Lwe,
    key_switched: Lwe,
    output: Lwe,
    decrypted: Vec<u8>,
}

/// `[n][C0|C1][level][row][column][N]`, centred.
type NestedKey = Vec<Vec<Vec<Vec<Vec<Vec<i64>>>>>>;

#[derive(Deserialize)]
struct Document {
    format: u32,
    name: String,
    params: Params,
    lwe_secrets: Vec<Vec<i64>>,
    /// `[r][k][N]`; checked, so that a damaged file is noticed,
    /// though replaying needs only the LWE secrets.
    glwe_secrets: Vec<Vec<Vec<i64>>>,
    bootstrapping_key: NestedKey,
    key_switching_key: KeySwitchingArrays,
    runs: Vec<RunRecord>,
}

/// A checked vector file: a shape, all its public keys, and runs with the value of every stage.
pub struct VectorFile {
    name: String,
    shape: BootstrapShape,
    /// `[n][bootstrapping block]`
    bootstrapping_key: Vec<u64>,
    /// `[kN][key-switching block]`
    key_switching_key: Vec<u64>,
    lwe_secrets: Vec<Vec<i64>>,
    runs: Vec<RunRecord>,
}

impl KeySource for VectorFile {
    fn shape(&self) -> &BootstrapShape {
        &self.shape
    }

    fn bootstrapping_block(&self, index: usize, out: &mut [u64]) {
        out.copy_from_slice(&self.bootstrapping_key[index * out.len()..][..out.len()]);
    }

    fn key_switching_block(&self, index: usize, out: &mut [u64]) {
        out.copy_from_slice(&self.key_switching_key[index * out.len()..][..out.len()]);
    }
}

/// Collects flat arrays out of nested ones, checking every length and range on the way.
struct Checker<'a> {
    path: &'a str,
}

impl Checker<'_> {
    fn fail<T>(
        &self,
        field: impl Into<String>,
        problem: impl Into<String>,
    ) -> Result<T, VectorError> {
        Err(VectorError::Field {
            path: self.path.into(),
            field: field.into(),
            problem: problem.into(),
        })
    }

    fn log2(&self, field: &str, value: u64) -> Result<u32, VectorError> {
        if value.is_power_of_two() {
            Ok(value.trailing_zeros())
        } else {
            self.fail(field, format!("{value} must be a power of two"))
        }
    }

    fn len<T>(&self, field: &str, values: &[T], want: usize) -> Result<(), VectorError> {
        if values.len() == want {
            Ok(())
        } else {
            self.fail(field, format!("has {} entries, must have {want}", values.len()))
        }
    }

    fn words(
        &self,
        field: &str,
        values: &[u64],
        want: usize,
        modulus: u64,
    ) -> Result<(), VectorError> {
        self.len(field, values, want)?;
        match values.iter().find(|&&v| v >= modulus) {
            Some(v) => self.fail(field, format!("coefficient {v} must be in [0, {modulus})")),
            None => Ok(()),
        }
    }

    fn ternary(&self, field: &str, values: &[i64], want: usize) -> Result<(), VectorError> {
        self.len(field, values, want)?;
        match values.iter().find(|v| !(-1..=1).contains(*v)) {
            Some(v) => self.fail(field, format!("coefficient {v} must be -1, 0 or 1")),
            None => Ok(()),
        }
    }

    fn lwe(
        &self,
        field: &str,
        lwe: &Lwe,
        mask: usize,
        bodies: usize,
        modulus: u64,
    ) -> Result<(), VectorError> {
        self.words(&format!("{field}.a"), &lwe.a, mask, modulus)?;
        self.words(&format!("{field}.b"), &lwe.b, bodies, modulus)
    }

    fn accumulator(
        &self,
        field: &str,
        values: &[Vec<u64>],
        shape: &BootstrapShape,
        modulus: u64,
    ) -> Result<(), VectorError> {
        self.len(field, values, shape.columns())?;
        values.iter().try_for_each(|p| self.words(field, p, shape.polynomial_size, modulus))
    }

    fn shape(&self, p: &Params) -> Result<BootstrapShape, VectorError> {
        let gadget = match (p.mode.as_str(), p.base_g, p.digits_g) {
            ("GD", Some(base), Some(digits)) if digits > p.dropped_digits => {
                let log2_base = self.log2("params.base_g", base)?;
                // Too many are refused with the shape.
                let dropped_bits =
                    u32::try_from(p.dropped_digits).unwrap_or(u32::MAX).saturating_mul(log2_base);
                Gadget::Decomposition { log2_base, levels: digits - p.dropped_digits, dropped_bits }
            }
            ("MR", None, None) if p.dropped_digits == 0 => {
                Gadget::ModulusRaising { log2_modulus: self.log2("params.Q", p.modulus)? }
            }
            _ => {
                return self.fail(
                    "params.mode",
                    "must be GD with base_g and more digits_g than dropped_digits, or MR without \
                     either and dropped_digits 0",
                );
            }
        };
        let shape = BootstrapShape {
            lwe_dimension: p.n,
            log2_lwe_modulus: self.log2("params.q", p.q)?,
            polynomial_size: p.size,
            glwe_dimension: p.k,
            packing: p.r,
            secret: SecretKind::Ternary,
            grouping: 1,
            gadget,
            key_modulus: KeyModulus::Words(p.modulus_words.clone()),
            log2_ks_modulus: self.log2("params.q_ks", p.q_ks)?,
            log2_ks_base: self.log2("params.base_ks", p.base_ks)?,
        };
        if let Err(e) = shape.validate() {
            return self.fail(format!("params.{}", e.field), e.to_string());
        }
        for (field, given, derived) in [
            ("params.Q", Some(p.modulus), shape.accumulator_modulus()),
            ("params.T", p.raised_modulus, shape.key_modulus_value().filter(|_| p.mode == "MR")),
            ("params.digits_ks", Some(p.digits_ks as u64), Some(shape.ks_digits() as u64)),
        ] {
            if given != derived {
                return self
                    .fail(field, format!("is {given:?}, the other parameters give {derived:?}"));
            }
        }
        if p.gadget != shape.gadget_weights() {
            return self.fail(
                "params.gadget",
                format!(
                    "is {:?}, the other parameters give {:?}",
                    p.gadget,
                    shape.gadget_weights()
                ),
            );
        }
        Ok(shape)
    }

    fn bootstrapping_key(
        &self,
        key: &NestedKey,
        shape: &BootstrapShape,
    ) -> Result<Vec<u64>, VectorError> {
        let field = "bootstrapping_key";
        let modulus = shape.key_modulus_value().and_then(|modulus| i64::try_from(modulus).ok());
        let Some(modulus) = modulus else {
            return self.fail(field, "vectors are modulo a product of primes");
        };
        let mut flat = Vec::with_capacity(shape.lwe_dimension * shape.bootstrapping_block_len());
        self.len(field, key, shape.lwe_dimension)?;
        for ggsws in key {
            self.len(field, ggsws, shape.ggsw_per_step())?;
            for levels in ggsws {
                self.len(field, levels, shape.levels())?;
                for rows in levels {
                    self.len(field, rows, shape.columns())?;
                    for columns in rows {
                        self.len(field, columns, shape.columns())?;
                        for polynomial in columns {
                            self.len(field, polynomial, shape.polynomial_size)?;
                            let half = modulus.unsigned_abs() / 2;
                            if let Some(c) = polynomial.iter().find(|c| c.unsigned_abs() > half) {
                                return self.fail(
                                    field,
                                    format!("coefficient {c} must be centred modulo {modulus}"),
                                );
                            }
                            flat.extend(polynomial.iter().map(|c| c.rem_euclid(modulus) as u64));
                        }
                    }
                }
            }
        }
        Ok(flat)
    }

    fn key_switching_key(
        &self,
        key: &KeySwitchingArrays,
        shape: &BootstrapShape,
    ) -> Result<Vec<u64>, VectorError> {
        let field = "key_switching_key";
        let modulus = 1 << shape.log2_ks_modulus;
        let mut flat = Vec::with_capacity(shape.ks_indices() * shape.key_switching_block_len());
        self.len("key_switching_key.a", &key.a, shape.ks_indices())?;
        self.len("key_switching_key.b", &key.b, shape.ks_indices())?;
        for (masks, bodies) in key.a.iter().zip(&key.b) {
            self.len(field, masks, shape.ks_digits())?;
            self.len(field, bodies, shape.ks_digits())?;
            for (masks, bodies) in masks.iter().zip(bodies) {
                self.len(field, masks, shape.ks_base())?;
                self.len(field, bodies, shape.ks_base())?;
                for (value, (mask, body)) in masks.iter().zip(bodies).enumerate() {
                    self.words("key_switching_key.a", mask, shape.lwe_dimension, modulus)?;
                    self.words("key_switching_key.b", body, shape.packing, modulus)?;
                    if value == 0 && mask.iter().chain(body).any(|&w| w != 0) {
                        return self.fail(field, "the row of value 0 must be zero");
                    }
                    flat.extend(mask.iter().chain(body));
                }
            }
        }
        Ok(flat)
    }

    fn run(
        &self,
        index: usize,
        run: &RunRecord,
        p: &Params,
        shape: &BootstrapShape,
    ) -> Result<(), VectorError> {
        let name = |field: &str| format!("runs[{index}].{field}");
        let (n, r) = (p.n, p.r);
        for (field, lwe, mask, modulus) in [
            ("c1", &run.c1, n, p.q),
            ("c2", &run.c2, n, p.q),
            ("combined", &run.combined, n, p.q),
            ("extracted", &run.extracted, shape.ks_indices(), p.modulus),
            ("switched_to_q_ks", &run.switched_to_q_ks, shape.ks_indices(), p.q_ks),
            ("key_switched", &run.key_switched, n, p.q_ks),
            ("output", &run.output, n, p.q),
        ] {
            self.lwe(&name(field), lwe, mask, r, modulus)?;
        }
        self.words(&name("test_polynomial"), &run.test_polynomial, p.size, p.modulus)?;
        for (field, acc) in [
            ("acc_initial", &run.acc_initial),
            ("acc_after_1", &run.acc_after_1),
            ("acc_final", &run.acc_final),
        ] {
            self.accumulator(&name(field), acc, shape, p.modulus)?;
        }
        let Some(truth) = truth_table(&run.gate) else {
            return self.fail(
                name("gate"),
                format!("`{}` must be one of NAND, AND, OR, NOR, XOR, XNOR", run.gate),
            );
        };
        for (field, bits) in [("m1", &run.m1), ("m2", &run.m2), ("decrypted", &run.decrypted)] {
            self.len(&name(field), bits, r)?;
            if bits.iter().any(|&b| b > 1) {
                return self.fail(name(field), "must be bits");
            }
        }
        for j in 0..r {
            if run.decrypted[j] != truth[usize::from(2 * run.m1[j] + run.m2[j])] {
                return self.fail(
                    name("decrypted"),
                    format!("slot {j} is not {} of its inputs", run.gate),
                );
            }
        }
        Ok(())
    }
}

/// Outputs for inputs 00, 01, 10, 11.
fn truth_table(gate: &str) -> Option<[u8; 4]> {
    Some(match gate {
        "NAND" => [1, 1, 1, 0],
        "AND" => [0, 0, 0, 1],
        "OR" => [0, 1, 1, 1],
        "NOR" => [1, 0, 0, 0],
        "XOR" => [0, 1, 1, 0],
        "XNOR" => [1, 0, 0, 1],
        _ => return None,
    })
}

impl VectorFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`VectorError`] naming the file and the first field that does not fit.
    pub fn read(path: &Path) -> Result<Self, VectorError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| VectorError::Io { path: shown.clone(), error })?;
        Self::parse(&shown, &text)
    }

    /// Checks the text of a file; `path` names it in errors.
    ///
    /// # Errors
    /// As [`VectorFile::read`].
    pub fn parse(path: &str, text: &str) -> Result<Self, VectorError> {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| VectorError::Json { path: path.into(), error })?;
        let check = Checker { path };
        if document.format != 1 {
            return check.fail("format", format!("is {}, this version reads 1", document.format));
        }
        let shape = check.shape(&document.params)?;
        check.len("lwe_secrets", &document.lwe_secrets, shape.packing)?;
        document
            .lwe_secrets
            .iter()
            .try_for_each(|s| check.ternary("lwe_secrets", s, shape.lwe_dimension))?;
        check.len("glwe_secrets", &document.glwe_secrets, shape.packing)?;
        for secrets in &document.glwe_secrets {
            check.len("glwe_secrets", secrets, shape.glwe_dimension)?;
            secrets
                .iter()
                .try_for_each(|s| check.ternary("glwe_secrets", s, shape.polynomial_size))?;
        }
        let bootstrapping_key = check.bootstrapping_key(&document.bootstrapping_key, &shape)?;
        let key_switching_key = check.key_switching_key(&document.key_switching_key, &shape)?;
        for (index, run) in document.runs.iter().enumerate() {
            check.run(index, run, &document.params, &shape)?;
        }
        if document.runs.is_empty() {
            return check.fail("runs", "must not be empty");
        }
        Ok(Self {
            name: document.name,
            shape,
            bootstrapping_key,
            key_switching_key,
            lwe_secrets: document.lwe_secrets,
            runs: document.runs,
        })
    }

    /// The set's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The gate of each run and its test polynomial.
    pub fn test_polynomials(&self) -> impl Iterator<Item = (&str, &[u64])> {
        self.runs.iter().map(|run| (run.gate.as_str(), &run.test_polynomial[..]))
    }

    /// Replays every run on `device`, comparing every stage bit for bit.
    ///
    /// # Errors
    /// When the device cannot load the keys or fails; differences are in the result, one line each.
    pub fn replay(&self, device: &dyn Backend) -> Result<Replay, BackendError> {
        let exact = LoadOptions::default().with_transform(Transform::Ntt);
        let engine = LoadRequest::new(self).options(&exact).load(device)?;
        engine.reserve(3)?;
        let mut replay = Replay::default();
        for (index, run) in self.runs.iter().enumerate() {
            self.replay_run(&engine, index, run, &mut replay)?;
        }
        Ok(replay)
    }

    fn replay_run(
        &self,
        engine: &Engine,
        index: usize,
        run: &RunRecord,
        replay: &mut Replay,
    ) -> Result<(), BackendError> {
        let narrow = |lwe: &Lwe| lwe.words().iter().map(|&w| w as u32).collect::<Vec<_>>();
        engine.write(0, &[narrow(&run.c1), narrow(&run.c2)].concat())?;
        let modulus = self.shape.accumulator_modulus().unwrap_or(u64::MAX);
        let weight = if matches!(run.gate.as_str(), "XOR" | "XNOR") { 2 } else { 1 };
        let job = BootstrapJob {
            input: Combination::new(
                &[Operand { ciphertext: 0, weight }, Operand { ciphertext: 1, weight }],
                0,
                self.shape.log2_lwe_modulus,
            ),
            table: engine.add_tables(&run.test_polynomial)?,
            table_stride: 0,
            // Q/8, rounded half up.
            output_offset: (modulus + 4) / 8,
            log2_output_modulus: self.shape.log2_lwe_modulus,
            output: 2,
            second: None,
        };
        let wanted = [
            (Stage::Combined, run.combined.words()),
            (Stage::AccumulatorInitial, run.acc_initial.concat()),
            (Stage::Accumulator { steps: 1 }, run.acc_after_1.concat()),
            (Stage::Accumulator { steps: self.shape.lwe_dimension }, run.acc_final.concat()),
            (Stage::Extracted, run.extracted.words()),
            (Stage::SwitchedToKs, run.switched_to_q_ks.words()),
            (Stage::KeySwitched, run.key_switched.words()),
            (Stage::Output, run.output.words()),
        ];
        let traced = engine.trace(&job, &wanted.each_ref().map(|(stage, _)| *stage))?;
        for ((stage, want), got) in wanted.iter().zip(&traced) {
            replay.compare(&format!("{} run {index} {} {stage:?}", self.name, run.gate), want, got);
        }
        // The same job through the path that applications take, and what it decrypts to.
        engine.bootstrap(&[job])?;
        let mut stored = vec![0; self.shape.ciphertext_len()];
        engine.read(2, &mut stored)?;
        let stored: Vec<u64> = stored.iter().map(|&w| u64::from(w)).collect();
        replay.compare(
            &format!("{} run {index} {} bootstrap", self.name, run.gate),
            &run.output.words(),
            &stored,
        );
        let decrypted: Vec<u64> = run.decrypted.iter().map(|&b| u64::from(b)).collect();
        replay.compare(
            &format!("{} run {index} {} decryption", self.name, run.gate),
            &decrypted,
            &self.decrypt(&stored),
        );
        Ok(())
    }

    fn decrypt(&self, words: &[u64]) -> Vec<u64> {
        let (n, log2_q) = (self.shape.lwe_dimension, self.shape.log2_lwe_modulus);
        let (mask, bodies) = words.split_at(n);
        let phase = |(secret, &body): (&Vec<i64>, &u64)| {
            let product: i64 = mask.iter().zip(secret).map(|(&a, &s)| a as i64 * s).sum();
            let phase = (body as i64 - product).rem_euclid(1 << log2_q) as u64;
            ((4 * phase + (1 << (log2_q - 1))) >> log2_q) & 3
        };
        self.lwe_secrets.iter().zip(bodies).map(phase).collect()
    }
}

/// What a replay found.
#[derive(Debug, Default)]
pub struct Replay {
    /// Stages that agree in every bit.
    pub passed: usize,
    /// One line for each stage that does not.
    pub failures: Vec<String>,
}

impl Replay {
    fn compare(&mut self, what: &str, want: &[u64], got: &[u64]) {
        match first_difference(want, got) {
            None => self.passed += 1,
            Some(difference) => self.failures.push(format!("{what}: {difference}")),
        }
    }
}

/// Where two stage values first differ, in words.
pub fn first_difference(want: &[u64], got: &[u64]) -> Option<String> {
    if want.len() != got.len() {
        return Some(format!("{} values instead of {}", got.len(), want.len()));
    }
    let first = want.iter().zip(got).position(|(w, g)| w != g)?;
    let all = want.iter().zip(got).filter(|(w, g)| w != g).count();
    Some(format!(
        "{all} of {} values differ, first at {first}: {} instead of {}",
        want.len(),
        got[first],
        want[first]
    ))
}
