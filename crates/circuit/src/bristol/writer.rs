//! Writing: every kind of gate in terms of AND, XOR, INV, EQ and EQW.

use crate::netlist::{Gate, GateKind, Netlist};
use std::fmt::Write;

struct Writer {
    text: String,
    gates: usize,
    next_wire: usize,
}

impl Writer {
    /// Writes one line and returns the wire it drives.
    fn line(&mut self, reads: &[usize], name: &str) -> usize {
        let _ = write!(self.text, "{} 1", reads.len());
        reads.iter().chain([&self.next_wire]).for_each(|wire| {
            let _ = write!(self.text, " {wire}");
        });
        let _ = writeln!(self.text, " {name}");
        self.gates += 1;
        self.next_wire += 1;
        self.next_wire - 1
    }

    fn not(&mut self, a: usize) -> usize {
        self.line(&[a], "INV")
    }

    fn and(&mut self, a: usize, b: usize) -> usize {
        self.line(&[a, b], "AND")
    }

    fn xor(&mut self, a: usize, b: usize) -> usize {
        self.line(&[a, b], "XOR")
    }

    /// NOT (NOT a AND NOT b), without the last NOT.
    fn nor(&mut self, a: usize, b: usize) -> usize {
        let (a, b) = (self.not(a), self.not(b));
        self.and(a, b)
    }

    fn gate(&mut self, gate: Gate, wires: &[usize]) -> usize {
        let [a, b, c] = gate.operands.map(|w| wires.get(w.index()).copied().unwrap_or_default());
        match gate.kind {
            GateKind::Input => unreachable!("inputs have their wires already"),
            GateKind::Zero => self.line(&[0], "EQ"),
            GateKind::One => self.line(&[1], "EQ"),
            GateKind::Buf => self.line(&[a], "EQW"),
            GateKind::Not => self.not(a),
            GateKind::And => self.and(a, b),
            GateKind::Xor => self.xor(a, b),
            GateKind::Nor => self.nor(a, b),
            GateKind::Nand => {
                let and = self.and(a, b);
                self.not(and)
            }
            GateKind::Or => {
                let nor = self.nor(a, b);
                self.not(nor)
            }
            GateKind::Xnor => {
                let xor = self.xor(a, b);
                self.not(xor)
            }
            GateKind::AndNot => {
                let b = self.not(b);
                self.and(a, b)
            }
            GateKind::OrNot => {
                let a = self.not(a);
                let and = self.and(a, b);
                self.not(and)
            }
            GateKind::Mux => {
                // c ^ (a & (b ^ c))
                let differ = self.xor(b, c);
                let change = self.and(a, differ);
                self.xor(c, change)
            }
            GateKind::Majority => {
                // a ^ ((a ^ b) & (a ^ c))
                let (ab, ac) = (self.xor(a, b), self.xor(a, c));
                let change = self.and(ab, ac);
                self.xor(a, change)
            }
        }
    }
}

impl Netlist {
    /// The netlist in Bristol Fashion. Names of buses are lost; outputs are copies (EQW) at the end
    /// of the wires.
    pub fn to_bristol(&self) -> String {
        let mut wires = vec![0; self.gates().len()];
        for (index, wire) in self.inputs().iter().flat_map(|b| &b.wires).enumerate() {
            wires[wire.index()] = index;
        }
        let mut writer = Writer { text: String::new(), gates: 0, next_wire: self.input_bits() };
        for (index, gate) in
            self.gates().iter().enumerate().filter(|(_, g)| g.kind != GateKind::Input)
        {
            wires[index] = writer.gate(*gate, &wires);
        }
        for wire in self.outputs().iter().flat_map(|b| &b.wires) {
            writer.line(&[wires[wire.index()]], "EQW");
        }
        let widths = |buses: &[crate::Bus]| {
            buses
                .iter()
                .fold(buses.len().to_string(), |line, bus| line + &format!(" {}", bus.wires.len()))
        };
        let (inputs, outputs) = (widths(self.inputs()), widths(self.outputs()));
        format!("{} {}\n{inputs}\n{outputs}\n\n{}", writer.gates, writer.next_wire, writer.text)
    }
}
