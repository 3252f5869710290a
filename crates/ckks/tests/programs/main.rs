//! Recorded programs, run on the host, against the published stage vectors: every word.

mod support;
mod vectors;
