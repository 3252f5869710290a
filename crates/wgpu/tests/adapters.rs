//! The published vectors on every adapter of this machine in both profiles, and every conformance shape in the profile
//! that a browser has: 32-bit words within WebGPU's default limits. Modules are checked.

use girih_backend::{Backend, BackendError, BootstrapShape};
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{compare, shapes};
use girih_cpu::CpuBackend;
use girih_wgpu::{OpenOptions, Profile, WgpuBackend, enumerate};
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Arc;

fn replay(device: &WgpuBackend, name: &str, text: &str) -> Result<(), Failed> {
    let replay = VectorFile::parse(name, text)?.replay(device)?;
    if replay.failures.is_empty() { Ok(()) } else { Err(replay.failures.join("\n").into()) }
}

fn bit_for_bit(device: &WgpuBackend, shape: &BootstrapShape) -> Result<(), Failed> {
    match compare::bit_for_bit(device, &CpuBackend::new(), shape) {
        Ok(differences) if differences.is_empty() => Ok(()),
        Ok(differences) => Err(differences.join("\n").into()),
        Err(error @ BackendError::DoesNotFit { .. }) => {
            println!("ignored, because {error}");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let found = enumerate();
    if found.is_empty() {
        trials.push(
            Trial::test("ignored, because no adapter: install a GPU driver or mesa-vulkan-drivers", || Ok(())).with_ignored_flag(true),
        );
    }
    for info in found {
        for profile in Profile::ALL {
            let options =
                OpenOptions { profile: Some(profile), webgpu_limits: profile == Profile::Core, checked: Some(true), rolled: None };
            let device = match WgpuBackend::open_with(&info.id, &options) {
                Ok(device) => Arc::new(device),
                Err(error) => {
                    trials.push(Trial::test(format!("{}@{profile} ignored, because {error}", info.id), || Ok(())).with_ignored_flag(true));
                    continue;
                }
            };
            for (name, text) in PUBLISHED {
                let device = Arc::clone(&device);
                trials.push(Trial::test(format!("{}@{profile}::vectors::{name}", info.id), move || replay(&device, name, text)));
            }
            // The workspace's conformance suite runs these in the profile that each adapter gets by default.
            if profile == Profile::Int64 {
                continue;
            }
            for case in shapes::all() {
                let device = Arc::clone(&device);
                let name = format!("{}@{profile}::{}", device.info().id, case.name);
                trials.push(Trial::test(name, move || bit_for_bit(&device, &case.shape)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
