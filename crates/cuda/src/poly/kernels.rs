//! The kernels of a ring: each compiled once, by whoever wants it first, while others go on with
//! theirs.

use crate::poly::launch::ReadyLaunch;
use crate::runtime::machine::{Kernel, Machine};
use girih_backend::BackendError;
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of a thread's spilled registers that are put up with: less than what fewer blocks a
/// multiprocessor cost.
const MOST_SPILLED_BYTES: i32 = 48;

/// File and constants.
type Key = (&'static str, String);

fn key(launch: &ReadyLaunch) -> Key {
    let source = launch.text.source();
    (source.file.name, source.constants)
}

/// Compiled kernels, and those that a thread is compiling.
pub(crate) struct Kernels {
    machine: Arc<dyn Machine>,
    /// None while one is compiled.
    known: Mutex<HashMap<Key, Option<Kernel>>>,
    /// One was compiled, or could not be.
    changed: Condvar,
}

impl Kernels {
    pub fn new(machine: Arc<dyn Machine>) -> Self {
        Self { machine, known: Mutex::default(), changed: Condvar::new() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Option<Kernel>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernels of `launches`, in their order; those that are new are compiled on all host
    /// threads. Any number of threads may ask at once.
    pub fn of(&self, launches: &[ReadyLaunch]) -> Result<Vec<Kernel>, BackendError> {
        // A launch of each first: threads that wait for the same kernel are lost to others.
        let mut first: HashMap<Key, &ReadyLaunch> = HashMap::new();
        launches.iter().for_each(|launch| _ = first.entry(key(launch)).or_insert(launch));
        let first: Vec<_> = first.into_iter().collect();
        let kernels = first.into_par_iter().map(|(key, launch)| {
            let kernel = self.keyed(&key, launch)?;
            Ok((key, kernel))
        });
        let kernels = kernels.collect::<Result<HashMap<_, _>, BackendError>>()?;
        Ok(launches.iter().map(|launch| kernels[&key(launch)]).collect())
    }

    /// The kernel of a launch, compiled on this thread where it is new.
    pub fn one(&self, launch: &ReadyLaunch) -> Result<Kernel, BackendError> {
        self.keyed(&key(launch), launch)
    }

    /// Whether the kernels of all launches are known, or kept from an earlier process: then there
    /// is nothing to compile.
    pub fn are_kept(&self, launches: &[ReadyLaunch]) -> bool {
        let known =
            |launch: &ReadyLaunch| self.known().get(&key(launch)).is_some_and(Option::is_some);
        launches.par_iter().all(|l| known(l) || self.machine.is_kept(&l.text.source()))
    }

    /// One kernel. Whoever waits here waits for a compiler that is running: nothing else is done in
    /// between, so that threads cannot wait for each other.
    fn keyed(&self, key: &Key, launch: &ReadyLaunch) -> Result<Kernel, BackendError> {
        let mut known = self.known();
        loop {
            match known.get(key) {
                Some(Some(kernel)) => return Ok(*kernel),
                Some(None) => {
                    known = self.changed.wait(known).unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        known.insert(key.clone(), None);
        drop(known);
        let entry = Entry { of: self, key, kernel: None };
        let kernel = self.compile(launch)?;
        entry.fill(kernel);
        Ok(kernel)
    }

    /// Compiles a kernel, with more registers a thread where it spills.
    fn compile(&self, launch: &ReadyLaunch) -> Result<Kernel, BackendError> {
        let mut text = launch.text.clone();
        loop {
            let source = text.source();
            let kernel = self.machine.load(&source)?.first().copied();
            let missing = || BackendError::DeviceFailed {
                device: self.machine.id().into(),
                what: format!("{} has no kernel", source.file.name),
            };
            let kernel = kernel.ok_or_else(missing)?;
            let cost = self.machine.prepare(kernel, launch.block(launch.shared_bytes))?;
            match text.roomier() {
                Some(roomier) if cost.local_bytes > MOST_SPILLED_BYTES => text = roomier,
                _ => return Ok(kernel),
            }
        }
    }
}

/// The entry of a kernel that is being compiled. It goes with this, whatever happens, unless it was
/// filled: who waits for it then compiles it.
struct Entry<'a> {
    of: &'a Kernels,
    key: &'a Key,
    kernel: Option<Kernel>,
}

impl Entry<'_> {
    fn fill(mut self, kernel: Kernel) {
        self.kernel = Some(kernel);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut known = self.of.known();
        match self.kernel {
            Some(kernel) => _ = known.insert(self.key.clone(), Some(kernel)),
            None => _ = known.remove(self.key),
        }
        drop(known);
        self.of.changed.notify_all();
    }
}
