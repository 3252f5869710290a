//! Many bootstrappings, and those of large sets, for `cargo xtask test --long`: no slot beyond
//! twelve deviations of the model, and deviations as good as they are stated.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::evaluator::Parties;
use girih::ckks::server::Bootstrapping;
use girih::ckks::{CkksParameters, Complex64, Result};
use girih_backend::Backend;
use girih_backend::poly::random::Numbers;

/// Deviations that a slot may err by: errors of a bootstrapping are not alike in all slots.
const DEVIATIONS: f64 = 12.0;

/// Bits by which a measured deviation may exceed the model's where none is stated.
const SLACK: f64 = 0.6;

/// What the slots are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slots {
    /// Uniform in [-1, 1]^2.
    Random,
    /// All 1: the whole message is one coefficient.
    Constant,
}

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name, after `ckks::long::`.
    pub name: &'static str,
    set: &'static str,
    count: usize,
    slots: Slots,
    /// rho; the set's own if none.
    ratio: Option<u32>,
    /// Bits of the second bootstrapping, of the error of the first (Meta-BTS).
    meta: Option<u32>,
    /// log2 of the largest deviation; of random slots by the model if none.
    at_most: Option<f64>,
}

/// A case of random slots by the set's own ratio.
const fn case(name: &'static str, set: &'static str, count: usize, at_most: Option<f64>) -> Case {
    Case { name, set, count, slots: Slots::Random, ratio: None, meta: None, at_most }
}

impl Case {
    const fn ratio(self, rho: u32) -> Self {
        Self { ratio: Some(rho), ..self }
    }

    const fn meta(self, bits: u32) -> Self {
        Self { meta: Some(bits), ..self }
    }

    const fn constant(self) -> Self {
        Self { slots: Slots::Constant, ..self }
    }
}

/// All cases; but for the first, of N = 2^16, with keys of 5 GiB.
pub const CASES: [Case; 17] = [
    case("small_1000", "INSECURE_CKKS_D40_N10", 1000, None),
    case("d40_20", "CKKS_D40", 20, Some(-23.0)),
    case("d40_ratio_5", "CKKS_D40", 2, None).ratio(5),
    case("d40_ratio_8", "CKKS_D40", 2, None).ratio(8),
    case("d40_ratio_6_constant", "CKKS_D40", 1, None).constant(),
    case("d40_ratio_8_constant", "CKKS_D40", 1, Some(-13.3)).ratio(8).constant(),
    case("d40_meta", "CKKS_D40", 2, Some(-25.5)).ratio(8).meta(14),
    case("d40_meta_constant", "CKKS_D40", 2, Some(-24.5)).ratio(8).meta(8).constant(),
    case("d35", "CKKS_D35", 2, Some(-21.0)),
    case("d30", "CKKS_D30", 2, None),
    case("d40_30bit", "CKKS_D40_30BIT", 2, None),
    case("d45", "CKKS_D45", 2, None),
    case("d50", "CKKS_D50", 2, None),
    case("d40_arcsine", "CKKS_D40_ARCSINE", 2, None),
    case("d40_arcsine_constant", "CKKS_D40_ARCSINE", 1, None).constant(),
    case("d40_stc_first", "CKKS_D40_STC_FIRST", 2, None),
    case("d40_stc_first_constant", "CKKS_D40_STC_FIRST", 1, None).constant(),
];

fn inputs(of: Slots, count: usize, seed: u64) -> Vec<Complex64> {
    let mut numbers = Numbers::new(seed);
    let mut uniform = || (numbers.word() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    let slot = |_| match of {
        Slots::Random => Complex64::new(uniform(), uniform()),
        Slots::Constant => Complex64::new(1.0, 0.0),
    };
    (0..count).map(slot).collect()
}

/// Errors of components, as they come in.
#[derive(Default)]
struct Errors {
    squares: f64,
    components: usize,
    largest: f64,
    worst_slot: usize,
    wrong: usize,
}

impl Errors {
    fn add(&mut self, found: &[Complex64], wanted: &[Complex64], allowed: f64) {
        for (slot, (have, want)) in found.iter().zip(wanted).enumerate() {
            let error = have - want;
            let largest = error.re.abs().max(error.im.abs());
            // An error that is no number is not right either.
            let right = largest <= allowed;
            self.wrong += usize::from(!right);
            self.squares += error.norm_sqr();
            self.components += 2;
            if largest > self.largest {
                (self.largest, self.worst_slot) = (largest, slot);
            }
        }
    }

    fn log2_deviation(&self) -> f64 {
        (self.squares / self.components.max(1) as f64).sqrt().log2()
    }
}

/// Runs a case, by itself even where others run at once, as its keys fill a machine. A line that
/// says what was measured, and one for each thing that is not as it should be.
///
/// # Errors
/// For unknown sets, and failures of the device.
pub fn run(device: &dyn Backend, case: &Case) -> Result<(String, Vec<String>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    let set = CkksParameters::by_name(case.set)?;
    let how = Bootstrapping {
        message_ratio: case.ratio,
        independent_slots: case.slots == Slots::Random,
        ..Default::default()
    };
    let parties = Parties::new(device, case.set, how.keys(&set, set.slots())?)?;
    let server = &parties.server;
    let level = set.bootstrap_level();
    let magnitude = if case.slots == Slots::Random { 2f64.sqrt() } else { 1.0 };
    let scale = set.scale(level).unwrap_or(1.0);
    let recording = server.record(|b| {
        let x = b.input_with(level, scale, set.slots())?;
        Ok(vec![match case.meta {
            Some(bits) => b.meta_bootstrap(&x, bits, &how)?,
            None => b.bootstrap_with(&x, &how)?,
        }])
    })?;
    let ready = start.elapsed().as_secs_f64();
    let (mut errors, mut lines) = (Errors::default(), Vec::new());
    let (mut seconds, mut model) = (0.0, 0.0);
    for number in 0..case.count {
        let x = inputs(case.slots, set.slots(), 1000 + number as u64);
        let input = parties.client.within(magnitude).encrypt_at(&x, level)?;
        let input = server.upload(&[input])?;
        let start = Instant::now();
        let output = recording.run(&[&input])?.remove(0);
        server.synchronize()?;
        seconds += start.elapsed().as_secs_f64();
        let estimate = output.estimate();
        model = estimate.deviation.hypot(estimate.bias);
        let before = errors.wrong;
        let allowed = DEVIATIONS * estimate.deviation + estimate.bias;
        errors.add(&parties.client.decrypt(&server.download(&output)?[0])?, &x, allowed);
        if errors.wrong > before {
            let wrong = errors.wrong - before;
            lines.push(format!("number {number}: {wrong} slots err by more than {allowed:e}"));
        }
    }
    let (deviation, largest) = (errors.log2_deviation(), errors.largest.log2());
    let by_model = (case.slots == Slots::Random).then_some(model.log2() + SLACK);
    if let Some(bound) = case.at_most.or(by_model)
        && deviation > bound
    {
        lines.push(format!("a deviation of 2^{deviation:.2}, and at most 2^{bound:.2} is stated"));
    }
    let line = format!(
        "{} on {}: {} of {}, deviation 2^{deviation:.2} (model 2^{:.2}), worst slot {} with \
         2^{largest:.2}, {} wrong; ready in {ready:.1} s, {:.3} s each",
        case.name,
        device.info().id,
        case.count,
        case.set,
        model.log2(),
        errors.worst_slot,
        errors.wrong,
        seconds / case.count as f64,
    );
    Ok((line, lines))
}
