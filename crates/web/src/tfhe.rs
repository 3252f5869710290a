//! Keys, encrypted bits and gates.

use crate::progress::ToPage;
use crate::{Device, Result, refuse};
use girih::tfhe::{self, Gate, LweCiphertexts, ParameterSet};
use wasm_bindgen::prelude::*;

/// The secret key of one client.
#[wasm_bindgen]
#[derive(Debug)]
pub struct ClientKey(pub(crate) tfhe::ClientKey);

#[wasm_bindgen]
impl ClientKey {
    /// Makes a key for a parameter set: `STD128` for gates, `GIRIH_2_2` for integers.
    ///
    /// # Errors
    /// Naming the sets that there are; if the browser gives no entropy.
    pub fn generate(set: &str) -> Result<ClientKey> {
        Ok(Self(tfhe::ClientKey::generate(&ParameterSet::by_name(set)?)?))
    }

    /// The keys that whoever computes needs. They are public.
    ///
    /// # Errors
    /// If the browser gives no entropy.
    #[wasm_bindgen(js_name = evaluationKeys)]
    pub fn evaluation_keys(&self) -> Result<EvaluationKeys> {
        Ok(EvaluationKeys(tfhe::EvaluationKeys::generate(&self.0, &ToPage)?))
    }

    /// Encrypts bits, given as numbers 0 and 1.
    ///
    /// # Errors
    /// For other numbers.
    #[wasm_bindgen(js_name = encryptBits)]
    pub fn encrypt_bits(&self, bits: &[u8]) -> Result<Vec<u8>> {
        if let Some(other) = bits.iter().find(|&&b| b > 1) {
            return refuse(format!("{other} is no bit: 0 and 1 are"));
        }
        let bits: Vec<bool> = bits.iter().map(|&b| b == 1).collect();
        Ok(self.0.encrypt_bits(&bits)?.to_bytes()?)
    }

    /// Decrypts bits: numbers 0 and 1.
    ///
    /// # Errors
    /// For bytes that are no encrypted bits of this key.
    #[wasm_bindgen(js_name = decryptBits)]
    pub fn decrypt_bits(&self, ciphertexts: &[u8]) -> Result<Vec<u8>> {
        let bits = self.0.decrypt_bits(&LweCiphertexts::from_bytes(ciphertexts)?)?;
        Ok(bits.into_iter().map(u8::from).collect())
    }

    /// The key as bytes, which are secret.
    ///
    /// # Errors
    /// If memory runs out.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.0.to_bytes()?.to_vec())
    }

    /// Reads what `toBytes` made.
    ///
    /// # Errors
    /// For bytes that are no client key, or damaged.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(bytes: &[u8]) -> Result<ClientKey> {
        Ok(Self(tfhe::ClientKey::from_bytes(bytes)?))
    }
}

/// What computes on one client's ciphertexts needs; it says nothing about its secrets.
#[wasm_bindgen]
#[derive(Debug)]
pub struct EvaluationKeys(tfhe::EvaluationKeys);

#[wasm_bindgen]
impl EvaluationKeys {
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
    pub fn from_bytes(bytes: &[u8]) -> Result<EvaluationKeys> {
        Ok(Self(tfhe::EvaluationKeys::from_bytes(bytes)?))
    }

    /// Bytes that they take.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> f64 {
        self.0.bytes() as f64
    }
}

/// Evaluation keys on a device, for gates.
#[wasm_bindgen]
#[derive(Debug)]
pub struct ServerKey(pub(crate) tfhe::ServerKey);

/// Gates by the names that the page calls them by.
const GATES: [(&str, Gate); 6] = [
    ("and", Gate::And),
    ("nand", Gate::Nand),
    ("or", Gate::Or),
    ("nor", Gate::Nor),
    ("xor", Gate::Xor),
    ("xnor", Gate::Xnor),
];

#[wasm_bindgen]
impl ServerKey {
    /// Loads keys.
    ///
    /// # Errors
    /// If they do not fit the device, or it fails.
    #[wasm_bindgen(jspi)]
    pub fn load(device: &Device, keys: &EvaluationKeys) -> Result<ServerKey> {
        Ok(Self(device.0.loader().progress(&ToPage).load(&keys.0)?))
    }

    /// A gate on two batches of bits, element by element.
    ///
    /// # Errors
    /// For another gate, ciphertexts of another client or set, batches of different lengths, and
    /// failures of the device.
    #[wasm_bindgen(jspi)]
    pub fn gate(
        &self,
        #[wasm_bindgen(unchecked_param_type = "'and' | 'nand' | 'or' | 'nor' | 'xor' | 'xnor'")]
        gate: &str,
        a: &[u8],
        b: &[u8],
    ) -> Result<Vec<u8>> {
        let Some((_, kind)) = GATES.iter().find(|(name, _)| *name == gate) else {
            let names = GATES.map(|(name, _)| name);
            return refuse(format!("no gate `{gate}`: there are {}", names.join(", ")));
        };
        let (a, b) = (LweCiphertexts::from_bytes(a)?, LweCiphertexts::from_bytes(b)?);
        Ok(self.0.gate(*kind, &a, &b)?.to_bytes()?)
    }
}
