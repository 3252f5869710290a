//! The words of MLIR's text.

use super::refuse;
use crate::error::{Result, shown};

/// A word, a name (`%x`, `@f`, `!type`, `#attribute`), a number, a string or a mark.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub text: &'a str,
    /// Counted from 1.
    pub line: usize,
    /// Where it begins.
    pub start: usize,
}

/// What names go on with.
fn in_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
}

/// How long a number is, with all that stands against it: what follows a number that is whole is no
/// token of its own, so `0xE8`, `2e1`, `1.5e-3` and `8x` stay whole.
fn of_number(rest: &str) -> usize {
    let whole =
        |from: usize| from + rest[from..].find(|c| !in_a_name(c)).unwrap_or(rest.len() - from);
    let end = whole(0);
    // The exponent of a decimal fraction may have a sign.
    let signed = rest[..end].contains('.') && rest[..end].ends_with(['e', 'E']);
    if signed && rest[end..].starts_with(['+', '-']) { whole(end + 1) } else { end }
}

/// How long the token at the beginning of `rest` is, in bytes.
fn length(rest: &str) -> Option<usize> {
    let of_name = |from: usize, more: fn(char) -> bool| {
        from + rest[from..].find(|c| !more(c)).unwrap_or(rest.len() - from)
    };
    let first = rest.chars().next()?;
    Some(match first {
        // Values may have a minus inside: `%c-1_i8`; and a number of the result behind it: `%0#1`.
        '%' => of_name(1, |c| in_a_name(c) || matches!(c, '-' | '#')),
        '@' if rest[1..].starts_with('"') => 1 + length(&rest[1..])?,
        '@' | '!' | '#' | '^' => of_name(1, in_a_name),
        '"' => {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            })?;
            end + 2
        }
        '-' if rest[1..].starts_with('>') => 2,
        '<' | '>' | '=' if rest[1..].starts_with('=') => 2,
        c if c.is_ascii_digit() => of_number(rest),
        c if in_a_name(c) => of_name(0, in_a_name),
        c => c.len_utf8(),
    })
}

/// All tokens of a text, without comments.
///
/// # Errors
/// [`Error::Heir`](crate::Error::Heir) for a string without an end.
pub fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let (mut all, mut line, mut at) = (Vec::new(), 1, 0);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            line += usize::from(c == '\n');
            at += c.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(length) = length(rest) {
            let word = &rest[..length];
            all.push(Token { text: word, line, start: at });
            line += word.matches('\n').count();
            at += length;
        } else {
            return refuse(line, format!("a string without an end: {}", shown(rest)));
        }
    }
    Ok(all)
}
