//! Programs on polynomials over several devices: the words are those of one, whatever is called in
//! whatever order, and a member that fails is named.

use girih_backend::poly::random::{Numbers, RandomProgram, random_program};
use girih_backend::poly::reference_device::ReferenceLoader;
use girih_backend::poly::{
    Bindings, Buffer, BufferId, Loader, Place, PolyDevice, PolyEngine, PolyPlan, ResidentId,
    ResidentSource, RingShape, RoutineId, Schedule, interpret,
};
use girih_backend::{Backend, BackendError, DeviceInfo, NoProgress, Progress, Result};
use girih_cpu::CpuBackend;
use girih_multi::MultiBackend;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A host device that counts its calls and fails when it is told to.
#[derive(Clone)]
struct Watched {
    info: DeviceInfo,
    calls: Arc<AtomicUsize>,
    failing: Arc<AtomicBool>,
}

impl Watched {
    fn new(name: &str) -> Self {
        let mut info = CpuBackend::new().info().clone();
        (info.id, info.name) = (name.into(), "a host".into());
        Self { info, calls: Arc::default(), failing: Arc::default() }
    }

    fn check(&self, what: &str) -> Result<()> {
        if self.failing.load(Ordering::SeqCst) {
            let (device, what) = (self.info.id.clone(), what.into());
            return Err(BackendError::DeviceFailed { device, what });
        }
        Ok(())
    }
}

impl Backend for Watched {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn poly(&self) -> Option<&dyn Loader> {
        Some(self)
    }
}

impl Loader for Watched {
    fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>> {
        let device = ReferenceLoader::default().open(ring)?;
        Ok(Box::new(WatchedDevice { device, of: self.clone() }))
    }

    fn plan(&self, _: &RingShape) -> PolyPlan {
        PolyPlan::default()
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(if self.info.id == "one" { 1000 } else { 2000 })
    }
}

struct WatchedDevice {
    device: Box<dyn PolyDevice>,
    of: Watched,
}

impl PolyDevice for WatchedDevice {
    fn ring(&self) -> &Arc<RingShape> {
        self.device.ring()
    }
    fn allocate(&self, limbs: usize) -> Result<BufferId> {
        self.device.allocate(limbs)
    }
    fn free(&self, buffer: BufferId) {
        self.device.free(buffer);
    }
    fn write(&self, to: Place, words: &[u32]) -> Result<()> {
        self.device.write(to, words)
    }
    fn read(&self, from: Place, words: &mut [u32]) -> Result<()> {
        self.device.read(from, words)
    }
    fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()> {
        self.device.copy(from, to, limbs)
    }
    fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<ResidentId>> {
        self.of.check("loading")?;
        self.device.load(source, progress)
    }
    fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<()> {
        self.device.rewrite(resident, words)
    }
    fn unload(&self, resident: ResidentId) {
        self.device.unload(resident);
    }
    fn prepare(&self, schedule: &Arc<Schedule>, residents: &[ResidentId]) -> Result<RoutineId> {
        self.of.check("preparing")?;
        self.device.prepare(schedule, residents)
    }
    fn forget(&self, routine: RoutineId) {
        self.device.forget(routine);
    }
    fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<()> {
        self.of.check("running")?;
        self.of.calls.fetch_add(calls.len(), Ordering::SeqCst);
        self.device.run(routine, calls)
    }
    fn trace(&self, routine: RoutineId, call: &Bindings) -> Result<Vec<Vec<u32>>> {
        self.device.trace(routine, call)
    }
    fn synchronize(&self) -> Result<()> {
        self.device.synchronize()
    }
    fn bytes_in_use(&self) -> u64 {
        self.device.bytes_in_use()
    }
}

fn together(members: &[Watched]) -> MultiBackend {
    let members = members.iter().map(|m| Arc::new(m.clone()) as Arc<dyn Backend>).collect();
    MultiBackend::new(members).expect("several")
}

/// Room for calls of a program on an engine, the inputs written.
struct Calls {
    bindings: Vec<Bindings>,
    inputs: Vec<Vec<Vec<u32>>>,
    _buffers: Vec<Buffer>,
}

fn calls(engine: &PolyEngine, random: &RandomProgram, count: usize) -> Calls {
    let (program, ring) = (&random.program, engine.ring());
    let mut numbers = Numbers::new(7);
    let (mut bindings, mut inputs, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        let mut call = Bindings::default();
        let mut of_call = Vec::new();
        for of in program.inputs() {
            // Not at the beginning of its buffer.
            let buffer = engine.allocate(of.basis.len() + 1).expect("room");
            let words = numbers.limbs(ring, &of.basis, ring.degree());
            engine.write(buffer.place(1), &of.basis, &words).expect("canonical words");
            call.inputs.push(buffer.place(1));
            of_call.push(words);
            buffers.push(buffer);
        }
        for &value in program.outputs() {
            let buffer = engine.allocate(program.type_of(value).basis.len()).expect("room");
            call.outputs.push(buffer.place(0));
            buffers.push(buffer);
        }
        bindings.push(call);
        inputs.push(of_call);
    }
    Calls { bindings, inputs, _buffers: buffers }
}

fn read(engine: &PolyEngine, random: &RandomProgram, call: &Bindings) -> Vec<Vec<u32>> {
    let one = |(&value, &place): (_, &Place)| {
        let limbs = random.program.type_of(value).basis.len();
        let mut words = vec![0; limbs * engine.ring().degree()];
        engine.read(place, &mut words).expect("it was written");
        words
    };
    random.program.outputs().iter().zip(&call.outputs).map(one).collect()
}

fn wanted(random: &RandomProgram, inputs: &[Vec<u32>]) -> Vec<Vec<u32>> {
    interpret(&random.program, &random.residents, inputs, &[]).expect("in order").outputs
}

#[test]
fn calls_are_divided_and_their_words_are_those_of_one_device() {
    for seed in 0..4 {
        let members = ["one", "two", "three"].map(Watched::new);
        let random = random_program(5, 8, seed);
        let engine = PolyEngine::open(&together(&members), random.program.ring().clone());
        let engine = engine.expect("the members open it");
        let loaded = engine.load(&random.residents, &NoProgress).expect("room");
        let routine = engine.prepare(&random.program, &loaded).expect("in order");
        let calls = calls(&engine, &random, 7);
        for order in [&[0, 1, 2, 3, 4, 5, 6][..], &[3], &[6, 0], &[5, 4, 3, 2, 1, 0, 6]] {
            let some: Vec<Bindings> = order.iter().map(|&i| calls.bindings[i].clone()).collect();
            engine.run(&routine, &some).expect("it runs");
            for &i in order {
                let found = read(&engine, &random, &calls.bindings[i]);
                assert_eq!(found, wanted(&random, &calls.inputs[i]), "seed {seed}, call {i}");
            }
        }
        let counts = members.each_ref().map(|m| m.calls.load(Ordering::SeqCst));
        assert_eq!(counts.iter().sum::<usize>(), 17);
        assert!(counts.iter().all(|&count| count >= 4), "{counts:?}");
        // Traces come from the member that has the operands.
        let keep = &random.keep;
        let kept = engine.trace(&random.program, &loaded, &calls.bindings[6], keep);
        let inputs = &calls.inputs[6];
        let right = interpret(&random.program, &random.residents, inputs, keep).expect("in order");
        assert_eq!(kept.expect("it runs"), right.kept, "seed {seed}");
        engine.synchronize().expect("nothing failed");
        let before = engine.bytes_in_use();
        drop((routine, loaded, calls));
        assert!(engine.bytes_in_use() < before && engine.bytes_in_use() == 0);
    }
}

#[test]
fn copies_and_results_of_one_call_feed_the_next() {
    let members = ["one", "two"].map(Watched::new);
    let random = random_program(4, 6, 2);
    let engine = PolyEngine::open(&together(&members), random.program.ring().clone());
    let engine = engine.expect("the members open it");
    let degree = engine.ring().degree();
    let basis = engine.ring().basis(0..4);
    let mut numbers = Numbers::new(3);
    let words = numbers.limbs(engine.ring(), &basis, degree);
    let buffer = engine.allocate(12).expect("room");
    engine.write(buffer.place(0), &basis, &words).expect("canonical");
    engine.copy(buffer.place(1), buffer.place(6), 3).expect("inside");
    let mut found = vec![0; 3 * degree];
    engine.read(buffer.place(6), &mut found).expect("inside");
    assert_eq!(found, words[degree..]);
    let loaded = engine.load(&random.residents, &NoProgress).expect("room");
    let routine = engine.prepare(&random.program, &loaded).expect("in order");
    let calls = calls(&engine, &random, 2);
    engine.run(&routine, &calls.bindings).expect("it runs");
    // What the members computed, copied where it lies.
    for (call, inputs) in calls.bindings.iter().zip(&calls.inputs) {
        let (place, right) = (call.outputs[0], wanted(&random, inputs).swap_remove(0));
        let limbs = right.len() / degree;
        let copy = engine.allocate(limbs).expect("room");
        engine.copy(place, copy.place(0), limbs).expect("inside");
        let mut found = vec![0; right.len()];
        engine.read(copy.place(0), &mut found).expect("inside");
        assert_eq!(found, right);
    }
}

#[test]
fn a_member_that_fails_is_named_and_leaves_nothing_behind() {
    let members = ["one", "two"].map(Watched::new);
    let several = together(&members);
    assert_eq!(several.poly().and_then(Loader::memory_bytes), Some(1000));
    let random = random_program(4, 6, 1);
    let engine = PolyEngine::open(&several, random.program.ring().clone()).expect("opens");
    let failing = |fails| members[1].failing.store(fails, Ordering::SeqCst);
    let named = |error: BackendError, what: &str| {
        let error = error.to_string();
        assert!(error.contains("two failed") && error.contains(what), "{error}");
    };
    failing(true);
    named(engine.load(&random.residents, &NoProgress).expect_err("it fails"), "loading");
    assert_eq!(engine.bytes_in_use(), 0);
    failing(false);
    let loaded = engine.load(&random.residents, &NoProgress).expect("room");
    failing(true);
    named(engine.prepare(&random.program, &loaded).expect_err("it fails"), "preparing");
    failing(false);
    let routine = engine.prepare(&random.program, &loaded).expect("in order");
    let calls = calls(&engine, &random, 4);
    failing(true);
    named(engine.run(&routine, &calls.bindings).expect_err("it fails"), "running");
    failing(false);
    engine.run(&routine, &calls.bindings).expect("it runs again");
    for (call, inputs) in calls.bindings.iter().zip(&calls.inputs) {
        assert_eq!(read(&engine, &random, call), wanted(&random, inputs));
    }
}

#[test]
fn progress_names_the_device() {
    struct Heard(Mutex<Vec<String>>);
    impl Progress for Heard {
        fn report(&self, what: &str, _: usize, _: usize) {
            self.0.lock().expect("no panic").push(what.into());
        }
    }
    let random = (0..).map(|seed| random_program(4, 6, seed));
    let mut random = random.filter(|r| !r.program.residents().is_empty());
    let random = random.next().expect("most have some");
    let members = ["one", "two"].map(Watched::new);
    let engine = PolyEngine::open(&together(&members), random.program.ring().clone());
    let heard = Heard(Mutex::default());
    engine.expect("opens").load(&random.residents, &heard).expect("room");
    let heard = heard.0.into_inner().expect("no panic");
    for name in ["one: ", "two: "] {
        assert!(heard.iter().any(|what| what.starts_with(name)), "{heard:?}");
    }
}

/// Members of other names are timed.
#[test]
fn unlike_members_compute_the_same() {
    let members: Vec<Arc<dyn Backend>> =
        vec![Arc::new(CpuBackend::new()), Arc::new(Watched::new("a slow one"))];
    let several = MultiBackend::new(members).expect("several");
    let random = random_program(5, 6, 3);
    let engine = PolyEngine::open(&several, random.program.ring().clone()).expect("opens");
    let loaded = engine.load(&random.residents, &NoProgress).expect("room");
    let routine = engine.prepare(&random.program, &loaded).expect("in order");
    let calls = calls(&engine, &random, 3);
    engine.run(&routine, &calls.bindings).expect("it runs");
    for (call, inputs) in calls.bindings.iter().zip(&calls.inputs) {
        assert_eq!(read(&engine, &random, call), wanted(&random, inputs));
    }
}
