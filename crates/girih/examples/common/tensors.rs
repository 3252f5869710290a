//! Named arrays of numbers in a file: the safetensors format.
//!
//! Eight bytes hold the length of a header (little endian), the header is JSON: for each name
//! `dtype`, `shape` and `data_offsets`, first and last byte within what follows the header; the
//! name `__metadata__` holds notes. Numbers are little endian, the last index moves fastest. Read
//! are F32, F16 and U8. No byte belongs to two arrays, so that what is read is no larger than the
//! file says.

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
        let (mut notes, mut entries) = (BTreeMap::new(), Vec::new());
        for (name, entry) in header {
            if name == "__metadata__" {
                notes = serde_json::from_value(entry).map_err(|e| format!("its notes: {e}"))?;
            } else {
                let entry =
                    Entry::read(entry, data.len()).map_err(|why| format!("{name:?}: {why}"));
                entries.push((name, entry?));
            }
        }
        // Before any number is read: a small file of many arrays at one place would be large.
        entries.sort_by_key(|(_, entry)| entry.data_offsets);
        for pair in entries.windows(2) {
            let [(a, first), (b, second)] = pair else { continue };
            if second.data_offsets[0] < first.data_offsets[1] {
                return Err(format!("bytes of {a:?} and of {b:?} are the same: {second:?}"));
            }
        }
        let mut tensors = BTreeMap::new();
        for (name, entry) in entries {
            let tensor = entry.tensor(data).map_err(|why| format!("{name:?}: {why}"))?;
            tensors.insert(name, tensor);
        }
        Ok(Self { notes, tensors })
    }

    /// A note.
    #[allow(dead_code)] // Not all files have notes.
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

/// What the header says of an array.
#[derive(Debug, serde::Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// Reads one number of a format.
type Reader = fn(&[u8]) -> f64;

impl Entry {
    /// Checks that its bytes are there, as many as its shape takes.
    fn read(entry: serde_json::Value, len: usize) -> Result<Self, Refusal> {
        let entry: Self = serde_json::from_value(entry).map_err(|e| e.to_string())?;
        let Self { dtype, shape, data_offsets: [start, end] } = &entry;
        if start > end || *end > len {
            return Err(format!("bytes {start} to {end} of {len}"));
        }
        let (size, _) = entry.format()?;
        let count = shape.iter().try_fold(size, |product, &n| product.checked_mul(n));
        if count != Some(end - start) {
            return Err(format!("{} bytes for {dtype:?} of the shape {shape:?}", end - start));
        }
        Ok(entry)
    }

    /// Bytes of a number, and how it is read.
    fn format(&self) -> Result<(usize, Reader), Refusal> {
        Ok(match self.dtype.as_str() {
            "F32" => (4, |b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            "F16" => (2, |b| half(u16::from_le_bytes([b[0], b[1]]))),
            "U8" => (1, |b| f64::from(b[0])),
            other => return Err(format!("numbers are {other:?}, and F32, F16 and U8 are read")),
        })
    }

    fn tensor(self, data: &[u8]) -> Result<Tensor, Refusal> {
        let (size, number) = self.format()?;
        let [start, end] = self.data_offsets;
        let values: Vec<f64> = data[start..end].chunks_exact(size).map(number).collect();
        if values.iter().all(|v| v.is_finite()) {
            return Ok(Tensor { shape: self.shape, values });
        }
        Err("not all of its numbers are finite".into())
    }
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

    /// Ten thousand arrays of one place would be ten thousand times the file.
    #[test]
    fn arrays_that_share_bytes_are_refused() {
        let entry = |i: usize| {
            format!(r#""a{i}":{{"dtype":"U8","shape":[500000],"data_offsets":[0,500000]}}"#)
        };
        let entries: Vec<String> = (0..10_000).map(entry).collect();
        let many = file(&format!("{{{}}}", entries.join(",")), &[0; 500_000]);
        let start = std::time::Instant::now();
        let refused = Tensors::read(&many).expect_err("they overlap");
        assert!(refused.contains("are the same"), "{refused}");
        assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
        // By a byte, and inside another one; an empty array does not lie inside another.
        for (second, overlap) in [([3, 5], true), ([1, 2], true), ([4, 6], false), ([2, 2], true)] {
            let [from, to] = second;
            let header = format!(
                r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},
                "b":{{"dtype":"U8","shape":[{}],"data_offsets":[{from},{to}]}}}}"#,
                to - from
            );
            let read = Tensors::read(&file(&header, &[1; 6]));
            assert_eq!(read.is_err(), overlap, "{second:?}");
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
