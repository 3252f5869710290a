//! Programs of the HEIR compiler after its booleanisation: the `cggi` dialect of MLIR as text
//! (<https://heir.dev/docs/dialects/cggi/>), made by
//! `heir-opt --mlir-to-cggi="data-type=Bool mode=Boolean"`; `mode=LUT3` and `LUT4` are read, too,
//! and gates on tensors as `--boolean-vectorize` and `--straight-line-vectorize` make them.
//!
//! ```text
//! !ct = !lwe.lwe_ciphertext<..>
//! func.func @add(%arg0: tensor<8x!ct>, %arg1: !ct) -> tensor<2x!ct> {
//!   %c3 = arith.constant 3 : index
//!   %0 = tensor.extract %arg0[%c3] : tensor<8x!ct>
//!   %1 = cggi.nand %0, %arg1 : !ct
//!   %2 = cggi.lut3 %0, %1, %arg1 <lookup_table = 150 : ui8> : !ct
//!   %3 = tensor.from_elements %1, %2 : tensor<2x!ct>
//!   return %3 : tensor<2x!ct>
//! }
//! ```
//!
//! One function without branches, loops and calls is a circuit. Arguments and results are
//! ciphertexts of one bit or tensors of them, the last index the fastest; numbers have their lowest
//! bit first.

mod attribute;
mod cursor;
mod function;
mod gate;
mod token;

use crate::error::{Error, Result, shown};
use crate::netlist::Netlist;
use cursor::Cursor;
use function::Signature;

/// How a program must be made, for messages.
const MADE_BY: &str = "heir-opt --mlir-to-cggi=\"data-type=Bool mode=Boolean\" makes what is read";

fn refuse<T>(line: usize, why: impl Into<String>) -> Result<T> {
    Err(Error::Heir { line, why: why.into() })
}

impl Netlist {
    /// Reads a function of a program that HEIR wrote in its `cggi` dialect: the one of that name
    /// (without the `@`), or the only one on ciphertexts. Arguments become the inputs `in0`, `in1`,
    /// .. and results the outputs `out0`, `out1`, ..
    ///
    /// # Errors
    /// [`Error::Heir`] with the line: an operation that is no gate (arithmetic on whole numbers,
    /// loops, calls), an argument that is not encrypted, a value that is not defined above, an
    /// index outside its tensor, several functions without a choice.
    pub fn from_heir(text: &str, function: Option<&str>) -> Result<Self> {
        let mut cursor = Cursor::new(text)?;
        let mut functions = Vec::new();
        // Modules may lie in each other: their braces close in the order in which they opened.
        let mut open = 0;
        while let Some(token) = cursor.peek() {
            let line = token.line;
            match token.text {
                "module" | "builtin.module" => {
                    cursor.next("a module")?;
                    if cursor.peek().is_some_and(|token| token.text.starts_with('@')) {
                        cursor.name('@', "the name of a module")?;
                    }
                    if cursor.take("attributes") {
                        cursor.skip_brackets()?;
                    }
                    cursor.expect("{")?;
                    open += 1;
                }
                "}" if open > 0 => {
                    cursor.next("the end of a module")?;
                    open -= 1;
                }
                "func.func" => functions.extend(Signature::read(&mut cursor)?),
                alias if alias.starts_with(['!', '#']) => cursor.alias()?,
                other if other.starts_with('"') => {
                    let form = "print it without --mlir-print-op-generic";
                    return refuse(
                        line,
                        format!("{} is in MLIR's generic form: {form}", shown(other)),
                    );
                }
                other => {
                    let why =
                        format!("`{}` where a function should begin; {MADE_BY}", shown(other));
                    return refuse(line, why);
                }
            }
        }
        if open > 0 {
            return refuse(cursor.last_line(), "the text ends inside a module");
        }
        let chosen = choose(&functions, function, cursor.last_line())?;
        chosen.netlist(&mut cursor)
    }
}

/// The function of that name, or the only one on ciphertexts.
fn choose<'a, 'b>(
    functions: &'b [Signature<'a>],
    name: Option<&str>,
    last: usize,
) -> Result<&'b Signature<'a>> {
    let names = || {
        let names: Vec<String> = functions.iter().map(|f| shown(f.name)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    if let Some(name) = name {
        let found = functions.iter().find(|f| f.name == name);
        return found.map_or_else(
            || refuse(last, format!("no function `{}`; there are {}", shown(name), names())),
            Ok,
        );
    }
    let encrypted: Vec<&Signature<'_>> = functions.iter().filter(|f| f.is_encrypted).collect();
    match encrypted[..] {
        [one] => Ok(one),
        [] => refuse(last, format!("no function on ciphertexts among {}; {MADE_BY}", names())),
        _ => refuse(last, format!("several functions: say which of {}", names())),
    }
}
