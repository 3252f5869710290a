//! The user's cache folder: compiled kernels and tuned plans are kept there between runs.

use super::private::{private_folder, read_installed, read_private, write_new};
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
    write_cache_file(path, &compiled(data))
}

fn compiled(data: &[u8]) -> Vec<u8> {
    [COMPILED, cache_key(&[data]).as_bytes(), data].concat()
}

/// Stores a compiled kernel as [`keep_compiled`] does, in a folder that is to be handed on.
///
/// # Errors
/// Those of the file system.
pub fn ship_compiled(path: &Path, data: &[u8]) -> std::io::Result<()> {
    write_whole_file(path, &compiled(data))
}

/// What [`ship_compiled`] stored in `path`; nothing where there is no file.
///
/// # Errors
/// As [`read_compiled`]; the file and its folder may be the system's, too.
pub fn read_shipped(path: &Path) -> Result<Option<Vec<u8>>, String> {
    whole(path, read_installed(path))
}

/// The same in a folder of the package that this library is of: whoever can write there can write
/// the library, so nothing is asked of owners and modes.
///
/// # Errors
/// A sentence, where it cannot be read or is damaged.
pub fn read_packed(path: &Path) -> Result<Option<Vec<u8>>, String> {
    whole(path, std::fs::read(path))
}

/// What [`keep_compiled`] stored in `path`; nothing where there is no file.
///
/// # Errors
/// A sentence, where it cannot be read, is damaged, or may have been written by somebody else (it
/// or its folder belongs to another user, others can write it, or it is a link): the kernel is to
/// be compiled anew.
pub fn read_compiled(path: &Path) -> Result<Option<Vec<u8>>, String> {
    whole(path, read_private(path))
}

/// The kernel in the bytes of `path`, if they are whole.
fn whole(path: &Path, read: std::io::Result<Vec<u8>>) -> Result<Option<Vec<u8>>, String> {
    let bytes = match read {
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

/// The bytes of a file of the cache folder, as [`read_compiled`] checks them.
///
/// # Errors
/// Those of the file system; [`std::io::ErrorKind::PermissionDenied`] for what somebody else may
/// have written.
pub(super) fn read_cache_file(path: &Path) -> std::io::Result<Vec<u8>> {
    read_private(path)
}

/// [`write_whole_file`] in a folder, and to a file, that nobody but the user can read or write: on
/// Unix of modes 0700 and 0600, whatever the umask.
///
/// # Errors
/// Those of the file system; [`std::io::ErrorKind::PermissionDenied`] in words for a folder of
/// another user, or one that others can write.
pub fn write_cache_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        // Folders of devices lie in the cache folder itself.
        match (folder.parent(), cache_folder()) {
            (Some(above), Some(cache)) if above == cache => private_folder(above)?,
            _ => {}
        }
        private_folder(folder)?;
    }
    replace(path, bytes, true)
}

/// Writes a whole file or nothing: first under a name beside it that nobody else writes at the same
/// time, neither another process nor another thread of this one, so that a reader never sees half
/// of it.
///
/// # Errors
/// Those of the file system.
pub fn write_whole_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    replace(path, bytes, false)
}

fn replace(path: &Path, bytes: &[u8], is_private: bool) -> std::io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{}.tmp", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let name = PathBuf::from(name);
    let done = match write_new(&name, bytes, is_private) {
        // Left by a process of this number that was killed: taken away, never written through.
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(&name).and_then(|()| write_new(&name, bytes, is_private))
        }
        done => done,
    };
    let done = done.and_then(|()| std::fs::rename(&name, path));
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
            write_cache_file(&path, bytes).expect("writable");
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

    /// Others can neither read nor write what is kept, and what they may have written is refused.
    #[cfg(unix)]
    #[test]
    fn what_others_may_have_written_is_refused() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
        };
        let mode = |path: &Path| std::fs::metadata(path).expect("there").mode() & 0o7777;
        let folder = folder("private");
        let path = folder.join("kernel.bin");
        keep_compiled(&path, b"kernel").expect("a writable folder");
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        // A folder of before is closed, a file of before is replaced by a closed one.
        set(&folder, 0o755);
        set(&path, 0o644);
        assert_eq!(read_compiled(&path), Ok(Some(b"kernel".to_vec())));
        keep_compiled(&path, b"another").expect("writable");
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        let refused = |why: &str| {
            let said = read_compiled(&path).expect_err("must be refused");
            assert!(said.contains(why) && said.contains("compiled anew"), "{said}");
        };
        set(&path, 0o620);
        refused("has mode 0620: others can write it");
        set(&path, 0o600);
        set(&folder, 0o777);
        refused("has mode 0777: others can write it");
        let said = keep_compiled(&path, b"third").expect_err("must be refused").to_string();
        assert!(said.contains("others can write it"), "{said}");
        set(&folder, 0o700);
        let target = folder.join("target.bin");
        std::fs::rename(&path, &target).expect("ours");
        symlink(&target, &path).expect("ours");
        refused("is a link");
        // Written in the place of the link, not through it.
        keep_compiled(&path, b"fourth").expect("writable");
        assert_eq!(read_compiled(&path), Ok(Some(b"fourth".to_vec())));
        assert_eq!(read_compiled(&target), Ok(Some(b"another".to_vec())));
        // Who may give files away can have one of somebody else.
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
            refused("belongs to user 12345");
            std::os::unix::fs::chown(&folder, Some(12_345), None).expect("as before");
            let said = keep_compiled(&path, b"fifth").expect_err("must be refused").to_string();
            assert!(said.contains("belongs to user 12345"), "{said}");
        }
        std::fs::remove_dir_all(&folder).expect("ours");
        // What is handed on may be read by all, and its folder stays as it is.
        let shipped = folder.join("shipped.bin");
        ship_compiled(&shipped, b"kernel").expect("writable");
        set(&folder, 0o755);
        set(&shipped, 0o644);
        assert_eq!(read_shipped(&shipped), Ok(Some(b"kernel".to_vec())));
        assert_eq!((mode(&folder), mode(&shipped)), (0o755, 0o644));
        set(&shipped, 0o664);
        let said = read_shipped(&shipped).expect_err("must be refused");
        assert!(said.contains("has mode 0664: others can write it"), "{said}");
        set(&shipped, 0o644);
        set(&folder, 0o775);
        assert!(read_shipped(&shipped).is_err());
        // Of a package they are as its library is.
        assert_eq!(read_packed(&shipped), Ok(Some(b"kernel".to_vec())));
        set(&folder, 0o755);
        std::fs::write(&shipped, b"no kernel").expect("ours");
        assert!(read_shipped(&shipped).is_err_and(|why| why.contains("damaged")));
        assert!(read_packed(&shipped).is_err_and(|why| why.contains("damaged")));
        if std::os::unix::fs::chown(&shipped, Some(12_345), None).is_ok() {
            assert!(read_shipped(&shipped).is_err_and(|why| why.contains("belongs to user 12345")));
        }
        std::fs::remove_dir_all(&folder).expect("ours");
        let temporary = super::super::private::new_private_folder("girih-test").expect("made");
        assert_eq!(mode(&temporary), 0o700);
        std::fs::remove_dir(&temporary).expect("ours");
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_eq!(cache_key(&[b"a", b"b"]), cache_key(&[b"a", b"b"]));
        assert_ne!(cache_key(&[b"ab", b"c"]), cache_key(&[b"a", b"bc"]));
        assert_ne!(cache_key(&[b"a"]), cache_key(&[b"b"]));
    }
}
