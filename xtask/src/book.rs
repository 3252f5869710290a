//! `cargo xtask book`

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where the book goes.
    #[arg(long, value_name = "DIR", default_value = "target/book/html")]
    out: PathBuf,
    /// An mdBook that is there already; else one is built below `target`.
    #[arg(long, value_name = "FILE")]
    mdbook: Option<PathBuf>,
    /// Write the samples of the pages as the programs have them that tests run, and no book.
    #[arg(long)]
    samples: bool,
}

/// The mdBook that the book is known to build with.
const VERSION: &str = "0.5.4";

/// Builds the book and follows every link in it.
///
/// # Errors
/// If mdBook cannot be had or started, or files cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    if arguments.samples {
        for page in girih_conformance::book::write_samples(&root)? {
            println!("{}", page.strip_prefix(&root).unwrap_or(&page).display());
        }
    }
    let faults = girih_conformance::book::faults(&root)?;
    for fault in &faults {
        println!("{fault}");
    }
    if arguments.samples || !faults.is_empty() {
        return Ok(faults.is_empty());
    }
    let mdbook = match &arguments.mdbook {
        Some(program) => program.clone(),
        None => installed(&root)?,
    };
    let (sources, out) = (root.join("target/book/sources"), std::path::absolute(&arguments.out)?);
    // Of pages that are gone nothing may stay.
    for folder in [&sources, &out] {
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
    }
    girih_conformance::book::stage(&root, &sources)?;
    let mut build = Command::new(&mdbook);
    build.arg("build").arg(sources.join("docs")).arg("--dest-dir").arg(&out);
    let done = build.status().with_context(|| mdbook.display().to_string())?;
    if !done.success() {
        bail!("mdBook failed");
    }
    let (pages, dead) = dead_links(&out)?;
    for link in &dead {
        println!("{link}");
    }
    println!("{}: {pages} pages, {} dead links", out.join("index.html").display(), dead.len());
    Ok(dead.is_empty())
}

/// mdBook below `target`, built if it is not there.
fn installed(root: &Path) -> Result<PathBuf> {
    let folder = root.join("target/tools");
    let program = folder.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        println!("building mdBook {VERSION}");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.args(["install", "mdbook", "--locked", "--no-default-features", "--version"]);
        install.arg(VERSION).arg("--root").arg(&folder).arg("--target-dir");
        let done = install.arg(root.join("target/tools/build")).status().context("cargo")?;
        if !done.success() {
            bail!("mdBook was not built; --mdbook FILE takes one that is there");
        }
    }
    Ok(program)
}

/// The pages below a folder, by path.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(pages(&path)?);
        } else if path.extension().is_some_and(|e| e == "html") {
            all.push(path);
        }
    }
    Ok(all)
}

/// The values of an attribute in a page.
fn values<'a>(text: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {attribute}=\"");
    let all: Vec<&str> =
        text.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect();
    all.into_iter()
}

/// How many pages there are, and the links among them that lead nowhere.
fn dead_links(folder: &Path) -> Result<(usize, Vec<String>)> {
    let pages = pages(folder)?;
    let mut dead = Vec::new();
    for page in &pages {
        // All chapters in one: their links are looked at in the chapters. And the page for wrong
        // addresses, which may be shown at any.
        if page.ends_with("print.html") || page.ends_with("404.html") {
            continue;
        }
        let text = std::fs::read_to_string(page)?;
        let links: BTreeSet<&str> = values(&text, "href").chain(values(&text, "src")).collect();
        for link in links.into_iter().filter(|link| !link.contains(':')) {
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let found = to.is_file()
                && (id.is_empty() || {
                    let text = std::fs::read_to_string(&to).unwrap_or_default();
                    values(&text, "id").any(|there| there == id)
                });
            if !found {
                dead.push(format!("{}: {link} leads nowhere", page.display()));
            }
        }
    }
    Ok((pages.len(), dead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let folder = std::env::temp_dir().join(format!("girih-book-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a")).expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("written");
        };
        write("index.html", "<h1 id=\"top\"></h1><a class=\"x\" href=\"a/b.html#c\"></a>");
        write("a/b.html", "<h1 id=\"c\"></h1><a href=\"../index.html#top\"><a href=\"#c\">");
        let (pages, dead) = dead_links(&folder).expect("readable");
        assert_eq!((pages, dead.len()), (2, 0), "{dead:?}");
        write("a/b.html", "<a href=\"gone.html\"><a href=\"#c\"><img src=\"no.svg\">");
        // The page and its two, and the heading that the index names.
        assert_eq!(dead_links(&folder).expect("readable").1.len(), 4);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
