//! Constant tables of one plan: twiddles in reading order, monomials, and the numbers that
//! templates ask for.

use crate::bootstrap::plan::WgpuPlan;
use crate::runtime::layout::Layout;
use crate::runtime::numbers::Numbers;
use girih_ring::{Modulus, NttTable, Rns};

/// Number-theoretic tables of one plan.
pub struct Tables {
    layout: Layout,
    transforms: Vec<NttTable>,
    rns: Rns,
    numbers: Numbers,
}

impl Tables {
    /// The tables of `plan`, whose shape has been validated.
    pub fn new(plan: &WgpuPlan) -> Self {
        let rns =
            Rns::new(plan.primes()).expect("a validated shape has one or two distinct primes");
        let transforms = rns
            .words()
            .iter()
            .map(|&m| {
                NttTable::new(m, plan.shape.polynomial_size)
                    .expect("a validated shape's primes admit the transform")
            })
            .collect();
        Self { layout: plan.layout(), transforms, rns, numbers: plan.numbers() }
    }

    pub(crate) fn transforms(&self) -> &[NttTable] {
        &self.transforms
    }

    pub(crate) fn rns(&self) -> &Rns {
        &self.rns
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
            "garner" => Some(i128::from(self.rns.first_inverse())),
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
