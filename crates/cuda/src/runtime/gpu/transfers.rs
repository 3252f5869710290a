//! Copies between host and device, piece by piece through pinned memory, and between devices.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use super::Gpu;
use super::staging::{PIECE_BYTES, PIECES, copy_on_all_threads};
use crate::runtime::machine::{Machine, Queue};
use cudarc::driver::{result, sys};
use girih_backend::{Result, timeline};
use std::collections::VecDeque;
use std::sync::PoisonError;

impl Gpu {
    /// Uploads; the context is current.
    pub(super) fn copy_in(&self, to: u64, bytes: &[u8]) -> Result<()> {
        let stream = self.stream(Queue::UPLOADS);
        let mut staging = self.staging(0);
        for (i, chunk) in bytes.chunks(PIECE_BYTES).enumerate() {
            let (memory, event) = self.next_piece(&mut staging)?;
            // SAFETY: a piece has PIECE_BYTES bytes and no copy of it is in flight; the device
            // copies it before the event, and nobody writes it before waiting for that.
            let pinned = unsafe { std::slice::from_raw_parts_mut(memory, chunk.len()) };
            let span = timeline::host("copy in");
            copy_on_all_threads(chunk, pinned);
            drop(span);
            // SAFETY: as above; `to` lies in a live buffer with room for all bytes.
            let copy = || unsafe {
                result::memcpy_htod_async(to + (i * PIECE_BYTES) as u64, pinned, stream)
            };
            let what = || format!("{} bytes", chunk.len());
            self.spans
                .around(stream, Queue::UPLOADS, what, copy)
                .map_err(|e| self.failed("uploading", e))?;
            self.record(event, stream)?;
        }
        Ok(())
    }

    /// Downloads; the context is current.
    pub(super) fn copy_out(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        let stream = self.stream(Queue::DOWNLOADS);
        let mut staging = self.staging(1);
        let mut flying = VecDeque::new();
        for (i, chunk) in bytes.chunks_mut(PIECE_BYTES).enumerate() {
            if flying.len() == PIECES[1] - 1 {
                self.land(flying.pop_front())?;
            }
            let (memory, event) = self.next_piece(&mut staging)?;
            let len = chunk.len();
            // SAFETY: as in `copy_in`, the other way round.
            let pinned = unsafe { std::slice::from_raw_parts_mut(memory, len) };
            // SAFETY: as above; `from` lies in a live buffer that holds all bytes.
            let copy = || unsafe {
                result::memcpy_dtoh_async(pinned, from + (i * PIECE_BYTES) as u64, stream)
            };
            let what = || format!("{len} bytes");
            self.spans
                .around(stream, Queue::DOWNLOADS, what, copy)
                .map_err(|e| self.failed("downloading", e))?;
            self.record(event, stream)?;
            flying.push_back((memory, event, chunk));
        }
        flying.into_iter().try_for_each(|landing| self.land(Some(landing)))
    }

    /// Lets this context reach the memory of `context`, where the hardware has a way; copies go
    /// through the host where it has none.
    fn reach(&self, context: sys::CUcontext) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if context != self.context && peers.insert(context as usize) {
            // Whatever it answers, copies work.
            // SAFETY: both contexts are retained, this one is current.
            let _ = unsafe { sys::cuCtxEnablePeerAccess(context, 0) };
        }
    }

    /// Copies (from, to, bytes) in `queue` from the memory of the context of another device behind
    /// its event, and lets its stream wait for that. This context is current before.
    pub(super) fn copy_from_peer(
        &self,
        queue: Queue,
        (context, stream, event): (sys::CUcontext, sys::CUstream, sys::CUevent),
        (from, to, bytes): (u64, u64, usize),
    ) -> Result<()> {
        self.reach(context);
        let own = self.stream(queue);
        self.wait_for(own, event)?;
        // SAFETY: both ranges lie in live buffers of these contexts.
        let copy =
            || unsafe { result::memcpy_peer_async(self.context, to, context, from, bytes, own) };
        self.spans
            .around(own, queue, || format!("{bytes} bytes from another device"), copy)
            .map_err(|e| self.failed("copying from another device", e))?;
        let done = self.event_of(self.mark(queue)?);
        // SAFETY: whoever made the offer retains its context.
        unsafe { result::ctx::set_current(context) }
            .map_err(|e| self.failed("entering another device's context", e))?;
        self.wait_for(stream, done)
    }
}
