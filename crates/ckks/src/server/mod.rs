//! Evaluation keys on a device, and what can be computed with them.
//!
//! A [`ServerKey`] computes on batches of [`Ciphertexts`] that lie on its device. Every operation
//! is there twice: as a method of [`ServerKey`], which runs it at once, and as one of [`Builder`],
//! with which [`ServerKey::record`] records a whole computation to be run many times. Both are one
//! code: a method of the server key runs a recording of that one operation, made when it is first
//! met and kept.
//!
//! # Levels and scales
//!
//! Operations see to them: products are rescaled, and an operand of higher level is brought down to
//! the other's by one rounding ([`ServerKey::adjust`]), never by anything else. So all ciphertexts
//! of one level have its canonical scale, unless one asks for something else
//! ([`ServerKey::mul_unscaled`], [`ServerKey::drop_to`], real bootstrappings).
//! [`Error::OutOfLevels`] names what an operation needs; with [`Options::bootstrap_when_needed`] it
//! bootstraps instead, which needs slots of magnitude at most 1 there.
//!
//! # Errors of slots
//!
//! Each batch carries an [`Estimate`] of its error, from the noise model and from what
//! approximations are off by. It cannot know the slots: it counts with the largest magnitude that
//! the encryptor named, or that [`Ciphertexts::with_magnitude`] promises later.
//!
//! Errors are tracked by their sources, so that the estimate holds for every program: what both
//! operands of a sum have of one source adds by magnitude, what is independent by squares
//! (docs/ckks.md, "Noise").

mod bootstrapping;
mod builder;
mod cache;
mod check;
mod ciphertexts;
mod diagonal;
mod downloads;
mod eager;
mod error;
mod estimate;
mod joined;
mod key_switching;
mod lift;
mod load;
mod maps;
mod matrix;
mod memory;
mod recording;
mod residents;
mod room;
mod tracked;
mod transfer;
mod vectors;

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use bootstrapping::Bootstrapping;
pub use builder::{Builder, Node, VectorNode};
pub use ciphertexts::Ciphertexts;
pub use estimate::Estimate;
pub use key_switching::KeySwitching;
pub use load::Options;
pub use maps::LinearMaps;
pub use matrix::{LinearMap, Matrix};
pub use memory::{MemoryNeed, MemoryRung};
pub use recording::{Draft, Recording};

use crate::approximation::MAX_DEGREE;
use crate::program::Chain;
use crate::{CkksParameters, Encoder, Error, Result};
use bootstrapping::Plans;
use cache::Kept;
use downloads::Downloads;
use estimate::Model;
use girih_backend::poly::PolyEngine;
use girih_rlwe::KeyId;
use residents::Library;

/// What a server key shares with its ciphertexts and recordings.
struct Shared {
    set: CkksParameters,
    id: KeyId,
    chain: Arc<Chain>,
    engine: PolyEngine,
    library: Library,
    switching: KeySwitching,
    encoder: Encoder,
}

/// Evaluation keys loaded on one device: computes on ciphertexts there.
/// It can be shared between threads.
///
/// # Errors of operations
///
/// Inputs never change, and a refused operation does nothing.
///
/// - [`Error::WrongKey`], [`Error::Order`]: a batch of another client key, or on another device.
/// - [`Error::MissingKey`]: a rotation, conjugation or product without its key; it lists those
///   that there are.
/// - [`Error::OutOfLevels`]: too few levels are left.
/// - [`Error::Level`], [`Error::Scale`]: a level that does not serve, scales that should agree.
/// - [`Error::Room`]: slots that may wrap around, or leave what a function is made for.
/// - [`Error::Length`], [`Error::Shape`], [`Error::Value`]: a vector or batch of the wrong length,
///   something of the wrong form, a number that is not finite or too large.
/// - [`Error::OutOfMemory`]: the device's memory ran out; it says what to do.
/// - [`Error::Backend`]: the device refused or failed.
pub struct ServerKey {
    shared: Arc<Shared>,
    model: Model,
    options: Options,
    plans: Plans,
    kept: Mutex<Kept>,
    downloads: Mutex<Downloads>,
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerKey({}, client key {:.8})", self.set(), self.shared.id)
    }
}

/// What a server key holds on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Bytes in all: keys, encoded vectors, ciphertexts, working memory, tables.
    pub device_bytes: u64,
    /// Encoded vectors that recordings read.
    pub vectors: usize,
    /// Recordings of single operations that are kept.
    pub recordings: usize,
}

impl ServerKey {
    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        &self.shared.set
    }

    /// Name of the client key whose ciphertexts it works on.
    pub fn key_id(&self) -> KeyId {
        self.shared.id
    }

    /// What it was loaded with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How it computes key products: what the options say, or what was measured to be fastest.
    pub fn key_switching(&self) -> KeySwitching {
        self.shared.switching
    }

    /// Whether it joins digits: what the options say, or the set's way.
    pub fn joins_digits(&self) -> bool {
        self.chain().shape().join_digits
    }

    /// What it holds on the device now.
    pub fn memory(&self) -> MemoryUse {
        MemoryUse {
            device_bytes: self.shared.engine.bytes_in_use(),
            vectors: self.shared.library.vectors(),
            recordings: self.kept_recordings().len(),
        }
    }

    /// Forgets the recordings of single operations that are kept, and with them what only they
    /// read. Recordings of [`ServerKey::record`] stay with who has them.
    pub fn forget_recordings(&self) {
        self.kept_recordings().clear();
    }

    /// Waits until the device has done everything.
    ///
    /// # Errors
    /// [`Error::Backend`] with the first failure of earlier work.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.shared.engine.synchronize()?)
    }

    /// [`ServerKey::synchronize`] for callers that must not block.
    ///
    /// # Errors
    /// As [`ServerKey::synchronize`].
    pub async fn synchronize_async(&self) -> Result<()> {
        Ok(self.shared.engine.synchronize_async().await?)
    }

    /// The device's engine: its plan, its memory, programs of one's own.
    pub fn engine(&self) -> &PolyEngine {
        &self.shared.engine
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn chain(&self) -> &Arc<Chain> {
        &self.shared.chain
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn encoder(&self) -> &Encoder {
        &self.shared.encoder
    }

    fn downloads(&self) -> MutexGuard<'_, Downloads> {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_recordings(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest degree of a polynomial on `interval` that a ciphertext at `level` has levels
    /// for, bootstrapped first where that is allowed.
    fn most_degree(&self, level: usize, interval: &RangeInclusive<f64>) -> usize {
        let after = self.set().bootstrapping().filter(|_| self.options.bootstrap_when_needed);
        let level = after.map_or(level, |_| level.max(self.set().default_level()));
        let line = usize::from((*interval.start(), *interval.end()) != (-1.0, 1.0));
        let levels = level.saturating_sub(line).min(MAX_DEGREE.ilog2() as usize + 1);
        (1 << levels) - 1
    }

    /// The scale at which a vector must be encoded for a product with a ciphertext at `level >= 1`
    /// with `scale`.
    fn plain_scale(&self, level: usize, scale: f64) -> Result<f64> {
        let Some(below) = self.set().scale(level - 1) else {
            return Err(Error::Level {
                operation: "a product with a vector".into(),
                level,
                rule: "the level below has no canonical scale".into(),
            });
        };
        Ok(below * self.set().rescale_ratio(level) / scale)
    }

    /// A batch made ready for an operation that needs a level, by a bootstrapping where that is
    /// needed and allowed; none if it is ready.
    fn with_a_level(&self, operation: &str, x: &Ciphertexts) -> Result<Option<Ciphertexts>> {
        let own = self.set().bootstrapping().filter(|_| self.options.bootstrap_when_needed);
        if own.is_some_and(|own| x.level() == own.input_level()) {
            return self.bootstrap(x).map(Some);
        }
        if x.level() > 0 { Ok(None) } else { Err(error::out_of_levels(operation, 1, 0)) }
    }
}
