//! From evaluation keys to a device.

use std::sync::{Arc, Mutex, PoisonError};

use super::cache::Kept;
use super::estimate::Model;
use super::key_switching::{KeySwitching, other_ring};
use super::lift;
use super::memory::{While, advised};
use super::residents::Library;
use super::{ServerKey, Shared};
use crate::keys::{EvaluationKeys, KeyKind, KeyPart, StreamedKeys, SwitchingKeySource};
use crate::program::{Part, ResidentRequest};
use crate::{CkksParameters, Encoder, Error, KeyId, Result};
use girih_backend::poly::{Basis, PolyEngine, PolyOptions, ResidentShape, ResidentSource};
use girih_backend::{Backend, Preparation, Progress, block_on, preparing};
use girih_ring::sampler::PublicStream;

/// Choices of a [`ServerKey`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Operations that run out of levels bootstrap their operands first, which needs slots of
    /// magnitude at most 1 at that point. Off by default: it takes long,
    /// and nothing is to happen unasked.
    pub bootstrap_when_needed: bool,
    /// Operations whose slots may wrap around modulo the modulus of their level, or leave what a
    /// function or a bootstrapping takes, are done all the same. Nothing is promised of their
    /// results and of what is computed of them, 0 bits, until
    /// [`Ciphertexts::with_estimate`](super::Ciphertexts::with_estimate) says better. Off by
    /// default: they are refused with [`Error::Room`].
    pub may_wrap: bool,
    /// Rotations whose key is missing are composed of those whose keys there are, the fewest that
    /// do: with keys of 1, 2 and 4, seven slots are three rotations, each with the time and the
    /// error of one. Linear maps and bootstrappings need their own keys all the same. Off by
    /// default, since nothing is to take long unasked: they are refused with
    /// [`Error::MissingKey`].
    pub compose_rotations: bool,
    /// Recordings of single operations that are kept for later calls, 256 by default; the one
    /// unused for longest goes first.
    pub recordings: usize,
    /// How key products are computed; results are the same. None takes what was measured to be
    /// fastest on the device ([`KeySwitching::note`]), hybrid where nothing was.
    pub key_switching: Option<KeySwitching>,
    /// Whether digits of a level are joined where they fit into one, which saves work and may add
    /// noise: less than the rounding that follows, but at the one level where slots-to-coefficients
    /// begins ([`CkksParameters::joined_digits_at`](crate::CkksParameters::joined_digits_at)).
    /// Results are other words. None is the set's way
    /// ([`CkksParameters::joins_digits`](crate::CkksParameters::joins_digits)).
    pub join_digits: Option<bool>,
    /// Whether sums of the keys of joined digits are kept on the device for as long as a recording
    /// reads them, which is faster, or the products with each key are summed, which takes less
    /// memory; results are the same. On by default but in browsers, where nothing may wait for
    /// sums. KLSS always does without.
    pub sum_keys: bool,
    /// Whether the sines of a bootstrapping's two halves are calls of their own, which several
    /// devices as one run side by side: one bootstrapping then ends sooner where devices reach each
    /// other's memory. It takes three recordings instead of one; results are the same. Where
    /// bootstrappings are part of a recording, they are not divided. Off by default.
    pub divide_sines: bool,
    /// What is not left to the device; results are the same.
    pub device: PolyOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bootstrap_when_needed: false,
            may_wrap: false,
            compose_rotations: false,
            recordings: 256,
            key_switching: None,
            join_digits: None,
            sum_keys: !cfg!(target_family = "wasm"),
            divide_sines: false,
            device: PolyOptions::default(),
        }
    }
}

impl Options {
    /// The same, operations that run out of levels bootstrapping their operands or not.
    #[must_use]
    pub fn with_bootstrap_when_needed(self, bootstrap_when_needed: bool) -> Self {
        Self { bootstrap_when_needed, ..self }
    }

    /// The same, operations whose slots may not fit done all the same or not.
    #[must_use]
    pub fn with_may_wrap(self, may_wrap: bool) -> Self {
        Self { may_wrap, ..self }
    }

    /// The same, rotations composed of those whose keys there are or not.
    #[must_use]
    pub fn with_compose_rotations(self, compose_rotations: bool) -> Self {
        Self { compose_rotations, ..self }
    }

    /// The same, keeping this many recordings of single operations.
    #[must_use]
    pub fn with_recordings(self, recordings: usize) -> Self {
        Self { recordings, ..self }
    }

    /// The same with key products this way; `None` takes what was measured.
    #[must_use]
    pub fn with_key_switching(self, way: impl Into<Option<KeySwitching>>) -> Self {
        Self { key_switching: way.into(), ..self }
    }

    /// The same, digits joined or not; `None` is the set's way.
    #[must_use]
    pub fn with_join_digits(self, join: impl Into<Option<bool>>) -> Self {
        Self { join_digits: join.into(), ..self }
    }

    /// The same, sums of keys kept on the device or not.
    #[must_use]
    pub fn with_sum_keys(self, sum_keys: bool) -> Self {
        Self { sum_keys, ..self }
    }

    /// The same, the sines of a bootstrapping divided or not.
    #[must_use]
    pub fn with_divide_sines(self, divide_sines: bool) -> Self {
        Self { divide_sines, ..self }
    }

    /// The same with these choices of the device.
    #[must_use]
    pub fn with_device(self, device: PolyOptions) -> Self {
        Self { device, ..self }
    }
}

impl ServerKey {
    /// Loads keys on a device, limb by limb; they may be dropped afterwards.
    /// `progress` hears of polynomials.
    ///
    /// # Errors
    /// [`Error::Backend`] if the device runs no programs on polynomials, does not know a choice, or
    /// the set does not fit it; [`Error::OutOfMemory`] if its memory runs out; [`Error::Shape`] for
    /// groups of KLSS that the set cannot have.
    pub fn load(
        device: &dyn Backend,
        keys: &EvaluationKeys,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let options = with_switching(device, keys.set(), options, progress)?;
        let _expanding = preparing(Preparation::Expansion);
        let engine = open(device, keys.set(), &options, progress)?;
        block_on(Self::on_engine(engine, keys, &options, progress))
    }

    /// Makes keys and loads them, each limb when the device asks for it: sooner than
    /// [`EvaluationKeys::generate`] and [`ServerKey::load`] one after the other, and without a
    /// whole copy in the host's memory. Words are the same. Where each limb is read more than once,
    /// by several devices as one and under KLSS, they are made whole first.
    /// `progress` hears of polynomials, or of limbs.
    ///
    /// # Errors
    /// As [`ServerKey::load`].
    pub fn load_streamed(
        device: &dyn Backend,
        keys: &StreamedKeys<'_>,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let options = with_switching(device, keys.set(), options, progress)?;
        let hybrid = options.key_switching == Some(KeySwitching::Hybrid);
        let engine = {
            let _expanding = preparing(Preparation::Expansion);
            open(device, keys.set(), &options, progress)?
        };
        if !hybrid || engine.device().copies() > 1 {
            let keys = keys.whole(progress)?;
            let _expanding = preparing(Preparation::Expansion);
            return block_on(Self::on_engine(engine, &keys, &options, progress));
        }
        let _making = preparing(Preparation::Keys);
        keys.draw_errors();
        block_on(Self::of_source(engine, (keys, keys.key_id()), &options, progress))
    }

    /// [`ServerKey::load`] for callers that must not block, on an engine opened for the set's ring
    /// ([`KeySwitching::ring`]). Key switching is hybrid where the options leave it open.
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
        Self::of_source(engine, (keys, keys.key_id()), options, progress).await
    }

    /// The same of keys from anywhere, which are of the client key of this name.
    async fn of_source(
        engine: PolyEngine,
        (keys, id): (&dyn SwitchingKeySource, KeyId),
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let set = keys.set().clone();
        let switching = options.key_switching.unwrap_or_default();
        let joins = options.join_digits.unwrap_or_else(|| set.joins_digits());
        let chain = switching.chain(&set, joins)?;
        if engine.ring() != chain.ring() {
            return Err(other_ring(&set, switching));
        }
        let lifts = |kind: KeyKind| switching != KeySwitching::Hybrid && lift::is_lifted(kind);
        let source = KeyLimbs::new(keys, engine.ring().invariant_from, |kind| !lifts(kind));
        let loaded = engine.load_async(&source, progress).await.map_err(advised(While::Loading))?;
        if let Some(error) = source.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let requests = source.polynomials.into_iter().map(|p| p.request);
        let mut residents: Vec<_> = requests.zip(loaded).collect();
        residents.extend(lift::load(&engine, &chain, keys, lifts, progress).await?);
        let levels = keys.kinds().into_iter().map(|kind| (kind, keys.range(kind).level));
        let library = Library::new(&set, residents, levels.collect());
        let encoder = Encoder::new(set.chain().log2_degree())?;
        let model = Model::new(&set, joins);
        let shared = Shared { set, id, chain, engine, library, switching, encoder };
        Ok(Self {
            shared: Arc::new(shared),
            model,
            options: Options { key_switching: Some(switching), ..options.clone() },
            plans: Mutex::default(),
            kept: Mutex::new(Kept::new(options.recordings)),
            downloads: Mutex::default(),
        })
    }
}

/// The options with the key switching that is measured to be fastest where they leave it open.
fn with_switching(
    device: &dyn Backend,
    set: &CkksParameters,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Options> {
    let switching = match options.key_switching {
        Some(switching) => switching,
        // Who leaves the device to its model wants no measured choice here either.
        None if options.device.untuned => KeySwitching::Hybrid,
        None => KeySwitching::fastest(device, set, progress)?,
    };
    Ok(Options { key_switching: Some(switching), ..options.clone() })
}

/// An engine for the ring of keys that are to be loaded.
fn open(
    device: &dyn Backend,
    set: &CkksParameters,
    options: &Options,
    progress: &dyn Progress,
) -> Result<PolyEngine> {
    let ring = options.key_switching.unwrap_or_default().ring(set)?;
    Ok(PolyEngine::open_with(device, ring, &options.device, progress)?)
}

/// One polynomial of a switching key.
struct KeyPolynomial {
    request: ResidentRequest,
    kind: KeyKind,
    digit: usize,
    part: KeyPart,
    /// Positions of F and P at which it has limbs.
    positions: Arc<[usize]>,
    /// The prime of the ring that stands for position 0.
    first: usize,
}

/// Switching keys as a device loads them.
struct KeyLimbs<'a> {
    keys: &'a dyn SwitchingKeySource,
    polynomials: Vec<KeyPolynomial>,
    /// The first failure: a device takes no errors from a source.
    failure: Mutex<Option<Error>>,
}

impl<'a> KeyLimbs<'a> {
    /// The keys that are wanted; primes of the conjugation-invariant ring begin at
    /// `invariant_from`.
    fn new(
        keys: &'a dyn SwitchingKeySource,
        invariant_from: usize,
        wanted: impl Fn(KeyKind) -> bool,
    ) -> Self {
        let mut polynomials = Vec::new();
        for kind in keys.kinds().into_iter().filter(|&kind| wanted(kind)) {
            let range = keys.range(kind);
            let positions: Arc<[usize]> = range.positions(keys.set()).into();
            let first = if kind.is_invariant() { invariant_from } else { 0 };
            for digit in range.digits(keys.set()) {
                for (part, recorded) in [(KeyPart::Body, Part::B), (KeyPart::Mask, Part::A)] {
                    let request = ResidentRequest::Key { kind, digit, part: recorded };
                    let positions = positions.clone();
                    let of = KeyPolynomial { request, kind, digit, part, positions, first };
                    polynomials.push(of);
                }
            }
        }
        Self { keys, polynomials, failure: Mutex::default() }
    }
}

impl ResidentSource for KeyLimbs<'_> {
    fn shapes(&self) -> Vec<ResidentShape> {
        let shape = |p: &KeyPolynomial| ResidentShape {
            basis: Basis::new(p.positions.iter().map(|&position| (p.first + position) as u16)),
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

    fn stream(&self, polynomial: usize, limb: usize) -> Option<PublicStream> {
        let p = &self.polynomials[polynomial];
        self.keys.stream(p.kind, p.digit, p.part, p.positions[limb])
    }

    fn what(&self) -> &str {
        "evaluation keys"
    }
}
