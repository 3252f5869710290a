//! Named arrays of numbers in a file: the safetensors format.
//!
//! Eight bytes hold the length of a header (little endian), the header is JSON: for each name
//! `dtype`, `shape` and `data_offsets`, first and last byte within what follows the header; the
//! name `__metadata__` holds notes. Numbers are little endian, the last index moves fastest. Read
//! are F32, F16 and U8.

use std::collections::BTreeMap;

/// Why a file is refused, in words.
pub type Refusal = String;

/// An array.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub shape: Vec<usize>,
    /// Finite numbers, as many as the shape says.
    pub values: Vec<f64>,
}

/// All arrays of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensors {
    notes: BTreeMap<String, String>,
    tensors: BTreeMap<String, Tensor>,
}

impl Tensors {
    /// Reads a whole file.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let short = || "it ends within its header".to_owned();
        let length: [u8; 8] = bytes.get(..8).and_then(|b| b.try_into().ok()).ok_or_else(short)?;
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(|_| short())?;
        let end = length.checked_add(8).ok_or_else(short)?;
        let header = bytes.get(8..end).ok_or_else(short)?;
        let data = &bytes[end..];
        let header: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|e| format!("its header is no JSON: {e}"))?;
        let (mut notes, mut tensors) = (BTreeMap::new(), BTreeMap::new());
        for (name, entry) in header {
            if name == "__metadata__" {
                notes = serde_json::from_value(entry).map_err(|e| format!("its notes: {e}"))?;
            } else {
                let tensor = tensor(&entry, data).map_err(|why| format!("{name}: {why}"))?;
                tensors.insert(name, tensor);
            }
        }
        Ok(Self { notes, tensors })
    }

    /// A note.
    pub fn note(&self, name: &str) -> Result<&str, Refusal> {
        let text = self.notes.get(name).map(String::as_str);
        text.ok_or_else(|| format!("its notes (__metadata__) lack `{name}`"))
    }

    /// The array of that name.
    pub fn get(&self, name: &str) -> Result<&Tensor, Refusal> {
        self.tensors.get(name).ok_or_else(|| format!("it has no array `{name}`"))
    }

    /// The numbers of the array of that name, which must have this shape.
    pub fn shaped(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, Refusal> {
        let tensor = self.get(name)?;
        if tensor.shape == shape {
            return Ok(tensor.values.clone());
        }
        Err(format!("{name} has the shape {:?}, and {shape:?} is needed", tensor.shape))
    }
}

fn tensor(entry: &serde_json::Value, data: &[u8]) -> Result<Tensor, Refusal> {
    #[derive(serde::Deserialize)]
    struct Entry {
        dtype: String,
        shape: Vec<usize>,
        data_offsets: [usize; 2],
    }
    let entry = <Entry as serde::Deserialize>::deserialize(entry).map_err(|e| e.to_string())?;
    let Entry { dtype, shape, data_offsets: [start, end] } = entry;
    let bytes = data.get(start..end);
    let bytes = bytes.ok_or_else(|| format!("bytes {start} to {end} of {}", data.len()))?;
    let (size, number): (usize, fn(&[u8]) -> f64) = match dtype.as_str() {
        "F32" => (4, |b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
        "F16" => (2, |b| half(u16::from_le_bytes([b[0], b[1]]))),
        "U8" => (1, |b| f64::from(b[0])),
        _ => return Err(format!("numbers are {dtype}, and F32, F16 and U8 are read")),
    };
    let count = shape.iter().try_fold(size, |product, &n| product.checked_mul(n));
    if count != Some(bytes.len()) {
        return Err(format!("{} bytes for {dtype} of the shape {shape:?}", bytes.len()));
    }
    let values: Vec<f64> = bytes.chunks_exact(size).map(number).collect();
    if values.iter().all(|v| v.is_finite()) {
        return Ok(Tensor { shape, values });
    }
    Err("not all of its numbers are finite".into())
}

/// A number of 16 bits (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => mantissa * f64::exp2(-24.0),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * f64::from(exponent - 15).exp2(),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[test]
    fn arrays_are_read() {
        let header = r#"{"__metadata__":{"side":"8"},
            "a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},
            "b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},
            "c":{"dtype":"U8","shape":[3],"data_offsets":[12,15]}}"#;
        let halves = [0x3c00u16, 0xc100, 0x0001, 0x7bff].map(u16::to_le_bytes).concat();
        let data = [&halves[..], &(-0.75f32).to_le_bytes(), &[0, 7, 255]].concat();
        let tensors = Tensors::read(&file(header, &data)).expect("right");
        assert_eq!(tensors.note("side"), Ok("8"));
        let a = tensors.get("a").expect("there");
        assert_eq!(a.values, [1.0, -2.5, 2f64.powi(-24), 65504.0]);
        assert_eq!(tensors.shaped("b", &[1]), Ok(vec![-0.75]));
        assert_eq!(tensors.shaped("c", &[3]), Ok(vec![0.0, 7.0, 255.0]));
        assert!(tensors.get("c").is_ok() && tensors.get("d").is_err());
        for refused in [tensors.shaped("a", &[4]), tensors.shaped("d", &[1])] {
            assert!(refused.is_err());
        }
    }

    #[test]
    fn wrong_files_are_refused_in_words() {
        let one = |dtype: &str, shape: &str, end: usize| {
            let entry = r#""dtype":"D","shape":S,"data_offsets":[0,E]"#
                .replace('D', dtype)
                .replace('S', shape)
                .replace('E', &end.to_string());
            file(&format!(r#"{{"a":{{{entry}}}}}"#), &[0, 124, 0, 0])
        };
        for (bytes, why) in [
            (vec![1, 2], "header"),
            (u64::MAX.to_le_bytes().to_vec(), "header"),
            (file("{", &[]), "JSON"),
            (one("F16", "[2]", 5), "bytes 0 to 5 of 4"),
            (one("F16", "[3]", 4), "shape [3]"),
            (one("F16", "[18446744073709551615]", 4), "shape"),
            (one("BF16", "[2]", 4), "BF16"),
            (one("F16", "[2]", 4), "finite"),
        ] {
            let refused = Tensors::read(&bytes).expect_err(why);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
