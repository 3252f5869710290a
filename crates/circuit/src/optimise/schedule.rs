//! Levels and places: what runs together, and where its results stay until their last reader has run.

use super::cover::Cover;
use super::graph::{Graph, Node};

/// Where a bit is while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A bit of the inputs.
    Input(u32),
    /// A place of the program's own.
    Slot(u32),
}

/// One bootstrapping of a bit.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// What it reads, with weights; weight 0 for unused ones.
    pub operands: [(Source, i32); 4],
    /// Added to the combination, in units of q/4.
    pub quarters: u32,
    /// The window is that of XOR, else that of AND.
    pub xor: bool,
    /// Where the result goes.
    pub slot: u32,
    /// Sum of squared weights where the margin is q/8.
    pub variance: u32,
}

/// Where an output bit is when all levels have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Constant(bool),
    Bit { source: Source, negated: bool },
}

/// A circuit as levels of independent bootstrappings.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub levels: Vec<Vec<Instruction>>,
    pub outputs: Vec<Output>,
    /// Places that results need at most at one time.
    pub slots: u32,
}

/// A node that has been placed.
#[derive(Clone, Copy)]
struct Placed {
    source: Source,
    /// What is stored is the inverse.
    inverted: bool,
    /// Level at which it is ready, 0 for inputs.
    level: usize,
}

/// Slots that are free, lowest number on top as far as order of freeing allows.
#[derive(Default)]
struct Slots {
    free: Vec<u32>,
    count: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

pub(super) fn schedule(graph: &Graph, cover: &Cover<'_>) -> Program {
    let mut placed: Vec<Option<Placed>> = graph.nodes.iter().map(placed_input).collect();
    let mut levels: Vec<Vec<u32>> = Vec::new();
    let mut last_level = vec![0; graph.nodes.len()];
    for (node, leaves, _) in cover.chosen() {
        let level = 1 + leaves.iter().filter_map(|&l| placed[l as usize]).map(|p| p.level).max().unwrap_or(0);
        leaves.iter().for_each(|&l| last_level[l as usize] = last_level[l as usize].max(level));
        placed[node as usize] = Some(Placed { source: Source::Slot(0), inverted: false, level });
        levels.resize(levels.len().max(level), Vec::new());
        levels[level - 1].push(node);
    }
    for output in &graph.outputs {
        last_level[cover.resolve(*output).node() as usize] = usize::MAX;
    }
    let cells: std::collections::HashMap<u32, _> = cover.chosen().map(|(node, leaves, form)| (node, (leaves, form))).collect();
    let mut slots = Slots::default();
    let mut program = Program { levels: Vec::with_capacity(levels.len()), outputs: Vec::new(), slots: 0 };
    let mut dying: Vec<Vec<u32>> = vec![Vec::new(); levels.len() + 1];
    for (nodes, level) in levels.iter().zip(1..) {
        let mut instructions = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let (leaves, form) = cells[&node];
            let (instruction, inverted) = instruction(leaves, form, &placed, slots.take());
            placed[node as usize] = Some(Placed { source: Source::Slot(instruction.slot), inverted, level });
            if let Some(dying) = dying.get_mut(last_level[node as usize]) {
                dying.push(instruction.slot);
            }
            instructions.push(instruction);
        }
        // Jobs of one list run in any order, so a place is free only after the whole level that reads it last.
        slots.free.append(&mut dying[level]);
        program.levels.push(instructions);
    }
    program.slots = slots.count;
    program.outputs = graph.outputs.iter().map(|&o| output(cover.resolve(o).node(), cover.resolve(o).inverted(), &placed)).collect();
    program
}

fn placed_input(node: &Node) -> Option<Placed> {
    match *node {
        Node::Input(index) => Some(Placed { source: Source::Input(index), inverted: false, level: 0 }),
        _ => None,
    }
}

fn output(node: u32, inverted: bool, placed: &[Option<Placed>]) -> Output {
    match placed[node as usize] {
        Some(place) => Output::Bit { source: place.source, negated: place.inverted != inverted },
        None => Output::Constant(inverted),
    }
}

/// A form on placed operands, and whether what it stores is the inverse of its node.
fn instruction(leaves: &[u32], form: super::form::Form, placed: &[Option<Placed>], slot: u32) -> (Instruction, bool) {
    let mut operands = [(Source::Input(0), 0); 4];
    let (mut quarters, mut inverted) = (0, form.inverted);
    for (i, &leaf) in leaves.iter().enumerate() {
        let place = placed[leaf as usize].expect("operands come before their readers");
        let in_core = form.core >> i & 1 == 1;
        let negated = in_core && (form.negated >> i & 1 == 1) != place.inverted;
        // 1 - b for a negated bit of the core; a negated bit of weight 2 turns the result over.
        inverted ^= !in_core && place.inverted;
        quarters += u32::from(negated);
        operands[i] = (
            place.source,
            if !in_core {
                2
            } else if negated {
                -1
            } else {
                1
            },
        );
    }
    (Instruction { operands, quarters, xor: form.core == 0, slot, variance: form.variance() }, inverted)
}
