//! Recorded programs, run on the host, against the published stage vectors: every word; and
//! whole bootstrappings of small rings against their messages.

mod bootstrapping;
mod joined;
#[path = "../../../../tests/vectors/reader.rs"]
mod reader;
mod support;
mod toy;
mod vectors;
