//! From a literal to a checked set.

use super::bootstrapping::{BootstrappingParameters, SPARSE_AUXILIARY};
use super::encapsulation::Encapsulation;
use super::scales::Scales;
use super::security::{self, INVARIANT_LOG2_MODULUS, SPARSE_LOG2_MODULUS};
use super::{
    BootstrappingLiteral, ChainParts, CkksParameters, INSECURE, Inner, ModulusChain,
    ParameterLiteral, State,
};
use crate::{Error, Result};
use std::sync::Arc;

/// A field in a range.
fn within(field: &'static str, value: i64, low: i64, high: i64) -> Result<i64> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(Error::parameter(field, value, format!("must be in {low}..={high}")))
}

/// A scale in a range of powers of two.
fn scale_within(field: &'static str, value: f64, low: i32, high: i32) -> Result<f64> {
    if (2f64.powi(low)..=2f64.powi(high)).contains(&value) {
        return Ok(value);
    }
    Err(Error::parameter(field, value, format!("must be in 2^{low}..=2^{high}")))
}

/// Primes of a file, as words.
fn words(field: &'static str, values: &[i64]) -> Result<Vec<u32>> {
    let word = |&p: &i64| {
        let rule = "primes must lie between 2^19 and 2^31";
        u32::try_from(p).map_err(|_| Error::parameter(field, p, rule))
    };
    values.iter().map(word).collect()
}

/// Small counts of a file.
fn counts(field: &'static str, values: &[i64]) -> Result<Vec<usize>> {
    values.iter().map(|&v| within(field, v, 0, 256).map(|v| v as usize)).collect()
}

pub(super) fn checked(literal: &ParameterLiteral) -> Result<CkksParameters> {
    check_name(&literal.name)?;
    let description = literal.description.clone().unwrap_or_else(|| "a custom set".into());
    if description.len() > 300 || description.contains(char::is_control) {
        let rule = "must be one line of at most 300 bytes";
        return Err(Error::parameter("description", format!("{description:.20?}.."), rule));
    }
    let log2_degree = within("log2_degree", literal.log2_degree, 4, 17)? as u32;
    let scale = scale_within("scale", literal.scale, 20, 60)?;
    let most = 1i64 << log2_degree;
    let weight = literal.secret_weight.map(|w| within("secret_weight", w, 1, most)).transpose()?;
    let states = literal.states.iter().map(|pair| {
        let [main, terminal] = pair.map(|count| within("states", count, 0, 256));
        Ok(State { main: main? as usize, terminal: terminal? as usize })
    });
    let chain = ModulusChain::new(ChainParts {
        log2_degree,
        terminal: &words("terminal", &literal.terminal)?,
        main: &words("main", &literal.main)?,
        auxiliary: &words("auxiliary", &literal.auxiliary)?,
        states: &states.collect::<Result<Vec<_>>>()?,
        digits: &literal.digits.as_deref().map_or(Ok(Vec::new()), |d| counts("digits", d))?,
    })?;
    let bootstrapping =
        literal.bootstrapping.as_ref().map(|b| bootstrapping(b, &chain)).transpose()?;
    let encapsulation = literal.encapsulation.as_ref();
    let encapsulation = encapsulation.map(|e| Encapsulation::checked(e, &chain)).transpose()?;
    if bootstrapping.is_some() && encapsulation.is_some() {
        let rule = "a bootstrapping has a sparse secret of its own: leave one of both out";
        return Err(Error::parameter("encapsulation", "given", rule));
    }
    let bootstrapping_ref = bootstrapping.as_ref();
    let last =
        bootstrapping_ref.map_or(chain.top_level(), BootstrappingParameters::eval_mod_output_level);
    let eval_mod = bootstrapping_ref
        .map(|b| (b.eval_mod_output_level(), b.eval_mod_scale, b.eval_mod_level()));
    let first = encapsulation.as_ref().map_or(0, Encapsulation::data_level);
    let scales = Scales::new(&chain, scale, first..=last, eval_mod);
    let set = CkksParameters(Arc::new(Inner {
        name: literal.name.clone(),
        description,
        chain,
        scale,
        secret_weight: weight.map(|w| w as usize),
        bootstrapping,
        encapsulation,
        scales,
    }));
    check_levels(&set)?;
    check_digits(&set)?;
    check_message(&set)?;
    check_security(&set)?;
    Ok(set)
}

fn check_name(name: &str) -> Result<()> {
    let valid = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
    if !name.is_empty() && name.len() <= 64 && name.chars().all(valid) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    let rule = "must be 1 to 64 letters, digits and `_`, `-`, `+`, `.`";
    Err(Error::parameter("name", format!("{shown:?}"), rule))
}

fn bootstrapping(
    literal: &BootstrappingLiteral,
    chain: &ModulusChain,
) -> Result<BootstrappingParameters> {
    let transforms = |field, value| within(field, value, 1, 8).map(|v| v as usize);
    let shift = |field, value| within(field, value, -30, 30).map(|v| v as i32);
    let arcsine_levels = literal.arcsine_levels.unwrap_or(0);
    if ![0, 2, 3].contains(&arcsine_levels) {
        let rule = "must be 0 (none), 2 (degree 3) or 3 (degree 5)";
        return Err(Error::parameter("arcsine_levels", arcsine_levels, rule));
    }
    let found = BootstrappingParameters {
        message_ratio: within("message_ratio", literal.message_ratio, 5, 30)? as u32,
        normal: within("normal_levels", literal.normal_levels, 1, 128)? as usize,
        to_coefficients: transforms("slots_to_coefficients", literal.slots_to_coefficients)?,
        to_slots: transforms("coefficients_to_slots", literal.coefficients_to_slots)?,
        to_slots_shift: shift("coefficients_to_slots_shift", literal.coefficients_to_slots_shift)?,
        to_coefficients_shift: shift(
            "slots_to_coefficients_shift",
            literal.slots_to_coefficients_shift,
        )?,
        eval_mod_scale: scale_within("eval_mod_scale", literal.eval_mod_scale, 40, 62)?,
        // The cosine's coefficients were fitted to these.
        interval: within("interval", literal.interval, 16, 16)? as u32,
        double_angles: within("double_angles", literal.double_angles, 3, 3)? as usize,
        sparse_weight: within("sparse_weight", literal.sparse_weight, 1, chain.degree() as i64)?
            as usize,
        arcsine_levels: arcsine_levels as usize,
        slots_first: literal.slots_to_coefficients_first.unwrap_or(false),
        invariant_sine: literal.invariant_sine.unwrap_or(false),
        to_slots_stages: stages(literal, chain)?,
        to_slots_shifts: shifts(literal)?,
        first_by_keys: literal.first_transform_by_keys.unwrap_or(false),
        baby_steps: baby_steps(literal)?,
    };
    if found.first_by_keys && found.to_slots < 2 {
        let rule = "must be 2 or more: where the first is done by keys, another ends the way";
        return Err(Error::parameter("coefficients_to_slots", found.to_slots, rule));
    }
    if found.slots_first && found.normal <= found.to_coefficients {
        let rule = format!(
            "must exceed {}: slots-to-coefficients comes first and takes the lowest levels",
            found.to_coefficients
        );
        return Err(Error::parameter("normal_levels", found.normal, rule));
    }
    if found.invariant_sine {
        check_invariant(&found, chain)?;
    }
    if found.top_level() != chain.top_level() {
        let rule = format!(
            "normal, slots-to-coefficients, modular reduction and coefficients-to-slots take \
             levels up to {}, so there must be {} states",
            found.top_level(),
            found.top_level() + 1
        );
        return Err(Error::parameter("states", chain.states().len(), rule));
    }
    if chain.base(chain.top_level()) != (0..chain.full_len()) {
        let State { main, terminal } = chain.states()[chain.top_level()];
        let (m, k) = (chain.main_len(), chain.terminal_len());
        let rule = format!("the top level of a bootstrapping must use all primes, [{m}, {k}]");
        return Err(Error::parameter("states", format!("[{main}, {terminal}]"), rule));
    }
    if chain.auxiliary_len() < SPARSE_AUXILIARY {
        let rule = format!("a bootstrapping needs at least {SPARSE_AUXILIARY} of them");
        return Err(Error::parameter("auxiliary", chain.auxiliary_len(), rule));
    }
    Ok(found)
}

/// What both sines in one need of a set.
fn check_invariant(found: &BootstrappingParameters, chain: &ModulusChain) -> Result<()> {
    if !found.slots_first || found.arcsine_levels == 0 {
        let rule = "both sines are one only with slots-to-coefficients first and an arcsine";
        return Err(Error::parameter("invariant_sine", true, rule));
    }
    let order = 4 * chain.degree() as u32;
    match chain.moduli().iter().find(|p| p.value() % order != 1) {
        Some(p) => {
            let rule = format!(
                "with invariant_sine primes are 1 modulo 4N = {order}: they serve a second ring"
            );
            Err(Error::parameter("main, terminal or auxiliary", p.value(), rule))
        }
        None => Ok(()),
    }
}

/// The listed stages of the transforms to slots.
fn stages(literal: &BootstrappingLiteral, chain: &ModulusChain) -> Result<Vec<usize>> {
    let field = "coefficients_to_slots_stages";
    let listed = literal.coefficients_to_slots_stages.as_deref().unwrap_or(&[]);
    // 2^8 keys of a first transform take gigabytes.
    let listed: Vec<usize> = listed
        .iter()
        .map(|&s| within(field, s, 1, 8).map(|s| s as usize))
        .collect::<Result<_>>()?;
    let (count, sum) = (literal.coefficients_to_slots, chain.log2_degree() as usize - 1);
    if !listed.is_empty() && (listed.len() as i64 != count || listed.iter().sum::<usize>() != sum) {
        let rule = format!("must be {count} numbers, one a transform, with the sum {sum}");
        return Err(Error::parameter(field, format!("{listed:?}"), rule));
    }
    Ok(listed)
}

/// The listed factors of labels between the transforms to slots.
fn shifts(literal: &BootstrappingLiteral) -> Result<Vec<i32>> {
    let field = "coefficients_to_slots_shifts";
    let Some(listed) = &literal.coefficients_to_slots_shifts else { return Ok(Vec::new()) };
    let count = literal.coefficients_to_slots - 1;
    if listed.len() as i64 != count || listed.is_empty() {
        let rule = format!("must be {count} numbers, one after each transform but the last");
        return Err(Error::parameter(field, format!("{listed:?}"), rule));
    }
    if literal.coefficients_to_slots_shift != 0 {
        let rule = "must be 0 where coefficients_to_slots_shifts says it for each transform";
        let value = literal.coefficients_to_slots_shift;
        return Err(Error::parameter("coefficients_to_slots_shift", value, rule));
    }
    listed.iter().map(|&shift| within(field, shift, -30, 30).map(|s| s as i32)).collect()
}

/// The listed numbers of baby steps.
fn baby_steps(literal: &BootstrappingLiteral) -> Result<Vec<(usize, usize)>> {
    let field = "baby_steps";
    let listed = literal.baby_steps.as_deref().unwrap_or(&[]);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for &[diagonals, steps] in listed {
        let diagonals = within(field, diagonals, 1, 1024)? as usize;
        let steps = within(field, steps, 1, 1024)? as usize;
        if !steps.is_power_of_two() || found.iter().any(|(other, _)| *other == diagonals) {
            let rule = "must be a power of two for each number of diagonals, each listed once";
            return Err(Error::parameter(field, format!("[{diagonals}, {steps}]"), rule));
        }
        found.push((diagonals, steps));
    }
    Ok(found)
}

/// Ratios of levels must be near the scale that products have there.
fn check_levels(set: &CkksParameters) -> Result<()> {
    let chain = set.chain();
    for level in 1..=chain.top_level() {
        let scale = match set.bootstrapping() {
            Some(b) if level > b.eval_mod_level() => continue,
            // Scales of the reduction contract to what its levels drop; its lowest is set freely
            // where a correction follows that works at the scale of messages.
            Some(b) if level > b.eval_mod_output_level() && b.slots_first => {
                set.rescale_ratio(b.eval_mod_level())
            }
            Some(b) if level > b.eval_mod_output_level() => b.eval_mod_scale,
            _ => set.0.scale,
        };
        let (drop, want) = (set.rescale_ratio(level).log2(), scale.log2());
        // A level of the reduction may be larger, which takes bits and does no harm: its scale
        // grows by half of that.
        let reduces = set.bootstrapping().is_some_and(|b| level > b.eval_mod_output_level());
        let above = if reduces { 2.0 } else { 0.5 };
        if drop - want >= above || want - drop >= 0.5 {
            let rule = format!(
                "level {level} must be larger than the one below by a factor within 2^0.5 of the \
                 scale 2^{want:.2}, or 2^2 above it in the modular reduction"
            );
            return Err(Error::parameter("states", format!("a factor 2^{drop:.2}"), rule));
        }
    }
    Ok(())
}

/// The noise of a key switch must stay below that of its rounding.
fn check_digits(set: &CkksParameters) -> Result<()> {
    let chain = set.chain();
    let log2_p = chain.log2_product(chain.auxiliary());
    let count = chain.digits().len() as f64;
    for (i, digit) in chain.digits().iter().enumerate() {
        let size = chain.log2_product(digit.clone());
        let needed = 2.0 + 0.5 * (count * digit.len() as f64).log2() + size;
        if needed >= log2_p {
            let rule = format!(
                "digit {i} needs auxiliary primes with a product above 2^{needed:.2} for the noise \
                 of key switches to stay below their rounding"
            );
            return Err(Error::parameter("auxiliary", format!("a product 2^{log2_p:.2}"), rule));
        }
    }
    Ok(())
}

/// Messages must fit level 0, and bootstrapping needs room above them.
fn check_message(set: &CkksParameters) -> Result<()> {
    let chain = set.chain();
    let room = chain.log2_product(chain.base(0)) - set.0.scale.log2();
    if set.encapsulation().is_some() {
        // No message stands at level 0 at that scale.
        return Ok(());
    }
    if room < 2.0 {
        let rule = "the modulus of level 0 must be at least four times the scale";
        return Err(Error::parameter("scale", set.0.scale, rule));
    }
    if let Some(b) = set.bootstrapping()
        && !set.message_ratios().contains(&b.message_ratio)
    {
        let rule = format!(
            "the modulus of level 0 is 2^{room:.2} times the scale, and must be at least 2^{} \
             times it",
            b.message_ratio
        );
        return Err(Error::parameter("message_ratio", b.message_ratio, rule));
    }
    Ok(())
}

/// Sets that are not named insecure must lie within what is known to be safe.
fn check_security(set: &CkksParameters) -> Result<()> {
    if set.is_insecure() {
        return Ok(());
    }
    let chain = set.chain();
    let rename = format!("or the name must begin with {INSECURE}");
    let log2_degree = chain.log2_degree();
    let Some(most) = security::largest_log2_modulus(log2_degree) else {
        let rule = format!("must be in 10..=17 for security, {rename}");
        return Err(Error::parameter("log2_degree", log2_degree, rule));
    };
    let log2_modulus = set.log2_modulus();
    if log2_modulus > most {
        let rule = format!(
            "all primes together may have {most} bits at N = 2^{log2_degree} for 128 bits of \
             security, {rename}"
        );
        return Err(Error::parameter("main", format!("{log2_modulus:.2} bits"), rule));
    }
    if let Some(own) = set.encapsulation() {
        return check_encapsulation(set, own, &rename);
    }
    if let Some(weight) = set.secret_weight() {
        let rule = format!("security is known for uniform ternary secrets: leave it out, {rename}");
        return Err(Error::parameter("secret_weight", weight, rule));
    }
    if let Some(b) = set.bootstrapping() {
        let sparse = security::sparse_log2_modulus(set);
        if log2_degree < 16 {
            let rule = format!("sparse secrets are safe from N = 2^16 on, {rename}");
            return Err(Error::parameter("log2_degree", log2_degree, rule));
        }
        if b.sparse_weight < 32 {
            let rule = format!("must be at least 32, {rename}");
            return Err(Error::parameter("sparse_weight", b.sparse_weight, rule));
        }
        if b.invariant_sine && (log2_degree != 16 || log2_modulus > INVARIANT_LOG2_MODULUS) {
            let rule = format!(
                "with invariant_sine all primes together may have {INVARIANT_LOG2_MODULUS} bits, \
                 at N = 2^16 alone, for 128 bits of security of the third secret, {rename}"
            );
            let found = format!("{log2_modulus:.2} bits at N = 2^{log2_degree}");
            return Err(Error::parameter("invariant_sine", found, rule));
        }
        if sparse > SPARSE_LOG2_MODULUS {
            let rule = format!(
                "with the first two auxiliary primes the modulus of level 0 may have \
                 {SPARSE_LOG2_MODULUS} bits under the sparse secret, {rename}"
            );
            return Err(Error::parameter("states", format!("{sparse:.2} bits"), rule));
        }
    }
    Ok(())
}

/// A set with an encapsulation: bounds for its two secrets that hold by the project's estimator.
fn check_encapsulation(set: &CkksParameters, own: &Encapsulation, rename: &str) -> Result<()> {
    let chain = set.chain();
    if chain.log2_degree() < 15 {
        let rule = format!("sparse secrets under one prime are safe from N = 2^15 on, {rename}");
        return Err(Error::parameter("log2_degree", chain.log2_degree(), rule));
    }
    if own.sparse_weight() < security::LEAST_SPARSE_WEIGHT {
        let least = security::LEAST_SPARSE_WEIGHT;
        let rule = format!("must be at least {least} at N = 2^15, {rename}");
        return Err(Error::parameter("sparse_weight", own.sparse_weight(), rule));
    }
    let sparse = security::sparse_log2_modulus(set);
    if sparse > security::ONE_PRIME_LOG2_MODULUS {
        let most = security::ONE_PRIME_LOG2_MODULUS;
        let rule = format!(
            "the modulus of level 0 and the auxiliary primes beside it may have {most} bits under \
             the sparse secret, {rename}"
        );
        return Err(Error::parameter("states", format!("{sparse:.2} bits"), rule));
    }
    let weight = set.secret_weight();
    let least = security::LEAST_WEIGHT;
    if let Some(weight) = weight.filter(|weight| *weight < least) {
        let rule = format!("must be at least {least}, or left out (uniform ternary), {rename}");
        return Err(Error::parameter("secret_weight", weight, rule));
    }
    let log2_modulus = set.log2_modulus();
    let most = security::flat_log2_modulus(weight, own.log2_draws());
    if log2_modulus > most {
        let of = match weight {
            Some(_) => format!("of weight {least} or more"),
            None => "uniform ternary and".into(),
        };
        let rule = format!(
            "all primes together may have {most:.1} bits for 128 bits of security under a secret \
             {of} drawn until no square of a slot exceeds {} times the mean: take fewer primes or \
             a larger flatness, {rename}",
            own.flatness()
        );
        return Err(Error::parameter("main", format!("{log2_modulus:.2} bits"), rule));
    }
    Ok(())
}
