//! Who holds which place of the device's store.

use crate::{KeyId, ParameterSet, Result, error};
use girih_backend::Engine;
use girih_rlwe::{Counts, Mismatch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The free places of an engine's store. Ranges never touch: neighbours are joined when freed.
#[derive(Default)]
pub(super) struct Store(Mutex<Places>);

/// Places of an array on the device, whatever lies there.
#[derive(Default)]
pub(super) struct Places {
    pub capacity: u32,
    /// First place and length of each free range.
    free: BTreeMap<u32, u32>,
}

impl Places {
    /// The first free range that is long enough.
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let (&first, &len) = self.free.iter().find(|(_, len)| **len >= count)?;
        self.free.remove(&first);
        if len > count {
            self.free.insert(first + count, len - count);
        }
        Some(first)
    }

    pub fn give_back(&mut self, mut first: u32, mut len: u32) {
        if let Some((&before, &before_len)) = self.free.range(..first).next_back()
            && before + before_len == first
        {
            self.free.remove(&before);
            (first, len) = (before, before_len + len);
        }
        if let Some(after_len) = self.free.remove(&(first + len)) {
            len += after_len;
        }
        self.free.insert(first, len);
    }
}

/// Ciphertexts that live on a device until this handle is dropped.
pub struct DeviceCiphertexts {
    store: Arc<Store>,
    set: ParameterSet,
    key: Option<KeyId>,
    log2_modulus: u32,
    variance: f64,
    plaintext_modulus: Option<u64>,
    first: u32,
    len: u32,
}

impl std::fmt::Debug for DeviceCiphertexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "DeviceCiphertexts({}, {} ciphertexts modulo 2^{} at {})",
            self.set, self.len, self.log2_modulus, self.first
        )
    }
}

impl DeviceCiphertexts {
    pub(super) fn new(
        store: &Arc<Store>,
        set: &ParameterSet,
        (log2_modulus, variance): (u32, f64),
        engine: &Engine,
        count: usize,
    ) -> Result<Self> {
        let Ok(len @ 1..) = u32::try_from(count) else {
            let allowed = Counts::Between(1, u32::MAX as usize);
            let what = "ciphertexts of a batch on the device";
            return error::mismatch(Mismatch::count(what, count, allowed));
        };
        let mut places = store.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = match places.take(len) {
            Some(first) => first,
            None => {
                // At least half as much again, so that a growing store is not
                // copied for each batch.
                let capacity = places.capacity;
                let Some(grown) = capacity.checked_add(len.max(capacity / 2)) else {
                    let what = format!("more ciphertexts beside {capacity} on the device");
                    let allowed = Counts::UpTo((u32::MAX - capacity) as usize);
                    return error::mismatch(Mismatch::count(what, len as usize, allowed));
                };
                engine.reserve(grown as usize)?;
                places.capacity = grown;
                places.give_back(capacity, grown - capacity);
                places.take(len).expect("the store has just grown by as much")
            }
        };
        drop(places);
        let (store, set) = (Arc::clone(store), set.clone());
        let (key, plaintext_modulus) = (None, None);
        Ok(Self { store, set, key, log2_modulus, variance, plaintext_modulus, first, len })
    }

    /// The same ciphertexts, known to be under `key`.
    pub(super) fn under(mut self, key: Option<KeyId>) -> Self {
        self.key = key;
        self
    }

    /// The same ciphertexts with another variance of their errors
    /// ([`DeviceCiphertexts::variance`]):
    /// for results of jobs of one's own.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless it is a number from 0 on.
    pub fn with_variance(self, variance: f64) -> Result<Self> {
        if !(variance.is_finite() && variance >= 0.0) {
            let rule = "it must be a number from 0 on";
            return error::mismatch(Mismatch::real("a variance", variance, rule));
        }
        Ok(self.noisy(variance))
    }

    /// The same with a variance that is known to be one.
    pub(crate) fn noisy(mut self, variance: f64) -> Self {
        self.variance = variance;
        self
    }

    /// The same ciphertexts, said to be of another plaintext modulus
    /// ([`DeviceCiphertexts::plaintext_modulus`]): for results of jobs of one's own.
    #[must_use]
    pub fn with_plaintext_modulus(mut self, modulus: Option<u64>) -> Self {
        self.plaintext_modulus = modulus;
        self
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    /// Name of the client key that they are under; none for uploaded ciphertexts that name none.
    pub fn key_id(&self) -> Option<KeyId> {
        self.key
    }

    /// log2 of the modulus.
    pub fn log2_modulus(&self) -> u32 {
        self.log2_modulus
    }

    /// Variance of the error of any message of the batch, in units of its modulus: see
    /// [`LweCiphertexts::variance`](crate::LweCiphertexts::variance).
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// How many messages fill the circle, where that is known: see
    /// [`LweCiphertexts::plaintext_modulus`](crate::LweCiphertexts::plaintext_modulus).
    pub fn plaintext_modulus(&self) -> Option<u64> {
        self.plaintext_modulus
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of messages: r for each ciphertext.
    pub fn messages(&self) -> usize {
        self.len() * self.set.packing()
    }

    /// Place of the first ciphertext in the engine's store; the others follow it.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Place of ciphertext `index` in the engine's store.
    ///
    /// # Panics
    /// If there is no such ciphertext.
    pub fn at(&self, index: usize) -> u32 {
        assert!(index < self.len(), "ciphertext {index} of a batch of {}", self.len);
        self.first + index as u32
    }

    pub(super) fn is_in(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.store, store)
    }
}

impl Drop for DeviceCiphertexts {
    fn drop(&mut self) {
        // Work in flight may still read these places; engines take calls in order, so whoever gets
        // them next writes later.
        self.store.0.lock().unwrap_or_else(PoisonError::into_inner).give_back(self.first, self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A panic of whoever held the lock (a device that gave up while the store grew) ends nothing
    /// else: a handle that is dropped while that panic unwinds would end the program.
    #[test]
    fn places_come_back_after_a_panic() {
        let store = Arc::new(Store(Mutex::new(Places { capacity: 10, free: BTreeMap::new() })));
        let set = ParameterSet::by_name("INSECURE_TOY").expect("built in");
        let held = DeviceCiphertexts {
            store: store.clone(),
            set,
            key: None,
            log2_modulus: 9,
            variance: 0.0,
            plaintext_modulus: None,
            first: 0,
            len: 10,
        };
        let holder = store.clone();
        let panicked = std::thread::spawn(move || {
            let _places = holder.0.lock();
            std::panic::resume_unwind(Box::new("a device that gives up"));
        });
        assert!(panicked.join().is_err() && store.0.is_poisoned());
        drop(held);
        assert_eq!(store.0.lock().unwrap_or_else(PoisonError::into_inner).take(10), Some(0));
    }

    proptest! {
        /// Ranges handed out never overlap, and freeing everything leaves one range.
        #[test]
        fn places_are_never_handed_out_twice(
            requests in prop::collection::vec((1u32..50, any::<bool>()), 1..200),
        ) {
            let mut places = Places { capacity: 1000, free: BTreeMap::from([(0, 1000)]) };
            let mut held: Vec<(u32, u32)> = Vec::new();
            for (count, free_one) in requests {
                if free_one && !held.is_empty() {
                    let (first, len) = held.swap_remove(count as usize % held.len());
                    places.give_back(first, len);
                } else if let Some(first) = places.take(count) {
                    prop_assert!(first + count <= 1000);
                    prop_assert!(held.iter().all(|&(f, l)| first + count <= f || f + l <= first));
                    held.push((first, count));
                }
            }
            for (first, len) in held {
                places.give_back(first, len);
            }
            prop_assert_eq!(places.free, BTreeMap::from([(0, 1000)]));
        }
    }
}
