//! Constant tables of one plan: twiddles in reading order, monomials, and the numbers that
//! templates ask for.

use crate::bootstrap::plan::WgpuPlan;
use crate::runtime::layout::Layout;
use crate::runtime::numbers::Numbers;
use girih_ring::{Modulus, NttTable, Rns, TorusCrt};

/// Top bits of each word that the recomposition on the native torus estimates a quotient from.
pub(crate) const QUOTIENT_BITS: u32 = 14;

/// Number-theoretic tables of one plan.
pub struct Tables {
    layout: Layout,
    transforms: Vec<NttTable>,
    recomposition: Recomposition,
    numbers: Numbers,
}

/// How residues are put together again.
pub(crate) enum Recomposition {
    /// Modulo the key modulus.
    Words(Rns),
    /// Modulo 2^64.
    Torus(TorusCrt),
}

impl Tables {
    /// The tables of `plan`, whose shape has been validated.
    pub fn new(plan: &WgpuPlan) -> Self {
        let recomposition = if plan.shape.is_torus() {
            TorusCrt::new(plan.primes()).map(Recomposition::Torus)
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
        Self { layout: plan.layout(), transforms, recomposition, numbers: plan.numbers() }
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
            (Recomposition::Torus(_), &[low, high]) => u64::from(low) | u64::from(high) << 32,
            _ => u64::from(words[0]),
        }
    }

    /// The signed digit as the residue that traces show.
    pub(crate) fn digit_residue(&self, digit: i32) -> u64 {
        match &self.recomposition {
            Recomposition::Words(rns) => rns.reduce_signed(i64::from(digit)),
            Recomposition::Torus(_) => i64::from(digit) as u64,
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
        word * (2 * all + monomials)
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

    /// The buffer `roots` of `blind_rotate`: for each word the twiddles (factor, quotient) of
    /// passes 1 and up, [pass][slot][thread], forward then inverse; then for each i < 2N the pair
    /// (X^i - 1, X^-i - 1) times what a Montgomery reduction divides by.
    pub(crate) fn roots(&self) -> Vec<[u32; 2]> {
        let mut out = Vec::new();
        for table in &self.transforms {
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
            let entry = |i: usize| {
                self.numbers.factor(m.value(), m.mul(m.sub(powers[i % powers.len()], 1), radix))
            };
            out.extend((0..powers.len()).map(|i| [entry(i), entry(powers.len() - i)]));
        }
        out
    }

    /// The functions that templates call.
    pub(crate) fn function(&self, name: &str, arguments: &[i128]) -> Option<i128> {
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
                Recomposition::Torus(_) => None,
            },
            "crt_weight" | "crt_minus_product" => match (&self.recomposition, arguments) {
                (Recomposition::Torus(crt), &[w]) => {
                    Some(i128::from(crt.weight(w as usize) as u64))
                }
                (Recomposition::Torus(crt), []) => {
                    Some(i128::from((crt.product() as u64).wrapping_neg()))
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
            "reversed_item" => int(layout.reversed_item(at(0)?)),
            "slots" => int(layout.slots(at(0)?)),
            "width" => int(layout.passes()[at(0)?].width),
            "upper" => int(layout.butterfly(at(0)?, at(1)?, at(2)?).0),
            "lower" => int(layout.butterfly(at(0)?, at(1)?, at(2)?).1),
            "slot" => int(layout.butterfly(at(0)?, at(1)?, at(2)?).2),
            "forward_base" => int(self.pass_base(at(0)?, false, at(1)?)),
            "inverse_base" => int(self.pass_base(at(0)?, true, at(1)?)),
            "monomial_base" => int(self.monomial_base(at(0)?)),
            _ => None,
        }
    }
}

/// `x^-1` modulo 2^64 for an odd x.
fn inverse_pow2(x: u64) -> u64 {
    // Newton's iteration doubles the correct low bits; an odd number is its own inverse to 3 bits.
    (0..5).fold(x, |y, _| y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y))))
}
