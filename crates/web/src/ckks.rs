//! Vectors of real numbers: CKKS.

use crate::progress::ToPage;
use crate::{Device, Result, refuse};
use girih::ckks::server::{self, Ciphertexts};
use girih::ckks::{self, Ciphertext, CkksParameters, KeyKind};
use wasm_bindgen::prelude::*;

/// The secret key of one client, for vectors of real numbers.
#[wasm_bindgen]
#[derive(Debug)]
pub struct CkksClientKey(ckks::ClientKey);

#[wasm_bindgen]
impl CkksClientKey {
    /// Makes a key for a parameter set, such as CKKS_N14_D40.
    ///
    /// # Errors
    /// Naming the sets that there are; if the browser gives no entropy.
    pub fn generate(set: &str) -> Result<CkksClientKey> {
        Ok(Self(ckks::ClientKey::generate(&CkksParameters::by_name(set)?)?))
    }

    /// The keys that dot products of vectors of up to `length` numbers at levels up to `level`
    /// need: one for the product, one for each power of two below `length` to rotate by.
    ///
    /// # Errors
    /// For no or too many numbers, and if the browser gives no entropy.
    #[wasm_bindgen(js_name = dotKeys)]
    pub fn dot_keys(&self, length: usize, level: usize) -> Result<CkksEvaluationKeys> {
        let set = self.0.set();
        if length == 0 || length > set.slots() {
            return refuse(format!("vectors of {length} numbers: 1 to {} fit", set.slots()));
        }
        let steps = (0..length.next_power_of_two().ilog2()).map(|i| 1i64 << i);
        let kinds = steps.filter_map(|by| KeyKind::rotation(set, by));
        let kinds = kinds.chain([KeyKind::Multiplication]).map(|kind| kind.up_to(level));
        Ok(CkksEvaluationKeys(ckks::EvaluationKeys::generate(&self.0, kinds, &ToPage)?))
    }

    /// Encrypts a vector at a level: so many products can follow. Zeros fill it up to a power of
    /// two. No number may exceed `magnitude`, which is 1 if not given; it is public.
    ///
    /// # Errors
    /// For no or too many numbers, what is no finite number or too large, and a level that the set
    /// has not.
    pub fn encrypt(&self, values: &[f64], level: usize, magnitude: Option<f64>) -> Result<Vec<u8>> {
        let mut values = values.to_vec();
        values.resize(values.len().next_power_of_two(), 0.0);
        Ok(self.0.within(magnitude.unwrap_or(1.0)).encrypt_at(&values, level)?.to_bytes()?)
    }

    /// Decrypts a vector, zeros at its end included. Small errors of the result tell about the key:
    /// it is for the key's owner alone.
    ///
    /// # Errors
    /// For bytes that are no ciphertext of this key.
    pub fn decrypt(&self, ciphertext: &[u8]) -> Result<Vec<f64>> {
        Ok(self.0.decrypt_real(&Ciphertext::from_bytes(ciphertext)?)?)
    }
}

/// What computes on one client's vectors needs; it says nothing about its secrets.
#[wasm_bindgen]
#[derive(Debug)]
pub struct CkksEvaluationKeys(ckks::EvaluationKeys);

#[wasm_bindgen]
impl CkksEvaluationKeys {
    /// The keys as bytes.
    ///
    /// # Errors
    /// If memory runs out.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.0.to_bytes()?)
    }

    /// Reads what `toBytes` made.
    ///
    /// # Errors
    /// For bytes that are no evaluation keys, or damaged.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(bytes: &[u8]) -> Result<CkksEvaluationKeys> {
        Ok(Self(ckks::EvaluationKeys::from_bytes(bytes)?))
    }

    /// Bytes that they take.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.0.bytes() as f64
    }
}

/// Evaluation keys on a device, for vectors.
#[wasm_bindgen]
#[derive(Debug)]
pub struct CkksServerKey(server::ServerKey);

impl CkksServerKey {
    fn upload(&self, bytes: &[u8]) -> Result<Ciphertexts> {
        Ok(self.0.upload(&[Ciphertext::from_bytes(bytes)?])?)
    }

    fn download(&self, result: &Ciphertexts) -> Result<Vec<u8>> {
        Ok(self.0.download(result)?[0].to_bytes()?)
    }
}

#[wasm_bindgen]
impl CkksServerKey {
    /// Loads keys.
    ///
    /// # Errors
    /// If they do not fit the device, or it fails.
    #[wasm_bindgen(jspi)]
    pub fn load(device: &Device, keys: &CkksEvaluationKeys) -> Result<CkksServerKey> {
        Ok(Self(device.0.loader().progress(&ToPage).load(&keys.0)?))
    }

    /// Sums, slot by slot.
    ///
    /// # Errors
    /// For ciphertexts of another client or set, and failures of the device.
    #[wasm_bindgen(jspi)]
    pub fn add(&self, a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
        self.download(&self.0.add(&self.upload(a)?, &self.upload(b)?)?)
    }

    /// Products, slot by slot. They take a level.
    ///
    /// # Errors
    /// As for sums, and at level 0.
    #[wasm_bindgen(jspi)]
    pub fn multiply(&self, a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
        self.download(&self.0.mul(&self.upload(a)?, &self.upload(b)?)?)
    }

    /// The dot product of two vectors, in every slot of the result. It takes a level.
    ///
    /// # Errors
    /// As for products, and for vectors longer than the keys are for.
    #[wasm_bindgen(jspi)]
    pub fn dot(&self, a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
        let product = self.0.mul(&self.upload(a)?, &self.upload(b)?)?;
        self.download(&self.0.inner_sum(&product, product.slots(), 1)?)
    }
}
