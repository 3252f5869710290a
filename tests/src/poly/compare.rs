//! A device against the interpreter, which runs a program operation by operation on the host.

use super::Work;
use girih_backend::poly::{
    Bindings, Buffer, Interpreted, PolyEngine, PolyPlan, Program, Value, interpret,
};
use girih_backend::{Backend, BackendError, NoProgress};

/// One line for each thing that differs; empty where all words agree.
pub type Differences = Vec<String>;

/// Values that are compared at once when the first wrong one is searched for.
const TRACED_AT_ONCE: usize = 64;

/// What one run of `work` yields on the device of `engine`, by slot of the output,
/// lowered by `plan`.
///
/// # Errors
/// For work that is not in order, and failures of the device.
pub fn run(
    engine: &PolyEngine,
    work: &Work,
    plan: &PolyPlan,
) -> Result<Vec<Vec<u32>>, BackendError> {
    let residents = engine.load(&work.residents, &NoProgress)?;
    let routine = engine.prepare_by(&work.program, &residents, plan)?;
    let (call, _buffers) = bind(engine, work)?;
    let degree = engine.ring().degree();
    let outputs = || {
        engine.run(&routine, std::slice::from_ref(&call))?;
        let outputs = work.program.outputs().iter().zip(&call.outputs).map(|(&value, &place)| {
            let mut words = vec![0; work.program.type_of(value).basis.len() * degree];
            engine.read(place, &mut words).map(|()| words)
        });
        outputs.collect::<Result<Vec<_>, BackendError>>()
    };
    let first = outputs()?;
    // A device that began with kernels for any program has those of this one now.
    if engine.settle()? > 0 && outputs()? != first {
        return Err(BackendError::DeviceFailed {
            device: "the device".into(),
            what: format!("{}: words change with the kernels", work.name),
        });
    }
    Ok(first)
}

/// Room for outputs, and the inputs on the device.
fn bind(engine: &PolyEngine, work: &Work) -> Result<(Bindings, Vec<Buffer>), BackendError> {
    let (mut call, mut buffers) = (Bindings::default(), Vec::new());
    if work.inputs.len() != work.program.inputs().len() {
        let (have, want) = (work.inputs.len(), work.program.inputs().len());
        let why = format!("{}: {have} inputs for a program of {want}", work.name);
        return Err(BackendError::InvalidRequest(why));
    }
    for (words, of) in work.inputs.iter().zip(work.program.inputs()) {
        let buffer = engine.allocate(of.basis.len())?;
        engine.write(buffer.place(0), &of.basis, words)?;
        call.inputs.push(buffer.place(0));
        buffers.push(buffer);
    }
    for &value in work.program.outputs() {
        let buffer = engine.allocate(work.program.type_of(value).basis.len())?;
        call.outputs.push(buffer.place(0));
        buffers.push(buffer);
    }
    Ok((call, buffers))
}

/// How plans of a device are chosen for a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plans {
    /// The device's own.
    Own,
    /// Also the smallest tiles, and each operation by itself.
    All,
}

impl Plans {
    fn of(self, engine: &PolyEngine) -> Vec<PolyPlan> {
        let own = *engine.plan();
        match self {
            Self::Own => vec![own],
            Self::All => {
                let small = PolyPlan { most_row_slots: 2, most_column_sums: 1, ..own };
                vec![own, small, PolyPlan { fuse: false, ..own }]
            }
        }
    }
}

/// `work` on `device`, compared with the interpreter word by word. Where they differ, the first
/// value of the program that does is found by a trace and named.
///
/// # Errors
/// As [`run`].
pub fn against_interpreter(
    device: &dyn Backend,
    work: &Work,
    plans: Plans,
) -> Result<Differences, BackendError> {
    let engine = PolyEngine::open(device, work.program.ring().clone())?;
    let Interpreted { outputs: want, .. } =
        interpret(&work.program, &work.residents, &work.inputs, &[])?;
    let mut differences = Vec::new();
    for plan in plans.of(&engine) {
        let have = run(&engine, work, &plan)?;
        for (slot, (have, want)) in have.iter().zip(&want).enumerate() {
            if let Some(what) =
                first_difference(&engine, work.program.outputs()[slot], work, have, want)
            {
                differences.push(format!("{}, output {slot} by {plan:?}: {what}", work.name));
            }
        }
    }
    if !differences.is_empty() {
        differences.push(match first_wrong_value(&engine, work)? {
            Some(what) => format!("{}: the first value that differs is {what}", work.name),
            None => format!("{}: a trace that keeps every value is right", work.name),
        });
    }
    Ok(differences)
}

/// Where two polynomials first differ: limb, prime, word.
fn first_difference(
    engine: &PolyEngine,
    value: Value,
    work: &Work,
    have: &[u32],
    want: &[u32],
) -> Option<String> {
    let differs = have.iter().zip(want).position(|(x, y)| x != y);
    let at = differs.or((have.len() != want.len()).then_some(have.len().min(want.len())))?;
    let degree = engine.ring().degree();
    let number = work.program.type_of(value).basis.primes().get(at / degree).copied();
    let prime = number.map_or(0, |n| engine.ring().primes[usize::from(n)].value());
    let wrong = have.iter().zip(want).filter(|(x, y)| x != y).count();
    let [have, want] = [have, want].map(|words| words.get(at).copied());
    Some(format!(
        "{wrong} words differ, first word {} of limb {} modulo {prime}: {have:?} instead of \
         {want:?}",
        at % degree,
        at / degree
    ))
}

/// The first value, in the order of the program, that the device computes otherwise.
fn first_wrong_value(engine: &PolyEngine, work: &Work) -> Result<Option<String>, BackendError> {
    let residents = engine.load(&work.residents, &NoProgress)?;
    let (call, _buffers) = bind(engine, work)?;
    for values in values(&work.program).chunks(TRACED_AT_ONCE) {
        let want = interpret(&work.program, &work.residents, &work.inputs, values)?.kept;
        let have = engine.trace(&work.program, &residents, &call, values)?;
        for ((&value, have), want) in values.iter().zip(&have).zip(&want) {
            if let Some(what) = first_difference(engine, value, work, have, want) {
                let op = short(&work.program, value);
                return Ok(Some(format!("number {} ({op}): {what}", value.index())));
            }
        }
    }
    Ok(None)
}

/// Values that an operation computes: not inputs, resident polynomials and views of others.
fn values(program: &Program) -> Vec<Value> {
    use girih_backend::poly::Op;
    let computes = |value: &Value| {
        !matches!(program.ops()[value.index()], Op::Input(_) | Op::Resident(_) | Op::Output(..))
    };
    (0..program.ops().len()).filter_map(|i| program.value(i)).filter(computes).collect()
}

/// The kind of an operation, without its constants.
fn short(program: &Program, value: Value) -> String {
    let whole = format!("{:?}", program.ops()[value.index()]);
    whole.split(['(', '{']).next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::kernels;
    use girih_backend::poly::reference_device::ReferenceLoader;
    use girih_backend::poly::{
        BufferId, Loader, Place, PolyDevice, ResidentId, ResidentSource, RingShape, RoutineId,
        Schedule,
    };
    use girih_backend::{DeviceInfo, Progress};
    use std::sync::Arc;

    /// A device whose reads turn one bit over: what a comparison must find.
    struct Faulty(DeviceInfo);
    struct FaultyDevice(Box<dyn PolyDevice>);

    impl Backend for Faulty {
        fn info(&self) -> &DeviceInfo {
            &self.0
        }
        fn poly(&self) -> Option<&dyn Loader> {
            Some(self)
        }
    }

    impl Loader for Faulty {
        fn open(&self, ring: Arc<RingShape>) -> Result<Box<dyn PolyDevice>, BackendError> {
            Ok(Box::new(FaultyDevice(ReferenceLoader::default().open(ring)?)))
        }
        fn plan(&self, ring: &RingShape) -> PolyPlan {
            ReferenceLoader::default().plan(ring)
        }
    }

    impl PolyDevice for FaultyDevice {
        fn ring(&self) -> &Arc<RingShape> {
            self.0.ring()
        }
        fn allocate(&self, limbs: usize) -> Result<BufferId, BackendError> {
            self.0.allocate(limbs)
        }
        fn free(&self, buffer: BufferId) {
            self.0.free(buffer);
        }
        fn write(&self, to: Place, words: &[u32]) -> Result<(), BackendError> {
            self.0.write(to, words)
        }
        fn read(&self, from: Place, words: &mut [u32]) -> Result<(), BackendError> {
            self.0.read(from, words)?;
            words[7] ^= 1;
            Ok(())
        }
        fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<(), BackendError> {
            self.0.copy(from, to, limbs)
        }
        fn load(
            &self,
            source: &dyn ResidentSource,
            progress: &dyn Progress,
        ) -> Result<Vec<ResidentId>, BackendError> {
            self.0.load(source, progress)
        }
        fn rewrite(&self, resident: ResidentId, words: &[u32]) -> Result<(), BackendError> {
            self.0.rewrite(resident, words)
        }
        fn unload(&self, resident: ResidentId) {
            self.0.unload(resident);
        }
        fn prepare(
            &self,
            schedule: &Arc<Schedule>,
            residents: &[ResidentId],
        ) -> Result<RoutineId, BackendError> {
            self.0.prepare(schedule, residents)
        }
        fn forget(&self, routine: RoutineId) {
            self.0.forget(routine);
        }
        fn run(&self, routine: RoutineId, calls: &[Bindings]) -> Result<(), BackendError> {
            self.0.run(routine, calls)
        }
        fn trace(
            &self,
            routine: RoutineId,
            call: &Bindings,
        ) -> Result<Vec<Vec<u32>>, BackendError> {
            let mut limbs = self.0.trace(routine, call)?;
            limbs[0][7] ^= 1;
            Ok(limbs)
        }
        fn synchronize(&self) -> Result<(), BackendError> {
            self.0.synchronize()
        }
        fn bytes_in_use(&self) -> u64 {
            self.0.bytes_in_use()
        }
    }

    #[test]
    fn one_wrong_bit_is_found_and_its_operation_named() {
        let info = girih_cpu::CpuBackend::new().info().clone();
        let work = kernels::all(4).swap_remove(0);
        let found = against_interpreter(&Faulty(info), &work, Plans::Own).expect("it runs");
        assert!(found[0].contains("1 words differ, first word 7 of limb 0"), "{found:?}");
        assert!(found.last().is_some_and(|line| line.contains("(Transform): ")), "{found:?}");
    }
}
