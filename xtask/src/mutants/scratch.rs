//! A copy of the workspace whose one crate holds every change, and its test programs.

use super::sites::{Site, Sites, find};
use super::write::{Written, drop_constant, write};
use anyhow::{Context, Result, bail};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One file of the crate.
pub struct File {
    /// Below the workspace.
    pub path: String,
    source: String,
    pub sites: Vec<Site>,
    written: Written,
}

/// The copy.
pub struct Scratch {
    folder: PathBuf,
    package: String,
    pub files: Vec<File>,
    count: usize,
}

/// A program of tests.
pub struct Program {
    pub name: String,
    pub path: PathBuf,
}

/// Where a change is, and what it changes to what.
pub fn words(file: &str, site: &Site, change: usize) -> String {
    format!("{file}:{}: {}", site.line, site.changes[change])
}

/// Compilations before it is given up.
const ROUNDS: usize = 40;

impl Scratch {
    /// Copies what git lists of the workspace at `root` below its `target`, with every change of
    /// the package `girih-NAME`, or `NAME`, in its sources.
    ///
    /// # Errors
    /// If there is no such package, or files cannot be read, parsed or written.
    pub fn new(root: &Path, name: &str) -> Result<Self> {
        let short = name.trim_start_matches("girih-");
        let source = format!("crates/{short}/src");
        if !root.join(&source).join("lib.rs").is_file() {
            bail!("{name}: is no crate of this project; {source}/lib.rs is not there");
        }
        let folder = root.join("target/mutants").join(short);
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(root)
            .output()
            .context("git")?;
        for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            let from = root.join(name);
            if !name.starts_with(&source) && from.is_file() {
                keep(&folder.join(name), &std::fs::read(&from).context(name.to_owned())?)?;
            }
        }
        let mut all =
            Self { folder, package: format!("girih-{short}"), files: Vec::new(), count: 0 };
        all.module(root, &source, "lib", true)?;
        Ok(all)
    }

    /// Takes the file of a module in `folder`, and those of its modules.
    fn module(&mut self, root: &Path, folder: &str, name: &str, is_root: bool) -> Result<()> {
        let paths = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
        let path = paths.iter().find(|path| root.join(path).is_file());
        let path = path.with_context(|| format!("{folder}: has no file of the module {name}"))?;
        let source = std::fs::read_to_string(root.join(path)).context(path.clone())?;
        let sites: Sites<'_> = find(&source, self.count).with_context(|| path.clone())?;
        self.count = sites.end();
        let written = Written::default();
        let (modules, sites) = (sites.modules, sites.all);
        self.files.push(File { path: path.clone(), source, sites, written });
        let folder = if is_root { folder.to_owned() } else { format!("{folder}/{name}") };
        modules.iter().try_for_each(|module| self.module(root, &folder, module, false))
    }

    /// Writes the sources, but for what `tests` alone take.
    fn write(&mut self, root: &Path) -> Result<()> {
        let chooser = include_str!("chooser.rs.txt").replace("COUNT", &self.count.to_string());
        for (index, file) in self.files.iter_mut().enumerate() {
            file.written = write(&file.source, &file.sites);
            let rest = if index == 0 { chooser.as_str() } else { "" };
            let text = format!("{}{rest}", file.written.text);
            keep(&self.folder.join(&file.path), text.as_bytes())?;
        }
        // Modules of tests, and texts that sources include.
        let source = Path::new(&self.files[0].path).parent().context("a folder")?.to_owned();
        let ours = |path: &Path| self.files.iter().any(|file| Path::new(&file.path) == path);
        for path in below(&root.join(&source))? {
            let inside = path.strip_prefix(root)?;
            if !ours(inside) {
                keep(&self.folder.join(inside), &std::fs::read(&path)?)?;
            }
        }
        Ok(())
    }

    /// The crate's folder in the copy.
    pub fn package_folder(&self) -> PathBuf {
        let source = Path::new(&self.files[0].path).parent().and_then(Path::parent);
        self.folder.join(source.unwrap_or(Path::new("")))
    }

    /// Compiles until no change is in the way: those of which the compiler complains are dropped.
    /// The programs are the crate's own tests, and unless `lib_only` those of its folder of tests.
    ///
    /// # Errors
    /// If it complains of anything else.
    pub fn build(&mut self, root: &Path, lib_only: bool) -> Result<Vec<Program>> {
        self.compile_until_good(root, &["build", "--lib"])?;
        let words = ["test", "--no-run", "--lib", "--tests"];
        self.compile_until_good(root, if lib_only { &words[..3] } else { &words })
    }

    fn compile_until_good(&mut self, root: &Path, words: &[&str]) -> Result<Vec<Program>> {
        for round in 0..ROUNDS {
            self.write(root)?;
            let output = self.compile(words)?;
            let mut programs = Vec::new();
            let mut complaints = Vec::new();
            for line in output.lines() {
                let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
                match message["reason"].as_str() {
                    Some("compiler-message") if message["message"]["level"] == "error" => {
                        complaints.push(message["message"].clone());
                    }
                    Some("compiler-artifact") => programs.extend(program(&message)),
                    Some("build-finished") if message["success"] == true => return Ok(programs),
                    _ => (),
                }
            }
            let before = self.alive();
            let dropped = complaints.iter().filter(|complaint| self.drop(complaint)).count();
            println!(
                "round {round}: {} complaints, {} changes dropped",
                complaints.len(),
                before - self.alive()
            );
            if dropped == 0 || before == self.alive() {
                let texts = complaints.iter().filter_map(|c| c["rendered"].as_str());
                bail!("no change explains these:\n{}", texts.take(9).collect::<String>());
            }
        }
        bail!("does not build after {ROUNDS} compilations");
    }

    /// Every site, with the path of its file.
    pub fn sites(&self) -> impl Iterator<Item = (&str, &Site)> {
        self.files.iter().flat_map(|file| file.sites.iter().map(|site| (file.path.as_str(), site)))
    }

    /// Drops the changes of whose words `wanted` says no.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        for file in &mut self.files {
            for site in &mut file.sites {
                for change in 0..site.changes.len() {
                    site.alive[change] &= wanted(&words(&file.path, site, change));
                }
            }
            // A function stays constant where nothing in it is changed.
            for index in 0..file.sites.len() {
                let inside = index + 1..file.sites[index].end;
                if file.sites[index].unconst.is_some() {
                    let any = file.sites[inside].iter().any(|site| site.alive.contains(&true));
                    file.sites[index].alive = vec![any];
                }
            }
        }
    }

    /// Changes that take part.
    pub fn alive(&self) -> usize {
        let of = |site: &Site| site.alive.iter().take(site.changes.len()).filter(|a| **a).count();
        self.sites().map(|(_, site)| of(site)).sum()
    }

    fn compile(&self, words: &[&str]) -> Result<String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(words)
            // Loops that are inlined many times over, each with its choices, take minutes else.
            .args(["--config", &format!("profile.dev.package.{}.opt-level=1", self.package)])
            .args(["--message-format=json", "-p"])
            .arg(&self.package)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0")
            .env("RUSTFLAGS", "--cap-lints=allow")
            .stderr(Stdio::null())
            .output()
            .context("cargo")?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Drops the changes that a complaint is about; whether there are any.
    fn drop(&mut self, complaint: &serde_json::Value) -> bool {
        let text = complaint["message"].as_str().unwrap_or_default();
        if let Some(name) =
            text.strip_prefix("cannot call non-const").and_then(|t| t.split('`').nth(1))
        {
            let name = name.rsplit("::").next().unwrap_or(name);
            let of = |file: &mut File| drop_constant(name, &mut file.sites);
            return self.files.iter_mut().map(of).fold(false, |any, this| any | this);
        }
        let spans = complaint["spans"].as_array().map_or(&[][..], Vec::as_slice);
        [true, false].into_iter().any(|primary| {
            let these = spans.iter().filter(|span| span["is_primary"] == primary);
            these.map(|span| self.drop_span(span)).fold(false, |any, this| any | this)
        })
    }

    fn drop_span(&mut self, span: &serde_json::Value) -> bool {
        let number = |what: &str| span[what].as_u64().map(|n| n as usize);
        let (Some(name), Some(start), Some(end)) =
            (span["file_name"].as_str(), number("byte_start"), number("byte_end"))
        else {
            return false;
        };
        let range: Range<usize> = start..end;
        let file = self.files.iter_mut().find(|file| name.ends_with(&file.path));
        file.is_some_and(|file| file.written.drop_at(&range, &mut file.sites))
    }
}

fn program(artifact: &serde_json::Value) -> Option<Program> {
    let path = PathBuf::from(artifact["executable"].as_str()?);
    let name = artifact["target"]["name"].as_str()?.to_owned();
    Some(Program { name, path })
}

/// The files below a folder.
fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { all.extend(below(&path)?) } else { all.push(path) }
    }
    Ok(all)
}

/// Writes a file unless it is so already: cargo compiles what is newer.
fn keep(path: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}
