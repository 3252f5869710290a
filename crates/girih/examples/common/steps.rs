//! A long computation on ciphertexts as named steps, each recorded once and timed.

use girih::ckks::prelude::*;
use girih::ckks::server::{Draft, Estimate, Node, Recording};
use girih::device::Steps as Announced;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Level, scale and slots of an input.
pub type Shape = (usize, f64, usize);

type Nodes = girih::ckks::Result<Vec<Node>>;
type Record<'a> = Box<dyn FnOnce(&mut Builder<'_>, &[Node]) -> Nodes + Send + 'a>;

/// A step that is recorded before its inputs are there.
pub struct Ahead<'a> {
    name: String,
    inputs: Vec<Shape>,
    record: Record<'a>,
}

#[allow(dead_code)] // Not all programs know the shapes of all inputs.
impl<'a> Ahead<'a> {
    /// The step of this name, for inputs of these shapes.
    pub fn new(
        name: impl Into<String>,
        inputs: Vec<Shape>,
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Nodes + Send + 'a,
    ) -> Self {
        Self { name: name.into(), inputs, record: Box::new(record) }
    }
}

/// Recordings by name, and what they took.
pub struct Steps<'a> {
    pub server: &'a ServerKey,
    /// Whether each is run once before it is timed, so that what is done once for all runs is left
    /// out.
    warm: bool,
    recordings: HashMap<String, Recording>,
    /// What is not prepared yet.
    drafts: BTreeMap<String, Draft<'a>>,
    /// Those that were run.
    ran: HashSet<String>,
    /// How many runs were rehearsed.
    rehearsed: usize,
    /// Who hears of runs.
    progress: Option<Announced<'a>>,
    /// How long recordings ran, by part of the computation; what making them takes is not in it.
    pub spent: BTreeMap<&'static str, Duration>,
    /// How long it took to encode vectors and to record.
    pub prepared: Duration,
    /// The most that the device held.
    pub bytes: u64,
    /// Whether the device is waited for after each step, so that each has a time of its own.
    pub waits: bool,
}

/// A draft for inputs of these shapes.
fn drafted<'s>(
    server: &'s ServerKey,
    inputs: &[Shape],
    record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Nodes,
) -> girih::ckks::Result<Draft<'s>> {
    server.draft(|b| {
        let nodes = inputs.iter().map(|&(level, scale, slots)| b.input_with(level, scale, slots));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        record(b, &nodes)
    })
}

/// What steps take and yield: ciphertexts, or in a rehearsal their shapes alone.
#[derive(Clone)]
pub enum Batch {
    Real(Ciphertexts),
    Rehearsed(Shape),
}

#[allow(dead_code)] // Programs that record all steps ahead rehearse nothing.
impl Batch {
    pub fn shape(&self) -> Shape {
        match self {
            Self::Real(x) => (x.level(), x.scale(), x.slots()),
            Self::Rehearsed(shape) => *shape,
        }
    }

    /// How many ciphertexts it has; none where it is rehearsed.
    pub fn len(&self) -> usize {
        match self {
            Self::Real(x) => x.len(),
            Self::Rehearsed(_) => 0,
        }
    }

    /// With one number for all errors so far: what is known of them then takes no longer to count
    /// with, however long the computation.
    pub fn summed_up(&self) -> girih::ckks::Result<Self> {
        match self {
            Self::Real(x) => {
                let estimate = x.estimate();
                // By a little more than is known, or it would be kept by its sources.
                let deviation = 1.001 * estimate.deviation;
                Ok(Self::Real(x.with_estimate(Estimate { deviation, ..estimate })?))
            }
            Self::Rehearsed(_) => Ok(self.clone()),
        }
    }

    /// With the promise that no slot is larger.
    pub fn with_magnitude(&self, magnitude: f64) -> girih::ckks::Result<Self> {
        match self {
            Self::Real(x) => Ok(Self::Real(x.with_magnitude(magnitude)?)),
            Self::Rehearsed(_) => Ok(self.clone()),
        }
    }

    /// The ciphertexts, where they are there.
    pub fn real(&self) -> Option<&Ciphertexts> {
        match self {
            Self::Real(x) => Some(x),
            Self::Rehearsed(_) => None,
        }
    }
}

/// Does `one` to each of `all`, as many at once as there are processors. Not on rayon's threads: a
/// server holds a lock while it encodes on them, and what they take up meanwhile would wait for it.
fn at_once<T: Send, R: Send>(
    all: Vec<T>,
    one: impl Fn(T) -> girih::ckks::Result<R> + Sync,
) -> girih::ckks::Result<Vec<R>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(all.len());
    let waiting = Mutex::new(all.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || std::iter::from_fn(next).map(&one).collect::<Result<Vec<R>, _>>();
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut results = Vec::new();
    for own in done {
        results.extend(own.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    Ok(results)
}

impl<'a> Steps<'a> {
    pub fn new(server: &'a ServerKey, warm: bool) -> Self {
        Self {
            server,
            warm,
            recordings: HashMap::new(),
            drafts: BTreeMap::new(),
            ran: HashSet::new(),
            rehearsed: 0,
            progress: None,
            spent: BTreeMap::new(),
            prepared: Duration::ZERO,
            bytes: 0,
            waits: true,
        }
    }

    /// Records steps side by side: none waits for the longest of the one before.
    #[allow(dead_code)] // Not all programs know the shapes of all inputs.
    pub fn record_ahead(&mut self, steps: Vec<Ahead<'_>>) -> girih::ckks::Result<()> {
        let start = Instant::now();
        let server = self.server;
        let one = |Ahead { name, inputs, record }| {
            Ok((name, drafted(server, &inputs, record)?.prepare()?))
        };
        self.recordings.extend(at_once(steps, one)?);
        self.prepared += start.elapsed();
        Ok(())
    }

    /// Has `progress` hear of the runs that were rehearsed, each when it is done, from now on until
    /// all of them are.
    #[allow(dead_code)] // Programs that record all steps ahead rehearse nothing.
    pub fn announce(&mut self, progress: &'a TerminalProgress) {
        let total = std::mem::take(&mut self.rehearsed);
        self.progress = Some(Announced::begin(progress, "steps", total));
    }

    /// Has nobody hear of runs.
    #[allow(dead_code)] // As above.
    pub fn announced(&mut self) {
        self.progress = None;
    }

    /// Prepares side by side what a rehearsal drafted.
    #[allow(dead_code)] // Programs that record all steps ahead rehearse nothing.
    pub fn prepare(&mut self) -> girih::ckks::Result<()> {
        let start = Instant::now();
        let drafts = std::mem::take(&mut self.drafts).into_iter().collect();
        let one = |(name, draft): (String, Draft<'_>)| Ok((name, draft.prepare()?));
        self.recordings.extend(at_once(drafts, one)?);
        self.prepared += start.elapsed();
        Ok(())
    }

    /// Runs the step of this name, which `record` records when it is first wanted, for inputs like
    /// these; its time counts for `part`. Of inputs that are rehearsed it is drafted.
    #[allow(dead_code)] // Programs that record all steps ahead have none to record here.
    pub fn run(
        &mut self,
        part: &'static str,
        name: &str,
        inputs: &[&Batch],
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Nodes,
    ) -> girih::ckks::Result<Vec<Batch>> {
        let start = Instant::now();
        let is_known = self.recordings.contains_key(name) || self.drafts.contains_key(name);
        if !is_known {
            let shapes: Vec<Shape> = inputs.iter().map(|x| x.shape()).collect();
            let draft = drafted(self.server, &shapes, record)?;
            self.drafts.insert(name.to_owned(), draft);
        }
        let Some(real) = inputs.iter().map(|x| x.real()).collect::<Option<Vec<_>>>() else {
            self.prepared += start.elapsed();
            self.rehearsed += 1;
            let outputs = self.drafts[name].outputs();
            return Ok(outputs.into_iter().map(Batch::Rehearsed).collect());
        };
        if let Some(draft) = self.drafts.remove(name) {
            self.recordings.insert(name.to_owned(), draft.prepare()?);
        }
        self.prepared += start.elapsed();
        Ok(self.again(part, name, &real)?.into_iter().map(Batch::Real).collect())
    }

    /// Runs the step of this name, which is recorded; its time counts for `part`.
    pub fn again(
        &mut self,
        part: &'static str,
        name: &str,
        inputs: &[&Ciphertexts],
    ) -> girih::ckks::Result<Vec<Ciphertexts>> {
        let recording = &self.recordings[name];
        if self.warm && self.ran.insert(name.to_owned()) {
            let start = Instant::now();
            recording.run(inputs)?;
            self.server.synchronize()?;
            // From now on by kernels of its own, where a device begins by others.
            self.server.engine().settle()?;
            self.prepared += start.elapsed();
        }
        let start = Instant::now();
        let results = recording.run(inputs)?;
        if !self.waits {
            return Ok(results);
        }
        self.server.synchronize()?;
        self.progress.iter().for_each(Announced::done);
        *self.spent.entry(part).or_default() += start.elapsed();
        self.bytes = self.bytes.max(self.server.memory().device_bytes);
        Ok(results)
    }
}
