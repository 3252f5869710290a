//! Kernels that were compiled ahead: a folder of cubins that `cargo xtask kernels --bundle` filled.
//! Devices look there first. The environment variable [`KERNELS_VARIABLE`] names one; otherwise it
//! is the one that lies beside this library in its package, if there is one ([`look_in`]).

use crate::runtime::source::Source;
use girih_backend::{cache_key, read_packed, read_shipped, ship_compiled, write_whole_file};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The environment variable that names a folder which `cargo xtask kernels --bundle` filled.
pub const KERNELS_VARIABLE: &str = "GIRIH_KERNELS";

/// How kernels of such a folder are named and compiled; another number leaves them aside.
const VERSION: &str = "girih kernels 1";

/// The file in which a folder says what it has.
const CONTENTS: &str = "contents.txt";

/// What a folder has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contents {
    /// The release of girih that filled it.
    release: String,
    /// A name for the texts of that release.
    texts: String,
    /// Compute capabilities, 90 for sm_90.
    capabilities: BTreeSet<u32>,
}

/// A name that depends on every byte of this release's texts.
fn texts() -> &'static str {
    static TEXTS: LazyLock<String> = LazyLock::new(|| {
        let all: Vec<&[u8]> = girih_kernels::all().map(str::as_bytes).collect();
        cache_key(&all)
    });
    &TEXTS
}

impl Contents {
    /// What this release ships for these compute capabilities.
    fn own(capabilities: BTreeSet<u32>) -> Self {
        Self { release: env!("CARGO_PKG_VERSION").into(), texts: texts().into(), capabilities }
    }

    fn architectures(&self) -> String {
        self.capabilities.iter().map(|c| format!("sm_{c}")).collect::<Vec<_>>().join(" ")
    }

    fn text(&self) -> String {
        let Self { release, texts, .. } = self;
        let architectures = self.architectures();
        format!("{VERSION}\nrelease {release}\ntexts {texts}\narchitectures {architectures}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        (lines.next()? == VERSION).then_some(())?;
        let release = lines.next()?.strip_prefix("release ")?.to_owned();
        let texts = lines.next()?.strip_prefix("texts ")?.to_owned();
        let names = lines.next()?.strip_prefix("architectures")?.split_whitespace();
        let number = |name: &str| name.strip_prefix("sm_")?.parse().ok();
        let capabilities = names.map(number).collect::<Option<_>>()?;
        Some(Self { release, texts, capabilities })
    }

    /// What `folder` has.
    ///
    /// # Errors
    /// A sentence, where it does not say so, or has kernels of another version than this.
    fn of(folder: &Path) -> Result<Self, String> {
        let path = folder.join(CONTENTS);
        let compiled = "kernels are compiled on this machine instead";
        let text = std::fs::read_to_string(&path).map_err(|e| {
            format!("{} cannot be read ({e}), which says what is there: {compiled}", path.display())
        })?;
        let release = env!("CARGO_PKG_VERSION");
        let Some(contents) = Self::parse(&text) else {
            return Err(format!(
                "{} is none that girih {release} reads: {compiled}",
                path.display()
            ));
        };
        if contents.texts != texts() || contents.release != release {
            let (folder, theirs) = (folder.display(), &contents.release);
            return Err(format!(
                "the kernels in {folder} are those of another version (girih {theirs}, this is \
                 {release}): {compiled}"
            ));
        }
        Ok(contents)
    }
}

/// The folder of a package.
static PACKED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Has devices look for kernels in `folder`, which lies beside this library in a package, where
/// [`KERNELS_VARIABLE`] names no other. Who can write there can write the library as well, so
/// nobody's permissions are asked for; contents are checked as those of any folder.
pub fn look_in(folder: impl Into<PathBuf>) {
    *PACKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.into());
}

/// Where kernels that were compiled ahead lie.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A folder that the environment names.
    Named(PathBuf),
    /// One of a package.
    Packed(PathBuf),
}

/// What is known of a folder, and what users are to hear of it once.
struct Known {
    contents: Option<Contents>,
    untold: Option<String>,
}

fn known() -> MutexGuard<'static, BTreeMap<PathBuf, Known>> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// The folder of this process, if it has one.
    pub fn own() -> Option<Self> {
        let named = std::env::var_os(KERNELS_VARIABLE).filter(|v| !v.is_empty());
        let packed = || PACKED.lock().unwrap_or_else(PoisonError::into_inner).clone();
        named.map(|folder| Self::Named(folder.into())).or_else(|| packed().map(Self::Packed))
    }

    fn folder(&self) -> &Path {
        let (Self::Named(folder) | Self::Packed(folder)) = self;
        folder
    }

    /// What it has, if it is of this version; `note` hears once why it is not.
    fn contents(&self, note: Option<&dyn Fn(String)>) -> Option<Contents> {
        let mut all = known();
        let known = all.entry(self.folder().to_owned()).or_insert_with(|| {
            match Contents::of(self.folder()) {
                Ok(contents) => Known { contents: Some(contents), untold: None },
                Err(why) => Known { contents: None, untold: Some(why) },
            }
        });
        if let Some(note) = note {
            known.untold.take().into_iter().for_each(note);
        }
        known.contents.clone()
    }

    /// The cubin of `source`, if it is there and whole; `note` hears why it is not taken.
    pub fn read(&self, source: &Source, capability: u32, note: &dyn Fn(String)) -> Option<Vec<u8>> {
        self.contents(Some(note))?;
        let path = file(self.folder(), source, capability);
        let read = match self {
            Self::Named(_) => read_shipped(&path),
            Self::Packed(_) => read_packed(&path),
        };
        read.unwrap_or_else(|why| {
            note(why);
            None
        })
    }

    /// Whether it has a file for `source`.
    pub fn has(&self, source: &Source, capability: u32) -> bool {
        self.contents(None).is_some() && file(self.folder(), source, capability).exists()
    }

    /// Why it has nothing for a kernel, for those who cannot compile it.
    pub fn lacks(&self, capability: u32) -> String {
        let folder = self.folder().display();
        match self.contents(None) {
            Some(contents) if contents.capabilities.contains(&capability) => {
                format!("{folder} has kernels for sm_{capability}, but not this one")
            }
            Some(contents) => {
                format!("{folder} has kernels for {}, not for sm_{capability}", {
                    contents.architectures()
                })
            }
            None => format!("the kernels in {folder} are none of this version"),
        }
    }
}

/// The file of `source` in a folder: its name depends on every byte of the text, so that a kernel
/// of another version of this crate is not found.
fn file(folder: &Path, source: &Source, capability: u32) -> PathBuf {
    let text = source.whole_text();
    let key = cache_key(&[VERSION.as_bytes(), text.as_bytes(), capability.to_string().as_bytes()]);
    folder.join(format!("{}-sm_{capability}-{key}.cubin", source.file.name))
}

/// Why the folder that is named cannot be used, if it cannot.
pub(crate) fn refusal() -> Option<String> {
    let Some(Place::Named(folder)) = Place::own() else { return None };
    (!folder.is_dir()).then(|| {
        format!(
            "{KERNELS_VARIABLE} names {}, which is no folder: name one that `cargo xtask kernels \
             --bundle` filled, or unset it",
            folder.display()
        )
    })
}

/// Puts the cubin of `source` for compute capability `capability` (90 for sm_90) into `folder`,
/// whose contents [`ship_contents`] tells.
///
/// # Errors
/// Those of the file system.
pub fn ship(folder: &Path, source: &Source, capability: u32, cubin: &[u8]) -> std::io::Result<()> {
    ship_compiled(&file(folder, source, capability), cubin)
}

/// Writes into `folder` that it has kernels of this release for these compute capabilities, beside
/// those that it says it has.
///
/// # Errors
/// Those of the file system; [`std::io::ErrorKind::InvalidData`] for a folder with kernels of
/// another version.
pub fn ship_contents(
    folder: &Path,
    capabilities: impl IntoIterator<Item = u32>,
) -> std::io::Result<()> {
    let path = folder.join(CONTENTS);
    let mut all: BTreeSet<u32> = capabilities.into_iter().collect();
    if path.exists() {
        let before = Contents::of(folder).map_err(|_| {
            let why = format!(
                "{} has kernels of another version of girih: name an empty folder",
                folder.display()
            );
            std::io::Error::new(std::io::ErrorKind::InvalidData, why)
        })?;
        all.extend(before.capabilities);
    }
    write_whole_file(&path, Contents::own(all).text().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::source::KernelFile;
    use std::cell::RefCell;

    fn source(constants: &str) -> Source {
        let file = KernelFile { name: "sum", text: "a + b", kernels: &["sum"], headers: &[] };
        Source { file, constants: constants.into() }
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("girih-shipped-{name}-{}", std::process::id()))
    }

    /// Of the folder itself: the variable belongs to the whole process.
    #[test]
    fn kernels_are_found_by_text_and_architecture() {
        let folder = folder("found");
        ship_contents(&folder, [90]).expect("writable");
        ship(&folder, &source("B = 1"), 90, b"code").expect("writable");
        for place in [Place::Named(folder.clone()), Place::Packed(folder.clone())] {
            let silent = |note: String| panic!("{note}");
            let read = |constants, capability| place.read(&source(constants), capability, &silent);
            assert_eq!(read("B = 1", 90), Some(b"code".to_vec()));
            assert!(read("B = 2", 90).is_none() && read("B = 1", 89).is_none());
            assert!(place.has(&source("B = 1"), 90) && !place.has(&source("B = 1"), 89));
            assert!(place.lacks(89).ends_with("has kernels for sm_90, not for sm_89"));
            assert!(place.lacks(90).ends_with("has kernels for sm_90, but not this one"));
        }
        // Another architecture is added.
        ship_contents(&folder, [89]).expect("writable");
        assert_eq!(Contents::of(&folder), Ok(Contents::own([89, 90].into())));
        std::fs::remove_dir_all(&folder).expect("ours");
    }

    /// Whatever the files are called, and however whole they are.
    #[test]
    fn a_folder_of_another_version_is_refused_in_words() {
        let own = Contents::own([90].into());
        let (other, texts) = ("0.0.1".to_owned(), "0".repeat(32));
        let cases = [
            ("release", Contents { release: other, ..own.clone() }.text(), "(girih 0.0.1, this is"),
            ("texts", Contents { texts, ..own.clone() }.text(), "are those of another version"),
            ("format", own.text().replace("kernels 1", "kernels 2"), "is none that girih"),
            ("cut", own.text().replace("architectures", ""), "is none that girih"),
            ("none", String::new(), "which says what is there"),
        ];
        for (name, text, why) in cases {
            let folder = folder(name);
            ship(&folder, &source(""), 90, b"code").expect("writable");
            if !text.is_empty() {
                std::fs::write(folder.join(CONTENTS), text).expect("writable");
                let refused = ship_contents(&folder, [90]).expect_err("another version");
                assert!(refused.to_string().contains("name an empty folder"), "{refused}");
            }
            let (place, notes) = (Place::Named(folder.clone()), RefCell::new(Vec::new()));
            assert!(!place.has(&source(""), 90));
            for _ in 0..2 {
                let note = |note| notes.borrow_mut().push(note);
                assert_eq!(place.read(&source(""), 90, &note), None, "{name}");
            }
            let notes = notes.into_inner();
            assert_eq!(notes.len(), 1, "told once: {notes:?}");
            assert!(notes[0].contains(why), "{}", notes[0]);
            assert!(notes[0].ends_with("kernels are compiled on this machine instead"));
            assert!(place.lacks(90).ends_with("are none of this version"));
            std::fs::remove_dir_all(&folder).expect("ours");
        }
    }

    /// A damaged kernel is told of, and left aside.
    #[test]
    fn what_is_damaged_is_left_aside() {
        let folder = folder("damaged");
        ship_contents(&folder, [90]).expect("writable");
        let path = file(&folder, &source(""), 90);
        ship(&folder, &source(""), 90, b"code").expect("writable");
        let mut bytes = std::fs::read(&path).expect("written");
        *bytes.last_mut().expect("not empty") ^= 1;
        std::fs::write(&path, bytes).expect("writable");
        for place in [Place::Named(folder.clone()), Place::Packed(folder.clone())] {
            let notes = RefCell::new(Vec::new());
            assert_eq!(place.read(&source(""), 90, &|note| notes.borrow_mut().push(note)), None);
            assert!(notes.into_inner().concat().contains("is damaged: compiled anew"));
        }
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
