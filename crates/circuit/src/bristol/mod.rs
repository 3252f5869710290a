//! Bristol Fashion, the exchange format of circuits for secure computation
//! (<https://nigelsmart.github.io/MPC-Circuits/>).
//!
//! ```text
//! 3 5            gates, wires
//! 2 1 1          number of inputs, width of each
//! 1 1            number of outputs, width of each
//!
//! 2 1 0 1 2 XOR  wires read, wires driven, the wires, the gate
//! 2 1 0 1 3 AND
//! 2 1 2 3 4 AND
//! ```
//!
//! Input wires come first, output wires last, and a gate stands below those that drive what it
//! reads. Gates are AND, XOR, INV, EQ (its operand is the constant 0 or 1), EQW (a copy) and MAND
//! (n ANDs at once: all left, then all right operands).
//!
//! The format that came before it (2011) has no numbers of inputs and outputs: its second line is
//! `1 1 1`, the widths of two inputs and of the output, and gates follow. It is read as well.

mod reader;
mod writer;
