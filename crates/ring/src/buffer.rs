//! Memory aligned for the widest vector, on huge pages where it is large.
// Allocation with an alignment that Vec cannot give, and advice to the kernel about it.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

mod sealed {
    /// Numbers of which zero bytes are one, and which need no drop.
    pub trait Plain: Copy {}
    impl Plain for f64 {}
    impl Plain for u32 {}
}

/// Zero-initialised doubles or words, aligned to a cache line, or to a page where there is a page
/// of them; buffers above a few MiB sit on huge pages where the system has them.
///
/// A key of 100 MiB on 4 KiB pages streams at little more than half the speed: the prefetcher stops
/// at every page.
pub struct AlignedBuffer<T: sealed::Plain> {
    start: NonNull<T>,
    len: usize,
}

const LINE_BYTES: usize = 64;
const PAGE_BYTES: usize = 4096;
const HUGE_PAGE_BYTES: usize = 2 << 20;

impl<T: sealed::Plain> AlignedBuffer<T> {
    /// `len` zeros, or `None` where memory runs out.
    pub fn new(len: usize) -> Option<Self> {
        let layout = Self::layout(len)?;
        // SAFETY: the layout has a size above zero.
        let start = NonNull::new(unsafe { alloc(layout) }.cast::<T>())?;
        // Before the first touch: pages already there stay small.
        advise_huge_pages(start.cast(), layout);
        // SAFETY: the allocation has room for `len` numbers, and zero bytes are the number 0.
        unsafe { start.write_bytes(0, len) };
        Some(Self { start, len })
    }

    fn layout(len: usize) -> Option<Layout> {
        let bytes = len.checked_mul(size_of::<T>())?.max(LINE_BYTES);
        let align = match bytes {
            _ if bytes >= 2 * HUGE_PAGE_BYTES => HUGE_PAGE_BYTES,
            _ if bytes >= PAGE_BYTES => PAGE_BYTES,
            _ => LINE_BYTES,
        };
        Layout::from_size_align(bytes, align).ok()
    }
}

#[cfg(target_os = "linux")]
fn advise_huge_pages(start: NonNull<u8>, layout: Layout) {
    if layout.align() == HUGE_PAGE_BYTES {
        let whole_pages = layout.size() / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        // SAFETY: the range lies inside one allocation of ours; the advice changes no contents.
        // Refusal costs speed only.
        unsafe { libc::madvise(start.as_ptr().cast(), whole_pages, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_: NonNull<u8>, _: Layout) {}

impl<T: sealed::Plain> Drop for AlignedBuffer<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.len) {
            // SAFETY: allocated in `new` with this very layout.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) }
        }
    }
}

impl<T: sealed::Plain> Deref for AlignedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` numbers, initialised to zero at allocation, owned by self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: sealed::Plain> DerefMut for AlignedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: a buffer owns its memory as a Vec does, and gives it out under the same borrowing rules.
unsafe impl<T: sealed::Plain + Send> Send for AlignedBuffer<T> {}
// SAFETY: as above; shared access is read-only.
unsafe impl<T: sealed::Plain + Sync> Sync for AlignedBuffer<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_ones_begin_at_pages() {
        let align = |bytes| AlignedBuffer::<f64>::layout(bytes / 8).map(|layout| layout.align());
        for (bytes, want) in [
            (0, LINE_BYTES),
            (PAGE_BYTES - 8, LINE_BYTES),
            (PAGE_BYTES, PAGE_BYTES),
            (2 * HUGE_PAGE_BYTES - 8, PAGE_BYTES),
            (2 * HUGE_PAGE_BYTES, HUGE_PAGE_BYTES),
        ] {
            assert_eq!(align(bytes), Some(want), "{bytes} bytes");
        }
    }

    #[test]
    fn aligned_zeroed_and_writable() {
        for len in [0, 1, 63, 1 << 20] {
            let mut buffer = AlignedBuffer::<f64>::new(len).expect("small");
            assert_eq!(buffer.as_ptr() as usize % LINE_BYTES, 0);
            assert!(buffer.len() == len && buffer.iter().all(|&x| x == 0.0));
            buffer.fill(1.0);
            assert!(buffer.iter().all(|&x| x == 1.0));
        }
        assert!(AlignedBuffer::<f64>::new(usize::MAX / 4).is_none());
        let words = AlignedBuffer::<u32>::new(1 << 20).expect("small");
        assert!(words.len() == 1 << 20 && words.iter().all(|&x| x == 0));
    }
}
