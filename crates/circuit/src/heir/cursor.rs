//! A place among the tokens of a text, and the parts of MLIR that are the same everywhere.

use super::attribute::{Attributes, Number};
use super::refuse;
use super::token::{Token, tokens};
use crate::MAX_INPUT_BITS;
use crate::error::{Result, shown, without_mark};
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
        let text = without_mark(text);
        Ok(Self { text, tokens: tokens(text)?, at: 0, aliases: HashMap::new() })
    }

    pub fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    /// The token at a place.
    pub fn token(&self, at: usize) -> Option<Token<'a>> {
        self.tokens.get(at).copied()
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

    /// A whole number and its type, `5 : index`, or `true` or `false`.
    ///
    /// # Errors
    /// If something else stands here.
    pub fn number(&mut self, what: &str) -> Result<Number> {
        let from = self.at;
        self.take("-");
        let line = self.next(what)?.line;
        if self.take(":") {
            self.value_type()?;
        }
        Number::read(what, &self.tokens[from..self.at], line)
    }

    /// Goes behind a bracketed part, nested ones included; the next token opens it.
    ///
    /// # Errors
    /// If it is not closed, or by a bracket of another kind.
    pub fn skip_brackets(&mut self) -> Result<()> {
        let first = self.next("a bracket")?;
        if !is_open(first.text) {
            return refuse(
                first.line,
                format!("`{}` where a bracket should be", shown(first.text)),
            );
        }
        let mut open = vec![first];
        while let Some(last) = open.last() {
            let Some(token) = self.peek() else {
                return refuse(first.line, format!("`{}` is never closed", first.text));
            };
            self.at += 1;
            let closes = match token.text {
                ">" => "<",
                ")" => "(",
                "]" => "[",
                "}" => "{",
                text => {
                    open.extend(is_open(text).then_some(token));
                    continue;
                }
            };
            if last.text != closes {
                let (text, line) = (last.text, last.line);
                let why = format!("`{text}` of line {line} is closed by `{}`", token.text);
                return refuse(token.line, why);
            }
            open.pop();
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
        if self.take(":") {
            self.value_type()?;
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
        let rest = known.strip_prefix("!lwe.lwe_ciphertext");
        rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with('<'))
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

    /// The attributes of an operation, `<a = 1 : i8>` or `{a = 1 : i8}`, none where no bracket
    /// stands.
    ///
    /// # Errors
    /// If they are not closed, or are no attributes.
    pub fn attributes(&mut self) -> Result<Attributes<'a>> {
        let mut found = Attributes::new(self.peek().map_or(self.last_line(), |token| token.line));
        while self.is("<") || self.is("{") {
            let from = self.at + 1;
            self.skip_brackets()?;
            found.add(&self.tokens[from..self.at - 1])?;
        }
        Ok(found)
    }
}

fn is_open(text: &str) -> bool {
    matches!(text, "<" | "(" | "[" | "{")
}

/// The lengths and the elements of a tensor, `8x4x!ct`.
fn lengths(text: &str) -> (Vec<usize>, &str) {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some((length, element)) = rest.split_once('x')
        && length.bytes().all(|b| b.is_ascii_digit())
        && let Ok(length) = length.parse()
    {
        all.push(length);
        rest = element;
    }
    (all, rest)
}
