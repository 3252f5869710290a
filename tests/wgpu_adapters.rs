//! The published vectors on every adapter of this machine in both profiles, and conformance shapes
//! in the profile that a browser has: 32-bit words within WebGPU's default limits. Then what only
//! this device has: plans, stores and keys split over buffers, memory that runs out, a device that
//! is lost. Modules are checked.

use girih_backend::bootstrap::synthetic::torus_shape;
use girih_backend::timeline::{self, TimeSpan};
use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, Engine, LinearJob,
    LoadOptions, LoadRequest, Operand, PlanRequest, PlanSource, Transform,
};
use girih_conformance::ckks::operations;
use girih_conformance::planned::Planned;
use girih_conformance::poly::compare::{Plans, against_interpreter};
use girih_conformance::poly::{Work, kernels};
use girih_conformance::shapes::NamedShape;
use girih_conformance::synthetic::{SyntheticKeys, Words};
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{compare, shapes};
use girih_cpu::CpuBackend;
use girih_wgpu::{OpenOptions, Profile, WgpuBackend, enumerate};
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Arc;

/// The device of all cases of an adapter, or, on a software driver, which compiles and runs what
/// one device is given in one thread, a device for each case, so that cases share the cores.
#[derive(Clone)]
struct Shared {
    device: Arc<WgpuBackend>,
    options: OpenOptions,
}

impl Shared {
    fn of_case(&self) -> Arc<WgpuBackend> {
        let info = self.device.info();
        let own = || {
            WgpuBackend::open_with(&info.id, &self.options)
                .map(Arc::new)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        if info.software { own() } else { Arc::clone(&self.device) }
    }
}

fn replay(device: &WgpuBackend, name: &str, text: &str) -> Result<(), Failed> {
    let replay = VectorFile::parse(name, text)?.replay(device)?;
    if replay.failures.is_empty() { Ok(()) } else { Err(replay.failures.join("\n").into()) }
}

fn bit_for_bit(device: &dyn Backend, shape: &BootstrapShape) -> Result<(), Failed> {
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
/// Every shape of the suite.
fn every_shape() -> impl Iterator<Item = NamedShape> {
    let torus = shapes::torus().into_iter().chain(shapes::torus_in_integers());
    shapes::all().into_iter().chain(shapes::grouped()).chain(torus)
}

/// What the software driver runs in the core profile, at ten to twenty seconds of compilation a
/// shape: each kind of words, gadget and switch once. Adapters of hardware run every shape.
const SOFTWARE: [&str; 13] = [
    "gd_std128",
    "gd_n256_r16",
    "gd_n512_k2_r3",
    "gd_31_bits",
    "gd_std256_29_bits",
    "gd_cut_within_a_digit",
    "gd2_g4",
    "gd2_base14_r2",
    "mr_m3_r5",
    "gd_n512_k2_r3_group_3",
    "torus_ternary",
    "torus_n256_23_bits",
    "torus_n256_40_bits",
];

/// A test of a whole device.
type DeviceTest = (&'static str, fn(&WgpuBackend) -> Result<(), Failed>);

/// Plans that nobody gets by default and `tune` may choose: the other form of words in each
/// profile, other items and exchanges, and blind rotations split over several launches with the
/// accumulator parked in between.
const PLANS: [Plan; 15] = [
    ("other_words", "gd_std128", &[("signed", 2)], None),
    ("other_words", "mr_m3_r1", &[("signed", 2)], None),
    ("items_4_staged_3", "gd_std128", &[("items", 4), ("staged", 3)], None),
    ("rolled", "gd_std128", &[("rolled", 2)], None),
    ("split_in_3", "gd_n512_k2_r3", &[], Some(2)),
    ("split_in_5", "mr_m3_r1", &[], Some(1)),
    // Key switches that one workgroup does, and that many share,
    // for each width of the table's entries.
    ("key_switch_whole", "gd_n512_k2_r3", &[("key_switch_parts", 1)], None),
    ("key_switch_whole", "gd_std256_29_bits", &[("key_switch_parts", 1)], None),
    ("key_switch_whole", "gd2_g4", &[("key_switch_parts", 1)], None),
    ("key_switch_in_64", "gd2_g4", &[("key_switch_parts", 64)], None),
    // The variant for few ciphertexts, unrolled and rolled.
    ("few_staged_3", "gd_std128", &[("few", 3)], None),
    ("few_staged_4", "mr_m3_r1", &[("few", 4)], None),
    // The native torus: split, its key switch in parts; words unrolled; other words.
    ("split_in_3", "torus_n256_23_bits", &[("key_switch_parts", 4)], Some(2)),
    ("words_unrolled", "torus_n256_23_bits", &[("looped", 0)], None),
    ("other_words", "torus_n256_40_bits", &[("signed", 2)], None),
];

/// Whether a plan runs in a profile: everything but the form of words is the same code in both. A
/// software driver compiles most of a minute at some of them, so that there each form of words has
/// one profile, and what is like another plan waits for the long tests.
fn is_wanted(profile: Profile, software: bool, (what, shape, ..): &Plan) -> bool {
    if software && std::env::var_os("GIRIH_LONG").is_none() {
        let alike = ["few_staged_4", "split_in_5"].contains(what);
        let profile_of_words = if *shape == "mr_m3_r1" { Profile::Int64 } else { Profile::Core };
        let own = if *what == "other_words" { profile_of_words } else { Profile::Core };
        return !alike && profile == own;
    }
    profile == Profile::Core || *what == "other_words"
}

fn planned(
    device: &WgpuBackend,
    shape: &BootstrapShape,
    choices: &[(&str, u32)],
    steps: Option<usize>,
) -> Result<(), Failed> {
    let model = LoadOptions::default().by_model();
    let keys = SyntheticKeys::new(shape.clone(), 7);
    let signed =
        LoadRequest::new(&keys).options(&model).load(device)?.plan().flag("signed") == Some(true);
    // 2 stands for the form that the model does not choose.
    let value = |v: u32| if v == 2 { u32::from(!signed) } else { v };
    let choices = choices
        .iter()
        .map(|&(name, v)| (name.to_string(), if name == "signed" { value(v) } else { v }));
    let plan =
        PlanRequest { choices: choices.collect(), steps_per_launch: steps, ..Default::default() };
    let planned = Planned { device, plan };
    let plan = LoadRequest::new(&keys).options(&model).load(&planned)?.plan();
    let launches = steps.map_or(1, |s| shape.steps().div_ceil(s));
    if plan.count("launches_per_batch") != Some(launches as u64)
        || plan.source != Some(PlanSource::Request)
    {
        return Err(format!("{launches} launches were asked for: {plan}").into());
    }
    match compare::bit_for_bit(&planned, &CpuBackend::new(), shape)?[..] {
        [] => Ok(()),
        ref differences => Err(differences.join("\n").into()),
    }
}

/// Every stage without a variant for few ciphertexts.
fn many(device: &WgpuBackend, shape: &BootstrapShape) -> Result<(), Failed> {
    let plan = PlanRequest { choices: [("few".to_string(), 0)].into(), ..Default::default() };
    bit_for_bit(&Planned { device, plan }, shape)
}

/// A choice that these kernels do not know is refused with those that they do.
fn unknown_choices(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = shapes::all().swap_remove(0).shape;
    for (name, value, known) in [
        ("itemz", 8, "items, staged, rolled, signed, looped, key_switch_parts, few"),
        ("items", 5, "[4, 8, 16]"),
    ] {
        let plan =
            PlanRequest { choices: [(name.to_string(), value)].into(), ..Default::default() };
        let error =
            LoadRequest::new(&SyntheticKeys::new(shape.clone(), 7)).load(&Planned { device, plan });
        let error = error.err().ok_or(format!("{name} = {value} was taken"))?.to_string();
        if !error.contains(known) || !error.contains(name) {
            return Err(error.into());
        }
    }
    Ok(())
}

/// The smallest shape of the suite: N = 256, two polynomials, five steps.
fn small_shape() -> BootstrapShape {
    let shape = shapes::all()
        .into_iter()
        .find(|s| s.name == "gd_n256_r16")
        .map(|s| s.shape)
        .expect("a shape of the suite");
    BootstrapShape { packing: 1, ..shape }
}

/// What a device and the twin hold in equal stores.
struct Twins {
    shape: BootstrapShape,
    device: Engine,
    twin: Engine,
    words: Words,
}

impl Twins {
    /// Both with one test polynomial.
    fn load(device: &WgpuBackend, shape: &BootstrapShape) -> Result<Self, BackendError> {
        let keys = SyntheticKeys::new(shape.clone(), 7);
        let exact = LoadOptions::default().with_transform(Transform::Ntt);
        let [device, twin] = [device as &dyn Backend, &CpuBackend::new() as &dyn Backend]
            .map(|backend| LoadRequest::new(&keys).options(&exact).load(backend));
        let mut all =
            Self { shape: shape.clone(), device: device?, twin: twin?, words: Words::new(3) };
        let table: Vec<u64> = (0..shape.polynomial_size)
            .map(|_| all.words.below(shape.accumulator_modulus().expect("words")))
            .collect();
        all.both(|engine| engine.add_tables(&table).map(|_| ()))?;
        Ok(all)
    }

    fn both(&self, call: impl Fn(&Engine) -> Result<(), BackendError>) -> Result<(), BackendError> {
        call(&self.device)?;
        call(&self.twin)
    }

    /// Writes random ciphertexts to `count` places from `first` on.
    fn write(&mut self, first: usize, count: usize) -> Result<(), BackendError> {
        let q = 1 << self.shape.log2_lwe_modulus;
        let words: Vec<u32> =
            (0..count * self.shape.ciphertext_len()).map(|_| self.words.below(q) as u32).collect();
        self.both(|engine| engine.write(first, &words))
    }

    /// A combination of up to four of the first `inputs` ciphertexts.
    fn combination(&mut self, inputs: usize) -> Combination {
        let operands: Vec<Operand> = (0..self.words.below(5))
            .map(|_| Operand {
                ciphertext: self.words.below(inputs as u64) as u32,
                weight: self.words.below(7) as i32 - 3,
            })
            .collect();
        Combination::new(&operands, self.words.below(64) as u32, self.shape.log2_lwe_modulus)
    }

    fn job(&mut self, inputs: usize, output: usize) -> BootstrapJob {
        BootstrapJob {
            input: self.combination(inputs),
            table: 0,
            table_stride: 0,
            output_offset: 5,
            log2_output_modulus: self.shape.log2_lwe_modulus,
            output: output as u32,
            second: None,
        }
    }

    /// Compares ciphertexts, a thousand places at a time.
    fn compare(&self, places: std::ops::Range<usize>) -> Result<(), Failed> {
        let length = self.shape.ciphertext_len();
        for first in places.clone().step_by(1000) {
            let count = 1000.min(places.end - first);
            let (mut got, mut want) = (vec![0; count * length], vec![0; count * length]);
            self.device.read(first, &mut got)?;
            self.twin.read(first, &mut want)?;
            if let Some(at) = (0..got.len()).find(|&i| got[i] != want[i]) {
                return Err(format!(
                    "word {} of ciphertext {} is {} instead of {}",
                    at % length,
                    first + at / length,
                    got[at],
                    want[at]
                )
                .into());
            }
        }
        Ok(())
    }
}

/// A device of the same adapter whose storage buffers are of at most `bytes`.
fn small_buffers(device: &WgpuBackend, bytes: u64) -> Result<WgpuBackend, BackendError> {
    let options = OpenOptions {
        profile: Some(device.profile()),
        webgpu_limits: true,
        binding_bytes: Some(bytes),
        checked: Some(true),
        ..Default::default()
    };
    WgpuBackend::open_with(&device.info().id, &options)
}

/// Every stage and whole lists where a buffer holds one step of the key, one index of the table and
/// seven ciphertexts: keys, tables, stores and batches are all split, and traced.
fn split_everything(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = BootstrapShape {
        lwe_dimension: 600,
        log2_lwe_modulus: 7,
        log2_ks_modulus: 7,
        log2_ks_base: 1,
        ..small_shape()
    };
    let device = small_buffers(device, 17 << 10)?;
    let plan = LoadRequest::new(&SyntheticKeys::new(shape.clone(), 7)).load(&device)?.plan();
    if ["launches_per_batch", "key_switch_launches", "ciphertexts_per_buffer"]
        .map(|name| plan.count(name))
        != [600, 256, 7].map(Some)
    {
        return Err(format!("this plan splits too little: {plan}").into());
    }
    bit_for_bit(&device, &shape)
}

/// On the native torus, where jobs may have two results, a store of two buffers.
fn split_torus(device: &WgpuBackend) -> Result<(), Failed> {
    // Long ciphertexts: a buffer that holds a step of the key holds few of them.
    let shape = BootstrapShape { glwe_dimension: 2, ..torus_shape(256, 15, 2, 1) };
    let device = small_buffers(device, 60 << 10)?;
    let plan = LoadRequest::new(&SyntheticKeys::new(shape.clone(), 7)).load(&device)?.plan();
    if plan.count("ciphertexts_per_buffer") != Some(14) {
        return Err(format!("this plan splits its store otherwise: {plan}").into());
    }
    bit_for_bit(&device, &shape)
}

/// A store of fourteen buffers that has grown call by call: writes, lists of gates with operands
/// and results all over it, and linear jobs in place agree with the twin everywhere.
fn split_store(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = shapes::all()
        .into_iter()
        .find(|s| s.name == "gd_n_above_kn")
        .map(|s| s.shape)
        .expect("a shape of the suite");
    let device = small_buffers(device, 256 << 10)?;
    let mut twins = Twins::load(&device, &shape)?;
    // 217 to a buffer: within the first, to its end, one beyond, many.
    let mut stored = 0;
    for (grown, written) in
        [(100, 90), (217, 110), (218, 18), (400, 150), (2000, 1600), (3000, 1000)]
    {
        twins.both(|engine| engine.reserve(grown))?;
        twins.write(grown - written, written)?;
        stored = grown;
        twins.compare(0..stored)?;
    }
    for round in 0..2 {
        // Results everywhere: all over the places that no job reads.
        let jobs: Vec<BootstrapJob> =
            (0..90).map(|i| twins.job(2000, 2000 + 11 * i + round)).collect();
        let own = BootstrapJob {
            output: 7,
            input: Combination::new(&[Operand { ciphertext: 7, weight: 3 }], 1, 9),
            ..jobs[0]
        };
        // A job may overwrite its own operand; 7 is read by no other.
        let avoids = |c: &Combination| c.used().all(|o| o.ciphertext != 7);
        let jobs: Vec<BootstrapJob> =
            jobs.into_iter().filter(|j| avoids(&j.input)).chain([own]).collect();
        twins.both(|engine| engine.bootstrap(&jobs))?;
        let linear: Vec<LinearJob> = (0..1000)
            .map(|i| LinearJob {
                input: twins.combination(2000),
                log2_output_modulus: 5 + i as u32 % 5,
                output: 2000 + i as u32,
            })
            .collect();
        let own = Combination::new(
            &[Operand { ciphertext: 1999, weight: -1 }, Operand { ciphertext: 2999, weight: 1 }],
            0,
            9,
        );
        let own = LinearJob { input: own, log2_output_modulus: 9, output: 2999 };
        let avoids = |c: &Combination| c.used().all(|o| o.ciphertext != 2999);
        let linear: Vec<LinearJob> = linear
            .into_iter()
            .filter(|j| avoids(&j.input) && j.output != 2999)
            .skip(300 * round)
            .chain([own])
            .collect();
        twins.compare(0..stored)?;
        twins.both(|engine| engine.combine(&linear))?;
        twins.compare(0..stored)?;
    }
    Ok(())
}

/// A store of more ciphertexts than one buffer of this device holds works at the seam, where
/// buffers are not too large to try.
fn large_store(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = shapes::all()
        .into_iter()
        .find(|s| s.name == "gd_n_above_kn")
        .map(|s| s.shape)
        .expect("a shape of the suite");
    let most = device.info().limits.binding_bytes as usize / (4 * shape.ciphertext_len());
    if device.info().limits.binding_bytes > 128 << 20 {
        return Err("meant for the limits of WebGPU".into());
    }
    let mut twins = Twins::load(device, &shape)?;
    twins.both(|engine| engine.reserve(most + 500))?;
    twins.write(most - 40, 540)?;
    let mut jobs: Vec<BootstrapJob> = (0..40).map(|i| twins.job(30, most + 100 + i)).collect();
    for job in &mut jobs {
        job.input.operands.iter_mut().for_each(|o| o.ciphertext += most as u32 - 15);
    }
    twins.both(|engine| engine.bootstrap(&jobs))?;
    twins.compare(most - 40..most + 500)
}

/// What no memory holds is refused with what was asked for, and everything stays as it was.
fn out_of_memory(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = small_shape();
    let mut twins = Twins::load(device, &shape)?;
    twins.both(|engine| engine.reserve(100))?;
    twins.write(0, 100)?;
    let asked = (1 << 46) / (4 * shape.ciphertext_len());
    match twins.device.reserve(asked) {
        Err(BackendError::OutOfMemory { bytes, what, .. })
            if bytes == (asked * 4 * shape.ciphertext_len()) as u64
                && what.contains(&format!("{asked} ciphertexts")) => {}
        Err(other) => return Err(other.into()),
        Ok(()) => return Err(format!("{asked} ciphertexts were taken").into()),
    }
    if twins.device.stored() != 100 {
        return Err("the refusal changed the store".into());
    }
    let jobs: Vec<BootstrapJob> = (0..20).map(|i| twins.job(80, 80 + i)).collect();
    twins.both(|engine| engine.bootstrap(&jobs))?;
    twins.compare(0..100)
}

/// Within the limits of a small GPU key switches take fewer threads than words side by side, and
/// what needs more than there are is refused by how many.
fn small_limits(device: &WgpuBackend) -> Result<(), Failed> {
    let small = WgpuBackend::open(&format!("{}@mobile16", device.info().id))?;
    let limits = &small.info().limits;
    let have = (limits.workgroup_threads, limits.workgroup_memory_bytes, limits.binding_bytes);
    if have != (128, 16 << 10, 128 << 20) {
        return Err(format!("opened with {have:?}").into());
    }
    let work = kernels::all(10).into_iter().next().ok_or("there are programs")?;
    match against_interpreter(&small, &work, Plans::Own) {
        Err(BackendError::DoesNotFit { reason, .. })
            if reason.to_string().contains("256 threads") => {}
        other => return Err(format!("a row of 256 threads: {other:?}").into()),
    }
    // 601 words of 20 bits, four to a thread.
    let shape = BootstrapShape {
        lwe_dimension: 600,
        log2_ks_modulus: 20,
        log2_ks_base: 5,
        ..small_shape()
    };
    // A refusal would be an error here: this one fits.
    match compare::bit_for_bit(&small, &CpuBackend::new(), &shape)?[..] {
        [] => Ok(()),
        ref differences => Err(differences.join("\n").into()),
    }
}

/// A lost device is an error of every later call, which names the loss where it is first met.
fn lost_device(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = small_shape();
    // A device of its own: the others go on.
    let device = small_buffers(device, 128 << 20)?;
    let mut twins = Twins::load(&device, &shape)?;
    twins.both(|engine| engine.reserve(100))?;
    twins.write(0, 100)?;
    let jobs: Vec<BootstrapJob> = (0..20).map(|i| twins.job(80, 80 + i)).collect();
    device.lose();
    let engine = &twins.device;
    let mut words = vec![0; 100 * shape.ciphertext_len()];
    let calls: [(&str, Result<(), BackendError>); 5] = [
        ("bootstrap", engine.bootstrap(&jobs)),
        ("read", engine.read(0, &mut words)),
        ("write", engine.write(0, &words)),
        ("synchronize", engine.synchronize()),
        ("reserve", engine.reserve(1 << 20)),
    ];
    let mut named = false;
    for (call, result) in calls {
        match result {
            Err(error) => named |= error.to_string().contains("lost"),
            Ok(()) => return Err(format!("{call} says that all is well on a lost device").into()),
        }
    }
    if named { Ok(()) } else { Err("no error names the loss".into()) }
}

/// Writes of all sizes, more of them at once than there are upload buffers,
/// arrive whole and in order.
fn writes_in_flight(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = small_shape();
    let engine = LoadRequest::new(&SyntheticKeys::new(shape.clone(), 7)).load(device)?;
    let (length, stored) = (shape.ciphertext_len(), 40_000);
    engine.reserve(stored)?;
    let mut want = vec![0u32; stored * length];
    let mut words = Words::new(17);
    for round in 0..3 {
        // 1 to 36,000 ciphertexts of 1 KiB, overlapping: later ones win.
        for (at, count) in [
            (0, 36_000),
            (10, 1),
            (2_000, 70),
            (5_000, 3_000),
            (6_000, 3_000),
            (7_000, 9_000),
            (30_000, 10_000),
            (3, 4_000),
        ] {
            let piece: Vec<u32> = (0..count * length).map(|_| words.next_word() as u32).collect();
            engine.write(at, &piece)?;
            want[at * length..][..piece.len()].copy_from_slice(&piece);
        }
        let mut got = vec![0; want.len()];
        engine.read(0, &mut got)?;
        if let Some(i) = (0..got.len()).find(|&i| got[i] != want[i]) {
            return Err(
                format!("round {round}: word {i} is {} instead of {}", got[i], want[i]).into()
            );
        }
    }
    Ok(())
}

/// Wakes a thread that waits for a future.
struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future as an executor would, which polls only what has been woken; returns how often it
/// was polled.
fn executed<T>(future: impl Future<Output = T>) -> (T, usize) {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    let mut polls = 0;
    loop {
        polls += 1;
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return (value, polls),
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

/// Awaited calls read what blocking ones do, behind work that is not done yet, and give the thread
/// back meanwhile.
fn awaited(device: &WgpuBackend) -> Result<(), Failed> {
    let shape = small_shape();
    let (engine, _) =
        executed(LoadRequest::new(&SyntheticKeys::new(shape.clone(), 7)).load_async(device));
    let (engine, length) = (engine?, shape.ciphertext_len());
    engine.reserve(3)?;
    let mut words = Words::new(21);
    let stored: Vec<u32> =
        (0..2 * length).map(|_| words.below(1 << shape.log2_lwe_modulus) as u32).collect();
    engine.write(0, &stored)?;
    let table = engine.add_tables(&vec![1; shape.polynomial_size])?;
    let operands = [0, 1].map(|ciphertext| Operand { ciphertext, weight: 1 });
    engine.bootstrap(&[BootstrapJob {
        input: Combination::new(&operands, 0, shape.log2_lwe_modulus),
        table,
        table_stride: 0,
        output_offset: 5,
        log2_output_modulus: shape.log2_lwe_modulus,
        output: 2,
        second: None,
    }])?;
    let (mut awaited, mut blocking) = (vec![0; 3 * length], vec![0; 3 * length]);
    let (read, polls) = executed(engine.read_async(0, &mut awaited));
    read?;
    executed(engine.synchronize_async()).0?;
    engine.read(0, &mut blocking)?;
    if awaited != blocking || awaited[..2 * length] != stored {
        return Err("what was awaited is not what is stored".into());
    }
    if polls < 2 {
        Err("the thread was blocked until the bootstrapping was done".into())
    } else {
        Ok(())
    }
}

/// 40,000 bootstrappings in one call: two chunks (of 32,768 jobs at most) through one bounded
/// workspace, all compared with the twin.
fn large_batch(device: &WgpuBackend) -> Result<(), Failed> {
    const JOBS: usize = 40_000;
    let shape = small_shape();
    let keys = SyntheticKeys::new(shape.clone(), 7);
    let (length, stored) = (shape.ciphertext_len(), 64);
    let mut words = Words::new(3);
    let store: Vec<u32> =
        (0..stored * length).map(|_| words.below(1 << shape.log2_lwe_modulus) as u32).collect();
    let table: Vec<u64> = (0..shape.polynomial_size)
        .map(|_| words.below(shape.accumulator_modulus().expect("words")))
        .collect();
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
        second: None,
    };
    let load = |backend: &dyn Backend, room: usize| -> Result<Engine, BackendError> {
        let exact = LoadOptions::default().with_transform(Transform::Ntt);
        let engine = LoadRequest::new(&keys).options(&exact).load(backend)?;
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

/// Kernels of both families appear in a timeline, within the time that it ran.
fn timelines(device: &WgpuBackend) -> Result<(), Failed> {
    if device.info().notes.iter().any(|note| note.starts_with("no timestamps")) {
        println!("ignored, because the device has no timestamps");
        return Ok(());
    }
    let mut twins = Twins::load(device, &small_shape())?;
    twins.both(|engine| engine.reserve(20))?;
    twins.write(0, 10)?;
    let jobs: Vec<BootstrapJob> = (0..10).map(|i| twins.job(10, 10 + i)).collect();
    let work = kernels::all(10).into_iter().next().ok_or("there are programs")?;
    timeline::start();
    let start = std::time::Instant::now();
    twins.device.bootstrap(&jobs)?;
    program(device, &work)?;
    twins.device.synchronize()?;
    let elapsed = 1e3 * start.elapsed().as_secs_f64();
    let spans = timeline::stop();
    twins.twin.bootstrap(&jobs)?;
    twins.compare(0..20)?;
    for kernel in ["blind_rotate", "key_switch", "poly_"] {
        let of = |s: &&TimeSpan| s.lane == "device" && s.what.starts_with(kernel);
        let found: Vec<_> = spans.iter().filter(of).collect();
        if !found.iter().any(|s| s.end_ms > s.start_ms && s.end_ms - s.start_ms <= elapsed) {
            return Err(format!("no span of {kernel} within {elapsed} ms: {found:?}").into());
        }
    }
    Ok(())
}

/// A program on polynomials, word by word as the interpreter has it.
fn program(device: &WgpuBackend, work: &Work) -> Result<(), Failed> {
    let differences = against_interpreter(device, work, Plans::Own)?;
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    let found = enumerate();
    if found.is_empty() {
        trials.push(
            Trial::test(
                "ignored, because no adapter: install a GPU driver or mesa-vulkan-drivers",
                || Ok(()),
            )
            .with_ignored_flag(true),
        );
    }
    for info in found {
        for profile in Profile::ALL {
            let options = OpenOptions {
                profile: Some(profile),
                webgpu_limits: profile == Profile::Core,
                checked: Some(true),
                ..Default::default()
            };
            let device = match WgpuBackend::open_with(&info.id, &options) {
                Ok(device) => Shared { device: Arc::new(device), options },
                Err(error) => {
                    trials.push(
                        Trial::test(
                            format!("{}@{profile} ignored, because {error}", info.id),
                            || Ok(()),
                        )
                        .with_ignored_flag(true),
                    );
                    continue;
                }
            };
            // In the profile that an adapter has by default the conformance suite replays all of
            // them. Checked modules are compiled anew, so that a software driver does so for two.
            let checked = |(name, _): &(&str, &str)| {
                profile == Profile::Core
                    || !info.software
                    || ["gd_two_words", "mr_k3_r5"].contains(name)
            };
            for (name, text) in PUBLISHED.into_iter().filter(checked) {
                let device = device.clone();
                trials.push(Trial::test(
                    format!("{}@{profile}::vectors::{name}", info.id),
                    move || replay(&device.of_case(), name, text),
                ));
            }
            for (what, name, choices, steps) in
                PLANS.into_iter().filter(|plan| is_wanted(profile, info.software, plan))
            {
                let device = device.clone();
                let shape = every_shape()
                    .find(|s| s.name == name)
                    .map(|s| s.shape)
                    .expect("a shape of the suite");
                let title = format!("{}@{profile}::plans::{what}::{name}", info.id);
                trials.push(Trial::test(title, move || {
                    planned(&device.of_case(), &shape, choices, steps)
                }));
            }
            // The workspace's conformance suite runs the shapes in the profile that each adapter
            // gets by default. Its batches are small: where those have a kernel of their own, the
            // one for many ciphertexts runs here.
            if profile == Profile::Int64 {
                for case in every_shape().filter(|_| !info.software) {
                    let device = device.clone();
                    let title = format!("{}@{profile}::plans::many::{}", info.id, case.name);
                    trials.push(Trial::test(title, move || many(&device.of_case(), &case.shape)));
                }
                continue;
            }
            let whole: [DeviceTest; 12] = [
                ("timelines", timelines),
                ("writes_in_flight", writes_in_flight),
                ("awaited", awaited),
                ("plans::unknown", unknown_choices),
                ("split_everything", split_everything),
                ("split_store", split_store),
                ("split_torus", split_torus),
                ("large_store", large_store),
                ("out_of_memory", out_of_memory),
                ("small_limits", small_limits),
                ("lost_device", lost_device),
                ("batch_40000", large_batch),
            ];
            for (what, test) in whole {
                let device = device.clone();
                trials.push(Trial::test(format!("{}@{profile}::{what}", info.id), move || {
                    test(&device.of_case())
                }));
            }
            // One device for these: its kernels are compiled once.
            for name in ["multiply", "rotate"] {
                let device = device.clone();
                trials.push(Trial::test(
                    format!("{}@{profile}::ckks::{name}", info.id),
                    move || {
                        let work = operations::work("INSECURE_CKKS_D40_N10", name);
                        program(&device.device, &work.map_err(|e| e.to_string())?)
                    },
                ));
            }
            for work in kernels::all(10) {
                let device = device.clone();
                let name = format!("{}@{profile}::poly::{}", info.id, work.name);
                trials.push(Trial::test(name, move || program(&device.device, &work)));
            }
            for case in every_shape().filter(|case| !info.software || SOFTWARE.contains(&case.name))
            {
                let device = device.clone();
                let name = format!("{}@{profile}::{}", info.id, case.name);
                trials
                    .push(Trial::test(name, move || bit_for_bit(&*device.of_case(), &case.shape)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
