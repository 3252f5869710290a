//! A list of jobs through its kernels: what is compiled and loaded once, and in which queues the
//! steps of a list run.

use crate::bootstrap::arguments::{BlindRotateArguments, CombineArguments, Job, Linear};
use crate::bootstrap::combine::Combine;
use crate::bootstrap::keys::KeyLayout;
use crate::bootstrap::layout::Geometry;
use crate::bootstrap::memory::{Lane, Memory, read_by, tables_read_by};
use crate::bootstrap::plan::CudaPlan;
use crate::bootstrap::queues;
use crate::bootstrap::roots;
use crate::bootstrap::rotations::Rotations;
use crate::bootstrap::switches::{Staged, Switch};
use crate::bootstrap::upload::Loading;
use crate::runtime::bytes::bytes_of;
use crate::runtime::machine::{Buffer, Machine, Queue};
use crate::runtime::order::span;
use girih_backend::{BootstrapJob, BootstrapShape, LinearJob, Result, Specialise, Transform};
use std::sync::Arc;

/// Most jobs of one launch for each multiprocessor: bounds the scratch between the two kernels.
const JOBS_A_MULTIPROCESSOR: usize = 128;
/// Most ciphertexts of a part of a batch from the host for each multiprocessor, whose transfers
/// overlap with work: a bound keeps memory small on both sides whatever the size of the batch.
const PART_A_MULTIPROCESSOR: usize = 24;
/// Waves of one launch where launches take turns: blocks drift apart, and set out together again at
/// the next.
const WAVES_PER_TURN: usize = 8;

/// Kernels and keys of one shape; nothing here changes after loading.
pub(crate) struct Pipeline {
    pub machine: Arc<dyn Machine>,
    pub shape: BootstrapShape,
    pub transform: Transform,
    /// Bytes of a coefficient of a test polynomial.
    pub coefficient_bytes: usize,
    pub key: Buffer,
    roots: Buffer,
    powers: Buffer,
    /// Where there are several, batches choose.
    pub rotations: Rotations,
    /// Shared with engines loaded beside this one.
    pub switch: Arc<Switch>,
    combine: Combine,
    multiprocessors: usize,
}

impl Pipeline {
    /// Compiles those of `plans`, which are at least one, that are needed at once, and pulls the
    /// keys; the key switch is that of an engine `beside`, where there is one.
    pub fn load(
        loading: &Loading<'_>,
        plans: &[CudaPlan],
        specialise: Specialise,
        beside: Option<Arc<Switch>>,
    ) -> Result<Self> {
        let Loading { machine, keys, .. } = *loading;
        let shape = keys.shape().clone();
        // All plans of a shape share transform, keys and key switch.
        let plan = &plans[0];
        let layout = KeyLayout::new(&shape, plan.transform, plan.packed);
        // Compilers run side by side, and keys go to the device meanwhile.
        let rotations = || Rotations::load(machine, &shape, plans, specialise);
        let combine = || Combine::load(machine.as_ref(), &shape, plan);
        let key = || {
            let steps = |step| layout.step(keys, step);
            let bytes = layout.step_bytes();
            loading.upload_blocks("bootstrapping key", shape.steps(), bytes, steps)
        };
        let switch = || -> Result<Arc<Switch>> {
            match beside {
                Some(switch) => Ok(switch),
                None => Ok(Arc::new(Switch::load(loading, plan)?)),
            }
        };
        let ((rotations, combine), (switch, key)) =
            rayon::join(|| rayon::join(rotations, combine), || rayon::join(switch, key));
        let (mut rotations, combine, key, switch) = (rotations?, combine?, key?, switch?);
        layout.check(machine.id())?;
        let (roots, powers) = root_buffers(machine, &shape, plan.transform)?;
        rotations.measure(to_time(&shape, &key, &roots, &powers))?;
        // Keys, roots and tables are where kernels of all queues read them.
        machine.synchronize()?;
        Ok(Self {
            transform: plan.transform,
            coefficient_bytes: Geometry::new(&shape, plan.transform).accumulator_bytes,
            machine: machine.clone(),
            shape,
            key,
            roots,
            powers,
            rotations,
            switch,
            combine,
            multiprocessors: plan.multiprocessors,
        })
    }

    /// Ciphertexts that the device runs at once.
    pub fn wave(&self) -> usize {
        self.rotations.now().first().wave()
    }

    /// Whether independent calls run beside each other. Several blocks of a multiprocessor end at
    /// different times, and another call's blocks take their places; a single one profits from
    /// neighbours that read the same part of the key, which blocks of another call do not.
    fn overlaps(&self) -> bool {
        let first = self.rotations.now().first();
        first.cost.resident_blocks > 1 && !first.plan.split.is_spread()
    }

    /// Waits for all rotations that batches may choose from, and says how many were waited for.
    pub fn settle(&self) -> Result<usize> {
        self.rotations.settle(to_time(&self.shape, &self.key, &self.roots, &self.powers))
    }

    /// Most jobs of one launch.
    pub fn jobs_per_launch(&self) -> usize {
        JOBS_A_MULTIPROCESSOR * self.multiprocessors
    }

    /// Most ciphertexts of a part of a batch from the host.
    pub fn part(&self) -> usize {
        PART_A_MULTIPROCESSOR * self.multiprocessors
    }

    /// What takes the rotations of a lane, and everything of its small calls.
    fn queue(&self, lane: usize) -> Queue {
        if lane == 1 && self.overlaps() { queues::SECOND } else { queues::FIRST }
    }

    /// Whether the rotations of calls that fill the device follow each other, and only smaller
    /// calls and key switches run beside them. That is where the key switch is short: rotations
    /// that begin as others end have blocks far apart in the key for all of their time.
    fn takes_turns(&self) -> bool {
        self.overlaps() && matches!(&*self.switch, Switch::First(_))
    }

    /// What a rotation of the staged jobs takes, outside traces.
    pub fn rotate_arguments(
        &self,
        memory: &Memory,
        lane: &Lane,
        jobs: usize,
    ) -> BlindRotateArguments {
        BlindRotateArguments {
            store: memory.store.address(),
            jobs: lane.jobs.address(),
            key: self.key.address(),
            roots: self.roots.address(),
            powers: self.powers.address(),
            tables: memory.tables.address(),
            switched: lane.switched.address(),
            job_count: jobs as u32,
            steps: self.shape.steps() as u32,
            ..Default::default()
        }
    }

    /// Uploads jobs, makes room for what lies between the kernels, and lets `queue`, which takes
    /// the first of them, wait.
    pub fn stage_jobs(&self, lane: &mut Lane, queue: Queue, jobs: &[Job]) -> Result<()> {
        let machine = self.machine.as_ref();
        let staged = self
            .switch
            .make_room(&self.shape, lane, queue, jobs.len())
            .and_then(|()| lane.stage(machine, queue, bytes_of(jobs)));
        if staged.is_err() {
            // What there was room for is being zeroed in `queue`. The lane's next call, whichever
            // queue it takes, comes behind that and behind the call before.
            if let Some(last) = lane.last {
                machine.wait(queue, last)?;
            }
            lane.last = Some(machine.mark(queue)?);
        }
        staged
    }

    /// Stages linear jobs and computes them, to their places if they are to be scattered.
    pub fn run_combine(
        &self,
        queue: Queue,
        store: u64,
        lane: &mut Lane,
        jobs: &[Linear],
        scatter: bool,
    ) -> Result<()> {
        let words = jobs.len() * self.shape.ciphertext_len();
        lane.combined.grow(queue, words * 4, 0, "combined ciphertexts")?;
        lane.stage(self.machine.as_ref(), queue, bytes_of(jobs))?;
        let arguments = CombineArguments {
            jobs: lane.jobs.address(),
            store,
            results: lane.combined.address(),
            job_count: jobs.len() as u32,
            padding: 0,
        };
        self.combine.launch(self.machine.as_ref(), queue, arguments, words, scatter)
    }

    /// Checked linear jobs, in launches of at most [`Pipeline::jobs_per_launch`].
    pub fn combine(&self, memory: &mut Memory, jobs: &[LinearJob]) -> Result<()> {
        let machine = self.machine.as_ref();
        for jobs in jobs.chunks(self.jobs_per_launch()) {
            let staged: Vec<Linear> = jobs.iter().map(Linear::from).collect();
            let reads = read_by(jobs.iter().map(|j| &j.input));
            let writes = span(jobs.iter().map(|j| j.output));
            let needed = memory.begin(&reads, &writes);
            let Memory { store, lanes, lane, .. } = &mut *memory;
            let queue = self.queue(*lane);
            needed.wait(machine, queue)?;
            self.run_combine(queue, store.address(), &mut lanes[*lane], &staged, true)?;
            let mark = machine.mark(queue)?;
            memory.end(reads, writes, mark);
        }
        Ok(())
    }

    /// Checked jobs, launch by launch.
    pub fn bootstrap(&self, memory: &mut Memory, jobs: &[BootstrapJob]) -> Result<()> {
        let to_time = to_time(&self.shape, &self.key, &self.roots, &self.powers);
        self.rotations.turn(jobs.len(), to_time)?;
        let mut rest = jobs;
        let in_turns = self.takes_turns().then(|| self.wave());
        for length in launches(jobs.len(), in_turns, self.jobs_per_launch()) {
            let (jobs, later) = rest.split_at(length);
            rest = later;
            self.launch(memory, jobs)?;
        }
        Ok(())
    }

    /// The rotations of at most [`Pipeline::jobs_per_launch`] checked jobs,
    /// and the key switch that goes with them.
    fn launch(&self, memory: &mut Memory, jobs: &[BootstrapJob]) -> Result<()> {
        let machine = self.machine.as_ref();
        let (reads, writes) = (
            read_by(jobs.iter().map(|j| &j.input)),
            span(jobs.iter().flat_map(BootstrapJob::outputs)),
        );
        let needed = memory.begin(&reads, &writes);
        let queue = self.queue(memory.lane);
        let full = self.overlaps() && jobs.len() >= self.wave();
        let (first, last) = match &*self.switch {
            // Where the rotation before leaves places idle at its end.
            Switch::First(_) if full => (queues::FILL, queue),
            // Beside the rotation behind, and before its waiting blocks.
            Switch::Last(_) if full => (queue, queues::SWITCH),
            _ => (queue, queue),
        };
        let in_turns = full && self.takes_turns();
        needed.wait(machine, first)?;
        let list: Vec<Job> = jobs.iter().map(Job::from).collect();
        self.stage_jobs(&mut memory.lanes[memory.lane], first, &list)?;
        let lane = &memory.lanes[memory.lane];
        let staged = Staged { lane, jobs: jobs.len(), store: memory.store.address(), dump: 0 };
        self.switch.launch_first(machine, first, staged)?;
        let ready = machine.mark(first)?;
        if let Some(before) = memory.turn.filter(|_| in_turns) {
            machine.wait(queue, before)?;
        }
        let mut arguments = self.rotate_arguments(memory, lane, jobs.len());
        for (index, (rotation, share)) in
            self.rotations.now().shares(jobs.len()).into_iter().enumerate()
        {
            // What is left after whole waves fills multiprocessors as these drain.
            let queue = if index > 0 && self.overlaps() { queues::FILL } else { queue };
            if queue != first {
                machine.wait(queue, ready)?;
            }
            arguments.job_count = share as u32;
            rotation.launch(machine, queue, arguments)?;
            arguments.jobs += (share * size_of::<Job>()) as u64;
            arguments.switched += self.switch.switched_bytes(&self.shape, share) as u64;
            if queue != last {
                machine.wait(last, machine.mark(queue)?)?;
            }
        }
        self.switch.launch_last(machine, last, staged)?;
        let end = machine.mark(last)?;
        if in_turns {
            memory.turn = Some(end);
        }
        memory.end(reads, writes, end);
        memory.table_order.add(tables_read_by(jobs, &self.shape), 0..0, end);
        Ok(())
    }
}

/// What rotations are told that are only timed.
fn to_time(
    shape: &BootstrapShape,
    key: &Buffer,
    roots: &Buffer,
    powers: &Buffer,
) -> BlindRotateArguments {
    BlindRotateArguments {
        key: key.address(),
        roots: roots.address(),
        powers: powers.address(),
        steps: shape.steps() as u32,
        ..Default::default()
    }
}

/// The lengths of the launches of a list of jobs, which are independent: at most `most` each. Where
/// launches take turns, the first has what whole waves leave, and others run beside it.
fn launches(jobs: usize, wave_in_turns: Option<usize>, most: usize) -> Vec<usize> {
    let (left, most) = match wave_in_turns {
        Some(wave) => (jobs % wave, WAVES_PER_TURN * wave),
        None => (0, most),
    };
    let whole = (0..jobs - left).step_by(most).map(|first| (jobs - left - first).min(most));
    (left > 0).then_some(left).into_iter().chain(whole).collect()
}

fn root_buffers(
    machine: &Arc<dyn Machine>,
    shape: &BootstrapShape,
    transform: Transform,
) -> Result<(Buffer, Buffer)> {
    let (roots, powers): (Vec<u8>, Vec<u8>) = match transform {
        Transform::Ntt => {
            let transforms = roots::transforms(shape);
            (
                bytes_of(&roots::ntt_roots(&transforms)).to_vec(),
                bytes_of(&roots::ntt_powers(&transforms)).to_vec(),
            )
        }
        Transform::Fft => {
            let size = shape.polynomial_size;
            (
                bytes_of(&roots::fft_roots(size)).to_vec(),
                bytes_of(&girih_ring::fft::roots_of_unity(size)).to_vec(),
            )
        }
    };
    Ok((
        Buffer::holding(machine, &roots, "roots")?,
        Buffer::holding(machine, &powers, "powers of the root")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_in_turns_are_of_whole_waves_and_begin_with_what_is_left() {
        assert_eq!(
            launches(16_384, Some(396), 132 * 128),
            [148, 3168, 3168, 3168, 3168, 3168, 396]
        );
        assert_eq!(launches(3168, Some(396), 132 * 128), [3168]);
        assert_eq!(launches(7, Some(396), 132 * 128), [7]);
        assert_eq!(launches(16_384, None, 132 * 128), [16_384]);
        assert_eq!(launches(40_000, None, 132 * 128), [16_896, 16_896, 6208]);
        assert_eq!(launches(40_000, None, 30_000), [30_000, 10_000]);
        assert!(
            launches(0, None, 132 * 128).is_empty() && launches(0, Some(396), 132 * 128).is_empty()
        );
    }
}
