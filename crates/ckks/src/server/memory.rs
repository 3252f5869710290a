//! What a bootstrapping takes on a device, before anything is made for it, and what to do where
//! that is too much.

use super::bootstrapping::Bootstrapping;
use crate::keys::{KeyKind, KeyRange};
use crate::program::{
    BootstrappingPlan, Chain, ChainShape, RecordedProgram, Recorder, ResidentRequest,
};
use crate::{CkksParameters, Encoder, Error, Result};
use girih_backend::BackendError;
use girih_backend::poly::{PolyPlan, lower};
use std::sync::Arc;

/// Bytes on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryNeed {
    /// Of switching keys.
    pub keys: u64,
    /// Of sums of switching keys' rows, for digits that are joined
    /// ([`Options::sum_keys`](super::Options::sum_keys)).
    pub sums: u64,
    /// Of encoded vectors: diagonals, each stored once a period.
    pub vectors: u64,
    /// Of what one call computes on its way.
    pub working: u64,
    /// Of one ciphertext before and after.
    pub ciphertexts: u64,
}

impl MemoryNeed {
    /// For `batch` ciphertexts at once. Tables of the ring and of routines, some per cent of this,
    /// are not in it.
    pub fn total(&self, batch: usize) -> u64 {
        self.keys + self.sums + self.vectors + batch as u64 * (self.working + self.ciphertexts)
    }
}

/// One way to make the keys of a bootstrapping, with what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRung {
    /// In words: `keys for all levels`, ..
    pub name: &'static str,
    /// How to bootstrap.
    pub how: Bootstrapping,
    /// The keys to make.
    pub keys: Vec<KeyRange>,
    /// What is on the device then.
    pub need: MemoryNeed,
}

impl Bootstrapping {
    /// The ways to make the keys of this bootstrapping, those that take most memory first:
    ///
    /// 1. keys for all levels, which serve other operations too;
    /// 2. keys for the levels at which a bootstrapping uses them
    ///    ([`Bootstrapping::keys_by_level`]), as fast;
    /// 3. the same by few keys ([`Bootstrapping::few_keys`]), slower.
    ///
    /// Whoever has a limit takes the first that fits; below the last there are smaller sets. `plan`
    /// is how the device lowers programs ([`Loader::plan`](girih_backend::poly::Loader::plan)):
    /// intermediate polynomials depend on it. This records whole bootstrappings, which takes
    /// seconds at N = 2^16.
    ///
    /// # Errors
    /// As [`Bootstrapping::keys`]; [`Error::Backend`] for a plan whose numbers are too small.
    pub fn memory_ladder(
        &self,
        set: &CkksParameters,
        slots: usize,
        plan: &PolyPlan,
    ) -> Result<Vec<MemoryRung>> {
        let chain = Chain::new(ChainShape::from(set))?;
        let encoder = Encoder::new(set.chain().log2_degree())?;
        let many = Self { few_keys: false, ..*self };
        let hoisted = many.plan(&chain, slots, many.ratio(set)?, &encoder)?;
        let few = hoisted.clone().with_few_keys();
        let levels = |plan: &BootstrappingPlan| plan.key_levels(&chain);
        let whole = |(kind, _): (KeyKind, usize)| KeyRange::from(kind).within(set);
        let limited = |(kind, level): (KeyKind, usize)| kind.up_to(level).within(set);
        let rung = |name, how, of: &BootstrappingPlan, keys: Vec<KeyRange>| -> Result<_> {
            let mut need = need(&chain, of, plan)?;
            need.keys = keys.iter().map(|key| key.bytes(set)).sum();
            need.sums = sums(&chain, of, &keys)?;
            Ok(MemoryRung { name, how, keys, need })
        };
        let by_few = Self { few_keys: true, ..*self };
        let all = rung(
            "keys for all levels",
            many,
            &hoisted,
            levels(&hoisted).into_iter().map(whole).collect(),
        )?;
        let keys: Vec<KeyRange> = levels(&hoisted).into_iter().map(limited).collect();
        let mut own = all.clone();
        own.name = "keys for their levels";
        own.need.keys = keys.iter().map(|key| key.bytes(set)).sum();
        own.need.sums = sums(&chain, &hoisted, &keys)?;
        own.keys = keys;
        let few = rung(
            "few keys for their levels",
            by_few,
            &few,
            levels(&few).into_iter().map(limited).collect(),
        )?;
        Ok(vec![all, own, few])
    }
}

/// A bootstrapping by keys of these levels, and the level of its result.
fn recorded(
    chain: &Arc<Chain>,
    of: &BootstrappingPlan,
    keys: &[KeyRange],
) -> Result<(RecordedProgram, usize)> {
    let mut recorder = Recorder::new(chain.clone());
    recorder.limit_keys(Arc::new(keys.iter().map(|key| (key.kind, key.level)).collect()));
    let start = of.start(chain);
    let scale = chain.scale(start).expect("bootstrappings start at normal levels");
    let x = recorder.input(start, scale, of.slots())?;
    let y = recorder.bootstrap(&x, of)?;
    recorder.output(&y);
    Ok((recorder.finish(), y.level))
}

/// Bytes of the sums of keys that a bootstrapping by keys of these levels reads.
fn sums(chain: &Arc<Chain>, of: &BootstrappingPlan, keys: &[KeyRange]) -> Result<u64> {
    let (recording, _) = recorded(chain, of, keys)?;
    let limbs = recording.residents.iter().map(|request| match request {
        ResidentRequest::JoinedKey { basis, .. } => basis.len() as u64,
        _ => 0,
    });
    Ok(4 * chain.degree() as u64 * limbs.sum::<u64>())
}

/// What a bootstrapping takes beside keys.
fn need(chain: &Arc<Chain>, of: &BootstrappingPlan, plan: &PolyPlan) -> Result<MemoryNeed> {
    let (recording, end) = recorded(chain, of, &[])?;
    let limb = 4 * chain.degree() as u64;
    let vector = |request: &ResidentRequest| match request {
        ResidentRequest::Plain(p) => 4 * (p.coefficients.len() * p.basis.len()) as u64,
        _ => 0,
    };
    let limbs = chain.level(of.start(chain))?.len() + chain.level(end)?.len();
    let schedule = lower(&recording.program, plan, &[])?;
    Ok(MemoryNeed {
        keys: 0,
        sums: 0,
        vectors: recording.residents.iter().map(vector).sum(),
        working: schedule.arena_limbs as u64 * limb,
        ciphertexts: 2 * limbs as u64 * limb,
    })
}

/// When memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum While {
    /// Keys were loaded.
    Loading,
    /// Something was recorded, allocated or run.
    Computing,
}

/// A failure of the device; where memory ran out, with what to do about it.
pub(super) fn advised(when: While) -> impl Fn(BackendError) -> Error {
    move |cause| match cause {
        BackendError::OutOfMemory { .. } => {
            let keys = "make keys for the levels at which they are used (KeyKind::up_to, \
                        Bootstrapping::keys_by_level), rotate by few keys in bootstrappings \
                        (Bootstrapping::few_keys), or take a set of fewer levels or of smaller N";
            let advice = match when {
                While::Loading => format!("in this order, {keys}"),
                While::Computing => format!(
                    "in this order, run smaller batches, drop ciphertexts and recordings that are \
                     not needed (ServerKey::forget_recordings), {keys}"
                ),
            };
            Error::OutOfMemory { cause, advice }
        }
        cause => cause.into(),
    }
}
