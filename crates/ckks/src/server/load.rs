//! From evaluation keys to a device.

use std::sync::{Arc, Mutex, PoisonError};

use super::cache::Kept;
use super::estimate::Model;
use super::residents::Library;
use super::{ServerKey, Shared};
use crate::keys::{EvaluationKeys, KeyKind, KeyPart, SwitchingKeySource};
use crate::program::{Chain, ChainShape, Part, ResidentRequest};
use crate::{Encoder, Error, Result};
use girih_backend::poly::{Basis, PolyEngine, ResidentShape, ResidentSource};
use girih_backend::{Backend, Progress, block_on};

/// Choices of a [`ServerKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Operations that run out of levels bootstrap their operands first, which needs slots of
    /// magnitude at most 1 at that point. Off by default: it takes long,
    /// and nothing is to happen unasked.
    pub bootstrap_when_needed: bool,
    /// Recordings of single operations that are kept for later calls, 256 by default; the one
    /// unused for longest goes first.
    pub recordings: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { bootstrap_when_needed: false, recordings: 256 }
    }
}

impl ServerKey {
    /// Loads keys on a device, limb by limb; they may be dropped afterwards.
    /// `progress` hears of polynomials.
    ///
    /// # Errors
    /// [`Error::Backend`] if the device runs no programs on polynomials, the
    /// set does not fit it, or memory runs out.
    pub fn load(
        device: &dyn Backend,
        keys: &EvaluationKeys,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let chain = Chain::new(ChainShape::from(keys.set()))?;
        let engine = PolyEngine::open(device, chain.ring().clone())?;
        block_on(Self::on_engine(engine, keys, options, progress))
    }

    /// [`ServerKey::load`] for callers that must not block, on an engine opened for the set's ring.
    ///
    /// # Errors
    /// As [`ServerKey::load`], and [`Error::Shape`](crate::Error::Shape)
    /// for an engine of another ring.
    pub async fn on_engine(
        engine: PolyEngine,
        keys: &EvaluationKeys,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let set = keys.set().clone();
        let chain = Chain::new(ChainShape::from(&set))?;
        if engine.ring() != chain.ring() {
            return Err(Error::Shape {
                operation: "loading evaluation keys".into(),
                rule: format!("the engine was opened for another ring than that of {set}"),
            });
        }
        let source = KeyLimbs::new(keys);
        let loaded = engine.load_async(&source, progress).await?;
        if let Some(error) = source.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let requests = source.polynomials.into_iter().map(|p| p.request);
        let library = Library::new(&set, requests.zip(loaded));
        let encoder = Encoder::new(set.chain().log2_degree())?;
        let model = Model::new(&set);
        let shared = Shared { set, id: keys.key_id(), chain, engine, library };
        Ok(Self {
            shared: Arc::new(shared),
            model,
            encoder,
            options: *options,
            plans: Mutex::default(),
            kept: Mutex::new(Kept::new(options.recordings)),
        })
    }
}

/// One polynomial of a switching key.
struct KeyPolynomial {
    request: ResidentRequest,
    kind: KeyKind,
    digit: usize,
    part: KeyPart,
    /// Positions of F and P at which it has limbs.
    positions: Arc<[usize]>,
}

/// Switching keys as a device loads them.
struct KeyLimbs<'a> {
    keys: &'a dyn SwitchingKeySource,
    polynomials: Vec<KeyPolynomial>,
    /// The first failure: a device takes no errors from a source.
    failure: Mutex<Option<Error>>,
}

impl<'a> KeyLimbs<'a> {
    fn new(keys: &'a dyn SwitchingKeySource) -> Self {
        let mut polynomials = Vec::new();
        for kind in keys.kinds() {
            let positions: Arc<[usize]> = kind.positions(keys.set()).into();
            for digit in 0..kind.digits(keys.set()) {
                for (part, recorded) in [(KeyPart::Body, Part::B), (KeyPart::Mask, Part::A)] {
                    let request = ResidentRequest::Key { kind, digit, part: recorded };
                    let positions = positions.clone();
                    polynomials.push(KeyPolynomial { request, kind, digit, part, positions });
                }
            }
        }
        Self { keys, polynomials, failure: Mutex::default() }
    }
}

impl ResidentSource for KeyLimbs<'_> {
    fn shapes(&self) -> Vec<ResidentShape> {
        let shape = |p: &KeyPolynomial| ResidentShape {
            basis: Basis::new(p.positions.iter().map(|&position| position as u16)),
            log2_run: 0,
        };
        self.polynomials.iter().map(shape).collect()
    }

    fn limb(&self, polynomial: usize, limb: usize, out: &mut [u32]) {
        let p = &self.polynomials[polynomial];
        if let Err(error) = self.keys.limb(p.kind, p.digit, p.part, p.positions[limb], out) {
            out.fill(0);
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }

    fn what(&self) -> &str {
        "evaluation keys"
    }
}
