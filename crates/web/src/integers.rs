//! Encrypted integers of 8, 16 and 32 bits.

use crate::progress::ToPage;
use crate::{ClientKey, Device, EvaluationKeys, Result, ServerKey, refuse};
use girih::integer::{self, Encrypted, FheUint};
use wasm_bindgen::prelude::*;

/// Calls `$f::<BITS>($..)` for the width that is asked for.
macro_rules! of_width {
    ($bits:expr, $f:ident($($argument:expr),*)) => {
        match $bits {
            8 => $f::<8>($($argument),*),
            16 => $f::<16>($($argument),*),
            32 => $f::<32>($($argument),*),
            other => refuse(format!("integers of {other} bits: there are 8, 16 and 32")),
        }
    };
}

fn encrypt<const BITS: u32>(client: &ClientKey, values: &[f64]) -> Result<Vec<u8>> {
    let plain = |&value: &f64| match value {
        v if v.fract() == 0.0 && (0.0..f64::from(BITS).exp2()).contains(&v) => Ok(v as u32),
        _ => refuse(format!("a value is no integer of {BITS} bits: 0 to 2^{BITS} - 1 are")),
    };
    let values = values.iter().map(plain).collect::<Result<Vec<u32>>>()?;
    Ok(FheUint::<BITS>::encrypt(&client.0, &values)?.to_bytes()?)
}

fn decrypt<const BITS: u32>(client: &ClientKey, bytes: &[u8]) -> Result<Vec<f64>> {
    let values = Encrypted::<FheUint<BITS>>::from_bytes(bytes)?.decrypt(&client.0)?;
    Ok(values.into_iter().map(|v| v as f64).collect())
}

#[wasm_bindgen]
impl ClientKey {
    /// Encrypts integers from 0 to 2^`bits` - 1, where `bits` is 8, 16 or 32.
    ///
    /// # Errors
    /// For a number that is none of these (the error does not say which); for a set that has no
    /// room for messages of four bits.
    #[wasm_bindgen(js_name = encryptIntegers)]
    pub fn encrypt_integers(&self, bits: u32, values: &[f64]) -> Result<Vec<u8>> {
        of_width!(bits, encrypt(self, values))
    }

    /// Decrypts integers.
    ///
    /// # Errors
    /// For bytes that are no encrypted integers of so many bits and of this key.
    #[wasm_bindgen(js_name = decryptIntegers)]
    pub fn decrypt_integers(&self, bits: u32, ciphertexts: &[u8]) -> Result<Vec<f64>> {
        of_width!(bits, decrypt(self, ciphertexts))
    }
}

/// Evaluation keys on a device, for integers.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Integers(integer::Integers);

fn compute<const BITS: u32>(
    server: &integer::Integers,
    operation: &str,
    a: &[u8],
    b: &[u8],
) -> Result<Vec<u8>> {
    let upload = |bytes| Ok::<_, JsError>(server.upload(&Encrypted::from_bytes(bytes)?)?);
    let (a, b): (FheUint<BITS>, FheUint<BITS>) = (upload(a)?, upload(b)?);
    let result = match operation {
        "add" => a.add(&b),
        "subtract" => a.sub(&b),
        "multiply" => a.mul(&b),
        "min" => a.min(&b),
        "max" => a.max(&b),
        other => {
            return refuse(format!(
                "no operation `{other}`: there are add, subtract, multiply, min, max"
            ));
        }
    }?;
    Ok(server.download(&result)?.to_bytes()?)
}

#[wasm_bindgen]
impl Integers {
    /// Loads keys of a set for messages of four bits, such as GIRIH_2_2.
    ///
    /// # Errors
    /// If they do not fit the device, it fails, or the set has no room for four bits.
    #[wasm_bindgen(jspi)]
    pub fn load(device: &Device, keys: &EvaluationKeys) -> Result<Integers> {
        let ServerKey(server) = ServerKey::load(device, keys)?;
        Ok(Self(integer::Integers::new(server)?))
    }

    /// An operation on two arrays, element by element, modulo 2^`bits`.
    ///
    /// # Errors
    /// For another operation or width, ciphertexts of another client or set, arrays of different
    /// lengths, and failures of the device.
    #[wasm_bindgen(jspi)]
    pub fn compute(
        &self,
        #[wasm_bindgen(unchecked_param_type = "'add' | 'subtract' | 'multiply' | 'min' | 'max'")]
        operation: &str,
        bits: u32,
        a: &[u8],
        b: &[u8],
    ) -> Result<Vec<u8>> {
        self.0.report_to(Some(std::sync::Arc::new(ToPage)));
        of_width!(bits, compute(&self.0, operation, a, b))
    }

    /// Bootstrappings that its operations have asked for so far.
    #[wasm_bindgen(getter, js_name = lookUps)]
    pub fn look_ups(&self) -> f64 {
        self.0.look_ups() as f64
    }
}
