//! Bounds of lazily reduced words, tracked while a kernel is generated.
//!
//! Every scalar that a butterfly touches has an exclusive upper bound. A reduction is emitted only where the next
//! operation would leave 32 bits, so a 27-bit prime gets a forward transform without any reduction and a 31-bit prime
//! one after every butterfly, from the same template. A bound that cannot be kept is an error, never a wrong kernel.

use std::collections::HashMap;

type Result<T> = std::result::Result<T, String>;

/// Values of 32-bit words are below this.
const WORD: i128 = 1 << 32;

/// The tracker of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Lazy {
    /// The primes.
    primes: Vec<i128>,
    /// A lazy Shoup product is below `product * p`: 2 with a full high product, 4 where its lowest part is left out.
    product: i128,
    bounds: HashMap<String, i128>,
}

impl Lazy {
    pub fn new(primes: &[u32], product: u32) -> Self {
        Self { primes: primes.iter().map(|&p| i128::from(p)).collect(), product: i128::from(product), bounds: HashMap::new() }
    }

    /// Declares that `name` is below `bound`.
    pub fn set(&mut self, name: &str, bound: i128) -> Result<()> {
        if !(1..=WORD).contains(&bound) {
            return Err(format!("the bound {bound} of {name} does not fit 32 bits"));
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
        let largest = names.iter().map(|n| self.get(n)).collect::<Result<Vec<_>>>()?.into_iter().max().ok_or("no names")?;
        names.iter().try_for_each(|n| self.set(n, largest))
    }

    fn prime(&self, word: usize) -> Result<i128> {
        self.primes.get(word).copied().ok_or(format!("no word {word}"))
    }

    /// Conditional subtractions that bring a value below `from` under `limit`, as (multiple, bound after it).
    fn subtractions(p: i128, from: i128, limit: i128) -> Vec<(i128, i128)> {
        let mut steps = Vec::new();
        let mut bound = from;
        while bound > limit {
            // x or x - m, whichever is smaller as unsigned words: below m if x < m, else below bound - m.
            let multiple = (bound + 2 * p - 1) / (2 * p) * p;
            bound = multiple.max(bound - multiple);
            steps.push((multiple, bound));
        }
        steps
    }

    /// WGSL that brings `name` under `limit`, which is at least p.
    pub fn reduce(&mut self, word: usize, name: &str, limit: i128) -> Result<String> {
        let p = self.prime(word)?;
        if limit < p {
            return Err(format!("nothing reduces {name} below p = {p} to {limit}"));
        }
        let mut bound = self.get(name)?;
        let mut text = String::new();
        let mut steps = Self::subtractions(p, bound, limit);
        // A product by one costs about as much as two subtractions with 64-bit products, as six without.
        if steps.len() > if self.product == 2 { 3 } else { 7 } {
            text += &format!("{name} = shoup({name}, ONE_{word}, P_{word});\n");
            bound = self.product * p;
            steps = Self::subtractions(p, bound, limit);
        }
        for (multiple, after) in steps {
            text += &format!("{name} = min({name}, {name} - {multiple}u);\n");
            bound = after;
        }
        self.set(name, bound)?;
        Ok(text)
    }

    /// Cooley-Tukey: `(u, v) = (u + w v, u - w v)`, lazily.
    pub fn forward(&mut self, word: usize, u: &str, v: &str, w: &str) -> Result<String> {
        let p = self.prime(word)?;
        let mut term = self.product * p;
        let mut text = String::new();
        let mut shrink = String::new();
        if self.get(u)? + term > WORD {
            if p + term > WORD {
                // Even a reduced u leaves no room for a lazy product: reduce that too.
                self.set("product", term)?;
                shrink = self.reduce(word, "product", p)?;
                term = p;
            }
            text += &self.reduce(word, u, WORD - term)?;
        }
        let bound = self.get(u)? + term;
        let declare = if shrink.is_empty() { "let" } else { "var" };
        text +=
            &format!("{{ {declare} product = shoup({v}, {w}, P_{word}); {shrink}{v} = {u} + {term}u - product; {u} = {u} + product; }}\n");
        self.set(u, bound)?;
        self.set(v, bound)?;
        Ok(text)
    }

    /// Gentleman-Sande: `(u, v) = (u + v, (u - v) w)`, lazily.
    pub fn inverse(&mut self, word: usize, u: &str, v: &str, w: &str) -> Result<String> {
        let p = self.prime(word)?;
        let above = |bound: i128| (bound + p - 1) / p * p;
        let mut text = String::new();
        while self.get(u)? + above(self.get(v)?) > WORD {
            let name = if self.get(u)? > self.get(v)? { u } else { v };
            let half = (above(self.get(name)?) / p + 1) / 2 * p;
            text += &self.reduce(word, name, half)?;
        }
        let (bu, bv) = (self.get(u)?, self.get(v)?);
        let offset = above(bv);
        text += &format!("{{ let difference = {u} + {offset}u - {v}; {u} = {u} + {v}; {v} = shoup(difference, {w}, P_{word}); }}\n");
        self.set(u, bu + bv)?;
        // A lazy product may exceed 32 bits' worth of p only for p >= 2^30 in the profile with the coarse estimate.
        if self.product * p > WORD {
            return Err(format!("p = {p} is too large for lazy products below {} p", self.product));
        }
        self.set(v, self.product * p)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_27_bit_prime_needs_no_reduction_in_ten_forward_stages_and_a_31_bit_prime_does() {
        for (p, free) in [(134_215_681, true), (2_147_473_409, false)] {
            let mut lazy = Lazy::new(&[p], 2);
            lazy.set("u", i128::from(p)).expect("fits");
            lazy.set("v", i128::from(p)).expect("fits");
            let text: String = (0..10).map(|_| lazy.forward(0, "u", "v", "w").expect("kept")).collect();
            assert_eq!(!text.contains("min("), free, "p = {p}:\n{text}");
            assert!(lazy.get("u").expect("known") <= WORD && lazy.get("v").expect("known") <= WORD);
        }
    }

    /// Runs what was emitted for reductions on the extremes of the bound and on random values.
    #[test]
    fn emitted_reductions_keep_values_and_reach_their_limit() {
        for p in [12_289u32, 134_215_681, 2_147_473_409] {
            for product in [2, 4] {
                for limit in [i128::from(p), 2 * i128::from(p)] {
                    let mut lazy = Lazy::new(&[p], product);
                    lazy.set("x", WORD).expect("fits");
                    let text = lazy.reduce(0, "x", limit).expect("reducible");
                    for start in [0, 1, p - 1, p, 2 * p - 1, u32::MAX, u32::MAX / 3, 0x9e37_79b9] {
                        let x = text.lines().fold(start, |x, line| run(line, x, p, product));
                        assert!(i128::from(x) < limit, "p = {p}, from {start}: {x}\n{text}");
                        assert_eq!(x % p, start % p, "p = {p}, from {start}\n{text}");
                    }
                }
            }
        }
    }

    /// The two statements that `reduce` emits.
    fn run(line: &str, x: u32, p: u32, product: u32) -> u32 {
        if line.contains("shoup") {
            // The coarse estimate of the core profile may be up to 3 too small.
            let less = if product == 4 { 2 } else { 0 };
            let quotient = ((u64::from(x) * ((1u64 << 32) / u64::from(p))) >> 32).saturating_sub(less) as u32;
            return x - quotient * p;
        }
        let multiple: u32 =
            line.rsplit("- ").next().and_then(|t| t.strip_suffix("u);")).and_then(|t| t.parse().ok()).expect("a subtraction");
        x.min(x.wrapping_sub(multiple))
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let mut lazy = Lazy::new(&[97], 2);
        assert!(lazy.set("x", WORD + 1).is_err());
        assert!(lazy.get("y").is_err());
        lazy.set("x", 500).expect("fits");
        assert!(lazy.reduce(0, "x", 96).is_err());
        assert!(lazy.reduce(1, "x", 97).is_err());
    }
}
