//! Opening and loading.

use crate::engine::MultiEngine;
use crate::schedule::Shares;
use crate::threads::MemberThreads;
use crate::transfers::SCRATCH;
use girih_backend::bootstrap::{BootstrapDevice, Loader, other_backend};
use girih_backend::{
    Backend, BackendError, BootstrapJob, BootstrapShape, Combination, DeviceInfo, DeviceLimits,
    Engine, LoadOptions, LoadRequest, Operand, Progress, Result, Transform, Waiting, at_once,
};
use std::sync::Arc;
use std::time::Instant;

/// Fewest bootstrappings worth handing to one more device: fewer take as long as these, and copies
/// take time too.
const LEAST: usize = 16;

/// Most members: one bit each.
const MOST: usize = 32;

/// Several devices as one.
pub struct MultiBackend {
    members: Vec<Arc<dyn Backend>>,
    info: DeviceInfo,
    least: usize,
}

impl MultiBackend {
    /// Takes 2 to 32 devices, of one kind or several. Those of different names are timed when keys
    /// are loaded, and get work in proportion to their speed.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] for another number of them,
    /// or where they have no transform in common.
    pub fn new(members: Vec<Arc<dyn Backend>>) -> Result<Self> {
        let ids: Vec<&str> = members.iter().map(|m| m.info().id.as_str()).collect();
        let refuse = |why: String| Err(BackendError::NoDevice { requested: ids.join("+"), why });
        if !(2..=MOST).contains(&members.len()) {
            return refuse(format!("several devices are 2 to {MOST}, not {}", members.len()));
        }
        let info = joined(&members);
        if info.transforms.is_empty() {
            return refuse("they have no transform in common".into());
        }
        Ok(Self { members, info, least: LEAST })
    }

    /// Hands work to one more device from `jobs` bootstrappings for each on (16 else): 1 divides
    /// the smallest lists, for tests.
    #[must_use]
    pub fn with_least_share(self, jobs: usize) -> Self {
        Self { least: jobs.max(1), ..self }
    }
}

impl MultiBackend {
    pub(crate) fn members(&self) -> &[Arc<dyn Backend>] {
        &self.members
    }

    pub(crate) fn id(&self) -> &str {
        &self.info.id
    }

    /// Whether members may be expected to be equally fast.
    pub(crate) fn alike(&self) -> bool {
        alike(&self.members.iter().map(|m| m.info()).collect::<Vec<_>>())
    }
}

/// What the members are together: the transforms of all, the limits of the first,
/// all their multiprocessors.
fn joined(members: &[Arc<dyn Backend>]) -> DeviceInfo {
    let infos: Vec<&DeviceInfo> = members.iter().map(|m| m.info()).collect();
    let first = infos[0];
    let name = if alike(&infos) {
        format!("{} x {}", infos.len(), first.name)
    } else {
        infos.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(" + ")
    };
    let id = infos.iter().map(|i| i.id.as_str()).collect::<Vec<_>>().join("+");
    let limits = DeviceLimits {
        multiprocessors: infos.iter().map(|i| i.limits.multiprocessors).sum(),
        ..first.limits.clone()
    };
    let of_all = |t: &Transform| infos.iter().all(|i| i.transforms.contains(t));
    let transforms: Vec<Transform> = first.transforms.iter().copied().filter(of_all).collect();
    let notes = infos.iter().flat_map(|i| i.notes.iter().map(|note| format!("{}: {note}", i.id)));
    DeviceInfo::new(id, name, first.kind, limits)
        .with_transforms(transforms)
        .with_software(infos.iter().any(|i| i.software))
        .with_notes(notes.collect::<Vec<_>>())
}

fn alike(infos: &[&DeviceInfo]) -> bool {
    infos.iter().all(|i| i.kind == infos[0].kind && i.name == infos[0].name)
}

impl Backend for MultiBackend {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn bootstrap(&self) -> Option<&dyn Loader> {
        Some(self)
    }

    fn poly(&self) -> Option<&dyn girih_backend::poly::Loader> {
        let all = self.members.iter().all(|member| member.poly().is_some());
        if all { Some(self) } else { None }
    }
}

impl Loader for MultiBackend {
    /// None: each member takes the plan that is stored for it alone.
    fn alternatives(&self, _: &BootstrapShape) -> Result<Vec<LoadOptions>> {
        Err(BackendError::Unsupported {
            device: self.info.id.clone(),
            what: "measurements of plans".into(),
            why: "each device takes the plan that is stored for it; tune them one by one".into(),
        })
    }

    fn load<'a>(
        &'a self,
        request: LoadRequest<'a>,
    ) -> Waiting<'a, Result<Box<dyn BootstrapDevice>>> {
        at_once(move || Ok(Box::new(self.load_engine(request)?) as Box<dyn BootstrapDevice>))
    }
}

impl MultiBackend {
    fn load_engine(&self, request: LoadRequest<'_>) -> Result<MultiEngine> {
        let loaded = request.beside_as::<MultiEngine>()?;
        if let Some(loaded) = loaded {
            if loaded.members().len() != self.members.len() {
                return Err(other_backend());
            }
            return Ok(loaded.beside(self.load_all(request, Some(loaded.members()))?));
        }
        let engines = self.load_all(request, None)?;
        for engine in &engines {
            engine.reserve(SCRATCH)?;
        }
        let infos: Vec<&DeviceInfo> = self.members.iter().map(|m| m.info()).collect();
        let (speeds, own_tables) = match alike(&infos) {
            true => (vec![1.0; engines.len()], 0),
            // One after the other: they may share what makes them fast.
            false => (engines.iter().map(speed).collect::<Result<_, _>>()?, 1),
        };
        let threads =
            MemberThreads::new(engines.len()).map_err(|e| BackendError::DeviceFailed {
                device: self.info.id.clone(),
                what: format!("starting a thread for each of {} devices: {e}", engines.len()),
            })?;
        Ok(MultiEngine::new(engines, Shares::new(&speeds, self.least), threads, own_tables))
    }

    /// Loads the first member, then the others at once, with its transform: all members hold the
    /// same kind of noise. Each is loaded beside its own of `beside`, where there are any.
    fn load_all(&self, request: LoadRequest<'_>, beside: Option<&[Engine]>) -> Result<Vec<Engine>> {
        let load = |member: usize, options: &LoadOptions| {
            let progress =
                Named { progress: request.progress, device: &self.members[member].info().id };
            let beside = beside.map(|engines| &engines[member]);
            LoadRequest { keys: request.keys, options, beside, progress: &progress }
                .load(self.members[member].as_ref())
        };
        let options = match request.options.transform {
            None => request.options.clone().with_transform(self.common_transform()),
            Some(_) => request.options.clone(),
        };
        let first = load(0, &options)?;
        let options = options.with_transform(first.transform());
        let others: Vec<Result<_, _>> = std::thread::scope(|scope| {
            let start = |member| {
                let (load, options) = (&load, &options);
                scope.spawn(move || load(member, options))
            };
            let threads: Vec<_> = (1..self.members.len()).map(start).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        std::iter::once(Ok(first)).chain(others).collect()
    }

    /// The transform that is left where members differ in what they have;
    /// else the first member chooses.
    fn common_transform(&self) -> Option<Transform> {
        let only = self.info.transforms.first().copied();
        only.filter(|_| self.info.transforms.len() < self.members[0].info().transforms.len())
    }
}

/// Bootstrappings a second on words that look like ciphertexts. Adds a table.
fn speed(engine: &Engine) -> Result<f64> {
    let shape = engine.shape();
    let log2_modulus = shape.log2_stored_modulus();
    // What it will be like for most of its work.
    engine.settle()?;
    // Fibonacci hashing: no exponent is left out that a ciphertext would have.
    let word = |i: u32| i.wrapping_mul(0x9e37_79b9) >> 32u32.saturating_sub(log2_modulus);
    engine.write(0, &(1..=shape.ciphertext_len() as u32).map(word).collect::<Vec<_>>())?;
    let table = engine.add_tables(&vec![0; shape.polynomial_size])?;
    // A wave fills the device; one that takes single ciphertexts has cores.
    let count = engine.pipelining().wave.clamp(LEAST, SCRATCH - 1);
    let input = Combination::new(&[Operand { ciphertext: 0, weight: 1 }], 0, log2_modulus);
    let job = |i| BootstrapJob {
        input,
        table,
        table_stride: 0,
        output_offset: 0,
        log2_output_modulus: log2_modulus,
        output: 1 + i,
        second: None,
    };
    let jobs: Vec<BootstrapJob> = (0..count as u32).map(job).collect();
    let mut seconds = 0.0;
    // The first run warms up caches and clocks.
    for _ in 0..2 {
        let start = Instant::now();
        engine.bootstrap(&jobs)?;
        engine.synchronize()?;
        seconds = start.elapsed().as_secs_f64();
    }
    Ok(count as f64 / seconds.max(1e-9))
}

/// Says of which device it speaks.
pub(crate) struct Named<'a> {
    pub progress: &'a dyn Progress,
    pub device: &'a str,
}

impl Progress for Named<'_> {
    fn report(&self, what: &str, done: usize, total: usize) {
        self.progress.report(&format!("{}: {what}", self.device), done, total);
    }

    fn note(&self, message: &str) {
        self.progress.note(&format!("{}: {message}", self.device));
    }
}
