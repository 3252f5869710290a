//! Runs the list of cases on every device found, on two CPUs as one device, and on what
//! `GIRIH_DEVICES` names (several joined by `+`, as in `cuda:0+cuda:1`; commas between). A case
//! that cannot run says why.

use girih::Device;
use girih::tfhe::ParameterSet;
use girih_backend::{
    Backend, BackendError, BootstrapShape, DeviceInfo, DeviceKind, PlanRequest, Transform,
};
use girih_conformance::ckks::{
    batches, evaluator, key_switching, long, operations, vectors as ckks_vectors,
};
use girih_conformance::compare::{self, Differences};
use girih_conformance::discrete::{circuits as wide, look_ups, vectors as discrete_vectors};
use girih_conformance::planned::Planned;
use girih_conformance::poly::compare::{Plans, against_interpreter};
use girih_conformance::poly::{Work, kernels};
use girih_conformance::shapes::NamedShape;
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{circuits, gates, integers, large, shapes, switching, tables, tasks};
use girih_cpu::CpuBackend;
use girih_multi::MultiBackend;
use libtest_mimic::{Arguments, Failed, Trial};

/// Plans that run kernels of their own, as (suffix of the case's name, plan): the batches of this
/// suite are small, so a device that spreads those over several blocks is also made to run them as
/// it runs large ones.
fn plans(info: &DeviceInfo) -> Vec<(&'static str, PlanRequest)> {
    let whole = || PlanRequest { choices: [("spread".to_owned(), 0)].into(), ..Default::default() };
    match info.kind {
        DeviceKind::Cuda => vec![("", PlanRequest::default()), ("::whole", whole())],
        DeviceKind::Cpu | DeviceKind::Wgpu => vec![("", PlanRequest::default())],
    }
}

/// The device of a case: one for all, or, on a software driver, which compiles and runs what one
/// device is given in one thread, a device of its own, so that cases share the cores.
fn of_case(shared: &Device) -> Device {
    let own = || Device::open(&shared.info().id).unwrap_or_else(|e| panic!("{e}"));
    if shared.info().software { own() } else { shared.clone() }
}

fn replay(device: &Device, plan: PlanRequest, name: &str, text: &str) -> Result<(), Failed> {
    let replay =
        VectorFile::parse(name, text)?.replay(&Planned { device: device.backend(), plan })?;
    if replay.failures.is_empty() { Ok(()) } else { Err(replay.failures.join("\n").into()) }
}

type Comparison =
    fn(&dyn Backend, &dyn Backend, &BootstrapShape) -> Result<Differences, BackendError>;

/// Shapes that a software driver takes long to compile, or that it runs with 32-bit words anyway
/// (`wgpu_adapters`): in the long tests there.
const LONG_TO_COMPILE: [&str; 18] = [
    // Like others of their family in words, digits and switches.
    "gd_25_bits_6_digits",
    "gd2_base18",
    "gd2_digits_of_16_and_15_bits",
    "mr_m5_r5",
    "mr_m6_r2",
    "gd_std128_group_2",
    "gd_n512_k2_r3_group_3",
    "torus_ternary",
    "torus_n256_40_bits",
    "gd_31_bits_group_4",
    "gd2_g4_group_2",
    "mr_m3_r5_group_2",
    "torus_tfhers_2_2",
    "torus_tfhers_2_2_group_2",
    "torus_tfhers_2_2_group_3",
    "torus_n512_k2_r2_group_2",
    "torus_n512_k2_r2",
    "torus_n1024_2_digits",
];

/// Largest N that every device must run; above it a device may refuse, and says why.
const LARGEST_REQUIRED_SIZE: usize = 2048;

fn compare(
    device: &Device,
    plan: PlanRequest,
    shape: &BootstrapShape,
    comparison: Comparison,
) -> Result<(), Failed> {
    match comparison(&Planned { device: device.backend(), plan }, &CpuBackend::new(), shape) {
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

/// Every toy set, with one slot and with two. A software stand-in for a GPU gets three families: it
/// is a hundred times slower, and the other shapes are compared stage by stage anyway. So do two
/// CPUs as one, which divide lists whatever is in them, outside the long tests. Toys of large
/// precision have cases of their own.
fn sets(info: &DeviceInfo) -> Vec<ParameterSet> {
    let few = info.software || is_two_cpus(info) && std::env::var_os("GIRIH_LONG").is_none();
    let toys = ParameterSet::insecure().into_iter().filter(|s| {
        let chosen = ["INSECURE_TOY", "INSECURE_TOY_MR", "INSECURE_TOY_TORUS_GROUP_2"];
        !few || chosen.contains(&s.name())
    });
    let toys = toys.filter(|s| !s.name().starts_with("INSECURE_LARGE"));
    toys.flat_map(|s| [s.with_packing(2).expect("2 is from 1 to 16"), s]).collect()
}

/// Several devices as one that are CPUs: they run what one runs, which has its own cases.
fn is_two_cpus(info: &DeviceInfo) -> bool {
    info.kind == DeviceKind::Cpu && info.id.contains('+')
}

fn end_to_end(
    device: &Device,
    plan: PlanRequest,
    set: &ParameterSet,
    transform: Transform,
) -> Result<(), Failed> {
    let differences =
        gates::end_to_end(&Planned { device: device.backend(), plan }, set, transform)?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn circuits(device: &Device, transform: Transform) -> Result<(), Failed> {
    let set = ParameterSet::by_name("INSECURE_TOY_R2")?;
    let differences = circuits::end_to_end(device, &set, transform).map_err(|e| e.to_string())?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

/// Thousands of tables on a GPU; hundreds on a software stand-in for one and on CPUs, where room
/// for a few dozen is reused as often.
fn changing_tables(device: &Device, transform: Transform) -> Result<(), Failed> {
    let info = device.info();
    let calls = match info.kind {
        _ if info.software || is_two_cpus(info) => 30,
        DeviceKind::Cpu => 48,
        DeviceKind::Cuda | DeviceKind::Wgpu => 160,
    };
    let differences = tables::end_to_end(device.backend(), transform, calls)?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn encrypted_integers(device: &Device, transform: Transform) -> Result<(), Failed> {
    let differences =
        integers::end_to_end(device.backend(), transform).map_err(|e| e.to_string())?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn large_precision(device: &Device, transform: Transform) -> Result<(), Failed> {
    let differences = large::end_to_end(device, transform)?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

/// Several devices as one that divides even the small lists of this suite.
fn divided(members: Vec<Device>) -> Result<Device, BackendError> {
    let several = MultiBackend::new(members.into_iter().map(Device::into_backend).collect())?;
    Ok(Device::from_backend(std::sync::Arc::new(several.with_least_share(1))))
}

fn devices() -> Result<Vec<Device>, BackendError> {
    let found = Device::enumerate().devices;
    let found = found.iter().map(|info| Device::open(&info.id));
    let named = std::env::var("GIRIH_DEVICES").unwrap_or_default();
    let named = named
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| divided(name.split('+').map(Device::open).collect::<Result<_, _>>()?));
    let two = || divided(vec![Device::open("cpu")?, Device::open("cpu")?]);
    found.chain([two()]).chain(named).collect()
}

/// Degrees of the programs on polynomials, as log2: one row, two, and four.
const LOG2_DEGREES: [u32; 3] = [10, 11, 12];

/// Sets over which operations are recorded, and which operations: all at one row, the heaviest and
/// two others at two; and one whose primes are of another size.
const RECORDED: [(&str, &[&str]); 4] = [
    ("INSECURE_CKKS_D40_N10", &[]),
    ("INSECURE_CKKS_D40_N11", &["multiply", "rotate", "bootstrap"]),
    ("INSECURE_CKKS_D40_30BIT_N10", &["multiply", "linear_transform", "joined"]),
    // Both sines in one, in the conjugation-invariant ring.
    ("INSECURE_CKKS_D40_30BIT_INVARIANT_STC_FIRST_N10", &["bootstrap"]),
];

fn no_differences(differences: Vec<String>) -> Result<(), Failed> {
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn program(device: &Device, work: &Work, plans: Plans) -> Result<(), Failed> {
    no_differences(against_interpreter(device.backend(), work, plans)?)
}

fn replay_ckks(device: &Device, name: &str, text: &str) -> Result<(), Failed> {
    let replay = ckks_vectors::CkksVectorFile::parse(name, text)?.replay(device.backend())?;
    if replay.passed == 0 {
        return Err("the file has no stages".into());
    }
    no_differences(replay.failures)
}

fn replay_discrete(device: &Device, name: &str, text: &str) -> Result<(), Failed> {
    let file = discrete_vectors::DiscreteVectorFile::parse(name, text)?;
    let replay = file.replay(device.backend())?;
    if replay.passed == 0 {
        return Err("the file has no stages".into());
    }
    no_differences(replay.failures)
}

fn long_case(device: &Device, case: &long::Case) -> Result<(), Failed> {
    let (line, differences) = long::run(device.backend(), case)?;
    println!("{line}");
    no_differences(differences)
}

/// What a case does with a device.
type Case = Box<dyn Fn(&Device) -> Result<(), Failed> + Send>;

/// Cases of a device that runs programs on polynomials. A software stand-in for a GPU runs whole
/// bootstrappings, and what is decrypted, in the long tests only.
fn poly_trials(device: &Device, trials: &mut Vec<Trial>) {
    let id = &device.info().id;
    let long = std::env::var_os("GIRIH_LONG").is_some();
    let quick = device.info().software && !long;
    let several = id.contains('+');
    // All cases share the device: its kernels are compiled once.
    let mut add = |name: String, case: Case| {
        let device = device.clone();
        trials.push(Trial::test(format!("{id}::{name}"), move || case(&device)));
    };
    if several {
        add(
            "ckks::batches".into(),
            Box::new(|device| no_differences(batches::divided(device.backend())?)),
        );
        if is_two_cpus(device.info()) && !long {
            return;
        }
    }
    for work in LOG2_DEGREES.into_iter().flat_map(kernels::all) {
        add(
            format!("poly::{}", work.name),
            Box::new(move |device| program(device, &work, Plans::All)),
        );
    }
    for (name, text) in ckks_vectors::PUBLISHED {
        add(
            format!("ckks::vectors::{name}"),
            Box::new(move |device| replay_ckks(device, name, text)),
        );
    }
    for (name, text) in discrete_vectors::PUBLISHED {
        // Whole look-ups take long on a software stand-in.
        if !quick || !name.ends_with("_n10") {
            add(
                format!("discrete::vectors::{name}"),
                Box::new(move |device| replay_discrete(device, name, text)),
            );
        }
    }
    for (set, chosen) in RECORDED {
        let quickly = |name: &&str| !quick || (set == RECORDED[0].0 && *name != "bootstrap");
        let names = operations::names().filter(quickly);
        for name in names.filter(|name| chosen.is_empty() || chosen.contains(name)) {
            let record = move || operations::work(set, name).map_err(|e| e.to_string());
            add(
                format!("ckks::{name}::{set}"),
                Box::new(move |device| program(device, &record()?, Plans::Own)),
            );
        }
    }
    if quick {
        return;
    }
    add(
        "ckks::joined_digits".into(),
        Box::new(|device| no_differences(key_switching::joined_and_apart(device.backend())?)),
    );
    add(
        "discrete::look_ups".into(),
        Box::new(|device| no_differences(look_ups::end_to_end(device).map_err(|e| e.to_string())?)),
    );
    add(
        "discrete::circuits".into(),
        Box::new(|device| no_differences(wide::end_to_end(device).map_err(|e| e.to_string())?)),
    );
    add(
        "ckks::end_to_end".into(),
        Box::new(|device| no_differences(evaluator::end_to_end(device.backend())?)),
    );
    add(
        "ckks::bootstrapping".into(),
        Box::new(|device| no_differences(evaluator::bootstrapping(device.backend())?)),
    );
    add(
        "switching::wires".into(),
        Box::new(|device| no_differences(switching::wires(device).map_err(|e| e.to_string())?)),
    );
    add(
        "tasks::recordings".into(),
        Box::new(|device| no_differences(tasks::recordings(device).map_err(|e| e.to_string())?)),
    );
    if device.backend().bootstrap().is_some() {
        add(
            "tasks::gates".into(),
            Box::new(|device| no_differences(tasks::gates(device).map_err(|e| e.to_string())?)),
        );
        add(
            "switching".into(),
            Box::new(|device| {
                no_differences(switching::end_to_end(device).map_err(|e| e.to_string())?)
            }),
        );
    }
    add(
        "ckks::key_switching".into(),
        Box::new(|device| no_differences(key_switching::both_ways(device.backend())?)),
    );
    if long {
        for case in long::CASES {
            add(
                format!("ckks::long::{}", case.name),
                Box::new(move |device| long_case(device, &case)),
            );
        }
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let devices = devices().unwrap_or_else(|e| panic!("{e}"));
    let mut trials = Vec::new();
    for device in &devices {
        let info = device.info();
        for (suffix, plan) in plans(info) {
            if info.transforms.contains(&Transform::Ntt) {
                for (name, text) in PUBLISHED {
                    let (device, plan) = (device.clone(), plan.clone());
                    let case = format!("{}::vectors::{name}{suffix}", info.id);
                    trials.push(Trial::test(case, move || {
                        replay(&of_case(&device), plan, name, text)
                    }));
                }
            }
            for (transform, comparison) in [
                (Transform::Ntt, compare::bit_for_bit as Comparison),
                (Transform::Fft, compare::within_fft_error as Comparison),
            ] {
                // The CPU's integer transform *is* the twin:
                // comparing it with itself would test nothing.
                if !info.transforms.contains(&transform)
                    || (info.kind == DeviceKind::Cpu && transform == Transform::Ntt)
                {
                    continue;
                }
                // In CUDA only the f64 transform takes several indices a step; the other refuses
                // them by name (below).
                let refused = transform == Transform::Ntt && info.kind == DeviceKind::Cuda;
                let grouped = if refused { Vec::new() } else { shapes::grouped() };
                // And the native torus; with integers it agrees in every bit.
                let torus = if refused || transform == Transform::Fft {
                    Vec::new()
                } else {
                    shapes::torus().into_iter().chain(shapes::torus_in_integers()).collect()
                };
                let wanted = |case: &NamedShape| {
                    let long = info.software && LONG_TO_COMPILE.contains(&case.name);
                    !long || std::env::var_os("GIRIH_LONG").is_some()
                };
                let shapes = shapes::all().into_iter().chain(grouped).chain(torus);
                for case in shapes.filter(wanted) {
                    let (device, plan) = (device.clone(), plan.clone());
                    let name = format!("{}::{transform}::{}{suffix}", info.id, case.name);
                    trials.push(Trial::test(name, move || {
                        compare(&of_case(&device), plan, &case.shape, comparison)
                    }));
                }
            }
            // The CPU is the reference.
            if info.transforms.contains(&Transform::Fft) && info.kind != DeviceKind::Cpu {
                for case in shapes::torus() {
                    let (device, plan) = (device.clone(), plan.clone());
                    let name = format!("{}::{}::{}{suffix}", info.id, Transform::Fft, case.name);
                    trials.push(Trial::test(name, move || {
                        compare(&of_case(&device), plan, &case.shape, compare::on_the_torus)
                    }));
                }
            }
        }
    }
    for device in &devices {
        let info = device.info();
        for (suffix, plan) in plans(info) {
            for set in sets(info) {
                for &transform in &info.transforms {
                    let integers_in_cuda =
                        transform == Transform::Ntt && info.kind == DeviceKind::Cuda;
                    if set.shape().is_torus() && integers_in_cuda {
                        continue;
                    }
                    if set.shape().grouping > 1 && integers_in_cuda {
                        let (device, set) = (device.clone(), set.clone());
                        let name = format!(
                            "{}::{transform}::refuses::{}_r{}{suffix}",
                            info.id,
                            set.name(),
                            set.packing()
                        );
                        let refusal = move || {
                            gates::refuses_groups(of_case(&device).backend(), &set, transform)
                        };
                        trials.push(Trial::test(name, move || refusal().map_err(Failed::from)));
                        continue;
                    }
                    let (device, plan, set) = (device.clone(), plan.clone(), set.clone());
                    let name = format!(
                        "{}::{transform}::gates::{}_r{}{suffix}",
                        info.id,
                        set.name(),
                        set.packing()
                    );
                    trials.push(Trial::test(name, move || {
                        end_to_end(&of_case(&device), plan, &set, transform)
                    }));
                }
            }
        }
    }
    for device in &devices {
        let info = device.info();
        for &transform in &info.transforms {
            let (one, other, third, fourth) =
                (device.clone(), device.clone(), device.clone(), device.clone());
            trials.push(Trial::test(
                format!("{}::{transform}::refuses::unknown_choices", info.id),
                move || {
                    gates::refuses_unknown_choices(of_case(&third).backend(), transform)
                        .map_err(Failed::from)
                },
            ));
            trials.push(Trial::test(
                format!("{}::{transform}::changing_tables", info.id),
                move || changing_tables(&of_case(&fourth), transform),
            ));
            trials.push(Trial::test(format!("{}::{transform}::circuits", info.id), move || {
                circuits(&of_case(&one), transform)
            }));
            // On a software stand-in for a GPU, and by the CPU's exact twin, whose look-ups other
            // cases have run, in the long tests; CUDA has no integer transform on the native torus.
            let slow = info.software || info.kind == DeviceKind::Cpu && transform == Transform::Ntt;
            let runs = match info.kind {
                DeviceKind::Cuda => transform == Transform::Fft,
                _ => !slow || std::env::var_os("GIRIH_LONG").is_some(),
            };
            if runs {
                let fifth = device.clone();
                trials
                    .push(Trial::test(format!("{}::{transform}::integers", info.id), move || {
                        encrypted_integers(&of_case(&fifth), transform)
                    }));
            }
            trials.push(Trial::test(
                format!("{}::{transform}::large_precision", info.id),
                move || large_precision(&of_case(&other), transform),
            ));
        }
    }
    for device in devices.iter().filter(|device| device.backend().poly().is_some()) {
        poly_trials(device, &mut trials);
    }
    libtest_mimic::run(&arguments, trials).exit();
}
