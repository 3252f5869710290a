//! Debian's packages, unpacked below `target`, so that the machine stays as it is.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where packages come from: lists that are signed, checked by the keys of this machine.
const LISTS: &str = "deb http://deb.debian.org/debian bookworm main\n\
                     deb http://deb.debian.org/debian bookworm-backports main\n\
                     deb-src http://deb.debian.org/debian bookworm-backports main\n\
                     deb http://deb.debian.org/debian-security bookworm-security main\n\
                     deb http://deb.debian.org/debian trixie-backports main\n";

/// The file of a folder that names the packages in it.
const NAMES: &str = "packages.txt";

/// A folder below `target`, by its whole path, which loaders of libraries want.
///
/// # Errors
/// If it cannot be made.
pub fn below_target(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(name);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder.canonicalize()?)
}

/// The folder `name` below `target` with `packages` unpacked in it, downloaded by the first call.
/// Each is a name, or a name and its version (`libdrm2=2.4.123-1`).
///
/// # Errors
/// Where apt or the packages cannot be had.
pub fn unpacked(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = below_target(name)?;
    if folder.join(NAMES).exists() {
        return Ok(folder);
    }
    println!("downloading {} below target", packages.join(", "));
    let archives = folder.join("archives");
    std::fs::create_dir_all(&archives)?;
    get(&[&["download"], packages].concat(), &archives)?;
    let mut names = Vec::new();
    for archive in std::fs::read_dir(&archives)? {
        let archive = archive?;
        step(Command::new("dpkg").arg("-x").arg(archive.path()).arg(&folder))?;
        names.push(archive.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    std::fs::remove_dir_all(&archives)?;
    // Last: what is there is whole.
    std::fs::write(folder.join(NAMES), names.join("\n") + "\n")?;
    Ok(folder)
}

/// The version of a package in a folder of [`unpacked`].
pub fn version(folder: &Path, package: &str) -> Option<String> {
    let names = std::fs::read_to_string(folder.join(NAMES)).ok()?;
    let of = |line: &str| {
        let rest = line.strip_prefix(package)?.strip_prefix('_')?;
        Some(rest.split('_').next()?.replace("%3a", ":"))
    };
    names.lines().find_map(of)
}

/// `apt-get` with `words`, in `folder`. Its lists and its state lie below `target`, too.
///
/// # Errors
/// Where apt cannot be run, or does not have what is asked for.
pub fn get(words: &[&str], folder: &Path) -> Result<()> {
    static UPDATED: OnceLock<()> = OnceLock::new();
    let root = below_target("apt")?;
    let options = options(&root)?;
    let run = |words: &[&str], folder: &Path| {
        step(Command::new("apt-get").args(&options).args(words).current_dir(folder))
    };
    if UPDATED.get().is_none() {
        run(&["update"], &root)?;
        UPDATED.get_or_init(|| ());
    }
    run(words, folder)
}

fn options(root: &Path) -> Result<Vec<String>> {
    let at = |name: &str| root.join(name);
    for folder in ["lists/partial", "cache/archives/partial"] {
        std::fs::create_dir_all(at(folder))?;
    }
    std::fs::write(at("sources"), LISTS)?;
    std::fs::write(at("status"), "")?;
    let option = |name: &str, file: &str| format!("-o{name}={}", at(file).display());
    Ok(vec![
        option("Dir::Etc::sourcelist", "sources"),
        "-oDir::Etc::sourceparts=-".into(),
        option("Dir::State::Lists", "lists"),
        option("Dir::State::status", "status"),
        option("Dir::Cache", "cache"),
        "-oAPT::Sandbox::User=root".into(),
        "-qq".into(),
    ])
}

/// Runs a program that must succeed.
///
/// # Errors
/// Its name and what it said, where it does not.
pub fn step(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be run"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // Builds print errors where they print everything.
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { said };
    let lines: Vec<&str> = said.trim().lines().collect();
    bail!("{name}: {}", lines[lines.len().saturating_sub(20)..].join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_names_of_archives() {
        let folder = std::env::temp_dir().join(format!("girih-apt-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let names = "bison_2%3a3.8.2+dfsg-1_amd64.deb\nlibdrm-dev_1-2_amd64.deb\n";
        std::fs::write(folder.join(NAMES), names).expect("a file");
        assert_eq!(version(&folder, "bison").as_deref(), Some("2:3.8.2+dfsg-1"));
        assert_eq!(version(&folder, "libdrm"), None);
        assert_eq!(version(&folder, "libdrm-dev").as_deref(), Some("1-2"));
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
