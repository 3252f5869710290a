//! The user's cache folder: compiled kernels and tuned plans are kept there between runs.

use std::path::PathBuf;

/// The user's cache folder for girih (`$XDG_CACHE_HOME/girih`, else `~/.cache/girih`; `%LOCALAPPDATA%\girih` on
/// Windows), where the system has one. It may not exist yet.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|h| h.join(".cache")))
    };
    Some(base?.join("girih"))
}

/// A file name that depends on every byte of `parts` (FNV-1a, 128 bits): no defence against forgery, only a name.
pub fn cache_key(parts: &[&[u8]]) -> String {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let mut eat = |byte: u8| hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    for part in parts {
        // The length first keeps ("ab", "c") and ("a", "bc") apart.
        part.len().to_le_bytes().into_iter().for_each(&mut eat);
        part.iter().copied().for_each(&mut eat);
    }
    format!("{hash:032x}")
}

/// Writes a whole file or nothing: first under another name beside it, so that a reader never sees half of it.
///
/// # Errors
/// Those of the file system.
pub fn write_cache_file(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    std::fs::write(&name, bytes)?;
    std::fs::rename(&name, path)
}

#[cfg(test)]
mod tests {
    use super::cache_key;

    #[test]
    fn keys_tell_parts_apart() {
        assert_eq!(cache_key(&[b"a", b"b"]), cache_key(&[b"a", b"b"]));
        assert_ne!(cache_key(&[b"ab", b"c"]), cache_key(&[b"a", b"bc"]));
        assert_ne!(cache_key(&[b"a"]), cache_key(&[b"b"]));
    }
}
