//! Checks and times the poly kernels on a GPU, with nothing beside this one program.
//!
//! ```text
//! poly_check [--device cuda:0] [--check] [--time] [--knobs] [--random N] [--sources FOLDER]
//!            [--compile 90]
//! ```
//!
//! `--check` compares every word of switches between bases and of random programs with the
//! interpreter on the host; `--time` times them; without either, both. `--knobs` times one case
//! under other plans. `--sources` writes the texts of the kernels instead, for a compiler without a
//! GPU; `--compile` has NVRTC compile them for a compute capability.

use girih_backend::poly::random::{Numbers, RandomProgram, random_program};
use girih_backend::poly::{
    Basis, Bindings, Domain, Factor, HostPolynomials, Loader, Place, PolyDevice, PolyPlan, Program,
    ProgramBuilder, ResidentShape, RingShape, Term, Value, interpret, lower,
};
use girih_backend::{Backend, BackendError, NoProgress, timeline};
use girih_cuda::{CudaBackend, PolyKnobs, compile, limits_of, poly_kernel_sources};
use girih_ring::{Modulus, is_prime};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// A pair of polynomials.
#[derive(Clone, Copy)]
struct Pair(Value, Value);

/// Records switches over a ring whose last twelve primes are divided away after products.
struct Recorder {
    ring: Arc<RingShape>,
    builder: ProgramBuilder,
    special: Basis,
    keys: HashMap<(usize, u16, usize), Value>,
    shapes: Vec<ResidentShape>,
    inputs: Vec<Basis>,
}

const SPECIAL: usize = 12;
const MAINS: usize = 47;

/// Primes that are 1 modulo 2^17, downwards from `below`.
fn primes_below(below: u64) -> impl Iterator<Item = Modulus> {
    let first = (below - 2) >> 17;
    (1..=first)
        .rev()
        .map(|k| (k << 17) + 1)
        .filter(|&p| is_prime(p))
        .filter_map(|p| Modulus::new(p as u32))
}

/// 47 primes and 12 special ones; narrow ones lie below 2^30, of the others the special ones and
/// each fourth do not.
fn ring(narrow: bool) -> Arc<RingShape> {
    let mut low = primes_below(1 << 30);
    let mut high = primes_below(1 << 31);
    let mut take = |is_high: bool| if is_high { high.next() } else { low.next() };
    let primes =
        (0..MAINS + SPECIAL).filter_map(|i| take(!narrow && (i >= MAINS || i % 4 == 3))).collect();
    Arc::new(RingShape { log2_degree: 16, primes })
}

impl Recorder {
    fn new(ring: &Arc<RingShape>) -> Self {
        Self {
            ring: ring.clone(),
            builder: ProgramBuilder::new(ring.clone()),
            special: ring.basis(MAINS..MAINS + SPECIAL),
            keys: HashMap::new(),
            shapes: Vec::new(),
            inputs: Vec::new(),
        }
    }

    fn modulus(&self, prime: u16) -> Modulus {
        self.ring.primes[usize::from(prime)]
    }

    fn basis(&self, value: Value) -> Basis {
        self.builder.basis(value).clone()
    }

    fn pair(&mut self, limbs: usize) -> Result<Pair, Failure> {
        let basis = self.ring.basis(0..limbs);
        let mut one = || {
            self.inputs.push(basis.clone());
            self.builder.input(basis.clone(), Domain::Evaluations)
        };
        Ok(Pair(one()?, one()?))
    }

    fn product_of(&self, primes: &Basis, modulus: Modulus) -> u32 {
        primes
            .primes()
            .iter()
            .fold(1, |product, &p| modulus.mul(product, self.modulus(p).value() % modulus.value()))
    }

    fn number(&self, basis: &Basis, number: impl Fn(Modulus) -> u32) -> Factor {
        Factor::Residues(basis.primes().iter().map(|&p| [number(self.modulus(p)); 2]).collect())
    }

    fn key(&mut self, key: usize, first: u16, part: usize, basis: Basis) -> Result<Value, Failure> {
        let of = (key, first, part);
        let value = match self.keys.get(&of) {
            Some(&known) => known,
            None => {
                let shape =
                    ResidentShape { basis: self.ring.basis(0..MAINS + SPECIAL), log2_run: 0 };
                self.shapes.push(shape.clone());
                let value = self.builder.resident(shape)?;
                self.keys.insert(of, value);
                value
            }
        };
        Ok(self.builder.limbs(value, basis)?)
    }

    fn raise(&mut self, x: Value) -> Result<Vec<(u16, Value)>, Failure> {
        let basis = self.basis(x);
        let whole = basis.union(&self.special);
        let digits: Vec<Basis> = basis
            .primes()
            .chunks(SPECIAL)
            .map(|primes| Basis::new(primes.iter().copied()))
            .collect();
        let mut raised = Vec::new();
        for digit in digits {
            let own = self.builder.limbs(x, digit.clone())?;
            let coefficients = self.builder.transform(own, Domain::Coefficients);
            let lifted = self.builder.convert(coefficients, whole.difference(&digit), false)?;
            let lifted = self.builder.transform(lifted, Domain::Evaluations);
            raised.push((digit.primes()[0], self.builder.join(&[own, lifted])?));
        }
        Ok(raised)
    }

    fn key_product(&mut self, digits: &[(u16, Value)], key: usize) -> Result<Pair, Failure> {
        let mut parts = Vec::new();
        for part in 0..2 {
            let mut terms = Vec::new();
            for &(first, digit) in digits {
                let key = self.key(key, first, part, self.basis(digit))?;
                terms.push(Term::product(digit, key));
            }
            parts.push(self.builder.sum(terms)?);
        }
        Ok(Pair(parts[0], parts[1]))
    }

    /// round(x / S) on the primes of `to`, S those that x has besides.
    fn divide(&mut self, x: Value, to: &Basis) -> Result<Value, Failure> {
        let dropped = self.basis(x).difference(to);
        let rest = self.builder.limbs(x, dropped.clone())?;
        let rest = self.builder.transform(rest, Domain::Coefficients);
        let rest = self.builder.convert(rest, to.clone(), true)?;
        let rest = self.builder.transform(rest, Domain::Evaluations);
        let kept = self.builder.limbs(x, to.clone())?;
        let inverse = |m: Modulus| m.inverse(self.product_of(&dropped, m));
        let plus = self.number(to, inverse);
        let minus = self.number(to, |m| m.neg(inverse(m)));
        Ok(self.builder.sum(vec![Term::scaled(plus, kept), Term::scaled(minus, rest)])?)
    }

    fn add_lifted(&mut self, x: Value, y: Value) -> Result<Value, Failure> {
        let basis = self.basis(y);
        let special = self.special.clone();
        let p = self.number(&basis, |m| self.product_of(&special, m));
        let low = self.builder.limbs(x, basis)?;
        let low = self.builder.sum(vec![Term::plus(low), Term::scaled(p, y)])?;
        let high = self.builder.limbs(x, special)?;
        Ok(self.builder.join(&[low, high])?)
    }

    fn divide_pair(&mut self, x: Pair, to: &Basis) -> Result<Pair, Failure> {
        Ok(Pair(self.divide(x.0, to)?, self.divide(x.1, to)?))
    }

    fn rotate(&mut self, x: Pair, key: usize, g: u32) -> Result<Pair, Failure> {
        let digits = self.raise(x.1)?;
        let Pair(kb, ka) = self.key_product(&digits, key)?;
        let kb = self.add_lifted(kb, x.0)?;
        let turned = Pair(self.builder.automorphism(kb, g)?, self.builder.automorphism(ka, g)?);
        let to = self.basis(x.0);
        self.divide_pair(turned, &to)
    }

    fn multiply(&mut self, x: Pair, y: Pair, drop: usize) -> Result<Pair, Failure> {
        let mut sum = |terms| self.builder.sum(terms);
        let d0 = sum(vec![Term::product(x.0, y.0)])?;
        let d1 = sum(vec![Term::product(x.0, y.1), Term::product(x.1, y.0)])?;
        let d2 = sum(vec![Term::product(x.1, y.1)])?;
        let digits = self.raise(d2)?;
        let Pair(kb, ka) = self.key_product(&digits, 0)?;
        let whole = Pair(self.add_lifted(kb, d0)?, self.add_lifted(ka, d1)?);
        let basis = self.basis(x.0);
        let to = self.ring.basis(0..basis.len() - drop);
        self.divide_pair(whole, &to)
    }

    fn finish(mut self, result: Pair) -> (Program, Vec<ResidentShape>, Vec<Basis>) {
        self.builder.output(result.0);
        self.builder.output(result.1);
        (self.builder.finish(), self.shapes, self.inputs)
    }
}

/// A program of a name.
struct Case {
    name: String,
    program: Program,
    residents: Vec<ResidentShape>,
    inputs: Vec<Basis>,
}

fn cases(ring: &Arc<RingShape>, limbs: &[usize]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    let mut case = |name: String, recorded: (Program, Vec<ResidentShape>, Vec<Basis>)| {
        let (program, residents, inputs) = recorded;
        cases.push(Case { name, program, residents, inputs });
    };
    for &limbs in limbs {
        let mut r = Recorder::new(ring);
        let x = r.pair(limbs)?;
        let y = r.rotate(x, 1, 5)?;
        case(format!("rotation, {limbs} limbs"), r.finish(y));
        let mut r = Recorder::new(ring);
        let (x, y) = (r.pair(limbs)?, r.pair(limbs)?);
        let z = r.multiply(x, y, 2)?;
        case(format!("product and division by two limbs, {limbs} limbs"), r.finish(z));
        let mut r = Recorder::new(ring);
        let x = r.pair(limbs)?;
        let z = r.divide_pair(x, &ring.basis(0..limbs - 2))?;
        case(format!("division by two limbs, {limbs} limbs"), r.finish(z));
    }
    Ok(cases)
}

/// A program on a device with everything that it reads.
struct Loaded {
    inputs: Vec<Vec<u32>>,
    host: HostPolynomials,
    routine: u64,
    calls: Vec<Bindings>,
}

fn load(
    device: &dyn PolyDevice,
    case: &Case,
    plan: &PolyPlan,
    calls: usize,
) -> Result<Loaded, Failure> {
    let ring = case.program.ring();
    let degree = ring.degree();
    let mut numbers = Numbers::new(1);
    let polynomial = |s: &ResidentShape, n: &mut Numbers| {
        (s.clone(), n.limbs(ring, &s.basis, degree >> s.log2_run))
    };
    let host = HostPolynomials::new(
        ring,
        case.residents.iter().map(|s| polynomial(s, &mut numbers)).collect(),
    )?;
    let residents = device.load(&host, &NoProgress)?;
    let inputs: Vec<Vec<u32>> =
        case.inputs.iter().map(|b| numbers.limbs(ring, b, degree)).collect();
    let schedule = Arc::new(lower(&case.program, plan, &[])?);
    let before = Instant::now();
    let routine = device.prepare(&schedule, &residents)?;
    let kernels: Vec<&str> = schedule.launches.iter().map(|l| l.kernel()).collect();
    println!(
        "{}: {} launches ({}), prepared in {:.1} s",
        case.name,
        kernels.len(),
        kernels.join(" "),
        before.elapsed().as_secs_f64()
    );
    let bound = bind(device, &case.program, &inputs, calls)?;
    Ok(Loaded { inputs, host, routine, calls: bound })
}

fn bind(
    device: &dyn PolyDevice,
    program: &Program,
    inputs: &[Vec<u32>],
    calls: usize,
) -> Result<Vec<Bindings>, BackendError> {
    let degree = program.ring().degree();
    let place = |limbs| Ok::<_, BackendError>(Place { buffer: device.allocate(limbs)?, first: 0 });
    let mut all = Vec::new();
    for _ in 0..calls {
        let mut call = Bindings::default();
        for words in inputs {
            let to = place(words.len() / degree)?;
            device.write(to, words)?;
            call.inputs.push(to);
        }
        for &value in program.outputs() {
            call.outputs.push(place(program.type_of(value).basis.len())?);
        }
        all.push(call);
    }
    Ok(all)
}

fn check(
    device: &dyn PolyDevice,
    program: &Program,
    host: &HostPolynomials,
    loaded: &Loaded,
    name: &str,
) -> Result<usize, Failure> {
    let wanted = interpret(program, host, &loaded.inputs, &[])?;
    device.run(loaded.routine, &loaded.calls)?;
    let mut wrong = 0;
    for call in &loaded.calls {
        for (place, wanted) in call.outputs.iter().zip(&wanted.outputs) {
            let mut words = vec![0; wanted.len()];
            device.read(*place, &mut words)?;
            wrong += words.iter().zip(wanted).filter(|(a, b)| a != b).count();
        }
    }
    let all: usize = wanted.outputs.iter().map(Vec::len).sum::<usize>() * loaded.calls.len();
    println!("  {name}: {wrong} wrong words of {all}");
    Ok(wrong)
}

/// Medians of replays, and of each launch alone.
fn time(device: &dyn PolyDevice, loaded: &Loaded, name: &str) -> Result<(), Failure> {
    const REPEATS: usize = 200;
    let calls = loaded.calls.len();
    device.run(loaded.routine, &loaded.calls)?;
    device.synchronize()?;
    let mut all = Vec::new();
    for _ in 0..7 {
        let before = Instant::now();
        for _ in 0..REPEATS {
            device.run(loaded.routine, &loaded.calls)?;
        }
        device.synchronize()?;
        all.push(before.elapsed().as_secs_f64() * 1e6 / REPEATS as f64);
    }
    all.sort_by(f64::total_cmp);
    println!(
        "  {name}: {:.1} us a replay of {calls} calls ({:.1} to {:.1})",
        all[3], all[0], all[6]
    );
    Ok(())
}

/// Each launch by itself; launches are not recorded while the timeline is on.
fn time_launches(device: &dyn PolyDevice, loaded: &Loaded) -> Result<(), Failure> {
    const REPEATS: usize = 20;
    timeline::start();
    let ran = (0..REPEATS).try_for_each(|_| device.run(loaded.routine, &loaded.calls));
    let synchronized = device.synchronize();
    let spans = timeline::stop();
    ran?;
    synchronized?;
    let spans: Vec<_> = spans.into_iter().filter(|s| s.what.contains("blocks")).collect();
    let launches = spans.len() / REPEATS;
    let mut medians: BTreeMap<usize, (String, Vec<f64>)> = BTreeMap::new();
    for (i, span) in spans.iter().enumerate() {
        medians
            .entry(i % launches.max(1))
            .or_insert_with(|| (span.what.clone(), Vec::new()))
            .1
            .push((span.end_ms - span.start_ms) * 1e3);
    }
    for (what, mut times) in medians.into_values() {
        times.sort_by(f64::total_cmp);
        println!("    {:>8.1} us  {what}", times[times.len() / 2]);
    }
    Ok(())
}

fn random(device_of: &dyn Loader, count: u64) -> Result<usize, Failure> {
    let mut wrong = 0;
    for log2_degree in [4, 8, 10, 11, 13, 14, 15, 16, 17] {
        for seed in 0..count {
            let RandomProgram { program, residents, inputs, .. } =
                random_program(log2_degree, 8, seed);
            let device = device_of.open(program.ring().clone())?;
            let loaded_residents = device.load(&residents, &NoProgress)?;
            let plan = PolyPlan { fuse: seed % 4 != 3, ..device_of.plan(program.ring()) };
            let routine =
                device.prepare(&Arc::new(lower(&program, &plan, &[])?), &loaded_residents)?;
            let calls = bind(device.as_ref(), &program, &inputs, 2)?;
            let loaded = Loaded { inputs, host: residents, routine, calls };
            wrong += check(
                device.as_ref(),
                &program,
                &loaded.host,
                &loaded,
                &format!("random, 2^{log2_degree}, seed {seed}"),
            )?;
        }
    }
    Ok(wrong)
}

fn write_sources(folder: &str) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for narrow in [true, false] {
        let ring = ring(narrow);
        for case in cases(&ring, &[47, 23, 10])? {
            let schedule = lower(&case.program, &PolyPlan::default(), &[])?;
            for (i, (source, shared)) in
                poly_kernel_sources(&ring, &limits_of(90), &schedule, &case.residents)?
                    .into_iter()
                    .enumerate()
            {
                let name = format!(
                    "{}-{i}-{}-{shared}",
                    case.name.replace([' ', ','], "_"),
                    if narrow { "narrow" } else { "wide" }
                );
                let folder = format!("{folder}/{name}");
                std::fs::create_dir_all(&folder)?;
                for (header, text) in source.file.headers {
                    std::fs::write(format!("{folder}/{header}"), text)?;
                }
                std::fs::write(format!("{folder}/constants.cuh"), &source.constants)?;
                std::fs::write(format!("{folder}/{}.cu", source.file.name), source.file.text)?;
            }
        }
    }
    Ok(())
}

/// One case, timed by launch, under other numbers of the plan.
fn time_knobs(backend: &mut CudaBackend) -> Result<(), Failure> {
    let own = PolyKnobs::default();
    let all = [
        own,
        PolyKnobs { most_fetched: 8, ..own },
        PolyKnobs { most_fetched: 4, ..own },
        PolyKnobs { most_fetched: 0, ..own },
        PolyKnobs { stages_rows: false, ..own },
        PolyKnobs { team_warps: 12, ..own },
        PolyKnobs { team_warps: 20, ..own },
        PolyKnobs { lone_warps: 16, ..own },
        PolyKnobs { lone_warps: 24, ..own },
        PolyKnobs { column_blocks: 1, ..own },
    ];
    let ring = ring(true);
    for knobs in all {
        println!("{knobs:?}");
        backend.set_poly_knobs(knobs);
        let device = Loader::open(backend, ring.clone())?;
        for case in cases(&ring, &[47])?.iter().take(1) {
            let loaded = load(device.as_ref(), case, &backend.plan(&ring), 1)?;
            time(device.as_ref(), &loaded, &case.name)?;
            time_launches(device.as_ref(), &loaded)?;
        }
    }
    backend.set_poly_knobs(own);
    Ok(())
}

/// Every kernel of the cases, compiled by NVRTC.
fn compile_all(capability: u32) -> Result<(), Failure> {
    for narrow in [true, false] {
        let ring = ring(narrow);
        for case in cases(&ring, &[47, 23, 10])? {
            let schedule = lower(&case.program, &PolyPlan::default(), &[])?;
            for (source, _) in
                poly_kernel_sources(&ring, &limits_of(capability), &schedule, &case.residents)?
            {
                let before = Instant::now();
                let cubin = compile(&source, capability)?;
                println!(
                    "{}, {}: {} bytes in {:.1} s",
                    case.name,
                    source.file.name,
                    cubin.len(),
                    before.elapsed().as_secs_f64()
                );
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let (mut name, mut wants_check, mut wants_time, mut count) =
        (String::from("cuda:0"), false, false, 3);
    let mut wants_knobs = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--device" => name = value()?,
            "--random" => count = value()?.parse()?,
            "--sources" => return write_sources(&value()?),
            "--compile" => return compile_all(value()?.parse()?),
            "--check" => wants_check = true,
            "--time" => wants_time = true,
            "--knobs" => wants_knobs = true,
            other => {
                return Err(format!(
                    "unknown argument {other}: there are --device, --check, --time, \
                             --random, --sources and --compile"
                )
                .into());
            }
        }
    }
    let both = !wants_check && !wants_time;
    let mut backend = CudaBackend::open(&name)?;
    println!("{}, {}", backend.info().name, backend.info().notes.join(", "));
    if wants_knobs {
        return time_knobs(&mut backend);
    }
    let mut wrong = 0;
    for narrow in [true, false] {
        println!(
            "{}",
            if narrow { "primes below 2^30" } else { "special primes and each fourth above 2^30" }
        );
        let ring = ring(narrow);
        let device = Loader::open(&backend, ring.clone())?;
        let plan = backend.plan(&ring);
        for case in cases(&ring, &[47, 23, 10])? {
            let loaded = load(device.as_ref(), &case, &plan, 1)?;
            if wants_check || both {
                wrong += check(device.as_ref(), &case.program, &loaded.host, &loaded, &case.name)?;
            }
            if wants_time || both {
                time(device.as_ref(), &loaded, &case.name)?;
                time_launches(device.as_ref(), &loaded)?;
                if case.name.contains("10") {
                    let calls = bind(device.as_ref(), &case.program, &loaded.inputs, 4)?;
                    time(device.as_ref(), &Loaded { calls, ..loaded }, &case.name)?;
                }
            }
        }
        println!("{} bytes in use", device.bytes_in_use());
    }
    if wants_check || both {
        wrong += random(&backend, count)?;
        println!("{wrong} wrong words in all");
    }
    if wrong == 0 { Ok(()) } else { Err("wrong words".into()) }
}
