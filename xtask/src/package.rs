//! `cargo xtask package`

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Make and read the archives, and build nothing of them.
    #[arg(long)]
    no_build: bool,
    /// Archive the files as they lie there, with changes that are not committed.
    #[arg(long)]
    allow_dirty: bool,
}

/// What a registry takes at most.
const LARGEST_BYTES: u64 = 10 << 20;
/// What every archive has.
const EVERYWHERE: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];
/// What kernels are written in.
const KERNELS: [&str; 4] = ["cu", "cuh", "hpp", "wgsl"];

/// A crate that is published.
struct Crate {
    name: String,
    version: String,
    folder: PathBuf,
}

/// Archives of all crates that are published, and a program that is built of them elsewhere.
///
/// # Errors
/// If cargo or tar cannot be started, an archive cannot be made or lacks something, or nothing can
/// be built of the archives.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let crates = published(&root)?;
    let mut package = cargo(&root);
    // Tests are left out on purpose, of which each would be a warning.
    package.args(["package", "--quiet", "--no-verify"]);
    if arguments.allow_dirty {
        package.arg("--allow-dirty");
    }
    package.args(crates.iter().flat_map(|one| ["--package", &one.name]));
    if !package.status().context("cargo")?.success() {
        bail!("the archives were not made");
    }
    let mut good = true;
    for one in &crates {
        let archive = archive(&root, one);
        let names = listed(&archive)?;
        let lacking = lacking(one, &names)?;
        let bytes = std::fs::metadata(&archive)?.len();
        println!(
            "{} {}: {} files, {} KB",
            one.name,
            one.version,
            names.len(),
            bytes.div_ceil(1000)
        );
        if !lacking.is_empty() {
            println!("  lacks {}", lacking.join(", "));
        }
        if bytes > LARGEST_BYTES {
            println!("  is too large: registries take {} MiB", LARGEST_BYTES >> 20);
        }
        good &= lacking.is_empty() && bytes <= LARGEST_BYTES;
    }
    if good && !arguments.no_build {
        good = build_elsewhere(&root, &crates)?;
    }
    Ok(good)
}

fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    command
}

/// The crates of the workspace without `publish = false`.
fn published(root: &Path) -> Result<Vec<Crate>> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let output = cargo(root).args(arguments).output().context("cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let all: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = all["packages"].as_array().context("cargo metadata names no packages")?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let published = packages.iter().filter(|package| package["publish"].is_null());
    let crates = published.filter_map(|package| {
        let folder = PathBuf::from(text(&package["manifest_path"])?).parent()?.to_owned();
        Some(Crate { name: text(&package["name"])?, version: text(&package["version"])?, folder })
    });
    Ok(crates.collect())
}

fn archive(root: &Path, one: &Crate) -> PathBuf {
    root.join(format!("target/package/{}-{}.crate", one.name, one.version))
}

/// The files of an archive, without the folder that all of them are in.
fn listed(archive: &Path) -> Result<BTreeSet<String>> {
    let output = Command::new("tar").arg("-tzf").arg(archive).output().context("tar")?;
    if !output.status.success() {
        bail!("{}: {}", archive.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8(output.stdout).context("names that are no text")?;
    Ok(names.lines().filter_map(|name| Some(name.split_once('/')?.1.to_owned())).collect())
}

/// What an archive of `names` lacks: what all have, and the kernels of its folder.
fn lacking(one: &Crate, names: &BTreeSet<String>) -> Result<Vec<String>> {
    let mut wanted: Vec<String> = EVERYWHERE.map(str::to_owned).into();
    kernels(&one.folder, "", &mut wanted)?;
    Ok(wanted.into_iter().filter(|name| !names.contains(name)).collect())
}

/// Adds the kernels below a folder, by their paths in an archive.
fn kernels(folder: &Path, inside: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{inside}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            kernels(&entry.path(), &format!("{name}/"), found)?;
        } else if KERNELS.iter().any(|kind| name.ends_with(&format!(".{kind}"))) {
            found.push(name);
        }
    }
    Ok(())
}

/// Unpacks the archives outside the tree, and builds and runs the book's first program on them as a
/// user's program that depends on `girih` alone.
///
/// Dependencies are those of the tree, at its versions and with its profile, so that what is built
/// of them already need not be built again.
fn build_elsewhere(root: &Path, crates: &[Crate]) -> Result<bool> {
    let folder = std::env::temp_dir().join(format!("girih-package-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("src"))?;
    let built = build_in(&folder, root, crates);
    std::fs::remove_dir_all(&folder).context("the folder of unpacked archives")?;
    built
}

fn build_in(folder: &Path, root: &Path, crates: &[Crate]) -> Result<bool> {
    let mut patches = String::new();
    for one in crates {
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(archive(root, one)).arg("-C").arg(folder);
        if !tar.status().context("tar")?.success() {
            bail!("{}: the archive cannot be unpacked", one.name);
        }
        patches += &format!("{} = {{ path = \"{}-{}\" }}\n", one.name, one.name, one.version);
    }
    let facade = crates.iter().find(|one| one.name == "girih").context("no crate `girih`")?;
    let manifest = format!(
        "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\ngirih = \"={}\"\n\n[profile.dev]\nopt-level = 2\n\
         debug = \"line-tables-only\"\n\n[patch.crates-io]\n{patches}",
        facade.version
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let program = root.join("crates/girih/examples/guide/first_gate.rs");
    std::fs::copy(program, folder.join("src/main.rs"))?;
    let built = cargo(folder)
        .args(["run", "--quiet"])
        .env("CARGO_TARGET_DIR", root.join("target"))
        .status()
        .context("cargo")?
        .success();
    if built {
        println!("a program of these archives alone was built and ran; its gates were right");
    }
    Ok(built)
}
