//! What users compute, on a host device that runs schedules by their plain reading: every
//! operation against plain arithmetic, within what the noise model says, and every refusal.

mod arithmetic;
mod bootstrapping;
mod correlated;
mod functions;
mod joined;
mod key_switching;
mod random_programs;
mod recordings;
mod room;
mod slots;
mod support;
