//! What Debian's packages of Mesa lack, built from the source of the same version: libraries that
//! pretend that a device of the kernel is there, and the driver for Mali's chips, which the
//! packages have for Arm's processors only.

use super::apt;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "25.0.7-2~bpo12+1";
const ARCHIVE: &str = "mesa_25.0.7.orig.tar.xz";
/// Of the archive, SHA-256.
const CHECKSUM: &str = "592272df3cf01e85e7db300c449df5061092574d099da275d19e97ef0510f8a6";

/// What the build needs beside a C compiler, Python and pkg-config.
const PACKAGES: [&str; 12] = [
    "libdrm-dev=2.4.123-1~bpo12+1",
    "libdrm2=2.4.123-1~bpo12+1",
    "libdrm-intel1=2.4.123-1~bpo12+1",
    "libdrm-amdgpu1=2.4.123-1~bpo12+1",
    "zlib1g-dev",
    "zlib1g",
    "libexpat1-dev",
    "libexpat1",
    "flex",
    "bison",
    "m4",
    "glslang-tools",
];
/// From Python's index.
const PYTHON: [&str; 6] = [
    "meson==1.7.0",
    "ninja==1.11.1.4",
    "mako==1.3.10",
    "pyyaml==6.0.2",
    "packaging==25.0",
    "setuptools==80.9.0",
];

/// Nothing that draws, and no LLVM: only what is asked for is compiled of it.
const OPTIONS: &[&str] = &[
    "-Dbuildtype=plain",
    "-Dc_args=-O1",
    "-Dcpp_args=-O1",
    "-Db_ndebug=true",
    "-Dvulkan-drivers=amd,panfrost",
    "-Dtools=drm-shim,intel",
    "-Dgallium-drivers=",
    "-Dplatforms=",
    "-Dopengl=false",
    "-Dglx=disabled",
    "-Degl=disabled",
    "-Dgbm=disabled",
    "-Dgles1=disabled",
    "-Dgles2=disabled",
    "-Dllvm=disabled",
    "-Dvideo-codecs=",
    "-Dvulkan-layers=",
    "-Dxmlconfig=disabled",
    "-Dintel-rt=disabled",
    "-Dzstd=disabled",
    "-Dshader-cache=disabled",
    "-Dperfetto=false",
    "-Dvalgrind=disabled",
    "-Dlibunwind=disabled",
    "-Dlmsensors=disabled",
];

/// A folder with the libraries that `targets` of Mesa's build make, built by the first call.
///
/// # Errors
/// Where the source or a tool cannot be had, or the build fails.
pub fn built(targets: &[&str]) -> Result<PathBuf> {
    let folder = apt::below_target("mesa-25.0.7-built")?;
    let name = |target: &str| target.rsplit('/').next().unwrap_or(target).to_owned();
    let missing: Vec<&str> =
        targets.iter().copied().filter(|target| !folder.join(name(target)).exists()).collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    let names: Vec<String> = missing.iter().map(|target| name(target)).collect();
    println!("building {} of Mesa's source below target, for minutes", names.join(", "));
    let work = Build::prepare()?;
    work.ninja(&missing)?;
    for target in missing {
        std::fs::copy(work.build.join(target), folder.join(name(target)))?;
    }
    // Some hundred megabytes that nobody needs again.
    std::fs::remove_dir_all(&work.root)?;
    Ok(folder)
}

/// How far a timeline of the kernel's has come is written by the kernel, and a device that does
/// nothing writes nothing: a driver would read what happens to lie there. All has been reached.
const REACHED: &str = "
#include <stdint.h>
int drmSyncobjQuery2(int file, uint32_t *names, uint64_t *points, uint32_t count, uint32_t flags)
{
    for (uint32_t i = 0; i < count; i++)
        points[i] = UINT64_C(1) << 40;
    return 0;
}
int drmSyncobjQuery(int file, uint32_t *names, uint64_t *points, uint32_t count)
{
    return drmSyncobjQuery2(file, names, points, count, 0);
}
";

/// A library that goes before libdrm, beside those that pretend that a device is there.
///
/// # Errors
/// Where there is no C compiler.
pub fn reached() -> Result<PathBuf> {
    let folder = apt::below_target("mesa-25.0.7-built")?;
    let (source, library) = (folder.join("reached.c"), folder.join("libreached.so"));
    std::fs::write(&source, REACHED)?;
    apt::step(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source))?;
    Ok(library)
}

struct Build {
    /// Of everything below.
    root: PathBuf,
    source: PathBuf,
    build: PathBuf,
    tools: PathBuf,
    python: PathBuf,
}

impl Build {
    fn prepare() -> Result<Self> {
        for (tool, package) in [("cc", "gcc"), ("c++", "g++"), ("pkg-config", "pkg-config")] {
            if Command::new(tool).arg("--version").output().is_err() {
                bail!("Mesa is built with `{tool}`, which is not here (Debian: {package})");
            }
        }
        let tools = apt::unpacked("mesa-25.0.7-tools", &PACKAGES)?;
        // Packages say where they would be installed.
        for file in std::fs::read_dir(tools.join("usr/lib/x86_64-linux-gnu/pkgconfig"))? {
            let file = file?.path();
            let text = std::fs::read_to_string(&file)?;
            let prefix = format!("prefix={}", tools.join("usr").display());
            std::fs::write(&file, text.replacen("prefix=/usr\n", &(prefix + "\n"), 1))?;
        }
        let root = apt::below_target("mesa-25.0.7-source")?;
        let python = root.join("python");
        apt::step(
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(["--root-user-action=ignore", "--target"])
                .arg(&python)
                .args(PYTHON),
        )?;
        let version = format!("mesa={VERSION}");
        // Without the description of the package, which an archive may drop before its source.
        apt::get(&["source", "--download-only", "--tar-only", &version], &root)?;
        check(&root.join(ARCHIVE))?;
        apt::step(Command::new("tar").arg("-xf").arg(ARCHIVE).current_dir(&root))?;
        let source = root.join("mesa-25.0.7");
        let build = source.join("build");
        let build = Self { root, source, build, tools, python };
        let mut meson = build.command("meson");
        apt::step(meson.arg("setup").arg("build").args(OPTIONS).current_dir(&build.source))?;
        Ok(build)
    }

    /// A program of Python's index, which finds those of the packages.
    fn command(&self, name: &str) -> Command {
        let folders = [self.python.join("bin"), self.tools.join("usr/bin")];
        let before = std::env::var_os("PATH").unwrap_or_default();
        let path = folders.into_iter().chain(std::env::split_paths(&before));
        let path = std::env::join_paths(path).unwrap_or(before);
        let mut command = Command::new(self.python.join("bin").join(name));
        command
            .env("PATH", path)
            .env("PYTHONPATH", &self.python)
            .env("PKG_CONFIG_PATH", self.tools.join("usr/lib/x86_64-linux-gnu/pkgconfig"))
            .env("BISON_PKGDATADIR", self.tools.join("usr/share/bison"))
            .env("M4", self.tools.join("usr/bin/m4"));
        command
    }

    fn ninja(&self, targets: &[&str]) -> Result<()> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut ninja = self.command("ninja");
        apt::step(ninja.arg("-C").arg(&self.build).arg(format!("-j{threads}")).args(targets))
    }
}

/// Whether a file is the one that is meant.
fn check(archive: &Path) -> Result<()> {
    let output = Command::new("sha256sum").arg(archive).output().context("sha256sum")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.split_whitespace().next() != Some(CHECKSUM) {
        bail!("{}: its SHA-256 is not {CHECKSUM}: {}", archive.display(), said.trim());
    }
    Ok(())
}
