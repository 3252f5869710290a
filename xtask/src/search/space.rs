//! Candidates: every combination of ring, gadget, grouping and key switch that holds the targets.
//!
//! What has one best value is not enumerated: q is 2N, the LWE secret is the shortest and the ring
//! modulus the largest (on the native torus: ring errors the narrowest) that has the security
//! asked for, and digits have the base that leaves the accumulator least noise.

use super::cost::Cost;
use super::security::{Estimates, Side, uniform};
use super::{Arguments, Purpose};
use girih::Transform;
use girih::contract::{BootstrapShape, SecretKind};
use girih::tfhe::{Mode, NoiseModel, ParameterLiteral, ParameterSet};

/// Largest q_ks of sets on prime words, as log2: from here on its LWE secrets are longer than any
/// gain.
const MOST_LOG2_KS: u32 = 24;

/// Bits of all digits of a gadget on the native torus, and of a key-switching digit, that every
/// device with an f64 transform runs.
const TORUS_DIGIT_BITS: u32 = 31;
const TORUS_KS_BASE_BITS: u32 = 7;

/// Largest k N: beyond it a step takes more than any other choice saves.
const MOST_RING: usize = 4096;

/// LWE errors of the native torus, as log2 of their bound.
const LWE_BOUNDS: std::ops::RangeInclusive<u32> = 36..=54;

/// A set that holds the targets.
#[derive(Clone)]
pub struct Candidate {
    pub set: ParameterSet,
    /// log2 of the failure probability by the noise model, f64 transform.
    pub log2_failure: f64,
    pub cost: Cost,
}

impl Candidate {
    /// Any set, whether it holds the targets or not.
    pub fn new(arguments: &Arguments, set: ParameterSet) -> Self {
        let (log2_failure, cost) = (log2_failure(arguments, &set), Cost::of(set.shape()));
        Self { set, log2_failure, cost }
    }
}

/// One ring: N, k, its secret and what it lives modulo.
#[derive(Clone, Copy)]
struct Ring {
    size: usize,
    k: usize,
    secret: SecretKind,
}

/// Ring and gadget, everything that the rotation's noise depends on but its steps.
#[derive(Clone)]
struct Accumulator {
    ring: Ring,
    mode: Mode,
    log2_q: i64,
    log2_t: Option<i64>,
    words: Option<Vec<i64>>,
    base: Option<u32>,
    digits: Option<i64>,
    dropped_bits: Option<i64>,
    ring_bound: Option<i64>,
}

/// The key switch and what follows from it: LWE secret, q_ks, base.
#[derive(Clone, Copy)]
struct Switch {
    secret: SecretKind,
    grouping: usize,
    n: usize,
    log2_ks: u32,
    log2_base: u32,
    lwe_bound: Option<i64>,
}

/// A name that says what distinguishes a set.
fn name(accumulator: &Accumulator, switch: &Switch, purpose: Purpose) -> String {
    let letter = |kind| if kind == SecretKind::Binary { 'B' } else { 'T' };
    format!(
        "{}-{:?}-{}{}-{}x{}{}-G{}-L{}-KS{}.{}",
        purpose.label(),
        accumulator.mode,
        letter(switch.secret),
        switch.n,
        letter(accumulator.ring.secret),
        accumulator.ring.k,
        accumulator.ring.size,
        switch.grouping,
        accumulator.digits.unwrap_or(1),
        switch.log2_ks,
        switch.log2_base,
    )
}

fn set_of(arguments: &Arguments, a: &Accumulator, s: &Switch) -> Option<ParameterSet> {
    let torus = a.mode == Mode::Torus;
    let literal = ParameterLiteral {
        name: name(a, s, arguments.message),
        mode: a.mode,
        secret: s.secret,
        ring_secret: (a.ring.secret != s.secret).then_some(a.ring.secret),
        n: s.n as i64,
        q: 2 * a.ring.size as i64,
        polynomial_size: a.ring.size as i64,
        k: a.ring.k as i64,
        r: arguments.packing as i64,
        grouping: (s.grouping > 1).then_some(s.grouping as i64),
        log2_accumulator_modulus: a.log2_q,
        log2_key_modulus: a.log2_t,
        base_g: a.base.map(|b| 1 << b),
        dropped: None,
        dropped_bits: a.dropped_bits,
        digits: if torus { a.digits } else { None },
        q_ks: 1 << s.log2_ks,
        base_ks: 1 << s.log2_base,
        sigma: (!torus).then_some(arguments.sigma),
        tuniform_lwe: s.lwe_bound,
        tuniform_glwe: a.ring_bound,
        words: a.words.clone(),
    };
    // What breaks a relation between the fields is no candidate.
    ParameterSet::new(&literal).ok()
}

/// The largest prime below `2^log2_limit` that is 1 modulo 2N; above 31 bits the library's pair of
/// whole bits, where a part of one is no loss.
fn words_below(log2_limit: f64, size: usize) -> Option<Vec<i64>> {
    let order = 2 * size as u64;
    if log2_limit > 31.0 {
        let pair = girih_ring::largest_ntt_prime_pair(log2_limit as u32, order as u32)?;
        return Some(pair.map(i64::from).to_vec());
    }
    let first = (log2_limit.exp2() as u64 - 1) / order;
    let prime = (1..=first).rev().map(|i| i * order + 1).find(|&p| girih_ring::is_prime(p));
    prime.map(|p| vec![p as i64])
}

/// Gadgets of a ring, each number of digits once, with the base that leaves least noise.
fn accumulators(arguments: &Arguments, estimates: &mut Estimates, ring: Ring) -> Vec<Accumulator> {
    let (dimension, target) = (ring.k * ring.size, arguments.security);
    let mut all = Vec::new();
    let best = |of: Vec<Accumulator>| {
        let noise = |a: &Accumulator| {
            let probe = Switch {
                secret: SecretKind::Binary,
                grouping: 1,
                n: 640,
                log2_ks: 20,
                log2_base: 5,
                lwe_bound: a.ring_bound.map(|_| 40),
            };
            let set = set_of(arguments, a, &probe)?;
            let modulus = set.shape().accumulator_modulus().map_or(2f64.powi(64), |q| q as f64);
            Some(NoiseModel::with_transform(&set, Transform::Fft).sigma_acc() / modulus)
        };
        let measured = of.into_iter().filter_map(|a| Some((noise(&a)?, a)));
        measured.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, a)| a)
    };
    let blank = Accumulator {
        ring,
        mode: Mode::Torus,
        log2_q: 64,
        log2_t: None,
        words: None,
        base: None,
        digits: None,
        dropped_bits: None,
        ring_bound: None,
    };
    if arguments.modes.contains(&Mode::Torus.into())
        && let Some(bound) = estimates.least_bound(dimension, ring.secret, target)
    {
        for &digits in &arguments.digits {
            let of = |base| Accumulator {
                base: Some(base),
                digits: Some(digits as i64),
                ring_bound: Some(i64::from(bound)),
                ..blank.clone()
            };
            all.extend(best((2..=(TORUS_DIGIT_BITS / digits as u32)).map(of).collect()));
        }
    }
    let largest = estimates.largest_modulus(dimension, ring.secret, arguments.sigma, target);
    let Some(limit) = largest else { return all };
    if arguments.modes.contains(&Mode::Mr.into()) {
        // The library's pair lies at most a 50th of a bit above what it is named after.
        let log2_t = (limit - 1.0 / 32.0).floor() as i64;
        let of =
            |log2_q| Accumulator { mode: Mode::Mr, log2_q, log2_t: Some(log2_t), ..blank.clone() };
        all.extend(best((10..=30.min(log2_t - 6)).map(of).collect()));
    }
    if arguments.modes.contains(&Mode::Gd.into())
        && let Some(words) = words_below(limit, ring.size)
    {
        let product: i64 = words.iter().product();
        let bits = i64::from((product - 1).ilog2()) + 1;
        for &digits in &arguments.digits {
            let of = |base: i64| Accumulator {
                mode: Mode::Gd,
                log2_q: bits,
                words: Some(words.clone()),
                base: Some(base as u32),
                digits: Some(digits as i64),
                dropped_bits: Some(bits - base * digits as i64),
                ..blank.clone()
            };
            let most = (bits / digits as i64).min(31);
            all.extend(best((2..=most).map(of).collect()));
        }
    }
    all
}

/// Key switches of the torus or of prime words, each with the shortest LWE secret.
fn switches(arguments: &Arguments, estimates: &mut Estimates, torus: bool) -> Vec<Switch> {
    let mut all = Vec::new();
    for &secret in &arguments.lwe_secret {
        let secret = secret.into();
        for &grouping in &arguments.grouping {
            if grouping > 1 && secret != SecretKind::Binary {
                continue;
            }
            let sides: Vec<(Option<i64>, u32, f64)> = if torus {
                LWE_BOUNDS.map(|b| (Some(i64::from(b)), 64, uniform(b))).collect()
            } else {
                (9..=MOST_LOG2_KS).map(|bits| (None, bits, arguments.sigma)).collect()
            };
            for (lwe_bound, bits, error) in sides {
                let side = Side { log2_modulus: f64::from(bits), error, secret };
                let target = arguments.security;
                let Some(n) = estimates.least_dimension(side, target, grouping) else { continue };
                for log2_base in 1..=if torus { TORUS_KS_BASE_BITS } else { 8 } {
                    // The native torus represents some leading bits of a word by whole digits.
                    let represented = if torus { 8..=24 } else { bits..=bits };
                    let whole = represented.filter(|b| !torus || b % log2_base == 0);
                    all.extend(whole.map(|log2_ks| Switch {
                        secret,
                        grouping,
                        n,
                        log2_ks,
                        log2_base,
                        lwe_bound,
                    }));
                }
            }
        }
    }
    all
}

/// log2 of the probability that what the search is for fails: the worse of what the set is held to
/// and of inputs that are results of one key.
fn log2_failure(arguments: &Arguments, set: &ParameterSet) -> f64 {
    let model = NoiseModel::with_transform(set, Transform::Fft);
    match arguments.message {
        Purpose::Gate => model.log2_failure_of(0.125, &[1, 1]),
        Purpose::LookUp(bits) => {
            let margin = 0.25 / f64::from(1u32 << bits);
            model.log2_failure_of(margin, &[arguments.norm as i32])
        }
    }
}

/// The cheapest sets of each rotation's shape that hold the targets, by growing cost, which is what
/// `rank` says; and how many were there to choose from.
pub fn candidates(
    arguments: &Arguments,
    estimates: &mut Estimates,
    rank: &dyn Fn(&Cost) -> f64,
) -> (Vec<Candidate>, usize) {
    let (mut all, mut considered) = (Vec::new(), 0);
    let switches = [false, true].map(|torus| switches(arguments, estimates, torus));
    for &size in &arguments.size {
        for &k in &arguments.k {
            for &secret in &arguments.ring_secret {
                let ring = Ring { size, k, secret: secret.into() };
                if k * size > MOST_RING {
                    continue;
                }
                for accumulator in accumulators(arguments, estimates, ring) {
                    let torus = accumulator.mode == Mode::Torus;
                    for &grouping in &arguments.grouping {
                        let of = switches[usize::from(torus)].iter();
                        let of: Vec<&Switch> = of.filter(|s| s.grouping == grouping).collect();
                        considered += of.len();
                        let held = cheapest(arguments, &accumulator, &of, rank);
                        all.extend(held);
                    }
                }
            }
        }
    }
    all.sort_by(|a, b| rank(&a.cost).total_cmp(&rank(&b.cost)));
    (all, considered)
}

/// The cheapest sets of one rotation that hold the targets, by growing cost.
fn cheapest(
    arguments: &Arguments,
    accumulator: &Accumulator,
    switches: &[&Switch],
    rank: &dyn Fn(&Cost) -> f64,
) -> Vec<Candidate> {
    // Costs need a shape alone, so sets are made, and their noise computed, in their order.
    let Some(any) = switches.iter().find_map(|s| set_of(arguments, accumulator, s)) else {
        return Vec::new();
    };
    let cost = |s: &Switch| {
        Cost::of(&BootstrapShape {
            lwe_dimension: s.n,
            grouping: s.grouping,
            secret: s.secret,
            log2_ks_modulus: s.log2_ks,
            log2_ks_base: s.log2_base,
            ..any.shape().clone()
        })
    };
    let mut by_cost: Vec<(Cost, &Switch)> = switches.iter().map(|s| (cost(s), *s)).collect();
    by_cost.retain(|(cost, _)| cost.key_bytes <= arguments.key_bytes as f64);
    by_cost.sort_by(|a, b| rank(&a.0).total_cmp(&rank(&b.0)));
    let held = by_cost.into_iter().filter_map(|(cost, s)| {
        let set = set_of(arguments, accumulator, s)?;
        let log2_failure = log2_failure(arguments, &set);
        (log2_failure <= -arguments.failure).then_some(Candidate { set, log2_failure, cost })
    });
    held.take(arguments.each).collect()
}
