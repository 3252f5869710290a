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

    /// Makes `name` the constant that multiplies by `factor` modulo the prime of `word`.
    pub fn twiddle(&mut self, name: &str, word: usize, factor: i128) -> Result<()> {
        let text = self.numbers.twiddle_text(self.prime(word)?, factor);
        self.constant(name, text)
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

    /// The bound of `name`.
    pub fn get(&self, name: &str) -> Result<i128> {
        self.bounds.get(name).copied().ok_or(format!("no bound is known of {name}"))
    }

    /// After an exchange any of `names` may hold what any other held: all get the largest bound.
    pub fn join(&mut self, names: &[&str]) -> Result<()> {
        let largest = names
            .iter()
            .map(|n| self.get(n))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .max()
            .ok_or("no names")?;
        names.iter().try_for_each(|n| self.set(n, largest))
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
mod tests {
    use super::*;

    #[test]
    fn a_27_bit_prime_needs_no_reduction_in_ten_forward_stages_and_a_31_bit_prime_does() {
        for (p, free) in [(134_215_681, true), (2_147_473_409, false)] {
            let mut lazy = Lazy::new(&[p], Numbers::Unsigned { coarse: false });
            lazy.set("u", i128::from(p)).expect("fits");
            lazy.set("v", i128::from(p)).expect("fits");
            let text: String =
                (0..10).map(|_| lazy.forward(0, "u", "v", "w").expect("kept")).collect();
            assert_eq!(!text.contains("min("), free, "p = {p}:\n{text}");
            assert!(
                lazy.get("u").expect("known") <= 1 << 32
                    && lazy.get("v").expect("known") <= 1 << 32
            );
        }
    }

    /// Runs what was emitted for reductions on the extremes of the bound and on random values.
    #[test]
    fn emitted_reductions_keep_values_and_reach_their_limit() {
        for p in [12_289u32, 134_215_681, 2_147_473_409] {
            for coarse in [false, true] {
                for limit in [i128::from(p), 2 * i128::from(p)] {
                    let mut lazy = Lazy::new(&[p], Numbers::Unsigned { coarse });
                    lazy.set("x", 1 << 32).expect("fits");
                    let text = lazy.reduce(0, "x", limit).expect("reducible");
                    for start in [0, 1, p - 1, p, 2 * p - 1, u32::MAX, u32::MAX / 3, 0x9e37_79b9] {
                        let x = text.lines().fold(start, |x, line| run(line, x, p, coarse));
                        assert!(i128::from(x) < limit, "p = {p}, from {start}: {x}\n{text}");
                        assert_eq!(x % p, start % p, "p = {p}, from {start}\n{text}");
                    }
                }
            }
        }
    }

    /// The two statements that `reduce` emits.
    fn run(line: &str, x: u32, p: u32, coarse: bool) -> u32 {
        if line.contains("shoup") {
            // The coarse estimate of the core profile may be up to 3 too small.
            let less = if coarse { 2 } else { 0 };
            let quotient =
                ((u64::from(x) * ((1u64 << 32) / u64::from(p))) >> 32).saturating_sub(less) as u32;
            return x - quotient * p;
        }
        let times: u32 = line
            .rsplit("- ")
            .next()
            .and_then(|t| t.strip_suffix("u * P_0);"))
            .and_then(|t| t.parse().ok())
            .expect("a subtraction");
        x.min(x.wrapping_sub(times * p))
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let mut lazy = Lazy::new(&[97], Numbers::Unsigned { coarse: false });
        assert!(lazy.set("x", (1 << 32) + 1).is_err());
        assert!(lazy.get("y").is_err());
        lazy.set("x", 500).expect("fits");
        assert!(lazy.reduce(0, "x", 96).is_err());
        assert!(lazy.reduce(1, "x", 97).is_err());
    }

    /// Runs what was emitted for signed reductions, in checked arithmetic.
    #[test]
    fn signed_reductions_keep_values_and_reach_their_limit() {
        for p in [12_289i64, 188_417, 3_425_281, 28_241_921, 134_215_681, 201_326_593] {
            for (start_bound, limit) in [
                ((1 << 31) - (1 << 27), 17 * p / 32),
                (3 * p, 17 * p / 32),
                ((1 << 31) - (1 << 27), p - 1),
                (9 * p, 2 * p),
            ] {
                let mut lazy = Lazy::new(&[p as u32], Numbers::SignedLimbs);
                let start_bound = i128::from(start_bound).min((1 << 31) - (1 << 27));
                lazy.set("x", start_bound).expect("fits");
                let text = lazy.reduce(0, "x", i128::from(limit)).expect("reducible");
                let text = with_constants(&text, &lazy.constants());
                let end_bound = lazy.get("x").expect("known");
                assert!(end_bound <= i128::from(limit));
                for i in 0..400i128 {
                    let start = (start_bound * (i - 200) / 200) as i64;
                    let end = text.lines().fold(start, |x, line| run_signed(line, x, p));
                    assert!(
                        i128::from(end.abs()) <= end_bound,
                        "p = {p}, from {start}: {end}\n{text}"
                    );
                    assert_eq!(
                        end.rem_euclid(p),
                        start.rem_euclid(p),
                        "p = {p}, from {start}\n{text}"
                    );
                }
            }
        }
    }

    /// `text` with values in the place of declared constants.
    fn with_constants(text: &str, constants: &str) -> String {
        let declared = constants
            .lines()
            .filter_map(|line| line.strip_prefix("const ")?.strip_suffix(';')?.split_once(" = "));
        declared.fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// What ten stages and back emit modulo `p`, with a reduction at the end.
    fn stages(p: u32, numbers: Numbers) -> String {
        let mut lazy = Lazy::new(&[p], numbers);
        let reduced = numbers.least(i128::from(p));
        lazy.set("u", reduced).expect("fits");
        lazy.set("v", reduced).expect("fits");
        let mut text = String::new();
        for _ in 0..10 {
            text += &lazy.forward(0, "u", "v", "w").expect("kept");
        }
        for name in ["u", "v"] {
            text += &lazy.reduce(0, name, reduced).expect("reducible");
        }
        for _ in 0..10 {
            text += &lazy.inverse(0, "u", "v", "w").expect("kept");
        }
        text
    }

    #[test]
    fn primes_of_one_class_share_their_text() {
        let unsigned = Numbers::Unsigned { coarse: false };
        for (numbers, one, other) in [
            // Of 31, 30 and 27 bits.
            (unsigned, 2_147_473_409, 2_147_389_441),
            (unsigned, 1_073_692_673, 1_073_668_097),
            (unsigned, 134_215_681, 134_176_769),
            (Numbers::Unsigned { coarse: true }, 1_073_692_673, 1_073_668_097),
            (Numbers::SignedWide, 134_215_681, 134_176_769),
            (Numbers::SignedLimbs, 134_215_681, 134_176_769),
        ] {
            let text = stages(one, numbers);
            assert_eq!(text, stages(other, numbers), "{one} and {other}");
            assert!(!text.contains(&one.to_string()), "{text}");
        }
        let (narrow, wide) = (stages(134_215_681, unsigned), stages(2_147_473_409, unsigned));
        assert_ne!(narrow, wide, "a 31-bit prime needs more reductions");
    }

    #[test]
    fn a_constant_has_one_value() {
        let mut lazy = Lazy::new(&[97], Numbers::Unsigned { coarse: false });
        lazy.twiddle("ROOT", 0, 5).expect("new");
        lazy.twiddle("ROOT", 0, 5).expect("the same");
        assert!(lazy.twiddle("ROOT", 0, 6).is_err());
        assert_eq!(
            lazy.constants(),
            format!("const ROOT = vec2<u32>(5u, {}u);\n", (5u64 << 32) / 97)
        );
    }

    /// The two statements that signed reductions emit.
    fn run_signed(line: &str, x: i64, p: i64) -> i64 {
        let numbers: Vec<i64> =
            line.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        let quotient = match numbers[..] {
            [half, bits, 0] => (x + half) >> bits,
            [low, factor, half, shift, 0] => {
                let sum = (x >> low) * factor + half;
                assert!(i32::try_from(sum).is_ok(), "{line}: {sum}");
                sum >> shift
            }
            _ => panic!("{line}"),
        };
        x - quotient * p
    }
}
