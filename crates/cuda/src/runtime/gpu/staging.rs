//! Pinned memory between the caller's and the device's.
#![allow(unsafe_code)] // Calls the C interface of the driver.

use super::Gpu;
use cudarc::driver::{result, sys};
use girih_backend::{Result, timeline};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{LazyLock, Mutex};

/// Pieces of pinned memory through which copies go, filled and drained while others are in flight:
/// of uploads, which wait for the work before them, and of downloads.
pub(super) const PIECES: [usize; 2] = [16, 8];
pub(super) const PIECE_BYTES: usize = 4 << 20;
/// Bytes that one thread copies between staging and the caller's memory.
const COPY_BYTES: usize = 512 << 10;

/// What is shorter is copied by the calling thread: where all processors are busy, it takes longer
/// until others wake up. Polynomials of few limbs are that short.
const SHARED_BYTES: usize = 1 << 20;

/// Pieces of pinned memory, each with the event that ends its last use.
pub(super) struct Staging {
    pub pieces: Vec<(*mut u8, sys::CUevent)>,
    pub next: usize,
}

/// Threads that copy and do nothing else.
static COPIERS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new().thread_name(|i| format!("girih copy {i}")).build().ok()
});

/// Copies on all host threads: one alone is slower than the bus, and first touches of fresh pages
/// slower still.
///
/// Staging is locked meanwhile. So the copy has threads of its own, and a thread of rayon that
/// waits for it is kept from taking up other tasks, which may want the same lock.
pub(super) fn copy_on_all_threads(from: &[u8], to: &mut [u8]) {
    let copiers = COPIERS.as_ref().filter(|_| from.len() >= SHARED_BYTES);
    let Some(copiers) = copiers else { return to.copy_from_slice(from) };
    let copy = || {
        from.par_chunks(COPY_BYTES)
            .zip(to.par_chunks_mut(COPY_BYTES))
            .for_each(|(from, to)| to.copy_from_slice(from));
    };
    if rayon::current_thread_index().is_none() {
        return copiers.install(copy);
    }
    std::thread::scope(|threads| _ = threads.spawn(|| copiers.install(copy)));
}

/// A piece on its way from the device, and where its bytes belong.
pub(super) type Landing<'a> = (*mut u8, sys::CUevent, &'a mut [u8]);

impl Gpu {
    /// Allocates all pieces. The context is current.
    pub(super) fn make_staging(&mut self) -> Result<()> {
        let pieces = |count| {
            (0..count)
                .map(|_| {
                    // SAFETY: the context is current. Plain pinned memory: write-combined memory
                    // would make downloads crawl.
                    let memory = unsafe { result::malloc_host(PIECE_BYTES, 0) };
                    Ok((
                        memory
                            .map_err(|_| self.out_of_memory(PIECE_BYTES, "pinned staging"))?
                            .cast::<u8>(),
                        self.event()?,
                    ))
                })
                .collect::<Result<Vec<_>>>()
        };
        let staging = [pieces(PIECES[0])?, pieces(PIECES[1])?]
            .map(|pieces| Mutex::new(Staging { pieces, next: 0 }));
        self.staging = staging;
        Ok(())
    }

    /// The next piece, once the device has done with it.
    pub(super) fn next_piece(&self, staging: &mut Staging) -> Result<(*mut u8, sys::CUevent)> {
        let _span = timeline::host("wait for staging");
        let (memory, event) = staging.pieces[staging.next];
        staging.next = (staging.next + 1) % staging.pieces.len();
        // SAFETY: the event is alive; one that was never recorded counts as done.
        unsafe { result::event::synchronize(event) }.map_err(|e| self.failed("earlier work", e))?;
        Ok((memory, event))
    }

    /// Waits for a piece and copies it out.
    pub(super) fn land(&self, landing: Option<Landing<'_>>) -> Result<()> {
        let Some((memory, event, chunk)) = landing else { return Ok(()) };
        // SAFETY: after the event the piece holds the chunk's bytes and the
        // device has done with it.
        unsafe {
            let waiting = timeline::host("wait for a download");
            result::event::synchronize(event).map_err(|e| self.failed("downloading", e))?;
            drop(waiting);
            let _span = timeline::host("copy out");
            copy_on_all_threads(std::slice::from_raw_parts(memory, chunk.len()), chunk);
        }
        Ok(())
    }
}
