use super::*;
use crate::poly::random::{RandomProgram, random_program, ring};
use crate::poly::reference_device::ReferenceLoader;
use crate::poly::{HostPolynomials, Loader, ProgramBuilder, Term, interpret};
use crate::{DeviceInfo, DeviceKind, DeviceLimits, NoProgress};

fn engine(ring: Arc<RingShape>) -> PolyEngine {
    let loader = ReferenceLoader::default();
    let plan = loader.plan(&ring);
    PolyEngine::new(loader.open(ring).unwrap(), plan).unwrap()
}

fn why<T>(result: Result<T>) -> String {
    result.err().expect("a refusal").to_string()
}

#[test]
fn random_programs_run_and_are_traced() {
    for seed in 0..20 {
        let RandomProgram { program, residents, inputs, keep } = random_program(4, 12, seed);
        let expected = interpret(&program, &residents, &inputs, &keep).unwrap();
        let engine = engine(program.ring().clone());
        let loaded = engine.load(&residents, &NoProgress).unwrap();
        let degree = program.ring().degree();
        let mut bindings = Bindings::default();
        let mut buffers = Vec::new();
        for (words, of) in inputs.iter().zip(program.inputs()) {
            let buffer = engine.allocate(of.basis.len() + 1).unwrap();
            engine.write(buffer.place(1), &of.basis, words).unwrap();
            bindings.inputs.push(buffer.place(1));
            buffers.push(buffer);
        }
        for words in &expected.outputs {
            let buffer = engine.allocate(words.len() / degree).unwrap();
            bindings.outputs.push(buffer.place(0));
            buffers.push(buffer);
        }
        // In one step or in two.
        let routine = match seed % 2 {
            0 => engine.prepare(&program, &loaded).unwrap(),
            _ => {
                let lowered = engine.lower(&program).unwrap();
                engine.prepare_lowered(lowered, &loaded).unwrap()
            }
        };
        engine.run(&routine, std::slice::from_ref(&bindings)).unwrap();
        for (place, words) in bindings.outputs.iter().zip(&expected.outputs) {
            let mut out = vec![0; words.len()];
            engine.read(*place, &mut out).unwrap();
            assert_eq!(out, *words);
        }
        assert_eq!(engine.trace(&program, &loaded, &bindings, &keep).unwrap(), expected.kept);
        engine.synchronize().unwrap();
        drop((routine, loaded, buffers));
        assert_eq!(engine.bytes_in_use(), 0, "everything is given back");
    }
}

#[test]
fn programs_lowered_for_others_are_refused() {
    let RandomProgram { program, residents, .. } = random_program(4, 12, 1);
    let [one, other] = [0, 1].map(|_| engine(program.ring().clone()));
    let loaded = one.load(&residents, &NoProgress).unwrap();
    assert!(!loaded.is_empty());
    let text = why(one.prepare_lowered(other.lower(&program).unwrap(), &loaded));
    assert!(text.contains("lowered by another engine"), "{text}");
    let text = why(other.prepare_lowered(other.lower(&program).unwrap(), &loaded));
    assert!(text.contains("was loaded by another engine"), "{text}");
    assert!(one.prepare_lowered(one.lower(&program).unwrap(), &loaded[1..]).is_err());
    let text = why(engine(ring(5)).lower(&program).map(drop));
    assert!(text.contains("a program over a ring of degree 2^4"), "{text}");
}

/// A routine reads what its residents hold when it runs, and nothing else is written.
#[test]
fn residents_are_written_anew_between_runs() {
    let ring = ring(4);
    let engine = engine(ring.clone());
    let degree = ring.degree();
    let basis = ring.basis(0..2);
    let shape = ResidentShape { basis: basis.clone(), log2_run: 2 };
    let len = degree >> 2;
    let words = |seed: u32| (0..2 * len as u32).map(|i| seed + i).collect::<Vec<u32>>();
    let own =
        HostPolynomials::new(&ring, vec![(shape.clone(), words(3)), (shape.clone(), words(100))]);
    let loaded = engine.load(&own.unwrap(), &NoProgress).unwrap();
    let mut builder = ProgramBuilder::new(ring.clone());
    let (x, y) = (builder.resident(shape.clone()).unwrap(), builder.resident(shape).unwrap());
    let sum = builder.sum(vec![Term::plus(x), Term::plus(y)]).unwrap();
    builder.output(sum);
    let routine = engine.prepare(&builder.finish(), &loaded).unwrap();
    let buffer = engine.allocate(2).unwrap();
    let call = Bindings { inputs: Vec::new(), outputs: vec![buffer.place(0)] };
    let run = |first: u32| {
        engine.run(&routine, std::slice::from_ref(&call)).unwrap();
        let mut out = vec![0; 2 * degree];
        engine.read(buffer.place(0), &mut out).unwrap();
        let runs = (0..2 * degree as u32).map(|i| first + 100 + 2 * (i / 4));
        assert_eq!(out, runs.collect::<Vec<_>>());
    };
    run(3);
    engine.rewrite(&loaded[0], &words(50)).unwrap();
    run(50);
    assert!(why(engine.rewrite(&loaded[0], &words(1)[1..])).contains("2 limbs of 4"));
    let p = ring.primes[0].value();
    assert!(why(engine.rewrite(&loaded[0], &vec![p; 2 * len])).contains("canonical"));
    run(50);
}

/// x + x, x over two primes.
fn doubled(ring: &Arc<RingShape>) -> Program {
    let mut builder = ProgramBuilder::new(ring.clone());
    let x = builder.input(ring.basis(0..2), Domain::Evaluations).unwrap();
    let sum = builder.sum(vec![Term::plus(x), Term::plus(x)]).unwrap();
    builder.output(sum);
    builder.finish()
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let ring = ring(3);
    let engine = engine(ring.clone());
    let routine = engine.prepare(&doubled(&ring), &[]).unwrap();
    let buffer = engine.allocate(6).unwrap();
    let run = |inputs: &[usize], outputs: &[usize]| {
        let places = |firsts: &[usize]| firsts.iter().map(|&f| buffer.place(f)).collect();
        engine.run(&routine, &[Bindings { inputs: places(inputs), outputs: places(outputs) }])
    };
    assert!(why(run(&[], &[2])).contains("call 0 binds 0 inputs of 1"));
    assert!(why(run(&[0], &[])).contains("call 0 binds 0 outputs of 1"));
    let error = why(run(&[0], &[5]));
    assert!(error.contains("2 limbs from limb 5 on do not lie in a buffer of 6"), "{error}");
    for (input, output) in [(0, 0), (0, 1), (2, 1)] {
        let error = why(run(&[input], &[output]));
        assert!(error.contains("bound to an output and to something else"), "{error}");
    }
    engine.write(buffer.place(0), &ring.basis(0..2), &[1; 16]).unwrap();
    run(&[0], &[2]).unwrap();
    // Two calls: one writes what the other reads, or both write.
    let call = |input, output| Bindings {
        inputs: vec![buffer.place(input)],
        outputs: vec![buffer.place(output)],
    };
    for calls in [[call(0, 2), call(2, 4)], [call(0, 2), call(0, 3)]] {
        let error = why(engine.run(&routine, &calls));
        assert!(error.contains("bound to an output and to something else"), "{error}");
    }
    engine.run(&routine, &[call(0, 2), call(0, 4)]).unwrap();
    let mut out = vec![0; 16];
    engine.read(buffer.place(4), &mut out).unwrap();
    assert_eq!(out, [2; 16]);
    engine.copy(buffer.place(4), buffer.place(0), 2).unwrap();
    assert!(why(engine.copy(buffer.place(1), buffer.place(0), 2)).contains("overlap"));
    let gone = { engine.allocate(2).unwrap().place(0) };
    assert!(why(engine.read(gone, &mut out)).contains("there is no buffer"));
    assert!(why(engine.read(buffer.place(0), &mut [0; 7])).contains("no whole limbs of 8"));
    assert!(why(engine.allocate(0)).contains("at least one"));
}

#[test]
fn words_and_residents_that_do_not_fit_are_refused() {
    let ring = ring(3);
    let engine = engine(ring.clone());
    let buffer = engine.allocate(2).unwrap();
    let one = ring.basis(0..1);
    let p = ring.primes[0].value();
    assert!(why(engine.write(buffer.place(0), &one, &[p; 8])).contains("canonical"));
    assert!(why(engine.write(buffer.place(0), &one, &[0; 9])).contains("has 9 words"));
    let unknown = Basis::new([99]);
    assert!(why(engine.write(buffer.place(0), &unknown, &[0; 8])).contains("prime 99"));

    /// Claims a shape, and hands out one word everywhere.
    struct Source(ResidentShape, u32);
    impl ResidentSource for Source {
        fn shapes(&self) -> Vec<ResidentShape> {
            vec![self.0.clone(); 2]
        }
        fn limb(&self, _: usize, _: usize, out: &mut [u32]) {
            out.fill(self.1);
        }
    }
    let shape = ResidentShape { basis: one, log2_run: 0 };
    let before = engine.bytes_in_use();
    assert!(why(engine.load(&Source(shape.clone(), p), &NoProgress)).contains("canonical"));
    assert_eq!(engine.bytes_in_use(), before, "none is resident");
    let long = ResidentShape { log2_run: 4, ..shape.clone() };
    assert!(why(engine.load(&Source(long, 0), &NoProgress)).contains("runs of 2^4"));
    let loaded = engine.load(&Source(shape.clone(), 1), &NoProgress).unwrap();

    let program = doubled(&ring);
    assert!(why(engine.prepare(&program, &loaded)).contains("2 resident polynomials"));
    let other = self::engine(ring.clone());
    let mut builder = ProgramBuilder::new(ring.clone());
    let key = builder.resident(shape).unwrap();
    builder.output(key);
    let reads = builder.finish();
    assert!(why(other.prepare(&reads, &loaded[..1])).contains("by another engine"));
    let routine = engine.prepare(&reads, &loaded[..1]).unwrap();
    assert!(why(other.run(&routine, &[])).contains("by another engine"));
    // The routine keeps what it reads.
    drop(loaded);
    let out = Bindings { inputs: Vec::new(), outputs: vec![buffer.place(0)] };
    engine.run(&routine, &[out]).unwrap();
    let mut words = [0; 8];
    engine.read(buffer.place(0), &mut words).unwrap();
    assert_eq!(words, [1; 8]);
    let narrow = Arc::new(RingShape::new(4, ring.primes.clone()));
    let error = why(engine.prepare(&doubled(&narrow), &[]));
    assert!(error.contains("degree 2^4 and 12 primes"), "{error}");
    let plan = PolyPlan { most_row_slots: 1, ..PolyPlan::default() };
    assert!(why(engine.prepare_by(&program, &[], &plan)).contains("1 row slots"));
}

#[test]
fn rings_and_devices_that_cannot_are_refused() {
    struct Nothing(DeviceInfo);
    impl Backend for Nothing {
        fn info(&self) -> &DeviceInfo {
            &self.0
        }
    }
    let limits = DeviceLimits {
        workgroup_memory_bytes: 0,
        workgroup_threads: 1,
        subgroup_threads: 1,
        binding_bytes: 0,
        multiprocessors: 1,
    };
    let name = "a device without families";
    let nothing = Nothing(DeviceInfo::new("nothing", name, DeviceKind::Cpu, limits));
    let error = why(PolyEngine::open(&nothing, ring(4)));
    assert!(error.contains("cannot run programs on polynomials"), "{error}");
    let good = ring(4);
    let with = |log2_degree, primes: &[u32]| {
        let modulus = |&p: &u32| girih_ring::Modulus::new(p).unwrap();
        Arc::new(RingShape::new(log2_degree, primes.iter().map(modulus).collect()))
    };
    // Primes of the second ring from the second prime on.
    let both = |log2_degree, primes: &[u32]| {
        Arc::new(RingShape { invariant_from: 1, ..(*with(log2_degree, primes)).clone() })
    };
    let p = good.primes[0].value();
    for (ring, reason) in [
        (both(16, &[998244353, 30539777]), "prime 30539777 is not 1 modulo 4N = 2^18"),
        (both(16, &[30539777, 998244353]), "cannot run programs on polynomials"),
        (both(4, &[p, p]), "cannot run programs on polynomials"),
        (both(4, &[998244353, p, p]), "occurs twice"),
        (both(4, &[]), "0 primes"),
        (
            Arc::new(RingShape { invariant_from: 3, ..(*with(4, &[p, 998244353])).clone() }),
            "primes of the conjugation-invariant ring from place 3 on, of 2",
        ),
        (with(4, &[p; 4097]), "4097 primes"),
        (with(4, &[p; 4096]), "occurs twice"),
        (with(18, &[p]), "degree 2^18"),
        (with(4, &[]), "0 primes"),
        (with(4, &[p, p]), "occurs twice"),
        (with(4, &[97]), "no prime between 2^19 and 2^31"),
        (with(17, &[998244353, 30539777, 1073479681, 37224449]), "is not 1 modulo 2N = 2^18"),
    ] {
        let error = why(PolyEngine::open(&nothing, ring));
        assert!(error.contains(reason), "{error}");
    }
    let none = HostPolynomials::default();
    let shape = ResidentShape { basis: Basis::new([good.primes.len() as u16]), log2_run: 0 };
    let beyond = HostPolynomials::new(&good, vec![(shape, vec![0; good.degree()])]).unwrap_err();
    let reason = format!("prime {0} of a ring of {0}", good.primes.len());
    assert!(beyond.to_string().contains(&reason), "{beyond}");
    assert!(engine(good).load(&none, &NoProgress).unwrap().is_empty());
}
