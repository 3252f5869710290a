//! Points of queues that others wait for: events of the driver, used again and again.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use super::Gpu;
use crate::runtime::machine::{Mark, Queue};
use cudarc::driver::{result, sys};
use girih_backend::Result;
use std::sync::{MutexGuard, PoisonError};

/// Events that the marks of a queue take in turn. One that is recorded again stands for a later
/// point, which implies the earlier.
const MARKS: usize = 64;
#[derive(Default)]
pub(super) struct Marks {
    pub events: Vec<sys::CUevent>,
    next: u64,
}

impl Gpu {
    /// Makes the events of all queues. The context is current.
    pub(super) fn make_marks(&self) -> Result<()> {
        for marks in &self.marks {
            marks.lock().unwrap_or_else(PoisonError::into_inner).events =
                (0..MARKS).map(|_| self.event()).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    fn marks(&self, queue: Queue) -> MutexGuard<'_, Marks> {
        self.marks[queue.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the next mark of a queue. The context is current.
    pub(super) fn next_mark(&self, queue: Queue) -> Result<Mark> {
        let mut marks = self.marks(queue);
        let number = marks.next;
        self.record(marks.events[(number % MARKS as u64) as usize], self.stream(queue))?;
        marks.next += 1;
        Ok(Mark { queue, number })
    }

    pub(super) fn wait_for(&self, stream: sys::CUstream, event: sys::CUevent) -> Result<()> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: stream and event are alive; the stream's context is current.
        unsafe { result::stream::wait_event(stream, event, flags) }
            .map_err(|e| self.failed("waiting for earlier work", e))
    }

    pub(super) fn event_of(&self, mark: Mark) -> sys::CUevent {
        self.marks(mark.queue).events[(mark.number % MARKS as u64) as usize]
    }
}
