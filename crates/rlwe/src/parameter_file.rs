//! Parameter files: the fields of a set as TOML.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest length of a file, in bytes. Those of the largest sets have a few thousand.
pub const LONGEST: usize = 64 << 10;

/// Reads the fields.
///
/// # Errors
/// A sentence that names the line or field that is unknown, missing or of the wrong type; for a
/// text of more than [`LONGEST`] bytes before any of it is read.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > LONGEST {
        return Err(format!(
            "a parameter file has at most {LONGEST} bytes, and this text has {}",
            text.len()
        ));
    }
    toml::from_str(text).map_err(|error| one_sentence(text, &error))
}

/// Writes the fields as TOML that [`read`] takes back.
///
/// # Panics
/// If the fields are not plain ones: numbers, texts, truth values and lists of them.
pub fn write(fields: &impl Serialize) -> String {
    toml::to_string(fields).expect("plain fields have a TOML form")
}

/// What the TOML reader found, in one sentence, with the line it found it on.
fn one_sentence(text: &str, error: &toml::de::Error) -> String {
    // Words of Rust's types and of the parser mean nothing to whoever writes a file.
    let message = error
        .message()
        .replace('\n', " ")
        .replace("expected i64", "expected a whole number of 64 bits");
    let message = message
        .replace("expected f64", "expected a number")
        .replace("wanted string or table", "expected a name in quotes");
    let line = error.span().and_then(|span| {
        let start = text.get(..span.start)?.rfind('\n').map_or(0, |i| i + 1);
        Some(text.get(start..)?.lines().next()?.trim().chars().take(80).collect::<String>())
    });
    match line {
        Some(line) if line.contains('=') && !message.starts_with("missing field") => {
            format!("in `{line}`: {message}")
        }
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Fields {
        name: String,
        size: u32,
    }

    #[test]
    fn what_is_written_is_read() {
        let fields = Fields { name: "A".into(), size: 3 };
        let text = write(&fields);
        assert_eq!(text, "name = \"A\"\nsize = 3\n");
        assert_eq!(read(&text), Ok(fields));
    }

    /// By its length alone, so that nobody waits for what is no parameter file.
    #[test]
    fn what_is_too_long_is_refused_unread() {
        let of = |len: usize| {
            let text = "name = \"A\"\nsize = 3\n";
            format!("{text}{}", " ".repeat(len - text.len()))
        };
        assert_eq!(read(&of(LONGEST)), Ok(Fields { name: "A".into(), size: 3 }));
        let error = read::<Fields>(&of(LONGEST + 1)).expect_err("too long");
        assert_eq!(error, "a parameter file has at most 65536 bytes, and this text has 65537");
        // Nested brackets would be followed to their end.
        let nested = format!("x = {}", "[".repeat(LONGEST));
        assert!(read::<Fields>(&nested).expect_err("too long").contains("at most 65536"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, wanted) in [
            ("name = \"A\"\n  size = \"x\"", "in `size = \"x\"`: invalid type: string \"x\", "),
            ("name = 1\nsize = 3", "in `name = 1`: invalid type: integer `1`, "),
            // What is missing is in no line, and a line without a value says nothing.
            ("name = \"A\"", "missing field `size`"),
            ("name = \"A\"\nsize\n", "key with no value"),
        ] {
            let error = read::<Fields>(text).expect_err("wrong");
            assert!(error.starts_with(wanted), "{text}: {error}");
        }
    }
}
