//! Finds primes and states for a wanted scale, degree, depth and security.
//!
//! Sizes are counted in *units*, so that the scale is a whole number of them. With a main prime of
//! six units and a terminal prime of five (30 and 25 bits at a scale of 2^40, as in Cheddar, ASPLOS
//! 2026) every level has exactly one state with at most five terminal primes whose modulus is the
//! wanted one. Without a bootstrapping on top some primes of such a chain may serve lower levels
//! alone, and count for security; then other shapes may take fewer bits.

use super::security::{self, SPARSE_LOG2_MODULUS};
use super::{
    BootstrappingLiteral, CkksParameters, INSECURE, ParameterLiteral, SPARSE_AUXILIARY, check,
};
use crate::{Error, Result};
use std::collections::BTreeSet;

/// What a set should offer; [`GeneratorRequest::generate`] finds its primes and states.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorRequest {
    /// Name of the set; one that begins with `INSECURE_` need not be secure.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// log2 N, 4..=17.
    pub log2_degree: u32,
    /// log2 of the scale, 25..=55.
    pub log2_scale: f64,
    /// L_eff, or as many as security allows.
    pub normal_levels: Option<usize>,
    /// Bits that level 0 has beyond the scale, about; 10 leave room for a bootstrapping.
    pub headroom: f64,
    /// No prime reaches 2^`prime_bits`: 30 or 31.
    pub prime_bits: u32,
    /// Auxiliary primes; more make fewer digits, and cost levels.
    pub auxiliary: usize,
    /// Bits of security by OpenFHE's table: 128, 192 or 256.
    pub security: u32,
    /// The bootstrapping, or none.
    pub bootstrapping: Option<BootstrappingRequest>,
}

/// The bootstrapping of a [`GeneratorRequest`]; the sparse secret has weight 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrappingRequest {
    /// rho, the message ratio.
    pub message_ratio: u32,
    /// Transforms from coefficients to slots.
    pub coefficients_to_slots: usize,
    /// Transforms from slots to coefficients.
    pub slots_to_coefficients: usize,
    /// Levels for the arcsine after the sine: 0, 2 or 3.
    pub arcsine_levels: usize,
    /// Slots-to-coefficients first, on the lowest levels.
    pub slots_to_coefficients_first: bool,
}

/// Units of a main prime and of a terminal prime, and the most bits of a unit.
#[derive(Clone, Copy)]
struct Shape {
    main: usize,
    terminal: usize,
    unit_bits: f64,
}

/// Largest primes first.
const SHAPES: [Shape; 3] = [
    Shape { main: 6, terminal: 5, unit_bits: 5.0 },
    Shape { main: 3, terminal: 2, unit_bits: 10.0 },
    // Main primes alone: any number of units is one state.
    Shape { main: 1, terminal: 0, unit_bits: 30.0 },
];

/// log2 of the smallest primes that are used.
const LEAST_BITS: f64 = 19.5;

/// Bits of a level of the modular reduction, by two main primes.
const EVAL_MOD_BITS: f64 = 58.0;

/// Levels of the modular reduction: five, and three double angles.
const EVAL_MOD_LEVELS: usize = 8;

/// log2 of the largest scale of an encoded transform, below the encoder's limit of 62 bits.
const PLAINTEXT_BITS: f64 = 61.0;

impl Shape {
    /// The [main, terminal] state of so many units, with the fewest terminal primes.
    fn state(self, units: usize) -> Option<[i64; 2]> {
        (0..self.main).find_map(|terminal| {
            let rest = units.checked_sub(self.terminal * terminal)?;
            rest.is_multiple_of(self.main).then_some([(rest / self.main) as i64, terminal as i64])
        })
    }
}

/// Primes that are 1 modulo `order`, nearest to a size, no prime twice.
struct Primes {
    order: u64,
    limit: u64,
    used: BTreeSet<u64>,
}

impl Primes {
    fn is_free(&self, p: u64) -> bool {
        p > 1 << 19 && p < self.limit && !self.used.contains(&p) && girih_ring::is_prime(p)
    }

    /// `count` primes near `2^bits`, from below and above so that their product stays near its
    /// nominal size after each of them.
    fn near(&mut self, bits: f64, count: usize) -> Result<Vec<i64>> {
        let centre = libm::exp2(bits) as u64 / self.order * self.order + 1;
        let (mut below, mut above) = (centre, centre + self.order);
        let (mut excess, mut found) = (0.0, Vec::new());
        while found.len() < count {
            while below > 1 << 19 && !self.is_free(below) {
                below -= self.order;
            }
            while above < self.limit && !self.is_free(above) {
                above += self.order;
            }
            let excess_of = |p: u64| excess + (p as f64).log2() - bits;
            let p = match (self.is_free(below), self.is_free(above)) {
                (false, false) => return Err(self.exhausted(bits)),
                (true, false) => below,
                (false, true) => above,
                (true, true) if excess_of(below).abs() <= excess_of(above).abs() => below,
                (true, true) => above,
            };
            excess = excess_of(p);
            self.used.insert(p);
            found.push(p as i64);
        }
        Ok(found)
    }

    /// The `count` largest primes below `limit`, descending.
    fn below(&mut self, limit: u64, count: usize) -> Result<Vec<i64>> {
        let mut p = (limit - 2) / self.order * self.order + 1;
        let mut found = Vec::new();
        while found.len() < count {
            if p <= 1 << 19 {
                return Err(self.exhausted((limit as f64).log2()));
            }
            if self.is_free(p) {
                self.used.insert(p);
                found.push(p as i64);
            }
            p = p.saturating_sub(self.order);
        }
        Ok(found)
    }

    fn exhausted(&self, bits: f64) -> Error {
        let rule = format!("there are not enough primes of {bits:.1} bits that are 1 mod 2N");
        Error::parameter("log2_scale", self.order, rule)
    }
}

/// Everything about a set but its primes.
struct Plan {
    /// Bits of a main and of a terminal prime.
    main_bits: f64,
    terminal_bits: f64,
    states: Vec<[i64; 2]>,
    /// Main primes up to the modular reduction, in it, and above it.
    main: [usize; 3],
    terminal: usize,
}

impl GeneratorRequest {
    /// Finds the set.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming what cannot be had: fields out of range, too few primes, or not
    /// one level within the security asked for.
    pub fn generate(&self) -> Result<CkksParameters> {
        let range = |field, value: f64, low: f64, high: f64| {
            let rule = format!("must be in {low}..={high}");
            let is_in = (low..=high).contains(&value);
            if is_in { Ok(()) } else { Err(Error::parameter(field, value, rule)) }
        };
        range("log2_degree", f64::from(self.log2_degree), 4.0, 17.0)?;
        range("log2_scale", self.log2_scale, 25.0, 55.0)?;
        range("headroom", self.headroom, 2.0, 60.0)?;
        range("prime_bits", f64::from(self.prime_bits), 30.0, 31.0)?;
        range("auxiliary", self.auxiliary as f64, 1.0, 32.0)?;
        range("normal_levels", self.normal_levels.unwrap_or(1) as f64, 1.0, 60.0)?;
        if let Some(b) = self.bootstrapping {
            range("message_ratio", f64::from(b.message_ratio), 5.0, 30.0)?;
            range("coefficients_to_slots", b.coefficients_to_slots as f64, 1.0, 8.0)?;
            range("slots_to_coefficients", b.slots_to_coefficients as f64, 1.0, 8.0)?;
            range("auxiliary", self.auxiliary as f64, SPARSE_AUXILIARY as f64, 32.0)?;
            range("arcsine_levels", b.arcsine_levels as f64, 0.0, 3.0)?;
        }
        let most = match security::largest_for(self.log2_degree, self.security) {
            _ if self.name.starts_with(INSECURE) => f64::INFINITY,
            Some(most) => most,
            None => {
                let rule = "128, 192 and 256 bits are known for log2_degree in 10..=17; the name \
                            of any other set must begin with INSECURE_";
                return Err(Error::parameter("security", self.security, rule));
            }
        };
        let highest = self.normal_levels.unwrap_or(60);
        let mut last = self.normal_levels.map(|levels| {
            let rule = "with so many levels the modular reduction would start above primes that \
                        it does not use: take one or two less or more";
            Error::parameter("normal_levels", levels, rule)
        });
        for levels in (1..=highest).rev() {
            // Transforms from coefficients to slots need the large primes of the first shape.
            let shapes = if self.bootstrapping.is_some() { &SHAPES[..1] } else { &SHAPES };
            let mut found: Vec<(ParameterLiteral, f64)> = Vec::new();
            for plan in shapes.iter().filter_map(|shape| self.plan(*shape, levels)) {
                match self.literal(&plan, levels) {
                    Ok((_, log2_modulus)) if log2_modulus > most => {
                        let rule = format!("{levels} levels take {log2_modulus:.1} bits of {most}");
                        last = Some(Error::parameter("normal_levels", levels, rule));
                    }
                    Ok(fitting) => found.push(fitting),
                    Err(error) => last = Some(error),
                }
            }
            // Fewest bits first. Of small primes there are few in a large ring, and where levels
            // of these are too far from the scale, those of larger ones may not be.
            found.sort_by(|a, b| a.1.total_cmp(&b.1));
            for (literal, _) in found {
                match check::checked(&literal) {
                    Ok(set) => return Ok(set),
                    Err(error) => last = Some(error),
                }
            }
            // A wanted depth is not lowered for security.
            if self.normal_levels.is_some() {
                break;
            }
        }
        Err(last.unwrap_or_else(|| {
            let rule = "not one level is left within the security asked for";
            Error::parameter("log2_scale", self.log2_scale, rule)
        }))
    }

    /// States for so many normal levels; `None` where the top one would lack primes that a
    /// bootstrapping needs, or where primes would be too small.
    fn plan(&self, shape: Shape, levels: usize) -> Option<Plan> {
        let per_level = (self.log2_scale / shape.unit_bits - 1e-9).ceil() as usize;
        let unit = self.log2_scale / per_level as f64;
        let main_bits = shape.main as f64 * unit;
        let terminal_bits = shape.terminal as f64 * unit;
        let smallest = if shape.terminal > 0 { terminal_bits } else { main_bits };
        if smallest < LEAST_BITS {
            return None;
        }
        let nearest = ((self.log2_scale + self.headroom) / unit).round();
        let least = ((self.log2_scale + 0.75 * self.headroom) / unit).ceil();
        let wanted = nearest.max(least) as usize;
        let out = levels
            + self.bootstrapping.map_or(0, |b| match b.slots_to_coefficients_first {
                // Levels of the correction are normal ones; an adjust takes one without it.
                true => b.arcsine_levels.max(1),
                false => b.slots_to_coefficients,
            });
        let eval_mod_levels = EVAL_MOD_LEVELS
            + self.bootstrapping.map_or(0, |b| match b.slots_to_coefficients_first {
                true => 0,
                false => b.arcsine_levels,
            });
        // Few small numbers of units have no state: start a little higher then.
        let mut states: Vec<_> = (wanted..wanted + shape.main).find_map(|first| {
            (0..=out).map(|l| shape.state(first + l * per_level)).collect::<Option<Vec<_>>>()
        })?;
        let terminal = states.iter().map(|s| s[1]).max()?;
        let [mut main, mut used] = *states.last()?;
        // Not always those of the last state.
        let largest = states.iter().map(|s| s[0]).max()?;
        let mut counts = [largest as usize, 0, 0];
        if let Some(b) = self.bootstrapping {
            // The levels above only add primes.
            if largest > main {
                return None;
            }
            for _ in 0..eval_mod_levels {
                main += 2;
                states.push([main, used]);
            }
            counts[1] = 2 * eval_mod_levels;
            // Two primes a level, terminal ones last.
            let missing = (terminal - used) as usize;
            let mut steps = vec![[2, 0]; b.coefficients_to_slots];
            for i in 0..missing {
                let step = steps.iter_mut().rev().nth(i / 2)?;
                *step = [step[0] - 1, step[1] + 1];
            }
            for step in steps {
                main += step[0];
                used += step[1];
                counts[2] += step[0] as usize;
                states.push([main, used]);
            }
        }
        Some(Plan { main_bits, terminal_bits, states, main: counts, terminal: terminal as usize })
    }

    /// The set of a plan, and its log2 QP.
    fn literal(&self, plan: &Plan, levels: usize) -> Result<(ParameterLiteral, f64)> {
        let limit = 1u64 << self.prime_bits;
        let order = 2u64 << self.log2_degree;
        let mut primes = Primes { order, limit, used: BTreeSet::new() };
        let log2 = |primes: &[i64]| primes.iter().map(|&p| (p as f64).log2()).sum::<f64>();
        let terminal = primes.near(plan.terminal_bits, plan.terminal)?;
        let main_bits = plan.main_bits;
        let mut main = primes.near(main_bits, plan.main[0])?;
        main.extend(primes.near(EVAL_MOD_BITS / 2.0, plan.main[1])?);
        main.extend(primes.near(main_bits, plan.main[2])?);
        let [m, k] = plan.states[0].map(|count| count as usize);
        let log2_first = log2(&main[..m]) + log2(&terminal[..k]);
        let mut auxiliary = Vec::new();
        if self.bootstrapping.is_some() {
            // The key under the sparse secret uses these two.
            let room = (SPARSE_LOG2_MODULUS - log2_first) / SPARSE_AUXILIARY as f64;
            let limit = libm::exp2(room.min(f64::from(self.prime_bits))) as u64;
            auxiliary = primes.below(limit, SPARSE_AUXILIARY)?;
        }
        auxiliary.extend(primes.below(limit, self.auxiliary - auxiliary.len())?);
        let full: Vec<_> = terminal.iter().rev().chain(&main).copied().collect();
        let digits = self.digits(&full, log2(&auxiliary));
        let log2_modulus = log2(&full) + log2(&auxiliary);
        let bootstrapping = self.bootstrapping.map(|b| {
            // The labels of section 8 of the scheme's description, as powers of two.
            let last = self.log2_scale - EVAL_MOD_BITS + f64::from(b.message_ratio);
            let groups = b.slots_to_coefficients as f64;
            let to_slots = 2.0 * main_bits + EVAL_MOD_BITS - 1.0 - 4.0 - log2_first;
            let between = (b.coefficients_to_slots.max(2) - 1) as f64;
            BootstrappingLiteral {
                message_ratio: i64::from(b.message_ratio),
                normal_levels: levels as i64,
                slots_to_coefficients: b.slots_to_coefficients as i64,
                coefficients_to_slots: b.coefficients_to_slots as i64,
                // As small as lets the last transform be encoded.
                coefficients_to_slots_shift: ((to_slots - PLAINTEXT_BITS) / between - 1e-3)
                    .ceil()
                    .max(0.0) as i64,
                // All transforms get about the same scale, the last one rather more.
                slots_to_coefficients_shift: match b.slots_to_coefficients_first {
                    true => 0,
                    false => (last / groups + 0.25).floor() as i64,
                },
                // A correction at the scale of messages wants a sine at that scale.
                eval_mod_scale: libm::exp2(match b.arcsine_levels {
                    levels if levels > 0 && b.slots_to_coefficients_first => {
                        (self.log2_scale + f64::from(b.message_ratio)).round()
                    }
                    _ => EVAL_MOD_BITS,
                }),
                interval: 16,
                double_angles: 3,
                sparse_weight: 32,
                arcsine_levels: (b.arcsine_levels > 0).then_some(b.arcsine_levels as i64),
                slots_to_coefficients_first: b.slots_to_coefficients_first.then_some(true),
                coefficients_to_slots_stages: None,
                coefficients_to_slots_shifts: None,
                first_transform_by_keys: None,
                invariant_sine: None,
                baby_steps: None,
            }
        });
        let literal = ParameterLiteral {
            name: self.name.clone(),
            description: Some(self.description.clone()),
            log2_degree: i64::from(self.log2_degree),
            scale: libm::exp2(self.log2_scale).round(),
            secret_weight: None,
            terminal,
            main,
            auxiliary,
            digits,
            states: plan.states.clone(),
            bootstrapping,
            encapsulation: None,
        };
        Ok((literal, log2_modulus))
    }

    /// Digits of at most as many primes as there are auxiliary ones, and so small that the noise
    /// of a key switch has less than a hundredth of the variance of its rounding; `None` where
    /// equal lengths are.
    fn digits(&self, full: &[i64], log2_p: f64) -> Option<Vec<i64>> {
        // N |D| (D/P)^2 3.19^2 / 12 a digit against (2N/3) / 12 / 100.
        let least = 0.5 * (150.0 * super::ERROR_DEVIATION * super::ERROR_DEVIATION).log2();
        let count = (full.len().div_ceil(self.auxiliary) + 1) as f64;
        let margin = least + 0.5 * (count * self.auxiliary as f64).log2();
        let (mut lens, mut size) = (vec![0], 0.0);
        for &p in full {
            let bits = (p as f64).log2();
            let len = lens.last_mut().expect("one at least");
            if *len == self.auxiliary as i64 || (*len > 0 && size + bits + margin > log2_p) {
                lens.push(1);
                size = bits;
            } else {
                *len += 1;
                size += bits;
            }
        }
        let most = self.auxiliary as i64;
        let is_default = lens[..lens.len() - 1].iter().all(|&len| len == most);
        (!is_default).then_some(lens)
    }
}
