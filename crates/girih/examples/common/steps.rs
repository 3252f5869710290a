//! A long computation on ciphertexts as named steps, each recorded once and timed.

use girih::ckks::prelude::*;
use girih::ckks::server::{Node, Recording};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Recordings by name, and what they took.
pub struct Steps<'a> {
    pub server: &'a ServerKey,
    /// Whether each is run once before it is timed, so that what is done once for all runs is left
    /// out.
    warm: bool,
    recordings: HashMap<String, Recording>,
    /// How long recordings ran, by part of the computation; what making them takes is not in it.
    pub spent: BTreeMap<&'static str, Duration>,
    /// How long it took to encode vectors and to record.
    pub prepared: Duration,
    /// The most that the device held.
    pub bytes: u64,
}

impl<'a> Steps<'a> {
    pub fn new(server: &'a ServerKey, warm: bool) -> Self {
        let (recordings, spent) = (HashMap::new(), BTreeMap::new());
        Self { server, warm, recordings, spent, prepared: Duration::ZERO, bytes: 0 }
    }

    /// Runs the step of this name, which `record` records when it is first wanted, for inputs like
    /// these; its time counts for `part`.
    pub fn run(
        &mut self,
        part: &'static str,
        name: &str,
        inputs: &[&Ciphertexts],
        record: impl FnOnce(&mut Builder<'_>, &[Node]) -> girih::ckks::Result<Vec<Node>>,
    ) -> girih::ckks::Result<Vec<Ciphertexts>> {
        if !self.recordings.contains_key(name) {
            let start = Instant::now();
            let recording = self.server.record(|b| {
                let nodes = inputs.iter().map(|x| b.input_with(x.level(), x.scale(), x.slots()));
                let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
                record(b, &nodes)
            })?;
            if self.warm {
                recording.run(inputs)?;
                self.server.synchronize()?;
            }
            self.recordings.insert(name.to_owned(), recording);
            self.prepared += start.elapsed();
        }
        let start = Instant::now();
        let results = self.recordings[name].run(inputs)?;
        self.server.synchronize()?;
        *self.spent.entry(part).or_default() += start.elapsed();
        self.bytes = self.bytes.max(self.server.memory().device_bytes);
        Ok(results)
    }
}
