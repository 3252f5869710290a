//! Encryption of values whose magnitude is declared.

use super::{ClientKey, PublicKey};
use crate::{Ciphertext, CkksParameters, Error, Plaintext, Result, SeededCiphertext};
use girih_backend::parallel::prelude::*;
use girih_rlwe::MaskSeed;
use num_complex::Complex64;

/// A key that encrypts values up to a declared magnitude: what [`ClientKey::within`] and
/// [`PublicKey::within`] give.
///
/// ```
/// # use girih_ckks::{CkksParameters, ClientKey};
/// # fn main() -> girih_ckks::Result<()> {
/// let client = ClientKey::generate(&CkksParameters::by_name("INSECURE_CKKS_D40_N10")?)?;
/// assert!(client.encrypt(&[36.6, 41.2]).is_err());
/// let fever = client.within(50.0).encrypt(&[36.6, 41.2])?;
/// assert_eq!(fever.noise().magnitude, 50.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Within<'k, K> {
    key: &'k K,
    magnitude: f64,
}

impl<K> Clone for Within<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Within<'_, K> {}

impl<'k, K> Within<'k, K> {
    fn new(key: &'k K, magnitude: f64) -> Self {
        Self { key, magnitude }
    }

    /// The declared magnitude.
    pub fn magnitude(&self) -> f64 {
        self.magnitude
    }

    fn checked(&self, set: &CkksParameters, plaintext: &Plaintext, level: usize) -> Result<f64> {
        if !(self.magnitude > 0.0 && self.magnitude.is_finite()) {
            return Err(Error::Value {
                what: "the declared magnitude".into(),
                value: self.magnitude.to_string(),
                rule: "it must be finite and positive".into(),
            });
        }
        plaintext.check_within(self.magnitude)?;
        set.check_level("encryption", level)?;
        let room = set.room(level, plaintext.scale());
        if self.magnitude >= room {
            return Err(Error::Room {
                operation: "encryption".into(),
                reach: self.magnitude,
                rule: format!(
                    "at level {level} and this scale there is room below {room:.4e} and what is \
                     above wraps around: declare a smaller magnitude (`within`) if values stay \
                     below it; else encrypt at a higher level, or scale values down"
                ),
            });
        }
        Ok(self.magnitude)
    }
}

/// What becomes of all of them, on all cores, or the first that fails in their order.
fn all<X: Sync, Y: Send>(of: &[X], one: impl Fn(&X) -> Result<Y> + Sync) -> Result<Vec<Y>> {
    let made: Vec<Result<Y>> = of.par_iter().map(&one).collect();
    made.into_iter().collect()
}

impl ClientKey {
    /// The key for values up to `magnitude`, which everyone may know who sees the ciphertexts.
    ///
    /// A ciphertext carries a bound of its values, since errors of products grow with it. That
    /// bound is public, so it is what the caller says and never computed from the values: 1 where
    /// nothing is said, and values above it are refused.
    pub fn within(&self, magnitude: f64) -> Within<'_, Self> {
        Within::new(self, magnitude)
    }
}

impl PublicKey {
    /// The key for values up to `magnitude`, which everyone may know who sees the ciphertexts: as
    /// [`ClientKey::within`].
    pub fn within(&self, magnitude: f64) -> Within<'_, Self> {
        Within::new(self, magnitude)
    }
}

impl Within<'_, ClientKey> {
    /// [`ClientKey::encrypt`] of values up to this magnitude.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt`]; [`Error::Value`] for a magnitude that is not finite and positive.
    pub fn encrypt<T: Copy + Into<Complex64>>(&self, values: &[T]) -> Result<Ciphertext> {
        self.encrypt_at(values, self.key.set().default_level())
    }

    /// [`ClientKey::encrypt_at`] of values up to this magnitude.
    ///
    /// # Errors
    /// As [`Within::encrypt`]; [`Error::Level`].
    pub fn encrypt_at<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
        level: usize,
    ) -> Result<Ciphertext> {
        self.encrypt_plaintext(&self.encoded(values, level)?, level)
    }

    /// [`ClientKey::encrypt_many`] of values up to this magnitude.
    ///
    /// # Errors
    /// As [`Within::encrypt`]; if one vector is refused, nothing is encrypted.
    pub fn encrypt_many<T, V>(&self, vectors: &[V]) -> Result<Vec<Ciphertext>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        self.encrypt_many_at(vectors, self.key.set().default_level())
    }

    /// The same at a level of choice, which must have a canonical scale.
    ///
    /// # Errors
    /// As [`Within::encrypt_many`]; [`Error::Level`].
    pub fn encrypt_many_at<T, V>(&self, vectors: &[V], level: usize) -> Result<Vec<Ciphertext>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        Ok(self.many(vectors, level)?.into_iter().map(|(whole, _)| whole).collect())
    }

    /// [`Within::encrypt_many_at`] to ciphertexts without masks, as [`Within::encrypt_seeded_at`].
    ///
    /// # Errors
    /// As [`Within::encrypt_many_at`].
    pub fn encrypt_seeded_many_at<T, V>(
        &self,
        vectors: &[V],
        level: usize,
    ) -> Result<Vec<SeededCiphertext>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        let made = self.many(vectors, level)?.into_iter();
        Ok(made.map(|(whole, seed)| SeededCiphertext::new(whole, seed)).collect())
    }

    fn many<T, V>(&self, vectors: &[V], level: usize) -> Result<Vec<(Ciphertext, MaskSeed)>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        let encoded = all(vectors, |vector| {
            let plaintext = self.encoded(vector.as_ref(), level)?;
            let magnitude = self.checked(self.key.set(), &plaintext, level)?;
            Ok((plaintext, magnitude))
        })?;
        // In their order, so that a key for tests gives the words that it gives one by one.
        let drawn = |(plaintext, magnitude)| {
            let fresh = self.key.drawn(&plaintext, level)?;
            Ok((plaintext, magnitude, fresh))
        };
        let drawn = encoded.into_iter().map(drawn).collect::<Result<Vec<_>>>()?;
        all(&drawn, |(plaintext, magnitude, fresh)| {
            self.key.encrypt_with(plaintext, level, *magnitude, fresh)
        })
    }

    /// [`ClientKey::encrypt_seeded`] of values up to this magnitude.
    ///
    /// # Errors
    /// As [`Within::encrypt`].
    pub fn encrypt_seeded<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
    ) -> Result<SeededCiphertext> {
        self.encrypt_seeded_at(values, self.key.set().default_level())
    }

    /// The same at a level of choice, which must have a canonical scale.
    ///
    /// # Errors
    /// As [`Within::encrypt_at`].
    pub fn encrypt_seeded_at<T: Copy + Into<Complex64>>(
        &self,
        values: &[T],
        level: usize,
    ) -> Result<SeededCiphertext> {
        let plaintext = self.encoded(values, level)?;
        let magnitude = self.checked(self.key.set(), &plaintext, level)?;
        let (whole, seed) = self.key.encrypt_encoded(&plaintext, level, magnitude)?;
        Ok(SeededCiphertext::new(whole, seed))
    }

    fn encoded<T: Copy + Into<Complex64>>(&self, values: &[T], level: usize) -> Result<Plaintext> {
        let set = self.key.set();
        set.check_level("encryption", level)?;
        let Some(scale) = set.scale(level) else {
            let rule = "the level has no canonical scale: encode with a scale of your choice and \
                        use encrypt_plaintext"
                .into();
            return Err(Error::Level { operation: "encryption".into(), level, rule });
        };
        self.key.host().encoder().encode(values, scale)
    }

    /// [`ClientKey::encrypt_plaintext`] of slots up to this magnitude.
    ///
    /// # Errors
    /// As [`ClientKey::encrypt_plaintext`] and [`Within::encrypt`].
    pub fn encrypt_plaintext(&self, plaintext: &Plaintext, level: usize) -> Result<Ciphertext> {
        let magnitude = self.checked(self.key.set(), plaintext, level)?;
        Ok(self.key.encrypt_encoded(plaintext, level, magnitude)?.0)
    }
}

impl Within<'_, PublicKey> {
    /// [`PublicKey::encrypt`] of values up to this magnitude.
    ///
    /// # Errors
    /// As for the client key's.
    pub fn encrypt<T: Copy + Into<Complex64>>(&self, values: &[T]) -> Result<Ciphertext> {
        let set = self.key.set();
        let scale = set.scale(set.default_level()).expect("normal levels have one");
        self.encrypt_plaintext(&self.key.host().encoder().encode(values, scale)?)
    }

    /// [`PublicKey::encrypt_many`] of values up to this magnitude.
    ///
    /// # Errors
    /// As [`Within::encrypt`].
    pub fn encrypt_many<T, V>(&self, vectors: &[V]) -> Result<Vec<Ciphertext>>
    where
        T: Copy + Into<Complex64>,
        V: AsRef<[T]> + Sync,
    {
        all(vectors, |vector| self.encrypt(vector.as_ref()))
    }

    /// [`PublicKey::encrypt_plaintext`] of slots up to this magnitude.
    ///
    /// # Errors
    /// As for the client key's.
    pub fn encrypt_plaintext(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let set = self.key.set();
        let magnitude = self.checked(set, plaintext, set.default_level())?;
        self.key.encrypt_encoded(plaintext, magnitude)
    }
}
