//! Gate-level circuits, checked: every gate reads only wires that were driven before it.

use crate::error::{Result, mismatch, wrong_bits};
use girih_tfhe::{Counts, Mismatch};
use std::collections::HashSet;

/// What drives a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateKind {
    /// A bit of an input bus; reads nothing.
    Input,
    /// The constant 0.
    Zero,
    /// The constant 1.
    One,
    /// a
    Buf,
    /// NOT a
    Not,
    /// a AND b
    And,
    /// NOT (a AND b)
    Nand,
    /// a OR b
    Or,
    /// NOT (a OR b)
    Nor,
    /// a differs from b
    Xor,
    /// a equals b
    Xnor,
    /// a AND NOT b
    AndNot,
    /// a OR NOT b
    OrNot,
    /// a ? b : c
    Mux,
    /// at least two of a, b, c
    Majority,
}

impl GateKind {
    /// Number of wires that it reads.
    pub fn arity(self) -> usize {
        match self {
            Self::Input | Self::Zero | Self::One => 0,
            Self::Buf | Self::Not => 1,
            Self::Mux | Self::Majority => 3,
            _ => 2,
        }
    }

    /// The gate on 64 circuits at once, one a bit; operands beyond the arity do not matter.
    pub fn evaluate(self, [a, b, c]: [u64; 3]) -> u64 {
        match self {
            Self::Input | Self::Zero => 0,
            Self::One => u64::MAX,
            Self::Buf => a,
            Self::Not => !a,
            Self::And => a & b,
            Self::Nand => !(a & b),
            Self::Or => a | b,
            Self::Nor => !(a | b),
            Self::Xor => a ^ b,
            Self::Xnor => !(a ^ b),
            Self::AndNot => a & !b,
            Self::OrNot => a | !b,
            Self::Mux => (a & b) | (!a & c),
            Self::Majority => (a & b) | (a & c) | (b & c),
        }
    }
}

/// A wire of one netlist: the index of the gate that drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire(pub(crate) u32);

impl Wire {
    /// Position of its driver in [`Netlist::gates`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A gate and the wires it reads; only the first [`GateKind::arity`] count, the rest are wire 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// What it computes.
    pub kind: GateKind,
    pub(crate) operands: [Wire; 3],
}

impl Gate {
    /// The wires it reads.
    pub fn operands(&self) -> &[Wire] {
        &self.operands[..self.kind.arity()]
    }
}

/// A named input or output of several wires, lowest bit first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Its name, unique among inputs or outputs.
    pub name: String,
    /// Its wires, lowest bit first.
    pub wires: Vec<Wire>,
}

/// A combinational circuit in which gate i drives wire i and reads lower wires only,
/// so it has no cycle.
///
/// Made by a [`Builder`](crate::Builder), [`Netlist::from_bristol`], [`Netlist::from_yosys`] or
/// [`Netlist::from_heir`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netlist {
    gates: Vec<Gate>,
    inputs: Vec<Bus>,
    outputs: Vec<Bus>,
}

impl Netlist {
    /// The makers keep the order of gates; this checks the names and that something comes out.
    pub(crate) fn new(gates: Vec<Gate>, inputs: Vec<Bus>, outputs: Vec<Bus>) -> Result<Self> {
        debug_assert!(gates.iter().zip(0..).all(|(g, i)| g.operands().iter().all(|w| w.0 < i)));
        if outputs.iter().all(|o| o.wires.is_empty()) {
            return mismatch(Mismatch::empty("outputs of the netlist"));
        }
        for buses in [&inputs, &outputs] {
            let mut names = HashSet::new();
            if let Some(bus) = buses.iter().find(|b| !names.insert(&b.name)) {
                let what = format!("buses with the name `{}`", crate::error::shown(&bus.name));
                return mismatch(Mismatch::count(what, 2, Counts::Exactly(1)));
            }
        }
        Ok(Self { gates, inputs, outputs })
    }

    /// Every gate, input bits and constants included; gate i drives wire i.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The input buses.
    pub fn inputs(&self) -> &[Bus] {
        &self.inputs
    }

    /// The output buses.
    pub fn outputs(&self) -> &[Bus] {
        &self.outputs
    }

    /// Bits of all inputs together.
    pub fn input_bits(&self) -> usize {
        self.inputs.iter().map(|b| b.wires.len()).sum()
    }

    /// Bits of all outputs together.
    pub fn output_bits(&self) -> usize {
        self.outputs.iter().map(|b| b.wires.len()).sum()
    }

    /// Gates that compute: all but inputs, constants and copies.
    pub fn gate_count(&self) -> usize {
        self.gates.iter().filter(|g| g.kind.arity() > 0 && g.kind != GateKind::Buf).count()
    }

    /// Gates of one kind.
    pub fn count(&self, kind: GateKind) -> usize {
        self.gates.iter().filter(|g| g.kind == kind).count()
    }

    /// Runs the circuit on plain bits: buses in order, each lowest bit first.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) unless there are [`Netlist::input_bits`] bits.
    pub fn evaluate(&self, inputs: &[bool]) -> Result<Vec<bool>> {
        let words: Vec<u64> = inputs.iter().map(|&b| u64::from(b)).collect();
        Ok(self.evaluate_words(&words)?.iter().map(|w| w & 1 == 1).collect())
    }

    /// Runs 64 circuits at once: bit i of every word belongs to circuit i.
    ///
    /// # Errors
    /// As [`Netlist::evaluate`].
    pub fn evaluate_words(&self, inputs: &[u64]) -> Result<Vec<u64>> {
        if inputs.len() != self.input_bits() {
            return wrong_bits("input bits", inputs.len(), self.input_bits());
        }
        let mut values = vec![0; self.gates.len()];
        let wires = self.inputs.iter().flat_map(|b| &b.wires);
        wires.zip(inputs).for_each(|(wire, &word)| values[wire.index()] = word);
        for (index, gate) in
            self.gates.iter().enumerate().filter(|(_, g)| g.kind != GateKind::Input)
        {
            values[index] = gate.kind.evaluate(gate.operands.map(|w| values[w.index()]));
        }
        Ok(self.outputs.iter().flat_map(|b| &b.wires).map(|w| values[w.index()]).collect())
    }
}
