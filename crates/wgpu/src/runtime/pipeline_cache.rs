//! Compiled kernels of a driver, kept between runs in the user's cache folder.
//!
//! Best effort: a file that is missing, of another version, or damaged costs one compilation and a word to the user; it
//! never fails a load. Files are named after everything that a compiled kernel depends on (adapter, driver, source,
//! checks), hold a checksum of their own, and are checked again by wgpu and the driver, which know their headers.

use girih_backend::{cache_folder, cache_key, write_cache_file};
use std::path::{Path, PathBuf};

/// What files begin with: a name and a version.
const MAGIC: &[u8; 16] = b"girih pipeline 1";

/// The file of a kernel, where the system has a cache folder; `parts` is everything that it depends on.
pub(crate) fn path(parts: &[&[u8]]) -> Option<PathBuf> {
    Some(cache_folder()?.join("wgpu").join(format!("{}.bin", cache_key(parts))))
}

/// What was stored in `path`: nothing where there is no file, a sentence where it cannot be used.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(format!("the compiled kernel {} cannot be read ({e}): compiled anew", path.display())),
    };
    match unpack(&bytes) {
        Some(data) => Ok(Some(data.to_vec())),
        None => Err(format!("the compiled kernel {} is damaged: compiled anew", path.display())),
    }
}

/// Stores `data`; the error is a sentence.
pub(crate) fn write(path: &Path, data: &[u8]) -> Result<(), String> {
    write_cache_file(path, &pack(data)).map_err(|e| format!("the compiled kernel could not be kept in {} ({e})", path.display()))
}

fn pack(data: &[u8]) -> Vec<u8> {
    [MAGIC, cache_key(&[data]).as_bytes(), data].concat()
}

fn unpack(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (key, data) = rest.split_at_checked(cache_key(&[]).len())?;
    (key == cache_key(&[data]).as_bytes()).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let data: Vec<u8> = (0..=255).collect();
        let packed = pack(&data);
        assert_eq!(unpack(&packed), Some(&data[..]));
        for i in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[i] ^= 4;
            assert_eq!(unpack(&damaged), None, "byte {i}");
        }
        for length in 0..packed.len() {
            assert_eq!(unpack(&packed[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn files_come_back_and_damaged_ones_are_named() {
        let path = std::env::temp_dir().join(format!("girih-pipeline-{}", std::process::id())).join("kernel.bin");
        assert_eq!(read(&path), Ok(None));
        write(&path, b"code").expect("a writable folder");
        assert_eq!(read(&path), Ok(Some(b"code".to_vec())));
        std::fs::write(&path, b"other").expect("writable");
        assert!(read(&path).is_err_and(|why| why.contains("kernel.bin") && why.contains("compiled anew")));
    }
}
