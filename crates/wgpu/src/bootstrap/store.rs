//! Ciphertexts that live on the device, in as many buffers as the largest binding makes necessary.
//!
//! Kernels address one binding. A store of one buffer is bound as it is; of several, the
//! *segments*, each job's combination is first added up from segment to segment in a buffer of one
//! chunk of jobs, and results go from there to their segments: whole dispatches of `combine`, none
//! of them on the host.

use crate::bootstrap::job::{GpuJob, GpuLaunch, Script};
use crate::bootstrap::variant::COMBINE_THREADS;
use crate::runtime::gpu::{Gpu, Pipeline, STORAGE};
use crate::runtime::script::Dispatch;
use crate::runtime::upload::Uploads;
use crate::runtime::waits::{Download, PIECE};
use girih_backend::{BackendError, BootstrapShape, Combination, Operand, Result};

/// The store of one engine.
pub(crate) struct Store {
    segments: Vec<wgpu::Buffer>,
    /// 32-bit words of a ciphertext, and those that one thread combines.
    length: usize,
    thread_words: usize,
    /// Ciphertexts of a full segment.
    per_segment: usize,
}

/// A run of ciphertexts within one segment.
struct Run {
    segment: usize,
    /// First byte within the segment.
    offset: u64,
    /// Words of the whole range that this run holds.
    words: std::ops::Range<usize>,
}

/// What is read at once: words of one segment.
pub(crate) struct Piece {
    segment: usize,
    first: u64,
    pub words: usize,
}

impl Store {
    /// An empty store of ciphertexts of `shape`.
    pub fn new(gpu: &Gpu, shape: &BootstrapShape) -> Self {
        let length = shape.ciphertext_len();
        Self {
            segments: Vec::new(),
            length,
            thread_words: if shape.is_torus() { 2 } else { 1 },
            per_segment: (gpu.binding_bytes() / (4 * length as u64)).max(1) as usize,
        }
    }

    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    pub fn per_segment(&self) -> usize {
        self.per_segment
    }

    /// The one buffer of a store that has one.
    pub fn whole(&self) -> Option<&wgpu::Buffer> {
        match &self.segments[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    fn bytes(&self, ciphertexts: usize) -> u64 {
        4 * (ciphertexts * self.length) as u64
    }

    /// Makes room for `ciphertexts`, more than the `stored` that there are; after an error the
    /// store is as it was.
    pub fn grow(&mut self, gpu: &Gpu, stored: usize, ciphertexts: usize) -> Result<()> {
        if let Some(most) = gpu.memory_bytes.filter(|&most| self.bytes(ciphertexts) > most) {
            let what = format!(
                "a store of {ciphertexts} ciphertexts (this device has {most} bytes of memory)"
            );
            return Err(BackendError::OutOfMemory {
                device: gpu.name.clone(),
                bytes: self.bytes(ciphertexts),
                what,
            });
        }
        let before = self.segments.len();
        for segment in stored / self.per_segment..ciphertexts.div_ceil(self.per_segment) {
            let within =
                |n: usize| n.saturating_sub(segment * self.per_segment).min(self.per_segment);
            if let Err(error) =
                self.reserve_segment(gpu, segment, within(stored), within(ciphertexts))
            {
                self.segments.truncate(before);
                return Err(self.refusal(error, stored, ciphertexts));
            }
        }
        gpu.check("reserve")
    }

    fn reserve_segment(
        &mut self,
        gpu: &Gpu,
        segment: usize,
        kept: usize,
        wanted: usize,
    ) -> Result<()> {
        let old = self.segments.get(segment);
        if old.is_some_and(|b| b.size() >= self.bytes(wanted)) {
            return Ok(());
        }
        // Growing by half again keeps a store that grows by one from copying itself each time.
        let roomy = wanted.max(kept + kept / 2).min(self.per_segment);
        let new = gpu.buffer(self.bytes(roomy), STORAGE, "the ciphertext store")?;
        match old {
            Some(old) => {
                gpu.copy(old, &new, self.bytes(kept));
                self.segments[segment] = new;
            }
            None => self.segments.push(new),
        }
        Ok(())
    }

    /// Names the whole store, of which one buffer was refused.
    fn refusal(&self, error: BackendError, stored: usize, ciphertexts: usize) -> BackendError {
        match error {
            BackendError::OutOfMemory { device, bytes, what } => BackendError::OutOfMemory {
                device,
                bytes: self.bytes(ciphertexts),
                what: format!(
                    "a store of {ciphertexts} ciphertexts (it has {stored}; the buffer that was \
                     refused is one of {bytes} bytes for {what})"
                ),
            },
            other => other,
        }
    }

    /// The runs of `words` words from ciphertext `first` on, which lie within the store.
    fn runs(&self, first: usize, words: usize) -> impl Iterator<Item = Run> + use<> {
        let (length, per_segment) = (self.length, self.per_segment);
        let last = first + words / length;
        (first / per_segment..last.div_ceil(per_segment)).map(move |segment| {
            let (from, to) =
                (first.max(segment * per_segment), last.min((segment + 1) * per_segment));
            Run {
                segment,
                offset: 4 * ((from - segment * per_segment) * length) as u64,
                words: (from - first) * length..(to - first) * length,
            }
        })
    }

    /// Copies whole ciphertexts in from ciphertext `first` on; the range has been checked.
    pub fn write(
        &self,
        gpu: &Gpu,
        uploads: &mut Uploads,
        first: usize,
        words: &[u32],
    ) -> Result<()> {
        self.runs(first, words.len()).try_for_each(|run| {
            uploads.write(gpu, &self.segments[run.segment], run.offset, &words[run.words])
        })
    }

    /// The pieces, first word and words, in which whole ciphertexts from ciphertext `first` on are
    /// read; the range has been checked.
    pub fn pieces(&self, first: usize, words: usize) -> Vec<Piece> {
        let pieces = |run: Run| {
            let (segment, offset) = (run.segment, run.offset / 4);
            let starts = (0..run.words.len()).step_by(PIECE);
            starts.map(move |at| Piece {
                segment,
                first: offset + at as u64,
                words: PIECE.min(run.words.len() - at),
            })
        };
        self.runs(first, words).flat_map(pieces).collect()
    }

    /// Begins to copy a piece out.
    pub fn begin_read(
        &self,
        gpu: &Gpu,
        staging: &mut Option<wgpu::Buffer>,
        piece: &Piece,
    ) -> Result<Download> {
        gpu.begin_read(&self.segments[piece.segment], piece.first, piece.words, staging)
    }

    /// Segment of a ciphertext, and its place there.
    fn locate(&self, ciphertext: u32) -> (usize, u32) {
        (ciphertext as usize / self.per_segment, (ciphertext as usize % self.per_segment) as u32)
    }

    /// Adds dispatches that leave the combination of the i-th of `inputs` at place i of `gathered`.
    pub fn gather<'a>(
        &'a self,
        script: &mut Script<'a>,
        combine: &'a Pipeline,
        inputs: impl Iterator<Item = &'a Combination>,
        gathered: &'a wgpu::Buffer,
    ) {
        let mut lists = vec![Vec::new(); self.segments.len()];
        for (place, input) in inputs.enumerate() {
            let mut constant = input.constant;
            for (segment, list) in lists.iter_mut().enumerate() {
                let here = |o: &Operand| self.locate(o.ciphertext).0 == segment;
                let operands: Vec<Operand> = input
                    .used()
                    .filter(here)
                    .map(|o| Operand { ciphertext: self.locate(o.ciphertext).1, weight: o.weight })
                    .collect();
                // The constant goes with segment 0, operands there or not,
                // so that it is added once.
                let constant = std::mem::take(&mut constant);
                if !operands.is_empty() || constant != 0 {
                    list.push(GpuJob::new(
                        &Combination::new(&operands, constant, input.log2_modulus),
                        input.log2_modulus,
                        place as u32,
                    ));
                }
            }
        }
        script.clear = Some(gathered);
        for (segment, list) in self.segments.iter().zip(lists) {
            self.push(script, combine, [segment, gathered], list, true);
        }
    }

    /// Adds dispatches that store what lies at place i of `gathered`, modulo `2^from`, as the i-th
    /// of `outputs`: rounded to modulo `2^to` at that index of the store.
    pub fn scatter<'a>(
        &'a self,
        script: &mut Script<'a>,
        combine: &'a Pipeline,
        outputs: impl Iterator<Item = (u32, u32, u32)>,
        gathered: &'a wgpu::Buffer,
    ) {
        let mut lists = vec![Vec::new(); self.segments.len()];
        for (place, (from, to, output)) in outputs.enumerate() {
            let (segment, output) = self.locate(output);
            let operand = Operand { ciphertext: place as u32, weight: 1 };
            lists[segment].push(GpuJob::new(&Combination::new(&[operand], 0, from), to, output));
        }
        for (segment, list) in self.segments.iter().zip(lists) {
            self.push(script, combine, [gathered, segment], list, false);
        }
    }

    fn push<'a>(
        &self,
        script: &mut Script<'a>,
        combine: &'a Pipeline,
        buffers: [&'a wgpu::Buffer; 2],
        list: Vec<GpuJob>,
        add: bool,
    ) {
        if list.is_empty() {
            return;
        }
        script.dispatches.push(Dispatch {
            kernel: combine,
            buffers: buffers.into(),
            launch: GpuLaunch {
                first_job: script.jobs.len() as u32,
                add: u32::from(add),
                ..Default::default()
            },
            groups: [list.len(), self.length.div_ceil(self.thread_words * COMBINE_THREADS), 1],
        });
        script.jobs.extend(list);
    }
}
