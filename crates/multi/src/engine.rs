//! The members' engines behind one store.

use crate::places::Places;
use crate::schedule::{Holders, Shares};
use crate::threads::{MemberThreads, Task};
use crate::transfers::{FEW, SCRATCH, Sent, at, deliver, fetch};
use girih_backend::bootstrap::{BootstrapDevice, Pipelining};
use girih_backend::{
    BackendError, BootstrapJob, BootstrapShape, Combination, Engine, LinearJob, Operand,
    PlanReport, Result, SecondOutput, Stage, StageOutput, Transform, Waiting, at_once,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Several engines as one.
pub(crate) struct MultiEngine {
    members: Vec<Engine>,
    shares: Shares,
    /// This and `shared` are shared with engines loaded beside this one.
    threads: Arc<MemberThreads>,
    shared: Arc<Mutex<Shared>>,
}

/// What engines beside each other have in common.
struct Shared {
    places: Places,
    /// Test polynomials that members had before any was added.
    own_tables: usize,
}

/// Work of some members: which one, and what.
type Parts<T> = Vec<(usize, T)>;

impl MultiEngine {
    /// Members have [`SCRATCH`] places each and the same `own_tables`, which no caller sees.
    pub fn new(
        members: Vec<Engine>,
        shares: Shares,
        threads: MemberThreads,
        own_tables: usize,
    ) -> Self {
        let shared = Shared { places: Places::default(), own_tables };
        Self { members, shares, threads: Arc::new(threads), shared: Arc::new(Mutex::new(shared)) }
    }

    /// Engines that were loaded beside those of this one.
    pub fn beside(&self, members: Vec<Engine>) -> Self {
        Self {
            members,
            shares: self.shares.clone(),
            threads: Arc::clone(&self.threads),
            shared: Arc::clone(&self.shared),
        }
    }

    pub fn members(&self) -> &[Engine] {
        &self.members
    }

    // What a panic elsewhere left half done is known to the members alone.
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has members work at the same time, and returns the first error once all are done.
    fn together<T: Send, R: Send>(
        &self,
        parts: Parts<T>,
        work: impl Fn(&Engine, T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        if parts.len() <= 1 {
            return parts
                .into_iter()
                .map(|(member, part)| work(&self.members[member], part))
                .collect();
        }
        let mut results: Vec<Option<Result<R>>> = parts.iter().map(|_| None).collect();
        let tasks = parts.into_iter().zip(&mut results).map(|((member, part), result)| {
            let (engine, work) = (&self.members[member], &work);
            (member, Box::new(move || *result = Some(work(engine, part))) as Task<'_>)
        });
        self.threads.run(tasks.collect());
        // Each was done, or `run` would not have returned.
        results.into_iter().flatten().collect()
    }

    fn all<R: Send>(&self, work: impl Fn(&Engine) -> Result<R> + Sync) -> Result<Vec<R>> {
        self.together((0..self.members.len()).map(|member| (member, ())).collect(), |engine, ()| {
            work(engine)
        })
    }

    /// Copies to each member the places of its list that it lacks.
    fn bring(&self, places: &mut Places, wanted: Vec<Vec<u32>>) -> Result<()> {
        // By the member that has them.
        let mut from: BTreeMap<usize, Parts<Vec<u32>>> = BTreeMap::new();
        for (member, mut list) in wanted.into_iter().enumerate() {
            list.retain(|&p| !places.holds(member, p));
            list.sort_unstable();
            list.dedup();
            let mut by_holder: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            list.into_iter().for_each(|p| by_holder.entry(places.holder(p)).or_default().push(p));
            by_holder
                .into_iter()
                .for_each(|(holder, list)| from.entry(holder).or_default().push((member, list)));
        }
        if from.is_empty() {
            return Ok(());
        }
        let fetched =
            self.together(from.into_iter().collect(), |engine, parts: Parts<Vec<u32>>| {
                let fetch = |(member, places): (usize, Vec<u32>)| {
                    Ok((member, Sent { words: fetch(engine, &places)?, places }))
                };
                parts.into_iter().map(fetch).collect::<Result<Parts<Sent>>>()
            })?;
        let mut to: BTreeMap<usize, Vec<Sent>> = BTreeMap::new();
        fetched
            .into_iter()
            .flatten()
            .for_each(|(member, sent)| to.entry(member).or_default().push(sent));
        let parts = to.iter().map(|(&member, all)| (member, all)).collect();
        self.together(parts, |engine, all| all.iter().try_for_each(|sent| deliver(engine, sent)))?;
        // Only now: a copy that failed is none.
        for (member, all) in to {
            all.iter().flat_map(|sent| &sent.places).for_each(|&p| places.add(member, p));
        }
        Ok(())
    }

    /// Divides jobs among members, brings operands there and notes where results will be.
    fn divide<J: Copy, O: Iterator<Item = u32>>(
        &self,
        places: &mut Places,
        jobs: &[J],
        assigned: &[usize],
        of: impl Fn(&J) -> (Combination, O),
        moved: impl Fn(J, Combination) -> J,
    ) -> Result<Parts<Vec<J>>> {
        let mut parts: Vec<Vec<J>> = vec![Vec::new(); self.members.len()];
        let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); self.members.len()];
        for (job, &member) in jobs.iter().zip(assigned) {
            let (input, _) = of(job);
            wanted[member].extend(input.used().map(|o| o.ciphertext));
            parts[member].push(moved(*job, on_member(input)));
        }
        self.bring(places, wanted)?;
        for (job, &member) in jobs.iter().zip(assigned) {
            of(job).1.for_each(|output| places.set(member, output));
        }
        Ok(parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty()).collect())
    }
}

/// The member that short lists of the calling thread go to: threads that call at the same time then
/// use different ones.
fn home(members: usize) -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| number % members)
}

/// Who holds the operands of a combination.
fn held(places: &Places, input: &Combination) -> Holders {
    input.operands.map(|o| if o.weight == 0 { 0 } else { places.holders(o.ciphertext) })
}

/// A combination as a member has its operands.
fn on_member(input: Combination) -> Combination {
    Combination {
        operands: input
            .operands
            .map(|o| if o.weight == 0 { o } else { Operand { ciphertext: at(o.ciphertext), ..o } }),
        ..input
    }
}

impl BootstrapDevice for MultiEngine {
    fn shape(&self) -> &BootstrapShape {
        self.members[0].shape()
    }

    fn transform(&self) -> Transform {
        self.members[0].transform()
    }

    fn report(&self) -> PlanReport {
        self.members[0].plan().with("devices", self.members.len())
    }

    fn settle(&self) -> Result<usize> {
        let _shared = self.shared();
        self.all(Engine::settle).map(|counts| counts.into_iter().sum())
    }

    fn grow(&self, _: usize, to: usize) -> Result<()> {
        let mut shared = self.shared();
        self.all(|engine| engine.reserve(SCRATCH.saturating_add(to)))?;
        shared.places.grow(to, self.members.len());
        Ok(())
    }

    fn write(&self, first: usize, words: &[u32]) -> Result<()> {
        let mut shared = self.shared();
        let len = self.shape().ciphertext_len();
        let (mut rest, mut place) = (words, first);
        let mut parts = Parts::new();
        let counts = self.shares.split(words.len() / len, home(self.members.len()));
        for (member, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let (now, later) = rest.split_at(count * len);
            (place..place + count).for_each(|p| shared.places.set(member, p as u32));
            parts.push((member, (SCRATCH + place, now)));
            (rest, place) = (later, place + count);
        }
        self.together(parts, |engine, (first, words)| engine.write(first, words)).map(drop)
    }

    fn read<'a>(&'a self, first: usize, words: &'a mut [u32]) -> Waiting<'a, Result<()>> {
        at_once(move || {
            let shared = self.shared();
            let len = self.shape().ciphertext_len();
            let mut parts: Vec<Vec<(u32, &mut [u32])>> =
                (0..self.members.len()).map(|_| Vec::new()).collect();
            let range = first..first + words.len() / len;
            let mut rest = words;
            for (member, run) in shared.places.runs(range) {
                let (now, later) = std::mem::take(&mut rest).split_at_mut(run.len() * len);
                parts[member].push((run.start as u32, now));
                rest = later;
            }
            let read = |engine: &Engine, runs: Vec<(u32, &mut [u32])>| {
                if runs.len() <= FEW {
                    return runs
                        .into_iter()
                        .try_for_each(|(first, words)| engine.read(at(first) as usize, words));
                }
                let places: Vec<u32> = runs
                    .iter()
                    .flat_map(|(first, words)| *first..*first + (words.len() / len) as u32)
                    .collect();
                let all = fetch(engine, &places)?;
                let mut rest = &all[..];
                for (_, words) in runs {
                    let (now, later) = rest.split_at(words.len());
                    words.copy_from_slice(now);
                    rest = later;
                }
                Ok(())
            };
            // Only the scratch places need the lock while members finish what comes before.
            let _scratch = parts.iter().any(|runs| runs.len() > FEW).then_some(shared);
            self.together(
                parts.into_iter().enumerate().filter(|(_, runs)| !runs.is_empty()).collect(),
                read,
            )
            .map(drop)
        })
    }

    fn add_tables(&self, held: usize, polynomials: &[u64]) -> Result<()> {
        let shared = self.shared();
        let first = self.all(|engine| engine.add_tables(polynomials))?;
        if let Some(other) = first.iter().find(|&&f| f as usize != shared.own_tables + held) {
            return Err(BackendError::DeviceFailed {
                device: "several devices".into(),
                what: format!(
                    "adding tables: the members have {} and {other} of them",
                    shared.own_tables + held
                ),
            });
        }
        Ok(())
    }

    fn write_tables(&self, first: usize, polynomials: &[u64]) -> Result<()> {
        let shared = self.shared();
        let first = (shared.own_tables + first) as u32;
        self.all(|engine| engine.write_tables(first, polynomials)).map(drop)
    }

    fn bootstrap(&self, jobs: &[BootstrapJob]) -> Result<()> {
        let shared = &mut *self.shared();
        let operands: Vec<Holders> = jobs.iter().map(|j| held(&shared.places, &j.input)).collect();
        let assigned = self.shares.assign(&operands, home(self.members.len()));
        let own_tables = shared.own_tables as u32;
        let moved = |job: BootstrapJob, input| BootstrapJob {
            input,
            output: at(job.output),
            second: job.second.map(|s| SecondOutput { output: at(s.output), ..s }),
            table: job.table + own_tables,
            ..job
        };
        let of = |j: &BootstrapJob| (j.input, j.outputs());
        let parts = self.divide(&mut shared.places, jobs, &assigned, of, moved)?;
        self.together(parts, |engine, jobs| engine.bootstrap(&jobs)).map(drop)
    }

    fn combine(&self, jobs: &[LinearJob]) -> Result<()> {
        let shared = &mut *self.shared();
        // Cheaper than a copy: where most operands are, in whatever numbers.
        let parts = self.shares.split(jobs.len(), home(self.members.len()));
        let mut own = parts
            .into_iter()
            .enumerate()
            .flat_map(|(member, part)| std::iter::repeat_n(member, part));
        let assigned: Vec<usize> = jobs
            .iter()
            .map(|j| self.shares.nearest(&held(&shared.places, &j.input), own.next().unwrap_or(0)))
            .collect();
        let moved = |job: LinearJob, input| LinearJob { input, output: at(job.output), ..job };
        let of = |j: &LinearJob| (j.input, std::iter::once(j.output));
        let parts = self.divide(&mut shared.places, jobs, &assigned, of, moved)?;
        self.together(parts, |engine, jobs| engine.combine(&jobs)).map(drop)
    }

    fn synchronize(&self) -> Waiting<'_, Result<()>> {
        // One after the other, for all of them work meanwhile;
        // calls of other threads need not wait.
        at_once(|| self.members.iter().map(Engine::synchronize).fold(Ok(()), Result::and))
    }

    fn pipelining(&self) -> Pipelining {
        let members = || self.members.iter().map(Engine::pipelining);
        Pipelining {
            overlaps_transfers: members().all(|m| m.overlaps_transfers),
            wave: members().map(|m| m.wave).sum(),
            part: members().map(|m| m.part).sum(),
        }
    }

    /// Until the last of them is ready. Units are the members' own, so each counts in what a long
    /// list takes it, which is as long for all.
    fn time_of(&self, bootstrappings: usize) -> f64 {
        let split = |count| self.shares.split(count, 0);
        let counts = split(bootstrappings).into_iter().zip(split(self.pipelining().part));
        let times = self.members.iter().zip(counts);
        let times = times.map(|(member, (own, long))| member.time_of(own) / member.time_of(long));
        times.fold(0.0, f64::max)
    }

    fn trace(&self, job: &BootstrapJob, stages: &[Stage]) -> Result<Vec<StageOutput>> {
        let shared = &mut *self.shared();
        self.bring(&mut shared.places, vec![job.input.used().map(|o| o.ciphertext).collect()])?;
        let (input, table) = (on_member(job.input), job.table + shared.own_tables as u32);
        self.members[0]
            .trace(&BootstrapJob { input, table, output: at(job.output), ..*job }, stages)
    }
}
