//! Files and folders that nobody but their owner writes: what is kept there is run later.
//!
//! On Unix a folder has mode 0700 and a file 0600, whatever the umask; both must belong to the
//! user who runs the program, and others must not be able to write them. Elsewhere the folder of
//! the user's own data is as private as the system makes it.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

/// Names that are tried for a new folder.
const TRIES: usize = 16;

/// Makes `folder`, where it is missing, for its owner alone.
///
/// # Errors
/// Those of the file system; [`ErrorKind::PermissionDenied`] for a folder of somebody else, or one
/// that others can write, in words.
pub fn private_folder(folder: &Path) -> Result<()> {
    match std::fs::symlink_metadata(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            if let Some(parent) = folder.parent() {
                // What lies above is the user's own matter: mode and owner are as they are.
                std::fs::create_dir_all(parent)?;
            }
            match make_folder(folder) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => check_folder(folder),
                done => done,
            }
        }
        Err(e) => Err(e),
        Ok(_) => check_folder(folder),
    }
}

/// A new folder for its owner alone in the system's folder of temporary files, by a name that
/// begins with `name` and that nobody can foresee.
///
/// # Errors
/// Those of the file system.
pub fn new_private_folder(name: &str) -> Result<PathBuf> {
    for _ in 0..TRIES {
        let unforeseen = RandomState::new().hash_one(std::process::id());
        let folder = std::env::temp_dir().join(format!("{name}-{unforeseen:016x}"));
        match make_folder(&folder) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|()| folder),
        }
    }
    Err(Error::new(ErrorKind::AlreadyExists, "every name for a temporary folder was taken"))
}

/// The bytes of a file that its owner alone can have written.
///
/// # Errors
/// Those of the file system; [`ErrorKind::PermissionDenied`] for a link, for a file or folder of
/// somebody else, or one that others can write, in words.
pub(super) fn read_private(path: &Path) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    if let Some(folder) = path.parent() {
        check_folder(folder)?;
    }
    check_file(path, &file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a file that came with an installation: the user's own or the system's, and nobody
/// else can have written it.
///
/// # Errors
/// As [`read_private`].
pub(super) fn read_installed(path: &Path) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    if let Some(folder) = path.parent() {
        check_installed_folder(folder)?;
    }
    check_installed_file(path, &file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that was not there, for its owner alone.
///
/// # Errors
/// Those of the file system, [`ErrorKind::AlreadyExists`] also for a link.
pub(super) fn write_new(path: &Path, bytes: &[u8], is_private: bool) -> Result<()> {
    let mut options = File::options();
    // Of all who want this name one gets it, and no link is followed.
    options.write(true).create_new(true);
    if is_private {
        restrict(&mut options);
    }
    let mut file = options.open(path)?;
    if is_private {
        restrict_file(&file)?;
    }
    file.write_all(bytes)
}

#[cfg(unix)]
mod system {
    use super::{Error, ErrorKind, File, Path, Result};
    use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};

    /// Bits of a mode that let others than the owner write.
    const OTHERS_WRITE: u32 = 0o022;
    /// The user that can write everything.
    const SYSTEM: u32 = 0;

    #[allow(unsafe_code, reason = "asks the system for a number")]
    fn user() -> u32 {
        // SAFETY: takes nothing, cannot fail.
        unsafe { libc::geteuid() }
    }

    fn refuse(path: &Path, why: String) -> Error {
        let text = format!("{} {why}", path.display());
        Error::new(ErrorKind::PermissionDenied, text)
    }

    fn check(path: &Path, found: &Metadata) -> Result<()> {
        let (owner, user) = (found.uid(), user());
        if owner != user {
            return Err(refuse(path, format!("belongs to user {owner}, not to {user}")));
        }
        check_writers(path, found)
    }

    /// As `check`, of what may be the system's.
    fn check_installed(path: &Path, found: &Metadata) -> Result<()> {
        if found.uid() == SYSTEM { check_writers(path, found) } else { check(path, found) }
    }

    fn check_writers(path: &Path, found: &Metadata) -> Result<()> {
        let mode = found.mode() & 0o7777;
        if mode & OTHERS_WRITE != 0 && !found.is_symlink() {
            return Err(refuse(path, format!("has mode {mode:04o}: others can write it")));
        }
        Ok(())
    }

    pub fn make_folder(folder: &Path) -> Result<()> {
        DirBuilder::new().mode(0o700).create(folder)?;
        // The umask may have taken more.
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))
    }

    /// A link to a folder is the user's way to have it elsewhere, if it is the user's own.
    pub fn check_folder(folder: &Path) -> Result<()> {
        check(folder, &std::fs::symlink_metadata(folder)?)?;
        let found = std::fs::metadata(folder)?;
        if !found.is_dir() {
            return Err(refuse(folder, "is no folder".into()));
        }
        check(folder, &found)?;
        if found.mode() & 0o7777 != 0o700 {
            std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    pub fn check_file(path: &Path, file: &File) -> Result<()> {
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(refuse(path, "is no regular file".into()));
        }
        check(path, &found)
    }

    pub fn check_installed_folder(folder: &Path) -> Result<()> {
        check_installed(folder, &std::fs::metadata(folder)?)
    }

    pub fn check_installed_file(path: &Path, file: &File) -> Result<()> {
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(refuse(path, "is no regular file".into()));
        }
        check_installed(path, &found)
    }

    pub fn open(path: &Path) -> Result<File> {
        let mut options = File::options();
        // A pipe by this name must not make the program wait.
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        options.open(path).map_err(|e| match e.raw_os_error() {
            Some(libc::ELOOP) => refuse(path, "is a link".into()),
            _ => e,
        })
    }

    pub fn restrict(options: &mut OpenOptions) {
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    }

    pub fn restrict_file(file: &File) -> Result<()> {
        file.set_permissions(Permissions::from_mode(0o600))
    }
}

#[cfg(not(unix))]
mod system {
    use super::{File, Path, Result};
    use std::fs::OpenOptions;

    pub fn make_folder(folder: &Path) -> Result<()> {
        std::fs::create_dir(folder)
    }

    pub fn check_folder(_: &Path) -> Result<()> {
        Ok(())
    }

    pub fn check_file(_: &Path, _: &File) -> Result<()> {
        Ok(())
    }

    pub fn check_installed_folder(_: &Path) -> Result<()> {
        Ok(())
    }

    pub fn check_installed_file(_: &Path, _: &File) -> Result<()> {
        Ok(())
    }

    pub fn open(path: &Path) -> Result<File> {
        File::open(path)
    }

    pub fn restrict(_: &mut OpenOptions) {}

    pub fn restrict_file(_: &File) -> Result<()> {
        Ok(())
    }
}

use system::{
    check_file, check_folder, check_installed_file, check_installed_folder, make_folder, open,
    restrict, restrict_file,
};
