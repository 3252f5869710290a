//! The house in order: the arrows of ARCHITECTURE.md, read off manifests and sources, what crates
//! say of themselves, the book, and lines of at most 100 columns.

mod packages;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders of crates, which crates of the project each may depend on, and which its tests may
/// besides. Crates that are not listed (`girih` and all above it) may use any.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("../cuda", &[], &[]),
    ("../shaders", &[], &[]),
    ("ring", &[], &[]),
    ("backend", &["ring"], &[]),
    ("cpu", &["ring", "backend"], &[]),
    ("wgpu", &["ring", "backend", "shaders"], &["cpu"]),
    ("cuda", &["ring", "backend", "kernels"], &["cpu"]),
    ("multi", &["ring", "backend"], &["cpu"]),
    ("rlwe", &["ring", "backend"], &[]),
    ("tfhe", &["ring", "backend", "rlwe"], &["cpu"]),
    ("ckks", &["ring", "backend", "rlwe"], &["cpu"]),
    ("circuit", &["ring", "backend", "rlwe", "tfhe"], &["cpu"]),
    ("integer", &["ring", "backend", "rlwe", "tfhe"], &["cpu"]),
    ("switching", &["ring", "backend", "rlwe", "tfhe", "ckks"], &["cpu"]),
];

/// Families of work, each a folder of `crates/backend/src`.
const FAMILIES: [&str; 2] = ["bootstrap", "poly"];

/// Folders of what families share.
const SHARED: [&str; 4] = [
    "crates/backend/src/device",
    "crates/cuda/src/runtime",
    "crates/wgpu/src/runtime",
    "crates/cpu/src/runtime",
];

/// What a device knows nothing of: schemes, their sets, their gates. Whole words.
const SCHEME_WORDS: [&str; 13] = [
    "TFHE",
    "CKKS",
    "BFV",
    "BGV",
    "NAND",
    "XNOR",
    "girih_tfhe",
    "girih_ckks",
    "girih_circuit",
    "girih_integer",
    "girih_switching",
    "girih_rlwe",
    "girih_conformance",
];
/// The same at the beginnings of words.
const SET_NAMES: [&str; 6] = ["STD128", "STD192", "STD256", "TFHERS", "INSECURE_", "CKKS_"];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The text files below a folder; none where there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut all = Vec::new();
    for path in entries.map(|e| e.expect("a readable folder").path()) {
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|e| {
            ["rs", "toml", "cu", "cuh", "hpp", "wgsl"].iter().any(|known| e == *known)
        }) {
            all.push(path);
        }
    }
    all
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Crates of the project that a manifest names in its sections of dependencies: (section, crate
/// without `girih-`).
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        } else if section.ends_with("dependencies")
            && let Some(rest) = line.strip_prefix("girih")
        {
            let name: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            found.push((section.clone(), name.trim_start_matches('-').to_owned()));
        }
    }
    found
}

/// The words of a line: runs of letters, digits and underscores.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty())
}

/// Every complaint about the lines of `paths`, with their places.
fn complaints(
    paths: impl IntoIterator<Item = PathBuf>,
    of: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut all = Vec::new();
    for path in paths {
        for (number, line) in read(&path).lines().enumerate() {
            if let Some(what) = of(line) {
                all.push(format!("{}:{}: {what}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    all
}

fn assert_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn manifests_keep_to_the_arrows() {
    let mut wrong = Vec::new();
    for (name, allowed, for_tests) in ARROWS {
        let path = root().join("crates").join(name).join("Cargo.toml");
        // Crates join the workspace one by one.
        let Ok(manifest) = std::fs::read_to_string(&path) else { continue };
        for (section, dependency) in dependencies(&manifest) {
            let tests = section.ends_with("dev-dependencies");
            if !(allowed.contains(&dependency.as_str())
                || (tests && for_tests.contains(&dependency.as_str())))
            {
                wrong.push(format!("girih-{name} may not name girih-{dependency} in [{section}]"));
            }
        }
    }
    assert_none(wrong);
}

/// TFHE-rs has a licence of its own and wants a newer Rust: nothing of the workspace needs it.
#[test]
fn the_workspace_knows_no_tfhe_rs() {
    let needs = |line: &str| {
        let name = line.split([' ', '.', '=']).next().unwrap_or_default();
        ["girih-tfhe-rs", "tfhe"].contains(&name).then(|| "this needs TFHE-rs".to_owned())
    };
    let own = ["crates/tfhe-rs", "benches/peers/tfhe_rs"].map(|folder| root().join(folder));
    let workspace = read(&root().join("Cargo.toml"));
    for folder in ["crates/tfhe-rs", "benches/peers/tfhe_rs"] {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        assert!(workspace.contains(&format!("\"{folder}\"")), "{folder} is not left out");
        assert!(manifest.lines().any(|line| line == "[workspace]"), "{folder} is no workspace");
        assert!(manifest.lines().any(|line| needs(line).is_some()), "{folder} needs no TFHE-rs");
    }
    let folders = ["crates", "tests", "fuzz", "benches", "xtask", "cuda", "shaders"];
    let manifests = folders.iter().flat_map(|folder| files(&root().join(folder))).filter(|path| {
        path.ends_with("Cargo.toml") && !own.iter().any(|folder| path.starts_with(folder))
    });
    assert_none(complaints(manifests.chain([root().join("Cargo.toml")]), needs));
}

/// What a program reaches of a family without naming it:
/// what `girih_backend` exports of it at its root.
fn at_the_root(family: &str) -> BTreeSet<String> {
    let source = root().join("crates/backend/src");
    if !read(&source.join("lib.rs")).contains(&format!("pub use {family}::*;")) {
        return BTreeSet::new();
    }
    let text = read(&source.join(family).join("mod.rs"));
    let statements = text
        .split("pub use ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';'))
        .map(|(statement, _)| statement);
    let names = statements.flat_map(|s| {
        words(s.split_once("::").map_or("", |(_, names)| names))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    names.collect()
}

/// Everything that a source text takes from the contract or from its own crate: whole `use`
/// statements, and paths in the code.
fn taken(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let from_here = |path: &str| {
        ["girih_backend::", "crate::", "super::"].iter().any(|root| path.starts_with(root))
    };
    let statements = code
        .split("use ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';'))
        .map(|(statement, _)| statement.to_owned());
    let path =
        |word: &str| word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let inline =
        code.split_whitespace().flat_map(|word| word.split(['(', '<', '&', '[', ','])).map(path);
    statements.chain(inline).filter(|path| from_here(path)).collect()
}

#[test]
fn what_families_share_knows_none() {
    let mut wrong = Vec::new();
    for family in FAMILIES {
        let names = at_the_root(family);
        for path in SHARED.iter().flat_map(|folder| files(&root().join(folder))) {
            for taken in taken(&read(&path)) {
                if let Some(name) = words(&taken).find(|w| names.contains(*w) || *w == family) {
                    wrong.push(format!(
                        "{}: `{name}` is of the family {family}: {taken}",
                        path.display()
                    ));
                }
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn families_do_not_import_each_other() {
    for family in FAMILIES {
        let folders = ["backend", "cpu", "cuda", "wgpu", "multi"]
            .map(|c| root().join("crates").join(c).join("src").join(family));
        let other = |line: &str| {
            let code = line.split("//").next().unwrap_or_default();
            let others = FAMILIES.iter().filter(|other| **other != family);
            let paths = others
                .flat_map(|other| [format!("crate::{other}"), format!("girih_backend::{other}")]);
            paths
                .into_iter()
                .find(|path| code.contains(path.as_str()))
                .map(|path| format!("{family} imports {path}"))
        };
        assert_none(complaints(folders.iter().flat_map(|folder| files(folder)), other));
    }
}

#[test]
fn devices_name_no_scheme_no_set_and_no_gate() {
    let crates = ["cpu", "cuda", "wgpu", "multi"].map(|name| root().join("crates").join(name));
    let of = |line: &str| {
        let named = words(line)
            .find(|w| SCHEME_WORDS.contains(w) || SET_NAMES.iter().any(|set| w.starts_with(set)));
        named.map(|name| format!("a device names `{name}`"))
    };
    let folders = crates.into_iter().chain(["cuda", "shaders"].map(|folder| root().join(folder)));
    assert_none(complaints(folders.flat_map(|folder| files(&folder)), of));
}

/// Folders, and the paths of their modules, that import each other without circles: what stands
/// below knows nothing of what stands on it.
const WITHOUT_CIRCLES: [(&str, &str); 4] = [
    ("crates/cuda/src/bootstrap", "crate::bootstrap::"),
    ("crates/wgpu/src/bootstrap", "crate::bootstrap::"),
    ("crates/wgpu/src/poly", "crate::poly::"),
    ("xtask/src", "crate::"),
];

/// The modules of a folder, whose paths begin with `root`, with what each imports of the others.
/// Modules are named by the rest of their paths; tests, which may import anything, are left out.
fn imports(folder: &Path, root: &str) -> Vec<(String, BTreeSet<String>)> {
    let name = |path: &Path| {
        let path = path.strip_prefix(folder).expect("inside").with_extension("");
        let parts: Vec<&str> = path.iter().filter_map(|p| p.to_str()).collect();
        parts.join("::").trim_end_matches("mod").trim_end_matches("::").to_owned()
    };
    let sources: Vec<(String, String)> = files(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| (name(&path), read(&path)))
        .filter(|(name, _)| !(name.contains("test_") || name.ends_with("tests")))
        .collect();
    let names: BTreeSet<String> = sources.iter().map(|(name, _)| name.clone()).collect();
    sources.iter().map(|(name, text)| (name.clone(), imported(text, name, root, &names))).collect()
}

/// What the module `name` imports of `names` below `root`.
fn imported(text: &str, name: &str, root: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = code.split("#[cfg(all(test").next().unwrap_or_default();
    let parent = name.rsplit_once("::").map_or(String::new(), |(parent, _)| format!("{parent}::"));
    let mut found = BTreeSet::new();
    for taken in taken(code) {
        let path = match taken.strip_prefix("super::") {
            Some(rest) => format!("{parent}{rest}"),
            None => taken.strip_prefix(root).unwrap_or_default().to_owned(),
        };
        let path: String = path.split_whitespace().collect();
        // A group of names, `a::{b, c::d}`, is each of them.
        let (stem, group) = path.split_once('{').unwrap_or((path.as_str(), ""));
        let ends = group.trim_end_matches('}').split(',').map(|end| format!("{stem}{end}"));
        for full in ends {
            // The longest part of the path that is a module.
            let parts: Vec<&str> = full.split("::").collect();
            let module = (1..=parts.len())
                .rev()
                .map(|length| parts[..length].join("::"))
                .find(|module| names.contains(module));
            found.extend(module.filter(|module| module != name));
        }
    }
    found
}

/// A circle among modules, as the names on it, where there is one.
fn circle(modules: &[(String, BTreeSet<String>)]) -> Option<Vec<String>> {
    // Modules that import none but those already taken away are taken away; a circle stays.
    let mut left: Vec<&(String, BTreeSet<String>)> = modules.iter().collect();
    loop {
        let names: BTreeSet<&String> = left.iter().map(|(name, _)| name).collect();
        let kept: Vec<_> = left
            .iter()
            .copied()
            .filter(|(_, imports)| imports.iter().any(|import| names.contains(import)))
            .collect();
        if kept.is_empty() {
            return None;
        }
        if kept.len() == left.len() {
            return Some(kept.iter().map(|(name, _)| name.clone()).collect());
        }
        left = kept;
    }
}

#[test]
fn modules_import_in_no_circle() {
    for (folder, path) in WITHOUT_CIRCLES {
        let modules = imports(&root().join(folder), path);
        assert!(modules.len() > 5, "{folder}: {modules:?}");
        let circle = circle(&modules);
        assert!(circle.is_none(), "{folder}: a circle among {circle:?}");
    }
}

/// What a line of source may take.
const COLUMNS: usize = 100;

/// Lines of a text that are longer than [`COLUMNS`]; of Markdown, outside tables.
fn long_lines<'a>(name: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    let markdown = name.ends_with(".md");
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
    lines
        .filter(|(_, line)| line.chars().count() > COLUMNS && !(markdown && line.starts_with('|')))
        .collect()
}

#[test]
fn the_book_is_whole() {
    assert_none(girih_conformance::book::faults(&root()).expect("readable pages"));
}

#[test]
fn lines_end_at_column_100() {
    let listed = std::process::Command::new("git").arg("ls-files").current_dir(root()).output();
    // A copy of the sources without their history has no list of what is tracked.
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else { return };
    let listed = String::from_utf8(listed.stdout).expect("names in UTF-8");
    assert!(listed.lines().any(|name| name == "tests/house.rs"), "an incomplete list:\n{listed}");
    let kinds = [".rs", ".cu", ".cuh", ".hpp", ".wgsl", ".py", ".toml", ".md"];
    let mut wrong = Vec::new();
    for name in listed.lines().filter(|name| kinds.iter().any(|kind| name.ends_with(kind))) {
        // What is deleted but not yet committed is listed too.
        let Ok(text) = std::fs::read_to_string(root().join(name)) else { continue };
        let long = long_lines(name, &text);
        wrong.extend(long.iter().map(|(number, line)| format!("{name}:{number}: {line}")));
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} lines of more than {COLUMNS}:\n{}", wrong.join("\n"));
}

#[test]
fn long_lines_are_found() {
    let line = "| é".to_owned() + &"x".repeat(COLUMNS - 3);
    assert!(long_lines("a.rs", &line).is_empty());
    assert_eq!(long_lines("a.rs", &format!("short\n{line}x")).len(), 1);
    assert!(long_lines("a.md", &format!("{line}x")).is_empty());
    assert_eq!(long_lines("a.md", &format!("- {line}x")).len(), 1);
}

/// That the tests above can fail.
#[test]
fn broken_arrows_are_found() {
    let manifest = "[package]\nname = \"girih-cpu\"\n[dependencies]\n\
                    girih-tfhe.workspace = true\ngirih = { workspace = true }\n\
                    [dev-dependencies]\ngirih-cpu.workspace = true\n";
    let found = dependencies(manifest);
    let want = [("dependencies", "tfhe"), ("dependencies", ""), ("dev-dependencies", "cpu")];
    assert_eq!(found, want.map(|(section, name)| (section.to_owned(), name.to_owned())));
    let names = at_the_root("bootstrap");
    assert!(
        names.contains("Engine")
            && names.contains("BootstrapJob")
            && !names.contains("BackendError"),
        "{names:?}"
    );
    for (text, named) in [
        ("use girih_backend::{\n    BackendError,\n    BootstrapJob,\n};", true),
        ("fn f(x: &girih_backend::Engine) {}", true),
        ("use crate::bootstrap::plan;", true),
        ("use girih_backend::{BackendError, DeviceInfo}; // for an Engine", false),
        ("use wgpu::Engine;", false),
    ] {
        let found = taken(text)
            .iter()
            .any(|taken| words(taken).any(|w| names.contains(w) || w == "bootstrap"));
        assert_eq!(found, named, "{text}");
    }
}

/// That circles are found, however modules are named in an import.
#[test]
fn circles_are_found() {
    let names: BTreeSet<String> = ["a", "b", "b::c", "d"].into_iter().map(str::to_owned).collect();
    let of = |text: &str, name: &str| {
        imported(text, name, "crate::bootstrap::", &names).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(of("use crate::bootstrap::b::c::Thing;", "a"), ["b::c"]);
    assert_eq!(of("use crate::bootstrap::b::{self, Thing};", "a"), ["b"]);
    assert_eq!(of("use crate::bootstrap::{b::c, d};\nuse crate::runtime::a;", "a"), ["b::c", "d"]);
    assert_eq!(of("use super::Thing;\nfn f(x: crate::bootstrap::a::X) {}", "b::c"), ["a", "b"]);
    assert_eq!(of("#[cfg(test)]\nmod tests {\n    use crate::bootstrap::b;\n}", "a"), [""; 0]);
    let module = |name: &str, imports: &[&str]| {
        (name.to_owned(), imports.iter().map(|i| (*i).to_owned()).collect())
    };
    let line = [module("a", &[]), module("b", &["a"]), module("d", &["a", "b"])];
    assert_eq!(circle(&line), None);
    let ring = [module("a", &["d"]), module("b", &["a"]), module("d", &["b"])];
    assert_eq!(circle(&ring).map(|names| names.len()), Some(3));
}
