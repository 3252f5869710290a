//! A computation recorded once, to be run many times.

use std::sync::Arc;

use super::builder::parts::{InputShape, Parts};
use super::builder::{Builder, Node, Tape};
use super::ciphertexts::{Ciphertexts, Room};
use super::estimate::Estimate;
use super::memory::{While, advised};
use super::tracked::{Mask, Tracked, salt};
use super::vectors::{self, Vectors};
use super::{ServerKey, Shared};
use crate::{Error, Result};
use girih_backend::poly::{Bindings, Place, Resident, Routine};
use girih_backend::{Preparation, preparing};
use num_complex::Complex64;

/// A computation that [`ServerKey::record`] recorded: run it with any ciphertexts of the declared
/// levels, scales and slots.
///
/// On a device it is one prepared routine, with the keys and encoded vectors that it reads; these
/// are shared with all other recordings that read the same.
pub struct Recording {
    shared: Arc<Shared>,
    routine: Routine,
    /// Keeps what the routine reads on the device.
    _residents: Vec<Arc<Resident>>,
    tape: Tape,
    inputs: Vec<InputShape>,
    outputs: Vec<Node>,
    vectors: Vectors,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs.len())
            .finish_non_exhaustive()
    }
}

/// A computation that is recorded, and not prepared for the device yet
/// ([`ServerKey::draft`]).
pub struct Draft<'s> {
    server: &'s ServerKey,
    parts: Parts,
}

impl std::fmt::Debug for Draft<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let outputs = self.parts.outputs.len();
        f.debug_struct("Draft").field("outputs", &outputs).finish_non_exhaustive()
    }
}

impl Draft<'_> {
    /// Level, scale and slots of each result.
    pub fn outputs(&self) -> Vec<(usize, f64, usize)> {
        self.parts.outputs.iter().map(|x| (x.level(), x.scale(), x.slots())).collect()
    }

    /// Makes it ready to run. Threads may prepare at once, as [`ServerKey::record`] says.
    ///
    /// # Errors
    /// [`Error::MissingKey`] for keys that it would need, and failures of the device.
    pub fn prepare(self) -> Result<Recording> {
        self.server.prepare(self.parts)
    }
}

/// What one input of a run is bound to.
pub(super) enum Operand<'a> {
    Ciphertexts(&'a Ciphertexts),
    /// Where the limbs of a plaintext lie, the same for every ciphertext of the batch, the largest
    /// magnitude of its slots, and a digest of it.
    Plaintext {
        place: Place,
        magnitude: f64,
        digest: u64,
    },
}

impl ServerKey {
    /// Records a computation, to be run many times: what becomes one graph on a device that has
    /// graphs. `record` declares inputs, computes with them, and names the outputs.
    ///
    /// Threads may record at once: what a device compiles for one does not hold up the others, and
    /// what several need is made once. Not from tasks of a thread pool that may take up another
    /// recording while they wait: use threads of their own, `std::thread::scope`.
    ///
    /// # Errors
    /// Those of the operations, [`Error::MissingKey`] for keys that it would need, and failures of
    /// the device.
    pub fn record(
        &self,
        record: impl FnOnce(&mut Builder<'_>) -> Result<Vec<Node>>,
    ) -> Result<Recording> {
        self.draft(record)?.prepare()
    }

    /// The first half of [`ServerKey::record`]: what is computed, without anything done for the
    /// device. It tells of which levels results are, so that what computes with them can be drafted
    /// before anything runs, and all be prepared side by side.
    ///
    /// # Errors
    /// Those of the operations.
    pub fn draft(
        &self,
        record: impl FnOnce(&mut Builder<'_>) -> Result<Vec<Node>>,
    ) -> Result<Draft<'_>> {
        let _recording = preparing(Preparation::Recording);
        let mut builder = Builder::new(self)?;
        let outputs = record(&mut builder)?;
        if outputs.is_empty() {
            return Err(Error::Length {
                what: "the list of outputs",
                found: 0,
                rule: "a recording needs at least one".into(),
            });
        }
        Ok(Draft { server: self, parts: builder.finish(&outputs)? })
    }

    /// What a computation would be off by, an estimate an output, of inputs that are off by
    /// `inputs`: it is recorded, and neither prepared nor run. It needs no keys, so that whoever
    /// encrypts can find the errors of what others are asked to compute, for
    /// [`ClientKey::decrypt_to_share`](crate::ClientKey::decrypt_to_share).
    ///
    /// # Errors
    /// Those of the operations, and [`Error::Length`] for another number of inputs than are
    /// declared.
    pub fn estimate(
        &self,
        inputs: &[Estimate],
        record: impl FnOnce(&mut Builder<'_>) -> Result<Vec<Node>>,
    ) -> Result<Vec<Estimate>> {
        let mut builder = Builder::new(self)?.without_key_levels();
        let outputs = record(&mut builder)?;
        let parts = builder.finish(&outputs)?;
        let slots = self.set().slots();
        let vectors = vectors::declared(slots, &parts.vectors, &parts.uses);
        estimates(slots, (&parts.tape, &vectors), &parts.inputs, &parts.outputs, inputs)
    }

    pub(super) fn prepare(&self, parts: Parts) -> Result<Recording> {
        let shared = self.shared();
        let vectors = Vectors::new(shared, &parts)?;
        let (wanted, changing) = (&parts.recording.residents, vectors.residents());
        let (engine, program) = (&shared.engine, &parts.recording.program);
        // One thread lowers while all encode.
        let (lowered, found) = beside(
            wanted.iter().any(|request| request.plain().is_some()),
            || engine.lower(program),
            || shared.library.find(engine, wanted, changing),
        );
        let residents = found.map_err(|error| with_slots_named(error, parts.bootstrapped))?;
        let bound: Vec<Resident> = residents.iter().map(|r| Resident::clone(r)).collect();
        let routine = lowered
            .and_then(|lowered| engine.prepare_lowered(lowered, &bound))
            .map_err(advised(While::Computing))?;
        Ok(Recording {
            shared: shared.clone(),
            routine,
            _residents: residents,
            tape: parts.tape,
            inputs: parts.inputs,
            outputs: parts.outputs,
            vectors,
        })
    }
}

impl Recording {
    /// What its outputs are off by where inputs are off by `inputs`, as
    /// [`ServerKey::estimate`] says.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of inputs, [`Error::Room`] for slots that may not fit.
    pub fn estimate(&self, inputs: &[Estimate]) -> Result<Vec<Estimate>> {
        let slots = self.shared.set.slots();
        let vectors = self.vectors.declared(slots);
        estimates(slots, (&self.tape, &vectors), &self.inputs, &self.outputs, inputs)
    }

    /// Runs it on batches of one length, one batch an input: the i-th ciphertexts of all batches
    /// are one call. Inputs do not change.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of inputs or batches of unequal lengths,
    /// [`Error::Level`], [`Error::Scale`] or [`Error::Shape`] where an input is not what was
    /// declared, [`Error::WrongKey`] for ciphertexts of another key or server,
    /// [`Error::Room`] for slots that may not fit, and failures of the device.
    pub fn run(&self, inputs: &[&Ciphertexts]) -> Result<Vec<Ciphertexts>> {
        self.run_with::<f64>(inputs, &[])
    }

    /// [`Recording::run`] of a recording with vectors that runs bring along
    /// ([`Builder::vector_input`]), in the order in which they were declared. The same serve every
    /// ciphertext of a batch.
    ///
    /// # Errors
    /// As [`Recording::run`]; [`Error::Length`] for another number of vectors, or one that is no
    /// power of two up to what was declared; [`Error::Magnitude`] for numbers above what was
    /// declared, and as [`Encoder::encode`](crate::Encoder::encode).
    pub fn run_with<T: Copy + Into<Complex64>>(
        &self,
        inputs: &[&Ciphertexts],
        vectors: &[&[T]],
    ) -> Result<Vec<Ciphertexts>> {
        let operands: Vec<_> = inputs.iter().map(|x| Operand::Ciphertexts(x)).collect();
        let encoded = self.vectors.encode(vectors, &self.shared)?;
        // What is written is read by this run alone: others wait until it is asked for.
        let _turn = self.vectors.turn();
        self.vectors.write(&encoded, &self.shared)?;
        let known: Vec<Tracked> = encoded.into_iter().map(|one| one.known).collect();
        let mut runs = self.run_all_with(&[&operands], &known)?;
        Ok(runs.pop().unwrap_or_default())
    }

    /// Several runs at once, which a device may do side by side as it does the ciphertexts of a
    /// batch: batches of one run have one length, those of different runs lie anywhere.
    ///
    /// # Errors
    /// As [`Recording::run`].
    pub fn run_each(&self, runs: &[Vec<&Ciphertexts>]) -> Result<Vec<Vec<Ciphertexts>>> {
        let operands: Vec<Vec<Operand<'_>>> =
            runs.iter().map(|run| run.iter().map(|x| Operand::Ciphertexts(x)).collect()).collect();
        let operands: Vec<&[Operand<'_>]> = operands.iter().map(Vec::as_slice).collect();
        self.run_all(&operands)
    }

    pub(super) fn run_operands(&self, operands: &[Operand<'_>]) -> Result<Vec<Ciphertexts>> {
        let mut runs = self.run_all(&[operands])?;
        Ok(runs.pop().unwrap_or_default())
    }

    /// Several runs at once, which a device may do side by side.
    pub(super) fn run_all(&self, runs: &[&[Operand<'_>]]) -> Result<Vec<Vec<Ciphertexts>>> {
        self.run_all_with(runs, &[])
    }

    /// The same with what is known of the vectors that were written, by use.
    fn run_all_with(
        &self,
        runs: &[&[Operand<'_>]],
        vectors: &[Tracked],
    ) -> Result<Vec<Vec<Ciphertexts>>> {
        let (mut calls, mut rooms) = (Vec::new(), Vec::new());
        for operands in runs {
            rooms.push(self.bind(operands, &mut calls)?);
        }
        self.shared.engine.run(&self.routine, &calls).map_err(advised(While::Computing))?;
        // Counted while the device works: of long programs that takes a millisecond.
        let known = |(operands, rooms): (&&[Operand<'_>], Rooms)| {
            let known = self.known_results(operands, vectors, rooms.count)?;
            let outputs = rooms.outputs.into_iter().zip(known);
            Ok(outputs.map(|(room, known)| room.knowing(known)).collect())
        };
        runs.iter().zip(rooms).map(known).collect()
    }

    /// What is known of each output, of each of the `count` ciphertexts of a batch.
    fn known_results(
        &self,
        operands: &[Operand<'_>],
        vectors: &[Tracked],
        count: usize,
    ) -> Result<Vec<Vec<Tracked>>> {
        let mut known: Vec<Vec<Tracked>> = vec![Vec::new(); self.outputs.len()];
        for i in 0..count {
            let inputs = operands.iter().map(|x| self.known(x, i)).collect();
            let all = self.tape.run(inputs, vectors)?;
            for (known, node) in known.iter_mut().zip(&self.outputs) {
                known.push(all[node.estimate].clone());
            }
        }
        Ok(known)
    }

    /// Adds the calls of one run; returns where their results go.
    fn bind(&self, operands: &[Operand<'_>], calls: &mut Vec<Bindings>) -> Result<Rooms> {
        if operands.len() != self.inputs.len() {
            return Err(Error::Length {
                what: "the list of inputs",
                found: operands.len(),
                rule: format!("the recording has {}", self.inputs.len()),
            });
        }
        let mut batches = Vec::with_capacity(operands.len());
        for (number, (operand, wanted)) in operands.iter().zip(&self.inputs).enumerate() {
            if let Operand::Ciphertexts(batch) = operand {
                check_input(&self.shared, number, batch, *wanted)?;
                batches.push(*batch);
            }
        }
        let Some(first) = batches.first() else {
            return Err(Error::Length {
                what: "the list of inputs",
                found: 0,
                rule: "a recording without inputs cannot be run".into(),
            });
        };
        if let Some(other) = batches.iter().find(|batch| batch.len() != first.len()) {
            return Err(Error::Length {
                what: "a batch",
                found: other.len(),
                rule: format!("all inputs need one length; the first has {}", first.len()),
            });
        }
        let count = first.len();
        let room = |node: &Node| {
            let at = &node.at;
            Room::new(&self.shared, (at.level, at.scale, at.slots), count)
        };
        let outputs = self.outputs.iter().map(room).collect::<Result<Vec<_>>>()?;
        calls.extend((0..count).map(|i| {
            Bindings {
                inputs: operands
                    .iter()
                    .flat_map(|operand| match operand {
                        Operand::Ciphertexts(batch) => batch.places(i).to_vec(),
                        Operand::Plaintext { place, .. } => vec![*place],
                    })
                    .collect(),
                outputs: outputs.iter().flat_map(|room| room.places(i)).collect(),
            }
        }));
        Ok(Rooms { outputs, count })
    }
}

/// Where the results of one run go, and how many ciphertexts its batches hold.
struct Rooms {
    outputs: Vec<Room>,
    count: usize,
}

/// The estimates of the outputs of a recording. Inputs may have any errors in common.
fn estimates(
    slots: usize,
    (tape, vectors): (&Tape, &[Tracked]),
    declared: &[InputShape],
    outputs: &[Node],
    inputs: &[Estimate],
) -> Result<Vec<Estimate>> {
    if inputs.len() != declared.len() {
        return Err(Error::Length {
            what: "the list of estimates",
            found: inputs.len(),
            rule: format!("there are {} inputs", declared.len()),
        });
    }
    let known = |(i, (shape, of)): (usize, (&InputShape, &Estimate))| {
        let own = match shape {
            InputShape::Ciphertexts { slots, .. } => *slots,
            InputShape::Plaintext { .. } => slots,
        };
        let mask = Mask::of(salt("an input", &[i as u64]));
        Tracked::exact(slots, own, mask, of.magnitude).with_estimate(*of)
    };
    let known = declared.iter().zip(inputs).enumerate().map(known).collect();
    let all = tape.run(known, vectors)?;
    Ok(outputs.iter().map(|node| all[node.estimate].estimate()).collect())
}

impl Recording {
    /// What is known of ciphertext `i` of an operand.
    fn known(&self, operand: &Operand<'_>, i: usize) -> Tracked {
        match operand {
            Operand::Ciphertexts(batch) => batch.known()[i].clone(),
            Operand::Plaintext { magnitude, digest, .. } => {
                Tracked::plain(self.shared.set.slots(), *digest, *magnitude)
            }
        }
    }
}

/// Does `other` on a thread beside `own` where that is worth it, else one after the other.
fn beside<A: Send, B>(
    is_worth_it: bool,
    other: impl Fn() -> A + Sync,
    own: impl FnOnce() -> B,
) -> (A, B) {
    // A browser has no threads.
    if cfg!(target_family = "wasm") {
        return (other(), own());
    }
    std::thread::scope(|scope| {
        let name = || std::thread::Builder::new().name("girih lowering".into());
        // Threads may run out.
        let thread = is_worth_it.then(|| name().spawn_scoped(scope, &other).ok()).flatten();
        let own = own();
        let other = match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => other(),
        };
        (other, own)
    })
}

/// Keys of bootstrappings are for one number of slots, which a rotation that is missing does not
/// say.
fn with_slots_named(error: Error, bootstrapped: Option<usize>) -> Error {
    match (error, bootstrapped) {
        (Error::MissingKey { wanted, mut held }, Some(slots)) => {
            held += &format!(
                "; a bootstrapping of {slots} slots is part of this, and `Bootstrapping::keys` \
                 names the keys for so many"
            );
            Error::MissingKey { wanted, held }
        }
        (error, _) => error,
    }
}

fn check_input(
    shared: &Arc<Shared>,
    number: usize,
    batch: &Ciphertexts,
    wanted: InputShape,
) -> Result<()> {
    batch.check_server(shared)?;
    let InputShape::Ciphertexts { level, scale, slots } = wanted else {
        return Err(Error::Shape {
            operation: format!("input {number}"),
            rule: "a plaintext is needed".into(),
        });
    };
    let scale = f64::from_bits(scale);
    if batch.level() != level {
        return Err(Error::Level {
            operation: format!("input {number}"),
            level: batch.level(),
            rule: format!("recorded for level {level}: adjust it, or record for its level"),
        });
    }
    if !shared.set.scales_agree(batch.scale(), scale) {
        return Err(Error::Scale {
            operation: format!("input {number}"),
            rule: format!(
                "it has scale 2^{:.4}, and the recording is for 2^{:.4}",
                batch.scale().log2(),
                scale.log2()
            ),
        });
    }
    if batch.slots() != slots {
        return Err(Error::Shape {
            operation: format!("input {number}"),
            rule: format!("it has {} slots, and the recording is for {slots}", batch.slots()),
        });
    }
    Ok(())
}
