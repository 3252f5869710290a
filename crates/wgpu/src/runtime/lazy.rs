//! Bounds of lazily reduced words, tracked while a kernel is generated.
//!
//! Every scalar that a butterfly touches has an exclusive upper bound. A reduction is emitted only
//! where the next operation would leave 32 bits, so a 27-bit prime gets a forward transform without
//! any reduction and a 31-bit prime one after every butterfly, from the same template. A bound that
//! cannot be kept is an error, never a wrong kernel.
//!
//! What is emitted names primes (`P_0`, and `LP_0` as a lazy word) and takes multiples of them;
//! numbers that come from a prime are constants of their own, which [`Lazy::constants`] declares.
//! So all primes that need the same reductions share the text around those declarations.

use crate::runtime::numbers::Numbers;
use std::collections::{BTreeMap, HashMap};

type Result<T> = std::result::Result<T, String>;

/// The tracker of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Lazy {
    /// The primes.
    primes: Vec<i128>,
    numbers: Numbers,
    bounds: HashMap<String, i128>,
    /// Constants that depend on the primes: what WGSL calls them, and their values in it.
    constants: BTreeMap<String, String>,
}

impl Lazy {
    pub fn new(primes: &[u32], numbers: Numbers) -> Self {
        Self {
            primes: primes.iter().map(|&p| i128::from(p)).collect(),
            numbers,
            bounds: HashMap::new(),
            constants: BTreeMap::new(),
        }
    }

    /// Declarations of all constants so far, a line each.
    pub fn constants(&self) -> String {
        self.constants.iter().map(|(name, value)| format!("const {name} = {value};\n")).collect()
    }

    /// Makes `name` a constant, with a value of WGSL that depends on the primes.
    pub fn constant(&mut self, name: &str, value: String) -> Result<()> {
        let kept = self.constants.entry(name.to_owned()).or_insert_with(|| value.clone());
        if *kept == value {
            Ok(())
        } else {
            Err(format!("{name} is {kept} already and cannot be {value}"))
        }
    }

    /// The constant that multiplies by `factor` modulo the prime of `word`, as a value of WGSL.
    pub fn twiddle(&self, word: usize, factor: i128) -> Result<String> {
        Ok(self.numbers.twiddle_text(self.prime(word)?, factor))
    }

    /// Declares the bound of `name`.
    pub fn set(&mut self, name: &str, bound: i128) -> Result<()> {
        if !(1..=self.numbers.cap()).contains(&bound) {
            return Err(format!(
                "the bound {bound} of {name} does not fit a word, which takes {}",
                self.numbers.cap()
            ));
        }
        self.bounds.insert(name.to_string(), bound);
        Ok(())
    }

    /// Declares that the factors of the sum `name` have bounds that add up to `total`.
    pub fn set_total(&mut self, name: &str, total: i128) {
        self.bounds.insert(name.to_string(), total);
    }

    /// The bound of `name`, or the largest of the registers `name_0`, `name_1`, ..
    pub fn get(&self, name: &str) -> Result<i128> {
        let largest = || self.registers(name).map(|(_, bound)| *bound).max();
        let known = self.bounds.get(name).copied().or_else(largest);
        known.ok_or(format!("no bound is known of {name}"))
    }

    /// What is known of the registers `name_0`, `name_1`, ..: numbers behind the name.
    fn registers(&self, name: &str) -> impl Iterator<Item = (&String, &i128)> {
        self.bounds.iter().filter(move |(register, _)| {
            let numbers = register.strip_prefix(name).and_then(|rest| rest.strip_prefix('_'));
            numbers.is_some_and(|n| n.chars().all(|c| c.is_ascii_digit() || c == '_'))
        })
    }

    /// After an exchange any of the registers `name_0`, `name_1`, .. may hold what any other held:
    /// all get the largest bound.
    pub fn join(&mut self, name: &str) -> Result<()> {
        let largest = self.get(name)?;
        let all: Vec<String> = self.registers(name).map(|(register, _)| register.clone()).collect();
        all.iter().try_for_each(|register| self.set(register, largest))
    }

    /// Declares that the array `name` may hold what `variable` holds.
    pub fn may_hold(&mut self, name: &str, variable: &str) -> Result<()> {
        let before = self.bounds.get(name).copied().unwrap_or(1);
        self.set(name, before.max(self.get(variable)?))
    }

    fn prime(&self, word: usize) -> Result<i128> {
        self.primes.get(word).copied().ok_or(format!("no word {word}"))
    }

    /// Conditional subtractions that bring an unsigned value below `from` under `limit`, as
    /// (how many times p, bound after it).
    fn subtractions(p: i128, from: i128, limit: i128) -> Vec<(i128, i128)> {
        let mut steps = Vec::new();
        let mut bound = from;
        while bound > limit {
            // x or x - m, whichever is smaller as unsigned words: below m if x < m, else below
            // bound - m.
            let times = (bound + 2 * p - 1) / (2 * p);
            bound = (times * p).max(bound - times * p);
            steps.push((times, bound));
        }
        steps
    }

    /// WGSL that brings `name` under `limit`, which is at least [`Numbers::least`].
    pub fn reduce(&mut self, word: usize, name: &str, limit: i128) -> Result<String> {
        let p = self.prime(word)?;
        let least = self.numbers.least(p);
        if limit < least && self.get(name)? > limit {
            return Err(format!("nothing reduces {name} modulo p = {p} to {limit}"));
        }
        if self.numbers.signed() {
            self.reduce_signed(word, name, limit)
        } else {
            self.reduce_unsigned(word, name, limit)
        }
    }

    fn reduce_unsigned(&mut self, word: usize, name: &str, limit: i128) -> Result<String> {
        let p = self.prime(word)?;
        let mut bound = self.get(name)?;
        let mut text = String::new();
        let mut steps = Self::subtractions(p, bound, limit);
        let product = self.numbers.product_bound(p, bound);
        // A product by one costs about as much as two subtractions with 64-bit products,
        // as six without.
        if steps.len() > if product == 2 * p { 3 } else { 7 } {
            text += &format!("{name} = shoup({name}, ONE_{word}, LP_{word});\n");
            bound = product;
            steps = Self::subtractions(p, bound, limit);
        }
        for (times, after) in steps {
            text += &format!("{name} = min({name}, {name} - {times}u * P_{word});\n");
            bound = after;
        }
        self.set(name, bound)?;
        Ok(text)
    }

    /// Subtracts the nearest multiple of p, or nearly: `x - q p` with q = x / p rounded, from the
    /// top bits of x.
    fn reduce_signed(&mut self, word: usize, name: &str, limit: i128) -> Result<String> {
        let p = self.prime(word)?;
        let mut text = String::new();
        while self.get(name)? > limit {
            let bound = self.get(name)?;
            let bits = 128 - (p - 1).leading_zeros();
            let (power, excess) = (1 << bits, (1 << bits) - p);
            // x = q 2^bits + rest, |rest| <= 2^(bits - 1): x - q p = rest + q (2^bits - p).
            let after = power / 2 + (bound / power + 1) * excess;
            // Or (x >> low) 2^(low + shift) / p, rounded, with 17 bits of x and 14 of the factor:
            // both errors count.
            let low = (112 - bound.leading_zeros() as i128).max(0);
            let shift = i128::from(bits) + 13 - low;
            let factor = ((2 << (low + shift)) + p) / (2 * p);
            let scaled = p / 2 + (1 << low) + p * ((bound >> low) + 1) / (2 << shift) + 1;
            let before = text.len();
            if after <= limit || after <= scaled {
                text += &format!(
                    "{name} = {name} - (({name} + {}) >> {bits}u) * LP_{word};\n",
                    power / 2
                );
                self.set(name, after)?;
            } else {
                let reciprocal = format!("RECIPROCAL_{word}_{}", low + shift);
                self.constant(&reciprocal, factor.to_string())?;
                text += &format!(
                    "{name} = {name} - ((({name} >> {low}u) * {reciprocal} + {}) >> {shift}u) * \
                     LP_{word};\n",
                    1i128 << (shift - 1)
                );
                self.set(name, scaled)?;
            }
            if self.get(name)? >= bound || text.len() == before {
                return Err(format!(
                    "nothing reduces {name} modulo p = {p} from {bound} to {limit}"
                ));
            }
        }
        Ok(text)
    }

    /// WGSL that makes `name` the residue in `[0, p)`.
    pub fn canonical(&mut self, word: usize, name: &str) -> Result<String> {
        let p = self.prime(word)?;
        if !self.numbers.signed() {
            return self.reduce(word, name, p);
        }
        let mut text = self.reduce(word, name, p - 1)?;
        // As unsigned words, x + p is the smaller one exactly if x is negative.
        text += &format!("{name} = i32(min(u32({name}), u32({name} + LP_{word})));\n");
        self.set(name, p)?;
        Ok(text)
    }

    /// Cooley-Tukey: `(u, v) = (u + w v, u - w v)`, lazily.
    pub fn forward(&mut self, word: usize, u: &str, v: &str, w: &str) -> Result<String> {
        let p = self.prime(word)?;
        let from = self.get(v)?;
        let mut term = self.numbers.product_bound(p, from);
        let cap = self.numbers.cap();
        let mut text = String::new();
        if self.numbers.signed() {
            text += &self.reduce(word, u, cap - term)?;
            let quotient = if self.numbers.is_small(from) { "quotient_small" } else { "quotient" };
            // The sum first: its products and u make one chain of multiply-adds, and 2u - sum is
            // one addition.
            text += &format!(
                "{{ let sum = {u} + {v} * {w}.x - {quotient}({v}, {w}) * LP_{word}; {v} = {u} + \
                 {u} - sum; {u} = sum; }}\n"
            );
        } else {
            let mut shrink = String::new();
            if self.get(u)? + term > cap {
                if p + term > cap {
                    // Even a reduced u leaves no room for a lazy product: reduce that too.
                    self.set("product", term)?;
                    shrink = self.reduce(word, "product", p)?;
                    term = p;
                }
                text += &self.reduce(word, u, cap - term)?;
            }
            let declare = if shrink.is_empty() { "let" } else { "var" };
            let times = term / p;
            text += &format!(
                "{{ {declare} product = shoup({v}, {w}, LP_{word}); {shrink}{v} = {u} + {times}u * \
                 P_{word} - product; {u} = {u} + product; }}\n"
            );
        }
        let bound = self.get(u)? + term;
        self.set(u, bound)?;
        self.set(v, bound)?;
        Ok(text)
    }

    /// Gentleman-Sande: `(u, v) = (u + v, (u - v) w)`, lazily.
    pub fn inverse(&mut self, word: usize, u: &str, v: &str, w: &str) -> Result<String> {
        let p = self.prime(word)?;
        let cap = self.numbers.cap();
        // An unsigned difference is kept positive by a multiple of p.
        let signed = self.numbers.signed();
        let above = move |bound: i128| if signed { bound } else { (bound + p - 1) / p * p };
        let mut text = String::new();
        let (mut bu, mut bv) = (self.get(u)?, self.get(v)?);
        while bu + above(bv) > cap {
            let name = if bu > bv { u } else { v };
            let half = if signed { cap / 2 } else { (above(bu.max(bv)) / p + 1) / 2 * p };
            text += &self.reduce(word, name, half)?;
            (bu, bv) = (self.get(u)?, self.get(v)?);
        }
        let offset =
            if signed { String::new() } else { format!(" + {}u * P_{word}", above(bv) / p) };
        text += &format!(
            "{{ let difference = {u}{offset} - {v}; {u} = {u} + {v}; {v} = shoup(difference, {w}, \
             LP_{word}); }}\n"
        );
        self.set(u, bu + bv)?;
        let product = self.numbers.product_bound(p, bu + above(bv));
        // A lazy product may exceed 32 bits' worth of p only for p >= 2^30 in the profile with the
        // coarse estimate.
        if product > cap {
            return Err(format!("p = {p} is too large for lazy products below {product}"));
        }
        self.set(v, product)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
