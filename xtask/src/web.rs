//! `cargo xtask web`: the page and the package for npm, and their tests in browsers.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Check types, then test the package in Node and the page in Chromium and Firefox.
    #[arg(long)]
    test: bool,
    /// Install what is missing: rustup's target, packages of Debian (browsers, a software driver
    /// for Vulkan, a compiler for the target where rustup has none) as root, and of npm below
    /// `web/`.
    #[arg(long)]
    install: bool,
    /// Serve the page at 127.0.0.1 on this port (0: a free one) until it is ended.
    #[arg(long, value_name = "PORT")]
    serve: Option<u16>,
}

const TARGET: &str = "wasm32-unknown-unknown";
/// A compiler with the sources of its standard library, for machines without rustup's target.
const COMPILER: [&str; 5] =
    ["rustc-web", "libstd-rust-web-1.96", "libstd-rust-web-dev", "rust-web-src", "libllvm22"];
/// What tests run in.
const BROWSERS: [(&str, &str); 3] = [
    ("/usr/bin/chromium", "chromium"),
    ("/usr/bin/firefox-esr", "firefox-esr"),
    ("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "mesa-vulkan-drivers"),
];
/// The most bytes of the module.
const MOST_BYTES: u64 = 2_200_000;

/// Builds, and tests or serves where that is asked for.
///
/// # Errors
/// If a tool is missing, naming how to get it; if one fails.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let (web, out) = (root.join("web"), root.join("target/web"));
    fs::create_dir_all(&out)?;
    if !web.join("node_modules").exists() {
        ensure!(arguments.install, "npm packages are missing; `--install` gets them (`npm ci`)");
        // What the browsers' driver says of Node's version is said by the tests.
        let npm = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        must(Command::new("npm").args(npm).current_dir(&web))?;
    }
    let module = compile(root, &out, arguments.install)?;
    let package = assemble(&web, &out, &module)?;
    let bytes = fs::metadata(package.join("girih_bg.wasm"))?.len();
    println!("{}: {bytes} bytes of WebAssembly", package.display());
    let fits = bytes < MOST_BYTES;
    if !fits {
        println!("that is {MOST_BYTES} bytes or more: too much for a page");
    }
    must(Command::new("npm").args(["pack", "--silent", "../package"]).current_dir({
        let folder = out.join("npm");
        fs::create_dir_all(&folder)?;
        folder
    }))?;
    if arguments.test {
        for (file, name) in BROWSERS.into_iter().filter(|(file, _)| !Path::new(file).exists()) {
            ensure!(
                arguments.install,
                "{file} is missing; `--install` gets the package {name} of Debian"
            );
            must(Command::new("apt-get").args([
                "install",
                "--yes",
                "--no-install-recommends",
                name,
            ]))?;
        }
        must(Command::new("npm").args(["run", "--silent", "types"]).current_dir(&web))?;
        // Named one by one: Node expands patterns from version 21 on.
        let tests = ["tests/package.test.js", "tests/browser.test.js"];
        // The system's may be older than what the module needs.
        let mut node = Command::new(web.join("node_modules/.bin/node"));
        node.args(["--test", "--test-concurrency=1"]).args(tests).current_dir(&web);
        let passed = node.status()?.success();
        return Ok(fits && passed);
    }
    if let Some(port) = arguments.serve {
        must(Command::new("node").args(["serve.js", &port.to_string()]).current_dir(&web))?;
    }
    Ok(fits)
}

/// Runs a command that must succeed.
fn must(command: &mut Command) -> Result<()> {
    let what = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{what}: is it installed?"))?;
    ensure!(status.success(), "{what} failed: {status}");
    Ok(())
}

/// The module as the compiler makes it.
fn compile(root: &Path, out: &Path, install: bool) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let folder = out.join("build");
    let mut command = Command::new(&cargo);
    command.args(["build", "--package", "girih-web", "--profile", "web", "--target", TARGET]);
    // Every browser that runs the module has these vectors, and the CPU device is made of them.
    command.env("RUSTFLAGS", "-C target-feature=+simd128").env("CARGO_TARGET_DIR", &folder);
    if install && !super::wasm::has_target(super::wasm::TARGET)? {
        // Where there is no rustup, or it does not get it, a compiler of Debian's does.
        let rustup = Command::new("rustup").args(["target", "add", TARGET]).status();
        if !rustup.is_ok_and(|status| status.success()) {
            println!("rustup has no {TARGET}");
        }
    }
    if !super::wasm::has_target(super::wasm::TARGET)? {
        let sysroot = out.join("compiler");
        if !sysroot.join("usr/bin/rustc").exists() {
            ensure!(
                install,
                "this toolchain has no {TARGET}: `rustup target add {TARGET}` installs it, or \
                 `--install` gets a compiler of Debian's ({})",
                COMPILER.join(", ")
            );
            unpack(&sysroot)?;
        }
        let rustc = wrapper(&sysroot)?;
        command.env("RUSTC", rustc).env("RUSTC_BOOTSTRAP", "1").env("PATH", linkers()?);
        command.arg("-Zbuild-std=std,panic_abort");
    }
    must(command.current_dir(root))?;
    Ok(folder.join(TARGET).join("web/girih_web.wasm"))
}

/// Gets the compiler's packages and unpacks them, without installing: one of the same name may be
/// there.
fn unpack(sysroot: &Path) -> Result<()> {
    fs::create_dir_all(sysroot)?;
    must(Command::new("apt-get").arg("download").args(COMPILER).current_dir(sysroot))?;
    for entry in fs::read_dir(sysroot)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("deb")) {
            must(Command::new("dpkg").arg("--extract").args([path.as_path(), sysroot]))?;
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// A script that runs the unpacked compiler with its own libraries, which host programs that bring
/// theirs must not see.
fn wrapper(sysroot: &Path) -> Result<PathBuf> {
    let usr = sysroot.join("usr");
    let script = sysroot.join("rustc");
    let text = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{0}/lib/x86_64-linux-gnu' exec '{0}/bin/rustc' \"$@\"\n",
        usr.display()
    );
    fs::write(&script, text)?;
    must(Command::new("chmod").arg("+x").arg(&script))?;
    Ok(script)
}

/// PATH with the toolchain's `rust-lld`, which the unpacked compiler does not have.
fn linkers() -> Result<std::ffi::OsString> {
    let libraries = Command::new("rustc").args(["--print", "target-libdir"]).output()?;
    let libraries = PathBuf::from(String::from_utf8(libraries.stdout)?.trim());
    let tools = libraries.parent().context("the toolchain")?.join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(tools).chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(all)?)
}

/// Makes the glue, optimises the module, lays package and page out; the package's folder.
fn assemble(web: &Path, out: &Path, module: &Path) -> Result<PathBuf> {
    let glue = out.join("glue");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut bindgen = Command::new(cargo);
    bindgen.args(["run", "--quiet", "--release", "--locked", "--manifest-path"]);
    bindgen.arg(web.join("bindgen/Cargo.toml")).arg("--target-dir").arg(out.join("bindgen"));
    must(bindgen.arg("--").args([module, glue.as_path()]))?;
    let optimise = web.join("node_modules/.bin/wasm-opt");
    // No browser reads compact imports yet.
    let options = ["-Oz", "--all-features", "--disable-compact-imports", "--strip-producers"];
    let optimised = glue.join("optimised.wasm");
    let from = glue.join("girih_bg.wasm");
    must(Command::new(optimise).args(options).arg(&from).arg("--output").arg(&optimised))?;
    let (package, page) = (out.join("package"), out.join("page"));
    for folder in [&package, &page] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    copy(&web.join("package"), &package)?;
    for name in ["girih.js", "girih.d.ts"] {
        fs::copy(glue.join(name), package.join(name))?;
    }
    fs::copy(optimised, package.join("girih_bg.wasm"))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(web.join("..").join(licence), package.join(licence))?;
    }
    copy(&web.join("page"), &page)?;
    copy(&package, &page.join("girih"))?;
    copy_linked(&web.join(".."), &page)?;
    Ok(package)
}

/// Copies what the page links of the repository, pages and sources, to where its links lead.
fn copy_linked(root: &Path, page: &Path) -> Result<()> {
    let text = fs::read_to_string(page.join("index.html"))?;
    let links = text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    for link in links.filter(|link| !page.join(link).exists()) {
        let to = page.join(link);
        fs::create_dir_all(to.parent().context("a file of the page")?)?;
        fs::copy(root.join(link), to).with_context(|| format!("the page links {link}"))?;
    }
    Ok(())
}

/// Copies the files of a folder, which has no folders in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { bail!("{} has no name", path.display()) };
        fs::copy(&path, to.join(name))?;
    }
    Ok(())
}
