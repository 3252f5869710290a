//! From a netlist to levels of bootstrappings.

mod cover;
mod cut;
mod form;
mod graph;
mod schedule;

pub(crate) use schedule::{Instruction, Output, Program, Source};

use crate::Netlist;

impl Program {
    /// The program of a netlist, whose bootstrappings have at most `budget` times the noise
    /// variance of one ciphertext at a margin of q/8.
    pub(crate) fn new(netlist: &Netlist, budget: u32) -> Self {
        let graph = graph::Graph::new(netlist);
        let cover = cover::Cover::new(&graph, budget);
        schedule::schedule(&graph, &cover)
    }
}
