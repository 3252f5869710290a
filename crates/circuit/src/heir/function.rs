//! One function of a program: its arguments, its operations, its results.

use super::cursor::{Cursor, Type};
use super::gate::{Function, MOST_COMBINED, count, functions};
use super::token::Token;
use super::{MADE_BY, refuse};
use crate::error::{Error, Result, shown};
use crate::netlist::{GateKind, Netlist, Wire};
use crate::{Builder, MAX_INPUT_BITS};
use std::collections::HashMap;

/// What operations are read, for messages.
const KNOWN: &str = "cggi.and, nand, or, nor, xor, xnor, not, cmux, lut2, lut3, lut4, \
                     lut_lincomb, packed_gates, packed_lut3, create_trivial, lwe.encode, \
                     lwe.trivial_encrypt, arith.constant, tensor.extract, tensor.from_elements";

/// A function before its operations are read.
#[derive(Debug)]
pub struct Signature<'a> {
    /// Without the `@`.
    pub name: &'a str,
    arguments: Vec<(Token<'a>, Type<'a>)>,
    /// Whether an argument is encrypted.
    pub is_encrypted: bool,
    /// Where its operations begin among the tokens.
    body: usize,
}

impl<'a> Signature<'a> {
    /// Reads a function and goes behind it; none for one that is declared only.
    ///
    /// # Errors
    /// If it is cut, or an argument has no name or type.
    pub fn read(cursor: &mut Cursor<'a>) -> Result<Option<Self>> {
        cursor.expect("func.func")?;
        let _ = ["private", "public", "nested"].iter().any(|word| cursor.take(word));
        let name = cursor.name('@', "the name of a function")?.text[1..].trim_matches('"');
        cursor.expect("(")?;
        let mut arguments = Vec::new();
        while !cursor.take(")") {
            // A declaration has types without names.
            if !cursor.peek().is_some_and(|token| token.text.starts_with('%')) {
                cursor.value_type()?;
            } else {
                let argument = cursor.name('%', "an argument")?;
                cursor.expect(":")?;
                arguments.push((argument, cursor.value_type()?));
            }
            if cursor.is("{") {
                cursor.skip_brackets()?;
            }
            if !cursor.take(",") && !cursor.is(")") {
                cursor.expect(")")?;
            }
        }
        if cursor.take("->") {
            // Results in brackets may have attributes in them.
            if cursor.is("(") { cursor.skip_brackets()? } else { drop(cursor.value_type()?) }
        }
        if cursor.take("attributes") {
            cursor.skip_brackets()?;
        }
        if !cursor.is("{") {
            return Ok(None);
        }
        let body = cursor.at + 1;
        cursor.skip_brackets()?;
        let is_encrypted = arguments.iter().any(|(_, of)| matches!(of, Type::Ciphertexts(_)));
        Ok(Some(Self { name, arguments, is_encrypted, body }))
    }

    /// The function as a circuit.
    ///
    /// # Errors
    /// As [`Netlist::from_heir`].
    pub fn netlist(&self, cursor: &mut Cursor<'a>) -> Result<Netlist> {
        let mut body = Body {
            builder: Builder::new(),
            values: HashMap::new(),
            input_bits: 0,
            tensor_gates: 0,
        };
        for (index, (name, of)) in self.arguments.iter().enumerate() {
            match of {
                Type::Ciphertexts(lengths) => body.argument(index, name, lengths)?,
                Type::Other(of) => {
                    let mark = "mark it {secret.secret} in HEIR's input, all inputs are encrypted";
                    let why = format!("argument {} is of type `{}`: {mark}", name.text, shown(of));
                    return refuse(name.line, why);
                }
            }
        }
        cursor.at = self.body;
        while !body.operation(cursor)? {}
        body.builder
            .finish()
            .or_else(|error| refuse(cursor.last_line(), format!("@{}: {error}", shown(self.name))))
    }
}

/// What a name stands for.
#[derive(Clone, Debug)]
enum Value {
    /// A number in the clear: an index or a bit.
    Plain(i128),
    /// An encrypted bit.
    Bit(Wire),
    /// A tensor of them and its lengths.
    Bits(Vec<usize>, Vec<Wire>),
}

/// The operations read so far.
struct Body<'a> {
    builder: Builder,
    values: HashMap<&'a str, Value>,
    input_bits: usize,
    /// Gates that operations on tensors stand for: a short text may have very many.
    tensor_gates: usize,
}

impl<'a> Body<'a> {
    fn argument(&mut self, index: usize, name: &Token<'a>, lengths: &[usize]) -> Result<()> {
        let bits: usize = lengths.iter().product();
        self.input_bits += bits;
        if self.input_bits > MAX_INPUT_BITS {
            return refuse(name.line, format!("more than {MAX_INPUT_BITS} input bits"));
        }
        let all = self.builder.input(format!("in{index}"), bits);
        let value =
            if lengths.is_empty() { Value::Bit(all[0]) } else { Value::Bits(lengths.into(), all) };
        self.define(name, value)
    }

    fn define(&mut self, name: &Token<'a>, value: Value) -> Result<()> {
        if self.values.insert(name.text, value).is_some() {
            return refuse(name.line, format!("{} is defined twice", shown(name.text)));
        }
        Ok(())
    }

    /// The value of the next name.
    fn value(&self, cursor: &mut Cursor<'a>) -> Result<(Token<'a>, &Value)> {
        let name = cursor.name('%', "a value")?;
        match self.values.get(name.text) {
            Some(value) => Ok((name, value)),
            None => refuse(name.line, format!("{} is not defined above", shown(name.text))),
        }
    }

    /// The next value, which must be a number in the clear.
    fn plain(&self, cursor: &mut Cursor<'a>) -> Result<i128> {
        match self.value(cursor)? {
            (_, Value::Plain(value)) => Ok(*value),
            (name, _) => refuse(name.line, format!("{} is encrypted here", shown(name.text))),
        }
    }

    /// The next value, which must be an encrypted bit.
    fn bit(&self, cursor: &mut Cursor<'a>) -> Result<Wire> {
        match self.value(cursor)? {
            (_, Value::Bit(wire)) => Ok(*wire),
            (name, _) => refuse(name.line, format!("{} is no encrypted bit", shown(name.text))),
        }
    }

    /// Encrypted bits with commas between them; none where no name stands.
    fn bits(&self, cursor: &mut Cursor<'a>) -> Result<Vec<Wire>> {
        let mut all = Vec::new();
        while cursor.peek().is_some_and(|token| token.text.starts_with('%')) {
            all.push(self.bit(cursor)?);
            if !cursor.take(",") {
                break;
            }
        }
        Ok(all)
    }

    /// Reads one operation; whether it was the last.
    fn operation(&mut self, cursor: &mut Cursor<'a>) -> Result<bool> {
        let first = cursor.next("`return`")?;
        if matches!(first.text, "return" | "func.return") {
            return self.results(cursor, first.line).map(|()| true);
        }
        if first.text == "}" {
            return refuse(first.line, "the function ends without `return`");
        }
        if !first.text.starts_with('%') {
            return unknown(first);
        }
        if !cursor.is("=") {
            let why = format!("{} is several values, or none is given to it", shown(first.text));
            return refuse(first.line, why);
        }
        cursor.expect("=")?;
        let operation = cursor.next("an operation")?;
        let value = match operation.text {
            "arith.constant" => {
                Value::Plain(cursor.number("a constant (`true`, `false` or a whole number)")?.value)
            }
            "tensor.extract" => Value::Bit(self.extract(cursor)?),
            "tensor.from_elements" => self.tensor(cursor, operation.line)?,
            "lwe.encode" | "lwe.trivial_encrypt" => self.encode(cursor, &operation)?,
            "cggi.create_trivial" => {
                let value = cursor.attributes()?.number("value", operation.text)?.value;
                cursor.skip_types()?;
                Value::Bit(self.builder.constant(of_one_bit(value, &operation)?))
            }
            _ => self.gates(cursor, operation)?,
        };
        self.define(&first, value)?;
        Ok(false)
    }

    /// `%t[%i, %j] : type`
    fn extract(&self, cursor: &mut Cursor<'a>) -> Result<Wire> {
        let (name, value) = self.value(cursor)?;
        let Value::Bits(lengths, wires) = value else {
            return refuse(name.line, format!("{} is no tensor of bits", shown(name.text)));
        };
        cursor.expect("[")?;
        let mut place = 0;
        for (axis, &length) in lengths.iter().enumerate() {
            if axis > 0 {
                cursor.expect(",")?;
            }
            let index = self.plain(cursor)?;
            let inside = usize::try_from(index).ok().filter(|&index| index < length);
            let Some(index) = inside else {
                let why = format!("index {index} of {} where there are {length}", name.text);
                return refuse(name.line, why);
            };
            place = place * length + index;
        }
        cursor.expect("]")?;
        cursor.skip_types()?;
        Ok(wires[place])
    }

    /// `%a, %b : type`
    fn tensor(&self, cursor: &mut Cursor<'a>, line: usize) -> Result<Value> {
        let all = self.bits(cursor)?;
        cursor.expect(":")?;
        match cursor.value_type()? {
            Type::Ciphertexts(lengths) if lengths.iter().product::<usize>() == all.len() => {
                Ok(Value::Bits(lengths, all))
            }
            Type::Ciphertexts(lengths) => {
                refuse(line, format!("{} bits for a tensor of {lengths:?}", all.len()))
            }
            Type::Other(of) => refuse(line, format!("`{}` is no tensor of bits", shown(of))),
        }
    }

    /// A bit in the clear on its way to a ciphertext: a plaintext first, then a constant.
    fn encode(&mut self, cursor: &mut Cursor<'a>, operation: &Token<'a>) -> Result<Value> {
        let value = self.plain(cursor)?;
        cursor.attributes()?;
        cursor.skip_types()?;
        let bit = of_one_bit(value, operation)?;
        let encrypted = operation.text == "lwe.trivial_encrypt";
        Ok(if encrypted { Value::Bit(self.builder.constant(bit)) } else { Value::Plain(value) })
    }

    /// Gates, or tables of up to four bits: one of single bits, or of each place of tensors one.
    fn gates(&mut self, cursor: &mut Cursor<'a>, operation: Token<'a>) -> Result<Value> {
        let gate = |kind: GateKind| (kind.arity(), Some(kind));
        let (reads, kind) = match operation.text {
            "cggi.and" => gate(GateKind::And),
            "cggi.nand" => gate(GateKind::Nand),
            "cggi.or" => gate(GateKind::Or),
            "cggi.nor" => gate(GateKind::Nor),
            "cggi.xor" => gate(GateKind::Xor),
            "cggi.xnor" => gate(GateKind::Xnor),
            "cggi.not" => gate(GateKind::Not),
            "cggi.cmux" => gate(GateKind::Mux),
            "cggi.lut2" | "cggi.packed_gates" => (2, None),
            "cggi.lut3" | "cggi.packed_lut3" => (3, None),
            "cggi.lut4" => (4, None),
            "cggi.lut_lincomb" => (count(cursor), None),
            _ => return unknown(operation),
        };
        if reads > MOST_COMBINED {
            let why = format!("{} of {reads} bits; at most {MOST_COMBINED}", operation.text);
            return refuse(operation.line, why);
        }
        let (lengths, places) = self.operands(cursor, &operation, reads)?;
        if !lengths.is_empty() {
            // A table is as many gates as a tree of its bits has.
            self.tensor_gates += places.len() << if kind.is_some() { 0 } else { reads };
            if self.tensor_gates > MAX_INPUT_BITS {
                let why = format!("more than {MAX_INPUT_BITS} gates on tensors");
                return refuse(operation.line, why);
            }
        }
        let functions = functions(cursor, &operation, kind, reads, places.len())?;
        // One for all places, or one for each.
        let wires = places.iter().zip(functions.iter().cycle()).map(|(bits, of)| match of {
            Function::Gate(kind) => self.builder.gate(*kind, bits),
            Function::Table(entries) => self.table(bits, entries),
        });
        let wires: Vec<Wire> = wires.collect();
        cursor.skip_types()?;
        Ok(if lengths.is_empty() { Value::Bit(wires[0]) } else { Value::Bits(lengths, wires) })
    }

    /// Encrypted operands of one shape: its lengths, none of single bits, and the bits of each
    /// place.
    fn operands(
        &self,
        cursor: &mut Cursor<'a>,
        operation: &Token<'a>,
        reads: usize,
    ) -> Result<(Vec<usize>, Vec<Vec<Wire>>)> {
        let (mut lengths, mut places, mut found) = (Vec::new(), Vec::new(), 0);
        while cursor.peek().is_some_and(|token| token.text.starts_with('%')) {
            let (name, value) = self.value(cursor)?;
            let of = match value {
                Value::Plain(_) => {
                    return refuse(name.line, format!("{} is no encrypted bit", shown(name.text)));
                }
                Value::Bit(_) => &[][..],
                Value::Bits(lengths, _) => lengths,
            };
            if found == 0 {
                lengths = of.to_vec();
                places = vec![Vec::with_capacity(reads); wires(value).len()];
            } else if lengths != of {
                let why = format!("{} is of shape {of:?} beside {lengths:?}", shown(name.text));
                return refuse(name.line, why);
            }
            for (place, &wire) in places.iter_mut().zip(wires(value)) {
                place.push(wire);
            }
            found += 1;
            if found > reads || !cursor.take(",") {
                break;
            }
        }
        if found != reads {
            let why = format!("{} of {found} bits, not {reads}", operation.text);
            return refuse(operation.line, why);
        }
        Ok((lengths, places))
    }

    /// A table's entry at the number whose bits are the operands, highest first: by the first
    /// operand one half of the table or the other. The optimiser makes one bootstrapping of it
    /// where it can.
    fn table(&mut self, operands: &[Wire], table: &[bool]) -> Wire {
        let [high, rest @ ..] = operands else { return self.builder.constant(table[0]) };
        let (off, on) = table.split_at(table.len() / 2);
        if off == on {
            return self.table(rest, off);
        }
        if off.iter().zip(on).all(|(a, b)| a != b) {
            let other = self.table(rest, off);
            return self.builder.xor(*high, other);
        }
        let (on, off) = (self.table(rest, on), self.table(rest, off));
        self.builder.mux(*high, on, off)
    }

    /// `%a, %b : types`
    fn results(&mut self, cursor: &mut Cursor<'a>, line: usize) -> Result<()> {
        let mut bits = 0;
        let mut index = 0;
        while cursor.peek().is_some_and(|token| token.text.starts_with('%')) {
            let (name, value) = self.value(cursor)?;
            let all = wires(value).to_vec();
            if all.is_empty() {
                let why = format!("result {index}, {}, is not encrypted", shown(name.text));
                return refuse(name.line, why);
            }
            bits += all.len();
            if bits > MAX_INPUT_BITS {
                return refuse(name.line, format!("more than {MAX_INPUT_BITS} output bits"));
            }
            self.builder.output(format!("out{index}"), &all);
            index += 1;
            if !cursor.take(",") {
                break;
            }
        }
        if index == 0 {
            return refuse(line, "nothing is returned");
        }
        cursor.skip_types()?;
        cursor.expect("}").map(drop)
    }
}

/// The encrypted bits of a value.
fn wires(value: &Value) -> &[Wire] {
    match value {
        Value::Plain(_) => &[],
        Value::Bit(wire) => std::slice::from_ref(wire),
        Value::Bits(_, wires) => wires,
    }
}

/// 0 or 1; the one bit of an `i1` may be written as -1.
fn of_one_bit(value: i128, operation: &Token<'_>) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 | -1 => Ok(true),
        _ => refuse(operation.line, format!("{} of {value}, not of a bit", operation.text)),
    }
}

/// Refuses an operation that is no gate.
fn unknown<T>(operation: Token<'_>) -> Result<T> {
    let text = operation.text;
    let why = match text.split('.').next() {
        Some("scf" | "affine" | "cf") => "loops and branches are not read".to_owned(),
        Some("func" | "call") => "calls are not read".to_owned(),
        Some("memref" | "bufferization") => "memory is not read, tensors are".to_owned(),
        Some("tfhe_rust" | "tfhe_rust_bool" | "jaxite" | "openfhe" | "lattigo") => {
            "the program is already one of another library".to_owned()
        }
        _ if text.starts_with('"') => "print it without --mlir-print-op-generic".to_owned(),
        _ => format!("there are {KNOWN}"),
    };
    Err(Error::Heir {
        line: operation.line,
        why: format!("operation `{}`: {why}; {MADE_BY}", shown(text)),
    })
}
