//! A place among the tokens of a text, and the parts of MLIR that are the same everywhere.

use super::refuse;
use super::token::{Token, tokens};
use crate::MAX_INPUT_BITS;
use crate::error::{Result, shown};
use std::collections::HashMap;

/// A type of values, as far as circuits care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type<'a> {
    /// Encrypted bits: the lengths of a tensor, none of a single one.
    Ciphertexts(Vec<usize>),
    /// Anything else, in its own words.
    Other(&'a str),
}

/// Reads tokens one by one.
pub struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    pub at: usize,
    /// What names of types (`!ct`) stand for.
    aliases: HashMap<&'a str, &'a str>,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    ///
    /// # Errors
    /// As [`tokens`].
    pub fn new(text: &'a str) -> Result<Self> {
        Ok(Self { text, tokens: tokens(text)?, at: 0, aliases: HashMap::new() })
    }

    pub fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    /// Whether the next token is this one.
    pub fn is(&self, text: &str) -> bool {
        self.peek().is_some_and(|token| token.text == text)
    }

    /// The line of the last token.
    pub fn last_line(&self) -> usize {
        self.tokens.last().map_or(1, |token| token.line)
    }

    /// The next token; `what` says what it should be.
    ///
    /// # Errors
    /// At the end of the text.
    pub fn next(&mut self, what: &str) -> Result<Token<'a>> {
        let Some(token) = self.peek() else {
            return refuse(self.last_line(), format!("the text ends before {what}"));
        };
        self.at += 1;
        Ok(token)
    }

    /// Goes behind the next token if it is this one.
    pub fn take(&mut self, text: &str) -> bool {
        let found = self.is(text);
        self.at += usize::from(found);
        found
    }

    /// The next token, which must be this one.
    ///
    /// # Errors
    /// If it is another one.
    pub fn expect(&mut self, text: &str) -> Result<Token<'a>> {
        let token = self.next(&format!("`{text}`"))?;
        if token.text == text {
            return Ok(token);
        }
        refuse(token.line, format!("`{}` where `{text}` should be", shown(token.text)))
    }

    /// A name with the given mark before it, such as `%` of values.
    ///
    /// # Errors
    /// If the next token is none.
    pub fn name(&mut self, mark: char, what: &str) -> Result<Token<'a>> {
        let token = self.next(what)?;
        if token.text.starts_with(mark) && token.text.len() > 1 {
            return Ok(token);
        }
        refuse(token.line, format!("`{}` where {what} should be", shown(token.text)))
    }

    /// A whole number.
    ///
    /// # Errors
    /// If the next token is none, or it does not fit 64 bits.
    pub fn number(&mut self, what: &str) -> Result<i64> {
        let negative = self.take("-");
        let token = self.next(what)?;
        let value: Option<i64> = token.text.parse().ok();
        match value {
            Some(value) => Ok(if negative { -value } else { value }),
            None => refuse(token.line, format!("{what} is `{}`", shown(token.text))),
        }
    }

    /// Goes behind a bracketed part, nested ones included; the next token opens it.
    ///
    /// # Errors
    /// If it is not closed.
    pub fn skip_brackets(&mut self) -> Result<()> {
        let first = self.next("a bracket")?;
        let mut depth = 1usize;
        while depth > 0 {
            let Some(token) = self.peek() else {
                return refuse(first.line, format!("`{}` is never closed", first.text));
            };
            match token.text {
                "<" | "(" | "[" | "{" => depth += 1,
                ">" | ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The text from a token to the one before the next.
    fn since(&self, from: usize) -> &'a str {
        let end = self.tokens[self.at - 1];
        &self.text[self.tokens[from].start..end.start + end.text.len()]
    }

    /// `!name = type` or `#name = attribute`; the former is kept.
    ///
    /// # Errors
    /// If it is cut.
    pub fn alias(&mut self) -> Result<()> {
        let name = self.next("a name")?;
        self.expect("=")?;
        let from = self.at;
        if !self.is("{") {
            self.next("what a name stands for")?;
        }
        if self.is("<") || self.is("{") {
            self.skip_brackets()?;
        }
        self.aliases.insert(name.text, self.since(from));
        Ok(())
    }

    /// A type.
    ///
    /// # Errors
    /// If it is cut, or a tensor of more than [`MAX_INPUT_BITS`].
    pub fn value_type(&mut self) -> Result<Type<'a>> {
        let (from, line) = (self.at, self.next("a type")?.line);
        self.at = from;
        if !self.is("(") {
            self.at += 1;
        }
        if self.is("<") || self.is("(") {
            self.skip_brackets()?;
        }
        let text = self.since(from);
        let inner = text.strip_prefix("tensor<").and_then(|rest| rest.strip_suffix('>'));
        let (lengths, element) = inner.map_or((Vec::new(), text), lengths);
        if !self.is_ciphertext(element) {
            return Ok(Type::Other(text));
        }
        let bits = lengths.iter().try_fold(1usize, |all, &length| all.checked_mul(length));
        if !bits.is_some_and(|bits| (1..=MAX_INPUT_BITS).contains(&bits)) {
            let why = format!("`{}` has no or more than {MAX_INPUT_BITS} bits", shown(text));
            return refuse(line, why);
        }
        Ok(Type::Ciphertexts(lengths))
    }

    fn is_ciphertext(&self, name: &str) -> bool {
        let known = self.aliases.get(name).copied().unwrap_or(name);
        known.starts_with("!lwe.lwe_ciphertext")
    }

    /// Goes behind the types at the end of an operation, `: a` or `: (a, b) -> c`.
    ///
    /// # Errors
    /// If there are none.
    pub fn skip_types(&mut self) -> Result<()> {
        self.expect(":")?;
        loop {
            self.value_type()?;
            if !(self.take(",") || self.take("->") || self.take("to")) {
                return Ok(());
            }
        }
    }

    /// The attributes of an operation by name, `<a = 1 : i8>` or `{a = 1 : i8}`: those that are
    /// whole numbers.
    ///
    /// # Errors
    /// If they are not closed.
    pub fn attributes(&mut self) -> Result<HashMap<&'a str, i64>> {
        let mut found = HashMap::new();
        while self.is("<") || self.is("{") {
            let from = self.at + 1;
            self.skip_brackets()?;
            let inside = &self.tokens[from..self.at];
            for (i, pair) in inside.windows(3).enumerate() {
                // A longer number, as `1.5`, is no number of three tokens.
                let ends = inside.get(i + 3).is_none_or(|next| !next.text.starts_with('.'));
                if let ("=", Ok(value), true) = (pair[1].text, pair[2].text.parse(), ends) {
                    found.insert(pair[0].text, value);
                }
            }
        }
        Ok(found)
    }

    /// The attribute of that name of an operation, a list of whole numbers as `<a = [1 : i8, 2]>`
    /// or `<a = <1 : i8, 2>>`; none where it is missing or is something else.
    ///
    /// # Errors
    /// If the attributes are not closed.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<i64>>> {
        let mut found = None;
        while self.is("<") || self.is("{") {
            let from = self.at + 1;
            self.skip_brackets()?;
            let inside = &self.tokens[from..self.at];
            let begin = inside.windows(3).position(|three| {
                three[0].text == name && three[1].text == "=" && matches!(three[2].text, "[" | "<")
            });
            if let Some(begin) = begin {
                found = numbers(&inside[begin + 3..]);
            }
        }
        Ok(found)
    }
}

/// Numbers with commas between them, their types behind them if they are said, up to a closing
/// bracket.
fn numbers(tokens: &[Token<'_>]) -> Option<Vec<i64>> {
    let end = tokens.iter().position(|token| matches!(token.text, "]" | ">"))?;
    let each = tokens[..end].split(|token| token.text == ",");
    let number = |one: &[Token<'_>]| match one {
        [number] => number.text.parse().ok(),
        [number, colon, _] if colon.text == ":" => number.text.parse().ok(),
        _ => None,
    };
    each.map(number).collect()
}

/// The lengths and the elements of a tensor, `8x4x!ct`.
fn lengths(text: &str) -> (Vec<usize>, &str) {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((length, element)) = rest.split_once('x')
        && let Ok(length) = length.parse()
    {
        all.push(length);
        rest = element;
    }
    (all, rest)
}
