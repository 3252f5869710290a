//! The first transform from coefficients to slots by keys, while the modulus is raised (ePrint
//! 2025/1403 and 2025/1298 in one step).
//!
//! Right after the modulus was raised, ciphertexts are far below it: products with diagonals need
//! no level if nothing is divided before. And the diagonals may stand in the keys: where a Galois
//! key from the sparse secret encrypts M s instead of P s, M a diagonal at the scale of a few
//! auxiliary primes P', the key product multiplies by M, and its division by P' is the rescale.

use std::sync::Arc;

use girih_backend::poly::Basis;

use super::super::chain::Chain;
use super::super::dft::coefficients_to_slots;
use super::super::error::RecordError;
use super::super::exact;
use super::super::transform::{DiagonalPlan, LinearTransform};
use super::OPERATION;
use super::shape::{raised_scale, shape_of};
use crate::Encoder;
use crate::keys::KeyKind;

/// What one key of the first transform does: phi_g(M x).
#[derive(Clone, Debug, PartialEq)]
pub struct FirstRow {
    /// The exponent g of its automorphism.
    pub g: u32,
    /// M: the integer coefficients of X^0, X^(N/len), ..
    pub plaintext: Arc<[i64]>,
}

/// The first transform of ciphertexts of some number of slots: a sum over its rows. Where slots
/// repeat, it also adds up what repeats, as far as it has keys.
///
/// It follows from the set and the number of slots alone, so that the client that makes the keys
/// and the server that uses them have the same.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstFactor {
    slots: usize,
    rows: Vec<FirstRow>,
    traced: usize,
    level: usize,
    plaintext_scale: f64,
    scale: f64,
    lift: Basis,
}

impl FirstFactor {
    /// The first transform of ciphertexts with `slots` slots.
    ///
    /// # Errors
    /// For a chain without one, or an impossible number of slots.
    pub fn new(chain: &Chain, slots: usize, encoder: &Encoder) -> Result<Self, RecordError> {
        let shape = shape_of(chain)?;
        let most = chain.most_slots();
        let wrong = |why: String| Err(RecordError::Shape { operation: OPERATION, why });
        if !shape.first_by_keys {
            return wrong("the set's first transform is not done by keys".into());
        }
        if !slots.is_power_of_two() || slots > most {
            return wrong(format!("{slots} slots: the number must be a power of two up to {most}"));
        }
        let stages = |n: usize| -> Result<_, RecordError> {
            Ok(coefficients_to_slots(n, most, shape.to_slots())?.swap_remove(0))
        };
        let group = stages(slots)?;
        // Twice as many keys as for all slots: those that stages leave add up what repeats.
        let keys = stages(most)?.stored.len() << usize::from(slots < most);
        let traced = (most / slots).min(keys / group.stored.len());
        let few = chain.sparse_auxiliary().expect("the chain bootstraps");
        let raised = raised_scale(chain, slots)?;
        let plan = DiagonalPlan { stride: group.stride, baby_steps: 1, slots };
        let ratio = exact::nearest(&chain.product(&few));
        let scale = raised * 2f64.powi(first_shift(chain, slots)?);
        let made = LinearTransform::encode(&group.stored, plan, ratio, raised, scale, encoder)?;
        let mut rows = Vec::new();
        for (k, plaintext) in made.plaintexts.iter().enumerate() {
            let Some(plaintext) = plaintext else { continue };
            for step in 0..traced {
                // What repeats is the same after any of these rotations, and so is M.
                let by = group.stride * k + most / traced * step;
                let g = chain.rotation(by as i64);
                rows.push(FirstRow { g, plaintext: plaintext.clone() });
            }
        }
        let lift = lift(chain, &few, &rows)?;
        let plaintext_scale = made.plaintext_scale;
        let level = shape.raised_level(most, slots);
        Ok(Self { slots, rows, traced, level, plaintext_scale, scale, lift })
    }

    /// n, the slots of the ciphertexts that it is for.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Its rows, a key each.
    pub fn rows(&self) -> &[FirstRow] {
        &self.rows
    }

    /// The same with other diagonals, as published runs have them.
    #[must_use]
    pub fn with_rows(self, rows: Vec<FirstRow>) -> Self {
        Self { rows, ..self }
    }

    /// The keys of its rows.
    pub fn kinds(&self) -> impl Iterator<Item = KeyKind> + '_ {
        let log2_slots = self.slots.ilog2() as u8;
        self.rows.iter().map(move |row| KeyKind::First { log2_slots, g: row.g })
    }

    /// Repeats of the vector that it adds up; the others are left to be added afterwards.
    pub fn traced(&self) -> usize {
        self.traced
    }

    /// The level that the modulus is raised to.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The scale that its diagonals are encoded at.
    pub fn plaintext_scale(&self) -> f64 {
        self.plaintext_scale
    }

    /// The scale that its result is labelled with.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The primes modulo which the sum of M b is taken: an integer polynomial that fits.
    pub fn lift(&self) -> &Basis {
        &self.lift
    }
}

/// log2 of the factor of the label. What repeats is added up, which the scale counts with before:
/// the label after it is that of a full vector.
pub(super) fn first_shift(chain: &Chain, slots: usize) -> Result<i32, RecordError> {
    let fewer = (chain.most_slots() / slots).ilog2() as i32;
    Ok(shape_of(chain)?.cts_shifts.first().copied().unwrap_or(0) - fewer)
}

/// P' and as many main primes as it takes for twice the sum of |M| floor(Q_0 / 2) + 1.
fn lift(chain: &Chain, few: &Basis, rows: &[FirstRow]) -> Result<Basis, RecordError> {
    let magnitudes = rows.iter().flat_map(|row| row.plaintext.iter());
    let sum: u128 = magnitudes.map(|c| u128::from(c.unsigned_abs())).sum();
    let half: num_bigint::BigUint = (&*chain.product(chain.level(0)?) >> 1u32) + 1u32;
    // A part in 2^10 keeps ties of the conversion away.
    let wanted = (half * sum * 1025u32) >> 9u32;
    let terminal = chain.shape().terminal.len() as u16;
    let mut primes: Vec<u16> = few.primes().to_vec();
    for main in 0..chain.shape().main.len() as u16 {
        if *chain.product(&Basis::new(primes.iter().copied())) > wanted {
            break;
        }
        primes.push(terminal + main);
    }
    let basis = Basis::new(primes);
    if *chain.product(&basis) > wanted {
        return Ok(basis);
    }
    let why = "the first transform by keys does not fit the set's primes: lower its label".into();
    Err(RecordError::Shape { operation: OPERATION, why })
}
