//! Lists of ciphertexts, and ciphertexts that a server compressed: TFHE-rs's own server expands
//! them, on the host.

use crate::{Error, Foreign, HostKeys, Result, ServerKey, error};
use std::ops::Range;
use tfhe::prelude::*;
use tfhe::{
    CompactCiphertextList, CompressedCiphertextList, CompressedCiphertextListBuilder,
    HlCompressible, HlExpandable,
};

/// Lists of ciphertexts of TFHE-rs: `tfhe::CompactCiphertextList`, which clients encrypt by a
/// public key, and `tfhe::CompressedCiphertextList`, in which servers pack results.
pub trait List: sealed::Sealed + Sync {
    /// How many values there are, of whatever kinds.
    fn values(&self) -> usize;

    /// What value `index` is; none beyond the end or for one that TFHE-rs has no type for.
    fn kind(&self, index: usize) -> Option<tfhe::FheTypes>;

    #[doc(hidden)]
    fn expand<T>(&self, range: Range<usize>, keys: &HostKeys) -> Result<Vec<T>>
    where
        T: Foreign + HlExpandable + Send;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for tfhe::CompactCiphertextList {}
    impl Sealed for tfhe::CompressedCiphertextList {}
}

/// The values of a range, each as TFHE-rs gives it.
fn take<T>(range: Range<usize>, get: impl Fn(usize) -> tfhe::Result<Option<T>>) -> Result<Vec<T>> {
    let one = |index: usize| match get(index) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => error::ciphertexts(format!("there is no value {index}")),
        // It names both kinds.
        Err(why) => error::ciphertexts(format!("value {index} of the list: {why}")),
    };
    range.map(one).collect()
}

/// Refuses what is beyond the end.
fn check_range(list: &impl List, range: &Range<usize>) -> Result<()> {
    if range.start >= range.end || range.end > list.values() {
        return error::ciphertexts(format!(
            "values {range:?} of a list of {}: there must be at least one, and all in it",
            list.values()
        ));
    }
    Ok(())
}

impl List for CompactCiphertextList {
    fn values(&self) -> usize {
        self.len()
    }

    fn kind(&self, index: usize) -> Option<tfhe::FheTypes> {
        self.get_kind_of(index)
    }

    fn expand<T>(&self, range: Range<usize>, keys: &HostKeys) -> Result<Vec<T>>
    where
        T: Foreign + HlExpandable + Send,
    {
        check_range(self, &range)?;
        keys.with(|| {
            let expanded = self.expand_with_key(&keys.keys).map_err(|why| {
                Error::Ciphertexts(format!("a compact list that the keys do not expand: {why}"))
            })?;
            take(range, |i| expanded.get::<T>(i))
        })?
    }
}

impl List for CompressedCiphertextList {
    fn values(&self) -> usize {
        self.len()
    }

    fn kind(&self, index: usize) -> Option<tfhe::FheTypes> {
        self.get_kind_of(index)
    }

    fn expand<T>(&self, range: Range<usize>, keys: &HostKeys) -> Result<Vec<T>>
    where
        T: Foreign + HlExpandable + Send,
    {
        check_range(self, &range)?;
        keys.check_decompression()?;
        keys.with(|| take(range, |i| self.get::<T>(i)))?
    }
}

impl ServerKey {
    /// Expands values of a list that are all of one kind, and copies them to the device as one
    /// array: [`List::kind`] says what they are, and lists of several kinds are read in as many
    /// calls.
    ///
    /// # Errors
    /// [`Error::Ciphertexts`] for a range that the list does not have, values of another kind, keys
    /// that do not expand it (compressed lists take the key that `enable_compression` makes), and
    /// as [`ServerKey::upload`].
    pub fn upload_list<T>(
        &self,
        list: &impl List,
        range: Range<usize>,
        keys: &HostKeys,
    ) -> Result<T::Integers>
    where
        T: Foreign + HlExpandable + Send,
    {
        self.upload(list.expand::<T>(range, keys)?)
    }

    /// Packs ciphertexts that [`ServerKey::download`] gave into a list that clients read, in a
    /// small part of their bytes, by TFHE-rs's compression key.
    ///
    /// # Errors
    /// [`Error::Ciphertexts`] for none, and for keys without one for compression.
    pub fn compress<T>(&self, values: Vec<T>, keys: &HostKeys) -> Result<CompressedCiphertextList>
    where
        T: Foreign + HlCompressible + Send,
    {
        keys.check_decompression()?;
        if values.is_empty() {
            return error::ciphertexts("a list of no values: there must be at least one");
        }
        let built = keys.with(|| {
            let mut builder = CompressedCiphertextListBuilder::new();
            builder.extend(values.into_iter());
            builder.build()
        })?;
        built.map_err(|why| Error::Ciphertexts(format!("TFHE-rs does not compress them: {why}")))
    }
}
