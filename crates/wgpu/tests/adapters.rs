//! The published vectors on every adapter of this machine in both profiles, and every conformance shape in the profile
//! that a browser has: 32-bit words within WebGPU's default limits. Modules are checked.

use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, Engine, LoadOptions, NoProgress, Operand, PlanRequest, Transform,
};
use girih_conformance::planned::Planned;
use girih_conformance::synthetic::{SyntheticKeys, Words};
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

/// What is special about a plan, the shape it is tried on, its choices, its steps a launch.
type Plan = (&'static str, &'static str, &'static [(&'static str, u32)], Option<usize>);
/// A test of a whole device.
type DeviceTest = (&'static str, fn(&WgpuBackend) -> Result<(), Failed>);

/// Plans that nobody gets by default and `tune` may choose: the other form of words in each profile, other items and
/// exchanges, and blind rotations split over several launches with the accumulator parked in between.
const PLANS: [Plan; 6] = [
    ("other_words", "gd_std128", &[("signed", 2)], None),
    ("other_words", "mr_m3_r1", &[("signed", 2)], None),
    ("items_4_staged_3", "gd_std128", &[("items", 4), ("staged", 3)], None),
    ("rolled", "gd_std128", &[("rolled", 2)], None),
    ("split_in_3", "gd_n512_k2_r3", &[], Some(2)),
    ("split_in_5", "mr_m3_r1", &[], Some(1)),
];

fn planned(device: &WgpuBackend, shape: &BootstrapShape, choices: &[(&str, u32)], steps: Option<usize>) -> Result<(), Failed> {
    let model = LoadOptions { untuned: true, ..Default::default() };
    let keys = SyntheticKeys::new(shape.clone(), 7);
    let signed = device.load(&keys, &model, &NoProgress)?.plan()["signed"] == true;
    // 2 stands for the form that the model does not choose.
    let value = |v: u32| if v == 2 { u32::from(!signed) } else { v };
    let choices = choices.iter().map(|&(name, v)| (name.to_string(), if name == "signed" { value(v) } else { v }));
    let plan = PlanRequest { choices: choices.collect(), steps_per_launch: steps, ..Default::default() };
    let planned = Planned { device, plan };
    let plan = planned.load(&keys, &model, &NoProgress)?.plan();
    let launches = steps.map_or(1, |s| shape.lwe_dimension.div_ceil(s));
    if plan["launches_per_batch"] != launches || plan["plan_from"] != "request" {
        return Err(format!("{launches} launches were asked for: {plan}").into());
    }
    match compare::bit_for_bit(&planned, &CpuBackend::new(), shape)?[..] {
        [] => Ok(()),
        ref differences => Err(differences.join("\n").into()),
    }
}

/// A choice that these kernels do not know is refused with those that they do.
fn unknown_choices(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = shapes::all().swap_remove(0).shape;
    for (name, value, known) in [("itemz", 8, "items, staged, rolled, signed"), ("items", 5, "[4, 8, 16]")] {
        let plan = PlanRequest { choices: [(name.to_string(), value)].into(), ..Default::default() };
        let error = Planned { device, plan }.load(&SyntheticKeys::new(shape.clone(), 7), &LoadOptions::default(), &NoProgress);
        let error = error.err().ok_or(format!("{name} = {value} was taken"))?.to_string();
        if !error.contains(known) || !error.contains(name) {
            return Err(error.into());
        }
    }
    Ok(())
}

/// The smallest shape of the suite: N = 256, two polynomials, five steps.
fn small_shape() -> BootstrapShape {
    let shape = shapes::all().into_iter().find(|s| s.name == "gd_n256_r16").map(|s| s.shape).expect("a shape of the suite");
    BootstrapShape { packing: 1, ..shape }
}

/// A store takes what one buffer holds and not one ciphertext more, says both numbers, and stays as it was.
fn store_limit(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = small_shape();
    let engine = device.load(&SyntheticKeys::new(shape.clone(), 7), &LoadOptions::default(), &NoProgress)?;
    let length = shape.ciphertext_len();
    let most = device.info().limits.binding_bytes as usize / (4 * length);
    let words: Vec<u32> = (0..length as u32).collect();
    if most <= 1 << 25 {
        engine.reserve(most)?;
        engine.write(most - 1, &words)?;
    }
    let Err(error) = engine.reserve(most + 1) else { return Err(format!("{} ciphertexts were taken", most + 1).into()) };
    let error = error.to_string();
    if !error.contains(&format!("holds {most} of them")) || !error.contains(&format!("{}", 4 * length * (most + 1))) {
        return Err(error.into());
    }
    if most <= 1 << 25 {
        let mut read = vec![0; length];
        engine.read(most - 1, &mut read)?;
        if read != words || engine.stored() != most {
            return Err("the refusal changed the store".into());
        }
    }
    Ok(())
}

/// Writes of all sizes, more of them at once than there are upload buffers, arrive whole and in order.
fn writes_in_flight(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = small_shape();
    let engine = device.load(&SyntheticKeys::new(shape.clone(), 7), &LoadOptions::default(), &NoProgress)?;
    let (length, stored) = (shape.ciphertext_len(), 40_000);
    engine.reserve(stored)?;
    let mut want = vec![0u32; stored * length];
    let mut words = Words::new(17);
    for round in 0..3 {
        // 1 to 36,000 ciphertexts of 1 KiB, overlapping: later ones win.
        for (at, count) in [(0, 36_000), (10, 1), (2_000, 70), (5_000, 3_000), (6_000, 3_000), (7_000, 9_000), (30_000, 10_000), (3, 4_000)]
        {
            let piece: Vec<u32> = (0..count * length).map(|_| words.next_word() as u32).collect();
            engine.write(at, &piece)?;
            want[at * length..][..piece.len()].copy_from_slice(&piece);
        }
        let mut got = vec![0; want.len()];
        engine.read(0, &mut got)?;
        if let Some(i) = (0..got.len()).find(|&i| got[i] != want[i]) {
            return Err(format!("round {round}: word {i} is {} instead of {}", got[i], want[i]).into());
        }
    }
    Ok(())
}

/// 100,000 bootstrappings in one call: several chunks through one bounded workspace, a sample compared with the twin.
fn large_batch(device: &WgpuBackend) -> Result<(), Failed> {
    const JOBS: usize = 100_000;
    let shape = small_shape();
    let keys = SyntheticKeys::new(shape.clone(), 7);
    let (length, stored) = (shape.ciphertext_len(), 64);
    let mut words = Words::new(3);
    let store: Vec<u32> = (0..stored * length).map(|_| words.below(1 << shape.log2_lwe_modulus) as u32).collect();
    let table: Vec<u64> = (0..shape.polynomial_size).map(|_| words.below(shape.accumulator_modulus().expect("words"))).collect();
    let job = |i: usize, output: usize| BootstrapJob {
        input: Combination::new(
            &[Operand { ciphertext: (i % stored) as u32, weight: 1 + (i / stored % 3) as i32 }],
            0,
            shape.log2_lwe_modulus,
        ),
        table: 0,
        table_stride: 0,
        output_offset: 5,
        log2_output_modulus: shape.log2_lwe_modulus,
        output: output as u32,
    };
    let load = |backend: &dyn Backend, room: usize| -> Result<Box<dyn Engine>, BackendError> {
        let engine = backend.load(&keys, &LoadOptions { transform: Some(Transform::Ntt), ..Default::default() }, &NoProgress)?;
        engine.reserve(stored + room)?;
        engine.write(0, &store)?;
        engine.add_tables(&table)?;
        Ok(engine)
    };
    let engine = load(device, JOBS)?;
    engine.bootstrap(&(0..JOBS).map(|i| job(i, stored + i)).collect::<Vec<_>>())?;
    let mut got = vec![0; JOBS * length];
    engine.read(stored, &mut got)?;
    // 192 different jobs repeat: the twin runs each once.
    let different = 3 * stored;
    let twin = load(&CpuBackend::new(), different)?;
    twin.bootstrap(&(0..different).map(|i| job(i, stored + i)).collect::<Vec<_>>())?;
    let mut want = vec![0; different * length];
    twin.read(stored, &mut want)?;
    let at = |i: usize| &want[i % different * length..][..length];
    match (0..JOBS).find(|&i| got[i * length..][..length] != *at(i)) {
        Some(i) => Err(format!("job {i} of {JOBS} differs from the twin").into()),
        None => Ok(()),
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
            // Everything but the form of words is the same code in both profiles.
            for (what, name, choices, steps) in PLANS.into_iter().filter(|p| profile == Profile::Core || p.0 == "other_words") {
                let device = Arc::clone(&device);
                let shape = shapes::all().into_iter().find(|s| s.name == name).map(|s| s.shape).expect("a shape of the suite");
                let title = format!("{}@{profile}::plans::{what}::{name}", info.id);
                trials.push(Trial::test(title, move || planned(&device, &shape, choices, steps)));
            }
            // The workspace's conformance suite runs these in the profile that each adapter gets by default.
            if profile == Profile::Int64 {
                continue;
            }
            let whole: [DeviceTest; 4] = [
                ("writes_in_flight", writes_in_flight),
                ("plans::unknown", unknown_choices),
                ("store_limit", store_limit),
                ("batch_100000", large_batch),
            ];
            for (what, test) in whole {
                let device = Arc::clone(&device);
                trials.push(Trial::test(format!("{}@{profile}::{what}", info.id), move || test(&device)));
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
