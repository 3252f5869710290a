//! What users call, decrypted: every slot within what the noise model says.

use girih::ckks::approximation::{GoldschmidtInverse, NewtonInverseSqrt, Polynomial};
use girih::ckks::server::{Bootstrapping, Ciphertexts, LinearMap, Matrix, Options, ServerKey};
use girih::ckks::{CkksParameters, ClientKey, Complex64, Error, EvaluationKeys, KeyKind, Result};
use girih_backend::poly::random::Numbers;
use girih_backend::{Backend, NoProgress};

/// Slots of a component's error that the model bounds: six deviations, twelve after a
/// bootstrapping, whose errors are not alike in all slots.
const DEVIATIONS: f64 = 6.0;
const AFTER_BOOTSTRAPPING: f64 = 12.0;

/// Keys of one client, on a device.
pub struct Parties {
    /// The owner of the data.
    pub client: ClientKey,
    /// Whoever computes.
    pub server: ServerKey,
}

impl Parties {
    /// Keys of `kinds` for `set`, from a fixed seed.
    ///
    /// # Errors
    /// For an unknown set, keys that it has not, and failures of the device.
    pub fn new(device: &dyn Backend, set: &str, kinds: Vec<KeyKind>) -> Result<Self> {
        Self::seeded(device, set, kinds, [3; 32])
    }

    /// The same from a seed of choice.
    ///
    /// # Errors
    /// As [`Parties::new`].
    pub fn seeded(
        device: &dyn Backend,
        set: &str,
        kinds: Vec<KeyKind>,
        seed: [u8; 32],
    ) -> Result<Self> {
        let set = CkksParameters::by_name(set)?;
        let client = ClientKey::generate_seeded_for_tests(&set, seed)?;
        let keys = EvaluationKeys::generate(&client, kinds, &NoProgress)?;
        let server = ServerKey::load(device, &keys, &Options::default(), &NoProgress)?;
        Ok(Self { client, server })
    }

    /// Encrypted and on the device.
    ///
    /// # Errors
    /// For values that the set cannot hold, and failures of the device.
    pub fn upload(&self, values: &[Complex64], level: usize) -> Result<Ciphertexts> {
        self.server.upload(&[self.client.encrypt_at(values, level)?])
    }
}

/// Complex numbers of magnitude at most 1.
pub fn slots(count: usize, seed: u64) -> Vec<Complex64> {
    let mut numbers = Numbers::new(seed);
    let mut uniform = || (numbers.word() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    (0..count).map(|_| Complex64::new(uniform(), uniform()) / 2f64.sqrt()).collect()
}

/// The slots of `batch` that err by more than `deviations`, and the largest error.
///
/// # Errors
/// Failures of the device.
pub fn wrong_slots(
    parties: &Parties,
    batch: &Ciphertexts,
    wanted: &[Complex64],
    deviations: f64,
) -> Result<(usize, f64)> {
    let estimate = batch.estimate();
    let allowed = deviations * estimate.deviation + estimate.bias;
    let (mut wrong, mut largest) = (0, 0f64);
    for ciphertext in parties.server.download(batch)? {
        let found = parties.client.decrypt(&ciphertext)?;
        for (have, want) in found.iter().zip(wanted) {
            let error = (have.re - want.re).abs().max((have.im - want.im).abs());
            // An error that is no number is not right either.
            let right = error <= allowed;
            wrong += usize::from(!right);
            largest = largest.max(error);
        }
    }
    Ok((wrong, largest))
}

/// One line for each result that is not what it should be.
struct Findings<'a> {
    parties: &'a Parties,
    lines: Vec<String>,
}

impl Findings<'_> {
    fn check(
        &mut self,
        what: &str,
        batch: &Ciphertexts,
        wanted: &[Complex64],
        deviations: f64,
    ) -> Result<()> {
        let (wrong, largest) = wrong_slots(self.parties, batch, wanted, deviations)?;
        if wrong > 0 {
            let estimate = batch.estimate();
            self.lines.push(format!(
                "{what}: {wrong} of {} slots err by up to {largest:e}; the model has a deviation \
                 of {:e} and a bias of {:e}",
                wanted.len(),
                estimate.deviation,
                estimate.bias
            ));
        }
        Ok(())
    }
}

fn pairs(
    x: &[Complex64],
    y: &[Complex64],
    f: impl Fn(Complex64, Complex64) -> Complex64,
) -> Vec<Complex64> {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

/// The set of [`end_to_end`] and of [`bootstrapping`].
const SET: &str = "INSECURE_CKKS_D40_N10";

/// Every kind of operation but bootstrapping, alone and recorded.
///
/// # Errors
/// Failures of the device.
pub fn end_to_end(device: &dyn Backend) -> Result<Vec<String>> {
    let set = CkksParameters::by_name(SET)?;
    let slots_of = set.slots();
    let map = LinearMap::from_diagonals(
        slots_of,
        [(0, slots(slots_of, 20)), (1, slots(slots_of, 21)), (7, slots(slots_of, 22))],
    )?;
    let entries: Vec<f64> = (0..64).map(|i| f64::from(i % 7) / 8.0 - 0.4).collect();
    let matrix = Matrix::new(8, 8, &entries)?;
    let mut rotations = vec![3, 1, 2, 4];
    rotations.extend(map.rotations());
    rotations.extend(matrix.rotations()?);
    let kinds = rotations.iter().filter_map(|&by| KeyKind::rotation(&set, by));
    let kinds = kinds.chain([KeyKind::Multiplication, KeyKind::conjugation(&set)]).collect();
    let parties = Parties::new(device, SET, kinds)?;
    let (s, top) = (&parties.server, set.default_level());
    let mut findings = Findings { parties: &parties, lines: Vec::new() };
    let (x, y) = (slots(slots_of, 1), slots(slots_of, 2));
    let (cx, cy) = (parties.upload(&x, top)?, parties.upload(&y, top)?);
    let product = pairs(&x, &y, |x, y| x * y);
    let turned = [&x[3..], &x[..3]].concat();
    let conjugates: Vec<_> = x.iter().map(Complex64::conj).collect();

    findings.check("add", &s.add(&cx, &cy)?, &pairs(&x, &y, |x, y| x + y), DEVIATIONS)?;
    findings.check("multiply", &s.mul(&cx, &cy)?, &product, DEVIATIONS)?;
    findings.check("square", &s.square(&cx)?, &pairs(&x, &x, |x, y| x * y), DEVIATIONS)?;
    findings.check("rotate", &s.rotate(&cx, 3)?, &turned, DEVIATIONS)?;
    findings.check("conjugate", &s.conjugate(&cx)?, &conjugates, DEVIATIONS)?;
    findings.check("by a vector", &s.mul_plain(&cx, &y)?, &product, DEVIATIONS)?;
    let low = s.adjust(&cx, 1)?;
    findings.check("adjust", &low, &x, DEVIATIONS)?;
    findings.check(
        "multiply at level 1",
        &s.mul(&low, &s.adjust(&cy, 1)?)?,
        &product,
        DEVIATIONS,
    )?;
    let mapped = s.linear_transform(&cx, &map)?;
    findings.check("linear transform", &mapped, &map.apply(&x), DEVIATIONS)?;

    let short = slots(8, 3);
    let row = |r: usize| -> Complex64 { (0..8).map(|c| short[c] * entries[8 * r + c]).sum() };
    let times = s.matrix_vector(&matrix, &parties.upload(&short, top)?)?;
    findings.check(
        "matrix times vector",
        &times,
        &(0..8).map(row).collect::<Vec<_>>(),
        DEVIATIONS,
    )?;

    let real: Vec<Complex64> = x.iter().map(|x| x.re.into()).collect();
    let sine = Polynomial::interpolate(|x| (2.0 * x).sin(), -1.0..=1.0, 15)?;
    let of_sine: Vec<Complex64> = real.iter().map(|x| sine.evaluate(x.re).into()).collect();
    let creal = parties.upload(&real, top)?;
    findings.check("polynomial", &s.polynomial(&creal, &sine)?, &of_sine, DEVIATIONS)?;

    let positive: Vec<Complex64> = x.iter().map(|x| (0.55 + 0.45 * x.re).into()).collect();
    let cpositive = parties.upload(&positive, top)?;
    let inverse = GoldschmidtInverse::new(0.1..=1.0, 1e-3, top)?;
    let root = NewtonInverseSqrt::new(0.1..=1.0, 1e-3, top)?;
    let of = |f: &dyn Fn(f64) -> f64| positive.iter().map(|x| f(x.re).into()).collect::<Vec<_>>();
    let inverted = s.goldschmidt_inverse(&cpositive, &inverse)?;
    findings.check("inverse by iteration", &inverted, &of(&|x| 1.0 / x), DEVIATIONS)?;
    let rooted = s.newton_inverse_sqrt(&cpositive, &root)?;
    findings.check("inverse root by iteration", &rooted, &of(&|x| 1.0 / x.sqrt()), DEVIATIONS)?;
    for (what, found, levels) in [
        ("an inverse", inverted.level(), inverse.levels()),
        ("an inverse root", rooted.level(), root.levels()),
    ] {
        if found + levels != top {
            findings.lines.push(format!("{what} of {levels} levels goes from {top} to {found}"));
        }
    }

    // One recording, two batches, run twice.
    let recording = s.record(|b| {
        let (x, y) = (b.input(top)?, b.input(top)?);
        let product = b.mul(&x, &y)?;
        let turned = b.rotate(&product, 1)?;
        Ok(vec![b.add(&product, &turned)?])
    })?;
    let expected = |product: &[Complex64]| -> Vec<Complex64> {
        let turned = product[1..].iter().chain(&product[..1]);
        product.iter().zip(turned).map(|(x, y)| x + y).collect()
    };
    for (what, batch, wanted) in [
        ("recorded", [&cx, &cy], expected(&product)),
        ("recorded, again", [&cy, &cy], expected(&pairs(&y, &y, |x, y| x * y))),
    ] {
        let outputs = recording.run(&batch)?;
        findings.check(what, &outputs[0], &wanted, DEVIATIONS)?;
    }
    // One recording whose vector and number change from run to run.
    let recording = s.record(|b| {
        let (weights, shift) = (b.vector_input(x.len(), 2.0)?, b.vector_input(1, 2.0)?);
        let weighted = b.input(top)?;
        let weighted = b.mul_vector(&weighted, &weights)?;
        Ok(vec![b.add_vector(&weighted, &shift)?])
    })?;
    for (what, weights, shift) in [("vectors", &y, 0.75), ("vectors, again", &x, -0.5)] {
        let wanted = pairs(&x, weights, |x, w| x * w + shift);
        let outputs = recording.run_with(&[&cx], &[weights.as_slice(), &[shift.into()]])?;
        findings.check(what, &outputs[0], &wanted, DEVIATIONS)?;
    }
    // Inputs are as they were.
    findings.check("input", &cx, &x, DEVIATIONS)?;
    if !matches!(s.rotate(&cx, 11), Err(Error::MissingKey { .. })) {
        findings.lines.push("a rotation without its key was not refused".into());
    }
    Ok(findings.lines)
}

/// Whole bootstrappings of full slots and of few.
///
/// # Errors
/// Failures of the device.
pub fn bootstrapping(device: &dyn Backend) -> Result<Vec<String>> {
    let set = CkksParameters::by_name(SET)?;
    let how =
        Bootstrapping { message_ratio: Some(8), independent_slots: true, ..Default::default() };
    let mut lines = Vec::new();
    for count in [set.slots(), 16] {
        let parties = Parties::new(device, SET, how.keys(&set, count)?)?;
        let mut findings = Findings { parties: &parties, lines: Vec::new() };
        let x = slots(count, 4);
        let y = parties.server.bootstrap_with(&parties.upload(&x, 0)?, &how)?;
        if y.level() != set.default_level() {
            lines.push(format!("{count} slots: level {}, not {}", y.level(), set.default_level()));
        }
        findings.check(&format!("{count} slots"), &y, &x, AFTER_BOOTSTRAPPING)?;
        lines.append(&mut findings.lines);
    }
    Ok(lines)
}
