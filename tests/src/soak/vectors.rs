//! Operations on CKKS vectors, with a toy set.

use super::{Caller, Failure, Part, Tally, key_seed};
use crate::ckks::evaluator::{Parties, slots, wrong_slots};
use girih::ckks::{CkksParameters, Complex64, KeyKind, Result};
use girih_backend::poly::random::Numbers;

const SET: &str = "INSECURE_CKKS_D40_N10";

/// Turns that there are keys for.
const TURNS: [i64; 3] = [1, 3, -5];

/// Deviations that an error may have: the model's own are bounds, so that none passes by chance.
const DEVIATIONS: f64 = 12.0;

pub(super) struct Vectors {
    parties: Parties,
    set: CkksParameters,
}

impl Vectors {
    pub fn new(part: &Part) -> Result<Self> {
        let set = CkksParameters::by_name(SET)?;
        let turns = TURNS.iter().filter_map(|&by| KeyKind::rotation(&set, by));
        let kinds = turns.chain([KeyKind::Multiplication, KeyKind::conjugation(&set)]).collect();
        let parties = Parties::seeded(part.device.backend(), SET, kinds, key_seed(part, 2))?;
        Ok(Self { parties, set })
    }

    fn operation(&self, numbers: &mut Numbers, tally: &mut Tally) -> Result<Option<String>> {
        let server = &self.parties.server;
        let count = self.set.slots();
        let level = 1 + numbers.below(self.set.default_level());
        let (x, y) = (slots(count, numbers.word()), slots(count, numbers.word()));
        let upload = |values: &[Complex64]| self.parties.upload(values, level);
        let (cx, cy) = (upload(&x)?, upload(&y)?);
        let pairs = |f: fn(Complex64, Complex64) -> Complex64| -> Vec<Complex64> {
            x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect()
        };
        let (what, got, want) = match numbers.below(6) {
            0 => ("add", server.add(&cx, &cy)?, pairs(|x, y| x + y)),
            1 => ("multiply", server.mul(&cx, &cy)?, pairs(|x, y| x * y)),
            2 => ("square", server.square(&cx)?, pairs(|x, _| x * x)),
            3 => ("conjugate", server.conjugate(&cx)?, pairs(|x, _| x.conj())),
            4 => ("by a vector", server.mul_plain(&cx, &y)?, pairs(|x, y| x * y)),
            _ => {
                let by = TURNS[numbers.below(TURNS.len())];
                let mut turned = x.clone();
                turned.rotate_left(by.rem_euclid(count as i64) as usize);
                ("rotate", server.rotate(&cx, by)?, turned)
            }
        };
        tally.slots += count as u64;
        let (wrong, largest) = wrong_slots(&self.parties, &got, &want, DEVIATIONS)?;
        tally.wrong += wrong as u64;
        Ok((wrong > 0)
            .then(|| format!("{what} at level {level}: {wrong} slots err by up to {largest:e}")))
    }
}

impl Caller for Vectors {
    fn call(
        &self,
        numbers: &mut Numbers,
        tally: &mut Tally,
    ) -> std::result::Result<Option<String>, Failure> {
        Ok(self.operation(numbers, tally)?)
    }
}
