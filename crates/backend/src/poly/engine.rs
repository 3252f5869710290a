//! A ring open on a device: everything is checked here, once, before the device is asked.

mod calls;
mod checked;
mod handles;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    Basis, Bindings, BufferId, Domain, Place, PolyDevice, PolyOptions, PolyPlan, Program,
    ResidentId, ResidentShape, ResidentSource, RingShape, Schedule, Value, check, lower,
};
use crate::poly::program::ValueType;
use crate::{
    Backend, BackendError, NoProgress, PlanSource, Preparation, Progress, Result, block_on,
    preparing,
};

use checked::Checked;
use handles::ResidentInner;
pub use handles::{Buffer, Resident, Routine};

/// A ring open on a device, with room for polynomials, resident polynomials and routines.
///
/// Calls take effect in the order in which they are made. All but loading, reading, tracing and
/// [`PolyEngine::synchronize`] may return before the device has finished; an error may then
/// surface at the next of those. Clones are the same engine.
#[derive(Clone)]
pub struct PolyEngine {
    shared: Arc<Shared>,
}

/// A program as an engine lowered it by its plan.
pub struct Lowered<'a> {
    shared: Arc<Shared>,
    program: &'a Program,
    schedule: Arc<Schedule>,
}

struct Shared {
    device: Box<dyn PolyDevice>,
    plan: PolyPlan,
    source: PlanSource,
    /// The limbs of every buffer that there is.
    buffers: Mutex<HashMap<BufferId, usize>>,
}

fn refuse(why: String) -> BackendError {
    BackendError::InvalidRequest(why)
}

impl Shared {
    fn buffers(&self) -> MutexGuard<'_, HashMap<BufferId, usize>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `limbs` limbs from `place` on lie in a buffer.
    fn check_place(&self, place: Place, limbs: usize, what: &str) -> Result<()> {
        let Some(&have) = self.buffers().get(&place.buffer) else {
            return Err(refuse(format!("{what}: there is no buffer {}", place.buffer)));
        };
        match place.first.checked_add(limbs) {
            Some(end) if end <= have => Ok(()),
            _ => Err(refuse(format!(
                "{what}: {limbs} limbs from limb {} on do not lie in a buffer of {have}",
                place.first
            ))),
        }
    }
}

impl PolyEngine {
    /// Opens `ring` on `device`.
    ///
    /// # Errors
    /// For a ring that cannot be computed with, a device that runs no programs on polynomials, a
    /// ring that does not fit it, or when memory runs out.
    pub fn open(device: &dyn Backend, ring: Arc<RingShape>) -> Result<Self> {
        Self::open_with(device, ring, &PolyOptions::default(), &NoProgress)
    }

    /// Opens `ring` on `device` with choices made; what they leave open comes from a tuned plan
    /// where one is stored ([`PolyOptions::or_tuned`]).
    ///
    /// # Errors
    /// As [`PolyEngine::open`], for choices that the device does not know, and for stored plans
    /// that cannot be read.
    pub fn open_with(
        device: &dyn Backend,
        ring: Arc<RingShape>,
        options: &PolyOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check::ring(&ring)?;
        let loader = device.poly().ok_or_else(|| BackendError::Unsupported {
            device: device.info().id.clone(),
            what: "programs on polynomials".into(),
            why: "it has no kernels for them; open another device".into(),
        })?;
        let (options, source) = options.or_tuned(&device.identity(), &ring, progress)?;
        let plan = options.plan.unwrap_or_else(|| loader.plan(&ring));
        check::plan(&plan)?;
        Ok(Self::over(loader.open_by(ring, &options.choices)?, plan, source))
    }

    /// An engine over a device on which nothing has been allocated yet, with a plan for `lower`.
    ///
    /// # Errors
    /// For a plan whose numbers are too small.
    pub fn new(device: Box<dyn PolyDevice>, plan: PolyPlan) -> Result<Self> {
        check::plan(&plan)?;
        Ok(Self::over(device, plan, PlanSource::Request))
    }

    fn over(device: Box<dyn PolyDevice>, plan: PolyPlan, source: PlanSource) -> Self {
        Self { shared: Arc::new(Shared { device, plan, source, buffers: Mutex::default() }) }
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<RingShape> {
        self.shared.device.ring()
    }

    /// How programs are lowered here.
    pub fn plan(&self) -> &PolyPlan {
        &self.shared.plan
    }

    /// Who chose that.
    pub fn plan_source(&self) -> PlanSource {
        self.shared.source
    }

    /// What it runs on, which checks nothing.
    pub fn device(&self) -> &dyn PolyDevice {
        self.shared.device.as_ref()
    }

    /// Bytes that polynomials, arenas and tables take on the device.
    pub fn bytes_in_use(&self) -> u64 {
        self.shared.device.bytes_in_use()
    }

    /// Makes room for `limbs` limbs of N words each, at least one.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn allocate(&self, limbs: usize) -> Result<Buffer> {
        if limbs == 0 {
            return Err(refuse("a buffer of no limbs: it has at least one".into()));
        }
        let id = self.shared.device.allocate(limbs)?;
        self.shared.buffers().insert(id, limbs);
        Ok(Buffer { shared: Arc::clone(&self.shared), id, limbs })
    }

    /// Writes a polynomial over `basis`: canonical words, limb after limb.
    ///
    /// # Errors
    /// For places outside a buffer, unknown primes, wrong lengths, words that are not canonical;
    /// failures of the device.
    pub fn write(&self, to: Place, basis: &Basis, words: &[u32]) -> Result<()> {
        let ring = self.ring();
        let shape = ResidentShape { basis: basis.clone(), log2_run: 0 };
        check::resident_shape(ring, &shape, "write")?;
        let of = ValueType { basis: basis.clone(), domain: Domain::Evaluations };
        check::words(ring, &of, words, "write")?;
        self.shared.check_place(to, basis.len(), "write")?;
        if words.is_empty() { Ok(()) } else { self.shared.device.write(to, words) }
    }

    /// Reads whole limbs, after everything asked for before.
    ///
    /// # Errors
    /// For places outside a buffer, lengths that are no multiple of N, and failures of the device,
    /// those of earlier calls among them.
    pub fn read(&self, from: Place, words: &mut [u32]) -> Result<()> {
        block_on(self.read_async(from, words))
    }

    /// [`PolyEngine::read`] for callers that must not block where the device can do without.
    ///
    /// # Errors
    /// As [`PolyEngine::read`].
    pub async fn read_async(&self, from: Place, words: &mut [u32]) -> Result<()> {
        let degree = self.ring().degree();
        if !words.len().is_multiple_of(degree) {
            let len = words.len();
            return Err(refuse(format!("read: {len} words are no whole limbs of {degree}")));
        }
        self.shared.check_place(from, words.len() / degree, "read")?;
        if words.is_empty() {
            return Ok(());
        }
        self.shared.device.read_async(from, words).await
    }

    /// Copies `limbs` limbs on the device, to a place that shares none with where they are.
    ///
    /// # Errors
    /// For places outside a buffer, or that overlap; failures of the device.
    pub fn copy(&self, from: Place, to: Place, limbs: usize) -> Result<()> {
        self.shared.check_place(from, limbs, "copy from")?;
        self.shared.check_place(to, limbs, "copy to")?;
        if overlap((from, limbs), (to, limbs)) {
            let (from, to) = (from.first, to.first);
            return Err(refuse(format!(
                "copy: {limbs} limbs from limb {from} and from limb {to} of one buffer overlap"
            )));
        }
        if limbs == 0 { Ok(()) } else { self.shared.device.copy(from, to, limbs) }
    }

    /// Makes polynomials resident, in order.
    ///
    /// # Errors
    /// For unknown primes, runs longer than a limb, words that are not canonical; when memory runs
    /// out or the device fails. Then none of them is resident.
    pub fn load(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<Resident>> {
        block_on(self.load_async(source, progress))
    }

    /// [`PolyEngine::load`] for callers that must not block where the device can do without.
    ///
    /// # Errors
    /// As [`PolyEngine::load`].
    pub async fn load_async(
        &self,
        source: &dyn ResidentSource,
        progress: &dyn Progress,
    ) -> Result<Vec<Resident>> {
        let shapes = source.shapes();
        for (number, shape) in shapes.iter().enumerate() {
            check::resident_shape(self.ring(), shape, &format!("{} {number}", source.what()))?;
        }
        if shapes.is_empty() {
            return Ok(Vec::new());
        }
        let checked = Checked::new(self.ring(), &shapes, source);
        let ids = self.shared.device.load_async(&checked, progress).await?;
        let wrong = checked.wrong();
        let resident = |(id, shape)| Resident {
            inner: Arc::new(ResidentInner { shared: Arc::clone(&self.shared), id, shape }),
        };
        // Made first: what is refused after all leaves the device as they are dropped.
        let residents = ids.into_iter().zip(shapes).map(resident).collect();
        wrong.map_or(Ok(residents), Err)
    }

    /// Writes a resident polynomial anew: N / 2^log2_run canonical words a limb, limb after limb.
    /// Runs asked for before read the old words, those that come the new ones.
    ///
    /// # Errors
    /// For a polynomial of another engine, a wrong length, words that are not canonical; failures
    /// of the device.
    pub fn rewrite(&self, resident: &Resident, words: &[u32]) -> Result<()> {
        let ResidentInner { shared, id, shape } = &*resident.inner;
        if !Arc::ptr_eq(shared, &self.shared) {
            return Err(refuse("rewrite: the polynomial was loaded by another engine".into()));
        }
        let len = self.ring().degree() >> shape.log2_run;
        if words.len() != len * shape.basis.len() {
            let (found, limbs) = (words.len(), shape.basis.len());
            return Err(refuse(format!("rewrite: {found} words for {limbs} limbs of {len}")));
        }
        for (limb, &prime) in words.chunks_exact(len).zip(shape.basis.primes()) {
            check::canonical(self.ring(), prime, limb, "rewrite")?;
        }
        self.shared.device.rewrite(*id, words)
    }

    /// Lowers a program by this device's plan and makes it ready to run. `residents` are those
    /// that it reads, by slot.
    ///
    /// # Errors
    /// For a program over another ring, resident polynomials of another engine or that the program
    /// does not read; when something does not fit the device or memory runs out.
    pub fn prepare(&self, program: &Program, residents: &[Resident]) -> Result<Routine> {
        self.prepare_with(program, residents, &self.shared.plan, &[])
    }

    /// [`PolyEngine::prepare`] with a plan of the caller's.
    ///
    /// # Errors
    /// As [`PolyEngine::prepare`], and for a plan whose numbers are too small.
    pub fn prepare_by(
        &self,
        program: &Program,
        residents: &[Resident],
        plan: &PolyPlan,
    ) -> Result<Routine> {
        self.prepare_with(program, residents, plan, &[])
    }

    /// Lowers a program by this device's plan, for [`PolyEngine::prepare_lowered`]: what can be
    /// done while its resident polynomials are made.
    ///
    /// # Errors
    /// For a program over another ring.
    pub fn lower<'a>(&self, program: &'a Program) -> Result<Lowered<'a>> {
        let schedule = self.lower_with(program, &self.shared.plan, &[])?;
        Ok(Lowered { shared: Arc::clone(&self.shared), program, schedule })
    }

    /// The rest of [`PolyEngine::prepare`] for a program that [`PolyEngine::lower`] took.
    ///
    /// # Errors
    /// As [`PolyEngine::prepare`], and for a program that another engine lowered.
    pub fn prepare_lowered(&self, lowered: Lowered<'_>, residents: &[Resident]) -> Result<Routine> {
        if !Arc::ptr_eq(&lowered.shared, &self.shared) {
            return Err(refuse("the program was lowered by another engine".into()));
        }
        self.check_residents(lowered.program, residents)?;
        self.ready(lowered.program, residents, lowered.schedule)
    }

    fn prepare_with(
        &self,
        program: &Program,
        residents: &[Resident],
        plan: &PolyPlan,
        keep: &[Value],
    ) -> Result<Routine> {
        self.check_ring(program)?;
        self.check_residents(program, residents)?;
        let schedule = self.lower_with(program, plan, keep)?;
        self.ready(program, residents, schedule)
    }

    fn check_ring(&self, program: &Program) -> Result<()> {
        if program.ring() == self.ring() {
            return Ok(());
        }
        Err(refuse(format!(
            "a program over a ring of degree 2^{} and {} primes, on a device with one of 2^{} and \
             {}, or with others in their places",
            program.ring().log2_degree,
            program.ring().primes.len(),
            self.ring().log2_degree,
            self.ring().primes.len()
        )))
    }

    fn check_residents(&self, program: &Program, residents: &[Resident]) -> Result<()> {
        if let Some(slot) =
            residents.iter().position(|r| !Arc::ptr_eq(&r.inner.shared, &self.shared))
        {
            return Err(refuse(format!("resident polynomial {slot} was loaded by another engine")));
        }
        let shapes = residents.iter().map(|r| &r.inner.shape);
        check::resident_shapes(program.residents(), shapes, "resident polynomials")
    }

    fn lower_with(
        &self,
        program: &Program,
        plan: &PolyPlan,
        keep: &[Value],
    ) -> Result<Arc<Schedule>> {
        self.check_ring(program)?;
        let _lowering = preparing(Preparation::Lowering);
        Ok(Arc::new(lower(program, plan, keep)?))
    }

    /// A routine of a schedule that this program was lowered to.
    fn ready(
        &self,
        program: &Program,
        residents: &[Resident],
        schedule: Arc<Schedule>,
    ) -> Result<Routine> {
        let ids: Vec<ResidentId> = residents.iter().map(|r| r.inner.id).collect();
        let id = self.shared.device.prepare(&schedule, &ids)?;
        Ok(Routine {
            shared: Arc::clone(&self.shared),
            id,
            inputs: program.inputs().to_vec(),
            outputs: program.outputs().iter().map(|&v| program.type_of(v).clone()).collect(),
            schedule,
            _residents: residents.to_vec(),
        })
    }

    /// Runs independent calls of a routine.
    ///
    /// # Errors
    /// When a call does not bind what the program reads and yields, or binds places outside a
    /// buffer; when an output shares a limb with another output or with an input of any of the
    /// calls; when memory for their arenas runs out, or the device fails.
    pub fn run(&self, routine: &Routine, calls: &[Bindings]) -> Result<()> {
        self.check_calls(routine, calls)?;
        if calls.is_empty() { Ok(()) } else { self.shared.device.run(routine.id, calls) }
    }

    /// Runs one call of a program and hands out the given values of it, in their domains: what a
    /// fault is found with. It waits.
    ///
    /// # Errors
    /// As [`PolyEngine::prepare`] and [`PolyEngine::run`], and for values that the program does
    /// not have.
    pub fn trace(
        &self,
        program: &Program,
        residents: &[Resident],
        call: &Bindings,
        values: &[Value],
    ) -> Result<Vec<Vec<u32>>> {
        let routine = self.prepare_with(program, residents, &self.shared.plan, values)?;
        self.check_calls(&routine, std::slice::from_ref(call))?;
        let limbs = self.shared.device.trace(routine.id, call)?;
        let mut limbs = limbs.into_iter();
        let counts = values.iter().map(|&value| program.type_of(value).basis.len());
        Ok(counts.map(|count| limbs.by_ref().take(count).flatten().collect()).collect())
    }

    /// Waits until every routine has the kernels that it keeps ([`Specialise`]), and says how many
    /// waited for some: from the next run on they are as fast as they get.
    ///
    /// # Errors
    /// When a kernel cannot be compiled, or memory runs out.
    ///
    /// [`Specialise`]: crate::Specialise
    pub fn settle(&self) -> Result<usize> {
        self.shared.device.settle()
    }

    /// Waits until everything asked for is done.
    ///
    /// # Errors
    /// The first failure of the device.
    pub fn synchronize(&self) -> Result<()> {
        block_on(self.synchronize_async())
    }

    /// [`PolyEngine::synchronize`] for callers that must not block where
    /// the device can do without.
    ///
    /// # Errors
    /// As [`PolyEngine::synchronize`].
    pub async fn synchronize_async(&self) -> Result<()> {
        self.shared.device.synchronize_async().await
    }
}

fn overlap(a: (Place, usize), b: (Place, usize)) -> bool {
    a.0.buffer == b.0.buffer && a.0.first < b.0.first + b.1 && b.0.first < a.0.first + a.1
}

impl fmt::Debug for PolyEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = self.ring();
        f.debug_struct("PolyEngine")
            .field("log2_degree", &ring.log2_degree)
            .field("primes", &ring.primes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
