//! The user's cache folder: compiled kernels and tuned plans are kept there between runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The user's cache folder for girih (`$XDG_CACHE_HOME/girih`, else `~/.cache/girih`;
/// `%LOCALAPPDATA%\girih` on Windows), where the system has one. It may not exist yet.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|h| h.join(".cache")))
    };
    Some(base?.join("girih"))
}

/// A file name that depends on every byte of `parts` (FNV-1a, 128 bits): no defence against
/// forgery, only a name.
pub fn cache_key(parts: &[&[u8]]) -> String {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let mut eat = |byte: u8| {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    for part in parts {
        // The length first keeps ("ab", "c") and ("a", "bc") apart.
        part.len().to_le_bytes().into_iter().for_each(&mut eat);
        part.iter().copied().for_each(&mut eat);
    }
    format!("{hash:032x}")
}

/// What files of compiled kernels begin with: a name and a version.
const COMPILED: &[u8; 16] = b"girih compiled 1";

/// Stores a compiled kernel with its length and a checksum, which [`read_compiled`] asks for: a
/// driver trusts what it is given.
///
/// # Errors
/// Those of the file system.
pub fn keep_compiled(path: &Path, data: &[u8]) -> std::io::Result<()> {
    write_cache_file(path, &[COMPILED, cache_key(&[data]).as_bytes(), data].concat())
}

/// What [`keep_compiled`] stored in `path`; nothing where there is no file.
///
/// # Errors
/// A sentence, where it cannot be read or is damaged: the kernel is to be compiled anew.
pub fn read_compiled(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            return Err(format!(
                "the compiled kernel {} cannot be read ({e}): compiled anew",
                path.display()
            ));
        }
    };
    let whole = || {
        let rest = bytes.strip_prefix(COMPILED)?;
        let (key, data) = rest.split_at_checked(cache_key(&[]).len())?;
        // The key depends on the length, too.
        (key == cache_key(&[data]).as_bytes()).then_some(data)
    };
    match whole() {
        Some(data) => Ok(Some(data.to_vec())),
        None => Err(format!("the compiled kernel {} is damaged: compiled anew", path.display())),
    }
}

/// Writes a whole file or nothing: first under a name beside it that nobody else writes at the same
/// time, neither another process nor another thread of this one, so that a reader never sees half
/// of it.
///
/// # Errors
/// Those of the file system.
pub fn write_cache_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{}.tmp", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let done = std::fs::write(&name, bytes).and_then(|()| std::fs::rename(&name, path));
    if done.is_err() {
        // Best effort: the error to tell is the first.
        let _ = std::fs::remove_file(&name);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("girih-{name}-{}", std::process::id()))
    }

    #[test]
    fn damage_of_compiled_kernels_is_noticed_wherever_it_is() {
        let path = folder("compiled").join("kernel.bin");
        assert_eq!(read_compiled(&path), Ok(None));
        let data: Vec<u8> = (0..=255).collect();
        keep_compiled(&path, &data).expect("a writable folder");
        assert_eq!(read_compiled(&path), Ok(Some(data)));
        let good = std::fs::read(&path).expect("written");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("writable");
            read_compiled(&path)
                .is_err_and(|why| why.contains("kernel.bin") && why.contains("compiled anew"))
        };
        for at in 0..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 4;
            assert!(refused(&damaged), "byte {at}");
            assert!(refused(&good[..at]), "{at} bytes");
        }
        assert!(refused(b"a cubin of a version before"));
        std::fs::remove_dir_all(folder("compiled")).expect("ours");
    }

    /// Threads that write one file at once: whoever reads sees one of them whole, always.
    #[test]
    fn writers_at_the_same_time_do_not_mix() {
        let path = folder("writers").join("file");
        write_cache_file(&path, &[0; 200_000]).expect("writable");
        std::thread::scope(|scope| {
            for writer in 1..=4u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        write_cache_file(path, &vec![writer; 200_000 + usize::from(writer)])
                            .expect("writable");
                    }
                });
            }
            for _ in 0..200 {
                let read = std::fs::read(&path).expect("always there");
                let length = 200_000 + usize::from(read[0]);
                assert!(read.len() == length && read.iter().all(|b| *b == read[0]));
            }
        });
        let files = std::fs::read_dir(folder("writers")).expect("there").count();
        assert_eq!(files, 1, "nothing is left beside it");
        std::fs::remove_dir_all(folder("writers")).expect("ours");
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_eq!(cache_key(&[b"a", b"b"]), cache_key(&[b"a", b"b"]));
        assert_ne!(cache_key(&[b"ab", b"c"]), cache_key(&[b"a", b"bc"]));
        assert_ne!(cache_key(&[b"a"]), cache_key(&[b"b"]));
    }
}
