//! Levels and places: what runs together,
//! and where its results stay until their last reader has run.

use super::cover::Cover;
use super::form::{Form, MAX_LEAVES};
use super::graph::{Graph, Literal, Node};

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
    pub operands: [(Source, i32); MAX_LEAVES],
    /// Added to the combination, in units of q/4.
    pub quarters: u32,
    /// The window is that of XOR, else that of AND.
    pub xor: bool,
    /// Where the result goes.
    pub slot: u32,
    /// Sum of squared weights where the margin is q/8.
    pub variance: u32,
    /// Sum of the weights without their signs.
    pub weight: u32,
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
}

/// A node to be bootstrapped.
#[derive(Clone, Copy)]
struct Cell<'a> {
    node: u32,
    leaves: &'a [u32],
    form: Form,
}

/// Places of results: those given back are handed out first.
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

/// Puts every node on the first level at which it can run, and places on slots.
pub(super) fn schedule(graph: &Graph, cover: &Cover<'_>) -> Program {
    let outputs: Vec<Literal> = graph.outputs.iter().map(|&o| cover.resolve(o)).collect();
    let (levels, mut last_level) = levels(graph, cover);
    outputs.iter().for_each(|o| last_level[o.node() as usize] = usize::MAX);
    let mut placed: Vec<Option<Placed>> = graph.nodes.iter().map(placed_input).collect();
    let mut slots = Slots::default();
    // Slots by the level that reads them last.
    let mut dying: Vec<Vec<u32>> = vec![Vec::new(); levels.len()];
    let mut program =
        Program { levels: Vec::with_capacity(levels.len()), outputs: Vec::new(), slots: 0 };
    for (level, cells) in levels.iter().enumerate() {
        let mut instructions = Vec::with_capacity(cells.len());
        for cell in cells {
            let (instruction, inverted) = instruction(cell, &placed, slots.take());
            placed[cell.node as usize] =
                Some(Placed { source: Source::Slot(instruction.slot), inverted });
            if let Some(dying) = dying.get_mut(last_level[cell.node as usize]) {
                dying.push(instruction.slot);
            }
            instructions.push(instruction);
        }
        // Jobs of one list run in any order, so a slot is free only after the whole level that
        // reads it last.
        slots.free.append(&mut dying[level]);
        program.levels.push(instructions);
    }
    program.slots = slots.count;
    program.outputs = outputs.iter().map(|&o| output(o, &placed)).collect();
    program
}

/// The cells of each level, and for each node the last level that reads it.
fn levels<'a>(graph: &Graph, cover: &'a Cover<'_>) -> (Vec<Vec<Cell<'a>>>, Vec<usize>) {
    let mut levels: Vec<Vec<Cell<'_>>> = Vec::new();
    // The first level that may read a node: 0 for inputs.
    let mut ready = vec![0; graph.nodes.len()];
    let mut last_level = vec![0; graph.nodes.len()];
    for (node, leaves, form) in cover.chosen() {
        let level = leaves.iter().map(|&l| ready[l as usize]).max().unwrap_or(0);
        leaves.iter().for_each(|&l| last_level[l as usize] = last_level[l as usize].max(level));
        ready[node as usize] = level + 1;
        levels.resize(levels.len().max(level + 1), Vec::new());
        levels[level].push(Cell { node, leaves, form });
    }
    (levels, last_level)
}

fn placed_input(node: &Node) -> Option<Placed> {
    match *node {
        Node::Input(index) => Some(Placed { source: Source::Input(index), inverted: false }),
        _ => None,
    }
}

fn output(literal: Literal, placed: &[Option<Placed>]) -> Output {
    match placed[literal.node() as usize] {
        Some(place) => {
            Output::Bit { source: place.source, negated: place.inverted != literal.inverted() }
        }
        // Only node 0 has no place: false, or true where it is inverted.
        None => Output::Constant(literal.inverted()),
    }
}

/// A cell on placed operands, and whether what it stores is the inverse of its node.
fn instruction(cell: &Cell<'_>, placed: &[Option<Placed>], slot: u32) -> (Instruction, bool) {
    let Cell { leaves, form, .. } = cell;
    let mut operands = [(Source::Input(0), 0); MAX_LEAVES];
    let (mut quarters, mut inverted) = (0, form.inverted);
    for (i, &leaf) in leaves.iter().enumerate() {
        let place = placed[leaf as usize].expect("operands come before their readers");
        let weight = if form.core >> i & 1 == 0 {
            // The inverse of a bit of weight 2 turns the result over.
            inverted ^= place.inverted;
            2
        } else if (form.negated >> i & 1 == 1) == place.inverted {
            1
        } else {
            // 1 - b
            quarters += 1;
            -1
        };
        operands[i] = (place.source, weight);
    }
    (
        Instruction {
            operands,
            quarters,
            xor: form.core == 0,
            slot,
            variance: form.variance(),
            weight: form.weight(),
        },
        inverted,
    )
}
