//! The kernels' own sources on the host, against the vectors and the exact twin.
//!
//! With `GIRIH_LONG` set (`cargo xtask test --long`) all of it, a quarter of an hour; else what
//! brings every kernel and every choice once.
#![cfg(feature = "emulation")]

use girih::ckks::server::{Options, ServerKey};
use girih::ckks::{CkksParameters, ClientKey, EvaluationKeys, KeyKind, StreamedKeys};
use girih_backend::poly::random::{RandomProgram, random_program};
use girih_backend::poly::{Bindings, Place, PolyEngine, PolyOptions, interpret};
use girih_backend::{
    Backend, BackendError, BootstrapShape, LoadRequest, NoProgress, PlanRequest, Transform,
};
use girih_conformance::ckks::key_switching;
use girih_conformance::ckks::vectors::{self as ckks_vectors, CkksVectorFile};
use girih_conformance::compare::Differences;
use girih_conformance::planned::Planned;
use girih_conformance::poly::kernels;
use girih_conformance::synthetic::SyntheticKeys;
use girih_conformance::vectors::{PUBLISHED, VectorFile};
use girih_conformance::{compare, shapes, tables};
use girih_cpu::CpuBackend;
use girih_cuda::{EmulatedBackend, SPREAD};
use girih_multi::MultiBackend;
use std::sync::Arc;

fn device() -> EmulatedBackend {
    EmulatedBackend::new().unwrap_or_else(|e| panic!("{e}"))
}

fn plan(spread: u32) -> PlanRequest {
    PlanRequest { choices: [(SPREAD.to_owned(), spread)].into(), ..Default::default() }
}

/// Whether this is a run that may take long; says so where it is not.
fn long() -> bool {
    let long = std::env::var_os("GIRIH_LONG").is_some();
    if !long {
        println!("left out: set GIRIH_LONG=1, or run `cargo xtask test --long`");
    }
    long
}

/// Whole ciphertexts a block, and a ciphertext over two blocks, which have every kind of step that
/// four and eight have.
const SPREADS: [u32; 2] = [0, 2];

/// In the long tests every vector in both ways, else the ways take turns.
#[test]
fn vectors_bit_for_bit() {
    let (device, long) = (device(), long());
    for (number, (name, text)) in PUBLISHED.into_iter().enumerate() {
        let ways = SPREADS.into_iter().enumerate();
        for (_, spread) in ways.filter(|(way, _)| long || *way == number % 2) {
            let planned = Planned { device: &device, plan: plan(spread) };
            let replay = VectorFile::parse(name, text)
                .map(|f| f.replay(&planned).unwrap_or_else(|e| panic!("{name}: {e}")));
            let replay = replay.unwrap_or_else(|e| panic!("{e}"));
            assert!(
                replay.failures.is_empty(),
                "{name} over {spread}: {}",
                replay.failures.join("\n")
            );
        }
    }
}

/// Key switches by tiles, which else only large batches take.
#[test]
fn vectors_by_tiles() {
    if !long() {
        return;
    }
    let device = device();
    let device = Planned {
        device: &device,
        plan: PlanRequest { choices: [("tiled".to_owned(), 1)].into(), ..Default::default() },
    };
    let mut replayed = 0;
    for (name, text) in PUBLISHED {
        let file = VectorFile::parse(name, text).unwrap_or_else(|e| panic!("{name}: {e}"));
        match file.replay(&device) {
            Ok(replay) => {
                replayed += 1;
                assert!(replay.failures.is_empty(), "{name}: {}", replay.failures.join("\n"));
            }
            Err(e) => assert!(e.to_string().contains("too many for a tile"), "{name}: {e}"),
        }
    }
    assert!(replayed > 0, "no vector has a base small enough for tiles");
}

type Comparison =
    fn(&dyn Backend, &dyn Backend, &BootstrapShape) -> Result<Differences, BackendError>;

fn for_shapes(spread: u32, wanted: impl Fn(&shapes::NamedShape) -> bool, comparison: Comparison) {
    let (device, only) = (device(), std::env::var("GIRIH_SHAPE").unwrap_or_default());
    let planned = Planned { device: &device, plan: plan(spread) };
    for case in shapes::all().iter().filter(|s| s.name.contains(&only) && wanted(s)) {
        let differences = comparison(&planned, &CpuBackend::new(), &case.shape);
        let differences = differences.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(differences.is_empty(), "{} over {spread}: {}", case.name, differences.join("\n"));
        eprintln!("{} over {spread} agrees", case.name);
    }
}

fn fits_one_block(case: &shapes::NamedShape) -> bool {
    case.shape.polynomial_size <= 2048
}

/// Each emulated thread has a stack of its own: those of N = 8192 would take gigabytes. A real GPU
/// runs it in the suite.
fn fits_the_host(case: &shapes::NamedShape) -> bool {
    case.shape.polynomial_size <= 4096
}

#[test]
fn shapes_bit_for_bit() {
    if !long() {
        return;
    }
    for_shapes(0, fits_one_block, compare::bit_for_bit);
}

#[test]
fn shapes_within_the_fft_error() {
    if !long() {
        return;
    }
    for_shapes(0, fits_one_block, compare::within_fft_error);
}

#[test]
fn spread_shapes_bit_for_bit() {
    if !long() {
        return;
    }
    for_shapes(4, fits_the_host, compare::bit_for_bit);
}

#[test]
fn spread_shapes_within_the_fft_error() {
    if !long() {
        return;
    }
    for_shapes(4, fits_the_host, compare::within_fft_error);
}

/// Steps of several LWE indices: digits held and not, one ciphertext a block, two, and over a
/// cluster. In the long tests each shape in all three ways, else the ways take turns.
#[test]
fn grouped_shapes_agree() {
    let (device, only) = (device(), std::env::var("GIRIH_SHAPE").unwrap_or_default());
    let long = long();
    let shapes = shapes::grouped();
    for (number, case) in shapes.iter().enumerate().filter(|(_, s)| s.name.contains(&only)) {
        let ways = [(0, Some(1)), (0, Some(2)), (2, None)].into_iter().enumerate();
        for (_, (spread, groups)) in ways.filter(|(way, _)| long || *way == number % 3) {
            let planned = Planned { device: &device, plan: PlanRequest { groups, ..plan(spread) } };
            let differences = compare::within_fft_error(&planned, &CpuBackend::new(), &case.shape);
            let differences = differences
                .unwrap_or_else(|e| panic!("{} over {spread}, {groups:?}: {e}", case.name));
            assert!(
                differences.is_empty(),
                "{} over {spread}, {groups:?}: {}",
                case.name,
                differences.join("\n")
            );
        }
    }
}

#[test]
fn torus_shapes_agree() {
    if !long() {
        return;
    }
    for spread in [0, 2, 4] {
        let (device, only) = (device(), std::env::var("GIRIH_SHAPE").unwrap_or_default());
        let planned = Planned { device: &device, plan: plan(spread) };
        for case in shapes::torus().iter().filter(|s| s.name.contains(&only)) {
            let differences = compare::on_the_torus(&planned, &CpuBackend::new(), &case.shape);
            let differences = differences.unwrap_or_else(|e| panic!("{}: {e}", case.name));
            assert!(
                differences.is_empty(),
                "{} over {spread}: {}",
                case.name,
                differences.join("\n")
            );
        }
    }
}

fn chosen(choices: &[(&str, u32)]) -> PlanRequest {
    PlanRequest {
        choices: choices.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
        ..Default::default()
    }
}

/// The shape of the suite called `name` under a plan with `choices` and `always`.
fn with_choices(
    name: &str,
    choices: &[(&str, u32)],
    always: &[(&str, u32)],
    comparison: Comparison,
) {
    let shapes = shapes::all();
    let case = shapes.iter().find(|s| s.name == name).expect("a shape of the suite");
    let planned = Planned { device: &device(), plan: chosen(&[choices, always].concat()) };
    let differences = comparison(&planned, &CpuBackend::new(), &case.shape);
    let differences = differences.unwrap_or_else(|e| panic!("{name} with {choices:?}: {e}"));
    assert!(differences.is_empty(), "{name} with {choices:?}: {}", differences.join("\n"));
}

/// Both maps of complex slots, cosines in both places, rings that turn over one frequency and over
/// several, and teams without a polynomial.
#[test]
fn every_choice_of_the_fft_agrees() {
    for (name, choices) in [
        ("gd_n512_k2_r3", &[("gaps", 0), ("cosines", 1)][..]),
        ("gd2_std192", &[("gaps", 0), ("cosines", 0), ("ring", 0)]),
        ("gd2_std192", &[("cosines", 1), ("ring", 4)]),
        ("mr_m3_r1", &[("cosines", 1)]),
        ("mr_m2_r2", &[("groups", 1), ("ring", 8)]),
        ("mr_m4_r4", &[("groups", 1), ("ring", 8)]),
        ("gd_n512_k2_r3", &[("groups", 1), ("pace", 2)]),
    ] {
        with_choices(name, choices, &[(SPREAD, 0)], compare::within_fft_error);
    }
}

/// Key chunks in flight over one frequency and over several, and none;
/// monomials held and read again.
#[test]
fn every_choice_of_the_integer_transform_agrees() {
    for (name, choices) in [
        ("gd_std128", &[("groups", 1), ("ring", 0)][..]),
        ("gd_std128", &[("groups", 1), ("ring", 6)]),
        ("gd_std128", &[("groups", 2), ("ring", 4)]),
        ("mr_m3_r1", &[("groups", 1), ("blocks", 4), ("ring", 0)]),
        ("mr_m3_r1", &[("groups", 3), ("blocks", 2), ("ring", 2)]),
        ("gd_std128", &[("groups", 1), ("pace", 4)]),
    ] {
        with_choices(name, choices, &[(SPREAD, 0)], compare::bit_for_bit);
    }
}

/// Packed keys, which else only the largest have: tails of one, two and four, rings and none, and a
/// ciphertext over blocks.
#[test]
fn packed_keys_agree() {
    for (name, choices) in [
        ("mr_m3_r5", &[(SPREAD, 0)][..]),
        ("mr_m4_r4", &[(SPREAD, 0), ("ring", 0)]),
        ("mr_m6_r2", &[(SPREAD, 0), ("ring", 24)]),
        ("mr_m6_r2", &[(SPREAD, 2)]),
        ("mr_m3_r1", &[(SPREAD, 4)]),
        ("mr_m3_r1", &[]),
    ] {
        with_choices(name, choices, &[("packed", 1)], compare::within_fft_error);
    }
}

/// Key-switching words of two, four and five bytes, by tiles; rows of a quarter of a tile's
/// columns, and of two tiles and a half; digits of more rows than tiles have by default.
#[test]
fn shapes_by_tiles() {
    if !long() {
        return;
    }
    let device = device();
    let mut kinds = std::collections::BTreeSet::new();
    for case in shapes::all()
        .iter()
        .filter(|s| s.shape.log2_ks_base <= 8 && s.shape.polynomial_size <= 2048)
    {
        let width = case.shape.log2_ks_modulus.div_ceil(16).min(3);
        if !kinds.insert((width, case.shape.log2_ks_base > 6)) && case.name != "gd_n_above_kn" {
            continue;
        }
        let planned = Planned { device: &device, plan: chosen(&[("tiled", 1), (SPREAD, 0)]) };
        let differences = compare::bit_for_bit(&planned, &CpuBackend::new(), &case.shape);
        let differences = differences.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(differences.is_empty(), "{}: {}", case.name, differences.join("\n"));
    }
    assert!(
        (1..=3).all(|width| kinds.contains(&(width, false))),
        "a shape for each width: {kinds:?}"
    );
    assert!(kinds.contains(&(1, true)), "a shape with many rows a digit: {kinds:?}");
}

/// Tiles whose products are data, not text: the words of the interpreter. In the long tests all
/// programs at rows of both kinds.
#[test]
fn lists_of_steps_agree() {
    let device = device();
    let chosen = ["products_", "convolution", "random_1"];
    let degrees = if long() { vec![9, 10, 11] } else { vec![10] };
    for work in degrees.into_iter().flat_map(kernels::all) {
        if !long() && !chosen.iter().any(|name| work.name.starts_with(name)) {
            continue;
        }
        let options = PolyOptions::default().with("most_products", 0);
        let ring = work.program.ring().clone();
        let engine = PolyEngine::open_with(&device, ring, &options, &NoProgress);
        let engine = engine.unwrap_or_else(|e| panic!("{e}"));
        let wanted = interpret(&work.program, &work.residents, &work.inputs, &[]);
        let wanted = wanted.unwrap_or_else(|e| panic!("{}: {e}", work.name)).outputs;
        let found = girih_conformance::poly::compare::run(&engine, &work, engine.plan());
        let found = found.unwrap_or_else(|e| panic!("{}: {e}", work.name));
        for (slot, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            let wrong = found.iter().zip(wanted).position(|(x, y)| x != y);
            assert_eq!(wrong, None, "{}: a word of output {slot} differs", work.name);
        }
    }
}

/// Two devices as one: calls are divided, and their words are those of the interpreter. A member
/// whose memory is too small is named, with what there was no room for.
/// The published stages of CKKS. In the long tests all of them, else those of the
/// conjugation-invariant ring, which have products, key switches and divisions, too.
#[test]
fn stages_of_ckks_bit_for_bit() {
    let (device, long) = (device(), long());
    for (name, text) in ckks_vectors::PUBLISHED {
        if !long && name != "invariant" {
            continue;
        }
        let file = CkksVectorFile::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
        let replay = file.replay(&device).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(replay.failures.is_empty(), "{name}: {}", replay.failures.join("\n"));
        assert!(replay.passed > 0, "{name}");
    }
}

#[test]
fn two_devices_divide_programs() {
    let random = random_program(10, 6, 2);
    let RandomProgram { program, residents, inputs, .. } = &random;
    let members = |bytes| -> Vec<Arc<dyn Backend>> {
        vec![Arc::new(device()), Arc::new(device().with_memory(bytes))]
    };
    let small = MultiBackend::new(members(1 << 20)).expect("two");
    let engine = PolyEngine::open(&small, program.ring().clone()).expect("room for tables");
    let mut held = Vec::new();
    let error = loop {
        match engine.load(residents, &NoProgress) {
            Ok(loaded) => held.push(loaded),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("out of memory") && error.contains("limited to 1048576"), "{error}");
    assert!(small.poly().and_then(|l| l.memory_bytes()) == Some(1 << 20));

    let large = MultiBackend::new(members(1 << 30)).expect("two");
    let engine = PolyEngine::open(&large, program.ring().clone()).expect("it opens");
    let loaded = engine.load(residents, &NoProgress).expect("room");
    let routine = engine.prepare(program, &loaded).expect("in order");
    let wanted = interpret(program, residents, inputs, &[]).expect("in order").outputs;
    let mut buffers = Vec::new();
    let mut place = |limbs: usize| {
        let buffer = engine.allocate(limbs).expect("room");
        let place = buffer.place(0);
        buffers.push(buffer);
        place
    };
    let call = |place: &mut dyn FnMut(usize) -> Place| {
        let mut call = Bindings::default();
        for (words, of) in inputs.iter().zip(program.inputs()) {
            let to = place(of.basis.len());
            engine.write(to, &of.basis, words).expect("canonical");
            call.inputs.push(to);
        }
        let outputs = program.outputs().iter().map(|&v| place(program.type_of(v).basis.len()));
        call.outputs = outputs.collect();
        call
    };
    let mut calls: Vec<Bindings> = (0..3).map(|_| call(&mut place)).collect();
    engine.run(&routine, &calls).expect("they run");
    // What one member holds, both read: it is copied from one to the other.
    let shared: Vec<Bindings> =
        (0..2).map(|_| Bindings { inputs: calls[0].inputs.clone(), ..call(&mut place) }).collect();
    engine.run(&routine, &shared).expect("they run");
    calls.extend(shared);
    for call in &calls {
        for (place, wanted) in call.outputs.iter().zip(&wanted) {
            let mut words = vec![0; wanted.len()];
            engine.read(*place, &mut words).expect("it was written");
            assert!(words == *wanted, "an output differs");
        }
    }
}

/// Key products by KLSS, its lifted keys among them: the words of digits on the CPU. In the long
/// tests every operation, bootstrappings among them.
#[test]
fn key_switchings_agree() {
    let differences = match long() {
        true => key_switching::both_ways(&device()),
        false => key_switching::rotation_both_ways(&device()),
    };
    let differences = differences.unwrap_or_else(|e| panic!("{e}"));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Digits that are joined: the words of the CPU, with sums of keys and without. In the long tests:
/// it compiles the kernels of two servers.
#[test]
fn joined_digits_agree() {
    if !long() {
        return;
    }
    let differences = key_switching::joined_and_apart(&device());
    let differences = differences.unwrap_or_else(|e| panic!("{e}"));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Vectors that runs bring along, written anew between runs: the words of the CPU.
#[test]
fn vectors_of_runs_agree() {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("a key");
    let x = client.encrypt_at(&[0.5, -0.25], 1).expect("it encrypts");
    let none: [KeyKind; 0] = [];
    let keys = EvaluationKeys::generate(&client, none, &NoProgress).expect("no keys");
    let run = |device: &dyn Backend| -> girih::ckks::Result<Vec<Vec<u32>>> {
        let server = ServerKey::load(device, &keys, &Options::default(), &NoProgress)?;
        let recording = server.record(|b| {
            let (weights, shift) = (b.vector_input(2, 1.0)?, b.vector_input(1, 1.0)?);
            let x = b.input_with(x.level(), x.scale(), x.slots())?;
            let y = b.mul_vector(&x, &weights)?;
            Ok(vec![b.add_vector(&y, &shift)?])
        })?;
        let batch = server.upload(&[x.clone(), x.clone()])?;
        let mut words = Vec::new();
        for (weights, shift) in [([0.5, 1.0], 0.25), ([-1.0, 0.125], -0.5)] {
            let y = recording.run_with(&[&batch], &[&weights[..], &[shift]])?;
            let host = server.download(&y[0])?;
            words.extend(host.iter().flat_map(|y| [y.b().to_vec(), y.a().to_vec()]));
        }
        Ok(words)
    };
    let [emulated, exact] = [&device() as &dyn Backend, &CpuBackend::new()]
        .map(|device| run(device).unwrap_or_else(|e| panic!("{e}")));
    assert_eq!(exact.len(), 8);
    assert!(emulated == exact && exact[0] != exact[4] && exact[0] == exact[2]);
}

/// Keys that are made while they are loaded, lot by lot: the words of keys that are made first, and
/// those of the CPU.
#[test]
fn keys_flow_to_the_device() {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let run = |device: &dyn Backend, streams: bool| -> girih::ckks::Result<Vec<u32>> {
        let client = ClientKey::generate_seeded_for_tests(&set, [3; 32])?;
        let kinds = [KeyKind::Multiplication, KeyKind::conjugation(&set)];
        let kinds = kinds.into_iter().chain((1..4).filter_map(|by| KeyKind::rotation(&set, by)));
        let keys = StreamedKeys::new(&client, kinds)?;
        let options = Options::default();
        let server = match streams {
            true => ServerKey::load_streamed(device, &keys, &options, &NoProgress)?,
            false => ServerKey::load(device, &keys.whole(&NoProgress)?, &options, &NoProgress)?,
        };
        let x = server.upload(&[client.encrypt_at(&[0.5, -0.25, 0.125, 1.0], 3)?])?;
        let y = server.square(&server.rotate(&server.mul(&x, &x)?, 3)?)?;
        let host = server.download(&server.conjugate(&y)?)?;
        Ok(host.iter().flat_map(|y| [y.b().to_vec(), y.a().to_vec()]).flatten().collect())
    };
    let (emulated, cpu) = (device(), CpuBackend::new());
    let [wanted, exact, whole, found] =
        [(&cpu as &dyn Backend, false), (&cpu, true), (&emulated, false), (&emulated, true)]
            .map(|(device, streams)| run(device, streams).unwrap_or_else(|e| panic!("{e}")));
    assert!(exact == wanted, "the CPU");
    assert!(whole == wanted && found == wanted, "CUDA");
}

/// Memory that runs out while CKKS keys are loaded: how much, for what, and what to do about it.
#[test]
fn ckks_keys_without_room_say_what_to_do() {
    let set = CkksParameters::by_name("INSECURE_CKKS_D40_N10").expect("built in");
    let client = ClientKey::generate_seeded_for_tests(&set, [3; 32]).expect("a key");
    let kinds = (1..9).filter_map(|by| KeyKind::rotation(&set, by));
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("keys");
    let device = device().with_memory(8 << 20);
    let options = Options::default();
    let streamed = (1..9).filter_map(|by| KeyKind::rotation(&set, by));
    let streamed = StreamedKeys::new(&client, streamed).expect("seeds");
    for loaded in [
        ServerKey::load(&device, &keys, &options, &NoProgress),
        ServerKey::load_streamed(&device, &streamed, &options, &NoProgress),
    ] {
        let error = loaded.expect_err("17 MB of keys").to_string();
        let limit = "bytes are in use, limited to 8388608";
        for part in ["for evaluation keys", limit, "KeyKind::up_to"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

/// A limit of memory counts what both families allocate.
#[test]
fn both_families_share_a_limit() {
    let device = device().with_memory(4 << 20);
    let ring = girih_backend::poly::random::ring(10);
    let engine = PolyEngine::open(&device, ring).expect("room for tables");
    let mut held = Vec::new();
    while let Ok(buffer) = engine.allocate(64) {
        held.push(buffer);
    }
    assert!(held.len() > 4);
    let keys = SyntheticKeys::new(shapes::all()[0].shape.clone(), 7);
    let error = LoadRequest::new(&keys).load(&device).expect_err("no room is left").to_string();
    assert!(error.contains("out of memory") && error.contains("limited to 4194304"), "{error}");
    drop(held);
}

/// More tables than there is room for, from several threads: `delayed` has them change while
/// rotations wait.
#[test]
fn tables_change() {
    let differences =
        tables::end_to_end(&device(), Transform::Ntt, 5).unwrap_or_else(|e| panic!("{e}"));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_number_of_blocks_agrees() {
    if !long() {
        return;
    }
    for blocks in [1, 2, 8] {
        let small = |case: &shapes::NamedShape| {
            ["gd_n512_k2_r3", "mr_m3_r1", "gd2_all_digits", "gd_binary"].contains(&case.name)
        };
        for_shapes(blocks, small, compare::bit_for_bit);
        for_shapes(blocks, small, compare::within_fft_error);
    }
}
