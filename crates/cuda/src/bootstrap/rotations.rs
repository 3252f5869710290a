//! The compiled rotations of a shape: those that compile fast at once, the others when batches are
//! large enough to gain from them.
//!
//! Where several blocks share a ciphertext, each thread has little to do, and its kernel compiles
//! several times as fast as those for large batches. Small batches run by such kernels whatever
//! else there is, so that a first result need not wait for the others.

use crate::bootstrap::arguments::BlindRotateArguments;
use crate::bootstrap::choice::Choice;
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::rotation::{self, Rotation};
use crate::runtime::machine::Machine;
use girih_backend::{BackendError, BootstrapShape, Preparation, Result, Specialise, preparing};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Seconds that batches of more than a wave have taken without the kernels for large ones before
/// these are compiled: a program that is done before has no use for them.
const WORTH_COMPILING: f64 = 0.05;
/// Seconds after which such a batch waits for them.
const WORTH_WAITING: f64 = 1.0;

/// The compiled plans of a shape, at least one.
pub(crate) struct Rotations {
    machine: Arc<dyn Machine>,
    shape: BootstrapShape,
    /// All plans, throughput first.
    plans: Vec<CudaPlan>,
    /// What there is from loading on.
    first: Choice,
    /// All of them, in the order of the plans, once they are there.
    all: OnceLock<Choice>,
    behind: Mutex<Behind>,
    specialise: Specialise,
}

/// The others on their way.
#[derive(Default)]
struct Behind {
    /// Seconds that large batches took without them, as predicted.
    seconds: f64,
    compiling: Option<JoinHandle<Result<Vec<Rotation>>>>,
    /// Compiled, but not measured yet.
    compiled: Vec<Rotation>,
}

/// Compiles plans side by side; the first of all is the one for throughput.
fn compile(
    machine: &dyn Machine,
    shape: &BootstrapShape,
    plans: &[CudaPlan],
    chosen: &dyn Fn(&CudaPlan) -> bool,
) -> Result<Vec<Rotation>> {
    let failed = |what: String| BackendError::DeviceFailed { device: machine.id().into(), what };
    // Threads of their own: the host's others have work to do meanwhile.
    std::thread::scope(|threads| {
        let one = |(index, plan)| {
            let work = move || Rotation::load(machine, shape, plan, index == 0);
            let thread = std::thread::Builder::new().spawn_scoped(threads, work);
            thread.map_err(|e| failed(format!("no thread can be started that compiles ({e})")))
        };
        let chosen = plans.iter().enumerate().filter(|(_, plan)| chosen(plan));
        let all = chosen.map(one).collect::<Result<Vec<_>>>()?;
        let panicked = |_| failed("a thread that compiles kernels panicked".into());
        all.into_iter().map(|thread| thread.join().map_err(panicked)?).collect()
    })
}

impl Rotations {
    /// Compiles those of `plans`, throughput first, that are needed at once.
    pub fn load(
        machine: &Arc<dyn Machine>,
        shape: &BootstrapShape,
        plans: &[CudaPlan],
        specialise: Specialise,
    ) -> Result<Self> {
        let kept = |plan: &CudaPlan| machine.is_kept(&Rotation::source(shape, plan));
        let in_two = specialise != Specialise::Now
            && plans.iter().any(|plan| plan.split.is_spread())
            && !(specialise == Specialise::Background && plans.iter().all(kept));
        let at_once = |plan: &CudaPlan| !in_two || plan.split.is_spread();
        let first = compile(machine.as_ref(), shape, plans, &at_once)?;
        Ok(Self {
            machine: machine.clone(),
            shape: shape.clone(),
            plans: plans.to_vec(),
            first: Choice::new(first.into_iter().map(Arc::new).collect()),
            all: OnceLock::new(),
            behind: Mutex::default(),
            specialise,
        })
    }

    /// Times those that are there; before anything else is called.
    pub fn measure(&mut self, arguments: BlindRotateArguments) -> Result<()> {
        let first = std::mem::replace(&mut self.first, Choice::new(Vec::new()));
        let mut own: Vec<Rotation> =
            first.into_rotations().into_iter().filter_map(Arc::into_inner).collect();
        rotation::measure(&self.machine, &self.shape, &mut own, arguments)?;
        self.first = Choice::new(own.into_iter().map(Arc::new).collect());
        Ok(())
    }

    /// Those that batches choose from now.
    pub fn now(&self) -> &Choice {
        self.all.get().unwrap_or(&self.first)
    }

    /// How many are not there.
    fn missing(&self) -> usize {
        self.plans.len() - self.now().rotations().len()
    }

    // Nothing there that a panic elsewhere could break.
    fn behind(&self) -> MutexGuard<'_, Behind> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before a batch: takes the others where they are there, has them compiled where batches are
    /// large enough, and waits for them where that takes less time. Nothing runs beside this.
    pub fn turn(&self, jobs: usize, arguments: BlindRotateArguments) -> Result<()> {
        if self.missing() == 0 || self.specialise == Specialise::Never {
            return Ok(());
        }
        let behind = &mut *self.behind();
        let wave = self.first.rotations().iter().map(|rotation| rotation.wave()).max().unwrap_or(1);
        if jobs > wave {
            behind.seconds += self.first.seconds(jobs);
        }
        if behind.seconds > WORTH_COMPILING {
            self.order(behind)?;
        }
        let done = behind.compiling.as_ref().is_some_and(JoinHandle::is_finished);
        if done || behind.seconds > WORTH_WAITING || !behind.compiled.is_empty() {
            match self.take(behind, arguments) {
                // It goes on without them, and tries again with the next batch.
                Err(BackendError::OutOfMemory { .. }) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Waits for the others, and says how many they were. Nothing runs beside this.
    pub fn settle(&self, arguments: BlindRotateArguments) -> Result<usize> {
        let missing = self.missing();
        if missing == 0 || self.specialise == Specialise::Never {
            return Ok(0);
        }
        let behind = &mut *self.behind();
        self.order(behind)?;
        self.take(behind, arguments)?;
        Ok(missing)
    }

    /// Has the others compiled, unless they are.
    fn order(&self, behind: &mut Behind) -> Result<()> {
        if behind.compiling.is_some() || !behind.compiled.is_empty() {
            return Ok(());
        }
        let (machine, shape, plans) =
            (self.machine.clone(), self.shape.clone(), self.plans.clone());
        let work = move || {
            let _behind = preparing(Preparation::Specialisation);
            compile(machine.as_ref(), &shape, &plans, &|plan| !plan.split.is_spread())
        };
        let thread = std::thread::Builder::new().name("girih kernels".into()).spawn(work);
        let failed = |e| {
            BackendError::InvalidRequest(format!(
                "no thread can be started that compiles kernels ({e}): load with specialise=now or \
                 specialise=never"
            ))
        };
        behind.compiling = Some(thread.map_err(failed)?);
        Ok(())
    }

    /// Waits for the others, times them, and lets batches choose from all.
    fn take(&self, behind: &mut Behind, arguments: BlindRotateArguments) -> Result<()> {
        if let Some(thread) = behind.compiling.take() {
            let panicked = |_| BackendError::DeviceFailed {
                device: self.machine.id().into(),
                what: "the thread that compiles kernels panicked".into(),
            };
            behind.compiled = thread.join().map_err(panicked)??;
        }
        rotation::measure(&self.machine, &self.shape, &mut behind.compiled, arguments)?;
        let compiled = std::mem::take(&mut behind.compiled).into_iter().map(Arc::new);
        let there: Vec<Arc<Rotation>> =
            compiled.chain(self.first.rotations().iter().cloned()).collect();
        let of = |plan: &CudaPlan| there.iter().find(|rotation| rotation.plan == *plan).cloned();
        let all = Choice::new(self.plans.iter().filter_map(of).collect());
        // Set once: whoever sets holds the lock and saw that something was missing.
        let _ = self.all.set(all);
        Ok(())
    }
}

impl Drop for Rotations {
    /// Waits for compilers that are running: a process that ended under them would take what they
    /// use away.
    fn drop(&mut self) {
        let behind = self.behind.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = behind.compiling.take() {
            // What went wrong was for batches to know.
            let _ = thread.join();
        }
    }
}
