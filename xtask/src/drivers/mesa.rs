//! Mesa's drivers for chips that are not there.

use super::chips::{Chip, Driver};
use super::vulkan::{Found, Module};
use super::{apt, source};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

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
        if chip.driver == Driver::Amd {
            let shim = source::built(&[AMD_SHIM])?.join("libamdgpu_noop_drm_shim.so");
            let (name, _) = chip.setting;
            command.env_remove(name).env("AMDGPU_GPU_ID", chip.name).env("LD_PRELOAD", shim);
        }
        Ok(command)
    }

    /// What the compiler for `chip` makes of the modules.
    ///
    /// # Errors
    /// If the driver does not start or tells nothing.
    pub fn compiled(&self, chip: &Chip, modules: &[Module]) -> Result<Found> {
        let list = self.folder.join(format!("modules-{}.json", std::process::id()));
        std::fs::write(&list, serde_json::to_vec(modules)?)?;
        let output = self
            .command(chip)?
            .args([OsStr::new("kernels"), OsStr::new("--statistics"), list.as_os_str()])
            .env("BIFROST_MESA_DEBUG", "shaderdb")
            .output();
        std::fs::remove_file(&list).ok();
        let output = output.context("this program, once more")?;
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("Mesa's driver for {}: {}", chip.name, told.trim());
        }
        let mut found: Found =
            serde_json::from_slice(&output.stdout).context("what the driver's process wrote")?;
        found.add_told(&told);
        Ok(found)
    }
}
