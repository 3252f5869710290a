//! `docs/glossary.md` against the sources:
//! every stage and constant under one name in every language.

use std::collections::BTreeSet;
use std::path::PathBuf;

fn read(path: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The cells of the rows of the table below the heading that begins with `heading`,
/// without backticks.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let section = text.split("\n## ").find(|s| s.starts_with(heading)).unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    })
    .collect()
}

/// Whether the code of `text`, without comments, defines or calls the function,
/// macro or kernel `name`.
fn has_function(text: &str, name: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut found = code.flat_map(|line| line.match_indices(name).map(move |(at, _)| (line, at)));
    found.any(|(line, at)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && matches!(after, Some('(' | '<'))
    })
}

/// Whether `text` has `name` as a whole word, in code or comments.
fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == name)
}

/// Files of a row that lack its name: `folders[i]` are those in which column i + 2 looks.
fn lacking(
    row: &[String],
    folders: &[&[&str]],
    has: impl Fn(&str, &str) -> bool,
    read: impl Fn(&str) -> String,
) -> Vec<String> {
    let files = row[2..].iter().zip(folders).filter(|(file, _)| *file != "-");
    files
        .filter_map(|(file, folders)| {
            let path = folders.iter().map(|folder| format!("{folder}/{file}")).find(|path| {
                let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
                PathBuf::from(root).join(path).exists()
            });
            let path = path.unwrap_or_else(|| format!("{}/{file}", folders[0]));
            (!has(&read(&path), &row[0])).then(|| format!("{path} has no `{}`", row[0]))
        })
        .collect()
}

#[test]
fn every_stage_has_one_name_in_every_language() {
    let text = read("docs/glossary.md");
    let stages = table(&text, "Stages of a bootstrapping");
    assert!(stages.len() > 10, "{stages:?}");
    let folders: [&[&str]; 3] =
        [&["crates/cpu/src/bootstrap"], &["cuda/bootstrap"], &["shaders/bootstrap", "shaders/lib"]];
    let mut wrong = Vec::new();
    for row in &stages {
        wrong.extend(lacking(row, &folders, has_function, read));
    }
    let kernels = table(&text, "Kernels of the poly family");
    assert_eq!(kernels.len(), 4, "{kernels:?}");
    let folders: [&[&str]; 3] = [&["crates/cpu/src/poly"], &["cuda/poly"], &["shaders/poly"]];
    for row in &kernels {
        wrong.extend(lacking(row, &folders, has_word, read));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_stages_are_those_of_architecture_md() {
    let names = |rows: Vec<Vec<String>>| rows.into_iter().map(|row| row[0].clone());
    let here: Vec<_> =
        names(table(&read("docs/glossary.md"), "Stages of a bootstrapping")).collect();
    let there: Vec<_> =
        names(table(&read("ARCHITECTURE.md"), "One bootstrapping, stage by stage")).collect();
    assert_eq!(here, there);
}

/// Names in quotation marks of capital letters that stand after `before`.
fn constants(text: &str, before: &str) -> BTreeSet<String> {
    let starts = text.split(before).skip(1);
    let names = starts.filter_map(|rest| rest.split('"').next());
    let is_name = |name: &&str| {
        let name = name.trim_end_matches("[]");
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    names.filter(is_name).map(|name| name.trim_end_matches("[]").to_owned()).collect()
}

/// What the table below `heading` says wrongly of the constants of two languages; its last two
/// columns are theirs.
fn wrong_constants(heading: &str, cuda: &BTreeSet<String>, wgsl: &BTreeSet<String>) -> Vec<String> {
    let rows = table(&read("docs/glossary.md"), heading);
    assert!(rows.len() > 10, "{heading}: {rows:?}");
    let mut wrong = Vec::new();
    for row in &rows {
        let cells = row[row.len() - 2..].iter();
        for ((language, has), cell) in [("CUDA", cuda), ("WGSL", wgsl)].into_iter().zip(cells) {
            if has.contains(&row[0]) != (cell == "yes") {
                wrong.push(format!("{language}: `{}` is listed as `{cell}`", row[0]));
            }
        }
    }
    for name in cuda.intersection(wgsl) {
        if !rows.iter().any(|row| row[0] == *name) {
            wrong.push(format!("`{name}` is in CUDA and in WGSL, and not in the glossary"));
        }
    }
    wrong
}

#[test]
fn every_constant_has_one_name_in_every_language() {
    let cuda = constants(&read("crates/cuda/src/bootstrap/source.rs"), "\"");
    let wgsl = constants(&read("crates/wgpu/src/bootstrap/variant.rs"), "set(\"");
    let mut wrong = wrong_constants("Constants of the bootstrap kernels", &cuda, &wgsl);
    let files = ["rows", "columns", "pointwise", "source"];
    let cuda: String =
        files.iter().map(|file| read(&format!("crates/cuda/src/poly/{file}.rs"))).collect();
    let wgsl = constants(&read("crates/wgpu/src/poly/kernels.rs"), "(\"");
    wrong.extend(wrong_constants("Constants of the poly kernels", &constants(&cuda, "(\""), &wgsl));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_step_of_a_transform_has_one_name() {
    let rows = table(&read("docs/glossary.md"), "A 32-bit transform");
    assert!(rows.len() > 8, "{rows:?}");
    let folders: [&[&str]; 2] = [&["cuda/lib", "cuda/bootstrap"], &["shaders/lib"]];
    let wrong: Vec<_> =
        rows.iter().flat_map(|row| lacking(row, &folders, has_word, read)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// That the tests above can fail.
#[test]
fn what_is_missing_is_found() {
    for (code, has) in [
        ("fn combine(x: u32)", true),
        ("#def combine(a)", true),
        ("i32 combine<level>(x)", true),
        ("// combine(x)", false),
        ("fn recombine(x)", false),
        ("let combine = 1;", false),
    ] {
        assert_eq!(has_function(code, "combine"), has, "{code}");
    }
    let row = ["combine", "what", "combine.rs", "-"].map(str::to_owned);
    let folders: [&[&str]; 2] = [&["crates/cpu/src/bootstrap"], &["cuda/bootstrap"]];
    let of = |text: &'static str| lacking(&row, &folders, has_function, |_| text.to_owned());
    assert!(of("fn combine()").is_empty());
    assert_eq!(of(""), ["crates/cpu/src/bootstrap/combine.rs has no `combine`"]);
    assert_eq!(
        table("# T\n\n## A b\n\n| x | y |\n|---|---|\n| `p` | q |\n\n## B\n| r |\n", "A"),
        [["p", "q"]]
    );
    let found = constants("set(\"ONE\", 1); set(\"two\", 2); (\"THREE[]\", 3)", "\"");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["ONE", "THREE"]);
}
