//! Constant tables of one plan: twiddles in reading order, monomials, and the numbers that
//! templates ask for.

use crate::bootstrap::plan::WgpuPlan;
use crate::runtime::layout::Layout;
use crate::runtime::numbers::Numbers;
use girih_ring::{Modulus, NttTable, Rns, TorusCrt};

/// Top bits of each word that the recomposition on the native torus estimates a quotient from.
pub(crate) const QUOTIENT_BITS: u32 = 14;

/// Pairs of words that a loop over words reads of a prime before the twiddles of the first pass.
const PRIME_PAIRS: usize = 4;

/// Functions of templates whose first argument is a word and whose value comes from its prime.
const OF_A_PRIME: [&str; 8] = [
    "prime",
    "neg_inverse",
    "root",
    "inverse_root",
    "crt_weight",
    "quotient_shift",
    "quotient_factor",
    "unit",
];

/// Number-theoretic tables of one plan.
pub struct Tables {
    layout: Layout,
    transforms: Vec<NttTable>,
    recomposition: Recomposition,
    numbers: Numbers,
    /// Whether kernels read what comes from a prime as data.
    looped: bool,
}

/// How residues are put together again.
pub(crate) enum Recomposition {
    /// Modulo the key modulus.
    Words(Rns),
    /// Modulo 2^64, times `2^rounding`: so many bits of the key's words were rounded away.
    Torus { crt: TorusCrt, rounding: u32 },
}

impl Tables {
    /// The tables of `plan`, whose shape has been validated.
    pub fn new(plan: &WgpuPlan) -> Self {
        let recomposition = if plan.shape.is_torus() {
            let rounding = plan.shape.transform_rounding().expect("a validated shape has primes");
            TorusCrt::new(plan.primes()).map(|crt| Recomposition::Torus { crt, rounding })
        } else {
            Rns::new(plan.primes()).map(Recomposition::Words)
        };
        let recomposition = recomposition.expect("a validated shape has distinct primes");
        let transforms = plan
            .primes()
            .iter()
            .map(|&p| {
                Modulus::new(p)
                    .and_then(|m| NttTable::new(m, plan.shape.polynomial_size))
                    .expect("a validated shape's primes admit the transform")
            })
            .collect();
        let (layout, numbers) = (plan.layout(), plan.numbers());
        Self { layout, transforms, recomposition, numbers, looped: plan.looped }
    }

    pub(crate) fn transforms(&self) -> &[NttTable] {
        &self.transforms
    }

    pub(crate) fn recomposition(&self) -> &Recomposition {
        &self.recomposition
    }

    /// The words of an accumulator coefficient, `count` of them: of one word its value, of two the
    /// residues, or the halves of it on the native torus, low first.
    pub(crate) fn accumulator(&self, count: usize, value: u64) -> [u32; 2] {
        match &self.recomposition {
            Recomposition::Words(rns) if count == 2 => [0, 1].map(|w| rns.words()[w].reduce(value)),
            // One word is below 2^31.
            _ => [value as u32, (value >> 32) as u32],
        }
    }

    /// The coefficient that the words of an accumulator stand for.
    pub(crate) fn coefficient(&self, words: &[u32]) -> u64 {
        match (&self.recomposition, words) {
            (Recomposition::Words(rns), &[first, second]) => rns.compose(first, second),
            (Recomposition::Torus { .. }, &[low, high]) => u64::from(low) | u64::from(high) << 32,
            _ => u64::from(words[0]),
        }
    }

    /// The signed digit as the residue that traces show.
    pub(crate) fn digit_residue(&self, digit: i32) -> u64 {
        match &self.recomposition {
            Recomposition::Words(rns) => rns.reduce_signed(i64::from(digit)),
            Recomposition::Torus { .. } => i64::from(digit) as u64,
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    fn modulus(&self, word: i128) -> Modulus {
        self.transforms[word as usize].modulus()
    }

    /// Pairs of words before the slots of `pass` of `word`, forward or inverse.
    fn pass_base(&self, word: usize, inverse: bool, pass: usize) -> usize {
        let passes = self.layout.passes().len();
        let pairs = |p: usize| self.layout.slots(p) * self.layout.threads();
        let all: usize = (1..passes).map(pairs).sum();
        let monomials = 2 << self.layout.passes()[0].low << self.layout.passes()[0].width;
        let data = if self.looped { PRIME_PAIRS + 2 * self.layout.slots(0) } else { 0 };
        word * (2 * all + monomials + self.layout.items() + data)
            + usize::from(inverse) * all
            + (1..pass).map(pairs).sum::<usize>()
    }

    /// Bits of a word of `word` that an estimate of a quotient leaves out.
    fn quotient_shift(&self, word: i128) -> i128 {
        let bits = 32 - self.modulus(word).value().leading_zeros();
        i128::from(bits.saturating_sub(QUOTIENT_BITS))
    }

    fn monomial_base(&self, word: usize) -> usize {
        // Where the slots of a pass after the last inverse one would start.
        self.pass_base(word, true, self.layout.passes().len())
    }

    /// Where what a loop reads of the first prime starts.
    fn prime_base(&self) -> usize {
        self.monomial_base(0) + self.transforms[0].powers().len() + self.layout.items()
    }

    /// The buffer `roots` of `blind_rotate`: for each word the twiddles (factor, quotient) of
    /// passes 1 and up, [pass][slot][thread], forward then inverse; then for each i < 2N the pair
    /// (X^i, X^-i) times what a Montgomery reduction divides by; then the twiddles of the powers of
    /// a root of unity of as high an order as a thread has items.
    pub(crate) fn roots(&self) -> Vec<[u32; 2]> {
        let mut out = Vec::new();
        for (word, table) in self.transforms.iter().enumerate() {
            for roots in [table.roots(), table.inverse_roots()] {
                for pass in 1..self.layout.passes().len() {
                    for slot in 0..self.layout.slots(pass) {
                        for t in 0..self.layout.threads() {
                            let w = roots[self.layout.root_index(pass, t, slot)];
                            out.push(self.numbers.twiddle_words(table.modulus().value(), w.value));
                        }
                    }
                }
            }
            let (m, powers) = (table.modulus(), table.powers());
            let radix = m.reduce(1 << self.numbers.montgomery_bits());
            let entry =
                |i: usize| self.numbers.factor(m.value(), m.mul(powers[i % powers.len()], radix));
            out.extend((0..powers.len()).map(|i| [entry(i), entry(powers.len() - i)]));
            let turns = powers.iter().step_by(powers.len() / self.layout.items());
            out.extend(turns.map(|&x| self.numbers.twiddle_words(m.value(), x)));
            if self.looped {
                self.push_prime(word, &mut out);
            }
        }
        out
    }

    /// What a loop over words reads of a prime: p and -1/p mod 2^32; the residue that a Montgomery
    /// reduction divides by, and the factor of the quotient's estimate; the weight of its CRT
    /// residues, low and high; the twiddle of 1; then those of the first pass, forward and inverse.
    fn push_prime(&self, word: usize, out: &mut Vec<[u32; 2]>) {
        let p = self.transforms[word].modulus();
        let number = |name: &str| {
            self.function(0, name, &[word as i128]).expect("known of each prime") as u64
        };
        let weight = number("crt_weight");
        out.push([p.value(), p.neg_inverse()]);
        out.push([number("unit") as u32, number("quotient_factor") as u32]);
        out.push([weight as u32, (weight >> 32) as u32]);
        out.push(self.numbers.twiddle_words(p.value(), 1));
        for roots in [self.transforms[word].roots(), self.transforms[word].inverse_roots()] {
            out.extend((0..self.layout.slots(0)).map(|slot| {
                let root = roots[self.layout.root_index(0, 0, slot)].value;
                self.numbers.twiddle_words(p.value(), root)
            }));
        }
    }

    /// The functions that templates call, about words from `first` on.
    pub(crate) fn function(&self, first: usize, name: &str, arguments: &[i128]) -> Option<i128> {
        // What kernels read from `roots` lies where word 0 has it, and a loop adds the rest.
        if first > 0 && OF_A_PRIME.contains(&name) {
            let mut moved = arguments.to_vec();
            moved[0] += first as i128;
            return self.function(0, name, &moved);
        }
        let at = |i: usize| arguments.get(i).map(|&a| a as usize);
        let int = |x: usize| Some(x as i128);
        let layout = &self.layout;
        match name {
            "prime" => Some(i128::from(self.modulus(arguments[0]).value())),
            "neg_inverse" => Some(i128::from(self.modulus(arguments[0]).neg_inverse())),
            "root" | "inverse_root" => {
                let table = &self.transforms[at(0)?];
                let roots = if name == "root" { table.roots() } else { table.inverse_roots() };
                Some(i128::from(roots[layout.root_index(0, 0, at(1)?)].value))
            }
            "garner" => match &self.recomposition {
                Recomposition::Words(rns) => Some(i128::from(rns.first_inverse())),
                Recomposition::Torus { .. } => None,
            },
            "crt_weight" | "crt_minus_product" => match (&self.recomposition, arguments) {
                (Recomposition::Torus { crt, rounding }, &[w]) => {
                    Some(i128::from((crt.weight(w as usize) as u64) << rounding))
                }
                (Recomposition::Torus { crt, rounding }, []) => {
                    Some(i128::from(((crt.product() << rounding) as u64).wrapping_neg()))
                }
                _ => None,
            },
            "quotient_shift" => Some(self.quotient_shift(arguments[0])),
            // 2^28 / p in units of the last place of the words' top bits.
            "quotient_factor" => Some(
                (1 << (28 + self.quotient_shift(arguments[0])))
                    / i128::from(self.modulus(arguments[0]).value()),
            ),
            "inverse_pow2" => Some(i128::from(inverse_pow2(arguments[0] as u64))),
            "item_address" => int(layout.item_address(at(0)?, at(1)?)),
            "item_index" => int(layout.position(0, at(0)?)),
            "slots" => int(layout.slots(at(0)?)),
            "width" => int(layout.passes()[at(0)?].width),
            "upper" => int(layout.butterfly(at(0)?, at(1)?, at(2)?).0),
            "lower" => int(layout.butterfly(at(0)?, at(1)?, at(2)?).1),
            "slot" => int(layout.butterfly(at(0)?, at(1)?, at(2)?).2),
            "forward_base" => int(self.pass_base(at(0)?, false, at(1)?)),
            "inverse_base" => int(self.pass_base(at(0)?, true, at(1)?)),
            "word_pairs" => int(self.pass_base(1, false, 1)),
            "prime_base" => int(self.prime_base() + at(0)?),
            "first_base" => int(self.prime_base() + PRIME_PAIRS + at(0)?),
            "first_inverse_base" => int(self.prime_base() + PRIME_PAIRS + layout.slots(0) + at(0)?),
            "monomial_base" => int(self.monomial_base(at(0)?)),
            "turn_base" => int(self.monomial_base(at(0)?) + self.transforms[at(0)?].powers().len()),
            // By which power of that root a thread's item is turned against its first.
            "turn" => int(layout.reversed_item(at(0)?) / layout.threads()),
            "unit" => {
                let p = self.modulus(arguments[0]);
                let one = p.reduce(1 << self.numbers.montgomery_bits());
                Some(i128::from(self.numbers.factor(p.value(), one) as i32))
            }
            _ => None,
        }
    }
}

/// `x^-1` modulo 2^64 for an odd x.
fn inverse_pow2(x: u64) -> u64 {
    // Newton's iteration doubles the correct low bits; an odd number is its own inverse to 3 bits.
    (0..5).fold(x, |y, _| y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Target, Vendor, desktop_gpu};
    use girih_backend::PlanRequest;
    use girih_backend::bootstrap::synthetic::torus_shape;

    /// What `accumulate` of accumulator_torus.wgsl computes, in checked arithmetic, of the largest
    /// sums that a step may bring.
    #[test]
    fn the_largest_sums_come_back_modulo_2_to_the_64() {
        for (log2_base, levels, grouping) in [(23, 1, 1), (23, 1, 2), (23, 1, 3), (15, 2, 1)] {
            let shape = torus_shape(2048, log2_base, levels, grouping);
            let request = PlanRequest::default();
            let (device, profile) = (&desktop_gpu(), Profile::Int64);
            let target = Target { device, vendor: Vendor::Nvidia, profile };
            let plan = WgpuPlan::new(&shape, target, &request, None);
            let plan = plan.expect("it fits");
            let tables = Tables::new(&plan);
            let Recomposition::Torus { crt, rounding } = tables.recomposition() else {
                unreachable!("the native torus")
            };
            let number = |name: &str, arguments: &[i128]| {
                tables.function(0, name, arguments).expect("known of each prime") as u64
            };
            let products = shape.ggsw_per_step() * levels * shape.columns() * 2048;
            let most = ((products as i128) << (log2_base + 63)) >> rounding;
            for x in [0, 1, -1, most, -most, most - 1, most / 3, -most / 7, most / 2 + 12_345] {
                let (mut sum, mut multiple) = (0u64, 1u32 << 27);
                for (w, p) in crt.primes().iter().enumerate() {
                    let residue = x.rem_euclid(i128::from(p.value())) as u32;
                    let part = p.mul(residue, crt.inverse(w));
                    let of = [w as i128];
                    sum = sum.wrapping_add(number("crt_weight", &of).wrapping_mul(u64::from(part)));
                    multiple += (part >> number("quotient_shift", &of))
                        * number("quotient_factor", &of) as u32;
                }
                let minus = number("crt_minus_product", &[]);
                sum = sum.wrapping_add(minus.wrapping_mul(u64::from(multiple >> 28)));
                assert_eq!(sum, (x << rounding) as u64, "{shape:?}: {x}");
            }
        }
    }
}
