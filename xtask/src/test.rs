//! `cargo xtask test`

use anyhow::{Context, Result};
use girih::{Device, DeviceKind};
use std::process::Command;

#[derive(clap::Args)]
pub struct Arguments {
    /// Kinds of device that must be present, such as `wgpu,cpu`: an absent one fails the run.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    require: Vec<String>,
    /// Also measure the noise of every parameter set against the model (minutes).
    #[arg(long)]
    all_noise: bool,
    /// Passed on to the test runner.
    #[arg(last = true)]
    rest: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut found = Device::enumerate();
    if !found.devices.iter().any(|d| d.kind == DeviceKind::Wgpu) && install_software_driver() {
        found = Device::enumerate();
    }
    for device in &found.devices {
        println!("device: {:<10} {}", device.id, device.name);
    }
    for line in &found.absent {
        println!("absent: {line}");
    }
    for kind in &arguments.require {
        if !found.devices.iter().any(|d| d.kind.to_string() == *kind) {
            println!("required device kind `{kind}` is absent");
            return Ok(false);
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace"]);
    if arguments.all_noise {
        command.env("GIRIH_ALL_NOISE", "1");
    }
    if !arguments.rest.is_empty() {
        command.arg("--").args(&arguments.rest);
    }
    let status = command.status().context("cargo could not be started")?;
    Ok(status.success())
}

/// Without any Vulkan driver the WGSL kernels would go untested: where this user may install packages the software
/// driver is installed, elsewhere the command is told. Returns whether something changed.
fn install_software_driver() -> bool {
    const PACKAGES: [&str; 2] = ["libvulkan1", "mesa-vulkan-drivers"];
    let apt = |arguments: &[&str]| {
        let status = Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments).status();
        status.is_ok_and(|s| s.success())
    };
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0");
    if root && Command::new("apt-get").arg("--version").output().is_ok() {
        println!("no Vulkan driver: installing {}", PACKAGES.join(" "));
        return apt(&["update", "-qq"]) && apt(&[&["install", "-y", "-qq"], &PACKAGES[..]].concat());
    }
    println!(
        "no Vulkan driver: WGSL kernels stay untested; install one with `apt-get install {}` or your system's like",
        PACKAGES.join(" ")
    );
    false
}
