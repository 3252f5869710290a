//! A long computation on ciphertexts as named steps, each recorded once and timed.

use girih::ckks::prelude::*;
use girih::ckks::server::{Node, Recording};
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
    /// Those that were run.
    ran: HashSet<String>,
    /// How long recordings ran, by part of the computation; what making them takes is not in it.
    pub spent: BTreeMap<&'static str, Duration>,
    /// How long it took to encode vectors and to record.
    pub prepared: Duration,
    /// The most that the device held.
    pub bytes: u64,
}

/// A recording for inputs of these shapes.
fn recorded(
    server: &ServerKey,
    inputs: &[Shape],
    record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Nodes,
) -> girih::ckks::Result<Recording> {
    server.record(|b| {
        let nodes = inputs.iter().map(|&(level, scale, slots)| b.input_with(level, scale, slots));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        record(b, &nodes)
    })
}

impl<'a> Steps<'a> {
    pub fn new(server: &'a ServerKey, warm: bool) -> Self {
        Self {
            server,
            warm,
            recordings: HashMap::new(),
            ran: HashSet::new(),
            spent: BTreeMap::new(),
            prepared: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Records steps side by side, as many at once as there are processors: their kernels are
    /// compiled together, and none waits for the longest of the one before.
    #[allow(dead_code)] // Not all programs know the shapes of all inputs.
    pub fn record_ahead(&mut self, steps: Vec<Ahead<'_>>) -> girih::ckks::Result<()> {
        let start = Instant::now();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(steps.len());
        let (server, waiting) = (self.server, Mutex::new(steps.into_iter()));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> girih::ckks::Result<Vec<(String, Recording)>> {
            let mut own = Vec::new();
            while let Some(Ahead { name, inputs, record }) = next() {
                own.push((name, recorded(server, &inputs, record)?));
            }
            Ok(own)
        };
        let done: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        for own in done {
            let own = own.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.recordings.extend(own?);
        }
        self.prepared += start.elapsed();
        Ok(())
    }

    /// Runs the step of this name, which `record` records when it is first wanted, for inputs like
    /// these; its time counts for `part`.
    #[allow(dead_code)] // Programs that record all steps ahead have none to record here.
    pub fn run(
        &mut self,
        part: &'static str,
        name: &str,
        inputs: &[&Ciphertexts],
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> Nodes,
    ) -> girih::ckks::Result<Vec<Ciphertexts>> {
        let start = Instant::now();
        if !self.recordings.contains_key(name) {
            let shapes: Vec<Shape> =
                inputs.iter().map(|x| (x.level(), x.scale(), x.slots())).collect();
            let recording = recorded(self.server, &shapes, record)?;
            self.recordings.insert(name.to_owned(), recording);
        }
        self.prepared += start.elapsed();
        self.again(part, name, inputs)
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
            self.prepared += start.elapsed();
        }
        let start = Instant::now();
        let results = recording.run(inputs)?;
        self.server.synchronize()?;
        *self.spent.entry(part).or_default() += start.elapsed();
        self.bytes = self.bytes.max(self.server.memory().device_bytes);
        Ok(results)
    }
}
