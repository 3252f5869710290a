//! Cache lines that are asked for while something else is computed.
//!
//! A core waits for few lines at a time. Asked for in one burst, they make everything behind them
//! wait; a few a butterfly come for nothing.

/// Words of a cache line.
const LINE: usize = 16;

/// Words that are read or written soon: runs of equal length, equally far apart.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    first: *const u32,
    /// Lines of a run.
    lines: usize,
    /// Words from run to run.
    stride: usize,
    runs: usize,
}

impl Area {
    /// `runs` runs of `run` words, the first at `first`, `stride` words from start to start. The
    /// address is a hint: nothing is read, whatever lies there.
    pub fn strided(first: *const u32, run: usize, stride: usize, runs: usize) -> Self {
        Self { first, lines: run.div_ceil(LINE), stride, runs }
    }

    /// One run.
    pub fn of(words: &[u32]) -> Self {
        Self::strided(words.as_ptr(), words.len(), 0, 1)
    }

    fn lines(&self) -> usize {
        self.lines * self.runs
    }
}

/// Areas in the order in which they are wanted, line by line. A transform takes some lines a
/// butterfly.
#[derive(Debug)]
pub struct Ahead<'a> {
    areas: &'a [Area],
    /// Lines a stage of two vectors takes, about.
    rate: usize,
    run: usize,
    line: usize,
}

impl<'a> Ahead<'a> {
    /// Nothing.
    pub fn none() -> Self {
        Self { areas: &[], rate: 0, run: 0, line: 0 }
    }

    /// All lines of `areas`, spread over the transforms of `words` words in all, at least 256.
    pub fn over(areas: &'a [Area], words: usize) -> Self {
        let lines: usize = areas.iter().map(Area::lines).sum();
        // A row of 1,024 words takes 80 times the rate.
        Self { areas, rate: lines.div_ceil((words / 16).max(16)), run: 0, line: 0 }
    }

    /// Asks for the next lines: `weight` times the rate.
    #[inline(always)]
    pub(super) fn step(&mut self, weight: usize) {
        for _ in 0..weight * self.rate {
            let Some(area) = self.areas.first() else { return };
            if area.lines() > 0 {
                prefetch_line(area.first.wrapping_add(self.run * area.stride + self.line * LINE));
            }
            self.line += 1;
            if self.line >= area.lines {
                (self.line, self.run) = (0, self.run + 1);
                if self.run >= area.runs {
                    (self.run, self.areas) = (0, &self.areas[1..]);
                }
            }
        }
    }
}

/// Asks for a line to be brought into the second-level cache; nothing on processors for which the
/// compiler offers no such hint.
#[inline(always)]
#[allow(unsafe_code)] // The intrinsic.
fn prefetch_line(address: *const u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults nowhere, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
