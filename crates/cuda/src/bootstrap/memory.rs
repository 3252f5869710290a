//! Device memory that calls change, and who has to wait for whom.

use crate::runtime::machine::{Buffer, Machine, Mark, Queue};
use crate::runtime::order::{Marks, Order, span};
use girih_backend::{BootstrapJob, BootstrapShape, Combination, Result};
use std::ops::Range;
use std::sync::Arc;

/// Device memory that calls change.
pub(crate) struct Memory {
    /// `[ciphertext][n + r]`.
    pub store: Buffer,
    pub order: Order,
    /// `[table][N]`.
    pub tables: Buffer,
    /// The same of test polynomials as `order` of ciphertexts.
    pub table_order: Order,
    pub lanes: [Lane; 2],
    /// The lane of the latest call.
    pub lane: usize,
    /// Behind the latest call that took its turn.
    pub turn: Option<Mark>,
}

/// One of two places for calls, in turns: while one is at work, the next one's jobs arrive, and its
/// rotations begin where that pays.
pub(crate) struct Lane {
    pub jobs: Buffer,
    /// `[job][kN + r]` modulo Q_ks; native torus: exponents, `[job][n + r]` of 16 bits.
    pub switched: Buffer,
    /// Native torus: the digits that the key switch multiplies,
    /// and `[job][row]` between it and its rounding.
    pub digits: Buffer,
    pub sums: Buffer,
    /// Sums of key switches of which several blocks share one ciphertext: `[job][n + r]`, zero
    /// between launches.
    pub partial: Buffer,
    /// `[linear job][n + r]`.
    pub combined: Buffer,
    /// Behind the latest call here: until then it needs the buffers.
    pub last: Option<Mark>,
}

impl Memory {
    pub fn new(machine: &Arc<dyn Machine>) -> Result<Self> {
        Ok(Self {
            store: Buffer::new(machine, 0, "ciphertexts")?,
            order: Order::default(),
            tables: Buffer::new(machine, 0, "test polynomials")?,
            table_order: Order::default(),
            lanes: [Lane::new(machine)?, Lane::new(machine)?],
            lane: 0,
            turn: None,
        })
    }

    /// Begins a call that reads and writes these places: chooses its lane and tells what it has to
    /// wait for.
    pub fn begin(&mut self, reads: &Range<usize>, writes: &Range<usize>) -> Marks {
        let needed = self.order.before(reads, writes);
        // What needs the latest call's results goes behind it; independent calls take turns.
        if !self.lanes[self.lane].last.is_some_and(|last| needed.contains(last)) {
            self.lane = 1 - self.lane;
        }
        needed
    }

    /// Ends the call that began last, at `mark`.
    pub fn end(&mut self, reads: Range<usize>, writes: Range<usize>, mark: Mark) {
        self.lanes[self.lane].last = Some(mark);
        self.order.add(reads, writes, mark);
    }
}

impl Lane {
    fn new(machine: &Arc<dyn Machine>) -> Result<Self> {
        let empty = |what| Buffer::new(machine, 0, what);
        Ok(Self {
            jobs: empty("jobs")?,
            switched: empty("switched ciphertexts")?,
            digits: empty("digits of the key switch")?,
            sums: empty("sums of the key switch")?,
            partial: empty("partial sums")?,
            combined: empty("combined ciphertexts")?,
            last: None,
        })
    }

    /// Uploads jobs once the call before has done with its own, and lets `queue` wait for them
    /// (and, since uploads keep their order, for everything that was uploaded before).
    pub fn stage(&mut self, machine: &dyn Machine, queue: Queue, jobs: &[u8]) -> Result<()> {
        self.jobs.grow(Queue::UPLOADS, jobs.len(), 0, "jobs")?;
        if let Some(last) = self.last {
            machine.wait(Queue::UPLOADS, last)?;
        }
        machine.upload(self.jobs.address(), jobs)?;
        machine.wait(queue, machine.mark(Queue::UPLOADS)?)
    }
}

/// The places that combinations read, and some between them.
pub(crate) fn read_by<'a>(inputs: impl Iterator<Item = &'a Combination>) -> Range<usize> {
    span(inputs.flat_map(|c| c.operands.iter().filter(|o| o.weight != 0).map(|o| o.ciphertext)))
}

/// The test polynomials that jobs look up, and some between them.
pub(crate) fn tables_read_by(jobs: &[BootstrapJob], shape: &BootstrapShape) -> Range<usize> {
    span(jobs.iter().flat_map(|j| [j.table, j.table + j.table_stride * (shape.packing as u32 - 1)]))
}
