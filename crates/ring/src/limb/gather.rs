//! Automorphisms of evaluations, sixteen words at a time. See
//! [`Automorphism`](crate::Automorphism).

use super::lanes::{WordKernel, WordLanes};

/// Words of a run: a run of the image comes from one run, permuted in one of sixteen ways.
pub(crate) const RUN: usize = 16;

/// Runs of an image.
pub(crate) struct Gather<'a> {
    /// Whole runs, of which the first is number `first`.
    pub(crate) input: &'a [u32],
    pub(crate) first: usize,
    /// For each run of `out`, 16 times the run it comes from plus the shift inside.
    pub(crate) runs: &'a [u32],
    /// Where each word of a run comes from, by shift.
    pub(crate) lanes: &'a [[u32; RUN]; RUN],
    pub(crate) out: &'a mut [u32],
}

impl WordKernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: WordLanes>(self, l: L) {
        let (input, _) = self.input.as_chunks::<RUN>();
        let (out, _) = self.out.as_chunks_mut::<RUN>();
        for (&run, out) in self.runs.iter().zip(out) {
            let (source, shift) = (run as usize / RUN, run as usize % RUN);
            l.permute16(&input[source - self.first], &self.lanes[shift], out);
        }
    }
}
