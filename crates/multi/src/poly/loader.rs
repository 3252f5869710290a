//! Opening a ring on all members.

use super::device::MultiPoly;
use crate::backend::MultiBackend;
use crate::schedule::Shares;
use crate::threads::MemberThreads;
use girih_backend::poly::{
    Bindings, Choices, Domain, Loader, Place, PolyDevice, PolyOptions, PolyPlan, ProgramBuilder,
    RingShape, lower,
};
use girih_backend::{BackendError, NoProgress, Result, SPECIALISE};
use std::sync::Arc;
use std::time::Instant;

/// Calls worth handing to one more member: one, as each is many launches.
const LEAST: usize = 1;

/// Limbs of the polynomial by which unlike members are timed.
const TIMED_LIMBS: usize = 8;

impl Loader for MultiBackend {
    /// The choices are those of all members; where there are none, each takes those that are stored
    /// for it.
    fn open_by(&self, ring: Arc<RingShape>, choices: &Choices) -> Result<Box<dyn PolyDevice>> {
        let open = |member: &Arc<dyn girih_backend::Backend>| {
            let tuned;
            let choices = if choices.keys().all(|name| name == SPECIALISE) {
                let own = PolyOptions { choices: choices.clone(), ..PolyOptions::default() };
                let (options, _) = own.or_tuned(&member.identity(), &ring, &NoProgress)?;
                tuned = options.choices;
                &tuned
            } else {
                choices
            };
            self.loader_of(member)?.open_by(ring.clone(), choices)
        };
        let members = self.members().iter().map(open).collect::<Result<Vec<_>>>()?;
        let speeds = if self.alike() {
            vec![1.0; members.len()]
        } else {
            // One after the other: they may share what makes them fast.
            members.iter().map(|m| speed(m.as_ref(), &ring)).collect::<Result<_, _>>()?
        };
        let failed = |e| BackendError::DeviceFailed {
            device: self.id().into(),
            what: format!("starting a thread for each of {} devices: {e}", members.len()),
        };
        let threads = MemberThreads::new(members.len()).map_err(failed)?;
        let ids = self.members().iter().map(|m| m.info().id.clone()).collect();
        Ok(Box::new(MultiPoly::new(ring, members, ids, Shares::new(&speeds, LEAST), threads)))
    }

    /// What fits every member: schedules are the same on all.
    fn plan(&self, ring: &RingShape) -> PolyPlan {
        let plans = self.members().iter().filter_map(|m| Some(m.poly()?.plan(ring)));
        plans
            .reduce(|a, b| PolyPlan {
                fuse: a.fuse && b.fuse,
                most_row_slots: a.most_row_slots.min(b.most_row_slots),
                most_column_sums: a.most_column_sums.min(b.most_column_sums),
                least_column_tiles: a.least_column_tiles.max(b.least_column_tiles),
                turn_operands: a.turn_operands && b.turn_operands,
            })
            .unwrap_or_default()
    }

    /// Of the smallest: resident polynomials are on every member.
    fn memory_bytes(&self) -> Option<u64> {
        self.members().iter().filter_map(|m| m.poly()?.memory_bytes()).min()
    }
}

impl MultiBackend {
    fn loader_of<'a>(&self, member: &'a Arc<dyn girih_backend::Backend>) -> Result<&'a dyn Loader> {
        member.poly().ok_or_else(|| BackendError::Unsupported {
            device: self.id().into(),
            what: "programs on polynomials".into(),
            why: format!("{} has no kernels for them; leave it out", member.info().id),
        })
    }
}

/// Transforms a second.
fn speed(device: &dyn PolyDevice, ring: &Arc<RingShape>) -> Result<f64> {
    let refuse = |why: String| BackendError::InvalidRequest(why);
    let mut builder = ProgramBuilder::new(ring.clone());
    let limbs = ring.primes.len().min(TIMED_LIMBS);
    let basis = girih_backend::poly::Basis::new(0..limbs as u16);
    let x = builder.input(basis, Domain::Evaluations).map_err(|e| refuse(e.to_string()))?;
    let coefficients = builder.transform(x, Domain::Coefficients);
    builder.output(coefficients);
    let schedule = Arc::new(lower(&builder.finish(), &PolyPlan::default(), &[])?);
    let place = || Ok::<_, BackendError>(Place { buffer: device.allocate(limbs)?, first: 0 });
    let (from, to) = (place()?, place()?);
    device.write(from, &vec![1; limbs * ring.degree()])?;
    let routine = device.prepare(&schedule, &[])?;
    let call = Bindings { inputs: vec![from], outputs: vec![to] };
    let mut seconds = 0.0;
    // The first run warms up caches and clocks.
    for _ in 0..2 {
        let start = Instant::now();
        device.run(routine, std::slice::from_ref(&call))?;
        device.synchronize()?;
        seconds = start.elapsed().as_secs_f64();
    }
    device.forget(routine);
    device.free(from.buffer);
    device.free(to.buffer);
    Ok(limbs as f64 / seconds.max(1e-9))
}
