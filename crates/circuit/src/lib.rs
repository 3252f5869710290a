//! Boolean circuits on encrypted bits: netlists in, levels of bootstrappings out.
//!
//! ```
//! use girih_backend::{LoadOptions, NoProgress};
//! use girih_circuit::{Circuit, EncryptedBits, Netlist};
//! use girih_tfhe::{ClientKey, EvaluationKeys, ParameterSet, ServerKey};
//!
//! # fn main() -> girih_circuit::Result<()> {
//! # let set = ParameterSet::by_name("INSECURE_TOY")?;
//! # let client = ClientKey::generate(&set)?;
//! # let keys = EvaluationKeys::generate(&client, &NoProgress)?;
//! # let device = girih_cpu::CpuBackend::new();
//! # let server = ServerKey::load(&device, &keys, &LoadOptions::default(), &NoProgress)?;
//! // A half adder in Bristol Fashion; `generate` has larger ones.
//! let netlist = Netlist::from_bristol("2 4\n2 1 1\n2 1 1\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n")?;
//! let circuit = Circuit::new(&netlist, &set)?;
//!
//! // Three instances at once.
//! let inputs = EncryptedBits::encrypt(&client, &[[false, true], [true, false], [true, true]])?;
//! let (outputs, report) = circuit.evaluate(&server, &inputs, &NoProgress)?;
//! assert_eq!(outputs.decrypt(&client)?, [[true, false], [true, false], [false, true]]);
//! assert_eq!((report.bootstraps, report.depth), (6, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # From gates to bootstrappings
//!
//! A gate is not the unit of cost: a bootstrapping is, and one can do more than a gate of two
//! inputs. Bits are added with weights 1, -1 and 2 before it, and it tells one half of the circle
//! from the other. So inverters are free wherever they stand, a majority of three is one
//! bootstrapping, an XOR of four is one, and so is `a XOR (b AND c)`. What limits this is noise,
//! which the weights add up; [`Circuit::new`] takes every form that the parameter set's noise model
//! admits at a stated failure probability (2^-128 where gates of the set reach it, or
//! [`Circuit::with_log2_failure`]), and a set without room to spare gets two-input gates.
//!
//! A netlist is therefore only a description of a function. It becomes a graph of AND and XOR in
//! which constants, copies, inverters and equal gates have vanished, and the graph is covered with
//! bootstrappings as FPGA tools cover one with look-up tables: least depth first, then as few as
//! possible. A full adder that a file spells in five gates comes out as two bootstrappings of one
//! level. Chains of AND or XOR become trees where that makes fewer levels of no more
//! bootstrappings: the AND of 64 bits takes six. Time for it grows as the number of gates does.
//!
//! # Levels and places
//!
//! Bootstrappings whose inputs are ready form a level, and a level is one list of jobs for the
//! device, over all instances. Ciphertexts never leave the device in between. Their places are
//! assigned beforehand, as registers are: a place is free again after the level that reads it last,
//! so the memory of a run is known before it starts ([`Circuit::peak_slots`]).
//!
//! # Instances
//!
//! The same circuit runs on many inputs at once: each level has as many jobs as bootstrappings
//! times instances, and with a packing of r each job serves r instances. That is how a narrow
//! circuit fills a wide device. Slots never mix, which suits circuits over instances exactly: see
//! [`EncryptedBits`] for the order.
//!
//! # Thousands of instances
//!
//! [`WideCircuit`] runs a netlist on [numbers in slots](girih_discrete): a wire is one ciphertext
//! with up to 32,768 instances in its slots, and the unit of cost is a look-up of all of them. From
//! a few hundred instances on it is faster.
//!
//! # Files are not trusted
//!
//! [`Netlist::from_bristol`], [`Netlist::from_yosys`] and [`Netlist::from_heir`] refuse what is
//! wrong with the line or the name of the cell, and hold memory in proportion to the text, not to
//! what it claims. What they return cannot have a cycle or an undriven wire: a gate of a
//! [`Netlist`] reads only wires before its own.
//!
//! # Checking
//!
//! [`Netlist::evaluate`] runs the netlist on plain bits, and [`Circuit::simulate`] runs the very
//! program that a device gets, weights and windows and places, on plain bits too: where they differ
//! the optimiser is wrong, where the device differs from the latter the device is.

mod bits;
mod bristol;
mod builder;
mod circuit;
mod error;
mod evaluate;
pub mod generate;
mod heir;
mod netlist;
mod optimise;
mod report;
mod wide;
mod yosys;

pub use bits::EncryptedBits;
pub use builder::Builder;
pub use circuit::{Circuit, MAX_INPUT_BITS};
pub use error::{Error, Result};
pub use girih_tfhe::{Counts, Mismatch};
pub use netlist::{Bus, Gate, GateKind, Netlist, Wire};
pub use report::{LevelTime, Report};
pub use wide::{WideBits, WideCircuit, WideLevel, WideOptions, WideReport};
