//! What one recording is made with: every operation of the evaluator, levels managed.

mod arithmetic;
mod bootstrap;
mod functions;
mod iterations;
mod levels;
mod matrix;
pub(in crate::server) mod parts;
mod program;
mod rounding;
mod slots;
pub(in crate::server) mod vectors;

pub(super) use arithmetic::digest_of;
pub(super) use parts::PlainNode;
pub use vectors::VectorNode;

use std::sync::atomic::{AtomicU64, Ordering};

use super::ciphertexts::check_magnitude;
use super::estimate::Model;
use super::room::{Room, Verdict};
use super::tracked::Tracked;
use super::{KeySwitching, ServerKey};
use crate::program::{Recorded, Recorder};
use crate::{CkksParameters, Error, Result};
use parts::{InputShape, Parts, VectorShape, VectorUse};

/// A ciphertext of a recording. It can be used any number of times, with its own [`Builder`] only.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub(super) at: Recorded,
    /// Its place on the tape of estimates.
    pub(super) estimate: usize,
    builder: u64,
}

impl Node {
    /// Its level.
    pub fn level(&self) -> usize {
        self.at.level
    }

    /// By how much its slots are scaled.
    pub fn scale(&self) -> f64 {
        self.at.scale
    }

    /// Slots in use.
    pub fn slots(&self) -> usize {
        self.at.slots
    }
}

/// What is known of a ciphertext, of what is known of earlier ones.
type Follows = Box<dyn Fn(&[Tracked]) -> Tracked + Send + Sync>;

/// How what is known of one ciphertext, or of a plaintext, follows from earlier ones.
enum Rule {
    Of(Follows),
    /// What the run says of a vector that it brings along, by the number of its use.
    Vector(usize),
}

/// What is known of all ciphertexts of a recording, as rules: what inputs are known to be off by
/// differs from run to run.
#[derive(Default)]
pub(super) struct Tape {
    inputs: usize,
    /// With what must hold of the slots of each.
    rules: Vec<(Rule, Option<Room>)>,
    /// Whether what may not fit is nothing to rely on, instead of being refused.
    may_wrap: bool,
}

impl Tape {
    /// All of them, those of the inputs first. `vectors` are the plaintexts that the run brings
    /// along, by use.
    ///
    /// # Errors
    /// [`Error::Room`] for the first whose slots may not fit.
    pub fn run(&self, inputs: Vec<Tracked>, vectors: &[Tracked]) -> Result<Vec<Tracked>> {
        let mut known = inputs;
        known.truncate(self.inputs);
        for (rule, room) in &self.rules {
            let next = match rule {
                Rule::Of(rule) => rule(&known),
                Rule::Vector(number) => vectors[*number].clone(),
            };
            let verdict = room.as_ref().map_or(Verdict::Fits, |room| room.verdict(&next));
            known.push(match (room, verdict) {
                (Some(room), Verdict::Refused) if !self.may_wrap => return Err(room.refusal(&next)),
                (_, Verdict::Fits) => next,
                (_, Verdict::Unknown | Verdict::Refused) => next.unreliable(),
            });
        }
        Ok(known)
    }
}

/// Records a computation for [`ServerKey::record`]; the operations are those of [`ServerKey`].
///
/// All inputs are declared before the first operation.
pub struct Builder<'s> {
    server: &'s ServerKey,
    recorder: Recorder,
    tape: Tape,
    inputs: Vec<InputShape>,
    vectors: Vec<VectorShape>,
    uses: Vec<VectorUse>,
    bootstraps: bool,
    /// Slots of the first bootstrapping that is recorded.
    bootstrapped: Option<usize>,
    number: u64,
}

impl std::fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Builder({}, {} inputs)", self.set(), self.inputs.len())
    }
}

impl<'s> Builder<'s> {
    pub(super) fn new(server: &'s ServerKey) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut recorder = Recorder::new(server.chain().clone());
        recorder.limit_keys(server.shared().library.levels().clone());
        recorder.use_key_sums(server.options().sum_keys);
        recorder.use_klss(server.key_switching() != KeySwitching::Hybrid)?;
        Ok(Self {
            server,
            recorder,
            tape: Tape { may_wrap: server.options().may_wrap, ..Tape::default() },
            inputs: Vec::new(),
            vectors: Vec::new(),
            uses: Vec::new(),
            bootstraps: server.options().bootstrap_when_needed,
            bootstrapped: None,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Keys that serve some levels alone limit nothing: it is recorded to be estimated, not run.
    pub(super) fn without_key_levels(mut self) -> Self {
        self.recorder.limit_keys(std::sync::Arc::default());
        self
    }

    /// The parameter set.
    pub fn set(&self) -> &CkksParameters {
        self.server.set()
    }

    fn model(&self) -> &'s Model {
        self.server.model()
    }

    /// Whether operations that run out of levels bootstrap their operands first, instead of being
    /// refused; what [`Options`](super::Options) say unless this says otherwise.
    pub fn bootstrap_when_needed(&mut self, yes: bool) {
        self.bootstraps = yes;
    }

    /// Whether operations whose slots may not fit are done all the same, and promise nothing; what
    /// [`Options`](super::Options) say unless this says otherwise.
    pub fn may_wrap(&mut self, yes: bool) {
        self.tape.may_wrap = yes;
    }

    /// Declares the next input: ciphertexts at `level` with its canonical scale and full slots.
    ///
    /// # Errors
    /// As [`Builder::input_with`].
    pub fn input(&mut self, level: usize) -> Result<Node> {
        let scale = self.canonical("an input", level)?;
        self.input_with(level, scale, self.set().slots())
    }

    /// Declares the next input: ciphertexts at `level`, with this scale and this many slots.
    ///
    /// # Errors
    /// [`Error::Level`], [`Error::Value`] or [`Error::Shape`] for what no ciphertext can have, and
    /// [`Error::Order`] after the first operation.
    pub fn input_with(&mut self, level: usize, scale: f64, slots: usize) -> Result<Node> {
        if !self.tape.rules.is_empty() {
            return Err(Error::Order { what: "an input", rule: "before the first operation" });
        }
        let at = self.recorder.input(level, scale, slots)?;
        self.inputs.push(InputShape::Ciphertexts { level, scale: scale.to_bits(), slots });
        self.tape.inputs += 1;
        Ok(Node { at, estimate: self.tape.inputs - 1, builder: self.number })
    }

    /// The same ciphertext, with the promise that no slot of it is larger than `magnitude`; see
    /// [`Ciphertexts::with_magnitude`](super::Ciphertexts::with_magnitude).
    ///
    /// # Errors
    /// [`Error::Value`] unless it is finite and not negative.
    pub fn with_magnitude(&mut self, x: &Node, magnitude: f64) -> Result<Node> {
        self.check(&[x])?;
        check_magnitude(magnitude)?;
        let (of, what) = (x.estimate, "a declared magnitude");
        Ok(self.noted(what, x.at, move |e| e[of].clone().with_magnitude(magnitude)))
    }

    /// S_level.
    fn canonical(&self, operation: &str, level: usize) -> Result<f64> {
        self.set().check_level(operation, level)?;
        self.set().scale(level).ok_or_else(|| Error::Level {
            operation: operation.into(),
            level,
            rule: "levels above those of slots-to-coefficients have no canonical scale".into(),
        })
    }

    /// The node of a recorded ciphertext of which what is known follows from others.
    fn noted(
        &mut self,
        operation: &'static str,
        at: Recorded,
        rule: impl Fn(&[Tracked]) -> Tracked + Send + Sync + 'static,
    ) -> Node {
        let room = Room::at(self.server.set(), operation, (at.level, at.scale));
        self.noted_within(Some(room), at, rule)
    }

    /// The same where slots have another bound to keep, or none.
    fn noted_within(
        &mut self,
        room: Option<Room>,
        at: Recorded,
        rule: impl Fn(&[Tracked]) -> Tracked + Send + Sync + 'static,
    ) -> Node {
        let estimate = self.pushed(Rule::Of(Box::new(rule)), room);
        Node { at, estimate, builder: self.number }
    }

    /// The place on the tape of a further rule.
    fn pushed(&mut self, rule: Rule, room: Option<Room>) -> usize {
        self.tape.rules.push((rule, room));
        self.tape.inputs + self.tape.rules.len() - 1
    }

    /// `x`, whose slots must keep this bound.
    fn held_to(&mut self, room: Room, x: &Node) -> Node {
        let of = x.estimate;
        self.noted_within(Some(room), x.at, move |e| e[of].clone())
    }

    /// `x` as the operand of a function that is made for slots up to `most`.
    fn made_for(&mut self, operation: &'static str, x: &Node, most: f64) -> Node {
        self.held_to(Room::function(operation, most), x)
    }

    /// Refuses nodes of other builders.
    fn check(&self, nodes: &[&Node]) -> Result<()> {
        if nodes.iter().all(|node| node.builder == self.number) {
            return Ok(());
        }
        Err(Error::Order { what: "a node", rule: "in the recording that made it" })
    }

    /// Everything recorded, with these outputs.
    pub(super) fn finish(mut self, outputs: &[Node]) -> Result<Parts> {
        self.check(&outputs.iter().collect::<Vec<_>>())?;
        for node in outputs {
            self.recorder.output(&node.at);
        }
        Ok(Parts {
            recording: self.recorder.finish(),
            tape: self.tape,
            inputs: self.inputs,
            vectors: self.vectors,
            uses: self.uses,
            outputs: outputs.to_vec(),
            bootstrapped: self.bootstrapped,
        })
    }
}
