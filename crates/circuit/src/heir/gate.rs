//! What an operation computes of bits: a gate, or a table.

use super::attribute::Number;
use super::cursor::Cursor;
use super::refuse;
use super::token::Token;
use crate::error::Result;
use crate::netlist::GateKind;

/// Most bits that `cggi.lut_lincomb` may add up: a table of each combination is made.
pub const MOST_COMBINED: usize = 8;

/// The gates that `cggi.packed_gates` names by numbers.
const PACKED: [GateKind; 6] =
    [GateKind::And, GateKind::Nand, GateKind::Or, GateKind::Nor, GateKind::Xor, GateKind::Xnor];

/// What is computed of bits.
pub enum Function {
    Gate(GateKind),
    /// The entry at the number whose bits they are, highest first.
    Table(Vec<bool>),
}

/// How many values stand here, with commas between them.
pub fn count(cursor: &Cursor<'_>) -> usize {
    let is_value = |at: usize| cursor.token(at).is_some_and(|token| token.text.starts_with('%'));
    let is_comma = |at: usize| cursor.token(at).is_some_and(|token| token.text == ",");
    let more =
        (0..).take_while(|i| is_comma(cursor.at + 2 * i + 1) && is_value(cursor.at + 2 * i + 2));
    usize::from(is_value(cursor.at)) * (1 + more.count())
}

/// What an operation computes of `reads` bits at each of so many places: one function for all, or
/// one for each.
pub fn functions(
    cursor: &mut Cursor<'_>,
    operation: &Token<'_>,
    kind: Option<GateKind>,
    reads: usize,
    places: usize,
) -> Result<Vec<Function>> {
    let attributes = cursor.attributes()?;
    let text = operation.text;
    let of_places = |name: &str| {
        let all = attributes.list(name, text)?;
        if all.len() != places {
            let why = format!("{text} of {places} bits has {} {name}", all.len());
            return refuse(operation.line, why);
        }
        Ok(all)
    };
    match (kind, text) {
        (Some(kind), _) => Ok(vec![Function::Gate(kind)]),
        (None, "cggi.packed_gates") => {
            of_places("gates")?.into_iter().map(|number| packed(number, operation)).collect()
        }
        (None, "cggi.packed_lut3") => of_places("lookup_tables")?
            .into_iter()
            .map(|number| table(number, reads, operation))
            .collect(),
        (None, "cggi.lut_lincomb") => {
            let coefficients = attributes.list("coefficients", text)?;
            if coefficients.len() != reads {
                let why = format!("{text} of {reads} bits has {} coefficients", coefficients.len());
                return refuse(operation.line, why);
            }
            let all = attributes.number("lookup_table", text)?;
            combined(all, &coefficients, operation).map(|one| vec![one])
        }
        (None, _) => {
            let all = attributes.number("lookup_table", text)?;
            table(all, reads, operation).map(|one| vec![one])
        }
    }
}

/// A table of as many bits as a number of `reads` bits has values.
fn table(of: Number, reads: usize, operation: &Token<'_>) -> Result<Function> {
    let entries = 1 << reads;
    let bits = of.bits();
    if bits >> entries != 0 {
        let why = format!("a table of {entries} bits cannot be {}", of.value);
        return refuse(operation.line, why);
    }
    Ok(Function::Table((0..entries).map(|i| bits >> i & 1 == 1).collect()))
}

/// A table at the sum of bits times coefficients.
fn combined(of: Number, coefficients: &[Number], operation: &Token<'_>) -> Result<Function> {
    let places = coefficients.len();
    let entry = |index: usize| {
        // The first operand is the highest bit of an index.
        let sum: i128 = (0..places)
            .filter(|i| index >> (places - 1 - i) & 1 == 1)
            .map(|i| coefficients[i].value)
            .sum();
        if !(0..i128::from(of.width)).contains(&sum) {
            let why = format!(
                "coefficients add up to {sum}, where the table has the places 0 to {}",
                of.width - 1
            );
            return refuse(operation.line, why);
        }
        Ok(of.bits() >> sum & 1 == 1)
    };
    Ok(Function::Table((0..1usize << places).map(entry).collect::<Result<_>>()?))
}

/// The gate of a number.
fn packed(number: Number, operation: &Token<'_>) -> Result<Function> {
    let number = number.value;
    match usize::try_from(number).ok().and_then(|number| PACKED.get(number)) {
        Some(&kind) => Ok(Function::Gate(kind)),
        None => refuse(operation.line, format!("packed gates are 0 to 5, not {number}")),
    }
}
