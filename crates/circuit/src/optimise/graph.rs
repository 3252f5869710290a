//! Netlists as graphs of AND and XOR with inverters on edges: constants gone, equal gates shared.

use crate::netlist::{Gate, GateKind, Netlist};
use std::collections::HashMap;

/// A node, as it is or inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Literal(u32);

impl Literal {
    pub const FALSE: Self = Self(0);
    pub const TRUE: Self = Self(1);

    pub fn new(node: u32, inverted: bool) -> Self {
        Self(node << 1 | u32::from(inverted))
    }

    pub fn node(self) -> u32 {
        self.0 >> 1
    }

    pub fn inverted(self) -> bool {
        self.0 & 1 == 1
    }

    #[must_use]
    pub fn not(self) -> Self {
        Self(self.0 ^ 1)
    }

    #[must_use]
    pub fn not_if(self, condition: bool) -> Self {
        Self(self.0 ^ u32::from(condition))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// Node 0.
    False,
    /// A bit of the inputs, counted over all buses.
    Input(u32),
    And(Literal, Literal),
    /// Inversions of operands have moved to whoever reads the result.
    Xor(u32, u32),
}

/// Nodes in an order in which operands come before their readers.
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub outputs: Vec<Literal>,
    known: HashMap<Node, u32>,
}

impl Graph {
    pub fn new(netlist: &Netlist) -> Self {
        let mut graph = Self::empty();
        let mut literals = vec![Literal::FALSE; netlist.gates().len()];
        for (index, wire) in (0..).zip(netlist.inputs().iter().flat_map(|b| &b.wires)) {
            literals[wire.index()] = Literal::new(graph.node(Node::Input(index)), false);
        }
        for (index, gate) in
            netlist.gates().iter().enumerate().filter(|(_, g)| g.kind != GateKind::Input)
        {
            literals[index] = graph.gate(gate, gate.operands.map(|w| literals[w.index()]));
        }
        graph.outputs =
            netlist.outputs().iter().flat_map(|b| &b.wires).map(|w| literals[w.index()]).collect();
        graph
    }

    /// Without inputs and gates.
    pub fn empty() -> Self {
        Self { nodes: vec![Node::False], outputs: Vec::new(), known: HashMap::new() }
    }

    /// How many nodes and outputs read each node.
    pub fn readers(&self) -> Vec<u32> {
        let mut readers = vec![0; self.nodes.len()];
        for node in &self.nodes {
            match *node {
                Node::False | Node::Input(_) => {}
                Node::And(a, b) => {
                    [a.node(), b.node()].into_iter().for_each(|n| readers[n as usize] += 1)
                }
                Node::Xor(a, b) => [a, b].into_iter().for_each(|n| readers[n as usize] += 1),
            }
        }
        self.outputs.iter().for_each(|o| readers[o.node() as usize] += 1);
        readers
    }

    /// Where a node is, which is added if it is new.
    pub fn node(&mut self, node: Node) -> u32 {
        let nodes = &mut self.nodes;
        *self.known.entry(node).or_insert_with(|| {
            nodes.push(node);
            nodes.len() as u32 - 1
        })
    }

    pub fn and(&mut self, a: Literal, b: Literal) -> Literal {
        let (a, b) = (a.min(b), a.max(b));
        match (a, b) {
            (Literal::FALSE, _) => Literal::FALSE,
            (Literal::TRUE, _) => b,
            _ if a == b => a,
            _ if a == b.not() => Literal::FALSE,
            _ => Literal::new(self.node(Node::And(a, b)), false),
        }
    }

    fn or(&mut self, a: Literal, b: Literal) -> Literal {
        self.and(a.not(), b.not()).not()
    }

    pub fn xor(&mut self, a: Literal, b: Literal) -> Literal {
        let inverted = a.inverted() != b.inverted();
        let (a, b) = (a.node().min(b.node()), a.node().max(b.node()));
        let node = match a {
            _ if a == b => 0,
            0 => b,
            _ => self.node(Node::Xor(a, b)),
        };
        Literal::new(node, inverted)
    }

    fn gate(&mut self, gate: &Gate, [a, b, c]: [Literal; 3]) -> Literal {
        match gate.kind {
            GateKind::Input | GateKind::Zero => Literal::FALSE,
            GateKind::One => Literal::TRUE,
            GateKind::Buf => a,
            GateKind::Not => a.not(),
            GateKind::And => self.and(a, b),
            GateKind::Nand => self.and(a, b).not(),
            GateKind::Or => self.or(a, b),
            GateKind::Nor => self.or(a, b).not(),
            GateKind::Xor => self.xor(a, b),
            GateKind::Xnor => self.xor(a, b).not(),
            GateKind::AndNot => self.and(a, b.not()),
            GateKind::OrNot => self.or(a, b.not()),
            GateKind::Mux => {
                let difference = self.xor(b, c);
                let change = self.and(a, difference);
                self.xor(c, change)
            }
            GateKind::Majority => {
                let (ab, ac) = (self.xor(a, b), self.xor(a, c));
                let change = self.and(ab, ac);
                self.xor(a, change)
            }
        }
    }
}
