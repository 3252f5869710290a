//! Attributes of an operation: what stands behind `name =`, up to a comma or the closing bracket.

use super::refuse;
use super::token::Token;
use crate::error::{Result, shown};
use std::collections::HashMap;

/// A whole number as MLIR writes it, `232 : ui8`, `-24 : i8`, `0xE8 : ui8` or `true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub value: i128,
    /// Bits of its type: at most 64.
    pub width: u32,
}

impl Number {
    /// Its bits as they are stored, two's complement where it is negative.
    pub fn bits(self) -> u64 {
        (self.value & ((1i128 << self.width) - 1)) as u64
    }

    /// Reads all of `tokens`.
    ///
    /// # Errors
    /// If they are anything but one whole number that its type has.
    pub fn read(what: &str, tokens: &[Token<'_>], line: usize) -> Result<Self> {
        let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let written = || shown(&words.join(" "));
        let (negative, rest) = match words.split_first() {
            Some((&"-", rest)) => (true, rest),
            _ => (false, &words[..]),
        };
        let (number, of) = match *rest {
            ["true"] if !negative => ("1", "i1"),
            ["false"] if !negative => ("0", "i1"),
            // What MLIR takes a number without a type for.
            [number] => (number, "i64"),
            [number, ":", of] => (number, of),
            _ => {
                return refuse(line, format!("{what} is `{}`, not one whole number", written()));
            }
        };
        let Some(value) = digits(number) else {
            return refuse(line, format!("{what} is `{}`, not a whole number", written()));
        };
        let value = if negative { -value } else { value };
        let Some((width, range)) = range_of(of) else {
            let why = "whole numbers have the types i1 to i64, si1 to si64, ui1 to ui64 and index";
            return refuse(line, format!("{what} is `{}`: {why}", written()));
        };
        if !range.contains(&value) {
            return refuse(line, format!("{what} is `{}`, which {of} does not have", written()));
        }
        Ok(Self { value, width })
    }
}

/// A number without a sign: decimal, or hexadecimal behind `0x`.
fn digits(text: &str) -> Option<i128> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    // Longer ones have no type; zeros in front do not count.
    let value = u64::from_str_radix(digits, radix).ok().filter(|_| all)?;
    Some(value.into())
}

/// The bits of a type of whole numbers, and what it holds: one without a sign may be written either
/// way.
fn range_of(name: &str) -> Option<(u32, std::ops::Range<i128>)> {
    let (signed, unsigned, width) = match name {
        "index" => (true, false, "64"),
        _ if name.starts_with("si") => (true, false, &name[2..]),
        _ if name.starts_with("ui") => (false, true, &name[2..]),
        _ => (true, true, name.strip_prefix('i')?),
    };
    let width = digits(width).filter(|width| (1..=64).contains(width))? as u32;
    let least = if signed { -(1i128 << (width - 1)) } else { 0 };
    let end = 1i128 << if unsigned { width } else { width - 1 };
    Some((width, least..end))
}

/// The attributes of one operation, by name.
#[derive(Debug, Default)]
pub struct Attributes<'a> {
    values: HashMap<&'a str, Vec<Token<'a>>>,
    line: usize,
}

impl<'a> Attributes<'a> {
    /// None yet, of an operation on that line.
    pub fn new(line: usize) -> Self {
        Self { values: HashMap::new(), line }
    }

    /// Adds those between two brackets, `a = 1 : i8, b = [2, 3], c`.
    ///
    /// # Errors
    /// For something else than a name, and for a name that was given already.
    pub fn add(&mut self, inside: &[Token<'a>]) -> Result<()> {
        if inside.is_empty() {
            return Ok(());
        }
        for one in split(inside) {
            let [name, rest @ ..] = one else {
                return refuse(self.line, "a comma without an attribute before or behind it");
            };
            let value = match rest {
                [] => &[],
                [is, value @ ..] if is.text == "=" => value,
                [other, ..] => {
                    let why = format!("`{}` behind the name of an attribute", shown(other.text));
                    return refuse(other.line, why);
                }
            };
            let key = name.text.trim_matches('"');
            if self.values.insert(key, value.to_vec()).is_some() {
                return refuse(name.line, format!("attribute {} is given twice", shown(key)));
            }
        }
        Ok(())
    }

    fn find(&self, name: &str, what: &str, operation: &str) -> Result<&[Token<'a>]> {
        match self.values.get(name) {
            Some(tokens) => Ok(tokens),
            None => refuse(self.line, format!("{operation} without {name} = {what}")),
        }
    }

    /// The one of that name, which must be a whole number.
    ///
    /// # Errors
    /// If there is none, or it is something else.
    pub fn number(&self, name: &str, operation: &str) -> Result<Number> {
        Number::read(name, self.find(name, "a number", operation)?, self.line)
    }

    /// The one of that name, which must be a list of whole numbers, `[1 : i8, 2]`, `<1 : i8, 2>` or
    /// `array<i8: 1, 2>`.
    ///
    /// # Errors
    /// If there is none, or it is something else.
    pub fn list(&self, name: &str, operation: &str) -> Result<Vec<Number>> {
        let tokens = self.find(name, "a list of numbers", operation)?;
        let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let (of, inside) = match words[..] {
            ["[", .., "]"] | ["<", .., ">"] => (&[][..], &tokens[1..tokens.len() - 1]),
            ["array", "<", _, ">"] => return Ok(Vec::new()),
            ["array", "<", _, ":", .., ">"] => (&tokens[2..4], &tokens[4..tokens.len() - 1]),
            _ => {
                let written = shown(&words.join(" "));
                return refuse(self.line, format!("{name} is `{written}`, not a list of numbers"));
            }
        };
        if inside.is_empty() {
            return Ok(Vec::new());
        }
        let number = |one: &[Token<'a>]| {
            // The type of an array stands before its numbers.
            let typed = [one, of.get(1..).unwrap_or_default(), of.get(..1).unwrap_or_default()];
            Number::read(&format!("a number of {name}"), &typed.concat(), self.line)
        };
        split(inside).map(number).collect()
    }
}

/// Parts between the commas that stand in no bracket.
fn split<'b, 'a>(tokens: &'b [Token<'a>]) -> impl Iterator<Item = &'b [Token<'a>]> {
    let mut depth = 0usize;
    tokens.split(move |token| {
        match token.text {
            "<" | "(" | "[" | "{" => depth += 1,
            ">" | ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.text == ","
    })
}
