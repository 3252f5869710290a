//! A client's keys on a device.

use crate::convert::{self, LookUps, Words};
use crate::{Compressed, Foreign, IntoKeys, Ours, Result, error};
use girih_backend::{Backend, LoadOptions, NoProgress, Progress};
use girih_integer::{Encrypted, Integers};
use girih_tfhe::{KeyId, LweCiphertexts, ParameterSet};
use tfhe::Tag;

/// The keys of a TFHE-rs client on a device, for arrays of its integers.
///
/// It is girih's [`Integers`], which it lends out ([`ServerKey::integers`]), with ways in and out
/// for ciphertexts of TFHE-rs. It is cheap to clone and can be shared between threads.
#[derive(Clone, Debug)]
pub struct ServerKey {
    integers: Integers,
    tag: Tag,
}

impl ServerKey {
    /// Loads a `tfhe::CompressedServerKey`, or [`Keys`](crate::Keys) that were made of one, on a
    /// device. The keys may be dropped afterwards.
    ///
    /// # Errors
    /// As [`Keys::new`](crate::Keys::new), as [`girih_tfhe::ServerKey::load`], and as
    /// [`Integers::new`] for a set on which integers fail too often.
    pub fn load(device: &dyn Backend, keys: impl IntoKeys) -> Result<Self> {
        Self::load_with(device, keys, &LoadOptions::default(), &NoProgress)
    }

    /// The same with choices of one's own, heard by `progress`.
    ///
    /// # Errors
    /// As [`ServerKey::load`].
    pub fn load_with(
        device: &dyn Backend,
        keys: impl IntoKeys,
        options: &LoadOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let keys = keys.into_keys()?;
        let (set, id) = (keys.set(), keys.key_id());
        let server = girih_tfhe::ServerKey::load_source(device, set, id, &keys, options, progress)?;
        Ok(Self { integers: Integers::new(server)?, tag: keys.tag().clone() })
    }

    /// What computes: constants, progress, limits of memory.
    pub fn integers(&self) -> &Integers {
        &self.integers
    }

    /// The parameter set.
    pub fn set(&self) -> &ParameterSet {
        self.integers.server().set()
    }

    /// The name of the client key: [`Keys::key_id`](crate::Keys::key_id).
    pub fn key_id(&self) -> KeyId {
        self.integers.key_id()
    }

    /// The tag that the client put on its keys, and so on its ciphertexts.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// Copies ciphertexts of the client to the device as one array: a `Vec<tfhe::FheUint8>` becomes
    /// a `FheUint<8>`. Conditions take a look-up each, numbers none.
    ///
    /// Ciphertexts of TFHE-rs name no key: those of another client are refused where their tag
    /// tells, and decrypt to noise where it does not.
    ///
    /// # Errors
    /// [`Error::Ciphertexts`](crate::Error::Ciphertexts) for no value, another tag, ciphertexts of
    /// other parameters, ones with carries or with more noise than their parameters allow, and
    /// failures of the device.
    pub fn upload<T: Foreign>(&self, values: Vec<T>) -> Result<T::Integers> {
        let encrypted = self.convert::<T>(values)?;
        Ok(self.integers.upload(&encrypted)?)
    }

    /// The same of ciphertexts without masks, as clients send them.
    ///
    /// # Errors
    /// As [`ServerKey::upload`] and [`Compressed::expand`].
    pub fn upload_compressed<C: Compressed>(
        &self,
        values: &[C],
    ) -> Result<<C::Value as Foreign>::Integers> {
        self.upload(values.iter().map(Compressed::expand).collect::<Result<Vec<_>>>()?)
    }

    /// Ciphertexts of the client as an array on the host. Conditions go through the device.
    ///
    /// # Errors
    /// As [`ServerKey::upload`].
    pub fn convert<T: Foreign>(&self, values: Vec<T>) -> Result<Encrypted<T::Integers>> {
        if values.is_empty() {
            return error::ciphertexts("an array of none: there must be at least one");
        }
        let Words { words, noise, count } = Words::of(self.set(), &self.tag, values)?;
        let words = LweCiphertexts::from_words(self.set(), words)?
            .with_key(self.key_id())
            .with_plaintext_modulus(Some(convert::PLAINTEXT))?;
        // A noise level counts nominal errors as if they added up in the worst way.
        let variance = words.variance() * (noise * noise) as f64;
        let words = words.with_variance(variance)?;
        match T::Integers::LOOK_UPS {
            None => convert::encrypted(words, count),
            Some(LookUps { to_ours, .. }) => {
                let table = LookUps::table(to_ours)?;
                convert::encrypted(self.integers.server().apply(&words, &table)?, count)
            }
        }
    }

    /// Copies an array back to the host as ciphertexts that the client decrypts, of nominal noise
    /// and without carries. Carries that are still to come are propagated first; conditions take a
    /// look-up each.
    ///
    /// # Errors
    /// As [`Integers::download`].
    pub fn download<T: Ours>(&self, array: &T) -> Result<Vec<T::Theirs>> {
        self.revert(&self.integers.download(array)?)
    }

    /// An array on the host as ciphertexts of TFHE-rs. Conditions go through the device.
    ///
    /// # Errors
    /// [`Error::Ciphertexts`](crate::Error::Ciphertexts) for an array of another set or client, and
    /// failures of the device.
    pub fn revert<T: Ours>(&self, encrypted: &Encrypted<T>) -> Result<Vec<T::Theirs>> {
        let (words, count, server) =
            (encrypted.ciphertexts(), encrypted.len(), self.integers.server());
        match T::LOOK_UPS {
            None => {
                self.check(words)?;
                convert::values::<T>(words, count, &self.tag)
            }
            Some(LookUps { to_theirs, .. }) => {
                let words = server.apply(words, &LookUps::table(to_theirs)?)?;
                convert::values::<T>(&words, count, &self.tag)
            }
        }
    }

    /// Refuses arrays that are not under this key.
    fn check(&self, words: &LweCiphertexts) -> Result<()> {
        if words.set() != self.set() || words.key_id().is_some_and(|id| id != self.key_id()) {
            return error::ciphertexts(format!(
                "{words:?} under the key {:?}: those of this server are of {} under {:?}",
                words.key_id(),
                self.set(),
                self.key_id()
            ));
        }
        Ok(())
    }
}
