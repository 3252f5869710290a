//! From a netlist to levels of bootstrappings.

mod balance;
mod cover;
mod cut;
mod form;
mod graph;
mod schedule;

pub(crate) use cut::Cut;
pub(crate) use form::{Form, VARIABLES};
pub(crate) use graph::{Graph, Literal, Node};
pub(crate) use schedule::{Instruction, Output, Program, Source};

use crate::Netlist;

impl Program {
    /// The program of a netlist, whose bootstrappings have at most `budget` times the noise
    /// variance of one ciphertext at a margin of q/8.
    pub(crate) fn new(netlist: &Netlist, budget: u32) -> Self {
        let graph = graph::Graph::new(netlist);
        let given = Self::of_graph(&graph, budget);
        let Some(balanced) = balance::balanced(&graph) else { return given };
        let balanced = Self::of_graph(&balanced, budget);
        // Trees may hide functions that one bootstrapping computes: levels may not cost more work.
        let (levels, bootstraps) = given.cost();
        let (fewer_levels, other) = balanced.cost();
        let gains = other <= bootstraps && (fewer_levels, other) < (levels, bootstraps);
        if gains { balanced } else { given }
    }

    fn of_graph(graph: &graph::Graph, budget: u32) -> Self {
        let cover = cover::Cover::new(graph, budget);
        schedule::schedule(graph, &cover)
    }

    /// Levels, and bootstrappings.
    fn cost(&self) -> (usize, usize) {
        (self.levels.len(), self.levels.iter().map(Vec::len).sum())
    }
}
