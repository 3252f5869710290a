//! How a server key comes to a device.

use super::ServerKey;
use super::failure::Bound;
use super::store::Store;
use super::table_cache::TableCache;
use crate::compression::Merger;
use crate::{EvaluationKeys, KeyId, NoiseModel, ParameterSet, Result, error};
use girih_backend::{Backend, Engine, KeySource, LoadOptions, LoadRequest, Progress};
use girih_rlwe::Mismatch;
use std::sync::Arc;

impl ServerKey {
    /// Loads keys on a device. The keys may be dropped afterwards.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) if the set does not fit the device, needs
    /// something that it lacks, or memory runs out.
    pub fn load(
        backend: &dyn Backend,
        keys: &EvaluationKeys,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let engine = LoadRequest::new(keys).options(options).progress(progress).load(backend)?;
        let mut server = Self::alone(keys.set(), keys.key_id(), engine);
        server.merger = Self::merger(keys)?;
        Ok(server)
    }

    /// Loads keys that were made elsewhere: of `set`, said to be under the client key `id`. No one
    /// can check either; words that are no such keys give wrong results.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for keys of another shape than the set's, and as
    /// [`ServerKey::load`].
    pub fn load_source(
        backend: &dyn Backend,
        set: &ParameterSet,
        id: KeyId,
        keys: &dyn KeySource,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if keys.shape() != set.shape() {
            return error::mismatch(Mismatch::Form {
                what: format!("keys for {set}"),
                found: format!("of the shape {:?}", keys.shape()),
                expected: format!("the set has {:?}", set.shape()),
            });
        }
        let engine = LoadRequest::new(keys).options(options).progress(progress).load(backend)?;
        Ok(Self::alone(set, id, engine))
    }

    /// An engine that shares nothing with another, without a compression key.
    fn alone(set: &ParameterSet, id: KeyId, engine: Engine) -> Self {
        let tables = TableCache::new(set.shape().polynomial_size, Self::TABLE_BYTES);
        Self::on(set, id, engine, Arc::default(), Arc::new(tables))
    }

    fn on(
        set: &ParameterSet,
        id: KeyId,
        engine: Engine,
        store: Arc<Store>,
        tables: Arc<TableCache>,
    ) -> Self {
        let model = NoiseModel::with_transform(set, engine.transform());
        let bound = Bound::new(model.default_bound());
        Self { set: set.clone(), id, engine, store, tables, model, bound, merger: None }
    }

    fn merger(keys: &EvaluationKeys) -> Result<Option<Merger>> {
        keys.compression().map(|key| Merger::new(keys.set(), key)).transpose()
    }

    /// Loads further keys of the same secrets, whose set differs in its gadget alone, beside these:
    /// both work on the same [`DeviceCiphertexts`], with one key-switching table between them.
    ///
    /// # Errors
    /// As [`ServerKey::load`], [`Error::WrongKey`](crate::Error::WrongKey) for keys of another
    /// client, and [`Error::Backend`](crate::Error::Backend) for another device or keys that differ
    /// in more.
    pub fn load_beside(
        &self,
        backend: &dyn Backend,
        keys: &EvaluationKeys,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if keys.key_id() != self.id {
            let rule = "keys beside others must be of one client key with them";
            return error::wrong_key("evaluation keys", [keys.key_id(), self.id], rule);
        }
        let engine = LoadRequest::new(keys)
            .options(options)
            .beside(&self.engine)
            .progress(progress)
            .load(backend)?;
        let (store, tables) = (Arc::clone(&self.store), Arc::clone(&self.tables));
        let mut server = Self::on(keys.set(), self.id, engine, store, tables);
        server.merger = Self::merger(keys)?;
        Ok(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, ExplicitKeys, Gate};
    use girih_backend::NoProgress;

    /// Keys written out by somebody else compute under the name that they are given.
    #[test]
    fn keys_from_elsewhere_are_loaded_under_a_name() {
        let set = ParameterSet::by_name("INSECURE_TOY_TORUS").expect("built in");
        let client = ClientKey::generate_seeded_for_tests(&set, [5; 32]).expect("a toy");
        let keys = EvaluationKeys::generate(&client, &NoProgress).expect("a toy");
        let explicit = ExplicitKeys::expand(&keys).expect("whole keys");
        let device = girih_cpu::CpuBackend::new();
        let load = |set: &ParameterSet| {
            let (id, options) = (client.key_id(), LoadOptions::default());
            ServerKey::load_source(&device, set, id, &explicit, &options, &NoProgress)
        };
        let server = load(&set).expect("of this set");
        assert_eq!((server.key_id(), server.set()), (client.key_id(), &set));
        let bits = client.encrypt_bits(&[true, false]).expect("fits");
        let not = server.gate(Gate::Nand, &bits, &bits).expect("of this key");
        assert_eq!(client.decrypt_bits(&not).expect("of this key"), [false, true]);

        let other = ParameterSet::by_name("INSECURE_TOY").expect("built in");
        let error = load(&other).expect_err("another shape").to_string();
        assert!(error.contains("INSECURE_TOY"), "{error}");
    }
}
