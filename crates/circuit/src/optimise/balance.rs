//! Chains of one operation as trees: `((a AND b) AND c) AND d` takes three levels, `(a AND b) AND
//! (c AND d)` two.
//!
//! Only nodes that nothing else reads are taken apart, so no gate is computed twice, and only where
//! the result is ready earlier.

use super::graph::{Graph, Literal, Node};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The graph with chains as trees; none if no chain gains by it.
pub(crate) fn balanced(graph: &Graph) -> Option<Graph> {
    let mut balance = Balance {
        graph,
        inner: inner(graph),
        new: Graph::empty(),
        levels: Vec::new(),
        placed: vec![Literal::FALSE; graph.nodes.len()],
        chain_level: vec![0; graph.nodes.len()],
        gains: false,
    };
    balance.levels.resize(balance.new.nodes.len(), 0);
    for node in 0..graph.nodes.len() {
        balance.place(node);
    }
    if !balance.gains {
        return None;
    }
    let Balance { mut new, placed, .. } = balance;
    let output = |o: &Literal| placed[o.node() as usize].not_if(o.inverted());
    new.outputs = graph.outputs.iter().map(output).collect();
    Some(new)
}

/// Nodes that are read once, by a node of their own operation: they are parts of its chain.
fn inner(graph: &Graph) -> Vec<bool> {
    let readers = graph.readers();
    let mut inner = vec![false; graph.nodes.len()];
    for &node in &graph.nodes {
        for operand in operands(node) {
            let read = operand.node() as usize;
            let same = match (node, graph.nodes[read]) {
                (Node::And(..), Node::And(..)) => !operand.inverted(),
                (Node::Xor(..), Node::Xor(..)) => true,
                _ => false,
            };
            inner[read] |= same && readers[read] == 1;
        }
    }
    inner
}

/// What a node reads.
fn operands(node: Node) -> impl Iterator<Item = Literal> {
    let both = match node {
        Node::False | Node::Input(_) => None,
        Node::And(a, b) => Some([a, b]),
        Node::Xor(a, b) => Some([a, b].map(|node| Literal::new(node, false))),
    };
    both.into_iter().flatten()
}

struct Balance<'a> {
    graph: &'a Graph,
    inner: Vec<bool>,
    new: Graph,
    /// When each node of the new graph is ready.
    levels: Vec<u32>,
    /// Where a node of the old graph is in the new one; of parts of chains, nothing.
    placed: Vec<Literal>,
    /// When a part of a chain would be ready if the chain stayed as it is.
    chain_level: Vec<u32>,
    gains: bool,
}

impl Balance<'_> {
    fn place(&mut self, node: usize) {
        let of = self.graph.nodes[node];
        self.placed[node] = match of {
            Node::False => Literal::FALSE,
            Node::Input(_) => {
                let input = self.new.node(of);
                self.levels.resize(self.new.nodes.len(), 0);
                Literal::new(input, false)
            }
            Node::And(..) | Node::Xor(..) => {
                let ready = operands(of).map(|operand| self.level(operand)).max().unwrap_or(0);
                self.chain_level[node] = ready + 1;
                if self.inner[node] {
                    return;
                }
                self.chain(node)
            }
        };
    }

    fn level(&self, operand: Literal) -> u32 {
        let node = operand.node() as usize;
        if self.inner[node] {
            self.chain_level[node]
        } else {
            self.levels[self.placed[node].node() as usize]
        }
    }

    /// The chain that ends in a node: as a tree if that is ready earlier, else as it is.
    fn chain(&mut self, root: usize) -> Literal {
        let (mut parts, mut leaves, mut left) = (Vec::new(), Vec::new(), vec![root]);
        while let Some(part) = left.pop() {
            parts.push(part);
            for operand in operands(self.graph.nodes[part]) {
                let node = operand.node() as usize;
                if self.inner[node] {
                    left.push(node);
                } else {
                    leaves.push(self.placed[node].not_if(operand.inverted()));
                }
            }
        }
        let read = leaves.len();
        let constant = simplify(&mut leaves, matches!(self.graph.nodes[root], Node::Xor(..)));
        let level = |leaf: &Literal| self.levels[leaf.node() as usize];
        let tree = tree_level(leaves.iter().map(level));
        if parts.len() == 1 || leaves.len() == read && tree >= self.chain_level[root] {
            // Operands come before their readers.
            parts.sort_unstable();
            for part in parts {
                let [a, b] = self.operands_of(part);
                self.placed[part] = self.gate(root, a, b);
            }
            return self.placed[root];
        }
        self.gains = true;
        if leaves.is_empty() {
            return constant;
        }
        // Of those that are ready at one time the first come first.
        let mut heap: BinaryHeap<_> = leaves
            .iter()
            .zip(0..)
            .map(|(leaf, order)| Reverse((level(leaf), order, *leaf)))
            .collect();
        for order in leaves.len().. {
            let (Some(Reverse((_, _, a))), second) = (heap.pop(), heap.pop()) else { break };
            let Some(Reverse((_, _, b))) = second else { return a.not_if(constant.inverted()) };
            let both = self.gate(root, a, b);
            heap.push(Reverse((self.levels[both.node() as usize], order, both)));
        }
        unreachable!("a chain has leaves")
    }

    fn operands_of(&self, part: usize) -> [Literal; 2] {
        let mut all = operands(self.graph.nodes[part])
            .map(|operand| self.placed[operand.node() as usize].not_if(operand.inverted()));
        [(); 2].map(|()| all.next().unwrap_or(Literal::FALSE))
    }

    /// A gate of the operation of `root`.
    fn gate(&mut self, root: usize, a: Literal, b: Literal) -> Literal {
        let ready = [a, b].map(|operand| self.levels[operand.node() as usize]);
        let result = match self.graph.nodes[root] {
            Node::Xor(..) => self.new.xor(a, b),
            _ => self.new.and(a, b),
        };
        // One that is equal to an earlier node is ready when that is.
        let level = ready[0].max(ready[1]) + 1;
        self.levels.resize(self.new.nodes.len(), level);
        result
    }
}

/// Leaves out operands that change nothing: of an AND those that stand there twice, of an XOR
/// pairs. Returns what is to be added to the rest by XOR, or the result where no operand is left.
fn simplify(leaves: &mut Vec<Literal>, is_xor: bool) -> Literal {
    let mut seen: HashMap<u32, (bool, usize)> = HashMap::new();
    if !is_xor {
        let mut contradiction = false;
        leaves.retain(|leaf| {
            let (inverted, times) = seen.entry(leaf.node()).or_insert((leaf.inverted(), 0));
            contradiction |= *inverted != leaf.inverted();
            *times += 1;
            *times == 1
        });
        if contradiction {
            leaves.clear();
        }
        return Literal::FALSE;
    }
    for leaf in &*leaves {
        seen.entry(leaf.node()).or_default().1 += 1;
    }
    let inverted = leaves.iter().filter(|leaf| leaf.inverted()).count() % 2 == 1;
    leaves.retain_mut(|leaf| {
        *leaf = Literal::new(leaf.node(), false);
        // The first of an odd number stays.
        seen.get_mut(&leaf.node())
            .is_some_and(|(kept, times)| !std::mem::replace(kept, true) && *times % 2 == 1)
    });
    Literal::FALSE.not_if(inverted)
}

/// When a tree is ready that joins the two earliest operands again and again.
fn tree_level(levels: impl Iterator<Item = u32>) -> u32 {
    let mut heap: BinaryHeap<_> = levels.map(Reverse).collect();
    while let Some(Reverse(first)) = heap.pop() {
        let Some(Reverse(second)) = heap.pop() else { return first };
        heap.push(Reverse(first.max(second) + 1));
    }
    0
}
