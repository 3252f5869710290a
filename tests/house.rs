//! The house in order: the arrows of ARCHITECTURE.md, read off manifests and sources, what crates
//! say of themselves, the book, and lines of at most 100 columns.

mod circles;
mod citations;
mod packages;
mod sizes;

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
    ("discrete", &["ring", "backend", "rlwe", "ckks"], &["cpu"]),
    ("circuit", &["ring", "backend", "rlwe", "tfhe", "discrete"], &["cpu"]),
    ("integer", &["ring", "backend", "rlwe", "tfhe", "discrete"], &["cpu"]),
    ("switching", &["ring", "backend", "rlwe", "tfhe", "ckks", "discrete"], &["cpu"]),
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
const SCHEME_WORDS: [&str; 14] = [
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
    "girih_discrete",
    "girih_rlwe",
    "girih_conformance",
];
/// The same at the beginnings of words.
const SET_NAMES: [&str; 7] =
    ["STD128", "STD192", "STD256", "TFHERS", "INSECURE_", "CKKS_", "DISCRETE_"];

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

/// PyO3 takes the methods of a class in one block, and classes return each other: a server makes
/// ciphertexts, which remember the server that they live with.
const CLASSES: &str = "methods of a Python class stand in one block, and classes return each other";

/// Circles of imports that stay, as a crate, the modules that may be on it, and the reason.
const CIRCLES: [(&str, &[&str], &str); 3] = [
    ("python", &["discrete::integers", "discrete::numbers", "discrete::server"], CLASSES),
    ("python", &["ckks::ciphertexts", "ckks::server"], CLASSES),
    (
        "python",
        &[
            "integer::ciphertexts",
            "integer::server",
            "tfhe::ciphertexts",
            "tfhe::circuit",
            "tfhe::client",
            "tfhe::server",
        ],
        CLASSES,
    ),
];

/// Folders of crates: those that have a manifest and sources beside it.
fn crates() -> Vec<PathBuf> {
    let mut all = Vec::new();
    let folders = ["", "crates", "web"].map(|folder| root().join(folder));
    for folder in folders {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        let inside = entries.map(|e| e.expect("a readable folder").path());
        all.extend(inside.filter(|p| p.join("Cargo.toml").is_file() && p.join("src").is_dir()));
    }
    all.sort();
    all
}

#[test]
fn modules_import_in_no_circle() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for folder in crates() {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let imports = circles::imports(&circles::read(&folder.join("src")));
        seen += imports.values().map(BTreeSet::len).sum::<usize>();
        for circle in circles::circles(&imports) {
            let modules: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let is_listed = CIRCLES.iter().any(|(of, listed, _)| {
                *of == name && modules.iter().all(|module| listed.contains(&module.as_str()))
            });
            if !is_listed {
                let on_it = |of: &circles::Module| {
                    imports[of].intersection(&circle).map(|m| m.join("::")).collect::<Vec<_>>()
                };
                let ties = circle.iter().map(|of| (of.join("::"), on_it(of)));
                wrong.push(format!("{name}: a circle: {:?}", ties.collect::<Vec<_>>()));
            }
        }
    }
    assert!(seen > 1000, "only {seen} imports are seen");
    for (name, listed, why) in CIRCLES {
        assert!(!why.is_empty() && listed.len() > 1, "{name}: {listed:?}");
    }
    assert_none(wrong);
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
fn device_crates_are_in_short_pieces() {
    let mut wrong = Vec::new();
    for folder in ["cpu", "cuda", "multi", "wgpu"] {
        for path in files(&root().join("crates").join(folder).join("src")) {
            let name = path.strip_prefix(root()).expect("below the root").display().to_string();
            if name.ends_with(".rs") {
                wrong.extend(sizes::faults(&name, &read(&path)));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn templates_read_as_wgsl() {
    let templates = files(&root().join("shaders"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "wgsl"));
    let templates: Vec<PathBuf> = templates.collect();
    assert!(templates.len() > 20, "{templates:?}");
    let faults = templates
        .iter()
        .filter_map(|path| sizes::template_faults(&path.display().to_string(), &read(path)));
    assert_none(faults.collect());
}

#[test]
fn long_lines_are_found() {
    let line = "| é".to_owned() + &"x".repeat(COLUMNS - 3);
    assert!(long_lines("a.rs", &line).is_empty());
    assert_eq!(long_lines("a.rs", &format!("short\n{line}x")).len(), 1);
    assert!(long_lines("a.md", &format!("{line}x")).is_empty());
    assert_eq!(long_lines("a.md", &format!("- {line}x")).len(), 1);
}

#[test]
fn comments_cite_headings_that_exist() {
    let mut wrong = Vec::new();
    for folder in ["crates", "xtask/src", "tests"] {
        for path in files(&root().join(folder)) {
            let kinds = ["rs", "cu", "cuh", "wgsl"];
            let kind = path.extension().and_then(|kind| kind.to_str());
            if kind.is_some_and(|kind| kinds.contains(&kind)) && !path.ends_with("tests/house.rs") {
                wrong.extend(citations::faults(&root(), &path.display().to_string(), &read(&path)));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn wrong_citations_are_found() {
    let of = |text: &str| citations::faults(&root(), "a.rs", text).len();
    assert_eq!(of("//! A (docs/ckks.md,\n//! \"Levels and scales\")."), 0);
    assert_eq!(of("/// A (docs/ckks.md, \"Levels and\n/// stairs\")."), 1);
    assert_eq!(of("/// A (docs/none.md, \"Levels\")."), 1);
    assert_eq!(of("// See ckks.md section 6."), 1);
    assert_eq!(of("// See tfhe.md's\n// section 6."), 1);
    assert_eq!(of("// See docs/tfhe.md."), 0);
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
    let files = [
        ("", "mod a; mod b; mod d;\npub use d::Outer;"),
        ("a", "pub struct Thing;\npub fn run() {}"),
        ("b", "mod c;\npub use c::Inner as Other;\npub mod deep {}"),
        ("b::c", "pub struct Inner;"),
        ("d", "pub struct Outer;"),
    ];
    let module = |name: &str| -> circles::Module {
        name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let imports_of = |name: &str, text: &str| {
        let others = files.into_iter().filter(|(of, _)| *of != name);
        let all = others.chain([(name, text)]);
        let all = all.map(|(of, text)| (module(of), circles::Source::new(text))).collect();
        let of = circles::imports(&all).remove(&module(name)).expect("it is there");
        of.into_iter().map(|module| module.join("::")).collect::<Vec<_>>()
    };
    for (text, want) in [
        ("use crate::b::c::Inner;", &["b::c"][..]),
        // To the file that defines a name, whoever exports it.
        ("use crate::b::Other;", &["b::c"]),
        ("use crate::Outer;", &["d"]),
        ("use crate::{a::{self, Thing}, b::c::*};\nfn f(x: Inner) {}", &["a"]),
        // Through a module that was imported, and one that was renamed.
        ("use crate::{a, b};\nfn f() { a::run(); b::c::Inner; }", &["a", "b::c"]),
        ("use crate::b as other;\nfn f(x: other::Other) {}", &["b::c"]),
        ("use crate::a;", &[]),
        ("use super::a::Thing;", &["a"]),
        ("fn f(x: crate::a::Thing) {}", &["a"]),
        // Neither words nor what tests do.
        ("// crate::a::run()\nconst S: &str = \"crate::a::run()\";", &[]),
        ("#[cfg(test)]\nmod tests { use crate::a::Thing; }\nuse crate::Outer;", &["d"]),
        ("use std::a::Thing;", &[]),
    ] {
        assert_eq!(imports_of("e", text), want, "{text}");
    }
    // What a file exports and does not use ties it to nothing; a child is a part of its parent.
    assert_eq!(imports_of("b", "mod c;\npub use c::Inner;"), [""; 0]);
    assert_eq!(imports_of("b", "mod c;\npub use c::Inner;\nfn f(x: Inner) {}"), ["b::c"]);
    assert_eq!(imports_of("b::c", "use super::Other;\nuse crate::a::Thing;"), ["a"]);
    let imports = |ties: &[(&str, &[&str])]| -> circles::Imports {
        let of = |(name, others): &(&str, &[&str])| {
            (module(name), others.iter().map(|other| module(other)).collect())
        };
        ties.iter().map(of).collect()
    };
    let line = imports(&[("a", &[]), ("b", &["a"]), ("d", &["a", "b"])]);
    assert_eq!(circles::circles(&line), []);
    let ring = imports(&[("a", &["d"]), ("b", &["a"]), ("d", &["b"]), ("e", &["a"])]);
    assert_eq!(circles::circles(&ring), [["a", "b", "d"].map(module).into_iter().collect()]);
}
