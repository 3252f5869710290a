//! Mesa's drivers for AMD's chips, from Debian's packages, which compile for a chip that is not
//! there.

use super::vulkan::{Found, Module};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where packages come from: signed lists, checked by the keys of this machine.
const LISTS: &str = "deb http://deb.debian.org/debian bookworm main\n\
                     deb http://deb.debian.org/debian bookworm-backports main\n";

/// Packages with their versions, and the suites that they are of. What else they need every Debian
/// 12 has that has a Vulkan driver of Mesa.
const PACKAGES: [&str; 4] = [
    "mesa-vulkan-drivers=25.0.7-2~bpo12+1",
    "libdrm-amdgpu1=2.4.123-1~bpo12+1",
    "libdrm2=2.4.123-1~bpo12+1",
    "libllvm15=1:15.0.6-4+b1",
];

/// A folder with the unpacked packages.
pub struct Mesa {
    folder: PathBuf,
}

impl Mesa {
    /// The packages, downloaded below `target` by the first call.
    ///
    /// # Errors
    /// Where apt or the packages cannot be had.
    pub fn from_packages() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mesa-25.0.7");
        std::fs::create_dir_all(&root).with_context(|| root.display().to_string())?;
        // The loader wants whole paths.
        let folder = root.canonicalize()?;
        let mesa = Self { folder };
        if !mesa.driver().exists() {
            println!("downloading {} below target", PACKAGES.join(", "));
            mesa.download()?;
        }
        let manifest = serde_json::json!({
            "file_format_version": "1.0.0",
            "ICD": { "library_path": mesa.driver(), "api_version": "1.3.0" }
        });
        std::fs::write(mesa.manifest(), manifest.to_string())?;
        Ok(mesa)
    }

    fn libraries(&self) -> PathBuf {
        self.folder.join("usr/lib/x86_64-linux-gnu")
    }

    fn driver(&self) -> PathBuf {
        self.libraries().join("libvulkan_radeon.so")
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("radeon.json")
    }

    /// Lists, archives and state of apt lie in the folder, so that the machine stays as it is.
    fn download(&self) -> Result<()> {
        let at = |name: &str| self.folder.join("apt").join(name);
        for folder in ["lists/partial", "cache/archives/partial", "packages"] {
            std::fs::create_dir_all(at(folder))?;
        }
        std::fs::write(at("sources"), LISTS)?;
        std::fs::write(at("status"), "")?;
        let option = |name: &str, file: &str| format!("-o{name}={}", at(file).display());
        let options = [
            option("Dir::Etc::sourcelist", "sources"),
            "-oDir::Etc::sourceparts=-".into(),
            option("Dir::State::Lists", "lists"),
            option("Dir::State::status", "status"),
            option("Dir::Cache", "cache"),
            "-oAPT::Sandbox::User=root".into(),
            "-qq".into(),
        ];
        let apt = |words: &[&str]| {
            let mut command = Command::new("apt-get");
            command.args(&options).args(words).current_dir(at("packages"));
            step(&mut command)
        };
        apt(&["update"])?;
        apt(&[&["download"], &PACKAGES[..]].concat())?;
        for package in std::fs::read_dir(at("packages"))? {
            let package = package?.path();
            step(Command::new("dpkg").arg("-x").arg(package).arg(&self.folder))?;
        }
        Ok(())
    }

    /// What the compiler for `chip` makes of the modules, by this program in a process of its own:
    /// drivers read their settings once.
    ///
    /// # Errors
    /// If the driver does not start or tells nothing.
    pub fn compiled(&self, chip: &str, modules: &[Module]) -> Result<Found> {
        let list = self.folder.join(format!("modules-{}.json", std::process::id()));
        std::fs::write(&list, serde_json::to_vec(modules)?)?;
        let own = std::env::current_exe().context("this program's own file")?;
        let output = Command::new(own)
            .args([OsStr::new("kernels"), OsStr::new("--statistics"), list.as_os_str()])
            .env("RADV_FORCE_FAMILY", chip)
            .env("RADV_DEBUG", "nocache")
            .env("VK_DRIVER_FILES", self.manifest())
            .env("VK_ICD_FILENAMES", self.manifest())
            .env("LD_LIBRARY_PATH", self.libraries())
            .output();
        std::fs::remove_file(&list).ok();
        let output = output.context("this program, once more")?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            bail!("Mesa's driver for {chip}: {}", told.trim());
        }
        serde_json::from_slice(&output.stdout).context("what the driver's process wrote")
    }
}

/// Runs a program that must succeed.
fn step(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be run"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
