//! A web service that computes on encrypted integers. It holds keys to compute with, sees
//! ciphertexts, and can decrypt nothing.
//!
//! | call | body | answer |
//! |---|---|---|
//! | `POST /keys` | `EvaluationKeys::to_bytes` | the name of the keys, in text |
//! | `POST /keys/{name}/cap` | amounts and limits, 16 bits, two parts | amounts, bits: two parts |
//!
//! `cap` cuts amounts off at their limits, and says which were above. [`framing`] is how parts make
//! one body.
//!
//! What is refused is answered with a sentence: 400 for bytes that are not what they should be, 404
//! for keys that are not held (send them again), 413 for a body that is too long, 503 while as many
//! calls run as may.

pub mod framing;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use girih::tfhe::prelude::*;
use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// What a service may hold and do at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Keys on the device. Those that were used longest ago make room for others.
    pub keys: usize,
    /// Calls that compute; more are refused, so that nobody waits without an end in sight.
    pub calls: usize,
    /// Integers of one call.
    pub integers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { keys: 4, calls: 4, integers: 1024 }
    }
}

/// Keys that a client sent, on the device.
struct Held {
    name: String,
    integers: Integers,
}

/// A device, and the keys on it. They are for computing: no secret is ever here.
pub struct Service {
    device: Device,
    set: ParameterSet,
    limits: Limits,
    calls: Semaphore,
    /// Used last first.
    held: Mutex<VecDeque<Held>>,
}

/// A refusal: what kind, and why in words.
type Refusal = (StatusCode, String);

fn bad(error: impl Display) -> Refusal {
    (StatusCode::BAD_REQUEST, format!("{error}\n"))
}

fn failed(error: impl Display) -> Refusal {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"))
}

impl Service {
    /// A service on `device` for clients with keys of `set`, and of no other: how much memory keys
    /// take, and how safe they are, is not for strangers to choose.
    pub fn new(device: Device, set: ParameterSet, limits: Limits) -> Arc<Self> {
        let calls = Semaphore::new(limits.calls);
        Arc::new(Self { device, set, limits, calls, held: Mutex::default() })
    }

    /// Its calls, for `axum::serve`.
    pub fn router(self: &Arc<Self>) -> Router {
        // What is not in large parts fits into as much for either kind of body.
        const BESIDE: usize = 64 << 10;
        let keys = EvaluationKeys::most_bytes(&self.set) + BESIDE;
        // Two arrays, a ciphertext for every two bits, at most 8 bytes a word.
        let words = self.limits.integers * BITS as usize / 2 * self.set.shape().ciphertext_len();
        let integers = 2 * 8 * words + BESIDE;
        Router::new()
            .route("/keys", post(take_keys).layer(DefaultBodyLimit::max(keys)))
            .route("/keys/{name}/cap", post(cap).layer(DefaultBodyLimit::max(integers)))
            .with_state(Arc::clone(self))
    }

    /// The keys of this name, which are the last used from now on.
    fn find(&self, name: &str) -> Option<Integers> {
        // A list of keys holds no invariant that a panic elsewhere could break.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let at = held.iter().position(|held| held.name == name)?;
        let found = held.remove(at)?;
        let integers = found.integers.clone();
        held.push_front(found);
        Some(integers)
    }

    /// Loads keys, unless they are here.
    fn load(&self, bytes: &[u8]) -> Result<String, Refusal> {
        let keys = EvaluationKeys::from_bytes_for(&self.set, bytes).map_err(bad)?;
        // By all their bytes: whoever claims another's key id replaces nothing.
        let name = blake3::hash(bytes).to_string();
        if self.find(&name).is_none() {
            let server = self.device.load(&keys).map_err(failed)?;
            let integers = Integers::new(server).map_err(failed)?;
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.push_front(Held { name: name.clone(), integers });
            // Those that compute now keep theirs until they are done.
            held.truncate(self.limits.keys);
        }
        Ok(name)
    }

    // ANCHOR: cap
    /// Amounts cut off at their limits, and which were above.
    fn cap(&self, integers: &Integers, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let [amounts, limits] = framing::split::<2>(body).map_err(bad)?;
        let read = |bytes| {
            Encrypted::<FheUint<BITS>>::from_bytes_for(&self.set, self.limits.integers, bytes)
        };
        let (amounts, limits) = (read(amounts).map_err(bad)?, read(limits).map_err(bad)?);
        // Whatever does not fit together, of another client or another length, is refused here.
        let (x, most) =
            (integers.upload(&amounts).map_err(bad)?, integers.upload(&limits).map_err(bad)?);
        let above = x.greater(&most).map_err(bad)?;
        let capped = above.select(&most, &x).map_err(bad)?;
        let (capped, above) = (integers.download(&capped), integers.download(&above));
        let bytes = [
            capped.and_then(|capped| capped.to_bytes()).map_err(failed)?,
            above.and_then(|above| above.to_bytes()).map_err(failed)?,
        ];
        Ok(framing::join(&bytes))
    }
    // ANCHOR_END: cap
}

/// Bits of an amount.
pub const BITS: u32 = 16;

// ANCHOR: compute
/// Runs `work`, which takes milliseconds to seconds, on a thread of its own: those that serve
/// connections stay free.
async fn compute<T: Send + 'static>(
    service: &Arc<Service>,
    work: impl FnOnce(&Service) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let Ok(_permit) = service.calls.try_acquire() else {
        let calls = service.limits.calls;
        let why = format!("{calls} calls are running, which is all that may: try again\n");
        return Err((StatusCode::SERVICE_UNAVAILABLE, why));
    };
    let own = Arc::clone(service);
    spawn_blocking(move || work(&own)).await.map_err(failed)?
}
// ANCHOR_END: compute

async fn take_keys(State(service): State<Arc<Service>>, body: Bytes) -> Result<String, Refusal> {
    compute(&service, move |service| service.load(&body)).await
}

async fn cap(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Vec<u8>, Refusal> {
    let Some(integers) = service.find(&name) else {
        let why = "keys of this name are not here, or no longer: send them to /keys\n";
        return Err((StatusCode::NOT_FOUND, why.into()));
    };
    compute(&service, move |service| service.cap(&integers, &body)).await
}
