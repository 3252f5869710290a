//! From evaluation keys to a device.

use std::sync::{Arc, Mutex};

use super::cache::Kept;
use super::device::Engine;
use super::estimate::Model;
use super::residents::Library;
use super::{ServerKey, Shared};
use crate::keys::{self, EvaluationKeys, KeyPart, SwitchingKeySource};
use crate::program::{Chain, ChainShape, KeyKind, Part, ResidentRequest};
use crate::{Encoder, Result};
use girih_backend::Progress;
use girih_backend::poly::{Basis, Loader, ResidentShape, ResidentSource};

/// Choices of a [`ServerKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Operations that run out of levels bootstrap their operands first, which needs slots of
    /// magnitude at most 1 at that point. Off by default: it takes long, and nothing is to happen
    /// unasked.
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
    /// Loads keys on a device, limb by limb; they may be dropped afterwards. `progress` hears of
    /// limbs.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) if the set does not fit the device or memory runs
    /// out.
    pub fn load(
        loader: &dyn Loader,
        keys: &EvaluationKeys,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let set = keys.set().clone();
        let chain = Chain::new(ChainShape::from(&set))?;
        let engine = Engine::open(loader, chain.ring().clone())?;
        let source = KeyLimbs::new(keys);
        let loaded = engine.load(&source, progress)?;
        if let Some(error) = source.failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Err(error);
        }
        let places = source.polynomials.iter().map(|p| p.request.clone()).collect();
        let library = Library::new(&set, places, loaded);
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
    kind: keys::KeyKind,
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
    failure: Mutex<Option<crate::Error>>,
}

impl<'a> KeyLimbs<'a> {
    fn new(keys: &'a dyn SwitchingKeySource) -> Self {
        let mut polynomials = Vec::new();
        for kind in keys.kinds() {
            let positions: Arc<[usize]> = kind.positions(keys.set()).into();
            for digit in 0..kind.digits(keys.set()) {
                for (part, recorded) in [(KeyPart::Body, Part::B), (KeyPart::Mask, Part::A)] {
                    let request =
                        ResidentRequest::Key { kind: recorded_kind(kind), digit, part: recorded };
                    let positions = positions.clone();
                    polynomials.push(KeyPolynomial { request, kind, digit, part, positions });
                }
            }
        }
        Self { keys, polynomials, failure: Mutex::default() }
    }
}

fn recorded_kind(kind: keys::KeyKind) -> KeyKind {
    match kind {
        keys::KeyKind::Multiplication => KeyKind::Multiplication,
        keys::KeyKind::DenseToSparse => KeyKind::DenseToSparse,
        keys::KeyKind::SparseToDense => KeyKind::SparseToDense,
        keys::KeyKind::Galois(g) => KeyKind::Galois(g),
    }
}

/// The same kind as client code names it.
pub(super) fn of_recorded(kind: KeyKind) -> keys::KeyKind {
    match kind {
        KeyKind::Multiplication => keys::KeyKind::Multiplication,
        KeyKind::DenseToSparse => keys::KeyKind::DenseToSparse,
        KeyKind::SparseToDense => keys::KeyKind::SparseToDense,
        KeyKind::Galois(g) => keys::KeyKind::Galois(g),
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
            let mut failure = self.failure.lock().unwrap_or_else(|e| e.into_inner());
            failure.get_or_insert(error);
        }
    }

    fn what(&self) -> &str {
        "evaluation keys"
    }
}
