//! Down the levels: rescale, level adjust, drop (docs/ckks.md, "Levels and scales").

use girih_backend::poly::{Basis, Value};
use num_bigint::BigInt;

use super::chain::Chain;
use super::error::RecordError;
use super::exact;
use super::recorder::{Recorded, Recorder};

/// A level adjust: which primes stay for the division, and the integer that is multiplied in.
struct AdjustPlan {
    kept: Basis,
    constant: BigInt,
    scale: f64,
}

fn adjust_plan(chain: &Chain, x: &Recorded, to: usize) -> Result<AdjustPlan, RecordError> {
    let (from, base) = (chain.level(x.level)?, chain.level(to)?);
    let refuse = |why: String| RecordError::Level { operation: "level adjust", level: to, why };
    let scale = chain.scale(to).ok_or_else(|| refuse("it has no canonical scale".into()))?;
    if to >= x.level {
        return Err(refuse(format!("the ciphertext stands at {}, and must go down", x.level)));
    }
    let added = chain.product(&base.difference(from));
    // Main primes by ascending index, then terminal ones, whose order in F is inverted.
    let terminals = chain.shape().terminal.len();
    let dropped = from.difference(base);
    let (terminal, main): (Vec<u16>, Vec<u16>) =
        dropped.primes().iter().partition(|&&p| usize::from(p) < terminals);
    let mut used = Vec::new();
    let mut constant = Default::default();
    for prime in main.into_iter().chain(terminal.into_iter().rev()) {
        used.push(prime);
        let product = chain.product(&Basis::new(used.iter().copied()));
        constant = exact::round_ratio(scale, &product, &added, x.scale);
        if exact::nearest(&constant) >= scale / 2.0 {
            break;
        }
    }
    let kept = from.intersection(base).union(&Basis::new(used));
    Ok(AdjustPlan { kept, constant: constant.into(), scale })
}

impl Recorder {
    /// From level l to l - 1: divided by pp_l and rounded. A scale within 2^-44 of the canonical
    /// one becomes it.
    ///
    /// # Errors
    /// At level 0.
    pub fn rescale(&mut self, x: &Recorded) -> Result<Recorded, RecordError> {
        if x.level == 0 {
            let operation = "rescale";
            return Err(RecordError::OutOfLevels { operation, needed: 1, level: 0 });
        }
        let level = x.level - 1;
        let chain = self.chain().clone();
        let scale = chain.settle(level, x.scale / chain.ratio(x.level));
        let mut divide = |part: Value| self.divide_round(part, chain.level(level)?);
        Ok(Recorded { b: divide(x.b)?, a: divide(x.a)?, level, scale, ..*x })
    }

    /// Level adjust: to the canonical scale of the lower level `to`, by one division,
    /// whatever the distance.
    ///
    /// # Errors
    /// Unless `to` is below the ciphertext's level and has a canonical scale.
    pub fn adjust(&mut self, x: &Recorded, to: usize) -> Result<Recorded, RecordError> {
        let chain = self.chain().clone();
        let plan = adjust_plan(&chain, x, to)?;
        let factor = chain.integer(&plan.kept, &plan.constant);
        let mut part = |part: Value| -> Result<Value, RecordError> {
            let kept = self.limbs(part, &plan.kept)?;
            let multiplied = self.scaled(factor.clone(), kept)?;
            self.divide_round(multiplied, chain.level(to)?)
        };
        Ok(Recorded { b: part(x.b)?, a: part(x.a)?, level: to, scale: plan.scale, ..*x })
    }

    /// Drop: to level `to` at whatever scale that gives. Where the bases are nested limbs are
    /// forgotten and the scale stays; elsewhere it is a level adjust,
    /// and the scale becomes canonical.
    ///
    /// # Errors
    /// When `to` is above the ciphertext's level, or an adjust is needed to a level without
    /// canonical scale.
    pub fn drop_to(&mut self, x: &Recorded, to: usize) -> Result<Recorded, RecordError> {
        if to == x.level {
            return Ok(*x);
        }
        let chain = self.chain().clone();
        let base = chain.level(to)?;
        if to < x.level && chain.level(x.level)?.contains_all(base) {
            let (b, a) = (self.limbs(x.b, base)?, self.limbs(x.a, base)?);
            return Ok(Recorded { b, a, level: to, ..*x });
        }
        self.adjust(x, to)
    }
}
