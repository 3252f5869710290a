//! Making netlists in a program.

use crate::error::Result;
use crate::netlist::{Bus, Gate, GateKind, Netlist, Wire};

/// Builds a [`Netlist`] gate by gate; a wire exists before anything can read it, so the result has
/// no cycle.
///
/// Gates are taken as they are given: the optimiser of [`Circuit`](crate::Circuit)
/// removes what is redundant.
///
/// ```
/// use girih_circuit::Builder;
///
/// let mut b = Builder::new();
/// let (x, y) = (b.input("x", 1), b.input("y", 1));
/// let (sum, carry) = (b.xor(x[0], y[0]), b.and(x[0], y[0]));
/// b.output("sum", &[sum, carry]);
/// let half_adder = b.finish()?;
/// assert_eq!(half_adder.evaluate(&[true, true])?, [false, true]);
/// # Ok::<(), girih_circuit::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    gates: Vec<Gate>,
    inputs: Vec<Bus>,
    outputs: Vec<Bus>,
}

impl Builder {
    /// An empty circuit.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new input bus of `width` bits, lowest first.
    pub fn input(&mut self, name: impl Into<String>, width: usize) -> Vec<Wire> {
        let wires: Vec<Wire> = (0..width).map(|_| self.gate(GateKind::Input, &[])).collect();
        self.inputs.push(Bus { name: name.into(), wires: wires.clone() });
        wires
    }

    /// Names wires as an output bus, lowest bit first.
    pub fn output(&mut self, name: impl Into<String>, wires: &[Wire]) {
        assert!(
            wires.iter().all(|w| w.index() < self.gates.len()),
            "an output is a wire of another builder"
        );
        self.outputs.push(Bus { name: name.into(), wires: wires.to_vec() });
    }

    /// Adds a gate.
    ///
    /// # Panics
    /// For a number of operands other than the kind's arity, and for a wire that this builder has
    /// not made.
    pub fn gate(&mut self, kind: GateKind, operands: &[Wire]) -> Wire {
        assert_eq!(operands.len(), kind.arity(), "operands of {kind:?}");
        assert!(
            operands.iter().all(|w| w.index() < self.gates.len()),
            "an operand is a wire of another builder"
        );
        let mut all = [Wire(0); 3];
        all[..operands.len()].copy_from_slice(operands);
        self.gates.push(Gate { kind, operands: all });
        Wire(u32::try_from(self.gates.len() - 1).expect("fewer than 2^32 gates"))
    }

    /// A constant.
    pub fn constant(&mut self, value: bool) -> Wire {
        self.gate(if value { GateKind::One } else { GateKind::Zero }, &[])
    }

    /// NOT a: free.
    #[must_use]
    pub fn not(&mut self, a: Wire) -> Wire {
        self.gate(GateKind::Not, &[a])
    }

    /// a AND b.
    pub fn and(&mut self, a: Wire, b: Wire) -> Wire {
        self.gate(GateKind::And, &[a, b])
    }

    /// a OR b.
    pub fn or(&mut self, a: Wire, b: Wire) -> Wire {
        self.gate(GateKind::Or, &[a, b])
    }

    /// a differs from b.
    pub fn xor(&mut self, a: Wire, b: Wire) -> Wire {
        self.gate(GateKind::Xor, &[a, b])
    }

    /// `select ? on : off`.
    pub fn mux(&mut self, select: Wire, on: Wire, off: Wire) -> Wire {
        self.gate(GateKind::Mux, &[select, on, off])
    }

    /// At least two of three.
    pub fn majority(&mut self, a: Wire, b: Wire, c: Wire) -> Wire {
        self.gate(GateKind::Majority, &[a, b, c])
    }

    /// Bit by bit `select ? on : off`, for buses of equal width.
    ///
    /// # Panics
    /// For unequal widths.
    pub fn select(&mut self, select: Wire, on: &[Wire], off: &[Wire]) -> Vec<Wire> {
        assert_eq!(on.len(), off.len(), "widths of a selection");
        on.iter().zip(off).map(|(&on, &off)| self.mux(select, on, off)).collect()
    }

    /// Bit by bit XOR of two buses of equal width.
    ///
    /// # Panics
    /// For unequal widths.
    pub fn xor_words(&mut self, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
        assert_eq!(a.len(), b.len(), "widths of an XOR");
        a.iter().zip(b).map(|(&a, &b)| self.xor(a, b)).collect()
    }

    /// A bus of constants: the `width` lowest bits of `value`.
    pub fn constant_word(&mut self, value: u64, width: usize) -> Vec<Wire> {
        (0..width).map(|bit| self.constant(bit < 64 && value >> bit & 1 == 1)).collect()
    }

    /// The checked circuit.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for two buses of one name, or no output.
    pub fn finish(self) -> Result<Netlist> {
        Netlist::new(self.gates, self.inputs, self.outputs)
    }
}
