//! Netlists that Yosys writes: `synth; abc -g simple; write_json`.
//!
//! A net is a number; cells may stand in any order, so they are sorted here and a cycle shows.

mod document;

use crate::error::{Error, Result, shown, without_mark};
use crate::netlist::{GateKind, Netlist, Wire};
use crate::{Builder, MAX_INPUT_BITS};
use document::{Bit, Cell, Document, Module, Port};
use std::collections::HashMap;

fn refuse<T>(place: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Error::Yosys { place: place.into(), why: why.into() })
}

/// The gate of a cell type and the ports it reads, in the order of [`GateKind`]'s operands.
fn kind_of(cell_type: &str) -> Option<(GateKind, &'static [&'static str])> {
    Some(match cell_type {
        "$_BUF_" => (GateKind::Buf, &["A"]),
        "$_NOT_" => (GateKind::Not, &["A"]),
        "$_AND_" => (GateKind::And, &["A", "B"]),
        "$_NAND_" => (GateKind::Nand, &["A", "B"]),
        "$_OR_" => (GateKind::Or, &["A", "B"]),
        "$_NOR_" => (GateKind::Nor, &["A", "B"]),
        "$_XOR_" => (GateKind::Xor, &["A", "B"]),
        "$_XNOR_" => (GateKind::Xnor, &["A", "B"]),
        "$_ANDNOT_" => (GateKind::AndNot, &["A", "B"]),
        "$_ORNOT_" => (GateKind::OrNot, &["A", "B"]),
        // Yosys selects B where S is 1.
        "$_MUX_" => (GateKind::Mux, &["S", "B", "A"]),
        _ => return None,
    })
}

/// Why a cell whose type is no simple gate is not read.
fn why_not(cell: &Cell) -> &'static str {
    let name = cell.kind.trim_start_matches('$').trim_start_matches('_').to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if !cell.kind.starts_with('$') {
        "an instance of another module; `synth -flatten` puts it into this one"
    } else if begins(&["dlatch", "adlatch", "sr_"]) || name == "sr" {
        "a latch, as of an `always` block that leaves a value as it was; circuits are combinational"
    } else if begins(&["dff", "sdff", "adff", "aldff", "ff"]) {
        "a flip-flop, which a clock drives; circuits are combinational"
    } else if begins(&["mem"]) {
        "a memory; circuits are combinational"
    } else if begins(&["tbuf"]) {
        "a tri-state buffer; circuits have one driver for each bit"
    } else {
        "not among $_BUF_, $_NOT_, $_AND_, $_NAND_, $_OR_, $_NOR_, $_XOR_, $_XNOR_, $_ANDNOT_, \
         $_ORNOT_, $_MUX_; `synth -flatten; abc -g simple; opt_clean` makes these"
    }
}

/// A cell whose type and ports have been checked.
struct Checked<'a> {
    name: &'a str,
    kind: GateKind,
    reads: Vec<&'a Bit>,
    drives: u64,
}

impl<'a> Checked<'a> {
    fn new(module: &'a Module, name: &'a str, cell: &'a Cell) -> Result<Self> {
        let place = || format!("cell `{}`", shown(name));
        let Some((kind, ports)) = kind_of(&cell.kind) else {
            // Cells have names of Yosys, what they drive those of the source.
            let drives = module.name_driven_by(cell);
            let place = place() + &drives.map_or(String::new(), |d| format!(", `{}`", shown(d)));
            return refuse(place, format!("type `{}`: {}", shown(&cell.kind), why_not(cell)));
        };
        let port = |port: &str| match cell.connections.get(port).map(Vec::as_slice) {
            Some([bit]) => Ok(bit),
            Some(bits) => refuse(place(), format!("port {port} has {} bits, not one", bits.len())),
            None => refuse(place(), format!("port {port} is not connected")),
        };
        if let Some(extra) =
            cell.connections.keys().find(|p| *p != "Y" && !ports.contains(&p.as_str()))
        {
            return refuse(place(), format!("{} has no port `{}`", cell.kind, shown(extra)));
        }
        let reads = ports.iter().map(|p| port(p)).collect::<Result<Vec<_>>>()?;
        match port("Y")? {
            Bit::Net(drives) => Ok(Self { name, kind, reads, drives: *drives }),
            Bit::Constant(value) => {
                refuse(place(), format!("port Y drives the constant `{}`", shown(value)))
            }
        }
    }

    fn place(&self) -> String {
        format!("cell `{}`", shown(self.name))
    }

    /// Nets that it reads.
    fn nets(&self) -> impl Iterator<Item = u64> + '_ {
        self.reads.iter().filter_map(|bit| if let Bit::Net(net) = bit { Some(*net) } else { None })
    }
}

impl Netlist {
    /// Reads the top module of a Yosys JSON file, or the only one; ports become buses in the order
    /// of the file. Cells without outputs compute nothing and are left out: names of scopes
    /// (`$scopeinfo`), checks and prints (`$check`, `$assert`, `$print`, ..), instances of modules
    /// that have inputs alone.
    ///
    /// # Errors
    /// [`Error::Yosys`] naming the module, port, cell or net: a type that is no simple gate, an
    /// undefined (`x`) or undriven bit, a net driven twice, a cycle.
    pub fn from_yosys(text: &str) -> Result<Self> {
        let document: Document = serde_json::from_str(without_mark(text)).or_else(|e| {
            refuse(format!("line {} column {}", e.line(), e.column()), shown_json(&e.to_string()))
        })?;
        let (name, module) = top(&document.modules.0)?;
        let cells = module
            .cells
            .0
            .iter()
            .filter(|(_, cell)| !cell.drives_nothing())
            .map(|(name, cell)| Checked::new(module, name, cell))
            .collect::<Result<Vec<_>>>()?;
        let mut nets =
            Nets { builder: Builder::new(), wires: HashMap::new(), constants: [None; 2] };
        for (name, port) in &module.ports.0 {
            match port.direction.as_str() {
                "input" => nets.input(name, port)?,
                "output" => {}
                other => {
                    return refuse(
                        format!("port `{}`", shown(name)),
                        format!("direction `{}`: input or output only", shown(other)),
                    );
                }
            }
        }
        for index in order(&cells, &nets.wires)? {
            nets.cell(&cells[index])?;
        }
        for (name, port) in module.ports.0.iter().filter(|(_, p)| p.direction == "output") {
            let place = format!("port `{}`", shown(name));
            let at = |i: usize| if port.bits.len() > 1 { format!(", bit {i}") } else { "".into() };
            let bits = port.bits.iter().enumerate();
            let wires = bits
                .map(|(i, bit)| nets.wire(&format!("{place}{}", at(i)), bit))
                .collect::<Result<Vec<_>>>()?;
            nets.builder.output(name.as_str(), &wires);
        }
        nets.builder
            .finish()
            .or_else(|error| refuse(format!("module `{}`", shown(name)), error.to_string()))
    }
}

/// A message of serde_json may quote the file.
fn shown_json(message: &str) -> String {
    message.chars().take(200).flat_map(char::escape_debug).collect()
}

/// The module with the attribute `top`, or the only one.
fn top(modules: &[(String, Module)]) -> Result<(&str, &Module)> {
    let marked = |m: &&(String, Module)| m.1.is_top();
    let mut candidates: Vec<_> = modules.iter().filter(marked).collect();
    if candidates.is_empty() {
        candidates = modules.iter().collect();
    }
    let names = || {
        let first: Vec<String> = candidates.iter().take(8).map(|(name, _)| shown(name)).collect();
        let more = candidates.len() - first.len();
        first.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
    };
    match candidates[..] {
        [(name, module)] => Ok((name, module)),
        [] => refuse("modules", "there is no module"),
        _ => refuse(
            "modules",
            format!(
                "{} candidates for the top module, {}: mark one with the attribute `top`, as \
                 `hierarchy -top` does",
                candidates.len(),
                names()
            ),
        ),
    }
}

/// What drives each net so far.
struct Nets {
    builder: Builder,
    wires: HashMap<u64, Wire>,
    constants: [Option<Wire>; 2],
}

impl Nets {
    fn input(&mut self, name: &str, port: &Port) -> Result<()> {
        let place = format!("port `{}`", shown(name));
        if self.wires.len() + port.bits.len() > MAX_INPUT_BITS {
            return refuse(place, format!("more than {MAX_INPUT_BITS} input bits"));
        }
        for (bit, wire) in port.bits.iter().zip(self.builder.input(name, port.bits.len())) {
            let Bit::Net(net) = bit else { return refuse(place, "an input bit is a constant") };
            if self.wires.insert(*net, wire).is_some() {
                return refuse(place, format!("net {net} is driven twice, by two input bits"));
            }
        }
        Ok(())
    }

    fn wire(&mut self, place: &str, bit: &Bit) -> Result<Wire> {
        match bit {
            Bit::Net(net) => self
                .wires
                .get(net)
                .copied()
                .map_or_else(|| refuse(place, format!("net {net} is not driven")), Ok),
            Bit::Constant(value) => {
                let value = match value.as_str() {
                    "0" => false,
                    "1" => true,
                    "x" => return refuse(place, "a bit is `x`: it has no driver"),
                    other => {
                        return refuse(
                            place,
                            format!("a bit is `{}`; only 0 and 1 have a value", shown(other)),
                        );
                    }
                };
                let builder = &mut self.builder;
                Ok(*self.constants[usize::from(value)]
                    .get_or_insert_with(|| builder.constant(value)))
            }
        }
    }

    fn cell(&mut self, cell: &Checked<'_>) -> Result<()> {
        let place = cell.place();
        let operands =
            cell.reads.iter().map(|bit| self.wire(&place, bit)).collect::<Result<Vec<_>>>()?;
        let wire = self.builder.gate(cell.kind, &operands);
        self.wires.insert(cell.drives, wire);
        Ok(())
    }
}

/// An order in which every cell comes after those that drive what it reads.
fn order(cells: &[Checked<'_>], inputs: &HashMap<u64, Wire>) -> Result<Vec<usize>> {
    let mut driver: HashMap<u64, usize> = HashMap::with_capacity(cells.len());
    for (index, cell) in cells.iter().enumerate() {
        let net = cell.drives;
        if inputs.contains_key(&net) {
            return refuse(cell.place(), format!("net {net} is driven here and by an input port"));
        }
        if let Some(first) = driver.insert(net, index) {
            return refuse(
                cell.place(),
                format!("net {net} is driven here and by {}", cells[first].place()),
            );
        }
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); cells.len()];
    let mut waiting = vec![0usize; cells.len()];
    for (index, cell) in cells.iter().enumerate() {
        for net in cell.nets().filter(|net| !inputs.contains_key(net)) {
            let Some(&by) = driver.get(&net) else {
                return refuse(cell.place(), format!("net {net} is not driven"));
            };
            readers[by].push(index);
            waiting[index] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..cells.len()).filter(|&c| waiting[c] == 0).collect();
    let mut next = 0;
    while next < ready.len() {
        for &reader in &readers[ready[next]] {
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(reader);
            }
        }
        next += 1;
    }
    if ready.len() < cells.len() {
        return refuse(cells[on_cycle(cells, &driver, &waiting)].place(), "is part of a cycle");
    }
    Ok(ready)
}

/// A cell of a cycle: every waiting cell waits for another one, so walking back as often as there
/// are cells ends on a cycle.
fn on_cycle(cells: &[Checked<'_>], driver: &HashMap<u64, usize>, waiting: &[usize]) -> usize {
    let mut cell = waiting.iter().position(|&w| w > 0).unwrap_or_default();
    for _ in 0..cells.len() {
        let blocking = cells[cell]
            .nets()
            .filter_map(|net| driver.get(&net).copied())
            .find(|&c| waiting[c] > 0);
        cell = blocking.unwrap_or(cell);
    }
    cell
}
