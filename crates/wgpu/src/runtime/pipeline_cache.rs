//! Compiled kernels of a driver, kept between runs in the user's cache folder.
//!
//! Best effort: a file that is missing, of another version, or damaged costs one compilation and a
//! word to the user; it never fails a load. Files are named after everything that a compiled kernel
//! depends on (adapter, driver, source, checks), hold a checksum of their own, and are checked
//! again by wgpu and the driver, which know their headers.

use girih_backend::{cache_folder, cache_key, keep_compiled};
use std::path::{Path, PathBuf};

pub(crate) use girih_backend::read_compiled as read;

/// The file of a kernel, where the system has a cache folder;
/// `parts` is everything that it depends on.
pub(crate) fn path(parts: &[&[u8]]) -> Option<PathBuf> {
    Some(cache_folder()?.join("wgpu").join(format!("{}.bin", cache_key(parts))))
}

/// Stores `data`; the error is a sentence.
pub(crate) fn write(path: &Path, data: &[u8]) -> Result<(), String> {
    keep_compiled(path, data)
        .map_err(|e| format!("the compiled kernel could not be kept in {} ({e})", path.display()))
}
