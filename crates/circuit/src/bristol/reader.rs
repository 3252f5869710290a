//! Reading: every claim is checked against what the file holds, and nothing is allocated for a
//! claim alone.

use crate::error::{Error, Result, shown, without_mark};
use crate::netlist::{GateKind, Netlist, Wire};
use crate::{Builder, MAX_INPUT_BITS};
use std::collections::HashMap;
use std::iter::Peekable;

/// A line that is not blank.
#[derive(Clone)]
struct Line<'a> {
    /// Counted from 1.
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn refuse<T>(&self, why: impl Into<String>) -> Result<T> {
        Err(Error::Bristol { line: self.number, why: why.into() })
    }

    fn tokens(&self) -> Vec<&'a str> {
        self.text.split_ascii_whitespace().collect()
    }

    fn number(&self, what: &str, token: &str) -> Result<u32> {
        let parsed =
            token.bytes().all(|b| b.is_ascii_digit()).then(|| token.parse().ok()).flatten();
        parsed.map_or_else(
            || self.refuse(format!("{what} is `{}`, not a number below 2^32", shown(token))),
            Ok,
        )
    }

    fn numbers(&self, what: &str) -> Result<Vec<u32>> {
        self.tokens().into_iter().map(|token| self.number(what, token)).collect()
    }
}

/// The lines above the gates: three, or two in the older format.
struct Header {
    gates: u32,
    wires: u32,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    /// Where `wires` stands.
    line: usize,
}

impl Header {
    /// Input bits: at most [`MAX_INPUT_BITS`].
    fn input_bits(&self) -> u32 {
        self.inputs.iter().sum()
    }

    fn read<'a>(lines: &mut Peekable<impl Iterator<Item = Line<'a>>>) -> Result<Self> {
        let counts = next(lines, 0, "the numbers of gates and wires")?;
        let [gates, wires] = counts.numbers("a count")?[..] else {
            return counts.refuse(format!(
                "there must be two numbers, gates and wires, not `{}`",
                shown(counts.text)
            ));
        };
        let second = next(lines, counts.number, "the widths of inputs")?;
        let (inputs, outputs) = if lines.peek().is_some_and(|line| ends_with_a_name(line)) {
            older_widths(&second, wires)?
        } else {
            let inputs = widths(&second, "input", wires)?;
            let third = next(lines, second.number, "the widths of outputs")?;
            (inputs, widths(&third, "output", wires)?)
        };
        Ok(Self { gates, wires, inputs, outputs, line: counts.number })
    }
}

/// The line after `last`.
fn next<'a>(
    lines: &mut impl Iterator<Item = Line<'a>>,
    last: usize,
    what: &str,
) -> Result<Line<'a>> {
    let why = format!("the file ends before {what}");
    lines.next().ok_or(Error::Bristol { line: last + 1, why })
}

/// Whether a line is one of a gate, not of widths.
fn ends_with_a_name(line: &Line<'_>) -> bool {
    line.tokens().last().is_some_and(|token| token.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The one line of widths in the older format: those of two inputs, of which the second may be 0,
/// and of one output.
fn older_widths(line: &Line<'_>, wires: u32) -> Result<(Vec<u32>, Vec<u32>)> {
    let [first, second, output] = line.numbers("a width")?[..] else {
        return line.refuse(format!(
            "gates follow `{}`: either the widths of outputs are missing, or this is the older \
             format, with the widths of two inputs and of the output on one line",
            shown(line.text)
        ));
    };
    let inputs = if second == 0 { vec![first] } else { vec![first, second] };
    check_widths(line, "input", &inputs, wires)?;
    check_widths(line, "output", &[output], wires)?;
    Ok((inputs, vec![output]))
}

/// Widths of buses: their number, then each; all together at most `wires`.
fn widths(line: &Line<'_>, what: &str, wires: u32) -> Result<Vec<u32>> {
    let numbers = line.numbers(&format!("a number of {what}s"))?;
    let (&count, widths) = numbers.split_first().expect("blank lines are skipped");
    if widths.len() != count as usize {
        return line
            .refuse(format!("{count} {what}s are announced and {} widths given", widths.len()));
    }
    check_widths(line, what, widths, wires)?;
    Ok(widths.to_vec())
}

/// Refuses more bits than there are wires, or than can be read.
fn check_widths(line: &Line<'_>, what: &str, widths: &[u32], wires: u32) -> Result<()> {
    let total: u64 = widths.iter().map(|&w| u64::from(w)).sum();
    if total > u64::from(wires) {
        return line.refuse(format!("the {what}s have {total} wires, the circuit only {wires}"));
    }
    if what == "input" && total > MAX_INPUT_BITS as u64 {
        return line.refuse(format!(
            "the inputs have {total} wires; at most {MAX_INPUT_BITS} can be read"
        ));
    }
    Ok(())
}

/// One gate line; a MAND is still one.
struct RawGate<'a> {
    line: Line<'a>,
    kind: RawKind,
    reads: Vec<u32>,
    drives: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum RawKind {
    Constant,
    Each(GateKind),
}

impl<'a> RawGate<'a> {
    fn read(line: Line<'a>, wires: u32) -> Result<Self> {
        let tokens = line.tokens();
        let [reads, drives, operands @ .., name] = &tokens[..] else {
            return line.refuse(format!(
                "`{}` is no gate: numbers of wires read and driven, the wires, the kind",
                shown(line.text)
            ));
        };
        let (reads, drives) = (
            line.number("the number of wires read", reads)?,
            line.number("the number of wires driven", drives)?,
        );
        let (kind, known) = match *name {
            "AND" => (RawKind::Each(GateKind::And), reads == 2 && drives == 1),
            "XOR" => (RawKind::Each(GateKind::Xor), reads == 2 && drives == 1),
            "INV" | "NOT" => (RawKind::Each(GateKind::Not), reads == 1 && drives == 1),
            "EQW" => (RawKind::Each(GateKind::Buf), reads == 1 && drives == 1),
            "EQ" => (RawKind::Constant, reads == 1 && drives == 1),
            "MAND" => (
                RawKind::Each(GateKind::And),
                drives > 0 && u64::from(reads) == 2 * u64::from(drives),
            ),
            other => {
                return line.refuse(format!(
                    "no gate `{}`; there are AND, XOR, INV, EQ, EQW, MAND",
                    shown(other)
                ));
            }
        };
        if !known {
            return line.refuse(format!("{name} cannot read {reads} wires and drive {drives}"));
        }
        if operands.len() as u64 != u64::from(reads) + u64::from(drives) {
            return line.refuse(format!(
                "{reads} + {drives} wires are announced and {} given",
                operands.len()
            ));
        }
        let mut numbers = operands
            .iter()
            .map(|token| line.number("a wire", token))
            .collect::<Result<Vec<_>>>()?;
        let drives = numbers.split_off(reads as usize);
        let bound = if kind == RawKind::Constant { 2 } else { wires };
        if let Some(value) = numbers.iter().find(|&&n| n >= bound) {
            let what = if kind == RawKind::Constant {
                "EQ takes the constant 0 or 1".into()
            } else {
                format!("there are {wires} wires")
            };
            return line.refuse(format!("operand {value}: {what}"));
        }
        if let Some(wire) = drives.iter().find(|&&w| w >= wires) {
            return line.refuse(format!("wire {wire} is driven and there are {wires} wires"));
        }
        Ok(Self { line, kind, reads: numbers, drives })
    }
}

impl Netlist {
    /// Reads a Bristol Fashion file, or one of the older Bristol format, whose second line has the
    /// widths of two inputs and of the output (`32 32   33`). Buses are named `in0`, `in1`, .. and
    /// `out0`, `out1`, ..
    ///
    /// Memory stays proportional to the text, whatever its numbers claim: only of input wires,
    /// which no line drives, up to [`MAX_INPUT_BITS`] are taken at their word,
    /// once all else is right.
    ///
    /// # Errors
    /// [`Error::Bristol`] with the line of the first thing that is wrong: a number or kind that is
    /// none, a count that does not match, a wire that is undefined, read above its driver (a cycle)
    /// or driven twice, a missing end.
    pub fn from_bristol(text: &str) -> Result<Self> {
        let text = without_mark(text);
        let lines = text.lines().zip(1..).filter(|(text, _)| !text.trim_ascii().is_empty());
        let mut lines = lines.map(|(text, number)| Line { number, text }).peekable();
        let header = Header::read(&mut lines)?;
        let mut gates = Vec::new();
        for line in lines {
            if gates.len() == header.gates as usize {
                return line.refuse(format!(
                    "the header announced {} gates, and here is one more line",
                    header.gates
                ));
            }
            gates.push(RawGate::read(line, header.wires)?);
        }
        if gates.len() != header.gates as usize {
            let (line, why) = (
                text.lines().count(),
                format!("the file ends after {} of {} gates", gates.len(), header.gates),
            );
            return Err(Error::Bristol { line, why });
        }
        let drivers = drivers(&header, &gates)?;
        assemble(&header, &gates, &drivers)
    }
}

/// The line that drives each wire which is no input.
fn drivers(header: &Header, gates: &[RawGate<'_>]) -> Result<HashMap<u32, usize>> {
    let mut drivers = HashMap::new();
    for gate in gates {
        for &wire in &gate.drives {
            if wire < header.input_bits() {
                return gate.line.refuse(format!("wire {wire} is an input and is driven here"));
            }
            if let Some(first) = drivers.insert(wire, gate.line.number) {
                return gate.line.refuse(format!("wire {wire} is driven here and on line {first}"));
            }
        }
    }
    let driven = u64::from(header.input_bits()) + drivers.len() as u64;
    if driven != u64::from(header.wires) {
        let why = format!("{} wires are announced, inputs and gates drive {driven}", header.wires);
        return Err(Error::Bristol { line: header.line, why });
    }
    Ok(drivers)
}

/// Builds the netlist: every wire is driven once,
/// so what is left to find is a read above its driver.
fn assemble(
    header: &Header,
    gates: &[RawGate<'_>],
    drivers: &HashMap<u32, usize>,
) -> Result<Netlist> {
    let mut builder = Builder::new();
    let mut inputs = Vec::new();
    for (index, &width) in header.inputs.iter().enumerate() {
        inputs.extend(builder.input(format!("in{index}"), width as usize));
    }
    let mut driven: HashMap<u32, Wire> = HashMap::new();
    let find = |driven: &HashMap<u32, Wire>, wire: u32| {
        inputs.get(wire as usize).or_else(|| driven.get(&wire)).copied()
    };
    for gate in gates {
        for (i, &output) in gate.drives.iter().enumerate() {
            let wire = match gate.kind {
                RawKind::Constant => builder.constant(gate.reads[0] == 1),
                RawKind::Each(kind) => {
                    let mut operands = Vec::with_capacity(2);
                    for &wire in gate.reads.iter().skip(i).step_by(gate.drives.len()) {
                        let Some(found) = find(&driven, wire) else {
                            let below = drivers.get(&wire).copied().unwrap_or_default();
                            return gate.line.refuse(format!(
                                "wire {wire} is driven only on line \
                                {below}: a cycle, or gates out of order"
                            ));
                        };
                        operands.push(found);
                    }
                    builder.gate(kind, &operands)
                }
            };
            driven.insert(output, wire);
        }
    }
    let mut first = header.wires - header.outputs.iter().sum::<u32>();
    for (index, &width) in header.outputs.iter().enumerate() {
        let wires: Vec<Wire> =
            (first..first + width).filter_map(|wire| find(&driven, wire)).collect();
        builder.output(format!("out{index}"), &wires);
        first += width;
    }
    builder.finish().map_err(|error| Error::Bristol { line: header.line, why: error.to_string() })
}
