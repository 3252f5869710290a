//! Compiled kernels are kept between runs: compiling takes seconds.

use std::path::PathBuf;

/// A file name that depends on every byte of `parts` (FNV-1a, 128 bits).
pub(crate) fn cache_key(parts: &[&str]) -> String {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for part in parts {
        // A separator that no source contains keeps ("ab", "c") and ("a", "bc") apart.
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{hash:032x}")
}

/// The user's cache folder for girih, where the system has one.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|h| h.join(".cache")))
    };
    Some(base?.join("girih").join("cuda"))
}

#[cfg(test)]
mod tests {
    use super::cache_key;

    #[test]
    fn keys_tell_parts_apart() {
        assert_eq!(cache_key(&["a", "b"]), cache_key(&["a", "b"]));
        assert_ne!(cache_key(&["ab", "c"]), cache_key(&["a", "bc"]));
        assert_ne!(cache_key(&["a"]), cache_key(&["b"]));
    }
}
