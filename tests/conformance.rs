//! Runs the list of cases on every device found. A case that cannot run says why.

use girih::{Device, ParameterSet};
use girih_backend::{Backend, BackendError, BootstrapShape, DeviceKind, Transform};
use girih_conformance::compare::{self, Differences};
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{gates, shapes};
use girih_cpu::CpuBackend;
use libtest_mimic::{Arguments, Failed, Trial};

fn replay(device: &Device, name: &str, text: &str) -> Result<(), Failed> {
    let replay = VectorFile::parse(name, text)?.replay(device.backend())?;
    if replay.failures.is_empty() { Ok(()) } else { Err(replay.failures.join("\n").into()) }
}

type Comparison = fn(&dyn Backend, &dyn Backend, &BootstrapShape) -> Result<Differences, BackendError>;

/// Largest N that every device must run; above it a device may refuse, and says why.
const LARGEST_REQUIRED_SIZE: usize = 2048;

fn compare(device: &Device, shape: &BootstrapShape, comparison: Comparison) -> Result<(), Failed> {
    match comparison(device.backend(), &CpuBackend::new(), shape) {
        Ok(differences) if differences.is_empty() => Ok(()),
        Ok(differences) => Err(differences.join("\n").into()),
        Err(error @ (BackendError::DoesNotFit { .. } | BackendError::Unsupported { .. }))
            if shape.polynomial_size > LARGEST_REQUIRED_SIZE =>
        {
            println!("ignored, because {error}");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Every toy set, with one slot and with two. A software stand-in for a GPU gets two families: it is a hundred times
/// slower, and the other shapes are compared stage by stage anyway.
fn sets(software: bool) -> Vec<ParameterSet> {
    let toys = ParameterSet::insecure().into_iter().filter(|s| !software || ["INSECURE_TOY", "INSECURE_TOY_MR"].contains(&s.name()));
    toys.flat_map(|s| [s.with_packing(2).expect("2 is from 1 to 16"), s]).collect()
}

fn end_to_end(device: &Device, set: &ParameterSet, transform: Transform) -> Result<(), Failed> {
    let differences = gates::end_to_end(device, set, transform)?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for info in Device::enumerate().devices {
        let device = Device::open(&info.id).unwrap_or_else(|e| panic!("{e}"));
        if info.transforms.contains(&Transform::Ntt) {
            for (name, text) in PUBLISHED {
                let device = device.clone();
                trials.push(Trial::test(format!("{}::vectors::{name}", info.id), move || replay(&device, name, text)));
            }
        }
        for (transform, comparison) in
            [(Transform::Ntt, compare::bit_for_bit as Comparison), (Transform::Fft, compare::within_fft_error as Comparison)]
        {
            // The CPU's integer transform *is* the twin: comparing it with itself would test nothing.
            if !info.transforms.contains(&transform) || (info.kind == DeviceKind::Cpu && transform == Transform::Ntt) {
                continue;
            }
            for case in shapes::all() {
                let device = device.clone();
                let name = format!("{}::{transform}::{}", info.id, case.name);
                trials.push(Trial::test(name, move || compare(&device, &case.shape, comparison)));
            }
        }
    }
    for info in Device::enumerate().devices {
        let device = Device::open(&info.id).unwrap_or_else(|e| panic!("{e}"));
        // The CPU is the reference.
        if info.transforms.contains(&Transform::Fft) && info.kind != DeviceKind::Cpu {
            for case in shapes::torus() {
                let device = device.clone();
                let name = format!("{}::{}::{}", info.id, Transform::Fft, case.name);
                trials.push(Trial::test(name, move || compare(&device, &case.shape, compare::on_the_torus)));
            }
        }
        for set in sets(info.software) {
            for &transform in &info.transforms {
                // 2^64 has no roots of unity.
                if set.shape().is_torus() && transform == Transform::Ntt {
                    continue;
                }
                let (device, set) = (device.clone(), set.clone());
                let name = format!("{}::{transform}::gates::{}_r{}", info.id, set.name(), set.packing());
                trials.push(Trial::test(name, move || end_to_end(&device, &set, transform)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
