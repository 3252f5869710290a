//! The book over `docs/` (mdBook): its chapters, whether what they link to is there, and whether
//! their samples are what tests run. `cargo xtask book` builds it from what [`stage`] writes.

use std::collections::BTreeSet;
use std::io::{Error, Result};
use std::path::{Component, Path, PathBuf};

/// Where chapters lie, seen from the root of the repository.
const DOCS: &str = "docs";
/// Files that tests run: all samples are taken from them. (What fences say, their folders.) What
/// clients of TFHE-rs do is run by hand, `cargo xtask tfhe-rs`, and so is the service, `cargo xtask
/// service`.
const SAMPLES: [(&str, &[&str]); 2] = [
    (
        "rust",
        &[
            "crates/girih/examples/guide",
            "crates/girih/tests",
            "crates/service",
            "crates/tfhe-rs/examples",
        ],
    ),
    ("python", &["crates/python/examples"]),
];

/// A path without `.` and `..`; none where it leads out of its root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => out.push(part),
            Component::CurDir => {}
            Component::ParentDir if out.pop() => {}
            _ => return None,
        }
    }
    Some(out)
}

/// The lines of a page with their numbers, those inside fences with what the fence is of.
fn lines(text: &str) -> impl Iterator<Item = (usize, Option<&str>, &str)> {
    let mut fence = None;
    text.lines().enumerate().filter_map(move |(i, line)| {
        if let Some(rest) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(rest) };
            return None;
        }
        Some((i + 1, fence, line))
    })
}

/// A link of a page: its line, and what it points to.
#[derive(Debug, PartialEq, Eq)]
struct Link<'a> {
    line: usize,
    target: &'a str,
}

/// The links of a page, `](target)` and `[name]: target`, without those in code.
fn links(text: &str) -> Vec<Link<'_>> {
    let mut found = Vec::new();
    // Code may go on in the next line, not in the next paragraph.
    let mut in_code = false;
    for (number, _, line) in lines(text).filter(|(_, fence, _)| fence.is_none()) {
        in_code &= !line.trim().is_empty();
        if line.starts_with('[')
            && let Some((_, target)) = line.split_once("]: ")
        {
            found.push(Link { line: number, target });
        }
        // Every other part stands between backticks.
        for (start, _) in line.match_indices("](") {
            if in_code != (line[..start].matches('`').count() % 2 == 1) {
                continue;
            }
            if let Some((target, _)) = line[start + 2..].split_once(')') {
                found.push(Link { line: number, target });
            }
        }
        in_code ^= line.matches('`').count() % 2 == 1;
    }
    found
}

/// Whether a link points into the repository.
fn is_local(target: &str) -> bool {
    !["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

/// The line in front of a sample: `<!-- sample: FILE:ANCHOR -->`.
fn sample_mark(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("<!-- sample: ")?.strip_suffix(" -->")?.split_once(':')
}

/// The lines of a file between `ANCHOR: name` and `ANCHOR_END: name`, without the spaces that all
/// of them begin with.
fn anchored(text: &str, anchor: &str) -> Option<String> {
    let mark = |line: &str| line.trim_start_matches(['/', '#', ' ']).to_owned();
    let after = text.lines().skip_while(|line| mark(line) != format!("ANCHOR: {anchor}")).skip(1);
    let all: Vec<&str> = after.collect();
    let end = all.iter().position(|line| mark(line) == format!("ANCHOR_END: {anchor}"))?;
    let kept = all[..end].iter().filter(|line| !mark(line).starts_with("ANCHOR"));
    let kept: Vec<&str> = kept.copied().collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let spaces = kept.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
    Some(kept.iter().map(|line| format!("{}\n", line.get(spaces..).unwrap_or(""))).collect())
}

/// The page `name` with every sample as the file has it that tests run, and what is wrong with the
/// marks of samples.
fn with_samples(root: &Path, name: &Path, text: &str) -> (String, Vec<String>) {
    let (mut page, mut wrong) = (String::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    let mut mark = None;
    while let Some((number, line)) = lines.next() {
        page.extend([line, "\n"]);
        let Some(language) = line.strip_prefix("```") else {
            mark = sample_mark(line);
            continue;
        };
        let found: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let found: String = found.iter().map(|line| format!("{line}\n")).collect();
        let folders = SAMPLES.iter().find(|(l, _)| *l == language).map(|(_, folders)| *folders);
        let sample = match (mark.take(), folders) {
            (None, None) => Ok(found.clone()),
            (None, Some(_)) => Err("a sample that no test runs".into()),
            (Some((file, anchor)), folders) => {
                let path = normal(&name.with_file_name(file)).unwrap_or_default();
                match (read(&root.join(&path)), folders) {
                    (Err(_), _) => Err(format!("{file}: no such file")),
                    (_, Some(folders)) if !folders.iter().any(|f| path.starts_with(f)) => {
                        Err(format!("{file}: samples are in {}", folders.join(" or ")))
                    }
                    (Ok(text), _) => {
                        anchored(&text, anchor).ok_or(format!("{file}: no anchor {anchor}"))
                    }
                }
            }
        };
        page += &sample.unwrap_or_else(|why: String| {
            wrong.push(format!("{}:{}: {why}", name.display(), number + 1));
            found
        });
        page += "```\n";
    }
    (page, wrong)
}

/// Writes every sample of the pages as the files have it that tests run; the pages that changed.
///
/// # Errors
/// For files that cannot be read or written.
pub fn write_samples(root: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for page in pages(&root.join(DOCS))? {
        let text = read(&page)?;
        let (now, _) = with_samples(root, page.strip_prefix(root).unwrap_or(&page), &text);
        if now != text {
            std::fs::write(&page, now)?;
            written.push(page);
        }
    }
    Ok(written)
}

/// The ids that mdBook and code hosts give to the headings of a page.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = lines(text).filter(|(_, fence, line)| fence.is_none() && line.starts_with('#'));
    let id = |title: &str| {
        let kept = title.trim_start_matches('#').trim().chars().filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
            _ => None,
        });
        kept.collect()
    };
    titles.map(|(_, _, line)| id(line)).collect()
}

/// Every Markdown file below a folder, but the table of contents.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(pages(&path)?);
        } else if path.extension().is_some_and(|e| e == "md") && !path.ends_with("SUMMARY.md") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|e| Error::new(e.kind(), format!("{}: {e}", path.display())))
}

/// What is wrong with the book of the repository at `root`, a sentence each: pages that are no
/// chapters, links that lead nowhere, samples that no test runs or that are not what it runs.
///
/// # Errors
/// For files that cannot be read.
pub fn faults(root: &Path) -> Result<Vec<String>> {
    let docs = root.join(DOCS);
    let summary = read(&docs.join("SUMMARY.md"))?;
    let chapters: BTreeSet<PathBuf> =
        links(&summary).iter().map(|link| docs.join(link.target)).collect();
    let pages = pages(&docs)?;
    let mut wrong = Vec::new();
    for page in pages.iter().filter(|page| !chapters.contains(*page)) {
        wrong.push(format!("{} is not in SUMMARY.md", page.display()));
    }
    for page in pages.iter().chain([&docs.join("SUMMARY.md")]) {
        let name = page.strip_prefix(root).unwrap_or(page);
        let text = read(page)?;
        let found = [link_faults(root, name, &text), sample_faults(root, name, &text)];
        wrong.extend(found.concat());
    }
    Ok(wrong)
}

/// The links of the page `name` that lead nowhere.
fn link_faults(root: &Path, name: &Path, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for link in links(text).iter().filter(|link| is_local(link.target)) {
        let (file, id) = link.target.split_once('#').unwrap_or((link.target, ""));
        let to = if file.is_empty() { name.to_owned() } else { name.with_file_name(file) };
        let why = match normal(&to).map(|to| root.join(to)).filter(|to| to.exists()) {
            None => "no such file",
            Some(_) if id.is_empty() => continue,
            Some(to) if read(&to).is_ok_and(|text| headings(&text).contains(id)) => continue,
            Some(_) => "no such heading",
        };
        wrong.push(format!("{}:{}: {}: {why}", name.display(), link.line, link.target));
    }
    wrong
}

/// Samples of the page `name` that no test runs, or that differ from what it runs.
fn sample_faults(root: &Path, name: &Path, text: &str) -> Vec<String> {
    let (page, mut wrong) = with_samples(root, name, text);
    let differs = page.lines().zip(text.lines()).position(|(wanted, found)| wanted != found);
    if let Some(line) = differs
        && wrong.is_empty()
    {
        let place = format!("{}:{}", name.display(), line + 1);
        wrong.push(format!("{place}: not what the test runs: run `cargo xtask book --samples`"));
    }
    wrong
}

/// Writes the sources of the book below `out`, ready for `mdbook build OUT/docs`: the pages, and
/// what they link to outside `docs/`, as files of the book (`sources/`).
///
/// # Errors
/// For files that cannot be read or written.
pub fn stage(root: &Path, out: &Path) -> Result<()> {
    let docs = root.join(DOCS);
    copy(&docs, &out.join(DOCS))?;
    for page in pages(&docs)? {
        let name = page.strip_prefix(root).expect("pages lie below the root");
        let text = read(&page)?;
        let mut staged = text.clone();
        let elsewhere = |link: &&Link<'_>| is_local(link.target) && !link.target.starts_with('#');
        for link in links(&text).iter().filter(elsewhere) {
            let path = normal(&name.with_file_name(link.target.split('#').next().unwrap_or("")));
            let Some(path) = path.filter(|path| root.join(path).exists()) else { continue };
            if let Some(to) = staged_link(root, out, name, &path)? {
                let ends = [("](", ")"), ("]: ", "\n")];
                for (before, after) in ends {
                    let [old, new] =
                        [link.target, &to].map(|target| format!("{before}{target}{after}"));
                    staged = staged.replace(&old, &new);
                }
            }
        }
        std::fs::write(out.join(name), staged)?;
    }
    Ok(())
}

/// What a link of the page `name` to `path` becomes in the book; none if it stays.
fn staged_link(root: &Path, out: &Path, name: &Path, path: &Path) -> Result<Option<String>> {
    let up = "../".repeat(name.components().count() - 2);
    if root.join(path).is_dir() {
        let inside = path.strip_prefix(DOCS).unwrap_or(path);
        // mdBook makes `index.html` of a chapter of that name.
        if path.starts_with(DOCS) && root.join(path).join("README.md").exists() {
            return Ok(Some(format!("{up}{}/index.html", inside.display())));
        }
        list(&root.join(path), &out.join(DOCS).join(inside))?;
        return Ok(Some(format!("{up}{}/index.html", inside.display())));
    }
    if let Ok(inside) = path.strip_prefix(DOCS) {
        let index = inside.ends_with("README.md");
        return Ok(index.then(|| format!("{up}{}", inside.with_file_name("index.html").display())));
    }
    // Of another page mdBook would expect a chapter.
    let mut to = Path::new("sources").join(path);
    if path.extension().is_some_and(|e| e == "md") {
        to.set_extension("txt");
    }
    let to = to.display().to_string();
    copy(&root.join(path), &out.join(DOCS).join(&to))?;
    Ok(Some(format!("{up}{to}")))
}

/// A page that lists the files of a folder.
fn list(folder: &Path, out: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let items: String =
        names.iter().map(|name| format!("<li><a href=\"{name}\">{name}</a></li>\n")).collect();
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join("index.html"), format!("<!doctype html>\n<ul>\n{items}</ul>\n"))
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let folder = to.parent().expect("a file lies in a folder");
    std::fs::create_dir_all(folder)?;
    std::fs::copy(from, to)
        .map(drop)
        .map_err(|e| Error::new(e.kind(), format!("{} to {}: {e}", from.display(), to.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text = "a [b](c.md#d) `[e](f)` [g](h)\n```rust\n[i](j)\n```\n[k]: https://l\n\
                    `m\n[n](o)` [p](q)\n\n[r](s)\n";
        let found: Vec<_> = links(text).iter().map(|link| (link.line, link.target)).collect();
        let wanted = [(1, "c.md#d"), (1, "h"), (5, "https://l"), (7, "q"), (9, "s")];
        assert_eq!(found, wanted);
        assert!(is_local("c.md") && !is_local("https://l"));
    }

    #[test]
    fn what_leads_nowhere_is_found() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let page = Path::new("docs/ckks.md");
        let bad = "[a](nowhere.md) [b](tfhe.md#no-such-heading) [c](../../out.md)\n";
        assert_eq!(link_faults(root, page, bad).len(), 3, "{:?}", link_faults(root, page, bad));
        let good = "[a](tfhe.md#5-noise-model) [b](../README.md) [c](benchmarks/h200)\n";
        assert_eq!(link_faults(root, page, good), [""; 0]);

        let sample = "../crates/girih/examples/guide/keys.rs:name";
        let of = |mark: &str| {
            let text = format!("<!-- sample: {mark} -->\n```rust\nold\n```\n");
            with_samples(root, page, &text)
        };
        let (written, wrong) = of(sample);
        assert_eq!(wrong, [""; 0]);
        assert_eq!(sample_faults(root, page, &written), [""; 0]);
        assert_eq!(sample_faults(root, page, &written.replacen("let", "lot", 1)).len(), 1);
        for bad in [
            "../crates/girih/examples/guide/keys.rs:no_such_anchor",
            "../crates/girih/examples/guide/none.rs:name",
            "../crates/girih/src/lib.rs:name",
        ] {
            assert_eq!(of(bad).1.len(), 1, "{bad}");
        }
        assert_eq!(sample_faults(root, page, "```rust\nlet x = 1;\n```\n").len(), 1);
    }

    #[test]
    fn anchors_lose_the_spaces_that_their_lines_share() {
        let text = "fn f() {\n    // ANCHOR: a\n    x {\n        // ANCHOR: b\n        y\n    \
                    }\n    // ANCHOR_END: a\n}\n";
        assert_eq!(anchored(text, "a").as_deref(), Some("x {\n    y\n}\n"));
        assert_eq!(anchored(text, "b"), None);
    }
}
