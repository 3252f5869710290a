//! When the device did what, for [`girih_backend::timeline`]:
//! a pair of events around each copy and launch.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use crate::runtime::machine::Queue;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use girih_backend::timeline;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Work that was queued while the timeline was on; the events are the owner's to destroy.
struct Open {
    queue: Queue,
    what: String,
    begin: sys::CUevent,
    end: sys::CUevent,
}

// SAFETY: events may be used from any thread whose current context is theirs.
unsafe impl Send for Open {}

/// The spans of one device that are not reported yet.
#[derive(Default)]
pub(crate) struct DeviceSpans(Mutex<Vec<Open>>);

/// An event recorded on `stream` that keeps time.
fn event_on(stream: sys::CUstream) -> Result<sys::CUevent, DriverError> {
    let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
    // SAFETY: the event was just created in the current context, the caller's stream is alive.
    unsafe { result::event::record(event, stream) }?;
    Ok(event)
}

impl DeviceSpans {
    /// Queues `work` on the stream of `queue`, between events where the timeline is on. The context
    /// is current.
    pub fn around(
        &self,
        stream: sys::CUstream,
        queue: Queue,
        what: impl FnOnce() -> String,
        work: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        if !timeline::is_on() {
            return work();
        }
        let begin = event_on(stream)?;
        work()?;
        let open = Open { queue, what: what(), begin, end: event_on(stream)? };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(open);
        Ok(())
    }

    /// Hands everything to the timeline. All streams are idle, the context is current.
    pub fn report(&self, stream: sys::CUstream) -> Result<(), DriverError> {
        let spans = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if spans.is_empty() {
            return Ok(());
        }
        let now = event_on(stream)?;
        // SAFETY: all events are of the current context and recorded; each is destroyed once.
        unsafe {
            result::event::synchronize(now)?;
            let at = Instant::now();
            for Open { queue, what, begin, end } in spans {
                let seconds = |event| {
                    Ok::<_, DriverError>(f64::from(result::event::elapsed(event, now)?) / 1e3)
                };
                timeline::add(queue.name, &what, at, -seconds(begin)?, -seconds(end)?);
                result::event::destroy(begin)?;
                result::event::destroy(end)?;
            }
            result::event::destroy(now)
        }
    }
}
