//! Mesa's drivers for chips that are not there.

use super::chips::{Chip, Driver};
use super::vulkan::{Compiled, Found, Module, Told};
use super::{apt, source};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Packages with their versions. What else they need every Debian 12 has that has a Vulkan driver
/// of Mesa.
const PACKAGES: [&str; 4] = [
    "mesa-vulkan-drivers=25.0.7-2~bpo12+1",
    "libdrm-amdgpu1=2.4.123-1~bpo12+1",
    "libdrm2=2.4.123-1~bpo12+1",
    "libllvm15=1:15.0.6-4+b1",
];

/// Of a build of the source: what pretends that a device is there, and the driver for Mali.
const AMD_SHIM: &str = "src/amd/drm-shim/libamdgpu_noop_drm_shim.so";
const INTEL_SHIM: &str = "src/intel/tools/libintel_noop_drm_shim.so";
const MALI_SHIM: &str = "src/panfrost/drm-shim/libpanfrost_noop_drm_shim.so";
const MALI_DRIVER: &str = "src/panfrost/vulkan/libvulkan_panfrost.so";

/// A driver, ready to compile.
pub struct Mesa {
    folder: PathBuf,
    manifest: PathBuf,
    /// What pretends that a device is there; to compile, AMD's driver needs nothing for that.
    shim: Option<PathBuf>,
}

impl Mesa {
    /// Packages downloaded below `target`, and what they lack built there, by the first call.
    ///
    /// # Errors
    /// Where packages, the source or tools to build it cannot be had.
    pub fn of(driver: Driver) -> Result<Self> {
        let folder = apt::unpacked("mesa-25.0.7", &PACKAGES)?;
        let packaged = |name| folder.join("usr/lib/x86_64-linux-gnu").join(name);
        let (library, shim) = match driver {
            Driver::Amd => (packaged("libvulkan_radeon.so"), None),
            Driver::Intel => {
                let built = source::built(&[INTEL_SHIM])?;
                let shim = built.join("libintel_noop_drm_shim.so");
                (packaged("libvulkan_intel.so"), Some(shim))
            }
            Driver::Mali => {
                let built = source::built(&[MALI_SHIM, MALI_DRIVER])?;
                let shim = built.join("libpanfrost_noop_drm_shim.so");
                (built.join("libvulkan_panfrost.so"), Some(shim))
            }
        };
        let manifest = folder.join(format!("{}.json", driver.name()));
        let text = serde_json::json!({
            "file_format_version": "1.0.0",
            "ICD": { "library_path": library, "api_version": "1.3.0" }
        });
        std::fs::write(&manifest, text.to_string())?;
        Ok(Self { folder, manifest, shim })
    }

    /// This program in a process of its own, whose one Vulkan device is `chip`: drivers read their
    /// settings once.
    ///
    /// # Errors
    /// If this program's own file is not found.
    pub fn command(&self, chip: &Chip) -> Result<Command> {
        let own = std::env::current_exe().context("this program's own file")?;
        let mut command = Command::new(own);
        let (name, value) = chip.setting;
        command
            .env(name, value)
            .env("VK_DRIVER_FILES", &self.manifest)
            .env("VK_ICD_FILENAMES", &self.manifest)
            .env("LD_LIBRARY_PATH", self.folder.join("usr/lib/x86_64-linux-gnu"))
            .env("MESA_SHADER_CACHE_DISABLE", "1")
            .env("RADV_DEBUG", "nocache");
        if let Some(shim) = &self.shim {
            command.env("LD_PRELOAD", shim);
        }
        Ok(command)
    }

    /// The same, where calls are to be taken as well: without a device AMD's driver compiles, and
    /// says at the first call that the device is lost.
    ///
    /// # Errors
    /// As above, and where that cannot be built.
    pub fn device(&self, chip: &Chip) -> Result<Command> {
        let mut command = self.command(chip)?;
        let mut first: Vec<PathBuf> = self.shim.iter().cloned().collect();
        if chip.driver == Driver::Amd {
            first.push(source::built(&[AMD_SHIM])?.join("libamdgpu_noop_drm_shim.so"));
            let (name, _) = chip.setting;
            command.env_remove(name).env("AMDGPU_GPU_ID", chip.name);
        }
        first.push(source::reached()?);
        command.env("LD_PRELOAD", std::env::join_paths(first)?);
        Ok(command)
    }

    /// What the compiler for `chip` makes of the modules. One that takes longer than `limit` is
    /// stopped, and so is one that crashes; others are compiled all the same.
    ///
    /// # Errors
    /// If the driver does not start or tells nothing.
    pub fn compiled(&self, chip: &Chip, modules: &[Module], limit: Duration) -> Result<Found> {
        let mut all = Found { device: String::new(), compiled: Vec::new() };
        while let Some(rest) = modules.get(all.compiled.len()..).filter(|rest| !rest.is_empty()) {
            let found = self.until_stopped(chip, rest, limit)?;
            all.device = found.device;
            all.compiled.extend(found.compiled);
        }
        Ok(all)
    }

    /// Of the first modules, up to one that was stopped.
    fn until_stopped(&self, chip: &Chip, modules: &[Module], limit: Duration) -> Result<Found> {
        let list = self.folder.join(format!("modules-{}.json", std::process::id()));
        std::fs::write(&list, serde_json::to_vec(modules)?)?;
        let mut command = self.command(chip)?;
        command
            .args([OsStr::new("kernels"), OsStr::new("--statistics"), list.as_os_str()])
            .env("BIFROST_MESA_DEBUG", "shaderdb");
        let found = listen(&mut command, modules, limit);
        std::fs::remove_file(&list).ok();
        found.with_context(|| format!("Mesa's driver for {}", chip.name))
    }
}

/// What a process tells of modules, until it ends or tells nothing for as long as `limit`.
fn listen(command: &mut Command, modules: &[Module], limit: Duration) -> Result<Found> {
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, mut errors) =
        process.stdout.take().zip(process.stderr.take()).context("its lines")?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an end that is not one is still worth showing.
        errors.read_to_end(&mut bytes).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let (mut device, mut compiled) = (None, Vec::new());
    let mut stopped = None;
    while compiled.len() < modules.len() {
        match lines.recv_timeout(limit) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(Told::Device(name)) => device = Some(name),
                Ok(Told::Compiled(one)) => compiled.push(one),
                Err(why) => {
                    process.kill().ok();
                    bail!("its process wrote `{line}`: {why}");
                }
            },
            Err(RecvTimeoutError::Timeout) => {
                process.kill().ok();
                stopped = Some(limit);
                break;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = process.wait()?;
    let told = errors.join().unwrap_or_default();
    let device = device.with_context(|| format!("{status}: {}", told.trim()))?;
    if let Some(next) = modules.get(compiled.len()) {
        let failed = stopped.is_none().then(|| format!("the compiler ended by {status}"));
        let name = next.name.clone();
        compiled.push(Compiled { name, failed, stopped, programs: Vec::new() });
    }
    let mut found = Found { device, compiled };
    found.add_told(&told);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(script: &str, limit: Duration) -> Result<Found> {
        let module = |name: &str| Module {
            name: name.into(),
            spirv: Vec::new(),
            entry: String::new(),
            bindings: Vec::new(),
        };
        listen(Command::new("sh").args(["-c", script]), &[module("a"), module("b")], limit)
    }

    const DEVICE: &str = r#"echo '{"Device":"a chip"}';"#;
    const ONE: &str =
        r#"echo '{"Compiled":{"name":"a","failed":null,"stopped":null,"programs":[]}}';"#;

    #[test]
    fn a_compiler_that_does_not_end_is_stopped_and_told() {
        let limit = Duration::from_secs(1);
        let found = heard(&format!("{DEVICE} {ONE} exec sleep 60"), limit).expect("a device");
        assert_eq!(found.device, "a chip");
        let stopped: Vec<_> = found.compiled.iter().map(|one| one.stopped).collect();
        assert_eq!(stopped, [None, Some(limit)]);
        assert_eq!(found.compiled[1].name, "b");
    }

    #[test]
    fn a_compiler_that_crashes_is_told_from_a_driver_that_does_not_start() {
        let limit = Duration::from_secs(60);
        let found = heard(&format!("{DEVICE} {ONE} exit 3"), limit).expect("a device");
        assert!(found.compiled[1].failed.as_deref().is_some_and(|why| why.contains('3')));
        let error = heard("echo no device >&2; exit 1", limit).expect_err("no device");
        assert!(error.to_string().contains("no device"), "{error}");
        assert!(heard("echo noise", limit).is_err());
    }
}
