//! Kernels that were compiled ahead: a folder of cubins, named by the environment variable
//! [`KERNELS_VARIABLE`]. Devices look there first.

use crate::runtime::source::Source;
use girih_backend::{cache_key, read_shipped, ship_compiled};
use std::path::{Path, PathBuf};

/// The environment variable that names a folder which `cargo xtask kernels --bundle` filled.
pub const KERNELS_VARIABLE: &str = "GIRIH_KERNELS";

/// How kernels of such a folder are named and compiled; another number leaves them aside.
const VERSION: &str = "girih kernels 1";

/// The file of `source` in a folder: its name depends on every byte of the text, so that a kernel
/// of another version of this crate is not found.
fn file(folder: &Path, source: &Source, capability: u32) -> PathBuf {
    let text = source.whole_text();
    let key = cache_key(&[VERSION.as_bytes(), text.as_bytes(), capability.to_string().as_bytes()]);
    folder.join(format!("{}-sm_{capability}-{key}.cubin", source.file.name))
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(KERNELS_VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Why the folder that is named cannot be used, if it cannot.
pub(crate) fn refusal() -> Option<String> {
    let folder = folder().filter(|folder| !folder.is_dir())?;
    Some(format!(
        "{KERNELS_VARIABLE} names {}, which is no folder: name one that `cargo xtask kernels \
         --bundle` filled, or unset it",
        folder.display()
    ))
}

/// The cubin of `source` in the folder, if it is there and whole; `note` hears why it is not taken.
pub(crate) fn read(source: &Source, capability: u32, note: impl Fn(String)) -> Option<Vec<u8>> {
    read_shipped(&file(&folder()?, source, capability)).unwrap_or_else(|why| {
        note(why);
        None
    })
}

/// Whether the folder has a file for `source`.
pub(crate) fn has(source: &Source, capability: u32) -> bool {
    folder().is_some_and(|folder| file(&folder, source, capability).exists())
}

/// Puts the cubin of `source` for compute capability `capability` (90 for sm_90) into `folder`.
///
/// # Errors
/// Those of the file system.
pub fn ship(folder: &Path, source: &Source, capability: u32, cubin: &[u8]) -> std::io::Result<()> {
    ship_compiled(&file(folder, source, capability), cubin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::source::KernelFile;

    /// Of the folder itself: the variable belongs to the whole process.
    #[test]
    fn kernels_are_found_by_text_and_architecture() {
        let folder = std::env::temp_dir().join(format!("girih-shipped-{}", std::process::id()));
        let file = KernelFile { name: "sum", text: "a + b", kernels: &["sum"], headers: &[] };
        let source = |constants: &str| Source { file, constants: constants.into() };
        ship(&folder, &source("B = 1"), 90, b"code").expect("writable");
        let read = |constants: &str, capability| {
            read_shipped(&super::file(&folder, &source(constants), capability))
        };
        assert_eq!(read("B = 1", 90), Ok(Some(b"code".to_vec())));
        assert_eq!((read("B = 2", 90), read("B = 1", 89)), (Ok(None), Ok(None)));
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
